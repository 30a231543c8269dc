"""What judging asks of a store: answers by their keys, what was spent, what a server can do, raw answers."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import Connection, func, select

from rankgauge.store import schema
from rankgauge.store.judgments import TRIAL
from rankgauge.store.rows import digest, insert_into, now, parts, written
from rankgauge.store.store import Label, Pair, Query

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgauge.judge import pairs as judging
    from rankgauge.judge.answers import Reading
    from rankgauge.judge.questions import Question
    from rankgauge.store.store import Store

__all__ = [
    "Raw",
    "Stored",
    "ability",
    "answers",
    "check_texts",
    "keep_ability",
    "keep_texts",
    "keys",
    "last_model",
    "models",
    "pool",
    "prompt",
    "raw_answers",
    "raws",
    "spent",
    "used",
]


class Stored(NamedTuple):
    """The last answer to a question; `attempts`: how often it was asked."""

    state: str
    grade: float | None
    reason: str | None
    raw: str | None
    reader: str | None
    model: str | None
    expected: float | None
    mass: float | None
    attempts: int = 1

    def label(self, question: Question, key: str) -> Label:
        """The same answer for another pair, or under another name of the judge: it cost nothing."""
        about = self._asdict()
        about.pop("attempts")
        pair = question.pair
        return Label(
            pair.query_id, pair.doc_id, key=key, repeat=question.repeat, doc_hash=digest(pair.document),
            answer=question.answer, cut=question.cut, calls=0, **about,
        )  # fmt: skip


def answers(store: Store, wanted: Sequence[str]) -> dict[str, Stored]:
    """Key of a question → its last answer."""
    table = schema.judgment.c
    columns = [table[name] for name in Stored._fields[:-1]]
    found: dict[str, Stored] = {}
    for part in parts([*dict.fromkeys(wanted)]):
        asked = select(table.answer, *columns).where(table.answer.in_(part)).order_by(table.judgment_id)
        for key, *row in _rows(store, asked):
            found[key] = Stored._make([*row, found[key].attempts + 1 if key in found else 1])
    return found


def raws(store: Store, wanted: Sequence[str]) -> dict[str, set[str]]:
    """Key of a question → all answers to it, as they came."""
    table = schema.judgment.c
    found: dict[str, set[str]] = {}
    for part in parts([*dict.fromkeys(wanted)]):
        for key, raw in _rows(store, select(table.answer, table.raw).where(table.answer.in_(part))):
            found.setdefault(key, set()).add(raw)
    return found


def keys(store: Store, wanted: Sequence[str]) -> set[str]:
    """Those of the keys of labels that are stored."""
    table = schema.judgment.c.key
    found: set[str] = set()
    for part in parts([*wanted]):
        found.update(key for (key,) in _rows(store, select(table).where(table.in_(part))))
    return found


def _rows(store: Store, asked: Any) -> Sequence[Any]:
    return store.read(lambda connection: connection.execute(asked).all())


def keep_texts(
    store: Store,
    pairs: Sequence[judging.Pair],
    own: Sequence[judging.Pair] | None = None,
    *,
    latest_text: bool = False,
) -> None:
    """Store queries, documents and the pairs themselves, as judges see them.

    `own` are the pairs with a text of their own, all without it: another text of a document is refused, and with
    `latest_text` taken. The texts of the others are the project's, of which the latest counts.
    """
    own = pairs if own is None else own
    bare = {pair[:2] for pair in own if not pair.document}
    filled = [pair for pair in pairs if pair[:2] in bare]

    def added(inside: Store) -> None:
        queries = {pair.query_id: Query(pair.query_id, pair.query, pair.need) for pair in pairs if pair.query}
        inside.add_queries(queries.values(), "pairs")
        inside.add_documents(*_documents(filled), latest_text=True)
        inside.add_documents(*_documents(own), latest_text=latest_text)
        inside.add_pairs([Pair(pair.query_id, pair.doc_id) for pair in pairs], "pairs")

    store.together(added)


def check_texts(store: Store, pairs: Sequence[judging.Pair]) -> None:
    """Refuse pairs with another text of a document than is stored, or than another of them has."""
    store.check_documents(*_documents(pairs))


def _documents(pairs: Sequence[judging.Pair]) -> tuple[list[tuple[str, Mapping[str, Any]]], list[str]]:
    """The documents of pairs that have a text, and the place of each."""
    shown = [pair for pair in pairs if pair.document]
    places = [f"{pair.place}: query {pair.query_id!r}" if pair.place else f"query {pair.query_id!r}" for pair in shown]
    return [(pair.doc_id, pair.document) for pair in shown], places


def pool(store: Store, judges: Collection[str]) -> list[tuple[str, str]]:
    """The pairs of the pool that nobody but these judges has graded."""
    table = schema.pair.c
    rows = store.read(lambda each: each.execute(select(table.query_id, table.doc_id)).all())
    graded = {row[:2] for row in store.labels()[0] if row.grade is not None and row.judge not in judges}
    return [(query, doc) for query, doc in sorted(map(tuple, rows)) if (query, doc) not in graded]


# ---- models ----------------------------------------------------------------------------------------------------------


def ability(store: Store, base_url: str, model: str) -> Mapping[str, Any] | None:
    """What was found out about a server and model."""
    table = schema.ability.c
    asked = select(table.found).where(table.base_url == base_url.strip().rstrip("/"), table.model == model)
    found = store.read(lambda each: each.scalar(asked))
    return None if found is None else json.loads(found)


def keep_ability(store: Store, base_url: str, model: str, found: Mapping[str, Any]) -> None:
    """Remember it."""
    row = {"base_url": base_url, "model": model, "found": written(found), "at": now()}

    def kept(connection: Connection) -> None:
        put = insert_into(connection.dialect.name, schema.ability).values(**row)
        new = {"found": put.excluded.found, "at": put.excluded.at}
        connection.execute(put.on_conflict_do_update(index_elements=["base_url", "model"], set_=new))

    store.writer.write(kept)


def spent(store: Store, judge: str) -> float:
    """What all answers of a judge have cost."""
    return float(store.read(lambda each: each.scalar(_of_judge(judge, func.sum(schema.judgment.c.cost)))) or 0.0)


def used(store: Store, judge: str) -> tuple[float, float] | None:
    """Tokens that were read, and written, an answer of this judge; None where nobody has counted."""
    table = schema.judgment.c
    sums = (func.sum(table.tokens_in), func.sum(table.tokens_out), func.sum(table.calls))
    asked = _of_judge(judge, *sums).where(table.tokens_in.is_not(None))
    read, told, calls = store.read(lambda each: each.execute(asked).one())
    return (read / calls, told / calls) if calls else None


def models(store: Store, judge: str) -> list[str]:
    """The models that have answered as this judge."""
    table = schema.judgment.c
    asked = _of_judge(judge, table.model).where(table.model.is_not(None)).group_by(table.model).order_by(table.model)
    return [*store.read(lambda each: each.scalars(asked).all())]


def last_model(store: Store, judge: str) -> str | None:
    """The model that a judge of this name had last."""
    table = schema.judge.c
    asked = select(table.model).where(table.name == judge).order_by(table.judge_id.desc()).limit(1)
    return store.read(lambda each: each.scalar(asked))


def _of_judge(judge: str, *columns: Any) -> Any:
    about = schema.judge.c
    found = select(*columns).join(schema.judge, about.judge_id == schema.judgment.c.judge_id)
    return found.where(about.name == judge)


class Raw(NamedTuple):
    """A stored answer as it came, with how it was read and the settings of its judge."""

    query_id: str
    doc_id: str
    repeat: int
    state: str
    grade: float | None
    reason: str | None
    raw: str
    key: str
    doc_hash: str | None
    answer: str | None
    cut: int | None
    model: str | None
    expected: float | None
    mass: float | None
    settings: Mapping[str, Any]

    def label_again(self, reading: Reading, reader: str) -> Label:
        """The label of a new reading."""
        return Label(
            self.query_id, self.doc_id, reading.grade, digest([self.key, reader]), self.repeat, reading.state,
            reading.reason, doc_hash=self.doc_hash, raw=self.raw, reader=reader, model=self.model, calls=0,
            answer=self.answer, cut=self.cut, expected=self.expected, mass=self.mass,
        )  # fmt: skip


def prompt(store: Store, known: str) -> tuple[str, str]:
    """The name and the text of a prompt, by its hash."""
    table = schema.prompt.c
    name, text = store.read(lambda each: each.execute(select(table.name, table.text).where(table.hash == known)).one())
    return name, text


def raw_answers(store: Store, judge: str) -> Iterator[Raw]:
    """The last answer of a judge to every question, as it came."""
    table, about = schema.judgment.c, schema.judge.c
    latest = select(func.max(table.judgment_id)).join(schema.judge, about.judge_id == table.judge_id)
    latest = latest.where(about.name == judge, about.kind != TRIAL).group_by(table.query_id, table.doc_id, table.repeat)
    settings = [about[name] for name in ("model", "base_url", "parameters", "prompt", "scale")]
    asked = select(*(table[name] for name in Raw._fields[:-1]), *(each.label(f"of_{each.name}") for each in settings))
    asked = asked.join(schema.judge, about.judge_id == table.judge_id)
    asked = asked.where(table.judgment_id.in_(latest), table.raw.is_not(None))
    asked = asked.order_by(table.query_id, table.doc_id, table.repeat)
    size = len(Raw._fields) - 1
    for row in store.read(lambda each: each.execute(asked).all()):
        known = zip((each.name for each in settings), row[size:], strict=True)
        yield Raw._make([*row[:size], {name: value for name, value in known if value is not None}])
