"""Dialects against the tools that are heavy to install: `make test-peers`. Each is called as its users call it."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rankgauge
from rankgauge import DIALECTS
from samples import labels, mean, ours, random_files
from sparks import session_in

SEEDS = range(3)
NEGATIVE = (-2, -1, 0, 1, 1, 2, 3)


@pytest.mark.parametrize(
    ("dialect", "metric", "measure"),
    [
        ("ranx", "ndcg@5", "nDCG@5"), ("ranx", "map@5", "AP@5"), ("ranx", "mrr@5", "RR@5"),
        ("ranx", "precision@5", "P@5"), ("ranx", "recall@5", "R@5"), ("ranx", "hit_rate@5", "Success@5"),
        ("ranx", "f1@5", "F@5"), ("ranx", "hits@5", "NumRelRet@5"),
        ("ranx", "r-precision", "Rprec"), ("ranx-burges", "ndcg_burges@5", "nDCG@5"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("seed", SEEDS)
def test_ranx(seed: int, dialect: str, metric: str, measure: str) -> None:
    ranx = pytest.importorskip("ranx")
    judgments, run = random_files(seed, in_order=True)
    theirs = ranx.Run(run)
    ranx.evaluate(ranx.Qrels(judgments), theirs, metric, return_mean=False)
    values = ours(dialect, judgments, run, measure)
    for query, value in theirs.scores[metric].items():
        assert values[query] == pytest.approx(value, abs=1e-12)


def test_the_examples_of_the_page_for_users_of_ranx(tmp_path: Path) -> None:
    pytest.importorskip("ranx")
    text = (Path(__file__).parents[2] / "docs/from-ranx.md").read_text(encoding="utf-8")
    program = "\n".join(re.findall(r"^```py\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "ranx.evaluate(" in program
    assert "ranx.compare(" in program


def test_ranx_averages_its_hits() -> None:
    ranx = pytest.importorskip("ranx")
    judgments, run = random_files(1, in_order=True)
    for text in ("hits@5", "hits"):
        theirs = ranx.evaluate(ranx.Qrels(judgments), ranx.Run(run), text)
        assert rankgauge.evaluate(judgments, run, text, dialect="ranx")[text] == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize(("metric", "measure"), [("ndcg@5", "nDCG@5"), ("mrr", "RR"), ("precision@3", "P@3")])
@pytest.mark.parametrize("seed", SEEDS)
def test_ranx_of_plain_dicts(seed: int, metric: str, measure: str) -> None:
    """Given dicts, ranx has ties in the reverse of the order given."""
    ranx = pytest.importorskip("ranx")
    judgments, run = random_files(seed, in_order=True)
    reversed_ties = replace(DIALECTS["ranx"], protocol=replace(DIALECTS["ranx"].protocol, ties="reversed"))
    values = ours(reversed_ties, judgments, run, measure)
    theirs = ranx.evaluate(judgments, run, [metric, "recall"], return_mean=False)[metric]
    assert [values[query] for query in run] == pytest.approx(list(theirs), abs=1e-12)
    assert values != ours("ranx", judgments, run, measure)


@pytest.mark.parametrize(
    ("metric", "measure"),
    [
        ("NDCG:top={}", "nDCG@{}"), ("NDCG:top={};type=Exp", "nDCG(gain=exp)@{}"), ("MAP:top={}", "AP@{}"),
        ("PrecisionAt:top={}", "P@{}"), ("RecallAt:top={}", "R@{}"), ("MRR:top={}", "RR@{}"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("grades", [(0, 0, 0, 1, 1, 2, 3), NEGATIVE], ids=["graded", "negative"])
@pytest.mark.parametrize("seed", SEEDS)
def test_catboost(seed: int, grades: tuple[int, ...], k: int, metric: str, measure: str) -> None:
    """Grades that add up to 0 or less, and ideals below 0, too."""
    utils = pytest.importorskip("catboost.utils")
    judgments, run = random_files(seed, grades=grades)
    values = ours("catboost", judgments, run, measure.format(k))
    for query in run:
        listed, scores = labels(judgments, run, query)
        (theirs,) = utils.eval_metric(listed, scores, metric.format(k), group_id=[0] * len(listed))
        assert values[query] == pytest.approx(theirs, abs=1e-12), (query, listed, scores)


@pytest.mark.parametrize("k", [1, 5])
@pytest.mark.parametrize("grades", [(0, 0, 0, 1, 1, 2, 3), NEGATIVE], ids=["graded", "negative"])
@pytest.mark.parametrize("seed", SEEDS)
def test_torchmetrics(seed: int, grades: tuple[int, ...], k: int) -> None:
    """Grades that add up to 0 or less, too: what is divided by next to nothing is as near as 32 bits can tell."""
    torch = pytest.importorskip("torch")
    retrieval = pytest.importorskip("torchmetrics.retrieval")
    judgments, run = random_files(seed, grades=grades)
    values = ours("torchmetrics", judgments, run, f"nDCG@{k}")
    for query in run:
        listed, scores = labels(judgments, run, query)
        where = torch.zeros(len(listed), dtype=torch.long)
        theirs = retrieval.RetrievalNormalizedDCG(top_k=k)(torch.tensor(scores), torch.tensor(listed), indexes=where)
        assert values[query] == pytest.approx(float(theirs), rel=1e-4, abs=1e-6), (query, listed, scores)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("below", [0.0, 0.3, 2.0])
@pytest.mark.parametrize(
    ("name", "measure"),
    [("MAP", "AP@3"), ("MAP", "AP"), ("MRR", "RR@3"), ("Precision", "P@3"), ("HitRate", "Success@3"),
     ("RPrecision", "Rprec")],
)  # fmt: skip
@pytest.mark.parametrize("seed", SEEDS)
def test_torchmetrics_binary(seed: int, name: str, measure: str, below: float, ties: bool) -> None:
    """Of scores that are partly, or all, below 0: there what AP, RR and precision find is not relevant. Of equal
    scores, whose order is not defined there, it is a value in the band."""
    torch = pytest.importorskip("torch")
    retrieval = pytest.importorskip("torchmetrics.retrieval")
    judgments, run = random_files(seed, ties=ties)
    run = {query: {doc: score - below for doc, score in docs.items()} for query, docs in run.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rankgauge.RankgaugeWarning)
        bands = rankgauge.evaluate(judgments, run, measure, dialect="torchmetrics").ties(measure)
    metric = getattr(retrieval, f"Retrieval{name}")(**({} if name == "RPrecision" or measure == "AP" else {"top_k": 3}))
    for query in run:
        grades, scores = labels(judgments, run, query)
        where, relevant = torch.zeros(len(grades), dtype=torch.long), torch.tensor([grade > 0 for grade in grades])
        theirs = float(metric(torch.tensor(scores), relevant, indexes=where))
        band = bands[query]
        assert band.low - 1e-6 <= theirs <= band.high + 1e-6
        assert band.exact
        assert ties or band.width == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_mlflow(seed: int) -> None:
    definitions = pytest.importorskip("mlflow.metrics.metric_definitions")
    pandas = pytest.importorskip("pandas")
    judgments, run = random_files(seed, in_order=True)
    values = ours("mlflow", judgments, run, "nDCG@5")
    lists = pandas.Series([list(run[query]) for query in run])
    wanted = pandas.Series([[doc for doc, grade in judgments[query].items() if grade > 0] for query in run])
    theirs = definitions._ndcg_at_k_eval_fn(5)(lists, wanted).scores
    assert [values[query] for query in run] == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_llamaindex(seed: int) -> None:
    metrics = pytest.importorskip("llama_index.core.evaluation.retrieval.metrics")
    judgments, run = random_files(seed, in_order=True)
    for query in run:
        wanted = [doc for doc, grade in judgments[query].items() if grade > 0]
        if wanted:
            theirs = metrics.NDCG().compute(expected_ids=wanted, retrieved_ids=list(run[query])).score
            mine = ours("llamaindex", {query: judgments[query]}, {query: run[query]}, "nDCG")[query]
            assert mine == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("grades", [(0, 0, 0, 1, 1, 2, 3), NEGATIVE], ids=["graded", "negative"])
@pytest.mark.parametrize("seed", SEEDS)
def test_haystack(seed: int, grades: tuple[int, ...]) -> None:
    haystack = pytest.importorskip("haystack")
    evaluators = pytest.importorskip("haystack.components.evaluators")
    judgments, run = random_files(seed, grades=grades, in_order=True)
    values = ours("haystack", judgments, run, "nDCG")
    truth = [[haystack.Document(content=doc, score=float(grade)) for doc, grade in judgments[q].items()] for q in run]
    found = [[haystack.Document(content=doc) for doc in run[query]] for query in run]
    theirs = evaluators.DocumentNDCGEvaluator().run(ground_truth_documents=truth, retrieved_documents=found)
    assert [values[query] for query in run] == pytest.approx(theirs["individual_scores"], abs=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_trectools(seed: int, tmp_path: Any) -> None:
    trectools = pytest.importorskip("trectools")
    judgments, run = random_files(seed, ties=False, in_order=True)
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
    assert mean(values) == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_sentence_transformers(seed: int) -> None:
    """A bag of words for a model, each query and document one word of its own, and a score function that looks up the
    scores: everything else is the evaluator's."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("sentence_transformers")
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
    from sentence_transformers.sentence_transformer.modules import BoW

    judgments, run = random_files(seed)
    docs = sorted({doc for each in [*judgments.values(), *run.values()] for doc in each})
    run = {query: {doc: scores.get(doc, -1.0) for doc in docs} for query, scores in run.items()}  # it ranks them all
    words = [*(f"query{query}" for query in run), *docs]
    table = torch.zeros(len(words), len(words))
    for row, scores in enumerate(run.values()):
        table[row, len(run) :] = torch.tensor([scores[doc] for doc in docs])
    evaluator = InformationRetrievalEvaluator(
        {query: f"query{query}" for query in run}, {doc: doc for doc in docs},
        {query: {doc for doc, grade in each.items() if grade > 0} for query, each in judgments.items()},
        mrr_at_k=[3], ndcg_at_k=[3, 10], accuracy_at_k=[3], precision_recall_at_k=[3], map_at_k=[3, 10],
        score_functions={"given": lambda queries, found: queries @ table @ found.T}, write_csv=False,
    )  # fmt: skip
    model = SentenceTransformer(modules=[BoW(vocab=words)], device="cpu")
    theirs = evaluator(model)
    names = {
        "ndcg@3": "nDCG@3", "ndcg@10": "nDCG@10", "map@3": "AP@3", "map@10": "AP@10", "mrr@3": "RR@3",
        "precision@3": "P@3", "recall@3": "R@3", "accuracy@3": "Success@3",
    }  # fmt: skip
    for name, measure in [*names.items(), ("accuracy@3", "Accuracy@3")]:
        assert mean(ours("sentence-transformers", judgments, run, measure)) == pytest.approx(
            theirs[f"given_{name}"], abs=1e-12
        ), measure


