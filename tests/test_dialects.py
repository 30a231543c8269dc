"""Dialects: what each tool says on small cases, as its users saw it, and what every preset must tell about itself."""

from __future__ import annotations

import csv
import io
import itertools
import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import rankgauge
from command import Command
from rankgauge import DIALECTS, Evaluation, Protocol, RankgaugeWarning, Result
from rankgauge.comparison.saved import Saved
from rankgauge.dialects import Rounding, find_dialect
from rankgauge.dialects.trec_eval import trec_lines
from rankgauge.errors import FormatError, MatchError, MeasureError, ProtocolError, RankgaugeError
from rankgauge.matching.match import match
from rankgauge.measures import MEASURES
from rankgauge.protocol import RULES
from samples import labels, ours, random_files

NAMES = [
    "trec_eval", "trec_eval-9", "pytrec_eval", "ir_measures", "ranx", "ranx-burges", "gdeval", "msmarco", "beir",
    "mteb", "sklearn", "sklearn-ignore-ties", "torchmetrics", "xgboost", "lightgbm", "catboost", "tf-ranking",
    "sentence-transformers", "spark-mllib", "spark-mllib-graded", "elasticsearch", "opensearch", "quepid",
    "quepid-cut", "mlflow", "llamaindex", "haystack", "ntcireval", "trectools", "jarvelin-2002", "burges-2005",
]  # fmt: skip


def value(dialect: str, judgments: Any, run: Any, measure: str = "nDCG@10") -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankgaugeWarning)
        return rankgauge.evaluate(judgments, run, measure, dialect=dialect)[measure]


def listed(*docs: str, query: str = "q") -> list[tuple[str, str, float]]:
    """A run of one query that returns these documents in this order."""
    return [(query, doc, float(len(docs) - place)) for place, doc in enumerate(docs)]


def graded(*grades: float) -> dict[str, dict[str, float]]:
    return {"q": {f"d{i:02}": grade for i, grade in enumerate(grades)}}


def first(number: int) -> list[tuple[str, str, float]]:
    return listed(*(f"d{i:02}" for i in range(number)))


ONE_RANKING = {"q": {"a": 3, "b": 2, "c": 1, "d": 0}}
EIGHT_NUMBERS = {
    0.5250: "trec_eval trec_eval-9 pytrec_eval ir_measures ranx beir mteb haystack trectools",
    0.4791: "gdeval ranx-burges elasticsearch quepid quepid-cut burges-2005",
    0.48: "opensearch",
    0.6885: "sklearn sklearn-ignore-ties torchmetrics catboost",
    0.5897: "xgboost lightgbm tf-ranking",
    0.7039: "sentence-transformers llamaindex mlflow spark-mllib",
    0.5137: "ntcireval jarvelin-2002",
}
EMPTY = ({"q1": {"a": 1}, "q2": {"b": 0}}, {"q1": {"a": 1.0}, "q2": {"b": 1.0}})
MISSING = ({"q1": {"a": 1}, "q2": {"b": 1}}, {"q1": {"a": 1.0}})


def pairs_of(table: dict[Any, str]) -> list[tuple[str, Any]]:
    return [(name, expected) for expected, names in table.items() for name in names.split()]


@pytest.mark.parametrize(("dialect", "expected"), pairs_of(EIGHT_NUMBERS))
def test_one_ranking_eight_numbers(dialect: str, expected: float) -> None:
    assert value(dialect, ONE_RANKING, listed("c", "d", "a"), "nDCG@3") == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("labels", "ranking", "expected"), [("cba", "cda", 0.7039), ("cba", "abc", 1.4693), ("abc", "cda", 0.4791)]
)
def test_spark_takes_the_ideal_as_the_labels_are_given(labels: str, ranking: str, expected: float) -> None:
    judgments = {"q": {doc: ONE_RANKING["q"][doc] for doc in labels}}
    got = value("spark-mllib-graded", judgments, listed(*ranking), "nDCG@3")
    assert got == pytest.approx(expected, abs=5e-5)


def test_other_definitions_of_one_ranking() -> None:
    """What is no preset: CatBoost's and XGBoost's options, NTCIREVAL's MSnDCG, catalyst."""
    run = listed("c", "d", "a")
    assert value("catboost", ONE_RANKING, run, "nDCG(gain=exp)@3") == pytest.approx(0.5897, abs=5e-5)
    catalyst = rankgauge.evaluate(ONE_RANKING, run, "nDCG(discount=jk2)@3", protocol=Protocol(ideal="retrieved"))
    assert catalyst["nDCG(discount=jk2)@3"] == pytest.approx(0.7232, abs=5e-5)


