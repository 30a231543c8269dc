"""The chart of a plan: the smallest difference that a number of queries shows, with what was asked marked on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.errors import counted
from rankgauge.show.charts.theme import WIDTH, Frame, altair, data, told

if TYPE_CHECKING:
    from rankgauge.comparison.plan import Plan

__all__ = ["plan"]

STEPS: Final = 120
MARKS: Final = 6  # answers, beyond which the tables have to do


def plan(source: Plan, *, theme: str = "light", width: int = WIDTH) -> Any:
    """The minimum detectable effect by number of queries, a curve for each question; points are what was asked."""
    alt, frame = altair(), Frame.of(theme, width)
    numbers, most = _numbers(source), _most(source)
    x = alt.X("queries:Q", scale=alt.Scale(type="log", nice=False)).axis(tickCount=5, format=",d", grid=False)
    y = alt.Y("size:Q", title="size, in units of the measure", scale=alt.Scale(domain=[0, most]))
    names = list(source.questions)
    colour, tooltip = frame.colour("question", names), [told("question"), told("queries", ","), told("size", ".4~g")]
    rows = [
        {"question": name, "queries": queries, "size": size}
        for name in names
        for queries, size in zip(numbers, source.curve(name, numbers), strict=True)
    ]
    lines = alt.Chart(data(rows)).mark_line(strokeWidth=2.5, clip=True)
    layers = [*_band(frame, source, numbers, x), lines.encode(x=x, y=y, color=colour, tooltip=tooltip)]
    layers += _marks(frame, source, x, y, colour)
    return frame.chart(layers, "Sensitivity by number of queries", _words(source), (280, 380))


def _asked(source: Plan) -> list[dict[str, Any]]:
    """What was asked: a size and the queries that it needs, or a set and the size that it shows."""
    sizes = [(each.question, each.queries, each.size) for each in source.answers]
    sizes += [(question, queries, size) for queries, each in source.sets.items() for question, size in each.items()]
    return [{"question": question, "queries": queries, "size": size} for question, queries, size in sizes]


def _numbers(source: Plan) -> list[int]:
    """Numbers of queries, evenly spread from below the smallest that was asked for to above the largest."""
    asked = [each["queries"] for each in _asked(source)]
    low = max(5, min(asked) // 3)
    return sorted({round(number) for number in np.geomspace(low, max(max(asked) * 2, low * 50), STEPS).tolist()})


def _most(source: Plan) -> float:
    """The largest size that the picture shows."""
    first = _numbers(source)[:1]
    top = max(max(source.curve(question, first)) for question in source.questions)
    return float(min(1.4 * max(each["size"] for each in _asked(source)), top))


def _band(frame: Frame, source: Plan, numbers: list[int], x: Any) -> list[Any]:
    """How far off the first curve may be, because the pilot is a sample."""
    if not source.deviation.interval:
        return []
    alt = altair()
    low, high = (source.curve(source.questions[0], numbers, end) for end in source.deviation.interval)
    rows = [{"queries": n, "low": a, "high": b} for n, a, b in zip(numbers, low, high, strict=True)]
    area = alt.Chart(data(rows)).mark_area(color=frame.theme.systems[0], opacity=0.14, clip=True)
    return [area.encode(x=x, y="low:Q", y2="high")]


def _marks(frame: Frame, source: Plan, x: Any, y: Any, colour: Any) -> list[Any]:
    alt, asked = altair(), _asked(source)
    if len(asked) > MARKS:
        return []
    said = [each | {"words": f"{each['size']:.3g}: {counted(each['queries'], 'query', 'queries')}"} for each in asked]
    base = alt.Chart(data(said)).encode(x=x, y=y, color=colour)
    guide = alt.Chart(data(said)).mark_rule(strokeDash=[3, 5]).encode(color=colour)
    return [
        guide.encode(x="queries:Q", y="size:Q", y2=alt.Y2(datum=0)),
        guide.encode(x="queries:Q", y="size:Q", x2=alt.X2(datum=_numbers(source)[0])),
        base.mark_point(filled=True, size=110, opacity=1),
        base.mark_text(align="left", dx=9, dy=-9, fontWeight=600).encode(text="words:N"),
    ]


def _words(source: Plan) -> str:
    shade = f"Shade: {source.questions[0]}, with the deviation at either end of its interval."
    return " ".join([source.deviation.sentence, *source.meanings(), *([shade] if source.deviation.interval else [])])
