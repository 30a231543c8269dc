"""Blocks → HTML. Whatever a user gave (ids, names, texts) goes through `escape`; nothing else writes a text."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from html import escape
from itertools import groupby
from typing import Any, Final

from rankgauge.reports import blocks
from rankgauge.reports.blocks import Block, Column, Mark, Section, Table, cell_text, plain_value

__all__ = ["anchor", "contents", "section_html"]

SHORT, LONG = 22, 36  # characters of a cell
TEXT_TAGS: Final = {"": "p", "lead": "p", "note": "p", "warning": "p", "head": "h3"}


def anchor(key: str) -> str:
    """The name of a place on the page, safe whatever the key holds."""
    return f"at-{hashlib.sha256(key.encode()).hexdigest()[:12]}"


def contents(sections: Sequence[Section]) -> str:
    """The links to the sections."""
    links = "".join(f'<li><a href="#{escape(each.key)}">{escape(each.title)}</a></li>' for each in sections)
    return f'<nav aria-label="Contents"><ol>{links}</ol></nav>'


def section_html(section: Section) -> str:
    """A section with its heading; neighbouring charts share a grid."""
    parts = []
    for charts, group in groupby(section.blocks, key=lambda block: isinstance(block, blocks.Chart)):
        drawn = [*map(block_html, group)]
        parts.append(_gallery(drawn) if charts else "\n".join(drawn))
    key, inner = escape(section.key), "\n".join(parts)
    heading = f'<h2 id="{key}-title">{escape(section.title)}</h2>'
    return f'<section id="{key}" aria-labelledby="{key}-title">{heading}\n{inner}</section>'


def _gallery(drawn: Sequence[str]) -> str:
    """Charts beside each other, where there are several."""
    return f'<div class="charts{" several" * (len(drawn) > 1)}">{"".join(drawn)}</div>'


def block_html(block: Block) -> str:
    """A block."""
    return DRAWN[type(block)](block)


def _text(block: blocks.Text) -> str:
    tag = TEXT_TAGS[block.kind]
    return f"<{tag}{_class(block.kind)}>{escape(block.words)}</{tag}>"


def _bullets(block: blocks.Bullets) -> str:
    items = block.items
    head = ""
    if block.kind == "changes":
        head, items = f'<p class="changes">{escape(items[0])}</p>', items[1:]
    role = ' role="note"' if block.kind == "warning" else ""
    return f"{head}<ul{_class(block.kind)}{role}>" + "".join(f"<li>{escape(each)}</li>" for each in items) + "</ul>"


def _class(kind: str) -> str:
    return f' class="{escape(kind)}"' if kind else ""


def _code(block: blocks.Code) -> str:
    copy = '<button type="button" class="copy">Copy</button>'
    return f'<div class="code"><pre tabindex="0"><code>{escape(block.text)}</code></pre>{copy}</div>'


def _tiles(block: blocks.Tiles) -> str:
    return '<div class="tiles">' + "".join(map(_tile, block.tiles)) + "</div>"


def _tile(tile: blocks.Tile) -> str:
    words = {"better": " good", "worse": " bad"}.get(str(tile.value), "")
    value = f'<div class="value{words}"{_raw(tile.value)}>{escape(cell_text(tile.value, tile.column))}</div>'
    below = f'<div class="below">{escape(tile.below)}</div>' if tile.below else ""
    return f'<div class="tile"><div class="label">{escape(tile.label)}</div>{value}{below}</div>'


def _fold(block: blocks.Fold) -> str:
    inner = "\n".join(map(block_html, block.blocks))
    badge = f' <span class="badge">{escape(block.badge)}</span>' if block.badge else ""
    summary = f'<summary><span class="what">{escape(block.title)}</span>{badge}</summary>'
    return (
        f'<details id="{anchor(block.key)}"{" open" * block.open}>{summary}<div class="inner">{inner}</div></details>'
    )


def _chart(block: blocks.Chart) -> str:
    place = f'<div class="plot" data-chart="{escape(block.key)}" role="img" aria-label="{escape(block.title)}"></div>'
    caption = f"<figcaption>{escape(block.caption)}</figcaption>" if block.caption else ""
    return f'<figure class="chart"><h3>{escape(block.title)}</h3>{place}{caption}</figure>'


# ---- tables ----------------------------------------------------------------------------------------------------------


def _table(block: Table) -> str:
    head = "".join(_head(column, block.sort and len(block.rows) > 1) for column in block.columns)
    most = [_most(block, at) for at in range(len(block.columns))]
    body = "\n".join("<tr>" + "".join(_cells(row, block.columns, most)) + "</tr>" for row in block.rows)
    caption = escape(block.caption)
    tools = f'<div class="caption">{caption}</div>'
    if block.search:
        field = f'<input type="search" placeholder="Search" aria-label="Search in {caption}">'
        tools += (
            f'<div class="tools">{field}<span class="count" aria-live="polite">{len(block.rows):,} rows</span></div>'
        )
    table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
    scroll = f'<div class="scroll" tabindex="0" role="region" aria-label="{caption}">{table}</div>'
    note = f'<p class="note">{escape(block.note)}</p>' if block.note else ""
    return f'<div class="table" data-table="{escape(block.key)}">{tools}{scroll}{note}</div>'


def _head(column: Column, sort: bool) -> str:
    text = escape(column.head)
    kind = ' class="n"' if column.is_number else ""
    title = f' title="{escape(column.help)}"' if column.help else ""
    if not sort:
        return f'<th scope="col"{kind}{title}>{text}</th>'
    return f'<th scope="col"{kind}{title} aria-sort="none"><button type="button">{text}</button></th>'


def _most(block: Table, at: int) -> float:
    """The largest number of a column of bars, which fills its cell."""
    if block.columns[at].kind != "bar":
        return 0.0
    numbers = [abs(value) for row in block.rows if isinstance(value := plain_value(row[at]), float)]
    return max(numbers, default=0.0)


def _cells(row: Sequence[Any], columns: Sequence[Column], most: list[float]) -> Iterable[str]:
    for at, (cell, column) in enumerate(zip(row, columns, strict=True)):
        tag, scope = ("th", ' scope="row"') if at == 0 else ("td", "")
        value = plain_value(cell)
        text = escape(cell_text(cell, column))
        if isinstance(cell, Mark) and cell.link:
            text = f'<a href="#{anchor(cell.link)}">{text}</a>'
        if column.kind == "bar" and isinstance(value, float):
            text = _bar(value, most[at]) + text
        if column.kind == "grade" and text:
            text = f"<span{_class(_grade_class(value))}>{text}</span>" if isinstance(value, (int, float)) else text
        yield f"<{tag}{scope}{_class(_kinds(cell, column))}{_raw(value) if column.is_number else ''}>{text}</{tag}>"


def _kinds(cell: Any, column: Column) -> str:
    own = cell.kind if isinstance(cell, Mark) else ""
    bar = "bar" if column.kind == "bar" else ""
    return " ".join(filter(None, ["n" if column.is_number else _length(cell_text(cell, column)), bar, own]))


def _length(text: str) -> str:
    """Short texts stay on one line, long ones get room."""
    return "s" if len(text) <= SHORT else "l" if len(text) > LONG else ""


def _grade_class(grade: float) -> str:
    return f"grade g{max(0, min(4, int(grade)))}"


def _bar(value: float, most: float) -> str:
    width = 100 * abs(value) / most if most else 0
    return (
        '<svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect width="{width:.1f}" height="8"/></svg>'
    )


def _raw(value: Any) -> str:
    """Every digit, for sorting and for whoever reads the page with a program."""
    if isinstance(value, (tuple, list)):
        return f' data-v="{" ".join(map(_repr, value))}"'
    return f' data-v="{_repr(value)}"' if isinstance(value, (int, float)) else ""


def _repr(value: Any) -> str:
    return repr(float(value)) if isinstance(value, float) else str(value)


DRAWN: Final[dict[type, Callable[[Any], str]]] = {
    blocks.Text: _text,
    blocks.Bullets: _bullets,
    blocks.Code: _code,
    blocks.Tiles: _tiles,
    blocks.Fold: _fold,
    blocks.Chart: _chart,
    blocks.Table: _table,
}
