"""What a measure holds a grade and a rank to be worth, as far as its parameters say; and the best ranking by it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankgauge.measures import MEASURES, Measure
from rankgauge.measures.gains import discount_function, gain_function
from rankgauge.protocol import SIGNED, Protocol

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats
    from rankgauge.explanation.query.ranking import Ranking

__all__ = ["DCG_FAMILY", "best_ranking", "dcg_measure", "discounts_of", "gains_of", "given", "has_gain", "reach"]
__all__ += ["relevant_in"]

DCG_FAMILY = ("nDCG", "DCG", "IDCG")  # the measures in which grades below 0 may take something away


def given(measure: Measure) -> dict[str, Any]:
    """Every parameter of a measure with its value."""
    defaults = {name: parameter.default for name, parameter in measure.definition.parameters.items()}
    return defaults | dict(measure.parameters)


def dcg_measure(measure: Measure, name: str = "DCG") -> Measure:
    """DCG (or IDCG) with the parameters that it has in common with this measure."""
    known = MEASURES[name].parameters
    return Measure(name, tuple((key, value) for key, value in measure.parameters if key in known))


def has_gain(measure: Measure) -> bool:
    """Whether the measure maps grades to gains."""
    gain = measure.definition.parameters.get("gain")
    return gain is not None and gain.annotation == "Gain"


def gains_of(measure: Measure, grade: Floats, protocol: Protocol) -> Floats:
    """What grades gain: by the measure's gain, the grade itself, or 1 from the grade `rel` on; 0 for NaN: unjudged."""
    known = np.nan_to_num(grade, nan=-1.0)
    own = given(measure)
    if has_gain(measure):
        signed = measure.name in DCG_FAMILY and protocol.negative in SIGNED
        gains = gain_function(own["gain"], own.get("rel"), signed=signed)(known)
    elif "rel" not in own or own.get("gain", "binary") != "binary":
        gains = np.maximum(known, 0.0)
    else:
        gains = (known >= max(0.0, protocol.rel if own["rel"] is None else own["rel"])).astype(np.float64)
    return np.where(np.isnan(grade), 0.0, gains)


def discounts_of(measure: Measure, ranking: Ranking) -> Floats | None:
    """What gains are divided by, for a measure that has a discount to choose (averaged ties share several ranks')."""
    own = given(measure)
    if "discount" not in own or ranking.protocol.ties == "average":
        return None
    return discount_function(own["discount"])(ranking.rank)


def reach(ranking: Ranking, measure: Measure) -> int:
    """How many ranks the measure looks at: to its cut-off, where it is one of ours and no ties lie across it."""
    size, cut = len(ranking.docs), measure.cutoff
    ours = measure.definition.function.__module__.startswith("rankgauge.measures.")
    if not isinstance(cut, int) or not ours or ranking.protocol.ties == "average":
        return size
    return min(size, cut)


def relevant_in(ranking: Ranking, measure: Measure) -> Bools:
    """Which documents of the ranking are relevant to the measure."""
    return gains_of(measure, ranking.grade, ranking.protocol) > 0


def best_ranking(ranking: Ranking, measure: Measure) -> Ranking:
    """All judged documents by descending worth; equal ones as they are ranked, those not retrieved last."""
    docs = [*(ranking.docs[place] for place in ranking.judged), *ranking.missed]
    grade = np.concatenate([ranking.grade[ranking.judged], ranking.missed_grade])
    worth = gains_of(measure, grade, ranking.protocol) if has_gain(measure) else grade
    keep = np.flatnonzero((grade >= 0) & (worth >= 0))
    order = keep[np.lexsort((-grade[keep], -worth[keep]))]
    return ranking.reordered([docs[place] for place in order], grade[order])
