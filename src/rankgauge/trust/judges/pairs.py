"""Two judges: every coefficient, the confusion matrix, and where they disagree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankgauge.errors import counted
from rankgauge.stats.agreement import (
    LEVELS,
    WEIGHTS,
    agreement_and_bias,
    alpha,
    bias,
    coincidences,
    confusion,
    corrected_for_chance,
    exact_agreement,
    fleiss,
    fleiss_sums,
    kappa,
)
from rankgauge.stats.estimate import Estimate
from rankgauge.stats.inference import FEW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgauge.dtypes import Floats
    from rankgauge.stats.agreement import Coefficient
    from rankgauge.trust.judges.sets import Sets

__all__ = [
    "Binarised", "Brief", "GradeDetail", "Overall", "PairAgreement", "QueryDetail", "agreement_of_all", "brief_of",
    "pairs_of", "turned",
]  # fmt: skip


class Binarised(NamedTuple):
    """Agreement on whether a document has at least this grade."""

    grade: float
    agreement: float
    kappa: float
    share_a: float
    share_b: float


class GradeDetail(NamedTuple):
    """A grade: how often each judge gave it, both together, and what b gave where a gave it."""

    grade: float
    a: int
    b: int
    both: int
    recall: float  # of those that a gave it, the share that b did too
    precision: float  # of those that b gave it, the share that a did too
    mean_b: float


class QueryDetail(NamedTuple):
    """A query: pairs judged by both, the share with the same grade, bias, quadratic kappa."""

    query_id: str
    shared: int
    agreement: float
    bias: float
    kappa: float


@dataclass(frozen=True, eq=False)
class PairAgreement:
    """Judge b against judge a, on the pairs that both judged; intervals are over queries."""

    a: str
    b: str
    grades: Floats
    shared: int
    queries: list[QueryDetail]
    matrix: Floats  # rows a, columns b
    agreement: Estimate
    kappa: dict[str, Estimate]
    alpha: dict[str, Estimate]
    bias: Estimate

    @property
    def no_interval(self) -> str:
        """The reason why κ has no interval, in a sentence; nothing where it has one."""
        if not self.shared or not all(each.low != each.low for each in self.kappa.values()):
            return ""
        both, queries = f"{self.a} and {self.b}", counted(len(self.queries), "query", "queries")
        apart = sum(each.agreement < 1 for each in self.queries)
        if not apart:
            return f"{both} agreed on all {counted(self.shared, 'pair')} of {queries}: no interval."
        if len(self.queries) < FEW:
            return f"{both} share {queries}, too few for an interval (six or more)."
        if apart == 1:
            return f"{both} disagree in 1 of {queries} only, too few for an interval of κ."
        return f"{both}: κ has no interval, because few of {queries} decide it, or all are alike."

    @property
    def over(self) -> float:
        """The share of pairs to which b gave more than a."""
        return float(np.triu(self.matrix, 1).sum() / self.matrix.sum()) if self.shared else float("nan")

    @property
    def under(self) -> float:
        """The share of pairs to which b gave less than a."""
        return float(np.tril(self.matrix, -1).sum() / self.matrix.sum()) if self.shared else float("nan")

    @property
    def binarised(self) -> list[Binarised]:
        """Agreement on "at least this grade", for each grade but the lowest."""
        found = []
        for cut in range(1, len(self.grades)):
            halves = [slice(0, cut), slice(cut, None)]
            small = np.array([[self.matrix[row, column].sum() for column in halves] for row in halves])
            shares = [float(each) for each in (small[1].sum(), small[:, 1].sum())]
            whole = max(small.sum(), 1.0)
            agreed, value = float(exact_agreement(small)), float(kappa(small, np.arange(2.0)))
            found.append(Binarised(float(self.grades[cut]), agreed, value, shares[0] / whole, shares[1] / whole))
        return found

    @property
    def per_grade(self) -> list[GradeDetail]:
        """Each grade by itself."""
        rows, columns, found = self.matrix.sum(axis=1), self.matrix.sum(axis=0), []
        for at, grade in enumerate(self.grades.tolist()):
            a, b, both = int(rows[at]), int(columns[at]), int(self.matrix[at, at])
            mean = float(self.matrix[at] @ self.grades / a) if a else float("nan")
            shares = both / a if a else float("nan"), both / b if b else float("nan")
            found.append(GradeDetail(grade, a, b, both, *shares, mean))
        return found

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "a": self.a,
            "b": self.b,
            "shared": self.shared,
            "queries": len(self.queries),
            "agreement": self.agreement._asdict(),
            "kappa": {name: each._asdict() for name, each in self.kappa.items()},
            "alpha": {name: each._asdict() for name, each in self.alpha.items()},
            "bias": self.bias._asdict(),
            "over": self.over,
            "under": self.under,
            "grades": self.grades.tolist(),
            "confusion": self.matrix.astype(int).tolist(),
            "binarised": [each._asdict() for each in self.binarised],
            "per_grade": [each._asdict() for each in self.per_grade],
        }


class Overall(NamedTuple):
    """All judges together: alpha takes every pair with two grades or more, Fleiss' kappa those judged by all."""

    pairs: int
    alpha: dict[str, Estimate]
    complete: int
    fleiss: Estimate

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        coefficients = {name: each._asdict() for name, each in self.alpha.items()}
        return {"shared": self.pairs, "alpha": coefficients, "complete": self.complete, "fleiss": self.fleiss._asdict()}


