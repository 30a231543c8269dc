"""The order of a ranking, as array operations: the rules that both paths of `match` share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rankgauge.match.hits import Bools, Floats, Ints

__all__ = ["count_above", "descending_within", "sort_within", "tie_groups"]


def descending_within(scores: Floats, starts: Ints) -> bool:
    """Whether scores never rise within a query, the queries' first rows being given."""
    rises = scores[1:] > scores[:-1]
    inner = starts[(starts > 0) & (starts < len(scores))]
    rises[inner - 1] = False
    return not rises.any()


def sort_within(values: Floats, starts: Ints, ends: Ints) -> None:
    """Sort each query's values in descending order, in place."""
    np.negative(values, out=values)
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        values[start:end].sort()
    np.negative(values, out=values)


def count_above(scores: Floats, starts: Ints, ends: Ints, value: Floats, *, or_equal: bool = False) -> Ints:
    """For each value, how many of scores[start:end], which descend, are higher (or equal): bisects all at once."""
    low, high = starts.copy(), ends.copy()
    last = max(len(scores) - 1, 0)
    for _ in range(int((ends - starts).max(initial=0)).bit_length()):
        middle = (low + high) >> 1
        there = scores[np.minimum(middle, last)]
        above = (there >= value) if or_equal else (there > value)
        above &= low < high
        low = np.where(above, middle + 1, low)
        high = np.where(above, high, np.minimum(high, middle))
    return low - starts


def tie_groups(scores: Floats, starts: Ints, ends: Ints, value: Floats) -> tuple[Ints, Ints]:
    """For each value that occurs in scores[start:end], the first rank of those that share it and how many they are."""
    above = count_above(scores, starts, ends, value)
    following = np.minimum(starts + above + 1, np.maximum(ends - 1, 0))
    several: Bools = (following > starts + above) & (scores[following] == value)
    tied = np.ones(len(value), np.int64)
    if several.any():
        until = count_above(scores, starts[several], ends[several], value[several], or_equal=True)
        tied[several] = until - above[several]
    return above + 1, tied
