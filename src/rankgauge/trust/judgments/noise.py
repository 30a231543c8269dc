"""Label noise: what systems' values, and their order, would be if the judge erred as judges do.

From an error rate, or from a confusion matrix of truth (rows) against label (columns), the true grade of every judgment
is drawn given its label, again and again, and everything is measured anew.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

import numpy as np

from rankgauge.errors import InputError
from rankgauge.evaluate import evaluate_runs
from rankgauge.matching.grades import numbered, trace
from rankgauge.measures import Measure, parse
from rankgauge.measures.gains import number_text
from rankgauge.protocol import DEFAULT, Protocol
from rankgauge.read import RunSource, read_judgments
from rankgauge.read.numbers import Matrix, read_matrix
from rankgauge.shown import Shown
from rankgauge.stats.confusion import truth_given_label
from rankgauge.trust.judgments.drawn import means_of
from rankgauge.trust.unjudged.scale import grades_of
from rankgauge.trust.unjudged.sheet import named_runs

if TYPE_CHECKING:
    import polars as pl

    from rankgauge.dtypes import Floats, Ints
    from rankgauge.trust.judgments.drawn import Means

__all__ = ["Flip", "LabelNoise", "Noisy", "label_noise"]

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
        for a, b in combinations(range(len(self.systems)), 2):
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

    def to_frame(self) -> pl.DataFrame:
        """A polars frame with a row per system: the value as labelled, and mean, deviation and middle 95 % of draws."""
        import polars as pl

        return pl.DataFrame([each._asdict() for each in self.scores])


def label_noise(
    judgments: Any,
    runs: Mapping[str, Any],
    measure: str | Measure = "nDCG@10",
    *,
    error_rate: float | None = None,
    confusion: Any = None,
    scale: Iterable[float] | None = None,
    draws: int = 1_000,
    seed: int = 0,
    protocol: Protocol | Mapping[str, Any] = DEFAULT,
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
    if not named_runs(runs) or draws < 1:
        raise InputError("label noise needs a run or more, and a draw or more")
    judged = read_judgments(judgments)
    rows, (confusion, scale) = numbered(judged), _matrix(confusion, scale)
    grades = grades_of(rows.number, scale)
    label = np.searchsorted(grades, rows.number)
    counts = np.bincount(label[rows.number >= 0], minlength=len(grades))
    truth = _truth(grades, counts, error_rate, confusion)
    read = {name: RunSource.of(run).read(protocol) for name, run in runs.items()}
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
