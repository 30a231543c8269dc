"""A ranking as bytes: small, quick to read again, and exactly what it was."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats

__all__ = ["packed", "unpacked"]

DECIMALS: Final = 8  # up to which scores are tried as whole numbers
PLAIN: Final = 255  # in place of a number of decimals: scores are 64 bits each
WHOLE: Final = 2.0**53  # up to which every whole number is one


def packed(doc_ids: Sequence[str], scores: Sequence[float]) -> bytes:
    """The ids, told apart by NUL (which is in none of them) and zipped, then the scores.

    Scores of few decimals, such as 12.3456, are kept as differences of whole numbers, zipped; others as they are, 64
    bits each, the lowest byte first. A byte before them says which, and how many decimals.
    """
    ids = zlib.compress("\0".join(doc_ids).encode(), 1)
    numbers = np.asarray(scores, np.float64)
    for decimals in range(DECIMALS + 1) if _may_be_whole(numbers) else ():
        whole = np.rint(numbers * 10.0**decimals)
        if np.abs(whole).max(initial=0.0) < WHOLE and (whole / 10.0**decimals == numbers).all():
            steps = np.diff(whole.astype("<i8"), prepend=0)
            return ids + bytes([decimals]) + zlib.compress(steps.tobytes(), 1)
    return ids + bytes([PLAIN]) + numbers.astype("<f8").tobytes()


def _may_be_whole(numbers: Floats) -> bool:
    """Whether a division can give the scores again: none is huge or infinite, and none is -0."""
    return bool((np.abs(numbers) < WHOLE).all() and not np.signbit(numbers[numbers == 0.0]).any())


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
