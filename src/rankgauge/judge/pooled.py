"""What a pool asks of a project, and leaves there: runs, labels and texts; the pairs that are to be judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rankgauge.judge.pool import Pool, pool
from rankgauge.store import texts
from rankgauge.systems.documents import fields_of

if TYPE_CHECKING:
    from rankgauge.judge.pairs import Pair
    from rankgauge.read import Run
    from rankgauge.store.project import Project
    from rankgauge.store.store import Store

__all__ = ["add_pairs", "has_labels", "pool_of", "queries_of"]


def pool_of(project: Project, runs: dict[str, Run], *, keep: bool = True, **how: Any) -> Pool:
    """What to judge of runs of a project: what its labels lack, with its texts; kept as pairs to judge, or not."""
    judged = project.labels() if has_labels(project) else None
    found = pool(
        runs,
        judged=judged,
        queries=queries_of(project),
        documents=lambda wanted: fields_of(project, wanted),
        **how,
    )
    if keep:
        add_pairs(project, found.pairs)
    return found


def has_labels(project: Project) -> bool:
    """Whether any pair has a grade."""
    with project.store() as store:
        return any(row.grade is not None for row in store.labels()[0])


def queries_of(project: Project) -> dict[str, texts.Query]:
    """The queries of a project by their ids."""
    with project.store() as store:
        return {query.query_id: query for query in store.queries()}


def add_pairs(project: Project, pairs: Sequence[Pair]) -> None:
    """Keep what is to be judged, with the texts that judges will see."""
    with project.store(write=True) as store:

        def added(inside: Store) -> None:
            shown = {pair.doc_id: (pair.doc_id, pair.document) for pair in pairs if pair.document}
            inside.add_documents(shown.values(), "the pool", latest_text=True)  # of the project's own file
            inside.add_pairs([texts.Pair(pair.query_id, pair.doc_id) for pair in pairs], "pool")

        store.together(added)
