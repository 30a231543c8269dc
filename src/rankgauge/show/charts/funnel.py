"""Charts of a funnel: the parts of 1, ceilings against values, the depth curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rankgauge.show.charts.source import counted
from rankgauge.show.charts.theme import WIDTH, Frame, altair, data
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


class Dot(NamedTuple):
    """Queries of equal (or, of very many, nearly equal) ceiling and value."""

    queries: list[str]
    oracle: float
    value: float
    retrieved: float

    @property
    def harmed(self) -> bool:
        """Whether the reranker made it worse."""
        return self.value < self.retrieved - TIE

    @property
    def named(self) -> str:
        """The queries by name, some of them."""
        more = f" and {len(self.queries) - 3:,} more" if len(self.queries) > 3 else ""
        return ", ".join(self.queries[:3]) + more


def dots(system: System) -> list[Dot]:
    """The points of ceiling against value; harmed queries apart from the others."""
    table = np.stack([system.of(name) for name in ("oracle", "value", "retrieved")], axis=1)
    step = GRID if len(table) > MANY else 10**12
    keys = np.round(table[:, :2] * step).astype(np.int64)
    harmed = table[:, 1] < table[:, 2] - TIE
    groups: dict[tuple[int, int, bool], list[int]] = {}
    for at, key in enumerate(zip(*keys.T.tolist(), harmed.tolist(), strict=True)):
        groups.setdefault(key, []).append(at)
    queries = system.query_ids
    return [Dot([queries[at] for at in rows], *table[rows].mean(axis=0).tolist()) for rows in groups.values()]


def funnel_parts(funnel: Funnel, *, theme: str = "light", width: int = WIDTH) -> Any:
    """Where nDCG is reached and lost: the parts of 1 of every reranked run, stacked."""
    alt, frame = altair(), Frame.of(theme, width)
    rows = [
        {"run": name, "part": LABELS[part], "share": funnel[name][part].value, "at": at,
         "low": funnel[name][part].low, "high": funnel[name][part].high}
        for name in funnel for at, part in enumerate(LABELS)
    ]  # fmt: skip
    shades = [getattr(frame.theme, colour) for colour in PART_COLOURS.values()]
    colour = alt.Color(
        "part", type="nominal", scale=alt.Scale(domain=list(LABELS.values()), range=shades),
        legend=frame.legend(list(LABELS.values()), symbol="square"),
    )  # fmt: skip
    names = alt.Axis(labelLimit=frame.label_limit, grid=False, domain=False, ticks=False)
    form = {"type": "quantitative", "format": ".4f"}
    bars = (
        alt.Chart(data(rows))
        .mark_bar()
        .encode(
            x=alt.X("share", type="quantitative", stack="zero", title="parts of 1", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("run", type="nominal", sort=list(funnel), title=None, axis=names),
            order=alt.Order("at", type="quantitative"), color=colour,
            tooltip=[alt.Tooltip("run", type="nominal"), alt.Tooltip("part", type="nominal"),
                     alt.Tooltip("share", **form), alt.Tooltip("low", **form), alt.Tooltip("high", **form)],
        )
    )  # fmt: skip
    light = alt.condition("datum.at == 1 || datum.at == 4", alt.value(frame.theme.text), alt.value("white"))
    shares = bars.mark_text(fontSize=12).encode(
        x=alt.X("share", type="quantitative", stack="zero", bandPosition=0.5), color=light,
        text=alt.condition(f"datum.share > {ROOM}", alt.Text("share", **form), alt.value("")),
    )  # fmt: skip
    words = f"{counted(len(funnel.query_ids))}. Mis-ranked: lost by the reranker; not retrieved: lost before it"
    return frame.chart(
        [bars, shares],
        title=f"{funnel.measure}: where it is reached and lost",
        caption=f"{words}.",
        height=BAR * len(funnel),
    )


def funnel_ceiling(funnel: Funnel, *, theme: str = "light", width: int = WIDTH) -> Any:
    """Every query as a point: what the candidates allow, and what the reranker made of them."""
    alt, frame = altair(), Frame.of(theme, width)
    several = len(funnel) > 1
    rows = [
        {"run": name, "query": dot.named, "queries": len(dot.queries), "oracle": dot.oracle, "value": dot.value,
         "retrieved": dot.retrieved, "became": "worse than before" if dot.harmed else "not worse"}
        for name, system in funnel.systems.items() for dot in dots(system)
    ]  # fmt: skip
    scale = alt.Scale(domain=[0, 1], nice=False)
    x = alt.X("oracle", type="quantitative", scale=scale, title="ceiling: the best order of the candidates")
    y = alt.Y("value", type="quantitative", scale=scale, title="reached")
    corners = alt.Chart(data([{"oracle": 0, "value": 0}, {"oracle": 1, "value": 1}]))
    diagonal = corners.mark_line(color=frame.theme.quiet, strokeDash=[5, 4], strokeWidth=1).encode(x=x, y=y)
    kinds = {"not worse": frame.theme.gain, "worse than before": frame.theme.loss}
    sizes = alt.Scale(type="sqrt", domain=[1, max(2, *(row["queries"] for row in rows))], range=[55, 400])
    form = {"type": "quantitative", "format": ".4f"}
    shape = (
        {"shape": alt.Shape("run", type="nominal", scale=frame.shapes(list(funnel)), legend=None)} if several else {}
    )
    points = (
        alt.Chart(data(rows))
        .mark_point(filled=True, opacity=0.65)
        .encode(
            x=x, y=y, size=alt.Size("queries", type="quantitative", scale=sizes, legend=None),
            color=alt.Color("became", type="nominal", scale=alt.Scale(domain=list(kinds), range=list(kinds.values())),
                            legend=frame.legend(list(kinds), symbol=None)),
            tooltip=[alt.Tooltip("run", type="nominal"), alt.Tooltip("query", type="nominal"),
                     alt.Tooltip("queries", type="quantitative", format=","),
                     alt.Tooltip("oracle", title="ceiling", **form), alt.Tooltip("value", title="reached", **form),
                     alt.Tooltip("retrieved", title="before", **form)], **shape,
        )
    )  # fmt: skip
    words = "Each point is a query: how far below the diagonal is what the reranker left; how far left, the retriever"
    return frame.chart(
        [diagonal, points], title=f"{funnel.measure}: ceiling against value", caption=f"{words}.",
        height=min(frame.width - 90, 460),
    )  # fmt: skip


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
        x=alt.X("depth", type="quantitative", scale=alt.Scale(type="log", nice=False), axis=axis, title="candidates"),
        y=alt.Y("value", type="quantitative", title=str(funnel.measure), scale=alt.Scale(zero=True)),
        color=alt.Color("line", type="nominal", scale=frame.colours(names), legend=frame.legend(names)),
        tooltip=[alt.Tooltip("line", type="nominal"), alt.Tooltip("depth", type="quantitative", format=","),
                 alt.Tooltip("value", type="quantitative", format=".4f")],
    )  # fmt: skip
    drawn = base.mark_line(strokeWidth=2.5).encode(
        strokeDash=alt.StrokeDash("line", type="nominal", scale=frame.dashes(names), legend=frame.legend(names))
    )
    dots_of = base.mark_point(filled=True, opacity=1).encode(
        size=alt.condition("datum.peak", alt.value(110), alt.value(30))
    )
    return frame.chart(
        [drawn, dots_of], title=f"{funnel.measure} if only the first candidates had been reranked",
        caption="Large points: where a reranker reaches most. The ceiling is the best order of as many.", height=300,
    )  # fmt: skip
