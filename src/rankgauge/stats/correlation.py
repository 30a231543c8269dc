"""Correlations of two columns and of two orders, shares, their intervals, what noise takes from them; and the line.

NaN stands for what does not exist: a correlation with a constant column, an interval of too few rows or of ±1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rankgauge.stats.estimate import NAN, Estimate
from rankgauge.stats.paired import midranks

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats, Ints

__all__ = [
    "COEFFICIENTS", "Coefficient", "Line", "Share", "corrected", "correlated", "dependent_difference",
    "effective_number", "fisher", "fitted", "is_constant", "kendall", "pearson", "rbo", "reliability", "spearman",
    "tau_ap", "weighted_pearson", "wilson", "without_each",
]  # fmt: skip

SAME: Final = 1e-12  # of the largest value: a column that varies less is constant but for rounding


class Share(NamedTuple):
    """So many of so many: the share, which is NaN of nothing, and its interval."""

    value: float
    low: float
    high: float
    part: float
    whole: float

    def to_dict(self) -> dict[str, float]:
        """For JSON."""
        return {"count": self.part, "of": self.whole, "value": self.value, "low": self.low, "high": self.high}


def is_constant(values: Floats) -> bool:
    """Whether all values are the same."""
    return bool(np.ptp(values) <= SAME * np.abs(values).max(initial=0.0))


# ---- coefficients ----------------------------------------------------------------------------------------------------


def pearson(x: Floats, y: Floats) -> float:
    """Pearson's r."""
    return weighted_pearson(x, y, np.ones(len(x)))


def weighted_pearson(x: Floats, y: Floats, weights: Floats) -> float:
    """Pearson's r, where a row counts as much as its weight."""
    counted = weights > 0
    if counted.sum() < 2 or is_constant(x[counted]) or is_constant(y[counted]):
        return float("nan")
    share = weights / weights.sum()
    a, b = (values - share @ values for values in (x, y))
    return float(np.clip((share * a) @ b / np.sqrt(((share * a) @ a) * ((share * b) @ b)), -1.0, 1.0))


def spearman(x: Floats, y: Floats) -> float:
    """Spearman's ρ: Pearson's r of the ranks, equal values sharing theirs."""
    return pearson(midranks(x), midranks(y))


def kendall(x: Floats, y: Floats) -> float:
    """Kendall's τ_b: pairs in the same order minus pairs turned round, over those not tied, in n log n steps."""
    number = len(x)
    first, second = (np.unique(values, return_inverse=True)[1].ravel() for values in (x, y))
    order = np.lexsort((second, first))
    turned = _inversions(second[order])
    pairs = number * (number - 1) // 2
    in_x, in_y = _tied(first), _tied(second)
    untied = float(pairs - in_x) * float(pairs - in_y)
    both = _tied(first * (int(second.max(initial=0)) + 1) + second)
    return float((pairs - in_x - in_y + both - 2 * turned) / np.sqrt(untied)) if untied else float("nan")


