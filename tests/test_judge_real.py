"""Judging, really run: kill -9, two processes at once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

from chat_server import MODEL, STONES, ChatServer, chatting, specimen
from command import Command
from rankgauge import Project
from rankgauge.judge.pairs import Pair, write_pairs
from rankgauge.store.project import init

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
