"""Bootstrap intervals, any number of them from the same resamples.

Of mean differences: BCa (bias-corrected and accelerated, Efron 1987) and studentised (bootstrap-t: resampled
differences in their own standard errors). Of ratios of means: BCa.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from rankgauge.stats.paired import TIE, Units

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats

__all__ = [
    "MOST_VARY", "RESAMPLES", "bca", "bootstrap_intervals", "draws", "ratio_intervals", "ratios", "resamples_for",
]  # fmt: skip

RESAMPLES: Final = 10_000
MOST_VARY: Final = 0.9  # of the resamples; where fewer have an error of their own there is no studentised interval
AT_ONCE: Final = 64  # pairs whose resamples are held at the same time


def bootstrap_intervals(
    units: Units,
    pairs: Sequence[tuple[int, int]],
    kinds: Sequence[str],
    *,
    alpha: float = 0.05,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, Floats]:
    """Kind → an interval for each pair, a row each. Units are drawn with replacement, the same for all pairs."""
    result = {kind: np.empty((len(pairs), 2)) for kind in kinds}
    for start in range(0, len(pairs), AT_ONCE):
        some = pairs[start : start + AT_ONCE]
        apart = np.stack([units.sums[:, a] - units.sums[:, b] for a, b in some], axis=1)
        means, errors = _resampled(apart, units.share, resamples, seed)
        observed = apart.sum(axis=0)
        for kind in kinds:
            ends = (
                bca(means, apart - units.share[:, None] * observed, observed, alpha)
                if kind == "bca"
                else _studentised(means, errors, apart, units.share, alpha)
            )
            result[kind][start : start + len(some)] = ends
    return result


def _resampled(apart: Floats, share: Floats, resamples: int, seed: int) -> tuple[Floats, Floats]:
    """The mean difference of every resample and its standard error, a column per pair."""
    units, pairs = apart.shape
    columns = np.concatenate([apart, apart**2, apart * share[:, None], share[:, None], share[:, None] ** 2], axis=1)
    means, errors = np.empty((resamples, pairs)), np.empty((resamples, pairs))
    for part, times in draws(units, resamples, (seed, 1)):
        sums = times @ columns
        plain, square, crossed = (sums[:, i * pairs : (i + 1) * pairs] for i in range(3))
        weight, weight_square = sums[:, -2:-1], sums[:, -1:]
        mean = plain / weight
        spread = square - 2 * mean * crossed + mean**2 * weight_square
        means[part] = mean
        errors[part] = np.sqrt(np.maximum(spread, 0) * units / max(units - 1, 1)) / weight
    return means, errors


def draws(
    units: int, resamples: int, seed: tuple[int, ...], drawn: int | None = None
) -> Iterator[tuple[slice, Floats]]:
    """Which resamples, and how often each of them holds every unit; of so many units drawn, or as many as there are."""
    number = units if drawn is None else drawn
    at_once = max(1, min(resamples, (1 << 21) // units))
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    for start in range(0, resamples, at_once):
        size = min(at_once, resamples - start)
        chosen = random.integers(0, units, (size, number)) + units * np.arange(size)[:, None]
        times = np.bincount(chosen.ravel(), minlength=size * units).reshape(size, units)
        yield slice(start, start + size), times.astype(np.float64)


def bca(means: Floats, residuals: Floats, observed: Floats, alpha: float) -> Floats:
    """Percentiles moved for the bias of the median and for the skewness, whose part is known in closed form."""
    from scipy.special import ndtr, ndtri

    below = ((means < observed).mean(axis=0) + (means <= observed).mean(axis=0)) / 2
    square = (residuals**2).sum(axis=0)
    result = np.stack([observed, observed], axis=1)
    for pair in np.flatnonzero((square > 0) & (below > 0) & (below < 1)).tolist():
        bias = ndtri(below[pair])
        acceleration = (residuals[:, pair] ** 3).sum() / (6 * square[pair] ** 1.5)
        wanted = bias + ndtri([alpha / 2, 1 - alpha / 2])
        levels = ndtr(bias + wanted / (1 - acceleration * wanted))
        result[pair] = np.quantile(means[:, pair], levels)
    return result


def _studentised(means: Floats, errors: Floats, apart: Floats, share: Floats, alpha: float) -> Floats:
    """The quantiles of (resampled − observed) / its error, turned around the observed difference."""
    units, observed = len(apart), apart.sum(axis=0)
    error = np.sqrt(((apart - share[:, None] * observed) ** 2).sum(axis=0) * units / max(units - 1, 1))
    result = np.stack([observed, observed], axis=1)
    for pair in np.flatnonzero(error > TIE * np.abs(apart).max(axis=0, initial=0.0)).tolist():
        varying = errors[:, pair] > 1e-9 * error[pair]
        t = (means[varying, pair] - observed[pair]) / errors[varying, pair]
        if varying.mean() < MOST_VARY:
            result[pair] = np.nan
            continue
        high, low = np.quantile(t, [alpha / 2, 1 - alpha / 2])
        result[pair] = observed[pair] - low * error[pair], observed[pair] - high * error[pair]
    return result


# ---- ratios of means, of which a mean is the simplest ----------------------------------------------------------------
# Numerator and denominator are drawn together, so that what they share is kept (paired).


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
        drawn[part], by = np.nan, sums[:, number:][:, which.ravel()]
        np.divide(sums[:, :number], by, out=drawn[part], where=np.abs(by) > NOTHING * np.maximum(largest, NOTHING))
    result = np.full((number, 2), np.nan)
    for at in range(number):
        known = drawn[~np.isnan(drawn[:, at]), at : at + 1]
        if len(known) < MOST_VARY * len(drawn) or np.isnan(observed[at]):
            continue
        influence = above[:, at : at + 1] - observed[at] * below[:, at : at + 1]
        result[at] = bca(known, influence, observed[at : at + 1], alpha)[0]
    return result
