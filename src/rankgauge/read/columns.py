"""A table of named columns: CSV, TSV, JSON, JSON lines, Parquet, Arrow, a frame, a dict of columns, or rows as dicts.

Cells stay what they are, and every row knows its place, so that whoever wants numbers can say where there is none.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rankgauge.errors import FormatError, InputError, nearest
from rankgauge.read.frames import is_frame
from rankgauge.read.query_tables import frame_table, table_of_file
from rankgauge.read.rows import finite, number_of, shortened
from rankgauge.read.sources import Source, find_source

__all__ = ["NamedColumns", "read_columns"]

DECIMAL_COMMA = re.compile(r"[-+]?\d*,\d+$")
BINARY = (b"PAR1", b"ARROW1")


@dataclass(frozen=True, slots=True)
class NamedColumns:
    """A table: what messages call it, the names of its columns, its rows, and the place of every row."""

    source: str
    names: list[str]
    rows: list[Sequence[Any]]
    places: list[str]

    def __len__(self) -> int:
        return len(self.rows)

    def index(self, column: str) -> int:
        """Where a column is."""
        if column not in self.names:
            close = nearest(column, self.names)
            meant = f"; did you mean {close!r}?" if close else ""
            raise FormatError(
                f"{self.source}: there is no column {column!r}; the columns are {', '.join(self.names)}{meant}"
            )
        return self.names.index(column)

    def cells(self, column: str) -> list[Any]:
        """The cells of a column as they are."""
        at = self.index(column)
        return [row[at] for row in self.rows]

    def numbers(self, column: str, expected: str = "a number") -> list[float]:
        """The cells of a column as finite numbers; the first that is none is an error that names its place."""
        found = []
        for place, cell in zip(self.places, self.cells(column), strict=True):
            try:
                found.append(_number(cell))
            except ValueError as error:
                raise FormatError(f"{place}: column {column!r}: {error}; expected {expected}") from None
        return found


def _number(cell: Any) -> float:
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        raise ValueError("the cell is empty; fill it in, or take the row out of the table")
    if isinstance(cell, (bool, bytes)) or not (isinstance(cell, str) or hasattr(cell, "__float__")):
        raise ValueError(f"{cell!r} is not a number")
    if isinstance(cell, str) and cell.strip().endswith("%"):
        raise ValueError(f"{cell.strip()!r} has a percent sign; write 0.012 for 1.2 %")
    if isinstance(cell, str) and DECIMAL_COMMA.match(cell.strip()):
        raise ValueError(f"{cell.strip()!r} has a decimal comma; write {cell.strip().replace(',', '.')}")
    if isinstance(cell, str):
        return number_of(cell.strip())
    try:
        return finite(float(cell), cell)
    except (TypeError, OverflowError):
        raise ValueError(f"{cell!r} is not a number") from None


def read_columns(source: Any, what: str = "the table") -> NamedColumns:
    """The table in a file (`-` is standard input), a frame, a dict of columns, or an iterable of dicts."""
    if isinstance(source, (str, os.PathLike, Source)):
        return _checked(_file(source if isinstance(source, Source) else find_source(source)))
    if is_frame(source):
        names, rows = frame_table(source)
        return _checked(_numbered(what, names, rows))
    if isinstance(source, Mapping):
        return _checked(_dict(source, what))
    if isinstance(source, Iterable) and not isinstance(source, (bytes, bytearray)):
        items = list(source)
        return _checked(_objects(items, what, [f"{what}, row {row}" for row in range(1, len(items) + 1)]))
    raise InputError(
        f"{what} cannot be read from {type(source).__name__}; expected a path, a frame, a dict of columns or dicts"
    )


def _checked(table: NamedColumns) -> NamedColumns:
    twice = next((name for name in table.names if table.names.count(name) > 1), None)
    if twice is not None:
        raise FormatError(f"{table.source}: two columns are called {twice!r}; rename one")
    if not table.rows:
        raise InputError(f"{table.source}: holds no rows; expected at least one below the header")
    return table


def _numbered(source: str, names: Iterable[Any], rows: Iterable[Sequence[Any]]) -> NamedColumns:
    listed = list(rows)
    return NamedColumns(
        source, [str(name) for name in names], listed, [f"{source}, row {at}" for at in range(1, len(listed) + 1)]
    )


# ---- in memory -------------------------------------------------------------------------------------------------------


def _dict(columns: Mapping[Any, Any], what: str) -> NamedColumns:
    """Column → its values, all of the same length."""
    lists = {}
    for name, values in columns.items():
        if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
            raise FormatError(f"{what}: column {name!r} is {shortened(str(values))}; expected a list of values")
        lists[str(name)] = list(values)
    lengths = {name: len(values) for name, values in lists.items()}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name} {length:,}" for name, length in lengths.items())
        raise InputError(f"{what}: the columns are not equally long ({told}); give every row a value in each")
    return _numbered(what, lists, list(zip(*lists.values(), strict=True)))


def _objects(items: Sequence[Any], what: str, places: list[str]) -> NamedColumns:
    """Dicts, of which each must have the columns of the first."""
    names = [str(name) for name in items[0]] if items and isinstance(items[0], Mapping) else []
    rows: list[Sequence[Any]] = []
    for place, item in zip(places, items, strict=True):
        if not isinstance(item, Mapping):
            raise FormatError(f"{place}: expected a dict (an object) of column → value, got {shortened(str(item))}")
        if set(map(str, item)) != set(names):
            told = f"expected the columns of the first row ({', '.join(names)}), got {', '.join(map(str, item))}"
            raise FormatError(f"{place}: {told}")
        by_name = {str(name): value for name, value in item.items()}
        rows.append([by_name[name] for name in names])
    return NamedColumns(what, names, rows, places)


# ---- files -----------------------------------------------------------------------------------------------------------


def _file(file: Source) -> NamedColumns:
    if file.head(8).startswith(BINARY):
        return _numbered(file.name, *table_of_file(file))
    with file.open_text() as stream:
        data = stream.read()
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise FormatError(f"{file.name}:{line}: is not UTF-8 text; convert the file first (iconv -t UTF-8)") from None
    if file.suffix not in (".csv", ".tsv") and text.lstrip()[:1] in ("{", "["):
        return _json(text, file.name)
    return _delimited(text, file)


def _delimiter(header: str) -> str:
    """A tab where there is one; a semicolon where there are these and no commas, as spreadsheets write it; a comma."""
    if "\t" in header:
        return "\t"
    return ";" if ";" in header and "," not in header else ","


def _delimited(text: str, file: Source) -> NamedColumns:
    """CSV (also with semicolons) or TSV with a header; lines that begin with # above it are comments."""
    lines = io.StringIO(text, newline="")
    skipped, start = 0, 0
    for line in lines:
        if line.strip() and not line.startswith("#"):
            break
        skipped, start = skipped + 1, start + len(line)
    header = text[start:].partition("\n")[0]
    reader = csv.reader(io.StringIO(text[start:], newline=""), delimiter=_delimiter(header), strict=True)
    rows: list[list[str]] = []
    places: list[str] = []
    try:
        for row in reader:
            place = f"{file.name}:{skipped + reader.line_num}"
            if rows and row and len(row) != len(rows[0]):
                told = f"expected {len(rows[0])} fields ({', '.join(rows[0])}), got {len(row)}"
                raise FormatError(f"{place}: {told}: {shortened(', '.join(row))}")
            if row:
                rows.append(row)
                places.append(place)
    except csv.Error as error:
        where = f"{file.name}:{skipped + reader.line_num}"
        raise FormatError(f"{where}: {error}; a quoted field ends in a quote, and a quote in it is doubled") from None
    if not rows:
        raise FormatError(f"{file.name}: holds no header; expected the names of columns and a line a row")
    return NamedColumns(file.name, [name.strip() for name in rows[0]], list(rows[1:]), places[1:])


def _json(text: str, name: str) -> NamedColumns:
    """A list of objects, an object of columns, or an object a line."""
    try:
        loaded = json.loads(text)
    except json.JSONDecodeError as error:
        if error.msg != "Extra data":
            raise FormatError(f"{name}:{error.lineno}: is not JSON: {error.msg} at column {error.colno}") from None
        return _json_lines(text, name)
    if isinstance(loaded, dict):
        single = all(not isinstance(value, (list, dict)) for value in loaded.values())
        return _objects([loaded], name, [f"{name}:1"]) if single else _dict(loaded, name)
    return _objects(loaded, name, [f"{name}, row {row}" for row in range(1, len(loaded) + 1)])


def _json_lines(text: str, name: str) -> NamedColumns:
    items, places = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                items.append(json.loads(line))
            except json.JSONDecodeError as error:
                told = f"{error.msg} at column {error.colno}"
                raise FormatError(f"{name}:{number}: is not JSON: {told}: {shortened(line)}") from None
            places.append(f"{name}:{number}")
    return _objects(items, name, places)
