"""`rankgauge judge-page`: a page on which people judge, as one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rankgauge.cli.options import FILE, command, shared
from rankgauge.cli.strict import TARGET
from rankgauge.errors import InputError, counted

if TYPE_CHECKING:
    from rankgauge.judge.pairs import Pair

__all__ = ["write_judge_page"]


@command("judge-page")
@click.argument("pairs", type=FILE)
@click.option("-o", "--output", type=TARGET, required=True, metavar="FILE.html", help="The file that is written.")
@click.option(
    "--scale", default="graded", metavar="NAME", help='graded, binary, or a TOML file: 0 = "Name: meaning".  [graded]'
)
@click.option("--guidelines", type=FILE, metavar="FILE.md", help="What raters are told, as Markdown.")
@click.option("--fields", metavar="A,B", help="The fields of documents that are shown, in this order.  [all]")
@shared(queries="Query texts and needs, if the pairs have none.")
def write_judge_page(
    pairs: str, output: str, scale: str, guidelines: str | None, fields: str | None, queries: str | None
) -> None:
    """Write a page on which people judge, as one file that needs no server and no network.

    Whoever opens it gives a name, judges by single keys, clicks or taps, and exports JSON lines, which 'rankgauge store
    import' takes: from several judges, and twice without doubling. Until then everything is kept in their browser.

    \b
    Examples:
      rankgauge judge-page pairs.jsonl -o judge.html
      rankgauge judge-page pairs.jsonl --fields title,text -o judge.html
      rankgauge store import judged-pairs-ann.jsonl judged-pairs-bob.jsonl
    """
    from rankgauge.judge.pairs import read_pairs
    from rankgauge.judge.scale import Scale
    from rankgauge.raters.page import judge_page
    from rankgauge.writers.files import opened

    if not output.endswith((".html", ".htm")):
        raise click.UsageError(f"{output}: is a page; name it so: {Path(output).stem}.html")
    told = _text(guidelines) if guidelines else ""
    asked = [name.strip() for name in fields.split(",") if name.strip()] if fields else None
    read = _with_texts(read_pairs(pairs), queries)
    made = judge_page(read, _name(pairs), Scale.of(scale, where="--scale"), told, asked)
    with opened(output) as file:
        file.write(made.encode("utf-8", "replace"))
    several = counted(len({pair.query_id for pair in read}), "query", "queries")
    click.echo(f"wrote {output}: {counted(len(read), 'pair')} of {several}")


def _name(path: str) -> str:
    return "pairs" if path == "-" else Path(path).name.partition(".")[0]


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: {error.reason} at byte {error.start}; save it as UTF-8") from None


def _with_texts(pairs: list[Pair], path: str | None) -> list[Pair]:
    """The pairs with the texts of their queries; those that the pairs have themselves stay."""
    if path is None:
        return pairs
    from rankgauge.store.transfer.files import read_queries

    known = {query.query_id: query for query in read_queries(path)}
    return [
        pair._replace(query=pair.query or found.text, need=pair.need or found.need) if found else pair
        for pair, found in ((pair, known.get(pair.query_id)) for pair in pairs)
    ]
