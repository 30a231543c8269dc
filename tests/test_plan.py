"""Plans: the numbers against the exact power, a pilot against its definition, and what people see of them."""

from __future__ import annotations

import json
import math
import re
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

import rankgauge
from command import Command
from rankgauge.comparison.plan import QUESTIONS, SETS, SIZES, Deviation, Plan, Setting, deviation_of, plan
from rankgauge.comparison.values import Values
from rankgauge.errors import InputError, RankgaugeError
from rankgauge.show import charts
from rankgauge.show.formats import render
from rankgauge.stats.power import detectable, queries_needed


def values(table: Any, measure: str = "nDCG@10") -> Values:
    array = np.array(table, dtype=float)
    names = [chr(ord("a") + i) for i in range(array.shape[1])]
    return Values(measure, names, [f"q{i}" for i in range(len(array))], array)


# ---- numbers --------------------------------------------------------------------------------------------------------


def test_published_numbers() -> None:
    found = plan(0.2, differences=[0.02], margins=[0.01], query_counts=[50, 1000])
    assert [(each.question, each.queries) for each in found.answers] == [("difference", 787), ("margin", 2475)]
    assert {n: round(sizes["difference"], 4) for n, sizes in found.sets.items()} == {50: 0.0808, 1000: 0.0177}


def test_nothing_asked_gives_the_usual_ladder() -> None:
    found = plan(0.2)
    assert found.questions == ("difference", "margin", "width")
    assert [each.size for each in found.answers] == [*SIZES] * 3
    assert [*found.sets] == [*SETS]
    assert plan(30.0).answers[0].size == pytest.approx(0.5)  # a measure that is not between 0 and 1


@pytest.mark.parametrize(
    ("deviation", "expected", "margins"),
    [(0.2, -0.007, SIZES[1:]), (0.2, -0.01, SIZES[2:]), (0.2, -0.5, ()), (3.0, -0.3, (0.5, 1.0)), (0.2, 0.1, SIZES)],
)
def test_the_ladder_has_no_margin_that_is_never_kept(deviation: float, expected: float, margins: Any) -> None:
    found = plan(deviation, expected=expected)
    assert found.questions == ("difference", "margin", "width")
    assert [each.size for each in found.answers if each.question == "margin"] == pytest.approx([*margins])
    assert "margin" in found.show()
    with pytest.raises(InputError, match="no number of queries"):
        plan(0.2, margins=[0.005], expected=-0.007)


@pytest.mark.parametrize(("alpha", "words"), [(0.05, "95 %"), (0.1, "90 %"), (0.07, "93 %"), (1e-9, "99.9999999 %")])
def test_the_level_of_an_interval_has_all_its_digits(alpha: float, words: str) -> None:
    assert f"the {words} interval" in plan(0.2, interval_widths=[0.1], alpha=alpha).show()


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("setting", [Setting(), Setting(systems=7, power=0.9, alpha=0.01, expected=0.004)])
def test_every_question_there_and_back(question: str, setting: Setting) -> None:
    ask = QUESTIONS[question]
    needed = ask.queries(setting, 0.17, 0.03)
    assert ask.size(setting, 0.17, needed) <= 0.03 < ask.size(setting, 0.17, needed - 1)


def test_many_systems_share_alpha() -> None:
    found = plan(0.2, differences=[0.02], systems=10)
    pair, anova = found.answers
    assert (pair.question, pair.queries) == ("difference", queries_needed(0.2, 0.02, alpha=0.05 / 45))
    assert anova.question == "range"
    against_one = plan(0.2, differences=[0.02], systems=10, with_baseline=True)
    assert [each.queries for each in against_one.answers] == [queries_needed(0.2, 0.02, alpha=0.05 / 9)]


def test_a_better_system_passes_a_gate_sooner() -> None:
    better = plan(0.2, margins=[0.01], expected=0.01).answers[0].queries
    assert better == queries_needed(0.2, 0.02, sides=1)


# ---- pilots ---------------------------------------------------------------------------------------------------------


def test_the_pilot_of_two_systems_is_the_deviation_of_their_differences() -> None:
    rng = np.random.default_rng(1)
    table = rng.random((40, 2))
    found = deviation_of(values(table))
    s = (table[:, 0] - table[:, 1]).std(ddof=1)
    assert found.value == pytest.approx(s, rel=1e-12)
    from scipy import stats

    ends = [s * math.sqrt(39 / stats.chi2.ppf(q, 39)) for q in (0.975, 0.025)]
    assert found.interval == pytest.approx(ends, rel=1e-10)
    assert (found.queries, found.systems, found.smallest) == (40, ("a", "b"), None)


