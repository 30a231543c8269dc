"""Tasks of raters: how far they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rankgauge.errors import counted
from rankgauge.show.model import Column, Section, Table, Text

if TYPE_CHECKING:
    from rankgauge.raters.progress import Progress, TaskList

__all__ = ["list_sections", "progress_sections"]


def list_sections(listed: TaskList) -> Iterator[Section]:
    """A line for every task."""
    if not listed.tasks:
        yield Section("tasks", "Tasks", [Text("There is no task yet: rankgauge task make NAME PAIRS.", "lead")])
        return
    columns = [
        Column("task"), Column("state", aside=True), Column("queries", "count"), Column("pairs", "count"),
        Column("raters a query", "count", key="overlap"), Column("judgments", "count", key="judged"),
        Column("of", "count", key="wanted"), Column("raters", "count"),
    ]  # fmt: skip
    rows = [
        [
            each.task.name, "closed" if each.task.closed else "open", each.queries, each.pairs, each.task.overlap,
            each.judged, each.wanted, sum(rater.judged > 0 for rater in each.raters),
        ]
        for each in listed.tasks
    ]  # fmt: skip
    yield Section("tasks", "Tasks", [Table("tasks", "Tasks", columns, rows)])


def progress_sections(progress: Progress) -> Iterator[Section]:
    """The sentence, then rater by rater."""
    task = progress.task
    share = f"{progress.judged / progress.wanted:.0%}" if progress.wanted else "–"
    pairs, queries = counted(progress.pairs, "pair"), counted(progress.queries, "query", "queries")
    lead = (
        f"{progress.judged:,} of {counted(progress.wanted, 'judgment')} ({share}): {pairs} of {queries}, "
        f"{counted(task.overlap, 'rater')} each." + (f" Closed on {task.closed[:10]}." if task.closed else "")
    )
    columns = [
        Column("rater"), Column("judged", "count"), Column("can't tell", "count", key="unsure"),
        Column("queries done", "count", key="queries"), Column("in hand", "count", key="held"),
        Column("seconds each", "number", key="seconds"), Column("last", aside=True),
    ]  # fmt: skip
    rows = [[*rater[:-1], (rater.last or "")[:16].replace("T", " ")] for rater in progress.raters]
    table = [Table("raters", "Raters", columns, rows)] if rows else []
    yield Section("progress", f"Task {task.name}", [Text(lead, "lead"), *table])
