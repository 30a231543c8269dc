"""What to say about the ties of a result: nothing, a note where four decimals could change, a warning where more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rankgauge.measures.aggregates import aggregate

if TYPE_CHECKING:
    from rankgauge.measures import Measure
    from rankgauge.result import Result

__all__ = ["TieNote", "mean_ends", "open_values", "tie_notes", "tie_warnings"]

WIDE: Final = 0.005
LISTED: Final = 4  # measures and runs


class TieNote(NamedTuple):
    """A value that equal scores leave open, and how far."""

    run: str
    measure: Measure
    value: float
    low: float
    high: float
    share: float  # of the judged documents retrieved, how many share their score with another document

    @property
    def width(self) -> float:
        """From the smallest to the largest."""
        return self.high - self.low

    @property
    def wide(self) -> bool:
        """Whether the order of equal scores decides about more than 0.005 (half a point in a hundred)."""
        return self.width > WIDE * max(1.0, abs(self.high))

    @property
    def range(self) -> str:
        """From the smallest to the largest, as text."""
        return f"{self.low:.4f} to {self.high:.4f}"


def open_values(result: Result) -> list[TieNote]:
    """The values whose first four decimals depend on the order of equal scores."""
    tied = {id(hits) for hits in (result.hits, *result.own_hits.values()) if hits.open}
    if not tied:
        return []  # as mostly, and what follows is slow to import
    from rankgauge.measures.bands.bands import is_text

    notes: list[TieNote] = []
    for measure in result.measures:
        _, hits = result.computed(measure)
        banded = result.dialect is not None and result.dialect.own(measure).undefined_ties  # in the table itself
        if id(hits) in tied and not banded and not is_text(measure):
            share = float((hits.tied > 1).mean())
            note = TieNote(result.name, measure, result[measure], *mean_ends(result, measure), share)
            if f"{note.low:.4f}" != f"{note.high:.4f}":
                notes.append(note)
    return notes


def mean_ends(result: Result, measure: Measure) -> tuple[float, float]:
    """The smallest and the largest mean that an order of equal scores gives: quick, and mostly exact."""
    from rankgauge.measures.bands.bands import tie_ends

    weights = None if result.weights is None else result._selected(result.weights)
    computed, hits = result.computed(measure)
    own = result.own_aggregate(measure)
    ends = tie_ends(hits, computed)
    if result.dialect is not None:
        ends = result.dialect.own(measure).values(ends[0]), result.dialect.own(measure).values(ends[1])
    low, high = (aggregate(own, result._selected(end), weights) for end in ends)
    value = result[measure]
    return min(low, value), max(high, value)


def tie_notes(results: list[Result]) -> list[str]:
    """Lines below a table, the widest bands first."""
    notes = sorted((note for result in results for note in result.open_values), key=lambda note: -note.width)
    if not notes:
        return []
    parts = [f"{note.measure} {note.range}" + (f" ({note.run})" if len(results) > 1 else "") for note in notes[:LISTED]]
    more = f", and {len(notes) - LISTED} more" if len(notes) > LISTED else ""
    loud = "Caution, ties" if notes[0].wide else "Ties"
    return [f"{loud}: another order of equal scores gives {', '.join(parts)}{more}."]


def tie_warnings(results: list[Result]) -> list[str]:
    """One sentence for every run in which equal scores decide about more than 0.005."""
    widest: dict[str, TieNote] = {}
    for result in results:
        for note in result.open_values:
            if note.wide and (note.run not in widest or note.width > widest[note.run].width):
                widest[note.run] = note
    return [
        f"{note.run}: {note.measure} is {note.value:.4f} only by the order of equal scores, which could give "
        f"{note.range}; {note.share:.0%} of the judged documents found are tied with others. "
        f"Compare with ties='average' (--ties average), look with result.ties({str(note.measure)!r}) (--tie-band)"
        for note in widest.values()
    ]
