"""Scores → the first k of every query, with their ranks and ties. Only these are put in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.errors import ProtocolError, choices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgauge.match.hits import Floats, Ints

    Array = NDArray[Any]

__all__ = ["TIES", "Top", "highest", "top"]

# Tie rule → what orders equal scores: a matrix by which they ascend, from the places and grades of the candidates.
TIES: Final[dict[str, Callable[[Ints, Array], Array] | None]] = {
    "average": None,
    "given": None,
    "reversed": lambda place, grade: -place,
    "worst": lambda place, grade: grade,
    "best": lambda place, grade: -grade,
}


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


def top(scores: Array, grades: Array, k: int | None, ties: str) -> Top:
    """The first k of every line of a matrix of scores; −∞ is no candidate."""
    if ties not in TIES:
        raise ProtocolError(f"ties={ties!r} is not a rule for arrays; expected {choices(TIES)}")
    at, chosen = _chosen(scores, k)
    lines, width = chosen.shape
    order = _order(chosen, grades, at, ties)
    order += np.arange(0, lines * width, max(width, 1))[:, None]
    ranked, at = chosen.ravel()[order], at.ravel()[order]
    line, rank = np.repeat(np.arange(lines), width), np.tile(np.arange(1, width + 1), lines)
    first, tied = _groups(ranked, rank)
    keep = ranked.ravel() > -np.inf
    if ties == "average":
        rank = first
    elif k is not None and width > k:
        keep &= rank <= k
    columns = (line, at.ravel(), rank, first, tied)
    return Top(*columns) if keep.all() else Top(*(each[keep] for each in columns))


def _chosen(scores: Array, k: int | None) -> tuple[Ints, Array]:
    """Those that score no less than the k-th of their line: where they stand, and their scores, as matrices."""
    lines, width = scores.shape
    if k is None or k >= width:
        return np.arange(lines * width).reshape(lines, width), scores
    last = np.partition(scores, width - k, axis=1)[:, width - k]
    marked = scores >= last[:, None]
    at = np.flatnonzero(marked)
    counts = np.count_nonzero(marked, axis=1)
    widest = int(counts.max(initial=0))
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
    return np.argsort(-scores, axis=1, kind="stable" if ties == "given" else None)


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


def highest(grades: Array, k: int | None) -> tuple[Ints, Floats]:
    """The k highest grades of every line, descending: their lines, and they. −∞ is no grade."""
    lines, width = grades.shape
    depth = width if k is None else min(k, width)
    found = np.partition(grades, width - depth, axis=1)[:, width - depth :] if depth < width else grades
    flat = np.sort(found.astype(np.float64, copy=False), axis=1)[:, ::-1].ravel()
    line, keep = np.repeat(np.arange(lines), depth), flat > -np.inf
    return (line, flat) if keep.all() else (line[keep], flat[keep])
