"""The ranks of judged documents in a query of millions: counted, not sorted.

The rank of a document is one plus the number of documents that score higher, plus what the tie rule says about those
that score the same. Every task counts its own rows, and the counts are added up. Rows are (system, query, document,
number, place in the order given), checked before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from rankgauge.engines.blocks import Block, Judged, unanswered
from rankgauge.matching.order import as_float32
from rankgauge.matching.parts import GROUPED, by_rank
from rankgauge.protocol import NARROW, Protocol

if TYPE_CHECKING:
    import polars as pl

    from rankgauge.dtypes import Array, Floats, Ints

__all__ = ["Counts", "Key", "Target", "added", "blocks_of_counts", "counted_in", "targets_of"]

Key: TypeAlias = tuple[str, str]  # system and query


class Target(NamedTuple):
    """The judged documents of one ranking that were retrieved: scores as they are compared, places, grades.

    `levels` are their different scores, ascending, `level` is the one that each has, `tiebreak` what is compared where
    scores are equal.
    """

    levels: Floats
    level: Ints
    tiebreak: Array
    grade: Floats


class Counts(NamedTuple):
    """Rows of a ranking: read, retrieved, of each level's score or more, of its score, and before each document."""

    read: int
    retrieved: int
    at_least: Ints
    tied: Ints
    before: Ints


def scores_in(frame: pl.DataFrame, protocol: Protocol) -> Floats:
    """The scores of rows, as they are compared."""
    scores: Floats = frame["number"].to_numpy()
    narrow = protocol.scores in NARROW and protocol.order != "given"  # of which the numbers are places
    return as_float32(scores) if narrow else scores


def targets_of(frame: pl.DataFrame, judged: Judged, protocol: Protocol) -> dict[Key, Target]:
    """The rows of judged documents, ranking by ranking."""
    import polars as pl

    found: dict[Key, Target] = {}
    frame = retrieved_in(frame, protocol)
    for (system, query), rows in frame.partition_by("system", "query", as_dict=True).items():
        own = judged.some([query])
        assert own is not None
        grades = pl.DataFrame({"doc": own.columns.doc, "grade": own.columns.number})
        rows = rows.join(grades, on="doc", how="left", maintain_order="left")
        levels, level = np.unique(scores_in(rows, protocol), return_inverse=True)
        found[system, query] = Target(levels, level, _tiebreak(rows, protocol), rows["grade"].to_numpy())
    return found


def retrieved_in(frame: pl.DataFrame, protocol: Protocol) -> pl.DataFrame:
    """The rows that the rules leave in their rankings."""
    if protocol.same_id == "drop":
        frame = frame.filter(frame["doc"] != frame["query"])
    if protocol.only_positive:
        frame = frame.filter(scores_in(frame, protocol) > 0)
    return frame


def _tiebreak(frame: pl.DataFrame, protocol: Protocol) -> Array:
    """What orders documents of one score: their ids or their places."""
    if protocol.ties in ("given", "reversed"):
        return frame["row"].to_numpy()
    return frame["doc"].to_numpy().astype(object)


def counted_in(batches: Iterable[Any], targets: Mapping[Key, Target], protocol: Protocol) -> dict[Key, Counts]:
    """What is counted in the rows of one task."""
    import polars as pl

    found: dict[Key, Counts] = {}
    for batch in batches:
        frame = pl.DataFrame(batch)
        for (system, query), rows in frame.partition_by("system", "query", as_dict=True).items():
            key = system, query
            counts = _counted(rows, targets.get(key), protocol)
            found[key] = _sum(found[key], counts) if key in found else counts
    return found


def _counted(rows: pl.DataFrame, target: Target | None, protocol: Protocol) -> Counts:
    kept, nothing = retrieved_in(rows, protocol), np.zeros(0, np.int64)
    if target is None:
        return Counts(len(rows), len(kept), nothing, nothing, nothing)
    scores, levels = scores_in(kept, protocol), target.levels
    reached = np.searchsorted(levels, scores, "right")  # how many levels are at most the score
    at_least = np.bincount(reached, minlength=len(levels) + 1)[::-1].cumsum()[::-1][1:]
    equal = np.flatnonzero(levels[np.maximum(reached, 1) - 1] == scores)
    level = reached[equal] - 1
    tied = np.bincount(level, minlength=len(levels))
    before = np.zeros(len(target.level), np.int64)
    if protocol.ties not in GROUPED:
        order = np.argsort(level, kind="stable")
        tiebreak, ends = _tiebreak(kept[equal[order]], protocol), tied.cumsum()
        for at in np.flatnonzero(tied).tolist():
            own = np.flatnonzero(target.level == at)
            before[own] = _before(target.tiebreak[own], tiebreak[ends[at] - tied[at] : ends[at]], protocol)
    return Counts(len(rows), len(kept), at_least, tied, before)


def _before(own: Array, others: Array, protocol: Protocol) -> Ints:
    """How many of the others come before each of these, all of one score."""
    ascending = np.argsort(own, kind="stable")
    falling = protocol.ties in ("id", "reversed")
    reached = np.searchsorted(own[ascending], others, "left" if falling else "right")
    counts = np.bincount(reached, minlength=len(own) + 1)
    before = np.empty(len(own), np.int64)
    before[ascending] = counts[::-1].cumsum()[::-1][1:] if falling else counts.cumsum()[:-1]
    return before


def added(counts: Iterable[Mapping[Key, Counts]]) -> dict[Key, Counts]:
    """The counts of all tasks."""
    total: dict[Key, Counts] = {}
    for each in counts:
        for key, some in each.items():
            total[key] = _sum(total[key], some) if key in total else some
    return total


def _sum(one: Counts, other: Counts) -> Counts:
    pairs: Iterable[tuple[Any, Any]] = zip(one, other, strict=True)
    return Counts(*(mine + theirs for mine, theirs in pairs))


def blocks_of_counts(
    counts: Mapping[Key, Counts], targets: Mapping[Key, Target], judged: Judged | None, protocol: Protocol
) -> Iterator[Block]:
    """What was found in each of these rankings, a block for each."""
    for (system, query), each in counts.items():
        own = None if judged is None else judged.some([query])
        rows, sample = np.array([each.read]), {query: list[str]()}
        if own is None:
            yield Block(system, others=[query], others_rows=rows, sample=sample)
            continue
        parts = unanswered(own, protocol)._replace(retrieved=np.array([each.retrieved]))
        target = targets.get((system, query))
        if target is not None:
            parts = parts._replace(**_ranks(target, each, protocol))
        yield Block(system, [query], rows, parts, sample=sample)


def _ranks(target: Target, counts: Counts, protocol: Protocol) -> dict[str, Any]:
    """The hits of one ranking, in their order."""
    level = target.level
    first, tied = (counts.at_least - counts.tied)[level] + 1, counts.tied[level]
    rank = first if protocol.ties in GROUPED else first + counts.before
    rows = by_rank(np.zeros(len(level), np.int64), rank, first, tied, target.grade)
    return dict(zip(("query", "rank", "first", "tied", "grade"), rows, strict=True))
