"""How papers mark significance: letters for the systems that are beaten, daggers against a baseline, and the legend."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rankgauge.comparison.verdict import BETTER, NOT_SIGNIFICANT, WORSE
from rankgauge.show.model import Column, Mark

__all__ = ["DAGGERS", "TESTS", "VERDICTS", "beaten_letters", "decision_mark", "delta_column", "legend", "letter"]
__all__ += ["letters"]

# The decision of system against baseline → its mark.
DAGGERS: Final = {BETTER: "†", WORSE: "‡"}
# The decision of any pair → the kind of its cell.
DECISIONS: Final = {BETTER: "good", WORSE: "bad", NOT_SIGNIFICANT: "quiet"}
# The same → the kind of a sentence that says it.
VERDICTS: Final = {BETTER: "good", WORSE: "bad", NOT_SIGNIFICANT: "warn"}
# Method → how a paper calls it.
TESTS: Final = {
    "maxt": "sign-flip test, adjusted by single-step max-T over {pairs} pairs",
    "holm": "sign-flip test, Holm over {pairs} pairs",
    "bh": "sign-flip test, Benjamini-Hochberg over {pairs} pairs",
    "by": "sign-flip test, Benjamini-Yekutieli over {pairs} pairs",
    "tukey": "two-way Tukey HSD over {pairs} pairs",
    "randomised-tukey": "randomised Tukey HSD over {pairs} pairs",
    "none": "sign-flip test, {pairs} pairs, not adjusted",
}


def decision_mark(decision: str) -> Mark:
    """A decision as a cell."""
    return Mark(decision, DECISIONS[decision])


def letter(number: int) -> str:
    """The name of a row: a, b, …, z, aa, ab, …"""
    first, last = divmod(number, 26)
    return (letter(first - 1) if first else "") + chr(ord("a") + last)


def letters(numbers: Iterable[int]) -> str:
    """The letters of some rows, together where that can be read."""
    found = [letter(number) for number in sorted(numbers)]
    return ",".join(found) if any(len(each) > 1 for each in found) else "".join(found)


def beaten_letters(names: Sequence[str], pairs: Iterable[Any]) -> dict[str, str]:
    """System → the letters of those that it is better than, adjusted for all comparisons."""
    place = {name: at for at, name in enumerate(names)}
    beaten: dict[str, list[int]] = {name: [] for name in names}
    for pair in pairs:
        if pair.adjusted_decision in (BETTER, WORSE):
            winner, loser = (pair.a, pair.b) if pair.adjusted_decision == BETTER else (pair.b, pair.a)
            beaten[winner].append(place[loser])
    return {name: letters(numbers) for name, numbers in beaten.items()}


def delta_column(means: Mapping[str, float], baseline: str, deltas: str) -> tuple[Column, list[float | None]]:
    """The differences from the baseline, in the units of the measure or in percent."""
    against = means[baseline]
    if deltas == "relative":
        changes = {name: (mean - against) / against if against > 0 else None for name, mean in means.items()}
    else:
        changes = {name: mean - against for name, mean in means.items()}
    kind = "percent" if deltas == "relative" else "signed"
    return Column("Δ", kind), [None if name == baseline else change for name, change in changes.items()]


def legend(test: str, alpha: float, *, baseline: str | None, deltas: str, systems: int) -> str:
    """What the faces and marks of a table mean."""
    faces = "Best in bold, second underlined." if systems > 2 else "Best in bold."
    level = f"({test}, p ≤ {alpha:g})"
    if baseline is None:
        return f"{faces} Superscripts: the systems that are significantly worse {level}."
    marks = f"† significantly better than {baseline}, ‡ significantly worse {level}."
    percent = " in percent" if deltas == "relative" else ""
    return f"{faces} {marks}" + ("" if deltas == "none" else f" Δ: difference from {baseline}{percent}.")
