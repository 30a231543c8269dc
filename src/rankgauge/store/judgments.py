"""Judgments as rows: who gave which grade to which text of a document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, Text, bindparam, func, or_, select

from rankgauge.store import schema
from rankgauge.store.rows import digest, id_of, identifier, insert_into, now, parts, storable

__all__ = ["GRADED", "STATES", "TRIAL", "Judge", "Label", "Rated", "add_judgments", "is_label", "judge_id", "judge_ids"]
__all__ += ["label_row", "put_judgments", "text_now"]

GRADED: Final = "graded"
STATES: Final = (GRADED, "unsure", "skipped", "refused", "failed")  # all but the first are no grades
TRIAL: Final = "trial"  # a kind of judge: one put to the test, whose answers are no labels


class Judge(NamedTuple):
    """Whoever gives grades: a person, a model, a program or nobody knows who, with the settings of the moment."""

    name: str
    kind: str = "imported"
    settings: Mapping[str, Any] = {}


class Label(NamedTuple):
    """A grade that a judge gave to a pair; `repeat` counts the times that the judge was asked on purpose."""

    query_id: str
    doc_id: str
    grade: float | None
    key: str
    repeat: int = 0
    state: str = "graded"
    reason: str | None = None
    ruling: int = 0
    doc_hash: str | None = None  # the text that was judged; where nobody says, the one that the store has
    raw: str | None = None
    reader: str | None = None
    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    milliseconds: float | None = None
    calls: int | None = None
    at: str | None = None
    answer: str | None = None  # the key of what was asked: the same question has the same answer
    cut: int | None = None  # characters of the document that were not shown
    expected: float | None = None  # grade, over the probabilities of an answer of one token
    mass: float | None = None  # of probability on the grades of the scale
    task_id: int | None = None  # the task in which somebody was given the pair


class Rated(NamedTuple):
    """A stored label, with who gave it; `outdated`: the document has had another text since.

    `setting` is the number of the judge with the settings of that time.
    """

    query_id: str
    doc_id: str
    judge: str
    kind: str
    state: str
    grade: float | None
    ruling: bool
    outdated: bool
    setting: int


def text_now(doc: Any) -> Any:
    """The text that a document has now, by its hash: the one that came last."""
    table = schema.document.c
    return (
        select(table.hash).where(table.doc_id == doc).order_by(table.at.desc(), table.hash).limit(1).scalar_subquery()
    )


def is_label() -> Any:
    """What makes a label of a judgment: a pair that a rater of a task is asked again is a check of the rater."""
    table = schema.judgment.c
    return or_(table.task_id.is_(None), table.repeat == 0)


def _text_judged() -> Any:
    """The text that a label is about: the one that it names, or the one that the document has now."""
    return func.coalesce(bindparam("hash_seen", type_=Text), text_now(bindparam("doc_seen", type_=Text)))


def label_row(label: Label, source: str) -> dict[str, Any]:
    for name in ("query_id", "doc_id", "key"):
        identifier(getattr(label, name), f"{source}: a {name}")
    for name in ("reason", "raw", "reader", "model"):
        storable(getattr(label, name), f"{source}: query {label.query_id!r}, document {label.doc_id!r}: the {name}")
    grade = None if label.grade is None else label.grade + 0.0  # SQLite knows no -0.0
    row = label._asdict() | {"grade": grade}
    return row | {"hash_seen": row.pop("doc_hash"), "doc_seen": label.doc_id}


def add_judgments(connection: Connection, several: Sequence[Sequence[tuple[Judge, dict[str, Any]]]]) -> list[int]:
    """Judgments of several callers, in one statement; of each, how many were not stored before."""
    numbers: dict[str, int] = {}
    of: dict[int, int] = {}  # the same by what holds a judge: a few, each of many rows
    keys = [row["key"] for rows in several for _, row in rows]
    known: set[str] = set()
    for part in parts(keys):
        known.update(connection.scalars(_KNOWN, {"keys": part}))
    new: list[dict[str, Any]] = []
    counts = []
    for rows in several:
        before = len(new)
        for judge, row in rows:
            if row["key"] not in known:
                known.add(row["key"])
                if id(judge) not in of:
                    of[id(judge)] = judge_id(connection, judge, numbers)
                new.append(row | {"judge_id": of[id(judge)]})
        counts.append(len(new) - before)
    put_judgments(connection, new)
    return counts


def put_judgments(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows with the numbers of their judges; one whose key is there is left as it is."""
    at = now()
    for part in parts([{**row, "at": row["at"] or at} for row in rows]):
        connection.execute(_put(connection.dialect.name), part)


_KNOWN: Final = select(schema.judgment.c.key).where(schema.judgment.c.key.in_(bindparam("keys", expanding=True)))


@cache  # it is slow to make, and every answer of a judge needs it
def _put(dialect: str) -> Any:
    return insert_into(dialect, schema.judgment).on_conflict_do_nothing().values(doc_hash=_text_judged())


def judge_ids(connection: Connection, judges: Iterable[Judge]) -> dict[str, int]:
    """Name → number of judges, who are made if new."""
    wanted = {judge.name: judge for judge in judges}
    hashes = {name: _hash(judge) for name, judge in wanted.items()}
    rows = connection.execute(_JUDGES, {"names": [*wanted]})
    found = {name: number for name, known, number in rows if known == hashes[name]}
    return {name: found[name] if name in found else judge_id(connection, wanted[name], {}) for name in wanted}


def judge_id(connection: Connection, judge: Judge, numbers: dict[str, int]) -> int:
    """The number of a judge with these settings, who is made if new."""
    known = _hash(judge)
    if known not in numbers:
        made = {"name": judge.name, "kind": judge.kind, **judge.settings, "hash": known, "at": now()}
        numbers[known] = id_of(connection, schema.judge, ("name", "hash"), made)
    return numbers[known]


def _hash(judge: Judge) -> str:
    return digest({"name": judge.name, "kind": judge.kind, **judge.settings})


_B = schema.judge.c
_JUDGES: Final = select(_B.name, _B.hash, _B.judge_id).where(_B.name.in_(bindparam("names", expanding=True)))
