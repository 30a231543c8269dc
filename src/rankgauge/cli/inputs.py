"""The files that a command is given: named runs, judgments, tables of queries, `--ltr`; read when they are needed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from rankgauge.errors import InputError, RankgaugeError, warn
from rankgauge.evaluate import evaluate_runs
from rankgauge.measures import parse, parse_all
from rankgauge.protocol import DEFAULT, Protocol
from rankgauge.read import JudgmentsSource, RunSource
from rankgauge.read.named import named_paths
from rankgauge.read.part_files import size_of
from rankgauge.read.readers import check_mapped

if TYPE_CHECKING:
    from rankgauge.measures import Measure
    from rankgauge.read import Judgments, Run
    from rankgauge.read.ltr import Ltr
    from rankgauge.result import Evaluation
    from rankgauge.sampling.sample import Sample
    from rankgauge.store.project import Project
    from rankgauge.store.sources import Address

__all__ = ["Inputs", "Reading", "check_sampled", "nearest_project", "one_standard_input", "project", "stored"]

MUCH = 100 << 20  # bytes, from which on a progress bar is worth its place


class Reading(NamedTuple):
    """How the user wants files to be read: names of columns and of formats, where these are not recognised.

    `ltr` is a file of learning-to-rank rows in place of judgments and runs; `predictions` are files of scores for them.
    """

    columns: Mapping[str, str] = {}
    qrels_columns: Mapping[str, str] = {}
    run_columns: Mapping[str, str] = {}
    qrels_format: str | None = None
    run_format: str | None = None
    ltr: str | None = None
    predictions: tuple[str, ...] = ()
    query_sizes: str | None = None
    fresh: bool = False

    @property
    def columns_of_judgments(self) -> dict[str, str]:
        """The names of the columns of judgments, by role."""
        return {**self.columns, **self.qrels_columns}

    @property
    def columns_of_runs(self) -> dict[str, str]:
        """The names of the columns of runs, by role."""
        return {**self.columns, **self.run_columns}


class Inputs:
    """Judgments and runs as sources, each read when it is needed; what else the command reads is named in `tables`."""

    def __init__(
        self,
        reading: Reading,
        qrels: str | None,
        runs: Sequence[str] = (),
        *,
        retrieved: Sequence[str] = (),
        judges: Sequence[str] = (),
        tables: Sequence[str | None] = (),
    ) -> None:
        self.reading, self.rows = reading, _ltr_rows(reading, qrels)
        names = named_paths(runs if self.rows is None else reading.predictions)
        first, sets = named_paths(retrieved), named_paths(judges)
        self.paths = [each for each in (reading.ltr or qrels, *names.values(), *first.values(), *sets.values()) if each]
        one_standard_input([*self.paths, *tables])
        self.judgments = self.rows or self.judged(qrels)
        self.runs = {name: self._run(path) for name, path in names.items()}
        self.retrieved = {name: self._run(path) for name, path in first.items()}
        self.judges = {name: self.judged(path) for name, path in sets.items()}
        if reading.columns or reading.qrels_columns or reading.run_columns:
            self._check_columns()

    def _check_columns(self) -> None:
        """A column that no file has was mistyped."""
        judged = [each for each in (self.judgments, *self.judges.values()) if each.origin]
        ranked = [*self.runs.values(), *self.retrieved.values()]
        for option, columns, sources in (
            ("--column", self.reading.columns, [*judged, *ranked]),
            ("--qrels-column", self.reading.qrels_columns, judged),
            ("--run-column", self.reading.run_columns, ranked),
        ):
            check_mapped(columns, sources, option)

    def judged(self, path: str | None) -> JudgmentsSource:
        """The judgments in a file, or at an address of the project."""
        if path is not None and path.startswith("@"):
            from rankgauge.store.sources import StoredLabels

            return StoredLabels(stored(path), fresh=self.reading.fresh)
        return JudgmentsSource(path, format=self.reading.qrels_format, columns=self.reading.columns_of_judgments)

    def _run(self, path: str) -> RunSource:
        if self.rows is not None:
            return ScoredRows(self.rows, path)
        if path.startswith("@"):
            from rankgauge.store.sources import StoredRun

            return StoredRun(stored(path), warns=click.get_current_context().info_name not in NOTED)
        return RunSource(path, format=self.reading.run_format, columns=self.reading.columns_of_runs)

    def evaluate(
        self, measures: Sequence[str], protocol: Protocol, *, dialect: str | None = None, **about: Any
    ) -> Evaluation:
        """The runs measured on the judgments, with a progress bar on a terminal."""
        read: Callable[..., Measure] = parse
        if dialect is not None:
            from rankgauge.dialects import find_dialect

            read = find_dialect(dialect).written
        parsed = parse_all(measures, read)  # before much is read
        rules = self.rules(protocol, dialect)
        if self._are_stored and about.get("sample") is None:
            from rankgauge.sampling import NO_SAMPLE

            about["sample"] = NO_SAMPLE  # that of the runs was looked for
        with self.progress():
            return evaluate_runs(self.judgments, self.runs, parsed, protocol=rules, dialect=dialect, **about)

    def evaluate_in_spark(self, measures: Sequence[str], master: str, **about: Any) -> Evaluation:
        """The runs measured where Spark reads them."""
        from rankgauge.engines.failures import in_one_line
        from rankgauge.engines.paths import judgments_at, run_at, session_at
        from rankgauge.engines.spark import evaluate

        with session_at(master) as session, in_one_line():
            self.judgments = judgments_at(session, self.judgments)
            self.runs = {name: run_at(session, run) for name, run in self.runs.items()}
            self._check_columns()
            return evaluate(self.judgments, self.runs, measures, **about)

    def sample(
        self, given: str | None, weights: str | None = None, per: str | None = None, population: str | None = None
    ) -> dict[str, Any]:
        """The sample that was named, or that the stored runs were made for, and what its means and intervals are of.

        `none` stands for no sample, also where there would be one.
        """
        if given is not None:
            from rankgauge.store.sources import sample_at, warn_of_another

            found = sample_at(given, project)
            if found is not None and self._are_stored:
                warn_of_another(found, self.runs.values())
        else:
            found = self._own_sample() if weights is None else None
        check_sampled(found, per, population)
        return {"sample": found, "per": per or "search", "population": population}

    @property
    def _are_stored(self) -> bool:
        """Whether anything here is in a project."""
        return any(path.startswith("@") for path in self.paths)

    def _own_sample(self) -> Sample | None:
        """The sample that the runs were made for, if a project has them."""
        if not self._are_stored:
            return None  # as mostly, and what follows is slow to import
        from rankgauge.store.sources import sample_of

        return sample_of(self.runs.values())

    def warn_of_labels(self) -> None:
        """Say why not to trust stored labels, where the output has no room for it; `agree` is itself a check."""
        from rankgauge.store.sources import StoredLabels, StoredRun
        from rankgauge.validation.labels import CHANCE, UNCHECKED, doubts_of_labels

        labels = [each for each in (self.judgments, *self.judges.values()) if isinstance(each, StoredLabels)]
        models = {name: run.models if isinstance(run, StoredRun) and labels else () for name, run in self.runs.items()}
        for doubt in dict.fromkeys(doubt for each in labels for doubt in doubts_of_labels(each.read(), models)):
            if not (self.judges and doubt.code in (UNCHECKED, CHANCE)):
                warn(doubt.text)

    def warn_of_plain_means(self) -> None:
        """Say that means are of the queries alone, where the runs bring a sample of which the command knows nothing."""
        drawn = self._own_sample()
        if drawn is not None:
            warn(
                f"the runs were made for a sample, {drawn.source}: what follows are plain means over its queries, and "
                "not those of its log, which 'rankgauge eval' has"
            )

    def rules(self, protocol: Protocol, dialect: str | None = None) -> Protocol:
        """The protocol; of learning-to-rank rows, which are all that is known, the ideal is theirs."""
        unknown = self.rows is not None and dialect is None and protocol.depth is None
        return replace(protocol, ideal="retrieved") if unknown else protocol

    @contextmanager
    def progress(self, much: int = MUCH) -> Iterator[None]:
        """A bar over the bytes of all files: on standard error, on a terminal, and only when there is much to read."""
        total = sum(map(size_of, self.paths))
        if total < much or not sys.stderr.isatty():
            yield
            return
        sources = [self.judgments, *self.runs.values(), *self.retrieved.values(), *self.judges.values()]
        with click.progressbar(length=total, label="reading", file=sys.stderr, show_pos=False) as bar:
            for source in sources:
                source.watch = bar.update
            yield
        for source in sources:
            source.watch = None


def check_sampled(sample: Sample | None, per: str | None, population: str | None) -> None:
    """Refuse what takes a sample where there is none."""
    if sample is None and per is not None:
        raise click.UsageError("--per is for the means of a sample, and there is none; give --sample FILE")
    if sample is None and population == "log":
        from rankgauge.sampling.design import NO_LOG

        raise click.UsageError(f"--population log: {NO_LOG}; give --sample FILE, or leave --population out")


def one_standard_input(paths: Sequence[str | None]) -> None:
    """Standard input gives its bytes once."""
    if paths.count("-") > 1:
        raise InputError("standard input (-) can be only one of the files")


NOTED: Final = ("eval", "compare", "report")  # commands that say themselves what to know about a run


# ---- what the project has stored -------------------------------------------------------------------------------------


def project(context: click.Context | None = None) -> Project:
    """The project that the user named, or the nearest one."""
    from rankgauge.store.project import find_project

    return find_project((context or click.get_current_context()).find_root().params.get("project"))


def nearest_project() -> Project | None:
    """The project that the user named, or the nearest one; None where there is none to be found."""
    from rankgauge.store.project import find_project

    named = click.get_current_context().find_root().params.get("project")
    try:
        return find_project(named)
    except InputError:
        if named is not None:
            raise
        return None


def stored(address: str) -> Address:
    """What an address (@labels, @labels:ann, @people, @bm25, @bm25:7) stands for."""
    from rankgauge.store.sources import Address

    return Address.of(address, project())


def addresses(context: click.Context, *, samples: bool = False) -> list[str]:
    """What a shell may complete: the labels, the judges and the systems of the project, if there is one; or samples."""
    try:
        known = project(context)
        return [f"@{name}" for name in known.samples()] if samples else known.addresses()
    except (RankgaugeError, OSError):
        return []


# ---- learning-to-rank rows in place of judgments and runs ------------------------------------------------------------


class LtrRows(JudgmentsSource):
    """The rows of a learning-to-rank file, whose labels are the judgments."""

    def __init__(self, path: str, query_sizes: str | None) -> None:
        super().__init__(path)
        self.query_sizes = query_sizes

    @cached_property
    def ltr(self) -> Ltr:
        """The rows."""
        from rankgauge.read.ltr import read_ltr

        return read_ltr(self._watched, self.query_sizes)

    @property
    def rows(self) -> Judgments:
        """The rows, which the file itself does not have as judgments."""
        return self.read()

    def _read(self, repeated: bool) -> Judgments:
        return self.ltr.judgments()


class ScoredRows(RunSource):
    """A run that is made of rows and the scores of a model for them."""

    blocks = None

    def __init__(self, rows: LtrRows, path: str) -> None:
        super().__init__(path)
        self.ltr_rows = rows

    def read(self, protocol: Protocol = DEFAULT) -> Run:
        """The rows under the scores, where the labels keep to the rules."""
        from rankgauge.matching.parts import refusals

        for bad, why in refusals(self.ltr_rows.ltr.grades, protocol):
            self.ltr_rows.ltr.refuse(bad, why)
        return super().read(protocol)

    @property
    def rows(self) -> Run:
        """The rows, which the file of scores does not have."""
        return self.read()

    def _read(self, protocol: Protocol) -> Run:
        from rankgauge.read.numbers import read_scores

        return self.ltr_rows.ltr.run(read_scores(self._watched))


def _ltr_rows(reading: Reading, qrels: str | None) -> LtrRows | None:
    """The rows of `--ltr`, where there are any; what does not go together is refused."""
    context = click.get_current_context()
    if reading.ltr is None:
        _refuse_missing(context)
        return None
    if qrels is not None:
        words = f"--ltr holds the judgments, and --predictions are the runs: what is {qrels!r} for?"
        raise click.UsageError(words, context)
    if reading != Reading(ltr=reading.ltr, predictions=reading.predictions, query_sizes=reading.query_sizes):
        words = "--column, --qrels-column, --run-column, --qrels-format and --run-format are for QRELS and RUN"
        raise click.UsageError(f"{words}, not for --ltr", context)
    return LtrRows(reading.ltr, reading.query_sizes)


def _refuse_missing(context: click.Context) -> None:
    """Where `--ltr` could take their place, QRELS and RUN are not required until it is known that it does not."""
    parameters = {each.name: each for each in context.command.params}
    for name in ("qrels", "runs") if "ltr" in parameters else ():
        if name in parameters and not context.params[name]:
            raise click.MissingParameter(ctx=context, param=parameters[name])
