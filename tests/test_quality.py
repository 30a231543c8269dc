"""How far judgments can be trusted: expected and condensed values, what to judge, leaving a run out, label noise."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankgauge
from command import Command
from rankgauge.errors import InputError, RankgaugeError
from rankgauge.matching.grades import numbered, trace
from rankgauge.protocol import DEFAULT, Protocol, Rules
from rankgauge.read.numbers import read_matrix
from rankgauge.stats.agreement import truth_given_label
from rankgauge.trust.judgments import noise
from rankgauge.trust.judgments.coverage import leave_one_run_out
from rankgauge.trust.judgments.quality import quality
from rankgauge.trust.unjudged import expected
from rankgauge.trust.unjudged.bounds import bounds_of_pair, bounds_of_run
from rankgauge.trust.unjudged.choose import to_judge
from rankgauge.trust.unjudged.sheet import sheet_of
from test_unjudged import ndcg, random_case, run_of

ROOT = Path(__file__).parents[1]


# ---- the same ranking under other grades -----------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*only by the order of equal scores")
@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"ties": "average"},
        {"ties": "worst"},
        {"ties": "best"},
        {"unjudged": "condensed"},
        {"depth": 4},
        {"ideal": "retrieved"},
        {"ideal_order": "given"},
        {"missing": "skip", "empty": "skip"},
        {"order": "given"},
        {"negative": "as-is"},
    ],
    ids=str,
)
def test_regraded_hits_are_those_of_matching_anew(rules: dict[str, Any]) -> None:
    random = np.random.default_rng(3)
    judged = {f"q{q}": {f"d{d}": 0.0 for d in random.permutation(20)[:9]} for q in range(6)}
    run = {f"q{q}": {f"d{d}": float(random.integers(0, 8)) for d in random.permutation(20)[:15]} for q in range(5)}
    protocol = Protocol(**rules)
    measure = rankgauge.parse("nDCG@5")
    rows = numbered(rankgauge.read_judgments(judged))
    traced = trace(rows, rankgauge.read_run(run), protocol)
    sets = random.integers(-1, 4, (3, len(rows))).astype(float)
    together = measure(traced.under_many(sets)).reshape(3, -1)
    for grades, many in zip(sets, together, strict=True):
        anew = [(rows.queries[q], doc, g) for q, doc, g in zip(rows.query, rows.doc, grades, strict=True)]
        wanted = rankgauge.evaluate(anew, run, measure, protocol=protocol).measured[measure]
        np.testing.assert_array_equal(measure(traced.under(grades)), wanted)
        np.testing.assert_array_equal(many, wanted)


# ---- expected values -------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:NO JUDGED DOCUMENT")
@pytest.mark.parametrize("gain", ["linear", "exp"])
def test_the_expected_value_is_that_of_every_way_to_grade_weighed(gain: str) -> None:
    for seed in range(60):
        grades, (one, other), k, scale = random_case(seed)
        runs = {"a": run_of(one), "b": run_of(other)}
        sheet = sheet_of({"q": grades}, runs, f"nDCG(gain={gain})@{k}", grades=scale)
        docs = [doc for doc in one[:k] if doc not in grades]
        chance = expected.chances(sheet)[expected.bin_of(np.array([one.index(doc) + 1 for doc in docs], int))]
        wanted = 0.0
        for given in product(range(len(scale)), repeat=len(docs)):
            full = grades | {doc: scale[at] for doc, at in zip(docs, given, strict=True)}
            wanted += float(np.prod(chance[np.arange(len(docs)), list(given)])) * ndcg(full, one, k, gain)
        assert expected.expected_values(sheet, "a").value[0] == pytest.approx(wanted, abs=1e-12), seed
        sampled = expected.expected_values(sheet, "a", cells=0)  # as with very many open documents
        value, error = (float(each[0]) for each in sampled)
        assert abs(value - wanted) <= 4 * error + 1e-12


def test_chances_are_counted_by_depth_with_one_more_of_each_grade() -> None:
    """Rank 1: a 2 and a 0; rank 2: a 1; ranks 3 to 5: 0, 0, 1. Grades 0, 1, 2, each counted once more."""
    judgments = {"q": {"a": 2, "b": 1, "c": 0, "d": 0, "e": 1}, "r": {"a": 0, "b": 2}}
    runs = {"x": {"q": {"a": 5, "b": 4, "c": 3, "d": 2, "e": 1}, "r": {"a": 2, "u": 1}}}
    chance = expected.chances(sheet_of(judgments, runs))
    assert chance == pytest.approx(np.array([[2, 1, 2], [1, 2, 1], [3, 2, 1]]) / np.array([[5], [4], [6]]))
    ranks = [1, 2, 3, 5, 6, 10, 11, 20, 21, 50, 51, 100, 101]
    assert expected.bin_of(np.array(ranks)).tolist() == [0, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7]


def test_the_condensed_value_is_that_of_the_rule() -> None:
    judgments, run = {"q": {"a": 1, "b": 2}}, {"q": {"u": 3.0, "a": 2.0, "b": 1.0}}
    found = quality(judgments, {"x": run}).run("x")
    condensed = rankgauge.evaluate(judgments, run, protocol=replace(DEFAULT, unjudged="condensed"))["nDCG@10"]
    assert found.condensed == condensed
    assert found.condensed != found.bounds.mean.value


# ---- what to judge ---------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:NO JUDGED DOCUMENT")
@pytest.mark.parametrize("settle", [True, False])
def test_what_a_judgment_narrows_is_what_judging_it_does(settle: bool) -> None:
    """Each proposal, with each grade put into the judgments, against the interval computed anew."""
    looked_at = 0
    for seed in range(25):
        grades, (one, other), k, scale = random_case(seed)
        runs = {"a": run_of(one), "b": run_of(other)} if settle else {"a": run_of(one)}
        sheet = sheet_of({"q": grades}, runs, f"nDCG@{k}", grades=scale)

        def width(judged: dict[str, float], runs: Any = runs, k: int = k, scale: Any = scale) -> float:
            made = sheet_of({"q": judged}, runs, f"nDCG@{k}", grades=scale)
            return (bounds_of_pair(made, "a", "b") if settle else bounds_of_run(made, "a")).mean.width

        for each in to_judge(sheet, 3):
            depth = expected.bin_of(np.array([each.best_rank]))
            widths = np.array([width(grades | {each.doc_id: grade}) for grade in scale])
            before = width(grades)
            assert each.narrows == pytest.approx(before - expected.chances(sheet)[depth][0] @ widths, abs=1e-12)
            assert each.at_least == pytest.approx(before - widths.max(), abs=1e-12)
            looked_at += 1
    assert looked_at > 20


@pytest.mark.filterwarnings("ignore:NO JUDGED DOCUMENT")
def test_what_a_judgment_narrows_is_the_interval_of_its_own_query() -> None:
    """Of several queries, with unequal numbers of open documents."""
    looked_at = 0
    for seed in range(8):
        cases = [random_case(3 * seed + more) for more in range(3)]
        judged = {f"q{at}": grades for at, (grades, _, _, _) in enumerate(cases)}
        runs = {"a": {f"q{at}": run_of(one)["q"] for at, (_, (one, _), _, _) in enumerate(cases)}}
        scale = sorted({grade for *_, each in cases for grade in each})
        sheet = sheet_of(judged, runs, "nDCG@5", grades=scale)
        before = bounds_of_run(sheet, "a").mean.width
        for each in to_judge(sheet, 6):
            made = ({**judged, each.query_id: judged[each.query_id] | {each.doc_id: grade}} for grade in scale)
            widths = [bounds_of_run(sheet_of(one, runs, "nDCG@5", grades=scale), "a").mean.width for one in made]
            assert each.at_least == pytest.approx(before - max(widths), abs=1e-12)
            looked_at += 1
    assert looked_at > 20


def test_the_pairs_to_judge_are_the_ones_that_narrow_most() -> None:
    judgments = {"q": {"a": 2, "b": 1}, "r": {"a": 2}}
    runs = {"x": {"q": {"u": 3.0, "a": 2.0, "v": 1.0}, "r": {"a": 2.0, "u": 1.0}}}
    found = quality(judgments, runs)
    pairs = found.to_judge(10)
    assert (pairs[0].query_id, pairs[0].doc_id, pairs[0].best_rank, pairs[0].runs) == ("q", "u", 1, 1)
    assert [each.narrows for each in pairs] == sorted((each.narrows for each in pairs), reverse=True)
    assert len(found.to_judge(2)) == 2


def test_settling_names_two_known_runs() -> None:
    found = quality({"q": {"a": 2}}, {"x": {"q": {"a": 1.0}}, "y": {"q": {"a": 1.0}}, "z": {"q": {"a": 1.0}}})
    assert found.to_judge(3) == []
    with pytest.raises(InputError, match="no run 'w'"):
        found.to_judge(3, ["x", "w"])
    with pytest.raises(InputError, match="two runs"):
        found.to_judge(3, ["x"])
    with pytest.raises(InputError, match="depends on runs"):
        quality({"q": {"a": 2}}).to_judge(3)


# ---- leave one run out -----------------------------------------------------------------------------------------------


def test_leaving_a_run_out_takes_away_what_only_it_brought() -> None:
    """x alone has `a` (grade 3) among its first two; without it x falls behind y."""
    judgments = {"q": {"a": 3, "b": 2, "c": 1, "d": 1}}
    runs = {"x": {"q": {"a": 3.0, "c": 2.0, "b": 1.0}}, "y": {"q": {"b": 3.0, "c": 2.0, "a": 1.0}}}
    x, y = leave_one_run_out(sheet_of(judgments, runs, "nDCG@2"))
    less = {"q": {"b": 2, "c": 1, "d": 1}}
    assert (x.alone, x.rank, x.rank_without) == (1, 1, 2)
    assert x.without == rankgauge.evaluate(less, runs["x"], "nDCG@2")["nDCG@2"]
    assert x.lost == x.value - x.without > 0
    assert (y.alone, y.rank, y.rank_without) == (1, 2, 2)
    deeper = leave_one_run_out(sheet_of(judgments, runs, "nDCG@2"), depth=3)
    assert [each.alone for each in deeper] == [0, 0]


def test_deep_learning_2019_left_out_and_judged_twice(shared: Path) -> None:
    """The first ten of every run were pooled, so nothing is open there; what a run alone brought is not."""
    runs = {name: shared / f"dl19/runs/input.{name}.gz" for name in ("UNH_bm25", "TUW19-p3-re", "idst_bert_p1")}
    found = quality(shared / "dl19/qrels.dl19-passage.txt", runs, leave_one_out=True)
    assert [each.judged for each in found.runs] == [1.0, 1.0, 1.0]
    assert [each.bounds.mean.width for each in found.runs] == [0.0, 0.0, 0.0]
    assert all(each.condensed == each.expected == each.bounds.mean.value for each in found.runs)
    judged = rankgauge.read_judgments(shared / "dl19/qrels.dl19-passage.txt").nested
    read = {name: rankgauge.read_run(path).nested for name, path in runs.items()}
    first = {
        name: {(q, d) for q in judged if q in run for d in sorted(run[q], key=lambda d: (run[q][d], d))[-10:]}
        for name, run in read.items()
    }
    alone = first["UNH_bm25"] - first["TUW19-p3-re"] - first["idst_bert_p1"]
    less = {q: {d: grade for d, grade in docs.items() if (q, d) not in alone} for q, docs in judged.items()}
    left = found.left_out[0]
    assert left.alone == len(alone)
    assert left.without == pytest.approx(rankgauge.evaluate(less, read["UNH_bm25"])["nDCG@10"], abs=1e-12)


# ---- label noise -----------------------------------------------------------------------------------------------------

JUDGED = {"q": {"a": 2, "b": 0, "c": 1}, "r": {"a": 1, "d": 0}}
RUNS = {
    "x": {"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "r": {"d": 2.0, "a": 1.0}},
    "y": {"q": {"c": 3.0, "b": 2.0, "a": 1.0}, "r": {"a": 2.0, "d": 1.0}},
}


@pytest.mark.parametrize("kind", [{"error_rate": 0.0}, {"confusion": np.eye(3)}, {"confusion": 40 * np.eye(3)}])
def test_without_errors_nothing_moves(kind: dict[str, Any]) -> None:
    noise = rankgauge.label_noise(JUDGED, RUNS, draws=50, **kind)
    assert (noise.draws == noise.value).all()
    assert [flip.flips for flip in noise.flips] == [0.0]
    assert [each.deviation for each in noise.scores] == [0.0, 0.0]


@pytest.mark.filterwarnings("ignore:.*only by the order of equal scores")
@pytest.mark.parametrize("measure", ["nDCG@5", "nDCG", "nDCG(gain=exp)@3", "nDCG(discount=jk2)@4"])
@pytest.mark.parametrize("rules", [{}, {"missing": "skip"}, {"ties": "given"}, {"order": "given"}], ids=str)
def test_the_quick_way_to_many_draws_is_the_general_one(measure: str, rules: dict[str, Any]) -> None:
    """Grades of every kind, negative ones that stay, documents with equal scores, a query without an answer."""
    random = np.random.default_rng(5)
    judged = {f"q{q}": {f"d{d}": float(random.integers(-1, 4)) for d in random.permutation(20)[:9]} for q in range(7)}
    runs = [
        {f"q{q}": {f"d{d}": float(random.integers(0, 8)) for d in random.permutation(20)[:15]} for q in range(6)}
        for _ in range(3)
    ]
    rows, protocol, scale = numbered(rankgauge.read_judgments(judged)), Protocol(**rules), np.array([0.0, 1, 2, 3])
    traced = [trace(rows, rankgauge.read_run(run), protocol) for run in runs]
    places = np.where(rows.number < 0, -1, random.integers(0, 4, (40, len(rows))))
    places[0] = np.where(rows.number < 0, -1, 0)  # nothing is worth anything
    quick, general = (
        way(rows, traced, rankgauge.parse(measure), scale, *more)(places)
        for way, more in ((noise.means_of, (protocol,)), (noise._general, ()))
    )
    np.testing.assert_allclose(quick, general, atol=1e-14)
    assert (quick[0] == 0).all()
    assert len(np.unique(quick[:, 0])) > 30


@pytest.mark.filterwarnings("ignore:.*only by the order of equal scores")
@pytest.mark.parametrize(
    "rules",
    [{"ties": "average"}, {"ties": "best"}, {"empty": "one"}, {"unjudged": "condensed"}, {"depth": 2},
     {"ideal": "retrieved"}, {"ideal_depth": "returned"}, {"grades": "truncate"}],
    ids=str,
)  # fmt: skip
def test_noise_follows_every_rule(rules: Rules) -> None:
    """Of two grades, with every label wrong, there is one truth: the other grade everywhere."""
    top = 0.5 if rules == {"grades": "truncate"} else 1.5
    judged = {"q": {"a": 0.0, "b": top, "c": top, "e": 0.0, "f": 0.0}, "r": {"a": top, "d": top}}
    judged["s"] = dict.fromkeys("abc", 0.0)
    run = {"q": {"a": 2.0, "b": 2.0, "f": 2.0, "x": 2.0, "c": 1.0}, "r": {"x": 2.0, "a": 1.0}, "s": {"b": 1.0}}
    noise = rankgauge.label_noise(judged, {"s": run}, "nDCG@3", error_rate=1.0, draws=3, protocol=rules)
    truth = {query: {doc: top - grade for doc, grade in docs.items()} for query, docs in judged.items()}
    assert noise.draws == pytest.approx(rankgauge.evaluate(truth, run, "nDCG@3", protocol=rules)["nDCG@3"], abs=1e-15)
    assert noise.value[0] == rankgauge.evaluate(judged, run, "nDCG@3", protocol=rules)["nDCG@3"]


def every_truth(chance: Any, scale: list[float]) -> list[tuple[float, dict[str, dict[str, float]]]]:
    """Every way that the truth may be, with its probability: chance[label][truth]."""
    pairs = [(query, doc, grade) for query, docs in JUDGED.items() for doc, grade in docs.items()]
    ways = []
    for truth in product(range(len(scale)), repeat=len(pairs)):
        weight, judged = 1.0, {query: dict.fromkeys(docs, 0.0) for query, docs in JUDGED.items()}
        for (query, doc, grade), at in zip(pairs, truth, strict=True):
            weight *= chance[scale.index(grade)][at]
            judged[query][doc] = scale[at]
        ways.append((weight, judged))
    return ways


def mean_of(judged: dict[str, dict[str, float]], run: dict[str, dict[str, float]]) -> float:
    rankings = {query: sorted(docs, key=lambda doc: -docs[doc]) for query, docs in run.items()}
    return float(np.mean([ndcg(grades, rankings[query], 10, "linear") for query, grades in judged.items()]))


@pytest.mark.parametrize("kind", ["error rate", "counts"])
def test_noise_is_that_of_every_truth_weighed(kind: str) -> None:
    if kind == "counts":
        counts = np.array([[30, 5, 1], [4, 20, 6], [1, 5, 10]])
        chance = (counts / counts.sum(axis=0)).T
        noise = rankgauge.label_noise(JUDGED, RUNS, confusion=counts, draws=20_000)
    else:
        chance = np.where(np.eye(3, dtype=bool), 0.8, 0.1)
        noise = rankgauge.label_noise(JUDGED, RUNS, error_rate=0.2, draws=20_000)
    assert noise.truth == pytest.approx(chance)
    ways = every_truth(chance.tolist(), [0, 1, 2])
    values = np.array([[mean_of(judged, run) for run in RUNS.values()] for _, judged in ways])
    weights = np.array([weight for weight, _ in ways])
    mean = weights @ values
    deviation = np.sqrt(weights @ (values - mean) ** 2)
    for at, score in enumerate(noise.scores):
        assert abs(score.mean - mean[at]) < 4 * deviation[at] / np.sqrt(20_000)
        assert score.deviation == pytest.approx(deviation[at], rel=0.03)
    now = noise.value[0] - noise.value[1]
    flips = float(weights @ (np.sign(values[:, 0] - values[:, 1]) == -np.sign(now)))
    assert noise.flips[0].flips == pytest.approx(flips, abs=4 * np.sqrt(flips * (1 - flips) / 20_000))
    assert 0.05 < flips < 0.95


def test_chances_by_row_are_turned_round_with_the_prevalence_of_the_labels() -> None:
    """True prevalence 0.8, 0.2 and these error rates give labels 0.74, 0.26; Bayes' rule does the rest."""
    chances = np.array([[0.9, 0.1], [0.1, 0.9]])
    labels = np.array([7400, 2600])
    truth = truth_given_label(chances, labels, ["0", "1"])
    assert truth == pytest.approx(np.array([[0.72 / 0.74, 0.02 / 0.74], [0.08 / 0.26, 0.18 / 0.26]]), abs=1e-6)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "one of the two"),
        ({"error_rate": 0.1, "confusion": np.eye(3)}, "one of the two"),
        ({"error_rate": 1.5}, "from 0 to 1"),
        ({"confusion": np.eye(2)}, r"is 2 × 2; expected 3 × 3"),
        ({"confusion": [[1, 0, 0], [0, 0, 0], [0, 0, 2]]}, "never has label 1"),
        ({"confusion": -np.eye(3)}, "0 or more"),
        ({"confusion": np.eye(2), "scale": [0, 1]}, "outside the scale 0, 1"),
        ({"error_rate": 0.1, "draws": 0}, "a draw or more"),
    ],
)
def test_noise_that_cannot_be_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        rankgauge.label_noise(JUDGED, RUNS, **more)


