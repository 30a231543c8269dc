"""What charts are made from: a Result or several, a Comparison, or Values, brought into the form that a chart needs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from rankgauge.comparison.compare import Comparison, Settings, compare_results, compare_values
from rankgauge.comparison.comparison import Compared
from rankgauge.comparison.values import Values, values_of_results
from rankgauge.errors import InputError, counted
from rankgauge.read.named import named
from rankgauge.result import Result

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats
    from rankgauge.measures import Measure

    Source: TypeAlias = Comparison | Values | Result | Sequence[Result] | Mapping[str, Result]
    Asked: TypeAlias = str | Measure | None  # the measure of a chart; None is the first
    Two: TypeAlias = tuple[str, str] | None

__all__ = ["caption", "comparison_of", "defined", "ends_of", "kind_of", "pair_of", "results_of", "values_of"]


def results_of(source: Source) -> dict[str, Result]:
    """System → Result; what has only values of one measure is refused."""
    listed = source.values() if isinstance(source, Mapping) and not isinstance(source, Result) else source
    several = [listed] if isinstance(listed, Result) else list(listed) if isinstance(listed, Iterable) else []
    if several and all(isinstance(each, Result) for each in several):
        return named(source if isinstance(source, Mapping) else several)
    raise InputError(
        f"this chart needs Results, which know the rankings; got {kind_of(source)}. Evaluate the runs: "
        "{'a': rankgauge.evaluate(judgments, run), …}"
    )


def values_of(source: Source, measure: Asked = None) -> Values:
    """The values of one measure: the one asked for, or the first."""
    if isinstance(source, Values):
        if measure is not None and str(measure) != source.measure:
            raise InputError(f"these are values of {source.measure}, not of {measure}")
        return source
    if isinstance(source, Comparison):
        return (source.first if measure is None else source[str(measure)]).values
    results = results_of(source)
    first = next(iter(results.values())).measures[0]
    (values,) = values_of_results(results, [measure or first]).values()
    return values


def comparison_of(source: Source, measure: Asked = None) -> tuple[Compared, Settings]:
    """Every pair of systems by one measure, compared with the settings of the comparison or the usual ones."""
    if isinstance(source, Comparison):
        return (source.first if measure is None else source[str(measure)]), source.settings
    values = values_of(source, measure)
    if len(values.systems) < 2:
        raise InputError(f"this chart compares systems, and there is only one, {values.systems[0]}; give two or more")
    settings = Settings()
    if isinstance(source, Values):
        return compare_values({values.measure: values}, settings).first, settings
    return compare_results(results_of(source), settings, [values.measure]).first, settings


def pair_of(source: Source, values: Values, pair: Two) -> tuple[str, str]:
    """The two systems of a chart, as (other, baseline): those asked for, the first pair, or the first two."""
    if len(values.systems) < 2:
        raise InputError(f"this chart needs two systems, and there is only one, {values.systems[0]}; give another run")
    if pair is None:
        if isinstance(source, Comparison):
            return source.pairs[0].a, source.pairs[0].b
        return values.systems[1], values.systems[0]
    a, b = (values.systems[values.index(name)] for name in pair)
    if a == b:
        raise InputError(f"{a} is given twice; name two systems of {', '.join(values.systems)}")
    return a, b


def caption(values: Values, *more: str, definition: str | None = None) -> str:
    """What stands below the title: the number of queries, whatever else, and what the measure is."""
    counts = counted(len(values.queries), "query", "queries")
    if values.dropped:
        counts += f" ({len(values.dropped):,} left out)"
    weighted = "weighted by query" if values.weights is not None else ""
    if values.design is not None:
        weighted = f"means per {values.design.per}, of the sample {values.design.sample.source}"
    said = definition if definition is not None else values.definition
    parts = [counts, weighted, *more, defined(said) if said else f"{values.measure}: values from a table"]
    return ". ".join(part.rstrip(".") for part in parts if part) + "."


def defined(definition: str) -> str:
    """The definition without its formula and without what is not set: it must fit below a title."""
    short = re.sub(r"\s*Formula: .*?(?= \[[^\[\]]*\]$|$)", "", definition)
    set_only = re.sub(r"(, )?\w+=None(?=[,\]])", "", short).replace("[, ", "[").replace(" []", "")
    return set_only.replace(". [", " [")


def ends_of(numbers: Floats) -> tuple[float, float]:
    """The ends of a scale: 0 to 1, or the range of the numbers where they leave it."""
    low, high = float(numbers.min()), float(numbers.max())
    if low >= 0 and high <= 1:
        return 0.0, 1.0
    return low, high if high > low else low + 1.0


def kind_of(source: Any) -> str:
    """What was given instead, for a message."""
    if source is None or source in ([], {}):
        return "nothing"
    name = type(source).__name__
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
