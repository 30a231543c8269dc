"""Large runs block by block, each of whole queries: of a run that does not fit into memory, a block does.

The rows of a query nearly always lie together, and the file is then gone through once. Where a query comes back later,
all rows are first brought together by query in temporary files (see `spill`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import closing
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from rankgauge.errors import DuplicateError, warn
from rankgauge.read.records import Columns, Nested, Run
from rankgauge.read.rows import Content, content_of, explainer, no_rows, once_as_asked
from rankgauge.read.sizes import FIRST, BlockSize
from rankgauge.read.trec_blocks import numbered

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgauge.read.pieces import Pieces
    from rankgauge.read.spill import Parts

__all__ = ["Repeated", "Streamed", "content_of_pieces"]

T = TypeVar("T")
MOST_PARTS: Final = 512  # of scattered rows on disk
WAITING: Final = 4  # rows for each that a block has, which are parted at a time: they take less room than while matched


class Repeated(DuplicateError):
    """A document is there twice; where, a second look at the file says."""

    def __init__(self, query: str, doc: str) -> None:
        super().__init__(f"document {doc!r} is there twice for query {query!r}")
        self.pair = query, doc


class _AnotherWay(Exception):
    """The file is not what it seemed to be, and is to be read once more in another way."""


class Streamed:
    """A run that is never in memory as a whole: blocks of whole queries, and what is known after the last of them.

    `early` is the start of the run, or all of it where it has few rows.
    """

    kind = Run.kind

    def __init__(self, pieces: Pieces, size: BlockSize) -> None:
        self.pieces, self.size = pieces, size._replace(rows=size.wanted)
        self.source, self.by, self.has_scores = pieces.rows.name, pieces.ask.by, pieces.ask.scored
        self.head, self.whole_head = pieces.head, pieces.whole_head
        self.stored: Mapping[str, Any] = {}
        self.remarks: Sequence[tuple[str, str]] = ()
        self.models: Mapping[str, Collection[str]] = {}
        self.is_nested = self.is_scattered = self.is_unusual = False
        self.queries: list[str] = []
        self.numbers: dict[str, int] = {}  # of the queries
        self.rows = 0
        self.said: list[str] = []  # warnings that are due when all has been read
        self.known: frozenset[str] = frozenset()  # and those that were found
        self.early = self._run({})

    def __len__(self) -> int:
        return self.rows

    @property
    def answered(self) -> Set[str]:
        """The queries that have results: a view, for there may be millions."""
        return self.numbers.keys()

    def through(self, work: Callable[[Iterator[Run]], T]) -> T:
        """What the work makes of all blocks; it begins anew where the file has to be read in another way."""
        while True:
            try:
                with closing(self._blocks()) as blocks:  # whatever becomes of the work, temporary files are removed
                    return work(blocks)
            except _AnotherWay:
                continue

    def ranking(self, query: str) -> Run:
        """The rows of one query."""
        return self.through(lambda blocks: next(block.only({query}) for block in blocks if query in block.answered))

    def only(self, wanted: Set[str]) -> Run:
        """The rows of these queries, which are all that is held."""
        found = self.through(
            lambda blocks: [block.only(wanted).columns for block in blocks if not wanted.isdisjoint(block.queries)]
        )
        queries = _Queries()
        rows = [replace(each, queries=queries.names, query=queries.numbers(each.queries)[each.query]) for each in found]
        return self.of_rows(_end_to_end(rows) if rows else {})

    def of_rows(self, rows: Columns | Nested) -> Run:
        """Some of its rows as a run, which says where in the file a document is there twice."""
        return self._run(rows, lambda query, doc: self.explain([(query, doc)]))

    def explain(self, pairs: Iterable[tuple[str, str]]) -> DuplicateError:
        """The error for the pair that the file has first, of those that it has twice."""
        wanted = [*pairs]
        rows = self.pieces.rows
        if len(wanted) > 1:
            known = {*wanted}
            wanted = [next((query, doc) for _, query, doc, _ in rows.each() if (query, doc) in known)]
        return explainer(rows, self.pieces.ask)(*wanted[0]) or Repeated(*wanted[0])

    def _run(self, columns: Columns | Nested, explain: Callable[[str, str], DuplicateError] = Repeated) -> Run:
        run = Run(columns, by=self.by, source=self.source, explain=explain)
        run.has_scores, run.head, run.whole_head = self.has_scores, self.head, self.whole_head
        return run

    def _blocks(self) -> Generator[Run]:
        from rankgauge.read.spill import remove_leftovers  # whose modules are slow to import

        remove_leftovers()
        rows, queries = 0, _Queries()
        for columns in self._brought_together(queries) if self.is_scattered else self._in_turn(queries):
            settled = once_as_asked(columns, self.pieces.ask)
            rows += len(settled)
            yield self._run(settled)
        if not queries.names:
            raise no_rows(self.source, self.pieces.ask)
        self.rows, self.queries, self.numbers = rows, queries.names, queries.known
        while self.said:
            warn(self.said.pop(0))

    def _pieces(self, queries: _Queries) -> Iterator[Columns]:
        """The pieces of the file, the queries of all of them numbered as they come; the first rows are held."""
        early: list[Columns] = []
        held = 0
        for piece in self._unusual() if self.is_unusual else self.pieces.quick():
            if piece is None:
                self.is_unusual = True
                raise _AnotherWay
            if not len(piece):
                continue
            numbered = replace(piece, queries=queries.names, query=queries.numbers(piece.queries)[piece.query])
            if held <= self.size.held:
                early.append(numbered)
                held += len(piece)
                self.early = self._start(early, queries) if held > self.size.held else self.early
                early = early if held <= self.size.held else []
            yield numbered
        if early:
            self.early = self._start(early, queries)

    def _unusual(self) -> Iterator[Columns]:
        """The pieces from rows one by one; what is said of these is said once, however often they are gone through."""
        each = self.pieces.one_by_one()
        while True:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                piece = next(each, None)
            new = [text for text in map(str, (each.message for each in said)) if text not in self.known]
            self.said, self.known = [*self.said, *new], self.known | {*new}
            if piece is None:
                return
            yield piece

    def _start(self, pieces: list[Columns], queries: _Queries) -> Run:
        """The first rows as a run: all of these pieces, or the first few where they are not all there is."""
        rows = once_as_asked(replace(_end_to_end(pieces), queries=[*queries.names]), self.pieces.ask)
        some = sum(map(len, pieces)) > self.size.held
        return self._run(rows.take(np.arange(min(len(rows), FIRST))) if some else rows)

    def _in_turn(self, queries: _Queries) -> Iterator[Columns]:
        """Blocks as they lie in the file, as long as no query comes back."""
        waiting: list[Columns] = []
        last = rows = 0
        for piece in self._pieces(queries):
            query = piece.query
            if query[0] < last or (query[1:] < query[:-1]).any():
                self.is_scattered = True
                raise _AnotherWay
            changes, start = np.flatnonzero(np.diff(query, prepend=last)), 0
            last = int(query[-1])
            while (at := int(np.searchsorted(changes, start + self.size.rows - rows))) < len(changes):
                end = int(changes[at])
                waiting.append(_cut(piece, start, end))
                yield _numbered_anew(_end_to_end(waiting))
                waiting, rows, start = [], 0, end
            waiting.append(_cut(piece, start, len(query)))
            rows += len(query) - start
        if waiting:
            yield _numbered_anew(_end_to_end(waiting))

    def _brought_together(self, queries: _Queries) -> Iterator[Columns]:
        """Blocks of queries whose rows are scattered over the file."""
        from rankgauge.read.spill import parts

        number = min(max(-(-self.pieces.number() // self.size.rows), 1), MOST_PARTS)
        with parts(number) as kept:
            waiting: list[Columns] = []
            for piece in self._pieces(queries):
                waiting.append(piece)
                if sum(map(len, waiting)) >= WAITING * self.size.rows:
                    _keep(kept, waiting)
                    waiting = []
            if waiting:
                _keep(kept, waiting)
                waiting = []
            for part, frame in kept:
                query = frame["query"].to_numpy() // np.int32(number)  # the part's queries are every so-manieth of all
                yield Columns(queries.names[part::number], query, frame["doc"], frame["number"].to_numpy())


def content_of_pieces(pieces: Pieces) -> Content:
    """All pieces as one, for whoever needs the whole."""
    queries, found = _Queries(), []
    for piece in pieces.quick():
        if piece is None:
            return content_of(pieces.rows, pieces.ask)
        found.append(replace(piece, queries=queries.names, query=queries.numbers(piece.queries)[piece.query]))
    if not queries.names:
        raise no_rows(pieces.rows.name, pieces.ask)
    return content_of(pieces.rows, pieces.ask, _end_to_end(found))._replace(head=pieces.head)


class _Queries:
    """The queries of a run in the order of their first rows."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.known: dict[str, int] = {}

    def numbers(self, names: Sequence[str]) -> NDArray[np.int32]:
        """The numbers of these, new ones numbered as they come."""
        before, found = len(self.known), numbered(names, self.known)
        if len(self.known) > before:
            self.names += islice(self.known, before, None)
        return found


