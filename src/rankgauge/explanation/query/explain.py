"""Judgments + run + one query → Explanation: a value, rank by rank, and what would raise it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.errors import InputError, MeasureError
from rankgauge.explanation.query.explanation import Change, Difference, Explanation, Level, Rest, Row, Share, difference
from rankgauge.explanation.query.ranking import (
    Cases,
    Ranking,
    as_is,
    evaluated,
    only_query,
    ranking_of_grades,
    ranking_of_query,
)
from rankgauge.explanation.query.terms import (
    Terms,
    check_explainable,
    ideal_gains,
    ideal_notes,
    ideal_ranking,
    ideal_terms,
    terms,
    value_of,
)
from rankgauge.explanation.query.worth import DCG_FAMILY, best_ranking, dcg_measure, discounts_of, gains_of, reach
from rankgauge.matching.match import match
from rankgauge.measures import AnyMeasure, Measure, parse
from rankgauge.measures.bands.bands import prefers_better_higher
from rankgauge.measures.gains import gain_text
from rankgauge.measures.parser import measure_text
from rankgauge.protocol import DEFAULT, Protocol, Rules
from rankgauge.read import RunSource, read_judgments
from rankgauge.read.named import named_one
from rankgauge.read.records import id_text

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats, Ints

__all__ = [
    "Change", "Difference", "Explanation", "Level", "Rest", "Row", "Share", "changes", "difference", "explain",
    "wanted_measure", "worst_queries",
]  # fmt: skip


def explain(
    judgments: Any = None,
    run: Any = None,
    query: Any = None,
    measure: AnyMeasure | None = None,
    *,
    ranked_grades: Iterable[float | None] | None = None,
    ideal_grades: Iterable[float] | None = None,
    gain: str | Mapping[float, float] | None = None,
    k: int | None = None,
    protocol: Protocol | Rules = DEFAULT,
    top: int = 5,
    name: str = "",
) -> Explanation:
    """Explain the value of one query of a run, or of grades in rank order (None: unjudged): rank by rank.

    Judgments and run as for `evaluate`. Without a measure it is nDCG@10; `gain` and `k` set its parameters.
    `ideal_grades` are those of all judgments, where more were judged than ranked. `top` is how many changes to keep
    that would raise the value. Where judgments are of one query, it need not be named.

    >>> round(explain(ranked_grades=[3, 2, 3, 0, 1, 2, 0, 1, 0, 2], gain="exp").value, 6)
    0.936002
    """
    protocol, wanted = Protocol.of(protocol), wanted_measure(measure, gain, k)
    check_explainable(wanted)
    if ranked_grades is not None:
        if judgments is not None or run is not None or query is not None:
            raise InputError("give either ranked_grades, or judgments, a run and a query")
        return explained(ranking_of_grades(ranked_grades, ideal_grades, protocol), wanted, protocol, top=top, name=name)
    if judgments is None or run is None:
        raise InputError("what is to be explained? Give judgments, a run and a query, or ranked_grades")
    if ideal_grades is not None:
        raise InputError("ideal_grades goes with ranked_grades; with judgments, the ideal is made of all of them")
    name, run = named_one(run, name)
    judged = read_judgments(judgments)
    wanted_query = only_query(judged) if query is None else id_text(query)
    ranked = RunSource.of(run).read(protocol)
    ranking = ranking_of_query(judged, ranked, wanted_query, protocol)
    return explained(ranking, wanted, protocol, top=top, name=name or ranked.source)


def worst_queries(
    judgments: Any,
    run: Any,
    worst: int,
    measure: AnyMeasure | None = None,
    *,
    protocol: Protocol | Rules = DEFAULT,
    top: int = 5,
    name: str = "",
) -> list[Explanation]:
    """Explanations of the queries of the lowest values, lowest first; those that the protocol leaves out do not count.

    >>> found = worst_queries({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": {"a": 2.0}, "q2": {"x": 2.0, "b": 1.0}}, 1)
    >>> found[0].query
    'q2'
    """
    protocol, wanted = Protocol.of(protocol), wanted_measure(measure, None, None)
    check_explainable(wanted)
    name, run = named_one(run, name)
    judged, ranked = read_judgments(judgments), RunSource.of(run).read(protocol)
    hits = match(judged, ranked, protocol)
    values = wanted(hits)
    order = [place for place in np.argsort(values, kind="stable").tolist() if not np.isnan(values[place])]
    return [
        explained(
            ranking_of_query(judged, ranked, hits.queries[place], protocol), wanted, protocol, top=top,
            name=name or ranked.source,
        )
        for place in order[:worst]
    ]  # fmt: skip


def most_lost(
    judgments: Any,
    runs: Mapping[str, Any],
    worst: int,
    measure: AnyMeasure | None = None,
    *,
    protocol: Protocol = DEFAULT,
    top: int = 5,
) -> list[Difference]:
    """The queries on which the second of two runs lost most against the first, each document by document.

    >>> old, new = {"q1": {"a": 2.0, "x": 1.0}}, {"q1": {"x": 2.0, "a": 1.0}}
    >>> [found] = most_lost({"q1": {"a": 1}}, {"old": old, "new": new}, 5)
    >>> round(found.points, 4)
    -0.3691
    """
    wanted = wanted_measure(measure, None, None)
    check_explainable(wanted)
    judged = read_judgments(judgments)
    ranked = {name: RunSource.of(run).read(protocol) for name, run in runs.items()}
    old, new = (dict(_values(judged, run, wanted, protocol)) for run in ranked.values())
    lost = {query: new[query] - old[query] for query in old if query in new and new[query] < old[query]}
    both = [
        [
            explained(ranking_of_query(judged, run, query, protocol), wanted, protocol, top=top, name=name)
            for name, run in ranked.items()
        ]
        for query in sorted(lost, key=lambda query: lost[query])[:worst]
    ]
    return [difference(after, before) for before, after in both]


def _values(judgments: Any, run: Any, measure: Measure, protocol: Protocol) -> Iterator[tuple[str, float]]:
    hits = match(judgments, run, protocol)
    return ((query, value) for query, value in zip(hits.queries, measure(hits).tolist(), strict=True) if value == value)


def wanted_measure(measure: AnyMeasure | None, gain: Any, k: int | None) -> Measure:
    """The measure asked for: nDCG@10 without one, with this gain and cut-off."""
    if measure is None:
        text = f"nDCG(gain={gain_text('linear' if gain is None else gain)})@{10 if k is None else k}"
        return parse(text)
    if gain is not None or k is not None:
        raise MeasureError(f"gain and k are parts of the measure where one is given: write them into {str(measure)!r}")
    return measure if isinstance(measure, Measure) else parse(measure_text(measure))


def explained(ranking: Ranking, measure: Measure, protocol: Protocol, *, top: int, name: str) -> Explanation:
    """The explanation of a ranking."""
    best = ideal_ranking(ranking, measure)
    of_ideal, ideal_value = ideal_terms(best, ranking, measure)
    ideal = _rows(best, measure, of_ideal, ideal_gains(best, measure))
    value, said = _under_rules(ranking, measure, protocol)
    shown, raising, note = ranking, list[Change](), ""
    if measure.name == "IDCG":  # that of the ideal ranking, whatever the run
        shown, rows, found = best, ideal, of_ideal
    else:
        found = terms(ranking, measure)
        rows = _rows(ranking, measure, found, gains_of(measure, ranking.grade, ranking.protocol))
        raising, note = changes(ranking, measure, value_of(ranking, measure), top) if top else ([], "")
    whole = Explanation(
        str(measure), ranking.query, name, value, rows, ideal, ideal_value, *_dcg_and_ideal(ranking, measure),
        rest=Rest(found.words, found.rest) if found.rest else None,
        levels=tuple(found.levels),
        would_raise=tuple(raising),
        ranks=dict(zip(shown.docs, shown.rank.tolist(), strict=True)),
        notes=tuple(filter(None, [note, *_notes(ranking), *ideal_notes(ranking, measure)])),
    )  # fmt: skip
    return said(whole)


def _notes(ranking: Ranking) -> Iterator[str]:
    if not ranking.answered:
        yield "the run does not answer this query"
    if ranking.protocol.ties == "average" and (ranking.tied > 1).any():
        yield "tied documents share what they add; they are shown in one of their orders"


def _dcg_and_ideal(ranking: Ranking, measure: Measure) -> tuple[float | None, float | None]:
    if measure.name not in DCG_FAMILY:
        return None, None
    return value_of(ranking, dcg_measure(measure, "DCG")), value_of(ranking, dcg_measure(measure, "IDCG"))


def _under_rules(
    ranking: Ranking, measure: Measure, protocol: Protocol
) -> tuple[float, Callable[[Explanation], Explanation]]:
    """The value that `evaluate` has for the query (NaN: left out), and what is to be said where a rule has made it: of
    a query that has nothing to find, or that the run does not answer."""
    if not ranking.answered and protocol.missing == "skip":
        return np.nan, partial(_by_rule, note="with missing='skip' it is left out of the mean")
    value = value_of(replace(ranking, protocol=replace(ranking.protocol, empty=protocol.empty)), measure)
    if not measure.empty(as_is(ranking))[0]:
        return value, lambda whole: whole
    if protocol.empty == "skip":
        return value, partial(_by_rule, note="nothing is relevant: with empty='skip' it is left out of the mean")
    if measure.definition.bounded and (protocol.empty == "one" or (not ranking.docs and protocol.empty != "zero")):
        return value, partial(_by_rule, rest=Rest("nothing is relevant, which counts 1", value))
    if value == 0.0:
        return value, lambda whole: replace(whole, notes=(*whole.notes, "nothing is relevant, which counts 0"))
    return value, lambda whole: whole


def _by_rule(whole: Explanation, rest: Rest | None = None, note: str = "") -> Explanation:
    """The explanation of a value that no rank has a part in."""
    rows = tuple(replace(row, contribution=0.0, total=0.0) for row in whole.rows)
    notes = (*whole.notes, note) if note else whole.notes
    return replace(whole, rows=rows, rest=rest, levels=(), would_raise=(), notes=notes)


def _rows(ranking: Ranking, measure: Measure, found: Terms, gains: Floats) -> tuple[Row, ...]:
    """A row a rank, down to the cut-off or to the last that adds anything (an ideal ranking has its own end)."""
    cut, adding = measure.cutoff, np.flatnonzero(gains if ranking.cut else found.share)
    size = len(ranking.docs) if not isinstance(cut, int) else max(cut, adding[-1] + 1 if len(adding) else 0)
    divisors, totals = discounts_of(measure, ranking), found.share.cumsum()
    return tuple(
        Row(
            place + 1, doc, graded(float(ranking.grade[place])), float(gains[place]),
            None if divisors is None else float(divisors[place]),
            None if divisors is None else float(gains[place] / divisors[place]),
            float(found.share[place]), float(totals[place]),
        )
        for place, doc in enumerate(ranking.docs[:size])
    )  # fmt: skip


# ---- what would raise a value ----------------------------------------------------------------------------------------
# Every swap of two ranks and every missing document inserted, evaluated as one Hits.


MUCH: Final = 3_000_000  # rows of one Hits: about a third of a second
MOST_HITS: Final = 30  # so many Hits, and no more, for a measure of which little is known


def changes(
    ranking: Ranking, measure: Measure, value: float, top: int, *, much: int = MUCH, most_hits: int = MOST_HITS
) -> tuple[list[Change], str]:
    """The `top` changes that raise the value most, best first; and a note where there were too many to look at.

    Of the documents beyond the cut-off, any two of one grade are worth the same: the first one stands for them.
    """
    at_once = max(1, much // max(1, len(ranking.judgments) + len(ranking.judged)))  # cases that one Hits may hold
    upper, lower, note = _pairs(ranking, measure, top, at_once, most_hits)
    missed, places = _insertions(ranking, measure)

    def parts(count: int) -> list[slice]:
        return [slice(start, min(start + at_once, count)) for start in range(0, count, at_once)]

    points = np.concatenate([
        np.zeros(0),
        *(evaluated(ranking, _swapped(ranking, upper[part], lower[part]), measure) for part in parts(len(upper))),
        *(evaluated(ranking, _inserted(ranking, missed[part], places[part]), measure) for part in parts(len(missed))),
    ]) - value  # fmt: skip
    order = np.argsort(-points, kind="stable")
    raising = order[points[order] > 1e-12][:top].tolist()
    found = []
    for at in raising:
        if at < len(upper):
            both = int(upper[at]), int(lower[at])
            kind, moved = "swap", [(place, ranking.docs[place], ranking.grade[place]) for place in both]
        else:
            place, doc = int(places[at - len(upper)]), missed[at - len(upper)]
            kind, moved = "insert", [(place, ranking.missed[doc], ranking.missed_grade[doc])]
        ranks, docs, grades = zip(*((place + 1, doc, graded(float(grade))) for place, doc, grade in moved), strict=True)
        found.append(Change(kind, ranks, docs, grades, value + float(points[at]), float(points[at])))
    return found, note


def _pairs(ranking: Ranking, measure: Measure, top: int, few: int, most_hits: int) -> tuple[Ints, Ints, str]:
    """The pairs of places, the upper one first, whose documents are not judged alike: all of them, or where these are
    very many, those among which the best are."""
    size, cut = len(ranking.docs), reach(ranking, measure)
    grade = np.nan_to_num(ranking.grade, nan=-np.inf)
    beyond = cut + np.unique(grade[cut:], return_index=True)[1]
    candidates = np.r_[np.arange(cut), np.sort(beyond)] if cut < size else np.arange(size)
    here, there = np.arange(cut)[:, None], candidates[None, :]
    differ = (here < there) & (grade[here] != grade[there])
    note = ""
    if int(differ.sum()) > few and prefers_better_higher(measure):
        differ &= _first_among_equals(grade[:cut], grade[candidates], top)
    elif int(differ.sum()) > most_hits * few:
        differ, note = _of_better_documents(differ, differ & (grade[here] < grade[there]), most_hits * few)
    upper, at = np.nonzero(differ)
    return upper, candidates[at], note


def _first_among_equals(upper: Floats, lower: Floats, top: int) -> Bools:
    """Which swaps can be among the `top` best where a better document gains more, the higher it comes.

    Of two documents of one grade it is best to bring up the lower one, and of two to take the place of the upper one.
    So the swap of the i-th of its grade from above with the j-th of its grade from below has i · j − 1 before it.
    """
    from_above = _number_within(upper)
    from_below = _number_within(lower[::-1])[::-1]
    first: Bools = from_above[:, None] * from_below[None, :] <= top
    return first


def _number_within(grade: Floats) -> Ints:
    """1, 2, 3, … within each grade, in order."""
    number = np.zeros(len(grade), np.int64)
    for each in np.unique(grade):
        alike = grade == each
        number[alike] = np.arange(1, alike.sum() + 1)
    return number


def _of_better_documents(differ: Bools, better: Bools, most: int) -> tuple[Bools, str]:
    """Only swaps that bring a better document up, into the first ranks; and what is left out, in words."""
    upper, at = (axis[:most] for axis in np.nonzero(better))
    kept = np.zeros_like(differ)
    kept[upper, at] = True
    what = f"those that bring a better document into the first {int(upper.max(initial=0)) + 1:,} ranks"
    return kept, f"of {int(differ.sum()):,} swaps, {len(upper):,} were looked at: {what}"


def _swapped(ranking: Ranking, upper: Ints, lower: Ints) -> Cases:
    """A case a swap: the two documents take each other's rank and tie group."""
    judged, count = ranking.judged, len(upper)
    hit = np.full(len(ranking.docs), -1)
    hit[judged] = np.arange(len(judged))
    place = np.tile(judged, (count, 1))
    for here, there in ((upper, lower), (lower, upper)):
        rows = np.flatnonzero(hit[here] >= 0)
        place[rows, hit[here[rows]]] = there[rows]
    case, at = np.repeat(np.arange(count), len(judged)), place.ravel()
    grade = np.tile(ranking.grade[judged], count)
    return Cases(case, ranking.rank[at], ranking.first[at], ranking.tied[at], grade, np.full(count, len(ranking.docs)))


def _insertions(ranking: Ranking, measure: Measure) -> tuple[Ints, Ints]:
    """The judged documents that are missing, best first, and where they would be ideally, at most at the end."""
    ideal = {doc: place for place, doc in enumerate(best_ranking(ranking, measure).docs)}
    wanted = sorted((ideal[doc], i) for i, doc in enumerate(ranking.missed) if doc in ideal)
    missed = np.array([i for _, i in wanted], np.int64)
    places = np.array([min(place, len(ranking.docs)) for place, _ in wanted], np.int64)
    if ranking.protocol.ties == "average":
        places = np.r_[ranking.first, len(ranking.docs) + 1][places] - 1  # before a group of ties, never into it
    return missed, places


def _inserted(ranking: Ranking, missed: Ints, places: Ints) -> Cases:
    """A case an insertion: whatever stands there and below is pushed down by one, out of the depth at its end."""
    judged, count, size = ranking.judged, len(missed), len(ranking.docs)
    down = (judged[None, :] >= places[:, None]).astype(np.int64)
    new = places[:, None] + 1
    rank, first = (np.hstack([value[judged] + down, new]).ravel() for value in (ranking.rank, ranking.first))
    tied = np.tile(np.append(ranking.tied[judged], 1), count)
    grade = np.hstack([np.tile(ranking.grade[judged], (count, 1)), ranking.missed_grade[missed][:, None]]).ravel()
    case = np.repeat(np.arange(count), len(judged) + 1)
    depth = size + 1 if ranking.depth is None else min(size + 1, ranking.depth)
    keep = rank <= depth
    return Cases(case[keep], rank[keep], first[keep], tied[keep], grade[keep], np.full(count, depth))


def graded(grade: float) -> float | None:
    """A grade, or None for NaN: unjudged."""
    return None if grade != grade else grade
