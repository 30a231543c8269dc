"""Charts of a funnel: the parts of 1, ceilings against values, the depth curve."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.errors import counted
from rankgauge.show.charts.theme import WIDTH, Frame, altair, data, diagonal, told
from rankgauge.show.names import some_names
from rankgauge.shown import clean
from rankgauge.stats.paired import TIE

if TYPE_CHECKING:
    from rankgauge.explanation.funnel.outcome import Funnel
    from rankgauge.explanation.funnel.system import System

__all__ = ["funnel_ceiling", "funnel_depth", "funnel_parts"]

BAR: Final = 34
ROOM: Final = 0.08  # of 1, from which on a part has room for its number
MANY: Final = 1_500  # points, beyond which neighbours are drawn as one
GRID: Final = 50  # steps of a side, then
# Part → what it is called in charts.
LABELS: Final = {
    "value": "reached",
    "unknown": "unknown",
    "misranked": "mis-ranked",
    "not_retrieved": "not retrieved",
    "no_relevant": "no relevant document",
}
# Part → the colour of the theme.
PART_COLOURS: Final = {
    "value": "gain",
    "unknown": "unknown",
    "misranked": "loss",
    "not_retrieved": "lost",
    "no_relevant": "empty",
}


def _dots(name: str, system: System) -> Iterator[dict[str, Any]]:
    """The points of ceiling against value: queries of equal (or, of very many, nearly equal) numbers are one.

    Harmed queries are apart from the others.
    """
    table = np.stack([system.of(name) for name in ("oracle", "value", "retrieved")], axis=1)
    step = GRID if len(table) > MANY else 10**12
    keys = np.round(table[:, :2] * step).astype(np.int64)
    harmed = table[:, 1] < table[:, 2] - TIE
    groups: dict[tuple[int, int, bool], list[int]] = {}
    for at, key in enumerate(zip(*keys.T.tolist(), harmed.tolist(), strict=True)):
        groups.setdefault(key, []).append(at)
    for (*_, worse), rows in groups.items():
        oracle, value, retrieved = table[rows].mean(axis=0).tolist()
        row = {"run": name, "query": some_names([system.query_ids[at] for at in rows]), "queries": len(rows)}
        row |= {"oracle": oracle, "value": value, "retrieved": retrieved}
        yield row | {"became": "worse than before" if worse else "not worse"}


def funnel_parts(funnel: Funnel, *, theme: str = "light", width: int = WIDTH) -> Any:
    """Where nDCG is reached and lost: the parts of 1 of every reranked run, stacked."""
    alt, frame = altair(), Frame.of(theme, width)
    rows = [
        {"run": name, "part": LABELS[part], "share": funnel[name][part].value, "at": at,
         "low": clean(funnel[name][part].low), "high": clean(funnel[name][part].high)}
        for name in funnel for at, part in enumerate(LABELS)
    ]  # fmt: skip
    shades = [getattr(frame.theme, colour) for colour in PART_COLOURS.values()]
    names, legend = list(LABELS.values()), frame.legend(list(LABELS.values()), symbol="square")
    side = frame.names(list(funnel), grid=False, labelColor=frame.theme.quiet)
    bars = alt.Chart(data(rows)).mark_bar().encode(
        x=alt.X("share:Q", stack="zero", title="parts of 1", scale=alt.Scale(domain=[0, 1])),
        y=alt.Y("run:N", sort=list(funnel), title=None, axis=side), order="at:Q",
        color=alt.Color("part:N", scale=alt.Scale(domain=names, range=shades), legend=legend),
        tooltip=[told("run"), told("part"), *(told(number, ".4f") for number in ("share", "low", "high"))],
    )  # fmt: skip
    light = alt.condition("datum.at == 1 || datum.at == 4", alt.value(frame.theme.text), alt.value("white"))
    shares = bars.mark_text(fontSize=12).encode(
        x=alt.X("share:Q", stack="zero", bandPosition=0.5), color=light,
        text=alt.condition(f"datum.share > {ROOM}", alt.Text("share:Q", format=".4f"), alt.value("")),
    )  # fmt: skip
    words = f"{counted(len(funnel.query_ids), 'query', 'queries')}. Mis-ranked: lost by the reranker; "
    words += "not retrieved: lost before it."
    return frame.chart([bars, shares], f"{funnel.measure}: value and losses", words, BAR * len(funnel))


def funnel_ceiling(funnel: Funnel, *, theme: str = "light", width: int = WIDTH) -> Any:
    """Every query as a point: what the candidates allow, and what the reranker made of them."""
    alt, frame = altair(), Frame.of(theme, width)
    rows = [row for name, system in funnel.systems.items() for row in _dots(name, system)]
    scale = alt.Scale(domain=[0, 1], nice=False)
    x = alt.X("oracle", type="quantitative", scale=scale, title="ceiling: the best order of the candidates")
    y = alt.Y("value", type="quantitative", scale=scale, title="reached")
    kinds = {"not worse": frame.theme.gain, "worse than before": frame.theme.loss}
    colours = alt.Scale(domain=list(kinds), range=list(kinds.values()))
    sizes = alt.Scale(type="sqrt", domain=[1, max(2, *(row["queries"] for row in rows))], range=[55, 400])
    tooltip = [told("run"), told("query"), told("queries", ","), told("oracle", ".4f", "ceiling")]
    points = alt.Chart(data(rows)).mark_point(filled=True, opacity=0.65).encode(
        x=x, y=y, size=alt.Size("queries:Q", scale=sizes, legend=None),
        color=alt.Color("became:N", scale=colours, legend=frame.legend(list(kinds), symbol=None)),
        tooltip=[*tooltip, told("value", ".4f", "reached"), told("retrieved", ".4f", "before")],
    )  # fmt: skip
    points = points.encode(shape=frame.shape("run", list(funnel))) if len(funnel) > 1 else points
    words = "Each point is a query: how far below the diagonal is what the reranker left; how far left, the retriever."
    layers, title = [diagonal(frame, x, y, (0, 1)), points], f"{funnel.measure}: ceiling against value"
    return frame.chart(layers, title, words, min(frame.width - 90, 460))


def funnel_depth(funnel: Funnel, *, theme: str = "light", width: int = WIDTH) -> Any:
    """What would have been reached, had only the first candidates been reranked."""
    alt, frame = altair(), Frame.of(theme, width)
    lines: dict[str, list[dict[str, Any]]] = {}
    for name, points in funnel.curve.items():
        best = f"best order, {funnel.systems[name].retriever}"
        peak = funnel.peak(name).depth
        lines.setdefault(best, [{"line": best, "depth": p.depth, "value": p.oracle, "peak": False} for p in points])
        lines[name] = [{"line": name, "depth": p.depth, "value": p.value, "peak": p.depth == peak} for p in points]
    names, rows = list(lines), [row for each in lines.values() for row in each]
    depths = sorted({row["depth"] for row in rows})
    axis = alt.Axis(values=depths, format=",d", grid=False, labelOverlap=True)
    base = alt.Chart(data(rows)).encode(
        x=alt.X("depth:Q", scale=alt.Scale(type="log", nice=False), axis=axis, title="candidates"),
        y=alt.Y("value:Q", title=str(funnel.measure), scale=alt.Scale(zero=True)),
        color=frame.colour("line", names),
        tooltip=[told("line"), told("depth", ","), told("value", ".4f")],
    )
    drawn = base.mark_line(strokeWidth=2.5).encode(strokeDash=frame.dash("line", names))
    large = alt.condition("datum.peak", alt.value(110), alt.value(30))
    dots_of = base.mark_point(filled=True, opacity=1).encode(size=large)
    title = f"{funnel.measure} by number of candidates reranked"
    words = "Large points: where a reranker reaches most. The ceiling is the best order of as many."
    return frame.chart([drawn, dots_of], title, words, 300)
