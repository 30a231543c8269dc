"""A reranker on its candidates: what they are worth, the exact parts of 1, the depth curve, which documents moved."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from rankgauge.errors import MeasureError
from rankgauge.matching.hits import Hits, positions_within, sum_by
from rankgauge.matching.joined import hits_joined
from rankgauge.measures import MEASURES, Measure, parse
from rankgauge.measures.gains import discount_function, gain_function
from rankgauge.stats.paired import TIE

if TYPE_CHECKING:
    import polars as pl

    from rankgauge.dtypes import Bools, Floats, Ints
    from rankgauge.explanation.funnel.stages import Stage

__all__ = ["EFFECTS", "LOSSES", "PARTS", "Cross", "Move", "Ranked", "System", "Worth", "cross_of", "depths_below"]
__all__ += ["joined", "system_of", "worth_of"]


@dataclass(frozen=True, eq=False, slots=True)
class Worth:
    """nDCG as gains over discounts; `ideal` is the DCG of the best order of all judgments, for every query."""

    measure: Measure
    ideal: Floats
    empty: Bools

    @property
    def k(self) -> int | None:
        """The cut-off; None: there is none."""
        cutoff: int | None = self.measure.cutoff
        return cutoff

    def gain(self, grades: Floats) -> Floats:
        """What grades gain."""
        given = dict(self.measure.parameters)
        return gain_function(given.get("gain", "linear"), given.get("rel"))(grades)

    def discounted(self, gain: Floats, rank: Ints) -> Floats:
        """Gains at ranks; nothing beyond the cut-off, and nothing at rank 0, which is none."""
        divisor = discount_function(dict(self.measure.parameters).get("discount", "log2"))
        inside = rank > 0 if self.k is None else (rank > 0) & (rank <= self.k)
        return np.where(inside, gain / divisor(np.maximum(rank, 1)), 0.0)

    def normalised(self, reached: Floats) -> Floats:
        """DCG over ideal DCG; 0 where there is no ideal."""
        return np.divide(reached, self.ideal, out=np.zeros(len(self.ideal)), where=~self.empty)

    def value(self, query: Ints, gain: Floats, rank: Ints) -> Floats:
        """nDCG of documents at ranks."""
        return self.normalised(sum_by(query, self.discounted(gain, rank), len(self.ideal)))

    def oracle(self, query: Ints, gain: Floats) -> Floats:
        """nDCG of the best order of these documents, of queries in ascending order."""
        order = np.lexsort((-gain, query))
        return np.minimum(self.value(query[order], gain[order], positions_within(query[order], 1)), 1.0)

    def random(self, query: Ints, gain: Floats, sizes: Ints) -> Floats:
        """The expected nDCG of a random order of the candidates, so many of every query, of which these have gains.

        Each stands at every rank alike, so each rank gains their mean.
        """
        deepest = int(sizes.max(initial=0))
        ranks = np.arange(1, (deepest if self.k is None else min(self.k, deepest)) + 1)
        upto = np.r_[0.0, np.cumsum(self.discounted(np.ones(len(ranks)), ranks))]
        total = sum_by(query, gain, len(sizes)) * upto[np.minimum(sizes, len(ranks))]
        return self.normalised(np.divide(total, sizes, out=np.zeros(len(sizes)), where=sizes > 0))


def worth_of(measure: Measure, hits: Hits) -> Worth:
    """Check that the measure is one whose best order is known: by descending gain."""
    if measure.name != "nDCG":
        raise MeasureError(
            f"{measure}: the parts of a funnel add up to 1 for nDCG, whose best order of the candidates is known; "
            "write nDCG@10, or nDCG(gain=exp)@10"
        )
    given = dict(measure.parameters)
    gains = gain_function(given.get("gain", "linear"), given.get("rel"))(hits.judgment_grade)
    if (gains < 0).any():
        grade = float(hits.judgment_grade[int(np.argmax(gains < 0))])
        raise MeasureError(
            f"{measure}: grade {grade:g} gains less than 0; the parts of a funnel need gains of 0 or more"
        )
    ideal = MEASURES["IDCG"].function(hits, **given)
    return Worth(measure, ideal, ideal <= 0)


# ---- the parts of 1 --------------------------------------------------------------------------------------------------


# Part of 1 → what it is, in words. The first is what was reached, the others are what is lost, and where.
PARTS: Final = {
    "value": "reached by the reranked run",
    "unknown": "lost to unjudged documents, which may be good: condensed − value",
    "misranked": "candidates in a worse order than the best: oracle − condensed",
    "not_retrieved": "not among the candidates, or too few of the good ones: 1 − oracle",
    "no_relevant": "queries without a relevant document",
}
LOSSES: Final = tuple(PARTS)[1:]


class Move(NamedTuple):
    """A document that gains something: its ranks among the candidates and reranked (0: no more there), and what its
    move changed in the value. The changes of a query add up to its lift."""

    doc_id: str
    grade: float
    before: int
    after: int
    change: float


class Ranked(NamedTuple):
    """What is kept of a run of one stage: its name and hits. Of a second stage also how many documents were dropped,
    and the deepest rank among the candidates of those that were not."""

    name: str
    hits: Hits
    dropped: int = 0
    deepest: int = 0


@dataclass(frozen=True, eq=False)
class System:
    """A reranked run: `columns` has one value per query of each name, `chosen` tells which queries count.

    `docs`, `after` and `changes` have for every judged candidate its id, its rank after reranking (0: not there any
    more), and what that changed. `curve` has for a number of candidates the value of every query, if only so many of
    the first had been reranked.
    """

    name: str
    first: Ranked
    second: Ranked
    worth: Worth
    columns: dict[str, Floats]
    chosen: Bools
    docs: pl.Series
    after: Ints
    changes: Floats
    curve: dict[int, Floats]

    @property
    def retriever(self) -> str:
        """The name of the run that its candidates come from."""
        return self.first.name

    @property
    def query_ids(self) -> list[str]:
        """The queries that count, in code-point order."""
        return [query for query, kept in zip(self.first.hits.queries, self.chosen.tolist(), strict=True) if kept]

    def of(self, column: str) -> Floats:
        """A column, of the queries that count: one of `PARTS`, or retrieved, oracle, random, lift, headroom, …"""
        return self.columns[column][self.chosen]

    @property
    def largest(self) -> list[str]:
        """For every query the largest loss; nothing where the value is 1."""
        losses = np.stack([self.of(name) for name in LOSSES], axis=1)
        names = np.array(["", *LOSSES])
        found: list[str] = names[np.where(losses.max(axis=1) > TIE, losses.argmax(axis=1) + 1, 0)].tolist()
        return found

    def at_depth(self, depth: int) -> tuple[Floats, Floats, Floats]:
        """Oracle, value and recall of every query, if only the first so many candidates had been reranked."""
        hits, gain = self.first.hits, self.worth.gain(self.first.hits.grade)
        inside = hits.rank <= depth
        oracle = self.worth.oracle(hits.query[inside], gain[inside])
        relevant = hits.relevant_judged()
        found = hits.count(inside & hits.relevant())
        recall = np.divide(found, relevant, out=np.zeros(len(found)), where=relevant > 0)
        empty, whole = self.worth.empty, self.columns["value"]
        oracle = np.where(empty, whole, oracle)
        return oracle[self.chosen], self.curve.get(depth, whole)[self.chosen], recall[self.chosen]

    def moves(self, query: str) -> list[Move]:
        """The documents whose move changed the value of a query, the most harmful first."""
        first = self.first.hits
        number = bisect_left(first.queries, query)  # both in code-point order
        start, end = np.searchsorted(first.query, [number, number + 1])
        rows = start + np.flatnonzero(self.changes[start:end] != 0)
        rows = rows[np.argsort(self.changes[rows], kind="stable")]
        docs = self.docs.gather(rows).to_list()
        numbers = (first.grade[rows], first.rank[rows], self.after[rows], self.changes[rows])
        return [Move(*row) for row in zip(docs, *(column.tolist() for column in numbers), strict=True)]

    @property
    def harmed(self) -> list[tuple[str, float]]:
        """The queries that the reranker made worse, with the change, the most harmed first."""
        lift, queries = self.of("lift"), self.query_ids
        order = np.argsort(lift, kind="stable")
        return [(queries[at], float(lift[at])) for at in order.tolist() if lift[at] < -TIE]


def system_of(name: str, first: Stage, second: Stage, dropped: int, worth: Worth, depth: int) -> System:
    """Measure a reranked run beside its candidates."""
    measure, recall = worth.measure, parse(f"R@{depth}")
    judged = parse("Judged" if worth.k is None else f"Judged@{worth.k}")
    value, condensed = measure(second.hits), measure(second.condensed)
    gain = worth.gain(first.hits.grade)
    oracle = np.maximum(worth.oracle(first.hits.query, gain), condensed)  # equal but for rounding
    random = worth.random(first.hits.query, gain, first.hits.retrieved)
    oracle, random, condensed = (np.where(worth.empty, value, each) for each in (oracle, random, condensed))
    retrieved = measure(first.hits)
    columns = {
        "value": value,
        "unknown": condensed - value,
        "misranked": oracle - condensed,
        "not_retrieved": np.where(worth.empty, 0.0, 1.0 - oracle),
        "no_relevant": np.where(worth.empty, 1.0 - value, 0.0),
        "retrieved": retrieved,
        "oracle": oracle,
        "random": random,
        "lift": value - retrieved,
        "headroom": oracle - retrieved,
    }
    for when, stage in (("before", first), ("after", second)):
        answered = stage.hits.retrieved > 0
        columns |= {f"recall_{when}": recall(stage.hits)}
        columns |= {f"judged_{when}": np.where(answered, judged(stage.hits), np.nan)}
    after, changes = _moved(first, second, worth)
    docs = first.order.rows.docs(first.order.places(first.positions))
    curve = {depth: np.where(worth.empty, value, each) for depth, each in _curve(second, worth).items()}
    assert second.before is not None
    ranked = Ranked(second.name, second.hits, dropped, int(second.before.max(initial=0)))
    before = Ranked(first.name, first.hits)
    return System(name, before, ranked, worth, columns, ~np.isnan(value), docs, after, changes, curve)


def _moved(first: Stage, second: Stage, worth: Worth) -> tuple[Ints, Floats]:
    """For every judged candidate its rank after reranking, and what that changed."""
    hits = first.hits
    assert second.before is not None
    span = int(hits.rank.max(initial=0)) + 1
    before = second.before[second.positions]
    at = np.searchsorted(hits.query * span + hits.rank, second.hits.query * span + before)
    after = np.zeros(len(hits), np.int64)
    after[at] = second.hits.rank
    gain, ideal = worth.gain(hits.grade), worth.ideal[hits.query]
    change = worth.discounted(gain, after) - worth.discounted(gain, hits.rank)
    return after, np.divide(change, ideal, out=np.zeros(len(change)), where=ideal > 0)


def _curve(second: Stage, worth: Worth) -> dict[int, Floats]:
    """Number of candidates → the value of every query if only so many of the first had been reranked, for each of
    `depths_below` the last: the others taken out.

    What lies behind the last document of a query that gains something has no say in any value.
    """
    hits = second.hits
    assert second.before is not None
    gain = worth.gain(hits.grade)
    rows = np.flatnonzero(gain > 0)
    sizes = np.zeros(len(hits.queries), np.int64)
    np.maximum.at(sizes, hits.query[rows], hits.rank[rows])
    starts = sizes.cumsum() - sizes
    before = second.before[np.arange(int(sizes.sum())) + np.repeat(second.starts - starts, sizes)]
    query, at = hits.query[rows], starts[hits.query[rows]] + hits.rank[rows] - 1
    found = {}
    for depth in depths_below(int(second.before.max(initial=0))):
        inside = before <= depth
        upto = np.zeros(len(inside) + 1, np.int64)
        np.cumsum(inside, out=upto[1:])
        rank = np.where(inside[at], upto[at + 1] - upto[starts[query]], 0)
        found[depth] = worth.value(query, gain[rows], rank)
    return found


def depths_below(deepest: int) -> list[int]:
    """10, 20, 50, 100, … below a number of candidates."""
    series = [step * 10**power for power in range(1, 12) for step in (1, 2, 5)]
    return [depth for depth in series if depth < deepest]


def joined(several: Sequence[System]) -> System:
    """The same reranked run on neighbouring queries as one."""
    import polars as pl

    one = several[0]
    if len(several) == 1:
        return one
    last = [each.second for each in several]
    return System(
        one.name,
        one.first._replace(hits=hits_joined([each.first.hits for each in several])),
        one.second._replace(
            hits=hits_joined([each.hits for each in last]),
            dropped=sum(each.dropped for each in last),
            deepest=max(each.deepest for each in last),
        ),
        Worth(
            one.worth.measure,
            np.concatenate([each.worth.ideal for each in several]),
            np.concatenate([each.worth.empty for each in several]),
        ),
        {name: np.concatenate([each.columns[name] for each in several]) for name in one.columns},
        np.concatenate([each.chosen for each in several]),
        pl.concat([each.docs for each in several]),
        np.concatenate([each.after for each in several]),
        np.concatenate([each.changes for each in several]),
        {
            depth: np.concatenate([each.curve.get(depth, each.columns["value"]) for each in several])
            for depth in sorted({depth for each in several for depth in each.curve})
        },
    )


# ---- two retrievers × two rerankers ----------------------------------------------------------------------------------
# The effect of a new retriever is the mean of what it brings under either reranker (Shapley's share), and that of a new
# reranker likewise; the two add up to the whole change. The interaction is what the one changes in the effect of the
# other: the effects alone, measured from the old pair, and the interaction add up to the whole change as well.


# Effect → what it is, in words.
EFFECTS: Final = {
    "retriever": "the new retriever for the old one, mean over the two rerankers",
    "reranker": "the new reranker for the old one, mean over the two retrievers",
    "interaction": "what the new retriever changes in the effect of the new reranker",
    "total": "both new for both old",
    "retriever_alone": "the new retriever, with the old reranker",
    "reranker_alone": "the new reranker, on the old retriever",
}
SHOWN: Final = tuple(part for part in PARTS if part != "no_relevant")  # what no stage can change is left out


@dataclass(frozen=True, eq=False, slots=True)
class Cross:
    """The names of old and new; effect → part → its value for every query."""

    retrievers: tuple[str, str]
    rerankers: tuple[str, str]
    effects: dict[str, dict[str, Floats]]


def cross_of(cells: Mapping[tuple[str, str], System], retrievers: Sequence[str]) -> Cross | None:
    """The effects of two retrievers × two rerankers, the first of each being the old; None where there are not four."""
    rerankers = tuple(dict.fromkeys(reranker for _, reranker in cells))
    if len(retrievers) != 2 or len(rerankers) != 2 or len(cells) != 4:
        return None
    old, new = ([cells[retriever, reranker] for reranker in rerankers] for retriever in retrievers)
    found = {}
    for part in SHOWN:
        (v00, v01), (v10, v11) = ([cell.of(part) for cell in row] for row in (old, new))
        found[part] = {
            "retriever": ((v10 - v00) + (v11 - v01)) / 2,
            "reranker": ((v01 - v00) + (v11 - v10)) / 2,
            "interaction": (v11 - v10) - (v01 - v00),
            "total": v11 - v00,
            "retriever_alone": v10 - v00,
            "reranker_alone": v01 - v00,
        }
    effects = {name: {part: found[part][name] for part in SHOWN} for name in EFFECTS}
    return Cross((retrievers[0], retrievers[1]), (rerankers[0], rerankers[1]), effects)
