"""The section on experiments: offline differences beside online ones, as `rankgauge align` finds them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rankgauge.errors import counted
from rankgauge.reports.charts import chart
from rankgauge.show.cells import interval_text
from rankgauge.show.model import Block, Column, Fold, Text, Tile, Tiles
from rankgauge.show.sections.online import DECIDED, overview, prediction_words, units_table, warned

if TYPE_CHECKING:
    from rankgauge.reports.facts import Facts
    from rankgauge.trust.online.align import Alignment

__all__ = ["offline_and_online"]

MOST: Final = 1_000  # rows of the table of units


def offline_and_online(facts: Facts) -> Iterator[Block]:
    """Whether differences of the measure went with those of the business, where a table of experiments says so."""
    alignment = facts.wanted.experiments
    if alignment is None:
        return
    units = alignment.units
    number = counted(len(units), units.one, units.kind)
    yield Text(f"{number} in {units.source}. {prediction_words(alignment)}.")
    yield Tiles(list(_tiles(alignment)))
    yield from warned(alignment)
    yield from chart(facts, "alignment", alignment)
    yield from overview(alignment)
    yield Fold("units", f"Every {units.one}", [units_table(alignment, MOST)], f"{len(units):,}")


def _tiles(alignment: Alignment) -> Iterator[Tile]:
    first = alignment.first
    yield Tile("Pearson", Column("", "number", 2), first.pearson.value, f"from {interval_text(first.pearson[1:], 2)}")
    same = first.signs["all"]
    yield Tile("same direction", Column("", "share", 0), same.value, f"{same.part:,.10g} of {same.whole:,.10g}")
    decisions, (yes, no) = first.decisions, DECIDED[alignment.units.kind]
    shipped, held = (f"of {int(counts.sum()):,}" for counts in decisions.counts)
    yield Tile(f"{yes}, and worse online", Column("", "count"), decisions.wrongly_shipped, shipped)
    yield Tile(f"{no}, and better online", Column("", "count"), decisions.wrongly_held, held)
