"""Simulations: how often the tests err where nothing differs, and how often the intervals hold the truth.

Every bound is the expected rate with four Monte-Carlo standard errors of the number of repetitions, or what is
promised. The grids are those of docs/calibration.md, which `make test-calibration` writes.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import grids
from grids import FLIPS, GRIDS, Grid, Rate
from rankgauge.stats import families, paired
from rankgauge.stats.inference import Queries, adjusted, differences, ratios
from rankgauge.stats.paired import moments, units_of

Floats = np.ndarray[Any, Any]

PAGE = "RANKGAUGE_CALIBRATION"  # the file that the page of tables is written to


# ---- in every run: some cells ----------------------------------------------------------------------------------------

SOME = [
    *(("pairs", row, column) for row in ("normal", "RR − RR", "60 % ties", "5 % lose 0.5") for column in ("8", "25")),
    ("weights", "Zipf, 60 queries", "normal"),
    *(("samples", "per search, dense", column) for column in ("30", "150")),
    ("gate", "only these change, PASS", "30"),
    ("power", "all change", "25"),
    ("means", "8 % failures", "15"),
]


@pytest.mark.parametrize(("grid", "row", "column"), SOME)
def test_a_cell_is_as_it_was_simulated(grid: str, row: str, column: str) -> None:
    whole = GRIDS[grid]
    expected = whole.rows[row][whole.columns.index(column)]
    found = whole.cell(row, column, 100 if grid == "gate" else 400)
    assert grids.off(found, expected) <= 1, (found, expected)


def test_equal_systems_differ_as_often_as_it_is_said() -> None:
    found = grids.pairs_cell("type I, normal", "25", 1000)
    assert found.share == pytest.approx(0.05, abs=found.error(0.05))


def test_a_loss_as_large_as_the_margin_passes_and_fails_as_often_as_it_is_said() -> None:
    random = grids.generator("margin")
    values = random.normal(-0.05, 0.15, (800, 25))
    said = grids.gate_answers(values, Queries(25), 0.05, random)
    for answer in ("pass", "fail"):
        assert said.count(answer) / 800 == pytest.approx(0.05, abs=error(0.05, 800))
    assert said.count("pass") + said.count("fail") + said.count("inconclusive") == 800


# ---- all of them -----------------------------------------------------------------------------------------------------

Rates = dict[str, list[Rate]]


@pytest.fixture(scope="module")
def simulated() -> Iterator[dict[str, Rates]]:
    """The rates of the grids that were simulated: printed in the end, and written where that is wanted."""
    rates: dict[str, Rates] = {}
    yield rates
    text = page(rates)
    print(text)
    if os.environ.get(PAGE) and rates.keys() == GRIDS.keys():
        Path(os.environ[PAGE]).write_text(text, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", GRIDS)
def test_a_grid_is_as_it_was_simulated(simulated: dict[str, Rates], name: str) -> None:
    grid, wrong = GRIDS[name], []
    simulated[name] = {}
    for row, expected in grid.rows.items():
        found = [grid.cell(row, column, grid.draws) for column in grid.columns[: len(expected)]]
        simulated[name][row] = found
        far = [each.draws > 0 and grids.off(each, percent) > 1 for each, percent in zip(found, expected, strict=True)]
        wrong += [f"{row}, {column}" for column, is_far in zip(grid.columns, far, strict=False) if is_far]
    assert not wrong, (wrong, simulated[name])


HEAD = """\
# Calibration

This page shows how often intervals contain the truth, how often equal systems come out different, and how often the
gate is wrong. Everything is simulated, with differences like those of real evaluations. `make test-calibration` writes
this page. It fails if a rate moves by more than four standard errors.

A 95 % interval should contain the truth in 95 of 100 draws. It does for symmetric differences, with and without
weights, and over samples of a log. There are three exceptions:

- **Skewed differences** (lognormal): 83 to 90 % up to 50 queries. No method that agrees with p does better.
- **Rare losses beside small changes**: a sample may contain none of the losses, and no method sees what is not in the
  sample. A PASS of few queries says so: "A loss that touches fewer than 1 in 10 searches, and is larger than any seen
  here, could go unseen."
- **Rare losses alone**: if nothing changed there is no interval. Of the intervals that are given, at least 90 % contain
  the truth.

The caution `skewed` warns of a long tail that was drawn. If the tail was not drawn there is no caution, so its absence
proves nothing.

