"""`rankgauge trec_eval`: trec_eval's own options and output."""

from __future__ import annotations

import click

from rankgauge.cli.options import FILE, command

__all__ = ["trec_eval"]


@command("trec_eval", context_settings={"help_option_names": ["-h", "--help"]})
@click.option("-q", "per_query", is_flag=True, help="In addition to the summary, the values of every query.")
@click.option("-n", "no_summary", is_flag=True, help="No summary over the queries.")
@click.option("-c", "complete", is_flag=True, help="Average over all judged queries; those not in the run count 0.")
@click.option("-l", "level", type=int, default=1, metavar="NUM", help="The smallest relevant grade.  [1]")
@click.option("-m", "measures", multiple=True, metavar="MEASURE[.PARAMS]", help="A measure, or a set.  [official]")
@click.option("-M", "depth", type=click.IntRange(1), metavar="NUM", help="Use the first NUM documents of a query.")
@click.option("-N", "documents", type=int, default=0, metavar="NUM", help="The number of documents in the collection.")
@click.option("-J", "judged_only", is_flag=True, help="Take unjudged documents out of the rankings first.")
@click.argument("qrels", type=FILE)
@click.argument("run", type=FILE)
def trec_eval(
    qrels: str,
    run: str,
    measures: tuple[str, ...],
    per_query: bool,
    no_summary: bool,
    complete: bool,
    level: int,
    depth: int | None,
    documents: int,
    judged_only: bool,
) -> None:
    """Evaluate as trec_eval does and print what it prints.

    Sets of measures: official, all_trec, set. Without -c the average is over the queries that are in both files. The
    few things that are not reproduced are listed in docs/trec_eval.md.

    \b
    Examples:
      rankgauge trec_eval qrels.txt run.txt
      rankgauge trec_eval -m all_trec -q -c qrels.txt run.txt
      rankgauge trec_eval -m ndcg_cut.10,20 -m P.5 qrels.txt run.txt
      zcat run.gz | rankgauge trec_eval -m map qrels.txt -
    """
    from rankgauge.cli.inputs import Inputs, Reading
    from rankgauge.dialects.trec_eval import Report, trec_report
    from rankgauge.protocol import Protocol

    protocol = Protocol(
        missing="zero" if complete else "skip",
        unjudged="condensed" if judged_only else "not-relevant",
        rel=level,
        depth=depth,
    )
    report = Report(measures or ("official",), per_query, not no_summary, documents)
    inputs = Inputs(Reading(qrels_format="trec", run_format="trec"), qrels, [run])
    click.echo(trec_report(inputs.judgments, inputs.runs.popitem()[1], protocol, report), nl=False)
