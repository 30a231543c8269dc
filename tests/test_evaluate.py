"""Evaluate and Result: aggregates, weights, groups, counts, judged shares, fingerprints, renderings."""

from __future__ import annotations

import importlib
import json
import math
import statistics
import subprocess
import sys
import weakref
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankgauge
from command import Command
from rankgauge import Evaluation, Protocol, Result
from rankgauge.errors import FormatError, InputError, MeasureError, ProtocolError
from rankgauge.measures.aggregates import AGGREGATES, aggregate
from rankgauge.read import Run, RunSource
from rankgauge.show.formats import FORMATS

JUDGMENTS = {
    "q1": {"a": 3, "b": 0, "c": 1},
    "q2": {"a": 1, "b": 2},
    "q3": {"a": 0},
    "q4": {"z": 1},
    "q5": {"a": 1, "b": 1, "c": 1, "d": 1},
}
RUN = {
    "q1": {"a": 9.0, "x": 8.0, "b": 7.0},
    "q2": {"x": 5.0, "b": 4.0, "a": 3.0},
    "q3": {"a": 1.0},
    "q5": {"d": 4.0, "c": 3.0, "b": 2.0, "a": 1.0},
    "q9": {"a": 1.0},
}
VALUES = {"q1": 1 / 2, "q2": 1.0, "q3": 0.0, "q4": 0.0, "q5": 1.0}  # recall, by hand


@pytest.fixture
def result() -> Result:
    return rankgauge.evaluate(JUDGMENTS, RUN, ["R@10", "nDCG@10", "NumRelRet", "gm_map"], name="demo")


class TestAggregates:
    def test_the_mean_under_any_spelling(self, result: Result) -> None:
        assert result["R@10"] == result["recall_10"] == result["recall@10"] == 0.5

    def test_against_the_standard_library(self, result: Result) -> None:
        values = list(VALUES.values())
        assert result.median("R@10") == statistics.median(values)
        assert result.std("R@10") == pytest.approx(statistics.stdev(values))
        assert result.quantile("R@10", 0.25) == statistics.quantiles(values, method="inclusive")[0]
        floored = [max(value, 1e-5) for value in values]
        assert result.geometric_mean("R@10") == pytest.approx(statistics.geometric_mean(floored))

    def test_the_trimmed_mean_leaves_a_tenth_off_either_end(self) -> None:
        judgments = {f"q{i:02}": {"a": 1} for i in range(20)}
        run = {query: {f"x{j}": float(99 - j) for j in range(i)} | {"a": 1.0} for i, query in enumerate(judgments)}
        result = rankgauge.evaluate(judgments, run, "RR")
        ranks = sorted(1 / (i + 1) for i in range(20))
        assert result.trimmed_mean("RR") == pytest.approx(statistics.fmean(ranks[2:-2]))

    def test_counts_add_up_and_gm_map_is_geometric(self, result: Result) -> None:
        assert result["NumRelRet"] == 1 + 2 + 0 + 0 + 4
        precisions = [1 / 2, (1 / 2 + 2 / 3) / 2, 1e-5, 1e-5, 1.0]
        assert result["gm_map"] == pytest.approx(statistics.geometric_mean(precisions))

    def test_no_query_has_no_aggregate(self) -> None:
        assert all(math.isnan(aggregate(name, np.array([]))) for name in AGGREGATES)

    def test_summary_has_every_aggregate(self, result: Result) -> None:
        assert set(result.summary("R@10")) == {
            "mean", "median", "geometric_mean", "trimmed_mean", "std", "min", "q25", "q75", "max"
        }  # fmt: skip
        assert (result.summary("R@10")["min"], result.summary("R@10")["max"]) == (0.0, 1.0)

    def test_what_was_not_asked_for(self, result: Result) -> None:
        with pytest.raises(MeasureError, match=r"P@5 was not evaluated; there are R@10, nDCG@10"):
            result["P@5"]
        with pytest.raises(MeasureError, match="unknown aggregate 'mode'; there are mean, median"):
            result.aggregate("mode", "R@10")

    def test_one_query_has_no_deviation(self) -> None:
        assert math.isnan(rankgauge.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "RR").std("RR"))

    def test_it_is_a_mapping(self, result: Result) -> None:
        assert "recall_10" in result
        assert "P@5" not in result
        assert "nonsense" not in result
        assert cast(Any, 5) not in result
        assert result.get("P@5") is None
        assert result.get("R@10") == 0.5
        assert len({result, result}) == 1


