"""The order of a ranking, as array operations: the rules that both paths of `match` share.

Rankings lie end to end in one array, each between a start and an end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from rankgauge.dtypes import Array, Bools, Floats, Ints

__all__ = ["as_float32", "blocks_of_equal_size", "count_before", "descending_within", "sort_within", "tie_groups"]

WINDOW = 1 << 15  # looked up at once: small enough to stay in the processor's cache


def as_float32(scores: Floats) -> Floats:
    """The scores as a tool with 32-bit numbers sees them; what is too large for these is their largest."""
    largest = float(np.finfo(np.float32).max)
    return np.clip(scores, -largest, largest).astype(np.float32).astype(np.float64)


def descending_within(scores: Floats, starts: Ints) -> bool:
    """Whether scores never rise within a ranking."""
    rises = scores[1:] > scores[:-1]
    inner = starts[(starts > 0) & (starts < len(scores))]
    rises[inner - 1] = False
    return not rises.any()


def blocks_of_equal_size(sizes: Ints) -> Iterator[tuple[int, int, int]]:
    """Neighbouring rankings of one size as one block: where it starts, how many they are, their size.

    Most runs go equally deep for every query; a block is then sorted by one call instead of thousands.
    """
    if not len(sizes):
        return
    begins = np.concatenate(([0], np.flatnonzero(sizes[1:] != sizes[:-1]) + 1))
    counts = np.diff(np.append(begins, len(sizes)))
    start = 0
    for count, size in zip(counts.tolist(), sizes[begins].tolist(), strict=True):
        if size:
            yield start, count, size
        start += count * size


def sort_within(values: Floats, sizes: Ints) -> None:
    """Sort each ranking's values in descending order, in place."""
    np.negative(values, out=values)
    for start, count, size in blocks_of_equal_size(sizes):
        values[start : start + count * size].reshape(count, size).sort(axis=1)
    np.negative(values, out=values)


def count_before(ordered: Array, starts: Ints, ends: Ints, value: Array, comes_before: np.ufunc = np.greater) -> Ints:
    """For each value, how many of ordered[start:end] come before it: they are higher, or what else is asked.

    What comes before must lie in front of what does not. All values are bisected at once, a window at a time.
    """
    result = np.empty(len(value), np.int64)
    for begin in range(0, len(value), WINDOW):
        part = slice(begin, begin + WINDOW)
        result[part] = _bisect(ordered, starts[part], ends[part], value[part], comes_before) - starts[part]
    return result


def _bisect(ordered: Array, starts: Ints, ends: Ints, value: Array, comes_before: np.ufunc) -> Ints:
    """The first place in ordered[start:end] that does not come before the value.

    All are bisected in steps of the longest; what lies behind an end does not come before.
    """
    low, sizes = starts.copy(), ends - starts
    size = int(sizes.max(initial=0))
    uneven = size and int(sizes.min()) < size
    while size:
        half = (size + 1) >> 1
        middle = low + (half - 1)
        before = comes_before(ordered.take(middle, mode="clip"), value)
        if uneven:
            before &= middle < ends
        low += before * half
        size -= half
    return low


def tie_groups(scores: Floats, starts: Ints, ends: Ints, value: Floats) -> tuple[Ints, Ints]:
    """For each value that occurs in scores[start:end], the first rank of those that share it and how many they are."""
    above = count_before(scores, starts, ends, value)
    following = np.minimum(starts + above + 1, np.maximum(ends - 1, 0))
    several: Bools = (following > starts + above) & (scores[following] == value)
    tied = np.ones(len(value), np.int64)
    if several.any():
        until = count_before(scores, starts[several], ends[several], value[several], np.greater_equal)
        tied[several] = until - above[several]
    return above + 1, tied
