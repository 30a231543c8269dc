"""How many queries an experiment needs, and what a given set of queries can show.

    pilot or deviation ──▶ Deviation ──plan──▶ Plan ──show──▶ people

Everything rests on one number: the standard deviation of the differences between two systems, query by query.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Final

from rankgauge.comparison.plan.pilot import Deviation
from rankgauge.comparison.plan.questions import QUESTIONS, Question, Setting
from rankgauge.errors import InputError
from rankgauge.shown import Shown, clean
from rankgauge.stats.estimate import Estimate

__all__ = ["QUESTIONS", "Answer", "Plan", "Question", "Setting", "plan"]

SIZES: Final = (0.005, 0.01, 0.02, 0.03, 0.05, 0.1)
NEXT_TO: Final = 1e-4  # deviations; a margin this close to what is truly lost is no rung of a ladder
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

    deviation: Deviation
    setting: Setting
    questions: tuple[str, ...]
    answers: tuple[Answer, ...]
    sets: dict[int, dict[str, float]]  # queries → question → smallest size

    def curve(self, question: str, numbers: Iterable[int], deviation: float | None = None) -> list[float]:
        """The smallest size that each of these numbers of queries shows."""
        of = self.deviation.value if deviation is None else deviation
        return [QUESTIONS[question].size(self.setting, of, queries) for queries in numbers]

    @property
    def title(self) -> str:
        """What was asked."""
        return "How many queries"

    @property
    def meanings(self) -> list[str]:
        """What each question asks, in words."""
        return [f"{question}: {QUESTIONS[question].words(self.setting)}." for question in self.questions]

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON: NaN is None."""
        pilot, setting = self.deviation, self.setting
        known = {"measure": pilot.measure, "queries": pilot.queries, "systems": pilot.systems}
        data = {
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
        cleaned: dict[str, Any] = clean(data)
        return cleaned


def plan(
    deviation: float | Deviation,
    *,
    differences: Iterable[float] = (),
    margins: Iterable[float] = (),
    interval_widths: Iterable[float] = (),
    query_counts: Iterable[int] = (),
    setting: Setting | None = None,
) -> Plan:
    """Queries needed for differences, gates and intervals of these sizes; and what sets of so many queries show.

    Without any size or number, a ladder of usual ones; margins that a system of the expected loss can never keep are
    left out.

    >>> plan(0.2, differences=[0.02]).answers[0].queries
    787
    """
    given = deviation if isinstance(deviation, Deviation) else Deviation(float(deviation))
    setting = setting or Setting()
    asked = {"difference": [*differences], "margin": [*margins], "width": [*interval_widths]}
    sets = [*query_counts]
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


def _scaled(sizes: Iterable[float], deviation: float) -> list[float]:
    """The usual sizes, for a measure between 0 and 1; larger ones where the deviation says that it is not."""
    scale = 10.0 ** (math.floor(math.log10(deviation)) + 1) if deviation > 1 else 1.0
    return [size * scale for size in sizes]
