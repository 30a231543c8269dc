"""How alike two orders of the same systems are: Kendall's τ_b, τ_AP, rank-biased overlap. Equal values are tied.

Where the formula needs an order, the value is the expectation over all orders of tied systems, in closed form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

__all__ = ["rbo", "tau_ap", "tau_b"]


def tau_b(one: Floats, other: Floats) -> float:
    """Kendall's τ_b: pairs in the same order minus pairs turned round, over those not tied; NaN where all are tied."""
    first, second = (np.sign(values[:, None] - values) for values in (one, other))
    untied = np.sqrt((first != 0).sum() * (second != 0).sum())
    return float((first * second).sum() / untied) if untied else float("nan")


def tau_ap(reference: Floats, other: Floats) -> float:
    """τ_AP of an order against a reference: mistakes at the top of `other` count more. Not symmetric.

    τ_AP = 2/(n − 1) · Σ over ranks i ≥ 2 of C(i)/(i − 1) − 1, where C(i) is the number of systems above rank i that the
    reference has above it too (Yilmaz, Aslam and Robertson, SIGIR 2008).
    """
    systems = len(reference)
    if systems < 2:
        return float("nan")
    above = (reference[:, None] > reference) + 0.5 * (reference[:, None] == reference)
    total = 0.0
    for value in np.unique(other):
        group, before = np.flatnonzero(other == value), np.flatnonzero(other > value)
        # A system of the group has, on average, this many of those before it rightly so; within the group half of them.
        right = float(above[np.ix_(before, group)].sum()) / len(group)
        for place in range(len(group)):
            if len(before) + place:
                total += (right + place / 2) / (len(before) + place)
    return 2 * total / (systems - 1) - 1


def rbo(one: Floats, other: Floats, p: float = 0.9, *, extrapolated: bool = True) -> float:
    """Rank-biased overlap of two orders of the same systems: the overlap at each depth, the first depths first.

    (1 − p) · Σ p^(d − 1) · overlap(d) / d; extrapolated, the overlap at the end goes on for ever, else nothing follows
    (Webber, Moffat and Zobel, TOIS 2010; ties as their expectation).
    """
    systems = len(one)
    if systems == 0:
        return float("nan")
    depth = np.arange(1, systems + 1)
    overlap = (_reached(one, depth) * _reached(other, depth)).sum(axis=0) / depth
    value = float((1 - p) * (p ** (depth - 1.0) * overlap).sum())
    return value + float(p**systems * overlap[-1]) if extrapolated else value


def _reached(values: Floats, depth: NDArray[np.int64]) -> Floats:
    """System × depth: the chance to be among the first so many."""
    before = (values > values[:, None]).sum(axis=1)
    tied = (values == values[:, None]).sum(axis=1)
    result: Floats = np.clip((depth - before[:, None]) / tied[:, None], 0.0, 1.0)
    return result