@pytest.mark.parametrize(
    ("dialect", "expected"),
    [
        ("trec_eval", 1.0), ("pytrec_eval", 1.0), ("ir_measures", 1.0), ("lightgbm", 0.5), ("xgboost", 0.5),
        ("sklearn", 0.7103), ("torchmetrics", 0.7103), ("tf-ranking", 0.7103), ("catboost", 0.5),
        ("sentence-transformers", 0.5),
    ],
)  # fmt: skip
def test_three_equal_scores_the_last_is_relevant(dialect: str, expected: float) -> None:
    got = value(dialect, {"q": {"d1": 0, "d2": 0, "d3": 1}}, {"q": {"d1": 1.0, "d2": 1.0, "d3": 1.0}})
    assert got == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("dialect", "measure", "expected"),
    [
        ("trec_eval", "RR", 1.0), ("trec_eval-9", "RR", 0.5), ("pytrec_eval", "RR", 0.5), ("ir_measures", "RR", 0.5),
        ("torchmetrics", "nDCG@10", 0.8155),
    ],
)  # fmt: skip
def test_scores_that_32_bits_cannot_tell_apart(dialect: str, measure: str, expected: float) -> None:
    got = value(dialect, {"q": {"a": 1}}, {"q": {"a": 0.900000001, "b": 0.9}}, measure)
    assert got == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("dialect", "grades", "returned", "expected"),
    [
        ("trec_eval", [3] * 5, 1, 0.3392), ("elasticsearch", [3] * 5, 1, 1.0), ("mlflow", [3] * 5, 1, 1.0),
        ("trec_eval", [1] * 5, 2, 0.5531), ("sklearn", [1] * 5, 2, 1.0), ("xgboost", [1] * 5, 2, 1.0),
        ("lightgbm", [1] * 5, 2, 1.0), ("catboost", [1] * 5, 2, 1.0), ("torchmetrics", [1] * 5, 2, 1.0),
        ("trec_eval", [3] * 20, 10, 1.0), ("quepid", [3] * 20, 10, 0.6454), ("quepid-cut", [3] * 20, 10, 1.0),
        ("llamaindex", [3] * 20, 10, 0.6454), ("haystack", [3] * 20, 10, 0.6454),
    ],
)  # fmt: skip
def test_where_the_ideal_comes_from(dialect: str, grades: list[float], returned: int, expected: float) -> None:
    assert value(dialect, graded(*grades), first(returned)) == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(
    ("dialect", "measure", "expected"),
    [
        ("spark-mllib", "nDCG@10", 1.6309), ("llamaindex", "nDCG@10", 1.6309), ("ntcireval", "nDCG@10", 2.0),
        ("ntcireval", "nDCG(discount=log2)@10", 1.6309), ("haystack", "nDCG@10", 1.0), ("mlflow", "nDCG@10", 1.0),
    ],
)  # fmt: skip
def test_a_document_twice(dialect: str, measure: str, expected: float) -> None:
    assert value(dialect, {"q": {"d": 1}}, listed("d", "d"), measure) == pytest.approx(expected, abs=5e-5)


def test_a_document_twice_is_an_error_elsewhere() -> None:
    with pytest.raises(RankgaugeError, match="twice"):
        value("trec_eval", {"q": {"d": 1}}, listed("d", "d"))


@pytest.mark.parametrize(
    ("dialect", "expected"),
    pairs_of({
        0.5: "trec_eval sklearn ranx ir_measures", 1.0: "gdeval sentence-transformers xgboost lightgbm catboost"
    }),
)  # fmt: skip
def test_one_perfect_query_one_without_relevant_documents(dialect: str, expected: float) -> None:
    assert value(dialect, *EMPTY) == expected


def test_the_options_of_xgboost() -> None:
    """ndcg@10-: an empty query scores 0; ndcg_exp_gain=False: linear gain."""
    minus = replace(DIALECTS["xgboost"], protocol=replace(DIALECTS["xgboost"].protocol, empty="zero"))
    assert rankgauge.evaluate(*EMPTY, dialect=minus)["nDCG@10"] == 0.5
    linear = value("xgboost", ONE_RANKING, listed("c", "d", "a"), "nDCG(gain=linear)@3")
    assert linear == pytest.approx(0.6885, abs=5e-5)


@pytest.mark.parametrize("dialect", ["llamaindex", "ntcireval"])
def test_a_query_without_relevant_documents_fails(dialect: str) -> None:
    with pytest.raises(MatchError, match="no relevant documents"):
        value(dialect, *EMPTY)


def test_gdeval_through_ir_measures_counts_an_empty_query() -> None:
    assert value("ir_measures", *EMPTY, "nDCG(gain=exp)@10") == 0.5


@pytest.mark.parametrize(
    ("dialect", "expected"), pairs_of({0.5: "ir_measures", 1.0: "trec_eval-9 pytrec_eval beir mteb trec_eval"})
)
def test_two_judged_queries_one_answered(dialect: str, expected: float) -> None:
    assert value(dialect, *MISSING) == expected
    assert rankgauge.evaluate(*MISSING)["nDCG@10"] == 0.5


