"""Tables of text: CSV and TSV with a header, JSON, JSON lines.

Small ones are read row by row with the standard library; big ones through polars, and row by row again only where
polars finds anything unusual, to say what it is.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from rankgauge.errors import FormatError, InputError
from rankgauge.read.frames import settled
from rankgauge.read.memory import checked_row, item_rows
from rankgauge.read.names import find_columns, number_role
from rankgauge.read.rows import Ask, Found, Row, Rows, explainer, gather, number_of, shortened
from rankgauge.read.sources import Source

__all__ = ["column_names", "header_cells", "read_csv", "read_json", "read_jsonl", "read_tsv"]

DELIMITERS = {"csv": ",", "tsv": "\t"}


def read_csv(source: Source, ask: Ask) -> Found:
    """Comma-separated values with a header."""
    return _read(source, ask, "csv", _delimited_rows(source, ask, ","))


def read_tsv(source: Source, ask: Ask) -> Found:
    """Tab-separated values with a header."""
    return _read(source, ask, "tsv", _delimited_rows(source, ask, "\t"))


def read_jsonl(source: Source, ask: Ask) -> Found:
    """One JSON object a line."""
    return _read(source, ask, "jsonl", Rows(source.name, "line", lambda: _json_lines(source, ask)))


def read_json(source: Source, ask: Ask) -> Found:
    """One JSON object, query → document → number, or one JSON list of rows."""
    rows = Rows(source.name, "entry", lambda: _json_rows(source, ask))
    return Found(gather(rows, ask), by="rank" if number_role(ask) == "rank" else "score", origin=rows)


def _read(source: Source, ask: Ask, format: str, rows: Rows) -> Found:
    by = "rank" if number_role(ask) == "rank" else "score"
    if not source.is_small:
        from rankgauge.read.bulk import read_bulk

        columns = read_bulk(source, ask, lambda: column_names(source, format), DELIMITERS.get(format))
        if columns is not None:
            return Found(settled(columns, ask), by=by, explain=explainer(rows, ask), origin=rows)
    return Found(gather(rows, ask), by=by, origin=rows)


def header_cells(head: bytes, delimiter: str) -> list[str]:
    """The cells of the first line."""
    first = head.lstrip(b"\r\n").split(b"\n", 1)[0].decode(errors="replace")
    try:
        return next(csv.reader([first.rstrip("\r")], delimiter=delimiter), [])
    except csv.Error:
        return []


def column_names(source: Source, format: str) -> list[str]:
    """The names of the columns, as far as the start of the file shows them; none for a JSON of nested objects."""
    if format in DELIMITERS:
        return header_cells(source.head(), DELIMITERS[format])
    if format == "jsonl":
        with source.open_text() as stream:
            first = next((line for line in stream if line.strip()), b"")
    else:
        with source.open_text() as stream:
            first = stream.read()
    loaded = _parsed(first, source.name)
    if format == "json":
        loaded = loaded[0] if isinstance(loaded, list) and loaded else None
    return list(loaded) if isinstance(loaded, dict) else []


def _delimited_rows(source: Source, ask: Ask, delimiter: str) -> Rows:
    def each() -> Iterator[Row]:
        with source.open_text() as stream, io.TextIOWrapper(stream, encoding="utf-8", newline="") as text:
            reader = csv.reader(text, delimiter=delimiter, strict=True)
            try:
                yield from _cells(reader, ask, source.name)
            except csv.Error as error:
                place = f"{source.name}:{reader.line_num}"
                raise FormatError(
                    f"{place}: {error}; a quoted field ends in a quote, and a quote in it is doubled"
                ) from None
            except UnicodeDecodeError:
                raise _not_text(source, reader.line_num + 1) from None

    return Rows(source.name, "line", each)


def _not_text(source: Source, from_line: int) -> FormatError:
    """Text is decoded ahead of the rows, so the line is looked for among the bytes."""
    with source.open_text() as stream:
        for line, text in enumerate(stream, 1):
            try:
                text.decode()
            except UnicodeDecodeError as error:
                return FormatError(
                    f"{source.name}:{line}: byte {error.start + 1} is not UTF-8 text: {shortened(text)}; "
                    "convert the file first (iconv -t UTF-8)"
                )
    return FormatError(f"{source.name}:{from_line}: is not UTF-8 text")


def _cells(reader: Any, ask: Ask, name: str) -> Iterator[Row]:
    header: list[str] = next((cells for cells in reader if cells), [])
    query, doc, number = (header.index(column) for column in find_columns(header, ask, name))
    for cells in reader:
        if len(cells) == len(header):
            place = f"{name}:{reader.line_num}"
            yield reader.line_num, _id(cells[query], place), _id(cells[doc], place), _cell(cells[number], ask, place)
        elif any(cell.strip() for cell in cells):
            raise FormatError(
                f"{name}:{reader.line_num}: expected {len(header)} fields ({', '.join(header)}), got {len(cells)}: "
                f"{shortened(', '.join(cells))}"
            )


def _id(cell: str, place: str) -> str:
    if not cell:
        raise FormatError(f"{place}: an id is empty; expected the id of a query and of a document")
    return cell


def _cell(cell: str, ask: Ask, place: str) -> float:
    role = number_role(ask)
    try:
        number = number_of(cell)
    except ValueError as error:
        raise FormatError(f"{place}: {role} {error}") from None
    if role != "rank":
        return number
    if not number.is_integer():
        raise FormatError(f"{place}: rank {cell!r} is not an integer")
    return -number


def _parsed(text: bytes, place: str, hook: Any = None) -> Any:
    try:
        return json.loads(text, object_pairs_hook=hook)
    except UnicodeDecodeError:
        raise FormatError(f"{place}: is not UTF-8 text: {shortened(text[:100])}") from None
    except json.JSONDecodeError as error:
        at = f"line {error.lineno}, column {error.colno}" if error.lineno > 1 else f"column {error.colno}"
        more = "; one object a line is format='jsonl'" if error.msg == "Extra data" else ""
        raise FormatError(f"{place}: is not JSON: {error.msg} at {at}{more}") from None
    except RecursionError:
        raise FormatError(f"{place}: is JSON nested too deeply; expected query → document → number") from None


def _json_lines(source: Source, ask: Ask) -> Iterator[Row]:
    names: list[str] | None = None
    found = ("", "", "")
    with source.open_text() as stream:
        for line, text in enumerate(stream, 1):
            if text.isspace():
                continue
            place = f"{source.name}:{line}"
            item = _parsed(text, place)
            if not isinstance(item, dict):
                raise FormatError(f"{place}: expected one JSON object a line, got {shortened(text)}")
            if list(item) != names:
                names = list(item)
                found = find_columns(names, ask, place)
            yield checked_row(line, [item[column] for column in found], ask, place)


class _Repeating(list[tuple[str, Any]]):
    """A JSON object in which a name is there twice, which a dict would hide."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _Repeating:
    made = dict(pairs)
    return made if len(made) == len(pairs) else _Repeating(pairs)


