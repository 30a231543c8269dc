"""What unjudged documents leave open: against enumeration of every way to grade them, and on real runs."""

from __future__ import annotations

from itertools import product
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankgauge
from rankgauge.errors import InputError, MeasureError, ProtocolError
from rankgauge.matching.match import match
from rankgauge.matching.ranking import whole
from rankgauge.protocol import SIGNED, Empty, Rules
from rankgauge.read import read_judgments, read_run
from rankgauge.trust.unjudged.bounds import NONE, _improved, bounds_of_pair, bounds_of_run, extremes, unjudged_bounds
from rankgauge.trust.unjudged.expected import expected_values
from rankgauge.trust.unjudged.sheet import Setting, sheet_of

Judged = dict[str, dict[str, float]]
GAINS: dict[str, Any] = {"linear": lambda grade: grade, "exp": lambda grade: 2**grade - 1}


def ndcg(grades: dict[str, float], ranking: list[str], k: int, gain: str) -> float:
    """nDCG as anybody would write it down."""
    worth = GAINS[gain]
    dcg = sum(worth(grades.get(doc, 0)) / log2(rank + 1) for rank, doc in enumerate(ranking[:k], 1))
    ideal = sorted((worth(grade) for grade in grades.values()), reverse=True)[:k]
    whole = sum(value / log2(rank + 1) for rank, value in enumerate(ideal, 1))
    return dcg / whole if whole else 0.0


def reachable(
    grades: dict[str, float], rankings: list[list[str]], k: int, gain: str, scale: list[float]
) -> list[float]:
    """Every value, or difference of two, that some way to grade the open documents gives."""
    open_docs = sorted({doc for ranking in rankings for doc in ranking[:k]} - grades.keys())
    values = []
    for given in product(scale, repeat=len(open_docs)):
        full = grades | dict(zip(open_docs, given, strict=True))
        each = [ndcg(full, ranking, k, gain) for ranking in rankings]
        values.append(each[0] if len(each) == 1 else each[0] - each[1])
    return values


def random_case(seed: int) -> tuple[dict[str, float], list[list[str]], int, list[float]]:
    """Grades of some documents, two rankings of ten documents, k, a scale."""
    random = np.random.default_rng(seed)
    docs = [f"d{number}" for number in range(9)]
    scale = [0.0, *sorted(random.choice([1.0, 2.0, 3.0, 4.0, 5.0], random.integers(1, 4), replace=False).tolist())]
    judged = random.permutation(docs)[: random.integers(3, 9)].tolist()
    grades = {doc: float(random.choice(scale)) for doc in judged}
    rankings = [random.permutation(docs)[: random.integers(1, 8)].tolist() for _ in range(2)]
    return grades, rankings, int(random.integers(1, 7)), scale


def run_of(ranking: list[str]) -> Judged:
    return {"q": {doc: -float(rank) for rank, doc in enumerate(ranking)}}


@pytest.mark.filterwarnings("ignore:NO JUDGED DOCUMENT")
@pytest.mark.parametrize("gain", GAINS)
@pytest.mark.parametrize("start", range(0, 300, 50))
def test_bounds_are_those_of_every_way_to_grade(gain: str, start: int) -> None:
    for seed in range(start, start + 50):
        grades, (one, other), k, scale = random_case(seed)
        measure = f"nDCG(gain={gain})@{k}"
        sheet = sheet_of({"q": grades}, {"a": run_of(one), "b": run_of(other)}, measure, grades=scale)
        single, pair = bounds_of_run(sheet, "a")["q"], bounds_of_pair(sheet, "a", "b")["q"]
        alone = reachable(grades, [one], k, gain, scale)
        both = reachable(grades, [one, other], k, gain, scale)
        assert (single.low, single.high) == pytest.approx((min(alone), max(alone)), abs=1e-12), seed
        assert (pair.low, pair.high) == pytest.approx((min(both), max(both)), abs=1e-12), seed
        assert single.value == pytest.approx(ndcg(grades, one, k, gain), abs=1e-12)


@pytest.mark.filterwarnings("ignore:NO JUDGED DOCUMENT")
def test_without_a_cut_off_every_unjudged_document_is_open() -> None:
    for seed in range(20):
        grades, (one, other), _, scale = random_case(seed)
        sheet = sheet_of({"q": grades}, {"a": run_of(one), "b": run_of(other)}, "nDCG", grades=scale)
        both = reachable(grades, [one, other], 99, "linear", scale)
        found = bounds_of_pair(sheet, "a", "b")["q"]
        assert (found.low, found.high) == pytest.approx((min(both), max(both)), abs=1e-12), seed


