"""Judgments and runs as `validate` looks at them: every row with its line, and the rank beside the score."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rankgauge.errors import DuplicateError, RankgaugeError, RankgaugeWarning
from rankgauge.match import Hits, match
from rankgauge.measures import Measure
from rankgauge.protocol import DEFAULT
from rankgauge.read import Judgments, Run, read_judgments, read_run
from rankgauge.read.files import Source, find_source
from rankgauge.read.formats import recognise
from rankgauge.read.lines import LAYOUTS, line_rows
from rankgauge.read.rows import Row

__all__ = ["EXAMPLES", "Table", "hits_of", "mean_of", "read_table"]

EXAMPLES = 3
Nested = dict[str, dict[str, float]]


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of (line, query, document, number), the rank of each where there is one, and their places by query."""

    name: str
    unit: str
    rows: list[Row]
    ranks: list[int] | None = None
    twice: str = ""  # what a reader says about a pair that is there twice, where rows cannot be seen
    by_query: dict[str, list[int]] = field(default_factory=dict)

    def place(self, row: int) -> str:
        """`run.txt:17`, for people."""
        number = self.rows[row][0]
        return f"{self.name}:{number}" if self.unit == "line" else f"{self.name}, row {number}"

    @cached_property
    def nested(self) -> Nested:
        """Query → document → number; of a pair that is there twice the first."""
        result: Nested = {}
        for _, query, doc, number in self.rows:
            result.setdefault(query, {}).setdefault(doc, number)
        return result

    def by_rank(self) -> Nested:
        """Query → document → negated rank."""
        result: Nested = {}
        for (_, query, doc, _), rank in zip(self.rows, self.ranks or [], strict=True):
            result.setdefault(query, {}).setdefault(doc, -float(rank))
        return result


def read_table(source: Any, kind: str, *, format: str | None = None, columns: Mapping[str, str] | None = None) -> Table:
    """The rows of a source. Files of lines keep their line numbers; others count their rows."""
    if isinstance(source, (str, os.PathLike, Source)):
        file = source if isinstance(source, Source) else find_source(source)
        if (format or recognise(file, kind, columns)) == "trec":
            return _indexed(_of_lines(file, kind))
        source = file
    return _indexed(_of_record(source, kind, format, columns))


def _of_lines(file: Source, kind: str) -> Table:
    rows = list(line_rows(file, LAYOUTS[kind]).each())
    if not rows:
        _read(file, kind, "trec", None)  # says what is wrong with it
    return Table(file.name, "line", rows, _ranks_of_lines(file) if kind == "run" else None)


def _ranks_of_lines(file: Source) -> list[int] | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankgaugeWarning)
            return [int(-row[3]) for row in line_rows(file, LAYOUTS["run by rank"]).each()]
    except RankgaugeError:  # a rank column that holds something else
        return None


def _of_record(source: Any, kind: str, format: str | None, columns: Mapping[str, str] | None) -> Table:
    twice = ""
    try:
        record = _read(source, kind, format, columns)
    except DuplicateError as error:
        if kind == "judgments":
            raise
        twice = str(error)
        record = read_run(source, format=format, columns=columns, duplicates="first")
    rows = [(number, *row) for number, row in enumerate(record, 1)]
    return Table(record.source, "row", rows, _ranks_of_record(source, kind, format, columns, rows), twice)


def _ranks_of_record(
    source: Any, kind: str, format: str | None, columns: Mapping[str, str] | None, rows: list[Row]
) -> list[int] | None:
    if kind == "judgments":
        return None
    try:
        ranked = read_run(source, format=format, columns=columns, by="rank", duplicates="first")
    except RankgaugeError:
        return None
    ranks = [int(-number) for _, _, number in ranked]
    return ranks if ranked.has_scores and ranked.by == "rank" and len(ranks) == len(rows) else None


def _read(source: Any, kind: str, format: str | None, columns: Mapping[str, str] | None) -> Judgments | Run:
    if kind == "judgments":
        return read_judgments(source, format=format, columns=columns)
    return read_run(source, format=format, columns=columns)


def _indexed(table: Table) -> Table:
    for place, row in enumerate(table.rows):
        table.by_query.setdefault(row[1], []).append(place)
    return table


def hits_of(judgments: Nested, run: Nested) -> Hits | None:
    """The two matched, quietly; None where they have no query in common."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankgaugeWarning)
            return match(Judgments(judgments), Run(run), DEFAULT)
    except RankgaugeError:
        return None


def mean_of(judgments: Nested, run: Nested, measure: Measure) -> float | None:
    """The mean of a measure; None where the two have no query in common."""
    hits = hits_of(judgments, run)
    return None if hits is None else float(measure(hits).mean())
