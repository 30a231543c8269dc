"""Statistics of paired values: published fixtures, other libraries, textbook procedures and brute force."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
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

from rankgauge.stats import families, flips, paired
from rankgauge.stats.bootstrap import bootstrap_intervals
from rankgauge.stats.flips import centred, sign_flips, whole_numbers
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
        assert paired.t_interval(found) == pytest.approx((0.009462146646235209, 0.08553785335376478), abs=1e-9)

    def test_exact_sign_flip_counts_ties(self, units: Units) -> None:
        flipped = sign_flips(centred(units.sums), [(0, 1)])
        assert (flipped.number, flipped.exact) == (4096, True)
        assert flipped.p.tolist() == flipped.adjusted.tolist() == [112 / 4096]

    def test_effect_sizes(self, found: Moments, units: Units) -> None:
        d_z = paired.effect_size(found, units)
        assert d_z == pytest.approx(0.7934217493169422, abs=1e-9)
        assert d_z * paired.hedges(11) == pytest.approx(0.7378503392254341, abs=1e-9)
        (ends,) = paired.effect_interval(np.array([found.t]), 11, units.effective)
        assert ends == pytest.approx((0.12635, 1.43387), abs=5e-6)

    def test_relative_change(self, found: Moments) -> None:
        relative, ends = paired.relative_change(found)
        assert relative == pytest.approx(0.093137, abs=5e-7)
        assert ends == pytest.approx((0.019274, 0.177354), abs=5e-7)

    def test_ranks(self) -> None:
        assert paired.wilcoxon(A - B) == (9.5, 0.03515625)
        assert paired.wilcoxon(A - B, "pratt") == (12.5, 0.0361328125)
        assert paired.wins_ties_losses(A - B) == (8, 1, 3)
        assert paired.sign_test(A - B) == pytest.approx(0.2265625, abs=1e-12)

    def test_equivalence(self, found: Moments) -> None:
        assert paired.tost(found, 0.05) == pytest.approx(0.4437988221049308, abs=1e-9)

    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_bootstrap(self, units: Units, seed: int) -> None:
        made = bootstrap_intervals(units, [(0, 1)], ["bca", "studentised"], seed=seed)
        assert made["bca"][0] == pytest.approx((0.0150, 0.0800), abs=0.002)
        assert made["studentised"][0] == pytest.approx((0.0084, 0.0862), abs=0.002)


class TestPairedAgainstOthers:
    def test_t_test_and_interval(self) -> None:
        for table in tables(1, 40):
            found = moments(units_of(table), 0, 1)
            theirs = scipy.stats.ttest_rel(table[:, 0], table[:, 1])
            assert found.t == pytest.approx(theirs.statistic, rel=1e-9, abs=1e-12)
            assert paired.t_test(found) == pytest.approx(theirs.pvalue, rel=1e-9)
            assert paired.t_interval(found, 0.1) == pytest.approx(theirs.confidence_interval(0.9), abs=1e-12)
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

    def test_fieller_is_where_the_ratio_stops_being_rejected(self) -> None:
        for table in tables(3, 20):
            a, b = table.T
            relative, ends = paired.relative_change(moments(units_of(table), 0, 1))
            assert relative == pytest.approx(a.mean() / b.mean() - 1)
            for end in ends:
                p = scipy.stats.ttest_1samp(a - (1 + end) * b, 0).pvalue
                assert p == pytest.approx(0.05, abs=1e-9)
            assert ends[0] < relative < ends[1]

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
        assert sign_flips(centred(twice.sums), [(0, 1)]).p[0] == 112 / 4096

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
        assert paired.relative_change(same) == (0, (0, 0))
        assert (paired.posterior(same, 0, np.inf), paired.posterior(same, -0.1, 0.1), paired.tost(same, 0.1)) == (
            0.5,
            1,
            0,
        )
        assert sign_flips(centred(units.sums), [(0, 1)]).p[0] == 1

    def test_a_difference_that_never_varies(self) -> None:
        units = units_of(np.stack([A + 0.1, A], axis=1))
        constant = moments(units, 0, 1)
        assert (constant.error, constant.t, paired.t_test(constant)) == (0, np.inf, 0)
        assert paired.t_interval(constant) == pytest.approx((0.1, 0.1))
        assert sign_flips(centred(units.sums), [(0, 1)]).p[0] == 2 / 4096


def enumerated(table: np.ndarray[Any, Any]) -> float:
    """The sign-flip p by going through every flip, in whole hundredths so that sums are exact."""
    whole = [round(100 * float(a)) - round(100 * float(b)) for a, b in table]
    observed = abs(sum(whole))
    signs = itertools.product((1, -1), repeat=len(whole))
    counts = [abs(sum(s * d for s, d in zip(each, whole, strict=True))) >= observed for each in signs]
    return sum(counts) / len(counts)


def step_down(table: np.ndarray[Any, Any], pairs: list[tuple[int, int]], signs: np.ndarray[Any, Any]) -> list[float]:
    """Westfall and Young's step-down max-T as the textbook has it: statistics of every flip, maxima of what is left."""
    differences = np.stack([table[:, a] - table[:, b] for a, b in pairs], axis=1)
    root = np.sqrt((differences**2).sum(axis=0))
    observed = np.abs(differences.sum(axis=0)) / root
    flipped = np.abs(signs @ differences) / root
    order = np.argsort(-observed)
    result, last = np.empty(len(pairs)), 0.0
    for place, pair in enumerate(order):
        left = order[place:]
        count = (flipped[:, left].max(axis=1) >= observed[pair] - 1e-9).mean()
        last = max(last, float(count))
        result[pair] = last
    return result.tolist()


