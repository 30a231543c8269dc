"""`align`: what a table of experiments or queries says, how it is read, shown and drawn, and what it refuses."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import rankgauge
from command import Command
from rankgauge.cli import align as command_line
from rankgauge.errors import FormatError, InputError
from rankgauge.stats.choice import CRITERIA, SLOW, CriterionName
from rankgauge.trust.online.align import LABELS, align
from rankgauge.trust.online.doubts import CODES
from rankgauge.trust.online.units import ROLES, UNITS, measure_of

DEMO = Path(__file__).parents[1] / "demo"
MADE = DEMO / "made_experiments.csv"
SMALL = {
    "experiment": ["a", "b", "c", "d", "e", "f"],
    "delta_nDCG@10": [0.02, -0.01, 0.03, 0.01, -0.02, 0.0],
    "delta_conversion": [0.5, 0.4, 0.6, -0.5, -0.3, 0.1],
    "standard_error": [0.1, 0.1, 0.1, 0.1, 0.1, 0.1],
}


def made(number: int, seed: int = 0, **more: Any) -> dict[str, Any]:
    """A table of so many experiments."""
    random = np.random.default_rng(seed)
    quality = random.normal(0, 0.02, number)
    return {
        "delta_nDCG@10": quality + random.normal(0, 0.01, number),
        "delta_nDCG@5": quality + random.normal(0, 0.02, number),
        "online": 20 * quality + random.normal(0, 0.3, number),
        "se": np.full(number, 0.2),
        **more,
    }


# ---- numbers ---------------------------------------------------------------------------------------------------------


def test_the_numbers_are_those_of_the_columns() -> None:
    table = made(25)
    found = align(table)
    x, y = table["delta_nDCG@10"], table["online"]
    first = found.first.coefficients
    assert first["pearson"].value == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-12)
    assert first["spearman"].value == pytest.approx(stats.spearmanr(x, y)[0], abs=1e-12)
    assert first["kendall"].value == pytest.approx(stats.kendalltau(x, y)[0], abs=1e-12)
    assert first["precision"].value == pytest.approx(first["pearson"].value)  # all errors are the same
    assert found.reliability == pytest.approx(1 - 0.04 / y.var(ddof=1))
    assert first["corrected"].value == pytest.approx(first["pearson"].value / (1 - 0.04 / y.var(ddof=1)) ** 0.5)
    assert found.first.signs["all"].part == ((x > 0) == (y > 0)).sum()
    clear = np.abs(y) > 1.959964 * 0.2
    assert found.first.signs["clear"].part == (((x > 0) == (y > 0)) & clear).sum()
    assert found.first.signs["clear"].whole == clear.sum()
    assert found["delta_nDCG@5"].pearson.value == pytest.approx(stats.pearsonr(table["delta_nDCG@5"], y)[0], abs=1e-12)


def test_precision_weighs_experiments_by_the_inverse_square_of_their_error() -> None:
    errors = np.array([0.5, 1, 0.25, 1, 0.5, 1, 0.25, 0.5])  # weights 4, 1, 16, …: as often as that is the row there
    table = made(8, se=errors)
    x, y = (np.repeat(table[name], (1 / errors**2).astype(int)) for name in ("delta_nDCG@10", "online"))
    found = align(table).first.coefficients["precision"]
    assert found.value == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-12)
    reach = 1.959963984540054 / np.sqrt((1 / errors**2).sum() ** 2 / (1 / errors**4).sum() - 3)
    assert found.low == pytest.approx(np.tanh(np.arctanh(found.value) - reach))


def test_a_difference_of_zero_has_no_direction() -> None:
    found = align(SMALL).first
    assert found.undirected == 1
    assert (found.signs["all"].part, found.signs["all"].whole) == (3, 5)
    assert (found.signs["clear"].part, found.signs["clear"].whole) == (3, 5)


def test_decisions_are_counted() -> None:
    made_of = align(SMALL).first.decisions
    assert made_of.counts.tolist() == [[2, 0, 1], [1, 1, 1]]
    assert (made_of.wrongly_shipped, made_of.wrongly_held) == (1, 1)
    assert made_of.mean == pytest.approx((0.2, 0.2 / 3))
    above = align(SMALL, above=0.015).first.decisions
    assert above.counts.tolist() == [[2, 0, 0], [1, 1, 2]]
    assert (above.wrongly_shipped, above.wrongly_held) == (0, 1)
    recorded = align({**SMALL, "shipped": ["no", "yes", "no", "no", "no", "yes"]}).first.decisions
    assert recorded.counts.tolist() == [[1, 1, 0], [2, 0, 2]]
    assert recorded.recorded


def test_without_errors_signs_decide() -> None:
    table = {name: values for name, values in SMALL.items() if name != "standard_error"}
    found = align(table)
    assert found.reliability is None
    assert "corrected" not in found.first.coefficients
    assert "clear" not in found.first.signs
    assert found.first.decisions.counts.tolist() == [[2, 0, 1], [2, 0, 1]]
    still = align({**table, "delta_conversion": [0.5, 0.4, 0.6, -0.5, -0.3, 0.0]}).first
    assert still.decisions.counts.tolist() == [[2, 0, 1], [1, 1, 1]]


def test_influence_is_that_of_each_row() -> None:
    table = made(9)
    found = align(table).first
    x, y = table["delta_nDCG@10"], table["online"]
    r = stats.pearsonr(x, y)[0]
    each = [r - stats.pearsonr(np.delete(x, at), np.delete(y, at))[0] for at in range(9)]
    np.testing.assert_allclose(found.influence, each, atol=1e-12)
    assert found.most_influential(1) == [int(np.argmax(np.abs(each)))]


def test_traffic_weighs_queries() -> None:
    random = np.random.default_rng(4)
    traffic = random.integers(1, 50, 30)
    offline = random.normal(size=30)
    table = {"query_id": [f"q{at}" for at in range(30)], "ndcg_at_10_difference": offline}
    table |= {"ctr_change": offline + random.normal(size=30), "traffic": traffic}
    found = align(table)
    assert found.units.kind == "queries"
    x, y = (np.repeat(np.array(table[name]), traffic) for name in ("ndcg_at_10_difference", "ctr_change"))
    assert found.first.coefficients["traffic"].value == pytest.approx(stats.pearsonr(x, y)[0], abs=1e-12)
    assert found.first.signs["traffic"].value == pytest.approx(((x > 0) == (y > 0)).mean())
    effective = traffic.sum() ** 2 / (traffic**2).sum()
    theirs = stats.pearsonr(x, y)[0]
    reach = 1.959963984540054 / np.sqrt(effective - 3)
    assert found.first.coefficients["traffic"].low == pytest.approx(np.tanh(np.arctanh(theirs) - reach))


def test_noise_offline_is_corrected_too() -> None:
    table = made(30, offline_se=np.full(30, 0.008))
    found = align(table)
    x, y = table["delta_nDCG@10"], table["online"]
    expected = (1 - 0.04 / y.var(ddof=1)) * (1 - 0.008**2 / x.var(ddof=1))
    assert found.first.coefficients["corrected"].value == pytest.approx(stats.pearsonr(x, y)[0] / expected**0.5)
    assert found.tracked[1].offline_reliability is None  # the error is that of the first column


def test_the_correction_is_refused_where_noise_is_all() -> None:
    found = align(made(20, se=np.full(20, 5.0)))
    assert found.reliability is not None
    assert found.reliability < 0
    assert np.isnan(found.first.coefficients["corrected"].value)
    assert "Not corrected for noise" in found.show(notes=True)
    assert found.to_dict()["tracked"][0]["coefficients"]["corrected"]["value"] is None
    assert "noise" in [doubt.code for doubt in found.warnings]


def test_the_choice_is_told_with_what_it_is_worth() -> None:
    found = align(MADE)
    assert found.choice is not None
    assert sum(found.choice.chosen.values()) == len(found.units)
    assert found.choice.held_out.value < found.choice.flattered.value  # a choice judged by what made it flatters
    assert found.choice.best == max(found.tracked, key=lambda each: each.pearson.value).name
    assert align(MADE, offline="delta_nDCG@10").choice is None
    assert align(MADE, criterion="spearman").choice != found.choice


def test_slow_criteria_are_refused_for_many_rows() -> None:
    table = made(SLOW + 1)
    with pytest.raises(InputError, match="choose by pearson or sign"):
        align(table, criterion="kendall")
    assert align(table, criterion="sign").choice is not None
    assert align(table, offline="delta_nDCG@10", criterion="kendall").choice is None


# ---- reading ---------------------------------------------------------------------------------------------------------


def test_every_kind_of_table_says_the_same(tmp_path: Path) -> None:
    frame = pl.DataFrame(SMALL)
    frame.write_csv(tmp_path / "t.csv")
    frame.write_csv(tmp_path / "t.tsv", separator="\t")
    frame.write_ndjson(tmp_path / "t.jsonl")
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ipc(tmp_path / "t.arrow")
    (tmp_path / "t.json").write_text(json.dumps(frame.to_dicts(), indent=1))
    (tmp_path / "columns.json").write_text(json.dumps(SMALL))
    (tmp_path / "crlf.csv").write_bytes(
        b"\xef\xbb\xbf# made\r\n\r\n" + frame.write_csv(line_terminator="\r\n").encode()
    )
    expected = align(SMALL).to_dict() | {"source": None}
    sources: list[Any] = [
        frame,
        frame.lazy(),
        frame.to_pandas(),
        frame.to_arrow(),
        frame.to_dicts(),
        *tmp_path.iterdir(),
    ]
    assert len(sources) == 13
    for source in sources:
        assert align(source).to_dict() | {"source": None} == expected, source


def test_columns_are_recognised_by_their_names() -> None:
    for name, measure in {
        "delta_nDCG@10": "nDCG@10", "ndcg_at_5_difference": "nDCG@5", "ΔDCG@10": "DCG@10",
        "diff ndcg_cut_20": "nDCG@20", "dcg@10": "DCG@10", "R@100 lift": "R@100", "num_q": "None", "price": "None",
        "deltandcg@3": "nDCG@3",
    }.items():  # fmt: skip
        assert str(measure_of(name)) == measure, name
    table = {**SMALL, "delta_DCG@10": [3, 1, 2, 5, 4, 6], "price": [1, 2, 3, 4, 5, 6]}
    units = align(table).units
    assert list(units.offline) == ["delta_nDCG@10", "delta_DCG@10"]
    assert (units.online_name, units.names[0], units.kind) == ("delta_conversion", "a", "experiments")


def test_an_error_belongs_to_its_column() -> None:
    table = {"offline": [1, 2, 4], "ctr": [1, 3, 2], "ctr_se": [1, 1, 1], "revenue": [5, 9, 1], "revenue_se": [2, 2, 2]}
    with pytest.raises(FormatError, match="ctr and revenue could each be the online column; name it with online="):
        align(table)
    for online, error in (("ctr", 1.0), ("revenue", 2.0)):
        units = align(table, online=online).units
        assert units.error is not None
        assert units.error.tolist() == [error] * 3


def test_inputs_are_left_as_they_were() -> None:
    table = made(8)
    before = {name: np.array(values) for name, values in table.items()}
    str(align(table))
    assert all((before[name] == values).all() for name, values in table.items())


BAD: list[tuple[dict[str, Any], str]] = [
    ({"offline": [1, 2, 3]}, "no column is called online, .*; the columns are offline; name it with online="),
    ({"online": [1, 2, 3]}, "no column is called offline, or is called like a measure"),
    ({"offline": [1, 2], "online": [1, 2]}, "holds 2 rows; a correlation needs 3 or more"),
    ({"offline": [1, 1, 1], "online": [1, 2, 3]}, "'offline' is 1 in all 3 rows: what does not vary follows nothing"),
    ({"offline": [1, 2, 3], "online": [0.1, 0.1, 0.1]}, "'online' is 0.1 in all 3 rows"),
    ({"offline": [1, 2, 3], "online": [1, "two", 3]}, "row 2: column 'online': 'two' is not a number"),
    ({"offline": [1, 2, 3], "online": [1, True, 3]}, "row 2: column 'online': True is not a number"),
    ({"offline": [1, 2, 3], "online": [1, float("nan"), 3]}, "row 2: column 'online': nan is not a finite number"),
    ({"offline": [1, 2, float("inf")], "online": [1, 2, 3]}, "row 3: column 'offline': inf is not a finite"),
    ({"offline": [1, 2, 3], "online": [1, None, 3]}, "row 2: column 'online': the cell is empty"),
    ({"offline": [1, 2, 3], "online": [1, "1.2%", 3]}, "'1.2%' has a percent sign; write 0.012 for 1.2 %"),
    ({"offline": [1, 2, 3], "online": [1, 2]}, r"not equally long \(offline 3, online 2\)"),
    ({"offline": [1, 2, 3], "online": [1, 2, 4], "se": [1, -1, 1]}, "row 2: column 'se': -1 is not above 0"),
    ({"offline": [1, 2, 3], "online": [1, 2, 4], "se": [1, 1, 0]}, "row 3: column 'se': 0 is not above 0"),
    ({"offline": [1, 2, 3], "online": [1, 2, 4], "weight": [1, -2, 0]}, "row 2: column 'weight': -2 is below 0"),
    ({"offline": [1, 2, 3], "online": [1, 2, 4], "weight": [1, 2, 0]}, "'weight' is above 0 in fewer than 3 rows"),
    ({"offline": [1, 2, 3], "online": [1, 2, 4], "shipped": ["yes", "maybe", "no"]}, "row 2: .*'maybe' is neither yes"),
    ({"offline": [1, 2, 3], "online": [1, 2, 4], "name": ["a", "", "c"]}, "row 2: column 'name': the cell is empty"),
    ({"offline": "abc", "online": [1, 2, 4]}, "column 'offline' is \"abc\"; expected a list of values"),
]


@pytest.mark.parametrize(("table", "message"), BAD)
def test_what_cannot_be_aligned_is_refused(table: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        align(table)


def test_options_are_checked() -> None:
    bad: list[tuple[dict[str, Any], str]] = [
        ({"alpha": 1.0}, "alpha=1.0"), ({"step": 0.0}, "step=0.0"),
        ({"criterion": "luck"}, "expected pearson, spearman"),
        ({"labels": "x"}, "expected judgments or clicks"), ({"unit": "days"}, "expected experiments or queries"),
        ({"above": float("nan")}, "above=nan"), ({"offline": "nope"}, "the columns are experiment, delta_nDCG@10"),
        ({"offline": ["delta_nDCG@10"] * 2}, "name each column once"), ({"se": "standard_eror"}, "did you mean"),
    ]  # fmt: skip
    for options, message in bad:
        with pytest.raises(InputError, match=message):
            align(SMALL, **options)
    with pytest.raises(InputError, match="there are delta_nDCG@10"):
        align(SMALL)["other"]
    with pytest.raises(InputError, match="cannot be read from int"):
        align(7)


BAD_FILES = {
    "text.csv": (b"offline,online\n1,1\n2,x\n3,3\n", "text.csv:3: column 'online': 'x' is not a number"),
    "comment.csv": (b"# made\noffline,online\n1,1\n\n2,\n3,3\n", "comment.csv:5: column 'online': the cell is empty"),
    "ragged.csv": (b"offline,online\n1,1\n2\n3,3\n", r"ragged.csv:3: expected 2 fields \(offline, online\), got 1"),
    "quote.csv": (b'offline,online\n1,1\n"2,2\n3,3\n', "a quoted field ends in a quote"),
    "twice.csv": (b"offline,online,online\n1,1,1\n", "two columns are called 'online'"),
    "head.csv": (b"offline,online\n", "holds 0 rows"),
    "remarks.csv": (b"# nothing\n", "holds no header"),
    "latin.csv": (b"offline,online\n1,\xe9\n", "latin.csv:2: byte 3 is not UTF-8 text"),
    "gap.jsonl": (b'{"offline":1,"online":1}\n{"offline":2}\n', "gap.jsonl:2: expected the columns of the first row"),
    "bad.jsonl": (b'{"offline":1,"online":1}\n{"offline":2,\n', "bad.jsonl:2: is not JSON"),
    "list.json": (b"[1, 2]", "list.json, row 1: expected a dict"),
    "cut.json": (b'[{"offline": 1,\n', "cut.json:2: is not JSON"),
    "cut.parquet": (b"PAR1xx", "cut.parquet: not a whole parquet file"),
}


@pytest.fixture
def cli(command: Command) -> Command:
    """The command `align`."""
    return partial(command, "align")


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_one_line_and_exit_2(name: str, cli: Command, tmp_path: Path) -> None:
    content, message = BAD_FILES[name]
    (tmp_path / name).write_bytes(content)
    done = cli(name, cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    assert re.match(f"error: .*{message}", done.err), done.err
    assert done.err.count("\n") == 1


# ---- warnings --------------------------------------------------------------------------------------------------------


def codes(table: Any, **options: Any) -> set[str]:
    return {doubt.code for doubt in align(table, **options).warnings}


def test_every_warning_is_said_where_it_belongs() -> None:
    plain = made(40, se=np.full(40, 0.1))
    assert codes(plain) == set()
    said = {
        "few": made(10),
        "repeated": {**plain, "name": ["a", "a", *(f"e{at}" for at in range(38))]},
        "only-winners": {**plain, "delta_nDCG@10": np.abs(plain["delta_nDCG@10"])},
        "levels": {"query_id": range(40), "ndcg": np.linspace(0, 1, 40) ** 2, "ctr": np.linspace(0, 0.5, 40)},
        "noise": {**plain, "se": np.full(40, 0.38)},
        "mostly-unclear": {**plain, "se": np.full(40, 0.38)},
        "heavy-tails": {**plain, "online": [*plain["online"][:-1], 9.0]},
        "one-sways": {**plain, "delta_nDCG@10": [*plain["delta_nDCG@10"][:-1], 0.5]},
        "perfect": {"offline": plain["delta_nDCG@10"], "online": 3 * plain["delta_nDCG@10"] - 0.01},
        "many-measures": {**made(40), **{f"P@{k}": np.random.default_rng(k).normal(size=40) for k in range(1, 13)}},
    }
    for code, table in said.items():
        assert code in codes(table), code
    assert "beyond-range" in codes(plain, step=1.0)
    assert "click-labels" in codes(plain, labels="clicks")
    with_dcg = {**plain, "delta_DCG@10": plain["delta_nDCG@10"] + 0.001 * np.arange(40)}
    assert "click-labels" not in codes(with_dcg, labels="clicks")
    assert {*said, "beyond-range", "click-labels"} == CODES.keys()


# ---- shown and drawn -------------------------------------------------------------------------------------------------


def test_the_command_prints_what_the_library_found(cli: Command, tmp_path: Path) -> None:
    found = align(MADE)
    assert cli(MADE).out.replace("--notes", "show(notes=True)") == str(found) + "\n"
    data = json.loads(cli("-", "--format", "json", stdin=MADE.read_text()).out)
    assert data == json.loads(json.dumps(found.to_dict())) | {"source": "standard input"}
    target = tmp_path / "rows.csv"
    assert cli(MADE, "--per-unit", "-o", str(target)).code == 0
    rows = list(csv.DictReader(target.read_text().splitlines()))
    assert [float(row["pearson_without"]) for row in rows] == found.first.without.tolist()
    flat = list(csv.DictReader(cli(MADE, "--format", "csv").out.splitlines()))
    assert [float(row["kendall_low"]) for row in flat] == [each.coefficients["kendall"].low for each in found.tracked]
    markdown = cli(MADE, "--format", "markdown").out
    assert "| Pearson | 0.5969 | 0.2549 to 0.8062 |" in markdown


def test_help_lists_what_the_library_knows(cli: Command) -> None:
    known = command_line.CRITERIA, command_line.LABELS, command_line.UNITS
    assert known == (tuple(CRITERIA), tuple(LABELS), tuple(UNITS))
    shown = cli("--help-all").out
    for role in ROLES:
        assert f"--{role.replace('_', '-')} COLUMN" in shown


def test_dcg_stands_beside_ndcg() -> None:
    shown = align(MADE, labels="clicks").show(notes=True)
    found = align(MADE)
    ours, theirs = (found[f"delta_{name}@10"].pearson.value for name in ("nDCG", "DCG"))
    words = f"DCG@10 beside nDCG@10: Pearson {theirs:.4f} and {ours:.4f}. With clicks for grades DCG estimates"
    assert words in " ".join(shown.split())


def test_pictures_and_pages_are_files(cli: Command, tmp_path: Path) -> None:
    for name in ("a.svg", "a.png", "a.html"):
        done = cli(MADE, "-o", str(tmp_path / name))
        assert (done.code, done.err) == (0, "")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    ET.parse(tmp_path / "a.svg")
    assert "Most influence" in (tmp_path / "a.html").read_text(encoding="utf-8")


def test_the_picture_names_the_units_with_the_most_influence() -> None:
    names = ["<a>", "&b", "c<", '"d"', "e'", "f&amp;"]
    found = align({**SMALL, "experiment": names})
    words = list(ET.fromstring(found.show("svg")).itertext())
    influential = [names[at] for at in found.first.most_influential(3)]
    assert [name for name in names if name in words] == sorted(influential, key=names.index)
    kinds = {row["says"] for row in rows_of(rankgauge.charts.alignment(found), "says")}
    assert kinds == {"same direction", "opposite", "unclear online"}


def test_very_many_points_are_thinned_and_the_chart_says_so() -> None:
    chart = rankgauge.charts.alignment(align(made(5_001)))
    assert len(rows_of(chart, "says")) == 1_667
    assert "5,001 experiments (1,667 of them drawn)" in " ".join(chart.to_dict()["title"]["text"])


def test_three_rows_are_enough_for_everything_that_is_shown() -> None:
    found = align({"offline": [0.1, 0.2, -0.3], "online": [1.0, 3.0, 2.0], "x": [1, 2, 3]})
    assert np.isnan(found.first.pearson.low)
    assert "–" in str(found)
    assert len(rows_of(rankgauge.charts.alignment(found), "says")) == 3
    json.dumps(found.to_dict(), allow_nan=False)


def test_a_notebook_shows_picture_and_tables() -> None:
    shown = align(SMALL)._repr_html_()
    assert "<svg" in shown
    assert "<table" in shown


def test_the_public_name_is_the_function() -> None:
    assert rankgauge.align(SMALL).first.pearson == align(SMALL).first.pearson
    assert rankgauge.Alignment is type(align(SMALL))


def test_the_demo_table_is_what_its_script_makes() -> None:
    done = subprocess.run([sys.executable, DEMO / "made_experiments.py"], capture_output=True, text=True, check=True)
    assert done.stdout == MADE.read_text(encoding="utf-8")
    assert done.stdout.startswith("# MADE numbers")


# ---- charts and reports ----------------------------------------------------------------------------------------------


def rows_of(chart: Any, field: str) -> list[dict[str, Any]]:
    """The rows of the data that have this field."""
    (rows,) = (rows for rows in chart.to_dict()["datasets"].values() if rows and field in rows[0])
    return list(rows)


@pytest.mark.parametrize(("theme", "width"), [("light", 720), ("dark", 390)])
def test_the_chart_shows_the_units(theme: str, width: int) -> None:
    found = align(MADE)
    chart = rankgauge.charts.alignment(found, theme=theme, width=width)
    rows = rows_of(chart, "says")
    assert [row["name"] for row in rows] == found.units.names
    assert [row["online"] for row in rows] == found.units.online.tolist()
    assert found.units.error is not None
    reach = 1.959963984540054 * found.units.error
    np.testing.assert_allclose([row["high"] for row in rows], found.units.online + reach)
    assert [row["says"] for row in rows].count("unclear online") == 14
    fields = {"offline", "online", "low", "high"}
    (band,) = (each for each in chart.to_dict()["datasets"].values() if each and each[0].keys() == fields)
    one = found.first.line.next_at(band[7]["offline"])
    assert (band[7]["online"], band[7]["low"], band[7]["high"]) == one
    assert rankgauge.charts.png(chart).startswith(b"\x89PNG")


def test_the_chart_of_queries_has_their_traffic_and_no_bars() -> None:
    table = made(30, traffic=np.arange(1.0, 31.0))
    del table["se"]
    chart = rankgauge.charts.alignment(align(table))
    assert [row["weight"] for row in rows_of(chart, "says")] == list(range(1, 31))
    marks = [layer["mark"]["type"] for layer in chart.to_dict()["layer"]]
    assert marks.count("rule") == 2  # the two lines at 0


RUNS = {"x": {"q": {"a": 2.0, "b": 1.0}, "r": {"b": 1.0}}, "y": {"q": {"b": 2.0}, "r": {"b": 1.0}}}
QRELS = {"q": {"a": 1}, "r": {"b": 1}}


def test_a_report_has_a_section_on_experiments(tmp_path: Path) -> None:
    without = rankgauge.report(QRELS, RUNS, charts=False)
    assert "Offline vs. online" not in [section.title for section in without.sections()]
    assert without.to_dict()["experiments"] is None
    report = rankgauge.report(QRELS, RUNS, experiments=MADE)
    (section,) = (each for each in report.to_dict()["sections"] if each["key"] == "experiments")
    kinds = [block["type"] for block in section["blocks"]]
    assert kinds == ["text", "tiles", "bullets", *["table"] * 6, "fold"]
    found = align(MADE)
    assert section["blocks"][3]["rows"][0] == ["Pearson", *[found.first.pearson.value, list(found.first.pearson[1:])]]
    assert report.to_dict()["experiments"] == found.to_dict()
    again = rankgauge.report(QRELS, RUNS, experiments=align(MADE), charts=False)
    assert "| Pearson | 0.5969 | 0.2549 to 0.8062 |" in again.to_markdown()
    assert ("experiments", "Offline vs. online") in [(each.key, each.title) for each in report.sections()]
    assert "Offline vs. online" in report.to_html()


def test_a_report_of_very_many_queries_shows_some() -> None:
    many = {"query_id": [f"q{at}" for at in range(1_500)], **made(1_500)}
    report = rankgauge.report(QRELS, RUNS, experiments=many, charts=False)
    (section,) = (each for each in report.to_dict()["sections"] if each["key"] == "experiments")
    table = section["blocks"][-1]["blocks"][0]
    assert len(table["rows"]) == 1_000
    assert table["notes"][0].startswith("Of 1,500 those")


def test_the_command_takes_experiments(command: Command, tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text("q 0 a 1\nr 0 b 1\n")
    (tmp_path / "run.txt").write_text("q Q0 a 1 2.0 x\nr Q0 b 1 1.0 x\n")
    base = ("report", "qrels.txt", "run.txt", "--format", "md", "--experiments")
    done = command(*base, MADE, cwd=tmp_path)
    assert (done.code, done.err) == (0, "")
    assert "## Offline vs. online" in done.out
    for table, message in (("-", "name a file"), ("nothing.csv", "there is no such file")):
        done = command(*base, table, cwd=tmp_path)
        assert (done.code, done.out) == (2, "")
        assert message in done.err


# ---- what rounding, size and roles must not do -----------------------------------------------------------------------

FIVE = [1.0, 2.0, 5.0, -4.0, 2.5]


@pytest.mark.parametrize(
    "table",
    [
        {"offline": [1e200, 2e200, -1e200, 3e200, 0.0], "online": FIVE},
        {"offline": [1e-200, 2e-200, -1e-200, 3e-200, 0.0], "online": FIVE},
        {"offline": FIVE, "online": [1e200, 2e200, -1e200, 3e200, 0.0]},
        {"offline": FIVE, "online": [3.0, 1.0, 2.0, 5.0, 4.0], "se": [1e-200, 1.0, 1.0, 1.0, 1.0]},
        {"offline": FIVE, "online": [3.0, 1.0, 2.0, 5.0, 4.0], "traffic": [1e200, 1.0, 1.0, 1.0, 1.0]},
    ],
)
def test_numbers_too_large_or_small_to_square_are_refused(table: dict[str, Any], cli: Command, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="in another unit"):
        align(table)
    file = tmp_path / "t.csv"
    pl.DataFrame(table).write_csv(file)
    done = cli(str(file))
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1), done.err
    with pytest.raises(InputError, match="step"):
        align({"offline": FIVE, "online": [3.0, 1.0, 2.0, 5.0, 4.0]}, step=1e200)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1e59, 1e-57])
def test_the_unit_of_a_column_changes_nothing_but_the_unit(unit: float) -> None:
    table = made(15, traffic=np.arange(1.0, 16.0))
    other = {**table, "delta_nDCG@10": table["delta_nDCG@10"] * unit, "delta_nDCG@5": table["delta_nDCG@5"] * unit}
    one, scaled = align(table), align(other, step=0.01 * unit)
    assert scaled.first.predicted == pytest.approx(one.first.predicted, rel=1e-9)
    assert scaled.first.coefficients["traffic"] == pytest.approx(one.first.coefficients["traffic"], rel=1e-9)
    assert scaled.choice is not None
    assert one.choice is not None
    assert scaled.choice.column == one.choice.column


@pytest.mark.parametrize("by", CRITERIA)
def test_of_columns_that_are_multiples_the_first_is_chosen(by: CriterionName) -> None:
    for seed in range(30):
        random = np.random.default_rng(seed)
        ndcg = random.normal(size=15) * 0.02
        table = {"nDCG@10": ndcg, "DCG@10": 7 * ndcg, "online": 10 * ndcg + random.normal(size=15) * 0.1}
        for order in (["nDCG@10", "DCG@10"], ["DCG@10", "nDCG@10"]):
            choice = align(table, offline=order, criterion=by).choice
            assert choice is not None
            assert (choice.best, choice.chosen[order[0]]) == (order[0], 15), seed


@pytest.mark.parametrize(
    "roles",
    [{"offline": "online"}, {"weight": "se"}, {"offline": ["offline", "online"]}, {"shipped": "se"}, {"se": "online"}],
)
def test_a_column_has_one_role(roles: dict[str, Any]) -> None:
    table = {"offline": FIVE, "online": [3.0, 1.0, 2.0, 5.0, 4.0], "se": [1, 1, 1, 1, 1]}
    with pytest.raises(InputError, match=r"cannot be .* and .* at once"):
        align(table, **roles)


def test_levels_have_no_negative_value_in_either_column() -> None:
    rising = np.linspace(0.01, 1, 40) ** 2
    assert "levels" in codes({"query_id": range(40), "ndcg": rising, "ctr": rising[::-1]})
    for column in ("ndcg", "ctr"):
        table = {"query_id": range(40), "ndcg": rising, "ctr": rising[::-1]}
        assert "levels" not in codes({**table, column: [-0.2, *rising[1:]]}), column


def test_only_winners_are_more_than_nine_of_ten_experiments() -> None:
    plain = made(40, se=np.full(40, 0.1))
    offline = np.abs(plain["delta_nDCG@10"])
    for losers, said in ((3, True), (4, False)):
        for loss in (-0.01, 0.0):
            table = {**plain, "delta_nDCG@10": [*[loss] * losers, *offline[losers:]]}
            assert ("only-winners" in codes(table)) is said, (losers, loss)
    queries = {"query_id": range(40), "delta_nDCG@10": offline, "online": plain["online"]}
    assert "only-winners" not in codes(queries)


def test_noise_is_told_by_how_much_there_is() -> None:
    plain = made(40)
    variance = float(np.var(plain["online"], ddof=1))
    for reliability, words in ((0.3, "only 30% of the variance of the online differences"), (-0.2, "vary no more than"),
                               (0.7, "")):  # fmt: skip
        table = {**plain, "se": np.full(40, np.sqrt((1 - reliability) * variance))}
        told = [each.text for each in align(table).warnings if each.code == "noise"]
        assert len(told) == bool(words), reliability
        assert words in "".join(told)


def test_a_row_that_alone_makes_a_column_vary_is_told_in_words() -> None:
    for table, column in (
        ({"offline": [0.1, 0.1, 0.1, 0.3], "online": [1, 2, 5, -4]}, "offline"),
        ({"offline": [1, 2, 5, -4], "online": [0.1, 0.1, 0.1, 0.3]}, "online"),
    ):
        (told,) = [each.text for each in align(table).warnings if each.code == "one-sways"]
        assert f"rests on 'experiment 4' alone: without it {column} does not vary" in told
        assert "nan" not in told


def test_tables_of_queries_with_traffic_say_what_is_not_weighted() -> None:
    table = {"query_id": list("abcde"), "delta_ndcg": FIVE, "delta_DCG@10": FIVE[::-1], "delta_ctr": [3, 1, 2, -5, 4]}
    words = "Not weighted: every query counts once, whatever its traffic."
    assert align({**table, "traffic": [5, 1, 1, 1, 2]}).show(notes=True).count(words) == 4
    assert words not in str(align(table))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--online", "a", "--online", "b"], "--online is given twice"),
        (["-o", "o.pdf"], "no format has the suffix .pdf"),
        (["--format", "json", "-o", "o.png"], ".png is not for json"),
        (["--per-unit", "-o", "o.svg"], "--per-unit is a table"),
    ],
)
def test_options_that_would_be_lost_are_refused(more: list[str], message: str, cli: Command, tmp_path: Path) -> None:
    done = cli(MADE, *more, cwd=tmp_path)
    assert done.code == 2
    assert message in done.err
    assert not list(tmp_path.iterdir())


def test_semicolons_and_decimal_commas_are_understood(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("\ufeffoffline;online\n0.1;0.2\n0.2;0.1\n0.3;0.7\n0.4;0.3\n", "utf-8")
    assert align(file).units.online.tolist() == [0.2, 0.1, 0.7, 0.3]
    file.write_text("offline;online\n0,1;0,2\n0,2;0,1\n0,3;0,7\n")
    assert align(file).units.online.tolist() == [0.2, 0.1, 0.7]
    file.write_text('offline,online\n"0,1","0,2"\n"0,2","0,1"\n"0,3","0,7"\n')
    with pytest.raises(FormatError, match=r"t.csv:2: column 'offline': '0,1' has a decimal comma; write 0.1"):
        align(file)
    file.write_text("offline\tonline\n0,1\t0,2\n0,2\t1,234\n0,3\t0,7\n")
    with pytest.raises(FormatError, match=r"t.csv:3: column 'online': '1,234' may be 1.234 or 1234; write one of them"):
        align(file)
