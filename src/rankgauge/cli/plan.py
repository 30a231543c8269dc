"""`rankgauge plan`: how many queries an experiment needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.options import (
    complete_measures,
    measures_from_option,
    output_options,
    protocol_options,
    reading_options,
)

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.protocol import Protocol

__all__ = ["plan_queries"]


@click.command("plan")
@click.argument("files", nargs=-1, metavar="[QRELS [NAME=]RUN [NAME=]RUN...]")
@click.option("--pilot", metavar="FILE", help="Values of queries: of eval --per-query --format json, or a CSV.")
@click.option("--deviation", type=float, metavar="S", help="The standard deviation of the differences, if known.")
@click.option("-m", "--measure", help="The measure of the pilot.  [nDCG@10]", shell_complete=complete_measures)
@measures_from_option
@click.option("--difference", "differences", type=float, multiple=True, metavar="D", help="Detect it (0.02: 2 points).")
@click.option("--margin", "margins", type=float, multiple=True, metavar="M", help="Pass a gate with this margin.")
@click.option("--width", "widths", type=float, multiple=True, metavar="W", help="Have a 95 % interval this wide.")
@click.option("--queries", "numbers", type=click.IntRange(2), multiple=True, metavar="N", help="What N queries show.")
@click.option("--systems", type=click.IntRange(2), default=2, metavar="N", help="Compare so many systems.  [2]")
@click.option("--baseline", is_flag=True, help="Compare each system with one of them, not every pair.")
@click.option(
    "--expected", type=float, default=0.0, metavar="D", help="The true difference that a gate will meet.  [0]"
)
@click.option("--power", type=float, default=0.8, metavar="P", help="The chance of finding what is there.  [0.8]")
@click.option("--alpha", type=float, default=0.05, metavar="A", help="The chance of finding what is not.  [0.05]")
@click.option("--format", "format", type=click.Choice(["table", "markdown", "json"]), help="How to print.  [table]")
@output_options
@protocol_options
@reading_options
def plan_queries(
    files: tuple[str, ...],
    pilot: str | None,
    deviation: float | None,
    measure: str | None,
    protocol: Protocol,
    reading: Reading,
    format: str | None,
    output: str,
    **asked: Any,
) -> None:
    """How many queries an experiment needs, and what a set of queries can show.

    Everything rests on how much the differences between two systems vary from query to query: from a pilot (QRELS and
    two runs or more, or their values with --pilot) or given with --deviation (0.1 for close relatives, 0.2 to 0.3 for
    unlike systems). Without a size or a number of queries, a ladder of usual ones is shown. The suffix of the file says
    what to write: .svg, .png or .html is a picture with the curve; .md, .json and .txt are text.

    \b
    Examples:
      rankgauge plan --deviation 0.2 --difference 0.02
      rankgauge plan qrels.txt old.run new.run -m nDCG@10 --difference 0.02 --power 0.9
      rankgauge plan --pilot values.json --queries 200 --queries 1000
      rankgauge plan --deviation 0.15 --systems 10 --difference 0.03
      rankgauge plan --deviation 0.15 --margin 0.01 -o plan.svg
    """
    from rankgauge.cli.planning import deliver, deviation_from, planned

    found = planned(deviation_from(files, pilot, deviation, measure, protocol, reading), **asked)
    deliver(found, format, output)
