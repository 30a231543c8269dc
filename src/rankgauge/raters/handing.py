"""Handing out: a rater gets whole queries, no query goes to more raters than the task wants, and none gets stuck.

Who has what is decided in one transaction. A query that nobody touches for a day goes to somebody else; what its first
rater still sends is kept.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, and_, bindparam, exists, insert, select, update

from rankgauge.raters.audit import audit_row, audited
from rankgauge.raters.tasks import Task, chance
from rankgauge.store import schema
from rankgauge.store.rows import now, parts
from rankgauge.store.texts import newest_texts

__all__ = ["HandOut", "ShownPair", "Wanted", "close_one", "hand_out", "lapse_before", "shown"]

LEASE: Final = timedelta(hours=24)
APART: Final = 5  # queries between a pair and its repetition
AT_ONCE: Final = 2  # queries of which pairs are asked again at a time
TIME: Final = "milliseconds"


class Wanted(NamedTuple):
    """What a page asks for: `ahead` queries after the one at hand, and `before` of those that are done."""

    task: Task
    judge: str
    ahead: int = 3
    before: int = 1


class HandOut(NamedTuple):
    """A query in the hands of a rater; `again`: a few pairs of it, asked once more; `done`: to go back to."""

    query_id: str
    again: bool = False
    done: bool = False

    @property
    def id(self) -> str:
        """What tells hand-outs apart."""
        return f"{int(self.again)}:{self.query_id}"


class ShownPair(NamedTuple):
    """A pair as a rater may see it: its text of today, and what they said of it."""

    doc_id: str
    hash: str | None
    fields: Mapping[str, Any]
    changed: bool
    mine: Mapping[str, Any] | None


# ---- who has what ----------------------------------------------------------------------------------------------------


def hand_out(connection: Connection, wanted: Wanted) -> list[HandOut]:
    """What a rater holds: as before, and new queries up to what is wanted; repetitions that are due; what is done."""
    task, judge = wanted.task, wanted.judge
    if task.closed is None and task.admits(judge):
        _lapse(connection, task)
        _take_back(connection, task, judge)
        held = _held(connection, task, judge)
        fresh = _taken(connection, task, judge, 1 + wanted.ahead - len(held))
    else:
        held, fresh = _held(connection, task, judge), []
    queries = [*held, *fresh]
    done = _done(connection, task, judge)
    repeated = _due(connection, task, judge, done if not queries else done[:-APART])
    back = done[-wanted.before :] if wanted.before else []
    return [
        *(HandOut(query, done=True) for query in back),
        *(HandOut(query) for query in queries[:1]),
        *(HandOut(query, again=True) for query in repeated),
        *(HandOut(query) for query in queries[1:]),
    ]


def lapse_before(at: datetime | None = None) -> str:
    """The time before which a query that nobody touched is free again."""
    return ((at or datetime.now(UTC)) - LEASE).isoformat(timespec=TIME)


def _lapse(connection: Connection, task: Task) -> None:
    """Free what nobody has touched for too long."""
    table = schema.assignment.c
    old = [table.task_id == task.number, table.done.is_(None), table.lapsed.is_(None), table.seen < lapse_before()]
    rows = connection.execute(select(table.query_id, table.judge).where(*old)).all()
    if not rows:
        return
    connection.execute(update(schema.assignment).where(*old).values(lapsed=now()))
    for query, _ in rows:
        connection.execute(_open(task, query).values(open=schema.task_query.c.open + 1))
    audited(connection, (audit_row(judge, "lapsed", f"{task.name}: {query}") for query, judge in rows))


def _open(task: Task, query: str) -> Any:
    table = schema.task_query.c
    return update(schema.task_query).where(table.task_id == task.number, table.query_id == query)


def _take_back(connection: Connection, task: Task, judge: str) -> None:
    """What a rater had and lost is theirs again, while nobody else has it."""
    table = schema.assignment.c
    mine = [table.task_id == task.number, table.judge == judge, table.done.is_(None), table.lapsed.is_not(None)]
    for query in connection.scalars(select(table.query_id).where(*mine)).all():
        if close_one(connection, task, query):
            back = update(schema.assignment).where(*mine, table.query_id == query)
            connection.execute(back.values(lapsed=None, seen=now()))


def close_one(connection: Connection, task: Task, query: str) -> bool:
    """Whether one more rater may have a query; then it is one fewer."""
    table = schema.task_query.c
    taken = _open(task, query).where(table.open > 0).values(open=table.open - 1)
    return connection.execute(taken).rowcount == 1


def _held(connection: Connection, task: Task, judge: str) -> list[str]:
    """The queries that a rater has and has not finished, in the order of the task."""
    return [*connection.scalars(_HELD, {"task": task.number, "rater": judge}).all()]


def _taken(connection: Connection, task: Task, judge: str, number: int) -> list[str]:
    """So many more queries, the first first."""
    if number < 1:
        return []
    found = connection.scalars(_NEXT, {"task": task.number, "rater": judge, "most": number}).all()
    taken = [query for query in found if close_one(connection, task, query)]
    at = now()
    if taken:
        rows = [{"task_id": task.number, "query_id": query, "judge": judge, "given": at, "seen": at} for query in taken]
        connection.execute(insert(schema.assignment), rows)
        audited(connection, (audit_row(judge, "given", f"{task.name}: {query}") for query in taken))
    return taken


def _done(connection: Connection, task: Task, judge: str) -> list[str]:
    """What a rater has finished, in that order."""
    return [*connection.scalars(_FINISHED, {"task": task.number, "rater": judge}).all()]


def _due(connection: Connection, task: Task, judge: str, done: Sequence[str]) -> list[str]:
    """The queries of which some pairs are to be asked again now."""
    if not task.repeat or not done:
        return []
    asked = _repeats(connection, task, done)
    answered = {pair for pair, *_ in _mine(connection, task, judge, {query for query, _ in asked}, again=True)}
    due = {query for query, _ in asked - answered}
    return [query for query in done if query in due][:AT_ONCE]


def _repeats(connection: Connection, task: Task, queries: Collection[str]) -> set[tuple[str, str]]:
    table = schema.task_pair.c
    found: set[tuple[str, str]] = set()
    for part in parts([*queries]):
        asked = select(table.query_id, table.doc_id).where(table.task_id == task.number, table.again == 1)
        found.update((query, doc) for query, doc in connection.execute(asked.where(table.query_id.in_(part))))
    return found


_A, _Q = schema.assignment.c, schema.task_query.c
_MINE: Final = and_(_A.task_id == bindparam("task"), _A.judge == bindparam("rater"))
_HELD: Final = (
    select(_A.query_id)
    .join(schema.task_query, and_(_Q.task_id == _A.task_id, _Q.query_id == _A.query_id))
    .where(_MINE, _A.done.is_(None), _A.lapsed.is_(None))
    .order_by(_Q.place)
)
_FINISHED: Final = select(_A.query_id).where(_MINE, _A.done.is_not(None)).order_by(_A.done, _A.given, _A.query_id)
_NEXT: Final = (
    select(_Q.query_id)
    .where(_Q.task_id == bindparam("task"), _Q.open > 0)
    .where(~exists().where(_A.task_id == _Q.task_id, _A.query_id == _Q.query_id, _A.judge == bindparam("rater")))
    .order_by(_Q.place)
    .limit(bindparam("most"))
)


# ---- what a rater may see --------------------------------------------------------------------------------------------


def shown(connection: Connection, task: Task, judge: str, hand_out: HandOut) -> list[ShownPair]:
    """The pairs of a hand-out in the rater's own order: nothing of systems, and nothing of others."""
    asked = {"task": task.number, "query": hand_out.query_id}
    rows = [(doc, known) for doc, known, again in connection.execute(_PAIRS, asked) if again or not hand_out.again]
    texts = newest_texts(connection, [doc for doc, _ in rows])
    mine = {pair[1]: said for pair, said in _mine(connection, task, judge, [hand_out.query_id], again=hand_out.again)}
    pairs = [
        ShownPair(
            doc,
            texts[doc].hash if doc in texts else None,
            _fields(texts[doc].fields if doc in texts else {}, task.fields),
            doc in texts and texts[doc].hash != known,
            mine.get(doc),
        )
        for doc, known in rows
    ]
    name = f"{task.name}\0{judge}\0{hand_out.id}"
    return sorted(pairs, key=lambda pair: chance(name, pair.doc_id))


