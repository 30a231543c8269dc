"""What the gate answers, and everything it rests on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from rankgauge.comparison.doubts import doubts_of_answers
from rankgauge.comparison.gate.answers import Compared, Minimum, counted_as, worst
from rankgauge.comparison.gate.claims import claim
from rankgauge.result import Evaluation
from rankgauge.shown import Shown
from rankgauge.stats.power import ALPHA

if TYPE_CHECKING:
    from rankgauge.comparison.saved import Saved
    from rankgauge.errors import Doubt
    from rankgauge.result import Result

__all__ = ["Check", "Lost"]


@dataclass(frozen=True, slots=True)
class Lost:
    """A query that is worse than it was."""

    measure: str
    query_id: str
    candidate: float
    baseline: float

    @property
    def difference(self) -> float:
        """Candidate − baseline."""
        return self.candidate - self.baseline


@dataclass(frozen=True, eq=False, repr=False)
class Check(Shown):
    """The answer of the gate, and everything it rests on."""

    shown_by: ClassVar[str] = "gate"

    name: str
    baseline: str
    compared: tuple[Compared, ...]
    minimums: tuple[Minimum, ...]
    lost_most: tuple[Lost, ...]
    fingerprints: dict[str, Any]
    protocol: dict[str, Any]
    candidate: Result
    old: Saved | None

    @property
    def title(self) -> str:
        """The answer, and what it asserts."""
        return claim(self)

    @property
    def tests(self) -> tuple[Compared | Minimum, ...]:
        """Everything that has an answer."""
        return (*self.compared, *self.minimums)

    @property
    def answer(self) -> str:
        """The worst answer of all."""
        return worst(each.answer for each in self.tests)

    def counts_as(self, inconclusive: str | None = None, unchanged: str | None = None) -> str:
        """The worst answer, where what cannot be told, and what did not change, count as another one."""
        return worst(counted_as(each.answer, inconclusive, unchanged) for each in self.tests)

    @property
    def warnings(self) -> list[Doubt]:
        """What is wrong with the run, and where the bounds should not be trusted; what is true of a difference and of a
        mean is said once."""
        evaluation = Evaluation.of([self.candidate])
        sampled = self.candidate.design.doubts() if self.candidate.design is not None else []
        files = [*evaluation.alarms, *doubts_of_answers({self.name: self.candidate}, self.candidate.measures[0])]
        tests = (doubt for each in self.tests for doubt in each.doubts)
        return [*dict.fromkeys([*files, *sampled, *evaluation.source_doubts, *tests])]

    @property
    def better(self) -> bool:
        """Whether a measure went up and none went down."""
        differences = [each.bounds.value for each in self.compared]
        return bool(differences) and min(differences) >= 0 and max(differences) > 0

    def data(self, **choices: Any) -> dict[str, Any]:
        """Everything that JSON holds."""
        return {
            "answer": self.answer,
            "candidate": self.name,
            "baseline": self.baseline or None,
            "level": 1 - ALPHA,
            "sides": 1,
            "measures": {each.measure: _compared_data(each) for each in self.compared},
            "minimums": {each.measure: _minimum_data(each) for each in self.minimums},
            "lost_most": [asdict(each) | {"difference": each.difference} for each in self.lost_most],
            "warnings": self.warnings,
            **({"sample": self.candidate.design.data()} if self.candidate.design is not None else {}),
            "protocol": self.protocol,
            "fingerprints": self.fingerprints,
        }


def _compared_data(each: Compared) -> dict[str, Any]:
    drift = each.drift and {
        "first": each.drift.first, "difference": each.drift.bounds, "baselines": each.drift.baselines,
    }  # fmt: skip
    return {
        "candidate": each.candidate,
        "baseline": each.baseline,
        "difference": each.bounds,
        "margin": each.margin,
        "answer": each.answer,
        "queries": each.queries,
        "dropped": len(each.dropped),
        "dropped_ids": each.dropped,
        "queries_needed": each.queries_needed,
        "unseen_share": each.unseen,
        **({"moved": asdict(each.moved)} if each.moved is not None else {}),
        "drift": drift,
    }


def _minimum_data(each: Minimum) -> dict[str, Any]:
    return {
        **each.bounds._asdict(),
        "minimum": each.minimum,
        "answer": each.answer,
        "queries": each.queries,
        "queries_needed": each.queries_needed,
        "unseen_share": each.unseen,
    }
