"""A document twice in one ranking, a judgment twice for one pair: the rules for columns.

(The line reader applies the same rules to nested dicts while it reads, because a dict cannot hold a pair twice.)
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgauge.errors import DuplicateError, counted, warn
from rankgauge.matching.grouping import Grouped, group, looks_repeated
from rankgauge.matching.order import as_float32
from rankgauge.protocol import REPEATING
from rankgauge.read.rows import how_to_mend

if TYPE_CHECKING:
    import polars as pl

    from rankgauge.dtypes import Ints
    from rankgauge.protocol import Protocol
    from rankgauge.read.records import Columns, Judgments, Run

__all__ = ["judgments_once", "judgments_settled", "run_once", "with_copies"]


def run_once(run: Run, protocol: Protocol) -> tuple[Grouped, pl.DataFrame | None]:
    """The run grouped by query with every document once, as the protocol says; and the copies that count as well."""
    columns = run.columns if protocol.same_id == "keep" else _without_same_id(run.columns)
    if protocol.only_positive:
        columns = columns.take(np.flatnonzero(as_float32(columns.number) > 0))
    grouped = group(columns)
    rows = grouped.repeated()
    if not len(rows):
        return grouped, None
    if protocol.duplicates in REPEATING:
        renamed, copies = _told_apart(columns, rows, by_score=protocol.order != "given")
        return group(renamed), None if protocol.duplicates == "once" else copies
    if protocol.duplicates == "error":
        rows = rows if protocol.depth is None else _twice_within(columns, rows, protocol.depth)
        if not len(rows):  # what is there again is beyond the depth, where it changes nothing
            return group(_keep_one(columns, grouped.repeated(), "max")), None
        query, doc = _name(columns, rows[0])
        raise run.explain(query, doc) or DuplicateError(
            f"{run.source}: document {doc!r} is there twice in the ranking of query {query!r}; {how_to_mend()}"
        )
    return group(_keep_one(columns, rows, "max" if protocol.duplicates == "best" else "first")), None


def _twice_within(columns: Columns, rows: Ints, depth: int) -> Ints:
    """Of repeated rows those whose document is there twice among the first of its query: by score, then by id."""
    import polars as pl

    some = columns.take(np.flatnonzero(np.isin(columns.query, columns.query[rows])))
    frame = pl.DataFrame({"query": some.query, "doc": some.doc, "number": some.number})
    first = frame.sort("number", "doc", descending=True).group_by("query").head(depth)
    twice = first.group_by("query", "doc").len().filter(pl.col("len") > 1)
    repeated = columns.take(rows)
    found = pl.DataFrame({"query": repeated.query, "doc": repeated.doc, "row": rows}).join(twice, on=["query", "doc"])
    return np.sort(found["row"].to_numpy())


def _without_same_id(columns: Columns) -> Columns:
    """The rows whose document does not bear the query's id."""
    import polars as pl

    same = columns.doc == pl.Series(columns.queries, dtype=pl.String).gather(columns.query)
    return columns.take(np.flatnonzero(~same.to_numpy()))


def _told_apart(columns: Columns, rows: Ints, *, by_score: bool) -> tuple[Columns, pl.DataFrame]:
    """Repeated documents with names of their own, all but the best-ranked of each; and a row for every such copy."""
    import polars as pl

    repeated = columns.take(rows)
    frame = pl.DataFrame({"query": repeated.query, "doc": repeated.doc, "number": repeated.number, "row": rows})
    if by_score:
        frame = frame.sort("number", descending=True, maintain_order=True)
    frame = frame.with_columns(copy=pl.int_range(pl.len()).over("query", "doc")).filter(pl.col("copy") > 0)
    names = frame.select(name=pl.col("doc") + "\0" + pl.col("copy").cast(pl.String))["name"]
    place = np.arange(len(columns))
    place[frame["row"].to_numpy()] = len(columns) + np.arange(len(frame))
    docs = pl.concat([columns.doc.alias("doc"), names.alias("doc")]).gather(place)
    ids = pl.Series(columns.queries, dtype=pl.String).gather(frame["query"])
    copies = pl.DataFrame({"query_id": ids, "doc": frame["doc"], "name": names})
    return replace(columns, doc=docs), copies


def with_copies(judged: Columns, copies: pl.DataFrame) -> Columns:
    """The judgments, and those of the copies: the same grade for every copy."""
    import polars as pl

    ids = pl.Series("query_id", judged.queries, dtype=pl.String)
    frame = pl.DataFrame({"query": judged.query, "query_id": ids.gather(judged.query), "doc": judged.doc})
    frame = frame.with_columns(number=pl.Series(judged.number)).join(copies, on=["query_id", "doc"])
    return replace(
        judged,
        query=np.concatenate([judged.query, frame["query"].to_numpy()]),
        doc=pl.concat([judged.doc.alias("doc"), frame["name"].alias("doc")]),
        number=np.concatenate([judged.number, frame["number"].to_numpy()]),
    )


def judgments_once(judgments: Judgments) -> Columns:
    """The judgments with every pair once; repeated with the same grade is a warning, with another an error."""
    columns, said = judgments_settled(judgments)
    if said:
        warn(said)
    return columns


def judgments_settled(judgments: Judgments) -> tuple[Columns, str]:
    """The same, and the warning, if there is one, for whoever warns later."""
    columns = judgments.columns
    if not looks_repeated(columns):
        return columns, ""
    rows = group(columns).repeated()
    if not len(rows):
        return columns, ""
    kept, lowest = _keep_one(columns, rows, "max"), _keep_one(columns, rows, "min")
    conflict = np.flatnonzero(kept.number != lowest.number)
    if len(conflict):
        query, doc = _name(kept, conflict[0])
        low, high = lowest.number[conflict[0]], kept.number[conflict[0]]
        raise judgments.explain(query, doc) or DuplicateError(
            f"{judgments.source}: query {query!r} and document {doc!r} are judged {low:g} and {high:g}; keep one"
        )
    again = len(columns) - len(kept)
    twice = counted(again, "judgment is", "judgments are")
    return kept, f"{judgments.source}: {twice} there twice with the same grade; counted once"


def _name(columns: Columns, row: int) -> tuple[str, str]:
    return columns.queries[columns.query[row]], str(columns.doc[int(row)])


def _keep_one(columns: Columns, rows: Ints, pick: str) -> Columns:
    """One row of every repeated pair, at the place of its first, with the "first", "max" or "min" of its numbers."""
    import polars as pl

    repeated = columns.take(rows)
    kept = (
        pl.DataFrame({"query": repeated.query, "doc": repeated.doc, "number": repeated.number, "row": rows})
        .group_by("query", "doc", maintain_order=True)
        .agg(getattr(pl.col("number"), pick)(), pl.col("row").first())
    )
    number, keep = columns.number.copy(), np.ones(len(columns), bool)
    number[kept["row"].to_numpy()] = kept["number"].to_numpy()
    keep[rows] = False
    keep[kept["row"].to_numpy()] = True
    return replace(columns, number=number).take(np.flatnonzero(keep))
