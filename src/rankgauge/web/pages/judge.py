"""Where people judge: the tasks that are open for them, or the page of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from rankgauge.raters.keys import scale_levels
from rankgauge.show.guidelines import guidelines_html
from rankgauge.show.model import Column, Mark, Section, Table, Text
from rankgauge.store.rows import digest
from rankgauge.web.problems import Forbidden
from rankgauge.web.view import View, address

if TYPE_CHECKING:
    from rankgauge.raters.tasks import Task
    from rankgauge.web.desk import Desk
    from rankgauge.web.roles import Person

__all__ = ["judge_page"]

WAYS: Final = (
    "Whoever leads the judging makes tasks, and says who is to judge them: ask there, or look again later.",
    "Make one: the page Tasks, or rankgauge task make NAME --pool @SYSTEM. The page Tasks also opens one again.",
)


def judge_page(desk: Desk, person: Person, name: str = "") -> View:
    """The page of a task, or of all that are open for this person."""
    if not name:
        return _tasks(desk, person)
    task = desk.task(name, person.name)
    if not task.admits(person.name):
        raise Forbidden(f"the task {task.name!r} is for others; ask who leads it")
    data = _about(desk, person, task)
    return View(task.name, lambda: data, template="judge.html", more={"task": task.name})


def _about(desk: Desk, person: Person, task: Task) -> dict[str, Any]:
    return {
        "task": task.name, "rater": person.name, "scale": scale_levels(task.scale),
        "guidelines": guidelines_html(task.guidelines, desk.images), "shows_models": task.shows_models,
        "closed": task.closed is not None, "store": digest([task.number, task.at]),
    }  # fmt: skip


def _tasks(desk: Desk, person: Person) -> View:
    found = [(task, desk.counts(task, person.name)) for task in desk.tasks_of(person.name)]
    data = {"tasks": [{"task": task.name, **counts} for task, counts in found]}
    if not found:
        words = Text("There is nothing to judge for you at the moment: no open task is yours.", "lead")
        return View("Judge", lambda: data, [Section("tasks", "", [words, Text(WAYS[person.role == "admin"], "note")])])
    columns = [Column("task"), Column("judged", "count"), Column("of", "count")]
    rows = [
        [Mark(task.name, address=address("/judge", task=task.name)), counts["judged"], counts["of"]]
        for task, counts in found
    ]
    return View("Judge", lambda: data, [Section("tasks", "", [Table("tasks", "Tasks", columns, rows)])])
