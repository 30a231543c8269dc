"""Findings in the making: what was found, with examples that name rows; lines are looked up for all of them at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from rankgauge.validation.codes import Finding
from rankgauge.validation.table import EXAMPLES, Table

if TYPE_CHECKING:
    from rankgauge.dtypes import Ints

__all__ = ["Draft", "Example", "about_queries", "finish"]


class Example(NamedTuple):
    """A text about a row of a table, and the row that it repeats, if any."""

    text: str
    table: Table | None = None
    row: int = 0
    first: int | None = None

    @property
    def rows(self) -> list[int]:
        """The rows that it names."""
        return [self.row] if self.first is None else [self.row, self.first]

    def shown(self, numbers: dict[int, int]) -> str:
        """With the lines that the rows have."""
        if self.table is None:
            return self.text
        places = self.table.places
        before = "" if self.first is None else f" at {places.unit} {numbers[self.first]}"
        return f"{places.show(numbers[self.row])}: {self.text}{before}"


@dataclass(frozen=True, slots=True)
class Draft:
    """A finding whose examples are still rows."""

    code: str
    source: str
    count: int
    examples: list[Example]
    effect: str = ""

    def also(self, effect: str) -> Draft:
        """The same with one more thing that it does to the score."""
        return replace(self, effect="; ".join(filter(None, (self.effect, effect))))


def about_queries(code: str, table: Table, numbers: Iterable[int], rows: Ints, effect: str = "") -> Draft:
    """A finding that counts queries: their numbers, and the row of each that shows it."""
    pairs = list(zip(numbers, rows.tolist(), strict=True))
    shown = [Example(f"query {table.columns.queries[number]}", table, row) for number, row in pairs[:EXAMPLES]]
    return Draft(code, table.name, len(pairs), shown, effect)


def finish(drafts: list[Draft]) -> list[Finding]:
    """The findings, with the lines of their examples."""
    wanted: dict[Table, set[int]] = {}
    for example in (example for draft in drafts for example in draft.examples):
        if example.table is not None:
            wanted.setdefault(example.table, set()).update(example.rows)
    numbers = {table: table.places.numbers(rows) for table, rows in wanted.items()}
    return [
        Finding(
            draft.code,
            draft.source,
            draft.count,
            [example.shown(numbers[example.table] if example.table else {}) for example in draft.examples],
            draft.effect,
        )
        for draft in drafts
    ]
