"""Two checkouts of rankgauge side by side, in turn: is this tree quicker or slower than the other?

    python bench/versus.py ../rankgauge-before                 # all of it, 7 rounds
    python bench/versus.py ../rankgauge-before --only help,small --rounds 15

A ratio is the other tree's seconds divided by this tree's: above 1x, this one is quicker. Both run under the same
interpreter with the same dependencies, and only PYTHONPATH differs. Exits with 1 when a command fails.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from measure import CommandFailed, Timing, best, ratios, run_command, say
from peers import MEASURES, OURS, Argv
from report import plain_table
from shapes import DEFAULT_FOLDER, dataset

THIS, OTHER = "this", "other"
HERE = Path(__file__).resolve().parent.parent
COLUMNS = ("what", "ratio", "median", "rounds", "this s", "other s", "this MB", "other MB", "output")
REPORTED = 3  # runs in a report


@dataclass
class Duel:
    """One command under both trees: what it took in each round, and what it printed."""

    title: str
    timings: dict[str, list[Timing]] = field(default_factory=lambda: {THIS: [], OTHER: []})
    printed: dict[str, str] = field(default_factory=dict)


def commands(data: Path, scratch: Path) -> dict[str, tuple[str, Callable[[], Argv]]]:
    """Name → title and arguments of rankgauge; data sets are made when they are asked for."""
    measures = [part for name in MEASURES for part in ("-m", name)]

    def evaluation(name: str) -> Argv:
        made = dataset(name, data)
        return ["eval", str(made.qrels), str(made.run), *measures, "--format", "csv"]

    def comparison() -> Argv:
        made = dataset("fifty", data)
        return ["compare", str(made.qrels), *map(str, made.runs), "--format", "csv"]

    def report() -> Argv:
        made = dataset("fifty", data)
        return ["report", str(made.qrels), *map(str, made.runs[:REPORTED]), "-o", str(scratch / "report.html")]

    return {
        "help": ("--help", lambda: ["--help"]),
        "small": ("eval, one query of 100 documents", lambda: evaluation("tiny")),
        "M": ("eval, shape M", lambda: evaluation("M")),
        "L": ("eval, shape L", lambda: evaluation("L")),
        "compare": ("compare, 50 runs of 1,000 queries", comparison),
        "report": (f"report, {REPORTED} runs of 1,000 queries", report),
    }


def under(tree: Path, arguments: Sequence[str]) -> Argv:
    """The command that runs rankgauge as a checkout has it."""
    return ["env", f"PYTHONPATH={tree / 'src'}", sys.executable, "-m", OURS, *arguments]


def fight(title: str, arguments: Argv, trees: Mapping[str, Path], rounds: int, timeout: float) -> Duel:
    """Both trees in every round, taking turns at going first; a round before it, which warms both up, is not kept."""
    duel = Duel(title)
    for number in range(rounds + 1):
        for side in (THIS, OTHER) if number % 2 else (OTHER, THIS):
            timing, duel.printed[side] = run_command(under(trees[side], arguments), timeout)
            if number:
                duel.timings[side].append(timing)
                say(f"{title} round {number}/{rounds} {side}: {timing.seconds:.3f} s, {timing.peak_mb or 0:.0f} MB")
    return duel


def row(duel: Duel) -> list[str]:
    """The figures of one command: the ratio of the best rounds, the median and the ends of all rounds."""
    this, other = duel.timings[THIS], duel.timings[OTHER]
    each, sides = ratios(other, this), (best(this), best(other))
    return [
        duel.title,
        f"{sides[1].seconds / sides[0].seconds:.2f}x",
        f"{statistics.median(each):.2f}x",
        f"{min(each):.2f} – {max(each):.2f}x",
        *(f"{side.seconds:.3f}" for side in sides),
        *(f"{side.peak_mb or 0:.0f}" for side in sides),
        "same" if duel.printed[THIS] == duel.printed[OTHER] else "differs",
    ]


def refuse_a_wrong_tree(tree: Path) -> None:
    """Stop unless Python takes rankgauge from this checkout."""
    code = f"import {OURS}; print({OURS}.__file__)"
    command = ["env", f"PYTHONPATH={tree / 'src'}", sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout.startswith(str(tree / "src")):
        raise SystemExit(f"{tree} is no checkout of {OURS}: {done.stderr.strip()[-300:] or done.stdout.strip()}")


def parse_arguments() -> argparse.Namespace:
    """The command line."""
    names = list(commands(DEFAULT_FOLDER, DEFAULT_FOLDER))
    parser = argparse.ArgumentParser(description="Time this checkout of rankgauge against another one, in turn.")
    parser.add_argument("other", type=Path, help="the other checkout")
    parser.add_argument("--this", type=Path, default=HERE, help="this checkout, unless it is another one")
    parser.add_argument("--only", default=",".join(names), help=f"commands, of {','.join(names)}")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--timeout", type=float, default=300, help="seconds any one command may take")
    parser.add_argument("--data", type=Path, default=DEFAULT_FOLDER, help="folder of the generated data")
    arguments = parser.parse_args()
    unknown = set(arguments.only.split(",")) - set(names)
    if unknown:
        parser.error(f"--only: unknown: {', '.join(sorted(unknown))}")
    if arguments.rounds < 1:
        parser.error("--rounds: at least 1")
    return arguments


def main() -> int:
    """Run the commands asked for under both trees and print the ratios."""
    given = parse_arguments()
    trees = {THIS: given.this.resolve(), OTHER: given.other.resolve()}
    for tree in trees.values():
        refuse_a_wrong_tree(tree)
    rows, failed = [], False
    with tempfile.TemporaryDirectory() as scratch:
        for name, (title, arguments) in commands(given.data, Path(scratch)).items():
            if name not in given.only.split(","):
                continue
            try:
                rows.append(row(fight(title, arguments(), trees, given.rounds, given.timeout)))
            except CommandFailed as problem:
                failed = True
                say(f"FAILED {title}: {problem}")
    print(f"this: {trees[THIS]}\nother: {trees[OTHER]}\n")
    print(plain_table(COLUMNS, rows))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