def test_an_unanswered_query_that_is_empty_too_follows_the_rule_of_empty_ones() -> None:
    judgments = {"e": {"a": 0}, "m": {"a": 1}, "q": {"a": 1}}
    assert value("sentence-transformers", judgments, {"q": {"a": 1.0}}) == 0.5


@pytest.mark.parametrize(
    ("dialect", "expected"),
    pairs_of({1 / 3: "trec_eval", 1.0: "spark-mllib sentence-transformers xgboost lightgbm catboost torchmetrics"}),
)
def test_average_precision_at_one(dialect: str, expected: float) -> None:
    # A tool that is given a list alone sees three relevant documents, too.
    assert value(dialect, graded(1, 1, 1), first(3), "AP@1") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("dialect", "expected"), pairs_of({0.5556: "trec_eval spark-mllib xgboost catboost", 0.8333: "torchmetrics"})
)
def test_average_precision_at_three(dialect: str, expected: float) -> None:
    assert value(dialect, graded(1, 0, 1, 1, 0), first(5), "AP@3") == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize(("dialect", "expected"), pairs_of({0.4: "trec_eval", 2 / 3: "xgboost catboost elasticsearch"}))
def test_precision_of_less_than_k(dialect: str, expected: float) -> None:
    assert value(dialect, graded(1, 0, 1), first(3), "P@5") == pytest.approx(expected)


def test_precision_of_opensearch() -> None:
    """It divides by what was returned; its threshold, another one for every query, is why the preset has no P."""
    rules = DIALECTS["opensearch"].protocol
    assert rankgauge.evaluate(graded(1, 0, 1), first(3), "P(by=returned)@5", protocol=rules)[
        "P(by=returned)@5"
    ] == pytest.approx(2 / 3)
    with pytest.raises(MeasureError, match="there is no preset of P@5 for opensearch, only of nDCG"):
        value("opensearch", graded(1, 0, 1), first(3), "P@5")


def torchmetrics_says(measure: str, k: int, grades: list[float], scores: list[float]) -> float:
    """As torchmetrics 1.9 does it: what scores 0 or less in 32 bits is not relevant; the first k count."""
    narrow = np.array(scores, np.float32)
    order = np.argsort(-narrow, kind="stable")[:k]
    relevant = [grades[at] > 0 and narrow[at] > 0 for at in order]
    ranks = [rank for rank, hit in enumerate(relevant, 1) if hit]
    if measure == "P":
        return len(ranks) / k
    if not ranks:
        return 0.0
    if measure == "RR":
        return 1 / ranks[0]
    return sum(place / rank for place, rank in enumerate(ranks, 1)) / len(ranks)


@pytest.mark.parametrize("measure", ["AP", "P", "RR"])
@pytest.mark.parametrize("seed", range(5))
def test_torchmetrics_takes_no_score_of_0_or_less_for_relevant(seed: int, measure: str) -> None:
    dice = np.random.default_rng(seed)
    judgments, run = random_files(seed, queries=30)
    lowered = {query: {doc: score - dice.choice([0.5, 1e-50, 2]) for doc, score in docs.items()}
               for query, docs in run.items()}  # fmt: skip
    rows = [(query, doc, score) for query, docs in lowered.items() for doc, score in docs.items()]
    for k in (1, 3, 20):
        values = ours("torchmetrics", judgments, lowered, f"{measure}@{k}")
        assert values == ours("torchmetrics", judgments, rows, f"{measure}@{k}")
        for query in run:
            expected = torchmetrics_says(measure, k, *labels(judgments, lowered, query))
            assert values[query] == pytest.approx(expected, abs=1e-12), query
    assert value("torchmetrics", {"q": {"a": 1, "b": 0}}, {"q": {"a": -0.1, "b": -0.5}}, "AP") == 0.0


def test_torchmetrics_of_arrays_and_explained_is_the_same() -> None:
    judgments, run = {"q": {"a": 1, "b": 0, "c": 1}}, {"q": {"b": 0.5, "a": 0.25, "c": -1.0}}
    accumulator = rankgauge.trainers.Accumulator("AP", dialect="torchmetrics")
    accumulator.update([[0, 1, 1]], [[0.5, 0.25, -1.0]])
    assert accumulator.compute() == {"AP": 0.5} == {"AP": value("torchmetrics", judgments, run, "AP")}
    rules = Protocol(scores="float32-positive")
    assert rankgauge.explain(judgments, run, "q", "R", protocol=rules).value == 0.5
    assert (
        rankgauge.explain(judgments, [("q", *pair) for pair in run["q"].items()], "q", "R", protocol=rules).value == 0.5
    )


def test_ranx_averages_its_hits() -> None:
    judgments = {"q1": {"a": 1, "b": 2}, "q2": {"c": 1}}
    run = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"x": 1.0}}
    assert rankgauge.parse("hits@10") == rankgauge.parse("NumRelRet@10")
    assert (value("ranx", judgments, run, "hits@10"), value("ranx", judgments, run, "hits")) == (1.0, 1.0)
    assert rankgauge.evaluate(judgments, run, "hits@10")["hits@10"] == 2.0
    result = rankgauge.evaluate(judgments, run, "hits@10", dialect="ranx")
    assert "1.0000" in str(result)
    assert result.ties("hits@10").mean.value == 1.0


