"""Templates: {query}, {k}, {need} and {vector} in parsed values, so that a quote in a query breaks nothing; ${NAME}.

${NAME} stands for an environment variable, usually a secret: it is resolved when something is sent, and its value is
taken out of whatever comes back before anybody sees or stores it.
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Callable, Mapping
from typing import Any, Final
from urllib.parse import quote

from rankgauge.errors import InputError
from rankgauge.store.rows import texts_in

__all__ = ["Secrets", "filled", "in_path", "names_in", "placeholders_in"]

PLACES: Final = re.compile(r"\$\{(?P<name>[A-Za-z_]\w*)\}|\{(?P<place>query|k|need|vector)(?P<json>:json)?\}", re.ASCII)
SHORT: Final = 4  # characters, below which a value may stand in any text by chance


def placeholders_in(value: Any) -> set[str]:
    """Which of query, k, need and vector a template uses."""
    return {found["place"] for text in texts_in(value) for found in PLACES.finditer(text)} - {None}


def names_in(value: Any) -> set[str]:
    """Which environment variables a template names."""
    return {found["name"] for text in texts_in(value) for found in PLACES.finditer(text)} - {None}


def filled(template: Any, values: Mapping[str, Any], known: Mapping[str, str] | None = None) -> Any:
    """A template with its places filled; `"{k}"` alone becomes the number itself, `{query:json}` a text in quotes.

    `known`: the environment variables. What is put in is never read as a template again.
    """
    if isinstance(template, Mapping):
        return {_text(name, values, known): filled(each, values, known) for name, each in template.items()}
    if isinstance(template, (list, tuple)):
        return [filled(each, values, known) for each in template]
    if not isinstance(template, str):
        return template
    alone = PLACES.fullmatch(template)
    if alone and alone["place"] and not alone["json"]:
        return values[alone["place"]]
    return _text(template, values, known)


def in_path(template: str, values: Mapping[str, Any], known: Mapping[str, str] | None = None) -> str:
    """An address with its places filled, each as one part of it."""
    return _text(template, values, known, lambda text: quote(text, safe=""))


def _text(
    template: str,
    values: Mapping[str, Any],
    known: Mapping[str, str] | None,
    written: Callable[[str], str] = str,
) -> str:
    def place(found: re.Match[str]) -> str:
        if found["name"]:
            return (known or {}).get(found["name"], found[0])
        value = values[found["place"]]
        plain = isinstance(value, str) and not found["json"]
        return written(value if plain else json.dumps(value, ensure_ascii=False))

    return PLACES.sub(place, template)


class Secrets:
    """The environment variables that a template names; that one is not set is an error before anything starts."""

    def __init__(self, template: Any, where: str) -> None:
        self.values: dict[str, str] = {}
        for name in sorted(names_in(template)):
            if not os.environ.get(name):
                raise InputError(f"{where}: ${{{name}}} is not set; set it in the environment: export {name}=…")
            self.values[name] = os.environ[name]
        long = [(name, value) for name, value in self.values.items() if len(value) >= SHORT]
        self._spelt = [
            (re.compile("".join(map(_spelt, value))), f"${{{name}}}")
            for name, value in sorted(long, key=lambda each: -len(each[1]))
        ]

    def hidden(self, text: str) -> str:
        """A text without their values, however these are written."""
        for value, name in self._spelt:
            text = value.sub(name, text)
        return text


def _spelt(char: str) -> str:
    """A pattern of a character as servers write it: plain, in an address, in a page, in JSON (however often over)."""
    address = "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogateescape"))
    ways = {char, address, address.lower(), html.escape(char), "+" * (char == " ")} - {""}
    escaped = r"\\+" + re.escape(json.dumps(char, ensure_ascii=False)[1:-1].lstrip("\\"))
    halves = char.encode("utf-16-be", "surrogatepass").hex(" ", 2).split()
    numbered = "".join(rf"\\+u(?i:{half})" for half in halves)  # some write & and < so, others whatever is not ASCII
    return f"(?:{'|'.join([numbered, escaped, *sorted(map(re.escape, ways), key=len, reverse=True)])})"
