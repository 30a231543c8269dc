"""The section on two stages: where the runs are rerankings of one retrieved run, what each stage reached and lost."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import MeasureError, ProtocolError, RankgaugeWarning, counted
from rankgauge.explanation.funnel.funnel import PARTS, funnel
from rankgauge.reports.charts import funnel_charts
from rankgauge.show.cells import interval_text, number_text
from rankgauge.show.model import Block, Bullets, Column, Table, Text
from rankgauge.show.sections.funnel import HEADS

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
    found = facts.funnel
    if found is None:
        return
    best = max(found, key=lambda name: found[name]["value"].value)
    yield Text(_lead(found, best), "lead")
    yield _stages(found)
    yield _parts(found)
    yield _captured(found)
    yield from funnel_charts(facts)
    yield _curve(found)
    yield from _harmed(found)
    if found.notes:
        yield Bullets(found.notes)


def _lead(found: Funnel, name: str) -> str:
    retriever, parts = found.system(name).retriever, found[name]
    captured = parts["captured"]
    won = f"{name} reaches {number_text(parts['value'].value)} of the {number_text(parts['oracle'].value)} "
    won += f"that the candidates of {retriever} allow"
    if captured.value == captured.value:
        won += f", and captures {100 * captured.value:.1f} % of what reranking could win"
    return f"{won}; {number_text(parts['not_retrieved'].value)} is lost before any reranker."


def _stages(found: Funnel) -> Table:
    measure, k = str(found.measure), found.measure.cutoff
    columns = [Column("stage"), Column("run"), Column(f"R@{found.depth}", "number"), Column(measure, "number")]
    columns += [Column("interval", "interval"), Column("Judged" if k is None else f"Judged@{k}", "share", 1)]
    any_name, system = next(iter(found.systems.items()))
    rows: list[list[Any]] = []
    for stage, name, stat, when in (
        ("retrieved", system.retriever, "retrieved", "before"),
        ("candidates", "in random order", "random", ""),
        ("candidates", "in the best order (oracle)", "oracle", ""),
        *(("reranked", name, "value", "after") for name in found),
    ):
        owner = name if stage == "reranked" else any_name
        value, low, high = found[owner][stat]
        shares = [found.mean(owner, f"{kind}_{when}") if when else None for kind in ("recall", "judged")]
        rows.append([stage, name, shares[0], value, (low, high), shares[1]])
    queries = counted(len(found.query_ids), "query", "queries")
    note = "The best order of the candidates is the ceiling of every reranker; recall is not."
    return Table("stages", f"{measure} in two stages, {queries}", columns, rows, sort=False, notes=[note])


def _parts(found: Funnel) -> Table:
    columns = [
        Column("run"),
        Column(str(found.measure), "number"),
        *(Column(head, "number") for head in HEADS.values()),
    ]
    rows = [[name, *(found[name][part].value for part in PARTS)] for name in found]
    note = f"Each row adds up to 1. {'; '.join(f'{HEADS[part]}: {PARTS[part]}' for part in HEADS)}."
    return Table("stage-parts", "What was reached, and where the rest was lost", columns, rows, notes=[note])


def _captured(found: Funnel) -> Table:
    columns = [Column("run"), Column("lift", "signed"), Column("interval", "interval"), Column("headroom", "number")]
    columns += [Column("captured", "share", 1), Column("interval, captured"), Column("helped", "count")]
    columns += [Column("unchanged", "count"), Column("harmed", "count")]
    rows = []
    for name in found:
        lift, captured = found[name]["lift"], found[name]["captured"]
        ends = interval_text([100 * captured.low, 100 * captured.high], 1)
        row = [name, lift.value, (lift.low, lift.high), found[name]["headroom"].value, captured.value, f"{ends} %"]
        rows.append([*row, *found.outcome(name).values()])
    note = "Captured: mean lift over mean headroom. Intervals: BCa bootstrap over queries, paired."
    return Table("stage-lift", "What the rerankers won of what they could have won", columns, rows, notes=[note])


def _curve(found: Funnel) -> Table:
    columns = [Column("first", "count"), Column("recall", "number"), Column("best order", "number")]
    columns += [Column(name, "number") for name in found]
    curves = list(found.curve.values())
    rows = [
        [point.depth, point.recall, point.oracle, *(curve[at].value for curve in curves)]
        for at, point in enumerate(curves[0])
    ]
    peaks = "; ".join(f"{name} is highest with the first {found.peak(name).depth:,}" for name in found)
    return Table("stage-depth", "If only the first candidates had been reranked", columns, rows, notes=[f"{peaks}."])


def _harmed(found: Funnel) -> Iterator[Block]:
    columns = [Column("run"), Column("query", "query"), Column("change", "signed"), Column("document")]
    columns += [Column("grade", "grade"), Column("rank before", "rank"), Column("rank after", "rank")]
    rows = [
        [name, harm.query_id, harm.change, move.doc_id, move.grade, move.before, move.after or None]
        for name in found
        for harm in found.harmed(name, WORST)
        for move in harm.documents[:1]
    ]
    if rows:
        note = "The document whose fall cost most; the change is that of the whole query."
        yield Table("stage-harm", "Harmed most by the reranker", columns, rows, search=len(rows) > 8, notes=[note])
