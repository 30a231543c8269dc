"""The tools compared: whether each is installed, its version, and the commands that score runs with it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Argv = list[str]

HERE = Path(__file__).resolve().parent
OURS = "rankgauge"
MEASURES = ("nDCG@10", "R@100")
DISTRIBUTIONS = {  # tool -> name on the package index
    OURS: "rankgauge",
    "pytrec_eval": "pytrec-eval-terrier",
    "ir_measures": "ir_measures",
    "ranx": "ranx",
}
NAMES = (*DISTRIBUTIONS, "trec_eval")


@dataclass(frozen=True)
class Tool:
    """One installed tool."""

    name: str
    version: str
    python: str

    def commands(self, qrels: Path, runs: Sequence[Path]) -> list[Argv]:
        """The commands that score every run, to be executed one after the other."""
        if self.name == OURS:
            measures = [part for name in MEASURES for part in ("-m", name)]
            return [[self.python, "-m", "rankgauge", "eval", str(qrels), *map(str, runs), *measures]]
        build = _ONE_RUN[self.name]
        return [build(self.python, str(qrels), str(run)) for run in runs]

    def explain_command(self, qrels: Path, run: Path) -> Argv:
        """The command that explains the first query of the judgments."""
        with qrels.open() as lines:
            query = next(lines).split()[0]
        return [self.python, "-m", OURS, "explain", str(qrels), str(run), "--query", query, "-m", MEASURES[0]]

    def funnel_command(self, qrels: Path, retrieved: Path, reranked: Path) -> Argv:
        """The command that tells two stages apart."""
        runs = ["--retrieved", str(retrieved), "--reranked", f"reranked={reranked}"]
        return [self.python, "-m", OURS, "funnel", str(qrels), *runs, "-m", MEASURES[0]]

    def help_command(self) -> Argv:
        """The command that prints the tool's help."""
        return [*console_command(self.python, self.name), "--help"]


def console_command(python: str, name: str) -> Argv:
    """The command installed beside the interpreter, or the module run as one when there is none."""
    script = Path(python).parent / name
    return [str(script)] if script.exists() else [python, "-m", name]


def _pytrec_eval(python: str, qrels: str, run: str) -> Argv:
    return [python, str(HERE / "peer_pytrec_eval.py"), qrels, run]


def _ir_measures(python: str, qrels: str, run: str) -> Argv:
    return [*console_command(python, "ir_measures"), qrels, run, *MEASURES]


def _ranx(python: str, qrels: str, run: str) -> Argv:
    return [python, str(HERE / "peer_ranx.py"), qrels, run]


def _trec_eval(_python: str, qrels: str, run: str) -> Argv:
    return ["trec_eval", "-m", "ndcg_cut.10", "-m", "recall.100", qrels, run]


_ONE_RUN: dict[str, Callable[[str, str, str], Argv]] = {
    "pytrec_eval": _pytrec_eval,
    "ir_measures": _ir_measures,
    "ranx": _ranx,
    "trec_eval": _trec_eval,
}


def installed_tools(names: Sequence[str], pythons: Mapping[str, str]) -> dict[str, Tool]:
    """Those of the named tools that can be run; ``pythons`` names interpreters other than the running one."""
    found = {}
    for name in names:
        python = pythons.get(name, sys.executable)
        version = _trec_eval_version() if name == "trec_eval" else _distribution_version(python, name)
        if version is None:
            print(f"{name} is not installed: left out", file=sys.stderr)
        else:
            found[name] = Tool(name, version, python)
    return found


def _distribution_version(python: str, name: str) -> str | None:
    code = f"from importlib.metadata import version; print(version({DISTRIBUTIONS[name]!r}))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def _trec_eval_version() -> str | None:
    if shutil.which("trec_eval") is None:
        return None
    done = subprocess.run(["trec_eval", "--version"], capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().removeprefix("trec_eval version ") or "unknown"
