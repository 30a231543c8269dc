"""A table about queries: groups, weights, or any other column beside a query id."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from rankgauge.errors import FormatError, InputError
from rankgauge.read.frames import is_frame
from rankgauge.read.names import SPELLINGS
from rankgauge.read.records import id_text
from rankgauge.read.sources import Source, find_source

__all__ = ["column_of_frame", "frame_table", "is_query_column", "read_groups_and_numbers", "read_query_table"]
__all__ += ["read_texts", "table_of_file"]

VALUES = {
    "group": ("group", "segment", "stratum", "by", "category", "class"),
    "weight": ("weight", "traffic", "count"),
    "cluster": ("cluster", "user", "user_id", "session", "session_id", "intent"),
}


def read_query_table(source: Any, what: str) -> dict[str, Any]:
    """Query id → value, from a file or a frame with a query column and one other (or one called `what`).

    `FILE:COLUMN` names the column of a file that has several.
    """
    if is_frame(source):
        return _pairs(*frame_table(source), what, None, "the frame")
    if not isinstance(source, (str, bytes)) and not hasattr(source, "__fspath__"):
        raise InputError(f"a table of queries is a mapping, a frame or a file, not a {type(source).__name__}")
    path, column = _split(str(source))
    file = find_source(path)
    return _pairs(*table_of_file(file), what, column, file.name)


def column_of_frame(frame: Any, column: str) -> dict[str, str] | None:
    """Query id → value of a column of the judgments frame; None if there is no such column."""
    if not is_frame(frame):
        return None
    names, rows = frame_table(frame)
    if column not in names:
        return None
    return {query: str(value) for query, value in _pairs(names, rows, column, column, "the judgments").items()}


def _split(path: str) -> tuple[str, str | None]:
    import os

    head, colon, column = path.rpartition(":")
    return (head, column) if colon and not os.path.exists(path) and os.path.exists(head) else (path, None)


def frame_table(frame: Any) -> tuple[list[str], list[Sequence[Any]]]:
    """The names of a frame's columns, and its rows."""
    import polars as pl

    if type(frame).__module__.partition(".")[0] == "pandas":
        return [str(name) for name in frame.columns], list(frame.itertuples(index=False, name=None))
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    loaded = frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(frame)
    return loaded.columns, list(loaded.iter_rows())


def table_of_file(file: Source) -> tuple[list[str], list[Sequence[Any]]]:
    """The names of the columns of a file with a header, and its rows: CSV, TSV, JSON, JSON lines, Parquet, Arrow."""
    with file.open() as stream:
        data = stream.read()
    if data[:4] == b"PAR1" or data[:6] == b"ARROW1":
        import polars as pl

        try:
            frame = pl.read_parquet(data) if data[:4] == b"PAR1" else pl.read_ipc(io.BytesIO(data))
        except Exception as error:
            # polars raises many kinds for a damaged file, not all of them its own.
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise InputError(f"{file.name}: not a whole file ({reason}); fetch or write it again") from error
        return frame_table(frame)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        known = "CSV, TSV, JSON, JSON lines, Parquet or Arrow"
        raise FormatError(f"{file.name}: is not UTF-8 text; expected {known}") from None
    return _json_table(text, file.name) if text.lstrip()[:1] in "{[" and text.strip() else _delimited(text, file.name)


def _delimited(text: str, name: str) -> tuple[list[str], list[Sequence[Any]]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if "\t" in text.partition("\n")[0] else ",")
    rows: list[list[str]] = []
    try:
        for row in reader:
            if row and rows and len(row) != len(rows[0]):
                place, width = f"{name}:{reader.line_num}", len(rows[0])
                raise FormatError(f"{place}: expected {width} columns, as the header has, got {len(row)}: {row}")
            if row:
                rows.append(row)
    except csv.Error as error:
        raise FormatError(f"{name}:{reader.line_num}: {error}") from None
    if not rows:
        raise FormatError(f"{name}: is empty; expected a header such as query_id,group and a line a query")
    return rows[0], list(rows[1:])


def _json_table(text: str, name: str) -> tuple[list[str], list[Sequence[Any]]]:
    try:
        loaded = json.loads(text)
    except ValueError:
        try:
            loaded = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise FormatError(f"{name}: is neither JSON nor JSON lines: {error}") from None
    if isinstance(loaded, Mapping) and not any(isinstance(value, Mapping) for value in loaded.values()):
        if any(_normal(key) in _query_names() for key in loaded):
            loaded = [loaded]
        else:
            return ["query_id", "value"], list(loaded.items())
    if not isinstance(loaded, list) or not all(isinstance(row, Mapping) for row in loaded) or not loaded:
        raise FormatError(f"{name}: expected an object query → value, or objects with a query_id")
    names = list(loaded[0])
    return names, [[row.get(column) for column in names] for row in loaded]


def _normal(column: str) -> str:
    return column.strip().lower().replace("-", "_").replace(" ", "_")


