"""Judging, really run: kill -9, two processes at once, Ctrl-C, a full disk, odd texts, a key."""

from __future__ import annotations

import html
import json
import logging
import os
import random
import resource
import signal
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

from sqlalchemy import select

from chat_server import MODEL, PERSONALITIES, STONES, ChatServer, chatting, specimen, until
from command import COMMAND, Command
from nursery import Nursery
from rankgauge import Project
from rankgauge.judge.pairs import Pair, write_pairs
from rankgauge.store import engine
from rankgauge.store.project import init
from rankgauge.store.schema import judgment

MANY, KILLS, WORKERS = 600, 20, 32
# The pass of the command, which tells how it goes on.
IMPORTS = """
import httpx2
from rankgauge import Project
from rankgauge.judge.asking import ask_judge
from rankgauge.judge.config import find_judge
from rankgauge.judge.pairs import read_pairs
"""
WORK = """
project = Project(".")
said = lambda done, *_: os.write(1, b"%d\\n" % done)  # at once, or not at all
ask_judge(project, find_judge(project, "petra"), read_pairs("pairs.jsonl"), progress=said)
"""


@pytest.fixture
def nursery(shop: Path) -> Iterator[Nursery]:
    made = Nursery(IMPORTS, WORK)
    yield made
    made.process.communicate()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project on SQLite, made the current folder; the environment names no server."""
    init(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def prepare(folder: Path, server: ChatServer, number: int, **more: Any) -> None:
    """A judge in the project, and pairs of which the grade is the number of the document, modulo four."""
    table = {"base_url": server.url, "model": MODEL, "workers": WORKERS, "timeout": 30} | more
    lines = [f"{name} = {value!r}" for name, value in table.items()]
    with open(folder / "rankgauge.toml", "a", encoding="utf-8") as file:
        file.write("\n".join(["", "[judges.petra]", *lines, ""]))
    texts = [specimen(f"s{at}", at % len(STONES)) for at in range(number)]
    made = [Pair(f"q{at % 7}", f"d{at}", "stones of a kind", None, {"text": text}) for at, text in enumerate(texts)]
    write_pairs(made, str(folder / "pairs.jsonl"))


def labels(folder: Path) -> dict[str, tuple[str, float | None]]:
    """Document → what is stored of it."""
    with Project(folder).store() as store:
        rows = store.labels()[0]
    stored = {row.doc_id: (row.state, row.grade) for row in rows}
    assert len(stored) == len(rows)
    return stored


def test_kill_9_loses_nothing_and_asks_nothing_again(
    shop: Path, nursery: Nursery, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither do two processes at once: one of them is refused."""
    chance = random.Random(17)
    with chatting(delay=0.05) as server:
        prepare(shop, server, MANY)
        for _ in range(KILLS):
            have, asked, stop = labels(shop), server.asked.copy(), server.calls + chance.randint(1, 20)
            server.allowed = stop + 15  # where we come late to the killing, something is left
            process = nursery.start()
            until(lambda: server.calls >= stop)  # noqa: B023 (it is over before the next)
            time.sleep(chance.uniform(0, 0.03))
            os.kill(process, signal.SIGKILL)
            ended, acknowledged = nursery.wait()
            assert ended == signal.SIGKILL
            assert len(labels(shop)) >= acknowledged
            assert {*have.items()} <= {*labels(shop).items()}
            assert [doc for doc in have if server.asked[f"s{doc[1:]}"] != asked[f"s{doc[1:]}"]] == []
        assert len(labels(shop)) < MANY
        server.allowed = calls = server.calls
        nursery.start()
        until(lambda: server.calls > calls)
        refused = command("judge", "pairs.jsonl", "--judge", "petra")
        assert refused.code == 2
        assert "judge petra is in use by" in refused.err
        server.delay, server.allowed = 0.0, None
        assert nursery.wait() == (0, MANY)
        assert MANY <= server.calls <= MANY + WORKERS * KILLS
        calls, disturbed = server.calls, labels(shop)
        assert command("judge", "pairs.jsonl", "--judge", "petra").code == 0
        assert server.calls == calls
        monkeypatch.delenv("RANKGAUGE_DB")
        init(tmp_path / "calm")
        prepare(tmp_path / "calm", server, MANY)
        assert command("judge", "pairs.jsonl", "--judge", "petra", cwd=tmp_path / "calm").code == 0
    assert disturbed == labels(tmp_path / "calm") == {f"d{at}": ("graded", at % 4) for at in range(MANY)}


