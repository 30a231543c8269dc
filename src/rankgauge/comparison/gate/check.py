"""The gate: may this run replace the baseline? PASS, FAIL or INCONCLUSIVE, by bounds and not by a guess.

    judgments + run ──evaluate──▶ candidate ─┐
    a run, or what eval saved ──▶ baseline ──┴─check──▶ Check ──show──▶ people, pull requests, CI

A difference passes when its one-sided 95 % lower bound is not below −margin, fails when its upper bound is, and is
inconclusive otherwise. A small set of queries therefore makes a gate that cannot tell, never one that lets things pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rankgauge.comparison.doubts import FEW_QUERIES, SKEWED
from rankgauge.comparison.gate.baseline import read_baseline, values_of
from rankgauge.comparison.gate.outcome import Check, Compared, Drift, Lost, Minimum
from rankgauge.comparison.ranges import is_bounded, within_range
from rankgauge.comparison.saved import Saved
from rankgauge.errors import Doubt, InputError
from rankgauge.evaluate import evaluate
from rankgauge.measures import AnyMeasure, parse, parse_all
from rankgauge.measures.aggregates import aggregate
from rankgauge.protocol import DEFAULT, Protocol, Rules
from rankgauge.read import read_judgments
from rankgauge.stats.estimate import Estimate
from rankgauge.stats.paired import NOWHERE, TIE, Moments, moments, t_interval, units_of
from rankgauge.stats.power import ALPHA, queries_needed

if TYPE_CHECKING:
    from rankgauge.comparison.values import Values
    from rankgauge.dtypes import Floats
    from rankgauge.result import Result
    from rankgauge.sampling.design import Design, Per

__all__ = ["check", "check_result", "margins_of", "minimums_of"]

LOST: Final = 5  # queries that are named, for each measure


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
    lost: int = LOST,
    name: str = "",
    memory: int | str | None = None,
) -> Check:
    """Check a run against a baseline and against minimums.

    `baseline` is a run, a result, or a file of `rankgauge eval --per-query --format json`. `margin` is the largest loss
    that does not matter, in units of the measure, for all measures or by measure; it has no default. `measures` are
    compared with the baseline, nDCG@10 if none are given. `minimums` maps measures to the means that they must reach.
    With a `sample` (see `evaluate`) these are means `per` search or query of its log; `memory` is as there.
    """
    if baseline is None and (measures is not None or margin is not None):
        raise InputError("measures and margin are for a comparison with a baseline, and there is none; give a baseline")
    floors = minimums_of(minimums or {})
    if baseline is None and not floors:
        raise InputError("there is nothing to check: give a baseline with a margin, or a minimum")
    margins = margins_of(_names(measures) if baseline is not None else [], margin)
    judged = read_judgments(judgments)
    how: dict[str, Any] = {"sample": sample, "per": per, "memory": memory}
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
    tested = _tested(values.table, values.bounded, values.queries, design)
    drift = _drift(new, old, values.measure, margin, design)
    answered = tested.answered(values.measure, -margin, "differences")
    return Compared(*answered, tested.means[0], tested.means[1], margin, values.dropped, drift)


def _minimum(new: Saved, measure: str, minimum: float, design: Design | None) -> Minimum:
    if not math.isfinite(minimum):
        raise InputError(f"the minimum of {measure} is a number, not {minimum}")
    found = new.of_measure(measure)
    table = np.array([*found.values()])[:, None]
    if not len(table):
        raise InputError(f"no query has a value of {measure}; there is no mean to test")
    tested = _tested(table, is_bounded(measure, table), [*found], design)
    return Minimum(*tested.answered(measure, minimum, "values"), minimum)


class Tested(NamedTuple):
    """The means of one system or two; the moments and bounds of the mean, or of the difference of both.

    `slack` is how far off rounding may have put the bounds.
    """

    queries: int
    means: list[float]
    moments: Moments
    bounds: Estimate
    slack: float

    def answer(self, limit: float) -> str:
        """Whether the number is shown to be at least the limit, shown to be below it, or neither."""
        if self.bounds.low >= limit - self.slack:
            return "pass"
        return "fail" if self.bounds.high < limit - self.slack else "inconclusive"

    def answered(
        self, measure: str, limit: float, what: str
    ) -> tuple[str, Estimate, str, int, int | None, tuple[Doubt, ...]]:
        """What there is to say of a measure, whatever it is held against."""
        answer, doubts = self.answer(limit), tuple(_doubts(measure, self.queries, self.moments, what))
        needed = self._settling(limit) if answer == "inconclusive" else None
        return measure, self.bounds, answer, self.queries, needed, doubts

    def _settling(self, limit: float) -> int | None:
        """How many queries like these would settle it, with power 0.80, if what was observed is the truth."""
        freedom, distance = self.moments.freedom, self.bounds.value - limit
        if freedom < 1 or abs(distance) <= self.slack:
            return None
        try:
            return queries_needed(self.moments.error * math.sqrt(self.queries), abs(distance), sides=1)
        except InputError:  # more than anyone will ever have
            return None


def _tested(table: Floats, bounded: bool = False, queries: Sequence[str] = (), design: Design | None = None) -> Tested:
    """What is known of the mean of one column, or of the difference of two.

    What is tested is what is shown: the moments get the difference of these means. The one-sided 95 % bounds are the
    ends of the two-sided 90 % interval, where the measure can be; one query has none. Of a sample they are over draws
    of it.
    """
    weights = None if design is None else design.weights(queries)
    means = [aggregate("mean", column, weights) for column in table.T]
    two, slack = len(means) == 2, TIE * float(np.abs(table).max())
    value = means[0] - means[1] if two else means[0]
    value = 0.0 if two and abs(value) <= slack else value
    if design is None:
        found = moments(units_of(table), 0, 1 if two else None)._replace(difference=value)
        ends = t_interval(found, 2 * ALPHA) if found.freedom else NOWHERE
    else:
        found = design.moments(queries, table[:, 0], table[:, 1] if two else None)._replace(difference=value)
        ends = design.interval(found, 2 * ALPHA) if not math.isnan(found.error) else NOWHERE
    ends = within_range(ends, bounded, lowest=-1.0 if two else 0.0)
    return Tested(len(table), means, found, Estimate(value, *ends), slack)


def _doubts(measure: str, queries: int, found: Moments, what: str) -> Iterator[Doubt]:
    """Where the bounds should not be trusted as they stand."""
    if queries < FEW_QUERIES:
        few = "1 query is" if queries == 1 else f"{queries} queries are"
        yield Doubt("few-queries", f"{measure}: {few} few; below {FEW_QUERIES} bounds are only rough")
    if abs(found.skewness) > SKEWED * math.sqrt(queries):
        words = f"the {what} are too skewed for {queries:,} queries (skewness {found.skewness:.1f})"
        yield Doubt("skewed", f"{measure}: {words}, and the bounds too narrow; judge more queries")


def _drift(new: Saved, old: Saved, measure: str, margin: float, design: Design | None) -> Drift | None:
    """Against the first baseline, where the present one replaced another."""
    replaced = sum(measure in entry["measures"] for entry in old.history)
    if not replaced or not old.first or measure not in old.first:
        return None
    values = values_of(new, old.as_first(), measure)
    tested = _tested(values.table, values.bounded, values.queries, design)
    return Drift(tested.means[1], tested.bounds, replaced + 1, tested.answer(-margin))


def _lost_most(values: Values, number: int) -> Iterator[Lost]:
    difference = values.table[:, 0] - values.table[:, 1]
    worst = np.argsort(difference, kind="stable")[:number]
    for at in worst[difference[worst] < -TIE].tolist():
        yield Lost(values.measure, values.queries[at], *values.table[at].tolist())