class TestSeveralRuns:
    def test_names_in_the_order_given_and_what_is_common(self) -> None:
        runs = {"b": RUN, "a": {"q1": {"c": 1.0}}}
        evaluation = rankgauge.evaluate_runs(JUDGMENTS, runs, ["R@10", "RR"], weights=dict.fromkeys(JUDGMENTS, 2))
        assert list(evaluation) == [result.name for result in evaluation.values()] == ["b", "a"]
        assert evaluation["b"].to_dict() == rankgauge.evaluate(JUDGMENTS, RUN, ["R@10", "RR"]).to_dict()
        assert evaluation["a"]["R@10"] == 0.1
        assert (evaluation.protocol, evaluation.dialect) == (Protocol(), None)
        assert evaluation.definitions == evaluation["a"].definitions
        assert repr(evaluation).startswith("run  queries    R@10")
        assert evaluation._repr_html_().count("<tr") == 3

    def test_a_run_is_let_go_before_the_next_is_read(self) -> None:
        read: list[weakref.ref[Run]] = []

        class Watched(RunSource):
            def _read(self, protocol: Protocol) -> Run:
                assert all(each() is None for each in read)
                run = super()._read(protocol)
                read.append(weakref.ref(run))
                return run

        rankgauge.evaluate_runs(JUDGMENTS, {name: Watched(RUN) for name in "abc"}, dialect="trec_eval")
        assert len(read) == 3  # once each, however many rules a dialect has

    def test_a_source_that_is_kept_is_read_once_for_each_way(self, tmp_path: Path) -> None:
        path = tmp_path / "run.txt"
        path.write_text("q1 Q0 a 2 9 t\nq1 Q0 b 1 8 t\n")
        source = RunSource(path)
        assert source.is_small
        assert source.read() is not source.read()
        kept = source.kept()
        assert kept.read() is kept.kept().read(Protocol(ties="average"))
        assert kept.read(Protocol(order="rank")).nested == {"q1": {"a": -2.0, "b": -1.0}}


class TestQueries:
    def test_per_query_frame(self, result: Result) -> None:
        frame = result.per_query
        assert frame.columns == ["query_id", "R@10", "nDCG@10", "NumRelRet", "gm_map"]
        assert dict(zip(frame["query_id"], frame["R@10"], strict=True)) == VALUES

    def test_to_dict_and_pandas_hold_the_same(self, result: Result) -> None:
        assert {query: row["R@10"] for query, row in result.to_dict().items()} == VALUES
        frame = result.to_pandas()
        assert isinstance(frame, pd.DataFrame)
        assert dict(zip(frame["query_id"], frame["R@10"], strict=True)) == VALUES

    def test_queries_left_out_are_null_and_do_not_count(self) -> None:
        result = rankgauge.evaluate(JUDGMENTS, RUN, "R@10", protocol=Protocol(empty="skip"))
        assert result.per_query["R@10"].to_list() == [0.5, 1.0, None, 0.0, 1.0]
        assert "R@10" not in result.to_dict()["q3"]
        assert result["R@10"] == 2.5 / 4

    def test_texts(self) -> None:
        result = rankgauge.evaluate(JUDGMENTS, RUN, "relstring@3")
        assert result.per_query["relstring@3"].to_list() == ["3-0", "-21", "0", "", "111"]
        assert math.isnan(result["relstring@3"])


