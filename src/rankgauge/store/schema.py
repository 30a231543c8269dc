"""The tables of a store, and the steps by which an older store becomes this one.

Ids are text, times are ISO text in UTC, JSON is text. Judgments are only added: the latest of a pair and judge counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from sqlalchemy import (
    Column,
    Connection,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    inspect,
    text,
)

__all__ = ["MIGRATIONS", "STORED", "TABLES", "migration"]

TABLES: Final = MetaData()
# Ids, in the order of their characters on both engines, whatever language the database is set to.
ID: Final = Text().with_variant(Text(collation="C"), "postgresql")

migration = Table(
    "migration", TABLES, Column("number", Integer, primary_key=True), Column("name", Text, nullable=False),
    Column("at", Text, nullable=False),
)  # fmt: skip
query = Table(
    "query", TABLES, Column("query_id", ID, primary_key=True), Column("text", Text), Column("need", Text),
    Column("tags", Text), Column("hash", Text, nullable=False),
)  # fmt: skip
sample = Table(
    "sample", TABLES, Column("sample_id", Integer, primary_key=True), Column("name", Text, nullable=False, unique=True),
    Column("how", Text, nullable=False), Column("at", Text, nullable=False),
)  # fmt: skip
sampled = Table(
    "sampled", TABLES, Column("sample_id", ForeignKey("sample.sample_id"), primary_key=True),
    Column("query_id", ForeignKey("query.query_id"), primary_key=True), Column("traffic", Double),
    Column("inclusion", Double), Column("stratum", Text),
)  # fmt: skip
document = Table(
    "document", TABLES, Column("doc_id", ID, primary_key=True), Column("hash", ID, primary_key=True),
    Column("fields", Text, nullable=False), Column("at", Text, nullable=False),
)  # fmt: skip
pair = Table(  # to be judged, also where nobody has yet
    "pair", TABLES, Column("query_id", ID, primary_key=True), Column("doc_id", ID, primary_key=True),
    Column("position", Integer),
)  # fmt: skip
system = Table(
    "system", TABLES, Column("system_id", Integer, primary_key=True), Column("name", Text, nullable=False),
    Column("config", Text, nullable=False), Column("hash", Text, nullable=False), Column("at", Text, nullable=False),
    UniqueConstraint("name", "hash"),
)  # fmt: skip
run = Table(
    "run", TABLES, Column("run_id", Integer, primary_key=True),
    Column("system_id", ForeignKey("system.system_id"), nullable=False),
    Column("over_run_id", ForeignKey("run.run_id")), Column("sample_id", ForeignKey("sample.sample_id")),
    Column("depth", Integer), Column("state", Text, nullable=False), Column("began", Text, nullable=False),
    Column("ended", Text), Column("fingerprint", Text),
)  # fmt: skip
answer = Table(
    "answer", TABLES, Column("run_id", ForeignKey("run.run_id"), primary_key=True),
    Column("query_id", ID, primary_key=True), Column("ranking", LargeBinary), Column("found", Integer),
    Column("milliseconds", Double), Column("attempts", Integer), Column("error", Text),
)  # fmt: skip
prompt = Table(
    "prompt", TABLES, Column("hash", ID, primary_key=True), Column("name", Text, nullable=False),
    Column("text", Text, nullable=False),
)  # fmt: skip
judge = Table(
    "judge", TABLES, Column("judge_id", Integer, primary_key=True), Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False), Column("model", Text), Column("base_url", Text), Column("parameters", Text),
    Column("prompt", ForeignKey("prompt.hash")), Column("scale", Text), Column("hash", Text, nullable=False),
    Column("at", Text, nullable=False), UniqueConstraint("name", "hash"),
)  # fmt: skip
task = Table(  # pairs that people are to judge, and how; scale, fields, raters and runs are JSON
    "task", TABLES, Column("task_id", Integer, primary_key=True), Column("name", Text, nullable=False, unique=True),
    Column("scale", Text, nullable=False), Column("guidelines", Text, nullable=False), Column("fields", Text),
    Column("overlap", Integer, nullable=False), Column("raters", Text, nullable=False),
    Column("gold", Double, nullable=False), Column("repeat", Double, nullable=False),
    Column("shows_models", Integer, nullable=False), Column("runs", Text, nullable=False), Column("width", Double),
    Column("at", Text, nullable=False), Column("closed", Text),
)  # fmt: skip
task_query = Table(  # `pairs` it has; `open`: how many raters may still be given the query
    "task_query", TABLES, Column("task_id", ForeignKey("task.task_id"), primary_key=True),
    Column("query_id", ID, primary_key=True), Column("place", Integer, nullable=False),
    Column("pairs", Integer, nullable=False), Column("open", Integer, nullable=False),
)  # fmt: skip
# What is next is asked for all the time, and is never looked for among what is done.
Index(
    "task_query_next", task_query.c.task_id, task_query.c.place,
    sqlite_where=task_query.c.open > 0, postgresql_where=task_query.c.open > 0,
)  # fmt: skip
task_pair = Table(  # `hash`: the text at that time; `gold`: the grade that is known; `again`: to be asked twice
    "task_pair", TABLES, Column("task_id", ForeignKey("task.task_id"), primary_key=True),
    Column("query_id", ID, primary_key=True), Column("doc_id", ID, primary_key=True), Column("hash", Text),
    Column("gold", Double), Column("again", Integer, nullable=False),
)  # fmt: skip
assignment = Table(  # a query in the hands of a rater; `lapsed`: not any more, since nothing was heard
    "assignment", TABLES, Column("task_id", ForeignKey("task.task_id"), primary_key=True),
    Column("query_id", ID, primary_key=True), Column("judge", ID, primary_key=True),
    Column("given", Text, nullable=False), Column("seen", Text, nullable=False), Column("done", Text),
    Column("lapsed", Text), Index("assignment_judge", "task_id", "judge"),
)  # fmt: skip
_HELD: Final = assignment.c.done.is_(None) & assignment.c.lapsed.is_(None)
Index("assignment_held", assignment.c.task_id, assignment.c.seen, sqlite_where=_HELD, postgresql_where=_HELD)
user = Table(
    "user", TABLES, Column("user_id", Integer, primary_key=True), Column("name", ID, nullable=False, unique=True),
    Column("role", Text, nullable=False), Column("password", Text), Column("disabled", Integer, nullable=False),
    Column("at", Text, nullable=False),
)  # fmt: skip
token = Table(  # for programs; only its hash is stored
    "token", TABLES, Column("hash", ID, primary_key=True),
    Column("user_id", ForeignKey("user.user_id"), nullable=False),
    Column("name", Text, nullable=False), Column("expires", Text), Column("last_used", Text),
)  # fmt: skip
session = Table(
    "session", TABLES, Column("hash", ID, primary_key=True),
    Column("user_id", ForeignKey("user.user_id"), nullable=False), Column("expires", Text, nullable=False),
)  # fmt: skip
audit = Table(  # who did what; `address` where somebody asked from
    "audit", TABLES, Column("audit_id", Integer, primary_key=True), Column("at", Text, nullable=False),
    Column("who", ID, nullable=False), Column("what", ID, nullable=False), Column("detail", Text, nullable=False),
    Column("address", ID), Index("audit_what", "what", "at"),
)  # fmt: skip
judgment = Table(
    "judgment", TABLES, Column("judgment_id", Integer, primary_key=True), Column("query_id", ID, nullable=False),
    Column("doc_id", ID, nullable=False), Column("doc_hash", Text),
    Column("judge_id", ForeignKey("judge.judge_id"), nullable=False), Column("repeat", Integer, nullable=False),
    Column("state", Text, nullable=False), Column("grade", Double), Column("ruling", Integer, nullable=False),
    Column("reason", Text), Column("raw", Text), Column("reader", Text),
    Column("key", Text, nullable=False, unique=True),
    Column("model", Text), Column("tokens_in", Integer), Column("tokens_out", Integer), Column("cost", Double),
    Column("milliseconds", Double), Column("calls", Integer), Column("at", Text, nullable=False),
    Column("answer", ID), Column("cut", Integer), Column("expected", Double), Column("mass", Double),
    Column("task_id", Integer),
    Index("judgment_pair", "query_id", "doc_id"), Index("judgment_answer", "answer"),
)  # fmt: skip
judge_check = Table(  # what was found where a judge was put to the test
    "judge_check", TABLES, Column("check_id", Integer, primary_key=True),
    Column("judge_id", ForeignKey("judge.judge_id"), nullable=False), Column("kind", Text, nullable=False),
    Column("found", Text, nullable=False), Column("at", Text, nullable=False),
)  # fmt: skip
ability = Table(
    "ability", TABLES, Column("base_url", ID, primary_key=True), Column("model", ID, primary_key=True),
    Column("found", Text, nullable=False), Column("at", Text, nullable=False),
)  # fmt: skip
evaluation = Table(
    "evaluation", TABLES, Column("evaluation_id", Integer, primary_key=True),
    Column("run_id", ForeignKey("run.run_id"), nullable=False), Column("labels", Text, nullable=False),
    Column("labels_hash", Text, nullable=False), Column("protocol", Text, nullable=False),
    Column("means", Text, nullable=False), Column("per_query", Text, nullable=False),
    Column("run_hash", Text, nullable=False), Column("fingerprint", Text, nullable=False),
    Column("version", Text, nullable=False), Column("at", Text, nullable=False),
)  # fmt: skip
step = Table(  # of the loop: what it was last done with, and what came of it
    "step", TABLES, Column("name", ID, primary_key=True), Column("inputs", Text, nullable=False),
    Column("found", Text, nullable=False), Column("at", Text, nullable=False),
)  # fmt: skip
lock = Table(
    "lock", TABLES, Column("name", Text, primary_key=True), Column("holder", Text, nullable=False),
    Column("until", Double, nullable=False),
)  # fmt: skip

# What a dump holds, in an order in which every row finds the rows that it names. Locks and log-ins are of the moment.
STORED: Final = tuple(table for table in TABLES.sorted_tables if table.name not in ("lock", "migration", "session"))


def _first(connection: Connection) -> None:
    TABLES.create_all(connection)


def _answers(connection: Connection) -> None:
    """Answers of models by their own key, what they cut and how sure they were; checks of judges."""
    _extend(connection, judgment, "answer", "cut", "expected", "mass")


def _tasks(connection: Connection) -> None:
    """Tasks of raters, users, and who did what."""
    _extend(connection, judgment, "task_id")


def _extend(connection: Connection, table: Table, *names: str) -> None:
    """New columns of a table that is there, its indexes, and tables that are not there."""
    there = {column["name"] for column in inspect(connection).get_columns(table.name)}
    for column in (table.c[name] for name in names if name not in there):
        kind = column.type.compile(connection.dialect)
        connection.execute(text(f"ALTER TABLE {table.name} ADD COLUMN {column.name} {kind}"))
    TABLES.create_all(connection)
    for index in table.indexes:
        index.create(connection, checkfirst=True)


# Number − 1 → what the step is called, and what it does.
MIGRATIONS: Final[list[tuple[str, Callable[[Connection], None]]]] = [
    ("the first tables", _first),
    ("answers of models, and checks of judges", _answers),
    ("tasks of raters, and users", _tasks),
]
