"""Judgments and runs as `validate` looks at them: every row, also those that are there twice, with the rank beside."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.errors import InputError, RankgaugeError, RankgaugeWarning
from rankgauge.matching.grouping import Grouped, group
from rankgauge.matching.order import descending_within, sort_within
from rankgauge.matching.unpack import numbers_of
from rankgauge.protocol import REPEATING
from rankgauge.read import Columns, Judgments, Record, RecordSource, Run, find_rows
from rankgauge.read.formats import recognise
from rankgauge.read.rows import Ask, Content, Rows
from rankgauge.read.sources import Source, find_source

if TYPE_CHECKING:
    import polars as pl

    from rankgauge.dtypes import Floats, Ints


__all__ = ["Table", "read_table"]

HEADERS: Final = {"csv": 1, "tsv": 1}  # lines before the first row
FIELDS: Final = ("trec", "msmarco")  # formats whose rows are all lines that are neither blank nor a comment
WINDOW: Final = 1 << 20


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of (query, document, number) as columns, the rank of each where there is one, and where they stand."""

    name: str
    columns: Columns
    ranks: Ints | None
    places: Places

    @cached_property
    def grouped(self) -> Grouped:
        """The rows brought together by query."""
        return group(self.columns)

    @property
    def sizes(self) -> Ints:
        """How many rows each query has."""
        return self.grouped.ends - self.grouped.starts

    @cached_property
    def number(self) -> dict[str, int]:
        """Query → its number."""
        return {query: number for number, query in enumerate(self.columns.queries)}

    @cached_property
    def scores(self) -> Floats:
        """The numbers query by query, in descending order within each."""
        rows, numbers = self.grouped.row, self.columns.number
        scores = numbers if rows is None else numbers[rows]
        if not descending_within(scores, self.grouped.starts):
            scores = scores.copy() if rows is None else scores
            sort_within(scores, self.sizes)
        return scores

    def query_of(self, row: int) -> str:
        """The id of a row's query."""
        return self.columns.queries[int(self.columns.query[row])]

    def names(self, numbers: Ints) -> list[str]:
        """The ids of the queries with these numbers."""
        return [self.columns.queries[number] for number in numbers.tolist()]

    def rows_of(self, number: int) -> Ints:
        """The rows of the query with this number, in the order given."""
        return self.grouped.rows(np.arange(self.grouped.starts[number], self.grouped.ends[number]))

    def first_of(self, numbers: list[int] | Ints) -> Ints:
        """The first row of each of these queries."""
        return self.grouped.rows(self.grouped.starts[numbers])

    def documents(self, query: str) -> dict[str, int]:
        """The documents of a query, each with its first row."""
        rows = self.rows_of(self.number[query])[::-1]
        return dict(zip(self.columns.doc.gather(rows).to_list(), rows.tolist(), strict=True))

    @cached_property
    def repeated(self) -> pl.DataFrame:
        """Rows whose pair is there more than once: `row`, `first` (its first row), its number, the least and the
        greatest number of the pair."""
        import polars as pl

        rows = self.grouped.repeated()
        taken = self.columns.take(rows)
        frame = pl.DataFrame({"query": taken.query, "doc": taken.doc, "row": rows, "number": taken.number})
        number, pair = pl.col("number"), ("query", "doc")
        return frame.with_columns(
            first=pl.col("row").first().over(pair),
            before=number.first().over(pair),
            low=number.min().over(pair),
            high=number.max().over(pair),
        )

    @property
    def again(self) -> pl.DataFrame:
        """Those of them whose pair was there before."""
        return self.repeated.filter(self.repeated["row"] != self.repeated["first"])

    @cached_property
    def nothing_relevant(self) -> Ints:
        """The numbers of the queries without a grade above 0."""
        best = np.full(len(self.columns.queries), -np.inf)
        np.maximum.at(best, self.columns.query, self.columns.number)
        return np.flatnonzero(best <= 0)

    def once(self, pick: str = "before") -> Columns:
        """The columns with every pair once, at its first place: with its first number (`before`), `low` or `high`."""
        frame = self.repeated
        if not len(frame):
            return self.columns
        number = self.columns.number.copy()
        number[frame["row"].to_numpy()] = frame[pick].to_numpy()
        return replace(self.columns, number=number).take(self.first_rows)

    @cached_property
    def first_rows(self) -> Ints:
        """The rows without those whose pair was there before."""
        keep = np.ones(len(self.columns), bool)
        keep[self.again["row"].to_numpy()] = False
        return np.flatnonzero(keep)

    def by_rank(self) -> Columns:
        """The columns with every pair once and the negated rank for its number."""
        assert self.ranks is not None
        return replace(self.columns, number=-self.ranks.astype(np.float64)).take(self.first_rows)


