"""A plan: the queries that sizes need, what sets of queries show, and the curve between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rankgauge.show.cells import interval_text
from rankgauge.show.model import Block, Bullets, Column, Notes, Section, Table, Text, chart_of
from rankgauge.stats.inference import FEW_QUERIES

if TYPE_CHECKING:
    from rankgauge.comparison.plan import Answer, Plan

__all__ = ["sections"]


def sections(plan: Plan) -> Iterator[Section]:
    """The whole."""
    blocks: list[Block] = [Text(plan.sentence(answer), "lead") for answer in plan.spoken]
    blocks += [Text(plan.deviation.sentence), chart_of("plan", plan)]
    blocks += [_needed_table(plan)] if plan.answers else []
    blocks += [_sets_table(plan)] if plan.sets else []
    pilot = plan.deviation
    if pilot.systems and pilot.queries < FEW_QUERIES:
        blocks += [Bullets([f"a pilot of {pilot.queries} queries is small; look at the upper end."], "warning")]
    yield Section("plan", "Plan", [*blocks, Notes([*_notes(plan)])])


def _needed_table(plan: Plan) -> Table:
    """Sizes down, questions across: the queries that each needs; of a pilot, how many they may be, too."""
    columns = [Column("size", "size")]
    for question in plan.questions:
        columns += [Column(f"for a {question}", "count", key=question)]
        columns += [Column("at most", "count", key=f"{question}_at_most")] if plan.deviation.interval else []
    answers = {(answer.size, answer.question): answer for answer in plan.answers}
    rows = [
        [size, *(cell for question in plan.questions for cell in _queries(plan, answers.get((size, question))))]
        for size in sorted({answer.size for answer in plan.answers})
    ]
    return Table("needed", "Queries needed", columns, rows)


def _queries(plan: Plan, answer: Answer | None) -> list[int | None]:
    both: list[int | None] = [answer.queries, answer.at_most] if answer else [None, None]
    return both if plan.deviation.interval else both[:1]


def _sets_table(plan: Plan) -> Table:
    """Sets down, questions across: the smallest size that each shows; bars for the first question."""
    columns = [Column("queries", "count"), *(Column(question, "size") for question in plan.questions)]
    rows: list[list[Any]] = [[n, *(sizes[question] for question in plan.questions)] for n, sizes in plan.sets.items()]
    if len(rows) > 1:
        columns, rows = [*columns, Column("", "bar")], [[*row, row[1]] for row in rows]
    return Table("sets", "Minimum detectable effect by number of queries", columns, rows)


def _notes(plan: Plan) -> Iterator[str]:
    """What the columns mean, where no sentence has said it."""
    yield from plan.meanings(but={answer.question for answer in plan.spoken})
    if plan.deviation.interval and plan.answers:
        yield "at most: so many if the deviation is at the upper end of its interval."
    pairs = (plan.deviation.smallest, plan.deviation.largest)
    if None not in pairs:
        single = f"of single pairs it is {interval_text(pairs)}"
        yield f"The deviation is the root mean square over all pairs of systems; {single}."
