"""What is kept of a run when it is let go: its Hits, a peek at it, and every ranking, in two files.

The first is named by what it depends on: the bytes of the judgments and of the run, how they are read, the rules, and
the version of this program. It says where the second is, for rankings are written before anybody knows what to name
them by: an uncompressed Arrow file, of which one query's part is read when somebody looks at it. Both are written
beside and renamed, so that they are whole or not there.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rankgauge import __version__
from rankgauge.errors import InputError
from rankgauge.matching.hits import Hits
from rankgauge.protocol import Protocol
from rankgauge.read.records import Columns, Run
from rankgauge.validation.quick import Peek
from rankgauge.writers.files import opened

if TYPE_CHECKING:
    from rankgauge.dtypes import Ints

__all__ = ["Cache", "Gone", "KeptRun", "Stored"]

LAYOUT: Final = 2  # of an entry
COUNTS: Final = ("answered", "retrieved", "judged")  # one for each query
TIES: Final = ("first", "tied")
ARRAYS: Final = (*COUNTS, "query", "rank", *TIES, "grade", "judgment_query", "judgment_grade")
NUMBERS: Final = ("grade", "judgment_grade")
TRUTHS: Final = ("answered",)
SHARED: Final = ("queries", "judged", "judgment_query", "judgment_grade")
RUN: Final = ("source", "by", "tag", "ties", "has_scores")  # what a Run says of itself


class Gone(InputError):
    """What was kept is not there any more."""


class Stored(NamedTuple):
    """Where the rankings of a run are, for another process to read all of them."""

    path: str
    queries: list[str]
    starts: Ints
    about: dict[str, Any]

    def run(self) -> Run:
        """The whole run."""
        import polars as pl

        rows = pl.read_ipc(self.path)
        query = np.repeat(np.arange(len(self.queries), dtype=np.int32), np.diff(self.starts))
        columns = Columns(self.queries, query, rows["doc"], rows["number"].to_numpy())
        run = Run(columns, **{name: self.about[name] for name in RUN if name != "has_scores"})
        run.has_scores = self.about["has_scores"]
        return run


@dataclass(frozen=True, eq=False)
class KeptRun:
    """A run that was let go: what measures need, and where its rankings are."""

    name: str
    hits: Hits
    peek: Peek
    about: dict[str, Any]
    queries: list[str]
    starts: Ints
    rankings: Future[str]  # the path of the Arrow file, when it is written

    @cached_property
    def place(self) -> dict[str, int]:
        """Where each query is."""
        return {query: at for at, query in enumerate(self.queries)}

    def stored(self) -> Stored:
        """Where its rankings are."""
        return Stored(self.rankings.result(), self.queries, self.starts, self.about)

    def sharing(self, other: KeptRun | None) -> KeptRun:
        """The same run, which shares with another what both have in common: judgments and queries are much of it."""
        ties: dict[str, Any] = {"first": self.hits.rank, "tied": _ones(len(self.hits))} if _is_untied(self.hits) else {}
        if other is None:
            return replace(self, hits=replace(self.hits, **ties))
        same = ties | {
            name: theirs for name in SHARED if _alike(getattr(self.hits, name), theirs := getattr(other.hits, name))
        }
        queries = other.queries if self.queries == other.queries else self.queries
        return replace(self, hits=replace(self.hits, **same), queries=queries)

    def run_of(self, query: str) -> Run:
        """The ranking of one query, as a run that answers nothing else."""
        import polars as pl

        at = self.place.get(query)
        made: dict[str, Any] = {name: self.about[name] for name in RUN if name != "has_scores"}
        if at is None:
            run = Run({}, **made)
        else:
            start, end = self.starts[at : at + 2].tolist()
            try:
                rows = pl.scan_ipc(self.rankings.result()).slice(start, end - start).collect()
            except (OSError, pl.exceptions.PolarsError) as error:
                raise Gone(f"what was kept of {self.name} is gone or damaged ({error}); read the files again") from None
            columns = Columns([query], np.zeros(len(rows), np.int32), rows["doc"], rows["number"].to_numpy())
            run = Run(columns, **made)
        run.has_scores = self.about["has_scores"]
        return run


def _known(path: str) -> Future[str]:
    """A path that is there already."""
    known: Future[str] = Future()
    known.set_result(path)
    return known


def _is_untied(hits: Hits) -> bool:
    """Whether no hit shares its score with another document."""
    return bool(np.array_equal(hits.first, hits.rank) and (hits.tied == 1).all())


def _ones(size: int) -> Ints:
    """So many ones, in the memory of one."""
    return np.broadcast_to(np.int64(1), size)


def _alike(mine: Any, theirs: Any) -> bool:
    return (
        mine is theirs or bool(np.array_equal(mine, theirs)) if isinstance(mine, np.ndarray) else bool(mine == theirs)
    )


class Cache:
    """The folder of what is kept. Where it cannot be written, that is said once, and another lasts as long as this."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.own = ""  # a folder that lasts as long as this process
        self.problems: list[str] = []  # what went wrong, for the pages to say
        self.writing = ThreadPoolExecutor(1, "writing")  # beside the reading of the next run
        self.common: dict[str, dict[str, Any]] = {}  # files with what entries have in common
        self.whole: set[str] = set()  # those of them that are there
        self.written: Future[str] = _known("")  # the newest rankings

    def key(self, protocol: Protocol, *digests: Any) -> str:
        """The name of what depends on these."""
        rules = sorted(protocol.to_dict().items())
        told = [LAYOUT, __version__, rules, *digests]
        return hashlib.sha256(json.dumps(told, default=str).encode()).hexdigest()

    def get(self, key: str, name: str) -> KeptRun | None:
        """The run of this key, under a name; one that is damaged is said to be, and is none."""
        path = self._path(f"{key}.hits")
        try:
            with open(path, "rb") as stream:
                told, numbers = json.loads(stream.readline()), stream.read()
            rankings = self._path(told["rankings"])
            if os.path.getsize(rankings) != told["size"]:
                return None
            return _unpacked(name, told, numbers, _known(rankings), self._common)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            self._say(f"{path} cannot be read ({error}); the run was read again")
            return None

    def put(self, name: str, run: Run, hits: Hits, peek: Peek) -> KeptRun:
        """Keep a run, whose key need not be known yet; it can be used while its rankings are being written."""
        rows, starts = _by_query(run.columns)
        about = {name: getattr(run, name) for name in RUN}
        wait([self.written])  # where writing is slower than reading, rows must not pile up
        self.written = written = Future[str]()
        self.writing.submit(self._put, f"{os.urandom(32).hex()}.arrow", rows, written)
        return KeptRun(name, hits, peek, about, rows.queries, starts, written)

    def _put(self, file: str, rows: Columns, written: Future[str]) -> None:
        try:
            self._write(file, lambda path: _write_rankings(rows, path))
            written.set_result(self._path(file))
        except Exception as error:
            written.set_exception(error)

    def enter(self, key: str, kept: KeptRun) -> None:
        """Have a run found by its key; its rankings are written before, so that an entry that is there is whole."""
        entry, common = _packed(kept)
        for file in common.keys() - self.whole:
            self.keep(file, common[file])
            self.whole.add(file)
        self.keep(f"{key}.hits", entry)

    def _common(self, file: str) -> dict[str, Any]:
        """What entries have in common, read once."""
        if file not in self.common:
            with open(self._path(file), "rb") as stream:
                data = stream.read()
            if _name_of(data) != file:
                raise ValueError(f"{file} is damaged")
            self.common[file] = _common_of(data)
            self.whole.add(file)
        return self.common[file]

    def close(self) -> None:
        """Wait until everything is written."""
        self.writing.shutdown()

    def file(self, name: str) -> bytes | None:
        """A file that was kept."""
        try:
            with open(self._path(name), "rb") as stream:
                return stream.read()
        except OSError:
            return None

    def keep(self, name: str, data: bytes) -> bytes:
        """Keep a file."""
        self._write(name, lambda path: _write_bytes(data, path))
        return data

    def _say(self, words: str) -> None:
        self.problems.append(words)
        print(f"warning: {words}", file=sys.stderr)

    def _path(self, name: str) -> str:
        return os.path.join(self.own or self.folder, name)

    def _write(self, name: str, write: Any) -> None:
        try:
            os.makedirs(os.path.dirname(self._path(name)), exist_ok=True)
            write(self._path(name))
        except (OSError, InputError) as error:
            if self.own:
                raise
            self._say(f"Nothing is kept for the next start ({error}); give another folder with --cache")
            self.own = tempfile.mkdtemp(prefix="rankgauge-")
            atexit.register(shutil.rmtree, self.own, ignore_errors=True)
            write(self._path(name))


