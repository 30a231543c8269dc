"""Prediction-powered values: a few queries judged by people, all of them by a model, on the same pool."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple

import numpy as np

from rankgauge.comparison.pairs import each_against_earlier
from rankgauge.comparison.ranges import is_bounded, known_interval
from rankgauge.errors import InputError, MeasureError, choices, counted, unknown, warn, way
from rankgauge.evaluate import evaluate_runs
from rankgauge.measures import AnyMeasure, Measure, parse
from rankgauge.protocol import DEFAULT, Protocol, Rules
from rankgauge.read import Judgments, RunSource
from rankgauge.read.named import Runs, named
from rankgauge.shown import Shown
from rankgauge.stats.estimate import NAN, Estimate
from rankgauge.stats.ppi import IDLE, INTERVALS, Interval, needed, needed_alone, plain_mean, power, prediction_powered
from rankgauge.trust.judges.sets import Repeated, judged_once

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats

__all__ = ["PARTLY", "Powered", "PredictionPowered", "ppi"]

Partly = Literal["error", "skip"]
PARTLY: Final[tuple[Partly, ...]] = ("error", "skip")
EXAMPLES: Final = 3


@dataclass(frozen=True, slots=True)
class Powered:
    """A system, or a difference of two: people alone, the model alone, and people with the model's help.

    `needed` is how many queries people must judge for an interval as narrow as was wanted, these included; None where
    all do not suffice. `needed_alone` is how many it takes without the model. Where fewer than six queries differ,
    `powered` has no interval, and that of people is the one to take; nor is it known then how many are needed.
    """

    name: str
    people: Estimate
    model: float
    powered: Estimate
    power: float = 0.0  # λ: how much the model's predictions count
    narrower: float = 0.0  # by which share the interval is, before it is cut at the range's ends; NaN without one
    needed: int | None = None
    needed_alone: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """For JSON, all but the name."""
        return {
            "people": self.people._asdict(),
            "model": self.model,
            "powered": self.powered._asdict(),
            "lambda": self.power,
            "narrower": self.narrower,
            "needed": self.needed,
            "needed_alone": self.needed_alone,
        }


@dataclass(frozen=True, eq=False, repr=False)
class PredictionPowered(Shown):
    """Estimates of the mean under human labels: of every system, and of the difference of every pair."""

    shown_by: ClassVar[str] = "ppi"

    measure: str
    judged: int  # queries that people judged
    queries: int  # all of them
    interval: str
    alpha: float
    width: float | None
    systems: list[Powered]
    pairs: list[Powered]
    protocol: Protocol = DEFAULT
    left_out: tuple[str, ...] = ()  # queries that people and the model judged on different pairs

    @property
    def title(self) -> str:
        """What this is about."""
        return f"{self.measure} under human labels"

    def __getitem__(self, name: str) -> Powered:
        known = {each.name: each for each in [*self.systems, *self.pairs]}
        if name not in known:
            raise InputError(unknown(f"there is no {name!r}", name, known))
        return known[name]

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON."""
        names = [{"a": a.name, "b": b.name} for a, b in each_against_earlier(self.systems)]
        return {
            "measure": self.measure,
            "queries": self.queries,
            "judged_by_people": self.judged,
            **({"left_out": list(self.left_out)} if self.left_out else {}),
            "alpha": self.alpha,
            "intervals": {"method": self.interval},
            "width": self.width,
            "systems": [{"system": each.name, **each.to_dict()} for each in self.systems],
            "pairs": [pair | each.to_dict() for pair, each in zip(names, self.pairs, strict=True)],
        }

    def rows(self) -> list[dict[str, Any]]:
        """A row per system and per difference of two, every digit."""
        rows = []
        for each in [*self.systems, *self.pairs]:
            row: dict[str, Any] = {"system": each.name}
            for name, one in (("people", each.people), ("powered", each.powered)):
                row |= {name: one.value, f"{name}_low": one.low, f"{name}_high": one.high}
            row |= {"model": each.model, "lambda": each.power, "narrower": each.narrower}
            rows.append(row | {"needed": each.needed, "needed_alone": each.needed_alone})
        return rows


def ppi(
    people: Any,
    model: Any,
    runs: Runs,
    measure: AnyMeasure = "nDCG@10",
    *,
    interval_width: float | None = None,
    interval: Interval = "flips",
    alpha: float = 0.05,
    repeated: Repeated | None = None,
    partly: Partly = "error",
    protocol: Protocol | Rules = DEFAULT,
) -> PredictionPowered:
    """The mean of every run under human labels, from a few that they made and all that a model made.

    Queries that people judged must be judged by them in full, pair by pair as the model did: others are refused, for
    their value is not that of people, or count as judged by the model alone with partly="skip". Those that are left
    must be a random sample of all queries. `interval_width`: how wide an interval may be, to learn how many queries
    people must judge. `interval`: "flips" (the sign-flip test inverted), or "ppi_py" for that package's.
    """
    protocol = Protocol.of(protocol)
    measure = parse(str(measure))
    systems = named(runs)
    _check(measure, systems, interval, alpha, interval_width)
    if interval in IDLE:
        warn(f"intervals of kind {interval} are no longer made; these are of the usual kind, {IDLE[interval]}")
        interval = IDLE[interval]
    machine = judged_once(model, repeated)
    human, left_out = _in_full(judged_once(people, repeated), machine, partly)
    columns = {}
    for name, run in systems.items():
        columns[name] = _values(human, machine, RunSource.of(run).read(protocol), measure, protocol)
    bounded = is_bounded(str(measure), np.concatenate([column for each in columns.values() for column in each]))
    known = partial(_known, bounded=bounded, alpha=alpha, judged=len(human.queries))
    settings = _Settings(interval, alpha, interval_width)
    found = [known(_powered(name, *each, settings, bounded)) for name, each in columns.items()]
    pairs = []
    for a, b in each_against_earlier(columns):
        truth, predicted, others = (one - other for one, other in zip(columns[a], columns[b], strict=True))
        pairs.append(known(_powered(f"{a} − {b}", truth, predicted, others, settings, False), lowest=-1.0))
    judged, queries = len(human.queries), len(machine.queries)
    return PredictionPowered(str(measure), judged, queries, *settings, found, pairs, protocol, tuple(left_out))