def test_a_high_grade_lowers_the_value_where_the_ideal_moves_more() -> None:
    judgments, run = {"q": {"a": 1}}, {"q": {"a": 2.0, "u": 1.0}}
    found = unjudged_bounds(judgments, run, measure="nDCG(gain=exp)@10", scale=[0, 1, 2, 3])
    assert found.mean.value == found.mean.high == 1.0
    assert found.mean.low == pytest.approx((1 + 7 / log2(3)) / (7 + 1 / log2(3)))
    assert f"{found.mean.low:.2f}" == "0.71"


def test_the_bounds_of_a_difference_are_not_the_difference_of_bounds() -> None:
    """A shared document has one grade. Both runs gain the same from it here, so a stays ahead of b whatever it is."""
    sheet = sheet_of({"q": {"a": 2, "b": 1}}, {"one": run_of(["u", "a"]), "other": run_of(["u", "b"])}, "nDCG@10")
    pair = bounds_of_pair(sheet, "one", "other")
    apart = bounds_of_run(sheet, "one").mean.low - bounds_of_run(sheet, "other").mean.high
    assert pair.mean.low > 0 > apart
    assert pair.settled


@pytest.mark.filterwarnings("ignore:NO JUDGED DOCUMENT")
def test_the_difference_of_bounds_can_exclude_what_can_be() -> None:
    """What only b left open moves the ideal of a as well."""
    excluded = 0
    for seed in range(60):
        grades, (one, other), k, scale = random_case(seed)
        sheet = sheet_of({"q": grades}, {"a": run_of(one), "b": run_of(other)}, f"nDCG@{k}", grades=scale)
        a, b, pair = (
            bounds_of_run(sheet, "a").mean,
            bounds_of_run(sheet, "b").mean,
            bounds_of_pair(sheet, "a", "b").mean,
        )
        excluded += pair.low < a.low - b.high - 1e-9 or pair.high > a.high - b.low + 1e-9
    assert excluded > 0


@pytest.mark.parametrize(("empty", "low", "high"), [("zero", 0.0, 1.0), ("one", 0.63, 1.0)])
def test_a_query_without_relevant_documents(empty: Empty, low: float, high: float) -> None:
    """Without any gain, the rule says what it counts; with a relevant second document it has 1 / log2(3)."""
    found = unjudged_bounds({"q": {"a": 0}}, {"q": {"a": 2.0, "u": 1.0}}, protocol={"empty": empty}, scale=[0, 1])
    assert (found.mean.low, found.mean.high) == pytest.approx((low, high if empty == "one" else 0.63), abs=0.001)


def test_queries_left_out_stay_out() -> None:
    judgments = {"q1": {"a": 1}, "q2": {"a": 0}, "q3": {"a": 1}}
    run = {"q1": {"u": 2.0, "a": 1.0}, "q2": {"a": 1.0}}
    found = unjudged_bounds(judgments, run, protocol={"empty": "skip", "missing": "skip"})
    assert np.isnan(found.value).tolist() == [False, True, True]
    assert found.mean == found["q1"]
    frame = found.to_frame()
    assert frame["low"].to_list()[1:] == [None, None]
    assert frame["open"].to_list() == [1, 0, 0]


def test_a_query_that_an_open_document_would_bring_in_is_refused() -> None:
    """Graded 1, z brings q2 into the mean, which then is 0.8155: outside of what the queries' own ends say."""
    judgments, run = {"q1": {"a": 1}, "q2": {"b": 0}}, {"q1": {"a": 1.0}, "q2": {"b": 2.0, "z": 1.0}}
    rules: Rules = {"empty": "skip"}
    graded = rankgauge.evaluate(judgments | {"q2": {"b": 0, "z": 1}}, run, protocol=rules)["nDCG@10"]
    assert f"{graded:.4f}" == "0.8155"
    with pytest.raises(ProtocolError, match="1 query without relevant documents, such as 'q2', would count"):
        unjudged_bounds(judgments, run, protocol=rules)
    assert unjudged_bounds(judgments, run | {"q2": {"b": 2.0}}, protocol=rules).mean == (1.0, 1.0, 1.0)


SOME_MISSING: dict[str, Judged] = {
    "A": {"q1": {"a": 2.0, "x": 1.0}, "q2": {"y": 2.0, "a": 1.0}},
    "B": {"q3": {"u": 3.0, "c": 2.0, "d": 1.0}, "q2": {"w": 1.0}},
}


