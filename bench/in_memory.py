"""Evaluation from dictionaries already in memory: pytrec_eval and rankgauge in one process, in turn.

    python bench/in_memory.py QRELS RUN [--rounds 5] [--repetitions 1]

Prints one JSON object: the seconds of each tool in each round, its answers, and whether polars got imported.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from measure import Outcome, Timing, disagreements, say
from peer_pytrec_eval import MEASURES as PYTREC_EVAL_MEASURES
from peer_pytrec_eval import read_qrels, read_run
from peers import MEASURES, OURS

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]
Evaluate = Callable[[Qrels, Run], object]
TOOLS = (OURS, "pytrec_eval")
# Of hashes: pytrec_eval goes through a set of names to make an evaluator, and finds what it looks for early or late. By
# the seed, one query takes it 29 to 80 µs.
SEEDS = tuple(map(str, range(8)))


def with_rankgauge(tool: str = OURS) -> tuple[Evaluate, Callable[[object], list[float]]]:
    """A call of rankgauge, means included, and how to read the means from what it returns."""
    evaluate = importlib.import_module(tool).evaluate

    def call(qrels: Qrels, run: Run) -> object:
        result = evaluate(qrels, run, list(MEASURES))
        return [result[name] for name in MEASURES]

    def means(result: object) -> list[float]:
        return [float(value) for value in result] if isinstance(result, list) else []

    return call, means


def with_pytrec_eval(tool: str = "pytrec_eval") -> tuple[Evaluate, Callable[[object], list[float]]]:
    """A call of pytrec_eval, without the means, which it leaves to its caller, and how to take them."""
    evaluator = importlib.import_module(tool).RelevanceEvaluator

    def call(qrels: Qrels, run: Run) -> object:
        values: object = evaluator(qrels, PYTREC_EVAL_MEASURES).evaluate(run)
        return values

    def means(result: object) -> list[float]:
        rows: Sequence[Mapping[str, float]] = list(result.values()) if isinstance(result, dict) else []
        return [sum(row[name] for row in rows) / len(rows) for name in ("ndcg_cut_10", "recall_100")]

    return call, means


SETUPS = {OURS: with_rankgauge, "pytrec_eval": with_pytrec_eval}


def time_in_turn(qrels: Qrels, run: Run, tools: Sequence[str], rounds: int, repetitions: int) -> dict[str, object]:
    """Seconds per call in each round and answer of each tool; garbage is collected before each is timed."""
    ready = {tool: SETUPS[tool]() for tool in tools}
    answers = {tool: means(call(qrels, run)) for tool, (call, means) in ready.items()}
    seconds: dict[str, list[float]] = {tool: [] for tool in tools}
    for _ in range(rounds):
        for tool, (call, _means) in ready.items():
            seconds[tool].append(_seconds(call, qrels, run, repetitions))
    return {"seconds": seconds, "answers": answers, "polars": "polars" in sys.modules}


def _seconds(call: Evaluate, qrels: Qrels, run: Run, repetitions: int) -> float:
    gc.collect()
    started = time.perf_counter()
    for _ in range(repetitions):
        call(qrels, run)
    return (time.perf_counter() - started) / repetitions


def measure_in_fresh_process(
    label: str, qrels: Path, run: Path, tools: Sequence[str], rounds: int, timeout: float, repetitions: int = 1
) -> Outcome:
    """Run this file on the two TREC files in a process of its own; for small calls in several, whose mean counts."""
    sizes = ["--rounds", str(rounds), "--repetitions", str(repetitions)]
    argv = [sys.executable, __file__, str(qrels), str(run), *sizes, "--tools", ",".join(tools)]
    told = []
    for seed in SEEDS if repetitions > 1 else SEEDS[:1]:
        surroundings = {**os.environ, "PYTHONHASHSEED": seed}
        limit = timeout * (rounds + 1)
        try:
            done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=limit, env=surroundings)
        except subprocess.TimeoutExpired:
            return Outcome(problems=[f"{label}: no answer in time"])
        if done.returncode:
            return Outcome(problems=[f"{label}: {done.stderr.strip()[-300:]}"])
        told.append(json.loads(done.stdout))
    by_tool = {tool: zip(*(each["seconds"][tool] for each in told), strict=True) for tool in told[0]["seconds"]}
    means = {tool: [*map(fmean, by_round)] for tool, by_round in by_tool.items()}
    return _read_outcome(label, {**told[0], "seconds": means}, repetitions)


def _read_outcome(label: str, told: dict[str, dict[str, list[float]]], repetitions: int) -> Outcome:
    outcome = Outcome()
    for tool, seconds in told["seconds"].items():
        outcome.timings[tool] = [Timing(each) for each in seconds]
        say(f"{label} {tool}: {min(seconds):.6f} s")
    answers = {tool: [[tuple(means)]] for tool, means in told["answers"].items()}
    outcome.answers.update(answers)
    outcome.problems += disagreements(label, answers)
    if repetitions > 1 and told["polars"]:
        outcome.problems.append(f"{label}: one small query imported polars")
    return outcome


def main() -> None:
    """Time both tools on the named files and print the figures as JSON."""
    parser = argparse.ArgumentParser(description="Evaluate from dictionaries, both tools in one process.")
    parser.add_argument("qrels")
    parser.add_argument("run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repetitions", type=int, default=1, help="calls per round; the time is that of one call")
    parser.add_argument("--tools", default=",".join(TOOLS))
    given = parser.parse_args()
    qrels, run = read_qrels(given.qrels), read_run(given.run)
    print(json.dumps(time_in_turn(qrels, run, given.tools.split(","), given.rounds, given.repetitions)))


if __name__ == "__main__":
    main()
