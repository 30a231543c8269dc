"""Charts of systems: their means with intervals, how their values are distributed, and how groups of queries differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rankgauge.comparison.compare import Comparison
from rankgauge.comparison.verdict import NOT_SIGNIFICANT, percent
from rankgauge.errors import InputError, counted
from rankgauge.measures.aggregates import aggregate
from rankgauge.show.charts.source import caption, comparison_of, ends_of, values_of
from rankgauge.show.charts.theme import LETTER, WIDTH, Frame, altair, data, told
from rankgauge.shown import clean

if TYPE_CHECKING:
    from rankgauge.comparison.values import Values
    from rankgauge.show.charts.source import Asked, Source

__all__ = ["BINS", "ROW", "Ridge", "distribution", "forest", "groups", "intervals", "ridges", "system_axis"]

BINS: Final = 20
ROW: Final = 34  # pixels of a system's row


def forest(source: Source, measure: Asked = None, *, theme: str = "light", width: int = WIDTH) -> Any:
    """The mean of every system with its interval, best first.

    Of a comparison of every pair, the systems that are not significantly different from the best one are coloured.
    """
    alt, frame = altair(), Frame.of(theme, width)
    values = values_of(source, measure)
    alpha = source.settings.alpha if isinstance(source, Comparison) else 0.05
    rows = _means(values, alpha)
    top = _level_with_best(source, measure, rows[0]["system"])
    for row in rows:
        row["top"] = top is None or row["system"] in top
    names = [row["system"] for row in rows]
    base = alt.Chart(data(rows)).encode(
        y=system_axis(frame, names),
        color=alt.condition("datum.top", alt.value(frame.theme.gain), alt.value(frame.theme.quiet)),
        tooltip=_interval_tooltip(),
    )
    ends, points, texts = intervals(base, "mean", f"mean {values.measure}", thick=3, size=120)
    texts = texts.encode(color=alt.value(frame.theme.text))
    words = _interval_words(values, alpha, rows)
    if top is not None and len(top) < len(rows):
        words += "; blue: the best, and what is not significantly different from it"
    title, height = f"{values.measure} of {counted(len(rows), 'system')}", max(1, len(rows)) * ROW + 10
    return frame.chart([ends, points, texts], title, caption(values, words), height)


def _means(values: Values, alpha: float) -> list[dict[str, Any]]:
    rows = [
        {"system": name, "mean": mean, "low": clean(low), "high": clean(high), "queries": len(values.queries)}
        for name, (mean, low, high) in values.intervals(alpha).items()
    ]
    return sorted(rows, key=lambda row: -float(row["mean"]))


def _interval_words(values: Values, alpha: float, rows: Sequence[Mapping[str, Any]]) -> str:
    """What the lines of a chart are; too few queries have none."""
    lines, lacking = f"Lines: {percent(alpha)} t intervals of each mean", sum(row["low"] is None for row in rows)
    if lacking == len(rows):
        return f"No intervals: {values.lacking}"
    return f"{lines}; none where queries are too few" if lacking else lines


def _level_with_best(source: Source, measure: Any, best: str) -> set[str] | None:
    """The best system and those that the comparison could not tell from it; None where not every pair was compared."""
    if not isinstance(source, Comparison) or source.settings.baseline is not None:
        return None
    pairs = comparison_of(source, measure)[0].pairs
    alike = [
        {pair.a, pair.b} for pair in pairs if best in (pair.a, pair.b) and pair.adjusted_decision == NOT_SIGNIFICANT
    ]
    return {best}.union(*alike)


def system_axis(frame: Frame, names: list[str]) -> Any:
    """The names of systems at the side."""
    return altair().Y("system:N", sort=names, title=None, axis=frame.names(names, labelPadding=10))


def _interval_tooltip() -> list[Any]:
    numbers = [told("mean", ".4f"), told("low", ".4f", "from"), told("high", ".4f", "to")]
    return [told("system"), *numbers, told("queries", ",")]


def intervals(
    base: Any, field: str, title: str, *, thick: int, size: int, opacity: float = 1.0, format: str = ".4f"
) -> list[Any]:
    """From low to high as a line, the value on it as a point, and its number above."""
    alt = altair()
    scale = alt.Scale(zero=False)
    x = alt.X(field, type="quantitative", scale=scale, title=title)
    line = base.mark_rule(strokeWidth=thick, strokeCap="round" if opacity == 1 else "butt", opacity=opacity)
    return [
        line.encode(x=alt.X("low:Q", scale=scale, title=title), x2="high"),
        base.mark_point(filled=True, size=size, opacity=1).encode(x=x),
        base.mark_text(dy=-12, fontWeight=600).encode(x=x, text=alt.Text(field, type="quantitative", format=format)),
    ]


# ---- distribution ----------------------------------------------------------------------------------------------------


def distribution(source: Source, measure: Asked = None, *, theme: str = "light", width: int = WIDTH) -> Any:
    """How many queries have which value, system below system, with the mean and the median of each."""
    frame = Frame.of(theme, width)
    values = values_of(source, measure)
    rows = [
        Ridge(name, values.of(name), mean, median, f"mean {mean:.4f} · median {median:.4f}")
        for name in values.systems
        for mean, median in [(values.mean(name), aggregate("median", values.of(name), values.weights))]
    ]
    edges = np.linspace(*ends_of(values.table), BINS + 1)
    layers = ridges(frame, rows, edges, title=values.measure, counted="queries", names=("mean", "median"))
    words = f"Bars: queries per step of {values.measure}. ◆ mean, | median"
    title = f"Distribution of {values.measure}"
    return frame.chart(layers, title, caption(values, words), max(len(rows), 1) * 80)


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
    x = alt.X("from:Q", scale=alt.Scale(domain=domain, nice=False), title=title)
    none = alt.Axis(labels=False, ticks=False, domain=False, grid=False)
    scale = alt.Scale(domain=[-0.02, len(rows)], nice=False)
    y = alt.Y("foot:Q", scale=scale, axis=none, title=None)
    shapes = alt.Chart(data(bars)).mark_bar(color=frame.theme.gain, opacity=0.85, stroke=frame.theme.background)
    tooltip = [told("system"), told("range", title=title), told(counted, ","), told("share", ".1%", "of all")]
    return [shapes.encode(x=x, x2="to", y=y, y2="head", tooltip=tooltip), *_centre_marks(frame, marks, x, y, names)]


def _centre_marks(frame: Frame, marks: list[dict[str, Any]], x: Any, y: Any, names: tuple[str, str]) -> list[Any]:
    """The two numbers that are marked, and the name of every system."""
    alt, loss = altair(), frame.theme.loss
    base = alt.Chart(data(marks))
    tooltip = [told("system"), told("diamond", ".4f", names[0]), told("tick", ".4f", names[1])]
    tick = base.mark_tick(color=loss, thickness=3, height=16, yOffset=-8)
    diamond = base.mark_point(filled=True, shape="diamond", size=130, color=loss, opacity=1)
    beside = max(len(row["words"]) for row in marks) * 12 * LETTER + 12
    room = alt.expr(f"max(20, width - {beside:g})")  # what the words at the other end leave
    name = base.mark_text(align="left", baseline="top", fontWeight=600, limit=room)
    words = base.mark_text(align="right", baseline="top", color=frame.theme.quiet)
    return [
        base.mark_rule(color=frame.theme.line).encode(x=x, x2="to", y=y),
        tick.encode(x="tick:Q", y=y, tooltip=tooltip),
        diamond.encode(x="diamond:Q", y=y, tooltip=tooltip),
        name.encode(x=x, y="top:Q", text="system:N"),
        words.encode(x="to:Q", y="top:Q", text="words:N"),
    ]


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


def groups(source: Source, measure: Asked = None, *, theme: str = "light", width: int = WIDTH) -> Any:
    """The mean of every system in every group of queries, with intervals."""
    alt, frame = altair(), Frame.of(theme, width)
    values = values_of(source, measure)
    if not values.groups:
        raise InputError("there are no groups of queries; evaluate with by= (--by FILE: a query and a group column)")
    alpha = source.settings.alpha if isinstance(source, Comparison) else 0.05
    rows = []
    for group, mask in values.groups.items():
        only = values.only(mask)
        label = f"{group}\n{counted(len(only.queries), 'query', 'queries')}"
        rows += [row | {"group": group, "label": label} for row in _means(only, alpha)]
    labels, names = list(dict.fromkeys(row["label"] for row in rows)), values.systems
    axis, scale = frame.names(grid=False, labelExpr="split(datum.label, '\\n')"), alt.Scale(paddingInner=0.25)
    base = alt.Chart(data(rows)).encode(
        y=alt.Y("label:N", sort=labels, title=None, axis=axis, scale=scale),
        yOffset=alt.YOffset("system:N", sort=names),
        color=frame.colour("system", names, symbol=None),
        tooltip=[told("group"), *_interval_tooltip()],
    )
    ends, points, _ = intervals(base, "mean", f"mean {values.measure}", thick=2, size=70)
    points = points.encode(shape=frame.shape("system", names, legend=True))
    height = len(labels) * max(46, 12 * len(names) + 14)
    words = _interval_words(values, alpha, rows)
    title = f"{values.measure} by group of queries"
    return frame.chart([ends, points], title, caption(values, words), height)
