"""A store: opened for reading or writing, brought up to date, and what is put into it and asked of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import copy_context
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from sqlalchemy import URL, Connection, Engine, case, func, insert, inspect, literal, select, text

from rankgauge.errors import counted, unknown, way
from rankgauge.store import judgments, runs, samples, schema, texts
from rankgauge.store.engine import StoreError, address_of, engine_of, reading, shown, writing
from rankgauge.store.judgments import Judge, Label, Rated
from rankgauge.store.packing import unpacked
from rankgauge.store.rows import identifier, insert_new, now, parts, row_count, storable
from rankgauge.store.runs import Answer, RunRow
from rankgauge.store.samples import Sampled
from rankgauge.store.texts import Document, Pair, Query
from rankgauge.store.writer import Batch, Noting, Within, Writer

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats

__all__ = ["Answer", "Document", "Judge", "Label", "Pair", "Query", "Rated", "RunRow", "Sampled", "Store"]

T = TypeVar("T")
NOTHING: Final[Mapping[str, Any]] = {}
MIGRATING: Final = 7_231_946_120  # the number of the lock under which PostgreSQL migrates


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

        context = copy_context()  # which options the command has, for what errors advise

        def added(connection: Connection) -> T:
            inside = Store(self.engine)
            inside.__dict__["writer"] = Within(connection)
            return context.run(add, inside)

        return self.writer.write(added)

    def noting(self, note: Callable[[Connection], Any]) -> Store:
        """The same store, in which every write is followed by a note, within its transaction."""
        made = Store(self.engine)
        made.__dict__["writer"] = Noting(self.writer, note)
        return made

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
            row = texts.query_row(query, place)
            old = made.setdefault(query.query_id, row)
            made[query.query_id] = texts.merged(old, row, place, "two texts in this file; keep one")
            places[query.query_id] = place
        return self.writer.write(lambda connection: texts.add_queries(connection, made, places))

    def queries(self) -> list[Query]:
        """Every query with its text, by the ids."""
        table = schema.query.c
        asked = select(table.query_id, table.text, table.need, table.tags).order_by(table.query_id)
        rows = self.read(lambda each: each.execute(asked).all())
        return [Query(*row[:3], None if row[3] is None else json.loads(row[3])) for row in rows]

    def add_documents(
        self, rows: Iterable[tuple[Any, ...]], source: str | Iterable[str], *, latest_text: bool = False
    ) -> int:
        """Documents with their fields; how many are new, or have a new text.

        Another text of a document that has one is refused; with `latest_text` it is the document's text from then on.
        """
        listed = texts.text_rows((Document(*row) for row in rows), _places(source))
        remedy = None if latest_text else way("latest_text=True", "--latest-text")
        return self.writer.write(lambda connection: texts.add_documents(connection, listed, remedy))

    def check_documents(self, rows: Iterable[tuple[Any, ...]], source: str | Iterable[str]) -> None:
        """Refuse what `add_documents` would; nothing is stored."""
        listed = texts.text_rows((Document(*row) for row in rows), _places(source))
        remedy = way("latest_text=True", "--latest-text")
        self.read(lambda connection: texts.check_documents(connection, listed, remedy))

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
        made = {query.query_id: texts.query_row(query, name) for query in queries}
        number = self.writer.write(lambda connection: samples.add_sample(connection, name, how, made, rows))
        if number is None:
            words = f"{self.where}: there is a sample {name!r} of other queries"
            raise StoreError(f"{words}; give this one another name: --name NAME")
        return number

    def samples(self) -> dict[str, int]:
        """Name of a sample → its number, in the order in which they were stored."""
        table = schema.sample.c
        asked = select(table.name, table.sample_id).order_by(table.sample_id)
        return self.read(lambda each: {str(name): int(number) for name, number in each.execute(asked).all()})

    def sampled(self, name: str) -> tuple[list[Sampled], dict[str, Query]]:
        """The rows of a sample, and its queries."""
        known = self.samples()
        if name not in known:
            none = "" if known else "there is none yet: rankgauge sample LOG --n 300"
            raise StoreError(unknown(f"{self.where}: there is no sample {name!r}", name, known, none))
        return self.read(lambda each: (samples.sampled(each, known[name]), samples.queries_of(each, known[name])))

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
        rows = [runs.answer_row(answer, source or system) for answer in answers]

        def added(connection: Connection) -> int:
            about = {"depth": max((row["found"] for row in rows), default=0), "began": began or now()}
            run = runs.begin(connection, system, config, **about)
            for part in parts([row | {"run_id": run} for row in rows]):
                connection.execute(insert(schema.answer), part)
            runs.end(connection, run, "whole")
            return run

        return self.writer.write(added)

    def begin_run(self, system: str, config: Mapping[str, Any], **about: Any) -> int:
        """An open run, to which answers are added one by one; its number. `about`: depth, sample_id, over_run_id."""
        return self.writer.write(lambda connection: runs.begin(connection, system, config, **about))

    def add_answer(self, run: int, answer: Answer, documents: Mapping[str, Mapping[str, Any]] = NOTHING) -> int:
        """An answer of an open run, and the fields of its documents; what failed is replaced, an answer is kept.

        A document that has another text keeps it; how many did.
        """
        source, at = f"query {answer.query_id!r}", now()
        row = runs.answer_row(answer, source) | {"run_id": run}
        shown = [texts.document_row(Document(*each), source, at) for each in documents.items()]
        unequal: int = self.writer.write(Batch(runs.add_answers, (row, shown)))
        return unequal

    def end_run(self, run: int, state: str = "whole") -> None:
        """Close a run: it is whole or broken."""
        self.writer.write(lambda connection: runs.end(connection, run, state))

    def runs(self, system: str | None = None) -> list[RunRow]:
        """The runs of a system, or of all, the last first."""
        wanted = select(schema.run, schema.system.c.name.label("name"), schema.sample.c.name.label("sample"))
        wanted = wanted.join(schema.system, schema.system.c.system_id == schema.run.c.system_id)
        wanted = wanted.outerjoin(schema.sample, schema.sample.c.sample_id == schema.run.c.sample_id)
        wanted = wanted.where(schema.system.c.name == system) if system is not None else wanted
        wanted = wanted.order_by(schema.run.c.run_id.desc())
        return self.read(lambda each: [runs.run_row(each, row) for row in each.execute(wanted).mappings().all()])

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

    def models(self, run: int) -> list[str]:
        """The models that the settings of a run's system name."""
        return self.read(lambda connection: runs.models(connection, run))

    def answers(self, run: int) -> Iterator[Answer]:
        """The answers of a run, by the ids of the queries; those that failed are none."""
        return (Answer(query, docs, scores.tolist()) for query, docs, scores in self.rankings(run))

    def rankings(self, run: int) -> Iterator[tuple[str, list[str], Floats]]:
        """The same as query, documents and an array of scores."""
        table = schema.answer.c
        asked = select(table.query_id, table.ranking).where(table.run_id == run, table.ranking.is_not(None))
        for query, ranking in self.read(lambda each: each.execute(asked.order_by(table.query_id)).all()):
            yield query, *unpacked(ranking)

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
        for judge in {judge.name for judge, _ in judged}:
            storable(judge, source)
        rows = [(judge, judgments.label_row(label, source)) for judge, label in judged]
        return int(self.writer.write(Batch(judgments.add_judgments, rows)))

    def labels(self, until: int | None = None) -> tuple[list[Rated], int]:
        """The latest label of each pair, judge and repeat, as it was when `until` was the last; the last one there is.

        Judgments that failed, were refused or skipped are among them, without a grade.
        """
        table, judge = schema.judgment.c, schema.judge.c
        latest = select(func.max(table.judgment_id)).join(schema.judge, judge.judge_id == table.judge_id)
        latest = latest.where(judge.kind != judgments.TRIAL, judgments.is_label())
        latest = latest.group_by(table.query_id, table.doc_id, judge.name, table.repeat, table.ruling)
        latest = latest.where(table.judgment_id <= until) if until is not None else latest
        older = case(
            (table.doc_hash.is_(None), literal(False)), else_=table.doc_hash != judgments.text_now(table.doc_id)
        )
        asked = select(
            table.query_id,
            table.doc_id,
            judge.name,
            judge.kind,
            table.state,
            table.grade,
            table.ruling,
            older,
            table.judge_id,
            table.doc_hash,
        )
        asked = asked.join(schema.judge, judge.judge_id == table.judge_id)
        asked = asked.where(table.judgment_id.in_(latest)).order_by(table.judgment_id)

        def found(connection: Connection) -> tuple[list[Rated], int]:
            known = connection.execute(asked).all()
            changed = texts.changed_texts(connection, ((row[1], row[9]) for row in known if row[7]))
            rows = [
                Rated(*row[:6], ruling=bool(row[6]), outdated=(row[1], row[9]) in changed, setting=row[8])
                for row in known
            ]
            return rows, int(connection.scalar(select(func.max(table.judgment_id))) or 0)

        return self.read(found)

    # ---- what is there -----------------------------------------------------------------------------------------------

    def counts(self) -> dict[str, int]:
        """Table → how many rows it has."""

        def counted_rows(connection: Connection) -> dict[str, int]:
            return {table.name: row_count(connection, table) for table in schema.STORED}

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


def _places(source: str | Iterable[str]) -> Iterable[str]:
    return repeat(source) if isinstance(source, str) else source


def summary(counts: Mapping[str, int]) -> str:
    """What a store holds, in a line."""
    words = {"query": "queries", "document": "documents", "run": "runs", "judge": "judges", "judgment": "judgments"}
    return ", ".join(counted(counts[name], name, plural) for name, plural in words.items())
