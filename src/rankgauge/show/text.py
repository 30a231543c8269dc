"""Sections → text for a terminal: aligned columns, bars, notes. A table that is too wide is continued below."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import compress, groupby
from typing import Any, Final

from rankgauge.show import model
from rankgauge.show.cells import LEFT, Cell, cell_text, printable, shown_rows
from rankgauge.show.model import Block, Column, Options, Page, Table
from rankgauge.show.names import cut_apart, short, width_of

__all__ = ["bar", "text"]

EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
BAR, SHORTEST = 12, 2  # characters of a bar: the longest, and what is left of it in a narrow table
NARROWEST: Final = 12  # characters that are left of a long text in a narrow table
COLOURS: Final = {
    "best": "1",
    "second": "4",
    "head": "1",
    "lead": "1",
    "good": "32",
    "bad": "31",
    "warn": "33",
    "bar": "34",
    "loss": "31",
}
NOISE: Final = 1e-12  # what sums of the same numbers in another order differ by
BETWEEN: Final = "  "
DIVIDER: Final = "│ "
WIDTH: Final = 80  # where sentences are wrapped if there is no terminal; a table is as wide as it is


def text(page: Page, options: Options) -> str:
    """The whole page, ending in a newline."""
    titled = len(page.sections) > 1
    parts = []
    for section in page.sections:
        blocks = _block_texts(section.blocks, options)
        if blocks and titled and section.title:
            parts.append(_underlined(section.title, options))
        parts += blocks
    return "\n".join(parts)


def _block_texts(blocks: Sequence[Block], options: Options) -> list[str]:
    """The blocks that a terminal can show; sentences that follow each other stand together."""
    parts = []
    for together, group in groupby(blocks, key=lambda block: isinstance(block, model.Text)):
        made = [words for block in group if (words := WRITERS[type(block)](block, options))]
        parts += ["".join(made)] if together and made else made
    return parts


def _underlined(title: str, options: Options) -> str:
    line = printable(title)
    return f"{_coloured(line, 'head', options)}\n{'=' * width_of(line)}\n"


def _coloured(words: str, kind: str, options: Options) -> str:
    colour = COLOURS.get(kind) if options.colours else None
    return f"\x1b[{colour}m{words}\x1b[0m" if colour and words.strip() else words


def _lines(items: Sequence[str], options: Options, lead: str = "") -> str:
    """Sentences, each wrapped where the terminal ends."""
    return "".join(f"{line}\n" for item in items for line in wrapped(lead + printable(item), options.width or WIDTH))


def wrapped(line: str, width: int = WIDTH) -> list[str]:
    """A sentence in lines, the first of them further to the left."""
    if width_of(line) <= width:
        return [line]
    return textwrap.wrap(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _words(block: model.Text, options: Options) -> str:
    lead = "Caution: " if block.kind == "warning" else ""
    return _coloured(_lines([block.words], options, lead).removesuffix("\n"), block.kind, options) + "\n"


def _bullets(block: model.Bullets, options: Options) -> str:
    title = _lines([f"{block.title}:"], options) if block.title else ""
    return title + _lines(block.items, options, "Caution: " if block.kind == "warning" else "  " if title else "")


def _noted(notes: Sequence[str], options: Options) -> str:
    """The first notes, and how many there are beside them."""
    first = list(notes)[: options.notes]
    left = len(notes) - len(first)
    return _lines([*first, *([f"{left:,} more: {options.more}"] if left else [])], options)


def _tiles(block: model.Tiles, options: Options) -> str:
    rows = [
        f"{tile.label}: {cell_text(tile.value, tile.column, options.digits)}" + f" ({tile.below})" * bool(tile.below)
        for tile in block.tiles
    ]
    return _lines(rows, options)


def _code(block: model.Code, options: Options) -> str:
    return "".join(f"    {printable(line)}\n" for line in block.text.split("\n"))


def _fold(block: model.Fold, options: Options) -> str:
    inner = _block_texts(block.blocks, options)
    title = f"{printable(block.title)}{f' ({printable(block.badge)})' if block.badge else ''}\n"
    return "\n".join([_coloured(title.removesuffix("\n"), "head", options) + "\n", *inner]) if inner else ""


# ---- tables ----------------------------------------------------------------------------------------------------------


def _table(table: Table, options: Options) -> str:
    if table.formats and "table" not in table.formats:
        return ""
    rows = shown_rows(table, options)
    width = (options.width or WIDTH) - len(DIVIDER) * sum(column.divided for column in table.columns)
    table, grid = _narrowed(table, rows, width)
    parts = [
        "".join(f"{line}\n" for line in _aligned(_fitted(part, within, width, options), part, options))
        for part, within in _parts(table, grid, width, options)
    ]
    caption = _lines([table.caption], options) if table.caption else ""
    return caption + "\n".join(parts) + _noted(table.notes, options)


def _narrowed(table: Table, rows: list[list[Cell]], width: int) -> tuple[Table, list[list[Cell]]]:
    """The table and its grid; where it is too wide, without what stands aside, and then with shorter bars or none."""
    grid = _drawn([[Cell(printable(column.head)) for column in table.columns], *rows], table.columns, BAR)
    if _width(grid) > width:
        table, grid = _kept(table, grid, [not column.aside for column in table.columns])
    over = _width(grid) - width
    if 0 < over <= BAR - SHORTEST:
        return table, _drawn(grid, table.columns, BAR - over)
    return _kept(table, grid, [column.kind != "bar" for column in table.columns]) if over > 0 else (table, grid)


def _kept(table: Table, grid: list[list[Cell]], kept: list[bool]) -> tuple[Table, list[list[Cell]]]:
    return table._replace(columns=[*compress(table.columns, kept)]), [[*compress(row, kept)] for row in grid]


def _drawn(grid: list[list[Cell]], columns: Sequence[Column], width: int) -> list[list[Cell]]:
    """The grid with bars of this width; a loss is hatched."""
    drawn = [
        _bar_cells([row[at] for row in grid[1:]], width) if column.kind == "bar" else [row[at] for row in grid[1:]]
        for at, column in enumerate(columns)
    ]
    return [grid[0], *(list(row) for row in zip(*drawn, strict=True))]


def _bar_cells(cells: Sequence[Cell], width: int) -> list[Cell]:
    bars = _bars([cell.value for cell in cells], width)
    return [
        cell._replace(text=drawn, kind="loss" if drawn.startswith("░") else "bar")
        for cell, drawn in zip(cells, bars, strict=True)
    ]


def _width(grid: Sequence[Sequence[Cell]]) -> int:
    widths = _widths(grid)
    return sum(widths) + len(BETWEEN) * (len(widths) - 1)


def _widths(grid: Sequence[Sequence[Cell]]) -> list[int]:
    return [max(width_of(cell.text + cell.note) for cell in column) for column in zip(*grid, strict=True)]


def _aligned(grid: list[list[Cell]], table: Table, options: Options) -> Iterator[str]:
    """The lines of a table."""
    widths = _widths(grid)
    for at, row in enumerate(grid):
        cells = []
        for place, (cell, column) in enumerate(zip(row, table.columns, strict=True)):
            left = column.kind in LEFT or column.kind == "bar" or any(each[place].note for each in grid)
            line = DIVIDER * column.divided
            cells.append(line + _coloured(_padded(cell.text + cell.note, widths[place], left), cell.kind, options))
        if table.foot and at == len(grid) - table.foot:
            yield "-" * _width(grid)
        yield BETWEEN.join(cells).rstrip()


def _parts(
    table: Table, grid: list[list[Cell]], width: int, options: Options
) -> Iterator[tuple[Table, list[list[Cell]]]]:
    """The table, or on a terminal that it does not fit, however its texts are cut, the columns that stand side by side:
    the first texts are repeated before the others, and what follows a divider is not torn apart."""
    if not options.width or _width(_fitted(table, grid, width, options)) <= width:
        yield table, grid
        return
    every, columns = [*range(len(table.columns))], table.columns
    lead = [at for at in every if all(column.kind in LEFT for column in columns[: at + 1])] or every[:1]
    grid = _shortened(grid, width, lead)
    least = [min(each, NARROWEST) if columns[at].kind in LEFT else each for at, each in enumerate(_widths(grid))]
    room = width - sum(least[at] + len(BETWEEN) for at in lead)

    def fits(places: Sequence[int]) -> bool:
        return bool(sum(least[each] + len(BETWEEN) for each in places) - len(BETWEEN) <= room)

    part: list[int] = []
    for at in every[len(lead) :]:
        end = next((each for each in every[at + 1 :] if columns[each].divided), len(every))
        group = every[at:end] if columns[at].divided else [at]
        if part and not fits([*part, *(group if fits(group) else [at])]):
            yield _kept(table, grid, [each in lead or each in part for each in every])
            part = []
        part.append(at)
    yield _kept(table, grid, [each in lead or each in part for each in every])


def _fitted(table: Table, grid: list[list[Cell]], width: int, options: Options) -> list[list[Cell]]:
    """The grid with the texts of its last column, which has the answer, on several lines where it is too wide; what is
    still too wide is cut, the last column after the others."""
    kinds = LEFT if options.width else {"titled"}  # without a terminal an id stays whole: a program may read it
    texts = [at for at, column in enumerate(table.columns) if column.kind in kinds]
    last = len(table.columns) - 1
    for places in ([], [at for at in texts if at != last], texts):
        grid = _shortened(grid, width, places)
        grid = grid if table.foot else _folded(grid, table.columns, width)
    return grid


def _folded(grid: list[list[Cell]], columns: Sequence[Column], width: int) -> list[list[Cell]]:
    """The grid with the texts of the last column on as many lines as they need, where there is room for that."""
    room = width - _width([row[:-1] for row in grid]) - len(BETWEEN) if len(columns) > 1 else 0
    if columns[-1].kind not in LEFT or room < NARROWEST or _widths(grid)[-1] <= room:
        return grid
    folded = []
    for *front, last in grid:
        first, *more = textwrap.wrap(last.text, room, break_long_words=False, break_on_hyphens=False) or [""]
        folded.append([*front, last._replace(text=first)])
        folded += [[*[Cell("")] * len(front), last._replace(text=words)] for words in more]
    return folded


def _shortened(grid: list[list[Cell]], width: int, places: Collection[int]) -> list[list[Cell]]:
    """The grid with long texts at these places cut as far as needed, no further than to `NARROWEST`, and kept apart."""
    widths, over = _widths(grid), _width(grid) - width
    room = list(widths)
    for at in sorted(places, key=lambda at: -widths[at]):
        if over > 0 and widths[at] > NARROWEST:
            room[at] = max(NARROWEST, widths[at] - over)
            over -= widths[at] - room[at]
    if room == widths:
        return grid
    heads, *rows = grid
    shown = [cut_apart([row[at].text for row in rows], room[at]) for at in range(len(heads))]
    cut = [[cell._replace(text=shown[at][cell.text]) for at, cell in enumerate(row)] for row in rows]
    return [[head._replace(text=short(head.text, room[at])) for at, head in enumerate(heads)], *cut]


# ---- padding and bars -----------------------------------------------------------------------------------


def _padded(words: str, width: int, left: bool) -> str:
    blank = " " * (width - width_of(words))
    return words + blank if left else blank + words


def bar(value: float, most: float, width: int = BAR) -> str:
    """A bar of blocks, an eighth of a character fine; a negative one is hatched, and nothing has none."""
    eighths = round(abs(value) / most * width * 8) if most > 0 else 0
    full, part = divmod(eighths, 8)
    drawn = EIGHTHS[8] * full + EIGHTHS[part].strip()
    return drawn if value >= 0 else "░" * len(drawn)


def _bars(values: Sequence[Any], width: int) -> list[str]:
    numbers = [value if isinstance(value, int | float) else None for value in values]
    most = max((abs(number) for number in numbers if number is not None), default=0.0)
    most = most if most > NOISE else 0.0
    return ["" if number is None else bar(number, most, width) for number in numbers]


WRITERS: Final[dict[type, Callable[[Any, Options], str]]] = {
    model.Text: _words,
    model.Bullets: _bullets,
    model.Notes: lambda block, options: _noted(block.items, options),
    model.Tiles: _tiles,
    model.Code: _code,
    model.Fold: _fold,
    model.Table: _table,
    model.Chart: lambda block, options: "",
    model.Picture: lambda block, options: "",
}
