"""Files that say themselves what they hold: Quepid's, UMBRELA's, BEIR's folders, and what `store export` wrote.

Each becomes queries, documents, labels or a run in one transaction, so that it is there whole or not at all.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from sqlalchemy import Table, select

from rankgauge.errors import DuplicateError, FormatError, InputError, choices, counted, warn
from rankgauge.read.cells import json_format, json_lines, parse_json
from rankgauge.read.records import id_text
from rankgauge.read.rows import number_of_value
from rankgauge.read.sources import LAYERS, QRELS, find_source
from rankgauge.store import schema
from rankgauge.store.files import Judged, again, check_system, keyed, labels_of, on_purpose
from rankgauge.store.rows import digest
from rankgauge.store.store import Answer, Document, Judge, Label, Pair, Query, Store

__all__ = ["BEIR", "KINDS", "STATES", "Asked", "Known", "recognise"]


STATES: Final = ("graded", "failed", "refused", "skipped")
KINDS: Final = ("person", "model", "program", "imported")


class Asked(NamedTuple):
    """What the user says about a file that says the rest itself."""

    judge: str | None = None
    kind: str | None = None
    system: str | None = None
    split: str | None = None
    repeats: bool = False


class Known(NamedTuple):
    """What a file was recognised as: its name, the options that mean something to it, and how it is stored."""

    name: str
    takes: tuple[str, ...]
    added: Callable[[Store, str, Asked], str]

    def store(self, store: Store, path: str, asked: Asked) -> str:
        """Store it, in one transaction; what was stored."""
        for option, value in asked._asdict().items():
            if value and option not in self.takes:
                raise InputError(f"{path}: is {self.name}, for which --{option} means nothing; leave it out")
        return self.added(store, path, asked)


def recognise(path: str) -> Known | None:
    """What a file or folder is, by what is in it; None for one of plain rows."""
    if os.path.isdir(path):
        return BEIR if os.path.isdir(os.path.join(path, QRELS)) else None
    if path == "-":
        return None
    file = find_source(path)
    written = json_format(file.head())
    if written is None:
        return None
    found = next((item for _, item in json_lines(file)), None) if written == "jsonl" else parse_json(file)
    return next((known for marks, known in KNOWN if isinstance(found, dict) and marks <= found.keys()), None)


# ---- Quepid: a query is known by its text ----------------------------------------------------------------------------


def _add_book(store: Store, path: str, asked: Asked) -> str:
    """Pairs of a query and a document, with the judgments of every rater."""
    pairs: list[Pair] = []
    queries: list[Query] = []
    documents: list[Document] = []
    judged: list[Judged] = []
    for number, item in enumerate(_objects(parse_json(find_source(path)), "query_doc_pairs", path), 1):
        place = f"{path}, pair {number}"
        query, doc = _id(item, "query_text", place), _id(item, "doc_id", place)
        pairs.append(Pair(query, doc, _whole(item.get("position"))))
        queries.append(_query(item, query))
        documents += _document(doc, item.get("document_fields"), place)
        judged += [_rated(query, doc, each, place) for each in _objects(item, "judgements", place)]
    given = _checked(judged, path, asked)
    new = _add(store, path, queries, documents, pairs, given)
    left = len({pair[:2] for pair in pairs} - {label[:2] for _, label in given})
    skipped = sum(label.state != "graded" for _, label in given)
    raters = counted(len({by.name for by, _ in given}), "rater")
    words = [counted(len({query.query_id for query in queries}), "query", "queries"), counted(len(pairs), "pair")]
    words += [f"{left:,} of them unjudged", f"{counted(new, 'judgment')} by {raters}"]
    words += [f"{skipped:,} of them skipped, which are no grades"] if skipped else []
    return f"{', '.join(words)} from {path}{again(new, len(given))}"


def _rated(query: str, doc: str, item: Mapping[str, Any], place: str) -> Judged:
    """What a rater said: a grade, or that there can be none, or not yet."""
    by = Judge(id_text(item.get("user_email") or "anonymous"), "person")
    words = _said(item.get("explanation"))
    why = next((name.replace("_", " ") for name in ("unrateable", "judge_later") if item.get(name)), None)
    if why is None and item.get("rating") is not None:
        return by, Label(query, doc, _grade(item, "rating", place), "", reason=words)
    return by, Label(query, doc, None, "", state="skipped", reason=words or why or "no rating")


def _add_case(store: Store, path: str, asked: Asked) -> str:
    """Queries with the rating that each document has in the case.

    They are one judge's, the case's: Quepid combines what the raters of a book say, and copies it.
    """
    case = parse_json(find_source(path))
    by = Judge(asked.judge or id_text(case.get("case_name") or "quepid"), asked.kind or "imported")
    queries: list[Query] = []
    judged: list[Judged] = []
    for item in _objects(case, "queries", path):
        query = _id(item, "query_text", path)
        queries.append(_query(item, query))
        for each in _objects(item, "ratings", f"{path}: query {query!r}"):
            place = f"{path}: query {query!r}"
            label = Label(query, _id(each, "doc_id", place), _grade(each, "rating", place), "")
            judged.append((by, label._replace(raw=json.dumps(each, sort_keys=True))))
    given = _checked(judged, path, asked)
    new = _add(store, path, queries, [], [], given)
    words = f"{counted(len(queries), 'query', 'queries')}, {counted(new, 'label')} of {by.name}"
    return f"{words} from {path}{again(new, len(given))}"


def _add_snapshot(store: Store, path: str, asked: Asked) -> str:
    """What a search engine answered: the order is Quepid's, for its scores need not be in it."""
    snapshot = parse_json(find_source(path))
    system = asked.system or str(snapshot.get("name") or "")
    check_system(system)
    items = {str(item.get("query_id")): item for item in _objects(snapshot, "queries", path)}
    found = snapshot["docs"] if isinstance(snapshot["docs"], dict) else {}
    unknown = next((each for each in found if each not in items), None)
    if unknown is not None:
        raise FormatError(f"{path}: 'docs' has results of query {unknown}, which is not among 'queries'; {EXPORT}")
    queries: list[Query] = []
    documents: list[Document] = []
    answers: list[Answer] = []
    for number, item in items.items():
        query = _id(item, "query_text", path)
        place = f"{path}: query {query!r}"
        docs = (
            [each for each in _objects(found, number, place) if not each.get("rated_only")] if number in found else []
        )
        ids = [_id(each, "id", place) for each in docs]
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
        inside.add_documents(documents, path)
        return inside.add_run(system, config, answers, path, began=_time(snapshot.get("time")))

    return f"run {store.together(added)} of {system} from {path}: {counted(len(answers), 'query', 'queries')}"


