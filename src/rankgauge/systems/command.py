"""A system that is a program: it reads a line of JSON a query, and writes one an answer. Started once a worker."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Sequence
from queue import Empty, SimpleQueue
from typing import IO, TYPE_CHECKING, Any

from rankgauge.errors import InputError
from rankgauge.read.rows import shortened
from rankgauge.systems.call import hits_in
from rankgauge.systems.hits import Asked, Failed, Hit
from rankgauge.systems.workers import TimedOut

if TYPE_CHECKING:
    from rankgauge.store.project import Project
    from rankgauge.systems.config import Config

__all__ = ["Command"]

TAIL = 300  # bytes of what a program said last


class Command:
    """Programs that wait for work; one that fails is ended, and the next query gets a new one."""

    batch = 1

    def __init__(self, config: Config, project: Project | None) -> None:
        given = config.table["command"]
        self.words = shlex.split(given) if isinstance(given, str) else given
        self.folder, self.limits = config.folder, config.limits
        found = shutil.which(self.words[0]) or shutil.which(self.folder.resolve() / self.words[0])
        if found is None:
            raise InputError(f"{config.where}: there is no program {self.words[0]!r}; install it, or give its path")
        self.words = [found, *self.words[1:]]
        self._idle: SimpleQueue[_Program] = SimpleQueue()
        self._all: list[_Program] = []

    def ask(self, asked: Sequence[Asked], k: int) -> Sequence[Iterable[Hit]]:
        """What the program writes about a query."""
        try:
            program = self._idle.get_nowait()
        except Empty:
            program = _Program(self.words, str(self.folder))
            self._all.append(program)
        query = asked[0]
        line = json.dumps({"query_id": query.query_id, "query": query.text, "k": k}, ensure_ascii=False)
        try:
            answer = program.answer(line, self.limits.timeout, self.limits.largest)
            hits = _hits(answer, query.query_id)
        except BaseException:
            program.end()
            raise
        self._idle.put(program)
        return [hits]

    def close(self) -> None:
        """End every program that was started."""
        for program in self._all:
            program.end()


class _Program:
    """A running program; what it says to standard error is kept, for the message where it fails."""

    def __init__(self, words: Sequence[str], folder: str) -> None:
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._reading = False
        try:
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._said, cwd=folder or None,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise Failed(f"the program cannot be started: {error.strerror or error}") from None

    def answer(self, line: str, seconds: float, largest: int) -> bytes:
        """The line that it writes when it is given one."""
        late = threading.Event()
        clock = threading.Timer(seconds, self._kill, [late])
        clock.daemon = True
        clock.start()
        given, written = self._process.stdin, self._process.stdout
        assert given is not None
        assert written is not None
        self._reading = True
        try:
            given.write(line.encode() + b"\n")
            given.flush()
            answer = written.readline(largest + 1)
        except (OSError, ValueError):
            answer = b""
        finally:
            self._reading = False
            clock.cancel()
        if late.is_set():
            raise TimedOut(f"the program wrote no answer within {seconds:g} seconds{self._last_words()}")
        if len(answer) > largest:
            raise Failed(f"the program wrote a line of more than {largest / 10**6:g} MB; allow more: largest = …")
        if not answer.endswith(b"\n"):
            half = f" in the middle of a line: {shortened(answer)}" if answer else ""
            raise Failed(f"the program ended{self._code()}{half}{self._last_words()}")
        return answer

    def end(self) -> None:
        """Stop it with all that it started; a pipe that somebody else still holds open is left to the system."""
        self._stop()
        self._process.wait()
        if self._reading:
            return
        for stream in (self._process.stdin, self._process.stdout, self._said):
            with contextlib.suppress(OSError):  # what was not written before it was stopped
                if stream is not None:
                    stream.close()

    def _kill(self, late: threading.Event) -> None:
        late.set()
        self._stop()

    def _stop(self) -> None:
        if sys.platform == "win32":
            self._process.kill()
        else:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _code(self) -> str:
        try:
            return f" (exit code {self._process.wait(1)})"
        except subprocess.TimeoutExpired:  # it lives, and has closed its output
            return " its output"

    def _last_words(self) -> str:
        size = self._said.seek(0, 2)
        self._said.seek(max(0, size - TAIL))
        said = self._said.read().decode(errors="replace").strip()
        return f"; it said {shortened(said.splitlines()[-1])}" if said else ""


def _hits(answer: bytes, query: str) -> Iterable[Hit]:
    """The hits on a line: {"query_id", "hits": [{"id", "score", …}]}."""
    try:
        item: Any = json.loads(answer)
        hits, of = item["hits"], item["query_id"]
    except (ValueError, KeyError, TypeError, RecursionError):
        expected = 'expected {"query_id": …, "hits": [{"id": …, "score": …}]}'
        raise Failed(f"the program wrote {shortened(answer)}; {expected}") from None
    if of != query:
        raise Failed(f"the program answered query {of!r} when it was asked {query!r}; write one line a query, in turn")
    if not isinstance(hits, list):
        raise Failed(f"the program wrote hits that are no list: {shortened(answer)}")
    return hits_in(hits)