def _json_rows(source: Source, ask: Ask) -> Iterator[Row]:
    with source.open_text() as stream:
        loaded = _parsed(stream.read(), source.name, _object)
    if isinstance(loaded, list) and not isinstance(loaded, _Repeating):
        return item_rows(loaded, ask, source.name)
    if not isinstance(loaded, (dict, _Repeating)):
        raise FormatError(f"{source.name}: expected query → document → number, got {shortened(json.dumps(loaded))}")
    if ask.by == "rank":
        raise InputError(f"{source.name}: query → document → number has no ranks; write rows with a rank instead")
    return _nested_rows(_pairs(loaded), ask, source.name)


def _pairs(value: dict[str, Any] | _Repeating) -> list[tuple[str, Any]]:
    return list(value) if isinstance(value, _Repeating) else list(value.items())


def _nested_rows(queries: list[tuple[str, Any]], ask: Ask, name: str) -> Iterator[Row]:
    entry = 0
    queries.reverse()
    while queries:  # what was taken over is let go
        query, docs = queries.pop()
        if not isinstance(docs, (dict, _Repeating)):
            shown = shortened(json.dumps(docs))
            raise FormatError(f"{name}: query {query!r} maps to {shown}; expected document → number")
        for doc, number in _pairs(docs):
            entry += 1
            yield checked_row(entry, (query, doc, number), ask, f"{name}, query {query!r}, document {doc!r}")