def read_table(source: RecordSource) -> Table:
    """The rows of a source, as they are."""
    rows, kind, columns = source.rows, source.kind, source.columns
    ask = Ask(kind, columns, duplicates=REPEATING[0])
    if isinstance(rows, (str, os.PathLike, Source)):
        file = find_source(rows)
        if file.parts:
            return _table(file, ask, source.format)
        named = source.format or recognise(file, kind, columns)
        fast = (kind, named) == ("run", "trec") and not columns
        return (_fast_run(file) if fast else None) or _table(file, ask, named)
    return _table(list(rows) if isinstance(rows, Iterator) else rows, ask, source.format)


def _fast_run(file: Source) -> Table | None:
    """Scores and ranks of a TREC run at once; None where anything is out of the ordinary."""
    from rankgauge.read.trec import LAYOUTS, line_rows
    from rankgauge.read.trec_blocks import read_blocks_with_ranks

    with file.open_lines() as stream:
        both = read_blocks_with_ranks(stream)
    if both is None:
        return None
    columns, ranks = both
    origin = line_rows(file, LAYOUTS["run"])
    return Table(file.name, columns, ranks, Places(origin, len(columns), file._replace(watch=None), "trec"))


def _table(source: Any, ask: Ask, format: str | None) -> Table:
    content, name = _record(source) if isinstance(source, Record) else find_rows(source, ask, format)
    name = name or ask.kind
    columns = _columns(content, name, ask.kind)
    if not len(columns):
        raise InputError(f"{name}: holds no rows; expected at least one")
    source = source._replace(watch=None) if isinstance(source, Source) else source  # what follows is no progress
    file = source if isinstance(source, Source) else None
    places = Places(content.origin or Rows(name, "row", lambda: iter(())), len(columns), file, format)
    return Table(name, columns, _ranks(source, ask, format, content, columns), places)


def _record(record: Record) -> tuple[Content, str]:
    by = record.by if isinstance(record, Run) else "score"
    scores = record.has_scores if isinstance(record, Run) else True
    return Content(record.nested if record.is_nested else record.columns, by=by, has_scores=scores), record.source


def _columns(content: Content, name: str, kind: str) -> Columns:
    """The content as columns; of a dict each number is looked at, and queries without documents are left out."""
    if isinstance(content.rows, Columns):
        return content.rows
    rows = {query: docs for query, docs in content.rows.items() if docs}
    record: Record = Judgments(rows, source=name) if kind == "judgments" else Run(rows, source=name)
    numbers_of(record, list(rows.values()), record.queries)
    return record.columns


def _ranks(source: Any, ask: Ask, format: str | None, content: Content, columns: Columns) -> Ints | None:
    """The rank of every row; None where there is no such column, or where it holds something else."""
    if ask.kind == "judgments":
        return None
    if content.by == "rank":
        return (-columns.number).astype(np.int64)
    if isinstance(source, Record):
        return None
    try:
        with warnings.catch_warnings(action="ignore", category=RankgaugeWarning):
            again, name = find_rows(source, ask._replace(by="rank"), format)
            ranked = _columns(again, name, ask.kind)
    except RankgaugeError:
        return None
    return (-ranked.number).astype(np.int64) if again.by == "rank" and len(ranked) == len(columns) else None


# ---- where rows stand ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Places:
    """How to find the number of a row in its file: the line, or how many rows came before.

    It is looked up for the few that are shown, so that reading need not keep it for millions.
    """

    origin: Rows
    size: int
    file: Source | None = None
    format: str | None = None

    def numbers(self, rows: Iterable[int]) -> dict[int, int]:
        """Row → its number, found in one pass over the file at most."""
        wanted = set(rows)
        if not wanted or self.origin.unit != "line" or self.file is None:
            return {row: row + 1 for row in wanted}
        headers = HEADERS.get(self.format or "", 0)
        if not self.file.parts and _lines(self.file) == self.size + headers:  # as many lines as rows: one each
            return {row: row + 1 + headers for row in wanted}
        fields = self.format in FIELDS and not self.file.parts
        numbered = _lines_with_fields(self.file) if fields else (row[0] for row in self.origin.each())
        last = max(wanted)
        found = {}
        for row, line in enumerate(numbered):
            if row in wanted:
                found[row] = line
            if row == last:
                break
        return found


def _lines(file: Source) -> int:
    """How many lines a file has, the last one with or without its newline."""
    count, last = 0, b"\n"
    with file.open_text() as stream:
        while data := stream.read(WINDOW):
            count += data.count(b"\n")
            last = data[-1:]
    return count + (last != b"\n")


def _lines_with_fields(file: Source) -> Iterator[int]:
    """The numbers of the lines that hold a row."""
    with file.open_lines() as stream:
        for line, text in enumerate(stream, 1):
            start = text.split(None, 1)[:1]
            if start and not start[0].startswith(b"#"):
                yield line
