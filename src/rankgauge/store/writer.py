"""The one writer: threads hand in what is to be stored and wait; what has come in is stored as one transaction."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Final, TypeVar

from sqlalchemy import Connection, Engine

from rankgauge.store.engine import writing

__all__ = ["Batch", "Noting", "Within", "Writer"]

T = TypeVar("T")
TOGETHER: Final = 500  # jobs of one transaction
Job = Callable[[Connection], Any]


@dataclass(frozen=True)
class Batch:
    """A job that is done together with others of its kind: `work` takes what all of them hold and answers each."""

    work: Callable[[Connection, Sequence[Any]], Sequence[Any]]
    held: Any

    def __call__(self, connection: Connection) -> Any:
        return self.work(connection, [self.held])[0]


class Writer:
    """Jobs are functions of a connection; a job is done when its transaction is committed."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._jobs: queue.SimpleQueue[tuple[Job, Future[Any]] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="rankgauge-writer", daemon=True)
        self._thread.start()

    def submit(self, job: Callable[[Connection], T]) -> Future[T]:
        """Hand a job in; the future is done when the job is committed, or has its error."""
        future: Future[T] = Future()
        self._jobs.put((job, future))
        return future

    def write(self, job: Callable[[Connection], T]) -> T:
        """Hand a job in and wait until it is committed."""
        return self.submit(job).result()

    def close(self) -> None:
        """Store what has come in, then stop."""
        self._jobs.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (first := self._jobs.get()) is not None:
            jobs, ending = [first], False
            while len(jobs) < TOGETHER and not self._jobs.empty():
                more = self._jobs.get()
                if more is None:
                    ending = True
                    break
                jobs.append(more)
            self._together(jobs)
            if ending:
                return

    def _together(self, jobs: list[tuple[Job, Future[Any]]]) -> None:
        """One transaction for all; where one job fails, each gets its own, so that it fails alone."""
        try:
            with writing(self.engine) as connection:
                results = [*_done(connection, [job for job, _ in jobs])]
        except BaseException as error:
            if len(jobs) == 1:
                jobs[0][1].set_exception(error)
                return
            for job in jobs:
                self._together([job])
            return
        for (_, future), result in zip(jobs, results, strict=True):
            future.set_result(result)


def _done(connection: Connection, jobs: Sequence[Job]) -> Iterator[Any]:
    """What becomes of jobs, in their order; those of one kind that follow each other are done together."""
    for work, group in groupby(jobs, lambda job: job.work if isinstance(job, Batch) else None):
        if work is None:
            yield from (job(connection) for job in group)
        else:
            yield from work(connection, [job.held for job in group if isinstance(job, Batch)])


class Within:
    """What a job uses in place of the writer: whatever is written belongs to its own transaction."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    def write(self, job: Callable[[Connection], T]) -> T:
        """Do it now."""
        return job(self.connection)


class Noting:
    """A writer that has something noted with every job, in the job's own transaction."""

    def __init__(self, writer: Writer, note: Job) -> None:
        self.writer, self.note = writer, note

    def write(self, job: Callable[[Connection], T]) -> T:
        """Have the job done and noted, both or neither."""

        def noted(connection: Connection) -> T:
            done = job(connection)
            self.note(connection)
            return done

        return self.writer.write(noted)
