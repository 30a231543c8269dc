"""`rankgauge history`: a measure over time; `rankgauge labels`: whose labels there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankgauge.cli.options import command, shared
from rankgauge.cli.output import TEXTS, deliver, output_options

if TYPE_CHECKING:
    from rankgauge.cli.output import Output
    from rankgauge.shown import Shown
    from rankgauge.store.project import Project

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


@command(
    "labels",
    needs={"task": ("ledger", "disputes"), "measure": "disputes", "other_settings": "judge"},
    excludes=[("judge", "ledger", "disputes"), ("fresh", "ledger", "disputes", "other_settings")],
)
@click.option("--by", "judge", metavar="JUDGE", help="The labels of one judge.  [all, by the project's rule]")
@click.option("--fresh", is_flag=True, help="Leave out labels of an older text of the document.")
@click.option("--other-settings", is_flag=True, help="With --by: labels of other settings than rankgauge.toml's.")
@click.option("--ledger", is_flag=True, help="Every judge: labels, pace, agreement, bias, drift, cost.")
@click.option("--disputes", is_flag=True, help="Pairs with different grades, the largest effect on the measure first.")
@click.option("--task", metavar="NAME", help="With --ledger or --disputes: the pairs of a task alone.")
@shared(measure="With --disputes: the measure.  [nDCG@10]")
@output_options(TEXTS)
def show_labels(
    judge: str | None,
    fresh: bool,
    other_settings: bool,
    ledger: bool,
    disputes: bool,
    task: str | None,
    measure: str,
    output: Output,
) -> None:
    """Show whose labels are stored, and what they come to; how good judges are; on what they differ.

    A ruling wins, then the judges in the order of [labels] in rankgauge.toml; several grades of one rank come to one by
    the policy that is written there (majority, if nothing is). Failed, refused and skipped judgments are no grades.

    \b
    Examples:
      rankgauge labels
      rankgauge labels --by ann
      rankgauge labels --by gpt --other-settings
      rankgauge labels --ledger --task autumn
      rankgauge labels --disputes -m nDCG@10
      rankgauge store export @labels:ann ann.txt
    """
    from rankgauge.cli.inputs import project

    if ledger or disputes:
        deliver(_looked_into(project(), task, None if ledger else measure), output)
    elif other_settings and judge is not None:
        deliver(project().other_settings(judge), output)
    else:
        deliver(project().label_counts(judge, fresh=fresh), output)


def _looked_into(project: Project, name: str | None, measure: str | None) -> Shown:
    """The disputes by their effect on a measure; without one, the ledger."""
    from rankgauge.raters.disputes import adjudication
    from rankgauge.raters.ledger import ledger
    from rankgauge.raters.tasks import task_of

    with project.store() as store:
        task = None if name is None else task_of(store, name)
        return ledger(project, store, task) if measure is None else adjudication(project, store, task, measure=measure)
