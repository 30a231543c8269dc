"""`rankgauge report`: one file that can be sent to anybody."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.options import FILE, LTR_HINTS, LTR_NEEDS, command, protocol_options, reading_options, shared
from rankgauge.cli.output import deliver, output_options
from rankgauge.comparison.settings import METHODS
from rankgauge.errors import InputError
from rankgauge.sampling import NO_SAMPLE

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.cli.output import Output

__all__ = ["write_report"]

WIDE = 90  # characters of a command that fits on a line


@command(
    "report",
    usual=(
        "measures",
        "baseline",
        "by",
        "sample",
        "queries",
        "documents",
        "retrieved",
        "second",
        "output",
        "format",
        "title",
    ),
    needs={"candidates": "retrieved", "restrict": "retrieved", "repeated": "second", **LTR_NEEDS},
    excludes=[("ltr", "retrieved", "second"), ("weights", "sample")],
    hints=LTR_HINTS,
)
@click.argument("qrels", type=FILE, required=False, metavar="QRELS")
@click.argument("runs", nargs=-1, type=FILE, metavar="[NAME=]RUN...")
@shared(
    "measures_from",
    measures="A measure; repeat for more. The first is the one that charts and examples show.  [nDCG@10]",
)
@output_options(default="html")
@click.option("--title", default="", help="The title of the report.  [measure and runs]")
@shared(
    "baseline",
    by="Groups of queries: a table with a query and a group column; number columns become business metrics.",
)
@shared("weights", "sample", "per", "population", "clusters", "queries", "documents", "keep_going")
@click.option(
    "--experiments",
    type=FILE,
    metavar="TABLE",
    help="Offline vs. online: a table of experiments for `rankgauge align`.",
)
@click.option("--retrieved", type=FILE, metavar="[NAME=]RUN", help="The first-stage run that the runs rerank.")
@shared(
    candidates="With --retrieved: only its first N are candidates.",
    restrict="With --retrieved: drop reranked documents that are no candidates.",
)
@click.option("--examples", type=click.IntRange(0), default=3, help="Queries of each kind shown rank by rank.  [3]")
@shared(
    second="Labels of another judge, to see how well they agree; repeat for more.",
    repeated="With --second: how to combine several grades for one pair.",
)
@click.option("--no-charts", "charts", flag_value=False, default=True, help="Tables and words only.")
@click.option(
    "--method", type=click.Choice(list(METHODS)), default="maxt", help="The adjustment for several pairs.  [maxt]"
)
@shared("alpha", "flips", "seed")
@protocol_options
@partial(reading_options, rows=True)
def write_report(
    qrels: str | None,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    output: Output,
    reading: Reading,
    retrieved: str | None,
    second: tuple[str, ...],
    **asked: Any,
) -> None:
    """Write a report on runs in one file: the verdict, how sure it is, which queries changed, and why.

    The HTML file opens anywhere, offline: tables that can be sorted and searched, charts, and the rankings of the
    queries that changed most. One run is enough.

    \b
    Examples:
      rankgauge report qrels.txt bm25.run reranked.run -o report.html
      rankgauge report qrels.txt old=a.run new=b.run -m nDCG@10 -m R@100 -o r.html
      rankgauge report qrels.txt a.run b.run --queries q.tsv --documents d.jsonl
      rankgauge report qrels.txt bert.run t5.run --retrieved bm25.run -o r.html
      rankgauge report human=qrels.txt a.run b.run --second llm=llm.txt -o r.html
      rankgauge report qrels.txt bm25.run reranked.run -o report.md
      rankgauge report qrels.txt bm25.run reranked.run --format json
      rankgauge report --ltr rank.test --predictions pred.txt -o r.html
    """
    from rankgauge.cli.inputs import Inputs
    from rankgauge.reports.report import report

    if asked["experiments"] == "-":
        raise InputError("--experiments: standard input (-) is for the judgments or a run; name a file")
    inputs = Inputs(
        reading, qrels if reading.ltr else None, runs, judges=() if qrels is None else (qrels, *second),
        retrieved=() if retrieved is None else (retrieved,),
        tables=[asked[name] for name in ("by", "weights", "sample", "clusters", "queries", "documents")],
    )  # fmt: skip
    (judge, judgments), *others = inputs.judges.items() or [("judgments", inputs.judgments)]
    asked |= inputs.sample(asked["sample"], asked["weights"], asked["per"], asked["population"])
    asked["sample"] = asked["sample"] or NO_SAMPLE
    asked["protocol"] = inputs.rules(asked["protocol"])
    made = report(
        judgments, inputs.runs, measures or "nDCG@10", judge=judge, second=dict(others),
        retrieved=inputs.retrieved or None, command=_command(sys.argv[1:]), **asked,
    )  # fmt: skip
    deliver(made, output)


def _command(arguments: list[str]) -> str:
    """The command as it was given, an option a line where it is long."""
    whole = shlex.join(["rankgauge", *arguments])
    if len(whole) <= WIDE:
        return whole
    quoted = (shlex.quote(each) for each in arguments)
    return " ".join(
        ["rankgauge", *(f"\\\n  {each}" if each.startswith("-") and each != "-" else each for each in quoted)]
    )
