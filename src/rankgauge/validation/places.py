"""Where rows stand in a file: looked up for the few that are shown, so that reading need not keep it for millions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from rankgauge.read.rows import Rows
from rankgauge.read.sources import Source

__all__ = ["Places"]

HEADERS: Final = {"csv": 1, "tsv": 1}  # lines before the first row
FIELDS: Final = ("trec", "msmarco")  # formats whose rows are all lines that are neither blank nor a comment
WINDOW: Final = 1 << 20


@dataclass(frozen=True, eq=False, slots=True)
class Places:
    """How to find the number of a row in its file: the line, or how many rows came before."""

    origin: Rows
    size: int
    file: Source | None = None
    format: str | None = None

    @property
    def unit(self) -> str:
        """What is counted: line, row or entry."""
        return self.origin.unit

    def show(self, number: int) -> str:
        """`run.txt:17`, for people."""
        return self.origin.place(number)

    def numbers(self, rows: Iterable[int]) -> dict[int, int]:
        """Row → its number, found in one pass over the file at most."""
        wanted = set(rows)
        if not wanted or self.unit != "line" or self.file is None:
            return {row: row + 1 for row in wanted}
        headers = HEADERS.get(self.format or "", 0)
        if _lines(self.file) == self.size + headers:  # as many lines as rows: one each
            return {row: row + 1 + headers for row in wanted}
        numbered = _lines_with_fields(self.file) if self.format in FIELDS else (row[0] for row in self.origin.each())
        last = max(wanted)
        found = {}
        for row, line in enumerate(numbered):
            if row in wanted:
                found[row] = line
            if row == last:
                break
        return found


def _lines(file: Source) -> int:
    """How many lines a file has, the last one with or without its newline."""
    count, last = 0, b"\n"
    with file.open_text() as stream:
        while data := stream.read(WINDOW):
            count += data.count(b"\n")
            last = data[-1:]
    return count + (last != b"\n")


def _lines_with_fields(file: Source) -> Iterator[int]:
    """The numbers of the lines that hold a row."""
    with file.open_text() as stream:
        for line, text in enumerate(stream, 1):
            start = text.split(None, 1)[:1]
            if start and not start[0].startswith(b"#"):
                yield line
