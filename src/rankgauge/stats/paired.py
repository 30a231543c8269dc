"""Two systems on the same queries: the mean difference, how sure it is, and how large it is against its scatter.

Everything is written for *units*: what is drawn, flipped and counted as one. A unit is a query, or a cluster of queries
(paraphrases, the queries of one user); queries may have weights. With one query a unit and equal weights, each formula
is the textbook's: the standard error is s/√n, the degrees of freedom n − 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats, Ints

__all__ = [
    "NOWHERE", "QUANTILES", "TIE", "Interval", "Moments", "Units", "added_up", "apart", "effect_interval",
    "effect_size", "hedges", "midranks", "moments", "posterior", "sign_test", "t_quantile", "t_test", "tost",
    "units_of", "wilcoxon", "wins_ties_losses", "within_range",
]  # fmt: skip

TIE: Final = 1e-10  # values closer than this, in units of the largest, are equal
Interval = tuple[float, float]
NOWHERE: Final[Interval] = (float("-inf"), float("inf"))
QUANTILES: Final[dict[tuple[float, float], float]] = {}  # degrees of freedom and alpha → the quantile of t, two-sided


def within_range(interval: Interval, bounded: bool, lowest: float = 0.0, highest: float = 1.0) -> Interval:
    """The interval where the measure can be: from 0 for a mean, from −1 for a difference; one without ends stays."""
    if not bounded or interval == NOWHERE:
        return interval
    low, high = (min(max(end, lowest), highest) for end in interval)
    return low, high


@dataclass(frozen=True, slots=True)
class Units:
    """Sums of weighted values: `sums[c, j]` adds up w·x over the queries of unit c, `share[c]` adds up w; Σ share = 1.

    The mean of system j is `sums[:, j].sum()`.
    """

    share: Floats
    sums: Floats

    def __len__(self) -> int:
        return len(self.share)

    @property
    def effective(self) -> float:
        """How many units of equal weight tell as much (Kish)."""
        return float(1 / (self.share**2).sum())


def units_of(table: Floats, weights: Floats | None = None, clusters: Ints | None = None) -> Units:
    """The units of a table of values, a row per query and a column per system."""
    queries, systems = table.shape
    share = np.full(queries, 1 / queries) if weights is None else weights / weights.sum()
    sums = table * share[:, None]
    if clusters is None:
        return Units(share, sums)
    number = int(clusters.max()) + 1
    together = np.stack([added_up(clusters, sums[:, j], number) for j in range(systems)], axis=1)
    present = np.bincount(clusters, minlength=number) > 0
    return Units(added_up(clusters, share, number)[present], together[present])


def apart(one: Floats, other: Floats) -> Floats:
    """Differences by query; what differs by rounding alone is equal."""
    difference: Floats = one - other
    difference[np.abs(difference) <= TIE * max(np.abs(one).max(initial=0.0), np.abs(other).max(initial=0.0))] = 0.0
    return difference


def added_up(clusters: Ints, values: Floats, number: int) -> Floats:
    """The sum of the values of every cluster."""
    result: Floats = np.bincount(clusters, values, number)  # type: ignore[assignment]  # numpy's stubs forget the weights
    return result


class Moments(NamedTuple):
    """Of a difference: its mean, the standard error of that, the degrees of freedom, the skewness."""

    difference: float
    error: float
    freedom: int
    skewness: float

    @property
    def t(self) -> float:
        """The difference in standard errors; infinite where it never varies, 0 where there is none; NaN of one unit."""
        if not self.freedom:
            return float("nan")
        if self.error > 0:
            return self.difference / self.error
        return float(np.copysign(np.inf, self.difference)) if self.difference else 0.0


def moments(units: Units, a: int, b: int) -> Moments:
    """The moments of system a − system b, to describe their difference by."""
    first, second = units.sums[:, a], units.sums[:, b]
    mean = float((first - second).sum())
    apart = (first - second) - units.share * mean
    number = len(units)
    scale = number / (number - 1) if number > 1 else float("nan")
    square = float((apart**2).sum())
    if number > 1 and square <= (TIE * max(float(np.abs(first).max()), float(np.abs(second).max()))) ** 2 * number:
        square = 0.0  # rounding, not scatter
        mean = 0.0 if np.array_equal(first, second) else mean
    skewness = float((apart**3).mean() / (square / number) ** 1.5) if square > 0 else 0.0
    return Moments(mean, float(np.sqrt(scale * square)), number - 1, skewness)


def t_test(found: Moments) -> float:
    """The two-sided p of the paired t-test: 1 where nothing differs, 0 where the difference never varies."""
    from scipy.special import stdtr

    if found.freedom < 1:
        return float("nan")
    return float(2 * stdtr(found.freedom, -abs(found.t)))


def t_quantile(freedom: float, alpha: float) -> float:
    """The two-sided quantile of t, which is kept."""
    if freedom <= 0:
        return float("nan")
    if (freedom, alpha) not in QUANTILES:
        from scipy.special import stdtrit

        QUANTILES[freedom, alpha] = float(stdtrit(freedom, 1 - alpha / 2))
    return QUANTILES[freedom, alpha]


def effect_size(found: Moments, units: Units) -> float:
    """d_z: the mean difference in standard deviations of the differences."""
    return float(found.t / np.sqrt(units.effective))


def hedges(freedom: int) -> float:
    """J, which makes g_z = J · d_z of d_z: it takes out the bias of small samples."""
    from scipy.special import gammaln

    if freedom < 2:
        return float("nan")
    return float(np.exp(gammaln(freedom / 2) - gammaln((freedom - 1) / 2)) / np.sqrt(freedom / 2))


def effect_interval(t: Floats, freedom: int, effective: float, alpha: float = 0.05) -> Floats:
    """The intervals of d_z, a row each: the noncentral t distributions under which t is at the edge of likely."""
    from scipy.special import nctdtrinc

    result: Floats = np.stack([np.where(t == 0, 0.0, t)] * 2, axis=1) / np.sqrt(effective)
    varying = np.isfinite(t)
    if freedom < 1 or not varying.any():
        return result
    for end, level in enumerate((1 - alpha / 2, alpha / 2)):
        start = nctdtrinc(freedom, level, t[varying])
        result[varying, end] = _refined(start, freedom, level, t[varying]) / np.sqrt(effective)
    return result


def _refined(start: Floats, freedom: int, level: float, t: Floats) -> Floats:
    """Two secant steps: the library's inverse is right to some eight digits only."""
    from scipy.special import nctdtr

    before, at = start + 1e-4, start
    off_before, off = nctdtr(freedom, before, t) - level, nctdtr(freedom, at, t) - level
    for _ in range(2):
        slope = (off - off_before) / np.where(at == before, 1.0, at - before)
        step = np.where(slope != 0, off / np.where(slope == 0, 1.0, slope), 0.0)
        before, off_before = at, off
        at = at - step
        off = nctdtr(freedom, at, t) - level
    better = np.isfinite(at) & (np.abs(at - start) < 1e-3 * (1 + np.abs(start)))
    result: Floats = np.where(better, at, start)
    return result


