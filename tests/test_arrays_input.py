"""What rankgauge.arrays is given: libraries, types, shapes that do not fit, and what its value says of itself."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

import rankgauge

arrays: Any = rankgauge.arrays  # what is wrong on purpose is wrong for a type checker too

GRADES, SCORES, SIZES, QID = [3, 0, 2, 0, 1], [0.25, 0.75, 0.5, 0.5, 0.5], [3, 2], ["a", "a", "a", "b", "b"]
VALUES = [arrays.ndcg(GRADES[:3], SCORES[:3], 3).mean, arrays.ndcg(GRADES[3:], SCORES[3:], 3).mean]


def test_the_example_by_hand() -> None:
    """Query a ranks 0, 2, 3; b has grades 0 and 1 with one score: the mean of 1 and 1 / log2(3)."""
    log3 = np.log2(3)
    assert VALUES[0] == pytest.approx((2 / log3 + 3 / 2) / (3 + 2 / log3), abs=1e-15)
    assert VALUES[1] == pytest.approx((1 + 1 / log3) / 2, abs=1e-15)


class TestLibraries:
    def test_pandas(self) -> None:
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame({"qid": QID, "grade": GRADES, "score": SCORES}, index=[9, 8, 7, 6, 5])
        found = arrays.ndcg(frame.grade, frame.score, 3, qid=frame.qid)
        assert found.per_query.tolist() == VALUES
        assert found.queries is not None
        assert found.queries.tolist() == ["a", "b"]
        nullable = frame.astype({"grade": "Int64", "score": "Float32", "qid": "category"})
        assert arrays.ndcg(nullable.grade, nullable.score, 3, qid=nullable.qid).per_query.tolist() == VALUES
        assert arrays.ndcg(frame.grade, frame.score, 3, groups=frame.groupby("qid").size()).per_query.tolist() == VALUES
        nullable.loc[7, "grade"] = pd.NA
        with pytest.raises(rankgauge.InputError, match=r"grades|the grade is nan"):
            arrays.ndcg(nullable.grade, nullable.score, 3, groups=SIZES)

    def test_polars(self) -> None:
        pl = pytest.importorskip("polars")
        frame = pl.DataFrame({"qid": QID, "grade": GRADES, "score": SCORES})
        assert arrays.ndcg(frame["grade"], frame["score"], 3, qid=frame["qid"]).per_query.tolist() == VALUES
        lists = frame.group_by("qid", maintain_order=True).all()
        assert arrays.ndcg(lists["grade"], lists["score"], 3).per_query.tolist() == VALUES
        missing = frame.with_columns(score=pl.when(pl.col("grade") == 2).then(None).otherwise(pl.col("score")))
        with pytest.raises(rankgauge.InputError, match="query 0, place 2: the score is nan; expected a finite number"):
            arrays.ndcg(missing["grade"], missing["score"], 3, groups=SIZES)

    def test_arrow(self) -> None:
        pa = pytest.importorskip("pyarrow")
        columns = [pa.array(GRADES), pa.array(SCORES)]
        assert arrays.ndcg(*columns, 3, qid=pa.array(QID)).per_query.tolist() == VALUES

    @pytest.mark.parametrize(
        "grades", [tuple(GRADES), (g for g in GRADES), [Decimal(g) for g in GRADES], [np.float32(g) for g in GRADES],
                   np.array(GRADES, object), np.array(GRADES, np.longdouble)], ids=lambda each: type(each).__name__
    )  # fmt: skip
    def test_what_holds_numbers(self, grades: Any) -> None:
        assert arrays.ndcg(grades, SCORES, 3, groups=SIZES).per_query.tolist() == VALUES

    def test_grades_may_be_true_and_false(self) -> None:
        relevant = [grade > 0 for grade in GRADES]
        assert arrays.recall(relevant, SCORES, 1, groups=SIZES).per_query.tolist() == [0.0, 0.5]

    def test_nothing_is_imported_that_the_caller_does_not_have(self) -> None:
        code = (
            "import sys\nfrom rankgauge import arrays\n"
            "arrays.ndcg([[1, 0]], [[0.5, 1.0]])\narrays.err([1, 0], [0.5, 0.5], qid=[1, 2])\n"
            "print(*(name for name in ('torch', 'jax', 'pandas', 'polars', 'scipy', 'pyarrow') if name in sys.modules))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == ""


MATRIX, MATRIX_2 = [[3, 0, 2], [0, 1, 0]], [[2, 1], [2, 1]]


def test_the_highest_gains_that_can_be_added_up() -> None:
    """Two of grade 1000, in the order of 1 and 2: as far as the ideal goes."""
    assert arrays.ndcg([[0, 1000, 1000]], [[3, 2, 1]], gain="exp").mean == pytest.approx(
        (1 / np.log2(3) + 1 / 2) / (1 + 1 / np.log2(3)), abs=1e-12
    )


def test_a_grade_that_a_map_of_gains_leaves_out_is_its_own_gain() -> None:
    """As in trec_eval: of {1: 3, 2: 9} grade 1 gains 3, grade 5 gains 5, grade 0 nothing."""
    found = arrays.dcg([1, 5, 0, 2], [4, 3, 2, 1], gain={1: 3, 2: 9})
    assert found.mean == pytest.approx(3 + 5 / np.log2(3) + 9 / np.log2(5), abs=1e-12)


def test_an_ideal_has_gaps_in_lists_as_in_a_matrix() -> None:
    ideal = [[1, 2, np.nan], [1, 0, 2]]
    wanted = arrays.ndcg(MATRIX_2, MATRIX_2, ideal=np.array([[2, 1, np.nan], [2, 1, 1]])).per_query.tolist()
    assert arrays.ndcg(MATRIX_2, MATRIX_2, ideal=[[2, 1, np.nan], [2, 1, 1]]).per_query.tolist() == wanted
    assert arrays.ndcg([[2, 1], [1, 0]], MATRIX_2, ideal=ideal).per_query[0] == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: arrays.ndcg([3, 2], [0.1]), r"grades have the shape \(2,\) and scores \(1,\)"),
        (lambda: arrays.ndcg(MATRIX, [[1, 2], [3, 4]]), r"query 0 has 3 grades and 2 scores"),
        (lambda: arrays.ndcg([[3, 2], [1]], [[0.1, 0.2], [0.3, 0.4]]), "query 1 has 1 grade and 2 scores"),
        (lambda: arrays.ndcg([[3, 2], [1]], [[0.1, 0.2]]), "grades have 2 queries and scores 1"),
        (lambda: arrays.ndcg(GRADES, [1, np.nan, 2, 3, 4], groups=SIZES), "query 0, place 1: the score is nan"),
        (lambda: arrays.ndcg(GRADES, [1, 2, 3, np.inf, 4], groups=SIZES), "query 1, place 0: the score is inf"),
        (lambda: arrays.ndcg(GRADES, [1, 2, -np.inf, 3, 4], groups=SIZES), "query 0, place 2: the score is -inf"),
        (lambda: arrays.ndcg([0, np.nan], [1, 2]), "query 0, place 1: the grade is nan; expected a finite number"),
        (lambda: arrays.ndcg([0, None], [1, 2]), "query 0, place 1: the grade is nan"),
        (lambda: arrays.ndcg(GRADES, [1, 2, 3, 4, None], qid=[2, 1, 2, 1, 2]), "query 2, row 4: the score is nan"),
        (lambda: arrays.ndcg(GRADES, SCORES, groups=[3, 3]), "sizes in groups sum to 6, but there are 5 rows"),
        (lambda: arrays.ndcg(GRADES, SCORES, groups=[1, 1, 1, 1, 2]), "one number per row is what qid= takes"),
        (lambda: arrays.ndcg(GRADES, SCORES, groups=[6, -1]), "groups have the size -1; expected whole numbers"),
        (lambda: arrays.ndcg(GRADES, SCORES, groups=[2.5, 2.5]), "groups have the size 2.5; expected whole numbers"),
        (lambda: arrays.ndcg(GRADES, SCORES, groups=[[3, 2]]), "groups have 2 dimensions; expected the sizes"),
        (lambda: arrays.ndcg(GRADES, SCORES, groups=SIZES, qid=QID), "groups and qid are both given"),
        (lambda: arrays.ndcg(GRADES, SCORES, qid=SIZES), "sizes of queries are what groups= takes"),
        (lambda: arrays.ndcg(GRADES, SCORES, qid=["a", None, "a", "b", "b"]), "qid is missing on row 1"),
        (lambda: arrays.ndcg(GRADES, SCORES, qid=[1, 1, np.nan, 2, 2]), "qid is missing on row 2"),
        (lambda: arrays.ndcg(GRADES, SCORES, qid=np.zeros(5, complex)), "qid has elements of type complex128"),
        (lambda: arrays.ndcg(MATRIX, MATRIX, groups=[3, 3]), "groups is given with a matrix, whose lines are"),
        (lambda: arrays.ndcg([[1], [1, 2]], [[1], [1, 2]], qid=[1, 2]), "qid is given, but the lists are one a query"),
        (lambda: arrays.ndcg(MATRIX, MATRIX, mask=[[True, True], [True, True]]), r"mask has the shape \(2, 2\)"),
        (lambda: arrays.ndcg(MATRIX, MATRIX, mask=[[1, 2, 1], [1, 1, 1]]), "expected true where there is a candidate"),
        (lambda: arrays.ndcg(MATRIX, MATRIX, mask=[[1.0, 0, 1], [1, 1, 1]]), "mask has elements of type float64"),
        (lambda: arrays.ndcg([MATRIX], [MATRIX]), "grades have 3 dimensions; expected 1"),
        (lambda: arrays.ndcg(3, 0.5), "grades have 0 dimensions"),
        (lambda: arrays.ndcg("32", "12"), "grades is str '32'; expected an array or a list of numbers"),
        (lambda: arrays.ndcg(None, SCORES), "grades is NoneType None"),
        (lambda: arrays.ndcg({"q": 1}, {"q": 2}), "grades is dict"),
        (lambda: arrays.ndcg(["3", "2"], [1, 2]), "grades has elements of type <U1; expected numbers"),
        (lambda: arrays.ndcg([3, "x", None], [1, 2, 3]), "grades has"),
        (lambda: arrays.ndcg([1j, 2], [1, 2]), "grades has elements of type complex128"),
        (lambda: arrays.ndcg([1, 0], [2**60, 2**60 + 1]), "scores has whole numbers beyond 2\\^53"),
        (lambda: arrays.ndcg(np.ma.masked_array([1, 2], [False, True]), [1, 2]), r"mask=~grades\.mask"),
        (lambda: arrays.ndcg([1, -1], [1, 2]), r"query 0, place 1: the grade is -1.*mask=grades >= 0"),
        (lambda: arrays.ndcg([1, -1], [1, 2], gain="exp"), "the grade is -1, and grades are 0 or more"),
        (lambda: arrays.dcg([[1, 0], [2]], [[1, 2], [1]], k=0), "k is a whole number, 1 or more"),
        (lambda: arrays.ndcg([1], [1], k=-3), "k is a whole number, 1 or more"),
        (lambda: arrays.ndcg([1], [1], k=2.5), "k=2.5: expected a whole number"),
        (lambda: arrays.ndcg([1], [1], k=True), "k=True: expected a whole number"),
        (lambda: arrays.precision([1], [1], k=None), "k=None: precision is the share of the first k"),
        (lambda: arrays.recall([1], [1], rel="high"), "rel='high' is not a number"),
        (lambda: arrays.recall([1], [1], rel=-1), "rel is a finite number, 0 or more"),
        (lambda: arrays.ndcg([1], [1], gain="quadratic"), "gain='quadratic' is not a gain; expected linear, exp"),
        (lambda: arrays.ndcg([1], [1], ties="id"), "ties='id' is not a rule for arrays; expected average or given"),
        (lambda: arrays.err([1], [1], gain="binary"), "expected exp or linear"),
        (lambda: arrays.ndcg(MATRIX, MATRIX, weights=[1]), r"weights have the shape \(1,\); expected one a query, 2"),
        (lambda: arrays.ndcg(MATRIX, MATRIX, weights=[1, -1]), "weights are finite numbers, 0 or more, and not all 0"),
        (lambda: arrays.ndcg(MATRIX, MATRIX, weights=[0, 0]), "not all 0"),
        (lambda: arrays.ndcg(MATRIX, MATRIX, ideal=[[3, 2]]), "ideal has the grades of 1 query, but there are 2"),
        (lambda: arrays.ndcg(MATRIX, MATRIX, ideal=[3, 2]), r"ideal has the shape \(2,\); expected a list of grades"),
        (lambda: arrays.ndcg(MATRIX, MATRIX, ideal=[[3, 1], [1]]), "query 0 has 1 candidate of grade 2, but `ideal`"),
        (lambda: arrays.ndcg([3, 3], [1, 2], ideal=[3, 2]), "has 2 candidates of grade 3, but `ideal` holds 1"),
        (lambda: arrays.ndcg([3], [1], ideal=[]), "has 1 candidate of grade 3, but `ideal` holds 0"),
        (lambda: arrays.ndcg([3], [1], ideal=[3, np.inf]), "ideal has a grade that is not a finite number"),
        (lambda: arrays.ndcg([3], [1], ideal=[3, -1]), "ideal has the grade -1"),
        (lambda: arrays.ndcg([3], [1], ideal={"q": [3]}), "without qid give a list a query"),
        (lambda: arrays.ndcg([3], [1], qid=["q"], ideal={"p": [3]}), "ideal has no grades for query 'q'"),
        (lambda: arrays.ndcg([], [], groups=[]), "there are no queries"),
        (lambda: arrays.ndcg([], [], qid=[]), "there are no queries"),
        (lambda: arrays.ndcg([], []), "there are no queries"),
        (lambda: arrays.ndcg([[]], [[]]), "there are no queries"),
        (lambda: arrays.ndcg([[]], [[]], mask=[[]]), "there are no queries"),
        (lambda: arrays.ndcg(MATRIX, [1, 2]), "query 0 has one number for its scores; expected a list of them"),
        (lambda: arrays.ndcg(MATRIX, None), "scores is NoneType None; expected an array"),
        (lambda: arrays.ndcg(GRADES, SCORES, groups=[np.nan, 5]), "groups have the size nan; expected whole numbers"),
        (lambda: arrays.ndcg([1, 0, 1], [1, 2, 3], qid=[1, "1", 1]), "qid is 1 on row 0 and '1' on row 1"),
        (lambda: arrays.ndcg([1, 0], [1, 2], qid=np.array(["1", 1], object)), "qid is '1' on row 0 and 1 on row 1"),
        (lambda: arrays.ndcg([[2000, 3], [0, 1]], MATRIX_2, gain="exp"), r"the grade 2000 gains 2\^2000 − 1, more"),
        (lambda: arrays.dcg([[1e308, 1e308]], [[1, 2]]), r"gain=linear: the grade 1e\+308 gains 1e\+308, more than"),
        (lambda: arrays.dcg([[2, 1]], [[1, 2]], gain={2: 1e305}), r"a grade gains 1e\+305, more than can be added up"),
        (lambda: arrays.ndcg(np.zeros((0, 5)), np.zeros((0, 5))), "there are no queries"),
        (lambda: arrays.err([5, 0], [2, 1]), r"ERR\(max=4\): the judgments have grade 5; write max=5$"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(call: Any, message: str) -> None:
    with pytest.raises(rankgauge.RankgaugeError, match=message):
        call()


@pytest.mark.parametrize("ties", ["average", "given"])
def test_a_query_without_candidates_counts_zero(ties: str) -> None:
    """The rule for a query without relevant documents; the definition says so."""
    groups = arrays.ndcg(GRADES, SCORES, 3, groups=[0, 3, 0, 2], ties=ties)
    assert groups.per_query.tolist()[0::2] == [0.0, 0.0]
    masked = arrays.ndcg([[1, 2], [9, 9]], [[1, 2], [np.nan, 0]], mask=[[1, 1], [0, 0]], ties=ties)
    assert masked.per_query.tolist() == [1.0, 0.0]
    assert arrays.ndcg([0, 0], [1, 2], ties=ties).mean == 0.0
    assert all("a query without relevant documents counts 0" in each.definition for each in (groups, masked))


def test_the_ideal_is_named() -> None:
    """Five documents of grade 3 are judged, one of them is a candidate."""
    seen, known = arrays.ndcg([3], [0.5]), arrays.ndcg([3], [0.5], ideal=[3] * 5)
    assert seen.mean == 1.0
    assert known.mean == pytest.approx(0.3392, abs=5e-5)
    assert "ideal: candidates" in seen.definition
    assert "ideal: all judgments given" in known.definition
    assert "ideal:" not in arrays.precision([3], [0.5]).definition


def test_the_core_has_the_same_formula() -> None:
    grades = [3, 2, 3, 0, 1, 2, 0, 1, 0, 2]
    gains: list[Any] = ["linear", "exp", "binary", {1: 5, 2: 1, 3: 2}]
    for gain in gains:
        ours = arrays.ndcg(grades, range(10, 0, -1), gain=gain)
        assert float(ours) == rankgauge.ndcg(grades, k=10, gain=gain)
        judged = [*grades, 3]
        ours = arrays.ndcg(grades, range(10, 0, -1), gain=gain, ideal=judged)
        assert float(ours) == rankgauge.ndcg(grades, k=10, gain=gain, ideal=judged)


class TestValue:
    def test_it_is_a_number_that_says_what_it_is(self) -> None:
        value = arrays.ndcg(GRADES, SCORES, 3, qid=QID, gain="exp")
        assert float(value) == value.mean == pytest.approx(np.mean(value.per_query), abs=1e-15)
        assert f"{value:.3f}" == f"{value.mean:.3f}"
        assert round(value, 2) == round(value.mean, 2)
        assert str(value).startswith(f"nDCG(gain=exp)@3 = {value.mean:.4f} (mean of 2 queries; k=3, gain=exp, ")
        assert f"{value}" == str(value) == repr(value)
        assert "equal scores: the expectation over all orders" in value.definition
        assert "equal scores: in the order given" in arrays.ndcg(GRADES, SCORES, 3, ties="given").definition

    def test_weights_weigh_queries(self) -> None:
        value = arrays.ndcg(GRADES, SCORES, 3, groups=SIZES, weights=[3, 1])
        assert value.mean == pytest.approx((3 * VALUES[0] + VALUES[1]) / 4, abs=1e-15)
        assert value.per_query.tolist() == VALUES
        assert "weighted mean of 2 queries" in str(value)

    def test_a_notebook_shows_it_escaped(self) -> None:
        value = arrays.ndcg([1], [1], gain={1.0: 2.0})
        assert value._repr_html_().startswith("<div><b>nDCG(gain={1:2})@10 = 1.0000</b> (mean of 1 query)<br>")
        assert "<script" not in arrays.Value("<script>", value.per_query, "<b>")._repr_html_()
