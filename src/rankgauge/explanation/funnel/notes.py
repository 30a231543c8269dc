"""What to know about a funnel, a line each: dropped documents, unanswered queries, short rerankings, falling curves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Final

import numpy as np

from rankgauge.errors import counted
from rankgauge.measures.bands.bands import tie_ends
from rankgauge.measures.bands.notes import TieNote

if TYPE_CHECKING:
    from rankgauge.explanation.funnel.outcome import Sampling
    from rankgauge.explanation.funnel.stages import Stage
    from rankgauge.explanation.funnel.system import System
    from rankgauge.measures import Measure

__all__ = ["missing_cell", "notes_of", "tie_bands", "tie_line", "tie_warning"]

MOST_CANDIDATES: Final = 0.95  # of the candidates, below which a reranked run is said to hold fewer of them


def notes_of(systems: Mapping[str, System], depth: int, candidates: int | None) -> Iterator[str]:
    """Everything worth a line."""
    if candidates is not None and candidates < depth:
        yield f"R@{depth} is that of {counted(candidates, 'candidate')}: what lies deeper was not given to rerankers."
    for stage in {system.retriever: system.first for system in systems.values()}.values():
        yield from _unanswered(stage, "no candidates: all of it counts as not retrieved")
    for system in systems.values():
        yield from _of_system(system)


def missing_cell(cells: Iterable[tuple[str, str]], between: str) -> Iterator[str]:
    """Of two retrievers × two rerankers three are there: which run would let each change be attributed."""
    there = set(cells)
    retrievers, rerankers = (sorted({cell[at] for cell in there}) for at in (0, 1))
    if len(retrievers) == 2 and len(rerankers) == 2 and len(there) == 3:
        ((retriever, reranker),) = set(product(retrievers, rerankers)) - there
        run = f"{retriever}{between}{reranker}"
        yield f"With {run} too, what each retriever and each reranker brings would be attributed; that run is missing."


def tie_bands(systems: Mapping[str, System], measure: Measure, sampling: Sampling) -> Iterator[TieNote]:
    """The runs of which equal scores decide about more than 0.005, or about more than the lift."""
    lifts: dict[int, list[float]] = {}
    stages: dict[int, Stage] = {}
    for system in systems.values():
        for stage in (system.first, system.second):
            stages[id(stage)] = stage
            lifts.setdefault(id(stage), []).append(abs(sampling.mean(system.of("lift"))))
    chosen = next(iter(systems.values())).chosen
    for at, stage in stages.items():
        low, high = (sampling.mean(end[chosen]) for end in tie_ends(stage.hits, measure))
        share = float((stage.hits.tied > 1).mean()) if len(stage.hits) else 0.0
        note = TieNote(stage.name, measure, sampling.mean(measure(stage.hits)[chosen]), low, high, share)
        if f"{low:.4f}" != f"{high:.4f}" and (note.wide or high - low > min(lifts[at])):
            yield note


def tie_warning(note: TieNote) -> str:
    """The sentence for such a run."""
    return (
        f"{note.run}: {note.measure} is {note.value:.4f} only by the order of equal scores, which could give "
        f"{note.range}; hold the lift against that, break ties where the run is made (see rankgauge eval --tie-band)"
    )


def tie_line(notes: Sequence[TieNote]) -> Iterator[str]:
    """The line below the tables."""
    if notes:
        bands = ", ".join(f"{note.range} ({note.run})" for note in notes)
        yield f"WARNING, ties: equal scores leave {notes[0].measure} open, {bands}."


def _of_system(system: System) -> Iterator[str]:
    second = system.second
    if second.dropped:
        documents = counted(second.dropped, "reranked document")
        yield f"{system.name}: {documents} dropped, being no candidates of {system.retriever}."
    yield from _unanswered(second, "a value of 0", system.first)
    before, after = (float(stage.hits.retrieved.sum()) for stage in (system.first, second))
    if before and after < MOST_CANDIDATES * before:
        sizes = second.hits.retrieved
        deepest = int(sizes.max(initial=0))
        saw = (
            f" If it saw only the first {deepest:,}, say --candidates {deepest}."
            if _first_only(system, deepest)
            else ""
        )
        yield f"{system.name} holds {after / before:.1%} of the candidates of {system.retriever}.{saw}"


def _first_only(system: System, deepest: int) -> bool:
    """Whether all that was reranked lies among the first so many candidates."""
    before = system.second.before
    return before is not None and bool((before <= deepest).all())


def _unanswered(stage: Stage, what: str, first: Stage | None = None) -> Iterator[str]:
    """Queries that a stage does not answer (though the first did)."""
    without = stage.hits.retrieved == 0
    if first is not None:
        without &= first.hits.retrieved > 0
    at = np.flatnonzero(without).tolist()
    if at:
        named = ", ".join(stage.hits.queries[each] for each in at[:3]) + (", …" if len(at) > 3 else "")
        yield f"{stage.name} has {counted(len(at), 'judged query', 'judged queries')} with {what} ({named})."
