"""Funnel: what `funnel` returns, and its form as data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np

from rankgauge.errors import InputError, unknown
from rankgauge.explanation.funnel.system import LOSSES, PARTS, Cross, Move, System, depths_below
from rankgauge.shown import Shown, clean
from rankgauge.stats.estimate import NAN, Estimate
from rankgauge.stats.inference import Queries, differences, mean_interval, ratios
from rankgauge.stats.paired import TIE

if TYPE_CHECKING:
    import polars as pl

    from rankgauge.dtypes import Floats, Ints
    from rankgauge.measures import Measure
    from rankgauge.protocol import Protocol
    from rankgauge.sampling.design import Design
    from rankgauge.stats.inference import Answer

__all__ = ["Funnel", "Harm", "Point", "Sampling"]

MEANS: Final = (*PARTS, "retrieved", "oracle", "random", "lift", "headroom")
SIGNED: Final = ("lift",)  # of the means; the others are of values between 0 and 1
# Ratio of means → what is divided by what, of a reranked run.
RATIOS: Final[dict[str, Callable[[System], tuple[Floats, Floats]]]] = {
    "captured": lambda system: (system.of("lift"), system.of("headroom")),
    "skill": lambda system: (system.of("value") - system.of("random"), system.of("oracle") - system.of("random")),
}
METHOD: Final = "the sign-flip test inverted; of means of values between 0 and 1 Wilson's"
NOTHING: Final = 1e-12  # a mean that is no larger is 0 but for rounding, and nothing to divide by
FALLEN: Final = 3  # documents that the row of a harmed query names
QUERY_COLUMNS: Final = (*MEANS, "recall_before", "recall_after", "judged_before", "judged_after")


class Point(NamedTuple):
    """A point of the depth curve: if only the first `depth` candidates had been reranked; 0 is the retrieved run."""

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
    """Weights, clusters, level and seed of means and intervals; of a sample, its design has the weights."""

    weights: Floats | None = None
    clusters: Ints | None = None
    alpha: float = 0.05
    seed: int = 0
    design: Design | None = None

    def mean(self, values: Floats) -> float:
        """The mean over the queries that have a value; NaN where none has."""
        known = ~np.isnan(values)
        weights = np.ones(len(values)) if self.weights is None else self.weights
        total = float(weights[known].sum())
        return float((values[known] * weights[known]).sum()) / total if total > 0 else math.nan

    def drawn(self, queries: list[str]) -> Queries:
        """The weights and clusters of the queries, and how chance drew them; not known of clusters in a sample."""
        if self.design is not None and self.clusters is None:
            return self.design.drawn(queries)
        return Queries(len(queries), self.weights, self.clusters, known=self.design is None)


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
        signed = iter(self._differences)
        divided = iter(self._ratios)
        return {
            name: {stat: next(signed) if stat in SIGNED else self._mean(system.of(stat)) for stat in MEANS}
            | {ratio: next(divided) for ratio in RATIOS}
            for name, system in self.systems.items()
        }

    @cached_property
    def effects(self) -> dict[str, dict[str, Estimate]]:
        """Of two retrievers × two rerankers: effect → part → estimate; else nothing."""
        if self.cross is None:
            return {}
        found = iter(self._differences[len(self.systems) * len(SIGNED) :])
        return {name: {part: next(found) for part in parts} for name, parts in self.cross.effects.items()}

    @cached_property
    def _drawn(self) -> Queries:
        return self.sampling.drawn(self.query_ids)

    def _mean(self, values: Floats) -> Estimate:
        """A mean of values between 0 and 1, as `evaluate` has it."""
        return Estimate(
            self.sampling.mean(values), *(mean_interval(values, self._drawn, alpha=self.sampling.alpha) or ())
        )

    @cached_property
    def _differences(self) -> list[Estimate]:
        """The lift of every system, then every effect, as `compare` has differences."""
        columns = [system.of(stat) for system in self.systems.values() for stat in SIGNED]
        columns += [part for parts in (self.cross.effects.values() if self.cross else ()) for part in parts.values()]
        answers = differences(columns, self._drawn, alpha=self.sampling.alpha, seed=self.sampling.seed)
        return [_estimate(self.sampling.mean(column), each) for column, each in zip(columns, answers, strict=True)]

    @cached_property
    def _ratios(self) -> list[Estimate]:
        """Every ratio of means of every system; NaN where there is nothing to divide by."""
        pairs = [ratio(system) for system in self.systems.values() for ratio in RATIOS.values()]
        means = [(self.sampling.mean(above), self.sampling.mean(below)) for above, below in pairs]
        there = [at for at, (_, below) in enumerate(means) if below > NOTHING]
        above, below = [pairs[at][0] for at in there], [np.maximum(pairs[at][1], 0.0) for at in there]
        answers = ratios(above, below, self._drawn, alpha=self.sampling.alpha, seed=self.sampling.seed)
        found = {at: _estimate(means[at][0] / means[at][1], each) for at, each in zip(there, answers, strict=True)}
        return [found.get(at, Estimate(NAN)) for at in range(len(pairs))]

    @property
    def too_few(self) -> bool:
        """Whether queries (of a sample those left to chance), or clusters, are too few for intervals of lifts."""
        return all(math.isnan(each["lift"].low) for each in self.estimates.values())

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

    def points(self, name: str) -> list[Point]:
        """The retrieved run as it is, and the depth curve down to the most candidates that this reranker had."""
        system = self.system(name)
        deepest = int(system.first.hits.retrieved[system.chosen].max(initial=1))
        curve = self.curve[system.name]
        below = [point for point in curve if point.depth < deepest]
        last = curve[len(below)]._replace(depth=deepest)
        return [Point(0, 0.0, math.nan, math.nan, self.mean(name, "retrieved")), *below, last]

    def peak(self, name: str) -> Point:
        """Where the reranker reaches most; of equals, the shallowest: 0 where it gains nothing at any depth."""
        points = self.points(name)
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
            "intervals": {"method": METHOD, "seed": sampling.seed},
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


def _estimate(value: float, answer: Answer) -> Estimate:
    return Estimate(value, *(answer.interval or ()))


def _harm_data(harm: Harm) -> dict[str, Any]:
    return harm._asdict() | {"documents": [move._asdict() | {"after": move.after or None} for move in harm.documents]}
