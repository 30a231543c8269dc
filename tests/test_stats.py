"""Statistics of paired values: published fixtures, other libraries, textbook procedures and brute force."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pingouin
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.formula.api import ols
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import ttost_paired

from rankgauge.stats import families, paired
from rankgauge.stats.paired import Moments, Units, moments, units_of

A = np.array([0.60, 0.42, 0.88, 0.13, 0.75, 0.51, 0.97, 0.33, 0.64, 0.20, 0.71, 0.55])
B = np.array([0.52, 0.45, 0.80, 0.10, 0.75, 0.40, 0.95, 0.36, 0.50, 0.22, 0.60, 0.47])
P = np.array([0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216])
TWO_WAY = np.array(
    [
        [0.42, 0.53, 0.64, 0.67], [0.68, 0.76, 0.52, 0.45], [0.65, 0.83, 0.34, 0.68], [0.84, 0.46, 0.72, 0.56],
        [0.29, 0.40, 0.61, 0.68], [0.69, 0.32, 0.69, 0.54], [0.65, 0.63, 0.19, 0.84], [0.47, 0.88, 0.40, 0.97],
        [0.32, 0.16, 0.72, 0.31], [0.22, 0.83, 0.46, 0.76], [0.67, 0.68, 0.45, 0.25], [0.28, 0.34, 0.81, 0.95],
    ]
)  # fmt: skip


@pytest.fixture
def units() -> Units:
    return units_of(np.stack([A, B], axis=1))


@pytest.fixture
def found(units: Units) -> Moments:
    return moments(units, 0, 1)


def tables(seed: int, number: int, systems: int = 2) -> Iterator[np.ndarray[Any, Any]]:
    """Random values that look like nDCG: in 0 to 1, some 0, some 1, some equal in both systems."""
    random = np.random.default_rng(seed)
    for _ in range(number):
        queries = int(random.integers(5, 80))
        base = random.random((queries, 1))
        values = np.clip(base + 0.2 * random.standard_normal((queries, systems)), 0, 1)
        values[random.random(queries) < 0.1] = 0.5
        yield np.round(values, 2) if random.random() < 0.5 else values


class TestThePublishedFixture:
    """The numbers of the paired fixture with twelve queries."""

    def test_difference_and_t(self, found: Moments, units: Units) -> None:
        assert found.difference == pytest.approx(0.0475, abs=1e-12)
        assert found.error * np.sqrt(12) == pytest.approx(0.059867277448460175, abs=1e-12)
        assert found.t == pytest.approx(2.748493563294242, abs=1e-9)
        assert paired.t_test(found) == pytest.approx(0.018941606751471555, abs=1e-9)

    def test_effect_sizes(self, found: Moments, units: Units) -> None:
        d_z = paired.effect_size(found, units)
        assert d_z == pytest.approx(0.7934217493169422, abs=1e-9)
        assert d_z * paired.hedges(11) == pytest.approx(0.7378503392254341, abs=1e-9)
        (ends,) = paired.effect_interval(np.array([found.t]), 11, units.effective)
        assert ends == pytest.approx((0.12635, 1.43387), abs=5e-6)

    def test_ranks(self) -> None:
        assert paired.wilcoxon(A - B) == (9.5, 0.03515625)
        assert paired.wilcoxon(A - B, "pratt") == (12.5, 0.0361328125)
        assert paired.wins_ties_losses(A - B) == (8, 1, 3)
        assert paired.sign_test(A - B) == pytest.approx(0.2265625, abs=1e-12)

    def test_equivalence(self, found: Moments) -> None:
        assert paired.tost(found, 0.05) == pytest.approx(0.4437988221049308, abs=1e-9)


class TestPairedAgainstOthers:
    def test_t_test(self) -> None:
        for table in tables(1, 40):
            found = moments(units_of(table), 0, 1)
            theirs = scipy.stats.ttest_rel(table[:, 0], table[:, 1])
            assert found.t == pytest.approx(theirs.statistic, rel=1e-9, abs=1e-12)
            assert paired.t_test(found) == pytest.approx(theirs.pvalue, rel=1e-9)
            assert found.skewness == pytest.approx(scipy.stats.skew(table[:, 0] - table[:, 1]), abs=1e-9)

    def test_effect_size_and_tost(self) -> None:
        for table in tables(2, 20):
            a, b = table.T
            units = units_of(table)
            found = moments(units, 0, 1)
            d_z = np.mean(a - b) / np.std(a - b, ddof=1)
            assert paired.effect_size(found, units) == pytest.approx(d_z, abs=1e-9)
            assert paired.tost(found, 0.03) == pytest.approx(ttost_paired(a, b, -0.03, 0.03)[0], abs=1e-9)
            theirs = pingouin.tost(a, b, bound=0.03, paired=True)["pval"].iloc[0]
            assert paired.tost(found, 0.03) == pytest.approx(theirs, abs=1e-9)

    def test_effect_interval_is_where_t_is_at_the_edge(self) -> None:
        for t, queries in itertools.product([-8.0, -1.3, 0.0, 0.4, 2.7, 12.0], [3, 12, 50, 1000]):
            (ends,) = paired.effect_interval(np.array([t]), queries - 1, queries)
            for end, level in zip(ends * np.sqrt(queries), (0.975, 0.025), strict=True):
                assert scipy.stats.nct.cdf(t, queries - 1, end) == pytest.approx(level, abs=2e-7)

    def test_hedges_factor_is_near_its_well_known_approximation(self) -> None:
        for freedom in (5, 11, 49, 999):
            assert paired.hedges(freedom) == pytest.approx(1 - 3 / (4 * freedom - 1), abs=0.05 / freedom**2)

    def test_the_posterior_is_a_t_distribution(self, found: Moments) -> None:
        t = scipy.stats.t(11, found.difference, found.error)
        assert paired.posterior(found, 0, np.inf) == pytest.approx(t.sf(0), abs=1e-12)
        assert paired.posterior(found, 0, np.inf) == pytest.approx(1 - paired.t_test(found) / 2, abs=1e-12)
        assert paired.posterior(found, -0.03, 0.03) == pytest.approx(t.cdf(0.03) - t.cdf(-0.03), abs=1e-12)

    @pytest.mark.parametrize("scale", [1e-9, 1.0, 1e6])
    def test_ties_do_not_depend_on_the_units(self, scale: float) -> None:
        difference, largest = scale * (A - B), scale * float(A.max())
        assert paired.wins_ties_losses(difference, largest) == (8, 1, 3)
        assert paired.wilcoxon(difference, largest=largest) == (9.5, 0.03515625)


class TestUnits:
    def test_whole_weights_are_repetitions_in_the_mean(self) -> None:
        weights = np.array([1.0, 2, 1, 3, 1, 1, 2, 1, 1, 1, 4, 1])
        weighted = moments(units_of(np.stack([A, B], axis=1), weights), 0, 1)
        assert weighted.difference == pytest.approx(np.average(A - B, weights=weights))

    def test_equal_weights_are_none(self, found: Moments) -> None:
        assert moments(units_of(np.stack([A, B], axis=1), np.full(12, 7.0)), 0, 1) == pytest.approx(found)

    def test_a_cluster_that_says_everything_twice_counts_once(self, found: Moments, units: Units) -> None:
        table = np.repeat(np.stack([A, B], axis=1), 2, axis=0)
        twice = units_of(table, clusters=np.repeat(np.arange(12), 2))
        assert moments(twice, 0, 1) == pytest.approx(found)
        assert twice.effective == pytest.approx(units.effective)

    def test_the_clustered_error_is_that_of_the_sandwich(self) -> None:
        """Ordinary least squares on a constant, with errors clustered and statsmodels' small-sample factor."""
        import statsmodels.api as sm

        random = np.random.default_rng(5)
        clusters = random.integers(0, 15, 60)
        _, clusters = np.unique(clusters, return_inverse=True)
        difference = 0.1 * random.standard_normal(15)[clusters] + 0.05 * random.standard_normal(60)
        table = np.stack([difference, np.zeros(60)], axis=1)
        ours = moments(units_of(table, clusters=clusters), 0, 1)
        fitted = sm.OLS(difference, np.ones(60)).fit(cov_type="cluster", cov_kwds={"groups": clusters})
        assert ours.difference == pytest.approx(fitted.params[0])
        assert ours.error == pytest.approx(fitted.bse[0], rel=1e-9)

    def test_nothing_differs(self) -> None:
        units = units_of(np.stack([A, A], axis=1))
        same = moments(units, 0, 1)
        assert (same.difference, same.error, same.t) == (0, 0, 0)
        assert (paired.t_test(same), paired.effect_size(same, units)) == (1, 0)
        assert (paired.posterior(same, 0, np.inf), paired.posterior(same, -0.1, 0.1), paired.tost(same, 0.1)) == (
            0.5,
            1,
            0,
        )

    def test_a_difference_that_never_varies(self) -> None:
        units = units_of(np.stack([A + 0.1, A], axis=1))
        constant = moments(units, 0, 1)
        assert (constant.error, constant.t, paired.t_test(constant)) == (0, np.inf, 0)


