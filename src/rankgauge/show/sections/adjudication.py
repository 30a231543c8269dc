"""Pairs to adjudicate, without the names of judges; and what was decided, with them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rankgauge.errors import counted
from rankgauge.measures.gains import number_text
from rankgauge.show.model import Block, Column, Notes, Section, Table, Text

if TYPE_CHECKING:
    from rankgauge.raters.disputes import Adjudication, Decided, Disputed

__all__ = ["decided_table", "open_table", "sections"]


def sections(found: Adjudication) -> Iterator[Section]:
    """What is to be decided, the largest effect first; then what was."""
    blocks: list[Block] = [Text(_lead(found), "lead")]
    blocks += [open_table(found)] if found.open else []
    blocks += [Notes([f"{each}." for each in found.problems])] if found.problems else []
    yield Section("open", "Pairs to adjudicate", blocks)
    if found.decided:
        yield Section("decided", "Decided", [decided_table(found)])


def _lead(found: Adjudication) -> str:
    if not found.open:
        return "Nothing is to be decided: no pair has different grades and no ruling."
    pairs = counted(len(found.open), "pair has", "pairs have")
    largest = found.open[0].effect
    if largest is None:
        return f"{pairs} different grades; there is no run, so that the farthest apart come first."
    return f"{pairs} different grades; the first can change the mean {found.measure} of a system by {largest:.4f}."


def open_table(found: Adjudication) -> Table:
    """The pairs that are not decided."""
    columns = [Column("query", "query", key="query_id"), Column("document", key="doc_id"), Column("labels")]
    columns += [Column("apart", "grade"), Column("effect", "number", help=f"largest change of a mean {found.measure}")]
    rows = [[each.query_id, each.doc_id, _letters(each), each.apart, each.effect] for each in found.open]
    return Table("open", "", columns, rows, search=len(rows) > 20)


def _letters(each: Disputed) -> str:
    return ", ".join(f"{given.letter} {_grade(given.grade, given.state)}" for given in each.given)


def _grade(grade: float | None, state: str = "no grade") -> str:
    return number_text(grade) if grade is not None else state


def decided_table(found: Adjudication) -> Table:
    """What was decided, with the names of those whose labels there were."""
    columns = [Column("query", "query", key="query_id"), Column("document", key="doc_id"), Column("labels")]
    columns += [Column("decision", "grade", key="grade"), Column("by"), Column("when", key="at"), Column("note")]
    return Table("decided", "", columns, [_row(each) for each in found.decided], search=len(found.decided) > 20)


def _row(each: Decided) -> list[Any]:
    labels = ", ".join(f"{who.judge} {_grade(who.grade)}" for who in each.given)
    return [each.query_id, each.doc_id, labels, each.grade, each.by, each.at[:16].replace("T", " "), each.note]
