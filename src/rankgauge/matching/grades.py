"""Grades in rank order → Hits: the short way in, for a list instead of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from rankgauge.errors import FormatError, counted
from rankgauge.matching.hits import Hits
from rankgauge.matching.parts import Parts, assemble, ordered
from rankgauge.protocol import DEFAULT, Protocol

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats

__all__ = ["hits_of_grades"]


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
