"""What candidates are worth under nDCG: their best order, a random one, and what each document adds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankgauge.errors import MeasureError
from rankgauge.matching.hits import positions_within, sum_by
from rankgauge.measures import MEASURES
from rankgauge.measures.gains import discount_function, gain_function

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats, Ints
    from rankgauge.matching.hits import Hits
    from rankgauge.measures import Measure

__all__ = ["Worth", "worth_of"]


@dataclass(frozen=True, eq=False, slots=True)
class Worth:
    """nDCG as gains over discounts; `ideal` is the DCG of the best order of all judgments, for every query."""

    measure: Measure
    ideal: Floats
    empty: Bools

    @property
    def k(self) -> int | None:
        """The cut-off; None: there is none."""
        cutoff: int | None = self.measure.cutoff
        return cutoff

    def gain(self, grades: Floats) -> Floats:
        """What grades gain."""
        given = dict(self.measure.parameters)
        return gain_function(given.get("gain", "linear"), given.get("rel"))(grades)

    def discounted(self, gain: Floats, rank: Ints) -> Floats:
        """Gains at ranks; nothing beyond the cut-off, and nothing at rank 0, which is none."""
        divisor = discount_function(dict(self.measure.parameters).get("discount", "log2"))
        inside = rank > 0 if self.k is None else (rank > 0) & (rank <= self.k)
        return np.where(inside, gain / divisor(np.maximum(rank, 1)), 0.0)

    def normalised(self, reached: Floats) -> Floats:
        """DCG over ideal DCG; 0 where there is no ideal."""
        return np.divide(reached, self.ideal, out=np.zeros(len(self.ideal)), where=~self.empty)

    def value(self, query: Ints, gain: Floats, rank: Ints) -> Floats:
        """nDCG of documents at ranks."""
        return self.normalised(sum_by(query, self.discounted(gain, rank), len(self.ideal)))

    def oracle(self, query: Ints, gain: Floats) -> Floats:
        """nDCG of the best order of these documents, of queries in ascending order."""
        order = np.lexsort((-gain, query))
        return np.minimum(self.value(query[order], gain[order], positions_within(query[order]) + 1), 1.0)

    def random(self, query: Ints, gain: Floats, sizes: Ints) -> Floats:
        """The expected nDCG of a random order of the candidates, so many of every query, of which these have gains.

        Each stands at every rank alike, so each rank gains their mean.
        """
        deepest = int(sizes.max(initial=0))
        ranks = np.arange(1, (deepest if self.k is None else min(self.k, deepest)) + 1)
        upto = np.r_[0.0, np.cumsum(self.discounted(np.ones(len(ranks)), ranks))]
        total = sum_by(query, gain, len(sizes)) * upto[np.minimum(sizes, len(ranks))]
        return self.normalised(np.divide(total, sizes, out=np.zeros(len(sizes)), where=sizes > 0))


def worth_of(measure: Measure, hits: Hits) -> Worth:
    """Check that the measure is one whose best order is known: by descending gain."""
    if measure.name != "nDCG":
        raise MeasureError(
            f"{measure}: the parts of a funnel add up to 1 for nDCG, whose best order of the candidates is known; "
            "write nDCG@10, or nDCG(gain=exp)@10"
        )
    given = dict(measure.parameters)
    gains = gain_function(given.get("gain", "linear"), given.get("rel"))(hits.judgment_grade)
    if (gains < 0).any():
        grade = float(hits.judgment_grade[int(np.argmax(gains < 0))])
        raise MeasureError(
            f"{measure}: grade {grade:g} gains less than 0; the parts of a funnel need gains of 0 or more"
        )
    ideal = MEASURES["IDCG"].function(hits, **given)
    return Worth(measure, ideal, ideal <= 0)
