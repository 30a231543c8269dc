"""Charts alone as a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rankgauge.show.model import Chart, Options, Page, Section

__all__ = ["page"]


def page(draws: Mapping[str, Callable[..., Any]]) -> bytes:
    """A page of charts that loads nothing: from names to functions without arguments that draw them."""
    from rankgauge.show.html import html

    sections = [Section(name, "", [Chart(name, "", "", draw)]) for name, draw in draws.items()]
    return html(Page("; ".join(draws), sections, dict), Options()).encode()
