"""`/judges`: the ledger of judges, people and models alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgauge.show.model import Section, Text
from rankgauge.web.pages.agreement import task_controls
from rankgauge.web.view import View

if TYPE_CHECKING:
    from rankgauge.raters.ledger import Ledger
    from rankgauge.web.desk import Desk
    from rankgauge.web.site import Answer

__all__ = ["judges_page"]


def judges_page(desk: Desk, task: str = "") -> View:
    """Every judge of a task, or of the project."""
    name = desk.task(task).name if task else ""
    answer = desk.looks.ledger(name)
    found: Ledger | None = answer.value
    words = f"There is no ledger: {answer.problem}." if answer.problem else "Going through the judges …"
    waiting = Section("judges", "", [Text(words, "note" if answer.problem else "computing")])
    return View(
        "Judges",
        lambda: _data(name, answer),
        [*found.sections()] if found is not None else [waiting],
        subtitle=f"of {name}" if name else "of all labels",
        crumbs=[("Tasks", "/tasks")],
        controls=task_controls(desk, name),
        pending=["judges"] if answer.pending else [],
        state=str(found.last) if found is not None else "",
    )


def _data(task: str, answer: Answer) -> dict[str, Any]:
    found: Ledger | None = answer.value
    return found.data() if found is not None else {"task": task or None, "problem": answer.problem or None}
