"""The mean of a population from a sample of it, whose units were drawn with known probabilities, and how sure it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgauge.stats.estimate import NAN, Estimate
from rankgauge.stats.paired import Interval, Moments, t_interval

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats, Ints

__all__ = ["design_estimate", "design_interval", "design_moments"]


def design_estimate(values: Floats, weights: Floats, inclusion: Floats, strata: Ints, alpha: float = 0.05) -> Estimate:
    """The weighted mean of values, with its interval over draws of the sample."""
    found = design_moments(values, weights, inclusion, strata)
    return Estimate(found.difference, *design_interval(found, alpha))


def design_interval(found: Moments, alpha: float = 0.05) -> Interval:
    """The t interval; the value itself where nothing was left to chance, none where a stratum has a single unit."""
    if found.error == 0:
        return found.difference, found.difference
    return t_interval(found, alpha) if found.freedom > 0 else (NAN, NAN)


def design_moments(
    values: Floats, weights: Floats, inclusion: Floats, strata: Ints, other: Floats | None = None
) -> Moments:
    """The mean of values (of values − other, where there are others) and its standard error over draws of the sample.

    With s = w/Σw and z = s(v − mean) the variance is the sum over strata of n/(n − 1) Σ(z − z̄)². A unit of inclusion 1
    is in every sample and adds none; one of weight 0 is not in the group of units that the mean is of, and was drawn
    all the same.
    """
    share = weights / weights.sum()
    second = np.zeros(len(values)) if other is None else other
    mean, beside = float((share * (values - second)).sum()), float((share * second).sum())
    z, y = share * (values - second - mean), share * (second - beside)
    drawn = inclusion < 1
    sizes = [int((strata[drawn] == stratum).sum()) for stratum in np.unique(strata[drawn])]
    spread = float((z**2).mean())
    return Moments(
        mean,
        float(np.sqrt(_covariance(z, z, drawn, strata))),
        sum(sizes) - len(sizes),
        float((z**3).mean() / spread**1.5) if spread > 0 else 0.0,
        beside,
        _covariance(y, y, drawn, strata),
        _covariance(z, y, drawn, strata),
    )


def _covariance(one: Floats, other: Floats, drawn: Bools, strata: Ints) -> float:
    """Of two sums of what was drawn: added up over strata, each around its own mean."""
    total = 0.0
    for stratum in np.unique(strata[drawn]):
        x, y = (each[drawn & (strata == stratum)] for each in (one, other))
        size = len(x)
        total += float(((x - x.mean()) * (y - y.mean())).sum()) * (size / (size - 1) if size > 1 else NAN)
    return total
