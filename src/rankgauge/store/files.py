"""Files into a store and out of it: judgments, runs, queries, documents, in every format that rankgauge reads."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rankgauge.errors import DuplicateError, counted
from rankgauge.read import read_judgments, read_run
from rankgauge.read.tables import read_texts
from rankgauge.store.store import Answer, Label, Store

if TYPE_CHECKING:
    from rankgauge.read import Run

__all__ = ["import_documents", "import_labels", "import_queries", "import_run"]


def import_labels(
    store: Store, path: str, judge: str, *, kind: str = "imported", repeats: bool = False, **how: Any
) -> str:
    """The judgments in a file as labels of a judge; `repeats`: a pair that is there again was judged again."""
    judged = read_judgments(path, repeated=repeats, **how)
    rows = list(judged)
    stamp = hashlib.sha256(repr((judge, rows)).encode("utf-8", "surrogatepass")).hexdigest()[:24]
    seen: dict[tuple[str, str], int] = {}
    labels = []
    for number, (query, doc, grade) in enumerate(rows):
        repeat = seen[query, doc] = seen.get((query, doc), -1) + 1
        labels.append(Label(query, doc, grade, f"{stamp}-{number}", repeat))
    new = store.add_labels(judge, labels, kind)
    again = "; the others were stored before" if new < len(labels) else ""
    return f"{counted(new, 'label')} of {judge} from {path}{again}"


def import_run(store: Store, path: str, system: str, **how: Any) -> str:
    """The run in a file as a run of a system."""
    run = read_run(path, **how)
    number = store.add_run(system, {"source": "file"}, answers_of(run), path)
    return f"run {number} of {system} from {path}: {counted(len(run.queries), 'query', 'queries')}"


def answers_of(run: Run) -> Iterator[Answer]:
    """The rankings of a run, best first as they were given."""
    by_query: dict[str, tuple[list[str], list[float]]] = {}
    for query, doc, score in run:
        docs, scores = by_query.setdefault(query, ([], []))
        docs.append(doc)
        scores.append(score)
    return (Answer(query, docs, scores) for query, (docs, scores) in by_query.items())


def import_queries(store: Store, path: str) -> str:
    """The texts of queries."""
    texts = _texts(path, "query_id")
    new = store.add_queries(((query, words, None) for query, words in texts.items()), path)
    return f"{counted(new, 'new query', 'new queries')} from {path}"


def import_documents(store: Store, path: str) -> str:
    """The texts of documents."""
    texts = _texts(path, "doc_id")
    new = store.add_documents(((doc, {"text": words}) for doc, words in texts.items()), path)
    return f"{counted(new, 'new document')} from {path}"


def _texts(path: str, what: str) -> dict[str, str]:
    try:
        return read_texts(path, what)
    except DuplicateError as error:
        raise DuplicateError(f"{error}; an id has one text in a store") from None
