"""The ledger of judges: labels and pace, agreement, and the bias week by week."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import counted
from rankgauge.show.cells import interval_column
from rankgauge.show.model import Block, Column, Section, Table, Text, chart_of

if TYPE_CHECKING:
    from rankgauge.raters.ledger import Account, Ledger
    from rankgauge.trust.judges.pairs import Brief

__all__ = ["others_table", "sections"]

LEVEL: Final = 0.05
WORDS: Final = {"unsure": "can’t tell"}  # a state, as people call it


def sections(ledger: Ledger) -> Iterator[Section]:
    """Who judged how much and how fast; how well; and how that changed."""
    if not ledger.judges:
        yield Section("judges", "Judges", [Text("Nobody has judged yet.", "lead")])
        return
    pairs = counted(sum(each.pairs for each in ledger.judges), "label")
    lead = f"{counted(sum(each.pairs > 0 for each in ledger.judges), 'judge')} gave {pairs} with a grade."
    rows = Table.of_rows([each.row() for each in ledger.judges])
    yield Section("judges", "Labels and pace", [Text(lead, "lead"), _labels(ledger), rows])
    blocks: list[Block] = [others_table(ledger)] if any(each.others for each in ledger.judges) else []
    blocks += [_checked(ledger)] if any(each.gold or each.again for each in ledger.judges) else []
    if blocks:
        yield Section("ledger-agreement", "Agreement", blocks)
    if any(each.weeks for each in ledger.judges):
        several = any(len(each.weeks) > 1 for each in ledger.judges)
        chart: list[Block] = [chart_of("drift", ledger)] if several else []
        yield Section("drift", "Bias by week", [*chart, _weeks(ledger)])


def _labels(ledger: Ledger) -> Table:
    """Labels by state, time and cost; a column that would be empty is left out."""
    judges = ledger.judges
    states = list(dict.fromkeys(state for each in judges for state in each.states if state != "graded"))
    columns: list[tuple[Column, list[Any]]] = [
        (Column("judge"), [each.judge for each in judges]),
        (Column("kind", aside=True), [each.kind for each in judges]),
        (Column("pairs", "count", help="pairs with a grade"), [each.pairs for each in judges]),
    ]
    columns += [
        (Column(WORDS.get(state, state), "count", key=state), [each.states.get(state, 0) for each in judges])
        for state in states
    ]
    optional: list[tuple[Column, list[Any]]] = [
        (Column("rulings", "count"), [each.rulings or None for each in judges]),
        (Column("seconds", "number", 1, help="the median of a judgment"), [each.seconds for each in judges]),
        (Column("an hour", "count", help="judgments in an hour at work", key="hourly"), [x.hourly for x in judges]),
        (Column("cost", "number", 2), [each.cost for each in judges]),
    ]
    columns += [(column, cells) for column, cells in optional if any(cell is not None for cell in cells)]
    columns.append((Column("last", key="last"), [each.last[:10] for each in judges]))
    notes = ["Seconds: the median of a judgment; an hour: at work, pauses of over 5 minutes left out."]
    return Table.of_columns("labels", "", columns, notes=notes if len(columns) > 4 else [])


def others_table(ledger: Ledger) -> Table:
    """Every judge against the others."""
    columns = [Column("judge"), Column("pairs", "count", key="shared"), Column("same grade", "share", key="agreement")]
    columns += [Column("κ quadratic", "number", 3, key="kappa"), interval_column(LEVEL, "kappa_interval", digits=3)]
    columns += [Column("bias", "signed", 3), interval_column(LEVEL, "bias_interval", "signed interval", 3)]
    rows = [_others(each) for each in ledger.judges if each.others is not None]
    notes = ["The others: what the labels would be without the judge, without rulings."]
    notes.append("Bias: the mean grade minus the mean of the others’; above 0, the judge is the more lenient.")
    return Table("others", "With the others", columns, rows, notes)


def _others(each: Account) -> list[Any]:
    found: Brief | None = each.others
    assert found is not None
    kappa, bias = found.kappa, found.bias
    return [each.judge, found.shared, found.agreement.value, kappa.value, kappa[1:], bias.value, bias[1:]]


def _checked(ledger: Ledger) -> Table:
    """Every judge against grades that are known, and against oneself."""
    columns = [Column("judge")]
    for name, head in (("gold", "gold"), ("again", "again")):
        columns += [Column(f"{head} pairs", "count", key=f"{name}_shared", divided=True)]
        columns += [Column("same grade", "share", key=f"{name}_agreement")]
        columns += [Column("κ quadratic", "number", 3, key=f"{name}_kappa")]
    rows = [[each.judge, *_brief(each.gold), *_brief(each.again)] for each in ledger.judges if each.gold or each.again]
    notes = ["Gold: pairs whose grade is known. Again: pairs that the judge was asked twice."]
    return Table("checked", "With gold, and with oneself", columns, rows, notes)


def _brief(found: Brief | None) -> list[Any]:
    return [None, None, None] if found is None else [found.shared, found.agreement.value, found.kappa.value]


def _weeks(ledger: Ledger) -> Table:
    columns = [Column("judge"), Column("week"), Column("pairs", "count", key="shared"), Column("bias", "signed", 3)]
    rows = [[each.judge, *week] for each in ledger.judges for week in each.weeks]
    return Table("weeks", "", columns, rows, search=len(rows) > 20)
