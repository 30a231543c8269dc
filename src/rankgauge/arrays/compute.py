"""Rows → one value per query: batches become Hits, and the measure of the core's own table does the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.arrays.top import highest, top
from rankgauge.errors import FormatError
from rankgauge.match.hits import Hits
from rankgauge.protocol import SIGNED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgauge.arrays.rows import Batch, Rows
    from rankgauge.match.hits import Floats, Ints
    from rankgauge.measures import Measure
    from rankgauge.protocol import Protocol

    Array = NDArray[Any]

__all__ = ["measured"]

# Measure → what it needs of the judgments: the highest k, the relevant ones, or nothing. Others get all of them.
JUDGMENTS: Final = {
    "nDCG": "top", "ERR": "top", "R": "relevant", "AP": "relevant",
    "DCG": "nothing", "P": "nothing", "RR": "nothing", "Success": "nothing",
}  # fmt: skip


def measured(measure: Measure, rows: Rows, protocol: Protocol) -> Floats:
    """The measure's value of every query, in the order of the queries; NaN where the protocol leaves one out."""
    values = np.empty(len(rows))
    for batch in rows.batches():
        values[batch.queries] = measure(_hits(batch, rows, measure, protocol))
    return values


def _hits(batch: Batch, rows: Rows, measure: Measure, protocol: Protocol) -> Hits:
    """The candidates of a batch that can count, and the judgments that the measure needs."""
    scores = _finite(batch.scores, batch, rows, "score")
    grades = _grades(batch, rows, protocol)
    if protocol.scores == "float32":
        scores = scores.astype(np.float32)
    k = measure.cutoff if measure.definition.cutoff == "k" else None
    best = top(scores, grades, k, protocol.ties)
    judged = grades if batch.ideal is None else batch.ideal
    count = batch.sizes if batch.ideal is None else np.count_nonzero(judged > -np.inf, axis=1)
    line, grade = _judgments(judged, measure, k, protocol)
    return Hits(
        [""] * len(grades), batch.sizes > 0, batch.sizes, count, best.line, best.rank, best.first, best.tied,
        grades.ravel()[best.at].astype(np.float64, copy=False), line, grade, protocol,
    )  # fmt: skip


def _judgments(judged: Array, measure: Measure, k: int | None, protocol: Protocol) -> tuple[Ints, Floats]:
    """The lines and grades of the judgments that the measure needs, best first."""
    given = dict(measure.parameters)
    wanted = JUDGMENTS.get(measure.name, "all")
    if wanted == "nothing" and protocol.empty == "zero":
        return np.zeros(0, np.int64), np.zeros(0)
    if wanted == "relevant":
        level = given.get("rel", protocol.rel)
        counts = np.count_nonzero(judged >= level if level > 0 else judged >= 0, axis=1)
        line = np.repeat(np.arange(len(judged)), counts)
        return line, np.full(len(line), max(level, 0.0))
    follows = not str(given.get("gain", "linear")).startswith("{")  # the order of the grades, which a map need not
    cut = k if wanted == "top" and follows and protocol.ideal_depth == "k" else None
    line, grade = highest(judged, cut)
    keep = grade >= 0
    return (line, grade) if protocol.negative in SIGNED or keep.all() else (line[keep], grade[keep])


# ---- checks ---------------------------------------------------------------------------------------------------------


def _finite(matrix: Array, batch: Batch, rows: Rows, what: str) -> Array:
    """The numbers, if they are finite. Where a line is filled up there is −∞, which alone is not."""
    if matrix.dtype.kind != "f":
        return matrix
    finite = np.isfinite(matrix)
    if not finite.all() and (batch.full or np.count_nonzero(finite) != int(batch.sizes.sum())):
        flat = rows.scores if what == "score" else rows.grades
        row = int(np.argmin(np.isfinite(flat)))
        raise FormatError(f"{rows.place(row)}: the {what} is {flat[row]}; expected a finite number")
    return matrix


def _grades(batch: Batch, rows: Rows, protocol: Protocol) -> Array:
    """The grades, under the protocol's rules on what a grade is."""
    grades = _finite(batch.grades, batch, rows, "grade")
    if protocol.grades == "truncate":
        grades = np.trunc(grades)
    if protocol.negative == "error" and _lowest(grades, batch) < 0:
        row = int(np.argmax(rows.grades < 0))
        raise FormatError(
            f"{rows.place(row)}: the grade is {rows.grades[row]}, and grades are 0 or more; "
            "where it marks padding, give mask=grades >= 0"
        )
    if protocol.grades == "integer" and not (np.floor(grades) == grades).all():
        row = int(np.argmax(np.floor(rows.grades) != rows.grades))
        raise FormatError(f"{rows.place(row)}: the grade is {rows.grades[row]}; expected a whole number")
    return grades


def _lowest(grades: Array, batch: Batch) -> float:
    if batch.full:
        return float(grades.min(initial=0))
    return float(grades.min(initial=0.0, where=grades > -np.inf))
