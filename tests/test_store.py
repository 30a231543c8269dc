"""The store: on SQLite and on a real PostgreSQL, what is acknowledged is there, and nothing is there twice."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import rankgauge
from command import Command
from nursery import Nursery
from rankgauge.errors import RankgaugeError
from rankgauge.protocol import Order, Protocol
from stores import QRELS, RUN, new_database, stored

pytest.importorskip("sqlalchemy", reason="a store needs SQLAlchemy")

from sqlalchemy import select, text

from rankgauge.store import schema
from rankgauge.store.engine import StoreError, integrity, writing
from rankgauge.store.packing import packed, unpacked
from rankgauge.store.project import WAYS, Project
from rankgauge.store.store import Answer, Label, Store
from rankgauge.store.transfer.dump import dump, restore

# ---- labels ----------------------------------------------------------------------------------------------------------


def test_the_latest_label_of_a_judge_counts_and_a_ruling_wins(address: str, tmp_path: Path) -> None:
    project = Project(tmp_path, {"project": {"db": address}, "labels": {"from": ["ann", ["bob", "eve"]]}})
    with Store.open(address, create=True) as store:
        store.add_labels("ann", [Label("q", "a", 1.0, "1"), Label("q", "a", 2.0, "2")], "person")
        store.add_labels("bob", [Label("q", "a", 0.0, "3"), Label("q", "b", 1.0, "4"), Label("q", "c", 3.0, "5")])
        store.add_labels("eve", [Label("q", "b", 3.0, "6"), Label("q", "b", 3.0, "7", repeat=1)])
        store.add_labels(
            "eve", [Label("q", "c", None, "8", state="skipped"), Label("q", "d", None, "9", state="failed")]
        )
        store.add_labels("max", [Label("q", "z", 3.0, "10")])
        store.add_labels("ann", [Label("q", "c", 0.0, "11", ruling=1)])
    assert dict(project.labels().nested["q"]) == {"a": 2.0, "b": 3.0, "c": 0.0}
    assert dict(project.labels("bob").nested["q"]) == {"a": 0.0, "b": 1.0, "c": 3.0}
    assert dict(project.labels(people=True).nested["q"])["z"] == 3.0
    with pytest.raises(RankgaugeError, match="no labels of 'zoe'; there are ann, bob"):
        project.labels("zoe")


def test_a_key_counts_once(store: Store) -> None:
    label = Label("q", "a", 1.0, "key")
    assert store.add_labels("ann", [label]) == 1
    assert store.add_labels("ann", [label, Label("q", "b", 1.0, "other")]) == 1
    assert store.counts()["judgment"] == 2


@pytest.mark.parametrize("bad", ["a\0b", "a\ud800"])
def test_what_no_database_takes_is_refused(store: Store, bad: str) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: store.add_labels("ann", [Label("q", bad, 1.0, "k")]),
        lambda: store.add_run("s", {}, [Answer("q", [bad], [1.0])]),
        lambda: store.add_queries([("q", bad, None)], "file"),
        lambda: store.add_documents([("d", {"text": bad})], "file"),
    ]
    for call in calls:
        with pytest.raises(StoreError, match="cannot be stored"):
            call()
    assert not any(store.counts().values())


def test_one_id_one_text(store: Store) -> None:
    assert store.add_queries([("q", "shoes", None)], "a.tsv") == 1
    assert store.add_queries([("q", "shoes", None)], "b.tsv") == 0
    with pytest.raises(StoreError, match=r"b\.tsv: query 'q' has another text in the store"):
        store.add_queries([("q", "boots", None), ("r", "x", None)], "b.tsv")
    with pytest.raises(StoreError, match=r"c\.tsv: document 'd' has two texts in this file"):
        store.add_documents([("d", {"text": "a"}), ("d", {"text": "b"})], "c.tsv")
    assert store.add_documents([("d", {"text": "a"})], "c.tsv") == store.add_documents([("d", {"text": "b"})], "d") == 1
    assert (store.counts()["query"], store.counts()["document"]) == (1, 2)


def test_a_run_comes_back_as_it_went_in(store: Store) -> None:
    random_ = random.Random(1)
    ids = [chr(random_.choice([0x41, 0x3B1, 0x4E2D, 0x1F600, 0x10FFFF])) * n for n in range(1, 60)] + ["x" * 10_000]
    given = [Answer(f"q{n}", ids, [random_.uniform(-1e300, 1e300) for _ in ids]) for n in range(3)]
    number = store.add_run("bm25", {"k1": 0.9}, given)
    assert [*store.answers(number)] == given
    assert store.run_of("bm25")[:3] == (number, "bm25", "whole")
    with pytest.raises(StoreError, match="there is no run of 'x'; there are bm25"):
        store.run_of("x")


# ---- the commands ----------------------------------------------------------------------------------------------------


def test_from_files_to_a_comparison(command: Command, shop: Path) -> None:
    (shop / "b.run").write_text(RUN.replace("2.5 t\nq1 Q0 a", "1.5 t\nq1 Q0 a"))
    assert command("store", "import", "qrels.txt", "--judge", "ann").code == 0
    for name in ("a", "b"):
        assert command("store", "import", f"{name}.run", "--system", name).code == 0
    files = command("eval", "qrels.txt", "a.run", "b.run", "-q", "--format", "csv")
    assert command("eval", "@labels", "@a", "@b", "-q", "--format", "csv").out == files.out
    assert command("eval", "@labels:ann", "@a:1", "@b", "-q", "--format", "csv").code == 0
    assert command("compare", "@labels", "@a", "@b").code == 0
    assert command("check", "@people", "@b", "--baseline", "@a", "--margin", "0.9").code in (0, 1, 3)
    assert {"run": 2, "judge": 1, "judgment": 4}.items() <= stored(command).items()
    assert command("store", "export", "@labels", "out/labels.txt").code == 0
    assert command("store", "export", "@a", "out/a.run").code == 0
    again = command("eval", "out/labels.txt", "out/a.run", "b.run", "-q", "--format", "csv")
    assert again.out == files.out
    (shop / "deep").mkdir()
    assert command("store", "status", cwd=shop / "deep").code == 0
    assert command("--project", shop, "store", "status", cwd=shop.parent).code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["eval", "qrels.txt", "@a"], "there is no run of 'a'; there is none yet"),
        (["eval", "@labels", "a.run"], f"there are no labels yet; {WAYS}"),
        (["eval", "@a", "a.run"], "@a: are no labels, and judgments are wanted; write @labels"),
        (["convert", "@a", "x.run"], "@a: is neither labels nor a run; there are @labels, @people"),
        (["store", "export", "@a", "x.run"], "@a: is neither labels nor a run; there are @labels, @people"),
        (["eval", "qrels.txt", "@labels"], "are labels, and a run is wanted"),
        (["eval", "qrels.txt", "@a:x"], "is no address; write @labels"),
        (["store", "import", "nowhere.txt", "--judge", "ann"], "there is no such file"),
        (["store", "import", "qrels.txt"], "give --judge, --system, --runs, --queries or --documents"),
        (["store", "restore", "qrels.txt"], "is no whole dump"),
        (["store", "dump", "x.zip"], "a dump is a tar"),
        (["init", "."], "there is a project already"),
        (["init", "new", "--db", "postgresql://u:secret@h/d"], "the address has a password"),
        (["init", "new", "--db", "mysql://h/d"], "is no address of a database"),
    ],
)
def test_misuse(command: Command, shop: Path, words: list[str], message: str) -> None:
    done = command(*words)
    assert done.code == 2
    assert message in " ".join(done.err.split())
    assert "secret" not in done.err.replace("u:secret@", "") or "init" in words


def test_a_folder_whose_file_somebody_wrote_gets_its_store(command: Command, tmp_path: Path) -> None:
    (tmp_path / "rankgauge.toml").write_text('[labels]\npolicy = "mean"\n')
    (tmp_path / "qrels.txt").write_text("q 0 d 1\n")
    refused = command("store", "import", "qrels.txt", "--judge", "ann", cwd=tmp_path)
    assert "there is no store; make one: rankgauge init" in refused.err
    example = command("init", "--example", cwd=tmp_path)  # which brings a file of its own
    assert (example.code, "there is a project already" in example.err) == (2, True)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["qrels.txt", "rankgauge.toml"]
    assert command("init", cwd=tmp_path).code == 0
    assert (tmp_path / "rankgauge.toml").read_text() == '[labels]\npolicy = "mean"\n'
    assert command("store", "import", "qrels.txt", "--judge", "ann", cwd=tmp_path).code == 0
    assert "there is a project already" in command("init", cwd=tmp_path).err


def test_labels_of_queries_that_the_project_does_not_know_are_told(command: Command, tmp_path: Path) -> None:
    """Such as texts in place of ids; where no query is known yet, all of them are what the project is about."""
    assert command("init", cwd=tmp_path).code == 0
    (tmp_path / "ann.txt").write_text("q1 0 d 1\nq2 0 d 1\n")
    (tmp_path / "bob.txt").write_text("q1 0 d 1\nshoes 0 d 1\nhats 0 d 1\n")
    words = ("store", "import", "--judge")
    assert command(*words, "ann", "ann.txt", cwd=tmp_path).out == "stored 2 labels of ann from ann.txt\n"
    (tmp_path / "queries.tsv").write_text("query_id\tquery\nq1\tshoes\nq2\thats\n")
    assert command("store", "import", "queries.tsv", "--queries", cwd=tmp_path).code == 0
    said = "stored 3 labels of bob from bob.txt; 2 of 3 queries are new to the project, such as 'shoes'\n"
    assert command(*words, "bob", "bob.txt", cwd=tmp_path).out == said
    assert "; the others were stored before; 2 of 3" in command(*words, "bob", "bob.txt", cwd=tmp_path).out


def test_a_bad_line_stores_nothing_of_the_file(command: Command, shop: Path) -> None:
    (shop / "bad.txt").write_text("".join(f"q 0 d{n} 1\n" for n in range(999)) + "q 0 d999 x\n")
    done = command("store", "import", "bad.txt", "--judge", "ann")
    assert done.code == 2
    assert "bad.txt:1000" in done.err
    (shop / "twice.txt").write_text("q 0 d 1\nq 0 d 2\n")
    assert "twice.txt" in command("store", "import", "twice.txt", "--judge", "ann").err
    assert stored(command)["judgment"] == 0
    assert command("store", "import", "twice.txt", "--judge", "ann", "--repeats").code == 0
    assert stored(command)["judgment"] == 2


def test_no_project(command: Command, tmp_path: Path) -> None:
    done = command("eval", "@labels", "@a", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert "there is no project here" in done.err
    (tmp_path / "@x").write_text(RUN)
    (tmp_path / "qrels.txt").write_text(QRELS)
    assert command("eval", "qrels.txt", "./@x", cwd=tmp_path).code == 0


# ---- databases that are not right ------------------------------------------------------------------------------------


def test_a_damaged_schema_is_one_sentence(tmp_path: Path, command: Command) -> None:
    """SQLite quotes the text of a schema that it cannot read; where a byte of it is flipped, the quote is no UTF-8."""
    path = tmp_path / "rankgauge.db"
    (tmp_path / "rankgauge.toml").write_text("")
    with Store.open(f"sqlite:///{path}", create=True) as store:
        store.add_run("bm25", {}, [Answer("q1", ["a", "b"], [2.0, 1.0])])
    whole = path.read_bytes()
    places = [at for at in range(100, 8192, 61) if whole[at]]
    damaged = 0
    for at in places:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x80]) + whole[at + 1 :])
        for write in (False, True):
            try:
                with Store.open(f"sqlite:///{path}", write=write) as store:
                    store.runs()
            except StoreError as error:
                sentence = str(error)
                damaged += sentence.endswith(
                    "rankgauge.db: the database is damaged; restore a dump (rankgauge store restore)"
                )
            for rest in ("-wal", "-shm"):
                path.with_name(path.name + rest).unlink(missing_ok=True)
    assert damaged > len(places)
    at = whole.index(b"CREATE TABLE run") + 7
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x80]) + whole[at + 1 :])
    for words in (["store", "status"], ["eval", "@labels", "@bm25"], ["store", "upgrade"]):
        said = command(*words, cwd=tmp_path)
        assert (said.code, said.out) == (2, "")
        assert said.err.startswith("error: ")
        assert said.err.endswith("rankgauge.db: the database is damaged; restore a dump (rankgauge store restore)\n")
    path.write_bytes(whole.replace(b"bm25", b"bm\xb25"))  # the same of a text in a row
    assert "the database is damaged" in command("store", "status", cwd=tmp_path).err


def test_not_a_database_or_one_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_text("this is not a database, and long enough to be seen as one that is none" * 50)
    with pytest.raises(StoreError, match=r"x\.db: is not a database"):
        Store.open(f"sqlite:///{path}", write=True)
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE users (id INTEGER)")
    with pytest.raises(StoreError, match="a database of something else \\(it has users\\)"):
        Store.open(f"sqlite:///{path}", write=True)
    with pytest.raises(StoreError, match="there is no store; make one: rankgauge init"):
        Store.open(f"sqlite:///{tmp_path / 'no.db'}")


def test_versions(store: Store, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store.add_labels("ann", [Label("q", "a", 1.0, "k")])
    steps: list[Any] = [
        *schema.MIGRATIONS,
        ("a column", lambda each: each.execute(text("ALTER TABLE query ADD x TEXT"))),
    ]
    monkeypatch.setattr(schema, "MIGRATIONS", steps)
    now = len(steps) - 1
    with pytest.raises(StoreError, match=f"version {now}, and this rankgauge needs version {now + 1}; bring it up to"):
        Store.open(address)
    opened: list[Store] = []
    threads = [threading.Thread(target=lambda: opened.append(Store.open(address, write=True))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 4
    with Store.open(address) as newer:
        assert newer.read(lambda each: each.scalars(select(schema.migration.c.number)).all()) == [*range(1, now + 2)]
    for each in opened:
        each.close()
    monkeypatch.setattr(schema, "MIGRATIONS", steps[:now])
    with pytest.raises(StoreError, match=f"version {now + 1}, and this rankgauge knows version {now}; upgrade rank"):
        Store.open(address, write=True)


def test_a_store_of_the_first_version_is_brought_up_to_date(store: Store, address: str) -> None:
    store.add_labels("ann", [Label("q", "a", 1.0, "k")])
    with writing(store.engine) as connection:
        for step in ("DROP INDEX judgment_answer", "DROP TABLE judge_check", "DELETE FROM migration WHERE number > 1"):
            connection.execute(text(step))
        _without_tasks(connection)
        for column in ("answer", "cut", "expected", "mass", "task_id"):
            connection.execute(text(f"ALTER TABLE judgment DROP COLUMN {column}"))
    with pytest.raises(StoreError, match="version 1, and this rankgauge needs version"):
        Store.open(address)
    with Store.open(address, write=True) as upgraded:
        assert upgraded.add_labels("ann", [Label("q", "b", 2.0, "l", answer="x", cut=3, expected=1.5, mass=0.5)]) == 1
        assert [(row.doc_id, row.grade) for row in upgraded.labels()[0]] == [("a", 1.0), ("b", 2.0)]
        assert upgraded.counts()["judge_check"] == upgraded.counts()["task"] == 0


def _without_tasks(connection: Any) -> None:
    """The tables as they were before there were tasks."""
    for name in ("assignment", "task_pair", "task_query", "task", "token", "session", "audit", '"user"'):
        connection.execute(text(f"DROP TABLE {name}"))


def test_a_migration_that_fails_leaves_the_old_tables(
    store: Store, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(connection: Any) -> None:
        connection.execute(text("ALTER TABLE query ADD y TEXT"))
        raise KeyboardInterrupt

    monkeypatch.setattr(schema, "MIGRATIONS", [*schema.MIGRATIONS, ("broken", broken)])
    with pytest.raises(KeyboardInterrupt):
        Store.open(address, write=True)
    monkeypatch.undo()
    with Store.open(address, write=True) as again, writing(again.engine) as connection:
        with pytest.raises(Exception, match="y"):
            connection.execute(text("SELECT y FROM query"))
        connection.rollback()


def test_a_full_disk(tmp_path: Path) -> None:
    with Store.open(f"sqlite:///{tmp_path / 's.db'}", create=True) as store:
        store.add_labels("ann", [Label("q", "a", 1.0, "k")])
        from sqlalchemy import event

        event.listen(store.engine, "connect", lambda raw, _: raw.execute("PRAGMA max_page_count=60"))
        store.engine.dispose()
        with pytest.raises(StoreError, match="the disk is full; nothing of this was stored"):
            store.add_labels("ann", [Label("q", f"d{n}", 1.0, f"k{n}" * 20) for n in range(20_000)])
        assert store.counts()["judgment"] == 1


def test_postgres_that_is_not_there(command: Command, tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    done = command("init", tmp_path / "x", "--db", "postgresql://u@127.0.0.1:1/d")
    assert done.code == 2
    assert "no PostgreSQL answers there" in done.err
    assert not (tmp_path / "x" / "rankgauge.toml").exists()


# ---- dumps -----------------------------------------------------------------------------------------------------------


def filled(store: Store) -> None:
    store.add_queries([("q", "shoes 鞋 👟", "a need"), ("r", None, None)], "f")
    store.add_documents([("d", {"title": "x\ty", "text": "\U0010ffff"})], "f")
    store.add_labels("ann", [Label("q", "d", 0.1 + 0.2, "1"), Label("q", "e", -1.0, "2", reason="no")])
    store.add_run("bm25", {"b": 0.4}, [Answer("q", ["d", "e"], [1e-300, -0.0])])


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz", ".tar.zst"])
def test_dump_and_restore_give_the_same_bytes_over_both_engines(
    store: Store, tmp_path: Path, server: str, suffix: str
) -> None:
    filled(store)
    first = tmp_path / f"a{suffix}"
    dump(store, str(first))
    known = store.answers(1)
    for at, address in enumerate((new_database(server), f"sqlite:///{tmp_path / 'b.db'}", new_database(server))):
        with Store.open(address, create=True) as other:
            restore(other, str(first))
            assert [*other.answers(1)] == [*known] or at
            plain, again = tmp_path / "p.tar", tmp_path / "q.tar"
            dump(store, str(plain))
            dump(other, str(again))
            assert plain.read_bytes() == again.read_bytes()
            assert other.add_labels("bob", [Label("q", "d", 1.0, "3")]) == 1  # numbers go on
            with pytest.raises(StoreError, match="holds something already"):
                restore(other, str(first))


def test_a_dump_that_was_cut_or_changed_restores_nothing(store: Store, tmp_path: Path) -> None:
    filled(store)
    path = tmp_path / "a.tar"
    dump(store, str(path))
    whole = path.read_bytes()
    place = whole.index(b"shoes")
    for broken in (whole[:place], whole[: len(whole) // 2], whole.replace(b"shoes", b"shoez"), b"no tar at all" * 100):
        path.write_bytes(broken)
        with Store.open(f"sqlite:///{tmp_path / 'new.db'}", create=True) as new:
            with pytest.raises(StoreError, match=r"a\.tar"):
                restore(new, str(path))
            assert not any(new.counts().values())
    contents = whole.replace(b'"version": %d' % len(schema.MIGRATIONS), b'"version": 9')
    path.write_bytes(contents)
    with (
        Store.open(f"sqlite:///{tmp_path / 'new.db'}", create=True) as new,
        pytest.raises(StoreError, match="version 9"),
    ):
        restore(new, str(path))


# ---- kill -9 ---------------------------------------------------------------------------------------------------------

IMPORTS = """
import threading, psycopg
import rankgauge.store.labels, rankgauge.store.texts
from rankgauge.store.store import Label, Store
"""
WORK = """
what, address, name = line.split()
store = Store.open(address, write=True)
said = threading.Lock()
def told(words):
    with said:
        os.write(1, words.encode() + b"\\n")  # at once, or not at all
