"""The rules of an evaluation as one frozen value.

Everything that two tools may decide differently before any measure is computed is settled here, once: what orders a
ranking, how ties are broken, what an unjudged document counts, what happens to a query that the run does not answer or
that has nothing relevant, which grade counts as relevant. A `Protocol` is given to `match`, travels with the result, is
printed with it, and is part of its fingerprint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Literal, TypeAlias, TypedDict

from rankgauge.errors import ProtocolError, choices, unknown

__all__ = ["BY_GRADE", "DEFAULT", "NARROW", "REPEATING", "RULES", "SIGNED", "SPOKEN", "Protocol", "Rules"]
__all__ += ["check_independent"]

# The values of every rule, for type checkers; a test holds them against `RULES`, which has what they mean.
Order: TypeAlias = Literal["score", "rank", "given"]
Scores: TypeAlias = Literal["float64", "float32", "float32-positive"]
Ties: TypeAlias = Literal["id", "id-ascending", "given", "reversed", "worst", "best", "average"]
Grades: TypeAlias = Literal["any", "truncate", "integer", "binary"]
Negative: TypeAlias = Literal["not-relevant", "as-is", "as-is-ratio", "as-is-summed", "error"]
Unjudged: TypeAlias = Literal["not-relevant", "condensed"]
SameId: TypeAlias = Literal["keep", "drop"]
Duplicates: TypeAlias = Literal["error", "first", "best", "each", "once", "distinct"]
Ideal: TypeAlias = Literal["judged", "retrieved"]
IdealOrder: TypeAlias = Literal["grade", "given"]
IdealDepth: TypeAlias = Literal["k", "returned", "all"]
Missing: TypeAlias = Literal["zero", "skip", "error"]
Empty: TypeAlias = Literal["zero", "one", "skip", "error", "one-if-unanswered"]


class Rules(TypedDict, total=False):
    """The rules of an evaluation as a mapping; a rule that is not given has its default."""

    order: Order
    ties: Ties
    unjudged: Unjudged
    missing: Missing
    empty: Empty
    duplicates: Duplicates
    rel: float
    depth: int | None
    scores: Scores
    grades: Grades
    negative: Negative
    same_id: SameId
    ideal: Ideal
    ideal_order: IdealOrder
    ideal_depth: IdealDepth


# Rule → allowed value → what it means, in words. The first value is the default.
RULES: Final[dict[str, dict[str, str]]] = {
    "order": {
        "score": "documents are ordered by score, best first; a rank column is ignored",
        "rank": "documents are ordered by the rank column; scores are ignored",
        "given": "documents are ordered as they are given; scores are ignored",
    },
    "scores": {
        "float64": "scores are compared as 64-bit numbers",
        "float32": "scores are compared as 32-bit numbers, so that close ones are tied",
        "float32-positive": "as float32, and documents with a score of 0 or less are taken out of the ranking",
    },
    "ties": {
        "id": "equal scores: by document id, descending in code-point order (as trec_eval)",
        "id-ascending": "equal scores: by document id, ascending in code-point order",
        "given": "equal scores: in the order given",
        "reversed": "equal scores: in the reverse of the order given",
        "worst": "equal scores: the lowest grade first, an unjudged document before one of grade 0",
        "best": "equal scores: the highest grade first, an unjudged document after one of grade 0",
        "average": "equal scores: the expectation over all orders of the tied documents",
    },
    "grades": {
        "any": "grades are any numbers",
        "truncate": "the decimals of a grade are cut off",
        "integer": "a grade that is not a whole number is an error",
        "binary": "a grade other than 0 and 1 is an error",
    },
    "negative": {
        "not-relevant": "negative grades count as not relevant and are never part of the ideal",
        "as-is": "negative grades gain what they are, in the ranking and in the ideal; an ideal of 0 or less is empty",
        "as-is-ratio": "as as-is, but only an ideal of exactly 0 is empty",
        "as-is-summed": "as as-is-ratio, and a query is empty where its grades add up to 0",
        "error": "a negative grade is an error",
    },
    "unjudged": {
        "not-relevant": "an unjudged document counts as not relevant and keeps its rank",
        "condensed": "unjudged documents, and those of negative grade, are taken out of the ranking first",
    },
    "same_id": {
        "keep": "a document whose id is the query's is a document like any other",
        "drop": "a document whose id is the query's is taken out of the ranking",
    },
    "duplicates": {
        "error": "a document twice in one ranking is an error",
        "first": "of a document twice in one ranking, the first is kept",
        "best": "of a document twice in one ranking, the best-scored is kept",
        "each": "a document twice in one ranking counts each time",
        "once": "a document twice in one ranking counts at its best rank; the others stay, as unjudged",
        "distinct": "a document twice in one ranking is two documents, in the ideal too",
    },
    "ideal": {
        "judged": "the ideal ranking is made of all judgments of the query",
        "retrieved": "the ideal ranking is made of what was retrieved",
    },
    "ideal_order": {
        "grade": "the ideal ranking is in descending order of gain",
        "given": "the ideal ranking is in the order in which the judgments are given",
    },
    "ideal_depth": {
        "k": "the ideal ranking is cut at k",
        "returned": "the ideal ranking is cut at k and at the number of documents returned",
        "all": "the ideal ranking is not cut",
    },
    "missing": {
        "zero": "a judged query that the run does not answer counts 0",
        "skip": "a judged query that the run does not answer is left out",
        "error": "a judged query that the run does not answer is an error",
    },
    "empty": {
        "zero": "a query without relevant documents counts 0",
        "one": "a query without relevant documents counts 1",
        "skip": "a query without relevant documents is left out",
        "error": "a query without relevant documents is an error",
        "one-if-unanswered": "a query without relevant documents counts 1 if nothing was retrieved, else 0",
    },
}
# The rules of `negative` under which a grade below 0 takes something away.
SIGNED: Final = ("as-is", "as-is-ratio", "as-is-summed")
# The rules of `duplicates` under which a ranking may hold a document more than once.
REPEATING: Final = ("each", "once", "distinct")
# The rules of `scores` under which these are 32-bit numbers.
NARROW: Final = ("float32", "float32-positive")
# Rule → values under which ranks or the ideal depend on the grades of what was retrieved.
BY_GRADE: Final[dict[str, tuple[str, ...]]] = {
    "ties": ("average", "worst", "best"),
    "unjudged": ("condensed",),
    "duplicates": REPEATING,
    "negative": SIGNED,
    "ideal": ("retrieved",),
    "ideal_order": ("given",),
    "ideal_depth": ("returned", "all"),
}
DEEPEST: Final = 2**31 - 1  # documents after which a ranking can be cut
# The rules that are printed with every number; the others only where they are not at their default.
SPOKEN: Final = frozenset({"order", "ties", "unjudged", "missing", "empty", "duplicates", "rel"})


@dataclass(frozen=True, slots=True)
class Protocol:
    """The rules of an evaluation. The defaults are the field's.

    >>> Protocol(ties="average").ties
    'average'
    """

    order: Order = "score"
    ties: Ties = "id"
    unjudged: Unjudged = "not-relevant"
    missing: Missing = "zero"
    empty: Empty = "zero"
    duplicates: Duplicates = "error"
    rel: float = 1.0
    depth: int | None = None
    scores: Scores = "float64"
    grades: Grades = "any"
    negative: Negative = "not-relevant"
    same_id: SameId = "keep"
    ideal: Ideal = "judged"
    ideal_order: IdealOrder = "grade"
    ideal_depth: IdealDepth = "k"

    def __post_init__(self) -> None:
        for rule, allowed in RULES.items():
            value = getattr(self, rule)
            if not isinstance(value, str) or value not in allowed:
                words = f"{rule}={value!r} is not a rule"
                raise ProtocolError(unknown(words, value, allowed, f"expected {choices(allowed)}"))
        object.__setattr__(self, "rel", _number(self.rel, "rel"))
        if self.depth is not None:
            object.__setattr__(self, "depth", int(_number(self.depth, "depth")))
        if not 0 <= self.rel < float("inf"):
            raise ProtocolError(f"rel={self.rel!r}: the smallest relevant grade is a number, 0 or more")
        if self.depth is not None and not 1 <= self.depth <= DEEPEST:
            raise ProtocolError(
                f"depth={self.depth!r}: a ranking is cut after 1 to {DEEPEST:,} documents, or not at all: None"
            )
        if self.ties == "average" and self.order != "score":
            raise ProtocolError(f"ties='average' needs order='score': with order={self.order!r} nothing is tied")
        if self.ties == "average" and self.depth is not None:
            raise ProtocolError("ties='average' has no place to cut: leave depth out and write the cut-off as @k")

    @property
    def only_positive(self) -> bool:
        """Whether documents with a score of 0 or less are taken out of the ranking."""
        return self.scores == "float32-positive" and self.order == "score"

    @property
    def by(self) -> str:
        """Which column of a run is read for the order."""
        return "rank" if self.order == "rank" else "score"

    def describe(self) -> str:
        """The rules in words, one a line."""
        lines = [meanings[getattr(self, rule)] for rule, meanings in RULES.items()]
        lines.append(f"a document is relevant from grade {self.rel:g} on (binary measures)")
        if self.depth is not None:
            lines.append(f"only the first {self.depth} documents of a ranking count")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """The rules for machines: `Protocol.from_dict` reads them back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, rules: Mapping[str, Any]) -> Protocol:
        """The inverse of `to_dict`; a rule that is not given has its default."""
        known = [field.name for field in fields(cls)]
        for name in rules:
            if name not in known:
                raise ProtocolError(f"unknown rule {name!r}; the rules are {', '.join(known)}")
        return cls(**rules)

    @classmethod
    def of(cls, rules: Protocol | Rules) -> Protocol:
        """The rules, given as they are or as a mapping."""
        return rules if isinstance(rules, Protocol) else cls.from_dict(rules)

    @property
    def changed(self) -> dict[str, Any]:
        """The rules that are not at their default."""
        return {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}

    def __str__(self) -> str:
        return ", ".join(f"{rule}={value}" for rule, value in self.changed.items()) or "the field's defaults"


def _number(value: Any, rule: str) -> float:
    """The rule's value as a number, so that equal rules are equal in every way."""
    whole = rule == "depth"
    if isinstance(value, str) or not hasattr(value, "__float__") or (whole and not float(value).is_integer()):
        raise ProtocolError(f"{rule}={value!r} is not a {'whole ' * whole}number")
    return float(value)


DEFAULT: Final = Protocol()


def check_independent(protocol: Protocol, what: str, more: Mapping[str, tuple[str, ...]] | None = None) -> None:
    """Refuse rules under which ranks or the ideal depend on grades, and `more` of them, for what cannot be had then."""
    for rule, values in (BY_GRADE | dict(more or {})).items():
        if getattr(protocol, rule) in values:
            raise ProtocolError(
                f"{rule}={getattr(protocol, rule)}: {what} only where the rank of a document does not depend on grades "
                f"and the ideal is made of all judgments; leave {rule} at its default"
            )
