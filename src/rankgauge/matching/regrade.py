"""The same ranking under other grades: matched once, measured as often as grades are drawn, dropped or exchanged.

A run is matched with the number of each judgment for its grade; what stands where is then known whatever the grades.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rankgauge.matching.match import match
from rankgauge.matching.parts import GROUPED, Parts, assemble, checked, ordered, under_rules
from rankgauge.read import Columns, Judgments

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats, Ints
    from rankgauge.matching.hits import Hits
    from rankgauge.protocol import Protocol
    from rankgauge.read import Run

__all__ = ["Traced", "numbered", "trace"]


@dataclass(frozen=True, eq=False, slots=True)
class Traced:
    """A run's hits, of which each knows the row of its judgment; `protocol` is what is still to be applied."""

    hits: Hits
    row: Ints
    judgment_row: Ints
    protocol: Protocol

    def under(self, grades: Floats, kept: Bools | None = None) -> Hits:
        """Hits under these grades, one per row of the judgments; `kept` leaves judgments out altogether."""
        found, all_rows = slice(None), slice(None)
        if kept is not None:
            found, all_rows = kept[self.row], kept[self.judgment_row]  # type: ignore[assignment]
        hits = self.hits
        return self._assembled(
            Parts(
                hits.retrieved, hits.judgment_query[all_rows], grades[self.judgment_row[all_rows]],
                hits.query[found], hits.rank[found], hits.first[found], hits.tied[found], grades[self.row[found]],
            ),
            1,
        )  # fmt: skip

    def under_many(self, grades: Floats) -> Hits:
        """Hits under many sets of grades, a row each: query i under set s is query s · queries + i."""
        hits, times = self.hits, len(grades)
        shift = np.arange(times) * len(hits.queries)
        parts = Parts(
            np.tile(hits.retrieved, times), (shift[:, None] + hits.judgment_query).ravel(),
            grades[:, self.judgment_row].ravel(), (shift[:, None] + hits.query).ravel(), np.tile(hits.rank, times),
            np.tile(hits.first, times), np.tile(hits.tied, times), grades[:, self.row].ravel(),
        )  # fmt: skip
        return self._assembled(parts, times)

    def _assembled(self, parts: Parts, times: int) -> Hits:
        hits, queries = self.hits, self.hits.queries * times
        parts = under_rules(ordered(parts, self.protocol), queries, self.protocol)
        answered = np.tile(hits.answered, times)
        return assemble(parts, queries, answered, self.protocol, left_out=hits.left_out, missing=hits.missing)


def numbered(judgments: Judgments) -> Columns:
    """The judgments with every pair once, as columns: row i is what `Traced` calls row i."""
    if checked(judgments).is_nested:
        return judgments.columns
    from rankgauge.matching.duplicates import judgments_once  # needs polars

    return judgments_once(judgments)


def trace(rows: Columns, run: Run, protocol: Protocol) -> Traced:
    """Where each of the judged documents stands in a run."""
    numbers = np.arange(len(rows), dtype=np.float64)
    record = Judgments(Columns(rows.queries, rows.query, rows.doc, numbers))
    ties = protocol.ties
    if ties in GROUPED:
        ties = "average" if protocol.order == "score" else "id"
    plain = replace(
        protocol, ties=ties, depth=None, unjudged="not-relevant", ideal="judged", ideal_order="given",
        grades="any", negative="not-relevant", empty="zero",
    )  # fmt: skip
    hits = match(record, run, plain)
    return Traced(hits, hits.grade.astype(np.int64), hits.judgment_grade.astype(np.int64), protocol)
