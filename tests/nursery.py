"""Processes for tests that kill them: each is a fork of one that has imported everything, and there in a moment."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

CODE = """
import os, sys
{imports}
for line in sys.stdin:
    if (pid := os.fork()) == 0:
        {work}
        os._exit(0)
    print("process", pid, flush=True)
    print("ended", os.waitpid(pid, 0)[1], flush=True)
"""


class Nursery:
    """Starts one process after another, all of which do the same with the `line` that they are given.

    A number that one writes is what it acknowledges.
    """

    def __init__(self, imports: str, work: str) -> None:
        code = CODE.format(imports=imports.strip(), work=work.strip().replace("\n", "\n        "))
        line = [sys.executable, "-c", code]
        self.process = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(self, line: str = "") -> int:
        """The id of a process that is at work."""
        assert self.process.stdin is not None
        print(line, file=self.process.stdin, flush=True)
        return int(self._line().split()[1])

    def wait(self) -> tuple[int, int]:
        """How the process ended, and how much it had acknowledged."""
        *said, ended = self.said()
        return int(ended), int(said[-1]) if said else 0

    def said(self) -> Iterator[str]:
        """Every line that the process writes and, when it has ended, how."""
        while "ended" not in (line := self._line()):  # what it was killed in the middle of stands before it
            yield line.strip()
        yield line.rpartition("ended")[2].strip()

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()
