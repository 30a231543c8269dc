"""Two explanations of one query → Difference: what each document adds in the one run and in the other."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from rankgauge.errors import InputError
from rankgauge.explanation.query.explanation import Explanation, Rest, Row
from rankgauge.shown import Shown

__all__ = ["Difference", "Share", "difference"]


@dataclass(frozen=True, slots=True)
class Share:
    """A document: its rank and what it adds in A and in B (None and 0 where it is not ranked), and A minus B."""

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
        return f"{self.measure} of query {self.query}: A − B = {points}"

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