class TestFamilies:
    def test_the_published_fixture(self) -> None:
        assert families.holm(P) == pytest.approx([0.01, 0.072, *[0.312] * 5, *[0.615] * 3], abs=1e-9)
        hochberg = [0.01, 0.04, *[0.084] * 3, 0.1, 0.105714, *[0.216] * 3]
        assert families.benjamini_hochberg(P) == pytest.approx(hochberg, abs=5e-7)
        yekutieli = [0.02929, 0.117159, *[0.246033] * 3, 0.292897, 0.309634, *[0.632657] * 3]
        assert families.benjamini_yekutieli(P) == pytest.approx(yekutieli, abs=5e-7)

    @pytest.mark.parametrize(
        ("ours", "theirs"),
        [
            (families.holm, "holm"),
            (families.benjamini_hochberg, "fdr_bh"),
            (families.benjamini_yekutieli, "fdr_by"),
        ],
    )
    def test_against_statsmodels(self, ours: Any, theirs: str) -> None:
        random = np.random.default_rng(13)
        for number in (1, 2, 7, 100):
            p = random.random(number) ** 2
            assert ours(p) == pytest.approx(multipletests(p, method=theirs)[1], abs=1e-12)

    def test_tukey_takes_the_queries_out_first(self) -> None:
        assert families.residual_square(TWO_WAY) == pytest.approx(0.05302329545, abs=1e-10)
        p = families.tukey(TWO_WAY, [(0, 3), (0, 1)])
        assert p == pytest.approx([0.562068, 0.941066], abs=5e-7)
        one_way = scipy.stats.tukey_hsd(*TWO_WAY.T).pvalue[0, 3]
        assert one_way == pytest.approx(0.500812, abs=5e-7)  # what ignoring the queries would give

    def test_the_error_of_tukey_is_that_of_a_linear_model(self) -> None:
        import pandas as pd

        frame = pd.DataFrame(
            [(q, s, TWO_WAY[q, s]) for q, s in np.ndindex(*TWO_WAY.shape)], columns=["query", "system", "value"]
        )
        fitted = ols("value ~ C(query) + C(system)", frame).fit()
        assert families.residual_square(TWO_WAY) == pytest.approx(fitted.mse_resid, abs=1e-12)

    def test_randomised_tukey_against_full_enumeration(self) -> None:
        table = TWO_WAY[:4, :3]
        orders = list(itertools.permutations(range(3)))
        ranges = []
        for picks in itertools.product(orders, repeat=4):
            sums = np.array([table[q, list(order)] for q, order in enumerate(picks)]).sum(axis=0)
            ranges.append(sums.max() - sums.min())
        pairs = [(0, 1), (0, 2), (1, 2)]
        ours = families.randomised_tukey(table, pairs, permutations=20_000)
        totals = table.sum(axis=0)
        for p, (a, b) in zip(ours, pairs, strict=True):
            expected = (np.array(ranges) >= abs(totals[a] - totals[b]) - 1e-9).mean()
            assert p == pytest.approx(expected, abs=4 * np.sqrt(0.25 / 20_000))


