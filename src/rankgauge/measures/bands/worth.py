"""What a measure would put first among documents of equal score, and whether sorting by it finds the ends of the band.

Sorting each tie group by the measure's own gain gives the largest value, sorting it the other way round the smallest,
for every measure that gains (or at least does not lose) when a better document changes places with a worse one below.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.measures.gains import gain_function

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats
    from rankgauge.matching.hits import Hits
    from rankgauge.measures import Measure

    Worth = Callable[[Hits, dict[str, Any]], Floats]

__all__ = ["prefers_better_higher", "sorting_is_exact", "worth"]


def _relevant(hits: Hits, given: dict[str, Any]) -> Floats:
    return hits.relevant(given.get("rel")).astype(np.float64)


def _gain(hits: Hits, given: dict[str, Any]) -> Floats:
    return gain_function(given.get("gain", "linear"), given.get("rel"))(hits.grade)


def _signed_gain(hits: Hits, given: dict[str, Any]) -> Floats:
    return gain_function(given.get("gain", "linear"), given.get("rel"), signed=hits.signed)(hits.grade)


def _grade(hits: Hits, given: dict[str, Any]) -> Floats:
    return np.maximum(hits.grade, 0.0)


def _rbp(hits: Hits, given: dict[str, Any]) -> Floats:
    return (_relevant if given.get("gain", "binary") == "binary" else _grade)(hits, given)


def _judged(hits: Hits, given: dict[str, Any]) -> Floats:
    return np.ones(len(hits))


def _unjudged(hits: Hits, given: dict[str, Any]) -> Floats:
    return -(hits.grade >= 0).astype(np.float64)


def _nothing(hits: Hits, given: dict[str, Any]) -> Floats:
    return np.zeros(len(hits))


# What an unjudged document is worth is 0 everywhere.
WORTH: Final[dict[Worth, str]] = {
    _relevant: "P R RR AP Success F CappedR Rprec RprecMult Bpref infAP binG Accuracy IPrec 11pt_avg gm_map gm_bpref "
    "NumRelRet",
    _signed_gain: "nDCG DCG",
    _gain: "nDCGrel Rndcg G",
    _grade: "ERR",
    _rbp: "RBP",
    _judged: "Judged",
    _unjudged: "Unjudged RBPResidual",
    _nothing: "IDCG SetP SetR SetRelP SetAP SetF utility NumQ NumRet NumRel NumNonrelRet",
}
BY_NAME: Final = {name: function for function, names in WORTH.items() for name in names.split()}
NEVER_EXACT: Final = ("infAP", "G")


def worth(hits: Hits, measure: Measure) -> Floats:
    """For each hit, by what the measure would sort documents of equal score; the grade for a measure of the user's."""
    return BY_NAME.get(measure.name, _grade)(hits, dict(measure.parameters))


def prefers_better_higher(measure: Measure) -> bool:
    """Whether, of two kinds of documents told apart by their grades, the measure never loses when a certain one of them
    stands higher: then sorting is best, and of all exchanges of these two kinds the widest is."""
    given = dict(measure.parameters)
    cut_accuracy = measure.name == "Accuracy" and given.get("k") is not None
    if measure.name not in BY_NAME or measure.name in NEVER_EXACT:
        return False
    return given.get("norm") != "hits" and not cut_accuracy


def sorting_is_exact(hits: Hits, measure: Measure) -> bool:
    """Whether sorting by worth gives the smallest and the largest value that any order gives."""
    if not prefers_better_higher(measure):
        return False
    if measure.name in ("nDCGrel", "Rndcg") and (_gain(hits, dict(measure.parameters)) < 0).any():
        return False
    rules = hits.protocol  # an ideal of what was retrieved is fixed, unless a cut or the order in the run makes it up
    return rules.ideal == "judged" or (rules.depth is None and rules.ideal_order == "grade")
