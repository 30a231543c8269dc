"""The report: what it tells is what was computed, whatever is in the ids, and it is written whole or not at all."""

from __future__ import annotations

import base64
import csv
import gzip
import hashlib
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankgauge
from command import Command
from conftest import DRAWN
from rankgauge.errors import FormatError, InputError
from rankgauge.read import JudgmentsSource, RunSource
from rankgauge.read.tables import read_groups_and_numbers, read_texts
from rankgauge.reports.evidence import Limits
from rankgauge.reports.facts import Source, gather
from rankgauge.reports.sections import SECTIONS
from rankgauge.result import Evaluation
from rankgauge.show.cells import LEFT, cell_text, minus, number_text
from rankgauge.show.model import Chart, Column, Text, Tiles, every_block

EVIL = '<script>alert("x")</script>&amp;'
VOID = {"meta", "input", "br", "img", "link", "rect"}


def made(queries: int = 30, systems: int = 3, *, prefix: str = "q") -> tuple[dict[str, Any], dict[str, Any]]:
    """Judgments and runs with differences, ties, a query that one run does not answer, and unjudged documents."""
    rng = np.random.default_rng(7)
    judgments, runs = {}, {f"s{system}": {} for system in range(systems)}  # type: ignore[var-annotated]
    for number in range(queries):
        docs = [f"d{number}-{doc}" for doc in range(20)]
        grades = rng.choice([0, 0, 0, 1, 2, 3], 12)
        judgments[f"{prefix}{number}"] = dict(zip(docs[:12], grades.tolist(), strict=True))
        for at, run in enumerate(runs.values()):
            known = np.r_[grades, np.zeros(8)]
            scores = np.round(known * 0.4 * (at + 1) + rng.normal(0, 1, 20), 1)
            run[f"{prefix}{number}"] = dict(zip(docs, scores.tolist(), strict=True))
    del runs["s0"][f"{prefix}3"]
    return judgments, runs


def limited(judgments: Any, runs: dict[str, Any], **limits: int) -> rankgauge.Report:
    """A report that looks at no more than this."""
    wanted = rankgauge.report(judgments, runs, charts=False).facts.wanted
    source = Source(JudgmentsSource.of(judgments), {name: RunSource.of(run).kept() for name, run in runs.items()})
    return rankgauge.Report(gather(source, replace(wanted, limits=Limits(**limits))))


class Page(HTMLParser):
    """The page as a program reads it: cells of tables by their key, text that is seen, scripts, and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[tuple[str, str | None]]]] = {}
        self.seen: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.policy = ""
        self._table = self._tag = ""
        self._cell: list[str] | None = None
        self._raw: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self._tag = tag
        self.tags.append((tag, found))
        if found.get("http-equiv") == "Content-Security-Policy":
            self.policy = found["content"] or ""
        if "data-table" in found:
            self._table = found["data-table"] or ""
            self.tables[self._table] = []
        if tag == "tr":
            self.tables[self._table].append([])
        if tag in ("td", "th"):
            self._cell, self._raw = [], found.get("data-v")
        if tag in ("script", "style"):
            self.scripts.append((found, ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self._cell is not None:
            self.tables[self._table][-1].append(("".join(self._cell), self._raw))
            self._cell = None
        self._tag = ""

    def handle_data(self, data: str) -> None:
        if self._tag in ("script", "style"):
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
            return
        self.seen.append(data)
        if self._cell is not None:
            self._cell.append(data)


def tables_of(blocks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for block in blocks:
        if block["type"] == "table":
            yield block
        yield from tables_of(block.get("blocks", []))


def check_tables(page: Page, data: dict[str, Any]) -> int:
    """Every cell of every table of the page is the JSON's: its text, and where it is a number every digit of it."""
    tables = [table for section in data["sections"] for table in tables_of(section["blocks"])]
    assert [table["key"] for table in tables] == list(page.tables)
    numbers = 0
    for table in tables:
        columns = [Column(**column) for column in table["columns"]]
        head, *rows = page.tables[table["key"]]
        assert [text for text, _ in head] == [column.head for column in columns]
        for row, cells in zip(table["rows"], rows, strict=True):
            for value, (text, raw), column in zip(row, cells, columns, strict=True):
                shown = cell_text(tuple(value) if isinstance(value, list) else value, column)
                drawn = column.kind == "bar" and not column.head and not isinstance(value, str)  # a bar without a text
                assert text == (shown if isinstance(value, str) else "" if drawn else minus(shown))
                if not drawn and column.kind in ("number", "signed", "bar") and isinstance(value, int | float):
                    digits = 4 if column.digits is None else column.digits
                    assert abs(float(text.replace("−", "-")) - value) <= 0.5000001 * 10**-digits
                if column.kind not in LEFT and isinstance(value, (int, float)):
                    assert float(raw or "nan") == value
                    numbers += 1
                if isinstance(value, list) and None not in value:
                    assert [float(each) for each in (raw or "").split()] == value
                    numbers += 2
    return numbers


def numbers_of(data: Any) -> Iterator[float]:
    if isinstance(data, dict):
        for value in data.values():
            yield from numbers_of(value)
    elif isinstance(data, list):
        for value in data:
            yield from numbers_of(value)
    elif isinstance(data, float):
        yield data


def check_words(page: Page, data: dict[str, Any]) -> int:
    """Every number with four decimals that stands anywhere on the page is one of the JSON, rounded.

    What the checks of the files and the warnings say is text in the JSON, too.
    """
    pattern = r"(?<![\d.])\d+\.\d{4}(?!\d)"
    computed = {f"{abs(number):.4f}" for number in numbers_of(data)}
    said = json.dumps([data["findings"], (data["comparison"] or {}).get("warnings")])
    words = re.findall(pattern, " ".join(page.seen))
    assert set(words) - computed - set(re.findall(pattern, said)) - {"0.0001"} == set()
    return len(words)


