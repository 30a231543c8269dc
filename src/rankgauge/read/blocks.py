"""The fast reader: big TREC files, block by block, through polars.

It is optimistic. A block is parsed as it stands when its bytes prove that every line has just the right fields, single
blanks between them and nothing else; if not, once more after its whitespace, comments and empty lines were put in
order. On anything else it gives up and returns None: the line reader then reads the file, finds the line, and says what
is wrong. A block's bytes are let go before the next is read, so the file is never in memory as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from rankgauge.read.records import Columns

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    Table = tuple[NDArray[np.int32], pl.Series, NDArray[np.float64]]

__all__ = ["read_blocks"]

BLOCK = 8 << 20
WINDOW = 1 << 18  # counted at once: small enough to stay in the processor's cache
BLANKS = bytes.maketrans(b"\t\r\x0b\x0c", b"    ")
BOM = b"\xef\xbb\xbf"
FIELDS = {
    "judgments": ("query", "iteration", "doc", "number"),
    "run": ("query", "iteration", "doc", "rank", "number", "tag"),
}


def read_blocks(stream: BinaryIO, kind: str, by: str = "score") -> Columns | None:
    """The columns of a TREC file, or None when anything in it is out of the ordinary."""
    names = FIELDS[kind]
    numbers: dict[str, int] = {}
    tables: list[Table] = []
    for block in _blocks(stream):
        table = _parse(block, names, by, numbers)
        if table is None:
            return None
        tables.append(table)
    return _join(list(numbers), tables) if tables else None


def _blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Blocks of whole lines, the last with a final newline, the first without its byte-order mark."""
    rest = b""
    while data := stream.read(BLOCK):
        cut = data.rfind(b"\n") + 1
        if cut:
            yield b"".join((rest, memoryview(data)[:cut])).removeprefix(BOM)
            rest = data[cut:]
        else:
            rest += data
    if rest:
        yield rest.removeprefix(BOM) + b"\n"


def _parse(block: bytes, names: tuple[str, ...], by: str, numbers: dict[str, int]) -> Table | None:
    """The block as it stands, or else put in order, or else None."""
    separator = b"\t" if b"\t" in block[: block.find(b"\n")] else b" "
    frame = _read(block, names, by, separator)
    if frame is None:
        frame = _read(_in_order(block), names, by, b" ")
    if frame is None:
        return None
    values = frame["number"].to_numpy()
    if not (np.isfinite(values.min()) and np.isfinite(values.max())):
        return None
    return _query_numbers(frame["query"], numbers), frame["doc"], -values.astype(np.float64) if by == "rank" else values


def _read(block: bytes, names: tuple[str, ...], by: str, separator: bytes) -> pl.DataFrame | None:
    import polars as pl

    lines = _regular_lines(block, separator, len(names))
    if not lines:
        return None
    wanted, kind = ("rank", pl.Int64) if by == "rank" else ("number", pl.Float64)
    schema: dict[str, Any] = {name: kind if name == wanted else pl.String for name in names}
    number = pl.col(wanted).alias("number")
    scan = pl.scan_csv(block, has_header=False, separator=separator.decode(), quote_char=None, schema=schema)
    try:
        frame = scan.select("query", "doc", number).collect()
    except pl.exceptions.PolarsError:
        return None
    comments = frame["query"].str.starts_with("#").any() if b"#" in block else False
    whole = frame.height == lines and not any(column.null_count() for column in frame)
    return frame if whole and not comments else None


def _regular_lines(block: bytes, separator: bytes, fields: int) -> int:
    """How many lines the block has, if each has this many fields and one separator between any two of them; else 0.

    Two blanks (or ends of line) in a row, a blank at the end of a line, a field more or less: all show in three counts.
    """
    data = np.frombuffer(block, np.uint8)
    blanks = separators = 0
    for start in range(0, len(data), WINDOW):
        window = data[start : start + WINDOW + 1]
        blank = window <= 32
        if (blank[1:] & blank[:-1]).any():
            return 0
        blanks += int(np.count_nonzero(blank[:WINDOW]))
        separators += int(np.count_nonzero(window[:WINDOW] == separator[0]))
    lines, rest = divmod(blanks, fields)
    return lines if not rest and separators == lines * (fields - 1) and data[0] > 32 else 0


def _in_order(block: bytes) -> bytes:
    """The block with single blanks between fields, and without comments and empty lines."""
    data = np.frombuffer(block.translate(BLANKS), np.uint8)
    blank, end = data == 32, data == 10
    drop = blank.copy()
    drop[:-1] &= blank[1:] | end[1:]  # of several blanks the last stays, and none before the end of a line
    data = data[~drop]
    begins = np.r_[True, data[:-1] == 10]
    data = data[~(begins & (data == 32))]
    begins = np.r_[True, data[:-1] == 10]
    text = data[~(begins & (data == 10))].tobytes()
    return re.sub(rb"(?m)^#.*\n", b"", text) if b"#" in text else text


def _query_numbers(queries: pl.Series, numbers: dict[str, int]) -> NDArray[np.int32]:
    """Each row's query as a number; new queries are numbered as they come."""
    import polars as pl

    runs = queries.rle().struct.unnest()
    if len(runs) * 4 <= len(queries):
        values = [numbers.setdefault(query, len(numbers)) for query in runs["value"]]
        return np.repeat(np.array(values, np.int32), runs["len"].to_numpy())
    distinct = queries.unique(maintain_order=True)
    values = [numbers.setdefault(query, len(numbers)) for query in distinct]
    return queries.replace_strict(distinct, values, return_dtype=pl.Int32).to_numpy()


def _join(queries: list[str], tables: list[Table]) -> Columns:
    doc = tables[0][1]
    for table in tables[1:]:
        doc = doc.append(table[1])
    return Columns(
        queries, np.concatenate([table[0] for table in tables]), doc, np.concatenate([table[2] for table in tables])
    )
