"""BEIR's folders and UMBRELA's answers: judgments with the texts that they are about."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sqlalchemy import select

from rankgauge.errors import FormatError, InputError, counted, warn
from rankgauge.read.cells import json_lines
from rankgauge.read.layers import LAYERS
from rankgauge.read.sources import QRELS, find_source
from rankgauge.store import schema
from rankgauge.store.rows import digest
from rankgauge.store.store import Document, Judge, Label, Query, Store
from rankgauge.store.transfer.files import Judged, again, labels_of
from rankgauge.store.transfer.parts import Asked, add_all, checked, grade_in, id_in, said, words_in

__all__ = ["add_beir", "add_umbrela"]


# ---- BEIR ------------------------------------------------------------------------------------------------------------


def add_beir(store: Store, path: str, asked: Asked) -> str:
    """The judgments of a split, with the texts of the queries and documents that are judged."""
    by = Judge(asked.judge or os.path.basename(os.path.abspath(path)), asked.kind or "imported")
    qrels = _split(path, asked.split)
    given = labels_of(qrels, by, repeats=asked.repeats)
    queries = [
        Query(name, item.get("text"), None, item.get("metadata") or None)
        for name, item in _texts(path, "queries.jsonl", {label.query_id for _, label in given})
    ]
    documents = [
        Document(name, {field: value for field, value in item.items() if field != "_id"})
        for name, item in _texts(path, "corpus.jsonl", {label.doc_id for _, label in given})
    ]
    new = add_all(store, path, queries, documents, [], given, asked)
    words = f"{counted(len(queries), 'query', 'queries')}, {counted(len(documents), 'document')}"
    return f"{words}, {counted(new, 'label')} of {by.name} from {qrels}{again(new, len(given))}"


def _split(folder: str, split: str | None) -> str:
    """The judgments of the split that was asked for, of the one for tests, or of the only one."""
    qrels = os.path.join(folder, QRELS)
    there = {name.partition(".tsv")[0]: name for name in sorted(os.listdir(qrels)) if ".tsv" in name}
    wanted = split or ("test" if "test" in there else next(iter(there)) if len(there) == 1 else "")
    if wanted not in there:
        names = f"there are {', '.join(there)}; name one: --split {next(iter(there))}" if there else "there is none"
        raise InputError(
            f"{qrels}: {f'there is no split {split!r}' if split else 'several splits could be meant'}; {names}"
        )
    return os.path.join(qrels, there[wanted])


def _texts(folder: str, name: str, wanted: set[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of these ids in a file of the folder, where it has the file."""
    names = [name, *(name + suffix for layer in LAYERS for suffix in layer.suffixes)]
    path = next((each for each in (os.path.join(folder, one) for one in names) if os.path.isfile(each)), None)
    left = set(wanted)
    for line, item in json_lines(find_source(path)) if path else ():
        found = id_in(item, "_id", f"{path}:{line}")
        left.discard(found)
        if found in wanted:
            yield found, item
    if left:
        what = "queries" if name.startswith("queries") else "documents"
        warn(f"{folder}: {len(left):,} judged {what} have no text in {name}, such as {min(left)!r}")


# ---- UMBRELA: neither queries nor passages have ids ------------------------------------------------------------------


def add_umbrela(store: Store, path: str, asked: Asked) -> str:
    """Answers of a model, with the text that was read; an answer that could not be read is no grade."""
    lines = list(json_lines(find_source(path)))
    known = _ids_of_texts(
        store, {str(item.get("query")) for _, item in lines}, {str(item.get("passage")) for _, item in lines}
    )
    queries: list[Query] = []
    documents: list[Document] = []
    judged: list[Judged] = []
    for line, item in lines:
        place = f"{path}:{line}"
        query, passage = words_in(item, "query", place), words_in(item, "passage", place)
        ids = known.queries.get(query, query), known.documents.get(passage, f"passage-{digest(passage)}")
        queries += [] if query in known.queries else [Query(ids[0], query)]
        documents += [] if passage in known.documents else [Document(ids[1], {"text": passage})]
        judged.append((_model(item, asked, place), _answer(item, *ids, place)))
    given = checked(judged, path, asked)
    new = add_all(store, path, queries, documents, [], given, asked)
    failed = sum(label.state == "failed" for _, label in given)
    names = ", ".join(dict.fromkeys(by.name for by, _ in given))
    more = f", {failed:,} of them failed, which are no grades" if failed else ""
    return f"{counted(new, 'label')} of {names}{more} from {path}{again(new, len(given))}"


class Ids(NamedTuple):
    """Texts that are stored → their ids."""

    queries: dict[str, str]
    documents: dict[str, str]


def _ids_of_texts(store: Store, queries: set[str], passages: set[str]) -> Ids:
    """The ids that these texts have in the store; the first of those that have the same text."""
    table = schema.document.c
    stored = store.read(lambda each: each.execute(select(schema.query.c.text, schema.query.c.query_id)).all())
    fields = store.read(lambda each: each.execute(select(table.fields, table.doc_id).order_by(table.doc_id)).all())
    found = Ids({}, {})
    for text, query in stored:
        if text in queries:
            found.queries.setdefault(text, query)
    for written, doc in fields:
        for text in json.loads(written).values():
            if isinstance(text, str) and text in passages:
                found.documents.setdefault(text, doc)
    return found


def _model(item: Mapping[str, Any], asked: Asked, place: str) -> Judge:
    model = said(item.get("model"))
    name = asked.judge or model
    if not name:
        raise FormatError(f"{place}: names no model; say whose labels these are: --judge NAME")
    return Judge(name, asked.kind or "model", {"model": model} if model else {})


def _answer(item: Mapping[str, Any], query: str, doc: str, place: str) -> Label:
    failed = item.get("result_status") == 0  # UMBRELA's grade is 0 then, which nobody gave
    grade = None if failed else grade_in(item, "judgment", place)
    label = Label(query, doc, grade, "", state="failed" if failed else "graded", model=said(item.get("model")))
    return label._replace(raw=said(item.get("prediction")), reason=said(item.get("reasoning")))