# ---- numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"baseline": "s1"}, {"measures": ["AP", "nDCG@10"]}, {"charts": False}])
def test_every_number_of_the_page_is_that_of_the_json(options: dict[str, Any]) -> None:
    judgments, runs = made()
    by = {f"q{number}": "odd" if number % 2 else "even" for number in range(30)}
    report = rankgauge.report(judgments, runs, options.pop("measures", "nDCG@10"), by=by, **options)
    page, data = Page(report.to_html()), json.loads(report.to_json())
    assert check_tables(page, data) > 500
    assert check_words(page, data) > 100


def test_the_json_has_the_comparison_that_compare_makes() -> None:
    judgments, runs = made()
    data = rankgauge.report(judgments, runs, charts=False).to_dict()
    compared = rankgauge.compare(judgments, runs).to_dict()
    assert data["comparison"] == compared
    systems = next(table for section in data["sections"] for table in tables_of(section["blocks"]))
    assert systems["key"] == "systems-nDCG@10"
    means = {name: system["mean"]["value"] for name, system in compared["measures"]["nDCG@10"]["systems"].items()}
    assert {row[0]: row[1] for row in systems["rows"]} == means


def table_named(report: rankgauge.Report, key: str) -> list[dict[str, Any]]:
    """The rows of a table, by the heads of its columns."""
    (found,) = (t for s in report.to_dict()["sections"] for t in tables_of(s["blocks"]) if t["key"] == key)
    heads = [column["head"] for column in found["columns"]]
    return [dict(zip(heads, row, strict=True)) for row in found["rows"]]


def test_a_pair_turned_round_is_the_pair_compared_the_other_way() -> None:
    judgments, runs = made()
    forth, back = rankgauge.compare(judgments, runs).first, rankgauge.compare(judgments, dict(reversed(runs.items())))
    for pair in forth.pairs:
        turned, other = forth.pair(pair.b, pair.a), back.pair(pair.b, pair.a)
        for name in ("a", "b", "wins", "ties", "losses", "decision"):
            assert getattr(turned, name) == getattr(other, name)
        for name in ("difference", "interval", "d_z", "d_z_interval", "g_z", "better", "p_t", "detectable"):
            assert getattr(turned, name) == pytest.approx(getattr(other, name), abs=1e-9)
        for name in ("relative", "relative_interval", "skewness"):
            assert getattr(turned, name) == pytest.approx(getattr(other, name), abs=1e-9)


def test_differences_have_the_sign_of_the_means() -> None:
    judgments, runs = made()
    by = {f"q{number}": "odd" if number % 2 else "even" for number in range(30)}
    report = rankgauge.report(judgments, runs, by=by, charts=False)
    means = {name: report.facts.first.mean(name) for name in runs}
    for row in table_named(report, "matrix"):
        name = row.pop("row − column")
        apart = {other: means[name] - means[other] for other in row if other != name}
        assert {other: number for other, number in row.items() if number is not None} == pytest.approx(apart)
    best, other = report.facts.focus
    for row in table_named(report, "groups"):
        assert row[f"{best} − {other}"] == pytest.approx(row[best] - row[other])


@pytest.mark.filterwarnings("ignore:.*order of equal scores")  # evaluate says so, and the table shows it
def test_tables_hold_what_the_other_commands_say() -> None:
    judgments, runs = made()
    report = rankgauge.report(judgments, runs, charts=False)
    results = [rankgauge.evaluate(judgments, run, name=name) for name, run in runs.items()]
    bands = [
        {"system": row["run"], "value": row["value"], "smallest": row["low"], "expected": row["expected"],
         "largest": row["high"], "measure": row["measure"], "width": row["high"] - row["low"]}
        for row in Evaluation.of(results).tie_bands.rows()
    ]  # fmt: skip
    assert table_named(report, "ties") == bands
    assert any(band["width"] > 0 for band in bands)
    shares = {
        row["system"]: (row["Judged@10"], row["answered"], row["missing"]) for row in table_named(report, "judged")
    }
    assert shares == {r.name: (r.judged[10], r.counts["answered"], r.counts["missing"]) for r in results}
    assert shares["s0"][2] == 1
    pairs = rankgauge.compare(judgments, runs).pairs
    heads = ("system", "baseline", "difference", "adjusted p", "verdict")
    told = [tuple(row[head] for head in heads) for row in table_named(report, "pairs")]
    assert told == [(p.a, p.b, p.difference, p.p_adjusted, p.decision) for p in pairs]
    assert [row[:2] for row in told] == [("s1", "s0"), ("s2", "s0"), ("s2", "s1")]
    codes = [(row["code"], row["count"]) for row in table_named(report, "checks")]
    assert codes == [(each.code, each.count) for each in rankgauge.validate(judgments, *runs.values())]


def test_the_page_has_every_chart_live_and_still() -> None:
    report = rankgauge.report(*made())
    text = report.to_html()
    (stored,) = (json.loads(text) for attributes, text in Page(text).scripts if attributes.get("id") == "chart-data")
    drawn = [block for block in every_block(report.sections()) if isinstance(block, Chart)]
    pictures = {"forest", "distribution", "detectable", "at-k", "precision-recall", "differences", "scatter"}
    assert {block.key for block in drawn} == pictures | {"unjudged", "unjudged-pairs"}
    assert [block.key for block in report.sections()[0].blocks if isinstance(block, Chart)] == ["differences"]
    assert [re.sub(r"-\d+$", "", key) for key in stored["specs"]] == [block.key for block in drawn]
    for spec, block in zip(stored["specs"].values(), drawn, strict=True):
        assert spec["datasets"] == json.loads(block.draw().to_json(validate=False))["datasets"]
    still = re.findall(r'data-chart="([^"]+)"><div class="still" role="img" aria-label="[^"]+">(<svg .*?</svg>)', text)
    assert [key for key, _ in still] == list(stored["specs"])
    for _, picture in still:
        tags = {each.tag.rpartition("}")[2] for each in ET.fromstring(picture).iter()}
        assert tags <= {"svg", "g", "path", "line", "rect", "text", "tspan", "defs", "clipPath", "title"}
        assert len(picture) < 60_000


