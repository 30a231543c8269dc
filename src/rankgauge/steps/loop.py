"""The loop: sample → search → pool → judge → evaluate → compare → report, each step done once for its inputs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from rankgauge.errors import InputError, choices, unknown
from rankgauge.steps.looped import Looped, Progress, Step
from rankgauge.store.project import FILE, Project

__all__ = ["STEPS", "loop", "plan_loop"]

STEPS: Final = ("sample", "search", "pool", "judge", "evaluate", "compare", "report")
Told = Callable[[Step], None]


def loop(
    folder: str | os.PathLike[str] = ".",
    *,
    until: str | None = None,
    start: str | None = None,
    only: str | None = None,
    again: str | Iterable[str] = (),
    told: Told | None = None,
    progress: Progress | None = None,
) -> Looped:
    """Do the steps that a project's rankgauge.toml describes, or go on where they stopped.

    `folder` is the project's, or its file. `until` ends after a step, `start` begins with one, `only` does one alone;
    what comes before is taken as it is stored. A step whose inputs have not changed is not done again. `again` names
    systems whose answers may have changed, or is "all": they are asked again, and what reranks them. `told` is called
    with every step when it is done, `progress` with the name of a system or a judge, how many it answered, of how many,
    and how many failed.
    """
    wanted, names, project = _wanted(until, start, only), _names(again), _project(folder)
    if names and "search" not in wanted:
        words = (
            "the step search is left out, so nothing can be asked again; drop --again, or --until, --from and --only"
        )
        raise InputError(words)
    from rankgauge.steps.settings import read_settings
    from rankgauge.steps.work import opened_work

    settings = read_settings(project)
    with opened_work(settings, progress, settings.named(names)) as work:
        for name in wanted:
            step = getattr(work, f"do_{name}")()
            work.steps.append(step)
            if told is not None:
                told(step)
        return work.looped()


def plan_loop(folder: str | os.PathLike[str] = ".", *, again: str | Iterable[str] = ()) -> list[Step]:
    """What each step would do and why, or why there is nothing to do; nothing is asked, sent or stored.

    `again` is that of `loop`.
    """
    from rankgauge.steps.planned import planned
    from rankgauge.steps.settings import read_settings

    settings = read_settings(_project(folder))
    return [*planned(settings, settings.named(_names(again)))]


def _names(again: str | Iterable[str]) -> list[str]:
    return [again] if isinstance(again, str) else [*again]


def _project(folder: str | os.PathLike[str]) -> Project:
    path = Path(folder)
    if path.is_file() and path.name != FILE:
        raise InputError(f"{path}: the file of a project is called {FILE}; name it so, or its folder")
    where = path.parent if path.is_file() else path
    if not (where / FILE).is_file():
        raise InputError(f"{where}: is no project, it has no {FILE}; make one: rankgauge init --example {where}")
    return Project(where)


def _wanted(until: str | None, start: str | None, only: str | None) -> tuple[str, ...]:
    for name in (until, start, only):
        if name is not None and name not in STEPS:
            raise InputError(unknown(f"there is no step {name!r}", name, STEPS, f"there are {choices(STEPS)}"))
    if only is not None:
        return (only,)
    first = 0 if start is None else STEPS.index(start)
    last = len(STEPS) if until is None else STEPS.index(until) + 1
    if last <= first:
        raise InputError(f"{start} comes after {until}; the steps are {', '.join(STEPS)}")
    return STEPS[first:last]
