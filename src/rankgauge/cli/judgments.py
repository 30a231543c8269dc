"""`rankgauge judgments`: what judgments hold, what they leave open, what to judge next."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.eval import SUFFIXES, emit
from rankgauge.cli.options import FILE, output_options, protocol_options, reading_options
from rankgauge.cli.together import PICTURES, Together, check_together

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.protocol import Protocol
    from rankgauge.trust.judgments.quality import Quality

__all__ = ["FORMATS", "PICTURES", "grades_given", "judgments", "write_picture"]

FORMATS = ("table", "json", "csv", "markdown")
TOGETHER = Together(
    needs={"settle": ("to_judge",), "pool_depth": ("leave_one_out",), "draws": ("error_rate", "confusion")},
    apart=(("to_judge",), ("per_query",), ("leave_one_out", "error_rate", "confusion")),
    lists=("to_judge", "per_query"),
)


def grades_given(context: click.Context, parameter: click.Parameter, value: str | None) -> list[float] | None:
    """`0,1,2,3` → numbers."""
    if value is None:
        return None
    try:
        return [float(part) for part in value.replace(",", " ").split()]
    except ValueError as error:
        raise click.BadParameter(f"{error}; write the scale as 0,1,2,3") from None


@click.command("judgments")
@click.argument("qrels", type=FILE)
@click.argument("runs", nargs=-1, type=FILE, metavar="[[NAME=]RUN]...")
@click.option("-m", "--measure", default="nDCG@10", help="nDCG at a cut-off, with any gain.  [nDCG@10]")
@click.option(
    "--grades", metavar="LIST", callback=grades_given, help="The scale: 0,1,2,3.  [the grades that are there]"
)
@click.option("-q", "--per-query", is_flag=True, help="The interval of every query.")
@click.option("--to-judge", type=click.IntRange(1), metavar="N", help="The N pairs whose judgment tells most.")
@click.option(
    "--settle", nargs=2, metavar="A B", help="With --to-judge: what settles A against B.  [the only two runs]"
)
@click.option("--leave-one-out", is_flag=True, help="What each run loses without the judgments that only it brought.")
@click.option("--pool-depth", type=click.IntRange(1), metavar="N", help="With it: how deep runs were pooled.  [k]")
@click.option("--error-rate", type=click.FloatRange(0, 1), metavar="X", help="Label noise: the share of wrong labels.")
@click.option("--confusion", type=FILE, metavar="FILE", help="Label noise: a matrix, rows true, columns label.")
@click.option("--draws", type=click.IntRange(1), default=1_000, help="Label noise: so many draws.  [1000]")
@click.option("--seed", type=click.IntRange(0), default=0, help="The seed of what is drawn.  [0]")
@click.option("--format", "format", type=click.Choice(FORMATS), help="How to print.  [by -o's suffix, or table]")
@click.option("--digits", type=click.IntRange(0, 17), default=4, help="Decimals in tables.  [4]")
@output_options
@partial(protocol_options, without=("grades",))
@reading_options
def judgments(
    qrels: str,
    runs: tuple[str, ...],
    per_query: bool,
    to_judge: int | None,
    settle: tuple[str, ...] | None,
    format: str | None,
    digits: int,
    output: str,
    **asked: Any,
) -> None:
    """What judgments hold and how far a value can be trusted: unjudged documents, unfair pools, wrong labels.

    With runs: the share of their first k documents that is judged, and the exact interval that the others leave open,
    of each run and of the difference of every pair. The suffix of -o says what to write: .svg, .png and .html are
    pictures.

    \b
    Examples:
      rankgauge judgments qrels.txt
      rankgauge judgments qrels.txt bm25.run reranked.run -m nDCG@10
      rankgauge judgments qrels.txt a.run b.run --to-judge 50 -o pairs.csv
      rankgauge judgments qrels.txt runs/*.run --leave-one-out
      rankgauge judgments qrels.txt a.run b.run --confusion judge.csv --grades 0,1,2,3
    """
    from rankgauge.show.sections.judgments import Look, show, show_to_judge

    check_together(TOGETHER)
    suffix = os.path.splitext(output)[1].lower()
    chosen = format or SUFFIXES.get(suffix, "table")
    _check_shown(chosen, suffix if format is None else "", **asked)
    if not runs and (per_query or to_judge is not None):
        raise click.UsageError("--per-query and --to-judge are about runs; give one or more")
    found = _found(qrels, runs, **asked)
    if to_judge is not None:
        pairs = found.to_judge(to_judge, settle or ())
        if not pairs:
            click.echo("note: nothing is left to judge: no open document could move the value", err=True)
        emit(show_to_judge(pairs, chosen), output)
    elif suffix in PICTURES and format is None:
        _picture(found, output, suffix)
    else:
        emit(show(found, chosen, Look(per_query, digits, asked_only=True)), output)


def _check_shown(format: str, suffix: str, *, leave_one_out: bool, **asked: Any) -> None:
    """Refuse forms that have no room for all that is asked for."""
    noise = asked["error_rate"] is not None or asked["confusion"] is not None
    if leave_one_out and suffix in (".svg", ".png"):
        raise click.UsageError("--leave-one-out gives no picture; write a page (.html), .csv, .json or .md")
    if leave_one_out and noise and format == "csv":
        raise click.UsageError("CSV is one table: ask for --leave-one-out or for label noise; json has both")


def _found(
    qrels: str, runs: tuple[str, ...], *, measure: str, protocol: Protocol, reading: Reading, **asked: Any
) -> Quality:
    from rankgauge.cli.inputs import Inputs
    from rankgauge.trust.judgments.quality import quality

    inputs = Inputs(reading, qrels, runs, tables=[asked["confusion"]])
    return quality(inputs.judgments, inputs.runs, measure, protocol=protocol, **asked)


def _picture(found: Quality, output: str, suffix: str) -> None:
    from rankgauge.show.sections.judgments import tables
    from rankgauge.show.svg.judgments import intervals_svg, noise_svg

    if found.sheet is None:
        raise click.UsageError("a picture shows runs; give one or more")
    drawn = intervals_svg(found) if found.noise is None else noise_svg(found.noise)
    write_picture(drawn, found.measure, "".join(table.html() for table in tables(found)), output, suffix)


def write_picture(svg: str, title: str, tables: str, output: str, suffix: str) -> None:
    """An SVG, a PNG, or a page with the tables below the picture."""
    from rankgauge.show.svg.drawing import page, png
    from rankgauge.writers.write import opened

    made = {".svg": lambda: svg.encode(), ".png": lambda: png(svg), ".html": lambda: page(title, svg + tables)}
    data = made[suffix]()
    with opened(output) as stream:
        stream.write(data)