def pairs_of(sets: Sets, level: float = 0.05, seed: int = 0) -> list[PairAgreement]:
    """Every pair of judges, in the order given."""
    return [_pair(sets, a, b, level, seed) for a, b in combinations(range(len(sets.judges)), 2)]


def agreement_of_all(sets: Sets, level: float = 0.05, seed: int = 0) -> Overall:
    """All judges together."""
    codes, size = sets.codes, len(sets.grades)
    several = (codes >= 0).sum(axis=1) >= 2
    present, cluster = np.unique(sets.query[several], return_inverse=True)
    sums = coincidences(codes[several], size, cluster, len(present))
    rated = fleiss_sums(codes[several], size, cluster, len(present))
    return Overall(
        int(several.sum()),
        corrected_for_chance(sums, sums.sum(axis=(1, 2)), _alphas(sets.grades), level, seed),
        int((codes >= 0).all(axis=1).sum()),
        corrected_for_chance(rated, rated[:, 0], {"fleiss": fleiss}, level, seed)["fleiss"],
    )


def turned(pair: PairAgreement) -> PairAgreement:
    """The same two judges with rows and columns exchanged: what goes from one to the other changes its sign."""
    value, low, high = pair.bias
    queries = [each._replace(bias=-each.bias) for each in pair.queries]
    bias = Estimate(-value, -high, -low)
    return replace(pair, a=pair.b, b=pair.a, queries=queries, matrix=pair.matrix.T, bias=bias)


class Brief(NamedTuple):
    """Judge b against judge a in few numbers, as `PairAgreement` has them."""

    shared: int
    agreement: Estimate
    kappa: Estimate  # quadratic
    bias: Estimate


def brief_of(sets: Sets, level: float = 0.05, seed: int = 0) -> Brief:
    """The second of two judges against the first."""
    sums, _ = _sums(sets, 0, 1)
    agreement, apart = agreement_and_bias(sums, sets.grades, level, seed)
    weighted = _kappas(sets.grades, ("quadratic",))
    quadratic = corrected_for_chance(sums, sums.sum(axis=(1, 2)), weighted, level, seed)["quadratic"]
    return Brief(int(sums.sum()), agreement, quadratic, apart)


def _kappas(grades: Floats, weights: Sequence[str] = WEIGHTS) -> dict[str, Coefficient]:
    return {each: partial(kappa, grades=grades, weights=each) for each in weights}


def _alphas(grades: Floats) -> dict[str, Coefficient]:
    return {each: partial(alpha, grades=grades, level=each) for each in LEVELS}


def _sums(sets: Sets, a: int, b: int) -> tuple[Floats, list[str]]:
    """Query × grade of a × grade of b: how many pairs; and the queries that both judged."""
    codes = sets.codes
    both = (codes[:, a] >= 0) & (codes[:, b] >= 0)
    present, cluster = np.unique(sets.query[both], return_inverse=True)
    sums = confusion(codes[both, a], codes[both, b], len(sets.grades), cluster, len(present))
    return sums, [sets.queries[at] for at in present.tolist()]


def _pair(sets: Sets, a: int, b: int, level: float, seed: int) -> PairAgreement:
    grades = sets.grades
    sums, names = _sums(sets, a, b)
    agreement, apart = agreement_and_bias(sums, grades, level, seed)
    pairs, together = sums.sum(axis=(1, 2)), sums + sums.transpose(0, 2, 1)
    return PairAgreement(
        sets.judges[a],
        sets.judges[b],
        grades,
        int(sums.sum()),
        _queries(names, sums, grades),
        sums.sum(axis=0),
        agreement,
        corrected_for_chance(sums, pairs, _kappas(grades), level, seed),
        corrected_for_chance(together, pairs, _alphas(grades), level, seed),
        apart,
    )


def _queries(names: list[str], sums: Floats, grades: Floats) -> list[QueryDetail]:
    columns = (sums.sum(axis=(1, 2)).astype(int), exact_agreement(sums), bias(sums, grades))
    numbers = zip(names, *(column.tolist() for column in (*columns, kappa(sums, grades, "quadratic"))), strict=True)
    return [QueryDetail(*row) for row in numbers]
