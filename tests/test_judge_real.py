"""Judging, really run: kill -9, two processes at once, a key."""

from __future__ import annotations

import html
import json
import logging
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

from sqlalchemy import select

from chat_server import MODEL, PERSONALITIES, STONES, ChatServer, chatting, specimen
from command import Command
from rankgauge import Project
from rankgauge.judge.pairs import Pair, write_pairs
from rankgauge.store.project import init
from rankgauge.store.schema import judgment

MANY, KILLS, WORKERS = 600, 20, 32
# A process for every line that comes in, which has imported everything. It is told how the pass of the command goes on.
NURSERY = """
import os, sys
import httpx2
from rankgauge import Project
from rankgauge.judge.asking import ask_judge
from rankgauge.judge.config import find_judge
from rankgauge.judge.pairs import read_pairs
for _ in sys.stdin:
    if (pid := os.fork()) == 0:
        project = Project(".")
        said = lambda done, *_: print(done, flush=True)
        ask_judge(project, find_judge(project, "petra"), read_pairs("pairs.jsonl"), progress=said)
        os._exit(0)
    print("process", pid, flush=True)
    print("ended", os.waitpid(pid, 0)[1], flush=True)
"""


class Nursery:
    """Starts one judging process after another, each in a moment."""

    def __init__(self) -> None:
        line = [sys.executable, "-c", NURSERY]
        self.process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(self) -> int:
        """The id of a process that judges."""
        assert self.process.stdin is not None
        print(file=self.process.stdin, flush=True)
        return int(self._line().split()[1])

    def wait(self) -> tuple[int, int]:
        """How the process ended, and how many outcomes it had acknowledged."""
        acknowledged = 0
        while not (line := self._line()).startswith("ended"):
            acknowledged = int(line)
        return int(line.split()[1]), acknowledged

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()


@pytest.fixture
def nursery(shop: Path) -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.process.communicate()


def until(reached: Callable[[], bool]) -> None:
    """Wait for what comes soon."""
    deadline = time.monotonic() + 30
    while not reached() and time.monotonic() < deadline:
        time.sleep(0.002)
    assert reached()


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
    with chatting(delay=0.02) as server:
        prepare(shop, server, MANY)
        for _ in range(KILLS):
            have, asked, stop = labels(shop), server.asked.copy(), server.calls + chance.randint(1, 50)
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
        server.delay, calls = 0.3, server.calls
        nursery.start()
        until(lambda: server.calls > calls)
        refused = command("judge", "pairs.jsonl", "--judge", "petra")
        assert refused.code == 2
        assert "judge petra is in use by" in refused.err
        server.delay = 0.0
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
