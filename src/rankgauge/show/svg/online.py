"""The picture of an alignment: every unit, offline against online, with its interval, the line and its band."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from rankgauge.show.charts.online import KINDS, MOST, headline, kinds, span, thinned
from rankgauge.show.grid import short
from rankgauge.show.svg.drawing import document, line, path, rect, text
from rankgauge.trust.online.tracked import online_interval

if TYPE_CHECKING:
    from rankgauge.stats.estimate import Estimate
    from rankgauge.trust.online.align import Alignment

__all__ = ["alignment_svg"]

LEFT, RIGHT, TOP, BOTTOM = 120, 1120, 190, 690
STEPS: Final = 60
NAMED: Final = 3
LABEL: Final = 15
COLOURS: Final = (("#2f7dc0", "#5aa7e6"), ("#d0672b", "#ee8c52"), ("#8a949e", "#7d8995"))


class _View:
    """Where a pair of differences is in the picture."""

    def __init__(self, found: Alignment) -> None:
        units, shown = found.units, thinned(found)
        x, y = units.offline[found.first.name], units.online
        low, high = online_interval(units, found.settings.alpha) or (y, y)
        self.x_ends = span(x.tolist())
        self.y_ends = span([*low[shown].tolist(), *high[shown].tolist(), *y.tolist()])

    def x(self, value: float) -> float:
        low, high = self.x_ends
        return LEFT + (RIGHT - LEFT) * (value - low) / (high - low)

    def y(self, value: float) -> float:
        low, high = self.y_ends
        return BOTTOM - (BOTTOM - TOP) * (min(max(value, low), high) - low) / (high - low)


def alignment_svg(found: Alignment) -> str:
    """The picture: the first offline column against the online one."""
    view, units = _View(found), found.units
    title = f"{short(found.first.name, 30)} and {short(units.online_name, 30)}, {len(units):,} {units.kind}"
    parts = [
        text(LEFT - 70, 56, title, 28, weight=600),
        text(LEFT - 70, 90, headline(found), 17, "rg-quiet"),
        *_legend(found),
        *_quadrants(view),
        *_axes(found, view),
        *_quadrant_names(view),
        *_line(found, view),
        *_points(found, view),
        *_names(found, view),
    ]
    light = {f"rg-kind{at}": f"fill:{day};stroke:{day}" for at, (day, _) in enumerate(COLOURS)}
    dark = {f"rg-kind{at}": f"fill:{night};stroke:{night}" for at, (_, night) in enumerate(COLOURS)}
    light |= {"rg-band": "fill:#2f7dc01c", "rg-fit": "stroke:#5c6670", "rg-against": "fill:#d0672b14"}
    dark |= {"rg-band": "fill:#5aa7e626", "rg-fit": "stroke:#a2adb8", "rg-against": "fill:#ee8c521c"}
    around = "stroke-width:4;stroke-linejoin:round;paint-order:stroke"  # keeps words readable where lines cross them
    light |= {"rg-zero": "stroke:#1b1f24", "rg-label": f"fill:#1b1f24;stroke:#ffffff;{around}"}
    dark |= {"rg-zero": "stroke:#eef1f4", "rg-label": f"fill:#eef1f4;stroke:#14181d;{around}"}
    light |= {"rg-hint": f"fill:#5c6670;stroke:#faf3ef;{around}"}
    dark |= {"rg-hint": f"fill:#a2adb8;stroke:#2c2522;{around}"}
    return document(parts, BOTTOM + 130, headline(found), light=light, dark=dark)


def _legend(found: Alignment) -> Iterator[str]:
    counts = np.bincount(kinds(found), minlength=len(KINDS)).tolist()
    x = LEFT - 70.0
    for at, (name, count) in enumerate(zip(KINDS, counts, strict=True)):
        if count:
            words = f"{name}: {count:,}"
            yield f'<circle class="rg-kind{at}" cx="{x + 7:.1f}" cy="{TOP - 60}" r="7"/>'
            yield text(x + 24, TOP - 54, words, LABEL)
            x += 60 + 9 * len(words)
    least, shown = len(found.units), len(thinned(found))
    drawn = f"{shown:,} of {least:,} are drawn" if shown < least else ""
    level = f"bars: {100 * (1 - found.settings.alpha):g} % intervals" if found.units.error is not None else ""
    words = "; ".join(filter(None, ["line: least squares, shade: prediction interval", level, drawn]))
    yield text(LEFT - 70, BOTTOM + 108, words, LABEL, "rg-quiet")


def _quadrants(view: _View) -> Iterator[str]:
    """Where offline and online say opposite things: up and left, down and right of 0."""
    x, y = view.x(0), view.y(0)
    yield rect(LEFT, TOP, x - LEFT, y - TOP, "rg-against")
    yield rect(x, y, RIGHT - x, BOTTOM - y, "rg-against")


def _quadrant_names(view: _View) -> Iterator[str]:
    x, y = view.x(0), view.y(0)
    if x - LEFT > 260 and y - TOP > 50:
        yield text(LEFT + 10, TOP + 22, "worse offline, better online", 14, "rg-hint")
    if RIGHT - x > 260 and BOTTOM - y > 50:
        yield text(RIGHT - 10, BOTTOM - 12, "better offline, worse online", 14, "rg-hint", "end")


def _axes(found: Alignment, view: _View) -> Iterator[str]:
    for value in _even(*view.x_ends):
        yield line(view.x(value), TOP, view.x(value), BOTTOM, "rg-zero" if value == 0 else "rg-line")
        yield text(view.x(value), BOTTOM + 26, _tick(value), LABEL, "rg-quiet", "middle")
    for value in _even(*view.y_ends):
        yield line(LEFT, view.y(value), RIGHT, view.y(value), "rg-zero" if value == 0 else "rg-line")
        yield text(LEFT - 12, view.y(value) + 5, _tick(value), LABEL, "rg-quiet", "end")
    yield text((LEFT + RIGHT) / 2, BOTTOM + 60, f"{short(found.first.name, 60)} (offline)", 16, "rg-quiet", "middle")
    yield text(LEFT - 70, TOP - 16, f"{short(found.units.online_name, 60)} (online)", 16, "rg-quiet")


def _tick(value: float) -> str:
    return f"{value:+g}".replace("-", "−") if value else "0"


def _even(low: float, high: float) -> list[float]:
    """Four to ten round numbers."""
    unit = 10.0 ** math.floor(math.log10((high - low) / 4))
    step = next(unit * each for each in (1, 2, 5, 10) if (high - low) / (unit * each) <= 9)
    return [round(step * at, 12) + 0.0 for at in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _line(found: Alignment, view: _View) -> Iterator[str]:
    """The line of least squares, and the band in which one more unit is expected."""
    places = np.linspace(*view.x_ends, STEPS).tolist()
    ends: list[Estimate] = [found.first.line.next_at(x, found.settings.alpha) for x in places]
    if all(math.isfinite(each.low) for each in ends):
        top = [(view.x(x), view.y(each.high)) for x, each in zip(places, ends, strict=True)]
        foot = [(view.x(x), view.y(each.low)) for x, each in zip(places, ends, strict=True)]
        yield path([*top, *reversed(foot)], "rg-band", area=True)
    low, high = view.y_ends
    within = [(x, each.value) for x, each in zip(places, ends, strict=True) if low <= each.value <= high]
    if within:
        yield path([(view.x(x), view.y(y)) for x, y in within], "rg-fit", dashes="7 5")


def _points(found: Alignment, view: _View) -> Iterator[str]:
    units, alpha = found.units, found.settings.alpha
    x, y, which = units.offline[found.first.name], units.online, kinds(found)
    interval = online_interval(units, alpha)
    shown = thinned(found)
    size = 7.0 if len(shown) <= 100 else 4.0 if len(shown) <= 500 else 2.5
    for at in shown:
        left, kind = view.x(float(x[at])), f"rg-kind{which[at]}"
        if interval is not None:
            yield line(left, view.y(float(interval[0][at])), left, view.y(float(interval[1][at])), kind)
        faint = ' fill-opacity="0.85"' if len(shown) <= 100 else ' fill-opacity="0.5" stroke="none"'
        place = f'cx="{left:.2f}" cy="{view.y(float(y[at])):.2f}" r="{size:g}"'
        yield f'<circle class="{kind}" {place}{faint}><title>{_hover(found, at)}</title></circle>'


def _hover(found: Alignment, at: int) -> str:
    from html import escape

    units = found.units
    offline, online = float(units.offline[found.first.name][at]), float(units.online[at])
    return escape(f"{units.names[at]}: offline {offline:+.4g}, online {online:+.4g}")


def _names(found: Alignment, view: _View) -> Iterator[str]:
    """The names of the units that sway the correlation most, beside their points."""
    units = found.units
    if len(units) > MOST:
        return
    taken: list[tuple[float, float]] = []
    for at in found.first.most_influential(NAMED):
        x, y = view.x(float(units.offline[found.first.name][at])), view.y(float(units.online[at]))
        name = short(units.names[at], 36)
        right = x + 14 + 8.2 * len(name) < RIGHT
        place = min(max(y + 5, TOP + 16), BOTTOM - 8)
        if all(abs(place - other) > 18 or abs(x - across) > 300 for across, other in taken):
            taken.append((x, place))
            side, anchor = (x + 14, "start") if right else (x - 14, "end")
            yield text(side, place, name, LABEL, "rg-label", anchor, 600)
