"""`rankgauge task`: pairs for people to judge, handed out in the app."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.options import FILE, command
from rankgauge.cli.output import TEXTS, deliver, output_options
from rankgauge.store.operator import operator

if TYPE_CHECKING:
    from rankgauge.cli.output import Output
    from rankgauge.judge.pairs import Pair
    from rankgauge.store.project import Project

__all__ = ["task"]


@click.group("task")
def task() -> None:
    """Pairs for people to judge: make a task, see how far it is; 'rankgauge serve' hands it out.

    \b
    Examples:
      rankgauge task make autumn --pool @bm25 @dense --overlap 2
      rankgauge task show autumn
      rankgauge task close autumn
    """


def share(context: click.Context, parameter: click.Parameter, value: str | None) -> float:
    """`5%` or `0.05` → 0.05."""
    try:
        number = 0.0 if value is None else float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 0.5:
        raise click.BadParameter(f"{value!r}: write a share of the pairs up to a half, such as 5%")
    return number


def names(context: click.Context, parameter: click.Parameter, value: str | None) -> list[str] | None:
    """`title,text` → the names."""
    if value is None:
        return None
    listed = [name.strip() for name in value.split(",")]
    if not all(listed) or len(set(listed)) < len(listed):
        raise click.BadParameter(f"{value!r}: write names with commas between them, each once")
    return listed


@command(
    "make",
    usual=("pool", "depth", "scale", "guidelines", "fields", "overlap", "raters", "gold", "repeat"),
    excludes=[("pairs", "pool")],
    requires=[("pairs", "pool")],
    needs={"depth": "pool", "latest_text": "pairs"},
    spread=("--pool",),
)
@click.argument("name")
@click.argument("pairs", required=False, type=FILE, metavar="[PAIRS]")
@click.option("--pool", multiple=True, metavar="@SYSTEM...", help="Pool these runs of the project instead of PAIRS.")
@click.option("--depth", type=click.IntRange(1), default=10, metavar="N", help="With --pool: the first N.  [10]")
@click.option("--scale", type=FILE, metavar="FILE", help="A TOML file, or 'graded' or 'binary'.  [graded: 0 to 3]")
@click.option("--guidelines", type=FILE, metavar="FILE.md", help="What raters should know, as Markdown.")
@click.option("--fields", callback=names, metavar="LIST", help="The document's fields to show: title,text.  [all]")
@click.option("--overlap", type=click.IntRange(1), default=1, metavar="N", help="How many raters judge a query.  [1]")
@click.option("--raters", callback=names, metavar="LIST", help="Who may judge: ann,bob.  [everybody]")
@click.option("--gold", callback=share, metavar="5%", help="Pairs of known grade among them, to check raters by.")
@click.option("--repeat", callback=share, metavar="3%", help="Pairs that raters are asked twice.")
@click.option("--latest-text", is_flag=True, help="Replace stored texts of documents by those of PAIRS.")
@click.option("--show-models", "shows_models", is_flag=True, help="Show what models said, after a rater's own grade.")
def make(
    name: str,
    pairs: str | None,
    pool: tuple[str, ...],
    depth: int,
    scale: str | None,
    guidelines: str | None,
    latest_text: bool,
    **how: Any,
) -> None:
    """Make a task for raters: pairs of a file, or what the runs of the project have found and nobody has judged.

    Queries are handed out whole, first those that leave most open about the runs, to exactly as many raters as asked
    for. Raters see no system, rank or score, and no label of anybody else.

    \b
    Examples:
      rankgauge task make autumn --pool @bm25 @dense --overlap 2
      rankgauge task make autumn pairs.jsonl --scale scale.toml --guidelines how.md
      rankgauge task make autumn pairs.jsonl --raters ann,bob --gold 5% --repeat 3%
    """
    from rankgauge.cli.inputs import project
    from rankgauge.judge.scale import Scale
    from rankgauge.raters.progress import progress
    from rankgauge.raters.tasks import make_task

    here = project()
    how |= {"scale": Scale.of(scale or "graded", where="--scale"), "guidelines": _text(guidelines)}
    found = _pooled(here, pool, depth) if pool else _read(pairs or "")
    with here.store(write=True) as store:
        latest = latest_text or bool(pool)  # a pool has the texts of the project's own file
        made = make_task(here, store, name, found, runs=pool, who=operator(), latest_text=latest, **_given(how))
        click.echo(progress(store, made).show(), nl=False)
    click.echo("Next: rankgauge serve", err=True)


def _given(how: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in how.items() if value is not None}


def _text(path: str | None) -> str:
    from rankgauge.errors import InputError

    if path is None:
        return ""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not a text in UTF-8; save it as one") from None


def _pooled(project: Project, runs: tuple[str, ...], depth: int) -> tuple[Pair, ...]:
    from rankgauge.judge.pooled import pool_of
    from rankgauge.store.sources import Address

    read = {run: Address.of(run, project).run() for run in dict.fromkeys(runs)}
    return pool_of(project, read, depth=depth, keep=False).pairs


def _read(path: str) -> list[Pair]:
    from rankgauge.judge.pairs import read_pairs

    return read_pairs(path)


@command("list")
@output_options(TEXTS)
def list_tasks(output: Output) -> None:
    """List every task, and how far it is.

    \b
    Examples:
      rankgauge task list
    """
    from rankgauge.cli.inputs import project
    from rankgauge.raters.progress import task_list

    with project().store() as store:
        deliver(task_list(store), output)


@command("show")
@click.argument("name")
@output_options(TEXTS)
def show(name: str, output: Output) -> None:
    """Show how far a task is, rater by rater.

    \b
    Examples:
      rankgauge task show autumn
    """
    from rankgauge.cli.inputs import project
    from rankgauge.raters.progress import progress
    from rankgauge.raters.tasks import task_of

    with project().store() as store:
        deliver(progress(store, task_of(store, name)), output)


@command("close")
@click.argument("name")
def close(name: str) -> None:
    """Take no more judgments; those that were given stay.

    \b
    Examples:
      rankgauge task close autumn
    """
    from rankgauge.raters.tasks import close_task

    _change(close_task, name, "closed")


@command("open")
@click.argument("name")
def open_again(name: str) -> None:
    """Take judgments again.

    \b
    Examples:
      rankgauge task open autumn
    """
    from rankgauge.raters.tasks import open_task

    _change(open_task, name, "open")


def _change(change: Any, name: str, state: str) -> None:
    from rankgauge.cli.inputs import project

    with project().store(write=True) as store:
        change(store, name, operator())
    click.echo(f"task {name} is {state}")


for each in (make, list_tasks, show, close, open_again):
    task.add_command(each)
