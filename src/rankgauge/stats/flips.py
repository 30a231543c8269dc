"""The sign-flip randomisation test, inverted: of one mean its p and its interval, of several means one adjusted p.

If a mean is μ, then of every unit's distance from its share of μ either sign was as likely as the other. A flip turns
the signs of the units in a part A; the others are B. It counts against "the mean is μ" when the flipped sum is at least
as far from 0 as the observed one, and that is so exactly when μ lies between the mean of A and the mean of B:

    |Σ ±(z − μw)| ≥ |Σ (z − μw)|  ⇔  (Z_A − μW_A)(Z_B − μW_B) ≤ 0

So p(μ) is the share of flips whose two means enclose μ, and {μ: p(μ) > α} lies between two order statistics of these
means: interval and p are one test, with weights, clusters and ratios alike (Tritchler 1984 inverts the test so).

Sums must be exact, or equal sums would differ in the last bit and be counted wrongly: values are rounded to whole
numbers, held in float64, whose every sum stays below 2^53. Then the order of additions does not matter either, and p is
the same for any number of threads and any BLAS. Units are sorted before signs are drawn, so that p does not depend on
what they are called, nor on which of two systems is the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from math import fsum
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgauge.dtypes import Floats, Ints

    Bytes = NDArray[np.uint8]

__all__ = ["Inverted", "Question", "invert", "largest_flipped", "most_extreme", "whole_numbers"]

CHUNK: Final = 8192  # flips that are walked through at once: their vectors stay in the cache
BLOCK: Final = 32  # bytes of signs (8 units each) that are multiplied at once
FEW_COLUMNS: Final = 6  # up to so many columns, looking sums up in tables is quicker than multiplying
AT_ONCE: Final = 256  # questions whose sums are made together
STEPS: Final = 48  # bits of a sum of units: far more than a value has, and any part of them adds up exactly


class Question(NamedTuple):
    """Is the mean `null`? A row per unit: z is what it adds to the sum, w ≥ 0 its share; of a ratio, w is below."""

    z: Floats
    w: Floats
    null: float = 0.0


class Inverted(NamedTuple):
    """The p of a question, and the ends of the interval of all means whose p is above α (infinite where none is)."""

    p: float
    low: float
    high: float
    flips: int
    exact: bool  # whether p is of all flips of the units that differ from 0


def whole_numbers(values: Floats) -> tuple[Floats, float]:
    """The values as whole numbers of a step, which is 2^−48 of the sum of their sizes."""
    size = fsum(np.abs(values).ravel().tolist())  # the same in any order
    step = 2.0 ** (int(np.frexp(size)[1]) - STEPS) if size > 0 else 1.0
    return np.rint(values / step), step


def most_extreme(flips: int, alpha: float) -> int:
    """How many of so many flips may count against a mean that is outside of the interval."""
    return int(np.floor(alpha * flips + 1e-9))


def invert(
    questions: Sequence[Question], *, alpha: float = 0.05, flips: int = 100_000, seed: int = 0
) -> list[Inverted]:
    """Answer every question: by all flips where these are at most `flips`, else by so many drawn ones and the identity.

    Where few units differ from 0 among many, these are split in every way and the others at random beside them.
    """
    prepared = [_Sorted.of(each) for each in questions]
    order = sorted(range(len(prepared)), key=lambda at: _kind(prepared[at], flips))
    result: dict[int, Inverted] = {}
    for (kind, units), group in groupby(order, key=lambda at: _kind(prepared[at], flips)):
        places = list(group)
        for start in range(0, len(places), 1 if kind == "few" else AT_ONCE):
            some = places[start : start + (1 if kind == "few" else AT_ONCE)]
            chosen = [prepared[at] for at in some]
            number, chunks = _FLIPS[kind](chosen, units, flips, seed)
            exact = kind == "every" or (kind == "few" and chosen[0].null == 0)
            told = 1 << max(chosen[0].changed - 1, 0) if kind == "few" and exact else number - (kind == "drawn")
            walked = (Inverted(*each, told, exact) for each in _walked(chosen, number, chunks, alpha))
            result |= dict(zip(some, walked, strict=True))
    return [result[at] for at in range(len(prepared))]


@dataclass(frozen=True, eq=False, slots=True)
class _Sorted:
    """A question whose units are in an order, and of a sign, that depend on their values alone."""

    numbers: Floats  # z as whole numbers
    weights: Floats  # w as whole numbers; a 1 for each unit where all are equal
    step: float  # of z / w
    null: float
    sign: float  # that it was turned by; 0 where it is the same turned round
    equal: bool

    @classmethod
    def of(cls, question: Question) -> _Sorted:
        numbers, step = whole_numbers(question.z)
        one, other = (np.lexsort((question.w, side * numbers)) for side in (1, -1))
        apart = np.concatenate([numbers[one] + numbers[other], question.w[one] - question.w[other], [question.null]])
        sign = -1.0 if apart[np.argmax(apart != 0)] < 0 else 1.0
        order = one if sign > 0 else other
        w = question.w[order]
        equal = bool(len(w)) and bool(w[0] > 0) and bool((w == w[0]).all())
        weights, unit = (np.ones(len(w)), float(w[0])) if equal else whole_numbers(w)
        side = sign if apart.any() else 0.0
        return cls(sign * numbers[order], weights, step / unit, sign * question.null, side, equal)

    @property
    def changed(self) -> int:
        return int(np.count_nonzero(self.numbers))


def _kind(question: _Sorted, flips: int) -> tuple[str, int]:
    """How the flips of a question are made, and of how many units."""
    units, changed = len(question.weights), question.changed
    if _few_enough(units, flips):
        return "every", units
    return ("few" if changed > 0 and _few_enough(changed, flips) else "drawn"), units


def _few_enough(units: int, flips: int) -> bool:
    """Whether there are no more splits into two parts than flips."""
    return units < 63 and 1 << max(units - 1, 0) <= flips


# ---- the walk --------------------------------------------------------------------------------------------------------


class _Chunk(NamedTuple):
    """Of some flips: a row per question of the sum of z in part A, and of the weight of A, one row for all or each."""

    above: Floats
    below: Floats


@dataclass(slots=True)
class _Smallest:
    """The smallest numbers of a stream, so many of them."""

    size: int
    parts: list[Floats] = field(default_factory=list)
    held: int = 0
    bar: float = np.inf

    def add(self, values: Floats) -> None:
        if self.bar < np.inf:
            values = values[np.flatnonzero(values <= self.bar)]
        self.parts.append(values)
        self.held += len(values)
        if self.held > 2 * self.size:
            self._shrink()

    def _shrink(self) -> None:
        together = np.concatenate(self.parts)
        if len(together) > self.size:
            together = np.partition(together, self.size - 1)[: self.size]
            self.bar = float(together.max())
        self.parts, self.held = [together], len(together)

    def last(self) -> float:
        """The largest of them."""
        self._shrink()
        return float(self.parts[0].max())


def _walked(
    questions: Sequence[_Sorted], number: int, chunks: Iterable[_Chunk], alpha: float
) -> Iterator[tuple[float, float, float]]:
    """The share of flips that enclose the null of each question, and the order statistics that end its interval."""
    size = most_extreme(number, alpha) + 1
    lows, highs = [_Smallest(size) for _ in questions], [_Smallest(size) for _ in questions]
    counts = [0] * len(questions)
    for chunk in chunks:
        for at, question in enumerate(questions):
            low, high = _enclosing(question, chunk.above[at], chunk.below[at if len(chunk.below) > 1 else 0])
            null = question.null / question.step
            counts[at] += int(np.count_nonzero((low <= null) & (null <= high)))
            lows[at].add(low)
            highs[at].add(np.negative(high, out=high))
    for question, count, smallest, negated in zip(questions, counts, lows, highs, strict=True):
        left, right = smallest.last() * question.step, -negated.last() * question.step
        turned = {1.0: (left, right), -1.0: (-right, -left), 0.0: (min(left, -right), max(right, -left))}
        yield count / number, *turned[question.sign]


def _enclosing(question: _Sorted, above: Floats, below: Floats) -> tuple[Floats, Floats]:
    """The smaller and the larger mean, in steps, of the two parts of every flip."""
    slack = len(question.weights)
    rest, other = question.numbers.sum() - above, question.weights.sum() - below
    above = _without_specks(above.copy(), slack)  # a tie, but for a step of each unit
    rest = _without_specks(rest, slack)
    if not question.equal:
        below, other = _without_specks(below.copy(), slack), _without_specks(other, slack)
    with np.errstate(divide="ignore", invalid="ignore"):
        one, two = np.divide(above, below, out=above), np.divide(rest, other, out=rest)
    low, high = np.minimum(one, two), np.maximum(one, two, out=one)
    undefined = np.flatnonzero(np.isnan(low))  # nothing over nothing: any mean
    low[undefined], high[undefined] = -np.inf, np.inf
    return low, high


def _without_specks(sums: Floats, slack: float) -> Floats:
    """The sums, those no larger than so many steps being 0."""
    sums[np.flatnonzero(np.abs(sums) <= slack)] = 0.0
    return sums


# ---- flips -----------------------------------------------------------------------------------------------------------


Flips = tuple[int, Iterable[_Chunk]]  # how many there are, and the sums under them


def _columns(questions: Sequence[_Sorted]) -> Floats:
    """Units × columns to be added up: z of every question, then their weights, once where all are equal."""
    weights = [question.weights for question in questions]
    equal = all(question.equal for question in questions)
    return np.stack([*(question.numbers for question in questions), *(weights[:1] if equal else weights)], axis=1)


def _all_flips(questions: Sequence[_Sorted], units: int, flips: int, seed: int) -> Flips:
    """Every split into two parts."""
    columns = _columns(questions)
    return 1 << max(units - 1, 0), (_chunk((bits @ columns).T, questions) for bits in _every_split(units))


def _every_split(units: int) -> Iterator[Floats]:
    """Rows of 0 and 1, counting up in binary: the units in A. The last one stays in B, as A and B may change places."""
    number = 1 << max(units - 1, 0)
    for start in range(0, number, CHUNK):
        counting = np.arange(start, min(start + CHUNK, number))
        yield (counting[:, None] >> np.arange(units) & 1).astype(np.float64)


def _chunk(sums: Floats, questions: Sequence[_Sorted]) -> _Chunk:
    sums = np.ascontiguousarray(sums)
    return _Chunk(sums[: len(questions)], sums[len(questions) :])


def _drawn_flips(questions: Sequence[_Sorted], units: int, flips: int, seed: int) -> Flips:
    """The identity, and drawn flips, which depend on the seed and the number of units alone."""
    columns = _columns(questions)
    identity = np.zeros((columns.shape[1], 1))
    return flips + 1, (_chunk(sums, questions) for sums in chain([identity], _drawn_sums(columns, flips, seed)))


def _few_changed(questions: Sequence[_Sorted], units: int, flips: int, seed: int) -> Flips:
    """Every split of the units that differ from 0, the same number of times each, and the others at random beside."""
    (question,) = questions
    moved, columns = question.numbers != 0, _columns(questions)
    own = np.concatenate([bits @ columns[moved] for bits in _every_split(int(moved.sum()))])
    sums = np.tile(own, (max(flips // len(own), 1), 1)).T
    sums[1] += _weights_of_ties(columns[~moved, 1:], question.equal, sums.shape[1], seed)
    sums[:, 0] = 0.0  # the identity
    parts = (sums[:, start : start + CHUNK] for start in range(0, sums.shape[1], CHUNK))
    return sums.shape[1], (_chunk(part, questions) for part in parts)


def _weights_of_ties(weights: Floats, equal: bool, flips: int, seed: int) -> Floats:
    """The weight in part A of units that do not differ."""
    if not equal:
        return np.concatenate([sums[0] for sums in _drawn_sums(weights, flips, seed)])
    random = np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, len(weights)))))
    return random.binomial(len(weights), 0.5, flips).astype(np.float64)


_FLIPS: Final[dict[str, Callable[[Sequence[_Sorted], int, int, int], Flips]]] = {
    "every": _all_flips, "few": _few_changed, "drawn": _drawn_flips,
}  # fmt: skip


def largest_flipped(columns: Floats, *, flips: int, seed: int) -> tuple[Floats, Floats]:
    """Of every flip the largest |Σ ± value| over the columns, in rising order; and |Σ value| of every column.

    The values are rounded to one step, so that equal sums are equal. The identity is among the flips.
    """
    _, exponent = np.frexp(np.abs(columns).sum(axis=0).max(initial=0.0))
    whole = np.rint(np.ldexp(columns, STEPS - int(exponent)))
    total = whole.sum(axis=0)
    exact = _few_enough(len(whole), flips)
    chunks = ((bits @ whole).T for bits in _every_split(len(whole))) if exact else _drawn_sums(whole, flips, seed)
    tops = [np.abs(2.0 * sums - total[:, None]).max(axis=0, initial=0.0) for sums in chunks]
    identity = [] if exact else [np.array([np.abs(total).max(initial=0.0)])]
    largest = np.sort(np.concatenate([*identity, *tops]))
    return np.ldexp(largest, int(exponent) - STEPS), np.ldexp(np.abs(total), int(exponent) - STEPS)


# ---- sums of drawn signs ---------------------------------------------------------------------------------------------


def _drawn_sums(columns: Floats, flips: int, seed: int) -> Iterator[Floats]:
    """Columns × flips: the sums of the values in part A, chunk after chunk, each of a generator of its own."""
    few = columns.shape[1] <= FEW_COLUMNS
    tables = _byte_tables(columns) if few else np.ascontiguousarray(columns.T)
    for number, start in enumerate(range(0, flips, CHUNK)):
        size = min(CHUNK, flips - start)
        random = np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, number))))
        yield _by_tables(tables, len(columns), random, size) if few else _by_products(tables, random, size)


def _blocks(units: int) -> Iterator[tuple[slice, int]]:
    """Slices of the units, each of as many as a block of sign bytes covers, and the number of these bytes."""
    for start in range(0, units, 8 * BLOCK):
        end = min(units, start + 8 * BLOCK)
        yield slice(start, end), -(-(end - start) // 8)


def _sign_bytes(random: np.random.Generator, rows: int, size: int) -> Bytes:
    """Random bytes, those of `Generator.bytes`, from whole numbers of the generator in a seventh of the time.

    `bytes` keeps half a number for the next call where it needs an odd number of halves. Only the last rows of a chunk
    can: a whole block has a multiple of eight.
    """
    if rows * size % 8:
        return np.frombuffer(random.bytes(rows * size), np.uint8).reshape(rows, size)
    drawn: NDArray[np.uint64] = random.bit_generator.random_raw(rows * size // 8)
    return drawn.astype("<u8", copy=False).view(np.uint8).reshape(rows, size)


def _by_products(across: Floats, random: np.random.Generator, size: int) -> Floats:
    """For many columns: unpack the bits and multiply."""
    result = np.zeros((len(across), size))
    unpacked = np.empty((8 * BLOCK, size))
    for part, rows in _blocks(across.shape[1]):
        factors = unpacked[: 8 * rows]
        _unpack(_sign_bytes(random, rows, size), factors)
        result += across[:, part] @ factors[: part.stop - part.start]
    return result


def _unpack(signs: Bytes, factors: Floats) -> None:
    """Eight rows of 0 and 1 for each row of bytes, the highest bit first (numpy's unpackbits is slow down an axis)."""
    for place in range(8):
        np.copyto(factors[place::8], signs >> (7 - place) & 1)


def _by_tables(tables: Floats, units: int, random: np.random.Generator, size: int) -> Floats:
    """For few columns: each byte of signs looks the sum of its eight values up, without unpacking a bit."""
    result, looked_up = np.zeros((len(tables), size)), np.empty(size)
    at = 0
    for _, rows in _blocks(units):
        for signs in _sign_bytes(random, rows, size):
            index: Ints = signs.astype(np.intp)
            for column, table in enumerate(tables):
                np.take(table[at], index, out=looked_up, mode="clip")
                result[column] += looked_up
            at += 1
    return result


def _byte_tables(whole: Floats) -> Floats:
    """Columns × bytes × 256: the sum of the values whose bit is set, the first value being the highest bit."""
    units, columns = whole.shape
    padded = np.zeros((-(-units // 8) * 8, columns))
    padded[:units] = whole
    eights = padded.reshape(-1, 8, columns)
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float64)
    result = np.zeros((columns, len(eights), 256))
    for place in range(8):
        result += eights[:, place].T[:, :, None] * bits[:, place]
    return result
