"""Blocks → Markdown, for a pull request, a wiki or a chat."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from rankgauge.reports import blocks
from rankgauge.reports.blocks import Block, Mark, Section, cell_text

__all__ = ["markdown"]

SPECIAL: Final = re.compile(r"([\\`*_{}\[\]<>|#~&])")


def markdown(title: str, subtitle: str, sections: Sequence[Section]) -> str:
    """The whole report, without its charts."""
    parts = [f"# {_escaped(title)}", _escaped(subtitle)]
    for section in sections:
        inner = [text for block in section.blocks if (text := _block(block, 3))]
        parts += [f"## {_escaped(section.title)}", *inner] if inner else []
    return "\n\n".join(parts) + "\n"


def _escaped(text: str) -> str:
    """A text that stays text: no markup of Markdown or HTML, on one line."""
    return SPECIAL.sub(r"\\\1", " ".join(str(text).split()))


def _block(block: Block, level: int) -> str:
    if isinstance(block, blocks.Fold):
        badge = f" ({_escaped(block.badge)})" if block.badge else ""
        inner = [f"{'#' * level} {_escaped(block.title)}{badge}", *(_block(each, level + 1) for each in block.blocks)]
        return "\n\n".join(filter(None, inner))
    return WRITTEN[type(block)](block)


def _text(block: blocks.Text) -> str:
    return f"**{_escaped(block.words)}**" if block.kind in ("lead", "head") else _escaped(block.words)


def _bullets(block: blocks.Bullets) -> str:
    items, head = list(block.items), ""
    if block.kind == "changes":
        head = f"{_escaped(items.pop(0))}:\n\n"
    mark = "**Careful.** " if block.kind == "warning" else ""
    return head + "\n".join(f"- {mark}{_escaped(each)}" for each in items)


def _tiles(block: blocks.Tiles) -> str:
    return "\n".join(
        f"- {_escaped(tile.label)}: **{_escaped(cell_text(tile.value, tile.column))}**"
        + (f" ({_escaped(tile.below)})" if tile.below else "")
        for tile in block.tiles
    )


def _code(block: blocks.Code) -> str:
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", block.text)), default=0))
    return f"{fence}sh\n{block.text}\n{fence}"


def _table(block: blocks.Table) -> str:
    rule = ["--:" if column.is_number else ":--" for column in block.columns]
    heads = [_escaped(column.head) for column in block.columns]
    rows = [
        [_cell(cell, cell_text(cell, column)) for cell, column in zip(row, block.columns, strict=True)]
        for row in block.rows
    ]
    table = "\n".join(f"| {' | '.join(row)} |" for row in [heads, rule, *rows])
    note = f"\n\n{_escaped(block.note)}" if block.note else ""
    return f"**{_escaped(block.caption)}**\n\n{table}{note}"


def _cell(cell: Any, text: str) -> str:
    return (
        f"**{_escaped(text)}**" if isinstance(cell, Mark) and cell.kind in ("best", "good", "bad") else _escaped(text)
    )


WRITTEN: Final[dict[type, Callable[[Any], str]]] = {
    blocks.Text: _text,
    blocks.Bullets: _bullets,
    blocks.Tiles: _tiles,
    blocks.Code: _code,
    blocks.Table: _table,
    blocks.Chart: lambda block: "",
}
