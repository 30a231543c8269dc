"""Several runs at once in processes: values, notes, warnings and errors are those without, in the same order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import pytest

import rankgauge
from command import Command
from rankgauge import jobs as in_processes
from rankgauge.errors import RankgaugeError
from rankgauge.read import RunSource
from test_stream import WRITTEN, exact, made

MEASURES = ["nDCG@10", "AP", "RR", "P@5"]


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """Judgments, and runs with ties, scattered, of several formats."""
    (tmp_path / "qrels.txt").write_text(made(50)[0])
    for name in ("a.txt", "b.csv", "c.parquet"):
        rows = made(50, scattered=name == "b.csv")[1]
        (tmp_path / name).write_bytes(WRITTEN["run" + name[1:]](rows))
    return tmp_path


def outcome(suite: Path, runs: Any, jobs: int | None, **how: Any) -> Any:
    """All that is to be seen of several runs: values to the last bit, notes, warnings in their order; or the error."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = rankgauge.evaluate_runs(suite / "qrels.txt", runs, MEASURES, jobs=jobs, **how)
        except RankgaugeError as error:
            return type(error), str(error), [str(each.message) for each in said]
    values = {
        name: {str(each): [*map(exact, array.tolist())] for each, array in result.measured.items()}
        for name, result in found.items()
    }
    notes = [(result.name, result.notes, result.fingerprint) for result in found.values()]
    return values, notes, found.warnings, [(str(each.message), each.filename) for each in said]


def same(suite: Path, runs: Any, **how: Any) -> Any:
    """What is the same in one process and in several."""
    alone, several = (outcome(suite, runs, jobs, **how) for jobs in (None, 3))
    assert alone == several
    return alone


def test_the_same_as_in_one_process(suite: Path) -> None:
    (suite / "b.txt").write_bytes((suite / "a.txt").read_bytes().replace(b" tag\n", b" tag more\n", 1))
    runs = {"one": suite / "a.txt", "two": suite / "b.txt", "dict": {"lost": {"d1": 1.0}}, "three": suite / "c.parquet"}
    values, _, ties, said = same(suite, runs)
    assert list(values) == ["one", "two", "dict", "three"]
    assert len(ties) == 3
    assert ["1 line has more than 6 fields" in text for text, _ in said] == [True]
    assert said[0][1] == __file__
    same(suite, runs, dialect="ranx", memory="1K")


def test_a_run_that_cannot_be_read(suite: Path) -> None:
    (suite / "bad.txt").write_bytes((suite / "a.txt").read_bytes() + b"q1 Q0 d1 1\n")
    runs = {"one": suite / "a.txt", "bad": suite / "bad.txt", "none": suite / "none.txt", "two": suite / "b.csv"}
    _, message, _ = same(suite, runs)
    assert message.startswith(f"{suite / 'bad.txt'}:")
    values, _, _, said = same(suite, runs, keep_going=True)
    assert list(values) == ["one", "two"]
    assert [text.split(" is left out")[0] for text, _ in said if "is left out" in text] == ["bad", "none"]


def test_it_is_done_elsewhere(suite: Path, monkeypatch: Any) -> None:
    def refused(*_: Any) -> None:
        raise AssertionError("read in this process")

    runs = [suite / "a.txt", suite / "b.csv"]
    seen: list[int] = []
    sources = {str(path): RunSource(path) for path in runs}
    for source in sources.values():
        source.watch = seen.append
    monkeypatch.setattr(RunSource, "opened", refused)
    with warnings.catch_warnings(action="ignore"):
        assert len(rankgauge.evaluate_runs(suite / "qrels.txt", sources, jobs=2)) == 2
    assert seen == [path.stat().st_size for path in runs]
    for jobs in (1, None):  # and nowhere else
        with pytest.raises(AssertionError, match="in this process"):
            rankgauge.evaluate_runs(suite / "qrels.txt", runs, jobs=jobs)


def test_commands(suite: Path, command: Command, monkeypatch: Any) -> None:
    monkeypatch.chdir(suite)
    for arguments in (["eval", "qrels.txt", "a.txt", "b.csv"], ["compare", "qrels.txt", "a.txt", "c.parquet"]):
        assert command(*arguments) == command(*arguments, "--jobs", "2")


def test_a_process_that_is_killed(suite: Path, command: Command, monkeypatch: Any) -> None:
    monkeypatch.setattr(in_processes, "PROGRAM", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    told = command("eval", str(suite / "qrels.txt"), str(suite / "a.txt"), str(suite / "b.csv"), "--jobs", "2")
    reason = "the process that read it was killed (signal 9); if memory was short, give fewer --jobs or less --memory"
    assert (told.code, told.err) == (2, f"error: {suite / 'a.txt'}: {reason}\n")


WAITING = """
import os, time
from rankgauge.read.spill import parts
with parts(3):
    os.write(2, b'at work\\n')  # in one piece, whoever writes besides
    time.sleep(60)
"""
CALLER = f"""
import rankgauge, sys
from rankgauge import jobs
jobs.PROGRAM = {WAITING!r}
rankgauge.evaluate_runs(sys.argv[1], sys.argv[2:], jobs=2)
"""


def test_an_interrupt_ends_all_and_leaves_nothing(suite: Path) -> None:
    (suite / "tmp").mkdir()
    call = [sys.executable, "-c", CALLER, *(str(suite / name) for name in ("qrels.txt", "a.txt", "b.csv"))]
    room = os.environ | {"TMPDIR": str(suite / "tmp")}
    with subprocess.Popen(call, stderr=subprocess.PIPE, text=True, env=room) as process:
        assert process.stderr is not None
        assert [process.stderr.readline() for _ in range(2)] == ["at work\n"] * 2
        time.sleep(1)  # until the caller knows of the second, which may have been quicker than that
        began = time.monotonic()
        os.kill(process.pid, signal.SIGINT)
        told = process.stderr.read()  # ends when all who could write to it have ended
    assert "KeyboardInterrupt" in told
    assert time.monotonic() - began < 30
    assert not [*(suite / "tmp").iterdir()]
