"""nDCG@10 of arrays against scikit-learn and torchmetrics, all in one process, in turn.

python bench/arrays_speed.py SHAPE [--rounds 5]     # prints one JSON object: seconds and answers of each tool
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypedDict

import numpy as np

from cases import Case
from measure import Outcome, Timing, say
from peers import OURS

SKLEARN, IGNORING, LOOP, TORCHMETRICS = (
    "scikit-learn",
    "scikit-learn, ignore_ties",
    "scikit-learn, a loop",
    "torchmetrics",
)
NEEDS = {SKLEARN: "sklearn", IGNORING: "sklearn", LOOP: "sklearn", TORCHMETRICS: "torchmetrics"}
SLOW = (LOOP, TORCHMETRICS)  # these are timed once
SAME = {SKLEARN: 1e-12, LOOP: 1e-12, TORCHMETRICS: 1e-6}  # ignore_ties may answer anything where there are ties
Call = Callable[[], float]


class Told(TypedDict):
    """What the process that measures prints: tool → seconds of each round, and tool → answer."""

    seconds: dict[str, list[float]]
    answers: dict[str, float]


FLOORS = {SKLEARN: 10, IGNORING: 1, TORCHMETRICS: 10}
CASES = {
    "continuous": Case("arrays", "2,000 × 200, continuous scores", "", (), FLOORS),
    "decimals": Case("arrays", "2,000 × 200, scores of two decimals", "", (), FLOORS),
    "constant": Case("arrays", "2,000 × 200, constant scores", "", (), {SKLEARN: 5, TORCHMETRICS: 10}),
    "ragged": Case("arrays", "100,000 queries of 4 to 40, 2.2 million rows", "", (), {LOOP: 50}),
}


def matrix(scores: str, quick: bool) -> dict[str, Call]:
    """A matrix of 2,000 queries with 200 candidates each."""
    random = np.random.default_rng(8)
    shape = (100 if quick else 2000, 200)
    grades, drawn = random.integers(0, 5, shape), random.random(shape)
    scored = {"continuous": drawn, "decimals": drawn.round(2), "constant": np.zeros(shape)}[scores]
    return {
        OURS: lambda: float(_arrays().ndcg(grades, scored, 10)),
        SKLEARN: lambda: float(_sklearn()(grades, scored, k=10)),
        IGNORING: lambda: float(_sklearn()(grades, scored, k=10, ignore_ties=True)),
        TORCHMETRICS: _torchmetrics(grades, scored),
    }


def ragged(quick: bool) -> dict[str, Call]:
    """Columns of 100,000 queries with group sizes, against one call of scikit-learn for each query."""
    random = np.random.default_rng(9)
    sizes = random.integers(4, 41, 1000 if quick else 100_000)
    total, ends = int(sizes.sum()), np.cumsum(sizes)
    grades, scores = random.integers(0, 5, total), random.random(total)

    def loop() -> float:
        ndcg_score = _sklearn()
        cuts = zip((ends - sizes).tolist(), ends.tolist(), strict=True)
        return float(np.mean([ndcg_score(grades[None, a:b], scores[None, a:b], k=10) for a, b in cuts]))

    return {OURS: lambda: float(_arrays().ndcg(grades, scores, 10, groups=sizes)), LOOP: loop}


def _arrays() -> Any:
    from rankgauge import arrays

    return arrays


def _sklearn() -> Any:
    from sklearn.metrics import ndcg_score

    return ndcg_score


def _torchmetrics(grades: Any, scores: Any) -> Call:
    """The whole batch at once, as its users call it; 32-bit scores would tie a few of the continuous ones."""

    def call() -> float:
        import torch
        from torchmetrics.retrieval import RetrievalNormalizedDCG

        lines = torch.arange(len(grades)).repeat_interleave(grades.shape[1])
        flat = torch.tensor(scores.ravel()), torch.tensor(grades.ravel())
        return float(RetrievalNormalizedDCG(top_k=10)(*flat, indexes=lines))

    return call


def time_in_turn(calls: dict[str, Call], rounds: int) -> Told:
    """Seconds and answer of each tool that is installed; each is called once before, the slow ones are not."""
    here = {tool: call for tool, call in calls.items() if tool == OURS or find_spec(NEEDS[tool]) is not None}
    for tool in here.keys() & NEEDS.keys():
        import_module(NEEDS[tool])
    answers = {tool: call() for tool, call in here.items() if tool not in SLOW}
    seconds: dict[str, list[float]] = {tool: [] for tool in here}
    for number in range(rounds):
        for tool, call in here.items():
            if tool in SLOW and number:
                continue
            gc.collect()
            started = time.perf_counter()
            answers[tool] = call()
            seconds[tool].append(time.perf_counter() - started)
    return Told(seconds=seconds, answers=answers)


def measure_arrays(rounds: int, timeout: float, quick: bool) -> Iterator[tuple[Case, Outcome]]:
    """Every shape, each in a process of its own; the answers must agree."""
    for shape, case in CASES.items():
        argv = [sys.executable, __file__, shape, "--rounds", str(rounds), *(["--quick"] if quick else [])]
        outcome = Outcome()
        try:
            done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=timeout * (rounds + 1))
        except subprocess.TimeoutExpired:
            outcome.problems.append(f"arrays {case.title}: no answer in time")
        else:
            if done.returncode:
                outcome.problems.append(f"arrays {case.title}: {done.stderr.strip()[-300:]}")
            else:
                _note(case, json.loads(done.stdout), outcome)
        yield case, outcome


def _note(case: Case, told: Told, outcome: Outcome) -> None:
    for tool, seconds in told["seconds"].items():
        outcome.timings[tool] = [Timing(each) for each in seconds]
        say(f"arrays {case.title} {tool}: {min(seconds):.6f} s")
    ours = told["answers"][OURS]
    for tool, within in SAME.items():
        theirs = told["answers"].get(tool, ours)
        if abs(theirs - ours) > within:
            outcome.problems.append(f"arrays {case.title}: {tool} answers {theirs}, {OURS} {ours}")


def main() -> None:
    """Time the tools on one shape and print the figures as JSON."""
    parser = argparse.ArgumentParser(description="nDCG@10 of arrays, the tools in turn.")
    parser.add_argument("shape", choices=list(CASES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small data")
    given = parser.parse_args()
    calls = ragged(given.quick) if given.shape == "ragged" else matrix(given.shape, given.quick)
    print(json.dumps(time_in_turn(calls, given.rounds)))


if __name__ == "__main__":
    main()
