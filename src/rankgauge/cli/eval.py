"""`rankgauge eval`: measure runs against judgments."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from functools import partial
from typing import TYPE_CHECKING

import click

from rankgauge.cli.options import (
    FILE,
    complete_measures,
    measures_from_option,
    output_options,
    protocol_options,
    reading_options,
)
from rankgauge.errors import choices, warn
from rankgauge.protocol import Protocol
from rankgauge.show.formats import FORMATS, render
from rankgauge.show.model import Options

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.result import Evaluation
    from rankgauge.show.model import Page

__all__ = ["SUFFIXES", "emit", "evaluate_runs", "format_for", "is_terminal"]

SUFFIXES = {".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex"}
TEXT = ("", ".txt")  # suffixes of a table as it is printed
DRAWN = (".svg", ".png", ".pdf", ".html")  # suffixes that promise a picture or a page


@click.command("eval")
@click.argument("qrels", type=FILE, required=False, metavar="QRELS")
@click.argument("runs", nargs=-1, type=FILE, metavar="[NAME=]RUN...")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    help="A measure; repeat for more.  [nDCG@10]",
    shell_complete=complete_measures,
)
@measures_from_option
@click.option("-q", "--per-query", is_flag=True, help="The values of every query.")
@click.option("--dialect", metavar="NAME", help="Say what another tool says; 'rankgauge dialects' lists them.")
@click.option("--by", metavar="FILE", help="Groups of queries: a table with a query and a group column.")
@click.option("--weights", metavar="FILE", help="Weights of queries: a table with a query and a weight column.")
@click.option("--tie-band", is_flag=True, help="The smallest, expected and largest value over orders of equal scores.")
@click.option("--format", "format", type=click.Choice(list(FORMATS)), help="How to print.  [by -o's suffix, or table]")
@click.option("--digits", type=click.IntRange(0, 17), default=4, help="Decimals in tables.  [4]")
@output_options
@partial(protocol_options, without=("scores",))
@partial(reading_options, rows=True)
def evaluate_runs(
    qrels: str | None,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    protocol: Protocol,
    reading: Reading,
    format: str | None,
    per_query: bool,
    tie_band: bool,
    digits: int,
    dialect: str | None,
    by: str | None,
    weights: str | None,
    output: str,
) -> None:
    """Measure runs against judgments.

    QRELS and RUN may be TREC files, CSV or TSV with a header, BEIR's qrels, JSON, JSON lines, Parquet or Arrow, also
    compressed (.gz .bz2 .xz .zst); - is standard input.

    \b
    Examples:
      rankgauge eval qrels.txt run.txt
      rankgauge eval qrels.txt bm25.run reranked.run -m nDCG@10 -m R@100
      rankgauge eval qrels.txt run.txt -m "nDCG(gain=exp)@10" -m "P(rel=2)@5" --per-query --format csv -o values.csv
      rankgauge eval qrels.tsv run.json --by segments.csv --ties average
      zcat run.gz | rankgauge eval qrels.txt - --format json
      rankgauge eval --ltr rank.test --scores pred.txt --dialect lightgbm -m nDCG@10
    """
    from rankgauge.cli.inputs import Inputs

    inputs = Inputs(reading, qrels, runs, tables=[by, weights])
    evaluation = inputs.evaluate(measures or ("nDCG@10",), protocol, dialect=dialect, by=by, weights=weights)
    chosen = format_for(output, format, FORMATS)
    shown = evaluation.tie_bands if tie_band else evaluation
    if chosen == "trec":
        emit(_trec_lines(evaluation, tie_band, per_query), output)
        return
    for message in () if tie_band else evaluation.warnings:
        warn(message)
    options = Options(digits, colours=output == "-" and is_terminal())
    emit(str(render(shown.page(per_query=per_query), chosen, options)), output)


def _trec_lines(evaluation: Evaluation, tie_band: bool, per_query: bool) -> str:
    from rankgauge.dialects.trec_eval import trec_lines

    if tie_band:
        raise click.UsageError("--tie-band has no trec lines; choose another --format")
    return trec_lines(evaluation, per_query=per_query)


def format_for(output: str, format: str | None, formats: Collection[str], pictures: Collection[str] = ()) -> str:
    """What to write: the format that is asked for, or the one that the suffix of -o names, or a table.

    Of `pictures`, suffixes that a command draws for, the answer is the suffix. A suffix that names nothing is refused,
    and so is a format that the suffix of a picture or a page contradicts.
    """
    from rankgauge.read.sources import split_suffixes

    special = output == "-" or (os.path.exists(output) and not os.path.isfile(output))
    suffix = "" if special else split_suffixes(output)[0]
    if format is not None:
        if suffix in DRAWN and suffix != f".{format}":
            raise click.UsageError(f"-o {output}: {suffix} is not for {format}; give another suffix or --format")
        return format
    known = {**{each: name for each, name in SUFFIXES.items() if name in formats}, **dict.fromkeys(TEXT, "table")}
    known |= {each: each for each in pictures}
    if suffix not in known:
        expected = choices([each for each in known if each])
        raise click.UsageError(f"-o {output}: {suffix} names no format; expected {expected}, or give --format")
    return known[suffix]


def is_terminal() -> bool:
    """Whether people look at the output, and want colours."""
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def write(page: Page, format: str, digits: int, output: str) -> None:
    """Render a page and print it, or write beside and rename; a suffix with its dot is a format too."""
    from rankgauge.show.files import save
    from rankgauge.show.formats import render
    from rankgauge.show.model import Options

    options = Options(digits, colours=output == "-" and is_terminal())
    if output == "-":
        click.echo(render(page, format.lstrip("."), options), nl=False)
    else:
        save(page, output, format.lstrip("."), options)


def emit(text: str, output: str) -> None:
    """Print, or write beside and rename."""
    if output == "-":
        click.echo(text, nl=False)
        return
    from rankgauge.writers.write import opened

    with opened(output) as stream:
        stream.write(text.encode())
