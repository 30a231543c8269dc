"""Tables about queries: groups, weights, clusters, texts, or any other column beside an id."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, Final

from rankgauge.errors import FormatError
from rankgauge.read.frames import is_frame
from rankgauge.read.names import SPELLINGS, normal
from rankgauge.read.records import id_text
from rankgauge.read.sources import find_source
from rankgauge.read.tables import NamedColumns, is_blank, read_table

__all__ = ["column_of_frame", "query_column", "read_groups_and_numbers", "read_query_table", "read_texts"]

VALUES: Final = {
    "group": ("group", "segment", "stratum", "by", "category", "class"),
    "weight": ("weight", "traffic", "count"),
    "cluster": ("cluster", "user", "user_id", "session", "session_id", "intent"),
}
TEXTS: Final = ("title", "text", "query", "question", "topic", "passage")


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
    return _groups(_pairs(table, table.cells(column))) if column in table.names else None


def query_column(table: NamedColumns) -> str:
    """The column that holds the ids of queries."""
    columns = table.called(SPELLINGS["query_id"])
    if not columns:
        raise FormatError(f"{table.source}: no query column among {', '.join(table.names)}; call it query_id")
    return columns[0]


def _table(source: Any, key: str, *, loose: bool = False) -> tuple[NamedColumns, str | None]:
    """A table of ids of this role, and the column that `FILE:COLUMN` names."""
    if not isinstance(source, (str, os.PathLike)):
        return read_table(source, "the frame" if is_frame(source) else "the table"), None
    path = os.fspath(source)
    head, colon, column = path.rpartition(":")
    named = bool(colon) and not os.path.exists(path) and os.path.exists(head)
    table = read_table(find_source(head if named else path), key=key, loose=loose)
    return table, column if named else None


def _pairs(table: NamedColumns, cells: Iterable[Any]) -> dict[str, Any]:
    """Query id → cell; a query that has two different ones is refused."""
    pairs: dict[str, Any] = {}
    for row, (query, cell) in enumerate(zip(table.ids(query_column(table)), cells, strict=True)):
        value = None if cell != cell else cell  # NaN
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
        return _groups({id_text(query): value for query, value in source.items()}), {}
    table, column = _table(source, "query_id")
    query = query_column(table)
    columns = {name: _numbers(table, query, name) for name in table.names if name != query}
    words = [name for name, numbers in columns.items() if numbers is None]
    known = [name for name in columns if normal(name) in VALUES["group"]]
    if column is None and len(known) != 1 and len(words) == 1:
        column = words[0]
    group = _value_column(table, "group", column)
    others = {name: numbers for name, numbers in columns.items() if numbers and name != group}
    return _groups(_pairs(table, table.cells(group))), others


def _groups(pairs: Mapping[str, Any]) -> dict[str, str]:
    return {query: str(group) for query, group in pairs.items() if not is_blank(group)}


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
    ids = table.called((*SPELLINGS[what], "_id", "id"))[:1]
    others = [name for name in table.names if name not in ids]
    if not ids and len(others) == 2 and column is None:
        return {id_text(key): str(text) for key, text in [table.names, *table.rows]}
    if not ids:
        raise FormatError(f"{table.source}: no column of ids among {', '.join(table.names)}; call it {what}")
    known = [column] if column else others if len(others) == 1 else [name for name in TEXTS if name in others]
    if not known:
        columns = ", ".join(table.names)
        raise FormatError(
            f"{table.source}: which column is the text? There are {columns}; name it {table.source}:COLUMN"
        )
    texts = ("" if is_blank(cell) else str(cell) for cell in table.cells(known[0]))
    return dict(zip(table.ids(ids[0]), texts, strict=True))
