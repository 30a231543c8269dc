"""`/tasks`: how far every task is, rater by rater; what makes a task, closes it and opens it again."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rankgauge.errors import InputError, RankgaugeWarning, counted
from rankgauge.judge.pooled import pool_of
from rankgauge.judge.scale import SCALES, Scale
from rankgauge.raters.progress import Progress, task_list
from rankgauge.raters.tasks import close_task, make_task, open_task
from rankgauge.show.model import Section
from rankgauge.web.view import View, address

if TYPE_CHECKING:
    from rankgauge.web.desk import Desk
    from rankgauge.web.roles import Person

__all__ = ["NewTask", "made_task", "set_open", "tasks_page"]


class Card(NamedTuple):
    """A task on the page: its name, whether it is open, how far it is, and where to look at it."""

    name: str
    closed: bool
    judged: int
    wanted: int
    about: str
    links: list[tuple[str, str]]


def tasks_page(desk: Desk, person: Person) -> View:
    """Every task, the last first, and for who may a form to make one."""
    listed = task_list(desk.store)
    leads = person.role == "admin"
    systems = sorted({run.system for run in desk.store.runs() if run.state == "whole"}) if leads else []
    number = counted(len(listed.tasks), "task")
    return View(
        "Tasks",
        lambda: {"tasks": listed.data()},
        [_section(at, each) for at, each in enumerate(listed.tasks)],
        template="tasks.html",
        subtitle=number if listed.tasks else "there is none yet",
        more={"cards": [_card(each, leads) for each in listed.tasks], "leads": leads, "systems": systems,
              "scales": {name: scale.words for name, scale in SCALES.items()}},
    )  # fmt: skip


def _section(at: int, progress: Progress) -> Section:
    (section,) = progress.sections()
    return Section(f"task-{at}", progress.task.name, section.blocks)


def _card(progress: Progress, leads: bool) -> Card:
    task = progress.task
    pages = {"Judge": "/judge", "Agreement": "/agreement", "Adjudicate": "/adjudicate", "Judges": "/judges"}
    shown = {name: to for name, to in pages.items() if leads or name in ("Agreement", "Judges")}
    links = [(name, address(to, task=task.name)) for name, to in shown.items()]
    about = ", ".join(_about(progress))
    return Card(task.name, task.closed is not None, progress.judged, progress.wanted, about, links)


def _about(progress: Progress) -> Iterator[str]:
    task = progress.task
    yield f"made {task.at[:10]}"
    yield f"pooled from {', '.join(run.removeprefix('@') for run in task.runs)}" if task.runs else "pairs of a file"
    yield f"for {', '.join(task.raters)}" if task.raters else "for everybody"
    yield f"grades {task.scale.listed}"


# ---- changing --------------------------------------------------------------------------------------------------------


class NewTask(NamedTuple):
    """What a task is to be: of the first `depth` of these systems, for these raters, on this scale."""

    name: str
    systems: Sequence[str]
    depth: int = 10
    overlap: int = 1
    raters: Sequence[str] = ()
    scale: str = "graded"
    guidelines: str = ""
    fields: Sequence[str] = ()
    gold: float = 0.0
    repeat: float = 0.0
    shows_models: bool = False


def made_task(desk: Desk, wanted: NewTask, who: str) -> dict[str, Any]:
    """Make a task of what systems have found and nobody has judged; what there is to know of it."""
    known = {run.system for run in desk.store.runs() if run.state == "whole"}
    systems = [*dict.fromkeys(wanted.systems)] or sorted(known)
    missing = next((name for name in systems if name not in known), None)
    if missing is not None or not systems:
        raise InputError(
            f"there is no whole run of {missing!r}" if missing else "there is no run to pool; search first"
        )
    scale = _scale(wanted.scale)
    how = {
        name: getattr(wanted, name) for name in ("overlap", "raters", "guidelines", "gold", "repeat", "shows_models")
    }
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", RankgaugeWarning)
        runs = {f"@{name}": desk.project.run(name) for name in systems}
        pairs = pool_of(desk.project, runs, depth=wanted.depth, keep=False).pairs
        task = make_task(
            desk.project, desk.store, wanted.name, pairs, who=who, scale=scale, runs=[*runs],
            fields=[*wanted.fields] or None, latest_text=True, **how,
        )  # fmt: skip
    notes = [str(each.message) for each in heard if issubclass(each.category, RankgaugeWarning)]
    return {"task": task.name, "pairs": len(pairs), "notes": notes}


def _scale(given: str) -> Scale:
    """A scale by its name, or a line for each grade: 0 = Irrelevant."""
    if given.strip() in SCALES:
        return SCALES[given.strip()]
    levels = {}
    for line in filter(str.strip, given.splitlines()):
        grade, sign, words = line.partition("=")
        if not sign:
            raise InputError(f"scale: expected a line such as 2 = Relevant, got {line.strip()[:60]!r}")
        if grade.strip() in levels:
            raise InputError(f"scale: has grade {grade.strip()} twice; keep one")
        levels[grade.strip()] = words.strip()
    return Scale.of(levels)


def set_open(desk: Desk, name: str, who: str, *, is_open: bool) -> dict[str, Any]:
    """Close a task, or open it again."""
    task = desk.task(name)
    if (task.closed is None) != is_open:
        (open_task if is_open else close_task)(desk.store, task.name, who)
    return {"task": task.name, "open": is_open}
