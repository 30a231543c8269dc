"""The section on two stages: where the runs are rerankings of one retrieved run, what each stage reached and lost."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rankgauge.errors import MeasureError, ProtocolError, RankgaugeWarning
from rankgauge.explanation.funnel.funnel import funnel
from rankgauge.show.cells import is_missing, number_text
from rankgauge.show.model import Block, Text
from rankgauge.show.sections.funnel import funnel_charts, overview

if TYPE_CHECKING:
    from rankgauge.explanation.funnel.funnel import Funnel
    from rankgauge.reports.facts import Facts, Source, Wanted

__all__ = ["funnel_of", "two_stages"]

WORST: Final = 10  # harmed queries of a run that are shown


def funnel_of(source: Source, wanted: Wanted) -> Funnel | None:
    """The funnel of the runs over the retrieved run; None where none was given."""
    if not source.retrieved:
        return None
    try:
        return _funnel(source, wanted)
    except (MeasureError, ProtocolError) as error:
        raise type(error)(
            f"--retrieved (retrieved= in Python) asks for the section on two stages, which does not go with this: "
            f"{error}; or leave --retrieved out"
        ) from None


def _funnel(source: Source, wanted: Wanted) -> Funnel:
    measure = next((each for each in wanted.measures if each.name == "nDCG"), wanted.measures[0])
    with warnings.catch_warnings():  # whatever there is to say was said when the runs were matched
        warnings.simplefilter("ignore", RankgaugeWarning)
        return funnel(
            source.judgments,
            retrieved=source.retrieved,
            reranked=source.runs,
            measure=measure,
            candidates=wanted.candidates,
            restrict=wanted.restrict,
            protocol=wanted.protocol,
            weights=wanted.weights,
            clusters=wanted.clusters,
            alpha=wanted.settings.alpha,
            seed=wanted.settings.seed,
        )


def two_stages(facts: Facts) -> Iterator[Block]:
    """What the retriever allowed, what the rerankers made of it, and where the rest was lost."""
    if facts.funnel is not None:
        yield Text(_lead(facts.funnel), "lead")
        yield from funnel_charts(facts.funnel) if facts.wanted.charts else ()
        yield from overview(facts.funnel, WORST)


def _lead(funnel: Funnel) -> str:
    """What the best reranker made of its candidates."""
    name = max(funnel, key=lambda name: funnel[name]["value"].value)
    parts, captured = funnel[name], funnel[name]["captured"].value
    won = f"{name} reaches {number_text(parts['value'].value)} of the {number_text(parts['oracle'].value)} "
    won += f"that the candidates of {funnel.system(name).retriever} allow"
    if not is_missing(captured):
        won += f", and captures {100 * captured:.1f} % of what reranking could win"
    return f"{won}; {number_text(parts['not_retrieved'].value)} is lost before any reranker."
