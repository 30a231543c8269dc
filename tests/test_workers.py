"""The pool of workers: what is tried again, what ends everything, what is left behind."""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import Any

import pytest

from chat_server import until
from rankgauge.errors import RankgaugeWarning
from rankgauge.systems.hits import Failed
from rankgauge.systems.workers import INTERRUPTED, Again, Busy, Done, Limits, Pool, Stop, _Places

QUICK = Limits(workers=3, timeout=60, retries=2, pause=0.01)


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
    limits = QUICK._replace(workers=1, timeout=0.5)
    done, _ = run(lambda item: held.wait() if item == 0 else item, range(5), limits)
    held.set()
    assert done[0].error == "no answer within 0.5 seconds; allow more: timeout = 2"
    assert [done[item].result for item in range(1, 5)] == [1, 2, 3, 4]


def test_whoever_comes_back_too_late_changes_nothing() -> None:
    """Its place and its item are another's by then."""
    kept: list[tuple[int, str | None]] = []
    held = threading.Event()
    first: list[threading.Thread] = []

    def work(item: int) -> None:
        if item == 0:
            first.append(threading.current_thread())
            held.wait()
        if item == 3:  # the first ends in the middle of the others
            held.set()
            first[0].join()

    pool: Pool[int, None] = Pool(QUICK._replace(workers=1, timeout=0.5, retries=0))
    pool.run(range(6), work, lambda each: kept.append((each.item, each.error)))
    assert not first[0].is_alive()
    assert [item for item, _ in kept] == [*range(6)]
    assert [error is None for _, error in kept] == [False, True, True, True, True, True]
    assert pool._places._taken == 0


def test_an_item_of_several_steps_may_take_as_long_for_each() -> None:
    quick = QUICK._replace(timeout=0.1)
    held = threading.Event()
    done, _ = run(lambda item: held.wait(), ["never"], quick, steps=2)
    held.set()
    assert done["never"].error == "no answer within 0.1 seconds; allow more: timeout = 1"
    done, _ = run(time.sleep, [0.9], quick, steps=30)  # of one step it would have been too long
    assert done[0.9].error is None


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


def test_what_holds_for_all_stops_all_and_is_nobodys_failure() -> None:
    tried: list[int] = []

    def work(item: int) -> int:
        tried.append(item)
        raise Stop("the key is wrong")

    done, pool = run(work, range(10), alone=True)
    assert (tried, done, pool.stopped) == ([0], {}, "the key is wrong")


def test_what_was_tried_before_all_was_stopped_is_kept() -> None:
    """It may have cost something."""
    errors: Any = iter([Again("broken off"), Stop("no quota")])

    def work(item: int) -> int:
        raise next(errors)

    done, pool = run(work, range(5), QUICK._replace(workers=1))
    assert (pool.stopped, {item: each[1:4] for item, each in done.items()}) == (
        "no quota",
        {0: (None, "broken off", 1)},
    )


def test_the_first_goes_alone_then_a_few_then_all() -> None:
    under_way: set[int] = set()
    numbers: list[int] = []
    first, all_of_them = threading.Event(), threading.Event()

    def work(item: int) -> None:
        assert item == 0 or first.is_set()
        under_way.add(item)
        numbers.append(len(under_way))
        if len(under_way) == 12:
            all_of_them.set()
        if item >= 20:
            all_of_them.wait(5)
        under_way.remove(item)
        if item == 0:
            first.set()

    _, pool = run(work, range(60), QUICK._replace(workers=12), alone=True)
    assert (max(numbers), pool.stopped) == (12, None)


class Crowd:
    """Something that takes only so many at once."""

    def __init__(self, most: int) -> None:
        self.most, self.now, self.calls, self.refused = most, 0, 0, 0
        self.lock = threading.Lock()

    def __call__(self, item: int) -> int:
        with self.lock:
            self.calls += 1
            if self.now >= self.most:
                self.refused += 1
                raise Busy("too many")
            self.now += 1
        time.sleep(0.01)
        with self.lock:
            self.now -= 1
        return item


def test_whoever_is_asked_too_much_at_once_is_asked_less_at_once() -> None:
    crowd = Crowd(8)
    done, pool = run(crowd, range(400), Limits(workers=32, retries=4, pause=0.01), alone=True)
    assert (len(done), {each.error for each in done.values()}, pool.stopped) == (400, {None}, None)
    assert crowd.refused <= 0.1 * crowd.calls


def test_places_are_halved_once_a_wave_and_grow_by_one_for_as_many_successes() -> None:
    places = _Places(16, 16)
    waves = [places.take(lambda: False) for _ in range(16)]
    for wave in waves:
        places.leave()
        places.halve(wave)
    assert places.number == 8
    for _ in range(7):
        places.grow()
    assert places.number == 8
    places.grow()
    assert places.number == 9
    for wave in range(1, 9):
        places.halve(wave)
    assert places.number == 1


def test_after_the_first_places_rise_with_every_success_until_there_are_too_many() -> None:
    places = _Places(1, 32)
    places.grow()
    assert places.number == 1
    places.open()
    assert places.number == 8
    for _ in range(8):
        places.grow()
    places.open()
    assert places.number == 16
    places.halve(places.take(lambda: False))
    places.grow()
    assert places.number == 8


def test_only_too_many_at_once_takes_places_away() -> None:
    def work(item: int) -> int:
        if item % 2:
            raise Again("broken")
        return item

    _, pool = run(work, range(12), QUICK._replace(workers=4))
    assert pool._places.number == 4


def test_no_attempt_is_made_while_a_server_has_asked_for_a_pause() -> None:
    asked: list[float] = []
    pool: Pool[int, int] = Pool(QUICK._replace(workers=4, per_second=1.0))
    errors: list[str | None] = []

    def work(item: int) -> int:
        asked.append(time.monotonic())
        if len(asked) == 1:
            mine = pool._slot
            until(lambda: pool._slot > mine)  # the other waits for its turn, in a second
            raise Busy("later", after=1.2)
        return item

    pool.run(range(2), work, lambda each: errors.append(each.error))
    assert errors == [None, None]
    assert asked[1] - asked[0] >= 1.2


def test_an_interruption_ends_the_asking_and_keeps_what_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()
    pool: Pool[int, int] = Pool(QUICK)
    done: dict[int, Done[int, int]] = {}

    def work(item: int) -> int:
        begun.set()
        while pool.stopped is None:
            time.sleep(0.005)
        return item

    def wait_for(workers: Any) -> None:
        monkeypatch.undo()
        begun.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr("rankgauge.systems.workers._wait_for", wait_for)
    with pytest.warns(RankgaugeWarning, match="Ctrl-C again stops at once"):
        pool.run(range(100), work, lambda each: done.update({each.item: each}))
    assert pool.stopped == INTERRUPTED
    assert 1 <= len(done) <= 3
    assert all(each.result == item for item, each in done.items())


def test_an_interruption_does_not_wait_for_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()

    def work(item: int) -> int:
        begun.set()
        raise Again("later", after=60) if item % 2 else Again("broken")

    def wait_for(workers: Any) -> None:
        monkeypatch.undo()
        begun.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr("rankgauge.systems.workers._wait_for", wait_for)
    began = time.monotonic()
    with pytest.warns(RankgaugeWarning):
        done, _ = run(work, range(100), QUICK._replace(pause=60))
    assert time.monotonic() - began < 50
    assert {each.error for each in done.values()} <= {"later", "broken"}
