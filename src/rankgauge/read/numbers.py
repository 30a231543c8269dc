"""Files of bare numbers: the scores that a model predicts and the sizes of queries, one a line; confusion matrices."""

from __future__ import annotations

import io
import os
import warnings
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from rankgauge.errors import FormatError, InputError
from rankgauge.read.rows import is_number, number_of, shortened
from rankgauge.read.sources import NUMPY, Source, find_source

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["LONG", "Column", "Matrix", "read_matrix", "read_scores", "read_sizes"]

LONG: Final = 60  # a number that is longer than this is none, and not shown whole


class Column(NamedTuple):
    """Numbers, and the name that messages give them."""

    name: str
    numbers: NDArray[np.float64]


def read_scores(path: str | os.PathLike[str] | Source) -> Column:
    """The scores in a file: one number a line, or an array that numpy saved (.npy). Blank lines and # are skipped."""
    source = find_source(path)
    data = source.read_text()
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
    source = find_source(path)
    data = source.read_text()
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
        with warnings.catch_warnings(action="ignore"):
            array = np.load(io.BytesIO(data), allow_pickle=False)
    except Exception as error:  # a damaged header is Python's to read, with all that this may raise
        words = str(error).partition("\n")[0]
        raise FormatError(f"{name}: is not an array of numbers that numpy saved ({shortened(words)})") from None
    if array.dtype.kind not in "biuf":
        raise FormatError(f"{name}: holds an array of {array.dtype}; expected numbers, one score a row")
    numbers: NDArray[np.float64] = array.astype(np.float64)
    if numbers.ndim != 1 and numbers.size != max(numbers.shape, default=0):
        raise FormatError(f"{name}: holds an array of shape {numbers.shape}; expected one score a row: (rows,)")
    return numbers.reshape(-1)


# ---- a square table of numbers ---------------------------------------------------------------------------------------


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
    named = not is_number(rows[0][1][0])
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


def _number(name: str, line: int, cell: str) -> float:
    try:
        return number_of(cell)
    except ValueError as error:
        raise FormatError(f"{name}:{line}: {error}; a confusion matrix holds counts or chances") from None
