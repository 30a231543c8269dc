"""The one table of formats: name → how a page is rendered in it, and the suffixes of files that hold it.

A file is written whole or not at all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any, Final, NamedTuple

from rankgauge.errors import InputError, choices
from rankgauge.show.model import Options, Page

__all__ = ["FORMATS", "FRAME", "SUFFIXES", "Format", "format_of", "render", "save"]


class Format(NamedTuple):
    """A format: where its renderer is, and the suffixes of its files. A picture is of one chart."""

    where: str
    suffixes: tuple[str, ...]
    picture: bool = False

    @property
    def render(self) -> Callable[[Page, Options], Any]:
        """The renderer, imported when it is used."""
        module, _, name = self.where.partition(":")
        found: Callable[[Page, Options], Any] = getattr(import_module(f"rankgauge.show.{module}"), name)
        return found


FORMATS: Final[dict[str, Format]] = {
    "table": Format("text:text", (".txt", "")),
    "markdown": Format("markdown:markdown", (".md",)),
    "latex": Format("latex:latex", (".tex",)),
    "html": Format("html:html", (".html", ".htm")),
    "json": Format("data:json_text", (".json",)),
    "csv": Format("data:csv_text", (".csv",)),
    "svg": Format("pictures:svg", (".svg",), picture=True),
    "png": Format("pictures:png", (".png",), picture=True),
}
WORDED: Final = {"table", "markdown", "latex", "html"}  # where words stand beside tables
FRAME: Final = Format("data:frame", ())  # in memory alone
SUFFIXES: Final = {suffix: name for name, each in FORMATS.items() for suffix in each.suffixes}


def render(page: Page, format: str, options: Options | None = None) -> str | bytes:
    """The page in one of the formats; text ends in a newline, a PNG is bytes."""
    options = options or Options()
    shown = page.tables_alone() if options.quiet and format in WORDED else page
    made: str | bytes = FORMATS[format].render(shown, options)
    return made


def format_of(path: str, formats: Collection[str] = FORMATS) -> str:
    """The one of the formats that a file's suffix names, compressed or not."""
    from rankgauge.read.layers import split_suffixes

    suffix, _ = split_suffixes(path)
    known = {each: name for each, name in SUFFIXES.items() if name in formats}
    known |= {f".{name}": name for name in formats if name not in FORMATS}  # a command's own
    if suffix not in known:
        bad = f"no format has the suffix {suffix}" if suffix else "a name without a suffix names no format"
        raise InputError(f"{path}: {bad}; expected {choices(filter(None, known))}")
    return known[suffix]


def save(page: Page, path: str, format: str | None = None, options: Options | None = None) -> None:
    """Write the page to a file, whose suffix names the format if nobody does."""
    from rankgauge.writers.files import opened

    made = render(page, format or format_of(path), options)
    with opened(path) as stream:
        stream.write(made if isinstance(made, bytes) else made.encode())
