"""Sections → HTML: one page that loads nothing and allows nothing but itself, or a part of a notebook.

Markup is in `page/`, where every text is escaped; here is what goes into it. A chart is there as a still picture, which
the script of the page replaces by one that answers to the pointer.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rankgauge.errors import RankgaugeError
from rankgauge.show import model
from rankgauge.show.cells import LEFT, Cell, cell_text, is_missing, minus, plain_value, printable, shown_rows
from rankgauge.show.charts.convert import NEEDED, is_installed
from rankgauge.show.model import Block, Column, Mark, Options, Page, Section, Table, capital, every_block
from rankgauge.show.page import layout, macros, own

if TYPE_CHECKING:
    from markupsafe import Markup

__all__ = ["Part", "anchor", "html", "notebook", "places"]

SHORT, LONG = 22, 36  # characters of a cell
CONTROL: Final = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127], "�")  # what HTML does not allow
# Colours of charts in a notebook, readable on white and on dark.
AROUND: Final = {"background": "none", "text": "currentColor", "quiet": "#808a94", "line": "#808a9455"}
NOTEBOOK: Final = 640  # pixels of a chart


def html(page: Page, options: Options) -> str:
    """The whole file."""
    from concurrent.futures import ThreadPoolExecutor

    writer = _Writer(options)
    with ThreadPoolExecutor(1) as pool:  # the library and the still pictures take seconds each, outside Python
        charts = writer.draws and any(isinstance(block, model.Chart) for block in every_block(page.sections))
        library = pool.submit(_library) if charts else None
        sections = writer.parts(page.sections)
    more = _live(writer.specs) | {"library": library.result()} if library and writer.specs else {}
    made = layout(page.title, sections, subtitle=page.subtitle, pictured=writer.styles, **more)
    return made.translate(CONTROL).rstrip() + "\n"


def _library() -> str:
    from rankgauge.show.charts.convert import library

    return library()


def _live(specs: dict[str, Any]) -> dict[str, Any]:
    """The charts for the script of the page, and the rules under which still ones follow the theme, too."""
    from rankgauge.show.charts.still import colour_rules, dark_of_light

    dark = dark_of_light()
    both = {light: f"light-dark({light},{night})" for light, night in dark.items()}
    return {"charts": {"specs": specs, "dark": dark}, "style": colour_rules(".still", both)}


def notebook(page: Page) -> str:
    """A part of a notebook: its own look, still pictures, no script."""
    writer = _Writer(Options(), live=False)
    sections = writer.parts(page.sections)
    return str(writer.macros.fragment(sections, own("notebook.css") + _around())).translate(CONTROL)


def places(sections: Iterable[Section], options: Options) -> list[Part]:
    """Sections for a page that fetches its charts: of each there is only the place where it is to be drawn."""
    return _Writer(options, stills=False).parts(sections)


def _around() -> str:
    """The rules under which charts have the colours of a notebook."""
    from rankgauge.show.charts.still import colour_rules
    from rankgauge.show.charts.theme import THEMES

    return colour_rules(".rankgauge .still", {getattr(THEMES["light"], name): to for name, to in AROUND.items()})


def anchor(key: str) -> str:
    """The name of a place on the page, safe whatever the key holds."""
    return f"at-{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


class Part(NamedTuple):
    """A section whose blocks are markup."""

    key: str
    title: str
    body: Markup


class _Writer:
    """Blocks → markup. The specifications of charts and the styles of pictures that it meets are kept."""

    def __init__(self, options: Options, *, live: bool = True, stills: bool = True) -> None:
        self.options, self.live, self.stills, self.macros = options, live, stills, macros()
        self.draws = is_installed()
        self.specs: dict[str, Any] = {}
        self.styles: list[str] = []

    def parts(self, sections: Iterable[Section]) -> list[Part]:
        """The sections, whose blocks are markup."""
        return [Part(each.key, each.title, self.blocks(each.blocks)) for each in sections]

    def blocks(self, blocks: Iterable[Block]) -> Markup:
        """The blocks one after the other; neighbouring charts share a grid."""
        from markupsafe import Markup

        parts: list[Markup] = []
        for charts, group in groupby(blocks, key=lambda block: isinstance(block, model.Chart)):
            if charts and not self.draws:
                parts += self._no_charts()
                continue
            drawn = [made for block in group if (made := WRITERS[type(block)](self, block))]
            parts += [self.macros.gallery(drawn)] if charts and drawn else drawn
        return Markup("\n").join(parts)

    def tiles(self, block: model.Tiles) -> Any:
        shown = [(tile, _tile_cell(tile, self.options.digits)) for tile in block.tiles]
        return self.macros.tiles(shown)

    def fold(self, block: model.Fold) -> Any:
        return self.macros.fold(block, anchor(block.key), self.blocks(block.blocks))

    def picture(self, block: model.Picture) -> Any:
        from markupsafe import Markup

        drawn = block.draw()
        self.styles += re.findall(r"<style>(.*?)</style>", drawn, re.DOTALL)
        return self.macros.picture(block, Markup(drawn))

    def chart(self, block: model.Chart) -> Any:
        """The still picture, and what is needed for the live one. A title that the block lacks is the chart's own."""
        from markupsafe import Markup

        from rankgauge.show.charts.still import apart, still

        key = block.key if block.key not in self.specs else f"{block.key}-{len(self.specs)}"
        if not self.stills:
            self.specs[key] = None
            return self.macros.chart(key, block.title, block.caption, "")
        try:
            title, caption, spec = apart(block.draw())
            drawn = still(spec, anchor(key)) if self.live else still(spec, anchor(str(spec)), NOTEBOOK)
        except RankgaugeError as error:
            return self._not_drawn(error)
        self.specs[key] = spec
        title, caption = block.title or title, block.caption or caption
        return self.macros.chart(key if self.live else "", title, caption, Markup(drawn))

    def _no_charts(self) -> list[Markup]:
        """The line in place of charts that cannot be drawn here; a notebook does without."""
        return [self.macros.text(model.Text(f"{capital(NEEDED)}.", "note"))] if self.live else []

    def _not_drawn(self, error: RankgaugeError) -> Any:
        """A page says what it cannot show; a notebook does without."""
        from markupsafe import Markup

        if not self.live:
            return Markup("")
        return self.macros.text(model.Text(f"No chart of this: {str(error).rstrip('.')}.", "note"))

    def table(self, table: Table) -> Any:
        from markupsafe import Markup

        if table.formats and "html" not in table.formats:
            return Markup("")
        ends = [_ends(table, at) for at in range(len(table.columns))]
        rows = [
            [_cell(cell, column, scale) for cell, column, scale in zip(row, table.columns, ends, strict=True)]
            for row in shown_rows(table, self.options)
        ]
        columns = [_Head(column.head, _kinds(column, ""), column.help) for column in table.columns]
        end = len(rows) - table.foot
        return self.macros.table(table, columns, rows[:end], rows[end:], self.live)


