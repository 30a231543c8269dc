"""The command line as tests call it: in this process, or in one of its own where a process matters."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest

from rankgauge import cli

__all__ = ["COMMAND", "Command", "Outcome", "Sized", "Written", "called", "on_a_terminal", "real"]

COMMAND = [sys.executable, "-m", "rankgauge"]


class Outcome(NamedTuple):
    """How the command ended, and what it wrote; bytes that are no text are surrogates."""

    code: int
    out: str
    err: str


Sized = Callable[[str | Path], Any]  # what the fixture `sized` gives: a path → that, or a source


class Command(Protocol):
    """What the fixture `command` gives: from the words after `rankgauge` to what came of them."""

    def __call__(self, *words: str | Path, stdin: str | bytes = "", cwd: Path | None = None) -> Outcome: ...


class Written(io.TextIOWrapper):
    """What the command in this process takes for standard output or standard error; not a terminal."""


def called(*words: str | Path, stdin: str | bytes = "", cwd: Path | None = None) -> Outcome:
    """The command in this process, whatever becomes of it; the fixture `command` holds that nothing broke."""
    given, out, err = io.BytesIO(_bytes(stdin)), io.BytesIO(), io.BytesIO()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(sys, "argv", ["rankgauge", *map(str, words)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(given, encoding="utf-8"))
        patch.setattr(sys, "stdout", Written(out, encoding="utf-8"))
        patch.setattr(sys, "stderr", Written(err, encoding="utf-8"))
        patch.chdir(cwd or Path.cwd())
        with pytest.raises(SystemExit) as ended:
            cli.main()
        sys.stdout.flush()
        sys.stderr.flush()
        return Outcome(int(ended.value.code or 0), _text(out.getvalue()), _text(err.getvalue()))


def real(
    *words: str | Path,
    stdin: str | bytes = "",
    stdout: int = subprocess.PIPE,
    cwd: Path | None = None,
    **environment: str | None,
) -> Outcome:
    """The real command, in a process of its own; an environment variable that is None is not there."""
    surroundings = {name: value for name, value in (os.environ | environment).items() if value is not None}
    line = [*COMMAND, *map(str, words)]
    done = subprocess.run(
        line, input=_bytes(stdin), stdout=stdout, stderr=subprocess.PIPE, cwd=cwd, env=surroundings, timeout=300
    )
    return Outcome(done.returncode, _text(done.stdout or b""), _text(done.stderr))


def on_a_terminal(*words: str, cwd: Path) -> str:
    """What the real command shows on a terminal that takes its standard error."""
    ours, theirs = os.openpty()
    subprocess.run([*COMMAND, *words], stdout=subprocess.DEVNULL, stderr=theirs, cwd=cwd, timeout=300)
    os.close(theirs)
    shown = os.read(ours, 100_000)
    os.close(ours)
    return _text(shown)


def _bytes(given: str | bytes) -> bytes:
    return given.encode() if isinstance(given, str) else given


def _text(written: bytes) -> str:
    return written.decode(errors="surrogateescape")
