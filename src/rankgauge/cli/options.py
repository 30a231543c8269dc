"""Options that several commands share, built from the tables they come from."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from rankgauge.cli.strict import FILE, Strict
from rankgauge.protocol import RULES, Protocol
from rankgauge.show.model import DELTAS

__all__ = ["FILE", "columns_option", "command", "protocol_options", "reading_options", "shared"]

Command = TypeVar("Command", bound=Callable[..., Any])


MOST: Final = 2**31 - 1  # documents of a ranking

# The roles of read/names.py, which help must not import: it loads numpy.
ROLES = ("query_id", "doc_id", "relevance", "score", "rank")


def command(name: str, *, cls: type[Strict] = Strict, **rules: Any) -> Callable[[Callable[..., Any]], Strict]:
    """A command with the rules of its options, as `Strict` has them."""
    return click.command(name, cls=cls, **rules)


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
        wrapped = click.option(
            "--depth", type=click.IntRange(1, MOST), metavar="N", help="Evaluate only the top N documents."
        )(wrapped)
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


def columns_option(command: Command, name: str = "column", words: str = "") -> Command:
    """How to map column names."""
    words = words or f"Name a column: query_id=q; roles: {', '.join(ROLES)}."
    key = f"{name.replace('-', '_')}s"
    return click.option(
        f"--{name}", key, multiple=True, metavar="ROLE=NAME", callback=columns_given, help=words
    )(command)  # fmt: skip


def reading_options(command: Command, *, rows: bool = False) -> Any:
    """How to read the files; the command gets it as one `reading`.

    `rows`: with learning-to-rank rows and scores for them, which take the place of QRELS and RUN.
    """
    names = ["columns", "qrels_columns", "run_columns", "qrels_format", "run_format", "fresh"]
    names += ["ltr", "predictions", "query_sizes"] if rows else []

    @functools.wraps(command)
    def with_reading(*args: Any, **options: Any) -> Any:
        from rankgauge.cli.inputs import Reading

        return command(*args, reading=Reading(**{name: options.pop(name) for name in names}), **options)

    wrapped = ltr_options(with_reading) if rows else with_reading
    words = "Leave out stored labels of an older text of the document."
    wrapped = click.option("--fresh", is_flag=True, help=words)(wrapped)
    for name, what in (("run", "runs"), ("qrels", "judgments")):
        wrapped = columns_option(wrapped, f"{name}-column", f"The same for the {what} alone.")
    wrapped = columns_option(wrapped)
    for name, what in (("run", "runs"), ("qrels", "judgments")):
        words = f"The format of the {what}, where it is not as recognised: trec, csv, json, …"
        wrapped = click.option(f"--{name}-format", metavar="FORMAT", help=words)(wrapped)
    return wrapped


# What a command with learning-to-rank rows refuses: the one without the other.
LTR_NEEDS: Final = {"predictions": "ltr", "query_sizes": "ltr", "ltr": "predictions"}
LTR_HINTS: Final = {"predictions": "the scores of a model for its rows"}


def ltr_options(command: Any) -> Any:
    """Rows of a learning-to-rank file and scores for them."""
    for flag, words in (
        ("--query-sizes", "The number of rows of each query, one a line.  [FILE.query or FILE.group beside FILE]"),
        ("--predictions", "With --ltr: a model's score for each row, one a line; repeat for more models."),
        ("--ltr", "Learning-to-rank rows (svmlight, LETOR; qid: or query sizes) instead of QRELS and RUN."),
    ):
        many = flag == "--predictions"
        form = "[NAME=]FILE" if many else "FILE"
        command = click.option(flag, multiple=many, type=FILE, metavar=form, help=words)(command)
    return command


def columns_given(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    """`query_id=q` → {"query_id": "q"}."""
    for value in values:
        role, _, name = value.partition("=")
        if role not in ROLES or not name:
            raise click.BadParameter(f"{value!r} is not ROLE=NAME; the roles are {', '.join(ROLES)}")
    return dict(value.split("=", 1) for value in values)


def load_measures(context: click.Context, parameter: click.Parameter, paths: tuple[str, ...]) -> None:
    """Run the user's files, which puts their measures into the table."""
    if paths:
        from rankgauge.measures.user import load

        for path in paths:
            load(path)


