"""Rows of a store: how they are made, numbered and put in."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, bindparam, func, insert, select
from sqlalchemy.dialects import postgresql, sqlite

from rankgauge.errors import counted
from rankgauge.store.engine import StoreError

__all__ = [
    "MANY",
    "ago",
    "digest",
    "id_of",
    "identifier",
    "insert_into",
    "insert_new",
    "inserted",
    "is_storable",
    "now",
    "parts",
    "row_count",
    "storable",
    "texts_in",
    "written",
]

T = TypeVar("T")
MANY: Final = 10_000  # rows of one statement
UNITS: Final = (("day", 86_400), ("hour", 3_600), ("minute", 60))  # with their seconds
LONGEST: Final = 1_000  # bytes of an id: PostgreSQL's indexes hold a query and a document of this length
# Made once, for `json.dumps` makes one for every value.
_ENCODER: Final = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
HALF: Final = re.compile("[\ud800-\udfff]")


def now() -> str:
    """This moment, as stores write it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def ago(at: str, until: str | None = None) -> str:
    """The age of a stored moment in the largest unit that fits, by default now: 3 days ago.

    >>> ago("2026-11-17T08:00:00.000+00:00", "2026-11-20T12:00:00.000+00:00")
    '3 days ago'
    """
    seconds = (datetime.fromisoformat(until or now()) - datetime.fromisoformat(at)).total_seconds()
    fit = next((each for each in UNITS if seconds >= each[1]), None)
    return "less than a minute ago" if fit is None else f"{counted(int(seconds // fit[1]), fit[0])} ago"


def digest(value: Any) -> str:
    """A hash of anything that JSON can hold, the same everywhere."""
    return hashlib.sha256(written(value).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def written(value: Any) -> str:
    """Anything as JSON, the same everywhere."""
    return _ENCODER.encode(value)


def is_storable(words: str) -> bool:
    """Whether databases take a text."""
    return "\0" not in words and (words.isascii() or not HALF.search(words))


def storable(words: T, source: str) -> T:
    """The text as it is; what no database takes is refused."""
    if isinstance(words, str) and not is_storable(words):
        what = "NUL or half a character (a lone surrogate)"
        raise StoreError(f"{source} holds {what}, which cannot be stored; take it out: {words[:60]!r}")
    return words


def identifier(words: str, source: str) -> str:
    """An id as it is; one that an index cannot hold is refused."""
    size = len(storable(words, source).encode())
    if size > LONGEST:
        raise StoreError(f"{source} has {size:,} bytes; give it one of at most {LONGEST:,}: {words[:60]!r}")
    return words


def texts_in(value: Any) -> Iterator[str]:
    """Every text inside a value, names of fields too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield name
            yield from texts_in(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from texts_in(each)


def id_of(connection: Connection, table: Any, unique: tuple[str, ...], row: Mapping[str, Any]) -> int:
    """The number of the row that has these values, which is made if there is none."""
    found = connection.scalar(_number(table, unique), {name: row[name] for name in unique})
    return int(found) if found is not None else inserted(connection, table, row)


@cache
def _number(table: Any, unique: tuple[str, ...]) -> Any:
    (key,) = table.primary_key.columns
    return select(key).where(*(table.c[name] == bindparam(name) for name in unique))


def inserted(connection: Connection, table: Any, row: Mapping[str, Any]) -> int:
    """Insert a row; its number."""
    (key,) = table.primary_key.columns
    return int(connection.scalar(insert(table).values(**row).returning(key)) or 0)


def insert_new(connection: Connection, table: Any, rows: Sequence[Mapping[str, Any]]) -> int:
    """Insert the rows whose key is new; how many there were."""
    added = insert_into(connection.dialect.name, table).on_conflict_do_nothing()
    before = row_count(connection, table)
    for part in parts(rows):
        connection.execute(added, part)
    return row_count(connection, table) - before


def row_count(connection: Connection, table: Any) -> int:
    """How many rows a table has."""
    return int(connection.scalar(select(func.count()).select_from(table)) or 0)


def insert_into(dialect: str, table: Any) -> Any:
    """An insertion that can say what happens to a row whose key is there already."""
    return (postgresql if dialect == "postgresql" else sqlite).insert(table)


def parts(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The rows, no more at a time than one statement takes."""
    return (rows[at : at + MANY] for at in range(0, len(rows), MANY))