def judge(thread):
    for number in range(10_000):
        key = f"{name}-{thread}-{number}"
        store.add_labels("ann", [Label("q", key, 1.0, key)])
        told(key)
def bring(number):
    labels = [Label("i", f"{name}-{number}-{n}", 1.0, f"{name}-{number}-{n}") for n in range(3_000)]
    told(f"begins {number}")
    store.add_labels("bob", labels)
    told(f"stored {number}")
if what == "stream":
    threads = [threading.Thread(target=judge, args=(thread,)) for thread in range(32)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
for number in range(1_000): bring(number)
"""


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    pytest.importorskip("psycopg", reason="the driver of PostgreSQL is not installed")
    made = Nursery(IMPORTS, WORK)
    yield made
    made.process.communicate()


def killed(nursery: Nursery, what: str, seconds: float) -> list[str]:
    """What a process said before it was killed."""
    process = nursery.start(what)
    said = nursery.said()
    first = next(said)  # it is at work
    threading.Timer(seconds, lambda: os.kill(process, signal.SIGKILL)).start()
    *more, ended = said
    assert int(ended) == signal.SIGKILL
    return [first, *more]


def test_kill_9_loses_nothing_that_was_acknowledged(store: Store, address: str, nursery: Nursery) -> None:
    chance = random.Random(7)
    acknowledged: set[str] = set()
    imported: dict[str, int] = {}
    for number in range(10):
        acknowledged |= {*killed(nursery, f"stream {address} s{number}", chance.uniform(0.02, 0.4))}
        said = killed(nursery, f"import {address} i{number}", chance.uniform(0.02, 0.4))
        imported[f"i{number}"] = sum(line.startswith("stored") for line in said)
    table = schema.judgment.c
    rows = store.read(lambda each: each.execute(select(table.query_id, table.doc_id, table.key)).all())
    keys = [key for _, _, key in rows]
    assert len(keys) == len(set(keys))
    assert acknowledged <= set(keys)
    assert acknowledged
    for name, whole in imported.items():
        parts = {key.rsplit("-", 1)[0] for key in keys if key.startswith(f"{name}-")}
        sizes = [sum(key.startswith(f"{part}-") for key in keys) for part in parts]
        assert set(sizes) <= {3_000}  # an import is there as a whole, or not at all
        assert len(parts) in (whole, whole + 1)
    assert integrity(store.engine) == "ok"


def test_a_store_loads_nothing_where_there_is_none() -> None:
    code = (
        "import sys, rankgauge; from rankgauge.cli import cli\n"
        "try: cli(['eval', '--help'])\nexcept SystemExit: pass\n"
        "print([name for name in sys.modules if name.startswith(('sqlalchemy', 'psycopg', 'rankgauge.store'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_way_in_is_four_commands(command: Command, tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "a.run").write_text(RUN)
    steps: list[Callable[[], Any]] = [
        lambda: command("init", "shop", cwd=tmp_path),
        lambda: command("--project", "shop", "store", "import", "qrels.txt", "--judge", "ann", cwd=tmp_path),
        lambda: command("--project", "shop", "store", "import", "a.run", "--system", "a", cwd=tmp_path),
        lambda: command("--project", "shop", "eval", "@labels", "@a", "--format", "json", cwd=tmp_path),
    ]
    *_, last = (step() for step in steps)
    assert last.code == 0
    assert json.loads(last.out)["runs"][0]["run"] == "a"


# ---- rankings as bytes -----------------------------------------------------------------------------------------------

NUMBERS = st.one_of(
    st.floats(allow_nan=False, width=64),
    st.decimals(-10_000, 10_000, places=4, allow_nan=False).map(float),
    st.integers(-(2**60), 2**60).map(float),
)
IDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)


@given(st.lists(st.tuples(IDS, NUMBERS), max_size=30))
@example([("", -0.0)])
@example([("", 0.0), ("a", float("inf"))])
@example([("a", 0.1 + 0.2), ("b", 0.1)])
def test_a_ranking_comes_back_to_the_last_bit(pairs: list[tuple[str, float]]) -> None:
    ids, scores = [doc for doc, _ in pairs], [score for _, score in pairs]
    found, numbers = unpacked(packed(ids, scores))
    assert found == ids
    assert numbers.tobytes() == np.array(scores, np.float64).tobytes()


def test_a_document_that_is_twice_in_a_ranking_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match=r"a\.run: document 'b' is there twice for query 'q'; keep one"):
        store.add_run("s", {}, [Answer("q", ["a", "b", "c", "b"], [4.0, 3.0, 2.0, 1.0])], "a.run")
    assert store.counts()["run"] == 0


@pytest.mark.parametrize("documents", [3, 30_000])
def test_a_run_is_the_same_however_many_rows_it_has(shop: Path, documents: int) -> None:
    """Those of a small run and those of a large one are read in two ways; a query without documents stays."""
    project = Project(shop)
    ids = [f"d{n:05}" for n in range(documents)]
    scores = [1.0, *map(float, range(documents, 1, -1))]  # the first has the lowest score
    with project.store(write=True) as store:
        store.add_run("s", {}, [Answer("q1", ids, scores), Answer("q2", [], [])])
    run = project.run("s")
    assert list(run.queries) == ["q1", "q2"]
    assert list(run) == [("q1", doc, score) for doc, score in zip(ids, scores, strict=True)]
    judged = {"q1": {ids[1]: 1}, "q2": {"x": 1}}
    orders: tuple[tuple[Order, float], ...] = (("score", 1.0), ("rank", 0.5))
    for by, value in orders:
        result = rankgauge.evaluate(judged, project.run("s", by=by), ["RR"], protocol=Protocol(order=by))
        assert result.to_dict()["q1"]["RR"] == value
