"""SVG by hand: texts, boxes, lines, and the frame around them; and from SVG to PNG and to a page that loads nothing.

A picture stands by itself, is readable in light and dark surroundings, and is wide enough for a slide. Colours are
classes, so that the surroundings can choose.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import Final

__all__ = ["WIDTH", "document", "line", "page", "path", "png", "rect", "text"]

WIDTH: Final = 1200
NONE: Final[Mapping[str, str]] = MappingProxyType({})
LIGHT: Final = {
    "rg-bg": "fill:#ffffff", "rg-text": "fill:#1b1f24", "rg-quiet": "fill:#5c6670", "rg-line": "stroke:#d5dae0",
    "rg-bar": "fill:#2f7dc0", "rg-loss": "fill:#d0672b", "rg-empty": "fill:#eceff2", "rg-chip0": "fill:#dfe3e8",
    "rg-on0": "fill:#1b1f24",
}  # fmt: skip
DARK: Final = {
    "rg-bg": "fill:#14181d", "rg-text": "fill:#eef1f4", "rg-quiet": "fill:#a2adb8", "rg-line": "stroke:#39424c",
    "rg-bar": "fill:#5aa7e6", "rg-loss": "fill:#ee8c52", "rg-empty": "fill:#262d35", "rg-chip0": "fill:#39424c",
    "rg-on0": "fill:#eef1f4",
}  # fmt: skip
STYLE: Final = """
.wide, .rg-wide { overflow-x: auto; margin: 1rem 0; }
.wide svg { min-width: 760px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #8884; white-space: nowrap; }
.name, .rg-name { text-align: left; }
caption { text-align: left; font-weight: 600; }
"""


def text(
    x: float, y: float, words: str, size: int, kind: str = "rg-text", anchor: str = "start", weight: int = 400
) -> str:
    """A text; nothing where there is none."""
    place = f'x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}"'
    return f'<text class="{kind}" {place}>{escape(words)}</text>' if words else ""


def rect(x: float, y: float, width: float, height: float, kind: str, fill: str = "") -> str:
    """A box with slightly round corners, of a class or of a colour."""
    look = f'fill="{fill}"' if fill else f'class="{kind}"'
    return f'<rect {look} x="{x:.2f}" y="{y:g}" width="{width:.2f}" height="{height:g}" rx="3"/>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "rg-line", dashes: str = "") -> str:
    """A thin straight line."""
    look = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<line class="{kind}" x1="{x1:.2f}" x2="{x2:.2f}" y1="{y1:.2f}" y2="{y2:.2f}" stroke-width="1"{look}/>'


def path(points: Sequence[tuple[float, float]], kind: str, *, area: bool = False, dashes: str = "") -> str:
    """A line through points, or the area that they enclose."""
    way = "M" + " L".join(f"{x:.2f} {y:.2f}" for x, y in points) + (" Z" if area else "")
    look = ' stroke="none"' if area else ' fill="none" stroke-width="3" stroke-linejoin="round"'
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<path class="{kind}" d="{way}"{look}{dashed}/>'


def document(
    parts: Sequence[str], height: int, label: str, *, light: Mapping[str, str] = NONE, dark: Mapping[str, str] = NONE
) -> str:
    """The whole picture; `light` and `dark` are classes of its own."""
    rules = [f".{name}{{{look}}}" for name, look in {**LIGHT, **light}.items()]
    night = "".join(f".{name}{{{look}}}" for name, look in {**DARK, **dark}.items())
    fixed = ".rg-dark{fill:#0d1b26}.rg-light{fill:#ffffff}"
    fixed += ".rg-picture{max-width:100%;height:auto}"
    style = f"<style>{''.join(rules)}{fixed}@media (prefers-color-scheme:dark){{{night}}}</style>"
    fonts = "font-family=\"'Inter','Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',sans-serif\""
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" class="rg-picture"'
    named = f'role="img" aria-label="{escape(label)}"'
    back = f'<rect class="rg-bg" x="0" y="0" width="{WIDTH}" height="{height}"/>'
    body = "\n".join([style, back, *filter(None, parts)])
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {fonts} {named}>\n{body}\n</svg>\n'


def png(svg: str) -> bytes:
    """The picture as a PNG, twice as fine."""
    from rankgauge.show.charts.convert import svg_to_png

    return svg_to_png(svg)


def page(title: str, body: str) -> bytes:
    """A page that loads nothing."""
    from markupsafe import Markup

    from rankgauge.show.page import layout

    pictured = re.findall(r"<style>(.*?)</style>", body, re.DOTALL)
    part = {"key": "all", "title": "", "body": Markup(body)}
    return layout(title, [part], style=STYLE, pictured=pictured).encode()
