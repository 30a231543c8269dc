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
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, Generic, NamedTuple, TypeVar

from rankgauge.errors import warn
from rankgauge.systems.hits import Failed

__all__ = ["INTERRUPTED", "IN_A_ROW", "Again", "Busy", "Done", "Limits", "Pool", "Stop", "TimedOut", "left_behind"]

T = TypeVar("T")
R = TypeVar("R")
IN_A_ROW: Final = 20  # failures, after which there is no use in going on
LONGEST_PAUSE: Final = 120.0  # seconds that a server may ask for; the user is told of a longer one instead
GRACE: Final = 0.5  # seconds beyond the time limit, in which whoever works may give up by itself
FEW: Final = 8  # that follow the first, where it goes alone
INTERRUPTED: Final = "interrupted"  # why a pool stopped: Ctrl-C
WORKER: Final = "rankgauge-worker"  # the name of every thread of a pool


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
        sit = partial(self._work, iter(items), keep)
        seats = [_Seat(work, sit) for _ in range(min(self.limits.workers, len(items)))]
        try:
            _wait_for(seats)
        except BaseException as error:
            self.stopped = self.stopped or INTERRUPTED
            if not isinstance(error, KeyboardInterrupt):
                raise
            warn("interrupted: nothing more is asked, what is under way is waited for; Ctrl-C again stops at once")
            _wait_for(seats)
        if self._broken is not None:
            raise self._broken

    def _work(
        self, left: Iterator[T], keep: Callable[[Done[T, R]], Any], seat: _Seat[T, R], late: tuple[T, int] | None
    ) -> None:
        """The work of a thread on its seat; it begins with what the one before it did not come back from."""
        try:
            if late is not None:
                self._places.leave()
                self._settle(self._too_late(*late), keep)
            while self.stopped is None:
                with self._lock:
                    try:
                        item = next(left)
                    except StopIteration:
                        break
                self._settle(self._done(seat, item), keep)
        except _LeftBehind:
            return
        except BaseException as error:
            self._broken, self.stopped = error, "broken"
        seat.ended.set()

    def _settle(self, done: Done[T, R] | None, keep: Callable[[Done[T, R]], Any]) -> None:
        if done is not None:
            keep(done)
            self._count(done.error)
        self._places.open()

    def _too_late(self, item: T, attempt: int) -> Done[T, R]:
        words = f"no answer within {self.limits.timeout:g} seconds; allow more: timeout = "
        return Done(item, None, f"{words}{self.limits.timeout * 2 + 1:.0f}", attempt, 0.0)

    def _done(self, seat: _Seat[T, R], item: T) -> Done[T, R] | None:
        """Try an item until there is an answer, or no use in another attempt; None where there was none at all."""
        error, milliseconds = "", 0.0
        for attempt in range(1, self.limits.retries + 2):
            with self._place() as wave:
                if self.stopped is not None:
                    return _tried(item, error, attempt - 1, milliseconds)
                began = time.perf_counter()
                try:
                    result = seat.do(item, attempt, self.limits.timeout * self.steps + GRACE)
                except Again as passing:
                    error, milliseconds, why = str(passing), _since(began), passing
                    if isinstance(passing, Busy):
                        self._places.halve(wave)
                except Stop as fatal:
                    self.stopped = str(fatal)
                    return _tried(item, error, attempt - 1, milliseconds)
                except Failed as final:
                    return Done(item, None, str(final), attempt, _since(began))
                else:
                    self._places.grow()
                    return Done(item, result, None, attempt, _since(began))
            self._pause(attempt, why)
        return Done(item, None, error, self.limits.retries + 1, milliseconds)

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
        except _LeftBehind:  # whoever sits here now has given it back
            raise
        except BaseException:
            self._places.leave()
            raise
        else:
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


def _wait_for(seats: Sequence[_Seat[Any, Any]]) -> None:
    """Until all have ended; meanwhile whoever takes too long is relieved.

    Not by `join`: a thread whose join was interrupted counts as ended in Python 3.11.
    """
    for seat in seats:
        while not seat.ended.wait(0.1):  # in bites, so that Ctrl-C is heard
            for each in seats:
                each.relieve()


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


class _LeftBehind(BaseException):
    """For a thread that took too long: another has its seat."""


class _Seat(Generic[T, R]):
    """Where a thread does one thing after another; where it does not come back in time, another takes its seat.

    The thread that asks is the one that keeps: an answer does not wait for a second thread to wake up.
    """

    def __init__(self, work: Callable[[T], R], sit: Callable[[_Seat[T, R], tuple[T, int] | None], None]) -> None:
        self.ended = threading.Event()
        self._do, self._sit = work, sit
        self._lock = threading.Lock()
        self._under_way: tuple[float, T, int] | None = None
        self._fill(None)

    def do(self, item: T, attempt: int, seconds: float) -> R:
        """The work of an item; after so many seconds, `relieve` leaves whoever does it behind."""
        mine = self._under_way = (time.monotonic() + seconds, item, attempt)
        try:
            return self._do(item)
        except TimeoutError:
            raise Failed("no answer in time") from None
        finally:
            with self._lock:
                if self._under_way is not mine:
                    raise _LeftBehind
                self._under_way = None

    def relieve(self) -> None:
        """Where the work takes too long, another sits down, and begins with that."""
        with self._lock:
            if self._under_way is None or time.monotonic() < self._under_way[0]:
                return
            _, item, attempt = self._under_way
            self._under_way = None
        self._fill((item, attempt))

    def _fill(self, late: tuple[T, int] | None) -> None:
        threading.Thread(target=self._sit, args=(self, late), name=WORKER, daemon=True).start()


def left_behind() -> bool:
    """Return whether a worker is still busy: after a pool's end, one that timed out and may never come back."""
    return any(each.name == WORKER for each in threading.enumerate())


def _tried(item: T, error: str, attempts: int, milliseconds: float) -> Done[T, Any] | None:
    """What became of an item that is not tried again; nothing where it never was."""
    return Done(item, None, error, attempts, milliseconds) if attempts else None


def _since(began: float) -> float:
    return (time.perf_counter() - began) * 1000.0
