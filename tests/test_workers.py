"""The pool of workers: what is tried again, what ends everything, what is left behind."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import Any

import pytest

from rankgauge.systems.hits import Failed
from rankgauge.systems.workers import Again, Done, Limits, Pool

QUICK = Limits(workers=3, timeout=0.2, retries=2, pause=0.01)


def run(
    work: Any, items: Any, limits: Limits = QUICK, **about: Any
) -> tuple[dict[Any, Done[Any, Any]], Pool[Any, Any]]:
    done: dict[Any, Done[Any, Any]] = {}
    pool: Pool[Any, Any] = Pool(limits, **about)
    pool.run(items, work, lambda each: done.update({each.item: each}))
    return done, pool


def test_what_may_pass_is_tried_again_and_what_is_final_is_not() -> None:
    tries: Counter[str] = Counter()

    def work(item: str) -> str:
        tries[item] += 1
        if item == "final":
            raise Failed("no")
        if item == "always" or (item == "once" and tries[item] == 1):
            raise Again("busy")
        return item.upper()

    done, pool = run(work, ["fine", "once", "always", "final"])
    assert tries == {"fine": 1, "once": 2, "always": 3, "final": 1}
    assert {item: (each.result, each.error, each.attempts) for item, each in done.items()} == {
        "fine": ("FINE", None, 1),
        "once": ("ONCE", None, 2),
        "always": (None, "busy", 3),
        "final": (None, "no", 1),
    }
    assert pool.stopped is None


def test_what_does_not_come_back_is_left_behind_and_the_others_go_on() -> None:
    held = threading.Event()
    done, _ = run(lambda item: held.wait(20) if item == 0 else item, range(5), QUICK._replace(workers=1))
    held.set()
    assert done[0].error == "no answer within 0.2 seconds; allow more: timeout = 1"
    assert [done[item].result for item in range(1, 5)] == [1, 2, 3, 4]


def test_an_error_of_ours_ends_everything_and_is_raised() -> None:
    kept: list[int] = []

    def keep(done: Done[int, int]) -> None:
        if len(kept) == 3:
            raise OSError("the disk is full")
        kept.append(done.item)

    pool: Pool[int, int] = Pool(QUICK._replace(workers=1))
    with pytest.raises(OSError, match="the disk is full"):
        pool.run(range(10), lambda item: item, keep)
    assert kept == [0, 1, 2]
    with pytest.raises(ZeroDivisionError):
        Pool[int, float](QUICK).run(range(10), lambda item: 1 / (item - 4), lambda done: None)


def test_an_item_is_kept_before_its_worker_takes_the_next() -> None:
    begun: list[int] = []
    ended: list[int] = []

    def keep(done: Done[int, None]) -> None:
        time.sleep(0.002)
        ended.append(done.item)

    def work(item: int) -> None:
        begun.append(item)
        assert len(begun) - len(ended) <= 3

    pool: Pool[int, None] = Pool(QUICK)
    pool.run(range(40), work, keep)
    assert sorted(ended) == list(range(40))


def test_failures_in_a_row_stop_and_one_answer_in_between_does_not() -> None:
    def work(item: int) -> int:
        if item % 5:
            raise Failed(f"no {item}")
        return item

    alone = QUICK._replace(workers=1)
    done, pool = run(work, range(40), alone, in_a_row=5)
    assert (len(done), pool.stopped) == (40, None)
    done, pool = run(work, range(1, 40), alone, in_a_row=4)
    assert (len(done), pool.stopped) == (4, "4 failures in a row, the last: no 4")


def test_a_pause_that_is_too_long_stops_all() -> None:
    def work(item: int) -> int:
        raise Again("later", after=200)

    done, pool = run(work, range(10), QUICK._replace(workers=1))
    assert len(done) == 1
    assert pool.stopped == "later; run the same command again after 200 seconds"
