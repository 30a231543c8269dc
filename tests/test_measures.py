"""Measures: hand-worked numbers, properties of every row of the table, expectations over ties by brute force."""

from __future__ import annotations

import inspect
import itertools
import math
import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankgauge
from rankgauge import Protocol
from rankgauge.errors import MatchError, MeasureError, RankgaugeWarning
from rankgauge.matching.grades import hits_of_grades
from rankgauge.matching.match import Hits
from rankgauge.measures import MEASURES, Measure, averaging, parse
from rankgauge.measures.gains import TABLED, discount_function, divisors
from samples import Nested, Table, pairs

CUT = {"k": "@3", "recall": "@0.4", "multiple": "@0.6"}
EVERY = [parse(name + CUT.get(row.cutoff or "", "")) for name, row in MEASURES.items()]
BOUNDED = [measure for measure in EVERY if measure.definition.bounded]
AVERAGED = [measure for measure in EVERY if measure.definition.averages]


def value(measure: str, grades: Sequence[Any], ideal: list[float] | None = None) -> float:
    return float(parse(measure)(hits_of_grades(grades, ideal))[0])


def hits_of(judgments: Table, run: Table, protocol: Protocol = Protocol()) -> Hits:  # noqa: B008
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankgaugeWarning)
        return rankgauge.match(rankgauge.Judgments(judgments), rankgauge.Run(run), protocol)


