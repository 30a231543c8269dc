"""The presets: one row per tool, found by running it on random input (or by reading it, where `checked` says so).

A dialect is a protocol, the tool's own definition of each measure that it has, and how it rounds what it prints. It
also says how the tool is called, which version was checked, and where its convention is a defect.
"""

from __future__ import annotations

from typing import Any, Final

from rankgauge.dialects.dialect import Dialect, Own, Rounding
from rankgauge.errors import ProtocolError, unknown
from rankgauge.protocol import Protocol

__all__ = ["DIALECTS", "find_dialect"]

AS_OURS: Final = Own()
WHOLE: Final = Own(whole=True)
EXP: Final = Own({"gain": "exp"})
BINARY: Final = Own({"gain": "binary"})
CAPPED_AP: Final = Own({"norm": "min"})
BY_RETURNED: Final = Own({"by": "returned"})
FIVE: Final = Rounding(5)

RETRIEVED_IS_ALL: Final = "the ideal comes from what was retrieved: documents that were not found cost nothing"


def _same(names: str, own: Own = AS_OURS) -> dict[str, Own]:
    """These measures, all defined alike."""
    return dict.fromkeys(names.split(), own)


def _dcg(**parameters: Any) -> dict[str, Own]:
    return _same("nDCG DCG", Own(parameters))


TREC_EVAL_9: Final = _same(
    "nDCG AP P R Rprec Bpref infAP Success IPrec 11pt_avg binG G nDCGrel Rndcg RprecMult CappedR utility SetP SetRelP "
    "SetR SetAP SetF NumQ NumRet NumRel NumRelRet NumNonrelRet gm_map gm_bpref"
) | {"RR": WHOLE}
TREC_EVAL_10: Final = TREC_EVAL_9 | {
    "DCG": WHOLE,
    "IDCG": WHOLE,
    "IPrec": Own({"levels": "nearest"}),
    "11pt_avg": Own({"levels": "nearest"}),
    "RBP": Own({"p": 0.9, "gain": "graded"}, whole=True),
    "Unjudged": AS_OURS,
}
LOGARITHM: Final = Own(log=True, aggregate="exp_mean")
GDEVAL_INSIDE: Final = Own(rules={"scores": "float64"}, rounding=FIVE)
SORTED: Final = Own(rules={"ties": "id-ascending", "scores": "float64"})  # in Python, whose numbers have 64 bits
ANSWERED: Final = Own({"of": "answered"})
IR_MEASURES: Final = _same(
    "nDCG P R RR AP Rprec Bpref Success SetP SetR SetF SetAP IPrec infAP NumRet NumRelRet Judged"
) | {
    **_same("RR@ Judged@", SORTED),
    **_same("nDCG(gain=exp)@ ERR@", GDEVAL_INSIDE),
    **_same("NumQ NumRel", ANSWERED),
}
# Its own functions sort in Python and divide by the number of judged queries.
BEIR: Final = _same("nDCG AP R P") | {
    "Accuracy@": Own(rules={"scores": "float64", "ties": "given", "missing": "zero", "same_id": "keep"}, ours="Success")
}
RANX: Final = _same("AP P R RR Success F Rprec") | {
    "NumRelRet": Own(aggregate="mean"),  # its hits
    "nDCG": Own({"rel": 1.0}),
    "DCG": Own({"rel": 1.0}),
    "RBP": Own({"gain": "linear"}),
}

# With the gains 1, 2, 3 (-g 1:2:3), of which 3 is the highest of the scale; no relevant document makes only nDCG fail.
NTCIREVAL: Final = {
    "AP": Own({"norm": "min"}, {"empty": "zero"}),
    "P": Own(rules={"empty": "zero"}),
    "RR": Own(rules={"empty": "zero"}, whole=True),
    "Success@": Own(rules={"empty": "zero"}),
    "nDCG": Own({"discount": "jk2"}),
    "ERR": Own({"max": 3.0, "gain": "linear"}, {"empty": "zero"}, whole=True),
    "RBP": Own({"p": 0.95, "gain": "graded", "max": 3.0}, {"empty": "zero"}, whole=True),
}
# MAP, PrecisionAt and MRR of a query without relevant documents are 0, RecallAt is 1; relevant is what is above 0.5.
CATBOOST: Final = {
    "nDCG": AS_OURS,
    "AP": Own({"norm": "min", "rel": 0.5}, {"empty": "zero"}),
    "P": Own({"by": "returned", "rel": 0.5}, {"empty": "zero"}),
    "RR": Own({"rel": 0.5}, {"empty": "zero"}),
    "R": Own({"rel": 0.5}),
}

