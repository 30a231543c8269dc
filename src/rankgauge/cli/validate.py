"""`rankgauge validate`: look for what is wrong in judgments and runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankgauge.cli.options import FILE, command, reading_options, shared
from rankgauge.cli.output import TEXTS, deliver, output_options

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.cli.output import Output

__all__ = ["validate"]


@command("validate")
@click.argument("qrels", type=FILE)
@click.argument("runs", nargs=-1, type=FILE, metavar="[[NAME=]RUN]...")
@shared("measures_from", measure="The measure that effects are told in.  [nDCG@10]")
@click.option("--ignore", multiple=True, metavar="CODE", help="A finding to leave out; repeat for more.")
@click.option("--strict", is_flag=True, help="Exit with 1 where there is an error or a warning.")
@output_options(TEXTS)
@reading_options
def validate(
    qrels: str,
    runs: tuple[str, ...],
    measure: str,
    ignore: tuple[str, ...],
    strict: bool,
    output: Output,
    reading: Reading,
) -> None:
    """Find mistakes in judgments and runs, and measure their effect on the score.

    \b
    Examples:
      rankgauge validate qrels.txt
      rankgauge validate qrels.txt bm25.run reranked.run
      rankgauge validate qrels.txt bm25.run --ignore RG204 --strict --format json
      rankgauge validate qrels.tsv old=runs/7.parquet new=runs/8.parquet
    """
    from rankgauge.cli.inputs import Inputs
    from rankgauge.validation.validate import validate as find

    inputs = Inputs(reading, qrels, runs)
    named = zip(runs, inputs.runs.items(), strict=True)
    names = [name if run.origin != argument else argument for argument, (name, run) in named]
    with inputs.progress():
        findings = find(inputs.judgments, *inputs.runs.values(), names=names, measure=measure, ignore=ignore)
    deliver(findings, output)
    if strict and any(finding.kind.severity != "note" for finding in findings):
        raise click.exceptions.Exit(1)