class TestWeights:
    WEIGHTS = {"q1": 1, "q2": 2, "q3": 0, "q4": 1, "q5": 4}  # noqa: RUF012

    def test_weights_weigh(self) -> None:
        result = rankgauge.evaluate(JUDGMENTS, RUN, "R@10", weights=self.WEIGHTS)
        assert result["R@10"] == pytest.approx((0.5 + 2 + 0 + 0 + 4) / 8)
        assert result.median("R@10") == 1.0

    def test_whole_weights_are_repeated_queries(self) -> None:
        weighted = rankgauge.evaluate(JUDGMENTS, RUN, "R@10", weights=self.WEIGHTS)
        repeated = [VALUES[query] for query, weight in self.WEIGHTS.items() for _ in range(weight)]
        assert weighted["R@10"] == pytest.approx(statistics.fmean(repeated))
        assert weighted.std("R@10") == pytest.approx(statistics.pstdev(repeated))

    def test_queries_of_weight_zero_do_not_count(self) -> None:
        by = {"q3": "nothing", "q1": "something"}
        result = rankgauge.evaluate(JUDGMENTS, RUN, ["R@10", "NumQ"], weights=self.WEIGHTS, by=by)
        assert math.isnan(result.by["nothing"]["R@10"])
        assert result["NumQ"] == 5

    def test_from_a_frame_and_a_file(self, tmp_path: Path) -> None:
        frame = pl.DataFrame({"qid": list(self.WEIGHTS), "weight": list(self.WEIGHTS.values())})
        frame.write_csv(tmp_path / "weights.csv")
        expected = rankgauge.evaluate(JUDGMENTS, RUN, "R@10", weights=self.WEIGHTS)["R@10"]
        for source in (frame, frame.to_pandas(), tmp_path / "weights.csv"):
            assert rankgauge.evaluate(JUDGMENTS, RUN, "R@10", weights=source)["R@10"] == expected

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            ({"q1": 1}, "no weight for 4 queries, such as 'q2'"),
            ({**WEIGHTS, "q1": -1}, "0 or more"),
            ({**WEIGHTS, "q1": "heavy"}, "not a number"),
            (dict.fromkeys(WEIGHTS, 0), "not all 0"),
            ({**WEIGHTS, "q1": math.nan}, "finite"),
        ],
    )
    def test_bad_weights(self, weights: Any, message: str) -> None:
        with pytest.raises(InputError, match=message):
            rankgauge.evaluate(JUDGMENTS, RUN, "R@10", weights=weights)


class TestGroups:
    BY = {"q1": "head", "q2": "head", "q3": "tail", "q4": "tail"}  # noqa: RUF012

    def test_groups_have_results_of_their_own(self) -> None:
        result = rankgauge.evaluate(JUDGMENTS, RUN, "R@10", by=self.BY)
        assert {name: part["R@10"] for name, part in result.by.items()} == {"head": 0.75, "tail": 0.0}
        assert result.by["head"].query_ids == ["q1", "q2"]
        assert result.by["tail"].counts["missing"] == 1
        assert result.by["head"].median("R@10") == 0.75
        assert result["R@10"] == 0.5

    def test_by_a_column_of_the_judgments(self) -> None:
        rows = [(q, d, g, "x" if q == "q1" else "y") for q, docs in JUDGMENTS.items() for d, g in docs.items()]
        frame = pl.DataFrame(rows, schema=["query_id", "doc_id", "relevance", "segment"], orient="row")
        for judgments in (frame, frame.to_pandas(), frame.to_arrow()):
            result = rankgauge.evaluate(judgments, RUN, "R@10", by="segment")
            assert result.by["x"]["R@10"] == 0.5

    def test_groups_that_know_no_query(self) -> None:
        with pytest.raises(InputError, match=r"no query is in any group: a query is 'q1', the groups know '1'"):
            rankgauge.evaluate(JUDGMENTS, RUN, "R@10", by={"1": "head"})


