"""Leave one run out: what a system loses that had no part in choosing the documents to judge.

For each run, the judgments that it alone brought into the pool (documents among its first ones and no other run's) are
taken away, and all runs are measured again. A large loss, or a fall in the order, says that these judgments are unfair
to new systems.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankgauge.matching.grades import Traced, numbered, trace
from rankgauge.measures.aggregates import aggregate
from rankgauge.trust.unjudged.tops import pool_of

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools
    from rankgauge.read import Columns
    from rankgauge.trust.unjudged.sheet import Sheet
    from rankgauge.trust.unjudged.tops import Pool

__all__ = ["LeftOut", "leave_one_run_out"]


class LeftOut(NamedTuple):
    """A run with and without the judgments that it alone brought: their number, values, and ranks among the runs."""

    run: str
    alone: int
    value: float
    without: float
    rank: int
    rank_without: int

    @property
    def lost(self) -> float:
        """What the run loses."""
        return self.value - self.without


def leave_one_run_out(sheet: Sheet, depth: int | None = None) -> list[LeftOut]:
    """Each run left out of the pool of the first `depth` documents (the measure's k)."""
    pool = sheet.pool
    if depth is not None and depth != sheet.scale.k:
        pool = pool_of(pool.judged, sheet.runs, depth, sheet.protocol)
    rows = numbered(sheet.judgments)
    traced = {name: trace(rows, run, sheet.protocol) for name, run in sheet.runs.items()}
    whole = {name: result[sheet.measure] for name, result in sheet.results.items()}
    found = []
    for name, dropped in _brought_alone(pool, rows).items():
        less = {each: _mean(sheet, traced[each], rows, ~dropped) for each in traced}
        ranks = _rank(whole, name), _rank(less, name)
        found.append(LeftOut(name, int(dropped.sum()), whole[name], less[name], *ranks))
    return found


def _mean(sheet: Sheet, traced: Traced, rows: Columns, kept: Bools) -> float:
    return aggregate("mean", sheet.measure(traced.under(rows.number, kept)), None)


def _rank(values: dict[str, float], name: str) -> int:
    return 1 + sum(value > values[name] for value in values.values())


def _brought_alone(pool: Pool, rows: Columns) -> dict[str, Bools]:
    """Run → which judgments are of documents that only this run has among its first ones."""
    many = len(pool.docs)
    numbers = {doc: at for at, doc in enumerate(pool.docs)}
    place = {query: at for at, query in enumerate(pool.queries)}
    queries = np.array([place[query] for query in rows.queries])[rows.query]
    keys = queries * many + np.array([numbers[doc] for doc in rows.doc.to_list()], np.int64)
    held = {name: np.unique(top.query * many + top.doc) for name, top in pool.tops.items()}
    distinct, times = np.unique(np.concatenate(list(held.values())), return_counts=True)
    alone = distinct[times == 1]
    return {name: np.isin(keys, np.intersect1d(mine, alone)) for name, mine in held.items()}
