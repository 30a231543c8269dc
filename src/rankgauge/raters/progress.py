"""How far a task is: its queries, its judgments, and its raters with their pace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from sqlalchemy import Connection, func, select

from rankgauge.raters.tasks import Task, tasks
from rankgauge.shown import Shown
from rankgauge.store import schema
from rankgauge.store.judgments import GRADED

if TYPE_CHECKING:
    from rankgauge.store.store import Store

__all__ = ["Progress", "RaterProgress", "TaskList", "progress", "task_list"]


class RaterProgress(NamedTuple):
    """What a rater has done in a task; `seconds`: the median time of a judgment, `held`: queries in their hands."""

    rater: str
    judged: int
    unsure: int
    queries: int
    held: int
    seconds: float | None
    last: str | None


@dataclass(frozen=True, eq=False, repr=False)
class Progress(Shown):
    """How far a task is: `wanted` judgments of pairs, of which `judged` are there; queries that are `done` by all."""

    shown_by: ClassVar[str] = "tasks:progress_sections"

    task: Task
    queries: int
    pairs: int
    wanted: int
    judged: int
    done: int
    raters: tuple[RaterProgress, ...]

    @property
    def title(self) -> str:
        """Which task it is."""
        return f"Task {self.task.name}"

    def data(self) -> dict[str, Any]:
        """What JSON holds."""
        task = self.task
        about = {"task": task.name, "made": task.at, "closed": task.closed, "overlap": task.overlap}
        numbers = {name: getattr(self, name) for name in ("queries", "pairs", "wanted", "judged", "done")}
        scale = {"scale": task.scale.to_dict(), "open_at_first": task.width, "runs": [*task.runs]}
        return about | numbers | scale | {"raters": [each._asdict() for each in self.raters]}


@dataclass(frozen=True, eq=False, repr=False)
class TaskList(Shown):
    """Every task, and how far it is."""

    shown_by: ClassVar[str] = "tasks:list_sections"
    title = "Tasks"

    tasks: tuple[Progress, ...]

    def data(self) -> list[dict[str, Any]]:
        """What JSON holds."""
        return [each.data() for each in self.tasks]


def task_list(store: Store) -> TaskList:
    """All tasks, the last first."""
    return TaskList(tuple(progress(store, task) for task in tasks(store)))


def progress(store: Store, task: Task) -> Progress:
    """How far a task is."""
    return store.read(lambda connection: _progress(connection, task))


def _progress(connection: Connection, task: Task) -> Progress:
    pairs = _pairs(connection, task)
    held = _assignments(connection, task)
    judged = _judged(connection, task)
    done = dict.fromkeys(pairs, 0)
    for (query, _), state in held.items():
        done[query] = done.get(query, 0) + (state == "done")
    each: dict[str, list[int]] = {}
    for (query, _), docs in judged.items():
        each.setdefault(query, []).append(len(docs))
    # A query is judged by no more raters than the task wants.
    most = {query: sorted(numbers, reverse=True)[: task.overlap] for query, numbers in each.items()}
    counted = sum(min(pairs[query], some) for query, numbers in most.items() if query in pairs for some in numbers)
    names = sorted({*task.raters, *(rater for _, rater in held), *(rater for _, rater in judged)})
    hands: dict[str, list[str]] = {}
    for (_, rater), state in held.items():
        hands.setdefault(rater, []).append(state)
    return Progress(
        task, len(pairs), sum(pairs.values()), sum(pairs.values()) * task.overlap, counted,
        sum(number >= task.overlap for number in done.values()),
        tuple(_rater(name, hands.get(name, []), _of_rater(connection, task, name)) for name in names),
    )  # fmt: skip


def _pairs(connection: Connection, task: Task) -> dict[str, int]:
    table = schema.task_pair.c
    asked = select(table.query_id, func.count()).where(table.task_id == task.number).group_by(table.query_id)
    return {query: int(number) for query, number in connection.execute(asked)}


def _assignments(connection: Connection, task: Task) -> dict[tuple[str, str], str]:
    """Query and rater → held, done or lapsed."""
    table = schema.assignment.c
    asked = select(table.query_id, table.judge, table.done, table.lapsed).where(table.task_id == task.number)
    return {
        (query, judge): "done" if done else "lapsed" if lapsed else "held"
        for query, judge, done, lapsed in connection.execute(asked)
    }


def _judged(connection: Connection, task: Task) -> dict[tuple[str, str], set[str]]:
    """Query and rater → the documents that are judged."""
    table, by = schema.judgment.c, schema.judge.c
    asked = select(table.query_id, by.name, table.doc_id).join(schema.judge, by.judge_id == table.judge_id)
    asked = asked.where(table.repeat == 0)
    found: dict[tuple[str, str], set[str]] = {}
    for query, name, doc in connection.execute(asked.where(table.task_id == task.number, table.ruling == 0)):
        found.setdefault((query, name), set()).add(doc)
    return found


def _of_rater(connection: Connection, task: Task, rater: str) -> list[Any]:
    """The last judgment of each pair by a rater: state, time and when."""
    table, by = schema.judgment.c, schema.judge.c
    asked = select(table.query_id, table.doc_id, table.state, table.milliseconds, table.at)
    asked = asked.join(schema.judge, by.judge_id == table.judge_id).order_by(table.judgment_id)
    asked = asked.where(table.task_id == task.number, by.name == rater, table.repeat == 0, table.ruling == 0)
    last = {(query, doc): rest for query, doc, *rest in connection.execute(asked)}
    return [*last.values()]


def _rater(name: str, states: Sequence[str], rows: list[Any]) -> RaterProgress:
    times = [time / 1000 for _, time, _ in rows if time]
    return RaterProgress(
        name, len(rows), sum(state != GRADED for state, *_ in rows), states.count("done"), states.count("held"),
        median(times) if times else None, max((at for *_, at in rows), default=None),
    )  # fmt: skip
