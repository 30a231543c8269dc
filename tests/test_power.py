"""Power: published tables, statsmodels, pingouin, and the definitions carried out by other means."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rankgauge.errors import InputError
from rankgauge.stats.power import (
    _t_below_far_out,
    comparisons,
    detectable,
    detectable_range,
    interval_width,
    power_of,
    power_of_range,
    queries_for_range,
    queries_for_width,
    queries_needed,
)

DEVIATIONS = st.floats(0.02, 0.5)
QUERIES = st.integers(3, 3000)
ALPHAS = st.sampled_from([0.05, 0.01, 0.1, 0.05 / 45])
POWERS = st.sampled_from([0.8, 0.9, 0.5])


@pytest.fixture(scope="module")
def power_module() -> Any:
    return pytest.importorskip("statsmodels.stats.power")


@pytest.mark.parametrize(
    ("deviation", "differences"),
    [
        (0.1, [0.0584, 0.0404, 0.0283, 0.0199, 0.0126, 0.0089, 0.0040, 0.0028]),
        (0.2, [0.1168, 0.0808, 0.0566, 0.0398, 0.0251, 0.0177, 0.0079, 0.0056]),
        (0.3, [0.1752, 0.1213, 0.0849, 0.0597, 0.0377, 0.0266, 0.0119, 0.0084]),
    ],
)
def test_what_can_be_detected(deviation: float, differences: list[float]) -> None:
    numbers = (25, 50, 100, 200, 500, 1000, 5000, 10000)
    assert [round(detectable(deviation, queries), 4) for queries in numbers] == differences


@pytest.mark.parametrize(
    ("deviation", "needed"),
    [(0.10, [2475, 620, 156]), (0.15, [5566, 1393, 350]), (0.20, [9894, 2475, 620])],
)
def test_what_a_gate_needs(deviation: float, needed: list[int]) -> None:
    assert [queries_needed(deviation, 0, margin=margin) for margin in (0.005, 0.01, 0.02)] == needed


def test_the_worked_pair() -> None:
    effect = 0.7934217493169422
    assert power_of(1, effect, 12) == pytest.approx(0.7066074378361373, abs=1e-12)
    assert queries_needed(1, effect) == 15  # 14.505, rounded up


@given(DEVIATIONS, QUERIES, ALPHAS, st.sampled_from([1, 2]), st.floats(0.0, 6.0))
def test_power_is_that_of_statsmodels(
    power_module: Any, deviation: float, queries: int, alpha: float, sides: int, errors: float
) -> None:
    effect = errors / math.sqrt(queries)
    kind = "two-sided" if sides == 2 else "larger"
    expected = power_module.TTestPower().power(effect, queries, alpha, alternative=kind)
    found = power_of(deviation, effect * deviation, queries, alpha=alpha, sides=sides)
    if not np.isnan(expected):  # where a tail underflows, statsmodels has no answer
        assert found == pytest.approx(expected, abs=1e-9)


@given(DEVIATIONS, QUERIES, ALPHAS, POWERS, st.sampled_from([1, 2]))
def test_the_detectable_difference_has_the_power(
    power_module: Any, deviation: float, queries: int, alpha: float, power: float, sides: int
) -> None:
    found = detectable(deviation, queries, alpha=alpha, power=power, sides=sides)
    kind = "two-sided" if sides == 2 else "larger"
    assert power_of(deviation, found, queries, alpha=alpha, sides=sides) == pytest.approx(power, abs=1e-9)
    reached = power_module.TTestPower().power(found / deviation, queries, alpha, alternative=kind)
    if not np.isnan(reached):  # where a tail underflows, statsmodels has no answer
        assert reached == pytest.approx(power, abs=1e-9)


@given(st.floats(0.03, 2.0), ALPHAS, POWERS, st.sampled_from([1, 2]))
def test_one_query_fewer_is_not_enough(effect: float, alpha: float, power: float, sides: int) -> None:
    needed = queries_needed(1.0, effect, alpha=alpha, power=power, sides=sides)
    assert power_of(1.0, effect, needed, alpha=alpha, sides=sides) >= power
    assert power_of(1.0, effect, needed - 1, alpha=alpha, sides=sides) < power


def test_pingouin_needs_as_many() -> None:
    pingouin = pytest.importorskip("pingouin")
    for effect in (0.1, 0.25, 0.6, 1.5):
        exact = pingouin.power_ttest(d=effect, power=0.8, alpha=0.05, contrast="paired")
        assert queries_needed(0.2, 0.2 * effect) == math.ceil(exact)
        one_sided = pingouin.power_ttest(d=effect, power=0.8, alpha=0.05, contrast="paired", alternative="greater")
        assert queries_needed(0.2, 0, margin=0.2 * effect) == math.ceil(one_sided)


def test_power_by_simulation() -> None:
    rng = np.random.default_rng(0)
    values = rng.normal(0.08, 0.2, (200_000, 30))
    t = values.mean(1) / values.std(1, ddof=1) * math.sqrt(30)
    assert np.mean(np.abs(t) > 2.045229642132703) == pytest.approx(power_of(0.2, 0.08, 30), abs=0.004)


# ---- many systems ---------------------------------------------------------------------------------------------------


def test_pairs_are_counted() -> None:
    assert [comparisons(m) for m in (2, 3, 50)] == [1, 3, 1225]
    assert [comparisons(m, baseline=True) for m in (2, 3, 50)] == [1, 2, 49]


@given(DEVIATIONS, st.integers(2, 500), st.floats(0.0, 6.0), ALPHAS)
@example(0.5, 2, 1e-86, 0.05)
@example(0.5, 2, 1e-9, 0.05)
def test_two_systems_are_the_paired_t_test(deviation: float, queries: int, errors: float, alpha: float) -> None:
    difference = errors * deviation / math.sqrt(queries)
    two = power_of_range(deviation, difference, queries, 2, alpha=alpha)
    assert two == pytest.approx(power_of(deviation, difference, queries, alpha=alpha), abs=1e-8)


@pytest.mark.parametrize("systems", [2, 3, 8, 20])
@pytest.mark.parametrize("queries", [5, 40, 300])
def test_the_range_is_that_of_pingouin(systems: int, queries: int) -> None:
    pingouin = pytest.importorskip("pingouin")
    deviation, difference = 0.2, 0.4 / math.sqrt(queries)
    # Two systems at ± half the range, the others midway; the variance within is half that of a difference.
    f2 = (2 * (difference / 2) ** 2 / systems) / (deviation**2 / 2)
    expected = pingouin.power_rm_anova(
        eta_squared=f2 / (1 + f2), m=systems, n=queries, alpha=0.05, corr=0.0, epsilon=1.0
    )
    assert power_of_range(deviation, difference, queries, systems) == pytest.approx(expected, abs=1e-9)


def test_the_noncentral_f_is_that_of_statsmodels(power_module: Any) -> None:
    # A one-way design has more degrees of freedom within; at two systems and many queries they hardly matter.
    one_way = power_module.FTestAnovaPower().power(0.005, 2 * 40_000, 0.05, k_groups=2)
    assert power_of_range(math.sqrt(2), 2 * 0.005, 40_000, 2) == pytest.approx(one_way, abs=1e-5)


@pytest.mark.parametrize("systems", [2, 5, 50])
def test_ranges_there_and_back(systems: int) -> None:
    needed = queries_for_range(0.2, 0.05, systems)
    assert detectable_range(0.2, needed, systems) <= 0.05 < detectable_range(0.2, needed - 1, systems)


# ---- intervals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("queries", [2, 3, 12, 50, 1000])
def test_the_width_is_the_expected_one(queries: int) -> None:
    from scipy import integrate, stats

    freedom = queries - 1
    deviation = integrate.quad(lambda x: x * stats.chi.pdf(x, freedom), 0, 20 + 2 * math.sqrt(freedom), limit=400)[0]
    width = 2 * stats.t.ppf(0.975, freedom) * 0.2 * deviation / math.sqrt(freedom) / math.sqrt(queries)
    assert interval_width(0.2, queries) == pytest.approx(width, rel=1e-7)


def test_the_width_there_and_back() -> None:
    needed = queries_for_width(0.2, 0.05)
    assert interval_width(0.2, needed) <= 0.05 < interval_width(0.2, needed - 1)
    assert interval_width(1.0, 10**9) == pytest.approx(2 * 1.959963984540054 / math.sqrt(10**9), rel=1e-6)


# ---- edges ----------------------------------------------------------------------------------------------------------


def test_one_query_shows_nothing() -> None:
    assert detectable(0.2, 1) == detectable_range(0.2, 1, 3) == interval_width(0.2, 1) == math.inf
    assert power_of(0.2, 0.5, 1) == power_of_range(0.2, 0.5, 1, 3) == 0.0


def test_without_deviation_two_queries_do() -> None:
    assert (queries_needed(0.0, 0.1), detectable(0.0, 10), interval_width(0.0, 10)) == (2, 0.0, 0.0)
    assert (power_of(0.0, 0.1, 5), power_of(0.0, 0.0, 5), power_of(0.0, -0.1, 5, sides=1)) == (1.0, 0.0, 0.0)


def test_a_huge_effect_is_found() -> None:
    assert power_of(0.001, 1.0, 1000) == power_of_range(0.001, 1.0, 1000, 50) == 1.0
    assert queries_needed(0.001, 1.0) == 2


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: queries_needed(0.2, 0.0), "difference of 0"),
        (lambda: queries_needed(0.2, -0.02, margin=0.01), "within a margin"),
        (lambda: queries_needed(0.2, 0.0, margin=0.0), "more than 0"),
        (lambda: queries_needed(0.2, math.nan), "finite"),
        (lambda: queries_needed(0.2, 1e-9), "queries would be needed"),
        (lambda: detectable(-1.0, 10), "standard deviation"),
        (lambda: detectable(math.nan, 10), "standard deviation"),
        (lambda: detectable(0.1, 10, power=1.0), "power"),
        (lambda: detectable(0.1, 10, power=0.01), "power"),
        (lambda: detectable(0.1, 10, alpha=0.0), "alpha"),
        (lambda: detectable(0.1, 10, sides=3), "side"),
        (lambda: queries_for_width(0.1, 0.0), "width"),
        (lambda: comparisons(1), "two"),
    ],
)
def test_what_makes_no_sense_is_refused(call: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        call()


@pytest.mark.parametrize("alpha", [1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("sides", [1, 2])
def test_two_queries_at_a_strict_level(alpha: float, sides: int) -> None:
    """Far out, two queries find a difference where |z| is below noncentrality / critical value, z the normal of s."""
    from scipy import stats

    critical = stats.t.isf(alpha / sides, 1)
    expected = 0.2 * critical * stats.norm.isf(0.1) / math.sqrt(2)
    assert detectable(0.2, 2, alpha=alpha, sides=sides) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("freedom", [1, 2, 3, 9])
@pytest.mark.parametrize("noncentrality", [12.0, 40.0, 300.0])
@pytest.mark.parametrize("ratio", [0.3, 0.9, 1.1, 3.0])
def test_the_integral_is_the_noncentral_t(freedom: int, noncentrality: float, ratio: float) -> None:
    from scipy import special

    t = noncentrality * ratio
    exact = special.nctdtr(freedom, noncentrality, t)
    assert _t_below_far_out(freedom, noncentrality, t) == pytest.approx(exact, abs=1e-9)
