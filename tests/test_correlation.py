"""Correlations, intervals, lines, the choice among columns: against scipy, statsmodels, closed forms, brute force."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from rankgauge.stats import correlation as c
from rankgauge.stats.choice import CRITERIA, QUICK, nested
from rankgauge.stats.correlation import fitted, without_each
from rankgauge.stats.estimate import Estimate

Floats = NDArray[np.float64]
SCIPY = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}


def columns(seed: int, number: int, *, tied: bool) -> tuple[Floats, Floats]:
    """Two columns that go together; with `tied`, of few different values."""
    random = np.random.default_rng(seed)
    x = random.normal(size=number)
    y = 0.6 * x + random.normal(size=number)
    return (np.round(x), np.round(2 * y)) if tied else (x, y)


def cases() -> Iterator[tuple[Floats, Floats]]:
    for seed in range(12):
        for number in (4, 7, 20, 131):
            for tied in (False, True):
                x, y = columns(seed, number, tied=tied)
                if np.ptp(x) and np.ptp(y):
                    yield x, y


# ---- coefficients ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", c.COEFFICIENTS)
def test_every_coefficient_is_scipys(kind: str) -> None:
    for x, y in cases():
        assert c.COEFFICIENTS[kind].of(x, y) == pytest.approx(SCIPY[kind](x, y)[0], abs=1e-12)


def test_kendall_counts_pairs() -> None:
    for x, y in cases():
        pairs = [(np.sign(x[i] - x[j]), np.sign(y[i] - y[j])) for i, j in combinations(range(len(x)), 2)]
        whole = sum(a * b for a, b in pairs)
        untied = sum(a != 0 for a, _ in pairs) * sum(b != 0 for _, b in pairs)
        assert c.kendall(x, y) == pytest.approx(whole / untied**0.5, abs=1e-12)


@pytest.mark.parametrize("kind", c.COEFFICIENTS)
def test_what_does_not_vary_has_no_correlation(kind: str) -> None:
    flat, other = np.full(6, 0.1), np.arange(6.0)
    assert np.isnan(c.COEFFICIENTS[kind].of(flat, other))
    assert np.isnan(c.COEFFICIENTS[kind].of(other, flat))


def test_a_large_offset_does_not_hurt() -> None:
    x, y = columns(1, 30, tied=False)
    assert c.pearson(x + 1e6, y - 1e6) == pytest.approx(c.pearson(x, y), abs=1e-9)


def test_the_weighted_correlation_is_statsmodels() -> None:
    for seed in range(10):
        x, y = columns(seed, 15, tied=False)
        weights = np.random.default_rng(seed).uniform(0.1, 5, 15)
        theirs = DescrStatsW(np.stack([x, y], axis=1), weights=weights).corrcoef[0, 1]
        assert c.weighted_pearson(x, y, weights) == pytest.approx(theirs, abs=1e-12)


def test_whole_weights_are_repeated_rows() -> None:
    x, y = columns(3, 9, tied=False)
    times = np.array([1, 2, 0, 5, 1, 3, 1, 0, 2])
    repeated = c.pearson(np.repeat(x, times), np.repeat(y, times))
    assert c.weighted_pearson(x, y, times.astype(float)) == pytest.approx(repeated, abs=1e-12)


def test_the_effective_number_of_equal_weights_is_their_number() -> None:
    assert c.effective_number(np.full(7, 0.3)) == pytest.approx(7)
    assert c.effective_number(np.array([1.0, 1.0, 0.0])) == pytest.approx(2)


# ---- intervals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("number", "low", "high"), [(10, -0.05, 0.89), (20, 0.21, 0.82), (40, 0.35, 0.77)])
def test_fishers_interval_of_published_examples(number: int, low: float, high: float) -> None:
    found = c.fisher(0.6, number)
    assert (round(found.low, 2), round(found.high, 2)) == (low, high)


@pytest.mark.parametrize(("part", "whole", "low", "high"), [(8, 10, 0.49, 0.94), (16, 20, 0.58, 0.92)])
def test_wilsons_interval_of_published_examples(part: int, whole: int, low: float, high: float) -> None:
    found = c.wilson(part, whole)
    assert (round(found.low, 2), round(found.high, 2)) == (low, high)


@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_intervals_are_scipys_and_statsmodels(alpha: float) -> None:
    for x, y in cases():
        theirs = stats.pearsonr(x, y).confidence_interval(1 - alpha)
        if abs(c.pearson(x, y)) < 1 - 1e-9:
            assert c.correlated("pearson", x, y, alpha)[1:] == pytest.approx(tuple(theirs), abs=1e-12)
    for part, whole in ((0, 5), (5, 5), (3, 11), (997, 1000)):
        found = c.wilson(part, whole, alpha)
        theirs = proportion_confint(part, whole, alpha, method="wilson")
        assert (found.low, found.high) == pytest.approx(theirs, abs=1e-12)
        assert found.value == part / whole


def test_few_rows_and_perfect_order_have_no_interval() -> None:
    line = np.arange(5.0)
    for kind in c.COEFFICIENTS:
        assert c.correlated(kind, line, line).value == pytest.approx(1, abs=1e-15)
        assert np.isnan(c.correlated(kind, line, line).low)
    assert np.isnan(c.fisher(0.5, 3).low)
    assert np.isnan(c.fisher(0.5, 4, spread=0.437, lost=4).low)
    assert np.isnan(c.wilson(0, 0).low)


def test_the_difference_of_two_correlations_is_zous_example() -> None:
    """Zou (2007), overlapping variables: 0.396 − 0.179, 0.088 between them, of 66: −0.093 to 0.517."""
    found = c.dependent_difference(c.fisher(0.396, 66), c.fisher(0.179, 66), 0.088)
    assert (round(found.low, 3), round(found.high, 3)) == (-0.093, 0.517)


@pytest.mark.parametrize("kind", c.COEFFICIENTS)
@pytest.mark.parametrize("rho", [0.0, 0.6])
def test_intervals_cover(kind: str, rho: float) -> None:
    """Of normal pairs; the true ρ_S is 6/π·asin(r/2), and τ is 2/π·asin(r). 3,000 draws: ± 0.012 is 3 deviations."""
    truth = {"pearson": rho, "spearman": 6 / np.pi * np.arcsin(rho / 2), "kendall": 2 / np.pi * np.arcsin(rho)}[kind]
    random = np.random.default_rng(7)
    covered = 0
    for _ in range(3_000):
        x, z = random.normal(size=(2, 20))
        found = c.correlated(kind, x, rho * x + np.sqrt(1 - rho**2) * z)
        covered += found.low <= truth <= found.high
    assert covered / 3_000 == pytest.approx(0.95, abs=0.016)


def test_weighted_intervals_cover() -> None:
    random = np.random.default_rng(8)
    covered = 0
    for _ in range(3_000):
        x, z = random.normal(size=(2, 40))
        weights = random.uniform(0.2, 2, 40)
        found = c.fisher(c.weighted_pearson(x, 0.5 * x + np.sqrt(0.75) * z, weights), c.effective_number(weights))
        covered += found.low <= 0.5 <= found.high
    assert covered / 3_000 == pytest.approx(0.95, abs=0.016)


def test_intervals_of_differences_cover() -> None:
    """Two columns that see the same thing with more and less noise: 1/√2 and 1/√5 with y are the true correlations."""
    random = np.random.default_rng(11)
    covered = 0
    for _ in range(3_000):
        y, one, other = random.normal(size=(3, 30))
        x, z = y + one, y + 2 * other
        ours, theirs = c.correlated("pearson", x, y), c.correlated("pearson", z, y)
        found = c.dependent_difference(ours, theirs, c.pearson(x, z))
        covered += found.low <= 0.5**0.5 - 0.2**0.5 <= found.high
    assert covered / 3_000 == pytest.approx(0.95, abs=0.016)


def noisy(random: np.random.Generator, number: int) -> tuple[Floats, Floats, Floats]:
    """An offline column, an online one that goes with it by 0.6 but for its noise, and the noise's standard errors."""
    x, z = random.normal(size=(2, number))
    errors = random.uniform(0.3, 0.9, number)
    return x, 0.6 * x + 0.8 * z + random.normal(0, errors), errors