def _cut(columns: Columns, start: int, end: int) -> Columns:
    """Some neighbouring rows, none of them copied."""
    rows = slice(start, end)
    return Columns(columns.queries, columns.query[rows], columns.doc[rows], columns.number[rows])


def _end_to_end(pieces: list[Columns]) -> Columns:
    """Pieces of one file as one, which number their queries alike."""
    import polars as pl

    if len(pieces) == 1:
        return pieces[0]
    docs = pl.concat([piece.doc for piece in pieces], rechunk=False)
    query, number = (np.concatenate(each) for each in zip(*((one.query, one.number) for one in pieces), strict=True))
    return Columns(pieces[0].queries, query, docs, number)


def _numbered_anew(columns: Columns) -> Columns:
    """Rows of neighbouring queries with these queries alone."""
    first, last = int(columns.query[0]), int(columns.query[-1])
    return replace(columns, queries=columns.queries[first : last + 1], query=columns.query - np.int32(first))


def _keep(kept: Parts, pieces: list[Columns]) -> None:
    """Put the rows of some pieces into their parts."""
    import polars as pl

    rows = _end_to_end(pieces)
    frame = pl.DataFrame({"query": rows.query, "doc": rows.doc, "number": rows.number})
    kept.add(frame, (rows.query % kept.number).astype(np.uint16))  # which numpy sorts by radix
