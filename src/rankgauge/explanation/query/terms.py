"""What each rank adds to a measure's value: one rule for most measures, a few of their own beside it.

The rule: read the ranking from the top and let the judgments become known one after the other, everything below being
unjudged as yet. A rank's contribution is how much the value rises by it. For a sum that is its summand (DCG, P, AP,
ERR, RBP, Bpref, …), for a pick the deciding rank carries it all (RR, Success); it holds for measures of one's own.
Documents whose scores are tied, where ties are averaged, become known together and share what they add.

`RULES` has the measures that are put together otherwise. What belongs to no rank is the `rest`, with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.errors import MeasureError
from rankgauge.explanation.query.explanation import Level
from rankgauge.explanation.query.ranking import Cases, Ranking, as_is, evaluated, showing, with_its_ideal
from rankgauge.explanation.query.worth import (
    DCG_FAMILY,
    best_ranking,
    dcg_measure,
    gains_of,
    given,
    has_gain,
    reach,
    relevant_in,
)
from rankgauge.measures import Measure
from rankgauge.measures.gains import discount_function, gain_function
from rankgauge.measures.ranked import divide
from rankgauge.protocol import RULES as SAID
from rankgauge.protocol import SIGNED

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats, Ints

__all__ = [
    "RULES", "Terms", "check_explainable", "ideal_gains", "ideal_notes", "ideal_ranking", "ideal_terms", "terms",
    "value_of",
]  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class Terms:
    """A contribution per place of the ranking, what belongs to no rank, and the levels that the measure averages."""

    share: Floats
    rest: float = 0.0
    words: str = ""
    levels: list[Level] = field(default_factory=list)


def terms(ranking: Ranking, measure: Measure) -> Terms:
    """The contributions to the measure's value, which they add up to."""
    return RULES.get(measure.name, _by_revealing)(ranking, measure)


def check_explainable(measure: Measure) -> None:
    """Raise for a measure that is not a number made up by the ranks of one ranking."""
    aggregate, instead = measure.definition.aggregate, measure.name.removeprefix("gm_")
    if aggregate == "geometric":
        other = {"map": "AP", "bpref": "Bpref"}.get(instead, "the measure that it averages")
        raise MeasureError(f"{measure} is a geometric mean over queries, which no rank adds to; explain {other}")
    if aggregate == "sum":
        raise MeasureError(f"{measure} is a count, so every document counts the same; explain P@k, R@k or nDCG@k")
    if aggregate == "none":
        raise MeasureError(f"{measure} is a text and not a number, so nothing adds up to it; explain nDCG@k")


def value_of(ranking: Ranking, measure: Measure) -> float:
    """The measure's value of the ranking."""
    return float(measure(as_is(ranking))[0])


# ---- the rule -------------------------------------------------------------------------------------------------------


def _by_revealing(ranking: Ranking, measure: Measure) -> Terms:
    start, share = _revealed(ranking, measure)
    return Terms(share, start, "whatever is judged" if start else "")


def _revealed(ranking: Ranking, measure: Measure) -> tuple[float, Floats]:
    """The value when nothing is known to be judged, and how much each place adds to it."""
    places, share = ranking.judged, np.zeros(len(ranking.docs))
    if ranking.protocol.ties == "average":
        start, share[places] = _revealed_together(ranking, measure)
        return start, share
    inside = int(np.searchsorted(places, reach(ranking, measure)))
    steps = showing(ranking, np.tri(inside + 1, len(places), -1, dtype=bool), measure)
    share[places[:inside]] = np.diff(steps)
    return float(steps[0]), share


def _revealed_together(ranking: Ranking, measure: Measure) -> tuple[float, Floats]:
    """The same, group of ties by group of ties."""
    group = ranking.first[ranking.judged]
    earlier: Bools = group[None, :] < group[:, None]
    start = showing(ranking, np.zeros((1, len(group)), bool), measure)
    before = showing(ranking, earlier, measure)
    alone = showing(ranking, earlier | np.eye(len(group), dtype=bool), measure) - before
    together = showing(ranking, group[None, :] <= group[:, None], measure) - before
    return float(start[0]), _shared(group, alone, together)


def _shared(group: Any, alone: Floats, together: Floats) -> Floats:
    """What tied documents add together: each what it adds alone, the difference spread over those that add anything."""
    _, index = np.unique(group, return_inverse=True)
    adds = alone != 0
    missing = together - np.bincount(index, alone)[index]
    return alone + np.where(
        adds, missing / np.maximum(np.bincount(index[adds], minlength=index.max(initial=0) + 1)[index], 1), 0.0
    )


# ---- measures that are put together otherwise -----------------------------------------------------------------------


def _normalised(ranking: Ranking, measure: Measure) -> Terms:
    """The terms of DCG over the ideal DCG, where there is one to divide by."""
    _, gained = _revealed(ranking, dcg_measure(measure))
    hits = as_is(ranking)
    ideal = dcg_measure(measure, "IDCG")(hits)
    return Terms(gained / ideal[0] if hits.divisible(ideal)[0] else np.zeros(len(gained)))


