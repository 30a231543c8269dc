"""What can go wrong, in one small tree. Every message says what, where, and what to do.

RankgaugeError            anything a user can mend; the command line prints it and exits with 2
├── InputError            a file, frame, dict or row that cannot be read as it stands
│   ├── FormatError       …because a line, a field or a column is not what it must be
│   └── DuplicateError    …because a document or a judgment is there twice
├── MatchError            judgments and run that do not fit together
├── MeasureError          a measure that does not exist, or that is asked for what it cannot do
└── ProtocolError         a rule that does not exist

RankgaugeWarning          a number was computed, and here is what to know about it
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ClassVar, Final, NamedTuple

__all__ = [
    "OPTIONS",
    "Doubt",
    "DuplicateError",
    "FormatError",
    "InputError",
    "MatchError",
    "MeasureError",
    "ProtocolError",
    "RankgaugeError",
    "RankgaugeWarning",
    "choices",
    "counted",
    "nearest",
    "options_are",
    "unknown",
    "warn",
    "way",
]

# The options of the command that runs; none in Python.
OPTIONS: Final[ContextVar[Collection[str] | None]] = ContextVar("options", default=None)


class RankgaugeError(Exception):
    """The base of every error that a user can mend; `exit_code` is the command's."""

    exit_code: ClassVar[int] = 2


class InputError(RankgaugeError):
    """A source that cannot be read."""


class FormatError(InputError):
    """A line, field or column that is not what it must be."""


class DuplicateError(InputError):
    """A document twice in one ranking, or two judgments for one pair."""


class MatchError(RankgaugeError):
    """Judgments and run that do not fit together."""


class MeasureError(RankgaugeError):
    """An unknown measure, or one asked for what it cannot do."""


class ProtocolError(RankgaugeError):
    """An unknown rule of evaluation."""


class RankgaugeWarning(UserWarning):
    """A number was computed, and here is what to know about it."""


class Doubt(NamedTuple):
    """A reason for not trusting an answer: a code that does not change, and what to know and to do."""

    code: str
    text: str


OWN: Final = os.path.dirname(os.path.abspath(__file__)) + os.sep


def warn(message: str) -> None:
    """Tell the user something about a result that was computed all the same, at the line that called this package."""
    caller, level = sys._getframe(1), 2
    while caller.f_code.co_filename.startswith(OWN) and caller.f_back is not None:
        caller, level = caller.f_back, level + 1
    warnings.warn(message, RankgaugeWarning, stacklevel=level)


@contextmanager
def options_are(options: Collection[str]) -> Iterator[None]:
    """While a command runs, hints name its options; otherwise they name Python's arguments."""
    token = OPTIONS.set(options)
    try:
        yield
    finally:
        OPTIONS.reset(token)


def way(argument: str, *options: str) -> str:
    """How to say something where it is asked for: an option that the command has, nothing if it has none, an argument.

    >>> way("duplicates='first'", "--duplicates first")
    "duplicates='first'"
    """
    known = OPTIONS.get()
    if known is None:
        return argument
    return next((option for option in options if option.split()[0] in known), "")


def counted(number: int, word: str, plural: str = "") -> str:
    """A number with the word for what was counted: 1 query, 1,234 documents."""
    return f"{number:,} {word if number == 1 else plural or word + 's'}"


def choices(words: Iterable[str]) -> str:
    """'a, b or c': the list of what would have been right, built from the table it comes from."""
    listed = list(words)
    return listed[0] if len(listed) == 1 else f"{', '.join(listed[:-1])} or {listed[-1]}"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that the user most likely meant, ignoring case."""
    import difflib  # only where somebody has mistyped

    by_lower = {name.lower(): name for name in known}
    found = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def unknown(words: str, value: object, known: Iterable[str], tail: str = "", spelt: Callable[[str], str] = str) -> str:
    """Why a name is refused, what was most likely meant, and what there is: the known names, or what `tail` says.

    >>> unknown("there is no run 'bm52'", "bm52", ["bm25", "bert"])
    "there is no run 'bm52'; did you mean 'bm25'? There are bm25, bert"
    """
    listed = list(known)
    close, tail = nearest(str(value), listed), tail or f"there are {', '.join(listed)}"
    return f"{words}; did you mean {spelt(close)!r}? {tail[0].upper()}{tail[1:]}" if close else f"{words}; {tail}"
