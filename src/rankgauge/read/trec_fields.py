"""The quick reader of small TREC files: a block of lines at a time, without polars, whose import takes longer.

It is as optimistic as the reader of big files: where the bytes of a block do not prove that every line has just the
right fields, or a field is out of the ordinary, or a document is there twice, it gives up and returns None, and the
line reader reads the file, finds the line, and says what is wrong.
"""

from __future__ import annotations

from itertools import compress, count, pairwise
from math import isfinite
from operator import ne
from typing import BinaryIO

import numpy as np

from rankgauge.read.trec_blocks import blocks_of

__all__ = ["read_fields"]

BLOCK = 1 << 16  # bytes: few enough for their fields to stay in the processor's cache
TAB, NEWLINE, BLANK = b"\t\n "


def read_fields(
    stream: BinaryIO, width: int, doc: int, number: int, block: int = BLOCK
) -> dict[str, dict[str, float]] | None:
    """Query → document → number, or None where anything is out of the ordinary; the fields are counted from 0."""
    nested: dict[str, dict[str, float]] = {}
    for lines in blocks_of(stream, block):
        if not _is_regular(lines, width):
            return None
        fields = lines.decode().split()
        texts = fields[number::width]
        if b"_" in lines and "_" in "".join(texts):  # Python takes 1_0 for a number
            return None
        if not _add(nested, fields[::width], fields[doc::width], texts):
            return None
    return nested or None


def _is_regular(lines: bytes, width: int) -> bool:
    """Whether this is ASCII, and every line has so many fields with one blank or tab between any two of them."""
    codes = np.frombuffer(lines, np.uint8)
    ends = (codes <= BLANK).nonzero()[0]
    if not lines.isascii() or len(ends) % width or ends[0] == 0 or (ends[1:] - ends[:-1] == 1).any():
        return False
    kinds = codes[ends].reshape(-1, width)
    between = kinds[:, :-1]
    return bool((kinds[:, -1] == NEWLINE).all() and ((between == BLANK) | (between == TAB)).all())


def _add(nested: dict[str, dict[str, float]], queries: list[str], docs: list[str], texts: list[str]) -> bool:
    """Add these rows; False where one of them must be looked at by itself."""
    try:
        numbers = [*map(float, texts)]
    except ValueError:
        return False
    if not isfinite(sum(numbers)) and not all(map(isfinite, numbers)):  # a sum of finite ones may be too large
        return False
    cuts = [0, *compress(count(1), map(ne, queries, queries[1:])), len(queries)]
    for start, end in pairwise(cuts):
        found = nested.setdefault(queries[start], {})
        rows = len(found) + end - start
        found.update(zip(docs[start:end], numbers[start:end], strict=True))
        if len(found) < rows or queries[start][0] == "#":
            return False
    return True
