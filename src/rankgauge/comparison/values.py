"""Values: one measure, a row per query and a column per system; what `compare` and the gate work on.

Built from Results (`values_of_results`) or from a table that another tool wrote (`values_of_tables`). Every query in it
has a value for every system; those that do not are named in `dropped`, each with its reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.comparison.ranges import is_bounded, is_count
from rankgauge.errors import InputError, MeasureError, ProtocolError, unknown
from rankgauge.measures import Measure, parse
from rankgauge.protocol import Protocol
from rankgauge.stats.inference import Population, Queries, mean_estimates
from rankgauge.stats.paired import apart

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats, Ints
    from rankgauge.result import Result
    from rankgauge.sampling.design import Design, Per
    from rankgauge.sampling.sample import Sample
    from rankgauge.stats.estimate import Estimate

__all__ = ["Values", "comparable", "one_definition", "values_of_results", "with_clusters", "with_sample"]
__all__ += ["speaking_of", "without_weightless"]

LARGEST: Final = 1e60


@dataclass(frozen=True, eq=False)
class Values:
    """The values of one measure: `table[i, j]` is that of query i under system j."""

    measure: str
    systems: list[str]
    queries: list[str]
    table: Floats
    dropped: dict[str, str] = field(default_factory=dict)  # query → why
    weights: Floats | None = None
    clusters: Ints | None = None  # the number of each query's cluster; None: every query is its own
    groups: dict[str, Bools] = field(default_factory=dict)
    definition: str = ""
    protocol: dict[str, Any] = field(default_factory=dict)
    fingerprints: dict[str, Any] = field(default_factory=dict)
    design: Design | None = None  # of the sample that the queries are, whose weights are theirs

    def __post_init__(self) -> None:
        """Refuse values whose squares and fourth powers a float cannot hold: there would be numbers, and wrong ones."""
        for system, largest in zip(self.systems, np.abs(self.table).max(axis=0, initial=0.0).tolist(), strict=True):
            if largest > LARGEST or 0 < largest < 1 / LARGEST:
                raise InputError(
                    f"{self.measure}: the values of {system} reach {largest:g}; the largest of a system is to be "
                    f"between {1 / LARGEST:g} and {LARGEST:g} to be compared: give them in another unit"
                )

    def of(self, system: str) -> Floats:
        """The value of every query under a system."""
        return self.table[:, self.index(system)]

    def index(self, system: str) -> int:
        """The column of a system."""
        if system not in self.systems:
            raise InputError(unknown(f"there is no system {system!r}", system, self.systems))
        return self.systems.index(system)

    def mean(self, system: str) -> float:
        """The mean over queries, weighted where there are weights."""
        return float(np.average(self.of(system), weights=self.weights))

    def intervals(self, alpha: float = 0.05) -> dict[str, Estimate]:
        """System → its mean with its interval; of a sample, about its population."""
        found = mean_estimates(list(self.table.T), self.drawn, bounded=self.bounded, alpha=alpha)
        return {name: each._replace(value=self.mean(name)) for name, each in zip(self.systems, found, strict=True)}

    @property
    def unit(self) -> str | None:
        """What a mean is of, where that is to be said: a search or a query of a sample; a query, of a count."""
        if self.design is not None:
            return self.design.per
        return "query" if is_count(self.measure) else None

    @property
    def per(self) -> str:
        """The same as words behind the measure: per search, or per query."""
        return f" per {self.unit}" if self.unit else ""

    @property
    def lacking(self) -> str:
        """Why there are no intervals, where there are none."""
        return "a fixed list of queries" if self.design is not None and self.design.sample.fixed else "too few queries"

    @cached_property
    def bounded(self) -> bool:
        """Whether the measure lies between 0 and 1."""
        return is_bounded(self.measure, self.table)

    def difference(self, a: str, b: str) -> Floats:
        """a − b, query by query."""
        return self.of(a) - self.of(b)

    def apart(self, a: int, b: int) -> Floats:
        """System a − system b by query, by their places; what differs by rounding alone is equal."""
        return apart(self.table[:, a], self.table[:, b])

    @property
    def drawn(self) -> Queries:
        """How the queries weigh, which belong together, and how chance drew them."""
        if self.design is None:
            return Queries(len(self.queries), self.weights, self.clusters)
        return replace(self.design.drawn(self.queries), clusters=self.clusters)

    @property
    def population(self) -> Population | None:
        """What intervals and p speak of, where the queries are a sample: its log, or future searches."""
        return None if self.design is None or self.clusters is not None else self.design.population

    def only(self, chosen: Bools) -> Values:
        """These queries alone; no groups."""
        return replace(
            self,
            queries=[query for query, taken in zip(self.queries, chosen.tolist(), strict=True) if taken],
            table=self.table[chosen],
            weights=None if self.weights is None else self.weights[chosen],
            clusters=None if self.clusters is None else self.clusters[chosen],
            groups={},
        )


def values_of_results(
    results: Mapping[str, Result], measures: Iterable[str | Measure] | None = None
) -> dict[str, Values]:
    """Measure → Values of results that rest on the same judgments and rules; others are refused."""
    comparable({name: result.fingerprints | {"rules": result.protocol} for name, result in results.items()})
    first = next(iter(results.values()))
    wanted = [parse(str(each)) for each in measures] if measures is not None else first.measures
    return {str(measure): _of_results(results, measure) for measure in wanted}


def comparable(fingerprints: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse what rests on different judgments or rules: system → `{"judgments": …, "protocol": …}`."""
    judged = {name: each["judgments"] for name, each in fingerprints.items() if each["judgments"] is not None}
    for one, other in pairwise(judged):
        if judged[one] != judged[other]:
            raise InputError(
                f"{one} and {other} rest on different judgments ({judged[one]} and {judged[other]}) and "
                "cannot be compared; evaluate both again on the same judgments"
            )
    (one, ours), *others = fingerprints.items()
    for other, theirs in others:
        if ours["protocol"] != theirs["protocol"]:
            raise ProtocolError(
                f"{one} and {other} were evaluated under different rules{_rules_apart(ours, theirs)} and cannot be "
                "compared; evaluate both again under the same rules"
            )


