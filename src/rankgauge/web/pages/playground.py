"""`/playground`: NDCG by doing: grades in rank order, moved and changed, and what becomes of the value."""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple, cast

from rankgauge.errors import FormatError
from rankgauge.explanation.query.explain import explained
from rankgauge.explanation.query.ranking import ranking_of_grades
from rankgauge.explanation.query.terms import check_explainable
from rankgauge.measures import parse
from rankgauge.measures.gains import number_text
from rankgauge.protocol import RULES, Protocol, Rules
from rankgauge.web.cards import cards_of
from rankgauge.web.pages.query import TOP, Explained
from rankgauge.web.view import Control, View, address, measure_controls
from rankgauge.web.what_if import NO_GRADE, UNJUDGED, Moved, WhatIf, grade_in, moved

__all__ = ["EXAMPLES", "playground"]

MOST: Final = 1_000  # grades
TIE: Final = "="
# Name → grades, ideal, measure.
EXAMPLES: Final = {
    "worked example A": ("3,2,3,0,1,2,0,1,0,2", "", "nDCG(gain=exp)@10"),
    "the same with an eleventh, not retrieved": ("3,2,3,0,1,2,0,1,0,2", "3,3,3,2,2,2,1,1,0,0,0", "nDCG(gain=exp)@10"),
    "worked example B": ("3,2,3,1,2,0,1,2,0,1", "", "nDCG(gain=exp)@10"),
    "one ranking, eight numbers": ("1,0,3", "3,2,1,0", "nDCG@3"),
    "equal scores": ("3,0=2=1,0=3,2", "", "nDCG@5"),
}
FIRST: Final = "worked example A"
DISCOUNTS: Final = {"log2": "log2(rank + 1)", "zipf": "rank", "none": "none", "jk2": "Järvelin and Kekäläinen, b = 2"}
TIES: Final = "given"  # as they are shown
ORDERS: Final = [rule for rule in RULES["ties"] if not rule.startswith("id")]  # documents have no ids here
SCALE: Final = ("u", "0", "1", "2", "3", "4")


class Grades(NamedTuple):
    """Grades in rank order (None: unjudged); `tied`: which have the score of the one before."""

    grades: list[float | None]
    tied: list[bool]

    @classmethod
    def read(cls, text: str) -> Grades:
        """`3,2=0,u`: a comma before what scores less, = before what scores the same."""
        grades, tied = list[float | None](), list[bool]()
        for part in filter(None, (each.strip() for each in text.replace(" ", ",").split(","))):
            for at, word in enumerate(part.split(TIE)):
                grades.append(_grade(word.strip(), text))
                tied.append(at > 0)
        if not grades:
            raise FormatError("there is no grade; give them in rank order, such as grades=3,2,3,0,u,2")
        if len(grades) > MOST:
            raise FormatError(f"{len(grades):,} grades are too many to play with; give at most {MOST:,}")
        return cls(grades, tied)

    @property
    def scores(self) -> list[float]:
        """Scores that fall, but where they are tied."""
        scores: list[float] = []
        for rank, tied in enumerate(self.tied, 1):
            scores.append(scores[-1] if tied and scores else -float(rank))
        return scores

    def after(self, what_if: WhatIf) -> Grades:
        """The grades after changes; a document that is moved has a score of its own."""
        docs = [f"#{rank}" for rank in range(1, len(self.grades) + 1)]
        grades = dict(zip(docs, self.grades, strict=True))
        tied = dict(zip(docs, self.tied, strict=True))
        for grade, doc in what_if.grades:
            if doc in grades:
                grades[doc] = grade
        known = [move for move in what_if.moves if move.doc in grades]
        order = moved(docs, [Moved(min(rank, len(docs)), doc) for rank, doc in known])
        apart = {move.doc for move in known}
        above: dict[str, str] = dict(zip(order[1:], order, strict=False))
        before: dict[str, str] = dict(zip(docs[1:], docs, strict=False))
        same = [tied[doc] and doc not in apart and above.get(doc) == before.get(doc) for doc in order]
        return Grades([grades[doc] for doc in order], same)

    def __str__(self) -> str:
        words = [UNJUDGED if grade is None else number_text(grade) for grade in self.grades]
        return "".join(
            (TIE if tied else "," if at else "") + word
            for at, (word, tied) in enumerate(zip(words, self.tied, strict=True))
        )


def _grade(word: str, text: str) -> float | None:
    grade: float | None = grade_in(word)
    if grade is NO_GRADE:
        raise FormatError(f"{text!r}: {word!r} is not a grade; write numbers in rank order, u for unjudged: 3,2,u,0")
    return grade


def playground(
    grades: str = "",
    ideal: str = "",
    measure: str = "",
    ties: str = "",
    what_if: WhatIf | None = None,
    *,
    top: int = TOP,
) -> View:
    """Grades, the ideal's grades where more was judged than ranked, and a measure."""
    if not grades:
        grades, ideal, first = EXAMPLES[FIRST]
        measure = measure or first
    wanted = parse(measure or "nDCG@10")
    check_explainable(wanted)
    protocol = Protocol.of(cast("Rules", {"ties": ties or TIES}))
    listed, all_grades = Grades.read(grades).after(what_if or WhatIf()), _ideal(ideal)
    ranking = ranking_of_grades(listed.grades, all_grades, protocol, listed.scores)
    explanation = explained(ranking, wanted, protocol, top=top, name="")
    here = partial(address, "/playground", ideal=ideal, measure=wanted, ties=ties)
    shown = Explained(
        cards_of(explanation, ranking, wanted, {}, frozenset()),
        "",
        [*SCALE],
        here(grades=str(listed)),
        lambda more: here(grades=str(listed.after(more))),
    )
    controls = [
        Control("Grades, best rank first", "grades", str(listed)),
        Control("Ideal, if more was judged", "ideal", ideal),
        *measure_controls(wanted, DISCOUNTS),
        Control("Equal scores", "ties", ties or TIES, {rule: rule for rule in ORDERS}),
    ]
    examples = [
        (name, address("/playground", grades=of, ideal=best, measure=by)) for name, (of, best, by) in EXAMPLES.items()
    ]
    return View(
        "Playground",
        lambda: explanation.to_dict() | {"grades": listed.grades, "ideal_grades": all_grades},
        template="query.html",
        subtitle="NDCG by doing: drag a document, change a grade, and see what becomes of the value",
        controls=controls,
        more={
            "explained": shown,
            "what_if": "/playground/what-if",
            "examples": examples,
            "place": "",
            "previous": "",
            "next": "",
        },
    )


def _ideal(text: str) -> list[float] | None:
    if not text:
        return None
    return [grade for grade in Grades.read(text).grades if grade is not None]
