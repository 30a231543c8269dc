"""What the order of equal scores leaves open: value, lowest, expected and highest of every run and measure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rankgauge.show.model import Column, Section, Table

if TYPE_CHECKING:
    from rankgauge.result import TieBands

__all__ = ["sections"]


def sections(ties: TieBands, *, per_query: bool = False) -> Iterator[Section]:
    """A row per run and measure, or per query; whether a band is exact, where one is not."""
    rows = ties.rows(per_query=per_query)
    columns = [Column("run"), Column("measure"), *([Column("query", "query", key="query_id")] if per_query else [])]
    columns += [Column(head, "number") for head in ("value", "low", "expected", "high")]
    notes = ["low and high are what some order of equal scores gives, expected is the mean over all orders."]
    if not all(row["exact"] for row in rows):
        columns.append(Column("exact", "yes"))
        notes.append("Not exact: too many orders to try, the band is at least as wide.")
    if any(row["standard_error"] for row in rows):
        columns.append(Column("±", "number", key="standard_error"))
        notes.append("±: the standard error of an expectation that was sampled.")
    cells = [[row[column.key or column.head] for column in columns] for row in rows]
    yield Section("ties", "Equal scores", [Table("ties", "", columns, cells, notes), Table.of_rows(rows)])
