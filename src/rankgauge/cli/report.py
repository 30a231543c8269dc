"""`rankgauge report`: one file that can be sent to anybody."""

from __future__ import annotations

import os
import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.agree import REPEATED
from rankgauge.cli.options import FILE, Once, complete_measures, measures_from_option, protocol_options, reading_options
from rankgauge.errors import InputError
from rankgauge.stats.methods import METHODS

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading

__all__ = ["write_report"]

FORMATS = {"html": "html", "md": "markdown", "json": "json"}
WIDE = 90  # characters of a command that fits on a line


@click.command("report", cls=Once)
@click.argument("qrels", type=FILE)
@click.argument("runs", nargs=-1, required=True, type=FILE, metavar="[NAME=]RUN...")
@click.option(
    "-m",
    "--measure",
    "measures",
    multiple=True,
    help="A measure; repeat for more. The first is the one that charts and examples show.  [nDCG@10]",
    shell_complete=complete_measures,
)
@measures_from_option
@click.option("-o", "--output", default="-", metavar="FILE", help="Write to a file.  [standard output]")
@click.option("--format", "format", type=click.Choice([*FORMATS]), help="How to write it.  [by -o's suffix, or html]")
@click.option("--title", default="", help="The title of the report.  [what was measured of whom]")
@click.option("--baseline", metavar="NAME", help="Compare each system with this one only.  [every pair]")
@click.option(
    "--by",
    metavar="FILE",
    help="Groups of queries: a query and a group column; columns of numbers are shown beside the measure.",
)
@click.option("--weights", metavar="FILE", help="Weights of queries: a table with a query and a weight column.")
@click.option("--clusters", metavar="FILE", help="Queries that belong together: a query and a cluster column.")
@click.option("--queries", metavar="FILE", help="The texts of the queries: a table, or id and text on each line.")
@click.option("--documents", metavar="FILE", help="The texts of documents, of which the beginnings are shown.")
@click.option(
    "--experiments",
    metavar="TABLE",
    help="Offline beside online: a table of experiments as `rankgauge align` reads it.",
)
@click.option("--retrieved", type=FILE, metavar="[NAME=]RUN", help="The runs are rerankings of this one: two stages.")
@click.option("--candidates", type=click.IntRange(1), metavar="N", help="With it: only its first N are candidates.")
@click.option("--restrict", is_flag=True, help="With it: drop reranked documents that are no candidates.")
@click.option("--examples", type=click.IntRange(0), default=3, help="Queries of each kind shown rank by rank.  [3]")
@click.option(
    "--second",
    multiple=True,
    type=FILE,
    metavar="[NAME=]QRELS",
    help="The judgments of another judge, to see how well they agree; repeat for more. QRELS may have a NAME= too.",
)
@click.option("--repeated", type=click.Choice(REPEATED), help="With it: pairs judged more than once, which grade.")
@click.option("--no-charts", "charts", flag_value=False, default=True, help="Tables and words only.")
@click.option("--method", type=click.Choice(list(METHODS)), default="maxt", help="How pairs are adjusted.  [maxt]")
@click.option("--alpha", type=float, default=0.05, help="The level of decisions and intervals.  [0.05]")
@click.option("--flips", type=click.IntRange(1), default=100_000, help="Random sign flips.  [100000]")
@click.option("--seed", type=click.IntRange(0), default=0, help="The seed of random flips.  [0]")
@protocol_options
@reading_options
def write_report(
    qrels: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    output: str,
    format: str | None,
    reading: Reading,
    retrieved: str | None,
    second: tuple[str, ...],
    **asked: Any,
) -> None:
    """Report on runs in one file: what changed, how sure that is, where and why, and how to repeat it.

    The HTML file opens anywhere, offline: tables that can be sorted and searched, charts, the rankings of the queries
    that moved most. The first run may be the only one.

    \b
    Examples:
      rankgauge report qrels.txt bm25.run reranked.run -o report.html
      rankgauge report qrels.txt old=a.run new=b.run --baseline old -m nDCG@10 -m R@100 -o report.html
      rankgauge report qrels.txt runs/*.run --by segments.csv --queries queries.tsv --documents corpus.jsonl -o r.html
      rankgauge report qrels.txt bert.run t5.run --retrieved bm25.run -o report.html
      rankgauge report people=qrels.txt bm25.run reranked.run --second model=model.txt -o report.html
      rankgauge report qrels.txt bm25.run reranked.run -o report.md
      rankgauge report qrels.txt bm25.run reranked.run --format json
    """
    from rankgauge.cli.inputs import Inputs
    from rankgauge.reports.report import report
    from rankgauge.show.files import save

    chosen = FORMATS[format] if format is not None else _format_of(output)
    if output == "-" and chosen == "html" and sys.stdout.isatty():
        raise click.UsageError("an HTML page is not for a terminal: give -o report.html, or --format md")
    if retrieved is None and (asked["candidates"] is not None or asked["restrict"]):
        raise click.UsageError("--candidates and --restrict go with --retrieved RUN")
    if asked["experiments"] == "-":
        raise InputError("--experiments: standard input (-) is for the judgments or a run; name a file")
    inputs = Inputs(
        reading, None, runs, judges=(qrels, *second), retrieved=() if retrieved is None else (retrieved,),
        tables=[asked[name] for name in ("by", "weights", "clusters", "queries", "documents")],
    )  # fmt: skip
    (judge, judgments), *others = inputs.judges.items()
    made = report(
        judgments, inputs.runs, measures or "nDCG@10", judge=judge, second=dict(others),
        retrieved=inputs.retrieved or None, command=_command(sys.argv[1:]), **asked,
    )  # fmt: skip
    save(made.page(), output, chosen)


def _format_of(path: str) -> str:
    """The format that a path names; HTML for standard output and what is not a file."""
    from rankgauge.show.files import format_of
    from rankgauge.writers.write import STANDARD_OUTPUT

    special = path in STANDARD_OUTPUT or (os.path.exists(path) and not os.path.isfile(path))
    return "html" if special else format_of(path)


def _command(arguments: list[str]) -> str:
    """The command as it was given, an option a line where it is long."""
    whole = shlex.join(["rankgauge", *arguments])
    if len(whole) <= WIDE:
        return whole
    quoted = (shlex.quote(each) for each in arguments)
    return " ".join(
        ["rankgauge", *(f"\\\n  {each}" if each.startswith("-") and each != "-" else each for each in quoted)]
    )
