"""Charts: their data are the library's numbers, their specifications are valid, their files really show something."""

from __future__ import annotations

import functools
import json
import re
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import rankgauge
from command import Command, real
from rankgauge import Comparison, Result, charts
from rankgauge.cli import plot
from rankgauge.comparison.values import Values
from rankgauge.errors import InputError, MeasureError
from rankgauge.show.charts import still as picture
from rankgauge.show.charts.pairs import ENDS, MANY
from rankgauge.show.charts.source import defined
from rankgauge.show.charts.theme import DARK_PALETTE, PALETTE
from rankgauge.show.formats import FORMATS
from rankgauge.stats.power import detectable, power_of

QRELS = {f"q{i}": {f"d{j}": (i * j) % 4 for j in range(8)} for i in range(1, 13)}
SEGMENTS = {query: "even" if int(query[1:]) % 2 == 0 else "odd" for query in QRELS}


def run_of(step: int) -> dict[str, dict[str, float]]:
    return {
        query: {doc: float((int(doc[1:]) * step + int(query[1:])) % 9) for doc in docs} for query, docs in QRELS.items()
    }


@pytest.fixture(scope="module")
def results() -> dict[str, Result]:
    return {f"s{step}": rankgauge.evaluate(QRELS, run_of(step), ["nDCG@3", "P@2"], by=SEGMENTS) for step in (2, 4, 5)}


@pytest.fixture(scope="module")
def comparison(results: dict[str, Result]) -> Comparison:
    return rankgauge.compare(None, results)


def rows_of(chart: Any, *fields: str) -> list[dict[str, Any]]:
    """The rows of the data that have these fields."""
    (rows,) = (rows for rows in chart.to_dict()["datasets"].values() if rows and set(fields) <= rows[0].keys())
    return list(rows)


OTHERS = {query: {doc: min(3, grade + (doc < "d3")) for doc, grade in docs.items()} for query, docs in QRELS.items()}


@functools.cache
def trusted() -> tuple[Any, Any]:
    """What charts of trust are made from: with some judgments taken away, and with a second judge."""
    some = {query: {doc: grade for doc, grade in docs.items() if doc != "d3"} for query, docs in QRELS.items()}
    runs = {f"s{step}": run_of(step) for step in (2, 4, 5)}
    quality = rankgauge.quality(some, runs, "nDCG@3", error_rate=0.2, draws=60)
    return quality, rankgauge.agree({"one": QRELS, "other": OTHERS}, runs=runs, measure="nDCG@3")


def source_of(kind: str, results: dict[str, Result], comparison: Comparison) -> Any:
    if kind in ("unjudged", "unjudged-pairs", "noise"):
        return trusted()[0]
    if kind in ("confusion", "judges"):
        return trusted()[1]
    return results if kind in ("at-k", "precision-recall") else comparison


# ---- numbers ---------------------------------------------------------------------------------------------------------


def test_forest_shows_means_and_intervals_best_first(results: dict[str, Result], comparison: Comparison) -> None:
    rows = rows_of(charts.forest(comparison), "mean")
    for row in rows:
        assert row["mean"] == pytest.approx(results[row["system"]]["nDCG@3"], abs=1e-15)
        assert (row["low"], row["high"]) == comparison["nDCG@3"].systems[row["system"]].interval
    assert [row["mean"] for row in rows] == sorted((row["mean"] for row in rows), reverse=True)
    alike = {
        system
        for pair in comparison.pairs
        for system, other in ((pair.a, pair.b), (pair.b, pair.a))
        if other == rows[0]["system"] and pair.decision == "not significant"
    }
    assert {row["system"] for row in rows if row["top"]} == alike | {rows[0]["system"]}


def test_differences_show_every_query(results: dict[str, Result]) -> None:
    a, b = (results[name].to_dict() for name in ("s5", "s2"))
    rows = rows_of(charts.differences(results, pair=("s5", "s2")), "from")
    shown = {query: row for row in rows for query in row["query"].split(", ")}
    assert shown.keys() == QRELS.keys()
    for query, row in shown.items():
        assert row["a"] == a[query]["nDCG@3"]
        assert row["difference"] == a[query]["nDCG@3"] - b[query]["nDCG@3"]
    assert [row["from"] for row in rows] == [0, *(row["to"] for row in rows[:-1])]
    assert rows[-1]["to"] == len(QRELS)
    assert [row["difference"] for row in rows] == sorted((row["difference"] for row in rows), reverse=True)


