"""A dialect as a frozen value."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from inspect import Parameter
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgauge.errors import MeasureError
from rankgauge.measures import MEASURES, Measure, as_written
from rankgauge.measures.aggregates import FLOOR
from rankgauge.measures.parser import resolve
from rankgauge.protocol import DEFAULT, Protocol

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats

__all__ = ["Dialect", "Own", "Owned", "Rounding", "measure_of"]


@dataclass(frozen=True, slots=True)
class Rounding:
    """To so many digits: as `printf` and Python's `round` do, or with halves going up, as Java's `Math.round` does."""

    digits: int
    half_up: bool = False

    def __call__(self, value: float) -> float:
        if math.isnan(value):
            return value
        scale = 10.0**self.digits
        return math.floor(value * scale + 0.5) / scale if self.half_up else round(value, self.digits)

    def each(self, values: Floats) -> Floats:
        """Every value rounded."""
        return np.array([self(value) for value in values.tolist()], np.float64)


@dataclass(frozen=True, slots=True)
class Own:
    """A tool's own definition of a measure: parameters where none are given, and rules and rounding of its own.

    `ours` is the measure of ours where the tool's name means another one here. `whole` says that the tool has the
    measure only without a cut-off, `only_at` that it has it only at this one. `log` says that the value of a query is
    the logarithm of ours (at least 0.00001), `aggregate` what the tool makes of the values of queries, where that is
    not what we make of them. `undefined_ties` says why the order of equal scores cannot be known in this measure.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    rules: Mapping[str, Any] = field(default_factory=dict)
    rounding: Rounding | None = None
    whole: bool = False
    only_at: int | None = None
    aggregate: str = ""
    ours: str = ""
    log: bool = False
    undefined_ties: str = ""

    def takes(self, cutoff: Any) -> bool:
        """Whether the tool has the measure at this cut-off."""
        return cutoff is None or not (self.whole or self.only_at not in (None, cutoff))


@dataclass(frozen=True, slots=True)
class Owned:
    """What a tool computes when it is asked for a measure: ours that is equal, the rules, the rounding per query."""

    measure: Measure
    protocol: Protocol
    rounding: Rounding | None
    aggregate: str = ""
    log: bool = False
    undefined_ties: str = ""

    def values(self, ours: Floats) -> Floats:
        """The values of queries as the tool takes them into the mean."""
        scaled = np.log(np.maximum(ours, FLOOR)) if self.log else ours
        return scaled if self.rounding is None else self.rounding.each(scaled)


@dataclass(frozen=True)
class Dialect:
    """Another tool's conventions: `measures` maps a measure's name to the tool's own definition.

    A name may end in `@` (only with a cut-off) and have parameters: `nDCG(gain=exp)@`. `call` is how the tool is asked
    for nDCG@{k}; `checked` is the version that was run, or read where it was not. `undefined_ties` says why the order
    of equal scores cannot be known, in rankings of more than `stable_up_to` documents, in every measure that does not
    say so itself.
    """

    name: str
    call: str
    checked: str
    why: str
    protocol: Protocol = DEFAULT
    measures: Mapping[str, Own] = field(default_factory=dict)
    round_query: Rounding | None = None
    round_mean: Rounding | None = None
    defect: str = ""
    undefined_ties: str = ""
    stable_up_to: int = 0

    def called(self, k: int = 10) -> str:
        """How the tool is asked for nDCG@k, or for what it has."""
        return self.call.replace("{k}", str(k))

    def with_rel(self, rel: float) -> Dialect:
        """The same with another smallest relevant grade, for the measures that ask what is relevant."""
        binary = {key: own for key, own in self.measures.items() if "rel" in own.parameters and _asks_relevance(key)}
        without = {
            key: replace(own, parameters={name: value for name, value in own.parameters.items() if name != "rel"})
            for key, own in binary.items()
        }
        return replace(self, protocol=replace(self.protocol, rel=rel), measures={**self.measures, **without})

    def written(self, text: str) -> Measure:
        """The measure that a text stands for, with what it names; where it needs a cut-off and names none, at the one
        that the tool takes: XGBoost's `pre` is `pre@32`."""
        name, given = resolve(text)
        known, own = MEASURES[name].parameters, self.measures.get(name, Own()).parameters
        needed = "k" in own and "k" not in given and known["k"].default is Parameter.empty
        return as_written(f"{text}@{own['k']}" if needed else text)

    def own(self, measure: Measure) -> Owned:
        """What the tool computes under this name; an error where there is no preset of such a measure."""
        own = self._definition(measure)
        if own is None:
            has = ", ".join(dict.fromkeys(_name(key, each) for key, each in self.measures.items()))
            raise MeasureError(f"there is no preset of {measure} for {self.name}, only of {has}")
        given = {**own.parameters, **dict(measure.parameters)}
        protocol = replace(self.protocol, **own.rules) if own.rules else self.protocol
        return Owned(
            measure_of(own.ours or measure.name, given), protocol, own.rounding or self.round_query, own.aggregate,
            own.log, own.undefined_ties or self.undefined_ties,
        )  # fmt: skip

    def protocols(self, measures: Iterable[Measure]) -> list[Protocol]:
        """The tool's own protocol, and those of its measures that have others. Where these measures agree about queries
        that the run does not answer, so does the first."""
        own = [self.own(each).protocol for each in measures]
        missing = {rules.missing for rules in own}
        main = replace(self.protocol, missing=missing.pop()) if len(missing) == 1 else self.protocol
        return list(dict.fromkeys([main, *own]))

    def has(self, measure: Measure) -> bool:
        """Whether there is a preset of this measure."""
        return self._definition(measure) is not None

    def _definition(self, measure: Measure) -> Own | None:
        cutoff = measure.definition.cutoff
        inner = Measure(measure.name, tuple(pair for pair in measure.parameters if pair[0] != cutoff))
        names = [str(inner), measure.name]
        if measure.cutoff is not None:
            names = [f"{inner}@", str(inner), f"{measure.name}@", measure.name]
        own = next((self.measures[name] for name in names if name in self.measures), None)
        return own if own is not None and own.takes(measure.cutoff) else None


def _asks_relevance(key: str) -> bool:
    return MEASURES[_measure_name(key)].needs != "gain"


def _measure_name(key: str) -> str:
    return key.partition("(")[0].rstrip("@")


def _name(key: str, own: Own) -> str:
    name = _measure_name(key)
    return name if own.only_at is None else f"{name}@{own.only_at}"


def measure_of(name: str, given: Mapping[str, Any]) -> Measure:
    """A measure with these parameters, those at their default left out."""
    known = Measure(name).definition.parameters
    kept = [(key, given[key]) for key in known if key in given and given[key] != known[key].default]
    return Measure(name, tuple(kept))
