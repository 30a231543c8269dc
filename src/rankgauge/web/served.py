"""What is served: judgments and runs, read in a thread of their own, of which Hits and files of rankings are kept.

A `Collection` is all that was read at one time; pages look at one and the same from beginning to end. Where a file has
changed since, the pages say so, and whoever wants to has everything read again.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, lru_cache
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.comparison.leaderboard.cells import digest_of
from rankgauge.errors import InputError, RankgaugeError, RankgaugeWarning, unknown
from rankgauge.matching.match import match
from rankgauge.measures import Measure, parse
from rankgauge.measures.aggregates import masks_of
from rankgauge.measures.gains import number_text
from rankgauge.read import Judgments, RunSource
from rankgauge.read.tables import read_groups_and_numbers
from rankgauge.result import Evaluation, Result
from rankgauge.sampling.design import Design
from rankgauge.stats.estimate import Estimate
from rankgauge.validation.quick import peek
from rankgauge.web.contents import Contents, State
from rankgauge.web.faults import fault
from rankgauge.web.files import Files, is_file, table_path
from rankgauge.web.kept import Cache, KeptRun
from rankgauge.web.quantiles import keep_quantiles
from rankgauge.web.texts import Document

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats
    from rankgauge.protocol import Protocol
    from rankgauge.read import RecordSource
    from rankgauge.sampling.design import Per
    from rankgauge.sampling.sample import Sample
    from rankgauge.stats.inference import Population

__all__ = ["Absent", "Collection", "Reading", "Served", "several"]

MEASURED: Final = 400  # columns of values that are kept at a time
MOST_GRADES: Final = 10
OTHERWISE: Final = (-1, -1, -1)  # the state of a file that is not what it was taken for
PATIENCE: Final = 2.0  # seconds, after which files are hashed that were trusted
NUMBERS: Final = count()  # of collections: what was computed for one is nothing to another


class Absent(InputError):
    """Something that an address names and that is not there."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How far the reading is: what was read, of how many, and what is being read."""

    done: int = 0
    all: int = 0
    what: str = ""


@dataclass(frozen=True, eq=False)
class Collection:
    """All that was read at one time."""

    number: int
    judgments: Judgments
    runs: Mapping[str, KeptRun]
    protocol: Protocol
    groups: Mapping[str, str]
    queries: Mapping[str, str]
    documents: Mapping[str, Document]
    sample: Sample | None = None
    per: Per = "search"
    population: Population | None = None
    problems: Sequence[str] = ()
    read_at: Mapping[str, Any] = field(default_factory=dict)  # what the files were like

    _values: Callable[[str, Measure], Floats] = field(init=False, repr=False)
    _masks: Callable[[str], dict[str, Bools]] = field(init=False, repr=False)
    _results: Callable[[str, tuple[Measure, ...], str], Result] = field(init=False, repr=False)
    _estimates: Callable[[str, Measure, str], Estimate] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_values", lru_cache(MEASURED)(self._measured))
        object.__setattr__(self, "_results", lru_cache(MEASURED)(self._result))
        object.__setattr__(self, "_estimates", lru_cache(MEASURED)(self._estimate))
        object.__setattr__(self, "_masks", cache(self._masked))

    def run(self, name: str) -> KeptRun:
        """The run of this name."""
        if name not in self.runs:
            raise Absent(unknown(f"there is no run {name!r}", name, self.runs))
        return self.runs[name]

    @cached_property
    def grades(self) -> list[str]:
        """The grades that judgments have, unjudged first; of very many those that a key can give."""
        known = np.unique(self.judgments.columns.number).tolist()
        few = known if len(known) <= MOST_GRADES else [float(grade) for grade in range(MOST_GRADES)]
        return ["u", *map(number_text, few)]

    @property
    def group_names(self) -> list[str]:
        """The groups of queries, in order of first appearance."""
        judged = set(self.judgments.queries)
        return list(dict.fromkeys(group for query, group in self.groups.items() if query in judged))

    def result(self, name: str, measures: Iterable[Measure], group: str = "") -> Result:
        """The values of a run, of all queries or of a group, as `evaluate` has them."""
        return self._results(self.run(name).name, tuple(measures), group)

    def evaluation(self, names: Iterable[str], measures: Sequence[Measure], group: str = "") -> Evaluation:
        """The values of several runs."""
        return Evaluation({name: self.result(name, measures, group) for name in names})

    def estimate(self, name: str, measure: Measure, group: str = "") -> Estimate:
        """The value of a run as `evaluate` has it, with the interval of its mean where that is what it is."""
        return self._estimates(self.run(name).name, measure, group)

    def _result(self, name: str, measures: tuple[Measure, ...], group: str) -> Result:
        kept = self.runs[name]
        values = {measure: self._values(name, measure) for measure in measures}
        result = Result(name, kept.hits, values, None, self._masks(name), judgments=self.judgments, peek=kept.peek)
        result = result if self.sample is None else result.of_sample(self.sample, self.per, self.population)
        if not group:
            return result
        if group not in result.by:
            raise Absent(unknown(f"there is no group of queries {group!r}", group, self.group_names))
        return replace(result.by[group], name=name)

    def _estimate(self, name: str, measure: Measure, group: str) -> Estimate:
        return self.result(name, [measure], group).estimate(measure)

    def _measured(self, name: str, measure: Measure) -> Floats:
        return measure(self.runs[name].hits)

    def _masked(self, name: str) -> dict[str, Bools]:
        return masks_of(self.groups, self.runs[name].hits.queries) if self.groups else {}

    def check_query(self, query: str) -> None:
        """Refuse a query that neither judgments nor any run know."""
        if query in self._judged or any(query in run.place for run in self.runs.values()):
            return
        raise Absent(unknown(f"there is no query {query!r}", query, self._judged, "the table of a run has all of them"))

    @cached_property
    def _judged(self) -> Mapping[str, Any]:
        return dict.fromkeys(self.judgments.queries)


