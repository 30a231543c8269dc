"""How papers mark significance: letters for the systems that are beaten, daggers against a baseline, and the legend."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

__all__ = ["DAGGERS", "DELTAS", "change", "legend", "letter", "letters"]

# The decision of system against baseline → its mark.
DAGGERS: Final = {"better": "†", "worse": "‡"}
# How a table shows the differences from the baseline.
DELTAS: Final = {
    "absolute": "in the units of the measure",
    "relative": "in percent of the baseline",
    "none": "not at all",
}


def letter(number: int) -> str:
    """The name of a row: a, b, …, z, aa, ab, …"""
    first, last = divmod(number, 26)
    return (letter(first - 1) if first else "") + chr(ord("a") + last)


def letters(numbers: Iterable[int]) -> str:
    """The letters of some rows, together where that can be read."""
    found = [letter(number) for number in sorted(numbers)]
    return ",".join(found) if any(len(each) > 1 for each in found) else "".join(found)


def change(value: float, baseline: float, kind: str, digits: int) -> str:
    """The difference from a baseline: +0.0123, or +3.1 %."""
    if kind == "relative":
        return f"{_rounded(100 * (value - baseline) / baseline, 1):+.1f} %" if baseline else "–"
    return f"{_rounded(value - baseline, digits):+.{digits}f}"


def _rounded(value: float, digits: int) -> float:
    """The value as it is shown, without a negative 0."""
    return round(value, digits) + 0.0


def legend(lead: str, test: str, alpha: float, *, baseline: str | None, deltas: str, systems: int) -> str:
    """What stands under (or above) a table: what its numbers, faces and marks mean."""
    faces = "Best in bold, second underlined." if systems > 2 else "Best in bold."
    level = f"({test}, p ≤ {alpha:g})"
    if baseline is None:
        marks = f"Superscripts: the systems that are significantly worse {level}."
        return f"{lead} {faces} {marks}"
    marks = f"† significantly better than {baseline}, ‡ significantly worse {level}."
    percent = " in percent" if deltas == "relative" else ""
    return f"{lead} {faces} {marks}" + ("" if deltas == "none" else f" Δ: difference from {baseline}{percent}.")
