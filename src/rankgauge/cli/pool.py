"""`rankgauge pool`: what to judge."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.options import FILE, command, reading_options, shared
from rankgauge.cli.strict import TARGET

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.store.project import Project
    from rankgauge.store.texts import Query

__all__ = ["pool_runs"]


@command("pool", usual=("depth", "take", "order", "judged", "queries", "documents", "why", "output"))
@click.argument("runs", nargs=-1, required=True, type=FILE, metavar="[NAME=]RUN...")
@click.option("--depth", type=click.IntRange(1), default=10, metavar="N", help="The first N of each run.  [10]")
@click.option("--take", type=click.IntRange(1), metavar="N", help="Keep N of every query.  [all]")
@click.option(
    "--order",
    type=click.Choice(["weight", "rank", "rrf", "random"]),
    default="weight",
    help="With --take: by weight in nDCG, best rank, reciprocal-rank fusion or chance.  [weight]",
)
@click.option("--judged", type=FILE, metavar="QRELS", help="Leave out what has a grade here.  [@labels in a project]")
@shared(queries="Query texts and needs.  [the project's]", documents="Document texts.  [the project's]")
@click.option("--why", is_flag=True, help="Say in the file who found it where; raters should not see that.")
@shared("seed")
@click.option("-o", "--output", type=TARGET, default="-", metavar="FILE", help="A .jsonl, .csv, .tsv or .parquet file.")
@reading_options
def pool_runs(
    runs: tuple[str, ...],
    judged: str | None,
    queries: str | None,
    documents: str | None,
    output: str,
    reading: Reading,
    **asked: Any,
) -> None:
    """Choose what to judge: the first documents of several runs, without those that have a grade.

    Every pair has query_id, query, need, doc_id and the document's fields; those of a query stand in an order that
    tells nothing about systems. What decides most about a comparison: 'rankgauge judgments --to-judge'.

    \b
    Examples:
      rankgauge pool bm25.run dense.run --documents docs.jsonl -o pairs.jsonl
      rankgauge pool *.run --depth 20 --take 10 --judged qrels.txt -o pairs.csv
      rankgauge pool @bm25 @dense -o pairs.jsonl
    """
    from rankgauge.cli.inputs import Inputs
    from rankgauge.judge.pairs import write_pairs
    from rankgauge.judge.pool import pool

    project = _project(runs)
    inputs = Inputs(reading, None, runs, tables=[queries, documents])
    known = judged or _labels(project)
    with inputs.progress():
        found = pool(
            inputs.runs,
            judged=inputs.judged(known) if known is not None else None,
            queries=_queries(queries, project),
            documents=(lambda wanted: _documents(documents, project, wanted)) if documents or project else None,
            **asked,
        )
    write_pairs(found.pairs, output)
    click.echo(found.show(), nl=False, err=output == "-")
    if project is not None:
        from rankgauge.judge.pooled import add_pairs

        add_pairs(project, found.pairs)


def write_chosen(chosen: Sequence[tuple[str, str]], sources: Sequence[str], path: str) -> None:
    """Pairs that another command chose, with the texts that a project has."""
    from rankgauge.judge.pairs import Pair, write_pairs

    project = _project(sources)
    queries = _queries(None, project)
    fields = _documents(None, project, {doc for _, doc in chosen})
    known = ((query, doc, queries.get(query)) for query, doc in chosen)
    pairs = [
        Pair(query, doc, text and text.text, text and text.need, fields.get(doc, {})) for query, doc, text in known
    ]
    write_pairs(pairs, path)


def _project(runs: Sequence[str]) -> Project | None:
    """The project, where a run is one of its; files alone are pooled without one."""
    from rankgauge.cli.inputs import project
    from rankgauge.read.named import split_name

    return project() if any(split_name(run)[1].startswith("@") for run in runs) else None


def _labels(project: Project | None) -> str | None:
    """The labels of the project, where it has any."""
    if project is None:
        return None
    from rankgauge.judge.pooled import has_labels

    return "@labels" if has_labels(project) else None


def _queries(path: str | None, project: Project | None) -> Mapping[str, Query]:
    """The texts of queries: of the file, or of the project."""
    if path is None and project is None:
        return {}
    from rankgauge.judge.pooled import queries_of
    from rankgauge.store.transfer.files import read_queries

    if path is not None:
        return {query.query_id: query for query in read_queries(path)}
    return queries_of(project) if project is not None else {}


def _documents(path: str | None, project: Project | None, wanted: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
    """The fields of documents: of the file, or of the project."""
    from rankgauge.systems.config import Documents
    from rankgauge.systems.documents import corpus, fields_of

    if path is not None:
        return {doc: fields for doc, fields in corpus(Documents(path)) if doc in wanted}
    return fields_of(project, wanted) if project is not None else {}
