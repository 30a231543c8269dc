"""`rankgauge convert`: judgments and runs from one format to another."""

from __future__ import annotations

import click

from rankgauge.cli.inputs import one_standard_input, stored
from rankgauge.cli.options import FILE, columns_option, command
from rankgauge.errors import InputError, choices
from rankgauge.protocol import RULES
from rankgauge.read import read_judgments, read_run
from rankgauge.read.formats import FORMATS, format_of_suffix, kind_of, recognise
from rankgauge.read.layers import LAYERS, split_suffixes
from rankgauge.read.ltr import read_ltr
from rankgauge.read.numbers import read_scores
from rankgauge.read.records import Judgments, Run
from rankgauge.read.sources import Source, find_source
from rankgauge.writers.ltr import LTR_FORMATS, rewrite_ltr
from rankgauge.writers.write import WRITERS, write

__all__ = ["convert"]

TARGETS = list(dict.fromkeys([*WRITERS, *LTR_FORMATS]))
COMPRESSED = choices(layer.suffixes[0] for layer in LAYERS)
EXAMPLES = f"""
\b
Examples:
  rankgauge convert run.bm25.txt run.parquet
  rankgauge convert qrels.txt.gz qrels.jsonl
  rankgauge convert --judgments qrels.json qrels.txt
  rankgauge convert --column query_id=q --column score=bm25 hits.csv run.txt
  zcat run.gz | rankgauge convert - - --to csv > run.csv
  rankgauge convert mslr.txt rank.train --to lightgbm   keeps features
  rankgauge convert mslr.txt qrels.txt --to trec        the labels alone
  rankgauge convert pred.txt run.txt --ltr rank.test    scores as a run

\b
Formats (a suffix {COMPRESSED} compresses any of them):
""" + "\n".join(f"  {name:<8} {each.about}" for name, each in FORMATS.items())
EXAMPLES += f"\n  lightgbm {LTR_FORMATS['lightgbm']}"


@command("convert", epilog=EXAMPLES)
@click.argument("source", type=FILE, metavar="IN")
@click.argument("target", metavar="OUT")
@click.option("--judgments", "kind", flag_value="judgments", help="IN holds judgments.")
@click.option("--run", "kind", flag_value="run", help="IN holds a run.")
@click.option("--from", "from_format", type=click.Choice(list(FORMATS)), help="The format of IN, if not as recognised.")
@click.option("--to", "to_format", type=click.Choice(TARGETS), help="The format of OUT, if not by its suffix.")
@columns_option
@click.option(
    "--duplicates",
    type=click.Choice(list(RULES["duplicates"])),
    default="error",
    show_default=True,
    help="What to do with a document that is there twice in one ranking.",
)
@click.option(
    "--ltr", type=FILE, metavar="FILE", help="IN holds scores for the rows of this learning-to-rank file; OUT is a run."
)
@click.option(
    "--query-sizes", type=FILE, metavar="FILE", help="The number of rows of each query.  [FILE.query or FILE.group]"
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
    ltr: str | None,
    query_sizes: str | None,
    tag: str | None,
) -> None:
    """Convert judgments or a run from IN to OUT; `-` is standard input or output."""
    if ltr is not None:
        one_standard_input([source, ltr, query_sizes])
        ranked = read_ltr(ltr, query_sizes).run(read_scores(source))
        write(ranked, target, format=to_format, tag=tag or "rankgauge")
        return
    if source.startswith("@"):
        write(stored(source).read(), target, format=to_format, tag=tag or source[1:])
        return
    found = find_source(source)
    first = found.parts[0] if found.parts else found
    name = from_format or recognise(first, kind, columns)
    if name == "letor" and kind != "run":
        convert_rows(found, target, to_format, query_sizes)
        return
    if to_format == "lightgbm" or query_sizes is not None:
        raise InputError(f"{found.name}: holds no learning-to-rank rows (LABEL qid:QUERY FEATURE:VALUE …), but {name}")
    if (kind or recognised_kind(first, name, columns)) == "judgments":
        record: Judgments | Run = read_judgments(found, format=name, columns=columns)
    else:
        record = read_run(found, format=name, columns=columns, duplicates=duplicates)
    write(record, target, format=to_format, tag=tag or getattr(record, "tag", "") or "rankgauge")


def convert_rows(source: Source, target: str, to_format: str | None, query_sizes: str | None) -> None:
    """Learning-to-rank rows: with their features where the other form has features, else their labels alone."""
    form = to_format or format_of_suffix(split_suffixes(target)[0])
    if form in LTR_FORMATS:
        rewrite_ltr(source, target, form, query_sizes)
    else:
        write(read_ltr(source, query_sizes).judgments(), target, format=to_format)


def recognised_kind(source: Source, format: str, columns: dict[str, str]) -> str:
    """Judgments or run, as the file itself shows it."""
    kind = kind_of(source, format, columns)
    if kind is None:
        raise InputError(f"{source.name}: may be judgments or a run; say which with --judgments or --run")
    return kind
