"""What a judge said: how many pairs have a grade, which grades, and what to know of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rankgauge.errors import counted
from rankgauge.show.model import Column, Notes, Section, Table, Text
from rankgauge.validation.labels import several_models

if TYPE_CHECKING:
    from rankgauge.judge.judged import Judged

__all__ = ["cautions", "sections"]

REASONS: Final = 5  # that are named
NAMED: Final = 2  # pairs of a reason


def sections(judged: Judged) -> Iterator[Section]:
    """The answer, the grades, then what to know."""
    lead = f"{judged.judge} graded {judged.graded:,} of {counted(judged.pairs, 'pair')}{_earlier(judged)}."
    total = sum(judged.grades.values())
    words = judged.scale.to_dict()
    counts = zip(words.items(), judged.grades.values(), strict=True)
    rows = [
        [grade, meaning.partition(":")[0], count, count / total if total else None]
        for (grade, meaning), count in counts
    ]
    columns = [Column("grade"), Column("meaning"), Column("answers", "count"), Column("share", "share", 1)]
    table = Table("grades", "Grades", columns, rows)
    yield Section("judged", "Judged", [Text(lead, "lead"), *([table] if total else []), Notes([*_notes(judged)])])


def _earlier(judged: Judged) -> str:
    if not judged.before:
        return ""
    asked = len(judged.outcomes) + len(judged.errors)
    return (
        "; nothing was asked, for all answers are stored"
        if judged.before == asked
        else (f"; {judged.before:,} of {counted(asked, 'answer')} were stored before")
    )


def cautions(judged: Judged) -> Iterator[str]:
    """Why not to trust the answers as they stand."""
    if len(judged.models) > 1:
        several = f"{several_models(judged.judge, judged.models)}. Their grades are mixed. Give each its own name"
        yield f"Caution: {several}."
    if judged.thin:
        answers = f"In {counted(judged.thin, 'answer')}, the model"
        yield f"Caution: {answers} put less than half of its probability on valid grades."
        yield "Shorten the prompt, or use a stronger model."


def _notes(judged: Judged) -> Iterator[str]:
    if judged.consistency is not None:
        share = f"{100 * judged.consistency:.1f} %"
        yield f"Asked {judged.repeats} times each: on average {share} of a pair's answers give its commonest grade."
    if judged.calls:
        read, told = judged.tokens
        tokens = f", {read:,} tokens read and {told:,} written" if read or told else ""
        cost = f", {judged.paid}" if judged.paid else ""
        yield f"{counted(judged.calls, 'call')}{tokens}{cost}."
    if judged.foreign:
        lines = counted(judged.foreign, "line of the files answers", "lines of the files answer")
        yield f"{lines} no question of this command: another project's, or asked with other options."
    if judged.cut:
        cut = counted(judged.cut, "document was", "documents were")
        yield f"{cut} cut, being longer than what is shown (longest = …)."
    yield from cautions(judged)
    yield from (f"Caution: {doubt.text} ({doubt.code})." for doubt in judged.doubts)
    for why, pairs in [*judged.reasons.items()][:REASONS]:
        some = ", ".join(f"{query} {doc}" for query, doc in pairs[:NAMED]) + (", …" if len(pairs) > NAMED else "")
        yield f"{counted(len(pairs), 'pair has', 'pairs have')} no grade ({some}): {why}."
    if len(judged.reasons) > REASONS:
        yield f"{counted(len(judged.reasons) - REASONS, 'more reason')} why pairs have no grade."