def test_scatter_puts_queries_of_the_same_values_together(results: dict[str, Result]) -> None:
    a, b = (results[name].to_dict() for name in ("s4", "s2"))  # the first of the results is the baseline, b
    rows = rows_of(charts.scatter(results, "P@2"), "better")
    places: dict[tuple[float, float], int] = {}
    for query in QRELS:
        place = a[query]["P@2"], b[query]["P@2"]
        places[place] = places.get(place, 0) + 1
    assert {(row["a"], row["b"]): row["queries"] for row in rows} == places
    assert max(places.values()) > 1
    for row in rows:
        assert row["better"] == ("neither" if row["a"] == row["b"] else "a" if row["a"] > row["b"] else "b")


@pytest.mark.parametrize("names", [("same", "other"), ("neither", "b"), ("b", "a")])
def test_a_system_may_be_called_like_a_tie(names: tuple[str, str]) -> None:
    table = np.array([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    chart = charts.scatter(Values("RR", list(names), ["q1", "q2", "q3"], table))
    (colour,) = (each["encoding"]["color"] for each in chart.to_dict()["layer"] if "color" in each["encoding"])
    shade = dict(zip(colour["scale"]["domain"], colour["scale"]["range"], strict=True))
    look = charts.THEMES["light"]
    found = {row["query"]: shade[row["better"]] for row in rows_of(chart, "better")}
    assert found == {"q1": look.loss, "q2": look.gain, "q3": look.quiet}  # the second wins q2 from the first
    texts = [each.text for each in ET.fromstring(charts.svg(chart)).iter("{http://www.w3.org/2000/svg}text")]
    assert texts[texts.index("better:") - 3 : texts.index("better:")] == [*reversed(names), "neither"]


@pytest.mark.parametrize("width", [240, 390, 720])
def test_long_names_are_cut_and_numbers_are_not(width: int) -> None:
    names = [f"{letter}-{'x' * 60}" for letter in "ab"]
    values = Values("RR", names, ["q1", "q2", "q3"], np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.5]]))
    texts = list(ET.fromstring(charts.svg(charts.differences(values, width=width))).itertext())
    assert {"better: 2 of 3", "better: 1 of 3", "queries, by difference"} <= set(texts)
    assert len([text for text in texts if text.startswith(("a-x", "b-x")) and text.endswith("…")]) == 2


def test_distribution_counts_every_query_once(results: dict[str, Result]) -> None:
    chart = charts.distribution(results)
    rows, centres = rows_of(chart, "share"), rows_of(chart, "tick")
    for name, result in results.items():
        values = result.per_query["nDCG@3"].to_list()
        mine = [row for row in rows if row["system"] == name]
        assert sum(row["queries"] for row in mine) == len(QRELS)
        for row in mine:
            last = row["to"] == 1.0
            inside = [v for v in values if row["from"] <= v and (v < row["to"] or (last and v == 1.0))]
            assert row["queries"] == len(inside)
        (centre,) = (row for row in centres if row["system"] == name)
        assert centre["tick"] == result.median("nDCG@3")
        assert centre["diamond"] == pytest.approx(result["nDCG@3"], abs=1e-15)


def test_at_k_is_what_evaluate_says_at_every_k(results: dict[str, Result]) -> None:
    rows = rows_of(charts.at_k(results, "P@2", last_k=6), "value")
    assert [row["k"] for row in rows] == [1, 2, 3, 4, 5, 6] * 3
    for row in rows:
        alone = rankgauge.evaluate(QRELS, run_of(int(row["system"][1:])), f"P@{row['k']}")
        assert row["value"] == pytest.approx(alone[f"P@{row['k']}"], abs=1e-15)


def test_precision_recall_is_what_evaluate_says(results: dict[str, Result]) -> None:
    rows = rows_of(charts.precision_recall(results), "recall")
    assert sorted({row["recall"] for row in rows}) == [tenth / 10 for tenth in range(11)]
    for row in rows:
        measure = f"IPrec@{row['recall']:g}"
        alone = rankgauge.evaluate(QRELS, run_of(int(row["system"][1:])), measure)
        assert row["value"] == pytest.approx(alone[measure], abs=1e-15)


def test_groups_show_the_means_of_each_group(results: dict[str, Result], comparison: Comparison) -> None:
    for row in rows_of(charts.groups(comparison), "group"):
        part = comparison["nDCG@3"].groups[row["group"]].systems[row["system"]]
        assert row["mean"] == pytest.approx(results[row["system"]].by[row["group"]]["nDCG@3"], abs=1e-15)
        assert (row["low"], row["high"]) == pytest.approx(part.interval, abs=1e-14)
        assert row["queries"] == sum(group == row["group"] for group in SEGMENTS.values())


