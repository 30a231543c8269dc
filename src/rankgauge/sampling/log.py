"""A log of searches → its distinct queries with their traffic. Spellings of one query are folded into it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.errors import FormatError, choices, counted, unknown, warn, way
from rankgauge.read.records import id_text
from rankgauge.read.tables import NamedColumns, is_blank, read_table

if TYPE_CHECKING:
    import polars as pl

    from rankgauge.dtypes import Ints

__all__ = ["COLUMNS", "FOLDS", "Log", "folded", "read_log"]

# Role → the names that its column may have; `user_query` is that of UBI.
COLUMNS: Final = {
    "query": ("query", "user_query", "query_text", "search_term", "search_query", "keyword", "keywords", "q", "text"),
    "count": ("count", "traffic", "searches", "search_count", "query_count", "frequency", "freq", "volume"),
    "need": ("need", "information_need", "intent", "narrative", "description"),
    "id": (),
    "stratum": (),
}
FOLDS: Final = {
    "text": "case, blanks and punctuation",
    "words": "case, blanks, punctuation and the order of words",
}
IN_THOUSANDS: Final = re.compile(r"[1-9]\d{0,2}(?:[.,]\d{3})+")  # as people write counts, and others a fraction
MEANT: Final = "#%&@"  # punctuation by its category, which tells c# from c and 100% from 100
MOST: Final = 2**53  # searches of a query: beyond, a float cannot tell one more
EXAMPLES: Final = 3
NONE: Final = "(none)"  # the stratum of queries that the log gives none


class _Blanks(dict[int, int]):
    """Character → itself, or a blank where it is punctuation; worked out when it is first met."""

    def __missing__(self, code: int) -> int:
        letter = chr(code)
        self[code] = 32 if unicodedata.category(letter)[0] == "P" and letter not in MEANT else code
        return self[code]


BLANKS: Final = _Blanks()


def folded(query: str, fold: str = "text") -> str:
    """What spellings of a query have in common: NFKC, no case, one blank for blanks and punctuation.

    A query of punctuation alone stays what it is. Misspelt queries are queries: people type them, and are to be served.

    >>> folded("  Wi-Fi  ROUTER!"), folded("ｷﾞﾀｰ"), folded("C#"), folded("shoes red", "words")
    ('wi fi router', 'ギター', 'c#', 'red shoes')
    """
    plain = query.casefold()
    if not query.isascii():
        plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", query).casefold())
    words = plain.translate(BLANKS).split() or plain.split()
    return " ".join(sorted(words) if fold == "words" else words)


@dataclass(frozen=True, eq=False)
class Log:
    """The distinct queries of a log, in the order of their keys, and what became of its rows."""

    source: str
    keys: list[str]
    queries: list[str]  # the spelling that was typed most
    traffic: Ints
    columns: Mapping[str, list[str | None]]  # role (need, id, stratum) → what most searches of the query had
    rows: int
    spellings: int
    blank: int  # rows without a query
    examples: list[tuple[str, ...]]  # the queries of most traffic that have several spellings, with these

    def __len__(self) -> int:
        return len(self.keys)


def read_log(source: Any, *, columns: Mapping[str, str] | None = None, fold: str = "text") -> Log:
    """The log in a file or a frame: a row a query with a count, or a row a search. `columns`: role → the name."""
    table = _flat(read_table(source, "the log", loose=True))
    query = _column(table, "query", columns or {})
    if query is None:
        how = way("columns={'query': 'NAME'}", "--query-column NAME") or '[queries] columns = { query = "NAME" }'
        known = f"call it query, or name it: {how}"
        raise FormatError(f"{table.source}: no column holds the queries; there are {', '.join(table.names)}; {known}")
    others = {role: _column(table, role, columns or {}) for role in ("count", "need", "id", "stratum")}
    texts = table.convert(query, lambda cell: None if is_blank(cell) else id_text(cell), "the text of a query")
    count = others.pop("count")
    traffic = [1] * len(table) if count is None else table.convert(count, _count(table), "a whole number of searches")
    about = {role: table.convert(name, _text, "text") for role, name in others.items() if name is not None}
    return _grouped(table, texts, traffic, about, fold)


def _flat(table: NamedColumns) -> NamedColumns:
    """The table itself, or what is under `_source` where search engines keep a document's fields."""
    inner = table.cells("_source") if "_source" in table.names else []
    if not inner or not all(isinstance(each, dict) for each in inner):
        return table
    names = list(dict.fromkeys(str(name) for each in inner for name in each))
    rows: list[Sequence[Any]] = [[each.get(name) for name in names] for each in inner]
    return NamedColumns(table.source, names, rows, table.lines, table.delimiter)


