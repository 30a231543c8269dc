"""Judgments and runs → Facts: everything that the sections of a report tell, computed once."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgauge.comparison.compare import Comparison, Settings, compare_results
from rankgauge.comparison.values import Values, values_of_results, with_clusters, without_weightless
from rankgauge.errors import RankgaugeError, RankgaugeWarning
from rankgauge.evaluate import evaluate_runs
from rankgauge.explanation.query.explain import Difference, Explanation, difference, explain
from rankgauge.reports.evidence import Evidence, Limits, evidence_of, funnel_of
from rankgauge.stats import paired

if TYPE_CHECKING:
    from rankgauge.comparison.pairs import Pair
    from rankgauge.explanation.funnel.funnel import Funnel
    from rankgauge.measures import Measure
    from rankgauge.protocol import Protocol
    from rankgauge.read import Judgments, JudgmentsSource, RunSource
    from rankgauge.result import Evaluation, Result
    from rankgauge.sampling.design import Per
    from rankgauge.sampling.sample import Sample
    from rankgauge.stats.inference import Population
    from rankgauge.trust.online.align import Alignment
    from rankgauge.validation.validate import Findings

__all__ = ["Explained", "Facts", "Source", "Wanted", "best_first", "gather"]


@dataclass(frozen=True, slots=True)
class Source:
    """What judgments and runs are read from, and read again from where they are large."""

    judged: JudgmentsSource
    runs: Mapping[str, RunSource]
    retrieved: Mapping[str, RunSource] = field(default_factory=dict)  # the run whose documents the runs order anew
    second: Mapping[str, Any] = field(default_factory=dict)  # judge → the judgments of another judge
    judge: str = "judgments"  # who made the first ones

    @property
    def judgments(self) -> Judgments:
        """The judgments, read once."""
        return self.judged.read()


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the report is asked to show."""

    measures: Sequence[Measure]
    protocol: Protocol
    settings: Settings
    title: str = ""
    command: str = ""
    examples: int = 3
    groups: Mapping[str, str] | None = None
    numbers: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # column → query → number
    weights: Any = None
    clusters: Mapping[str, Any] | None = None
    queries: Mapping[str, str] = field(default_factory=dict)  # query → its text
    documents: Mapping[str, str] = field(default_factory=dict)  # document → its text
    charts: bool = True
    experiments: Alignment | None = None
    candidates: int | None = None  # of the retrieved run, where the runs are rerankings
    restrict: bool = False
    repeated: str | None = None  # what becomes of pairs that another judge judged more than once
    keep_going: bool = False  # without the runs that cannot be read
    limits: Limits = field(default_factory=Limits)
    sample: Sample | str | None = None  # NO_SAMPLE where plain means are wanted
    per: Per = "search"
    population: Population | None = None


