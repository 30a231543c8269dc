"""The runs of two stages side by side: candidates in their order, and where each reranked document came from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from rankgauge.errors import InputError, ProtocolError, counted
from rankgauge.matching.diagnose import no_query_in_common
from rankgauge.matching.find import asked_queries
from rankgauge.matching.match import find, settled
from rankgauge.matching.ranking import Whole, whole
from rankgauge.protocol import Protocol, check_independent
from rankgauge.read import Judgments, Run

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Ints
    from rankgauge.matching.hits import Hits
    from rankgauge.read.blocks import Streamed

__all__ = ["Outside", "Stage", "check_answers", "check_candidates", "check_fit", "first_stage", "judged_in_all"]
__all__ += ["second_stage"]

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


class Outside(NamedTuple):
    """Reranked documents that are no candidates: how many of how many, of how many queries, and some by name.

    `without` are queries that have no candidates at all, with the number of documents that were reranked for each.
    """

    documents: int
    of: int
    queries: int
    named: list[str]
    example: str
    without: dict[str, int]

    def plus(self, other: Outside) -> Outside:
        """These and those of later queries."""
        return Outside(
            self.documents + other.documents, self.of + other.of, self.queries + other.queries,
            [*self.named, *other.named][:NAMED_DOCUMENTS], self.example or other.example, self.without | other.without,
        )  # fmt: skip


def check_fit(protocol: Protocol) -> None:
    """Refuse rules under which the parts would not be exact."""
    check_independent(protocol, "two stages are told apart", {"empty": ("one-if-unanswered",)})
    if protocol.depth is not None:
        raise ProtocolError("depth is no rule here: candidates=N takes the first N of the retrieved run")


def judged_in_all(judgments: Judgments, runs: Iterable[Run | Streamed], protocol: Protocol) -> Judgments:
    """The judgments of the queries that count: all, or where missing ones are skipped, those that every run answers."""
    if protocol.missing != "skip":
        return judgments
    for run in (runs := list(runs)):
        check_shared(judgments, run)
    common = set(judgments.queries).intersection(*(run.answered for run in runs))
    if not common:
        raise InputError("no judged query is answered by every run, and missing='skip' leaves the others out")
    return judgments.only(common)


def check_shared(judgments: Judgments, run: Run | Streamed) -> None:
    """Judgments and a run without a query in common are an error that shows the ids of both, as everywhere."""
    if run.answered and run.answered.isdisjoint(judgments.queries):
        raise no_query_in_common(judgments, run)


def check_answers(judgments: Judgments, run: Run | Streamed, protocol: Protocol, *, second: bool) -> None:
    """What the rules say of queries that a run does not answer; of a second stage it answers some."""
    check_shared(judgments, run)
    if second and not run.answered:
        raise InputError(f"{run.source} answers no query: nothing was reranked")
    asked_queries(judgments, run, protocol)


def first_stage(judgments: Judgments, name: str, run: Run, protocol: Protocol, candidates: int | None) -> Stage:
    """The candidates: the retrieved run, or its first so many documents of every query."""
    run = run.only(set(judgments.queries))
    order = whole(run, protocol)
    if candidates is not None and int(order.sizes.max(initial=0)) > candidates:
        run = order.kept(run, order.rank <= candidates)
        order = whole(run, protocol)
    return Stage(name, *_hits(judgments, run, order, protocol), order)


def second_stage(judgments: Judgments, name: str, run: Run, protocol: Protocol, first: Stage) -> tuple[Stage, Outside]:
    """A reranked run without what is no candidate, and that."""
    run = run.only(set(judgments.queries))
    order = whole(run, protocol)
    before = order.ranks_in(first.order)
    outside = before == 0
    told = _outside(order, outside, first)
    if told.documents:
        run = order.kept(run, ~outside)
        order, before = whole(run, protocol), before[~outside]
    return Stage(name, *_hits(judgments, run, order, protocol), order, before), told


def _hits(judgments: Judgments, run: Run, order: Whole, protocol: Protocol) -> tuple[Hits, Hits]:
    """The hits of a run, and those of its condensed ranking."""
    found = find(judgments, run, protocol, order.rows)
    return settled(found, protocol), settled(found, replace(protocol, unjudged="condensed"))


def _outside(order: Whole, outside: Bools, first: Stage) -> Outside:
    """The reranked documents that are no candidates, and the queries that have none."""
    sizes = dict(zip(order.queries, order.sizes.tolist(), strict=True))
    candidates = dict(zip(first.order.queries, first.order.sizes.tolist(), strict=True))
    at = np.flatnonzero(outside)
    if not len(at):
        return Outside(0, len(outside), 0, [], "", {})
    place = np.argsort(np.argsort(np.array(order.queries, object)))  # of the queries, in code-point order
    at = at[np.argsort(place[order.rows.query[at]], kind="stable")]
    query_of = order.rows.query[at]
    some, rank = at[:NAMED_DOCUMENTS], order.rank[at[:NAMED_DOCUMENTS]]
    named = [
        f"{doc!r} (query {order.queries[query]!r}, rank {place})"
        for doc, query, place in zip(order.docs(some), query_of.tolist(), rank.tolist(), strict=False)
    ]
    query = order.queries[int(query_of[0])]
    example = f"query {query!r} has {counted(candidates.get(query, 0), 'candidate')} and {sizes[query]:,} reranked"
    without = {query: size for query, size in sorted(sizes.items()) if size and not candidates.get(query)}
    return Outside(len(at), len(outside), len(np.unique(query_of)), named, example, without)


def check_candidates(outside: Outside, source: str, first: str, *, restrict: bool) -> None:
    """Every reranked document is a candidate: others are an error, or dropped; a query without candidates has none."""
    if outside.without:
        query, size = next(iter(outside.without.items()))
        more = f" (and {len(outside.without) - 1:,} more such queries)" if len(outside.without) > 1 else ""
        raise InputError(
            f"{source} ranks {counted(size, 'document')} for query {query!r}, for which "
            f"{first} has no candidates{more}; give the run that was reranked, or leave such queries out with "
            "--missing skip (missing='skip' in Python)"
        )
    if outside.documents and not restrict:
        shown = ", ".join(outside.named) + (", …" if outside.documents > NAMED_DOCUMENTS else "")
        raise InputError(
            f"{source}: {counted(outside.documents, 'document')} of {counted(outside.queries, 'query', 'queries')} "
            f"{'is no candidate' if outside.documents == 1 else 'are no candidates'} of {first}: {shown}; "
            f"{outside.example}. Give the run that was reranked, or drop what is no candidate with --restrict "
            "(restrict=True in Python)"
        )
    if outside.documents and outside.documents == outside.of:
        raise InputError(f"no document of {source} is a candidate of {first}: nothing is left to measure")
