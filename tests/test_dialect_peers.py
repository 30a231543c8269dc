"""Dialects against the tools themselves, on random input, called as their users call them.

Only the tools that are light: scikit-learn, LightGBM, XGBoost, pyNTCIREVAL, ir_measures (with cwl-eval), pytrec_eval.
Trainers are given scores without training: XGBoost as `base_margin` with no rounds, LightGBM as `init_score` of a
validation set. pytrec_eval hangs on a query whose grades are all negative, so there are no negative grades here, and it
runs in a process whose time is bounded.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import rankgauge
from peer_client import Peers
from rankgauge import DIALECTS
from samples import Nested, labels, mean, ours, random_files

SEEDS = range(5)


@pytest.mark.parametrize("k", [1, 3, 10, None])
@pytest.mark.parametrize("seed", SEEDS)
def test_scikit_learn(seed: int, k: int | None) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    measure = "nDCG" if k is None else f"nDCG@{k}"
    judgments, run = random_files(seed)
    values = ours("sklearn", judgments, run, measure)
    apart_judgments, apart = random_files(seed, ties=False)
    ignoring = ours("sklearn-ignore-ties", apart_judgments, apart, measure)
    for query in run:
        grades, scores = labels(judgments, run, query)
        assert values[query] == pytest.approx(metrics.ndcg_score([grades], [scores], k=k), abs=1e-12)
        grades, scores = labels(apart_judgments, apart, query)
        theirs = metrics.ndcg_score([grades], [scores], k=k, ignore_ties=True)
        assert ignoring[query] == pytest.approx(theirs, abs=1e-12)


def xgboost_says(metric: str, judgments: Nested, run: Nested, **more: Any) -> dict[str, float]:
    xgboost = pytest.importorskip("xgboost")
    result = {}
    for query in run:
        grades, scores = labels(judgments, run, query)
        data = xgboost.DMatrix(np.zeros((len(grades), 1)), label=grades, base_margin=scores, group=[len(grades)])
        parameters = {"objective": "rank:ndcg", "eval_metric": metric, "verbosity": 0, "nthread": 1, **more}
        booster = xgboost.train(parameters, data, num_boost_round=0)
        result[query] = float(booster.eval(data).rpartition(":")[2])
    return result


@pytest.mark.parametrize(
    ("metric", "measure"), [("ndcg@3", "nDCG@3"), ("ndcg", "nDCG"), ("map@3", "AP@3"), ("pre@5", "P@5")]
)
@pytest.mark.parametrize("seed", SEEDS)
def test_xgboost(seed: int, metric: str, measure: str) -> None:
    judgments, run = random_files(seed) if "ndcg" in metric else random_files(seed, grades=(0, 0, 0, 1, 1))
    values = ours("xgboost", judgments, run, measure)
    for query, theirs in xgboost_says(metric, judgments, run).items():
        assert values[query] == pytest.approx(theirs, abs=1e-6), query


@pytest.mark.parametrize(("metric", "measure"), [("map", "AP"), ("pre", "P"), ("map@3", "AP@3"), ("pre@5", "P@5")])
def test_xgboost_stops_at_graded_labels(metric: str, measure: str) -> None:
    """And without a cut-off counts the first 32, precision too."""
    xgboost = pytest.importorskip("xgboost")
    judgments: Nested = {"q": {"a": 2, "b": 0}}
    run: Nested = {"q": {"a": 1.0, "b": 0.0}}
    with pytest.raises(xgboost.core.XGBoostError, match="can only be used with binary labels"):
        xgboost_says(metric, judgments, run)
    with pytest.raises(rankgauge.RankgaugeError, match="grade 2 is neither 0 nor 1"):
        ours("xgboost", judgments, run, measure)
    docs = [f"d{i:02}" for i in range(50)]
    judgments = {"q": {doc: float(at % 3 == 0 or at > 30) for at, doc in enumerate(docs)}}
    run = {"q": {doc: float(-at) for at, doc in enumerate(docs)}}
    got = rankgauge.evaluate(judgments, run, measure, dialect="xgboost")[measure]
    assert got == pytest.approx(xgboost_says(metric, judgments, run)["q"], abs=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_options_of_xgboost(seed: int) -> None:
    """A minus behind the metric: an empty query scores 0. And a gain that is given goes before its own."""
    judgments, run = random_files(seed)
    minus = replace(DIALECTS["xgboost"], protocol=replace(DIALECTS["xgboost"].protocol, empty="zero"))
    values, linear = ours(minus, judgments, run, "nDCG@3"), ours("xgboost", judgments, run, "nDCG(gain=linear)@3")
    for query, theirs in xgboost_says("ndcg@3-", judgments, run).items():
        assert values[query] == pytest.approx(theirs, abs=1e-6), query
    for query, theirs in xgboost_says("ndcg@3", judgments, run, ndcg_exp_gain=False).items():
        assert linear[query] == pytest.approx(theirs, abs=1e-6), query


@pytest.mark.parametrize(("metric", "measure"), [("ndcg", "nDCG@{}"), ("map", "AP@{}")])
@pytest.mark.parametrize("seed", SEEDS)
def test_lightgbm(seed: int, metric: str, measure: str) -> None:
    lightgbm = pytest.importorskip("lightgbm")
    judgments, run = random_files(seed)
    lists = [labels(judgments, run, query) for query in run]
    grades, scores = ([number for each in column for number in each] for column in zip(*lists, strict=True))
    sizes = [len(each) for each, _ in lists]
    features = np.arange(len(grades), dtype=float)[:, None]
    quiet = {"verbose": -1}
    train = lightgbm.Dataset(features, label=grades, group=sizes, params=quiet)
    valid = lightgbm.Dataset(features, label=grades, group=sizes, init_score=scores, reference=train, params=quiet)
    parameters = {"objective": "lambdarank", "metric": metric, "eval_at": [1, 3, 10], "verbose": -1, "num_threads": 1,
                  "min_data_in_leaf": 10**6}  # fmt: skip
    record: dict[str, Any] = {}
    callbacks = [lightgbm.record_evaluation(record)]
    lightgbm.train(parameters, train, 1, valid_sets=[valid], valid_names=["v"], callbacks=callbacks)
    for k in (1, 3, 10):
        values = ours("lightgbm", judgments, run, measure.format(k))
        assert mean(values) == pytest.approx(record["v"][f"{metric}@{k}"][0], abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_pyntcireval(seed: int) -> None:
    pytest.importorskip("pyNTCIREVAL")
    from pyNTCIREVAL import Labeler
    from pyNTCIREVAL.metrics import MSnDCG, nDCG

    judgments, run = random_files(seed)
    judgments = {query: docs for query, docs in judgments.items() if max(docs.values()) > 0}
    values = ours("ntcireval", judgments, run, "nDCG@5")
    rules = DIALECTS["ntcireval"].protocol
    microsoft = rankgauge.evaluate(judgments, run, "nDCG@5", protocol=rules).to_dict()
    for query, docs in judgments.items():
        labeler = Labeler(docs)
        counts, ranked = labeler.compute_per_level_doc_num(4), labeler.label(run[query])
        assert values[query] == pytest.approx(nDCG(counts, [1, 2, 3], 2, 5).compute(ranked), abs=1e-12)
        theirs = MSnDCG(counts, [1, 2, 3], 5).compute(ranked)
        assert microsoft[query]["nDCG@5"] == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_pyntcireval_err_and_rbp(seed: int) -> None:
    """Of queries without relevant documents, too."""
    pytest.importorskip("pyNTCIREVAL")
    from pyNTCIREVAL import Labeler
    from pyNTCIREVAL.metrics import ERR, RBP

    judgments, run = random_files(seed, in_order=True)
    err, rbp = ours("ntcireval", judgments, run, "ERR"), ours("ntcireval", judgments, run, "RBP")
    for query, docs in judgments.items():
        labeler = Labeler(docs)
        counts, ranked = labeler.compute_per_level_doc_num(4), labeler.label(run[query])
        assert err[query] == pytest.approx(ERR(counts, [1, 2, 3]).compute(ranked), abs=1e-12)
        assert rbp[query] == pytest.approx(RBP(counts, [1, 2, 3], 0.95).compute(ranked), abs=1e-12)


@pytest.mark.parametrize("measure", ["AP@3", "AP", "P@5", "RR", "Success@3"])
@pytest.mark.parametrize("seed", SEEDS)
def test_pyntcireval_binary(seed: int, measure: str) -> None:
    """Of queries without relevant documents, too."""
    pytest.importorskip("pyNTCIREVAL")
    from pyNTCIREVAL import Labeler
    from pyNTCIREVAL.metrics import AP, RR, Hit, Precision

    judgments, run = random_files(seed, in_order=True)
    values = ours("ntcireval", judgments, run, measure)
    for query, docs in judgments.items():
        labeler = Labeler(docs)
        counts, ranked = labeler.compute_per_level_doc_num(4), labeler.label(run[query])
        theirs = {"AP@3": AP(counts, [1, 2, 3], 3), "AP": AP(counts, [1, 2, 3]), "P@5": Precision(5), "RR": RR(),
                  "Success@3": Hit(3)}  # fmt: skip
        assert values[query] == pytest.approx(theirs[measure].compute(ranked), abs=1e-12)


@pytest.mark.parametrize(
    "measure",
    ["nDCG@5", "nDCG(gain=exp)@5", "ERR@5", "RR@3", "RR", "Judged@3", "AP@5", "P@5", "R@5", "Success@3", "Bpref",
     "RR(rel=2)@10", "NumQ", "NumRel", "NumRet"],
)  # fmt: skip
@pytest.mark.parametrize("close", [0.0, 1e-9], ids=["ties", "64 bits"])
@pytest.mark.parametrize("seed", SEEDS)
def test_ir_measures(peers: Peers, seed: int, close: float, measure: str) -> None:
    """Of equal scores, of scores that only 64 bits tell apart, and of a query that the run does not answer."""
    judgments, run = random_files(seed)
    dice = random.Random(seed)
    run = {q: {doc: score + dice.randint(0, 3) * close for doc, score in docs.items()} for q, docs in run.items()}
    run.pop("3")
    asked = measure.replace("gain=exp", "dcg='exp-log2'")
    values = ours("ir_measures", judgments, run, measure)
    answer = peers.ask(judgments, run, [], [asked])
    for query, each in answer["ir_measures"].items():
        assert values[query] == pytest.approx(each[asked], abs=1e-12), query
    total = sum(values.values()) if measure.startswith("Num") else mean(values)
    assert total == pytest.approx(answer["means"][asked], abs=1e-12)


def test_scaled_dcg_of_cwl() -> None:
    """C/W/L's SDCG is a measure, not a dialect: as if k documents of the highest grade were judged."""
    ir_measures = pytest.importorskip("ir_measures")
    pytest.importorskip("cwl")
    judgments, run = {"q": {"a": 3, "b": 2, "c": 1, "d": 0}}, {"q": {"c": 3.0, "d": 2.0, "a": 1.0}}
    theirs = next(iter(ir_measures.iter_calc([ir_measures.SDCG(max_rel=3) @ 3], judgments, run))).value
    assert theirs == pytest.approx(0.3911, abs=5e-5)
    assert rankgauge.ndcg([1, 0, 3], k=3, ideal=[3, 3, 3, 1, 0]) == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("name", ["ndcg_cut_5", "map", "P_5", "recall_5", "recip_rank", "gm_map", "gm_bpref"])
@pytest.mark.parametrize("seed", SEEDS)
def test_pytrec_eval_with_close_scores(peers: Peers, seed: int, name: str) -> None:
    """Scores that only 64 bits tell apart, and queries that the run does not answer."""
    judgments, run = random_files(seed)
    dice = random.Random(seed)
    run = {q: {doc: score + dice.random() * 1e-9 for doc, score in docs.items()} for q, docs in run.items()}
    run.pop("3")
    theirs = peers.ask(judgments, run, [name], [])["pytrec_eval"]
    measure = str(rankgauge.parse(name))
    values = ours("pytrec_eval", judgments, run, measure)
    assert values.keys() == theirs.keys()
    for query, value in values.items():
        assert value == pytest.approx(theirs[query][name], abs=1e-12)
    if name.startswith("gm_"):
        compute = pytest.importorskip("pytrec_eval").compute_aggregated_measure
        total = rankgauge.evaluate(judgments, run, measure, dialect="pytrec_eval")[measure]
        assert total == pytest.approx(compute(name, [each[name] for each in theirs.values()]), abs=1e-12)
