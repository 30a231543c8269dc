"""Explanations as people see them: text, pictures, pages, and the command that makes them."""

from __future__ import annotations

import json
import os
import pty
import re
import sys
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import rankgauge
from command import Command, real
from rankgauge import explain
from rankgauge.errors import FormatError, InputError
from rankgauge.explanation.query.explain import most_lost, worst_queries
from rankgauge.explanation.query.explanation import Explanations, difference
from rankgauge.show.explained import kept_rows
from rankgauge.show.formats import render
from rankgauge.show.model import Options, Table
from rankgauge.show.svg.explanation import difference_svg, svg
from rankgauge.show.text import bar
from rankgauge.show.text import text as as_text

JUDGED = {"q1": {"d1": 3, "d2": 0, "d3": 2, "<&>\"'": 1}, "q2": {"d9": 1}, "q3": {"x": 1}}
RUN = {"q1": {"d3": 12.1, "d7": 11.8, "d1": 9.5, "<&>\"'": 2.0}, "q2": {"d4": 7.2, "d9": 7.1}}
OTHER = {"q1": {"d1": 3.0, "d3": 2.0, "d2": 1.0}, "q2": {"d9": 1.0}}
ONE = explain(JUDGED, RUN, "q1", name="mine")
TWO = difference(ONE, explain(JUDGED, OTHER, "q1", name="theirs"))


