"""The path of `match` for nested dicts.

A ranking is never sorted as a whole: the rank of a judged document is one plus the number of documents that score
higher, plus what the tie rule says about those that score the same. Small input goes through `sorted`, which is quicker
there, and which is the executable specification of the order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain, compress, pairwise, repeat
from operator import attrgetter
from struct import error as StructError
from struct import pack_into
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgauge.errors import DuplicateError, FormatError
from rankgauge.match.order import descending_within, sort_within, tie_groups
from rankgauge.match.parts import Parts, joined, ordered, renumbered
from rankgauge.read.records import Nested, Record, id_text

if TYPE_CHECKING:
    from rankgauge.match.hits import Floats, Ints
    from rankgauge.protocol import Protocol
    from rankgauge.read.records import Judgments, Run

__all__ = ["match_nested"]

SMALL = 2_000
BATCH = 400_000  # rows looked at together: their arrays stay in the processor's cache
NOTHING: Mapping[str, float] = {}


def match_nested(judgments: Judgments, run: Run, queries: list[str], protocol: Protocol) -> Parts:
    """Look every judged document up in the ranking of its query.

    Queries are visited in the order of the run, in which its dicts most likely lie in memory, not in that of their ids.
    """
    visited = _in_order_of(run.nested, queries)
    tables = [judgments.nested[query] for query in visited]
    rankings = _rankings(run.nested, visited, protocol)
    ends = _sizes(rankings).cumsum()
    if ends[-1] < SMALL:
        parts = [_by_sorting(judgments, run, tables, rankings, visited, protocol)]
    else:
        cuts = np.unique(np.searchsorted(ends, np.arange(BATCH, ends[-1], BATCH))).tolist()
        batches = (slice(start, end) for start, end in pairwise([0, *cuts, len(visited)]) if start < end)
        parts = [_by_counting(judgments, run, tables[b], rankings[b], visited[b], protocol) for b in batches]
    return ordered(renumbered(joined(parts), visited, queries))


def _in_order_of(run: Nested, queries: list[str]) -> list[str]:
    wanted = dict.fromkeys(queries)
    found = [query for query in run if query in wanted]
    return found if len(found) == len(queries) else [*found, *(query for query in queries if query not in run)]


def _rankings(run: Nested, queries: list[str], protocol: Protocol) -> list[Mapping[str, float]]:
    rankings = [run.get(query, NOTHING) for query in queries]
    if protocol.order == "given":
        rankings = [dict(zip(ranking, range(0, -len(ranking), -1), strict=True)) for ranking in rankings]
    return rankings


def _sizes(tables: Iterable[Mapping[str, float]]) -> Ints:
    return np.fromiter(map(len, tables), np.int64)


def _numbers(record: Record, tables: list[Mapping[str, float]], queries: list[str]) -> Floats:
    """All numbers of all tables in one array; the first that is not a finite number is an error."""
    values = np.empty(sum(map(len, tables)))
    room, start = memoryview(values).cast("B"), 0
    try:
        for table in tables:  # struct is quicker than numpy at unpacking Python's floats
            pack_into(f"{len(table)}d", room, start, *table.values())
            start += 8 * len(table)
        fine = not len(values) or bool(np.isfinite(values.min()) and np.isfinite(values.max()))
    except (StructError, TypeError, ValueError, OverflowError):
        fine = False
    if not fine:
        raise _bad_number(record, tables, queries)
    return values


def _bad_number(record: Record, tables: list[Mapping[str, float]], queries: list[str]) -> FormatError:
    for query, table in zip(queries, tables, strict=True):
        for doc, number in table.items():
            try:
                fine = bool(np.isfinite(float(number)))
            except (TypeError, ValueError):
                fine = False
            if not fine:
                where = f"{record.source}, query {query!r}, document {doc!r}"
                return FormatError(f"{where}: {record.number} {number!r} is not a finite number")
    raise AssertionError("unreachable: called only when a number is bad")


def _by_counting(
    judgments: Judgments,
    run: Run,
    tables: list[Mapping[str, float]],
    rankings: list[Mapping[str, float]],
    queries: list[str],
    protocol: Protocol,
) -> Parts:
    grades = _numbers(judgments, tables, queries)
    scores = _numbers(run, rankings, queries)
    judged, retrieved = _sizes(tables), _sizes(rankings)
    judged_query = np.repeat(np.arange(len(queries)), judged)
    found = _look_up(tables, rankings, len(grades))
    ends = retrieved.cumsum()
    starts = ends - retrieved
    if not descending_within(scores, starts):
        sort_within(scores, retrieved)
    hit = ~np.isnan(found)
    query, value = judged_query[hit], found[hit]
    first, tied = tie_groups(scores, starts[query], ends[query], value)
    rank = first.copy()
    several = np.flatnonzero(tied > 1)
    if len(several) and protocol.ties != "average":
        rows = np.flatnonzero(hit)[several]
        docs = _nth_keys(tables, rows, judged)
        rank[several] += _place_in_ties(rankings, query[several].tolist(), docs, value[several].tolist(), protocol)
    return Parts(retrieved, judged_query, grades, query, rank, first, tied, grades[hit])


def _look_up(tables: list[Mapping[str, float]], rankings: list[Mapping[str, float]], size: int) -> Floats:
    """The score of every judged document, NaN where it was not retrieved."""
    getters = map(attrgetter("get"), rankings)
    scores = chain.from_iterable(map(map, getters, tables, repeat(repeat(np.nan))))
    found = np.fromiter(scores, np.float64, size)
    lost = np.isnan(found)
    if lost.any() and _may_be_spelled_otherwise(compress(chain.from_iterable(tables), lost.tolist())):
        _look_up_integers(tables, rankings, found, lost.tolist())
    return found


def _may_be_spelled_otherwise(docs: Iterable[Any]) -> bool:
    """Whether one of these is an integer, or text that spells one."""
    try:
        return any(map(str.isdecimal, docs))
    except TypeError:
        return True


def _look_up_integers(
    tables: list[Mapping[str, float]], rankings: list[Mapping[str, float]], found: Floats, lost: list[bool]
) -> None:
    """A caller's integer ids match their decimal spelling: try the other spelling where a document was not found."""
    start = 0
    for table, ranking in zip(tables, rankings, strict=True):
        for row, doc in enumerate(table, start):
            if lost[row] and ranking:
                other = _other_spelling(doc)
                if other is not None:
                    found[row] = ranking.get(other, found[row])
        start += len(table)


