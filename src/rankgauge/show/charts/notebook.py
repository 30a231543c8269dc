"""The charts that a notebook shows with the tables of a Result or a Comparison."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final

from rankgauge.comparison.compare import Comparison
from rankgauge.result import Result
from rankgauge.show.charts.pairs import differences, matrix
from rankgauge.show.charts.systems import distribution, forest, groups
from rankgauge.show.model import Chart, Page, Section

__all__ = ["in_notebook"]

MOST_BARS: Final = 500  # queries; a picture of more would make the notebook's file large


def in_notebook(found: Result | Comparison, tables: str) -> str:
    """The tables with pictures below; the tables alone where charts are not installed or there is nothing to draw."""
    from rankgauge.show.html import notebook

    charts = [Chart(draw.__name__, "", "", partial(draw, found)) for draw in _kinds(found)]
    return tables + notebook(Page("", [Section("charts", "", charts)], dict))


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
