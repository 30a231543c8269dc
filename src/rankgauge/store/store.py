"""A store: opened for reading or writing, brought up to date, and what is put into it and asked of it."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    Text,
    bindparam,
    case,
    func,
    insert,
    inspect,
    literal,
    select,
    text,
    update,
)

from rankgauge.errors import counted, unknown, warn
from rankgauge.store import schema
from rankgauge.store.engine import StoreError, address_of, engine_of, reading, shown, writing
from rankgauge.store.rows import digest, id_of, identifier, insert_into, insert_new, inserted, now, parts, storable
from rankgauge.store.writer import Within, Writer

__all__ = ["Answer", "Document", "Judge", "Label", "Pair", "Query", "Rated", "RunRow", "Sampled"]
__all__ += ["Store", "fingerprint"]

T = TypeVar("T")
MIGRATING: Final = 7_231_946_120  # the number of the lock under which PostgreSQL migrates


class Query(NamedTuple):
    """A query: its text, the need behind it, and whatever else is known of it."""

    query_id: str
    text: str | None = None
    need: str | None = None
    tags: Mapping[str, Any] | None = None


class Sampled(NamedTuple):
    """A query of a sample: its traffic, how likely it was to be drawn, and of what; None where that is not known."""

    query_id: str
    traffic: float | None = None
    inclusion: float | None = None
    stratum: str | None = None


class Document(NamedTuple):
    """A document as judges see it; `at` where it is one of several versions."""

    doc_id: str
    fields: Mapping[str, Any]
    at: str | None = None


class Pair(NamedTuple):
    """A document that is to be judged for a query, and where it stood."""

    query_id: str
    doc_id: str
    position: int | None = None


class Judge(NamedTuple):
    """Whoever gives grades: a person, a model, a program or nobody knows who, with the settings of the moment."""

    name: str
    kind: str = "imported"
    settings: Mapping[str, Any] = {}


class Label(NamedTuple):
    """A grade that a judge gave to a pair; `repeat` counts the times that the judge was asked on purpose."""

    query_id: str
    doc_id: str
    grade: float | None
    key: str
    repeat: int = 0
    state: str = "graded"
    reason: str | None = None
    ruling: int = 0
    doc_hash: str | None = None  # the text that was judged; where nobody says, the one that the store has
    raw: str | None = None
    reader: str | None = None
    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    milliseconds: float | None = None
    calls: int | None = None
    at: str | None = None


class Rated(NamedTuple):
    """A stored label, with who gave it; `outdated`: the document has had another text since."""

    query_id: str
    doc_id: str
    judge: str
    kind: str
    state: str
    grade: float | None
    ruling: bool
    outdated: bool


class Answer(NamedTuple):
    """What a system answered to a query: documents best first, with their scores; or the error that it gave."""

    query_id: str
    doc_ids: list[str]
    scores: list[float]
    milliseconds: float | None = None
    attempts: int = 1
    error: str | None = None


class RunRow(NamedTuple):
    """A stored run: of whom, in which state, and of how many queries an answer is missing."""

    number: int
    system: str
    state: str
    began: str
    fingerprint: str | None
    queries: int
    lacking: int
    sample: str | None = None  # that it was made for

    @property
    def address(self) -> str:
        """What it is called on the command line."""
        return f"@{self.system}:{self.number}"


class Store:
    """What a project knows. Reading waits for nobody; writing goes through one writer, and done means committed."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    @classmethod
    def open(cls, address: str | URL, *, write: bool = False, create: bool = False) -> Store:
        """The store at an address: for writing it is brought up to date first, for reading it has to be."""
        url = address_of(address) if isinstance(address, str) else address
        if url.get_backend_name() == "sqlite" and not create and not Path(url.database or "").is_file():
            raise StoreError(f"{shown(url)}: there is no store; make one: rankgauge init")
        store = cls(engine_of(url))
        try:
            store._bring_up_to_date() if write or create else store.read(store._check_version)
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Store what was handed in, and let go of the database."""
        if "writer" in self.__dict__:
            self.writer.close()
        self.engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def writer(self) -> Writer:
        """The one that writes."""
        return Writer(self.engine)

    @property
    def where(self) -> str:
        """Where the store is, for people."""
        return shown(self.engine.url)

    def read(self, asked: Callable[[Connection], T]) -> T:
        """What a function of a connection finds in one state of the store."""
        with reading(self.engine) as connection:
            return asked(connection)

    def together(self, add: Callable[[Store], T]) -> T:
        """What a function adds to the store that it is given, as one transaction: all of it, or nothing."""

        def added(connection: Connection) -> T:
            inside = Store(self.engine)
            inside.__dict__["writer"] = Within(connection)
            return add(inside)

        return self.writer.write(added)

    # ---- versions ----------------------------------------------------------------------------------------------------

    def _bring_up_to_date(self) -> None:
        with writing(self.engine) as connection:
            if connection.dialect.name == "postgresql":
                connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": MIGRATING})
            applied = _applied(connection)
            self._check(applied, writing=True)
            for number, (name, step) in enumerate(schema.MIGRATIONS[applied:], applied + 1):
                step(connection)
                connection.execute(insert(schema.migration).values(number=number, name=name, at=now()))

    def _check_version(self, connection: Connection) -> None:
        self._check(_applied(connection), writing=False)

    def _check(self, applied: int, *, writing: bool) -> None:
        known = len(schema.MIGRATIONS)
        if applied > known:
            words = f"{self.where}: is a store of version {applied}, and this rankgauge knows version {known}"
            raise StoreError(f"{words}; upgrade rankgauge")
        if not writing and applied < known:
            words = f"{self.where}: is a store of version {applied}, and this rankgauge needs version {known}"
            raise StoreError(f"{words}; bring it up to date: rankgauge store upgrade")

    # ---- queries and documents ---------------------------------------------------------------------------------------

    def add_queries(self, rows: Iterable[tuple[Any, ...]], source: str | Iterable[str]) -> int:
        """Queries with their texts and needs; how many are new. A query keeps its text.

        `source` is what messages call the origin, or the place of every row.
        """
        made: dict[str, dict[str, Any]] = {}
        places: dict[str, str] = {}
        for query, place in zip((Query(*row) for row in rows), _places(source), strict=False):
            row = _query_row(query, place)
            old = made.setdefault(query.query_id, row)
            made[query.query_id] = _merged(old, row, place, "two texts in this file; keep one")
            places[query.query_id] = place
        return self.writer.write(lambda connection: _add_queries(connection, made, places))

    def add_documents(self, rows: Iterable[tuple[Any, ...]], source: str | Iterable[str]) -> int:
        """Documents with their fields; how many are new, or have a new text."""
        made: dict[str, dict[str, Any]] = {}
        at = now()
        for document, place in zip((Document(*row) for row in rows), _places(source), strict=False):
            row = _document_row(document, place, at)
            version = document.doc_id if document.at is None else f"{document.doc_id} {row['hash']}"
            if made.setdefault(version, row)["hash"] != row["hash"]:
                raise StoreError(f"{place}: document {document.doc_id!r} has two texts in this file; keep one")
        listed = list(made.values())
        return self.writer.write(lambda connection: _add_documents(connection, listed))

    def add_pairs(self, pairs: Iterable[Pair], source: str) -> int:
        """Documents that are to be judged; how many are new."""
        rows = [pair._asdict() for pair in pairs]
        for row in rows:
            identifier(row["query_id"], f"{source}: a query's id")
            identifier(row["doc_id"], f"{source}: a document's id")
        return self.writer.write(lambda connection: insert_new(connection, schema.pair, rows))

    # ---- samples -----------------------------------------------------------------------------------------------------

    def add_sample(self, name: str, how: Mapping[str, Any], queries: Iterable[Query], rows: Sequence[Sampled]) -> int:
        """A sample under a name, with its queries; its number. A query that is known keeps its text."""
        storable(name, "the name of the sample")
        made = {query.query_id: _query_row(query, name) for query in queries}
        listed = sorted(rows, key=lambda row: row.query_id)

        def added(connection: Connection) -> int:
            table = schema.sample.c
            known = connection.scalar(select(table.sample_id).where(table.name == name))
            if known is not None:
                if _sampled(connection, known) == listed:
                    return int(known)
                raise StoreError(
                    f"{self.where}: there is a sample {name!r} of other queries; give this one another name: "
                    "--name NAME"
                )
            for part in parts(list(made)):
                asked = select(schema.query.c.query_id).where(schema.query.c.query_id.in_(part))
                for (query,) in connection.execute(asked).all():
                    made[query] |= {"text": None}  # the most frequent spelling may be another by now
            _add_queries(connection, made, dict.fromkeys(made, name))
            row = {"name": name, "how": json.dumps(how, sort_keys=True), "at": now()}
            number = inserted(connection, schema.sample, row)
            for part in parts([each._asdict() | {"sample_id": number} for each in listed]):
                connection.execute(insert(schema.sampled), part)
            return number

        return self.writer.write(added)

    def samples(self) -> dict[str, int]:
        """Name of a sample → its number, in the order in which they were stored."""
        table = schema.sample.c
        asked = select(table.name, table.sample_id).order_by(table.sample_id)
        return self.read(lambda each: {str(name): int(number) for name, number in each.execute(asked).all()})

    def sampled(self, name: str) -> tuple[list[Sampled], dict[str, Query]]:
        """The rows of a sample, and its queries."""
        number = self.samples().get(name)
        if number is None:
            none = "there is none yet: rankgauge sample LOG --n 300"
            words = f"{self.where}: there is no sample {name!r}"
            raise StoreError(unknown(words, name, self.samples(), "" if self.samples() else none))
        rows = self.read(lambda each: _sampled(each, number))
        table, asked = schema.query.c, schema.sampled.c
        texts = select(table.query_id, table.text, table.need).join(schema.sampled, asked.query_id == table.query_id)
        found = self.read(lambda each: each.execute(texts.where(asked.sample_id == number)).all())
        return rows, {query: Query(query, text, need) for query, text, need in found}

    # ---- systems and runs --------------------------------------------------------------------------------------------

    def add_run(
        self,
        system: str,
        config: Mapping[str, Any],
        answers: Iterable[Answer],
        source: str = "",
        *,
        began: str | None = None,
    ) -> int:
        """A whole run of a system, which is made if it is new; the number of the run."""
        rows = [_answer_row(answer, source or system) for answer in answers]

        def added(connection: Connection) -> int:
            about = {"depth": max((row["found"] for row in rows), default=0), "began": began or now()}
            run = _begun(connection, system, config, **about)
            for part in parts([row | {"run_id": run} for row in rows]):
                connection.execute(insert(schema.answer), part)
            _ended(connection, run, "whole")
            return run

        return self.writer.write(added)

    def begin_run(self, system: str, config: Mapping[str, Any], **about: Any) -> int:
        """An open run, to which answers are added one by one; its number. `about`: depth, sample_id, over_run_id."""
        return self.writer.write(lambda connection: _begun(connection, system, config, **about))

    def add_answer(self, run: int, answer: Answer) -> None:
        """An answer of an open run; one that failed before is replaced, one that is there is kept."""
        row = _answer_row(answer, answer.query_id) | {"run_id": run}

        def added(connection: Connection) -> None:
            put = insert_into(connection, schema.answer).values(**row)
            new = {name: put.excluded[name] for name in row if name not in ("run_id", "query_id")}
            failed = schema.answer.c.error.is_not(None)
            connection.execute(put.on_conflict_do_update(index_elements=["run_id", "query_id"], set_=new, where=failed))

        self.writer.write(added)

    def end_run(self, run: int, state: str = "whole") -> None:
        """Close a run: it is whole or broken."""
        self.writer.write(lambda connection: _ended(connection, run, state))

    def runs(self, system: str | None = None) -> list[RunRow]:
        """The runs of a system, or of all, the last first."""
        wanted = select(schema.run, schema.system.c.name.label("name"), schema.sample.c.name.label("sample"))
        wanted = wanted.join(schema.system, schema.system.c.system_id == schema.run.c.system_id)
        wanted = wanted.outerjoin(schema.sample, schema.sample.c.sample_id == schema.run.c.sample_id)
        wanted = wanted.where(schema.system.c.name == system) if system is not None else wanted
        wanted = wanted.order_by(schema.run.c.run_id.desc())
        return self.read(lambda each: [_run_row(each, row) for row in each.execute(wanted).mappings().all()])

    def run_of(self, system: str, number: int | None = None) -> RunRow:
        """A system's run: the one asked for, or the last whole one; or, where none is, the last."""
        rows = self.runs(system)
        if not rows:
            known = sorted({row.system for row in self.runs()})
            first = "there is none yet: rankgauge store import RUN --system NAME"
            there = f"there are {', '.join(known)}" if known else first
            raise StoreError(f"{self.where}: there is no run of {system!r}; {there}")
        if number is None:
            return next((row for row in rows if row.state == "whole"), rows[0])
        for row in rows:
            if row.number == number:
                return row
        listed = ", ".join(str(row.number) for row in rows)
        raise StoreError(f"{self.where}: run {number} is none of {system!r}; its runs are {listed}")

    def answers(self, run: int) -> Iterator[Answer]:
        """The answers of a run, by the ids of the queries; those that failed are none."""
        table = schema.answer.c
        asked = select(table.query_id, table.ranking).where(table.run_id == run, table.ranking.is_not(None))
        for query, ranking in self.read(lambda each: each.execute(asked.order_by(table.query_id)).all()):
            docs, scores = json.loads(zlib.decompress(ranking))
            yield Answer(query, docs, scores)

    # ---- judges and labels -------------------------------------------------------------------------------------------

    def add_prompts(self, prompts: Iterable[Mapping[str, Any]]) -> int:
        """Prompts with their hashes and names; how many are new."""
        rows = [dict(prompt) for prompt in prompts]
        return self.writer.write(lambda connection: insert_new(connection, schema.prompt, rows))

    def add_labels(self, judge: str, labels: Sequence[Label], kind: str = "imported", **settings: Any) -> int:
        """Labels of a judge, who is made if new; how many were not stored before (a key counts once)."""
        by = Judge(judge, kind, settings)
        return self.add_judgments([(by, label) for label in labels], judge)

    def add_judgments(self, judged: Sequence[tuple[Judge, Label]], source: str) -> int:
        """Labels of several judges, in the order in which they were given; how many were not stored before."""
        rows = [_label_row(label, source) for _, label in judged]

        def added(connection: Connection) -> int:
            at = now()
            numbers: dict[str, int] = {}
            for (judge, _), row in zip(judged, rows, strict=True):
                about = {"name": judge.name, "kind": judge.kind, **judge.settings}
                known = digest(about)
                if known not in numbers:
                    storable(judge.name, source)
                    made = about | {"hash": known, "at": at}
                    numbers[known] = id_of(connection, schema.judge, ("name", "hash"), made)
                row.update(judge_id=numbers[known], at=row["at"] or at)
            return insert_new(connection, schema.judgment, rows, doc_hash=_text_judged())

        return self.writer.write(added)

    def labels(self, until: int | None = None) -> tuple[list[Rated], int]:
        """The latest label of each pair, judge and repeat, as it was when `until` was the last; the last one there is.

        Judgments that failed, were refused or skipped are among them, without a grade.
        """
        table, judge = schema.judgment.c, schema.judge.c
        latest = select(func.max(table.judgment_id)).join(schema.judge, judge.judge_id == table.judge_id)
        latest = latest.group_by(table.query_id, table.doc_id, judge.name, table.repeat, table.ruling)
        latest = latest.where(table.judgment_id <= until) if until is not None else latest
        outdated = case((table.doc_hash.is_(None), literal(False)), else_=table.doc_hash != _text_now(table.doc_id))
        asked = select(
            table.query_id, table.doc_id, judge.name, judge.kind, table.state, table.grade, table.ruling, outdated
        )
        asked = asked.join(schema.judge, judge.judge_id == table.judge_id)
        asked = asked.where(table.judgment_id.in_(latest)).order_by(table.judgment_id)

        def found(connection: Connection) -> tuple[list[Rated], int]:
            rows = [
                Rated(*row[:6], ruling=bool(row[6]), outdated=bool(row[7])) for row in connection.execute(asked).all()
            ]
            return rows, int(connection.scalar(select(func.max(table.judgment_id))) or 0)

        return self.read(found)

    # ---- what is there -----------------------------------------------------------------------------------------------

    def counts(self) -> dict[str, int]:
        """Table → how many rows it has."""

        def counted_rows(connection: Connection) -> dict[str, int]:
            return {
                table.name: int(connection.scalar(select(func.count()).select_from(table)) or 0)
                for table in schema.STORED
            }

        return self.read(counted_rows)


