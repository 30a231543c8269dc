"""What one task of a cluster does: rows → blocks of whole queries → what was found in each. Knows of no engine.

Rows come as Arrow batches. A query whose rows lie together is found whole; one that comes back later is in two blocks,
and whoever asked for the blocks sees that, and asks for it again with its rows together.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rankgauge.errors import DuplicateError, RankgaugeError
from rankgauge.matching.match import find
from rankgauge.matching.parts import Parts, in_ideal_order
from rankgauge.read.frames import frame_columns, numbered, text_ids
from rankgauge.read.records import Columns, Judgments, Run

if TYPE_CHECKING:
    import polars as pl

    from rankgauge.dtypes import Ints
    from rankgauge.protocol import Protocol
    from rankgauge.read.rows import Ask

__all__ = ["BLOCK", "HUGE", "KIND", "Block", "Judged", "Task", "blocks_of", "packed", "shipped", "unanswered"]
__all__ += ["unpacked"]

BLOCK: Final = 1 << 18  # rows looked at together
HUGE: Final = 2_000_000  # rows of a query that are too many for one task
SAMPLE: Final = 1_000  # documents and queries that are shown in hints
KIND: Final = "__kind"  # the column that says of a row whether it is a judgment (0) or of a run (1)


class Block(NamedTuple):
    """What was found of one system in some queries: those judged, in code-point order, and the names of the others.

    `rows` and `others_rows` count what was read, `sample` has documents of its first query, `largest` the query of most
    documents and some of these, where no judged document was found. `problem` is what makes all of it worthless, `huge`
    are queries of too many rows, which were not looked at, `apart` those that have to be looked at with all their rows;
    `scattered` says that most queries lie apart.
    """

    system: str = ""
    queries: Sequence[str] = ()
    rows: Ints = np.zeros(0, np.int64)
    parts: Parts | None = None
    others: Sequence[str] = ()
    others_rows: Ints = np.zeros(0, np.int64)
    sample: Mapping[str, list[str]] = {}
    largest: tuple[str, list[str]] | None = None
    problem: RankgaugeError | None = None
    huge: tuple[str, ...] = ()
    apart: Sequence[str] = ()
    scattered: bool = False
    judged: bool = False  # whether these are judgments alone, of no system
    twice: int = 0  # judgments that are there again


@dataclass(frozen=True, eq=False)
class Judged:
    """Judgments, each pair once and the rows of a query together, from which a block takes its own."""

    columns: Columns
    source: str

    @classmethod
    def of(cls, columns: Columns, source: str) -> Judged:
        """These judgments, brought together by query."""
        query = columns.query
        together = len(query) < 2 or bool((query[1:] >= query[:-1]).all())
        return cls(columns if together else columns.take(np.argsort(query, kind="stable")), source)

    @cached_property
    def _place(self) -> dict[str, int]:
        return {query: place for place, query in enumerate(self.columns.queries)}

    @cached_property
    def _ends(self) -> Ints:
        return np.bincount(self.columns.query, minlength=len(self.columns.queries)).cumsum()

    def __contains__(self, query: str) -> bool:
        return query in self._place

    def some(self, queries: Iterable[str]) -> Judgments | None:
        """The judgments of those of these queries that have any."""
        places = np.array(sorted({self._place[query] for query in queries if query in self._place}), np.int64)
        if not len(places):
            return None
        ends, columns = self._ends, self.columns
        sizes = ends[places] - np.where(places > 0, ends[places - 1], 0)
        offsets = ends[places] - sizes.cumsum()
        rows = np.arange(int(sizes.sum())) + np.repeat(offsets, sizes)
        number = np.repeat(np.arange(len(places), dtype=np.int32), sizes)
        own = Columns([columns.queries[at] for at in places], number, columns.doc.gather(rows), columns.number[rows])
        return Judgments(own, source=self.source)


class Task(NamedTuple):
    """What a task is told: the columns of a run, the rules, the judgments (None: they are among the rows), its limits.

    `asked` are the columns of judgments that are among the rows, `system` is the column that names the systems; `whole`
    says that the rows of every query lie together.
    """

    ask: Ask
    protocol: Protocol
    source: str
    query: str
    judged: Judged | None
    system: str | None = None
    asked: Ask | None = None
    rows: int = BLOCK
    huge: int = HUGE
    whole: bool = False


# ---- rows → whole queries --------------------------------------------------------------------------------------------


def _whole_queries(batches: Iterable[Any], task: Task) -> Iterator[tuple[pl.DataFrame | None, int, str]]:
    """Frames of whole queries, each with the number of rows before it; or the name of a query that is too large."""
    import polars as pl

    held: list[pl.DataFrame] = []
    before, rows, wanted, dropped = 0, 0, task.rows, ""
    for batch in batches:
        frame = pl.DataFrame(batch)
        if dropped:
            start = _first_other(frame[task.query], dropped)
            before, frame = before + start, frame[start:]
            dropped = dropped if not len(frame) else ""
        held.append(frame)
        rows += len(frame)
        if rows < wanted:
            continue
        whole = pl.concat(held, rechunk=True)
        start = _start_of_last(whole[task.query])
        if start:
            yield whole[:start], before, ""
            before, whole = before + start, whole[start:]
        if len(whole) > task.huge and whole[task.query][0] is not None:
            dropped = str(whole[task.query][0])
            yield None, before, dropped
            before, whole = before + len(whole), whole[:0]
        held, rows = [whole], len(whole)
        wanted = max(task.rows, 2 * rows)
    if rows:
        yield pl.concat(held, rechunk=True), before, ""


def _start_of_last(queries: pl.Series) -> int:
    """Where the rows of the last query begin."""
    others = queries.ne_missing(queries[-1]).arg_true()
    return int(others[-1]) + 1 if len(others) else 0


def _first_other(queries: pl.Series, query: str) -> int:
    """Where the rows of one query end that a frame begins with."""
    import polars as pl

    others = queries.cast(pl.String).ne_missing(pl.Series([query])).arg_true()
    return int(others[0]) if len(others) else len(queries)


# ---- whole queries → what was found ----------------------------------------------------------------------------------


def blocks_of(batches: Iterable[Any], task: Task, place: str = "") -> Iterator[Block]:
    """What is found in the rows of a task; a problem is the last that is said."""
    seen: set[tuple[str, str]] = set()
    try:
        for frame, before, huge in _whole_queries(batches, task):
            if frame is None:
                yield Block(huge=(huge,))
                continue
            blocks = [*_found(frame, task, place, before)]
            runs = [each for each in blocks if not each.judged]
            queries = [(each.system, query) for each in runs for query in (*each.queries, *each.others)]
            again = sum(map(seen.__contains__, queries))
            if (
                2 * again > len(queries) and not task.whole
            ):  # nothing lies together here, and all that follows would be in vain
                yield Block(scattered=True)
                return
            seen.update(queries)
            yield from blocks
    except RankgaugeError as error:
        yield Block(problem=error)


def _found(frame: pl.DataFrame, task: Task, place: str, before: int) -> Iterator[Block]:
    judged, twice = task.judged, 0
    if task.asked is not None:
        kind = frame[KIND]
        own = frame_columns(frame.filter(kind == 0), task.asked, "judgments")
        judged, twice = _once(own)
        parts = _parts(judged, own.queries, task.protocol)
        yield Block(queries=sorted(own.queries), parts=parts, judged=True, twice=twice)
        frame = frame.filter(kind == 1)
    if not len(frame):
        return
    columns = frame_columns(frame, task.ask, f"{task.source}{place}", before)
    for system, rows in _by_system(frame, columns, task, place, before):
        yield _matched(system, rows, task, judged)


def _once(columns: Columns) -> tuple[Judged, int]:
    """Judgments with every pair once, and how many are there again."""
    import warnings

    from rankgauge.matching.duplicates import judgments_once

    with warnings.catch_warnings(action="ignore"):
        kept = judgments_once(Judgments(columns))
    return Judged.of(kept, "judgments"), len(columns) - len(kept)


def _parts(judged: Judged, queries: Iterable[str], protocol: Protocol) -> Parts | None:
    own = judged.some(queries)
    return None if own is None else unanswered(own, protocol)


def unanswered(judgments: Judgments, protocol: Protocol) -> Parts:
    """The parts of judged queries of which nothing was retrieved, in code-point order of the queries."""
    columns = judgments.columns
    place = np.empty(len(columns.queries), np.int64)
    place[np.array(sorted(range(len(place)), key=columns.queries.__getitem__), np.int64)] = np.arange(len(place))
    query, grade = in_ideal_order(place[columns.query], columns.number, protocol)
    nothing = np.zeros(0, np.int64)
    retrieved = np.zeros(len(place), np.int64)
    return Parts(retrieved, query, grade, nothing, nothing, nothing, nothing, np.zeros(0))


def _by_system(
    frame: pl.DataFrame, columns: Columns, task: Task, place: str, before: int
) -> Iterator[tuple[str, Columns]]:
    """The rows of every system."""
    if task.system is None:
        yield "", columns
        return
    systems, number = numbered(text_ids(frame[task.system], f"{task.source}{place}", before))
    for at, system in enumerate(systems):
        rows = np.flatnonzero(number == at)
        yield system, columns if len(systems) == 1 else _present(columns.take(rows))


def _present(columns: Columns) -> Columns:
    """The same rows, with those queries alone that they have."""
    there = np.bincount(columns.query, minlength=len(columns.queries)) > 0
    number = (np.cumsum(there) - 1).astype(np.int32)
    return replace(columns, queries=list(compress(columns.queries, there.tolist())), query=number[columns.query])


def _matched(system: str, columns: Columns, task: Task, judged: Judged | None) -> Block:
    """What is found in the rows of one system."""
    from rankgauge.matching.duplicates import run_once

    rules = replace(task.protocol, missing="zero")
    run = Run(columns, by=task.ask.by, source=system or task.source)
    sizes = dict(zip(columns.queries, np.bincount(columns.query).tolist(), strict=True))
    own = None if judged is None else judged.some(columns.queries)
    known = set() if own is None else set(own.queries)
    others = [query for query in columns.queries if query not in known]
    block = Block(system, others=others, others_rows=np.array([sizes[query] for query in others], np.int64))
    block = block._replace(sample=_documents(columns, columns.queries[0]))
    try:
        if own is None:
            if rules.duplicates == "error":
                run_once(run, rules)
            return block
        found = find(own, run, rules)
    except DuplicateError:
        if rules.depth is None or task.whole:
            raise
        return Block(system, apart=columns.queries)  # what is there twice may be beyond the depth
    rows = np.array([sizes[query] for query in found.queries], np.int64)
    block = block._replace(queries=found.queries, rows=rows, parts=found.parts)
    if not len(found.parts.rank) and found.parts.retrieved.any():
        query = found.queries[int(found.parts.retrieved.argmax())]
        block = block._replace(largest=(query, _documents(columns, query)[query]))
    return block


def _documents(columns: Columns, query: str) -> dict[str, list[str]]:
    rows = np.flatnonzero(columns.query == columns.queries.index(query))[:SAMPLE]
    return {query: columns.doc.gather(rows).to_list()}


# ---- there and back --------------------------------------------------------------------------------------------------


def shipped(value: object) -> bytes:
    """A value as bytes."""
    return pickle.dumps(value, 5)


def packed(block: Block) -> bytes:
    """A block as bytes: whole numbers in as few as hold them."""
    parts = block.parts
    if parts is not None:
        parts = Parts(*map(_narrow, parts))
    return shipped(block._replace(rows=_narrow(block.rows), others_rows=_narrow(block.others_rows), parts=parts))


def _narrow(values: Any) -> Any:
    return values.astype(np.min_scalar_type(values.max(initial=0))) if values.dtype.kind in "iu" else values


def _wide(values: Any) -> Any:
    return values if values.dtype.kind == "f" else values.astype(np.int64)


def unpacked(data: bytes) -> Block:
    """The block that was packed."""
    block: Block = pickle.loads(data)
    parts = block.parts
    if parts is not None:
        parts = Parts(*map(_wide, parts))
    rows, others = block.rows.astype(np.int64), block.others_rows.astype(np.int64)
    return block._replace(rows=rows, others_rows=others, parts=parts)
