"""Bootstrap intervals of ratios of means, of which a mean is the simplest: any number of them from the same resamples.

Units are drawn with replacement, numerator and denominator together, so that what they share is kept (paired).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rankgauge.stats.bootstrap import MOST_VARY, RESAMPLES, bca, draws

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats

__all__ = ["ratio_intervals", "ratios", "resamples_for"]

WORK: Final = 10_000_000  # units drawn in all, beyond which fewer resamples have to do
FEWEST: Final = 2_000
NOTHING: Final = 1e-12  # a mean that is no larger is 0 but for rounding, and nothing to divide by


def resamples_for(units: int) -> int:
    """How many resamples: 10,000, fewer of very many units."""
    return min(RESAMPLES, max(FEWEST, WORK // max(units, 1)))


def ratios(above: Floats, below: Floats) -> Floats:
    """The sums of the columns of the one over those of the other; NaN where there is nothing to divide by."""
    total = below.sum(axis=0)
    result: Floats = np.full(total.shape, np.nan)
    np.divide(above.sum(axis=0), total, out=result, where=np.abs(total) > NOTHING)
    return result


def ratio_intervals(
    above: Floats, below: Floats, *, alpha: float = 0.05, resamples: int | None = None, seed: int = 0
) -> Floats:
    """BCa intervals of Σ above / Σ below, a row per unit and a column per ratio; an interval a row.

    There is none (NaN) of a single unit, and where more than a tenth of the resamples have nothing to divide by.
    """
    units, number = above.shape
    observed = ratios(above, below)
    if units < 2 or not number:
        return np.full((number, 2), np.nan)
    drawn = np.empty((resamples or resamples_for(units), number))
    distinct, which = np.unique(below, axis=1, return_inverse=True)  # of means, one for all
    both, largest = np.concatenate([above, distinct], axis=1), np.abs(below).max(axis=0, initial=0.0)
    for part, times in draws(units, len(drawn), (seed, 3)):
        sums = times @ both
        drawn[part] = _divided(sums[:, :number], sums[:, number:][:, which.ravel()], largest)
    result = np.full((number, 2), np.nan)
    for at in range(number):
        known = drawn[~np.isnan(drawn[:, at]), at : at + 1]
        if len(known) < MOST_VARY * len(drawn) or np.isnan(observed[at]):
            continue
        influence = above[:, at : at + 1] - observed[at] * below[:, at : at + 1]
        result[at] = bca(known, influence, observed[at : at + 1], alpha)[0]
    return result


def _divided(above: Floats, below: Floats, largest: Floats) -> Floats:
    result = np.full(above.shape, np.nan)
    np.divide(above, below, out=result, where=np.abs(below) > NOTHING * np.maximum(largest, NOTHING))
    return result