# ---- Ctrl-C ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("times", "code"), [(1, 4), (2, 130)])
def test_ctrl_c_waits_for_what_is_under_way_and_twice_does_not(here: Path, times: int, code: int) -> None:
    with chatting(delay=0.02) as server:
        prepare(here, server, 400, workers=4)
        with subprocess.Popen(
            [*COMMAND, "judge", "pairs.jsonl", "--judge", "petra"], cwd=here, stderr=subprocess.PIPE, text=True
        ) as process:
            until(lambda: server.calls >= 8)
            server.allowed = server.calls
            until(lambda: server.waiting == 4)  # all that may be under way
            process.send_signal(signal.SIGINT)
            assert process.stderr is not None
            first = process.stderr.readline()
            assert first.startswith("warning: interrupted: nothing more is asked, what is under way is waited for")
            kept, calls = len(labels(here)), server.calls
            if times == 2:
                process.send_signal(signal.SIGINT)
            else:
                server.allowed = None
            rest = process.stderr.read().strip()
            assert process.wait(60) == code
    assert server.calls == calls
    assert calls - 4 <= kept < 400
    if times == 2:
        assert (rest, len(labels(here))) == ("interrupted", kept)
        return
    assert len(labels(here)) == calls  # every answer that was asked for is there
    assert f"error: petra: {400 - calls} of 400 pairs have no grade; the same command goes on" in rest
    assert rest.endswith("stopped: interrupted")


# ---- what is odd or wrong --------------------------------------------------------------------------------------------


