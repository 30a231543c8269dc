"""What was given → Rows: matrices, masks, group sizes, query ids, lists of lists; and the judgments behind an ideal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgauge.arrays.inputs import array_of, is_nested, numbers_of
from rankgauge.arrays.rows import Ragged, Rows
from rankgauge.errors import FormatError, InputError, counted
from rankgauge.matching.parts import stable_order
from rankgauge.measures.aggregates import checked_weights

if TYPE_CHECKING:
    from rankgauge.dtypes import Array, Floats, Ints


__all__ = ["rows_of", "weights_of"]

DIMENSIONS = "expected 1 (rows) or 2 (queries × candidates)"
SPAN = 16  # whole ids that span at most so many times their number are told apart by a table


def rows_of(
    grades: Any, scores: Any, *, groups: Any = None, qid: Any = None, mask: Any = None, ideal: Any = None
) -> Rows:
    """Grades and scores in any of the shapes, checked for shape; their values are checked where they are computed."""
    given = [name for name, each in (("groups", groups), ("qid", qid), ("mask", mask)) if each is not None]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given)} are both given; each says on its own which rows are a query's")
    grades, scores = _opened(grades, "grades"), _opened(scores, "scores")
    if is_nested(grades) or is_nested(scores):
        nested = _of_lists(grades, scores, given)
        if isinstance(nested, Rows):
            return _with_ideal(nested, ideal)
        grades, scores = nested
    found, ranked = numbers_of(grades, "grades"), numbers_of(scores, "scores")
    if found.shape != ranked.shape:
        raise InputError(f"grades have the shape {found.shape} and scores {ranked.shape}; expected the same")
    if found.ndim not in (1, 2):
        raise InputError(f"grades have {counted(found.ndim, 'dimension')}; {DIMENSIONS}")
    if found.ndim == 2:
        rows = _of_matrix(found, ranked, mask, given)
    elif groups is not None:
        rows = _of_groups(found, ranked, groups)
    elif qid is not None:
        rows = _of_qid(found, ranked, qid)
    else:
        rows = _of_matrix(found[None], ranked[None], None if mask is None else array_of(mask, "mask")[None], given)
    return _with_ideal(rows, ideal)


def _opened(given: Any, what: str) -> Any:
    """A column of a frame as the array that it holds, which may be one of lists."""
    return array_of(given, what) if hasattr(given, "to_numpy") else given


def _of_lists(grades: Any, scores: Any, given: list[str]) -> Rows | tuple[Array, Array]:
    """Lists of lists, one a query; matrices of grades and scores where all are equally long."""
    lines = [_lines(each, what) for each, what in ((grades, "grades"), (scores, "scores"))]
    sizes = [[len(line) for line in each] for each in lines]
    if len(sizes[0]) != len(sizes[1]):
        raise InputError(f"grades have {counted(len(sizes[0]), 'query', 'queries')} and scores {len(sizes[1])}")
    for query, (one, other) in enumerate(zip(*sizes, strict=True)):
        if one != other:
            raise InputError(f"query {query} has {counted(one, 'grade')} and {counted(other, 'score')}")
    if len({*sizes[0]}) < 2:
        return np.stack(lines[0]), np.stack(lines[1])
    if given:
        raise InputError(f"{given[0]} is given, but the lists are one a query already")
    size = np.array(sizes[0], np.int64)
    flat, ranked = (np.concatenate(each) for each in lines)
    return Rows(flat, ranked, size)


def _lines(given: Any, what: str) -> list[Array]:
    """A line of numbers for each query."""
    each = given if is_nested(given) else np.atleast_1d(array_of(given, what))
    lines = [numbers_of(line, what) for line in each]
    for query, line in enumerate(lines):
        if line.ndim > 1:
            raise InputError(f"{what} have {counted(line.ndim + 1, 'dimension')}; {DIMENSIONS}")
        if line.ndim < 1:
            raise InputError(f"query {query} has one number for its {what}; expected a list of them, as for the others")
    return lines


def _of_matrix(grades: Array, scores: Array, mask: Any, given: list[str]) -> Rows:
    """A line per query; where there is a mask, only what it marks."""
    if given and given[0] != "mask":
        raise InputError(
            f"{given[0]} is given with a matrix, whose lines are the queries; give columns (1-D), or a mask"
        )
    if not grades.size:
        return Rows(grades.ravel(), scores.ravel(), np.zeros(0, np.int64))  # nothing is no query
    if mask is None:
        sizes = np.full(grades.shape[0], grades.shape[1], np.int64)
        return Rows(grades.ravel(), scores.ravel(), sizes)
    there = array_of(mask, "mask")
    if there.shape != grades.shape:
        raise InputError(f"mask has the shape {there.shape}, grades have {grades.shape}; expected the same")
    if there.dtype.kind not in "bui" or (there.dtype.kind != "b" and not np.isin(there, (0, 1)).all()):
        raise FormatError(
            f"mask has elements of type {there.dtype}; expected true where there is a candidate, else false"
        )
    there = there.astype(bool)
    sizes = np.count_nonzero(there, axis=1).astype(np.int64)
    return Rows(grades[there], scores[there], sizes)


def _of_groups(grades: Array, scores: Array, groups: Any) -> Rows:
    """Sizes of queries, one after the other, as LightGBM and XGBoost have them."""
    sizes = numbers_of(groups, "groups")
    if sizes.ndim != 1:
        raise InputError(
            f"groups have {counted(sizes.ndim, 'dimension')}; expected the sizes of the queries: [3, 2, …]"
        )
    whole = np.nan_to_num(sizes, nan=-1, posinf=-1, neginf=-1).astype(np.int64)
    if not (whole == sizes).all() or (whole < 0).any():
        wrong = sizes[(whole != sizes) | (whole < 0)][0]
        raise FormatError(f"groups have the size {wrong}; expected whole numbers, 0 or more")
    if int(whole.sum()) != len(grades):
        hint = "; one number per row is what qid= takes" if len(whole) == len(grades) else ""
        raise InputError(
            f"the sizes in groups sum to {int(whole.sum()):,}, but there are {counted(len(grades), 'row')}{hint}"
        )
    return Rows(grades, scores, whole)


def _of_qid(grades: Array, scores: Array, qid: Any) -> Rows:
    """A query's id on every row; the queries are in order of first appearance."""
    _check_kinds(qid)
    ids = array_of(qid, "qid")
    if ids.shape != grades.shape:
        summed = ids.ndim == 1 and ids.dtype.kind in "iu" and int(ids.sum()) == len(grades)
        hint = "; sizes of queries are what groups= takes" if summed else ""
        raise InputError(f"qid has the shape {ids.shape}, grades have {grades.shape}; expected one id per row{hint}")
    _check_ids(ids)
    if not len(ids):
        return Rows(grades, scores, np.zeros(0, np.int64), ids)
    begins = np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]])
    names, number = _numbered(ids[begins])
    lengths = np.diff(np.r_[begins, len(ids)])
    if len(names) == len(begins):
        return Rows(grades, scores, lengths, names)
    order = stable_order(np.repeat(number, lengths))
    sizes = np.bincount(number, lengths, len(names)).astype(np.int64)
    return Rows(grades[order], scores[order], sizes, names, order=order)


