"""`rankgauge measures`: the table of measures."""

from __future__ import annotations

import re
import textwrap
from typing import Final

import click

from rankgauge.cli.options import command, shared

__all__ = ["list_measures"]

WIDTH: Final = 80


@command("measures")
@click.argument("names", nargs=-1)
@shared("measures_from")
def list_measures(names: tuple[str, ...]) -> None:
    """List the measures, or explain some: formula, parameters, paper, and what happens with little to find.

    \b
    Examples:
      rankgauge measures
      rankgauge measures nDCG
      rankgauge measures ndcg_cut_10 mrr
    """
    from rankgauge.measures import MEASURES
    from rankgauge.measures.parser import resolve

    if not names:
        width = max(len(usage(name)) for name in MEASURES)
        for name, definition in MEASURES.items():
            lead = f"{usage(name):<{width}}  "
            click.echo(lead + textwrap.shorten(definition.summary, WIDTH - len(lead), placeholder=" …"))
        return
    click.echo("\n\n".join(_wrapped(explain(*resolve(name))) for name in names))


def _wrapped(lines: str) -> str:
    """Lines that fit a terminal: an indented one goes on with the one before."""
    whole = re.sub(r"\n +", " ", lines).split("\n")
    return "\n".join(textwrap.fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False) for line in whole)


def usage(name: str) -> str:
    """How a measure is written: nDCG[@k]."""
    from rankgauge.measures import MEASURES

    definition = MEASURES[name]
    if definition.cutoff is None:
        return name
    required = definition.parameters[definition.cutoff].default is definition.parameters[definition.cutoff].empty
    return f"{name}@{definition.cutoff}" if required else f"{name}[@{definition.cutoff}]"


def explain(name: str, given: dict[str, str]) -> str:
    """Everything about a measure, and what the spelling asked for says about its parameters."""
    from rankgauge.measures import MEASURES, SPELLINGS

    definition = MEASURES[name]
    defaults = ", ".join(
        f"{parameter.name}={parameter.default}"
        for parameter in definition.parameters.values()
        if parameter.name != definition.cutoff
    )
    others = [
        re.sub(r"(?<!\.)\*$", "_*", spelling).replace("*", "<number>")
        for spelling, ours in SPELLINGS.items()
        if _is(ours, name)
    ]
    others += [spelling for spelling in definition.also if spelling.lower() not in {name.lower(), *others}]
    lines = [f"{usage(name)}: {definition.help}", f"Defaults: {defaults or 'no parameters'}"]
    if given:
        lines.append(f"Asked for: {', '.join(f'{key}={value}' for key, value in given.items())}")
    if others:
        lines.append(f"Also understood: {', '.join(others)}")
    return "\n".join(lines)


def _is(spelling: str, name: str) -> bool:
    return spelling.partition("@")[0].partition("(")[0] == name
