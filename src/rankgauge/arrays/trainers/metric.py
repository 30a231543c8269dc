"""A measure under a trainer's convention, for arrays: what the callables of every trainer have in common.

And batches in, one value out: for a loop that sees its evaluation set in parts, on one machine or on many.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.arrays import CANDIDATES, NO_QUERIES, measured, rows_of
from rankgauge.arrays.compute import TIES
from rankgauge.arrays.inputs import array_of
from rankgauge.arrays.shapes import weights_of
from rankgauge.dialects import DIALECTS, Dialect, find_dialect
from rankgauge.errors import InputError, MeasureError, ProtocolError, choices
from rankgauge.measures import Measure, as_written, parse
from rankgauge.measures.aggregates import aggregate, checked_weights

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankgauge.dtypes import Floats

__all__ = ["Accumulator", "Metric", "metrics_of"]

# Measure → how trainers call it. XGBoost maximises what begins with ndcg, map or pre without being told.
NAMES: Final = {"nDCG": "ndcg", "AP": "map", "P": "pre", "RR": "mrr", "R": "recall", "Success": "hit"}


UNWEIGHTED: Final = {"catboost": ("AP", "P", "R")}  # dialect → the measures for which it looks at no weights


class Metric:
    """A measure by name, as a dialect defines it, or as rankgauge does where the dialect is None.

    `name` is what a trainer's log calls it: the trainer's own spelling and whose number it is (the dialect's name, or
    rankgauge), so that it can stand beside the metric that the trainer has built in, and beside other dialects.
    """

    def __init__(self, measure: str, dialect: str | Dialect | None, name: str | None = None) -> None:
        self.dialect = None if dialect is None else find_dialect(dialect)
        written = (as_written if self.dialect is None else self.dialect.written)(_ours(measure))
        self.round_mean = None if self.dialect is None else self.dialect.round_mean
        self.rounding = None
        if self.dialect is None:
            self.measure, self.protocol = parse(_ours(measure)), CANDIDATES
        else:
            own = self.dialect.own(written)
            self.measure, self.protocol, self.rounding = own.measure, own.protocol, own.rounding
        if self.protocol.order != "score":
            raise ProtocolError(f"{dialect} orders documents as they are given and looks at no scores: not for arrays")
        if self.protocol.ties not in TIES:
            known = ((name, each.protocol) for name, each in DIALECTS.items())
            raise ProtocolError(
                f"{dialect} orders equal scores by document id, and arrays have none; expected None or "
                f"{choices(name for name, rules in known if rules.order == 'score' and rules.ties in TIES)}"
            )
        self.name = name or f"{_name(written)}_{self.dialect.name if self.dialect else 'rankgauge'}"

    def with_rules(self, **rules: Any) -> Metric:
        """The same under other rules."""
        changed = object.__new__(Metric)
        changed.__dict__.update(self.__dict__, protocol=replace(self.protocol, **rules))
        return changed

    def per_query(self, grades: Any, scores: Any, **shape: Any) -> Floats:
        """The value of every query; `shape` is what `rankgauge.arrays` takes: groups, qid or mask."""
        values = measured(self.measure, rows_of(grades, scores, **shape), self.protocol)
        return values if self.rounding is None else self.rounding.each(values)

    def mean(self, grades: Any, scores: Any, *, weights: Any = None, **shape: Any) -> float:
        """The mean over queries, as the trainer takes it."""
        values = self.per_query(grades, scores, **shape)
        if not len(values):
            raise InputError(NO_QUERIES)
        weight = None if weights is None else self.weights(checked_weights(np.asarray(weights, np.float64)))
        if weight is not None and self._adds_empty_queries_without_weight:
            without = self.with_rules(empty="zero").per_query(grades, scores, **shape)
            return float(((without * weight).sum() + (values - without).sum()) / weight.sum())
        value = aggregate("mean", values, weight)
        return value if self.round_mean is None else self.round_mean(value)

    def weights(self, given: Floats) -> Floats:
        """The weights of queries that count: those given, or 1 for each where the trainer looks at none."""
        ignored = self.dialect is not None and self.measure.name in UNWEIGHTED.get(self.dialect.name, ())
        return np.ones(len(given)) if ignored else given

    @property
    def _adds_empty_queries_without_weight(self) -> bool:
        """XGBoost and LightGBM add 1 for an empty query to a weighted sum, whatever the query weighs."""
        return self.dialect is not None and self.dialect.name in ("xgboost", "lightgbm") and self.measure.name == "nDCG"

    def __repr__(self) -> str:
        spoken = "" if self.dialect is None else f", dialect {self.dialect.name}"
        return f"{self.name} ({self.measure}{spoken}; {self.protocol})"


def metrics_of(measures: tuple[str, ...], dialect: str | Dialect | None, name: str | None = None) -> list[Metric]:
    """The metrics of these measures, nDCG@10 where none is named."""
    asked = measures or ("nDCG@10",)
    if name is not None and len(asked) > 1:
        raise MeasureError(f"name={name!r} is for one measure, and {len(asked)} are asked for")
    return [Metric(measure, dialect, name) for measure in asked]


def _ours(text: str) -> str:
    """A trainer's spelling, `pre@5`, as ours: `P@5`."""
    name, cut, rest = text.partition("@")
    return next((ours for ours, theirs in NAMES.items() if theirs == name), name) + cut + rest


def _name(measure: Measure) -> str:
    text = str(measure)
    return NAMES.get(measure.name, measure.name) + text.removeprefix(measure.name)


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
