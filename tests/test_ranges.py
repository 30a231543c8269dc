"""Intervals never leave the range of their measure, and of too few queries there is none: in every command."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankgauge
from command import Command
from rankgauge import charts
from rankgauge.comparison.gate.check import check
from rankgauge.comparison.ranges import is_bounded, known_interval, within_range

JUDGED = {"right": 1, "other": 1}


def judged(queries: int) -> dict[str, dict[str, int]]:
    return {f"q{at}": JUDGED for at in range(queries)}


def run(queries: int, found: int) -> dict[str, dict[str, float]]:
    """Right on every `found`-th query, wrong on the others: means near an end, and wide intervals."""
    return {
        f"q{at}": {"right": 2.0, "other": 1.0} if at % found == 0 else {"wrong": 1.0, "poor": 0.5}
        for at in range(queries)
    }


def runs(queries: int) -> dict[str, Any]:
    return {"seldom": run(queries, queries), "often": {q: run(queries, 1)[q] for q in list(judged(queries))[:-1]}}


# ---- the rule --------------------------------------------------------------------------------------------------------


def test_the_rule() -> None:
    assert within_range((-0.4, 1.2), True) == (0.0, 1.0)
    assert within_range((-1.4, 0.2), True, lowest=-1.0) == (-1.0, 0.2)
    assert within_range((-0.4, -0.2), True) == (0.0, 0.0)  # never the wrong way round
    assert within_range((-0.4, 1.2), False) == (-0.4, 1.2)
    assert within_range((-math.inf, math.inf), True) == (-math.inf, math.inf)  # none stays none
    assert known_interval((0.2, 0.4), True, 0.05, 6) == (0.2, 0.4)
    assert np.isnan(known_interval((0.2, 0.4), True, 0.05, 5)).all()


def test_what_is_bounded() -> None:
    inside, outside = np.array([0.0, 1.0]), np.array([-0.5, 1.0])
    assert [is_bounded(measure, inside) for measure in ("nDCG@10", "DCG@10", "clicks")] == [True, False, False]
    assert not is_bounded("nDCG@10", outside)  # as negative grades make it


# ---- compare ---------------------------------------------------------------------------------------------------------


def test_relative_intervals_of_compare() -> None:
    """Two losses are few: of the query that is added, and loses as much, the baseline may have less."""
    old = {f"q{at}": 0.1 for at in range(12)} | {"q0": 0.9, "q1": 0.8}
    new = old | {"q0": 0.0, "q1": 0.0}
    pair, unbounded = (
        rankgauge.compare(None, {"new": new, "old": old}, measures=measure, baseline="old").pairs[0]
        for measure in ("nDCG@10", "clicks")
    )
    assert unbounded.relative_interval[0] < -1 == pair.relative_interval[0]
    assert pair.relative_interval[1] == unbounded.relative_interval[1]
    few = rankgauge.compare(judged(3), runs(3)).pairs[0]
    assert np.isnan([*few.interval]).all()


# ---- bench -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("queries", [3, 4, 8])
def test_bench_stays_within_the_range(queries: int) -> None:
    suite = {name: (judged(queries), runs(queries)) for name in ("one", "two")}
    board = rankgauge.bench(suite, "P@1").first
    for each in board.standings.values():
        assert 0 <= each.interval[0] < each.macro < each.interval[1] <= 1
    for pair in board.pairs:
        assert all(-1 <= end <= 1 for end in (*pair.interval, *pair.simultaneous))
    counts = rankgauge.bench(suite, "DCG@10").first.standings
    assert max(each.interval[1] for each in counts.values()) > 1


def test_bench_of_too_few_queries_tells_no_systems_apart_and_says_so() -> None:
    found = rankgauge.bench({name: (judged(2), runs(2)) for name in ("one", "two")}, ["P@1", "DCG@10"])
    for standing in found.first.standings.values():
        assert 0 <= standing.interval[0] < standing.macro < standing.interval[1] <= 1
        assert standing.rank_interval is None
    assert all(np.isnan(each.interval).all() for each in found["DCG@10"].standings.values())
    assert all(np.isnan(pair.interval).all() for pair in found.first.pairs)
    assert "Caution, few-queries: 4 queries in all are too few to tell systems apart." in "\n".join(found.notes())
    enough = rankgauge.bench({name: (judged(3), runs(3)) for name in ("one", "two")}, "P@1")
    assert "too few to tell" not in "\n".join(enough.notes())


# ---- check -----------------------------------------------------------------------------------------------------------


def test_bounds_of_check_stay_within_the_range() -> None:
    two, minimum = check(judged(2), runs(2)["often"], run(2, 2), "P@1", margin=0.1, minimums={"P@1": 0.5}).tests
    three = check(judged(3), run(3, 3), run(3, 1), "P@1", margin=0.1).compared[0]
    assert (three.bounds.low, three.answer) == (-np.inf, "inconclusive")  # three queries have no bounds
    assert 0 < minimum.bounds.low < minimum.bounds.high <= 1
    assert minimum.answer == "inconclusive"
    assert two.answer == "unchanged"
    drifted = check(judged(3), run(3, 3), run(3, 1), "NumRet", margin=0.1).compared[0]
    assert drifted.bounds.low <= drifted.bounds.high  # no range to keep to


# ---- ppi -------------------------------------------------------------------------------------------------------------


def test_ppi_stays_within_the_range(tmp_path: Path) -> None:
    people, model = judged(6), judged(12)
    some = runs(12) | {"seldom": run(12, 6)}
    for interval, lowest in (("flips", 0.02), ("ppi_py", 0.0)):
        found = rankgauge.ppi(people, model, some, "P@1", interval=interval)  # type: ignore[arg-type]
        assert found["seldom"].people.low == pytest.approx(lowest, abs=0.01)
        assert found["often − seldom"].people.high == 1.0
        every = [one for each in found.pairs for one in (each.people, each.powered)]
        assert all(-1 <= end <= 1 for one in every for end in one[1:] if end == end)
    assert found["seldom"].powered.low >= 0
    assert "Intervals of 95 %" in found.show()
    assert "Fewer than 25 queries are judged by humans" in found.show()


def test_narrower_is_measured_before_the_cut() -> None:
    from rankgauge.stats.ppi import plain_mean, prediction_powered

    truth, both = np.array([1.0, 0, 0, 0, 0, 0]), np.array([1.0, 0, 0, 0, 0, 0])
    others = np.array([0.0] * 6)
    found = rankgauge.ppi(judged(6), judged(12), {"x": run(12, 12)}, "P@1", interval="ppi_py")["x"]
    whole = prediction_powered(truth, both, others, interval="ppi_py"), plain_mean(truth, interval="ppi_py")
    assert whole[1].low < 0 == found.people.low
    assert found.narrower == 1 - whole[0].width / whole[1].width


def test_ppi_of_too_few_queries_has_no_interval_and_says_so() -> None:
    found = rankgauge.ppi(judged(5), judged(12), {"x": run(12, 5)}, "P@1")
    assert np.isnan([*found["x"].people[1:], *found["x"].powered[1:]]).all()
    assert "No intervals: 5 queries judged by humans are too few." in found.show()
    assert "Fewer than 25" not in found.show()
    assert "No intervals: too few queries" in json.dumps(charts.ppi(found).to_dict(), ensure_ascii=False)


# ---- funnel, plot ----------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, made in (("a", {"right": 2, "other": 1}), ("b", {"other": 2, "right": 1})):
        lines = [f"q{at} Q0 {doc} 1 {score} x" for at in range(2) for doc, score in made.items()]
        (tmp_path / f"{name}.run").write_text("\n".join(lines) + "\n")
    (tmp_path / "two.txt").write_text("q0 0 right 1\nq1 0 right 1\nq1 0 other 1\n")
    (tmp_path / "one.txt").write_text("q0 0 right 1\n")
    return tmp_path


@pytest.mark.parametrize("qrels", ["one.txt", "two.txt"])
def test_few_queries_in_a_funnel(files: Path, command: Command, qrels: str) -> None:
    words = ["funnel", qrels, "--retrieved", "a.run", "--reranked", "b.run"]
    done = command(*words, "--notes", cwd=files)
    assert (done.code, "No intervals of lift and captured: too few queries." in done.out) == (0, True)
    data = json.loads(command(*words, "--format", "json", cwd=files).out)
    assert data["systems"]["b"]["lift"]["low"] is None
    assert command(*words, "-o", files / "funnel.html", cwd=files).code == 0


@pytest.mark.parametrize("qrels", ["one.txt", "two.txt"])
def test_few_queries_in_charts(files: Path, command: Command, qrels: str) -> None:
    """A measure without bounds has no interval of so few queries; one between 0 and 1 has a wide one."""
    for measure, lacking in (("DCG@10", True), ("nDCG@10", False)):
        words = ["plot", "forest", qrels, "a.run", "b.run", "-m", measure, "-o", str(files / "f.svg")]
        assert command(*words, cwd=files).code == 0
        assert ("No intervals: too few queries" in (files / "f.svg").read_text()) is lacking


def test_the_chart_of_effects_begins_where_something_could_be_significant(files: Path) -> None:
    found = rankgauge.compare(files / "two.txt", [files / "a.run", files / "b.run"])
    chart = charts.detectable(found).to_dict()
    (rows,) = chart["datasets"].values()
    assert min(row["queries"] for row in rows) == 6
    assert not any(row["here"] for row in rows)
    assert "This set has too few queries" in json.dumps(chart)
    assert "nan" not in json.dumps(charts.matrix(found).to_dict())


def test_groups_without_an_interval_are_told_apart() -> None:
    groups = {f"q{at}": "small" if at < 2 else "large" for at in range(12)}
    for measure, lacking in (("DCG@10", True), ("P@1", False)):
        result = rankgauge.evaluate(judged(12), run(12, 2), measure, by=groups)
        assert ("none where queries are too few" in json.dumps(charts.groups(result).to_dict())) is lacking
