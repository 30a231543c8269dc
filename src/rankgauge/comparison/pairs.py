"""Values → what there is to say about every pair of systems."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rankgauge.comparison.ranges import within_range
from rankgauge.comparison.settings import METHODS, RANKS, TUKEYS, Settings
from rankgauge.comparison.verdict import NOT_SIGNIFICANT, OPPOSITE, decide, verdict
from rankgauge.errors import InputError
from rankgauge.stats import families, inference, paired
from rankgauge.stats.estimate import NAN
from rankgauge.stats.inference import Adjusted, Answer, Interval, Population, Queries
from rankgauge.stats.paired import Moments, Units, sign_test, wilcoxon
from rankgauge.stats.power import detectable_share

if TYPE_CHECKING:
    from rankgauge.comparison.values import Values
    from rankgauge.dtypes import Bools, Floats

__all__ = ["NO_INTERVAL", "Family", "Pair", "Reading", "compare_groups", "compare_pairs", "each_against_earlier"]
__all__ += ["pair_indices"]

NO_INTERVAL: Final[Interval] = (NAN, NAN)
# Fields of a pair that are those of its answer.
ANSWERED: Final = (
    "p", "exact", "units", "effective", "changed", "telling", "unseen", "constant", "census", "skewness",
)  # fmt: skip
OTHER: Final[dict[Population, Population]] = {"log": "future", "future": "log"}


@dataclass(frozen=True, slots=True)
class Reading:
    """The same difference, read for the other population: of a log, for future searches; its interval and p."""

    population: Population
    interval: Interval
    p: float
    decision: str

    def turned(self) -> Reading:
        """The same for the opposite difference."""
        return replace(self, interval=_negated(self.interval), decision=OPPOSITE[self.decision])


@dataclass(frozen=True, slots=True)
class Pair:
    """System a against system b, its baseline, on the same queries; every difference is a − b.

    `p` and `interval` are of one test and belong to this pair alone, `p_adjusted` and `simultaneous` to all
    comparisons. `decided_by` names what decides: `p`, or the method that was asked for. `others` has what was asked for
    beside it, each with what it controls; `better` and `within_rope` are posterior probabilities, `tost` is the p of
    equivalence. `population` is what p and interval speak of, where the queries are a sample, and `reading` the other.
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
    units: int
    effective: float
    changed: int
    telling: float
    unseen: float
    constant: bool = False
    census: bool = False
    within_rope: float | None = None
    tost: float | None = None
    others: dict[str, dict[str, Any]] = field(default_factory=dict)
    p_adjusted: float = NAN
    simultaneous: Interval = NO_INTERVAL
    decision: str = ""
    decided_by: str = "p"
    comparisons: int = 1
    measure: str = ""
    alpha: float = 0.05
    clusters: int | None = None  # that the queries are in; None: every query is its own
    per: str | None = None  # search or query, of a sample
    population: Population | None = None
    reading: Reading | None = None

    @property
    def verdict(self) -> str:
        """The answer in a sentence or two, which name the system."""
        return verdict(self)

    @property
    def adjusting_matters(self) -> bool:
        """Whether the p adjusted for all comparisons would decide otherwise than the pair's own."""
        return self.decided_by == "p" and self.decision not in (NOT_SIGNIFICANT, self.adjusted_decision)

    @property
    def adjusted_decision(self) -> str:
        """What the p that is adjusted for all comparisons decides."""
        known = self.constant or bool(np.isfinite(self.interval[0]))
        return decide(self.difference, self.census or (known and self.p_adjusted <= self.alpha))

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
            simultaneous=_negated(self.simultaneous),
            relative=-self.relative / (1 + self.relative) if self.relative != -1 else NAN,
            relative_interval=(-high / (1 + high), -low / (1 + low)) if known else paired.NOWHERE,
            d_z=-self.d_z,
            d_z_interval=_negated(self.d_z_interval),
            g_z=-self.g_z,
            wins=self.losses,
            losses=self.wins,
            skewness=-self.skewness,
            better=1 - self.better,
            decision=OPPOSITE[self.decision],
            reading=None if self.reading is None else self.reading.turned(),
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
    everywhere = np.ones(len(values.queries), bool)
    return _family(values, at, [everywhere], settings)