def test_matrix_has_every_pair_both_ways(comparison: Comparison) -> None:
    rows = {(row["row"], row["column"]): row for row in rows_of(charts.matrix(comparison), "significant")}
    assert len(rows) == 6
    for pair in comparison.pairs:
        assert rows[pair.a, pair.b]["difference"] == pair.difference
        assert rows[pair.b, pair.a]["difference"] == -pair.difference
        assert {rows[pair.a, pair.b]["p"], rows[pair.b, pair.a]["p"]} == {pair.p}
        assert rows[pair.a, pair.b]["significant"] is (pair.decision != "not significant")


def test_matrix_against_a_baseline_has_one_column(results: dict[str, Result]) -> None:
    rows = rows_of(charts.matrix(rankgauge.compare(None, results, baseline="s4")), "significant")
    assert [(row["row"], row["column"]) for row in rows] == [("s2", "s4"), ("s5", "s4")]


def test_detectable_has_a_power_of_four_fifths_everywhere(comparison: Comparison) -> None:
    """For systems that scatter so that this set's own interval can show what the table says it can."""
    rows = rows_of(charts.detectable(comparison), "here")
    here = {row["pair"]: row for row in rows if row["here"]}
    effects = {f"{pair.a} − {pair.b}": pair.detectable for pair in comparison.pairs}
    assert {name: row["difference"] for name, row in here.items()} == pytest.approx(effects)
    deviation = {name: row["difference"] / detectable(1.0, row["queries"]) for name, row in here.items()}
    for row in rows:
        assert power_of(deviation[row["pair"]], row["difference"], row["queries"]) == pytest.approx(0.8, abs=1e-9)


def test_the_numbers_of_detectable_effects_do_not_lie_on_each_other() -> None:
    from rankgauge.show.charts.pairs import APART, _curves

    sizes = (("x", 0.3), ("y", 0.301), ("w", 0.299))
    pairs = [SimpleNamespace(a=name, b="z", deviation=each, detectable=each / 2) for name, each in sizes]
    rows = _curves(cast("Any", pairs), 50, 0.05)
    labels = [row["label"] for row in rows if row["here"]]
    least = APART * max(row["difference"] for row in rows)
    assert [above - below >= least * (1 - 1e-9) for below, above in pairwise(labels)] == [True, True]
    assert labels[0] == min(row["difference"] for row in rows if row["here"])


# ---- the picture -----------------------------------------------------------------------------------------------------


OWN_WORDS = {"noise": "60 draws", "confusion": "96 pairs judged by both", "judges": "12 queries that all judges have"}


@pytest.mark.parametrize("kind", charts.KINDS)
@pytest.mark.parametrize("theme", charts.THEMES)
def test_a_chart_is_valid_and_says_what_it_shows(
    kind: str, theme: str, results: dict[str, Result], comparison: Comparison
) -> None:
    for width in (390, 720):
        chart = charts.KINDS[kind](source_of(kind, results, comparison), theme=theme, width=width)
        spec = chart.to_dict(validate=True)
        caption = " ".join(spec["title"]["subtitle"])
        assert caption.startswith(OWN_WORDS.get(kind, "12 queries. "))
        known = {"precision-recall": "precision", "confusion": "of the row", "judges": "Against one: other τ"}
        assert known.get(kind, "DCG@k over the DCG@k of the ideal") in caption
        assert spec["config"]["background"] == charts.THEMES[theme].background
        lines = [*spec["title"]["text"], *spec["title"]["subtitle"]]
        assert max(map(len, lines)) < width / 5


@pytest.mark.parametrize("kind", charts.KINDS)
def test_a_png_is_as_wide_as_asked_for(kind: str, results: dict[str, Result], comparison: Comparison) -> None:
    data = charts.png(charts.KINDS[kind](source_of(kind, results, comparison), width=390, theme="dark"))
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", data[16:24])
    # The slanted heads of a matrix may lean out by a little.
    assert width == pytest.approx(2 * 390, abs=40 if kind == "matrix" else 2)
    assert 300 < height < 3000
    assert len(data) > 10_000