def words(drawn: str) -> list[str]:
    """The texts of an SVG, which is thereby well-formed."""
    root = ElementTree.fromstring(drawn)
    return [element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text")]


def ranks_of(explained: rankgauge.Explanation) -> list[dict[str, Any]]:
    """The columns of the table of ranks, for programs."""
    (table,) = (
        block
        for section in explained.sections()
        for block in section.blocks
        if isinstance(block, Table) and block.key == "ranks"
    )
    return [{"head": column.head, "aside": column.aside} for column in table.columns]


class TestText:
    def test_the_table_has_every_rank_the_ideal_and_the_changes(self) -> None:
        lines = repr(ONE).split("\n")
        assert lines[0] == "nDCG@10 of query q1 in mine"
        assert lines[1] == f"nDCG@10 = {ONE.value:.4f}"
        assert lines[2] == f"DCG {ONE.dcg:.4f} of an ideal DCG {ONE.idcg:.4f}"
        assert " ".join(lines[4].split()) == "rank document grade gain discount adds │ ideal grade adds"
        wide = as_text(ONE.page(), Options(width=120)).split("\n")
        heads = "rank document grade gain discount term adds so far │ ideal grade adds so far"
        assert " ".join(wide[4].split()) == heads
        assert max(map(len, lines)) < max(map(len, wide)) <= 120
        assert [column["head"] for column in ranks_of(ONE)].count("so far") == 2  # a page and JSON have them anyway
        assert [line.split()[:3] for line in lines[5:9]] == [
            ["1", "d3", "2"], ["2", "d7", "–"], ["3", "d1", "3"], ["4", "<&>\"'", "1"],
        ]  # fmt: skip
        assert "│ d1         3" in lines[5]
        assert lines[lines.index("What would raise it most:") + 1].startswith("  +0.1")

    def test_bars(self) -> None:
        assert [bar(value, 2.0, width=4) for value in (2.0, 1.0, 0.25, 0.0, -1.0)] == ["████", "██", "▌", "", "░░"]
        assert bar(0.0, 0.0) == ""
        assert (bar(1e-9, 2.0), bar(-1e-9, 2.0)) == ("", "")  # shown as 0.0000

    def test_long_rankings_are_cut_where_nothing_is_added(self) -> None:
        found = explain(ranked_grades=[1, *[0] * 40, 1, *[None] * 200], measure="AP")
        kept = kept_rows(found.rows)
        assert [row if isinstance(row, int) else row.rank for row in kept] == [*range(1, 11), 31, 42, 200]
        assert "200 more" in str(found)

    def test_markdown_escapes_and_lines_up(self) -> None:
        text = ONE.show("markdown")
        rows = [line for line in text.split("\n") if line.startswith("|")]
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1
        assert "\\<&\\>" in text

    def test_json_holds_everything(self) -> None:
        data = json.loads(ONE.show("json"))
        assert data == json.loads(json.dumps(ONE.to_dict()))
        assert sum(row["contribution"] for row in data["rows"]) == pytest.approx(data["value"], abs=1e-12)
        assert (data["retrieved"], data["query_id"], data["run"]) == (4, "q1", "mine")

    def test_two_runs(self) -> None:
        assert sum(share.points for share in TWO.shares) == pytest.approx(TWO.points, abs=1e-12)
        assert TWO.points == pytest.approx(TWO.a.value - TWO.b.value)
        shares = {share.doc_id: (share.rank_a, share.rank_b) for share in TWO.shares}
        assert shares == {"d3": (1, 2), "d7": (2, None), "d1": (3, 1), "<&>\"'": (4, None), "d2": (None, 3)}
        points = [abs(share.points) for share in TWO.shares]
        assert points == sorted(points, reverse=True)
        assert repr(TWO).split("\n")[:3] == [
            f"nDCG@10 of query q1: mine − theirs = {TWO.points:+.4f}",
            f"theirs: {TWO.b.value:.4f}",
            f"mine: {TWO.a.value:.4f}",
        ]
        heads = repr(TWO).split("\n")[4]
        assert heads.split("  ")[0] == "document"
        order = [heads.index(head) for head in ("grade", "theirs rank", "mine rank", "difference")]
        assert order == sorted(order)
        assert json.loads(TWO.show("json"))["points"] == TWO.points
        assert TWO.show("markdown").count("\n|") == 7

    def test_a_run_that_does_not_answer(self) -> None:
        both = difference(explain(JUDGED, {"q2": {"a": 1.0}}, "q1"), ONE)
        assert both.points == -ONE.value
        assert repr(both).endswith("Note on run: the run does not answer this query.")

    def test_two_runs_of_different_queries_are_not_compared(self) -> None:
        with pytest.raises(InputError, match="not comparable"):
            difference(ONE, explain(JUDGED, RUN, "q2"))

    def test_a_difference_with_a_rest_adds_up(self) -> None:
        one, other = (explain(JUDGED, run, "q1", "RBPResidual") for run in (RUN, OTHER))
        both = difference(one, other)
        assert both.rest is not None
        total = sum(share.points for share in both.shares) + both.rest.contribution
        assert total == pytest.approx(both.points, abs=1e-12)

    def test_the_worst_queries(self) -> None:
        found = worst_queries(JUDGED, RUN, 2)
        assert [each.query for each in found] == ["q3", "q2"]
        assert [each.query for each in worst_queries(JUDGED, RUN, 9)] == ["q3", "q2", "q1"]
        skipping = rankgauge.Protocol(missing="skip")
        assert [each.query for each in worst_queries(JUDGED, RUN, 1, protocol=skipping)] == ["q2"]


class TestPictures:
    def test_the_picture_has_the_list_the_ideal_and_the_value(self) -> None:
        texts = words(svg(ONE))
        assert texts[0] == "nDCG@10 of query q1 in mine"
        assert f"{ONE.value:.4f}" in texts
        assert {"DCG", "ideal DCG", "ranked", "ideal", "grade", "gain ÷ discount", "adds"} <= set(texts)
        for row in (*ONE.rows, *ONE.ideal):
            assert row.doc_id in texts
            assert f"{row.contribution:.4f}" in texts
        assert "2 ÷ 1.585" in texts
        assert "What would raise it most" in texts

    def test_bars_are_as_long_as_what_they_stand_for(self) -> None:
        root = ElementTree.fromstring(svg(ONE))
        bars = [
            float(r.get("width", ""))
            for r in root.iter("{http://www.w3.org/2000/svg}rect")
            if r.get("class") == "rg-bar"
        ]
        shares = [row.contribution for row in (*ONE.rows, *ONE.ideal) if row.contribution]
        assert bars == pytest.approx([90 * share / max(shares) for share in shares], abs=0.01)

    def test_it_stands_by_itself_in_light_and_dark(self) -> None:
        drawn = svg(ONE)
        assert "prefers-color-scheme:dark" in drawn
        assert re.findall(r"(?:href|src|url)\W", drawn) == []

    @pytest.mark.parametrize("measure", ["AP", "RBPResidual", "DCG", "IDCG", "utility", "11pt_avg"])
    def test_every_kind_of_measure_is_drawn(self, measure: str) -> None:
        found = explain(JUDGED, RUN, "q1", measure)
        assert f"{found.value:.4f}" in words(svg(found))
        assert f"{found.value:.4f}" in str(found)

    def test_nothing_to_show_is_drawn_too(self) -> None:
        assert "0.0000" in words(svg(explain(JUDGED, RUN, "q3")))

    def test_two_runs_are_drawn(self) -> None:
        texts = words(difference_svg(TWO))
        assert f"{TWO.points:+.4f}" in texts
        assert {share.doc_id for share in TWO.shares} <= set(texts)

    def test_control_characters_in_ids_do_not_break_it(self) -> None:
        with pytest.raises(FormatError, match="holds half a character"):
            explain({"q": {"a\ud800": 1}}, {"q": {"a\ud800": 1.0}}, "q")
        strange = "a\x00\x1b\u202eb"
        found = explain({"q": {strange: 1}}, {"q": {strange: 1.0}}, "q")
        assert "a�" in "".join(words(svg(found)))
        assert "\x1b" not in str(found)

    def test_a_notebook_shows_the_picture(self) -> None:
        assert "<svg" in ONE._repr_html_()
        assert "<svg" in TWO._repr_html_()

    def test_a_page_needs_nothing_else(self) -> None:
        page = Explanations([ONE, explain(JUDGED, RUN, "q2")]).to_html()
        assert page.count('aria-label="nDCG@10') >= 2
        assert page.count("<table") == 2
        assert "&lt;&amp;&gt;" in page
        assert "<&>" not in page
        assert re.findall(r"<(?:script [^>]*src|link|img|iframe)", page) == []

    def test_a_png(self) -> None:
        pytest.importorskip("vl_convert")
        data = render(ONE.page(), "png")
        assert isinstance(data, bytes)
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        assert int.from_bytes(data[16:20], "big") == 2400

    def test_a_png_without_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "vl_convert", None)
        with pytest.raises(InputError, match=r"pip install 'rankgauge\[charts\]'"):
            render(ONE.page(), "png")

    def test_a_picture_is_of_one_query(self) -> None:
        with pytest.raises(
            InputError, match="a file holds one picture; there are picture-q1 or picture-q2; choose one"
        ):
            render(Explanations([ONE, explain(JUDGED, RUN, "q2")]).page(), "svg")


