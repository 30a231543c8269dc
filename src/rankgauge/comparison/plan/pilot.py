"""A pilot: how much the differences between two systems vary from query to query, estimated from values there are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankgauge.errors import InputError

if TYPE_CHECKING:
    from rankgauge.comparison.values import Values

__all__ = ["Deviation", "deviation_of"]


@dataclass(frozen=True, slots=True)
class Deviation:
    """The standard deviation of the differences between two systems, and where it comes from."""

    value: float
    interval: tuple[float, float] | None = None  # 95 %, of a pilot
    measure: str = ""
    queries: int = 0
    systems: tuple[str, ...] = ()
    smallest: float | None = None  # of the pairs, where there are several
    largest: float | None = None

    @property
    def sentence(self) -> str:
        """How large it is, and where it comes from."""
        words = (
            f"{self.measure} of {len(self.systems)} systems on {self.queries:,} queries" if self.systems else "given"
        )
        if self.interval:
            words += f"; 95 % interval {self.interval[0]:.4f} to {self.interval[1]:.4f}"
        return f"Deviation of the differences: {self.value:.4f} ({words})."


def deviation_of(values: Values) -> Deviation:
    """The deviation of a pilot's differences; of several systems, the mean over pairs (twice the residual variance).

    That is what the two-way analysis of variance (systems, queries) leaves: the variance of a difference between two
    systems is on average twice the residual mean square. The interval is that of chi-square.
    """
    from scipy import special

    queries, systems = values.table.shape
    if systems < 2:
        raise InputError(
            f"the pilot has one system, {values.systems[0]}, and how differences vary takes two; "
            "add a second run, even a weak one, or give --deviation"
        )
    if queries < 3:
        raise InputError(f"the pilot has {queries} queries, too few to tell how much differences vary; take 25 or more")
    centred = values.table - values.table.mean(axis=1, keepdims=True)
    centred = centred - centred.mean(axis=0, keepdims=True)
    freedom = (queries - 1) * (systems - 1)
    squares = float((centred**2).sum())
    if squares <= 1e-24 * queries:
        raise InputError(f"all systems of the pilot have the same differences on every query of {values.measure}")
    variance = 2 * squares / freedom
    ends = tuple(math.sqrt(2 * squares / float(special.chdtri(freedom, tail))) for tail in (0.025, 0.975))
    pairs = _of_pairs(values) if systems > 2 else (None, None)
    return Deviation(math.sqrt(variance), (ends[0], ends[1]), values.measure, queries, tuple(values.systems), *pairs)


def _of_pairs(values: Values) -> tuple[float, float]:
    """The smallest and the largest deviation of a pair."""
    found = [
        float((values.table[:, i] - values.table[:, j]).std(ddof=1))
        for i in range(len(values.systems))
        for j in range(i)
    ]
    return float(np.min(found)), float(np.max(found))