def _column(table: NamedColumns, role: str, columns: Mapping[str, str]) -> str | None:
    """The column of a role: the one that is named, or that has one of its names, the surest first."""
    if role in columns:
        if columns[role] not in table.names:
            words = f"{table.source}: there is no column {columns[role]!r}"
            raise FormatError(unknown(words, columns[role], table.names, f"the columns are {', '.join(table.names)}"))
        return columns[role]
    return next((found for name in COLUMNS[role] for found in table.called([name])), None)


def _count(table: NamedColumns) -> Any:
    def whole(cell: Any) -> int:
        if isinstance(cell, str) and len(cell) < 16 and cell.isdecimal():
            return int(cell)
        if isinstance(cell, str) and IN_THOUSANDS.fullmatch(cell.strip()):
            raise ValueError(f"{cell.strip()!r} may have its thousands parted; write {re.sub(r'[^0-9]', '', cell)}")
        number = table.number(cell)
        if number < 0 or not number.is_integer() or number > MOST:
            problem = "is negative" if number < 0 else "is too large" if number > MOST else "is a fraction"
            raise ValueError(f"{cell!r} {problem}")
        return int(number)

    return whole


def _text(cell: Any) -> str | None:
    return None if is_blank(cell) else str(cell)


def _grouped(
    table: NamedColumns,
    texts: list[str | None],
    traffic: list[int],
    about: Mapping[str, list[str | None]],
    fold: str,
) -> Log:
    """Rows → queries, in an order that does not depend on that of the rows."""
    import polars as pl

    if fold not in FOLDS:
        raise FormatError(
            unknown(f"there is no way {fold!r} to fold queries", fold, FOLDS, f"there are {choices(FOLDS)}")
        )
    frame = pl.DataFrame({"query": texts, "traffic": traffic, **about}, schema_overrides=_schema(about))
    blank, never = frame["query"].null_count(), int((frame["traffic"] == 0).sum())
    frame = frame.filter(pl.col("query").is_not_null(), pl.col("traffic") > 0)
    for number, words in ((blank, "hold no query"), (never, "have a count of 0")):
        if number:
            warn(f"{table.source}: {counted(number, 'row')} of {len(table):,} {words}; left out")
    if not len(frame):
        raise FormatError(f"{table.source}: holds no queries; expected a row a query, or a row a search")
    spelled = frame.group_by("query").agg(pl.col("traffic").sum())
    keys = pl.Series("key", [folded(query, fold) for query in spelled["query"]], dtype=pl.String)
    spelled = spelled.with_columns(keys).sort(["key", "traffic", "query"], descending=[False, True, False])
    groups = spelled.group_by("key", maintain_order=True)
    found = groups.agg(pl.col("query").first(), pl.col("traffic").sum(), pl.col("query").alias("spellings"))
    keyed = frame.join(spelled.select("query", "key"), on="query") if about else frame
    most = {role: _most(keyed, role, found["key"]) for role in about}
    return Log(
        table.source,
        found["key"].to_list(),
        found["query"].to_list(),
        found["traffic"].to_numpy().astype(np.int64),
        most,
        len(table),
        len(spelled),
        blank,
        [*_examples(found)],
    )


def _schema(about: Iterable[str]) -> dict[str, Any]:
    import polars as pl

    return {"query": pl.String, "traffic": pl.Int64, **dict.fromkeys(about, pl.String)}


def _most(frame: pl.DataFrame, column: str, keys: pl.Series) -> list[str | None]:
    """For each query what most of its searches have in a column; of equals, the first in order."""
    import polars as pl

    counts = frame.filter(pl.col(column).is_not_null()).group_by("key", column).agg(pl.col("traffic").sum())
    ordered = counts.sort(["key", "traffic", column], descending=[False, True, False])
    first = ordered.group_by("key", maintain_order=True).agg(pl.col(column).first())
    return keys.to_frame().join(first, on="key", how="left", maintain_order="left")[column].to_list()


def _examples(found: pl.DataFrame) -> Iterator[tuple[str, ...]]:
    import polars as pl

    several = found.filter(pl.col("spellings").list.len() > 1).sort(["traffic", "key"], descending=[True, False])
    yield from (tuple(spellings) for spellings in several["spellings"].head(EXAMPLES).to_list())