class TestWorkedNumbers:
    """Figures from the papers, other tools' output and closed forms."""

    A = (3, 2, 3, 0, 1, 2, 0, 1, 0, 2)
    B = (3, 2, 3, 1, 2, 0, 1, 2, 0, 1)

    @pytest.mark.parametrize(
        ("measure", "expected"),
        [
            ("DCG(gain=exp)@10", 15.030923),
            ("IDCG(gain=exp)@10", 16.058637),
            ("nDCG(gain=exp)@10", 0.936002),
            ("nDCG(gain=exp)@1", 1.0),
            ("nDCG(gain=exp)@3", 0.959454),
            ("nDCG(gain=exp)@5", 0.831516),
            ("DCG@10", 7.754721),
            ("IDCG@10", 8.217389),
            ("nDCG@10", 0.943697),
            ("nDCG(gain=exp,discount=jk2)@10", 0.887599),
            ("nDCG(discount=jk2)@10", 0.915499),
        ],
    )
    def test_example_a(self, measure: str, expected: float) -> None:
        assert value(measure, self.A) == pytest.approx(expected, abs=5e-7)

    def test_example_a_with_an_eleventh_judged_document(self) -> None:
        assert value("IDCG(gain=exp)@10", self.A, [*self.A, 3]) == pytest.approx(19.0865, abs=5e-5)
        assert value("nDCG(gain=exp)@10", self.A, [*self.A, 3]) == pytest.approx(0.7875, abs=5e-5)

    def test_example_b(self) -> None:
        assert value("DCG(gain=exp)@10", self.B) == pytest.approx(15.552817, abs=5e-7)
        assert value("nDCG(gain=exp)@10", self.B) == pytest.approx(0.949842, abs=5e-7)
        assert value("nDCG@10", self.B) == pytest.approx(0.963285, abs=5e-7)

    @pytest.mark.parametrize(
        ("measure", "expected"),
        [
            ("nDCG@3", 0.5250),
            ("nDCG(gain=exp)@3", 0.4791),
            ("nDCG(gain=binary)@3", 0.7039),
            ("nDCG(discount=jk2)@3", 0.5137),
            ("ERR@3", 0.1992),
            ("ERR(max=3)@3", 0.3802),
            ("ERR(max=3,gain=linear)@3", 0.4375),
            ("RBP", 0.328),
            ("RBP(gain=linear)", 0.584),
            ("RBP(gain=graded)", 0.1947),
            ("RBP(p=0.9,gain=graded)", 0.1143),
        ],
    )
    def test_one_ranking_many_numbers(self, measure: str, expected: float) -> None:
        """Judgments 3, 2, 1, 0; the run returns grades 1, 0, 3 and never the 2."""
        assert value(measure, [1, 0, 3], [3, 2, 1, 0]) == pytest.approx(expected, abs=5e-5)

    @pytest.mark.parametrize(
        ("measure", "grades", "ideal", "expected"),
        [
            ("nDCG@10", [3], [3] * 5, 0.3392),
            ("nDCG@10", [1, 1], [1] * 5, 0.5531),
            ("nDCG@10", [3] * 10, [3] * 20, 1.0),
            ("AP@1", [1], [1, 1, 1], 0.3333),
            ("AP@3", [1, 0, 1, 1, 0], [1, 0, 1, 1, 0], 0.5556),
            ("AP(norm=min)@1", [1], [1, 1, 1], 1.0),
            ("AP(norm=hits)@1", [1], [1, 1, 1], 1.0),
            ("AP(norm=min)@3", [1, 0, 1, 1, 0], [1, 0, 1, 1, 0], 0.5556),
            ("AP(norm=hits)@3", [1, 0, 1, 1, 0], [1, 0, 1, 1, 0], 0.8333),
            ("P@5", [1, 1, 0], [1, 1, 0], 0.4),
            ("P(by=returned)@5", [1, 1, 0], [1, 1, 0], 0.6667),
            ("P(by=returned)@2", [1, 0, 1], [1, 1, 0], 0.5),
            ("nDCG@40", [0] * 32 + [1] + [0] * 7, [1], 0.1966),
            ("nDCG@2", [3, 3, 3], [3, 3, 3], 1.0),
            ("nDCG@3", [1, 1, 2], [3, 2, 1, 1, 0, 0], 0.5525),
            ("nDCG@3", [0, 3, 0], [3, 2, 1, 1, 0, 0], 0.3975),
            ("nDCG(gain=exp)@3", [1, 1, 2], [3, 2, 1, 1, 0, 0], 0.3333),
            ("nDCG(gain=exp)@3", [0, 3, 0], [3, 2, 1, 1, 0, 0], 0.4702),
            ("Bpref", [1], [1, 1], 0.5),
            ("CappedR@2", [1, 1], [1] * 5, 1.0),
            ("R@2", [1, 1], [1] * 5, 0.4),
            ("F@2", [1, 0], [1, 1], 0.5),
            ("Rprec", [1, 0, 1], [1, 0, 1], 0.5),
            ("nDCG(gain={1:0.25,2:0.5,3:0.75})@3", [3, 2, 1], [3, 2, 1], 1.0),
            ("nDCG(gain={1:5,2:1})@2", [2, 1], [2, 1], (1 + 5 / math.log2(3)) / (5 + 1 / math.log2(3))),
            ("nDCG@3", [0.5, 0.25], [0.5, 0.25], 1.0),
            ("DCG(discount=zipf)@3", [1, 1, 1], None, 1 + 1 / 2 + 1 / 3),
            ("DCG(discount=none)@3", [1, 2, 3], None, 6.0),
            ("DCG(discount=jk10)@12", [1] * 12, None, 10 + 1 / math.log10(11) + 1 / math.log10(12)),
            ("nDCG(rel=2)@3", [1, 2], [2, 1], 1 / math.log2(3)),
            ("Accuracy", [1, 0, 1, 0], [1, 0, 1, 0], 0.75),
            ("Accuracy@3", [1, 0, 1, 0], [1, 0, 1, 0], 0.5),
            ("Accuracy@2", [1, 0, 1, 0], [1, 0, 1, 0], 1.0),
            ("IPrec@0.1", [1, 0, 0, 1], [1] * 14, 0.5),
            ("IPrec(levels=nearest)@0.1", [1, 0, 0, 1], [1] * 14, 1.0),
            ("IPrec(levels=nearest)@0.1", [1, 0, 0, 1], [1] * 15, 0.5),
            ("IPrec@0.1", [1, 0, 0, 1], [1] * 10, 1.0),
            ("IPrec@0.1", [1, 0, 0, 1], [1] * 11, 0.5),
            ("RBPResidual(p=0.5)", [1, None], [1], 0.5),
            ("RBPResidual(p=0.5)", [1, 0], [1, 0], 0.25),
        ],
    )
    def test_small_cases(self, measure: str, grades: list[Any], ideal: list[float] | None, expected: float) -> None:
        assert value(measure, grades, ideal) == pytest.approx(expected, abs=5e-5)

    def test_the_base_of_the_logarithm_cancels(self) -> None:
        """Only where the discount starts matters: with the original's start, the base does."""
        assert value("nDCG(discount=jk2)@10", self.A) != pytest.approx(
            value("nDCG(discount=jk10)@10", self.A), abs=1e-3
        )

    @pytest.mark.parametrize("discount", ["log2", "none", "zipf", "jk2", "jk10"])
    def test_discounts_that_are_looked_up_are_those_computed(self, discount: str) -> None:
        for k in (1, 10, TABLED - 1, TABLED, 3 * TABLED):
            rank = np.arange(1, 2 * k + 1)
            divisor = divisors(discount, rank, k)
            assert np.array_equal(divisor[:k], discount_function(discount)(rank[:k]))
            assert np.isinf(divisor[k:]).all()
            assert np.array_equal(divisors(discount, rank, None), discount_function(discount)(rank))

    def test_a_cut_run_is_not_a_cut_measure(self) -> None:
        hits = hits_of({"q": {"a": 3, "b": 3, "c": 3}}, {"q": {"a": 3.0, "b": 2.0, "c": 1.0}}, Protocol(depth=2))
        assert parse("nDCG")(hits)[0] == pytest.approx(0.7654, abs=5e-5)
        assert parse("nDCG@2")(hits)[0] == 1.0

    @pytest.mark.parametrize(
        ("rules", "measure", "judgments", "run", "expected"),
        [
            ({"ideal_depth": "returned"}, "nDCG@10", [3] * 5, 1, 1.0),
            ({"ideal": "retrieved"}, "nDCG@10", [1] * 5, 2, 1.0),
            ({"ideal_depth": "all"}, "nDCG@10", [3] * 20, 10, 0.6454),
            ({"ideal_order": "given"}, "nDCG(gain=exp)@3", [1, 0, 3], 3, 1.0),
            ({"negative": "as-is"}, "DCG@3", [2, -1], 2, 2 - 1 / math.log2(3)),
            ({"negative": "as-is"}, "IDCG@3", [2, -1], 1, 2 - 1 / math.log2(3)),
            ({"negative": "as-is"}, "DCG(gain=exp)@3", [2, -1], 2, 3 - 0.5 / math.log2(3)),
            ({"negative": "as-is"}, "DCG(gain=binary)@3", [2, -1], 2, 1.0),
        ],
    )
    def test_rules_of_the_ideal_and_of_negative_grades(
        self, rules: dict[str, Any], measure: str, judgments: list[float], run: int, expected: float
    ) -> None:
        """The first so many of the judged documents are returned, in the order of the judgments."""
        grades = {f"d{i:02}": grade for i, grade in enumerate(judgments)}
        scores = {doc: -float(i) for i, doc in enumerate(list(grades)[:run])}
        hits = hits_of({"q": grades}, {"q": scores}, Protocol(**rules))
        assert parse(measure)(hits)[0] == pytest.approx(expected, abs=5e-5)

    def test_perfect_is_exactly_one(self) -> None:
        for grades in itertools.product([0, 1, 2, 3], repeat=5):
            perfect = sorted(grades, reverse=True)
            assert value("nDCG@10", perfect) == (1.0 if any(grades) else 0.0)


