"""Label noise: what systems' values, and their order, would be if the judge erred as judges do.

From an error rate, or from a confusion matrix of truth (rows) against label (columns), the true grade of every judgment
is drawn given its label, again and again, and everything is measured anew.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, TypeAlias

import numpy as np

from rankgauge.comparison.pairs import each_against_earlier
from rankgauge.errors import InputError, MeasureError
from rankgauge.evaluate import evaluate_runs
from rankgauge.matching.grades import Traced, numbered, trace
from rankgauge.matching.parts import GROUPED
from rankgauge.measures import AnyMeasure, Measure, parse
from rankgauge.measures.aggregates import aggregate
from rankgauge.measures.gains import number_text
from rankgauge.protocol import DEFAULT, REPEATING, Protocol, Rules
from rankgauge.read import Columns, RunSource, read_judgments
from rankgauge.read.named import Runs, named
from rankgauge.read.numbers import Matrix, read_matrix
from rankgauge.shown import Shown
from rankgauge.stats.agreement import truth_given_label
from rankgauge.trust.unjudged.sheet import Scale, grades_of, scale_of

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats, Ints

    # Draw × judgment: the place of each grade in the scale, −1 for one that stays below 0 → draw × run: the means.
    Means: TypeAlias = Callable[[Ints], Floats]

__all__ = ["Flip", "LabelNoise", "Noisy", "label_noise", "means_of"]

AT_ONCE: Final = 1 << 21  # judgments drawn at the same time


class Noisy(NamedTuple):
    """A system's value as labelled, and its distribution when the truth is drawn: mean, deviation, middle 95 %."""

    system: str
    value: float
    mean: float
    deviation: float
    low: float
    high: float


class Flip(NamedTuple):
    """Two systems: how often their order is turned round, and how often they come out equal."""

    a: str
    b: str
    difference: float
    flips: float
    equal: float


@dataclass(frozen=True, eq=False, repr=False)
class LabelNoise(Shown):
    """The distribution of every system's value over draws of the truth: `draws[i, j]` is system j in draw i."""

    shown_by: ClassVar[str] = "judgments:noise_sections"

    measure: str
    systems: list[str]
    value: Floats
    draws: Floats
    truth: Floats  # label × true grade: how likely each is
    grades: Floats
    seed: int

    @property
    def title(self) -> str:
        """What this is about."""
        return f"{self.measure} under label noise"

    @property
    def scores(self) -> list[Noisy]:
        """Each system's distribution."""
        low, high = np.quantile(self.draws, [0.025, 0.975], axis=0)
        moved = self.draws - self.value  # so that what does not move has a deviation of exactly 0
        deviation = moved.std(axis=0, ddof=1) if len(moved) > 1 else np.zeros(len(self.systems))
        columns = (self.value, self.value + moved.mean(axis=0), deviation, low, high)
        return [Noisy(name, *map(float, row)) for name, *row in zip(self.systems, *columns, strict=True)]

    @property
    def flips(self) -> list[Flip]:
        """Each pair's chance to be turned round."""
        found = []
        for a, b in each_against_earlier(range(len(self.systems))):
            now, drawn = self.value[a] - self.value[b], self.draws[:, a] - self.draws[:, b]
            names = self.systems[a], self.systems[b]
            found.append(Flip(*names, float(now), float((drawn * now < 0).mean()), float((drawn == 0).mean())))
        return found

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "measure": self.measure,
            "draws": len(self.draws),
            "seed": self.seed,
            "grades": self.grades.tolist(),
            "truth_given_label": self.truth.tolist(),
            "systems": [each._asdict() for each in self.scores],
            "pairs": [each._asdict() for each in self.flips],
        }


def label_noise(
    judgments: Any,
    runs: Runs,
    measure: AnyMeasure = "nDCG@10",
    *,
    error_rate: float | None = None,
    confusion: Any = None,
    scale: Iterable[float] | None = None,
    draws: int = 1_000,
    seed: int = 0,
    protocol: Protocol | Rules = DEFAULT,
) -> LabelNoise:
    """What the values of runs would be if labels were wrong as often as `error_rate` or `confusion` says.

    `error_rate` is the chance that a label is wrong, whatever it is; the truth is then each other grade of the scale
    with the same chance. `confusion` is a square matrix, rows true, columns label, in the order of the scale: counts of
    pairs that were judged twice, or rows of chances that add up to 1; or a file that holds one.

    >>> noise = label_noise({"q": {"a": 1, "b": 0}}, {"x": {"q": {"a": 2.0, "b": 1.0}}}, error_rate=0.0)
    >>> noise.scores[0].deviation
    0.0
    """
    protocol = Protocol.of(protocol)
    measure = parse(str(measure))
    systems = named(runs)
    if not systems or draws < 1:
        raise InputError("label noise needs a run or more, and a draw or more")
    judged = read_judgments(judgments)
    rows, (confusion, scale) = numbered(judged), _matrix(confusion, scale)
    grades = grades_of(rows.number, scale)
    label = np.searchsorted(grades, rows.number)
    counts = np.bincount(label[rows.number >= 0], minlength=len(grades))
    truth = _truth(grades, counts, error_rate, confusion)
    read = {name: RunSource.of(run).read(protocol) for name, run in systems.items()}
    results = evaluate_runs(judged, read, measure, protocol=protocol)
    value = np.array([result[measure] for result in results.values()])
    traced = [trace(rows, run, protocol) for run in read.values()]
    known = np.where(rows.number < 0, -1, label)
    means = means_of(rows, traced, measure, grades, protocol)
    table = _drawn(means, known, truth, draws, seed) + (value - means(known[None, :])[0])  # rounded as `value` is
    return LabelNoise(str(measure), list(read), value, table, truth, grades, seed)


