"""Queries, documents and the pairs that are to be judged, as rows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, bindparam, insert, select, union_all, update

from rankgauge.errors import counted, warn
from rankgauge.store import schema
from rankgauge.store.engine import StoreError
from rankgauge.store.rows import digest, identifier, insert_into, now, parts, row_count, storable, texts_in

__all__ = [
    "Document",
    "Pair",
    "Query",
    "Text",
    "TextRow",
    "add_documents",
    "add_queries",
    "changed_texts",
    "check_documents",
    "document_row",
    "merged",
    "newest_texts",
    "other_texts",
    "put_documents",
    "query_row",
    "text_rows",
]

SHOWN: Final = 40  # characters of a text in a message


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


class TextRow(NamedTuple):
    """A row of a document and its place in a source; `dated` where the source says when it was the text."""

    row: dict[str, Any]
    place: str = ""
    dated: bool = False


def text_rows(documents: Iterable[Document], places: Iterable[str]) -> list[TextRow]:
    """The rows of documents, each text once; of several for a document the last is the newest."""
    made: dict[tuple[str, str], TextRow] = {}
    last: dict[str, tuple[str, int]] = {}  # document → hash of its last text, and how many there were before
    began = now()
    for document, place in zip(documents, places, strict=False):
        row = document_row(document, place, began)
        doc, known = row["doc_id"], row["hash"]
        if document.at is not None:
            made.setdefault((doc, known), TextRow(row, place, dated=True))
            continue
        if doc in last:
            before, count = last[doc]
            if before == known:
                continue
            last[doc] = known, count + 1
            later = datetime.fromisoformat(began) + timedelta(milliseconds=count + 1)
            row["at"] = later.isoformat(timespec="milliseconds")
        else:
            last[doc] = known, 0
        made.pop((doc, known), None)
        made[doc, known] = TextRow(row, place)
    return [*made.values()]


def add_documents(connection: Connection, rows: Sequence[TextRow], remedy: str | None) -> int:
    """New texts, and how many there were; one that was there before is the document's text again.

    Another text of a document is refused with the `remedy`; without one it is the text from now on, and that is said.
    """
    if remedy is not None:
        check_documents(connection, rows, remedy)
    others = [*other_texts(connection, rows)] if remedy is None else []
    before = row_count(connection, schema.document)
    put_documents(connection, [each.row for each in rows])
    if others:
        first, count = others[0].found, len({each.found.row["doc_id"] for each in others})
        words = f"{counted(count, 'document has', 'documents have')} another text than before"
        name = f"{first.place}: document {first.row['doc_id']!r}"
        warn(f"{words} ({name}); the latest text is taken, and labels of the earlier one are outdated")
    return row_count(connection, schema.document) - before


def check_documents(connection: Connection, rows: Sequence[TextRow], remedy: str) -> None:
    """Refuse another text of a document that has one, stored or in an earlier row."""
    other = next(other_texts(connection, rows), None)
    if other is None:
        return
    found, known = other.found, other.known
    doc, place = found.row["doc_id"], known.place
    if not place:
        query = connection.scalar(_judged_text(), {"doc": doc, "hash": known.row["hash"]})
        place = f"the store ({known.row['at'][:10]}{'' if query is None else f', judged for query {query!r}'})"
    old, new = _apart(_spelt(other.old), _spelt(other.new))
    words = f"{found.place}: document {doc!r} has another {other.field!r} than in {place}: {new} here, {old} there"
    raise StoreError(f"{words}; give each text an id of its own{f', or take the latest: {remedy}' if remedy else ''}")


def _apart(old: str, new: str) -> list[str]:
    """Two texts in quotes, short, from a little before they differ."""
    pairs = zip(old, new, strict=False)
    same = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(old), len(new)))
    begin = 0 if same < SHOWN // 2 else same - SHOWN // 4
    cut = [("…" if begin else "") + each[begin:] for each in (old, new)]
    return [repr(each if len(each) <= SHOWN else each[: SHOWN - 1] + "…") for each in cut]


@cache
def _judged_text() -> Any:
    """A query for which a text was judged, or is to be."""
    wanted = [
        select(table.c.query_id).where(table.c.doc_id == bindparam("doc"), column == bindparam("hash")).limit(1)
        for table, column in (
            (schema.judgment, schema.judgment.c.doc_hash),
            (schema.task_pair, schema.task_pair.c.hash),
        )
    ]
    return union_all(*(select(each.subquery()) for each in wanted))


class OtherText(NamedTuple):
    """A row with another text than its document has: the row at `at`, the field, and the row of the earlier text.

    A row without a place is stored.
    """

    at: int
    field: str
    found: TextRow
    new: Any
    known: TextRow
    old: Any


def other_texts(connection: Connection, rows: Sequence[TextRow], *, first: bool = False) -> Iterator[OtherText]:
    """The rows with another text than their document has, stored or by an earlier row.

    Such a row is the text that later rows are compared with; with `first`, it is not.
    """
    current: dict[str, dict[str, Any]] = {}
    origins: dict[tuple[str, str], TextRow] = {}
    newest: dict[str, str] = {}
    for part in parts(sorted({each.row["doc_id"] for each in rows})):
        for doc, known, fields, at in connection.execute(_TEXTS, {"docs": part}):
            found, newest[doc] = json.loads(fields), at
            current.setdefault(doc, {}).update(found)
            origins |= dict.fromkeys(((doc, name) for name in found), TextRow({"hash": known, "at": at}))
    for at, each in enumerate(rows):
        doc, fields = each.row["doc_id"], json.loads(each.row["fields"])
        if each.dated and each.row["at"] <= newest.get(doc, ""):
            continue  # a version from before the text of now
        texts = current.setdefault(doc, {})
        name = changed_field(texts, fields)
        if name is not None:
            yield OtherText(at, name, each, fields[name], origins[doc, name], texts[name])
        if not each.dated and not (first and name is not None):
            texts.update(fields)
            origins |= dict.fromkeys(((doc, field) for field in fields), each)


def changed_field(old: Mapping[str, Any], new: Mapping[str, Any]) -> str | None:
    """The first field that both have, with another text in each; null is no text."""
    for name, value in new.items():
        known = old.get(name)
        if known is not None and value is not None and known != value and _spelt(known) != _spelt(value):
            return name
    return None


def _spelt(value: Any) -> str:
    """A value as a file of columns has it, so that 3 and "3" are one text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


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
        for doc, known, fields, _ in connection.execute(_TEXTS, {"docs": part}):
            found[doc] = Text(known, json.loads(fields))
    return found


def changed_texts(connection: Connection, versions: Iterable[tuple[str, str]]) -> set[tuple[str, str]]:
    """Those versions of documents, by hash, of which a field has another text now.

    A field that is not there now, or was not there then, is no change: systems return different fields of a document.
    """
    asked = set(versions)
    known: dict[tuple[str, str], dict[str, Any]] = {}
    current: dict[str, dict[str, Any]] = {}
    for part in parts(sorted({doc for doc, _ in asked})):
        for doc, hashed, written, _ in connection.execute(_TEXTS, {"docs": part}):
            known[doc, hashed] = fields = json.loads(written)
            current.setdefault(doc, {}).update(fields)
    return {each for each in asked if each not in known or changed_field(known[each], current[each[0]]) is not None}


_D = schema.document.c
_TEXTS: Final = (
    select(_D.doc_id, _D.hash, _D.fields, _D.at)
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
