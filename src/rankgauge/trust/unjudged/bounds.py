"""Bounds: the interval that unjudged documents leave open, of one run or of the difference of two."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from rankgauge.errors import InputError, counted, unknown
from rankgauge.matching.hits import sum_by
from rankgauge.measures.aggregates import aggregate
from rankgauge.shown import Shown
from rankgauge.stats.estimate import Estimate
from rankgauge.trust.unjudged.extremes import extremes

if TYPE_CHECKING:
    import polars as pl

    from rankgauge.dtypes import Floats, Ints
    from rankgauge.trust.unjudged.scale import Scale
    from rankgauge.trust.unjudged.sheet import Sheet
    from rankgauge.trust.unjudged.tops import Top

__all__ = ["Bounds", "Open", "bounds_of_pair", "bounds_of_run", "open_of_pair", "open_of_run", "solved"]


class Open(NamedTuple):
    """The open documents: query, number and weight of each; and what the judged ones add to each query."""

    query: Ints
    doc: Ints
    weight: Floats
    fixed: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Bounds(Shown):
    """What unjudged documents leave open: for every query, and for the mean.

    `bounds["q1"]` is a query's range, `bounds.mean` that of the mean, `open` the number of open documents.
    """

    shown_by: ClassVar[str] = "judgments:bounds_sections"

    name: str
    measure: str
    queries: list[str]
    value: Floats
    low: Floats
    high: Floats
    open: Ints
    weights: Floats | None = None

    @property
    def title(self) -> str:
        """What this is about."""
        return f"{self.name}: what unjudged documents leave open"

    @cached_property
    def mean(self) -> Estimate:
        """The range of the mean: queries are independent, so its ends are the means of their ends."""
        return Estimate(*(aggregate("mean", each, self.weights) for each in (self.value, self.low, self.high)))

    def __getitem__(self, query: str) -> Estimate:
        if query not in self.queries:
            tail = f"judged: {', '.join(self.queries[:3])}, …"
            raise InputError(unknown(f"there is no judged query {query!r}", query, self.queries, tail))
        at = self.queries.index(query)
        return Estimate(float(self.value[at]), float(self.low[at]), float(self.high[at]))

    @property
    def settled(self) -> bool:
        """Whether no judgment can change the sign of the mean (of a difference)."""
        return self.mean.low > 0 or self.mean.high < 0

    def to_frame(self) -> pl.DataFrame:
        """A polars frame with a row per query."""
        import polars as pl

        columns = {"value": self.value, "low": self.low, "high": self.high}
        data = {name: pl.Series(column, nan_to_null=True) for name, column in columns.items()}
        return pl.DataFrame({"query_id": self.queries, **data, "open": self.open})

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON: NaN is None."""
        mean = {name: _known(end) for name, end in self.mean._asdict().items()}
        data = {"name": self.name, "measure": self.measure, "open": int(self.open.sum()), "mean": mean}
        return data | {"queries": len(self.queries), "per_query": self.to_frame().to_dicts()}

    def __repr__(self) -> str:
        value, low, high = self.mean
        count = int(self.open.sum())
        documents = counted(count, "open document")
        return f"{self.measure} of {self.name}: {value:.4f} in [{low:.4f}, {high:.4f}], {documents}"


def _known(number: float) -> float | None:
    return number if number == number else None


def bounds_of_run(sheet: Sheet, name: str) -> Bounds:
    """The interval of a run: its unjudged documents at ranks up to k may turn out to have any grade."""
    return _bounds(sheet, name, sheet.values(sheet.known(name)), open_of_run(sheet, name))


def bounds_of_pair(sheet: Sheet, a: str, b: str) -> Bounds:
    """The interval of a − b: a document has one grade in both, so this is not the difference of their intervals."""
    value = sheet.values(sheet.known(a)) - sheet.values(sheet.known(b))
    return _bounds(sheet, f"{a} − {b}", value, open_of_pair(sheet, a, b))


def open_of_run(sheet: Sheet, name: str) -> Open:
    """The open documents of a run."""
    top, scale = sheet.pool.tops[name], sheet.scale
    left = top.only(top.open)
    return Open(left.query, left.doc, scale.weight(left.rank), _fixed(top, scale, len(sheet.queries)))


def open_of_pair(sheet: Sheet, a: str, b: str) -> Open:
    """The open documents of either run, each with the difference of its discounts."""
    one, other = open_of_run(sheet, a), open_of_run(sheet, b)
    many = len(sheet.pool.docs)
    key = np.concatenate([one.query * many + one.doc, other.query * many + other.doc])
    distinct, place = np.unique(key, return_inverse=True)
    weight = sum_by(place, np.concatenate([one.weight, -other.weight]), len(distinct))
    return Open(distinct // many, distinct % many, weight, one.fixed - other.fixed)


def _fixed(top: Top, scale: Scale, queries: int) -> Floats:
    """What the judged documents of a run add, query by query."""
    return sum_by(top.query, np.where(top.open, 0.0, scale.worth(top.grade) * scale.weight(top.rank)), queries)


def _bounds(sheet: Sheet, name: str, value: Floats, open: Open) -> Bounds:
    low, high = solved(sheet.scale, value, sheet.levels, open)
    count = np.where(np.isnan(value), 0, np.bincount(open.query, minlength=len(value)))  # of queries that count
    return Bounds(name, str(sheet.measure), sheet.queries, value, low, high, count, sheet.weights)


def solved(scale: Scale, value: Floats, levels: Ints, open: Open) -> tuple[Floats, Floats]:
    """The smallest and largest value of every query.

    The value as it is (open documents gain nothing) is one of those that can be: it stands for the assignment without
    any gain, to which the rule `empty` gives a value of its own.
    """
    count = np.bincount(open.query, minlength=len(value))
    longest = int((levels.max(axis=1, initial=0) + count).max(initial=0))
    low, high = extremes(scale.setting(longest), open.fixed, levels, open.query, open.weight)
    moves = (count > 0) & ~np.isnan(value)
    return np.where(moves, np.fmin(low, value), value), np.where(moves, np.fmax(high, value), value)
