"""`rankgauge bench`: systems over a suite of data sets."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.eval import SUFFIXES, emit, is_terminal
from rankgauge.cli.options import FILE, complete_measures, measures_from_option, output_options, protocol_options
from rankgauge.errors import choices
from rankgauge.show.marks import DELTAS

if TYPE_CHECKING:
    pass

__all__ = ["bench_suite"]

FORMATS = ("table", "json", "csv", "markdown", "latex", "html")
DELTA_WORDS = "; ".join(f"{name}: {words}" for name, words in DELTAS.items())


@click.command("bench")
@click.argument("suite", type=FILE)
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    help="A measure; repeat for more.  [the suite's, or nDCG@10 and R@100]",
    shell_complete=complete_measures,
)
@measures_from_option
@click.option("--baseline", metavar="NAME", help="Daggers and differences against this system.  [letters, all pairs]")
@click.option("--dataset", "datasets", multiple=True, metavar="NAME", help="This data set alone; repeat for more.")
@click.option("--system", "systems", multiple=True, metavar="NAME", help="This system alone; repeat for more.")
@click.option("--split", default="test", metavar="NAME", help="Which judgments of a folder: qrels/NAME.tsv.  [test]")
@click.option("--alpha", type=float, default=0.05, help="The level of decisions and intervals.  [0.05]")
@click.option("--flips", type=click.IntRange(1), default=10_000, help="Random sign flips.  [10000]")
@click.option("--resamples", type=click.IntRange(1), default=2_000, help="Bootstrap resamples for ranks.  [2000]")
@click.option("--seed", type=click.IntRange(0), default=0, help="The seed of flips and resamples.  [0]")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Runs measured at once.  [the processors, up to 4]")
@click.option("--cache", metavar="DIR", help="Where to keep what is done.  [.rankgauge-cache beside the suite]")
@click.option("--no-cache", is_flag=True, help="Measure everything, keep nothing.")
@click.option("--format", "format", type=click.Choice(FORMATS), help="How to print.  [by -o's suffix, or table]")
@click.option("--decimals", "--digits", "digits", type=click.IntRange(0, 17), default=4, help="Decimals.  [4]")
@click.option("--deltas", type=click.Choice(list(DELTAS)), default="absolute", help=f"With --baseline: {DELTA_WORDS}.")
@output_options
@protocol_options
def bench_suite(
    suite: str,
    format: str | None,
    digits: int,
    deltas: str,
    output: str,
    cache: str | None,
    no_cache: bool,
    **asked: Any,
) -> None:
    """Measure systems on many data sets: macro-averages, ranks with intervals, groups that are not separable.

    SUITE is a folder with a folder per data set (NAME/qrels/test.tsv and NAME/runs/SYSTEM.run), or a suite.toml. A
    system without a run for a data set gets no macro-average. What is done and unchanged is not done again.

    \b
    Examples:
      rankgauge bench beir/
      rankgauge bench beir/ --baseline bm25 -m nDCG@10 --format latex --decimals 3 -o table.tex
      rankgauge bench suite.toml --dataset dl19 --dataset covid --format json
      rankgauge bench suite.toml -o leaderboard.html
    """
    from rankgauge.comparison.leaderboard.bench import bench
    from rankgauge.show.formats import render
    from rankgauge.show.model import Options

    chosen = format or _format_of(output)
    with _progress() as watch:
        leaderboard = bench(suite, cache=False if no_cache else cache or True, watch=watch, **asked)
    options = Options(digits, colours=output == "-" and is_terminal())
    emit(str(render(leaderboard.page(deltas=deltas), chosen, options)), output)


def _format_of(output: str) -> str:
    """The format that the suffix of a file names; none, or .txt, is a table."""
    from rankgauge.read.sources import split_suffixes

    known = {**SUFFIXES, ".html": "html", ".txt": "table", "": "table"}
    suffix = split_suffixes(output)[0]
    if suffix not in known:
        raise click.UsageError(f"-o {output}: {suffix!r} names no format; give --format {choices(FORMATS)}")
    return known[suffix]


@contextmanager
def _progress() -> Iterator[Callable[[int, int, str], None] | None]:
    """A line that says how far it is: on standard error, and only on a terminal."""
    if not sys.stderr.isatty():
        yield None
        return

    def watch(done: int, total: int, what: str) -> None:
        sys.stderr.write(f"\r\x1b[K{done:,} of {total:,}  {what}"[: 7 + _width()])
        sys.stderr.flush()

    try:
        yield watch
    finally:
        sys.stderr.write("\r\x1b[K")


def _width() -> int:
    import shutil

    return max(20, shutil.get_terminal_size().columns - 1)
