"""Work on large arrays in a few threads: numpy and polars let go of the interpreter while they compute."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import TypeVar

__all__ = ["in_threads"]

Task = TypeVar("Task")
Done = TypeVar("Done")

AT_ONCE = min(4, os.cpu_count() or 1)


def in_threads(work: Callable[[Task], Done], tasks: Iterable[Task]) -> list[Done]:
    """What the work makes of each task, in the order of the tasks; a few are done at a time."""
    waiting = list(tasks)
    if len(waiting) < 2 or AT_ONCE < 2:
        return [work(task) for task in waiting]
    from concurrent.futures import ThreadPoolExecutor  # not cheap to import, and little work never comes here

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(work, waiting))
