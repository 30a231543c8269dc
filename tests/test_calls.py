"""Public functions called with wrong arguments: the error names the right one."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import rankgauge
from rankgauge.errors import RankgaugeError

GRADES = {"q1": {"d1": 3}}
SCORES = {"q1": {"d1": 0.9}}
RUNS = {"a": SCORES}


@pytest.mark.parametrize(
    ("name", "given", "named", "words"),
    [
        ("evaluate", (GRADES, SCORES), {"ties": "average"}, "it is a rule: protocol={'ties': 'average'}"),
        ("evaluate", (GRADES, SCORES), {"k": 10}, "the cut-off is part of the measure: 'nDCG@10'"),
        ("evaluate", (), {"qrels": GRADES, "run": SCORES}, "evaluate has no argument 'qrels'; write judgments="),
        ("evaluate", (GRADES, SCORES), {"metrics": "RR"}, "evaluate has no argument 'metrics'; write measures="),
        ("evaluate", (GRADES, SCORES), {"weihgts": 1}, "no argument 'weihgts'; did you mean 'weights'? Its arguments"),
        ("evaluate", (GRADES,), {}, "evaluate lacks run; write evaluate(judgments, run)"),
        ("evaluate", (GRADES,), {"judgments": GRADES, "run": SCORES}, "has judgments twice, by place and by name"),
        ("compare", (GRADES, RUNS), {"metric": "RR"}, "compare has no argument 'metric'; write measures="),
        ("plan", (), {}, "plan lacks deviation; write plan(deviation)"),
        ("plan", ("x",), {}, 'deviation is "x"; expected a number such as 0.2, or a pilot'),
        ("plan", (GRADES, SCORES), {}, "plan takes deviation by place; name the others: differences=,"),
        ("parse", (["nDCG@10"],), {}, "parse takes one text at a time, not a list"),
        ("parse", (None,), {}, "the text of one measure, such as 'nDCG@10', not None"),
        ("tie_band", (GRADES, SCORES), {}, "tie_band takes hits and a measure: tie_band(match(judgments, run), 'nD"),
        ("pool", (), {}, "pool lacks runs; write pool(runs)"),
        ("pool", (RUNS,), {"k": 10}, "pool has no argument 'k'; write depth="),
        ("pool", (RUNS,), {"depth": "x"}, "depth='x': give a whole number from 1"),
        ("pool", (RUNS,), {"qrels": GRADES}, "pool has no argument 'qrels'; write judged="),
        ("pool", (RUNS,), {"documents": "a.jsonl"}, 'documents is "a.jsonl" (str); expected a dict of id → fields'),
        ("pool", (RUNS,), {"documents": [{"id": "d"}]}, "(list); expected a dict of id → fields"),
        ("pool", (RUNS,), {"queries": ["q1"]}, "(list); expected a dict of query id → text"),
        ("pool", (RUNS, GRADES), {}, "pool takes runs by place; name the others: depth=, take="),
    ],
)
def test_a_wrong_argument_is_told_with_the_right_one(name: str, given: Any, named: dict[str, Any], words: str) -> None:
    with pytest.raises(RankgaugeError) as raised:
        getattr(rankgauge, name)(*given, **named)
    assert words in str(raised.value)


def test_a_frame_of_documents_is_refused_too() -> None:
    polars = pytest.importorskip("polars")
    with pytest.raises(rankgauge.InputError, match=r"\(DataFrame\); expected a dict of id → fields"):
        rankgauge.pool(RUNS, documents=polars.DataFrame({"id": ["d1"], "text": ["x"]}))


def test_a_wrong_call_is_a_type_error_as_everywhere_in_python() -> None:
    with pytest.raises(TypeError):
        rankgauge.evaluate(GRADES)  # type: ignore[call-arg]


def test_a_fault_inside_stays_what_it_is() -> None:
    def broken() -> None:
        len(3)  # type: ignore[arg-type]

    from rankgauge.calls import checked

    with pytest.raises(TypeError) as raised:
        checked(broken, "broken")()
    assert not isinstance(raised.value, RankgaugeError)


@pytest.mark.parametrize("name", [name for name in rankgauge.__all__ if name.islower()])
def test_every_function_says_so_and_can_be_sent_to_another_process(name: str) -> None:
    function = getattr(rankgauge, name)
    assert pickle.loads(pickle.dumps(function)) is function
    with pytest.raises(rankgauge.InputError, match=f"^{name} has no argument 'no_such'"):
        function(no_such=1)
