"""A store: opened for reading or writing, brought up to date, and what is put into it and asked of it."""

from __future__ import annotations

import hashlib
import json
import re
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from sqlalchemy import URL, Connection, Engine, func, insert, inspect, select, text, update
from sqlalchemy.dialects import postgresql, sqlite

from rankgauge.errors import counted, warn
from rankgauge.store import schema
from rankgauge.store.engine import StoreError, address_of, engine_of, reading, shown, writing
from rankgauge.store.writer import Within, Writer

__all__ = ["Answer", "Document", "Judge", "Label", "Pair", "Query", "Store", "digest", "identifier", "now", "storable"]

T = TypeVar("T")
HALF: Final = re.compile("[\ud800-\udfff]")
MIGRATING: Final = 7_231_946_120  # the number of the lock under which PostgreSQL migrates
MANY: Final = 10_000  # rows of one statement
LONGEST: Final = 1_000  # bytes of an id: PostgreSQL's indexes hold a query and a document of this length


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
    doc_hash: str | None = None
    raw: str | None = None
    reader: str | None = None
    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    milliseconds: float | None = None
    calls: int | None = None
    at: str | None = None


class Answer(NamedTuple):
    """What a system answered to a query: documents best first, with their scores."""

    query_id: str
    doc_ids: list[str]
    scores: list[float]


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
        return self.writer.write(lambda connection: _insert_new(connection, schema.document, listed))

    def add_pairs(self, pairs: Iterable[Pair], source: str) -> int:
        """Documents that are to be judged; how many are new."""
        rows = [pair._asdict() for pair in pairs]
        for row in rows:
            identifier(row["query_id"], f"{source}: a query's id")
            identifier(row["doc_id"], f"{source}: a document's id")
        return self.writer.write(lambda connection: _insert_new(connection, schema.pair, rows))

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
        fingerprint = digest([[row["query_id"], hashlib.sha256(row["ranking"]).hexdigest()] for row in rows])
        storable(system, source)

        def added(connection: Connection) -> int:
            at = now()
            described = {"name": system, "config": json.dumps(config, sort_keys=True), "hash": digest(config), "at": at}
            number = _id_of(connection, schema.system, ("name", "hash"), described)
            depth = max((row["found"] for row in rows), default=0)
            made = {"system_id": number, "depth": depth, "state": "whole", "began": began or at, "ended": at}
            run = _inserted(connection, schema.run, made | {"fingerprint": fingerprint})
            for part in _parts([row | {"run_id": run} for row in rows]):
                connection.execute(insert(schema.answer), part)
            return run

        return self.writer.write(added)

    def run_of(self, system: str, number: int | None = None) -> tuple[int, str]:
        """The number and the state of a system's run: the one asked for, or the last whole one."""
        found = select(schema.run.c.run_id, schema.run.c.state, schema.system.c.name)
        found = found.join(schema.system, schema.system.c.system_id == schema.run.c.system_id)
        found = found.where(schema.system.c.name == system).order_by(schema.run.c.run_id.desc())
        rows = [(int(run), str(state)) for run, state, _ in self.read(lambda each: each.execute(found).all())]
        if not rows:
            known = sorted(set(self.read(lambda each: each.scalars(select(schema.system.c.name)).all())))
            there = (
                f"there are {', '.join(known)}" if known else "there is none yet: rankgauge store import RUN --system"
            )
            raise StoreError(f"{self.where}: there is no run of {system!r}; {there}")
        if number is not None:
            for run, state in rows:
                if run == number:
                    return run, state
            raise StoreError(
                f"{self.where}: run {number} is none of {system!r}; its runs are {', '.join(str(r) for r, _ in rows)}"
            )
        return next(((run, state) for run, state in rows if state == "whole"), rows[0])

    def answers(self, run: int) -> Iterator[Answer]:
        """The answers of a run, in the order in which they were stored."""
        table = schema.answer.c
        asked = select(table.query_id, table.ranking).where(table.run_id == run, table.ranking.is_not(None))
        for query, ranking in self.read(lambda each: each.execute(asked).all()):
            docs, scores = json.loads(zlib.decompress(ranking))
            yield Answer(query, docs, scores)

    # ---- judges and labels -------------------------------------------------------------------------------------------

    def add_prompts(self, prompts: Iterable[Mapping[str, Any]]) -> int:
        """Prompts with their hashes and names; how many are new."""
        rows = [dict(prompt) for prompt in prompts]
        return self.writer.write(lambda connection: _insert_new(connection, schema.prompt, rows))

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
                    numbers[known] = _id_of(connection, schema.judge, ("name", "hash"), made)
                row.update(judge_id=numbers[known], at=row["at"] or at)
            return _insert_new(connection, schema.judgment, rows)

        return self.writer.write(added)

    def labels(self) -> list[tuple[str, str, str, str, float, int]]:
        """Query, document, judge, kind of judge, grade, ruling or not: the latest of each pair, judge and repeat."""
        table, judge = schema.judgment.c, schema.judge.c
        latest = select(func.max(table.judgment_id)).group_by(
            table.query_id, table.doc_id, judge.name, table.repeat, table.ruling
        )
        latest = latest.join(schema.judge, judge.judge_id == table.judge_id)
        asked = select(table.query_id, table.doc_id, judge.name, judge.kind, table.grade, table.ruling)
        asked = asked.join(schema.judge, judge.judge_id == table.judge_id)
        asked = asked.where(table.judgment_id.in_(latest), table.state == "graded").order_by(table.judgment_id)
        return [tuple(row) for row in self.read(lambda each: each.execute(asked).all())]

    # ---- what is there -----------------------------------------------------------------------------------------------

    def counts(self) -> dict[str, int]:
        """Table → how many rows it has."""

        def counted_rows(connection: Connection) -> dict[str, int]:
            return {
                table.name: int(connection.scalar(select(func.count()).select_from(table)) or 0)
                for table in schema.STORED
            }

        return self.read(counted_rows)

    # ---- leases ------------------------------------------------------------------------------------------------------

    def take(self, name: str, holder: str, seconds: float = 60.0) -> str:
        """Hold a lock, or hold it on; refused where somebody else does. Who held one that has run out is returned."""

        def taken(connection: Connection) -> str:
            asked = select(schema.lock).where(schema.lock.c.name == name)
            found = connection.execute(asked).mappings().first()
            until = time.time() + seconds
            if found is None:
                connection.execute(insert(schema.lock).values(name=name, holder=holder, until=until))
                return ""
            if found["holder"] != holder and found["until"] > time.time():
                left = round(found["until"] - time.time())
                raise StoreError(
                    f"{name} is in use by {found['holder']}; wait until it is done, or {left} seconds if it has died"
                )
            changed = update(schema.lock).where(schema.lock.c.name == name)
            connection.execute(changed.values(holder=holder, until=until))
            return "" if found["holder"] == holder else str(found["holder"])

        return self.writer.write(taken)

    def release(self, name: str, holder: str) -> None:
        """Let a lock go."""
        gone = schema.lock.delete().where(schema.lock.c.name == name, schema.lock.c.holder == holder)
        self.writer.write(lambda connection: connection.execute(gone))