# Of documents with a score of 0 or less none is relevant: AP, P and RR end before them.
POSITIVE: Final = {"ties": "given", "scores": "float32-positive"}
UNSORTED: Final = "torch's topk and argsort have none: it depends on the processor and on the length"
TORCHMETRICS: Final = {
    "nDCG": AS_OURS,
    "AP": Own({"norm": "hits"}, POSITIVE, undefined_ties=UNSORTED),
    **_same("P RR", Own(rules=POSITIVE, undefined_ties=UNSORTED)),
    **_same("Success Rprec", Own(rules={"ties": "given"}, undefined_ties=UNSORTED)),
}
# Its map and pre stop at labels other than 0 and 1.
XGBOOST: Final = {
    "nDCG": Own({"gain": "exp", "k": 32}),
    "AP": Own({"norm": "min", "k": 32}, {"grades": "binary"}),
    "P": Own({"by": "returned", "k": 32}, {"grades": "binary", "empty": "zero"}),
}

UNSTABLE: Final = "its sort is not stable: the order of equal scores depends on the processor and on the length"


def _trained(**rules: Any) -> Protocol:
    """What a trainer's metric sees: the documents that it is given, and nothing else."""
    return Protocol(ideal="retrieved", missing="skip", **rules)


def _listed(**rules: Any) -> Protocol:
    """What a tool sees that takes ranked lists."""
    return Protocol(order="given", **rules)