def _applied(connection: Connection) -> int:
    """How many migrations a store has had; 0 for an empty database, an error for one of something else."""
    names = set(inspect(connection).get_table_names())
    if "migration" in names:
        return int(connection.scalar(select(func.max(schema.migration.c.number))) or 0)
    if names & set(schema.TABLES.tables) or (names and connection.dialect.name == "sqlite"):
        some = ", ".join(sorted(names)[:3])
        raise StoreError(
            f"{shown(connection.engine.url)}: is a database of something else (it has {some}); name another"
        )
    return 0


def _begun(connection: Connection, system: str, config: Mapping[str, Any], **about: Any) -> int:
    """A new run of a system, which is made if it is new, or new in this way."""
    at = now()
    written = json.dumps(config, sort_keys=True)
    described = {"name": storable(system, "system"), "config": written, "hash": digest(config), "at": at}
    number = id_of(connection, schema.system, ("name", "hash"), described)
    return inserted(connection, schema.run, {"system_id": number, "state": "open", "began": at, **about})


def _ended(connection: Connection, run: int, state: str) -> None:
    hashes = fingerprint(connection, run)
    ended = update(schema.run).where(schema.run.c.run_id == run)
    connection.execute(ended.values(state=state, ended=now(), fingerprint=hashes))


def fingerprint(connection: Connection, run: int) -> str:
    """A hash of the answers that a run has."""
    table = schema.answer.c
    asked = select(table.query_id, table.ranking).where(table.run_id == run).order_by(table.query_id)
    found = connection.execute(asked).all()
    return digest([[query, hashlib.sha256(ranking or b"").hexdigest()] for query, ranking in found])


