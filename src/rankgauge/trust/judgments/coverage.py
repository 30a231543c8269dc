"""How much of what runs return is judged, what the rest does to values and to orders, and whether it is fair."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankgauge.comparison.pairs import each_against_earlier
from rankgauge.matching.grades import numbered, trace
from rankgauge.matching.match import match
from rankgauge.measures.aggregates import aggregate
from rankgauge.measures.ranked import divide
from rankgauge.trust.unjudged.bounds import Bounds, bounds_of_pair, bounds_of_run
from rankgauge.trust.unjudged.expected import expected_values
from rankgauge.trust.unjudged.sheet import Pool, Sheet, pool_of

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats
    from rankgauge.read import Columns

__all__ = ["LeftOut", "PairCoverage", "RunCoverage", "cover_pairs", "cover_run", "leave_one_run_out"]


@dataclass(frozen=True, eq=False, slots=True)
class RunCoverage:
    """One run: the judged share of its first documents, its value, and what it is with the unjudged ones in doubt."""

    name: str
    judged: float
    bounds: Bounds
    condensed: float
    expected: float
    expected_error: float
    judged_per_query: Floats
    condensed_per_query: Floats
    expected_per_query: Floats

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "run": self.name,
            "judged": self.judged,
            **self.bounds.mean._asdict(),
            "open": int(self.bounds.open.sum()),
            "condensed": self.condensed,
            "expected": self.expected,
            "expected_error": self.expected_error,
        }


@dataclass(frozen=True, eq=False, slots=True)
class PairCoverage:
    """Two runs: the judged share of what either has first, and the interval of a − b."""

    a: str
    b: str
    judged: float
    judged_a: float
    judged_b: float
    bounds: Bounds

    @property
    def verdict(self) -> str:
        """Whether judging what is open could turn the order round."""
        value, low, high = self.bounds.mean
        if value != value:
            return "no common query"
        if low > 0 or high < 0:
            return f"{self.a if low > 0 else self.b} is ahead whatever the grades"
        if value == low == high == 0:
            return "equal whatever the grades"
        return "unjudged documents decide"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "a": self.a,
            "b": self.b,
            "judged": self.judged,
            "judged_a": self.judged_a,
            "judged_b": self.judged_b,
            "difference": self.bounds.mean._asdict(),
            "open": int(self.bounds.open.sum()),
            "settled": self.bounds.settled,
        }


def cover_pairs(sheet: Sheet, chosen: Iterable[tuple[str, str]] | None = None) -> list[PairCoverage]:
    """What there is to say of every pair of runs, or of those chosen."""
    shares = {name: _share(sheet, name) for name in sheet.results}
    return [
        PairCoverage(a, b, _share(sheet, a, b), shares[a], shares[b], bounds_of_pair(sheet, a, b))
        for a, b in (each_against_earlier(sheet.results) if chosen is None else chosen)
    ]


def cover_run(sheet: Sheet, name: str, seed: int = 0) -> RunCoverage:
    """What there is to say of a run."""
    rules = replace(sheet.protocol, unjudged="condensed")
    hits = match(sheet.judgments, sheet.runs[name], rules)
    condensed = sheet.placed(sheet.results[name], sheet.measure(hits))
    expected, error = expected_values(sheet, name, seed)
    weights = np.where(np.isnan(expected), 0.0, 1.0 if sheet.weights is None else sheet.weights)
    return RunCoverage(
        name,
        _share(sheet, name),
        bounds_of_run(sheet, name),
        aggregate("mean", condensed, sheet.weights),
        aggregate("mean", expected, sheet.weights),
        float(np.sqrt(((weights * error) ** 2).sum()) / max(weights.sum(), 1e-300)),
        _shares(sheet, name),
        condensed,
        expected,
    )


def _share(sheet: Sheet, *names: str) -> float:
    """Judged@k, the mean over queries that have results; of two runs, the share of the documents of either."""
    shares = _shares(sheet, *names)
    return float(np.nanmean(shares)) if not np.isnan(shares).all() else float("nan")


def _shares(sheet: Sheet, *names: str) -> Floats:
    """For every query the judged share of the first documents; NaN where there are none."""
    tops = [sheet.pool.tops[name] for name in names]
    query, doc = (np.concatenate([getattr(top, each) for top in tops]) for each in ("query", "doc"))
    judged = ~np.isnan(np.concatenate([top.grade for top in tops]))
    _, first = np.unique(query * len(sheet.pool.docs) + doc, return_index=True)
    whole = np.bincount(query[first], minlength=len(sheet.queries)).astype(np.float64)
    known = np.bincount(query[first][judged[first]], minlength=len(sheet.queries)).astype(np.float64)
    return np.where(whole > 0, divide(known, whole), np.nan)


# ---- leave one run out -----------------------------------------------------------------------------------------------
# What a system loses that had no part in choosing the documents to judge: for each run, the judgments that it alone
# brought into the pool (documents among its first ones and no other run's) are taken away, and all runs are measured
# again. A large loss, or a fall in the order, says that these judgments are unfair to new systems.


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
        hits = {each: ranked.under(rows.number, ~dropped) for each, ranked in traced.items()}
        less = {each: aggregate("mean", sheet.measure(found), None) for each, found in hits.items()}
        ranks = _rank(whole, name), _rank(less, name)
        found.append(LeftOut(name, int(dropped.sum()), whole[name], less[name], *ranks))
    return found


def _rank(values: dict[str, float], name: str) -> int:
    return 1 + sum(value > values[name] for value in values.values())


def _brought_alone(pool: Pool, rows: Columns) -> dict[str, Bools]:
    """Run → which judgments are of documents that only this run has among its first ones."""
    many = len(pool.docs)
    numbers = {doc: at for at, doc in enumerate(pool.docs)}
    place = {query: at for at, query in enumerate(pool.judged.queries)}
    queries = np.array([place[query] for query in rows.queries])[rows.query]
    keys = queries * many + np.array([numbers[doc] for doc in rows.doc.to_list()], np.int64)
    held = {name: np.unique(top.query * many + top.doc) for name, top in pool.tops.items()}
    distinct, times = np.unique(np.concatenate(list(held.values())), return_counts=True)
    alone = distinct[times == 1]
    return {name: np.isin(keys, np.intersect1d(mine, alone)) for name, mine in held.items()}
