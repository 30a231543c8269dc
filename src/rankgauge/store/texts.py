"""Queries, documents and the pairs that are to be judged, as rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, bindparam, insert, select, update

from rankgauge.errors import warn
from rankgauge.store import schema
from rankgauge.store.engine import StoreError
from rankgauge.store.rows import digest, identifier, insert_into, parts, row_count, storable, texts_in

__all__ = [
    "Document",
    "Pair",
    "Query",
    "Text",
    "add_documents",
    "add_queries",
    "changed_texts",
    "document_row",
    "merged",
    "newest_texts",
    "put_documents",
    "query_row",
]


class Query(NamedTuple):
    """A query: its text, the need behind it, and whatever else is known of it."""

    query_id: str
    text: str | None = None
    need: str | None = None
    tags: Mapping[str, Any] | None = None


class Document(NamedTuple):
    """A document as judges see it; `at` where it is one of several versions."""

    doc_id: str
    fields: Mapping[str, Any]
    at: str | None = None


class Text(NamedTuple):
    """What a document says now: the hash of it, and its fields."""

    hash: str
    fields: Mapping[str, Any]


class Pair(NamedTuple):
    """A document that is to be judged for a query, and where it stood."""

    query_id: str
    doc_id: str
    position: int | None = None


def query_row(query: Query, source: str) -> dict[str, Any]:
    identifier(query.query_id, f"{source}: a query's id")
    for words in (query.text, query.need, *texts_in(query.tags)):
        storable(words, f"{source}: query {query.query_id!r}: the text")
    tags = None if query.tags is None else json.dumps(query.tags, sort_keys=True)
    return query._asdict() | {"tags": tags, "hash": digest([query.text, query.need])}


def document_row(document: Document, source: str, at: str) -> dict[str, Any]:
    identifier(document.doc_id, f"{source}: a document's id")
    for words in texts_in(document.fields):
        storable(words, f"{source}: document {document.doc_id!r}: the text")
    written = json.dumps(document.fields, default=str)  # in their order, in which judges see them
    hashed = digest(document.fields)
    return {"doc_id": document.doc_id, "hash": hashed, "fields": written, "at": document.at or at}


def add_documents(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> int:
    """New texts, and how many there were; one that was there before is the document's text again."""
    before = row_count(connection, schema.document)
    put_documents(connection, rows)
    return row_count(connection, schema.document) - before


def put_documents(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """The same, without a count; in one order, so that two who put the same documents wait for one another."""
    for part in parts(sorted(rows, key=lambda row: (row["doc_id"], row["hash"]))):
        connection.execute(_put_document(connection.dialect.name), part)


@cache  # it is slow to make, and every answer of a search needs it
def _put_document(dialect: str) -> Any:
    put = insert_into(dialect, schema.document)
    later = {"set_": {"at": put.excluded.at}, "where": put.excluded.at > schema.document.c.at}
    return put.on_conflict_do_update(index_elements=["doc_id", "hash"], **later)


def newest_texts(connection: Connection, wanted: Iterable[str]) -> dict[str, Text]:
    """Document → its text, as it is now; of those that have one."""
    found: dict[str, Text] = {}
    for part in parts(sorted(wanted)):
        for doc, known, fields in connection.execute(_TEXTS, {"docs": part}):
            found[doc] = Text(known, json.loads(fields))
    return found


def changed_texts(connection: Connection, versions: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those versions of documents, by hash, of which a field has another text now.

    A field that is not there now, or was not there then, is no change: systems return different fields of a document.
    """
    asked = set(versions)
    known: dict[tuple[str, str], dict[str, Any]] = {}
    now: dict[str, dict[str, Any]] = {}
    for part in parts(sorted({doc for doc, _ in asked})):
        for doc, hashed, written in connection.execute(_TEXTS, {"docs": part}):
            known[doc, hashed] = fields = json.loads(written)
            now.setdefault(doc, {}).update(fields)
    return {
        each
        for each in asked
        if each not in known or any(now[each[0]][name] != value for name, value in known[each].items())
    }


_D = schema.document.c
_TEXTS: Final = (
    select(_D.doc_id, _D.hash, _D.fields)
    .where(_D.doc_id.in_(bindparam("docs", expanding=True)))
    .order_by(_D.at, _D.hash.desc())
)


def merged(old: dict[str, Any], new: dict[str, Any], source: str, what: str) -> dict[str, Any]:
    """A query with what a second source adds to it: its text stays, and so does a need that it has."""
    differs = {name for name in ("text", "need") if None not in (old[name], new[name]) and old[name] != new[name]}
    if "text" in differs:
        raise StoreError(f"{source}: query {new['query_id']!r} has {what}")
    if "need" in differs:
        warn(f"{source}: query {new['query_id']!r} has another information need than before, which is left out")
    row = new | {name: value for name, value in old.items() if value is not None}
    return row | {"hash": digest([row["text"], row["need"]])}


def add_queries(connection: Connection, made: Mapping[str, dict[str, Any]], places: Mapping[str, str]) -> int:
    table = schema.query.c
    known: dict[str, dict[str, Any]] = {}
    for part in parts(list(made)):
        asked = select(schema.query).where(table.query_id.in_(part))
        known.update((row["query_id"], dict(row)) for row in connection.execute(asked).mappings())
    for query, old in known.items():
        row = merged(old, made[query], places[query], "another text in the store; give the new text a new id")
        if row != old:
            connection.execute(update(schema.query).where(table.query_id == query).values(**row))
    new = [dict(row) for query, row in made.items() if query not in known]
    for part in parts(new):
        connection.execute(insert(schema.query), part)
    return len(new)