def test_what_a_dialect_takes_without_a_cut_off() -> None:
    judgments = graded(*([0] * 32), 1, *([1] * 7))
    result = rankgauge.evaluate(judgments, first(40), ["P", "precision", "AP"], dialect="xgboost")
    assert (result["P"], result["P@32"], result["precision"], result["AP"]) == (0.0, 0.0, 0.0, 0.0)
    assert value("xgboost", judgments, first(40), "P@40") == 8 / 40
    with pytest.raises(MeasureError, match="P needs a cut-off"):
        value("trec_eval", judgments, first(40), "P")


@pytest.mark.parametrize("measure", ["AP@5", "P@5"])
def test_xgboost_stops_at_graded_labels(measure: str) -> None:
    with pytest.raises(FormatError, match=r"query 'q': grade 3 is neither 0 nor 1, and grades='binary' takes no other"):
        value("xgboost", ONE_RANKING, listed("c", "d", "a"), measure)
    metric = rankgauge.trainers.Accumulator(measure, dialect="xgboost")
    with pytest.raises(FormatError, match="the grade is 2; expected 0 or 1"):
        metric.update([[0, 2, 1]], [[1.0, 2.0, 3.0]])


@pytest.mark.parametrize(
    ("dialect", "measure", "expected"),
    [
        ("trec_eval", "RR", 1 / 3), ("trec_eval", "P@3", 1 / 3), ("trec_eval", "nDCG@3", 0.5250),
        ("trec_eval", "P(rel=1)@3", 2 / 3), ("catboost", "P@3", 1 / 3), ("ranx", "nDCG@3", 0.5250),
        ("msmarco", "RR", 1 / 3),
    ],
)  # fmt: skip
def test_a_dialect_with_another_smallest_relevant_grade(dialect: str, measure: str, expected: float) -> None:
    rows = [{"query_id": "q", "doc_id": doc, "rank": rank, "score": -rank} for rank, doc in enumerate("cda", 1)]
    result = rankgauge.evaluate(ONE_RANKING, rows, measure, dialect=dialect, protocol={"rel": 2})
    assert result[measure] == pytest.approx(expected, abs=5e-5)
    assert result.protocol.rel == 2.0
    with pytest.raises(ProtocolError, match=r"give either the dialect or ties=given \(rel goes with both\)"):
        rankgauge.evaluate(ONE_RANKING, rows, dialect=dialect, protocol={"rel": 2, "ties": "given"})


def test_the_command_takes_a_dialect_and_rel(command: Command, tmp_path: Path) -> None:
    (tmp_path / "q").write_text("q 0 a 3\nq 0 c 1\n")
    (tmp_path / "r").write_text("q Q0 c 1 2.0 t\nq Q0 a 2 1.0 t\n")
    words = ("eval", "q", "r", "-m", "RR", "--dialect", "trec_eval", "--format", "json")
    assert json.loads(command(*words, cwd=tmp_path).out)["runs"][0]["measures"]["RR"]["mean"] == 1.0
    assert json.loads(command(*words, "--rel", "2", cwd=tmp_path).out)["runs"][0]["measures"]["RR"]["mean"] == 0.5


def test_xgboost_means_32() -> None:
    judgments = graded(*([0] * 32), 1, *([0] * 7))
    assert value("xgboost", judgments, first(40), "nDCG") == 0.0
    assert value("xgboost", judgments, first(40), "nDCG@40") == pytest.approx(0.1966, abs=5e-5)


@pytest.mark.parametrize(
    ("dialect", "measure", "expected"),
    [
        ("gdeval", "ERR@3", 0.1992), ("ntcireval", "ERR", 0.4375), ("ranx", "RBP(p=0.8)", 0.584),
        ("trec_eval", "RBP", 0.1143), ("trec_eval", "RBP(p=0.8)", 0.1947), ("ntcireval", "RBP(p=0.8)", 0.1947),
    ],
)  # fmt: skip
def test_other_measures_of_one_ranking(dialect: str, measure: str, expected: float) -> None:
    run = [("q", doc, score) for doc, score in zip("cda", (3.0, 2.0, 1.0), strict=True)]
    assert value(dialect, ONE_RANKING, run, measure) == pytest.approx(expected, abs=5e-5)


def test_the_gain_decides_which_system_wins() -> None:
    judgments = {"q": {"a": 3, "b": 2, "c": 1, "d": 1, "e": 0, "f": 0}}
    systems = {"A": listed("c", "d", "b"), "B": listed("e", "a", "f")}
    got = {(name, dialect): round(value(dialect, judgments, run, "nDCG@3"), 4)
           for name, run in systems.items() for dialect in ("trec_eval", "burges-2005")}  # fmt: skip
    assert (got["A", "trec_eval"], got["B", "trec_eval"]) == (0.5525, 0.3975)
    assert (got["A", "burges-2005"], got["B", "burges-2005"]) == (0.3333, 0.4702)


