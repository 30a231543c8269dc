"""What a comparison is asked to do, as one frozen value, checked when it is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rankgauge.errors import InputError, choices, unknown
from rankgauge.stats.methods import ALSO, METHODS

__all__ = ["Settings"]


@dataclass(frozen=True, slots=True)
class Settings:
    """How to compare: against whom, by which method, with how many flips, and what to show beside the decision."""

    baseline: str | None = None
    method: str = "maxt"
    also: tuple[str, ...] = ()
    alpha: float = 0.05
    margin: float | None = None
    rope: float | None = None
    flips: int = 100_000
    seed: int = 0

    @property
    def beside(self) -> bool:
        """Whether anything is asked for beside the decision."""
        return bool(self.also) or self.margin is not None or self.rope is not None

    def __post_init__(self) -> None:
        _known("method", self.method, METHODS)
        for each in self.also:
            _known("also", each, ALSO)
        if not 0 < self.alpha < 1:
            raise InputError(f"alpha={self.alpha!r}: the level is between 0 and 1, such as 0.05")
        for name in ("margin", "rope"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise InputError(f"{name}={value!r}: give a difference above 0, in the units of the measure")
        if self.flips < 1 or self.seed < 0:
            raise InputError(f"flips={self.flips!r}, seed={self.seed!r}: flips are 1 or more, the seed 0 or more")


def _known(name: str, value: Any, table: dict[str, str]) -> None:
    if value not in table:
        raise InputError(unknown(f"{name}={value!r} is not known", value, table, f"expected {choices(table)}"))
