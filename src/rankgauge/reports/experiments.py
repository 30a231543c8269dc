"""The section on experiments: offline differences beside online ones, as `rankgauge align` finds them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import counted
from rankgauge.reports.charts import alignment_chart
from rankgauge.show.cells import interval_text
from rankgauge.show.model import Block, Bullets, Column, Fold, Table, Text, Tile, Tiles, capital
from rankgauge.show.sections.online import (
    DECIDED,
    coefficient_names,
    decision_words,
    prediction_words,
    sign_names,
)
from rankgauge.stats.choice import CRITERIA
from rankgauge.stats.correlation import COEFFICIENTS
from rankgauge.trust.online.tracked import ONLINE

if TYPE_CHECKING:
    from rankgauge.reports.facts import Facts
    from rankgauge.trust.online.align import Alignment

__all__ = ["offline_and_online"]

MOST: Final = 1_000  # rows of the table of units


def offline_and_online(facts: Facts) -> Iterator[Block]:
    """Whether differences of the measure went with those of the business, where a table of experiments says so."""
    found = facts.wanted.experiments
    if found is None:
        return
    units = found.units
    number = counted(len(units), units.one, units.kind)
    yield Text(f"{number} in {units.source}: {found.first.name} offline, {units.online_name} online.")
    yield Tiles(list(_tiles(found)))
    if found.warnings:
        yield Bullets([f"{capital(doubt.text)}." for doubt in found.warnings], "warning")
    yield from alignment_chart(facts)
    yield _coefficients(found)
    yield _signs(found)
    yield _decisions(found)
    if found.choice is not None:
        yield _measures(found)
    yield Fold("units", f"Every {units.one}", [_units(found)], f"{len(units):,}")


def _tiles(found: Alignment) -> Iterator[Tile]:
    first = found.first
    yield Tile("Pearson", Column("", "number", 2), first.pearson.value, f"from {interval_text(first.pearson[1:], 2)}")
    same = first.signs["all"]
    yield Tile("same direction", Column("", "share", 0), same.value, f"{same.part:,.10g} of {same.whole:,.10g}")
    made, (yes, no) = first.decisions, DECIDED[found.units.kind]
    yield Tile(
        f"{yes}, and worse online", Column("", "count"), made.wrongly_shipped, f"of {int(made.counts[0].sum()):,}"
    )
    yield Tile(f"{no}, and better online", Column("", "count"), made.wrongly_held, f"of {int(made.counts[1].sum()):,}")


def _coefficients(found: Alignment) -> Table:
    columns = [Column("correlation"), Column("value", "number"), Column("interval", "interval")]
    each = found.first.coefficients
    rows: list[list[Any]] = [
        [name, each[kind].value, each[kind][1:]] for kind, name in coefficient_names(found).items()
    ]
    notes = [f"{prediction_words(found)}."]
    if found.reliability is not None:
        notes.append(f"Reliability of the online differences: {found.reliability:.2f}.")
    return Table("correlations", "Correlations", columns, rows, sort=False, notes=notes)


def _signs(found: Alignment) -> Table:
    columns = [Column(found.units.kind), Column("same sign", "count"), Column("of", "count")]
    columns += [Column("share", "number"), Column("interval", "interval")]
    rows: list[list[Any]] = [
        [name, share.part, share.whole, share.value, (share.low, share.high)]
        for kind, name in sign_names(found).items()
        for share in [found.first.signs[kind]]
    ]
    return Table(
        "directions", "Same direction offline and online", columns, rows, sort=False, notes=["Wilson's interval."]
    )


def _decisions(found: Alignment) -> Table:
    made = found.first.decisions
    columns = [Column("offline"), *(Column(f"online {word}", "count") for word in ONLINE)]
    columns += [Column("mean online", "signed")]
    rows: list[list[Any]] = [
        [name, *counts.tolist(), mean]
        for name, counts, mean in zip(DECIDED[found.units.kind], made.counts, made.mean, strict=True)
    ]
    return Table("decisions", "Decisions", columns, rows, sort=False, notes=decision_words(found))


def _measures(found: Alignment) -> Table:
    assert found.choice is not None
    columns = [Column("offline"), *(Column(each.name, "number") for each in COEFFICIENTS.values())]
    columns += [Column("same sign", "share", 1), Column("chosen", "count")]
    rows: list[list[Any]] = [
        [
            each.name,
            *(each.coefficients[kind].value for kind in COEFFICIENTS),
            each.signs["all"].value,
            found.choice.chosen[each.name],
        ]
        for each in found.tracked
    ]
    held, best = found.choice.held_out, found.choice.flattered
    note = (
        f"Chosen: for each {found.units.one} on all the others, by {CRITERIA[found.choice.by].words}. Held out, what "
        f"was chosen has the sign of {held.part:,.10g} of {held.whole:,.10g}; {found.choice.best}, chosen on all, has "
        f"that of {best.part:,.10g} of {best.whole:,.10g}, which flatters."
    )
    return Table("measures", f"Which measure tracks {found.units.online_name} best", columns, rows, notes=[note])


def _units(found: Alignment) -> Table:
    every, most = found.rows(), found.first.most_influential(MOST)
    rows = every if len(every) <= MOST else [every[at] for at in most]
    columns = [Column(head.removeprefix("offline: "), _kind(head, value)) for head, value in rows[0].items()]
    cells = [["yes" if value is True else "no" if value is False else value for value in row.values()] for row in rows]
    notes = [f"Of {len(every):,} those with the most influence on Pearson's r."] if len(every) > MOST else []
    return Table("every-unit", f"Every {found.units.one}", columns, cells, search=len(rows) > 8, notes=notes)


def _kind(head: str, value: object) -> str:
    if not isinstance(value, float):
        return "text"
    return "number" if head in ("standard_error", "weight", "pearson_without") else "signed"