def _run_row(connection: Connection, row: Any) -> RunRow:
    """A run; of one with a sample, every query of it is to have an answer, else every query that was asked."""
    table, asked = schema.answer.c, schema.sampled.c
    answered = select(table.query_id).where(table.run_id == row["run_id"], table.error.is_(None))
    if row["sample_id"] is not None:
        wanted = select(func.count()).where(asked.sample_id == row["sample_id"])
        missing = wanted.where(asked.query_id.not_in(answered))
    else:
        wanted = select(func.count()).where(table.run_id == row["run_id"])
        missing = wanted.where(table.error.is_not(None))
    queries, lacking = (int(connection.scalar(each) or 0) for each in (wanted, missing))
    about = (row["run_id"], row["name"], row["state"], row["began"], row["fingerprint"])
    return RunRow(*about, queries=queries, lacking=lacking, sample=row["sample"])


def _text_now(doc: Any) -> Any:
    """The text that a document has now, by its hash: the one that came last."""
    table = schema.document.c
    return (
        select(table.hash).where(table.doc_id == doc).order_by(table.at.desc(), table.hash).limit(1).scalar_subquery()
    )


def _text_judged() -> Any:
    """The text that a label is about: the one that it names, or the one that the document has now."""
    return func.coalesce(bindparam("hash_seen", type_=Text), _text_now(bindparam("doc_seen", type_=Text)))