def test_an_svg_shows_names_as_text() -> None:
    names = ["<script>alert(1)</script>", "a & b"]
    found = {name: rankgauge.evaluate(QRELS, run_of(step)) for name, step in zip(names, (2, 5), strict=True)}
    picture = charts.svg(charts.forest(found))
    texts = [each.text for each in ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]
    assert {"a & b", "0.0"} & set(texts) >= {"a & b"}
    assert "<script" not in picture


@pytest.mark.parametrize("suffix", ["svg", "png", "html"])
def test_a_control_character_in_a_name_is_drawn_as_a_sign_for_it(suffix: str, files: Path) -> None:
    """In a process of its own, which the converter would end."""
    (files / "by.csv").write_text("query_id,group\n" + "".join(f"q{i},g\x01{i % 2}\n" for i in range(1, 13)))
    words = ("plot", "groups", "qrels.txt", "a\x1b=s2.run", "s5.run", "--by", "by.csv", "-o", f"x.{suffix}")
    done = real(*words, cwd=files)
    assert (done.code, done.err) == (0, "")
    if suffix == "svg":
        assert {"g\ufffd0", "a\ufffd"} <= set(ET.fromstring((files / "x.svg").read_text()).itertext())


def test_thousands_of_queries_have_no_limit_and_few_rows() -> None:
    random = np.random.default_rng(7)
    queries, systems = [f"q{i:04d}" for i in range(7000)], [f"s{j}" for j in range(5)]
    values = Values("nDCG@10", systems, queries, random.random((7000, 5)))
    apart = values.difference("s1", "s0")
    rows = rows_of(charts.differences(values), "from")
    assert len(rows) <= MANY
    assert sum(row["to"] - row["from"] for row in rows) == 7000
    assert sum(row["difference"] * (row["to"] - row["from"]) for row in rows) == pytest.approx(apart.sum())
    ordered = np.argsort(-apart)
    for at in [*range(ENDS), *range(-ENDS, 0)]:
        assert (rows[at]["query"], rows[at]["difference"]) == (queries[ordered[at]], apart[ordered[at]])
    points = rows_of(charts.scatter(values), "better")
    assert {row["query"]: (row["a"], row["b"]) for row in points} == {
        query: (a, b) for query, a, b in zip(queries, values.of("s1"), values.of("s0"), strict=True)
    }
    assert len(charts.page({"scatter": functools.partial(charts.scatter, values)})) < 1_700_000  # the library: 600,000
    assert len(picture.still(picture.apart(charts.scatter(values))[2], "s")) < 150_000
    for kind in ("forest", "distribution"):
        assert len(json.dumps(charts.KINDS[kind](values).to_dict())) < 60_000


def test_equal_values_of_many_queries_are_one_bar() -> None:
    table = np.repeat([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]], 1000, axis=0)
    values = Values("RR@10", ["a", "b"], [f"q{i}" for i in range(3000)], table)
    rows = rows_of(charts.differences(values), "from")
    assert [(row["from"], row["to"], row["difference"]) for row in rows] == [
        (0, 1000, 1.0), (1000, 2000, 0.0), (2000, 3000, -1.0)
    ]  # fmt: skip
    assert rows[0]["query"].endswith("and 997 more")


