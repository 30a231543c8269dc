"""The keys of a scale: what is pressed for a grade."""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_lowercase, digits
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import InputError
from rankgauge.judge.scale import spelt

if TYPE_CHECKING:
    from rankgauge.judge.scale import Scale

__all__ = ["TAKEN", "scale_keys", "scale_levels"]

TAKEN: Final = "sxnulgh"  # letters that do something else on the page of judging


def scale_keys(scale: Scale) -> tuple[str, ...]:
    """A key for each grade: its digit where every grade is one; else 1, 2, … in order; 0 to 9, then letters for many.

    >>> from rankgauge.judge.scale import GRADED, Scale
    >>> scale_keys(GRADED), scale_keys(Scale.of([0, 0.5, 1])), scale_keys(Scale.of([*range(11)]))[-2:]
    (('0', '1', '2', '3'), ('1', '2', '3'), ('9', 'a'))
    """
    grades = scale.grades
    if all(grade == int(grade) and grade <= 9 for grade in grades):
        return tuple(map(spelt, grades))
    free = digits + "".join(letter for letter in ascii_lowercase if letter not in TAKEN)
    keys = free[1:] if len(grades) <= 9 else free
    if len(grades) > len(keys):
        raise InputError(f"the scale has {len(grades)} grades; people can choose among {len(keys)} at most")
    return tuple(keys[: len(grades)])


def scale_levels(scale: Scale) -> list[dict[str, Any]]:
    """The grades as the page of judging has them: with key, name and meaning."""
    return [*_levels(scale)]


def _levels(scale: Scale) -> Iterator[dict[str, Any]]:
    for number, (grade, words), key in zip(scale.numbers, scale.levels, scale_keys(scale), strict=True):
        name, _, meaning = words.partition(":")
        yield {
            "grade": number, "text": spelt(grade), "key": key, "name": name.strip(), "meaning": meaning.strip(),
        }  # fmt: skip
