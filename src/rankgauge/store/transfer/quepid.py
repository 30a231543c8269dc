"""Quepid's book, case and snapshot, as its JSON exports have them: a query is known by its text alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from rankgauge.errors import DuplicateError, FormatError, counted
from rankgauge.read.cells import parse_json
from rankgauge.read.sources import find_source
from rankgauge.store.store import Answer, Document, Judge, Label, Pair, Query, Store
from rankgauge.store.transfer.files import Judged, again, check_system
from rankgauge.store.transfer.parts import EXPORT, Asked, add_all, checked, grade_in, id_in, objects, said, whole

__all__ = ["add_book", "add_case", "add_snapshot"]


def add_book(store: Store, path: str, asked: Asked) -> str:
    """Pairs of a query and a document, with the judgments of every rater."""
    pairs: list[Pair] = []
    queries: list[Query] = []
    documents: list[Document] = []
    judged: list[Judged] = []
    for number, item in enumerate(objects(parse_json(find_source(path)), "query_doc_pairs", path), 1):
        place = f"{path}, pair {number}"
        query, doc = id_in(item, "query_text", place), id_in(item, "doc_id", place)
        pairs.append(Pair(query, doc, whole(item.get("position"))))
        queries.append(_query(item, query))
        documents += _document(doc, item.get("document_fields"), place)
        judged += [_rated(query, doc, each, place) for each in objects(item, "judgements", place)]
    given = checked(judged, path, asked)
    new = add_all(store, path, queries, documents, pairs, given, asked)
    left = len({pair[:2] for pair in pairs} - {label[:2] for _, label in given})
    skipped = sum(label.state != "graded" for _, label in given)
    raters = counted(len({by.name for by, _ in given}), "rater")
    words = [counted(len({query.query_id for query in queries}), "query", "queries"), counted(len(pairs), "pair")]
    words += [f"{left:,} of them unjudged", f"{counted(new, 'judgment')} by {raters}"]
    words += [f"{skipped:,} of them skipped, which are no grades"] if skipped else []
    return f"{', '.join(words)} from {path}{again(new, len(given))}"


def _rated(query: str, doc: str, item: Mapping[str, Any], place: str) -> Judged:
    """What a rater said: a grade, or that there can be none, or not yet."""
    by = Judge(id_in(item, "user_email", place) if item.get("user_email") else "anonymous", "person")
    words = said(item.get("explanation"))
    why = next((name.replace("_", " ") for name in ("unrateable", "judge_later") if item.get(name)), None)
    if why is None and item.get("rating") is not None:
        return by, Label(query, doc, grade_in(item, "rating", place), "", reason=words)
    return by, Label(query, doc, None, "", state="skipped", reason=words or why or "no rating")


def add_case(store: Store, path: str, asked: Asked) -> str:
    """Queries with the rating that each document has in the case.

    They are one judge's, the case's: Quepid combines what the raters of a book say, and copies it.
    """
    case = parse_json(find_source(path))
    by = Judge(asked.judge or id_in(case, "case_name", path), asked.kind or "imported")
    queries: list[Query] = []
    judged: list[Judged] = []
    for item in objects(case, "queries", path):
        query = id_in(item, "query_text", path)
        queries.append(_query(item, query))
        for each in objects(item, "ratings", f"{path}: query {query!r}"):
            place = f"{path}: query {query!r}"
            label = Label(query, id_in(each, "doc_id", place), grade_in(each, "rating", place), "")
            judged.append((by, label._replace(raw=json.dumps(each, sort_keys=True))))
    given = checked(judged, path, asked)
    new = add_all(store, path, queries, [], [], given, asked)
    words = f"{counted(len(queries), 'query', 'queries')}, {counted(new, 'label')} of {by.name}"
    return f"{words} from {path}{again(new, len(given))}"


def add_snapshot(store: Store, path: str, asked: Asked) -> str:
    """What a search engine answered: the order is Quepid's, for its scores need not be in it."""
    snapshot = parse_json(find_source(path))
    system = asked.system or id_in(snapshot, "name", path)
    check_system(system, path)
    items = {id_in(item, "query_id", path): item for item in objects(snapshot, "queries", path)}
    found = snapshot["docs"]
    if not isinstance(found, dict):
        raise FormatError(f"{path}: 'docs' is no object of query → documents; {EXPORT}")
    unknown = next((each for each in found if each not in items), None)
    if unknown is not None:
        raise FormatError(f"{path}: 'docs' has results of query {unknown}, which is not among 'queries'; {EXPORT}")
    queries: list[Query] = []
    documents: list[Document] = []
    answers: list[Answer] = []
    for number, item in items.items():
        query = id_in(item, "query_text", path)
        place = f"{path}: query {query!r}"
        docs = [each for each in objects(found, number, place) if not each.get("rated_only")] if number in found else []
        ids = [id_in(each, "id", place) for each in docs]
        twice = next((each for each, times in Counter(ids).items() if times > 1), None)
        if twice is not None:
            raise DuplicateError(f"{place}: document {twice!r} is there twice; a ranking holds a document once")
        queries.append(_query(item, query))
        answers.append(Answer(query, ids, [-float(rank) for rank in range(1, len(ids) + 1)]))
        documents += [
            made for each, doc in zip(docs, ids, strict=True) for made in _document(doc, each.get("fields"), place)
        ]
    config = {"source": "quepid snapshot", "id": snapshot.get("id")}

    def added(inside: Store) -> int:
        inside.add_queries(queries, path)
        inside.add_documents(documents, path, latest_text=asked.latest_text)
        return inside.add_run(system, config, answers, path, began=_time(snapshot.get("time")))

    return f"run {store.together(added)} of {system} from {path}: {counted(len(answers), 'query', 'queries')}"


def _query(item: Mapping[str, Any], text: str) -> Query:
    """A query of Quepid: its text, which is its id too, and what people noted about it."""
    notes = {name: item[name] for name in ("notes", "options") if item.get(name)}
    return Query(text, text, said(item.get("information_need")), notes or None)


def _document(doc: str, fields: Any, place: str) -> list[Document]:
    """The document with the fields that judges saw; none where the file has none."""
    try:
        found = json.loads(fields) if isinstance(fields, str) and fields else fields
    except ValueError as error:
        raise FormatError(f"{place}: the fields of document {doc!r} are not JSON ({error}); {EXPORT}") from None
    return [Document(doc, found)] if isinstance(found, dict) and found else []


def _time(given: Any) -> str | None:
    try:
        return datetime.fromisoformat(given).astimezone(UTC).isoformat(timespec="milliseconds")
    except (TypeError, ValueError):
        return None
