"""How many queries show how small a difference: exact power of the paired t-test, no approximation by the normal.

A difference between two systems is judged by the values of its queries: their mean against their deviation (the
standard deviation of the differences, query by query) divided by the root of their number. Under a true difference the
t statistic follows the noncentral t distribution, whose noncentrality is difference / deviation · √queries. Everything
here is that one fact, solved for what is asked: the power, the difference, or the number of queries.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from rankgauge.errors import InputError

__all__ = [
    "ALPHA", "POWER", "comparisons", "detectable", "detectable_range", "detectable_share", "interval_width", "power_of",
    "power_of_range", "queries_for_range", "queries_for_width", "queries_needed",
]  # fmt: skip

POWER: Final = 0.80  # the chance of finding a difference that is there
ALPHA: Final = 0.05  # the chance of finding one that is not
NEGLIGIBLE: Final = 1e-12
MOST_QUERIES: Final = 10**12  # queries; beyond it the answer is "no"


# ---- two systems ----------------------------------------------------------------------------------------------------


def power_of(deviation: float, difference: float, queries: int, *, alpha: float = ALPHA, sides: int = 2) -> float:
    """The chance that a paired t-test on so many queries finds a true difference."""
    _check(deviation, alpha=alpha, sides=sides)
    if queries < 2:
        return 0.0
    if deviation == 0:
        return float(difference != 0 if sides == 2 else difference > 0)
    return _power(queries, difference / deviation * math.sqrt(queries), alpha, sides)


def detectable(deviation: float, queries: int, *, power: float = POWER, alpha: float = ALPHA, sides: int = 2) -> float:
    """The smallest true difference that so many queries show with this power; infinite below two queries.

    >>> round(detectable(0.2, 50), 4)
    0.0808
    """
    _check(deviation, power=power, alpha=alpha, sides=sides)
    if queries < 2:
        return math.inf
    return deviation * _noncentrality(queries, power, alpha, sides) / math.sqrt(queries)


def detectable_share(alpha: float = ALPHA, power: float = POWER) -> float:
    """What share of an interval's width is the smallest true difference that is found with this power.

    >>> round(detectable_share(), 3)
    0.715
    """
    from scipy.special import ndtri

    critical = float(ndtri(1 - alpha / 2))
    return (critical + float(ndtri(power))) / (2 * critical)


def queries_needed(
    deviation: float,
    difference: float,
    *,
    power: float = POWER,
    alpha: float = ALPHA,
    sides: int = 2,
    margin: float | None = None,
) -> int:
    """How many queries show a true difference with this power.

    With a `margin` the question is that of a gate, and one-sided: how many queries show that a system whose true
    difference is `difference` (0: just as good) is not worse by more than the margin.

    >>> queries_needed(0.2, 0.05), queries_needed(0.1, 0, margin=0.01)
    (128, 620)
    """
    _check(deviation, power=power, alpha=alpha, sides=sides)
    distance = _distance(difference, margin)
    sides = sides if margin is None else 1
    return _fewest(lambda queries: power_of(deviation, distance, queries, alpha=alpha, sides=sides) >= power)


def _distance(difference: float, margin: float | None) -> float:
    """How far the truth is from what is to be ruled out."""
    if not math.isfinite(difference) or not math.isfinite(margin or 0.0):
        raise InputError(f"a difference is a finite number, not {difference} (margin {margin})")
    if margin is None:
        if difference == 0:
            raise InputError("no number of queries shows a difference of 0; give the smallest one that matters")
        return abs(difference)
    if margin <= 0 or difference <= -margin:
        raise InputError(
            f"no number of queries shows that a true difference of {difference:g} is within a margin of {margin:g}; "
            "the margin is more than 0, and more than what is truly lost"
        )
    return difference + margin


@lru_cache(maxsize=4096)
def _noncentrality(queries: int, power: float, alpha: float, sides: int) -> float:
    """The noncentrality at which the test has the power: bisection down to the last digit."""
    low, high = 0.0, 1.0
    while _power(queries, high, alpha, sides) < power:
        low, high = high, 2 * high
    return _bisected(low, high, lambda middle: _power(queries, middle, alpha, sides) >= power)


def _power(queries: int, noncentrality: float, alpha: float, sides: int) -> float:
    from scipy import special

    critical = -special.stdtrit(queries - 1, alpha / sides)
    above = 1.0 - _t_below(queries - 1, noncentrality, critical)
    return above if sides == 1 else above + _t_below(queries - 1, noncentrality, -critical)


def _t_below(freedom: int, noncentrality: float, t: float) -> float:
    """The distribution function of the noncentral t; where scipy's gives up (nan), by integration."""
    from scipy import special

    below = float(special.nctdtr(freedom, noncentrality, t))
    return _t_below_far_out(freedom, noncentrality, t) if math.isnan(below) else below