class TestSignFlips:
    @given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=10))
    def test_exact_p_is_that_of_enumeration(self, values: list[tuple[int, int]]) -> None:
        table = np.array(values) / 100
        assert sign_flips(centred(units_of(table).sums), [(0, 1)]).p[0] == pytest.approx(enumerated(table), abs=1e-12)

    def test_exact_p_is_that_of_scipy(self) -> None:
        random = np.random.default_rng(4)
        for _ in range(5):
            difference = random.standard_normal(11)
            theirs = scipy.stats.permutation_test(
                (difference,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=False
            )
            columns = np.stack([difference, np.zeros(11)], axis=1)
            assert sign_flips(centred(columns), [(0, 1)]).p[0] == pytest.approx(theirs.pvalue, abs=1e-12)

    @pytest.mark.parametrize("systems", [3, 5])
    def test_max_t_is_the_textbooks(self, systems: int) -> None:
        pairs = list(itertools.combinations(range(systems), 2))
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=10)))
        for table in itertools.islice((t[:10] for t in tables(6, 40, systems) if len(t) >= 10), 15):
            ours = sign_flips(centred(units_of(table).sums), pairs)
            assert (ours.exact, ours.number) == (True, 1024)
            assert ours.adjusted.tolist() == pytest.approx(step_down(table, pairs, signs), abs=1e-12)

    @pytest.mark.parametrize("size", [8192, 1808, 7, 1])
    def test_signs_are_the_bytes_that_the_generator_gives(self, size: int) -> None:
        ours, theirs = (np.random.Generator(np.random.PCG64(np.random.SeedSequence((3, 1)))) for _ in range(2))
        for _, rows in flips._blocks(1000):
            assert flips._sign_bytes(ours, rows, size).tobytes() == theirs.bytes(rows * size)

    def test_max_t_of_drawn_flips_is_the_textbooks_on_these_flips(self) -> None:
        random = np.random.default_rng(7)
        table = random.random((40, 9)) + 0.1 * np.arange(9)
        pairs = list(itertools.combinations(range(9), 2))
        chunks = []
        for number, size in enumerate([flips.CHUNK, flips.CHUNK, 1000]):
            drawn = np.random.Generator(np.random.PCG64(np.random.SeedSequence((3, number)))).bytes(5 * size)
            chunks.append(np.unpackbits(np.frombuffer(drawn, np.uint8).reshape(5, size), axis=0).T)
        bits = np.concatenate(chunks)
        signs = np.concatenate([np.ones((1, 40)), 2.0 * bits - 1])  # the observed one is among them: + 1
        ours = sign_flips(centred(units_of(table).sums), pairs, flips=len(bits), seed=3)
        assert ours.adjusted.tolist() == pytest.approx(step_down(table, pairs, signs), abs=1e-12)
        assert len({*ours.adjusted.tolist()}) > 5

    @pytest.mark.parametrize("systems", [2, 3, 4])
    def test_tables_and_products_count_the_same_flips(self, systems: int) -> None:
        values = np.random.default_rng(8).random((1100, systems))
        pairs = list(itertools.combinations(range(systems), 2))
        by_tables = sign_flips(centred(values), pairs, flips=9000, few=100)
        by_products = sign_flips(centred(values), pairs, flips=9000, few=0)
        assert by_tables.p.tolist() == by_products.p.tolist()
        assert by_tables.adjusted.tolist() == by_products.adjusted.tolist()

    def test_drawn_flips_come_near_the_exact_p(self) -> None:
        table = np.random.default_rng(9).random((16, 2))
        exact = sign_flips(centred(units_of(table).sums), [(0, 1)]).p[0]
        drawn = sign_flips(centred(units_of(table).sums), [(0, 1)], flips=60_000, seed=1)
        assert not drawn.exact
        assert drawn.p[0] == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 60_000))
        assert drawn.p[0] * 60_001 == pytest.approx(round(drawn.p[0] * 60_001), abs=1e-6)

    def test_p_is_never_0(self) -> None:
        columns = np.stack([np.arange(1.0, 101.0), np.zeros(100)], axis=1)
        assert sign_flips(centred(columns), [(0, 1)], flips=999).p[0] == 1 / 1000

    def test_few_non_zero_differences_are_enumerated_whatever_the_number_of_queries(self) -> None:
        columns = np.zeros((500, 2))
        columns[[3, 90, 470], 0] = 0.25
        flipped = sign_flips(centred(columns), [(0, 1)])
        assert (flipped.p[0], flipped.number, flipped.exact) == (2 / 8, 8, True)

    def test_a_pair_with_few_differences_is_exact_in_a_family_that_is_not(self) -> None:
        random = np.random.default_rng(10)
        values = random.random((60, 3))
        values[:, 1] = values[:, 0]
        values[:4, 1] -= 0.5
        flipped = sign_flips(centred(values), [(0, 1), (0, 2), (1, 2)], flips=5000)
        assert flipped.exact_pairs.tolist() == [True, False, False]
        assert flipped.p[0] == 2 / 16

    def test_the_seed_decides(self) -> None:
        values = np.random.default_rng(11).random((60, 2))
        seeds = [sign_flips(centred(values), [(0, 1)], flips=5000, seed=seed).p[0] for seed in (0, 0, 1)]
        assert seeds[0] == seeds[1] != seeds[2]

    def test_sums_stay_whole_and_small_enough(self) -> None:
        values = np.random.default_rng(12).standard_normal((100_000, 2)) * 1e-7
        whole = whole_numbers(centred(values))
        assert np.array_equal(whole, np.rint(whole))
        assert 2.0**49 < np.abs(whole).sum(axis=0).max() < 2.0**52

    def test_the_number_of_threads_changes_nothing(self) -> None:
        code = (
            "import itertools, numpy as np\nfrom rankgauge.stats.flips import centred, sign_flips\n"
            "values = np.random.default_rng(0).random((300, 20))\n"
            "found = sign_flips(centred(values), list(itertools.combinations(range(20), 2)), flips=9000)\n"
            "print(found.p.tolist(), found.adjusted.tolist())"
        )
        printed = {
            subprocess.run(
                [sys.executable, "-c", code],
                capture_output=True,
                text=True,
                check=True,
                env=os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads},
            ).stdout
            for threads in "124"
        }
        assert len(printed) == 1


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


