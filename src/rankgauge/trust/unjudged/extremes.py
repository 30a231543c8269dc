"""The largest and smallest nDCG, or difference of two, over all grades that open documents may turn out to have.

The naive bounds (every open document at the top grade, or at 0) are wrong, for the ideal moves too. Nothing needs to
be enumerated either. Let the gains be 0 = v₀ < v₁ < … with steps δₗ = vₗ − vₗ₋₁; let mₗ judged documents of a query
gain at least vₗ, and let nₗ of its open ones be put there. Then

    ideal DCG = Σ δₗ · H(min(k, mₗ + nₗ))        H(x): the sum of the first x discounts
    numerator = c + Σ δₗ · P(nₗ)                 P(x): the sum of the x largest weights of open documents

where c is what judged documents add. The weight of a document is the discount of its rank; for A − B, where a shared
document has one grade, it is the difference of its discounts. The largest ratio, if negative, puts x documents at the
top and the rest at 0; otherwise Dinkelbach's method finds it: for λ the ratio so far, each level by itself takes the
largest nₗ that maximises P(x) − λ·H(mₗ + x), which keeps the levels nested, until λ stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats, Ints

__all__ = ["Setting", "extremes", "padded"]

ROUNDS: Final = 60  # Dinkelbach needs a handful
AT_ONCE: Final = 1 << 17  # numbers worked on together: few enough to stay in the processor's cache
NONE: Final = -np.inf


@dataclass(frozen=True, eq=False, slots=True)
class Setting:
    """What all assignments share: the steps between gains, and H, the sums of the first 0, 1, … k discounts."""

    steps: Floats
    upto: Floats

    def ideal(self, judged: Ints, more: Ints) -> Floats:
        """H(min(k, m + n)); the shapes are broadcast."""
        result: Floats = self.upto[np.minimum(judged + more, len(self.upto) - 1)]
        return result


def extremes(setting: Setting, fixed: Floats, judged: Ints, query: Ints, weight: Floats) -> tuple[Floats, Floats]:
    """The smallest and the largest ratio of every query.

    `fixed` is c and `judged[i, l]` is mₗ of query i; `query` and `weight` have an entry per open document. Assignments
    without any gain have no ratio: they are left out, and NaN is the answer where there is no other.
    """
    low, high = np.empty(len(fixed)), np.empty(len(fixed))
    order = np.argsort(query, kind="stable")
    query, weight = query[order], weight[order]
    for start, end in _chunks(query, len(fixed), len(setting.steps)):
        rows = slice(*np.searchsorted(query, [start, end]))
        part = slice(start, end)
        above = padded(query[rows] - start, weight[rows], end - start)
        below = padded(query[rows] - start, -weight[rows], end - start)
        # query × level × documents put there
        ideals = setting.ideal(judged[part][:, :, None], np.arange(above.shape[1]))
        high[part] = _largest(setting, fixed[part], above, ideals)
        low[part] = -_largest(setting, -fixed[part], below, ideals)
    return low, high


def padded(query: Ints, weight: Floats, queries: int) -> Floats:
    """P: a row per query with the sums of its 0, 1, 2, … largest weights; −∞ beyond its last document."""
    order = np.lexsort((-weight, query))
    query, weight = query[order], weight[order]
    sizes = np.bincount(query, minlength=queries)
    place = np.arange(len(query)) - (sizes.cumsum() - sizes)[query]
    sums = np.full((queries, int(sizes.max(initial=0)) + 1), NONE)
    sums[:, 0] = 0.0
    sums[query, place + 1] = weight
    return sums.cumsum(axis=1)


def _chunks(query: Ints, queries: int, levels: int) -> list[tuple[int, int]]:
    """Neighbouring queries whose tables are worked on together."""
    most = int(np.bincount(query, minlength=1).max()) + 1
    step = max(1, AT_ONCE // (most * max(levels, 1)))
    return [(start, min(start + step, queries)) for start in range(0, queries, step)]


def _largest(setting: Setting, fixed: Floats, sums: Floats, ideals: Floats) -> Floats:
    """The largest ratio of every query."""
    best = _vertices(setting, fixed, sums, ideals)
    active = np.flatnonzero(best >= 0)
    for _ in range(ROUNDS):
        if not len(active):
            break
        found = _improved(setting, fixed[active], sums[active], ideals[active], best[active])
        better = found > best[active]
        active = active[better]
        best[active] = found[better]
    return np.where(best == NONE, np.nan, best)


def _vertices(setting: Setting, fixed: Floats, sums: Floats, ideals: Floats) -> Floats:
    """The best ratio with 0, 1, 2, … documents at the top and the rest at 0."""
    ideal = setting.steps @ ideals
    value = fixed[:, None] + setting.steps.sum() * sums
    ratio = np.full(value.shape, NONE)
    np.divide(value, ideal, out=ratio, where=ideal > 0)
    result: Floats = ratio.max(axis=1)
    return result


def _improved(setting: Setting, fixed: Floats, sums: Floats, ideals: Floats, ratio: Floats) -> Floats:
    """One round: each level takes the largest number of documents that is best for the ratio so far."""
    worth = ideals * -ratio[:, None, None]
    worth += sums[:, None, :]
    taken = worth.shape[2] - 1 - worth[:, :, ::-1].argmax(axis=2)
    value = fixed + np.take_along_axis(sums, taken, axis=1) @ setting.steps
    ideal = np.take_along_axis(ideals, taken[:, :, None], axis=2)[:, :, 0] @ setting.steps
    result = np.full(len(fixed), NONE)
    np.divide(value, ideal, out=result, where=ideal > 0)
    return result
