"""Files into a store: judgments, runs, queries, documents, in every format that rankgauge reads."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from rankgauge.errors import DuplicateError, FormatError, InputError, counted, way
from rankgauge.read import read_judgments, read_run
from rankgauge.read.names import first_of
from rankgauge.read.tables import TEXTS, NamedColumns, is_blank, read_table
from rankgauge.store.rows import storable
from rankgauge.store.store import Answer, Document, Judge, Label, Query, Store

if TYPE_CHECKING:
    from rankgauge.read import Judgments, Run

__all__ = ["again", "answers_of", "check_system", "import_documents", "import_labels", "import_queries", "import_run"]
__all__ += ["keyed", "labels_of", "on_purpose", "read_queries"]

Judged: TypeAlias = tuple[Judge, Label]

NEEDS: Final = ("need", "information_need", "description")
# What an address means by itself; a system of this name could not be asked for.
TAKEN: Final = ("labels", "people", "judgments", "queries", "documents", "pairs")


def import_labels(store: Store, path: str, by: Judge, *, repeats: bool = False, **how: Any) -> str:
    """The judgments in a file as labels of a judge; `repeats`: a pair that is there again was judged again."""
    given, known = labels_of(path, by, repeats=repeats, **how), {each.query_id for each in store.queries()}
    new = store.add_judgments(given, path)
    return f"{counted(new, 'label')} of {by.name} from {path}{again(new, len(given))}{_strange(given, known)}"


def _strange(given: Iterable[Judged], known: Collection[str]) -> str:
    """A word about queries that the store has not heard of, where it has some: texts, say, in place of ids."""
    queries = [*dict.fromkeys(label.query_id for _, label in given)]
    strange = [query for query in queries if query not in known]
    if not known or not strange:
        return ""
    of = f"{len(strange):,} of {counted(len(queries), 'query', 'queries')}"
    return f"; {of} {'is' if len(strange) == 1 else 'are'} new to the project, such as {strange[0]!r}"


def again(new: int, given: int) -> str:
    """A word about labels that were not stored once more."""
    return "; the others were stored before" if new < given else ""


def labels_of(path: str, by: Judge, *, repeats: bool = False, **how: Any) -> list[Judged]:
    """The judgments in a file as labels of a judge."""
    try:
        judged = read_judgments(path, repeated=repeats, **how)
        rows = list(judged if repeats else _once(judged))
    except DuplicateError as error:
        raise DuplicateError(f"{error}, or {on_purpose()}") from None
    return keyed((by, Label(query, doc, grade, "")) for query, doc, grade in rows)


def on_purpose() -> str:
    """What to say where a pair was judged again on purpose."""
    return f"say that pairs were judged again on purpose: {way('repeats=True', '--repeats')}"


def keyed(judged: Iterable[Judged]) -> list[Judged]:
    """Labels with their repeats counted, and with keys by which the same file again is the same labels."""
    rows = list(judged)
    stamp = hashlib.sha256(repr(rows).encode("utf-8", "surrogatepass")).hexdigest()[:24]
    seen: Counter[tuple[str, str, str]] = Counter()
    made = []
    for number, (by, label) in enumerate(rows):
        pair = (by.name, label.query_id, label.doc_id)
        made.append((by, label._replace(key=f"{stamp}-{number}", repeat=seen[pair])))
        seen[pair] += 1
    return made


def _once(judged: Judgments) -> Iterator[tuple[str, str, float]]:
    """Every pair once: large files are read as they are, and whoever uses them looks for pairs with two grades."""
    seen: dict[tuple[str, str], float] = {}
    for query, doc, grade in judged:
        if seen.setdefault((query, doc), grade) != grade:
            words = f"{judged.source}: query {query!r}, document {doc!r} has two grades; keep one of the two judgments"
            raise judged.explain(query, doc) or DuplicateError(words)
    return ((query, doc, grade) for (query, doc), grade in seen.items())


def import_run(store: Store, path: str, system: str, **how: Any) -> str:
    """The run in a file as a run of a system."""
    check_system(system, path)
    run = read_run(path, **how)
    number = store.add_run(system, {"source": "file"}, answers_of(run), path)
    return f"run {number} of {system} from {path}: {counted(len(run.queries), 'query', 'queries')}"


def check_system(name: str, source: str) -> None:
    """Refuse a name under which no run could be asked for."""
    storable(name, f"{source}: the name of the system")
    if name in TAKEN or not name.strip() or set(name) & set(":?=@"):
        words = f"{source}: {name!r} cannot name a system: @{name} would mean something else"
        raise InputError(f"{words}; give another: --system NAME")


def answers_of(run: Run) -> list[Answer]:
    """The rankings of a run, best first as they were given; a query that found nothing has an empty one."""
    by_query: dict[str, dict[str, float]] = {query: {} for query in run.queries}
    for query, doc, score in run:
        ranking = by_query[query]
        if doc in ranking:
            words = f"{run.source}: document {doc!r} is there twice for query {query!r}; keep one"
            raise run.explain(query, doc) or DuplicateError(words)
        ranking[doc] = score
    return [Answer(query, list(ranking), list(ranking.values())) for query, ranking in by_query.items()]


# ---- texts -----------------------------------------------------------------------------------------------------------


def import_queries(store: Store, path: str) -> str:
    """The texts of queries, with their information needs; every other column is a tag."""
    table = _texts(path, "query_id")
    new = store.add_queries(_queries_in(table), _places(table))
    return f"{counted(new, 'new query', 'new queries')} from {path}"


def read_queries(path: str) -> list[Query]:
    """The queries in a file, which must have texts; each once."""
    table = _texts(path, "query_id")
    found: dict[str, Query] = {}
    for at, query in enumerate(_queries_in(table)):
        if found.setdefault(query.query_id, query).text != query.text:
            raise FormatError(f"{table.place(at)}: query {query.query_id!r} has two texts in this file; keep one")
        if not (query.text or "").strip():
            raise FormatError(f"{table.place(at)}: query {query.query_id!r} has no text; fill it in")
    if not found:
        raise InputError(f"{path}: holds no queries; expected an id and a text on each line")
    return list(found.values())


def _queries_in(table: NamedColumns) -> Iterator[Query]:
    """The queries of a table: every other column is a tag, and an empty cell is none."""
    ids = _id_column(table, "query_id")
    if table.names == list(Query._fields):  # as an export has it
        texts = (map(_text, table.cells(name)) for name in ("text", "need"))
        yield from map(Query, table.ids(ids), *texts, table.cells("tags"))
        return
    others = [name for name in table.names if name != ids]
    named = [name for name in TEXTS if name in others] or (others if len(others) == 1 else [])
    if not named:
        raise FormatError(f"{table.source}: which column is the text? There are {', '.join(others)}; call it text")
    need = next((name for name in NEEDS if name in others), "")
    for query, row in zip(table.ids(ids), table.rows, strict=True):
        cells = {name: cell for name, cell in zip(table.names, row, strict=True) if not is_blank(cell)}
        tags = {name: cell for name, cell in cells.items() if name not in (ids, named[0], need)}
        yield Query(query, _text(cells.get(named[0])) or "", _text(cells.get(need)), tags or None)


def import_documents(store: Store, path: str, *, latest_text: bool = False) -> str:
    """The texts of documents, with every field that the file has; another text of one is refused, or the latest."""
    table = _texts(path, "doc_id")
    new = store.add_documents(_documents_in(table), _places(table), latest_text=latest_text)
    return f"{counted(new, 'new document')} from {path}"


def _documents_in(table: NamedColumns) -> Iterator[Document]:
    """The documents of a table: every other column is a field, or one holds them all, as an export has it."""
    ids = _id_column(table, "doc_id")
    if set(table.names) == {ids, "fields", "at"} and all(isinstance(each, dict) for each in table.cells("fields")):
        yield from map(Document, table.ids(ids), table.cells("fields"), map(_text, table.cells("at")))
        return
    at = table.names.index(ids)
    for doc, row in zip(table.ids(ids), table.rows, strict=True):
        fields = {name: cell for place, (name, cell) in enumerate(zip(table.names, row, strict=True)) if place != at}
        yield Document(
            doc, {name: cell for name, cell in fields.items() if isinstance(cell, str) or not is_blank(cell)}
        )


def _places(table: NamedColumns) -> Iterator[str]:
    """Where every row of a table is."""
    return map(table.place, range(len(table)))


def _text(cell: Any) -> str | None:
    return cell if isinstance(cell, str) else None if is_blank(cell) else str(cell)


def _texts(path: str, what: str) -> NamedColumns:
    """A table with a header, or two columns (id, text) without one."""
    table = read_table(path, key=what, loose=True)
    if first_of(what, table.names, "id") is None and len(table.names) == 2:
        lines = [1, *table.lines] if table.lines else ()
        return NamedColumns(table.source, [what, "text"], [table.names, *table.rows], lines, table.delimiter)
    names = [what, "text"] if table.names == [what, "value"] else table.names
    return replace(table, names=names)


def _id_column(table: NamedColumns, what: str) -> str:
    ids = first_of(what, table.names, "id")
    if ids is None:
        raise FormatError(f"{table.source}: no column of ids among {', '.join(table.names)}; call it {what}")
    return ids
