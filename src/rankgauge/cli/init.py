"""`rankgauge init`: a project, with a store for queries, runs and judgments."""

from __future__ import annotations

import click

from rankgauge.cli.options import command

__all__ = ["make_project"]


@command("init")
@click.argument("folder", default=".")
@click.option("--db", metavar="URL", help="The store: sqlite:///FILE or postgresql://USER@HOST/NAME.  [a file]")
@click.option("--example", is_flag=True, help="With an example in it, which runs offline: rankgauge loop.")
def make_project(folder: str, db: str | None, example: bool) -> None:
    """Make a project: a folder with a store for queries, runs and judgments.

    Commands find the project from any folder inside it, and take @labels and @SYSTEM wherever they take a file. The
    folder prompts has what LLM judges are asked, to be changed at will. A password is never written: set PGPASSWORD,
    or RANKGAUGE_DB for the whole address.

    \b
    Examples:
      rankgauge init shop
      rankgauge init help-centre --example
      rankgauge init --db postgresql://search@db.example/labels
    """
    from rankgauge.judge.prompt import copy_prompts
    from rankgauge.steps.examples import init_example
    from rankgauge.store.project import init

    project = init_example(folder, db) if example else init(folder, db)
    copy_prompts(project.folder)
    then = f"rankgauge loop {project.folder}" if example else "rankgauge store import QRELS --judge NAME"
    click.echo(f"{project.folder}: a new project; next: {then}")
