"""Prediction-powered values: people alone, the model alone, and people with the model's help."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rankgauge.comparison.ranges import too_few
from rankgauge.comparison.verdict import percent
from rankgauge.errors import counted
from rankgauge.show.cells import interval_column
from rankgauge.show.model import Column, Section, Table, chart_of
from rankgauge.stats.inference import FEW as FEW_DIFFER
from rankgauge.stats.ppi import INTERVALS

if TYPE_CHECKING:
    from rankgauge.trust.ppi import Powered, PredictionPowered

__all__ = ["powered_table", "sections"]

FEW: Final = 25  # queries judged by people, below which intervals of skewed values are too narrow
FEW_WORDS: Final = f"Fewer than {FEW} queries are judged by humans: with skewed values the intervals are too narrow."


def sections(powered: PredictionPowered) -> Iterator[Section]:
    """The estimates as a picture and as a table."""
    title = f"{powered.measure} under human labels"
    rows = Table.of_rows(powered.rows())
    yield Section("ppi", title, [chart_of("ppi", powered), powered_table(powered), rows])


def powered_table(powered: PredictionPowered) -> Table:
    """A row for every system and for every difference of two."""
    columns = [Column("system"), Column("human", "number", key="people"), interval_column(powered.alpha, "people")]
    columns += [Column("LLM", "number", key="model", aside=True), Column("human + LLM", "number", key="powered")]
    columns += [interval_column(powered.alpha, "powered"), Column("λ", "number", 3, key="lambda", aside=True)]
    columns += [Column("narrower", "share", aside=True)]
    columns += [Column("needed", "count")] if powered.width is not None else []
    rows = [_row(each, powered) for each in [*powered.systems, *powered.pairs]]
    title = f"{powered.measure} under human labels: "
    title += f"{powered.judged:,} of {powered.queries:,} queries judged by them"
    return Table("ppi", title, columns, rows, [*_notes(powered)])


def _row(each: Powered, powered: PredictionPowered) -> list[Any]:
    people, helped = each.people, each.powered
    row = [each.name, people.value, (people.low, people.high), each.model, helped.value, (helped.low, helped.high)]
    return [*row, each.power, each.narrower, *([each.needed] if powered.width is not None else [])]


def _notes(powered: PredictionPowered) -> Iterator[str]:
    if too_few(powered.judged, powered.alpha):
        yield f"No intervals: {powered.judged} queries judged by humans are too few."
    else:
        yield f"Intervals of {percent(powered.alpha)}: {INTERVALS[powered.interval]}."
        yield from _alone(powered)
    for each in [*powered.systems, *powered.pairs]:
        if each.needed_alone is not None:
            more = None if each.needed is None else max(0, each.needed - powered.judged)
            enough = f"all {counted(powered.queries, 'query', 'queries')} do not suffice"
            how = enough if more is None else f"{more:,} more judged by humans"
            without = f"{max(0, each.needed_alone - powered.judged):,} more without the model"
            yield f"For an interval of {powered.width:g}, {each.name}: {how}; {without}."
    if powered.protocol.changed:
        yield f"Rules: {powered.protocol}."
    if powered.left_out:
        judged = counted(len(powered.left_out), "query", "queries")
        such = f"such as {powered.left_out[0]}"
        yield f"Left to the LLM: {judged} of which humans judged other pairs than it, {such}."
    kept = "that are left " * bool(powered.left_out)
    yield f"Right on average if the human-judged queries {kept}are a random sample of all."
    if powered.judged < FEW and not too_few(powered.judged, powered.alpha):
        yield FEW_WORDS


def _alone(powered: PredictionPowered) -> Iterator[str]:
    """The systems whose values hardly differ, so that the interval of people is the one to take, where there is one."""
    lacking = [each for each in [*powered.systems, *powered.pairs] if each.powered.low != each.powered.low]
    for known in (True, False):
        names = ", ".join(each.name for each in lacking if (each.people.low == each.people.low) == known)
        if names:
            few = f"{names}: fewer than {FEW_DIFFER} human-judged queries differ, too few for an interval"
            yield f"{few} of human + LLM. Use that of human alone." if known else f"{few}."
