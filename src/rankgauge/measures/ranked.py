"""Arithmetic along a ranking that several measures share; and what is expected of them over the orders of ties.

A group of t tied documents, r of them relevant, takes up the ranks first … first + t − 1. (McSherry and Najork,
"Computing information retrieval performance measures efficiently in the presence of tied scores", ECIR 2008.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankgauge.matching.hits import ZERO, every, fixed, positions_within, sum_by

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats, Ints
    from rankgauge.matching.hits import Hits

__all__ = ["divide", "expected_precision_sum", "expected_reciprocal_rank", "expected_stops", "expected_success"]
__all__ += ["in_turn", "running_count", "running_sum", "within"]


def divide(value: Floats, by: Floats, where: Bools | None = None) -> Floats:
    """value / by, and 0 where there is nothing to divide by: where `by` is not above 0, unless `where` says it."""
    where = by > ZERO if where is None else where
    if every(where):
        return value / by
    return np.divide(value, by, out=np.zeros(len(value)), where=where)


def within(hits: Hits, k: int | Floats | None) -> Floats | Bools:
    """Whether each hit is among the first k (one for all, or one for each hit): the probability of it where ties are
    averaged."""
    if k is None:
        return np.ones(len(hits), bool)
    if not hits.averaged:
        inside: Bools = hits.rank <= (fixed(k) if isinstance(k, int) else k)
        return inside
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


# ---- expected over the orders of ties, where that is not a mere sum -------------------------------------------------


class Groups(NamedTuple):
    """The tie groups that hold a relevant document, in order."""

    query: Ints
    first: Ints
    size: Ints
    relevant: Ints
    before: Ints  # relevant documents of the query in earlier groups


def _groups(hits: Hits, relevant: Bools) -> Groups:
    query, first, tied = hits.query[relevant], hits.first[relevant], hits.tied[relevant]
    new = np.r_[True, (query[1:] != query[:-1]) | (first[1:] != first[:-1])] if len(query) else np.zeros(0, bool)
    begin = np.flatnonzero(new)
    counts = np.diff(np.r_[begin, len(query)])
    return Groups(query[begin], first[begin], tied[begin], counts, positions_within(query)[begin])


def expected_reciprocal_rank(hits: Hits, relevant: Bools, k: int | None) -> Floats:
    """The first relevant document lies in the first group that has one: sum over its possible ranks."""
    groups = _groups(hits, relevant)
    lead = groups.before == 0
    query, first, size, count = groups.query[lead], groups.first[lead], groups.size[lead], groups.relevant[lead]
    result = np.zeros(len(hits.queries))
    chance = count / size
    steps = int((size - count).max(initial=-1)) + 1
    for step in range(steps if k is None else min(steps, k)):
        open_ = size - count >= step
        counted = open_ & (first + step <= k) if k is not None else open_
        result[query[counted]] += chance[counted] / (first[counted] + step)
        left = np.maximum(size - step, 1)
        chance = chance * np.maximum(left - count, 0) / np.maximum(left - 1, 1)
    return result


def expected_success(hits: Hits, relevant: Bools, k: int) -> Floats:
    """One minus the probability that no relevant document is among the first k."""
    groups = _groups(hits, relevant)
    failure = np.ones(len(groups.query))
    inside = np.clip(k - groups.first + 1, 0, groups.size)
    for step in range(int(groups.relevant.max(initial=0))):
        drawn = step < groups.relevant
        still = np.maximum(groups.size - inside - step, 0) / np.maximum(groups.size - step, 1)
        failure = np.where(drawn, failure * still, failure)
    none = np.ones(len(hits.queries))
    np.multiply.at(none, groups.query, failure)
    return 1.0 - none


def expected_precision_sum(hits: Hits, relevant: Bools, k: int | None) -> Floats:
    """The sum of the precisions at the relevant documents, which average precision divides by R."""
    groups = _groups(hits, relevant)
    owner = np.repeat(np.arange(len(groups.query)), groups.size)
    step = positions_within(owner)
    size, count = groups.size[owner], groups.relevant[owner]
    others = np.where(size > 1, step * (count - 1) / np.maximum(size - 1, 1), 0.0)
    rank = groups.first[owner] + step
    value = count / size * (groups.before[owner] + others + 1.0) / rank
    if k is not None:
        value = np.where(rank <= k, value, 0.0)
    return sum_by(groups.query[owner], value, len(hits.queries))


def expected_stops(hits: Hits, chance: Floats, k: int | None) -> tuple[Ints, Floats, Floats]:
    """For each tie group that can satisfy a reader who comes to it: its query, the expected reciprocal rank at which
    the reader stops there, and the probability that he does not.

    With m(j) the mean, over all choices of j documents of the group, of the probability that none of them satisfies,
    he stops at the j-th place with probability m(j − 1) − m(j).
    """
    satisfies = chance > 0
    groups, goes_on = _groups(hits, satisfies), 1.0 - chance[satisfies]
    begin = np.cumsum(groups.relevant) - groups.relevant
    left = np.multiply.reduceat(goes_on, begin) if len(begin) else goes_on
    depth = groups.size if k is None else np.clip(k - groups.first + 1, 0, groups.size)
    stops = np.where(depth > 0, (1.0 - left) / groups.first, 0.0)  # right for a group of one
    several = np.flatnonzero((groups.size > 1) & (depth > 0))
    scale = np.frexp(depth[several])[1]
    for each in np.unique(scale).tolist():  # groups of like depth share a table
        rows = several[scale == each]
        mean = _mean_products(goes_on, begin[rows], groups.relevant[rows], groups.size[rows], int(depth[rows].max()))
        place = np.arange(mean.shape[1] - 1)
        within = place < depth[rows][:, None]
        stop = np.where(within, (mean[:, :-1] - mean[:, 1:]) / (groups.first[rows][:, None] + place), 0.0)
        stops[rows] = np.cumsum(stop, axis=1)[:, -1]  # in order: the same whatever groups share the table
    return groups.query, stops, left


def _mean_products(values: Floats, begin: Ints, counts: Ints, sizes: Ints, depth: int) -> Floats:
    """For each group the mean product of j of its values, over all choices of j, for j from 0 to a depth. The group has
    `counts` values from `begin` on; the rest of its size are ones."""
    chosen = np.arange(1, depth + 1)
    mean = (np.arange(depth + 1) <= (sizes - counts)[:, None]).astype(np.float64)
    for step in range(int(counts.max(initial=0))):
        more = np.flatnonzero(counts > step)
        value, share = values[begin[more] + step][:, None], chosen / (sizes - counts + step + 1)[more][:, None]
        mean[more, 1:] = (1.0 - share) * mean[more, 1:] + share * value * mean[more, :-1]
    return mean