@contextmanager
def without_warnings() -> Iterator[None]:
    """Without the library's warnings, which are notes on the pages."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankgaugeWarning)
        yield


class Served:
    """Files, and the newest collection that was read of them."""

    def __init__(self, files: Files, cache: Cache, patience: float = PATIENCE) -> None:
        self.files, self.cache, self.contents, self.patience = files, cache, Contents(cache), patience
        self.quiet: Callable[[], AbstractContextManager[Any]] = without_warnings
        self.reading: Reading | None = Reading()
        self.collection: Collection | None = None
        self.failure = ""
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def read(self) -> None:
        """Have everything read, in a thread; what is being read already is not read twice."""
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            self.reading, self.failure = Reading(0, 1 + len(self.files.runs), "the judgments"), ""
            self._thread = threading.Thread(target=self._read, name="reading", daemon=True)
            self._thread.start()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until nothing is being read."""
        if self._thread is not None:
            self._thread.join(timeout)

    def _read(self) -> None:
        try:
            with self.quiet():
                collection = self._collected()
                self._prepare(collection)
                self.collection = collection
        except RankgaugeError as error:
            self.failure = str(error)
        except Exception as error:  # a fault of ours: whoever looks at a page is not to wait for ever
            self.failure = str(fault(error))
        finally:
            self.reading = None

    def _collected(self) -> Collection:
        self.files = self.files.again()
        files, states = self.files, self.files.state()
        source = files.judgments.again()
        judgments = source.read()
        runs, problems = self._runs(judgments, [_digest(source), source.format, source.columns], states)
        if not runs:
            raise InputError("; ".join(problems))
        return Collection(
            next(NUMBERS), judgments, runs, files.protocol,
            self._groups(judgments, problems),
            files.query_texts(), files.document_texts(),
            self._sample(judgments, problems), files.per, files.population,
            problems, states,
        )  # fmt: skip

    def _prepare(self, collection: Collection) -> None:
        """Compute what the first page shows, and keep of it what takes long to import."""
        with suppress(RankgaugeError):  # the page says what is wrong with the measure
            for name in collection.runs:
                collection.estimate(name, parse(self.files.measures[0]))
        with suppress(OSError, RankgaugeError):  # the pages say that nothing is kept
            keep_quantiles(self.cache)

    def _groups(self, judgments: Judgments, problems: list[str]) -> dict[str, str]:
        """The groups of queries; without them, and saying why, where they know none of the queries."""
        if self.files.by is None:
            return {}
        groups = read_groups_and_numbers(self.files.by)[0]
        try:
            masks_of(groups, judgments.queries)
        except InputError as error:
            problems.append(f"{os.path.basename(table_path(self.files.by))} is left out: {error}")
            return {}
        return groups

    def _sample(self, judgments: Judgments, problems: list[str]) -> Sample | None:
        """The sample of which means are; none, and why, where none of its queries is judged."""
        if self.files.sample is None:
            return None
        try:
            Design.of(self.files.sample, judgments.queries)
        except InputError as error:
            problems.append(f"{self.files.sample.source} is left out: {error}")
            return None
        return self.files.sample

    def _runs(
        self, judgments: Judgments, judged: list[Any], states: dict[str, State | None]
    ) -> tuple[dict[str, KeptRun], list[str]]:
        runs: dict[str, KeptRun] = {}
        problems: list[str] = []
        new: dict[str, KeptRun] = {}
        trusted = {path for path in self.files.paths if self.contents.trusted(path, states[path])}
        with ThreadPoolExecutor(2) as beside:  # files are hashed while others are read
            contents = {name: beside.submit(self._content, each, states) for name, each in self.files.runs.items()}
            for at, (name, source) in enumerate(self.files.runs.items(), 1):
                self.reading = Reading(at, 1 + len(self.files.runs), name)
                try:
                    content = contents[name].result()
                    found = None if content is None else self.cache.get(self._key(source, judged, content), name)
                    kept = found or self._run(name, source, judgments)
                    runs[name] = kept.sharing(next(iter(runs.values()), None))
                    if not found:
                        new[name] = runs[name]
                except RankgaugeError as error:
                    problems.append(f"the run {name} is left out: {error}")
        if new:
            self.cache.writing.submit(self._enter, new, judged, states)
        self.later(self._verify, trusted.difference(self.files.runs[name].origin for name in new), states)
        return runs, problems

    def _run(self, name: str, source: RunSource, judgments: Judgments) -> KeptRun:
        protocol = self.files.protocol
        run = source.read(protocol)
        hits = match(judgments, run, protocol)
        return self.cache.put(name, run, hits, peek(judgments, run, hits))

    def _key(self, source: RunSource, judged: list[Any], content: str) -> str:
        return self.cache.key(self.files.protocol, *judged, content, source.format, source.columns)

    def _content(self, source: RunSource, states: Mapping[str, State | None]) -> str | None:
        """The hash of a run; None of what is no file, and of what cannot have been read before, which has time."""
        state = states[os.fspath(source.origin)] if is_file(source) else None
        if state is None:
            return None
        known = self.contents.trusted(source.origin, state)
        return known or (self.contents.hashed(source.origin, state) if self.contents.may_be_known(state) else None)

    def _enter(self, new: Mapping[str, KeptRun], judged: list[Any], states: Mapping[str, State | None]) -> None:
        """Have runs found by what their files hold, if these are still as they were before they were read."""
        for name, kept in new.items():
            source = self.files.runs[name]
            state = states[os.fspath(source.origin)] if is_file(source) else None
            with suppress(OSError, RankgaugeError):
                content = None if state is None else self.contents.hashed(source.origin, state)
                if content is not None:
                    self.cache.enter(self._key(source, judged, content), kept)
        self.contents.save()

    def _verify(self, trusted: Iterable[str], states: dict[str, State | None]) -> None:
        """Hash files that were taken for what they had been; of one that is not, the pages say that it changed."""
        for path in trusted:
            state = states[path]
            with suppress(InputError):  # it is gone, which the pages say, too
                if state is not None and not self.contents.verified(path, state):
                    states[path] = OTHERWISE

    def later(self, act: Callable[..., object], *given: Any, patience: float | None = None) -> None:
        """Do something when the first pages are there; whoever ends the process does not wait for it."""
        timer = threading.Timer(self.patience if patience is None else patience, act, given)
        timer.daemon = True
        timer.start()


def _digest(source: RecordSource) -> str:
    """What stands for the content of a source; what is no file is never the same again."""
    return digest_of(source.origin) if is_file(source) else os.urandom(16).hex()


def several(measure: Measure, protocol: Protocol) -> list[Measure]:
    """A measure with those that stand beside it everywhere."""
    beside = [parse("R@100"), parse(f"Judged@{measure.cutoff if isinstance(measure.cutoff, int) else 10}")]
    if protocol.ties == "average":
        beside = [each for each in beside if each.averages]
    return list(dict.fromkeys([measure, *beside]))
