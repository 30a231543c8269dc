"""Rows: candidates with grades and scores, query by query, whatever shape they came in; and batches of them.

A batch is a small matrix, one line per query, short lines filled up: small enough that what is computed of it stays in
the processor's cache. Queries of similar size share a batch, so that little is filled up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rankgauge.dtypes import Array, Bools, Ints


__all__ = ["Batch", "Ragged", "Rows"]

CACHED = 1 << 16  # elements of a batch: half a megabyte of 64-bit numbers
SPREAD = 1.2  # the longest line of a batch is at most so many times the shortest (and four more)


@dataclass(frozen=True, eq=False)
class Ragged:
    """Lines of different length, one after the other."""

    flat: Array
    sizes: Ints

    @cached_property
    def starts(self) -> Ints:
        """Where each line begins."""
        return np.cumsum(self.sizes) - self.sizes

    def cells(self, lines: Ints) -> Cells:
        """Where the elements of some lines stand, as a matrix as wide as the longest of them."""
        sizes = self.sizes[lines]
        column = np.arange(int(sizes.max(initial=0)))
        at = self.starts[lines][:, None] + column
        if int(sizes.min(initial=len(column))) == len(column):
            return Cells(at, None)
        outside = column >= sizes[:, None]
        at[outside] = 0
        return Cells(at, outside)


@dataclass(frozen=True, eq=False, slots=True)
class Cells:
    """Where the elements of lines stand, and which of the cells are outside their lines."""

    at: Ints
    outside: Bools | None

    def of(self, flat: Array) -> Array:
        """The elements themselves; −∞ where a line has ended."""
        if self.outside is None:
            return flat.take(self.at)
        found = flat.take(self.at) if len(flat) else np.zeros(self.at.shape)
        found = found if found.dtype.kind == "f" else found.astype(np.float64)
        found[self.outside] = -np.inf
        return found


@dataclass(frozen=True, eq=False, slots=True)
class Batch:
    """Some queries: their numbers, and a line of grades and of scores for each; −∞ where a line is filled up."""

    queries: Ints | slice
    sizes: Ints
    grades: Array
    scores: Array
    ideal: Array | None  # the grades of all judgments, where these were given
    full: bool  # no line is filled up


@dataclass(frozen=True, eq=False)
class Rows:
    """Candidates of all queries, one query after the other. `names` are the queries' ids, where there are any, `order`
    where each row was in what was given, if it was moved."""

    grades: Array
    scores: Array
    sizes: Ints
    names: Array | None = None
    ideal: Ragged | None = None
    order: Ints | None = None

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def lines(self) -> Ragged:
        """The scores, a line a query."""
        return Ragged(self.scores, self.sizes)

    def batches(self, cached: int = CACHED) -> Iterator[Batch]:
        """All queries, a few at a time: of so many elements."""
        uniform = len(self) > 0 and int(self.sizes.min()) == int(self.sizes.max()) > 0
        yield from (self._equal if uniform and self.ideal is None else self._unequal)(cached)

    def _equal(self, cached: int) -> Iterator[Batch]:
        """Views: nothing is copied."""
        width = int(self.sizes[0])
        grades, scores = self.grades.reshape(-1, width), self.scores.reshape(-1, width)
        step = max(1, cached // width)
        for begin in range(0, len(self), step):
            part = slice(begin, begin + step)
            yield Batch(part, self.sizes[part], grades[part], scores[part], None, True)

    def _unequal(self, cached: int) -> Iterator[Batch]:
        order = _by_size(self.sizes)
        sizes = self.sizes[order]
        total = np.cumsum(sizes + 1)
        begin = 0
        while begin < len(order):
            longest = int(SPREAD * sizes[begin]) + 4
            before = int(total[begin - 1]) if begin else 0
            end = min(np.searchsorted(total, before + cached, "right"), np.searchsorted(sizes, longest, "right"))
            lines = order[begin : max(int(end), begin + 1)]
            cells = self.lines.cells(lines)
            ideal = None if self.ideal is None else self.ideal.cells(lines).of(self.ideal.flat)
            matrices = cells.of(self.grades), cells.of(self.scores), ideal
            yield Batch(lines, self.sizes[lines], *matrices, cells.outside is None)
            begin += len(lines)

    def query(self, number: int) -> str:
        """A query, in words: by its id, or else by its number from 0."""
        return f"query {number if self.names is None else self.names.tolist()[number]!r}"

    def place(self, row: int) -> str:
        """Where a row was in what the caller gave, in words."""
        query = int(np.searchsorted(self.lines.starts, row, "right")) - 1
        at = row - int(self.lines.starts[query]) if self.order is None else int(self.order[row])
        return f"{self.query(query)}, {'place' if self.order is None else 'row'} {at}"


def _by_size(sizes: Ints) -> Ints:
    """The queries, shortest first; small numbers are sorted by counting."""
    small = len(sizes) > 0 and int(sizes.max()) < 1 << 16
    return np.argsort(sizes.astype(np.uint16) if small else sizes, kind="stable")
