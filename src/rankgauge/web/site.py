"""What pages are made of: a collection, and the worker who does for it what takes long."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rankgauge.comparison.compare import with_doubts
from rankgauge.comparison.values import values_of_results
from rankgauge.errors import MeasureError
from rankgauge.measures import Measure, parse
from rankgauge.read import Judgments
from rankgauge.sampling import NO_SAMPLE
from rankgauge.web import jobs
from rankgauge.web.worker import Later

if TYPE_CHECKING:
    from rankgauge.comparison.comparison import Comparison
    from rankgauge.web.files import Files
    from rankgauge.web.kept import Stored
    from rankgauge.web.served import Collection
    from rankgauge.web.worker import Worker

__all__ = ["Answer", "Site"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What the worker was asked: there, not there yet, or why it never will be."""

    future: Future[Any]
    worker: Worker
    finish: Callable[[Any], Any] = lambda found: found

    @property
    def pending(self) -> bool:
        """Whether it is not there yet; what was dropped unanswered is asked again with the next look."""
        return not self.future.done() or self.future.cancelled()

    @property
    def problem(self) -> str:
        """Why there is none."""
        return "" if self.pending else self.worker.finished(self.future, self.finish)[1]

    @property
    def value(self) -> Any:
        """What was found; None where there is nothing, or nothing yet."""
        return None if self.pending else self.worker.finished(self.future, self.finish)[0]


@dataclass(frozen=True, slots=True)
class Site:
    """A collection with those who work on it."""

    files: Files
    collection: Collection
    worker: Worker

    def measure(self, text: str) -> Measure:
        """The measure of this name, or the first of those that are served; a text is not shown as a number."""
        measure = parse(text or self.files.measures[0])
        if measure.definition.aggregate == "none":
            raise MeasureError(f"{measure} is a text and not a number; choose another measure")
        return measure

    def comparison(self, names: Sequence[str], measure: Measure, group: str = "") -> Answer:
        """Systems compared, the first being the baseline."""
        collection = self.collection
        evaluation = collection.evaluation(names, [measure], group)
        key = (collection.number, "compare", tuple(names), str(measure), group)
        values = Later(values_of_results, (evaluation, [str(measure)]))
        finish = partial(with_doubts, evaluation=evaluation)
        return Answer(self.worker.ask(key, jobs.compared, values), self.worker, finish)

    def findings(self, name: str, measure: Measure) -> Answer:
        """What is wrong or odd in judgments and a run."""
        key = (self.collection.number, "validate", name, str(measure))
        judgments, run = self.files.judgments.again(), self.files.runs[name].again()
        return Answer(self.worker.ask(key, jobs.validated, judgments, run, str(measure)), self.worker)

    def funnel(
        self, retrieved: str, reranked: str, measure: Measure, candidates: int | None = None, restrict: bool = False
    ) -> Answer:
        """Retriever and reranker apart."""
        key = (self.collection.number, "funnel", retrieved, reranked, str(measure), candidates, restrict)
        names, collection = (retrieved, reranked), self.collection
        runs = Later(_stored, (collection, names))
        options: dict[str, Any] = {"measure": str(measure), "candidates": candidates, "restrict": restrict}
        options |= {"protocol": collection.protocol, "sample": collection.sample or NO_SAMPLE, "per": collection.per}
        options |= {"population": collection.population if collection.sample else None}
        found = self.worker.ask(key, jobs.funnelled, Later(self._judgments), names, runs, options)
        return Answer(found, self.worker)

    def _judgments(self) -> Judgments:
        """The judgments for another process: without what reads their file again."""
        known = self.collection.judgments
        return Judgments(known.nested if known.is_nested else known.columns, source=known.source)


def _stored(collection: Collection, names: Sequence[str]) -> tuple[Stored, ...]:
    """Runs as they are kept, for another process."""
    return tuple(collection.run(name).stored() for name in names)


def without_results(comparison: Comparison) -> Comparison:
    """The comparison without what it was made of, for another process to draw."""
    return replace(comparison, evaluation=None)
