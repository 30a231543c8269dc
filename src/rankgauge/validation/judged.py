"""What can be wrong with judgments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.validation.drafts import Draft, Example, about_queries
from rankgauge.validation.table import EXAMPLES, Table

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats

__all__ = ["check_judgments", "flipped", "look_inverted"]

LEVELS: Final = 3


def check_judgments(table: Table) -> Iterator[Draft]:
    """Every finding about judgments alone."""
    yield from _twice(table)
    yield from _nothing_relevant(table)
    grades = table.columns.number
    if look_inverted(grades):
        levels, counts = np.unique(grades, return_counts=True)
        pairs = zip(levels.tolist(), counts.tolist(), strict=True)
        listed = ", ".join(f"{grade:g}: {count:,}" for grade, count in pairs)
        yield Draft("RG104", table.name, len(grades), [Example(f"grade: how often: {listed}")])
    decimals = np.flatnonzero(grades != np.trunc(grades)).tolist()
    if decimals:
        shown = [Example(f"grade {grades[row]:g}", table, row) for row in decimals[:EXAMPLES]]
        yield Draft("RG105", table.name, len(decimals), shown)


def _twice(table: Table) -> Iterator[Draft]:
    frame = table.repeated
    again = frame.filter(frame["row"] != frame["first"])
    same = again["number"] == again["before"]
    for code, part in (("RG101", again.filter(same)), ("RG102", again.filter(~same))):
        shown = [_second(table, *row) for row in part.head(EXAMPLES).select("row", "first", "number", "before").rows()]
        if shown:
            yield Draft(code, table.name, len(part), shown, "none: it counts once" if code == "RG101" else "")


def _second(table: Table, row: int, first: int, grade: float, before: float) -> Example:
    pair = f"query {table.query_of(row)}, document {table.columns.doc[row]}"
    return Example(f"{pair}: {grade:g}, and {before:g}", table, row, first)


def _nothing_relevant(table: Table) -> Iterator[Draft]:
    columns = table.columns
    best = np.full(len(columns.queries), -np.inf)
    np.maximum.at(best, columns.query, columns.number)
    without = np.flatnonzero(best <= 0)
    if len(without):
        rows = table.grouped.rows(table.grouped.starts[without])
        effect = f"the mean over queries cannot exceed {1 - len(without) / len(best):.4f}"
        yield about_queries("RG103", table, without.tolist(), rows, effect)


def look_inverted(grades: Any) -> bool:
    """Three levels or more, no 0, and the lowest level rarer than the highest: 1 seems to be the best."""
    grades = np.asarray(grades)
    levels, counts = np.unique(grades[grades >= 0], return_counts=True)
    return len(levels) >= LEVELS and bool(levels[0] > 0 and counts[0] < counts[-1])


def flipped(grades: Floats) -> Floats:
    """The same grades with the scale turned round; negative grades stay."""
    turned: Floats = np.where(grades > 0, grades.max() + 1 - grades, grades)
    return turned
