"""What can be wrong with judgments by themselves, and with a run by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.errors import counted
from rankgauge.validation.codes import EXAMPLES, Draft, Example, about_queries
from rankgauge.validation.quick import SHORT, contradicting

if TYPE_CHECKING:
    import polars as pl

    from rankgauge.dtypes import Bools, Floats, Ints
    from rankgauge.validation.table import Table

__all__ = ["check_judgments", "check_run", "flipped", "look_inverted", "short_queries"]

LEVELS: Final = 3


def check_judgments(table: Table) -> Iterator[Draft]:
    """Every finding about judgments alone."""
    grades, again, empty = table.columns.number, table.again, table.nothing_relevant
    same = again["number"] == again["before"]
    yield from _repeated("RG101", table, again.filter(same), "none: it counts once")
    yield from _repeated("RG102", table, again.filter(~same))
    if len(empty):
        effect = f"the mean over queries cannot exceed {1 - len(empty) / len(table.columns.queries):.4f}"
        yield about_queries("RG103", table, table.first_of(empty), effect)
    if look_inverted(grades):
        levels, counts = np.unique(grades, return_counts=True)
        pairs = zip(levels.tolist(), counts.tolist(), strict=True)
        listed = ", ".join(f"{grade:g}: {count:,}" for grade, count in pairs)
        yield Draft("RG104", table.name, len(grades), [Example(f"grade: how often: {listed}")])
    decimals = np.flatnonzero(grades != np.trunc(grades)).tolist()
    if decimals:
        shown = [Example(f"grade {grades[row]:g}", table, row) for row in decimals[:EXAMPLES]]
        yield Draft("RG105", table.name, len(decimals), shown)


def _repeated(code: str, table: Table, rows: pl.DataFrame, effect: str = "") -> Iterator[Draft]:
    """Pairs that were there before."""
    shown = []
    for row, first, number, before in rows.head(EXAMPLES).select("row", "first", "number", "before").rows():
        words = ", first" if code == "RG201" else f": {number:g}, and {before:g}"
        pair = f"query {table.query_of(row)}, document {table.columns.doc[row]}"
        shown.append(Example(pair + words, table, row, first))
    if shown:
        yield Draft(code, table.name, len(rows), shown, effect)


def look_inverted(grades: Any) -> bool:
    """Three levels or more, no 0, and the lowest level rarer than the highest: 1 seems to be the best."""
    grades = np.asarray(grades)
    levels, counts = np.unique(grades[grades >= 0], return_counts=True)
    return len(levels) >= LEVELS and bool(levels[0] > 0 and counts[0] < counts[-1])


def flipped(grades: Floats) -> Floats:
    """The same grades with the scale turned round; negative grades stay."""
    turned: Floats = np.where(grades > 0, grades.max() + 1 - grades, grades)
    return turned


# ---- runs ------------------------------------------------------------------------------------------------------------


def check_run(table: Table) -> Iterator[Draft]:
    """Every finding about a run alone."""
    yield from _repeated("RG201", table, table.again)
    for check in (_ranks, _tied, _short, _constant, _itself):
        yield from check(table)


def _by_query(code: str, table: Table, rows: Ints) -> Iterator[Draft]:
    """A finding that counts queries, shown by the first of these rows of each."""
    _, first = np.unique(table.columns.query[rows], return_index=True)
    if len(first):
        share = f"{len(first):,} of {counted(len(table.columns.queries), 'query', 'queries')}"
        yield about_queries(code, table, rows[first], share)


def _ranks(table: Table) -> Iterator[Draft]:
    """Documents that have a worse rank and a better score than the one before them by rank; ranks of 0."""
    if table.ranks is None:
        return
    grouped, ranks, scores = table.grouped, table.ranks, table.columns.number
    if grouped.row is not None:
        ranks, scores = ranks[grouped.row], scores[grouped.row]
    yield from _by_query("RG202", table, grouped.rows(contradicting(grouped.query, ranks, scores)))
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
