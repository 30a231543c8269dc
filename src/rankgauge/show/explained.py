"""An explanation in words: what its tables and its picture have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from rankgauge.measures.gains import number_text as grade_number
from rankgauge.show.cells import MISSING, number_text
from rankgauge.show.names import short

if TYPE_CHECKING:
    from rankgauge.explanation.query.explanation import Change, Explanation, Row

__all__ = ["FIRST_ROWS", "MOST_ROWS", "beside_ideal", "change_words", "grade_text", "headline", "kept_rows"]
__all__ += ["with_text"]

FIRST_ROWS: Final = 10  # ranks that are shown whatever they add
MOST_ROWS: Final = 60
SNIPPET: Final = 120  # characters of a document's text


def headline(explanation: Explanation) -> str:
    """What was measured, of what."""
    if not explanation.query:
        return f"{explanation.measure} of the grades given"
    where = f" in {short(explanation.run, 60)}" if explanation.run else ""
    return f"{explanation.measure} of query {short(explanation.query, 60)}{where}"


def beside_ideal(explanation: Explanation) -> str:
    """What the ideal ranking has; nothing where that says no more than the value."""
    if explanation.dcg is not None and explanation.measure.startswith("nDCG"):
        return f"DCG {number_text(explanation.dcg)} of an ideal DCG {number_text(explanation.idcg)}"
    return f"the ideal ranking has {number_text(explanation.ideal_value)}" if explanation.dcg is None else ""


def grade_text(grade: float | None) -> str:
    """A grade for people; – is unjudged."""
    return MISSING if grade is None else grade_number(grade)


def kept_rows(rows: Sequence[Row]) -> list[Row | int]:
    """The first rows and those that add something; a number stands for so many ranks that do not."""
    kept: list[Row | int] = []
    shown = 0
    for row in rows:
        if row.rank <= FIRST_ROWS or (row.contribution and shown < MOST_ROWS):
            kept.append(row)
            shown += 1
        elif kept and isinstance(kept[-1], int):
            kept[-1] += 1
        else:
            kept.append(1)
    return kept


def change_words(change: Change) -> str:
    """A change in words."""
    if change.kind == "insert":
        return f"insert {short(change.doc_ids[0])} (grade {grade_text(change.grades[0])}) at rank {change.ranks[0]}"
    (upper, lower), (one, other) = change.ranks, map(short, change.doc_ids)
    grades = " and ".join(grade_text(grade) if grade is not None else "unjudged" for grade in change.grades)
    return f"swap ranks {upper} and {lower}: {one} and {other} (grades {grades})"


def with_text(key: str, texts: Mapping[str, str], most: int = SNIPPET) -> str:
    """An id, and the beginning of its text where that is known."""
    text = " ".join(texts.get(key, "").split())
    begun = text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]} …"
    return f"{key}: {begun}" if begun else key
