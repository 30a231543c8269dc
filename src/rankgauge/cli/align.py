"""`rankgauge align`: offline differences beside online ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.options import FILE, command, shared
from rankgauge.cli.output import deliver, output_options

if TYPE_CHECKING:
    from rankgauge.cli.output import Output

__all__ = ["align"]

# Those of the library, which help must not import: it loads numpy.
CRITERIA = ("pearson", "spearman", "kendall", "sign", "prediction")
LABELS = ("judgments", "clicks")
UNITS = ("experiments", "queries")


@command("align", renamed={"--by": "--criterion"})
@click.argument("table", type=FILE)
@click.option(
    "--offline",
    multiple=True,
    metavar="COLUMN",
    help="The offline difference of each row, such as that of nDCG@10; repeat to compare measures and cut-offs.  "
    "[columns called offline, or like a measure: delta_nDCG@10, ndcg_at_5_difference]",
)
@click.option(
    "--online",
    metavar="COLUMN",
    help="The online difference: of conversion, CTR, revenue, …  [online, ctr_difference, delta_revenue, …]",
)
@click.option(
    "--se", metavar="COLUMN", help="The standard error of the online difference, above 0.  [standard_error, se]"
)
@click.option("--offline-se", metavar="COLUMN", help="That of the offline difference (of the first).  [offline_se]")
@click.option(
    "--weight", metavar="COLUMN", help="How much a row counts: the traffic of a query.  [traffic, weight, impressions]"
)
@click.option("--name", metavar="COLUMN", help="What a row is called.  [experiment, test, query_id, name, …]")
@click.option(
    "--shipped", metavar="COLUMN", help="Whether it was shipped, yes or no.  [shipped, or else offline above --above]"
)
@click.option("--unit", type=click.Choice(UNITS), help="What a row is.  [queries if there is a query_id]")
@click.option("--step", type=float, default=0.01, help="Predict the online change for this offline one.  [0.01]")
@click.option("--above", type=float, default=0.0, help="Ship when the offline difference is above it.  [0]")
@click.option(
    "--criterion",
    type=click.Choice(CRITERIA),
    default="pearson",
    help="How the best offline column is chosen.  [pearson]",
)
@click.option("--labels", type=click.Choice(LABELS), default="judgments", help="Where grades come from.  [judgments]")
@shared("alpha")
@click.option("--per-unit", is_flag=True, help="A row for each experiment or query, with r and slope without it.")
@output_options()
def align(table: str, offline: tuple[str, ...], per_unit: bool, output: Output, **asked: Any) -> None:
    """Offline beside online: do differences of a measure go with those of the business, and which measure's do best?

    TABLE has a row for each experiment (or query) and a header: CSV, TSV, JSON, JSON lines, Parquet or Arrow; - is
    standard input. Rows hold differences of two systems (treatment − control), not levels. Every cell that is used must
    be a number: a gap is an error, and not left out. The suffix of -o says what to write: .svg, .png and .html are
    pictures.

    \b
    A table of experiments:                          …and of queries:
      experiment,delta_nDCG@10,conversion,se           query_id,delta_ndcg,delta_ctr,traffic
      synonyms,0.021,0.4,0.3                           shoes,0.12,0.004,5200

    \b
    Examples:
      rankgauge align experiments.csv
      rankgauge align experiments.csv --offline ndcg10 --online revenue_lift --se revenue_se
      rankgauge align experiments.csv --offline ndcg5 --offline ndcg10 --offline dcg10 --criterion spearman
      rankgauge align queries.parquet --offline ndcg_change --online ctr_change --weight searches --unit queries
      rankgauge align experiments.csv --per-unit -o influence.csv
      rankgauge align experiments.csv -o align.svg
    """
    from rankgauge.trust.online.align import align as aligned

    output.refuse_pictures(per_unit=per_unit)
    deliver(aligned(table, offline=offline or None, **asked), output, per_unit=per_unit)
