"""What the choice of judge does to systems: their values, their order, and the differences that are significant."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rankgauge.comparison.compare import Settings, compare_results
from rankgauge.comparison.verdict import NOT_SIGNIFICANT
from rankgauge.errors import InputError
from rankgauge.evaluate import evaluate_runs
from rankgauge.read import Judgments, RunSource
from rankgauge.read.named import Runs, named
from rankgauge.stats.correlation import kendall, rbo, tau_ap

if TYPE_CHECKING:
    from rankgauge.measures import Measure
    from rankgauge.protocol import Protocol
    from rankgauge.result import Evaluation
    from rankgauge.sampling.design import Per
    from rankgauge.sampling.sample import Sample
    from rankgauge.trust.judges.sets import Sets

__all__ = ["Orders", "Systems", "systems_of"]

FEWEST: Final = 3  # systems, below which an order says nothing
TIED: Final = 1e-9  # difference of two means, up to which neither is the best


class Orders(NamedTuple):
    """The order of systems under one judge against that under the first, and what becomes of significant pairs.

    `top` is how many systems are the best by the first judge, `tau_top` τ_b among them. `turned` are pairs that are
    significantly different the other way round; `lost` and `gained` are significant under one judge only. `kept` is
    None where nothing could be tested: there is one query.
    """

    judge: str
    tau_b: float
    tau_ap: float
    rbo: float
    top: int
    tau_top: float
    kept: int | None
    lost: list[tuple[str, str]]
    gained: list[tuple[str, str]]
    turned: list[tuple[str, str]]

    @property
    def moved(self) -> dict[str, int | None]:
        """How many significant differences are kept, lost, gained and turned round."""
        pairs = {"lost": self.lost, "gained": self.gained, "turned round": self.turned}
        tested = self.kept is not None
        return {"kept": self.kept, **{name: len(each) if tested else None for name, each in pairs.items()}}


@dataclass(frozen=True, eq=False)
class Systems:
    """Values of systems under each judge (`values[judge][system]`), on the queries that all judges have.

    With a sample they are means `per` search or query of its log.
    """

    measure: str
    systems: list[str]
    queries: int
    values: dict[str, dict[str, float]]
    orders: list[Orders]
    per: str = ""

    @property
    def best(self) -> dict[str, str]:
        """The best system under each judge who has one alone at the top."""
        found = {}
        for judge, values in self.values.items():
            first, *others = sorted(values, key=values.__getitem__, reverse=True)
            if values[first] - values[others[0]] > TIED:
                found[judge] = first
        return found

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        orders = [each._asdict() for each in self.orders]
        per = {"per": self.per} if self.per else {}
        return {"measure": self.measure, "queries": self.queries, **per, "values": self.values, "orders": orders}


def systems_of(
    sets: Sets,
    runs: Runs,
    measure: Measure,
    protocol: Protocol,
    *,
    top: int | None = None,
    p: float = 0.9,
    settings: Settings | None = None,
    shared: bool = False,
    queries: Collection[str] | None = None,
    sample: Sample | None = None,
    per: Per = "search",
) -> Systems:
    """Systems under every judge; `shared`: on the pairs that all judges judged, and no others; `queries`: on these
    alone; `sample`: by the means of its log."""
    systems = named(runs)
    if len(systems) < 2:
        raise InputError("the order of systems needs two runs or more")
    read = {name: RunSource.of(run).read(protocol) for name, run in systems.items()}
    judged = _comparable(sets, shared, queries)
    about: dict[str, Any] = {} if sample is None else {"sample": sample, "per": per}
    number = len(next(iter(judged.values())).queries)
    values, decisions = {}, {}
    for judge, judgments in judged.items():
        results = evaluate_runs(judgments, read, measure, protocol=protocol, **about)
        values[judge] = {name: result[measure] for name, result in results.items()}
        decisions[judge] = _decisions(results, measure, settings or Settings())
    first, *others = judged
    orders = [
        _orders(other, values[first], values[other], decisions[first], decisions[other], top, p) for other in others
    ]
    return Systems(str(measure), list(read), number, values, orders, about.get("per", ""))


def _decisions(results: Evaluation, measure: Measure, settings: Settings) -> dict[tuple[str, str], str] | None:
    """Pair of systems → what the test says; None where they share one query at most, on which nothing can be tested."""
    answered = []
    for result in results.values():
        values = result.measured[measure].tolist()
        answered.append({query for query, value in zip(result.query_ids, values, strict=True) if value == value})
    if len(set.intersection(*answered)) < 2:
        return None
    return {(pair.a, pair.b): pair.decision for pair in compare_results(results, settings).pairs}


def _comparable(sets: Sets, shared: bool, queries: Collection[str] | None) -> dict[str, Judgments]:
    """Each judge's judgments of the queries that all of them have, or of the pairs that all of them have; `queries`: of
    these alone."""
    if shared:
        nested: dict[str, dict[str, dict[str, float]]] = {judge: {} for judge in sets.judges}
        for at in np.flatnonzero(~np.isnan(sets.table).any(axis=1)).tolist():
            for judge, grade in zip(sets.judges, sets.table[at].tolist(), strict=True):
                nested[judge].setdefault(sets.queries[sets.query[at]], {})[sets.docs[at]] = grade
    else:
        common = set.intersection(*(set(each.queries) for each in sets.judgments.values()))
        nested = {
            judge: {query: dict(docs) for query, docs in each.nested.items() if query in common}
            for judge, each in sets.judgments.items()
        }
    if queries is not None:
        for judge, each in nested.items():
            nested[judge] = {query: docs for query, docs in each.items() if query in queries}
        if not all(nested.values()):
            raise InputError("no judged query was asked of the systems, so that they cannot be ordered")
    if not all(nested.values()):
        raise InputError("no query is judged by all judges, so that systems cannot be ordered by each")
    return {judge: Judgments(table, source=sets.judgments[judge].source) for judge, table in nested.items()}


def _orders(
    judge: str,
    ours: dict[str, float],
    theirs: dict[str, float],
    decided: Mapping[tuple[str, str], str] | None,
    decided_there: Mapping[tuple[str, str], str] | None,
    top: int | None,
    p: float,
) -> Orders:
    one, other = (np.array(list(each.values()), np.float64) for each in (ours, theirs))
    best = min(len(one), top if top is not None else max(FEWEST, -(-len(one) // 2)))
    chosen = np.argsort(-one, kind="stable")[:best]
    tested = decided is not None and decided_there is not None
    both = {pair: (here, decided_there[pair]) for pair, here in decided.items()} if decided and decided_there else {}
    claimed = {pair: [decision != NOT_SIGNIFICANT for decision in each] for pair, each in both.items()}
    kept = sum(here == there != NOT_SIGNIFICANT for here, there in both.values())
    lost, gained = ([pair for pair in both if claimed[pair] == case] for case in ([True, False], [False, True]))
    turned = [pair for pair, (here, there) in both.items() if all(claimed[pair]) and here != there]
    orders = kendall(one, other), tau_ap(one, other), rbo(one, other, p)
    among = kendall(one[chosen], other[chosen])
    return Orders(judge, *orders, best, among, kept if tested else None, lost, gained, turned)
