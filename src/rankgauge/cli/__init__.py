"""The command line: parse → call → show. Commands are imported when they are called, so that help is quick."""

from __future__ import annotations

import importlib
import io
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from rankgauge import __version__
from rankgauge.errors import RankgaugeError, RankgaugeWarning, unknown

__all__ = ["main"]

FAULT = 70  # the exit code of a fault in rankgauge itself, as sysexits.h has it
# Command → where it is, and one line of help.
COMMANDS = {
    "eval": ("eval:evaluate_runs", "Measure runs against judgments: nDCG@10 and whatever else you ask for."),
    "compare": ("compare:compare_runs", "Compare systems: which differences are real, and how large they are."),
    "report": ("report:write_report", "Report on runs in one file that opens anywhere: tables, charts, words."),
    "plot": ("plot:plot_runs", "Draw a chart: intervals, differences, values against K, … as PNG, SVG or a page."),
    "bench": ("bench:bench_suite", "Measure systems on many data sets: a leaderboard with intervals."),
    "check": ("check:check_run", "A gate: PASS, FAIL or INCONCLUSIVE against a baseline, by bounds and a margin."),
    "plan": ("plan:plan_queries", "How many queries an experiment needs, and what a set of queries can show."),
    "explain": ("explain:explain_values", "Explain a value rank by rank, and what would raise it."),
    "funnel": (
        "funnel:funnel_runs",
        "Retriever and reranker apart: what each stage reached, lost, and could have won.",
    ),
    "validate": ("validate:validate", "Look for what is wrong in judgments and runs, and what it does to the score."),
    "judgments": ("judgments:judgments", "What judgments hold, what they leave open, and what to judge next."),
    "agree": ("agree:agree", "How well judges agree, and what the choice of judge does to systems."),
    "ppi": ("ppi:ppi", "Values under people's judgments, from a few of these and all of a model's."),
    "align": ("align:align", "Offline beside online: do differences of a measure go with those of the business?"),
    "dialects": ("dialects:dialects", "What other tools say of the same files, and which one gives a number."),
    "measures": ("measures:list_measures", "List the measures, or explain one."),
    "convert": ("convert:convert", "Turn judgments or a run into another format."),
    "trec_eval": ("trec_eval:trec_eval", "A drop-in for trec_eval: its options, its output."),
    "completion": ("completion:completion", "Print the completion script of a shell."),
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
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, words) in COMMANDS.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            words = f"there is no command {args[0]!r}"
            raise click.UsageError(unknown(words, args[0], COMMANDS, "'rankgauge --help' lists all"), ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rankgauge")
def cli() -> None:
    """Measure how good a ranking is, with NDCG@K at the centre.

    \b
    Examples:
      rankgauge eval qrels.txt bm25.run reranked.run -m nDCG@10 -m R@100
      rankgauge eval qrels.tsv.gz run.parquet --per-query --format csv
      rankgauge compare qrels.txt bm25.run reranked.run -m nDCG@10
      rankgauge plot forest qrels.txt bm25.run reranked.run -o forest.png
      rankgauge bench beir/ --baseline bm25
      rankgauge check qrels.txt new.run --baseline old.run --margin 0.01
      rankgauge explain qrels.txt bm25.run --query 17
      rankgauge funnel qrels.txt --retrieved bm25.run --reranked reranked.run
      rankgauge measures nDCG
      rankgauge trec_eval -m all_trec -q qrels.txt bm25.run
    """


def main() -> None:
    """Run the command; a user's mistake is one line on standard error and exit code 2, never a traceback."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # matrices are small here, and starting threads takes time
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # an old terminal shows ? instead of a traceback
    warnings.simplefilter("always", RankgaugeWarning)
    warnings.showwarning = _show_warning
    try:
        code = cli(standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except RankgaugeError as error:
        click.echo(f"error: {error}", err=True)
        code = 2
    except click.exceptions.Abort:  # Ctrl-C
        click.echo("interrupted", err=True)
        code = 130
    except (ClosedPipe, BrokenPipeError):
        _discard_output()
        code = 0
    except OSError as error:  # the disk is full, a device fails
        _discard_output()
        click.echo(f"error: {error.filename or 'standard output'}: {error.strerror or error}", err=True)
        code = 2
    except MemoryError:
        click.echo("error: not enough memory for this input", err=True)
        code = 2
    except Exception:  # a fault of ours; never 1, which is the answer FAIL of a gate
        import traceback

        traceback.print_exc()
        code = FAULT
    sys.exit(code if isinstance(code, int) else 0)


def _discard_output() -> None:
    """What is still to be printed goes nowhere: nobody reads it, or it cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show_warning(message: Warning | str, category: type[Warning], *more: Any, **named: Any) -> None:
    click.echo(f"warning: {message}", err=True)
