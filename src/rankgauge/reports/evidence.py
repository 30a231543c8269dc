"""What a report says of its judgments: what they leave open, how well judges agree, what people would say of the rest;
and of two stages.

Each is computed once, from what the report has read and measured already.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from rankgauge.comparison.pairs import each_against_earlier
from rankgauge.errors import MeasureError, ProtocolError, RankgaugeError, RankgaugeWarning
from rankgauge.explanation.funnel.funnel import funnel
from rankgauge.trust.judges.agree import Agreement
from rankgauge.trust.judges.pairs import agreement_of_all, pairs_of
from rankgauge.trust.judges.sets import sets_of
from rankgauge.trust.judges.systems import systems_of
from rankgauge.trust.judgments.quality import Quality, summarise
from rankgauge.trust.ppi import ppi
from rankgauge.trust.unjudged.sheet import grades_of, scale_of, sheet_of_results

if TYPE_CHECKING:
    from rankgauge.explanation.funnel.funnel import Funnel
    from rankgauge.measures import Measure
    from rankgauge.read import Run
    from rankgauge.reports.facts import Source, Wanted
    from rankgauge.result import Result
    from rankgauge.trust.ppi import PredictionPowered

__all__ = ["Evidence", "Limits", "evidence_of", "funnel_of"]


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a report looks at; of more it says so, and works on the systems in focus, and then on none."""

    checked: int = 2_000_000  # rows of all runs, up to which every line is checked; the quick checks are always made
    pairs: int = 200  # pairs of runs
    cells: int = 4_000_000  # documents at ranks up to k
    rows: int = 20_000_000  # documents of whole runs, which other judges' values need


@dataclass(frozen=True, eq=False, slots=True)
class Evidence:
    """What is known of the judgments; each is None, or empty, where there is nothing, and the words say why."""

    quality: Quality | None = None
    unbounded: str = ""
    agreement: Agreement | None = None
    powered: tuple[PredictionPowered, ...] = ()
    unpowered: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "unjudged": None if self.quality is None else self.quality.to_dict(),
            "agreement": None if self.agreement is None else self.agreement.to_dict(),
            "ppi": [each.to_dict() for each in self.powered],
        }


def evidence_of(source: Source, wanted: Wanted, results: Mapping[str, Result], focus: tuple[str, ...]) -> Evidence:
    """Everything that the sections on judgments tell. `focus`: the systems that the report is about."""
    agreement, powered, unpowered = None, [], []
    quality, unbounded = _quality(source, wanted, results, focus)
    if source.second:
        names = _affordable(results, focus, None, wanted.limits.rows)
        names.sort(key=lambda name: name != wanted.settings.baseline)  # what others are compared with comes first
        read = {name: source.runs[name].read(wanted.protocol) for name in names}
        agreement = _agreement(source, wanted, read)
        for name in _covering_more(source, agreement) if read else ():
            try:
                powered.append(_powered(agreement, name, source.judge, wanted, read))
            except RankgaugeError as error:
                unpowered.append(f"{name}: {error}")
    return Evidence(quality, unbounded, agreement, tuple(powered), tuple(unpowered))


# ---- what unjudged documents leave open ------------------------------------------------------------------------------


def _quality(
    source: Source, wanted: Wanted, results: Mapping[str, Result], focus: tuple[str, ...]
) -> tuple[Quality | None, str]:
    """The intervals by the first measure that has some; None and why where there is none."""
    measure, why = _bounded(wanted, results)
    if measure is None:
        return None, why
    names = _affordable(results, focus, measure.cutoff, wanted.limits.cells)
    if not names:
        return None, "the files are large; rankgauge judgments works it out"
    runs = {name: source.runs[name].read(wanted.protocol) for name in names}
    try:
        # What is not in a sample has weight 0.
        whole = {name: replace(results[name], selected=None) for name in names}
        sheet = sheet_of_results(source.judgments, runs, whole, measure)
    except RankgaugeError as error:
        return None, str(error)
    chosen = _pairs(names, focus, wanted)
    summary = summarise(source.judgments, wanted.protocol)
    return Quality(summary, str(measure), sheet=sheet, seed=wanted.settings.seed, chosen=chosen), ""