A number in brackets is the percentage of draws that have an interval, if it is below 90.
"""


def page(rates: dict[str, Rates]) -> str:
    """The page of tables."""
    return "\n".join([HEAD, *(table(GRIDS[name], rows) for name, rows in rates.items())])


def shown_rate(found: Rate, draws: int) -> str:
    """The rate in percent; in brackets how many of the draws count, where these are few."""
    few = f" ({100 * found.draws / draws:.0f})" if found.draws < 0.9 * draws else ""
    return f"{100 * found.share:.0f}{few}" if found.draws else "–"


def table(grid: Grid, rows: Rates) -> str:
    draws = f"{grid.draws:,} draws a cell, {FLIPS:,} flips a draw; a cell's name is its seed."
    lines = [f"## {grid.title}", "", f"{grid.words} In %. {draws}", ""]
    lines += [f"| | {' | '.join(grid.columns)} |", "|---|" + "--:|" * len(grid.columns)]
    for row, cells in rows.items():
        shown = [shown_rate(each, grid.draws) for each in cells]
        lines.append(f"| {row} | {' | '.join(shown + [''] * (len(grid.columns) - len(shown)))} |")
    return "\n".join([*lines, ""])


# ---- what other pages say --------------------------------------------------------------------------------------------


def error(rate: float, repetitions: int) -> float:
    """Four standard errors of a rate that was counted so often."""
    return Rate(0, repetitions).error(rate)


def smallest(table: Floats, pairs: list[tuple[int, int]], seed: int) -> float:
    """The smallest adjusted p of these pairs."""
    columns, queries = [table[:, a] - table[:, b] for a, b in pairs], Queries(len(table))
    own = differences(columns, queries, flips=499, seed=seed)
    return min(each.p for each in adjusted(own, columns, queries, flips=999, seed=seed))


def clones_and_strangers(random: np.random.Generator) -> Floats:
    """Twenty systems of equal mean: 18 near-clones (shared sd 0.1, own 0.02), 2 unlike them (sd 0.25); query sd 0.2."""
    query, shared = 0.2 * random.standard_normal((50, 1)), 0.1 * random.standard_normal((50, 1))
    clones = query + shared + 0.02 * random.standard_normal((50, 18))
    strangers = query + 0.25 * random.standard_normal((50, 2))
    return np.concatenate([clones, strangers], axis=1)


@pytest.mark.slow
def test_near_clones_do_not_fool_max_t_as_they_fool_tukey() -> None:
    from scipy.stats import studentized_range

    random, repetitions = np.random.default_rng(3), 400
    pairs = list(itertools.combinations(range(20), 2))
    critical = studentized_range.isf(0.05, 20, 49 * 19)
    by_max_t = by_tukey = 0
    for number in range(repetitions):
        table = clones_and_strangers(random)
        by_max_t += smallest(table, pairs, number) <= 0.05
        means = table.mean(axis=0)
        by_tukey += np.ptp(means) / np.sqrt(families.residual_square(table) / 50) >= critical
    assert by_max_t / repetitions <= 0.05 + error(0.05, repetitions)
    assert by_tukey / repetitions > 0.2


@pytest.mark.slow
def test_d_z_intervals_cover() -> None:
    random, repetitions = np.random.default_rng(6), 3000
    covered = 0
    for _ in range(repetitions):
        units = units_of(np.stack([0.4 + random.standard_normal(20), np.zeros(20)], axis=1))
        low, high = paired.effect_interval(np.array([moments(units, 0, 1).t]), 19, units.effective)[0]
        covered += low <= 0.4 <= high
    assert covered / repetitions == pytest.approx(0.95, abs=error(0.95, repetitions))


@pytest.mark.slow
@pytest.mark.parametrize("queries", [8, 40])
def test_intervals_of_relative_changes_cover(queries: int) -> None:
    random, repetitions, covered = np.random.default_rng(7), 1500, 0
    for seed in range(repetitions):
        below = 0.5 + 0.2 * random.standard_normal(queries).clip(-2, 2)
        change = 0.1 * below + 0.05 * random.standard_normal(queries)
        (found,) = ratios([change], [below], Queries(queries), flips=999, seed=seed)
        assert found.interval is not None
        covered += found.interval[0] <= 0.1 <= found.interval[1]
    assert covered / repetitions == pytest.approx(0.95, abs=error(0.95, repetitions))


@pytest.mark.slow
def test_clustered_queries_do_not_make_false_certainty() -> None:
    """Ten users of six queries each, whose differences are alike: flipping queries errs, flipping users does not."""
    random, repetitions = np.random.default_rng(8), 1500
    users = np.repeat(np.arange(10), 6)
    alone = together = 0
    for number in range(repetitions):
        apart = random.standard_normal(10)[users] + 0.5 * random.standard_normal(60)
        alone += differences([apart], Queries(60), flips=999, seed=number)[0].p <= 0.05
        together += differences([apart], Queries(60, clusters=users), flips=1024)[0].p <= 0.05
    assert alone / repetitions > 0.2
    assert together / repetitions <= 0.05 + error(0.05, repetitions)


@pytest.mark.slow
def test_harsh_skew_with_few_queries_is_warned_of() -> None:
    """50 % zeros, 40 % losses of −Exp(0.05), 10 % wins of Exp(0.2), 25 queries: no method holds its 5 % there."""
    from rankgauge.comparison.compare import compare

    random, repetitions = np.random.default_rng(9), 1000
    fired = skewed = 0
    for _ in range(repetitions):
        kind = random.random(25)
        wins, losses = random.exponential(0.2, 25), -random.exponential(0.05, 25)
        difference = np.where(kind < 0.5, 0.0, np.where(kind < 0.9, losses, wins))
        values = {"a": dict(enumerate(difference.tolist())), "b": dict.fromkeys(range(25), 0.0)}
        codes = {doubt.code for doubt in compare(None, values, flips=100).warnings}
        fired += bool(codes)
        skewed += "skewed" in codes
    assert fired == repetitions
    assert skewed / repetitions > 0.7
