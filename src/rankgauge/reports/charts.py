"""Sections of charts: the pictures of `rankgauge.charts`, as blocks of a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rankgauge.show.model import Block, chart_of

if TYPE_CHECKING:
    from rankgauge.reports.facts import Facts

__all__ = [
    "chart",
    "comparison_charts",
    "depth_charts",
    "group_charts",
    "query_charts",
]


def comparison_charts(facts: Facts) -> Iterator[Block]:
    """The systems beside each other, and what this set of queries could tell apart."""
    source = facts.comparison if facts.comparison is not None else facts.first
    yield from chart(facts, "forest", source)
    if facts.comparison is not None:
        yield from chart(facts, "detectable", facts.comparison)
    yield from chart(facts, "distribution", facts.first)


def depth_charts(facts: Facts) -> Iterator[Block]:
    """The measure at every cut-off, and precision against recall."""
    if any(each.definition.cutoff == "k" for each in facts.wanted.measures):
        yield from chart(facts, "at-k", facts.results)
    yield from chart(facts, "precision-recall", facts.results)


def group_charts(facts: Facts) -> Iterator[Block]:
    """The systems in every group of queries."""
    source = facts.comparison if facts.comparison is not None else facts.first
    yield from chart(facts, "groups", source)


def query_charts(facts: Facts) -> Iterator[Block]:
    """The two systems in focus, query by query."""
    if len(facts.focus) == 2:
        yield from chart(facts, "differences", facts.first, pair=facts.focus)
        yield from chart(facts, "scatter", facts.first, pair=facts.focus)


def chart(facts: Facts, kind: str, source: Any, **options: Any) -> Iterator[Block]:
    """A chart of this kind; none where none are wanted."""
    if facts.wanted.charts:
        yield chart_of(kind, source, **options)
