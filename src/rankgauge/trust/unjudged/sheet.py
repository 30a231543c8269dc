"""Sheet: several runs measured on one set of judgments, with all that is needed to ask what unjudged documents do.

Values are per query, in one order for all runs; NaN where the rules leave a query out. `Top` has the first k documents
of every judged query, judged or not, with their ranks: Hits hold the judged ones only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgauge.errors import InputError, MeasureError, ProtocolError, counted, unknown
from rankgauge.evaluate import evaluate_runs
from rankgauge.matching.ranking import whole
from rankgauge.measures import AnyMeasure, Measure, parse
from rankgauge.measures.gains import discount_function, gain_function, number_text
from rankgauge.protocol import DEFAULT, Protocol, Rules, check_independent
from rankgauge.read import Judgments, Run, RunSource, read_judgments
from rankgauge.read.named import Runs, named

if TYPE_CHECKING:
    import polars as pl

    from rankgauge.dtypes import Bools, Floats, Ints
    from rankgauge.result import Result

__all__ = [
    "Judged", "Pool", "Scale", "Setting", "Sheet", "Top", "grades_of", "judged_of", "pool_of",
    "scale_of", "sheet_of", "sheet_of_results",
]  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class Setting:
    """What all assignments share: the steps between gains, and H, the sums of the first 0, 1, … k discounts."""

    steps: Floats
    upto: Floats

    def ideal(self, judged: Ints, more: Ints) -> Floats:
        """H(min(k, m + n)); the shapes are broadcast."""
        result: Floats = self.upto[np.minimum(judged + more, len(self.upto) - 1)]
        return result


@dataclass(frozen=True, eq=False, slots=True)
class Scale:
    """Grades in ascending order (0 among them), the distinct gains above 0, and how nDCG discounts ranks up to k."""

    grades: Floats
    gains: Floats
    k: int | None
    gain: str
    discount: str
    rel: float | None

    def worth(self, grades: Floats) -> Floats:
        """What grades gain; nothing where there is none (NaN)."""
        return gain_function(self.gain, self.rel)(np.nan_to_num(grades, nan=0.0))

    def weight(self, rank: Ints) -> Floats:
        """What is left of a gain at a rank: 1 / discount, and nothing beyond k."""
        left = 1.0 / discount_function(self.discount)(rank)
        return left if self.k is None else np.where(rank <= self.k, left, 0.0)

    def setting(self, longest: int) -> Setting:
        """What `extremes` needs to know; `longest`: how many documents an ideal can hold where it is not cut."""
        end = longest if self.k is None else min(self.k, longest)
        discounts = 1.0 / discount_function(self.discount)(np.arange(1, end + 1))
        return Setting(np.diff(self.gains, prepend=0.0), np.r_[0.0, np.cumsum(discounts)])

    def levels(self, query: Ints, grade: Floats, queries: int) -> Ints:
        """How many judged documents of each query reach each gain; negative grades are none."""
        worth = np.where(grade < 0, 0.0, self.worth(grade))
        counts = [np.bincount(query[worth >= gain], minlength=queries) for gain in self.gains]
        return np.stack(counts, axis=1) if counts else np.zeros((queries, 0), np.int64)


def grades_of(present: Floats, given: Iterable[float] | None = None) -> Floats:
    """The scale: the grades given, or those that are there; 0 is always among them, negative ones never.

    A judgment outside the scale that was given is an error.
    """
    there = np.unique(present[present >= 0])
    if given is None:
        return np.union1d(there, [0.0])
    scale = np.array(sorted(set(map(float, given))))
    if not len(scale) or not np.isfinite(scale).all() or (scale < 0).any():
        raise InputError("grades: give the scale as finite numbers, 0 or more, such as 0,1,2,3")
    outside = np.setdiff1d(there, scale)
    if len(outside):
        known = ", ".join(map(number_text, scale.tolist()))
        raise InputError(
            f"the judgments hold grade {number_text(float(outside[0]))}, which is outside the scale {known}"
        )
    return np.union1d(scale, [0.0])


def scale_of(measure: Measure, grades: Floats) -> Scale:
    """The scale under a measure, which must be nDCG: of what else could be open there is no exact interval here."""
    if measure.name != "nDCG":
        raise MeasureError(
            f"{measure}: what unjudged documents leave open is known exactly for nDCG only; write nDCG@10"
        )
    given = dict(measure.parameters)
    gain, rel = given.get("gain", "linear"), given.get("rel")
    worth = gain_function(gain, rel)(grades)
    if (worth < 0).any() or gain_function(gain, rel)(np.zeros(1))[0] != 0:
        raise MeasureError(f"{measure}: an interval needs gains of 0 or more, and none for grade 0")
    discount = given.get("discount", "log2")
    return Scale(grades, np.unique(worth[worth > 0]), given.get("k"), gain, discount, rel)


# ---- the first documents of every run --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Top:
    """The first documents of one run: query (an index), rank, document (a number, the same in all runs), grade."""

    query: Ints
    rank: Ints
    doc: Ints
    grade: Floats  # NaN: not judged

    @property
    def open(self) -> Bools:
        """Which of them have no grade: not judged, or pooled and left without one (a negative grade)."""
        return ~(self.grade >= 0)

    def only(self, rows: Bools) -> Top:
        """These rows."""
        return Top(self.query[rows], self.rank[rows], self.doc[rows], self.grade[rows])


@dataclass(frozen=True, eq=False, slots=True)
class Judged:
    """Every judgment once, whether or not a run answers its query; queries are in code-point order."""

    queries: list[str]
    rows: pl.DataFrame  # query (an index), doc, grade

    @property
    def query(self) -> Ints:
        """The query of each, as an index."""
        return self.rows["query"].to_numpy()

    @property
    def grade(self) -> Floats:
        """The grade of each."""
        return self.rows["grade"].to_numpy()


@dataclass(frozen=True, eq=False, slots=True)
class Pool:
    """The judgments, and the first documents of several runs; `docs[i]` is the id of document i."""

    judged: Judged
    docs: list[str]
    tops: dict[str, Top]


def judged_of(judgments: Judgments, protocol: Protocol) -> Judged:
    """The judgments with every pair once, their grades as the protocol reads them."""
    import polars as pl

    queries, columns = sorted(judgments.queries), judgments.columns
    place = {query: at for at, query in enumerate(queries)}
    index = np.array([place[query] for query in columns.queries], np.int64)
    grade = np.trunc(columns.number) if protocol.grades == "truncate" else columns.number
    rows = pl.DataFrame({"query": index[columns.query], "doc": columns.doc, "grade": grade})
    return Judged(queries, rows if judgments.is_nested else rows.unique(maintain_order=True))


def pool_of(judged: Judged, runs: Mapping[str, Run], k: int | None, protocol: Protocol) -> Pool:
    """The first k documents (all: None) of every run, for every judged query."""
    check_independent(protocol, "what unjudged documents leave open is known")
    queries = judged.queries
    depth = min((limit for limit in (k, protocol.depth) if limit is not None), default=None)
    there = set(queries)
    ranked = {name: whole(run.only(there), protocol, depth) for name, run in runs.items()}
    found = {name: each.first(depth, queries) for name, each in ranked.items()}
    docs, numbers = _numbered([*(each["doc"] for each in found.values()), judged.rows["doc"]])
    keys = judged.query * len(docs) + numbers.pop()
    order = np.argsort(keys, kind="stable")
    tops = {}
    for (name, each), number in zip(found.items(), numbers, strict=True):
        query, rank = each["query"].to_numpy(), each["rank"].to_numpy()
        grade = _looked_up(query * len(docs) + number, keys[order], judged.grade[order])
        tops[name] = Top(query, rank, number, grade)
    return Pool(judged, docs, tops)


def _numbered(columns: list[pl.Series]) -> tuple[list[str], list[Ints]]:
    """The distinct ids of several columns in order of appearance, and every column as numbers into them."""
    import polars as pl

    whole = pl.concat(columns)
    codes = whole.cast(pl.Categorical).to_physical().to_numpy()
    _, first, code = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    ends = np.cumsum([len(column) for column in columns])[:-1]
    return whole.gather(first[order]).to_list(), np.split(place[code], ends)


def _looked_up(wanted: Ints, keys: Ints, grades: Floats) -> Floats:
    """The grade of each wanted key, NaN where there is none; the keys are in order."""
    if not len(keys):
        return np.full(len(wanted), np.nan)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, grades[at], np.nan)


# ---- the sheet -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sheet:
    """Judgments, runs, the measure and its scale; the results, and the first documents of every run."""

    judgments: Judgments
    runs: dict[str, Run]
    measure: Measure
    protocol: Protocol
    scale: Scale
    results: Mapping[str, Result]
    pool: Pool

    @property
    def queries(self) -> list[str]:
        """The judged queries, in code-point order."""
        return self.pool.judged.queries

    def known(self, name: str) -> str:
        """The name of a run, or an error that says which there are."""
        if name not in self.results:
            raise InputError(unknown(f"there is no run {name!r}", name, self.results))
        return name

    def values(self, name: str) -> Floats:
        """The value of every query under a run."""
        return self.placed(self.results[name], self.results[name].measured[self.measure])

    def placed(self, result: Result, values: Floats, absent: float = np.nan) -> Floats:
        """Values of a result in the order of all queries."""
        if result.query_ids == self.queries:
            return np.asarray(values, np.float64)
        place = {query: at for at, query in enumerate(self.queries)}
        whole = np.full(len(self.queries), absent)
        whole[[place[query] for query in result.query_ids]] = values
        return whole

    @property
    def weights(self) -> Floats | None:
        """The weight of every query, where queries were weighed."""
        weighed = [(result, result.weights) for result in self.results.values() if result.weights is not None]
        if not weighed:
            return None
        whole: Floats = np.stack([self.placed(result, weights, 0.0) for result, weights in weighed]).max(axis=0)
        return whole

    @cached_property
    def levels(self) -> Ints:
        """For every judged query, answered or not, how many judged documents reach each gain of the scale."""
        judged = self.pool.judged
        return self.scale.levels(judged.query, judged.grade, len(judged.queries))


def sheet_of(
    judgments: Any,
    runs: Runs,
    measure: AnyMeasure = "nDCG@10",
    *,
    grades: Iterable[float] | None = None,
    protocol: Protocol | Rules = DEFAULT,
) -> Sheet:
    """Read, match and measure the runs; judgments and each run may be whatever `evaluate` takes."""
    protocol = Protocol.of(protocol)
    measure = parse(str(measure))
    systems = named(runs)
    if not systems:
        raise InputError("there is no run; give one or more")
    judged = read_judgments(judgments)
    read = {name: RunSource.of(run).read(protocol) for name, run in systems.items()}
    results = evaluate_runs(judged, read, measure, protocol=protocol)
    return sheet_of_results(judged, read, results, measure, grades=grades)


def sheet_of_results(
    judgments: Judgments,
    runs: dict[str, Run],
    results: Mapping[str, Result],
    measure: Measure,
    *,
    grades: Iterable[float] | None = None,
) -> Sheet:
    """The sheet of runs that were measured already."""
    protocol = next(iter(results.values())).protocol
    judged = judged_of(judgments, protocol)
    scale = scale_of(measure, grades_of(judged.grade, grades))
    sheet = Sheet(judgments, runs, measure, protocol, scale, results, pool_of(judged, runs, scale.k, protocol))
    _check_empty(sheet)
    return sheet


def _check_empty(sheet: Sheet) -> None:
    """Refuse empty=skip where a grade decides whether a query counts: the mean then moves with the number of queries,
    and its ends are not made of those of the queries."""
    if sheet.protocol.empty != "skip" or not len(sheet.scale.gains):
        return
    without = sheet.levels.sum(axis=1) == 0
    lacking = {at for top in sheet.pool.tops.values() for at in top.query[top.open].tolist() if without[at]}
    if lacking:
        raise ProtocolError(
            f"empty=skip: {counted(len(lacking), 'query', 'queries')} without relevant documents, such as "
            f"{sheet.queries[min(lacking)]!r}, would count once an unjudged document turned out to be relevant, so "
            "that the interval of the mean is not known; leave empty at its default, or leave such queries out of the "
            "judgments"
        )
