"""Judgments of raters as they come: each checked against what was given, stored once, answered when it is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, and_, bindparam, distinct, func, select, update

from rankgauge.errors import InputError
from rankgauge.raters.audit import audit_row, audited
from rankgauge.raters.handing import close_one
from rankgauge.raters.tasks import Task
from rankgauge.store import schema
from rankgauge.store.judgments import GRADED, Judge, Label, judge_ids, label_row, put_judgments
from rankgauge.store.rows import now

__all__ = ["KeyTaken", "NotGiven", "Sent", "TaskClosed", "take"]

GIVEN: Final = (GRADED, "unsure")  # what a rater may say of a pair
LONGEST: Final = 10_000  # characters of a note
PERSON: Final = "person"


class NotGiven(InputError):
    """A pair that this rater was not asked about."""


class TaskClosed(InputError):
    """A task that takes no more."""


class KeyTaken(InputError):
    """A key that another judgment has."""


class Sent(NamedTuple):
    """A judgment as a page sends it; who gives it, the server knows."""

    task: Task
    judge: str
    key: str
    query_id: str
    doc_id: str
    hash: str | None
    again: bool
    state: str
    grade: float | None
    note: str
    milliseconds: float | None
    address: str | None = None

    def check(self) -> None:
        """Refuse what cannot be a judgment, before anything is asked of the store."""
        if self.state not in GIVEN:
            raise InputError(f"state {self.state!r}: a judgment is {' or '.join(GIVEN)}")
        if (self.state == GRADED) != (self.grade is not None):
            raise InputError("a judgment that is graded has a grade, and no other has")
        if self.grade is not None and self.task.scale.grade_of(self.grade) is None:
            raise InputError(
                f"grade {self.grade:g} is not on the scale of {self.task.name!r}: {self.task.scale.listed}"
            )
        if len(self.note) > LONGEST:
            raise InputError(f"the note has {len(self.note):,} characters; write at most {LONGEST:,}")
        if self.milliseconds is not None and not 0 <= self.milliseconds < 1e12:
            raise InputError(f"ms {self.milliseconds:g}: expected the time that it took, in milliseconds")
        label_row(self.label, "the judgment")

    @property
    def place(self) -> tuple[int, str, str, str]:
        """Task, query, document and rater."""
        return self.task.number, self.query_id, self.doc_id, self.judge

    @property
    def label(self) -> Label:
        """What is stored of it."""
        return Label(
            self.query_id, self.doc_id, self.grade, self.key, int(self.again), self.state, self.note or None,
            doc_hash=self.hash, milliseconds=self.milliseconds, task_id=self.task.number,
        )  # fmt: skip


class Given(NamedTuple):
    """A pair in the hands of a rater, as it was before; `pairs`: how many the query has."""

    hash: str | None
    again: bool
    done: str | None
    lapsed: str | None
    closed: str | None
    pairs: int


Place = tuple[int, str, str, str]  # task, query, document, rater


def take(connection: Connection, several: Sequence[Sent]) -> list[InputError | None]:
    """Store judgments of many raters together; of each, why not, if it was not. The same key again is stored once."""
    known, given = _known(connection, several), _given(connection, several)
    texts = _texts(connection, several, given)
    answers = [_refusal(sent, known, given.get(sent.place)) or _unseen(sent, texts) for sent in several]
    new = {
        sent.key: sent
        for sent, answer in zip(several, answers, strict=True)
        if answer is None and sent.key not in known
    }
    if new:
        judges = {sent.judge: Judge(sent.judge, PERSON) for sent in new.values()}
        numbers = judge_ids(connection, judges.values())
        rows = [label_row(sent.label, "the judgment") | {"judge_id": numbers[sent.judge]} for sent in new.values()]
        put_judgments(connection, rows)
        audited(connection, (audit_row(sent.judge, "judged", sent.key, sent.address) for sent in new.values()))
        _touch(connection, [*new.values()], given)
    return answers


def _refusal(sent: Sent, known: Mapping[str, tuple[str, str, str]], given: Given | None) -> InputError | None:
    if given is None:
        return NotGiven(f"document {sent.doc_id!r} of query {sent.query_id!r} was not given to {sent.judge}")
    if sent.again and not given.again:
        return NotGiven(f"document {sent.doc_id!r} of query {sent.query_id!r} is not asked twice")
    if sent.key in known:
        same = known[sent.key] == (sent.judge, sent.query_id, sent.doc_id)
        return None if same else KeyTaken("the key of this judgment is that of another one; send it with a new key")
    if given.closed is not None:
        return TaskClosed(f"task {sent.task.name!r} was closed on {given.closed[:10]}; ask who leads it")
    return None


def _known(connection: Connection, several: Sequence[Sent]) -> dict[str, tuple[str, str, str]]:
    """Keys that are stored → whose they are, and of which pair."""
    rows = connection.execute(_KEYS, {"keys": [sent.key for sent in several]})
    return {key: (judge, query, doc) for key, judge, query, doc in rows}


def _given(connection: Connection, several: Sequence[Sent]) -> dict[Place, Given]:
    """What raters were given of all that is sent."""
    asked = {
        "queries": [*{sent.query_id for sent in several}],
        "docs": [*{sent.doc_id for sent in several}],
        "judges": [*{sent.judge for sent in several}],
    }
    return {
        (task, query, doc, judge): Given(known, bool(again), *rest)
        for task, query, doc, judge, known, again, *rest in connection.execute(_GIVEN, asked)
    }


def _unseen(sent: Sent, texts: set[tuple[str, str]]) -> InputError | None:
    """Why it is of no text that a document has or had."""
    if sent.hash is None or (sent.doc_id, sent.hash) in texts:
        return None
    words = f"document {sent.doc_id!r} never had the text that was judged ({sent.hash[:40]!r})"
    return InputError(f"{words}; reload the page")


def _texts(connection: Connection, several: Sequence[Sent], given: Mapping[Place, Given]) -> set[tuple[str, str]]:
    """Texts that documents have or had, by their hashes: those of the task, and what the store knows of others."""
    texts = {(place[2], each.hash) for place, each in given.items() if each.hash is not None}
    others = {sent.doc_id for sent in several if sent.hash is not None and (sent.doc_id, sent.hash) not in texts}
    if others:
        texts.update((row.doc_id, row.hash) for row in connection.execute(_TEXTS, {"docs": [*others]}))
    return texts


def _touch(connection: Connection, new: Sequence[Sent], given: Mapping[Place, Given]) -> None:
    """The queries are in use; those of which every pair is judged are done."""
    at = now()
    held = {(sent.task.number, sent.query_id, sent.judge): sent for sent in new}
    asked = {"queries": [*{query for _, query, _ in held}], "judges": [*{judge for *_, judge in held}]}
    counts = {(task, query, judge): number for task, query, judge, number in connection.execute(_JUDGED, asked)}
    rows = []
    for (number, query, judge), sent in held.items():
        before = given[sent.place]
        ended = before.done is None and counts.get((number, query, judge), 0) >= before.pairs
        rows.append({"t": number, "q": query, "j": judge, "at": at, "ended": at if ended else before.done})
        if ended and before.lapsed is not None:
            close_one(connection, sent.task, query)
    connection.execute(_USED, rows)


_J, _B, _A, _P, _D, _Q, _T = (
    table.c
    for table in (
        schema.judgment, schema.judge, schema.assignment, schema.task_pair, schema.document, schema.task_query,
        schema.task,
    )
)  # fmt: skip


def _several(column: Any, name: str) -> Any:
    return column.in_(bindparam(name, expanding=True))


_KEYS: Final = (
    select(_J.key, _B.name, _J.query_id, _J.doc_id)
    .join(schema.judge, _B.judge_id == _J.judge_id)
    .where(_several(_J.key, "keys"))
)
_GIVEN: Final = (
    select(_A.task_id, _A.query_id, _P.doc_id, _A.judge, _P.hash, _P.again, _A.done, _A.lapsed, _T.closed, _Q.pairs)
    .join(schema.task_pair, and_(_P.task_id == _A.task_id, _P.query_id == _A.query_id))
    .join(schema.task_query, and_(_Q.task_id == _A.task_id, _Q.query_id == _A.query_id))
    .join(schema.task, _T.task_id == _A.task_id)
    .where(_several(_A.query_id, "queries"), _several(_A.judge, "judges"), _several(_P.doc_id, "docs"))
)
_TEXTS: Final = select(_D.doc_id, _D.hash).where(_several(_D.doc_id, "docs"))
_JUDGED: Final = (
    select(_J.task_id, _J.query_id, _B.name, func.count(distinct(_J.doc_id)))
    .join(schema.judge, _B.judge_id == _J.judge_id)
    .where(_several(_J.query_id, "queries"), _several(_B.name, "judges"), _J.repeat == 0, _J.task_id.is_not(None))
    .group_by(_J.task_id, _J.query_id, _B.name)
)
_USED: Final = (
    update(schema.assignment)
    .where(_A.task_id == bindparam("t"), _A.query_id == bindparam("q"), _A.judge == bindparam("j"))
    .values(seen=bindparam("at"), done=bindparam("ended"))
)
