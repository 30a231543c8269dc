"""Which options go together: a table per command, and one check that refuses what would be dropped without a word."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import click
from click.core import ParameterSource

__all__ = ["PICTURES", "Together", "check_together"]

PICTURES = (".svg", ".png", ".html")


class Together(NamedTuple):
    """The rules of a command, by the names of its parameters.

    `needs`: an option, and those of which one must be there for it to mean something. `apart`: groups of options of
    which one alone is answered. `lists`: options whose answer is a list and no picture.
    """

    needs: dict[str, tuple[str, ...]]
    apart: tuple[tuple[str, ...], ...]
    lists: tuple[str, ...]


def check_together(rules: Together) -> None:
    """Refuse options of the current command that do not go together."""
    context = click.get_current_context()
    given = [name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    given = [name for name in given if context.params[name] not in (False, (), None)]
    for name in given:
        if name in rules.needs and not set(rules.needs[name]) & set(given):
            raise click.UsageError(f"{_spelled([name])} goes with {_spelled(rules.needs[name], ' or ')}")
    asked = [[name for name in group if name in given] for group in rules.apart]
    several = [names[0] for names in asked if names]
    if len(several) > 1:
        raise click.UsageError(f"{_spelled(several, ' and ')} are different questions; ask one at a time")
    suffix = os.path.splitext(str(context.params["output"]))[1].lower()
    lists = [name for name in rules.lists if name in given]
    if lists and suffix in PICTURES and context.params["format"] is None:
        raise click.UsageError(f"{_spelled(lists)} gives no picture; write it as .csv, .json, .md or .txt")


def _spelled(names: Sequence[str], between: str = ", ") -> str:
    return between.join(f"--{name.replace('_', '-')}" for name in names)
