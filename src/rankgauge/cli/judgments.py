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
    usual=("measure", "per_query", "to_judge", "settle", "leave_one_out", "error_rate", "output", "format"),
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
@shared("scale", per_query="Best and worst case of every query.")
@click.option("--to-judge", type=click.IntRange(1), metavar="N", help="The N most informative pairs to judge next.")
@click.option("--settle", nargs=2, metavar="A B", help="With --to-judge: decide between A and B.  [the only two]")
@click.option("--leave-one-out", is_flag=True, help="Pool bias: what a run loses without its own judgments.")
@click.option(
    "--pool-depth", type=click.IntRange(1), metavar="N", help="With --leave-one-out: the depth of the pool.  [k]"
)
@shared("error_rate", "confusion")
@click.option("--draws", type=click.IntRange(1), default=1_000, help="Label noise: the number of draws.  [1000]")
@shared("seed")
@output_options(own=("pairs",), suffixes=dict.fromkeys((".jsonl", ".ndjson", ".parquet"), "pairs"))
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
    """How complete judgments are, and how far a value can be trusted: unjudged documents, pool bias, label noise.

    With runs: the judged share of their first k documents, and the exact best and worst case of every run and every
    difference once unjudged documents are judged.

    \b
    Examples:
      rankgauge judgments qrels.txt
      rankgauge judgments qrels.txt bm25.run reranked.run -m nDCG@10
      rankgauge judgments qrels.txt a.run b.run --to-judge 50 -o next.jsonl
      rankgauge judgments qrels.txt runs/*.run --leave-one-out
      rankgauge judgments qrels.txt a.run b.run --error-rate 0.1
    """
    from rankgauge.cli.pool import write_chosen
    from rankgauge.trust.unjudged.choose import ToJudgeList

    _check_shown(output.format, **asked)
    if output.format == "pairs" and to_judge is None:
        raise click.UsageError("pairs are what --to-judge finds: give --to-judge N, or another format")
    output.refuse_pictures(per_query=per_query, to_judge=to_judge is not None)
    quality = _quality(qrels, runs, **asked)
    if to_judge is None:
        deliver(quality, output, per_query=per_query, asked_only=True)
        return
    pairs = quality.to_judge(to_judge, settle or ())
    if not pairs:
        click.echo("note: nothing is left to judge: no open document could move the value", err=True)
    if output.format == "pairs":
        write_chosen([(each.query_id, each.doc_id) for each in pairs], [qrels, *runs], output.path)
        return
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
    inputs.warn_of_labels()
    inputs.warn_of_plain_means()
    return quality(inputs.judgments, inputs.runs, measure, protocol=protocol, **asked)
