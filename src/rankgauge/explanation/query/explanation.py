"""Explanation: one query's value, rank by rank, and what would raise it; Difference: two of them side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from rankgauge.errors import InputError
from rankgauge.shown import Shown

__all__ = ["Change", "Difference", "Explanation", "Explanations", "Level", "Rest", "Row", "Share", "difference"]


@dataclass(frozen=True, slots=True)
class Row:
    """A rank: its document, and what it adds to the value. `term` is gain / discount, where the measure has one."""

    rank: int
    doc_id: str
    grade: float | None
    gain: float | None
    discount: float | None
    term: float | None
    contribution: float
    total: float


@dataclass(frozen=True, slots=True)
class Rest:
    """What belongs to no rank."""

    words: str
    contribution: float


@dataclass(frozen=True, slots=True)
class Level:
    """One of the values that a measure averages, the rank that decides it, and what it adds."""

    name: str
    rank: int | None
    value: float
    contribution: float


@dataclass(frozen=True, slots=True)
class Change:
    """A swap of two ranks, or a document inserted at a rank with the rest pushed down, and what it is worth."""

    kind: str
    ranks: tuple[int, ...]
    doc_ids: tuple[str, ...]
    grades: tuple[float | None, ...]
    value: float
    points: float


@dataclass(frozen=True, repr=False)
class Explanation(Shown):
    """A measure's value for one query: the contributions of the `rows` (and of the `rest`) add up to it.

    `ideal` is the ideal ranking with its own rows; `dcg` and `idcg` are there for the measures of that family;
    `would_raise` has the swaps and insertions that would raise the value most, best first; `ranks` every document's
    rank, beyond the rows too.
    """

    shown_by: ClassVar[str] = "explanation"

    measure: str
    query: str
    run: str
    value: float
    rows: tuple[Row, ...]
    ideal: tuple[Row, ...]
    ideal_value: float
    dcg: float | None = None
    idcg: float | None = None
    rest: Rest | None = None
    levels: tuple[Level, ...] = ()
    would_raise: tuple[Change, ...] = ()
    ranks: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What was measured, of what."""
        what = f"query {self.query}" if self.query else "the grades given"
        return f"{self.measure} of {what}" + (f" in {self.run}" if self.run else "")

    @property
    def retrieved(self) -> int:
        """How many documents were ranked."""
        return len(self.ranks)

    def to_dict(self) -> dict[str, Any]:
        """Everything, for machines; a value that the protocol leaves out is None."""
        data = {"measure": self.measure, "query_id": self.query} | asdict(self) | {"retrieved": self.retrieved}
        del data["ranks"], data["query"]
        return data | {key: None if math.isnan(data[key]) else data[key] for key in ("value", "ideal_value")}


@dataclass(frozen=True, repr=False)
class Explanations(Shown):
    """Several queries, explained one after the other."""

    shown_by: ClassVar[str] = "explanation"

    explanations: Sequence[Explanation | Difference]

    @property
    def title(self) -> str:
        """What was measured, of what."""
        return "; ".join(each.title for each in self.explanations) or "No query lost."

    def data(self, **choices: Any) -> list[dict[str, Any]]:
        """Everything about every query."""
        return [each.to_dict() for each in self.explanations]


# ---- two explanations of one query -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Share:
    """A document: its rank and what it adds in A and in B, the baseline (None and 0 if not ranked), and A minus B."""

    doc_id: str
    grade: float | None
    rank_a: int | None
    rank_b: int | None
    a: float
    b: float
    points: float


@dataclass(frozen=True, repr=False)
class Difference(Shown):
    """Two runs side by side: the points of the shares (and of the rest) add up to `points`, A's value minus B's."""

    shown_by: ClassVar[str] = "explanation"

    measure: str
    query: str
    a: Explanation
    b: Explanation
    points: float
    shares: tuple[Share, ...]
    rest: Rest | None = None

    @property
    def title(self) -> str:
        """What was measured, and the difference."""
        points = "–" if math.isnan(self.points) else f"{self.points:+.4f}" if self.points else "0.0000"
        return f"{self.measure} of query {self.query}: {' − '.join(self.names)} = {points}"

    @property
    def names(self) -> tuple[str, str]:
        """How the two are called: by their runs, or A and B where these have no names or the same."""
        named = self.a.run and self.b.run and self.a.run != self.b.run
        return (self.a.run, self.b.run) if named else ("A", "B")

    def to_dict(self) -> dict[str, Any]:
        """Everything, for machines; there is no difference (None) to a value that the protocol leaves out."""
        points = None if math.isnan(self.points) else self.points
        data = {"measure": self.measure, "query_id": self.query} | asdict(self)
        del data["query"]
        return data | {"a": self.a.to_dict(), "b": self.b.to_dict(), "points": points}


def difference(a: Explanation, b: Explanation) -> Difference:
    """A minus B, document by document, those that differ most first."""
    if (a.measure, a.query) != (b.measure, b.query):
        raise InputError(
            f"{a.measure} of query {a.query!r} and {b.measure} of query {b.query!r} are not comparable; "
            "explain both runs with one measure and one query"
        )
    rows_a, rows_b = ({row.doc_id: row for row in each.rows} for each in (a, b))
    shares = [
        _share(doc, rows_a.get(doc), rows_b.get(doc), a.ranks.get(doc), b.ranks.get(doc))
        for doc in {**rows_a, **rows_b}
    ]
    shares.sort(key=lambda share: -abs(share.points))
    left = (a.rest.contribution if a.rest else 0.0) - (b.rest.contribution if b.rest else 0.0)
    words = (a.rest or b.rest or Rest("", 0.0)).words
    return Difference(a.measure, a.query, a, b, a.value - b.value, tuple(shares), Rest(words, left) if left else None)


def _share(doc: str, in_a: Row | None, in_b: Row | None, rank_a: int | None, rank_b: int | None) -> Share:
    one, other = (row.contribution if row else 0.0 for row in (in_a, in_b))
    known = in_a or in_b
    return Share(doc, known.grade if known else None, rank_a, rank_b, one, other, one - other)
