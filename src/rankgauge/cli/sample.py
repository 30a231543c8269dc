"""`rankgauge sample`: queries of a search log, to judge and to measure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.options import FILE, Command, command, shared
from rankgauge.cli.output import TEXTS, deliver, output_options, write_text
from rankgauge.show.cells import printable

if TYPE_CHECKING:
    from rankgauge.cli.output import Output

__all__ = ["sample_queries"]

METHODS = ("traffic", "random", "strata", "top")  # help must not import the methods: they load numpy
ROLES = {
    "query": "The column of the queries.  [query, user_query, …]",
    "count": "The column of the counts; without one every row is a search.  [count, traffic, …]",
    "need": "The column of the information needs.  [need, intent, …]",
    "id": "A column of ids to use.  [made of the folded query]",
}


def _columns(command: Command) -> Command:
    """One option per column of a log, where its name is not one that is known."""
    for role, words in reversed(ROLES.items()):
        command = click.option(f"--{role}-column", metavar="NAME", help=words)(command)
    return command


@command(
    "sample",
    usual=("n", "method", "strata", "allocate", "fold", "keep", "name", "output", "format"),
    needs={"strata": "method=strata", "allocate": "method=strata", "pilot": "allocate=neyman"},
)
@click.argument("log", type=FILE, metavar="LOG")
@click.option("-n", "--n", type=click.IntRange(2), metavar="N", help="How many queries to draw.")
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default="traffic",
    help="traffic: likely as its traffic; random: equally likely; strata: so many of each; top: a fixed list.  "
    "[traffic]",
)
@click.option("--strata", metavar="COLUMN", help="The strata: a column of the log.  [thirds of traffic]")
@click.option("--allocate", metavar="HOW", help="n to strata: equal, neyman (with --pilot), or a=50,b=100.  [equal]")
@click.option("--pilot", type=FILE, metavar="FILE", help="neyman: values of queries of an earlier sample.")
@click.option(
    "--fold",
    type=click.Choice(["text", "words"]),
    default="text",
    help="One query: the same but for case, blanks and punctuation; words: and for the order of words.  [text]",
)
@click.option("--keep", type=FILE, metavar="FILE", help="An older sample: what both share, and what is new to judge.")
@_columns
@shared("seed")
@click.option("--name", metavar="NAME", help="In a project: what the sample is called.  [METHOD-N]")
@output_options(TEXTS, own=("tsv",))
def sample_queries(log: str, output: Output, name: str | None, allocate: str | None, **asked: Any) -> None:
    """Draw queries of a search log, so that a mean over them says something of all searches.

    LOG is a table (CSV, TSV, JSON lines, Parquet; UBI's ubi_queries) with a row for each query and a count, or a row
    for each search. Spellings of one query are folded. The same log in another order gives the same sample; a larger
    one takes a smaller one in. In a project the sample is stored, too.

    \b
    Examples:
      rankgauge sample log.csv --n 300 -o queries.tsv
      rankgauge sample log.csv --n 300 --method strata --strata device
      rankgauge sample june.csv --n 300 --keep queries.tsv -o june.tsv
      rankgauge eval qrels.txt run.txt --sample queries.tsv
    """
    from rankgauge.cli.inputs import nearest_project, one_standard_input, project
    from rankgauge.sampling.sample import sample
    from rankgauge.show.sections.sample import FIXED, sentences
    from rankgauge.show.text import wrapped
    from rankgauge.store.sources import sample_at

    one_standard_input([log, asked["pilot"], asked["keep"]])
    named = {role: asked.pop(f"{role}_column") for role in ROLES}
    columns = {role: column for role, column in named.items() if column is not None}
    asked["keep"] = None if asked["keep"] is None else sample_at(asked["keep"], project)
    drawn = sample(log, columns=columns, allocate=allocate or "equal", **asked)
    kept_in = nearest_project()
    if kept_in is None and name is not None:
        raise click.UsageError("--name is for a project, and there is none here; make one: rankgauge init")
    called = None if kept_in is None else kept_in.add_sample(drawn, name)
    if output.format == "tsv":
        write_text(output.path, drawn.to_tsv())
    else:
        deliver(drawn, output)
    said = []
    if output.path != "-" or output.format == "tsv":
        said += [*sentences(drawn), *([f"Caution: {FIXED}"] if drawn.fixed else [])]
    said += [f"stored as @{called}: eval, compare, check, report and plot take --sample @{called}"] if called else []
    for words in said:
        click.echo("\n".join(wrapped(printable(words))), err=True)