def test_the_examples_are_what_explain_shows() -> None:
    judgments, runs = made()
    report = rankgauge.report(judgments, runs, charts=False)
    best, other = report.facts.focus
    values = report.facts.first
    moved = {query: values.of(best)[at] - values.of(other)[at] for at, query in enumerate(values.queries)}
    gained = [each.query for each in report.facts.explained if "gained" in each.why]
    lost = [each.query for each in report.facts.explained if "lost" in each.why]
    assert gained == sorted(moved, key=lambda query: -moved[query])[:3]
    assert lost == [query for query in sorted(moved, key=lambda query: moved[query]) if moved[query] < 0][:3]
    assert lost
    shown = report.facts.explained[0]
    assert (
        shown.rankings[0].to_dict() == rankgauge.explain(judgments, runs[best], gained[0], top=3, name=best).to_dict()
    )
    page = Page(report.to_html())
    cells = page.tables[f"ranking-{gained[0]}-{best}"]
    assert [row[1][0] for row in cells[1:]] == [row.doc_id for row in shown.rankings[0].rows]
    adds = [head for head, _ in cells[0]].index("adds")
    total = sum(float(row[adds][1] or 0) for row in cells[1:])
    assert total == pytest.approx(shown.rankings[0].value, abs=1e-12)


def test_the_means_of_dl19_are_those_that_nist_published(shared: Path) -> None:
    runs = {path.name.split(".")[1]: path for path in sorted((shared / "dl19" / "runs").glob("*.gz"))}
    report = rankgauge.report(shared / "dl19" / "qrels.dl19-passage.txt", runs)
    text = report.to_html()
    page, data = Page(text), json.loads(report.to_json())
    assert check_tables(page, data) > 1000
    assert check_words(page, data) > 500
    assert len(text.encode()) < 1_500_000
    with (shared / "dl19" / "nist_published_scores.csv").open(encoding="utf-8") as stream:
        published = published_means(csv.DictReader(stream))
    rows = page.tables["systems-nDCG@10"][1:]
    assert {row[1][0]: row[2][0] for row in rows} == {name: published[name] for name in runs}


def published_means(rows: Any) -> dict[str, str]:
    return {row["run"]: f"{float(row['value']):.4f}" for row in rows if row["measure"] == "ndcg_cut_10"}


# ---- groups and business numbers -------------------------------------------------------------------------------------


def test_business_columns_stand_beside_the_measure_by_group(tmp_path: Path) -> None:
    judgments, runs = made(4, 2)
    table = tmp_path / "by.csv"
    table.write_text("query_id,kind,ctr,orders\nq0,head,0.5,10\nq1,head,0.25,\nq2,tail,0.125,3\nq3,tail,0.375,4\n")
    report = rankgauge.report(judgments, runs, by=table, charts=False)
    (groups,) = (t for s in report.to_dict()["sections"] for t in tables_of(s["blocks"]) if t["key"] == "groups")
    heads = [column["head"] for column in groups["columns"]]
    assert heads[-2:] == ["ctr, mean", "orders, mean"]
    assert {row[0]: tuple(row[-2:]) for row in groups["rows"]} == {
        "all": (0.3125, 17 / 3),
        "head": (0.375, 10.0),
        "tail": (0.25, 3.5),
    }
    values = report.facts.first
    for row in groups["rows"][1:]:
        chosen = [at for at, query in enumerate(values.queries) if (query in ("q0", "q1")) == (row[0] == "head")]
        assert row[heads.index("s1")] == pytest.approx(np.mean(values.of("s1")[chosen]))


def test_business_numbers_have_the_decimals_that_they_need(tmp_path: Path) -> None:
    judgments, runs = made(4, 2)
    table = tmp_path / "by.csv"
    table.write_text(
        "query_id,kind,visits,ctr,price,spent\nq0,a,4000,0.03125,12.5,1234.5\nq1,a,5000,0.0625,13.75,99.25\n"
        "q2,b,10,0.5,7,1\nq3,b,30,0.25,7,1\n"
    )
    page = Page(rankgauge.report(judgments, runs, by=table, charts=False).to_html())
    shown = {row[0][0]: [text for text, _ in row[-4:]] for row in page.tables["groups"]}
    assert shown["a"] == ["4500", "0.0469", "13.12", "666.9"]
    assert shown["b"] == ["20", "0.3750", "7.00", "1.0"]


def test_the_best_mean_is_the_largest_number() -> None:
    relevant = {f"d{number}": 1 for number in range(12)}
    runs = {name: {"q": dict.fromkeys(list(relevant)[:many], 1.0)} for name, many in (("nine", 9), ("twelve", 12))}
    both = {name: run | {"r": run["q"]} for name, run in runs.items()}
    words = rankgauge.report({"q": relevant, "r": relevant}, both, "NumRelRet", charts=False).to_markdown()
    assert "| twelve | **12.0000** |" in words
    assert "| nine | 9.0000 |" in words


def test_there_is_one_minus_sign_and_no_parameter_without_a_value() -> None:
    judgments, runs = made(8, 2)
    by = {f"q{number}": "odd" if number % 2 else "even" for number in range(8)}
    report = rankgauge.report(judgments, runs, ["nDCG@10", "AP"], by=by, baseline="s1", charts=False)
    seen = [*Page(report.to_html()).seen, report.to_markdown()]
    assert any(re.search(r"−\d+\.\d{4}", text) for text in seen)
    quoted = [*careful_of(report), *(row["first example"] for row in table_named(report, "checks"))]  # word for word
    assert [text for text in seen[:-1] if re.search(r"(?<![\w-])-\d+\.\d", text) and text not in quoted] == []
    assert "=None" not in report.to_json()


