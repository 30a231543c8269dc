"""Values → what there is to say about every pair of systems."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rankgauge.comparison.ranges import too_few, within_range
from rankgauge.comparison.settings import INTERVALS, METHODS, RANKS, TUKEYS, Settings
from rankgauge.comparison.verdict import OPPOSITE, decide, verdict
from rankgauge.errors import InputError
from rankgauge.stats import families, paired
from rankgauge.stats.bootstrap import bootstrap_intervals
from rankgauge.stats.flips import Flipped, centred, sign_flips
from rankgauge.stats.paired import Interval, Moments, Units, sign_test, wilcoxon
from rankgauge.stats.power import detectable

if TYPE_CHECKING:
    from rankgauge.comparison.values import Values
    from rankgauge.dtypes import Bools, Floats

UNLIKE: Final = 2.0**20  # columns that are further apart in size are not rounded to the same step

__all__ = ["Family", "Pair", "compare_groups", "compare_pairs", "each_against_earlier", "pair_indices"]


@dataclass(frozen=True, slots=True)
class Pair:
    """System a against system b, its baseline, on the same queries; every difference is a − b.

    `p_adjusted` is the decision. `others` has what was asked for beside it, each with what it controls, `intervals` the
    bootstrap intervals; `better` and `within_rope` are posterior probabilities, `tost` is the p of equivalence.
    """

    a: str
    b: str
    queries: int
    difference: float
    interval: Interval
    relative: float
    relative_interval: Interval
    p: float
    p_t: float
    d_z: float
    d_z_interval: Interval
    g_z: float
    wins: int
    ties: int
    losses: int
    both_zero: int
    detectable: float
    deviation: float
    skewness: float
    exact: bool
    better: float
    within_rope: float | None = None
    tost: float | None = None
    others: dict[str, dict[str, Any]] = field(default_factory=dict)
    intervals: dict[str, Interval] = field(default_factory=dict)
    p_adjusted: float = float("nan")
    decision: str = ""
    measure: str = ""
    alpha: float = 0.05
    adjusted: bool = False  # whether p_adjusted is for one pair out of several
    clusters: int | None = None  # that the queries are in; None: every query is its own
    per: str | None = None  # search or query, of a sample

    @property
    def verdict(self) -> str:
        """The answer as a sentence, which names the system."""
        return verdict(self)

    def turned(self) -> Pair:
        """The same comparison as b against a: every difference is b − a."""
        low, high = self.relative_interval
        known = low > -1 and high < np.inf
        return replace(
            self,
            a=self.b,
            b=self.a,
            difference=-self.difference,
            interval=_negated(self.interval),
            relative=-self.relative / (1 + self.relative) if self.relative != -1 else float("nan"),
            relative_interval=(-high / (1 + high), -low / (1 + low)) if known else paired.NOWHERE,
            d_z=-self.d_z,
            d_z_interval=_negated(self.d_z_interval),
            g_z=-self.g_z,
            wins=self.losses,
            losses=self.wins,
            skewness=-self.skewness,
            better=1 - self.better,
            intervals={kind: _negated(ends) for kind, ends in self.intervals.items()},
            decision=OPPOSITE[self.decision],
        )


def _negated(interval: Interval) -> Interval:
    low, high = interval
    return -high, -low


class Family(NamedTuple):
    """The comparisons that were adjusted together, and the flips behind them."""

    pairs: list[Pair]
    flips: int
    exact: bool


def each_against_earlier(systems: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Every pair, as (other, baseline): what was given later against what was given before it."""
    return [(later, earlier) for earlier, later in combinations(systems, 2)]


def pair_indices(values: Values, baseline: str | None) -> list[tuple[int, int]]:
    """Every system against each that was given before it, or against the baseline."""
    if baseline is None:
        return each_against_earlier(range(len(values.systems)))
    against = values.index(baseline)
    return [(system, against) for system in range(len(values.systems)) if system != against]


def compare_pairs(values: Values, settings: Settings) -> Family:
    """All pairs on all queries, as one family."""
    at = pair_indices(values, settings.baseline)
    units = paired.units_of(values.table, values.weights, values.clusters)
    columns, within = _flippable([units.sums], at)
    flipped = sign_flips(columns, within, flips=settings.flips, seed=settings.seed)
    pairs = _described(values, at, flipped.p, flipped.exact_pairs, settings)
    adjusted = {name: _adjusted(name, flipped, values, at, settings) for name in _methods(settings)}
    return Family(_decided(pairs, adjusted, values.measure, settings), flipped.number, flipped.exact)


