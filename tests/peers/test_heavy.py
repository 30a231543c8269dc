"""Dialects against the tools that are heavy to install: `make test-peers`. Each is called as its users call it."""

from __future__ import annotations

import random
import warnings
from typing import Any

import pytest

import rankgauge
from rankgauge import RankgaugeWarning

Nested = dict[str, dict[str, float]]
QUERIES = 30
SEEDS = range(3)


def random_files(seed: int, *, most: int = 14, ties: bool = True, grades: tuple[int, ...] = (0, 0, 1, 2, 3)) -> Any:
    """Judgments and a run in the order of its scores; every query is judged and answered."""
    dice = random.Random(seed)
    judgments: Nested = {}
    run: Nested = {}
    for number in range(QUERIES):
        docs = [f"d{i:02}" for i in range(dice.randint(2, most))]
        dice.shuffle(docs)
        judgments[str(number)] = {doc: dice.choice(grades) for doc in docs if dice.random() < 0.8} or {docs[0]: 1}
        kept = docs[: dice.randint(2, len(docs))]
        scores = sorted((dice.randint(0, 5) / 4 if ties else dice.random() for _ in kept), reverse=True)
        run[str(number)] = dict(zip(kept, scores, strict=True))
    return judgments, run


def ours(dialect: str, judgments: Nested, run: Any, measure: str) -> dict[str, float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankgaugeWarning)
        values = rankgauge.evaluate(judgments, run, measure, dialect=dialect).to_dict()
    return {query: each[measure] for query, each in values.items()}


def labels(judgments: Nested, run: Nested, query: str) -> tuple[list[float], list[float]]:
    return [judgments[query].get(doc, 0) for doc in run[query]], list(run[query].values())


@pytest.mark.parametrize(
    ("dialect", "metric", "measure"),
    [
        ("ranx", "ndcg@5", "nDCG@5"), ("ranx", "map@5", "AP@5"), ("ranx", "mrr@5", "RR@5"),
        ("ranx", "precision@5", "P@5"), ("ranx", "recall@5", "R@5"), ("ranx", "hit_rate@5", "Success@5"),
        ("ranx", "f1@5", "F@5"), ("ranx", "r-precision", "Rprec"), ("ranx-burges", "ndcg_burges@5", "nDCG@5"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("seed", SEEDS)
def test_ranx(seed: int, dialect: str, metric: str, measure: str) -> None:
    ranx = pytest.importorskip("ranx")
    judgments, run = random_files(seed)
    theirs = ranx.Run(run)
    ranx.evaluate(ranx.Qrels(judgments), theirs, metric, return_mean=False)
    values = ours(dialect, judgments, run, measure)
    for query, value in theirs.scores[metric].items():
        assert values[query] == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize(("more", "measure"), [("", "nDCG@5"), (";type=Exp", "nDCG(gain=exp)@5")])
@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_catboost(seed: int, negative: bool, more: str, measure: str) -> None:
    utils = pytest.importorskip("catboost.utils")
    judgments, run = random_files(seed, grades=(-1, 0, 1, 2) if negative else (0, 0, 1, 2, 3))
    values = ours("catboost", judgments, run, measure)
    for query in run:
        grades, scores = labels(judgments, run, query)
        if negative and sum(grades) <= 0:
            continue  # the ideal itself is negative or nothing
        (theirs,) = utils.eval_metric(grades, scores, f"NDCG:top=5{more}", group_id=[0] * len(grades))
        assert values[query] == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_torchmetrics(seed: int, negative: bool) -> None:
    torch = pytest.importorskip("torch")
    retrieval = pytest.importorskip("torchmetrics.retrieval")
    judgments, run = random_files(seed, grades=(-1, 0, 1, 2) if negative else (0, 0, 1, 2, 3))
    values = ours("torchmetrics", judgments, run, "nDCG@5")
    for query in run:
        grades, scores = labels(judgments, run, query)
        if negative and sum(grades) <= 0:
            continue  # the ideal itself is negative or nothing
        where = torch.zeros(len(grades), dtype=torch.long)
        theirs = retrieval.RetrievalNormalizedDCG(top_k=5)(torch.tensor(scores), torch.tensor(grades), indexes=where)
        assert values[query] == pytest.approx(float(theirs), abs=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_torchmetrics_average_precision(seed: int) -> None:
    torch = pytest.importorskip("torch")
    retrieval = pytest.importorskip("torchmetrics.retrieval")
    judgments, run = random_files(seed, ties=False)
    values = ours("torchmetrics", judgments, run, "AP@3")
    for query in run:
        grades, scores = labels(judgments, run, query)
        where, relevant = torch.zeros(len(grades), dtype=torch.long), torch.tensor([grade > 0 for grade in grades])
        theirs = retrieval.RetrievalMAP(top_k=3)(torch.tensor(scores), relevant, indexes=where)
        assert values[query] == pytest.approx(float(theirs), abs=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_mlflow(seed: int) -> None:
    definitions = pytest.importorskip("mlflow.metrics.metric_definitions")
    pandas = pytest.importorskip("pandas")
    judgments, run = random_files(seed)
    values = ours("mlflow", judgments, run, "nDCG@5")
    lists = pandas.Series([list(run[query]) for query in run])
    wanted = pandas.Series([[doc for doc, grade in judgments[query].items() if grade > 0] for query in run])
    theirs = definitions._ndcg_at_k_eval_fn(5)(lists, wanted).scores
    assert [values[query] for query in run] == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_llamaindex(seed: int) -> None:
    metrics = pytest.importorskip("llama_index.core.evaluation.retrieval.metrics")
    judgments, run = random_files(seed)
    for query in run:
        wanted = [doc for doc, grade in judgments[query].items() if grade > 0]
        if wanted:
            theirs = metrics.NDCG().compute(expected_ids=wanted, retrieved_ids=list(run[query])).score
            mine = ours("llamaindex", {query: judgments[query]}, {query: run[query]}, "nDCG")[query]
            assert mine == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_haystack(seed: int) -> None:
    haystack = pytest.importorskip("haystack")
    evaluators = pytest.importorskip("haystack.components.evaluators")
    judgments, run = random_files(seed)
    values = ours("haystack", judgments, run, "nDCG")
    truth = [[haystack.Document(content=doc, score=float(grade)) for doc, grade in judgments[q].items()] for q in run]
    found = [[haystack.Document(content=doc) for doc in run[query]] for query in run]
    theirs = evaluators.DocumentNDCGEvaluator().run(ground_truth_documents=truth, retrieved_documents=found)
    assert [values[query] for query in run] == pytest.approx(theirs["individual_scores"], abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_trectools(seed: int, tmp_path: Any) -> None:
    trectools = pytest.importorskip("trectools")
    judgments, run = random_files(seed, ties=False)
    (tmp_path / "qrels").write_text(
        "".join(f"{q} 0 {d} {g}\n" for q, docs in judgments.items() for d, g in docs.items())
    )
    lines = [f"{q} Q0 {d} {r} {s!r} x\n" for q, docs in run.items() for r, (d, s) in enumerate(docs.items(), 1)]
    (tmp_path / "run").write_text("".join(lines))
    evaluator = trectools.TrecEval(
        trectools.TrecRun(str(tmp_path / "run")), trectools.TrecQrel(str(tmp_path / "qrels"))
    )
    theirs = evaluator.get_ndcg(depth=5)
    values = ours("trectools", judgments, run, "nDCG@5")
    assert sum(values.values()) / len(values) == pytest.approx(theirs, abs=1e-9)
