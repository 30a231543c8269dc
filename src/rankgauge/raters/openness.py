"""What unjudged documents leave open of a measure, query by query: what to judge first, and how far one has come."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from rankgauge.errors import RankgaugeError, RankgaugeWarning
from rankgauge.judge.pooled import has_labels

if TYPE_CHECKING:
    from rankgauge.judge.scale import Scale
    from rankgauge.store.project import Project

__all__ = ["Openness", "openness"]

MEASURE: Final = "nDCG@10"
NOBODY: Final = "\x1f found by nobody"  # irrelevant and in no run: with it a query is judged, and no value changes


class Openness(NamedTuple):
    """The queries, what leaves most open first, and the mean width of what is open; None where no run says."""

    order: list[str]
    mean: float | None


def openness(project: Project, runs: Sequence[str], scale: Scale, queries: Iterable[str]) -> Openness:
    """How far the interval is open between two runs, or of each of several; without runs, queries by their ids."""
    wanted = sorted(queries)
    if not runs:
        return Openness(wanted, None)
    import numpy as np

    from rankgauge.store.sources import Address
    from rankgauge.trust.unjudged.bounds import bounds_of_pair, bounds_of_run
    from rankgauge.trust.unjudged.sheet import sheet_of

    read = {run: Address.of(run, project).run() for run in runs}
    judged = {query: {NOBODY: 0.0} for query in wanted}
    for query, doc, grade in project.labels() if has_labels(project) else ():
        judged.setdefault(query, {})[doc] = grade
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankgaugeWarning)  # that little is judged is why there is a task
            sheet = sheet_of(judged, read, MEASURE, grades=scale.grades)
        pair = [bounds_of_pair(sheet, *runs)] if len(runs) == 2 else [bounds_of_run(sheet, run) for run in runs]
    except RankgaugeError:  # labels of another scale: there is no interval of theirs
        return Openness(wanted, None)
    widths = np.nan_to_num(np.mean([each.high - each.low for each in pair], axis=0))
    width = dict(zip(sheet.queries, widths.tolist(), strict=True))
    mean = float(np.mean([width[query] for query in wanted]))
    return Openness(sorted(wanted, key=lambda query: (-width[query], query)), mean)
