"""Measures of the retrieved set, and counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgauge.errors import MeasureError
from rankgauge.measures.precision import AP, Bpref, found
from rankgauge.measures.ranked import divide, within
from rankgauge.measures.registry import measure

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats
    from rankgauge.matching.hits import Hits


@measure(averages=True, also=("set_P",))
def SetP(hits: Hits, *, rel: float | None = None) -> Floats:
    """Precision of the whole retrieved set.

    Formula: relevant retrieved / retrieved
    Fewer than k: it has no k.
    Nothing relevant: 0.
    Paper: Cleverdon, Mills and Keen, 1966.
    """
    return divide(found(hits, None, rel), hits.retrieved.astype(np.float64))


@measure(averages=True, also=("set_recall",))
def SetR(hits: Hits, *, rel: float | None = None) -> Floats:
    """Recall of the whole retrieved set.

    Formula: relevant retrieved / relevant judged
    Fewer than k: it has no k.
    Nothing relevant: 0.
    Paper: Cleverdon, Mills and Keen, 1966.
    """
    return divide(found(hits, None, rel), hits.relevant_judged(rel))


@measure(averages=True, also=("set_relative_P",))
def SetRelP(hits: Hits, *, rel: float | None = None) -> Floats:
    """Precision of the whole retrieved set against the most that it could hold.

    Formula: relevant retrieved / min(retrieved, relevant judged)
    Fewer than k: it has no k.
    Nothing relevant: 0.
    Paper: Buckley, trec_eval's set_relative_P.
    """
    return divide(found(hits, None, rel), np.minimum(hits.retrieved, hits.relevant_judged(rel)))


@measure(averages=True, also=("set_map",))
def SetAP(hits: Hits, *, rel: float | None = None) -> Floats:
    """Precision times recall of the whole retrieved set.

    Formula: relevant retrieved² / (retrieved · relevant judged)
    Fewer than k: it has no k.
    Nothing relevant: 0.
    Paper: Buckley, trec_eval's set_map.
    """
    number = found(hits, None, rel)
    return divide(number * number, hits.retrieved * hits.relevant_judged(rel))


@measure(averages=True, also=("set_F",))
def SetF(hits: Hits, *, beta: float = 1.0, rel: float | None = None) -> Floats:
    """The harmonic mean of precision and recall of the whole retrieved set.

    Formula: (beta + 1) · SetP · SetR / (beta · SetP + SetR)
    Fewer than k: it has no k.
    Nothing relevant: 0.
    Parameters: beta: the weight of recall against precision as trec_eval has it (the β² of van Rijsbergen's Fβ).
    Paper: van Rijsbergen, 1979.
    """
    precision, recall = SetP(hits, rel=rel), SetR(hits, rel=rel)
    return divide((beta + 1.0) * precision * recall, beta * precision + recall)


@measure(needs="nothing", averages=True)
def Judged(hits: Hits, k: int | None = None) -> Floats:
    """The share of the first k documents that is judged, whatever the grade (a negative one included).

    Formula: judged in the first k / min(k, retrieved)
    Fewer than k: divided by what was retrieved; 0 if nothing was.
    Nothing relevant: the same.
    Paper: ir_measures' Judged.
    """
    depth = hits.retrieved if k is None else np.minimum(hits.retrieved, k)
    return divide(hits.sum(within(hits, k)), depth.astype(np.float64))


@measure(needs="nothing", averages=True, also=("unj",))
def Unjudged(hits: Hits, k: int) -> Floats:
    """The share of the first k ranks that hold an unjudged document (or one of negative grade), as trec_eval's unj.

    Formula: unjudged in the first k / k
    Fewer than k: still divided by k; ranks without a document count as judged.
    Nothing relevant: the same.
    Paper: Soboroff, trec_eval's unj, 2023.
    """
    return (np.minimum(hits.retrieved, k) - hits.sum((hits.grade >= 0) * within(hits, k))) / k


@measure(needs="nothing", bounded=False, averages=True)
def utility(
    hits: Hits,
    *,
    a: float = 1.0,
    b: float = -1.0,
    c: float = 0.0,
    d: float = 0.0,
    documents: float = 0.0,
    rel: float | None = None,
) -> Floats:
    """Set utility: so much for each relevant document retrieved, so much against each other, and so on.

    Formula: a · relevant retrieved + b · others retrieved + c · relevant not retrieved + d · others not retrieved
    Fewer than k: it has no k.
    Nothing relevant: the same.
    Parameters: a, b, c, d: the worths; documents: the size of the collection, for d.
    Paper: Hull, The TREC-6 filtering track, 1997; trec_eval's utility.
    """
    hit, wanted = found(hits, None, rel), hits.relevant_judged(rel)
    rest = documents + hit - hits.retrieved - wanted
    return a * hit + b * (hits.retrieved - hit) + c * (wanted - hit) + d * rest


@measure(needs="nothing", bounded=False, averages=True, aggregate="sum", also=("num_q",))
def NumQ(hits: Hits, *, of: str = "judged") -> Floats:
    """The number of queries.

    Formula: 1 for each query; the sum over queries
    Fewer than k: it has no k.
    Nothing relevant: the same.
    Parameters: of=judged: every judged query that the rules let in; of=answered: 0 for those that the run does not
      answer, as ir_measures has it.
    Paper: trec_eval's num_q.
    """
    return _of(hits, np.ones(len(hits.queries)), f"NumQ(of={of})", of)


def _of(hits: Hits, counts: Floats, text: str, of: str) -> Floats:
    """The counts of all judged queries, or of those that the run answers."""
    if of not in ("judged", "answered"):
        raise MeasureError(f"{text}: expected judged or answered")
    return counts if of == "judged" else np.where(hits.answered, counts, 0.0)


@measure(needs="nothing", bounded=False, averages=True, aggregate="sum", also=("num_ret",))
def NumRet(hits: Hits) -> Floats:
    """The number of documents retrieved.

    Formula: documents retrieved; the sum over queries
    Fewer than k: it has no k.
    Nothing relevant: the same.
    Paper: trec_eval's num_ret.
    """
    return hits.retrieved.astype(np.float64)


@measure(needs="nothing", bounded=False, averages=True, aggregate="sum", also=("num_rel",))
def NumRel(hits: Hits, *, rel: float | None = None, of: str = "judged") -> Floats:
    """The number of relevant documents that are judged.

    Formula: judgments of grade `rel` or more; the sum over queries
    Fewer than k: it has no k.
    Nothing relevant: 0.
    Parameters: of=judged: of every judged query; of=answered: 0 for queries that the run does not answer, as
      ir_measures has it.
    Paper: trec_eval's num_rel.
    """
    return _of(hits, hits.relevant_judged(rel), f"NumRel(of={of})", of)


@measure(needs="nothing", bounded=False, averages=True, aggregate="sum", also=("num_rel_ret",))
def NumRelRet(hits: Hits, k: int | None = None, *, rel: float | None = None) -> Floats:
    """The number of relevant documents among the first k retrieved.

    Formula: relevant in the first k; the sum over queries
    Fewer than k: what was retrieved counts.
    Nothing relevant: 0.
    Paper: trec_eval's num_rel_ret.
    """
    return found(hits, k, rel)


@measure(needs="nothing", bounded=False, averages=True, aggregate="sum", also=("num_nonrel_judged_ret",))
def NumNonrelRet(hits: Hits, *, rel: float | None = None) -> Floats:
    """The number of documents retrieved that were judged not relevant (negative grades left out).

    Formula: retrieved judgments of grade 0 up to `rel`; the sum over queries
    Fewer than k: it has no k.
    Nothing relevant: the same.
    Paper: trec_eval's num_nonrel_judged_ret.
    """
    return hits.count(~hits.relevant(rel) & (hits.grade >= 0))


@measure(aggregate="geometric")
def gm_map(hits: Hits, *, rel: float | None = None) -> Floats:
    """Average precision, with the geometric mean over queries: rewards doing tolerably everywhere.

    Formula: exp of the mean over queries of log max(AP, 0.00001)
    Fewer than k: as AP.
    Nothing relevant: 0, so 0.00001 in the mean.
    Paper: Robertson, On GMAP: and other transformations, CIKM 2006.
    """
    return AP(hits, rel=rel)


@measure(aggregate="geometric")
def gm_bpref(hits: Hits, *, rel: float | None = None) -> Floats:
    """Binary preference, with the geometric mean over queries.

    Formula: exp of the mean over queries of log max(Bpref, 0.00001)
    Fewer than k: as Bpref.
    Nothing relevant: 0, so 0.00001 in the mean.
    Paper: Robertson, CIKM 2006; trec_eval's gm_bpref.
    """
    return Bpref(hits, rel=rel)


@measure(needs="nothing", bounded=False, aggregate="none")
def relstring(hits: Hits, k: int = 10) -> Floats:
    """The grades of the first k documents as one character each: - unjudged, . negative, > above 9.

    Formula: a text for each query; there is nothing to average
    Fewer than k: as many characters as were retrieved.
    Nothing relevant: the same.
    Paper: trec_eval's relstring.
    """
    lengths = np.minimum(hits.retrieved, k)
    texts = np.full((len(hits.queries), int(lengths.max(initial=0))), "-")
    inside = hits.rank <= k
    shown = np.array(["." if grade < 0 else ">" if grade > 9 else str(int(grade)) for grade in hits.grade[inside]])
    if len(shown):
        texts[hits.query[inside], hits.rank[inside] - 1] = shown
    return np.array(["".join(row[:n]) for row, n in zip(texts, lengths.tolist(), strict=True)], object)
