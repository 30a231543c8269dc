"""Measures of graded gain: the DCG family, ERR, RBP."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgauge.errors import MeasureError
from rankgauge.matching.hits import sum_by
from rankgauge.measures.gains import Discount, Gain, discounted, divisors, gain_function
from rankgauge.measures.ranked import divide, expected_stops, in_turn, running_sum
from rankgauge.measures.registry import measure

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats, Ints
    from rankgauge.matching.hits import Hits


@measure(needs="gain", averages=True)
def nDCG(
    hits: Hits, k: int | None = None, *, gain: Gain = "linear", discount: Discount = "log2", rel: float | None = None
) -> Floats:
    """Normalised discounted cumulative gain: DCG@k over the DCG@k of the ideal order of all judged documents.

    Formula: DCG@k = Σ over ranks r ≤ k of gain(grade) / log2(r + 1); nDCG@k = DCG@k / ideal DCG@k
    Fewer than k: the missing ranks gain nothing, and the ideal is still cut at k.
    Nothing relevant: 0 (the protocol may say 1, or leave the query out).
    Parameters: gain=linear|exp|binary|{grade:gain} (a grade that a map leaves out is its own gain; 0 gains nothing
      unless it is there); discount=log2|none|zipf|jk2 (jk and a base: the original's log of
      that base, undiscounted before it); rel: grades below it gain nothing.
    Paper: Järvelin and Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002; gain=exp: Burges et
      al., Learning to rank using gradient descent, ICML 2005.
    """
    ideal = IDCG(hits, k, gain=gain, discount=discount, rel=rel)
    reached = DCG(hits, k, gain=gain, discount=discount, rel=rel)
    return divide(reached, ideal, hits.divisible(ideal))


@measure(needs="gain", bounded=False, averages=True)
def DCG(
    hits: Hits, k: int | None = None, *, gain: Gain = "linear", discount: Discount = "log2", rel: float | None = None
) -> Floats:
    """Discounted cumulative gain of the first k documents, not normalised.

    Formula: Σ over ranks r ≤ k of gain(grade) / log2(r + 1)
    Fewer than k: the missing ranks gain nothing.
    Nothing relevant: 0.
    Paper: Järvelin and Kekäläinen, TOIS 2002.
    """
    return hits.sum(discounted(hits, gain_function(gain, rel, signed=hits.signed)(hits.grade), k, discount))


@measure(needs="gain", bounded=False, averages=True)
def IDCG(
    hits: Hits, k: int | None = None, *, gain: Gain = "linear", discount: Discount = "log2", rel: float | None = None
) -> Floats:
    """The ideal DCG: that of all judged documents of the query in descending gain, cut at k.

    Formula: DCG@k of the ideal order; gains of 0 or less add nothing
    Fewer than k: the same; the ideal does not depend on what was retrieved.
    Nothing relevant: 0.
    Paper: Järvelin and Kekäläinen, TOIS 2002.
    """
    mapped = gain.startswith("{")
    query, rank, gains = hits.ideal(gain_function(gain, rel, signed=hits.signed), follows=not mapped)
    end = hits.ideal_end(k)
    if mapped and not hits.signed:  # of other gains none is below 0
        gains = np.maximum(gains, 0.0)
    if end is not None and not isinstance(end, int):
        gains, end = np.where(rank <= end[query], gains, 0.0), None
    return sum_by(query, gains / divisors(discount, rank, end), len(hits.queries))


@measure(needs="gain", averages=True)
def ERR(hits: Hits, k: int | None = None, *, max: float = 4.0, gain: str = "exp") -> Floats:
    """Expected reciprocal rank: where a reader who stops when satisfied is expected to stop.

    Formula: Σ over ranks r ≤ k of 1/r · s(r) · Π over earlier ranks of (1 − s), with s = (2^grade − 1) / 2^max
    Fewer than k: the missing ranks satisfy nobody.
    Nothing relevant: 0.
    Parameters: max: the highest grade of the scale. 4 is what gdeval has fixed; a grade above it is an error.
      gain=exp, or gain=linear: s = grade / (max + 1), as NTCIREVAL.
    Paper: Chapelle, Metzler, Zhang and Grinspan, Expected reciprocal rank for graded relevance, CIKM 2009.
    """
    highest = hits.judgment_grade.max(initial=0.0)
    if highest > max:
        raise MeasureError(f"ERR(max={max:g}): the judgments have grade {highest:g}; write max={highest:g}")
    if gain not in ("exp", "linear"):
        raise MeasureError(f"ERR(gain={gain}): expected exp or linear")
    chance = gain_function(gain)(hits.grade) / (2.0**max if gain == "exp" else max + 1.0)
    if hits.averaged:
        query, stops, goes_on = expected_stops(hits, chance, k)
    else:
        query, stops, goes_on = hits.query, chance / hits.rank, 1.0 - chance
        stops = stops if k is None else np.where(hits.rank <= k, stops, 0.0)
    value, unsatisfied = np.zeros(len(query)), np.ones(len(hits.queries))
    for rows in in_turn(query):
        value[rows] = unsatisfied[query[rows]] * stops[rows]
        unsatisfied[query[rows]] *= goes_on[rows]
    return sum_by(query, value, len(hits.queries))


@measure(averages=True)
def RBP(
    hits: Hits,
    k: int | None = None,
    *,
    p: float = 0.8,
    gain: str = "binary",
    max: float | None = None,
    rel: float | None = None,
) -> Floats:
    """Rank-biased precision: the rate of gain of a reader who goes on to the next document with probability p.

    Formula: (1 − p) · Σ over ranks r ≤ k of g · p^(r − 1)
    Fewer than k: the missing ranks gain nothing.
    Nothing relevant: 0.
    Parameters: p: persistence; gain=binary: g is 1 from grade `rel` on; gain=graded: g = grade / max, `max` being the
      query's highest grade when not given (as trec_eval's rbp, whose p is 0.9); gain=linear: g = grade, as ranx.
    Paper: Moffat and Zobel, Rank-biased precision for measurement of retrieval effectiveness, TOIS 2008.
    """
    return (1.0 - p) * hits.sum(_persistence(hits, _rbp_gain(hits, gain, max, rel), k, p))


@measure(needs="nothing")
def RBPResidual(hits: Hits, k: int | None = None, *, p: float = 0.8) -> Floats:
    """How much RBP could still rise: the weight of everything that is not judged, beyond the end of the ranking too.

    Formula: 1 − (1 − p) · Σ over judged ranks r ≤ k of p^(r − 1)
    Fewer than k: what was not retrieved is not judged either, so it counts.
    Nothing relevant: the same.
    Paper: Moffat and Zobel, TOIS 2008.
    """
    return 1.0 - (1.0 - p) * hits.sum(_persistence(hits, (hits.grade >= 0).astype(np.float64), k, p))


def _persistence(hits: Hits, gain: Floats, k: int | None, p: float) -> Floats:
    if not 0 < p < 1:
        raise MeasureError(f"p={p:g}: persistence lies between 0 and 1")
    if hits.averaged:
        upto = (1.0 - p ** np.minimum(hits.first + hits.tied - 1, k or np.inf)) / (1.0 - p)
        before = (1.0 - p ** np.minimum(hits.first - 1, k or np.inf)) / (1.0 - p)
        shared: Floats = gain * (upto - before) / hits.tied
        return shared
    value: Floats = gain * p ** (hits.rank - 1.0)
    return value if k is None else np.where(hits.rank <= k, value, 0.0)


def _rbp_gain(hits: Hits, gain: str, top: float | None, rel: float | None) -> Floats:
    if gain == "binary":
        return hits.relevant(rel).astype(np.float64)
    if gain == "linear":
        return np.maximum(hits.grade, 0.0)
    if gain != "graded":
        raise MeasureError(f"RBP(gain={gain}): expected binary, graded or linear")
    highest = np.ones(len(hits.queries))
    np.maximum.at(highest, hits.judgment_query, hits.judgment_grade)
    return np.maximum(hits.grade, 0.0) / (top if top is not None else highest[hits.query])


@measure(name="nDCGrel", needs="gain", also=("ndcg_rel",))
def nDCGrel(hits: Hits, *, gain: Gain = "linear") -> Floats:
    """nDCG averaged over the relevant documents: taken at each one's rank, at the end for those not retrieved.

    Formula: (Σ over retrieved documents with gain of nDCG@rank + those not retrieved · final nDCG) / their number
    Fewer than k: it has no k.
    Nothing relevant: 0.
    Paper: Buckley, trec_eval's ndcg_rel, 2008 (experimental).
    """
    gains = gain_function(gain)(hits.grade)
    reached, ideal, final = _along(hits, gain)
    found = gains > 0
    at = hits.sum(np.where(found, divide(reached, ideal), 0.0))
    wanted = hits.ideal(gain_function(gain))
    number = np.bincount(wanted.query[wanted.gain > 0], minlength=len(hits.queries)).astype(np.float64)
    return divide(at + (number - hits.count(found)) * divide(DCG(hits, gain=gain), final), number)


@measure()
def Rndcg(hits: Hits, *, gain: Gain = "linear", rel: float | None = None) -> Floats:
    """nDCG averaged over the ranks at which the ideal order goes down to a lower gain, and the end of the ranking.

    Formula: with 5 documents of grade 3 and 3 of grade 2: the mean of nDCG@5, nDCG@8 and the final nDCG
    Fewer than k: it has no k; beyond the end of a short ranking its DCG stays as it is.
    Nothing relevant: 0 (no document of grade `rel` or more, whatever the gains).
    Paper: Buckley, trec_eval's Rndcg, 2008 (experimental).
    """
    ideal = hits.ideal(gain_function(gain))
    total = running_sum(ideal.query, np.maximum(ideal.gain, 0.0) / np.log2(ideal.rank + 1.0), len(hits.queries))
    last = np.r_[ideal.query[1:] != ideal.query[:-1], True] if len(ideal.query) else np.zeros(0, bool)
    drops = last | np.r_[ideal.gain[1:] != ideal.gain[:-1], True][: len(last)]
    drops &= ideal.gain > 0
    query, rank = ideal.query[drops], ideal.rank[drops]
    values = divide(_dcg_at(hits, gain, query, rank), total[drops])
    deepest = np.zeros(len(hits.queries))
    np.maximum.at(deepest, query, rank)
    goes_on = hits.retrieved > deepest + 1
    final = np.where(goes_on, divide(DCG(hits, gain=gain), IDCG(hits, gain=gain)), 0.0)
    points: Floats = np.bincount(query, minlength=len(hits.queries)) + goes_on.astype(float)
    some = (deepest > 0) & (hits.relevant_judged(rel) > 0)
    return np.where(some, divide(sum_by(query, values, len(hits.queries)) + final, points), 0.0)


def _along(hits: Hits, gain: Gain) -> tuple[Floats, Floats, Floats]:
    """For each hit its query's DCG and ideal DCG down to its rank; for each query the whole ideal DCG."""
    reached = running_sum(hits.query, gain_function(gain)(hits.grade) / np.log2(hits.rank + 1.0), len(hits.queries))
    ideal = hits.ideal(gain_function(gain))
    total = running_sum(ideal.query, np.maximum(ideal.gain, 0.0) / np.log2(ideal.rank + 1.0), len(hits.queries))
    ends = np.searchsorted(ideal.query, np.arange(len(hits.queries)), side="right")
    starts = np.searchsorted(ideal.query, np.arange(len(hits.queries)))
    at = np.minimum(starts[hits.query] + hits.rank, ends[hits.query]) - 1
    final = np.where(ends > starts, total[np.maximum(ends - 1, 0)] if len(total) else 0.0, 0.0)
    return reached, total[at] if len(total) else np.zeros(len(hits)), final