def _query(item: Mapping[str, Any], text: str) -> Query:
    """A query of Quepid: its text, which is its id too, and what people noted about it."""
    notes = {name: item[name] for name in ("notes", "options") if item.get(name)}
    return Query(text, text, _said(item.get("information_need")), notes or None)


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


# ---- UMBRELA: neither queries nor passages have ids ------------------------------------------------------------------


def _add_umbrela(store: Store, path: str, asked: Asked) -> str:
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
        query, passage = _words(item, "query", place), _words(item, "passage", place)
        ids = known.queries.get(query, query), known.documents.get(passage, f"passage-{digest(passage)}")
        queries += [] if query in known.queries else [Query(ids[0], query)]
        documents += [] if passage in known.documents else [Document(ids[1], {"text": passage})]
        judged.append((_model(item, asked, place), _answer(item, *ids, place)))
    given = _checked(judged, path, asked)
    new = _add(store, path, queries, documents, [], given)
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
    model = _said(item.get("model"))
    name = asked.judge or model
    if not name:
        raise FormatError(f"{place}: names no model; say whose labels these are: --judge NAME")
    return Judge(name, asked.kind or "model", {"model": model} if model else {})


def _answer(item: Mapping[str, Any], query: str, doc: str, place: str) -> Label:
    failed = item.get("result_status") == 0  # UMBRELA's grade is 0 then, which nobody gave
    grade = None if failed else _grade(item, "judgment", place)
    label = Label(query, doc, grade, "", state="failed" if failed else "graded", model=_said(item.get("model")))
    return label._replace(raw=_said(item.get("prediction")), reason=_said(item.get("reasoning")))


