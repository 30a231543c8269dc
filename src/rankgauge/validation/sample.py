"""The checks of a run's first rows: ranks against scores, ranks from 0, a query's own id, ids written differently.

`validate` looks at every row; an evaluation has no time for that, and says how many queries it looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from rankgauge.errors import counted
from rankgauge.matching.diagnose import alike

if TYPE_CHECKING:
    from rankgauge.dtypes import Array, Floats, Ints
    from rankgauge.matching.diagnose import Side
    from rankgauge.validation.peek import Peek

__all__ = ["contradicting", "sample_notes"]

WIDTH: Final = 6  # query Q0 doc rank score tag
MOST_DOCUMENTS: Final = 2_000  # documents of the run whose spelling is tried in other ways


class Sample(NamedTuple):
    """The first rows of a run's file: the number of the query, the rank and the score of each."""

    query: Ints
    rank: Ints
    score: Floats

    @property
    def queries(self) -> int:
        return int(self.query.max()) + 1


def contradicting(query: Array, rank: Ints, score: Floats) -> Ints:
    """Where a document has a worse rank and a better score than the one before it by rank; ordered by query and rank.

    The rows of a query stand together, and queries are numbered in their order.
    """
    same = query[1:] == query[:-1]
    order = None if ((rank[1:] >= rank[:-1]) | ~same).all() else np.lexsort((rank, query))
    if order is not None:
        rank, score = rank[order], score[order]  # the queries stay where they are
    after = np.flatnonzero((score[1:] > score[:-1]) & (rank[1:] > rank[:-1]) & same) + 1
    return after if order is None else order[after]


def sample_notes(peek: Peek, *, by_score: bool = True) -> Iterator[tuple[str, str]]:
    """Code and words for each finding in the first rows."""
    sample = _sample(peek.head)
    if sample is not None:
        if by_score:
            wrong = contradicting(*sample)
            yield from _counted("RG202", len(set(sample.query[wrong].tolist())), sample.queries, peek.whole)
        zero = len(set(sample.query[sample.rank == 0].tolist()))
        yield from _counted("RG203", zero, sample.queries, peek.whole)
    itself = sum(query in docs for query, docs in peek.retrieved.items())
    yield from _counted("RG208", itself, len(peek.retrieved), whole=False)
    yield from _spelling(peek)


def _counted(code: str, count: int, looked_at: int, whole: bool) -> Iterator[tuple[str, str]]:
    if count:
        first = "the first query" if looked_at == 1 else f"{count:,} of the first {looked_at:,} queries"
        yield code, f"{count:,} of {counted(looked_at, 'query', 'queries')}" if whole else first


def _sample(head: bytes) -> Sample | None:
    """The rows of whole lines, grouped by query; None where there are none, or where ranks are something else."""
    head = head[: head.rfind(b"\n") + 1]
    fields = head.split()
    if len(fields) != WIDTH * head.count(b"\n") or b"#" in head:
        rows = (line.split()[:WIDTH] for line in head.splitlines())
        fields = [field for row in rows if len(row) == WIDTH and not row[0].startswith(b"#") for field in row]
    numbers: dict[bytes, int] = {}
    try:
        query = np.array([numbers.setdefault(each, len(numbers)) for each in fields[::WIDTH]], np.int64)
        rank = np.array([*map(int, fields[3::WIDTH])], np.int64)
        score = np.array([*map(float, fields[4::WIDTH])])
    except (ValueError, OverflowError):
        return None
    order = np.argsort(query, kind="stable")
    return Sample(query[order], rank[order], score[order]) if len(query) else None


def _spelling(peek: Peek) -> Iterator[tuple[str, str]]:
    """Ids of queries, then of documents, that would match after a change."""
    queries: list[Side] = [(peek.missing, dict.fromkeys(peek.extra, 0))]
    documents: list[Side] = []
    matching = looked_at = 0
    for query, docs in peek.judged.items():
        ours, theirs = set(map(str, docs)), set(map(str, peek.retrieved[query]))
        looked_at += len(theirs)
        if looked_at > MOST_DOCUMENTS and documents:
            break
        matching += len(ours & theirs)
        documents.append((ours - theirs, dict.fromkeys(theirs - ours, 0)))
    for what, sides, as_they_are in (("query", queries, 0), ("document", documents, matching)):
        pairs, change = alike(sides, as_they_are)
        if pairs:
            ours_id, theirs_id, _ = pairs[0]
            yield "RG303", f"{what} {ours_id!r} is judged, {theirs_id!r} is in the run; they match after {change}"