@pytest.mark.parametrize(
    ("text", "groups", "numbers"),
    [
        ("query_id,group\nq1,a\nq2,b\n", {"q1": "a", "q2": "b"}, {}),
        ("qid\tsegment\tclicks\nq1\ta\t3\nq2\tb\t\n", {"q1": "a", "q2": "b"}, {"clicks": {"q1": 3.0}}),
        ("query_id,clicks,kind\nq1,3,x\nq2,4,y\n", {"q1": "x", "q2": "y"}, {"clicks": {"q1": 3.0, "q2": 4.0}}),
        ("query_id,group,note\nq1,1,hello\n", {"q1": "1"}, {}),
    ],
)
def test_the_group_is_told_from_the_numbers(
    text: str, groups: dict[str, str], numbers: dict[str, dict[str, float]], tmp_path: Path
) -> None:
    file = tmp_path / "by.csv"
    file.write_text(text)
    assert read_groups_and_numbers(str(file)) == (groups, numbers)


def test_a_table_of_groups_that_cannot_be_understood_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "by.csv"
    file.write_text("query_id,one,two\nq1,a,b\n")
    with pytest.raises(FormatError, match=r"which column is the group\? There are one, two"):
        read_groups_and_numbers(str(file))
    file.write_text("a,b,c\n1,2,3\n")
    with pytest.raises(FormatError, match="no query column"):
        read_groups_and_numbers(str(file))


