"""Arithmetic along a ranking that several measures share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from rankgauge.matching.hits import positions_within

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats, Ints
    from rankgauge.matching.hits import Hits

__all__ = ["divide", "in_turn", "running_count", "running_sum", "within"]


def divide(value: Floats, by: Floats) -> Floats:
    """value / by, and 0 where there is nothing to divide by."""
    return np.divide(value, by, out=np.zeros(len(value)), where=by > 0)


def within(hits: Hits, k: int | None) -> Floats:
    """For each hit, the probability that it is among the first k: 0 or 1, or a share where ties are averaged."""
    if k is None:
        return np.ones(len(hits))
    if not hits.averaged:
        return (hits.rank <= k).astype(np.float64)
    return np.clip((k - hits.first + 1) / hits.tied, 0.0, 1.0)


def running_count(hits: Hits, mask: Bools) -> Ints:
    """For each hit, how many of its query up to its place are marked (itself included)."""
    total = np.cumsum(mask)
    starts = np.searchsorted(hits.query, np.arange(len(hits.queries)))
    before: Ints = np.r_[0, total][starts]
    return total - before[hits.query]


def in_turn(query: Ints) -> Iterator[Ints]:
    """The rows that are first in their query, then those that are second, …: a walk down all rankings at once."""
    place = positions_within(query)
    order = np.argsort(place, kind="stable")
    ends = np.cumsum(np.bincount(place)) if len(place) else place
    yield from np.split(order, ends[:-1]) if len(ends) else ()


def running_sum(query: Ints, values: Floats, queries: int) -> Floats:
    """For each row, the sum of its query up to its place, added up in order."""
    total, result = np.zeros(queries), np.empty(len(values))
    for rows in in_turn(query):
        total[query[rows]] += values[rows]
        result[rows] = total[query[rows]]
    return result
