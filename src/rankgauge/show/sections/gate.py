"""A check: the answer, the measures against baseline and minimums, the queries that lost most, what could go unseen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rankgauge.comparison.gate.claims import claims, drift_words, unseen_loss
from rankgauge.errors import counted
from rankgauge.show.model import Block, Bullets, Column, Fold, Mark, Notes, Section, Table, Text

if TYPE_CHECKING:
    from rankgauge.comparison.gate.answers import Compared, Minimum
    from rankgauge.comparison.gate.outcome import Check

__all__ = ["sections"]

# Answer → the kind of its text and of its cell.
KINDS: Final = {"pass": "good", "fail": "bad", "inconclusive": "warn", "unchanged": "quiet"}
SENTENCES: Final = KINDS | {"unchanged": "lead"}


def sections(check: Check) -> Iterator[Section]:
    """The whole; the queries that lost most are folded away where something can be."""
    blocks: list[Block] = [Text(check.title, SENTENCES[check.answer])]
    blocks += [_compared_table(check)] if check.compared else []
    blocks += [_minimums_table(check)] if check.minimums else []
    findings = [*_findings(check)]
    blocks += [*([Bullets(findings)] if findings else []), *_lost(check)]
    blocks += [Bullets([f"{doubt.text}." for doubt in check.warnings], "warning")] if check.warnings else []
    yield Section("check", "Check", [*blocks, Notes([*_notes(check)])])


# ---- tables ----------------------------------------------------------------------------------------------------------


def _compared_table(check: Check) -> Table:
    """A row for each measure that is compared."""
    columns = [Column("measure"), Column("candidate", "number"), Column("baseline", "number")]
    columns += [*_bounds("difference", "signed"), Column("margin", "plain"), Column("queries", "count", aside=True)]
    rows = [
        [each.measure, each.candidate, each.baseline, *each.bounds, each.margin, each.queries, _answer(each)]
        for each in check.compared
    ]
    return Table("measures", "", [*columns, Column("answer")], rows)


def _minimums_table(check: Check) -> Table:
    """A row for each minimum."""
    columns = [Column("measure"), *_bounds("mean", "number"), Column("minimum", "plain"), Column("queries", "count")]
    rows = [[each.measure, *each.bounds, each.minimum, each.queries, _answer(each)] for each in check.minimums]
    return Table("minimums", "", [*columns, Column("answer")], rows)


def _bounds(name: str, kind: str) -> list[Column]:
    return [Column(name, kind), Column("lower", kind, key=f"{name}_low"), Column("upper", kind, key=f"{name}_high")]


def _answer(each: Compared | Minimum) -> Mark:
    return Mark(each.answer.upper(), KINDS[each.answer])


def _lost(check: Check) -> Iterator[Fold]:
    """The queries that lost most, of each measure."""
    columns = [Column("query", "query"), Column("candidate", "number"), Column("baseline", "number")]
    columns += [Column("difference", "signed")]
    for measure in dict.fromkeys(each.measure for each in check.lost_most):
        rows: list[list[Any]] = [
            [each.query_id, each.candidate, each.baseline, each.difference]
            for each in check.lost_most
            if each.measure == measure
        ]
        key = f"lost {measure}"
        yield Fold(key, f"Queries that lost most {measure}", [Table(key, "", columns, rows)])


# ---- words -----------------------------------------------------------------------------------------------------------


def _findings(check: Check) -> Iterator[str]:
    """What is asserted beside the first line, what could go unseen, what was dropped, and the drift."""
    yield from claims(check)
    yield from unseen_loss(check)
    for compared in check.compared:
        if compared.dropped:
            query, why = next(iter(compared.dropped.items()))
            number = counted(len(compared.dropped), "query does", "queries do")
            yield f"{compared.measure}: {number} not count, such as {query}: {why}."
        if compared.drift:
            yield drift_words(compared)


def _notes(check: Check) -> Iterator[str]:
    """What the answers mean."""
    if check.compared:
        yield "Bounds: one-sided, 95 %. PASS if the lower one is at least −margin, FAIL if the upper one is below it."
        if any(each.answer == "unchanged" for each in check.compared):
            yield "UNCHANGED: no judged value changed, so nothing was measured that could fail."
    if check.minimums:
        yield "A minimum: PASS if the one-sided 95 % lower bound of the mean reaches it, FAIL if the upper does not."
    if check.candidate.design is not None:
        yield f"{check.candidate.design.words} Here: per {check.candidate.design.per}."
    rules = {rule: check.protocol[rule] for rule in check.candidate.protocol.changed}
    if rules:
        yield f"Rules: {' '.join(f'{rule}={value}' for rule, value in rules.items())}"
