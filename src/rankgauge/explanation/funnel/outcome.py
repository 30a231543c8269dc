"""Funnel: what `funnel` returns, and its form as data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np

from rankgauge.comparison.ranges import too_few
from rankgauge.errors import InputError, unknown
from rankgauge.explanation.funnel.system import LOSSES, PARTS, Cross, Move, System, depths_below
from rankgauge.shown import Shown, clean
from rankgauge.stats.bootstrap import ratio_intervals, ratios, resamples_for
from rankgauge.stats.estimate import NAN, Estimate
from rankgauge.stats.inference import mean_estimates
from rankgauge.stats.paired import TIE, units_of, within_range

if TYPE_CHECKING:
    import polars as pl

    from rankgauge.dtypes import Floats, Ints
    from rankgauge.measures import Measure
    from rankgauge.protocol import Protocol
    from rankgauge.sampling.design import Design

__all__ = ["Funnel", "Harm", "Point", "Sampling"]

MEANS: Final = (*PARTS, "retrieved", "oracle", "random", "lift", "headroom")
# Ratio of means → what is divided by what, of a reranked run.
RATIOS: Final[dict[str, Callable[[System], tuple[Floats, Floats]]]] = {
    "captured": lambda system: (system.of("lift"), system.of("headroom")),
    "skill": lambda system: (system.of("value") - system.of("random"), system.of("oracle") - system.of("random")),
}
FALLEN: Final = 3  # documents that the row of a harmed query names
QUERY_COLUMNS: Final = (*MEANS, "recall_before", "recall_after", "judged_before", "judged_after")


class Point(NamedTuple):
    """A point of the depth curve: if only the first `depth` candidates had been reranked."""

    depth: int
    documents: float  # candidates a query, on average
    recall: float
    oracle: float
    value: float


class Harm(NamedTuple):
    """A query that the reranker made worse, by how much, and the documents that did it, the most harmful first."""

    query_id: str
    change: float
    documents: list[Move]


@dataclass(frozen=True, slots=True)
class Sampling:
    """Weights, clusters, level, resamples and seed of means and intervals; of a sample, its design has the weights."""

    weights: Floats | None = None
    clusters: Ints | None = None
    alpha: float = 0.05
    resamples: int | None = None
    seed: int = 0
    design: Design | None = None

    def mean(self, values: Floats) -> float:
        """The mean over the queries that have a value; NaN where none has."""
        known = ~np.isnan(values)
        weights = np.ones(len(values)) if self.weights is None else self.weights
        total = float(weights[known].sum())
        return float((values[known] * weights[known]).sum()) / total if total > 0 else math.nan


@dataclass(frozen=True, eq=False, repr=False)
class Funnel(Shown):
    """Retriever and reranker apart: `funnel["bert"]["misranked"].value` is a part, with its interval.

    A mapping from reranked run to its estimates (those of `PARTS`, and retrieved, oracle, random, lift, headroom,
    captured, skill); `print(funnel)` has the tables, `to_dict()` the JSON, `to_frame()` a row per run and query.
    """

    shown_by: ClassVar[str] = "funnel"

    measure: Measure
    depth: int
    candidates: int | None
    protocol: Protocol
    systems: dict[str, System]
    sampling: Sampling = field(default_factory=Sampling)
    cross: Cross | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def title(self) -> str:
        """What was measured."""
        return f"{self.measure}{self.per} in two stages"

    @property
    def per(self) -> str:
        """Of a sample, per search or per query, to stand behind the measure; otherwise nothing."""
        return "" if self.sampling.design is None else f" per {self.sampling.design.per}"

    def __getitem__(self, name: str) -> dict[str, Estimate]:
        return self.estimates[self.system(name).name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.systems)

    def __len__(self) -> int:
        return len(self.systems)

    def system(self, name: str) -> System:
        """A reranked run by its name."""
        if name not in self.systems:
            raise InputError(unknown(f"there is no reranked run {name!r}", name, self.systems))
        return self.systems[name]

    @property
    def query_ids(self) -> list[str]:
        """The queries that count, in code-point order."""
        return next(iter(self.systems.values())).query_ids

    # ---- means and intervals ----------------------------------------------------------------------------------------

    @cached_property
    def estimates(self) -> dict[str, dict[str, Estimate]]:
        """Reranked run → name → estimate."""
        found = iter(self._estimated)
        return {name: {stat: next(found) for stat in (*MEANS, *RATIOS)} for name in self.systems}

    @cached_property
    def effects(self) -> dict[str, dict[str, Estimate]]:
        """Of two retrievers × two rerankers: effect → part → estimate; else nothing."""
        if self.cross is None:
            return {}
        found = iter(self._estimated[len(self.systems) * (len(MEANS) + len(RATIOS)) :])
        return {name: {part: next(found) for part in parts} for name, parts in self.cross.effects.items()}

    @cached_property
    def _estimated(self) -> list[Estimate]:
        """Every estimate in one pass, so that all of them rest on the same resamples."""
        above, below = [], []  # a mean is divided by ones
        for system in self.systems.values():
            above += [system.of(name) for name in MEANS]
            below += [np.ones(len(above[0]))] * len(MEANS)
            for ratio in RATIOS.values():
                over, under = ratio(system)
                above.append(over)
                below.append(under)
        for parts in self.cross.effects.values() if self.cross is not None else ():
            above += parts.values()
            below += [np.ones(len(above[0]))] * len(parts)
        tops, bottoms = (
            units_of(np.stack(columns, axis=1), self.sampling.weights, self.sampling.clusters).sums
            for columns in (above, below)
        )
        sampling = self.sampling
        ends = np.full((tops.shape[1], 2), np.nan)
        if sampling.design is not None:
            ends = np.array([self._ends_of_sample(over, under) for over, under in zip(above, below, strict=True)])
        elif not self.too_few:
            ends = ratio_intervals(
                tops, bottoms, alpha=sampling.alpha, resamples=sampling.resamples, seed=sampling.seed
            )
        return [Estimate(*row) for row in zip(ratios(tops, bottoms).tolist(), *ends.T.tolist(), strict=True)]

    def _ends_of_sample(self, over: Floats, under: Floats) -> tuple[float, float]:
        """The interval of a mean over draws of the sample, as `evaluate` has it; a ratio of means has none."""
        design, ones = self.sampling.design, bool((under == 1).all())
        if design is None or not ones or self.sampling.clusters is not None:
            return math.nan, math.nan
        known = ~np.isnan(over)
        queries = design.drawn([query for query, there in zip(self.query_ids, known.tolist(), strict=True) if there])
        values, alpha = over[known], self.sampling.alpha
        bounded = bool((values >= 0).all() and (values <= 1).all())  # an effect may be below 0
        (found,) = mean_estimates([values], queries, bounded=bounded, alpha=alpha) if len(values) else [Estimate(NAN)]
        return within_range(found[1:], True, -1.0)

    @property
    def too_few(self) -> bool:
        """Whether the queries, or clusters of them, are too few for an interval."""
        clusters = self.sampling.clusters
        return too_few(len(self.query_ids) if clusters is None else len(np.unique(clusters)), self.sampling.alpha)

    def mean(self, name: str, column: str) -> float:
        """The mean of a column over the queries, without its interval."""
        return self.sampling.mean(self.system(name).of(column))

    # ---- depths -----------------------------------------------------------------------------------------------------

    @cached_property
    def curve(self) -> dict[str, list[Point]]:
        """Reranked run → what it would have reached if only the first 10, 20, 50, … candidates had been reranked."""
        deepest = max(int(each.first.hits.retrieved[each.chosen].max(initial=1)) for each in self.systems.values())
        depths = [*depths_below(deepest), max(deepest, 1)]
        return {name: [self._point(system, depth) for depth in depths] for name, system in self.systems.items()}

    def _point(self, system: System, depth: int) -> Point:
        oracle, value, recall = map(self.sampling.mean, system.at_depth(depth))
        documents = np.minimum(system.first.hits.retrieved, depth)[system.chosen].astype(np.float64)
        return Point(depth, self.sampling.mean(documents), recall, oracle, value)

    def peak(self, name: str) -> Point:
        """Where the reranker reaches most; of equals, the shallowest."""
        points = self.curve[self.system(name).name]
        best = max(point.value for point in points)
        return next(point for point in points if point.value >= best - TIE)

    # ---- queries ----------------------------------------------------------------------------------------------------

    def harmed(self, name: str, most: int | None = None) -> list[Harm]:
        """The queries that the reranker made worse, the most harmed first, with the documents that did it."""
        system = self.system(name)
        return [
            Harm(query, change, [move for move in system.moves(query) if move.change < 0])
            for query, change in system.harmed[:most]
        ]

    def largest(self, name: str) -> dict[str, int]:
        """Loss → in how many queries it is the largest."""
        found = self.system(name).largest
        return {loss: found.count(loss) for loss in LOSSES}

    def outcome(self, name: str) -> dict[str, int]:
        """How many queries the reranker helped, left as they were, and harmed."""
        lift = self.system(name).of("lift")
        helped, harmed = int((lift > TIE).sum()), int((lift < -TIE).sum())
        return {"helped": helped, "unchanged": len(lift) - helped - harmed, "harmed": harmed}

    # ---- as data ----------------------------------------------------------------------------------------------------

    def data(self, *, per_query: bool = False) -> dict[str, Any]:
        """Everything that JSON holds; the queries where they are asked for."""
        sampling = self.sampling
        data: dict[str, Any] = {
            "measure": str(self.measure),
            "depth": self.depth,
            "candidates": self.candidates,
            "queries": len(self.query_ids),
            "protocol": self.protocol.to_dict(),
            "alpha": sampling.alpha,
            "intervals": self._intervals_data(),
            "systems": {name: self._system_data(name, per_query) for name in self.systems},
            "notes": self.notes,
        }
        if sampling.design is not None:
            data["sample"] = sampling.design.data()
        if self.cross is not None:
            data["attribution"] = {
                "retrievers": dict(zip(("old", "new"), self.cross.retrievers, strict=True)),
                "rerankers": dict(zip(("old", "new"), self.cross.rerankers, strict=True)),
                "effects": self.effects,
            }
        return data

    def _intervals_data(self) -> dict[str, Any]:
        """The method of the intervals."""
        if self.sampling.design is not None:
            return {"method": "over draws of the sample, t"}
        drawn = self.sampling.resamples or resamples_for(len(self.query_ids))
        return {"method": "BCa, paired bootstrap over queries", "resamples": drawn, "seed": self.sampling.seed}

    def _system_data(self, name: str, per_query: bool) -> dict[str, Any]:
        system, estimates = self.systems[name], self.estimates[name]
        data: dict[str, Any] = {
            "candidates_of": system.retriever,
            "parts": {part: estimates[part] for part in PARTS},
            **{stat: each for stat, each in estimates.items() if stat not in PARTS},
            "recall": {"before": self.mean(name, "recall_before"), "after": self.mean(name, "recall_after")},
            "judged": {"before": self.mean(name, "judged_before"), "after": self.mean(name, "judged_after")},
            "documents_dropped": system.second.dropped,
            "outcome": self.outcome(name),
            "largest_loss": self.largest(name),
            "curve": self.curve[name],
            "peak": self.peak(name).depth,
            "harmed": [_harm_data(harm) for harm in self.harmed(name, None if per_query else 10)],
        }
        return data | ({"per_query": self.rows(name)} if per_query else {})

    def rows(self, name: str) -> list[dict[str, Any]]:
        """For every query of a reranked run its parts and all else, by name.

        `fallen` are the documents whose fall cost a harmed query most, the costliest first.
        """
        system = self.systems[name]
        columns = {column: clean(system.of(column)) for column in QUERY_COLUMNS}
        fallen = {harm.query_id: [move.doc_id for move in harm.documents[:FALLEN]] for harm in self.harmed(name)}
        heads = ["query_id", *columns, "largest_loss"]
        return [
            dict(zip(heads, row, strict=True)) | {"harmed": row[0] in fallen, "fallen": fallen.get(row[0], [])}
            for row in zip(system.query_ids, *columns.values(), system.largest, strict=True)
        ]

    def to_frame(self) -> pl.DataFrame:
        """A polars frame with a row per reranked run and query: parts, stages, recall, judged shares, largest loss."""
        import polars as pl

        rows = [{"run": name, **row} for name in self.systems for row in self.rows(name)]
        return pl.DataFrame(rows, infer_schema_length=None)


def _harm_data(harm: Harm) -> dict[str, Any]:
    return harm._asdict() | {"documents": [move._asdict() | {"after": move.after or None} for move in harm.documents]}
