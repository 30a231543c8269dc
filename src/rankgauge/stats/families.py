"""Many comparisons at once: what their p-values become.

Holm's and both Tukeys control the family-wise error rate (the chance of any false claim), Benjamini–Hochberg and
Benjamini–Yekutieli the false discovery rate (the expected share of false claims). Single-step max-T is in inference.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from rankgauge.stats.flips import whole_numbers

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats

__all__ = [
    "ALONE", "benjamini_hochberg", "benjamini_yekutieli", "holm", "randomised_tukey", "residual_square", "tukey",
]  # fmt: skip


def holm(p: Floats) -> Floats:
    """Holm 1979: the smallest times m, the next times m − 1, …, never falling."""
    order = np.argsort(p, kind="stable")
    result = np.empty_like(p)
    result[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(result, 1.0)


def benjamini_hochberg(p: Floats, factor: float = 1.0) -> Floats:
    """Benjamini and Hochberg 1995: the k-th smallest times m / k, never above that of a larger one."""
    order = np.argsort(p, kind="stable")[::-1]
    result = np.empty_like(p)
    result[order] = np.minimum.accumulate(p[order] * len(p) * factor / np.arange(len(p), 0, -1))
    return np.minimum(result, 1.0)


def benjamini_yekutieli(p: Floats) -> Floats:
    """Benjamini and Yekutieli 2001: the same times 1 + 1/2 + … + 1/m, which holds under any dependence."""
    return benjamini_hochberg(p, float((1 / np.arange(1, len(p) + 1)).sum()))


def residual_square(table: Floats) -> float:
    """The error mean square of the two-way layout (query + system), with (n − 1)(m − 1) degrees of freedom."""
    queries, systems = table.shape
    apart = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0, keepdims=True) + table.mean()
    return float((apart**2).sum() / ((queries - 1) * (systems - 1)))


def tukey(table: Floats, pairs: Sequence[tuple[int, int]]) -> Floats:
    """Two-way Tukey HSD, which takes the queries out first; the p of the studentised range for every pair.

    NaN of one query, which tells nothing of scatter.
    """
    from scipy.stats import studentized_range

    queries, systems = table.shape
    means = table.mean(axis=0)
    apart = np.abs([means[a] - means[b] for a, b in pairs])
    if queries < 2:
        return np.full(len(apart), np.nan)
    error = np.sqrt(residual_square(table) / queries)
    if not error > 1e-12 * np.abs(table).max(initial=1e-300):
        return np.where(apart > 0, 0.0, 1.0)
    result: Floats = np.asarray(studentized_range.sf(apart / error, systems, (queries - 1) * (systems - 1)))
    return np.clip(result, 0.0, 1.0)


def randomised_tukey(
    table: Floats, pairs: Sequence[tuple[int, int]], *, permutations: int = 10_000, seed: int = 0
) -> Floats:
    """Randomised Tukey HSD: how often the range of all means, values permuted within queries, reaches a difference."""
    whole = whole_numbers(table.ravel())[0].reshape(table.shape)
    totals = whole.sum(axis=0)
    apart = np.abs([totals[a] - totals[b] for a, b in pairs]) - 2.0 * len(table)
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, 2))))
    at_once = max(1, min(permutations, (1 << 20) // whole.size))
    repeated = np.tile(whole, (at_once, 1))
    ranges = np.empty(0)
    while len(ranges) < permutations:
        sums = random.permuted(repeated, axis=1).reshape(at_once, *whole.shape).sum(axis=1)
        ranges = np.concatenate([ranges, sums.max(axis=1) - sums.min(axis=1)])
    ranges = ranges[:permutations]
    return np.array([(1 + np.count_nonzero(ranges >= each)) / (permutations + 1) for each in apart])


# Methods that need nothing but the p-values.
ALONE: Final[dict[str, Callable[[Floats], Floats]]] = {
    "holm": holm,
    "bh": benjamini_hochberg,
    "by": benjamini_yekutieli,
    "none": lambda p: p.copy(),
}
