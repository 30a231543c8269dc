"""Pages → files: the suffix decides about the format, and a file is written whole or not at all."""

from __future__ import annotations

from collections.abc import Collection

from rankgauge.errors import InputError, choices
from rankgauge.read.sources import split_suffixes
from rankgauge.show.formats import FORMATS, SUFFIXES, render
from rankgauge.show.model import Options, Page
from rankgauge.writers.write import opened

__all__ = ["format_of", "save"]


def format_of(path: str, formats: Collection[str] = FORMATS) -> str:
    """The one of the formats that a file's suffix names, compressed or not."""
    suffix, _ = split_suffixes(path)
    known = {each: name for each, name in SUFFIXES.items() if name in formats}
    if suffix not in known:
        bad = f"no format has the suffix {suffix}" if suffix else "a name without a suffix names no format"
        raise InputError(f"{path}: {bad}; expected {choices(filter(None, known))}")
    return known[suffix]


def save(page: Page, path: str, format: str | None = None, options: Options | None = None) -> None:
    """Write the page to a file."""
    made = render(page, format or format_of(path), options)
    with opened(path) as stream:
        stream.write(made if isinstance(made, bytes) else made.encode())
