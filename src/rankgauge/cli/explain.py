"""`rankgauge explain`: one query's value, rank by rank."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from rankgauge.cli.options import measures_from_option, output_options, protocol_options, reading_options

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.protocol import Protocol

__all__ = ["explain_values"]


@click.command("explain")
@click.argument("files", nargs=-1, metavar="[QRELS [NAME=]RUN [[NAME=]RUN]]")
@click.option("--query", metavar="ID", help="The query to explain.")
@click.option("--worst", type=click.IntRange(1), metavar="N", help="Explain the N queries of the lowest values.")
@click.option("-m", "--measure", help="The measure.  [nDCG@10]")
@measures_from_option
@click.option("--grades", metavar="LIST", help="Explain these grades, in rank order: 3,2,3,0,u,2 (u: unjudged).")
@click.option("--ideal-grades", metavar="LIST", help="The grades of all judgments, ranked or not.  [those ranked]")
@click.option("--gain", help="nDCG's gain, without -m: linear, exp, binary or {grade:gain,…}.  [linear]")
@click.option("-k", type=click.IntRange(1), help="nDCG's cut-off, without -m.  [10]")
@click.option("--top", type=click.IntRange(0), default=5, help="So many changes that would raise the value.  [5]")
@click.option("--format", "format", type=click.Choice(["table", "markdown", "json"]), help="How to print.  [table]")
@output_options
@partial(protocol_options, without=("grades",))
@reading_options
def explain_values(
    files: tuple[str, ...],
    query: str | None,
    worst: int | None,
    grades: str | None,
    ideal_grades: str | None,
    measure: str | None,
    gain: str | None,
    k: int | None,
    top: int,
    protocol: Protocol,
    reading: Reading,
    format: str | None,
    output: str,
) -> None:
    """Explain a value: what every rank adds to it, beside the ideal ranking, and what would raise it most.

    One query of a run, its worst queries, two runs side by side, or a list of grades. The suffix of the file says what
    to write: .svg, .png or .html is a picture; .md, .json and .txt are text.

    \b
    Examples:
      rankgauge explain qrels.txt run.txt --query 17 -m nDCG@10
      rankgauge explain qrels.txt run.txt --query 17 -o q17.svg
      rankgauge explain qrels.txt run.txt --worst 3 -m AP
      rankgauge explain qrels.txt bm25.run reranked.run --query 17
      rankgauge explain --grades 3,2,3,0,u,2 --ideal-grades 3,3,3,2,2,0 --gain exp -k 10
    """
    from rankgauge.cli.explaining import Wanted, deliver, explain_files, explain_grades

    wanted = Wanted(query, worst, grades, ideal_grades, measure, gain, k, top, protocol)
    found = explain_grades(wanted, files) if grades is not None else explain_files(wanted, files, reading)
    deliver(found, format, output)
