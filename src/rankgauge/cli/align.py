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


@command(
    "align",
    usual=("offline", "online", "se", "weight", "shipped", "unit", "labels", "output", "format"),
    renamed={"--by": "--criterion"},
)
@click.argument("table", type=FILE)
@click.option(
    "--offline",
    multiple=True,
    metavar="COLUMN",
    help="The offline difference; repeat to compare measures.  [offline, delta_nDCG@10, ndcg_at_5_difference, …]",
)
@click.option(
    "--online",
    metavar="COLUMN",
    help="The online difference.  [online, ctr_difference, delta_revenue, …]",
)
@click.option("--se", metavar="COLUMN", help="The standard error of the online difference.  [standard_error, se]")
@click.option("--offline-se", metavar="COLUMN", help="The standard error of the offline difference.  [offline_se]")
@click.option("--weight", metavar="COLUMN", help="The weight of a row.  [traffic, weight, impressions]")
@click.option("--name", metavar="COLUMN", help="The name of a row.  [experiment, test, query_id, name, …]")
@click.option("--shipped", metavar="COLUMN", help="Whether it was shipped.  [shipped, or offline above --above]")
@click.option("--unit", type=click.Choice(UNITS), help="What a row is.  [queries if there is a query_id]")
@click.option("--step", type=float, default=0.01, help="Predict the online change for this offline change.  [0.01]")
@click.option("--above", type=float, default=0.0, help="Ship when the offline difference is above this.  [0]")
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
    """Offline vs. online: do differences of a measure predict those of a business metric, and which measure is best?

    TABLE has a header and a row for each experiment (or query): CSV, TSV, JSON, JSON lines, Parquet or Arrow; - is
    standard input. Rows hold differences (treatment − control), not levels. An empty cell is an error.

    \b
    Experiments:                              Queries:
      experiment,delta_nDCG@10,conversion,se    query_id,delta_ndcg,delta_ctr
      synonyms,0.021,0.4,0.3                    shoes,0.12,0.004

    \b
    Examples:
      rankgauge align experiments.csv
      rankgauge align experiments.csv --offline ndcg10 --online revenue
      rankgauge align experiments.csv --offline ndcg5 --offline ndcg10
      rankgauge align queries.parquet --weight searches --unit queries
      rankgauge align experiments.csv --per-unit -o influence.csv
      rankgauge align experiments.csv -o align.svg
    """
    from rankgauge.trust.online.align import align as aligned

    output.refuse_pictures(per_unit=per_unit)
    deliver(aligned(table, offline=offline or None, **asked), output, per_unit=per_unit)
