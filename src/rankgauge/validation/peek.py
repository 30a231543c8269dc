"""Peek: the little that is kept of judgments and a run beside Hits, so that notes can be made when a result is shown.

A result must not hold millions of rows. What the quick checks need of them is the start of the run's file (ranks are
nowhere else), the documents of the first queries, and the ids of queries that only one side has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from rankgauge.matching.hits import Hits
    from rankgauge.read.records import Judgments, Record, Run

__all__ = ["Peek", "peek"]

QUERIES: Final = 20
ROWS: Final = 2_000


class Peek(NamedTuple):
    """`head` is the start of the run's file (all of it where `whole`), `retrieved` holds documents of first queries.
    `rows` is how many the run has.

    `judged` (of the same queries) is there only where most judged documents were not found, `missing` and `extra`
    (ids of queries) only where both sides have queries that the other has not: else there is nothing to compare.
    """

    head: bytes = b""
    whole: bool = False
    retrieved: Mapping[str, Collection[str]] = {}
    judged: Mapping[str, Collection[str]] = {}
    missing: Collection[str] = ()
    extra: Collection[str] = ()
    rows: int = 0


def peek(judgments: Judgments, run: Run, hits: Hits) -> Peek:
    """What is kept of these two, of which Hits were made."""
    retrieved = _documents(run)
    few = 2 * len(hits) < len(hits.judgment_grade)
    judged = _documents(judgments, retrieved) if few else {}
    if not (hits.missing and hits.left_out):
        return Peek(run.head, run.whole_head, retrieved, judged, rows=len(run))
    ours, theirs = set(judgments.queries), set(run.queries)
    return Peek(run.head, run.whole_head, retrieved, judged, ours - theirs, theirs - ours, len(run))


def _first(nested: Mapping[str, Collection[str]]) -> dict[str, Collection[str]]:
    """The first queries with their documents, as few as hold enough rows."""
    result: dict[str, Collection[str]] = {}
    rows = 0
    for query, docs in islice(nested.items(), QUERIES):
        if rows >= ROWS:
            break
        result[query] = docs
        rows += len(docs)
    return result


def _documents(record: Record, wanted: Collection[str] | None = None) -> dict[str, Collection[str]]:
    """The documents of the wanted queries, or of the first."""
    if record.is_nested:
        nested = record.nested
        return _first(nested) if wanted is None else {query: nested[query] for query in wanted if query in nested}
    columns = record.columns
    rows = np.arange(min(len(columns), ROWS))
    if wanted is not None:
        numbers = [number for number, query in enumerate(columns.queries) if query in wanted]
        rows = np.flatnonzero(np.isin(columns.query, numbers))
    result: dict[str, list[str]] = {}
    for number, doc in zip(columns.query[rows].tolist(), columns.doc.gather(rows).to_list(), strict=True):
        result.setdefault(columns.queries[number], []).append(doc)
    return {**result}