def _other_spelling(doc: Any) -> Any:
    """7 for '7', '7' for 7, nothing for anything else."""
    if type(doc) is not str:
        return id_text(doc)
    return int(doc) if doc.isdecimal() and str(int(doc)) == doc else None


def text_keys(table: Mapping[Any, float]) -> Mapping[str, float]:
    """The table with ids as text; two ids of one spelling are an error."""
    if set(map(type, table)) <= {str}:
        return table
    result = {id_text(doc): number for doc, number in table.items()}
    if len(result) < len(table):
        raise DuplicateError("two document ids of one query have the same spelling, such as 7 and '7'")
    return result


def _nth_keys(tables: list[Mapping[str, float]], rows: Ints, sizes: Ints) -> list[str]:
    """The judged documents at these rows of all tables laid end to end."""
    wanted = iter(rows.tolist())
    result: list[str] = []
    row, start = next(wanted), 0
    for table, size in zip(tables, sizes.tolist(), strict=True):
        if row < start + size:
            docs = list(table)
            while row < start + size:
                result.append(id_text(docs[row - start]))
                row = next(wanted, np.iinfo(np.int64).max)
        start += size
    return result


def _place_in_ties(
    rankings: list[Mapping[str, float]], queries: list[int], docs: list[str], scores: list[float], protocol: Protocol
) -> Ints:
    """How many of the documents with the same score come before each of these."""
    places = np.zeros(len(docs), np.int64)
    groups: dict[float, dict[str, int]] = {}
    current = -1
    for i, (query, doc, score) in enumerate(zip(queries, docs, scores, strict=True)):
        if query != current:
            current, groups = query, {}
        if score not in groups:
            group = [id_text(d) for d, s in rankings[query].items() if s == score]
            if protocol.ties == "id":
                group.sort(reverse=True)
            groups[score] = {d: place for place, d in enumerate(group)}
        places[i] = groups[score][doc]
    return places


def _by_sorting(
    judgments: Judgments,
    run: Run,
    tables: list[Mapping[str, float]],
    rankings: list[Mapping[str, float]],
    queries: list[str],
    protocol: Protocol,
) -> Parts:
    """The same by sorting each ranking: the specification of the order, and quicker for a few rows."""
    grades = _numbers(judgments, tables, queries)
    _numbers(run, rankings, queries)
    rows: list[tuple[int, int, int, int, float]] = []
    for number, (table, ranking) in enumerate(zip(tables, rankings, strict=True)):
        ordered = _ordered(text_keys(ranking), protocol)
        place = {doc: rank for rank, (_, doc) in enumerate(ordered, 1)}
        scores = [score for score, _ in ordered]
        for doc, grade in text_keys(table).items():
            rank = place.get(doc)
            if rank is not None:
                first, tied = _group(scores, rank)
                rows.append((number, first if protocol.ties == "average" else rank, first, tied, grade))
    retrieved, judged = _sizes(rankings), _sizes(tables)
    judged_query = np.repeat(np.arange(len(queries)), judged)
    query, rank_of, first_of, tied_of, grade_of = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    places = np.array([query, rank_of, first_of, tied_of], np.int64)
    return Parts(
        retrieved, judged_query, grades, places[0], places[1], places[2], places[3], np.array(grade_of, np.float64)
    )


def _ordered(ranking: Mapping[str, float], protocol: Protocol) -> list[tuple[float, str]]:
    """The ranking in its order: score descending, ties by document id descending, or as given."""
    pairs = [(score, doc) for doc, score in ranking.items()]
    if protocol.ties == "given":
        return sorted(pairs, key=lambda pair: -pair[0])
    return sorted(pairs, reverse=True)


def _group(scores: list[float], rank: int) -> tuple[int, int]:
    """The first rank of the documents that share the score at this rank, and how many they are."""
    score, first, last = scores[rank - 1], rank, rank
    while first > 1 and scores[first - 2] == score:
        first -= 1
    while last < len(scores) and scores[last] == score:
        last += 1
    return first, last - first + 1
