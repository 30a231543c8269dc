"""Columns with each query's rows together and a key for every row.

A row's key is 64 bits: the upper ones of a hash of its document, in the lower ones its place within the query. The keys
are sorted query by query, which serves twice: equal neighbours are the candidates for duplicates, and a bisection finds
the row of any document. What the hashes agree on is compared as text, so the answers are exact.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rankgauge.matching.order import blocks_of_equal_size, count_before

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from rankgauge.dtypes import Bools, Ints
    from rankgauge.read.records import Columns

    Keys = NDArray[np.uint64]

__all__ = ["Grouped", "group", "in_threads", "looks_repeated"]

Task = TypeVar("Task")
Done = TypeVar("Done")

WINDOW = 1 << 16  # looked at at once: small enough to stay in the processor's cache
AT_ONCE = min(4, os.cpu_count() or 1)  # threads: numpy and polars let go of the interpreter while they compute
SHARE = 1 << 19  # keys sorted by one thread before it takes others


@dataclass(frozen=True, eq=False, slots=True)
class Grouped:
    """Rows brought together by query. A place counts rows in this order; `row` maps it to the columns (None: same)."""

    columns: Columns
    row: Ints | None
    query: NDArray[np.int32]
    starts: Ints
    ends: Ints
    keys: Keys
    shift: int

    def rows(self, places: Ints) -> Ints:
        """The rows of the columns at these places."""
        return places if self.row is None else self.row[places]

    def docs(self, places: Ints) -> pl.Series:
        """The documents at these places."""
        return self.columns.doc.gather(self.rows(places))

    def find(self, docs: pl.Series, starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
        """Look each document up between a start and an end: which ones are there, and their places."""
        shift = np.uint64(self.shift)
        hashes = hash_of(docs) >> shift
        at = starts + count_before(self.keys, starts, ends, hashes << shift, np.less)
        inside = np.flatnonzero(at < ends)
        found = inside[(self.keys[at[inside]] >> shift) == hashes[inside]]
        places = starts[found] + self._place_in_query(at[found])
        wanted = docs.gather(found)
        same: Bools = (self.docs(places) == wanted).to_numpy(writable=True)
        for i in np.flatnonzero(~same).tolist():
            places[i] = self.look_through(str(wanted[i]), int(starts[found[i]]), int(ends[found[i]]))
            same[i] = places[i] >= 0
        return found[same], places[same]

    def repeated(self) -> Ints:
        """The rows whose query and document are there more than once."""
        import polars as pl

        pairs = self._equal_neighbours()
        if not len(pairs):
            return pairs
        rows = np.sort(self.rows(self.places_of_keys(np.union1d(pairs, pairs + 1))))
        taken = self.columns.take(rows)
        texts = pl.DataFrame({"query": taken.query, "doc": taken.doc}).to_struct()
        twice: Bools = texts.is_duplicated().to_numpy()
        return rows[twice]

    def _equal_neighbours(self) -> Ints:
        """Where two keys in a row have the same hash and the same query."""
        found = [np.zeros(0, np.int64)]
        for start in range(0, len(self.keys) - 1, WINDOW):
            window = self.keys[start : start + WINDOW + 1]
            same = np.flatnonzero((window[1:] ^ window[:-1]) < np.uint64(1 << self.shift)) + start
            found.append(same[self.query[same] == self.query[same + 1]])
        return np.concatenate(found)

    def places_of_keys(self, at: Ints | slice) -> Ints:
        """The places of keys."""
        return self.starts[self.query[at]] + self._place_in_query(at)

    def _place_in_query(self, at: Ints | slice) -> Ints:
        return (self.keys[at] & np.uint64((1 << self.shift) - 1)).astype(np.int64)

    def look_through(self, doc: str, start: int, end: int) -> int:
        """The place of a document, read through where another of its query has its hash; −1 where it is not there."""
        there = np.flatnonzero((self.docs(np.arange(start, end)) == doc).to_numpy())
        return start + int(there[0]) if len(there) else -1


def group(columns: Columns) -> Grouped:
    """Bring each query's rows together, in the order given, and give every row its key."""
    query, count = columns.query, len(columns.queries)
    sizes = np.bincount(query, minlength=count)
    row = None if (query[1:] >= query[:-1]).all() else _stable_order(query, count)
    ends = sizes.cumsum()
    starts = ends - sizes
    shift = int(sizes.max(initial=1)).bit_length()
    keys = hash_of(columns.doc)
    keys &= np.uint64(~((1 << shift) - 1) & (2**64 - 1))
    if row is not None:
        query, keys = query[row], keys[row]
    places = np.arange(int(sizes.max(initial=0)), dtype=np.uint64)

    def sort(blocks: list[tuple[int, int, int]]) -> None:
        for start, count, size in blocks:
            block = keys[start : start + count * size].reshape(count, size)
            block |= places[:size]
            block.sort(axis=1)

    in_threads(sort, _shares(sizes))
    return Grouped(columns, row, query, starts, ends, keys, shift)


def _shares(sizes: Ints) -> Iterator[list[tuple[int, int, int]]]:
    """Blocks of equal size, large ones cut and small ones together: a share of the work each."""
    share: list[tuple[int, int, int]] = []
    keys = 0
    for start, count, size in blocks_of_equal_size(sizes):
        step = max(1, SHARE // size)
        for first in range(0, count, step):
            many = min(step, count - first)
            share.append((start + first * size, many, size))
            keys += many * size
            if keys >= SHARE:
                yield share
                share, keys = [], 0
    if share:
        yield share


def looks_repeated(columns: Columns) -> bool:
    """Whether two rows may have the same query and document: a quick look at hashes, without grouping."""
    mixed = hash_of(columns.doc)
    mixed ^= (columns.query.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed.sort()
    return bool((mixed[1:] == mixed[:-1]).any())


def hash_of(docs: pl.Series) -> Keys:
    """A 64-bit hash of each document; stable within a process, which is all that is needed."""
    keys, chunks = np.empty(len(docs), np.uint64), docs.get_chunks()
    ends = np.cumsum([len(chunk) for chunk in chunks]).tolist()

    def fill(number: int) -> None:
        keys[ends[number] - len(chunks[number]) : ends[number]] = chunks[number].hash().to_numpy()

    in_threads(fill, range(len(chunks)))
    return keys


def _stable_order(query: NDArray[np.int32], count: int) -> Ints:
    """A stable argsort by query number: numpy sorts 16-bit numbers by radix, so take them 16 bits at a time."""
    order = np.argsort((query & 0xFFFF).astype(np.uint16), kind="stable")
    if count > 0x10000:
        order = order[np.argsort((query >> 16).astype(np.uint16)[order], kind="stable")]
    return order


def in_threads(work: Callable[[Task], Done], tasks: Iterable[Task]) -> list[Done]:
    """What the work makes of each task, in the order of the tasks; a few are done at a time."""
    waiting = list(tasks)
    if len(waiting) < 2 or AT_ONCE < 2:
        return [work(task) for task in waiting]
    from concurrent.futures import ThreadPoolExecutor  # not cheap to import, and little work never comes here

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(work, waiting))
