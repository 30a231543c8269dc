"""Prediction-powered inference for a mean: a few true values, and predictions for all.

    θ = λ · mean(F without truth) + mean(Y − λ·F with truth)

is right whatever the predictions are worth: what they are off by is measured where the truth is known and taken away.
λ = cov(Y, F) / ((1 + n/N) · var F), kept from 0 to 1, makes the estimate as sure as it can be: 0 is people alone.
(Angelopoulos, Duchi and Zrnic, PPI++: Efficient prediction-powered inference, 2023.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from rankgauge.errors import InputError
from rankgauge.stats.estimate import Estimate
from rankgauge.stats.inference import FEW, Queries, differences, mean_interval

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats

__all__ = ["IDLE", "INTERVALS", "needed", "needed_alone", "plain_mean", "power", "prediction_powered"]

# Interval → what it is.
Interval: TypeAlias = Literal["flips", "ppi_py", "t"]
INTERVALS: Final = {
    "flips": "the sign-flip test inverted; of humans alone Wilson's",
    "ppi_py": "normal, variances divided by n: what the package ppi_py gives",
}
IDLE: Final[dict[str, Interval]] = {"t": "flips"}  # what was an interval once → what is made in its place

MOST_QUERIES: Final = 10**9  # more than anyone will ever judge
SAME: Final = 9  # decimals, to which values that are the same agree


def power(truth: Floats, predicted: Floats, others: Floats) -> float:
    """λ, as ppi_py has it: the variance of predictions is that of all of them."""
    n, more = len(truth), len(others)
    if not more:
        return 0.0
    spread = float(np.var(np.concatenate([predicted, others]), ddof=1))
    together = float(((truth - truth.mean()) * (predicted - predicted.mean())).mean())
    return float(np.clip(together / ((1 + n / more) * spread), 0.0, 1.0)) if spread > 0 else 0.0


def prediction_powered(
    truth: Floats, predicted: Floats, others: Floats, *, alpha: float = 0.05, interval: str = "flips",
    lam: float | None = None,
) -> Estimate:  # fmt: skip
    """The mean from `truth` with its `predicted` values and the predictions for `others`; λ is chosen, unless given.

    The interval is that of the mean of truth − λ · prediction, made wider by what the others' predictions add to its
    variance. There is none where fewer than six of these differ from the commonest one.
    """
    weight = power(truth, predicted, others) if lam is None else lam
    corrected = truth - weight * predicted
    value = float(corrected.mean() + (weight * others.mean() if len(others) else 0.0))
    if interval == "ppi_py":
        return _normal(value, _variance(corrected, 0) + weight**2 * _variance(others, 0), alpha)
    if _differing(corrected) < FEW:
        return Estimate(value)
    wider = np.sqrt(1 + weight**2 * _variance(others, 1) / _variance(corrected, 1))
    return _flipped(value + wider * (corrected - corrected.mean()), alpha)._replace(value=value)


def plain_mean(truth: Floats, *, alpha: float = 0.05, interval: str = "flips", bounded: bool = False) -> Estimate:
    """People alone: the mean of the truth; `bounded` where its values lie between 0 and 1."""
    value = float(truth.mean())
    if interval == "ppi_py":
        return _normal(value, _variance(truth, 0), alpha)
    if bounded:
        return Estimate(value, *(mean_interval(truth, Queries(len(truth)), alpha=alpha) or ()))
    return _flipped(truth, alpha)._replace(value=value)


def _flipped(values: Floats, alpha: float) -> Estimate:
    (answer,) = differences([values], Queries(len(values)), alpha=alpha)
    return Estimate(answer.value, *(answer.interval or ()))


def _normal(value: float, square: float, alpha: float) -> Estimate:
    half = _quantile(alpha, None) * float(np.sqrt(square))
    return Estimate(value, value - half, value + half)


def _differing(values: Floats) -> int:
    """How many are not the commonest value."""
    return len(values) - int(np.unique(np.round(values, SAME), return_counts=True)[1].max(initial=0))


def needed(
    truth: Floats, predicted: Floats, others: Floats, width: float, *, alpha: float = 0.05, interval: str = "flips"
) -> int | None:
    """How many of all queries must have a true value for an interval no wider than this; None: all do not suffice.

    Variances and the covariance are taken as they are now, the width as that of a t interval; λ is chosen anew for
    each number.
    """
    everything = np.concatenate([predicted, others])
    whole, ddof = len(everything), 0 if interval == "ppi_py" else 1
    spread = _spread(everything, 1)
    own, seen, unseen = (_spread(values, ddof) for values in (truth, predicted, others))
    together = float(((truth - truth.mean()) * (predicted - predicted.mean())).mean())
    scale = len(truth) / max(1, len(truth) - ddof)
    for n in range(2, whole + 1):
        more = whole - n
        weight = float(np.clip(together / ((1 + n / more) * spread), 0.0, 1.0)) if more and spread > 0 else 0.0
        corrected = own - 2 * weight * together * scale + weight**2 * seen
        square = max(corrected, 0.0) / n + (weight**2 * unseen / more if more else 0.0)
        if 2 * _quantile(alpha, None if interval == "ppi_py" else n - 1) * np.sqrt(square) <= width:
            return n
    return None


def needed_alone(truth: Floats, width: float, *, alpha: float = 0.05, interval: str = "flips") -> int:
    """How many true values, without any prediction, an interval no wider than this takes."""
    deviation = float(np.sqrt(_spread(truth, 0 if interval == "ppi_py" else 1)))
    n = max(2, int((2 * _quantile(alpha, None) * deviation / width) ** 2))
    if n > MOST_QUERIES:
        raise InputError(f"an interval of width {width:g} takes more than {MOST_QUERIES:,} queries; give a wider one")
    while 2 * _quantile(alpha, None if interval == "ppi_py" else n - 1) * deviation / np.sqrt(n) > width:
        n += 1
    return n


def _spread(values: Floats, ddof: int) -> float:
    """The variance; 0 where there are too few values to have one."""
    return float(np.var(values, ddof=ddof)) if len(values) > ddof else 0.0


def _variance(values: Floats, ddof: int) -> float:
    """The variance of the mean."""
    return _spread(values, ddof) / max(1, len(values))


def _quantile(alpha: float, freedom: int | None) -> float:
    from scipy.special import ndtri, stdtrit

    return float(ndtri(1 - alpha / 2) if freedom is None else stdtrit(max(freedom, 1), 1 - alpha / 2))
