"""Texts that are too long for their place: how wide they are, and how they are cut so that they stay different."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, takewhile

from rankgauge.show.cells import printable

__all__ = ["cut_apart", "short", "some_names", "width_of"]


def _char_width(char: str) -> int:
    from unicodedata import combining, east_asian_width  # which most texts do not need

    return 0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1


def width_of(words: str) -> int:
    """How many columns of a terminal a text takes: wide characters take two."""
    return len(words) if words.isascii() else sum(map(_char_width, words))


def short(words: str, width: int = 28) -> str:
    """The text, with its middle left out where it is long, on one line."""
    words = printable(words)
    if width_of(words) <= width:
        return words
    end = (width - 1) // 2
    return f"{_cut(words, width - 1 - end)}…{_cut(words[::-1], end)[::-1]}"


def _cut(words: str, width: int) -> str:
    taken = accumulate(map(_char_width, words))
    return words[: sum(each <= width for each in taken)]


def cut_apart(names: Iterable[str], width: int) -> dict[str, str]:
    """Name → how it is shown in so many columns. Names that would look the same lose what they share instead of their
    middle; as a last resort they are numbered.

    >>> cut_apart(["bm25-monot5-base-top100", "bm25-monobert-base-top100"], 14)
    {'bm25-monot5-base-top100': '…monot5…', 'bm25-monobert-base-top100': '…monobert…'}
    """
    shown = {name: short(name, width) for name in names}
    for alike in _alike(shown):
        shown |= _told_apart(alike, width)
    for alike in _alike(shown):
        marks = {name: f" {number}" for number, name in enumerate(alike, 1)}
        shown |= {name: short(name, width - len(mark)) + mark for name, mark in marks.items()}
    return shown


def some_names(names: Sequence[str], most: int = 3) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _alike(shown: Mapping[str, str]) -> Iterator[list[str]]:
    """The names that are shown as others are."""
    groups: dict[str, list[str]] = {}
    for name, text in shown.items():
        groups.setdefault(text, []).append(name)
    yield from (names for names in groups.values() if len(names) > 1)


def _told_apart(names: Sequence[str], width: int) -> dict[str, str]:
    """The names without what all of them begin and end with: from a word on if that tells them apart, else from the
    first letter that differs; those that still look the same, once more by themselves."""
    begin = _shared(names)
    end = _shared([name[begin:][::-1] for name in names])
    word = max((at.end() for at in re.finditer(r"[-_./+: ]", names[0][:begin])), default=0)
    for start in (word, begin):
        shown = {name: short(_inner(name, start, end), width) for name in names}
        if len(set(shown.values())) == len(names):
            return shown
    for alike in _alike(shown):
        if len(alike) < len(names):
            shown |= _told_apart(alike, width)
    return shown


def _shared(names: Sequence[str]) -> int:
    """With how many letters all of them begin."""
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False)))


def _inner(name: str, start: int, end: int) -> str:
    return "…" * (start > 0) + name[start : len(name) - end] + "…" * (end > 0)
