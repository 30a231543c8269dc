"""`rankgauge compare`: which differences between systems are real."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.options import FILE, LTR_HINTS, LTR_NEEDS, command, protocol_options, reading_options, shared
from rankgauge.cli.output import deliver, output_options
from rankgauge.comparison.settings import ALSO, METHODS
from rankgauge.errors import InputError

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.cli.output import Output
    from rankgauge.comparison.compare import Comparison
    from rankgauge.protocol import Protocol

__all__ = ["compare_runs"]


def _labelled(table: dict[str, str]) -> str:
    return "; ".join(f"{name}: {controls}" for name, controls in table.items())


@command(
    "compare",
    usual=("measures", "baseline", "by", "sample", "values", "margin", "details", "output", "format"),
    needs={"deltas": "baseline", **LTR_NEEDS},
    excludes=[("values", "ltr"), ("weights", "sample")],
    hints=LTR_HINTS,
)
@click.argument("files", nargs=-1, type=FILE, metavar="[QRELS [NAME=]RUN [NAME=]RUN...]")
@shared("measures", "measures_from", "baseline")
@click.option(
    "--values",
    multiple=True,
    type=FILE,
    metavar="FILE",
    help="Per-query values (queries × systems) instead of runs.",
)
@click.option("--margin", type=float, metavar="M", help="Test equivalence within ± M (TOST).")
@click.option("--rope", type=float, metavar="R", help="The probability that the difference is within ± R.")
@click.option("--method", type=click.Choice(list(METHODS)), help=f"Decide by an adjusted p. {_labelled(METHODS)}.")
@click.option("--also", multiple=True, type=click.Choice(list(ALSO)), help=f"Beside the decision: {_labelled(ALSO)}.")
@shared(
    "alpha",
    "flips",
    "seed",
    "dialect",
    "by",
    "weights",
    "sample",
    "per",
    "population",
    "clusters",
    "keep_going",
    "memory",
    "jobs",
)
@click.option("--every-pair", is_flag=True, help="Show all pairs, however many.")
@click.option("--details", is_flag=True, help="Show effect sizes, other tests, power and all cautions.")
@shared("deltas")
@output_options()
@protocol_options
@partial(reading_options, rows=True)
def compare_runs(
    files: tuple[str, ...],
    measures: tuple[str, ...],
    values: tuple[str, ...],
    every_pair: bool,
    details: bool,
    deltas: str,
    output: Output,
    **asked: Any,
) -> None:
    """Compare systems on the same queries: which is better, by how much, and is the difference significant?

    The paired sign-flip test of each pair decides about it, and gives its interval. The p that is adjusted for all
    pairs (single-step max-T) stands beside it, for whoever looked at the table before choosing a pair; --method has it
    decide.

    \b
    Examples:
      rankgauge compare qrels.txt bm25.run reranked.run
      rankgauge compare qrels.txt old=a.run new=b.run -m nDCG@10 -m R@100
      rankgauge compare qrels.txt runs/*.run --baseline bm25 -o table.tex
      rankgauge compare qrels.txt a.run b.run --margin 0.01 --also wilcoxon
      rankgauge compare qrels.txt runs/*.run --by segments.csv --format json
      rankgauge compare --values values.csv
      rankgauge compare --ltr rank.test --predictions a.txt --predictions b.txt
    """
    comparison = _compared(files, measures, values, **asked)
    output = output._replace(notes=output.notes or details)
    deliver(comparison, output, every_pair=every_pair, details=details, deltas=deltas)


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
    sample: str | None,
    per: str | None,
    population: str | None,
    clusters: str | None,
    keep_going: bool,
    memory: str | None,
    jobs: int | None,
    **settings: Any,
) -> Comparison:
    from rankgauge.cli.inputs import Inputs
    from rankgauge.comparison.compare import Settings, compare_results, compare_tables, refuse_rules
    from rankgauge.measures.aggregates import groups_of, query_table

    chosen = Settings(**settings)
    if values and len(files) > 1:
        raise click.UsageError(f"--values takes the place of runs; leave {files[1]} out")
    qrels, *runs = files or (None,)
    inputs = Inputs(reading, qrels, runs, tables=[*values, by, weights, sample, clusters])
    drawn = inputs.sample(sample, weights, per, population)
    belonging = query_table(clusters, "cluster") if clusters else None
    if values:
        refuse_rules(protocol, dialect, "values")
        named = reading.columns or reading.qrels_columns
        if reading.run_format or reading.run_columns or (not files and (named or reading.qrels_format)):
            raise click.UsageError("a table given by --values needs none of --run-format, --qrels-format and --column")
        judged = inputs.judgments.read() if files else None
        groups, skip = groups_of(by, None), protocol.missing == "skip"
        more: dict[str, Any] = {"groups": groups, "clusters": belonging, "skip": skip, "judgments": judged}
        return compare_tables(values, measures, chosen, weights=weights, **more, **drawn)
    if len(inputs.runs) < 2:
        raise click.UsageError("give the judgments and two runs or more, --ltr and two --predictions, or --values FILE")
    about = {"by": by, "weights": weights, "keep_going": keep_going, "memory": memory, "jobs": jobs, **drawn}
    evaluation = inputs.evaluate(measures or ("nDCG@10",), protocol, dialect=dialect, **about)
    if len(evaluation) < 2:
        raise InputError(f"{evaluation.first.name} alone is left, and two runs are needed for a comparison")
    return compare_results(evaluation, chosen, clusters=belonging)
