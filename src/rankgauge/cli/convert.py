"""`rankgauge convert`: judgments and runs from one format to another."""

from __future__ import annotations

import click

from rankgauge.cli.options import columns_option
from rankgauge.errors import InputError, choices
from rankgauge.protocol import RULES
from rankgauge.read import read_judgments, read_run
from rankgauge.read.files import LAYERS, Source, find_source
from rankgauge.read.formats import FORMATS, kind_of, recognise
from rankgauge.read.records import Judgments, Run
from rankgauge.write import write

__all__ = ["convert"]

COMPRESSED = choices(layer.suffixes[0] for layer in LAYERS)
EXAMPLES = f"""
\b
Examples:
  rankgauge convert run.bm25.txt run.parquet
  rankgauge convert qrels.txt.gz qrels.jsonl
  rankgauge convert --judgments qrels.json qrels.txt
  rankgauge convert --column query_id=q --column score=bm25 hits.csv run.txt
  zcat run.gz | rankgauge convert - - --to csv > run.csv

\b
Formats (a suffix {COMPRESSED} compresses any of them):
""" + "\n".join(f"  {name:<8} {each.about}" for name, each in FORMATS.items())


@click.command(epilog=EXAMPLES)
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@click.option("--judgments", "kind", flag_value="judgments", help="IN holds judgments.")
@click.option("--run", "kind", flag_value="run", help="IN holds a run.")
@click.option("--from", "from_format", type=click.Choice(list(FORMATS)), help="The format of IN, if not as recognised.")
@click.option("--to", "to_format", type=click.Choice(list(FORMATS)), help="The format of OUT, if not by its suffix.")
@columns_option
@click.option(
    "--duplicates",
    type=click.Choice(list(RULES["duplicates"])),
    default="error",
    show_default=True,
    help="What to do with a document that is there twice in one ranking.",
)
@click.option("--tag", help="The name of the run in its sixth column; by default the one it has.")
def convert(
    source: str,
    target: str,
    kind: str | None,
    from_format: str | None,
    to_format: str | None,
    columns: dict[str, str],
    duplicates: str,
    tag: str | None,
) -> None:
    """Convert judgments or a run from IN to OUT; `-` is standard input or output."""
    found = find_source(source)
    name = from_format or recognise(found, kind, columns)
    if (kind or recognised_kind(found, name, columns)) == "judgments":
        record: Judgments | Run = read_judgments(found, format=name, columns=columns)
    else:
        record = read_run(found, format=name, columns=columns, duplicates=duplicates)
    write(record, target, format=to_format, tag=tag or getattr(record, "tag", "") or "rankgauge")


def recognised_kind(source: Source, format: str, columns: dict[str, str]) -> str:
    """Judgments or run, as the file itself shows it."""
    kind = kind_of(source, format, columns)
    if kind is None:
        raise InputError(f"{source.name}: may be judgments or a run; say which with --judgments or --run")
    return kind