QRELS_FILE = "q1 0 d1 3\nq1 0 d2 0\nq1 0 d3 2\nq2 0 d9 1\nq3 0 x 1\n"
RUN_FILE = (
    "q1 Q0 d3 1 12.1 A\nq1 Q0 d7 2 11.8 A\nq1 Q0 d1 3 9.5 A\nq2 Q0 d4 1 7.2 A\nq2 Q0 d9 2 7.1 A\nq9 Q0 d1 1 1 A\n"
)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with judgments and two runs."""
    (tmp_path / "qrels.txt").write_text(QRELS_FILE)
    (tmp_path / "good.run").write_text(RUN_FILE)
    (tmp_path / "worse.run").write_text(RUN_FILE.replace("12.1", "1.1"))
    return tmp_path


@pytest.fixture
def cli(here: Path, command: Command) -> Command:
    """The command `explain`, in that folder."""
    return partial(command, "explain", cwd=here)


class TestCommand:
    def test_one_query(self, cli: Command) -> None:
        code, out, err = cli("qrels.txt", "good.run", "--query", "q1")
        assert (code, err) == (0, "")
        assert out.startswith("nDCG@10 of query q1 in good\nnDCG@10 = 0.8212\n")

    def test_grades(self, cli: Command) -> None:
        code, out, _ = cli("--ranked-grades", "3,2,3,0,1,2,0,1,0,2", "--gain", "exp", "-k", "10", "--format", "json")
        assert code == 0
        assert json.loads(out)["value"] == pytest.approx(0.936002, abs=5e-7)
        code, out, _ = cli("--ranked-grades", "3,u,2", "--ideal-grades", "3 3 2 0", "-m", "AP", "--format", "json")
        assert [row["grade"] for row in json.loads(out)["rows"]] == [3, None, 2]
        assert json.loads(out)["value"] == pytest.approx((1 + 2 / 3) / 3)

    def test_the_worst(self, cli: Command) -> None:
        _, out, _ = cli("qrels.txt", "good.run", "--worst", "2", "--format", "json")
        assert [each["query_id"] for each in json.loads(out)] == ["q3", "q2"]

    def test_one_table_holds_every_query(self, cli: Command) -> None:
        """CSV and LaTeX hold one table: the rows of all queries, with the names of what was measured."""
        alone = {query: cli("qrels.txt", "good.run", "--query", query, "--format", "csv").out for query in ("q2", "q1")}
        out = cli("qrels.txt", "good.run", "--worst", "3", "--format", "csv").out
        assert out.splitlines() == [*alone["q2"].splitlines(), *alone["q1"].splitlines()[1:]]
        both = cli("qrels.txt", "good.run", "worse.run", "--worst", "1", "--format", "csv").out.splitlines()
        assert both[0].startswith("query_id,run_a,run_b,doc_id,")
        assert all(line.startswith("q1,worse,good,") for line in both[1:])
        latex = cli("qrels.txt", "good.run", "--worst", "3", "--format", "latex").out
        assert [query for query in ("q1", "q2") if f"\n{query} & good &" in latex] == ["q1", "q2"]

    def test_two_runs(self, cli: Command) -> None:
        """The first is the baseline."""
        _, out, _ = cli("qrels.txt", "A=good.run", "worse.run", "--query", "q1", "-m", "P@1")
        assert out.startswith("P@1 of query q1: worse − A = -1.0000\nA: 1.0000\nworse: 0.0000\n")
        _, out, _ = cli("qrels.txt", "worse.run", "A=good.run", "--query", "q1", "-m", "P@1")
        assert out.startswith("P@1 of query q1: A − worse = +1.0000\nworse: 0.0000\nA: 1.0000\n")

    def test_the_queries_that_lost_most(self, cli: Command, here: Path) -> None:
        """As many as lost, the largest loss first; each as `--query` explains it."""
        (here / "worst.run").write_text("q1 Q0 d7 1 3 B\nq1 Q0 d1 2 2 B\nq2 Q0 d8 1 1 B\n")
        code, out, err = cli("qrels.txt", "good.run", "worst.run", "--worst", "5", "--format", "json")
        assert (code, err) == (0, "")
        values = {
            name: rankgauge.evaluate(here / "qrels.txt", here / f"{name}.run").to_dict() for name in ("good", "worst")
        }
        apart = {
            query: values["worst"][query]["nDCG@10"] - values["good"][query]["nDCG@10"] for query in values["good"]
        }
        told = json.loads(out)
        assert {each["query_id"]: each["points"] for each in told} == pytest.approx(
            {q: d for q, d in apart.items() if d}
        )
        assert (
            [each["query_id"] for each in told]
            == ["q2", "q1"]
            == sorted((query for query in apart if apart[query] < 0), key=apart.__getitem__)
        )
        one = json.loads(cli("qrels.txt", "good.run", "worst.run", "--query", "q2", "--format", "json").out)
        assert told[0] == one
        _, text, _ = cli("qrels.txt", "good.run", "worst.run", "--worst", "1")
        assert text.startswith("nDCG@10 of query q2: worst − good = -0.6309\ngood: 0.6309\nworst: 0.0000\n")
        assert "query q1" not in text

    def test_where_no_query_lost_it_says_so(self, cli: Command) -> None:
        assert cli("qrels.txt", "worse.run", "good.run", "--worst", "5") == (0, "No query lost.\n", "")
        assert cli("qrels.txt", "worse.run", "good.run", "--worst", "5", "--format", "json").out == "[]\n"

    def test_texts_of_queries_and_documents(self, cli: Command, here: Path) -> None:
        (here / "queries.tsv").write_text("q1\ta red tent\nq2\tlamp\n")
        (here / "corpus.jsonl").write_text('{"_id": "d1", "text": "A tent for two"}\n{"_id": "d7", "text": "Soap"}\n')
        texts = ("--queries", "queries.tsv", "--documents", "corpus.jsonl")
        code, out, err = cli("qrels.txt", "good.run", "worse.run", "--worst", "5", *texts)
        assert (code, err) == (0, "")
        assert out.startswith("a red tent\nnDCG@10 of query q1: worse − good = -0.1425\n")
        assert re.search(r"^d1: A tent for two +3 +3 +2 +\+0\.0922", out, re.MULTILINE)
        assert re.search(r"^d7: Soap +– +2 +1 +0\.0000", out, re.MULTILINE)
        assert re.search(r"^d3 +2 +1 +3 +-0\.2346", out, re.MULTILINE)  # a document without a text
        _, alone, _ = cli("qrels.txt", "good.run", "--query", "q1", *texts)
        assert alone.startswith("a red tent\nnDCG@10 of query q1 in good\n")
        assert re.search(r"d1: A.*two", alone)  # cut where the table would be too wide
        for option, name in (("--queries", "queries.tsv"), ("--documents", "corpus.jsonl")):
            code, _, err = cli("--ranked-grades", "3,2", option, name)
            assert (code, "QRELS" in err or option in err) == (2, True)
        code, out, err = cli("qrels.txt", "good.run", "--query", "q1", "--queries", "none.tsv")
        assert (code, out, "none.tsv" in err) == (2, "", True)

    @pytest.mark.parametrize(
        ("suffix", "start"),
        [
            (".svg", "<svg"),
            (".html", "<!doctype html>"),
            (".md", "**nDCG@10"),
            (".json", "{"),
            (".txt", "nDCG@10 of"),
        ],
    )
    def test_the_suffix_says_what_to_write(self, cli: Command, here: Path, suffix: str, start: str) -> None:
        code, out, err = cli("qrels.txt", "good.run", "--query", "q1", "-o", f"out{suffix}")
        assert (code, out, err) == (0, "", "")
        assert (here / f"out{suffix}").read_text(encoding="utf-8").startswith(start)

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["qrels.txt", "good.run", "--query", "q01"], "neither in qrels.txt nor in good.run; did you mean 'q1'"),
            (["qrels.txt", "good.run", "--query", "zzz"], "there are 'q1', 'q2', 'q3'"),
            (["qrels.txt", "good.run", "--query", "q9"], "query 'q9' has no judgments in qrels.txt"),
            (["--ranked-grades", "3,x,2"], "--ranked-grades, place 2: 'x' is neither a number nor u"),
            (["--ranked-grades", ""], "there is no grade to explain"),
            (["--ranked-grades", "3,2", "--ideal-grades", "3"], "it must hold the grades of all judgments"),
            (["--ranked-grades", "3,inf"], "not a finite number"),
            (["--ranked-grades", "3", "--query", "q1"], "--query and --ranked-grades exclude each other"),
            (["--ranked-grades", "3", "-m", "nDCG@5", "-k", "3"], "write them into 'nDCG@5'"),
            (["qrels.txt", "good.run"], "which query? qrels.txt has 'q1', 'q2', 'q3': --query ID takes one, --worst N"),
            (["qrels.txt", "--query", "q1"], "give QRELS and one run"),
            (["qrels.txt", "good.run", "worse.run", "good.run", "--worst", "2"], "give QRELS and one run, or two to"),
            (["qrels.txt", "good.run", "--worst", "2", "-o", "x.svg"], "there are picture-q3 or picture-q2"),
            (["qrels.txt", "good.run", "--query", "q1", "-o", "x.svg", "--format", "json"], ".svg is not for json"),
            (["qrels.txt", "good.run", "--query", "q1", "-m", "gm_map"], "geometric mean"),
            (["qrels.txt", "good.run", "--query", "q1", "--ideal-grades", "3"], "goes with --ranked-grades"),
            (["none.txt", "good.run", "--query", "q1"], "none.txt"),
        ],
    )  # fmt: skip
    def test_misuse_is_one_message_and_exit_2(self, cli: Command, here: Path, arguments: list[str], said: str) -> None:
        code, out, err = cli(*arguments)
        assert (code, out) == (2, "")
        assert said in err
        assert not any(here.glob("x.*"))


@pytest.mark.parametrize("rules", [{}, {"missing": "skip"}, {"empty": "skip"}], ids=str)
@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "RR@5"])
def test_the_largest_losses_by_brute_force(measure: str, rules: dict[str, Any]) -> None:
    """Thirty queries, some unanswered by one run and some without relevant documents: every loss, and no gain."""
    random = np.random.default_rng(3)
    judged = {f"q{q}": {f"d{d}": int(random.integers(0, 3)) if q % 7 else 0 for d in range(12)} for q in range(30)}
    runs = {
        name: {
            f"q{q}": {f"d{d}": float(score) for d, score in enumerate(random.random(15))} for q in range(30) if q % gap
        }
        for name, gap in (("old", 11), ("new", 8))
    }
    protocol = rankgauge.Protocol(**rules)
    values = {name: rankgauge.evaluate(judged, run, measure, protocol=protocol).to_dict() for name, run in runs.items()}
    apart = {
        query: values["new"][query][measure] - values["old"][query][measure]
        for query in values["old"]
        if query in judged and all(measure in each.get(query, ()) for each in values.values())
    }
    expected = sorted((query for query, change in apart.items() if change < 0), key=apart.__getitem__)
    for number in (1, 4, 100):
        found = most_lost(judged, runs, number, measure, protocol=protocol)
        assert [each.query for each in found] == expected[:number]
        assert [each.points for each in found] == pytest.approx([apart[query] for query in expected[:number]])
        assert all((each.a.run, each.b.run) == ("new", "old") for each in found)
        assert all(sum(share.points for share in each.shares) == pytest.approx(each.points) for each in found)
    assert 4 < len(expected) < 30


@pytest.mark.filterwarnings("ignore:.*only by the order of equal scores")
def test_the_value_of_a_column_of_a_large_file_and_of_a_dict_are_the_same(tmp_path: Path) -> None:
    """A file that is read as columns: only the query's rows are looked at."""
    lines = [f"q{q} Q0 d{(q * 7 + d) % 500} {d} {1000 - d // 3} t" for q in range(30) for d in range(300)]
    judged: dict[str, dict[str, Any]] = {f"q{q}": {f"d{d}": (q + d) % 4 for d in range(0, 500, 9)} for q in range(30)}
    file = tmp_path / "big.run"
    file.write_text("\n".join(lines) + "\n")
    run = rankgauge.read_run(str(file))
    columns = rankgauge.Run(run.columns, source=run.source)
    nested = rankgauge.Run({query: dict(table) for query, table in run.nested.items()}, source=run.source)
    for query in ("q0", "q17"):
        assert explain(judged, columns, query).to_dict() == explain(judged, nested, query).to_dict()
        assert explain(judged, columns, query).value == rankgauge.evaluate(judged, columns).to_dict()[query]["nDCG@10"]


def test_colours_change_nothing_but_the_colour() -> None:
    found = explain(ranked_grades=[3, 2, 3, 0, None, 2], ideal_grades=[3, 3, 3, 2, 2, 0], gain="exp", k=6)
    text = found.show()
    painted = render(found.page(), "table", Options(colours=True))
    assert isinstance(painted, str)
    assert re.sub(r"\x1b\[\d+m", "", painted) == text
    assert painted.startswith("\x1b[1mnDCG(gain=exp)@6 of the grades given\x1b[0m\n")
    assert "\x1b[1mnDCG(gain=exp)@6 = 0.7750\x1b[0m\n" in painted
    assert "\x1b[34m██\x1b[0m  │" in painted


@pytest.mark.parametrize(("plain", "painted"), [(None, True), ("1", False)])
def test_colours_are_for_terminals(plain: str | None, painted: bool) -> None:
    """A terminal of its own; NO_COLOR turns them off."""
    mine, other = pty.openpty()
    done = real("explain", "--ranked-grades", "3,0,2", stdout=other, NO_COLOR=plain)
    os.close(other)
    shown = os.read(mine, 100_000).decode()
    os.close(mine)
    assert ("\x1b[1m" in shown) is painted
    assert (done.code, done.err) == (0, "")