class TestWhatToKnow:
    def test_counts(self, result: Result) -> None:
        assert result.counts == {"queries": 5, "answered": 4, "missing": 1, "without_relevant": 1, "unjudged": 1}

    def test_missing_queries_are_counted_when_skipped_too(self) -> None:
        result = rankgauge.evaluate(JUDGMENTS, RUN, "R@10", protocol=Protocol(missing="skip"))
        assert (result.counts["queries"], result.counts["missing"]) == (4, 1)
        assert result["R@10"] == 2.5 / 4

    def test_judged_share_for_every_cutoff_in_use(self) -> None:
        result = rankgauge.evaluate(JUDGMENTS, RUN, ["P@1", "nDCG@2", "AP"])
        assert result.judged == {1: pytest.approx((1 + 0 + 1 + 1) / 4), 2: pytest.approx((0.5 + 0.5 + 1 + 1) / 4)}

    def test_definitions_and_protocol(self, result: Result) -> None:
        assert result.definitions["nDCG@10"].startswith("Normalised discounted cumulative gain")
        assert Protocol.from_dict(result.protocol.to_dict()) == result.protocol
        assert "ties" not in str(Protocol())
        assert "ties=average" in str(Protocol(ties="average"))
        assert "keeps its rank" in Protocol().describe()


class TestFingerprint:
    def files(self, folder: Path) -> list[tuple[Any, Any]]:
        """The same content in several forms."""
        frame_j = rankgauge.read_judgments(JUDGMENTS).to_frame()
        frame_r = rankgauge.read_run(RUN).to_frame().sample(fraction=1.0, shuffle=True, seed=3)
        rankgauge.write(rankgauge.read_judgments(JUDGMENTS), folder / "qrels.txt")
        rankgauge.write(rankgauge.read_run(RUN), folder / "run.jsonl.gz")
        return [(JUDGMENTS, RUN), (frame_j, frame_r), (folder / "qrels.txt", folder / "run.jsonl.gz")]

    def test_equal_content_has_one(self, tmp_path: Path) -> None:
        prints = {rankgauge.evaluate(j, r, "nDCG@10").fingerprint for j, r in self.files(tmp_path)}
        assert len(prints) == 1

    def test_it_does_not_depend_on_the_process(self) -> None:
        code = f"import rankgauge; print(rankgauge.evaluate({JUDGMENTS}, {RUN}).fingerprint)"
        outputs = {
            subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
            for _ in range(2)
        }
        assert outputs == {rankgauge.evaluate(JUDGMENTS, RUN).fingerprint}

    def test_equal_rules_are_one(self) -> None:
        spelled: list[Any] = [2, 2.0, np.int64(2)]
        prints = {rankgauge.evaluate(JUDGMENTS, RUN, protocol=Protocol(rel=rel)).fingerprint for rel in spelled}
        assert len(prints) == 1

    @pytest.mark.parametrize(
        ("judgments", "run", "rules"),
        [
            ({**JUDGMENTS, "q1": {"a": 2, "b": 0, "c": 1}}, RUN, {}),
            ({**JUDGMENTS, "q1": {"a": 3, "b": 0, "c": 0}}, RUN, {}),
            (JUDGMENTS, {**RUN, "q1": {"x": 9.0, "a": 8.0, "b": 7.0}}, {}),
            (JUDGMENTS, {**RUN, "q1": {"a": 9.0, "x": 8.0, "b": 7.0, "y": 6.0}}, {}),
            (JUDGMENTS, RUN, {"empty": "one"}),
        ],
    )
    def test_anything_that_matters_changes_it(self, judgments: Any, run: Any, rules: Any) -> None:
        other = rankgauge.evaluate(judgments, run, protocol=Protocol(**rules)).fingerprint
        assert other != rankgauge.evaluate(JUDGMENTS, RUN).fingerprint


class TestShown:
    def test_repr_is_the_table(self, result: Result) -> None:
        first, second, *_ = repr(result).splitlines()
        assert first.split() == ["run", "queries", "R@10", "nDCG@10", "NumRelRet", "gm_map"]
        assert second.split()[:3] == ["demo", "5", "0.5000"]
        assert "Judged@10 of answered queries:" in repr(result)

    def test_notebook_table_is_escaped(self) -> None:
        html = rankgauge.evaluate(JUDGMENTS, RUN, "R@10", name="<b>x")._repr_html_()
        assert "&lt;b&gt;x" in html
        assert "<b>x" not in html
        assert "<table>" in html

    def test_json_holds_every_digit(self, result: Result) -> None:
        data = json.loads(Evaluation.of([result]).show("json", per_query=True))
        assert data["runs"][0]["measures"]["nDCG@10"]["mean"] == result["nDCG@10"]
        assert data["runs"][0]["per_query"] == result.to_dict()
        assert Protocol.from_dict(data["protocol"]) == result.protocol

    @pytest.mark.parametrize("format", [name for name, each in FORMATS.items() if not each.picture])
    def test_every_format_ends_in_a_newline(self, result: Result, format: str) -> None:
        assert Evaluation.of([result]).show(format).endswith("\n")


