"""Rules that need no run, or no more than Parts: what grades may be, and the order of ties by grade."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgauge.errors import FormatError, InputError
from rankgauge.matching.parts import Parts, by_rank, positions_within_group
from rankgauge.matching.unpack import numbers_of

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats
    from rankgauge.protocol import Protocol
    from rankgauge.read.records import Judgments

__all__ = ["checked", "refusals", "under_rules"]


def checked(judgments: Judgments) -> Judgments:
    """The same judgments: at least one, and every grade a finite number."""
    if not len(judgments):
        raise InputError(f"{judgments.source}: holds no judgment; expected query, document and grade of one or more")
    if judgments.is_nested:
        numbers_of(judgments, list(judgments.nested.values()), judgments.queries)
    else:
        from rankgauge.matching.columns import check_finite  # needs polars

        check_finite(judgments)
    return judgments


def under_rules(parts: Parts, queries: list[str], protocol: Protocol) -> Parts:
    """The parts with grades and ties as the protocol says."""
    if protocol.grades == "truncate":
        parts = replace(parts, judgment_grade=np.trunc(parts.judgment_grade), grade=np.trunc(parts.grade))
    for bad, why in refusals(parts.judgment_grade, protocol):
        _refuse(parts, queries, bad, why)
    return _by_grade_in_ties(parts, protocol.ties) if protocol.ties in ("worst", "best") else parts


def refusals(grades: Floats, protocol: Protocol) -> Iterator[tuple[Bools, str]]:
    """Which grades the protocol does not take, and why."""
    if protocol.grades == "integer":
        yield grades != np.floor(grades), "is not a whole number, and grades='integer' takes no other"
    if protocol.negative == "error":
        yield grades < 0, "is negative, and negative='error' takes none"


def _refuse(parts: Parts, queries: list[str], bad: Bools, why: str) -> None:
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise FormatError(f"query {queries[parts.judgment_query[row]]!r}: grade {parts.judgment_grade[row]:g} {why}")


def _by_grade_in_ties(parts: Parts, ties: str) -> Parts:
    """Ranks within each group of equal scores by grade: the unjudged come between grade 0 and the negative ones.

    The hits of a group are in descending order of grade, all at the group's first rank.
    """
    place = positions_within_group(parts.query, parts.first)
    group = np.cumsum(place == 0) - 1
    judged = np.bincount(group)[group] if len(group) else group
    place = place + np.where(parts.grade < 0, parts.tied - judged, 0)
    rank = parts.first + (place if ties == "best" else parts.tied - 1 - place)
    query, rank, first, tied, grade = by_rank(parts.query, rank, parts.first, parts.tied, parts.grade)
    return replace(parts, query=query, rank=rank, first=first, tied=tied, grade=grade)
