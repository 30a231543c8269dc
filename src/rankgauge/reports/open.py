"""The section on unjudged documents: the interval that they leave open, of every system and of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rankgauge.comparison.verdict import NOT_SEPARABLE
from rankgauge.errors import counted
from rankgauge.reports.charts import chart
from rankgauge.show.cells import interval_text, number_text
from rankgauge.show.model import Block, Column, Mark, Table, Text

if TYPE_CHECKING:
    from rankgauge.reports.facts import Facts
    from rankgauge.trust.judgments.coverage import PairCoverage
    from rankgauge.trust.judgments.quality import Quality

__all__ = ["left_open", "open_doubts"]


def left_open(facts: Facts) -> Iterator[Block]:
    """What the unjudged documents at ranks up to k could make of every value and of the order of systems."""
    quality = facts.evidence.quality
    if quality is None:
        if facts.evidence.unbounded:
            yield Text(f"No interval is given: {facts.evidence.unbounded.rstrip('.')}.", "note")
        return
    left_out = [name for name in facts.results if name not in [each.name for each in quality.runs]]
    if left_out:
        yield Text(f"The files are large: only {' and '.join(facts.focus)} were looked at.", "note")
    if not any(each.bounds.open.any() for each in quality.runs):
        yield Text(f"Every document at a rank that counts for {quality.measure} is judged: nothing is open.")
        return
    yield from _in_words(facts, quality)
    yield _systems(quality)
    yield from chart(facts, "unjudged", quality)
    if quality.pairs:
        yield _pairs(quality)
        yield from chart(facts, "unjudged-pairs", quality)


def open_doubts(facts: Facts) -> Iterator[str]:
    """A warning where a difference is claimed that judging could turn round."""
    pair, versus = _in_focus(facts), facts.versus
    if pair is None or versus is None or pair.bounds.settled or versus.decision == NOT_SEPARABLE:
        return
    if pair.bounds.measure == facts.measure and pair.bounds.open.any():
        count = counted(int(pair.bounds.open.sum()), "unjudged document")
        ends = interval_text(pair.bounds.mean[1:], sign=True)
        yield f"{count} could turn the order of {pair.a} and {pair.b} round: judged, the difference may be {ends}"


def _in_focus(facts: Facts) -> PairCoverage | None:
    quality = facts.evidence.quality
    if quality is None or len(facts.focus) < 2:
        return None
    return next((pair for pair in quality.pairs if {pair.a, pair.b} == set(facts.focus)), None)


def _in_words(facts: Facts, quality: Quality) -> Iterator[Block]:
    pair = _in_focus(facts)
    if pair is not None and pair.bounds.settled:
        yield Text(f"{pair.verdict[:1].upper()}{pair.verdict[1:]}: no judgment can turn the order round.", "lead")
    elif pair is not None and pair.bounds.open.any():  # of a pair without a common query none is open
        value, low, high = (number_text(number, sign=True) for number in pair.bounds.mean)
        words = f"The unjudged documents decide about {pair.a} and {pair.b}: {quality.measure} differs by {value} now,"
        yield Text(f"{words} and by anything from {low} to {high} once they are judged.", "lead")
    yield Text(
        "An unjudged document counts as not relevant. Judged, it could have any grade of the scale, and the value "
        "would move: up where a good document stands high, down where it stands low and the ideal ranking would have "
        "it higher. Lowest and highest are exact, over every way to grade them."
    )


def _systems(quality: Quality) -> Table:
    assert quality.sheet is not None
    k = "" if quality.sheet.scale.k is None else f"@{quality.sheet.scale.k}"
    columns = [Column("system"), Column(f"Judged{k}", "share", 1), Column("open documents", "count")]
    columns += [Column(head, "number") for head in (quality.measure, "lowest", "highest", "condensed", "expected")]
    rows = [
        [each.name, each.judged, int(each.bounds.open.sum()), *each.bounds.mean, each.condensed, each.expected]
        for each in quality.runs
    ]
    note = (
        "Condensed: without the unjudged documents. Expected: if they are like judged ones at their depth, which is "
        "optimistic, for those were chosen because some system liked them."
    )
    error = max(each.expected_error for each in quality.runs)
    if error > 0:
        note += f" Expected values are sampled, with a standard error of at most {error:.1g}."
    return Table("unjudged", f"{quality.measure} and what is open", columns, rows, notes=[note])


def _pairs(quality: Quality) -> Table:
    columns = [Column("a"), Column("b"), Column("judged of both", "share", 1), Column("open documents", "count")]
    columns += [Column(head, "signed") for head in ("a − b", "lowest", "highest")] + [Column("so")]
    rows = [
        [pair.a, pair.b, pair.judged, int(pair.bounds.open.sum()), *pair.bounds.mean, _so(pair)]
        for pair in quality.pairs
    ]
    note = (
        "A document has one grade in both systems, so these are not the differences of the intervals above. They say "
        "what judging could do; what chance did is in the table of pairs."
    )
    return Table("unjudged-pairs", "Pairs and what is open", columns, rows, search=len(rows) > 8, notes=[note])


def _so(pair: PairCoverage) -> Any:
    return Mark(pair.verdict, "quiet" if pair.bounds.settled or not pair.bounds.open.any() else "warn")