@dataclass(frozen=True, slots=True)
class Explained:
    """A query that is worth looking at: why, and its ranking under the systems in focus."""

    query: str
    why: tuple[str, ...]
    rankings: tuple[Explanation, ...]
    difference: Difference | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything, for machines."""
        return {
            "query_id": self.query,
            "why": list(self.why),
            "rankings": [ranking.to_dict() for ranking in self.rankings],
            "shares": [asdict(share) for share in self.difference.shares] if self.difference is not None else [],
            "points": self.difference.points if self.difference is not None else None,
        }


@dataclass(frozen=True, eq=False)
class Facts:
    """What there is to tell. `focus` are the two systems that the words and the examples are about.

    Differences are the first minus the second, throughout: a system minus the baseline, or the best minus the next.

    `comparison` is None where there is one system, or one query (or cluster), which tells nothing of chance;
    `findings` is None where the files were not checked line by line, and `unchecked` says why; `unexplained` says why
    there are no rankings.
    """

    wanted: Wanted
    results: Evaluation
    values: dict[str, Values]
    comparison: Comparison | None
    focus: tuple[str, ...]
    findings: Findings | None
    unchecked: str
    explained: list[Explained]
    unexplained: str = ""
    funnel: Funnel | None = None
    evidence: Evidence = field(default_factory=Evidence)

    @property
    def measure(self) -> str:
        """The measure that comes first."""
        return next(iter(self.values))

    @property
    def first(self) -> Values:
        """The values of the measure that comes first."""
        return self.values[self.measure]

    @property
    def subject(self) -> str:
        """The system that the report is about: the best of those compared with the baseline."""
        return self.focus[0]

    @property
    def versus(self) -> Pair | None:
        """The pair in focus, in its direction; None where nothing was compared."""
        if self.comparison is None:
            return None
        return self.comparison.pair(*self.focus)

    @cached_property
    def interval_of(self) -> dict[str, dict[str, tuple[float, float]]]:
        """Measure → system → the interval of its mean."""
        alpha = self.wanted.settings.alpha
        found = {name: values.intervals(alpha) for name, values in self.values.items()}
        return {name: {system: each[1:] for system, each in ends.items()} for name, ends in found.items()}

    def text_of(self, query: str) -> str:
        """The text of a query, or nothing."""
        return self.wanted.queries.get(query, "")


def gather(source: Source, wanted: Wanted) -> Facts:
    """Read, match and measure every run, compare them, explain the queries that matter, and check the files."""
    about: dict[str, Any] = {"protocol": wanted.protocol, "weights": wanted.weights, "by": wanted.groups}
    about |= {"sample": wanted.sample, "per": wanted.per, "population": wanted.population}
    results = evaluate_runs(source.judged, source.runs, wanted.measures, keep_going=wanted.keep_going, **about)
    source = replace(source, runs={name: source.runs[name] for name in results})
    values = {name: with_clusters(each, wanted.clusters) for name, each in values_of_results(results).items()}
    several = len(results) > 1 and all(_units(each) != 1 for each in values.values())
    comparison = compare_results(results, wanted.settings, clusters=wanted.clusters) if several else None
    facts = Facts(
        wanted,
        results,
        values,
        comparison,
        _focus(next(iter(values.values())), wanted.settings.baseline),
        *_checked(source, wanted, sum(each.peek.rows for each in results.values() if each.peek)),
        [],
        funnel=funnel_of(source, wanted),
    )
    with warnings.catch_warnings():  # whatever there is to say was said when the runs were first read
        warnings.simplefilter("ignore", RankgaugeWarning)
        return _with_rankings(replace(facts, evidence=evidence_of(source, wanted, results, facts.focus)), source)


def _units(values: Values) -> int:
    """How many queries, or clusters of them, have a say."""
    counted = without_weightless(values)
    return len(paired.units_of(counted.table, counted.weights, counted.clusters))


def _checked(source: Source, wanted: Wanted, rows: int) -> tuple[Findings | None, str]:
    """What the checks found, line by line; None and the reason where they were not made."""
    from rankgauge.validation.validate import validate

    if rows > wanted.limits.checked:
        return None, "the files are large"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankgaugeWarning)
            return validate(source.judged, *source.runs.values(), measure=wanted.measures[0]), ""
    except RankgaugeError as error:
        return None, str(error)


def _focus(values: Values, baseline: str | None) -> tuple[str, ...]:
    """The best other system against the baseline, which is the first one if none is named. Of equals, the first."""
    against = values.systems[values.index(baseline)] if baseline is not None else values.systems[0]
    others = [name for name in best_first(values) if name != against]
    return (others[0], against) if others else (against,)


def best_first(values: Values) -> list[str]:
    """The systems by their means."""
    return sorted(values.systems, key=lambda name: -values.mean(name))


# ---- the queries that are worth looking at ---------------------------------------------------------------------------


def _with_rankings(facts: Facts, source: Source) -> Facts:
    """The facts with the rankings of the queries that moved most, and of the worst and the best ones."""
    measure, wanted = facts.wanted.measures[0], facts.wanted
    chosen = _chosen(facts)
    try:
        rankings = {
            name: {
                query: explain(source.judgments, run, query, measure, protocol=wanted.protocol, top=3, name=name)
                for query in chosen
            }
            for name, run in ((name, source.runs[name].read(wanted.protocol)) for name in facts.focus)
        }
    except RankgaugeError as error:  # a measure or a rule that cannot be told rank by rank
        return replace(facts, unexplained=str(error))
    explained = []
    for query, why in chosen.items():
        found = tuple(rankings[name][query] for name in facts.focus)
        explained.append(Explained(query, tuple(why), found, difference(*found) if len(found) == 2 else None))
    return replace(facts, explained=explained)


def _chosen(facts: Facts) -> dict[str, list[str]]:
    """Query → why it is shown."""
    chosen: dict[str, list[str]] = {}
    for why, queries in _candidates(facts):
        for query in queries:
            chosen.setdefault(query, []).append(why)
    return chosen


def _candidates(facts: Facts) -> Iterator[tuple[str, list[str]]]:
    values, number = facts.first, facts.wanted.examples
    queries, of_subject = np.array(values.queries, object), values.of(facts.subject)
    if len(facts.focus) == 2:
        moved = values.difference(*facts.focus)
        up, down = np.argsort(-moved, kind="stable")[:number], np.argsort(moved, kind="stable")[:number]
        yield "gained", queries[[at for at in up if moved[at] > 0]].tolist()
        yield "lost", queries[[at for at in down if moved[at] < 0]].tolist()
    relevant = _relevant(facts.results[facts.subject], values.queries)
    yield "worst", queries[[at for at in np.argsort(of_subject, kind="stable") if relevant[at]][:number]].tolist()
    yield "best", queries[np.lexsort((-relevant, -of_subject))[:number]].tolist()


def _relevant(result: Result, queries: list[str]) -> Any:
    """How many relevant documents each query has."""
    counts = dict(zip(result.hits.queries, result.hits.relevant_judged().tolist(), strict=True))
    return np.array([counts[query] for query in queries])