def _check_kinds(qid: Any) -> None:
    """Numbers or texts, not both: numpy would make 1 and "1" the same, and others would not."""
    given = qid.tolist() if isinstance(qid, np.ndarray) and qid.dtype.kind == "O" else qid
    if isinstance(given, (list, tuple)):
        texts = [isinstance(each, str) for each in given]
        row = texts.index(not texts[0]) if any(texts) and not all(texts) else 0
        if row and None not in given[: row + 1]:
            raise FormatError(f"qid is {given[0]!r} on row 0 and {given[row]!r} on row {row}; give numbers or texts")


def _check_ids(ids: Array) -> None:
    if ids.dtype.kind == "f" and not np.isfinite(ids).all():
        raise FormatError(f"qid is missing on row {int(np.argmin(np.isfinite(ids)))}; every row needs its query")
    if ids.dtype.kind == "O":
        missing = next((row for row, each in enumerate(ids.tolist()) if each is None or each != each), None)
        if missing is not None:
            raise FormatError(f"qid is missing on row {missing}; every row needs its query")
    elif ids.dtype.kind not in "biufUST":
        raise FormatError(f"qid has elements of type {ids.dtype}; expected numbers or texts")


def _numbered(ids: Array) -> tuple[Array, Ints]:
    """The different ids in order of first appearance, and for each id its number among them."""
    code = _codes(ids)
    first = np.full(int(code.max(initial=-1)) + 1, len(ids))
    first[code[::-1]] = np.arange(len(ids))[::-1]
    there = np.flatnonzero(first < len(ids))
    there = there[np.argsort(first[there])]
    number = np.zeros(len(first), np.int64)
    number[there] = np.arange(len(there))
    return ids[first[there]], number[code]