@pytest.mark.parametrize(
    ("k", "expected"), [(2, 0.7420981285), (3, 0.7010143365), (5, 0.7200516721), (7, 0.8882323551)]
)
def test_averaged_ties(k: int, expected: float) -> None:
    run = {"q": {f"d{i:02}": float(score) for i, score in enumerate([5, 4, 4, 4, 2, 2, 1])}}
    got = value("sklearn", graded(3, 0, 2, 1, 0, 3, 2), run, f"nDCG@{k}")
    assert got == pytest.approx(expected, abs=1e-10)


def test_ir_measures_says_two_things_of_one_list() -> None:
    judgments, run = {"q": {"a": 1}}, {"q": {"a": 1.0, "U": 1.0}}
    assert (value("ir_measures", judgments, run, "P@1"), value("ir_measures", judgments, run, "Judged@1")) == (1.0, 0.0)


def test_msmarco_counts_every_listed_judgment() -> None:
    run = [{"query_id": "q", "doc_id": doc, "score": 1.0, "rank": rank} for rank, doc in enumerate("xab", 1)]
    assert value("msmarco", {"q": {"a": 0, "b": 1}}, run, "RR") == 0.5
    assert value("msmarco", {"q": {"a": 0, "b": 1}}, run, "RR@10") == 0.5
    with pytest.raises(MeasureError, match="there is no preset of RR@20 for msmarco, only of RR@10"):
        value("msmarco", {"q": {"a": 0, "b": 1}}, run, "RR@20")


# ---- rounding -------------------------------------------------------------------------------------------------------


def test_rounding() -> None:
    assert (Rounding(2, half_up=True)(0.125), Rounding(2)(0.125)) == (0.13, 0.12)
    judgments = {"q1": {"a": 1, "b": 1}, "q2": {"a": 1}}
    run = [("q1", "a", 1.0), ("q2", "x", 2.0), ("q2", "a", 1.0)]
    assert value("opensearch", judgments, run) == (0.61 + 0.63) / 2
    assert value("beir", judgments, run) == round((1 / (1 + 0.6309297535714575) + 0.6309297535714575) / 2, 5)


# ---- what a preset tells about itself -------------------------------------------------------------------------------


def test_all_presets_are_there() -> None:
    assert list(DIALECTS) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_says_how_it_was_found(name: str) -> None:
    dialect = DIALECTS[name]
    assert len(dialect.call) > 8
    assert len(dialect.checked) > 5
    assert len(dialect.why) > 8
    assert dialect.measures
    for key, own in dialect.measures.items():
        assert set(own.parameters) <= set(MEASURES[key.partition("(")[0].rstrip("@")].parameters)


@pytest.mark.parametrize(
    ("rule", "setting", "word"),
    [
        ("ideal", "retrieved", "retrieved"), ("ideal_depth", "returned", "returned"), ("ideal_depth", "all", "not cut"),
        ("empty", "one", "scores 1"), ("ideal_order", "given", "more than 1"),
    ],
)  # fmt: skip
def test_defects_are_named(rule: str, setting: str, word: str) -> None:
    assert setting in RULES[rule]
    concerned = [dialect for dialect in DIALECTS.values() if getattr(dialect.protocol, rule) == setting]
    assert concerned
    assert [dialect.name for dialect in concerned if word not in dialect.defect] == []


def test_a_result_says_whose_it_is() -> None:
    result: Result = rankgauge.evaluate(ONE_RANKING, listed("c", "d", "a"), ["nDCG@3", "nDCG"], dialect="xgboost")
    shown = " ".join(str(result).split())
    assert "Dialect: xgboost (nDCG@3 there is eval_metric='ndcg@3' (ndcg@3-:" in shown
    assert "nDCG@3 is nDCG(gain=exp)@3; nDCG is nDCG(gain=exp)@32." in shown
    assert "A defect of xgboost: the ideal comes from what was retrieved" in shown
    assert result.definitions["nDCG"].startswith("nDCG(gain=exp)@32: Normalised")
    assert result.fingerprint != rankgauge.evaluate(ONE_RANKING, listed("c", "d", "a"), "nDCG@3").fingerprint


@pytest.mark.parametrize(
    ("dialect", "measure", "called"),
    [
        ("gdeval", "nDCG@20", "gdeval (nDCG@20 there is gdeval.pl -k 20 qrels run)"),
        ("gdeval", "nDCG", "gdeval (nDCG@20 there is gdeval.pl -k 20 qrels run)"),
        ("gdeval", "ERR@5", "gdeval (nDCG@10 there is gdeval.pl -k 10 qrels run)"),
        ("trec_eval", "nDCG@20", "trec_eval (nDCG@20 there is trec_eval -m ndcg_cut.20 qrels run (10; -c"),
        ("msmarco", "RR", "msmarco (as msmarco_eval.py qrels run)"),
    ],
)  # fmt: skip
def test_a_result_says_how_the_tool_is_called_at_its_cut_off(dialect: str, measure: str, called: str) -> None:
    rows = [{"query_id": "q", "doc_id": doc, "rank": rank, "score": -rank} for rank, doc in enumerate("cda", 1)]
    assert f"Dialect: {called}" in str(rankgauge.evaluate(ONE_RANKING, rows, measure, dialect=dialect))


