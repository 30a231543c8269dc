"""Systems over many data sets: macro-averages, their ranks, and how sure these are.

A data set is a stratum: a table of values, a row per query and a column per system. The data sets are what they are;
the queries within each are a sample, and it is over them that everything is resampled, flipped and estimated. The
macro-average of D data sets is the weighted mean of all queries, each of data set d with weight 1 / (D · n_d).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from rankgauge.stats.estimate import Estimate
from rankgauge.stats.inference import (
    ALPHA,
    FLIPS,
    Adjusted,
    Answer,
    Queries,
    adjusted,
    differences,
    mean_estimates,
)
from rankgauge.stats.paired import apart, midranks

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats, Ints

__all__ = ["borda", "groups_of", "macro_differences", "macro_estimates", "macro_means", "rank_intervals", "ranks_of"]

RESAMPLES: Final = 2_000
SAME: Final = 12  # decimals, to which macro-averages that are equal agree


def macro_means(tables: Sequence[Floats]) -> Floats:
    """The mean over data sets of the mean over queries, for every system."""
    result: Floats = np.mean([table.mean(axis=0) for table in tables], axis=0)
    return result


def macro_estimates(
    tables: Sequence[Floats], *, bounded: bool, alpha: float = ALPHA, flips: int = FLIPS, seed: int = 0
) -> list[Estimate]:
    """Macro-average of every system with its interval; none where a data set has a single query."""
    columns = list(np.concatenate(tables).T)
    queries = replace(_queries(tables), known=min(map(len, tables)) > 1)
    return mean_estimates(columns, queries, bounded=bounded, alpha=alpha, flips=flips, seed=seed)


def macro_differences(
    tables: Sequence[Floats], pairs: Sequence[tuple[int, int]], *, alpha: float = ALPHA, flips: int = FLIPS,
    seed: int = 0,
) -> list[tuple[Answer, Adjusted]]:  # fmt: skip
    """Difference of the macro-averages of each pair of systems, alone and adjusted for the others."""
    table, queries = np.concatenate(tables), _queries(tables)
    columns = [apart(table[:, one], table[:, other]) for one, other in pairs]
    answers = differences(columns, queries, alpha=alpha, flips=flips, seed=seed)
    if len(answers) < 2:
        return [(answer, Adjusted(answer.p, answer.interval)) for answer in answers]
    return [*zip(answers, adjusted(answers, columns, queries, alpha=alpha, flips=flips, seed=seed), strict=True)]


def _queries(tables: Sequence[Floats]) -> Queries:
    """How the queries of all data sets weigh."""
    strata = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
    weights = np.concatenate([np.full(len(table), 1 / (len(tables) * len(table))) for table in tables])
    return Queries(len(strata), weights, strata=strata)


def ranks_of(means: Floats) -> Ints:
    """1 for the largest, and so on; equal ones share the better rank. Systems are along the last axis."""
    rounded = np.round(means, SAME)
    result: Ints = 1 + (rounded[..., None, :] > rounded[..., :, None]).sum(axis=-1)
    return result


def rank_intervals(
    tables: Sequence[Floats], *, alpha: float = 0.05, resamples: int = RESAMPLES, seed: int = 0
) -> list[tuple[int, int] | None]:
    """For every system the range of ranks that its macro-average has in all but a share alpha of resamples.

    From each data set of n queries n − 1 are drawn with replacement: then the scatter of resampled means is that of the
    mean, without the bias that counts where data sets are small. A data set of a single query cannot be resampled:
    with one there are no ranges.
    """
    if min(map(len, tables)) < 2:
        return [None] * tables[0].shape[1]
    means = np.zeros((resamples, tables[0].shape[1]))
    for number, table in enumerate(tables):
        size = len(table) - 1
        for part, times in _draws(len(table), resamples, (seed, 3, number), size):
            means[part] += times @ table / size / len(tables)
    ranks = np.sort(ranks_of(means), axis=0)
    low, high = int(np.floor(alpha / 2 * resamples)), int(np.ceil((1 - alpha / 2) * resamples)) - 1
    seen = ranks_of(macro_means(tables)).tolist()
    ends = zip(ranks[low].tolist(), ranks[high].tolist(), seen, strict=True)
    return [(min(first, rank), max(last, rank)) for first, last, rank in ends]


def borda(cells: Floats) -> Floats:
    """Borda counts of systems (columns) over data sets (rows): for each data set, how many others a system beats.

    Equal values share the points.
    """
    points: Floats = np.sum([midranks(np.round(row, SAME)) - 1 for row in cells], axis=0)
    return points


def groups_of(systems: int, apart: Bools) -> list[list[int]]:
    """The largest sets of systems of which no two differ significantly, in the order of their first systems.

    `apart` has a row and a column for each system. The relation is not transitive, so a system may be in several.
    """
    everyone = range(systems)
    near = {one: {other for other in everyone if other != one and not apart[one, other]} for one in everyone}
    found: list[list[int]] = []

    def extend(inside: set[int], free: set[int], done: set[int]) -> None:
        if not free and not done:
            found.append(sorted(inside))
            return
        pivot = max(sorted(free | done), key=lambda each: len(near[each] & free))
        for each in sorted(free - near[pivot]):
            extend(inside | {each}, free & near[each], done & near[each])
            free, done = free - {each}, done | {each}

    extend(set(), set(range(systems)), set())
    return sorted(found)


def _draws(
    units: int, resamples: int, seed: tuple[int, ...], drawn: int | None = None
) -> Iterator[tuple[slice, Floats]]:
    """Which resamples, and how often each of them holds every unit; of so many units drawn, or as many as there are."""
    number = units if drawn is None else drawn
    at_once = max(1, min(resamples, (1 << 21) // units))
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))
    for start in range(0, resamples, at_once):
        size = min(at_once, resamples - start)
        chosen = random.integers(0, units, (size, number)) + units * np.arange(size)[:, None]
        times = np.bincount(chosen.ravel(), minlength=size * units).reshape(size, units)
        yield slice(start, start + size), times.astype(np.float64)
