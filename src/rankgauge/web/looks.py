"""What who leads the judging looks at: agreement, disputes and the ledger, found by the worker from the store.

Labels come in all the time, so what was found is good for a while: whoever waits is not made to wait for ever.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import func, select

from rankgauge.store import schema
from rankgauge.web import jobs
from rankgauge.web.site import Answer

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgauge.store.project import Project
    from rankgauge.store.store import Store
    from rankgauge.web.worker import Worker

__all__ = ["Looks"]

FRESH: Final = 3.0  # seconds for which what was found is shown, whatever has come since
SELDOM: Final = 30.0  # seconds between two looks at what is open
MOST: Final = 200  # questions that are remembered
State = tuple[int, int, int]


class _Asked:
    """A question that was asked: in which state of the store, and when it was answered."""

    def __init__(self, state: State, future: Future[Any]) -> None:
        self.state, self.future, self.done = state, future, 0.0
        future.add_done_callback(self._answered)

    def _answered(self, _: Future[Any]) -> None:
        self.done = time.monotonic()

    def holds(self, state: State, fresh: float) -> bool:
        """Whether it answers: not too long ago, of the same state, or on its way."""
        if self.future.cancelled():
            return False
        return not self.future.done() or self.state == state or time.monotonic() - self.done < fresh


class Looks:
    """A project, and what was found in it of late."""

    def __init__(self, project: Project, store: Store, worker: Worker, fresh: float = FRESH) -> None:
        self.project, self.store, self.worker, self.fresh = project, store, worker, fresh
        self._asked: dict[Any, _Asked] = {}
        self._widths: dict[str, float | None] = {}
        self._lock = Lock()

    def agreement(self, task: str, judges: Sequence[str] = ()) -> Answer:
        """How well judges agree: all of them, or some."""
        return self._found(("agreement", task, *judges), jobs.agreed, task, [*judges])

    def ledger(self, task: str) -> Answer:
        """Every judge."""
        return self._found(("ledger", task), jobs.accounted, task)

    def disputes(self, task: str, measure: str, people: bool) -> Answer:
        """What is to be decided."""
        return self._found(("disputes", task, measure, people), jobs.disputed, task, measure, people)

    def last_disputes(self, task: str, measure: str, people: bool) -> Any:
        """What was found last, however long ago; None where nothing was."""
        with self._lock:
            known = self._asked.get(("disputes", task, measure, people))
        return Answer(known.future, self.worker).value if known is not None and not known.future.cancelled() else None

    def width(self, task: str) -> float | None:
        """What is open between the runs of a task, as it was found last; it is looked for seldom, and one at a time."""
        answer = self._found(("width", task), jobs.open_width, task, fresh=SELDOM if self.fresh else 0.0)
        if not answer.pending and not answer.problem:
            self._widths[task] = answer.value
        return self._widths.get(task)

    def _found(
        self, key: tuple[Any, ...], function: Callable[..., Any], *given: Any, fresh: float | None = None
    ) -> Answer:
        state = self.store.read(_state)
        with self._lock:
            known = self._asked.pop(key, None)
            if known is None or not known.holds(state, self.fresh if fresh is None else fresh):
                where = (str(self.project.folder.resolve()), dict(self.project.settings))
                known = _Asked(state, self.worker.ask(("look", *key, *state), function, where, *given, state[0]))
            self._asked[key] = known
            while len(self._asked) > MOST:
                self._asked.pop(next(iter(self._asked)))
        return Answer(known.future, self.worker)


def _state(connection: Connection) -> State:
    """The last judgment, the last run, and how many runs are whole: what is found depends on these."""
    run = schema.run.c
    last = connection.scalar(select(func.max(schema.judgment.c.judgment_id))) or 0
    whole = select(func.max(run.run_id), func.count()).where(run.state == "whole")
    newest, number = connection.execute(whole).one()
    return int(last), int(newest or 0), int(number)
