"""Simulations: how often the tests err where nothing differs, and how often the intervals hold the truth.

Every bound is the nominal rate with four Monte-Carlo standard errors of the number of repetitions, or what is promised.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from rankgauge.comparison.compare import compare
from rankgauge.stats import families, paired
from rankgauge.stats.bootstrap import bootstrap_intervals
from rankgauge.stats.flips import centred, sign_flips
from rankgauge.stats.paired import moments, units_of

pytestmark = pytest.mark.slow

Floats = np.ndarray[Any, Any]


def error(rate: float, repetitions: int) -> float:
    """Four standard errors of a rate that was counted so often."""
    return 4 * float(np.sqrt(rate * (1 - rate) / repetitions))


def with_truth(difference: Floats) -> Floats:
    return np.stack([difference, np.zeros_like(difference)], axis=1)


@pytest.mark.parametrize("queries", [12, 50])
def test_the_sign_flip_test_errs_as_often_as_it_says(queries: int) -> None:
    random, repetitions = np.random.default_rng(1), 4000
    rejected = 0
    for _ in range(repetitions):
        columns = with_truth(random.standard_normal(queries))
        rejected += sign_flips(centred(columns), [(0, 1)], flips=1999, seed=int(random.integers(1 << 30))).p[0] <= 0.05
    assert rejected / repetitions == pytest.approx(0.05, abs=error(0.05, repetitions))


def test_max_t_errs_as_often_as_it_says_over_the_family() -> None:
    random, repetitions = np.random.default_rng(2), 1500
    pairs = list(itertools.combinations(range(6), 2))
    wrong = 0
    for _ in range(repetitions):
        table = random.random((50, 1)) + 0.1 * random.standard_normal((50, 6))
        flipped = sign_flips(centred(table), pairs, flips=999, seed=int(random.integers(1 << 30)))
        wrong += flipped.adjusted.min() <= 0.05
    assert wrong / repetitions == pytest.approx(0.05, abs=error(0.05, repetitions))


def clones_and_strangers(random: np.random.Generator) -> Floats:
    """Twenty systems of equal mean: 18 near-clones (shared sd 0.1, own 0.02), 2 unlike them (sd 0.25); query sd 0.2."""
    query, shared = 0.2 * random.standard_normal((50, 1)), 0.1 * random.standard_normal((50, 1))
    clones = query + shared + 0.02 * random.standard_normal((50, 18))
    strangers = query + 0.25 * random.standard_normal((50, 2))
    return np.concatenate([clones, strangers], axis=1)


def test_near_clones_do_not_fool_max_t_as_they_fool_tukey() -> None:
    from scipy.stats import studentized_range

    random, repetitions = np.random.default_rng(3), 800
    pairs = list(itertools.combinations(range(20), 2))
    critical = studentized_range.isf(0.05, 20, 49 * 19)
    by_max_t = by_tukey = 0
    for number in range(repetitions):
        table = clones_and_strangers(random)
        by_max_t += sign_flips(centred(table), pairs, flips=999, seed=number).adjusted.min() <= 0.05
        means = table.mean(axis=0)
        by_tukey += np.ptp(means) / np.sqrt(families.residual_square(table) / 50) >= critical
    assert by_max_t / repetitions <= 0.08
    assert by_tukey / repetitions > 0.2


def test_t_and_studentised_intervals_cover_normal_differences() -> None:
    random, repetitions = np.random.default_rng(4), 2000
    covered = {"t": 0, "studentised": 0}
    for number in range(repetitions):
        units = units_of(with_truth(0.3 + random.standard_normal(50)))
        low, high = paired.t_interval(moments(units, 0, 1))
        covered["t"] += low <= 0.3 <= high
        ends = bootstrap_intervals(units, [(0, 1)], ["studentised"], resamples=1000, seed=number)
        low, high = ends["studentised"][0]
        covered["studentised"] += low <= 0.3 <= high
    for kind, count in covered.items():
        assert 0.93 <= count / repetitions <= 0.97, kind


def test_bca_intervals_cover_normal_differences() -> None:
    random, repetitions = np.random.default_rng(5), 1500
    covered = 0
    for number in range(repetitions):
        units = units_of(with_truth(0.3 + random.standard_normal(200)))
        low, high = bootstrap_intervals(units, [(0, 1)], ["bca"], resamples=1000, seed=number)["bca"][0]
        covered += low <= 0.3 <= high
    assert 0.93 <= covered / repetitions <= 0.97


def test_d_z_intervals_cover() -> None:
    random, repetitions = np.random.default_rng(6), 3000
    covered = 0
    for _ in range(repetitions):
        units = units_of(with_truth(0.4 + random.standard_normal(20)))
        low, high = paired.effect_interval(np.array([moments(units, 0, 1).t]), 19, units.effective)[0]
        covered += low <= 0.4 <= high
    assert covered / repetitions == pytest.approx(0.95, abs=error(0.95, repetitions))


def test_fieller_intervals_cover() -> None:
    random, repetitions = np.random.default_rng(7), 3000
    covered = 0
    for _ in range(repetitions):
        query = 0.5 + 0.2 * random.standard_normal(40)
        table = np.stack([1.1 * query + 0.05 * random.standard_normal(40), query], axis=1)
        low, high = paired.relative_change(moments(units_of(table), 0, 1))[1]
        covered += low <= 0.1 <= high
    assert covered / repetitions == pytest.approx(0.95, abs=error(0.95, repetitions))


def test_clustered_queries_do_not_make_false_certainty() -> None:
    """Ten users of six queries each, whose differences are alike: flipping queries errs, flipping users does not."""
    random, repetitions = np.random.default_rng(8), 1500
    users = np.repeat(np.arange(10), 6)
    alone = together = 0
    for number in range(repetitions):
        table = with_truth(random.standard_normal(10)[users] + 0.5 * random.standard_normal(60))
        alone += sign_flips(centred(units_of(table).sums), [(0, 1)], flips=999, seed=number).p[0] <= 0.05
        units = units_of(table, clusters=users)
        together += sign_flips(centred(units.sums), [(0, 1)], flips=1024).p[0] <= 0.05
    assert alone / repetitions > 0.2
    assert together / repetitions <= 0.05 + error(0.05, repetitions)


def test_harsh_skew_with_few_queries_is_warned_of() -> None:
    """50 % zeros, 40 % losses of −Exp(0.05), 10 % wins of Exp(0.2), 25 queries: no method holds its 5 % there."""
    random, repetitions = np.random.default_rng(9), 1000
    fired = skewed = 0
    for _ in range(repetitions):
        kind = random.random(25)
        wins, losses = random.exponential(0.2, 25), -random.exponential(0.05, 25)
        difference = np.where(kind < 0.5, 0.0, np.where(kind < 0.9, losses, wins))
        values = {"a": dict(enumerate(difference.tolist())), "b": dict.fromkeys(range(25), 0.0)}
        found = compare(None, values, flips=100)
        codes = {doubt.code for doubt in found.warnings}
        fired += bool(codes)
        skewed += "skewed" in codes
    assert fired == repetitions
    assert skewed / repetitions > 0.7
