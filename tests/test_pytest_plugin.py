"""The pytest plugin, in runs of pytest of its own."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import rankgauge
from rankgauge.pytest_plugin import assert_no_regression

pytest_plugins = ["pytester"]

QRELS = "".join(f"q{i} 0 d 1\n" for i in range(30))
GOOD = "".join(f"q{i} Q0 d 1 2 A\n" for i in range(30))
BAD = "".join(f"q{i} Q0 {'x' if i < 12 else 'd'} 1 2 A\n" for i in range(30))
ODD = "".join(f"q{i} Q0 {'x' if i < 1 else 'd'} 1 2 A\n" for i in range(30))
# Made here and not in a fixture: pytester forgets what is imported while it runs, and numpy cannot be imported twice.
BASELINE = rankgauge.evaluate_runs(
    {f"q{i}": {"d": 1} for i in range(30)}, {"good": {f"q{i}": {"d": 2.0} for i in range(30)}}
).to_dict()

TESTS = """
def test_evaluates(gauge):
    assert gauge.evaluate("data/qrels.txt", "data/good.run", ["nDCG@10", "P@1"])["P@1"] == 1.0

def test_good(gauge):
    found = gauge.assert_no_regression("data/qrels.txt", "data/good.run", baseline="data/baseline.json", margin=0.01)
    assert found.answer == "unchanged"

def test_good_counts_as_asked_for(gauge):
    gauge.assert_no_regression(
        "data/qrels.txt", "data/good.run", baseline="data/baseline.json", margin=0.01, unchanged="inconclusive")

def test_bad(gauge):
    gauge.assert_no_regression("data/qrels.txt", "data/bad.run", baseline="data/baseline.json", margin=0.01)

def test_cannot_tell(gauge):
    gauge.assert_no_regression("data/qrels.txt", "data/odd.run", baseline="data/good.run", margin=0.01)

def test_cannot_tell_and_does_not_mind(gauge):
    gauge.assert_no_regression(
        "data/qrels.txt", "data/odd.run", baseline="data/good.run", margin=0.01, inconclusive="pass")

def test_minimum(gauge):
    gauge.assert_no_regression("data/qrels.txt", {f"q{i}": {"d": 1.0} for i in range(30)}, minimums={"R@10": 0.9})

def test_no_margin(gauge):
    gauge.assert_no_regression("data/qrels.txt", "data/good.run", baseline="data/baseline.json")
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project with judgments, runs, a baseline and tests; its tests are run from another folder."""
    data = pytester.mkdir("data")
    for name, text in (("qrels.txt", QRELS), ("good.run", GOOD), ("bad.run", BAD), ("odd.run", ODD)):
        (data / name).write_text(text)
    (data / "baseline.json").write_text(json.dumps(BASELINE))
    pytester.makeini("[pytest]\n")
    pytester.makeconftest('pytest_plugins = ["rankgauge.pytest_plugin"]')
    pytester.makepyfile(test_search=TESTS)
    return pytester


def test_the_fixture_evaluates_and_asserts(project: pytest.Pytester) -> None:
    done = project.runpytest_subprocess("-p", "no:cacheprovider")
    done.assert_outcomes(passed=4, failed=4)
    done.stdout.fnmatch_lines(
        [
            "*AssertionError:*",
            "E*UNCHANGED: no nDCG@10 of the 30 judged queries changed. A change *",
            "E*FAIL: bad loses at least 0.2* nDCG@10 to *",
            "E*nDCG@10     0.6000    1.0000     -0.4000*FAIL",
            "E*Queries that lost most nDCG@10",
            "E*INCONCLUSIVE: odd may lose more than 0.01 nDCG@10 to good *",
            "E* 1 of 30 queries changed. 30 *",
            "E*InputError: how much of nDCG@10 may be lost?*",
        ]
    )
    assert "pytest_plugin.py" not in "\n".join(line for line in done.outlines if line.startswith(">"))


def test_paths_are_from_the_root_of_the_project(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = project.mkdir("elsewhere")
    monkeypatch.chdir(elsewhere)
    done = project.runpytest_subprocess(
        "-p", "no:cacheprovider", "-c", "../tox.ini", "..", "-k", "(good and not counts) or evaluates"
    )
    done.assert_outcomes(passed=2, deselected=6)


def test_the_plugin_is_announced_and_loaded_once() -> None:
    config = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    ((name, module),) = config["project"]["entry-points"]["pytest11"].items()
    assert name == module  # so that pytest knows it under one name, however it is loaded
    assert importlib.import_module(module).gauge


def test_loading_the_plugin_loads_nothing_else() -> None:
    code = (
        "import pytest, sys; before = set(sys.modules); import rankgauge.pytest_plugin; "
        "print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['rankgauge', 'rankgauge.pytest_plugin']"


def test_without_the_fixture() -> None:
    judgments = {f"q{i}": {"d": 1} for i in range(30)}
    good = {query: {"d": 1.0} for query in judgments}
    bad = {**{query: {"x": 1.0} for query in judgments}, "q0": {"d": 1.0}}
    assert assert_no_regression(judgments, good, baseline=good, margin=0.0).answer == "unchanged"
    with pytest.raises(AssertionError, match=r"^\nUNCHANGED: "):
        assert_no_regression(judgments, good, baseline=good, margin=0.0, unchanged="fail")
    with pytest.raises(AssertionError, match=r"^\nUNCHANGED: "):
        assert_no_regression(judgments, good, baseline=good, margin=0.0, unchanged="inconclusive")
    with pytest.raises(rankgauge.InputError, match="expected pass, inconclusive or fail"):
        assert_no_regression(judgments, good, baseline=good, margin=0.0, unchanged="maybe")
    with pytest.raises(AssertionError, match=r"^\nFAIL: "):
        assert_no_regression(judgments, bad, baseline=good, margin=0.01)
    with pytest.raises(rankgauge.InputError, match="expected pass or fail"):
        assert_no_regression(judgments, good, baseline=good, margin=0.0, inconclusive="maybe")


@pytest.mark.filterwarnings("ignore:NO JUDGED DOCUMENT")
def test_a_measurement_of_nothing_fails_with_one_sentence() -> None:
    judgments = {f"q{i}": {"d": 1} for i in range(30)}
    strange, other = ({query: {doc: 1.0} for query in judgments} for doc in "xy")
    with pytest.raises(rankgauge.MatchError, match="returned a judged document, so there is nothing to compare"):
        assert_no_regression(judgments, strange, baseline=other, margin=0.01)
