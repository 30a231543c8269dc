"""What the worker does: functions of values that can be pickled, to values that can be pickled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rankgauge.errors import RankgaugeError
from rankgauge.web.faults import fault

if TYPE_CHECKING:
    from rankgauge.comparison.comparison import Comparison
    from rankgauge.comparison.values import Values
    from rankgauge.explanation.funnel.outcome import Funnel
    from rankgauge.raters.disputes import Adjudication
    from rankgauge.raters.ledger import Ledger
    from rankgauge.raters.tasks import Task
    from rankgauge.read import Judgments
    from rankgauge.show.model import Chart
    from rankgauge.store.project import Project
    from rankgauge.store.store import Store
    from rankgauge.trust.judges.agree import Agreement
    from rankgauge.validation.codes import Findings
    from rankgauge.web.kept import Stored

__all__ = [
    "accounted", "agreed", "compared", "disputed", "drawn", "funnelled", "library", "open_width", "validated",
]  # fmt: skip


def compared(values: Mapping[str, Values]) -> Comparison:
    """Every pair of systems, as `rankgauge compare` decides about them."""
    from rankgauge.comparison.compare import compare_values
    from rankgauge.comparison.settings import Settings

    return compare_values(values, Settings())


def funnelled(
    judgments: Judgments,
    names: tuple[str, str],
    runs: tuple[Stored, Stored],
    options: Mapping[str, Any],
) -> Funnel:
    """Two stages apart, of the runs as they were read."""
    from rankgauge.explanation.funnel.funnel import funnel

    retrieved, reranked = ({name: each.run()} for name, each in zip(names, runs, strict=True))
    return funnel(judgments, retrieved=retrieved, reranked=reranked, **options)


def validated(judgments: Any, run: Any, measure: str) -> Findings:
    """What is wrong or odd in the files."""
    from rankgauge.validation.validate import validate

    return validate(judgments, run, measure=measure)


def drawn(charts: Mapping[str, Chart]) -> dict[str, Any]:
    """Charts as a page draws them; of one that cannot be drawn, why."""
    from rankgauge.show.charts.still import apart, dark_of_light

    made: dict[str, Any] = {}
    for key, chart in charts.items():
        try:
            title, caption, spec = apart(chart.draw())
            made[key] = {"title": chart.title or title, "caption": chart.caption or caption, "spec": spec}
        except Exception as error:
            why = str(error if isinstance(error, RankgaugeError) else fault(error)).rstrip(".")
            made[key] = {"title": chart.title, "problem": f"No chart of this: {why}."}
    return {"charts": made, "dark": dark_of_light()}


def library() -> str:
    """What draws charts in a browser."""
    from rankgauge.show.charts.convert import library

    return library()


def open_width(where: tuple[str, Mapping[str, Any]], name: str, last: int) -> float | None:
    """What unjudged documents leave open between the runs of a task, as its labels are now."""
    from rankgauge.raters.openness import openness
    from rankgauge.raters.tasks import task_of, task_queries
    from rankgauge.store.project import Project

    project = Project(*where)
    with project.store() as store:
        task = task_of(store, name)
        queries = task_queries(store, task)
    return openness(project, task.runs, task.scale, queries).mean


# ---- what who leads the judging looks at -----------------------------------------------------------------------------


def agreed(where: tuple[str, Mapping[str, Any]], task: str, judges: Sequence[str], until: int) -> Agreement:
    """How well judges agree, as `rankgauge agree @labels:ONE @labels:OTHER` has it."""
    from rankgauge.raters.disputes import labels_of
    from rankgauge.raters.ledger import judged_sets
    from rankgauge.trust.judges.agree import agree

    with _looked(where, task) as (project, store, of):
        rows, _ = labels_of(store, of, until)
    return agree(judged_sets(rows, project.rule, judges))


def accounted(where: tuple[str, Mapping[str, Any]], task: str, until: int) -> Ledger:
    """Every judge."""
    from rankgauge.raters.ledger import ledger

    with _looked(where, task) as (project, store, of):
        return ledger(project, store, of, until=until)


def disputed(where: tuple[str, Mapping[str, Any]], task: str, measure: str, people: bool, until: int) -> Adjudication:
    """What is to be decided."""
    from rankgauge.raters.disputes import adjudication

    with _looked(where, task) as (project, store, of):
        return adjudication(project, store, of, measure=measure, people=people, until=until)


@contextmanager
def _looked(where: tuple[str, Mapping[str, Any]], task: str) -> Iterator[tuple[Project, Store, Task | None]]:
    """The project, its store, and the task of a name, if there is one."""
    from rankgauge.raters.tasks import task_of
    from rankgauge.store.project import Project

    project = Project(*where)
    with project.store() as store:
        yield project, store, task_of(store, task) if task else None
