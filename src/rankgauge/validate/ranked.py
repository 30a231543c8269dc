"""What can be wrong with a run by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from statistics import median

from rankgauge.validate.codes import Finding
from rankgauge.validate.quick import SHORT
from rankgauge.validate.table import EXAMPLES, Table

__all__ = ["check_run"]


def check_run(table: Table) -> Iterator[Finding]:
    """Every finding about a run alone."""
    for check in (_twice, _contradiction, _from_zero, _tied, _short, _constant, _itself):
        yield from check(table)


def _twice(table: Table) -> Iterator[Finding]:
    if table.twice:
        yield Finding("RG201", table.name, 1, [table.twice])
    seen: dict[tuple[str, str], int] = {}
    again = []
    for place, (line, query, doc, _) in enumerate(table.rows):
        first = seen.setdefault((query, doc), line)
        if first != line:
            again.append(f"{table.place(place)}: query {query}, document {doc}, first at {table.unit} {first}")
    if again:
        yield Finding("RG201", table.name, len(again), again[:EXAMPLES])


def _by_query(table: Table, code: str, wrong: Callable[[Table, list[int]], int | None]) -> Iterator[Finding]:
    """A finding that counts queries: `wrong` gives the place that shows it, or None."""
    found = [place for places in table.by_query.values() if (place := wrong(table, places)) is not None]
    if found:
        shown = [f"{table.place(place)}: query {table.rows[place][1]}" for place in found[:EXAMPLES]]
        yield Finding(code, table.name, len(found), shown, f"{len(found):,} of {len(table.by_query):,} queries")


def _contradiction(table: Table) -> Iterator[Finding]:
    if table.ranks is not None:
        yield from _by_query(table, "RG202", _first_rise)


def _first_rise(table: Table, places: list[int]) -> int | None:
    """The first document that has a worse rank and a better score than the one before it by rank."""
    ranks, rows = table.ranks or [], table.rows
    order = sorted(places, key=lambda place: ranks[place])
    for before, after in pairwise(order):
        if rows[after][3] > rows[before][3] and ranks[after] > ranks[before]:
            return after
    return None


def _from_zero(table: Table) -> Iterator[Finding]:
    if table.ranks is not None:
        ranks = table.ranks
        yield from _by_query(table, "RG203", lambda _, places: next((p for p in places if ranks[p] == 0), None))


def _tied(table: Table) -> Iterator[Finding]:
    tied, shown = 0, list[str]()
    for query, places in table.by_query.items():
        counts = Counter(table.rows[place][3] for place in places)
        several = len(places) - len(counts)
        tied += several
        if several and len(shown) < EXAMPLES:
            first = next(place for place in places if counts[table.rows[place][3]] > 1)
            score = table.rows[first][3]
            shown.append(f"{table.place(first)}: query {query}: {counts[score]:,} documents score {score:g}")
    if tied:
        yield Finding("RG204", table.name, tied, shown, f"{tied / len(table.rows):.0%} of the rows")


def _short(table: Table) -> Iterator[Finding]:
    usual = median(map(len, table.by_query.values()))
    short = [query for query, places in table.by_query.items() if len(places) < SHORT * usual]
    if short:
        shown = [
            f"{table.place(table.by_query[query][-1])}: query {query}: {len(table.by_query[query])} documents"
            for query in short[:EXAMPLES]
        ]
        yield Finding("RG205", table.name, len(short), shown, f"usual are {usual:g} documents")


def _constant(table: Table) -> Iterator[Finding]:
    yield from _by_query(table, "RG206", _one_score)


def _one_score(table: Table, places: list[int]) -> int | None:
    scores = {table.rows[place][3] for place in places}
    return places[0] if len(places) > 1 and len(scores) == 1 else None


def _itself(table: Table) -> Iterator[Finding]:
    yield from _by_query(
        table, "RG208", lambda _, places: next((p for p in places if table.rows[p][1] == table.rows[p][2]), None)
    )
