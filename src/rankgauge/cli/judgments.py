"""`rankgauge judgments`: what judgments hold, what they leave open, what to judge next."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.options import FILE, command, protocol_options, reading_options, shared
from rankgauge.cli.output import output_options, write_text

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.cli.output import Output
    from rankgauge.protocol import Protocol
    from rankgauge.trust.judgments.quality import Quality

__all__ = ["FORMATS", "PICTURES", "judgments", "write_picture"]

FORMATS = ("table", "json", "csv", "markdown", "svg", "png", "html")
PICTURES = ("svg", "png", "html")


@command(
    "judgments",
    needs={
        "settle": "to_judge", "pool_depth": "leave_one_out", "draws": ("error_rate", "confusion"), "to_judge": "runs",
        "per_query": "runs", "leave_one_out": "runs", "error_rate": "runs", "confusion": "runs",
    },
    excludes=[("to_judge", "per_query", ("leave_one_out", "error_rate", "confusion")), ("error_rate", "confusion")],
    renamed={"--grades": "--scale"},
)  # fmt: skip
@click.argument("qrels", type=FILE)
@click.argument("runs", nargs=-1, type=FILE, metavar="[[NAME=]RUN]...")
@shared(measure="nDCG at a cut-off, with any gain.  [nDCG@10]")
@shared("scale", per_query="The interval of every query.")
@click.option("--to-judge", type=click.IntRange(1), metavar="N", help="The N pairs whose judgment tells most.")
@click.option(
    "--settle", nargs=2, metavar="A B", help="With --to-judge: what settles A against B.  [the only two runs]"
)
@click.option("--leave-one-out", is_flag=True, help="What each run loses without the judgments that only it brought.")
@click.option("--pool-depth", type=click.IntRange(1), metavar="N", help="With it: how deep runs were pooled.  [k]")
@shared("error_rate", "confusion")
@click.option("--draws", type=click.IntRange(1), default=1_000, help="Label noise: so many draws.  [1000]")
@shared("seed")
@output_options()
@partial(protocol_options, without=("grades",))
@reading_options
def judgments(
    qrels: str,
    runs: tuple[str, ...],
    per_query: bool,
    to_judge: int | None,
    settle: tuple[str, ...] | None,
    output: Output,
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
      rankgauge judgments qrels.txt a.run b.run --confusion judge.csv --scale 0,1,2,3
    """
    from rankgauge.show.sections.judgments import Look, show, show_to_judge

    _check_shown(output.format, lists=per_query or to_judge is not None, **asked)
    found = _found(qrels, runs, **asked)
    if to_judge is not None:
        pairs = found.to_judge(to_judge, settle or ())
        if not pairs:
            click.echo("note: nothing is left to judge: no open document could move the value", err=True)
        write_text(output.path, show_to_judge(pairs, output.format))
    elif output.format in PICTURES:
        _picture(found, output)
    else:
        write_text(output.path, show(found, output.format, Look(per_query, output.digits, asked_only=True)))


def _check_shown(format: str, *, lists: bool, leave_one_out: bool, **asked: Any) -> None:
    """Refuse forms that have no room for all that is asked for."""
    noise = asked["error_rate"] is not None or asked["confusion"] is not None
    if lists and format in PICTURES:
        raise click.UsageError("a list gives no picture; write it as .csv, .json, .md or .txt")
    if leave_one_out and format in ("svg", "png"):
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


def _picture(found: Quality, output: Output) -> None:
    from rankgauge.show.sections.judgments import tables
    from rankgauge.show.svg.judgments import intervals_svg, noise_svg

    if found.sheet is None:
        raise click.UsageError("a picture shows runs; give one or more")
    drawn = intervals_svg(found) if found.noise is None else noise_svg(found.noise)
    write_picture(drawn, found.measure, "".join(table.html() for table in tables(found)), output)


def write_picture(svg: str, title: str, tables: str, output: Output) -> None:
    """An SVG, a PNG, or a page with the tables below the picture."""
    from rankgauge.show.svg.drawing import page, png

    made = {"svg": lambda: svg.encode(), "png": lambda: png(svg), "html": lambda: page(title, svg + tables)}
    write_text(output.path, made[output.format]())