def _by_query(columns: Columns) -> tuple[Columns, Ints]:
    """The rows with those of a query together, in the order given, and where each query starts."""
    query = columns.query
    if (query[1:] < query[:-1]).any():
        columns = columns.take(np.argsort(query, kind="stable"))
    counts = np.bincount(columns.query, minlength=len(columns.queries))
    return columns, np.r_[0, counts.cumsum()]


def _write_rankings(rows: Columns, path: str) -> None:
    import polars as pl

    with opened(path) as stream:
        pl.DataFrame({"doc": rows.doc, "number": pl.Series(rows.number)}).write_ipc(stream)


def _write_bytes(data: bytes, path: str) -> None:
    with opened(path) as stream:
        stream.write(data)


# ---- a line of JSON, then arrays -------------------------------------------------------------------------------------


def _packed(kept: KeptRun) -> tuple[bytes, dict[str, bytes]]:
    """An entry, and the files with what it has in common with others, by their names."""
    arrays: list[bytes] = []
    common: dict[str, bytes] = {}
    told = {
        "hits": _hits_told(kept.hits, arrays, common),
        "narrow": None if (narrow := kept.peek.in_32_bits()) is None else _hits_told(narrow, arrays, common),
        "rules": kept.hits.protocol.to_dict(),
        "peek": _peek_told(kept.peek),
        "about": kept.about,
        "queries": None if kept.queries == kept.hits.queries else kept.queries,
        "starts": len(kept.starts),
        "rankings": os.path.basename(kept.rankings.result()),
        "size": os.path.getsize(kept.rankings.result()),
    }
    arrays.append(_bytes(kept.starts))
    return _file(told, arrays), common