def _query_names() -> set[str]:
    return {_normal(spelling) for spelling in SPELLINGS["query_id"]}


def is_query_column(name: str) -> bool:
    """Whether a column of this name holds the ids of queries."""
    return _normal(name) in _query_names()


def _pairs(names: list[str], rows: list[Sequence[Any]], what: str, column: str | None, source: str) -> dict[str, Any]:
    query = next((i for i, name in enumerate(names) if _normal(name) in _query_names()), None)
    if query is None:
        raise FormatError(f"{source}: no query column among {', '.join(names)}; call it query_id")
    value = _value_column(names, query, what, column, source)
    result: dict[str, Any] = {}
    for number, row in enumerate(rows, 1):
        if row[query] is None:
            raise FormatError(f"{source}, row {number}: there is no {names[query]}; give every row one")
        identifier = id_text(row[query])
        if identifier in result and result[identifier] != row[value]:
            first, second = result[identifier], row[value]
            raise FormatError(f"{source}: query {identifier!r} has two values, {first!r} and {second!r}")
        result[identifier] = row[value]
    return result


def _value_column(names: list[str], query: int, what: str, column: str | None, source: str) -> int:
    others = [i for i in range(len(names)) if i != query]
    if column is not None:
        if column not in names:
            raise FormatError(f"{source}: no column {column!r}; there are {', '.join(names)}")
        return names.index(column)
    named = [i for i in others if _normal(names[i]) in VALUES.get(what, (what,))]
    if len(named) == 1 or len(others) == 1:
        return (named or others)[0]
    raise FormatError(
        f"{source}: which column is the {what}? There are {', '.join(names[i] for i in others) or 'none'}; "
        f"name it with {source}:COLUMN"
    )


def read_groups_and_numbers(source: Any) -> tuple[dict[str, str], dict[str, dict[str, float]]]:
    """Query → group, and every other column that holds numbers (clicks, conversions): column → query → number.

    The group is the column that `read_query_table` takes; where it cannot tell, the one column that holds no numbers.
    """
    if isinstance(source, Mapping):
        return _named_groups({id_text(query): value for query, value in source.items()}), {}
    names, rows, column, place = _loaded(source)
    query = next((at for at, name in enumerate(names) if is_query_column(name)), None)
    columns = {at: _numbers(rows, query, at) for at in range(len(names)) if at != query} if query is not None else {}
    words = [at for at, numbers in columns.items() if numbers is None]
    known = [at for at in columns if _normal(names[at]) in VALUES["group"]]
    if column is None and len(known) != 1 and len(words) == 1:
        column = names[words[0]]
    groups = _pairs(names, rows, "group", column, place)
    group = _value_column(names, query or 0, "group", column, place)
    numbers = {names[at]: found for at, found in columns.items() if found and at != group}
    return _named_groups(groups), numbers


def _loaded(source: Any) -> tuple[list[str], list[Sequence[Any]], str | None, str]:
    """The names of the columns, the rows, the column asked for, and what to call the table."""
    if is_frame(source):
        return *frame_table(source), None, "the frame"
    path, column = _split(str(source))
    file = find_source(path)
    return *table_of_file(file), column, file.name


def _named_groups(groups: Mapping[str, Any]) -> dict[str, str]:
    return {query: str(group) for query, group in groups.items() if group not in (None, "")}


def _numbers(rows: list[Sequence[Any]], query: int | None, at: int) -> dict[str, float] | None:
    """Query → number of a column, blanks left out; None if it holds anything else."""
    found: dict[str, float] = {}
    for row in rows:
        if query is None or row[query] is None:
            return None
        if row[at] in (None, ""):
            continue
        try:
            found[id_text(row[query])] = float(row[at])
        except (TypeError, ValueError):
            return None
    return found or None


def read_texts(source: Any, what: str) -> dict[str, str]:
    """Id → text, of queries or documents (`what`): a table with a header, or two columns (id, text) without one."""
    if isinstance(source, Mapping):
        return {id_text(key): str(text) for key, text in source.items()}
    names, rows, column, place = _loaded(source)
    known = {_normal(each) for each in (*SPELLINGS[what], "_id", "id")}
    at = next((i for i, name in enumerate(names) if _normal(name) in known), None)
    if at is None and len(names) == 2 and column is None:
        return {id_text(key): str(text) for key, text in [names, *rows]}
    if at is None:
        raise FormatError(f"{place}: no column of ids among {', '.join(names)}; call it {what}")
    if column is not None and column not in names:
        raise FormatError(f"{place}: no column {column!r}; there are {', '.join(names)}")
    wanted = [column] if column is not None else ["title", "text", "query", "question", "topic", "passage"]
    text = next((names.index(each) for each in wanted if each in names and names.index(each) != at), None)
    if text is None:
        raise FormatError(f"{place}: which column is the text? There are {', '.join(names)}; name it {place}:COLUMN")
    return {id_text(row[at]): str(row[text] or "") for row in rows}
