"""The gate: may this run replace the baseline? PASS, FAIL, INCONCLUSIVE or UNCHANGED, by bounds and not by a guess.

    judgments + run ──evaluate──▶ candidate ─┐
    a run, or what eval saved ──▶ baseline ──┴─check──▶ Check ──show──▶ people, pull requests, CI

A difference passes when its one-sided 95 % lower bound is not below −margin, fails when its upper bound is, and is
inconclusive otherwise. Where no value changed it is unchanged, unless the queries are so many that a loss beyond the
margin would have shown: then it passes. The bounds are the ends of the 90 % interval that `compare` has of the same
files.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rankgauge.comparison.doubts import FEW_QUERIES, SKEWED
from rankgauge.comparison.gate.baseline import read_baseline, values_of
from rankgauge.comparison.gate.outcome import Check, Compared, Drift, Lost, Minimum, Moved
from rankgauge.comparison.ranges import is_bounded, within_range
from rankgauge.comparison.saved import Saved
from rankgauge.errors import Doubt, InputError, MatchError
from rankgauge.evaluate import evaluate
from rankgauge.measures import AnyMeasure, parse, parse_all
from rankgauge.measures.aggregates import aggregate
from rankgauge.protocol import DEFAULT, Protocol, Rules
from rankgauge.read import read_judgments
from rankgauge.stats import inference
from rankgauge.stats.estimate import Estimate
from rankgauge.stats.inference import FEW, Population, Queries, differences, mean_interval
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
    result = evaluate(judged, run, [*dict.fromkeys([*margins, *floors])], protocol=protocol, name=name, **how)
    old = read_baseline(baseline, judged, margins, result.protocol) if baseline is not None else None
    return check_result(result, old, margins, floors, lost=lost)


def _names(measures: AnyMeasure | Iterable[AnyMeasure] | None) -> list[str]:
    """The measures to compare, in our spelling."""
    return [str(each) for each in parse_all("nDCG@10" if measures is None else measures)]


def check_result(
    result: Result, old: Saved | None, margins: Mapping[str, float], minimums: Mapping[str, float], *, lost: int = LOST
) -> Check:
    """The same, for a result and a baseline that are there already."""
    new, design = Saved.of(result), result.design
    _refuse_nothing_found(result, old, margins)
    if design is not None and design.sample.fixed:
        raise InputError(
            f"{design.sample.source} is a fixed list (top), from which nothing follows about other queries: there are "
            "no bounds to check; draw by traffic, or check without the sample"
        )
    if design is not None and old is not None:
        old = old.only(design.queries)
    tables = {measure: values_of(new, old, measure) for measure in margins} if old is not None else {}
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


def _refuse_nothing_found(result: Result, old: Saved | None, margins: Iterable[str]) -> None:
    """Refuse a measurement of nothing: neither run returned a document that is judged."""
    if old is None or len(result.hits) or any(any(old.of_measure(measure).values()) for measure in margins):
        return
    raise MatchError(
        f"neither {result.name or 'the run'} nor {old.title} returned a judged document, so there is nothing to "
        "compare; check that judgments and runs have the same ids: rankgauge validate QRELS RUN"
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
    tested = _of_difference(values, design)
    drift = _drift(new, old, values.measure, margin, design)
    answered = tested.answered(values.measure, -margin, "differences")
    moved = _moved(new, old, values, design) if answered.answer == "unchanged" else None
    if moved is not None and moved.unjudged >= UNJUDGED * tested.queries:
        answered = answered._replace(answer="inconclusive", needed=None)
    known = 0 if design is None else tested.queries - tested.test.units
    return Compared(*answered, tested.means[0], tested.means[1], margin, values.dropped, drift, moved, known)


def _minimum(new: Saved, measure: str, minimum: float, design: Design | None) -> Minimum:
    if not math.isfinite(minimum):
        raise InputError(f"the minimum of {measure} is a number, not {minimum}")
    found = new.of_measure(measure)
    table = np.array([*found.values()])
    if not len(table):
        raise InputError(f"no query has a value of {measure}; there is no mean to test")
    queries = Queries(len(table)) if design is None else design.drawn([*found])
    mean, (test,) = aggregate("mean", table, queries.weights), differences([table], queries, alpha=2 * ALPHA)
    ends = mean_interval(table, queries, alpha=2 * ALPHA) if is_bounded(measure, table) else test.interval
    tested = Tested(len(table), [mean], test, Estimate(mean, *(ends or NOWHERE)), TIE * float(np.abs(table).max()))
    return Minimum(*tested.answered(measure, minimum, "values"), minimum)


class _Answer(NamedTuple):
    """What there is to say of a measure, whatever it is held against."""

    measure: str
    bounds: Estimate
    answer: str
    queries: int
    needed: int | None
    doubts: tuple[Doubt, ...]
    unseen: float


class Tested(NamedTuple):
    """The means of one system or two; the test and the bounds of the mean, or of the difference of both.

    `slack` is how far off rounding may have put the bounds, `reach` the most that the value of a query can be lost.
    """

    queries: int
    means: list[float]
    test: inference.Answer
    bounds: Estimate
    slack: float
    reach: float = 0.0

    def answer(self, limit: float) -> str:
        """Whether the number is shown to be at least the limit, or below it, or neither; or nothing changed."""
        if self.reach and self.test.units and self.test.nothing_changed:
            return "pass" if self.test.unseen * self.reach <= -limit else "unchanged"
        if self.bounds.low >= limit - self.slack:
            return "pass"
        return "fail" if self.bounds.high < limit - self.slack else "inconclusive"

    def answered(self, measure: str, limit: float, what: str) -> _Answer:
        """What there is to say of a measure."""
        answer, doubts = self.answer(limit), tuple(_doubts(measure, self.test, what))
        needed = self._settling(limit) if answer == "inconclusive" else None
        return _Answer(measure, self.bounds, answer, self.queries, needed, doubts, self.test.unseen)

    def _settling(self, limit: float) -> int | None:
        """How many queries like these would settle it, with power 0.80, if what was observed is the truth."""
        distance = self.bounds.value - limit
        if self.test.units < 2 or not self.test.error > 0 or abs(distance) <= self.slack:
            return None
        try:
            needed = queries_needed(self.test.error * math.sqrt(self.queries), abs(distance), sides=1)
        except InputError:  # more than anyone will ever have
            return None
        return needed if needed <= MOST_NEEDED else None


def _of_difference(values: Values, design: Design | None) -> Tested:
    """What is known of the difference of two columns: the test that `compare` makes, at the level of the gate.

    The one-sided 95 % bounds are the ends of the two-sided 90 % interval, where the measure can be.
    """
    queries = Queries(len(values.queries)) if design is None else design.drawn(values.queries)
    means = [aggregate("mean", column, queries.weights) for column in values.table.T]
    (test,) = differences([values.apart(0, 1)], queries, alpha=2 * ALPHA)
    value, slack = means[0] - means[1], TIE * float(np.abs(values.table).max())
    value = 0.0 if abs(value) <= slack else value
    same = (value, value) if test.constant and test.units >= FEW else NOWHERE  # then no other mean is possible
    ends = within_range(test.interval or same, values.bounded, lowest=-1.0)
    return Tested(len(values.queries), means, test, Estimate(value, *ends), slack, 1.0 if values.bounded else math.inf)


def _doubts(measure: str, test: inference.Answer, what: str) -> Iterator[Doubt]:
    """Where the bounds should not be trusted as they stand."""
    if test.effective < FEW_QUERIES:
        worth = f", worth {test.effective:.1f} of equal weight," if test.effective < test.units - 0.5 else ""
        few = f"1 query{worth} is" if test.units == 1 else f"{test.units} queries{worth} are"
        yield Doubt("few-queries", f"{measure}: {few} few; below {FEW_QUERIES} bounds are only rough")
    elif 0 < test.telling < FEW_QUERIES and what == "differences":
        words = f"{test.changed} of {test.units:,} queries changed, on which the bounds rest"
        yield Doubt("few-differences", f"{measure}: {words}; below {FEW_QUERIES} they are only rough")
    if abs(test.skewness) > SKEWED * math.sqrt(max(test.units, 1)):
        words = f"the {what} are too skewed for {test.units:,} queries (skewness {test.skewness:.1f})"
        yield Doubt("skewed", f"{measure}: {words}, and the bounds too narrow; judge more queries")


def _moved(new: Saved, old: Saved, values: Values, design: Design | None) -> Moved | None:
    """Where judged documents moved, and unjudged ones came in; None where a baseline has values alone."""
    if new.result is None or old.result is None:
        return None
    cutoff = parse(values.measure).cutoff
    k = cutoff if isinstance(cutoff, int) else None
    one, other = new.result.hits.outline(k), old.result.hits.outline(k)
    moved = [query for query in values.queries if one.get(query) != other.get(query)]
    came = [query for query in moved if one[query].unjudged > other[query].unjudged]
    return Moved(len(moved), len(came))


def _drift(new: Saved, old: Saved, measure: str, margin: float, design: Design | None) -> Drift | None:
    """Against the first baseline, where the present one replaced another."""
    replaced = sum(measure in entry["measures"] for entry in old.history)
    if not replaced or not old.first or measure not in old.first:
        return None
    values = values_of(new, old.as_first(), measure)
    tested = _of_difference(values, design)
    return Drift(tested.means[1], tested.bounds, replaced + 1, tested.answer(-margin))


def _lost_most(values: Values, number: int) -> Iterator[Lost]:
    difference = values.table[:, 0] - values.table[:, 1]
    worst = np.argsort(difference, kind="stable")[:number]
    for at in worst[difference[worst] < -TIE].tolist():
        yield Lost(values.measure, values.queries[at], *values.table[at].tolist())
