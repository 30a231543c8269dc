"""How many queries an experiment needs, and what a given set of queries can show.

    pilot or deviation ──▶ Deviation ──plan──▶ Plan ──show──▶ people

Everything rests on one number: the standard deviation of the differences between two systems, query by query.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from rankgauge.comparison.values import Values, values_of_results
from rankgauge.errors import InputError, counted
from rankgauge.protocol import DEFAULT
from rankgauge.read.rows import shortened
from rankgauge.shown import Shown
from rankgauge.stats.estimate import Estimate
from rankgauge.stats.power import (
    ALPHA,
    POWER,
    comparisons,
    detectable,
    detectable_range,
    interval_width,
    queries_for_range,
    queries_for_width,
    queries_needed,
)

if TYPE_CHECKING:
    from rankgauge.result import Result

__all__ = ["QUESTIONS", "Answer", "Deviation", "Plan", "Question", "Setting", "deviation_of", "plan"]

Number = TypeVar("Number", int, float)


@dataclass(frozen=True, slots=True)
class Deviation:
    """The standard deviation of the differences between two systems, and where it comes from."""

    value: float
    interval: tuple[float, float] | None = None  # 95 %, of a pilot
    measure: str = ""
    queries: int = 0
    systems: tuple[str, ...] = ()
    smallest: float | None = None  # of the pairs, where there are several
    largest: float | None = None
    protocol: Mapping[str, Any] = field(default_factory=dict)  # the rules of the pilot's evaluation, where known

    @property
    def rules(self) -> str:
        """The rules that are not at their default, in a word each."""
        usual = DEFAULT.to_dict()
        return ", ".join(f"{rule}={value}" for rule, value in self.protocol.items() if value != usual.get(rule))

    @property
    def sentence(self) -> str:
        """How large it is, and where it comes from."""
        words = (
            f"{self.measure} of {len(self.systems)} systems on {self.queries:,} queries" if self.systems else "given"
        )
        if self.interval:
            words += f"; 95 % interval {self.interval[0]:.4f} to {self.interval[1]:.4f}"
        words += f"; {self.rules}" if self.rules else ""
        return f"Deviation of the differences: {self.value:.4f} ({words})."


def deviation_of(values: Values) -> Deviation:
    """The deviation of a pilot's differences; of several systems, the mean over pairs (twice the residual variance).

    That is what the two-way analysis of variance (systems, queries) leaves: the variance of a difference between two
    systems is on average twice the residual mean square. The interval is that of chi-square.
    """
    from scipy import special

    queries, systems = values.table.shape
    if systems < 2:
        raise InputError(
            f"the pilot has one system, {values.systems[0]}, and how differences vary takes two; "
            "add a second run, even a weak one, or give --deviation"
        )
    if queries < 3:
        raise InputError(f"the pilot has {queries} queries, too few to tell how much differences vary; take 25 or more")
    centred = values.table - values.table.mean(axis=1, keepdims=True)
    centred = centred - centred.mean(axis=0, keepdims=True)
    freedom = (queries - 1) * (systems - 1)
    squares = float((centred**2).sum())
    if squares <= 1e-24 * queries:
        raise InputError(f"all systems of the pilot have the same differences on every query of {values.measure}")
    variance = 2 * squares / freedom
    ends = tuple(math.sqrt(2 * squares / float(special.chdtri(freedom, tail))) for tail in (0.025, 0.975))
    pairs = [float((a - b).std(ddof=1)) for a, b in combinations(values.table.T, 2)]
    range_of_pairs = (min(pairs), max(pairs)) if systems > 2 else (None, None)
    names = tuple(values.systems)
    about = (values.measure, queries, names, *range_of_pairs, values.protocol)
    return Deviation(math.sqrt(variance), (ends[0], ends[1]), *about)


# ---- the questions, in words, and solved for the queries or for the size ---------------------------------------------


@dataclass(frozen=True, slots=True)
class Setting:
    """What all questions have in common."""

    systems: int = 2
    with_baseline: bool = False  # each system with one of them, rather than every pair
    expected: float = 0.0  # the true difference that a gate will meet
    power: float = POWER
    alpha: float = ALPHA

    @property
    def comparisons(self) -> int:
        """The number of pairs that are tested together."""
        return comparisons(self.systems, baseline=self.with_baseline)

    @property
    def shared_alpha(self) -> float:
        """What is left of alpha for one pair, so that all pairs together keep to it."""
        return self.alpha / self.comparisons


@dataclass(frozen=True, slots=True)
class Question:
    """A kind of question: in words, the queries that a size needs, and the size that a number of queries shows."""

    words: Callable[[Setting, str], str]  # setting, a size or nothing
    queries: Callable[[Setting, float, float], int]  # setting, deviation, size
    size: Callable[[Setting, float, int], float]  # setting, deviation, queries


def _difference_words(setting: Setting, size: str) -> str:
    power = f"{setting.power:g} (paired t-test, two-sided)"
    words = f"a true difference of {size or 'this size'} is found with power {power}"
    if setting.comparisons == 1:
        return words
    return f"{words}, in any one of {setting.comparisons:,} pairs that share alpha"


def _level(alpha: float) -> str:
    """1 − alpha in per cent, with as many digits as it takes."""
    return f"{(100 - 100 * Decimal(repr(alpha))).normalize():f}"


def _margin_words(setting: Setting, size: str) -> str:
    system = "just as good" if setting.expected == 0 else f"truly {setting.expected:+g}"
    gate = f"a gate with {f'margin {size}' if size else 'this margin'}"
    return f"{gate} passes a system that is {system}, with power {setting.power:g} (one-sided)"


QUESTIONS: Final = {
    "difference": Question(
        _difference_words,
        lambda s, deviation, size: queries_needed(deviation, size, power=s.power, alpha=s.shared_alpha),
        lambda s, deviation, queries: detectable(deviation, queries, power=s.power, alpha=s.shared_alpha),
    ),
    "range": Question(
        lambda s, size: f"best and worst of {s.systems} systems differ by {size or 'this'}, and an analysis of "
        f"variance finds that they are not all equal, with power {s.power:g}",
        lambda s, deviation, size: queries_for_range(deviation, size, s.systems, power=s.power, alpha=s.alpha),
        lambda s, deviation, queries: detectable_range(deviation, queries, s.systems, power=s.power, alpha=s.alpha),
    ),
    "margin": Question(
        _margin_words,
        lambda s, deviation, size: queries_needed(
            deviation, s.expected, margin=size, power=s.power, alpha=s.alpha
        ),
        lambda s, deviation, queries: max(
            0.0, detectable(deviation, queries, power=s.power, alpha=s.alpha, sides=1) - s.expected
        ),
    ),
    "width": Question(
        lambda s, size: f"the {_level(s.alpha)} % interval of a difference is on average {size or 'this'} wide, from "
        "end to end",
        lambda s, deviation, size: queries_for_width(deviation, size, alpha=s.alpha),
        lambda s, deviation, queries: interval_width(deviation, queries, alpha=s.alpha),
    ),
}  # fmt: skip


# ---- the plan --------------------------------------------------------------------------------------------------------


SIZES: Final = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1)
NEXT_TO: Final = 1e-4  # deviations; a margin this close to what is truly lost is no rung of a ladder
SPOKEN: Final = 3  # answers, up to which there is a sentence for each
SETS: Final = (25, 50, 100, 200, 500, 1000, 2000, 5000, 10_000)


@dataclass(frozen=True, slots=True)
class Answer:
    """So many queries answer the question for this size; `at_most` allows for the pilot's uncertainty."""

    question: str
    size: float
    queries: int
    at_most: int | None = None