class TestMisuse:
    @pytest.mark.parametrize("measures", [None, 5, [5], [None]])
    def test_measures_that_are_none(self, measures: Any) -> None:
        with pytest.raises(MeasureError, match="a measure is a text such as 'nDCG@10'"):
            rankgauge.evaluate(JUDGMENTS, RUN, measures)

    def test_rules_as_a_mapping(self) -> None:
        assert rankgauge.evaluate(JUDGMENTS, RUN, "R@10", protocol={"missing": "skip"})["R@10"] == 2.5 / 4

    @pytest.mark.parametrize(
        ("rules", "message"),
        [
            ({"rel": "2"}, "rel='2' is not a number"),
            ({"depth": 2.5}, "depth=2.5 is not a whole number"),
            ({"depth": float("inf")}, "depth=inf is not a whole number"),
            ({"depth": float("nan")}, "depth=nan is not a whole number"),
            ({"depth": 2**63}, "a ranking is cut after 1 to 2,147,483,647 documents"),
            ({"ties": ["id"]}, "is not a rule"),
            ({"ties": "avrage"}, "did you mean 'average'"),
            ({"tie": "id"}, "unknown rule 'tie'"),
        ],
    )
    def test_rules_that_are_none(self, rules: Any, message: str) -> None:
        with pytest.raises(ProtocolError, match=message):
            rankgauge.evaluate(JUDGMENTS, RUN, protocol=rules)


@pytest.mark.parametrize("measure", ["nDCG(gain=exp)@10", "DCG(gain=exp)", "nDCG(gain=exp)"])
def test_gains_that_cannot_be_added_up_are_refused(measure: str) -> None:
    """2^2000 is no 64-bit number: the query would have no value, and the mean would be that of the others."""
    judgments, run = {"a": {"x": 2000, "y": 1}, "b": {"x": 1}}, {"a": {"x": 1.0, "y": 2.0}, "b": {"x": 1.0}}
    with pytest.raises(MeasureError, match=r"gain=exp: the grade 2000 gains 2\^2000 − 1, more than can be added up"):
        rankgauge.evaluate(judgments, run, measure)
    assert 0 < rankgauge.evaluate(judgments, run, "nDCG@10")["nDCG@10"] < 1


class TestShortOnes:
    def test_ndcg_of_grades(self) -> None:
        assert rankgauge.ndcg([3, 2, 3, 0, 1, 2, 0, 1, 0, 2], k=10, gain="exp") == pytest.approx(0.936002, abs=5e-7)
        assert rankgauge.ndcg([1, 0, 3], k=3, ideal=[3, 2, 1, 0]) == pytest.approx(0.5250, abs=5e-5)
        assert rankgauge.ndcg([1, 2], gain={1: 5, 2: 1}) == pytest.approx(1.0)
        assert rankgauge.ndcg(np.array([1.0, 0.0])) == 1.0
        assert rankgauge.ndcg([]) == 0.0

    def test_the_ideal_must_hold_what_was_ranked(self) -> None:
        with pytest.raises(FormatError, match="2 documents of grade 3 are ranked, but `ideal` holds 1"):
            rankgauge.ndcg([3, 3], ideal=[3, 2])

    @pytest.mark.parametrize("grades", [["x"], [math.nan], [math.inf]])
    def test_grades_that_are_no_numbers(self, grades: list[Any]) -> None:
        with pytest.raises(FormatError, match="a grade is not a"):
            rankgauge.ndcg(grades)


