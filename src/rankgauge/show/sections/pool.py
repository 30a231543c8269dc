"""A pool: how many pairs there are to judge, and what each run has of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rankgauge.errors import counted
from rankgauge.show.model import Column, Notes, Section, Table, Text

if TYPE_CHECKING:
    from rankgauge.judge.pool import Pool

__all__ = ["sections"]

NAMED: Final = 3  # documents that are named


def sections(pool: Pool) -> Iterator[Section]:
    """The answer, then run by run."""
    pairs, queries = counted(len(pool.pairs), "pair"), counted(pool.queries, "query", "queries")
    had = f"; {pool.judged:,} of {pool.found:,} in the pool have a grade" if pool.judged else ""
    columns = [Column("run"), Column("pairs", "count"), Column("share", "share", 1)]
    rows = [[name, count, count / len(pool.pairs) if pool.pairs else None] for name, count in pool.runs.items()]
    table = Table("runs", "Pairs that each run found", columns, rows)
    yield Section("pool", "Pool", [Text(f"{pairs} of {queries} to judge{had}.", "lead"), table, Notes([*_notes(pool)])])


def _notes(pool: Pool) -> Iterator[str]:
    kept = f", of every query the {pool.take} first by {pool.order}" if pool.take is not None else ""
    yield f"The first {pool.depth} documents of each run{kept}; the order within a query tells nothing."
    if pool.textless:
        some = ", ".join(pool.textless[:NAMED]) + (", …" if len(pool.textless) > NAMED else "")
        yield f"{counted(len(pool.textless), 'document')} without a text ({some}); give --documents."
