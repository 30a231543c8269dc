"""Judged: what became of the pairs that a judge was asked about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rankgauge.errors import Doubt, RankgaugeError, counted
from rankgauge.judge.money import amount
from rankgauge.judge.scale import spelt
from rankgauge.shown import Shown
from rankgauge.systems.workers import INTERRUPTED
from rankgauge.trust.judges.licence import OFF_SCALE, doubts_of_grades

if TYPE_CHECKING:
    from rankgauge.judge.scale import Scale

__all__ = ["Judged", "JudgingOpen"]

Outcome = tuple[str, float | None, str | None]  # state, grade, reason


# What has no text → what helps.
NO_TEXT: Final = {
    "document": "no text to judge; name its file: [documents] file = …",
    "query": "the query has no text; import it: rankgauge store import QUERIES --queries",
}


class JudgingOpen(RankgaugeError):
    """Some pairs have no grade."""

    exit_code: ClassVar[int] = 4


@dataclass(frozen=True, eq=False, repr=False)
class Judged(Shown):
    """What a judge said of pairs: `outcomes` of (query, document, repeat), `errors` of pairs that got no answer.

    `before` of the outcomes were stored already; `foreign` answers of files were to no question here. `silent` pairs
    were not asked, for there is no text of the query or of the document; the documents of `cut` pairs were longer than
    what is shown. `models` are all that have answered as this judge, `settings` what makes it this judge.
    """

    shown_by: ClassVar[str] = "judged"

    judge: str
    kind: str
    scale: Scale
    pairs: int
    repeats: int = 1
    before: int = 0
    outcomes: Mapping[tuple[str, str, int], Outcome] = field(default_factory=dict)
    errors: Mapping[tuple[str, str], str] = field(default_factory=dict)
    silent: Mapping[tuple[str, str], str] = field(default_factory=dict)
    cut: int = 0
    calls: int = 0
    tokens: tuple[int, int] = (0, 0)
    cost: float | None = None
    currency: str = ""
    models: tuple[str, ...] = ()
    thin: int = 0
    seconds: float = 0.0
    stopped: str | None = None
    foreign: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Who judged."""
        return f"Grades of {self.judge}"

    @cached_property
    def states(self) -> Counter[str]:
        """State → how many pairs ended so: graded where any of its answers has a grade."""
        by_pair: dict[tuple[str, str], set[str]] = {}
        for (query, doc, _), (state, _, _) in self.outcomes.items():
            by_pair.setdefault((query, doc), set()).add(state)
        order = ("graded", "refused", "failed")
        return Counter(next(state for state in order if state in states) for states in by_pair.values())

    @property
    def graded(self) -> int:
        """How many pairs have a grade."""
        return self.states["graded"]

    @property
    def open(self) -> int:
        """How many pairs have none."""
        return self.pairs - self.graded

    @property
    def lacking(self) -> str:
        """How many pairs have none, in words."""
        return f"{self.open:,} of {counted(self.pairs, 'pair')} {'has' if self.open == 1 else 'have'} no grade"

    @property
    def paid(self) -> str:
        """What it cost, as people write it; nothing where no prices are known."""
        return "" if self.cost is None else amount(self.cost, self.currency)

    @property
    def interrupted(self) -> bool:
        """Whether it was ended by Ctrl-C."""
        return self.stopped == INTERRUPTED

    @cached_property
    def grades(self) -> dict[float, int]:
        """Grade → how many answers gave it."""
        counts = Counter(grade for state, grade, _ in self.outcomes.values() if grade is not None)
        return {grade: counts[grade] for grade in self.scale.grades}

    @property
    def doubts(self) -> list[Doubt]:
        """Why the grades tell little."""
        outside = sum(state == "failed" and OFF_SCALE in (reason or "") for state, _, reason in self.outcomes.values())
        return [*doubts_of_grades(self.judge, self.grades, self.graded, self.scale.grades, outside)]

    @cached_property
    def consistency(self) -> float | None:
        """Of pairs that were asked about more than once: the mean share of answers that gave the commonest grade."""
        grades: dict[tuple[str, str], list[float]] = {}
        for (query, doc, _), (_, grade, _) in self.outcomes.items():
            if grade is not None:
                grades.setdefault((query, doc), []).append(grade)
        shares = [max(Counter(each).values()) / len(each) for each in grades.values() if len(each) > 1]
        return sum(shares) / len(shares) if shares else None

    @cached_property
    def reasons(self) -> dict[str, list[tuple[str, str]]]:
        """Why pairs have no grade → which, the commonest reason first."""
        graded = {key[:2] for key, (state, _, _) in self.outcomes.items() if state == "graded"}
        found: dict[str, dict[tuple[str, str], None]] = {}
        for (query, doc, _), (state, _, reason) in self.outcomes.items():
            if (query, doc) not in graded:
                found.setdefault(f"{state}: {reason}", {})[query, doc] = None
        for pair, error in self.errors.items():
            if pair not in graded:
                found.setdefault(f"no answer: {error}", {})[pair] = None
        for pair, lacking in self.silent.items():
            found.setdefault(NO_TEXT[lacking], {})[pair] = None
        return {why: [*pairs] for why, pairs in sorted(found.items(), key=lambda each: (-len(each[1]), each[0]))}

    def data(self) -> dict[str, Any]:
        """What JSON holds."""
        names = ("judge", "kind", "repeats", "before", "graded", "open", "cut", "foreign", "calls", "cost", "currency")
        return {
            **{name: getattr(self, name) for name in names},
            "pair_count": self.pairs,
            **{state: self.states[state] for state in ("refused", "failed")},
            "no_answer": len(self.errors),
            "no_text": len(self.silent),
            "tokens": {"input": self.tokens[0], "output": self.tokens[1]},
            "grades": {spelt(grade): count for grade, count in self.grades.items()},
            "consistency": self.consistency,
            "models": list(self.models),
            "reasons": {why: len(pairs) for why, pairs in self.reasons.items()},
            "seconds": self.seconds,
            "stopped": self.stopped,
            **({"warnings": self.doubts} if self.doubts else {}),
        }
