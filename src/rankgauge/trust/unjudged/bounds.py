"""Bounds: the interval that unjudged documents leave open, of one run or of the difference of two.

It runs from the smallest to the largest nDCG (or difference) over all grades that open documents may turn out to have.

The naive bounds (every open document at the top grade, or at 0) are wrong, for the ideal moves too. Nothing needs to
be enumerated either. Let the gains be 0 = v₀ < v₁ < … with steps δₗ = vₗ − vₗ₋₁; let mₗ judged documents of a query
gain at least vₗ, and let nₗ of its open ones be put there. Then

    ideal DCG = Σ δₗ · H(min(k, mₗ + nₗ))        H(x): the sum of the first x discounts
    numerator = c + Σ δₗ · P(nₗ)                 P(x): the sum of the x largest weights of open documents

where c is what judged documents add. The weight of a document is the discount of its rank; for A − B, where a shared
document has one grade, it is the difference of its discounts. The largest ratio, if negative, puts x documents at the
top and the rest at 0; otherwise Dinkelbach's method finds it: for λ the ratio so far, each level by itself takes the
largest nₗ that maximises P(x) − λ·H(mₗ + x), which keeps the levels nested, until λ stands.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np

from rankgauge.errors import InputError, counted, unknown
from rankgauge.matching.hits import sum_by
from rankgauge.measures.aggregates import aggregate
from rankgauge.protocol import DEFAULT, Protocol, Rules
from rankgauge.shown import Shown
from rankgauge.stats.estimate import Estimate
from rankgauge.trust.unjudged.sheet import Sheet, sheet_of

if TYPE_CHECKING:
    import polars as pl

    from rankgauge.dtypes import Floats, Ints
    from rankgauge.measures import AnyMeasure
    from rankgauge.trust.unjudged.sheet import Scale, Setting

__all__ = [
    "Bounds", "Open", "bounds_of_pair", "bounds_of_run", "extremes", "open_of_pair", "open_of_run", "padded", "solved",
    "unjudged_bounds",
]  # fmt: skip


class Open(NamedTuple):
    """The open documents: query, number and weight of each; and what the judged ones add to each query."""

    query: Ints
    doc: Ints
    weight: Floats
    fixed: Floats


@dataclass(frozen=True, eq=False, repr=False)
class Bounds(Shown):
    """Best and worst case once unjudged documents are judged: of every query, and of the mean.

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
        return f"{self.name}: best and worst case once unjudged documents are judged"

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

        columns = {"query_id": self.queries, "value": self.value, "low": self.low, "high": self.high, "open": self.open}
        return pl.DataFrame(columns).with_columns(pl.col("value", "low", "high").fill_nan(None))

    def data(self, **choices: Any) -> dict[str, Any]:
        """Everything that JSON holds."""
        data = {"name": self.name, "measure": self.measure, "open": int(self.open.sum()), "mean": self.mean}
        return data | {"queries": len(self.queries), "per_query": self.to_frame().to_dicts()}

    def __repr__(self) -> str:
        value, low, high = self.mean
        documents = counted(int(self.open.sum()), "open document")
        return f"{self.measure} of {self.name}: {value:.4f} in [{low:.4f}, {high:.4f}], {documents}"


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
    judged = np.where(top.open, 0.0, scale.worth(top.grade) * scale.weight(top.rank))
    return Open(left.query, left.doc, scale.weight(left.rank), sum_by(top.query, judged, len(sheet.queries)))