@dataclass(frozen=True, repr=False)
class Plan(Shown):
    """Queries needed, and what sets of queries show."""

    shown_by: ClassVar[str] = "plan"
    title = "How many queries"

    deviation: Deviation
    setting: Setting
    questions: tuple[str, ...]
    answers: tuple[Answer, ...]
    sets: dict[int, dict[str, float]]  # queries → question → smallest size

    def curve(self, question: str, numbers: Iterable[int], deviation: float | None = None) -> list[float]:
        """The smallest size that each of these numbers of queries shows."""
        of = self.deviation.value if deviation is None else deviation
        return [QUESTIONS[question].size(self.setting, of, queries) for queries in numbers]

    def meanings(self, but: Collection[str] = ()) -> list[str]:
        """What each question asks, in words, but for some."""
        asked = [question for question in self.questions if question not in but]
        return [f"{question}: {QUESTIONS[question].words(self.setting, '')}." for question in asked]

    @property
    def spoken(self) -> list[Answer]:
        """What was asked, where that is little; of much, such as a ladder, the middle of the first question."""
        shown = [Answer(question, size, n) for n, sizes in self.sets.items() for question, size in sizes.items()]
        if len(self.answers) + len(shown) <= SPOKEN:
            return [*self.answers, *shown]
        first = [each for each in self.answers or shown if each.question == self.questions[0]]
        return [first[(len(first) - 1) // 2]]

    def sentence(self, answer: Answer) -> str:
        """The answer in words."""
        most = f", at most {answer.at_most:,}" if answer.at_most else ""
        words = QUESTIONS[answer.question].words(self.setting, f"{round(answer.size, 4) or answer.size:g}")
        return f"{counted(answer.queries, 'query', 'queries')}{most}: {words}."

    def data(self, **choices: Any) -> dict[str, Any]:
        """Everything that JSON holds."""
        pilot, setting = self.deviation, self.setting
        known = {
            "measure": pilot.measure, "queries": pilot.queries, "systems": pilot.systems,
            "protocol": pilot.protocol or None,
        }  # fmt: skip
        return {
            "deviation": Estimate(pilot.value, *pilot.interval or ()),
            "pilot": known if pilot.systems else None,
            "power": setting.power,
            "alpha": setting.alpha,
            "systems": setting.systems,
            "comparisons": setting.comparisons,
            "expected": setting.expected,
            "needed": [asdict(each) for each in self.answers],
            "sets": [{"queries": queries, **sizes} for queries, sizes in self.sets.items()],
        }


def plan(
    deviation: float | Deviation | Mapping[str, Result],
    *,
    differences: float | Iterable[float] = (),
    margins: float | Iterable[float] = (),
    interval_widths: float | Iterable[float] = (),
    query_counts: int | Iterable[int] = (),
    systems: int = 2,
    with_baseline: bool = False,
    expected: float = 0.0,
    power: float = POWER,
    alpha: float = ALPHA,
) -> Plan:
    """Queries needed for differences, gates and intervals of these sizes; and what sets of queries can show.

    `deviation` is that of the differences between two systems, or a pilot: what `evaluate_runs` gives of two or more.
    Without any size or number, a ladder of usual ones; margins that a system of the expected loss can never keep are
    left out. `systems` are compared in every pair, `with_baseline` each with one of them; `expected` is the true
    difference that a gate will meet.

    >>> plan(0.2, differences=0.02).answers[0].queries
    787
    """
    given = _given(deviation)
    setting = Setting(systems, with_baseline, expected, power, alpha)
    asked = {"difference": _several(differences), "margin": _several(margins), "width": _several(interval_widths)}
    sets = _several(query_counts)
    _check(given, asked, sets)
    ladder = not any(asked.values()) and not sets
    if ladder:
        asked = dict.fromkeys(asked, _scaled(SIZES, given.value))
        asked["margin"] = [size for size in asked["margin"] if size + setting.expected > NEXT_TO * given.value]
        sets = sorted({*SETS, *([given.queries] if given.queries else [])})
    if setting.systems > 2 and not setting.with_baseline:
        asked["range"] = asked["difference"]
    questions = [name for name in QUESTIONS if asked.get(name) or (ladder and name in asked)]
    questions = questions or [name for name in QUESTIONS if name in asked]
    return Plan(
        given,
        setting,
        tuple(questions),
        tuple(_answers(given, setting, {name: asked[name] for name in questions})),
        {number: {q: QUESTIONS[q].size(setting, given.value, number) for q in questions} for number in sets},
    )


def _given(deviation: float | Deviation | Mapping[str, Result]) -> Deviation:
    """The deviation as it was given, or that of a pilot's results."""
    if isinstance(deviation, Deviation):
        return deviation
    if not isinstance(deviation, Mapping):
        if isinstance(deviation, bool) or not isinstance(deviation, numbers.Real):
            what = "a number such as 0.2, or a pilot: plan(evaluate_runs(judgments, runs, 'nDCG@10'))"
            raise InputError(f"deviation is {shortened(str(deviation))}; expected {what}")
        return Deviation(float(deviation))
    measures = values_of_results(deviation)
    if len(measures) > 1:
        raise InputError(f"the pilot has {', '.join(measures)}; evaluate it by one measure")
    return deviation_of(next(iter(measures.values())))


def _answers(deviation: Deviation, setting: Setting, asked: dict[str, list[float]]) -> Iterator[Answer]:
    for question, sizes in asked.items():
        needed = QUESTIONS[question].queries
        for size in sizes:
            high = deviation.interval and needed(setting, deviation.interval[1], size)
            yield Answer(question, size, needed(setting, deviation.value, size), high or None)


def _check(deviation: Deviation, asked: dict[str, list[float]], sets: list[int]) -> None:
    if not deviation.value > 0 or not math.isfinite(deviation.value):
        raise InputError(f"the deviation of the differences is more than 0, not {deviation.value:g}")
    for question, sizes in asked.items():
        for size in sizes:
            if not (math.isfinite(size) and size > 0):
                raise InputError(f"a {question} is more than 0, not {size:g}; 0.02 is two points")
    for number in sets:
        if number < 2:
            raise InputError(f"a set has at least two queries, not {number}")


def _several(given: Number | Iterable[Number]) -> list[Number]:
    """One number, or several."""
    return list(given) if isinstance(given, Iterable) else [given]


def _scaled(sizes: Iterable[float], deviation: float) -> list[float]:
    """The usual sizes, for a measure between 0 and 1; larger ones where the deviation says that it is not."""
    scale = 10.0 ** (math.floor(math.log10(deviation)) + 1) if deviation > 1 else 1.0
    return [size * scale for size in sizes]