def compare_groups(values: Values, settings: Settings) -> dict[str, Family]:
    """Group → its pairs. Groups × pairs are one family."""
    if not values.groups:
        return {}
    if TUKEYS.intersection(_methods(settings)):
        others = ", ".join(name for name in METHODS if name not in TUKEYS)
        raise InputError(f"Tukey's methods know no groups of queries; take {others}")
    at = pair_indices(values, settings.baseline)
    family = _family(values, at, [*values.groups.values()], settings)
    starts = range(0, len(family.pairs), len(at))
    return {
        name: family._replace(pairs=family.pairs[start : start + len(at)])
        for name, start in zip(values.groups, starts, strict=True)
    }


def _family(values: Values, at: Sequence[tuple[int, int]], masks: Sequence[Bools], settings: Settings) -> Family:
    """Every pair on the queries of every mask: each for itself, and adjusted for one another."""
    how: dict[str, Any] = {"alpha": settings.alpha, "flips": settings.flips, "seed": settings.seed}
    columns = [values.apart(a, b) for a, b in at]
    pairs: list[Pair] = []
    answers: list[Answer] = []
    for mask in masks:
        queries = values.drawn.only(mask)
        own = inference.differences([column[mask] for column in columns], queries, **how)
        pairs += _described(values if mask.all() else values.only(mask), at, own, queries, settings)
        answers += own
    family = [Adjusted(answer.p, answer.interval) for answer in answers]
    if len(answers) > 1:
        repeated = [mask for mask in masks for _ in at]
        family = inference.adjusted(answers, columns * len(masks), values.drawn, repeated, **how)
    together = {name: _adjusted(name, answers, family, values, at, settings) for name in _methods(settings)}
    simultaneous = [each.interval for each in family]
    decided = _decided(pairs, answers, together, simultaneous, values.measure, settings)
    flips = max((answer.flips for answer in answers), default=0)
    return Family(decided, flips, all(answer.exact for answer in answers))


# ---- what does not depend on the family ------------------------------------------------------------------------------


def _described(
    values: Values, at: Sequence[tuple[int, int]], answers: Sequence[Answer], queries: Queries, settings: Settings
) -> list[Pair]:
    how: dict[str, Any] = {"alpha": settings.alpha, "flips": settings.flips, "seed": settings.seed}
    columns = [values.apart(a, b) for a, b in at]
    below = [values.table[:, b] for _, b in at]
    shares = [min(values.table[:, a].min(), values.table[:, b].min()) >= -paired.TIE for a, b in at]
    relative = inference.ratios(columns, [np.abs(each) for each in below], queries, **how)
    others: Sequence[Answer | None] = [None] * len(at)
    if values.population is not None:
        others = inference.differences(columns, queries.read_as(OTHER[values.population]), **how)
    units = paired.units_of(values.table, values.weights, values.clusters)
    found = [paired.moments(units, a, b) for a, b in at]
    t = np.array([each.t for each in found])
    effects = paired.effect_interval(t, len(units) - 1, units.effective, settings.alpha)
    return [
        _pair(
            *(values, units, found[number], pair, answers[number], settings),
            **_relative_change(relative[number] if shares[number] else None, answers[number], values),
            d_z_interval=(float(effects[number, 0]), float(effects[number, 1])),
            reading=_reading(others[number], values, settings),
        )
        for number, pair in enumerate(at)
    ]


def _relative_change(found: Answer | None, answer: Answer, values: Values) -> dict[str, Any]:
    """The difference as a share of the baseline's mean; of what may be negative there is none."""
    if found is None or np.isnan(found.value):
        same = found is not None and answer.nothing_changed
        return {"relative": 0.0 if same else NAN, "relative_interval": (0.0, 0.0) if same else paired.NOWHERE}
    ends = found.interval
    if answer.interval is None or ends is None:
        return {"relative": found.value, "relative_interval": paired.NOWHERE}
    ends = ends if values.design is None else _on_side_of(ends, answer.interval)
    within = within_range(ends, values.bounded, lowest=-1.0, highest=float("inf"))
    return {"relative": found.value, "relative_interval": within}


def _on_side_of(ends: Interval, other: Interval) -> Interval:
    """The ends, of a sample, brought to the side of 0 on which the difference is: two readings of g differ a little."""
    if other[0] <= 0 <= other[1]:
        return min(ends[0], 0.0), max(ends[1], 0.0)
    tiny = float(np.finfo(float).tiny)
    return (max(ends[0], tiny), ends[1]) if other[0] > 0 else (ends[0], min(ends[1], -tiny))


def _reading(answer: Answer | None, values: Values, settings: Settings) -> Reading | None:
    """What holds for the other population."""
    if answer is None or values.population is None:
        return None
    interval = _known(answer.interval, values)
    decision = decide(answer.value, answer.differs(settings.alpha))
    return Reading(OTHER[values.population], interval, answer.p, decision)


