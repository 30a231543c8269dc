"""Time commands in interleaved rounds, note their peak memory and compare the answers they print."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from peers import MEASURES, Argv

LAUNCHER = Path(__file__).resolve().parent / "launch.py"
TOLERANCE = 0.5e-4 + 1e-9  # four decimals agree
ALIASES = {"ndcg_cut_10": "nDCG@10", "recall_100": "R@100"}
DECIMAL = re.compile(r"[01]?\.\d+|[01]")

Answer = tuple[float, ...]


class CommandFailed(Exception):
    """A measured command ended with an error, ran out of time or printed no answer."""


@dataclass(frozen=True)
class Timing:
    """What one tool took: wall seconds and, where it ran in a process of its own, peak megabytes."""

    seconds: float
    peak_mb: float | None = None


@dataclass
class Outcome:
    """The timings of each tool, one per round, and whatever was wrong."""

    timings: dict[str, list[Timing]] = field(default_factory=dict)
    answers: dict[str, list[list[Answer]]] = field(default_factory=dict)  # tool -> round -> run
    problems: list[str] = field(default_factory=list)

    def note(self, tool: str, timing: Timing) -> None:
        """Keep what a tool took in one round."""
        self.timings.setdefault(tool, []).append(timing)


def best(timings: Sequence[Timing]) -> Timing:
    """The smallest figures of all rounds."""
    peaks = [timing.peak_mb for timing in timings if timing.peak_mb is not None]
    return Timing(min(timing.seconds for timing in timings), min(peaks) if peaks else None)


def ratios(theirs: Sequence[Timing], ours: Sequence[Timing]) -> list[float]:
    """Their seconds divided by ours, round by round; a tool that was timed once is set against every round."""
    return [their.seconds / our.seconds for their, our in _together(theirs, ours)]


def memory_ratios(ours: Sequence[Timing], theirs: Sequence[Timing]) -> list[float]:
    """Our peak divided by theirs, round by round."""
    return [our.peak_mb / their.peak_mb for our, their in _together(ours, theirs) if our.peak_mb and their.peak_mb]


def _together(one: Sequence[Timing], other: Sequence[Timing]) -> Iterable[tuple[Timing, Timing]]:
    return zip(one if len(one) > 1 else [*one] * len(other), other, strict=False)


def run_command(argv: Argv, timeout: float) -> tuple[Timing, str]:
    """Run one command: its timing and what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        launcher = [sys.executable, "-I", "-S", str(LAUNCHER), str(timeout), str(out), str(err), *argv]
        done = subprocess.run(launcher, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CommandFailed(f"cannot start {argv[0]}: {done.stderr.strip()[-300:]}")
        code, seconds, kilobytes, timed_out = done.stdout.split()
        if timed_out == "1":
            raise CommandFailed(f"no answer within {timeout:g} s")
        if code != "0":
            raise CommandFailed(f"exit code {code}: {err.read_text(errors='replace').strip()[-300:]}")
        return Timing(float(seconds), int(kilobytes) / 1024), out.read_text(errors="replace")


def run_in_turn(commands: Iterable[Argv], timeout: float) -> tuple[Timing, str]:
    """Run commands one after the other: total time, highest peak, everything printed."""
    seconds, peak, printed = 0.0, 0.0, ""
    for argv in commands:
        timing, text = run_command(argv, timeout)
        seconds += timing.seconds
        peak = max(peak, timing.peak_mb or 0.0)
        printed += text
    return Timing(seconds, peak), printed


def interleave(
    label: str, commands: Mapping[str, Sequence[Argv]], rounds: int, timeout: float, answers_expected: bool = True
) -> Outcome:
    """Measure every tool once per round, in turn; the tools' answers must agree."""
    outcome = Outcome()
    failed: set[str] = set()
    for number in range(1, rounds + 1):
        for tool in commands:
            if tool in failed:
                continue
            try:
                timing, printed = run_in_turn(commands[tool], timeout)
                if answers_expected:
                    outcome.answers.setdefault(tool, []).append(parse_answers(printed))
            except CommandFailed as problem:
                failed.add(tool)
                outcome.problems.append(f"{label}: {tool}: {problem}")
                continue
            say(f"{label} round {number}/{rounds} {tool}: {timing.seconds:.3f} s, {timing.peak_mb or 0:.0f} MB")
            outcome.note(tool, timing)
    outcome.problems += disagreements(label, outcome.answers)
    return outcome


def take_turns(
    label: str,
    script: str,
    works: Mapping[str, str],
    rounds: int,
    timeout: float,
    folder: str = "-",
    outcome: Outcome | None = None,
) -> Outcome:
    """Measure pieces of work of a script, every one in every round, in turn; they must find the same."""
    outcome = outcome or Outcome()
    for _ in range(rounds):
        found = set()
        for tool, work in works.items():
            try:
                timing, said = work_alone(script, work, timeout, folder)
            except CommandFailed as problem:
                outcome.problems.append(f"{label}: {tool}: {problem}")
                continue
            say(f"{label} {tool}: {timing.seconds:.4f} s")
            outcome.note(tool, timing)
            found.add(said)
        if len(found) > 1:
            outcome.problems.append(f"{label}: answers differ: {sorted(found)}")
    return outcome


def work_alone(script: str, work: str, timeout: float, folder: str) -> tuple[Timing, str]:
    """A piece of work in a process of its own: the seconds that it says it took, and what it found."""
    timing, printed = run_command([sys.executable, os.path.abspath(script), work, folder], timeout)
    seconds, said = printed.splitlines()[-1].split()
    return Timing(float(seconds), timing.peak_mb), said


def parse_answers(printed: str) -> list[Answer]:
    """The measures of each run, from ``name value`` lines or from a table with the measures as columns."""
    for alias, name in ALIASES.items():
        printed = printed.replace(alias, name)
    rows = [line.split() for line in printed.splitlines()]
    header = next((i for i, row in enumerate(rows) if set(MEASURES) <= set(row)), None)
    if header is None:
        columns = [[_decimals(row)[0] for row in rows if name in row and _decimals(row)] for name in MEASURES]
        answers: list[Answer] = list(zip(*columns, strict=False))
    else:
        table = itertools.takewhile(bool, rows[header + 1 :])  # notes follow after an empty line
        values = [_decimals(row) for row in table]
        answers = [tuple(row[-len(MEASURES) :]) for row in values if len(row) >= len(MEASURES)]
    if not answers:
        raise CommandFailed(f"cannot read an answer from {printed[-300:]!r}")
    return answers


def _decimals(row: Sequence[str]) -> list[float]:
    return [float(cell) for cell in row if DECIMAL.fullmatch(cell)]


def disagreements(label: str, answers: Mapping[str, Sequence[Sequence[Answer]]]) -> list[str]:
    """One line for every tool whose answers differ from those of the reference tool in the fourth decimal."""
    if not answers:
        return []
    reference_tool = "pytrec_eval" if "pytrec_eval" in answers else next(iter(answers))
    reference = sorted(answers[reference_tool][0])
    problems = []
    for tool, rounds in answers.items():
        wrong = next((given for given in rounds if not _agree(sorted(given), reference)), None)
        if wrong is not None:
            problems.append(f"{label}: {tool} answers {sorted(wrong)}, {reference_tool} answers {reference}")
    return problems


def _agree(given: Sequence[Answer], expected: Sequence[Answer]) -> bool:
    return len(given) == len(expected) and all(
        abs(ours - theirs) <= TOLERANCE
        for one, other in zip(given, expected, strict=True)
        for ours, theirs in zip(one, other, strict=True)
    )


def say(text: str) -> None:
    """Progress, on stderr."""
    print(text, file=sys.stderr, flush=True)
