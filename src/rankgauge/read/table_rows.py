"""Runs and judgments in tables: small ones row by row, big ones through polars.

Polars is optimistic and strict: on anything unusual the rows are gone through one by one after all, to say what it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgauge.errors import FormatError, InputError
from rankgauge.read.cells import PAIRS, Records, header_of, json_lines, parse_json, text_number
from rankgauge.read.frames import frame_columns, numbered
from rankgauge.read.memory import checked_row, item_rows
from rankgauge.read.names import find_columns, number_role
from rankgauge.read.records import Columns
from rankgauge.read.rows import Ask, Content, Row, Rows, content_of, negated, shortened
from rankgauge.read.sources import HEAD, Source

if TYPE_CHECKING:
    import polars as pl

__all__ = ["column_names", "ranked_table", "read_delimited", "read_json", "read_jsonl"]


def read_delimited(source: Source, ask: Ask) -> Content:
    """Values between commas, semicolons or tabs, with a header."""
    rows = Rows(source.name, "line", lambda: _cell_rows(source, ask))
    return content_of(rows, ask, _fast(source, ask, _delimited_columns))


def read_jsonl(source: Source, ask: Ask) -> Content:
    """One JSON object a line."""
    rows = Rows(source.name, "line", lambda: item_rows(json_lines(source), ask, rows.place))
    return content_of(rows, ask, _fast(source, ask, _json_columns))


def read_json(source: Source, ask: Ask) -> Content:
    """One JSON object, query → document → number, or one JSON list of rows."""
    return content_of(Rows(source.name, "entry", lambda: _json_rows(source, ask)), ask)


def column_names(source: Source, format: str) -> list[str]:
    """The names of the columns, as far as the start of the file shows them; none for a JSON of nested objects."""
    if format in ("csv", "tsv"):
        return header_of(source.head()).names
    if format == "jsonl":
        return next((list(item) for _, item in json_lines(source)), [])
    loaded = parse_json(source)
    first = loaded[0] if isinstance(loaded, list) and loaded else None
    return list(first) if isinstance(first, dict) else []


# ---- row by row ------------------------------------------------------------------------------------------------------


def _cell_rows(source: Source, ask: Ask) -> Iterator[Row]:
    name, records = source.name, Records(source)
    each = iter(records)
    _, header = next(each)
    query, doc, number = (header.index(column) for column in find_columns(header, ask, name))
    for line, cells in each:
        if not cells[query] or not cells[doc]:
            raise FormatError(f"{name}:{line}: an id is empty; expected the id of a query and of a document")
        try:
            value = text_number(cells[number], records.delimiter)
            if ask.by == "rank":
                value = negated(value, cells[number])
        except ValueError as error:
            raise FormatError(f"{name}:{line}: {number_role(ask)} {error}") from None
        yield line, cells[query], cells[doc], value


def _json_rows(source: Source, ask: Ask) -> Iterator[Row]:
    nested = not source.head().lstrip().startswith(b"[")
    loaded = parse_json(source, PAIRS) if nested else parse_json(source)
    if isinstance(loaded, list):
        return item_rows(enumerate(loaded, 1), ask, lambda row: f"{source.name}, row {row}")
    if not isinstance(loaded, tuple):
        raise FormatError(f"{source.name}: expected query → document → number, got {shortened(json.dumps(loaded))}")
    if ask.by == "rank":
        raise InputError(f"{source.name}: query → document → number has no ranks; write rows with a rank instead")
    return _nested_rows(list(loaded), ask, source.name)


def _nested_rows(queries: list[tuple[str, Any]], ask: Ask, name: str) -> Iterator[Row]:
    """The rows of query → document → number, of which each query is let go once it was taken over."""
    entry = 0
    queries.reverse()
    while queries:
        query, docs = queries.pop()
        if not isinstance(docs, tuple):
            shown = shortened(json.dumps(docs))
            raise FormatError(f"{name}: query {query!r} maps to {shown}; expected document → number")
        for doc, number in docs:
            entry += 1
            place = partial("{}, query {!r}, document {!r}".format, name, query, doc)
            yield checked_row(entry, (query, doc, number), ask, place)


# ---- through polars --------------------------------------------------------------------------------------------------


def _fast(source: Source, ask: Ask, columns: Callable[[Source, Ask, bytes], Columns | None]) -> Columns | None:
    """What is made of all the bytes of a big file; None on anything unusual.

    Polars is given bytes: of a stream it may read the file behind it, from where the buffer ended.
    """
    if source.is_small:
        return None
    import polars as pl

    data = source.read_text()
    try:
        return columns(source, ask, data)
    except (InputError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None


def _delimited_columns(source: Source, ask: Ask, data: bytes) -> Columns | None:
    """Every cell is read, because polars counts the fields of a line only then."""
    import polars as pl

    header = header_of(data[:HEAD])
    data = data[header.start :]
    if (b"#" in data and b"\n#" in data) or (b"\r" in data and data.count(b"\r") != data.count(b"\r\n")):
        return None  # comments, or a line end that polars takes for a character
    query, doc, number = find_columns(header.names, ask, source.name)
    schema: dict[str, type[pl.DataType]] = dict.fromkeys(header.names, pl.String)
    schema[number] = pl.Float64
    frame = pl.read_csv(data, separator=header.delimiter, schema=schema)
    lacking = any((frame[column] == "").any() for column in (query, doc)) or frame[header.names[-1]].null_count()
    return None if lacking or not len(frame) else frame_columns(frame, ask, source.name)


def _json_columns(source: Source, ask: Ask, data: bytes) -> Columns | None:
    """Not where a key may be there twice, or a column holds texts and others mixed."""
    import polars as pl

    columns = find_columns(column_names(source, "jsonl"), ask, source.name)
    frame = pl.read_ndjson(data, infer_schema_length=None)
    if b"\\" in data and re.search(rb'\\[u/][^"\n]*"\s*:', data):  # a key in other letters
        return None
    if any(_repeats(column, data) for column in frame):
        return None
    frame = frame.select(list(dict.fromkeys(columns)))
    mixed = any(column.dtype == pl.String and not _is_all_strings(column, data) for column in frame)
    return None if mixed or not len(frame) else frame_columns(frame, ask, source.name)


def _repeats(column: pl.Series, data: bytes) -> bool:
    """Whether a key may be there twice on a line: polars takes the first and says nothing."""
    key = b'"%b"' % column.name.encode()
    if data.count(key) == len(column) and not column.null_count():
        return False
    return re.search(rb"%b\s*:[^\n]*%b\s*:" % (re.escape(key), re.escape(key)), data) is not None


def _is_all_strings(column: pl.Series, data: bytes) -> bool:
    """Whether every value is a string in the file: polars makes text of others silently."""
    key = b'"%b"' % column.name.encode()
    if data.count(key + b': "') + data.count(key + b':"') == len(column):
        return True
    return sum(1 for _ in re.finditer(rb'%b\s*:\s*"' % re.escape(key), data)) == len(column)


def ranked_table(source: Source, ask: Ask) -> Columns | None:
    """An MS MARCO run: query, document and rank between tabs."""
    return _fast(source, ask, _ranked_columns)


def _ranked_columns(source: Source, ask: Ask, data: bytes) -> Columns | None:
    import polars as pl

    schema = {"query": pl.String, "doc": pl.String, "rank": pl.Int64}
    frame = pl.read_csv(data, has_header=False, separator="\t", quote_char=None, schema=schema)
    blank = frame.select(pl.col("query", "doc").str.contains(r"^#|\s").any()).row(0)
    if any(blank) or any(column.null_count() for column in frame):
        return None
    return Columns(*numbered(frame["query"]), frame["doc"], -frame["rank"].to_numpy().astype(np.float64))