def _known(interval: Interval | None, values: Values) -> Interval:
    return NO_INTERVAL if interval is None else within_range(interval, values.bounded, lowest=-1.0)


def _pair(
    values: Values,
    units: Units,
    found: Moments,
    at: tuple[int, int],
    answer: Answer,
    settings: Settings,
    **known: Any,
) -> Pair:
    a, b = values.table[:, at[0]], values.table[:, at[1]]
    largest = float(max(np.abs(a).max(), np.abs(b).max()))
    wins, ties, losses = paired.wins_ties_losses(a - b, largest)
    effect, rope = paired.effect_size(found, units), settings.rope
    drawn = found._replace(error=answer.error, freedom=max(answer.units - 1, 0)) if values.design else found
    interval = answer.interval
    return Pair(
        values.systems[at[0]],
        values.systems[at[1]],
        len(values.queries),
        found.difference,
        _known(interval, values),
        p_t=paired.t_test(drawn),
        d_z=effect,
        g_z=effect * paired.hedges(found.freedom),
        wins=wins,
        ties=ties,
        losses=losses,
        both_zero=int(((a == 0) & (b == 0)).sum()),
        detectable=NAN if interval is None else detectable_share(settings.alpha) * (interval[1] - interval[0]),
        deviation=found.error * float(np.sqrt(units.effective)),
        better=paired.posterior(drawn, 0.0, float("inf")),
        within_rope=None if rope is None else paired.posterior(drawn, -rope, rope),
        tost=None if settings.margin is None else paired.tost(drawn, settings.margin),
        others=_rank_tests(a - b, settings, largest),
        clusters=None if values.clusters is None else len(units),
        per=values.unit,
        population=values.population,
        **{name: getattr(answer, name) for name in ANSWERED},
        **known,
    )


def _rank_tests(difference: Floats, settings: Settings, largest: float) -> dict[str, dict[str, Any]]:
    found = {}
    if "wilcoxon" in settings.also:
        found["wilcoxon"] = wilcoxon(difference, largest=largest)[1]
    if "sign" in settings.also:
        found["sign"] = sign_test(difference, largest)
    return {name: {"p": p, "controls": RANKS[name]} for name, p in found.items()}


# ---- what does -------------------------------------------------------------------------------------------------------


def _methods(settings: Settings) -> list[str]:
    return [*dict.fromkeys([settings.adjusting, *(name for name in settings.also if name in METHODS)])]


def _adjusted(
    method: str,
    answers: Sequence[Answer],
    family: Sequence[Adjusted],
    values: Values,
    at: Sequence[tuple[int, int]],
    settings: Settings,
) -> Floats:
    """The p-values of a family under a method."""
    if method == "maxt":
        return np.array([each.p for each in family])
    if method not in TUKEYS:
        return families.ALONE[method](np.array([answer.p for answer in answers]))
    if values.weights is not None or values.clusters is not None:
        raise InputError(f"{method} takes neither weights nor clusters of queries; take maxt")
    if method == "tukey":
        return families.tukey(values.table, at)
    return families.randomised_tukey(values.table, at, seed=settings.seed)


def _decided(
    pairs: Sequence[Pair],
    answers: Sequence[Answer],
    adjusted: dict[str, Floats],
    simultaneous: Sequence[Interval | None],
    measure: str,
    settings: Settings,
) -> list[Pair]:
    """The pairs with their adjusted p, the decision, and what else was asked for."""
    result = []
    for number, (pair, answer) in enumerate(zip(pairs, answers, strict=True)):
        asked = [name for name in adjusted if name in settings.also]
        others = {name: {"p": float(adjusted[name][number]), "controls": METHODS[name]} for name in asked}
        p = float(adjusted[settings.adjusting][number])
        own = settings.method is None or (len(pairs) == 1 and settings.method not in TUKEYS)
        known = pair.constant or pair.census or bool(np.isfinite(pair.interval[0]))
        shown = answer.differs(settings.alpha) if own or answer.census else known and p <= settings.alpha
        ends = simultaneous[number] if settings.adjusting == "maxt" else None
        result.append(
            replace(
                pair,
                p_adjusted=p,
                simultaneous=NO_INTERVAL if ends is None else ends,
                others=pair.others | others,
                decision=decide(pair.difference, shown),
                decided_by="p" if settings.method is None else settings.method,
                comparisons=len(pairs),
                measure=measure,
                alpha=settings.alpha,
            )
        )
    return result
