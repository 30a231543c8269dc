"""Rows → one value per query: batches become Hits, and the measure of the core's own table does the rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from rankgauge.errors import FormatError, ProtocolError, choices
from rankgauge.matching.hits import Hits, sum_by
from rankgauge.measures import Measure
from rankgauge.measures.gains import gain_function
from rankgauge.protocol import NARROW, SIGNED

if TYPE_CHECKING:
    from rankgauge.arrays.rows import Batch, Rows
    from rankgauge.dtypes import Array, Bools, Floats, Ints
    from rankgauge.protocol import Protocol


__all__ = ["TIES", "measured"]

# Measure → what it needs of the judgments: the highest k, the relevant ones, or nothing. Others get all of them.
JUDGMENTS: Final = {
    "nDCG": "top", "ERR": "top", "R": "relevant", "AP": "relevant",
    "DCG": "nothing", "P": "nothing", "RR": "nothing", "Success": "nothing",
}  # fmt: skip
SUMS: Final = ("nDCG", "DCG")
LINEAR: Final = ("k", "discount")  # the parameters of a sum of gains that stand for grades
LONG: Final = 2  # equal scores at a cut reach far beyond it if there are so many times k up to their end

# Tie rule → what orders equal scores: a matrix by which they ascend, from the places and grades of the candidates.
TIES: Final[dict[str, Callable[[Ints, Array], Array] | None]] = {
    "average": None,
    "given": None,
    "reversed": lambda place, grade: -place,
    "worst": lambda place, grade: grade,
    "best": lambda place, grade: -grade,
}


def measured(measure: Measure, rows: Rows, protocol: Protocol) -> Floats:
    """The measure's value of every query, in the order of the queries; NaN where the protocol leaves one out."""
    values = np.empty(len(rows))
    for batch in rows.batches():
        values[batch.queries] = _value(batch, rows, measure, protocol)
    return values


def _value(batch: Batch, rows: Rows, measure: Measure, protocol: Protocol) -> Floats:
    """The measure of the candidates of a batch that can count, and of the judgments that it needs."""
    scores = _finite(batch.scores, batch, rows, "score")
    if protocol.scores in NARROW:
        scores = scores.astype(np.float32)
    grades, sizes = _grades(batch, rows, protocol), batch.sizes
    if protocol.only_positive:
        taken = scores > 0
        scores, grades = np.where(taken, scores, -np.inf), np.where(taken, grades, -np.inf)
        sizes = np.count_nonzero(taken, axis=1)
    k = measure.cutoff if measure.definition.cutoff == "k" else None
    cut = _cut_at(scores, k)
    judged = grades if batch.ideal is None else batch.ideal
    line, grade = _judgments(judged, measure, k, protocol)
    if cut is not None and k is not None and _is_sum(measure, protocol) and cut.long(k).any():
        given = dict(measure.parameters)
        gain = gain_function(given.get("gain", "linear"), given.get("rel"))
        best, found = _merged(scores, gain(grades.astype(np.float64, copy=False)), k, cut)
        grade, measure = gain(grade), Measure(measure.name, tuple((n, v) for n, v in given.items() if n in LINEAR))
    else:
        best = _top(scores, grades, k, protocol.ties, cut)
        found = grades.ravel()[best.at].astype(np.float64, copy=False)
    count = sizes if batch.ideal is None else np.count_nonzero(judged > -np.inf, axis=1)
    columns = (best.line, best.rank, best.first, best.tied, found, line, grade)
    return measure(Hits([""] * len(grades), batch.sizes > 0, sizes, count, *columns, protocol))


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
    line, grade = _highest(judged, cut)
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
    if protocol.grades == "binary" and not ((rows.grades == 0) | (rows.grades == 1)).all():
        row = int(np.argmax((rows.grades != 0) & (rows.grades != 1)))
        raise FormatError(f"{rows.place(row)}: the grade is {rows.grades[row]}; expected 0 or 1")
    return grades


def _lowest(grades: Array, batch: Batch) -> float:
    if batch.full:
        return float(grades.min(initial=0))
    return float(grades.min(initial=0.0, where=grades > -np.inf))


# ---- the first k of every query, with their ranks and ties; only these are put in order ------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Top:
    """The candidates that can be among the first k, ordered by line and then rank.

    `at` is where a candidate stands in its matrix, counted through; with ties averaged, every candidate is there whose
    group begins among the first k, and `rank` is where it begins.
    """

    line: Ints
    at: Ints
    rank: Ints
    first: Ints
    tied: Ints


@dataclass(frozen=True, eq=False, slots=True)
class Cut:
    """Where each line of scores is cut: the score of its k-th, and which cells score no less."""

    last: Array
    within: Bools
    counts: Ints

    def long(self, k: int) -> Bools:
        """The lines whose equal scores at the cut reach far beyond it."""
        return self.counts > LONG * k