@pytest.mark.parametrize("number", [20, 40])
def test_corrected_and_precision_weighted_intervals_cover(number: int) -> None:
    random = np.random.default_rng(12)
    x, y, errors = noisy(random, 400_000)
    limit = c.weighted_pearson(x, y, 1 / errors**2)  # what the weighted correlation estimates
    covered, weighted = [], 0
    for _ in range(3_000):
        x, y, errors = noisy(random, number)
        found = c.corrected(c.correlated("pearson", x, y), c.reliability(y, errors))
        covered += [] if np.isnan(found.value) else [found.low <= 0.6 <= found.high]
        weights = 1 / errors**2
        by_precision = c.fisher(c.weighted_pearson(x, y, weights), c.effective_number(weights))
        weighted += by_precision.low <= limit <= by_precision.high
    assert len(covered) > 2_900
    assert np.mean(covered) == pytest.approx(0.95, abs=0.02)
    assert weighted / 3_000 == pytest.approx(0.95, abs=0.03)


# ---- noise -----------------------------------------------------------------------------------------------------------


def test_reliability_is_the_share_that_is_not_noise() -> None:
    random = np.random.default_rng(5)
    errors = random.uniform(0.5, 1.5, 200_000)
    truth = random.normal(0, 2, 200_000)
    share = truth.var() / (truth.var() + (errors**2).mean())
    assert c.reliability(truth + random.normal(0, errors), errors) == pytest.approx(share, abs=0.005)


