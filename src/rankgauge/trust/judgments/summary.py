"""What a set of judgments holds: queries, grades, and how they are spread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankgauge.matching.grades import numbered

if TYPE_CHECKING:
    from rankgauge.protocol import Protocol
    from rankgauge.read import Judgments

__all__ = ["Summary", "summarise"]


class Summary(NamedTuple):
    """Counts of judgments: by grade, by query, and the queries that can tell no systems apart."""

    source: str
    queries: int
    judgments: int
    grades: dict[float, int]
    without_relevant: list[str]
    one_grade: list[str]
    fewest: int
    median: float
    mean: float
    most: int

    @property
    def negative(self) -> int:
        """How many are of negative grade: pooled, and left without a grade."""
        return sum(count for grade, count in self.grades.items() if grade < 0)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        per_query = {"min": self.fewest, "median": self.median, "mean": self.mean, "max": self.most}
        return {
            "source": self.source,
            "queries": self.queries,
            "judgments": self.judgments,
            "grades": {f"{grade:g}": count for grade, count in self.grades.items()},
            "queries_without_relevant": self.without_relevant,
            "queries_with_one_grade": self.one_grade,
            "judgments_per_query": per_query,
        }


def summarise(judgments: Judgments, protocol: Protocol) -> Summary:
    """The summary of judgments; relevant is what the protocol calls so."""
    rows = numbered(judgments)
    grades, counts = np.unique(rows.number, return_counts=True)
    highest, lowest = np.full(len(rows.queries), -np.inf), np.full(len(rows.queries), np.inf)
    np.maximum.at(highest, rows.query, rows.number)
    np.minimum.at(lowest, rows.query, rows.number)
    nothing = highest < protocol.rel if protocol.rel > 0 else highest < 0
    per_query = np.bincount(rows.query, minlength=len(rows.queries))

    def named(chosen: Any) -> list[str]:
        return sorted(query for query, taken in zip(rows.queries, chosen.tolist(), strict=True) if taken)

    return Summary(
        judgments.source,
        len(rows.queries),
        len(rows),
        dict(zip(grades.tolist(), counts.tolist(), strict=True)),
        named(nothing),
        named(highest == lowest),
        int(per_query.min()),
        float(np.median(per_query)),
        float(per_query.mean()),
        int(per_query.max()),
    )
