"""Charts along a ranking: a measure against its cut-off, and precision against recall."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from rankgauge.comparison.values import values_of_results
from rankgauge.errors import InputError, MeasureError
from rankgauge.measures import MEASURES, Measure, parse
from rankgauge.show.charts.source import caption, results_of
from rankgauge.show.charts.theme import WIDTH, Frame, altair, data, told

if TYPE_CHECKING:
    from rankgauge.comparison.values import Values
    from rankgauge.result import Result
    from rankgauge.show.charts.source import Asked, Source

__all__ = ["at_k", "precision_recall"]

DEEPEST: Final = 100
RECALLS: Final = tuple(tenth / 10 for tenth in range(11))
# Result → what was measured for a chart of it: a page draws the same chart four times.
MEASURED: Final[WeakKeyDictionary[Result, dict[Measure, Any]]] = WeakKeyDictionary()


def at_k(
    source: Source, measure: Asked = None, *, last_k: int = DEEPEST, theme: str = "light", width: int = WIDTH
) -> Any:
    """The mean of a measure at every cut-off from 1 to 100 (or `last_k`), a line per system."""
    alt, frame = altair(), Frame.of(theme, width)
    results = results_of(source)
    asked = _asked(results, measure)
    if last_k < 2:
        raise InputError(f"last_k={last_k!r}: give the last cut-off, 2 or more")
    family = {k: _cut(asked, k) for k in range(1, last_k + 1)}
    rows, values = _along(results, family, "k")
    name = str(_cut(asked, None))
    x = alt.X("k:Q", scale=alt.Scale(type="log", domain=[1, last_k], nice=False), title="cut-off k")
    x = x.axis(values=[k for k in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if k <= last_k], format="d", grid=False)
    layers = _lines(frame, rows, list(results), x, f"mean {name}@k", "k")
    if isinstance(asked.cutoff, int) and asked.cutoff <= last_k:
        here = alt.Chart(data([{"k": asked.cutoff}])).mark_rule(color=frame.theme.quiet, strokeDash=[5, 4])
        layers.insert(0, here.encode(x=x))
    words = f"Mean at every k from 1 to {last_k}"
    said = caption(values, words, definition=values.definition.replace("[k=1, ", "[").replace("[k=1]", ""))
    return frame.chart(layers, f"{name}@k", said, (260, 320))


def precision_recall(source: Source, measure: Asked = None, *, theme: str = "light", width: int = WIDTH) -> Any:
    """Interpolated precision at recall 0, 0.1, … 1, the mean over queries, a line per system.

    `measure` may carry the parameters of IPrec (`IPrec(rel=2)@0`); any other measure is none of this chart's business.
    """
    alt, frame = altair(), Frame.of(theme, width)
    results = results_of(source)
    given = parse(str(measure)) if measure is not None else None
    asked = given if given is not None and given.name == "IPrec" else parse("IPrec@0")
    rows, values = _along(results, {recall: _cut(asked, recall) for recall in RECALLS}, "recall")
    x = alt.X("recall:Q", scale=alt.Scale(domain=[0, 1]), title="recall").axis(grid=False)
    layers = _lines(frame, rows, list(results), x, "interpolated precision", "recall", points=True)
    words = "The mean over queries at 11 levels of recall, 0 to 1"
    said = caption(values, words, definition=MEASURES["IPrec"].summary)
    return frame.chart(layers, "Precision and recall", said, min(frame.width - 60, 380))


def _asked(results: dict[str, Result], measure: Any) -> Measure:
    """The measure whose cut-off is varied: the one asked for, or the first that has one."""
    having = [each for each in next(iter(results.values())).measures if each.definition.cutoff == "k"]
    found = parse(str(measure)) if measure is not None else having[0] if having else parse("nDCG@10")
    if found.definition.cutoff != "k":
        raise MeasureError(f"{found} has no cut-off k to vary; take nDCG@10 or R@100")
    return found


def _cut(measure: Measure, cutoff: Any) -> Measure:
    """The same measure at another cut-off (None: without one)."""
    name = measure.definition.cutoff
    kept = tuple((each, value) for each, value in measure.parameters if each != name)
    text = str(replace(measure, parameters=kept))
    return replace(measure, parameters=kept) if cutoff is None else parse(f"{text}@{cutoff}")


def _along(results: dict[str, Result], family: dict[Any, Measure], name: str) -> tuple[list[dict[str, Any]], Values]:
    """A row per system and point; every measure is computed from the hits that are there already."""
    measured = {system: _measured(result, list(family.values())) for system, result in results.items()}
    (first,) = values_of_results(measured, [next(iter(family.values()))]).values()
    rows = []
    for system, result in measured.items():
        place = {query: at for at, query in enumerate(result.query_ids)}
        index = np.array([place[query] for query in first.queries])  # the queries that count for every system
        for at, each in family.items():
            values = result._selected(result.measured[each])[index]
            rows.append({"system": system, name: at, "value": float(np.average(values, weights=first.weights))})
    return rows, first


def _measured(result: Result, measures: list[Measure]) -> Result:
    """The result with other measures, by the same rules and in the same dialect; each is computed once."""
    known = MEASURED.setdefault(result, {})
    for measure in measures:
        if measure not in known:
            known[measure] = _values(result, measure)
    return replace(result, measured={measure: known[measure] for measure in measures})


def _values(result: Result, measure: Measure) -> Any:
    if result.dialect is None:
        return measure(result.hits)
    own = result.dialect.own(measure)
    if own.protocol != result.protocol:
        raise MeasureError(f"{result.dialect.name} has rules of its own for {measure}; leave the dialect out here")
    return np.asarray(own.values(own.measure(result.hits)))


def _lines(
    frame: Frame, rows: list[dict[str, Any]], names: list[str], x: Any, title: str, field: str, *, points: bool = False
) -> list[Any]:
    """A line per system; the one nearest to the pointer tells its number."""
    alt = altair()
    near = alt.selection_point(
        name="near", nearest=True, on="pointerover", fields=[field], empty=False, clear="pointerout"
    )
    base = alt.Chart(data(rows)).encode(
        x=x,
        y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=points)),
        color=frame.colour("system", names),
        tooltip=[told("system"), alt.Tooltip(f"{field}:Q"), told("value", ".4f")],
    )
    lines = base.mark_line(strokeWidth=2.5, strokeJoin="round").encode(strokeDash=frame.dash("system", names))
    opacity = alt.value(1) if points else alt.condition(near, alt.value(1), alt.value(0))
    dots = base.mark_point(filled=True, size=45).encode(opacity=opacity).add_params(near)
    return [lines, dots]
