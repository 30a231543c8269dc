"""Grades → Hits: of a list in rank order, the short way in; and of one ranking, under other grades than it had.

A run is matched once with the number of each judgment for its grade; what stands where is then known whatever the
grades, and is measured as often as these are drawn, dropped or exchanged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rankgauge.errors import FormatError, counted
from rankgauge.matching.hits import Hits
from rankgauge.matching.match import match
from rankgauge.matching.parts import GROUPED, Parts, assemble, checked, ordered, under_rules
from rankgauge.protocol import DEFAULT, Protocol
from rankgauge.read import Columns, Judgments

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats, Ints
    from rankgauge.read import Run

__all__ = ["Traced", "hits_of_grades", "numbered", "trace"]


def hits_of_grades(
    grades: Iterable[float | None], ideal: Iterable[float] | None = None, protocol: Protocol = DEFAULT
) -> Hits:
    """Hits of one query whose documents have these grades, first to last; None is an unjudged document.

    Without `ideal`, the grades given are all the judgments there are.
    """
    listed = list(grades)
    ranks = np.array([rank for rank, grade in enumerate(listed, 1) if grade is not None], np.int64)
    found = _numbers(grade for grade in listed if grade is not None)
    judged = found if ideal is None else _numbers(ideal)
    _check_held(found, judged)
    parts = Parts(
        np.array([len(listed)]), np.zeros(len(judged), np.int64), judged, np.zeros(len(ranks), np.int64),
        ranks, ranks, np.ones(len(ranks), np.int64), found,
    )  # fmt: skip
    return assemble(ordered(parts), [""], np.ones(1, bool), protocol, left_out=0, missing=0)


def _numbers(grades: Iterable[float | None]) -> Floats:
    try:
        result = np.array([float(grade) for grade in grades if grade is not None], np.float64)
    except (TypeError, ValueError) as error:
        raise FormatError(f"a grade is not a number: {error}") from None
    if not np.isfinite(result).all():
        raise FormatError("a grade is not a finite number")
    return result


def _check_held(found: Floats, judged: Floats) -> None:
    """The ideal is made of all judgments, so every grade that was retrieved must be among them."""
    levels, counts = np.unique(found[found > 0], return_counts=True)
    for level, count in zip(levels.tolist(), counts.tolist(), strict=True):
        there = int(np.count_nonzero(judged == level))
        if there < count:
            raise FormatError(
                f"{counted(count, f'document of grade {level:g} is', f'documents of grade {level:g} are')} ranked, "
                f"but `ideal` holds {there}: "
                "it must hold the grades of all judgments, ranked or not"
            )


# ---- other grades ---------------------------------------------------------------------------------------------------


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
