"""Explanations → what is printed or written: text, SVG, PNG, or a page that needs nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Final, TypeAlias

from rankgauge.errors import InputError
from rankgauge.explanation.query.difference import Difference
from rankgauge.show.sections.explanation import (
    as_json,
    as_markdown,
    as_table,
    cells,
    difference_markdown,
    difference_table,
    headline,
    share_cells,
)
from rankgauge.show.svg.drawing import page, png
from rankgauge.show.svg.explanation import difference_svg, svg

if TYPE_CHECKING:
    from rankgauge.explanation.query.explanation import Explanation

    Found: TypeAlias = Sequence[Explanation] | Explanation | Difference

__all__ = ["PICTURES", "picture", "show"]

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
    return png(_svg(found).decode())


def _html(found: list[Explanation | Difference]) -> bytes:
    """The pictures with their tables; on a narrow screen they scroll sideways."""
    wide = '<div class="wide">'
    body = "\n".join(f"<section>\n{wide}{drawn(each)}</div>{_table(each)}\n</section>" for each in found)
    titles = (each.a.measure if isinstance(each, Difference) else headline(each) for each in found)
    return page("; ".join(titles), body)


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