# ---- Spark ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A Spark context on this machine alone."""
    pytest.importorskip("pyspark.sql")
    with session_in(tmp_path_factory.mktemp("spark")) as session:
        yield session.sparkContext


@pytest.mark.parametrize("seed", SEEDS)
def test_spark(spark: Any, seed: int) -> None:
    from pyspark.mllib.evaluation import RankingMetrics

    judgments, run = random_files(seed, in_order=True)
    rows = [(list(run[q]), [doc for doc, grade in judgments[q].items() if grade > 0]) for q in run]
    theirs = RankingMetrics(spark.parallelize(rows, 1))
    found = {
        "nDCG@1": theirs.ndcgAt(1), "nDCG@5": theirs.ndcgAt(5), "AP": theirs.meanAveragePrecision,
        "AP@3": theirs.meanAveragePrecisionAt(3), "P@3": theirs.precisionAt(3), "R@3": theirs.recallAt(3),
    }  # fmt: skip
    for measure, value in found.items():
        assert mean(ours("spark-mllib", judgments, run, measure)) == pytest.approx(value, abs=1e-12), measure
    graded = [(ranking, wanted, [float(i + 1) for i in range(len(wanted))]) for ranking, wanted in rows]
    assert RankingMetrics(spark.parallelize(graded, 1)).ndcgAt(5) == found["nDCG@5"]  # grades are silently ignored


@pytest.mark.parametrize("grades", [(0, 0, 0, 1, 1, 2, 3), NEGATIVE], ids=["graded", "negative"])
@pytest.mark.parametrize("seed", SEEDS)
def test_spark_graded(spark: Any, seed: int, grades: tuple[int, ...]) -> None:
    """What Scala and Java call, called from here: ranking, labels and their grades, in the order given."""
    judgments, run = random_files(seed, grades=grades, in_order=True)
    java = spark._jvm
    context = java.org.apache.spark.api.java.JavaSparkContext(spark._jsc.sc())

    def listed(items: Any) -> Any:
        filled = java.java.util.ArrayList()
        for item in items:
            filled.append(item)
        return filled

    def row(query: str) -> Any:
        judged = judgments[query]
        return java.scala.Tuple3(listed(run[query]), listed(judged), listed(map(float, judged.values())))

    for k in (1, 5):
        values = ours("spark-mllib-graded", judgments, run, f"nDCG@{k}")
        theirs = java.org.apache.spark.mllib.evaluation.RankingMetrics.of(
            context.parallelize(listed(row(query) for query in run), 1)
        )
        assert mean(values) == pytest.approx(theirs.ndcgAt(k), rel=1e-9)
