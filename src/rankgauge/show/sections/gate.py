"""A check: the answer, the measures against baseline and minimums, the queries that lost most, what would settle it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rankgauge.comparison.gate.outcome import Compared
from rankgauge.errors import counted
from rankgauge.show.cells import interval_text, number_text
from rankgauge.show.model import Block, Bullets, Column, Fold, Mark, Notes, Section, Table, Text
from rankgauge.stats.inference import FEW, unseen_words

if TYPE_CHECKING:
    from rankgauge.comparison.gate.outcome import Check, Minimum

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
    """What would settle the answers, what was dropped, and the drift."""
    for test in check.tests:
        yield from _settling_words(test)
    for compared in check.compared:
        yield from _unseen_words(compared)
    for compared in check.compared:
        if compared.dropped:
            query, why = next(iter(compared.dropped.items()))
            number = counted(len(compared.dropped), "query does", "queries do")
            yield f"{compared.measure}: {number} not count, such as {query}: {why}."
        if compared.drift:
            yield _drift_words(compared)


def _unseen_words(each: Compared) -> Iterator[str]:
    """What the judged queries cannot show: where nothing changed, and where a loss could hide."""
    if each.answer == "unchanged" or (each.moved is not None and each.answer == "inconclusive"):
        drawn = f"the {each.queries - each.known:,} queries drawn by chance changed, nor of the {each.known:,} known"
        words = f"no {each.measure} of the {each.queries:,} judged queries changed"
        words = words if not each.known else f"none of {drawn}"
        moved = "" if each.moved is None else f" (results changed on {each.moved.results:,})"
        if each.answer == "inconclusive" and each.moved is not None:
            came = counted(each.moved.unjudged, "query", "queries")
            yield f"{words}{moved}, but unjudged documents came into the top of {came}: judge them first."
            return
        enough = math.ceil(-math.log(0.05) * 100)
        more = f"; {enough:,} queries would show 1 in 100" if each.unseen > 0.01 and not each.known else ""
        yield f"{words}{moved}. A change that touches {unseen_words(each.unseen)} could go unseen{more}."
    elif each.answer == "pass" and each.unseen > each.margin:
        unseen = unseen_words(each.unseen)
        yield f"A loss that touches {unseen}, and is larger than any seen here, could go unseen ({each.measure})."


def _settling_words(each: Compared | Minimum) -> Iterator[str]:
    if each.answer != "inconclusive":
        return
    if each.queries == 1:
        yield f"{each.measure} is inconclusive: one query has no bounds, because nothing shows how queries vary."
        return
    if isinstance(each, Compared) and each.moved is not None:
        return
    if not math.isfinite(each.bounds.low) and each.queries < FEW:
        yield f"{each.measure} is inconclusive: {each.queries} queries are too few for bounds; judge at least {FEW}."
        return
    if not math.isfinite(each.bounds.low):
        few = "too few of the queries that chance drew are judged to show how queries vary; judge more of the sample"
        yield f"{each.measure} is inconclusive: {few}."
        return
    what = f"{each.measure} is inconclusive: {each.queries:,} queries cannot tell"
    if each.queries_needed is None:
        yield f"{what}, and what was observed is too close to the limit for more queries to settle it."
    else:
        yield f"{what}; about {each.queries_needed:,} like these would (power 0.80, at what was observed)."


def _drift_words(compared: Compared) -> str:
    assert compared.drift is not None
    bounds, words = compared.drift.bounds, f"{compared.measure} since the first of {compared.drift.baselines} baselines"
    ends = interval_text(bounds[1:], sign=True)
    text = f"{words}: {number_text(bounds.value, sign=True)} (bounds {ends})."
    if compared.drift.answer == "fail":
        return f"{text} Small losses have added up to more than the margin."
    return text


def _notes(check: Check) -> Iterator[str]:
    """What the answers mean."""
    if check.compared:
        yield "lower and upper: one-sided 95 % bounds of the difference. PASS: lower ≥ −margin; FAIL: upper < −margin."
        if any(each.answer == "unchanged" for each in check.compared):
            yield "UNCHANGED: no judged value changed, so nothing was measured that could fail; exit 0."
    if check.minimums:
        yield "A minimum: PASS if the one-sided 95 % lower bound of the mean reaches it; FAIL if the upper does not."
    if check.candidate.design is not None:
        yield f"{check.candidate.design.words} Here: per {check.candidate.design.per}."
    rules = {rule: check.protocol[rule] for rule in check.candidate.protocol.changed}
    if rules:
        yield f"Rules: {' '.join(f'{rule}={value}' for rule, value in rules.items())}"
