"""Big tables of text through polars, optimistic and strict: on anything unusual None, and the row reader explains."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rankgauge.errors import InputError
from rankgauge.read.frames import frame_columns, numbered
from rankgauge.read.names import find_columns
from rankgauge.read.records import Columns
from rankgauge.read.rows import Ask
from rankgauge.read.sources import Source

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ranked_table", "read_bulk"]


def read_bulk(source: Source, ask: Ask, names: Callable[[], list[str]], delimiter: str | None) -> Columns | None:
    """The columns of a table with these names, or None; without a delimiter it is a file of JSON lines."""
    import polars as pl

    try:
        reader = partial(_delimited, delimiter) if delimiter else _json_lines
        frame = reader(source, ask, names())
        return frame_columns(frame, ask, source.name) if frame is not None and len(frame) else None
    except (InputError, pl.exceptions.PolarsError):
        return None


def _delimited(delimiter: str, source: Source, ask: Ask, header: list[str]) -> pl.DataFrame | None:
    """All the columns, because polars counts the fields of a line only when it reads them all."""
    import polars as pl

    query, doc, number = find_columns(header, ask, source.name)
    schema: dict[str, type[pl.DataType]] = dict.fromkeys(header, pl.String)
    schema[number] = pl.Float64
    with source.open_text() as stream:
        frame = pl.read_csv(stream, separator=delimiter, schema=schema)
    ids_are_there = not any((frame[column] == "").any() for column in (query, doc))
    return frame if ids_are_there and not frame[header[-1]].null_count() else None


def _json_lines(source: Source, ask: Ask, names: list[str]) -> pl.DataFrame | None:
    import polars as pl

    columns = find_columns(names, ask, source.name)
    with source.open_text() as stream:
        data = stream.read()
    frame = pl.read_ndjson(data, infer_schema_length=None).select(list(dict.fromkeys(columns)))
    texts = [column for column in columns if frame[column].dtype == pl.String]
    return frame if all(_strings_of(column, data) == len(frame) for column in texts) else None


def _strings_of(column: str, data: bytes) -> int:
    """How often a column has a string for its value: where it has others too, polars makes text of them silently."""
    return sum(1 for _ in re.finditer(rb'"%s"\s*:\s*"' % re.escape(column.encode()), data))


def ranked_table(source: Source) -> Columns | None:
    """An MS MARCO run: query, document and rank between tabs."""
    import polars as pl

    schema = {"query": pl.String, "doc": pl.String, "rank": pl.Int64}
    try:
        with source.open_text() as stream:
            frame = pl.read_csv(stream, has_header=False, separator="\t", quote_char=None, schema=schema)
    except pl.exceptions.PolarsError:
        return None
    blank = frame.select(pl.col("query", "doc").str.contains(r"^#|\s").any()).row(0)
    if any(blank) or any(column.null_count() for column in frame):
        return None
    return Columns(*numbered(frame["query"]), frame["doc"], -frame["rank"].to_numpy().astype(np.float64))