def test_the_pilot_of_many_systems_is_twice_the_residual_variance() -> None:
    formula = pytest.importorskip("statsmodels.formula.api")
    import pandas as pd

    rng = np.random.default_rng(2)
    table = rng.random((12, 4)) + rng.random((12, 1))
    long = pd.DataFrame([(i, j, table[i, j]) for i in range(12) for j in range(4)], columns=["q", "s", "y"])
    residual = formula.ols("y ~ C(s) + C(q)", long).fit().mse_resid
    found = deviation_of(values(table))
    assert found.value == pytest.approx(math.sqrt(2 * residual), rel=1e-10)
    of_pairs = [(table[:, i] - table[:, j]).std(ddof=1) for i, j in combinations(range(4), 2)]
    assert found.value**2 == pytest.approx(np.mean(np.square(of_pairs)), rel=1e-12)
    assert [found.smallest, found.largest] == pytest.approx([min(of_pairs), max(of_pairs)])


def test_the_upper_end_of_the_deviation_needs_more_queries() -> None:
    pilot = Deviation(0.2, (0.17, 0.25), "nDCG@10", 60, ("a", "b"))
    (answer,) = plan(pilot, differences=[0.02]).answers
    assert (answer.queries, answer.at_most) == (787, queries_needed(0.25, 0.02))


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ([[0.1], [0.2], [0.3]], "takes two"),
        ([[0.1, 0.2], [0.2, 0.4]], "too few"),
        ([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3]], "same differences"),
        ([[0.1, 0.2], [0.2, 0.3], [0.3, 0.4]], "same differences"),
    ],
)
def test_a_pilot_that_tells_nothing_is_refused(table: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        deviation_of(values(table))


@pytest.mark.parametrize(
    "asked",
    [
        {"deviation": 0.0},
        {"deviation": math.nan},
        {"deviation": 0.2, "differences": [0.0]},
        {"deviation": 0.2, "margins": [-0.01]},
        {"deviation": 0.2, "interval_widths": [math.inf]},
        {"deviation": 0.2, "query_counts": [1]},
        {"deviation": 0.2, "systems": 1},
        {"deviation": 0.2, "power": 1.0},
        {"deviation": 0.2, "margins": [0.01], "expected": -0.02},
    ],
)
def test_what_makes_no_sense_is_refused(asked: dict[str, Any]) -> None:
    with pytest.raises(RankgaugeError):
        plan(asked.pop("deviation"), **asked)


# ---- shown ----------------------------------------------------------------------------------------------------------


def test_the_table_has_the_numbers_and_the_curve() -> None:
    text = plan(0.2).show()
    assert "  size  for a difference  for a margin  for a width\n" in text
    assert "0.0200               787           620        1,539" in text
    bars = [8 * bar.count("█") + max(0, " ▏▎▍▌▋▊▉".find(bar[-1])) for bar in re.findall("[█-▏]+$", text, re.M)]
    assert bars == sorted(bars, reverse=True)
    assert (len(bars), bars[0]) == (len(SETS), 96)
    assert "| 0.0200 | 787 | 620 | 1,539 |" in plan(0.2).to_markdown()


@pytest.mark.parametrize(
    ("asked", "first"),
    [
        ({}, "787 queries: a true difference of 0.02 is found with power 0.8 (paired t-test, two-sided)."),
        ({"margins": 0.01}, "2,475 queries: a gate with margin 0.01 passes a system that is just as good, with power"),
        ({"interval_widths": [0.1]}, "64 queries: the 95 % interval of a difference is on average 0.1 wide, from end"),
        ({"query_counts": 200}, "200 queries: a true difference of 0.0398 is found with power 0.8"),
        ({"query_counts": [9, 200, 5000]}, "200 queries: a true difference of 0.0398 is found with power 0.8"),
    ],
)
def test_the_answer_comes_first(asked: dict[str, Any], first: str) -> None:
    made = plan(0.2, **asked)
    assert " ".join(made.show().split()).startswith(first)
    assert made.show().count("power 0.8 (paired t-test") <= 1  # said once


def test_a_pilot_has_at_most_in_its_sentence() -> None:
    pilot = Deviation(0.2, (0.17, 0.25), "nDCG@10", 60, ("a", "b"))
    made = plan(pilot, differences=[0.02, 0.05])
    assert [made.sentence(each).partition(":")[0] for each in made.spoken] == [
        "787 queries, at most 1,229",
        "128 queries, at most 199",
    ]


def test_the_data_hold_what_was_asked() -> None:
    data = plan(0.2, differences=[0.02], query_counts=[60], systems=3).to_dict()
    assert data["comparisons"] == 3
    assert [(each["question"], each["size"]) for each in data["needed"]] == [("difference", 0.02), ("range", 0.02)]
    assert data["sets"][0]["difference"] == detectable(0.2, 60, alpha=0.05 / 3)
    assert (data["pilot"], data["deviation"]) == (None, {"value": 0.2, "low": None, "high": None})


def layers(asked: Plan) -> list[list[dict[str, Any]]]:
    """The rows of every layer of the chart."""
    drawn = charts.plan(asked).to_dict()
    names = [layer.get("data", drawn.get("data"))["name"] for layer in drawn["layer"]]
    return [drawn["datasets"][name] for name in names]


def test_the_chart_marks_what_was_asked() -> None:
    pilot = Deviation(0.2, (0.17, 0.25), "nDCG@10", 60, ("a", "b"))
    band, curve, *marks = layers(plan(pilot, differences=[0.02], query_counts=[60]))
    assert [row["words"] for row in marks[-1]] == ["0.02: 787 queries", f"{detectable(0.2, 60):.4f}: 60 queries"]
    at = {row["queries"]: row["size"] for row in curve}
    for row in band:
        assert row["low"] < at[row["queries"]] < row["high"]
        assert row["high"] == detectable(0.25, row["queries"])


@pytest.mark.parametrize(
    "asked", [{}, {"query_counts": [2]}, {"differences": [1e-5]}, {"interval_widths": [3.0], "query_counts": [10**7]}]
)
@pytest.mark.parametrize("systems", [2, 30])
def test_every_plan_can_be_drawn(asked: dict[str, Any], systems: int) -> None:
    for rows in layers(plan(0.3, **asked, systems=systems)):
        assert all(math.isfinite(row["size"]) and row["queries"] > 0 for row in rows)


def test_files_of_every_kind() -> None:
    pytest.importorskip("vl_convert")
    page = plan(0.2, differences=[0.02]).page()
    assert str(render(page, "svg")).count("<svg") == 1
    assert render(page, "png")[:4] == b"\x89PNG"
    assert "Queries needed" in str(render(page, "html"))


# ---- the command ----------------------------------------------------------------------------------------------------

QRELS = "".join(f"q{i} 0 d{i} 1\n" for i in range(30))
GOOD = "".join(f"q{i} Q0 d{i} 1 2 A\n" for i in range(30))
OTHER = "".join(f"q{i} Q0 x 1 3 A\nq{i} Q0 d{i} 2 2 A\n" if i % 3 else f"q{i} Q0 d{i} 1 2 A\n" for i in range(30))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "a.run").write_text(GOOD)
    (tmp_path / "b.run").write_text(OTHER)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cli(here: Path, command: Command) -> Command:
    """The command `plan`, in that folder."""
    return partial(command, "plan")


