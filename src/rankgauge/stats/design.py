"""The mean of a population from a sample of it, whose units were drawn with known probabilities, and how sure it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgauge.stats.estimate import NAN, Estimate
from rankgauge.stats.paired import Moments, t_interval

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats, Ints

__all__ = ["design_estimate", "design_moments"]


def design_estimate(values: Floats, weights: Floats, inclusion: Floats, strata: Ints, alpha: float = 0.05) -> Estimate:
    """The weighted mean with its t interval; without ends where a stratum has a single unit that was left to chance."""
    found = design_moments(values, weights, inclusion, strata)
    if found.error == 0:
        return Estimate(found.difference, found.difference, found.difference)
    ends = t_interval(found, alpha) if found.freedom > 0 else (NAN, NAN)
    return Estimate(found.difference, *ends)


def design_moments(values: Floats, weights: Floats, inclusion: Floats, strata: Ints) -> Moments:
    """The mean of values, its standard error and degrees of freedom, over draws of the sample.

    With s = w/Σw and z = s(v − mean) the variance is the sum over strata of n/(n − 1) Σ(z − z̄)². A unit of inclusion 1
    is in every sample and adds none; one of weight 0 is not in the group of units that the mean is of, and was drawn
    all the same.
    """
    share = weights / weights.sum()
    mean = float((share * values).sum())
    apart = share * (values - mean)
    variance, freedom = 0.0, 0
    for stratum in np.unique(strata[inclusion < 1]):
        z = apart[(strata == stratum) & (inclusion < 1)]
        variance += float(((z - z.mean()) ** 2).sum()) * (len(z) / (len(z) - 1) if len(z) > 1 else NAN)
        freedom += len(z) - 1
    spread = float((apart**2).mean())
    skewness = float((apart**3).mean() / spread**1.5) if spread > 0 else 0.0
    return Moments(mean, float(np.sqrt(variance)), freedom, skewness, 0.0, 0.0, 0.0)
