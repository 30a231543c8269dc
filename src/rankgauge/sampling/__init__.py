"""Queries out of a log: which to measure, and what a mean over them says of all searches."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["NO_SAMPLE", "is_unwanted"]

NO_SAMPLE: Final = "none"


def is_unwanted(sample: Any) -> bool:
    """Whether plain means are asked for, also of runs that were made for a sample."""
    return isinstance(sample, str) and sample == NO_SAMPLE
