"""Rows: candidates with grades and scores, query by query, whatever shape they came in; and batches of them.

A batch is a small matrix, one line per query, short lines filled up: small enough that what is computed of it stays in
the processor's cache. Queries of similar size share a batch, so that little is filled up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgauge.match.hits import Ints

    Array = NDArray[Any]

__all__ = ["Batch", "Ragged", "Rows"]

CACHED = 1 << 15  # elements of a batch: a quarter of a megabyte of 64-bit numbers
SPREAD = 1.2  # the longest line of a batch is at most so many times the shortest (and four more)


@dataclass(frozen=True, eq=False, slots=True)
class Ragged:
    """Lines of different length, one after the other."""

    flat: Array
    sizes: Ints

    def matrix(self, lines: Ints, starts: Ints, filling: float) -> Array:
        """Some of the lines as a matrix, filled up to the longest of them."""
        sizes = self.sizes[lines]
        width = int(sizes.max(initial=0))
        column = np.arange(width)
        at = starts[lines][:, None] + column
        if int(sizes.min(initial=width)) == width:
            return np.asarray(self.flat[at])
        outside = column >= sizes[:, None]
        at[outside] = 0
        found = self.flat[at] if len(self.flat) else np.zeros(at.shape)
        found = found.astype(np.float64) if found.dtype.kind != "f" else found
        found[outside] = filling
        return found


@dataclass(frozen=True, eq=False, slots=True)
class Batch:
    """Some queries: their numbers, and a line of grades and of scores for each; −∞ where a line is filled up."""

    queries: Ints | slice
    sizes: Ints
    grades: Array
    scores: Array
    ideal: Array | None  # the grades of all judgments, where these were given


@dataclass(frozen=True, eq=False)
class Rows:
    """Candidates of all queries, one query after the other. `names` are the queries' ids, where there are any."""

    grades: Ragged
    scores: Ragged
    names: Array | None = None
    ideal: Ragged | None = None
    order: Ints | None = field(default=None, repr=False)  # where each row was in what was given, if moved

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def sizes(self) -> Ints:
        """How many candidates each query has."""
        return self.scores.sizes

    @cached_property
    def starts(self) -> Ints:
        """Where the candidates of each query begin."""
        return _starts(self.sizes)

    def batches(self) -> Iterator[Batch]:
        """All queries, a few at a time."""
        uniform = len(self) > 0 and int(self.sizes.min()) == int(self.sizes.max()) > 0
        yield from self._equal() if uniform and self.ideal is None else self._unequal()

    def _equal(self) -> Iterator[Batch]:
        """Views: nothing is copied."""
        width = int(self.sizes[0])
        grades, scores = self.grades.flat.reshape(-1, width), self.scores.flat.reshape(-1, width)
        step = max(1, CACHED // width)
        for begin in range(0, len(self), step):
            part = slice(begin, begin + step)
            yield Batch(part, self.sizes[part], grades[part], scores[part], None)

    def _unequal(self) -> Iterator[Batch]:
        order = _by_size(self.sizes)
        sizes = self.sizes[order]
        total = np.cumsum(sizes + 1)
        ideal_starts = None if self.ideal is None else _starts(self.ideal.sizes)
        begin = 0
        while begin < len(order):
            longest = SPREAD * sizes[begin] + 4
            before = int(total[begin - 1]) if begin else 0
            end = min(np.searchsorted(total, before + CACHED, "right"), np.searchsorted(sizes, longest, "right"))
            lines = order[begin : max(int(end), begin + 1)]
            ideal = None
            if self.ideal is not None and ideal_starts is not None:
                ideal = self.ideal.matrix(lines, ideal_starts, -np.inf)
            grades, scores = (each.matrix(lines, self.starts, -np.inf) for each in (self.grades, self.scores))
            yield Batch(lines, self.sizes[lines], grades, scores, ideal)
            begin += len(lines)

    def query(self, number: int) -> str:
        """A query, in words: by its id, or else by its number from 0."""
        return f"query {number if self.names is None else self.names.tolist()[number]!r}"

    def place(self, row: int) -> str:
        """Where a row was in what the caller gave, in words."""
        query = int(np.searchsorted(self.starts, row, "right")) - 1
        at = f"row {int(self.order[row])}" if self.order is not None else f"place {row - int(self.starts[query])}"
        return f"{self.query(query)}, {at}"


def _starts(sizes: Ints) -> Ints:
    return np.cumsum(sizes) - sizes


def _by_size(sizes: Ints) -> Ints:
    """The queries, shortest first; small numbers are sorted by counting."""
    small = len(sizes) > 0 and int(sizes.max()) < 1 << 16
    return np.argsort(sizes.astype(np.uint16) if small else sizes, kind="stable")
