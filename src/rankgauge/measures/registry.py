"""The table of measures, and a measure as a value.

A measure is one decorated function from Hits to one value per query. Its signature is its parameter list (what may
stand before `*` is what `@` sets), its docstring its help.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from rankgauge.errors import MatchError, MeasureError
from rankgauge.matching.hits import sum_by
from rankgauge.measures.gains import gain_function, number_text

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats
    from rankgauge.matching.hits import Hits

    Function = Callable[..., Floats]

__all__ = ["MEASURES", "AnyMeasure", "Definition", "Measure", "averaging", "measure"]

AGGREGATES: Final = ("mean", "sum", "geometric", "none")
NEEDS: Final = ("relevant", "gain", "nothing")


@dataclass(frozen=True, eq=False)
class Definition:
    """A row of the table: the function, and what the evaluation must know about it.

    `needs` says what makes a query empty for it: no "relevant" document, no "gain" in the ideal, or "nothing" at all.
    `bounded` measures lie between 0 and 1, so an empty query may count 1. `averages` tells whether the expectation over
    tie orders is exact, `unless` with which parameters it is not. `aggregate` is how queries become one number.
    """

    name: str
    function: Function
    needs: str
    bounded: bool
    averages: bool
    unless: Mapping[str, Any]
    aggregate: str
    also: tuple[str, ...]

    @cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """Name → parameter, without the hits."""
        return dict(list(inspect.signature(self.function).parameters.items())[1:])

    @property
    def cutoff(self) -> str | None:
        """The parameter that `@` sets."""
        first = next(iter(self.parameters.values()), None)
        return first.name if first is not None and first.kind is first.POSITIONAL_OR_KEYWORD else None

    @cached_property
    def own_aggregate(self) -> str:
        """The name of the aggregate that is the measure's value."""
        return {"geometric": "geometric_mean", "none": "mean"}.get(self.aggregate, self.aggregate)

    @property
    def summary(self) -> str:
        """The first line of the help."""
        return self.help.partition("\n")[0]

    @property
    def help(self) -> str:
        """The docstring."""
        return inspect.getdoc(self.function) or self.name


MEASURES: Final[dict[str, Definition]] = {}


def measure(
    *,
    name: str | None = None,
    needs: str = "relevant",
    bounded: bool = True,
    averages: bool = False,
    unless: Mapping[str, Any] | None = None,
    aggregate: str = "mean",
    also: tuple[str, ...] = (),
) -> Callable[[Function], Function]:
    """Put a function into the table of measures.

    >>> @measure(needs="nothing")
    ... def Depth(hits, k=None):
    ...     "How many documents were retrieved."
    ...     return hits.retrieved.astype(float)
    """
    if needs not in NEEDS or aggregate not in AGGREGATES:
        raise MeasureError(f"needs is one of {NEEDS}, aggregate one of {AGGREGATES}; got {needs!r} and {aggregate!r}")

    def add(function: Function) -> Function:
        known = MEASURES.get(name or function.__name__)
        if known is not None and known.function.__module__.startswith("rankgauge.") and known.function is not function:
            raise MeasureError(f"{known.name} is a measure of rankgauge already; give yours another name")
        definition = Definition(
            name or function.__name__, function, needs, bounded, averages, unless or {}, aggregate,
            (function.__name__, *also),
        )  # fmt: skip
        MEASURES[definition.name] = definition
        return function

    return add


def averaging() -> list[str]:
    """The measures whose expectation over tie orders is exact."""
    return [name for name, definition in MEASURES.items() if definition.averages]


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure with its parameters: the same as its text, `nDCG(gain=exp)@10`."""

    name: str
    parameters: tuple[tuple[str, Any], ...] = ()

    def __hash__(self) -> int:
        """That of the name, which Python keeps: there are few measures of one name, and they are looked up often."""
        return hash(self.name)

    @property
    def definition(self) -> Definition:
        """Its row in the table."""
        return MEASURES[self.name]

    @property
    def cutoff(self) -> Any:
        """What stands behind `@`, or None."""
        return dict(self.parameters).get(self.definition.cutoff or "")

    @property
    def averages(self) -> bool:
        """Whether its expectation over tie orders is exact."""
        return self.definition.averages and not self.definition.unless.items() & set(self.parameters)

    def __str__(self) -> str:
        cutoff = self.definition.cutoff
        inner = ",".join(f"{name}={_text(value)}" for name, value in self.parameters if name != cutoff)
        after = "".join(f"@{_text(value)}" for name, value in self.parameters if name == cutoff)
        return f"{self.name}({inner}){after}" if inner else f"{self.name}{after}"

    def describe(self) -> str:
        """What it is, its formula, and every parameter that has a value, in one line."""
        values = {name: each.default for name, each in self.definition.parameters.items()} | dict(self.parameters)
        shown = ", ".join(f"{name}={_text(value)}" for name, value in values.items() if value is not None)
        formula = next((line for line in self.definition.help.splitlines() if line.startswith("Formula:")), "")
        return " ".join(part for part in (self.definition.summary, formula, f"[{shown}]" if shown else "") if part)

    def __call__(self, hits: Hits) -> Floats:
        """One value per query; NaN where the protocol leaves a query out."""
        definition = self.definition
        if hits.averaged and not self.averages:
            raise MeasureError(f"{self} has no exact average over ties; these have: {', '.join(averaging())}")
        values = np.asarray(definition.function(hits, **dict(self.parameters)))
        if values.shape != (len(hits.queries),):
            raise MeasureError(
                f"{self} gave values of shape {values.shape}; expected one per query, {len(hits.queries)}"
            )
        return values if hits.protocol.empty == "zero" else self._without_empty(values, hits)

    def _without_empty(self, values: Floats, hits: Hits) -> Floats:
        """The protocol's word on queries that have nothing to find: they count 1, are left out, or are an error."""
        empty = self.empty(hits)
        if hits.protocol.empty == "skip":
            return np.where(empty, np.nan, values)
        if hits.protocol.empty == "error" and empty.any():
            query = hits.queries[int(empty.argmax())]
            raise MatchError(
                f"query {query!r} has no relevant documents, and empty='error' takes no such query: {self}"
            )
        if hits.protocol.empty == "one-if-unanswered":
            empty = empty & (hits.retrieved == 0)
        ones = self.definition.bounded and hits.protocol.empty != "error"
        return np.where(empty, 1.0, values) if ones else values

    def empty(self, hits: Hits) -> Bools:
        """The queries that have nothing to find, as far as this measure goes."""
        given = dict(self.parameters)
        if self.definition.needs == "relevant":
            nothing: Bools = hits.relevant_judged(given.get("rel")) == 0
        elif self.definition.needs == "gain" and hits.signed and "discount" in self.definition.parameters:
            nothing = ~hits.divisible(MEASURES["IDCG"].function(hits, **given))
        elif self.definition.needs == "gain":
            gains = gain_function(given.get("gain", "linear"), given.get("rel"))(hits.judgment_grade)
            nothing = sum_by(hits.judgment_query, np.maximum(gains, 0), len(hits.queries)) == 0
        else:
            nothing = np.zeros(len(hits.queries), bool)
        return nothing


class Written(typing.Protocol):
    """A measure of ir_measures: it takes its cut-off by @, and its text is one that we read."""

    def __matmul__(self, cutoff: Any, /) -> Any: ...


AnyMeasure: TypeAlias = str | Measure | Written


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return number_text(value)
    return ";".join(map(_text, value)) if isinstance(value, tuple) else str(value)
