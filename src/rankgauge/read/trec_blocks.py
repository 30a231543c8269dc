"""The fast reader: big TREC files, block by block, through polars.

It is optimistic. A block is parsed as it stands when its bytes prove that every line has just the right fields, single
blanks between them and nothing else; if not, once more after its whitespace, comments and empty lines were put in
order. On anything else it gives up and returns None: the line reader then reads the file, finds the line, and says what
is wrong. A block's bytes are let go before the next is read, so the file is never in memory as a whole.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

import numpy as np

from rankgauge.read.records import Columns

if TYPE_CHECKING:
    from concurrent.futures import Future

    import polars as pl
    from numpy.typing import NDArray

__all__ = ["Growing", "ahead", "blocks_of", "numbered", "parsed_columns", "query_numbers", "read_blocks"]
__all__ += ["read_blocks_with_ranks"]

Parsed = TypeVar("Parsed")

BLOCK = 4 << 20
AT_ONCE = 2
AHEAD = 6  # blocks that are parsed while others are matched: as many as that takes
WINDOW = 1 << 18  # counted at once: small enough to stay in the processor's cache
BOM = b"\xef\xbb\xbf"
FIELDS = {
    "judgments": ("query", "iteration", "doc", "number"),
    "run": ("query", "iteration", "doc", "rank", "number", "tag"),
}


# What the numbers of a row are called, and the fields that they are read from.
TAKEN = {"score": {"number": "number"}, "rank": {"number": "rank"}, "both": {"number": "number", "rank": "rank"}}


def read_blocks(stream: BinaryIO, kind: str, by: str = "score", block: int = BLOCK) -> Columns | None:
    """The columns of a TREC file, or None when anything in it is out of the ordinary."""
    columns = _gathered(stream, kind, by, Growing(np.int64), block)
    if columns is not None and by == "rank":
        np.negative(columns.number, out=columns.number)
    return columns


def read_blocks_with_ranks(stream: BinaryIO) -> tuple[Columns, NDArray[np.int64]] | None:
    """The columns of a TREC run and the rank of every row, or None when anything is out of the ordinary."""
    ranks = Growing(np.int64)
    columns = _gathered(stream, "run", "both", ranks)
    return None if columns is None else (columns, ranks.array)


def _gathered(stream: BinaryIO, kind: str, by: str, ranks: Growing, block: int = BLOCK) -> Columns | None:
    """The blocks end to end; ranks that are read beside the scores go where the caller says."""
    numbers: dict[str, int] = {}
    query, number = Growing(np.int32), Growing(np.float64)
    docs: pl.Series | None = None
    for frame in ahead(lambda lines: _parse(lines, FIELDS[kind], by), blocks_of(stream, block)):
        if frame is None:
            return None
        query.add(query_numbers(frame["query"], numbers))
        docs = frame["doc"] if docs is None else docs.append(frame["doc"])
        number.add(frame["number"].to_numpy())
        if by == "both":
            ranks.add(frame["rank"].to_numpy())
    return Columns(list(numbers), query.array, docs, number.array) if docs is not None and len(docs) else None


def parsed_columns(lines: bytes, kind: str, by: str) -> Columns | None:
    """The columns of some lines, or None when anything in them is out of the ordinary."""
    frame = _parse(lines, FIELDS[kind], by)
    if frame is None:
        return None
    numbers: dict[str, int] = {}
    query, number = query_numbers(frame["query"], numbers), frame["number"].to_numpy()
    return Columns(list(numbers), query, frame["doc"], -number if by == "rank" else number)


def ahead(parse: Callable[[bytes], Parsed], blocks: Iterator[bytes]) -> Iterator[Parsed]:
    """Parse a few blocks at once, in order: one is read while others are parsed."""
    from concurrent.futures import ThreadPoolExecutor  # not cheap to import, and small files never come here

    with ThreadPoolExecutor(AT_ONCE) as pool:
        waiting: deque[Future[Parsed]] = deque()
        try:
            for block in blocks:
                waiting.append(pool.submit(parse, block))
                if len(waiting) > AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


class Growing:
    """An array that grows at its end. Memory that was set aside and never written to costs nothing."""

    def __init__(self, kind: type[np.generic]) -> None:
        self.room = np.empty(1 << 24, kind)
        self.size = 0

    def add(self, values: NDArray[Any]) -> None:
        """Put values behind those that are there."""
        end = self.size + len(values)
        if end > len(self.room):
            larger = np.empty(max(end, 8 * len(self.room)), self.room.dtype)
            larger[: self.size] = self.array
            self.room = larger
        self.room[self.size : end] = values
        self.size = end

    @property
    def array(self) -> NDArray[Any]:
        """The values so far."""
        return self.room[: self.size]


def blocks_of(stream: BinaryIO, block: int = BLOCK) -> Iterator[bytes]:
    """Blocks of whole lines, the last with a final newline, the first without its byte-order mark."""
    rest, mark = b"", BOM
    while data := stream.read(block):
        data, mark = data.removeprefix(mark), b""
        cut = data.rfind(b"\n") + 1
        if cut:
            yield b"".join((rest, memoryview(data)[:cut]))
            rest = data[cut:]
        else:
            rest += data
    if rest:
        yield rest + b"\n"


def _parse(block: bytes, names: tuple[str, ...], by: str) -> pl.DataFrame | None:
    """The block as it stands, or with its blanks put in order, or its lines too; or else None."""
    separator = b"\t" if b"\t" in block[: block.find(b"\n")] else b" "
    frame = _read(block, names, by, separator)
    if frame is None:
        block = _single_blanks(block)
        frame = _read(block, names, by, b" ")
    if frame is None:
        block = re.sub(rb"(?m)^ ?(#.*)?\n|^ ", b"", block)  # comments, empty lines, blanks before the first field
        frame = _read(block, names, by, b" ") if block else _no_rows(by)
    if frame is None or not frame["number"].is_finite().all():
        return None
    return frame


def _read(block: bytes, names: tuple[str, ...], by: str, separator: bytes) -> pl.DataFrame | None:
    import polars as pl

    lines = _regular_lines(block, separator, len(names)) if block else 0
    if not lines or block.startswith(BOM):  # polars takes a mark away, wherever the block began
        return None
    taken, kinds = TAKEN[by], {"number": pl.Float64, "rank": pl.Int64}
    schema: dict[str, Any] = {name: kinds[name] if name in taken.values() else pl.String for name in names}
    columns = [pl.col(field).cast(kinds[name]).alias(name) for name, field in taken.items()]
    scan = pl.scan_csv(block, has_header=False, separator=separator.decode(), quote_char=None, schema=schema)
    try:
        frame = scan.select("query", "doc", *columns, last=names[-1]).collect()
    except pl.exceptions.PolarsError:
        return None
    comments = frame["query"].str.starts_with("#").any() if b"#" in block else False
    # A line with a field too many beside one with a field too few passes every count, but the latter has no last field.
    whole = frame.height == lines and not any(column.null_count() for column in frame)
    return frame if whole and not comments else None


def _no_rows(by: str) -> pl.DataFrame:
    """What a block of comments holds."""
    import polars as pl

    kinds = {"number": pl.Float64, "rank": pl.Int64}
    return pl.DataFrame(schema={"query": pl.String, "doc": pl.String} | {name: kinds[name] for name in TAKEN[by]})


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


def _single_blanks(block: bytes) -> bytes:
    """The block with one blank where there were several, a tab or a carriage return, and none at the end of a line."""
    data = np.frombuffer(block, np.uint8)
    result, size = np.empty(len(data), np.uint8), 0
    for start in range(0, len(data), WINDOW):
        window = data[start : start + WINDOW + 1]
        if ((window < 9) | ((window > 13) & (window < 32))).any():
            return block  # not a blank and not to be taken for one
        blank = window <= 32
        keep = ~blank[1:]  # of several blanks the last stays, and none before the end of a line
        keep |= (~blank | (window == 10))[:-1]
        kept = np.compress(keep, window[:-1])
        np.putmask(kept, (kept < 14) & (kept > 8) & (kept != 10), 32)
        result[size : size + len(kept)] = kept
        size += len(kept)
    return result[:size].tobytes() + b"\n"


def query_numbers(queries: pl.Series, numbers: dict[str, int]) -> NDArray[np.int32]:
    """Each row's query as a number; new queries are numbered as they come."""
    import polars as pl

    runs = queries.rle().struct.unnest()
    if len(runs) * 4 <= len(queries):
        values = [numbers.setdefault(query, len(numbers)) for query in runs["value"]]
        return np.repeat(np.array(values, np.int32), runs["len"].to_numpy())
    distinct = queries.unique(maintain_order=True)
    known = pl.DataFrame({"query": distinct, "number": numbered(distinct.to_list(), numbers)})
    return queries.to_frame("query").join(known, on="query", how="left", maintain_order="left")["number"].to_numpy()


def numbered(names: Sequence[str], numbers: dict[str, int]) -> NDArray[np.int32]:
    """The numbers of these names, each of which is there once; new ones are numbered as they come."""
    found = [*map(numbers.get, names)]
    if None in found:
        new = names if not numbers else [name for name in names if name not in numbers]
        numbers.update(zip(new, range(len(numbers), len(numbers) + len(new)), strict=True))
        found = [*map(numbers.__getitem__, names)]
    return np.array(found, np.int32)