def one_definition(measure: str, definitions: Mapping[str, str]) -> str:
    """What the measure means to all systems: system → its definition, "" where that is not known; else refused."""
    known = {name: meaning for name, meaning in definitions.items() if meaning}
    (one, ours), *others = known.items() or [("", "")]
    for other, theirs in others:
        if ours != theirs:
            raise MeasureError(
                f"{measure} does not mean the same to {one} ({ours}) and to {other} ({theirs}) and cannot be compared; "
                "evaluate both again with the same measure"
            )
    return ours


def _rules_apart(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> str:
    """The rules that differ, where both are known."""
    known = [each["rules"].to_dict() for each in (ours, theirs) if isinstance(each.get("rules"), Protocol)]
    if len(known) < 2:
        return ""
    apart = [f"{rule}={known[0][rule]} and {known[1][rule]}" for rule in known[0] if known[0][rule] != known[1][rule]]
    return f" ({', '.join(apart)})" if apart else " (different dialects)"


def _of_results(results: Mapping[str, Result], measure: Measure) -> Values:
    if measure.definition.aggregate in ("none", "geometric"):
        raise MeasureError(f"{measure} is not a mean over queries, and only means are compared; take AP or nDCG@10")
    first = max(results.values(), key=lambda result: len(result.query_ids))
    queries = sorted(set().union(*(result.query_ids for result in results.values())))
    table, answered = _aligned(results, measure, queries)
    counted: Bools = np.all(answered & ~np.isnan(table), axis=1)
    dropped = {
        queries[i]: _why_dropped(list(results), answered[i], table[i]) for i in np.flatnonzero(~counted).tolist()
    }
    used = [query for query, counts in zip(queries, counted.tolist(), strict=True) if counts]
    if not used:
        why = next(iter(dropped.values()), "there is no query")
        raise InputError(f"no query has a value of {measure} for every system; the first was dropped: {why}")
    place = {query: at for at, query in enumerate(first.query_ids)}
    at = np.array([place[query] for query in used])
    return Values(
        str(measure),
        list(results),
        used,
        table[counted],
        dropped,
        None if first.weights is None else first._selected(first.weights)[at],
        groups={name: mask for name, mask in _masks(first, at).items() if mask.any()},
        definition=one_definition(str(measure), {name: r.definitions[str(measure)] for name, r in results.items()}),
        protocol=first.protocol.to_dict(),
        fingerprints=first.fingerprints | {"systems": {name: result.fingerprint for name, result in results.items()}},
        design=first.design,
    )


def _masks(result: Result, at: Ints) -> dict[str, Bools]:
    """Group → which of the queries at these places are in it."""
    return {name: result._selected(mask)[at] for name, mask in result.groups.items()}


def _aligned(results: Mapping[str, Result], measure: Measure, queries: list[str]) -> tuple[Floats, Bools]:
    """Queries × systems: the values, and whether there is one."""
    place = {query: at for at, query in enumerate(queries)}
    table, answered = np.full((len(queries), len(results)), np.nan), np.zeros((len(queries), len(results)), bool)
    for system, result in enumerate(results.values()):
        ids = result.query_ids
        at = slice(None) if ids == queries else np.fromiter(map(place.__getitem__, ids), np.int64, len(ids))
        table[at, system] = result._selected(result.measured[result.measure(measure)])
        answered[at, system] = True
    return table, answered


def _why_dropped(systems: list[str], answered: Any, values: Any) -> str:
    """Why a query does not count: the protocol left it out for a system."""
    unanswered = [name for name, there in zip(systems, answered.tolist(), strict=True) if not there]
    if unanswered:
        return f"not answered by {', '.join(unanswered)}"
    empty = [name for name, value in zip(systems, values.tolist(), strict=True) if value != value]
    return "has nothing relevant" if len(empty) == len(systems) else f"has no value for {', '.join(empty)}"


def with_sample(values: Values, sample: Sample | None, per: Per) -> Values:
    """The same values of the queries of a sample alone, with their weights."""
    if sample is None:
        return values
    from rankgauge.sampling.design import Design

    design = Design.of(sample, values.queries, per)
    chosen: Bools = np.array([query in design.place for query in values.queries], bool)
    inside, groups = values.only(chosen), {name: mask[chosen] for name, mask in values.groups.items()}
    groups = {name: mask for name, mask in groups.items() if mask.any()}
    return replace(inside, weights=design.weights(inside.queries), design=design, groups=groups)


def speaking_of(values: Values, population: Population | None) -> Values:
    """The same values, whose intervals and p speak of the log that was sampled, or of future searches."""
    if values.design is None and population == "log":
        raise InputError(f"population={population!r} is for a sample of a log, and there is none; give the sample")
    if values.design is None or population is None:
        return values
    return replace(values, design=values.design.with_population(population))


def without_weightless(values: Values) -> Values:
    """The same values without the queries of weight 0, which say nothing and are no evidence either."""
    if values.weights is None or (values.weights > 0).all():
        return values
    kept: Bools = values.weights > 0
    gone = [query for query, stays in zip(values.queries, kept.tolist(), strict=True) if not stays]
    groups = {name: mask[kept] for name, mask in values.groups.items() if mask[kept].any()}
    dropped = values.dropped | dict.fromkeys(gone, "has weight 0")
    return replace(values.only(kept), groups=groups, dropped=dropped)


def with_clusters(values: Values, clusters: Mapping[str, Any] | None) -> Values:
    """The same values with queries that belong together (paraphrases, a user's): query → cluster; others are alone."""
    return values if clusters is None else replace(values, clusters=cluster_numbers(values.queries, clusters))


def cluster_numbers(queries: list[str], clusters: Mapping[str, Any]) -> Ints:
    """The number of the cluster of every query."""
    alone = {query: clusters.get(query) in (None, "") for query in queries}
    names = [(False, query) if alone[query] else (True, str(clusters[query])) for query in queries]
    if not any(query in clusters for query in queries):
        raise InputError(f"no query is in any cluster: a query is {queries[0]!r}; check the ids of the clusters")
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([numbers[name] for name in names], np.int64)
