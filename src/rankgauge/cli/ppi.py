"""`rankgauge ppi`: values under people's judgments, from a few of these and all of a model's."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.agree import REPEATED
from rankgauge.cli.eval import SUFFIXES, emit
from rankgauge.cli.judgments import FORMATS, write_picture
from rankgauge.cli.options import FILE, complete_measures, output_options, protocol_options, reading_options
from rankgauge.cli.together import PICTURES

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.protocol import Protocol
    from rankgauge.trust.ppi import PredictionPowered

__all__ = ["ppi"]


@click.command("ppi")
@click.argument("people", type=FILE)
@click.argument("model", type=FILE)
@click.argument("runs", nargs=-1, required=True, type=FILE, metavar="[NAME=]RUN...")
@click.option("-m", "--measure", default="nDCG@10", shell_complete=complete_measures, help="The measure.  [nDCG@10]")
@click.option("--width", type=float, metavar="W", help="How wide an interval may be: how many queries does that take?")
@click.option("--interval", type=click.Choice(["t", "ppi_py"]), default="t", help="Which interval.  [t]")
@click.option("--alpha", type=float, default=0.05, help="The level of intervals.  [0.05]")
@click.option(
    "--repeated", type=click.Choice(REPEATED), help="Pairs judged more than once with different grades: which."
)
@click.option("--format", "format", type=click.Choice(FORMATS), help="How to print.  [by -o's suffix, or table]")
@click.option("--digits", type=click.IntRange(0, 17), default=4, help="Decimals in tables.  [4]")
@output_options
@protocol_options
@reading_options
def ppi(
    people: str, model: str, runs: tuple[str, ...], format: str | None, digits: int, output: str, **asked: Any
) -> None:
    """Prediction-powered values: PEOPLE judged a few queries, MODEL all of them, on the same pool.

    Estimates the mean of each run, and of the difference of each pair, under people's judgments; the model's judgments
    make the interval narrower and cannot make it wrong. Queries judged by people in part are refused.

    \b
    Examples:
      rankgauge ppi human.txt model.txt bm25.run reranked.run
      rankgauge ppi human.txt model.txt bm25.run -m nDCG@10 --width 0.05
      rankgauge ppi human.txt model.txt bm25.run --interval ppi_py --alpha 0.1 --format json
    """
    from rankgauge.show.sections.ppi import powered_svg, powered_table, show

    found = _found(people, model, runs, **asked)
    suffix = os.path.splitext(output)[1].lower()
    if suffix in PICTURES and format is None:
        write_picture(powered_svg(found), found.measure, powered_table(found, digits).html(), output, suffix)
        return
    emit(show(found, format or SUFFIXES.get(suffix, "table"), digits), output)


def _found(
    people: str, model: str, runs: tuple[str, ...], *, protocol: Protocol, reading: Reading, **asked: Any
) -> PredictionPowered:
    from rankgauge.cli.inputs import Inputs
    from rankgauge.trust.ppi import ppi as find

    inputs = Inputs(reading, people, runs, tables=[model])
    return find(inputs.judgments, inputs.judged(model), inputs.runs, protocol=protocol, **asked)
