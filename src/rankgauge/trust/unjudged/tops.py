"""The first k documents of every judged query, judged or not, with their ranks: Hits hold the judged ones only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankgauge.matching.ranking import only_queries, whole
from rankgauge.protocol import check_independent

if TYPE_CHECKING:
    import polars as pl

    from rankgauge.dtypes import Bools, Floats, Ints
    from rankgauge.protocol import Protocol
    from rankgauge.read import Judgments, Run

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
    ranked = {name: whole(only_queries(run, there), protocol, depth) for name, run in runs.items()}
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
