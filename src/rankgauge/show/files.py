"""Pages → files: the suffix decides about the format, and a file is written whole or not at all."""

from __future__ import annotations

from rankgauge.errors import InputError, choices
from rankgauge.read.sources import split_suffixes
from rankgauge.show.formats import SUFFIXES, render
from rankgauge.show.model import Options, Page
from rankgauge.writers.write import opened

__all__ = ["format_of", "save"]


def format_of(path: str) -> str:
    """The format that a file's suffix names, compressed or not."""
    suffix, _ = split_suffixes(path)
    if suffix not in SUFFIXES:
        raise InputError(f"{path}: no format has the suffix {suffix}; expected {choices(filter(None, SUFFIXES))}")
    return SUFFIXES[suffix]


def save(page: Page, path: str, format: str | None = None, options: Options | None = None) -> None:
    """Write the page to a file."""
    made = render(page, format or format_of(path), options)
    with opened(path) as stream:
        stream.write(made if isinstance(made, bytes) else made.encode())
