"""`rankgauge serve`: look at runs in a browser."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final

import click

from rankgauge.cli.options import FILE, command, protocol_options, reading_options, shared

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.protocol import Protocol
    from rankgauge.sampling.design import Per
    from rankgauge.stats.inference import Population
    from rankgauge.store.project import Project
    from rankgauge.web.files import Files
    from rankgauge.web.network import Network

__all__ = ["serve_runs"]


# Field of `Network` → its option.
NETWORK: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "names": ("--name", {"multiple": True, "metavar": "HOST", "help": "What others call it: judge.example.com."}),
    "images_from": ("--images-from", {"multiple": True, "metavar": "HOST", "help": "Where pictures may come from."}),
    "trust_header": ("--trust-header", {"metavar": "NAME", "help": "A proxy says in it who asks: X-Forwarded-User."}),
    "trust_from": ("--trust-from", {"metavar": "ADDRESS", "help": "The proxy's; from others nothing is believed."}),
}


def network_options(command: Callable[..., Any]) -> Any:
    """What the server is called and who stands in front of it; the command gets them as one `network`."""

    @functools.wraps(command)
    def with_network(*args: Any, **options: Any) -> Any:
        from rankgauge.web.network import Network

        given = {field: options.pop(field) for field in NETWORK}
        return command(*args, network=Network(**given), **options)

    wrapped: Any = with_network
    for field, (spelling, settings) in reversed(NETWORK.items()):
        wrapped = click.option(spelling, field, **settings)(wrapped)
    return wrapped


@command(
    "serve",
    usual=("measures", "queries", "documents", "by", "port", "browser"),
    needs={"trust_header": "trust_from"},
)
@click.argument("sources", nargs=-1, type=FILE, metavar="[PROJECT | QRELS [NAME=]RUN...]")
@shared("measures_from", measures="The measure that is shown first.  [nDCG@10, or the project's]")
@shared("queries", "documents", "by", "sample", "per", "population")
@click.option("--port", type=click.IntRange(1, 65535), metavar="N", help="The port.  [8765, or the next that is free]")
@click.option("--open", "browser", is_flag=True, help="Open the page in a browser.")
@click.option("--host", default="127.0.0.1", metavar="ADDRESS", help="The address; of this machine.  [127.0.0.1]")
@click.option(
    "--cache", default=None, metavar="DIR", help="Where to keep what was read, for the next start.  [.rankgauge-cache]"
)
@network_options
@protocol_options
@reading_options
def serve_runs(
    sources: tuple[str, ...],
    network: Network,
    host: str,
    port: int | None,
    cache: str | None,
    browser: bool,
    **asked: Any,
) -> None:
    """Look at runs in a browser: leaderboard, queries explained, comparisons; a document moved, and what if.

    On a project it shows what is stored, and people judge there ('rankgauge task make'). It listens on this machine
    alone, unless there are users ('rankgauge user add'). On files it writes nothing but its cache. Ctrl-C stops it.

    \b
    Examples:
      rankgauge serve qrels.txt bm25.run reranked.run --open
      rankgauge serve qrels.txt a.run b.run --queries q.tsv --documents d.jsonl
      rankgauge serve
      rankgauge serve shop --host 0.0.0.0 --name judge.example.com
    """
    from rankgauge.comparison.leaderboard.cells import CACHE
    from rankgauge.web.kept import Cache
    from rankgauge.web.serve import listening, serve
    from rankgauge.web.served import Served

    with ExitStack() as opened:
        project = _project(sources)
        store = None if project is None else opened.enter_context(project.store(write=True))
        network.check(host, store)
        files = _files(sources, **asked) if project is None else _stored(project, **asked)
        folder = cache or (CACHE if project is None else os.fspath(project.folder / CACHE))
        about: dict[str, Any] = {"project": project, "store": store, "network": network}
        serve(Served(files, Cache(folder)), listening(host, port), host, lambda to: _say(to, browser), **about)


def _project(sources: tuple[str, ...]) -> Project | None:
    """The project that is served, where no files are."""
    from rankgauge.cli.inputs import project
    from rankgauge.store.project import find_project

    if not sources:
        return project()
    if len(sources) == 1 and os.path.isdir(sources[0]):
        return find_project(sources[0])
    if len(sources) == 1:
        raise click.UsageError(f"{sources[0]}: give a run, too; or a project, which is a folder")
    return None


def _files(
    sources: tuple[str, ...],
    *,
    measures: tuple[str, ...],
    protocol: Protocol,
    reading: Reading,
    sample: str | None,
    per: Per | None,
    population: Population | None,
    **texts: Any,
) -> Files:
    from rankgauge.cli.inputs import Inputs
    from rankgauge.web.files import Files

    inputs = Inputs(reading, sources[0], sources[1:], tables=[*texts.values(), sample])
    shown = _measures(measures) or ("nDCG@10",)
    drawn = inputs.sample(sample, per=per, population=population)
    files = Files(inputs.judgments, inputs.runs, inputs.rules(protocol), shown, **texts, **drawn)
    files.check()
    return files


def _stored(
    project: Project,
    *,
    measures: tuple[str, ...],
    protocol: Protocol,
    reading: Reading,
    by: str | None,
    sample: str | None,
    per: Per | None,
    population: Population | None,
    **texts: Any,
) -> Files:
    from rankgauge.cli.inputs import check_sampled
    from rankgauge.web.projects import files_of

    for name, value in texts.items():
        if value is not None:
            raise click.UsageError(f"--{name}: a project has texts of its own; put them there: rankgauge store import")
    about: dict[str, Any] = {"by": by, "sampled": sample, "per": per, "population": population}
    files = files_of(project, protocol, _measures(measures), **about)
    check_sampled(files.sample, per, population)
    return files


def _measures(named: tuple[str, ...]) -> tuple[str, ...]:
    from rankgauge.measures import parse_all

    return tuple(map(str, parse_all(named))) if named else ()


def _say(to: str, browser: bool) -> None:
    click.echo(f"rankgauge is at {to}\nCtrl-C stops it.", err=False)
    if browser:
        import webbrowser

        webbrowser.open(to)
