"""Explain under every rule of the protocol: its value is that of `evaluate`, and its rows add up to it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankgauge
from command import Command
from rankgauge import Explanation, Protocol, explain
from rankgauge.errors import MatchError, ProtocolError, RankgaugeWarning
from rankgauge.explanation.query.explanation import difference
from rankgauge.measures import MEASURES, Measure, parse
from rankgauge.protocol import RULES, IdealDepth, Ties
from samples import DOCS, GRADES

CUT = {"k": "@3", "recall": "@0.4", "multiple": "@0.6"}
NAMED = [parse(name + CUT.get(row.cutoff or "", "")) for name, row in MEASURES.items() if row.aggregate == "mean"]
OTHERS = [
    "nDCG", "nDCG(gain=exp)@5", "nDCG(gain={0:-1,1:3,2:1})@5", "nDCG(rel=2)@4", "IDCG", "IDCG(gain=exp)@5", "AP@2",
    "AP(norm=min)@4", "AP(norm=hits)@4", "R(rel=2)@5", "F@5", "CappedR@5", "RBP(gain=graded)", "RBP(gain=linear)@3",
    "nDCGrel(gain={0:-1,1:3,2:1})", "P(by=returned)@5", "utility(a=2,b=-1,c=-3,d=0.5,documents=50)",
]  # fmt: skip
MEASURED = [*NAMED, *map(parse, OTHERS)]
TIED = st.sampled_from([0.0, 1.0, 2.0, 3.0])
# Rules about files and about repeated documents have no part in a value's rows; an error is a test of its own.
ELSEWHERE = {"duplicates", "scores", "same_id"}
VALUES = {
    rule: [value for value in allowed if value != "error"] for rule, allowed in RULES.items() if rule not in ELSEWHERE
}
Cases = tuple[dict[str, float], dict[str, float]]


@st.composite
def protocols(draw: st.DrawFn) -> Protocol:
    """Any combination of rules that is allowed."""
    rules: dict[str, Any] = {rule: draw(st.sampled_from(values)) for rule, values in VALUES.items()}
    rules |= {"rel": draw(st.sampled_from([0, 1, 2])), "depth": draw(st.sampled_from([None, 1, 3, 5]))}
    rules["grades"] = draw(st.sampled_from(["any", "truncate"]))
    if rules["ties"] == "average":
        rules |= {"order": "score", "depth": None}
    return Protocol(**rules)


@st.composite
def one_query(draw: st.DrawFn) -> Cases:
    """Judgments and scores of one query."""
    grades = st.one_of(GRADES, st.sampled_from([0.5, -0.5, 1.5]))
    judged: dict[str, float] = {**draw(st.dictionaries(DOCS, grades, min_size=1, max_size=9))}
    return judged, draw(st.dictionaries(DOCS, TIED, max_size=9))


def two_queries(run: Mapping[str, float], protocol: Protocol) -> Any:
    """The run with a query beside it; with ranks, in the order of the dict, where the protocol is to read these."""
    if protocol.order != "rank":
        return {"zz": {"a": 1.0}} | ({"q": dict(run)} if run else {})
    rows = [("zz", "a", 1, 1.0), *(("q", doc, rank, score) for rank, (doc, score) in enumerate(run.items(), 1))]
    return pl.DataFrame(rows, schema=["query_id", "doc_id", "rank", "score"], orient="row")


def evaluated(judged: Mapping[str, float], run: Mapping[str, float], measure: Measure, protocol: Protocol) -> float:
    """What `evaluate` says of the query, NaN where it is left out; beside it is one that both files have."""
    judgments = {"q": judged, "zz": {"a": 1.0}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankgaugeWarning)
        values = rankgauge.evaluate(judgments, two_queries(run, protocol), [measure], protocol=protocol).to_dict()
    found = values.get("q", {}).get(str(measure))
    return math.nan if found is None else float(found)


def explained(judged: Mapping[str, float], run: Mapping[str, float], measure: Any, protocol: Protocol) -> Explanation:
    return explain({"q": judged, "zz": {"a": 1.0}}, two_queries(run, protocol), "q", measure, protocol=protocol, top=0)


def added_up(found: Explanation) -> float:
    return math.fsum(row.contribution for row in found.rows) + (found.rest.contribution if found.rest else 0.0)


@pytest.mark.parametrize("measure", MEASURED, ids=str)
@settings(max_examples=25)
@given(case=one_query(), protocol=protocols())
def test_the_value_is_that_of_evaluate_and_the_rows_add_up_to_it(
    measure: Measure, case: Cases, protocol: Protocol
) -> None:
    judged, run = case
    if protocol.ties == "average" and (not measure.definition.averages or "norm=hits" in str(measure)):
        return
    found, value = explained(judged, run, measure, protocol), evaluated(judged, run, measure, protocol)
    assert found.value == pytest.approx(value, abs=1e-12, nan_ok=True)
    if math.isnan(value):
        assert found.to_dict()["value"] is None
        assert "left out" in found.notes[-1]
        return
    assert added_up(found) == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("name", ["nDCG@3", "DCG(gain=exp)@5", "IDCG", "nDCG(gain={0:-1,1:3,2:1})"])
@settings(max_examples=60)
@given(case=one_query(), protocol=protocols())
def test_the_ideal_shown_is_the_one_divided_by(name: str, case: Cases, protocol: Protocol) -> None:
    judged, run = case
    found = explained(judged, run, name, protocol)
    ideal = parse(name.replace("nDCG", "DCG").replace("IDCG", "DCG").replace("DCG", "IDCG"))
    plain = Protocol.from_dict(protocol.to_dict() | {"empty": "zero", "missing": "zero"})
    assert found.idcg == pytest.approx(evaluated(judged, run, ideal, plain), abs=1e-12)
    ranks = [row.rank for row in found.ideal]
    assert ranks == list(range(1, len(ranks) + 1))
    for row in found.ideal:
        assert row.grade == (None if row.doc_id not in judged else pytest.approx(_taken(judged[row.doc_id], protocol)))
        if protocol.ideal == "retrieved":
            assert row.doc_id in run
    if protocol.ties != "average":
        assert math.fsum(row.term or 0.0 for row in found.ideal) == pytest.approx(found.idcg, abs=1e-12)
        for row in found.rows:  # what is shown as gained is what is added
            if not name.startswith("nDCG") and row.contribution:
                assert row.contribution == pytest.approx(row.term, abs=1e-12)


def _taken(grade: float, protocol: Protocol) -> float:
    return float(math.trunc(grade)) if protocol.grades == "truncate" else grade


Q = {"a": 3.0, "b": 0.0, "c": 1.0}
TIES = {"a": 1.0, "b": 1.0, "c": 1.0}


class TestWorked:
    def test_an_ideal_that_is_not_cut_is_shown_where_nothing_is_divided_by_it(self) -> None:
        judged = {"d0": -2.0, "d1": 1.0, "d2": 0.5, "d3": -0.5, "d4": -0.5, "d5": 1.5}  # which add up to 0
        found = explained(judged, {}, "nDCG@3", Protocol(negative="as-is-summed", ideal_depth="all"))
        assert [row.grade for row in found.ideal] == [1.5, 1, 0.5, -0.5, -0.5, -2]

    @pytest.mark.parametrize(("ties", "order"), [("worst", ["x", "b", "c", "a"]), ("best", ["a", "c", "b", "x"])])
    def test_ties_by_grade(self, ties: Ties, order: list[str]) -> None:
        found = explained(Q, TIES | {"x": 1.0}, "nDCG@10", Protocol(ties=ties))
        assert [row.doc_id for row in found.rows] == order

    def test_the_ideal_in_the_order_given(self) -> None:
        found = explained(Q, TIES, "nDCG@10", Protocol(ideal_order="given"))
        assert found.value == pytest.approx(0.7143, abs=5e-5)
        assert [row.doc_id for row in found.ideal] == ["a", "b", "c"]

    def test_one_if_unanswered(self) -> None:
        rule = Protocol(empty="one-if-unanswered")
        answered, unanswered = explained({"a": 0.0}, {"a": 2.0}, "nDCG@10", rule), explained({"a": 0}, {}, "AP", rule)
        assert (answered.value, answered.rest) == (0.0, None)
        assert (unanswered.value, added_up(unanswered)) == (1.0, 1.0)

    def test_an_ideal_of_what_was_retrieved(self) -> None:
        found = explained(Q, {"b": 3.0, "c": 2.0, "a": 1.0}, "AP@2", Protocol(ideal="retrieved"))
        assert [row.contribution for row in found.rows] == pytest.approx([0, 0.25])
        found = explain(
            ranked_grades=[1, 3, None, 2, -1],
            ideal_grades=[3, 3, 2, 1, -1, -1],
            k=3,
            protocol=Protocol(ideal="retrieved"),
        )
        assert [row.doc_id for row in found.ideal] == ["#2", "#4", "#1"]

    @pytest.mark.parametrize(("depth", "size"), [("k", 5), ("returned", 2), ("all", 6)])
    def test_the_depth_of_the_ideal(self, depth: IdealDepth, size: int) -> None:
        found = explain(
            ranked_grades=[3, 3], ideal_grades=[3, 3, 2, 1, 2, 2], k=5, protocol=Protocol(ideal_depth=depth)
        )
        assert len(found.ideal) == size
        assert found.ideal_value == 1.0
        assert any("the ideal ranking is" in note for note in found.notes) == (depth != "k")

    def test_a_negative_grade_that_counts_as_it_is(self) -> None:
        found = explain(ranked_grades=[3, -1, 2], k=3, protocol=Protocol(negative="as-is"))
        assert found.rows[1].gain == -1
        assert found.rows[1].term == pytest.approx(-1 / math.log2(3))
        assert [row.grade for row in found.ideal] == [3, 2, -1]
        assert found.idcg == pytest.approx(3 + 2 / math.log2(3) - 0.5)

    def test_nothing_to_find_may_be_an_error(self) -> None:
        with pytest.raises(MatchError, match="no relevant documents"):
            explained({"a": 0.0}, {"a": 2.0}, "nDCG@10", Protocol(empty="error"))

    def test_left_out_is_no_value(self) -> None:
        empty = explained({"a": 0.0}, {"a": 2.0}, "nDCG@10", Protocol(empty="skip"))
        missing = explained(Q, {}, "nDCG@10", Protocol(missing="skip"))
        assert [found.to_dict()["value"] for found in (empty, missing)] == [None, None]


def test_every_rule_is_tried() -> None:
    assert {*VALUES, *ELSEWHERE} == set(RULES)
    with pytest.raises(ProtocolError):
        Protocol(ties="average", order="given")


class TestCommand:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["--ranked-grades", "3,,2"], "--ranked-grades, place 2: nothing is there"),
            (["--ranked-grades", "3,2,"], "--ranked-grades, place 3: nothing is there"),
            (["--ranked-grades", "nan,1"], "--ranked-grades, place 1: 'nan' is not a finite number"),
            (
                ["--ranked-grades", "3", "--ideal-grades", "3,u"],
                "--ideal-grades, place 2: the ideal is made of judgments",
            ),
            (
                ["--ranked-grades", "3", "-o", "w.pdf"],
                "no format has the suffix .pdf; expected .txt, .md, .tex, .html, .htm, .json, .csv, .svg or .png",
            ),
        ],
    )
    def test_what_is_refused(self, arguments: list[str], words: str, command: Command) -> None:
        found = command("explain", *arguments)
        assert (found.code, found.out) == (2, "")
        assert words in " ".join(found.err.split())

    def test_grades_may_stand_apart(self, command: Command) -> None:
        apart, joined = (command("explain", "--ranked-grades", grades) for grades in ("3 2, u ,1", "3,2,u,1"))
        assert apart == joined
        assert apart.code == 0

    def test_two_runs_as_markdown_have_the_rest_and_the_notes(self) -> None:
        one, two = (explained(Q, run, "utility(c=-2)", Protocol()) for run in (TIES, {"b": 3.0, "y|*z": 0.5}))
        text = difference(one, two).show("markdown")
        assert "- not retrieved: +4.0000" in text
        unanswered = explained(Q, {}, "nDCG@10", Protocol())
        answered = explained(Q, TIES, "nDCG@10", Protocol())
        assert "- Note on B: the run does not answer this query." in difference(answered, unanswered).show("markdown")

    def test_no_difference_to_what_is_left_out(self) -> None:
        rule = Protocol(missing="skip")
        found = difference(explained(Q, TIES, "nDCG@10", rule), explained(Q, {}, "nDCG@10", rule))
        assert found.to_dict()["points"] is None
        assert "A − B = –" in found.show()
        assert '"points": null' in found.show("json")
