"""Measures of arrays: grades and scores as a training loop has them, many queries in one call.

>>> from rankgauge import arrays
>>> value = arrays.ndcg([[3, 0, 2], [0, 1, 0]], [[0.2, 0.9, 0.5], [0.3, 0.3, 0.1]], k=3)
>>> round(value, 4), value.per_query.round(4).tolist()
(0.7318, [0.648, 0.8155])

Every function takes grades and scores as a matrix (a line per query), as columns with `groups` (the sizes of queries)
or `qid` (a query's id on every row, in any order), or as a matrix with a `mask`; numpy, lists, torch, jax, pandas and
polars. They become Hits, and the measures are those of `rankgauge.evaluate`.
"""

from __future__ import annotations

from rankgauge.arrays.compute import measured
from rankgauge.arrays.functions import (
    CANDIDATES,
    NO_QUERIES,
    Value,
    average_precision,
    dcg,
    err,
    hit_rate,
    ndcg,
    precision,
    recall,
    reciprocal_rank,
)
from rankgauge.arrays.rows import Rows
from rankgauge.arrays.shapes import rows_of

__all__ = [
    "CANDIDATES", "NO_QUERIES", "Rows", "Value", "average_precision", "dcg", "err", "hit_rate", "measured", "ndcg",
    "precision", "recall", "reciprocal_rank", "rows_of",
]  # fmt: skip