def _sampled(connection: Connection, sample: int) -> list[Sampled]:
    table = schema.sampled.c
    asked = select(table.query_id, table.traffic, table.inclusion, table.stratum).where(table.sample_id == sample)
    return [Sampled(*row) for row in connection.execute(asked.order_by(table.query_id)).all()]


def _answer_row(answer: Answer, source: str) -> dict[str, Any]:
    query = identifier(answer.query_id, f"{source}: a query's id")
    for each in answer.doc_ids:
        storable(each, f"{source}: query {query!r}: a document's id")
    storable(answer.error, f"{source}: query {query!r}: the error")
    written = json.dumps([answer.doc_ids, answer.scores], ensure_ascii=False, separators=(",", ":"))
    ranking = zlib.compress(written.encode(), 1) if answer.error is None else None
    about = {"milliseconds": answer.milliseconds, "attempts": answer.attempts, "error": answer.error}
    return {"query_id": query, "ranking": ranking, "found": len(answer.doc_ids), **about}


def _label_row(label: Label, source: str) -> dict[str, Any]:
    for name in ("query_id", "doc_id", "key"):
        identifier(getattr(label, name), f"{source}: a {name}")
    for name in ("reason", "raw", "reader", "model"):
        storable(getattr(label, name), f"{source}: query {label.query_id!r}, document {label.doc_id!r}: the {name}")
    grade = None if label.grade is None else label.grade + 0.0  # SQLite knows no -0.0
    row = label._asdict() | {"grade": grade}
    return row | {"hash_seen": row.pop("doc_hash"), "doc_seen": label.doc_id}


