"""Explanations → what is printed or written: text, SVG, PNG, or a page that needs nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Final, TypeAlias

from rankgauge.errors import InputError
from rankgauge.explain.difference import Difference
from rankgauge.explain.picture import difference_svg, svg
from rankgauge.explain.show import (
    as_json,
    as_markdown,
    as_table,
    cells,
    difference_markdown,
    difference_table,
    headline,
    share_cells,
)

if TYPE_CHECKING:
    from rankgauge.explain.explanation import Explanation

    Found: TypeAlias = Sequence[Explanation] | Explanation | Difference

__all__ = ["PICTURES", "picture", "show"]

STYLE: Final = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 1200px; margin: 2rem auto; padding: 0 1rem; }
svg { width: 100%; height: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #8884; }
"""


TEXTS: Final = {"table": (as_table, difference_table), "markdown": (as_markdown, difference_markdown)}


def show(found: Found, format: str = "table") -> str:
    """One explanation, several, or two runs side by side, as a table, as Markdown or as JSON."""
    if format == "json":
        return as_json(found)
    one, two = TEXTS[format]
    if isinstance(found, Difference):
        return two(found)
    return "\n\n".join(map(one, found if isinstance(found, Sequence) else [found]))


def picture(found: Found, suffix: str) -> bytes:
    """What a file of this suffix holds."""
    return PICTURES[suffix](list(found) if isinstance(found, Sequence) else [found])


def _svg(found: list[Explanation | Difference]) -> bytes:
    if len(found) != 1:
        raise InputError(f"a picture shows one query, not {len(found)}; write a page: -o FILE.html")
    return drawn(found[0]).encode()


def _png(found: list[Explanation | Difference]) -> bytes:
    try:
        import vl_convert
    except ImportError:
        raise InputError("a PNG needs vl-convert: pip install 'rankgauge[charts]'; an .svg needs nothing") from None
    data: bytes = vl_convert.svg_to_png(_svg(found).decode(), scale=2.0)
    return data


def _html(found: list[Explanation | Difference]) -> bytes:
    """The pictures with their tables, in one page that loads nothing."""
    body = "\n".join(f"<section>\n{drawn(each)}{_table(each)}\n</section>" for each in found)
    title = escape("; ".join(each.a.measure if isinstance(each, Difference) else headline(each) for each in found))
    head = f'<meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'.encode()


def drawn(found: Explanation | Difference) -> str:
    """The SVG of either."""
    return difference_svg(found) if isinstance(found, Difference) else svg(found)


def _table(found: Explanation | Difference) -> str:
    heads, rows = share_cells(found) if isinstance(found, Difference) else cells(found)
    head = "".join(f"<th>{escape(text.strip('│ '))}</th>" for text in heads)
    body = "\n".join("<tr>" + "".join(f"<td>{escape(t.lstrip('│ '))}</td>" for t in row) + "</tr>" for row in rows)
    return f"<details><summary>The numbers</summary><table><tr>{head}</tr>\n{body}</table></details>"


PICTURES: Final[dict[str, Callable[[list[Explanation | Difference]], bytes]]] = {
    ".svg": _svg,
    ".png": _png,
    ".html": _html,
}
