"""The picture of a funnel: the parts of 1 as stacked bars, ceilings against values, and the depth curve."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from rankgauge.explanation.funnel.system import PARTS
from rankgauge.show.grid import short
from rankgauge.show.svg.drawing import document, line, path, rect, text
from rankgauge.stats.paired import TIE

if TYPE_CHECKING:
    from rankgauge.explanation.funnel.outcome import Funnel
    from rankgauge.explanation.funnel.system import System

__all__ = ["LABELS", "PART_COLOURS", "Dot", "dots", "funnel_svg"]

LEFT, RIGHT, LINE, BARS = 250, 1160, 46, 150
PANEL, HIGH, GAP = 470, 330, 130  # the two panels below the bars
SIDE: Final = 80
TICKS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
MANY: Final = 1_500  # points, beyond which neighbours are drawn as one
GRID: Final = 50  # steps of a side, then
DASHES: Final = ("", "10 5", "3 4", "14 4 3 4")
# Part → what it is called in pictures, and its colours on light and on dark.
LABELS: Final = {
    "value": "reached",
    "unknown": "unknown",
    "misranked": "mis-ranked",
    "not_retrieved": "not retrieved",
    "no_relevant": "no relevant document",
}
PART_COLOURS: Final = {
    "value": ("#2f7dc0", "#5aa7e6"),
    "unknown": ("#a9b1ba", "#6d7883"),
    "misranked": ("#d0672b", "#ee8c52"),
    "not_retrieved": ("#8c4a8f", "#b982bc"),
    "no_relevant": ("#eceff2", "#262d35"),
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


def funnel_svg(funnel: Funnel) -> str:
    """The whole picture."""
    top = BARS + LINE * len(funnel.systems) + 90
    parts = [*_bars(funnel), *_scatter(funnel, SIDE, top), *_curve(funnel, SIDE + PANEL + GAP, top)]
    light = {f"rg-{part}": f"fill:{day}" for part, (day, _) in PART_COLOURS.items()}
    dark = {f"rg-{part}": f"fill:{night}" for part, (_, night) in PART_COLOURS.items()}
    strokes = {"rg-curve": 0, "rg-best": 1}
    light |= {name: f"stroke:{('#2f7dc0', '#5c6670')[at]}" for name, at in strokes.items()}
    dark |= {name: f"stroke:{('#5aa7e6', '#a2adb8')[at]}" for name, at in strokes.items()}
    label = f"{funnel.measure} in two stages: " + "; ".join(_words(funnel, name) for name in funnel)
    return document(parts, top + HIGH + 80, label, light=light, dark=dark)


def _words(funnel: Funnel, name: str) -> str:
    found = funnel[name]
    return f"{name} " + ", ".join(f"{LABELS[part]} {found[part].value:.4f}" for part in PARTS)


def _bars(funnel: Funnel) -> Iterator[str]:
    """A bar of 1 for every reranked run, in its parts."""
    yield text(40, 58, short(f"{funnel.measure}: where it is reached and lost", 80), 28, weight=600)
    at = 40.0
    for part, label in LABELS.items():
        yield rect(at, 84, 18, 18, f"rg-{part}")
        yield text(at + 26, 98, label, 15, "rg-quiet")
        at += 60 + 8.2 * len(label)
    for row, name in enumerate(funnel):
        y, x = BARS + LINE * row, float(LEFT)
        yield text(LEFT - 16, y + 21, short(name, 26), 16, anchor="end")
        for part in PARTS:
            value = funnel[name][part].value
            wide = value * (RIGHT - LEFT)
            yield _titled(rect(x, y, wide, 30, f"rg-{part}"), f"{name}: {LABELS[part]} {value:.4f}")
            if wide > 62:
                kind = "rg-text" if part in ("unknown", "no_relevant") else "rg-light"
                yield text(x + wide / 2, y + 21, f"{value:.4f}", 14, kind, "middle")
            x += wide


def _titled(shape: str, words: str) -> str:
    """A shape with words under the pointer."""
    return f"<g><title>{escape(words)}</title>{shape}</g>"


def _axes(title: str, x: float, y: float, below: str, beside: str) -> Iterator[str]:
    yield text(x, y - 40, short(title, 62), 18, weight=600)
    yield text(x, y - 16, beside, 13, "rg-quiet")
    yield text(x + PANEL, y + HIGH + 44, below, 13, "rg-quiet", "end")


def _levels(x: float, y: float) -> Iterator[str]:
    for tick in TICKS:
        up = y + (1 - tick) * HIGH
        yield line(x, up, x + PANEL, up)
        yield text(x - 8, up + 4, f"{tick:g}", 13, "rg-quiet", "end")


def _scatter(funnel: Funnel, x: float, y: float) -> Iterator[str]:
    """Ceiling against value, a point per query; of several rerankers, the first."""
    name, system = next(iter(funnel.systems.items()))
    below = f"ceiling: best order of the candidates of {short(system.retriever, 20)}"
    beside = "reached; orange: worse than before; on the diagonal nothing was left to win"
    first = f" (1 of {len(funnel)})" if len(funnel) > 1 else ""
    yield from _axes(f"{short(name, 26)}{first}: every query", x, y, below, beside)
    yield from _levels(x, y)
    for tick in TICKS:
        across = x + tick * PANEL
        yield line(across, y, across, y + HIGH)
        yield text(across, y + HIGH + 20, f"{tick:g}", 13, "rg-quiet", "middle")
    yield line(x, y + HIGH, x + PANEL, y, "rg-best", "5 4")
    for dot in sorted(dots(system), key=lambda each: -len(each.queries)):
        radius = min(4 + 1.5 * math.sqrt(len(dot.queries) - 1), 16)
        kind, place = "rg-loss" if dot.harmed else "rg-bar", (x + dot.oracle * PANEL, y + (1 - dot.value) * HIGH)
        words = f"{dot.named}: {dot.value:.4f} of {dot.oracle:.4f}, {dot.retrieved:.4f} before"
        circle = f'<circle class="{kind}" cx="{place[0]:.1f}" cy="{place[1]:.1f}" r="{radius:.1f}" fill-opacity="0.7"/>'
        yield _titled(circle, words)


def _curve(funnel: Funnel, x: float, y: float) -> Iterator[str]:
    """What would have been reached, had only the first candidates been reranked; the grey line is the best order."""
    points = [point for curve in funnel.curve.values() for point in curve]
    deepest, shallowest = max(point.depth for point in points), min(point.depth for point in points)
    span = math.log(deepest / shallowest) or 1.0

    def place(depth: int, value: float) -> tuple[float, float]:
        return x + math.log(depth / shallowest) / span * PANEL, y + (1 - value) * HIGH

    words = "grey: the best order of these; dots: where a reranker reaches most"
    yield from _axes("If only the first candidates were reranked", x, y, "candidates reranked", words)
    for depth in sorted({point.depth for point in points}):
        across = place(depth, 0)[0]
        yield line(across, y, across, y + HIGH)
        yield text(across, y + HIGH + 20, f"{depth:,}", 13, "rg-quiet", "middle")
    yield from _levels(x, y)
    for name in {system.retriever: name for name, system in funnel.systems.items()}.values():
        best = [place(point.depth, point.oracle) for point in funnel.curve[name]]
        yield path(best if len(best) > 1 else [*best, (best[0][0] + PANEL, best[0][1])], "rg-best")
    for at, (name, curve) in enumerate(funnel.curve.items()):
        dashes = DASHES[at % len(DASHES)]
        yield path([place(point.depth, point.value) for point in curve], "rg-curve", dashes=dashes)
        peak = funnel.peak(name)
        across, up = place(peak.depth, peak.value)
        circle = f'<circle class="rg-bar" cx="{across:.1f}" cy="{up:.1f}" r="6"/>'
        yield _titled(circle, f"{name}: {peak.value:.4f} with the first {peak.depth:,}")
        low = y + HIGH - 14 - 20 * (len(funnel.curve) - 1 - at)
        yield path([(x + PANEL - 250, low - 5), (x + PANEL - 210, low - 5)], "rg-curve", dashes=dashes)
        yield text(x + PANEL - 200, low, short(name, 26), 13)