def open_of_pair(sheet: Sheet, a: str, b: str) -> Open:
    """The open documents of either run, each with the difference of its discounts."""
    one, other = open_of_run(sheet, a), open_of_run(sheet, b)
    many = len(sheet.pool.docs)
    key = np.concatenate([one.query * many + one.doc, other.query * many + other.doc])
    distinct, place = np.unique(key, return_inverse=True)
    weight = sum_by(place, np.concatenate([one.weight, -other.weight]), len(distinct))
    return Open(distinct // many, distinct % many, weight, one.fixed - other.fixed)


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


def unjudged_bounds(
    judgments: Any,
    run: Any,
    minus: Any = None,
    measure: AnyMeasure = "nDCG@10",
    *,
    scale: Iterable[float] | None = None,
    protocol: Protocol | Rules = DEFAULT,
) -> Bounds:
    """Best and worst case once unjudged documents are judged: of a run, or of its difference to another (`minus`).

    Exact: the smallest and the largest nDCG over every way to grade the run's unjudged documents at ranks up to k, the
    ideal moving with them. `scale`: the grades there are; without it, the grades that the judgments hold.

    >>> unjudged_bounds({"q": {"a": 1}}, {"q": {"a": 2.0, "b": 1.0}}, measure="nDCG(gain=exp)@10", scale=[0, 1, 2, 3])
    nDCG(gain=exp)@10 of run: 1.0000 in [0.7098, 1.0000], 1 open document
    """
    runs = {"run": run} if minus is None else {"run": run, "minus": minus}
    sheet = sheet_of(judgments, runs, measure, grades=scale, protocol=protocol)
    return bounds_of_run(sheet, "run") if minus is None else bounds_of_pair(sheet, "run", "minus")


# ---- the method ------------------------------------------------------------------------------------------------------


ROUNDS: Final = 60  # Dinkelbach needs a handful
AT_ONCE: Final = 1 << 17  # numbers worked on together: few enough to stay in the processor's cache
NONE: Final = -np.inf


def extremes(setting: Setting, fixed: Floats, judged: Ints, query: Ints, weight: Floats) -> tuple[Floats, Floats]:
    """The smallest and the largest ratio of every query.

    `fixed` is c and `judged[i, l]` is mₗ of query i; `query` and `weight` have an entry per open document. Assignments
    without any gain have no ratio: they are left out, and NaN is the answer where there is no other.
    """
    low, high = np.empty(len(fixed)), np.empty(len(fixed))
    order = np.argsort(query, kind="stable")
    query, weight = query[order], weight[order]
    for start, end in _chunks(query, len(fixed), len(setting.steps)):
        rows = slice(*np.searchsorted(query, [start, end]))
        part = slice(start, end)
        above = padded(query[rows] - start, weight[rows], end - start)
        below = padded(query[rows] - start, -weight[rows], end - start)
        # query × level × documents put there
        ideals = setting.ideal(judged[part][:, :, None], np.arange(above.shape[1]))
        high[part] = _largest(setting, fixed[part], above, ideals)
        low[part] = -_largest(setting, -fixed[part], below, ideals)
    return low, high


def padded(query: Ints, weight: Floats, queries: int) -> Floats:
    """P: a row per query with the sums of its 0, 1, 2, … largest weights; −∞ beyond its last document."""
    order = np.lexsort((-weight, query))
    query, weight = query[order], weight[order]
    sizes = np.bincount(query, minlength=queries)
    place = np.arange(len(query)) - (sizes.cumsum() - sizes)[query]
    sums = np.full((queries, int(sizes.max(initial=0)) + 1), NONE)
    sums[:, 0] = 0.0
    sums[query, place + 1] = weight
    return sums.cumsum(axis=1)


def _chunks(query: Ints, queries: int, levels: int) -> list[tuple[int, int]]:
    """Neighbouring queries whose tables are worked on together."""
    most = int(np.bincount(query, minlength=1).max()) + 1
    step = max(1, AT_ONCE // (most * max(levels, 1)))
    return [(start, min(start + step, queries)) for start in range(0, queries, step)]


def _largest(setting: Setting, fixed: Floats, sums: Floats, ideals: Floats) -> Floats:
    """The largest ratio of every query."""
    best = _vertices(setting, fixed, sums, ideals)
    active = np.flatnonzero(best >= 0)
    for _ in range(ROUNDS):
        if not len(active):
            break
        found = _improved(setting, fixed[active], sums[active], ideals[active], best[active])
        better = found > best[active]
        active = active[better]
        best[active] = found[better]
    return np.where(best == NONE, np.nan, best)


def _vertices(setting: Setting, fixed: Floats, sums: Floats, ideals: Floats) -> Floats:
    """The best ratio with 0, 1, 2, … documents at the top and the rest at 0."""
    ideal = setting.steps @ ideals
    value = fixed[:, None] + setting.steps.sum() * sums
    ratio = np.full(value.shape, NONE)
    np.divide(value, ideal, out=ratio, where=ideal > 0)
    result: Floats = ratio.max(axis=1)
    return result


def _improved(setting: Setting, fixed: Floats, sums: Floats, ideals: Floats, ratio: Floats) -> Floats:
    """One round: each level takes the largest number of documents that is best for the ratio so far."""
    worth = ideals * -ratio[:, None, None]
    worth += sums[:, None, :]
    taken = worth.shape[2] - 1 - worth[:, :, ::-1].argmax(axis=2)
    value = fixed + np.take_along_axis(sums, taken, axis=1) @ setting.steps
    ideal = np.take_along_axis(ideals, taken[:, :, None], axis=2)[:, :, 0] @ setting.steps
    result = np.full(len(fixed), NONE)
    np.divide(value, ideal, out=result, where=ideal > 0)
    return result
