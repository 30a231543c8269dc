"""Charts of systems: their means with intervals, how their values are distributed, and how groups of queries differ."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rankgauge.comparison.compare import Comparison
from rankgauge.comparison.verdict import NOT_SEPARABLE, percent
from rankgauge.errors import InputError
from rankgauge.measures.aggregates import aggregate
from rankgauge.show.charts.source import caption, comparison_of, counted, intervals_of, values_of
from rankgauge.show.charts.theme import LETTER, WIDTH, Frame, altair, data

if TYPE_CHECKING:
    from rankgauge.comparison.values import Values
    from rankgauge.measures import Measure
    from rankgauge.show.charts.source import Source

__all__ = ["BINS", "ROW", "Ridge", "distribution", "forest", "groups", "ridges", "system_axis"]

BINS: Final = 20
ROW: Final = 34  # pixels of a system's row


def forest(source: Source, measure: str | Measure | None = None, *, theme: str = "light", width: int = WIDTH) -> Any:
    """The mean of every system with its interval, best first.

    Of a comparison of every pair, the systems that are not separable from the best one are coloured.
    """
    alt, frame = altair(), Frame.of(theme, width)
    values = values_of(source, measure)
    alpha = source.settings.alpha if isinstance(source, Comparison) else 0.05
    rows = _means(values, alpha)
    top = _not_separable_from_best(source, measure, rows[0]["system"])
    for row in rows:
        row["top"] = top is None or row["system"] in top
    names = [row["system"] for row in rows]
    base = alt.Chart(data(rows)).encode(
        y=system_axis(frame, names),
        color=alt.condition("datum.top", alt.value(frame.theme.gain), alt.value(frame.theme.quiet)),
        tooltip=_interval_tooltip(),
    )
    x = alt.X("mean", type="quantitative", scale=alt.Scale(zero=False, nice=True), title=f"mean {values.measure}")
    ends = base.mark_rule(strokeWidth=3, strokeCap="round").encode(
        x=alt.X("low", type="quantitative", scale=alt.Scale(zero=False), title=f"mean {values.measure}"), x2="high"
    )
    points = base.mark_point(filled=True, size=120, opacity=1).encode(x=x)
    texts = base.mark_text(dy=-12, fontWeight=600).encode(
        x=x, text=alt.Text("mean", type="quantitative", format=".4f"), color=alt.value(frame.theme.text)
    )
    words = f"Lines: {percent(alpha)} t intervals of each mean"
    if top is not None and len(top) < len(rows):
        words += "; blue: the best, and what is not separable from it"
    title = f"{values.measure} of {counted(len(rows), 'systems')}"
    return frame.chart(
        [ends, points, texts], title=title, caption=caption(values, words), height=max(1, len(rows)) * ROW + 10
    )


def _means(values: Values, alpha: float) -> list[dict[str, Any]]:
    rows = [
        {"system": name, "mean": mean, "low": _finite(low), "high": _finite(high), "queries": len(values.queries)}
        for name, (mean, low, high) in intervals_of(values, alpha).items()
    ]
    return sorted(rows, key=lambda row: -float(row["mean"]))


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _not_separable_from_best(source: Source, measure: Any, best: str) -> set[str] | None:
    """The best system and those that the comparison could not tell from it; None where not every pair was compared."""
    if not isinstance(source, Comparison) or source.settings.baseline is not None:
        return None
    pairs = comparison_of(source, measure)[0].pairs
    alike = [{pair.a, pair.b} for pair in pairs if best in (pair.a, pair.b) and pair.decision == NOT_SEPARABLE]
    return {best}.union(*alike)


def system_axis(frame: Frame, names: list[str]) -> Any:
    """The names of systems at the side."""
    alt = altair()
    axis = alt.Axis(
        labelLimit=frame.label_limit, labelColor=frame.theme.text, ticks=False, domain=False, labelPadding=10
    )
    return alt.Y("system", type="nominal", sort=names, title=None, axis=axis)


def _interval_tooltip() -> list[Any]:
    alt = altair()
    numbers = [
        alt.Tooltip(name, type="quantitative", format=".4f", title=title)
        for name, title in (("mean", "mean"), ("low", "from"), ("high", "to"))
    ]
    return [alt.Tooltip("system", type="nominal"), *numbers, alt.Tooltip("queries", type="quantitative", format=",")]


# ---- distribution ----------------------------------------------------------------------------------------------------


def distribution(
    source: Source, measure: str | Measure | None = None, *, theme: str = "light", width: int = WIDTH
) -> Any:
    """How many queries have which value, system below system, with the mean and the median of each."""
    frame = Frame.of(theme, width)
    values = values_of(source, measure)
    rows = [
        Ridge(name, values.of(name), mean, median, f"mean {mean:.4f} · median {median:.4f}")
        for name in values.systems
        for mean, median in [(values.mean(name), aggregate("median", values.of(name), values.weights))]
    ]
    layers = ridges(frame, rows, _edges(values), title=values.measure, counted="queries", names=("mean", "median"))
    words = f"Bars: queries per step of {values.measure}. ◆ mean, | median"
    title = f"Distribution of {values.measure}"
    return frame.chart(layers, title=title, caption=caption(values, words), height=max(len(rows), 1) * 80)


class Ridge(NamedTuple):
    """A row of histograms: a system, its numbers, two of them that are marked (◆ and |), and words at the end."""

    system: str
    numbers: Any
    diamond: float
    tick: float
    words: str


def ridges(
    frame: Frame, rows: list[Ridge], edges: Any, *, title: str, counted: str, names: tuple[str, str]
) -> list[Any]:
    """Histograms below each other on one scale; `counted` says what the bars count, `names` what is marked."""
    alt = altair()
    bars, marks = _histograms(rows, edges, counted), _centres(rows, edges)
    domain = [float(edges[0]), float(edges[-1])]
    x = alt.X("from", type="quantitative", scale=alt.Scale(domain=domain, nice=False), title=title)
    none = alt.Axis(labels=False, ticks=False, domain=False, grid=False)
    scale = alt.Scale(domain=[-0.02, len(rows)], nice=False)
    y = alt.Y("foot", type="quantitative", scale=scale, axis=none, title=None)
    shapes = alt.Chart(data(bars)).mark_bar(color=frame.theme.gain, opacity=0.85, stroke=frame.theme.background)
    tooltip = [alt.Tooltip("system", type="nominal"), alt.Tooltip("range", type="nominal", title=title)]
    tooltip += [alt.Tooltip(counted, type="quantitative", format=",")]
    tooltip += [alt.Tooltip("share", type="quantitative", format=".1%", title="of all")]
    return [shapes.encode(x=x, x2="to", y=y, y2="head", tooltip=tooltip), *_centre_marks(frame, marks, x, y, names)]


def _centre_marks(frame: Frame, marks: list[dict[str, Any]], x: Any, y: Any, names: tuple[str, str]) -> list[Any]:
    """The two numbers that are marked, and the name of every system."""
    alt = altair()
    base = alt.Chart(data(marks))
    tooltip = [alt.Tooltip("system", type="nominal")]
    tooltip += [
        alt.Tooltip(field, type="quantitative", format=".4f", title=name)
        for field, name in zip(("diamond", "tick"), names, strict=True)
    ]
    feet = base.mark_rule(color=frame.theme.line).encode(x=x, x2="to", y=y)
    tick = base.mark_tick(color=frame.theme.loss, thickness=3, height=16, yOffset=-8).encode(
        x=alt.X("tick", type="quantitative"), y=y, tooltip=tooltip
    )
    diamond = base.mark_point(filled=True, shape="diamond", size=130, color=frame.theme.loss, opacity=1).encode(
        x=alt.X("diamond", type="quantitative"), y=y, tooltip=tooltip
    )
    beside = max(len(row["words"]) for row in marks) * 12 * LETTER + 12
    room = alt.expr(f"max(20, width - {beside:g})")  # what the words at the other end leave
    name = base.mark_text(align="left", baseline="top", fontWeight=600, limit=room).encode(
        x=x, y=alt.Y("top", type="quantitative"), text=alt.Text("system", type="nominal")
    )
    words = base.mark_text(align="right", baseline="top", color=frame.theme.quiet).encode(
        x=alt.X("to", type="quantitative"), y=alt.Y("top", type="quantitative"), text=alt.Text("words", type="nominal")
    )
    return [feet, tick, diamond, name, words]


def _edges(values: Values) -> Any:
    """Twenty steps from 0 to 1, or over the range of the values where they leave it."""
    low, high = min(0.0, float(values.table.min())), max(1.0, float(values.table.max()))
    if high > 1.0 or low < 0.0:
        low, high = float(values.table.min()), float(values.table.max())
    return np.linspace(low, high if high > low else low + 1.0, BINS + 1)


def _histograms(ridges: list[Ridge], edges: Any, counted: str) -> list[dict[str, Any]]:
    """A row per system and step that has a number; `foot` and `head` are where the bar stands."""
    counts = [np.histogram(each.numbers, edges)[0] for each in ridges]
    most, rows = max(int(each.max()) for each in counts), []
    for at, (ridge, count) in enumerate(zip(ridges, counts, strict=True)):
        foot = len(ridges) - 1 - at
        for step, number in enumerate(count.tolist()):
            if number:
                low, high = float(edges[step]), float(edges[step + 1])
                closed = "]" if step == len(count) - 1 else ")"
                rows.append({
                    "system": ridge.system, "from": low, "to": high, "range": f"[{low:.4g}, {high:.4g}{closed}",
                    counted: number, "share": number / len(ridge.numbers), "foot": foot,
                    "head": foot + 0.66 * number / most,
                })  # fmt: skip
    return rows


def _centres(ridges: list[Ridge], edges: Any) -> list[dict[str, Any]]:
    count = len(ridges)
    return [
        {
            "system": each.system, "diamond": each.diamond, "tick": each.tick, "from": float(edges[0]),
            "to": float(edges[-1]), "foot": count - 1 - at, "top": count - at - 0.1, "words": each.words,
        }
        for at, each in enumerate(ridges)
    ]  # fmt: skip


# ---- groups ----------------------------------------------------------------------------------------------------------


def groups(source: Source, measure: str | Measure | None = None, *, theme: str = "light", width: int = WIDTH) -> Any:
    """The mean of every system in every group of queries, with intervals."""
    alt, frame = altair(), Frame.of(theme, width)
    values = values_of(source, measure)
    if not values.groups:
        raise InputError("there are no groups of queries; evaluate with by= (--by FILE: a query and a group column)")
    alpha = source.settings.alpha if isinstance(source, Comparison) else 0.05
    rows = []
    for group, mask in values.groups.items():
        only = values.only(mask)
        label = f"{group}\n{counted(len(only.queries))}"
        rows += [row | {"group": group, "label": label} for row in _means(only, alpha)]
    labels, names = list(dict.fromkeys(row["label"] for row in rows)), values.systems
    legend = frame.legend(names, symbol=None)
    axis = alt.Axis(
        labelLimit=frame.label_limit,
        labelColor=frame.theme.text,
        ticks=False,
        domain=False,
        grid=False,
        labelExpr="split(datum.label, '\\n')",
    )
    base = alt.Chart(data(rows)).encode(
        y=alt.Y("label", type="nominal", sort=labels, title=None, axis=axis, scale=alt.Scale(paddingInner=0.25)),
        yOffset=alt.YOffset("system", type="nominal", sort=names),
        color=alt.Color("system", type="nominal", scale=frame.colours(names), legend=legend, sort=names),
        tooltip=[alt.Tooltip("group", type="nominal"), *_interval_tooltip()],
    )
    x = alt.X("mean", type="quantitative", scale=alt.Scale(zero=False), title=f"mean {values.measure}")
    ends = base.mark_rule(strokeWidth=2, strokeCap="round").encode(x=alt.X("low", type="quantitative"), x2="high")
    shape = alt.Shape("system", type="nominal", scale=frame.shapes(names), legend=legend, sort=names)
    points = base.mark_point(filled=True, size=70, opacity=1).encode(x=x, shape=shape)
    height = len(labels) * max(46, 12 * len(names) + 14)
    words = f"Lines: {percent(alpha)} t intervals of each mean"
    title = f"{values.measure} by group of queries"
    return frame.chart([ends, points], title=title, caption=caption(values, words), height=height)
