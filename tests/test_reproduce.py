"""One row per dialect, and which convention gives a number."""

from __future__ import annotations

import csv
import io
import itertools
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from command import Command
from rankgauge import DIALECTS, Protocol
from rankgauge.dialects.reproduce import Files, Told, compare, search, telling_query
from rankgauge.errors import RankgaugeError
from rankgauge.matching.match import match
from rankgauge.measures import parse
from rankgauge.protocol import RULES
from rankgauge.read import RunSource, read_judgments

JUDGMENTS = {"q1": {"a": 3, "b": 2, "c": 1, "d": 0}, "q2": {"a": 1, "b": 1}}
RUN = {"q1": {"c": 3.0, "d": 2.0, "a": 1.0}, "q2": {"b": 1.0}}
ROWS = pl.DataFrame(
    {
        "query_id": ["q1", "q1", "q1", "q2", "q2"], "doc_id": ["c", "d", "a", "q2", "b"],
        "score": [1.0, 1.0 + 1e-9, 0.5, 1.0, 1.0], "rank": [3, 1, 2, 1, 2],
    }
)  # fmt: skip
NDCG = parse("nDCG@3")


def files() -> Files:
    return Files(read_judgments(JUDGMENTS), RunSource(RUN))


class TestCompare:
    def test_a_row_per_dialect_with_its_reason(self) -> None:
        rows = {row.dialect: row for row in compare(files(), NDCG, DIALECTS.values())}
        assert list(rows) == ["rankgauge", *DIALECTS]
        assert rows["rankgauge"].value == pytest.approx((0.52502 + 0.61315) / 2, abs=1e-5)
        assert (rows["trec_eval"].difference, rows["trec_eval"].reason) == (0.0, "")
        assert rows["sklearn"].reason == "ideal=retrieved"
        assert rows["xgboost"].reason == "gain=exp, ideal=retrieved"
        assert rows["opensearch"].reason == "gain=exp, rounding"
        assert rows["beir"].reason == "rounding"
        assert (rows["msmarco"].value, rows["msmarco"].reason) == (None, "not defined there")

    def test_a_tool_that_fails_says_why(self) -> None:
        broken = Files(read_judgments({"q": {"a": -1, "b": 1}}), RunSource({"q": {"a": 1.0}}))
        _, row = compare(broken, NDCG, [DIALECTS["sklearn"]])
        assert row.value is None
        assert row.reason.startswith("fails: query 'q': grade -1 is negative")

    def test_undefined_ties_give_a_band_instead_of_a_number(self) -> None:
        tied = Files(read_judgments({"q": {"a": 1, "b": 0}}), RunSource({"q": {"a": 1.0, "b": 1.0}}))
        _, row = compare(tied, NDCG, [DIALECTS["sklearn-ignore-ties"]])
        assert (row.value, row.high) == (None, 1.0)
        assert row.low == pytest.approx(0.6309, abs=5e-5)
        assert "not defined" in row.reason


class TestTold:
    @pytest.mark.parametrize(
        ("text", "value", "fits"),
        [
            ("0.6885", 0.68854, True), ("0.6885", 0.68856, False), ("68.9%", 0.6885, True), ("68.9%", 0.68949, True),
            ("68.9", 0.6893, True), ("68.9 %", 0.6896, False), (".5", 0.5, True), ("1", 1.2, True),
            ("1.47", 1.4693, True), ("0,69", 0.6885, True),
        ],
    )  # fmt: skip
    def test_tolerance_comes_from_the_digits(self, text: str, value: float, fits: bool) -> None:
        assert Told(text).fits(value) is fits

    @pytest.mark.parametrize("text", ["", "abc", "0.6.8", "%", "-1"])
    def test_not_a_number(self, text: str) -> None:
        with pytest.raises(RankgaugeError, match="is not a number to look for"):
            Told(text)