def _dcg_at(hits: Hits, gain: Gain, query: Ints, rank: Ints) -> Floats:
    """The DCG of each of these queries down to each of these ranks."""
    reached = running_sum(hits.query, gain_function(gain)(hits.grade) / np.log2(hits.rank + 1.0), len(hits.queries))
    span = int(max(hits.rank.max(initial=0), rank.max(initial=0))) + 1
    at = np.searchsorted(hits.query * span + hits.rank, query * span + rank, side="right") - 1
    mine = (at >= 0) & (hits.query[at] == query) if len(hits) else np.zeros(len(at), bool)
    return np.where(mine, reached[at] if len(hits) else 0.0, 0.0)


@measure(needs="gain")
def G(hits: Hits, *, gain: Gain = "linear") -> Floats:
    """Normalised gain, discounted by how far the ranking has fallen behind the ideal rather than by the rank.

    Formula: Σ gain / log2(2 + cost(rank) − gain so far), over the ideal gain; cost adds max(ideal gain, 1) a rank
    Fewer than k: it has no k.
    Nothing relevant: 0.
    Paper: Buckley, trec_eval's G, 2008 (experimental).
    """
    gains = gain_function(gain)(hits.grade)
    ideal = hits.ideal(gain_function(gain))
    extra = running_sum(ideal.query, np.maximum(ideal.gain - 1.0, 0.0), len(hits.queries))
    ends = np.searchsorted(ideal.query, hits.query, side="right")
    starts = np.searchsorted(ideal.query, hits.query)
    at = np.minimum(starts + hits.rank, ends) - 1
    cost = hits.rank + np.where(ends > starts, extra[at] if len(extra) else 0.0, 0.0)
    behind = cost - running_sum(hits.query, gains, len(hits.queries))
    value = np.where(gains != 0, gains / np.log2(np.maximum(2.0 + behind, 2.0)), 0.0)
    return divide(hits.sum(value), sum_by(ideal.query, np.maximum(ideal.gain, 0.0), len(hits.queries)))
