"""The picture of a funnel: the parts of 1 as stacked bars, ceilings against values, and the depth curve."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Final

from rankgauge.explanation.funnel.system import PARTS
from rankgauge.show.charts.funnel import LABELS, PART_COLOURS, dots
from rankgauge.show.charts.theme import THEMES
from rankgauge.show.grid import short
from rankgauge.show.svg.drawing import document, line, path, rect, text

if TYPE_CHECKING:
    from rankgauge.explanation.funnel.outcome import Funnel

__all__ = ["funnel_svg"]

LEFT, RIGHT, LINE, BARS = 250, 1160, 46, 150
PANEL, HIGH, GAP = 470, 330, 130  # the two panels below the bars
SIDE: Final = 80
TICKS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
DASHES: Final = ("", "10 5", "3 4", "14 4 3 4")


def funnel_svg(funnel: Funnel) -> str:
    """The whole picture."""
    top = BARS + LINE * len(funnel.systems) + 90
    parts = [*_bars(funnel), *_scatter(funnel, SIDE, top), *_curve(funnel, SIDE + PANEL + GAP, top)]
    light, dark = (
        {f"rg-{part}": f"fill:{getattr(theme, colour)}" for part, colour in PART_COLOURS.items()}
        for theme in (THEMES["light"], THEMES["dark"])
    )
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