class TestSearch:
    @pytest.mark.parametrize("dialect", [name for name in DIALECTS if name != "msmarco"])
    def test_the_number_of_a_dialect_leads_to_it(self, dialect: str) -> None:
        value = files().result(NDCG, dialect=DIALECTS[dialect])[NDCG]
        assert dialect in [candidate.name for candidate in search(files(), NDCG, Told(f"{value:.6f}"))]

    def test_one_and_two_changes_none_of_them_idle(self) -> None:
        one = files().result(parse("nDCG@3"), Protocol(ideal="retrieved"))["nDCG@3"]
        names = [candidate.name for candidate in search(files(), NDCG, Told(f"{one:.6f}"))]
        assert "ideal=retrieved" in names
        assert [name for name in names if "ideal=retrieved," in name] == []
        two = files().result(parse("nDCG(discount=zipf)@3"), Protocol(ideal="retrieved"))["nDCG(discount=zipf)@3"]
        found = search(files(), NDCG, Told(f"{two:.6f}"))
        assert "discount=zipf, ideal=retrieved" in [candidate.name for candidate in found]
        assert [c.changes for c in found if c.name not in DIALECTS] == sorted(
            c.changes for c in found if c.name not in DIALECTS
        )

    @pytest.mark.parametrize("run", [RUN, ROWS], ids=["dicts", "columns"])
    def test_what_was_found_holds_for_the_other_rules(self, run: Any) -> None:
        """Every two rules at once: looked up in what was found before, and matched from the start."""
        q1, q2, q3 = {"c": 1, "a": -1, "b": 2.5, "d": 0}, {"a": 1, "q2": 1, "b": 0}, {"a": 1}
        judgments = read_judgments({"q1": q1, "q2": q2, "q3": q3})
        tied = Files(judgments, RunSource(run))
        compared = 0
        for one, two in itertools.combinations([(rule, value) for rule in RULES for value in RULES[rule]], 2):
            try:
                rules = Protocol.from_dict(dict([one, two]))
                expected = match(judgments, tied.run.read(rules), rules)
            except RankgaugeError:
                continue
            got = tied.hits(rules)
            compared += 1
            for name in ("queries", "retrieved", "judged", "query", "rank", "first", "tied", "grade", "judgment_query",
                         "judgment_grade", "protocol", "missing", "left_out"):  # fmt: skip
                assert np.array_equal(getattr(got, name), getattr(expected, name)), (one, two, name)
        assert compared > 300
        assert len(tied.found) < compared / 4

    def test_an_order_of_ties_that_is_not_defined_may_give_any_value_of_its_band(self) -> None:
        tied = Files(read_judgments({"q": {"a": 1, "b": 0}}), RunSource({"q": {"a": 1.0, "b": 1.0}}))
        names = {each.name: each.value for each in search(tied, parse("nDCG@10"), Told("0.8"))}
        assert names["sklearn-ignore-ties, in another order of ties"] == 0.8

    def test_a_query_that_tells_them_apart(self) -> None:
        tie = Files(
            read_judgments({"q1": {"a": 1, "b": 0}, "q2": {"a": 0, "b": 1}}),
            RunSource({"q1": {"a": 1.0, "b": 1.0}, "q2": {"a": 1.0, "b": 1.0}}),
        )
        found = search(tie, parse("RR"), Told("0.75"))
        assert {"trec_eval", "ranx", "rankgauge as it is"} <= {candidate.name for candidate in found}
        query = telling_query(found)
        assert query in ("q1", "q2")
        by_name = {candidate.name: candidate.ends(query) for candidate in found}
        assert by_name["trec_eval"] != by_name["ranx"]
        assert telling_query(search(files(), NDCG, Told("0.5691"))) is None

    def test_a_band_tells_apart_only_where_a_value_lies_outside(self) -> None:
        tied = {"q1": {"a": 1.0, "b": 1.0}, "q2": {"b": 2.0, "a": 1.0}}
        found = search(Files(read_judgments({query: {"a": 1} for query in tied}), RunSource(tied)), NDCG, Told("0.63"))
        ours, band = (next(each for each in found if each.name.startswith(name)) for name in ("rankg", "sklearn-i"))
        assert ours.ends("q1") == pytest.approx((0.63093, 0.63093), abs=1e-5)
        assert band.ends("q1") == pytest.approx((0.63093, 1.0), abs=1e-5)
        assert telling_query([ours, band]) is None
        apart = replace(ours, low=np.array([0.5, 0.63093]), high=np.array([0.5, 0.63093]))
        assert telling_query([band, apart]) == "q1"
        unknown = replace(band, low=np.array([-np.inf, 0.63093]), high=np.array([np.inf, 0.63093]))
        assert telling_query([ours, apart, unknown]) == "q1"
        assert telling_query([apart, unknown]) is None

    def test_a_query_that_is_left_out_tells_apart(self) -> None:
        empty = Files(read_judgments({"q": {"a": 1}, "z": {"a": 0}}), RunSource({"q": {"a": 1.0}, "z": {"a": 1.0}}))
        by_name = {each.name: each for each in search(empty, parse("P@1"), Told("1"))}
        one, skip = by_name["empty=one"], by_name["empty=skip"]
        assert (one.ends("z"), skip.ends("z")) == ((1.0, 1.0), None)
        assert telling_query([one, skip]) == "z"

    def test_a_change_that_keeps_the_number_and_moves_a_query_is_listed(self) -> None:
        """Judged 3, 0, 1 and retrieved in that order: by hand, jk2 divides by 1, 1, log2(3) and skip leaves out z."""
        judgments = {"q": {"a": 3, "b": 0, "c": 1}, "z": {"a": 0}}
        run = {"q": {"c": 3.0, "b": 2.0, "a": 1.0}, "z": {"a": 2.0}}
        found = search(Files(read_judgments(judgments), RunSource(run)), parse("nDCG@10"), Told("0.7"))
        values = {each.name: each.value for each in found if each.name not in DIALECTS}
        assert values["empty=skip"] == pytest.approx(2.5 / (3 + 1 / np.log2(3)))
        assert values["discount=jk2, empty=skip"] == pytest.approx((1 + 3 / np.log2(3)) / 4)
        assert not [name for name in values if "scores=" in name or "same_id=" in name]

    def test_a_change_alone_is_listed_beside_the_dialect_that_makes_it(self) -> None:
        names = [each.name for each in search(files(), NDCG, Told("1"))]
        assert {"rankgauge as it is", "jarvelin-2002", "discount=jk2"} <= set(names)

    def test_fewest_changes_first_with_the_rules_of_the_measure(self) -> None:
        found = [each for each in search(files(), parse("P@3"), Told("0.5")) if each.name in DIALECTS]
        assert [each.changes for each in found] == sorted(each.changes for each in found)
        own = DIALECTS["beir"].own(parse("Accuracy@10"))
        (row,) = [each for each in search(files(), parse("Accuracy@10"), Told("1")) if each.name == "beir"]
        assert row.changes == len(own.protocol.changed) == len(DIALECTS["beir"].protocol.changed) - 2

    def test_only_these_dialects(self) -> None:
        names = [each.name for each in search(files(), NDCG, Told("0.5691"), [DIALECTS["beir"], DIALECTS["sklearn"]])]
        assert names == ["beir"]

    def test_real_matches(self, shared: Path) -> None:
        dl19 = shared / "dl19"
        run = RunSource(dl19 / "runs/input.UNH_bm25.gz").kept()  # as the command does
        read = Files(read_judgments(dl19 / "qrels.dl19-passage.txt"), run)
        found = search(read, parse("nDCG@10"), Told("0.4495"))
        query = telling_query(found)
        assert query is not None
        certain = {ends for each in found if (ends := each.ends(query)) and ends[0] == ends[1]}
        assert len(certain) > 1
        assert telling_query(search(read, parse("nDCG@10"), Told("0.3966"))) is None


