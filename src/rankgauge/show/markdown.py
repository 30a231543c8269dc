"""Sections → Markdown, for a pull request, a wiki or a chat. Charts are left out, folds stay folded."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from rankgauge.show import model
from rankgauge.show.cells import LEFT, Cell, cell_text, printable, shown_rows
from rankgauge.show.model import Block, Options, Page, Table

__all__ = ["markdown", "markdown_text"]

# What Markdown, or HTML within it, reads as something else; an underscore within a word is one.
SPECIAL: Final = re.compile(r"[\\`*\[\]{}|~$#]|[<>](?=\S)|&(?=[#\w]+;)|(?<![^\W_])_|_(?![^\W_])")
SIGNS: Final = {"good": "✅", "bad": "❌", "warn": "⚠️"}
STRONG: Final = {"best": "**{}**", "second": "<u>{}</u>", "good": "**{}**", "bad": "**{}**"}


def markdown(page: Page, options: Options) -> str:
    """The whole page, ending in a newline: a heading for each section, where there are several."""
    titled = len(page.sections) > 1
    parts = [f"# {markdown_text(page.title)}"] + [markdown_text(page.subtitle)] * bool(page.subtitle) if titled else []
    for section in page.sections:
        inner = _blocks(section.blocks, options)
        parts += [f"## {markdown_text(section.title)}"] if titled and inner and section.title else []
        parts += inner
    return "\n\n".join(parts) + "\n"


def _blocks(blocks: Sequence[Block], options: Options) -> list[str]:
    """Those that have something to show: a chart has not."""
    return [made for block in blocks if (made := WRITERS[type(block)](block, options))]


def markdown_text(words: str) -> str:
    """A text that stays text: no markup of Markdown or HTML, on one line."""
    return SPECIAL.sub(lambda found: f"\\{found[0]}", " ".join(printable(words.replace("\n", " ")).split()))


def _words(block: model.Text, options: Options) -> str:
    words = markdown_text(block.words)
    if block.kind == "warning":
        return f"**Caution.** {words}"
    if block.kind in SIGNS:
        return f"### {SIGNS[block.kind]} {words}"
    return f"**{words}**" if block.kind in ("lead", "head") else words


def _list(items: Sequence[str], lead: str = "") -> str:
    return "\n".join(f"- {lead}{markdown_text(each)}" for each in items)


def _bullets(block: model.Bullets, options: Options) -> str:
    title = f"{markdown_text(block.title)}:\n\n" if block.title else ""
    return title + _list(block.items, "**Caution.** " if block.kind == "warning" else "")


def _tiles(block: model.Tiles, options: Options) -> str:
    return "\n".join(
        f"- {markdown_text(tile.label)}: **{markdown_text(cell_text(tile.value, tile.column, options.digits))}**"
        + (f" ({markdown_text(tile.below)})" if tile.below else "")
        for tile in block.tiles
    )


def _code(block: model.Code, options: Options) -> str:
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", block.text)), default=0))
    return f"{fence}sh\n{block.text}\n{fence}"


def _fold(block: model.Fold, options: Options) -> str:
    inner = _blocks(block.blocks, options)
    badge = f" ({markdown_text(block.badge)})" if block.badge else ""
    summary = f"<details><summary>{markdown_text(block.title)}{badge}</summary>"
    return "\n\n".join([summary, *inner, "</details>"]) if inner else ""


def _table(table: Table, options: Options) -> str:
    if table.formats and "markdown" not in table.formats:
        return ""
    kept = [at for at, column in enumerate(table.columns) if column.kind != "bar" or column.head]
    rows = shown_rows(table, options)
    left = [table.columns[at].kind in LEFT or any(row[at].note for row in rows) for at in kept]
    lines = [[markdown_text(table.columns[at].head) for at in kept], [":--" if each else "--:" for each in left]]
    lines += [[_cell(row[at]) for at in kept] for row in rows]
    parts = [f"**{markdown_text(table.caption)}**"] if table.caption else []
    parts += ["\n".join(f"| {' | '.join(line)} |" for line in lines)]
    parts += [_list(table.notes)] if table.notes else []
    return "\n\n".join(parts)


def _cell(cell: Cell) -> str:
    words = markdown_text(cell.text)
    words = STRONG.get(cell.kind, "{}").replace("{}", words) if words else words
    return f"{words}<sup>{markdown_text(cell.note)}</sup>" if cell.note else words


WRITERS: Final[dict[type, Callable[[Any, Options], str]]] = {
    model.Text: _words,
    model.Bullets: _bullets,
    model.Notes: lambda block, options: _list(block.items),
    model.Tiles: _tiles,
    model.Code: _code,
    model.Fold: _fold,
    model.Table: _table,
    model.Chart: lambda block, options: "",
    model.Picture: lambda block, options: "",
}
