"""rankgauge.arrays: the numbers of scikit-learn, the same numbers in every shape, and the rules for bad input."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankgauge
from rankgauge import arrays
from rankgauge.arrays import Value
from rankgauge.arrays.rows import Batch
from rankgauge.measures import parse
from rankgauge.protocol import Ties

FUNCTIONS: dict[str, Callable[..., Value]] = {
    "nDCG": arrays.ndcg,
    "DCG": arrays.dcg,
    "P": arrays.precision,
    "R": arrays.recall,
    "RR": arrays.reciprocal_rank,
    "AP": arrays.average_precision,
    "ERR": arrays.err,
    "Success": arrays.hit_rate,
}
SKLEARN = {"nDCG": "ndcg_score", "DCG": "dcg_score"}


def a_matrix(seed: int, decimals: int, lines: int = 40, width: int = 30) -> tuple[Any, Any]:
    random = np.random.default_rng(seed)
    return random.integers(0, 5, (lines, width)), random.random((lines, width)).round(decimals)


class TestScikitLearn:
    @pytest.mark.parametrize("name", SKLEARN)
    @pytest.mark.parametrize("k", [1, 3, 10, 29, 30, 50, None])
    @pytest.mark.parametrize("decimals", [0, 1, 2, 17])
    def test_the_same_mean(self, name: str, k: int | None, decimals: int) -> None:
        metrics = pytest.importorskip("sklearn.metrics")
        grades, scores = a_matrix(1, decimals)
        theirs = getattr(metrics, SKLEARN[name])(grades, scores, k=k)
        assert FUNCTIONS[name](grades, scores, k).mean == pytest.approx(theirs, abs=1e-12, rel=1e-12)

    @pytest.mark.parametrize("name", SKLEARN)
    def test_the_same_weighted_mean_and_values(self, name: str) -> None:
        metrics = pytest.importorskip("sklearn.metrics")
        grades, scores = a_matrix(2, 1)
        weights = np.random.default_rng(3).random(len(grades))
        score = getattr(metrics, SKLEARN[name])
        ours = FUNCTIONS[name](grades, scores, 7, weights=weights)
        assert ours.mean == pytest.approx(score(grades, scores, k=7, sample_weight=weights), abs=1e-12, rel=1e-12)
        each = [score(grades[i : i + 1], scores[i : i + 1], k=7) for i in range(len(grades))]
        assert ours.per_query == pytest.approx(each, abs=1e-12, rel=1e-12)


@pytest.mark.filterwarnings("ignore::rankgauge.errors.RankgaugeWarning")
@pytest.mark.parametrize("ties", ["average", "given"])
@pytest.mark.parametrize("k", [1, 3, 10, None])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_same_as_evaluate(name: str, k: int | None, ties: Ties) -> None:
    if name == "P" and k is None:
        pytest.skip("P has no value without k")
    grades, scores = a_matrix(4, 1, 12, 13)
    judgments = {f"{i:02}": {f"d{j:02}": int(g) for j, g in enumerate(line)} for i, line in enumerate(grades)}
    run = {f"{i:02}": {f"d{j:02}": float(s) for j, s in enumerate(line)} for i, line in enumerate(scores)}
    text = name if k is None else f"{name}@{k}"
    result = rankgauge.evaluate(judgments, run, text, protocol={"ties": ties})
    ours = FUNCTIONS[name](grades, scores, k, ties=ties)
    assert ours.per_query == pytest.approx(result.per_query[text].to_numpy(), abs=1e-12)
    assert ours.mean == pytest.approx(result[text], abs=1e-12)
    assert ours.measure == text


# ---- properties over every function ---------------------------------------------------------------------------------

Queries = list[list[tuple[int, float]]]
SCORES = st.sampled_from([-2.0, -0.5, 0.0, 0.25, 1.0, 1.5, 3.0])
QUERIES = st.lists(st.lists(st.tuples(st.integers(0, 4), SCORES), min_size=1, max_size=9), min_size=1, max_size=6)
CUTS = st.sampled_from([1, 2, 3, 5, 20])
EACH = pytest.mark.parametrize("name", FUNCTIONS)
BOTH = pytest.mark.parametrize("ties", ["average", "given"])
FEW = settings(max_examples=25)  # of every function, and of every way with ties


def columns(queries: Queries) -> tuple[Any, Any, list[int]]:
    """Grades, scores, and the sizes of the queries."""
    rows = [row for query in queries for row in query]
    return np.array([g for g, _ in rows]), np.array([s for _, s in rows]), [len(query) for query in queries]


def padded(queries: Queries) -> tuple[Any, Any, Any]:
    """Grades, scores and mask, the queries at the ends of their lines and nonsense before them."""
    width = max(map(len, queries)) + 1
    mask = np.array([[j >= width - len(query) for j in range(width)] for query in queries])
    grades, scores, _ = columns(queries)
    filled = np.full(mask.shape, np.nan), np.full(mask.shape, np.inf)
    filled[0][mask], filled[1][mask] = grades, scores
    return *filled, mask


@EACH
@BOTH
@FEW
@given(queries=QUERIES, k=CUTS)
def test_values_are_bounded(name: str, ties: str, queries: Queries, k: int) -> None:
    grades, scores, groups = columns(queries)
    found = FUNCTIONS[name](grades, scores, k, groups=groups, ties=ties)
    assert len(found) == len(found.per_query) == len(queries)
    assert (found.per_query >= 0).all()
    if name != "DCG":
        assert (found.per_query <= 1 + 1e-12).all()
    assert float(found) == pytest.approx(np.mean(found.per_query), abs=1e-12)


@pytest.mark.parametrize("name", ["nDCG", "R", "RR", "AP", "Success"])
@BOTH
@FEW
@given(queries=QUERIES)
def test_a_perfect_order_gives_one(name: str, ties: str, queries: Queries) -> None:
    grades, _, groups = columns(queries)
    some = np.array([any(grade > 0 for grade, _ in query) for query in queries])
    found = FUNCTIONS[name](grades, grades * 0.5, None, groups=groups, ties=ties).per_query
    assert found == pytest.approx(some.astype(float), abs=1e-12)


@pytest.mark.parametrize("name", ["nDCG", "RR", "P", "Success"])
@FEW
@given(queries=QUERIES, k=CUTS)
def test_a_perfect_order_gives_one_at_k(name: str, queries: Queries, k: int) -> None:
    """P@k is 1 where k documents are relevant; the others wherever one is."""
    grades, _, groups = columns(queries)
    enough = [sum(grade > 0 for grade, _ in query) >= (k if name == "P" else 1) for query in queries]
    found = FUNCTIONS[name](grades, grades, k, groups=groups).per_query
    assert (found == pytest.approx(1.0, abs=1e-12)) if all(enough) else (found[~np.array(enough)] < 1).all()


@EACH
@FEW
@given(queries=QUERIES, k=CUTS)
def test_no_order_is_better_than_by_grade(name: str, queries: Queries, k: int) -> None:
    grades, scores, groups = columns(queries)
    best, found = (FUNCTIONS[name](grades, each, k, groups=groups).per_query for each in (grades, scores))
    assert (found <= best + 1e-12).all()


@EACH
@BOTH
@FEW
@given(queries=QUERIES, k=CUTS, random=st.randoms(use_true_random=False))
def test_the_order_of_queries_does_not_matter(name: str, ties: str, queries: Queries, k: int, random: Random) -> None:
    order = random.sample(range(len(queries)), len(queries))
    grades, scores, groups = columns(queries)
    before = FUNCTIONS[name](grades, scores, k, groups=groups, ties=ties)
    grades, scores, groups = columns([queries[i] for i in order])
    after = FUNCTIONS[name](grades, scores, k, groups=groups, ties=ties)
    assert after.per_query.tolist() == pytest.approx(before.per_query[order].tolist(), abs=1e-12)


@EACH
@FEW
@given(queries=QUERIES, k=CUTS, random=st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(name: str, queries: Queries, k: int, random: Random) -> None:
    """With an id on every row, in any order; the values come in the order in which the ids first appear."""
    grades, scores, groups = columns(queries)
    before = FUNCTIONS[name](grades, scores, k, groups=groups)
    order = random.sample(range(len(grades)), len(grades))
    qid = np.repeat(np.arange(len(queries)) * 7 - 3, groups)
    after = FUNCTIONS[name](grades[order], scores[order], k, qid=qid[order])
    assert after.queries is not None
    assert after.queries.tolist() == list(dict.fromkeys(qid[order].tolist()))
    expected = dict(zip((np.arange(len(queries)) * 7 - 3).tolist(), before.per_query.tolist(), strict=True))
    found = dict(zip(after.queries.tolist(), after.per_query.tolist(), strict=True))
    assert found == pytest.approx(expected, abs=1e-12)


@EACH
@BOTH
@FEW
@given(queries=QUERIES, k=CUTS)
def test_every_shape_gives_the_same(name: str, ties: str, queries: Queries, k: int) -> None:
    """Each query alone, group sizes, ids as numbers and as texts, lists of lists, a matrix with a mask."""
    function = FUNCTIONS[name]
    grades, scores, groups = columns(queries)
    lists = [[grade for grade, _ in query] for query in queries], [[score for _, score in query] for query in queries]
    alone = [float(function(*each, k, ties=ties)) for each in zip(*lists, strict=True)]
    qid = np.repeat(np.arange(len(queries)), groups)
    filled = padded(queries)
    found = {
        "groups": function(grades, scores, k, groups=groups, ties=ties),
        "qid": function(grades, scores, k, qid=qid, ties=ties),
        "texts": function(grades, scores, k, qid=[f"q{i}" for i in qid], ties=ties),
        "lists": function(*lists, k, ties=ties),
        "mask": function(filled[0], filled[1], k, mask=filled[2], ties=ties),
    }
    assert {shape: each.per_query.tolist() for shape, each in found.items()} == dict.fromkeys(found, alone)


@pytest.mark.parametrize("k", [None, 3, 10])
@pytest.mark.parametrize("gain", ["linear", "exp"])
def test_where_nothing_is_tied_the_last_digit_is_that_of_evaluate(k: int | None, gain: str) -> None:
    """Averaging over the orders of ties is no arithmetic of its own: a perfect ranking has 1, and not a bit more."""
    random = np.random.default_rng(5)
    grades, scores = random.integers(0, 5, (400, 30)) / 4, random.permuted(np.tile(np.arange(30.0), (400, 1)), axis=1)
    found = arrays.ndcg(grades, scores, k, gain=gain).per_query
    ranked = np.take_along_axis(grades, np.argsort(-scores, axis=1), axis=1)
    assert found.tolist() == [rankgauge.ndcg(each, k, gain=gain) for each in ranked]
    best = np.sort(grades, axis=1)[:, ::-1]
    assert set(arrays.ndcg(best, np.tile(np.arange(30.0, 0, -1), (400, 1)), k, gain=gain).per_query.tolist()) == {1.0}
    run = {"q": dict(zip(map(str, range(30)), scores[0].tolist(), strict=True))}
    judged = {"q": dict(zip(map(str, range(30)), grades[0].tolist(), strict=True))}
    measure = f"nDCG(gain={gain})" + f"@{k}" * (k is not None)
    values = [rankgauge.evaluate(judged, run, measure, protocol={"ties": ties})[measure] for ties in ("id", "average")]
    assert values[0] == values[1] == found[0]


class Split(arrays.Rows):
    """Rows in batches of a few elements."""

    def batches(self, cached: int = 7) -> Iterator[Batch]:
        return super().batches(cached)


@EACH
@BOTH
@FEW
@given(queries=QUERIES, k=CUTS)
def test_batches_do_not_matter(name: str, ties: Ties, queries: Queries, k: int) -> None:
    grades, scores, groups = columns(queries)
    whole = FUNCTIONS[name](grades, scores, k, groups=groups, ties=ties)
    rows = Split(**vars(arrays.rows_of(grades, scores, groups=groups)))
    parts = arrays.measured(parse(whole.measure), rows, replace(arrays.CANDIDATES, ties=ties))
    assert parts.tolist() == whole.per_query.tolist()


@EACH
@pytest.mark.parametrize("k", [1, 2, 5, 10, None])
@pytest.mark.parametrize("decimals", [0, 1])
def test_a_query_has_its_value_to_the_last_digit_among_any_others(name: str, k: int | None, decimals: int) -> None:
    """Grades with decimals, whose sums depend on their order, and ties that reach far beyond the cut."""
    if name == "P" and k is None:
        pytest.skip("P has no value without k")
    random = np.random.default_rng(6)
    groups = random.integers(1, 50, 60)
    grades, scores = random.random(groups.sum()) * 4, random.random(groups.sum()).round(decimals)
    together = FUNCTIONS[name](grades, scores, k, groups=groups).per_query.tolist()
    parts = [np.split(each, np.cumsum(groups)[:-1]) for each in (grades, scores)]
    assert together == [float(FUNCTIONS[name](*each, k)) for each in zip(*parts, strict=True)]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.float16, np.float32])
def test_gains_of_narrow_grades_are_wide(kind: Any) -> None:
    """2^25 − 1 fits neither into 32 bits nor into the 16 that numpy takes for the power of an 8-bit number."""
    grades, scores = np.array([[25, 0, 3, 2]]), np.zeros((1, 4))
    found = arrays.dcg(grades.astype(kind), scores, 1, gain="exp").mean
    assert found == arrays.dcg(grades, scores, 1, gain="exp").mean == (2**25 - 1 + 7 + 3) / 4


@EACH
@BOTH
@FEW
@given(queries=QUERIES, k=CUTS, seed=st.integers(0, 99))
def test_narrow_numbers_agree_with_wide_ones(name: str, ties: str, queries: Queries, k: int, seed: int) -> None:
    """32-bit numbers are the same numbers in 64 bits; grades may be of any type."""
    grades, scores, groups = columns(queries)
    narrow = (scores + np.random.default_rng(seed).random(len(scores)).round(1)).astype(np.float32)
    wide = FUNCTIONS[name](grades.astype(np.float64), narrow.astype(np.float64), k, groups=groups, ties=ties)
    for kind in (np.int8, np.uint8, np.int16, np.int32, np.int64, np.float16, np.float32):
        found = FUNCTIONS[name](grades.astype(kind), narrow, k, groups=groups, ties=ties)
        assert found.per_query.tolist() == wide.per_query.tolist()


def as_dicts(queries: Queries, judged: list[list[int]] | None = None) -> tuple[Any, Any]:
    """The same as judgments and a run, with judged documents that are not retrieved."""
    more = judged or [[] for _ in queries]
    judgments = {
        f"{i:03}": {f"d{j:03}": grade for j, (grade, _) in enumerate(query)}
        | {f"x{j:03}": grade for j, grade in enumerate(more[i])}
        for i, query in enumerate(queries)
    }
    run = {f"{i:03}": {f"d{j:03}": score for j, (_, score) in enumerate(query)} for i, query in enumerate(queries)}
    return judgments, run


@pytest.mark.filterwarnings("ignore::rankgauge.errors.RankgaugeWarning")
@EACH
@BOTH
@FEW
@given(data=st.data(), queries=QUERIES, k=CUTS)
def test_evaluate_says_the_same(name: str, ties: Ties, data: st.DataObject, queries: Queries, k: int) -> None:
    """`ideal` holds all judgments, those of documents that were never retrieved too."""
    grade_lists = st.lists(st.integers(0, 4), max_size=5)
    more = data.draw(st.lists(grade_lists, min_size=len(queries), max_size=len(queries)))
    judgments, run = as_dicts(queries, more)
    text = f"{name}@{k}"
    expected = rankgauge.evaluate(judgments, run, text, protocol={"ties": ties}).per_query[text].to_list()
    grades, scores, groups = columns(queries)
    ideal = [list(judged.values()) for judged in judgments.values()]
    filled = np.full((len(ideal), 20), np.nan)
    for line, each in zip(filled, ideal, strict=True):
        line[: len(each)] = each
    for given_ideal in (ideal, filled):
        found = FUNCTIONS[name](grades, scores, k, groups=groups, ties=ties, ideal=given_ideal)
        assert found.per_query.tolist() == pytest.approx(expected, abs=1e-12)
    qid = np.repeat(list(run), groups)
    by_id = FUNCTIONS[name](grades, scores, k, qid=qid, ties=ties, ideal=dict(zip(run, ideal, strict=True)))
    assert by_id.per_query.tolist() == pytest.approx(expected, abs=1e-12)


@pytest.mark.filterwarnings("ignore::rankgauge.errors.RankgaugeWarning")
@pytest.mark.parametrize("rules", [
    {"ties": "worst", "empty": "one"}, {"ties": "best", "empty": "skip"}, {"ties": "reversed"},
    {"ties": "given", "scores": "float32"}, {"ties": "given", "scores": "float32-positive"},
    {"ties": "average", "grades": "truncate", "rel": 2},
], ids=str)  # fmt: skip
@pytest.mark.parametrize("text", ["nDCG(gain=exp)@3", "nDCG(gain={0:1,1:0,2:5})@3", "AP(norm=min)@3",
                                  "P(by=returned)@5", "R@2", "RR", "nDCG", "DCG(rel=2)@4", "F@3", "ERR@3"])  # fmt: skip
@FEW
@given(queries=QUERIES)
def test_other_measures_and_rules(rules: dict[str, Any], text: str, queries: Queries) -> None:
    """What the trainers' conventions need: any measure under any rules, as `evaluate` has them."""
    grades, scores, groups = columns(queries)
    protocol = rankgauge.Protocol(ideal="retrieved", **rules)
    judgments, run = as_dicts(queries)
    expected = parse(text)(rankgauge.match(judgments, run, protocol))
    found = arrays.measured(parse(text), arrays.rows_of(grades, scores, groups=groups), protocol)
    assert found.tolist() == pytest.approx(expected.tolist(), abs=1e-12, nan_ok=True)


