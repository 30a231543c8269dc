"""Lines of blank-separated fields: TREC judgments and runs, MS MARCO runs.

This is the reference reader: it takes any mix of blanks and tabs, comments, carriage returns, a byte-order mark and a
missing last newline, and it finds and explains the line that is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Final, NamedTuple

import numpy as np

from rankgauge.errors import FormatError, counted, warn, way
from rankgauge.protocol import REPEATING
from rankgauge.read.names import WhereThere, number_role
from rankgauge.read.records import Columns, Nested
from rankgauge.read.rows import (
    INFINITY,
    LONGEST,
    Ask,
    Content,
    Row,
    Rows,
    content_of,
    decoded,
    is_number,
    number_of,
    refuse_nul,
    shortened,
)
from rankgauge.read.sources import Source
from rankgauge.read.trec_fields import read_fields

if TYPE_CHECKING:
    from rankgauge.read.cells import Header

__all__ = ["LAYOUTS", "Layout", "fields_of_first_line", "is_regular", "layout_for", "line_rows", "read_headless"]
__all__ += ["read_msmarco", "read_trec"]

LONGEST_RANK: Final = 20
SAMPLE: Final = 256 * 1024  # bytes that are kept of a run, for notes on its ranks
LINE: Final = 64 * 1024  # more than a first line is long


class Layout(NamedTuple):
    """Which field of a line is what."""

    fields: str
    doc: int
    number: int
    what: str
    open_ended: bool = False

    @property
    def width(self) -> int:
        return len(self.fields.split())


LAYOUTS: Final = {
    "judgments": Layout("query iteration doc grade", doc=2, number=3, what="grade"),
    "run": Layout("query Q0 doc rank score tag", doc=2, number=4, what="score", open_ended=True),
    "run by rank": Layout("query Q0 doc rank score tag", doc=2, number=3, what="rank", open_ended=True),
    "msmarco": Layout("query doc rank", doc=1, number=2, what="rank"),
}

TRIPLES: Final = {
    "judgments": Layout("query doc grade", doc=1, number=2, what="grade"),
    "run": Layout("query doc score", doc=1, number=2, what="score"),
}


def layout_for(format: str, ask: Ask) -> Layout:
    """The layout of a file in this format."""
    if format == "msmarco":
        return LAYOUTS["msmarco"]
    return LAYOUTS["run by rank" if ask.kind == "run" and ask.by == "rank" else ask.kind]


def read_trec(source: Source, ask: Ask, sample: int = SAMPLE) -> Content:
    """Judgments of four fields or a run of six."""
    content = _read(source, ask, layout_for("trec", ask), _blocks)
    if ask.kind == "judgments":
        return content
    head = source.head(sample)
    fields = fields_of_first_line(head[:LINE])
    tag = fields[5].decode(errors="replace") if len(fields) >= LAYOUTS["run"].width else ""
    return content._replace(tag=tag, head=head, whole_head=len(head) < sample)


def read_msmarco(source: Source, ask: Ask) -> Content:
    """A run of three fields, where the rank is the order."""
    if ask.kind == "judgments":
        how = way("format='trec'", "--qrels-format trec", "--from trec")
        raise FormatError(f"{source.name}: msmarco is a format of runs; judgments have 4 fields: {how}")
    from rankgauge.read.cells import headless
    from rankgauge.read.table_rows import ranked_table, read_delimited

    header = headless(source.head(), "rank")
    if header is not None and header.delimiter != " ":
        content = read_delimited(source, ask, header)
    else:
        content = _read(source, ask, LAYOUTS["msmarco"], ranked_table)._replace(has_scores=False)
    _check_ranks(content, source.name)
    return content


def read_headless(source: Source, ask: Ask) -> Content:
    """Fields by position: query, document and grade or score; or those of TREC, between commas."""
    from rankgauge.read.cells import headless
    from rankgauge.read.table_rows import delimited_columns, fast_columns, read_delimited

    header = headless(source.head(), number_role(ask))
    if header is None:
        expected = f"expected query, document, {number_role(ask)} without a header"
        raise FormatError(f"{source.name}: {expected}, got {shortened(source.head(LONGEST))}")
    if header.delimiter != " ":
        return read_delimited(source, ask, header)
    fast = partial(fast_columns, columns=partial(delimited_columns, header=_between(header, source.head())))
    return _read(source, ask, TRIPLES[ask.kind], fast)


def _between(header: Header, head: bytes) -> Header:
    """The header with what separates fields: a tab, or else a blank."""
    return header._replace(delimiter="\t" if b"\t" in head[header.start :].split(b"\n", 1)[0] else " ")


def _best_ranks(rows: Nested | Columns) -> list[float]:
    """The first rank of every query (ranks are stored negated)."""
    if not isinstance(rows, Columns):
        return [-max(docs.values()) for docs in rows.values() if docs]
    best = np.full(len(rows.queries), -np.inf)
    np.maximum.at(best, rows.query, rows.number)
    return (-best).tolist()


def _check_ranks(content: Content, name: str) -> None:
    """Three fields may also be query, document and score: ranks start at 0 or 1, and scores hardly ever do."""
    best = _best_ranks(content.rows)
    odd = sum(rank not in (0, 1) for rank in best)
    if odd == len(best):
        how = way("format='headless'", "--run-format headless", "--from headless")
        words = "the third field does not look like a rank: in no query does it start at 0 or 1"
        raise FormatError(f"{name}: {words}. If it is a score: {how}")
    if odd:
        warn(f"{name}: in {odd:,} of {len(best):,} queries the rank does not start at 0 or 1; are they ranks?")


def _read(source: Source, ask: Ask, layout: Layout, fast: Callable[[Source, Ask], Columns | None]) -> Content:
    """A block of lines at a time, big files through polars; line by line only where that finds anything unusual."""
    if ask.columns and not isinstance(ask.columns, WhereThere):
        raise FormatError(f"{source.name}: has no named columns to map; its fields are {layout.fields}")
    found = _fields(source, ask, layout) if source.is_small else fast(source, ask)
    by = "rank" if layout.what == "rank" else "score"
    return content_of(line_rows(source, layout), ask, found)._replace(by=by)


def _fields(source: Source, ask: Ask, layout: Layout) -> Nested | None:
    if layout.what == "rank" or ask.duplicates in REPEATING:
        return None
    with source.open_lines() as stream:
        return read_fields(stream, layout.width, layout.doc, layout.number)


def _blocks(source: Source, ask: Ask) -> Columns | None:
    from rankgauge.read.trec_blocks import read_blocks

    with source.open_lines() as stream:
        return read_blocks(stream, ask.kind, ask.by)


def line_rows(source: Source, layout: Layout) -> Rows:
    """The rows of a file of lines."""

    def each() -> Iterator[Row]:
        with source.open_lines() as stream:
            yield from parsed(stream, layout, source.name)

    return Rows(source.name, "line", each)


def parsed(stream: BinaryIO, layout: Layout, name: str) -> Iterator[Row]:
    """The rows of a stream. The loop takes what is in order; whatever is not goes to the careful parser."""
    width, doc, at = layout.width, layout.doc, layout.number
    number: Callable[[bytes], float] = float if layout.what != "rank" else negated_rank
    careful = CarefulParser(layout, name)
    last, query = b"", ""
    for line, text in enumerate(stream, 1):
        fields = text.split()
        try:
            if len(fields) != width:
                raise ValueError
            if fields[0] != last:
                last = fields[0]
                query = last.decode()
                if query[0] == "#":
                    raise ValueError
            value = number(fields[at])
            if not -INFINITY < value < INFINITY or b"_" in fields[at]:
                raise ValueError
            yield line, query, fields[doc].decode(), value
        except ValueError:
            last = b""
            row = careful.parse(line, text)
            if row:
                yield row
    careful.conclude()


def negated_rank(field: bytes) -> float:
    """A rank as a score: the first rank is the highest score. ValueError where it is no integer of a sensible size."""
    if len(field) > LONGEST_RANK or b"_" in field:
        raise ValueError
    return float(-int(field))


class CarefulParser:
    """One line at a time, without haste: skips comments, allows what may follow a run's tag, explains the rest."""

    def __init__(self, layout: Layout, name: str) -> None:
        self.layout = layout
        self.name = name
        self.longer = 0
        self.first_longer = 0

    def parse(self, line: int, text: bytes) -> Row | None:
        """The row, None where the line holds none, FormatError where it is wrong."""
        fields = text.split()
        if not fields or fields[0].startswith(b"#"):
            return None
        self._check_text(line, text)
        self._check_width(line, text, len(fields))
        query, doc, number = fields[0], fields[self.layout.doc], fields[self.layout.number]
        return line, query.decode(), doc.decode(), self._number(line, text, number)

    def conclude(self) -> None:
        """One warning for all the lines that went on after the tag."""
        if self.longer:
            lines = counted(self.longer, "line has", "lines have")
            warn(
                f"{self.name}: {lines} more than {self.layout.width} fields, the first is line {self.first_longer}; "
                "what follows the tag is ignored, as trec_eval does"
            )

    def _check_text(self, line: int, text: bytes) -> None:
        decoded(text, f"{self.name}:{line}")
        refuse_nul(text, f"{self.name}:{line}")

    def _check_width(self, line: int, text: bytes, count: int) -> None:
        width = self.layout.width
        if b"\r" in text.rstrip(b"\r\n"):
            what = "holds a carriage return, which may be the end of a line"
            raise FormatError(f"{self.name}:{line}: {what}: {shortened(text)}; make newlines of them (tr '\\r' '\\n')")
        if count > width and self.layout.open_ended:
            self.longer += 1
            self.first_longer = self.first_longer or line
        elif count != width:
            raise FormatError(
                f"{self.name}:{line}: expected {width} fields ({self.layout.fields}), got {count}: "
                f"{shortened(text)}{self._likeness(count)}"
            )

    def _likeness(self, count: int) -> str:
        """What the line looks like instead."""
        if count == 1 and self.layout.what == "score":
            return "; one number a line looks like a model's scores: rankgauge eval --ltr ROWS --predictions FILE"
        for kind in ("judgments", "run", "msmarco"):
            other = LAYOUTS[kind]
            if other.width == count and other.fields != self.layout.fields:
                looks = "judgments" if kind == "judgments" else "a run"
                return f"; a line of {count} fields looks like {looks} ({other.fields})"
        return ""

    def _number(self, line: int, text: bytes, field: bytes) -> float:
        place, what = f"{self.name}:{line}", self.layout.what
        try:
            return negated_rank(field) if what == "rank" else number_of(field)
        except ValueError as error:
            reason = f"{shortened(field)} is not an integer" if what == "rank" else error
            raise FormatError(f"{place}: {what} {reason}: {shortened(text)}") from None


def is_regular(fields: list[bytes]) -> bool:
    """Whether these are the fields of a line in one of the layouts, with a number where it must be."""
    for layout in LAYOUTS.values():
        fits = len(fields) == layout.width or (layout.open_ended and len(fields) > layout.width)
        if fits and is_number(fields[layout.number]):
            return True
    return False


def fields_of_first_line(head: bytes) -> list[bytes]:
    """The fields of the first line that is neither blank nor a comment; none where the head holds no such line."""
    for line in head.splitlines():
        fields = line.split()
        if fields and not fields[0].startswith(b"#"):
            return fields
    return []
