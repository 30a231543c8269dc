"""Coefficients of agreement and of order: published examples, other implementations, enumeration."""

from __future__ import annotations

from itertools import pairwise, permutations, product
from typing import Any

import krippendorff
import numpy as np
import pytest
from scipy.stats import kendalltau
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, cohens_kappa, fleiss_kappa

from rankgauge.stats.agreement import (
    LEVELS,
    WEIGHTS,
    alpha,
    bias,
    coincidences,
    confusion,
    estimated,
    exact_agreement,
    fleiss,
    fleiss_sums,
    kappa,
)
from rankgauge.stats.correlation import kendall, rbo, tau_ap

GRADED = np.array([[520, 120, 30, 5], [60, 110, 70, 20], [10, 40, 90, 60], [0, 5, 25, 75]], float)
GRADES = np.arange(4.0)
NOTHING = -1


def test_a_graded_confusion_matrix() -> None:
    kappas = {weights: round(float(kappa(GRADED, GRADES, weights)), 6) for weights in WEIGHTS}
    assert kappas == {"none": 0.452607, "linear": 0.616544, "quadratic": 0.749677}
    alphas = {level: round(float(alpha(GRADED + GRADED.T, GRADES, level)), 6) for level in LEVELS}
    assert alphas == {"nominal": 0.451371, "ordinal": 0.734536, "interval": 0.748129}
    assert round(float(bias(GRADED, GRADES)), 6) == 0.169355
    assert round(float(kappa(np.array([[45.0, 15.0], [25.0, 15.0]]), np.arange(2.0))), 6) == 0.130435


def test_krippendorffs_own_example() -> None:
    """Four judges, twelve units, some missing (his example; 1 to 5)."""
    given = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
        [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
    ]
    table = np.array(given).T - 1
    sums = coincidences(table, 5, np.zeros(12, int), 1)[0]
    found = {level: round(float(alpha(sums, np.arange(1.0, 6.0), level)), 6) for level in LEVELS}
    assert found == {"nominal": 0.743421, "ordinal": 0.815388, "interval": 0.849107}


def test_fleiss_own_example() -> None:
    """Ten subjects, fourteen raters, five categories."""
    counts = [[0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1], [7, 7, 0, 0, 0],
              [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]]  # fmt: skip
    table = np.array([np.repeat(np.arange(5), row) for row in counts])
    sums = fleiss_sums(table, 5, np.arange(10), 10).sum(axis=0)
    assert round(float(fleiss(sums)), 6) == 0.209931


def random_table(seed: int, judges: int, missing: float) -> Any:
    random = np.random.default_rng(seed)
    truth = random.integers(0, 4, 80)
    table = np.clip(truth[:, None] + random.integers(-1, 2, (80, judges)), 0, 3)
    return np.where(random.random(table.shape) < missing, NOTHING, table)


@pytest.mark.parametrize("seed", range(10))
def test_equal_to_other_implementations_on_random_input(seed: int) -> None:
    table = random_table(seed, 2, 0.0)
    matrix = confusion(table[:, 0], table[:, 1], 4, np.zeros(80, int), 1)[0]
    for weights in WEIGHTS:
        theirs = cohen_kappa_score(*table.T, labels=[0, 1, 2, 3], weights=None if weights == "none" else weights)
        assert float(kappa(matrix, GRADES, weights)) == pytest.approx(theirs, abs=1e-12)
    assert float(kappa(matrix, GRADES)) == pytest.approx(cohens_kappa(matrix).kappa, abs=1e-12)
    assert float(kappa(matrix, GRADES, "quadratic")) == pytest.approx(
        cohens_kappa(matrix, wt="quadratic").kappa, abs=1e-12
    )
    complete = random_table(seed, 5, 0.0)
    ours = float(fleiss(fleiss_sums(complete, 4, np.arange(80), 80).sum(axis=0)))
    assert ours == pytest.approx(fleiss_kappa(aggregate_raters(complete, n_cat=4)[0]), abs=1e-12)
    partial = random_table(seed, 4, 0.4)
    sums = coincidences(partial, 4, np.zeros(80, int), 1)[0]
    data = np.where(partial == NOTHING, np.nan, partial).T
    for level in LEVELS:
        theirs = krippendorff.alpha(data, level_of_measurement=level, value_domain=[0, 1, 2, 3])
        assert float(alpha(sums, GRADES, level)) == pytest.approx(theirs, abs=1e-12)


