"""Judgments that are looked at by themselves, without a run: refused where there are none or a grade is no number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgauge.errors import InputError
from rankgauge.matching.unpack import numbers_of

if TYPE_CHECKING:
    from rankgauge.read.records import Judgments

__all__ = ["checked"]


def checked(judgments: Judgments) -> Judgments:
    """The same judgments: at least one, and every grade a finite number."""
    if not len(judgments):
        raise InputError(f"{judgments.source}: holds no judgment; expected query, document and grade of one or more")
    if judgments.is_nested:
        numbers_of(judgments, list(judgments.nested.values()), judgments.queries)
    else:
        from rankgauge.matching.columns import check_finite  # needs polars

        check_finite(judgments)
    return judgments
