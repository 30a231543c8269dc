"""The inference layer against its definition: every sign by brute force, other tools, and random comparisons."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from rankgauge.sampling.draw import pareto, proportional
from rankgauge.stats import flips as flipping
from rankgauge.stats.flips import Question, invert, largest_flipped, whole_numbers
from rankgauge.stats.inference import (
    POPULATIONS,
    Answer,
    Interval,
    Queries,
    adjusted,
    differences,
    mean_interval,
    ratios,
)  # fmt: skip

Floats = np.ndarray[Any, Any]
Random = np.random.Generator

A = np.array([0.60, 0.42, 0.88, 0.13, 0.75, 0.51, 0.97, 0.33, 0.64, 0.20, 0.71, 0.55])
B = np.array([0.52, 0.45, 0.80, 0.10, 0.75, 0.40, 0.95, 0.36, 0.50, 0.22, 0.60, 0.47])
WIN = np.append(np.full(29, -0.03), 0.27)  # one query gains much, the others lose a little


def every_sign(units: int) -> Floats:
    return np.array(list(itertools.product((1.0, -1.0), repeat=units)))


def by_definition(z: Floats, w: Floats, mean: float) -> float:
    """The share of signs under which |Σ ±(z − w·mean)| is at least the observed one; rounding is no difference."""
    apart = z - w * mean
    return float((np.abs(every_sign(len(z)) @ apart) >= abs(apart.sum()) - 1e-9 * np.abs(apart).sum()).mean())


def plain_p(difference: Floats, **options: Any) -> float:
    return differences([difference], Queries(len(difference)), **options)[0].p


def of_one(difference: Floats, **options: Any) -> Answer:
    return differences([difference], Queries(len(difference)), **options)[0]


def facts(found: Answer) -> str:
    """All that an answer holds, to be compared to the last bit."""
    return repr(found)


def some_weights(random: Random, units: int) -> Floats:
    return np.full(units, 1 / units) if random.random() < 0.3 else random.dirichlet(np.full(units, 0.7)) + 1e-3


class TestTheDefinition:
    def test_p_is_the_share_of_signs_at_every_mean(self) -> None:
        random = np.random.default_rng(1)
        for _ in range(1000):
            units = int(random.integers(1, 9))
            w, z = some_weights(random, units), random.normal(size=units)
            z = w * (np.round(4 * z) / 4 if random.random() < 0.5 else z)
            means = [0.0, *random.normal(z.sum() / w.sum(), 0.6, 3).tolist()]
            found = invert([Question(z, w, mean) for mean in means])
            assert [each.p for each in found] == [by_definition(z, w, mean) for mean in means]

    @pytest.mark.parametrize("alpha", [0.05, 0.1, 0.25])
    def test_the_interval_is_all_means_whose_p_is_above_alpha(self, alpha: float) -> None:
        random, finite = np.random.default_rng(2), 0
        for _ in range(300):
            units = int(random.integers(3, 9))
            w = some_weights(random, units)
            z = w * random.normal(0.3, 1.0, units)
            (found,) = invert([Question(z, w)], alpha=alpha)
            for end, outward in ((found.low, -1), (found.high, 1)):
                if np.isfinite(end):
                    assert by_definition(z, w, end - outward * 1e-6) > alpha
                    assert by_definition(z, w, end + outward * 1e-6) <= alpha
                    finite += 1
                else:
                    assert by_definition(z, w, outward * 1e9) > alpha
        assert finite > 100

    def test_a_ratio_is_tested_as_what_is_above_less_what_is_below(self) -> None:
        random = np.random.default_rng(3)
        for _ in range(200):
            below = random.integers(0, 4, 7) / 4
            above = random.integers(0, 4, 7) / 4
            mean = float(random.normal(1.0, 0.5))
            (found,) = invert([Question(above, below, mean)])
            assert found.p == by_definition(above, below, mean)

    def test_no_weight_below_a_ratio_leaves_an_end_open(self) -> None:
        below = np.array([1.0, 0, 0, 0, 0, 0, 0, 0])
        (found,) = invert([Question(np.full(8, 0.5), below)])
        assert (found.low, found.high) == (1.0, np.inf)

    def test_p_is_that_of_scipy(self) -> None:
        random = np.random.default_rng(4)
        for _ in range(20):
            difference = random.standard_normal(9)
            theirs = scipy.stats.permutation_test(
                (difference,), np.mean, permutation_type="samples", n_resamples=np.inf, vectorized=False
            )
            assert plain_p(difference) == pytest.approx(theirs.pvalue, abs=1e-12)

    def test_p_of_pairs_is_that_of_enumeration(self) -> None:
        random = np.random.default_rng(5)
        for _ in range(300):
            whole = random.integers(-6, 7, int(random.integers(6, 13)))
            sums = every_sign(len(whole)) @ whole
            expected = float((np.abs(sums) >= abs(whole.sum())).mean())
            found = of_one(whole / 100)
            few = np.count_nonzero(whole) < 6
            assert found.p >= expected if few and expected <= 0.05 else found.p == expected

    def test_p_of_few_changes_among_many_queries_is_exact(self) -> None:
        random = np.random.default_rng(6)
        for _ in range(50):
            changed = int(random.integers(6, 12))
            difference = np.zeros(80)
            difference[random.choice(80, changed, replace=False)] = random.integers(-9, 10, changed) / 20 + 1e-3
            moved = difference[difference != 0]
            assert plain_p(difference, flips=5000) == by_definition(moved, np.ones(len(moved)), 0.0)

    def test_few_changes_are_exact_among_others_that_are_not(self) -> None:
        random = np.random.default_rng(10)
        few, many = np.zeros(500), random.normal(size=500)
        few[[3, 90, 470]] = 0.25
        found = differences([few, many], Queries(500), flips=5000)
        assert [(each.exact, each.flips) for each in found] == [(True, 4), (False, 5000)]
        assert found[0].p == 2 / 8

    def test_drawn_flips_come_near_the_exact_p(self) -> None:
        difference = np.random.default_rng(9).normal(0.2, 0.5, 16)
        exact, drawn = plain_p(difference), plain_p(difference, flips=30_000, seed=1)
        assert drawn == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 30_000))
        assert drawn * 30_001 == pytest.approx(round(drawn * 30_001), abs=1e-6)  # the identity is one of them
        assert len({plain_p(difference, flips=5000, seed=seed) for seed in (0, 0, 1)}) == 2

    def test_p_is_never_0(self) -> None:
        assert plain_p(np.arange(1.0, 101.0), flips=999) == 1 / 1000

    def test_sums_stay_whole_and_small_enough(self) -> None:
        whole, step = whole_numbers(np.random.default_rng(12).standard_normal(100_000) * 1e-7)
        assert np.array_equal(whole, np.rint(whole))
        assert 2.0**46 <= np.abs(whole).sum() <= 2.0**49
        assert np.log2(step) == round(np.log2(step))


class TestWhatIsSaid:
    """Numbers and words of single cases."""

    def test_the_published_pair(self) -> None:
        found = of_one(A - B)
        assert found.value == pytest.approx(0.0475, abs=1e-12)
        assert found.p == 112 / 4096
        assert found.interval == pytest.approx((0.0075, 0.087), abs=0.003)  # t: 0.0095 to 0.0855

    def test_one_large_gain_is_no_reason_to_contradict(self) -> None:
        found = of_one(WIN)
        assert found.value == pytest.approx(-0.02)
        assert found.p == pytest.approx(0.0301, abs=0.003)
        assert found.interval == pytest.approx((-0.03, -0.0027), abs=0.0002)

    def test_nothing_changed(self) -> None:
        found = of_one(np.zeros(30))
        assert (found.value, found.interval, found.p, found.changed) == (0, None, 1, 0)
        assert found.nothing_changed
        assert not found.differs(0.05)
        assert found.unseen == pytest.approx(0.1, abs=2e-4)

    def test_changes_that_cancel_are_changes(self) -> None:
        """Of queries that are in every sample, or within each cluster: nothing is left to test, but values changed."""
        change = np.where(np.arange(30) < 2, 0.1 - 0.2 * np.arange(30), 0.0)
        known = Queries(30, np.ones(30), inclusion=np.where(np.arange(30) < 10, 1.0, 0.2), population="log")
        for queries in (known, Queries(30, clusters=np.arange(30) // 2)):
            (found,) = differences([change], queries)
            assert (found.value, found.p, found.nothing_changed) == (0, 1, False)
            assert found.interval is not None
            assert found.interval[0] < 0 < found.interval[1]

    def test_fewer_than_six_queries_have_no_interval(self) -> None:
        for units in range(1, 6):
            found = of_one(np.linspace(0.1, 0.2, units))
            assert (found.interval, found.p) == (None, 2.0 ** (1 - units))
            lenient = of_one(np.linspace(0.1, 0.2, units), alpha=0.1)
            assert (lenient.interval, lenient.differs(0.1)) == (None, False)
        assert of_one(np.linspace(0.1, 0.2, 6)).interval is not None

    def test_a_difference_that_never_varies(self) -> None:
        found = of_one(np.full(30, 0.1))
        assert (found.interval, found.constant, found.differs(0.05)) == (None, True, True)
        assert found.p == 1 / 100_001
        assert of_one(np.full(8, -0.1)).p == 2 / 256
        assert not of_one(np.full(5, 0.1)).differs(0.05)

    def test_a_difference_that_never_varies_in_a_sample(self) -> None:
        drawn = Queries(30, np.ones(30), inclusion=np.where(np.arange(30) < 12, 1.0, 0.4), population="log")
        (found,) = differences([np.full(30, 0.1)], drawn)
        assert (found.interval, found.constant, found.differs(0.05)) == (None, True, True)
        (apart,) = differences([np.where(np.arange(30) < 12, np.arange(30) % 2 / 5, 0.1)], drawn)
        assert not apart.constant

    @pytest.mark.parametrize("changed", [1, 3, 5])
    def test_few_changes_are_not_enough_for_a_verdict(self, changed: int) -> None:
        """One more query is added, which loses, or gains, the most of all that was seen."""
        difference = np.zeros(50)
        difference[:changed] = -0.3
        found = of_one(difference)
        assert (found.p, found.changed) == (2.0 ** (1 - changed), changed)
        assert found.interval is not None
        low, high = found.interval
        plain = invert([Question(difference / 50, np.full(50, 1 / 50))])[0]
        gains = invert([Question(np.append(difference, 0.3), np.ones(51))])[0]
        loses = invert([Question(np.append(difference, -0.3), np.ones(51))])[0]
        assert low == pytest.approx(min(plain.low, gains.low, loses.low), abs=1e-9)
        assert high == pytest.approx(max(plain.high, gains.high, loses.high, 0), abs=1e-9)

    def test_a_p_that_few_changes_make_small_is_that_of_the_added_query(self) -> None:
        """At 0.1 five losses are enough, were it not for a sixth query that may gain."""
        difference = np.zeros(50)
        difference[:5] = -0.3
        found = of_one(difference, alpha=0.1)
        assert found.p == by_definition(np.append(np.full(5, -0.3), 0.3), np.ones(6), 0.0)
        assert not found.differs(0.1)

    def test_a_query_without_weight_adds_nothing(self) -> None:
        difference, weights = np.zeros(40), np.ones(40)
        difference[:3] = 0.2
        difference[39], weights[39] = -1.0, 0.0  # it is in no sample: what it loses is not what was seen
        (found,) = differences([difference], Queries(40, weights))
        assert facts(found) == facts(of_one(difference[:39]))

    def test_every_query_known(self) -> None:
        drawn = Queries(300, np.ones(300), inclusion=np.ones(300), population="log")
        (found,) = differences([np.full(300, 0.01)], drawn)
        assert (found.census, found.interval, found.differs(0.05)) == (True, (found.value, found.value), True)
        assert np.isnan(found.p)
        assert found.effective == np.inf

    def test_whole_weights_are_repetitions_in_the_mean(self) -> None:
        weights = np.array([1.0, 2, 1, 3, 1, 1, 2, 1, 1, 1, 4, 1])
        (found,) = differences([A - B], Queries(12, weights))
        assert found.value == pytest.approx(np.average(A - B, weights=weights))
        assert found.effective == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
        assert facts(differences([A - B], Queries(12, np.full(12, 7.0)))[0]) == facts(of_one(A - B))

    def test_a_cluster_that_says_everything_twice_counts_once(self) -> None:
        (twice,) = differences([np.repeat(A - B, 2)], Queries(24, clusters=np.repeat(np.arange(12), 2)))
        once = of_one(A - B)
        assert (twice.p, twice.units) == (112 / 4096, 12)
        assert twice.effective == pytest.approx(12)
        assert twice.interval == pytest.approx(once.interval)

    @pytest.mark.parametrize(("queries", "words"), [(15, 0.181), (10, 0.2589), (30, 0.1), (300, 0.01)])
    def test_unseen_is_what_one_sample_of_twenty_misses(self, queries: int, words: float) -> None:
        assert of_one(np.zeros(queries)).unseen == pytest.approx(words, rel=0.11 if queries == 15 else 2e-3)


class TestRelativeChange:
    def test_the_published_pair(self) -> None:
        (found,) = ratios([A - B], [B], Queries(12))
        assert found.value == pytest.approx(0.093137, abs=5e-7)
        assert found.p == 112 / 4096
        assert found.interval == pytest.approx((0.019274, 0.177354), abs=0.006)  # Fieller's

    def test_its_ends_are_where_the_ratio_stops_being_rejected(self) -> None:
        random = np.random.default_rng(3)
        for _ in range(20):
            b = random.random(9)
            a = b + random.normal(0.1, 0.2, 9)
            (found,) = ratios([a - b], [b], Queries(9))
            assert found.value == pytest.approx(a.mean() / b.mean() - 1)
            assert found.interval is not None
            for end, outward in zip(found.interval, (-1, 1), strict=True):
                assert by_definition(a - (1 + end - outward * 1e-6) * b, np.zeros(9), 0.0) > 0.05
                assert by_definition(a - (1 + end + outward * 1e-6) * b, np.zeros(9), 0.0) <= 0.05

    def test_nothing_changed(self) -> None:
        (found,) = ratios([np.zeros(12)], [B], Queries(12))
        assert (found.value, found.interval, found.p) == (0, None, 1)


class TestSamples:
    def test_the_factor_of_a_random_sample_is_the_textbooks(self) -> None:
        values = np.random.default_rng(20).normal(0.02, 0.1, 200)
        inclusion = np.full(200, 200 / 300)
        drawn = Queries(200, 1 / inclusion, inclusion=inclusion, population="log")
        (log,), (future,) = (differences([values], drawn.read_as(population)) for population in ("log", "future"))
        assert log.interval is not None
        assert future.interval is not None
        for at in range(2):
            apart = future.interval[at] - future.value
            assert log.interval[at] - log.value == pytest.approx(apart * np.sqrt(1 - 200 / 300))

    def test_the_factor_is_that_of_hajek(self) -> None:
        """By hand, of two strata: what the log reading is narrower by, about queries that chance drew."""
        random = np.random.default_rng(21)
        inclusion, strata = random.uniform(0.1, 0.9, 60), np.repeat([0, 1], 30)
        weights, values = 1 / inclusion, random.normal(0.1, 0.3, 60)
        z = weights / weights.sum() * values
        e = z - weights / weights.sum() * z.sum()
        within = without = 0.0
        for stratum in (0, 1):
            x, rest = e[strata == stratum], 1 - inclusion[strata == stratum]
            within += 30 / 29 * (rest * (x - np.average(x, weights=rest)) ** 2).sum()
            without += 30 / 29 * ((x - x.mean()) ** 2).sum()
        drawn = Queries(60, weights, inclusion=inclusion, strata=strata, population="log")
        (log,), (future,) = (differences([values], drawn.read_as(population)) for population in ("log", "future"))
        assert log.interval is not None
        assert future.interval is not None
        ratio = (log.interval[1] - log.value) / (future.interval[1] - future.value)
        assert ratio == pytest.approx(np.sqrt(within / without), rel=1e-9)

    def test_a_stratum_with_one_query_has_no_interval(self) -> None:
        drawn = Queries(20, np.ones(20), inclusion=np.full(20, 0.5), strata=np.append(np.zeros(19, int), 1),
                        population="log")  # fmt: skip
        assert differences([WIN[-20:]], drawn)[0].interval is None
        assert mean_interval(np.full(20, 0.5), drawn) is None

    def test_few_changes_in_a_sample_are_exact_only_where_the_mean_of_the_others_is_0(self) -> None:
        """With the factor g the null is not 0, and the signs of unchanged queries matter, which are drawn."""
        change = np.where(np.arange(60) < 8, 0.1 - 0.4 * np.sin(np.arange(60)), 0.0)
        drawn = Queries(60, np.ones(60), inclusion=np.full(60, 0.5), population="log")
        for population in POPULATIONS:
            seeds = [differences([change], drawn.read_as(population), flips=1000, seed=seed)[0] for seed in range(4)]
            exact = population == "future"
            assert {each.exact for each in seeds} == {exact}
            assert (len({each.p for each in seeds}) == 1) == exact

    def test_queries_in_every_sample_add_nothing_to_the_interval(self) -> None:
        random = np.random.default_rng(22)
        chance, known = random.normal(0, 0.2, 20), random.normal(0, 5.0, 10)
        inclusion = np.append(np.full(20, 0.01), np.ones(10))
        drawn = Queries(30, np.ones(30), inclusion=inclusion, population="log")
        with_known, = differences([np.append(chance, known)], drawn)  # fmt: skip
        alone, = differences([chance], drawn.only(inclusion < 1))  # fmt: skip
        assert with_known.interval is not None
        assert alone.interval is not None
        assert np.ptp(with_known.interval) == pytest.approx(np.ptp(alone.interval) * 20 / 30)
        assert with_known.value == pytest.approx(alone.value * 2 / 3 + known.sum() / 30)
        assert with_known.effective == pytest.approx(20)

    def test_only_known_queries_changed(self) -> None:
        """As with one to five changes: one more of those left to chance may lose, or gain, the most."""
        drawn = Queries(30, np.ones(30), inclusion=np.where(np.arange(30) < 10, 1.0, 0.2), population="log")
        (found,) = differences([np.where(np.arange(30) < 10, 0.1, 0.0)], drawn)
        assert found.interval is not None
        assert found.interval[0] < found.value < found.interval[1]
        assert (found.changed, found.nothing_changed) == (0, False)
        assert found.value == pytest.approx(1 / 30)

    def test_the_relative_change_of_known_queries_alone(self) -> None:
        """It has an interval where the difference has one: the mean of the others is not known, nor what they lose."""
        drawn = Queries(30, np.ones(30), inclusion=np.where(np.arange(30) < 10, 1.0, 0.2), population="log")
        change, below = np.where(np.arange(30) < 10, 0.1, 0.0), np.linspace(0.2, 0.9, 30)
        (difference,), (relative,) = differences([change], drawn), ratios([change], [below], drawn)
        assert relative.value == pytest.approx(difference.value / below.mean())
        assert difference.interval is not None
        assert relative.interval is not None
        assert relative.interval[0] < relative.value < relative.interval[1]

    def test_where_every_value_is_one_the_factor_is_not_rounding(self) -> None:
        """Else the interval of a mean would be as wide as a scatter of 1e-17 has it, in one of four samples."""
        random = np.random.default_rng(23)
        for _ in range(200):
            count = int(random.integers(5, 60))
            inclusion, value = random.uniform(0.05, 0.95, count), random.random()
            weights = random.random(count) / inclusion
            drawn, whole = (Queries(count, weights, None, each, None, "log") for each in (inclusion, inclusion * 1e-9))
            assert mean_interval(np.full(count, value), drawn) == mean_interval(np.full(count, value), whole)


class TestMeansBetween0And1:
    def test_thirty_perfect_queries(self) -> None:
        assert mean_interval(np.ones(30), Queries(30), alpha=0.1) == pytest.approx((0.94, 1), abs=0.005)

    @pytest.mark.parametrize("hits", [2, 5, 20, 36])
    def test_the_ends_are_wilsons_with_half_a_query_more(self, hits: int) -> None:
        """Where (centre − p)² is q² p (1 − p) / n, n being so many that a share of n varies as the values do."""
        values = np.where(np.arange(40) < hits, np.linspace(0.6, 1, 40), 0.0)
        more = np.append(values, [0.0, 1.0])
        share = np.append(np.ones(40), [0.25, 0.25])
        centre = np.average(more, weights=share)
        variance = values.var(ddof=1) / 40.5 + 0.5 * 0.25 / 40.5**2
        q2 = scipy.stats.t.isf(0.025, 39) ** 2
        ends = mean_interval(values, Queries(40))
        assert ends is not None
        for end in ends:
            assert (centre - end) ** 2 == pytest.approx(q2 * end * (1 - end) * variance / (centre * (1 - centre)))

    def test_it_holds_the_mean_and_stays_inside(self) -> None:
        random = np.random.default_rng(30)
        for _ in range(500):
            units = int(random.integers(1, 60))
            values = random.beta(random.uniform(0.05, 3), random.uniform(0.05, 3), units)
            weights = some_weights(random, units)
            ends = mean_interval(values, Queries(units, weights))
            assert ends is not None
            assert 0 <= ends[0] <= np.average(values, weights=weights) + 1e-12
            assert np.average(values, weights=weights) - 1e-12 <= ends[1] <= 1
            assert ends[0] < ends[1]


# ---- several at once -------------------------------------------------------------------------------------------------


def single_step(columns: Floats) -> list[float]:
    """Westfall and Young's single-step max-T by the book: every sign, the largest statistic of each."""
    root = np.sqrt((columns**2).sum(axis=0))
    flipped = np.abs(every_sign(len(columns)) @ columns) / root
    observed = np.abs(columns.sum(axis=0)) / root
    return [float((flipped.max(axis=1) >= each - 1e-9).mean()) for each in observed]