def _tile_cell(tile: model.Tile, digits: int) -> _Shown:
    kind = tile.value.kind if isinstance(tile.value, Mark) else ""
    value = plain_value(tile.value)
    words = printable(cell_text(tile.value, tile.column, digits))
    return _Shown(words if isinstance(value, str) else minus(words), kind, _raw(value))


# ---- tables ----------------------------------------------------------------------------------------------------------


class _Head(NamedTuple):
    """The head of a column, with its classes."""

    head: str
    kinds: str
    help: str


class _Shown(NamedTuple):
    """A cell with its classes, every digit, where it leads to, the class of a grade, the width of a bar, the ends and
    the middle of a span."""

    text: str
    kind: str = ""
    raw: str = ""
    note: str = ""
    link: str = ""
    chip: str = ""
    bar: str | None = None
    span: tuple[float, float, float] | None = None


def _cell(cell: Cell, column: Column, ends: tuple[float, float]) -> _Shown:
    number = column.kind not in LEFT and not isinstance(cell.value, str)
    is_bar = column.kind == "bar" and ends[1] > 0 and isinstance(cell.value, int | float)
    bar = f"{100 * abs(cell.value) / ends[1]:.1f}" if is_bar else None
    loss = "loss" if bar and cell.value < 0 else ""
    text = "" if number and _is_bare_bar(column) else minus(cell.text) if number else cell.text
    return _Shown(
        text,
        " ".join(filter(None, [_kinds(column, cell.text), cell.kind, loss])),
        _raw(cell.value) if number else "",
        cell.note,
        cell.address or (f"#{anchor(cell.link)}" if cell.link else ""),
        _chip(cell.value) if column.kind == "grade" else "",
        bar,
        _span(cell.value, ends) if column.kind == "span" else None,
    )


