"""Explain: rows that add up for every measure, changes that equal re-evaluation, hand-worked tables, bad input."""

from __future__ import annotations

import math
import random
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankgauge
from rankgauge import Explanation, Protocol, explain
from rankgauge.errors import InputError, MatchError, MeasureError, RankgaugeError, RankgaugeWarning
from rankgauge.explanation.query import terms
from rankgauge.explanation.query.explain import changes
from rankgauge.explanation.query.explanation import Change
from rankgauge.explanation.query.ranking import ranking_of_grades, ranking_of_query
from rankgauge.explanation.query.terms import RULES
from rankgauge.measures import MEASURES, Measure, parse
from samples import DOCS, GRADES, SCORES

CUT = {"k": "@3", "recall": "@0.4", "multiple": "@0.6"}
EVERY = [parse(name + CUT.get(row.cutoff or "", "")) for name, row in MEASURES.items()]
ADDING = [measure for measure in EVERY if measure.definition.aggregate == "mean"]
OTHERS = [
    "nDCG", "nDCG(gain=exp)@5", "nDCG(gain={0:-1,1:3,2:1})@5", "DCG(discount=zipf)", "R(rel=2)@4", "AP@4", "RR@2",
    "RBP(gain=graded)", "utility(a=2,b=-1,c=-3,d=0.5,documents=50)", "11pt_avg(points=0.2;0.8,levels=nearest)",
]  # fmt: skip
MEASURED = [*ADDING, *map(parse, OTHERS)]
PROTOCOLS = [
    Protocol(),
    Protocol(ties="given"),
    Protocol(order="given"),
    Protocol(unjudged="condensed"),
    Protocol(depth=4),
    Protocol(depth=3, unjudged="condensed", rel=2),
    Protocol(empty="one"),
    Protocol(rel=0),
]
AVERAGE = Protocol(ties="average")
TIED = st.sampled_from([0.0, 1.0, 2.0])
Cases = tuple[dict[str, float], dict[str, float]]


@st.composite
def one_query(draw: st.DrawFn, scores: st.SearchStrategy[float] = SCORES) -> Cases:
    """Judgments and scores of one query."""
    judged: dict[str, float] = {**draw(st.dictionaries(DOCS, GRADES, min_size=1, max_size=12))}
    return judged, draw(st.dictionaries(DOCS, scores, min_size=1, max_size=12))


