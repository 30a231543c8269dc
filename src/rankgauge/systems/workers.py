"""The one pool of threads for whatever is asked of others: searching, reranking, judging.

Workers take one item after another. What may pass (a busy server, a broken connection) is tried again after a pause
that doubles; a server that asks for a pause gets it from all workers. What does not come back in time is left behind.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, Final, Generic, NamedTuple, TypeVar

from rankgauge.systems.hits import Failed

__all__ = ["Again", "Done", "Limits", "Pool", "TimedOut"]

T = TypeVar("T")
R = TypeVar("R")
IN_A_ROW: Final = 20  # failures, after which there is no use in going on
LONGEST_PAUSE: Final = 120.0  # seconds that a server may ask for; the user is told of a longer one instead
GRACE: Final = 0.5  # seconds beyond the time limit, in which whoever works may give up by itself


class Again(Failed):
    """What may pass: worth another attempt. `after`: the seconds that the server asks for, of all workers."""

    def __init__(self, words: str, after: float | None = None) -> None:
        super().__init__(words)
        self.after = after


class TimedOut(Failed):
    """No answer in time."""


class Limits(NamedTuple):
    """How hard others may be worked: how many at once, how long an answer may take, how often to try again."""

    workers: int = 4
    timeout: float = 30.0
    retries: int = 3
    pause: float = 0.5
    per_second: float | None = None
    largest: int = 64 * 10**6


class Done(NamedTuple, Generic[T, R]):
    """What became of an item: its result, or an error."""

    item: T
    result: R | None
    error: str | None
    attempts: int
    milliseconds: float


class Pool(Generic[T, R]):
    """Works items off; `stopped` says why some were not tried."""

    def __init__(self, limits: Limits, in_a_row: int = IN_A_ROW, longest_pause: float = LONGEST_PAUSE) -> None:
        self.limits, self.in_a_row, self.longest_pause = limits, in_a_row, longest_pause
        self.stopped: str | None = None
        self._lock = threading.Lock()
        self._failures = 0
        self._resume = self._slot = 0.0
        self._broken: BaseException | None = None

    def run(self, items: Sequence[T], work: Callable[[T], R], keep: Callable[[Done[T, R]], Any]) -> None:
        """Do the work of all items; what becomes of each is handed to `keep` before its worker takes the next.

        `keep` is called by several threads at once; what it raises ends everything and is raised here.
        """
        left = iter(items)
        workers = [
            threading.Thread(target=self._work, args=(left, work, keep), daemon=True)
            for _ in range(min(self.limits.workers, len(items)))
        ]
        for worker in workers:
            worker.start()
        try:
            for worker in workers:
                while worker.is_alive():
                    worker.join(0.1)  # in bites, so that Ctrl-C is heard
        except BaseException:
            self.stopped = "interrupted"
            raise
        if self._broken is not None:
            raise self._broken

    def _work(self, left: Iterator[T], work: Callable[[T], R], keep: Callable[[Done[T, R]], Any]) -> None:
        hand: _Hand[T, R] = _Hand(work)
        while self.stopped is None:
            with self._lock:
                try:
                    item = next(left)
                except StopIteration:
                    break
            try:
                hand, done = self._done(hand, item)
                if done is not None:
                    keep(done)
                    self._count(done.error)
            except BaseException as error:
                self._broken, self.stopped = error, "broken"
        hand.release()

    def _done(self, hand: _Hand[T, R], item: T) -> tuple[_Hand[T, R], Done[T, R] | None]:
        """Try an item until there is an answer, or no use in another attempt; None where there was none at all."""
        error, milliseconds = "", 0.0
        for attempt in range(1, self.limits.retries + 2):
            self._wait()
            if self.stopped is not None:
                return hand, Done(item, None, error, attempt - 1, milliseconds) if attempt > 1 else None
            began = time.perf_counter()
            try:
                result = hand.do(item, self.limits.timeout + GRACE)
            except TimeoutError:
                hand = _Hand(hand.work)
                words = f"no answer within {self.limits.timeout:g} seconds; allow more: timeout = {{seconds}}"
                return hand, Done(item, None, words.format(seconds=round(self.limits.timeout * 2 + 1)), attempt, 0.0)
            except Again as passing:
                error, milliseconds = str(passing), _since(began)
                self._pause(attempt, passing)
            except Failed as final:
                return hand, Done(item, None, str(final), attempt, _since(began))
            else:
                return hand, Done(item, result, None, attempt, _since(began))
        return hand, Done(item, None, error, self.limits.retries + 1, milliseconds)

    def _wait(self) -> None:
        """Until the pause of all is over, and the rate allows one more."""
        with self._lock:
            at = max(time.monotonic(), self._resume, self._slot)
            if self.limits.per_second is not None:
                self._slot = at + 1.0 / self.limits.per_second
        while (left := at - time.monotonic()) > 0 and self.stopped is None:
            time.sleep(min(left, 0.1))

    def _pause(self, attempt: int, why: Again) -> None:
        """Wait a while before the next attempt: all of us, where the server says how long."""
        if why.after is not None:
            if why.after > self.longest_pause:
                self.stopped = f"{why}; run the same command again after {why.after:,.0f} seconds"
            else:
                with self._lock:
                    self._resume = max(self._resume, time.monotonic() + why.after)
        elif attempt <= self.limits.retries:
            time.sleep(self.limits.pause * 2 ** (attempt - 1) * random.uniform(0.75, 1.25))

    def _count(self, error: str | None) -> None:
        with self._lock:
            self._failures = 0 if error is None else self._failures + 1
            if self._failures >= self.in_a_row and self.stopped is None:
                self.stopped = f"{self.in_a_row} failures in a row, the last: {error}"


class _Hand(Generic[T, R]):
    """A thread that does one thing after another, and can be left behind where it does not come back."""

    def __init__(self, work: Callable[[T], R]) -> None:
        self.work = work
        self._tasks: SimpleQueue[tuple[T, Future[R]] | None] = SimpleQueue()
        threading.Thread(target=self._loop, daemon=True).start()

    def do(self, item: T, seconds: float) -> R:
        future: Future[R] = Future()
        self._tasks.put((item, future))
        try:
            return future.result(seconds)
        except TimeoutError:
            if future.done():  # the work itself raised it
                raise Failed("no answer in time") from None
            self.release()
            raise

    def release(self) -> None:
        """End after what is being done."""
        self._tasks.put(None)

    def _loop(self) -> None:
        while (task := self._tasks.get()) is not None:
            item, future = task
            try:
                future.set_result(self.work(item))
            except BaseException as error:
                future.set_exception(error)


def _since(began: float) -> float:
    return (time.perf_counter() - began) * 1000.0
