"""The section on unjudged documents: the interval that they leave open, of every system and of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rankgauge.comparison.verdict import NOT_SEPARABLE
from rankgauge.errors import counted
from rankgauge.show.cells import interval_text, number_text
from rankgauge.show.model import Block, Text
from rankgauge.show.sections.judgments import open_blocks

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
    yield from open_blocks(quality)


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
