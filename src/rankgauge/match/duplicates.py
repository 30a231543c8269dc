"""A document twice in one ranking, a judgment twice for one pair: the rules for columns.

(The line reader applies the same rules to nested dicts while it reads, because a dict cannot hold a pair twice.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgauge.errors import DuplicateError, warn
from rankgauge.match.grouping import Grouped, group, looks_repeated

if TYPE_CHECKING:
    from rankgauge.match.hits import Ints
    from rankgauge.protocol import Protocol
    from rankgauge.read.records import Columns, Judgments, Run

__all__ = ["judgments_once", "run_once"]


def run_once(run: Run, protocol: Protocol) -> Grouped:
    """The run grouped by query with every document once, as the protocol says."""
    grouped = group(run.columns)
    rows = grouped.repeated()
    if not len(rows):
        return grouped
    columns = run.columns
    if protocol.duplicates == "error":
        query, doc = _name(columns, rows[0])
        raise run.explain(query, doc) or DuplicateError(
            f"{run.source}: document {doc!r} is there twice in the ranking of query {query!r}; keep one, "
            "or choose with --duplicates first|best (duplicates= in Python)"
        )
    return group(_keep_one(columns, rows, best=protocol.duplicates == "best"))


def judgments_once(judgments: Judgments) -> Columns:
    """The judgments with every pair once; repeated with the same grade is a warning, with another an error."""
    columns = judgments.columns
    if not looks_repeated(columns):
        return columns
    rows = group(columns).repeated()
    if not len(rows):
        return columns
    kept = _keep_one(columns, rows, best=True)
    lowest = _keep_one(columns, rows, best=False, worst=True)
    conflict = np.flatnonzero(kept.number != lowest.number)
    if len(conflict):
        query, doc = _name(kept, conflict[0])
        low, high = lowest.number[conflict[0]], kept.number[conflict[0]]
        raise judgments.explain(query, doc) or DuplicateError(
            f"{judgments.source}: query {query!r} and document {doc!r} are judged {low:g} and {high:g}; keep one"
        )
    again = len(columns) - len(kept)
    warn(f"{judgments.source}: {again:,} judgments are there twice with the same grade; counted once")
    return kept


def _name(columns: Columns, row: int) -> tuple[str, str]:
    return columns.queries[columns.query[row]], str(columns.doc[int(row)])


def _keep_one(columns: Columns, rows: Ints, *, best: bool, worst: bool = False) -> Columns:
    """One row of every repeated pair, at the place of its first: the first, the best-numbered or the worst-numbered."""
    import polars as pl

    number = pl.col("number")
    pick = number.max() if best else number.min() if worst else number.first()
    repeated = columns.take(rows)
    kept = (
        pl.DataFrame({"query": repeated.query, "doc": repeated.doc, "number": repeated.number, "row": rows})
        .group_by("query", "doc", maintain_order=True)
        .agg(pick, pl.col("row").first())
    )
    number_of = columns.number.copy()
    number_of[kept["row"].to_numpy()] = kept["number"].to_numpy()
    keep = np.ones(len(columns), bool)
    keep[rows] = False
    keep[kept["row"].to_numpy()] = True
    places = np.flatnonzero(keep)
    result = columns.take(places)
    return type(columns)(result.queries, result.query, result.doc, number_of[places])
