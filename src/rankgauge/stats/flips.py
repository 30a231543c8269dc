"""The sign-flip randomisation test, for one pair of systems or for a whole family of them with common flips.

If two systems do not differ, swapping their values in any query changes nothing: each sign of a difference was as
likely as the other. p is the share of flips whose sum of differences is at least as far from 0 as the observed one.
Over a family, the same flips serve every pair, so that the step-down max-T procedure (Westfall and Young 1993) sees how
the pairs depend on each other.

Sums must be exact, or equal sums would differ in the last bit and be counted wrongly: values are scaled to whole
numbers, held in float64, whose every sum stays below 2^53. Then the order of additions does not matter either, and p is
the same for any number of threads and any BLAS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgauge.dtypes import Bools, Floats, Ints

    Bytes = NDArray[np.uint8]

__all__ = ["Flipped", "centred", "sign_flips", "whole_numbers"]

CHUNK: Final = 8192  # flips that are walked through at once: their vectors stay in the cache
BLOCK: Final = 32  # bytes of signs (8 queries each) that are multiplied at once
FEW_COLUMNS: Final = 6  # up to so many columns, looking sums up in tables is quicker than multiplying
ROOM: Final = 51  # bits of a sum: differences of two of them, doubled, fit into the 53 of a float64
SLACK: Final = 1e-9


@dataclass(frozen=True, eq=False, slots=True)
class Flipped:
    """p of every pair, alone and adjusted for the family; how many flips there were, and whether those were all."""

    p: Floats
    adjusted: Floats
    number: int
    exact: bool
    exact_pairs: Bools  # pairs whose own p comes from all their flips


@dataclass(frozen=True, eq=False, slots=True)
class _Family:
    """What the walk over the pairs needs: which rows to subtract, and the thresholds."""

    first: Ints
    second: Ints
    floor: Floats  # |sum| from which on a flip counts against the pair
    scale: Floats  # 1 / √Σd²: makes sums of different pairs comparable
    bar: Floats  # the same threshold for the running maximum of scaled sums
    order: Ints  # from the weakest pair to the strongest


def centred(sums: Floats) -> Floats:
    """Each row around the middle of its range: no difference between columns changes, and the numbers get small."""
    middle = (sums.min(axis=1) + sums.max(axis=1)) / 2
    result: Floats = sums - middle[:, None]
    return result


def whole_numbers(columns: Floats) -> Floats:
    """The columns times a power of two, rounded to whole numbers, as large as exact sums allow."""
    largest = float(np.abs(columns).sum(axis=0).max(initial=0.0))
    if largest == 0:
        return np.zeros_like(columns)
    _, exponent = np.frexp(largest)
    return np.rint(np.ldexp(columns, ROOM - int(exponent)))


def sign_flips(
    columns: Floats, pairs: Sequence[tuple[int, int]], *, flips: int = 100_000, seed: int = 0, few: int = FEW_COLUMNS
) -> Flipped:
    """Test every pair of columns, a row per unit: all flips where these are at most `flips`, else so many drawn ones.

    Two-sided. Drawn flips give (count + 1) / (flips + 1), all of them count / number.
    """
    whole, first, second = _laid_out(whole_numbers(columns), pairs)
    apart = np.array([np.abs(whole[:, a] - whole[:, b]) > 1 for a, b in zip(first, second, strict=True)])
    kept = np.ones(len(whole), bool) if _few_enough(len(whole), flips) else apart.any(axis=0)
    exact = _few_enough(int(kept.sum()), flips)
    family = _family(whole, first, second)
    chunks = _all_chunks(whole[kept]) if exact else _drawn_chunks(whole, flips, seed, few)
    alone, together = _walk(chunks, family)
    number = 1 << int(kept.sum()) if exact else flips
    plus = 0 if exact else 1
    p, adjusted = (alone + plus) / (number + plus), (together + plus) / (number + plus)
    own = np.array([exact or _few_enough(int(row.sum()), flips) for row in apart])
    if not exact:
        for pair in np.flatnonzero(own).tolist():
            difference = whole[apart[pair], first[pair]] - whole[apart[pair], second[pair]]
            p[pair] = _all_sums_share(difference, family.floor[pair])
    return Flipped(p, _stepped_down(adjusted, p, family.order), number, exact, own)


def _laid_out(whole: Floats, pairs: Sequence[tuple[int, int]]) -> tuple[Floats, Ints, Ints]:
    """The columns to sum up: the systems, or the differences where these are fewer; a last column is all 0."""
    first, second = (np.array([pair[end] for pair in pairs], np.int64) for end in (0, 1))
    if len(pairs) < whole.shape[1]:
        whole = whole[:, first] - whole[:, second]
        first, second = np.arange(len(pairs)), np.full(len(pairs), len(pairs))
    return np.concatenate([whole, np.zeros((len(whole), 1))], axis=1), first, second


def _few_enough(units: int, flips: int) -> bool:
    return units < 63 and 1 << units <= flips


def _family(whole: Floats, first: Ints, second: Ints) -> _Family:
    """Thresholds: a flip counts when it reaches the observed sum, but for the rounding of each of the values."""
    differences = [whole[:, a] - whole[:, b] for a, b in zip(first, second, strict=True)]
    observed = np.array([abs(float(each.sum())) for each in differences])
    root = np.sqrt([float((each**2).sum()) for each in differences])
    scale = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
    floor = observed - 2.0 * len(whole)
    order = np.argsort(observed * scale, kind="stable")
    return _Family(first, second, floor, scale, np.minimum(floor * scale, observed * scale * (1 - SLACK)), order)


# ---- sums of flipped values -----------------------------------------------------------------------------------------


def _drawn_chunks(whole: Floats, flips: int, seed: int, few: int) -> Iterator[Floats]:
    """Columns × flips: Σ ± value, for one chunk of random signs after the other, each from a generator of its own."""
    add_up = _by_tables if whole.shape[1] - 1 <= few else _by_products
    summed = add_up(whole[:, :-1])
    total = whole.sum(axis=0)
    for number, start in enumerate(range(0, flips, CHUNK)):
        size = min(CHUNK, flips - start)
        random = np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, number))))
        yield _signed(summed(random, size), total)


def _signed(chosen: Floats, total: Floats) -> Floats:
    """Σ ± value from the sum of the values whose sign stays: twice that, less the sum of all."""
    result = np.zeros((len(total), chosen.shape[1]))
    np.multiply(chosen, 2.0, out=result[:-1])
    result[:-1] -= total[:-1, None]
    return result


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


def _by_products(whole: Floats) -> Callable[[np.random.Generator, int], Floats]:
    """For many columns: unpack the bits and multiply."""
    across = np.ascontiguousarray(whole.T)
    unpacked = np.empty((8 * BLOCK, CHUNK))

    def add_up(random: np.random.Generator, size: int) -> Floats:
        result = np.zeros((len(across), size))
        for part, rows in _blocks(across.shape[1]):
            factors = unpacked[: 8 * rows, :size]
            _unpack(_sign_bytes(random, rows, size), factors)
            result += across[:, part] @ factors[: part.stop - part.start]
        return result

    return add_up


def _unpack(signs: Bytes, factors: Floats) -> None:
    """Eight rows of 0 and 1 for each row of bytes, the highest bit first (numpy's unpackbits is slow down an axis)."""
    for place in range(8):
        np.copyto(factors[place::8], signs >> (7 - place) & 1)


def _by_tables(whole: Floats) -> Callable[[np.random.Generator, int], Floats]:
    """For few columns: each byte of signs looks the sum of its eight values up, without unpacking a bit."""
    tables = _byte_tables(whole)

    def add_up(random: np.random.Generator, size: int) -> Floats:
        result, found = np.zeros((len(tables), size)), np.empty(size)
        at = 0
        for _, rows in _blocks(len(whole)):
            for signs in _sign_bytes(random, rows, size):
                index = signs.astype(np.intp)
                for column, table in enumerate(tables):
                    np.take(table[at], index, out=found, mode="clip")
                    result[column] += found
                at += 1
        return result

    return add_up


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


def _all_chunks(whole: Floats) -> Iterator[Floats]:
    """The same for all flips there are, in the order of counting up in binary."""
    total = whole.sum(axis=0)
    for start in range(0, 1 << len(whole), CHUNK):
        counting = np.arange(start, min(start + CHUNK, 1 << len(whole)))
        bits = (counting[None, :] >> np.arange(len(whole))[:, None] & 1).astype(np.float64)
        yield _signed(whole[:, :-1].T @ bits, total)


def _all_sums_share(difference: Floats, floor: float) -> float:
    """The share of all flips of one pair that count."""
    sums = np.zeros(1)
    for value in difference.tolist():
        sums = np.concatenate([sums - value, sums + value])
    return float((np.abs(sums) >= floor).mean())


# ---- the walk -------------------------------------------------------------------------------------------------------


def _walk(chunks: Iterator[Floats], family: _Family) -> tuple[Ints, Ints]:
    """How many flips count against each pair, alone and as the maximum over all pairs that are no stronger."""
    alone, together = [0] * len(family.order), [0] * len(family.order)
    lists = (each.tolist() for each in (family.first, family.second, family.floor, family.scale, family.bar))
    first, second, floor, scale, bar = lists  # plain numbers: this loop runs a million times
    order, single = family.order.tolist(), len(family.order) == 1
    for sums in chunks:
        rows, size = list(sums), sums.shape[1]
        gap, top, reached = np.empty(size), np.zeros(size), np.empty(size, bool)
        for pair in order:
            np.subtract(rows[first[pair]], rows[second[pair]], gap)
            np.abs(gap, gap)
            np.greater_equal(gap, floor[pair], reached)
            alone[pair] += np.count_nonzero(reached)
            if single:
                continue
            np.multiply(gap, scale[pair], gap)
            np.maximum(top, gap, out=top)
            np.greater_equal(top, bar[pair], reached)
            together[pair] += np.count_nonzero(reached)
    return np.array(alone), np.array(alone if single else together)


def _stepped_down(adjusted: Floats, p: Floats, weakest_first: Ints) -> Floats:
    """No pair's p below that of a stronger pair, nor below its own unadjusted one."""
    strongest_first = weakest_first[::-1]
    result = np.empty_like(adjusted)
    result[strongest_first] = np.maximum.accumulate(np.maximum(adjusted, p)[strongest_first])
    return result