def _picked(ranking: Ranking, measure: Measure) -> Terms:
    """All to the rank at which the value is reached."""
    start, rise = _revealed(ranking, measure)
    share = np.zeros(len(rise))
    if rise.any():
        share[np.flatnonzero(rise)[-1]] = start + rise.sum()
    return Terms(share)


def _equally(ranking: Ranking, measure: Measure) -> Terms:
    """Equal shares for the documents that raise it."""
    _, rise = _revealed(ranking, measure)
    raises = rise > 0
    return Terms(np.where(raises, value_of(ranking, measure) / max(1, raises.sum()), 0.0))


def _by_level(ranking: Ranking, measure: Measure) -> Terms:
    """A mean of interpolated precisions: each level has its value, and the rank that decides it."""
    own = given(measure)
    points = own["points"] or tuple(tenth / 10 for tenth in range(11))
    shared = tuple((name, value) for name, value in measure.parameters if name in ("rel", "levels"))
    share, levels = np.zeros(len(ranking.docs)), []
    for point in points:
        picked = _picked(ranking, Measure("IPrec", (("recall", point), *shared))).share
        rank = int(picked.argmax()) + 1 if picked.any() else None
        levels.append(Level(f"recall {point:g}", rank, float(picked.sum()), float(picked.sum()) / len(points)))
        share += picked / len(points)
    return Terms(share, levels=levels)


def _along_the_relevant(ranking: Ranking, measure: Measure) -> Terms:
    """nDCG at each document that gains, over their number; those not retrieved have the final nDCG."""
    gains = gains_of(measure, ranking.grade, ranking.protocol)
    reached = (gains / np.log2(ranking.rank + 1.0)).cumsum()
    ideal = as_is(ranking).ideal(gain_function(given(measure)["gain"]))
    number = int((ideal.gain > 0).sum())
    if not number:
        return Terms(np.zeros(len(reached)))
    upto = (np.maximum(ideal.gain, 0.0) / np.log2(ideal.rank + 1.0)).cumsum()
    at = divide(reached, upto[np.minimum(np.arange(len(reached)), len(upto) - 1)])
    found = gains > 0
    left = (number - int(found.sum())) * value_of(ranking, dcg_measure(measure)) / upto[-1]
    words = "not retrieved, at the final nDCG" if left else ""
    return Terms(np.where(found, at, 0.0) / number, float(left) / number, words)


def _before_others(ranking: Ranking, measure: Measure) -> Terms:
    """For each relevant document the share of the others that it stands before, over the number of relevant ones."""
    own = given(measure)
    depth = len(ranking.docs) if own["k"] is None else min(own["k"], len(ranking.docs))
    relevant = relevant_in(ranking, measure) & (ranking.rank <= depth)
    number = int(relevant.sum())
    above = ranking.rank - relevant.cumsum()
    others = depth - number
    behind = 1.0 - above / others if others else np.ones(len(above))
    return Terms(np.where(relevant, behind / max(1, number), 0.0))


def _by_what_is_unjudged(ranking: Ranking, measure: Measure) -> Terms:
    """What a judgment at each rank would take away, where there is none; and what no judgment could."""
    size, ranks = len(ranking.docs), ranking.rank
    bare = replace(ranking, grade=np.full(size, np.nan), missed=[], missed_grade=np.zeros(0), given={})  # only theirs
    case, rank = np.r_[ranks - 1, np.full(size, size)], np.r_[ranks, ranks]
    first, tied = np.tile(ranking.first, 2), np.tile(ranking.tied, 2)
    left = evaluated(bare, Cases(case, rank, first, tied, np.zeros(len(rank)), np.full(size + 2, size)), measure)
    open_, rest = np.isnan(ranking.grade) | (ranking.grade < 0), float(left[size])
    share = np.where(open_, left[size + 1] - left[:size], 0.0)
    return Terms(share, rest, "beyond the end of the ranking" if rest else "")


def _worths(ranking: Ranking, measure: Measure) -> Terms:
    """The worth of each document retrieved; the rest is that of those not retrieved."""
    own = given(measure)
    relevant = relevant_in(ranking, measure)
    wanted = float(as_is(ranking).relevant_judged(own["rel"])[0])
    missed = wanted - relevant.sum()
    rest = own["c"] * missed + own["d"] * (own["documents"] - len(ranking.docs) - missed)
    return Terms(np.where(relevant, own["a"], own["b"]).astype(np.float64), rest, "not retrieved" if rest else "")


RULES: Final[dict[str, Callable[[Ranking, Measure], Terms]]] = {
    "nDCG": _normalised,
    "IPrec": _picked,
    "SetAP": _equally,
    "11pt_avg": _by_level,
    "nDCGrel": _along_the_relevant,
    "Accuracy": _before_others,
    "Unjudged": _by_what_is_unjudged,
    "RBPResidual": _by_what_is_unjudged,
    "utility": _worths,
}


# ---- the ideal ranking that a value is held against ------------------------------------------------------------------


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
        if value != next(iter(SAID[rule])):
            yield SAID[rule][value]
