"""What came of the loop: the verdicts, every system per search and per query, and what the numbers rest on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rankgauge.comparison.verdict import percent, verdict
from rankgauge.errors import counted
from rankgauge.show.cells import aged, interval_column
from rankgauge.show.model import Bullets, Column, Notes, Section, Table, capital
from rankgauge.validation.labels import FAMILY, JUDGES

if TYPE_CHECKING:
    from rankgauge.comparison.comparison import Comparison
    from rankgauge.errors import Doubt
    from rankgauge.result import Evaluation
    from rankgauge.steps.looped import Looped

__all__ = ["sections"]

CAUTIONS: Final = 2  # that are said here; the report has the others
# Queries without a number, and judges not to rely on: said in full wherever the numbers are.
LOUD: Final = ("sample-lacking", "unanswered", FAMILY, *JUDGES)


def sections(looped: Looped) -> Iterator[Section]:
    """The answer first, in a dozen lines; the steps themselves are told when they are done."""
    blocks: list[Any] = []
    told = _doubts(looped)
    if looped.comparison is not None:
        pairs = looped.comparison.first.against(looped.comparison.baseline)
        blocks.append(Bullets([f"{verdict(pair, brief=True)}." for pair in pairs], "lead"))
    if looped.evaluation is not None:
        blocks.append(_table(looped.evaluation, looped.comparison))
    loud = [doubt for doubt in told if doubt.code in LOUD]
    told = [*loud, *(doubt for doubt in told if doubt not in loud)]
    shown = told if looped.report is None else told[: max(CAUTIONS, len(loud))]
    said = [*looped.cautions, *(f"{doubt.text} ({doubt.code})" for doubt in shown)]
    blocks.append(Notes([f"Caution: {each}." for each in said]))
    blocks.append(Bullets([*_rests_on(looped), *_ending(looped.report, len(told) - len(shown))]))
    yield Section("loop", "Loop", blocks)


def _doubts(looped: Looped) -> list[Doubt]:
    """Where not to trust labels and verdicts; what concerns other measures than the first is in the report."""
    comparison = looped.comparison
    if comparison is None:
        return [] if looped.evaluation is None else looped.evaluation.source_doubts
    others = tuple(f"{each}: " for each in [*comparison.measures][1:])
    return [doubt for doubt in comparison.warnings if not (others and doubt.text.startswith(others))]


def _ending(report: str | None, more: int) -> Iterator[str]:
    """What is in the report, and where that is."""
    if report is not None:
        if more:
            yield f"{counted(more, 'more caution')} in the report."
        yield f"Report: {report}"


def _table(evaluation: Evaluation, comparison: Comparison | None) -> Table:
    """A row for every system: the first measure per search and per query, the others, and the judged share."""
    first, *others = evaluation.measures
    k = next(iter(evaluation.first.judged))
    sampled = evaluation.first.design is not None
    columns = [Column("system")]
    for per in ("search", "query") if sampled else ():
        columns += [Column(f"per {per}", "number"), interval_column(0.05, f"per {per}")]
    columns += [] if sampled else [Column(str(first), "number")]
    columns += [Column(str(each), "number", aside=sampled) for each in others]
    columns.append(Column(f"Judged@{k}", "share", 0))
    rows = []
    for name, result in evaluation.items():
        row: list[Any] = [name]
        for per in ("search", "query") if sampled else ():
            own = result.per(per)  # type: ignore[arg-type]
            row += [own[first], own.estimate(first)[1:]]
        row += [] if sampled else [result[first]]
        rows.append([*row, *(result[each] for each in others), result.judged[k]])
    queries = counted(evaluation.first.evaluated, "query", "queries")
    return Table("systems", f"{first} of {queries}{_meaning(comparison)}", columns, rows)


def _meaning(comparison: Comparison | None) -> str:
    """What the numbers of the verdicts are."""
    if comparison is None:
        return ""
    pair = comparison.first.against(comparison.baseline)[0]
    per = f" per {pair.per}" if pair.per else ""
    return f"; verdicts{per}, with {percent(pair.alpha)} interval and p"


def _answers(looped: Looped) -> Iterator[str]:
    """The age of every system's answers, and the command that has it asked again."""
    if looped.asked:
        again = f"; to ask again: rankgauge loop --again {looped.older}" if looped.older else ""
        yield f"Answers: {aged({name: each.age for name, each in looped.asked.items()})}{again}."


def _rests_on(looped: Looped) -> Iterator[str]:
    yield from _answers(looped)
    checks = looped.agreement
    labels = None if looped.evaluation is None else looped.evaluation.first.judgments
    if labels is not None and labels.credit and labels.judges != [each.judge for each in looped.judged]:
        yield f"{capital(labels.credit)}."
    for judged in looped.judged:
        again = f"rankgauge judge --judge {judged.judge} --again"
        lost = f", {judged.open:,} have no grade (ask again: {again})" if judged.open else ""
        paid = f", {judged.paid} this time" if judged.paid and judged.calls else ""
        yield f"Labels: {judged.judge} graded {judged.graded:,} of {counted(judged.pairs, 'pair')}{lost}{paid}."
        if judged.judge in checks:
            yield f"{checks[judged.judge]}."
