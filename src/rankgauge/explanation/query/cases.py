"""Variations of one ranking as the queries of one Hits, so that a measure is evaluated once for all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rankgauge.matching.parts import Parts, assemble, ordered

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats, Ints
    from rankgauge.explanation.query.ranking import Ranking
    from rankgauge.matching.hits import Hits
    from rankgauge.measures import Measure

__all__ = ["Cases", "as_is", "evaluated", "hits_of", "showing", "with_its_ideal"]

MUCH = 4_000_000  # rows of one Hits


@dataclass(frozen=True, eq=False, slots=True)
class Cases:
    """Judged documents of several variations: which one (from 0), rank, tie group, grade; how many each retrieves."""

    case: Ints
    rank: Ints
    first: Ints
    tied: Ints
    grade: Floats
    retrieved: Ints


def hits_of(ranking: Ranking, cases: Cases) -> Hits:
    """All variations as the queries of one Hits; each has all the judgments, and the ideal that these make of it."""
    count, judgments = len(cases.retrieved), ranking.judgments
    rank = cases.first if ranking.protocol.ties == "average" else cases.rank
    parts = Parts(
        cases.retrieved, np.repeat(np.arange(count), len(judgments)), np.tile(judgments, count),
        cases.case, rank, cases.first, cases.tied, cases.grade,
    )  # fmt: skip
    answered = np.full(count, ranking.answered)
    rows = ordered(parts, ranking.protocol)
    hits = assemble(rows, [ranking.query] * count, answered, ranking.protocol, left_out=0, missing=0)
    if ranking.ideal is None:
        return hits
    query = np.repeat(np.arange(count), len(ranking.ideal))
    return replace(hits, judgment_query=query, judgment_grade=np.tile(ranking.ideal, count))


def with_its_ideal(ranking: Ranking) -> Ranking:
    """The ranking with its ideal settled, so that it stays when documents of the ranking are hidden or moved."""
    return ranking if ranking.ideal is not None else replace(ranking, ideal=as_is(ranking).judgment_grade)


def as_is(ranking: Ranking) -> Hits:
    """The ranking itself."""
    return hits_of(ranking, _shown(ranking, np.ones((1, len(ranking.judged)), bool)))


def evaluated(ranking: Ranking, cases: Cases, measure: Measure) -> Floats:
    """The measure's value of each variation."""
    return measure(hits_of(ranking, cases))


def showing(ranking: Ranking, masks: Bools, measure: Measure) -> Floats:
    """The measure's values when only some of the judged documents are known to be judged: a row of marks a case."""
    ranking = with_its_ideal(ranking)
    step = max(1, MUCH // max(1, masks.shape[1] + len(ranking.judgments)))
    blocks = [masks[start : start + step] for start in range(0, len(masks), step)]
    return np.concatenate([np.zeros(0), *(evaluated(ranking, _shown(ranking, block), measure) for block in blocks)])


def _shown(ranking: Ranking, masks: Bools) -> Cases:
    case, hit = np.nonzero(masks)
    place = ranking.judged[hit]
    retrieved = np.full(len(masks), len(ranking.docs))
    return Cases(case, ranking.rank[place], ranking.first[place], ranking.tied[place], ranking.grade[place], retrieved)
