"""The path of `match` for columns: millions of rows, as array operations.

Every judged document is found by its key (see `grouping`). Scores that never rise within a query need no sort: the
place is the rank. Of the ties only groups that contain a judged document are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankgauge.matching.duplicates import judgments_once, run_once, with_copies
from rankgauge.matching.grouping import in_threads
from rankgauge.matching.order import as_float32, blocks_of_equal_size, descending_within, tie_groups
from rankgauge.matching.parts import GROUPED, Parts, by_rank, check_finite, in_ideal_order, order_by_rank, regrouped
from rankgauge.protocol import NARROW

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgauge.dtypes import Bools, Floats, Ints
    from rankgauge.matching.grouping import Grouped
    from rankgauge.protocol import Protocol
    from rankgauge.read.records import Columns, Judgments, Run

__all__ = ["match_columns", "order_within", "scores_of"]

BATCH = 1 << 17  # judgments looked up together: few enough for their arrays to be used again and again


def match_columns(
    judgments: Judgments,
    run: Run,
    queries: list[str],
    protocol: Protocol,
    grouped: Grouped | None = None,
    batch: int = BATCH,
) -> Parts:
    """Find every judged document in the ranking of its query, and its rank.

    Everything happens in the order in which the judgments name the queries; at the end these are put in order.
    `grouped` are the run's rows where they were brought together before, each document once.
    """
    check_finite(judgments)
    check_finite(run)
    judged = judgments_once(judgments)
    judged = judged if len(judged.queries) == len(queries) else judged.only(set(queries))
    rows, copies = run_once(run, protocol) if grouped is None else (grouped, None)
    ideal, judged = judged, judged if copies is None else with_copies(judged, copies)
    ranking = _Ranking.of(rows, judged.queries, protocol)
    found = in_threads(lambda ends: ranking.find(judged, *ends), _batches(judged.query, batch))
    query, rank, first, tied, row = (np.concatenate(column) for column in zip(*found, strict=True))
    wanted = judged if protocol.duplicates == "distinct" else ideal
    hits = by_rank(query, rank, first, tied, judged.number[row])
    order, place = _moves(judged.queries, queries)
    judged_query, grade = in_ideal_order(place[wanted.query], wanted.number, protocol)
    return Parts((ranking.ends - ranking.starts)[order], judged_query, grade, *regrouped(hits, order))


def _moves(old: list[str], new: list[str]) -> tuple[Ints, Ints]:
    """Where each query of the new order was in the old one, and where each of the old one is in the new."""
    number = {query: i for i, query in enumerate(old)}
    order = np.fromiter(map(number.__getitem__, new), np.int64, len(new))
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    return order, place


def _batches(query: NDArray[np.int32], size: int) -> Iterator[tuple[int, int]]:
    """Where to cut the judgments into batches: where the query changes."""
    start = 0
    while start < len(query):
        end = min(start + size, len(query))
        while end < len(query) and query[end] == query[end - 1]:
            end += 1
        yield start, end
        start = end


@dataclass(frozen=True, eq=False, slots=True)
class _Ranking:
    """A run's rows, where each judged query's ranking starts and ends, and its scores as given and in order.

    `order` maps a place in the order to a place as given (None: they are in order as given).
    """

    rows: Grouped
    starts: Ints
    ends: Ints
    scores: Floats
    order: Ints | None
    ordered_scores: Floats
    protocol: Protocol

    @classmethod
    def of(cls, rows: Grouped, queries: list[str], protocol: Protocol) -> _Ranking:
        starts, ends = _bounds(rows, queries)
        scores = scores_of(rows, protocol)
        sorted_already = protocol.order == "given" or descending_within(scores, rows.starts)
        order = None if sorted_already else order_within(scores, rows)
        return cls(rows, starts, ends, scores, order, scores if order is None else scores[order], protocol)

    def find(self, judged: Columns, start: int, end: int) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """Which of these judgments were retrieved: their queries, ranks, tie groups and rows, ordered by rank."""
        query = judged.query[start:end]
        low, high = self.starts[query], self.ends[query]
        hit, place = self.rows.find(judged.doc.slice(start, end - start), low, high)
        rank, first, tied = self._ranks(place, low[hit], high[hit])
        query_of_hit = query[hit].astype(np.int64)
        order = order_by_rank(query_of_hit, rank)
        return query_of_hit[order], rank[order], first[order], tied[order], hit[order] + start

    def _ranks(self, place: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints, Ints]:
        if self.protocol.order == "given":
            rank = place - low + 1
            return rank, rank, np.ones(len(rank), np.int64)
        first, tied = tie_groups(self.ordered_scores, low, high, self.scores[place])
        rank = first.copy()
        several = np.flatnonzero(tied > 1)
        if len(several) and self.protocol.ties not in GROUPED:
            begin = low[several] + first[several] - 1
            rank[several] += _place_in_ties(self, place[several], begin, tied[several])
        return rank, first, tied


def _bounds(ranked: Grouped, queries: list[str]) -> tuple[Ints, Ints]:
    """Where the ranking of each judged query begins and ends; empty where the run does not answer it."""
    number = {query: i for i, query in enumerate(ranked.columns.queries)}
    nowhere = len(number)
    index = np.array([number.get(query, nowhere) for query in queries], np.int64)
    return np.r_[ranked.starts, 0][index], np.r_[ranked.ends, 0][index]


def scores_of(rows: Grouped, protocol: Protocol) -> Floats:
    """The scores at every place, as the protocol compares them."""
    scores = rows.columns.number if rows.row is None else rows.columns.number[rows.row]
    return as_float32(scores) if protocol.scores in NARROW else scores


def order_within(scores: Floats, ranked: Grouped) -> Ints:
    """Places in the order of descending score within each query; equal scores as given."""
    order = np.empty(len(scores), np.int64)
    falling = -scores
    for start, count, size in blocks_of_equal_size(ranked.ends - ranked.starts):
        block = order[start : start + count * size].reshape(count, size)
        block[:] = falling[start : start + count * size].reshape(count, size).argsort(axis=1, kind="stable")
        block += np.arange(start, start + count * size, size or 1)[:count, None]
    return order


def _place_in_ties(ranking: _Ranking, place: Ints, begin: Ints, sizes: Ints) -> Ints:
    """How many of the documents with the same score come before each of these."""
    ends = sizes.cumsum()
    owner = np.repeat(np.arange(len(sizes)), sizes)
    members = np.arange(ends[-1]) - np.repeat(ends - sizes - begin, sizes)
    if ranking.order is not None:
        members = ranking.order[members]
    ties = ranking.protocol.ties
    if ties in ("given", "reversed"):
        before: Bools = members < place[owner] if ties == "given" else members > place[owner]
    else:
        docs, mine = ranking.rows.docs(members), ranking.rows.docs(place).gather(owner)
        before = (docs > mine if ties == "id" else docs < mine).to_numpy()
    return np.bincount(owner[before], minlength=len(sizes))
