"""Hits under other orders of the documents that share a score: sorted, drawn at random, or all of them.

Within a tie group of t documents, h of them judged, the judged ones take h of the ranks first … first + t − 1 and the
unjudged ones the rest. Only rows of such groups are touched; they lie together in Hits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import factorial, prod
from typing import TYPE_CHECKING

import numpy as np

from rankgauge.matching.hits import positions_within

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats, Ints
    from rankgauge.matching.hits import Hits
    from rankgauge.protocol import Protocol

__all__ = ["Tied", "arranged", "averaged", "drawn", "in_order", "number_of_draws", "tied_rows"]

MOST_DRAWS = 200
FEWEST_DRAWS = 20
WORK = 20_000_000  # places shuffled for all draws together


@dataclass(frozen=True, eq=False, slots=True)
class Tied:
    """The hits that share their score with another document: their rows, and where their groups begin among them."""

    rows: Ints
    first: Ints
    size: Ints
    group: Ints
    starts: Ints

    @property
    def counts(self) -> Ints:
        """How many judged documents each group holds."""
        counts: Ints = np.diff(np.append(self.starts, len(self.rows)))
        return counts


def tied_rows(hits: Hits) -> Tied:
    """The tied hits. A ranking that was cut has lost what was tied beyond the cut: only the ranks left count."""
    rows = np.flatnonzero(hits.tied > 1)
    query, first, size = hits.query[rows], hits.first[rows], hits.tied[rows]
    if hits.protocol.depth is not None:
        size = np.minimum(size, hits.protocol.depth - first + 1)
    new = np.r_[True, (query[1:] != query[:-1]) | (first[1:] != first[:-1])][: len(rows)]
    return Tied(rows, first, size, np.cumsum(new) - 1, np.flatnonzero(new))


def in_order(hits: Hits, tied: Tied, key: Floats) -> Hits:
    """The hits with each tie group sorted by key, lowest first; unjudged documents have the key 0."""
    mine = key[tied.rows]
    order = np.lexsort((mine, tied.group))
    place = positions_within(tied.group)
    behind = np.where(mine[order] < 0, 0, (tied.size - tied.counts[tied.group]))
    return _placed(hits, tied, order, tied.first + place + behind)


def number_of_draws(tied: Tied) -> int:
    """How many random orders are looked at: fewer where there is much to shuffle."""
    work = int(tied.size[tied.starts].sum())
    return max(FEWEST_DRAWS, min(MOST_DRAWS, WORK // max(work, 1)))


def drawn(hits: Hits, tied: Tied, seed: int) -> Iterator[Hits]:
    """The hits under random orders of equal scores, each as likely as any other."""
    draws = number_of_draws(tied)
    ranks, random = np.empty((draws, len(tied.rows)), np.int64), np.random.default_rng(seed)
    for start, count in zip(tied.starts.tolist(), tied.counts.tolist(), strict=True):
        places = np.tile(np.arange(int(tied.size[start])), (draws, 1))
        ranks[:, start : start + count] = tied.first[start] + random.permuted(places, axis=1)[:, :count]
    for row in ranks:
        order = np.lexsort((row, tied.group))
        yield _placed(hits, tied, order, row[order])


def _placed(hits: Hits, tied: Tied, order: Ints, rank: Ints) -> Hits:
    """The tied rows in this order, at these ranks."""
    new_rank, new_grade = hits.rank.copy(), hits.grade.copy()
    new_rank[tied.rows] = rank
    new_grade[tied.rows] = hits.grade[tied.rows[order]]
    return replace(hits, rank=new_rank, grade=new_grade, protocol=_settled(hits))


def _settled(hits: Hits) -> Protocol:
    return replace(hits.protocol, ties="id") if hits.averaged else hits.protocol


def averaged(hits: Hits) -> Hits:
    """The same hits with their ties averaged."""
    rules = replace(hits.protocol, order="score", ties="average", depth=None)
    return replace(hits, rank=hits.first, protocol=rules)


def arranged(hits: Hits, tied: Tied, query: int, most: int) -> Hits | None:
    """All orders of the ties of one query, as many queries of one Hits; None where there are more than `most`."""
    mine = np.flatnonzero(hits.query[tied.rows[tied.starts]] == query)
    groups = [slice(a, a + n) for a, n in zip(tied.starts[mine].tolist(), tied.counts[mine].tolist(), strict=True)]
    if prod(_number(hits.grade[tied.rows[group]], int(tied.size[group.start])) for group in groups) > most:
        return None
    alone = np.flatnonzero((hits.query == query) & (hits.tied == 1))
    fixed = [(int(hits.rank[row]), float(hits.grade[row])) for row in alone]
    ways = [_ways(hits.grade[tied.rows[group]], int(tied.size[group.start])) for group in groups]
    firsts = [int(tied.first[group.start]) for group in groups]
    rankings = []
    for choice in product(*ways):
        pairs = [(a + i, g) for a, way in zip(firsts, choice, strict=True) for i, g in enumerate(way) if g is not None]
        rankings.append(sorted([*fixed, *pairs], key=lambda pair: pair[0]))
    return _copies(hits, query, rankings)


def _number(grades: Floats, size: int) -> int:
    """How many orders there are that differ: documents of equal grade, and unjudged ones, are alike."""
    alike = [*np.unique(grades, return_counts=True)[1].tolist(), size - len(grades)]
    return factorial(size) // prod(map(factorial, alike)) if size < 1000 else WORK


def _ways(grades: Floats, size: int) -> list[tuple[float | None, ...]]:
    """The orders that differ, each as the grade at every place (None: unjudged)."""
    left: dict[float | None, int] = {None: size - len(grades)}
    for grade in grades.tolist():
        left[grade] = left.get(grade, 0) + 1
    return list(_permutations(left))


def _permutations(left: dict[float | None, int]) -> Iterator[tuple[float | None, ...]]:
    if not any(left.values()):
        yield ()
    for grade, count in left.items():
        if count:
            for rest in _permutations(left | {grade: count - 1}):
                yield grade, *rest


def _copies(hits: Hits, query: int, rankings: list[list[tuple[int, float]]]) -> Hits:
    """Hits of many queries that are copies of one, each with a ranking of its own."""
    n, judged = len(rankings), hits.judgment_grade[hits.judgment_query == query]
    number = np.repeat(np.arange(n), [len(ranking) for ranking in rankings])
    rank = np.array([rank for ranking in rankings for rank, _ in ranking], np.int64)
    grade = np.array([grade for ranking in rankings for _, grade in ranking], np.float64)
    return replace(
        hits,
        queries=[hits.queries[query]] * n,
        answered=np.repeat(hits.answered[query], n),
        retrieved=np.repeat(hits.retrieved[query], n),
        judged=np.repeat(hits.judged[query], n),
        query=number,
        rank=rank,
        first=rank,
        tied=np.ones(len(rank), np.int64),
        grade=grade,
        judgment_query=np.repeat(np.arange(n), len(judged)),
        judgment_grade=np.tile(judged, n),
        protocol=_settled(hits),
    )
