"""A system that is a function: `f(query, k)`, or with `batch` `f(queries, k)`."""

from __future__ import annotations

import importlib
import inspect
import itertools
import os
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from rankgauge.errors import InputError, unknown
from rankgauge.read.rows import shortened
from rankgauge.systems.hits import Asked, Failed, Hit, hit_of, plain_hits

if TYPE_CHECKING:
    from pathlib import Path

    from rankgauge.store.project import Project
    from rankgauge.systems.config import Config

__all__ = ["Call", "called", "embed_of", "function_of", "sources_of"]

IDS = ("id", "doc_id", "docid", "_id")
SCORES = ("score", "_score")
FEW = 32  # queries at once, where a batch has no size


class Configured(Protocol):
    """Where a table was found, and the folder that its paths start from."""

    @property
    def where(self) -> str:
        """For messages."""

    @property
    def folder(self) -> Path:
        """The project's folder."""

    @property
    def table(self) -> Mapping[str, Any]:
        """What it says."""


class Call:
    """A function in a module that can be imported from the project's folder or the current one."""

    def __init__(self, config: Config, project: Project | None) -> None:
        self.function = function_of(config.table["call"], config)
        size = config.table.get("batch", 1)
        self.several = "batch" in config.table
        self.batch = FEW if size is True else size

    def ask(self, asked: Sequence[Asked], k: int) -> Sequence[Iterable[Hit]]:
        """What the function returns: ids, (id, score), or dicts."""
        if not self.several:
            return [hits_in(called(self.function, asked[0].text, k))]
        answers = called(self.function, [each.text for each in asked], k)
        if not isinstance(answers, Sequence) or isinstance(answers, (str, bytes)) or len(answers) != len(asked):
            raise Failed(f"the function returned {_shown(answers)}; expected a list of {len(asked)} answers")
        return [hits_in(each) for each in answers]

    def close(self) -> None:
        """Nothing is open."""


def function_of(name: str, config: Configured) -> Callable[..., Any]:
    """The function that `module:function` names; what goes wrong in the module is the user's to mend."""
    module, _, attribute = name.partition(":")
    here = config.folder.resolve()
    sys.path[:] = [*dict.fromkeys([os.fspath(here), os.getcwd(), *sys.path])]
    known = getattr(sys.modules.get(module), "__file__", None)
    if known is not None and (own := here / f"{module}.py").is_file() and not own.samefile(known):
        del sys.modules[module]  # that of another project, of the same name
    try:
        found = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        words = f"{config.where}: {module!r} cannot be imported ({type(error).__name__}: {error})"
        hint = "" if not isinstance(error, ModuleNotFoundError) or error.name != module else ", or name another"
        raise InputError(f"{words}; mend it{hint}") from None
    function = getattr(found, attribute, None)
    if not callable(function):
        its = [each for each, value in vars(found).items() if getattr(value, "__module__", None) == module]
        there = [each for each in its if callable(getattr(found, each)) and not each.startswith("_")]
        words = f"{config.where}: {module} has no function {attribute!r}"
        raise InputError(unknown(words, attribute, there) if there else f"{words}; define it")
    return function  # type: ignore[no-any-return]


class Turns:
    """A function that at most so many threads call at once; others wait for their turn."""

    def __init__(self, function: Callable[..., Any], threads: int) -> None:
        self._function, self._turns = function, threading.Semaphore(threads)

    def __call__(self, *words: Any) -> Any:
        """Call it when there is a turn."""
        with self._turns:
            return self._function(*words)


def embed_of(config: Configured) -> Turns | None:
    """The function that makes vectors, where the table names one: the workers of a server share it."""
    if "embed" not in config.table:
        return None
    return Turns(function_of(config.table["embed"], config), config.table.get("threads", 1))


def sources_of(config: Configured) -> list[str]:
    """The code of the functions that a table names; nothing of one that has none to see."""
    found = []
    for key in sorted({"call", "embed"} & {*config.table}):
        with suppress(OSError, TypeError):
            found.append(inspect.getsource(function_of(config.table[key], config)))
    return found


def called(function: Callable[..., Any], *words: Any) -> Any:
    """What a function of the user's returns; that it raises is no answer, and says where."""
    try:
        return function(*words)
    except Failed:
        raise
    except (Exception, SystemExit) as error:
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = f" ({os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno})" if trace else ""
        raise Failed(f"the function raised {type(error).__name__}: {shortened(str(error))}{place}") from None


def hits_in(answer: Any) -> Iterable[Hit]:
    """What a function returned: an iterable of ids, of (id, score) or of dicts; or a dict of id → score."""
    if isinstance(answer, Mapping):
        return itertools.starmap(hit_of, answer.items())
    if answer is None or isinstance(answer, (str, bytes)) or not isinstance(answer, Iterable):
        raise Failed(f"the function returned {_shown(answer)}; expected a list of ids, (id, score) or dicts")
    listed = called(list, answer)
    return plain_hits(listed) or map(_hit, listed)


def _hit(given: Any) -> Hit:
    if isinstance(given, (tuple, list)):
        if len(given) != 2:
            raise Failed(f"a hit is {shortened(str(given))}; expected (id, score)")
        return hit_of(*given)
    if not isinstance(given, Mapping):
        return hit_of(given)
    doc = next((given[name] for name in IDS if name in given), None)
    if doc is None:
        raise Failed(f"a hit has no id among {', '.join(map(str, given))}; call it id")
    score = next((given[name] for name in SCORES if name in given), None)
    return hit_of(doc, score, {name: each for name, each in given.items() if name not in (*IDS, *SCORES)} or None)


def _shown(answer: Any) -> str:
    return "None" if answer is None else f"{shortened(str(answer))} ({type(answer).__name__})"