class TestEveryMeasure:
    @pytest.mark.parametrize("name", MEASURES)
    def test_help_says_what_it_must(self, name: str) -> None:
        for line in ("Formula:", "Fewer than k:", "Nothing relevant:", "Paper:"):
            assert f"\n{line}" in MEASURES[name].help

    @pytest.mark.parametrize("measure", EVERY, ids=str)
    def test_text_and_value_are_inverses(self, measure: Measure) -> None:
        assert parse(str(measure)) == measure

    @pytest.mark.parametrize("measure", BOUNDED, ids=str)
    @settings(max_examples=12)
    @given(data=pairs())
    def test_bounds(self, measure: Measure, data: tuple[Nested, Nested]) -> None:
        values = measure(hits_of(*data))
        assert ((values >= 0) & (values <= 1 + 1e-12)).all()

    @pytest.mark.parametrize("measure", EVERY, ids=str)
    @settings(max_examples=12)
    @given(data=pairs())
    def test_a_query_is_measured_alone(self, measure: Measure, data: tuple[Nested, Nested]) -> None:
        """The value of a query does not depend on the other queries."""
        judgments, run = data
        hits = hits_of(judgments, run)
        for index, query in enumerate(hits.queries):
            if query in run:
                alone = measure(hits_of({query: judgments[query]}, {query: run[query]}))
                assert alone[0] == measure(hits)[index] or alone[0] != alone[0]

    @pytest.mark.parametrize("measure", EVERY, ids=str)
    def test_nothing_retrieved_and_nothing_judged_do_not_break(self, measure: Measure) -> None:
        hits = hits_of({"q": {"a": 1}, "r": {"b": -1}, "s": {"c": 0}}, {"q": {"x": 1.0}, "s": {"c": 1.0}})
        values = measure(hits)
        assert len(values) == 3
        if measure.definition.bounded and measure.definition.needs != "nothing":
            assert values.tolist() == [0, 0, 0]

    @pytest.mark.parametrize("measure", [m for m in EVERY if m.definition.needs != "nothing"], ids=str)
    def test_empty_queries_follow_the_protocol(self, measure: Measure) -> None:
        judgments, run = {"e": {"a": 0}, "q": {"a": 1}}, {"e": {"a": 1.0}, "q": {"a": 1.0}}
        assert measure(hits_of(judgments, run))[0] == 0
        assert math.isnan(measure(hits_of(judgments, run, Protocol(empty="skip")))[0])
        assert not math.isnan(measure(hits_of(judgments, run, Protocol(empty="skip")))[1])
        expected = 1.0 if measure.definition.bounded else 0.0
        assert measure(hits_of(judgments, run, Protocol(empty="one")))[0] == expected

    @pytest.mark.parametrize("measure", [m for m in EVERY if m.definition.needs != "nothing"], ids=str)
    def test_an_empty_query_as_an_error_or_one_if_unanswered(self, measure: Measure) -> None:
        judgments, run = {"e": {"a": 0}, "m": {"a": 0}, "q": {"a": 1}}, {"e": {"a": 1.0}, "q": {"a": 1.0}}
        with pytest.raises(MatchError, match="query 'e' has no relevant documents"):
            measure(hits_of(judgments, run, Protocol(empty="error")))
        values = measure(hits_of(judgments, run, Protocol(empty="one-if-unanswered")))
        assert values[:2].tolist() == [0, 1 if measure.definition.bounded else 0]

    def test_an_empty_query_that_is_missing_too_is_empty_first(self) -> None:
        judgments, run = {"e": {"a": 0}, "m": {"a": 1}, "q": {"a": 1}}, {"q": {"a": 1.0}}
        values = parse("nDCG@10")(hits_of(judgments, run, Protocol(empty="skip")))
        assert math.isnan(values[0])
        assert values[1:].tolist() == [0, 1]


