"""A suite → its cells: the values of each system on each data set, several at once, none measured twice.

What is done is kept in a folder, an entry per cell, named by a hash of everything that its values depend on: the bytes
of the judgments and of the run, the rules, and the version of this program. An entry holds every measure that was ever
asked for; only those that it lacks are measured. It is written beside and then renamed, so that it is whole or not
there; one that cannot be read is measured again.

Threads, not processes: measured on two processors, large runs (whose reader leaves Python) take a third of the time,
small ones as long as with processes, which have to be started and to hand their results over.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge import __version__
from rankgauge.errors import InputError, RankgaugeError, warn
from rankgauge.evaluate import evaluate_runs
from rankgauge.read import Judgments, read_judgments
from rankgauge.read.layers import split_suffixes
from rankgauge.writers.files import opened

if TYPE_CHECKING:
    from rankgauge.comparison.leaderboard.suite import Dataset, Suite
    from rankgauge.dtypes import Floats
    from rankgauge.measures import Measure
    from rankgauge.protocol import Protocol

__all__ = ["CACHE", "Cell", "Cells", "measure_cells"]

CACHE: Final = ".rankgauge-cache"
LAYOUT: Final = 3  # of an entry
MOST_THREADS: Final = 4  # threads, unless more are asked for: each holds a run in memory

Watch = Callable[[int, int, str], object]


@dataclass(frozen=True, eq=False, slots=True)
class Cell:
    """One system on one data set: the value of every query under every measure, and what to know about them."""

    queries: list[str]
    values: dict[str, Floats]
    answered: int
    judged: dict[str, float | None]
    fingerprint: str

    def has(self, measures: Sequence[Measure]) -> bool:
        """Whether these are measured, and the judged shares of their cut-offs too."""
        return {*map(str, measures)} <= self.values.keys() and {*_cutoffs(measures)} <= self.judged.keys()

    def lacking(self, measures: Sequence[Measure]) -> list[Measure]:
        """Those that are not here; all of them where it is a judged share that is not."""
        return [each for each in measures if str(each) not in self.values] or list(measures)

    def only(self, measures: Sequence[Measure]) -> Cell:
        """The cell as if only these had been measured."""
        judged = {k: self.judged[k] for k in _cutoffs(measures) if k in self.judged}
        return replace(self, values={str(each): self.values[str(each)] for each in measures}, judged=judged)

    def joined(self, other: Cell) -> Cell:
        """The measures of both, of the same run by the same rules."""
        return replace(other, values=self.values | other.values, judged=self.judged | other.judged)


def _cutoffs(measures: Sequence[Measure]) -> list[str]:
    """The cut-offs of the judged shares that are shown with these measures."""
    return [str(k) for k in sorted({each.cutoff for each in measures if isinstance(each.cutoff, int)}) or [10]]


@dataclass(frozen=True, eq=False, slots=True)
class Cells:
    """Data set → system → its cell; how many were measured, and how many taken from the cache."""

    table: dict[str, dict[str, Cell]]
    measured: int
    reused: int


def measure_cells(
    suite: Suite,
    measures: Sequence[Measure],
    rules: Callable[[Dataset], Protocol],
    *,
    cache: str | None = None,
    jobs: int | None = None,
    memory: int | str | None = None,
    watch: Watch | None = None,
) -> Cells:
    """Measure what is not in the cache; the first error ends it, what was done until then stays."""
    store = Store(cache) if cache is not None and not _own(measures) else None
    work = [
        _Work(each, system, rules(each), measures, store, memory)
        for each in suite.datasets.values()
        for system in each.runs
    ]
    shared = {name: _Judged(each) for name, each in suite.datasets.items()}
    pool = ThreadPoolExecutor(jobs or min(MOST_THREADS, os.cpu_count() or 1))
    try:
        futures = [pool.submit(each.run, shared[each.dataset.name]) for each in work]
        done = _collected(futures, work, watch)
    finally:
        pool.shutdown(cancel_futures=True)
    table: dict[str, dict[str, Cell]] = {name: {} for name in suite.datasets}
    for each, (cell, _) in zip(work, done, strict=True):
        table[each.dataset.name][each.system] = cell
    reused = sum(from_cache for _, from_cache in done)
    return Cells(table, len(work) - reused, reused)


def _collected(
    futures: list[Future[tuple[Cell, bool]]], work: list[_Work], watch: Watch | None
) -> list[tuple[Cell, bool]]:
    """The results in order, telling of each when it is there."""
    names = {future: f"{each.dataset.name}: {each.system}" for future, each in zip(futures, work, strict=True)}
    if watch is not None:
        lock, count = threading.Lock(), iter(range(1, len(futures) + 1))

        def tell(future: Future[tuple[Cell, bool]]) -> None:
            if not future.cancelled():
                with lock:
                    watch(next(count), len(futures), names[future])

        for future in futures:
            future.add_done_callback(tell)
    wait(futures, return_when=FIRST_EXCEPTION)
    return [future.result() for future in futures if future.done()]


def _own(measures: Sequence[Measure]) -> bool:
    """Whether a measure is the user's: its name does not tell what it computes today."""
    return any(not each.definition.function.__module__.startswith("rankgauge.") for each in measures)


