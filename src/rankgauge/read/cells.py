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

from rankgauge.errors import FormatError, way
from rankgauge.read.names import is_quepid
from rankgauge.read.rows import decoded, is_number, number_of, shortened
from rankgauge.read.sources import HEAD, Source

__all__ = ["PAIRS", "Header", "Records", "header_of", "headless", "json_format", "json_lines", "parse_json"]
__all__ += ["Spelling", "rank_or_score", "text_number"]

LONGEST_FIELD: Final = 2**31 - 1  # the csv module stops at 131,072 characters by itself
DECIMAL_COMMA: Final = re.compile(r"[-+]?\d*,\d+(?:[eE][-+]?\d+)?")
THOUSANDS: Final = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")
POINTED: Final = re.compile(r"[-+]?[1-9]\d{0,2}(?:\.\d{3})+")
POINTED_AND_COMMA: Final = re.compile(POINTED.pattern + r",\d+")
SIX: Final = ("query_id", "Q0", "doc_id", "rank", "score", "tag")
QUOTED: Final = re.compile(r'"[^"]*"')
SEPARATOR: Final = re.compile(r'"?(?i:sep)=([,;\t])"?\s*[\r\n]')  # what Excel takes the first line for
BEFORE_HEADER: Final = re.compile(rb"(?:%b)?(?:[ \t]*[\r\n]|#[^\r\n]*(?:[\r\n]|\Z))*" % SEPARATOR.pattern.encode())
JSON_START: Final = re.compile(rb"\s*(?:\{|\[(?![A-Za-z_]))")  # [query],[group] is the header of a database


class Header(NamedTuple):
    """The first line that is neither blank nor a comment: its cells, what separates them, and where it begins."""

    names: list[str]
    delimiter: str
    start: int


def header_of(head: bytes) -> Header:
    """The header of a table of text, from its first bytes."""
    start, line = _first_line(head)
    said = BEFORE_HEADER.match(head)
    delimiter = said[1].decode() if said and said[1] else _delimiter(line)
    return Header([name.strip() for name in next(csv.reader([line], delimiter=delimiter), [])], delimiter, start)


def _first_line(head: bytes) -> tuple[int, str]:
    """Where the first line that is neither blank nor a comment begins, and the line."""
    before = BEFORE_HEADER.match(head)
    start = before.end() if before else 0
    return start, next(iter(head[start:].splitlines()), b"").decode(errors="replace")


def _delimiter(header: str) -> str:
    """A tab where there is one; a semicolon where there are these and no commas, as spreadsheets write it; a comma."""
    bare = QUOTED.sub("", header)
    return "\t" if "\t" in bare else ";" if ";" in bare and "," not in bare else ","


class Records:
    """The records of a table of text, each with the line at which it begins; the first is the header.

    A line between records that begins with # is a comment, unless it has the fields of a record and no blank after the
    #: an id may begin with one.
    """

    def __init__(self, source: Source, *, quotes: bool = True, header: Header | None = None) -> None:
        self.source, self.quotes = source, quotes
        self.header: list[str] = [] if header is None else header.names  # of a table that has none, what it would be
        self.delimiter = "" if header is None else header.delimiter  # "": what the first lines say
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
        headed = not self.header
        self.delimiter = self.delimiter or _delimiter(first)
        quote = '"' if self.quotes else None
        reader = csv.reader(chain([first], lines), delimiter=self.delimiter, strict=True, quotechar=quote)
        self.header = [name.strip() for name in next(reader)] if headed else self.header
        width, unrated = len(self.header), is_quepid(self.header)
        if headed:
            yield self.start, self.header
            self.start = 0
        for cells in reader:
            if unrated and len(cells) == 1:  # a query for which nothing is rated
                cells = [*cells, "", ""]
            if len(cells) == width and any(cells):
                yield self.start, cells
            elif any(cell.strip() for cell in cells):
                expected = f"expected {width} fields ({', '.join(self.header)}), got {len(cells)}"
                raise FormatError(f"{self.source.name}:{self.start}: {expected}: {shortened(', '.join(cells))}")
            self.start = 0

    def _lines(self, text: Iterable[str]) -> Iterator[str]:
        for number, line in enumerate(text, 1):
            if number == 1 and (said := SEPARATOR.fullmatch(line)):
                self.delimiter = said[1]
                continue
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
def _opened(source: Source, *, lines: bool = True) -> Iterator[BinaryIO]:
    """The bytes of a file of text. It is decoded ahead of the rows, so a bad line is looked for among the bytes."""
    with source.open_lines() if lines else source.open_text() as stream:
        try:
            yield stream
        except UnicodeDecodeError:
            with source.open_text() as again:
                for line, text in enumerate(again, 1):
                    decoded(text, f"{source.name}:{line}")
            raise


