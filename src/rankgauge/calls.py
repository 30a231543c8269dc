"""Calls of public functions with wrong arguments: an error that names the right one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final, ParamSpec, TypeVar

from rankgauge.errors import InputError, unknown
from rankgauge.protocol import Protocol

__all__ = ["ArgumentError", "checked"]

P = ParamSpec("P")
R = TypeVar("R")
# Another name → the arguments that it may mean.
SYNONYMS: Final = {
    **dict.fromkeys(("metrics", "metric", "measures", "measure"), ("measures", "measure")),
    **dict.fromkeys(("qrels", "qrel", "judgements", "ground_truth"), ("judgments", "judged")),
    **dict.fromkeys(("runs", "results", "predictions"), ("run", "runs")),
    "k": ("depth",),
}


class ArgumentError(InputError, TypeError):
    """A function that is called with arguments that it does not have, or without those that it needs."""


@functools.cache  # so that a name is one function
def checked(function: Callable[P, R], name: str) -> Callable[P, R]:
    """Return the public function of this name, with plain errors for wrong arguments."""

    @functools.wraps(function)
    def call(*given: P.args, **named: P.kwargs) -> R:
        try:
            return function(*given, **named)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # from inside the function
            why = _why(function, name, given, named)
            if why is None:
                raise
            raise ArgumentError(why) from None

    for each in {"cache_clear", "cache_info"} & {*dir(function)}:
        setattr(call, each, getattr(function, each))
    call.__module__, call.__qualname__ = "rankgauge", name
    return call


def _why(function: Callable[..., Any], name: str, given: tuple[Any, ...], named: Mapping[str, Any]) -> str | None:
    """What is wrong with the arguments; None where nothing is."""
    parameters = inspect.signature(function).parameters
    places = [each.name for each in parameters.values() if each.kind is not each.KEYWORD_ONLY]
    for key, value in named.items():
        if key not in parameters:
            return f"{name} has no argument {key!r}{_instead(key, value, list(parameters))}"
    if len(given) > len(places):
        others = ", ".join(f"{each}=" for each in parameters if each not in places)
        return f"{name} takes {' and '.join(places) or 'nothing'} by place; name the others: {others}"
    if twice := [each for each in places[: len(given)] if each in named]:
        return f"{name} has {twice[0]} twice, by place and by name; leave out one"
    needed = [each.name for each in parameters.values() if each.default is each.empty]
    lacking = [each for each in needed if each not in named and each not in places[: len(given)]]
    if lacking:
        return f"{name} lacks {' and '.join(lacking)}; write {name}({', '.join(needed)})"
    if isinstance(given[0] if given else None, (list, dict, set)) and hasattr(function, "cache_info"):
        return f"{name} takes one {places[0]} at a time, not a {type(given[0]).__name__}"
    return None


def _instead(key: str, value: Any, parameters: list[str]) -> str:
    """What to write in place of an argument that is not there."""
    found = next((each for each in SYNONYMS.get(key, ()) if each in parameters), None)
    if found is not None:
        return f"; write {found}="
    if key in Protocol.__dataclass_fields__ and "protocol" in parameters:
        return f"; it is a rule: protocol={{{key!r}: {value!r}}}"
    if key in ("k", "cutoff", "cut_off", "at") and {"measures", "measure"} & {*parameters}:
        return "; the cut-off is part of the measure: 'nDCG@10'"
    return unknown("", key, parameters, f"its arguments are {', '.join(parameters)}")