def test_judgments_of_negative_grade_stay_as_they_are() -> None:
    noise = rankgauge.label_noise(
        {"q": {"a": -1, "b": 1}}, {"x": {"q": {"a": 2.0, "b": 1.0}}}, error_rate=0.5, draws=20
    )
    assert set(np.round(noise.draws.ravel(), 3).tolist()) <= {0.0, 0.631}


def test_a_matrix_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text("5 1\n2 8\n")
    (tmp_path / "heads.csv").write_text("# judge 3\ntrue,0,2\n0,5,1\n2,2,8\n")
    plain, heads = read_matrix(tmp_path / "plain.txt"), read_matrix(tmp_path / "heads.csv")
    assert plain.counts.tolist() == heads.counts.tolist() == [[5, 1], [2, 8]]
    assert (plain.grades, heads.grades) == (None, [0, 2])
    noise = rankgauge.label_noise({"q": {"a": 2, "b": 0}}, {"x": {"q": {"a": 1.0}}}, confusion=tmp_path / "heads.csv")
    assert noise.truth == pytest.approx(np.array([[5 / 7, 2 / 7], [1 / 9, 8 / 9]]))


@pytest.mark.parametrize(
    "text",
    ["true,3,1,0\n3,9,8,7\n1,6,5,4\n0,3,2,1\n", "true,3,1,0\n0,3,2,1\n1,6,5,4\n3,9,8,7\n",
     "0,1,3\n1,2,3\n4,5,6\n7,8,9\n", "3,1,0\n9,8,7\n6,5,4\n3,2,1\n"],
)  # fmt: skip
def test_a_matrix_is_put_in_the_order_of_its_heads(text: str, tmp_path: Path) -> None:
    """Heads in any order, of rows and columns each, or of columns alone."""
    (tmp_path / "m.csv").write_text(text)
    found = read_matrix(tmp_path / "m.csv")
    assert found.grades == [0, 1, 3]
    assert found.counts.tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]