def test_a_pilot_of_runs_and_of_saved_values_say_the_same(cli: Command, command: Command) -> None:
    runs = cli("qrels.txt", "a.run", "b.run", "--difference", "0.02", "--format", "json")
    assert command("eval", "qrels.txt", "a.run", "b.run", "-q", "-o", "saved.json") == (0, "", "")
    saved = cli("--pilot", "saved.json", "--difference", "0.02", "--format", "json")
    assert (runs.code, runs.err) == (saved.code, saved.err) == (0, "")
    assert json.loads(runs.out) == json.loads(saved.out)
    lost = np.array([0 if i % 3 == 0 else 1 - 1 / math.log2(3) for i in range(30)])
    data = json.loads(runs.out)
    assert data["deviation"]["value"] == pytest.approx(lost.std(ddof=1))
    assert data["needed"][0]["queries"] == queries_needed(lost.std(ddof=1), 0.02)


def test_a_pilot_can_be_a_table_from_anywhere(cli: Command, here: Path) -> None:
    a, b = [0.1, 0.5, 0.4, 0.9], [0.3, 0.5, 0.1, 0.8]
    rows = [f"q{i},{x},{y}\n" for i, (x, y) in enumerate(zip(a, b, strict=True))]
    (here / "values.csv").write_text("query_id,one,two\n" + "".join(rows))
    data = json.loads(cli("--pilot", "values.csv", "--format", "json").out)
    assert data["deviation"]["value"] == pytest.approx(np.std(np.subtract(a, b), ddof=1))
    assert data["pilot"]["systems"] == ["one", "two"]


