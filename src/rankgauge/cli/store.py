"""`rankgauge store`: files into the project's store and out of it, all of it as one file, and what is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from rankgauge.cli.options import FILE, command, reading_options
from rankgauge.cli.output import TEXTS, deliver, output_options, write_text
from rankgauge.cli.strict import TARGET
from rankgauge.errors import InputError

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.cli.output import Output
    from rankgauge.sampling.sample import Sample
    from rankgauge.store.store import Store

__all__ = ["store"]


QRELS, RUNS = ("qrels_columns", "qrels_format"), ("run_columns", "run_format")
# What a file holds → the options that say nothing about it.
UNREAD: Final = {
    "judge": RUNS,
    "system": ("repeats", *QRELS),
    "runs": ("repeats", "latest_text", *QRELS),
    "queries": ("repeats", "latest_text", "columns", *QRELS, *RUNS),
    "documents": ("repeats", "columns", *QRELS, *RUNS),
}


@click.group("store")
def store() -> None:
    """The project's store: import and export files, dump and restore everything, see what is there.

    \b
    Examples:
      rankgauge store import qrels.txt --judge ann
      rankgauge store import bm25.run --system bm25
      rankgauge store export @labels labels.txt
      rankgauge store dump shop.tar.gz
      rankgauge store status
    """


@command(
    "import",
    excludes=[
        ("judge", "system", "runs", "queries", "documents"),
        *((what, how) for what in UNREAD for how in UNREAD[what]),
    ],
    needs={"kind": "judge"},
)
@click.argument("files", nargs=-1, required=True, type=FILE, metavar="FILE...")
@click.option("--judge", metavar="NAME", help="The files hold judgments of this judge.")
@click.option("--system", metavar="NAME", help="The files hold runs of this system.")
@click.option("--runs", is_flag=True, help="The files hold runs of systems that are named as they are, or NAME=FILE.")
@click.option("--queries", is_flag=True, help="The files hold texts of queries.")
@click.option("--documents", is_flag=True, help="The files hold texts of documents.")
@click.option("--kind", type=click.Choice(["person", "model", "program", "imported"]), help="Of judge.  [imported]")
@click.option("--repeats", is_flag=True, help="A pair that is there again was judged again.")
@click.option("--split", metavar="NAME", help="Which judgments of a BEIR folder.  [test]")
@click.option("--latest-text", is_flag=True, help="Replace stored texts of documents by those of the files.")
@reading_options
def import_files(
    files: tuple[str, ...],
    judge: str | None,
    system: str | None,
    runs: bool,
    queries: bool,
    documents: bool,
    kind: str | None,
    repeats: bool,
    split: str | None,
    latest_text: bool,
    reading: Reading,
) -> None:
    """Store judgments, runs, or texts from files: each file whole or not at all.

    Quepid's books, cases and snapshots (JSON), folders of BEIR, UMBRELA's JSON lines and exported judgments are
    recognised and need no option.

    \b
    Examples:
      rankgauge store import qrels.txt --judge ann
      rankgauge store import bm25.run dense=new.run --runs
      rankgauge store import monday.run tuesday.run --system bm25
      rankgauge store import queries.tsv --queries
      rankgauge store import documents.jsonl --documents --latest-text
      rankgauge store import book.json scifact/
    """
    from rankgauge.cli.inputs import Reading
    from rankgauge.raters.audit import audit
    from rankgauge.read.named import named_paths
    from rankgauge.store.operator import operator
    from rankgauge.store.store import Judge
    from rankgauge.store.transfer import files as made
    from rankgauge.store.transfer.imports import BEIR, Asked, recognise

    asked = Asked(judge, kind, system, split, repeats, latest_text)
    plain = runs or queries or documents or reading != Reading()
    systems = {path: name for name, path in named_paths(files).items()} if runs else dict.fromkeys(files, system)

    def imported(store: Store, path: str, named: str | None) -> str:
        """What was stored of a file, together with its line in the audit."""
        of = f", of {judge or named}" if judge or named else ""
        opened = store.noting(lambda connection: audit(connection, operator(), "imported", f"{path}{of}"))
        known = None if plain else recognise(path)
        if split is not None and known is not BEIR:
            raise click.UsageError(f"{path}: is no folder of BEIR, which alone has splits; leave --split out")
        if known is not None:
            return known.store(opened, path, asked)
        if documents:
            return made.import_documents(opened, path, latest_text=latest_text)
        if latest_text:
            raise click.UsageError(f"{path}: holds no texts of documents; leave --latest-text out")
        if queries:
            return made.import_queries(opened, path)
        if judge is not None:
            columns, by = reading.columns_of_judgments, Judge(judge, kind or "imported")
            how = {"format": reading.qrels_format, "columns": columns or None}
            return made.import_labels(opened, path, by, repeats=repeats, **how)
        if named is not None:
            columns = reading.columns_of_runs
            return made.import_run(opened, path, named, format=reading.run_format, columns=columns or None)
        what = "it does not say itself what it holds"
        raise click.UsageError(f"{path}: {what}; give --judge, --system, --runs, --queries or --documents")

    with _opened(write=True) as opened:
        _check_judge(opened, judge, kind)
        for path, named in systems.items():
            click.echo(f"stored {imported(opened, path, named)}")


def _check_judge(store: Store, judge: str | None, kind: str | None) -> None:
    """Refuse to take a user for a model or a program."""
    from rankgauge.raters.users import named_user

    if judge is not None and kind in ("model", "program") and named_user(store, judge) is not None:
        raise InputError(f"--judge {judge}: is a user of this project, and no {kind}; give another name")


@command("export")
@click.argument("address", metavar="@ADDRESS")
@click.argument("target", type=TARGET, metavar="FILE")
def export_file(address: str, target: str) -> None:
    """Write what is stored as a plain file.

    Labels and a run are written in the format that the suffix names; @queries, @documents, @pairs (to be judged) and
    @judgments (every single one, with its judge, repeat, state, reason and time) as JSON lines that lose nothing; a
    sample of queries as the table that 'rankgauge sample' writes.

    \b
    Examples:
      rankgauge store export @labels labels.txt
      rankgauge store export @labels:ann ann.tsv
      rankgauge store export @bm25:7 bm25.run
      rankgauge store export @traffic-300 queries.tsv
      rankgauge store export @judgments judgments.jsonl.gz
    """
    from rankgauge.cli.inputs import stored
    from rankgauge.store.transfer.exports import EXPORTS, export
    from rankgauge.writers.write import write

    if address.removeprefix("@") in EXPORTS:
        with _opened() as opened:
            export(opened, address.removeprefix("@"), target)
        return
    found = stored(address)
    if not found.is_labels and found.name not in found.project.systems() and found.name in found.project.samples():
        _export_sample(found.project.sample(found.name), target)
        return
    write(found.read(), target)


def _export_sample(sample: Sample, target: str) -> None:
    if target != "-" and not target.endswith(".tsv"):
        raise InputError(f"{target}: a sample of queries is written as a table; name it queries.tsv")
    write_text(target, sample.to_tsv())


@command("dump")
@click.argument("target", type=TARGET, metavar="FILE")
def dump_store(target: str) -> None:
    """Write everything that is stored to one file: a tar of JSON lines, compressed by its suffix.

    \b
    Examples:
      rankgauge store dump shop.tar.gz
    """
    from rankgauge.store.transfer.dump import dump

    with _opened() as opened:
        counts = dump(opened, target)
    click.echo(f"{target}: {_summary(counts)}", err=True)


@command("restore")
@click.argument("source", type=FILE, metavar="FILE")
def restore_store(source: str) -> None:
    """Put a dump into an empty store, of SQLite or PostgreSQL: whole or not at all.

    \b
    Examples:
      rankgauge init again && rankgauge --project again store restore shop.tar.gz
    """
    from rankgauge.store.transfer.dump import restore

    with _opened(write=True) as opened:
        counts = restore(opened, source)
        click.echo(f"{opened.where}: {_summary(counts)}", err=True)


@command("status")
@output_options(TEXTS)
def show_status(output: Output) -> None:
    """Say what is stored, where, how large it is; what is open, what is stale, and what is in use.

    \b
    Examples:
      rankgauge store status
      rankgauge store status --format json
    """
    from rankgauge.cli.inputs import project

    deliver(project().status(), output)


@command("audit")
@click.option("--who", metavar="NAME", help="The changes of one person or program.  [all]")
@click.option("--last", type=click.IntRange(1), default=20, metavar="N", help="The last N changes.  [20]")
@output_options(TEXTS)
def show_audit(who: str | None, last: int, output: Output) -> None:
    """Say who changed what, and when: users, tasks, judgments, decisions, imports.

    \b
    Examples:
      rankgauge store audit
      rankgauge store audit --who ann --last 100
      rankgauge store audit --last 100000 -o audit.csv
    """
    from rankgauge.raters.audit import changes

    with _opened() as opened:
        deliver(changes(opened, who, last), output)


@command("upgrade")
def upgrade_store() -> None:
    """Bring a store of an older version up to date.

    \b
    Examples:
      rankgauge store upgrade
    """
    with _opened(write=True) as opened:
        click.echo(f"{opened.where}: is up to date")


for each in (import_files, export_file, dump_store, restore_store, show_status, show_audit, upgrade_store):
    store.add_command(each)


def _opened(*, write: bool = False) -> Store:
    from rankgauge.cli.inputs import project

    return project().store(write=write)


def _summary(counts: dict[str, int]) -> str:
    from rankgauge.store.store import summary

    return summary(counts)