class _Judged:
    """The judgments of a data set, read when the first run needs them, and once."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self.lock = threading.Lock()
        self.found: Judgments | None = None
        self.hash: str | None = None

    def read(self) -> Judgments:
        with self.lock:
            if self.found is None:
                self.found = read_judgments(self.dataset.judgments)
            return self.found

    def digest(self) -> str:
        with self.lock:
            if self.hash is None:
                self.hash = digest_of(self.dataset.judgments)
            return self.hash


@dataclass(frozen=True, eq=False, slots=True)
class _Work:
    """A cell to be filled."""

    dataset: Dataset
    system: str
    protocol: Protocol
    measures: Sequence[Measure]
    store: Store | None
    memory: int | str | None

    def run(self, judged: _Judged) -> tuple[Cell, bool]:
        """The cell, and whether it was there."""
        key = self.key(judged) if self.store is not None else None
        kept = self.store.get(key) if self.store is not None and key is not None else None
        if kept is not None and kept.has(self.measures):
            return kept.only(self.measures), True
        cell = self.measure(judged.read(), self.measures if kept is None else kept.lacking(self.measures))
        whole = cell if kept is None else kept.joined(cell)
        if self.store is not None and key is not None:
            self.store.put(key, whole)
        return whole.only(self.measures), False

    def key(self, judged: _Judged) -> str | None:
        """What the cell depends on; nothing for what is not a file."""
        run = self.dataset.runs[self.system]
        if not _is_file(run) or not _is_file(self.dataset.judgments):
            return None
        rules = sorted(self.protocol.to_dict().items())
        told = [LAYOUT, __version__, rules, judged.digest(), digest_of(run)]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

    def measure(self, judgments: Judgments, measures: Sequence[Measure]) -> Cell:
        """Read the run, match and measure it."""
        try:
            runs = {self.system: self.dataset.runs[self.system]}
            result = evaluate_runs(judgments, runs, measures, protocol=self.protocol, memory=self.memory)[self.system]
        except RankgaugeError as error:
            raise type(error)(f"data set {self.dataset.name}, system {self.system}: {error}") from error
        judged = {str(k): None if share != share else share for k, share in result.judged.items()}
        values = {str(measure): result.measured[measure] for measure in measures}
        return Cell(result.query_ids, values, result.counts["answered"], judged, result.fingerprint)


def _is_file(source: Any) -> bool:
    return isinstance(source, (str, os.PathLike)) and os.path.isfile(source)


def digest_of(path: str | os.PathLike[str]) -> str:
    """A hash of the bytes of a file, and of its suffixes, which may say how to read it."""
    suffix, layer = split_suffixes(os.fspath(path))
    try:
        with open(path, "rb") as stream:
            found = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{os.fspath(path)}: cannot be read ({error.strerror or error})") from None
    return f"{suffix} {layer.name if layer else ''} {found}"


class Store:
    """The folder of what is done. Where it cannot be written, that is said once, and nothing is kept."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.lock = threading.Lock()
        self.writes = True

    def path(self, key: str) -> str:
        return os.path.join(self.folder, f"{key}.cell")

    def get(self, key: str) -> Cell | None:
        """The entry of this key; one that is damaged is said to be, and is none."""
        try:
            with open(self.path(key), "rb") as stream:
                return _unpacked(stream.read())
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            warn(f"{self.path(key)}: cannot be read ({error}); measured again")
            return None

    def put(self, key: str, cell: Cell) -> None:
        """Keep an entry, whole or not at all."""
        if not self.writes:
            return
        try:
            os.makedirs(self.folder, exist_ok=True)
            with opened(self.path(key)) as stream:
                stream.write(_packed(cell))
        except (OSError, InputError) as error:
            with self.lock:
                said, self.writes = not self.writes, False
            if not said:
                warn(f"what is done is not kept ({error}); give another folder with --cache, or --no-cache")


def _packed(cell: Cell) -> bytes:
    """A line of JSON, then the values, 64 bits each.

    numpy's own files have a header that is parsed as Python, which Python 3.11 does not do in several threads at once.
    """
    told = {"queries": cell.queries, "measures": list(cell.values), "answered": cell.answered, "judged": cell.judged}
    text = json.dumps(told | {"fingerprint": cell.fingerprint}).encode()
    return text + b"\n" + np.array(list(cell.values.values()), "<f8").tobytes()


def _unpacked(data: bytes) -> Cell:
    text, _, numbers = data.partition(b"\n")
    told = json.loads(text)
    values = np.frombuffer(numbers, "<f8").reshape(len(told["measures"]), len(told["queries"]))
    named = dict(zip(told["measures"], values, strict=True))
    return Cell(told["queries"], named, told["answered"], told["judged"], told["fingerprint"])
