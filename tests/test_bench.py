"""Leaderboards: their numbers against other tools and by hand, what is kept and what is done again, bad input."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import operator
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import rankgauge
from command import COMMAND, Command
from rankgauge.cli.output import TEXTS
from rankgauge.comparison.leaderboard.board import Board, Ways, _ranked
from rankgauge.comparison.leaderboard.cells import CACHE
from rankgauge.comparison.leaderboard.suite import find_suite
from rankgauge.errors import InputError, MeasureError, ProtocolError, RankgaugeWarning
from rankgauge.stats import macro
from test_papers import NASTY, cells_of, compiled, rendered

assert compiled  # a fixture

# Two data sets, worked by hand. A document at rank 1 gains 1, at rank 2 1/log2(3).
SECOND = 1 / np.log2(3)
ONE = {"q1": {"d": 1}, "q2": {"d": 1}}
TWO = {"q1": {"d": 1}}
FIRST_PLACE, SECOND_PLACE = {"d": 2.0, "x": 1.0}, {"d": 1.0, "x": 2.0}


def runs_of(*places: dict[str, float]) -> dict[str, dict[str, float]]:
    return {f"q{number}": place for number, place in enumerate(places, 1)}


HAND = {
    "one": (ONE, {"a": runs_of(FIRST_PLACE, SECOND_PLACE), "b": runs_of(SECOND_PLACE, SECOND_PLACE)}),
    "two": (TWO, {"a": runs_of(SECOND_PLACE), "b": runs_of(FIRST_PLACE), "c": runs_of(FIRST_PLACE)}),
}


def made_suite(
    folder: Path, datasets: int, systems: int, *, queries: int = 8, holes: bool = True, depth: int = 6
) -> Path:
    """A suite in BEIR's layout; systems of higher numbers are better; systems 3 and 7 lack every tenth data set."""
    random = np.random.default_rng(0)
    for dataset in range(datasets):
        home = folder / f"set{dataset:02d}"
        (home / "qrels").mkdir(parents=True)
        (home / "runs").mkdir()
        pairs = [(f"q{query}", f"d{doc}", doc % 3) for query in range(queries) for doc in range(depth)]
        lines = "".join(f"{query}\t{doc}\t{grade}\n" for query, doc, grade in pairs)
        (home / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{lines}")
        for system in range(systems):
            if holes and system in (3, 7) and dataset % 10 == system:
                continue
            scores = random.normal(size=len(pairs)) + 0.15 * system * np.array([grade for _, _, grade in pairs])
            rows = zip(pairs, scores.tolist(), strict=True)
            text = "".join(f"{query} Q0 {doc} 0 {score!r} s\n" for (query, doc, _), score in rows)
            (home / "runs" / f"sys{system:02d}.run").write_text(text)
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """29 data sets × 12 systems, with holes."""
    return made_suite(tmp_path_factory.mktemp("made"), 29, 12)


# ---- numbers ---------------------------------------------------------------------------------------------------------


def test_a_board_by_hand() -> None:
    board = rankgauge.bench(HAND, "nDCG@10")["nDCG@10"]
    a, b, c = (board.standings[name] for name in "abc")
    assert board.cells == {
        "one": {"a": pytest.approx((1 + SECOND) / 2), "b": pytest.approx(SECOND)},
        "two": {"a": pytest.approx(SECOND), "b": 1.0, "c": 1.0},
    }
    assert a.macro == pytest.approx((1 + SECOND) / 4 + SECOND / 2)
    assert b.macro == pytest.approx((SECOND + 1) / 2)
    assert a.median == pytest.approx(a.macro)
    assert (a.rank, b.rank, c.rank) == (2, 1, None)
    assert (a.borda, b.borda) == (1.0, 1.0)
    assert c.missing == ("one",)
    assert np.isnan(c.macro)
    assert list(board.standings) == ["b", "a", "c"]
    # Flips of three differences, −(1 − s)/4, 0 and (1 − s)/2: every sum is at least as far from 0 as the observed one.
    (pair,) = board.pairs
    assert (pair.a, pair.b, pair.p, pair.decision) == ("b", "a", 1.0, "not significant")
    assert pair.difference == pytest.approx((1 - SECOND) / 4)
    assert board.groups == [["b", "a"]]


REAL = {
    "dl19": ["bm25tuned_p", "bm25base_rm3_p", "idst_bert_p1", "ms_duet_passage", "UNH_bm25", "TUW19-p3-re"],
    "covid": ["BM25R2", "CSIROmed_RF", "T5R3", "DA_IICT_narr_qe", "UIowaS_Run2", "ielab-prf.2query.v3"],
}
REAL["dl19"] += ["p_exp_rm3_bert", "srchvrs_ps_run2"]
REAL["covid"] += ["ielab-prf.recency", "udel_fang_run1", "lda400s2000", "savantx_nist_run_2", "yn-r1-hierarchy"]


@pytest.fixture
def real(shared: Path, tmp_path: Path) -> Path:
    """The eight dl19 runs and the eleven covid1 runs: eight systems that are called the same, three that lack one."""
    lines = []
    places = {"dl19": ("dl19/qrels.dl19-passage.txt", "dl19/runs/input.{}.gz")}
    places["covid"] = ("covid1/qrels.covid-round1.txt", "covid1/runs/{}.gz")
    for dataset, (qrels, runs) in places.items():
        lines += [f"[datasets.{dataset}]", f"qrels = {json.dumps(str(shared / qrels))}", f"[datasets.{dataset}.runs]"]
        named = enumerate(REAL[dataset])
        lines += [f"s{number:02d} = {json.dumps(str(shared / runs.format(name)))}" for number, name in named]
    (tmp_path / "suite.toml").write_text("\n".join(lines))
    return tmp_path / "suite.toml"


def test_real_runs_give_the_published_numbers(real: Path, shared: Path) -> None:
    leaderboard = rankgauge.bench(real)
    cells = leaderboard["nDCG@10"].cells
    with open(shared / "covid1" / "leaderboard.csv") as stream:
        published = {row["run"]: row["ndcg@10"] for row in csv.DictReader(stream)}
    assert [f"{cells['covid'][f's{n:02d}']:.4f}" for n in range(11)] == [published[name] for name in REAL["covid"]]
    with open(shared / "dl19" / "nist_published_scores.csv") as stream:
        rows = [row for row in csv.DictReader(stream) if row["measure"] == "ndcg_cut_10"]
    nist = {row["run"]: row["value"] for row in rows}
    for number, name in enumerate(REAL["dl19"]):
        assert name not in nist or f"{cells['dl19'][f's{number:02d}']:.4f}" == nist[name]
    assert len(nist.keys() & set(REAL["dl19"])) >= 6
    board = leaderboard["nDCG@10"]
    assert [s.system for s in board.standings.values() if s.missing] == ["s08", "s09", "s10"]
    for system, standing in board.standings.items():
        if not standing.missing:
            both = [np.array(leaderboard.cells.table[d][system].values["nDCG@10"]) for d in ("dl19", "covid")]
            assert standing.macro == pytest.approx((both[0].mean() + both[1].mean()) / 2, abs=1e-15)
            assert standing.rank_interval is not None
            assert standing.rank is not None
            assert standing.rank_interval[0] <= standing.rank <= standing.rank_interval[1]
    assert [standing.rank for standing in board.standings.values()][:8] == list(range(1, 9))


def test_a_suite_of_29_by_12_with_holes(made: Path) -> None:
    leaderboard = rankgauge.bench(made, flips=2_000)
    for measure in ("nDCG@10", "R@100"):
        board = leaderboard[measure]
        assert {s.system: len(s.missing) for s in board.standings.values() if s.missing} == {"sys03": 3, "sys07": 3}
        assert len(board.complete) == 10
        assert len(board.pairs) == 45
        for dataset, row in board.cells.items():
            for system, value in row.items():
                qrels, run = made / dataset / "qrels" / "test.tsv", made / dataset / "runs" / f"{system}.run"
                if dataset == "set03":
                    assert value == rankgauge.evaluate(qrels, run, measure)[measure]
        table = np.array([[row[system] for system in board.complete] for row in board.cells.values()])
        for system, mean, median in zip(board.complete, table.mean(axis=0), np.median(table, axis=0), strict=True):
            assert board.standings[system].macro == pytest.approx(mean, abs=1e-15)
            assert board.standings[system].median == pytest.approx(median, abs=1e-15)
        points = sum(len(board.complete) - stats.rankdata(-row) for row in table)
        assert [board.standings[system].borda for system in board.complete] == pytest.approx(points)
    best = leaderboard["nDCG@10"].standings["sys11"]
    assert best.rank == 1
    assert best.groups == (1,)


# ---- statistics ------------------------------------------------------------------------------------------------------


def brute_force(tables: list[Any], pairs: list[tuple[int, int]]) -> tuple[list[float], list[float]]:
    """p of macro differences over all flips, alone and by single-step max-T; written out with Python's own numbers."""
    weighted = [row / (len(tables) * len(table)) for table in tables for row in table]
    columns = [[float(row[a] - row[b]) for row in weighted] for a, b in pairs]
    roots = [sum(value**2 for value in column) ** 0.5 for column in columns]
    seen = [abs(sum(column)) for column in columns]
    sums = [
        [abs(sum(sign * value for sign, value in zip(signs, column, strict=True))) for column in columns]
        for signs in itertools.product((1, -1), repeat=len(weighted))
    ]
    near = 1 - 1e-9
    alone = [sum(each[at] >= seen[at] * near for each in sums) / len(sums) for at in range(len(pairs))]
    largest = [max(value / root for value, root in zip(each, roots, strict=True)) for each in sums]
    shares = [sum(each >= seen[at] / roots[at] * near for each in largest) / len(sums) for at in range(len(pairs))]
    return alone, [max(each) for each in zip(alone, shares, strict=True)]


@pytest.mark.parametrize("seed", range(5))
def test_macro_flips_are_those_of_all_sign_patterns(seed: int) -> None:
    random = np.random.default_rng(seed)
    tables = [random.random((size, 4)) for size in (2, 3, 5)]
    pairs = list(itertools.combinations(range(4), 2))
    found = macro.macro_differences(tables, pairs)
    alone, adjusted = brute_force(tables, pairs)
    assert all(answer.exact for answer, _ in found)
    assert [answer.p for answer, _ in found] == alone
    assert [together.p for _, together in found] == adjusted
    for answer, together in found:
        assert answer.interval is not None
        assert answer.interval[0] <= answer.value <= answer.interval[1]
        assert (answer.interval[0] > 0 or answer.interval[1] < 0) == (answer.p <= 0.05)
        if together.interval is not None:
            assert together.interval[0] <= answer.interval[0]
            assert answer.interval[1] <= together.interval[1]


def test_the_interval_of_two_data_sets_varies_within_each_and_not_between_them() -> None:
    """Wilson's, of the variance (s₁²/n₁ + s₂²/n₂)/4; the freedom is Satterthwaite's for queries that vary alike."""
    random = np.random.default_rng(1)
    one, two = random.beta(2, 6, 12), random.beta(6, 2, 7)
    mean, variance = (one.mean() + two.mean()) / 2, (one.var(ddof=1) / 12 + two.var(ddof=1) / 7) / 4
    effective = 1 / (1 / (4 * 12) + 1 / (4 * 7))
    centre = (effective * mean + 0.25) / (effective + 0.5)
    like = centre * (1 - centre) * (effective + 0.5) / (effective * variance + 0.125 / (effective + 0.5))
    q = stats.t.ppf(0.975, (1 / 12 + 1 / 7) ** 2 / (1 / 12**2 / 11 + 1 / 7**2 / 6))
    half = q * math.sqrt(centre * (1 - centre) / like + q**2 / (4 * like**2))
    ends = [(centre + q**2 / (2 * like) + side * half) / (1 + q**2 / like) for side in (-1, 1)]
    (found,) = macro.macro_estimates([one[:, None], two[:, None]], bounded=True)
    assert found == pytest.approx((mean, *ends), rel=1e-12)
    further = one - one.min()  # another level of one data set moves the mean, and is no scatter
    for bounded in (True, False):
        (near,), (far,) = (
            macro.macro_estimates([each[:, None], two[:, None] + shift], bounded=bounded)
            for each, shift in ((further + 0.3, -0.1), (further, 0.2))
        )
        assert bounded or far.width == pytest.approx(near.width, rel=1e-9)
        assert far.width < 1.1 * near.width


def test_the_macro_average_of_a_measure_without_bounds_has_the_interval_of_the_flips() -> None:
    """Of one data set: all 2^7 means of the two parts of its queries, spread by √(n/(n − 1)), in order."""
    values = np.random.default_rng(2).exponential(3, 8)
    (found,) = macro.macro_estimates([values[:, None]], bounded=False)
    spread = values.mean() + (values - values.mean()) * math.sqrt(8 / 7)
    means = []
    for signs in itertools.product((False, True), repeat=7):
        part = np.array([*signs, False])
        ends = sorted((spread[part].mean() if part.any() else math.inf, spread[~part].mean()))
        means.append((-math.inf, math.inf) if not part.any() else ends)
    low, high = sorted(each[0] for each in means), sorted((each[1] for each in means), reverse=True)
    assert found == pytest.approx((values.mean(), low[6], high[6]), rel=1e-9)  # ⌊0.05 · 128⌋ = 6


def test_intervals_without_scatter() -> None:
    tables = [np.full((2, 1), 0.5), np.full((2, 1), 0.25)]
    (found,) = macro.macro_estimates(tables, bounded=True)
    assert found.value == 0.375
    assert 0 < found.low < 0.375 < found.high < 1
    (none,) = macro.macro_estimates(tables, bounded=False)
    assert (none.value, math.isnan(none.low)) == (0.375, True)


@pytest.mark.parametrize("sizes", [(1,), (1, 1), (1, 8), (40, 1, 8)])
def test_a_data_set_of_one_query_leaves_no_interval(sizes: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    tables = [random.normal([0.9, 0.1], 0.01, size=(size, 2)) for size in sizes]
    for bounded in (True, False):
        assert all(math.isnan(each.low) for each in macro.macro_estimates(tables, bounded=bounded))
    assert macro.rank_intervals(tables, resamples=50) == [None, None]


def test_a_data_set_of_one_query_is_named() -> None:
    place = {"good": runs_of(*[FIRST_PLACE] * 8), "bad": runs_of(*[SECOND_PLACE] * 8)}
    eight = {f"q{number}": {"d": 1} for number in range(1, 9)}
    found = rankgauge.bench({"one": (TWO, place), "two": (eight, place)}, "nDCG@10", resamples=50)
    good = found.first.standings["good"]
    assert (good.rank, good.rank_interval) == (1, None)
    lines = found.show().splitlines()
    assert lines[2].split() == ["good", "1.0000", "–", "1", "–", "1", "2", "1"]
    (note,) = (line for line in lines if line.startswith("Caution, single-query: "))
    assert "only one query in one, which" in note
    assert any("adjusted for 1 comparison by single-step max-T: " in line for line in found.notes())
    macro = json.loads(found.show("json"))["measures"]["nDCG@10"]["standings"][0]["macro"]
    assert macro == {"value": 1.0, "low": None, "high": None}
    whole = rankgauge.bench({"two": (eight, place)}, "nDCG@10", resamples=50)
    assert whole.first.standings["good"].rank_interval == (1, 1)
    assert not any("single-query" in line for line in whole.notes())


def test_ranks_and_borda_by_hand() -> None:
    assert macro.ranks_of(np.array([0.3, 0.5, 0.3, 0.1])).tolist() == [2, 1, 2, 4]
    assert macro.borda(np.array([[0.3, 0.2, 0.1], [0.1, 0.1, 0.5]])).tolist() == [2.5, 1.5, 2.0]


def test_ranks_of_equal_systems_are_equal_in_every_resample() -> None:
    column = np.random.default_rng(0).random(37)
    tables = [np.stack([column, column, column, column - 1], axis=1)] * 2
    assert macro.rank_intervals(tables) == [(1, 1), (1, 1), (1, 1), (4, 4)]


def test_one_query_less_is_drawn() -> None:
    """Of two queries, won by 3 and lost by 1, one is drawn: half of the resamples are lost. Of two draws, a quarter."""
    table = np.array([[3.0, 0.0], [0.0, 1.0]])
    assert macro.rank_intervals([table], alpha=0.6) == [(1, 2), (1, 2)]


def test_rank_intervals_are_those_of_a_bootstrap_written_out() -> None:
    random = np.random.default_rng(3)
    tables = [random.normal([0.0, 0.2, 0.5], size=(size, 3)) for size in (30, 12)]
    ranks = []
    for _ in range(4_000):
        drawn = [table[random.integers(0, len(table), len(table) - 1)].mean(axis=0) for table in tables]
        ranks.append(stats.rankdata(-np.mean(drawn, axis=0), method="min"))
    expected = np.quantile(ranks, [0.1, 0.9], axis=0, method="inverted_cdf").T
    assert macro.rank_intervals(tables, alpha=0.2, resamples=4_000) == [tuple(map(int, row)) for row in expected]


@given(st.integers(1, 6), st.randoms(use_true_random=False))
def test_groups_are_the_largest_sets_without_a_separable_pair(systems: int, random: Any) -> None:
    apart = np.zeros((systems, systems), bool)
    for a, b in itertools.combinations(range(systems), 2):
        apart[a, b] = apart[b, a] = random.random() < 0.5
    sets = [set(each) for size in range(1, systems + 1) for each in itertools.combinations(range(systems), size)]
    free = [each for each in sets if not any(apart[a, b] for a in each for b in each)]
    largest = sorted(sorted(each) for each in free if not any(each < other for other in free))
    assert macro.groups_of(systems, apart) == largest


def simulated(random: np.random.Generator, truth: Any) -> list[Any]:
    """12 data sets of 6 to 60 queries, easy or hard for every system, with skewed noise."""
    tables = []
    for size in (6, 8, 10, 10, 15, 20, 20, 25, 30, 40, 50, 60):
        level = random.random((size, 1)) - 0.5
        tables.append(truth + level * 0.6 + random.exponential(0.15, (size, len(truth))) - 0.15)
    return tables


rank_interval: Any = operator.attrgetter("rank_interval")
rank_range: Any = operator.attrgetter("rank_range")


def covered(truth: Any, trials: int) -> tuple[float, float, float]:
    """How often intervals of means, ranks of the bootstrap (one by one) and possible ranks (all at once) are right."""
    random = np.random.default_rng(0)
    means, ranks, possible = 0, 0, 0
    names = [f"s{at}" for at in range(len(truth))]
    for _ in range(trials):
        tables = simulated(random, truth)
        found = _ranked(Board("", {}, {}, {}), names, tables, Ways(flips=400, resamples=400)).standings
        standings = [found[name] for name in names]
        means += sum(each.interval[0] <= true <= each.interval[1] for each, true in zip(standings, truth, strict=True))
        ranks += sum(low <= at <= high for at, (low, high) in enumerate(map(rank_interval, standings), 1))
        possible += all(low <= at <= high for at, (low, high) in enumerate(map(rank_range, standings), 1))
    return means / trials / len(truth), ranks / trials / len(truth), possible / trials


@pytest.mark.slow
def test_intervals_cover_what_they_should() -> None:
    means, ranks, possible = covered(np.array([0.50, 0.48, 0.45, 0.44, 0.40, 0.30]), 600)
    assert 0.935 < means < 0.965
    assert ranks > 0.98
    assert possible > 0.95


@pytest.mark.slow
def test_where_systems_are_nearly_equal_possible_ranks_cover_and_the_bootstraps_do_not() -> None:
    means, ranks, possible = covered(0.5 - 0.0001 * np.arange(12), 300)
    assert 0.93 < means < 0.975
    assert 0.75 < ranks < 0.90
    assert possible > 0.93


@pytest.mark.slow
def test_equal_systems_are_separated_in_five_percent_of_suites() -> None:
    random = np.random.default_rng(0)
    trials, claims = 1_000, 0
    pairs = list(itertools.combinations(range(5), 2))
    for _ in range(trials):
        tables = [random.beta(2, 3, (size, 1)) + random.normal(0, 0.2, (size, 5)) for size in (10, 20, 80)]
        found = macro.macro_differences(tables, pairs, flips=400, seed=1)
        claims += any(together.p <= 0.05 for _, together in found)
    assert 0.035 < claims / trials < 0.066


# ---- what is kept ----------------------------------------------------------------------------------------------------


def counts(suite: Path, **more: Any) -> tuple[int, int]:
    found = rankgauge.bench(suite, "nDCG@10", cache=True, flips=10, resamples=10, **more).cells
    return found.measured, found.reused


def test_a_second_run_touches_only_what_changed(tmp_path: Path) -> None:
    suite = made_suite(tmp_path, 3, 4, holes=False)
    assert counts(suite) == (12, 0)
    assert counts(suite) == (0, 12)
    run = suite / "set01" / "runs" / "sys02.run"
    before = rankgauge.bench(suite, "nDCG@10")["nDCG@10"].cells["set01"]["sys02"]
    run.write_text(run.read_text().replace(" 0 -", " 0 "))
    os.utime(run, (0, 0))  # the content counts, not its time
    assert counts(suite) == (1, 11)
    fresh = rankgauge.bench(suite, "nDCG@10")["nDCG@10"]
    assert fresh.cells["set01"]["sys02"] != before
    assert rankgauge.bench(suite, "nDCG@10", cache=True)["nDCG@10"].cells == fresh.cells
    with open(suite / "set00" / "qrels" / "test.tsv", "a") as stream:
        stream.write("q0\td99\t1\n")
    assert counts(suite) == (4, 8)
    assert counts(suite, protocol={"rel": 2}) == (12, 0)
    assert counts(suite) == (0, 12)
    os.rename(run, suite / "set01" / "runs" / "other.run")
    assert counts(suite) == (0, 12)  # the same bytes under another name
    assert rankgauge.bench(suite, "P@3", cache=True).cells.measured == 12


def test_measures_are_kept_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite, cells = made_suite(tmp_path, 1, 2, holes=False), sys.modules["rankgauge.comparison.leaderboard.cells"]
    done: list[list[str]] = []
    evaluate_runs = cells.evaluate_runs

    def noted(judgments: Any, runs: Any, measures: Any, **more: Any) -> Any:
        done.append([str(each) for each in measures])
        return evaluate_runs(judgments, runs, measures, **more)

    monkeypatch.setattr(cells, "evaluate_runs", noted)
    steps = [
        (["nDCG@10", "P@3"], ["nDCG@10", "P@3"]), (["P@3", "nDCG@10"], None), (["P@3"], None),
        (["R@5", "P@3"], ["R@5"]), (["R@5", "nDCG@10", "P@3"], None), (["AP"], ["AP"]), (["AP", "P@3"], None),
    ]  # fmt: skip
    for asked, expected in steps:
        done.clear()
        found = rankgauge.bench(suite, asked, cache=True, flips=10, resamples=10)
        assert done == ([expected] * 2 if expected else [])
        assert found.cells.reused == (0 if expected else 2)
        assert found.to_dict() == rankgauge.bench(suite, asked, flips=10, resamples=10).to_dict()
    assert len(list((suite / CACHE).iterdir())) == 2


def test_the_version_is_part_of_what_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    suite = made_suite(tmp_path, 1, 2)
    assert counts(suite) == (2, 0)
    monkeypatch.setattr(sys.modules["rankgauge.comparison.leaderboard.cells"], "__version__", "99")
    assert counts(suite) == (2, 0)


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:-20], lambda data: b"", lambda data: b"nonsense", lambda data: data.replace(b"q", b"r")],
    ids=["cut", "empty", "nonsense", "changed"],
)
def test_a_damaged_entry_is_measured_again(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    suite = made_suite(tmp_path, 2, 2)
    whole = rankgauge.bench(suite, cache=True)
    entry = sorted((suite / CACHE).iterdir())[0]
    entry.write_bytes(damage(entry.read_bytes()))
    with pytest.warns(RankgaugeWarning, match=r"cannot be read .*; measured again"):
        again = rankgauge.bench(suite, cache=True)
    assert (again.cells.measured, again.cells.reused) == (1, 3)
    assert again.to_dict() == whole.to_dict()
    assert rankgauge.bench(suite, cache=True).cells.reused == 4


def test_a_cache_that_cannot_be_written_is_said_once(tmp_path: Path) -> None:
    suite = made_suite(tmp_path / "suite", 2, 2)
    (tmp_path / "file").write_text("")
    with pytest.warns(RankgaugeWarning, match="what is done is not kept") as caught:
        found = rankgauge.bench(suite, cache=tmp_path / "file" / "cache")
    assert len(caught) == 1
    assert found.cells.measured == 4


def test_measures_of_ones_own_are_never_kept(command: Command, tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        "import numpy as np, rankgauge\n@rankgauge.measure()\ndef Mine(hits):\n    return np.ones(len(hits.queries))\n"
    )
    suite = made_suite(tmp_path / "suite", 1, 2)
    done = command("bench", suite, "--measures-from", tmp_path / "own.py", "-m", "Mine", "--format", "csv")
    assert done.code == 0
    assert "Mine,set00,sys00,8,1.0" in done.out
    assert not (suite / CACHE).exists()


def test_an_error_keeps_what_was_done(tmp_path: Path) -> None:
    suite = made_suite(tmp_path, 3, 3, holes=False)
    bad = suite / "set02" / "runs" / "sys02.run"
    whole = bad.read_text()
    bad.write_text("q1 Q0 d1 0\n")
    with pytest.raises(InputError, match=r"data set set02, system sys02: .*sys02\.run:1: expected"):
        rankgauge.bench(suite, cache=True, jobs=1)
    bad.write_text(whole)
    assert [path.suffix for path in (suite / CACHE).iterdir()] == [".cell"] * 8
    found = rankgauge.bench(suite, cache=True).cells
    assert (found.measured, found.reused) == (1, 8)


def test_an_interrupt_keeps_what_was_done(tmp_path: Path) -> None:
    suite = made_suite(tmp_path, 6, 12, queries=150, holes=False, depth=30)
    words = ["bench", str(suite), "--jobs", "1"]
    for _ in range(5):  # on a busy machine it may be done before we come to interrupt it
        started = subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while started.poll() is None and len(list(suite.glob(f"{CACHE}/*.cell"))) < 2:
            time.sleep(0.005)
        started.send_signal(signal.SIGINT)
        out, err = started.communicate(timeout=120)
        if started.returncode == 130:
            break
        shutil.rmtree(suite / CACHE)
    assert (started.returncode, out) == (130, b"")
    assert err.decode().strip() == "interrupted"
    kept = list((suite / CACHE).iterdir())
    assert {path.suffix for path in kept} == {".cell"}
    found = rankgauge.bench(suite, cache=True, flips=10, resamples=10).cells
    assert found.reused == len(kept) >= 2
    assert found.measured == 72 - len(kept) > 0


def test_the_number_of_threads_changes_nothing(made: Path) -> None:
    few = rankgauge.bench(made, jobs=1, flips=200, resamples=50)
    many = rankgauge.bench(made, jobs=5, flips=200, resamples=50)
    assert few.to_dict() == many.to_dict()


def test_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[int, int, str]] = []
    rankgauge.bench(made_suite(tmp_path, 2, 2), watch=lambda *what: told.append(what))
    assert [number for number, _, _ in told] == [1, 2, 3, 4]
    assert {total for _, total, _ in told} == {4}
    assert {what for _, _, what in told} == {"set00: sys00", "set00: sys01", "set01: sys00", "set01: sys01"}


