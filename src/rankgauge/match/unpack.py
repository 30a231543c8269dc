"""Python objects → arrays: the numbers of nested dicts, and the scores of judged documents, with no loop per row.

This is where the time of the path for dicts goes. A few queries are unpacked at a time and looked up right away, while
their dicts are still in the processor's cache; `struct` is quicker than numpy at unpacking Python's floats.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain, compress, repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgauge.errors import DuplicateError, FormatError
from rankgauge.read.records import id_text

if TYPE_CHECKING:
    from rankgauge.match.hits import Floats, Ints
    from rankgauge.protocol import Protocol
    from rankgauge.read.records import Judgments, Record, Run

    Tables = list[Mapping[str, float]]

__all__ = ["Batch", "numbers_of", "text_keys", "unpack"]

TOGETHER = 16  # queries unpacked and looked up in one go
MANY = 12  # from one judgment to so many results on, walking through the results first pays


@dataclass(frozen=True, eq=False, slots=True)
class Batch:
    """Some queries: the judgments and the ranking of each, as the caller gave them."""

    judgments: Judgments
    run: Run
    protocol: Protocol
    queries: list[str]
    tables: Tables
    rankings: Tables

    def __getitem__(self, some: slice) -> Batch:
        return Batch(
            self.judgments, self.run, self.protocol, self.queries[some], self.tables[some], self.rankings[some]
        )

    @property
    def judged(self) -> Ints:
        """How many documents of each query are judged."""
        return np.fromiter(map(len, self.tables), np.int64, len(self.tables))

    @property
    def retrieved(self) -> Ints:
        """How many documents of each query are retrieved."""
        return np.fromiter(map(len, self.rankings), np.int64, len(self.rankings))


def unpack(batch: Batch) -> tuple[Floats, Floats, Floats]:
    """All grades, all scores, and for each judgment the score of its document, NaN where it was not retrieved."""
    grades, scores, found = [], [], []
    for start in range(0, len(batch.queries), TOGETHER):
        few = batch[start : start + TOGETHER]
        grades.append(numbers_of(few.judgments, few.tables, few.queries))
        scores.append(numbers_of(few.run, few.rankings, few.queries))
        found.append(_look_up(few, len(grades[-1])))
    return np.concatenate(grades), np.concatenate(scores), np.concatenate(found)


def numbers_of(record: Record, tables: Tables, queries: list[str]) -> Floats:
    """All numbers of these tables in one array; the first that is not a finite number is an error."""
    values = np.empty(sum(map(len, tables)))
    room, start = values.data.cast("B"), 0
    try:
        for table in tables:
            struct.pack_into(f"{len(table)}d", room, start, *table.values())
            start += 8 * len(table)
        fine = not len(values) or bool(np.isfinite(values.min()) and np.isfinite(values.max()))
    except (struct.error, TypeError, ValueError, OverflowError):
        fine = False
    if not fine:
        raise _bad_number(record, tables, queries)
    return values


def _bad_number(record: Record, tables: Tables, queries: list[str]) -> FormatError:
    for query, table in zip(queries, tables, strict=True):
        for doc, number in table.items():
            if isinstance(number, (str, bytes)) or not _is_finite(number):
                where = f"{record.source}, query {query!r}, document {doc!r}"
                return FormatError(f"{where}: {record.number} {number!r} is not a finite number")
    raise AssertionError("unreachable: called only when a number is bad")


def _is_finite(number: Any) -> bool:
    try:
        return bool(np.isfinite(float(number)))
    except (TypeError, ValueError, OverflowError):
        return False


def _look_up(batch: Batch, size: int) -> Floats:
    if size * MANY > sum(map(len, batch.rankings)):
        # Many look-ups in scattered memory: walk the ids once in their order, which brings them into the cache.
        deque(chain.from_iterable(batch.rankings), maxlen=0)
    getters = map(attrgetter("get"), batch.rankings)
    scores = chain.from_iterable(map(map, getters, batch.tables, repeat(repeat(np.nan))))
    found = np.fromiter(scores, np.float64, size)
    lost = np.isnan(found)
    if lost.any() and _may_be_spelled_otherwise(compress(chain.from_iterable(batch.tables), lost.tolist())):
        _look_up_other_spelling(batch, found, lost.tolist())
    return found


def _may_be_spelled_otherwise(docs: Iterable[Any]) -> bool:
    """Whether one of these is an integer, or text that spells one."""
    try:
        return any(map(str.isdecimal, docs))
    except TypeError:
        return True


def _look_up_other_spelling(batch: Batch, found: Floats, lost: list[bool]) -> None:
    """A caller's integer ids match their decimal spelling: try the other one where a document was not found."""
    owners = chain.from_iterable(map(repeat, batch.rankings, map(len, batch.tables)))
    docs = chain.from_iterable(batch.tables)
    for row, (doc, ranking) in enumerate(zip(docs, owners, strict=True)):
        if lost[row]:
            found[row] = ranking.get(_other_spelling(doc), np.nan)


def _other_spelling(doc: Any) -> Any:
    """7 for '7', '7' for 7, and the id itself where there is no other."""
    if type(doc) is not str:
        return id_text(doc)
    return int(doc) if doc.isdecimal() and str(int(doc)) == doc else doc


def text_keys(table: Mapping[Any, float]) -> Mapping[str, float]:
    """The table with ids as text; two ids of one spelling are an error."""
    if set(map(type, table)) <= {str}:
        return table
    result = {id_text(doc): number for doc, number in table.items()}
    if len(result) < len(table):
        raise DuplicateError("two document ids of one query have the same spelling, such as 7 and '7'")
    return result
