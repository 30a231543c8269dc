"""A log-log line chart as SVG text, readable on light and on dark pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

Point = tuple[float, float]

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 70, 150, 48, 56
LIGHT = ("#0969da", "#bc4c00", "#1a7f37", "#8250df")
DARK = ("#58a6ff", "#f0883e", "#3fb950", "#bc8cff")


def _colour_rules(page: str, text: str, soft: str, grid: str, lines: Sequence[str]) -> str:
    rules = f".page {{ fill: {page} }} .text {{ fill: {text} }} .soft {{ fill: {soft} }} .grid {{ stroke: {grid} }}"
    for number, colour in enumerate(lines):
        rules += f"\n.line{number} {{ stroke: {colour} }} .mark{number} {{ fill: {colour} }}"
    return rules


STYLE = f"""
text {{ font: 13px system-ui, sans-serif }} .title {{ font-size: 15px; font-weight: 600 }}
.line {{ fill: none; stroke-width: 2.5 }} .name {{ font-weight: 600 }}
{_colour_rules("#ffffff", "#1f2328", "#59636e", "#d1d9e0", LIGHT)}
@media (prefers-color-scheme: dark) {{
{_colour_rules("#0d1117", "#f0f6fc", "#9198a1", "#3d444d", DARK)}
}}
"""


class Axis:
    """A logarithmic axis from page position ``start`` to ``end``."""

    def __init__(self, values: Sequence[float], start: float, end: float) -> None:
        low, high = math.log10(min(values)), math.log10(max(values))
        margin = 0.06 * (high - low) or 0.5
        self.low, self.high = low - margin, high + margin
        self.start, self.end = start, end

    def at(self, value: float) -> float:
        """The page position of a value."""
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Round values within the axis: 1, 2 and 5 times the powers of ten."""
        powers = range(math.floor(self.low), math.ceil(self.high) + 1)
        candidates = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
        return [value for value in candidates if self.low <= math.log10(value) <= self.high]


def scaling_chart(title: str, series: Mapping[str, Sequence[Point]]) -> str:
    """The chart of seconds over rows, one line per tool."""
    points = [point for line in series.values() for point in line]
    across = Axis([x for x, _ in points], LEFT, WIDTH - RIGHT)
    up = Axis([y for _, y in points], HEIGHT - BOTTOM, TOP)
    body = [*_frame(title, across, up), *_lines(series, across, up)]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
    label = f"<title>{escape(title)}</title>"
    return "\n".join([head, label, f"<style>{STYLE}</style>", *body, "</svg>", ""])


def _frame(title: str, across: Axis, up: Axis) -> list[str]:
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    parts = [f'<rect class="page" width="{WIDTH}" height="{HEIGHT}" rx="6"/>']
    parts.append(_text(LEFT, 28, title, "text title"))
    for value in across.ticks():
        x = across.at(value)
        parts.append(f'<path class="grid" d="M{x:.1f} {TOP}V{bottom}"/>')
        parts.append(_text(x, bottom + 18, _short(value), "soft", "middle"))
    for value in up.ticks():
        y = up.at(value)
        parts.append(f'<path class="grid" d="M{LEFT} {y:.1f}H{right}"/>')
        parts.append(_text(LEFT - 8, y + 4, f"{value:g} s", "soft", "end"))
    parts.append(_text((LEFT + right) / 2, HEIGHT - 14, "rows in the run (both axes logarithmic)", "soft", "middle"))
    return parts


def _lines(series: Mapping[str, Sequence[Point]], across: Axis, up: Axis) -> list[str]:
    parts = []
    for number, (name, line) in enumerate(series.items()):
        spots = [(across.at(x), up.at(y)) for x, y in line]
        path = "L".join(f"{x:.1f} {y:.1f}" for x, y in spots)
        marks = "".join(f'<circle class="mark{number}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x, y in spots)
        last_x, last_y = spots[-1]
        label = _text(last_x + 12, last_y + 4, f"{name} {line[-1][1]:.2g} s", f"name mark{number}")
        parts.append(f'<path class="line line{number}" d="M{path}"/>{marks}{label}')
    return parts


def _text(x: float, y: float, content: str, kind: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(content)}</text>'


def _short(rows: float) -> str:
    return f"{rows / 1e6:g} M" if rows >= 1e6 else f"{rows / 1e3:g} k"
