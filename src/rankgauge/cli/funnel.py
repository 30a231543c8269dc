"""`rankgauge funnel`: retriever and reranker apart."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.eval import format_for, write
from rankgauge.cli.options import FILE, Once, complete_measures, output_options, protocol_options, reading_options

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.explanation.funnel.funnel import Funnel
    from rankgauge.protocol import Protocol

__all__ = ["funnel_runs"]

FORMATS = ("table", "json", "csv", "markdown", "html")
PICTURES = (".svg", ".png", ".html")


@click.command("funnel", cls=Once)
@click.argument("qrels", type=FILE)
@click.option(
    "--retrieved",
    multiple=True,
    required=True,
    type=FILE,
    metavar="[NAME=]RUN",
    help="The run whose documents are the candidates; several: see below.",
)
@click.option(
    "--reranked", multiple=True, required=True, type=FILE, metavar="[NAME=]RUN...", help="What was made of them."
)
@click.argument("more", nargs=-1, type=FILE, metavar="[--reranked ...] [[NAME=]RUN]...")
@click.option(
    "-m", "--measure", default="nDCG@10", help="nDCG at a cut-off, with any gain.  [nDCG@10]",
    shell_complete=complete_measures,
)  # fmt: skip
@click.option("--depth", type=click.IntRange(1), default=100, help="Recall is taken at this depth.  [100]")
@click.option("--candidates", type=click.IntRange(1), metavar="N", help="Only the first N retrieved are candidates.")
@click.option("--restrict", is_flag=True, help="Drop reranked documents that are no candidates.  [an error]")
@click.option("-q", "--per-query", is_flag=True, help="The parts of every query.")
@click.option("--weights", metavar="FILE", help="Weights of queries: a table with a query and a weight column.")
@click.option("--clusters", metavar="FILE", help="Queries that belong together: a query and a cluster column.")
@click.option("--alpha", type=float, default=0.05, help="The level of intervals.  [0.05]")
@click.option("--resamples", type=click.IntRange(100), help="Of the bootstrap.  [10000; fewer of very many queries]")
@click.option("--seed", type=click.IntRange(0), default=0, help="The seed of the bootstrap.  [0]")
@click.option("--format", "format", type=click.Choice(FORMATS), help="How to print.  [by -o's suffix, or table]")
@click.option("--digits", type=click.IntRange(0, 17), default=4, help="Decimals in tables.  [4]")
@output_options
@partial(protocol_options, without=("depth",))
@reading_options
def funnel_runs(
    qrels: str,
    retrieved: tuple[str, ...],
    reranked: tuple[str, ...],
    more: tuple[str, ...],
    per_query: bool,
    format: str | None,
    digits: int,
    output: str,
    **asked: Any,
) -> None:
    """Tell retriever and reranker apart: what each reached, where the rest was lost, what could have been won.

    1 = nDCG + unknown + mis-ranked + not retrieved + no relevant document, exactly, for every query and in the mean.
    The best order of the candidates is the ceiling of every reranker; recall is not.

    With several retrieved runs, a reranked run is named after its own: NAME+RERANKER=FILE. Of two retrievers and two
    rerankers (four runs) each change is attributed, the first of each being the old one. The suffix of -o says what to
    write: .svg and .png are pictures, .html is a page with the values under the pointer.

    \b
    Examples:
      rankgauge funnel qrels.txt --retrieved bm25.run --reranked bert.run
      rankgauge funnel qrels.txt --retrieved bm25.run --reranked bert.run t5.run --candidates 100
      rankgauge funnel qrels.txt --retrieved bm25.run --reranked other.run --restrict -m "nDCG(gain=exp)@10"
      rankgauge funnel qrels.txt --retrieved bm25.run --reranked bert.run --per-query -o queries.csv
      rankgauge funnel qrels.txt --retrieved bm25.run --reranked bert.run -o funnel.html
      rankgauge funnel qrels.txt --retrieved a=bm25.run --retrieved b=dense.run \\
        --reranked a+old=1.run --reranked a+new=2.run --reranked b+old=3.run --reranked b+new=4.run
    """
    chosen = format_for(output, format, FORMATS, PICTURES)
    if per_query and chosen in PICTURES[:2]:
        raise click.UsageError("--per-query is a table, which a picture does not show; write .csv, .json, .md or .html")
    write(_funnel(qrels, retrieved, (*reranked, *more), **asked).page(per_query=per_query), chosen, digits, output)


def _funnel(
    qrels: str,
    retrieved: tuple[str, ...],
    reranked: tuple[str, ...],
    *,
    protocol: Protocol,
    reading: Reading,
    weights: str | None,
    clusters: str | None,
    **asked: Any,
) -> Funnel:
    from rankgauge.cli.inputs import Inputs
    from rankgauge.explanation.funnel.funnel import funnel
    from rankgauge.explanation.funnel.stages import check_fit

    check_fit(protocol)
    inputs = Inputs(reading, qrels, reranked, retrieved=retrieved, tables=[weights, clusters])
    with inputs.progress():
        judged = inputs.judgments.read()
        stages = [{name: run.read(protocol) for name, run in each.items()} for each in (inputs.retrieved, inputs.runs)]
    about: dict[str, Any] = {"protocol": protocol, "weights": weights, "clusters": clusters}
    return funnel(judged, retrieved=stages[0], reranked=stages[1], **about, **asked)
