"""Connections to a database: SQLite beside the project, or PostgreSQL for a team; and what its errors mean."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Final

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from rankgauge.errors import RankgaugeError

__all__ = ["StoreError", "StoreLost", "address_of", "engine_of", "reading", "told", "writing"]

PAGE: Final = 8192  # bytes: several rankings fit into a page
NO_TEXT: Final = "Could not decode to UTF-8"  # Python's words for a damaged text in a row
WAIT: Final = 30  # seconds for which one process waits for another that writes
# File systems over a network, by how their names begin: SQLite's log does not work there.
NETWORK: Final = ("nfs", "cifs", "smb", "9p", "afs", "ceph", "lustre", "gpfs", "beegfs", "fuse.sshfs", "fuse.s3fs")


class StoreError(RankgaugeError):
    """The store cannot be opened, read or written."""

    @property
    def is_passing(self) -> bool:
        """Whether the database failed, so that the same may be done later."""
        return self.__cause__ is not None


class StoreLost(StoreError):
    """The database went away in the middle; whatever was acknowledged is there."""

    exit_code: ClassVar[int] = 4


def address_of(text: str) -> URL:
    """The address of a database: sqlite:///path, or postgresql://user@host/name."""
    try:
        url = make_url(text)
    except ArgumentError:
        url = None
    if url is None or url.get_backend_name() not in ("sqlite", "postgresql"):
        raise StoreError(f"{text}: is no address of a database; write sqlite:///FILE or postgresql://USER@HOST/NAME")
    return url if url.get_backend_name() == "sqlite" else url.set(drivername="postgresql+psycopg")


def engine_of(url: URL) -> Engine:
    """The engine of an address; nothing is opened yet."""
    if url.get_backend_name() == "sqlite":
        _refuse_network(Path(url.database or "").resolve().parent)
        engine = create_engine(url, connect_args={"timeout": WAIT, "check_same_thread": False})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    logging.getLogger("psycopg").addHandler(logging.NullHandler())  # what it would print, our errors say
    try:
        return create_engine(url, connect_args={"connect_timeout": 10}, pool_pre_ping=True)
    except (NoSuchModuleError, ImportError):
        raise StoreError("PostgreSQL needs a driver: pip install 'rankgauge[postgres]'") from None


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # the transactions are ours: pysqlite does not roll back what makes tables
    for pragma in (
        f"page_size={PAGE}",
        "journal_mode=WAL",
        "synchronous=FULL",
        "foreign_keys=ON",
        f"busy_timeout={WAIT * 1000}",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _refuse_network(folder: Path, listed: str = "/proc/mounts") -> None:
    """SQLite's log does not work over a network; where the file system says what it is, say so before data are lost."""
    try:
        mounts = [line.split() for line in Path(listed).read_text(encoding="utf-8").splitlines()]
    except OSError:
        return
    inside = [(len(point), kind) for _, point, kind, *_ in mounts if Path(point) in (folder, *folder.parents)]
    if inside and max(inside)[1].startswith(NETWORK):
        raise StoreError(
            f"{folder}: is on a network file system ({max(inside)[1]}), where SQLite may lose data; keep the store "
            "on a local disk, or use PostgreSQL (--db postgresql://USER@HOST/NAME)"
        )


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection that reads one state of the store and waits for nobody."""
    with told(engine.url), engine.connect() as connection, connection.begin():
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction: all of it is stored when the block ends, or nothing."""
    with told(engine.url), engine.connect().execution_options(writes=True) as connection, connection.begin():
        yield connection


@contextmanager
def told(url: URL) -> Iterator[None]:
    """Errors of a database as words: what happened, where, what to do."""
    try:
        yield
    except DBAPIError as error:
        raise _told(url, error) from error
    except UnicodeDecodeError as error:  # SQLite quotes a damaged schema, and Python cannot read the quote
        if url.get_backend_name() != "sqlite":
            raise
        raise StoreError(f"{shown(url)}: {_SQLITE['CORRUPT']}") from error


def _told(url: URL, error: DBAPIError) -> StoreError:
    where, said = shown(url), str(error.orig).strip().split("\n")[0]
    if url.get_backend_name() == "sqlite":
        name = getattr(error.orig, "sqlite_errorname", "").removeprefix("SQLITE_")
        known = _SQLITE.get("CORRUPT" if said.startswith(NO_TEXT) else name)
        return StoreError(f"{where}: {known}" if known else f"{where}: {said}")
    for words, meaning in _POSTGRES.items():
        if words in str(error.orig):
            return StoreError(f"{where}: {meaning}")
    if error.connection_invalidated or "connection" in said:
        return StoreLost(f"{where}: the connection was lost ({said}); what was acknowledged is stored: run it again")
    return StoreError(f"{where}: {said}")


_SQLITE: Final = {
    "NOTADB": "is not a database; name another file, or restore a dump",
    "CORRUPT": "the database is damaged; restore a dump (rankgauge store restore)",
    "FULL": "the disk is full; nothing of this was stored: make room and run it again",
    "IOERR_WRITE": "the disk takes no more (a quota, a limit of file sizes, a fault); make room and run it again",
    "CANTOPEN": "cannot be opened; check the path and its permissions",
    "READONLY": "cannot be written; check the permissions of the file and its folder",
    "BUSY": f"another process has been writing for {WAIT} seconds; run it again when it is done",
    "LOCKED": f"another process has been writing for {WAIT} seconds; run it again when it is done",
}
_POSTGRES: Final = {
    "password authentication failed": "wrong user or password; set PGPASSWORD",
    "no password supplied": "a password is needed; set PGPASSWORD",
    "does not exist": "there is no such database or user; create it: createdb NAME",
    "Connection refused": "no PostgreSQL answers there; start it, or check host and port",
    "could not translate host name": "there is no such host; check the address",
    "No such file or directory": "no PostgreSQL answers there; start it, or check host and port",
}


def shown(url: URL) -> str:
    """An address as people may see it: without a password."""
    if url.get_backend_name() == "sqlite":
        return url.database or ""
    return url.set(drivername="postgresql").render_as_string(hide_password=True)


def integrity(engine: Engine) -> str:
    """What SQLite says about itself: ok, or what is damaged."""
    if engine.url.get_backend_name() != "sqlite":
        return "ok"
    with sqlite3.connect(engine.url.database or "") as connection:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])
