"""A run in blocks of whole queries: what was found in each, joined as if it had been found in the run as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankgauge.errors import RankgaugeError, warn
from rankgauge.matching.duplicates import judgments_settled, run_once
from rankgauge.matching.find import Found, asked_queries, find
from rankgauge.matching.hits import Hits, positions_within
from rankgauge.matching.parts import Parts, check_finite, in_ideal_order, joined, regrouped
from rankgauge.read.blocks import Repeated
from rankgauge.read.records import Columns, Judgments

if TYPE_CHECKING:
    from rankgauge.dtypes import Ints
    from rankgauge.protocol import Protocol
    from rankgauge.read.blocks import Streamed
    from rankgauge.read.records import Run

    Settled = tuple["_Judged | None", str, RankgaugeError | None]

__all__ = ["find_in_blocks", "hits_joined"]


def find_in_blocks(judgments: Judgments, run: Streamed, protocol: Protocol) -> Found:
    """What `find` finds in the run as a whole.

    What is wrong with the file is said first, as it is where it is read before it is matched; then which queries are
    missing; then what is wrong with the judgments or twice in a ranking.
    """
    with ThreadPoolExecutor(1) as beside:  # while the first block is read
        settled = beside.submit(_settled, judgments)
        found, repeated = run.through(lambda blocks: _found(settled, blocks, protocol))
    judged, said, problem = settled.result()
    queries, answered, missing, left_out = asked_queries(judgments, run, protocol)
    if problem is not None:
        raise problem
    if said:
        warn(said)
    if repeated:
        raise run.explain(repeated)
    assert judged is not None
    return Found(_joined(found, judged, queries, protocol), queries, answered, left_out, missing)


def hits_joined(several: Sequence[Hits]) -> Hits:
    """Hits of neighbouring queries, under the same rules, as one."""
    if len(several) == 1:
        return several[0]
    starts = np.cumsum([0, *(len(each.queries) for each in several[:-1])]).tolist()
    columns = {
        name: np.concatenate([getattr(each, name) for each in several])
        for name in ("answered", "retrieved", "judged", "rank", "first", "tied", "grade", "judgment_grade")
    }
    for name in ("query", "judgment_query"):
        columns[name] = np.concatenate([getattr(each, name) + at for each, at in zip(several, starts, strict=True)])
    return Hits(
        queries=[*chain.from_iterable(each.queries for each in several)],
        protocol=several[0].protocol,
        left_out=sum(each.left_out for each in several),
        missing=sum(each.missing for each in several),
        **columns,
    )


def _settled(judgments: Judgments) -> Settled:
    """Judgments with every pair once; a warning; or what is wrong with them, to be said when the run has been read."""
    try:
        check_finite(judgments)
        columns, said = judgments_settled(judgments)
    except RankgaugeError as error:
        return None, "", error
    return _Judged.of(columns, judgments.source), said, None


class _Judged(NamedTuple):
    """Judgments by query: the rows of each lie together, in the order given."""

    columns: Columns
    number: dict[str, int]
    starts: Ints
    sizes: Ints
    source: str

    @classmethod
    def of(cls, columns: Columns, source: str) -> _Judged:
        """The same judgments, query by query."""
        sizes = np.bincount(columns.query, minlength=len(columns.queries))
        together = (columns.query[1:] >= columns.query[:-1]).all()
        rows = columns if together else columns.take(np.argsort(columns.query, kind="stable"))
        return cls(rows, {query: i for i, query in enumerate(rows.queries)}, sizes.cumsum() - sizes, sizes, source)

    def of_queries(self, queries: list[str]) -> Columns:
        """The judgments of those queries that have some."""
        known = [query for query in queries if query in self.number]
        index = np.array([self.number[query] for query in known], np.int64)
        query = np.repeat(np.arange(len(index)), self.sizes[index])
        rows = self.columns.take(self.starts[index][query] + positions_within(query))
        return replace(rows, queries=known, query=query.astype(np.int32))


def _found(
    settled: Future[Settled], blocks: Iterator[Run], protocol: Protocol
) -> tuple[list[Found], list[tuple[str, str]]]:
    """What is found in each block, and a pair of each block that has a document twice; all blocks are gone through."""
    found: list[Found] = []
    repeated: list[tuple[str, str]] = []
    rules = replace(protocol, missing="skip")
    for block in blocks:
        judged, _, _ = settled.result()
        try:
            if judged is not None:
                found += _found_in(judged, block, rules)
        except Repeated as error:
            repeated.append(error.pair)
    return found, repeated


def _found_in(judged: _Judged, block: Run, protocol: Protocol) -> list[Found]:
    wanted = judged.of_queries(block.queries)
    if wanted.queries:
        return [find(Judgments(wanted, source=judged.source), block, protocol)]
    run_once(block, protocol)  # for what is there twice, judged or not
    return []


def _joined(found: list[Found], judged: _Judged, queries: list[str], protocol: Protocol) -> Parts:
    """The parts of all blocks and of the queries that are in none, in the order of the queries."""
    number = {query: i for i, query in enumerate(chain.from_iterable(each.queries for each in found))}
    others = judged.of_queries([query for query in queries if query not in number])
    number |= {query: i for i, query in enumerate(others.queries, len(number))}
    retrieved, judged_query, judged_grade, *hits = joined(
        [*(each.parts for each in found), _unanswered(others, protocol)]
    )
    order = np.array([number[query] for query in queries], np.int64)
    return Parts(retrieved[order], *regrouped((judged_query, judged_grade), order), *regrouped(hits, order))


def _unanswered(judged: Columns, protocol: Protocol) -> Parts:
    """What there is of queries without results: their judgments."""
    query, grade = in_ideal_order(judged.query.astype(np.int64), judged.number, protocol)
    nothing = np.zeros(0, np.int64)
    return Parts(np.zeros(len(judged.queries), np.int64), query, grade, nothing, nothing, nothing, nothing, np.zeros(0))
