"""The command line: parse → call → show. Commands are imported when they are called, so that help is quick."""

from __future__ import annotations

import importlib
import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import click

from rankgauge import __version__
from rankgauge.errors import RankgaugeError, RankgaugeWarning, unknown

__all__ = ["main"]

FAULT: Final = 70  # the exit code of a fault in rankgauge itself, as sysexits.h has it
OTHERS: Final = "What is stored, other tools, files, look up"
CALLING: Final = ("search", "judge", "loop")  # commands that call functions of the user's, who may want every processor
# What a person wants → command → where it is, and one line of help.
GROUPS: Final[dict[str, dict[str, tuple[str, str]]]] = {
    "Measure and compare": {
        "eval": ("eval:evaluate_runs", "Measure runs: nDCG@10 and 39 other measures."),
        "compare": ("compare:compare_runs", "Is one run better than another, and is it significant?"),
        "report": ("report:write_report", "One page with verdict, tables and charts, to share."),
        "serve": ("serve:serve_runs", "Look at runs in a browser; judge pairs there."),
    },
    "Understand and decide": {
        "explain": ("explain:explain_values", "Which queries got worse, and why; one value rank by rank."),
        "funnel": ("funnel:funnel_runs", "Retriever or reranker: what each stage finds and loses."),
        "check": ("check:check_run", "A gate for CI: PASS, FAIL or INCONCLUSIVE against a baseline."),
        "plan": ("plan:plan_queries", "How many queries to judge; the minimum detectable effect."),
    },
    "From queries to labels": {
        "init": ("init:make_project", "Make a project, which keeps queries, runs and labels."),
        "sample": ("sample:sample_queries", "Draw queries of a search log, to judge and to measure."),
        "search": ("search:search_system", "Ask a live system every query; keep every answer."),
        "pool": ("pool:pool_runs", "What to judge of several runs."),
        "judge": ("judge:judge_pairs", "Have a model or a function grade pairs; keep every answer."),
        "task": ("task:task", "Have people grade pairs, in the browser: see serve."),
        "loop": ("loop:run_loop", "All of it, from queries to a report, as rankgauge.toml says."),
    },
    "Trust the labels": {
        "validate": ("validate:validate", "Find mistakes in judgments and runs, and their effect."),
        "judgments": ("judgments:judgments", "How complete judgments are, and what to judge next."),
        "agree": ("agree:agree", "How well judges agree: people, models, or both."),
        "ppi": ("ppi:ppi", "Human-judged scores from few human and many LLM labels."),
        "align": ("align:align", "Offline vs. online: does the measure predict the business?"),
    },
    OTHERS: {
        "store": ("store:store", "Import, export, dump, restore; what is stored."),
        "judge-page": ("judge_page:write_judge_page", "A page on which people judge, as one file."),
        "plot": ("plot:plot_runs", "One chart as PNG, SVG or a page."),
        "bench": ("bench:bench_suite", "A leaderboard over many data sets."),
        "labels": ("history:show_labels", "Whose labels are stored, and what they come to."),
        "history": ("history:show_history", "A measure over time, of saved evaluations."),
        "user": ("user:user", "Who may judge and look in the app: passwords, roles, tokens."),
        "dialects": ("dialects:dialects", "The score that 31 other tools report; find a convention."),
        "trec_eval": ("trec_eval:trec_eval", "A drop-in for trec_eval: its options, its output."),
        "convert": ("convert:convert", "Turn judgments or a run into another format."),
        "measures": ("measures:list_measures", "The measures: names, formulas, parameters."),
        "rules": ("rules:explain_rules", "The rules: ties, unjudged documents, missing queries."),
        "completion": ("completion:completion", "The completion script of a shell."),
    },
}
COMMANDS: Final = {name: command for group in GROUPS.values() for name, command in group.items()}
# Another word for a command → the command: the first are understood, the others answered.
SYNONYMS: Final = {"evaluate": "eval", "score": "eval", "measure": "eval"}
GUESSES: Final = {
    **dict.fromkeys(("metric", "metrics"), "measures"),
    **dict.fromkeys(("diff", "significance", "test", "ttest"), "compare"),
    **dict.fromkeys(("gate", "ci", "regression"), "check"),
    **dict.fromkeys(("chart", "graph", "draw"), "plot"),
    **dict.fromkeys(("html", "page"), "report"),
    **dict.fromkeys(("web", "app", "ui", "gui", "browse", "view"), "serve"),
    **dict.fromkeys(("why", "worst", "query"), "explain"),
    **dict.fromkeys(("power", "sample-size"), "plan"),
    **dict.fromkeys(("kappa", "agreement"), "agree"),
    **dict.fromkeys(("lint", "doctor"), "validate"),
    **dict.fromkeys(("leaderboard", "beir", "mteb"), "bench"),
    **dict.fromkeys(("draw", "subsample"), "sample"),
    **dict.fromkeys(("users", "account", "passwd", "login"), "user"),
    **dict.fromkeys(("retrieve", "rerank", "ask"), "search"),
    "protocol": "rules",
}


