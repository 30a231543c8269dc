"""The functions over arrays: `rankgauge.arrays` says how they are called; and what they return."""

from __future__ import annotations

import html
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from inspect import Parameter, signature
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypedDict, TypeVar, Unpack, cast, get_args

from rankgauge.arrays.compute import measured
from rankgauge.arrays.rows import Rows
from rankgauge.arrays.shapes import rows_of, weights_of
from rankgauge.errors import InputError, MeasureError, ProtocolError, choices, counted
from rankgauge.measures import Measure, parse
from rankgauge.measures.aggregates import aggregate
from rankgauge.measures.gains import gain_text, number_text
from rankgauge.protocol import RULES, Protocol

if TYPE_CHECKING:
    from rankgauge.dtypes import Array, Floats

__all__ = ["CANDIDATES", "NO_QUERIES", "Value", "average_precision", "dcg", "err", "hit_rate", "ndcg", "precision"]
__all__ += ["recall", "reciprocal_rank"]

CANDIDATES: Final = Protocol(ties="average", negative="error", ideal="retrieved")  # where nothing else is known
NO_QUERIES: Final = "there are no queries: grades and scores are empty"
Ties: TypeAlias = Literal["average", "given"]
TIES: Final = get_args(Ties)
IDEAL: Final = {  # measure → what its ideal, or the relevant documents that it counts, are made of
    False: "ideal: candidates (a document that is not among the rows does not count)",
    True: "ideal: all judgments given",
}
USES_IDEAL: Final = ("nDCG", "R", "AP")


@dataclass(frozen=True, eq=False, repr=False)
class Value:
    """A measure of many queries: `float(value)` is the mean, `value.per_query` has one number a query.

    `queries` are the ids that were given as qid, in the order of `per_query`; None where there were none.
    """

    measure: str
    per_query: Floats
    definition: str
    weights: Floats | None = None
    queries: Array | None = None

    @cached_property
    def mean(self) -> float:
        """The mean over queries, weighted where there are weights; NaN where no query counts."""
        return aggregate("mean", self.per_query, self.weights)

    def __float__(self) -> float:
        return self.mean

    def __len__(self) -> int:
        return len(self.per_query)

    def __format__(self, form: str) -> str:
        return format(self.mean, form) if form else repr(self)

    def __round__(self, digits: int | None = None) -> float:
        return round(self.mean, digits)

    def __repr__(self) -> str:
        return f"{self.measure} = {self.mean:.4f} ({self._of}; {self.definition})"

    def _repr_html_(self) -> str:
        head, rest = html.escape(f"{self.measure} = {self.mean:.4f}"), html.escape(self.definition)
        return f"<div><b>{head}</b> ({self._of})<br><small>{rest}</small></div>"

    @property
    def _of(self) -> str:
        return f"{'mean' if self.weights is None else 'weighted mean'} of {counted(len(self), 'query', 'queries')}"


class Layout(TypedDict, total=False):
    """What every function takes beside its own parameters: which rows are a query's, all judgments, weights, ties."""

    ties: Ties
    groups: Any
    qid: Any
    mask: Any
    ideal: Any
    weights: Any


Function = TypeVar("Function", bound=Callable[..., Value])
Gain: TypeAlias = str | Mapping[float, float]


def _over_rows(function: Function) -> Function:
    """The function with the keywords of Layout spelt out: in its signature, its help, and where one is not known."""
    own = signature(function)
    listed = [each for each in own.parameters.values() if each.kind is not each.VAR_KEYWORD]
    kinds = {name: getattr(each, "__forward_arg__", each) for name, each in Layout.__annotations__.items()}
    defaults = dict.fromkeys(kinds) | {"ties": "average"}
    listed += [
        Parameter(name, Parameter.KEYWORD_ONLY, default=defaults[name], annotation=kinds[name]) for name in kinds
    ]
    known = {each.name for each in listed}

    @wraps(function)
    def checked(*arguments: Any, **named: Any) -> Value:
        for name in named:
            if name not in known:
                raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}")
        return function(*arguments, **named)

    checked.__signature__ = own.replace(parameters=listed)  # type: ignore[attr-defined]
    return cast(Function, checked)


@_over_rows
def ndcg(grades: Any, scores: Any, k: int | None = 10, *, gain: Gain = "linear", **layout: Unpack[Layout]) -> Value:
    """nDCG@k: DCG@k over the DCG@k of the ideal order of the candidates, or of `ideal`, the grades of all judgments."""
    return _value("nDCG", grades, scores, k, {"gain": gain}, **layout)


@_over_rows
def dcg(grades: Any, scores: Any, k: int | None = 10, *, gain: Gain = "linear", **layout: Unpack[Layout]) -> Value:
    """DCG@k: the sum of gain / log2(rank + 1) over the first k."""
    return _value("DCG", grades, scores, k, {"gain": gain}, **layout)


@_over_rows
def precision(grades: Any, scores: Any, k: int | None = 10, *, rel: float = 1.0, **layout: Unpack[Layout]) -> Value:
    """P@k: the share of the first k that is relevant, of grade `rel` or more; divided by k, however few there are."""
    return _value("P", grades, scores, k, {"rel": rel}, **layout)


@_over_rows
def recall(grades: Any, scores: Any, k: int | None = 10, *, rel: float = 1.0, **layout: Unpack[Layout]) -> Value:
    """R@k: the share of the relevant candidates, or of those in `ideal`, that is among the first k."""
    return _value("R", grades, scores, k, {"rel": rel}, **layout)


@_over_rows
def reciprocal_rank(
    grades: Any, scores: Any, k: int | None = 10, *, rel: float = 1.0, **layout: Unpack[Layout]
) -> Value:
    """RR@k: 1 / rank of the first relevant candidate, 0 if none is among the first k. Its mean is MRR."""
    return _value("RR", grades, scores, k, {"rel": rel}, **layout)


@_over_rows
def average_precision(
    grades: Any, scores: Any, k: int | None = 10, *, rel: float = 1.0, **layout: Unpack[Layout]
) -> Value:
    """AP@k: the precisions at the relevant candidates of the first k, over all that are relevant. Its mean is MAP."""
    return _value("AP", grades, scores, k, {"rel": rel}, **layout)


@_over_rows
def err(
    grades: Any, scores: Any, k: int | None = 10, *, gain: str = "exp", max: float = 4.0, **layout: Unpack[Layout]
) -> Value:
    """ERR@k: expected reciprocal rank at which a reader stops; `max` is the highest grade of the scale."""
    return _value("ERR", grades, scores, k, {"gain": gain, "max": max}, **layout)


@_over_rows
def hit_rate(grades: Any, scores: Any, k: int | None = 10, *, rel: float = 1.0, **layout: Unpack[Layout]) -> Value:
    """Success@k: whether any of the first k is relevant."""
    return _value("Success", grades, scores, k, {"rel": rel}, **layout)


def _value(
    name: str, grades: Any, scores: Any, k: Any, parameters: dict[str, Any], ties: Ties = "average",
    weights: Any = None, **layout: Any,
) -> Value:  # fmt: skip
    rows = rows_of(grades, scores, **layout)
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
