"""Asks the process of peer_worker.py, and starts it again after it hung or died."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from samples import Nested

WORKER = Path(__file__).with_name("peer_worker.py")
SECONDS = 120


class Peers:
    """pytrec_eval and ir_measures, each question within a time."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def ask(
        self, judgments: Nested, run: Nested, pytrec_eval: list[str], ir_measures: list[str], level: int = 1
    ) -> dict[str, Any]:
        """Both peers' value of every query and measure, and ir_measures' means."""
        request = {"judgments": judgments, "run": run, "level": level,
                   "pytrec_eval": pytrec_eval, "ir_measures": ir_measures}  # fmt: skip
        if self.process is None or self.process.poll() is not None:
            self.stop()
            command = [sys.executable, str(WORKER)]
            self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        clock = threading.Timer(SECONDS, self.process.kill)
        clock.start()
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        clock.cancel()
        assert line, f"the peers gave no answer within {SECONDS} s or crashed on {request}"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
