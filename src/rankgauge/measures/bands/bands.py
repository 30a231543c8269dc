"""How much a value depends on the order of documents that share a score: the tie band.

Equal scores say nothing about the order of their documents, yet every tool puts them in some. The band holds the value
under the order in use, the expectation over all orders, and the smallest and the largest value that any order gives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rankgauge.errors import InputError, MeasureError
from rankgauge.matching.hits import Hits
from rankgauge.measures import Measure, parse
from rankgauge.measures.aggregates import aggregate
from rankgauge.measures.bands.orders import Tied, arranged, averaged, drawn, in_order, number_of_draws, tied_rows
from rankgauge.measures.gains import gain_function

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankgauge.dtypes import Bools, Floats, Ints

    Worth = Callable[[Hits, dict[str, Any]], Floats]

__all__ = ["Band", "TieBand", "is_text", "prefers_better_higher", "tie_band", "tie_ends"]

MOST_ORDERS: Final = 2_000
MOST_LISTED: Final = 10_000  # orders of all queries together of which an expectation is the mean


class Band(NamedTuple):
    """A value, and what it could be under other orders of equal scores.

    `exact` tells whether low and high are reached and never passed (else the band is at least as wide), `error` is the
    standard error of an expectation that was sampled, 0 where it was computed.
    """

    value: float
    expected: float
    low: float
    high: float
    exact: bool
    error: float = 0.0

    @property
    def width(self) -> float:
        """From the smallest to the largest."""
        return self.high - self.low


@dataclass(frozen=True, eq=False)
class TieBand:
    """The bands of a measure: of every query, and of their mean.

    `draws` holds the values of every query under each sampled order, where the expectation had to be sampled;
    `rounding` is what a dialect does to the mean, `own_aggregate` what it takes instead of a mean.
    """

    measure: Measure
    queries: list[str]
    value: Floats
    low: Floats
    high: Floats
    expected: Floats
    exact: Bools
    draws: Floats | None = None
    weights: Floats | None = None
    rounding: Callable[[float], float] | None = None
    own_aggregate: str = ""

    @cached_property
    def mean(self) -> Band:
        """The band of the aggregate: it rises with every query, so its ends are the aggregates of their ends."""
        value, low, high = map(self._aggregate, (self.value, self.low, self.high))
        exact = bool(self.exact.all())
        if (np.isnan(self.expected) & ~np.isnan(self.value)).any():
            return Band(value, float("nan"), low, high, exact)
        if self.draws is None:
            return Band(value, self._aggregate(self.expected), low, high, exact)
        drawn = np.array([self._aggregate(row) for row in self.draws])
        return Band(value, float(drawn.mean()), low, high, exact, _error(drawn))

    def __getitem__(self, query: str) -> Band:
        """The band of one query."""
        return self.at(self.queries.index(query))

    def at(self, at: int) -> Band:
        """The band of the query at this place."""
        error = 0.0 if self.draws is None else _error(self.draws[:, at])
        value, expected, low, high = (float(v[at]) for v in (self.value, self.expected, self.low, self.high))
        return Band(value, expected, low, high, bool(self.exact[at]), error)

    def _aggregate(self, values: Floats) -> float:
        value = aggregate(self.own_aggregate or self.measure.definition.own_aggregate, values, self.weights)
        return value if self.rounding is None else self.rounding(value)


def _error(draws: Floats) -> float:
    return float(draws.std(ddof=1) / np.sqrt(len(draws)))


def is_text(measure: Measure) -> bool:
    """Whether a measure gives texts, which have no band."""
    return measure.definition.aggregate == "none"


def tie_band(
    hits: Hits,
    measure: Measure | str,
    *,
    weights: Floats | None = None,
    chosen: Bools | None = None,
    expect: bool = True,
    seed: int = 0,
) -> TieBand:
    """The tie bands of a measure, for every query (or the chosen ones) and for the mean.

    The ends are exact where sorting by gain is, and where a query has few enough orders to try them all; the
    expectation is exact for measures that average over ties, else sampled with a seed (not with `expect` off: NaN).
    """
    if not isinstance(hits, Hits) or not isinstance(measure, (str, Measure)):
        raise InputError("tie_band takes hits and a measure: tie_band(match(judgments, run), 'nDCG@10')")
    measure = parse(measure) if isinstance(measure, str) else measure
    if is_text(measure):
        raise MeasureError(f"{measure} is a text for each query; there is no band of texts")
    tied = tied_rows(hits)
    value = measure(hits)
    low, high, exact = _ends(hits, measure, tied, value)
    expected, draws = _expected(hits, measure, tied, seed) if expect else (np.full(len(value), np.nan), None)
    part = slice(None) if chosen is None else chosen
    queries = hits.queries if chosen is None else [hits.queries[i] for i in np.flatnonzero(chosen)]
    return TieBand(
        measure, queries, value[part], low[part], high[part], expected[part], exact[part],
        None if draws is None else draws[:, part], None if weights is None else weights[part],
    )  # fmt: skip


def tie_ends(hits: Hits, measure: Measure) -> tuple[Floats, Floats]:
    """The smallest and largest value of every query when tie groups are sorted by gain: quick, and mostly exact."""
    tied = tied_rows(hits)
    if not len(tied.rows):
        value = measure(hits)
        return value, value
    gain = worth(hits, measure)
    ends = measure(in_order(hits, tied, gain)), measure(in_order(hits, tied, -gain))
    return np.minimum(*ends), np.maximum(*ends)


def _ends(hits: Hits, measure: Measure, tied: Tied, value: Floats) -> tuple[Floats, Floats, Bools]:
    low, high = tie_ends(hits, measure)
    if not hits.averaged:
        low, high = np.fmin(low, value), np.fmax(high, value)
    exact = np.ones(len(hits.queries), bool)
    touched = np.unique(hits.query[tied.rows])
    if not sorting_is_exact(hits, measure):
        for query in touched.tolist():
            orders = arranged(hits, tied, query, MOST_ORDERS)
            exact[query] = orders is not None
            values = measure(orders) if orders is not None else value[[query]]
            low[query], high[query] = min(low[query], values.min()), max(high[query], values.max())
    exact[_cut_queries(hits, tied)] = False
    return low, high, exact


def _cut_queries(hits: Hits, tied: Tied) -> Ints:
    """Queries with a tie group of which the protocol's depth has cut a part off."""
    return np.unique(hits.query[tied.rows[hits.tied[tied.rows] > tied.size]])


