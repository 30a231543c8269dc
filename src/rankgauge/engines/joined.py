"""Blocks from many tasks → what was found of every system, as if it had been found in one go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgauge.engines.blocks import SAMPLE, Block
from rankgauge.errors import MatchError
from rankgauge.matching.diagnose import no_query_in_common
from rankgauge.matching.match import Found, counting
from rankgauge.matching.parts import Parts, joined, stable_order
from rankgauge.read.records import Judgments, Run

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools
    from rankgauge.protocol import Protocol

__all__ = ["Universe", "apart", "found_in", "sizes_of", "without"]


@dataclass(frozen=True, eq=False)
class Universe:
    """All judged queries in code-point order, and how to get their parts where nothing was retrieved."""

    queries: list[str]
    parts: Callable[[], Parts]
    source: str

    @classmethod
    def of(cls, blocks: Iterable[Block], source: str) -> Universe:
        """The judged queries of these blocks."""
        queries, parts = _in_order([each for each in blocks if each.parts is not None])
        return cls(queries, lambda: parts, source)


def sizes_of(blocks: Iterable[Block]) -> Counter[str]:
    """Query → how many rows it has, over all systems and blocks."""
    sizes: Counter[str] = Counter()
    for block in blocks:
        sizes.update(dict(zip(block.queries, block.rows.tolist(), strict=True)))
        sizes.update(dict(zip(block.others, block.others_rows.tolist(), strict=True)))
    return sizes


def apart(blocks: Iterable[Block], *, judged: bool) -> set[str]:
    """The queries that are in several blocks of one system; `judged`: those alone that have judgments."""
    seen: set[tuple[str, str]] = set()
    found: set[str] = set()
    for block in blocks:
        found.update(block.apart)
        names = block.queries if judged else chain(block.queries, block.others)
        for query in names:
            if (block.system, query) in seen:
                found.add(query)
            seen.add((block.system, query))
    return found


def without(blocks: Iterable[Block], queries: Collection[str]) -> Iterator[Block]:
    """The same blocks without these queries."""
    for block in blocks:
        stay = np.array([query not in queries for query in block.others], bool)
        others = [query for query in block.others if query not in queries]
        cut = block._replace(others=others, others_rows=block.others_rows[stay], apart=(), huge=())
        keep = np.array([query not in queries for query in block.queries], bool)
        if block.parts is not None and not keep.all():
            kept = [query for query in block.queries if query not in queries]
            parts = _only(block.parts, keep) if kept else None
            cut = cut._replace(queries=kept, rows=block.rows[keep], parts=parts)
        yield cut


def _only(parts: Parts, keep: Bools) -> Parts:
    """The parts of some queries, numbered anew."""
    number = np.cumsum(keep) - 1
    judged, hit = keep[parts.judgment_query], keep[parts.query]
    rows: tuple[Any, ...] = (parts.rank, parts.first, parts.tied, parts.grade)
    query, grade = number[parts.judgment_query[judged]], parts.judgment_grade[judged]
    return Parts(parts.retrieved[keep], query, grade, number[parts.query[hit]], *(each[hit] for each in rows))


def found_in(blocks: list[Block], universe: Universe, name: str, protocol: Protocol) -> Found:
    """What was found of one system, in all its blocks."""
    full = [each for each in blocks if each.parts is not None]
    there = {query for each in full for query in each.queries}
    others = dict.fromkeys(query for each in blocks for query in each.others)
    if not there:
        raise _nothing_in_common(universe, others, name)
    known = [query in there for query in universe.queries]
    queries, answered, missing = counting(universe.queries, known, name, protocol)
    if missing and protocol.missing != "skip":
        absent = ~np.array(known, bool)
        names = [query for query, away in zip(universe.queries, absent.tolist(), strict=True) if away]
        full = [*full, Block(queries=names, parts=_only(universe.parts(), absent))]
    return Found(_in_order(full)[1], queries, answered, len(others), missing)


def _nothing_in_common(universe: Universe, others: Iterable[str], name: str) -> MatchError:
    nothing = {"": 0.0}
    judgments = Judgments(dict.fromkeys(universe.queries[: 10 * SAMPLE], nothing), source=universe.source)
    return no_query_in_common(judgments, Run(dict.fromkeys(list(others)[: 10 * SAMPLE], nothing), source=name))


def _in_order(blocks: list[Block]) -> tuple[list[str], Parts]:
    """The queries of all blocks in code-point order, and their parts."""
    queries = [query for each in blocks for query in each.queries]
    parts = joined([each.parts for each in blocks if each.parts is not None])
    order = sorted(range(len(queries)), key=queries.__getitem__)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    judged, hits = place[parts.judgment_query], place[parts.query]
    by_judged, by_hit = stable_order(judged), stable_order(hits)
    rows: tuple[Any, ...] = (parts.rank, parts.first, parts.tied, parts.grade)
    moved = Parts(
        parts.retrieved[order], judged[by_judged], parts.judgment_grade[by_judged], hits[by_hit],
        *(each[by_hit] for each in rows),
    )  # fmt: skip
    return [queries[at] for at in order], moved