def test_a_matrix_of_other_grades_than_the_scale(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("t,0,1\n0,1,2\n1,3,4\n")
    with pytest.raises(InputError, match="the scale is 0, 1, 2, and the confusion matrix is of grades 0, 1"):
        rankgauge.label_noise({"q": {"a": 1}}, {"x": {"q": {"a": 1.0}}}, confusion=tmp_path / "m.csv", scale=[0, 1, 2])


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda run: quality({}), "holds no judgment"),
        (lambda run: quality({"q": {}}), "holds no judgment"),
        (lambda run: quality({"q": {}}, {"r": run}), "holds no judgment"),
        (lambda run: quality({"q": {"a": float("nan")}}), "relevance nan is not a finite number"),
        (
            lambda run: quality({"q": {"a": 1}}, [run]),
            "name the systems.*got a list",
        ),
        (lambda run: quality({"q": {"a": 1}}, {"r": {"x": {}}}), "run has none$"),
        (lambda run: rankgauge.label_noise({"q": {"a": 1}}, {"r": run}, confusion=[[1, 2], [3]]), "2 rows of 2 each"),
        (lambda run: rankgauge.label_noise({"q": {"a": 1}}, {"r": run}, error_rate=True), "error_rate=True"),
        (lambda run: rankgauge.label_noise({}, {"r": run}, error_rate=0.1), "holds no judgment"),
    ],
)
def test_what_there_is_nothing_to_say_of(call: Any, said: str) -> None:
    with pytest.raises(RankgaugeError, match=said):
        call({"q": {"a": 1.0}})


