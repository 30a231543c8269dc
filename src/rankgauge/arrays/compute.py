"""Rows → one value per query: batches become Hits, and the measure of the core's own table does the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from rankgauge.arrays.top import cut_at, highest, merged, top
from rankgauge.errors import FormatError
from rankgauge.matching.hits import Hits
from rankgauge.measures import Measure
from rankgauge.measures.gains import gain_function
from rankgauge.protocol import SIGNED

if TYPE_CHECKING:
    from rankgauge.arrays.rows import Batch, Rows
    from rankgauge.dtypes import Array, Floats, Ints
    from rankgauge.protocol import Protocol


__all__ = ["measured"]

# Measure → what it needs of the judgments: the highest k, the relevant ones, or nothing. Others get all of them.
JUDGMENTS: Final = {
    "nDCG": "top", "ERR": "top", "R": "relevant", "AP": "relevant",
    "DCG": "nothing", "P": "nothing", "RR": "nothing", "Success": "nothing",
}  # fmt: skip
SUMS: Final = ("nDCG", "DCG")
LINEAR: Final = ("k", "discount")  # the parameters of a sum of gains that stand for grades


def measured(measure: Measure, rows: Rows, protocol: Protocol) -> Floats:
    """The measure's value of every query, in the order of the queries; NaN where the protocol leaves one out."""
    values = np.empty(len(rows))
    for batch in rows.batches():
        values[batch.queries] = _value(batch, rows, measure, protocol)
    return values


def _value(batch: Batch, rows: Rows, measure: Measure, protocol: Protocol) -> Floats:
    """The measure of the candidates of a batch that can count, and of the judgments that it needs."""
    scores = _finite(batch.scores, batch, rows, "score")
    if protocol.scores == "float32":
        scores = scores.astype(np.float32)
    grades = _grades(batch, rows, protocol)
    k = measure.cutoff if measure.definition.cutoff == "k" else None
    cut = cut_at(scores, k)
    judged = grades if batch.ideal is None else batch.ideal
    line, grade = _judgments(judged, measure, k, protocol)
    if cut is not None and k is not None and _is_sum(measure, protocol) and cut.long(k).any():
        given = dict(measure.parameters)
        gain = gain_function(given.get("gain", "linear"), given.get("rel"))
        best, found = merged(scores, gain(grades.astype(np.float64, copy=False)), k, cut)
        grade, measure = gain(grade), Measure(measure.name, tuple((n, v) for n, v in given.items() if n in LINEAR))
    else:
        best = top(scores, grades, k, protocol.ties, cut)
        found = grades.ravel()[best.at].astype(np.float64, copy=False)
    count = batch.sizes if batch.ideal is None else np.count_nonzero(judged > -np.inf, axis=1)
    columns = (best.line, best.rank, best.first, best.tied, found, line, grade)
    return measure(Hits([""] * len(grades), batch.sizes > 0, batch.sizes, count, *columns, protocol))


def _is_sum(measure: Measure, protocol: Protocol) -> bool:
    """Whether the measure is a sum of gains, none of them negative, over ranks that ties share: then gains can stand
    for grades."""
    mapped = str(dict(measure.parameters).get("gain", "")).startswith("{")
    return protocol.ties == "average" and measure.name in SUMS and not mapped and protocol.negative not in SIGNED


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
