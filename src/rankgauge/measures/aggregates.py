"""Values of queries → one number: mean, median, geometric mean, trimmed mean, standard deviation, quantiles.

Queries that were left out (NaN) do not count. Weights, where given, weigh queries in every aggregate; groups part them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.errors import InputError, counted, nearest
from rankgauge.matching.hits import some
from rankgauge.read.records import id_text

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats

    Aggregate = Callable[[Floats, Floats | None], float]

__all__ = ["AGGREGATES", "aggregate", "checked_weights", "groups_of", "masks_of", "quantile", "query_table"]
__all__ += ["weights_of"]

FLOOR: Final = 1e-5  # trec_eval's: a geometric mean does not go to 0 for one query that scores 0
TRIM: Final = 0.1


def mean(values: Floats, weights: Floats | None = None) -> float:
    """The arithmetic mean, added up in the order of the queries."""
    if weights is None:
        return _ordered_sum(values) / len(values)
    return _ordered_sum(values * weights) / _ordered_sum(weights)


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
    return float(np.add.accumulate(values).item(-1))


AGGREGATES: Final[dict[str, Aggregate]] = {
    "mean": mean,
    "median": lambda values, weights: quantile(values, 0.5, weights),
    "geometric_mean": geometric_mean,
    "trimmed_mean": trimmed_mean,
    "std": std,
    "sum": lambda values, weights: _ordered_sum(values),  # counts are summed, not averaged, and not weighed
    "min": lambda values, weights: float(values.min()),
    "q25": lambda values, weights: quantile(values, 0.25, weights),
    "q75": lambda values, weights: quantile(values, 0.75, weights),
    "max": lambda values, weights: float(values.max()),
}
# What a tool makes of values that are logarithms; nobody asks for it by name.
OF_LOGARITHMS: Final[dict[str, Aggregate]] = {"exp_mean": lambda values, weights: float(np.exp(mean(values, weights)))}


def aggregate(name: str, values: Floats, weights: Floats | None = None) -> float:
    """One number for these queries; NaN when none of them counts."""
    if values.dtype.kind == "O":  # texts, such as relstring
        return float("nan")
    if name == "mean" and weights is None and len(values):
        whole = mean(values)
        if whole == whole:  # as nearly always: no query is left out
            return whole
    left_out = np.isnan(values)
    if weights is not None and name != "sum":
        left_out |= ~(weights > 0)
    if some(left_out):
        values = values[~left_out]
        weights = None if weights is None else weights[~left_out]
    return (AGGREGATES | OF_LOGARITHMS)[name](values, weights) if len(values) else float("nan")


# ---- weights, groups and other tables of queries ---------------------------------------------------------------------


def checked_weights(weights: Floats, *, some: bool = True) -> Floats:
    """The weights of queries, if they can be: finite, 0 or more, and not all 0 (unless there are more to come)."""
    if not (np.isfinite(weights).all() and (weights >= 0).all() and (weights.sum() > 0 or not some)):
        raise InputError(f"weights are finite numbers, 0 or more{', and not all 0' if some else ''}")
    return weights


def weights_of(weights: Any, queries: list[str]) -> Floats:
    """One weight per query; a query without one is an error."""
    table = query_table(weights, "weight")
    missing = [query for query in queries if query not in table]
    if missing:
        raise InputError(
            f"no weight for {counted(len(missing), 'query', 'queries')}, such as {missing[0]!r}; give every query one"
        )
    try:
        result = np.array([float(table[query]) for query in queries])
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"a weight is not a number: {error}") from None
    return checked_weights(result)


def masks_of(groups: Mapping[str, str], queries: list[str]) -> dict[str, Bools]:
    """Group → which queries are in it, in order of first appearance; queries in no group are in none."""
    known = [groups.get(query) for query in queries]
    present = set(known)
    names = [name for name in dict.fromkeys(groups.values()) if name in present]
    if not names:
        known_one = nearest(queries[0], list(groups)[:1000]) or next(iter(groups), "none")
        raise InputError(f"no query is in any group: a query is {queries[0]!r}, the groups know {known_one!r}")
    return {name: np.fromiter((group == name for group in known), bool, len(known)) for name in names}


def groups_of(by: Any, judgments: Any) -> dict[str, str] | None:
    """Query → group, from a mapping, a frame, a file, or the name of a column of the judgments frame."""
    if by is None:
        return None
    from rankgauge.read.tables import column_of_frame, groups_in

    if isinstance(by, str):
        column = column_of_frame(judgments, by)
        if column is not None:
            return column
    return groups_in(query_table(by, "group"), by if isinstance(by, str) else "the table of groups")


def query_table(source: Any, what: str) -> dict[str, Any]:
    """Query → value, from a mapping, a frame or a file."""
    if isinstance(source, Mapping):
        return {id_text(query): value for query, value in source.items()}
    from rankgauge.read.tables import read_query_table

    return read_query_table(source, what)
