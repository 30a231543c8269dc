"""A square table of numbers from a file: a confusion matrix, with its grades as heads or without."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankgauge.errors import FormatError, InputError
from rankgauge.read.rows import number_of, shortened
from rankgauge.read.sources import find_source

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Matrix", "read_matrix"]


class Matrix(NamedTuple):
    """The numbers, and the grades of rows and columns where the file names them."""

    counts: NDArray[np.float64]
    grades: list[float] | None = None


def read_matrix(path: str | os.PathLike[str]) -> Matrix:
    """A matrix from a file of rows, split by commas, tabs or blanks; with heads it is put in ascending order of grades.

    The first line is one of heads if its first cell is empty or a word (`true,0,1,2,3`), and rows then have theirs too;
    or if there is one line more than there are columns: rows are then in the order of the columns.
    """
    source = find_source(path)
    with source.open_text() as stream:
        lines = [(number, text.decode(errors="replace").strip()) for number, text in enumerate(stream, 1)]
    rows = [(number, _cells(text)) for number, text in lines if text and not text.startswith("#")]
    if not rows:
        raise InputError(f"{source.name}: holds no rows; expected a square matrix, rows true, columns label")
    named = not _is_number(rows[0][1][0])
    headed = named or (len(rows) > 2 and {len(cells) for _, cells in rows} == {len(rows) - 1})
    numbers = [[_number(source.name, line, cell) for cell in cells] for line, cells in rows[headed:]]
    heads = [_number(source.name, rows[0][0], cell) for cell in rows[0][1][named:]] if headed else None
    grades = [row.pop(0) for row in numbers] if named else heads
    wide = len(heads) if heads is not None else len(numbers[0])
    for (line, cells), row in zip(rows[headed:], numbers, strict=True):
        if len(row) != wide:
            raise FormatError(
                f"{source.name}:{line}: expected {wide} numbers, got {len(row)}: {shortened(' '.join(cells))}"
            )
    counts = np.array(numbers, np.float64).reshape(len(numbers), wide)
    return Matrix(counts) if heads is None or grades is None else _ascending(source.name, counts, grades, heads)


def _ascending(name: str, counts: NDArray[np.float64], rows: list[float], columns: list[float]) -> Matrix:
    """The matrix with rows and columns in ascending order of their grades, which must be the same ones."""
    if sorted(rows) != sorted(columns) or len(set(columns)) < len(columns):
        raise FormatError(f"{name}: rows are grades {rows} and columns {columns}; give each grade a row and a column")
    return Matrix(counts[np.argsort(rows)][:, np.argsort(columns)], sorted(columns))


def _cells(text: str) -> list[str]:
    """Cells between tabs, semicolons, commas or blanks; with the first two a comma is one of decimals."""
    delimiter = next((each for each in "\t;," if each in text), None)
    cells = [cell.strip().strip('"') for cell in text.split(delimiter)]
    return cells if delimiter in (",", None) else [cell.replace(",", ".") for cell in cells]


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
