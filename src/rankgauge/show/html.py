"""Sections → HTML."""

from __future__ import annotations

from html import escape

from rankgauge.show.model import Options, Page
from rankgauge.show.text import text

__all__ = ["html", "notebook"]


def html(page: Page, options: Options) -> str:
    """The page as one file."""
    return f"<!doctype html>\n<title>{escape(page.title)}</title>\n<pre>{escape(text(page, options))}</pre>\n"


def notebook(page: Page) -> str:
    """The page as a part of a notebook."""
    return f"<pre>{escape(text(page, Options()))}</pre>"
