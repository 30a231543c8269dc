"""`rankgauge plan`: how many queries an experiment needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.options import FILE, command, protocol_options, reading_options, shared
from rankgauge.cli.output import deliver, output_options

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.cli.output import Output
    from rankgauge.comparison.plan import Deviation
    from rankgauge.comparison.values import Values
    from rankgauge.protocol import Protocol
    from rankgauge.result import Evaluation

__all__ = ["plan_queries"]

DEFAULT = "nDCG@10"


@command(
    "plan",
    usual=("pilot", "deviation", "measure", "differences", "margins", "query_counts", "systems", "power", "output"),
    requires=[("deviation", "pilot", "files")],
    excludes=[("deviation", "pilot", "files")],
    renamed={"--width": "--interval-width", "--queries": "--query-count", "--baseline": "--with-baseline"},
)
@click.argument("files", nargs=-1, type=FILE, metavar="[QRELS [NAME=]RUN [NAME=]RUN...]")
@click.option("--pilot", type=FILE, metavar="FILE", help="Per-query values: what eval --per-query saved, or a CSV.")
@click.option("--deviation", type=float, metavar="S", help="The standard deviation of per-query differences.")
@shared("measures_from", measure={"default": None, "help": "The measure of the pilot.  [nDCG@10]"})
@click.option(
    "--difference",
    "differences",
    type=float,
    multiple=True,
    metavar="D",
    help="The difference to detect (0.02 is 2 points).",
)
@click.option("--margin", "margins", type=float, multiple=True, metavar="M", help="The margin of a gate to pass.")
@click.option(
    "--interval-width", "interval_widths", type=float, multiple=True, metavar="W",
    help="The width of the 95 % interval to reach.",
)  # fmt: skip
@click.option(
    "--query-count", "query_counts", type=click.IntRange(2), multiple=True, metavar="N", help="The MDE of N queries."
)
@click.option(
    "--systems", type=click.IntRange(2), default=2, metavar="N", help="The number of systems to compare.  [2]"
)
@click.option("--with-baseline", is_flag=True, help="Compare each system with one baseline, not every pair.")
@click.option("--expected", type=float, default=0.0, metavar="D", help="The true difference at the gate.  [0]")
@click.option(
    "--power", type=float, default=0.8, metavar="P", help="Power: the chance of detecting a true difference.  [0.8]"
)
@shared(alpha="Significance level (false-positive rate).  [0.05]")
@output_options()
@protocol_options
@reading_options
def plan_queries(
    output: Output,
    files: tuple[str, ...],
    pilot: str | None,
    deviation: float | None,
    measure: str | None,
    protocol: Protocol,
    reading: Reading,
    differences: tuple[float, ...],
    margins: tuple[float, ...],
    interval_widths: tuple[float, ...],
    query_counts: tuple[int, ...],
    **setting: Any,
) -> None:
    """How many queries to judge, and the minimum detectable effect (MDE) of a set of queries.

    The answer depends on how much per-query differences vary: estimated from a pilot (QRELS and two runs, or --pilot),
    or given as --deviation (0.1 for similar systems, 0.2 to 0.3 for different ones).

    \b
    Examples:
      rankgauge plan --deviation 0.2 --difference 0.02
      rankgauge plan qrels.txt old.run new.run --difference 0.02 --power 0.9
      rankgauge plan --pilot values.json --query-count 200 --query-count 1000
      rankgauge plan --deviation 0.15 --systems 10 --difference 0.03
      rankgauge plan --deviation 0.15 --margin 0.01 -o plan.svg
    """
    from rankgauge.comparison.plan import plan

    planned = plan(
        _deviation(files, pilot, deviation, measure, protocol, reading), differences=differences, margins=margins,
        interval_widths=interval_widths, query_counts=query_counts, **setting,
    )  # fmt: skip
    deliver(planned, output)


def _deviation(
    files: tuple[str, ...],
    pilot: str | None,
    deviation: float | None,
    measure: str | None,
    protocol: Protocol,
    reading: Reading,
) -> Deviation | Evaluation:
    """The deviation that was given, or the pilot."""
    from rankgauge.cli.inputs import Inputs
    from rankgauge.comparison.plan import Deviation, deviation_of

    if deviation is not None:
        return Deviation(deviation)
    if pilot is not None:
        return deviation_of(_pilot_values(pilot, measure, skip=protocol.missing == "skip"))
    if len(files) < 3:
        raise click.UsageError("a pilot is QRELS and two runs or more: how differences vary takes two systems")
    qrels, *runs = files
    return Inputs(reading, qrels, runs).evaluate([measure or DEFAULT], protocol)


def _pilot_values(pilot: str, measure: str | None, *, skip: bool) -> Values:
    """Values of queries, from what `eval` saved or from a table."""
    from rankgauge.comparison.value_tables import values_of_tables
    from rankgauge.errors import InputError
    from rankgauge.measures import parse

    values = values_of_tables([pilot], [str(parse(measure))] if measure else None, skip=skip)
    if len(values) > 1 and DEFAULT not in values:
        raise InputError(f"{pilot} has {', '.join(values)}; say which with -m")
    return values.get(DEFAULT) or next(iter(values.values()))