@pytest.mark.parametrize("name", NAMES)
def test_every_call_has_a_place_for_the_cut_off_or_names_none(name: str) -> None:
    for number in ("10", "20"):
        assert DIALECTS[name].called(int(number)) == DIALECTS[name].call.replace("{k}", number)
    assert "{k}" in DIALECTS[name].call or not any(character.isdigit() for character in DIALECTS[name].call[:20])


def test_undefined_ties_are_said() -> None:
    with pytest.warns(RankgaugeWarning, match="sklearn-ignore-ties: the files hold equal scores.*not stable"):
        rankgauge.evaluate({"q": {"a": 1, "b": 0}}, {"q": {"a": 1.0, "b": 1.0}}, dialect="sklearn-ignore-ties")


def test_a_parameter_that_is_written_goes_before_the_tools_own() -> None:
    """Our defaults too, once they are written; and the two are two measures."""
    texts = ["nDCG@3", "nDCG(gain=linear)@3", "nDCG(discount=log2)@3"]
    run = listed("c", "d", "a")
    result = rankgauge.evaluate(ONE_RANKING, run, texts, dialect="xgboost")
    assert [round(result[text], 4) for text in texts] == [0.5897, 0.6885, 0.5897]
    assert list(result.to_dict()["q"]) == texts
    assert "nDCG(gain=linear)@3 is nDCG@3;" in str(result)
    assert value("ntcireval", ONE_RANKING, run, "nDCG(discount=log2)@3") == pytest.approx(0.5250, abs=5e-5)
    assert value("trec_eval", ONE_RANKING, run, "RBP(p=0.8)") == pytest.approx(0.1947, abs=5e-5)
    assert value("trec_eval", ONE_RANKING, run, "RBP(p=0.8,gain=binary)") == pytest.approx(0.328, abs=5e-5)
    assert list(rankgauge.evaluate(ONE_RANKING, run, ["nDCG(gain=linear)@3"])) == ["nDCG@3"]  # elsewhere it is one