def compare_groups(values: Values, settings: Settings) -> dict[str, Family]:
    """Group → its pairs. Groups × pairs are one family."""
    if not values.groups:
        return {}
    if TUKEYS.intersection(_methods(settings)):
        others = ", ".join(name for name in METHODS if name not in TUKEYS)
        raise InputError(f"Tukey's methods know no groups of queries; take {others}")
    at = pair_indices(values, settings.baseline)
    columns, within = _flippable([_unit_sums(values, mask) for mask in values.groups.values()], at)
    flipped = sign_flips(columns, within, flips=settings.flips, seed=settings.seed)
    slices = [slice(start, start + len(at)) for start in range(0, len(within), len(at))]
    pairs: list[Pair] = []
    for own, mask in zip(slices, values.groups.values(), strict=True):
        pairs += _described(values.only(mask), at, flipped.p[own], flipped.exact_pairs[own], settings)
    adjusted = {name: _adjusted(name, flipped, values, within, settings) for name in _methods(settings)}
    pairs = _decided(pairs, adjusted, values.measure, settings)
    return {
        name: Family(pairs[own], flipped.number, flipped.exact) for name, own in zip(values.groups, slices, strict=True)
    }


def _flippable(parts: Sequence[Floats], at: Sequence[tuple[int, int]]) -> tuple[Floats, list[tuple[int, int]]]:
    """The columns to flip and the pairs of them, part after part.

    All columns are rounded to the same step (see flips.py). Where some are so small that this would be too coarse for
    them, the columns are the pairs' differences, each in a unit of its own, and a last one that is 0.
    """
    sizes = np.abs(np.concatenate(parts, axis=1)).sum(axis=0)
    if sizes.max() <= UNLIKE * sizes[sizes > 0].min(initial=np.inf):
        columns = np.concatenate([centred(part) for part in parts], axis=1)
        starts = range(0, columns.shape[1], parts[0].shape[1])
        return columns, [(a + start, b + start) for start in starts for a, b in at]
    apart = np.stack([part[:, a] - part[:, b] for part in parts for a, b in at], axis=1)
    _, exponents = np.frexp(np.abs(apart).sum(axis=0))
    columns = np.concatenate([np.ldexp(apart, -exponents), np.zeros((len(apart), 1))], axis=1)
    return columns, [(pair, apart.shape[1]) for pair in range(apart.shape[1])]


def _unit_sums(values: Values, mask: Bools) -> Floats:
    """For every unit the weighted sum of its queries in a group; 0 where it has none there."""
    weighted = np.where(mask[:, None], values.table, 0.0)
    if values.weights is not None:
        weighted = weighted * values.weights[:, None]
    if values.clusters is None:
        return weighted
    number = int(values.clusters.max()) + 1
    return np.stack([paired.added_up(values.clusters, column, number) for column in weighted.T], axis=1)


# ---- what does not depend on the family ------------------------------------------------------------------------------


def _described(
    values: Values, at: Sequence[tuple[int, int]], p: Floats, exact: Bools, settings: Settings
) -> list[Pair]:
    units = paired.units_of(values.table, values.weights, values.clusters)
    found = [paired.moments(units, a, b) for a, b in at]
    t = np.array([each.t for each in found])
    effects = paired.effect_interval(t, len(units) - 1, units.effective, settings.alpha)
    one = detectable(1.0, len(units), alpha=settings.alpha) if _can_detect(len(units), settings) else float("nan")
    kinds = [kind for kind in settings.also if kind in INTERVALS]
    ends = bootstrap_intervals(units, at, kinds, alpha=settings.alpha, seed=settings.seed) if kinds else {}
    return [
        _pair(
            *(values, units, each, pair, settings),
            p=float(p[number]),
            exact=bool(exact[number]),
            d_z_interval=(float(effects[number, 0]), float(effects[number, 1])),
            detectable=one * each.error * float(np.sqrt(len(units))),
            intervals={
                kind: values.within_range((float(low[number]), float(high[number])), settings.alpha, len(units), -1.0)
                for kind, (low, high) in ((kind, rows.T) for kind, rows in ends.items())
            },
        )
        for number, (each, pair) in enumerate(zip(found, at, strict=True))
    ]


