"""A value with its two ends: the one form of it, in Python and in JSON."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["NAN", "Estimate"]

NAN = float("nan")


class Estimate(NamedTuple):
    """A value and its ends: of an interval, or the smallest and largest that it can be; NaN where there are none."""

    value: float
    low: float = NAN
    high: float = NAN

    @property
    def width(self) -> float:
        """From end to end."""
        return self.high - self.low
