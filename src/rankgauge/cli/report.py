"""`rankgauge report`: one file that can be sent to anybody."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.agree import REPEATED
from rankgauge.cli.options import FILE, Once, complete_measures, measures_from_option, protocol_options, reading_options
from rankgauge.comparison.settings import Settings
from rankgauge.errors import InputError
from rankgauge.stats.methods import METHODS

if TYPE_CHECKING:
    from rankgauge.cli.work import Reading
    from rankgauge.measures import Measure
    from rankgauge.protocol import Protocol
    from rankgauge.read import Run
    from rankgauge.reports.report import Source
    from rankgauge.validation.validate import Finding

__all__ = ["write_report"]

FORMATS = ("html", "md", "json")
WIDE = 90  # characters of a command that fits on a line
SMALL = 64 << 20  # bytes of a run, up to which it is kept rather than read again


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
@click.option("--format", "format", type=click.Choice(FORMATS), help="How to write it.  [by -o's suffix, or html]")
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
    from rankgauge.reports.facts import gather
    from rankgauge.reports.report import Report, format_of

    chosen = format or format_of(output)
    if output == "-" and chosen == "html" and sys.stdout.isatty():
        raise click.UsageError("an HTML page is not for a terminal: give -o report.html, or --format md")
    wanted = _wanted(**asked)
    if retrieved is None and (wanted.candidates is not None or wanted.restrict):
        raise click.UsageError("--candidates and --restrict go with --retrieved RUN")
    made = Report(gather(_source(qrels, runs, retrieved, second, reading, wanted.protocol), wanted))
    made.write(output, chosen)


def _wanted(
    *,
    measures: tuple[str, ...],
    protocol: Protocol,
    by: str | None,
    weights: str | None,
    clusters: str | None,
    queries: str | None,
    documents: str | None,
    experiments: str | None,
    **others: Any,
) -> Any:
    """What is asked for, its files read; of the others, some are settings of the comparison."""
    from rankgauge.evaluate import query_table
    from rankgauge.measures import parse
    from rankgauge.read.query_tables import read_groups_and_numbers, read_texts
    from rankgauge.reports.report import Wanted

    settings = Settings(**{each.name: others.pop(each.name) for each in fields(Settings) if each.name in others})
    groups, numbers = (None, {}) if by is None else read_groups_and_numbers(by)
    return Wanted(
        [parse(measure) for measure in measures or ("nDCG@10",)],
        protocol,
        settings,
        command=_command(sys.argv[1:]),
        groups=groups,
        numbers=numbers,
        weights=None if weights is None else query_table(weights, "weight"),
        clusters=None if clusters is None else query_table(clusters, "cluster"),
        queries={} if queries is None else read_texts(queries, "query_id"),
        documents={} if documents is None else read_texts(documents, "doc_id"),
        experiments=_aligned(experiments, settings.alpha),
        **others,
    )


def _aligned(table: str | None, alpha: float) -> Any:
    if table is None:
        return None
    if table == "-":
        raise InputError("--experiments: standard input (-) is for the judgments or a run; name a file")
    from rankgauge.trust.online.align import align

    return align(table, alpha=alpha)


def _command(arguments: list[str]) -> str:
    """The command as it was given, an option a line where it is long."""
    whole = shlex.join(["rankgauge", *arguments])
    if len(whole) <= WIDE:
        return whole
    quoted = (shlex.quote(each) for each in arguments)
    return " ".join(
        ["rankgauge", *(f"\\\n  {each}" if each.startswith("-") and each != "-" else each for each in quoted)]
    )


def _source(
    qrels: str,
    runs: tuple[str, ...],
    retrieved: str | None,
    second: tuple[str, ...],
    reading: Reading,
    protocol: Protocol,
) -> Source:
    from rankgauge.cli.work import named_runs, one_standard_input
    from rankgauge.reports.report import Source

    named, first = named_runs(runs), named_runs((retrieved,) if retrieved is not None else ())
    (judge, qrels), *others = named_runs((qrels, *second)).items()
    one_standard_input([qrels, *named.values(), *first.values(), *(path for _, path in others)])
    judged = reading.judgments(qrels)
    reads = {name: _reader(reading, path) for name, path in named.items()}

    def check(measure: Measure) -> list[Finding]:
        from rankgauge.validation.validate import validate

        files: list[Any] = [judged if qrels == "-" else qrels]
        files += [reads[name](protocol) if path == "-" else path for name, path in named.items()]
        return validate(
            *files,
            measure=measure,
            judgments_format=reading.qrels_format,
            run_format=reading.run_format,
            columns=reading.columns,
        )

    stage = next(((name, _reader(reading, path)) for name, path in first.items()), None)
    also = {name: reading.judgments(path, repeated=True) for name, path in others}
    return Source(judged, reads, check, retrieved=stage, second=also, judge=judge)


def _reader(reading: Reading, path: str) -> Callable[[Protocol], Run]:
    """How to read a run, which is asked for more than once: small ones and standard input are kept."""
    if path == "-" or not os.path.isfile(path) or os.path.getsize(path) <= SMALL:
        return reading.each(path)
    return lambda protocol: reading.run(path, protocol)
