"""Gain and discount: what a grade is worth, and how little of it is left at a rank."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgauge.errors import MeasureError
from rankgauge.matching.hits import ZERO, fixed, some

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats, Ints
    from rankgauge.matching.hits import Hits

__all__ = ["Discount", "Gain", "discount_function", "discounted", "divisors", "gain_function", "gain_text"]
__all__ += ["number_text"]

Gain = str  # linear, exp, binary, or a map of grades to gains such as {1:3,2:9}
Discount = str  # log2, none, zipf, or jk and a base: jk2

# Each rises with the grade and is 0 at grade 0: what is below 0 is so of a grade below 0.
GAINS: dict[str, Callable[[Floats], Floats]] = {
    "linear": lambda grade: grade,
    "exp": lambda grade: np.exp2(grade) - 1.0,
    "binary": lambda grade: (grade > 0).astype(np.float64),
}
LARGEST = 2.0**1000  # gains beyond it cannot be added up: 64-bit numbers end at 2^1024
USUAL = fixed(1000.0)  # grades up to here gain no more than that, unless a map says so
TABLED = 1024  # ranks, from 0 on, whose divisors are looked up rather than computed
PAIR = re.compile(r"\s*['\"]?([-+0-9.eE]+)['\"]?\s*:\s*([-+0-9.eE]+)\s*")


def number_text(value: float) -> str:
    """A number as people write it: 3 rather than 3.0, and no digit lost."""
    return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else repr(float(value))


def gain_text(gain: Any) -> Gain:
    """The canonical text of a gain: a name, or a map with its grades in order."""
    if isinstance(gain, Mapping):
        pairs = {float(grade): float(value) for grade, value in gain.items()}
    elif isinstance(gain, str) and gain.startswith("{"):
        pairs = _pairs(gain)
    elif gain in GAINS:
        return str(gain)
    else:
        raise MeasureError(f"gain={gain!r} is not a gain; expected {', '.join(GAINS)} or a map such as {{1:3,2:9}}")
    if not all(map(math.isfinite, [*pairs, *pairs.values()])):
        raise MeasureError(f"gain={gain!r}: grades and gains are finite numbers")
    return "{" + ",".join(f"{number_text(grade)}:{number_text(pairs[grade])}" for grade in sorted(pairs)) + "}"


def _pairs(text: str) -> dict[float, float]:
    pairs: dict[float, float] = {}
    for part in text.strip("{} ").split(","):
        found = PAIR.fullmatch(part)
        if not found:
            raise MeasureError(f"gain={text}: expected grade:gain pairs such as {{1:3,2:9}}, got {part!r}")
        try:
            pairs[float(found[1])] = float(found[2])
        except ValueError:
            raise MeasureError(f"gain={text}: {part!r} is not a pair of numbers") from None
    return pairs


@lru_cache(maxsize=256)
def gain_function(gain: Gain, rel: float | None = None, *, signed: bool = False) -> Callable[[Floats], Floats]:
    """Grades → gains. Negative grades gain nothing (unless `signed`), nor do grades below `rel`; a grade that a map
    leaves out is its own gain, as in trec_eval. Grade 0 gains nothing unless a map says so. A gain that is too large to
    be added up is an error."""
    pairs = _pairs(gain) if gain.startswith("{") else None
    unmapped = GAINS["linear" if pairs is not None else gain]

    def worth(grade: Floats) -> Floats:
        if pairs is not None or some(grade > USUAL):
            _check_size(grade, gain, pairs)
        gained = unmapped(grade)
        if signed and rel is None:
            return gained
        if pairs is None:
            gained = np.maximum(gained, ZERO)
            return gained if rel is None else np.where(grade >= rel, gained, 0.0)
        floor = grade >= (rel if rel is not None else 0)
        mapped = gained.astype(np.float64, copy=True)
        for level, value in pairs.items():
            mapped[grade == level] = value
        return np.where(floor & (grade >= 0), mapped, 0.0)

    return worth


def _check_size(grade: Floats, gain: Gain, pairs: dict[float, float] | None) -> None:
    """An error that names the highest grade, where its gain cannot be added up."""
    highest = float(grade.max(initial=0.0))
    most = max([highest, *(pairs or {}).values()])
    with np.errstate(over="ignore"):
        worth = GAINS["linear" if pairs is not None else gain](np.array([most]))
    if worth[0] > LARGEST:
        grades = f"the grade {highest:g}" if pairs is None or most == highest else "a grade"
        hint = "; write gain=linear, or give a map of gains" if gain == "exp" else ""
        gained = f"2^{most:g} − 1" if gain == "exp" else f"{most:g}"
        raise MeasureError(f"gain={gain}: {grades} gains {gained}, more than can be added up{hint}")


@lru_cache(maxsize=256)
def discount_function(discount: Discount) -> Callable[[Ints], Floats]:
    """Ranks → what a gain is divided by."""
    if discount == "log2":
        return lambda rank: np.log2(rank + 1.0)
    if discount == "none":
        return lambda rank: np.ones(len(rank))
    if discount == "zipf":
        return lambda rank: rank.astype(np.float64)
    found = re.fullmatch(r"jk([0-9.]+)", discount)
    base = float(found[1]) if found and found[1].count(".") < 2 and found[1] != "." else 0.0
    if base <= 1:
        raise MeasureError(f"discount={discount!r} is none; expected log2, none, zipf, or jk and a base above 1: jk2")
    return lambda rank: np.maximum(np.log(np.maximum(rank, 1)) / math.log(base), 1.0)


def divisors(discount: Discount, rank: Ints, k: int | None) -> Floats:
    """What gains at these ranks are divided by: infinity beyond rank k, so that nothing is left of them."""
    if k is None:
        return discount_function(discount)(rank)
    if k < TABLED:
        return _table(discount, k).take(rank, mode="clip")
    return np.where(rank <= k, discount_function(discount)(rank), np.inf)


@lru_cache(maxsize=256)
def _table(discount: Discount, k: int) -> Floats:
    """The same as `_divisors_up_to`, of which the usual ones are kept."""
    return _divisors_up_to(discount, k)


def _divisors_up_to(discount: Discount, rank: int) -> Floats:
    """The divisors of the first ranks at their places, and that of all others behind them."""
    return np.append(discount_function(discount)(np.arange(rank + 1)), np.inf)


def discounted(hits: Hits, gain: Floats, k: int | None, discount: Discount) -> Floats:
    """Each hit's gain, divided by the discount of its rank; nothing beyond rank k.

    Where ties are averaged, a document gets the mean over the ranks that its tie group takes up.
    """
    if not hits.averaged:
        return gain / divisors(discount, hits.rank, k)
    last = hits.first + hits.tied - 1
    deepest = int(last.max(initial=0)) if k is None else min(k, int(last.max(initial=0)))
    table = _table(discount, k) if k is not None and k < TABLED else _divisors_up_to(discount, deepest)
    single: Floats = gain / table.take(hits.first, mode="clip")  # as `divisors`: to the last digit
    several = hits.tied > 1
    if not several.any():
        return single
    upto: Floats = np.r_[0.0, np.cumsum(1.0 / table[1 : deepest + 1])]
    share = upto[np.minimum(last, deepest)] - upto[np.minimum(hits.first - 1, deepest)]
    shared: Floats = gain * (share / hits.tied)
    return np.where(several, shared, single)
