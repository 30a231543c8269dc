"""What nDCG is to be expected if unjudged documents are like judged ones at the same depth.

They seldom are: what was judged was chosen because some system liked it, so the expectation is optimistic. Each open
document draws its grade from those of judged documents at its depth (ranks 1, 2, 3–5, 6–10, 11–20, 21–50, …; each grade
counted once more than it occurs). The value is the expectation of the ratio: the ideal moves with every draw.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from rankgauge.unjudged.bounds import open_of_run

if TYPE_CHECKING:
    from rankgauge.match.hits import Bools, Floats, Ints
    from rankgauge.unjudged.extremes import Setting
    from rankgauge.unjudged.sheet import Sheet

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
    judged = [top.only(~top.open) for top in tops]
    depth = bin_of(np.concatenate([top.rank for top in tops]))
    counts = np.ones((int(depth.max(initial=0)) + 1, len(scale.grades)))
    for top in judged:
        np.add.at(counts, (bin_of(top.rank), np.searchsorted(scale.grades, top.grade)), 1.0)
    worth = np.searchsorted(np.r_[0.0, scale.gains], scale.worth(scale.grades))
    by_gain = np.zeros((len(counts), len(scale.gains) + 1))
    np.add.at(by_gain.T, worth, counts.T)
    result: Floats = by_gain / by_gain.sum(axis=1, keepdims=True)
    return result


def expected_values(sheet: Sheet, name: str, seed: int = 0) -> Expected:
    """The expected value of every query under a run."""
    top, left = sheet.pool.tops[name], open_of_run(sheet, name)
    value = sheet.values(name)
    result, error = value.copy(), np.zeros(len(value))
    likely = chances(sheet)[bin_of(top.rank[top.open])]
    sizes = np.bincount(left.query, minlength=len(value))
    levels = sheet.levels()
    setting = sheet.scale.setting(int((levels.max(axis=1, initial=0) + sizes).max(initial=0)))
    starts = sizes.cumsum() - sizes
    for queries, size in _groups(sizes, np.isnan(value), len(sheet.scale.gains)):
        rows = starts[queries][:, None] + np.arange(size)
        case = _Case(setting, sheet.scale.gains, left.fixed[queries], levels[queries], left.weight[rows], likely[rows],
                     value[queries])  # fmt: skip
        if (size + 1) ** len(sheet.scale.gains) <= CELLS:
            result[queries] = _exact(case)
        else:
            draws = int(np.clip(ALL_DRAWS // int((sizes > 0).sum()), *DRAWS))
            result[queries], error[queries] = _sampled(case, seed + int(queries[0]), draws)
    return Expected(result, error)


class _Case(NamedTuple):
    """Queries with equally many open documents: c, judged per level, weights and chances of these, the value now."""

    setting: Setting
    gains: Floats
    fixed: Floats
    levels: Ints
    weight: Floats
    likely: Floats
    value: Floats


def _groups(sizes: Ints, left_out: Bools, levels: int) -> Iterator[tuple[Ints, int]]:
    """Queries with equally many open documents, so many at a time as are worked on together."""
    for size in np.unique(sizes[sizes > 0]).tolist():
        queries = np.flatnonzero((sizes == size) & ~left_out)
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


def _sampled(case: _Case, seed: int, draws: int) -> tuple[Floats, Floats]:
    """The mean over random draws and its standard error, query by query."""
    random = np.random.default_rng(seed)
    worth, means, errors = np.r_[0.0, case.gains], [], []
    for at in range(len(case.fixed)):
        drawn = random.random((draws, case.weight.shape[1], 1)) > np.cumsum(case.likely[at], axis=1)[:, :-1]
        level = drawn.sum(axis=2)
        reached = (level[:, :, None] > np.arange(len(case.gains))).sum(axis=1)
        ideal = case.setting.ideal(case.levels[at], reached) @ case.setting.steps
        value = np.full(draws, case.value[at])
        np.divide(case.fixed[at] + worth[level] @ case.weight[at], ideal, out=value, where=ideal > 0)
        means.append(float(value.mean()))
        errors.append(float(value.std(ddof=1) / np.sqrt(draws)))
    return np.array(means), np.array(errors)
