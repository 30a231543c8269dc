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


@command(
    "ppi", usual=("measure", "interval_width", "alpha", "output", "format"), renamed={"--width": "--interval-width"}
)
@click.argument("people", type=FILE)
@click.argument("model", type=FILE)
@click.argument("runs", nargs=-1, required=True, type=FILE, metavar="[NAME=]RUN...")
@shared("measure")
@click.option(
    "--interval-width", type=float, metavar="W", help="How many human-judged queries reach an interval this wide?"
)
@click.option(
    "--interval", type=click.Choice(["flips", "ppi_py", "t"]), default="flips", help="The kind of interval.  [flips]"
)
@click.option(
    "--partly",
    type=click.Choice(["error", "skip"]),
    default="error",
    help="Queries judged on other pairs by people than by the model: refused, or left to the model.  [error]",
)
@shared("alpha", "repeated")
@output_options()
@protocol_options
@reading_options
def ppi(people: str, model: str, runs: tuple[str, ...], reading: Reading, output: Output, **asked: Any) -> None:
    """Estimate the human-judged score from a small human sample plus LLM labels for every query.

    Prediction-powered inference: PEOPLE are human labels of some queries, MODEL are LLM labels of all, on the same
    pool. LLM labels make the interval narrower, never wrong. Queries judged by people in part are refused, or left
    to the model with --partly skip.

    \b
    Examples:
      rankgauge ppi human.txt model.txt bm25.run reranked.run
      rankgauge ppi human.txt model.txt bm25.run -m nDCG@10 --interval-width 0.05
      rankgauge ppi human.txt model.txt bm25.run --alpha 0.1 --format json
    """
    from rankgauge.cli.inputs import Inputs
    from rankgauge.trust.ppi import ppi as estimate

    inputs = Inputs(reading, people, runs, tables=[model])
    inputs.judges = {"model": inputs.judged(model)}
    inputs.warn_of_labels()
    inputs.warn_of_plain_means()
    deliver(estimate(inputs.judgments, inputs.judges["model"], inputs.runs, **asked), output)
