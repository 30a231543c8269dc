"""One inference: of values by query a mean, a difference or a ratio, its interval and its p, from one test.

    values of queries + how the queries were drawn ──▶ Answer: value, interval, p, and what it rests on

Everything is written for *units*: what is flipped and counted as one. A unit is a query, or a cluster of queries
(paraphrases, the queries of one user). Queries may have weights, and they may be a sample of a log. Then there are two
readings. Of the *log*, queries that every sample contains are known, and only those left to chance are flipped; what
chance could have drawn is then no more than the log holds, which the factor g takes into account. Of *future* searches
the log is itself a sample, and all queries are flipped.

The interval excludes 0 exactly when p is at or below α. docs/compare.md says how far it holds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from rankgauge.stats.estimate import Estimate
from rankgauge.stats.flips import Inverted, Question, invert, largest_flipped, most_extreme, whole_numbers
from rankgauge.stats.paired import added_up, t_quantile

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats, Ints

__all__ = [
    "ALPHA", "FEW", "FEW_QUERIES", "FLIPS", "POPULATIONS", "Adjusted", "Answer", "Interval", "Population", "Queries",
    "adjusted", "differences", "mean_estimates", "mean_interval", "ratios", "unseen_words",
]  # fmt: skip

Interval: TypeAlias = tuple[float, float]
Population = Literal["log", "future"]
POPULATIONS: Final[tuple[Population, ...]] = ("log", "future")
ALPHA: Final = 0.05
FLIPS: Final = 100_000
FEW_QUERIES: Final = 25  # effective units, below which an interval is only as good as values are symmetric
FEW: Final = 6  # units; of fewer, all of one sign, p is above 0.05
CERTAIN: Final = 1e-12  # an inclusion that is no further from 1 is 1
MISSED: Final = 0.05  # the chance that no query was drawn which a change touches
SAME: Final = 1e-9  # ends that are no further apart are one value


@dataclass(frozen=True, eq=False, slots=True)
class Queries:
    """How the queries weigh, which belong together, and how chance drew them; a row each.

    `inclusion` is the chance that a sample has of containing a query, None without a sample; `strata` are those of the
    sample, or without one the data sets that queries are of; `known` is False where the queries do not tell how another
    sample would differ.
    """

    number: int
    weights: Floats | None = None
    clusters: Ints | None = None
    inclusion: Floats | None = None
    strata: Ints | None = None
    population: Population = "future"
    known: bool = True

    def within(self, chosen: Bools) -> Queries:
        """The same with all weight on some of the queries."""
        weights = np.ones(self.number) if self.weights is None else self.weights
        return self if chosen.all() else replace(self, weights=np.where(chosen, weights, 0.0))

    def only(self, chosen: Bools) -> Queries:
        """Some of the queries."""
        parts: dict[str, Any] = {
            name: None if (each := getattr(self, name)) is None else each[chosen]
            for name in ("weights", "clusters", "inclusion", "strata")
        }
        return replace(self, number=int(chosen.sum()), **parts)

    def present(self, values: Floats) -> Floats:
        """The values of the queries that have a weight."""
        return values if self.weights is None else values[self.weights > 0]

    def read_as(self, population: Population) -> Queries:
        """The same queries, for the other reading."""
        return replace(self, population=population)

    @property
    def sampled(self) -> bool:
        """Whether what was left to chance is a part of a log."""
        return self.inclusion is not None and self.population == "log" and self.clusters is None

    @property
    def parts(self) -> Ints | None:
        """The parts, such as data sets, that every other draw of queries would have as well."""
        return self.strata if self.inclusion is None and self.clusters is None else None

    @property
    def chances(self) -> int:
        """How many units were left to chance."""
        return len(_left_to_chance(np.zeros(self.number), self).w)

    @property
    def effective(self) -> float:
        """How many units of equal weight tell as much as those left to chance (Kish); infinite of a census."""
        w = _left_to_chance(np.zeros(self.number), self).w
        return _kish(w) if len(w) else float("inf")


@dataclass(frozen=True, eq=False, slots=True)
class Answer:
    """A mean or a ratio: its value, its interval and its p against 0, and what they rest on.

    There is no interval (None) where nothing changed, of fewer than six units, and where every unit has one value.
    `units` are those left to chance and `changed` those of them that are not 0; `effective` and `telling` are how many
    of equal weight tell as much. `unseen` is the share of searches that a change may touch, and none of them was drawn;
    `fixed` is what the queries contribute that are in every sample.
    """

    value: float
    interval: Interval | None
    p: float
    units: int
    effective: float
    changed: int
    telling: float
    unseen: float
    fixed: float = 0.0
    constant: bool = False
    census: bool = False
    skewness: float = 0.0
    nothing_changed: bool = False  # of no query, those in every sample included
    error: float = float("nan")  # the standard error, for descriptions
    flips: int = 0
    exact: bool = True

    def differs(self, alpha: float) -> bool:
        """Whether the value is shown to be apart from 0: only where there is an interval, or nothing left to show."""
        if self.census:
            return self.value != 0
        return (self.interval is not None or self.constant) and self.p <= alpha


class _Part(NamedTuple):
    """The units left to chance (their shares add up to 1), and what leads from their mean to the whole.

    `v` is what the sum of z is divided by: the shares, or of a ratio the sums below. `moved` are units not at 0.
    """

    z: Floats
    w: Floats
    v: Floats
    moved: Bools
    at: Ints  # where the units are, of all
    fixed: float = 0.0
    share: float = 1.0
    g: float = 1.0

    @property
    def mean(self) -> float:
        """The mean, or the ratio, of these units."""
        total = _sum(self.v)
        return _sum(self.z) / total if total else float("nan")

    @property
    def null(self) -> float:
        """What their mean is where the whole is 0."""
        if not self.fixed and self.g == 1:
            return 0.0
        return self.mean + (-self.fixed / self.share - self.mean) / self.g

    @property
    def question(self) -> Question:
        """What is inverted."""
        return Question(self.z, self.v, self.null)

    def whole(self, end: float) -> float:
        """What the whole is where the mean of these units is at an end."""
        return self.fixed + self.share * (self.mean + self.g * (end - self.mean))

    @property
    def telling(self) -> float:
        """How many units of equal weight tell as much as those that moved."""
        return _kish(self.w[self.moved])

    def with_one_more(self, most: float) -> _Part:
        """The same with a unit of the mean weight, by weight, which moved by so much."""
        one = _sum(self.w**2)
        under = one * _sum(self.v)
        return self._replace(z=np.append(self.z, one * most), v=np.append(self.v, under))


def _sum(values: Floats) -> float:
    """The sum, to the last bit the same in any order of the values."""
    return fsum(values.tolist())


def _kish(w: Floats) -> float:
    return _sum(w) ** 2 / _sum(w**2) if w.any() else 0.0


def _left_to_chance(values: Floats, queries: Queries) -> _Part:
    z, w, at = _units_of(values, queries)
    moved: Bools = whole_numbers(z)[0] != 0
    if not queries.sampled or queries.inclusion is None:
        return _Part(z, w, w, moved, at)
    inclusion = queries.inclusion[at]
    chance = inclusion < 1 - CERTAIN
    fixed, share = _sum(z[~chance]), _sum(w[chance])
    fixed = 0.0 if abs(fixed) <= CERTAIN * float(np.abs(z[~chance]).sum()) else fixed  # but for rounding
    z, w = (each[chance] / share for each in (z, w)) if share else (z[chance], w[chance])
    strata = None if queries.strata is None else queries.strata[at][chance]
    g = _correction(z, w, inclusion[chance], strata) if share else 1.0
    return _Part(z, w, w, moved[chance], at[chance], fixed, share, g)


def _units_of(values: Floats, queries: Queries) -> tuple[Floats, Floats, Ints]:
    """Unit sums of share × value, unit shares, and which units these are; units without weight are left out."""
    weights = np.ones(len(values)) if queries.weights is None else queries.weights
    w = weights / _sum(weights)
    z = w * values
    if queries.clusters is not None:
        order, number = np.lexsort((w, z)), int(queries.clusters.max()) + 1
        z, w = (added_up(queries.clusters[order], each[order], number) for each in (z, w))
    present = np.flatnonzero(w > 0)
    return z[present], w[present], present


def _correction(z: Floats, w: Floats, inclusion: Floats, strata: Ints | None) -> float:
    """g: the standard error over draws of the sample (Hájek, Rosén: with 1 − inclusion) over the one without that.

    NaN where of a stratum a single query was left to chance.
    """
    apart = z - w * _sum(z) / _sum(w)
    apart[np.abs(apart) <= SAME * np.abs(z).max()] = 0.0  # rounding, not scatter
    within = without = 0.0
    for stratum in np.unique(strata) if strata is not None else [None]:
        there = slice(None) if stratum is None else strata == stratum
        e, rest = apart[there], 1 - inclusion[there]
        scale = len(e) / (len(e) - 1) if len(e) > 1 else np.nan
        within += scale * _sum(rest * (e - _sum(rest * e) / _sum(rest)) ** 2)
        without += scale * _sum((e - _sum(e) / len(e)) ** 2)
    if not without > 0:
        return float("nan") if np.isnan(without) else 1.0
    return float(np.sqrt(within / without))


# ---- one mean, or ratio ----------------------------------------------------------------------------------------------


def differences(
    columns: Sequence[Floats], queries: Queries, *, alpha: float = ALPHA, flips: int = FLIPS, seed: int = 0
) -> list[Answer]:
    """Answer for each column: the mean of what its queries differ by."""
    parts = [_left_to_chance(column, queries) for column in columns]
    return _answered(parts, columns, queries, alpha, flips, seed)


def ratios(
    above: Sequence[Floats], below: Sequence[Floats], queries: Queries, *, alpha: float = ALPHA, flips: int = FLIPS,
    seed: int = 0,
) -> list[Answer]:  # fmt: skip
    """Answer for each pair of columns, of which the second is nowhere below 0: the ratio of the two means.

    Of a − b and b it is the relative change, whose interval excludes 0 exactly when that of the difference does; of a
    sample of a log nearly so (997 of 1,000), as the factor g of a ratio is its own.
    """
    parts = [_ratio(one, other, queries) for one, other in zip(above, below, strict=True)]
    return _answered(parts, above, queries, alpha, flips, seed)


def _ratio(above: Floats, below: Floats, queries: Queries) -> _Part:
    """The units of a ratio: those in every sample go along in equal parts, so that their ratio is that of the whole."""
    part, under = _left_to_chance(above, queries), _left_to_chance(below, queries)
    if not part.share:
        return part._replace(fixed=part.fixed / under.fixed if under.fixed else float("nan"))
    z, v = (each.z + each.w * each.fixed / each.share for each in (part, under))
    whole = part._replace(z=z, v=v, fixed=0.0, share=1.0)
    return whole._replace(g=_left_to_chance(above - whole.mean * below, queries).g if part.g != 1 else 1.0)


def _answered(
    parts: Sequence[_Part], columns: Sequence[Floats], queries: Queries, alpha: float, flips: int, seed: int
) -> list[Answer]:
    asked = [_asked_of(part, column, queries) for part, column in zip(parts, columns, strict=True)]
    questions = [each.question for several in asked for each in several]
    inverted = iter(invert(questions, alpha=alpha, flips=flips, seed=seed))
    return [
        _answer(part, [(each, next(inverted)) for each in several], column, queries, alpha)
        for part, several, column in zip(parts, asked, columns, strict=True)
    ]


def _asked_of(part: _Part, column: Floats, queries: Queries) -> list[_Part]:
    """What is inverted: the units as they are; and where few moved, with one more which loses, or gains, the most.

    What chance did not draw may have moved, too, by as much as was seen.
    """
    if not len(part.z) or not queries.present(column).any() or not (queries.known and np.isfinite(part.g)):
        return []
    if (part.telling if queries.inclusion is not None else part.moved.sum()) >= FEW - SAME:
        return [part]
    most = float(np.abs(queries.present(column)).max())
    return [part, part.with_one_more(-most), part.with_one_more(most)]


def _answer(
    part: _Part, tested: Sequence[tuple[_Part, Inverted]], column: Floats, queries: Queries, alpha: float
) -> Answer:
    value = part.fixed + part.share * part.mean if len(part.z) else part.fixed
    apart = part.z - part.v * part.mean
    spread = float((apart**2).mean()) if len(apart) else 0.0
    same = bool((np.abs(apart) <= SAME * np.abs(part.z).max(initial=0.0)).all())
    alike = not part.fixed or bool(np.ptp(queries.present(column)) <= SAME * np.abs(column).max())
    answer = Answer(
        value,
        None,
        1.0,
        units=len(part.z),
        effective=_kish(part.w) if len(part.w) else float("inf"),
        changed=int(part.moved.sum()),
        telling=part.telling,
        unseen=min(1.0, part.share * _unseen(part.w)),
        fixed=part.fixed,
        constant=len(part.z) > 1 and bool(part.moved.all()) and same and alike,
        census=not len(part.z) and queries.known,
        nothing_changed=not queries.present(column).any(),
        skewness=0.0 if same else float((apart**3).mean() / spread**1.5),
        error=0.0 if same else part.share * part.g * float(np.sqrt(spread * len(apart) ** 2 / max(len(apart) - 1, 1))),
    )
    if answer.census:
        return replace(answer, interval=(value, value), p=float("nan"))
    if not tested:
        return answer
    answer = replace(answer, flips=tested[0][1].flips, exact=tested[0][1].exact)
    low, high, p = _united(tested, value, alpha)
    if answer.units < FEW or answer.constant or not np.isfinite(high - low) or high - low <= SAME * max(-low, high):
        return replace(answer, p=p)
    return replace(answer, p=p, interval=_agreeing((low, high), value, p, alpha))


def _united(tested: Sequence[tuple[_Part, Inverted]], value: float, alpha: float) -> tuple[float, float, float]:
    """The union of the intervals; the p of the units as they are, or where that is at most α, the larger one."""
    lows = [part.whole(each.low) for part, each in tested]
    highs = [part.whole(each.high) for part, each in tested]
    (_, own), *others = tested
    against = [own.p, *(each.p if part.whole(part.mean) * value > 0 else 1.0 for part, each in others)]
    return min(lows), max(highs), own.p if own.p > alpha else max(against)


def _agreeing(ends: Interval, value: float, p: float, alpha: float) -> Interval:
    """The ends, rounding next to 0 put right: 0 is inside exactly when p is above α. More than rounding is a fault."""
    low, high = ends
    if p > alpha:
        right = min(low, 0.0), max(high, 0.0)
    elif low > 0 or high < 0:
        right = ends
    else:
        right = (float(np.nextafter(0, 1)), high) if value > 0 else (low, float(np.nextafter(0, -1)))
    assert max(abs(right[0] - low), abs(right[1] - high)) <= 1e-7 * (high - low), (ends, value, p, alpha)
    return right


def _unseen(w: Floats) -> float:
    """The share of what chance could draw that may change, and in one sample of 20 no query of it is drawn."""
    if not len(w):
        return 0.0
    heaviest = float(w.max())
    return 1 - MISSED**heaviest if heaviest > 1 / 15 else -float(np.log(MISSED)) * heaviest


def unseen_words(unseen: float) -> str:
    """A share of searches in words: fewer than 1 in 10 searches."""
    return (
        f"fewer than 1 in {int(1 / unseen + SAME):,} searches" if 0 < unseen < 0.5 else "half of the searches or fewer"
    )


# ---- several at once -------------------------------------------------------------------------------------------------


class Adjusted(NamedTuple):
    """The p of an answer adjusted for others, and the interval that goes with it."""

    p: float
    interval: Interval | None


def adjusted(
    answers: Sequence[Answer],
    columns: Sequence[Floats],
    queries: Queries,
    masks: Sequence[Bools] = (),
    *,
    alpha: float = ALPHA,
    flips: int = FLIPS,
    seed: int = 0,
) -> list[Adjusted]:
    """Adjust answers for one another by single-step max-T: the same flips for all, the largest statistic of each.

    `masks` are the queries that each answer is of, where these are not all. The interval encloses the answer's own, and
    excludes 0 exactly when the adjusted p is at or below α.
    """
    everywhere = np.ones(queries.number, bool)
    parts = [
        _left_to_chance(np.where(mask, column, 0.0), queries.within(mask))
        for column, mask in zip(columns, masks or [everywhere] * len(columns), strict=True)
    ]
    scaled, statistics = _standardised(parts, queries)
    tops, own = largest_flipped(scaled, flips=flips, seed=seed)
    beyond = most_extreme(len(tops), alpha)
    critical = float(tops[-1 - beyond])  # the largest value that is not significant
    reached = len(tops) - np.searchsorted(tops, own * (1 - SAME))
    shares = np.where(statistics, reached / len(tops), 1.0).tolist()
    return [
        _adjusted(answer, part, share, critical, alpha)
        for answer, part, share in zip(answers, parts, shares, strict=True)
    ]


def _standardised(parts: Sequence[_Part], queries: Queries) -> tuple[Floats, Bools]:
    """Units × answers: what is flipped, each column of length 1, in an order that depends on the values alone; and of
    which answers there is anything to flip."""
    units = queries.number if queries.clusters is None else int(queries.clusters.max()) + 1
    null = np.zeros((units, len(parts)))
    for number, part in enumerate(parts):
        if len(part.z) and np.isfinite(part.g):
            numbers, step = whole_numbers(part.z)
            null[part.at, number] = numbers * step - part.w * part.null
    roots = np.sqrt((null**2).sum(axis=0))
    scaled = np.divide(null, roots, out=np.zeros_like(null), where=roots > 0)
    scaled = scaled[scaled.any(axis=1)]
    rounded = np.round(scaled, 9)
    return scaled[np.lexsort([*rounded.T, np.abs(rounded).sum(axis=1)])], roots > 0


def _adjusted(answer: Answer, part: _Part, share: float, critical: float, alpha: float) -> Adjusted:
    """{μ: (mean − μ)² ≤ c² Σ(z − wμ)²}, united with the answer's own; of equal weights mean ± quantile × error."""
    if answer.census:
        return Adjusted(answer.p, answer.interval)
    lead = 1 - critical**2 * _sum(part.w**2)
    if answer.interval is None or lead <= SAME:
        return Adjusted(1.0 if lead <= SAME and not answer.constant else max(answer.p, share), None)
    p = max(answer.p, share)
    e = part.z - part.w * part.mean
    first, second = critical**2 * _sum(part.w * e), critical**2 * _sum(e**2)
    half = float(np.sqrt(first**2 + lead * second))
    low, high = (answer.value + part.share * part.g * (-first + side * half) / lead for side in (-1, 1))
    low, high = min(low, answer.interval[0]), max(high, answer.interval[1])
    return Adjusted(p, _agreeing((low, high), answer.value, p, alpha))


