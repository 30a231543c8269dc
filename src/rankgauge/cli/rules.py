"""`rankgauge rules`: what the rules of an evaluation mean, and what is usual."""

from __future__ import annotations

import textwrap

import click

from rankgauge.cli.options import command
from rankgauge.errors import ProtocolError, unknown
from rankgauge.protocol import RULES

__all__ = ["explain_rules"]

# The rules whose value is a number: what each means.
NUMBERS = {
    "rel": "the smallest grade that counts as relevant, for binary measures (P, R, AP, RR, …)  [1]",
    "depth": "evaluate only the first N documents of every ranking  [all]",
}


@command("rules")
@click.argument("names", nargs=-1, metavar="[NAME]...")
def explain_rules(names: tuple[str, ...]) -> None:
    """List the rules of an evaluation, or explain some of them.

    Everything that two tools may decide differently before a measure is computed is a rule. On the command line a rule
    is an option (--ties average); in Python it is `protocol={"ties": "average"}`.

    \b
    Examples:
      rankgauge rules
      rankgauge rules ties missing
    """
    known = [*RULES, *NUMBERS]
    asked = [name.lstrip("-").replace("-", "_") for name in names]
    for name, rule in zip(names, asked, strict=True):
        if rule not in known:
            raise ProtocolError(unknown(f"there is no rule {name!r}", rule, known))
    if asked:
        click.echo("\n\n".join(map(_explained, asked)))
        return
    width = max(map(len, known)) + 2
    for rule in known:
        values = NUMBERS[rule] if rule in NUMBERS else f"{', '.join(RULES[rule])}  [{next(iter(RULES[rule]))}]"
        click.echo(_hanging(f"{_option(rule):{width}}  ", values))
    click.echo("\nThe default is in brackets. 'rankgauge rules NAME' explains a rule's values.")


def _explained(rule: str) -> str:
    """The values of a rule, each with its meaning."""
    if rule in NUMBERS:
        return _hanging(f"{_option(rule)} N: ", NUMBERS[rule])
    values = RULES[rule]
    width, default = max(map(len, values)), next(iter(values))
    lines = [
        _hanging(f"  {value:{width}}  ", words + "  [default]" * (value == default)) for value, words in values.items()
    ]
    return "\n".join([_option(rule), *lines])


def _option(rule: str) -> str:
    return f"--{rule.replace('_', '-')}"


def _hanging(lead: str, words: str) -> str:
    return textwrap.fill(words, 80, initial_indent=lead, subsequent_indent=" " * len(lead), break_on_hyphens=False)