class TestTies:
    CASES: ClassVar[list[tuple[list[Any], list[int]]]] = [
        ([3, 0, 2, 1, 0, 3, 2], [5, 4, 4, 4, 2, 2, 1]),
        ([0, 1, None, 1], [1, 1, 1, 1]),
        ([1, None, 0, 2, 1], [2, 2, 2, 1, 1]),
        ([0, 0, 1, None], [3, 2, 2, 2]),
        ([1, 1, 1], [1, 1, 1]),
        ([None, None, 0], [1, 1, 1]),
        ([2, -1, None, 0, 1], [1, 1, 1, 0, 0]),
    ]

    @staticmethod
    def orders(scores: list[int]) -> list[tuple[int, ...]]:
        """Every order of the documents that puts higher scores first."""
        groups = [
            [i for i, score in enumerate(scores) if score == level] for level in sorted(set(scores), reverse=True)
        ]
        products = itertools.product(*(itertools.permutations(group) for group in groups))
        return [tuple(itertools.chain.from_iterable(product)) for product in products]

    CUTS: ClassVar[dict[str | None, list[str]]] = {
        "k": ["", "@1", "@2", "@3", "@4", "@10"],
        "multiple": ["@0.4", "@1", "@2"],
        None: [""],
    }

    @pytest.mark.parametrize("place", range(6))
    @pytest.mark.parametrize("name", averaging())
    @pytest.mark.parametrize(("grades", "scores"), CASES)
    def test_average_is_the_mean_over_all_orders(
        self, name: str, place: int, grades: list[Any], scores: list[int]
    ) -> None:
        definition = MEASURES[name]
        cuts = self.CUTS[definition.cutoff]
        required = "k" in definition.parameters and definition.parameters["k"].default is inspect.Parameter.empty
        measure = parse(name + (cuts[place % len(cuts)] or "@2" * required))
        judged = [grade for grade in grades if grade is not None]
        each = [float(measure(hits_of_grades([grades[i] for i in order], judged))[0]) for order in self.orders(scores)]
        judgments = {"q": {f"d{i}": grade for i, grade in enumerate(grades) if grade is not None}}
        run = {"q": {f"d{i}": float(score) for i, score in enumerate(scores)}}
        averaged = measure(hits_of(judgments, run, Protocol(ties="average")))[0]
        assert averaged == pytest.approx(sum(each) / len(each), abs=1e-12)

    @pytest.mark.parametrize(
        ("k", "expected"), [(2, 0.7420981285), (3, 0.7010143365), (5, 0.7200516721), (7, 0.8882323551)]
    )
    def test_published_expectations(self, k: int, expected: float) -> None:
        grades, scores = self.CASES[0]
        judgments = {"q": {f"d{i}": grade for i, grade in enumerate(grades)}}
        run = {"q": {f"d{i}": float(score) for i, score in enumerate(scores)}}
        values = parse(f"nDCG@{k}")(hits_of(judgments, run, Protocol(ties="average")))
        assert values[0] == pytest.approx(expected, abs=1e-10)

    def test_three_conventions_for_one_tie(self) -> None:
        judgments, run = {"q": {"d3": 1}}, {"q": {"d1": 1.0, "d2": 1.0, "d3": 1.0}}
        assert parse("nDCG")(hits_of(judgments, run))[0] == 1.0
        assert parse("nDCG")(hits_of(judgments, run, Protocol(ties="given")))[0] == 0.5
        average = parse("nDCG")(hits_of(judgments, run, Protocol(ties="average")))[0]
        assert average == pytest.approx(0.7103, abs=5e-5)

    def test_precision_and_judged_see_one_order(self) -> None:
        for run in ({"q": {"a": 1.0, "U": 1.0}}, {"q": {"U": 1.0, "a": 1.0}}):
            hits = hits_of({"q": {"a": 1}}, run)
            assert parse("P@1")(hits)[0] == parse("Judged@1")(hits)[0]

    @pytest.mark.parametrize("measure", [m for m in EVERY if not m.definition.averages], ids=str)
    def test_others_refuse_and_name_those_that_can(self, measure: Measure) -> None:
        hits = hits_of({"q": {"a": 1}}, {"q": {"a": 1.0}}, Protocol(ties="average"))
        with pytest.raises(MeasureError, match="nDCG, DCG, IDCG, ERR, RBP, P, R, RR, AP, Success, F, CappedR, Rprec, "):
            measure(hits)


