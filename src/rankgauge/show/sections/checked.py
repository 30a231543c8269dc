"""How far a judge can be trusted: beside people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rankgauge.errors import counted
from rankgauge.measures.gains import number_text
from rankgauge.show.model import Block, Notes, Section, Text
from rankgauge.show.sections.judges import judge_blocks, system_blocks

if TYPE_CHECKING:
    from rankgauge.judge.check import JudgeCheck

__all__ = ["sections"]


def sections(check: JudgeCheck) -> Iterator[Section]:
    """The answer, what has no grade, the coefficients, and what changes for systems."""
    blocks: list[Block] = [Text(f"{check.lead}.", "lead"), Notes([*_notes(check)]), *judge_blocks(check.agreement)]
    if check.agreement.systems is not None:
        blocks += system_blocks(check.agreement, check.agreement.systems)
    yield Section("check", "Can it be trusted?", blocks)


def _notes(check: JudgeCheck) -> Iterator[str]:
    judged, pair = check.judged, check.agreement.pairs[0]
    if judged.open:
        share = f"{100 * judged.open / judged.pairs:.1f} %"
        why = f", mostly {next(iter(judged.reasons))}" if judged.reasons else ""
        yield f"No grade: {judged.open:,} of {counted(judged.pairs, 'pair')} ({share}){why}."
    if judged.consistency is not None:
        share = f"{100 * judged.consistency:.1f} %"
        yield f"Asked more than once: on average {share} of a pair's answers give its commonest grade."
    rows, columns = pair.matrix.sum(axis=1), pair.matrix.sum(axis=0)
    lacking = [
        number_text(grade) for grade, a, b in zip(pair.grades.tolist(), rows, columns, strict=True) if a and not b
    ]
    if lacking:
        yield f"{pair.b} never gave {', '.join(lacking)}, which {pair.a} did; are the scales the same?"
    if check.unranked:
        yield f"Systems are not ranked under both: {check.unranked.rstrip('.')}."
