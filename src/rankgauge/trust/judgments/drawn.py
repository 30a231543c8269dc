"""Means of runs under many draws of the grades: what `label_noise` measures again and again.

For nDCG, where a rank does not depend on grades, each query's ideal is found once for all runs from the numbers of its
documents per grade, and nothing is sorted. Every other measure and rule takes the general way: hits are put together
under each draw and measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from rankgauge.errors import MeasureError
from rankgauge.matching.parts import GROUPED
from rankgauge.measures.aggregates import aggregate
from rankgauge.protocol import DEFAULT, REPEATING
from rankgauge.trust.unjudged.scale import Scale, scale_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from rankgauge.dtypes import Floats, Ints
    from rankgauge.matching.grades import Traced
    from rankgauge.measures import Measure
    from rankgauge.protocol import Protocol
    from rankgauge.read import Columns

    # Draw × judgment: the place of each grade in the scale, −1 for one that stays below 0 → draw × run: the means.
    Means: TypeAlias = Callable[[Ints], Floats]

__all__ = ["means_of"]

# Rules under which ranks and the ideal are what the quick way takes them for.
PLAIN: Final = ("grades", "negative", "unjudged", "ideal", "ideal_order", "ideal_depth", "empty", "depth")


def means_of(rows: Columns, traced: Sequence[Traced], measure: Measure, grades: Floats, protocol: Protocol) -> Means:
    """How to get the mean of every run under draws of the grades."""
    try:
        scale = scale_of(measure, grades)
    except MeasureError:
        return _general(rows, traced, measure, grades)
    plain = all(getattr(protocol, rule) == getattr(DEFAULT, rule) for rule in PLAIN)
    if not plain or protocol.ties in GROUPED or protocol.duplicates in REPEATING:
        return _general(rows, traced, measure, grades)
    place = {query: at for at, query in enumerate(rows.queries)}
    return _quick(rows, [_Ranked.of(each, scale, place) for each in traced], scale)


def _general(rows: Columns, traced: Sequence[Traced], measure: Measure, grades: Floats) -> Means:
    def means(places: Ints) -> Floats:
        drawn = np.where(places < 0, rows.number, grades[places])
        result = np.empty((len(places), len(traced)))
        for at, each in enumerate(traced):
            values = measure(each.under_many(drawn)).reshape(len(places), -1)
            result[:, at] = [aggregate("mean", row, None) for row in values]
        return result

    return means


@dataclass(frozen=True, eq=False, slots=True)
class _Ranked:
    """The judged documents of one run at ranks that count: query, judgment and weight of each; its queries."""

    query: Ints
    row: Ints
    weight: Floats
    queries: Ints

    @staticmethod
    def of(traced: Traced, scale: Scale, place: dict[str, int]) -> _Ranked:
        queries = np.array([place[query] for query in traced.hits.queries], np.int64)
        weight = scale.weight(traced.hits.rank)
        counts = weight > 0
        return _Ranked(queries[traced.hits.query[counts]], traced.row[counts], weight[counts], queries)


def _quick(rows: Columns, ranked: Sequence[_Ranked], scale: Scale) -> Means:
    worth: Floats = np.r_[scale.worth(scale.grades), 0.0]  # the last is what −1 stands for
    level = np.searchsorted(np.r_[0.0, scale.gains], worth)
    query, queries, steps = rows.query.astype(np.int64), len(rows.queries), len(scale.gains) + 1
    setting = scale.setting(int(np.bincount(query, minlength=1).max()))

    def means(places: Ints) -> Floats:
        number = len(places)
        shift = np.arange(number)[:, None] * queries
        cells = ((shift + query) * steps + level[places]).ravel()
        counts = np.bincount(cells, minlength=number * queries * steps).reshape(number, queries, steps)
        reached = np.flip(np.flip(counts, axis=2).cumsum(axis=2), axis=2)[:, :, 1:]
        ideal = setting.ideal(reached, np.zeros(1, np.int64)) @ setting.steps
        result = np.empty((number, len(ranked)))
        for at, each in enumerate(ranked):
            gained = (worth[places[:, each.row]] * each.weight).ravel()
            summed = np.bincount((shift + each.query).ravel(), gained, number * queries).reshape(number, queries)
            value = np.divide(summed, ideal, out=np.zeros(summed.shape), where=ideal > 0)
            result[:, at] = value[:, each.queries].mean(axis=1)
        return result

    return means