class TestUndefinedTies:
    """Where a tool's order of ties is not defined, there is a band instead of a number."""

    JUDGMENTS: ClassVar = {"q": {f"d{i:02}": i % 4 for i in range(0, 20, 2)}, "p": {"a": 1, "b": 1}}
    RUN: ClassVar = {"q": {f"d{i:02}": float(i // 3) for i in range(18)}, "p": {"a": 1.0, "x": 1.0, "b": 0.5}}

    def result(self, dialect: str, *measures: str, by: Any = None) -> Result:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankgaugeWarning)
            return rankgauge.evaluate(self.JUDGMENTS, self.RUN, measures, dialect=dialect, by=by)

    @pytest.mark.parametrize("measure", ["nDCG@5", "AP@5", "Rprec", "RBP", "RR", "F@4"])
    def test_the_ends_are_those_of_the_orders(self, measure: str) -> None:
        """Every order of one tie group of three at a time: the groups of these runs add up apart."""
        bands = self.result("ranx", measure).undefined[rankgauge.parse(measure)]
        own = DIALECTS["ranx"].own(rankgauge.parse(measure))
        docs = list(self.RUN["q"])
        groups = [docs[start : start + 3] for start in range(15, -1, -3)]
        values = []
        for choice in itertools.product(*(itertools.permutations(group) for group in groups[:4])):
            order = [doc for group in [*choice, *groups[4:]] for doc in group]
            scored = {doc: -float(rank) for rank, doc in enumerate(order)}
            values.append(scored)
        queries = {f"{number:05}": each for number, each in enumerate(values)}
        all_values = own.measure(match(dict.fromkeys(queries, self.JUDGMENTS["q"]), queries, own.protocol))
        if measure != "RBP":  # whose last groups, which stay in place here, count too
            assert bands["q"].low == pytest.approx(all_values.min(), abs=1e-12)
            assert bands["q"].high == pytest.approx(all_values.max(), abs=1e-12)
        assert bands["q"].low <= all_values.min() + 1e-12
        assert bands["q"].high >= all_values.max() - 1e-12
        assert bands["p"].width == 0  # at most 15 documents: ranx's sort is stable

    def test_shown_for_people(self) -> None:
        result = self.result("sklearn-ignore-ties", "nDCG@5", by={"q": "long", "p": "short"})
        low, high = result.undefined[rankgauge.parse("nDCG@5")].mean[2:4]
        assert low < result["nDCG@5"] < high
        table = Evaluation.of([result]).show()
        assert f"  {low:.4f} to {high:.4f}\n" in table
        assert "sklearn-ignore-ties may give any value in between" in table
        assert "Ties:" not in table
        short = result.by["short"].undefined[rankgauge.parse("nDCG@5")]["p"]
        assert f"{short.low:.4f} to {short.high:.4f}" in Evaluation.of([result]).show("table", per_query=True)
        assert f"| {low:.4f} to {high:.4f} |" in Evaluation.of([result]).show("markdown")

    def test_shown_for_machines(self) -> None:
        result = self.result("ranx", "nDCG@5", "RR")
        bands = result.undefined[rankgauge.parse("nDCG@5")]
        data = json.loads(Evaluation.of([result]).show("json", per_query=True))["runs"][0]
        low, high = bands.mean[2:4]
        assert data["measures"]["nDCG@5"] == {"mean": None, "value": None, "low": low, "high": high, "exact": True}
        ends = {"low": bands["q"].low, "high": bands["q"].high}
        assert data["per_query"]["q"]["nDCG@5"] == {"value": None, **ends, "exact": True}
        assert data["per_query"]["p"]["nDCG@5"] == bands["p"].value
        (row,) = csv.DictReader(io.StringIO(Evaluation.of([result]).show("csv")))
        assert (row["nDCG@5"], float(row["nDCG@5_low"]), float(row["nDCG@5_high"])) == ("", low, high)
        rows = list(csv.DictReader(io.StringIO(Evaluation.of([result]).show("csv", per_query=True))))
        assert {row["nDCG@5"] for row in rows if row["query_id"] == "q"} == {""}
        assert {float(row[key]) for row in rows if row["query_id"] == "p" for key in row if "nDCG" in key} == {
            bands["p"].value
        }
        lines = trec_lines(Evaluation.of([result])).splitlines()
        assert [line.split() for line in lines if "nDCG" in line] == [
            ["nDCG@5_low", "all", f"{low:.4f}"], ["nDCG@5_high", "all", f"{high:.4f}"],
        ]  # fmt: skip

    def test_a_band_cannot_be_compared(self) -> None:
        with pytest.raises(FormatError, match="nDCG@5 of query q is a band and no number"):
            Saved.of(self.result("ranx", "nDCG@5"))

    def test_a_number_where_no_order_matters(self) -> None:
        clear = rankgauge.evaluate({"q": {"a": 1}}, {"q": {"a": 2.0, "b": 1.0}}, dialect="sklearn-ignore-ties")
        assert clear.undefined == {}
        few = rankgauge.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}, dialect="ranx")  # and no warning
        assert (few.undefined, few["nDCG@10"]) == ({}, 1.0)

    def test_ties_of_a_dialect_are_those_of_its_own_definition(self) -> None:
        result = rankgauge.evaluate(self.JUDGMENTS, self.RUN, ["nDCG@5"], dialect="lightgbm")
        rules = DIALECTS["lightgbm"].protocol
        plain = rankgauge.tie_band(match(self.JUDGMENTS, self.RUN, rules), "nDCG(gain=exp)@5")
        assert result.ties("nDCG@5").mean == plain.mean

    TIED: ClassVar = ({"q": {"c": 1}}, {"q": dict.fromkeys("abcd", 1.0)})

    @pytest.mark.parametrize(
        ("measure", "low", "high"),
        [("AP", 0.25, 1.0), ("RR", 0.25, 1.0), ("P@2", 0.0, 0.5), ("Success@1", 0.0, 1.0), ("Rprec", 0.0, 1.0)],
    )
    def test_of_one_measure_and_not_of_another(self, measure: str, low: float, high: float) -> None:
        """torchmetrics averages ties in nDCG, and has no order of them elsewhere."""
        with pytest.warns(RankgaugeWarning, match="torchmetrics: the files hold equal scores.*topk"):
            result = rankgauge.evaluate(*self.TIED, [measure, "nDCG@2"], dialect="torchmetrics")
        assert list(result.undefined) == [rankgauge.parse(measure)]
        assert result.undefined[rankgauge.parse(measure)].mean[2:4] == (low, high)
        assert f"{low:.4f} to {high:.4f}" in str(result)
        assert "topk and argsort have none" in str(result)

    def test_nothing_is_said_of_a_measure_that_averages_them(self) -> None:
        result = rankgauge.evaluate(*self.TIED, "nDCG@2", dialect="torchmetrics")  # without a warning
        assert (result.undefined, "may give any value" in str(result)) == ({}, False)


