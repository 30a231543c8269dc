"""Batches in, one value out: for a training loop that sees its evaluation set in parts, on one machine or on many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankgauge.arrays.inputs import array_of
from rankgauge.arrays.shapes import weights_of
from rankgauge.arrays.trainers.metric import metrics_of
from rankgauge.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankgauge.dialects import Dialect
    from rankgauge.dtypes import Floats

__all__ = ["Accumulator"]


class Accumulator:
    """Adds up the values of queries, batch by batch; a query is in one batch as a whole.

    >>> total = Accumulator("nDCG@10", "RR")
    >>> total.update([[3, 0, 2]], [[0.2, 0.9, 0.5]])
    >>> total.update([[1, 0]], [[0.7, 0.1]])
    >>> {name: round(value, 4) for name, value in total.compute().items()}
    {'nDCG@10': 0.8327, 'RR': 0.75}

    `state` is an array of sums, which processes may add to each other: `total.reduce(torch.distributed.all_reduce)`.
    """

    def __init__(self, *measures: str, dialect: str | Dialect | None = None) -> None:
        self.measures = measures or ("nDCG@10",)
        self.metrics = metrics_of(self.measures, dialect)
        self.state: Floats = np.zeros((len(self.metrics), 2))

    def update(self, grades: Any, scores: Any, *, weights: Any = None, **shape: Any) -> None:
        """Add the queries of a batch: arrays or tensors, with `groups`, `qid` or `mask` as in `rankgauge.arrays`. An
        empty batch adds nothing."""
        added = np.zeros_like(self.state)
        for row, metric in enumerate(self.metrics):
            values = metric.per_query(grades, scores, **shape)
            weight = np.ones(len(values)) if weights is None else weights_of(weights, len(values), some=False)
            counts = ~np.isnan(values)
            added[row] = (values * weight)[counts].sum(), weight[counts].sum()
        self.state = self.state + added

    def compute(self) -> dict[str, float]:
        """Measure → mean over all queries so far; NaN where there was none."""
        with np.errstate(invalid="ignore", divide="ignore"):
            means = self.state[:, 0] / self.state[:, 1]
        return dict(zip(self.measures, means.tolist(), strict=True))

    def merge(self, other: Accumulator) -> None:
        """Add what another accumulator of the same measures has seen."""
        if [repr(each) for each in other.metrics] != [repr(each) for each in self.metrics]:
            raise InputError(f"{self.measures} and {other.measures} are not the same measures under the same rules")
        self.state = self.state + other.state

    def reduce(self, all_reduce: Callable[[Any], Any], device: Any = None) -> None:
        """Add up the sums of all processes by torch's `all_reduce`, which adds tensors in place.

        Call it once, after the last batch. `device` is where the sums travel: "cuda" for NCCL.
        """
        import torch

        tensor = torch.tensor(self.state, dtype=torch.float64, device=device)
        all_reduce(tensor)
        self.state = array_of(tensor, "state").astype(np.float64)

    def reset(self) -> None:
        """Begin anew."""
        self.state = np.zeros_like(self.state)
