"""`rankgauge agree`: how well judges agree, and what the choice of judge does to systems."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.options import FILE, command, protocol_options, reading_options, shared
from rankgauge.cli.output import deliver, output_options
from rankgauge.cli.strict import Strict
from rankgauge.protocol import RULES

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.cli.output import Output
    from rankgauge.protocol import Protocol
    from rankgauge.trust.judges.agree import Agreement
    from rankgauge.trust.judges.pairs import PairAgreement

__all__ = ["agree"]

RANKING = dict.fromkeys((*RULES, "rel", "depth", "run_format"), "runs")  # what says nothing of judges


class ManyRuns(Strict):
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


@command(
    "agree",
    usual=("runs", "measure", "scale", "per_query", "adjudicate", "apart", "output", "format"),
    cls=ManyRuns,
    needs={"apart": "adjudicate", "shared": "runs", "top": "runs", "measure": "runs", **RANKING},
    excludes=[("matrix", "adjudicate", "per_query", "runs")],
    renamed={"--grades": "--scale"},
)
@click.argument("sets", nargs=-1, required=True, type=FILE, metavar="[NAME=]QRELS [NAME=]QRELS...")
@click.option("--runs", multiple=True, type=FILE, metavar="[NAME=]RUN...", help="Systems to rank under each judge.")
@shared("repeated", "scale", measure="With --runs: the measure.  [nDCG@10]", per_query="Agreement on every query.")
@click.option("--adjudicate", is_flag=True, help="List the pairs on which judges disagree most.")
@click.option(
    "--apart",
    type=click.FloatRange(0, min_open=True),
    default=2.0,
    help="With --adjudicate: grades that differ by at least this.  [2]",
)
@click.option("--matrix", is_flag=True, help="The confusion matrix of two judges, for `judgments --confusion`.")
@click.option("--shared", is_flag=True, help="With --runs: only the pairs that all judges judged.")
@click.option("--top", type=click.IntRange(2), metavar="N", help="With --runs: τ among the best N.  [half, 3 or more]")
@shared("alpha", "seed")
@output_options()
@partial(protocol_options, without=("grades",))
@reading_options
def agree(
    sets: tuple[str, ...],
    per_query: bool,
    adjudicate: bool,
    apart: float,
    matrix: bool,
    output: Output,
    **asked: Any,
) -> None:
    """How well judges agree (people, LLMs, or both): kappas, alpha, bias, confusion matrix.

    The first judge is the reference (rows of the confusion matrix). With --runs: whether systems rank the same under
    each judge.

    \b
    Examples:
      rankgauge agree human.txt model.txt
      rankgauge agree human=qrels.txt llm=a.txt --runs runs/*.run
      rankgauge agree human.txt model.txt --adjudicate -o disputes.csv
      rankgauge agree human.txt model.txt --repeated majority --format json
      rankgauge agree human.txt model.txt --matrix -o judge.csv
    """
    from rankgauge.trust.judges.agree import ConfusionMatrix, Disputes

    output.refuse_pictures(matrix=matrix, adjudicate=adjudicate, per_query=per_query)
    agreement = _agreement(sets, **asked)
    if matrix:
        if output.format == "table":
            output = output._replace(format="csv")  # what `judgments --confusion` reads
        deliver(ConfusionMatrix(_only(agreement)), output)
    elif adjudicate:
        disputes = agreement.disputes(apart)
        if not disputes:
            click.echo(f"note: nothing to adjudicate: no pair is {apart:g} grades apart or more", err=True)
        deliver(Disputes(agreement.sets.judges, disputes), output)
    else:
        deliver(agreement, output, per_query=per_query)


def _agreement(
    sets: tuple[str, ...], *, runs: tuple[str, ...], protocol: Protocol, reading: Reading, **asked: Any
) -> Agreement:
    from rankgauge.cli.inputs import Inputs
    from rankgauge.trust.judges.agree import agree as find

    inputs = Inputs(reading, None, runs, judges=sets)
    inputs.warn_of_labels()
    inputs.warn_of_plain_means()
    return find(inputs.judges, runs=inputs.runs or None, protocol=protocol, **asked)


def _only(agreement: Agreement) -> PairAgreement:
    if len(agreement.pairs) != 1:
        raise click.UsageError(f"--matrix is of two judges; there are {len(agreement.sets.judges)}")
    return agreement.pairs[0]
