"""`rankgauge dialects`: what other tools say of the same files, and which convention gives a number."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from rankgauge.cli.options import FILE, command, reading_options, shared
from rankgauge.cli.output import TEXTS, deliver, output_options

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.cli.output import Output
    from rankgauge.dialects import Dialect
    from rankgauge.dialects.answers import Conventions
    from rankgauge.dialects.reproduce import Files
    from rankgauge.measures import Measure

__all__ = ["dialects"]


@command("dialects", needs={"told": "qrels"}, hints={"qrels": "--match looks for a number that files give"})
@click.argument("qrels", required=False, type=FILE)
@click.argument("run", required=False, type=FILE)
@shared("measure", "measures_from")
@click.option("--only", metavar="NAME,…", help="Only these dialects; with --match, nothing else.")
@click.option("--match", "told", metavar="NUMBER", help="Which convention gives this number? 0.6885, or 68.9%.")
@output_options(TEXTS)
@reading_options
def dialects(
    qrels: str | None,
    run: str | None,
    measure: str,
    only: str | None,
    told: str | None,
    output: Output,
    reading: Reading,
) -> None:
    """The score that other tools report for the same files, and why; or the convention behind a number.

    Without files, the tools are listed.

    \b
    Examples:
      rankgauge dialects
      rankgauge dialects qrels.txt run.txt -m nDCG@10
      rankgauge dialects qrels.txt run.txt -m nDCG@10 --only sklearn,xgboost
      rankgauge dialects qrels.txt run.txt -m nDCG@10 --match 0.6885
    """
    from rankgauge.cli.inputs import Inputs
    from rankgauge.dialects.answers import DialectList, DialectValues
    from rankgauge.dialects.reproduce import Files, compare
    from rankgauge.measures import as_written

    chosen = _chosen(only)
    if qrels is None:
        deliver(DialectList(chosen), output)
        return
    if run is None:
        raise click.UsageError("Missing argument 'RUN': judgments without a run.")
    inputs, parsed = Inputs(reading, qrels, [run]), as_written(measure)
    inputs.warn_of_labels()
    inputs.warn_of_plain_means()
    (source,) = inputs.runs.values()
    files = Files(inputs.judgments.read(), source.kept())
    if told is not None:
        deliver(_conventions(files, parsed, told, chosen if only else None), output)
    else:
        deliver(DialectValues(compare(files, parsed, chosen)), output, seen=0.5 * 10.0**-output.digits)


def _chosen(only: str | None) -> list[Dialect]:
    from rankgauge.dialects import DIALECTS, find_dialect

    return [find_dialect(name.strip()) for name in only.split(",")] if only else list(DIALECTS.values())


def _conventions(files: Files, measure: Measure, number: str, only: list[Dialect] | None) -> Conventions:
    """The conventions that give the number."""
    from rankgauge.dialects.answers import Conventions
    from rankgauge.dialects.reproduce import Told, search

    told = Told(number)
    if sys.stderr.isatty() and only is None:
        click.echo("trying every dialect, and every one and two changed rules …", err=True)
    return Conventions(measure, told.text, search(files, measure, told, only), some=only is not None)
