"""The gate: may this run replace the baseline? PASS, FAIL, INCONCLUSIVE or UNCHANGED, by bounds and not by a guess.

    judgments + run ──evaluate──▶ candidate ─┐
    a run, or what eval saved ──▶ baseline ──┴─check──▶ Check ──show──▶ people, pull requests, CI

A difference passes when its one-sided 95 % lower bound is not below −margin, fails when its upper bound is, and is
inconclusive otherwise. Where no value changed it is unchanged, unless the queries are so many that a loss beyond the
margin would have shown: then it passes. Where unjudged documents came into many results no value could change: then it
is inconclusive. The bounds are the ends of the 90 % interval that `compare` has of the same files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rankgauge.comparison.doubts import SKEWED
from rankgauge.comparison.gate.answers import Compared, Drift, Minimum
from rankgauge.comparison.gate.baseline import read_baseline, values_of
from rankgauge.comparison.gate.moved import moved_between
from rankgauge.comparison.gate.outcome import Check, Lost
from rankgauge.comparison.ranges import is_bounded, within_range
from rankgauge.comparison.saved import Saved
from rankgauge.errors import Doubt, InputError, MatchError
from rankgauge.evaluate import evaluate
from rankgauge.measures import AnyMeasure, parse, parse_all
from rankgauge.measures.aggregates import aggregate
from rankgauge.protocol import DEFAULT, Protocol, Rules
from rankgauge.read import read_judgments
from rankgauge.read.named import named_one
from rankgauge.read.readers import RunSource
from rankgauge.stats import inference
from rankgauge.stats.estimate import Estimate
from rankgauge.stats.inference import FEW, FEW_QUERIES, Population, Queries, differences, mean_interval
from rankgauge.stats.paired import NOWHERE, TIE
from rankgauge.stats.power import ALPHA, queries_needed

if TYPE_CHECKING:
    from rankgauge.comparison.values import Values
    from rankgauge.result import Result
    from rankgauge.sampling.design import Design, Per

__all__ = ["check", "check_result", "margins_of", "minimums_of"]

LOST: Final = 5  # queries that are named, for each measure
UNJUDGED: Final = 0.1  # of the queries: where unjudged documents came into as many, values could not change
MOST_NEEDED: Final = 100_000  # queries; nobody judges more to settle a gap


def check(
    judgments: Any,
    run: Any,
    baseline: Any = None,
    measures: AnyMeasure | Iterable[AnyMeasure] | None = None,
    *,
    margin: float | Mapping[str, float] | None = None,
    minimums: Mapping[str, float] | None = None,
    protocol: Protocol | Rules = DEFAULT,
    sample: Any = None,
    per: Per = "search",
    population: Population | None = None,
    lost: int = LOST,
    name: str = "",
    memory: int | str | None = None,
) -> Check:
    """Check a run against a baseline and against minimums.

    `baseline` is a run, a result, or a file of `rankgauge eval --per-query --format json`. `margin` is the largest loss
    that does not matter, in units of the measure, for all measures or by measure; it has no default. `measures` are
    compared with the baseline, nDCG@10 if none are given. `minimums` maps measures to the means that they must reach.
    With a `sample` (see `evaluate`) these are means `per` search or query of its log, and bounds speak of a
    `population`: this log, or future searches like those in it; `memory` is as there.
    """
    if baseline is None and (measures is not None or margin is not None):
        raise InputError("measures and margin are for a comparison with a baseline, and there is none; give a baseline")
    floors = minimums_of(minimums or {})
    if baseline is None and not floors:
        raise InputError("there is nothing to check: give a baseline with a margin, or a minimum")
    margins = margins_of(_names(measures) if baseline is not None else [], margin)
    judged = read_judgments(judgments)
    how: dict[str, Any] = {"sample": sample, "per": per, "population": population, "memory": memory}
    name, run = named_one(run, name)
    source = RunSource.of(run).kept()
    result = evaluate(judged, source, [*dict.fromkeys([*margins, *floors])], protocol=protocol, name=name, **how)
    old = read_baseline(baseline, judged, margins, result.protocol) if baseline is not None else None
    return check_result(result, old, margins, floors, lost=lost, run=source)


def _names(measures: AnyMeasure | Iterable[AnyMeasure] | None) -> list[str]:
    """The measures to compare, in our spelling."""
    return [str(each) for each in parse_all("nDCG@10" if measures is None else measures)]


def check_result(
    result: Result,
    old: Saved | None,
    margins: Mapping[str, float],
    minimums: Mapping[str, float],
    *,
    lost: int = LOST,
    run: RunSource | None = None,
) -> Check:
    """The same, for a result and a baseline that are there already; `run` is what the result is of."""
    new, design = Saved.of(result, run), result.design
    if design is not None and design.sample.fixed:
        raise InputError(
            f"{design.sample.source} is a fixed list (top), from which nothing follows about other queries: there are "
            "no bounds to check; draw by traffic, or check without the sample"
        )
    if design is not None and old is not None:
        old = old.only(design.queries)
    tables = {measure: values_of(new, old, measure) for measure in margins} if old is not None else {}
    if old is not None:
        _refuse_nothing_found(new, old, tables)
    return Check(
        result.name,
        old.title if old is not None else "",
        tuple(_compared(tables[measure], margin, new, old, design) for measure, margin in margins.items()),
        tuple(_minimum(new, measure, minimum, design) for measure, minimum in minimums.items()),
        tuple(each for values in tables.values() for each in _lost_most(values, lost)),
        result.fingerprints
        | {"candidate": result.fingerprint}
        | ({"baseline": old.fingerprint} if old is not None else {}),
        result.protocol.to_dict(),
        result,
        old,
    )


def _refuse_nothing_found(new: Saved, old: Saved, tables: Mapping[str, Values]) -> None:
    """Refuse a measurement of nothing: of no query that counts did either run return a document that is judged."""
    for values in tables.values():
        if any(each.found_something(values.measure, values.queries) for each in (new, old)):
            return
    raise MatchError(
        f"neither {new.name or 'the run'} nor {old.title} returned a judged document, so there is nothing to compare; "
        "check that judgments and runs have the same ids: rankgauge validate QRELS RUN"
    )


def minimums_of(given: Mapping[str, float]) -> dict[str, float]:
    """Measure → the mean that it must reach."""
    return _by_measure("minimum", given)


def _by_measure(what: str, given: Mapping[str, float]) -> dict[str, float]:
    """The numbers under our spelling of the measures; two for one measure are refused, however it is spelt."""
    found: dict[str, tuple[str, float]] = {}
    for name, value in given.items():
        measure = str(parse(str(name))) if name else ""
        if measure in found:
            raise InputError(f"{measure} has two {what}s, as {found[measure][0]} and as {name}; give one")
        found[measure] = str(name), float(value)
    return {measure: value for measure, (_, value) in found.items()}


def margins_of(measures: list[str], margin: float | Mapping[str, float] | None) -> dict[str, float]:
    """Measure → margin; a mapping may have a margin for all others under an empty name."""
    given = margin if isinstance(margin, Mapping) else {} if margin is None else {"": margin}
    table = _by_measure("margin", given)
    for name, value in table.items():
        if not (math.isfinite(value) and value >= 0):
            raise InputError(f"a margin is a number, 0 or more, not {value:g}; it is a loss that does not matter")
        if name and name not in measures:
            raise InputError(
                f"there is a margin for {name}, which is not checked; the measures are {', '.join(measures)}"
            )
    for measure in measures:
        if measure not in table and "" not in table:
            raise InputError(
                f"how much of {measure} may be lost? Give a margin, such as 0.01 for one point: it has no default, "
                "because only you know what does not matter"
            )
    return {measure: table.get(measure, table.get("", 0.0)) for measure in measures}


def _compared(values: Values, margin: float, new: Saved, old: Saved | None, design: Design | None) -> Compared:
    assert old is not None
    evidence = _of_difference(values, design)
    drift = _drift(new, old, values.measure, margin, design)
    answered = evidence.answered(values.measure, -margin, "differences")
    moved = None if evidence.changed else moved_between(new, old, values)
    if moved is not None and moved.unjudged >= UNJUDGED * evidence.queries:
        answered = answered._replace(answer="inconclusive")
    known = 0 if design is None else evidence.queries - evidence.test.units
    more = (values.dropped, drift, moved, evidence.changed, known, evidence.reach)
    return Compared(*answered, evidence.means[0], evidence.means[1], margin, *more)


def _minimum(new: Saved, measure: str, minimum: float, design: Design | None) -> Minimum:
    if not math.isfinite(minimum):
        raise InputError(f"the minimum of {measure} is a number, not {minimum}")
    found = new.of_measure(measure)
    table = np.array([*found.values()])
    if not len(table):
        raise InputError(f"no query has a value of {measure}; there is no mean to test")
    queries = Queries(len(table)) if design is None else design.drawn([*found])
    mean, (test,) = aggregate("mean", table, queries.weights), differences([table], queries, alpha=2 * ALPHA)
    ends = mean_interval(table, queries, alpha=2 * ALPHA) if is_bounded(measure, table) else _ends(test, mean)
    slack = TIE * float(np.abs(table).max())
    varied = bool(np.ptp(table) > slack)
    evidence = Evidence(len(table), [mean], test, Estimate(mean, *(ends or NOWHERE)), slack, varied)
    return Minimum(*evidence.answered(measure, minimum, "values"), minimum)


class _Answer(NamedTuple):
    """What there is to say of a measure, whatever it is held against."""

    measure: str
    bounds: Estimate
    answer: str
    queries: int
    needed: int | None
    doubts: tuple[Doubt, ...]
    unseen: float
    units: int
    units_changed: int


class Evidence(NamedTuple):
    """The means of one system or two; the test and the bounds of the mean, or of the difference of both.

    `slack` is how far off rounding may have put the bounds, `changed` says that values differ: from the baseline's, or
    from one another. `reach` is the most that a query can lose, 0 where nothing could be unchanged.
    """

    queries: int
    means: list[float]
    test: inference.Answer
    bounds: Estimate
    slack: float
    changed: bool
    reach: float = 0.0

    def answer(self, limit: float) -> str:
        """Whether the number is shown to be at least the limit, or below it, or neither; or nothing changed."""
        if self.reach and self.test.units and not self.changed:
            return "pass" if self.test.unseen * self.reach <= -limit else "unchanged"
        if self.bounds.low >= limit - self.slack:
            return "pass"
        return "fail" if self.bounds.high < limit - self.slack else "inconclusive"

    def answered(self, measure: str, limit: float, what: str) -> _Answer:
        """What there is to say of a measure."""
        bounded, test = math.isfinite(self.bounds.low), self.test
        doubts = tuple(_doubts(measure, test, self.queries, what)) if bounded else ()
        answer, needed = self.answer(limit), self._settling(limit)
        needed = needed if answer == "inconclusive" else None
        return _Answer(
            measure, self.bounds, answer, self.queries, needed, doubts, test.unseen, test.units, test.changed
        )

    def _settling(self, limit: float) -> int | None:
        """How many queries like these would settle it, with power 0.80, if what was observed is the truth.

        They are as many at least as bring the bounds of today to the limit. Of few changes six have to be there; and
        where no value differs from another, the bounds come nearer with the number of queries, not with its root.
        """
        value, low, high = self.bounds
        distance, reached = abs(value - limit), value - low if value >= limit else high - value
        few = bool(self.reach) and self.test.telling < FEW
        if not math.isfinite(reached) or distance <= self.slack or (few and not self.test.telling):
            return None
        if not self.test.error > 0:
            needed = self.queries * reached / distance
        else:
            least = self.queries * (FEW / self.test.telling if few else (reached / distance) ** 2)
            needed = max(least, _queries_needed(self.test.error * math.sqrt(self.queries), distance))
        return math.ceil(needed) if needed <= MOST_NEEDED else None


def _queries_needed(deviation: float, distance: float) -> float:
    """How many queries show this distance; without end where nobody will ever have as many."""
    try:
        return queries_needed(deviation, distance, sides=1)
    except InputError:
        return math.inf


def _of_difference(values: Values, design: Design | None) -> Evidence:
    """What is known of the difference of two columns: the test that `compare` makes, at the level of the gate.

    The one-sided 95 % bounds are the ends of the two-sided 90 % interval, where the measure can be.
    """
    queries = Queries(len(values.queries)) if design is None else design.drawn(values.queries)
    means = [aggregate("mean", column, queries.weights) for column in values.table.T]
    difference = values.apart(0, 1)
    (test,) = differences([difference], queries, alpha=2 * ALPHA)
    value, slack = means[0] - means[1], TIE * float(np.abs(values.table).max())
    value = 0.0 if abs(value) <= slack else value
    bounds = Estimate(value, *within_range(_ends(test, value) or NOWHERE, values.bounded, lowest=-1.0))
    reach = 1.0 if values.bounded else math.inf
    return Evidence(len(values.queries), means, test, bounds, slack, bool(difference.any()), reach)


def _ends(test: inference.Answer, value: float) -> inference.Interval | None:
    """Those of the interval; where all units have one value, it is the only mean that is possible."""
    return (value, value) if test.interval is None and test.constant and test.units >= FEW else test.interval


def _doubts(measure: str, test: inference.Answer, number: int, what: str) -> Iterator[Doubt]:
    """Where the bounds should not be trusted as they stand."""
    if test.effective < FEW_QUERIES:
        worth = f", worth {test.effective:.1f} of equal weight," if test.effective < test.units - 0.5 else ""
        few = f"1 query{worth} was" if test.units == 1 else f"{test.units} queries{worth} were"
        drawn = " drawn by chance" if test.units < number else " measured"
        yield Doubt("few-queries", f"{measure}: only {few}{drawn}; below {FEW_QUERIES} bounds are rough; judge more")
    elif 0 < test.telling < FEW_QUERIES and what == "differences":
        words = f"only {test.changed} of {test.units:,} queries changed"
        yield Doubt("few-differences", f"{measure}: {words}; below {FEW_QUERIES} bounds are rough; judge more queries")
    if abs(test.skewness) > SKEWED * math.sqrt(max(test.units, 1)):
        words = f"a few queries drive the {'difference' if what == 'differences' else 'mean'}"
        skewed = f"{words} (skewness {test.skewness:.1f}), so the bounds may be too narrow; judge more queries"
        yield Doubt("skewed", f"{measure}: {skewed}")


def _drift(new: Saved, old: Saved, measure: str, margin: float, design: Design | None) -> Drift | None:
    """Against the first baseline, where the present one replaced another."""
    replaced = sum(measure in entry["measures"] for entry in old.history)
    if not replaced or not old.first or measure not in old.first:
        return None
    values = values_of(new, old.as_first(), measure)
    evidence = _of_difference(values, design)
    return Drift(evidence.means[1], evidence.bounds, replaced + 1, evidence.answer(-margin))


def _lost_most(values: Values, number: int) -> Iterator[Lost]:
    difference = values.table[:, 0] - values.table[:, 1]
    worst = np.argsort(difference, kind="stable")[:number]
    for at in worst[difference[worst] < -TIE].tolist():
        yield Lost(values.measure, values.queries[at], *values.table[at].tolist())
