"""The one pool of threads for whatever is asked of others: searching, reranking, judging.

Workers take one item after another. What may pass (a busy server, a broken connection) is tried again after a pause
that doubles; a server that asks for a pause gets it from all workers, and one that is asked too much at once is asked
less at once. What does not come back in time is left behind.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any, Final, Generic, NamedTuple, TypeVar

from rankgauge.errors import warn
from rankgauge.systems.hits import Failed

__all__ = ["INTERRUPTED", "Again", "Busy", "Done", "Limits", "Pool", "Stop", "TimedOut"]

T = TypeVar("T")
R = TypeVar("R")
IN_A_ROW: Final = 20  # failures, after which there is no use in going on
LONGEST_PAUSE: Final = 120.0  # seconds that a server may ask for; the user is told of a longer one instead
GRACE: Final = 0.5  # seconds beyond the time limit, in which whoever works may give up by itself
FEW: Final = 8  # that follow the first, where it goes alone
INTERRUPTED: Final = "interrupted"  # why a pool stopped: Ctrl-C


class Again(Failed):
    """What may pass: worth another attempt. `after`: the seconds that the server asks for, of all workers."""

    def __init__(self, words: str, after: float | None = None) -> None:
        super().__init__(words)
        self.after = after


class Busy(Again):
    """Too much at once: worth another attempt, with less at once."""


class Stop(Failed):
    """What holds for every other item, too (a wrong key, no quota): nothing more is tried."""


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
    """Works items off; `stopped` says why some were not tried.

    `alone`: the first item goes alone, so that what it shows (a wrong key, what a server cannot do) costs once.
    `steps`: what takes as long as an answer may, and is done for an item one after another.
    """

    def __init__(
        self,
        limits: Limits,
        in_a_row: int = IN_A_ROW,
        longest_pause: float = LONGEST_PAUSE,
        *,
        alone: bool = False,
        steps: int = 1,
    ) -> None:
        self.limits, self.in_a_row, self.longest_pause, self.steps = limits, in_a_row, longest_pause, steps
        self.stopped: str | None = None
        self._lock = threading.Lock()
        self._places = _Places(1 if alone else limits.workers, limits.workers)
        self._failures = 0
        self._resume = self._slot = 0.0
        self._broken: BaseException | None = None

    def run(self, items: Sequence[T], work: Callable[[T], R], keep: Callable[[Done[T, R]], Any]) -> None:
        """Do the work of all items; what becomes of each is handed to `keep` before its worker takes the next.

        `keep` is called by several threads at once; what it raises ends everything and is raised here. Ctrl-C ends the
        asking (`stopped` is INTERRUPTED); what is under way is waited for and kept, unless there is a second one.
        """
        left, ended = iter(items), [threading.Event() for _ in range(min(self.limits.workers, len(items)))]
        for each in ended:
            threading.Thread(target=self._work, args=(left, work, keep, each), daemon=True).start()
        try:
            _wait_for(ended)
        except BaseException as error:
            self.stopped = self.stopped or INTERRUPTED
            if not isinstance(error, KeyboardInterrupt):
                raise
            warn("interrupted: nothing more is asked, what is under way is waited for; Ctrl-C again stops at once")
            _wait_for(ended)
        if self._broken is not None:
            raise self._broken

    def _work(
        self, left: Iterator[T], work: Callable[[T], R], keep: Callable[[Done[T, R]], Any], ended: threading.Event
    ) -> None:
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
                self._places.open()
            except BaseException as error:
                self._broken, self.stopped = error, "broken"
        hand.release()
        ended.set()

    def _done(self, hand: _Hand[T, R], item: T) -> tuple[_Hand[T, R], Done[T, R] | None]:
        """Try an item until there is an answer, or no use in another attempt; None where there was none at all."""
        error, milliseconds = "", 0.0
        for attempt in range(1, self.limits.retries + 2):
            with self._place() as wave:
                if self.stopped is not None:
                    return hand, _tried(item, error, attempt - 1, milliseconds)
                began = time.perf_counter()
                try:
                    result = hand.do(item, self.limits.timeout * self.steps + GRACE)
                except TimeoutError:
                    words = f"no answer within {self.limits.timeout:g} seconds; allow more: timeout = "
                    words += f"{self.limits.timeout * 2 + 1:.0f}"
                    return _Hand(hand.work), Done(item, None, words, attempt, 0.0)
                except Again as passing:
                    error, milliseconds, why = str(passing), _since(began), passing
                    if isinstance(passing, Busy):
                        self._places.halve(wave)
                except Stop as fatal:
                    self.stopped = str(fatal)
                    return hand, _tried(item, error, attempt - 1, milliseconds)
                except Failed as final:
                    return hand, Done(item, None, str(final), attempt, _since(began))
                else:
                    self._places.grow()
                    return hand, Done(item, result, None, attempt, _since(began))
            self._pause(attempt, why)
        return hand, Done(item, None, error, self.limits.retries + 1, milliseconds)

    @contextmanager
    def _place(self) -> Iterator[int]:
        """A place among those under way, when the pause of all is over and the rate allows one more."""
        wave = self._places.take(lambda: self.stopped is not None)
        try:
            with self._lock:
                at = max(time.monotonic(), self._resume, self._slot)
                if self.limits.per_second is not None:
                    self._slot = at + 1.0 / self.limits.per_second
            self._sleep(lambda: max(at, self._resume))
            yield wave
        finally:
            self._places.leave()

    def _pause(self, attempt: int, why: Again) -> None:
        """Wait a while before the next attempt: all of us, where the server says how long."""
        if why.after is not None:
            if why.after > self.longest_pause:
                self.stopped = f"{why}; run the same command again after {why.after:,.0f} seconds"
            else:
                with self._lock:
                    self._resume = max(self._resume, time.monotonic() + why.after)
        elif attempt <= self.limits.retries:
            at = time.monotonic() + self.limits.pause * 2 ** (attempt - 1) * random.uniform(0.75, 1.25)
            self._sleep(lambda: at)

    def _sleep(self, until: Callable[[], float]) -> None:
        """Until a time, which may move; no longer than we go on."""
        while self.stopped is None and (left := until() - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))

    def _count(self, error: str | None) -> None:
        with self._lock:
            self._failures = 0 if error is None else self._failures + 1
            if self._failures >= self.in_a_row and self.stopped is None:
                self.stopped = f"{self.in_a_row} failures in a row, the last: {error}"


def _wait_for(ended: Sequence[threading.Event]) -> None:
    """Not by `join`: a thread whose join was interrupted counts as ended in Python 3.11."""
    for each in ended:
        while not each.wait(0.1):  # in bites, so that Ctrl-C is heard
            pass


class _Places:
    """How many may be under way at once: half as many after a wave of refusals, one more after as many successes.

    Where the first goes alone a few follow, and then one more after every success until there is a refusal: what a
    server takes is not known, and a crowd of refusals is how not to find it out.
    """

    def __init__(self, number: int, most: int) -> None:
        self.number, self.most = number, most
        self._alone = self._rising = number < most
        self._taken = self._successes = self._wave = 0
        self._changed = threading.Condition()

    def take(self, stopped: Callable[[], bool]) -> int:
        """Wait for a place; the wave in which it is taken."""
        with self._changed:
            while self._taken >= self.number and not stopped():
                self._changed.wait(0.1)
            self._taken += 1
            return self._wave

    def leave(self) -> None:
        with self._changed:
            self._taken -= 1
            self._changed.notify()

    def open(self) -> None:
        """The first item is done: others may follow."""
        with self._changed:
            if self._alone:
                self._alone, self.number = False, min(FEW, self.most)
                self._changed.notify_all()

    def halve(self, wave: int) -> None:
        """Once a wave: what was under way when it was halved is refused because of the number before."""
        with self._changed:
            if wave == self._wave:
                self.number, self._wave, self._successes = max(1, self.number // 2), wave + 1, 0
                self._rising = False

    def grow(self) -> None:
        """One more place, after as many successes as there are."""
        with self._changed:
            self._successes += 1
            if not self._alone and (self._rising or self._successes >= self.number):
                self.number, self._successes = min(self.most, self.number + 1), 0
                self._changed.notify()


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


def _tried(item: T, error: str, attempts: int, milliseconds: float) -> Done[T, Any] | None:
    """What became of an item that is not tried again; nothing where it never was."""
    return Done(item, None, error, attempts, milliseconds) if attempts else None


def _since(began: float) -> float:
    return (time.perf_counter() - began) * 1000.0