# ---- one mean --------------------------------------------------------------------------------------------------------


def mean_estimates(
    columns: Sequence[Floats], queries: Queries, *, bounded: bool, alpha: float = ALPHA, flips: int = FLIPS,
    seed: int = 0,
) -> list[Estimate]:  # fmt: skip
    """Mean of each column with its interval: Wilson's where values are between 0 and 1, else that of the flips."""
    if bounded:
        ends = [mean_interval(column, queries, alpha=alpha) for column in columns]
    else:
        centred = [_within_parts(column, queries) for column in columns]
        ends = [each.interval for each in differences(centred, queries, alpha=alpha, flips=flips, seed=seed)]
    w = np.ones(queries.number) if queries.weights is None else queries.weights
    means = [_sum(w * column) / _sum(w) for column in columns]
    return [Estimate(mean, *(each or ())) for mean, each in zip(means, ends, strict=True)]


def mean_interval(values: Floats, queries: Queries, *, alpha: float = ALPHA) -> Interval | None:
    """Wilson's interval with the variance that there is, after half a query of ½ ± ½ was added: never of width 0.

    None where the queries do not tell how another sample would differ.
    """
    part = _left_to_chance(_within_parts(values, queries), queries)
    if not queries.known or not np.isfinite(part.g):
        return None
    if not len(part.z):
        return part.fixed, part.fixed
    number, effective = len(part.z), _kish(part.w)
    if number < 2:
        return part.fixed, part.fixed + part.share
    square = _sum((part.z - part.w * part.mean) ** 2) * (number / (number - 1) if queries.parts is None else 1)
    centre = (part.mean * effective + 0.25) / (effective + 0.5)
    spread = (square * effective + 0.125 / (effective + 0.5)) / (effective + 0.5)
    like = max(centre * (1 - centre) / spread, 1.0)  # so many draws of 0 or 1 vary as much
    q = part.g * t_quantile(_freedom(part, queries.parts), alpha)
    middle, half = centre + q * q / (2 * like), q * float(np.sqrt(centre * (1 - centre) / like + q * q / (4 * like**2)))
    low = max(min((middle - half) / (1 + q * q / like), part.mean), 0.0)
    high = min(max((middle + half) / (1 + q * q / like), part.mean), 1.0)
    return part.fixed + part.share * low, part.fixed + part.share * high


def _within_parts(values: Floats, queries: Queries) -> Floats:
    """The values with all parts moved to the mean of the whole, and spread as the variance within a part is estimated.

    Then the scatter of all is that of the mean over other queries of the same parts.
    """
    if queries.parts is None:
        return values
    moved = values.copy()
    w = np.ones(len(values)) if queries.weights is None else queries.weights
    mean = _sum(w * values) / _sum(w)
    for there in (queries.parts == part for part in np.unique(queries.parts)):
        own, number = _sum((w * values)[there]) / _sum(w[there]), int(there.sum())
        moved[there] = mean + (values[there] - own) * np.sqrt(number / max(number - 1, 1))
    return moved


def _freedom(part: _Part, parts: Ints | None) -> float:
    """Degrees of freedom: effective units less one; of parts, Satterthwaite's for queries that vary alike."""
    if parts is None:
        return max(_kish(part.w) - 1, 1.0)
    squares, numbers = np.bincount(parts[part.at], part.w**2), np.bincount(parts[part.at])
    there = numbers > 0
    return float(squares.sum() ** 2 / (squares[there] ** 2 / np.maximum(numbers[there] - 1, 1)).sum())