def _matrix(confusion: Any, grades: Iterable[float] | None) -> tuple[Any, Iterable[float] | None]:
    """The matrix, from a file too, and the scale, which a file may name: if both name one, it must be the same."""
    if isinstance(confusion, (str, os.PathLike)):
        confusion = read_matrix(confusion)
    if not isinstance(confusion, Matrix):
        return confusion, grades
    given = sorted(set(map(float, grades))) if grades is not None else None
    if confusion.grades is not None and given is not None and {0.0, *given} != {0.0, *confusion.grades}:
        scale, heads = (", ".join(map(number_text, each)) for each in (given, confusion.grades))
        raise InputError(f"the scale is {scale}, and the confusion matrix is of grades {heads}; leave the scale out")
    return confusion.counts, confusion.grades or given


def _truth(scale: Floats, counts: Ints, error_rate: float | None, confusion: Any) -> Floats:
    """Label × grade: how likely each grade is the truth."""
    if (error_rate is None) == (confusion is None):
        raise InputError("label noise needs an error rate or a confusion matrix, one of the two")
    if error_rate is not None:
        if isinstance(error_rate, bool) or not 0 <= error_rate <= 1 or len(scale) < 2:
            raise InputError(
                f"error_rate={error_rate!r}: the share of wrong labels is from 0 to 1, on two grades or more"
            )
        other = error_rate / (len(scale) - 1)
        return np.where(np.eye(len(scale), dtype=bool), 1 - error_rate, other)
    names = [number_text(grade) for grade in scale.tolist()]
    try:
        matrix = np.asarray(confusion, np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"the confusion matrix is not a table of numbers; expected {len(scale)} rows of {len(scale)} each, rows "
            "true, columns label"
        ) from None
    return truth_given_label(matrix, counts, names)


def _drawn(means: Means, label: Ints, truth: Floats, draws: int, seed: int) -> Floats:
    """Draw × system: the mean under each draw. Judgments of negative grade (label −1) stay as they are."""
    random = np.random.default_rng(seed)
    edges = np.cumsum(truth, axis=1)[:, :-1]
    found = []
    step = max(1, AT_ONCE // max(1, len(label)))
    for start in range(0, draws, step):
        drawn = random.random((min(step, draws - start), len(label)))
        true = np.zeros(drawn.shape, np.int64)
        for level in range(edges.shape[1]):
            true += drawn >= edges[label, level]
        true[:, label < 0] = -1
        found.append(means(true))
    return np.concatenate(found)


# ---- means of runs under many draws ----------------------------------------------------------------------------------
# For nDCG, where a rank does not depend on grades, each query's ideal is found once for all runs from the numbers of
# its documents per grade, and nothing is sorted. Every other measure and rule takes the general way: hits are put
# together under each draw and measured.


# Rules under which ranks and the ideal are what the quick way takes them for.
PLAIN: Final = ("grades", "negative", "unjudged", "ideal", "ideal_order", "ideal_depth", "empty", "depth")


def means_of(rows: Columns, traced: Sequence[Traced], measure: Measure, grades: Floats, protocol: Protocol) -> Means:
    """How to get the mean of every run under draws of the grades."""
    try:
        scale = scale_of(measure, grades)
    except MeasureError:
        return _general(rows, traced, measure, grades)
    plain = all(getattr(protocol, rule) == getattr(DEFAULT, rule) for rule in PLAIN)
    if not plain or protocol.ties in GROUPED or protocol.duplicates in REPEATING:
        return _general(rows, traced, measure, grades)
    return _quick(rows, traced, scale)


def _general(rows: Columns, traced: Sequence[Traced], measure: Measure, grades: Floats) -> Means:
    def means(places: Ints) -> Floats:
        drawn = np.where(places < 0, rows.number, grades[places])
        result = np.empty((len(places), len(traced)))
        for at, each in enumerate(traced):
            values = measure(each.under_many(drawn)).reshape(len(places), -1)
            result[:, at] = [aggregate("mean", row, None) for row in values]
        return result

    return means


def _quick(rows: Columns, traced: Sequence[Traced], scale: Scale) -> Means:
    worth: Floats = np.r_[scale.worth(scale.grades), 0.0]  # the last is what −1 stands for
    level = np.searchsorted(np.r_[0.0, scale.gains], worth)
    query, queries, steps = rows.query.astype(np.int64), len(rows.queries), len(scale.gains) + 1
    setting = scale.setting(int(np.bincount(query, minlength=1).max()))
    place = {query: at for at, query in enumerate(rows.queries)}
    ranked = []  # of each run: its queries; query, judgment and weight of its judged documents at ranks that count
    for each in traced:
        own, weight = np.array([place[query] for query in each.hits.queries], np.int64), scale.weight(each.hits.rank)
        ranked.append((own, own[each.hits.query[weight > 0]], each.row[weight > 0], weight[weight > 0]))

    def means(places: Ints) -> Floats:
        number = len(places)
        shift = np.arange(number)[:, None] * queries
        cells = ((shift + query) * steps + level[places]).ravel()
        counts = np.bincount(cells, minlength=number * queries * steps).reshape(number, queries, steps)
        reached = np.flip(np.flip(counts, axis=2).cumsum(axis=2), axis=2)[:, :, 1:]
        ideal = setting.ideal(reached, np.zeros(1, np.int64)) @ setting.steps
        result = np.empty((number, len(ranked)))
        for at, (own, of_query, row, weight) in enumerate(ranked):
            gained = (worth[places[:, row]] * weight).ravel()
            summed = np.bincount((shift + of_query).ravel(), gained, number * queries).reshape(number, queries)
            value = np.divide(summed, ideal, out=np.zeros(summed.shape), where=ideal > 0)
            result[:, at] = value[:, own].mean(axis=1)
        return result

    return means
