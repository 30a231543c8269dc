"""Measures of arrays: grades and scores as a training loop has them, many queries in one call.

>>> from rankgauge import arrays
>>> value = arrays.ndcg([[3, 0, 2], [0, 1, 0]], [[0.2, 0.9, 0.5], [0.3, 0.3, 0.1]], k=3)
>>> round(value, 4), value.per_query.round(4).tolist()
(0.7318, [0.648, 0.8155])

Every function takes grades and scores as a matrix (a line per query), as columns with `groups` (the sizes of queries)
or `qid` (a query's id on every row, in any order), or as a matrix with a `mask`; numpy, lists, torch, jax, pandas and
polars. They become Hits, and the measures are those of `rankgauge.evaluate`.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from rankgauge.arrays.compute import measured
from rankgauge.arrays.rows import Rows
from rankgauge.arrays.shapes import rows_of, weights_of
from rankgauge.arrays.value import Value
from rankgauge.errors import InputError, MeasureError, ProtocolError, choices
from rankgauge.measures import Measure, parse
from rankgauge.measures.gains import gain_text, number_text
from rankgauge.protocol import RULES, Protocol

__all__ = [
    "CANDIDATES", "NO_QUERIES", "Rows", "Value", "average_precision", "dcg", "err", "hit_rate", "measured", "ndcg",
    "precision", "recall", "reciprocal_rank", "rows_of",
]  # fmt: skip

CANDIDATES: Final = Protocol(ties="average", negative="error", ideal="retrieved")  # where nothing else is known
NO_QUERIES: Final = "there are no queries: grades and scores are empty"
TIES: Final = ("average", "given")
IDEAL: Final = {  # measure → what its ideal, or the relevant documents that it counts, are made of
    False: "ideal: candidates (a document that is not among the rows does not count)",
    True: "ideal: all judgments given",
}
USES_IDEAL: Final = ("nDCG", "R", "AP")


def ndcg(
    grades: Any,
    scores: Any,
    k: int | None = 10,
    *,
    gain: str | Mapping[float, float] = "linear",
    ties: str = "average",
    groups: Any = None,
    qid: Any = None,
    mask: Any = None,
    ideal: Any = None,
    weights: Any = None,
) -> Value:
    """nDCG@k: DCG@k over the DCG@k of the ideal order of the candidates, or of `ideal`, the grades of all judgments."""
    rows = rows_of(grades, scores, groups=groups, qid=qid, mask=mask, ideal=ideal)
    return _value("nDCG", k, {"gain": gain}, rows, ties, weights)


def dcg(
    grades: Any,
    scores: Any,
    k: int | None = 10,
    *,
    gain: str | Mapping[float, float] = "linear",
    ties: str = "average",
    groups: Any = None,
    qid: Any = None,
    mask: Any = None,
    ideal: Any = None,
    weights: Any = None,
) -> Value:
    """DCG@k: the sum of gain / log2(rank + 1) over the first k."""
    rows = rows_of(grades, scores, groups=groups, qid=qid, mask=mask, ideal=ideal)
    return _value("DCG", k, {"gain": gain}, rows, ties, weights)


def precision(
    grades: Any,
    scores: Any,
    k: int | None = 10,
    *,
    rel: float = 1.0,
    ties: str = "average",
    groups: Any = None,
    qid: Any = None,
    mask: Any = None,
    ideal: Any = None,
    weights: Any = None,
) -> Value:
    """P@k: the share of the first k that is relevant, of grade `rel` or more; divided by k, however few there are."""
    rows = rows_of(grades, scores, groups=groups, qid=qid, mask=mask, ideal=ideal)
    return _value("P", k, {"rel": rel}, rows, ties, weights)


def recall(
    grades: Any,
    scores: Any,
    k: int | None = 10,
    *,
    rel: float = 1.0,
    ties: str = "average",
    groups: Any = None,
    qid: Any = None,
    mask: Any = None,
    ideal: Any = None,
    weights: Any = None,
) -> Value:
    """R@k: the share of the relevant candidates, or of those in `ideal`, that is among the first k."""
    rows = rows_of(grades, scores, groups=groups, qid=qid, mask=mask, ideal=ideal)
    return _value("R", k, {"rel": rel}, rows, ties, weights)


def reciprocal_rank(
    grades: Any,
    scores: Any,
    k: int | None = 10,
    *,
    rel: float = 1.0,
    ties: str = "average",
    groups: Any = None,
    qid: Any = None,
    mask: Any = None,
    ideal: Any = None,
    weights: Any = None,
) -> Value:
    """RR@k: 1 / rank of the first relevant candidate, 0 if none is among the first k. Its mean is MRR."""
    rows = rows_of(grades, scores, groups=groups, qid=qid, mask=mask, ideal=ideal)
    return _value("RR", k, {"rel": rel}, rows, ties, weights)


def average_precision(
    grades: Any,
    scores: Any,
    k: int | None = 10,
    *,
    rel: float = 1.0,
    ties: str = "average",
    groups: Any = None,
    qid: Any = None,
    mask: Any = None,
    ideal: Any = None,
    weights: Any = None,
) -> Value:
    """AP@k: the precisions at the relevant candidates of the first k, over all that are relevant. Its mean is MAP."""
    rows = rows_of(grades, scores, groups=groups, qid=qid, mask=mask, ideal=ideal)
    return _value("AP", k, {"rel": rel}, rows, ties, weights)


def err(
    grades: Any,
    scores: Any,
    k: int | None = 10,
    *,
    gain: str = "exp",
    max: float = 4.0,
    ties: str = "average",
    groups: Any = None,
    qid: Any = None,
    mask: Any = None,
    ideal: Any = None,
    weights: Any = None,
) -> Value:
    """ERR@k: expected reciprocal rank at which a reader stops; `max` is the highest grade of the scale."""
    rows = rows_of(grades, scores, groups=groups, qid=qid, mask=mask, ideal=ideal)
    return _value("ERR", k, {"gain": gain, "max": max}, rows, ties, weights)


def hit_rate(
    grades: Any,
    scores: Any,
    k: int | None = 10,
    *,
    rel: float = 1.0,
    ties: str = "average",
    groups: Any = None,
    qid: Any = None,
    mask: Any = None,
    ideal: Any = None,
    weights: Any = None,
) -> Value:
    """Success@k: whether any of the first k is relevant."""
    rows = rows_of(grades, scores, groups=groups, qid=qid, mask=mask, ideal=ideal)
    return _value("Success", k, {"rel": rel}, rows, ties, weights)


def _value(name: str, k: Any, parameters: dict[str, Any], rows: Rows, ties: str, weights: Any) -> Value:
    if ties not in TIES:
        raise ProtocolError(f"ties={ties!r} is not a rule for arrays; expected {choices(TIES)}")
    if not len(rows):
        raise InputError(NO_QUERIES)
    measure = _measure(name, k, parameters)
    protocol = replace(CANDIDATES, ties=ties, ideal="retrieved" if rows.ideal is None else "judged")
    values = measured(measure, rows, protocol)
    weight = None if weights is None else weights_of(weights, len(rows))
    return Value(str(measure), values, _definition(measure, rows, protocol), weight, rows.names)


def _measure(name: str, k: Any, parameters: dict[str, Any]) -> Measure:
    """The measure as its text says it, so that what is wrong is said as for any other text."""
    if isinstance(k, bool) or not (k is None or hasattr(k, "__index__")):
        raise MeasureError(f"k={k!r}: expected a whole number, 1 or more, or None for all candidates")
    if k is None and name == "P":
        raise MeasureError("k=None: precision is the share of the first k, and needs a k: k=10")
    words = {key: gain_text(each) if key == "gain" else _number(key, each) for key, each in parameters.items()}
    parts = [f"{key}={word}" for key, word in words.items() if (key, word) != ("rel", "1")]  # 1 is the protocol's
    cut = "" if k is None else f"@{operator.index(k)}"
    return parse(f"{name}({','.join(parts)}){cut}")


def _number(key: str, given: Any) -> str:
    try:
        return number_text(float(given))
    except (TypeError, ValueError):
        raise MeasureError(f"{key}={given!r} is not a number") from None


def _definition(measure: Measure, rows: Rows, protocol: Protocol) -> str:
    given = {name: each.default for name, each in measure.definition.parameters.items()} | dict(measure.parameters)
    if "rel" in given and measure.definition.needs == "relevant":
        given["rel"] = protocol.rel if given["rel"] is None else given["rel"]
    shown = [f"{key}={number_text(v) if isinstance(v, float) else v}" for key, v in given.items() if v is not None]
    words = [", ".join(shown)]
    words += [IDEAL[rows.ideal is not None]] if measure.name in USES_IDEAL else []
    return "; ".join([*words, *(RULES[rule][getattr(protocol, rule)] for rule in ("ties", "empty"))])
