"""The library as a program uses it: options that a type checker knows, names of runs, frames, warnings, notebooks."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankgauge
from rankgauge import protocol
from rankgauge.comparison import settings
from rankgauge.measures import MEASURES
from rankgauge.protocol import RULES, Protocol, Rules
from rankgauge.stats import choice, ppi
from rankgauge.trust.judges import sets
from rankgauge.trust.online import align, units

JUDGED = {"q1": {"a": 2, "b": 1}, "q2": {"a": 1, "c": 0}}
RUN = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"c": 2.0, "a": 1.0}}


# ---- options that a type checker knows -------------------------------------------------------------------------------


def test_the_rules_are_typed_once_for_people_and_once_for_type_checkers() -> None:
    of_protocol = get_type_hints(Protocol)
    assert get_type_hints(Rules) == of_protocol
    for rule, meanings in RULES.items():
        assert set(get_args(of_protocol[rule])) == set(meanings), rule
    assert {*of_protocol} == {*RULES, "rel", "depth"}


@pytest.mark.parametrize(
    ("names", "table"),
    [
        (settings.Method, settings.METHODS),
        (settings.Also, settings.ALSO),
        (sets.Repeated, sets.POLICIES),
        (ppi.Interval, [*ppi.INTERVALS, *ppi.IDLE]),
        (choice.CriterionName, choice.CRITERIA),
        (align.Labels, align.LABELS),
        (protocol.Duplicates, RULES["duplicates"]),
    ],
)
def test_choices_are_those_of_the_table(names: Any, table: Iterable[str]) -> None:
    assert get_args(names) == tuple(table)


def test_units_of_an_alignment_are_those_of_the_table() -> None:
    assert get_args(get_args(get_type_hints(align.align)["unit"])[0]) == tuple(units.UNITS)


@pytest.mark.parametrize("name", [name for name in rankgauge.__all__ if name.islower()])
def test_no_option_of_a_public_function_is_left_to_guess(name: str) -> None:
    function = getattr(rankgauge, name)
    assert not [each for each in signature(function).parameters.values() if each.kind is each.VAR_KEYWORD]


if TYPE_CHECKING:  # for `make types`, to which an ignore that nothing needs is a mistake as well
    rankgauge.evaluate({}, {}, protocol={"ties": "average", "rel": 2})
    rankgauge.Protocol(empty="skip")
    rankgauge.compare({}, {}, method="holm", also=["bca"])
    rankgauge.plan(0.2, differences=0.02, systems=3)
    rankgauge.report({}, {}, baseline="a", second={"llm": {}}, repeated="mean")
    rankgauge.explain({}, {}, "q", protocol={"missing": "skip"})
    rankgauge.compare({}, ["a.run", "b.run"])

    # What is misspelled is refused.
    rankgauge.evaluate({}, {}, protocol={"ties": "avarage"})  # type: ignore[arg-type]
    rankgauge.evaluate({}, {}, protocol={"tie": "average"})  # type: ignore[arg-type]
    rankgauge.Protocol(empty="ship")  # type: ignore[arg-type]
    rankgauge.compare({}, {}, method="holmes")  # type: ignore[arg-type]
    rankgauge.compare({}, {}, also="bcca")  # type: ignore[arg-type]
    rankgauge.plan(0.2, sytems=3)  # type: ignore[call-arg]
    rankgauge.report({}, {}, basline="a")  # type: ignore[call-arg]
    rankgauge.align({}, criterion="pearsn")  # type: ignore[arg-type]
    rankgauge.agree({}, repeated="median")  # type: ignore[arg-type]


# ---- one way to name runs --------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, list[Path], str]:
    """Judgments, the runs `old.v1` and `new`, and a second judge, as files."""
    rows = [(query, doc, grade) for query, docs in JUDGED.items() for doc, grade in docs.items()]
    judgments, second = tmp_path / "people.qrels", tmp_path / "llm.qrels"
    for path in (judgments, second):
        path.write_text("".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in rows))
    old, new = tmp_path / "old.v1.run", tmp_path / "new.jsonl"
    rankgauge.write(rankgauge.read_run(RUN), old)
    rankgauge.write(rankgauge.read_run({"q1": {"b": 2.0, "a": 1.0}, "q2": {"a": 2.0}}), new)
    return str(judgments), [old, new], str(second)


STEMS = ["old.v1", "new"]


def test_paths_are_named_by_their_stem_everywhere(files: tuple[str, list[Path], str]) -> None:
    judgments, runs, second = files
    assert list(rankgauge.evaluate_runs(judgments, runs)) == STEMS
    assert [rankgauge.evaluate(judgments, run).name for run in runs] == STEMS
    assert rankgauge.compare(judgments, runs).first.values.systems == STEMS
    report = rankgauge.report(judgments, runs, second=[second], charts=False).facts
    assert list(report.results) == STEMS
    assert report.evidence.agreement is not None
    assert report.evidence.agreement.sets.judges == ["people", "llm"]
    assert [each.name for each in rankgauge.quality(judgments, runs).runs] == STEMS
    assert rankgauge.label_noise(judgments, runs, error_rate=0.1, draws=2).systems == STEMS
    assert list(rankgauge.unjudged_bounds(judgments, runs[0]).queries) == ["q1", "q2"]
    assert [each.name for each in rankgauge.ppi(judgments, second, runs).systems] == STEMS
    assert rankgauge.explain(judgments, runs[0], "q1").run == STEMS[0]
    agreement = rankgauge.agree(judgments, second, runs=runs)
    assert agreement.sets.judges == ["people", "llm"]
    assert agreement.systems is not None
    assert agreement.systems.systems == STEMS
    funnel = rankgauge.funnel(judgments, retrieved=runs[0], reranked=[runs[1]], restrict=True)
    assert list(funnel.systems) == ["new"]
    assert funnel.systems["new"].retriever == "old.v1"
    check = rankgauge.check(judgments, runs[1], runs[0], margin=0.1)
    assert (check.name, check.baseline) == ("new", "old.v1")
    bench = rankgauge.bench({"set": (judgments, runs)}, cache=False)
    assert set(bench.first.standings) == {*STEMS}


def test_names_come_from_a_mapping_from_results_or_from_the_path(files: tuple[str, list[Path], str]) -> None:
    judgments, runs, _ = files
    named = dict(zip(("a", "b"), runs, strict=True))
    results = [rankgauge.evaluate(judgments, run) for run in runs]
    assert rankgauge.compare(None, results).to_dict() == rankgauge.compare(judgments, runs).to_dict()
    assert rankgauge.compare(judgments, named).first.values.systems == ["a", "b"]
    assert list(rankgauge.evaluate_runs(judgments, [f"a={runs[0]}", runs[1]])) == ["a", "new"]
    read = [rankgauge.read_run(run) for run in runs]
    assert list(rankgauge.evaluate_runs(judgments, read)) == STEMS
    assert rankgauge.evaluate(judgments, {"mine": RUN}).name == "mine"
    assert rankgauge.explain(judgments, {"mine": RUN}, "q1").run == "mine"
    check = rankgauge.check(judgments, {"b": runs[1]}, {"a": runs[0]}, margin=0.1)
    assert (check.name, check.baseline) == ("b", "a")
    assert "old.v1" in str(rankgauge.charts.forest(results).to_dict())


def test_what_has_no_name_is_refused_in_words(files: tuple[str, list[Path], str]) -> None:
    judgments, runs, _ = files
    result = rankgauge.evaluate(judgments, RUN)
    refused: dict[str, tuple[Any, str]] = {
        "a run": (RUN, "name the systems.*got a dict without names"),
        "runs": ([RUN, RUN], "name the systems.*got a list without names"),
        "nothing": ([], "name the systems.*got nothing"),
        "two of a name": ([result, result], "two are named 'run'; give each system a name"),
        "results": ({"a": result}, "a Result, which was measured already"),
        "a path twice": ([runs[0], runs[0]], "is given twice"),
    }
    for given, said in refused.values():
        with pytest.raises(rankgauge.InputError, match=said):
            rankgauge.evaluate_runs(judgments, given)
    with pytest.raises(rankgauge.InputError, match="expected one run, got 2: a, b"):
        rankgauge.evaluate(judgments, {"a": RUN, "b": RUN})
    with pytest.raises(rankgauge.InputError, match=r"^the run is empty; expected query → document → score"):
        rankgauge.evaluate(judgments, {})


@pytest.mark.parametrize("measures", [[], (), iter([])])
def test_no_measure_is_refused(measures: Any) -> None:
    with pytest.raises(rankgauge.MeasureError, match=r"^there is no measure in the list; name one, such as nDCG@10"):
        rankgauge.evaluate({"q1": {"a": 1}}, RUN, measures)


# ---- what other libraries hold ---------------------------------------------------------------------------------------


def made(seed: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Judgments and a run with distinct scores."""
    dice = np.random.default_rng(seed)
    docs = [f"d{at}" for at in range(12)]
    judged = {f"q{at}": {doc: int(dice.integers(0, 4)) for doc in docs[:8]} for at in range(6)}
    run = {query: dict(zip(docs, dice.permutation(12).astype(float).tolist(), strict=True)) for query in judged}
    return judged, run


