"""Sections about single queries: the ones worth a look, rank by rank, and a table of all."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.show.cells import number_text
from rankgauge.show.explained import beside_ideal, with_text
from rankgauge.show.model import Block, Column, Fold, Mark, Table, Text
from rankgauge.show.sections.explanation import below, ranks_table, shares_table

if TYPE_CHECKING:
    from rankgauge.reports.facts import Explained, Facts

__all__ = ["every_query", "example_queries"]

MOST: Final = 1_000  # queries in the table of all
SHARES: Final = 12  # documents that make a difference
WHY: Final = {
    "gained": "moved up most",
    "lost": "moved down most",
    "worst": "lowest values",
    "best": "highest values",
}


def example_queries(facts: Facts) -> Iterator[Block]:
    """The queries that moved most, the worst and the best ones, each with its rankings."""
    if facts.unexplained:
        yield Text(f"No ranking is shown rank by rank: {facts.unexplained}.", "note")
        return
    if not facts.explained:
        return
    systems = " and ".join(facts.focus)
    yield Text(f"Chosen by {facts.measure}; rankings of {systems}. Open a query to see what every rank adds.", "note")
    for why, words in WHY.items():
        chosen = [each for each in facts.explained if each.why[0] == why]
        if chosen:
            whose = f"From {facts.focus[1]} to {facts.subject}" if why in ("gained", "lost") else facts.subject
            yield Text(f"{whose}: {words}", "head")
            yield from (_example(facts, each) for each in chosen)


def _example(facts: Facts, found: Explained) -> Fold:
    text = facts.text_of(found.query)
    title = f"{found.query}: {text}" if text else found.query
    values = " → ".join(number_text(ranking.value) for ranking in reversed(found.rankings))
    return Fold(f"query-{found.query}", title, list(_example_blocks(facts, found)), badge=values)


def _example_blocks(facts: Facts, found: Explained) -> Iterator[Block]:
    query = found.query
    also = [WHY[why] for why in found.why[1:]]
    if also:
        yield Text(f"Also among the {' and '.join(also)}.", "note")
    if len(facts.first.systems) > 2:
        at = facts.first.queries.index(query)
        columns = [Column(name, "number") for name in facts.first.systems]
        rows = [facts.first.table[at].tolist()]
        yield Table(f"values-{query}", f"{facts.measure} of every system", columns, rows, sort=False)
    named = partial(with_text, texts=facts.wanted.documents)
    if found.difference is not None:
        points = number_text(found.difference.points, sign=True)
        caption = f"Documents behind the difference of {points} ({' − '.join(facts.focus)})"
        yield shares_table(found.difference, named, SHARES)._replace(key=f"difference-{query}", caption=caption)
    for ranking in found.rankings:
        value = f"{ranking.run}: {ranking.measure} {number_text(ranking.value)}"
        caption = "; ".join(filter(None, [value, beside_ideal(ranking)]))
        yield ranks_table(ranking, named)._replace(key=f"ranking-{query}-{ranking.run}", caption=caption)
        yield from below(ranking, f"levels-{query}-{ranking.run}")


# ---- every query -----------------------------------------------------------------------------------------------------


def every_query(facts: Facts) -> Iterator[Block]:
    """The values of all queries under all systems; of very many, those that moved most."""
    values = facts.first
    moved = values.difference(*facts.focus) if len(facts.focus) == 2 else None
    order = np.argsort(values.of(facts.subject) if moved is None else -np.abs(moved), kind="stable")[:MOST].tolist()
    queries, explained = [values.queries[at] for at in order], {each.query for each in facts.explained}
    places = {name: np.flatnonzero(mask).tolist() for name, mask in values.groups.items()}
    groups = {values.queries[at]: name for name, each in places.items() for at in each}
    linked = [Mark(query, link=f"query-{query}") if query in explained else query for query in queries]
    columns: list[tuple[Column, list[Any]]] = [(Column("query", "query"), linked)]
    if any(map(facts.text_of, values.queries)):
        columns.append((Column("text"), [*map(facts.text_of, queries)]))
    columns += [(Column("group"), [*map(groups.get, queries)])] if groups else []
    columns += [(Column(name, "number"), values.of(name)[order].tolist()) for name in values.systems]
    columns += [(Column(" − ".join(facts.focus), "signed"), moved[order].tolist())] if moved is not None else []
    left = len(values.queries) - len(order)
    note = (
        f"The {len(order):,} that moved most of {len(values.queries):,}; for all of them: rankgauge eval --per-query."
    )
    caption = f"{facts.measure} of {'every query' if not left else 'queries'}"
    yield Table.of_columns("every-query", caption, columns, search=True, notes=[note] if left else ())
