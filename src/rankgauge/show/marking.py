"""The words of a query marked in a text, and a line of it where they come up."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

__all__ = ["TITLES", "Piece", "marked", "snippet", "words_of"]

TITLES: Final = ("title", "name", "heading", "headline", "question")  # fields that are a title, by preference
SNIPPET: Final = 160  # characters of a text
BEFORE: Final = 30  # characters before the first word that is marked
WORD: Final = re.compile(r"\w+(?:['’]\w+)*")
STEM: Final = 3  # letters that are left of a word without its ending
ENDINGS: Final = ("'s", "’s", "es", "s", "ed", "ing")


class Piece(NamedTuple):
    """A part of a text; marked where it is a word of the query."""

    text: str
    marked: bool = False


def words_of(query: str) -> frozenset[str]:
    """The words of a query, without case, with and without the commonest endings."""
    return frozenset(stem for word in WORD.findall(query) for stem in _stems(word))


@lru_cache(20_000)  # words come again and again
def _stems(word: str) -> frozenset[str]:
    plain = unicodedata.normalize("NFKC", word).casefold()
    cut = {plain.removesuffix(ending) for ending in ENDINGS}
    return frozenset({plain, *(stem for stem in cut if len(stem) >= STEM)})


def marked(text: str, words: frozenset[str]) -> list[Piece]:
    """The text in pieces, of which the words of the query are marked."""
    return [*_pieces(text, words)] if words else [Piece(text)]


def _pieces(text: str, words: frozenset[str]) -> Iterator[Piece]:
    last = 0
    for found in WORD.finditer(text):
        if not words.isdisjoint(_stems(found[0])):
            if found.start() > last:
                yield Piece(text[last : found.start()])
            yield Piece(found[0], True)
            last = found.end()
    if last < len(text):
        yield Piece(text[last:])


def snippet(text: str, words: frozenset[str], most: int = SNIPPET) -> str:
    """A line of the text: its beginning, or where the words of the query first come up."""
    line = " ".join(text.split())
    found = (each.start() for each in WORD.finditer(line) if not words.isdisjoint(_stems(each[0])))
    first = next(found, 0) if words else 0
    start = line.rfind(" ", 0, first - BEFORE) + 1 if first > most - BEFORE else 0
    cut = line[start : start + most]
    end = "" if start + most >= len(line) else " …"
    return ("… " if start else "") + (cut.rsplit(" ", 1)[0] if end and " " in cut else cut) + end
