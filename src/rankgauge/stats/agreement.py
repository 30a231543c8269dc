"""Agreement between judges: Cohen's and Fleiss' kappa, Krippendorff's alpha, with intervals clustered by query.

Every coefficient is a function of sums over pairs (a confusion matrix, a coincidence matrix, counts), so that the sums
without one query are a difference, and leaving out each query in turn is one array. Leading axes are such sums.

Weights go by the distance of grades, not by their place in a list: on 0, 1, 3 a two-step error stays one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from rankgauge.errors import InputError
from rankgauge.stats.estimate import Estimate
from rankgauge.stats.inference import FEW, Answer, Interval, Queries, differences, ratios

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats, Ints

__all__ = [
    "LEVELS", "WEIGHTS", "agreement_and_bias", "alpha", "bias", "coincidences", "confusion", "corrected_for_chance",
    "exact_agreement", "fleiss", "fleiss_sums", "kappa", "truth_given_label",
]  # fmt: skip

WEIGHTS: Final = ("none", "linear", "quadratic")
LEVELS: Final = ("nominal", "ordinal", "interval")
PERFECT: Final = 1e-12  # what a coefficient lacks to 1, from which on it is 1 but for rounding

Coefficient: TypeAlias = Callable[["Floats"], "Floats"]  # of sums, along any leading axes


# ---- sums ------------------------------------------------------------------------------------------------------------


def confusion(first: Ints, second: Ints, grades: int, cluster: Ints, clusters: int) -> Floats:
    """Cluster × grade of the first judge × grade of the second: how many pairs; grades are numbered from 0."""
    key = (cluster * grades + first) * grades + second
    counts = np.bincount(key, minlength=clusters * grades * grades)
    return counts.reshape(clusters, grades, grades).astype(np.float64)


def coincidences(table: Ints, grades: int, cluster: Ints, clusters: int) -> Floats:
    """Cluster × grade × grade: Krippendorff's coincidences of all judges. `table` is pair × judge, −1 where missing."""
    counts = np.stack([(table == grade).sum(axis=1) for grade in range(grades)], axis=1).astype(np.float64)
    judges = counts.sum(axis=1)
    several = judges >= 2
    counts, cluster, share = counts[several], cluster[several], 1 / (judges[several] - 1)
    result = np.zeros((clusters, grades, grades))
    for grade in range(grades):
        for other in range(grades):
            pairs = counts[:, grade] * (counts[:, other] - (grade == other)) * share
            result[:, grade, other] = np.bincount(cluster, pairs, clusters)
    return result


def fleiss_sums(table: Ints, grades: int, cluster: Ints, clusters: int) -> Floats:
    """Cluster × (pairs, their agreement, how often each grade was given), of the pairs that every judge judged."""
    complete = (table >= 0).all(axis=1)
    rows, where, judges = table[complete], cluster[complete], table.shape[1]
    counts = np.stack([(rows == grade).sum(axis=1) for grade in range(grades)], axis=1).astype(np.float64)
    agreement = ((counts**2).sum(axis=1) - judges) / (judges * (judges - 1))
    columns = [np.ones(len(rows)), agreement, *(counts / judges).T]
    return np.stack([np.bincount(where, column, clusters) for column in columns], axis=1)


# ---- coefficients ----------------------------------------------------------------------------------------------------


def kappa(matrix: Floats, grades: Floats, weights: str = "none") -> Floats:
    """Cohen's kappa of confusion matrices, plain or weighted by the distance of grades or its square."""
    apart = np.abs(grades[:, None] - grades)
    cost = {"none": (apart > 0).astype(np.float64), "linear": apart, "quadratic": apart**2}[weights]
    rows, columns = matrix.sum(axis=-1), matrix.sum(axis=-2)
    chance = np.einsum("...i,...j,ij->...", rows, columns, cost)
    return 1 - _ratio((matrix * cost).sum(axis=(-2, -1)) * matrix.sum(axis=(-2, -1)), chance)


