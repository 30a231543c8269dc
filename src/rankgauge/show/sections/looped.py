"""What came of the loop: the verdicts, every system per search and per query, and what the numbers rest on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import counted
from rankgauge.show.cells import interval_column
from rankgauge.show.model import Bullets, Column, Notes, Section, Table

if TYPE_CHECKING:
    from rankgauge.comparison.comparison import Comparison
    from rankgauge.result import Evaluation
    from rankgauge.steps.looped import Looped

__all__ = ["sections"]

CAUTIONS: Final = 2  # that are shown; the report has all


def sections(looped: Looped) -> Iterator[Section]:
    """The answer first; the steps themselves are told when they are done."""
    blocks: list[Any] = []
    if looped.comparison is not None:
        first = looped.comparison.first
        blocks.append(Bullets([f"{pair.verdict}." for pair in first.against(looped.comparison.baseline)], "lead"))
    if looped.evaluation is not None:
        blocks.append(_table(looped.evaluation))
    blocks.append(Notes([*(f"Caution: {each}." for each in looped.cautions), *_cautions(looped.comparison)]))
    blocks.append(Bullets([*_rests_on(looped)]))
    yield Section("loop", "Loop", blocks)


def _cautions(comparison: Comparison | None) -> Iterator[str]:
    """Where not to trust the verdicts; what concerns other measures than the first is in the report."""
    if comparison is None:
        return
    others = tuple(f"{each}: " for each in [*comparison.measures][1:])
    own = [doubt for doubt in comparison.warnings if not (others and doubt.text.startswith(others))]
    yield from (f"Caution: {doubt.text} ({doubt.code})." for doubt in own[:CAUTIONS])


def _table(evaluation: Evaluation) -> Table:
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
    queries = counted(evaluation.first.counts["queries"], "query", "queries")
    return Table("systems", f"{first}, {queries}", columns, rows)


def _rests_on(looped: Looped) -> Iterator[str]:
    for judged in looped.judged:
        lost = f", {judged.open:,} have no grade" if judged.open else ""
        paid = f", {judged.paid}" if judged.paid else ""
        yield f"Labels: {judged.judge} graded {judged.graded:,} of {counted(judged.pairs, 'pair')}{lost}{paid}."
    for check in looped.checked:
        paid = f" It cost {check['paid']}." if check.get("paid") else ""
        yield f"Check: {check['words']}.{paid}"
    if looped.report is not None:
        yield f"Report: {looped.report}"