class TestRanks:
    def test_wilcoxon_without_ties_is_scipys(self) -> None:
        random = np.random.default_rng(14)
        for number in (5, 12, 30, 50):
            difference = random.standard_normal(number)
            theirs = scipy.stats.wilcoxon(difference, method="exact")
            assert paired.wilcoxon(difference) == pytest.approx((theirs.statistic, theirs.pvalue), abs=1e-9)

    def test_many_differences_are_scipys_normal_approximation(self) -> None:
        random = np.random.default_rng(15)
        for zeros in ("wilcox", "pratt"):
            difference = np.round(random.standard_normal(200), 1)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = scipy.stats.wilcoxon(difference, zero_method=zeros, method="asymptotic", correction=False)
            statistic, p = paired.wilcoxon(difference, zeros)
            assert statistic == theirs.statistic
            assert p == pytest.approx(theirs.pvalue, abs=1e-9)

    @given(st.lists(st.integers(-4, 4), min_size=1, max_size=9))
    def test_with_ties_the_distribution_is_counted_out(self, values: list[int]) -> None:
        difference = np.array(values) / 10
        used = [value for value in values if value]
        by_hand = 1.0
        if used:
            ranked = scipy.stats.rankdata(np.abs(used))
            sums = [sum(r for r, s in zip(ranked, signs, strict=True) if s) for signs in
                    itertools.product((0, 1), repeat=len(used))]  # fmt: skip
            middle = sum(ranked) / 2
            observed = abs(sum(r for r, v in zip(ranked, used, strict=True) if v > 0) - middle)
            by_hand = float(np.mean([abs(s - middle) >= observed - 1e-9 for s in sums]))
        assert paired.wilcoxon(difference)[1] == pytest.approx(by_hand, abs=1e-9)

    def test_sign_test_is_the_binomial_one(self) -> None:
        for table in tables(16, 30):
            difference = np.round(table[:, 0] - table[:, 1], 10)
            wins, losses = int((difference > 0).sum()), int((difference < 0).sum())
            assert paired.sign_test(difference) == pytest.approx(scipy.stats.binomtest(wins, wins + losses).pvalue)


def test_a_difference_without_error_that_is_the_margin_itself_is_not_within_it() -> None:
    found = moments(units_of(np.array([[0.75, 0.5], [0.5, 0.25], [0.25, 0.0]])), 0, 1)
    assert (found.error, found.difference) == (0.0, 0.25)
    assert [paired.tost(found, margin) for margin in (0.2, 0.25, 0.3)] == [1.0, 1.0, 0.0]