def alpha(matrix: Floats, grades: Floats, level: str = "ordinal") -> Floats:
    """Krippendorff's alpha of coincidence matrices."""
    given = matrix.sum(axis=-1)
    if level == "ordinal":
        place = np.cumsum(given, axis=-1) - given / 2
        cost = (place[..., :, None] - place[..., None, :]) ** 2
    else:
        apart = grades[:, None] - grades
        cost = apart**2 if level == "interval" else (apart != 0).astype(np.float64)
    observed = (matrix * cost).sum(axis=(-2, -1))
    chance = (given[..., :, None] * given[..., None, :] * cost).sum(axis=(-2, -1))
    return 1 - _ratio((given.sum(axis=-1) - 1) * observed, chance)


def fleiss(sums: Floats) -> Floats:
    """Fleiss' kappa, from what `fleiss_sums` counted."""
    pairs = np.where(sums[..., 0] > 0, sums[..., 0], np.nan)
    chance = ((sums[..., 2:] / pairs[..., None]) ** 2).sum(axis=-1)
    return 1 - _ratio(1 - sums[..., 1] / pairs, 1 - chance)


def exact_agreement(matrix: Floats) -> Floats:
    """The share of pairs with the same grade from both."""
    return _ratio(np.trace(matrix, axis1=-2, axis2=-1), matrix.sum(axis=(-2, -1)))


def bias(matrix: Floats, grades: Floats) -> Floats:
    """The mean of second − first: above 0, the second judge is the more lenient."""
    return _ratio((matrix * (grades - grades[:, None])).sum(axis=(-2, -1)), matrix.sum(axis=(-2, -1)))


def _ratio(value: Floats, by: Floats) -> Floats:
    """value / by; NaN where there is nothing to divide by, such as chance that leaves no room for disagreement."""
    shape = np.broadcast(value, by).shape
    result = np.full(shape, np.nan)
    np.divide(value, by, out=result, where=np.abs(by) > 1e-12 * (1 + np.abs(value)))
    return result


# ---- intervals -------------------------------------------------------------------------------------------------------


def corrected_for_chance(
    sums: Floats, pairs: Floats, coefficients: Mapping[str, Coefficient], level: float = 0.05, seed: int = 0
) -> dict[str, Estimate]:
    """Coefficients that are 1 where judges agree on everything, of sums by query, with their intervals over queries.

    Of y = −log(1 − coefficient) each query has a pseudo-value, h · y − (h − 1) · (y without the query), h being all
    pairs over those of the query. Their mean, weighed by pairs, is tested as a mean difference is, and the ends are
    turned back. There is no interval of fewer than six queries, and where a coefficient is 1, or does not exist, with
    all queries or without one of them.
    """
    sums, pairs = sums[pairs > 0], pairs[pairs > 0]
    values = {name: float(coefficient(sums.sum(axis=0))) for name, coefficient in coefficients.items()}
    columns = {name: _pseudo_values(sums, pairs, coefficients[name]) for name in values} if len(pairs) >= FEW else {}
    known = [name for name, column in columns.items() if np.isfinite(column).all()]
    queries = Queries(len(pairs), pairs)
    answers = differences([columns[name] for name in known], queries, alpha=level, seed=seed)
    intervals = {name: answer.interval for name, answer in zip(known, answers, strict=True) if answer.interval}
    return {name: _turned_back(value, intervals.get(name)) for name, value in values.items()}


def _pseudo_values(sums: Floats, pairs: Floats, coefficient: Coefficient) -> Floats:
    """A value per query; not finite where all or all other queries leave no room for y."""
    whole, times = sums.sum(axis=0), pairs.sum() / pairs
    y, without = _stretched(coefficient(whole)), _stretched(coefficient(whole - sums))
    with np.errstate(invalid="ignore"):
        result: Floats = times * y - (times - 1) * without
    return result


def _stretched(values: Floats) -> Floats:
    """−log(1 − value): from 0 … 1 to 0 … ∞."""
    rest = 1 - values
    return -np.log(rest, out=np.full(np.shape(rest), -np.inf), where=~(rest <= PERFECT))


