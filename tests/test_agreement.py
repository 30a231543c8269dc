"""Coefficients of agreement and of order: published examples, other implementations, enumeration."""

from __future__ import annotations

from functools import partial
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
    agreement_and_bias,
    alpha,
    bias,
    coincidences,
    confusion,
    corrected_for_chance,
    exact_agreement,
    fleiss,
    fleiss_sums,
    kappa,
)
from rankgauge.stats.correlation import kendall, rbo, tau_ap
from rankgauge.stats.inference import Queries, ratios

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


# ---- intervals -------------------------------------------------------------------------------------------------------


def judged_by_query(random: np.random.Generator, queries: int, right: float, sizes: Any = (5, 6, 7, 8, 9)) -> Any:
    """Query × grade × grade: so many pairs a query, of which the second judge has this share right."""
    result = np.zeros((queries, 4, 4))
    for query in result:
        truth = random.integers(0, 4, int(random.choice(sizes)))
        given = np.where(random.random(len(truth)) < right, truth, random.integers(0, 4, len(truth)))
        np.add.at(query, (truth, given), 1)
    return result


def enumerated(values: Any, by: Any, level: float) -> tuple[float, float]:
    """The ends by the formula: every split in two, and of each the smaller and the larger ratio of the parts."""
    number, lows, highs = len(values), [], []
    for bits in range(1 << (number - 1)):
        chosen = np.array([bits >> at & 1 for at in range(number)], bool)
        ratios = [values[part].sum() / by[part].sum() for part in (chosen, ~chosen) if part.any()]
        lows.append(min(ratios) if len(ratios) == 2 else -np.inf)
        highs.append(max(ratios) if len(ratios) == 2 else np.inf)
    k = int(level * len(lows))
    return sorted(lows)[k], sorted(highs)[-1 - k]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("weights", WEIGHTS)
