"""A square table of numbers from a file: a confusion matrix, with its grades as heads or without."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankgauge.errors import FormatError, InputError
from rankgauge.read.files import find_source
from rankgauge.read.rows import number_of, shortened

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Matrix", "read_matrix"]


class Matrix(NamedTuple):
    """The numbers, and the grades of rows and columns where the file names them."""

    counts: NDArray[np.float64]
    grades: list[float] | None = None


def read_matrix(path: str | os.PathLike[str]) -> Matrix:
    """A matrix from a file of rows, split by commas, tabs or blanks; where it has heads, rows have theirs too.

    The first line is one of heads if its first cell is empty or a word (`true,0,1,2,3`).
    """
    source = find_source(path)
    with source.open_text() as stream:
        lines = [(number, text.decode(errors="replace").strip()) for number, text in enumerate(stream, 1)]
    rows = [(number, _cells(text)) for number, text in lines if text and not text.startswith("#")]
    if not rows:
        raise InputError(f"{source.name}: holds no rows; expected a square matrix, rows true, columns label")
    heads = None if _is_number(rows[0][1][0]) else [_number(source.name, rows[0][0], cell) for cell in rows[0][1][1:]]
    body = rows[1:] if heads is not None else rows
    numbers = [[_number(source.name, line, cell) for cell in cells] for line, cells in body]
    grades = [row.pop(0) for row in numbers] if heads is not None else None
    wide = len(heads) if heads is not None else len(numbers[0]) if numbers else 0
    for (line, cells), row in zip(body, numbers, strict=True):
        if len(row) != wide:
            raise FormatError(
                f"{source.name}:{line}: expected {wide} numbers, got {len(row)}: {shortened(' '.join(cells))}"
            )
    if grades != heads:
        raise FormatError(f"{source.name}: rows are grades {grades} and columns {heads}; give both in the same order")
    return Matrix(np.array(numbers, np.float64).reshape(len(numbers), wide), grades)


def _cells(text: str) -> list[str]:
    delimiter = next((each for each in (",", "\t", ";") if each in text), None)
    return [cell.strip().strip('"') for cell in text.split(delimiter)]


def _is_number(cell: str) -> bool:
    try:
        number_of(cell)
    except ValueError:
        return False
    return True


def _number(name: str, line: int, cell: str) -> float:
    try:
        return number_of(cell)
    except ValueError as error:
        raise FormatError(f"{name}:{line}: {error}; a confusion matrix holds counts or chances") from None
