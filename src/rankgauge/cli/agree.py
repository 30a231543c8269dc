"""`rankgauge agree`: how well judges agree, and what the choice of judge does to systems."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.eval import SUFFIXES, emit
from rankgauge.cli.judgments import grades_given, write_picture
from rankgauge.cli.options import FILE, output_options, protocol_options, reading_options
from rankgauge.cli.together import PICTURES, Together, check_together

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.protocol import Protocol
    from rankgauge.trust.judges.agree import Agreement

__all__ = ["agree"]

FORMATS = ("table", "json", "csv", "markdown")
TOGETHER = Together(
    needs={"apart": ("adjudicate",), "shared": ("runs",), "top": ("runs",), "measure": ("runs",)},
    apart=(("matrix",), ("adjudicate",), ("per_query",), ("runs",)),
    lists=("matrix", "adjudicate", "per_query"),
)
REPEATED = ("first", "last", "majority", "mean")


class ManyRuns(click.Command):
    """`--runs A B C`: everything up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat the option before each of its values."""
        spread: list[str] = []
        taking = False
        for argument in args:
            if argument == "--runs":
                taking = True
            elif taking and not (argument.startswith("-") and argument != "-"):
                spread += ["--runs", argument]
            else:
                taking = False
                spread.append(argument)
        return super().parse_args(ctx, spread)


@click.command("agree", cls=ManyRuns)
@click.argument("sets", nargs=-1, required=True, type=FILE, metavar="[NAME=]QRELS [NAME=]QRELS...")
@click.option("--runs", multiple=True, type=FILE, metavar="[NAME=]RUN...", help="Systems to order under each judge.")
@click.option("-m", "--measure", default="nDCG@10", help="With --runs: the measure.  [nDCG@10]")
@click.option(
    "--repeated", type=click.Choice(REPEATED), help="Pairs judged more than once with different grades: which."
)
@click.option(
    "--grades", metavar="LIST", callback=grades_given, help="The scale: 0,1,2,3.  [the grades that are there]"
)
@click.option("-q", "--per-query", is_flag=True, help="Agreement on every query.")
@click.option("--adjudicate", is_flag=True, help="The list of pairs on which judges are far apart.")
@click.option("--apart", type=click.FloatRange(0, min_open=True), default=2.0, help="With it: how far.  [2]")
@click.option("--matrix", is_flag=True, help="The confusion matrix of two judges, for `judgments --confusion`.")
@click.option("--shared", is_flag=True, help="With --runs: only the pairs that all judges judged.")
@click.option("--top", type=click.IntRange(2), metavar="N", help="With --runs: τ among the best N.  [half, 3 or more]")
@click.option("--alpha", type=float, default=0.05, help="The level of intervals.  [0.05]")
@click.option("--seed", type=click.IntRange(0), default=0, help="The seed of resampled queries.  [0]")
@click.option("--format", "format", type=click.Choice(FORMATS), help="How to print.  [by -o's suffix, or table]")
@output_options
@partial(protocol_options, without=("grades",))
@reading_options
def agree(
    sets: tuple[str, ...],
    per_query: bool,
    adjudicate: bool,
    apart: float,
    matrix: bool,
    format: str | None,
    output: str,
    **asked: Any,
) -> None:
    """How well judges agree: kappas, alphas, bias, confusion; with runs, what the choice of judge does to systems.

    The first set is the one that others are held against (rows of the confusion matrix). The suffix of -o says what to
    write: .svg, .png and .html are pictures of the confusion matrix.

    \b
    Examples:
      rankgauge agree human.txt model.txt
      rankgauge agree human=qrels.txt gpt=a.txt llama=b.txt --runs runs/*.run -m nDCG@10
      rankgauge agree human.txt model.txt --adjudicate -o disputes.csv
      rankgauge agree human.txt model.txt --repeated majority --format json
      rankgauge agree human.txt model.txt --matrix -o judge.csv
    """
    from rankgauge.show.sections.judges import show, show_disputes, show_matrix

    check_together(TOGETHER)
    found = _found(sets, **asked)
    suffix = os.path.splitext(output)[1].lower()
    chosen = format or SUFFIXES.get(suffix, "table")
    if matrix:
        emit(show_matrix(_only(found, "--matrix"), format or SUFFIXES.get(suffix, "csv")), output)
    elif adjudicate:
        disputes = found.disputes(apart)
        if not disputes:
            click.echo(f"note: nothing to adjudicate: no pair is {apart:g} grades apart or more", err=True)
        emit(show_disputes(found, disputes, chosen), output)
    elif suffix in PICTURES and format is None:
        _picture(found, output, suffix)
    else:
        emit(show(found, chosen, per_query=per_query), output)


def _found(
    sets: tuple[str, ...], *, runs: tuple[str, ...], protocol: Protocol, reading: Reading, **asked: Any
) -> Agreement:
    from rankgauge.cli.inputs import Inputs
    from rankgauge.trust.judges.agree import agree as find

    inputs = Inputs(reading, None, runs, judges=sets)
    return find(inputs.judges, runs=inputs.runs or None, protocol=protocol, **asked)


def _only(found: Agreement, option: str) -> Any:
    if len(found.pairs) != 1:
        raise click.UsageError(f"{option} is of two judges; there are {len(found.sets.judges)}")
    return found.pairs[0]


def _picture(found: Agreement, output: str, suffix: str) -> None:
    from rankgauge.show.sections.judges import tables
    from rankgauge.show.svg.judges import confusion_svg, orders_svg

    pictures = [confusion_svg(pair) for pair in found.pairs if pair.shared]
    if found.systems is not None:
        pictures += [orders_svg(found.systems, each.judge) for each in found.systems.orders]
    if suffix != ".html" and len(found.pairs) != 1:
        raise click.UsageError(f"a picture is of two judges; for {len(found.sets.judges)} write a page: -o FILE.html")
    drawn = "\n".join(pictures) if suffix == ".html" else pictures[0]
    write_picture(drawn, "Agreement", "".join(table.html() for table in tables(found)), output, suffix)