def _check(measure: Measure, runs: Any, interval: str, alpha: float, width: float | None) -> None:
    if not runs:
        raise InputError("name the systems: {'a': run, 'b': run}; there is none")
    if interval not in INTERVALS and interval not in IDLE:
        raise InputError(f"interval={interval!r} is not known; expected {choices(INTERVALS)}")
    if not 0 < alpha < 1 or (width is not None and not 0 < width < float("inf")):
        raise InputError(f"alpha={alpha!r}, interval_width={width!r}: alpha is between 0 and 1, a width above 0")
    if measure.definition.aggregate != "mean":
        raise MeasureError(f"{measure} is not a mean over queries, and only means are estimated; take nDCG@10")


def _in_full(human: Judgments, machine: Judgments, partly: Partly) -> tuple[Judgments, list[str]]:
    """What people judged pair by pair as the model did, and the queries that are left out: those judged in part."""
    if partly not in PARTLY:
        raise InputError(unknown(f"there is no partly={partly!r}", partly, PARTLY))
    ours, theirs = human.nested, machine.nested
    strange = [query for query in ours if query not in theirs]
    if strange:
        asked = counted(len(strange), "query is", "queries are")
        raise InputError(
            f"{asked} judged by people and not by the model, such as {strange[0]!r}; the model must judge every query"
        )
    in_part = [query for query in ours if ours[query].keys() != theirs[query].keys()]
    if in_part and partly == "error":
        raise _refused(in_part, human, machine)
    if len(ours) - len(in_part) < 2:
        judged = counted(len(ours) - len(in_part), "query", "queries")
        raise InputError(f"people judged {judged}{' in full' * bool(in_part)}; an interval needs two or more")
    return human.only(ours.keys() - set(in_part)) if in_part else human, in_part


def _refused(in_part: list[str], human: Judgments, machine: Judgments) -> InputError:
    """The error for queries that are judged in part."""
    shown = []
    for query in in_part[:EXAMPLES]:
        ours, theirs = human.nested[query].keys(), machine.nested[query].keys()
        shown.append(f"{query!r}: people {len(ours):,}, model {len(theirs):,}, both {len(ours & theirs):,}")
    are, skip = "is" if len(in_part) == 1 else "are", way("partly='skip'", "--partly skip")
    return InputError(
        f"{len(in_part):,} of {len(human.queries):,} queries {are} not judged on the same pairs by people and by the "
        f"model ({'; '.join(shown)}); let both judge them in full, or leave them to the model: {skip}"
    )


def _values(
    human: Judgments, machine: Judgments, run: Any, measure: Measure, protocol: Protocol
) -> tuple[Floats, Floats, Floats]:
    """Under people's judgments; under the model's, of the same queries; and of the others."""
    ours, theirs = (evaluate_runs(each, {"": run}, measure, protocol=protocol)[""] for each in (human, machine))
    truth, predicted = (
        {
            query: value
            for query, value in zip(each.query_ids, each.measured[measure].tolist(), strict=True)
            if value == value
        }
        for each in (ours, theirs)
    )
    lacking = [q for q in human.queries if q not in truth] + [q for q in machine.queries if q not in predicted]
    if lacking:
        raise InputError(
            f"the rules leave {counted(len(lacking), 'query', 'queries')} out, such as {lacking[0]!r}, under people's "
            "or the model's judgments; every query needs a value under both: leave missing and empty at zero"
        )
    with_truth = sorted(truth)
    others = [predicted[query] for query in sorted(predicted) if query not in truth]
    one = np.array([truth[query] for query in with_truth])
    return one, np.array([predicted[query] for query in with_truth]), np.array(others, np.float64)


class _Settings(NamedTuple):
    interval: str
    alpha: float
    width: float | None


def _powered(
    name: str, truth: Floats, predicted: Floats, others: Floats, settings: _Settings, bounded: bool
) -> Powered:
    everything, weight = np.concatenate([predicted, others]), power(truth, predicted, others)
    how: dict[str, Any] = {"alpha": settings.alpha, "interval": settings.interval}
    alone = plain_mean(truth, **how, bounded=bounded)
    helped = prediction_powered(truth, predicted, others, **how, lam=weight)
    width = settings.width
    return Powered(
        name,
        alone,
        float(everything.mean()),
        helped,
        weight,
        1 - helped.width / alone.width if alone.width > 0 else NAN,
        None if width is None else needed(truth, predicted, others, width, **how),
        None if width is None else needed_alone(truth, width, **how),
    )


def _known(each: Powered, *, bounded: bool, alpha: float, judged: int, lowest: float = 0.0) -> Powered:
    """The same with intervals within the range of the measure, or with none."""
    people, powered = (
        Estimate(one.value, *known_interval(one[1:], bounded, alpha, judged, lowest))
        for one in (each.people, each.powered)
    )
    found = replace(each, people=people, powered=powered)
    return found if powered.low == powered.low else replace(found, needed=None, needed_alone=None)
