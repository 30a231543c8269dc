"""The pictures that a notebook shows with the tables of a Result or a Comparison.

They are SVG in the page itself, so that they need no script and stay when the notebook is sent on; text takes the
colour of its surroundings, light or dark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rankgauge.comparison.compare import Comparison
from rankgauge.errors import RankgaugeError
from rankgauge.result import Result
from rankgauge.show.charts.files import svg
from rankgauge.show.charts.pairs import differences, matrix
from rankgauge.show.charts.systems import distribution, forest, groups
from rankgauge.show.charts.theme import INHERIT

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["in_notebook"]

SIZE: Final = 640
MOST_BARS: Final = 500  # queries; a picture of more would make the notebook's file large


def in_notebook(found: Result | Comparison, tables: str) -> str:
    """The tables with pictures below; the tables alone where charts are not installed or there is nothing to draw."""
    pictures = []
    for draw in _kinds(found):
        try:
            pictures.append(_inherited(svg(draw(found, theme=INHERIT.name, width=SIZE))))
        except RankgaugeError:
            continue
    return tables + "".join(f"<div style='overflow-x:auto'>{each}</div>" for each in pictures)


def _kinds(found: Result | Comparison) -> Iterator[Any]:
    if isinstance(found, Result):
        yield distribution
        if found.groups:
            yield groups
        return
    yield forest
    values = found.first.values
    if len(values.systems) > 2:
        yield matrix
    elif len(values.queries) <= MOST_BARS:
        yield differences


def _inherited(picture: str) -> str:
    """The picture without a background, its text in the colour around it."""
    return picture.replace(INHERIT.text, "currentColor")