def _codes(ids: Array) -> Ints:
    """A number of 0 or more for each id, the same for the same: whole numbers less the lowest, or as they come."""
    if ids.dtype.kind in "iu" and int(ids.max()) - int(ids.min()) < SPAN * len(ids):
        code: Ints = ids.astype(np.int64)
        return code - int(code.min())
    known: dict[Any, int] = {}
    return np.fromiter((known.setdefault(each, len(known)) for each in ids.tolist()), np.int64, len(ids))


# ---- the judgments behind an ideal ----------------------------------------------------------------------------------


def _with_ideal(rows: Rows, ideal: Any) -> Rows:
    """The rows with the grades of all judgments of each query."""
    if ideal is None:
        return rows
    judged = _ideal_lines(rows, ideal)
    if len(judged.sizes) != len(rows):
        raise InputError(
            f"ideal has the grades of {counted(len(judged.sizes), 'query', 'queries')}, "
            f"but there are {counted(len(rows), 'query', 'queries')}"
        )
    if not np.isfinite(judged.flat).all():
        raise FormatError("ideal has a grade that is not a finite number")
    if judged.flat.min(initial=0) < 0:
        raise FormatError(f"ideal has the grade {judged.flat.min():g}; grades are 0 or more")
    _check_held(rows, judged)
    return replace(rows, ideal=judged)


def _ideal_lines(rows: Rows, ideal: Any) -> Ragged:
    """One line of grades a query: a matrix (NaN where a line has ended), lists, or a dict from the ids of qid."""
    if isinstance(ideal, Mapping):
        if rows.names is None:
            raise InputError("ideal is a dict, whose keys are those of qid=; without qid give a list a query, in order")
        missing = [name for name in rows.names.tolist() if name not in ideal]
        if missing:
            raise InputError(f"ideal has no grades for query {missing[0]!r}; give those of every query")
        ideal = [ideal[name] for name in rows.names.tolist()]
    if is_nested(ideal):
        lines = [numbers_of(line, "ideal").astype(np.float64) for line in ideal]
        if any(line.ndim != 1 for line in lines):
            raise InputError("ideal holds something else than a list of grades a query")
        lines = [line[~np.isnan(line)] for line in lines]
        return Ragged(np.concatenate(lines), np.array([len(line) for line in lines], np.int64))
    found = numbers_of(ideal, "ideal").astype(np.float64)
    found = found[None] if found.ndim == 1 and len(rows) == 1 else found
    if found.ndim != 2:
        raise InputError(f"ideal has the shape {found.shape}; expected a list of grades for each query")
    there = ~np.isnan(found)
    return Ragged(found[there], np.count_nonzero(there, axis=1).astype(np.int64))


def _check_held(rows: Rows, ideal: Ragged) -> None:
    """Every grade that a candidate has must be among the query's judgments, as often as it is there."""
    levels = np.unique(rows.grades[rows.grades > 0])
    there, wanted = (_counts(each, levels) for each in (ideal, Ragged(rows.grades, rows.sizes)))
    held = np.zeros_like(wanted[1])
    at = np.minimum(np.searchsorted(there[0], wanted[0]), max(len(there[0]) - 1, 0))
    if len(there[0]):
        held = np.where(there[0][at] == wanted[0], there[1][at], 0)
    if (held < wanted[1]).any():
        worst = int(np.argmax(held < wanted[1]))
        query, level = divmod(int(wanted[0][worst]), len(levels))
        raise InputError(
            f"{rows.query(query)} has {counted(int(wanted[1][worst]), 'candidate')} of grade {levels[level]:g}, but "
            f"`ideal` holds {int(held[worst])}: it must hold the grades of all judgments, candidates or not"
        )


def _counts(lines: Ragged, levels: Array) -> tuple[Ints, Ints]:
    """How often each of these grades is in each line, as keys and counts."""
    at = np.minimum(np.searchsorted(levels, lines.flat), max(len(levels) - 1, 0))
    known = levels[at] == lines.flat if len(levels) else np.zeros(len(lines.flat), bool)
    key = np.repeat(np.arange(len(lines.sizes)), lines.sizes) * len(levels) + at
    keys, counts = np.unique(key[known], return_counts=True)
    return keys, counts


def weights_of(weights: Any, queries: int, *, some: bool = True) -> Floats:
    """One weight a query, in the order of the queries; not all 0, unless these are not all queries."""
    found = numbers_of(weights, "weights").astype(np.float64)
    if found.shape != (queries,):
        raise InputError(f"weights have the shape {found.shape}; expected one a query, {queries:,}")
    return checked_weights(found, some=some)