def _t_below_far_out(freedom: int, noncentrality: float, t: float) -> float:
    """The same for a large noncentrality: the chance that √(χ²/freedom) ≥ (z + noncentrality) / t, over all normal z.

    The sum converges faster than any power of its step, as the integrand is smooth and vanishes at both ends.
    """
    import numpy as np
    from scipy import special

    if t <= 0:
        return 0.0
    z = np.linspace(-9.0, 9.0, 721)
    least = np.maximum(z + noncentrality, 0.0) / t
    density = np.exp(-(z**2) / 2) * (z[1] - z[0]) / math.sqrt(2 * math.pi)
    return float((density * special.chdtrc(freedom, freedom * least**2)).sum())


# ---- many systems ---------------------------------------------------------------------------------------------------


def comparisons(systems: int, *, baseline: bool = False) -> int:
    """How many pairs there are: all of them, or each system with the baseline."""
    if systems < 2:
        raise InputError(f"there is nothing to compare among {systems} systems; it takes two")
    return systems - 1 if baseline else systems * (systems - 1) // 2


def power_of_range(deviation: float, difference: float, queries: int, systems: int, *, alpha: float = ALPHA) -> float:
    """The chance that an analysis of variance over systems and queries finds that not all systems are equal.

    `difference` is the range: the best minus the worst system, all others midway, which is the hardest case. The
    variance within is half of that of a difference, so that two systems give the paired t-test exactly.
    """
    _check(deviation, alpha=alpha)
    comparisons(systems)
    if queries < 2:
        return 0.0
    if deviation == 0:
        return float(difference != 0)
    return _range_power(queries, systems, queries * (difference / deviation) ** 2, alpha)


def queries_for_range(
    deviation: float, difference: float, systems: int, *, power: float = POWER, alpha: float = ALPHA
) -> int:
    """How many queries show that not all systems are equal, when best and worst differ by this much."""
    _check(deviation, power=power, alpha=alpha)
    distance = _distance(difference, None)
    return _fewest(lambda queries: power_of_range(deviation, distance, queries, systems, alpha=alpha) >= power)


def detectable_range(
    deviation: float, queries: int, systems: int, *, power: float = POWER, alpha: float = ALPHA
) -> float:
    """The smallest difference of best and worst at which so many queries show that not all systems are equal."""
    _check(deviation, power=power, alpha=alpha)
    comparisons(systems)
    if queries < 2:
        return math.inf
    high = 1.0
    while _range_power(queries, systems, high, alpha) < power:
        high *= 2
    noncentrality = _bisected(0.0, high, lambda middle: _range_power(queries, systems, middle, alpha) >= power)
    return deviation * math.sqrt(noncentrality / queries)


def _range_power(queries: int, systems: int, noncentrality: float, alpha: float) -> float:
    from scipy import special

    between, within = systems - 1, (systems - 1) * (queries - 1)
    critical = special.fdtri(between, within, 1 - alpha)
    if noncentrality < NEGLIGIBLE:  # scipy's series fails next to 0
        noncentrality = 0.0
    below = float(special.ncfdtr(between, within, noncentrality, critical))
    return 1.0 if math.isnan(below) else 1.0 - below


# ---- intervals ------------------------------------------------------------------------------------------------------


def interval_width(deviation: float, queries: int, *, alpha: float = ALPHA) -> float:
    """The expected width, from end to end, of the t interval of a mean difference; infinite below two queries."""
    from scipy import special

    _check(deviation, alpha=alpha)
    if queries < 2:
        return math.inf
    freedom = queries - 1
    # A sample's standard deviation is on average a little below the true one.
    shrink = math.sqrt(2 / freedom) * float(special.poch(freedom / 2, 0.5))  # Γ(queries/2) / Γ(freedom/2)
    return float(-2 * special.stdtrit(freedom, alpha / 2)) * deviation * shrink / math.sqrt(queries)


def queries_for_width(deviation: float, width: float, *, alpha: float = ALPHA) -> int:
    """How many queries make the interval of a mean difference this narrow, on average."""
    _check(deviation, alpha=alpha)
    if not width > 0:
        raise InputError(f"the width of an interval is more than 0, not {width}")
    return _fewest(lambda queries: interval_width(deviation, queries, alpha=alpha) <= width)


# ---- inside ---------------------------------------------------------------------------------------------------------


def _check(deviation: float, *, power: float = POWER, alpha: float = ALPHA, sides: int = 2) -> None:
    if not (math.isfinite(deviation) and deviation >= 0):
        raise InputError(f"a standard deviation is a finite number, 0 or more, not {deviation}")
    if not alpha < power < 1:
        raise InputError(f"a power is between alpha ({alpha}) and 1, not {power}; 0.8 is usual")
    if not 0 < alpha < 1:
        raise InputError(f"alpha is between 0 and 1, not {alpha}; 0.05 is usual")
    if sides not in (1, 2):
        raise InputError(f"a test has 1 side or 2, not {sides}")


def _fewest(enough: Callable[[int], bool]) -> int:
    """The smallest number of queries that is enough; more are enough, too."""
    high = 2
    while not enough(high):
        high *= 2
        if high > MOST_QUERIES:
            raise InputError(f"more than {MOST_QUERIES:,} queries would be needed; ask for a larger difference")
    low = high // 2 if high > 2 else 1  # one query is never enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _bisected(low: float, high: float, reached: Callable[[float], bool]) -> float:
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if reached(middle) else (middle, high)
    return high