def value_of(judged: Mapping[str, float], run: Mapping[str, float], measure: Measure, protocol: Protocol) -> float:
    """The value from scratch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankgaugeWarning)
        hits = rankgauge.match(rankgauge.Judgments({"q": judged}), rankgauge.Run({"q": run}), protocol)
    return float(measure(hits)[0])


def added_up(explanation: Explanation) -> float:
    return math.fsum(row.contribution for row in explanation.rows) + (
        explanation.rest.contribution if explanation.rest else 0.0
    )


@pytest.mark.parametrize("measure", MEASURED, ids=str)
@settings(max_examples=25)
@given(case=one_query(), protocol=st.sampled_from(PROTOCOLS))
def test_rows_add_up_to_the_value(measure: Measure, case: Cases, protocol: Protocol) -> None:
    judged, run = case
    found = explain({"q": judged}, {"q": run}, "q", measure, protocol=protocol)
    assert found.value == pytest.approx(value_of(judged, run, measure, protocol), abs=1e-12)
    assert added_up(found) == pytest.approx(found.value, abs=1e-12)
    totals = [math.fsum(row.contribution for row in found.rows[: i + 1]) for i in range(len(found.rows))]
    assert [row.total for row in found.rows] == pytest.approx(totals, abs=1e-12)
    if found.idcg and measure.name == "nDCG":
        assert found.ideal_value == pytest.approx(1.0, abs=1e-12)
    if found.levels and found.rest is None:
        assert math.fsum(level.contribution for level in found.levels) == pytest.approx(found.value, abs=1e-12)


@pytest.mark.parametrize("measure", [m for m in MEASURED if m.definition.averages], ids=str)
@settings(max_examples=40)
@given(case=one_query(TIED))
def test_rows_add_up_where_ties_are_averaged(measure: Measure, case: Cases) -> None:
    judged, run = case
    found = explain({"q": judged}, {"q": run}, "q", measure, protocol=AVERAGE)
    assert found.value == pytest.approx(value_of(judged, run, measure, AVERAGE), abs=1e-12)
    assert added_up(found) == pytest.approx(found.value, abs=1e-12)
    shares: dict[tuple[float, float | None], list[float]] = {}
    for row in found.rows if measure.name != "IDCG" else ():
        shares.setdefault((run[row.doc_id], row.grade), []).append(row.contribution)
    for equal in shares.values():
        assert equal == pytest.approx([equal[0]] * len(equal), abs=1e-12)


@pytest.mark.parametrize("name", ["RBPResidual", "utility", "nDCGrel"])
def test_only_what_belongs_to_no_rank_is_in_the_rest(name: str) -> None:
    found = explain(
        ranked_grades=[1, None, 0, 2], ideal_grades=[1, 0, 2, 2], measure=f"{name}(c=1)" if name == "utility" else name
    )
    assert found.rest is not None
    for measure in ADDING:
        if measure.name not in ("RBPResidual", "utility", "nDCGrel"):
            assert explain(ranked_grades=[1, None, 0, 2], ideal_grades=[1, 0, 2, 2], measure=measure).rest is None


def changed(docs: list[str], change: Change) -> list[str]:
    """The ranking after a change."""
    moved = list(docs)
    if change.kind == "insert":
        moved.insert(change.ranks[0] - 1, change.doc_ids[0])
        return moved
    upper, lower = (rank - 1 for rank in change.ranks)
    assert (moved[upper], moved[lower]) == change.doc_ids
    moved[upper], moved[lower] = moved[lower], moved[upper]
    return moved


def ranked(judged: Mapping[str, float], run: Mapping[str, float], protocol: Protocol) -> list[str]:
    """The whole ranking, by hand."""
    docs = [doc for _, doc in sorted(((score, doc) for doc, score in run.items()), reverse=True)]
    if protocol.ties == "given":
        docs = sorted(run, key=lambda doc: -run[doc])
    if protocol.order == "given":
        docs = list(run)
    return [doc for doc in docs[: protocol.depth] if protocol.unjudged != "condensed" or judged.get(doc, -1) >= 0]


@pytest.mark.parametrize("measure", MEASURED, ids=str)
@settings(max_examples=15)
@given(case=one_query(), protocol=st.sampled_from(PROTOCOLS))
def test_changes_equal_re_evaluation(measure: Measure, case: Cases, protocol: Protocol) -> None:
    judged, run = case
    found = explain({"q": judged}, {"q": run}, "q", measure, protocol=protocol, top=10_000)
    docs = ranked(judged, run, protocol)
    for change in found.would_raise:
        again = {doc: -float(place) for place, doc in enumerate(changed(docs, change))}
        value = value_of(judged, again, measure, protocol)
        assert change.value == pytest.approx(value, abs=1e-12)
        assert change.points == pytest.approx(value - found.value, abs=1e-12)
        assert change.points > 0
    assert [c.points for c in found.would_raise] == sorted((c.points for c in found.would_raise), reverse=True)


@settings(max_examples=40)
@given(case=one_query(), name=st.sampled_from(["nDCG@3", "AP", "P@3", "DCG(gain=exp)"]))
def test_no_swap_and_no_insertion_is_forgotten(case: Cases, name: str) -> None:
    judged, run = case
    measure, protocol = parse(name), Protocol()
    found = explain({"q": judged}, {"q": run}, "q", measure, top=10_000)
    docs = ranked(judged, run, protocol)
    listed = {(change.doc_ids[0], change.grades, round(change.points, 9)) for change in found.would_raise}
    raising = 0
    for upper in range(len(docs)):
        for lower in range(upper + 1, len(docs)):
            moved = list(docs)
            moved[upper], moved[lower] = moved[lower], moved[upper]
            value = value_of(judged, {doc: -float(i) for i, doc in enumerate(moved)}, measure, protocol)
            if value > found.value + 1e-12:
                raising += 1
                grades = (judged.get(docs[upper]), judged.get(docs[lower]))
                assert (docs[upper], grades, round(value - found.value, 9)) in listed
    if measure.cutoff is None:
        assert sum(change.kind == "swap" for change in found.would_raise) == raising
    inserted = {change.doc_ids[0] for change in found.would_raise if change.kind == "insert"}
    assert inserted <= {doc for doc in judged if doc not in run}
    if name == "AP":
        assert inserted == {doc for doc, grade in judged.items() if doc not in run and grade >= 1}


@pytest.mark.parametrize("measure", [m for m in MEASURED if m.name != "IDCG"], ids=str)
@settings(max_examples=15)
@given(case=one_query(), protocol=st.sampled_from(PROTOCOLS), top=st.sampled_from([1, 3, 5]))
def test_many_swaps_have_the_same_best(measure: Measure, case: Cases, protocol: Protocol, top: int) -> None:
    """Where not all are looked at, and where all are, in batches of one: the best are the best of all."""
    judged, run = case
    ranking = ranking_of_query(rankgauge.Judgments({"q": judged}), rankgauge.Run({"q": run}), "q", protocol)
    every, said = changes(ranking, measure, terms.value_of(ranking, measure), top)
    some, note = changes(ranking, measure, terms.value_of(ranking, measure), top, much=1, most_hits=10**6)
    assert [each.points for each in some] == pytest.approx([each.points for each in every], abs=1e-12)
    assert note == said


def test_a_long_ranking_needs_few_swaps() -> None:
    dice = random.Random(1)
    grades = [dice.choice([None, None, 0, 1, 2, 3]) for _ in range(1000)]
    found = explain(ranked_grades=grades, measure="AP", top=5)
    assert found.notes == ()
    relevant = [rank for rank, grade in enumerate(grades, 1) if grade]
    others = [rank for rank, grade in enumerate(grades, 1) if not grade]
    assert found.would_raise[0].ranks == (others[0], relevant[-1])


def test_too_many_swaps_are_said_to_be_too_many() -> None:
    """Of a measure that need not like better documents higher."""
    ranking, measure = ranking_of_grades([0, 1, None, 2, 0, 1, None, 2, 3], None, Protocol()), parse("infAP")
    whole, nothing = changes(ranking, measure, terms.value_of(ranking, measure), 100)
    some, note = changes(ranking, measure, terms.value_of(ranking, measure), 100, much=14, most_hits=10)
    assert nothing == ""
    assert re.fullmatch(
        r"of \d\d swaps, 10 were looked at: those that bring a better document into the first \d ranks", note
    )
    assert set(some) < set(whole)
    assert some[0] == whole[0]


@settings(max_examples=60)
@given(case=one_query() | one_query(TIED), name=st.sampled_from(["nDCG@3", "AP", "RR", "RBP"]))
def test_changes_where_ties_are_averaged_exchange_the_scores(case: Cases, name: str) -> None:
    judged, run = case
    found = explain({"q": judged}, {"q": run}, "q", name, protocol=AVERAGE, top=10_000)
    for change in found.would_raise:
        again = dict(run)
        if change.kind == "swap":
            one, other = change.doc_ids
            again[one], again[other] = run[other], run[one]
        else:
            below = sorted(run.values(), reverse=True)[change.ranks[0] - 1 :]
            again = {doc: score - 100 * (score in below) for doc, score in run.items()} | {change.doc_ids[0]: -45.0}
        assert change.value == pytest.approx(value_of(judged, again, parse(name), AVERAGE), abs=1e-12)


class TestWorkedExamples:
    A = (3, 2, 3, 0, 1, 2, 0, 1, 0, 2)

    def test_example_a(self) -> None:
        found = explain(ranked_grades=self.A, gain="exp")
        assert (found.measure, found.retrieved) == ("nDCG(gain=exp)@10", 10)
        assert found.dcg == pytest.approx(15.030923, abs=5e-7)
        assert found.idcg == pytest.approx(16.058637, abs=5e-7)
        assert found.value == pytest.approx(0.936002, abs=5e-7)
        terms = [7, 1.8928, 3.5, 0, 0.3869, 1.0686, 0, 0.3155, 0, 0.8672]
        assert [row.term for row in found.rows] == pytest.approx(terms, abs=5e-5)
        ideal = [7, 4.4165, 1.5, 1.2920, 1.1606, 0.3562, 0.3333, 0, 0, 0]
        assert [row.grade for row in found.ideal] == [3, 3, 2, 2, 2, 1, 1, 0, 0, 0]
        assert [row.term for row in found.ideal] == pytest.approx(ideal, abs=5e-5)
        assert found.ideal_value == pytest.approx(1.0)
        assert (found.would_raise[0].kind, found.would_raise[0].ranks) == ("swap", (2, 3))

    def test_a_judged_document_that_was_not_ranked_would_be_inserted_at_its_ideal_rank(self) -> None:
        found = explain(ranked_grades=self.A, ideal_grades=[*self.A, 3], gain="exp")
        assert found.value == pytest.approx(0.7875, abs=5e-5)
        best = found.would_raise[0]
        assert (best.kind, best.ranks, best.grades) == ("insert", (3,), (3.0,))

    def test_a_pick_is_carried_by_the_deciding_rank(self) -> None:
        for measure, rank in (("RR", 3), ("Success@5", 3), ("IPrec@0.5", 4)):
            found = explain(ranked_grades=[0, None, 1, 2, 0, 1], measure=measure)
            assert [row.rank for row in found.rows if row.contribution] == [rank], measure

    def test_the_best_of_several_precisions_decides(self) -> None:
        found = explain(ranked_grades=[0, 1, 1, 0, 1], measure="IPrec@0.1")
        assert [row.contribution for row in found.rows] == pytest.approx([0, 0, 2 / 3, 0, 0])

    def test_accuracy_is_shared_by_what_stands_behind(self) -> None:
        found = explain(ranked_grades=[1, 0, None, 1, 0], measure="Accuracy")
        assert [row.contribution for row in found.rows] == pytest.approx([1 / 2, 0, 0, 1 / 6, 0])

    def test_the_ideal_follows_the_gain_and_not_the_grade(self) -> None:
        found = explain(ranked_grades=[2, 1, 3, 0], measure="nDCG(gain={0:-1,1:9,3:0})@4")
        assert [row.grade for row in found.ideal] == [1, 2, 3]
        assert found.ideal_value == pytest.approx(1.0)

    def test_a_set_is_shared_equally(self) -> None:
        for measure in ("F@5", "SetF", "SetAP", "SetP", "SetR", "SetRelP"):
            found = explain(ranked_grades=[1, 0, None, 2], ideal_grades=[1, 0, 2, 1], measure=measure)
            shares = [row.contribution for row in found.rows]
            assert shares == pytest.approx([found.value / 2, 0, 0, found.value / 2]), measure

    def test_levels(self) -> None:
        found = explain(ranked_grades=[1, 0, 1], measure="11pt_avg")
        assert [level.name for level in found.levels] == [f"recall {n / 10:g}" for n in range(11)]
        assert [level.rank for level in found.levels] == [1] * 6 + [3] * 5

    def test_what_is_not_judged_adds_to_a_residual(self) -> None:
        found = explain(ranked_grades=[1, None, 0, None], measure="RBPResidual(p=0.5)")
        assert [row.contribution for row in found.rows] == pytest.approx([0, 0.25, 0, 0.0625])
        assert found.rest is not None
        assert found.rest.contribution == pytest.approx(0.0625)

    def test_the_only_query_need_not_be_named(self) -> None:
        run = {"q": {"a": 2.0, "b": 1.0}, "not judged": {"a": 1.0}}
        assert explain({"q": {"b": 1}}, run).query == "q"
        with pytest.raises(InputError, match=r"^which query\? judgments has 'q', 'r': name one$"):
            explain({"q": {"b": 1}, "r": {"a": 1}}, run)
        with pytest.raises(InputError, match=r"^which query\? judgments has none$"):
            explain({}, run)

    def test_bare_grades_and_a_run_say_the_same(self) -> None:
        run = {"q": {f"#{rank}": -rank for rank in range(1, 6)}}
        by_run = explain({"q": {"#1": 2, "#3": 1, "x": 3}}, run, "q", "nDCG@5")
        bare = explain(ranked_grades=[2, None, 1, None, None], ideal_grades=[3, 2, 1], measure="nDCG@5")
        assert [row.contribution for row in by_run.rows] == [row.contribution for row in bare.rows]
        assert by_run.value == bare.value


@pytest.mark.parametrize("measure", [m for m in EVERY if m not in ADDING], ids=str)
def test_what_has_no_ranks_to_share_says_why(measure: Measure) -> None:
    with pytest.raises(MeasureError, match=r"geometric mean|a count|a text"):
        explain(ranked_grades=[1, 0], measure=measure)


def test_every_rule_is_that_of_a_measure() -> None:
    assert set(RULES) <= set(MEASURES)


def test_a_measure_of_the_users_own() -> None:
    @rankgauge.measure(needs="nothing", bounded=False)
    def HalfGrades(hits: Any) -> Any:
        """Half the sum of the grades retrieved, and a hundred."""
        return hits.sum(hits.grade / 2) + 100.0

    try:
        found = explain(ranked_grades=[3, None, 1], measure="HalfGrades")
        assert [row.contribution for row in found.rows] == [1.5, 0, 0.5]
        assert found.rest is not None
        assert found.rest.contribution == 100
    finally:
        del MEASURES["HalfGrades"]
        parse.cache_clear()


JUDGED = {"q1": {"a": 3, "b": 1}, "q2": {"c": 1}, "empty": {"d": 0}}
RUN = {"q1": {"b": 2.0, "x": 1.5, "a": 1.0}, "empty": {"d": 1.0}, "extra": {"a": 1.0}}


class TestProtocols:
    def test_a_query_that_the_run_does_not_answer(self) -> None:
        found = explain(JUDGED, RUN, "q2")
        assert (found.value, found.rows) == (0.0, ())
        assert found.notes == ("the run does not answer this query",)
        assert [(c.kind, c.ranks, c.value) for c in found.would_raise] == [("insert", (1,), 1.0)]
        with pytest.raises(MatchError, match="does not answer query 'q2'"):
            explain(JUDGED, RUN, "q2", protocol=Protocol(missing="error"))

    def test_a_query_without_relevant_documents(self) -> None:
        assert explain(JUDGED, RUN, "empty").value == 0
        one = explain(JUDGED, RUN, "empty", protocol=Protocol(empty="one"))
        assert (one.value, added_up(one)) == (1.0, 1.0)
        assert "left out" in explain(JUDGED, RUN, "empty", protocol=Protocol(empty="skip")).notes[0]

    def test_columns_and_dicts_say_the_same(self) -> None:
        import polars as pl

        judged = pl.DataFrame({"query_id": ["q1", "q2", "q1"], "doc_id": ["a", "c", "b"], "relevance": [3, 1, 1]})
        run = pl.DataFrame(
            {"query_id": ["q1", "q2", "q1", "q1"], "doc_id": ["b", "z", "x", "a"], "score": [2.0, 9.0, 1.5, 1.0]}
        )
        assert explain(judged, run, "q1").to_dict() == explain(JUDGED, RUN, "q1").to_dict()

    def test_averaged_ties_are_pointed_out(self) -> None:
        tied = {"q1": {"a": 1.0, "x": 1.0, "b": 0.5}}
        found = explain(JUDGED, tied, "q1", "P@1", protocol=AVERAGE)
        assert found.notes == ("tied documents share what they add; they are shown in one of their orders",)
        assert {row.doc_id: row.contribution for row in found.rows}["a"] == 0.5
        assert explain(JUDGED, tied, "q1", "P@1").notes == ()


class TestBadInput:
    def test_an_unknown_query(self) -> None:
        with pytest.raises(InputError, match="'Q1' is neither in judgments nor in run; did you mean 'q1'"):
            explain(JUDGED, RUN, "Q1")
        with pytest.raises(InputError, match="has no judgments"):
            explain(JUDGED, RUN, "extra")

    @pytest.mark.parametrize(
        "arguments",
        [
            {"ranked_grades": [1, "x"]},
            {"ranked_grades": "3,2"},
            {"ranked_grades": []},
            {"ranked_grades": [1, math.inf]},
            {"ranked_grades": [3], "ideal_grades": [1]},
            {"ranked_grades": [3], "measure": "nDCG@5", "k": 3},
            {"ranked_grades": [3], "judgments": JUDGED},
            {"judgments": JUDGED, "run": RUN},
            {"judgments": JUDGED, "run": RUN, "query": "q1", "ideal_grades": [1]},
            {},
        ],
    )
    def test_what_cannot_be_explained(self, arguments: dict[str, Any]) -> None:
        with pytest.raises(RankgaugeError):
            explain(**arguments)

    def test_a_duplicate(self) -> None:
        rows = [("q1", "a", 1.0), ("q1", "a", 0.5)]
        with pytest.raises(InputError, match="twice"):
            explain(JUDGED, rows, "q1")


def test_every_query_of_a_real_run(shared: Path) -> None:
    judged = rankgauge.read_judgments(shared / "covid1" / "qrels.covid-round1.txt")
    run = rankgauge.read_run(shared / "covid1" / "runs" / "BM25R2.gz")
    for query, values in rankgauge.evaluate(judged, run, ["nDCG@10", "AP"]).to_dict().items():
        for measure, value in values.items():
            found = explain(judged, run, query, measure, top=0)
            assert found.value == pytest.approx(value, abs=1e-12)
            assert added_up(found) == pytest.approx(value, abs=1e-12)
