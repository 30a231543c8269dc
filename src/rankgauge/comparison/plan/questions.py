"""The questions that a plan answers, in one table: in words, and solved for the queries or for the size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

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

__all__ = ["QUESTIONS", "Question", "Setting"]


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

    words: Callable[[Setting], str]
    queries: Callable[[Setting, float, float], int]  # setting, deviation, size
    size: Callable[[Setting, float, int], float]  # setting, deviation, queries


def _difference_words(setting: Setting) -> str:
    words = f"a true difference of this size is found with power {setting.power:g} (paired t-test, two-sided)"
    if setting.comparisons == 1:
        return words
    return f"{words}, in any one of {setting.comparisons:,} pairs that share alpha"


def _level(alpha: float) -> str:
    """1 − alpha in per cent, with as many digits as it takes."""
    return f"{(100 - 100 * Decimal(repr(alpha))).normalize():f}"


def _margin_words(setting: Setting) -> str:
    system = "just as good" if setting.expected == 0 else f"truly {setting.expected:+g}"
    return f"a gate with this margin passes a system that is {system}, with power {setting.power:g} (one-sided)"


QUESTIONS: Final = {
    "difference": Question(
        _difference_words,
        lambda s, deviation, size: queries_needed(deviation, size, power=s.power, alpha=s.shared_alpha),
        lambda s, deviation, queries: detectable(deviation, queries, power=s.power, alpha=s.shared_alpha),
    ),
    "range": Question(
        lambda s: f"best and worst of {s.systems} systems differ by this, and an analysis of variance finds that they "
        f"are not all equal, with power {s.power:g}",
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
        lambda s: f"the {_level(s.alpha)} % interval of a difference is on average this wide, from end to end",
        lambda s, deviation, size: queries_for_width(deviation, size, alpha=s.alpha),
        lambda s, deviation, queries: interval_width(deviation, queries, alpha=s.alpha),
    ),
}  # fmt: skip