def _fields(fields: Mapping[str, Any], wanted: Sequence[str] | None) -> dict[str, Any]:
    return {name: fields[name] for name in (fields if wanted is None else wanted) if name in fields}


def _mine(
    connection: Connection, task: Task, judge: str, queries: Collection[str], *, again: bool
) -> list[tuple[tuple[str, str], dict[str, Any]]]:
    """The last judgment of this rater of each pair of some queries."""
    if not queries:
        return []
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for part in parts([*queries]):
        asked = {"task": task.number, "rater": judge, "again": int(again), "queries": part}
        for query, doc, state, grade, note in connection.execute(_SAID, asked):
            found[query, doc] = {"state": state, "grade": grade, "note": note or ""}
    return [*found.items()]


_P, _J, _B = schema.task_pair.c, schema.judgment.c, schema.judge.c
_PAIRS: Final = select(_P.doc_id, _P.hash, _P.again).where(
    _P.task_id == bindparam("task"), _P.query_id == bindparam("query")
)
_SAID: Final = (
    select(_J.query_id, _J.doc_id, _J.state, _J.grade, _J.reason)
    .join(schema.judge, _B.judge_id == _J.judge_id)
    .where(_J.query_id.in_(bindparam("queries", expanding=True)), _J.task_id == bindparam("task"))
    .where(_B.name == bindparam("rater"), _J.repeat == bindparam("again"), _J.ruling == 0)
    .order_by(_J.judgment_id)
)
