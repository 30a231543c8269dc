"""Pictures of quality: the interval that unjudged documents leave open, and what label noise does to every system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rankgauge.show.grid import short
from rankgauge.show.svg.drawing import document, line, rect, text

if TYPE_CHECKING:
    from rankgauge.trust.judgments.noise import LabelNoise
    from rankgauge.trust.judgments.quality import Quality

__all__ = ["intervals_svg", "noise_svg", "range_rows"]

LEFT, RIGHT, TOP, LINE = 290, 930, 110, 40


def intervals_svg(quality: Quality) -> str:
    """Each run's value, the interval around it, and its expected value."""
    rows = []
    for each in quality.runs:
        value, low, high = each.bounds.mean
        words = f"{value:.4f} in [{low:.4f}, {high:.4f}]"
        rows.append((each.name, value, low, high, each.expected, words))
    title = f"{quality.measure}: what unjudged documents leave open"
    note = "bar: over every way to grade the open documents; line: the value; dashed: expected, optimistic"
    return range_rows(title, note, rows)


def noise_svg(noise: LabelNoise) -> str:
    """Each system's value as labelled, and the middle 95 % of what it may be."""
    rows = []
    for each in noise.scores:
        words = f"{each.value:.4f}, noisy {each.low:.4f} to {each.high:.4f}"
        rows.append((each.system, each.value, each.low, each.high, each.mean, words))
    title = f"{noise.measure}: what wrong labels would make of it"
    return range_rows(title, f"bar: 95 % of {len(noise.draws):,} draws; line: as labelled; dashed: their mean", rows)


def range_rows(title: str, note: str, rows: Sequence[tuple[str, float, float, float, float, str]]) -> str:
    """Name, value, low, high, a second value, words: a bar for each on one scale."""
    ends = [number for row in rows for number in row[1:5] if number == number] or [0.0, 1.0]
    low, high = min(ends), max(ends)
    margin = (high - low) * 0.05 or 0.05
    low, high = low - margin, high + margin

    def x(number: float) -> float:
        return LEFT + (number - low) / (high - low) * (RIGHT - LEFT)

    parts = [text(40, 58, short(title, 80), 28, weight=600), text(40, 88, note, 15, "rg-quiet")]
    for at, (name, value, smallest, largest, second, words) in enumerate(rows):
        y = TOP + LINE * at
        parts += [text(LEFT - 20, y + 20, short(name, 30), 16, anchor="end")]
        parts += [rect(LEFT, y + 4, RIGHT - LEFT, 22, "rg-empty")]
        parts += [rect(x(smallest), y + 4, max(1.0, x(largest) - x(smallest)), 22, "rg-bar")]
        parts += [rect(x(value) - 2, y - 1, 4, 32, "rg-text")]
        parts += [line(x(second), y, x(second), y + 30, "rg-mark", "4 3")] if second == second else []
        parts += [text(RIGHT + 16, y + 20, words, 13, "rg-quiet")]
    end = TOP + LINE * len(rows)
    for number in (low, (low + high) / 2, high):
        parts += [
            line(x(number), TOP - 6, x(number), end),
            text(x(number), end + 22, f"{number:.3f}", 14, "rg-quiet", "middle"),
        ]
    mark = {"rg-mark": "stroke:#d0672b;stroke-width:3"}
    return document(parts, end + 44, title, light=mark, dark={"rg-mark": "stroke:#ee8c52;stroke-width:3"})