@pytest.mark.parametrize(
    ("name", "text", "what", "found"),
    [
        ("q.tsv", "query_id\tquery\tkind\nq1\ta tent\thead\n", "query_id", {"q1": "a tent"}),
        ("q.tsv", "q1\ta tent\nq2\ta lamp\n", "query_id", {"q1": "a tent", "q2": "a lamp"}),
        ("c.jsonl", '{"_id": "d1", "title": "T"}\n{"_id": "d2", "title": "U"}\n', "doc_id", {"d1": "T", "d2": "U"}),
        ("c.csv", "doc_id,text\n7,seven\n", "doc_id", {"7": "seven"}),
    ],
)
def test_texts_are_read(name: str, text: str, what: str, found: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert read_texts(str(tmp_path / name), what) == found


def test_texts_that_cannot_be_found_are_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "c.csv"
    file.write_text("doc_id,one,two\n1,a,b\n")
    with pytest.raises(FormatError, match=r"which column is the text\? There are doc_id, one, two; name it .*:COLUMN"):
        read_texts(str(file), "doc_id")
    assert read_texts(f"{file}:two", "doc_id") == {"1": "b"}


# ---- what is on the page ---------------------------------------------------------------------------------------------


def test_every_section_is_there_where_there_is_something_to_tell() -> None:
    judgments, runs = made()
    by = {f"q{number}": "odd" if number % 2 else "even" for number in range(30)}
    experiments = {"offline": [0.01, -0.02, 0.03, 0.0], "online": [0.1, -0.1, 0.5, 0.2]}
    more: dict[str, Any] = {"experiments": experiments, "second": {"other": judgments}}
    more |= {"sample": {"query_id": list(by), "traffic": [1] * 30, "inclusion": [0.5] * 30}}
    full = rankgauge.report(judgments, runs, by=by, retrieved=runs["s1"], restrict=True, **more)
    assert [section.key for section in full.sections()] == list(SECTIONS)
    alone = rankgauge.report(judgments, {"s1": runs["s1"]}, charts=False)
    assert not any("changed" in section.title for section in alone.sections())  # against nothing
    told = [section.key for section in alone.sections()]
    first = ["summary", "systems", "queries", "every-query", "judged", "open"]
    assert told == [*first, "ties", "checks", "cautions", "rules", "reproduce"]
    assert check_words(Page(alone.to_html()), json.loads(alone.to_json())) > 100


def test_one_query_and_a_measure_that_cannot_be_explained() -> None:
    report = rankgauge.report({"q": {"a": 1}}, {"x": {"q": {"b": 2.0, "a": 1.0}}}, "NumRelRet")
    assert "No ranking is shown rank by rank" in report.to_markdown()
    assert json.loads(report.to_json())["comparison"] is None
    assert report.to_html().count("<section") == len(report.sections())


@pytest.mark.parametrize("options", [{}, {"baseline": "x"}, {"by": {"q": "g"}}, {"charts": True}])
def test_one_query_and_two_systems_are_reported_without_a_test(options: dict[str, Any]) -> None:
    runs = {"x": {"q": {"b": 2.0, "a": 1.0}}, "y": {"q": {"a": 2.0, "b": 1.0}}}
    report = rankgauge.report({"q": {"a": 1, "b": 0}}, runs, **{"charts": False, **options})
    (tiles,) = (b["tiles"] for b in report.to_dict()["sections"][0]["blocks"] if b["type"] == "tiles")
    assert tiles == [
        {"label": "nDCG@10, y", "value": 1.0, "below": ""},
        {"label": "nDCG@10, x", "value": 1 / np.log2(3), "below": ""},
        {"label": "queries", "value": 1, "below": "evaluated"},
    ]
    first = report.to_dict()["sections"][0]["blocks"][0]
    words = f"One query cannot show a difference: y − x is {1 - 1 / np.log2(3):.4f} nDCG@10. Judge at least 6 queries."
    assert first["words"] == words
    assert first["kind"] == "warn"
    assert any("need two queries or clusters" in text for text in careful_of(report))
    assert json.loads(report.to_json())["comparison"] is None
    assert "nan" not in " ".join(Page(report.to_html()).seen) + report.to_markdown()
    both = {name: run | {"r": run["q"]} for name, run in runs.items()}
    judged = {query: {"a": 1, "b": 0} for query in ("q", "r")}
    assert rankgauge.report(judged, both, clusters={"q": "c", "r": "c"}, charts=False).facts.comparison is None
    with pytest.raises(InputError, match="there is no system 'z'"):
        rankgauge.report({"q": {"a": 1}}, runs, baseline="z")


def test_files_that_cannot_be_checked_are_reported_all_the_same() -> None:
    words = limited(*made(6, 2), checked=100).to_markdown()
    assert "Only the quick checks were made: the files are large." in words


def test_a_run_that_only_some_rules_accept_is_reported_under_them() -> None:
    judgments, runs = made(6, 2)
    rows = [(query, doc, score) for query, docs in runs["s0"].items() for doc, score in docs.items()]
    report = rankgauge.report(judgments, {"s0": [*rows, rows[0]]}, charts=False, protocol={"duplicates": "first"})
    assert "duplicates" in str(report.facts.wanted.protocol)
    assert len(report.facts.explained) >= 3


def test_a_system_that_finds_nothing_at_all_is_reported() -> None:
    """It has no judged share, in pictures neither; another system has unjudged documents."""
    judgments = {f"q{at}": {"a": 1, "b": 0, "c": 2} for at in range(30)}
    some = {query: {"a": 1.0, "z": 0.5} for query in judgments}
    nothing: dict[str, dict[str, float]] = {query: {} for query in judgments}
    for first, second in ((some, nothing), (nothing, some)):
        found = rankgauge.report(judgments, {"old": first, "new": second})
        assert '"system":"new"' in found.to_html()
        assert "new" in found.to_markdown()
        assert json.loads(found.to_json())


def test_no_examples_are_no_section() -> None:
    report = rankgauge.report(*made(6, 2), examples=0, charts=False)
    assert "queries" not in [section.key for section in report.sections()]


def test_words_say_who_is_better() -> None:
    """The best of the others against the first; turned round, the same run lost."""
    judgments, runs = made(60)
    words = rankgauge.report(judgments, runs, charts=False).to_markdown()
    pair = rankgauge.compare(judgments, runs).pair("s2", "s0")
    assert pair.decision == "better"
    assert f"\n### ✅ {pair.verdict}.\n" in words.replace("\\", "")
    assert f"s2 is ahead of s0 on {pair.wins}, behind on {pair.losses} and equal on {pair.ties} of 60" in words
    pair = rankgauge.compare(judgments, {name: runs[name] for name in ("s2", "s1")}).pair("s1", "s2")
    assert pair.decision == "worse"
    lost = rankgauge.report(judgments, {name: runs[name] for name in ("s2", "s1")}, charts=False).to_markdown()
    assert f"\n### ❌ {pair.verdict}.\n" in lost.replace("\\", "")
    assert f"s1 is ahead of s2 on {pair.wins}, behind on {pair.losses} and equal on {pair.ties} of 60" in lost


# ---- the first screen ------------------------------------------------------------------------------------------------

FIRST, SECOND = {"a": 2.0, "b": 1.0}, {"b": 2.0, "a": 1.0}  # the one relevant document first, and second
LOSS = 1 - 1 / np.log2(3)  # of a query, in nDCG@10


def outcome(case: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Judgments and two runs, old and new: new wins, loses, neither, does the same, or on too few queries to tell."""
    queries = [f"q{number:02}" for number in range(3 if case == "too few" else 40)]
    wins = {"win": 39, "loss": 1, "no clear winner": 21, "no difference": 0, "too few": 3}[case]
    old = {q: FIRST if case == "no difference" or at >= wins else SECOND for at, q in enumerate(queries)}
    new = {q: FIRST if case == "no difference" or at < wins else SECOND for at, q in enumerate(queries)}
    return {query: {"a": 1, "b": 0} for query in queries}, {"old": old, "new": new}


# Case → the first words and their kind, in the page's markup and in Markdown; of the tiles the difference, how sure,
# and the queries won.
SCREENS: dict[str, tuple[str, str, str, tuple[float, str, int]]] = {
    "win": ("new is better than old by 0.3506 nDCG@10 (", "good", "✅", (38 / 40 * LOSS, "better", 39)),
    "loss": ("new is worse than old by 0.3506 nDCG@10 (", "bad", "❌", (-38 / 40 * LOSS, "worse", 1)),
    "no clear winner": (
        "No clear winner: new − old is 0.0185 nDCG@10 (", "warn", "⚠️", (2 / 40 * LOSS, "not significant", 21)
    ),
    "no difference": (
        "No difference: new and old have the same nDCG@10 on all 40 queries.", "warn", "⚠️", (0.0, "not significant", 0)
    ),
    "too few": ("Too few queries to tell: new − old is 0.3691 nDCG@10 (", "warn", "⚠️", (LOSS, "not significant", 3)),
}  # fmt: skip


@pytest.mark.parametrize("case", SCREENS)
def test_the_first_block_is_the_decision(case: str) -> None:
    words, kind, sign, (difference, decision, won) = SCREENS[case]
    judgments, runs = outcome(case)
    report = rankgauge.report(judgments, runs)
    sentence, tiles, *rest = report.to_dict()["sections"][0]["blocks"]
    pair = rankgauge.compare(judgments, runs).pair("new", "old")
    assert (sentence["type"], sentence["kind"]) == ("text", kind)
    assert sentence["words"].startswith(words)
    assert sentence["words"] == f"{pair.verdict}."
    assert re.search(f'<p class="{kind}">{re.escape(words[:30])}', report.to_html())
    assert f"## Summary\n\n### {sign} {words[:20]}" in report.to_markdown()
    labels = [tile["label"] for tile in tiles["tiles"]]
    assert labels == ["nDCG@10, new", "difference", "how sure", "queries won"]
    told = {tile["label"]: tile["value"] for tile in tiles["tiles"]}
    assert told["difference"] == pytest.approx(difference, abs=1e-12)
    assert (told["how sure"], told["queries won"]) == (decision, won)
    below = [tile["below"] for tile in tiles["tiles"]]
    assert below[0] == f"old: {report.facts.first.mean('old'):.4f}"
    relative = abs(difference) / report.facts.first.mean("old")
    share = f"{100 * relative:.{1 if relative < 0.0995 else 0}f} %"
    assert below[1] == (f"{share} {'more' if difference > 0 else 'less'} than old" if difference else "")
    assert ("interval" in below[2]) == (case not in ("too few", "no difference"))
    assert below[3] == f"{pair.losses} lost, {pair.ties} tied of {len(judgments)}"
    assert [type(block) for block in report.sections()[0].blocks[:3]] == [Text, Tiles, Chart]
    assert {block["type"] for block in rest} <= {"bullets"}


@pytest.mark.parametrize("case", [*SCREENS, "many", "one run", "one query"])
def test_the_summary_has_three_cautions_at_most_each_with_its_evidence(case: str) -> None:
    judgments, runs = made(60) if case in ("many", "one run") else outcome("loss" if case == "one query" else case)
    if case == "one run":
        runs = {"s0": runs["s0"]}
    if case == "one query":
        judgments = {"q00": judgments["q00"]}
    report = rankgauge.report(judgments, runs, charts=False)
    data, page = report.to_dict(), Page(report.to_html())
    boxes = [block for block in data["sections"][0]["blocks"] if block["type"] == "bullets"]
    shown = [item for box in boxes if box["kind"] == "warning" for item in box["items"]]
    links = [link for box in boxes for link in box["links"]]
    every = [row["caution"] for row in table_named(report, "cautions")] if "cautions" in page_ids(page) else []
    assert shown == every[:3]
    assert len(links) == sum(len(box["items"]) for box in boxes)
    assert set(links) <= {section["key"] for section in data["sections"]}
    assert set(links) <= page_ids(page)
    assert {f"#{link}" for link in links} <= {attributes.get("href") for tag, attributes in page.tags if tag == "a"}
    left = len(every) - len(shown)
    more = [item for box in boxes if box["kind"] != "warning" for item in box["items"]]
    assert more == ([f"{left} more caution{'s' * (left > 1)} at the end."] if left else [])
    if case == "many":
        assert len(every) > 3
    if case == "loss":
        assert len(every) > 0


def page_ids(page: Page) -> set[str | None]:
    """The ids that links can lead to."""
    return {attributes["id"] for _, attributes in page.tags if attributes.get("id")}


def test_what_could_turn_the_decision_comes_first() -> None:
    """Unjudged documents that could turn the order round, before the notes of the checks and of small numbers."""
    report = rankgauge.report(*made(30), charts=False)
    codes = [row["code"] for row in table_named(report, "cautions")]
    assert codes[:2] == ["unjudged", "unanswered"]
    assert (
        codes.index("unjudged")
        < codes.index("unanswered")
        < min((at for at, code in enumerate(codes) if code.startswith("RG")), default=len(codes))
    )
    warned = {finding.code for finding in report.facts.findings or [] if finding.kind.severity == "warning"}
    assert {code for code in codes if code.startswith("RG")} == warned - {"RG302"}  # RG302: unanswered
    assert report.facts.comparison is not None
    assert {doubt.code for doubt in report.facts.comparison.warnings} <= set(codes)


def test_cautions_about_other_systems_stand_at_the_end_only() -> None:
    """Of three systems the verdict is about two; the third is judged less, and left queries unanswered."""
    judgments = {f"q{n:02}": {"x": 1, "y": 0, "w": 0} for n in range(40)}
    best = {query: {"x": 3.0, "y": 2.0, "w": 1.0} for query in judgments}
    next_best = {query: {"y": 3.0, "x": 2.0, "w": 1.0} for query in judgments}
    last = {query: {"s": 3.0, "t": 2.0, "x": 1.0} for query in list(judgments)[:30]}
    report = rankgauge.report(judgments, {"next": next_best, "last": last, "best": best}, "nDCG@3", charts=False)
    assert report.facts.focus == ("best", "next")
    assert not any("last" in each for each in careful_of(report))
    told = {row["code"]: row["caution"] for row in table_named(report, "cautions")}
    assert "for last" in told["judged-unequal"]
    assert "last answers 30 of 40" in told["unanswered"]
    two = rankgauge.report(judgments, {"last": last, "best": best}, "nDCG@3", charts=False)
    assert any("hard on last" in each for each in careful_of(two))


def test_ties_that_cannot_undo_the_difference_stand_at_the_end_only() -> None:
    judgments = {f"q{n:02}": {"x": 1, "y": 0} for n in range(40)}
    good = {query: {"x": 2.0, "y": 1.0} for query in judgments}
    tied = {q: {"x": 1.0, "y": 1.0 if q == "q00" else 2.0} for q in judgments}  # only the first is tied
    report = rankgauge.report(judgments, {"good": good, "tied": tied}, charts=False)
    told = {row["code"]: row["caution"] for row in table_named(report, "cautions")}
    assert told["ties"].startswith("Another order of equal scores")
    assert not any("Another order" in each for each in careful_of(report))
    alone = rankgauge.report(judgments, {"tied": tied}, charts=False)
    assert any("Another order" in each for each in careful_of(alone))


@pytest.mark.parametrize(("queries", "section"), [(40, "summary"), (600, "moves")])
def test_the_differences_are_drawn_once(queries: int, section: str) -> None:
    judgments = {f"q{n:03}": {"x": 1} for n in range(queries)}
    runs = {name: {query: {first: 2.0, "x": 1.0} for query in judgments} for name, first in (("a", "x"), ("b", "y"))}
    report = rankgauge.report(judgments, runs)
    drawn = [(each.key, block.key) for each in report.sections() for block in each.blocks if isinstance(block, Chart)]
    assert [key for key, kind in drawn if kind == "differences"] == [section]


def careful_of(report: rankgauge.Report) -> list[str]:
    """What the box of warnings says."""
    summary = report.to_dict()["sections"][0]["blocks"]
    return [item for block in summary if block.get("kind") == "warning" for item in block["items"]]


@pytest.mark.parametrize("checked", [1_000, 0])
def test_unanswered_queries_are_warned_of_at_the_top(checked: int) -> None:
    judgments = {f"q{number}": {"a": 1} for number in range(8)}
    runs = {"whole": {key: {"a": 1.0} for key in judgments}, "part": {key: {"a": 1.0} for key in list(judgments)[:3]}}
    said = [text for text in careful_of(limited(judgments, runs, checked=checked)) if "answer" in text]
    assert said == [
        "Queries without an answer count 0 and lower the mean: part answers 3 of 8 (nDCG@10 0.3750, and 1.0000 over "
        "these)."
    ]
    skipped = rankgauge.report(judgments, {"part": runs["part"]}, charts=False, protocol={"missing": "skip"})
    assert not any("answer" in text for text in careful_of(skipped))


def test_warnings_of_the_checks_are_at_the_top_and_their_codes_at_the_end() -> None:
    judgments = {f"q{number}": {"a": 0.5, "b": 1.0} for number in range(8)}
    runs = {name: {key: {"b": 2.0, "a": 1.0} for key in judgments} for name in ("x", "y")}
    report = rankgauge.report(judgments, runs, charts=False)
    (said,) = (text for text in careful_of(report) if "decimals" in text)
    assert said.startswith("Grades have decimals, which trec_eval and ranx cut off (judgments): nDCG@10 is 1.0000")
    assert {"code": "RG105", "caution": said} in table_named(report, "cautions")


def worse_than_its_baseline() -> tuple[dict[str, Any], dict[str, Any]]:
    """Forty queries: old ranks the one relevant document first, new second; but of the last it is the other way."""
    judgments = {f"q{number:02}": {"a": 1, "b": 0} for number in range(40)}
    first, second = {"a": 2.0, "b": 1.0}, {"b": 2.0, "a": 1.0}
    queries = list(judgments)
    old = {query: second if query == "q39" else first for query in queries}
    return judgments, {"new": {query: first if query == "q39" else second for query in queries}, "old": old}


def test_a_system_that_lost_against_the_baseline_is_worse() -> None:
    judgments, runs = worse_than_its_baseline()
    report = rankgauge.report(judgments, runs, ["nDCG@10", "RR"], baseline="old", charts=False)
    assert report.facts.focus == ("new", "old")
    (tiles,) = (b["tiles"] for b in report.to_dict()["sections"][0]["blocks"] if b["type"] == "tiles")
    told = {tile["label"]: tile["value"] for tile in tiles}
    loss = 38 / 40 * (1 / np.log2(3) - 1)  # 39 queries lose what the one gains
    assert told["nDCG@10, new"] == pytest.approx((1 + 39 / np.log2(3)) / 40)
    assert (told["difference"], told["how sure"]) == (pytest.approx(loss), "worse")
    words = report.to_markdown()
    assert "### ❌ new is worse than old by 0.3506 nDCG@10 (35 % less; " in words.replace("\\", "")
    assert "new is ahead of old on 1, behind on 39 and equal on 0 of 40" in words
    assert "Query q39 gains most: nDCG@10 0.6309 with old, 1.0000 with new." in words
    assert "Query q00 loses most: nDCG@10 1.0000 with old, 0.6309 with new." in words
    assert "RR agrees: new is worse" in words
    why = {each.query: each.why[0] for each in report.facts.explained}
    assert (why["q39"], why["q00"]) == ("gained", "lost")
    assert "From old to new: moved up most" in words


@pytest.mark.parametrize("order", [("s0", "s1"), ("s1", "s0")])
@pytest.mark.parametrize("baseline", [None, "s0", "s1"])
def test_differences_have_one_direction_throughout(order: tuple[str, str], baseline: str | None) -> None:
    judgments, runs = made(8, 2)
    report = rankgauge.report(judgments, {name: runs[name] for name in order}, baseline=baseline, charts=False)
    a, b = report.facts.focus
    apart = report.facts.first.mean(a) - report.facts.first.mean(b)
    assert b == (baseline or order[0])
    lead = report.to_dict()["sections"][0]["blocks"][0]["words"]
    assert lead.startswith(f"No clear winner: {a} − {b} is {number_text(apart)} nDCG@10 (")
    (tiles,) = (b["tiles"] for b in report.to_dict()["sections"][0]["blocks"] if b["type"] == "tiles")
    assert (tiles[1]["label"], tiles[1]["value"]) == ("difference", pytest.approx(apart))
    assert tiles[1]["below"].endswith(f"{'more' if apart > 0 else 'less'} than {b}")


def test_the_policy_allows_the_scripts_of_the_page_and_nothing_else() -> None:
    page = Page(rankgauge.report(*made()).to_html())
    assert page.policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in page.policy
    running = [text for attributes, text in page.scripts if not attributes.get("type")]
    (packed,) = (text for attributes, text in page.scripts if attributes.get("id") == "chart-library")
    library = gzip.decompress(base64.b64decode(packed)).decode()
    hashes = {f"'sha256-{base64.b64encode(hashlib.sha256(t.encode()).digest()).decode()}'" for t in [*running, library]}
    assert set(re.findall(r"'sha256-[^']+'", page.policy)) == hashes
    asked = {name for _, attributes in page.tags for name in attributes} & {"src", "style", "onclick", "onload"}
    assert asked == set()
    assert all((attributes.get("href") or "#").startswith("#") for _, attributes in page.tags)


def test_whatever_is_in_ids_names_and_texts_stays_text() -> None:
    judgments, runs = made(6, 2, prefix=EVIL)
    judgments = {query: {f"{doc}{EVIL}": grade for doc, grade in docs.items()} for query, docs in judgments.items()}
    named = {
        f"{name}{EVIL}": {query: {f"{doc}{EVIL}": score for doc, score in docs.items()} for query, docs in run.items()}
        for name, run in runs.items()
    }
    texts = dict.fromkeys(judgments, f"{EVIL} </script> | *x*")
    groups = {query: f"{EVIL}{at % 2}" for at, query in enumerate(judgments)}
    report = rankgauge.report(judgments, named, by=groups, queries=texts, title=EVIL, command=f"rankgauge {EVIL}")
    page = Page(report.to_html())
    assert sum(tag == "script" for tag, _ in page.tags) == 3
    assert not {"img", "iframe", "b"} & {tag for tag, _ in page.tags}
    assert EVIL in "".join(page.seen)
    assert check_tables(page, json.loads(report.to_json())) > 50
    outside = re.sub(r"^```sh\n.*?\n```$", "", report.to_markdown(), flags=re.DOTALL | re.MULTILINE)
    assert "alert" in outside
    assert not re.search(
        r"(?<!\\)<", re.sub(r"^<details><summary>|</summary>$|^</details>$", "", outside, flags=re.MULTILINE)
    )


def test_markdown_tables_have_as_many_cells_as_heads() -> None:
    judgments, runs = made(6, 2, prefix="a|b ")
    text = rankgauge.report(judgments, runs).to_markdown()
    blocks = re.findall(r"(?:^\|.*\|\n?)+", text, re.MULTILINE)
    assert len(blocks) > 8
    for block in blocks:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.strip().splitlines()}) == 1


def test_the_same_input_gives_the_same_bytes() -> None:
    first, second = (rankgauge.report(*made(10, 2)) for _ in range(2))
    html = first.to_html()
    DRAWN.clear()
    assert html == second.to_html()
    assert first.to_json() == second.to_json()


def test_of_very_many_queries_the_table_shows_those_that_moved_most() -> None:
    report = rankgauge.report(*made(1_100, 2), charts=False)
    (table,) = (t for s in report.to_dict()["sections"] for t in tables_of(s["blocks"]) if t["key"] == "every-query")
    moved = sorted((abs(row[-1]) for row in table["rows"]), reverse=True)
    values = report.facts.first.difference(*report.facts.focus)
    assert moved == sorted(np.abs(values).tolist(), reverse=True)[:1000]
    assert "The 1,000 that moved most of 1,100" in table["notes"][0]


def test_runs_need_names() -> None:
    with pytest.raises(InputError, match="name the systems"):
        rankgauge.report({"q": {"a": 1}}, [{"q": {"a": 1.0}}])


# ---- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> Path:
    judgments, runs = made(12, 2)
    rankgauge.write(rankgauge.read_judgments(judgments), tmp_path / "qrels.txt")
    for name, run in runs.items():
        rankgauge.write(rankgauge.read_run(run), tmp_path / f"{name}.run")
    return tmp_path


@pytest.fixture
def cli(files: Path, command: Command) -> Command:
    """The command `report`, in that folder."""
    return partial(command, "report", cwd=files)


def test_the_command_writes_by_the_suffix(cli: Command, files: Path) -> None:
    for name in ("r.html", "r.md", "r.json"):
        done = cli("qrels.txt", "s0.run", "s1.run", "-o", name)
        assert (done.code, done.err, done.out) == (0, "", "")
    page, data = Page((files / "r.html").read_text()), json.loads((files / "r.json").read_text())
    assert check_tables(page, data) > 200
    assert data["command"] == "rankgauge report qrels.txt s0.run s1.run -o r.json"
    assert "rankgauge report qrels.txt s0.run s1.run -o r.html" in "".join(page.seen)
    assert (files / "r.md").read_text().startswith("# nDCG@10 of s0 and s1\n")
    assert "qrels.txt" in " ".join(text for row in page.tables["checks"] for text, _ in row)


def test_a_run_may_come_from_standard_input(cli: Command, files: Path) -> None:
    given = (files / "s0.run").read_bytes()
    piped = cli("qrels.txt", "s0=-", "s1.run", "--format", "json", stdin=given)
    read = cli("qrels.txt", "s0.run", "s1.run", "--format", "json")
    assert piped.code == read.code == 0
    one, other = json.loads(piped.out), json.loads(read.out)
    assert one["comparison"] == other["comparison"]
    assert [s for s in one["sections"] if s["key"] == "queries"] == [
        s for s in other["sections"] if s["key"] == "queries"
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["qrels.txt", "s0.run", "-o", "none/r.html"], "there is no folder"),
        (["qrels.txt", "s0.run", "-o", "."], "is a folder"),
        (["qrels.txt", "s0.run", "-o", "r.foo"], "r.foo: no format has the suffix .foo; expected"),
        (["qrels.txt", "s0.run", "s1.run", "--baseline", "s9", "-o", "r.html"], "there is no system 's9'"),
        (["qrels.txt", "nothing.run", "-o", "r.html"], "nothing.run"),
        (["qrels.txt", "s0.run", "-m", "nGCD@10", "-o", "r.html"], "unknown measure"),
        (["qrels.txt", "s0.run", "--by", "qrels.txt", "-o", "r.html"], "qrels.txt"),
    ],
)
def test_mistakes_are_one_line_and_leave_nothing_behind(
    arguments: list[str], message: str, cli: Command, files: Path
) -> None:
    before = sorted(files.iterdir())
    done = cli(*arguments)
    assert done.code == 2
    assert message in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert sorted(files.iterdir()) == before