def test_a_pair_without_a_common_query() -> None:
    judgments = {"q1": {"a": 1}, "q2": {"a": 1}}
    runs = {"a": {"q1": {"a": 1.0, "u": 0.5}}, "b": {"q2": {"a": 1.0, "u": 0.5}}}
    found = quality(judgments, runs, protocol={"missing": "skip"})
    assert found.pair("b", "a").verdict == "no common query"
    assert "no common query" in str(found)
    with pytest.raises(InputError, match="no two have one in common"):
        rankgauge.charts.unjudged_pairs(found)
    shown = quality(judgments, runs | {"c": {"q1": {"u": 1.0, "a": 0.5}}}, protocol={"missing": "skip"})
    assert "not shown: 2" in json.dumps(rankgauge.charts.unjudged_pairs(shown).to_dict())


@pytest.mark.parametrize(
    ("text", "said"),
    [("# nothing\n", "no rows"), ("1 2\n3\n", r":2: expected 2 numbers, got 1"), ("1,x\n2,3\n", "'x' is not a number"),
     ("t,0,1\n0,1,2\n2,3,4\n", "give each grade a row and a column"),
     ("t,1,1\n1,1,2\n1,3,4\n", "give each grade")],
)  # fmt: skip
def test_a_matrix_that_cannot_be_read(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        read_matrix(tmp_path / "m.csv")


# ---- the whole, and the command --------------------------------------------------------------------------------------


def test_the_summary_counts() -> None:
    found = quality({"q": {"a": 2, "b": 0, "c": -1}, "r": {"a": 0, "b": 0}, "s": {"a": 1}}).summary
    assert (found.queries, found.judgments, found.negative) == (3, 6, 1)
    assert found.grades == {-1.0: 1, 0.0: 3, 1.0: 1, 2.0: 1}
    assert (found.without_relevant, found.one_grade) == (["r"], ["r", "s"])
    assert (found.fewest, found.median, found.mean, found.most) == (1, 2.0, 2.0, 3)


def test_judged_shares_are_those_of_the_measure_and_of_the_union() -> None:
    judgments = {"q": {"a": 1, "b": 0}}
    runs = {"x": {"q": {"a": 2.0, "u": 1.0}}, "y": {"q": {"a": 3.0, "v": 2.0, "b": 1.0}}}
    found = quality(judgments, runs)
    assert found.run("x").judged == rankgauge.evaluate(judgments, runs["x"], "Judged@10")["Judged@10"] == 0.5
    assert found.run("y").judged == pytest.approx(2 / 3)
    assert found.pair("y", "x").judged == 0.5  # a, b of a, b, u, v
    with pytest.raises(InputError, match=r"there is no y − z; did you mean 'y − x'\? There are y − x"):
        found.pair("y", "z")


def test_a_pair_answers_both_ways() -> None:
    judgments = {"q": {"a": 2, "b": 0, "c": 1}, "r": {"a": 1}}
    runs = {
        "x": {"q": {"c": 2.0, "u": 1.0}, "r": {"v": 2.0, "a": 1.0}},
        "y": {"q": {"a": 3.0, "v": 2.0, "b": 1.0}, "r": {"a": 1.0}},
    }
    found = quality(judgments, runs)
    assert [(each.a, each.b) for each in found.pairs] == [("y", "x")]
    forth, back = found.pair("y", "x"), found.pair("x", "y")
    assert (back.a, back.b, back.judged) == ("x", "y", forth.judged)
    value, low, high = forth.bounds.mean
    assert tuple(back.bounds.mean) == pytest.approx((-value, -high, -low), abs=1e-15)
    apart = rankgauge.evaluate(judgments, runs["y"])["nDCG@10"] - rankgauge.evaluate(judgments, runs["x"])["nDCG@10"]
    assert value == pytest.approx(apart, abs=1e-15)
    assert low < value < high
    assert [(flip.a, flip.b) for flip in rankgauge.label_noise(judgments, runs, error_rate=0.1, draws=9).flips] == [
        ("y", "x")
    ]


def test_forms_of_a_quality() -> None:
    found = quality(JUDGED, RUNS, leave_one_out=True, error_rate=0.1, draws=20)
    data = json.loads(found.show("json", per_query=True))
    assert list(data) == [
        "judgments",
        "measure",
        "grades",
        "protocol",
        "runs",
        "pairs",
        "left_out",
        "noise",
        "per_query",
    ]
    rows = list(csv.DictReader(io.StringIO(found.show("csv"))))
    assert [float(row["high"]) for row in rows] == [each.bounds.mean.high for each in found.runs]
    assert len(list(csv.DictReader(io.StringIO(found.show("csv", per_query=True))))) == 4
    assert "| run | Judged@10 |" in found.show("markdown")
    assert "<svg" in found._repr_html_()
    assert "Leave one run out" in str(found)
    assert "order reversed" in repr(found.noise)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rankgauge.write(rankgauge.read_judgments(JUDGED), tmp_path / "qrels.txt")
    for name, run in RUNS.items():
        rankgauge.write(
            rankgauge.read_run({q: {**docs, "u": 2.5} for q, docs in run.items()}), tmp_path / f"{name}.run"
        )
    return tmp_path


@pytest.fixture
def cli(files: Path, command: Command) -> Command:
    """The command `judgments`, in that folder."""
    return partial(command, "judgments", cwd=files)


def test_the_command_prints_and_writes(cli: Command, files: Path) -> None:
    done = cli("qrels.txt", "x.run", "y.run")
    assert (done.code, done.err) == (0, "")
    assert "5 judgments of 2 queries" in done.out
    assert "the open documents decide" in done.out or "ahead whatever the grades" in done.out
    assert cli("qrels.txt").code == 0
    done = cli("qrels.txt", "x.run", "y.run", "--leave-one-out", "--error-rate", "0.1")
    assert done.out.startswith("Leave one run out")
    assert "Label noise" in done.out
    done = cli("qrels.txt", "x.run", "y.run", "--to-judge", "1", "-o", "pairs.csv")
    assert (done.code, done.out) == (0, "")
    (row,) = csv.DictReader(io.StringIO((files / "pairs.csv").read_text()))
    assert row["doc_id"] == "u"
    for suffix, start in ((".svg", b"<svg"), (".png", b"\x89PNG"), (".html", b"<!doctype html>")):
        for more in ([], ["--error-rate", "0.1", "--draws", "10"]):
            assert cli("qrels.txt", "x.run", *more, "-o", f"p{suffix}").code == 0
            assert (files / f"p{suffix}").read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--to-judge", "3"], "--to-judge goes with [[NAME=]RUN]..."),
        (["--leave-one-out"], "--leave-one-out goes with [[NAME=]RUN]..."),
        (["x.run", "--leave-one-out"], "two runs or more"),
        (["x.run", "--settle", "x", "y"], "goes with --to-judge"),
        (["x.run", "--scale", "0,1"], "grade 2, which is outside the scale 0, 1"),
        (["x.run", "--scale", "low"], "write the scale as 0,1,2,3"),
        (["x.run", "--confusion", "small.txt"], "is 2 × 2; expected 3 × 3"),
        (["x.run", "--confusion", "none.txt"], "none.txt"),
        (["x.run", "-m", "AP"], "for nDCG only"),
        (["-o", "p.svg"], "there is no picture here"),
        (["x.run", "--to-judge", "3", "-o", "p.svg"], "--to-judge is a table, which a picture does not show"),
        (["x.run", "y.run", "--leave-one-out", "-o", "p.svg"], "there is no picture here"),
        (["x.run", "--per-query", "-o", "p.png"], "--per-query is a table, which a picture does not show"),
        (["x.run", "--to-judge", "3", "--per-query"], "--to-judge and --per-query exclude each other"),
        (["x.run", "--to-judge", "3", "--leave-one-out"], "give one of them"),
        (["x.run", "--per-query", "--error-rate", "0.1"], "give one of them"),
        (["x.run", "--draws", "10"], "--draws goes with --error-rate or --confusion"),
        (["x.run", "--pool-depth", "10"], "--pool-depth goes with --leave-one-out"),
        (["x.run", "y.run", "--leave-one-out", "--error-rate", "0.1", "--format", "csv"], "CSV is one table"),
        (["x.run", "y.run", "--to-judge", "3", "--settle", "x", "x"], "got x twice"),
    ],
)
def test_mistakes_are_told(arguments: list[str], said: str, cli: Command, files: Path) -> None:
    (files / "small.txt").write_text("1 0\n0 1\n")
    done = cli("qrels.txt", *arguments)
    assert done.code == 2
    assert said in done.err


