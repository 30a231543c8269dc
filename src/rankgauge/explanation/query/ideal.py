"""The ideal ranking that a value is held against: the order is that of `Hits.ideal`, the documents get their names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankgauge.explanation.query.cases import as_is, with_its_ideal
from rankgauge.explanation.query.terms import Terms, terms, value_of
from rankgauge.explanation.query.worth import DCG_FAMILY, best_ranking, dcg_measure, gains_of, given, has_gain
from rankgauge.measures.gains import discount_function
from rankgauge.protocol import RULES, SIGNED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankgauge.dtypes import Floats, Ints
    from rankgauge.explanation.query.ranking import Ranking
    from rankgauge.measures import Measure

__all__ = ["ideal_gains", "ideal_notes", "ideal_ranking", "ideal_terms"]


def ideal_ranking(ranking: Ranking, measure: Measure) -> Ranking:
    """The documents of the ideal in its order, as deep as it goes; for a measure without one, the best order of them.

    Equal ones are in the order of the ranking, those not retrieved last. Its own ideal is that of the ranking.
    """
    fixed = with_its_ideal(ranking)
    docs, grade = _made_of(ranking)
    if not has_gain(measure):
        there = set(docs)
        best = best_ranking(fixed, measure)
        kept = [place for place, doc in enumerate(best.docs) if doc in there]
        return best.reordered([best.docs[place] for place in kept], best.grade[kept])
    order = _in_order(fixed, measure, docs, grade)
    ideal = fixed.reordered([docs[place] for place in order], grade[order])
    return replace(ideal, cut=measure.name in DCG_FAMILY)


def _made_of(ranking: Ranking) -> tuple[list[str], Floats]:
    """The documents that the ideal is made of, in the order given, with their grades (NaN: unjudged)."""
    signed = ranking.protocol.negative in SIGNED
    if ranking.protocol.ideal == "judged":
        docs, grade = list(ranking.given), ranking.judgments
    else:  # an unjudged document matters only where there are negative grades for it to come before
        unjudged = np.flatnonzero(np.isnan(ranking.grade)) if signed else np.zeros(0, np.int64)
        places = np.concatenate([ranking.judged, unjudged])
        docs, grade = [ranking.docs[place] for place in places], ranking.grade[places]
    keep = np.flatnonzero(~(grade < 0) | signed)
    return [docs[place] for place in keep], grade[keep]


def _in_order(fixed: Ranking, measure: Measure, docs: list[str], grade: Floats) -> Ints:
    """Which document stands at each rank of the ideal: of those that gain alike, the first is the one ranked first."""
    hits, own = as_is(fixed), given(measure)
    ideal = hits.ideal(lambda grades: gains_of(measure, grades, fixed.protocol))
    gains = gains_of(measure, grade, fixed.protocol)
    if fixed.protocol.ideal_order == "given":
        ours = np.argsort(-gains, kind="stable")
    else:
        ranked = {doc: place for place, doc in enumerate(fixed.docs)}
        place = np.array([ranked.get(doc, len(ranked)) for doc in docs], np.int64)
        ours = np.lexsort((place, -np.nan_to_num(grade), -gains))
    order = np.empty(len(docs), np.int64)
    order[np.argsort(-ideal.gain, kind="stable")] = ours
    if measure.name in DCG_FAMILY:
        end = hits.ideal_end(own["k"])
        order = order[: end if end is None or isinstance(end, int) else int(end[0])]
    if fixed.protocol.negative in SIGNED or fixed.protocol.ideal_order == "given":
        return order
    return order[gains[order] >= 0]


def ideal_gains(best: Ranking, measure: Measure) -> Floats:
    """What the documents of an ideal ranking gain: less than nothing only where negative grades count as they are."""
    gains = gains_of(measure, best.grade, best.protocol)
    return gains if best.protocol.negative in SIGNED else np.maximum(gains, 0.0)


def ideal_terms(best: Ranking, ranking: Ranking, measure: Measure) -> tuple[Terms, float]:
    """What each rank of an ideal ranking adds, and the value that it has."""
    if measure.name not in DCG_FAMILY:
        return terms(best, measure), value_of(best, measure)
    share = ideal_gains(best, measure) / discount_function(given(measure)["discount"])(best.rank)
    hits = as_is(ranking)
    ideal = dcg_measure(measure, "IDCG")(hits)
    if measure.name != "nDCG":
        return Terms(share), float(ideal[0])
    there = bool(hits.divisible(ideal)[0])
    return Terms(share / ideal[0] if there else np.zeros(len(share))), float(there)


def ideal_notes(ranking: Ranking, measure: Measure) -> Iterator[str]:
    """Rules of the ideal that are not the usual ones, where the measure follows them."""
    depth = ("ideal_depth",) if measure.name in DCG_FAMILY else ()
    for rule in ("ideal", *(("ideal_order",) if has_gain(measure) else ()), *depth):
        value = getattr(ranking.protocol, rule)
        if value != next(iter(RULES[rule])):
            yield RULES[rule][value]
