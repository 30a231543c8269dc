"""Looped: what came of the loop, step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from rankgauge.errors import RankgaugeError
from rankgauge.shown import Shown
from rankgauge.store.checks import agreement_in_brief

if TYPE_CHECKING:
    from rankgauge.comparison.comparison import Comparison
    from rankgauge.judge.judged import Judged
    from rankgauge.result import Evaluation

__all__ = ["ALL", "NOW", "Answers", "LoopOpen", "Looped", "Progress", "Step"]

ALL: Final = "all"  # of the systems, where they are asked again
NOW: Final = "just now"  # the age of answers of this loop
Progress = Callable[[str, int, int, int], None]  # system or judge, how much is done, of how much, how much failed


class LoopOpen(RankgaugeError):
    """A step has not come to its end."""

    exit_code: ClassVar[int] = 4


class Step(NamedTuple):
    """What became of a step: `kept` where its inputs have not changed, and nothing was done."""

    name: str
    words: str
    kept: bool = False


class Answers(NamedTuple):
    """The answers of a system: the address of their run, the moment at which it began, and their age in words."""

    run: str
    began: str
    age: str


@dataclass(frozen=True, eq=False, repr=False)
class Looped(Shown):
    """What came of the loop: its steps, and what they found, as far as it went.

    `unfit` are judges that cannot judge; `asked` has the answers of every system, with their age.
    """

    shown_by: ClassVar[str] = "looped"

    project: str
    steps: tuple[Step, ...]
    pooled: int = 0
    judged: tuple[Judged, ...] = ()
    checked: tuple[Mapping[str, Any], ...] = ()
    evaluation: Evaluation | None = None
    comparison: Comparison | None = None
    report: str | None = None
    cautions: tuple[str, ...] = ()
    unfit: tuple[str, ...] = ()
    asked: Mapping[str, Answers] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Whose loop it is."""
        return f"The loop of {self.project}"

    @property
    def failed(self) -> int:
        """Pairs that a judge could not grade."""
        return sum(each.open for each in self.judged)

    @property
    def agreement(self) -> dict[str, str]:
        """Judge → how far it agrees with people, in a line, where it was checked."""
        return {each["judge"]: agreement_in_brief(each["judge"], each, each.get("paid", "")) for each in self.checked}

    @property
    def older(self) -> str:
        """The system whose answers are those of an earlier loop; all where there are several, nothing where none."""
        names = [name for name, each in self.asked.items() if each.age != NOW]
        return ALL if len(names) > 1 else "".join(names)

    def check(self) -> None:
        """Refuse labels of judges that cannot judge."""
        if self.unfit:
            raise LoopOpen(f"judge: {'; '.join(self.unfit)}. Fix the judge first")

    def data(self) -> dict[str, Any]:
        """What JSON holds."""
        return {
            "project": self.project,
            "steps": [step._asdict() for step in self.steps],
            "judged": [each.data() for each in self.judged],
            "checked": list(self.checked),
            "evaluation": None if self.evaluation is None else self.evaluation.data(),
            "comparison": None if self.comparison is None else self.comparison.to_dict(),
            "report": self.report,
            "cautions": list(self.cautions),
            "unfit": list(self.unfit),
            "asked": {name: each._asdict() for name, each in self.asked.items()},
        }
