"""Rank tests of paired differences: they ask whether the typical query got better, not whether the mean did.

Where most queries lose a little and a few win much, the two questions have different answers, and with many queries
these tests then reject a difference of 0 almost surely. They are shown as a description, never as the decision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rankgauge.stats.paired import TIE, wins_ties_losses

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats, Ints

__all__ = ["midranks", "sign_test", "wilcoxon"]

EXACT: Final = 50  # up to so many differences the distribution is counted out, with ties; beyond, it is normal


def sign_test(difference: Floats, largest: float = 1.0) -> float:
    """The two-sided p of wins against losses, ties left out: binomial."""
    from scipy.special import bdtr

    wins, _, losses = wins_ties_losses(difference, largest)
    if wins + losses == 0:
        return 1.0
    return float(min(1.0, 2 * bdtr(min(wins, losses), wins + losses, 0.5)))


def wilcoxon(difference: Floats, zeros: str = "wilcox", largest: float = 1.0) -> tuple[float, float]:
    """Wilcoxon's signed-rank test: the smaller sum of ranks, and the two-sided p.

    Differences are rounded to ten decimals first, for equal ones must be tied. `zeros="wilcox"` leaves those of 0 out;
    `zeros="pratt"` ranks them and then leaves them out. No continuity correction.
    """
    rounded = np.rint(difference / (TIE * (largest or 1.0)))
    if zeros == "wilcox":
        rounded = rounded[rounded != 0]
    ranks = midranks(np.abs(rounded))
    used, positive = ranks[rounded != 0], ranks[rounded > 0]
    if not len(used):
        return 0.0, 1.0
    smaller = min(positive.sum(), used.sum() - positive.sum())
    return float(smaller), _exact(used, smaller) if len(used) <= EXACT else _normal(used, smaller)


def midranks(values: Floats) -> Floats:
    """1, 2, 3, …; equal values share the mean of their ranks."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    result: Floats = ((2 * ends - counts + 1) / 2)[place]
    return result


def _exact(ranks: Floats, smaller: float) -> float:
    """Twice the share of sign patterns whose sum of positive ranks is no larger; counted, ranks doubled to be whole."""
    doubled: Ints = np.rint(2 * ranks).astype(np.int64)
    ways = np.zeros(int(doubled.sum()) + 1)
    ways[0] = 1.0
    for rank in doubled.tolist():
        ways[rank:] += ways[: len(ways) - rank].copy()
    return float(min(1.0, 2 * ways[: round(2 * smaller) + 1].sum() / 2.0 ** len(doubled)))


def _normal(ranks: Floats, smaller: float) -> float:
    from scipy.special import ndtr

    error = np.sqrt((ranks**2).sum() / 4)
    return float(min(1.0, 2 * ndtr((smaller - ranks.sum() / 2) / error)))
