"""Large files piece by piece: a few megabytes of rows at a time, in the order of the file.

The readers of whole files are used on every piece. They are optimistic, and on anything unusual there is None in place
of a piece: then all rows are gone through one by one, which says what is wrong, and where.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from rankgauge.errors import FormatError, choices
from rankgauge.read.cells import header_of, json_lines
from rankgauge.read.formats import recognise
from rankgauge.read.frames import batches, column_names, frame_columns, frame_names, row_count, scanned, slices
from rankgauge.read.names import ask_of, find_columns, normal, number_role
from rankgauge.read.rankings import rankings_in_item
from rankgauge.read.records import Columns
from rankgauge.read.rows import Ask, Row, Rows
from rankgauge.read.sources import Source
from rankgauge.read.table_rows import delimited_columns, delimited_rows, json_columns, json_rows, quick_columns
from rankgauge.read.trec import SAMPLE, layout_for, line_rows
from rankgauge.read.trec_blocks import ahead, blocks_of, parsed_columns

if TYPE_CHECKING:
    import polars as pl

__all__ = ["PIECES", "Pieces", "lazy_pieces", "part_pieces"]

ROW: Final = 128  # bytes that a row may take, where rows are read one by one
CELLS: Final = 16  # bytes that a row takes in a file of columns: a slice is to have hundreds of thousands of rows
TEXT: Final = 32  # bytes that a row takes in a file of text, roughly and rather too few


class Pieces(NamedTuple):
    """The rows of a file, twice: `quick` pieces of so many bytes, with None for an unusual one, and one by one.

    `number` says how many rows there are, roughly and rather too many. `names` are those of the columns, if they have
    names.
    """

    rows: Rows
    ask: Ask
    size: int
    quick: Callable[[], Iterator[Columns | None]]
    number: Callable[[], int]
    head: bytes = b""
    whole_head: bool = False
    names: Sequence[str] = ()

    @property
    def scores(self) -> str:
        """The column of scores or ranks by its name, however that is written."""
        if not self.names:
            return number_role(self.ask)
        return normal(find_columns(self.names, self.ask, self.rows.name)[2])

    def one_by_one(self) -> Iterator[Columns]:
        """The same pieces from the rows, with every check of these."""
        import polars as pl

        each = self.rows.each()
        while taken := list(islice(each, max(1, self.size // ROW))):
            numbers: dict[str, int] = {}
            query = np.array([numbers.setdefault(row[1], len(numbers)) for row in taken], np.int32)
            docs = pl.Series([row[2] for row in taken], dtype=pl.String)
            yield Columns(list(numbers), query, docs, np.array([row[3] for row in taken], np.float64))


def trec_pieces(source: Source, ask: Ask, size: int) -> Pieces:
    """Those of a TREC run."""

    def quick() -> Iterator[Columns | None]:
        with source.open_lines() as stream:
            yield from ahead(lambda lines: parsed_columns(lines, ask.kind, ask.by), blocks_of(stream, size))

    head = source.head(SAMPLE)
    rows = line_rows(source, layout_for("trec", ask))
    return Pieces(rows, ask, size, quick, partial(_lines, source), head, len(head) < SAMPLE)


def _lines(source: Source) -> int:
    return source.text_size // TEXT


def delimited_pieces(source: Source, ask: Ask, size: int) -> Pieces:
    """Those of a table between commas, semicolons or tabs; what comes before its rows is part of every piece."""
    head = source.head()
    header = header_of(head)
    asked = ask_of(header.names, ask)
    before = head[: head.find(b"\n", header.start) + 1]

    def quick() -> Iterator[Columns | None]:
        if not before:  # a header that is longer than what is looked at
            yield None
            return
        with source.open_lines() as stream:
            stream.read(len(before))
            parse = partial(quick_columns, source, asked, delimited_columns)
            yield from (parse(before + lines) for lines in blocks_of(stream, size))

    return Pieces(delimited_rows(source, asked), asked, size, quick, partial(_lines, source), names=header.names)


def json_pieces(source: Source, ask: Ask, size: int) -> Pieces | None:
    """Those of rows as JSON lines; None where a line is a ranking."""
    first = next(iter(json_lines(source)), None)
    if first is None or rankings_in_item(first[1], f"{source.name}:{first[0]}") is not None:
        return None
    names = list(first[1])
    asked = ask_of(names, ask)

    def quick() -> Iterator[Columns | None]:
        with source.open_lines() as stream:
            parse = partial(quick_columns, source, asked, json_columns)
            yield from map(parse, blocks_of(stream, size))

    return Pieces(json_rows(source, asked), asked, size, quick, partial(_lines, source), names=names)


def column_pieces(source: Source, ask: Ask, size: int, *, format: str) -> Pieces | None:
    """Those of a Parquet or Arrow file: slices of the columns that are needed; None where it has to be read whole."""
    scan = scanned(source, format)
    if scan is None:
        return None
    names = column_names(source, format)
    asked = ask_of(names, ask)
    wanted = list(dict.fromkeys(find_columns(names, asked, source.name)))
    parts = partial(slices, source, format, wanted, max(1, size // CELLS))
    return _frame_pieces(source.name, asked, size, parts, partial(row_count, scan))._replace(names=names)


def lazy_pieces(frame: pl.LazyFrame, ask: Ask, size: int) -> Pieces:
    """Those of a lazy frame, which is worked out anew whenever they are gone through."""
    names = frame_names(frame)
    asked = ask_of(names, ask)
    wanted = list(dict.fromkeys(find_columns(names, asked, ask.kind)))
    parts = partial(batches, frame, wanted, max(1, size // CELLS), ask.kind)
    return _frame_pieces(ask.kind, asked, size, parts, partial(row_count, frame))


def _frame_pieces(
    name: str, ask: Ask, size: int, parts: Callable[[], Iterator[pl.DataFrame]], count: Callable[[], int]
) -> Pieces:
    """Frames that continue each other; what is wrong in one is said at once, as its columns are checked as a whole."""

    def quick() -> Iterator[Columns]:
        before = 0
        for part in parts():
            yield frame_columns(part, ask, name, before)
            before += len(part)

    def each() -> Iterator[Row]:
        triples = (triple for piece in quick() for triple in piece.triples())
        return ((row, *triple) for row, triple in enumerate(triples, 1))

    return Pieces(Rows(name, "row", each), ask, size, quick, count)


def part_pieces(source: Source, ask: Ask, size: int, format: str | None) -> Pieces:
    """Those of several files, one file after the other; all of one format."""
    names = [format or recognise(each, ask.kind, ask.columns) for each in source.parts]
    _refuse_others(source, names, "are of several formats")
    found = [PIECES[names[0]](each, ask, size) if names[0] in PIECES else None for each in source.parts]
    pieces = [each for each in found if each is not None]
    if len(pieces) < len(found):
        at = source.parts[found.index(None)].name
        raise FormatError(f"{at}: in several files a run is rows of {choices(PIECES)}; give this one by itself")
    _refuse_others(source, [each.scores for each in pieces], "have different columns")
    rows = _rows_of_parts(source.name, [each.rows for each in pieces])

    def quick() -> Iterator[Columns | None]:
        return (piece for each in pieces for piece in each.quick())

    return Pieces(rows, pieces[0].ask, size, quick, lambda: sum(each.number() for each in pieces), pieces[0].head)


def _refuse_others(source: Source, found: Sequence[str], what: str) -> None:
    """The parts of one run are alike: the first that differs from the first of all is named."""
    other = next((at for at, each in enumerate(found) if each != found[0]), None)
    if other is not None:
        both = " and ".join(f"{source.parts[at].name} ({found[at]})" for at in (0, other))
        raise FormatError(f"{source.name}: the files of one run {what}: {both}; give each run by itself")


def _rows_of_parts(name: str, parts: Sequence[Rows]) -> Rows:
    """The rows of several files, numbered on from one to the next; where one is, is said by its own file and number."""
    starts: list[int] = []  # the number of rows before each part, as far as they have been gone through

    def each() -> Iterator[Row]:
        before = 0
        for at, part in enumerate(parts):
            starts[at:] = [before]
            last = 0
            for last, query, doc, number in part.each():
                yield before + last, query, doc, number
            before += last

    def where(number: int) -> str:
        if not starts:  # whoever has numbers has gone through the rows, or counted them
            next((row for row in each() if row[0] >= number), None)
        at = bisect_left(starts, number) - 1
        return parts[at].place(number - starts[at])

    return Rows(name, parts[0].unit, each, where=where)


# Format → its pieces; a run in any other format is read as a whole.
PIECES: Final[dict[str, Callable[[Source, Ask, int], Pieces | None]]] = {
    "trec": trec_pieces,
    "csv": delimited_pieces,
    "tsv": delimited_pieces,
    "jsonl": json_pieces,
    "parquet": partial(column_pieces, format="parquet"),
    "arrow": partial(column_pieces, format="arrow"),
}
