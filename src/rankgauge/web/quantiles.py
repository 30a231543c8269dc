"""Quantiles of t from start to start: whoever knows those of the first page shows it before scipy is imported."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import TYPE_CHECKING

from rankgauge.stats.paired import QUANTILES

if TYPE_CHECKING:
    from rankgauge.web.kept import Cache

__all__ = ["keep_quantiles", "recall_quantiles"]


def recall_quantiles(cache: Cache) -> bool:
    """Take up those that were kept; whether there are any."""
    try:
        told = json.loads(cache.file(_file()) or b"[]")
        known = {(float(freedom), float(alpha)): float(quantile) for freedom, alpha, quantile in told}
    except (ValueError, TypeError):
        return False  # it is damaged: they are computed again
    QUANTILES.update(known)
    return bool(known)


def keep_quantiles(cache: Cache) -> None:
    """Keep those that are known, where there is one that was not kept yet."""
    made = json.dumps([[*given, quantile] for given, quantile in sorted(QUANTILES.items())]).encode()
    if cache.file(_file()) != made:
        cache.keep(_file(), made)


def _file() -> str:
    """They are those of a version of scipy, to the last bit."""
    return f"t-{version('scipy')}.json"
