"""SVG by hand: texts, boxes, and the frame around them.

A picture stands by itself, is readable in light and dark surroundings, and is wide enough for a slide. Colours are
classes, so that the surroundings can choose.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Final

from rankgauge.show.cells import printable

__all__ = ["DARK", "LIGHT", "document", "rect", "text"]

WIDTH: Final = 1200
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


def text(
    x: float, y: float, words: str, size: int, kind: str = "rg-text", anchor: str = "start", weight: int = 400
) -> str:
    """A text; nothing where there is none."""
    place = f'x="{x:g}" y="{y:g}" font-size="{size}" text-anchor="{anchor}" font-weight="{weight}"'
    return f'<text class="{kind}" {place}>{escape(printable(words))}</text>' if words else ""


def rect(x: float, y: float, width: float, height: float, kind: str, fill: str = "") -> str:
    """A box with slightly round corners, of a class or of a colour."""
    look = f'fill="{fill}"' if fill else f'class="{kind}"'
    return f'<rect {look} x="{x:.2f}" y="{y:g}" width="{width:.2f}" height="{height:g}" rx="3"/>'


def document(parts: Sequence[str], height: int, label: str) -> str:
    """The whole picture."""
    rules, night = ("".join(f".{name}{{{look}}}" for name, look in looks.items()) for looks in (LIGHT, DARK))
    fixed = ".rg-dark{fill:#0d1b26}.rg-light{fill:#ffffff}.rg-picture{max-width:100%;height:auto}"
    style = f"<style>{rules}{fixed}@media (prefers-color-scheme:dark){{{night}}}</style>"
    fonts = "font-family=\"'Inter','Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',sans-serif\""
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" class="rg-picture"'
    named = f'role="img" aria-label="{escape(label)}"'
    back = f'<rect class="rg-bg" x="0" y="0" width="{WIDTH}" height="{height}"/>'
    body = "\n".join([style, back, *filter(None, parts)])
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {fonts} {named}>\n{body}\n</svg>\n'