@pytest.mark.parametrize("seed", range(3))
def test_measures_and_rows_of_ir_measures_give_its_values(seed: int) -> None:
    import ir_measures as other

    judged, run = made(seed)
    measures = [
        other.nDCG @ 10, other.AP, other.AP(rel=2) @ 5, other.RR(rel=2), other.P(rel=2) @ 5, other.R @ 5, other.Rprec,
        other.Success @ 1, other.Judged @ 10, other.Bpref, other.SetF, other.IPrec @ 0.1,
    ]  # fmt: skip
    qrels = [other.Qrel(query, doc, grade, "0") for query, docs in judged.items() for doc, grade in docs.items()]
    scored = [other.ScoredDoc(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]
    theirs = other.calc_aggregate(measures, qrels, scored)
    ours = rankgauge.evaluate(qrels, scored, measures)
    assert dict(zip(ours, ours.values(), strict=True)) == pytest.approx(
        {str(rankgauge.parse(str(measure))): theirs[measure] for measure in measures}, abs=1e-12
    )
    assert rankgauge.evaluate(iter(qrels), iter(scored), other.nDCG @ 10)["nDCG@10"] == ours["nDCG@10"]
    explained = rankgauge.explain(judged, run, "q1", other.nDCG @ 10)
    assert explained.value == pytest.approx(ours.to_dict()["q1"]["nDCG@10"], abs=1e-12)
    assert list(rankgauge.compare(judged, {"a": run, "b": run}, other.AP(rel=2))) == ["AP(rel=2)"]
    assert list(rankgauge.evaluate(judged, run, other.nDCG(dcg="exp-log2") @ 5)) == ["nDCG(gain=exp)@5"]
    with pytest.raises(rankgauge.MeasureError, match="a measure is a text such as"):
        rankgauge.evaluate(judged, run, [10])  # type: ignore[list-item]


class Qrels:
    """ranx's: grades that it gives back as a dict of dicts."""

    def __init__(self, held: dict[str, dict[str, Any]], name: str | None = None) -> None:
        self.held, self.name = held, name

    def to_dict(self) -> dict[str, dict[str, Any]]:
        return self.held

    def __len__(self) -> int:
        return len(self.held)

    def __iter__(self) -> Any:
        raise AssertionError("a dict is what it is asked for")


class Run(Qrels):
    """ranx's, which has a name."""


def test_qrels_and_runs_of_ranx_are_taken_with_their_names() -> None:
    judged, run = made(1)
    expected = rankgauge.evaluate(judged, run)["nDCG@10"]
    assert rankgauge.evaluate(Qrels(judged), Run(run))["nDCG@10"] == expected
    found = rankgauge.evaluate_runs(Qrels(judged), [Run(run, "bm25"), Run(run, "bert")])
    assert {name: result["nDCG@10"] for name, result in found.items()} == {"bm25": expected, "bert": expected}


def test_columns_of_numpy_polars_and_pandas_are_taken_by_their_names() -> None:
    judged, run = made(2)
    expected = rankgauge.evaluate(judged, run)["nDCG@10"]
    rows = [(query, doc, score) for query, docs in run.items() for doc, score in docs.items()]
    queries, docs, scores = zip(*rows, strict=True)
    texts = {"query_id": np.array(queries), "doc_id": np.array(docs, object), "score": np.array(scores)}
    for columns in (
        texts,
        {name: pl.Series(column.tolist()) for name, column in texts.items()},
        {name: pd.Series(column) for name, column in texts.items()},
        {name: column.tolist() for name, column in texts.items()},
        {"qid": texts["query_id"], "docno": texts["doc_id"], "rank": np.ones(len(rows)), "score": texts["score"]},
    ):
        assert rankgauge.evaluate(judged, columns)["nDCG@10"] == expected
    named = {"x": texts["query_id"], "y": texts["doc_id"], "z": texts["score"]}
    read = rankgauge.read_run(named, columns={"query_id": "x", "doc_id": "y", "score": "z"})
    assert rankgauge.evaluate(judged, read)["nDCG@10"] == expected


# ---- small things ----------------------------------------------------------------------------------------------------


def test_a_measure_with_a_bare_k_gets_a_number() -> None:
    seen: list[Any] = []

    @rankgauge.measure(name="Bare", needs="nothing")
    def bare(hits, k, *, share, how=None, word):  # type: ignore[no-untyped-def]
        """What it was given."""
        seen.extend([k, share, how, word])
        return np.zeros(len(hits.queries))

    try:
        rankgauge.evaluate(JUDGED, RUN, "Bare(share=0.5,how=2,word=soft)@3")
        assert seen == [3, 0.5, 2, "soft"]
        assert [type(each) for each in seen] == [int, float, int, str]
        with pytest.raises(rankgauge.MeasureError, match="k is a whole number"):
            rankgauge.parse("Bare(share=1,word=x)@half")
    finally:
        del MEASURES["Bare"]
        rankgauge.parse.cache_clear()


def test_rules_may_be_a_mapping_everywhere() -> None:
    averaged = rankgauge.explain(JUDGED, {"q1": {"a": 1.0, "b": 1.0}}, "q1", protocol={"ties": "average"})
    assert averaged.value == rankgauge.evaluate(
        JUDGED, {"q1": {"a": 1.0, "b": 1.0}}, protocol=Protocol(ties="average", missing="skip")
    )["nDCG@10"]  # fmt: skip
    assert rankgauge.match(JUDGED, RUN, {"depth": 1}).protocol == Protocol(depth=1)
    with pytest.raises(rankgauge.ProtocolError, match="unknown rule 'tie'"):
        rankgauge.explain(JUDGED, RUN, "q1", protocol={"tie": "average"})  # type: ignore[arg-type]


def test_a_plan_takes_one_number_or_several() -> None:
    one = rankgauge.plan(0.2, differences=0.02, margins=np.float64(0.01), query_counts=50)
    assert one.to_dict() == rankgauge.plan(0.2, differences=[0.02], margins=[0.01], query_counts=[50]).to_dict()


def test_a_warning_points_at_the_line_that_called() -> None:
    """However deep in the package it is raised: the first line outside is the user's."""
    tied = {"q1": {"a": 1.0, "b": 1.0}, "q2": {"c": 1.0, "a": 1.0}}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        line = signature_line() + 1
        rankgauge.evaluate(JUDGED, tied)
        rankgauge.check(JUDGED, tied, minimums={"nDCG@10": 0.1})
    assert {each.filename for each in caught} == {__file__}
    assert {each.lineno for each in caught} == {line, line + 1}


def signature_line() -> int:
    """The line of the caller."""
    return sys._getframe(1).f_lineno
