"""`rankgauge compare`: which differences between systems are real."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.eval import emit, format_for, is_terminal
from rankgauge.cli.options import (
    FILE,
    complete_measures,
    measures_from_option,
    output_options,
    protocol_options,
    reading_options,
)
from rankgauge.show.marks import DELTAS
from rankgauge.stats.methods import ALSO, METHODS

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.comparison.compare import Comparison
    from rankgauge.protocol import Protocol

__all__ = ["compare_runs"]

FORMATS = ("table", "json", "csv", "markdown", "latex")


def _labelled(table: dict[str, str]) -> str:
    return "; ".join(f"{name}: {controls}" for name, controls in table.items())


@click.command("compare")
@click.argument("files", nargs=-1, type=FILE, metavar="[QRELS [NAME=]RUN [NAME=]RUN...]")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    help="A measure; repeat for more.  [nDCG@10]",
    shell_complete=complete_measures,
)
@measures_from_option
@click.option("--baseline", metavar="NAME", help="Compare each system with this one only.  [every pair]")
@click.option(
    "--values", multiple=True, metavar="FILE", help="Values of queries × systems instead of runs; repeatable."
)
@click.option("--margin", type=float, metavar="M", help="Test equivalence within ± M (TOST).")
@click.option("--rope", type=float, metavar="R", help="The probability that systems differ by less than R.")
@click.option("--method", type=click.Choice(list(METHODS)), default="maxt", help=f"{_labelled(METHODS)}.  [maxt]")
@click.option("--also", multiple=True, type=click.Choice(list(ALSO)), help=f"Beside the decision: {_labelled(ALSO)}.")
@click.option("--alpha", type=float, default=0.05, help="The level of decisions and intervals.  [0.05]")
@click.option("--flips", type=click.IntRange(1), default=100_000, help="Random sign flips.  [100000]")
@click.option("--seed", type=click.IntRange(0), default=0, help="The seed of random flips and resamples.  [0]")
@click.option("--dialect", metavar="NAME", help="Compare what another tool says; 'rankgauge dialects' lists them.")
@click.option("--by", metavar="FILE", help="Groups of queries: a table with a query and a group column.")
@click.option("--weights", metavar="FILE", help="Weights of queries: a table with a query and a weight column.")
@click.option("--clusters", metavar="FILE", help="Queries that belong together: a query and a cluster column.")
@click.option("--every-pair", is_flag=True, help="All pairs in the table, however many.")
@click.option("--details", is_flag=True, help="Effect sizes and more for every pair, however many.")
@click.option("--format", "format", type=click.Choice(FORMATS), help="How to print.  [by -o's suffix, or table]")
@click.option("--decimals", "--digits", "digits", type=click.IntRange(0, 17), default=4, help="Decimals.  [4]")
@click.option(
    "--deltas", type=click.Choice(list(DELTAS)), default="absolute", help=f"With --baseline: {_labelled(DELTAS)}."
)
@output_options
@protocol_options
@reading_options
def compare_runs(
    files: tuple[str, ...],
    measures: tuple[str, ...],
    values: tuple[str, ...],
    format: str | None,
    every_pair: bool,
    details: bool,
    digits: int,
    deltas: str,
    output: str,
    **asked: Any,
) -> None:
    """Compare systems on the same queries: which differences are real, how large, and what this set could detect.

    One p decides: that of the sign-flip test, adjusted over all pairs (step-down max-T). Differences are a − b in the
    order given; with --baseline, b is the baseline.

    \b
    Examples:
      rankgauge compare qrels.txt bm25.run reranked.run
      rankgauge compare qrels.txt old=a.run new=b.run third=c.run --baseline old -m nDCG@10 -m R@100
      rankgauge compare qrels.txt runs/*.run --baseline bm25 --format latex --decimals 3 -o table.tex
      rankgauge compare qrels.txt a.run b.run --margin 0.01 --rope 0.01 --also bca --also wilcoxon
      rankgauge compare qrels.txt runs/*.run --by segments.csv --clusters users.csv --format json
      rankgauge compare --values values.csv
    """
    from rankgauge.show.formats import render
    from rankgauge.show.model import Options

    comparison = _compared(files, measures, values, **asked)
    chosen = format_for(output, format, FORMATS)
    page = comparison.page(every_pair=every_pair, details=details, deltas=deltas)
    emit(str(render(page, chosen, Options(digits, colours=output == "-" and is_terminal()))), output)


def _compared(
    files: tuple[str, ...],
    measures: tuple[str, ...],
    values: tuple[str, ...],
    *,
    protocol: Protocol,
    reading: Reading,
    dialect: str | None,
    by: str | None,
    weights: str | None,
    clusters: str | None,
    **settings: Any,
) -> Comparison:
    from rankgauge.cli.inputs import Inputs
    from rankgauge.comparison.compare import Settings, compare_results, compare_tables, refuse_rules
    from rankgauge.measures.queries import groups_of, query_table

    chosen = Settings(**settings)
    if values and len(files) > 1:
        raise click.UsageError(f"--values takes the place of runs; leave {files[1]} out")
    qrels, *runs = files or (None,)
    inputs = Inputs(reading, qrels, runs, tables=[*values, by, weights, clusters])
    belonging = query_table(clusters, "cluster") if clusters else None
    if values:
        refuse_rules(protocol, dialect, "values")
        if reading.run_format or (not files and (reading.columns or reading.qrels_format)):
            raise click.UsageError("a table given by --values needs none of --run-format, --qrels-format and --column")
        judged = inputs.judgments.read() if files else None
        groups, skip = groups_of(by, None), protocol.missing == "skip"
        more: dict[str, Any] = {"groups": groups, "clusters": belonging, "skip": skip, "judgments": judged}
        return compare_tables(values, measures, chosen, weights=weights, **more)
    if len(files) < 3:
        raise click.UsageError("give the judgments and two runs or more, or --values FILE")
    evaluation = inputs.evaluate(measures or ("nDCG@10",), protocol, dialect=dialect, by=by, weights=weights)
    return compare_results(evaluation, chosen, clusters=belonging)
