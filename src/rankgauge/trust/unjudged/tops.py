"""The first k documents of every judged query, judged or not, with their ranks: Hits hold the judged ones only.

The order, ties, duplicates and missing queries are `match`'s: it is given the candidates for the first k ranks as if
they were judged, each with its own number for a grade, and says where each of them stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rankgauge.matching.match import match
from rankgauge.matching.order import as_float32
from rankgauge.protocol import check_independent
from rankgauge.read import Columns, Judgments

if TYPE_CHECKING:
    import polars as pl

    from rankgauge.dtypes import Bools, Floats, Ints
    from rankgauge.protocol import Protocol
    from rankgauge.read import Record, Run

__all__ = ["Judged", "Pool", "Top", "judged_of", "pool_of"]


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

    @property
    def queries(self) -> list[str]:
        """The judged queries."""
        return self.judged.queries


def judged_of(judgments: Judgments, protocol: Protocol) -> Judged:
    """The judgments with every pair once, their grades as the protocol reads them."""
    queries = sorted(judgments.queries)
    return Judged(queries, _graded(judgments, queries, protocol))


def pool_of(judged: Judged, runs: Mapping[str, Run], k: int | None, protocol: Protocol) -> Pool:
    """The first k documents (all: None) of every run, for every judged query."""
    check_independent(protocol, "what unjudged documents leave open is known")
    queries = judged.queries
    depth = min((limit for limit in (k, protocol.depth) if limit is not None), default=None)
    found = {name: _first(run, queries, depth, protocol) for name, run in runs.items()}
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


def _rows(record: Record, queries: list[str]) -> pl.DataFrame:
    """The rows of these queries: query as an index, document, number."""
    import polars as pl

    place = {query: at for at, query in enumerate(queries)}
    if record.is_nested and not record.is_columns:
        record = type(record)({query: docs for query, docs in record.nested.items() if query in place})
    columns = record.columns
    index = np.array([place.get(query, -1) for query in columns.queries], np.int64)
    frame = pl.DataFrame({"query": index[columns.query], "doc": columns.doc, "number": columns.number})
    return frame if (index >= 0).all() else frame.filter(pl.col("query") >= 0)


def _graded(judgments: Judgments, queries: list[str], protocol: Protocol) -> pl.DataFrame:
    """Query, document, grade: every judgment once."""
    import polars as pl

    frame = _rows(judgments, queries)
    frame = frame if judgments.is_nested else frame.unique(maintain_order=True)
    number = frame["number"].to_numpy()
    grade = pl.Series("grade", np.trunc(number) if protocol.grades == "truncate" else number)
    return frame.select("query", "doc", grade)


def _first(run: Run, queries: list[str], depth: int | None, protocol: Protocol) -> pl.DataFrame:
    """Query, document and rank of the documents of the first ranks."""
    import polars as pl

    rows = _rows(run, queries)
    ranked = _ranked_as_given(rows, protocol)
    if ranked is not None:
        return ranked if depth is None else ranked.filter(pl.col("rank") <= depth)
    rows = _candidates(rows, depth, protocol)
    numbers = rows["query"].to_numpy().astype(np.int32)
    there = np.unique(numbers)
    columns = Columns([queries[at] for at in there], np.searchsorted(there, numbers).astype(np.int32), rows["doc"],
                      np.arange(len(rows), dtype=np.float64))  # fmt: skip
    rules = replace(protocol, depth=None, missing="zero", empty="zero", grades="any", negative="not-relevant")
    hits = match(Judgments(columns, source=run.source), run, rules)
    places = pl.Series(hits.grade.astype(np.int64))
    found = rows.select(pl.all().gather(places)).with_columns(rank=pl.Series(hits.rank)).select("query", "doc", "rank")
    return found if depth is None else found.filter(pl.col("rank") <= depth)


def _ranked_as_given(rows: pl.DataFrame, protocol: Protocol) -> pl.DataFrame | None:
    """Query, document and rank where scores fall strictly, query by query: no rule has anything to decide then.

    None where they do not. (A document that is there twice is found by `match`, when the run is evaluated.)
    """
    import polars as pl

    rules = (protocol.order, protocol.scores, protocol.same_id, protocol.duplicates)
    if rules != ("score", "float64", "keep", "error"):
        return None
    query, score = rows["query"].to_numpy(), rows["number"].to_numpy()
    starts = np.flatnonzero(np.r_[True, query[1:] != query[:-1]]) if len(query) else np.zeros(0, np.int64)
    together = len(starts) == np.count_nonzero(np.bincount(query))
    falling = score[1:] < score[:-1]
    falling[starts[1:] - 1] = True
    if not together or not falling.all():
        return None
    sizes = np.diff(np.r_[starts, len(query)])
    rank = np.arange(1, len(query) + 1) - np.repeat(starts, sizes)
    ranked = rows.select("query", "doc", rank=pl.Series(rank))
    return ranked if (query[starts][1:] > query[starts][:-1]).all() else ranked.sort("query", maintain_order=True)


def _candidates(rows: pl.DataFrame, depth: int | None, protocol: Protocol) -> pl.DataFrame:
    """Rows that may be among the first ones: those of a score that is, where that is quick to tell."""
    import polars as pl

    if depth is None or protocol.duplicates != "error" or protocol.same_id != "keep":
        return rows.unique(["query", "doc"], keep="first", maintain_order=True)
    if int(np.bincount(rows["query"].to_numpy()).max(initial=0)) <= depth:
        return rows
    if protocol.order == "given":
        return rows.filter(pl.int_range(pl.len()).over("query") < depth)
    if protocol.scores == "float32":
        rows = rows.with_columns(number=pl.Series(as_float32(rows["number"].to_numpy())))
    return rows.filter(pl.col("number").rank("min", descending=True).over("query") <= depth)
