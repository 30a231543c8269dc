"""`rankgauge ppi`: values under people's judgments, from a few of these and all of a model's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.options import FILE, command, protocol_options, reading_options, shared
from rankgauge.cli.output import deliver, output_options

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.cli.output import Output

__all__ = ["ppi"]


@command("ppi", renamed={"--width": "--interval-width"})
@click.argument("people", type=FILE)
@click.argument("model", type=FILE)
@click.argument("runs", nargs=-1, required=True, type=FILE, metavar="[NAME=]RUN...")
@shared("measure")
@click.option(
    "--interval-width", type=float, metavar="W", help="How wide an interval may be: how many queries does that take?"
)
@click.option("--interval", type=click.Choice(["t", "ppi_py"]), default="t", help="Which interval.  [t]")
@shared("alpha", "repeated")
@output_options()
@protocol_options
@reading_options
def ppi(people: str, model: str, runs: tuple[str, ...], reading: Reading, output: Output, **asked: Any) -> None:
    """Prediction-powered values: PEOPLE judged a few queries, MODEL all of them, on the same pool.

    Estimates the mean of each run, and of the difference of each pair, under people's judgments; the model's judgments
    make the interval narrower and cannot make it wrong. Queries judged by people in part are refused.

    \b
    Examples:
      rankgauge ppi human.txt model.txt bm25.run reranked.run
      rankgauge ppi human.txt model.txt bm25.run -m nDCG@10 --interval-width 0.05
      rankgauge ppi human.txt model.txt bm25.run --interval ppi_py --alpha 0.1 --format json
    """
    from rankgauge.cli.inputs import Inputs
    from rankgauge.trust.ppi import ppi as estimate

    inputs = Inputs(reading, people, runs, tables=[model])
    deliver(estimate(inputs.judgments, inputs.judged(model), inputs.runs, **asked), output)
