"""One query of judgments and a run → Ranking: every document in its rank order, judged or not.

The order, ties, duplicates, the depth and condensing are `match`'s: it is given this one query, with a grade for each
document that names it and is among those of the others where its own is, and says where each of them stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from rankgauge.errors import FormatError, InputError, MatchError, ProtocolError, nearest, way
from rankgauge.matching.grades import hits_of_grades
from rankgauge.matching.match import match
from rankgauge.matching.parts import Parts, assemble, ordered, under_rules
from rankgauge.protocol import REPEATING, Protocol
from rankgauge.read import Columns, Judgments, Record, Run
from rankgauge.read.records import id_at

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats, Ints
    from rankgauge.matching.hits import Hits
    from rankgauge.measures import Measure

__all__ = [
    "Cases", "Ranking", "as_is", "evaluated", "hits_of", "only_query", "ranking_of_grades", "ranking_of_query",
    "showing", "with_its_ideal",
]  # fmt: skip

RecordType = TypeVar("RecordType", Judgments, Run)


@dataclass(frozen=True, eq=False, slots=True)
class Ranking:
    """One query's documents in rank order with their grades (NaN: unjudged), and the judged ones that it lacks.

    `given` has all judgments, retrieved or not, in the order given. `protocol` is what is still to be applied: the
    depth and condensing have been, and what is said of queries without anything to find comes last. `ideal` are the
    grades that the ideal is made of, where they are to stay whatever else becomes of the ranking; `cut`: it ends where
    the measure stops looking.
    """

    query: str
    docs: list[str]
    grade: Floats
    first: Ints
    tied: Ints
    missed: list[str]
    missed_grade: Floats
    given: Mapping[str, float]
    protocol: Protocol
    depth: int | None = None
    answered: bool = True
    ideal: Floats | None = None
    cut: bool = False

    @property
    def rank(self) -> Ints:
        """1, 2, 3, …: where ties are averaged, in one of the orders that they allow."""
        return np.arange(1, len(self.docs) + 1)

    @property
    def judged(self) -> Ints:
        """The places (from 0) of the judged documents."""
        return np.flatnonzero(~np.isnan(self.grade))

    @property
    def judgments(self) -> Floats:
        """The grades of all judgments, retrieved or not, in the order given."""
        return np.fromiter(self.given.values(), np.float64, len(self.given))

    def reordered(self, docs: list[str], grade: Floats) -> Ranking:
        """These documents instead, each at a rank of its own; whatever else is judged is not retrieved."""
        there = set(docs)
        left = [(doc, value) for doc, value in self.given.items() if doc not in there]
        ranks = np.arange(1, len(docs) + 1)
        missed_grade = np.array([value for _, value in left], np.float64)
        return replace(
            self, docs=docs, grade=grade, first=ranks, tied=np.ones_like(ranks), missed=[doc for doc, _ in left],
            missed_grade=missed_grade,
        )  # fmt: skip


def ranking_of_query(judgments: Judgments, run: Run, query: str, protocol: Protocol) -> Ranking:
    """The ranking of a query, from what was read."""
    _check_known(judgments, run, query)
    answered = query in set(run.queries)
    if not answered and protocol.missing == "error":
        raise MatchError(f"{run.source} does not answer query {query!r}, and missing='error' does not allow that")
    table = _judged(judgments, query)
    scores = _scored(run, query, protocol) if answered else {}
    return _ranking(query, table, scores, run, protocol, answered)


def ranking_of_grades(
    grades: Iterable[float | None],
    ideal: Iterable[float] | None,
    protocol: Protocol,
    scores: Iterable[float] | None = None,
) -> Ranking:
    """The ranking of documents that have these grades, called #1, #2, … by their ranks; None is unjudged.

    `scores`, falling, make some of them equal; without any, no two are.
    """
    listed, all_grades = _listed(grades), None if ideal is None else _listed(ideal)
    if not listed:
        raise FormatError("there is no grade to explain; give them in rank order, such as 3,2,3,0,u,2")
    hits_of_grades(listed, None if all_grades is None else [grade for grade in all_grades if grade is not None])
    table = _named({f"#{rank}": float(grade) for rank, grade in enumerate(listed, 1) if grade is not None}, all_grades)
    falling = [-float(rank) for rank in range(1, len(listed) + 1)] if scores is None else list(scores)
    run = Run({"": {f"#{rank}": score for rank, score in enumerate(falling, 1)}})
    return _ranking("", table, run.nested[""], run, replace(protocol, order="score"), True)


def _named(ranked: dict[str, float], ideal: list[float | None] | None) -> dict[str, float]:
    """All judgments in the order of the ideal's grades: each goes to a document of this grade, ranked or not."""
    free: dict[float, list[str]] = {}
    for doc, grade in ranked.items():
        free.setdefault(grade, []).append(doc)
    wanted = [float(grade) for grade in ideal or [] if grade is not None]
    names = [free[grade].pop(0) if free.get(grade) else "" for grade in wanted]
    left = sorted((place for place, name in enumerate(names) if not name), key=lambda place: -wanted[place])
    for number, place in enumerate(left, 1):
        names[place] = f"not ranked {number}"
    table = dict(zip(names, wanted, strict=True))
    return table | {doc: grade for doc, grade in ranked.items() if doc not in table}


def _listed(grades: Iterable[float | None]) -> list[float | None]:
    if isinstance(grades, (str, bytes)) or not isinstance(grades, Iterable):
        raise FormatError(f"grades are a list of numbers in rank order, None for unjudged; got {grades!r}")
    return list(grades)


