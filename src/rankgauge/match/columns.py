"""The path of `match` for columns: millions of rows, as array operations.

Every judged document is found by its key (see `grouping`). Scores that never rise within a query need no sort: the
place is the rank. Of the ties only groups that contain a judged document are looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgauge.errors import FormatError
from rankgauge.match.duplicates import judgments_once, run_once
from rankgauge.match.order import blocks_of_equal_size, descending_within, tie_groups
from rankgauge.match.parts import Parts, ordered
from rankgauge.read.records import Columns

if TYPE_CHECKING:
    from rankgauge.match.grouping import Grouped
    from rankgauge.match.hits import Bools, Floats, Ints
    from rankgauge.protocol import Protocol
    from rankgauge.read.records import Judgments, Record, Run

__all__ = ["match_columns"]


def match_columns(judgments: Judgments, run: Run, queries: list[str], protocol: Protocol) -> Parts:
    """Find every judged document in the ranking of its query, and its rank."""
    _check_finite(judgments)
    _check_finite(run)
    judged = _numbered(judgments_once(judgments), queries)
    ranked = run_once(run, protocol)
    starts, ends = _bounds(ranked, queries)
    judged_query = judged.query.astype(np.int64)
    hit, place = ranked.find(judged.doc, starts[judged_query], ends[judged_query])
    query, grade = judged_query[hit], judged.number[hit]
    rank, first, tied = _ranks(ranked, place, protocol)
    return ordered(Parts(ends - starts, judged_query, judged.number, query, rank, first, tied, grade))


def _check_finite(record: Record) -> None:
    columns = record.columns
    numbers = columns.number
    if len(numbers) and not (np.isfinite(numbers.min()) and np.isfinite(numbers.max())):
        row = int(np.flatnonzero(~np.isfinite(numbers))[0])
        where = f"{record.source}, row {row + 1}, query {columns.queries[columns.query[row]]!r}"
        raise FormatError(
            f"{where}, document {columns.doc[row]!r}: {record.number} {numbers[row]} is not a finite number"
        )


def _numbered(columns: Columns, queries: list[str]) -> Columns:
    """The rows of these queries, numbered as in this list."""
    number = {query: i for i, query in enumerate(queries)}
    new = np.array([number.get(query, -1) for query in columns.queries], np.int32)
    query = new[columns.query]
    if (new >= 0).all():
        return Columns(queries, query, columns.doc, columns.number)
    rows = np.flatnonzero(query >= 0)
    return Columns(queries, query[rows], columns.doc.gather(rows), columns.number[rows])


def _bounds(ranked: Grouped, queries: list[str]) -> tuple[Ints, Ints]:
    """Where the ranking of each judged query begins and ends; empty where the run does not answer it."""
    number = {query: i for i, query in enumerate(ranked.columns.queries)}
    nowhere = len(number)
    index = np.array([number.get(query, nowhere) for query in queries], np.int64)
    return np.r_[ranked.starts, 0][index], np.r_[ranked.ends, 0][index]


def _ranks(ranked: Grouped, place: Ints, protocol: Protocol) -> tuple[Ints, Ints, Ints]:
    """The rank, the first rank of the tie group and its size, for the documents at these places."""
    low, high = ranked.starts[ranked.query[place]], ranked.ends[ranked.query[place]]
    if protocol.order == "given":
        rank = place - low + 1
        return rank, rank, np.ones(len(rank), np.int64)
    scores = ranked.columns.number if ranked.row is None else ranked.columns.number[ranked.row]
    value = scores[place]
    order = None if descending_within(scores, ranked.starts) else _order_within(scores, ranked)
    if order is not None:
        scores = scores[order]
    first, tied = tie_groups(scores, low, high, value)
    rank = first.copy()
    several = np.flatnonzero(tied > 1)
    if len(several) and protocol.ties != "average":
        begin = low[several] + first[several] - 1
        rank[several] += _place_in_ties(ranked, order, place[several], begin, tied[several], protocol)
    return rank, first, tied


def _order_within(scores: Floats, ranked: Grouped) -> Ints:
    """Places in the order of descending score within each query; equal scores as given."""
    order = np.empty(len(scores), np.int64)
    falling = -scores
    for start, count, size in blocks_of_equal_size(ranked.ends - ranked.starts):
        block = order[start : start + count * size].reshape(count, size)
        block[:] = falling[start : start + count * size].reshape(count, size).argsort(axis=1, kind="stable")
        block += np.arange(start, start + count * size, size or 1)[:count, None]
    return order


def _place_in_ties(
    ranked: Grouped, order: Ints | None, place: Ints, begin: Ints, sizes: Ints, protocol: Protocol
) -> Ints:
    """How many of the documents with the same score come before each of these."""
    ends = sizes.cumsum()
    owner = np.repeat(np.arange(len(sizes)), sizes)
    members = np.arange(ends[-1]) - np.repeat(ends - sizes - begin, sizes)
    if order is not None:
        members = order[members]
    if protocol.ties == "given":
        before: Bools = members < place[owner]
    else:
        before = (ranked.docs(members) > ranked.docs(place).gather(owner)).to_numpy()
    return np.bincount(owner[before], minlength=len(sizes))