def _cut_at(scores: Array, k: int | None) -> Cut | None:
    """Where lines are cut after their k-th; None where none is as long as that."""
    width = scores.shape[1]
    if k is None or k >= width:
        return None
    last = np.partition(scores, width - k, axis=1)[:, width - k]
    within = scores >= last[:, None]
    return Cut(last, within, np.count_nonzero(within, axis=1))


def _top(scores: Array, grades: Array, k: int | None, ties: str, cut: Cut | None) -> Top:
    """The first k of every line of a matrix of scores; −∞ is no candidate."""
    if ties not in TIES:
        raise ProtocolError(f"ties={ties!r} is not a rule for arrays; expected {choices(TIES)}")
    if cut is None:
        return _ranked(np.arange(scores.size).reshape(scores.shape), scores, grades, k, ties)
    return _ranked(*_chosen(scores, cut.within, cut.counts), grades, k, ties)


def _merged(scores: Array, gains: Floats, k: int, cut: Cut) -> tuple[Top, Floats]:
    """The first k with ties averaged, and their gains; in long lines, candidates at the cut that share its score are
    one, with the sum of their gains. That is enough for a sum over ranks, and a line of equal scores need not be put in
    order. Each line is treated as it would be alone, so that its value does not depend on its neighbours."""
    long = cut.long(k)
    single = cut.within & ((scores > cut.last[:, None]) | ~long[:, None])
    counts = np.count_nonzero(single, axis=1)
    best = _ranked(*_chosen(scores, single, counts), gains, k, "average")
    line = np.flatnonzero(long & (cut.last > -np.inf))  # −∞: the cut is beyond the end of the line
    tied, first = (cut.counts - counts)[line], counts[line] + 1
    at = np.flatnonzero(cut.within ^ single)
    total = sum_by(at // scores.shape[1], gains.ravel()[at], len(scores))[line]  # in order, however long a line is
    columns = ((best.line, line), (best.at, line), (best.rank, first), (best.first, first), (best.tied, tied))
    return Top(*map(np.concatenate, columns)), np.concatenate([gains.ravel()[best.at], total])


def _ranked(at: Ints, scores: Array, grades: Array, k: int | None, ties: str) -> Top:
    """Candidates in order of rank: `at` is where they stand, and `scores` are theirs, as matrices."""
    lines, width = scores.shape
    order = _order(scores, grades, at, ties)
    order += (np.arange(lines) * width)[:, None]
    ranked, at = scores.ravel()[order], at.ravel()[order]
    line, rank = np.repeat(np.arange(lines), width), np.tile(np.arange(1, width + 1), lines)
    first, tied = _groups(ranked, rank)
    keep = ranked.ravel() > -np.inf
    if ties == "average":
        rank = first
    elif k is not None and width > k:
        keep &= rank <= k
    columns = (line, at.ravel(), rank, first, tied)
    return Top(*columns) if keep.all() else Top(*(each[keep] for each in columns))


def _chosen(scores: Array, marked: Bools, counts: Ints) -> tuple[Ints, Array]:
    """The marked cells: where they stand, and their scores, as matrices; −∞ where a line has fewer than others."""
    at, lines, widest = np.flatnonzero(marked), len(scores), int(counts.max(initial=0))
    if len(at) == lines * widest:
        return at.reshape(lines, widest), scores.ravel()[at].reshape(lines, widest)
    filled = np.arange(widest) < counts[:, None]
    where, chosen = np.zeros(filled.shape, np.int64), np.full(filled.shape, -np.inf)
    where[filled], chosen[filled] = at, scores.ravel()[at]
    return where, chosen


def _order(scores: Array, grades: Array, at: Ints, ties: str) -> Ints:
    """An argsort of every line, best first."""
    among = TIES[ties]
    if among is not None:
        return np.lexsort((among(at, grades.ravel()[at]), -scores))
    return np.argsort(-scores, axis=1, kind="stable")  # with ties averaged too: the order of a sum has a last digit


def _groups(ranked: Array, rank: Ints) -> tuple[Ints, Ints]:
    """For each candidate the first rank of those that share its score, and their number."""
    same = ranked[:, 1:] == ranked[:, :-1]
    if not same.any():
        return rank, np.ones(len(rank), np.int64)
    new = np.ones(ranked.shape, bool)
    np.logical_not(same, out=new[:, 1:])
    begins = np.flatnonzero(new)
    sizes = np.diff(np.r_[begins, len(rank)])
    return np.repeat(rank[begins], sizes), np.repeat(sizes, sizes)


def _highest(grades: Array, k: int | None) -> tuple[Ints, Floats]:
    """The k highest grades of every line, descending: their lines, and they. −∞ is no grade."""
    lines, width = grades.shape
    depth = width if k is None else min(k, width)
    found = np.partition(grades, width - depth, axis=1)[:, width - depth :] if depth < width else grades
    flat = np.sort(found.astype(np.float64, copy=False), axis=1)[:, ::-1].ravel()
    line, keep = np.repeat(np.arange(lines), depth), flat > -np.inf
    return (line, flat) if keep.all() else (line[keep], flat[keep])