def _query_row(query: Query, source: str) -> dict[str, Any]:
    identifier(query.query_id, f"{source}: a query's id")
    for words in (query.text, query.need, *_texts_in(query.tags)):
        storable(words, f"{source}: query {query.query_id!r}: the text")
    tags = None if query.tags is None else json.dumps(query.tags, sort_keys=True)
    return query._asdict() | {"tags": tags, "hash": digest([query.text, query.need])}


def _document_row(document: Document, source: str, at: str) -> dict[str, Any]:
    identifier(document.doc_id, f"{source}: a document's id")
    for words in _texts_in(document.fields):
        storable(words, f"{source}: document {document.doc_id!r}: the text")
    written = json.dumps(document.fields, sort_keys=True, default=str)
    hashed = digest(document.fields)
    return {"doc_id": document.doc_id, "hash": hashed, "fields": written, "at": document.at or at}


def _add_documents(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> int:
    """New texts; one that was there before is the document's text again."""
    new = insert_new(connection, schema.document, rows)
    if new < len(rows):
        again = insert_into(connection, schema.document)
        later = {"set_": {"at": again.excluded.at}, "where": again.excluded.at > schema.document.c.at}
        for part in parts(rows):
            connection.execute(again.on_conflict_do_update(index_elements=["doc_id", "hash"], **later), part)
    return new


def _texts_in(value: Any) -> Iterator[str]:
    """Every text inside a value of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield name
            yield from _texts_in(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts_in(each)


def _places(source: str | Iterable[str]) -> Iterable[str]:
    return repeat(source) if isinstance(source, str) else source


def _merged(old: dict[str, Any], new: dict[str, Any], source: str, what: str) -> dict[str, Any]:
    """A query with what a second source adds to it: its text stays, and so does a need that it has."""
    differs = {name for name in ("text", "need") if None not in (old[name], new[name]) and old[name] != new[name]}
    if "text" in differs:
        raise StoreError(f"{source}: query {new['query_id']!r} has {what}")
    if "need" in differs:
        warn(f"{source}: query {new['query_id']!r} has another information need than before, which is left out")
    row = new | {name: value for name, value in old.items() if value is not None}
    return row | {"hash": digest([row["text"], row["need"]])}


def _add_queries(connection: Connection, made: Mapping[str, dict[str, Any]], places: Mapping[str, str]) -> int:
    table = schema.query.c
    known: dict[str, dict[str, Any]] = {}
    for part in parts(list(made)):
        asked = select(schema.query).where(table.query_id.in_(part))
        known.update((row["query_id"], dict(row)) for row in connection.execute(asked).mappings())
    for query, old in known.items():
        row = _merged(old, made[query], places[query], "another text in the store; give the new text a new id")
        if row != old:
            connection.execute(update(schema.query).where(table.query_id == query).values(**row))
    new = [dict(row) for query, row in made.items() if query not in known]
    for part in parts(new):
        connection.execute(insert(schema.query), part)
    return len(new)


def summary(counts: Mapping[str, int]) -> str:
    """What a store holds, in a line."""
    words = {"query": "queries", "document": "documents", "run": "runs", "judge": "judges", "judgment": "judgments"}
    return ", ".join(counted(counts[name], name, plural) for name, plural in words.items())
