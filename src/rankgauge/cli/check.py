"""`rankgauge check`: may this run replace the baseline?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.options import (
    FILE,
    complete_measures,
    measures_from_option,
    output_options,
    protocol_options,
    reading_options,
)

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.protocol import Protocol

__all__ = ["check_run"]


@click.command("check")
@click.argument("qrels", type=FILE)
@click.argument("run", type=FILE, metavar="[NAME=]RUN")
@click.option("--baseline", metavar="[NAME=]FILE", help="A run, or what eval --per-query --format json saved.")
@click.option(
    "-m", "--measure", "measures", multiple=True, help="A measure; repeat for more.  [nDCG@10]",
    shell_complete=complete_measures,
)  # fmt: skip
@measures_from_option
@click.option(
    "--margin", "margins", multiple=True, metavar="[MEASURE=]M", help="The loss that does not matter; no default."
)
@click.option(
    "--min", "minimums", multiple=True, metavar="MEASURE=X", help="The mean must be at least X; repeat for more."
)
@click.option("--inconclusive", type=click.Choice(["pass", "fail"]), help="Exit with 0 or 1 instead of 3.")
@click.option("--lost", type=click.IntRange(0), default=5, metavar="N", help="Name the N queries that lost most.  [5]")
@click.option("--markdown", metavar="FILE", help="Write Markdown for a pull request, too.")
@click.option("--junit", metavar="FILE", help="Write JUnit XML, too.")
@click.option("--save-baseline", metavar="FILE", help="If it passed, save its values as a baseline.")
@click.option("--ratchet", is_flag=True, help="If it passed and is better, replace the baseline.")
@click.option("--format", "format", type=click.Choice(["table", "markdown", "json"]), help="How to print.  [table]")
@output_options
@protocol_options
@reading_options
def check_run(
    qrels: str, run: str, protocol: Protocol, reading: Reading, inconclusive: str | None, lost: int, **options: Any
) -> int:
    """Check that a run is not worse than a baseline by more than a margin: PASS, FAIL or INCONCLUSIVE.

    PASS (exit 0): the one-sided 95 % lower bound of the mean difference is at least −margin. FAIL (exit 1): its upper
    bound is below −margin. INCONCLUSIVE (exit 3): these queries cannot tell; the number that could is printed. --min
    tests a mean in the same way. Of several answers the worst counts. Misuse, and a baseline on other judgments or
    under other rules, exit with 2.

    \b
    Examples:
      rankgauge eval qrels.txt old.run -m nDCG@10 --per-query --format json -o baseline.json
      rankgauge check qrels.txt new.run --baseline baseline.json -m nDCG@10 --margin 0.01
      rankgauge check qrels.txt new.run --baseline old.run --margin 0.01 --min R@100=0.8
      rankgauge check qrels.txt new.run --baseline baseline.json --margin 0.02 --ratchet --markdown check.md
    """
    from rankgauge.cli.checking import Asked, checked, deliver

    asked = Asked(**options)
    found = checked(qrels, run, asked, protocol, reading, lost)
    return deliver(found, asked, inconclusive)