@pytest.mark.parametrize("name", SOME_MISSING)
def test_runs_that_answer_different_queries(name: str) -> None:
    """Under missing=skip the ideal and the scale are made of the judgments of all queries: against every way to grade.

    B lacks q1, which alone holds grade 4."""
    judgments: Judged = {"q1": {"a": 4, "b": 1}, "q2": {"a": 2}, "q3": {"c": 3, "d": 2}}
    run = SOME_MISSING[name]
    rules: Rules = {"missing": "skip"}
    opened = [(query, doc) for query, docs in run.items() for doc in docs if doc not in judgments[query]]
    values = []
    for given in product([0, 1, 2, 3, 4], repeat=len(opened)):
        full = {query: dict(docs) for query, docs in judgments.items()}
        for (query, doc), grade in zip(opened, given, strict=True):
            full[query][doc] = grade
        values.append(rankgauge.evaluate(full, run, protocol=rules)["nDCG@10"])
    sheet = sheet_of(judgments, SOME_MISSING, protocol=rules)
    found = bounds_of_run(sheet, name).mean
    assert found == pytest.approx((values[0], min(values), max(values)), abs=1e-12)
    assert sheet.scale.grades.tolist() == [0, 1, 2, 3, 4]
    expected = expected_values(sheet, name).value
    assert np.nanmin(expected) >= 0
    assert np.nanmax(expected) <= 1
    assert bounds_of_pair(sheet, "A", "B").open.tolist() == [0, 2, 0]  # q2 alone is in both


def test_what_is_pooled_without_a_grade_is_open() -> None:
    assert unjudged_bounds({"q": {"a": 1, "b": -1}}, {"q": {"b": 2.0, "a": 1.0}}).mean.width > 0.1


def test_ties_depth_and_repeated_documents_are_those_of_match() -> None:
    """Equal scores go by descending id, so u2 is before u1; the depth cuts the ranking and not the ideal."""
    judgments, run = {"q": {"a": 1, "z": 1}}, {"q": {"a": 3.0, "u1": 2.0, "u2": 2.0, "u3": 1.0}}
    shallow = unjudged_bounds(judgments, run, protocol={"depth": 2})
    assert shallow.open.tolist() == [1]
    assert shallow.mean.value == rankgauge.evaluate(judgments, run, protocol={"depth": 2})["nDCG@10"]
    rows = [("q", "u", 5.0), ("q", "u", 4.0), ("q", "a", 3.0)]
    twice = unjudged_bounds(judgments, rows, measure="nDCG@2", protocol={"duplicates": "first"})
    assert twice.open.tolist() == [1]
    assert twice.mean.value == rankgauge.evaluate(judgments, rows, "nDCG@2", protocol={"duplicates": "first"})["nDCG@2"]


@pytest.mark.filterwarnings("ignore:.*only by the order of equal scores")
@pytest.mark.parametrize("rules", [{"ties": "id-ascending"}, {"order": "given"}, {"scores": "float32"}, {}])
def test_the_value_between_the_bounds_is_that_of_evaluate(rules: Rules) -> None:
    random = np.random.default_rng(5)
    judgments = {f"q{q}": {f"d{d}": int(random.integers(0, 3)) for d in range(12)} for q in range(8)}
    run = {f"q{q}": {f"d{d}": float(random.integers(0, 9)) for d in random.permutation(30)} for q in range(8)}
    found = unjudged_bounds(judgments, run, measure="nDCG@5", protocol=rules)
    values = rankgauge.evaluate(judgments, run, "nDCG@5", protocol=rules).to_dict()
    assert found.value.tolist() == [values[query]["nDCG@5"] for query in found.queries]
    assert (found.low <= found.value).all()
    assert (found.value <= found.high).all()
    assert (found.high - found.low).max() > 0.1


@pytest.mark.parametrize(
    "rules",
    [{"ties": "average"}, {"unjudged": "condensed"}, {"ideal": "retrieved"}, *({"negative": each} for each in SIGNED)],
)
def test_rules_under_which_an_open_document_has_no_place_are_refused(rules: Rules) -> None:
    with pytest.raises(ProtocolError, match=r"leave .* at its default"):
        unjudged_bounds({"q": {"a": 1}}, {"q": {"a": 1.0}}, protocol=rules)


