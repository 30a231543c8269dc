"""Runs and their answers as rows: begun, answered query by query, ended."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, select, update

from rankgauge.store import schema, texts
from rankgauge.store.engine import StoreError
from rankgauge.store.packing import packed
from rankgauge.store.rows import digest, id_of, identifier, insert_into, inserted, is_storable, now, storable

__all__ = ["Answer", "RunRow", "add_answers", "answer_row", "begin", "end", "fingerprint", "models", "run_row"]


class Answer(NamedTuple):
    """What a system answered to a query: documents best first, with their scores; or the error that it gave."""

    query_id: str
    doc_ids: list[str]
    scores: list[float]
    milliseconds: float | None = None
    attempts: int = 1
    error: str | None = None


class RunRow(NamedTuple):
    """A stored run: of whom, in which state, and of how many queries an answer is missing."""

    number: int
    system: str
    state: str
    began: str
    fingerprint: str | None
    queries: int
    lacking: int
    over: int | None = None  # the run whose documents it ranks
    sample: str | None = None  # that it was made for

    @property
    def address(self) -> str:
        """What it is called on the command line."""
        return f"@{self.system}:{self.number}"


def begin(connection: Connection, system: str, config: Mapping[str, Any], **about: Any) -> int:
    """A new run of a system, which is made if it is new, or new in this way."""
    at = now()
    written = json.dumps(config, sort_keys=True)
    described = {"name": storable(system, "system"), "config": written, "hash": digest(config), "at": at}
    number = id_of(connection, schema.system, ("name", "hash"), described)
    return inserted(connection, schema.run, {"system_id": number, "state": "open", "began": at, **about})


def end(connection: Connection, run: int, state: str) -> None:
    hashes = fingerprint(connection, run)
    ended = update(schema.run).where(schema.run.c.run_id == run)
    connection.execute(ended.values(state=state, ended=now(), fingerprint=hashes))


def fingerprint(connection: Connection, run: int) -> str:
    """A hash of the answers that a run has."""
    table = schema.answer.c
    asked = select(table.query_id, table.ranking).where(table.run_id == run).order_by(table.query_id)
    found = connection.execute(asked).all()
    return digest([[query, hashlib.sha256(ranking or b"").hexdigest()] for query, ranking in found])


def run_row(connection: Connection, row: Any) -> RunRow:
    """A run; of one with a sample, every query of it is to have an answer, else every query that was asked."""
    table, asked = schema.answer.c, schema.sampled.c
    answered = select(table.query_id).where(table.run_id == row["run_id"], table.error.is_(None))
    if row["sample_id"] is not None:
        wanted = select(func.count()).where(asked.sample_id == row["sample_id"])
        missing = wanted.where(asked.query_id.not_in(answered))
    else:
        wanted = select(func.count()).where(table.run_id == row["run_id"])
        missing = wanted.where(table.error.is_not(None))
    queries, lacking = (int(connection.scalar(each) or 0) for each in (wanted, missing))
    about = (row["run_id"], row["name"], row["state"], row["began"], row["fingerprint"])
    return RunRow(*about, queries=queries, lacking=lacking, over=row["over_run_id"], sample=row["sample"])


def add_answers(
    connection: Connection, several: Sequence[tuple[dict[str, Any], Sequence[dict[str, Any]]]]
) -> list[int]:
    """Answers of several callers, each with its documents; what failed before is replaced, an answer is kept.

    A text that a query changes (a snippet) is no text of the document: the first stays. How many of each answer did.
    """
    shown = [(at, texts.TextRow(row)) for at, (_, rows) in enumerate(several) for row in rows]
    others = {other.at for other in texts.other_texts(connection, [row for _, row in shown], first=True)}
    texts.put_documents(connection, [each.row for at, (_, each) in enumerate(shown) if at not in others])
    connection.execute(_put_answer(connection.dialect.name), [row for row, _ in several])
    unequal = Counter(shown[at][0] for at in others)
    return [unequal[at] for at in range(len(several))]


@cache
def _put_answer(dialect: str) -> Any:
    put = insert_into(dialect, schema.answer)
    new = {each.name: put.excluded[each.name] for each in schema.answer.c if not each.primary_key}
    failed = schema.answer.c.error.is_not(None)
    return put.on_conflict_do_update(index_elements=["run_id", "query_id"], set_=new, where=failed)


def models(connection: Connection, run: int) -> list[str]:
    """The models that the settings of a run's system name."""
    table = schema.system.c
    asked = select(table.config).join(schema.run, schema.run.c.system_id == table.system_id)
    return [*_models(json.loads(connection.scalar(asked.where(schema.run.c.run_id == run)) or "{}"))]


def _models(config: Any) -> Iterator[str]:
    for key, value in config.items() if isinstance(config, dict) else enumerate(config):
        if key == "model" and isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            yield from _models(value)


def answer_row(answer: Answer, source: str) -> dict[str, Any]:
    query = identifier(answer.query_id, f"{source}: a query's id")
    place = f"{source}: query {query!r}: a document's id"
    if not is_storable("".join(answer.doc_ids)):  # all at once, for an answer has many
        for each in answer.doc_ids:
            storable(each, place)
    if len({*answer.doc_ids}) < len(answer.doc_ids):
        twice = next(doc for at, doc in enumerate(answer.doc_ids) if doc in answer.doc_ids[:at])
        raise StoreError(f"{source}: document {twice!r} is there twice for query {query!r}; keep one")
    storable(answer.error, f"{source}: query {query!r}: the error")
    ranking = packed(answer.doc_ids, answer.scores) if answer.error is None else None
    about = {"milliseconds": answer.milliseconds, "attempts": answer.attempts, "error": answer.error}
    return {"query_id": query, "ranking": ranking, "found": len(answer.doc_ids), **about}
