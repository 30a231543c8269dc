"""`/agreement`: how well judges agree, as `rankgauge agree` has it; every judge against the others, and every query."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import counted
from rankgauge.raters.tasks import tasks
from rankgauge.show.cells import number_text
from rankgauge.show.model import Bullets, Section, Text
from rankgauge.show.sections.ledger import others_table
from rankgauge.store.rows import digest
from rankgauge.web.view import View, choice

if TYPE_CHECKING:
    from rankgauge.raters.ledger import Ledger
    from rankgauge.trust.judges.agree import Agreement
    from rankgauge.web.desk import Desk
    from rankgauge.web.site import Answer
    from rankgauge.web.view import Control

__all__ = ["agreement_page", "task_controls"]

WAYS: Final = (
    "Have the same pairs judged by two people or more: the page Tasks makes a task with an overlap of 2.",
    "Or add what somebody else said of them: rankgauge store import QRELS --judge NAME, or rankgauge judge.",
)


def agreement_page(desk: Desk, task: str = "", judges: Sequence[str] = ()) -> View:
    """The agreement of all who judged a task, or anything."""
    name = desk.task(task).name if task else ""
    found, accounts = desk.looks.agreement(name, [each for each in judges if each]), desk.looks.ledger(name)
    pending = [what for what, answer in (("agreement", found), ("judges", accounts)) if answer.pending]
    return View(
        "Agreement",
        lambda: _data(name, found),
        [*_sections(found, accounts.value)],
        subtitle=f"of the judges of {name}" if name else "of all judges",
        crumbs=[("Tasks", "/tasks")],
        controls=task_controls(desk, name),
        pending=pending,
        state=digest(found.value.rows()) if found.value is not None else "",
    )


def task_controls(desk: Desk, task: str) -> list[Control]:
    """Which task it is about, where there are any."""
    known = [each.name for each in tasks(desk.store)]
    return [choice("Task", "task", known, task, "all labels")] if known else []


def _sections(found: Answer, accounts: Ledger | None) -> Iterator[Section]:
    agreement: Agreement | None = found.value
    if agreement is None and found.problem:
        words = Text(f"There is no agreement to be told: {found.problem.rstrip('.')}.", "lead")
        yield Section("answer", "", [words, Bullets(WAYS)])
        return
    if agreement is None:
        yield Section("answer", "", [Text("Comparing the judges …", "computing")])
        return
    yield Section("answer", "", [Text(_lead(agreement), "lead")])
    yield from agreement.sections()
    if accounts is not None and len(agreement.sets.judges) > 2:
        yield Section("each", "Every judge", [others_table(accounts)])
    yield from agreement.sections(per_query=True)


def _lead(agreement: Agreement) -> str:
    """The answer in a sentence."""
    alpha = agreement.overall.alpha["ordinal"]
    ends = f" ({number_text(alpha.low, 2)} to {number_text(alpha.high, 2)})" if alpha.low == alpha.low else ""
    shared = counted(agreement.overall.pairs, "pair")
    who = f"{agreement.sets.judges[0]} and {agreement.sets.judges[1]}"
    who = who if len(agreement.sets.judges) == 2 else f"{len(agreement.sets.judges)} judges"
    if alpha.value != alpha.value:
        return f"{who} share {shared}, on which no agreement beyond chance can be told: all have the same grade."
    return f"Krippendorff’s α of {who} on {shared} is {number_text(alpha.value, 2)}{ends}; 1 is the same, 0 is chance."


def _data(task: str, found: Answer) -> dict[str, Any]:
    agreement: Agreement | None = found.value
    about: dict[str, Any] = {"task": task or None}
    return about | (agreement.data(per_query=True) if agreement is not None else {"problem": found.problem or None})
