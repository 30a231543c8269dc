"""How far a judge can be trusted: beside people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rankgauge.errors import choices, counted
from rankgauge.measures.gains import number_text
from rankgauge.show.cells import interval_column
from rankgauge.show.model import Block, Column, Notes, Section, Table, Text
from rankgauge.show.sections.judged import cautions
from rankgauge.show.sections.judges import judge_blocks, system_blocks

if TYPE_CHECKING:
    from rankgauge.judge.check import JudgeCheck
    from rankgauge.judge.gullible import Gullibility
    from rankgauge.stats.correlation import Share

__all__ = ["gullible_sections", "sections"]


def sections(check: JudgeCheck) -> Iterator[Section]:
    """The answer, what has no grade, the coefficients, and what changes for systems."""
    blocks: list[Block] = [Text(f"{check.lead}.", "lead"), Notes([*_notes(check)]), *judge_blocks(check.agreement)]
    if check.agreement.systems is not None:
        blocks += system_blocks(check.agreement, check.agreement.systems)
    yield Section("check", "Can it be trusted?", blocks)


def gullible_sections(found: Gullibility) -> Iterator[Section]:
    """The answer, then trick by trick."""
    columns = [Column("put in"), Column("graded", "count"), Column("raised", "count"), Column("share", "number", 2)]
    columns += [interval_column(0.05, "share"), Column("no grade", "count", key="no_grade")]
    rows = [
        [each.trick, int(each.raised.whole), int(each.raised.part), *_share(each.raised), each.judged.open]
        for each in found.tried
    ]
    asked = f"{counted(found.pairs, 'pair')} of grade {found.lowest}, asked about again with this in the document"
    notes = Notes(["Wilson's intervals of 95 %. The answers are stored, and are no labels."])
    table = Table("tricks", asked, columns, rows)
    yield Section("gullible", "Can it be fooled?", [Text(f"{found.lead}.", "lead"), table, notes])


def _share(share: Share) -> tuple[float | None, tuple[float, float] | None]:
    return (share.value, (share.low, share.high)) if share.whole else (None, None)


def _notes(check: JudgeCheck) -> Iterator[str]:
    judged, pair = check.judged, check.agreement.pairs[0]
    if judged.open:
        share = f"{100 * judged.open / judged.pairs:.1f} %"
        why = f", mostly {next(iter(judged.reasons))}" if judged.reasons else ""
        yield f"No grade: {judged.open:,} of {counted(judged.pairs, 'pair')} ({share}){why}."
    if judged.consistency is not None:
        share = f"{100 * judged.consistency:.1f} %"
        yield f"Asked more than once: on average {share} of a pair's answers give its commonest grade."
    yield from cautions(judged)
    yield from (f"Caution: {doubt.text} ({doubt.code})." for doubt in check.doubts)
    rows, columns = pair.matrix.sum(axis=1), pair.matrix.sum(axis=0)
    lacking = [
        number_text(grade) for grade, a, b in zip(pair.grades.tolist(), rows, columns, strict=True) if a and not b
    ]
    if lacking:
        yield f"{pair.b} never gave grade {choices(lacking)}, and {pair.a} did. Check that both use the same scale."
    if check.unranked:
        yield f"Systems are not ranked under both: {check.unranked.rstrip('.')}."