def test_what_was_asked_for_is_what_csv_holds(cli: Command) -> None:
    left = cli("qrels.txt", "x.run", "y.run", "--leave-one-out", "--format", "csv").out
    assert [row["run"] for row in csv.DictReader(io.StringIO(left))] == ["x", "y"]
    assert "without" in left.splitlines()[0]
    noise = cli("qrels.txt", "x.run", "--error-rate", "0.1", "--format", "csv").out
    (row,) = csv.DictReader(io.StringIO(noise))
    assert float(row["low"]) <= float(row["mean"]) <= float(row["high"])


def test_nothing_left_to_judge_is_told(cli: Command, files: Path) -> None:
    (files / "all.run").write_text("q Q0 a 1 1.0 t\n")
    (files / "all.txt").write_text("q 0 a 1\n")
    done = cli("all.txt", "all.run", "--to-judge", "3")
    assert done.code == 0
    assert "nothing is left to judge" in done.err


def test_frames_and_tables_of_bounds_and_noise() -> None:
    found = rankgauge.unjudged_bounds({"q": {"a": 1}, "r": {"a": 1}}, {"q": {"u": 2.0, "a": 1.0}, "r": {"a": 1.0}})
    data = found.to_dict()
    assert (data["open"], data["mean"]["value"], data["mean"]["low"]) == (1, found.mean.value, found.mean.low)
    assert [row["query_id"] for row in data["per_query"]] == ["q", "r"]
    assert data["queries"] == 2
    assert json.loads(json.dumps(data)) == data
    assert f"{found['q'].high:.4f}" in found._repr_html_()
    noise = rankgauge.label_noise(JUDGED, RUNS, error_rate=0.2, draws=20)
    frame = noise.to_frame()
    assert frame["system"].to_list() == noise.systems
    assert frame["low"].to_list() == [each.low for each in noise.scores]


def test_pictures_in_a_notebook_are_no_wider_than_their_place() -> None:
    assert "max-width: 100%" in quality(JUDGED, RUNS)._repr_html_()


def test_a_notebook_shows_pictures_of_noise_too() -> None:
    found = quality(JUDGED, RUNS, error_rate=0.2, draws=20)
    assert found._repr_html_().count("<figure") == 3
    assert found.noise is not None
    assert found.noise._repr_html_().count("<figure") == 1
