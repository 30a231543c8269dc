"""The desk: where people judge the tasks of a project, and who leads them looks."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sqlalchemy import and_, bindparam, func, select

from rankgauge.errors import InputError, unknown
from rankgauge.raters.fields import shown_fields
from rankgauge.raters.handing import HandOut, ShownPair, Wanted, hand_out, shown
from rankgauge.raters.judging import Sent, take
from rankgauge.raters.tasks import Task, tasks
from rankgauge.store import schema
from rankgauge.store.judgments import GRADED
from rankgauge.store.writer import Batch
from rankgauge.web.looks import Looks
from rankgauge.web.served import Absent

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgauge.store.project import Project
    from rankgauge.store.store import Store
    from rankgauge.web.worker import Worker

__all__ = ["Desk"]

T = TypeVar("T")
STEP: Final = 25  # judgments between two looks at how far they have narrowed what is open


class Desk:
    """A project, its store, opened for writing, and those who work there."""

    def __init__(self, project: Project, store: Store, worker: Worker, images: tuple[str, ...] = ()) -> None:
        self.project, self.store, self.worker, self.images = project, store, worker, images
        self.looks = Looks(project, store, worker)
        self._tasks: dict[str, Task] = {}

    def tasks_of(self, rater: str) -> list[Task]:
        """The tasks that are open for a rater, the last first."""
        return [task for task in tasks(self.store) if task.closed is None and task.admits(rater)]

    def task(self, name: str, rater: str | None = None) -> Task:
        """The task of a name, as it is now; a rater is told of no others than their own."""
        known = {task.name: task for task in tasks(self.store)}
        if name not in known:
            mine = known if rater is None else [task.name for task in self.tasks_of(rater)]
            raise Absent(unknown(f"there is no task {name!r}", name, mine, "the page Judge lists what is open for you"))
        self._tasks[name] = known[name]
        return known[name]

    def known_task(self, name: str) -> Task | None:
        """The same without a look at the store, where it was asked for before; that it is open is not sure."""
        return self._tasks.get(name)

    # ---- judging -----------------------------------------------------------------------------------------------------

    def hand_out(self, wanted: Wanted) -> Future[list[HandOut]]:
        """What a rater holds."""
        return self.store.writer.submit(lambda connection: hand_out(connection, wanted))

    def take(self, sent: Sent) -> Future[InputError | None]:
        """Have a judgment stored, together with others that have come."""
        return self.store.writer.submit(Batch(take, sent))

    def sheets(self, task: Task, rater: str, given: list[HandOut]) -> list[dict[str, Any]]:
        """Hand-outs as a page has them."""

        def found(connection: Connection) -> list[dict[str, Any]]:
            queries = _queries(connection, [each.query_id for each in given])
            return [_sheet(connection, task, rater, each, queries) for each in given]

        return self.store.read(found)

    def counts(self, task: Task, rater: str) -> dict[str, Any]:
        """How many pairs a rater has judged, of how many, and how often with which grade (None: can't tell)."""
        return self.store.read(lambda connection: _counts(connection, task, rater))

    def models(self, query: str, doc: str) -> list[dict[str, Any]]:
        """What models said of a pair, for one who has said something."""
        return self.store.read(lambda connection: _models(connection, query, doc))

    def narrowed(self, task: Task) -> dict[str, float] | None:
        """How far the labels so far have narrowed what is open between the runs; None while nobody knows."""
        if task.width is None:
            return None
        width = self.looks.width(task.name)
        return None if width is None else {"from": task.width, "to": width}


def _queries(connection: Connection, wanted: list[str]) -> dict[str, tuple[str | None, str | None]]:
    table = schema.query.c
    rows = connection.execute(select(table.query_id, table.text, table.need).where(table.query_id.in_(wanted)))
    return {query: (text, need) for query, text, need in rows}


def _sheet(
    connection: Connection,
    task: Task,
    rater: str,
    given: HandOut,
    queries: Mapping[str, tuple[str | None, str | None]],
) -> dict[str, Any]:
    text, need = queries.get(given.query_id, (None, None))
    pairs = shown(connection, task, rater, given)
    return {
        "id": given.id, "query_id": given.query_id, "query": text or given.query_id, "need": need,
        "again": given.again, "done": given.done,
        "pairs": [_pair(connection, task, given, pair, text) for pair in pairs],
    }  # fmt: skip


def _pair(connection: Connection, task: Task, given: HandOut, pair: ShownPair, query: str | None) -> dict[str, Any]:
    made: dict[str, Any] = {
        "doc_id": pair.doc_id, "hash": pair.hash, "fields": shown_fields(pair.fields, query), "mine": pair.mine,
        "changed": pair.changed,
    }  # fmt: skip
    if task.shows_models and pair.mine is not None:
        made["models"] = _models(connection, given.query_id, pair.doc_id)
    return made


def _counts(connection: Connection, task: Task, rater: str) -> dict[str, Any]:
    """What a rater has judged; with what they hold and what they may still be given."""
    asked = {"task": task.number, "rater": rater}
    grades = [{"grade": grade, "pairs": pairs} for grade, pairs in connection.execute(_GRADES, asked)]
    held = int(connection.scalar(_HELD, asked) or 0)
    fresh = int(connection.scalar(_FREE, asked) or 0) if task.closed is None and task.admits(rater) else 0
    return {"judged": sum(each["pairs"] for each in grades), "of": held + fresh, "grades": grades}


_Q, _A, _J, _B = (table.c for table in (schema.task_query, schema.assignment, schema.judgment, schema.judge))
_MINE: Final = and_(_A.task_id == bindparam("task"), _A.judge == bindparam("rater"))
_HELD: Final = (
    select(func.sum(_Q.pairs))
    .join(schema.assignment, and_(_A.task_id == _Q.task_id, _A.query_id == _Q.query_id))
    .where(_MINE, _A.lapsed.is_(None) | _A.done.is_not(None))
)
_FREE: Final = select(func.sum(_Q.pairs)).where(
    _Q.task_id == bindparam("task"), _Q.open > 0, _Q.query_id.not_in(select(_A.query_id).where(_MINE))
)
_LAST: Final = (
    select(func.max(_J.judgment_id))
    .join(schema.judge, _B.judge_id == _J.judge_id)
    .where(_J.query_id.in_(select(_A.query_id).where(_MINE)))
    .where(_J.task_id == bindparam("task"), _B.name == bindparam("rater"), _J.repeat == 0, _J.ruling == 0)
    .group_by(_J.query_id, _J.doc_id)
)
_GRADES: Final = (
    select(_J.grade, func.count()).where(_J.judgment_id.in_(_LAST)).group_by(_J.grade).order_by(_J.grade.nulls_last())
)


def _models(connection: Connection, query: str, doc: str) -> list[dict[str, Any]]:
    judged, by = schema.judgment.c, schema.judge.c
    asked = select(by.name, judged.grade, judged.reason).join(schema.judge, by.judge_id == judged.judge_id)
    asked = asked.where(judged.query_id == query, judged.doc_id == doc, by.kind == "model", judged.state == GRADED)
    rows = connection.execute(asked.order_by(judged.judgment_id))
    last = {name: {"judge": name, "grade": grade, "reason": reason or ""} for name, grade, reason in rows}
    return [*last.values()]
