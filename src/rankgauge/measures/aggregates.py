"""Values of queries → one number: mean, median, geometric mean, trimmed mean, standard deviation, quantiles.

Queries that were left out (NaN) do not count. Weights, where given, weigh queries in every aggregate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from rankgauge.errors import InputError

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats

    Aggregate = Callable[[Floats, Floats | None], float]

__all__ = ["AGGREGATES", "aggregate", "checked_weights", "quantile"]

FLOOR: Final = 1e-5  # trec_eval's: a geometric mean does not go to 0 for one query that scores 0
TRIM: Final = 0.1


def mean(values: Floats, weights: Floats | None = None) -> float:
    """The arithmetic mean, added up in the order of the queries."""
    if weights is None:
        return _ordered_sum(values) / len(values)
    return _ordered_sum(values * weights) / _ordered_sum(weights)


def total(values: Floats, weights: Floats | None = None) -> float:
    """The sum: counts are summed, not averaged, and not weighed."""
    return _ordered_sum(values)


def median(values: Floats, weights: Floats | None = None) -> float:
    """The median."""
    return quantile(values, 0.5, weights)


def geometric_mean(values: Floats, weights: Floats | None = None) -> float:
    """The geometric mean of the values, each at least 0.00001 (as trec_eval's gm_map)."""
    return float(np.exp(mean(np.log(np.maximum(values, FLOOR)), weights)))


def trimmed_mean(values: Floats, weights: Floats | None = None) -> float:
    """The mean without the lowest and the highest tenth of the queries: a few odd ones do not move it."""
    order = np.argsort(values, kind="stable")
    cut = int(len(values) * TRIM)
    kept = np.sort(order[cut : len(values) - cut])
    return mean(values[kept], None if weights is None else weights[kept])


def std(values: Floats, weights: Floats | None = None) -> float:
    """The standard deviation over queries (divisor n − 1; with weights, the weighted mean square)."""
    if len(values) < 2:
        return float("nan")
    square = (values - mean(values, weights)) ** 2
    return float(np.sqrt(mean(square, weights) if weights is not None else _ordered_sum(square) / (len(values) - 1)))


def quantile(values: Floats, q: float, weights: Floats | None = None) -> float:
    """A quantile: interpolated, or with weights the smallest value that reaches the share."""
    if weights is None:
        return float(np.quantile(values, q))
    return float(np.quantile(values, q, weights=weights, method="inverted_cdf"))


def _ordered_sum(values: Floats) -> float:
    """Added up one after the other, as trec_eval does, so that the last digit agrees."""
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


AGGREGATES: Final[dict[str, Aggregate]] = {
    "mean": mean,
    "median": median,
    "geometric_mean": geometric_mean,
    "trimmed_mean": trimmed_mean,
    "std": std,
    "sum": total,
    "min": lambda values, weights: float(values.min()),
    "q25": lambda values, weights: quantile(values, 0.25, weights),
    "q75": lambda values, weights: quantile(values, 0.75, weights),
    "max": lambda values, weights: float(values.max()),
}


def checked_weights(weights: Floats, *, some: bool = True) -> Floats:
    """The weights of queries, if they can be: finite, 0 or more, and not all 0 (unless there are more to come)."""
    if not (np.isfinite(weights).all() and (weights >= 0).all() and (weights.sum() > 0 or not some)):
        raise InputError(f"weights are finite numbers, 0 or more{', and not all 0' if some else ''}")
    return weights


def aggregate(name: str, values: Floats, weights: Floats | None = None) -> float:
    """One number for these queries; NaN when none of them counts."""
    if values.dtype == object:  # texts, such as relstring
        return float("nan")
    counted = ~np.isnan(values)
    if weights is not None and name != "sum":
        counted &= weights > 0
    if not counted.all():
        values = values[counted]
        weights = None if weights is None else weights[counted]
    return AGGREGATES[name](values, weights) if len(values) else float("nan")