@EACH
def test_inputs_stay_as_they_are(name: str) -> None:
    grades, scores = a_matrix(5, 1)
    mask = scores > 0.1
    weights = np.ones(len(grades))
    given_arrays = (grades, scores, mask, weights)
    kept = [each.copy() for each in given_arrays]
    for each in given_arrays:
        each.setflags(write=False)
    FUNCTIONS[name](grades, scores, 5, weights=weights)
    FUNCTIONS[name](grades, scores, 5, mask=mask, weights=weights, ideal=grades.astype(float))
    FUNCTIONS[name](grades.ravel(), scores.ravel(), 5, qid=np.tile(np.arange(10), 120))
    assert all((one == other).all() for one, other in zip(given_arrays, kept, strict=True))


def test_strided_arrays_are_read_as_they_are() -> None:
    grades, scores = a_matrix(6, 1)
    plain = arrays.ndcg(grades[::2, ::3].copy(), scores[::2, ::3].copy(), 4)
    assert arrays.ndcg(grades[::2, ::3], scores[::2, ::3], 4).per_query.tolist() == plain.per_query.tolist()
    fortran = arrays.ndcg(np.asfortranarray(grades), np.asfortranarray(scores), 4)
    assert fortran.per_query.tolist() == arrays.ndcg(grades, scores, 4).per_query.tolist()
