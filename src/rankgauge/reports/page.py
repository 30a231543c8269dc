"""Sections → one HTML file that loads nothing and allows nothing but itself.

The policy names the page's own style, its own script and the chart library by their hashes: no other script runs, none
is evaluated from text, nothing is fetched. The library is there once, compressed; the script unpacks it when the first
chart comes into view.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterator, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

from rankgauge.reports.blocks import Block, Chart, Fold, Section
from rankgauge.reports.charts import dark_of_light
from rankgauge.reports.html import contents, section_html

__all__ = ["page"]


def page(title: str, subtitle: str, sections: Sequence[Section]) -> str:
    """The whole file."""
    specs = {chart.key: chart.spec for section in sections for chart in _charts(section.blocks)}
    charts = {"specs": specs, "dark": dark_of_light()} if specs else {}
    style, script = _own("page.css"), _own("page.js")
    library = _library() if charts else ""
    allowed = " ".join(map(_hash, filter(None, [script, library])))
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    body = "\n".join(map(section_html, sections))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        '<a class="skip" href="#summary">Skip to the summary</a>\n'
        f"<header><div><h1>{escape(title)}</h1><p>{escape(subtitle)}</p></div>"
        '<button type="button" id="theme" aria-label="Light or dark">◐</button></header>\n'
        f"{contents(sections)}\n<main>\n{body}\n</main>\n"
        f"{_data('chart-data', charts)}{_packed(library)}<script>{script}</script>\n</body>\n</html>\n"
    )


def _charts(blocks: Sequence[Block]) -> Iterator[Chart]:
    for block in blocks:
        if isinstance(block, Chart):
            yield block
        elif isinstance(block, Fold):
            yield from _charts(block.blocks)


def _data(name: str, value: Any) -> str:
    """Data for the script. No text in it can end the element."""
    if not value:
        return ""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return f'<script type="application/json" id="{name}">{text}</script>\n'


def _packed(library: str) -> str:
    if not library:
        return ""
    packed = base64.b64encode(gzip.compress(library.encode(), 9, mtime=0)).decode()
    return f'<script type="text/plain" id="chart-library">{packed}</script>\n'


def _own(name: str) -> str:
    return files("rankgauge.reports").joinpath(name).read_text(encoding="utf-8")


@cache
def _library() -> str:
    """Vega, Vega-Lite and vega-embed with its interpreter of expressions, as one script."""
    import vl_convert

    from rankgauge.show.charts.files import library_version

    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=library_version())
    return f"(()=>{{{bundle}}})();"


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
