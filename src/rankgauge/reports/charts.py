"""Sections of charts: the pictures of `rankgauge.charts`, as blocks of a page that has its own titles and themes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import astuple
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import MeasureError
from rankgauge.reports.blocks import Block, Chart, Text
from rankgauge.show import charts

if TYPE_CHECKING:
    from rankgauge.reports.facts import Facts

BETWEEN: Final = 0.25  # the share of a chart of groups that is left free between them

__all__ = [
    "alignment_chart",
    "available",
    "chart",
    "comparison_charts",
    "dark_of_light",
    "depth_charts",
    "funnel_charts",
    "group_charts",
    "query_charts",
]


def available() -> bool:
    """Whether the libraries that charts need are installed."""
    from importlib.util import find_spec

    return find_spec("altair") is not None and find_spec("vl_convert") is not None


def dark_of_light() -> dict[str, str]:
    """Colour of the light theme → the same of the dark one: all that differs between the two."""
    light, dark = (
        [
            colour
            for shades in astuple(charts.THEMES[name])[1:]
            for colour in ([shades] if isinstance(shades, str) else shades)
        ]
        for name in ("light", "dark")
    )
    return dict(zip(light, dark, strict=True))


def comparison_charts(facts: Facts) -> Iterator[Block]:
    """The systems beside each other, and what this set of queries could tell apart."""
    if facts.wanted.charts and not available():
        yield Text("Charts need altair and vl-convert: pip install 'rankgauge[charts]'.", "note")
    source = facts.comparison if facts.comparison is not None else facts.first
    yield from chart(facts, "forest", charts.forest, source)
    if facts.comparison is not None:
        yield from chart(facts, "detectable", charts.detectable, facts.comparison)
    yield from chart(facts, "distribution", charts.distribution, facts.first)


def depth_charts(facts: Facts) -> Iterator[Block]:
    """The measure at every cut-off, and precision against recall."""
    if any(each.definition.cutoff == "k" for each in facts.wanted.measures):
        yield from chart(facts, "at-k", charts.at_k, facts.results)
    yield from chart(facts, "precision-recall", charts.precision_recall, facts.results)


def group_charts(facts: Facts) -> Iterator[Block]:
    """The systems in every group of queries."""
    source = facts.comparison if facts.comparison is not None else facts.first
    yield from chart(facts, "groups", charts.groups, source)


def query_charts(facts: Facts) -> Iterator[Block]:
    """The two systems in focus, query by query."""
    if len(facts.focus) == 2:
        yield from chart(facts, "differences", charts.differences, facts.first, pair=facts.focus)
        yield from chart(facts, "scatter", charts.scatter, facts.first, pair=facts.focus)


def alignment_chart(facts: Facts) -> Iterator[Block]:
    """Offline differences against online ones."""
    yield from chart(facts, "alignment", charts.alignment, facts.wanted.experiments)


def funnel_charts(facts: Facts) -> Iterator[Block]:
    """The parts of two stages, ceilings against values, and the depth curve."""
    from rankgauge.show.charts.funnel import CHARTS

    for key, draw in CHARTS.items():
        yield from chart(facts, key, draw, facts.funnel)


def chart(facts: Facts, key: str, make: Callable[..., Any], source: Any, **options: Any) -> Iterator[Block]:
    """A chart without its title and caption, which stand on the page; none where none are wanted."""
    if not facts.wanted.charts or not available():
        return
    try:
        spec: dict[str, Any] = make(source, **options).to_dict(validate=False)
    except MeasureError as error:  # a measure that this chart cannot show
        yield Text(f"No chart of this: {error}.", "note")
        return
    title = spec.pop("title")
    spec.get("config", {}).pop("background", None)
    spec |= {"background": "transparent", "padding": 4}
    if isinstance(spec.get("height"), dict):  # so much for each bar: a page must know how much that is in all
        bars = len(facts.first.groups) * len(facts.first.systems)
        spec["height"] = round(bars * spec["height"]["step"] / (1 - BETWEEN))
    spec.pop("$schema", None)
    yield Chart(key, " ".join(title["text"]), " ".join(title.get("subtitle", [])), spec)