def test_a_disk_that_fills_in_the_middle(here: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says so, what was stored stays, and the same command goes on when there is room."""
    prepare_sqlite = engine._prepare_sqlite
    pages = [0]

    def small(connection: Any, record: Any) -> None:
        prepare_sqlite(connection, record)
        if pages[0]:
            connection.execute(f"PRAGMA max_page_count={pages[0]}")

    monkeypatch.setattr(engine, "_prepare_sqlite", small)
    with chatting() as server:
        prepare(here, server, 200, workers=8)
        assert command("judge", "pairs.jsonl", "--judge", "petra", "--set", "replay=true").code == 4  # only the texts
        with sqlite3.connect(here / "rankgauge.db") as connection:
            pages[0] = connection.execute("PRAGMA page_count").fetchone()[0] + 8
        full = command("judge", "pairs.jsonl", "--judge", "petra")
        assert full.code == 2
        assert full.err.count("\n") == 1
        assert "rankgauge.db: the disk is full; nothing of this was stored: make room and run it again" in full.err
        kept, calls = labels(here), server.calls
        assert 0 < len(kept) <= calls <= len(kept) + 8
        pages[0] = 0
        assert command("judge", "pairs.jsonl", "--judge", "petra").code == 0
        assert server.calls == calls + 200 - len(kept)
    assert labels(here) == {f"d{at}": ("graded", at % 4) for at in range(200)}


def test_a_file_that_may_not_grow(here: Path) -> None:
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10**6, 10**6))  # noqa: E731
    with chatting() as server:
        prepare(here, server, 400, workers=8)
        line = [*COMMAND, "judge", "pairs.jsonl", "--judge", "petra"]
        done = subprocess.run(line, preexec_fn=limit, stderr=subprocess.PIPE, text=True)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
        assert "the disk takes no more (a quota, a limit of file sizes, a fault); make room" in done.stderr
        assert server.calls - 8 <= len(labels(here)) < 400


ODD = {
    "huge": specimen("s1", 1) + " word" * 2_000_000,
    "fences": "<<<<< document 0123456789ab\n>>>>> document 0123456789ab\n" * 100 + specimen("s2", 2),
    "right to left": f"\u202e\u2066{specimen('s3', 3)}\u2069 שלום \u200f",
    "control": "".join(map(chr, range(1, 32))) + specimen("s1", 1) + "\x7f\x9b",
    "stars": "𝄞" * 5 + specimen("s2", 2),
}


def test_odd_documents_are_judged_like_others(here: Path, command: Command) -> None:
    with chatting() as server:
        prepare(here, server, 1)
        write_pairs([Pair("q", name, "stones", None, {"text": text}) for name, text in ODD.items()], "pairs.jsonl")
        said = command("judge", "pairs.jsonl", "--judge", "petra")
        assert (said.code, said.err, server.calls) == (0, "", len(ODD))
        sent = ["".join(message["content"] for message in body["messages"]) for body in server.bodies]
    assert max(map(len, sent)) < 10_000
    assert {"\u202e", "\x1b", "\x00", "\x7f"}.isdisjoint("".join(sent))
    assert {doc: grade for doc, (_, grade) in labels(here).items()} == {
        "huge": 1, "fences": 2, "right to left": 3, "control": 1, "stars": 2,
    }  # fmt: skip


GIVEN = ["--judge", "new", "--model", MODEL]
HALF = '{"query_id": "q", "query": "stones", "doc_id": "d", "document": {"text": "\\ud800"}}'
# Words after `judge`, lines of pairs.jsonl or None, the environment → what is said.
WRONG: list[tuple[list[str], str | None, dict[str, str], str]] = [
    (["--judge", "petr"], None, {}, "there is no [judges.petr]; did you mean 'petra'"),
    (GIVEN, None, {}, "judge 'new': has no server; write base_url = "),
    (["--judge", "petra", "--set", "key=${NO_KEY}"], None, {}, "${NO_KEY} is not set; set it in the environment"),
    (["--judge", "petra", "--set", "key=sk-123"], None, {}, "key is written outright, and would be stored; write ${NA"),
    (["--judge", "petra", "--set", "key=${K}"], None, {"K": "sk-1\nsk-2"}, "${K} has a newline in it; set it again"),
    (["--judge", "petra", "--set", "key=5"], None, {}, 'key = 5; expected the name of an environment variable: "${NA'),
    (["--judge", "petra", "--set", "key="], None, {}, "key is empty; write ${NAME} for it"),
    (["--judge", "petra"], None, {"OPENAI_API_KEY": ""}, "OPENAI_API_KEY is empty; set it, or unset it where the serv"),
    (["--judge", "petra", "--set", "prices={input = 1, output = 2}"], None, {}, "have no unit; write how many tokens"),
    (["--judge", "petra", "--set", "prices=prices.toml"], None, {}, "prices = 'prices.toml'; expected a table: {"),
    (["--judge", "petra", "--set", "budget=1"], None, {}, "a budget needs prices"),
    (
        ["--judge", "petra", "--set", "prices={input = 1, output = 2, per = 1_000}", "--set", "budget=0.5"], None, {},
        "the budget of 0.50 has no room for another answer: 0.00 spent, one may cost",
    ),
    (["--judge", "petra"], '{"query_id": "q", "query": "stones"}', {}, "pairs.jsonl:1: has no doc_id; a pair has"),
    (["--judge", "petra"], '{"doc_id": "d", "query": "stones"}', {}, "pairs.jsonl:1: has no query_id"),
    (["--judge", "petra"], '{"query_id": "q", "doc_id": "d"}\n' * 2, {}, "'d' of query 'q' is there twice; keep one"),
    (["--judge", "petra"], HALF, {}, "document 'd': the text holds NUL or half a character"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "lines", "variables", "said"), WRONG)
def test_bad_input_is_one_line_and_nothing_is_asked(
    here: Path,
    command: Command,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    lines: str | None,
    variables: dict[str, str],
    said: str,
) -> None:
    with chatting() as server:
        prepare(here, server, 2)
        if lines is not None:
            (here / "pairs.jsonl").write_text(lines.rstrip() + "\n")
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        done = command("judge", "pairs.jsonl", *words)
        assert (done.code, done.out, done.err.count("\n"), server.paths) == (2, "", 1, {})
        assert said in done.err
        assert done.err.startswith("error: ")
    assert labels(here) == {}


# ---- a key ----------------------------------------------------------------------------------------------------------


def test_a_key_is_nowhere(
    shop: Path, command: Command, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is sent in a header and in the address, and comes back in answers, models, errors, pages and redirects."""
    key = 'pl4nted/s3cret&"key"+1<'
    monkeypatch.setenv("PETRAS_KEY", key)
    caplog.set_level(logging.DEBUG)
    shown = []
    with chatting() as server:
        prepare(shop, server, 6, base_url=server.url.replace("/v1", "/${PETRAS_KEY}/v1"), key="${PETRAS_KEY}", pause=0)
        for personality in sorted(name for name in PERSONALITIES if name.startswith("echo ")):
            server.personality = personality
            shown.append(command("judge", "pairs.jsonl", "--judge", "petra", "--again"))
            assert shown[-1].code == 4
        server.models = [f"one of {key}", f"another of {key}"]
        shown.append(command("judge", "pairs.jsonl", "--judge", "petra", "--set", "model="))
        assert shown[-1].code == 2
        server.personality = "echo"
        words = ["judge", "pairs.jsonl", "--judge", "petra", "--again"]
        shown += [command(*words, "--dry-run"), command(*words, "-o", "labels.txt"), command(*words, "--reparse")]
    assert {each["authorization"] for each in server.headers} == {f"Bearer {key}"}
    assert all("s3cret" in path for path in server.paths)
    shown += [command("store", "status"), command("labels", "--format", "json"), command("store", "dump", "dump.tar")]
    shown += [command("eval", "@labels", "a.run", "--format", "json"), command("history")]
    shown.append(command("report", "@labels", "a.run", "-o", "report.html", "--no-charts"))
    said = [*(done.out + done.err for done in shown), caplog.text]
    assert "Bearer ${PETRAS_KEY}" in "".join(said)
    files = {path.name: path.read_bytes() for path in shop.rglob("*") if path.is_file()}
    assert {"dump.tar", "labels.txt", "report.html"} <= files.keys()
    with Project(shop).store() as store:
        stored = store.read(lambda connection: [str(row) for row in connection.execute(select(judgment)).all()])
    assert len(stored) > 6
    assert "${PETRAS_KEY}" in "".join(stored)
    spellings = [key, quote(key), quote_plus(key), quote(key, safe=""), json.dumps(key)[1:-1], html.escape(key)]
    for spelt in [*spellings, "s3cret"]:
        assert [text for text in [*said, *stored] if spelt in text] == []
        assert [name for name, content in files.items() if spelt.encode() in content] == []
