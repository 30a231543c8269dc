"""A scale: grades with their words, one text that the prompt, the schema and the guideline for people share."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rankgauge.errors import InputError, choices

__all__ = ["BINARY", "GRADED", "SCALES", "Scale", "spelt"]

NUMBER: Final = re.compile(r"[0-9]+(\.[0-9]+)?")
HIGHEST: Final = 1_000_000  # that a grade may be


def spelt(grade: float) -> str:
    """A grade as it is written: 2, and 0.5.

    >>> spelt(2.0), spelt(0.5)
    ('2', '0.5')
    """
    return str(int(grade)) if grade == int(grade) else repr(float(grade))


@dataclass(frozen=True)
class Scale:
    """Grades with their words, the lowest first: `((0, "Irrelevant: …"), …, (3, "Perfectly relevant: …"))`."""

    levels: tuple[tuple[float, str], ...]

    @classmethod
    def of(cls, given: Any, folder: str | os.PathLike[str] = ".", where: str = "scale") -> Scale:
        """A scale by its name, from a TOML file, from a table of grade = words, from words or from grades alone."""
        if isinstance(given, Scale):
            return given
        if isinstance(given, str | os.PathLike):
            name = os.fspath(given)
            return SCALES[name] if name in SCALES else _of_file(Path(folder, name), where)
        if isinstance(given, Mapping):
            return cls(_levels(given.items(), where))
        if isinstance(given, list | tuple):
            texts = bool(given) and all(isinstance(each, str) and not NUMBER.fullmatch(each) for each in given)
            return cls(_levels(enumerate(given) if texts else ((each, "") for each in given), where))
        raise InputError(f'{where} = {given!r}; expected a table, such as {{ 0 = "Irrelevant", 1 = "Relevant" }}')

    @property
    def grades(self) -> tuple[float, ...]:
        """The grades alone."""
        return tuple(grade for grade, _ in self.levels)

    @property
    def numbers(self) -> list[float]:
        """The grades as JSON has them: whole ones without a point."""
        return [int(grade) if grade == int(grade) else grade for grade in self.grades]

    @property
    def listed(self) -> str:
        """The grades in a sentence: 0, 1, 2 or 3."""
        return choices(map(spelt, self.grades))

    @property
    def words(self) -> str:
        """A line for each grade: what the prompt, the schema and the guideline for people say of it."""
        return "\n".join(f"{spelt(grade)} = {words}" if words else spelt(grade) for grade, words in self.levels)

    def to_dict(self) -> dict[str, str]:
        """Grade → words, of which `of` makes the scale again."""
        return {spelt(grade): words for grade, words in self.levels}

    def grade_of(self, value: Any) -> float | None:
        """The grade that a number, or the text of one, is; None where the scale has no such grade.

        >>> GRADED.grade_of("2"), GRADED.grade_of(2.0), GRADED.grade_of("7"), GRADED.grade_of(True)
        (2.0, 2.0, None, None)
        """
        number = _number(value)
        return number if number in self.grades else None

    def grade_called(self, words: str) -> float | None:
        """The grade with this name, which is what its words begin with, up to a colon."""
        called = words.strip().casefold()
        names = {text.partition(":")[0].strip().casefold(): grade for grade, text in self.levels if text}
        return names.get(called)


def _number(value: Any) -> float | None:
    """A number from 0 up, or the text of one."""
    if isinstance(value, str):
        value = float(value) if NUMBER.fullmatch(value.strip()) else None
    right = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= HIGHEST
    return float(value) if right else None


def _of_file(path: Path, where: str) -> Scale:
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        known = choices(f'"{name}"' for name in SCALES)
        raise InputError(f"{where}: there is no file {path}; expected {known}, or a TOML file") from None
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f'{path}: {error}; expected lines such as 0 = "Irrelevant"') from None
    inner = table.get("scale", table)
    return Scale.of(inner if isinstance(inner, Mapping | list) else {"scale": inner}, where=str(path))


def _levels(pairs: Iterable[tuple[Any, Any]], where: str) -> tuple[tuple[float, str], ...]:
    """The levels, checked and in order."""
    found: dict[float, str] = {}
    for given, words in pairs:
        if isinstance(words, Mapping):  # TOML takes 0.5 = "…" for a key 5 in a table 0
            inner = next(iter(words), "5")
            raise InputError(f'{where}: a grade with a point is written in quotes: "{given}.{inner}" = "…"')
        grade = _number(given)
        if grade is None:
            raise InputError(f"{where}: {given!r} is not a grade; expected a number from 0, such as 2 or 0.5")
        if not isinstance(words, str):
            raise InputError(f'{where}: {given} = {words!r}; expected words, such as {given} = "Relevant"')
        if grade in found:
            raise InputError(f"{where}: has grade {spelt(grade)} twice; keep one")
        found[grade] = " ".join(words.split())
    if len(found) < 2:
        held = f"one grade, {spelt(next(iter(found)))}" if found else "no grades"
        raise InputError(f"{where}: has {held}; a scale has two or more")
    return tuple(sorted(found.items()))


GRADED: Final = Scale.of(
    {
        0: "Irrelevant: it has nothing to do with the query, or only shares words with it.",
        1: "Related: it is on the topic, but does not give what is asked for.",
        2: "Highly relevant: it gives part of what is asked for, or gives it among other things or not clearly.",
        3: "Perfectly relevant: it gives just what is asked for, fully and clearly.",
    }
)
BINARY: Final = Scale.of(
    {
        0: "Not relevant: it does not help somebody who asks this.",
        1: "Relevant: it helps somebody who asks this, at least in part.",
    }
)
SCALES: Final = {"graded": GRADED, "binary": BINARY}