def _can_detect(units: int, settings: Settings) -> bool:
    """Whether any difference can be shown: of all flips two are the furthest from 0, so that no p is below 2 / 2^n."""
    return units > 1 and (settings.method in TUKEYS or not too_few(units, settings.alpha))


def _pair(values: Values, units: Units, found: Moments, at: tuple[int, int], settings: Settings, **known: Any) -> Pair:
    a, b = values.table[:, at[0]], values.table[:, at[1]]
    largest = float(max(np.abs(a).max(), np.abs(b).max()))
    wins, ties, losses = paired.wins_ties_losses(a - b, largest)
    drawn = found if values.design is None else values.moments(units, *at)  # over draws of a sample
    interval = values.difference_interval(drawn, settings.alpha, len(units))
    is_share = min(a.min(), b.min()) >= -paired.TIE  # of what may be negative there is no share
    relative, ratios = paired.relative_change(drawn, settings.alpha) if is_share else (float("nan"), paired.NOWHERE)
    relative_interval = within_range(ratios, values.bounded, lowest=-1.0, highest=float("inf"))
    effect, rope = paired.effect_size(found, units), settings.rope
    return Pair(
        values.systems[at[0]],
        values.systems[at[1]],
        len(values.queries),
        found.difference,
        interval,
        relative,
        relative_interval if np.isfinite(interval[0]) else paired.NOWHERE,
        p_t=paired.t_test(drawn),
        d_z=effect,
        g_z=effect * paired.hedges(found.freedom),
        wins=wins,
        ties=ties,
        losses=losses,
        both_zero=int(((a == 0) & (b == 0)).sum()),
        deviation=found.error * float(np.sqrt(units.effective)),
        skewness=found.skewness,
        better=paired.posterior(drawn, 0.0, float("inf")),
        within_rope=None if rope is None else paired.posterior(drawn, -rope, rope),
        tost=None if settings.margin is None else paired.tost(drawn, settings.margin),
        others=_rank_tests(a - b, settings, largest),
        clusters=None if values.clusters is None else len(units),
        per=values.unit,
        **known,
    )


def _rank_tests(difference: Floats, settings: Settings, largest: float) -> dict[str, dict[str, Any]]:
    tests = {
        "wilcoxon": lambda: wilcoxon(difference, largest=largest)[1],
        "sign": lambda: sign_test(difference, largest),
    }
    return {name: {"p": tests[name](), "controls": RANKS[name]} for name in settings.also if name in RANKS}


# ---- what does -------------------------------------------------------------------------------------------------------


def _methods(settings: Settings) -> list[str]:
    return [settings.method, *(name for name in settings.also if name in METHODS and name != settings.method)]


def _adjusted(
    method: str, flipped: Flipped, values: Values, at: Sequence[tuple[int, int]], settings: Settings
) -> Floats:
    """The p-values of a family under a method."""
    if method == "maxt":
        return flipped.adjusted
    if method not in TUKEYS:
        return families.ALONE[method](flipped.p)
    if values.weights is not None or values.clusters is not None:
        raise InputError(f"{method} takes neither weights nor clusters of queries; take maxt")
    if method == "tukey":
        return families.tukey(values.table, at)
    return families.randomised_tukey(values.table, at, seed=settings.seed)


def _decided(pairs: list[Pair], adjusted: dict[str, Floats], measure: str, settings: Settings) -> list[Pair]:
    """The pairs with their adjusted p, the decision, and what else was asked for."""
    result = []
    for number, pair in enumerate(pairs):
        asked = [name for name in adjusted if name in settings.also]
        others = {name: {"p": float(adjusted[name][number]), "controls": METHODS[name]} for name in asked}
        p = float(adjusted[settings.method][number])
        made = replace(
            pair,
            p_adjusted=p,
            others=pair.others | others,
            decision=decide(pair.difference, p, settings.alpha),
            measure=measure,
            alpha=settings.alpha,
            adjusted=len(pairs) > 1 and settings.method != "none",
        )
        result.append(made)
    return result