def _expected(hits: Hits, measure: Measure, tied: Tied, seed: int) -> tuple[Floats, Floats | None]:
    """The expectation of every query, and the sampled values where it was sampled: where a query has no more orders
    than would be drawn, it is their mean."""
    cut = _cut_queries(hits, tied)
    if measure.averages or not len(tied.rows):
        expected, draws = measure(averaged(hits) if len(tied.rows) else hits).astype(np.float64), None
    else:
        known, few = _of_few_orders(hits, measure, tied)
        if len(known) == len(np.unique(hits.query[tied.rows])):
            expected, draws = measure(hits).astype(np.float64), None
        else:
            draws = np.array([measure(order) for order in drawn(hits, tied, seed)])
            draws[:, known] = few
            expected = draws.mean(axis=0)
        expected[known] = few
    expected[cut] = np.nan
    return expected, draws


def _of_few_orders(hits: Hits, measure: Measure, tied: Tied) -> tuple[list[int], list[float]]:
    """The tied queries with few orders, and the mean of each over all of them, for these are equally likely; none for a
    geometric mean, whose expectation is not that of its queries."""
    known, means, left = list[int](), list[float](), MOST_LISTED
    if measure.definition.own_aggregate not in ("mean", "sum"):
        return known, means
    for query in np.unique(hits.query[tied.rows]).tolist():
        orders = arranged(hits, tied, query, min(left, number_of_draws(tied)))
        if orders is not None:
            known.append(query)
            means.append(float(measure(orders).mean()))
            left -= len(orders.queries)
    return known, means


# ---- what a measure would put first among documents of equal score --------------------------------------------------

# Sorting each tie group by the measure's own gain gives the largest value, sorting it the other way round the smallest,
# for every measure that gains (or at least does not lose) when a better document changes places with a worse one below.


def _relevant(hits: Hits, given: dict[str, Any]) -> Floats:
    return hits.relevant(given.get("rel")).astype(np.float64)


def _gain(hits: Hits, given: dict[str, Any]) -> Floats:
    return gain_function(given.get("gain", "linear"), given.get("rel"))(hits.grade)


def _signed_gain(hits: Hits, given: dict[str, Any]) -> Floats:
    return gain_function(given.get("gain", "linear"), given.get("rel"), signed=hits.signed)(hits.grade)


def _grade(hits: Hits, given: dict[str, Any]) -> Floats:
    return np.maximum(hits.grade, 0.0)


def _rbp(hits: Hits, given: dict[str, Any]) -> Floats:
    return (_relevant if given.get("gain", "binary") == "binary" else _grade)(hits, given)


def _judged(hits: Hits, given: dict[str, Any]) -> Floats:
    return np.ones(len(hits))


def _unjudged(hits: Hits, given: dict[str, Any]) -> Floats:
    return -(hits.grade >= 0).astype(np.float64)


def _nothing(hits: Hits, given: dict[str, Any]) -> Floats:
    return np.zeros(len(hits))


# What an unjudged document is worth is 0 everywhere.
WORTH: Final[dict[Worth, str]] = {
    _relevant: "P R RR AP Success F CappedR Rprec RprecMult Bpref infAP binG Accuracy IPrec 11pt_avg gm_map gm_bpref "
    "NumRelRet",
    _signed_gain: "nDCG DCG",
    _gain: "nDCGrel Rndcg G",
    _grade: "ERR",
    _rbp: "RBP",
    _judged: "Judged",
    _unjudged: "Unjudged RBPResidual",
    _nothing: "IDCG SetP SetR SetRelP SetAP SetF utility NumQ NumRet NumRel NumNonrelRet",
}
BY_NAME: Final = {name: function for function, names in WORTH.items() for name in names.split()}
NEVER_EXACT: Final = ("infAP", "G")


def worth(hits: Hits, measure: Measure) -> Floats:
    """For each hit, by what the measure would sort documents of equal score; the grade for a measure of the user's."""
    return BY_NAME.get(measure.name, _grade)(hits, dict(measure.parameters))


def prefers_better_higher(measure: Measure) -> bool:
    """Whether, of two kinds of documents told apart by their grades, the measure never loses when a certain one of them
    stands higher: then sorting is best, and of all exchanges of these two kinds the widest is."""
    given = dict(measure.parameters)
    cut_accuracy = measure.name == "Accuracy" and given.get("k") is not None
    if measure.name not in BY_NAME or measure.name in NEVER_EXACT:
        return False
    return given.get("norm") != "hits" and not cut_accuracy


def sorting_is_exact(hits: Hits, measure: Measure) -> bool:
    """Whether sorting by worth gives the smallest and the largest value that any order gives."""
    if not prefers_better_higher(measure):
        return False
    if measure.name in ("nDCGrel", "Rndcg") and (_gain(hits, dict(measure.parameters)) < 0).any():
        return False
    rules = hits.protocol  # an ideal of what was retrieved is fixed, unless a cut or the order in the run makes it up
    return rules.ideal == "judged" or (rules.depth is None and rules.ideal_order == "grade")
