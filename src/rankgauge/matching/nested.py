"""The path of `match` for nested dicts.

A ranking is never sorted as a whole: the rank of a judged document is one plus the number of documents that score
higher, plus what the tie rule says about those that score the same. Small input goes through `sorted`, which is quicker
there, and which is the executable specification of the order.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress, count, islice, pairwise, repeat
from typing import TYPE_CHECKING

import numpy as np

from rankgauge.matching.order import as_float32, descending_within, sort_within, tie_groups
from rankgauge.matching.parts import GROUPED, Parts, joined, ordered
from rankgauge.matching.unpack import Batch, few_numbers_of, listed, numbers_of, sizes_of, text_keys, unpack
from rankgauge.protocol import NARROW
from rankgauge.read.records import complex_refused, id_text

if TYPE_CHECKING:
    from rankgauge.dtypes import Ints
    from rankgauge.matching.unpack import Tables
    from rankgauge.protocol import Protocol
    from rankgauge.read.records import Judgments, Run

__all__ = ["match_nested"]

SMALL = 2_000  # rows that are quicker sorted
BATCH = 400_000  # rows looked at together: few enough for their arrays to be used again and again
NOTHING: Mapping[str, float] = {}


def match_nested(judgments: Judgments, run: Run, queries: list[str], protocol: Protocol, small: int = SMALL) -> Parts:
    """Look every judged document up in the ranking of its query."""
    tables = list(map(judgments.nested.__getitem__, queries))
    rankings = _rankings(run, queries, protocol)
    if sum(map(len, rankings)) < small:
        parts = _by_sorting(judgments, run, queries, tables, rankings, protocol)
        return ordered(parts, protocol) if protocol.ties in GROUPED else parts
    whole = Batch(judgments, run, protocol, queries, tables, rankings, sizes_of(tables), sizes_of(rankings))
    ends = whole.retrieved.cumsum()
    cuts = sorted(set(np.searchsorted(ends, np.arange(BATCH, ends[-1], BATCH)).tolist()))
    batches = (whole.part(start, end) for start, end in pairwise([0, *cuts, len(queries)]) if start < end)
    with complex_refused():
        return joined([ordered(_by_counting(batch), protocol) for batch in batches])


def _rankings(run: Run, queries: list[str], protocol: Protocol) -> list[Mapping[str, float]]:
    """The rankings as the protocol sees them."""
    nested = run.nested
    rankings = list(map(nested.get, queries, repeat(NOTHING)))
    if protocol.same_id == "drop":
        pairs = zip(rankings, queries, strict=True)
        rankings = [{doc: score for doc, score in each.items() if id_text(doc) != query} for each, query in pairs]
    if protocol.order == "given":
        return [dict(zip(ranking, range(0, -len(ranking), -1), strict=True)) for ranking in rankings]
    if protocol.scores in NARROW:
        scores = iter(as_float32(numbers_of(run, rankings, queries)).tolist())
        rankings = [dict(zip(ranking, islice(scores, len(ranking)), strict=True)) for ranking in rankings]
    if protocol.only_positive:
        rankings = [{doc: score for doc, score in ranking.items() if score > 0} for ranking in rankings]
    return rankings


def _by_counting(batch: Batch) -> Parts:
    """Ranks by bisection among the scores."""
    grades, scores, found = unpack(batch)
    judged, retrieved = batch.judged, batch.retrieved
    ends = retrieved.cumsum()
    starts = ends - retrieved
    if not descending_within(scores, starts):
        sort_within(scores, retrieved)
    judged_query = np.repeat(np.arange(len(judged)), judged)
    rows = np.flatnonzero(~np.isnan(found))
    query, value = judged_query[rows], found[rows]
    first, tied = tie_groups(scores, starts[query], ends[query], value)
    rank = first.copy()
    several = np.flatnonzero(tied > 1)
    if len(several) and batch.protocol.ties not in GROUPED:
        docs = _nth_keys(batch.tables, rows[several])
        rank[several] += _place_in_ties(batch, query[several].tolist(), docs, value[several].tolist(), tied[several])
    return Parts(retrieved, judged_query, grades, query, rank, first, tied, grades[rows])


def _nth_keys(tables: list[Mapping[str, float]], rows: Ints) -> list[str]:
    """The judged documents at these rows (ascending) of all tables laid end to end."""
    wanted = iter(rows.tolist())
    result: list[str] = []
    row, start = next(wanted), 0
    for table in tables:
        end = start + len(table)
        if row < end:
            docs = list(table)
            while row < end:
                result.append(id_text(docs[row - start]))
                row = next(wanted, np.iinfo(np.int64).max)
        start = end
    return result


def _place_in_ties(batch: Batch, queries: list[int], docs: list[str], scores: list[float], sizes: Ints) -> Ints:
    """How many of the documents with the same score come before each of these."""
    places = np.zeros(len(docs), np.int64)
    groups: dict[float, dict[str, int]] = {}
    current = -1
    for i, (query, doc, score) in enumerate(zip(queries, docs, scores, strict=True)):
        if query != current:
            current, groups = query, {}
        if score not in groups:
            group = [id_text(d) for d, s in batch.rankings[query].items() if s == score]
            if len(group) < sizes[i]:  # numbers that equal the score only as floats: big integers, decimals
                group = [id_text(d) for d, s in batch.rankings[query].items() if float(s) == score]
            if batch.protocol.ties.startswith("id"):
                group.sort(reverse=batch.protocol.ties == "id")
            elif batch.protocol.ties == "reversed":
                group.reverse()
            groups[score] = {d: place for place, d in enumerate(group)}
        places[i] = groups[score][doc]
    return places


def _by_sorting(
    judgments: Judgments, run: Run, queries: list[str], tables: Tables, rankings: Tables, protocol: Protocol
) -> Parts:
    """The same by sorting each ranking: the specification of the order, and quicker for a few rows.

    Parts are in their order, unless ties are grouped.
    """
    judged_of: list[int] = []
    ideal: list[float] = []
    query_of: list[int] = []
    rank_of: list[int] = []
    found: list[float] = []
    groups: dict[int, tuple[int, int]] = {}  # row of a hit that is tied → first and last rank of its group
    grades = iter(listed(judgments, tables, queries))
    scores = few_numbers_of(run, rankings, queries)
    falls = b"\1" + (scores[1:] < scores[:-1]).tobytes()  # for each score, whether it is below the one before
    end = 0
    for number, table in enumerate(tables):
        ranking = rankings[number]
        docs, grade_of = text_keys(ranking), text_keys(table)
        own = islice(grades, len(table))
        ideal += sorted(own, reverse=True) if protocol.ideal_order == "grade" else own
        judged_of += repeat(number, len(table))
        before, start, end = len(rank_of), end, end + len(ranking)
        if falls.find(0, start + 1, end) < 0:  # in order and without ties, as most are: a rank is a place
            hit = [*map(grade_of.__contains__, docs)]
            found += map(grade_of.__getitem__, compress(docs, hit))
            rank_of += compress(count(1), hit)
        else:
            pairs = _ordered([*zip(scores[start:end].tolist(), docs, strict=True)], protocol)
            first = last = 0  # ranks of the group looked at
            for place, (score, doc) in enumerate(pairs, 1):
                if doc in grade_of:
                    if place > last:
                        first, last = _group(pairs, place, score)
                    if last > first:
                        groups[len(rank_of)] = first, last
                    found.append(grade_of[doc])
                    rank_of.append(first if protocol.ties in GROUPED else place)
        query_of += repeat(number, len(rank_of) - before)
    judged, query, rank = np.array(judged_of, np.int64), np.array(query_of, np.int64), np.array(rank_of, np.int64)
    group, tied = rank.copy() if groups else rank, np.array([1] * len(rank_of), np.int64)
    for row, (first, last) in groups.items():
        group[row], tied[row] = first, last - first + 1
    grade = np.array(found, np.float64)
    return Parts(sizes_of(rankings), judged, np.array(ideal), query, rank, group, tied, grade)


def _ordered(pairs: list[tuple[float, str]], protocol: Protocol) -> list[tuple[float, str]]:
    """Scores and documents in their order: score descending, ties by document id descending, ascending, or as given."""
    if protocol.ties == "reversed":
        pairs.reverse()
    if protocol.ties in ("given", "reversed"):
        return sorted(pairs, key=lambda pair: -pair[0])
    if protocol.ties == "id-ascending":
        return sorted(pairs, key=lambda pair: (-pair[0], pair[1]))
    return sorted(pairs, reverse=True)


def _group(pairs: list[tuple[float, str]], rank: int, score: float) -> tuple[int, int]:
    """The first and the last rank of the documents that share the score at a rank."""
    first = last = rank
    while first > 1 and pairs[first - 2][0] == score:
        first -= 1
    while last < len(pairs) and pairs[last][0] == score:
        last += 1
    return first, last
