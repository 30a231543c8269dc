"""`rankgauge funnel`: retriever and reranker apart."""

from __future__ import annotations

import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.options import FILE, command, protocol_options, reading_options, shared
from rankgauge.cli.output import deliver, output_options
from rankgauge.errors import RankgaugeWarning, warn

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankgauge.cli.inputs import Reading
    from rankgauge.cli.output import Output
    from rankgauge.explanation.funnel.funnel import Funnel
    from rankgauge.protocol import Protocol
    from rankgauge.read import RunSource

__all__ = ["funnel_runs"]


@command(
    "funnel",
    usual=(
        "retrieved",
        "reranked",
        "more",
        "measure",
        "recall_depth",
        "candidates",
        "sample",
        "per_query",
        "output",
        "format",
    ),
    excludes=[("weights", "sample")],
    renamed={"--depth": "--recall-depth"},
)
@click.argument("qrels", type=FILE)
@click.option(
    "--retrieved",
    multiple=True,
    required=True,
    type=FILE,
    metavar="[NAME=]RUN",
    help="The first-stage run, whose documents are the candidates.",
)
@click.option("--reranked", multiple=True, required=True, type=FILE, metavar="[NAME=]RUN...", help="The reranked runs.")
@click.argument("more", nargs=-1, type=FILE, metavar="[--reranked ...] [[NAME=]RUN]...")
@shared(measure="nDCG at a cut-off, with any gain.  [nDCG@10]")
@click.option("--recall-depth", type=click.IntRange(1), default=100, help="The depth of recall.  [100]")
@shared("candidates", "restrict", per_query="The parts of every query.")
@shared("weights", "sample", "per", "population", "clusters", "alpha")
@click.option("--resamples", type=click.IntRange(100), help="Of the bootstrap.  [10000; fewer of very many queries]")
@shared("seed", "memory")
@output_options()
@partial(protocol_options, without=("depth",))
@reading_options
def funnel_runs(
    qrels: str,
    retrieved: tuple[str, ...],
    reranked: tuple[str, ...],
    more: tuple[str, ...],
    per_query: bool,
    output: Output,
    **asked: Any,
) -> None:
    """Retriever or reranker: what each stage finds, what each loses, and what a better one could gain.

    1 = nDCG + unknown + mis-ranked + not retrieved + no relevant document, exactly, for every query and in the mean.
    The best order of the candidates is the ceiling of every reranker; recall is not.

    With several retrieved runs, a reranked run is named after its own: NAME+RERANKER=FILE. Of two retrievers and two
    rerankers (four runs) each change is attributed; the first of each is the old one.

    \b
    Examples:
      rankgauge funnel qrels.txt --retrieved bm25.run --reranked bert.run
      rankgauge funnel q.txt --retrieved bm25.run --reranked a.run b.run -o f.html
      rankgauge funnel q.txt --retrieved bm25.run --reranked a.run --candidates 50
      rankgauge funnel q.txt --retrieved bm25.run --reranked a.run --per-query
      rankgauge funnel q.txt --retrieved bm25.run --reranked a.run --sample s.tsv
      rankgauge funnel q.txt --retrieved a=bm25.run --retrieved b=dense.run \\
        --reranked a+old=1.run a+new=2.run b+old=3.run b+new=4.run
    """
    output.refuse_pictures(per_query=per_query)
    with warnings.catch_warnings():
        if output.has_notes:
            warnings.filterwarnings("ignore", ".* only by the order of equal scores", RankgaugeWarning)
        found = _funnel(qrels, retrieved, (*reranked, *more), **asked)
    deliver(found, output, per_query=per_query)


def _funnel(
    qrels: str,
    retrieved: tuple[str, ...],
    reranked: tuple[str, ...],
    *,
    protocol: Protocol,
    reading: Reading,
    weights: str | None,
    sample: str | None,
    per: str | None,
    population: str | None,
    clusters: str | None,
    memory: str | None,
    **asked: Any,
) -> Funnel:
    from rankgauge.cli.inputs import Inputs
    from rankgauge.explanation.funnel.funnel import funnel
    from rankgauge.explanation.funnel.stages import check_fit
    from rankgauge.sampling import NO_SAMPLE

    check_fit(protocol)
    inputs = Inputs(reading, qrels, reranked, retrieved=retrieved, tables=[weights, sample, clusters])
    inputs.retrieved, inputs.runs = (
        {name: run.kept() for name, run in runs.items()} for runs in (inputs.retrieved, inputs.runs)
    )
    _check_candidates(inputs.retrieved.values(), inputs.runs.values(), protocol)
    about: dict[str, Any] = {"protocol": protocol, "weights": weights, "clusters": clusters, "memory": memory}
    about |= inputs.sample(sample, weights, per, population)
    if weights is None and about["sample"] is None:
        about["sample"] = NO_SAMPLE  # that of the runs was looked for
    with inputs.progress():
        judged = inputs.judgments.read()
        return funnel(judged, retrieved=inputs.retrieved, reranked=inputs.runs, **about, **asked)


def _check_candidates(retrieved: Iterable[RunSource], reranked: Iterable[RunSource], protocol: Protocol) -> None:
    """Say where a stored run ranks the candidates of another run than those that are given."""
    from rankgauge.store.sources import StoredRun

    first, second = (
        [each.read(protocol) for each in runs if isinstance(each, StoredRun)] for runs in (retrieved, reranked)
    )
    given = {f"@{run.stored['system']}:{run.stored['run']}" for run in first}
    for run in second:
        over = run.stored.get("over")
        if over and given and over not in given:
            names = ", ".join(sorted(given))
            warn(f"{run.source} ranks the documents of {over}, and {names} is given; --retrieved {over}")
