"""Python objects → arrays: the numbers of nested dicts, and the scores of judged documents, with no loop per row.

This is where the time of the path for dicts goes. A few queries are unpacked at a time and looked up right away, while
their dicts are still in the processor's cache; `struct` is quicker than numpy at unpacking Python's floats.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import chain, compress, count, repeat
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from rankgauge.errors import DuplicateError, FormatError
from rankgauge.read.records import complex_refused, id_text, is_complex
from rankgauge.read.rows import INEXACT, LONGEST

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats, Ints
    from rankgauge.protocol import Protocol
    from rankgauge.read.records import Judgments, Record, Run

    Tables = list[Mapping[str, float]]

__all__ = ["Batch", "few_numbers_of", "listed", "numbers_of", "sizes_of", "text_keys", "unpack"]

TOGETHER = 16_000  # results unpacked and looked up in one go
TOUCHED = 2_000  # the same, where they are touched first: few enough to stay in the cache
FEW = 200  # numbers that Python adds up more quickly than numpy finds their ends
PLAIN = {float, int}
EXACT = 2.0**53  # up to which every whole number has a float of its own
MANY_RESULTS = 12  # from one judgment to so many results on, touching the results first pays
NOT_FOUND = repeat(float("nan"))
NOT_A_NUMBER = (struct.error, TypeError, ValueError, OverflowError, np.exceptions.ComplexWarning)


class Batch(NamedTuple):
    """Some queries: the judgments and the ranking of each, as the caller gave them, and how many they are."""

    judgments: Judgments
    run: Run
    protocol: Protocol
    queries: list[str]
    tables: Tables
    rankings: Tables
    judged: Ints
    retrieved: Ints

    def part(self, start: int, end: int) -> Batch:
        """The same of some of the queries."""
        some = slice(start, end)
        each = (self.queries[some], self.tables[some], self.rankings[some], self.judged[some], self.retrieved[some])
        return Batch(self.judgments, self.run, self.protocol, *each)


def sizes_of(tables: Tables) -> Ints:
    """How many entries each has."""
    return np.array([*map(len, tables)], np.int64)


def unpack(batch: Batch) -> tuple[Floats, Floats, Floats]:
    """All grades, all scores, and for each judgment the score of its document, NaN where it was not retrieved."""
    grades, found = np.empty((2, int(batch.judged.sum())))
    scores = np.empty(int(batch.retrieved.sum()))
    try:
        _fill(batch, grades, scores, found)
        fine = _all_finite(grades) and _all_finite(scores) and _none_is_large(scores)
    except NOT_A_NUMBER:
        fine = False
    if not fine:
        numbers_of(batch.judgments, batch.tables, batch.queries)
        numbers_of(batch.run, batch.rankings, batch.queries)
    _look_up_other_spellings(batch, found)
    return grades, scores, found


def _fill(batch: Batch, grades: Floats, scores: Floats, found: Floats) -> None:
    """Unpack and look up a few queries at a time."""
    touch = len(grades) * MANY_RESULTS > len(scores)
    together = 1 + (TOUCHED if touch else TOGETHER) * len(batch.queries) // (len(scores) + 1)
    room_of_grades, room_of_scores, room_of_found = map(_room, (grades, scores, found))
    judged = ranked = 0
    for start in range(0, len(batch.queries), together):
        tables, rankings = batch.tables[start : start + together], batch.rankings[start : start + together]
        if touch:  # many look-ups in scattered memory: a copy goes through ids and scores in order, and so fetches them
            deque(map(dict, rankings), maxlen=0)
        ranked = _pack(rankings, room_of_scores, ranked)
        for table, ranking in zip(tables, rankings, strict=True):
            put = _packer(len(table))
            put(room_of_grades, judged, *table.values())
            put(room_of_found, judged, *map(ranking.get, table, NOT_FOUND))
            judged += 8 * len(table)


def listed(record: Record, tables: Tables, queries: list[str]) -> list[float]:
    """All numbers of these tables as Python's own, in less time where they are few."""
    if not _are_real(tables):
        return cast("list[float]", numbers_of(record, tables, queries).tolist())
    return [float(number) for table in tables for number in table.values()]


def few_numbers_of(record: Record, tables: Tables, queries: list[str]) -> Floats:
    """All numbers of these tables, in less time where they are few."""
    if not _are_real(tables):
        return numbers_of(record, tables, queries)
    values = np.empty(sum(map(len, tables)))
    _pack(tables, _room(values), 0)
    return values