def _bounded(wanted: Wanted, results: Mapping[str, Result]) -> tuple[Measure | None, str]:
    """The first measure whose interval is known."""
    why = ""
    grades = grades_of(next(iter(results.values())).hits.judgment_grade)
    for measure in wanted.measures:
        try:
            scale_of(measure, grades)
        except MeasureError as error:
            why = why or str(error)
            continue
        return measure, ""
    return None, why


def _affordable(results: Mapping[str, Result], focus: tuple[str, ...], k: Any, most: int) -> list[str]:
    """The systems for which the work is bounded, as they were given: all, those in focus, or none."""
    depth = {name: _retrieved(result, k) for name, result in results.items()}
    for names in (list(results), [name for name in results if name in focus]):
        if sum(depth[name] for name in names) <= most:
            return names
    return []


def _retrieved(result: Result, k: Any) -> int:
    """How many documents of a run are at ranks up to k."""
    found = result.hits.retrieved
    return int((found if k is None else found.clip(max=k)).sum())


def _pairs(names: list[str], focus: tuple[str, ...], wanted: Wanted) -> list[tuple[str, str]]:
    """The pairs to look at: each system against those before it; with a baseline or many systems, those of one."""
    baseline = wanted.settings.baseline
    if baseline is not None:
        return [(name, baseline) for name in names if name != baseline]
    every = each_against_earlier(names)
    return every if len(every) <= wanted.limits.pairs else [pair for pair in every if focus[0] in pair]


def _weights(source: Source, wanted: Wanted) -> Any:
    """The weights that were given, or those of the sample; 0 for what is judged and not in it."""
    if wanted.sample is None or isinstance(wanted.sample, str):
        return wanted.weights
    from rankgauge.sampling.design import Design

    queries = source.judgments.queries
    return dict(zip(queries, Design.of(wanted.sample, queries, wanted.per).weights(queries), strict=True))


# ---- two stages ------------------------------------------------------------------------------------------------------


def funnel_of(source: Source, wanted: Wanted) -> Funnel | None:
    """The funnel of the runs over the retrieved run; None where none was given."""
    if not source.retrieved:
        return None
    try:
        with warnings.catch_warnings():  # whatever there is to say was said when the runs were matched
            warnings.simplefilter("ignore", RankgaugeWarning)
            return funnel(
                source.judgments,
                retrieved=source.retrieved,
                reranked=source.runs,
                measure=next((each for each in wanted.measures if each.name == "nDCG"), wanted.measures[0]),
                candidates=wanted.candidates,
                restrict=wanted.restrict,
                protocol=wanted.protocol,
                weights=wanted.weights,
                sample=wanted.sample,
                per=wanted.per,
                population=wanted.population,
                clusters=wanted.clusters,
                alpha=wanted.settings.alpha,
                seed=wanted.settings.seed,
            )
    except (MeasureError, ProtocolError) as error:
        raise type(error)(
            f"--retrieved (retrieved= in Python) asks for the section on two stages, which does not go with this: "
            f"{error}; or leave --retrieved out"
        ) from None


# ---- other judges ----------------------------------------------------------------------------------------------------


def _agreement(source: Source, wanted: Wanted, runs: dict[str, Run]) -> Agreement:
    sets = sets_of({source.judge: source.judgments, **source.second}, repeated=wanted.repeated)
    settings, systems = wanted.settings, None
    if len(runs) > 1:
        systems = systems_of(sets, runs, wanted.measures[0], wanted.protocol, settings=settings)
    level, seed = settings.alpha, settings.seed
    return Agreement(sets, agreement_of_all(sets, level, seed), pairs_of(sets, level, seed), systems, level)


def _covering_more(source: Source, agreement: Agreement) -> Iterator[str]:
    """The other judges who judged all queries of the first and more."""
    ours = set(source.judgments.queries)
    return (name for name in source.second if ours < set(agreement.sets.judgments[name].queries))


def _powered(agreement: Agreement, name: str, first: str, wanted: Wanted, runs: dict[str, Run]) -> PredictionPowered:
    people, model = (agreement.sets.judgments[each] for each in (first, name))
    return ppi(people, model, runs, wanted.measures[0], alpha=wanted.settings.alpha, protocol=wanted.protocol)
