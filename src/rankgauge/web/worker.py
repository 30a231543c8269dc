"""What takes long, in one process beside the server, nicer than it, and once for each question.

A page is there first: what is not ready yet is `pending`, and whoever asks again later finds it.
"""

from __future__ import annotations

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from threading import Lock, Thread
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from rankgauge.errors import RankgaugeError
from rankgauge.web.faults import Fault, fault

__all__ = ["Later", "Worker"]

KEPT: Final = 64  # answers
NICER: Final = 10
WATCH: Final = 1.0  # seconds between two looks whether the server is still there


class Later(NamedTuple):
    """An argument that takes a while to make: a function of this process, and what it is called with."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()

    @property
    def value(self) -> Any:
        """The argument."""
        return self.function(*self.arguments)


class Ended(Fault):
    """The process ended before it answered."""


class Worker:
    """One process; it starts when it is first needed, and again if it should die."""

    def __init__(self) -> None:
        self.answers: OrderedDict[Hashable, Future[Any]] = OrderedDict()
        self.done: WeakKeyDictionary[Future[Any], tuple[Any, str]] = WeakKeyDictionary()
        self.lock = Lock()
        self.pool: ProcessPoolExecutor | None = None
        self.asking = ThreadPoolExecutor(1, "asking")  # makes the arguments, and waits

    def ask(self, key: Hashable, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """The answer to come, asked for once. The function is one of a module; its arguments are plain values, which
        can be pickled. One that is `Later` is computed where the question is new."""
        with self.lock:
            known = self.answers.get(key)
            if known is None or _is_broken(known):
                known = self.answers[key] = self.asking.submit(self._asked, function, *arguments)
            self.answers.move_to_end(key)
            while len(self.answers) > KEPT:
                self.answers.popitem(last=False)[1].cancel()
            return known

    def finished(self, answer: Future[Any], finish: Callable[[Any], Any]) -> tuple[Any, str]:
        """What is made of an answer that has come, made once; or None, and the sentence that says why not."""
        if answer not in self.done:
            try:
                self.done[answer] = finish(answer.result()), ""
            except RankgaugeError as error:
                self.done[answer] = None, str(error)
            except Exception as error:
                self.done[answer] = None, str(fault(error))
        return self.done[answer]

    def _asked(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Have the process answer; one that died is done without from now on. Every error has a sentence for pages."""
        pool = self._started()
        try:
            values = [each.value if isinstance(each, Later) else each for each in arguments]
            return pool.submit(function, *values).result()
        except RankgaugeError:
            raise
        except BrokenProcessPool as error:
            with self.lock:
                self.pool = None if self.pool is pool else self.pool
            raise Ended("the process that computes was terminated; load the page again") from error
        except Exception as error:
            raise fault(error) from error

    def _started(self) -> ProcessPoolExecutor:
        with self.lock:
            if self.pool is None:
                self.pool = ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=_begin)
            return self.pool

    def stop(self) -> None:
        """End the process, whatever it is doing."""
        self.asking.shutdown(wait=False, cancel_futures=True)
        with self.lock:
            pool, self.pool = self.pool, None
        if pool is not None:
            for process in [*getattr(pool, "_processes", {}).values()]:
                process.terminate()
            pool.shutdown(wait=True, cancel_futures=True)


def _is_broken(answer: Future[Any]) -> bool:
    return answer.cancelled() or (answer.done() and isinstance(answer.exception(), Ended))


def _begin() -> None:
    """The process leaves the cores to the server, and an interrupt to it, too; it ends when the server does."""
    import signal
    import warnings

    from rankgauge.errors import RankgaugeWarning

    os.nice(NICER)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore", RankgaugeWarning)  # notes are on the pages
    Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()


def _end_with(parent: int) -> None:
    """End when the process that started this one is gone, however it went."""
    while os.getppid() == parent:
        time.sleep(WATCH)
    os._exit(0)
