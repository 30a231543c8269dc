"""Agreement between judges: coefficients with intervals, confusion, what to adjudicate, and what it does to systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from rankgauge.errors import InputError
from rankgauge.measures import AnyMeasure, parse
from rankgauge.protocol import DEFAULT, Protocol, Rules
from rankgauge.read.named import Runs, named
from rankgauge.shown import Shown
from rankgauge.trust.judges.pairs import Overall, PairAgreement, agreement_of_all, pairs_of, turned
from rankgauge.trust.judges.sets import POLICIES, Repeated, Sets, sets_of
from rankgauge.trust.judges.systems import Orders, Systems, systems_of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["POLICIES", "Agreement", "Dispute", "Orders", "Overall", "PairAgreement", "Systems", "agree"]


class Dispute(NamedTuple):
    """A pair to adjudicate: the grade of each judge (None: not judged), and how far they are apart."""

    query_id: str
    doc_id: str
    grades: tuple[float | None, ...]
    apart: float


@dataclass(frozen=True, eq=False, repr=False)
class Agreement(Shown):
    """How well judges agree: `print(agreement)` is the tables, `to_dict()` the JSON.

    `overall` is of all judges, `pairs` of every two, the first given being a; `systems` says what the choice of judge
    does to systems, where runs were given.
    """

    shown_by: ClassVar[str] = "judges"

    sets: Sets
    overall: Overall
    pairs: list[PairAgreement]
    systems: Systems | None = None
    alpha: float = 0.05

    @property
    def title(self) -> str:
        """What this is about."""
        return f"Agreement of {len(self.sets.judges)} judges"

    def rows(self) -> list[dict[str, Any]]:
        """A row per two judges, every digit."""
        rows = []
        for pair in self.pairs:
            row: dict[str, Any] = {"a": pair.a, "b": pair.b, "shared": pair.shared}
            named = {f"kappa_{name}": each for name, each in pair.kappa.items()}
            named |= {f"alpha_{name}": each for name, each in pair.alpha.items()}
            for name, each in {"agreement": pair.agreement, **named, "bias": pair.bias}.items():
                row |= {name: each.value, f"{name}_low": each.low, f"{name}_high": each.high}
            rows.append(row)
        return rows

    def pair(self, a: str, b: str) -> PairAgreement:
        """Judge b against judge a, whichever was given first."""
        for each in self.pairs:
            if {each.a, each.b} == {a, b}:
                return each if each.a == a else turned(each)
        known = ", ".join(f"{each.a} and {each.b}" for each in self.pairs)
        raise InputError(f"{a} and {b} were not compared; there are {known}")

    either_way = pair

    def disputes(self, apart: float = 2.0) -> list[Dispute]:
        """The pairs on which judges are so far apart or farther, the farthest first: a list to adjudicate."""
        table, found = self.sets.table, []
        several = (~np.isnan(table)).sum(axis=1) >= 2
        spread = np.zeros(len(table))
        spread[several] = np.nanmax(table[several], axis=1) - np.nanmin(table[several], axis=1)
        for at in np.flatnonzero(spread >= apart).tolist():
            grades = tuple(None if grade != grade else grade for grade in table[at].tolist())
            query = self.sets.queries[self.sets.query[at]]
            found.append(Dispute(query, self.sets.docs[at], grades, float(spread[at])))
        return sorted(found, key=lambda dispute: -dispute.apart)

    def data(self, *, per_query: bool = False) -> dict[str, Any]:
        """Everything that JSON holds, which the disputes are no part of; the queries where they are asked for."""
        return {
            "judges": self.sets.judges,
            "judgments": {judge: len(each) for judge, each in self.sets.judgments.items()},
            "grades": self.sets.grades.tolist(),
            "alpha": self.alpha,
            "overall": self.overall.to_dict(),
            "pairs": [pair.to_dict() for pair in self.pairs],
            **({"systems": self.systems.to_dict()} if self.systems is not None else {}),
            **({"per_query": self.to_frame().to_dicts()} if per_query else {}),
        }

    def to_frame(self) -> pl.DataFrame:
        """A polars frame with a row per pair of judges and query."""
        import polars as pl

        rows = [{"a": pair.a, "b": pair.b, **query._asdict()} for pair in self.pairs for query in pair.queries]
        return pl.DataFrame(rows, infer_schema_length=None).with_columns(pl.col("kappa").fill_nan(None))


@dataclass(frozen=True, eq=False, repr=False)
class Disputes(Shown):
    """The pairs to adjudicate, the farthest apart first."""

    shown_by: ClassVar[str] = "judges:dispute_sections"
    title = "Pairs to adjudicate"

    judges: list[str]
    pairs: list[Dispute]

    def data(self, **choices: Any) -> list[dict[str, Any]]:
        """What JSON holds."""
        return [each._asdict() | {"grades": dict(zip(self.judges, each.grades, strict=True))} for each in self.pairs]


@dataclass(frozen=True, eq=False, repr=False)
class ConfusionMatrix(Shown):
    """The confusion matrix of two judges."""

    shown_by: ClassVar[str] = "judges:matrix_sections"

    pair: PairAgreement

    @property
    def title(self) -> str:
        """Whose grades these are."""
        return f"Grades by {self.pair.a} and {self.pair.b}"

    def data(self, **choices: Any) -> dict[str, Any]:
        """What JSON holds."""
        whole = self.pair.to_dict()
        return {key: whole[key] for key in ("a", "b", "grades", "confusion")}


def agree(
    *sets: Any,
    runs: Runs | None = None,
    measure: AnyMeasure = "nDCG@10",
    scale: Iterable[float] | None = None,
    repeated: Repeated | None = None,
    top: int | None = None,
    p: float = 0.9,
    shared: bool = False,
    alpha: float = 0.05,
    seed: int = 0,
    protocol: Protocol | Rules = DEFAULT,
) -> Agreement:
    """How well sets of judgments agree: one mapping from judges' names to sets, or two sets or more by
    themselves (paths are named by their stem).

    A set may be whatever `evaluate` takes, and they may overlap in part. `scale`: the grades there are. `repeated` says
    what to do where a set judges a pair more than once with different grades: first, last, majority or mean. With
    `runs`, what the choice of judge does to systems: `top` of them by the first judge, `p` of rank-biased overlap,
    `shared` for the pairs that all judges judged and no others.

    >>> found = agree({"q": {"a": 2, "b": 0, "c": 1}}, {"q": {"a": 2, "b": 1, "c": 1}})
    >>> round(found.pairs[0].kappa["quadratic"].value, 3)
    0.667
    """
    if not 0 < alpha < 1 or not 0 < p < 1:
        raise InputError(f"alpha={alpha!r}, p={p!r}: both lie between 0 and 1")
    made = sets_of(_named(sets), grades=scale, repeated=repeated)
    systems = None
    if runs is not None:
        protocol = Protocol.of(protocol)
        systems = systems_of(made, runs, parse(str(measure)), protocol, top=top, p=p, shared=shared)
    return Agreement(made, agreement_of_all(made, alpha, seed), pairs_of(made, alpha, seed), systems, alpha)


def _named(sets: tuple[Any, ...]) -> dict[str, Any]:
    """Name → set: as given, paths by their stem, or A, B, C, …"""
    if len(sets) == 1 and isinstance(sets[0], Mapping):
        return {str(name): each for name, each in sets[0].items()}
    listed = sets[0] if len(sets) == 1 and isinstance(sets[0], list | tuple) else sets
    if listed and all(isinstance(each, str | PathLike) for each in listed):
        return named(list(listed), "judges")
    if len(sets) > 26:
        raise InputError("name so many sets: {'judge': set, …}")
    return {chr(ord("A") + at): each for at, each in enumerate(sets)}