# ---- BEIR ------------------------------------------------------------------------------------------------------------


def _add_beir(store: Store, path: str, asked: Asked) -> str:
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
    new = _add(store, path, queries, documents, [], given)
    words = f"{counted(len(queries), 'query', 'queries')}, {counted(len(documents), 'document')}"
    return f"{words}, {counted(new, 'label')} of {by.name} from {qrels}{again(new, len(given))}"


def _split(folder: str, split: str | None) -> str:
    """The judgments of the split that was asked for, of the one for tests, or of the only one."""
    qrels = os.path.join(folder, QRELS)
    there = {name.partition(".tsv")[0]: name for name in sorted(os.listdir(qrels)) if ".tsv" in name}
    wanted = split or ("test" if "test" in there else next(iter(there)) if len(there) == 1 else "")
    if wanted not in there:
        names = f"there are {', '.join(there)}; name one: --split {next(iter(there))}" if there else "there is none"
        raise InputError(f"{qrels}: {f'there is no split {split!r}' if split else 'which split?'}; {names}")
    return os.path.join(qrels, there[wanted])


def _texts(folder: str, name: str, wanted: set[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of these ids in a file of the folder, where it has the file."""
    names = [name, *(name + suffix for layer in LAYERS for suffix in layer.suffixes)]
    path = next((each for each in (os.path.join(folder, one) for one in names) if os.path.isfile(each)), None)
    left = set(wanted)
    for line, item in json_lines(find_source(path)) if path else ():
        found = _id(item, "_id", f"{path}:{line}")
        left.discard(found)
        if found in wanted:
            yield found, item
    if left:
        what = "queries" if name.startswith("queries") else "documents"
        warn(f"{folder}: {len(left):,} judged {what} have no text in {name}, such as {min(left)!r}")


# ---- what `store export` writes --------------------------------------------------------------------------------------


def _add_judgments(store: Store, path: str, asked: Asked) -> str:
    """Every single judgment as it was, with its judge."""
    prompts: dict[str, Any] = {}
    given = [_single(item, f"{path}:{line}", prompts) for line, item in json_lines(find_source(path))]

    def added(inside: Store) -> int:
        inside.add_prompts(prompts.values())
        return inside.add_judgments(given, path)

    new = store.together(added)
    return f"{counted(new, 'judgment')} from {path}{again(new, len(given))}"


def _single(item: Mapping[str, Any], place: str, prompts: dict[str, Any]) -> Judged:
    """A judgment and its judge; a prompt is put to the others."""
    values = {name: value for name, value in item.items() if name not in ("judge", "kind", "settings", "relevance")}
    _check_columns(values, schema.judgment, Label._fields, place)
    settings = dict(item.get("settings") or {})
    if isinstance(prompt := settings.get("prompt"), dict):
        _check_columns(prompt, schema.prompt, tuple(schema.prompt.columns.keys()), place)
        settings["prompt"] = _id(prompt, "hash", place)
        prompts[settings["prompt"]] = prompt
    _check_columns(settings, schema.judge, ("model", "base_url", "parameters", "scale", "prompt"), place)
    about = {"state": item.get("state"), "kind": item.get("kind", "imported")}
    for name, known in (("state", STATES), ("kind", KINDS)):
        if about[name] not in known:
            raise FormatError(f"{place}: {name!r} is {about[name]!r}; expected {choices(known)}")
    grade = _grade(item, "relevance", place) if about["state"] == "graded" else None
    label = Label(**values | {name: _id(item, name, place) for name in ("query_id", "doc_id", "key")}, grade=grade)
    return Judge(_id(item, "judge", place), about["kind"], settings), label


def _check_columns(values: Mapping[str, Any], table: Table, names: tuple[str, ...], place: str) -> None:
    """Refuse what a table has no column for, and what does not fit into its column."""
    for name, value in values.items():
        if name not in names:
            raise FormatError(f"{place}: {name!r} is no part of a {table.name}; expected {choices(names)}")
        kind = table.columns[name].type.python_type
        if not isinstance(value, (int, float) if kind is float else kind) or isinstance(value, bool):
            raise FormatError(f"{place}: {name!r} is {value!r}; expected {'a text' if kind is str else 'a number'}")


def _add_pairs(store: Store, path: str, asked: Asked) -> str:
    """Pairs that are to be judged."""
    pairs = [
        Pair(
            _id(item, "query_id", f"{path}:{line}"), _id(item, "doc_id", f"{path}:{line}"), _whole(item.get("to_judge"))
        )
        for line, item in json_lines(find_source(path))
    ]
    return f"{counted(store.add_pairs(pairs, path), 'new pair')} from {path}"


# ---- parts -----------------------------------------------------------------------------------------------------------


def _add(
    store: Store,
    path: str,
    queries: Iterable[Query],
    documents: Iterable[Document],
    pairs: Iterable[Pair],
    judged: list[Judged],
) -> int:
    """All of it as one transaction; how many judgments are new."""

    def added(inside: Store) -> int:
        inside.add_queries(queries, path)
        inside.add_documents(documents, path)
        inside.add_pairs(pairs, path)
        return inside.add_judgments(judged, path)

    return store.together(added)


def _checked(judged: list[Judged], path: str, asked: Asked) -> list[Judged]:
    """The labels with their keys; a pair that one judge judged twice is refused, unless that was on purpose."""
    pairs = Counter((by.name, label.query_id, label.doc_id) for by, label in judged)
    if not asked.repeats and (twice := next((pair for pair, times in pairs.items() if times > 1), None)):
        judge, query, doc = twice
        words = f"{path}: {judge} judged query {query!r}, document {doc!r} twice; keep one judgment"
        raise DuplicateError(f"{words}, or {on_purpose()}")
    return keyed(judged)


EXPORT: Final = "export it again"


def _objects(holder: Any, name: str, place: str) -> list[dict[str, Any]]:
    """The objects in a list that must be there."""
    found = holder.get(name)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise FormatError(f"{place}: {name!r} is no list of objects; {EXPORT}")
    return found


def _id(item: Mapping[str, Any], name: str, place: str) -> str:
    if item.get(name) in (None, ""):
        raise FormatError(f"{place}: has no {name!r}; {EXPORT}, or fill it in")
    try:
        return id_text(item[name])
    except FormatError as error:
        raise FormatError(f"{place}: {name}: {error}") from None


def _words(item: Mapping[str, Any], name: str, place: str) -> str:
    if not isinstance(item.get(name), str):
        raise FormatError(f"{place}: {name!r} is no text; {EXPORT}, or fill it in")
    return str(item[name])


def _said(value: Any) -> str | None:
    """What somebody wrote, where there is anything."""
    return None if value is None or value == "" else str(value)


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _grade(item: Mapping[str, Any], name: str, place: str) -> float:
    try:
        return number_of_value(item.get(name))
    except ValueError as error:
        raise FormatError(f"{place}: {name!r}: {error}; expected a grade") from None


BEIR: Final = Known("a folder of BEIR", ("judge", "kind", "split", "repeats"), _add_beir)
# What an object has → what the file is.
KNOWN: Final = (
    ({"query_doc_pairs"}, Known("a book of Quepid", ("repeats",), _add_book)),
    ({"queries", "docs"}, Known("a snapshot of Quepid", ("system",), _add_snapshot)),
    ({"queries", "case_name"}, Known("a case of Quepid", ("judge", "kind", "repeats"), _add_case)),
    ({"query", "passage", "judgment"}, Known("UMBRELA's output", ("judge", "kind", "repeats"), _add_umbrela)),
    ({"query_id", "doc_id", "judge", "key", "state"}, Known("exported judgments", (), _add_judgments)),
    ({"query_id", "doc_id", "to_judge"}, Known("exported pairs", (), _add_pairs)),
)