class TestBootstrap:
    @pytest.mark.parametrize("seed", [20, 21, 22])
    def test_bca_against_scipy(self, seed: int) -> None:
        difference = np.random.default_rng(seed).exponential(1.0, 25)  # so skewed that each correction shows
        theirs = scipy.stats.bootstrap(
            (difference,), np.mean, n_resamples=40_000, method="BCa", rng=np.random.default_rng(1)
        ).confidence_interval
        table = np.stack([difference, np.zeros(25)], axis=1)
        made = bootstrap_intervals(units_of(table), [(0, 1)], ["bca"], resamples=40_000)["bca"][0]
        assert made == pytest.approx((theirs.low, theirs.high), abs=0.02 * (theirs.high - theirs.low))

    def test_studentised_by_the_book(self) -> None:
        """Resample, t of each resample, quantiles: in a plain loop."""
        random = np.random.default_rng(23)
        difference = random.gamma(2.0, 0.1, 40) - 0.15
        made = bootstrap_intervals(
            units_of(np.stack([difference, np.zeros(40)], axis=1)), [(0, 1)], ["studentised"], resamples=20_000
        )["studentised"][0]
        t = []
        for _ in range(20_000):
            drawn = random.choice(difference, 40)
            t.append((drawn.mean() - difference.mean()) / (drawn.std(ddof=1) / np.sqrt(40)))
        error = difference.std(ddof=1) / np.sqrt(40)
        ends = [difference.mean() - np.quantile(t, level) * error for level in (0.975, 0.025)]
        assert made == pytest.approx(ends, abs=0.05 * (ends[1] - ends[0]))

    def test_every_pair_has_the_interval_that_it_has_alone(self) -> None:
        units = units_of(np.random.default_rng(24).random((50, 4)))
        pairs = list(itertools.combinations(range(4), 2))
        together = bootstrap_intervals(units, pairs, ["bca", "studentised"])
        for kind in together:
            alone = [bootstrap_intervals(units, [pair], [kind])[kind][0] for pair in pairs]
            assert together[kind] == pytest.approx(np.array(alone), abs=1e-12)

    def test_too_few_queries_have_no_studentised_interval(self) -> None:
        units = units_of(np.array([[1.0, 0.5], [0.5, 0.1]]))
        assert np.isnan(bootstrap_intervals(units, [(0, 1)], ["studentised"])["studentised"]).all()

    def test_nothing_varies(self) -> None:
        units = units_of(np.stack([A + 0.1, A], axis=1))
        made = bootstrap_intervals(units, [(0, 1)], ["bca", "studentised"])
        for ends in made.values():
            assert ends[0] == pytest.approx((0.1, 0.1), abs=1e-9)


def test_a_difference_without_error_that_is_the_margin_itself_is_not_within_it() -> None:
    found = moments(units_of(np.array([[0.75, 0.5], [0.5, 0.25], [0.25, 0.0]])), 0, 1)
    assert (found.error, found.difference) == (0.0, 0.25)
    assert [paired.tost(found, margin) for margin in (0.2, 0.25, 0.3)] == [1.0, 1.0, 0.0]