def test_public_names_stay_functions_whatever_was_imported() -> None:
    import rankgauge.evaluate
    import rankgauge.matching.columns

    assert callable(rankgauge.evaluate)
    assert callable(rankgauge.match)
    assert set(rankgauge.__all__) <= set(dir(rankgauge))
    for name in rankgauge.__all__:
        assert getattr(rankgauge, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'ndgc'"):
        getattr(rankgauge, "ndgc")  # noqa: B009


def test_the_stub_for_type_checkers_is_made_of_the_table_of_public_names() -> None:
    names, modules = vars(rankgauge)["_WHERE"], vars(rankgauge)["_MODULES"]

    def row(where: str, name: str) -> str:
        return f"from {where} import {name.rpartition('.')[2]} as {name.rpartition('.')[2]}\n"

    rows = [row(f"rankgauge.{module}", name) for name, module in names.items()]
    for name, module in modules.items():
        room, _, last = f"rankgauge.{module}".rpartition(".")
        rows.append(f"from {room} import {last} as {name}\n")
    stub = Path(rankgauge.__file__).with_suffix(".pyi").read_text()
    assert stub == "".join(sorted(rows)) + "\n__version__: str\n__all__: list[str]\n"


def test_no_package_is_hidden_by_a_function_of_its_name() -> None:
    packages = [path.name for path in Path(rankgauge.__file__).parent.iterdir() if (path / "__init__.py").exists()]
    assert len(packages) > 10
    for name in packages:
        assert isinstance(importlib.import_module(f"rankgauge.{name}"), ModuleType)
        assert isinstance(getattr(rankgauge, name), ModuleType)


def test_no_run_at_all_is_refused() -> None:
    with pytest.raises(InputError, match="there is no run; give one"):
        rankgauge.evaluate_runs({"q": {"d": 1}}, {})


def test_the_number_of_queries_is_the_one_behind_the_mean(command: Command, tmp_path: Path) -> None:
    """A query that the rules leave out is not said to be evaluated; a measure that leaves none out says so."""
    (tmp_path / "q.txt").write_text("q1 0 a 1\nq1 0 b 2\nq2 0 a 1\nq3 0 a 0\n")
    (tmp_path / "r.run").write_text("q1 Q0 a 1 9 r\nq1 Q0 c 2 8 r\nq2 Q0 a 1 9 r\nq3 Q0 b 1 9 r\n")
    (tmp_path / "by.tsv").write_text("query_id\tgroup\nq1\tx\nq2\ty\nq3\ty\n")
    words = ("eval", "q.txt", "r.run", "-m", "nDCG@10", "--empty", "skip")
    said = command(*words, cwd=tmp_path).out
    assert said.splitlines()[1].split() == ["r", "2", "0.6900"]
    assert "Queries: 2 evaluated; 1 without relevant documents, left out." in said
    said = command(*words, "-m", "Judged@1", "-m", "NumRet", cwd=tmp_path).out
    assert said.splitlines()[1].split()[:3] == ["r", "2", "0.6900"]
    assert "Queries: 2 evaluated (3 for Judged@1); 1 without relevant documents, left out." in said
    said = command(*words, "--by", "by.tsv", cwd=tmp_path).out
    assert [line.split()[1:3] for line in said.splitlines()[1:4]] == [["all", "2"], ["x", "1"], ["y", "1"]]
    (run,) = json.loads(command(*words, "-m", "Judged@1", "--format", "json", cwd=tmp_path).out)["runs"]
    assert (run["queries"], run["counts"]["queries"], run["counts"]["without_relevant"]) == (3, 3, 1)
    assert {name: each["queries"] for name, each in run["measures"].items()} == {"nDCG@10": 2, "Judged@1": 3}
    assert "Queries: 3 evaluated; 1 without relevant documents." in command(*words[:-2], cwd=tmp_path).out
    page = json.loads(
        command("report", "q.txt", "r.run", "--empty", "skip", "--format", "json", "-o", "-", cwd=tmp_path).out
    )
    (table,) = [
        block for each in page["sections"] if each["key"] == "judged" for block in each["blocks"] if "rows" in block
    ]
    assert table["rows"][0][2] == 2
