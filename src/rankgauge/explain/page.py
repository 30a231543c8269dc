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
.wide { overflow-x: auto; }
svg { display: block; width: 100%; min-width: 760px; height: auto; }
summary { cursor: pointer; margin: 1rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #8884; white-space: nowrap; }
.name { text-align: left; }
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
    wide = '<div class="wide">'
    body = "\n".join(f"<section>\n{wide}{drawn(each)}</div>{_table(each)}\n</section>" for each in found)
    title = escape("; ".join(each.a.measure if isinstance(each, Difference) else headline(each) for each in found))
    view = '<meta name="viewport" content="width=device-width, initial-scale=1">'
    head = f'<meta charset="utf-8">{view}<title>{title}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>\n{body}\n</body></html>\n'.encode()


def drawn(found: Explanation | Difference) -> str:
    """The SVG of either."""
    return difference_svg(found) if isinstance(found, Difference) else svg(found)


def _table(found: Explanation | Difference) -> str:
    """The numbers of the picture; a column without a head, the bars, is left to it."""
    heads, rows = share_cells(found) if isinstance(found, Difference) else cells(found)
    kept = [i for i, head in enumerate(heads) if head]
    kinds = {i: ' class="name"' if heads[i].strip("│ ") in ("document", "ideal") else "" for i in kept}
    head = "".join(f"<th{kinds[i]}>{escape(heads[i].strip('│ '))}</th>" for i in kept)
    lines = ("".join(f"<td{kinds[i]}>{escape(row[i].lstrip('│ '))}</td>" for i in kept) for row in rows)
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    table = f'<div class="wide"><table><tr>{head}</tr>\n{body}</table></div>'
    return f"<details><summary>The numbers</summary>{table}</details>"


PICTURES: Final[dict[str, Callable[[list[Explanation | Difference]], bytes]]] = {
    ".svg": _svg,
    ".png": _png,
    ".html": _html,
}
