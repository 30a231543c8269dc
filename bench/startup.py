"""Start-up: how long --help takes, and that importing the package stays light."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

from measure import Outcome, interleave
from peers import OURS, Tool

HEAVY = ("scipy", "pandas", "polars")
TOOLS = (OURS, "ir_measures")


def measure_help(tools: Mapping[str, Tool], rounds: int, timeout: float) -> Outcome:
    """Time ``--help`` of the command-line tools, in turn."""
    commands = {name: [tools[name].help_command()] for name in TOOLS if name in tools}
    return interleave("--help", commands, rounds, timeout, answers_expected=False)


def import_problems(python: str = sys.executable) -> list[str]:
    """A line for every heavy module that ``import rankgauge`` pulls in."""
    code = f"import sys, {OURS}; print(*(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        return [f"import {OURS}: {done.stderr.strip()[-300:]}"]
    return [f"import {OURS} imports {name}" for name in done.stdout.split()]
