"""Judgments + run + one query → Explanation: a value, rank by rank, and what would raise it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgauge.errors import InputError, MeasureError
from rankgauge.explanation.query.changes import changes, graded
from rankgauge.explanation.query.explanation import Change, Difference, Explanation, Level, Rest, Row, Share, difference
from rankgauge.explanation.query.ranking import as_is, ranking_of_grades, ranking_of_query
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
from rankgauge.explanation.query.worth import DCG_FAMILY, dcg_measure, discounts_of, gains_of
from rankgauge.matching.match import match
from rankgauge.measures import Measure, parse
from rankgauge.measures.gains import gain_text
from rankgauge.protocol import DEFAULT, Protocol
from rankgauge.read import RunSource, read_judgments
from rankgauge.read.records import id_text

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats
    from rankgauge.explanation.query.ranking import Ranking

__all__ = [
    "Change", "Difference", "Explanation", "Level", "Rest", "Row", "Share", "difference", "explain", "wanted_measure",
    "worst_queries",
]  # fmt: skip


def explain(
    judgments: Any = None,
    run: Any = None,
    query: Any = None,
    measure: str | Measure | None = None,
    *,
    ranked_grades: Iterable[float | None] | None = None,
    ideal_grades: Iterable[float] | None = None,
    gain: str | Mapping[float, float] | None = None,
    k: int | None = None,
    protocol: Protocol = DEFAULT,
    top: int = 5,
    name: str = "",
) -> Explanation:
    """Explain the value of one query of a run, or of grades in rank order (None: unjudged): rank by rank.

    Judgments and run as for `evaluate`. Without a measure it is nDCG@10; `gain` and `k` set its parameters.
    `ideal_grades` are those of all judgments, where more were judged than ranked. `top` is how many changes to keep
    that would raise the value.

    >>> round(explain(ranked_grades=[3, 2, 3, 0, 1, 2, 0, 1, 0, 2], gain="exp").value, 6)
    0.936002
    """
    wanted = wanted_measure(measure, gain, k)
    check_explainable(wanted)
    if ranked_grades is not None:
        if judgments is not None or run is not None or query is not None:
            raise InputError("give either ranked_grades, or judgments, a run and a query")
        return explained(ranking_of_grades(ranked_grades, ideal_grades, protocol), wanted, protocol, top=top, name=name)
    if judgments is None or run is None or query is None:
        raise InputError("what is to be explained? Give judgments, a run and a query, or ranked_grades")
    if ideal_grades is not None:
        raise InputError("ideal_grades goes with ranked_grades; with judgments, the ideal is made of all of them")
    ranked = RunSource.of(run).read(protocol)
    ranking = ranking_of_query(read_judgments(judgments), ranked, id_text(query), protocol)
    return explained(ranking, wanted, protocol, top=top, name=name or ranked.source)


def worst_queries(
    judgments: Any,
    run: Any,
    worst: int,
    measure: str | Measure | None = None,
    *,
    protocol: Protocol = DEFAULT,
    top: int = 5,
    name: str = "",
) -> list[Explanation]:
    """Explanations of the queries of the lowest values, lowest first; those that the protocol leaves out do not count.

    >>> found = worst_queries({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": {"a": 2.0}, "q2": {"x": 2.0, "b": 1.0}}, 1)
    >>> found[0].query
    'q2'
    """
    wanted = wanted_measure(measure, None, None)
    check_explainable(wanted)
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


def wanted_measure(measure: str | Measure | None, gain: Any, k: int | None) -> Measure:
    """The measure asked for: nDCG@10 without one, with this gain and cut-off."""
    if measure is None:
        text = f"nDCG(gain={gain_text('linear' if gain is None else gain)})@{10 if k is None else k}"
        return parse(text)
    if gain is not None or k is not None:
        raise MeasureError(f"gain and k are parts of the measure where one is given: write them into {str(measure)!r}")
    return parse(measure) if isinstance(measure, str) else measure


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
