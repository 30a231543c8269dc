"""What a function over arrays returns: one small value that says what it is."""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from rankgauge.errors import counted
from rankgauge.measures.aggregates import aggregate

if TYPE_CHECKING:
    from rankgauge.dtypes import Array, Floats

__all__ = ["Value"]


@dataclass(frozen=True, eq=False, repr=False)
class Value:
    """A measure of many queries: `float(value)` is the mean, `value.per_query` has one number a query.

    `queries` are the ids that were given as qid, in the order of `per_query`; None where there were none.
    """

    measure: str
    per_query: Floats
    definition: str
    weights: Floats | None = None
    queries: Array | None = None

    @cached_property
    def mean(self) -> float:
        """The mean over queries, weighted where there are weights; NaN where no query counts."""
        return aggregate("mean", self.per_query, self.weights)

    def __float__(self) -> float:
        return self.mean

    def __len__(self) -> int:
        return len(self.per_query)

    def __format__(self, form: str) -> str:
        return format(self.mean, form) if form else repr(self)

    def __round__(self, digits: int | None = None) -> float:
        return round(self.mean, digits)

    def __repr__(self) -> str:
        return f"{self.measure} = {self.mean:.4f} ({self._of}; {self.definition})"

    def _repr_html_(self) -> str:
        head, rest = html.escape(f"{self.measure} = {self.mean:.4f}"), html.escape(self.definition)
        return f"<div><b>{head}</b> ({self._of})<br><small>{rest}</small></div>"

    @property
    def _of(self) -> str:
        return f"{'mean' if self.weights is None else 'weighted mean'} of {counted(len(self), 'query', 'queries')}"