class TestText:
    @pytest.mark.parametrize(
        ("text", "canonical"),
        [
            ("ndcg_cut_10", "nDCG@10"),
            ("ndcg_cut.10", "nDCG@10"),
            ("NDCG@10", "nDCG@10"),
            ("ndcg", "nDCG"),
            ("nDCG(dcg='exp-log2')@10", "nDCG(gain=exp)@10"),
            ('nDCG(dcg="log2")@10', "nDCG@10"),
            ("nDCG(gains={0: 0, 1: 1, 2: 5})@10", "nDCG(gain={0:0,1:1,2:5})@10"),
            ("nDCG(cutoff=10)", "nDCG@10"),
            ("ndcg_burges@10", "nDCG(gain=exp)@10"),
            ("dcg_burges", "DCG(gain=exp)"),
            ("map", "AP"),
            ("MAP@100", "AP@100"),
            ("map_cut_5", "AP@5"),
            ("AP(rel=2)", "AP(rel=2)"),
            ("P_5", "P@5"),
            ("P.5", "P@5"),
            ("precision@5", "P@5"),
            ("precision@5-l2", "P(rel=2)@5"),
            ("recall_100", "R@100"),
            ("recall@100", "R@100"),
            ("recip_rank", "RR"),
            ("mrr@10", "RR@10"),
            ("hit_rate@5", "Success@5"),
            ("success_5", "Success@5"),
            ("f1@10", "F@10"),
            ("r-precision", "Rprec"),
            ("bpref", "Bpref"),
            ("rbp", "RBP(p=0.9,gain=graded)"),
            ("rbp.95", "RBP(p=0.95,gain=linear)"),
            ("rbp_resid", "RBPResidual(p=0.9)"),
            ("iprec_at_recall_0.10", "IPrec@0.1"),
            ("iprec_at_recall.0.10", "IPrec@0.1"),
            ("Rprec_mult_0.20", "RprecMult@0.2"),
            ("unj_5", "Unjudged@5"),
            ("relative_P_5", "CappedR@5"),
            ("set_F", "SetF"),
            ("SetP", "SetP"),
            ("num_q", "NumQ"),
            ("ndcg_rel", "nDCGrel"),
            ("P(rel=1)@5", "P(rel=1)@5"),
            (" nDCG@10 ", "nDCG@10"),
            ("nDCG(gain=linear)@10", "nDCG@10"),
            ("11pt_avg(points=0.25;0.5)", "11pt_avg(points=0.25;0.5)"),
        ],
    )
    def test_spellings(self, text: str, canonical: str) -> None:
        assert str(parse(text)) == canonical

    @given(
        st.dictionaries(st.integers(0, 9), st.floats(-1e6, 1e6, allow_nan=False), min_size=1),
        st.sampled_from(["log2", "none", "zipf", "jk2", "jk2.5"]),
        st.none() | st.integers(1, 10**9),
    )
    def test_any_parameters_come_back(self, gain: dict[int, float], discount: str, k: int | None) -> None:
        from rankgauge.measures.gains import gain_text

        measure = parse(f"nDCG(gain={gain_text(gain)},discount={discount})" + (f"@{k}" if k else ""))
        assert parse(str(measure)) == measure
        assert dict(measure.parameters)["gain"] == gain_text(gain)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("ndgc@10", r"unknown measure 'ndgc@10'; did you mean 'nDCG@10'\? 'rankgauge measures' lists all"),
            ("recal@10", "did you mean 'recall@10'"),
            ("xyzzy", "unknown measure 'xyzzy'; 'rankgauge measures' lists all"),
            ("nDCG@0", "k is a whole number, 1 or more and at most 1,000,000,000, not '0'"),
            ("nDCG@ten", "k is a whole number"),
            ("nDCG@", "is not a measure"),
            ("", "is not a measure"),
            ("P", "P needs a cut-off; write P@10"),
            ("nDCG(foo=1)", "nDCG has no parameter 'foo'; it has k, gain, discount, rel"),
            ("nDCG(exp)@10", "is not a parameter; write it as name=value"),
            ("Bpref@5", "Bpref has no cut-off"),
            ("nDCG(gain=cubic)", "is not a gain; expected linear, exp, binary or a map"),
            ("nDCG(gain={1:x})", "expected grade:gain pairs"),
            ("nDCG(discount=ln)", "expected log2, none, zipf, or jk and a base above 1"),
            ("nDCG(discount=jk1)", "a base above 1"),
            ("nDCG@99999999999999999999", "at most 1,000,000,000"),
            ("P(rel=nan)@5", "rel is a finite number, 0 or more, not nan"),
            ("IPrec@2", "recall is a number from 0 to 1, not 2"),
            ("ERR(max=2000)", "max is a number from 0 to 1000"),
            ("nDCG(rel=2}gain=exp)@10", "cannot tell the parameters apart"),
            ("nDCG(k=5)@10", "k is there twice"),
            ("nDCG(gain=exp,gain=linear)", "gain is there twice"),
            ("nDCG@10,R@100", r"one measure at a time \(several are a list\)"),
            ("nDCG@10, map", r"one measure at a time \(several are a list\)"),
        ],
    )
    def test_mistakes(self, text: str, message: str) -> None:
        with pytest.raises(MeasureError, match=message):
            parse(text)

    def test_what_only_the_data_can_tell(self) -> None:
        with pytest.raises(MeasureError, match=r"the judgments have grade 5; write max=5"):
            value("ERR@10", [5])
        with pytest.raises(MeasureError, match="expected k or returned"):
            value("P(by=both)@3", [1])
        with pytest.raises(MeasureError, match="expected R, min or hits"):
            value("AP(norm=max)", [1])
        with pytest.raises(MeasureError, match="no exact average"):
            parse("AP(norm=hits)")(hits_of({"q": {"a": 1}}, {"q": {"a": 1.0}}, Protocol(ties="average")))
        with pytest.raises(MeasureError, match="persistence lies between 0 and 1"):
            value("RBP(p=1)", [1])


def test_a_measure_of_ones_own() -> None:
    @rankgauge.measure(needs="nothing")
    def Half(hits: Hits, k: int = 2, *, share: float = 0.5) -> np.ndarray[Any, Any]:
        """Always the same."""
        return np.full(len(hits.queries), share * k)

    try:
        parse.cache_clear()
        assert value("Half", [1]) == 1.0
        assert value("half(share=0.25)@3", [1]) == 0.75
    finally:
        del MEASURES["Half"]
        parse.cache_clear()