def test_progress_says_how_long_it_may_take(capsys: Any, monkeypatch: Any) -> None:
    from rankgauge.cli import bench as command_of_bench

    clock = iter([0.0, 30.0, 60.0])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with command_of_bench._progress() as watch:
        assert watch is not None
        watch(1, 9, "one: a")
        watch(2, 9, "one: b")
    told = capsys.readouterr().err.split("\r\x1b[K")
    assert told == ["", "1 of 9, 4 min left  one: a", "2 of 9, 4 min left  one: b", ""]
    assert [command_of_bench._duration(each) for each in (0, 119, 120, 7199, 9000)] == [
        "0 s", "119 s", "2 min", "120 min", "2.5 h",
    ]  # fmt: skip


# ---- suites ----------------------------------------------------------------------------------------------------------


def test_a_file_says_what_the_suite_is(tmp_path: Path) -> None:
    suite = made_suite(tmp_path / "data", 2, 3)
    (tmp_path / "my.toml").write_text(
        'measures = ["P@3"]\nbaseline = "sys00"\nrules = { rel = 2 }\n'
        '[datasets.first]\nqrels = "data/set00/qrels/test.tsv"\nruns = "data/set00/runs/*.run"\n'
        '[datasets.second]\nqrels = "data/set01/qrels/test.tsv"\nrules = { rel = 1 }\n'
        'runs = { sys00 = "data/set01/runs/sys01.run", "é" = "data/set01/runs/sys02.run" }\n'
    )
    found = rankgauge.bench(tmp_path / "my.toml")
    assert list(found) == ["P@3"]
    assert list(found.first.cells["first"]) == ["sys00", "sys01", "sys02"]
    run, qrels = suite / "set01" / "runs" / "sys01.run", suite / "set01" / "qrels" / "test.tsv"
    assert found.first.cells["second"]["sys00"] == rankgauge.evaluate(qrels, run, "P@3")["P@3"]
    assert found.protocols["first"]["rel"] == 2
    assert found.protocols["second"]["rel"] == 1
    assert found.ways.baseline == "sys00"
    assert rankgauge.bench(tmp_path / "my.toml", protocol={"rel": 2}).protocols["second"]["rel"] == 2


