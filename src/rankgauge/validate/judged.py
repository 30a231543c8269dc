"""What can be wrong with judgments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from rankgauge.validate.codes import Finding
from rankgauge.validate.table import EXAMPLES, Table

__all__ = ["check_judgments", "flipped", "look_inverted"]

LEVELS: Final = 3


def check_judgments(table: Table) -> Iterator[Finding]:
    """Every finding about judgments alone."""
    yield from _twice(table)
    yield from _nothing_relevant(table)
    grades = [row[3] for row in table.rows]
    if look_inverted(grades):
        counts = ", ".join(f"{grade:g}: {count:,}" for grade, count in sorted(Counter(grades).items()))
        yield Finding("RG104", table.name, len(grades), [f"grade: how often: {counts}"])
    decimals = [place for place, grade in enumerate(grades) if grade != int(grade)]
    if decimals:
        shown = [f"{table.place(place)}: grade {grades[place]:g}" for place in decimals[:EXAMPLES]]
        yield Finding("RG105", table.name, len(decimals), shown)


def _twice(table: Table) -> Iterator[Finding]:
    seen: dict[tuple[str, str], int] = {}
    again: dict[str, list[str]] = {"RG101": [], "RG102": []}
    for place, (_, query, doc, grade) in enumerate(table.rows):
        first = seen.setdefault((query, doc), place)
        if first != place:
            before = table.rows[first]
            code = "RG101" if before[3] == grade else "RG102"
            both = f"{grade:g}, and {before[3]:g} at {table.unit} {before[0]}"
            again[code].append(f"{table.place(place)}: query {query}, document {doc}: {both}")
    for code, places in again.items():
        if places:
            yield Finding(code, table.name, len(places), places[:EXAMPLES])


def _nothing_relevant(table: Table) -> Iterator[Finding]:
    best = {query: max(table.rows[place][3] for place in places) for query, places in table.by_query.items()}
    without = [query for query, grade in best.items() if grade <= 0]
    if without:
        shown = [f"{table.place(table.by_query[query][0])}: query {query}" for query in without[:EXAMPLES]]
        effect = f"the mean over queries cannot exceed {1 - len(without) / len(best):.4f}"
        yield Finding("RG103", table.name, len(without), shown, effect)


def look_inverted(grades: list[float]) -> bool:
    """Three levels or more, no 0, and the lowest level rarer than the highest: 1 seems to be the best."""
    counts = Counter(grade for grade in grades if grade >= 0)
    return len(counts) >= LEVELS and min(counts) > 0 and counts[min(counts)] < counts[max(counts)]


def flipped(judgments: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """The same judgments with the scale turned round; negative grades stay."""
    highest = max(grade for docs in judgments.values() for grade in docs.values())
    return {
        query: {doc: highest + 1 - grade if grade > 0 else grade for doc, grade in docs.items()}
        for query, docs in judgments.items()
    }
