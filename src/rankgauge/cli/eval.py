"""`rankgauge eval`: measure runs against judgments."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.options import FILE, LTR_HINTS, LTR_NEEDS, command, protocol_options, reading_options, shared
from rankgauge.cli.output import deliver, output_options, write_text
from rankgauge.errors import warn
from rankgauge.protocol import Protocol

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.cli.output import Output

__all__ = ["evaluate_runs"]

LOCAL = (
    "ltr",
    "sample",
    "population",
    "save",
    "keep_going",
    "jobs",
    "qrels_format",
    "run_format",
)  # what is not for Spark


@command(
    "eval",
    usual=("measures", "per_query", "by", "sample", "dialect", "save", "ltr", "predictions", "output", "format"),
    needs={**LTR_NEEDS, "master": "engine"},
    excludes=[("save", "weights"), ("save", "ltr"), ("weights", "sample"), *(("engine", each) for each in LOCAL)],
    renamed={"--scores": "--predictions"},
    hints=LTR_HINTS,
)
@click.argument("qrels", type=FILE, required=False, metavar="QRELS")
@click.argument("runs", nargs=-1, type=FILE, metavar="[NAME=]RUN...")
@shared("measures", "measures_from", "per_query", "dialect", "by", "weights", "sample")
@shared("population", "keep_going", "memory", "jobs")
@click.option("--tie-band", is_flag=True, help="Lowest, expected and highest value over orders of equal scores.")
@click.option("--engine", type=click.Choice(["spark"]), help="Have Spark read the runs, and measure where they lie.")
@click.option("--master", metavar="URL", help="Where Spark runs: local[4], spark://…, yarn, sc://….  [local[*]]")
@click.option("--save", is_flag=True, help="Keep the values in the project's store, for history.")
@output_options(own=("trec",))
@protocol_options
@partial(reading_options, rows=True)
def evaluate_runs(
    qrels: str | None,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    protocol: Protocol,
    reading: Reading,
    per_query: bool,
    tie_band: bool,
    dialect: str | None,
    by: str | None,
    weights: str | None,
    sample: str | None,
    population: str | None,
    keep_going: bool,
    memory: str | None,
    jobs: int | None,
    engine: str | None,
    master: str | None,
    save: bool,
    output: Output,
) -> None:
    """Measure runs against judgments.

    QRELS and RUN may be TREC files, CSV or TSV, BEIR's qrels, JSON, JSON lines, saved responses of search engines,
    Parquet or Arrow, also compressed (.gz .bz2 .xz .zst); - is standard input.

    \b
    Examples:
      rankgauge eval qrels.txt run.txt
      rankgauge eval qrels.txt bm25.run reranked.run -m nDCG@10 -m R@100
      rankgauge eval qrels.txt run.txt -m "nDCG(gain=exp)@10" -m "P(rel=2)@5"
      rankgauge eval qrels.txt run.txt --per-query -o values.csv
      rankgauge eval qrels.tsv run.json --by segments.csv --ties average
      zcat run.gz | rankgauge eval qrels.txt - --format json
      rankgauge eval @labels @bm25 --save
      rankgauge eval qrels.parquet s3a://runs/today --engine spark --master yarn
      rankgauge eval --ltr rank.test --predictions pred.txt --dialect lightgbm
    """
    from rankgauge.cli.inputs import Inputs, project

    inputs = Inputs(reading, qrels, runs, tables=[by, weights, sample])
    wanted = measures or ("nDCG@10",)
    if engine is not None:
        about: dict[str, Any] = {"protocol": protocol, "dialect": dialect, "by": by, "weights": weights}
        evaluation = inputs.evaluate_in_spark(wanted, master or "local[*]", **about)
    else:
        about = {"by": by, "weights": weights, "keep_going": keep_going, "memory": memory, "jobs": jobs}
        about |= inputs.sample(sample, weights, population=population)
        evaluation = inputs.evaluate(wanted, protocol, dialect=dialect, **about)
    if save:
        project().save(evaluation)
    if output.format == "trec":
        from rankgauge.dialects.trec_eval import trec_lines

        write_text(output.path, trec_lines(evaluation, per_query=per_query))
        return
    for message in () if output.has_notes or tie_band else evaluation.warnings:
        warn(message)
    deliver(evaluation.tie_bands if tie_band else evaluation, output, per_query=per_query)