PRESETS: Final = (
    Dialect(
        "trec_eval", "trec_eval -m ndcg_cut.{k} qrels run (10; -c counts missing queries 0)", "10.0-rc3, run",
        "queries that the run does not answer are left out; decimals of grades are cut off",
        Protocol(missing="skip", grades="truncate"), TREC_EVAL_10,
        defect="without -c the mean leaves out what the run does not answer",
    ),
    Dialect(
        "trec_eval-9", "trec_eval -m ndcg_cut.{k} qrels run (9.0)", "9.0.8, through pytrec_eval",
        "as trec_eval, and scores are compared as 32-bit numbers",
        Protocol(scores="float32", missing="skip", grades="truncate"), TREC_EVAL_9,
        defect="scores that differ by less than 32 bits can hold are tied",
    ),
    Dialect(
        "pytrec_eval", "RelevanceEvaluator(qrels, {'ndcg_cut_{k}'}).evaluate(run), then a mean", "0.5.11, run",
        "32-bit scores; the mean of what is returned leaves out queries that the run does not answer; gm_map and "
        "gm_bpref of a query are logarithms",
        Protocol(scores="float32", missing="skip", grades="integer"),
        TREC_EVAL_9 | _same("gm_map gm_bpref", LOGARITHM),
        defect="a query whose grades are all negative makes it hang",
    ),
    Dialect(
        "ir_measures", "calc_aggregate([nDCG@{k}], qrels, run)", "0.4.3, run",
        "32-bit scores; RR@k and Judged@k have 64-bit scores and ties by ascending id; exponential gain goes through "
        "gdeval; NumQ and NumRel are 0 for queries that the run does not answer",
        Protocol(scores="float32", grades="integer"), IR_MEASURES,
        defect="measures of one list can disagree about its order; gdeval's values have five digits before averaging",
    ),
    Dialect(
        "ranx", "evaluate(Qrels(qrels), Run(run), 'ndcg@{k}')", "0.3.21, run",
        "equal scores in the order given; decimals of grades are cut off; grades below 1 gain nothing",
        Protocol(ties="given", grades="truncate", missing="error"), RANX,
        undefined_ties="its sort is not stable beyond 15 documents", stable_up_to=15,
    ),
    Dialect(
        "ranx-burges", "evaluate(Qrels(qrels), Run(run), 'ndcg_burges@{k}')", "0.3.21, run",
        "as ranx, with exponential gain",
        Protocol(ties="given", grades="truncate", missing="error"),
        {"nDCG": Own({"gain": "exp", "rel": 1.0}), "DCG": Own({"gain": "exp", "rel": 1.0})},
        undefined_ties="its sort is not stable beyond 15 documents", stable_up_to=15,
    ),
    Dialect(
        "gdeval", "gdeval.pl -k {k} qrels run", "1.2a, run",
        "exponential gain; queries without relevant documents or without results are left out",
        Protocol(missing="skip", empty="skip", grades="integer"),
        {"nDCG@": EXP, "nDCG": Own({"gain": "exp", "k": 20}), "ERR@": AS_OURS, "ERR": Own({"k": 20})},
        round_mean=FIVE,
    ),
    Dialect(
        "msmarco", "msmarco_eval.py qrels run", "read, not run",
        "RR@10 by the rank column; every listed judgment is relevant, whatever its grade",
        Protocol(order="rank"), {"RR": Own({"k": 10, "rel": 0.0}, only_at=10)},
    ),
    Dialect(
        "beir", "EvaluateRetrieval.evaluate(qrels, results, [{k}])", "2.2.0, run",
        "32-bit scores; a document with the query's id is dropped; missing queries are left out; five digits; its "
        "Accuracy@k is the hit rate, in which missing queries count 0",
        Protocol(scores="float32", missing="skip", same_id="drop"), BEIR, round_mean=FIVE,
        defect="the mean leaves out what the run does not answer",
    ),
    Dialect(
        "mteb", "calculate_retrieval_scores, inside a retrieval task", "2.26.24, run",
        "32-bit scores; missing queries are left out; five digits",
        Protocol(scores="float32", missing="skip"), _same("nDCG AP R P"), round_mean=FIVE,
        defect="the mean leaves out what the run does not answer",
    ),
    Dialect(
        "sklearn", "ndcg_score([grades], [scores], k={k}) of what was retrieved", "1.9.1, run",
        "ideal from what was retrieved; ties are averaged",
        _trained(ties="average", negative="error"), _dcg(), defect=RETRIEVED_IS_ALL,
    ),
    Dialect(
        "sklearn-ignore-ties", "ndcg_score([grades], [scores], k={k}, ignore_ties=True)", "1.9.1, run",
        "ideal from what was retrieved",
        _trained(ties="reversed", negative="error"), _dcg(), defect=RETRIEVED_IS_ALL, undefined_ties=UNSTABLE,
    ),
    Dialect(
        "torchmetrics", "RetrievalNormalizedDCG(top_k={k})", "1.9.0, run",
        "ideal from what was retrieved; ties are averaged in nDCG, and have no order elsewhere; 32-bit scores and "
        "arithmetic",
        _trained(scores="float32", ties="average", negative="as-is-summed"), TORCHMETRICS, defect=RETRIEVED_IS_ALL,
    ),
    Dialect(
        "xgboost", "eval_metric='ndcg@{k}' (ndcg@{k}-: an empty query scores 0; ndcg_exp_gain=False: linear)",
        "3.2.0, run",
        "exponential gain; ideal from what was retrieved; an empty query scores 1; no cut-off means 32; AP and P take "
        "grades of 0 and 1 alone",
        _trained(scores="float32", ties="given", empty="one", negative="error", grades="integer"),
        XGBOOST, defect=f"{RETRIEVED_IS_ALL}; an empty query scores 1",
    ),
    Dialect(
        "lightgbm", "metric='ndcg', eval_at=[{k}]", "4.7.0, run",
        "exponential gain; ideal from what was retrieved; an empty query scores 1",
        _trained(ties="given", empty="one", negative="error", grades="integer"),
        {"nDCG@": EXP, "AP@": CAPPED_AP}, defect=f"{RETRIEVED_IS_ALL}; an empty query scores 1",
    ),
    Dialect(
        "catboost", "eval_metric='NDCG:top={k}' (;type=Exp: exponential gain)", "1.2.10, run",
        "ideal from what was retrieved; the worst order of ties; an empty query scores 1",
        _trained(ties="worst", empty="one", negative="as-is"), CATBOOST,
        defect=f"{RETRIEVED_IS_ALL}; an empty query scores 1",
    ),
    Dialect(
        "tf-ranking", "tfr.keras.metrics.NDCGMetric(topn={k})", "5b1d133, read",
        "exponential gain; ideal from what was retrieved; ties are shuffled (here: averaged); 32-bit arithmetic",
        _trained(scores="float32", ties="average", unjudged="condensed"), {"nDCG": EXP}, defect=RETRIEVED_IS_ALL,
        undefined_ties="it shuffles equal scores without a seed",
    ),
    Dialect(
        "sentence-transformers", "InformationRetrievalEvaluator(queries, corpus, relevant_docs)", "6.2.0, run",
        "binary gain; ties by ascending id; queries without relevant documents are left out; its Accuracy@k is the hit "
        "rate",
        Protocol(ties="id-ascending", empty="skip"),
        {"nDCG@": BINARY, "AP@": CAPPED_AP, **_same("P R RR@ Success@"), "Accuracy@": Own(ours="Success")},
    ),
    Dialect(
        "spark-mllib", "RankingMetrics(rdd of (ranking, labels)).ndcgAt({k}), from Python", "4.3.0, run",
        "binary gain: grades are ignored; a document twice counts twice",
        _listed(duplicates="each", missing="skip"), {"nDCG@": BINARY, "AP": CAPPED_AP, **_same("P R")},
        defect="grades that are given are silently ignored; repeated documents can lift a value above 1",
    ),
    Dialect(
        "spark-mllib-graded", "RankingMetrics.of(JavaRDD<Tuple3>).ndcgAt({k}), from Scala and Java", "4.3.0, run",
        "exponential gain; the ideal is in the order in which the labels are given",
        _listed(duplicates="each", ideal_order="given", negative="as-is-ratio", missing="skip"), {"nDCG@": EXP},
        defect="labels that are not given best first make a perfect ranking score more than 1",
    ),
    Dialect(
        "elasticsearch", "_rank_eval, metric dcg with normalize: true", "read, not run",
        "exponential gain; the ideal is cut at the number of documents returned",
        _listed(ideal_depth="returned"), {**_dcg(gain="exp"), "P": BY_RETURNED, **_same("R RR")},
        defect="the ideal is cut at the number returned: returning less is not punished",
    ),
    Dialect(
        "opensearch", "search-relevance, NDCG@{k}", "read, not run",
        "exponential gain; each query is rounded to two digits before averaging",
        _listed(), {"nDCG@": EXP}, round_query=Rounding(2, half_up=True), defect="rounding before averaging",
    ),
    Dialect(
        "quepid", "scorer nDCG@{k}", "8.6 (its JavaScript), run",
        "exponential gain; the ideal is not cut; queries without results are left out",
        _listed(ideal_depth="all", missing="skip"), {"nDCG@": EXP},
        defect="the ideal is not cut at k: with more than k good documents 1 cannot be reached",
    ),
    Dialect(
        "quepid-cut", "scorer NDCG_CUT@{k}", "8.6 (its JavaScript), run", "exponential gain",
        _listed(missing="skip"), {"nDCG@": EXP},
    ),
    Dialect(
        "mlflow", "mlflow.metrics.ndcg_at_k({k})", "3.17.2, run",
        "binary gain; the ideal is cut at the number returned; an empty query without results scores 1",
        _listed(ideal_depth="returned", duplicates="distinct", empty="one-if-unanswered"), {"nDCG@": BINARY},
        defect="the ideal is cut at the number returned: returning less is not punished",
    ),
    Dialect(
        "llamaindex", "NDCG().compute(expected_ids=…, retrieved_ids=…)", "0.14.25, run",
        "binary gain; the ideal is not cut; a document twice counts twice; an empty query is an error",
        _listed(ideal_depth="all", duplicates="each", missing="error", empty="error"), {"nDCG": BINARY},
        defect="the ideal is not cut at k; repeated documents can lift a value above 1",
    ),
    Dialect(
        "haystack", "DocumentNDCGEvaluator().run(…)", "3.4.0, run",
        "the ideal is not cut; a document twice counts once",
        _listed(ideal_depth="all", duplicates="once", negative="as-is"), {"nDCG": AS_OURS},
        defect="the ideal is not cut at k: with more than k good documents 1 cannot be reached",
    ),
    Dialect(
        "ntcireval", "pyNTCIREVAL compute -r qrels -g 1:2:3 --cutoffs {k} (MSnDCG: discount=log2)", "0.0.3, run",
        "the original discount, undiscounted down to rank 2; ERR and RBP of linear gain; a document twice counts twice",
        _listed(duplicates="each", empty="error"), NTCIREVAL,
        defect="a query without relevant documents is a division by zero; repeated documents can exceed 1",
    ),
    Dialect(
        "trectools", "TrecEval(run, qrels).get_ndcg(depth={k})", "0.0.50, run",
        "ties in the order of the file; missing queries are left out; no cut-off means 1000",
        _listed(missing="skip"), {"nDCG": Own({"k": 1000})},
        defect="the mean leaves out what the run does not answer",
    ),
    Dialect(
        "jarvelin-2002", "Järvelin and Kekäläinen, TOIS 2002, with b = 2", "the paper",
        "linear gain, undiscounted down to rank 2", measures=_dcg(discount="jk2"),
    ),
    Dialect(
        "burges-2005", "Burges et al., ICML 2005", "the paper", "exponential gain", measures=_dcg(gain="exp"),
    ),
)  # fmt: skip
DIALECTS: Final[dict[str, Dialect]] = {dialect.name: dialect for dialect in PRESETS}


def find_dialect(name: str | Dialect) -> Dialect:
    """The dialect of this name.

    >>> find_dialect("sklearn").protocol.ideal
    'retrieved'
    """
    if isinstance(name, Dialect):
        return name
    if name in DIALECTS:
        return DIALECTS[name]
    raise ProtocolError(unknown(f"unknown dialect {name!r}", name, DIALECTS, "'rankgauge dialects' lists all"))
