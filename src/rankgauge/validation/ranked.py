"""What can be wrong with a run by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rankgauge.errors import counted
from rankgauge.validation.drafts import Draft, Example, about_queries
from rankgauge.validation.quick import SHORT
from rankgauge.validation.sample import contradicting
from rankgauge.validation.table import EXAMPLES, Table

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Ints

__all__ = ["check_run", "short_queries"]


def check_run(table: Table) -> Iterator[Draft]:
    """Every finding about a run alone."""
    for check in (_twice, _contradiction, _from_zero, _tied, _short, _constant, _itself):
        yield from check(table)


def _twice(table: Table) -> Iterator[Draft]:
    frame = table.repeated
    again = frame.filter(frame["row"] != frame["first"])
    shown = [
        Example(f"query {table.query_of(row)}, document {table.columns.doc[row]}, first", table, row, first)
        for row, first in again.head(EXAMPLES).select("row", "first").rows()
    ]
    if shown:
        yield Draft("RG201", table.name, len(again), shown)


def _by_query(code: str, table: Table, rows: Ints) -> Iterator[Draft]:
    """A finding that counts queries, shown by the first of these rows of each."""
    numbers, first = np.unique(table.columns.query[rows], return_index=True)
    if len(numbers):
        share = f"{len(numbers):,} of {counted(len(table.columns.queries), 'query', 'queries')}"
        yield about_queries(code, table, numbers.tolist(), rows[first], share)


def _contradiction(table: Table) -> Iterator[Draft]:
    """Documents that have a worse rank and a better score than the one before them by rank."""
    if table.ranks is None:
        return
    grouped, ranks, scores = table.grouped, table.ranks, table.columns.number
    if grouped.row is not None:
        ranks, scores = ranks[grouped.row], scores[grouped.row]
    yield from _by_query("RG202", table, grouped.rows(contradicting(grouped.query, ranks, scores)))


def _from_zero(table: Table) -> Iterator[Draft]:
    if table.ranks is not None:
        yield from _by_query("RG203", table, np.flatnonzero(table.ranks == 0))


def _tied(table: Table) -> Iterator[Draft]:
    scores, query = table.scores, table.grouped.query
    equal: Bools = (scores[1:] == scores[:-1]) & (query[1:] == query[:-1])
    tied = int(np.count_nonzero(equal))
    if tied:
        numbers = np.unique(query[1:][equal])[:EXAMPLES].tolist()
        share = f"{tied / len(scores):.0%} of the rows"
        yield Draft("RG204", table.name, tied, [_tie(table, number) for number in numbers], share)


def _tie(table: Table, number: int) -> Example:
    """The first document of a query that shares its score."""
    rows = table.rows_of(number)
    scores = table.columns.number[rows].tolist()
    counts = Counter(scores)
    at, score = next((at, score) for at, score in enumerate(scores) if counts[score] > 1)
    what = f"query {table.columns.queries[number]}: {counts[score]:,} documents score {score:g}"
    return Example(what, table, int(rows[at]))


def short_queries(table: Table) -> Ints:
    """The numbers of the queries that have far fewer documents than is usual."""
    return np.flatnonzero(table.sizes < SHORT * float(np.median(table.sizes)))


def _short(table: Table) -> Iterator[Draft]:
    short = short_queries(table).tolist()
    if short:
        shown = [
            Example(
                f"query {table.columns.queries[number]}: {counted(int(table.sizes[number]), 'document')}",
                table,
                int(table.rows_of(number)[-1]),
            )
            for number in short[:EXAMPLES]
        ]
        usual = f"usual are {float(np.median(table.sizes)):g} documents"
        yield Draft("RG205", table.name, len(short), shown, usual)


def _constant(table: Table) -> Iterator[Draft]:
    scores, starts, ends = table.scores, table.grouped.starts, table.grouped.ends
    constant = np.flatnonzero((ends - starts > 1) & (scores[starts] == scores[ends - 1]))
    yield from _by_query("RG206", table, table.grouped.rows(starts[constant]))


def _itself(table: Table) -> Iterator[Draft]:
    import polars as pl

    grouped = table.grouped
    _, places = grouped.find(pl.Series(table.columns.queries, dtype=pl.String), grouped.starts, grouped.ends)
    yield from _by_query("RG208", table, grouped.rows(places))