def _is_bare_bar(column: Column) -> bool:
    """Whether a bar stands alone, without its number; a column of zeros has no bars, and no numbers either."""
    return column.kind == "bar" and not column.head


def _kinds(column: Column, text: str) -> str:
    """Numbers to the right; short texts stay on one line, long ones get room."""
    length = "s" if len(text) <= SHORT else "l" if len(text) > LONG else ""
    drawn = column.kind if column.kind in ("bar", "span") else ""
    kinds = [length if column.kind in LEFT else "n", drawn, "divided" * column.divided]
    return " ".join(filter(None, kinds))


def _ends(table: Table, at: int) -> tuple[float, float]:
    """What fills a cell: of a column of bars its largest number, of a column of spans all of them."""
    kind, cells = table.columns[at].kind, [plain_value(row[at]) for row in table.rows]
    if kind == "bar":
        return 0.0, max((abs(each) for each in cells if isinstance(each, int | float)), default=0.0)
    if kind == "span":
        numbers = [end for each in cells if each is not None for end in each if not is_missing(end)]
        return min(numbers, default=0.0), max(numbers, default=0.0)
    return 0.0, 0.0


def _span(value: Any, ends: tuple[float, float]) -> tuple[float, float, float] | None:
    """Where a span begins, how long it is and where its value lies, in hundredths of the cell."""
    if value is None or is_missing(value.value):
        return None
    low, width = ends[0], (ends[1] - ends[0]) or 1.0
    points = [2 + 96 * ((value.value if is_missing(end) else end) - low) / width for end in (value.low, value.high)]
    return round(points[0], 2), round(points[1] - points[0], 2), round(2 + 96 * (value.value - low) / width, 2)


def _chip(grade: Any) -> str:
    return f"g{max(0, min(4, int(grade)))}" if isinstance(grade, int | float) and not is_missing(grade) else ""


def _raw(value: Any) -> str:
    """Every digit, for sorting and for whoever reads the page with a program; of an interval both ends."""
    ends = [getattr(value, "value", None), value.low, value.high] if hasattr(value, "low") else value
    numbers = [each for each in ends if each is not None] if isinstance(ends, tuple | list) else [ends]
    if any(isinstance(each, str) or is_missing(each) for each in numbers):
        return ""
    return " ".join(repr(float(each)) if isinstance(each, float) else str(each) for each in numbers)


WRITERS: Final[dict[type, Callable[[_Writer, Any], Any]]] = {
    model.Text: lambda writer, block: writer.macros.text(block),
    model.Bullets: lambda writer, block: writer.macros.bullets(block),
    model.Notes: lambda writer, block: writer.macros.notes(block.items),
    model.Tiles: _Writer.tiles,
    model.Code: lambda writer, block: writer.macros.code(block, writer.live),
    model.Fold: _Writer.fold,
    model.Table: _Writer.table,
    model.Chart: _Writer.chart,
    model.Picture: _Writer.picture,
}
