"""The expectation of a measure over the orders of tied documents, where it is not a mere sum.

A group of t tied documents, r of them relevant, takes up the ranks first … first + t − 1. (McSherry and Najork,
"Computing information retrieval performance measures efficiently in the presence of tied scores", ECIR 2008.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankgauge.match.hits import positions_within, sum_by

if TYPE_CHECKING:
    from rankgauge.match.hits import Bools, Floats, Hits, Ints

__all__ = ["expected_precision_sum", "expected_reciprocal_rank", "expected_success"]


@dataclass(frozen=True, eq=False, slots=True)
class Groups:
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
    for step in range(int((size - count).max(initial=-1)) + 1):
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
    return 1.0 - _product(groups.query, failure, len(hits.queries))


def _product(query: Ints, values: Floats, queries: int) -> Floats:
    result = np.ones(queries)
    np.multiply.at(result, query, values)
    return result


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