def test_weights_go_by_the_distance_of_grades_and_not_by_their_place() -> None:
    """Where nobody gave a 2, the step from 1 to 3 is still two grades."""
    first, second = np.array([0, 0, 1, 3, 3, 1, 0, 3]), np.array([0, 1, 1, 3, 1, 3, 0, 0])
    present = np.array([0.0, 1.0, 3.0])
    matrix = confusion(np.searchsorted(present, first), np.searchsorted(present, second), 3, np.zeros(8, int), 1)[0]
    right = cohen_kappa_score(first, second, labels=[0, 1, 2, 3], weights="linear")
    wrong = cohen_kappa_score(first, second, weights="linear")
    assert float(kappa(matrix, present, "linear")) == pytest.approx(right, abs=1e-12)
    assert abs(right - wrong) > 0.01


def test_what_leaves_no_room_for_chance_has_no_coefficient() -> None:
    same = np.array([[5.0, 0.0], [0.0, 0.0]])
    assert np.isnan(kappa(same, np.arange(2.0)))
    assert np.isnan(alpha(2 * same, np.arange(2.0)))
    assert float(exact_agreement(same)) == 1.0


def test_intervals_are_of_resampled_clusters() -> None:
    """Against a plain loop that draws queries with the same generator; and clusters make intervals wider."""
    random = np.random.default_rng(1)
    matrices = random.integers(0, 9, (12, 4, 4)).astype(float) + 6 * np.eye(4)

    def quadratic(sums: Any) -> Any:
        return kappa(sums, GRADES, "quadratic")

    found = estimated(matrices, quadratic, 0.1, seed=3, times=400)
    draws = np.random.Generator(np.random.PCG64(np.random.SeedSequence((3, 12)))).multinomial(12, [1 / 12] * 12, 400)
    looped = [quadratic(sum(times * matrix for times, matrix in zip(row, matrices, strict=True))) for row in draws]
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(looped, [0.05, 0.95])), abs=1e-12)
    assert found.value == float(quadratic(matrices.sum(axis=0)))
    assert np.isnan(estimated(matrices[:1], quadratic).low)


# ---- orders ----------------------------------------------------------------------------------------------------------


def test_orders_of_five_systems() -> None:
    a, b = np.array([0.5, 0.45, 0.40, 0.38, 0.2]), np.array([0.52, 0.40, 0.45, 0.38, 0.1])
    assert kendall(a, b) == pytest.approx(0.8)
    assert tau_ap(a, b) == pytest.approx(0.75)
    h, m = np.array([0.50, 0.45, 0.40, 0.38, 0.20]), np.array([0.42, 0.52, 0.47, 0.38, 0.10])
    assert tau_ap(h, m) == pytest.approx(0.50)
    assert tau_ap(m, h) == pytest.approx(0.25)
    assert rbo(a, b, 0.9) == pytest.approx(0.955)
    assert rbo(a, b, 0.9, extrapolated=False) == pytest.approx(0.36451)


def orders_of(values: Any) -> list[Any]:
    """Every order of the systems, best first, that the values allow: tied ones in any order."""
    every = permutations(range(len(values)))
    return [order for order in every if all(values[x] >= values[y] for x, y in pairwise(order))]


def plain_tau_ap(reference: Any, order: Any) -> float:
    place = {system: at for at, system in enumerate(reference)}
    right = [sum(place[x] < place[order[i]] for x in order[:i]) / i for i in range(1, len(order))]
    return 2 * sum(right) / (len(order) - 1) - 1


def plain_rbo(one: Any, other: Any, p: float) -> float:
    overlaps = [len(set(one[:d]) & set(other[:d])) / d for d in range(1, len(one) + 1)]
    return (1 - p) * sum(p**d * overlap for d, overlap in enumerate(overlaps)) + p ** len(one) * overlaps[-1]


@pytest.mark.parametrize("seed", range(8))
def test_ties_are_the_expectation_over_their_orders(seed: int) -> None:
    random = np.random.default_rng(seed)
    one, other = random.integers(0, 3, (2, 5)).astype(float)
    every = list(product(orders_of(one), orders_of(other)))
    assert tau_ap(one, other) == pytest.approx(np.mean([plain_tau_ap(a, b) for a, b in every]), abs=1e-12)
    assert rbo(one, other, 0.8) == pytest.approx(np.mean([plain_rbo(a, b, 0.8) for a, b in every]), abs=1e-12)
    theirs = kendalltau(one, other).statistic
    assert kendall(one, other) == pytest.approx(theirs, abs=1e-12, nan_ok=True)


def test_orders_of_nothing_are_none() -> None:
    assert np.isnan(kendall(np.ones(3), np.arange(3.0)))
    assert np.isnan(tau_ap(np.ones(1), np.ones(1)))
    assert np.isnan(rbo(np.zeros(0), np.zeros(0)))
