"""A ranking as bytes: small, quick to read again, and exactly what it was."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats

__all__ = ["packed", "unpacked"]

DECIMALS: Final = 8  # up to which scores are tried as whole numbers
PLAIN: Final = 255  # in place of a number of decimals: scores are 64 bits each
WHOLE: Final = 2.0**53  # up to which every whole number is one
# Threads take turns whenever zlib is at work. Of answers that come at once, all would be packed by turns and be ready
# together, at the end; one by one, the first is committed, and its worker asks on, while the next is packed.
_ONE_BY_ONE: Final = threading.Lock()


def packed(doc_ids: Sequence[str], scores: Sequence[float]) -> bytes:
    """The ids, told apart by NUL (which is in none of them) and zipped, then the scores.

    Scores of few decimals, such as 12.3456, are kept as differences of whole numbers, zipped; others as they are, 64
    bits each, the lowest byte first. A byte before them says which, and how many decimals.
    """
    with _ONE_BY_ONE:
        return _packed(doc_ids, scores)


def _packed(doc_ids: Sequence[str], scores: Sequence[float]) -> bytes:
    ids = zlib.compress("\0".join(doc_ids).encode(), 1)
    numbers = np.asarray(scores, np.float64)
    plain = numbers.astype("<f8").tobytes()
    for decimals in _decimals(numbers):
        whole = np.rint(numbers * 10.0**decimals).astype("<i8")
        if (whole / 10.0**decimals).astype("<f8").tobytes() == plain:  # bit by bit, for -0.0 is equal to 0.0
            whole[1:] -= whole[:-1].copy()
            return ids + bytes([decimals]) + zlib.compress(whole.tobytes(), 1)
    return ids + bytes([PLAIN]) + plain


def _decimals(numbers: Floats) -> Iterator[int]:
    """How many decimals all scores may have: those that the last one has, and with which none is huge or infinite."""
    last, largest = float(numbers[-1]) if len(numbers) else 0.0, float(np.abs(numbers).max(initial=0.0))
    for decimals in range(DECIMALS + 1):
        power = 10.0**decimals
        if largest * power < WHOLE and round(last * power) / power == last:
            yield decimals


def unpacked(ranking: bytes) -> tuple[list[str], Floats]:
    """The ids and the scores of a ranking."""
    zipped = zlib.decompressobj()
    ids, (decimals, *_) = zipped.decompress(ranking).decode(), zipped.unused_data
    rest = zipped.unused_data[1:]
    if decimals == PLAIN:
        scores = np.frombuffer(rest, "<f8")
    else:
        scores = np.cumsum(np.frombuffer(zlib.decompress(rest), "<i8")) / 10.0**decimals
    return ids.split("\0") if len(scores) else [], scores
