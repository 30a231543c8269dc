"""The answers of the gate, measure by measure, and what each rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankgauge.errors import Doubt
    from rankgauge.stats.estimate import Estimate

__all__ = ["ANSWERS", "Answered", "Compared", "Drift", "Minimum", "Moved", "counted_as", "worst"]

ANSWERS: Final = ("fail", "inconclusive", "pass", "unchanged")  # the worst first


def worst(answers: Iterable[str]) -> str:
    """The worst of some answers."""
    return min(answers, key=ANSWERS.index)


def counted_as(answer: str, inconclusive: str | None, unchanged: str | None) -> str:
    """The answer, or what it is to count as: `unchanged` may count as inconclusive, and that again as another."""
    answer = unchanged or answer if answer == "unchanged" else answer
    return inconclusive or answer if answer == "inconclusive" else answer


@dataclass(frozen=True, slots=True)
class Drift:
    """How far the candidate is from the first baseline that this one descends from; the answer that this would be."""

    first: float
    bounds: Estimate
    baselines: int
    answer: str


@dataclass(frozen=True, slots=True)
class Moved:
    """On how many queries the first results differ, and on how many a document came into them that nobody judged.

    `depth` is how many results were looked at, None where all were.
    """

    results: int
    unjudged: int
    depth: int | None


@dataclass(frozen=True, slots=True)
class Answered:
    """One measure of the candidate: its bounds, one-sided 95 %, and whether they keep to what is wanted.

    `unseen` is the share of searches that a change may touch, and no judged query show it. `units` are the queries that
    were left to chance, `units_changed` those of them with another value than before.
    """

    measure: str
    bounds: Estimate
    answer: str
    queries: int
    queries_needed: int | None
    doubts: tuple[Doubt, ...]
    unseen: float
    units: int
    units_changed: int


@dataclass(frozen=True, slots=True)
class Compared(Answered):
    """One measure of the candidate against the baseline; the bounds are those of candidate − baseline.

    `changed` says that a value did, `known` is how many queries every sample contains, and `reach` the most that a
    query can lose. Where no value changed, `moved` says what did, if the rankings are there.
    """

    candidate: float
    baseline: float
    margin: float
    dropped: dict[str, str]
    drift: Drift | None
    moved: Moved | None
    changed: bool
    known: int
    reach: float

    @property
    def census(self) -> bool:
        """Whether every query of the log was measured, so that nothing is left to chance."""
        return not self.units and bool(self.known)

    @property
    def may_hide_a_loss(self) -> bool:
        """Whether it passes, and a loss beyond the margin could lie in queries like none of these."""
        return self.answer == "pass" and self.unseen * self.reach > self.margin


@dataclass(frozen=True, slots=True)
class Minimum(Answered):
    """One measure of the candidate against a number that its mean must reach."""

    minimum: float
