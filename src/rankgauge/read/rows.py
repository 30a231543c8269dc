"""Rows → nested dicts: the reference way of reading, whatever the rows come from.

A row is its number (a line of a file, an item of an iterable), a query, a document and a number. Whoever makes rows
has checked each one by itself; here they are checked against each other: nothing may be there twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from rankgauge.errors import DuplicateError, FormatError, InputError, counted, warn, way
from rankgauge.protocol import REPEATING
from rankgauge.read.records import Columns, Nested, is_complex

__all__ = ["Ask", "Content", "Row", "Rows", "content_of", "decoded", "expected_rows", "explainer", "finite", "gather"]
__all__ += ["how_to_mend", "is_number", "negated", "no_rows", "number_of", "number_of_value", "once_as_asked"]
__all__ += ["refuse_nul", "shortened"]

Row: TypeAlias = tuple[int, str, str, float]

INFINITY = float("inf")
INEXACT = "{} has more digits than numbers are compared by (whole numbers up to 2^53); subtract the same from all"
LONGEST = 80


class Ask(NamedTuple):
    """What the caller wants of a source."""

    kind: str
    columns: Mapping[str, str] | None = None
    by: str = "score"
    duplicates: str = "error"
    scored: bool = True  # whether the source has scores, whatever the order is taken from


class Content(NamedTuple):
    """What a reader made of a source."""

    rows: Nested | Columns
    by: str = "score"
    tag: str = ""
    has_scores: bool = True
    explain: Callable[[str, str], InputError | None] | None = None
    origin: Rows | None = None  # the rows once more, one by one and with their places
    head: bytes = b""  # the start of a TREC run, where ranks stand beside scores
    whole_head: bool = False  # whether that is all of it


class Rows(NamedTuple):
    """Rows with a name for messages; `again` says whether they can be gone through a second time.

    Where the rows of several files are one after the other, `where` finds the place of a row among them.
    """

    name: str
    unit: str
    each: Callable[[], Iterator[Row]]
    again: bool = True
    where: Callable[[int], str] | None = None

    def place(self, number: int) -> str:
        """Where a row is, for people: `runs/bm25.txt:1204` or `run, row 1204`."""
        if self.where is not None:
            return self.where(number)
        return f"{self.name}:{number}" if self.unit == "line" else f"{self.name}, {self.unit} {number}"

    def short_place(self, number: int) -> str:
        """The same, where it is known which file is meant."""
        return f"{self.unit} {number}" if self.where is None else self.where(number)


def gather(rows: Rows, ask: Ask, *, may_be_empty: bool = False) -> dict[str, dict[str, float]] | Columns:
    """Rows → query → document → number, in the order given; a pair that is there twice is settled as asked."""
    if ask.duplicates in REPEATING:
        return _as_they_are(rows, ask, may_be_empty)
    nested: dict[str, dict[str, float]] = {}
    docs: dict[str, float] = {}
    last: str | None = None
    repeated = 0
    for row in rows.each():
        _, query, doc, number = row
        if query != last:
            docs = nested.setdefault(query, {})
            last = query
        if doc in docs:
            _settle(rows, ask, row, docs)
            repeated += 1
        else:
            docs[doc] = number
    if not nested and not may_be_empty:
        raise no_rows(rows.name, ask)
    if repeated and ask.kind == "judgments":
        twice = counted(repeated, "judgment is", "judgments are")
        warn(f"{rows.name}: {twice} there twice with the same grade; counted once")
    return nested


def _as_they_are(rows: Rows, ask: Ask, may_be_empty: bool) -> Columns:
    """Rows → columns, which can hold a pair twice."""
    import polars as pl

    numbers: dict[str, int] = {}
    each = [(numbers.setdefault(query, len(numbers)), doc, number) for _, query, doc, number in rows.each()]
    if not each and not may_be_empty:
        raise no_rows(rows.name, ask)
    query, doc, number = (list(column) for column in zip(*each, strict=True)) if each else ([], [], [])
    docs = pl.Series(doc, dtype=pl.String)
    return Columns(list(numbers), np.array(query, np.int32), docs, np.array(number, np.float64))


def _settle(rows: Rows, ask: Ask, row: Row, docs: dict[str, float]) -> None:
    """A pair for the second time: the same judgment again is harmless, otherwise it is as the caller asked."""
    _, query, doc, number = row
    refused = docs[doc] != number if ask.kind == "judgments" else ask.duplicates == "error"
    if refused:
        known = explainer(rows, ask)(query, doc) if rows.again else None
        raise known or _twice(rows, ask.kind, row, docs[doc], f"first in an earlier {rows.unit}")
    if ask.duplicates == "best":
        docs[doc] = max(docs[doc], number)


def explainer(rows: Rows, ask: Ask) -> Callable[[str, str], DuplicateError | None]:
    """A careful second look at one pair, which names both its places."""

    def explain(query: str, doc: str) -> DuplicateError | None:
        first: Row | None = None
        for row in rows.each():
            if row[1] != query or row[2] != doc:
                continue
            if first is None:
                first = row
            elif ask.kind == "run" or row[3] != first[3]:
                return _twice(rows, ask.kind, row, first[3], f"first at {rows.short_place(first[0])}")
        return None

    return explain


def _twice(rows: Rows, kind: str, row: Row, earlier: float, before: str) -> DuplicateError:
    """The error for a pair met for the second time."""
    at, query, doc, number = row
    if kind == "judgments":
        return DuplicateError(
            f"{rows.place(at)}: query {query!r}, document {doc!r} has grade {number:g} here and {earlier:g} before "
            f"({before}); keep one of the two judgments"
        )
    return DuplicateError(
        f"{rows.place(at)}: document {doc!r} is there twice for query {query!r} ({before}); a ranking holds a document "
        f"once: {how_to_mend()}"
    )


def how_to_mend() -> str:
    """What to do about a document that is there twice."""
    how = way("duplicates='first' or 'best'", "--duplicates first|best")
    return f"mend the run, or choose with {how}" if how else "mend the run"


def expected_rows(kind: str, expected: str = "expected one row a line") -> str:
    """What to do about a file without rows."""
    nothing = 'if the run found nothing, say so in JSON ({"q1": [], …}: its values are 0)'
    return f"{expected}; {nothing}" if kind == "run" else expected


def no_rows(name: str, ask: Ask) -> InputError:
    """The error for a source without rows."""
    return InputError(f"{name}: holds no rows; {expected_rows(ask.kind, 'expected at least one')}")


def content_of(rows: Rows, ask: Ask, quick: Nested | Columns | None = None, *, may_be_empty: bool = False) -> Content:
    """What was read: what was found quickly, with no pair twice where it is nested, or else row by row."""
    if not isinstance(quick, Columns):
        found = gather(rows, ask, may_be_empty=may_be_empty) if quick is None else quick
        explain = explainer(rows, ask) if isinstance(found, Columns) and rows.again else None
        return Content(found, by=ask.by, has_scores=ask.scored, explain=explain, origin=rows)
    explain = explainer(rows, ask)
    return Content(once_as_asked(quick, ask), by=ask.by, has_scores=ask.scored, explain=explain, origin=rows)


def once_as_asked(columns: Columns, ask: Ask) -> Columns:
    """The columns with a document once per query where the caller asked for that; otherwise `match` looks at it."""
    import polars as pl

    if ask.kind != "run" or ask.duplicates not in ("first", "best"):
        return columns
    kept = (
        pl.DataFrame({"query": columns.query, "doc": columns.doc, "number": columns.number})
        .group_by("query", "doc", maintain_order=True)
        .agg(pl.col("number").max() if ask.duplicates == "best" else pl.col("number").first())
    )
    return Columns(columns.queries, kept["query"].to_numpy(), kept["doc"], kept["number"].to_numpy())


def number_of(text: str | bytes) -> float:
    """A finite number as the field writes it; ValueError says what is wrong with it."""
    shown = text if isinstance(text, str) else text.decode(errors="replace")
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{shown!r} is not a number") from None
    if "_" in shown:
        raise ValueError(f"{shown!r} is not a number")
    return finite(number, shown)


def is_number(text: str | bytes) -> bool:
    """Whether this is a finite number as the field writes it."""
    try:
        number_of(text)
    except ValueError:
        return False
    return True


def negated(rank: float, shown: object) -> float:
    """A rank as a score: the first is the highest. ValueError where it is no integer."""
    if not rank.is_integer():
        raise ValueError(f"{shown!r} is not an integer")
    return -rank


def number_of_value(value: Any) -> float:
    """A finite number that is no text; ValueError says what is wrong with it."""
    if isinstance(value, (str, bytes)) or is_complex(value) or not hasattr(value, "__float__"):
        raise ValueError(f"{value!r} is not a number")
    try:
        number = finite(float(value), value)
        if number != value and hasattr(value, "__index__"):
            raise ValueError(INEXACT.format(value))
        return number
    except OverflowError:
        raise ValueError("a number of so many digits is not a finite number") from None
    except TypeError:
        raise ValueError(f"{value!r} is not a number") from None


def finite(number: float, shown: object) -> float:
    """The number itself, unless it is infinite or not a number."""
    if not -INFINITY < number < INFINITY:
        raise ValueError(f"{shown!r} is not a finite number")
    return number


def decoded(line: bytes, place: str) -> str:
    """A line as text; the error names its place, and does not advise to convert what is no text."""
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        refuse_nul(line, place)
        what = f"byte {error.start + 1} is not UTF-8 text: {shortened(line)}"
        raise FormatError(f"{place}: {what}; convert the file first (iconv -f WINDOWS-1252 -t UTF-8)") from None


def refuse_nul(line: bytes, place: str) -> None:
    """No text holds a NUL byte: this is a file of another kind."""
    if b"\0" in line:
        raise FormatError(f"{place}: holds NUL bytes, so it is not a text file: {shortened(line)}") from None


def shortened(line: bytes | str) -> str:
    """A line in quotes for a message, cut where it is long; a tab is \\t."""
    text = (line if isinstance(line, str) else line.decode(errors="replace")).rstrip("\r\n")
    text = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
    shown = (char if char.isprintable() else "\\t" if char == "\t" else "�" for char in text)
    return f'"{"".join(shown)}"'