def _tied(values: Ints) -> int:
    counts = np.unique(values, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def _inversions(values: Ints) -> int:
    """Pairs of which the earlier is the larger, bit by bit: numbers that differ first in this bit, a 1 before a 0."""
    found = 0
    for bit in range(int(values.max(initial=0)).bit_length()):
        group = values >> (bit + 1)
        placed = np.argsort(group, kind="stable")
        one = (values[placed] >> bit) & 1
        before = np.cumsum(one) - one
        starts = np.flatnonzero(np.diff(group[placed], prepend=-1))
        of_group = np.repeat(before[starts], np.diff(starts, append=len(values)))
        found += int(((before - of_group) * (1 - one)).sum())
    return found


# ---- orders of systems -----------------------------------------------------------------------------------------------
# Where the formula needs an order, the value is the expectation over all orders of tied systems, in closed form.


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


def _reached(values: Floats, depth: Ints) -> Floats:
    """System × depth: the chance to be among the first so many."""
    before = (values > values[:, None]).sum(axis=1)
    tied = (values == values[:, None]).sum(axis=1)
    result: Floats = np.clip((depth - before[:, None]) / tied[:, None], 0.0, 1.0)
    return result


# ---- intervals -------------------------------------------------------------------------------------------------------


def fisher(r: float, number: float, alpha: float = 0.05, *, spread: float = 1.0, lost: float = 3.0) -> Estimate:
    """r with the interval tanh(atanh r ± z · √(spread / (number − lost)))."""
    from scipy.special import ndtri

    if not abs(r) < 1 or number <= lost:
        return Estimate(r)
    middle, reach = np.arctanh(r), -ndtri(alpha / 2) * np.sqrt(spread / (number - lost))
    return Estimate(r, float(np.tanh(middle - reach)), float(np.tanh(middle + reach)))


def wilson(part: float, whole: float, alpha: float = 0.05, *, effective: float | None = None) -> Share:
    """A share with Wilson's interval; `effective` is the number of rows that a weighted share is worth."""
    from scipy.special import ndtri

    number = whole if effective is None else effective
    if not whole or not number:
        return Share(part / whole if whole else NAN, NAN, NAN, part, whole)
    p, z = part / whole, -ndtri(alpha / 2)
    middle = (p + z**2 / (2 * number)) / (1 + z**2 / number)
    reach = z / (1 + z**2 / number) * np.sqrt(p * (1 - p) / number + z**2 / (4 * number**2))
    return Share(p, max(0.0, float(middle - reach)), min(1.0, float(middle + reach)), part, whole)


def effective_number(weights: Floats) -> float:
    """How many rows of equal weight these are worth (Kish): (Σw)² / Σw²."""
    return float(weights.sum() ** 2 / (weights**2).sum())


class Coefficient(NamedTuple):
    """How a coefficient is computed, and its interval: by Fisher's z, with the spread of its own."""

    name: str
    of: Callable[[Floats, Floats], float]
    spread: Callable[[float], float]
    lost: float
    interval: str


COEFFICIENTS: Final = {
    "pearson": Coefficient("Pearson", pearson, lambda r: 1.0, 3.0, "Fisher's z, variance 1/(n − 3)"),
    "spearman": Coefficient(
        "Spearman",
        spearman,
        lambda r: 1 + r * r / 2,
        3.0,
        "Fisher's z, variance (1 + ρ²/2)/(n − 3) (Bonett, Wright 2000)",
    ),
    "kendall": Coefficient(
        "Kendall τ_b", kendall, lambda r: 0.437, 4.0, "Fisher's z, variance 0.437/(n − 4) (Fieller et al. 1957)"
    ),
}


def correlated(kind: str, x: Floats, y: Floats, alpha: float = 0.05) -> Estimate:
    """One of the coefficients with its interval."""
    each = COEFFICIENTS[kind]
    r = each.of(x, y)
    return fisher(r, len(x), alpha, spread=each.spread(r), lost=each.lost)


def dependent_difference(one: Estimate, other: Estimate, between: float) -> Estimate:
    """r(x, y) − r(z, y) of the same rows with its interval (Zou 2007); `between` is r(x, z)."""
    a, b = one.value, other.value
    change = a - b
    if not abs(a) < 1 or not abs(b) < 1:
        return Estimate(change)
    shared = (between - a * b / 2) * (1 - a * a - b * b - between * between) + between**3
    shared /= (1 - a * a) * (1 - b * b)

    def reach(down: float, up: float) -> float:
        return float(np.sqrt(max(0.0, down**2 + up**2 - 2 * shared * down * up)))

    low, high = reach(a - one.low, other.high - b), reach(one.high - a, b - other.low)
    return Estimate(change, change - low, change + high)


# ---- noise -----------------------------------------------------------------------------------------------------------


def reliability(values: Floats, errors: Floats) -> float:
    """The share of a column's variance that is not the noise of its values: 1 − mean error² / variance.

    At 0 or below, noise alone explains how the values vary.
    """
    return 1 - float((errors**2).mean()) / float(values.var(ddof=1))


def corrected(found: Estimate, *reliabilities: float) -> Estimate:
    """A correlation as it would be without noise: r / √(their product); they are taken as known. NaN if one is ≤ 0.

    The value may leave −1 to 1, which says that the errors are overestimated or the rows few; the ends may not.
    """
    if min(reliabilities) <= 0:
        return Estimate(NAN)
    by = float(np.sqrt(np.prod(reliabilities)))
    ends: Any = np.clip([found.low / by, found.high / by], -1.0, 1.0)
    return Estimate(found.value / by, float(ends[0]), float(ends[1]))


# ---- a straight line through points ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """y = intercept + slope · x by least squares, and what its intervals need. `scatter` is NaN where nothing is left
    over to estimate it from."""

    slope: float
    intercept: float
    scatter: float  # the standard deviation around the line, n − 2 degrees of freedom
    number: int
    middle: float  # the mean of x
    width: float  # Σ(x − middle)²
    is_perfect: bool = False  # whether all points lie on it, but for rounding

    def slope_times(self, step: float, alpha: float = 0.05) -> Estimate:
        """What a step of x adds to y."""
        return self._interval(self.slope * step, self.scatter * abs(step) / np.sqrt(self.width), alpha)

    def mean_at(self, x: float, alpha: float = 0.05) -> Estimate:
        """The mean of y at x."""
        return self._interval(self.intercept + self.slope * x, self.scatter * np.sqrt(self._leverage(x)), alpha)

    def next_at(self, x: float, alpha: float = 0.05) -> Estimate:
        """The y of one more point at x: a prediction interval."""
        return self._interval(self.intercept + self.slope * x, self.scatter * np.sqrt(1 + self._leverage(x)), alpha)

    def _leverage(self, x: float) -> float:
        return 1 / self.number + (x - self.middle) ** 2 / self.width

    def _interval(self, value: float, error: float, alpha: float) -> Estimate:
        from scipy.special import stdtrit

        reach = float(stdtrit(self.number - 2, 1 - alpha / 2) * error) if self.number > 2 else float("nan")
        return Estimate(float(value), float(value - reach), float(value + reach))


def fitted(x: Floats, y: Floats) -> Line:
    """The line of least squares; x must vary."""
    a, b = x - x.mean(), y - y.mean()
    width = float(a @ a)
    slope = float(a @ b) / width
    left = float(((b - slope * a) ** 2).sum())
    scatter = float(np.sqrt(left / (len(x) - 2))) if len(x) > 2 else float("nan")
    perfect = left <= (SAME * float(np.abs(y).max())) ** 2 * len(x)
    return Line(slope, float(y.mean() - slope * x.mean()), scatter, len(x), float(x.mean()), width, perfect)


def without_each(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Pearson's r and the slope without each of the points in turn; NaN where what is left does not vary."""
    number = len(x)
    a, b = x - x.mean(), y - y.mean()
    # Taking point i out of centred sums takes n/(n − 1) times its product out.
    scale = number / (number - 1)
    xx, yy, xy = (float(p @ q) - scale * p * q for p, q in ((a, a), (b, b), (a, b)))
    flat_x = xx <= SAME * float(a @ a)
    flat_y = yy <= SAME * float(b @ b)
    with np.errstate(invalid="ignore", divide="ignore"):
        r = np.where(flat_x | flat_y, np.nan, np.clip(xy / np.sqrt(np.abs(xx * yy)), -1.0, 1.0))
        slope = np.where(flat_x, np.nan, xy / xx)
    return r, slope
