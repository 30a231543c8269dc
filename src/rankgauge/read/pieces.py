"""Large files piece by piece: a few megabytes of rows at a time, in the order of the file.

The readers of whole files are used on every piece. They are optimistic, and on anything unusual there is None in place
of a piece: then all rows are gone through one by one, which says what is wrong, and where.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

import numpy as np

from rankgauge.read.cells import header_of, json_lines
from rankgauge.read.names import ask_of
from rankgauge.read.rankings import rankings_in_item
from rankgauge.read.records import Columns
from rankgauge.read.rows import Ask, Rows
from rankgauge.read.sources import Source
from rankgauge.read.table_rows import delimited_columns, delimited_rows, json_columns, json_rows, quick_columns
from rankgauge.read.trec import SAMPLE, layout_for, line_rows
from rankgauge.read.trec_blocks import ahead, blocks_of, parsed_columns

__all__ = ["PIECES", "Pieces"]

ROW: Final = 128  # bytes that a row may take, where rows are read one by one


class Pieces(NamedTuple):
    """The rows of a file, twice: `quick` pieces of so many bytes, with None for an unusual one, and one by one."""

    rows: Rows
    ask: Ask
    size: int
    quick: Callable[[], Iterator[Columns | None]]
    head: bytes = b""
    whole_head: bool = False

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
            yield from ahead(lambda lines: parsed_columns(lines, "run", ask.by), blocks_of(stream, size))

    head = source.head(SAMPLE)
    return Pieces(line_rows(source, layout_for("trec", ask)), ask, size, quick, head, len(head) < SAMPLE)


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

    return Pieces(delimited_rows(source, asked), asked, size, quick)


def json_pieces(source: Source, ask: Ask, size: int) -> Pieces | None:
    """Those of rows as JSON lines; None where a line is a ranking."""
    first = next(iter(json_lines(source)), None)
    if first is None or rankings_in_item(first[1], f"{source.name}:{first[0]}") is not None:
        return None
    asked = ask_of(list(first[1]), ask)

    def quick() -> Iterator[Columns | None]:
        with source.open_lines() as stream:
            parse = partial(quick_columns, source, asked, json_columns)
            yield from map(parse, blocks_of(stream, size))

    return Pieces(json_rows(source, asked), asked, size, quick)


# Format → its pieces; a run in any other format is read as a whole.
PIECES: Final[dict[str, Callable[[Source, Ask, int], Pieces | None]]] = {
    "trec": trec_pieces,
    "csv": delimited_pieces,
    "tsv": delimited_pieces,
    "jsonl": json_pieces,
}
