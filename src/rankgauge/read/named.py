"""Runs by name, as the command line has them: a mapping from names, results, or paths, which are named by their stem.

A path's name is the one given (NAME=FILE), the file's without its suffixes, or its whole path if that is taken.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence, Sized
from itertools import islice
from typing import Any, Final, TypeAlias

from rankgauge.errors import InputError
from rankgauge.read.formats import bare_name
from rankgauge.read.memory import is_columns, is_of_query
from rankgauge.read.part_files import part_files
from rankgauge.read.readers import RecordSource
from rankgauge.read.records import Record
from rankgauge.shown import Shown

__all__ = ["Runs", "named", "named_one", "named_paths", "split_name"]

Runs: TypeAlias = Mapping[str, Any] | Sequence[Any] | str | os.PathLike[str]
LOOKED_AT: Final = 100  # entries of a mapping, to tell queries from names; whoever reads it looks at every one


def named(given: Any, what: str = "systems", alone: str | None = None) -> dict[Any, Any]:
    """Name → what bears it: those of a mapping, or paths, results and records, alone or in a list, by their own names.

    `alone` is the name of a single one that has none; without it, what has no name is refused.
    """
    if isinstance(given, Mapping) and not _is_single(given, what):
        return {name if isinstance(name, tuple) else str(name): each for name, each in given.items()}
    several = list(given) if isinstance(given, (list, tuple)) else [given]
    if several and None not in map(_own_name, several):
        return _by_own_names(several)
    if alone is not None and given is not None and not (isinstance(given, list | tuple) and not given):
        return {alone: given}
    got = "nothing" if given is None or not several else f"a {type(given).__name__} without names"
    raise InputError(f"name the {what}: {{'a': run, 'b': run}}, or a list of paths or of results; got {got}")


def named_one(given: Any, name: str = "") -> tuple[str, Any]:
    """The name of one run, and the run: as given, that of a mapping with one entry, or its own."""
    if type(given) is dict and _is_single(given, "run"):  # as nearly always in a loop, and soon known
        return name, given
    found = named(given, "run", alone=name)
    if not found:
        raise InputError("the run is empty; expected query → document → score, such as {'q1': {'d1': 0.5}}")
    if len(found) > 1:
        raise InputError(f"expected one run, got {len(found)}: {', '.join(map(str, found))}")
    ((own, run),) = found.items()
    return name or own, run


def _is_single(given: Mapping[Any, Any], what: str) -> bool:
    """Whether a mapping is a run or a result by itself, and not names of several."""
    if isinstance(given, Shown):
        return hasattr(given, "name")
    if is_columns(given, what):
        return True
    some = False
    for each in islice(given.values(), LOOKED_AT):
        if (type(each) is dict or isinstance(each, Sized)) and not len(each):  # a dict is soon told from others
            continue
        if not is_of_query(each) or isinstance(each, Shown):
            return False
        some = True
    return some


def _own_name(source: Any) -> str | None:
    """The name that something has by itself: a path's stem, a result's name, that of where a record was read from."""
    if type(source) is dict:
        return None  # as nearly always in a loop, and soon known
    if isinstance(source, str | os.PathLike):
        argument = os.fsdecode(source)
        return split_name(argument)[0] or bare_name(argument) or argument
    if isinstance(source, RecordSource):
        return _own_name(source.origin)
    if isinstance(source, Record):
        return bare_name(source.source)
    own = getattr(source, "name", None) if isinstance(source, Shown) or hasattr(source, "to_dict") else None
    return own if isinstance(own, str) and own else None


def _by_own_names(several: Sequence[Any]) -> dict[str, Any]:
    if all(isinstance(each, str | os.PathLike) for each in several):
        return dict(named_paths(map(os.fsdecode, several)))
    names = [str(_own_name(each)) for each in several]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError(f"two are named {twice!r}; give each system a name: {{'a': …, 'b': …}}")
    return dict(zip(names, several, strict=True))


def named_paths(arguments: Iterable[str]) -> dict[str, str]:
    """Name → path: the name given (NAME=RUN), the file's without its suffixes, or its whole path if that is taken."""
    listed = list(arguments)
    pairs = [_name_and_path(argument) for argument in listed]
    names = [name for name, _ in pairs]
    given = {name for (name, path), argument in zip(pairs, listed, strict=True) if path != argument}
    found: dict[str, str] = {}
    for name, path in pairs:
        if names.count(name) > 1 and name in given:
            raise InputError(f"two runs are named {name}; give each a name of its own")
        unique = name if names.count(name) == 1 else path
        if unique in found:
            raise InputError(f"{path} is given twice; name them apart: A={path} B={path}")
        found[unique] = path
    return found


def _name_and_path(argument: str) -> tuple[str, str]:
    name, path = split_name(argument)
    return name or (path[1:] if path.startswith("@") else bare_name(argument)) or argument, path


def split_name(argument: str) -> tuple[str | None, str]:
    """NAME=FILE → both; a file alone has no name."""
    name, equals, path = argument.partition("=")
    given = equals and path and os.sep not in name and not os.path.exists(argument) and not part_files(argument)
    return (name, path) if given else (None, argument)
