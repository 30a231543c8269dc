"""`rankgauge bench`: systems over a suite of data sets."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.options import FILE, command, protocol_options, shared
from rankgauge.cli.output import deliver, output_options

if TYPE_CHECKING:
    from rankgauge.cli.output import Output

__all__ = ["bench_suite"]


@command(
    "bench",
    usual=("measures", "baseline", "datasets", "systems", "jobs", "output", "format"),
    needs={"deltas": "baseline"},
    excludes=[("cache", "no_cache")],
)
@click.argument("suite", type=FILE)
@shared(
    measures="A measure; repeat for more.  [the suite's, or nDCG@10 and R@100]",
    baseline="Daggers and differences against this system.  [letters, all pairs]",
)
@shared("measures_from")
@click.option("--dataset", "datasets", multiple=True, metavar="NAME", help="Only this data set; repeat for more.")
@click.option("--system", "systems", multiple=True, metavar="NAME", help="Only this system; repeat for more.")
@click.option("--split", default="test", metavar="NAME", help="Which judgments of a folder: qrels/NAME.tsv.  [test]")
@shared("alpha", flips={"default": 10_000, "help": "Random sign flips.  [10000]"})
@click.option("--resamples", type=click.IntRange(1), default=2_000, help="Bootstrap resamples for ranks.  [2000]")
@shared("seed")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Runs measured at once.  [the processors, up to 4]")
@click.option("--cache", metavar="DIR", help="Where to keep what is done.  [.rankgauge-cache beside the suite]")
@click.option("--no-cache", is_flag=True, help="Measure everything, keep nothing.")
@shared("memory", "deltas")
@output_options()
@protocol_options
def bench_suite(
    suite: str,
    deltas: str,
    output: Output,
    cache: str | None,
    no_cache: bool,
    **asked: Any,
) -> None:
    """Make a leaderboard over many data sets: macro-averages, ranks with intervals, significance groups.

    SUITE is a folder with a folder per data set (NAME/qrels/test.tsv and NAME/runs/SYSTEM.run), or a suite.toml. A
    system without a run for a data set gets no macro-average. Results are cached.

    \b
    Examples:
      rankgauge bench beir/
      rankgauge bench beir/ --baseline bm25 -m nDCG@10 -o table.tex
      rankgauge bench suite.toml --dataset dl19 --dataset covid --format json
      rankgauge bench suite.toml -o leaderboard.html
    """
    from rankgauge.comparison.leaderboard.leaderboard import bench

    with _progress() as watch:
        leaderboard = bench(suite, cache=False if no_cache else cache or True, watch=watch, **asked)
    deliver(leaderboard, output, deltas=deltas)


@contextmanager
def _progress() -> Iterator[Callable[[int, int, str], None] | None]:
    """A line that says how far it is and how long it may take: on standard error, and only on a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    began = time.monotonic()

    def watch(done: int, total: int, what: str) -> None:
        left = (time.monotonic() - began) / done * (total - done)
        sys.stderr.write(f"\r\x1b[K{done:,} of {total:,}, {_duration(left)} left  {what}"[: 7 + _width()])
        sys.stderr.flush()

    try:
        yield watch
    finally:
        sys.stderr.write("\r\x1b[K")


def _duration(seconds: float) -> str:
    """Roughly how long something takes: 40 s, 3 min, 2.5 h."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.{1 if unit == 'h' else 0}f} {unit}"
    return f"{seconds:.0f} s"


def _width() -> int:
    import shutil

    return max(20, shutil.get_terminal_size().columns - 1)
