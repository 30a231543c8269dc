"""Functions of SQL for arrays in rows: a measure of `rankgauge.arrays` for the grades of every row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rankgauge.errors import MeasureError, RankgaugeError, unknown
from rankgauge.read.rows import shortened

__all__ = ["ARRAYS", "register", "udf"]

ARRAYS: Final = (  # functions of `rankgauge.arrays`
    *("ndcg", "dcg", "precision", "recall", "reciprocal_rank", "average_precision", "err", "hit_rate"),
)


def udf(name: str = "ndcg") -> Any:
    """A function of columns: a measure of `rankgauge.arrays`, of the grades of a row in rank order and a cut-off.

    The ideal is made of the grades of the row; a third column may hold the grades of all judgments. Without any grades
    a row has no value; an empty array of grades is 0 where there are judgments. What is wrong in a row is an error.
    """
    import pandas as pd
    from pyspark.sql.pandas.functions import pandas_udf

    if name not in ARRAYS:
        raise MeasureError(unknown(f"there is no function {name!r}", name, ARRAYS))

    def work(grades, *others):  # type: ignore[no-untyped-def]  # Spark reads the annotations below
        if not 1 <= len(others) <= 2:
            given = f"{name}(grades, 10), or {name}(grades, 10, judged) with the grades of all judgments"
            raise MeasureError(f"{name} has {1 + len(others)} of its arguments; expected {given}")
        return pd.Series(_measured_rows(name, grades, *others), dtype="float64")

    work.__annotations__ = {"grades": pd.Series, "others": pd.Series, "return": pd.Series}
    work.__name__ = name
    made: Any = pandas_udf  # whose types know of no function with as many columns as there are
    return made(work, "double")


def register(session: Any, *names: str) -> None:
    """Make measures of arrays functions of SQL: `select ndcg(grades, 10) from rankings`; all where none is named."""
    for name in names or ARRAYS:
        session.udf.register(name, udf(name))


def _measured_rows(name: str, grades: Any, k: Any, *ideal: Any) -> Any:
    """The values of rows: one call for all that have the same cut-off."""
    import numpy as np

    values = np.full(len(grades), np.nan)
    alike: dict[int, list[int]] = {}
    arrays_of = list(zip(grades, *ideal, strict=True))
    for row, (cut, found) in enumerate(zip(k.tolist(), arrays_of, strict=True)):
        for each in found:
            if each is not None and (isinstance(each, str) or not hasattr(each, "__len__")):
                raise MeasureError(f"{name}: {shortened(str(each))} is no array of grades")
        if all(each is not None for each in found) and any(map(len, found)):
            alike.setdefault(_cut(name, cut), []).append(row)
    for cut, rows in alike.items():
        values[rows] = _measured(name, cut, *zip(*(arrays_of[row] for row in rows), strict=True))
    return values


def _cut(name: str, k: Any) -> int:
    """A cut-off as a whole number, which in a column with NULLs is a float."""
    whole = not isinstance(k, str | bytes | bool) and k is not None and k % 1 == 0 and k >= 1
    if not whole:
        raise MeasureError(f"{name}: k is {k!r}; expected a whole number, 1 or more")
    return int(k)


def _measured(name: str, k: int, grades: Sequence[Any], ideal: Sequence[Any] | None = None) -> Any:
    """The values of rows with one cut-off; what is wrong is said of the first row that has it."""
    import numpy as np

    from rankgauge import arrays

    sizes = [*map(len, grades)]
    order = np.concatenate([-np.arange(size, dtype=np.float64) for size in sizes])
    flat = np.concatenate([*map(np.asarray, grades)])
    try:
        return getattr(arrays, name)(flat, order, k, groups=sizes, ideal=ideal).per_query
    except RankgaugeError as error:
        if len(grades) > 1:
            for row in zip(grades, *([] if ideal is None else [ideal]), strict=True):
                _measured(name, k, *([each] for each in row))
        where = f"{name} of {shortened(str(np.asarray(grades[0]).tolist()))}"
        raise type(error)(f"{where}: {str(error).removeprefix('query 0, ')}") from None