@pytest.fixture
def paths(tmp_path: Path) -> list[str]:
    rows = [f"{query} 0 {doc} {grade}" for query, docs in JUDGMENTS.items() for doc, grade in docs.items()]
    (tmp_path / "qrels").write_text("\n".join(rows) + "\n")
    lines = [f"{query} Q0 {doc} {rank} {score} x" for query, docs in RUN.items()
             for rank, (doc, score) in enumerate(docs.items(), 1)]  # fmt: skip
    (tmp_path / "run").write_text("\n".join(lines) + "\n")
    return [str(tmp_path / "qrels"), str(tmp_path / "run")]


@pytest.fixture
def cli(command: Command) -> Command:
    """The command `dialects`."""
    return partial(command, "dialects")


def said(command: Command, *words: str) -> str:
    """What a command prints that has nothing to complain of."""
    outcome = command(*words)
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.out


class TestCommand:
    def test_table_and_machine_formats(self, cli: Command, paths: list[str]) -> None:
        call = ["--only", "sklearn,msmarco", "-m", "nDCG@3"]
        table = said(cli, *paths, *call).splitlines()
        assert table[0].split() == ["dialect", "value", "difference", "reason"]
        assert table[2].split() == ["sklearn", "0.8443", "+0.2752", "ideal=retrieved"]
        data = json.loads(said(cli, *paths, *call, "--format", "json"))
        assert [row["dialect"] for row in data] == ["rankgauge", "sklearn", "msmarco"]
        assert data[2]["value"] is None
        rows = list(csv.DictReader(io.StringIO(said(cli, *paths, *call, "--format", "csv"))))
        assert float(rows[1]["value"]) == data[1]["value"]
        assert said(cli, *paths, *call, "--format", "markdown").startswith("| dialect |")

    def test_match(self, cli: Command, paths: list[str]) -> None:
        output = said(cli, *paths, "-m", "nDCG@3", "--match", "84.43%")
        assert "\nsklearn " in output
        assert "\nideal=retrieved " in output
        nothing = said(cli, *paths, "-m", "nDCG@3", "--match", "0.123456")
        assert nothing.startswith("Nothing gives 0.123456 for nDCG@3")
        only = said(cli, *paths, "-m", "nDCG@3", "--match", "84.43%", "--only", "sklearn")
        assert [line.split()[0] for line in only.splitlines()] == ["convention", "sklearn"]

    def test_a_difference_that_is_not_shown_is_not_explained(self, cli: Command, paths: list[str]) -> None:
        call = [*paths, "--only", "beir", "-m", "nDCG@3"]
        assert said(cli, *call).splitlines()[2].split() == ["beir", "0.5691", "0.0000"]
        more = said(cli, *call, "--digits", "7").splitlines()[2].split()
        assert (more[0], more[1], more[3]) == ("beir", "0.5690800", "rounding")

    def test_no_value_is_null_in_json(self, cli: Command, tmp_path: Path) -> None:
        (tmp_path / "qrels").write_text("q 0 a 0\n")
        (tmp_path / "run").write_text("q Q0 a 1 1.0 x\n")
        call = [str(tmp_path / "qrels"), str(tmp_path / "run"), "--only", "gdeval", "--format", "json"]
        data = json.loads(said(cli, *call), parse_constant=pytest.fail)
        assert [row["value"] for row in data] == [0.0, None]

    def test_the_list(self, cli: Command) -> None:
        listed = said(cli)
        assert all(f"\n{name}:" in f"\n{listed}" for name in DIALECTS)
        data = json.loads(said(cli, "--format", "json"))
        assert [row["dialect"] for row in data] == list(DIALECTS)

    def test_eval_in_a_dialect(self, command: Command, paths: list[str]) -> None:
        data = json.loads(said(command, "eval", *paths, "-m", "nDCG@3", "--dialect", "sklearn", "--format", "json"))
        assert data["dialect"] == "sklearn"
        assert data["runs"][0]["measures"]["nDCG@3"]["mean"] == pytest.approx(0.84426, abs=5e-6)

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--only", "sklern"], "unknown dialect 'sklern'; did you mean 'sklearn'"),
            (["--match", "x"], "is not a number to look for"),
            (["-m", "relstring", "--format", "json"], "relstring is a text for each query"),
            (["-m", "relstring", "--match", "1"], "relstring is a text for each query"),
        ],
    )
    def test_mistakes(self, cli: Command, paths: list[str], words: list[str], message: str) -> None:
        refused = cli(*paths, *words)
        assert (refused.code, refused.out) == (2, "")
        assert message in refused.err
        assert cli(*paths[:1]).code == 2
        without = cli("--match", "45")
        assert (without.code, "--match goes with" in without.err) == (2, True)
