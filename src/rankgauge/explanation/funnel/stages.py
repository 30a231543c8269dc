"""The runs of two stages side by side: candidates in their order, and where each reranked document came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from rankgauge.errors import InputError, ProtocolError, counted
from rankgauge.matching.diagnose import no_query_in_common, warn_if_nothing_found
from rankgauge.matching.match import find, settled
from rankgauge.matching.ranking import Whole, whole
from rankgauge.protocol import Protocol, check_independent
from rankgauge.read import Columns, Judgments, Run, RunSource
from rankgauge.read.blocks import Streamed

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Ints
    from rankgauge.matching.hits import Hits

__all__ = ["Stage", "check_fit", "first_stage", "judged_in_all", "run_of", "second_stage"]

NAMED_DOCUMENTS: Final = 3  # documents that an error names


@dataclass(frozen=True, eq=False)
class Stage:
    """A run of one stage: its hits, the same without unjudged documents, and every document in its order.

    `before` has for every position of the order the rank among the candidates, where this is the second stage.
    """

    name: str
    hits: Hits
    condensed: Hits
    order: Whole
    before: Ints | None = None
    dropped: int = 0

    @cached_property
    def starts(self) -> Ints:
        """For every query of the hits the first position of its ranking (of none: whatever)."""
        number = {query: at for at, query in enumerate(self.order.queries)}
        places = np.array([number.get(query, -1) for query in self.hits.queries], np.int64)
        starts: Ints = np.append(self.order.starts, 0)[places]
        return starts

    @cached_property
    def positions(self) -> Ints:
        """The position of every hit."""
        return self.starts[self.hits.query] + self.hits.rank - 1


def check_fit(protocol: Protocol) -> None:
    """Refuse rules under which the parts would not be exact."""
    check_independent(protocol, "two stages are told apart", {"empty": ("one-if-unanswered",)})
    if protocol.depth is not None:
        raise ProtocolError("depth is no rule here: candidates=N takes the first N of the retrieved run")


def judged_in_all(judgments: Judgments, runs: Iterable[Run], protocol: Protocol) -> Judgments:
    """The judgments of the queries that count: all, or where missing ones are skipped, those that every run answers."""
    if protocol.missing != "skip":
        return judgments
    for run in (runs := list(runs)):
        check_shared(judgments, run)
    common = set(judgments.queries).intersection(*(run.answered for run in runs))
    if not common:
        raise InputError("no judged query is answered by every run, and missing='skip' leaves the others out")
    columns = judgments.columns
    keep = np.fromiter(map(common.__contains__, columns.queries), bool, len(columns.queries))
    number = (np.cumsum(keep) - 1).astype(np.int32)
    rows = np.flatnonzero(keep[columns.query])
    left = [query for query in columns.queries if query in common]
    cut = Columns(left, number[columns.query[rows]], columns.doc.gather(rows), columns.number[rows])
    return Judgments(cut, source=judgments.source, explain=judgments.explain)


def run_of(judgments: Judgments, source: RunSource, protocol: Protocol) -> Run:
    """A run; of a large one the queries that are judged, for no others are looked at."""
    run = source.opened(protocol)
    if not isinstance(run, Streamed):
        return run
    judged = run.only(set(judgments.queries))
    if not len(judged):
        raise no_query_in_common(judgments, run)
    return judged


def check_shared(judgments: Judgments, run: Run) -> None:
    """Judgments and a run without a query in common are an error that shows the ids of both, as everywhere."""
    if run.answered and not run.answered & set(judgments.queries):
        raise no_query_in_common(judgments, run)


def first_stage(judgments: Judgments, name: str, run: Run, protocol: Protocol, candidates: int | None) -> Stage:
    """The candidates: the retrieved run, or its first so many documents of every query."""
    check_shared(judgments, run)
    run = run.only(set(judgments.queries))
    order = whole(run, protocol)
    if candidates is not None and int(order.sizes.max(initial=0)) > candidates:
        run = order.kept(run, order.rank <= candidates)
        order = whole(run, protocol)
    hits, condensed = _hits(judgments, run, order, protocol)
    warn_if_nothing_found(judgments, run, hits)
    return Stage(name, hits, condensed, order)


def second_stage(
    judgments: Judgments, name: str, run: Run, protocol: Protocol, first: Stage, *, restrict: bool
) -> Stage:
    """A reranked run, every document of which is a candidate: the others are an error, or dropped."""
    check_shared(judgments, run)
    run = run.only(set(judgments.queries))
    if not len(run):
        raise InputError(f"{run.source} answers no query: nothing was reranked")
    order = whole(run, protocol)
    before = order.ranks_in(first.order)
    outside = before == 0
    dropped = int(outside.sum())
    if dropped:
        _refuse_queries(run, order, first)
        if not restrict:
            raise InputError(_no_candidates(run, order, outside, first))
        if dropped == len(outside):
            raise InputError(f"no document of {run.source} is a candidate of {first.name}: nothing is left to measure")
        run = order.kept(run, ~outside)
        order, before = whole(run, protocol), before[~outside]
    return Stage(name, *_hits(judgments, run, order, protocol), order, before, dropped)


def _hits(judgments: Judgments, run: Run, order: Whole, protocol: Protocol) -> tuple[Hits, Hits]:
    """The hits of a run, and those of its condensed ranking."""
    found = find(judgments, run, protocol, order.rows)
    return settled(found, protocol), settled(found, replace(protocol, unjudged="condensed"))


def _refuse_queries(run: Run, order: Whole, first: Stage) -> None:
    """A query that was reranked has candidates."""
    known = {query for query, size in zip(first.order.queries, first.order.sizes.tolist(), strict=True) if size}
    sizes: Mapping[str, int] = dict(zip(order.queries, order.sizes.tolist(), strict=True))
    without = [query for query, size in sizes.items() if size and query not in known]
    if without:
        more = f" (and {len(without) - 1:,} more such queries)" if len(without) > 1 else ""
        raise InputError(
            f"{run.source} ranks {counted(sizes[without[0]], 'document')} for query {without[0]!r}, for which "
            f"{first.name} has no candidates{more}; give the run that was reranked, or leave such queries out with "
            "--missing skip (missing='skip' in Python)"
        )


def _no_candidates(run: Run, order: Whole, outside: Bools, first: Stage) -> str:
    """The error for reranked documents that are no candidates: some by name, and how many they are."""
    at = np.flatnonzero(outside)
    query_of = order.rows.query[at]
    queries, (some, rank) = len(np.unique(query_of)), (at[:NAMED_DOCUMENTS], order.rank[at[:NAMED_DOCUMENTS]])
    named = [
        f"{doc!r} (query {order.queries[query]!r}, rank {place})"
        for doc, query, place in zip(order.docs(some), query_of.tolist(), rank.tolist(), strict=False)
    ]
    shown = ", ".join(named) + (", …" if len(at) > NAMED_DOCUMENTS else "")
    number = int(query_of[0])
    size = dict(zip(first.order.queries, first.order.sizes.tolist(), strict=True))[order.queries[number]]
    return (
        f"{run.source}: {counted(len(at), 'document')} of {counted(queries, 'query', 'queries')} "
        f"{'is no candidate' if len(at) == 1 else 'are no candidates'} of {first.name}: {shown}; query "
        f"{order.queries[number]!r} has {counted(size, 'candidate')} and {int(order.sizes[number]):,} reranked. Give "
        "the run that was reranked, or drop what is no candidate with --restrict (restrict=True in Python)"
    )
