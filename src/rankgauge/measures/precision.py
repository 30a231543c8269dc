"""Measures of binary relevance along a ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgauge.errors import MeasureError
from rankgauge.matching.hits import positions_within, sum_by
from rankgauge.measures.ranked import (
    divide,
    expected_precision_sum,
    expected_reciprocal_rank,
    expected_success,
    running_count,
    within,
)
from rankgauge.measures.registry import measure

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats
    from rankgauge.matching.hits import Hits


def found(hits: Hits, k: int | Floats | None, rel: float | None) -> Floats:
    """How many relevant documents are among the first k, one for all or one for each hit (the expectation, where ties
    are averaged)."""
    return hits.sum(hits.relevant(rel) * within(hits, k))


@measure(averages=True)
def P(hits: Hits, k: int, *, rel: float | None = None, by: str = "k") -> Floats:
    """Precision: the share of relevant documents among the first k.

    Formula: relevant in the first k / k
    Fewer than k: still divided by k.
    Nothing relevant: 0.
    Parameters: by=k, or by=returned: divided by the number of documents returned where that is less than k, as
      XGBoost, CatBoost and OpenSearch do.
    Paper: Cleverdon, Mills and Keen, Factors determining the performance of indexing systems, 1966.
    """
    if by == "k":
        return found(hits, k, rel) / k
    if by != "returned":
        raise MeasureError(f"P(by={by}): expected k or returned")
    return divide(found(hits, k, rel), np.minimum(hits.retrieved, k).astype(np.float64))


@measure(averages=True, also=("recall",))
def R(hits: Hits, k: int | None = None, *, rel: float | None = None) -> Floats:
    """Recall: the share of all relevant documents that are among the first k.

    Formula: relevant in the first k / relevant judged
    Fewer than k: what was retrieved counts.
    Nothing relevant: 0.
    Paper: Cleverdon, Mills and Keen, 1966.
    """
    return divide(found(hits, k, rel), hits.relevant_judged(rel))


@measure(averages=True)
def RR(hits: Hits, k: int | None = None, *, rel: float | None = None) -> Floats:
    """Reciprocal rank of the first relevant document. Its mean over queries is MRR.

    Formula: 1 / rank of the first relevant document, 0 if there is none in the first k
    Fewer than k: what was retrieved counts.
    Nothing relevant: 0.
    Paper: Kantor and Voorhees, The TREC-5 confusion track, 2000.
    """
    relevant = hits.relevant(rel)
    if hits.averaged:
        return expected_reciprocal_rank(hits, relevant, k)
    if k is not None:
        relevant = relevant & (hits.rank <= k)
    query, rank = hits.query[relevant], hits.rank[relevant]
    lead = positions_within(query) == 0
    return sum_by(query[lead], 1.0 / rank[lead], len(hits.queries))


@measure(averages=True, unless={"norm": "hits"})
def AP(hits: Hits, k: int | None = None, *, rel: float | None = None, norm: str = "R") -> Floats:
    """Average precision: the precision at each relevant document, averaged over all of them. Its mean is MAP.

    Formula: Σ over relevant documents at rank r ≤ k of P@r / relevant judged
    Fewer than k: relevant documents that were not retrieved add 0. The divisor is all relevant, not min(that, k).
    Nothing relevant: 0.
    Parameters: norm=R: divided by all relevant documents; norm=min: by the smaller of these and k (Spark,
      sentence-transformers, XGBoost, LightGBM, CatBoost); norm=hits: by the relevant ones found (torchmetrics).
    Paper: Harman, Evaluation issues in information retrieval, IPM 1992.
    """
    relevant, divisor = hits.relevant(rel), _ap_divisor(hits, k, rel, norm)
    if hits.averaged:
        return divide(expected_precision_sum(hits, relevant, k), divisor)
    query, rank = hits.query[relevant], hits.rank[relevant]
    value = positions_within(query, 1) / rank
    if k is not None:
        value = np.where(rank <= k, value, 0.0)
    return divide(sum_by(query, value, len(hits.queries)), divisor)


def _ap_divisor(hits: Hits, k: int | None, rel: float | None, norm: str) -> Floats:
    """What average precision is divided by."""
    if norm == "hits":
        return found(hits, k, rel)
    if norm not in ("R", "min"):
        raise MeasureError(f"AP(norm={norm}): expected R, min or hits")
    judged = hits.relevant_judged(rel)
    return judged if norm == "R" or k is None else np.minimum(judged, k)


@measure(averages=True)
def Success(hits: Hits, k: int | None = None, *, rel: float | None = None) -> Floats:
    """Whether there is any relevant document among the first k: hit rate.

    Formula: 1 if a relevant document is in the first k, else 0
    Fewer than k: what was retrieved counts.
    Nothing relevant: 0.
    Paper: Craswell and Hawking, Overview of the TREC-2004 web track, 2004.
    """
    if hits.averaged and k is not None:
        return expected_success(hits, hits.relevant(rel), k)
    return (found(hits, k, rel) > 0).astype(np.float64)


@measure(averages=True)
def F(hits: Hits, k: int, *, beta: float = 1.0, rel: float | None = None) -> Floats:
    """The harmonic mean of precision and recall at k.

    Formula: (beta + 1) · P@k · R@k / (beta · P@k + R@k)
    Fewer than k: still divided by k.
    Nothing relevant: 0.
    Parameters: beta: the weight of recall against precision as trec_eval has it (the β² of van Rijsbergen's Fβ).
    Paper: van Rijsbergen, Information retrieval, 1979.
    """
    return divide((beta + 1.0) * found(hits, k, rel), beta * hits.relevant_judged(rel) + k)


@measure(averages=True, also=("capped_recall", "R_cap", "recall_cap", "relative_P"))
def CappedR(hits: Hits, k: int, *, rel: float | None = None) -> Floats:
    """Capped recall: recall at k against the most that k documents could hold. The same as trec_eval's relative_P.

    Formula: relevant in the first k / min(k, relevant judged)
    Fewer than k: what was retrieved counts.
    Nothing relevant: 0.
    Paper: Thakur et al., BEIR, NeurIPS 2021.
    """
    return divide(found(hits, k, rel), np.minimum(hits.relevant_judged(rel), k))


@measure(averages=True, also=("r-precision", "r_precision"))
def Rprec(hits: Hits, *, rel: float | None = None) -> Floats:
    """R-precision: the precision at R, the number of relevant documents.

    Formula: relevant in the first R / R
    Fewer than k: ranks up to R that were not retrieved hold nothing relevant.
    Nothing relevant: 0.
    Paper: Buckley and Voorhees, Evaluating evaluation measure stability, SIGIR 2000.
    """
    wanted = hits.relevant_judged(rel)
    return divide(found(hits, wanted[hits.query], rel), wanted)


@measure(name="RprecMult", averages=True, also=("Rprec_mult",))
def RprecMult(hits: Hits, multiple: float, *, rel: float | None = None) -> Floats:
    """Precision at a multiple of R, the number of relevant documents.

    Formula: relevant in the first m / m, with m = the multiple · R, rounded up from a tenth on
    Fewer than k: still divided by m.
    Nothing relevant: 0.
    Paper: Buckley, trec_eval's Rprec_mult.
    """
    cut = np.floor(multiple * hits.relevant_judged(rel) + 0.9)
    return divide(found(hits, cut[hits.query], rel), cut)


@measure()
def Bpref(hits: Hits, *, rel: float | None = None) -> Floats:
    """Binary preference: how seldom judged non-relevant documents come before relevant ones. Unjudged are passed over.

    Formula: 1/R · Σ over retrieved relevant documents of 1 − min(non-relevant above, R) / min(N, R)
    Fewer than k: it has no k; relevant documents that were not retrieved add 0.
    Nothing relevant: 0.
    Paper: Buckley and Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004.
    """
    relevant, wanted = hits.relevant(rel), hits.relevant_judged(rel)
    judged = np.bincount(hits.judgment_query, minlength=len(hits.queries))
    above = running_count(hits, ~relevant & (hits.grade >= 0))[relevant]
    query = hits.query[relevant]
    worst = np.minimum(judged - wanted, wanted)[query]
    value = 1.0 - divide(np.minimum(above, wanted[query]), worst)
    return divide(sum_by(query, value, len(hits.queries)), wanted)


@measure()
def infAP(hits: Hits, *, rel: float | None = None) -> Floats:
    """Inferred average precision, for pools of which only a sample was judged (a negative grade: pooled, not judged).

    Formula: AP with the precision at rank r estimated as 1/r + (r−1)/r · pooled/(r−1) · (relevant + ε)/(judged + 2ε)
    Fewer than k: it has no k; relevant documents that were not retrieved add 0.
    Nothing relevant: 0.
    Paper: Yilmaz and Aslam, Estimating average precision with incomplete and imperfect judgments, CIKM 2006.
    """
    epsilon = 1e-5
    relevant = hits.relevant(rel)
    above = running_count(hits, relevant)[relevant] - 1.0
    nonrelevant = running_count(hits, ~relevant & (hits.grade >= 0))[relevant]
    unjudged = running_count(hits, hits.grade < 0)[relevant]
    before = hits.rank[relevant] - 1.0
    pooled = divide((above + nonrelevant + unjudged).astype(np.float64), before.astype(np.float64))
    share = (above + epsilon) / (above + nonrelevant + 2 * epsilon)
    value = 1.0 / (before + 1.0) + before / (before + 1.0) * pooled * share
    return divide(sum_by(hits.query[relevant], value, len(hits.queries)), hits.relevant_judged(rel))


@measure(name="binG")
def binG(hits: Hits, *, rel: float | None = None) -> Floats:
    """Binary G: each relevant document discounted by the number of documents before it that are not relevant.

    Formula: 1/R · Σ over retrieved relevant documents of 1 / log2(2 + not relevant above)
    Fewer than k: it has no k; relevant documents that were not retrieved add 0.
    Nothing relevant: 0.
    Paper: Buckley, trec_eval's binG, 2008 (experimental).
    """
    relevant = hits.relevant(rel)
    query, rank = hits.query[relevant], hits.rank[relevant]
    value = 1.0 / np.log2(2.0 + rank - (positions_within(query) + 1))
    return divide(sum_by(query, value, len(hits.queries)), hits.relevant_judged(rel))


@measure()
def Accuracy(hits: Hits, k: int | None = None, *, rel: float | None = None) -> Floats:
    """The probability that a relevant document stands before one that is not, both among the first k retrieved.

    Formula: 1 − Σ over retrieved relevant documents of not relevant above / (relevant · not relevant)
    Fewer than k: what was retrieved counts. 1 where all of it is relevant, 0 where nothing is.
    Nothing relevant: 0.
    Paper: ir_measures' Accuracy (a diagnostic).
    """
    relevant = hits.relevant(rel) if k is None else hits.relevant(rel) & (hits.rank <= k)
    query, rank = hits.query[relevant], hits.rank[relevant]
    above = sum_by(query, rank - (positions_within(query) + 1.0), len(hits.queries))
    number = np.bincount(query, minlength=len(hits.queries)).astype(np.float64)
    others = (hits.retrieved if k is None else np.minimum(hits.retrieved, k)) - number
    return np.where(number > 0, 1.0 - divide(above, number * others), 0.0)


@measure(also=("iprec_at_recall",))
def IPrec(hits: Hits, recall: float, *, rel: float | None = None, levels: str = "up") -> Floats:
    """Interpolated precision: the best precision from the point on at which this recall is reached.

    Formula: max of P@r over the ranks r at which at least recall · R relevant documents were found
    Fewer than k: 0 where the recall is never reached.
    Nothing relevant: 0.
    Parameters: levels=up: recall · R is rounded up from a tenth on, as trec_eval 9, pytrec_eval and ir_measures do;
      levels=nearest: to the nearest number, as trec_eval 10 does.
    Paper: Salton and McGill, Introduction to modern information retrieval, 1983.
    """
    wanted = hits.relevant_judged(rel)
    need = _level(recall * wanted, levels)
    relevant = hits.relevant(rel)
    query, rank = hits.query[relevant], hits.rank[relevant]
    count = positions_within(query, 1)
    best = np.zeros(len(hits.queries))
    counted = count >= need[query]
    np.maximum.at(best, query[counted], count[counted] / rank[counted])
    return best


def _level(count: Floats, levels: str) -> Floats:
    if levels not in ("up", "nearest"):
        raise MeasureError(f"levels={levels}: expected up or nearest")
    return np.floor(count + (0.9 if levels == "up" else 0.5))


@measure(name="11pt_avg", also=("IPrec11",))
def eleven_points(
    hits: Hits, *, rel: float | None = None, points: tuple[float, ...] | None = None, levels: str = "up"
) -> Floats:
    """Interpolated precision averaged over the recall points 0, 0.1, … 1 (or the points given).

    Formula: the mean of IPrec@0, IPrec@0.1, … IPrec@1
    Fewer than k: 0 at the points that are never reached.
    Nothing relevant: 0.
    Paper: Salton and McGill, 1983.
    """
    chosen = points or tuple(tenth / 10 for tenth in range(11))
    total = np.zeros(len(hits.queries))
    for point in sorted(chosen, reverse=True):
        total += IPrec(hits, point, rel=rel, levels=levels)
    return total / len(chosen)
