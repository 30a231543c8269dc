"""The quick reader of small TREC files: a block of lines at a time, without polars, whose import takes longer.

It is as optimistic as the reader of big files: where the bytes of a block do not prove that every line has just the
right fields, or a field is out of the ordinary, or a document is there twice, it gives up and returns None, and the
line reader reads the file, finds the line, and says what is wrong. Only the fields that are needed become texts.
"""

from __future__ import annotations

from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from rankgauge.read.trec_blocks import blocks_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgauge.dtypes import Ints

__all__ = ["read_fields"]

BLOCK = 1 << 16  # bytes: few enough for their fields to stay in the processor's cache
TAB, NEWLINE, BLANK = b"\t\n "
LONGEST = 64  # letters of a query, up to which all queries of a block are compared at once


def read_fields(
    stream: BinaryIO, width: int, doc: int, number: int, block: int = BLOCK
) -> dict[str, dict[str, float]] | None:
    """Query → document → number, or None where anything is out of the ordinary.

    The fields are counted from 0, and the document comes before the number.
    """
    nested: dict[str, dict[str, float]] = {}
    wanted = np.zeros(width, bool)
    wanted[[doc, number]] = True
    for lines in blocks_of(stream, block):
        ends = _ends(lines, width)
        cuts = None if ends is None else _cuts(lines, ends)
        if ends is None or cuts is None:
            return None
        fields = _fields(lines, ends, wanted)
        texts = fields[1::2]
        if b"_" in lines and "_" in "".join(texts):  # Python takes 1_0 for a number
            return None
        if not _add(nested, cuts, fields[::2], texts):
            return None
    return nested or None


def _ends(lines: bytes, width: int) -> Ints | None:
    """Where every field ends, a row for each line; None unless this is ASCII, and every line has so many fields with
    one blank or tab between any two of them."""
    codes = np.frombuffer(lines, np.uint8)
    ends = (codes <= BLANK).nonzero()[0]
    rows, between = len(ends) // width, np.count_nonzero(codes == BLANK)
    if rows * width != len(ends) or not lines.isascii() or ends[0] == 0 or (ends[1:] - ends[:-1] == 1).any():
        return None
    if between + rows != len(ends) and between + np.count_nonzero(codes == TAB) + rows != len(ends):
        return None
    by_line: Ints = ends.reshape(rows, width)
    return by_line if (codes[by_line[:, -1]] == NEWLINE).all() else None


def _cuts(lines: bytes, ends: Ints) -> list[tuple[int, str]] | None:
    """The rows at which a query begins, with the query, and at last their number; None where one is a comment or
    longer than most are."""
    starts = np.zeros(len(ends), np.int64)
    starts[1:] = ends[:-1, -1] + 1
    sizes = ends[:, 0] - starts
    longest = int(sizes.max())
    if longest > LONGEST:
        return None
    letters = np.frombuffer(lines, np.uint8).take(starts[:, None] + np.arange(longest), mode="clip")
    if sizes.min() < longest:
        letters[np.arange(longest) >= sizes[:, None]] = 0
    queries: NDArray[np.bytes_] = letters.view(f"S{longest}").ravel()
    rows = [0, *((queries[1:] != queries[:-1]).nonzero()[0] + 1).tolist()]
    cuts = [(row, queries[row].decode()) for row in rows]
    return None if any(query[0] == "#" for _, query in cuts) else [*cuts, (len(queries), "")]


def _fields(lines: bytes, ends: Ints, wanted: NDArray[np.bool_]) -> list[str]:
    """The wanted fields of all lines, one after the other."""
    sizes = ends.ravel().copy()
    sizes[1:] -= ends.ravel()[:-1]
    sizes[0] += 1
    kept = np.frombuffer(lines, np.uint8)[np.tile(wanted, len(ends)).repeat(sizes)]
    return kept.tobytes().decode().split()


def _add(nested: dict[str, dict[str, float]], cuts: list[tuple[int, str]], docs: list[str], texts: list[str]) -> bool:
    """Add these rows; False where one of them must be looked at by itself."""
    try:
        numbers = [*map(float, texts)]
    except ValueError:
        return False
    if not isfinite(sum(numbers)) and not all(map(isfinite, numbers)):  # a sum of finite ones may be too large
        return False
    for (start, query), (end, _) in pairwise(cuts):
        found = nested.setdefault(query, {})
        rows = len(found) + end - start
        found.update(zip(docs[start:end], numbers[start:end], strict=True))
        if len(found) < rows:
            return False
    return True