class TestSeveral:
    @pytest.mark.parametrize("systems", [3, 5])
    def test_max_t_is_the_textbooks(self, systems: int) -> None:
        random = np.random.default_rng(40)
        pairs = list(itertools.combinations(range(systems), 2))
        for _ in range(15):
            table: Floats = np.round(random.normal(0, 0.2, (10, systems)) + 0.1 * np.arange(systems), 2)
            columns = [table[:, a] - table[:, b] for a, b in pairs]
            answers = differences(columns, Queries(10))
            found = adjusted(answers, columns, Queries(10))
            assert [each.p for each in found] == pytest.approx(single_step(np.stack(columns, axis=1)), abs=1e-12)

    def test_the_simultaneous_interval_is_the_mean_and_a_quantile_of_errors(self) -> None:
        """For equal weights: mean ± q·s/√n, with a q that is the same for all of them."""
        columns: list[Floats] = [*np.random.default_rng(41).normal(0.05, [[0.1], [0.3], [0.2]], (3, 60))]
        answers = differences(columns, Queries(60))
        quantiles = []
        for column, found in zip(columns, adjusted(answers, columns, Queries(60)), strict=True):
            assert found.interval is not None
            error = column.std(ddof=1) / np.sqrt(60)
            quantiles.append((found.interval[1] - found.interval[0]) / 2 / error)
        assert max(quantiles) - min(quantiles) < 1e-9
        assert 2.2 < quantiles[0] < 2.7  # Bonferroni: 2.46

    def test_one_comparison_is_not_adjusted(self) -> None:
        columns = [np.random.default_rng(42).normal(0.1, 0.3, 40)]
        answers = differences(columns, Queries(40))
        (found,) = adjusted(answers, columns, Queries(40))
        assert found.p == pytest.approx(answers[0].p, abs=0.003)
        assert found.p >= answers[0].p

    def test_the_largest_of_drawn_flips(self) -> None:
        columns = np.random.default_rng(43).normal(size=(40, 9))
        drawn = []
        for number, size in enumerate([flipping.CHUNK, 1000]):
            signs = np.random.Generator(np.random.PCG64(np.random.SeedSequence((3, number)))).bytes(5 * size)
            drawn.append(np.unpackbits(np.frombuffer(signs, np.uint8).reshape(5, size), axis=0).T)
        signs_of = np.concatenate([np.ones((1, 40)), 2.0 * np.concatenate(drawn) - 1])
        tops, own = largest_flipped(columns, flips=flipping.CHUNK + 1000, seed=3)
        assert tops == pytest.approx(np.sort(np.abs(signs_of @ columns).max(axis=1)), rel=1e-9)
        assert own == pytest.approx(np.abs(columns.sum(axis=0)), rel=1e-9)