def headless(head: bytes, number: str) -> Header | None:
    """What the header of a table without one would be, by the number of its fields; None where there is one, or none.

    `number` is the role of the last of three fields. Fields between blanks or tabs have the delimiter " ", unless
    there are blanks in them.
    """
    start, line = _first_line(head)
    layouts = {3: ("query_id", "doc_id", number), 4: ("query_id", "iteration", "doc_id", "relevance"), 6: SIX}
    for delimiter in ("\t", ";", ","):
        quote = None if delimiter == "\t" else '"'
        cells = next(csv.reader([line], delimiter=delimiter, quotechar=quote), [])
        names = layouts.get(len(cells), ())
        at = names.index("score" if len(cells) == 6 else names[-1]) if names else 0
        if names and _is_text_number(cells[at], delimiter):
            blank = delimiter == "\t" and len(line.split()) == len(cells)
            return Header(list(names), " " if blank else delimiter, start)
    fields = line.split()
    return Header(list(layouts[3]), " ", start) if len(fields) == 3 and is_number(fields[2]) else None


def _is_text_number(text: str, delimiter: str) -> bool:
    try:
        text_number(text, delimiter)
    except ValueError:
        return False
    return True


def rank_or_score(head: bytes, delimiter: str) -> str | None:
    """What the third of three fields is, as the first rows show it; None where it may be either.

    Ranks are whole, begin at 0 or 1 and rise, in every query; scores are fractions, negative, equal or fall.
    """
    last: dict[str, float] = {}
    rises = falls = counts_down = True
    lines = head.splitlines()
    for line in lines if len(head) < HEAD else lines[:-1]:
        cells = line.decode(errors="replace").split(None if delimiter == " " else delimiter)
        if len(cells) != 3 or cells[0].startswith("#"):
            continue
        try:
            number = text_number(cells[2], delimiter)
        except ValueError:
            continue  # whoever reads the line says what is wrong with it
        before = last.get(cells[0])
        if not number.is_integer() or number < 0 or number == before:
            return "score"
        rises &= number in (0, 1) if before is None else number > before
        falls &= before is None or number < before
        counts_down &= before is None or number == before - 1
        last[cells[0]] = number
    if rises:
        return "rank"
    ends_at_one = counts_down and set(last.values()) <= {0, 1}
    return "score" if falls and not ends_at_one else None


def text_number(text: str, delimiter: str = ",") -> float:
    """A number as people write it: with a decimal comma too, where commas do not separate the cells."""
    try:
        return number_of(text)
    except ValueError:
        bare, point = text.strip(), text.strip().replace(",", ".")
        if bare.endswith("%"):
            raise ValueError(f"{bare!r} has a percent sign; write 0.012 for 1.2 %") from None
        if POINTED_AND_COMMA.fullmatch(bare):
            plain = bare.replace(".", "").replace(",", ".")
            raise ValueError(f"{bare!r} has points between thousands; write {plain}") from None
        if not DECIMAL_COMMA.fullmatch(bare):
            raise
    if delimiter == ",":
        raise ValueError(f"{bare!r} has a decimal comma; write {point}")
    if delimiter == "\t" and THOUSANDS.fullmatch(bare):
        raise ValueError(f"{bare!r} may be {point} or {bare.replace(',', '')}; write one of them")
    return number_of(point)


class Spelling:
    """How the numbers of a table are written: where one has a decimal comma, the point of others may part thousands."""

    def __init__(self, delimiter: str) -> None:
        self.delimiter, self.comma, self.point = delimiter, "", ""

    def number(self, text: str) -> float:
        """A number as people write it, if it is clear beside those before it."""
        number = text_number(text, self.delimiter)
        if self.delimiter == ",":
            return number
        if "," in text:
            self.comma = text.strip()
        elif POINTED.fullmatch(text.strip()):
            self.point = text.strip()
        if self.comma and self.point:
            plain = self.point.replace(".", "")
            raise ValueError(f"{self.point!r} may be {plain} beside {self.comma!r}; write all numbers in one way")
        return number


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
    with _opened(source, lines=False) as stream:
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


def _one_a_line() -> str:
    how = way("read_run(path, format='jsonl')", "--run-format jsonl", "--from jsonl")
    return f"one object a line is another format: {how or '.jsonl'}"


def _parsed(text: bytes, decoder: json.JSONDecoder, name: str, line: int = 0) -> Any:
    """What a line says, or a whole file where there is none."""
    words = text.decode()
    try:
        return decoder.decode(words)
    except json.JSONDecodeError as error:
        more = f"; {_one_a_line()}" if error.msg == "Extra data" else ""
        line, problem = line or error.lineno, f"is not JSON: {error.msg} at column {error.colno}{more}"
    except ValueError:
        problem = "holds an integer of too many digits; write a float"
    except KeyError as error:
        problem = f"the key {error.args[0]!r} is there twice in one object; keep one"
    except RecursionError:
        problem = "is JSON nested too deeply; expected rows, or query → document → number"
    raise FormatError(f"{name}:{line}: {problem}" if line else f"{name}: {problem}")


def json_format(head: bytes, row: str = "jsonl") -> str | None:
    """How text begins: jsonl if more lines follow an object, `row` if one alone has values inside; json, or None."""
    text = head[header_of(head).start :]
    if not JSON_START.match(text):
        return None
    first, _, more = text.partition(b"\n")
    try:
        item = json.loads(first)
    except (ValueError, RecursionError):
        return "json"
    if not isinstance(item, dict):
        return "json"
    if more.strip():
        return "jsonl"
    return row if any(not isinstance(each, (dict, list)) for each in item.values()) else "json"