@pytest.mark.parametrize(
    ("more", "error", "said"),
    [
        ({"measure": "AP"}, MeasureError, "for nDCG only"),
        ({"measure": "nDCG(gain={2:-1})@5"}, MeasureError, "gains of 0 or more"),
        ({"scale": [0, 1]}, InputError, "grade 2, which is outside the scale 0, 1"),
        ({"scale": []}, InputError, "give the scale"),
        ({"scale": [0, float("nan")]}, InputError, "give the scale"),
    ],
)
def test_what_has_no_bounds_is_refused(more: dict[str, Any], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        unjudged_bounds({"q": {"a": 2}}, {"q": {"a": 1.0}}, **more)


def test_unknown_queries_are_named() -> None:
    found = unjudged_bounds({"q10": {"a": 2}}, {"q10": {"a": 1.0}})
    with pytest.raises(InputError, match="no judged query 'q01'; did you mean 'q10'"):
        found["q01"]


def test_unknown_runs_are_named() -> None:
    sheet = sheet_of({"q": {"a": 2}}, {"bm25": {"q": {"a": 1.0}}})
    with pytest.raises(InputError, match="did you mean 'bm25'"):
        bounds_of_run(sheet, "bm52")
    with pytest.raises(InputError, match="no run"):
        sheet_of({"q": {"a": 2}}, {})


@pytest.mark.parametrize("gain", GAINS)
def test_many_queries_long_rankings_and_many_grades(gain: str) -> None:
    """7,000 queries, k = 100, 50 open documents, 11 grades; a sample of them against a search from many starts."""
    random = np.random.default_rng(2)
    queries, k, open_docs = 7_000, 100, 50
    discounts = 1 / np.log2(np.arange(2, k + 2))
    gains = np.array([GAINS[gain](grade) for grade in range(11)], float)
    query = np.repeat(np.arange(queries), open_docs)
    weight = discounts[random.permuted(np.tile(np.arange(k), (queries, 1)), axis=1)[:, :open_docs]]
    judged = -np.sort(-random.integers(0, 60, (queries, 10)), axis=1)
    fixed, setting = random.random(queries) * 5, Setting(np.diff(gains), np.r_[0, np.cumsum(discounts)])
    low, high = extremes(setting, fixed, judged, query, weight.ravel())
    assert (low < high).all()
    for at in range(0, queries, 100):
        for _ in range(20):
            counts = -np.sort(-random.integers(0, open_docs + 1, 10))
            sums = np.r_[0, np.cumsum(-np.sort(-weight[at]))]
            ratio = (fixed[at] + setting.steps @ sums[counts]) / (setting.steps @ setting.ideal(judged[at], counts))
            assert low[at] - 1e-9 <= ratio <= high[at] + 1e-9


def test_deep_learning_2019(shared: Path) -> None:
    runs = {name: str(shared / f"dl19/runs/input.{name}.gz") for name in ("UNH_bm25", "TUW19-p3-re")}
    sheet = sheet_of(str(shared / "dl19/qrels.dl19-passage.txt"), runs, "nDCG@20")
    single, pair = bounds_of_run(sheet, "UNH_bm25").mean, bounds_of_pair(sheet, "TUW19-p3-re", "UNH_bm25").mean
    assert [f"{each:.4f}" for each in single] == ["0.4490", "0.4427", "0.5237"]
    assert [f"{each:.4f}" for each in (pair.low, pair.high)] == ["0.0809", "0.2508"]


RULES: dict[str, Any] = {
    "plain": {},
    "reversed": {"ties": "reversed"},
    "given": {"order": "given"},
    "ties given": {"ties": "given"},
    "float32": {"scores": "float32"},
    "not itself": {"same_id": "drop"},
}


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("depth", [None, 1, 4])
def test_every_document_stands_where_match_puts_it(rules: str, depth: int | None) -> None:
    random, protocol = np.random.default_rng(len(rules)), rankgauge.Protocol(**RULES[rules])
    docs = {f"q{query}": [f"q{doc}" for doc in random.permutation(9).tolist()] for query in random.permutation(8)}
    run = read_run(
        {query: {doc: random.integers(4) + 1e-9 * random.integers(2) for doc in docs[query]} for query in docs}
    )
    numbers = {query: {doc: float(at) for at, doc in enumerate(docs[query])} for query in docs}
    hits = match(read_judgments(numbers), run, protocol)
    rows = zip([hits.queries[query] for query in hits.query], hits.grade.astype(int), hits.rank.tolist(), strict=True)
    theirs = [(query, docs[query][at], rank) for query, at, rank in rows if rank <= (depth or rank)]
    ours = whole(run, protocol, depth).first(depth, sorted(docs))
    assert [(sorted(docs)[query], doc, rank) for query, doc, rank in ours.iter_rows()] == theirs


def test_without_an_ideal_there_is_no_ratio() -> None:
    """Not 0 / 0, either."""
    setting = sheet_of({"q": {"a": 1}}, {"x": {"q": {"a": 1.0}}}, "nDCG@2", grades=[0, 1]).scale.setting(1)
    nothing = np.zeros((1, len(setting.steps), 2))
    found = _improved(setting, np.zeros(1), np.zeros((1, 2)), nothing, np.array([0.5]))
    assert found.tolist() == [NONE]
