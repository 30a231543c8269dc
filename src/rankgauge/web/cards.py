"""An explanation as cards: what the query page, the playground and the lists side by side show of a ranking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rankgauge.explanation.query.worth import DCG_FAMILY, gains_of
from rankgauge.show.cells import minus, number_text
from rankgauge.show.explained import grade_text
from rankgauge.show.marking import Piece, marked, snippet
from rankgauge.show.model import sentence
from rankgauge.web.texts import Document
from rankgauge.web.what_if import Moved, WhatIf

if TYPE_CHECKING:
    from rankgauge.explanation.query.explanation import Change, Explanation, Row
    from rankgauge.explanation.query.ranking import Ranking
    from rankgauge.measures import Measure

__all__ = ["Box", "Card", "Cards", "Suggestion", "cards_of", "ranked_cards"]

MOST: Final = 100  # ranks that are shown
BELOW: Final = 30  # relevant documents below the cut that are shown
FAR: Final = 60  # ranks further down that are shown because they add something
TITLE: Final = 200  # characters
DIGITS: Final = 3  # of what a rank adds


class Box(NamedTuple):
    """A document's part of a sum: where it begins and how wide it is, in thousandths; its colour; what it is."""

    start: float
    width: float
    chip: str
    words: str


class Card(NamedTuple):
    """A document at a rank (None: not retrieved): its texts with the words of the query marked, and what it adds."""

    rank: int | None
    doc: str
    title: list[Piece]
    text: list[Piece]
    grade: str
    chip: str
    division: str = ""
    adds: str = ""
    bar: float = 0.0
    where: str = ""
    there: bool = True  # it is where it is said to be
    named: bool = False  # the title is not its id


class Suggestion(NamedTuple):
    """A change that would raise the value: by how much, in words, and the changes that it is."""

    points: str
    words: str
    what_if: WhatIf


class Cards(NamedTuple):
    """Everything that is shown of a value: the sums, the ranking, what lies below the cut, the ideal, suggestions.

    Of a long ranking the first ranks are `ranked`; `more` are not shown, but for those `far` down that add something.
    """

    measure: str
    value: str
    equation: str
    sums: list[tuple[str, str, list[Box]]]
    cut: int | None
    retrieved: int
    ranked: list[Card]
    more: int
    far: list[Card]
    below: list[Card]
    more_below: int
    ideal: list[Card]
    suggestions: list[Suggestion]
    notes: list[str]

    @property
    def divided(self) -> bool:
        """Whether gains are divided by discounts."""
        return any(card.division for card in self.ranked)


