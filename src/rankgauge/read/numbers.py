"""Files of one number a line: the scores that a model predicts, and the sizes of queries."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from rankgauge.errors import FormatError, InputError
from rankgauge.read.rows import number_of, shortened
from rankgauge.read.sources import Source, find_source

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LONG", "Column", "read_scores", "read_sizes"]

LONG: Final = 60  # a number that is longer than this is none, and not shown whole
NUMPY: Final = b"\x93NUMPY"


class Column(NamedTuple):
    """Numbers, and the name that messages give them."""

    name: str
    numbers: NDArray[np.float64]


def read_scores(path: str | os.PathLike[str] | Source) -> Column:
    """The scores in a file: one number a line, or an array that numpy saved (.npy). Blank lines and # are skipped."""
    source = path if isinstance(path, Source) else find_source(path)
    with source.open_text() as stream:
        data = stream.read()
    if data.startswith(NUMPY):
        return Column(source.name, _saved_array(data, source.name))
    try:
        numbers = np.fromiter(map(float, data.splitlines()), np.float64)
    except ValueError:
        numbers = np.empty(0)
    if not len(numbers) or not np.isfinite(numbers).all() or b"_" in data:
        numbers = _careful(data, source.name, "score")
    return Column(source.name, numbers)


def read_sizes(path: str | os.PathLike[str] | Source) -> Column:
    """The sizes of queries in a file: one whole number of 1 or more a line."""
    source = path if isinstance(path, Source) else find_source(path)
    with source.open_text() as stream:
        data = stream.read()
    sizes = _careful(data, source.name, "size")
    bad = np.flatnonzero((sizes < 1) | (sizes != np.floor(sizes)))
    if len(bad):
        lines = [line for line, text in _lines(data)]
        raise FormatError(
            f"{source.name}:{lines[bad[0]]}: size {sizes[bad[0]]:g} is not a number of rows; "
            "expected a whole number of 1 or more: how many rows the query has"
        )
    return Column(source.name, sizes)


def _lines(data: bytes) -> list[tuple[int, bytes]]:
    lines = ((line, text.partition(b"#")[0].strip()) for line, text in enumerate(data.splitlines(), 1))
    return [(line, text) for line, text in lines if text]


def _careful(data: bytes, name: str, what: str) -> NDArray[np.float64]:
    """Line by line; an error names the line."""
    numbers: list[float] = []
    for line, text in _lines(data):
        fields = len(text.split())
        if fields > 1:
            raise FormatError(f"{name}:{line}: expected one {what} a line, got {fields} fields: {shortened(text)}")
        try:
            numbers.append(number_of(text))
        except ValueError as error:
            why = error if len(text) <= LONG else f"{shortened(text)} is not a number"
            raise FormatError(f"{name}:{line}: {what} {why}; expected one number a line") from None
    if not numbers:
        raise InputError(f"{name}: holds no {what}s; expected one number a line")
    return np.array(numbers, np.float64)


def _saved_array(data: bytes, name: str) -> NDArray[np.float64]:
    try:
        array = np.load(io.BytesIO(data), allow_pickle=False)
        numbers = np.asarray(array, np.float64)
    except (TypeError, ValueError, EOFError) as error:
        raise FormatError(f"{name}: is not an array of numbers that numpy saved ({error})") from None
    if numbers.ndim != 1 and numbers.size != max(numbers.shape, default=0):
        raise FormatError(f"{name}: holds an array of shape {numbers.shape}; expected one score a row: (rows,)")
    return numbers.reshape(-1)
