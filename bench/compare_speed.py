"""How long comparing takes, against scipy.stats.permutation_test; each piece of work in a process of its own.

python bench/compare_speed.py WORK      # one of the pieces below: prints its seconds and a digest of what it found
"""

from __future__ import annotations

import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cases import Case
from measure import CommandFailed, Outcome, Timing, run_command, say
from peers import OURS, Argv
from shapes import dataset

Floats = NDArray[np.float64]
Answer = TypeVar("Answer")
Work = Callable[[], "tuple[float, object]"]

PAIR_FLIPS, FAMILY_FLIPS = 10_000, 100_000
ONE_SAMPLE, TWO_SAMPLES = "scipy, differences", "scipy, two samples"
THREADS = ("1", "2", "4")
QUERIES, SYSTEMS, MANY_QUERIES = 1000, 50, 100_000


def values(queries: int, systems: int) -> Floats:
    """Values like those of nDCG: 0 to 1, systems alike on each query."""
    random = np.random.default_rng(50)
    return np.clip(random.random((queries, 1)) + 0.1 * random.standard_normal((queries, systems)), 0.0, 1.0)


def systems(queries: int, count: int) -> dict[str, dict[str, float]]:
    """The same as a table that rankgauge takes: system → query → value."""
    table = values(queries, count)
    return {
        f"system{at}": dict(zip(map(str, range(queries)), table[:, at].tolist(), strict=True)) for at in range(count)
    }


def timed(call: Callable[[], Answer]) -> tuple[float, Answer]:
    """The seconds of a call and what it returns."""
    started = time.perf_counter()
    answer = call()
    return time.perf_counter() - started, answer


# ---- the pieces of work ----------------------------------------------------------------------------------------------


def family() -> tuple[float, object]:
    """Many systems: every pair of them, max-T."""
    return _compared(systems(QUERIES, SYSTEMS), FAMILY_FLIPS)


def pair() -> tuple[float, object]:
    """One pair."""
    return _compared(systems(QUERIES, 2), PAIR_FLIPS)


def pair_scipy_differences() -> tuple[float, object]:
    """The same in scipy, from the differences: its quicker form."""
    from scipy.stats import permutation_test

    table = values(QUERIES, 2)
    difference = table[:, 0] - table[:, 1]

    def call() -> list[float]:
        found = permutation_test(
            (difference,), _mean, permutation_type="samples", vectorized=True, n_resamples=PAIR_FLIPS, rng=1
        )
        return [float(found.pvalue)]

    return timed(call)


def pair_scipy_two_samples() -> tuple[float, object]:
    """The same in scipy, from the two samples, as its documentation has it."""
    from scipy.stats import permutation_test

    table = values(QUERIES, 2)

    def call() -> list[float]:
        both = (table[:, 0], table[:, 1])
        found = permutation_test(
            both, _mean_difference, permutation_type="samples", vectorized=True, n_resamples=PAIR_FLIPS, rng=1
        )
        return [float(found.pvalue)]

    return timed(call)


def _mean(x: Floats, axis: int = -1) -> Floats:
    return np.asarray(x.mean(axis=axis))


def _mean_difference(x: Floats, y: Floats, axis: int = -1) -> Floats:
    return np.asarray((x - y).mean(axis=axis))


def many_queries() -> tuple[float, object]:
    """Two systems on many queries."""
    return _compared(systems(MANY_QUERIES, 2), FAMILY_FLIPS)


def _compared(table: Mapping[str, Mapping[str, float]], flips: int) -> tuple[float, object]:
    """The whole comparison of a table of values, and all that it says; a small one before it imports the modules."""
    from rankgauge import compare

    compare(None, systems(10, 2), flips=100)
    seconds, comparison = timed(lambda: compare(None, table, flips=flips))
    return seconds, comparison.to_dict()


WORKS: dict[str, Work] = {
    "family": family,
    "pair": pair,
    "pair-scipy-differences": pair_scipy_differences,
    "pair-scipy-two-samples": pair_scipy_two_samples,
    "many-queries": many_queries,
}


# ---- measuring them --------------------------------------------------------------------------------------------------

FAMILY = Case(
    "compare",
    "1,225 pairs, 100,000 flips, against one pair at 10,000",
    "",
    (),
    {ONE_SAMPLE: 0.5, TWO_SAMPLES: 0.5},
    peak_ceiling=200,
)
PAIR = Case("compare", "one pair, 10,000 flips", "", (), {ONE_SAMPLE: 40, TWO_SAMPLES: 40})
MANY = Case("compare", "100,000 queries, 2 systems, 100,000 flips", "", (), peak_ceiling=300)
FILES = Case("compare", "the command on 50 files of 1,000 queries × 10 documents", "fifty", ())
SCIPY = {ONE_SAMPLE: "pair-scipy-differences", TWO_SAMPLES: "pair-scipy-two-samples"}


def measure_compare(rounds: int, timeout: float, data: Path) -> Iterator[tuple[Case, Outcome]]:
    """Every case with what was measured; all that is found must be the same for 1, 2 and 4 threads."""
    yield FAMILY, _threads_agree(_measure(FAMILY.title, {OURS: "family", **SCIPY}, rounds, timeout), timeout)
    yield PAIR, _measure(PAIR.title, {OURS: "pair", **SCIPY}, rounds, timeout)
    yield MANY, _measure(MANY.title, {OURS: "many-queries"}, rounds, timeout)
    made = dataset(FILES.data, data)
    command = [sys.executable, "-m", "rankgauge", "compare", str(made.qrels), *map(str, made.runs), "--format", "csv"]
    outcome = Outcome()
    for _ in range(rounds):
        _note(FILES.title, OURS, outcome, lambda: run_command(command, timeout)[0])
    yield FILES, outcome


def _measure(label: str, works: Mapping[str, str], rounds: int, timeout: float) -> Outcome:
    outcome = Outcome()
    for _ in range(rounds):
        for tool, work in works.items():
            _note(label, tool, outcome, lambda work=work: _timing(work, timeout)[0])  # type: ignore[misc]
    return outcome


def _note(label: str, tool: str, outcome: Outcome, run: Callable[[], Timing]) -> None:
    try:
        timing = run()
    except CommandFailed as problem:
        outcome.problems.append(f"compare {label}: {tool}: {problem}")
        return
    say(f"compare {label} {tool}: {timing.seconds:.4f} s, {timing.peak_mb or 0:.0f} MB")
    outcome.note(tool, timing)


def _timing(work: str, timeout: float, threads: str = "1") -> tuple[Timing, str]:
    """The seconds that a piece of work says it took, the peak of its process, and the digest of what it found."""
    command: Argv = ["env", f"OPENBLAS_NUM_THREADS={threads}", sys.executable, os.path.abspath(__file__), work]
    timing, printed = run_command(command, timeout)
    seconds, digest = printed.split()
    return Timing(float(seconds), timing.peak_mb), digest


def _threads_agree(outcome: Outcome, timeout: float) -> Outcome:
    try:
        digests = {threads: _timing("family", timeout, threads)[1] for threads in THREADS}
    except CommandFailed as problem:
        outcome.problems.append(f"compare threads: {problem}")
        return outcome
    if len({*digests.values()}) > 1:
        outcome.problems.append(f"compare: answers differ between numbers of threads: {digests}")
    return outcome


def main() -> None:
    """Do one piece of work and print its seconds and the digest of what it found."""
    seconds, answer = WORKS[sys.argv[1]]()
    print(seconds, hashlib.sha256(repr(answer).encode()).hexdigest()[:16])


if __name__ == "__main__":
    main()