def test_the_interval_of_kappa_is_that_of_its_pseudo_values_by_every_flip(seed: int, weights: str) -> None:
    """Of queries with equally many pairs h is 8, of others all pairs over those of the query."""
    sums = judged_by_query(np.random.default_rng(seed), 8, 0.8, (7,) if seed % 2 else (5, 7, 11))
    pairs = sums.sum(axis=(1, 2))
    whole = -np.log(1 - float(kappa(sums.sum(axis=0), GRADES, weights)))
    others = [-np.log(1 - float(kappa(np.delete(sums, at, axis=0).sum(axis=0), GRADES, weights))) for at in range(8)]
    h = np.full(8, 8) if seed % 2 else pairs.sum() / pairs
    values = h * whole - (h - 1) * np.array(others)
    low, high = enumerated(values / h, 1 / h, 0.05)
    found = corrected_for_chance(sums, pairs, {"": partial(kappa, grades=GRADES, weights=weights)})[""]
    assert found.value == float(kappa(sums.sum(axis=0), GRADES, weights))
    assert (found.low, found.high) == pytest.approx((1 - np.exp(-low), 1 - np.exp(-high)), abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_agreement_and_bias_are_ratios_by_every_flip(seed: int) -> None:
    sums = judged_by_query(np.random.default_rng(seed), 8, 0.6)
    pairs = sums.sum(axis=(1, 2))
    same, off = agreement_and_bias(sums, GRADES)
    agreed = np.array([np.trace(each) for each in sums])
    apart = (sums * (GRADES - GRADES[:, None])).sum(axis=(1, 2))
    assert (same.value, off.value) == pytest.approx((agreed.sum() / pairs.sum(), apart.sum() / pairs.sum()))
    assert (same.low, same.high) == pytest.approx(enumerated(agreed, pairs, 0.05), abs=1e-9)
    if np.count_nonzero(apart) >= 6:
        assert (off.low, off.high) == pytest.approx(enumerated(apart, pairs, 0.05), abs=1e-9)


def test_intervals_of_2000_random_judges_hold_the_value_and_what_is_possible() -> None:
    random, given = np.random.default_rng(3), 0
    for _ in range(2_000):
        queries = int(random.integers(1, 13))
        sizes = (2, 3, 50) if random.random() < 0.5 else (5, 6, 7, 8, 9)
        sums = judged_by_query(random, queries, float(random.uniform(0, 1.1)), sizes)
        coefficients = {weights: partial(kappa, grades=GRADES, weights=weights) for weights in WEIGHTS}
        coefficients |= {level: partial(alpha, grades=GRADES, level=level) for level in LEVELS}
        pairs, both = sums.sum(axis=(1, 2)), sums + sums.transpose(0, 2, 1)
        found = [*agreement_and_bias(sums, GRADES)]
        found += corrected_for_chance(sums, pairs, {name: coefficients[name] for name in WEIGHTS}).values()
        found += corrected_for_chance(both, pairs, {name: coefficients[name] for name in LEVELS}).values()
        for each, lowest, highest in zip(found, [0, -3, *[-np.inf] * 6], [1, 3, *[1] * 6], strict=True):
            if queries < 6:
                assert np.isnan([each.low, each.high]).all()
            elif each.low == each.low:
                given += 1
                assert lowest <= each.low <= each.value <= each.high <= highest
                assert each.low < each.high
    assert given > 6_000


def test_a_bias_excludes_0_exactly_when_its_p_is_at_most_alpha() -> None:
    random, decided = np.random.default_rng(4), 0
    for _ in range(2_000):
        sums = judged_by_query(random, int(random.integers(6, 13)), 0.9)
        if random.random() < 0.5:  # the second judge gives 1 more, to some
            sums[:, 0, 1] += random.integers(0, 3, len(sums))
        _, off = agreement_and_bias(sums, GRADES)
        apart = (sums * (GRADES - GRADES[:, None])).sum(axis=(1, 2))
        (answer,) = ratios([apart], [sums.sum(axis=(1, 2))], Queries(len(sums)))
        if off.low == off.low:
            assert (off.low > 0 or off.high < 0) == (answer.p <= 0.05)
            decided += answer.p <= 0.05
    assert decided > 100


def test_where_judges_agree_on_everything_there_is_no_interval() -> None:
    sums = np.zeros((8, 2, 2))
    sums[:, 0, 0], sums[:, 1, 1] = 3, 2
    coefficients = {"none": partial(kappa, grades=np.arange(2.0), weights="none")}
    found = corrected_for_chance(sums, sums.sum(axis=(1, 2)), coefficients)["none"]
    assert (found.value, np.isnan(found.low)) == (1.0, True)
    same, off = agreement_and_bias(sums, np.arange(2.0))
    assert (same.value, off.value) == (1.0, 0.0)
    assert np.isnan([same.low, off.low]).all()
    sums[0, 0, 1] = 1  # one query decides: without it κ would be 1
    found = corrected_for_chance(sums, sums.sum(axis=(1, 2)), coefficients)["none"]
    assert 0.8 < found.value < 1
    assert np.isnan([found.low, found.high]).all()


def test_two_queries_that_decide_alone_leave_no_interval() -> None:
    """Of 106 pairs 99 are of two queries, and the correction for bias would leave κ itself outside."""
    counts = [[1, 0, 0, 1], [3, 0, 0, 0], [2, 0, 0, 0], [17, 5, 4, 24], [41, 5, 0, 4], [1, 0, 0, 1]]
    sums = np.array(counts, float).reshape(6, 2, 2)
    found = corrected_for_chance(sums, sums.sum(axis=(1, 2)), {"": partial(kappa, grades=np.arange(2.0))})[""]
    assert found.value == pytest.approx(0.71455, abs=1e-5)
    assert np.isnan([found.low, found.high]).all()


def test_queries_of_which_nothing_counts_are_no_units() -> None:
    """Fleiss' κ is of the pairs that all judges judged."""
    table = random_table(1, 3, 0.0)
    queries = np.repeat(np.arange(10), 8)
    sums = fleiss_sums(table, 4, queries, 10)
    wider = np.concatenate([sums, np.zeros((5, sums.shape[1]))])
    found = corrected_for_chance(wider, wider[:, 0], {"": fleiss})
    assert found == corrected_for_chance(sums, sums[:, 0], {"": fleiss})
    assert found[""].low < found[""].value < found[""].high


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