def test_reliability_is_a_formula() -> None:
    assert c.reliability(np.array([0.0, 1.0, 2.0]), np.array([0.5, 0.5, 0.5])) == 0.75
    assert c.reliability(np.array([0.0, 1.0, 2.0]), np.array([1.0, 1.0, 1.0])) == 0.0


def test_the_corrected_correlation_is_that_without_noise() -> None:
    random = np.random.default_rng(6)
    x, z = random.normal(size=(2, 200_000))
    clean = 0.7 * x + np.sqrt(0.51) * z
    errors = np.full(len(x), 0.8)
    noisy, noisy_x = clean + random.normal(0, errors), x + random.normal(0, errors)
    found = c.correlated("pearson", noisy_x, noisy)
    again = c.corrected(found, c.reliability(noisy, errors), c.reliability(noisy_x, errors))
    assert found.value < 0.5
    assert again.value == pytest.approx(0.7, abs=0.01)


def test_the_correction_is_refused_where_noise_is_all() -> None:
    assert np.isnan(c.corrected(Estimate(0.5, 0.1, 0.8), 0.0).value)
    assert np.isnan(c.corrected(Estimate(0.5, 0.1, 0.8), 0.9, -0.1).value)
    assert c.corrected(Estimate(0.9, 0.1, 0.95), 0.25) == Estimate(1.8, 0.2, 1.0)


# ---- the line --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.05, 0.1])
def test_predictions_are_those_of_statsmodels(alpha: float) -> None:
    for x, y in cases():
        line, model = fitted(x, y), sm.OLS(y, sm.add_constant(x)).fit()
        if line.scatter < 1e-9:
            continue
        assert (line.intercept, line.slope) == pytest.approx(tuple(model.params), abs=1e-10)
        assert line.slope_times(0.01, alpha)[1:] == pytest.approx(tuple(0.01 * model.conf_int(alpha)[1]), abs=1e-10)
        frame = model.get_prediction(np.array([[1.0, 0.01], [1.0, 2.5]])).summary_frame(alpha)
        for row, at in enumerate((0.01, 2.5)):
            mean, one = line.mean_at(at, alpha), line.next_at(at, alpha)
            theirs = frame.iloc[row]
            assert mean == pytest.approx((theirs["mean"], theirs["mean_ci_lower"], theirs["mean_ci_upper"]), abs=1e-9)
            assert one[1:] == pytest.approx((theirs["obs_ci_lower"], theirs["obs_ci_upper"]), abs=1e-9)


