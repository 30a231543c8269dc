"""The grades that an open document may turn out to have, and what each is worth under a measure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankgauge.errors import InputError, MeasureError
from rankgauge.measures.gains import discount_function, gain_function, number_text

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats, Ints
    from rankgauge.measures import Measure

__all__ = ["Scale", "Setting", "grades_of", "scale_of"]


@dataclass(frozen=True, eq=False, slots=True)
class Setting:
    """What all assignments share: the steps between gains, and H, the sums of the first 0, 1, … k discounts."""

    steps: Floats
    upto: Floats

    def ideal(self, judged: Ints, more: Ints) -> Floats:
        """H(min(k, m + n)); the shapes are broadcast."""
        result: Floats = self.upto[np.minimum(judged + more, len(self.upto) - 1)]
        return result


@dataclass(frozen=True, eq=False, slots=True)
class Scale:
    """Grades in ascending order (0 among them), the distinct gains above 0, and how nDCG discounts ranks up to k."""

    grades: Floats
    gains: Floats
    k: int | None
    gain: str
    discount: str
    rel: float | None

    def worth(self, grades: Floats) -> Floats:
        """What grades gain; nothing where there is none (NaN)."""
        return gain_function(self.gain, self.rel)(np.nan_to_num(grades, nan=0.0))

    def weight(self, rank: Ints) -> Floats:
        """What is left of a gain at a rank: 1 / discount, and nothing beyond k."""
        left = 1.0 / discount_function(self.discount)(rank)
        return left if self.k is None else np.where(rank <= self.k, left, 0.0)

    def setting(self, longest: int) -> Setting:
        """What `extremes` needs to know; `longest`: how many documents an ideal can hold where it is not cut."""
        end = longest if self.k is None else min(self.k, longest)
        discounts = 1.0 / discount_function(self.discount)(np.arange(1, end + 1))
        return Setting(np.diff(self.gains, prepend=0.0), np.r_[0.0, np.cumsum(discounts)])

    def levels(self, query: Ints, grade: Floats, queries: int) -> Ints:
        """How many judged documents of each query reach each gain; negative grades are none."""
        worth = np.where(grade < 0, 0.0, self.worth(grade))
        counts = [np.bincount(query[worth >= gain], minlength=queries) for gain in self.gains]
        return np.stack(counts, axis=1) if counts else np.zeros((queries, 0), np.int64)


def grades_of(present: Floats, given: Iterable[float] | None = None) -> Floats:
    """The scale: the grades given, or those that are there; 0 is always among them, negative ones never.

    A judgment outside the scale that was given is an error.
    """
    there = np.unique(present[present >= 0])
    if given is None:
        return np.union1d(there, [0.0])
    scale = np.array(sorted(set(map(float, given))))
    if not len(scale) or not np.isfinite(scale).all() or (scale < 0).any():
        raise InputError("grades: give the scale as finite numbers, 0 or more, such as 0,1,2,3")
    outside = np.setdiff1d(there, scale)
    if len(outside):
        known = ", ".join(map(number_text, scale.tolist()))
        raise InputError(
            f"the judgments hold grade {number_text(float(outside[0]))}, which is outside the scale {known}"
        )
    return np.union1d(scale, [0.0])


def scale_of(measure: Measure, grades: Floats) -> Scale:
    """The scale under a measure, which must be nDCG: of what else could be open there is no exact interval here."""
    if measure.name != "nDCG":
        raise MeasureError(
            f"{measure}: what unjudged documents leave open is known exactly for nDCG only; write nDCG@10"
        )
    given = dict(measure.parameters)
    gain, rel = given.get("gain", "linear"), given.get("rel")
    worth = gain_function(gain, rel)(grades)
    if (worth < 0).any() or gain_function(gain, rel)(np.zeros(1))[0] != 0:
        raise MeasureError(f"{measure}: an interval needs gains of 0 or more, and none for grade 0")
    discount = given.get("discount", "log2")
    return Scale(grades, np.unique(worth[worth > 0]), given.get("k"), gain, discount, rel)