def wins_ties_losses(difference: Floats, largest: float = 1.0) -> tuple[int, int, int]:
    """Queries that are better, equal (to ten decimals) and worse."""
    margin = TIE * largest
    wins, losses = int((difference > margin).sum()), int((difference < -margin).sum())
    return wins, len(difference) - wins - losses, losses


def tost(found: Moments, margin: float) -> float:
    """The p of two one-sided t-tests: small where the difference is shown to lie within ± margin."""
    from scipy.special import stdtr

    if found.freedom < 1:
        return float("nan")
    if not found.error:
        return float(abs(found.difference) >= margin)
    above, below = (found.difference + margin) / found.error, (found.difference - margin) / found.error
    return float(max(stdtr(found.freedom, -above), stdtr(found.freedom, below)))


def posterior(found: Moments, low: float, high: float) -> float:
    """The probability that the true difference is between low and high, under the reference prior.

    The posterior is a t distribution around the mean difference, with the standard error as its scale.
    """
    from scipy.special import stdtr

    if found.freedom < 1:
        return float("nan")
    if not found.error:
        on_edge = found.difference in (low, high)  # equal everywhere: neither better nor worse
        return 0.5 if on_edge else float(low < found.difference < high)
    ends = ((end - found.difference) / found.error for end in (low, high))
    below_low, below_high = (float(stdtr(found.freedom, end)) for end in ends)
    return below_high - below_low


# ---- rank tests ------------------------------------------------------------------------------------------------------
# They ask whether the typical query got better, not whether the mean did. Where most queries lose a little and a few
# win much, the two questions have different answers, and with many queries these tests then reject a difference of 0
# almost surely. They are shown as a description, never as the decision.


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
