"""`rankgauge history`: a measure over time; `rankgauge labels`: whose labels there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankgauge.cli.options import command, shared
from rankgauge.cli.output import TEXTS, deliver, output_options

if TYPE_CHECKING:
    from rankgauge.cli.output import Output

__all__ = ["show_history", "show_labels"]


@command("history")
@click.argument("systems", nargs=-1, metavar="[@SYSTEM]...")
@shared(measure={"default": None, "help": "The measure.  [nDCG@10, or the first that was saved]"})
@output_options()
def show_history(systems: tuple[str, ...], measure: str | None, output: Output) -> None:
    """Show a measure over time, of the evaluations that 'rankgauge eval @labels @SYSTEM --save' kept.

    Values before and after a change of labels, rules or queries are not compared, and the change is named. An
    evaluation whose labels or run have changed since is stale, and says why.

    \b
    Examples:
      rankgauge history
      rankgauge history @bm25 @dense -m R@100
      rankgauge history -o history.svg
    """
    from rankgauge.cli.inputs import project

    deliver(project().history(measure, [each.removeprefix("@") for each in systems]), output)


@command("labels")
@click.option("--by", "judge", metavar="JUDGE", help="The labels of one judge.  [all, by the project's rule]")
@click.option("--fresh", is_flag=True, help="Leave out labels of an older text of the document.")
@output_options(TEXTS)
def show_labels(judge: str | None, fresh: bool, output: Output) -> None:
    """Show whose labels are stored, and what they come to.

    A ruling wins, then the judges in the order of [labels] in rankgauge.toml; several grades of one rank come to one by
    the policy that is written there (majority, if nothing is). Failed, refused and skipped judgments are no grades.

    \b
    Examples:
      rankgauge labels
      rankgauge labels --by ann
      rankgauge store export @labels:ann ann.txt
    """
    from rankgauge.cli.inputs import project

    deliver(project().label_counts(judge, fresh=fresh), output)
