"""What nDCG is to be expected if unjudged documents are like judged ones at the same depth.

They seldom are: what was judged was chosen because some system liked it, so the expectation is optimistic. Each open
document draws its grade from those of judged documents at its depth (ranks 1, 2, 3–5, 6–10, 11–20, 21–50, …; each grade
counted once more than it occurs). The value is the expectation of the ratio: the ideal moves with every draw.

Where there are too many combinations to go through, numbers of documents per depth and grade are drawn. Documents of
one depth are alike, so given the numbers the numerator to expect is known: which of them has which grade is not drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from rankgauge.trust.unjudged.bounds import open_of_run

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats, Ints
    from rankgauge.trust.unjudged.sheet import Setting, Sheet

__all__ = ["Expected", "bin_of", "chances", "expected_values"]

CELLS: Final = 20_000  # numbers of documents per grade, up to which every combination is gone through
AT_ONCE: Final = 1 << 16  # numbers worked on together: few enough to stay in the processor's cache
DRAWS: Final = (100, 1_000)  # so many of a query, at least and at most
ALL_DRAWS: Final = 100_000  # of all queries together, where there are many


class Expected(NamedTuple):
    """The expectation for every query, and its standard error: 0 where it was computed and not sampled."""

    value: Floats
    error: Floats


def bin_of(rank: Ints) -> Ints:
    """The depth of a rank: 1 | 2 | 3–5 | 6–10 | 11–20 | 21–50 | 51–100 | …"""
    longest = max(2, int(rank.max(initial=1)))
    ends = [1, 2, *(step * 10**power for power in range(len(str(longest)) + 1) for step in (5, 10, 20))]
    return np.searchsorted(np.unique(ends), rank)


def chances(sheet: Sheet) -> Floats:
    """Depth × gain (0 first): how likely a document at that depth is worth so much, from the judged ones there."""
    scale, tops = sheet.scale, sheet.pool.tops.values()
    depth = bin_of(np.concatenate([top.rank for top in tops]))
    counts = np.ones((int(depth.max(initial=0)) + 1, len(scale.grades)))
    for top in (each.only(~each.open) for each in tops):
        np.add.at(counts, (bin_of(top.rank), np.searchsorted(scale.grades, top.grade)), 1.0)
    worth = np.searchsorted(np.r_[0.0, scale.gains], scale.worth(scale.grades))
    by_gain = np.zeros((len(counts), len(scale.gains) + 1))
    np.add.at(by_gain.T, worth, counts.T)
    result: Floats = by_gain / by_gain.sum(axis=1, keepdims=True)
    return result


def expected_values(sheet: Sheet, name: str, seed: int = 0, *, cells: int = CELLS) -> Expected:
    """The expected value of every query under a run; what has more than so many `cells` is sampled."""
    top, left = sheet.pool.tops[name], open_of_run(sheet, name)
    value, gains, levels = sheet.values(name), sheet.scale.gains, sheet.levels
    result, error = value.copy(), np.zeros(len(value))
    likely, depth = chances(sheet), bin_of(top.rank[top.open])
    sizes = np.bincount(left.query, minlength=len(value))
    setting = sheet.scale.setting(int((levels.max(axis=1, initial=0) + sizes).max(initial=0)))
    starts, moves = sizes.cumsum() - sizes, (sizes > 0) & ~np.isnan(value)
    few = moves & ((sizes + 1.0) ** len(gains) <= cells)
    for queries, size in _groups(sizes, few, len(gains)):
        rows = starts[queries][:, None] + np.arange(size)
        case = setting, gains, left.fixed[queries], levels[queries], value[queries]
        result[queries] = _exact(_Case(*case, left.weight[rows], likely[depth[rows]]))
    many = np.flatnonzero(moves & ~few)
    if len(many):
        draws = int(np.clip(ALL_DRAWS // int((sizes > 0).sum()), *DRAWS))
        numbers, weight = _by_depth(left.query, depth, left.weight, (len(value), len(likely)))
        step = max(1, AT_ONCE // draws)
        for start in range(0, len(many), step):
            part = many[start : start + step]
            case = setting, gains, left.fixed[part], levels[part], value[part]
            result[part], error[part] = _sampled(_Case(*case, weight[part], likely), numbers[part], seed + start, draws)
    return Expected(result, error)


class _Case(NamedTuple):
    """Queries: c, judged documents per level, the value now; and weights and chances of their open documents.

    These are equally many, and each has its own; or many, of which only depths count: the mean weight at each.
    """

    setting: Setting
    gains: Floats
    fixed: Floats
    levels: Ints
    value: Floats
    weight: Floats
    likely: Floats


def _groups(sizes: Ints, few: Bools, levels: int) -> Iterator[tuple[Ints, int]]:
    """Queries with equally many open documents, so many at a time as are worked on together."""
    for size in np.unique(sizes[few]).tolist():
        queries = np.flatnonzero((sizes == size) & few)
        step = max(1, AT_ONCE // min((size + 1) ** levels, AT_ONCE))
        for start in range(0, len(queries), step):
            yield queries[start : start + step], size


def _exact(case: _Case) -> Floats:
    """Go through every number of documents per gain: how likely it is, and the numerator to expect with it."""
    levels = len(case.gains)
    chance = np.ones((len(case.fixed),) + (1,) * levels)
    summed = np.zeros(chance.shape)
    for at in range(case.weight.shape[1]):
        chance, summed = _with_document(chance, summed, case, at)
    counts = np.indices(chance.shape[1:])
    reached = np.cumsum(counts[::-1], axis=0)[::-1]
    held = case.levels.reshape((*case.levels.shape, *([1] * levels)))
    ideal = sum(
        step * case.setting.ideal(held[:, level], reached[level])
        for level, step in enumerate(case.setting.steps.tolist())
    )
    spread = (slice(None), *([None] * levels))
    ratio = np.where(ideal > 0, 0.0, chance * case.value[spread])  # without any gain, what the rule `empty` says
    np.divide(case.fixed[spread] * chance + summed, ideal, out=ratio, where=ideal > 0)
    result: Floats = ratio.reshape(len(case.fixed), -1).sum(axis=1)
    return result


def _with_document(chance: Floats, summed: Floats, case: _Case, at: int) -> tuple[Floats, Floats]:
    """The same after one more document, which is worth each gain with its chance: a count of one more per gain."""
    levels = len(case.gains)
    spread, shape = (slice(None), *([None] * levels)), (len(chance), *(size + 1 for size in chance.shape[1:]))
    more, sums = np.zeros(shape), np.zeros(shape)
    for level, gain in enumerate([0.0, *case.gains.tolist()]):
        place = tuple(slice(1, None) if axis + 1 == level else slice(0, -1) for axis in range(levels))
        share = case.likely[:, at, level][spread]
        more[(slice(None), *place)] += share * chance
        sums[(slice(None), *place)] += share * summed + (share * (gain * case.weight[:, at])[spread]) * chance
    return more, sums


def _by_depth(query: Ints, depth: Ints, weight: Floats, shape: tuple[int, int]) -> tuple[Ints, Floats]:
    """Query × depth: how many open documents, and what a gain there adds on average."""
    cell = query * shape[1] + depth
    numbers = np.bincount(cell, minlength=shape[0] * shape[1])
    summed = np.bincount(cell, weight, shape[0] * shape[1])
    return numbers.reshape(shape), (summed / np.maximum(numbers, 1)).reshape(shape)


def _sampled(case: _Case, numbers: Ints, seed: int, draws: int) -> tuple[Floats, Floats]:
    """The mean over random draws and its standard error, of every query, which has so many documents at each depth."""
    random = np.random.default_rng(seed)
    shape = (len(case.fixed), draws)
    reached = np.zeros((*shape, len(case.gains)), np.int64)
    value = np.repeat(case.fixed[:, None], draws, axis=1)
    for depth in np.flatnonzero(numbers.any(axis=0)).tolist():
        number = np.broadcast_to(numbers[:, depth, None], shape)
        drawn = random.multinomial(number, case.likely[depth])[:, :, 1:]
        value += (drawn @ case.gains) * case.weight[:, depth, None]
        reached += np.flip(np.flip(drawn, axis=2).cumsum(axis=2), axis=2)
    ideal = case.setting.ideal(case.levels[:, None, :], reached) @ case.setting.steps
    ratio = np.repeat(case.value[:, None], draws, axis=1)
    np.divide(value, ideal, out=ratio, where=ideal > 0)
    return ratio.mean(axis=1), ratio.std(axis=1, ddof=1) / np.sqrt(draws)