# ---- rows ------------------------------------------------------------------------------------------------------------


def now() -> str:
    """This moment, as stores write it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def digest(value: Any) -> str:
    """A hash of anything that JSON can hold, the same everywhere."""
    written = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def storable(words: T, source: str) -> T:
    """The text as it is; what no database takes is refused."""
    if isinstance(words, str) and ("\0" in words or (not words.isascii() and HALF.search(words))):
        what = "NUL or half a character (a lone surrogate)"
        raise StoreError(f"{source} holds {what}, which cannot be stored; take it out: {words[:60]!r}")
    return words


def identifier(words: str, source: str) -> str:
    """An id as it is; one that an index cannot hold is refused."""
    size = len(storable(words, source).encode())
    if size > LONGEST:
        raise StoreError(f"{source} has {size:,} bytes; give it one of at most {LONGEST:,}: {words[:60]!r}")
    return words


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


def _answer_row(answer: Answer, source: str) -> dict[str, Any]:
    query = identifier(answer.query_id, f"{source}: a query's id")
    for each in answer.doc_ids:
        storable(each, f"{source}: query {query!r}: a document's id")
    written = json.dumps([answer.doc_ids, answer.scores], ensure_ascii=False, separators=(",", ":"))
    ranking = zlib.compress(written.encode(), 1)
    return {"query_id": query, "ranking": ranking, "found": len(answer.doc_ids), "attempts": 1}


def _label_row(label: Label, source: str) -> dict[str, Any]:
    for name in ("query_id", "doc_id", "key"):
        identifier(getattr(label, name), f"{source}: a {name}")
    for name in ("reason", "raw", "reader", "model"):
        storable(getattr(label, name), f"{source}: query {label.query_id!r}, document {label.doc_id!r}: the {name}")
    grade = None if label.grade is None else label.grade + 0.0  # SQLite knows no -0.0
    return label._asdict() | {"grade": grade}


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
    for part in _parts(list(made)):
        asked = select(schema.query).where(table.query_id.in_(part))
        known.update((row["query_id"], dict(row)) for row in connection.execute(asked).mappings())
    for query, old in known.items():
        row = _merged(old, made[query], places[query], "another text in the store; give the new text a new id")
        if row != old:
            connection.execute(update(schema.query).where(table.query_id == query).values(**row))
    new = [dict(row) for query, row in made.items() if query not in known]
    for part in _parts(new):
        connection.execute(insert(schema.query), part)
    return len(new)


def _id_of(connection: Connection, table: Any, unique: tuple[str, ...], row: Mapping[str, Any]) -> int:
    """The number of the row that has these values, which is made if there is none."""
    (key,) = table.primary_key.columns
    found = connection.scalar(select(key).where(*(table.c[name] == row[name] for name in unique)))
    return int(found) if found is not None else _inserted(connection, table, row)


def _inserted(connection: Connection, table: Any, row: Mapping[str, Any]) -> int:
    """Insert a row; its number."""
    (key,) = table.primary_key.columns
    return int(connection.scalar(insert(table).values(**row).returning(key)) or 0)


def _insert_new(connection: Connection, table: Any, rows: Sequence[Mapping[str, Any]]) -> int:
    """Insert the rows whose key is new; how many there were."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    added = dialect.insert(table).on_conflict_do_nothing()
    if len(rows) == 1:
        return len(connection.execute(added.values(**rows[0]).returning(*table.primary_key.columns)).all())
    before = connection.scalar(select(func.count()).select_from(table)) or 0
    for part in _parts(rows):
        connection.execute(added, part)
    return int((connection.scalar(select(func.count()).select_from(table)) or 0) - before)


def _parts(rows: Sequence[Any]) -> Iterator[Sequence[Any]]:
    return (rows[at : at + MANY] for at in range(0, len(rows), MANY))


def summary(counts: Mapping[str, int]) -> str:
    """What a store holds, in a line."""
    words = {"query": "queries", "document": "documents", "run": "runs", "judge": "judges", "judgment": "judgments"}
    return ", ".join(counted(counts[name], name, plural) for name, plural in words.items())