# Machado, Oliveira and Fernandes (2009): what red-, green- and blue-blind eyes see, in linear RGB.
BLINDNESS: dict[str, list[list[float]]] = {
    "none": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def lab(colour: str, seen: list[list[float]]) -> Any:
    """A colour as an eye sees it, in CIE L*a*b* (D65)."""
    encoded = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.array(seen) @ linear, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = (np.cbrt(each) for each in to_xyz @ linear / [0.95047, 1.0, 1.08883])
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("palette", [PALETTE, DARK_PALETTE], ids=["light", "dark"])
@pytest.mark.parametrize("blindness", BLINDNESS)
def test_colours_can_be_told_apart(palette: tuple[str, ...], blindness: str) -> None:
    seen = [lab(colour, BLINDNESS[blindness]) for colour in palette]
    nearest = {(a, b): float(np.linalg.norm(seen[a] - seen[b])) for a, b in combinations(range(len(palette)), 2)}
    assert min(nearest.values()) > 12, min(nearest, key=lambda pair: nearest[pair])  # 2.3 is just noticeable


def test_a_caption_has_the_definition_without_what_is_not_set() -> None:
    assert defined("Precision. Formula: a / b [c] [k=5, rel=None, by=k]") == "Precision [k=5, by=k]"
    assert defined("Average. Formula: Σ [k=None, rel=None]") == "Average."
    assert defined("A table") == "A table"


# ---- in a notebook ---------------------------------------------------------------------------------------------------


def test_a_notebook_shows_tables_and_pictures(results: dict[str, Result], comparison: Comparison) -> None:
    one, several = results["s2"]._repr_html_(), comparison._repr_html_()
    assert (one.count("<svg"), several.count("<svg")) == (2, 2)
    assert "Distribution of nDCG@3" in one
    assert "every pair" in several
    assert "currentColor" in one
    assert "<table" in one
    assert "<table" in several


def test_a_notebook_shows_a_chart_without_a_network(comparison: Comparison) -> None:
    (kind, picture), *others = charts.forest(comparison)._repr_mimebundle_().items()
    assert (kind, others) == ("image/svg+xml", [])
    assert not re.search(r"https?://(?!www\.w3\.org/)", picture)
    assert "s2" in list(ET.fromstring(picture).itertext())


def test_without_the_chart_library_a_notebook_shows_tables(
    results: dict[str, Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)
    shown = results["s2"]._repr_html_()
    assert "<table" in shown
    assert "<svg" not in shown
    with pytest.raises(InputError, match=r"pip install 'rankgauge\[charts\]'"):
        charts.forest(results)


def test_altair_is_not_imported_before_a_chart_is_asked_for() -> None:
    code = "import sys, rankgauge; rankgauge.charts.KINDS; sys.exit(bool({'altair', 'vl_convert'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- what cannot be drawn --------------------------------------------------------------------------------------------


def bad_calls() -> Iterator[tuple[str, Any, type[Exception], str]]:
    one = {"only": rankgauge.evaluate(QRELS, run_of(2))}
    two = one | {"other": rankgauge.evaluate(QRELS, run_of(5))}
    wrong: Any = two
    yield "two systems", lambda: charts.differences(one), InputError, "needs two systems, and there is only one, only"
    yield "compared", lambda: charts.matrix(one), InputError, "there is only one, only"
    yield "no groups", lambda: charts.groups(two), InputError, "no groups of queries"
    yield "no rankings", lambda: charts.at_k(rankgauge.compare(None, two)), InputError, "needs Results"
    yield "nothing", lambda: charts.forest([]), InputError, "got nothing"
    yield "theme", lambda: charts.forest(two, theme="drak"), InputError, "did you mean 'dark'"
    yield "width", lambda: charts.forest(two, width=10), InputError, "240 or more"
    yield "system", lambda: charts.scatter(two, pair=("only", "othr")), InputError, "did you mean 'other'"
    yield "same", lambda: charts.scatter(two, pair=("only", "only")), InputError, "given twice"
    yield "measure", lambda: charts.forest(two, "P@5"), MeasureError, "P@5 was not evaluated"
    yield "no k", lambda: charts.at_k(two, "Rprec"), MeasureError, "has no cut-off"
    yield "open", lambda: charts.unjudged(wrong), InputError, r"needs what rankgauge.quality\(judgments, runs\) returns"
    yield "no runs", lambda: charts.unjudged(rankgauge.quality(QRELS)), InputError, "got a Quality without runs"
    yield "noise", lambda: charts.noise(wrong), InputError, "this chart needs label noise"
    alone = rankgauge.agree(QRELS, OTHERS)
    yield "judges", lambda: charts.judges(alone), InputError, "got an Agreement without runs"
    three = rankgauge.agree(QRELS, OTHERS, QRELS)
    yield "pair", lambda: charts.confusion(three), InputError, "choose a pair: A and B, A and C, B and C"
    yield "judge", lambda: charts.confusion(wrong), InputError, "needs what rankgauge.agree returns"
    yield "names", lambda: charts.forest([two["only"]] * 2), InputError, "give each system a name"


@pytest.mark.parametrize(("call", "kind", "message"), [pytest.param(*rest, id=name) for name, *rest in bad_calls()])
def test_what_cannot_be_drawn_is_said(call: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        call()


# ---- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rankgauge.write(rankgauge.read_judgments(QRELS), tmp_path / "qrels.txt")
    rankgauge.write(rankgauge.read_judgments(OTHERS), tmp_path / "other.txt")
    for step in (2, 5):
        rankgauge.write(rankgauge.read_run(run_of(step)), tmp_path / f"s{step}.run")
    (tmp_path / "by.csv").write_text("query_id,group\n" + "".join(f"{q},{g}\n" for q, g in SEGMENTS.items()))
    return tmp_path


def test_the_command_knows_every_kind_and_every_file() -> None:
    assert list(plot.KINDS) == list(charts.KINDS)
    (form,) = [each for each in plot.plot_runs.params if each.name == "format"]
    pictures = {name for name, each in FORMATS.items() if each.picture}
    assert {*form.to_info_dict()["type"]["choices"]} == {"html", *pictures}


@pytest.mark.parametrize("kind", charts.KINDS)
def test_the_command_writes_every_kind(kind: str, command: Command, files: Path) -> None:
    target = files / f"{kind}.svg"
    measure = "IPrec(rel=2)@0" if kind == "precision-recall" else "nDCG@3"
    given = {"groups": ["--by", "by.csv"], "noise": ["--error-rate", "0.1"]}.get(kind, [])
    given = ["--second", "other.txt"] if kind in ("confusion", "judges") else given
    runs = [] if kind == "confusion" else ["s2.run", "s5.run"]
    done = command("plot", kind, "qrels.txt", *runs, *given, "-m", measure, "-o", target, cwd=files)
    assert done == (0, "", "")
    assert len(list(ET.fromstring(target.read_text()).iter())) > 40


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["forrest", "qrels.txt", "s2.run", "-o", "x.png"], "did you mean 'forest'? There are "),
        (["at_k", "qrels.txt", "s2.run", "-o", "x.png"], "did you mean 'at-k'? There are "),
        (
            ["forest", "qrels.txt", "s2.run", "-o", "x.pdf"],
            "expected .html, .htm, .svg or .png",
        ),
        (["forest", "qrels.txt", "s2.run"], "Missing option '-o'"),
        (["forest", "qrels.txt", "s2.run", "s5.run", "--baseline", "s3", "-o", "x.svg"], "there are s2, s5"),
        (
            ["forest", "qrels.txt", "s2.run", "s5.run", "--pair", "s2", "s5", "-o", "x.svg"],
            "--pair goes with diff",
        ),
        (["forest", "qrels.txt", "s2.run", "-m", "nDCG@3", "-m", "R@3", "-o", "x.svg"], "one measure, not 2"),
        (["precision-recall", "qrels.txt", "s2.run", "-m", "nDCG@5", "-o", "x.svg"], "leave -m out"),
        (["forest", "qrels.txt", "-o", "x.svg"], "Missing argument '[NAME=]RUN...'"),
        (["unjudged", "qrels.txt", "s2.run", "--by", "by.csv", "-o", "x.svg"], "--by goes with forest, differences"),
        (["unjudged", "qrels.txt", "s2.run", "-m", "P@3", "-o", "x.svg"], "known exactly for nDCG only"),
        (["unjudged", "qrels.txt", "s2.run", "--scale", "0,1", "-o", "x.svg"], "outside the scale"),
        (["unjudged-pairs", "qrels.txt", "s2.run", "-o", "x.svg"], "give two or more"),
        (["noise", "qrels.txt", "s2.run", "-o", "x.svg"], "--error-rate X or --confusion FILE, one of the two"),
        (["confusion", "qrels.txt", "-o", "x.svg"], "give the other's judgments: --second"),
        (["confusion", "qrels.txt", "s2.run", "--second", "other.txt", "-o", "x.svg"], "shows no runs"),
        (["judges", "qrels.txt", "s2.run", "--second", "other.txt", "-o", "x.svg"], "two runs or more"),
        (
            ["forest", "qrels.txt", "s2.run", "--second", "other.txt", "-o", "x.svg"],
            "--second goes with confusion or",
        ),
        (["forest", "qrels.txt", "s2.run", "-o", "/"], "is a folder"),
    ],
)
def test_a_wrong_call_is_explained(arguments: list[str], message: str, command: Command, files: Path) -> None:
    done = command("plot", *arguments, cwd=files)
    assert (done.code, done.out) == (2, "")
    assert message in " ".join(done.err.split())
    assert not list(files.glob("x.*"))


def test_a_forest_of_one_query_shows_means(command: Command, tmp_path: Path) -> None:
    rankgauge.write(rankgauge.read_judgments({"q1": QRELS["q1"]}), tmp_path / "qrels.txt")
    for step in (2, 5):
        rankgauge.write(rankgauge.read_run({"q1": run_of(step)["q1"]}), tmp_path / f"s{step}.run")
    done = command("plot", "forest", "qrels.txt", "s2.run", "s5.run", "-o", "x.svg", cwd=tmp_path)
    assert done == (0, "", "")
    assert "1 query." in (tmp_path / "x.svg").read_text()
