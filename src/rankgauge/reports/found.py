"""Sections on what other commands find, too: two stages, unjudged documents, other judges, experiments.

Their tables and charts are those of the results; here are the words that a report says first.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rankgauge.comparison.verdict import NOT_SIGNIFICANT
from rankgauge.errors import counted
from rankgauge.show.cells import interval_text, is_missing, number_text
from rankgauge.show.model import Block, Column, Fold, Text, Tile, Tiles, chart_of
from rankgauge.show.sections import online
from rankgauge.show.sections.funnel import funnel_charts, harm_words, overview
from rankgauge.show.sections.judges import DETAILED, disputes_table, judge_blocks, system_blocks
from rankgauge.show.sections.judgments import open_blocks
from rankgauge.show.sections.ppi import powered_table
from rankgauge.trust.judges.agree import Disputes

if TYPE_CHECKING:
    from rankgauge.explanation.funnel.funnel import Funnel
    from rankgauge.reports.facts import Facts
    from rankgauge.trust.judges.pairs import PairAgreement
    from rankgauge.trust.judgments.coverage import PairCoverage
    from rankgauge.trust.judgments.quality import Quality
    from rankgauge.trust.online.align import Alignment

__all__ = ["funnel_lead", "judges_agree", "left_open", "offline_and_online", "open_doubts", "two_stages"]

NAMED: Final = 3  # pairs of systems that a sentence names
WORST: Final = 10  # harmed queries of a run that are shown
DISPUTED: Final = 50  # pairs of query and document that are listed
APART: Final = 2.0  # grades, from which on judges dispute
MOST_UNITS: Final = 1_000  # rows of the table of experiments or queries


# ---- two stages ------------------------------------------------------------------------------------------------------


def two_stages(facts: Facts) -> Iterator[Block]:
    """What the retriever allowed, what the rerankers made of it, and where the rest was lost."""
    if facts.funnel is not None:
        yield Text(funnel_lead(facts.funnel), "lead")
        yield from funnel_charts(facts.funnel)
        yield from overview(facts.funnel, WORST)


def funnel_lead(funnel: Funnel) -> str:
    """What the best reranker made of its candidates."""
    name = max(funnel, key=lambda name: funnel[name]["value"].value)
    parts, captured = funnel[name], funnel[name]["captured"].value
    per = f"{funnel.per[1:].capitalize()}, " if funnel.per else ""
    if harm := harm_words(funnel, name):
        return f"{per}{harm}"
    won = f"{per}{name} reaches {number_text(parts['value'].value)} of the {number_text(parts['oracle'].value)} "
    won += f"that the candidates of {funnel.system(name).retriever} allow"
    if not is_missing(captured) and captured >= 0:
        won += f", and captures {100 * captured:.1f} % of what reranking could win"
    return f"{won}; {number_text(parts['not_retrieved'].value)} is lost before any reranker."


# ---- unjudged documents ----------------------------------------------------------------------------------------------


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
    if pair is None or versus is None or pair.bounds.settled or versus.decision == NOT_SIGNIFICANT:
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


def _open_elsewhere(quality: Quality, pair: PairCoverage) -> str:
    """Of which other pairs, if any, unjudged documents decide."""
    others = [each for each in quality.pairs if each is not pair and not each.bounds.settled and each.bounds.open.any()]
    named = ", ".join(f"{each.a} and {each.b}" for each in others[:NAMED])
    more = f" ({counted(len(others) - NAMED, 'more pair')})" if len(others) > NAMED else ""
    return f" Unjudged documents do decide about {named}{more}." if others else ""


def _in_words(facts: Facts, quality: Quality) -> Iterator[Block]:
    pair = _in_focus(facts)
    if pair is not None and pair.bounds.settled:
        words = f"Between {pair.a} and {pair.b}, {pair.verdict}: no judgment can turn their order round."
        yield Text(words + _open_elsewhere(quality, pair), "lead")
    elif pair is not None and pair.bounds.open.any():  # of a pair without a common query none is open
        value, low, high = (number_text(number, sign=True) for number in pair.bounds.mean)
        words = f"The unjudged documents decide about {pair.a} and {pair.b}: {quality.measure} differs by {value} now,"
        yield Text(f"{words} and by anything from {low} to {high} once they are judged.", "lead")
    yield Text(
        "An unjudged document counts as not relevant. Judged, it could have any grade of the scale, and the value "
        "would move: up where a good document stands high, down where it stands low and the ideal ranking would have "
        "it higher. Lowest and highest are exact, over every way to grade them."
    )


# ---- other judges ----------------------------------------------------------------------------------------------------


def judges_agree(facts: Facts) -> Iterator[Block]:
    """Coefficients with intervals, confusion, systems under each judge, what to adjudicate; nothing for one judge."""
    agreement = facts.evidence.agreement
    if agreement is None:
        return
    yield Text(" ".join(_sentence(pair) for pair in agreement.pairs[:DETAILED]), "lead")
    yield from judge_blocks(agreement)
    if agreement.systems is not None:
        yield from system_blocks(agreement, agreement.systems)
    disputes = Disputes(agreement.sets.judges, agreement.disputes(APART))
    if disputes.pairs:
        yield Fold("adjudicate", disputes.title, [disputes_table(disputes, DISPUTED)], f"{len(disputes.pairs):,}")
    yield from map(powered_table, facts.evidence.powered)
    for why in facts.evidence.unpowered:
        yield Text(f"No estimate of what the first judge would say of all queries. {why.rstrip('.')}.", "note")


def _sentence(pair: PairAgreement) -> str:
    if not pair.shared:
        return f"{pair.a} and {pair.b} have no judged pair in common."
    kappa, bias = pair.kappa["quadratic"], pair.bias.value
    leaning = "is as lenient" if not round(bias, 4) else "is more lenient" if bias > 0 else "is stricter"
    by = f" by {number_text(abs(bias))} of a grade" if round(bias, 4) else ""
    return (
        f"{pair.a} and {pair.b} gave the same grade to {100 * pair.agreement.value:.0f} % of "
        f"{counted(pair.shared, 'pair')} (quadratic κ {number_text(kappa.value)}, "
        f"{interval_text((kappa.low, kappa.high))}); {pair.b} {leaning}{by}."
    )


# ---- experiments -----------------------------------------------------------------------------------------------------


def offline_and_online(facts: Facts) -> Iterator[Block]:
    """Whether differences of the measure went with those of the business, where a table of experiments says so."""
    alignment = facts.wanted.experiments
    if alignment is None:
        return
    units = alignment.units
    number = counted(len(units), units.one, units.kind)
    yield Text(f"{number} in {units.source}. {online.prediction_words(alignment)}.")
    yield Tiles(list(_tiles(alignment)))
    yield from online.warned(alignment)
    yield chart_of("alignment", alignment)
    yield from online.overview(alignment)
    yield Fold("units", f"Every {units.one}", [online.units_table(alignment, MOST_UNITS)], f"{len(units):,}")


def _tiles(alignment: Alignment) -> Iterator[Tile]:
    first = alignment.first
    yield Tile("Pearson", Column("", "number", 2), first.pearson.value, f"from {interval_text(first.pearson[1:], 2)}")
    same = first.signs["all"]
    yield Tile("same direction", Column("", "share", 0), same.value, f"{same.part:,.10g} of {same.whole:,.10g}")
    decisions, (yes, no) = first.decisions, online.DECIDED[alignment.units.kind]
    shipped, held = (f"of {int(counts.sum()):,}" for counts in decisions.counts)
    yield Tile(f"{yes}, and worse online", Column("", "count"), decisions.wrongly_shipped, shipped)
    yield Tile(f"{no}, and better online", Column("", "count"), decisions.wrongly_held, held)
