"""Tables with a header, read in one way for every caller: CSV, TSV, JSON, JSON lines, Parquet, Arrow, frames, dicts.

Cells stay what they are, and every row knows its place, so that whoever needs numbers can say where there is none.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from rankgauge.errors import FormatError, InputError, counted, unknown, warn
from rankgauge.read.cells import Records, Spelling, header_of, json_format, json_lines, parse_json
from rankgauge.read.frames import frame_format, frame_rows, is_frame, load_frame
from rankgauge.read.names import SPELLINGS, bare, first_of, normal
from rankgauge.read.records import id_text
from rankgauge.read.rows import number_of_value, shortened
from rankgauge.read.sources import Source, find_source

__all__ = [
    "NamedColumns",
    "column_of_frame",
    "groups_in",
    "is_blank",
    "number_in",
    "query_column",
    "read_groups_and_numbers",
]
__all__ += ["read_query_table", "read_table", "read_texts"]

T = TypeVar("T")
JSON_LINES: Final = (".jsonl", ".ndjson")
VALUES: Final = {
    "group": ("group", "segment", "stratum", "by", "category", "class"),
    "weight": ("weight", "traffic", "count"),
    "cluster": ("cluster", "user", "user_id", "session", "session_id", "intent"),
}
TEXTS: Final = ("title", "text", "query", "question", "topic", "passage")
MISSING: Final = ("nan", "NaN", "<NA>")  # how programs write down that there is no value
EMPTY: Final = "the cell is empty; fill it in, or take the row out of the table"


@dataclass(frozen=True, slots=True)
class NamedColumns:
    """A table: what messages call it, the names of its columns, its rows, and where these stand in a file of lines."""

    source: str
    names: list[str]
    rows: list[Sequence[Any]]
    lines: Sequence[int] = ()
    delimiter: str = ","
    spelling: Spelling = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "spelling", Spelling(self.delimiter))

    def __len__(self) -> int:
        return len(self.rows)

    def place(self, row: int) -> str:
        """Where a row is, for people: `groups.csv:17` or `the frame, row 16`."""
        return f"{self.source}:{self.lines[row]}" if self.lines else f"{self.source}, row {row + 1}"

    def called(self, spellings: Iterable[str]) -> list[str]:
        """The columns that have one of these names, whatever the case, blanks, hyphens and underscores."""
        known = set(map(bare, spellings))
        return [name for name in self.names if bare(name) in known]

    def column(self, name: str) -> str:
        """The name of a column that must be there."""
        if name not in self.names:
            known = f"the columns are {', '.join(self.names)}"
            raise FormatError(unknown(f"{self.source}: there is no column {name!r}", name, self.names, known))
        return name

    def cells(self, column: str) -> list[Any]:
        """The cells of a column as they are."""
        at = self.names.index(self.column(column))
        return [row[at] for row in self.rows]

    def ids(self, column: str) -> list[str]:
        """The cells of a column as ids."""
        return self.convert(column, _id, "an id")

    def numbers(self, column: str, expected: str = "a number") -> list[float]:
        """The cells of a column as finite numbers."""
        return self.convert(column, self.number, expected)

    def number(self, cell: Any) -> float:
        """A cell as a finite number; ValueError says what is wrong with it."""
        return number_in(cell, self.spelling)

    def convert(self, column: str, change: Callable[[Any], T], expected: str) -> list[T]:
        """The cells of a column, changed; the first that cannot be is an error that names its place."""
        results: list[T] = []
        for cell in self.cells(column):
            try:
                results.append(change(cell))
            except (ValueError, FormatError) as error:
                place = f"{self.place(len(results))}: column {column!r}"
                raise FormatError(f"{place}: {error}; expected {expected}") from None
        return results


def number_in(cell: Any, spelling: Spelling) -> float:
    """A cell as a finite number; ValueError says what is wrong with it."""
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        raise ValueError(EMPTY)
    if isinstance(cell, bool):
        raise ValueError(f"{cell!r} is not a number")
    return spelling.number(cell.strip()) if isinstance(cell, str) else number_of_value(cell)


def _id(cell: Any) -> str:
    if is_blank(cell):
        raise ValueError(EMPTY)
    return id_text(cell)


def is_blank(cell: Any) -> bool:
    """Whether a cell holds nothing: None, NaN, what pandas calls missing, or text of blanks."""
    if cell is None or isinstance(cell, str):
        return not cell or cell.isspace()
    try:
        return bool(cell != cell)
    except TypeError:  # pandas' NA, of which nothing is known
        return True
    except ValueError:  # an array
        return False


def read_table(source: Any, what: str = "the table", *, key: str = "", loose: bool = False) -> NamedColumns:
    """The table in a file (`-` is standard input), a frame, a dict of columns, or an iterable of dicts.

    `key` is the role of the ids in a JSON object of id → value. A `loose` table is one of texts or measured values: an
    object may lack columns of the others, and a text between tabs may begin with a quote that does not end.
    """
    if isinstance(source, (str, os.PathLike, Source)):
        table = _file(find_source(source), key, loose)
    elif is_frame(source):
        table = NamedColumns(what, *frame_rows(source))
    elif isinstance(source, Mapping):
        table = _dict(source, what)
    elif isinstance(source, Iterable) and not isinstance(source, (bytes, bytearray)):
        table = _objects(what, list(source), loose)
    else:
        expected = "expected a path, a frame, a dict of columns or dicts"
        raise InputError(f"{what} cannot be read from {type(source).__name__}; {expected}")
    twice = next((name for name in table.names if name and table.names.count(name) > 1), None)
    if twice is not None:
        raise FormatError(f"{table.source}: two columns are called {twice!r}; rename one")
    return table


def _file(file: Source, key: str, loose: bool) -> NamedColumns:
    head = file.head()
    columns = frame_format(head)
    if columns:
        return NamedColumns(file.name, *frame_rows(load_frame(file, columns)))
    objects = "jsonl" if file.suffix in JSON_LINES else json_format(head)
    if objects:
        return _json(file, objects, key, loose)
    try:
        return _delimited(Records(file))
    except FormatError:
        if not loose or header_of(head).delimiter != "\t":
            raise
        return _delimited(Records(file, quotes=False))


def _delimited(records: Records) -> NamedColumns:
    lines: list[int] = []
    rows: list[Sequence[Any]] = []
    for line, cells in records:
        lines.append(line)
        rows.append(cells)
    if not records.header:
        raise FormatError(f"{records.source.name}: holds no header; expected the names of columns and a line a row")
    return NamedColumns(records.source.name, records.header, rows[1:], lines[1:], records.delimiter)


def _json(file: Source, format: str, key: str, loose: bool) -> NamedColumns:
    """Objects in a list or on lines; or one object, of columns, of id → value, or a row."""
    if format == "jsonl":
        numbered = list(json_lines(file))
        lines, items = [line for line, _ in numbered], [item for _, item in numbered]
    else:
        loaded = parse_json(file)
        if isinstance(loaded, list):
            return _objects(file.name, loaded, loose)
        lines, items = [1], [loaded]
    only = items[0] if len(items) == 1 else None
    if isinstance(only, dict):
        if all(isinstance(value, list) for value in only.values()):
            return _dict(only, file.name)
        flat = not any(isinstance(value, (list, dict)) for value in only.values())
        if key and flat and not {normal(each) for each in only}.intersection((*SPELLINGS[key], "_id", "id")):
            return NamedColumns(file.name, [key, "value"], list(only.items()))
    return _objects(file.name, items, loose, lines)


def _dict(columns: Mapping[Any, Any], what: str) -> NamedColumns:
    """Column → its values, all of the same length."""
    lists = {}
    for name, values in columns.items():
        if isinstance(values, (str, bytes, Mapping)) or not isinstance(values, Iterable):
            raise FormatError(f"{what}: column {name!r} is {shortened(str(values))}; expected a list of values")
        lists[str(name)] = list(values)
    if len({len(values) for values in lists.values()}) > 1:
        lengths = ", ".join(f"{name} {len(values):,}" for name, values in lists.items())
        raise InputError(f"{what}: the columns are not equally long ({lengths}); give every row a value in each")
    return NamedColumns(what, list(lists), list(zip(*lists.values(), strict=True)))


def _objects(what: str, items: Sequence[Any], loose: bool, lines: Sequence[int] = ()) -> NamedColumns:
    """Dicts; each must have the columns of the first, unless the table is loose."""
    names = dict.fromkeys(
        str(name) for item in items[: None if loose else 1] if isinstance(item, Mapping) for name in item
    )
    table = NamedColumns(what, list(names), [], lines)
    for row, item in enumerate(items):
        if not isinstance(item, Mapping):
            expected = "expected a dict (an object) of column → value"
            raise FormatError(f"{table.place(row)}: {expected}, got {shortened(str(item))}")
        cells = {str(name): value for name, value in item.items()}
        if not loose and cells.keys() != names.keys():
            expected = f"expected the columns of the first row ({', '.join(names)}), got {', '.join(cells)}"
            raise FormatError(f"{table.place(row)}: {expected}")
        table.rows.append([cells.get(name) for name in names])
    return table


# ---- groups, weights, clusters, texts: tables about queries ----------------------------------------------------------


def read_query_table(source: Any, what: str) -> dict[str, Any]:
    """Query id → value, from a file or a frame with a query column and one other (or one called `what`).

    `FILE:COLUMN` names the column of a file that has several. Weights are numbers, or empty.
    """
    table, column = _table(source, "query_id")
    value = _value_column(table, what, column)
    if what == "weight":
        weights = table.convert(value, lambda cell: None if is_blank(cell) else table.number(cell), "a weight")
        return _pairs(table, weights)
    return _pairs(table, table.cells(value))


def column_of_frame(frame: Any, column: str) -> dict[str, str] | None:
    """Query id → value of a column of the judgments frame; None if there is no such column."""
    if not is_frame(frame):
        return None
    table = read_table(frame, "the judgments")
    return groups_in(_pairs(table, table.cells(column)), table.source) if column in table.names else None


def query_column(table: NamedColumns) -> str:
    """The column that holds the ids of queries."""
    column = first_of("query_id", table.names)
    if column is None:
        raise FormatError(f"{table.source}: no query column among {', '.join(table.names)}; call it query_id")
    return column


def _table(source: Any, key: str, *, loose: bool = False) -> tuple[NamedColumns, str | None]:
    """A table of ids of this role, and the column that `FILE:COLUMN` names."""
    if not isinstance(source, (str, os.PathLike)):
        return read_table(source, "the frame" if is_frame(source) else "the table"), None
    path = os.fspath(source)
    head, colon, column = path.rpartition(":")
    named = bool(colon) and not os.path.exists(path) and os.path.exists(head)
    table = read_table(head if named else path, key=key, loose=loose)
    return table, column if named else None


def _pairs(table: NamedColumns, cells: Iterable[Any]) -> dict[str, Any]:
    """Query id → cell; a query that has two different ones is refused."""
    pairs: dict[str, Any] = {}
    for row, (query, cell) in enumerate(zip(table.ids(query_column(table)), cells, strict=True)):
        value = None if not isinstance(cell, str) and is_blank(cell) else cell
        if pairs.setdefault(query, value) != value:
            raise FormatError(
                f"{table.place(row)}: query {query!r} has two values, {pairs[query]!r} and {value!r}; keep one"
            )
    return pairs


def _value_column(table: NamedColumns, what: str, column: str | None) -> str:
    query = query_column(table)
    if column is not None:
        return column
    others = [name for name in table.names if name != query]
    known = [name for name in others if normal(name) in VALUES.get(what, (what,))]
    if len(known) == 1 or len(others) == 1:
        return (known or others)[0]
    raise FormatError(
        f"{table.source}: which column is the {what}? There are {', '.join(others) or 'none'}; "
        f"name it with {table.source}:COLUMN"
    )


def read_groups_and_numbers(source: Any) -> tuple[dict[str, str], dict[str, dict[str, float]]]:
    """Query → group, and every other column that holds numbers (clicks, conversions): column → query → number.

    The group is the column that `read_query_table` takes; where it cannot tell, the one column that holds no numbers.
    """
    if isinstance(source, Mapping):
        return groups_in({id_text(query): value for query, value in source.items()}, "the table of groups"), {}
    table, column = _table(source, "query_id")
    query = query_column(table)
    columns = {name: _numbers(table, query, name) for name in table.names if name != query}
    words = [name for name, numbers in columns.items() if numbers is None]
    known = [name for name in columns if normal(name) in VALUES["group"]]
    if column is None and len(known) != 1 and len(words) == 1:
        column = words[0]
    group = _value_column(table, "group", column)
    others = {name: numbers for name, numbers in columns.items() if numbers and name != group}
    return groups_in(_pairs(table, table.cells(group)), table.source), others


def groups_in(pairs: Mapping[str, Any], name: str) -> dict[str, str]:
    """Query → group, without the queries that have none: a missing group is no group of that name."""
    groups = {query: str(group) for query, group in pairs.items() if not is_blank(group) and group not in MISSING}
    without = [query for query in pairs if query not in groups]
    if pairs and not groups:
        raise InputError(f"{name}: gives no query a group, every cell is empty; fill in the groups")
    if without:
        queries = counted(len(without), "query has", "queries have")
        warn(f"{name}: {queries} no group, such as {without[0]!r}; left out of every group")
    return groups


def _numbers(table: NamedColumns, query: str, column: str) -> dict[str, float] | None:
    """Query → number of a column, blanks left out; None if it holds anything else."""
    cells = zip(table.ids(query), table.cells(column), strict=True)
    try:
        return {query: table.number(cell) for query, cell in cells if not is_blank(cell)} or None
    except ValueError:
        return None


def read_texts(source: Any, what: str) -> dict[str, str]:
    """Id → text, of queries or documents (`what`): a table with a header, or two columns (id, text) without one."""
    if isinstance(source, Mapping):
        return {id_text(key): str(text) for key, text in source.items()}
    table, column = _table(source, what, loose=True)
    ids = first_of(what, table.names, "id")
    others = [name for name in table.names if name != ids]
    if ids is None and len(others) == 2 and column is None:
        return {id_text(key): str(text) for key, text in [table.names, *table.rows]}
    if ids is None:
        raise FormatError(f"{table.source}: no column of ids among {', '.join(table.names)}; call it {what}")
    known = [column] if column else others if len(others) == 1 else [name for name in TEXTS if name in others]
    if not known:
        columns = ", ".join(table.names)
        raise FormatError(
            f"{table.source}: which column is the text? There are {columns}; name it {table.source}:COLUMN"
        )
    texts = ("" if is_blank(cell) else str(cell) for cell in table.cells(known[0]))
    return dict(zip(table.ids(ids), texts, strict=True))