class ClosedPipe(Exception):
    """The reader of standard output has had enough (`| head`)."""


@contextmanager
def _noticing_a_closed_pipe() -> Iterator[None]:
    """click makes exit code 1 of a broken pipe; under a name that it does not know, the error reaches `main`."""
    try:
        yield
    except BrokenPipeError:
        raise ClosedPipe from None


class Commands(click.Group):
    """Looks a command up in the table and imports its module then."""

    def make_context(self, *args: Any, **named: Any) -> click.Context:
        with _noticing_a_closed_pipe():
            return super().make_context(*args, **named)

    def invoke(self, ctx: click.Context) -> Any:
        with _noticing_a_closed_pipe():
            return super().invoke(ctx)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[name][0].partition(":")
        command: click.Command = getattr(importlib.import_module(f"rankgauge.cli.{module}"), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for group, commands in GROUPS.items():
            with formatter.section(group):
                if group == OTHERS:  # by name alone, so that all fit on a screen
                    formatter.write_text(", ".join(commands))
                else:
                    formatter.write_dl([(f"{name:{width}}", words) for name, (_, words) in commands.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        args = [SYNONYMS.get(args[0], args[0]), *args[1:]] if args else args
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            words = f"there is no command {args[0]!r}"
            if args[0] in GUESSES:
                raise click.UsageError(f"{words}; what you look for is 'rankgauge {GUESSES[args[0]]}'", ctx)
            raise click.UsageError(unknown(words, args[0], COMMANDS, "'rankgauge --help' lists all"), ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rankgauge")
@click.option("--project", metavar="FOLDER", help="The project, if not this folder or one above it.")
def cli(project: str | None) -> None:
    """Is the new ranking better, and can the number be trusted?

    \b
    Examples:
      rankgauge compare qrels.txt old.run new.run
      rankgauge explain qrels.txt old.run new.run --worst 5
      rankgauge check qrels.txt new.run --baseline old.run --margin 0.01
    """


def main() -> None:
    """Run the command; a user's mistake is one line on standard error and exit code 2, never a traceback."""
    if not any(word in CALLING for word in sys.argv[1:]):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # matrices are small here, and starting threads takes time
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # an old terminal shows ? instead of a traceback
    warnings.simplefilter("always", RankgaugeWarning)
    warnings.showwarning = _show_warning
    try:
        code = cli(standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        words = io.StringIO()
        error.show(words)
        _say(words.getvalue().removesuffix("\n"))
        code = error.exit_code
    except RankgaugeError as error:
        _say(f"error: {error}")
        code = error.exit_code
    except click.exceptions.Abort:  # Ctrl-C
        click.echo("interrupted", err=True)
        code = 130
    except (ClosedPipe, BrokenPipeError):
        _discard_output()
        code = 0
    except OSError as error:  # the disk is full, a device fails
        _discard_output()
        _say(f"error: {error.filename or 'standard output'}: {error.strerror or error}")
        code = 2
    except MemoryError:
        click.echo("error: not enough memory for this input", err=True)
        code = 2
    except Exception:  # a fault of ours; never 1, which is the answer FAIL of a gate
        import traceback

        traceback.print_exc()
        code = FAULT
    sys.exit(code if isinstance(code, int) else 0)


def _say(words: str) -> None:
    """A message, in which names from files and the command line give a terminal no orders."""
    from rankgauge.show.cells import printable

    click.echo("\n".join(map(printable, words.split("\n"))), err=True)


def _open_closed_streams() -> None:
    """Where a stream was closed (`>&-`), reading finds nothing, printing is an error, and errors go nowhere."""
    for name, way, mode in (("stdin", os.O_RDONLY, "r"), ("stdout", os.O_RDONLY, "w"), ("stderr", os.O_WRONLY, "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.open(os.devnull, way), mode, encoding="utf-8"))  # noqa: SIM115


def _discard_output() -> None:
    """What is still to be printed goes nowhere: nobody reads it, or it cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(message: Warning | str, category: type[Warning], *more: Any, **named: Any) -> None:
    _say(f"warning: {message}")