def _ranking(
    query: str, table: Mapping[str, float], scores: Mapping[str, float], run: Run, protocol: Protocol, answered: bool
) -> Ranking:
    table = _under_rules(table, query, protocol)
    condensed = protocol.unjudged == "condensed"
    kept = [doc for doc in scores if not condensed or table.get(doc, -1.0) >= 0]
    if protocol.ties in ("worst", "best"):
        kept.sort(key=lambda doc: _standing(table.get(doc)))
    order, first, tied = _order(query, kept, scores, run, protocol)
    docs = [kept[place] for place in order]
    there = set(docs)
    missed = [doc for doc in table if doc not in there]
    grade = np.array([table.get(doc, np.nan) for doc in docs], np.float64)
    missed_grade = np.array([table[doc] for doc in missed], np.float64)
    rest = replace(protocol, depth=None, unjudged="not-relevant", empty="zero", same_id="keep")
    return Ranking(query, docs, grade, first, tied, missed, missed_grade, table, rest, protocol.depth, answered)


def _under_rules(table: Mapping[str, float], query: str, protocol: Protocol) -> dict[str, float]:
    """The judgments as the protocol takes grades."""
    grades, none = np.fromiter(table.values(), np.float64, len(table)), np.zeros(0, np.int64)
    parts = Parts(none, np.zeros(len(table), np.int64), grades, none, none, none, none, np.zeros(0))
    taken = under_rules(parts, [query], replace(protocol, ties="given", depth=None)).judgment_grade
    return dict(zip(table, taken.tolist(), strict=True))


def _standing(grade: float | None) -> tuple[float, float]:
    """Where a grade stands among others: one that is not there comes between 0 and the negative ones."""
    return (0.0, 0.0) if grade is None else (1.0 if grade >= 0 else -1.0, grade)


def _order(
    query: str, kept: list[str], scores: Mapping[str, float], run: Run, protocol: Protocol
) -> tuple[list[int], Ints, Ints]:
    """Where `match` puts each of these documents: their places in the list by rank, and their tie groups."""
    if not kept:
        nothing = np.zeros(0, np.int64)
        return [], nothing, nothing
    alone = Run({query: scores}, by=run.by, source=run.source)
    alone.has_scores = run.has_scores
    hits = match(Judgments({query: {doc: float(place) for place, doc in enumerate(kept)}}), alone, protocol)
    return hits.grade.astype(np.int64).tolist(), hits.first, hits.tied


def only_query(judgments: Judgments) -> str:
    """The query that is judged, where there is but one."""
    queries = judgments.queries
    if len(queries) == 1:
        return queries[0]
    hint = f": {way('name one', '--query ID takes one, --worst N the worst')}" if queries else ""
    raise InputError(f"which query? {judgments.source} has {_some(queries) or 'none'}{hint}")


def _some(queries: Sequence[str]) -> str:
    return ", ".join(map(repr, sorted(queries)[:3])) + ", …" * (len(queries) > 3)


def _check_known(judgments: Judgments, run: Run, query: str) -> None:
    judged, ranked = judgments.queries, run.queries
    if query in set(judged):
        return
    if query in set(ranked):
        raise InputError(f"query {query!r} has no judgments in {judgments.source}: there is nothing to measure")
    close = next((known for known in judged if _plain(known) == _plain(query)), None) or nearest(query, judged)
    hint = f"; did you mean {close!r}?" if close else f"; there are {_some(judged)}"
    raise InputError(f"query {query!r} is neither in {judgments.source} nor in {run.source}{hint}")


def _plain(query: str) -> str:
    """An id without its case, blanks and leading zeros."""
    return re.sub(r"(?<!\d)0+(?=\d)", "", query.strip().casefold())


def _judged(judgments: Judgments, query: str) -> dict[str, float]:
    alone = _taken(judgments, query)
    if alone.is_columns:
        from rankgauge.matching.duplicates import judgments_once

        return _table(judgments_once(alone))
    return {doc: float(grade) for doc, grade in _with_text_ids(alone, query)}


def _scored(run: Run, query: str, protocol: Protocol) -> dict[str, float]:
    alone = _taken(run, query)
    if alone.is_columns:
        from rankgauge.matching.duplicates import run_once

        if protocol.duplicates in REPEATING:
            raise ProtocolError(f"duplicates={protocol.duplicates}: a value is explained for each document once")
        rows, _ = run_once(alone, protocol)
        return _table(rows.columns)
    return dict(_with_text_ids(alone, query))


def _with_text_ids(record: Record, query: str) -> Iterator[tuple[str, float]]:
    place = f"{record.source}, query {query!r}, document "
    return ((id_at(doc, f"{place}{doc!r}"), number) for doc, number in record.nested[query].items())


def _taken(record: RecordType, query: str) -> RecordType:
    """The record of this query alone."""
    if record.is_nested:
        return type(record)({query: record.nested[query]}, source=record.source)
    columns = record.columns
    rows = np.flatnonzero(columns.query == columns.queries.index(query))
    alone = Columns([query], np.zeros(len(rows), np.int32), columns.doc.gather(rows), columns.number[rows])
    return type(record)(alone, source=record.source, explain=record.explain)


def _table(columns: Columns) -> dict[str, float]:
    return dict(zip(columns.doc.to_list(), columns.number.tolist(), strict=True))


# ---- variations of one ranking, as the queries of one Hits -----------------------------------------------------------


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
