"""What an alignment is asked for, checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final

from rankgauge.errors import InputError, choices, unknown
from rankgauge.stats.choice import CRITERIA
from rankgauge.trust.online.units import LARGEST

__all__ = ["LABELS", "Settings"]

# Where grades come from → what that means here.
LABELS: Final = {
    "judgments": "grades that somebody gave",
    "clicks": "clicks, purchases or revenue taken for grades",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """`step`: the offline change for which an online one is predicted; `above`: ship when the offline difference is
    above it; `by`: how the best of several offline columns is chosen; `labels`: where grades come from."""

    step: float = 0.01
    above: float = 0.0
    criterion: str = "pearson"
    labels: str = "judgments"
    alpha: float = 0.05

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Settings:
        """Settings by their names; one that is not known is an error with the names that are."""
        known = [each.name for each in fields(cls)]
        for name in given:
            if name not in known:
                raise InputError(unknown(f"{name}= is no setting of align", name, known))
        return cls(**given)

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise InputError(f"alpha={self.alpha!r}: a level is between 0 and 1, such as 0.05")
        if not math.isfinite(self.step) or self.step == 0:
            raise InputError(f"step={self.step!r}: give the offline change to predict from, such as 0.01")
        if abs(self.step) > LARGEST:
            raise InputError(f"step={self.step!r}: give a change of at most {LARGEST:g}; the columns are no larger")
        if not math.isfinite(self.above):
            raise InputError(f"above={self.above!r}: give the offline difference above which a change is shipped")
        for name, value, known in (("criterion", self.criterion, CRITERIA), ("labels", self.labels, LABELS)):
            if value not in known:
                raise InputError(f"{name}={value!r} is not known; expected {choices(known)}")
