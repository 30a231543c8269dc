"""Options that several commands share, built from the tables they come from."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import click

from rankgauge.protocol import RULES, Protocol

__all__ = [
    "FILE",
    "Once",
    "columns_option",
    "complete_measures",
    "measures_from_option",
    "output_options",
    "protocol_options",
    "reading_options",
]

Command = TypeVar("Command", bound=Callable[..., Any])


class Once(click.Command):
    """A command that refuses an option given twice which takes one value: the last would win in silence."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:
            _, _, order = self.make_parser(ctx).parse_args(args=list(args))
            single = [each for each in order if isinstance(each, click.Option) and not (each.multiple or each.is_flag)]
            for option in single:
                if single.count(option) > 1:
                    raise click.UsageError(f"{max(option.opts, key=len)} is given twice, and takes one value", ctx)
        return super().parse_args(ctx, args)


FILE = click.Path(allow_dash=True)  # the shell completes it; whether it can be read is for the reader to say

# The roles of read/names.py, which help must not import: it loads numpy.
ROLES = ("query_id", "doc_id", "relevance", "score", "rank")


def protocol_options(command: Command, *, without: tuple[str, ...] = ()) -> Any:
    """One option per rule of the protocol; the command gets them as one `protocol`.

    `without`: rules whose option the command uses for something else; they stay at their default.
    """
    offered = {rule: meanings for rule, meanings in RULES.items() if rule not in without}
    numbers = [rule for rule in ("rel", "depth") if rule not in without]

    @functools.wraps(command)
    def with_protocol(*args: Any, **options: Any) -> Any:
        rules = {name: options.pop(name) for name in (*offered, *numbers)}
        return command(*args, protocol=Protocol(**rules), **options)

    wrapped: Any = with_protocol
    if "depth" in numbers:
        wrapped = click.option("--depth", type=click.IntRange(1), help="Use only the first so many documents.")(wrapped)
    wrapped = click.option(
        "--rel", type=float, default=1.0, metavar="GRADE", help="The smallest relevant grade for binary measures.  [1]"
    )(wrapped)
    for rule, meanings in reversed(offered.items()):
        default, *_ = meanings
        words = f"{'; '.join(f'{value}: {words}' for value, words in meanings.items())}.  [{default}]"
        wrapped = click.option(
            f"--{rule.replace('_', '-')}", type=click.Choice(list(meanings)), default=default, help=words
        )(wrapped)
    return wrapped


def complete_measures(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Measures that begin with what was typed."""
    from rankgauge.measures import MEASURES

    names = [f"{name}@10" if row.cutoff == "k" else name for name, row in MEASURES.items()]
    return [name for name in names if name.lower().startswith(incomplete.lower())]


def output_options(command: Command) -> Command:
    """Where to write."""
    return click.option("-o", "--output", default="-", metavar="FILE", help="Write to a file.  [standard output]")(
        command
    )


def columns_option(command: Command) -> Command:
    """How to map column names."""
    return click.option(
        "--column",
        "columns",
        multiple=True,
        metavar="ROLE=NAME",
        callback=columns_given,
        help=f"Which column is which, where the names do not tell; roles: {', '.join(ROLES)}.",
    )(command)


def reading_options(command: Command, *, rows: bool = False) -> Any:
    """How to read the files; the command gets it as one `reading`.

    `rows`: with learning-to-rank rows and scores for them, which take the place of QRELS and RUN.
    """
    names = ("columns", "qrels_format", "run_format", *(("ltr", "scores", "query_sizes") if rows else ()))

    @functools.wraps(command)
    def with_reading(*args: Any, **options: Any) -> Any:
        from rankgauge.cli.inputs import Reading

        return command(*args, reading=Reading(**{name: options.pop(name) for name in names}), **options)

    wrapped = columns_option(ltr_options(with_reading) if rows else with_reading)
    for name, what in (("run", "runs"), ("qrels", "judgments")):
        words = f"The format of the {what}, where it is not as recognised: trec, csv, json, …"
        wrapped = click.option(f"--{name}-format", metavar="FORMAT", help=words)(wrapped)
    return wrapped


RULE = f"Or a rule, {'; '.join(f'{value}: {words}' for value, words in RULES['scores'].items())}.  [float64]"


def ltr_options(command: Any) -> Any:
    """Rows of a learning-to-rank file and scores for them."""
    for flags, words in (
        (["--query-sizes"], "The number of rows of each query, one a line.  [FILE.query or FILE.group beside FILE]"),
        (["--scores"], f"With --ltr: a model's score for each row, one a line; repeat for more models. {RULE}"),
        (["--ltr"], "Learning-to-rank rows (svmlight, LETOR; qid: or query sizes) instead of QRELS and RUN."),
    ):
        many = flags == ["--scores"]
        form = "[NAME=]FILE" if many else "FILE"
        command = click.option(*flags, multiple=many, type=FILE, metavar=form, help=words)(command)
    return command


def columns_given(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """`query_id=q` → {"query_id": "q"}."""
    for value in values:
        role, _, name = value.partition("=")
        if role not in ROLES or not name:
            raise click.BadParameter(f"{value!r} is not ROLE=NAME; the roles are {', '.join(ROLES)}")
    return dict(value.split("=", 1) for value in values)


def measures_from_option(command: Command) -> Command:
    """Measures of the user's own."""
    return click.option(
        "--measures-from",
        multiple=True,
        metavar="FILE.py",
        callback=load_measures,
        expose_value=False,
        is_eager=True,
        help="A Python file with measures of your own (@rankgauge.measure).",
    )(command)


def load_measures(context: click.Context, parameter: click.Parameter, paths: tuple[str, ...]) -> None:
    """Run the user's files, which puts their measures into the table."""
    if paths:
        from rankgauge.measures.user import load

        for path in paths:
            load(path)