def _hits_told(hits: Hits, arrays: list[bytes], common: dict[str, bytes]) -> dict[str, Any]:
    own = [name for name in ARRAYS if name not in SHARED and not (name in TIES and _is_untied(hits))]
    arrays += [_bytes(getattr(hits, name)) for name in own]
    shared = _file({"queries": hits.queries, "judged": len(hits.judgment_grade)}, _common_arrays(hits))
    file = _name_of(shared)
    common[file] = shared
    return {
        "judged": file,
        "own": own,
        "size": len(hits),
        "left_out": hits.left_out,
        "missing": hits.missing,
    }


def _common_arrays(hits: Hits) -> list[bytes]:
    return [_bytes(getattr(hits, name)) for name in ARRAYS if name in SHARED]


def _name_of(common: bytes) -> str:
    return f"{hashlib.sha256(common).hexdigest()}.judged"


def _file(told: dict[str, Any], arrays: list[bytes]) -> bytes:
    return json.dumps(told).encode() + b"\n" + b"".join(arrays)


def _bytes(array: Any) -> bytes:
    """Numbers with 64 bits each; of truths, one would do."""
    return np.ascontiguousarray(array, "<f8" if array.dtype.kind == "f" else "<i8").tobytes()


def _peek_told(peek: Peek) -> dict[str, Any]:
    told = {name: value for name, value in peek._asdict().items() if name != "narrow"}
    told["head"] = peek.head.decode("latin-1")
    told["retrieved"], told["judged"] = (
        {query: list(docs) for query, docs in each.items()} for each in (peek.retrieved, peek.judged)
    )
    return told | {name: list(told[name]) for name in ("missing", "extra", "remarks", "models")}


Common = Callable[[str], dict[str, Any]]  # the name of a file → what is in it


def _unpacked(name: str, told: dict[str, Any], numbers: bytes, rankings: Future[str], common: Common) -> KeptRun:
    arrays, protocol = _Arrays(numbers), Protocol(**told["rules"])
    hits = _hits_of(told["hits"], arrays, protocol, common)
    in_32_bits = replace(protocol, scores="float32")
    narrow = None if told["narrow"] is None else _hits_of(told["narrow"], arrays, in_32_bits, common)
    peek = told["peek"]
    peek |= {"head": peek["head"].encode("latin-1"), "remarks": [tuple(each) for each in peek["remarks"]]}
    starts = arrays.take("starts", told["starts"])
    arrays.check()
    queries = hits.queries if told["queries"] is None else told["queries"]
    return KeptRun(name, hits, Peek(**peek, narrow=narrow), told["about"], queries, starts, rankings)


class _Arrays:
    """Numbers one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, name: str, size: int) -> Any:
        taken = np.frombuffer(self.data, "<f8" if name in NUMBERS else "<i8", size, self.at)
        self.at += 8 * size
        return taken.astype(bool) if name in TRUTHS else taken

    def check(self) -> None:
        if self.at != len(self.data):
            raise ValueError(f"{len(self.data):,} bytes of numbers, not {self.at:,}")


def _hits_of(told: dict[str, Any], arrays: _Arrays, protocol: Protocol, common: Common) -> Hits:
    shared, size = common(told["judged"]), told["size"]
    queries = len(shared["queries"])
    own = {name: arrays.take(name, queries if name in COUNTS else size) for name in told["own"]}
    own = {"first": own["rank"], "tied": _ones(size)} | own
    return Hits(**shared, **own, protocol=protocol, left_out=told["left_out"], missing=told["missing"])


def _common_of(data: bytes) -> dict[str, Any]:
    line, _, numbers = data.partition(b"\n")
    told, arrays = json.loads(line), _Arrays(numbers)
    queries = told["queries"]
    sizes = {name: len(queries) if name in COUNTS else told["judged"] for name in ARRAYS if name in SHARED}
    found: dict[str, Any] = {name: arrays.take(name, size) for name, size in sizes.items()}
    arrays.check()
    return {"queries": queries, **found}
