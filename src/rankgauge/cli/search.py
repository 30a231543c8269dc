"""`rankgauge search`: ask a live system every query, and keep each answer when it comes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.options import FILE, MOST, command
from rankgauge.cli.strict import TARGET
from rankgauge.errors import InputError, RankgaugeError
from rankgauge.show.cells import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgauge.read import Run
    from rankgauge.store.project import Project
    from rankgauge.store.store import Query
    from rankgauge.systems.config import Config
    from rankgauge.systems.search import Outcome

__all__ = ["search_system"]


def _systems(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """What a shell may complete: the systems of rankgauge.toml."""
    from rankgauge.cli.inputs import project

    try:
        return [name for name in project(context).settings.get("systems", {}) if name.startswith(incomplete)]
    except (RankgaugeError, OSError):
        return []


@command("search", usual=("k", "output", "call", "url", "hits", "id", "settings", "again", "allow_missing"))
@click.argument("system", metavar="SYSTEM", shell_complete=_systems)
@click.argument("queries", required=False, type=FILE, metavar="[QUERIES]")
@click.option("-k", "k", type=click.IntRange(1, MOST), help="Documents a query.  [its depth, or 100]")
@click.option("-o", "--output", type=TARGET, metavar="RUN", help="Write the run to a file, too.")
@click.option("--call", metavar="MODULE:FUNCTION", help="The system is a function: f(query, k).")
@click.option("--url", metavar="URL", help="The system answers there, with {query} and {k} in it.")
@click.option("--hits", metavar="PATH", help="Where the hits are in its answer (JMESPath).")
@click.option("--id", metavar="PATH", help="Where the id is in a hit.")
@click.option("--score", metavar="PATH", help="Where the score is in a hit.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any key of the system's table.")
@click.option("--again", is_flag=True, help="Start a new run.  [go on with the last]")
@click.option("--allow-missing", is_flag=True, help="Close the run though queries failed: they have no results.")
def search_system(
    system: str, queries: str | None, k: int | None, output: str | None, again: bool, allow_missing: bool, **given: Any
) -> None:
    """Ask a system every query, and keep each answer when it comes.

    SYSTEM is a table of rankgauge.toml ([systems.bm25]), or named here and given by options. QUERIES has ids and
    texts; without it, a project's last sample is asked. The same command goes on where it stopped. Exit code 4:
    queries failed, and the run is open. Outside a project nothing is stored, and -o is needed.

    \b
    Examples:
      rankgauge search bm25 queries.tsv
      rankgauge search bm25 -k 1000 -o bm25.run
      rankgauge search mine queries.tsv --call engine:search -o mine.run
      rankgauge search shop q.tsv --url 'http://localhost/find?q={query}&n={k}' \\
        --hits results --id sku --set workers=8
    """
    where, config = _found(system, **given)
    asked = _queries(config, queries, output)
    if where is None:
        _search_files(config, asked, k or config.depth, output, allow_missing)
        return
    outcome = _searched(where, config, asked, queries, k or config.depth, again=again, allow_missing=allow_missing)
    _say(outcome, output)
    outcome.check()
    if output is not None:
        _write(where.run(outcome.system, outcome.run), output, outcome.system)


def _found(name: str, settings: tuple[str, ...], **options: Any) -> tuple[Project | None, Config]:
    """The project, where there is one, and the system: its table with what the options say."""
    from rankgauge.cli.inputs import project
    from rankgauge.systems.config import given_outright, system_of

    outright = given_outright(settings, **options)
    try:
        where: Project | None = project()
    except InputError:
        if click.get_current_context().find_root().params.get("project") is not None or not outright:
            raise
        where = None
    return where, system_of(where, name, outright)


def _queries(config: Config, path: str | None, output: str | None) -> Sequence[Query] | None:
    """The queries of a file; that a run of them cannot be written is an error before anything is asked."""
    from rankgauge.store.transfer.files import read_queries
    from rankgauge.writers.write import check_run

    queries = None if path is None else read_queries(path)
    if output is not None:
        check_run(output, [each.query_id for each in queries or ()], config.name)
    return queries


def _searched(
    where: Project, config: Config, queries: Sequence[Query] | None, path: str | None, k: int, **how: bool
) -> Outcome:
    from rankgauge.systems.search import search

    return search(where, config, queries, path or "", k, **how, progress=_progress if sys.stderr.isatty() else None)


def _search_files(
    config: Config, queries: Sequence[Query] | None, k: int, output: str | None, allow_missing: bool
) -> None:
    """Outside a project: write the run, or else leave what was answered in a file beside it, and name that."""
    from rankgauge.systems.search import search_files
    from rankgauge.systems.spare import Spare

    if queries is None or output is None:
        raise click.UsageError("outside a project, give QUERIES and -o RUN: nothing is stored here")
    with Spare(output if output != "-" else config.name) as spare:
        outcome = search_files(config, queries, k, _progress if sys.stderr.isatty() else None, spare)
        _say(outcome, output)
        if not allow_missing or outcome.interrupted:
            how = "with --allow-missing it is, and those queries have no results"
            outcome.check(f"{output} is not written; {how}{spare.holds}")
        rankings = {
            query: dict(zip(ranking.doc_ids, ranking.scores, strict=True))
            for query, ranking in outcome.rankings.items()
        }
        try:
            _write(rankings, output, config.name)
        except (RankgaugeError, OSError) as error:
            raise InputError(f"{output} is not written{spare.holds}: {error}") from None
        spare.remove()


def _say(outcome: Outcome, output: str | None) -> None:
    from rankgauge.show.text import wrapped

    for line in outcome.lines():
        click.echo("\n".join(wrapped(printable(line))), err=output == "-")


def _progress(answered: int, queries: int, failed: int) -> None:
    words = f"{answered:,} of {queries:,} answered" + (f", {failed:,} failed" if failed else "")
    click.echo(f"\r\033[K{words}", err=True, nl=answered + failed >= queries)


def _write(run: Run | dict[str, dict[str, float]], output: str, name: str) -> None:
    from rankgauge.read import read_run
    from rankgauge.writers.write import write

    write(read_run(run), output, tag=name)
