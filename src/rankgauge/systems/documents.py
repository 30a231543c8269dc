"""The texts of documents: in the file that [documents] names, read line by line, and in the store."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import FormatError, InputError
from rankgauge.read.cells import json_format, json_lines
from rankgauge.read.names import first_of
from rankgauge.read.records import id_at
from rankgauge.read.sources import Source, find_source
from rankgauge.read.tables import is_blank, read_table

if TYPE_CHECKING:
    from rankgauge.store.project import Project
    from rankgauge.systems.config import Documents

__all__ = ["corpus", "corpus_hash", "corpus_of", "fields_of"]

LINES: Final = (".jsonl", ".ndjson")


def corpus(documents: Documents) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every document of the file with its fields, once; an id that is there again with another text is an error."""
    seen: dict[str, int] = {}
    source = find_source(documents.path)
    for place, doc, fields in _rows(source, documents):
        if documents.fields:
            fields = {name: fields[name] for name in documents.fields if name in fields}
        mark = hash(json.dumps(fields, sort_keys=True, default=str))
        if doc not in seen:
            seen[doc] = mark
            yield doc, fields
        elif seen[doc] != mark:
            raise FormatError(f"{place}: document {doc!r} is there twice, with two texts; keep one")
    if not seen:
        raise InputError(f"{source.name}: holds no documents; expected one a line")


def _rows(source: Source, documents: Documents) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Place, id and fields of every row; JSON lines one by one, for a corpus may be large."""
    if source.suffix in LINES or json_format(source.head()) == "jsonl":
        for line, item in json_lines(source):
            place = f"{source.name}:{line}"
            ids = _id_column(list(item), documents, place)
            yield place, _id(item[ids], place), {name: cell for name, cell in item.items() if name != ids}
        return
    table = read_table(source, key="doc_id", loose=True)
    ids = _id_column(table.names, documents, source.name)
    for at, row in enumerate(table.rows):
        item = dict(zip(table.names, row, strict=True))
        place = table.place(at)
        yield place, _id(item.pop(ids), place), {name: cell for name, cell in item.items() if not is_blank(cell)}


def _id(cell: Any, place: str) -> str:
    if is_blank(cell):
        raise FormatError(f"{place}: the id is empty; fill it in")
    return id_at(cell, place)


def _id_column(names: list[str], documents: Documents, place: str) -> str:
    found = documents.id if documents.id is not None else first_of("doc_id", names, "id")
    if found not in names:
        what = f"no {found!r}" if documents.id is not None else "no id"
        raise FormatError(f"{place}: has {what} among {', '.join(names)}; name its column: [documents] id = …")
    return found


def corpus_hash(documents: Documents) -> str:
    """A hash of the file and of what is taken from it."""
    find_source(documents.path)  # says what is wrong with the path
    made = hashlib.sha256(repr((documents.id, documents.fields)).encode())
    with open(documents.path, "rb") as stream:
        while part := stream.read(1 << 20):
            made.update(part)
    return made.hexdigest()[:16]


def corpus_of(project: Project) -> Documents | None:
    """The file that [documents] names, if it names one."""
    from rankgauge.systems.config import documents_of

    return documents_of(project.settings, project.folder, os.fspath(project.folder / "rankgauge.toml"))


def fields_of(project: Project, wanted: Collection[str]) -> dict[str, Mapping[str, Any]]:
    """The fields of documents: as the project's file has them, which its systems search; or else as the store does."""
    from rankgauge.systems.stored import fields

    found: dict[str, Mapping[str, Any]] = {}
    named, missing = corpus_of(project), set(wanted)
    for doc, each in corpus(named) if named is not None and missing else ():
        if doc in missing:
            found[doc] = each
            missing.remove(doc)
            if not missing:
                break
    if missing:
        with project.store() as store:
            found |= fields(store, missing)
    return found
