"""Text → cells: commas, semicolons or tabs, quotes, comments; JSON and JSON lines. The one way for every table."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import Any, BinaryIO, Final, NamedTuple

from rankgauge.errors import FormatError
from rankgauge.read.rows import decoded, number_of, shortened
from rankgauge.read.sources import Source

__all__ = ["PAIRS", "Header", "Records", "header_of", "json_format", "json_lines", "parse_json", "text_number"]

LONGEST_FIELD: Final = 2**31 - 1  # the csv module stops at 131,072 characters by itself
DECIMAL_COMMA: Final = re.compile(r"[-+]?\d*,\d+(?:[eE][-+]?\d+)?")
THOUSANDS: Final = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")
QUOTED: Final = re.compile(r'"[^"]*"')
BEFORE_HEADER: Final = re.compile(rb"(?:[ \t]*[\r\n]|#[^\r\n]*(?:[\r\n]|\Z))*")
JSON_START: Final = re.compile(rb"\s*(?:\{|\[(?![A-Za-z_]))")  # [query],[group] is the header of a database


class Header(NamedTuple):
    """The first line that is neither blank nor a comment: its cells, what separates them, and where it begins."""

    names: list[str]
    delimiter: str
    start: int


def header_of(head: bytes) -> Header:
    """The header of a table of text, from its first bytes."""
    before = BEFORE_HEADER.match(head)
    start = before.end() if before else 0
    line = next(iter(head[start:].splitlines()), b"").decode(errors="replace")
    delimiter = _delimiter(line)
    return Header([name.strip() for name in next(csv.reader([line], delimiter=delimiter), [])], delimiter, start)


def _delimiter(header: str) -> str:
    """A tab where there is one; a semicolon where there are these and no commas, as spreadsheets write it; a comma."""
    bare = QUOTED.sub("", header)
    return "\t" if "\t" in bare else ";" if ";" in bare and "," not in bare else ","


class Records:
    """The records of a table of text, each with the line at which it begins; the first is the header.

    A line between records that begins with # is a comment, unless it has the fields of a record and no blank after the
    #: an id may begin with one.
    """

    def __init__(self, source: Source, *, quotes: bool = True) -> None:
        self.source, self.quotes = source, quotes
        self.header: list[str] = []
        self.delimiter = ","
        self.start = 0  # of the record that is being read; 0 between records

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        csv.field_size_limit(LONGEST_FIELD)
        with _opened(self.source) as stream, io.TextIOWrapper(stream, encoding="utf-8", newline="") as text:
            try:
                yield from self._records(self._lines(text))
            except csv.Error as error:
                advice = "a quoted field ends in a quote, and a quote in it is doubled"
                raise FormatError(f"{self.source.name}:{self.start}: {error}; {advice}") from None

    def _records(self, lines: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
        first = next(lines, "")
        self.delimiter = _delimiter(first)
        quote = '"' if self.quotes else None
        reader = csv.reader(chain([first], lines), delimiter=self.delimiter, strict=True, quotechar=quote)
        self.header = [name.strip() for name in next(reader)]
        width = len(self.header)
        yield self.start, self.header
        self.start = 0
        for cells in reader:
            if len(cells) == width and any(cells):
                yield self.start, cells
            elif any(cell.strip() for cell in cells):
                expected = f"expected {width} fields ({', '.join(self.header)}), got {len(cells)}"
                raise FormatError(f"{self.source.name}:{self.start}: {expected}: {shortened(', '.join(cells))}")
            self.start = 0

    def _lines(self, text: Iterable[str]) -> Iterator[str]:
        for number, line in enumerate(text, 1):
            if not self.start:
                if line[0] in "# \t\r\n" and (line.isspace() or self._is_comment(line)):
                    continue
                self.start = number
            yield line

    def _is_comment(self, line: str) -> bool:
        if line[0] != "#" or not self.header:
            return line[0] == "#"
        if line[1:2].isspace() and line[1] != self.delimiter:
            return True
        try:
            return len(next(csv.reader([line], delimiter=self.delimiter, strict=True))) != len(self.header)
        except csv.Error:  # a record that goes on in the next line
            return False


@contextmanager
def _opened(source: Source) -> Iterator[BinaryIO]:
    """The bytes of a file of text. It is decoded ahead of the rows, so a bad line is looked for among the bytes."""
    with source.open_text() as stream:
        try:
            yield stream
        except UnicodeDecodeError:
            with source.open_text() as again:
                for line, text in enumerate(again, 1):
                    decoded(text, f"{source.name}:{line}")
            raise


def text_number(text: str, delimiter: str = ",") -> float:
    """A number as people write it: with a decimal comma too, where commas do not separate the cells."""
    try:
        return number_of(text)
    except ValueError:
        bare, point = text.strip(), text.strip().replace(",", ".")
        if bare.endswith("%"):
            raise ValueError(f"{bare!r} has a percent sign; write 0.012 for 1.2 %") from None
        if not DECIMAL_COMMA.fullmatch(bare):
            raise
    if delimiter == ",":
        raise ValueError(f"{bare!r} has a decimal comma; write {point}")
    if delimiter == "\t" and THOUSANDS.fullmatch(bare):
        raise ValueError(f"{bare!r} may be {point} or {bare.replace(',', '')}; write one of them")
    return number_of(point)


# ---- JSON ------------------------------------------------------------------------------------------------------------


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    cells = dict(pairs)
    if len(cells) < len(pairs):
        keys = [key for key, _ in pairs]
        raise KeyError(next(key for key in cells if keys.count(key) > 1))
    return cells


OBJECTS: Final = json.JSONDecoder(object_pairs_hook=_object)
PAIRS: Final = json.JSONDecoder(object_pairs_hook=tuple)  # keys may be there twice


def parse_json(source: Source, decoder: json.JSONDecoder = OBJECTS) -> Any:
    """What a file of JSON says."""
    with _opened(source) as stream:
        return _parsed(stream.read(), decoder, source.name)


def json_lines(source: Source) -> Iterator[tuple[int, dict[str, Any]]]:
    """The line and the object of every line that is neither blank nor a comment."""
    with _opened(source) as stream:
        for line, text in enumerate(stream, 1):
            if text.isspace() or text.startswith(b"#"):
                continue
            item = _parsed(text.rstrip(), OBJECTS, source.name, line)
            if not isinstance(item, dict):
                raise FormatError(f"{source.name}:{line}: expected one JSON object a line, got {shortened(text)}")
            yield line, item


def _parsed(text: bytes, decoder: json.JSONDecoder, name: str, line: int = 0) -> Any:
    """What a line says, or a whole file where there is none."""
    words = text.decode()
    try:
        return decoder.decode(words)
    except json.JSONDecodeError as error:
        more = "; one object a line is format='jsonl'" if error.msg == "Extra data" else ""
        line, problem = line or error.lineno, f"is not JSON: {error.msg} at column {error.colno}{more}"
    except ValueError:
        problem = "holds an integer of too many digits; write a float"
    except KeyError as error:
        problem = f"the key {error.args[0]!r} is there twice in one object; keep one"
    except RecursionError:
        problem = "is JSON nested too deeply; expected rows, or query → document → number"
    raise FormatError(f"{name}:{line}: {problem}" if line else f"{name}: {problem}")


def json_format(head: bytes) -> str | None:
    """How text begins: jsonl if its first line is an object with values rather than documents inside, json, or None."""
    text = head[header_of(head).start :]
    if not JSON_START.match(text):
        return None
    try:
        first = json.loads(text.split(b"\n", 1)[0])
    except (ValueError, RecursionError):
        return "json"
    lines = isinstance(first, dict) and any(not isinstance(value, dict) for value in first.values())
    return "jsonl" if lines else "json"