class _Look(NamedTuple):
    """How documents are shown."""

    documents: Mapping[str, Document]
    words: frozenset[str]
    largest: float

    def card(self, rank: int | None, doc: str, grade: float | None, **more: Any) -> Card:
        known = self.documents.get(doc)
        title = (known.title if known and known.title else doc)[:TITLE]
        text = snippet(known.text, self.words) if known else ""
        if known and not known.title and known.text:
            title, text = snippet(known.text, self.words, TITLE // 2), doc
        pieces = marked(title, self.words), marked(text, self.words)
        return Card(rank, doc, *pieces, grade_text(grade), chip_of(grade), named=bool(known and known.title), **more)

    def row(self, row: Row, **more: Any) -> Card:
        """A rank with what it adds."""
        division = "" if row.discount is None else f"{row.gain:g} ÷ {row.discount:.2f}"
        bar = 100 * max(0.0, row.contribution) / self.largest if self.largest else 0.0
        told = {"division": division, "adds": minus(number_text(row.contribution, DIGITS)), "bar": round(bar, 1)}
        return self.card(row.rank, row.doc_id, row.grade, **told | more)


def chip_of(grade: float | None) -> str:
    """The class of a grade's colour."""
    return "gu" if grade is None else f"g{max(0, min(4, int(grade)))}"


def cards_of(
    explanation: Explanation,
    ranking: Ranking,
    measure: Measure,
    documents: Mapping[str, Document],
    words: frozenset[str],
    what_if: WhatIf | None = None,
) -> Cards:
    """All of it; documents that are changed are there, wherever they are."""
    cut = measure.cutoff if isinstance(measure.cutoff, int) else None
    counted = explanation.rows[:cut]
    shown = counted[:MOST]
    far = [row for row in counted[MOST:] if row.contribution][:FAR]
    largest = max((row.contribution for row in (*shown, *explanation.ideal)), default=0.0)
    look = _Look(documents, words, largest)
    there = {row.doc_id for row in (*shown, *far)}
    below = [*_changed(explanation, ranking, look, there, what_if or WhatIf())]
    below += _below(explanation, ranking, measure, look, there | {card.doc for card in below})
    return Cards(
        explanation.measure,
        minus(number_text(explanation.value)),
        _equation(explanation),
        [*_sums(explanation, measure)],
        cut,
        explanation.retrieved,
        [look.row(row) for row in shown],
        len(counted) - len(shown) - len(far),
        [look.row(row) for row in far],
        below[:BELOW],
        max(0, len(below) - BELOW),
        [look.row(row, **_place(explanation, row, cut)) for row in explanation.ideal[:MOST] if row.contribution],
        [_suggestion(change, documents) for change in explanation.would_raise],
        [sentence(note) for note in explanation.notes],
    )


def ranked_cards(
    explanation: Explanation, documents: Mapping[str, Document], words: frozenset[str], other: Explanation
) -> list[Card]:
    """A ranking beside another one: each document says where it stands there."""
    rows = explanation.rows[:MOST]
    largest = max((row.contribution for row in (*rows, *other.rows)), default=0.0)
    look = _Look(documents, words, largest)
    return [look.row(row, **_movement(row, other)) for row in rows]


def _movement(row: Row, other: Explanation) -> dict[str, Any]:
    rank = other.ranks.get(row.doc_id)
    if rank is None:
        return {"where": f"not in {other.run}", "there": False}
    return {"where": "same rank" if rank == row.rank else f"rank {rank} in {other.run}", "there": rank == row.rank}


def _equation(explanation: Explanation) -> str:
    if explanation.dcg is None or not explanation.measure.startswith("nDCG"):
        return ""
    return f"{minus(number_text(explanation.dcg, DIGITS))} ÷ {number_text(explanation.idcg, DIGITS)}"


def _sums(explanation: Explanation, measure: Measure) -> Iterator[tuple[str, str, list[Box]]]:
    """The sum of the ranking and that of the ideal, as boxes on one scale."""
    family = measure.name in DCG_FAMILY
    names = ("DCG", "ideal DCG") if family else (measure.name, "ideal")
    totals = (explanation.dcg, explanation.idcg) if family else (explanation.value, explanation.ideal_value)
    parts = [[(row, _part(row, family)) for row in rows] for rows in (explanation.rows, explanation.ideal)]
    scale = max([sum(part for _, part in each) for each in parts] + [total or 0.0 for total in totals])
    for name, total, each in zip(names, totals, parts, strict=True):
        yield name, minus(number_text(total, DIGITS)), [*_boxes(each, scale)]


def _part(row: Row, family: bool) -> float:
    part = row.term if family and row.term is not None else row.contribution
    return max(0.0, part or 0.0)


def _boxes(parts: Sequence[tuple[Row, float]], scale: float) -> Iterator[Box]:
    start = 0.0
    for row, part in parts:
        if part and scale:
            words = f"rank {row.rank}, grade {grade_text(row.grade)}: {number_text(part, DIGITS)}"
            yield Box(round(start, 2), round(1000 * part / scale, 2), chip_of(row.grade), words)
            start += 1000 * part / scale


def _changed(
    explanation: Explanation, ranking: Ranking, look: _Look, shown: set[str], what_if: WhatIf
) -> Iterator[Card]:
    """The documents that were moved or graded, and are below the cut now: nobody is to look for them."""
    for doc in dict.fromkeys([*(move.doc for move in what_if.moves), *(each.doc for each in what_if.grades)]):
        if doc not in shown:
            rank = explanation.ranks.get(doc)
            where = "changed, not retrieved" if rank is None else f"changed, at rank {rank}"
            yield look.card(rank, doc, ranking.given.get(doc), where=where, there=False)


def _below(
    explanation: Explanation, ranking: Ranking, measure: Measure, look: _Look, shown: set[str]
) -> Iterator[Card]:
    """The relevant documents that are lower or not retrieved, the most worth first."""
    left = {doc: grade for doc, grade in ranking.given.items() if doc not in shown}
    gains = gains_of(measure, np.fromiter(left.values(), np.float64, len(left)), ranking.protocol).tolist()
    worth = [(gain, explanation.ranks.get(doc), doc) for gain, doc in zip(gains, left, strict=True) if gain > 0]
    for _, rank, doc in sorted(worth, key=lambda each: (-each[0], each[1] or len(explanation.ranks) + 1, each[2])):
        where = "relevant, not retrieved" if rank is None else f"relevant, found at rank {rank}"
        yield look.card(rank, doc, left[doc], where=where, there=False)


def _place(explanation: Explanation, row: Row, cut: int | None) -> dict[str, Any]:
    """Where a document of the ideal really is."""
    rank = explanation.ranks.get(row.doc_id)
    if rank is None:
        return {"where": "not retrieved", "there": False}
    beyond = cut is not None and rank > cut
    same = "at its rank" if rank == row.rank else f"at rank {rank}"
    return {"where": f"{same}, beyond {cut}" if beyond else same, "there": not beyond}


def _suggestion(change: Change, documents: Mapping[str, Document]) -> Suggestion:
    points = f"+{number_text(change.points)}"
    if change.kind == "insert":
        doc, rank = change.doc_ids[0], change.ranks[0]
        known = documents.get(doc)
        words = f"find {known.title if known and known.title else doc}, at rank {rank}"
        return Suggestion(points, words, WhatIf((Moved(rank, doc),)))
    (upper, lower), (one, other) = change.ranks, change.doc_ids
    return Suggestion(points, f"swap ranks {upper} and {lower}", WhatIf((Moved(upper, other), Moved(lower, one))))