# ---- the flips themselves --------------------------------------------------------------------------------------------


class TestFlips:
    @given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=6, max_size=10))
    def test_ties_are_counted(self, values: list[tuple[int, int]]) -> None:
        one, other = np.array(values).T / 100
        whole = np.array([a - b for a, b in values])
        expected = (np.abs(every_sign(len(whole)) @ whole) >= abs(whole.sum())).mean()
        assert invert([Question(one - other, np.ones(len(one)))])[0].p == expected

    @pytest.mark.parametrize("size", [8192, 1808, 7, 1])
    def test_signs_are_the_bytes_that_the_generator_gives(self, size: int) -> None:
        ours, theirs = (np.random.Generator(np.random.PCG64(np.random.SeedSequence((3, 1)))) for _ in range(2))
        for _, rows in flipping._blocks(1000):
            assert flipping._sign_bytes(ours, rows, size).tobytes() == theirs.bytes(rows * size)

    @pytest.mark.parametrize("queries", [30, 1100])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_tables_and_products_count_the_same_flips(self, queries: int, weighted: bool) -> None:
        """Alone a question looks its sums up in tables, among many they are multiplied."""
        random = np.random.default_rng(8)
        w = random.random(queries) if weighted else np.ones(queries)
        questions = [Question(w * random.normal(0.05, 1, queries), w, 0.01 * at) for at in range(12)]
        together = invert(questions, flips=9000)
        assert together == [invert([each], flips=9000)[0] for each in questions]

    def test_the_number_of_threads_changes_nothing(self) -> None:
        code = (
            "import numpy as np\nfrom rankgauge.stats.inference import *\n"
            "columns = [*np.random.default_rng(0).random((40, 300)) - 0.5]\n"
            "answers = differences(columns, Queries(300), flips=9000)\n"
            "print(answers, adjusted(answers, columns, Queries(300), flips=9000))"
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


# ---- random comparisons ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Some pairs of systems on random queries, however these weigh and were drawn."""

    columns: list[Floats]
    queries: Queries
    alpha: float


def random_case(number: int) -> Case:
    random = np.random.default_rng((7, number))
    count = int(random.integers(1, 61))
    systems = int(random.choice([2, 2, 3, 4]))
    table = random_values(random, count, systems)
    columns = [table[:, a] - table[:, b] for a, b in itertools.combinations(range(systems), 2)]
    return Case(columns, random_queries(random, count), float(random.choice([0.05, 0.05, 0.1, 0.01])))


def random_values(random: Random, count: int, systems: int) -> Floats:
    """Dense, coarse, mostly tied, constant, nothing changed, skewed: systems that differ from a common one."""
    kind = int(random.integers(0, 7))
    apart = random.normal(random.normal(0, 0.3, systems), 0.5, (count, systems))
    if kind == 1:
        apart = np.round(apart * 2) / 2
    elif kind == 2:
        apart *= random.random((count, systems)) < random.choice([0.05, 0.15, 0.4])
    elif kind == 3:
        apart = np.broadcast_to(random.normal(0, 0.2, systems), (count, systems))
    elif kind == 4:
        apart = np.round(apart) * (random.random((count, 1)) < 0.1)
    elif kind == 5:
        apart = np.sinh(2 * apart)
    elif kind == 6:
        apart = np.sign(apart) * 0.5 * (random.random((count, systems)) < 0.5)
    return apart + random.random((count, 1))


def random_queries(random: Random, count: int) -> Queries:
    kind = int(random.integers(0, 6))
    zipf = 1 / random.permutation(np.arange(1, count + 1)) ** random.choice([0.5, 1.0, 1.5])
    if kind == 1:
        return Queries(count, zipf * (random.random(count) < 0.9) + 1e-9 * zipf)
    if kind == 2:
        names = random.integers(0, max(1, count // int(random.integers(1, 5))), count)
        return Queries(count, zipf if random.random() < 0.3 else None, np.unique(names, return_inverse=True)[1])
    if kind >= 4:
        inclusion = np.minimum(1, zipf * count * random.uniform(0.02, 1.0))
        inclusion[random.random(count) < 0.1] = 1.0
        strata = random.integers(0, 2, count) if random.random() < 0.3 else None
        weights = zipf / inclusion if random.random() < 0.5 else 1 / inclusion
        return Queries(count, weights, None, inclusion, strata, "log" if random.random() < 0.7 else "future")
    return Queries(count)


def reordered(queries: Queries, order: Any) -> Queries:
    parts: dict[str, Any] = {}
    for name in ("weights", "clusters", "inclusion", "strata"):
        values = getattr(queries, name)
        parts[name] = None if values is None else values[order]
    return replace(queries, **parts)


def agrees(interval: Interval | None, p: float, alpha: float) -> bool:
    return interval is None or np.isnan(p) or (interval[0] > 0 or interval[1] < 0) == (p <= alpha)


def ends_of(found: Answer, sign: int = 1) -> list[float]:
    """The value and the ends of its interval, of the difference or of that the other way round."""
    return [sign * found.value, *(sign * end for end in (found.interval or ())[::sign])]


def same(one: float, other: float) -> bool:
    return one == other or (np.isnan(one) and np.isnan(other))


def check(number: int, flips: int = 1000) -> None:
    """Everything that holds of a comparison whatever its numbers are."""
    case, random = random_case(number), np.random.default_rng((8, number))
    options: dict[str, Any] = {"alpha": case.alpha, "flips": flips, "seed": number}
    answers = differences(case.columns, case.queries, **options)
    for column, found in zip(case.columns, answers, strict=True):
        check_own(found, column, case)
    for found, other in zip(answers, adjusted(answers, case.columns, case.queries, **options), strict=True):
        check_adjusted(found, other, case.alpha)
    check_order(case, answers, random, options)
    check_change(case, answers, random, options)


def check_own(found: Answer, column: Floats, case: Case) -> None:
    assert agrees(found.interval, found.p, case.alpha), (found, case.alpha)
    assert np.isnan(found.p) if found.census else 0 < found.p <= 1
    if found.interval is not None:
        low, high = found.interval
        assert low <= found.value <= high, found
        assert low < high or found.census
        assert found.units >= 6 or found.census
    if found.differs(case.alpha) and not found.census:
        assert found.p <= case.alpha
        assert found.value != 0
    if found.nothing_changed:
        assert found.census or (found.interval, found.p) == (None, 1)
    if found.units == 1:
        assert (found.interval, found.p) == (None, 1)
    weights = np.ones(len(column)) if case.queries.weights is None else case.queries.weights
    assert found.value == pytest.approx(
        float(np.average(column, weights=weights)), abs=1e-9 * np.abs(column).max() + 1e-15
    )


def check_adjusted(own: Answer, other: Any, alpha: float) -> None:
    assert agrees(other.interval, other.p, alpha), (own, other, alpha)
    assert same(own.p, other.p) or other.p >= own.p
    if other.interval is not None:
        assert own.interval is not None
        assert other.interval[0] <= own.interval[0] <= own.interval[1] <= other.interval[1], (own, other)


def check_order(case: Case, answers: list[Answer], random: Random, options: dict[str, Any]) -> None:
    """b − a mirrors a − b; other ids and other systems change nothing: to the last bit, but for sums of clusters."""
    order = random.permutation(case.queries.number)
    column, found = case.columns[0], answers[0]
    (mirrored,) = differences([-column], case.queries, **options)
    (renamed,) = differences([column[order]], reordered(case.queries, order), **options)
    assert same(mirrored.p, found.p), (found, mirrored)
    exact = case.queries.clusters is None
    assert ends_of(mirrored) == (ends_of(found, -1) if exact else pytest.approx(ends_of(found, -1))), (found, mirrored)
    assert same(renamed.p, found.p), (found, renamed)
    assert ends_of(renamed) == ends_of(found), (found, renamed)
    (alone,) = differences([column], case.queries, **options)
    assert facts(alone) == facts(found)


def check_change(case: Case, answers: list[Answer], random: Random, options: dict[str, Any]) -> None:
    """A relative change excludes 0 exactly when the difference does, where nothing is known of a log."""
    below = random.random(case.queries.number) + 0.05
    (found,) = ratios(case.columns[:1], [below], case.queries, **options)
    assert found.census or agrees(found.interval, found.p, case.alpha), (found, case.alpha)
    if found.interval is not None:
        assert found.interval[0] <= found.value <= found.interval[1]
    if not case.queries.sampled:
        assert agrees(found.interval, answers[0].p, case.alpha), (found, answers[0])


def test_comparisons_of_different_queries_do_not_contradict_themselves() -> None:
    """Each pair has queries of its own: intervals and p of the family are those of the pairs, adjusted."""
    several = 0
    for number in range(0, 20_000, 100):
        case, random = random_case(number), np.random.default_rng((9, number))
        masks = [random.random(case.queries.number) < random.choice([0.5, 0.9, 1.0]) for _ in case.columns]
        if not all(mask.any() for mask in masks):
            continue
        options: dict[str, Any] = {"alpha": case.alpha, "flips": 500, "seed": number}
        columns = [np.where(mask, column, 0.0) for mask, column in zip(masks, case.columns, strict=True)]
        own = [
            differences([column], case.queries.within(mask), **options)[0]
            for mask, column in zip(masks, columns, strict=True)
        ]
        for found, other in zip(own, adjusted(own, columns, case.queries, masks, **options), strict=True):
            check_adjusted(found, other, case.alpha)
        several += len(columns) > 1
    assert several > 50


def test_random_comparisons_do_not_contradict_themselves() -> None:
    for number in range(0, 20_000, 50):
        check(number)


@pytest.mark.slow
def test_20_000_random_comparisons_do_not_contradict_themselves() -> None:
    for number in range(20_000):
        check(number)


def test_the_random_comparisons_hold_what_is_to_be_tested() -> None:
    """A property of nothing is always true: of each kind there are some."""
    kinds: dict[str, int] = {}
    for number in range(0, 20_000, 50):
        case = random_case(number)
        for found in differences(case.columns, case.queries, alpha=case.alpha, flips=500, seed=number):
            for name, is_so in {
                "interval": found.interval is not None and not found.census,
                "differs": found.differs(case.alpha),
                "does not": found.interval is not None and not found.differs(case.alpha),
                "constant": found.constant,
                "census": found.census,
                "unchanged": found.nothing_changed,
                "few changes": found.interval is not None and 0 < found.changed < 6,
                "few": found.units < 6,
                "known": found.fixed != 0,
                "one": found.units == 1,
            }.items():
                kinds[name] = kinds.get(name, 0) + is_so
    assert all(count >= 5 for count in kinds.values()), kinds


def test_a_sample_of_the_project_is_drawn_as_the_factor_assumes() -> None:
    """The standard deviation of the estimate over draws is that of the interval: half its width is two of them."""
    random = np.random.default_rng(50)
    traffic = 1e5 / np.arange(1, 2001)
    chance = proportional(traffic, 150)
    apart = random.normal(0.02, 0.2, 2000)
    estimates, widths = [], []
    for _ in range(150):
        at = pareto(chance, random.random(2000), 150)
        drawn = Queries(len(at), traffic[at] / chance[at], inclusion=chance[at], population="log")
        (found,) = differences([apart[at]], drawn, flips=500)
        assert found.interval is not None
        estimates.append(found.value)
        widths.append(np.ptp(found.interval))
    assert np.mean(widths) / (2 * 1.96 * np.std(estimates)) == pytest.approx(1.0, abs=0.2)