def _are_real(tables: Tables) -> bool:
    """Whether all are real and finite, as far as sums tell: of a complex number they are complex, of an infinite one
    infinite. Real ones may add up to too much, or be of a kind of their own, as numpy's, which warn of that."""
    try:
        for table in tables:
            numbers = table.values()
            total: object = sum(numbers, 0.0) if type(next(iter(numbers), 0.0)) in PLAIN else None
            if not isinstance(total, float) or not -EXACT < total < EXACT:
                return False
    except NOT_A_NUMBER:
        return False
    return True


def numbers_of(record: Record, tables: Tables, queries: list[str]) -> Floats:
    """All numbers of these tables in one array; the first that is not a finite number is an error."""
    values = np.empty(sum(map(len, tables)))
    try:
        with complex_refused():
            _pack(tables, _room(values), 0)
        fine = _all_finite(values) and (
            _none_is_large(values) or all(_is_exact(number) for table in tables for number in table.values())
        )
    except NOT_A_NUMBER:
        fine = False
    if not fine:
        raise _bad_number(record, tables, queries)
    return values


def _pack(tables: Tables, room: memoryview, start: int) -> int:
    """Put the numbers of these tables into the room, from the start on; where they end."""
    for table in tables:
        size = len(table)
        _packer(size)(room, start, *table.values())
        start += 8 * size
    return start


def _room(values: Floats) -> memoryview:
    return values.data.cast("B")


@lru_cache(maxsize=4096)
def _packer(size: int) -> Callable[..., None]:
    return struct.Struct(f"{size}d").pack_into


def _all_finite(values: Floats) -> bool:
    if len(values) <= FEW and isfinite(sum(values.tolist())):  # a sum that is not finite may be of numbers that are
        return True
    return not len(values) or (isfinite(values.min()) and isfinite(values.max()))


def _none_is_large(values: Floats) -> bool:
    """Whether all are of a size at which every whole number is a number of its own."""
    return not len(values) or (values.max() < EXACT and values.min() > -EXACT)


def _is_exact(number: Any) -> bool:
    """Whether a whole number has a float of its own; fractions are rounded."""
    return float(number) == number or not hasattr(number, "__index__")


def _bad_number(record: Record, tables: Tables, queries: list[str]) -> FormatError:
    for query, table in zip(queries, tables, strict=True):
        for doc, number in table.items():
            where, shown = f"{record.source}, query {query!r}, document {doc!r}", repr(number)
            if isinstance(number, (str, bytes)) or is_complex(number) or not _is_finite(number):
                shown = shown if len(shown) <= LONGEST else shown[: LONGEST - 1] + "…"
                kind = "number" if is_complex(number) else "finite number"
                return FormatError(f"{where}: {record.number} {shown} is not a {kind}")
            if not _is_exact(number):
                return FormatError(f"{where}: {record.number} {INEXACT.format(shown)}")
    raise AssertionError("unreachable: called only when a number is bad")


def _is_finite(number: Any) -> bool:
    try:
        return bool(np.isfinite(float(number)))
    except (TypeError, ValueError, OverflowError):
        return False


def _look_up_other_spellings(batch: Batch, found: Floats) -> None:
    """A caller's integer ids match their decimal spelling: try the other one where a document was not found."""
    lost = np.isnan(found)
    if not lost.any():
        return
    missed = lost.tobytes()
    if not _may_be_spelled_otherwise(compress(chain.from_iterable(batch.tables), missed)):
        return
    owners = chain.from_iterable(map(repeat, batch.rankings, map(len, batch.tables)))
    docs = chain.from_iterable(batch.tables)
    for row, doc, ranking in compress(zip(count(), docs, owners), missed):
        found[row] = ranking.get(_other_spelling(doc), np.nan)


def _may_be_spelled_otherwise(docs: Iterable[Any]) -> bool:
    """Whether one of these is an integer, or text that spells one."""
    try:
        return any(map(str.isdecimal, docs))
    except TypeError:
        return True


def _other_spelling(doc: Any) -> Any:
    """7 for '7', '7' for 7, and the id itself where there is no other."""
    if type(doc) is not str:
        return id_text(doc)
    return int(doc) if doc.isdecimal() and str(int(doc)) == doc else doc


def text_keys(table: Mapping[Any, float]) -> Mapping[str, float]:
    """The table with ids as text; two ids of one spelling are an error."""
    try:
        "".join(table)  # the quickest way to ask whether all are texts
        return table
    except TypeError:
        pass
    result = {id_text(doc): number for doc, number in table.items()}
    if len(result) < len(table):
        raise DuplicateError("two document ids of one query have the same spelling, such as 7 and '7'")
    return result
