"""Sections about single queries: the ones worth a look, rank by rank, and a table of all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.show.cells import number_text
from rankgauge.show.explained import change_words, kept_rows
from rankgauge.show.model import Block, Bullets, Column, Fold, Mark, Table, Text

if TYPE_CHECKING:
    from rankgauge.explanation.query.explain import Difference, Explanation
    from rankgauge.explanation.query.explanation import Row
    from rankgauge.reports.facts import Explained, Facts

__all__ = ["every_query", "example_queries"]

MOST: Final = 1_000  # queries in the table of all
SNIPPET: Final = 120  # characters of a document's text
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
            yield Text(f"{_whose(facts, why)} {words}", "head")
            yield from (_example(facts, each) for each in chosen)


def _whose(facts: Facts, why: str) -> str:
    if why in ("gained", "lost"):
        return f"From {facts.focus[1]} to {facts.subject}:"
    return f"{facts.subject}:"


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
    if found.difference is not None:
        yield _difference_table(facts, found.difference)
    for ranking in found.rankings:
        yield _ranking_table(facts, ranking)
        if ranking.would_raise:
            raises = [f"{number_text(each.points, sign=True)}: {change_words(each)}" for each in ranking.would_raise]
            yield Bullets(raises, title=f"What would raise {ranking.run} most")
        yield from (Text(f"{ranking.run}: {note}.", "note") for note in ranking.notes)


def _ranking_table(facts: Facts, found: Explanation) -> Table:
    """A ranking as `explain` shows it: what every rank adds, beside the ideal."""
    discounted = any(row.discount is not None for row in (*found.rows, *found.ideal))
    columns = [Column("rank", "rank"), Column("document"), Column("grade", "grade")]
    columns += [Column("gain", "gain"), Column("discount", "number")] if discounted else []
    columns += [Column("adds", "bar"), Column("so far", "number")]
    columns += [Column("ideal"), Column("ideal grade", "grade"), Column("ideal adds", "number")]
    rows = [*_ranking_rows(facts, found, discounted)]
    dcg = f"; DCG {number_text(found.dcg)} of an ideal {number_text(found.idcg)}" if found.idcg is not None else ""
    caption = f"{found.run}: {found.measure} {number_text(found.value)}{dcg}"
    rest = f"{found.rest.words}: {number_text(found.rest.contribution)}" if found.rest else ""
    return Table(f"ranking-{found.query}-{found.run}", caption, columns, rows, sort=False, notes=[rest] if rest else ())


def _ranking_rows(facts: Facts, found: Explanation, discounted: bool) -> Iterator[list[Any]]:
    ideal = {row.rank: row for row in found.ideal}
    last = 0
    for row in kept_rows(found.rows):
        if isinstance(row, int):
            yield ["…", Mark(f"{row:,} more", "quiet"), *[""] * (3 + 2 * discounted), "", "", ""]
            last += row
            continue
        last = row.rank
        gain = [row.gain, row.discount] if discounted else []
        shown = [row.rank, document(facts, row.doc_id), row.grade, *gain, row.contribution, row.total]
        yield [*shown, *_ideal(facts, ideal.get(row.rank))]
    for rank in range(last + 1, min(len(found.ideal), 10) + 1):
        yield [rank, Mark("nothing ranked", "quiet"), *[""] * (3 + 2 * discounted), *_ideal(facts, ideal.get(rank))]


def _ideal(facts: Facts, row: Row | None) -> list[Any]:
    return ["", "", ""] if row is None else [document(facts, row.doc_id), row.grade, row.contribution]


def document(facts: Facts, doc: str) -> str:
    """A document's id, and the beginning of its text where that is known."""
    text = " ".join(facts.wanted.documents.get(doc, "").split())
    short = text if len(text) <= SNIPPET else f"{text[:SNIPPET].rsplit(' ', 1)[0]} …"
    return f"{doc}: {short}" if short else doc


def _difference_table(facts: Facts, found: Difference) -> Table:
    a, b = found.a.run, found.b.run
    columns = [
        *(Column("document"), Column("grade", "grade"), Column("rank in A", "rank"), Column("adds in A", "number")),
        *(Column("rank in B", "rank"), Column("adds in B", "number"), Column("A − B", "signed")),
    ]
    shares = [share for share in found.shares if share.points][:SHARES]
    rows: list[list[Any]] = [
        [
            *(document(facts, share.doc_id), share.grade, share.rank_a, share.a, share.rank_b, share.b),
            Mark(share.points, "good" if share.points > 0 else "bad"),
        ]
        for share in shares
    ]
    left = sum(1 for share in found.shares if share.points) - len(shares)
    notes = [f"{left:,} more documents differ."] if left else []
    caption = f"What makes the difference of {number_text(found.points, sign=True)} (A: {a}, B: {b})"
    return Table(f"difference-{found.query}", caption, columns, rows, sort=False, notes=notes)


# ---- every query -----------------------------------------------------------------------------------------------------


def every_query(facts: Facts) -> Iterator[Block]:
    """The values of all queries under all systems; of very many, those that moved most."""
    values = facts.first
    moved = values.difference(*facts.focus) if len(facts.focus) == 2 else None
    order = np.argsort(values.of(facts.subject) if moved is None else -np.abs(moved), kind="stable")[:MOST].tolist()
    names = dict.fromkeys(query for query in values.queries if facts.text_of(query))
    groups = _groups_of(facts)
    columns = [Column("query", "query"), *([Column("text")] if names else []), *([Column("group")] if groups else [])]
    columns += [Column(name, "number") for name in values.systems]
    columns += [Column(" − ".join(facts.focus), "signed")] if moved is not None else []
    explained = {each.query for each in facts.explained}
    rows = []
    for at in order:
        query = values.queries[at]
        lead: list[Any] = [Mark(query, link=f"query-{query}") if query in explained else query]
        lead += [facts.text_of(query)] if names else []
        lead += [groups.get(query)] if groups else []
        numbers = [*values.table[at].tolist(), *([float(moved[at])] if moved is not None else [])]
        rows.append([*lead, *numbers])
    left = len(values.queries) - len(rows)
    note = f"The {len(rows):,} that moved most of {len(values.queries):,}; for all of them: rankgauge eval --per-query."
    caption = f"{facts.measure} of {'every query' if not left else 'queries'}"
    yield Table("every-query", caption, columns, rows, search=True, notes=[note] if left else ())


def _groups_of(facts: Facts) -> dict[str, str]:
    found = {}
    for name, mask in facts.first.groups.items():
        for at in np.flatnonzero(mask).tolist():
            found[facts.first.queries[at]] = name
    return found
