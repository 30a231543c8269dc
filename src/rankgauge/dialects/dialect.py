"""A dialect as a frozen value."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgauge.errors import MeasureError
from rankgauge.measures import Measure
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

    `whole` says that the tool has the measure only without a cut-off, `only_at` that it has it only at this one.
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)
    rules: Mapping[str, Any] = field(default_factory=dict)
    rounding: Rounding | None = None
    whole: bool = False
    only_at: int | None = None

    def takes(self, cutoff: Any) -> bool:
        """Whether the tool has the measure at this cut-off."""
        return cutoff is None or not (self.whole or self.only_at not in (None, cutoff))


@dataclass(frozen=True, slots=True)
class Owned:
    """What a tool computes when it is asked for a measure: ours that is equal, the rules, the rounding per query."""

    measure: Measure
    protocol: Protocol
    rounding: Rounding | None

    def rounded(self, values: Floats) -> Floats:
        """The values of queries as the tool takes them into the mean."""
        return values if self.rounding is None else self.rounding.each(values)


@dataclass(frozen=True)
class Dialect:
    """Another tool's conventions: `measures` maps a measure's name to the tool's own definition.

    A name may end in `@` (only with a cut-off) and have parameters: `nDCG(gain=exp)@`. `checked` is the version that
    was run, or read where it was not. `undefined_ties` says why the order of equal scores cannot be known, in
    rankings of more than `stable_up_to` documents.
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

    def own(self, measure: Measure) -> Owned:
        """What the tool computes under this name; an error where it has no such measure."""
        own = self._definition(measure)
        if own is None:
            has = ", ".join(dict.fromkeys(_name(key, each) for key, each in self.measures.items()))
            raise MeasureError(f"{self.name} has no {measure}; it has {has}")
        given = {**own.parameters, **dict(measure.parameters)}
        protocol = replace(self.protocol, **own.rules) if own.rules else self.protocol
        return Owned(measure_of(measure.name, given), protocol, own.rounding or self.round_query)

    def has(self, measure: Measure) -> bool:
        """Whether the tool has this measure."""
        return self._definition(measure) is not None

    def _definition(self, measure: Measure) -> Own | None:
        cutoff = measure.definition.cutoff
        inner = Measure(measure.name, tuple(pair for pair in measure.parameters if pair[0] != cutoff))
        names = [str(inner), measure.name]
        if measure.cutoff is not None:
            names = [f"{inner}@", str(inner), f"{measure.name}@", measure.name]
        own = next((self.measures[name] for name in names if name in self.measures), None)
        return own if own is not None and own.takes(measure.cutoff) else None


def _name(key: str, own: Own) -> str:
    name = key.partition("(")[0].rstrip("@")
    return name if own.only_at is None else f"{name}@{own.only_at}"


def measure_of(name: str, given: Mapping[str, Any]) -> Measure:
    """A measure with these parameters, those at their default left out."""
    known = Measure(name).definition.parameters
    kept = [(key, given[key]) for key in known if key in given and given[key] != known[key].default]
    return Measure(name, tuple(kept))