def _turned_back(value: float, interval: Interval | None) -> Estimate:
    """The coefficient with the ends of y; none that leaves the value itself out, as may be where two queries decide."""
    if interval is None:
        return Estimate(value)
    low, high = (-float(np.expm1(-end)) for end in interval)
    return Estimate(value, low, high) if low <= value <= high else Estimate(value)


def agreement_and_bias(sums: Floats, grades: Floats, level: float = 0.05, seed: int = 0) -> tuple[Estimate, Estimate]:
    """The share of pairs with the same grade, and the mean of second − first, of confusion matrices by query.

    Both are ratios: what queries add to the sum over how many pairs they have. Intervals end where the values do.
    """
    apart = grades - grades[:, None]
    pairs = sums.sum(axis=(1, 2))
    above = [np.trace(sums, axis1=1, axis2=2), (sums * apart).sum(axis=(1, 2))]
    same, off = ratios(above, [pairs, pairs], Queries(len(sums)), alpha=level, seed=seed) if len(sums) else (None, None)
    whole = sums.sum(axis=0)
    return (
        _within(float(exact_agreement(whole)), same, 0.0, 1.0),
        _within(float(bias(whole, grades)), off, float(apart.min(initial=0.0)), float(apart.max(initial=0.0))),
    )


def _within(value: float, answer: Answer | None, lowest: float, highest: float) -> Estimate:
    if answer is None or answer.interval is None:
        return Estimate(value)
    low, high = answer.interval
    return Estimate(value, max(low, lowest), min(high, highest))


# ---- truth (rows) against label (columns) --------------------------------------------------------------------------


ROUNDS: Final = 10_000
STILL: Final = 1e-12


def truth_given_label(matrix: Floats, labels: Ints, names: Sequence[str]) -> Floats:
    """Label × truth: the chances of each truth, given the label.

    Counts of pairs that were judged by both say it directly: each column, as shares. Rows of chances that add up to 1
    say how likely each label is given the truth; how common each truth is then follows from the labels at hand (the
    prevalence under which these are most likely), and Bayes' rule turns the chances round.
    """
    _check(matrix, names)
    sums = matrix.sum(axis=1)
    joint = matrix
    if np.allclose(sums, 1.0, rtol=0, atol=1e-6):
        joint = _prevalence(matrix, labels)[:, None] * matrix
    whole = joint.sum(axis=0)
    lost = [
        name for name, count, there in zip(names, labels.tolist(), whole.tolist(), strict=True) if count and not there
    ]
    if lost:
        raise InputError(
            f"the matrix never has label {lost[0]} (its column is all 0), and the judgments hold it; give it a count"
        )
    identity = np.eye(len(names))
    return np.where(whole[:, None] > 0, joint.T / np.where(whole > 0, whole, 1.0)[:, None], identity)


def _check(matrix: Floats, names: Sequence[str]) -> None:
    size = len(names)
    if matrix.shape != (size, size):
        shape = " × ".join(map(str, matrix.shape)) or "a number"
        raise InputError(
            f"the confusion matrix is {shape}; expected {size} × {size}, a row and a column for each grade of the "
            f"scale ({', '.join(names)}), rows true, columns label"
        )
    if not np.isfinite(matrix).all() or (matrix < 0).any() or not matrix.any():
        raise InputError("the confusion matrix holds counts or chances: finite numbers, 0 or more, not all 0")


def _prevalence(chances: Floats, labels: Ints) -> Floats:
    """How common each truth is: the shares under which the labels at hand are most likely (EM)."""
    seen = labels / max(1, labels.sum())
    shares = np.full(len(chances), 1 / len(chances))
    for _ in range(ROUNDS):
        expected = shares @ chances
        weight = np.divide(seen, expected, out=np.zeros(len(seen)), where=expected > 0)
        updated = shares * (chances @ weight)
        updated = updated / updated.sum() if updated.sum() > 0 else shares
        if np.abs(updated - shares).max() < STILL:
            return updated
        shares = updated
    return shares
