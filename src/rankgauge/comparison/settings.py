"""What a comparison is asked to do, one frozen value, checked when made; the methods, and what each controls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from rankgauge.errors import InputError, choices, unknown

__all__ = ["ALSO", "IDLE", "METHODS", "RANKS", "TUKEYS", "Also", "Method", "Settings"]

Method: TypeAlias = Literal["maxt", "holm", "bh", "by", "tukey", "randomised-tukey", "none"]
Also: TypeAlias = Literal[
    "maxt", "holm", "bh", "by", "tukey", "randomised-tukey", "wilcoxon", "sign", "bca", "studentised"
]

# Method → what it controls. FWER: the chance of any false claim in the family; FDR: the expected share of false ones.
METHODS: Final = {
    "maxt": "FWER",
    "holm": "FWER",
    "bh": "FDR",
    "by": "FDR",
    "tukey": "FWER",
    "randomised-tukey": "FWER",
    "none": "nothing",
}
TUKEYS: Final = frozenset({"tukey", "randomised-tukey"})
RANKS: Final = {"wilcoxon": "descriptive", "sign": "descriptive"}
IDLE: Final = {"bca": "no longer made", "studentised": "no longer made"}  # understood, and said to do nothing
# What can be shown beside the decision.
ALSO: Final = {**{name: METHODS[name] for name in METHODS if name != "none"}, **RANKS, **IDLE}


@dataclass(frozen=True, slots=True)
class Settings:
    """How to compare: against whom, by which method, with how many flips, and what to show beside the decision."""

    baseline: str | None = None
    method: str | None = None  # decides; None: every pair decides for itself, and max-T stands beside it
    also: tuple[str, ...] = ()
    alpha: float = 0.05
    margin: float | None = None
    rope: float | None = None
    flips: int = 100_000
    seed: int = 0

    @property
    def adjusting(self) -> str:
        """The method by which p is adjusted for all comparisons."""
        return self.method or "maxt"

    @property
    def beside(self) -> bool:
        """Whether anything is asked for beside the decision."""
        return bool(self.also) or self.margin is not None or self.rope is not None

    def __post_init__(self) -> None:
        if self.method is not None:
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
