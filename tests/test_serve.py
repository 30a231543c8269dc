"""`rankgauge serve` as a command: what it refuses, what it prints, and that it leaves nothing behind."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from command import COMMAND, Command
from web import made, write

JUDGMENTS, RUNS = made(6, 2)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    qrels, runs = write(tmp_path, JUDGMENTS, RUNS)
    return [str(qrels), *map(str, runs)]


@pytest.mark.parametrize("host", ["0.0.0.0", "192.168.1.2", "::", "example.com"])
def test_any_other_address_than_this_machines_is_refused_saying_why(
    command: Command, files: list[str], host: str
) -> None:
    outcome = command("serve", *files, "--host", host)
    assert outcome.code == 2
    assert f"--host {host}: files have no users and no passwords" in outcome.err
    assert "ssh -L" in outcome.err


def test_a_port_in_use_is_refused_where_it_was_asked_for(command: Command, files: list[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        outcome = command("serve", *files, "--port", str(port))
    assert outcome.code == 2
    assert f"port {port} cannot be used (Address already in use); give another with --port" in outcome.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["qrels.txt", "missing.run"], "missing.run: there is no such file"),
        (["nothing.txt", "s0.run"], "nothing.txt: there is no such file"),
        (["qrels.txt"], "give a run, too"),
        (["qrels.txt", "s0.run", "-m", "ndgc@10"], "unknown measure 'ndgc@10'; did you mean 'nDCG@10'?"),
        (["qrels.txt", "s0.run", "--queries", "q.tsv"], "q.tsv"),
        (["qrels.txt", "s0.run", "--port", "70000"], "--port"),
    ],
)
def test_a_mistake_is_said_before_anything_listens(
    command: Command, files: list[str], words: list[str], said: str
) -> None:
    outcome = command("serve", *words, cwd=Path(files[0]).parent)
    assert (outcome.code, said in outcome.err) == (2, True), outcome.err


def started(files: list[str], *more: str) -> tuple[subprocess.Popen[str], str, str]:
    line = [*COMMAND, "serve", *files, "--cache", str(Path(files[0]).parent / "cache"), *more]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    ((base, key),) = re.findall(r"(http://\S+)/\?key=(\S+)", process.stdout.readline())
    return process, base, key


def answered(base: str, key: str, path: str = "/index.json") -> Any:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        told = httpx2.get(f"{base}{path}", headers={"authorization": f"Bearer {key}"}, timeout=120).json()
        if "pending" not in told:
            return told
        time.sleep(0.05)
    raise AssertionError(told)


def children(pid: int) -> list[int]:
    done = subprocess.run(["ps", "--ppid", str(pid), "-o", "pid="], capture_output=True, text=True)
    return [int(each) for each in done.stdout.split()]


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as stream:
        return stream.read().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at processes as Linux has them")
@pytest.mark.parametrize(("sign", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGKILL, -9)])
def test_it_stops_and_takes_its_worker_along(files: list[str], sign: signal.Signals, code: int) -> None:
    process, base, key = started(files)
    assert answered(base, key)["systems"][0]["decision"]
    workers = children(process.pid)
    assert workers
    process.send_signal(sign)
    errors = process.communicate(timeout=120)[1]
    assert (process.returncode, "Traceback" in errors) == (code, False), errors
    end = time.monotonic() + 60
    while any(map(is_there, workers)) and time.monotonic() < end:
        time.sleep(0.05)
    assert [pid for pid in workers if is_there(pid)] == []


def test_it_listens_before_it_has_read_and_writes_nothing_but_its_cache(files: list[str], tmp_path: Path) -> None:
    inputs = {path: Path(path).read_bytes() for path in files}
    process, base, key = started(files)
    try:
        first = httpx2.get(f"{base}/", headers={"authorization": f"Bearer {key}"}, timeout=120)
        assert first.status_code == 200
        answered(base, key)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
    assert {path: Path(path).read_bytes() for path in files} == inputs
    assert {path.name for path in tmp_path.iterdir()} == {*(Path(path).name for path in files), "cache"}
    assert not [path for path in (tmp_path / "cache").iterdir() if "partial" in path.name]


def test_where_the_usual_port_is_taken_the_next_is_used(files: list[str]) -> None:
    one, base, _ = started(files)
    other, second, _ = started(files)
    try:
        assert base != second
    finally:
        for process in (one, other):
            process.terminate()
            process.communicate(timeout=120)
