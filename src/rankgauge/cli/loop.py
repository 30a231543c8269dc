"""`rankgauge loop`: from queries to a report, as rankgauge.toml describes it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from rankgauge.cli.options import command
from rankgauge.cli.output import TEXTS, deliver, output_options
from rankgauge.steps.loop import STEPS, loop, plan_loop

if TYPE_CHECKING:
    from rankgauge.cli.output import Output
    from rankgauge.steps.looped import Step

__all__ = ["run_loop"]

STEP = click.Choice(STEPS)
CLEAR = "\r\033[K"  # the line of a terminal


@command("loop", excludes=[("only", "until"), ("only", "start"), ("dry_run", ("only", "until", "start"))])
@click.argument("project", default=".", metavar="[PROJECT]")
@click.option("--dry-run", is_flag=True, help="Say what each step would do, and why; ask, send and store nothing.")
@click.option("--until", type=STEP, metavar="STEP", help="End after this step.")
@click.option("--from", "start", type=STEP, metavar="STEP", help="Begin with this step.")
@click.option("--only", type=STEP, metavar="STEP", help="Do this step alone.")
@click.option("--again", multiple=True, metavar="NAME", help="Ask this system again, or all of them.")
@output_options(TEXTS)
def run_loop(
    project: str,
    dry_run: bool,
    until: str | None,
    start: str | None,
    only: str | None,
    again: tuple[str, ...],
    output: Output,
) -> None:
    """Sample, search, pool, judge, evaluate, compare, report: as rankgauge.toml describes it.

    PROJECT is a folder, or its rankgauge.toml, which is checked whole before anything starts. A step whose inputs have
    not changed is not done again, and the same command goes on where it stopped. Exit code 4: a step has not come to
    its end, or a judge cannot judge.

    \b
    Steps: sample, search, pool, judge, evaluate, compare, report.

    \b
    Examples:
      rankgauge init shop --example && cd shop && rankgauge loop
      rankgauge loop --dry-run
      rankgauge loop --until pool
      rankgauge loop --from evaluate
      rankgauge loop --again bm25
    """
    if dry_run:
        from rankgauge.show.text import wrapped

        for step in plan_loop(project, again=again):
            click.echo("\n".join(wrapped(f"{step.name:<9}{step.words}")))
        return
    watched = _progress if sys.stderr.isatty() else None
    looped = loop(project, until=until, start=start, only=only, again=again, told=_say, progress=watched)
    if looped.evaluation is not None:
        click.echo(err=True)
        deliver(looped, output)
    looped.check()


def _say(step: Step) -> None:
    click.echo(f"{CLEAR if sys.stderr.isatty() else ''}{_line(step)}", err=True)


def _line(step: Step) -> str:
    return f"{step.name:<9}{step.words}{' (as before)' if step.kept else ''}"


def _progress(name: str, done: int, total: int, failed: int) -> None:
    lost = f", {failed:,} failed" if failed else ""
    click.echo(f"{CLEAR}{name}: {done:,} of {total:,}{lost}", err=True, nl=False)
