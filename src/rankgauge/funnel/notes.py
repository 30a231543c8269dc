"""What to know about a funnel, a line each: dropped documents, unanswered queries, short rerankings, falling curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np

from rankgauge.errors import counted

if TYPE_CHECKING:
    from rankgauge.funnel.stages import Stage
    from rankgauge.funnel.system import System

__all__ = ["notes_of"]

MOST: Final = 0.95  # of the candidates, below which a reranked run is said to hold fewer of them


def notes_of(systems: Mapping[str, System], depth: int, candidates: int | None) -> Iterator[str]:
    """Everything worth a line."""
    if candidates is not None and candidates < depth:
        yield f"R@{depth} is that of {counted(candidates, 'candidate')}: what lies deeper was not given to rerankers."
    for stage in {system.retriever: system.first for system in systems.values()}.values():
        yield from _unanswered(stage, "no candidates: all of it counts as not retrieved")
    for system in systems.values():
        yield from _of_system(system)


def _of_system(system: System) -> Iterator[str]:
    second = system.second
    if second.dropped:
        documents = counted(second.dropped, "reranked document")
        yield f"{system.name}: {documents} dropped, being no candidates of {system.retriever}."
    yield from _unanswered(second, "a value of 0", system.first)
    before, after = (float(stage.hits.retrieved.sum()) for stage in (system.first, second))
    if before and after < MOST * before:
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
