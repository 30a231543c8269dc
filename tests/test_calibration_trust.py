"""Simulations: how often intervals of κ, ppi and the shares of a funnel hold the truth.

Every bound is what is promised in docs/agreement.md and docs/funnel.md, with four Monte-Carlo standard errors.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from rankgauge.stats.agreement import corrected_for_chance, kappa
from rankgauge.stats.inference import Queries, ratios
from rankgauge.stats.ppi import plain_mean, prediction_powered

Floats = np.ndarray[Any, Any]


def held(shares: list[bool], lowest: float, highest: float = 1.0) -> None:
    """The share of intervals that hold the truth is between these, but for chance."""
    share, error = float(np.mean(shares)), 4 * np.sqrt(0.05 * 0.95 / len(shares))
    assert lowest - error <= share <= highest + error, share


# ---- κ ---------------------------------------------------------------------------------------------------------------


def confusions(random: np.random.Generator, queries: int, sizes: tuple[int, ...]) -> Floats:
    """Query × 2 × 2: queries differ in how much is relevant and in how often the second judge errs."""
    pairs = random.choice(sizes, queries)
    relevant, wrong = random.beta(1, 2, queries), random.beta(1, 7, queries)
    first = random.binomial(pairs, relevant)
    missed, added = random.binomial(first, wrong), random.binomial(pairs - first, wrong)
    cells = [pairs - first - added, added, missed, first - missed]
    return np.stack(cells, axis=1).reshape(queries, 2, 2).astype(float)


def kappa_held(queries: int, sizes: tuple[int, ...], repetitions: int, lowest: float) -> None:
    random, plain = np.random.default_rng(queries), {"": partial(kappa, grades=np.arange(2.0))}
    truth = float(kappa(confusions(random, 400_000, sizes).sum(axis=0), np.arange(2.0)))
    found = []
    for _ in range(repetitions):
        sums = confusions(random, queries, sizes)
        each = corrected_for_chance(sums, sums.sum(axis=(1, 2)), plain)[""]
        if each.low == each.low:
            found.append(each.low <= truth <= each.high)
    assert len(found) > 0.8 * repetitions
    held(found, lowest, 0.98)


@pytest.mark.parametrize("sizes", [(10,), (5, 10, 20)])
def test_kappa_of_eight_queries(sizes: tuple[int, ...]) -> None:
    kappa_held(8, sizes, 400, 0.95)


@pytest.mark.slow
@pytest.mark.parametrize("queries", [6, 8, 10, 15])
@pytest.mark.parametrize(("sizes", "lowest"), [((10,), 0.95), ((5, 10, 20), 0.94), ((2, 5, 10, 100), 0.91)])
def test_kappa_of_few_queries(queries: int, sizes: tuple[int, ...], lowest: float) -> None:
    kappa_held(queries, sizes, 1_500, lowest)


# ---- ppi -------------------------------------------------------------------------------------------------------------


def judged(random: np.random.Generator, kind: str, number: int, more: int) -> tuple[float, Floats, Floats, Floats]:
    """The true mean; values by people and by the model; values of other queries by the model."""
    whole = number + more
    if kind == "smooth":
        truth = random.beta(2, 2, whole)
        predicted = 0.1 + 0.8 * truth + 0.2 * random.beta(2, 2, whole)
        return 0.5, truth[:number], predicted[:number], predicted[number:]
    truth = (random.random(whole) >= 0.1).astype(float)
    predicted = np.where(random.random(whole) < 0.1, 1 - truth, truth)
    return 0.9, truth[:number], predicted[:number], predicted[number:]


def ppi_held(kind: str, number: int, repetitions: int, lowest: float) -> None:
    random, found, alone = np.random.default_rng(number), [], []
    for _ in range(repetitions):
        mean, truth, predicted, others = judged(random, kind, number, 300)
        people, helped = plain_mean(truth, bounded=True), prediction_powered(truth, predicted, others)
        alone.append(people.low <= mean <= people.high)
        if helped.low == helped.low:
            found.append(helped.low <= mean <= helped.high)
    held(alone, 0.93)
    if found:
        held(found, lowest)


def test_ppi_of_ten_queries() -> None:
    ppi_held("smooth", 10, 400, 0.93)
    ppi_held("rare", 10, 400, 0.93)


@pytest.mark.slow
@pytest.mark.parametrize("number", [6, 8, 10, 20, 40])
@pytest.mark.parametrize("kind", ["smooth", "rare"])
def test_ppi_of_few_queries(kind: str, number: int) -> None:
    ppi_held(kind, number, 1_000, 0.93)


# ---- funnel ----------------------------------------------------------------------------------------------------------


def captured(
    random: np.random.Generator, queries: int, nothing: float, repetitions: int
) -> list[tuple[float, float] | None]:
    """Intervals of the share captured, which is 0.3; in so many queries there is nothing to win."""
    found = []
    for _ in range(repetitions):
        headroom = np.where(random.random(queries) < nothing, 0.0, random.beta(2, 2, queries))
        lift = headroom * (0.3 + 0.4 * random.standard_normal(queries))
        found.append(ratios([lift], [headroom], Queries(queries))[0].interval if headroom.any() else None)
    return found


def captured_held(queries: int, repetitions: int, lowest: float) -> None:
    ends = captured(np.random.default_rng(queries), queries, 0.0, repetitions)
    held([low <= 0.3 <= high for low, high in filter(None, ends)], lowest, 0.98)


def test_the_share_captured_of_eight_queries() -> None:
    captured_held(8, 400, 0.93)


def test_where_a_third_has_no_headroom_there_is_often_no_end() -> None:
    for queries, share in ((6, 0.88), (8, 0.43), (10, 0.14)):
        ends = captured(np.random.default_rng(queries), queries, 1 / 3, 400)
        without = np.mean([each is None for each in ends])
        assert without == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 400) + 0.04), queries


@pytest.mark.slow
@pytest.mark.parametrize(("queries", "lowest"), [(6, 0.89), (8, 0.93), (12, 0.93), (50, 0.93)])
def test_the_share_captured_of_few_queries(queries: int, lowest: float) -> None:
    captured_held(queries, 1_000, lowest)
