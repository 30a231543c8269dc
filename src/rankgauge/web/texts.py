"""Documents of a file as pages show them: a title and the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from rankgauge.read.names import first_of
from rankgauge.read.tables import is_blank, read_table, read_texts
from rankgauge.show.marking import TITLES

__all__ = ["Document", "document_of", "read_documents"]


class Document(NamedTuple):
    """A document as pages show it."""

    title: str
    text: str


def read_documents(path: str) -> dict[str, Document]:
    """Document → its title and its text, of a table with a header or of JSON lines; or two columns, id and text."""
    table = read_table(path, "the documents", key="doc_id", loose=True)
    ids = first_of("doc_id", table.names, "id")
    if ids is None:
        return {doc: Document("", text) for doc, text in read_texts(path, "doc_id").items()}
    fields = {name: table.cells(name) for name in table.names if name != ids}
    made = {}
    for at, doc in enumerate(table.ids(ids)):
        made[doc] = document_of({name: cells[at] for name, cells in fields.items()})
    return made


def document_of(fields: Mapping[str, Any]) -> Document:
    """A document of its fields: the title by preference, and the others one after the other."""
    known = {name: str(value) for name, value in fields.items() if not is_blank(value)}
    title = next((name for name in TITLES if name in known), None)
    return Document(known.pop(title) if title else "", " · ".join(known.values()))
