"""A store: opened for reading or writing, brought up to date, and what is put into it and asked of it."""

from __future__ import annotations

import hashlib
import json
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from sqlalchemy import URL, Connection, Engine, func, insert, inspect, select, text, update
from sqlalchemy.dialects import postgresql, sqlite

from rankgauge.errors import counted
from rankgauge.store import schema
from rankgauge.store.engine import StoreError, address_of, engine_of, reading, shown, writing
from rankgauge.store.writer import Writer

__all__ = ["Answer", "Label", "Store", "digest", "now", "storable"]

T = TypeVar("T")
MIGRATING: Final = 7_231_946_120  # the number of the lock under which PostgreSQL migrates
MANY: Final = 10_000  # rows of one statement


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

    def add_queries(self, rows: Iterable[tuple[str, str | None, str | None]], source: str) -> int:
        """Queries with their texts and information needs; how many are new. A query keeps its text."""
        made: dict[str, dict[str, Any]] = {}
        for query, words, need in rows:
            row = {"query_id": storable(query, source), "text": storable(words, source), "need": storable(need, source)}
            row["hash"] = digest([words, need])
            if made.setdefault(query, row)["hash"] != row["hash"]:
                raise StoreError(f"{source}: query {query!r} has two texts; keep one")
        return self.writer.write(lambda connection: _add_queries(connection, made, source))

    def add_documents(self, rows: Iterable[tuple[str, Mapping[str, Any]]], source: str) -> int:
        """Documents with their fields; how many are new, or have a new text."""
        made: dict[str, dict[str, Any]] = {}
        for doc, fields in rows:
            written = json.dumps({name: storable(each, source) for name, each in fields.items()}, sort_keys=True)
            row = {"doc_id": storable(doc, source), "hash": digest(fields), "fields": written, "at": now()}
            if made.setdefault(doc, row)["hash"] != row["hash"]:
                raise StoreError(f"{source}: document {doc!r} has two texts in this file; keep one")
        listed = list(made.values())
        return self.writer.write(lambda connection: _insert_new(connection, schema.document, listed))

    # ---- systems and runs --------------------------------------------------------------------------------------------

    def add_run(self, system: str, config: Mapping[str, Any], answers: Iterable[Answer], source: str = "") -> int:
        """A whole run of a system, which is made if it is new; the number of the run."""
        rows = [_answer_row(answer, source or system) for answer in answers]
        fingerprint = digest([[row["query_id"], hashlib.sha256(row["ranking"]).hexdigest()] for row in rows])
        storable(system, source)

        def added(connection: Connection) -> int:
            at = now()
            described = {"name": system, "config": json.dumps(config, sort_keys=True), "hash": digest(config), "at": at}
            number = _id_of(connection, schema.system, ("name", "hash"), described)
            depth = max((row["found"] for row in rows), default=0)
            made = {"system_id": number, "depth": depth, "state": "whole", "began": at, "ended": at}
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

    def add_labels(self, judge: str, labels: Sequence[Label], kind: str = "imported", **settings: Any) -> int:
        """Labels of a judge, who is made if new; how many were not stored before (a key counts once)."""
        storable(judge, "judge")

        def added(connection: Connection) -> int:
            about = {"name": judge, "kind": kind, **settings}
            number = _id_of(connection, schema.judge, ("name", "hash"), about | {"hash": digest(about), "at": now()})
            at = now()
            rows = [_label_row(label, judge) | {"judge_id": number, "at": at} for label in labels]
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
    written = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def storable(words: T, source: str) -> T:
    """The text as it is; what no database takes is refused."""
    if isinstance(words, str) and ("\0" in words or any("\ud800" <= char <= "\udfff" for char in words)):
        raise StoreError(f"{source}: a text holds NUL or half a character, which cannot be stored: {words[:60]!r}")
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
    for each in (answer.query_id, *answer.doc_ids):
        storable(each, source)
    written = json.dumps([answer.doc_ids, answer.scores], ensure_ascii=False, separators=(",", ":"))
    ranking = zlib.compress(written.encode(), 1)
    return {"query_id": answer.query_id, "ranking": ranking, "found": len(answer.doc_ids), "attempts": 1}


def _label_row(label: Label, source: str) -> dict[str, Any]:
    for each in (label.query_id, label.doc_id, label.reason, label.key):
        storable(each, source)
    return label._asdict()


def _add_queries(connection: Connection, made: Mapping[str, Mapping[str, Any]], source: str) -> int:
    table = schema.query.c
    known: dict[str, str] = {}
    for part in _parts(list(made)):
        asked = select(table.query_id, table.hash).where(table.query_id.in_(part))
        known.update((row.query_id, row.hash) for row in connection.execute(asked))
    for query, old in known.items():
        if made[query]["hash"] != old:
            raise StoreError(f"{source}: query {query!r} has another text in the store; give the new text a new id")
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