def complete_measures(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """Measures that begin with what was typed."""
    from rankgauge.measures import MEASURES

    names = [f"{name}@10" if row.cutoff == "k" else name for name, row in MEASURES.items()]
    return [name for name in names if name.lower().startswith(incomplete.lower())]


def scale_given(context: click.Context, parameter: click.Parameter, value: str | None) -> list[float] | None:
    """`0,1,2,3` → numbers."""
    if value is None:
        return None
    try:
        return [float(part) for part in value.replace(",", " ").split()]
    except ValueError as error:
        raise click.BadParameter(f"{error}; write the scale as 0,1,2,3") from None


# ---- options of several commands, each typed once --------------------------------------------------------------------

REPEATED = click.Choice(["first", "last", "majority", "mean"])
DELTA_WORDS = "; ".join(f"{name}: {words}" for name, words in DELTAS.items())


def _file(spelling: str, words: str) -> tuple[tuple[str, ...], dict[str, Any]]:
    return (spelling,), {"type": FILE, "metavar": "FILE", "help": words}


# Name → spellings and settings.
SHARED: Final[dict[str, tuple[tuple[str, ...], dict[str, Any]]]] = {
    "measures": (
        ("-m", "--measure", "measures"),
        {"multiple": True, "help": "A measure; repeat for more.  [nDCG@10]", "shell_complete": complete_measures},
    ),
    "measure": (
        ("-m", "--measure"),
        {"default": "nDCG@10", "help": "The measure.  [nDCG@10]", "shell_complete": complete_measures},
    ),
    "measures_from": (
        ("--measures-from",),
        {
            "multiple": True, "type": FILE, "metavar": "FILE.py", "callback": load_measures, "expose_value": False,
            "is_eager": True, "help": "A Python file with measures of your own; the file is executed.",
        },
    ),
    "keep_going": (
        ("--keep-going",), {"is_flag": True, "help": "Leave out a run that cannot be read, and say which."}
    ),
    "memory": (
        ("--memory",),
        {"metavar": "SIZE", "help": "What blocks of a large run may take, such as 2GB.  [a quarter of what is free]"},
    ),
    "jobs": (("--jobs",), {"type": click.IntRange(1), "metavar": "N", "help": "Runs read at once, in processes.  [1]"}),
    "per_query": (("-q", "--per-query"), {"is_flag": True, "help": "The values of every query."}),
    "dialect": (
        ("--dialect",), {"metavar": "NAME", "help": "Follow another tool; 'rankgauge dialects' lists them."}
    ),
    "baseline": (
        ("--baseline",), {"metavar": "NAME", "help": "Compare each system with this one only.  [every pair]"}
    ),
    "queries": _file("--queries", "Query texts: a table, or id and text on each line."),
    "documents": _file("--documents", "Document texts, of which the beginnings are shown."),
    "by": _file("--by", "Groups of queries: a table with a query and a group column."),
    "weights": _file("--weights", "Weights of queries: a table with a query and a weight column."),
    "sample": _file("--sample", "What 'rankgauge sample' drew: means of the whole log, with intervals; or none."),
    "per": (
        ("--per",),
        {"type": click.Choice(["search", "query"]), "help": "With a sample: means per search or per query.  [search]"},
    ),
    "population": (
        ("--population",),
        {
            "type": click.Choice(["log", "future"]),
            "help": "With a sample: intervals and p are about its log, or about future searches.  [log]",
        },
    ),
    "clusters": _file("--clusters", "Dependent queries: a table with a query and a cluster column."),
    "alpha": (
        ("--alpha",),
        {"type": float, "default": 0.05, "metavar": "A", "help": "Significance level; intervals are 1 − A.  [0.05]"},
    ),
    "flips": (
        ("--flips",), {"type": click.IntRange(1), "default": 100_000, "help": "Random sign flips.  [100000]"}
    ),
    "seed": (
        ("--seed",), {"type": click.IntRange(0), "default": 0, "help": "The random seed.  [0]"}
    ),
    "scale": (
        ("--scale",),
        {"metavar": "LIST", "callback": scale_given, "help": "The scale of grades: 0,1,2,3.  [as in the judgments]"},
    ),
    "repeated": (
        ("--repeated",),
        {"type": REPEATED, "help": "How to combine several grades of one judge for one pair."},
    ),
    "second": (
        ("--second",),
        {
            "multiple": True, "type": FILE, "metavar": "[NAME=]QRELS",
            "help": "Labels of another judge; repeat for more.",
        },
    ),
    "candidates": (
        ("--candidates",),
        {"type": click.IntRange(1), "metavar": "N", "help": "Only the first N retrieved are candidates."},
    ),
    "restrict": (
        ("--restrict",), {"is_flag": True, "help": "Drop reranked documents that are no candidates.  [an error]"}
    ),
    "error_rate": (
        ("--error-rate",),
        {"type": click.FloatRange(0, 1), "metavar": "X", "help": "Label noise: the share of wrong labels."},
    ),
    "confusion": _file("--confusion", "Label noise: a matrix, rows true, columns label."),
    "deltas": (
        ("--deltas",),
        {"type": click.Choice(list(DELTAS)), "default": "absolute", "help": f"With --baseline: {DELTA_WORDS}."},
    ),
}  # fmt: skip


def shared(*names: str, **changed: str | dict[str, Any]) -> Callable[[Command], Command]:
    """Options that several commands have, by name; of those that are `changed`, the help or some settings differ."""

    def declared(command: Command) -> Command:
        for name in reversed([*names, *changed]):
            spellings, settings = SHARED[name]
            change = changed.get(name, {})
            command = click.option(*spellings, **settings | ({"help": change} if isinstance(change, str) else change))(
                command
            )
        return command

    return declared