def test_names_of_systems_are_those_of_files_without_suffixes(tmp_path: Path) -> None:
    suite = made_suite(tmp_path, 1, 2)
    os.rename(suite / "set00" / "runs" / "sys00.run", suite / "set00" / "runs" / "bm25.v2.trec")
    assert find_suite(suite).systems == ["bm25.v2", "sys01"]


def test_choosing_data_sets_and_systems(made: Path) -> None:
    found = rankgauge.bench(made, "nDCG@10", datasets=["set03", "set01"], systems=["sys03", "sys01"], flips=10)
    assert list(found.first.cells) == ["set03", "set01"]
    assert set(found.first.standings) == {"sys01", "sys03"}
    assert found.first.standings["sys03"].missing == ("set03",)


def folder_without(tmp_path: Path, change: Callable[[Path], Any]) -> Path:
    suite = made_suite(tmp_path / "suite", 2, 2)
    change(suite)
    return suite


def set_text(name: str, text: str) -> Callable[[Path], Any]:
    return lambda suite: (suite / name).write_text(text)


BAD: dict[str, tuple[Callable[[Path], Any], str]] = {
    "no judgments": (
        lambda suite: os.rename(suite / "set01" / "qrels" / "test.tsv", suite / "set01" / "qrels" / "dev.tsv"),
        r"set01: has no judgments; expected .*test\.tsv; there is dev\.tsv: choose with --split",
    ),
    "two judgments": (set_text("set01/qrels/test.csv", "x"), "set01: has several files of judgments"),
    "no runs": (
        lambda suite: [os.remove(path) for path in (suite / "set01" / "runs").iterdir()],  # type: ignore[func-returns-value]
        "data set set01 has no runs; give it one or leave it out",
    ),
    "no folder of runs": (
        lambda suite: os.rename(suite / "set01" / "runs", suite / "set01" / "other"),
        "has no folder of runs; expected",
    ),
    "two runs of a system": (set_text("set00/runs/sys00.txt", "x"), "are both the run of sys00; keep one"),
    "an empty run": (set_text("set00/runs/sys00.run", ""), r"sys00\.run: is empty"),
    "a run of other queries": (set_text("set00/runs/sys00.run", "z Q0 d1 0 1 s\n"), "data set set00, system sys00: "),
    "not TOML": (set_text("suite.toml", "a = = b"), r"suite\.toml: is not TOML: .*line 1"),
    "an unknown key": (set_text("suite.toml", "mesures = []"), "unknown key 'mesures'; did you mean 'measures'"),
    "no data sets": (set_text("suite.toml", ""), "has no data sets"),
    "a data set without qrels": (set_text("suite.toml", "[datasets.x]\nruns='*'"), r"datasets\.x has no judgments"),
    "a pattern without files": (
        set_text("suite.toml", "[datasets.x]\nqrels='q'\nruns='*.nothing'"),
        r"datasets\.x\.runs: no file matches",
    ),
    "runs of a wrong kind": (set_text("suite.toml", "[datasets.x]\nqrels='q'\nruns=3"), "runs is a pattern such as"),
    "an unknown rule": (
        set_text("suite.toml", "[datasets.x]\nqrels='q'\nruns={a='b'}\nrules={ti=1}"),
        "data set x: unknown rule 'ti'",
    ),
    "a file that is not there": (
        set_text("suite.toml", "[datasets.x]\nqrels='set00/qrels/test.tsv'\nruns={a='set00/runs/sys02.run'}"),
        r"there is no such file; did you mean .*sys0",
    ),
    "measures of a wrong kind": (set_text("suite.toml", "measures='nDCG@10'"), "measures is a list of texts"),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_suites(kind: str, command: Command, tmp_path: Path) -> None:
    change, message = BAD[kind]
    suite = folder_without(tmp_path, change)
    done = command("bench", suite, "-o", tmp_path / "out.md")
    assert (done.code, done.out) == (2, "")
    assert re.search(message, done.err), done.err
    assert not (tmp_path / "out.md").exists()


def test_no_overlap_between_data_sets() -> None:
    alone = {"one": (ONE, {"a": runs_of(FIRST_PLACE, FIRST_PLACE)}), "two": (TWO, {"b": runs_of(FIRST_PLACE)})}
    with pytest.raises(
        InputError, match=r"no system has a run for two data sets.*\(one: a; two: b.*call a system the same"
    ):
        rankgauge.bench(alone)


def test_a_data_set_without_the_system_is_said_to_have_none() -> None:
    suite = {"one": (ONE, {"a": runs_of(FIRST_PLACE)}), "two": (TWO, {"b": runs_of(FIRST_PLACE)})}
    with pytest.raises(InputError, match=r"\(one: a; two: none\)"):
        rankgauge.bench(suite, systems=["a"])


def test_holes_everywhere_leave_the_cells() -> None:
    run = runs_of(FIRST_PLACE)
    suite = {"x": (TWO, {"a": run, "b": run}), "y": (TWO, {"b": run, "c": run}), "z": (TWO, {"c": run, "a": run})}
    found = rankgauge.bench(suite)
    assert found.first.complete == []
    words = "No system has a run for every data set: there are no macro-averages and no ranks."
    assert words in " ".join(found.show().split())
    assert [line.split(":")[0] for line in found.notes()][2:5] == [f"No macro-average for {name}" for name in "abc"]
    assert all(found.show(each) for each in TEXTS)
    assert found.show("markdown").splitlines()[4] == "| a | 1.0000 | – | 1.0000 |".replace("1.0000", "**1.0000**")


@pytest.mark.parametrize(
    ("more", "error", "message"),
    [
        ({"baseline": "x"}, InputError, "there is no system 'x' to be the baseline; there are a, b, c"),
        ({"baseline": "c"}, InputError, "the baseline c has no run for one"),
        ({"systems": ["d"]}, InputError, "there is no system 'd'"),
        ({"datasets": ["tow"]}, InputError, "there is no data set 'tow'; did you mean 'two'"),
        ({"protocol": {"missing": "skip"}}, ProtocolError, "queries of its own"),
        ({"measures": "gm_map"}, MeasureError, "is not a mean over queries"),
        ({"alpha": 2}, InputError, "alpha=2"),
        ({"flips": 0}, InputError, "flips and resamples are 1 or more"),
    ],
)
def test_bad_questions(more: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        rankgauge.bench(HAND, **more)


def test_bad_suites_in_memory() -> None:
    with pytest.raises(InputError, match="data set 'one': expected"):
        rankgauge.bench({"one": ONE})
    with pytest.raises(InputError, match="there is no such folder or file"):
        rankgauge.bench("nowhere")


# ---- how it is shown -------------------------------------------------------------------------------------------------


def test_the_table() -> None:
    lines = rankgauge.bench(HAND, "nDCG@10").show().splitlines()
    assert lines[:10] == [
        "nDCG@10, macro-average over 2 data sets",
        "system   macro  95 % interval  rank  95 % of ranks  possible  Borda  group",
        "b       0.8155              –     1              –    1 to 2      1      1",
        "a       0.7232              –     2              –    1 to 2      1      1",
        "c            –              –     –              –         –      –      –",
        "",
        "nDCG@10 on every data set",
        "system     one     two",
        "b       0.6309  1.0000",
        "a       0.8155  0.6309",
    ]
    assert "No macro-average for c: no run for one (1 of 2)." in lines
    assert any(line.startswith("Caution, few-queries: fewer than 25 queries in one (2), two (1)") for line in lines)


def test_a_pair_decides_for_itself_and_what_is_said_of_all_is_adjusted(made: Path) -> None:
    """JSON: p beside its interval, the adjusted p beside its own; groups, marks and the best are by it."""
    found = rankgauge.bench(made, "nDCG@10", flips=2_000)
    data = json.loads(found.show("json"))["measures"]["nDCG@10"]
    systems = [name for name, standing in found.first.standings.items() if not standing.missing]
    assert len(data["pairs"]) == len(systems) * (len(systems) - 1) // 2
    apart = set()
    for pair in data["pairs"]:
        own, together = pair["difference"], pair["difference_simultaneous"]
        assert (own["low"] > 0 or own["high"] < 0) == (pair["p"] <= 0.05) == (pair["decision"] != "not significant")
        assert (together["low"] > 0 or together["high"] < 0) == (pair["p_adjusted"] <= 0.05)
        assert together["low"] <= own["low"] <= own["value"] <= own["high"] <= together["high"]
        assert pair["p"] <= pair["p_adjusted"]
        assert pair["decided_by"] == "p"
        apart |= {frozenset((pair["a"], pair["b"]))} if pair["p_adjusted"] <= 0.05 else set()
    assert any(pair["p"] <= 0.05 < pair["p_adjusted"] for pair in data["pairs"])
    assert all(apart.isdisjoint(map(frozenset, itertools.combinations(group, 2))) for group in data["groups"])
    (note,) = (line for line in found.notes() if line.startswith("Best: "))
    first, second = systems[:2]
    p = f"{data['pairs'][0]['p_adjusted']:.4f}"
    assert note == (
        f"Best: {first} has the highest nDCG@10 of 10 systems, not significantly above {second} (adjusted p = {p})."
    )
    three = rankgauge.bench(made, "nDCG@10", flips=2_000, systems=["sys00", "sys04", "sys11"])
    (note,) = (line for line in three.notes() if line.startswith("Best: "))
    assert note.startswith("Best: sys11 has the highest nDCG@10 of 3 systems (adjusted p = 0.0005 against sys04). ")
    assert note.endswith("A winner's mean is optimistic: it was chosen for being high.")


def test_papers_marks(made: Path) -> None:
    found = rankgauge.bench(made, "nDCG@10", flips=2_000)
    board = found.first
    place = {name: "abcdefghijkl"[at] for at, name in enumerate(board.standings)}
    worse: dict[str, set[str]] = {name: set() for name in place}
    for pair in board.pairs:
        if pair.adjusted_decision != "not significant":
            winner, loser = (pair.a, pair.b) if pair.adjusted_decision == "better" else (pair.b, pair.a)
            worse[winner].add(place[loser])
    rows = [line.split(" | ") for line in found.show("markdown").splitlines() if "| sys" in line][1:13]
    assert len(rows) == 12
    for row in rows:
        marks = "".join(sorted(worse[row[1]]))
        assert re.findall("<sup>(.*)</sup>", row[2]) == ([marks] if marks else [])
    assert any("<sup>" in row[2] for row in rows)
    against = rankgauge.bench(made, "nDCG@10", flips=2_000, baseline="sys05")
    shown = against.show("markdown", digits=3)
    assert "| sys05 | 0." in shown
    daggers = {pair.a: pair.adjusted_decision for pair in against.first.against}
    assert {name for name, each in daggers.items() if each == "better"} == {
        line.split(" | ")[0].removeprefix("| ") for line in shown.splitlines() if "<sup>†</sup>" in line
    }


def nasty(number: int = len(NASTY)) -> rankgauge.Leaderboard:
    names = NASTY[:number]
    runs = {name: runs_of(FIRST_PLACE if at % 2 else SECOND_PLACE) for at, name in enumerate(names)}
    return rankgauge.bench({f"set {name}": (TWO, runs) for name in names[:3]}, "nDCG@10", flips=10, resamples=10)


def test_names_are_escaped_in_every_format() -> None:
    found = nasty()
    names = set(NASTY)
    for page in (rendered(found.show("markdown")), found.show("html"), found._repr_html_()):
        assert names <= set(cells_of(page))
        assert "<script>alert" not in page
    assert names == {row["system"] for row in csv.DictReader(io.StringIO(found.show("csv")))}
    assert names == {each["system"] for each in json.loads(found.show("json"))["measures"]["nDCG@10"]["standings"]}
    assert r"x\&y" in found.show("latex")


@pytest.mark.latex
def test_latex_compiles(compiled: Any, made: Path) -> None:
    found = rankgauge.bench(made, flips=200, resamples=50)
    against = rankgauge.bench(made, flips=200, resamples=50, baseline="sys05", systems=["sys05", "sys11", "sys03"])
    text = compiled(found.show("latex", digits=3) + against.show("latex") + nasty(30).show("latex"))
    assert not text or f"{found.first.standings['sys11'].macro:.3f}" in text


def test_json_has_everything() -> None:
    found = rankgauge.bench(HAND, ["nDCG@10", "R@100"], baseline="a")
    data = json.loads(found.show("json"))
    assert set(data["measures"]) == {"nDCG@10", "R@100"}
    board = data["measures"]["nDCG@10"]
    assert board["datasets"]["one"] == {"queries": 2, "dropped": 0, "values": found.first.cells["one"] | {"c": None}}
    assert board["datasets"]["two"]["values"]["a"] == found.first.cells["two"]["a"]
    assert board["standings"][2] == {
        "system": "c",
        "missing": ["one"],
        "macro": {"value": None, "low": None, "high": None},
        "median": None,
        "rank": {"value": None, "low": None, "high": None},
        "rank_range": {"low": None, "high": None},
        "borda": None,
        "borda_rank": None,
        "groups": [],
    }
    assert [pair["a"] for pair in board["against_baseline"]] == ["b"]
    assert data["datasets"]["one"]["runs"]["a"]["answered"] == 2
    assert data["notes"] == list(found.notes())


def test_csv_and_frame_keep_every_digit() -> None:
    found = rankgauge.bench(HAND)
    rows = list(csv.DictReader(io.StringIO(found.show("csv"))))
    assert len(rows) == found.to_frame().height == 10
    for row in rows:
        assert float(row["value"]) == found[row["measure"]].cells[row["dataset"]][row["system"]]


def test_unanswered_queries_are_said() -> None:
    suite = {"one": (ONE, {"a": runs_of(FIRST_PLACE), "b": runs_of(FIRST_PLACE, FIRST_PLACE)})}
    text = rankgauge.bench(suite).show()
    assert "Caution, not-answered: queries without an answer count 0: a on one (1 of 2)." in text


@pytest.mark.parametrize(
    ("name", "start"), [("x.md", "**nDCG@10"), ("x.tex", "% needs"), ("x.html", "<!doctype html>")]
)
def test_the_command_writes_by_suffix(name: str, start: str, command: Command, tmp_path: Path) -> None:
    suite = made_suite(tmp_path / "suite", 2, 3)
    assert command("bench", suite, "-o", tmp_path / name, "--flips", "50") == (0, "", "")
    assert (tmp_path / name).read_text().startswith(start)
    assert (suite / CACHE).is_dir()


def test_the_command_refuses_an_unknown_suffix(command: Command, tmp_path: Path) -> None:
    suite = made_suite(tmp_path / "suite", 1, 2)
    done = command("bench", suite, "-o", tmp_path / "b.xyz")
    assert (done.code, done.out) == (2, "")
    assert "no format has the suffix .xyz" in done.err
    assert not (tmp_path / "b.xyz").exists()


def test_the_command_keeps_nothing_when_told_so(command: Command, tmp_path: Path) -> None:
    suite = made_suite(tmp_path / "suite", 2, 3)
    done = command("bench", suite, "--no-cache", "--flips", "50", "--baseline", "sys01")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("nDCG@10, macro-average over 2 data sets\n")
    assert not (suite / CACHE).exists()


def test_errors_of_the_command_are_one_line(command: Command, tmp_path: Path) -> None:
    done = command("bench", tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(("queries", "few"), [(24, True), (25, False)])
def test_fewer_than_25_queries_are_few(queries: int, few: bool) -> None:
    judged = {f"q{i:02}": {"a": 1} for i in range(queries)}
    runs = {name: {query: {"a": 1.0 + (at % 3 == place), "b": 1.5} for at, query in enumerate(judged)}
            for place, name in enumerate(("x", "y"))}  # fmt: skip
    suite = dict.fromkeys(("one", "two"), (judged, runs))
    shown = rankgauge.bench(suite, "nDCG@10", resamples=50, flips=50).show(notes=True)
    assert ("few-queries" in shown) is few
