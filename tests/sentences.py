"""Sentences that are shown, and how they are held against numbers: by patterns, each with what must be true."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rankgauge.show.model import Bullets, Notes, Table, Text, every_block

OFTEN, ALL = 40, 2_000  # cases of each property: in the ordinary run, and under `make test-slow`
CASES = [pytest.param(OFTEN, id="some"), pytest.param(ALL, id="all", marks=pytest.mark.slow)]

Check = Callable[[re.Match[str], Any], None]


def printed(result: Any) -> Iterator[str]:
    """Every sentence that is shown outside the cells of tables."""
    for block in every_block(result.sections()):
        if isinstance(block, Text):
            yield block.words
        elif isinstance(block, Bullets | Notes):
            yield from block.items
        elif isinstance(block, Table):
            yield from block.notes


def told(words: str, rules: dict[str, Check], case: Any) -> str:
    """Assert that a sentence holds; the pattern that it has."""
    for pattern, check in rules.items():
        if found := re.fullmatch(pattern, words):
            check(found, case)
            return pattern
    raise AssertionError(f"no rule for: {words}")


def defined(found: re.Match[str], case: Any) -> None:
    """Of what a word means, there is nothing to check."""


def whole(words: str) -> int:
    return int(words.replace(",", ""))


def near(words: str, value: float, digits: int = 1) -> bool:
    """Whether rounded words are this number, to one unit of their last digit at most."""
    written = words.removesuffix(" %").replace("−", "-").replace("+", "").replace(",", "")
    return abs(float(written) - value) <= digits * 0.501 * 10.0 ** -len(written.partition(".")[2])


def quietly(function: Callable[..., Any], *given: Any, **how: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*given, **how)


def is_number(words: str | None, value: float) -> bool:
    """Whether the words are this number, rounded to their digits; a p that is not written is below 0.0001."""
    if words is None:
        return bool(0 <= value < 1e-4 + 1e-12)
    return bool(abs(float(words) - value) <= 0.5000001 * 10 ** -len(words.partition(".")[2]))
