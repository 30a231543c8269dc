"""What the commands have in common once their options are parsed: read the judgments once, then each run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from rankgauge.errors import InputError
from rankgauge.evaluate import chosen_dialect, evaluate_in_dialect, groups_of, measure_run
from rankgauge.measures import as_written, parse
from rankgauge.read import read_judgments, read_run
from rankgauge.read.formats import bare_name
from rankgauge.read.query_tables import read_query_table
from rankgauge.read.sources import find_source

if TYPE_CHECKING:
    from rankgauge.protocol import Protocol
    from rankgauge.read import Judgments, Run
    from rankgauge.read.sources import Source
    from rankgauge.result import Result

__all__ = ["Reading", "evaluate_files", "named_runs", "one_standard_input", "progress", "split_name"]

MUCH = 100 << 20  # bytes, from which on a progress bar is worth its place


def evaluate_files(
    qrels: str,
    runs: tuple[str, ...],
    measures: tuple[str, ...],
    protocol: Protocol,
    reading: Reading,
    *,
    dialect: str | None = None,
    by: str | None = None,
    weights: str | None = None,
) -> list[Result]:
    """The results of several runs on one set of judgments, with a progress bar on a terminal."""
    spoken = chosen_dialect(dialect, protocol) if dialect else None
    parsed = [(as_written if spoken else parse)(measure) for measure in measures]
    named = named_runs(runs)
    one_standard_input([qrels, *named.values(), by, weights])
    groups = groups_of(by, None) if by else None
    weight = read_query_table(weights, "weight") if weights else None
    results = []
    with progress([qrels, *named.values()]) as advance:
        judged = reading.judgments(advance(qrels))
        for name, path in named.items():
            read = reading.each(advance(path))
            if spoken is not None:
                result = evaluate_in_dialect(spoken, judged, read, parsed, weights=weight, groups=groups, name=name)
            else:
                run = read(protocol)
                result = measure_run(judged, run, protocol, parsed, weights=weight, groups=groups, name=name)
            results.append(result)
    return results


def one_standard_input(paths: Sequence[str | None]) -> None:
    """Standard input gives its bytes once."""
    if paths.count("-") > 1:
        raise InputError("standard input (-) can be only one of the files")


@dataclass(frozen=True, slots=True)
class Reading:
    """How the user wants files to be read: names of columns and of formats, where these are not recognised."""

    columns: dict[str, str]
    qrels_format: str | None = None
    run_format: str | None = None

    def judgments(self, source: str | Source, *, repeated: bool = False) -> Judgments:
        """The judgments in a file; `repeated`: pairs that are there more than once as they are."""
        roles = self._roles("relevance")
        return read_judgments(source, format=self.qrels_format, columns=roles, repeated=repeated)

    def run(self, source: str | Source, protocol: Protocol) -> Run:
        """The run in a file, as the protocol wants it."""
        roles = self._roles("score", "rank")
        return read_run(source, format=self.run_format, columns=roles, by=protocol.by, duplicates=protocol.duplicates)

    def each(self, source: str | Source) -> Callable[[Protocol], Run]:
        """How to read a run for a protocol; once for each way of reading it."""
        read: dict[tuple[str, str], Run] = {}

        def for_protocol(protocol: Protocol) -> Run:
            way = protocol.by, protocol.duplicates
            if way not in read:
                read[way] = self.run(source, protocol)
            return read[way]

        return for_protocol

    def _roles(self, *numbers: str) -> dict[str, str] | None:
        """The mapping that concerns one kind of file."""
        return {role: name for role, name in self.columns.items() if role in ("query_id", "doc_id", *numbers)} or None


def named_runs(arguments: tuple[str, ...]) -> dict[str, str]:
    """Name → path: the name given (NAME=RUN), the file's without its suffixes, or its whole path if that is taken."""
    pairs = [_name_and_path(argument) for argument in arguments]
    names = [name for name, _ in pairs]
    given = {name for (name, path), argument in zip(pairs, arguments, strict=True) if path != argument}
    named: dict[str, str] = {}
    for name, path in pairs:
        if names.count(name) > 1 and name in given:
            raise InputError(f"two runs are named {name}; give each a name of its own")
        unique = name if names.count(name) == 1 else path
        if unique in named:
            raise InputError(f"{path} is given twice; name them apart: A={path} B={path}")
        named[unique] = path
    return named


def _name_and_path(argument: str) -> tuple[str, str]:
    name, path = split_name(argument)
    return name or bare_name(argument) or argument, path


def split_name(argument: str) -> tuple[str | None, str]:
    """NAME=FILE → both; a file alone has no name."""
    name, equals, path = argument.partition("=")
    given = equals and path and os.sep not in name and not os.path.exists(argument)
    return (name, path) if given else (None, argument)


@contextmanager
def progress(paths: list[str]) -> Iterator[Any]:
    """A bar over the bytes of all files: on standard error, on a terminal, and only when there is much to read."""
    total = sum(os.path.getsize(path) for path in paths if os.path.isfile(path))
    if total < MUCH or not sys.stderr.isatty():
        yield lambda path: path
        return
    with click.progressbar(length=total, label="reading", file=sys.stderr, show_pos=False) as bar:
        yield lambda path: find_source(path).watched(bar.update)
