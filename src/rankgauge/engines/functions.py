"""Functions of SQL for arrays in rows: a measure of `rankgauge.arrays` for the grades of every row."""

from __future__ import annotations

from typing import Any, Final

from rankgauge.errors import MeasureError, unknown

__all__ = ["ARRAYS", "register", "udf"]

ARRAYS: Final = (  # functions of `rankgauge.arrays`
    *("ndcg", "dcg", "precision", "recall", "reciprocal_rank", "average_precision", "err", "hit_rate"),
)


def udf(name: str = "ndcg") -> Any:
    """A function of columns: a measure of `rankgauge.arrays`, of the grades of a row in rank order and a cut-off.

    The ideal is made of the grades of the row; a third column may hold the grades of all judgments. A row without
    grades has no value.
    """
    import pandas as pd
    from pyspark.sql.pandas.functions import pandas_udf

    if name not in ARRAYS:
        raise MeasureError(unknown(f"there is no function {name!r}", name, ARRAYS))

    def work(grades, k, *ideal):  # type: ignore[no-untyped-def]  # Spark reads the annotations below
        return pd.Series(_measured_rows(name, grades, k, *ideal), dtype="float64")

    work.__annotations__ = {"grades": pd.Series, "k": pd.Series, "ideal": pd.Series, "return": pd.Series}
    work.__name__ = name
    made: Any = pandas_udf  # whose types know of no function with as many columns as there are
    return made(work, "double")


def register(session: Any, *names: str) -> None:
    """Make measures of arrays functions of SQL: `select ndcg(grades, 10) from rankings`; all where none is named."""
    for name in names or ARRAYS:
        session.udf.register(name, udf(name))


def _measured_rows(name: str, grades: Any, k: Any, ideal: Any = None) -> Any:
    """The values of rows: one call for all that have the same cut-off."""
    import numpy as np

    from rankgauge import arrays

    values = np.full(len(grades), np.nan)
    there = np.array([each is not None and len(each) > 0 for each in grades], bool)
    for cut in set(k[there].tolist()):
        rows = np.flatnonzero(there & (k == cut).to_numpy())
        some = [np.asarray(grades.iloc[row], np.float64) for row in rows]
        order = [-np.arange(len(each), dtype=np.float64) for each in some]
        more = {} if ideal is None else {"ideal": [np.asarray(ideal.iloc[row], np.float64) for row in rows]}
        values[rows] = getattr(arrays, name)(some, order, int(cut), **more).per_query
    return values
