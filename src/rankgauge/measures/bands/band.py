"""A value as a band: what it could be under other orders of equal scores."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Band"]


class Band(NamedTuple):
    """A value, and what it could be under other orders of equal scores.

    `exact` tells whether low and high are reached and never passed (else the band is at least as wide), `error` is the
    standard error of an expectation that was sampled, 0 where it was computed.
    """

    value: float
    expected: float
    low: float
    high: float
    exact: bool
    error: float = 0.0

    @property
    def width(self) -> float:
        """From the smallest to the largest."""
        return self.high - self.low