def test_without_each_is_without_each() -> None:
    for x, y in cases():
        r, slope = without_each(x, y)
        for at in range(len(x)):
            left_x, left_y = np.delete(x, at), np.delete(y, at)
            assert r[at] == pytest.approx(c.pearson(left_x, left_y), abs=1e-9, nan_ok=True)
            theirs = fitted(left_x, left_y).slope if np.ptp(left_x) else np.nan
            assert slope[at] == pytest.approx(theirs, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_without_each_knows_what_does_not_vary_in_every_unit(scale: float) -> None:
    """Without the last point x does not vary, but for rounding; without any other it does."""
    x, y = scale * np.array([0.1, 0.1, 0.1, 0.1, 0.7]), np.array([1.0, 3.0, 2.0, 5.0, 4.0])
    for one, other, flat in ((x, y, True), (y, x, False)):
        r, slope = without_each(one, other)
        assert np.isnan(r).tolist() == [False] * 4 + [True]
        assert np.isnan(slope).tolist() == [False] * 4 + [flat]
        for at in range(4):
            assert r[at] == pytest.approx(c.pearson(np.delete(one, at), np.delete(other, at)), abs=1e-9)


def test_prediction_intervals_cover() -> None:
    random = np.random.default_rng(9)
    inside = 0
    for _ in range(3_000):
        x = random.normal(0, 0.02, 15)
        y = 0.1 + 20 * x + random.normal(0, 0.3, 15)
        one = fitted(x, y).next_at(0.01)
        inside += one.low <= 0.1 + 0.2 + random.normal(0, 0.3) <= one.high
    assert inside / 3_000 == pytest.approx(0.95, abs=0.012)


# ---- the choice ------------------------------------------------------------------------------------------------------


def naive_score(kind: str, x: Floats, y: Floats) -> float:
    """A criterion, written down once more."""
    if kind in SCIPY:
        return float(SCIPY[kind](x, y)[0])
    if kind == "sign":
        counted = [(a, b) for a, b in zip(x, y, strict=True) if a and b]
        return float(sum((a > 0) == (b > 0) for a, b in counted) / len(counted))
    errors = []
    for at in range(len(x)):
        model = sm.OLS(np.delete(y, at), sm.add_constant(np.delete(x, at))).fit()
        errors.append(y[at] - model.params[0] - model.params[1] * x[at])
    return -float(np.mean(np.square(errors)) / np.var(y))


@pytest.mark.parametrize("kind", CRITERIA)
def test_the_choice_is_that_of_a_naive_loop(kind: str) -> None:
    chosen = set()
    for seed in range(4):
        random = np.random.default_rng(seed)
        y = random.normal(size=12)
        table = np.stack([y + random.normal(0, noise, 12) for noise in (1.0, 1.1, 0.9)])
        table[1, 3] = 0.0
        column, agrees = nested(table, y, kind)
        chosen |= set(column.tolist())
        for at in range(12):
            scores = [naive_score(kind, np.delete(x, at), np.delete(y, at)) for x in table]
            assert CRITERIA[kind].whole(np.delete(table[0], at), np.delete(y, at)) == pytest.approx(scores[0])
            best = max(range(3), key=lambda each: scores[each])
            assert column[at] == best
            value = table[best, at] * y[at]
            assert agrees[at] == pytest.approx(np.nan if value == 0 else float(value > 0), nan_ok=True)
    assert len(chosen) > 1


@pytest.mark.parametrize("kind", QUICK)
def test_the_quick_way_is_the_plain_one(kind: str) -> None:
    criterion = CRITERIA[kind]
    for x, y in cases():
        plain = criterion._replace(quick=None).without_each(x, y)
        np.testing.assert_allclose(criterion.without_each(x, y), plain, atol=1e-9)


def test_of_equals_the_first_is_chosen() -> None:
    x, y = columns(2, 8, tied=False)
    assert nested(np.stack([x, x, -x]), y, "sign")[0].tolist() == [0] * 8
