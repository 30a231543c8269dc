"""Functions that never come back: the command ends all the same, and keeps what was answered."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import pytest

from command import Command, Outcome, real
from rankgauge.errors import InputError
from rankgauge.judge.config import judge_config
from rankgauge.store.project import Project
from rankgauge.systems.call import embed_of
from rankgauge.systems.config import config_of

QUERIES = "query_id\tquery\n" + "".join(f"q{at}\tquestion {at}\n" for at in range(6))
ENGINE = """
import ctypes, itertools, threading, time
from concurrent.futures import ThreadPoolExecutor

library = ctypes.CDLL(None)

def native(query, k):  # waits in C, and so does the process at its end, as it does for threads of BLAS
    if query == "question 2":
        library.on_exit(library.pause, None)
        library.sleep(1000)
    return [("d1", 2.0), ("d2", 1.0)]

def executor(query, k):  # Python waits at its end for the threads of a pool
    if query == "question 2":
        ThreadPoolExecutor(1).submit(time.sleep, 1000).result()
    return [("d1", 2.0), ("d2", 1.0)]

first, second, calls = threading.Lock(), threading.Lock(), itertools.count()

def deadlocks(query, *more):  # two threads at once take the locks in opposite orders
    one, other = (first, second) if next(calls) % 2 else (second, first)
    with one:
        time.sleep(0.05)
        with other:
            return [("d1", 2.0)]

def grade(query, document):
    return len(deadlocks(query))

def vector(query):
    return deadlocks(query) and [1.0, 0.5]
"""
WITHIN = 5.0  # seconds from the last time-out to the end


@pytest.fixture
def shop(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queries.tsv").write_text(QUERIES)
    (tmp_path / "hanging.py").write_text(ENGINE)
    assert command("init").code == 0
    return tmp_path


def timed(*words: str) -> tuple[Outcome, float]:
    began = time.monotonic()
    done = real(*words)
    return done, time.monotonic() - began


@pytest.mark.skipif(sys.platform != "linux", reason="on_exit is glibc's")
@pytest.mark.parametrize("function", ["native", "executor"])
def test_the_command_ends_though_a_function_never_does(shop: Path, function: str) -> None:
    """Five of six are answered and stored; a start of the command alone takes a second or two here."""
    asking = ("search", "mine", "queries.tsv", "--call", f"hanging:{function}", "--set", "timeout=1")
    done, seconds = timed(*asking)
    assert (done.code, "q2: no answer within 1 seconds" in done.err) == (4, True), done.err
    assert seconds < 1.5 + WITHIN + 3.0
    with Project(".").store() as store:
        assert [query for query, _, _ in store.rankings(1)] == ["q0", "q1", "q3", "q4", "q5"]


def test_a_function_is_called_by_one_thread(shop: Path, command: Command) -> None:
    done = command("search", "mine", "queries.tsv", "--call", "hanging:deadlocks", "--set", "timeout=5")
    assert (done.code, "with 1 worker" in done.out) == (0, True), done.err


def test_so_is_a_judge(shop: Path, command: Command) -> None:
    documents = "".join(
        f'{{"query_id": "q{at}", "doc_id": "d", "query": "q", "document": {{"text": "t"}}}}\n' for at in range(6)
    )
    Path("pairs.jsonl").write_text(documents)
    done = command("judge", "pairs.jsonl", "--judge", "me", "--set", "call=hanging:grade", "--set", "timeout=5")
    assert done.code == 0, done.err
    assert "me graded 6 of 6 pairs" in done.out


def test_threads_let_several_call_at_once(shop: Path, command: Command) -> None:
    (shop / "crowd.py").write_text(
        "import threading\nthree = threading.Barrier(3)\n"
        "def search(query, k): return [('d1', float(three.wait(20) + 1))]\n"
    )
    asking = ("search", "mine", "queries.tsv", "--call", "crowd:search", "--set", "timeout=10")
    done = command(*asking, "--set", "threads=3")
    assert (done.code, "with 3 workers" in done.out) == (0, True), done.err


def test_threads_are_of_functions(shop: Path) -> None:
    with pytest.raises(InputError, match=r"s: threads are those that call a function; write workers = 3"):
        config_of("s", {"url": "http://localhost/{query}", "threads": 3}, "s", shop)
    with pytest.raises(InputError, match=r"threads = 0; expected a whole number from 1"):
        config_of("s", {"call": "hanging:native", "threads": 0}, "s", shop)
    with pytest.raises(InputError, match=r"j: threads are those that call a function; write workers = 3"):
        judge_config("j", {"base_url": "http://localhost/v1", "model": "m", "threads": 3}, "j", shop)
    first, second = ({"call": "hanging:native"} | more for more in ({}, {"threads": 2}))
    assert config_of("s", first, "s", shop).identity == config_of("s", second, "s", shop).identity


def test_an_embedding_function_has_its_turns(shop: Path) -> None:
    """The workers of a server share it."""
    embed = embed_of(config_of("s", {"url": "http://localhost/{vector}", "embed": "hanging:vector"}, "s", shop))
    assert embed is not None
    callers = [threading.Thread(target=embed, args=("q",), daemon=True) for _ in range(4)]
    for each in callers:
        each.start()
    for each in callers:
        each.join(10)
    assert not any(each.is_alive() for each in callers)


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
@pytest.mark.parametrize("script", ["sleep 60", "setsid sleep 20 & wait"], ids=["child", "session of its own"])
def test_a_program_that_others_keep_open_ends_too(shop: Path, script: str) -> None:
    """A shell around the program: the program has the pipe when the shell is gone."""
    (shop / "engine.sh").write_text(f"#!/bin/sh\n{script}\n")
    (shop / "engine.sh").chmod(0o755)
    done, seconds = timed("search", "mine", "queries.tsv", "--set", "command=./engine.sh", "--set", "timeout=1")
    assert (done.code, "no answer within 1 seconds" in done.err) == (4, True), done.err
    assert seconds < 3.0 + WITHIN + 3.0
