"""`rankgauge judgments`: what judgments hold, what they leave open, what to judge next."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.options import FILE, command, protocol_options, reading_options, shared
from rankgauge.cli.output import deliver, output_options

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.cli.output import Output
    from rankgauge.protocol import Protocol
    from rankgauge.trust.judgments.quality import Quality

__all__ = ["judgments"]


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
    from rankgauge.trust.unjudged.choose import ToJudgeList

    _check_shown(output.format, **asked)
    output.refuse_pictures(per_query=per_query, to_judge=to_judge is not None)
    quality = _quality(qrels, runs, **asked)
    if to_judge is None:
        deliver(quality, output, per_query=per_query, asked_only=True)
        return
    pairs = quality.to_judge(to_judge, settle or ())
    if not pairs:
        click.echo("note: nothing is left to judge: no open document could move the value", err=True)
    deliver(ToJudgeList(pairs), output)


def _check_shown(format: str, *, leave_one_out: bool, **asked: Any) -> None:
    """Refuse forms that have no room for all that is asked for."""
    noise = asked["error_rate"] is not None or asked["confusion"] is not None
    if leave_one_out and noise and format == "csv":
        raise click.UsageError("CSV is one table: ask for --leave-one-out or for label noise; json has both")


def _quality(
    qrels: str, runs: tuple[str, ...], *, measure: str, protocol: Protocol, reading: Reading, **asked: Any
) -> Quality:
    from rankgauge.cli.inputs import Inputs
    from rankgauge.trust.judgments.quality import quality

    inputs = Inputs(reading, qrels, runs, tables=[asked["confusion"]])
    return quality(inputs.judgments, inputs.runs, measure, protocol=protocol, **asked)