class TestAnotherName:
    """BEIR's and sentence-transformers' accuracy is the hit rate, which is not ours of that name."""

    JUDGMENTS: ClassVar = {"q": {"a": 1, "b": 2}, "r": {"x": 1}, "s": {"y": 1}}
    RUN: ClassVar = {"q": {"z": 3.0, "a": 2.0, "b": 1.0}, "r": {"w": 1.0}}

    @pytest.mark.parametrize("dialect", ["beir", "sentence-transformers"])
    @pytest.mark.parametrize("text", ["accuracy@2", "Accuracy@2"])
    def test_is_the_hit_rate(self, dialect: str, text: str) -> None:
        result = rankgauge.evaluate(self.JUDGMENTS, self.RUN, text, dialect=dialect)
        assert result[text] == pytest.approx(1 / 3, abs=5e-6)  # missing queries count, and BEIR rounds to five digits
        assert result.to_dict() == {
            query: {"Accuracy@2": value} for query, value in (("q", 1.0), ("r", 0.0), ("s", 0.0))
        }
        assert result.definitions["Accuracy@2"].startswith("Success@2: Whether there is any relevant document")
        assert "Accuracy@2 is Success@2" in " ".join(str(result).split())

    def test_the_row_says_so(self, command: Command, tmp_path: Path) -> None:
        (tmp_path / "q").write_text("q 0 a 1\nq 0 b 1\n")
        (tmp_path / "r").write_text("q Q0 z 1 3 t\nq Q0 a 2 2 t\nq Q0 b 3 1 t\n")
        rows = command("dialects", tmp_path / "q", tmp_path / "r", "-m", "accuracy@5", "--only", "beir").out
        assert "beir       1.0000     +1.0000  Accuracy is Success" in rows

    def test_beside_a_measure_that_leaves_missing_queries_out(self) -> None:
        with pytest.raises(MeasureError, match=r"missing=skip for some.*missing=zero for others, such as Accuracy@2"):
            rankgauge.evaluate(self.JUDGMENTS, self.RUN, ["nDCG@2", "Accuracy@2"], dialect="beir")
        judgments = {query: self.JUDGMENTS[query] for query in "qr"}
        both = rankgauge.evaluate(judgments, self.RUN, ["Accuracy@2", "nDCG@2"], dialect="beir")
        assert both["Accuracy@2"] == 0.5
        assert both["nDCG@2"] == pytest.approx(0.1199, abs=5e-5)


def test_counts_of_queries_that_are_not_answered() -> None:
    judgments, run = {"q": {"a": 1}, "r": {"b": 1, "c": 1}}, {"q": {"a": 1.0}}
    theirs = rankgauge.evaluate(judgments, run, ["NumQ", "NumRel"], dialect="ir_measures")
    assert (theirs["NumQ"], theirs["NumRel"], theirs.to_dict()["r"]) == (1, 1, {"NumQ": 0, "NumRel": 0})
    ours = rankgauge.evaluate(judgments, run, ["NumQ", "NumRel", "NumQ(of=answered)"])
    assert (ours["NumQ"], ours["NumRel"], ours["NumQ(of=answered)"]) == (2, 3, 1)
    for text in ("NumQ(of=all)", "NumRel(of=all)"):
        with pytest.raises(MeasureError, match=f"{text[:-8]}.of=all.: expected judged or answered"):
            rankgauge.evaluate(judgments, run, text)


def test_a_geometric_mean_of_logarithms() -> None:
    """pytrec_eval has logarithms for queries, and our value for all of them; so have its ties."""
    judgments, run = {"q": {"a": 1}, "r": {"b": 1}}, {"q": {"a": 1.0, "x": 1.0}, "r": {"z": 2.0, "b": 1.0}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankgaugeWarning)
        result = rankgauge.evaluate(judgments, run, "gm_map", dialect="pytrec_eval")
        other = rankgauge.evaluate(judgments, run, "gm_map")
    assert result.to_dict() == {"q": {"gm_map": np.log(0.5)}, "r": {"gm_map": np.log(0.5)}}
    assert result["gm_map"] == pytest.approx(other["gm_map"], abs=1e-15)
    band, plain = result.ties("gm_map"), other.ties("gm_map")
    assert (band["q"].low, band["q"].high) == (np.log(0.5), 0.0)
    assert np.log(0.5) < band["q"].expected < 0
    assert band.mean[:4] == pytest.approx(plain.mean[:4], abs=1e-12)
    (note,) = result.open_values
    assert (note.low, note.high) == pytest.approx((0.5, np.sqrt(0.5)), abs=1e-12)


def test_mistakes() -> None:
    with pytest.raises(ProtocolError, match="unknown dialect 'sklern'; did you mean 'sklearn'"):
        find_dialect("sklern")
    with pytest.raises(MeasureError, match=r"there is no preset of nDCG@10 for msmarco, only of RR@10"):
        value("msmarco", ONE_RANKING, listed("a"))
    with pytest.raises(MeasureError, match=r"there is no preset of RR@10 for pytrec_eval, only of nDCG, AP"):
        value("pytrec_eval", ONE_RANKING, listed("a"), "RR@10")
    with pytest.raises(ProtocolError, match="a dialect brings its own rules"):
        rankgauge.evaluate(ONE_RANKING, listed("a"), dialect="sklearn", protocol=Protocol(ties="given"))
