"""What if: documents of a ranking moved and graded anew, in the text of an address and as judgments and a run.

A move is `RANK:DOCUMENT`, a grade `GRADE:DOCUMENT` (`u`: unjudged); moves are made one after the other. What comes of
it is explained by the code that explains everything else: there is no other nDCG.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any, Final, NamedTuple

from rankgauge.errors import FormatError
from rankgauge.explanation.query.ranking import ranking_of_query
from rankgauge.measures.gains import number_text
from rankgauge.protocol import Protocol
from rankgauge.read.records import Judgments, Run

__all__ = ["NO_GRADE", "UNJUDGED", "Graded", "Moved", "WhatIf", "grade_in", "moved"]

UNJUDGED: Final = "u"
NO_GRADE: Final = object()


class Moved(NamedTuple):
    """A document at another rank."""

    rank: int
    doc: str

    def __str__(self) -> str:
        return f"{self.rank}:{self.doc}"


class Graded(NamedTuple):
    """A document of another grade; None: unjudged."""

    grade: float | None
    doc: str

    def __str__(self) -> str:
        return f"{UNJUDGED if self.grade is None else number_text(self.grade)}:{self.doc}"


class WhatIf(NamedTuple):
    """What is changed about a ranking; nothing where it is as it is."""

    moves: tuple[Moved, ...] = ()
    grades: tuple[Graded, ...] = ()

    @classmethod
    def read(cls, moves: Sequence[str] = (), grades: Sequence[str] = ()) -> WhatIf:
        """The changes in the texts of an address."""
        return cls(tuple(map(_move, moves)), tuple(map(_grade, grades)))

    @property
    def parameters(self) -> dict[str, list[str]]:
        """The same as the parameters of an address."""
        return {"move": [*map(str, self.moves)], "set": [*map(str, self.grades)]}

    def and_then(self, other: WhatIf) -> WhatIf:
        """Other changes after these; of one document's moves in a row, and of its grades, the last one counts."""
        moves = [*self.moves]
        for move in other.moves:
            if moves and moves[-1].doc == move.doc:
                moves.pop()
            moves.append(move)
        grades = {each.doc: each for each in (*self.grades, *other.grades)}
        return WhatIf(tuple(moves), tuple(grades.values()))

    def of(self, judgments: Judgments, run: Run, query: str, protocol: Protocol) -> tuple[Judgments, Run]:
        """Judgments and run as they would be, of this query alone.

        Where a document is moved every rank is what is seen: equal scores are then in the order shown.
        """
        if self.grades or query not in judgments.queries:
            judgments = self._graded(judgments, query)
        if self.moves:
            docs = ranking_of_query(judgments, run, query, protocol).docs
            order = moved(docs, self.moves)
            made = Run({query: {doc: -float(rank) for rank, doc in enumerate(order)}}, by=run.by, source=run.source)
            made.has_scores = run.has_scores
            return judgments, made
        return judgments, run

    def _graded(self, judgments: Judgments, query: str) -> Judgments:
        known = judgments.only({query}).nested.get(query, {}) if query in judgments.queries else {}
        table = dict(known)
        for grade, doc in self.grades:
            table.pop(doc, None)
            if grade is not None:
                table[doc] = grade
        return Judgments({query: table}, source=judgments.source)


def moved(docs: Sequence[str], moves: Sequence[Moved]) -> list[str]:
    """The documents after the moves; one that was not among them comes in."""
    order = list(docs)
    for rank, doc in moves:
        if doc in order:
            order.remove(doc)
        order.insert(rank - 1, doc)
    return order


def _move(text: str) -> Moved:
    rank, colon, doc = text.partition(":")
    if not (rank.isascii() and rank.isdigit() and len(rank) < 10 and int(rank) and colon and doc):
        raise FormatError(f"move={text!r}: a move is RANK:DOCUMENT, such as 1:d7")
    return Moved(int(rank), doc)


def _grade(text: str) -> Graded:
    grade, colon, doc = text.partition(":")
    known = grade_in(grade)
    if not (colon and doc) or known is NO_GRADE:
        raise FormatError(f"set={text!r}: a grade is GRADE:DOCUMENT, such as 2:d7, or u:d7 for unjudged")
    return Graded(known, doc)


def grade_in(word: str) -> Any:
    """The grade that a word is, None for unjudged; `NO_GRADE` where it is neither."""
    if word.lower() == UNJUDGED:
        return None
    try:
        grade = float(word)
    except ValueError:
        return NO_GRADE
    return grade if isfinite(grade) else NO_GRADE