def test_the_suffix_says_what_to_write(cli: Command, here: Path) -> None:
    for name, start in (("p.svg", b"<svg"), ("p.html", b"<!doctype"), ("p.json", b"{"), ("p.md", b"**787 queries")):
        assert cli("--deviation", "0.2", "-o", name) == (0, "", "")
        assert (here / name).read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give --deviation, --pilot or [QRELS"),
        (["--deviation", "0.2", "--pilot", "x.json"], "--deviation and --pilot exclude each other"),
        (["qrels.txt", "a.run"], "two runs or more"),
        (["--pilot", "none.json"], "none.json"),
        (["--pilot", "one.json"], "takes two"),
        (["--pilot", "means.json"], "--per-query"),
        (["--pilot", "saved.json", "-m", "P@5"], "holds no P@5"),
        (["--pilot", "broken.csv"], "is not a number"),
        (["--deviation", "-0.1"], "more than 0"),
        (["--deviation", "0.2", "--query-count", "1"], "--query-count"),
        (["--deviation", "0.2", "-o", "x.svg", "--format", "json"], ".svg is not for json"),
    ],
)
def test_bad_input(cli: Command, command: Command, here: Path, arguments: list[str], words: str) -> None:
    for name, more in (
        ("one.json", ["a.run", "-q"]),
        ("means.json", ["a.run"]),
        ("saved.json", ["a.run", "b.run", "-q"]),
    ):
        assert command("eval", "qrels.txt", *more, "-o", name).code == 0
    (here / "broken.csv").write_text("query_id,a,b\nq1,0.5,x\n")
    done = cli(*arguments)
    assert (done.code, done.out) == (2, "")
    assert words in done.err


def test_plan_is_public() -> None:
    assert rankgauge.plan(0.2, differences=[0.02]).answers[0].queries == 787


def test_the_rules_of_a_pilot_are_stated(command: Command, tmp_path: Path) -> None:
    (tmp_path / "q").write_text("".join(f"q{i} 0 a {1 + i % 2}\nq{i} 0 b 1\n" for i in range(9)))
    for name, shift in (("x", 0), ("y", 1)):
        rows = (f"q{i} Q0 a 1 {(i + shift) % 3} t\nq{i} Q0 b 2 1 t\n" for i in range(9))
        (tmp_path / name).write_text("".join(rows))
    stated = command("plan", "q", "x", "y", "--ties", "average", cwd=tmp_path).out
    assert "ties=average" in stated.partition("\n\n")[0]
    assert "ties=" not in command("plan", "q", "x", "y", cwd=tmp_path).out
    for rules in ({}, {"ties": "average"}, {"missing": "skip", "rel": 2}):
        words = [word for rule, value in rules.items() for word in (f"--{rule}", str(value))]
        runs = {name: tmp_path / name for name in ("x", "y")}
        pilot = rankgauge.evaluate_runs(tmp_path / "q", runs, protocol=cast(Any, rules))
        found = rankgauge.plan(pilot, differences=0.02)
        sentence = " ".join(found.show().partition("\n\n")[0].split())
        assert [f"{rule}={value}" in sentence.replace(".0", "") for rule, value in rules.items()] == [True] * len(rules)
        asked = ("plan", "q", "x", "y", *words, "--difference", "0.02")
        assert command(*asked, cwd=tmp_path).out == found.show()
        told = json.loads(command(*asked, "--format", "json", cwd=tmp_path).out)
        assert told == json.loads(found.to_json())
        assert told["pilot"]["protocol"] == pilot["x"].protocol.to_dict()
        saved = command("eval", "q", "x", "y", *words, "--per-query", "--format", "json", "-o", "v.json", cwd=tmp_path)
        assert saved.code == 0, saved.err
        assert command("plan", "--pilot", "v.json", "--difference", "0.02", cwd=tmp_path).out == found.show()


def test_a_pilot_of_two_measures_is_asked_about() -> None:
    judgments = {f"q{i}": {"a": 1, "b": i % 2} for i in range(9)}
    runs = {name: {q: {"a": float(n), "b": 1.5} for n, q in enumerate(judgments)} for name in ("x", "y")}
    with pytest.raises(InputError, match="the pilot has nDCG@10, RR; evaluate it by one measure"):
        plan(rankgauge.evaluate_runs(judgments, runs, ["nDCG@10", "RR"]))
