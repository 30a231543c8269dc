"""Ids that do not match, and would if both sides wrote them alike: of queries, then of documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from rankgauge.matching.diagnose import CHANGES, alike
from rankgauge.read import Columns
from rankgauge.validation.drafts import Draft, Example
from rankgauge.validation.table import EXAMPLES, Table

if TYPE_CHECKING:
    from rankgauge.matching.diagnose import Side

__all__ = ["Spelling", "respelled", "spelled_otherwise"]

QUERIES: Final = 200  # whose documents are compared: what is written differently is so everywhere
ROWS: Final = 50_000


class Spelling(NamedTuple):
    """A finding, the change that makes the ids match, and whether they are of queries or of documents."""

    draft: Draft
    change: Callable[[str], str]
    what: str


def spelled_otherwise(judged: Table, run: Table) -> Iterator[Spelling]:
    """The findings about ids of queries and of documents."""
    ours = [query for query in judged.columns.queries if query not in run.number]
    theirs = {query: number for query, number in run.number.items() if query not in judged.number} if ours else {}
    rows = {query: int(run.first_of([number])[0]) for query, number in theirs.items()}
    yield from _found([(ours, rows)], 0, "query", run)
    yield from _found(*_documents(judged, run), "document", run)


def _documents(judged: Table, run: Table) -> tuple[list[Side], int]:
    """For each of the first shared queries: judged and not retrieved, retrieved and not judged; how many are both."""
    sides: list[Side] = []
    matching = rows = 0
    for query in sorted(judged.number.keys() & run.number.keys())[:QUERIES]:
        ours, theirs = judged.documents(query), run.documents(query)
        rows += len(theirs)
        if rows > ROWS and sides:
            break
        matching += len(ours.keys() & theirs.keys())
        sides.append((ours.keys() - theirs.keys(), {doc: row for doc, row in theirs.items() if doc not in ours}))
    return sides, matching


def _found(sides: list[Side], matching: int, what: str, run: Table) -> Iterator[Spelling]:
    pairs, name = alike(sides, matching)
    if pairs:
        shown = [
            Example(f"{what} {ours!r} is judged, {theirs!r} is in the run", run, row)
            for ours, theirs, row in pairs[:EXAMPLES]
        ]
        draft = Draft("RG303", run.name, len(pairs), shown, f"none of them counts; they match after {name}")
        yield Spelling(draft, CHANGES[name], what)


def respelled(table: Table, change: Callable[[str], str], what: str) -> Columns:
    """The rows with the ids of queries or documents changed, every pair once."""
    import polars as pl

    columns = table.once()
    if what == "query":
        numbers: dict[str, int] = {}
        new = [numbers.setdefault(change(query) or query, len(numbers)) for query in columns.queries]
        changed = replace(columns, queries=list(numbers), query=np.array(new, np.int32)[columns.query])
    else:
        distinct = columns.doc.unique()
        new_docs = pl.Series([change(doc) or doc for doc in distinct], dtype=pl.String)
        changed = replace(columns, doc=columns.doc.replace_strict(distinct, new_docs, return_dtype=pl.String))
    return replace(table, columns=changed, ranks=None).once()
