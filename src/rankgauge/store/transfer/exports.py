"""What a store holds as plain files, which an import takes again: JSON lines that lose nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from sqlalchemy import Connection, select

from rankgauge.errors import InputError
from rankgauge.read.layers import split_suffixes
from rankgauge.store import schema
from rankgauge.store.engine import reading
from rankgauge.store.store import Label, Store
from rankgauge.writers.files import STANDARD_OUTPUT, opened

__all__ = ["EXPORTS", "export"]

SUFFIXES: Final = (".jsonl", ".ndjson")


def export(store: Store, what: str, target: str) -> int:
    """Write queries, documents, pairs or single judgments to a file, whole or not at all; how many lines it has."""
    suffix, _ = split_suffixes(target)
    if suffix not in SUFFIXES and target not in STANDARD_OUTPUT:
        raise InputError(f"{target}: {what} are written as JSON lines, which lose nothing; name it {what}.jsonl")
    count = 0
    with reading(store.engine) as connection, opened(target) as stream:
        for row in EXPORTS[what](connection):
            stream.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
            count += 1
    return count


def _queries(connection: Connection) -> Iterator[dict[str, Any]]:
    table = schema.query
    for row in connection.execute(select(table).order_by(table.c.query_id)).mappings():
        tags = None if row["tags"] is None else json.loads(row["tags"])
        yield {"query_id": row["query_id"], "text": row["text"], "need": row["need"], "tags": tags}


def _documents(connection: Connection) -> Iterator[dict[str, Any]]:
    table = schema.document
    for row in connection.execute(select(table).order_by(table.c.doc_id, table.c.at)).mappings():
        yield {"doc_id": row["doc_id"], "fields": json.loads(row["fields"]), "at": row["at"]}


def _pairs(connection: Connection) -> Iterator[dict[str, Any]]:
    table = schema.pair.c
    asked = select(table.query_id, table.doc_id, table.position.label("to_judge"))
    for row in connection.execute(asked.order_by(table.query_id, table.doc_id)).mappings():
        yield dict(row)


def _judgments(connection: Connection) -> Iterator[dict[str, Any]]:
    """Every judgment as it came, with the judge's settings as they were; what is empty is left out."""
    found = connection.execute(select(schema.judge)).mappings()
    judges = {row["judge_id"]: _judge(connection, dict(row)) for row in found}
    table = schema.judgment
    for row in connection.execute(select(table).order_by(table.c.judgment_id)).mappings():
        values = {"relevance" if name == "grade" else name: row[name] for name in Label._fields if name != "task_id"}
        named = {name: values.pop(name) for name in ("query_id", "doc_id", "relevance")}
        yield _known(named | dict(judges[row["judge_id"]]) | values)


def _judge(connection: Connection, row: Mapping[str, Any]) -> dict[str, Any]:
    settings = _known({name: row[name] for name in ("model", "base_url", "parameters", "scale")})
    if row["prompt"] is not None:
        asked = select(schema.prompt).where(schema.prompt.c.hash == row["prompt"])
        settings["prompt"] = dict(connection.execute(asked).mappings().one())
    return {"judge": row["name"], "kind": row["kind"], "settings": settings or None}


def _known(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


EXPORTS: Final[Mapping[str, Callable[[Connection], Iterator[dict[str, Any]]]]] = {
    "queries": _queries,
    "documents": _documents,
    "pairs": _pairs,
    "judgments": _judgments,
}
