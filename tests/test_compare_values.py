"""Values: the table of queries × systems that comparisons rest on, and what may not be put into one."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankgauge
from rankgauge.comparison.value_tables import values_of_tables
from rankgauge.comparison.values import Values, comparable, values_of_results, with_clusters
from rankgauge.errors import FormatError, InputError, MeasureError, ProtocolError
from rankgauge.measures import parse
from rankgauge.result import Result

JUDGMENTS = {"q1": {"d1": 3, "d2": 1}, "q2": {"d1": 1}, "q3": {"d5": 2}, "q4": {"d1": 0}}
GOOD = {"q1": {"d1": 2.0, "d2": 1.0}, "q2": {"d1": 1.0}, "q3": {"d5": 1.0}, "q4": {"d9": 1.0}}
PART = {"q1": {"d2": 2.0, "d1": 1.0}, "q2": {"d9": 1.0, "d1": 0.5}}


def values_of_runs(judgments: Any, runs: Any, measures: Any, **more: Any) -> dict[str, Values]:
    return values_of_results(rankgauge.evaluate_runs(judgments, runs, measures, **more))


def test_a_query_that_is_not_answered_counts_as_the_protocol_says() -> None:
    runs = {"good": GOOD, "part": PART}
    zero = values_of_runs(JUDGMENTS, runs, [parse("nDCG@10")])["nDCG@10"]
    assert zero.queries == ["q1", "q2", "q3", "q4"]
    assert zero.dropped == {}
    assert zero.table[2].tolist() == [1.0, 0.0]
    skip = values_of_runs(JUDGMENTS, runs, [parse("nDCG@10")], protocol=rankgauge.Protocol(missing="skip"))["nDCG@10"]
    assert skip.queries == ["q1", "q2"]
    assert skip.dropped == {"q3": "not answered by part", "q4": "not answered by part"}


def test_the_values_are_those_of_evaluate_in_the_order_of_the_systems() -> None:
    values = values_of_runs(JUDGMENTS, {"part": PART, "good": GOOD}, [parse("nDCG@10"), parse("R@1")])
    for measure, table in values.items():
        assert table.systems == ["part", "good"]
        for name, run in (("part", PART), ("good", GOOD)):
            result = rankgauge.evaluate(JUDGMENTS, run, measure)
            assert table.mean(name) == pytest.approx(result[measure], abs=1e-15)
            assert dict(zip(table.queries, table.of(name).tolist(), strict=True)) == {
                query: value[measure] for query, value in result.to_dict().items()
            }


def test_an_empty_query_that_is_left_out_is_named() -> None:
    protocol = rankgauge.Protocol(empty="skip")
    values = values_of_runs(JUDGMENTS, {"a": GOOD, "b": PART}, [parse("AP")], protocol=protocol)["AP"]
    assert values.dropped == {"q4": "has nothing relevant"}


def test_weights_and_groups_follow_their_queries() -> None:
    weights = {"q1": 1, "q2": 2, "q3": 3, "q4": 4}
    groups = {"q1": "head", "q3": "tail", "q4": "tail"}
    protocol = rankgauge.Protocol(empty="skip")
    measures = [parse("AP")]
    made = values_of_runs(JUDGMENTS, {"a": GOOD, "b": PART}, measures, protocol=protocol, weights=weights, by=groups)
    values = made["AP"]
    assert values.weights is not None
    assert values.weights.tolist() == [1, 2, 3]
    assert {name: mask.tolist() for name, mask in values.groups.items()} == {
        "head": [True, False, False],
        "tail": [False, False, True],
    }
    assert values.mean("b") == pytest.approx((1 * 1 + 2 * 0.5) / 6)


def test_results_on_other_judgments_are_refused() -> None:
    # The same grades for every query, on other documents.
    swapped = {**JUDGMENTS, "q1": {"d1": 1, "d2": 3}}
    ours, theirs = rankgauge.evaluate(JUDGMENTS, GOOD), rankgauge.evaluate(swapped, GOOD)
    assert np.array_equal(ours.hits.judgment_grade, theirs.hits.judgment_grade)
    with pytest.raises(InputError, match=r"old and new rest on different judgments .* evaluate both again"):
        values_of_results({"old": ours, "new": theirs})


def test_results_under_other_rules_are_refused() -> None:
    ours = rankgauge.evaluate(JUDGMENTS, GOOD)
    theirs = rankgauge.evaluate(JUDGMENTS, GOOD, protocol=rankgauge.Protocol(missing="skip"))
    with pytest.raises(ProtocolError, match=r"different rules \(missing=zero and skip\)"):
        values_of_results({"old": ours, "new": theirs})


def test_judgments_that_one_does_not_know_are_compared_among_the_others() -> None:
    known = [{"judgments": each, "protocol": "p"} for each in (None, "x", "y")]
    with pytest.raises(InputError, match="b and c rest on different judgments"):
        comparable(dict(zip("abc", known, strict=True)))
    comparable({"a": known[0], "b": known[0]})


def test_results_of_other_definitions_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = rankgauge.evaluate(JUDGMENTS, GOOD), rankgauge.evaluate(JUDGMENTS, PART)
    meanings = {id(ours): "one thing", id(theirs): "another"}
    monkeypatch.setattr(Result, "definitions", property(lambda self: {"nDCG@10": meanings[id(self)]}))
    with pytest.raises(MeasureError, match=r"does not mean the same to old \(one thing\) and to new \(another\)"):
        values_of_results({"old": ours, "new": theirs}, ["nDCG@10"])


def test_a_table_without_values_is_refused(tmp_path: Path) -> None:
    """The same for a pilot of `plan`, which reads it here too."""
    (tmp_path / "v.csv").write_text("query_id,a,b\n")
    (tmp_path / "s.json").write_text(
        '{"runs": [{"run": "a", "per_query": {}}], "protocol": {}, "fingerprints": {"protocol": "p", "judgments": "j"}}'
    )
    for measures in (None, ["nDCG@10"]):
        with pytest.raises(FormatError, match=r"v.csv: holds no rows below its header query_id, a, b"):
            values_of_tables([tmp_path / "v.csv"], measures)
    with pytest.raises(FormatError, match=r"s.json: holds no values of any measure"):
        values_of_tables([tmp_path / "s.json"], None)


def test_what_is_not_a_mean_is_refused() -> None:
    with pytest.raises(MeasureError, match="not a mean over queries"):
        values_of_runs(JUDGMENTS, {"a": GOOD, "b": PART}, [parse("gm_map")])


def test_the_fingerprint_of_judgments_is_of_their_content(tmp_path: Path) -> None:
    rows = [(query, doc, grade) for query, docs in JUDGMENTS.items() for doc, grade in docs.items()]
    random.Random(3).shuffle(rows)
    (tmp_path / "q.txt").write_text("".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in rows))
    rankgauge.write(rankgauge.read_judgments(JUDGMENTS), tmp_path / "q.parquet")
    sources = [JUDGMENTS, tmp_path / "q.txt", tmp_path / "q.parquet"]
    read = [rankgauge.read_judgments(source) for source in sources]
    assert {judgments.is_columns for judgments in read} == {True, False}
    assert len({judgments.fingerprint for judgments in read}) == 1
    changed = [
        {**JUDGMENTS, "q2": {"d1": 2}},
        {**JUDGMENTS, "q2": {"d2": 1}},
        {**JUDGMENTS, "q5": {"d1": 1}},
        {**JUDGMENTS, "q1": {"d1": 1, "d2": 3}},
    ]
    prints = {rankgauge.read_judgments(judgments).fingerprint for judgments in [JUDGMENTS, *changed]}
    assert len(prints) == 5


def test_clusters_number_their_queries_and_leave_the_others_alone() -> None:
    values = values_of_runs(JUDGMENTS, {"a": GOOD, "b": PART}, [parse("AP")])["AP"]
    clustered = with_clusters(values, {"q1": "u", "q3": "u", "q4": ""})
    assert clustered.clusters is not None
    assert clustered.clusters.tolist() == [0, 1, 0, 2]
    with pytest.raises(InputError, match="no query is in any cluster"):
        with_clusters(values, {"x": "u"})
