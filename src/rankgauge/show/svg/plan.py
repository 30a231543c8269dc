"""Plans → SVG: the smallest difference that a number of queries shows, as a curve, with what was asked marked on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from html import escape
from typing import TYPE_CHECKING, Final

from rankgauge.show.sections.plan import needed_cells, notes, set_cells, size_text
from rankgauge.show.svg.drawing import document, line, page, path, png, text

if TYPE_CHECKING:
    from rankgauge.comparison.plan.plan import Plan

__all__ = ["PICTURES", "picture", "svg"]

LEFT, RIGHT, TOP, BOTTOM = 110, 1060, 160, 560
STEPS, MARKS = 120, 6
CURVES: Final = ("#2f7dc0", "#8a5cc2", "#d0672b", "#3a9a63")  # one for each question
NIGHT: Final = ("#5aa7e6", "#b590ea", "#ee8c52", "#66c58e")
TICKS: Final = (1, 2, 5)


def svg(found: Plan) -> str:
    """The picture of a plan."""
    view, words = _View.of(found), _notes(found)
    curves = [(question, view.within(view.curve(found, question))) for question in found.questions]
    parts = [
        text(LEFT - 60, 52, "What a number of queries can show", 30, weight=600),
        *_lines(80, [_what(found), f"({found.deviation.words})"]),
        *_axes(view),
        *_band(found, view),
        *(path(points, f"rg-curve{i}") for i, (_, points) in enumerate(curves)),
        *_names(curves),
        *_marks(found, view),
        *_lines(BOTTOM + 92, words),
    ]
    light = {f"rg-curve{i}": f"stroke:{colour}" for i, colour in enumerate(CURVES)}
    light |= {f"rg-name{i}": f"fill:{colour}" for i, colour in enumerate(CURVES)} | {"rg-band": "fill:#2f7dc022"}
    dark = {f"rg-curve{i}": f"stroke:{colour}" for i, colour in enumerate(NIGHT)}
    dark |= {f"rg-name{i}": f"fill:{colour}" for i, colour in enumerate(NIGHT)} | {"rg-band": "fill:#5aa7e62a"}
    return document(parts, BOTTOM + 92 + 24 * len(words), _what(found), light=light, dark=dark)


class _View:
    """Where a number of queries (logarithmic) and a size (from 0) are in the picture."""

    def __init__(self, low: float, high: float, most: float) -> None:
        self.low, self.high, self.most = low, high, most

    @classmethod
    def of(cls, found: Plan) -> _View:
        """From the smallest number of queries to the largest that was asked for."""
        asked = [*found.sets, *(answer.queries for answer in found.answers)]
        low, high = max(5, min(asked) // 3), max(asked) * 2
        high = max(high, low * 50)
        sizes = [size for sizes in found.sets.values() for size in sizes.values()]
        wanted = 1.4 * max([*sizes, *(answer.size for answer in found.answers)])
        top = max(max(found.curve(question, [low])) for question in found.questions)
        return cls(low, high, min(wanted, top))

    def x(self, queries: float) -> float:
        share = (math.log(queries) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return LEFT + (RIGHT - LEFT) * share

    def y(self, size: float) -> float:
        return BOTTOM - (BOTTOM - TOP) * min(size / self.most, 1.0)

    def numbers(self) -> list[int]:
        """Numbers of queries, evenly spread over the picture."""
        ratio = (self.high / self.low) ** (1 / STEPS)
        return sorted({round(self.low * ratio**step) for step in range(STEPS + 1)})

    def curve(self, found: Plan, question: str, deviation: float | None = None) -> list[tuple[float, float]]:
        """The points of a curve; those above the picture are at its upper edge."""
        numbers = self.numbers()
        pairs = zip(numbers, found.curve(question, numbers, deviation), strict=True)
        return [(self.x(queries), self.y(size)) for queries, size in pairs]

    def within(self, points: list[tuple[float, float]]) -> list[tuple[float, float]]:
        """The part of a curve that is in the picture."""
        return [(x, y) for x, y in points if y > TOP]


def _what(found: Plan) -> str:
    return f"Deviation of the differences, query by query: {found.deviation.value:.4f}"


def _notes(found: Plan) -> list[str]:
    """What the curves mean; the shade stands for what the table writes as ≤."""
    shade = f"Shade: {found.questions[0]}, with the deviation at either end of its interval."
    words = [note for note in notes(found) if not note.startswith("≤")]
    return [*words, shade] if found.deviation.interval else words


def _lines(y: int, words: list[str]) -> Iterator[str]:
    for i, each in enumerate(words):
        yield text(LEFT - 60, y + 24 * i, each, 15, "rg-quiet")


def _axes(view: _View) -> Iterator[str]:
    yield line(LEFT, BOTTOM, RIGHT, BOTTOM)
    for queries in _decades(view.low, view.high):
        yield line(view.x(queries), TOP, view.x(queries), BOTTOM)
        yield text(view.x(queries), BOTTOM + 26, f"{queries:,}", 15, "rg-quiet", "middle")
    for size in _even(view.most):
        yield line(LEFT, view.y(size), RIGHT, view.y(size))
        yield text(LEFT - 12, view.y(size) + 5, f"{size:g}", 15, "rg-quiet", "end")
    yield text((LEFT + RIGHT) / 2, BOTTOM + 56, "queries", 16, "rg-quiet", "middle")
    yield text(LEFT - 60, TOP - 16, "size, in units of the measure", 15, "rg-quiet")


def _decades(low: float, high: float) -> list[int]:
    """1, 2, 5, 10, 20, … within the limits; only the powers of ten where there would be many."""
    found = [step * 10**power for power in range(13) for step in TICKS if low <= step * 10**power <= high]
    return found if len(found) <= 12 else [tick for tick in found if str(tick).startswith("1")]


def _even(most: float) -> list[float]:
    """Four to ten round numbers from 0 up."""
    unit = 10.0 ** math.floor(math.log10(most / 4))
    step = next(unit * each for each in (1, 2, 5, 10) if most / (unit * each) <= 8)
    return [round(step * i, 12) for i in range(int(most / step) + 1)]


def _band(found: Plan, view: _View) -> Iterator[str]:
    """How far off the first curve may be, because the pilot is a sample."""
    if found.deviation.interval:
        low, high = (view.curve(found, found.questions[0], end) for end in found.deviation.interval)
        yield path([*low, *reversed(high)], "rg-band", area=True)


def _names(curves: list[tuple[str, list[tuple[float, float]]]]) -> Iterator[str]:
    """A name at the end of each curve, none over another."""
    ends = sorted(((points[-1], i, question) for i, (question, points) in enumerate(curves) if points), reverse=True)
    lowest = BOTTOM - 2.0
    for (x, y), i, question in sorted(ends, key=lambda end: -end[0][1]):
        at = min(y + 5, lowest)
        lowest = at - 20
        yield text(x + 12, at, question, 17, f"rg-name{i}", weight=600)


def _marks(found: Plan, view: _View) -> Iterator[str]:
    """What was asked: a size and the queries that it needs, or a set and the size that it shows."""
    asked = [(answer.question, answer.queries, answer.size) for answer in found.answers]
    asked += [(question, queries, sizes[question]) for queries, sizes in found.sets.items() for question in sizes]
    if len(asked) > MARKS:
        return
    for question, queries, size in asked:
        i, x, y = found.questions.index(question), view.x(queries), view.y(size)
        yield path([(LEFT, y), (x, y), (x, BOTTOM)], f"rg-curve{i}", dashes="3 5").replace('width="3"', 'width="1.5"')
        yield f'<circle class="rg-name{i}" cx="{x:.2f}" cy="{y:.2f}" r="7"/>'
        yield text(x + 12, y - 10, f"{size_text(size)}: {queries:,} queries", 17, "rg-text", weight=600)


# ---- files ----------------------------------------------------------------------------------------------------------


def picture(found: Plan, suffix: str) -> bytes:
    """What a file of this suffix holds."""
    return PICTURES[suffix](found)


def _html(found: Plan) -> bytes:
    """The picture with its tables."""
    shown = [cells for cells, there in ((needed_cells(found), found.answers), (set_cells(found), found.sets)) if there]
    words = "".join(f"<p>{escape(note)}</p>" for note in notes(found))
    return page("How many queries", svg(found) + "\n".join(_html_table(*cells) for cells in shown) + words)


def _html_table(heads: list[str], rows: list[list[str]]) -> str:
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(each)}</td>" for each in row) + "</tr>" for row in rows)
    return f"<table><tr>{head}</tr>\n{body}</table>"


PICTURES: Final[dict[str, Callable[[Plan], bytes]]] = {
    ".svg": lambda found: svg(found).encode(),
    ".png": lambda found: png(svg(found)),
    ".html": _html,
}
