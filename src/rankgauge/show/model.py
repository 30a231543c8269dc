"""What is shown, before anyone decides how it looks: titles, texts, tables of raw cells, charts as functions.

A result yields sections. Text, Markdown, LaTeX, HTML, JSON, CSV, the notebook, the report and the web are renderings of
the same sections, so a number cannot be one thing on the page and another in the data. All of it is named tuples: they
cannot be changed, and are made known in a tenth of the time of dataclasses, which every command would wait for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property, partial
from importlib import import_module
from typing import Any, Final, NamedTuple, TypeAlias

__all__ = [
    "DELTAS",
    "Block",
    "Bullets",
    "Chart",
    "Code",
    "Column",
    "Contest",
    "Fold",
    "Later",
    "Mark",
    "Notes",
    "Options",
    "Page",
]
__all__ += ["Picture", "Section", "Table", "Text", "Tile", "Tiles", "capital", "chart_of", "every_block", "ranked"]
__all__ += ["sentence"]

EVERYWHERE: Final[frozenset[str]] = frozenset()
# How a table shows the differences from the baseline.
DELTAS: Final = {
    "absolute": "in the units of the measure",
    "relative": "in percent of the baseline",
    "none": "not at all",
}


class Options(NamedTuple):
    """How to render: decimals, the width of a terminal (None: as wide as need be), colours, one table or chart.

    `notes`: how many lines of notes stand below a table (None: all), and `more` says how to see the others. `quiet`:
    tables alone.
    """

    digits: int = 4
    width: int | None = None
    colours: bool = False
    only: str = ""
    notes: int | None = 3
    more: str = "show(notes=True)"
    quiet: bool = False


class Mark(NamedTuple):
    """A cell that stands out.

    `kind`: best, second, good, bad, warn, quiet or self. `note`: letters or daggers of significance. `link`: the fold
    on the page that it leads to. `address`: another page that it leads to, where there are pages.
    """

    value: Any
    kind: str = ""
    link: str = ""
    note: str = ""
    address: str = ""


class Column(NamedTuple):
    """A column: its head, what its cells hold (see `cells.TEXTS`), and how many decimals are shown, if not as many as
    were asked for.

    `key` is its name for programs, where that is not the head. `divided`: a line stands before it. `aside`: a text that
    is too narrow for the table does without it, and if need be with shorter bars or none.
    """

    head: str
    kind: str = "text"
    digits: int | None = None
    help: str = ""
    key: str = ""
    divided: bool = False
    aside: bool = False


# Cells, as (row, column), of which the best and the second are marked, by the digits that are shown.
Contest: TypeAlias = Sequence[tuple[int, int]]


class Table(NamedTuple):
    """Raw cells under columns.

    `search` puts a field above it, `sort` lets a reader order it by any column. `foot` rows at the end are set apart.
    `formats` are the only ones that show it, if there are any: one for "csv" alone is for programs, and comes first
    there.
    """

    key: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = ()
    contests: Sequence[Contest] = ()
    foot: int = 0
    search: bool = False
    sort: bool = True
    formats: frozenset[str] = EVERYWHERE

    @classmethod
    def of_rows(
        cls, rows: Iterable[Mapping[str, Any]], key: str = "rows", heads: Iterable[str] = (), **more: Any
    ) -> Table:
        """A table for programs: the keys of the rows are its columns; `heads` are, where there may be no row."""
        listed = list(rows)
        columns = [Column(name) for name in (listed[0] if listed else heads)]
        return cls(key, "", columns, [list(row.values()) for row in listed], formats=frozenset({"csv"}), **more)

    @classmethod
    def of_columns(cls, key: str, caption: str, columns: Iterable[tuple[Column, Iterable[Any]]], **more: Any) -> Table:
        """A table whose columns are given with their cells."""
        heads, cells = zip(*columns, strict=True)
        return cls(key, caption, heads, [list(row) for row in zip(*cells, strict=True)], **more)


class Text(NamedTuple):
    """A paragraph; `kind` is `lead` (the answer), `head` (a small heading), `note` (small print) or `warning`.

    An answer that is good, bad or neither has the kind `good`, `bad` or `warn`.
    """

    words: str
    kind: str = ""


class Bullets(NamedTuple):
    """Sentences, one a line; `kind` as for a text. `title` stands above them.

    `links`: for each sentence the section that has the evidence, on a page.
    """

    items: Sequence[str]
    kind: str = ""
    title: str = ""
    links: Sequence[str] = ()


class Later(Sequence[str]):
    """Lines that are made when they are first shown; a format without notes does without the checks behind them."""

    def __init__(self, made: Callable[[], Iterable[str]]) -> None:
        self._made = made

    @cached_property
    def _lines(self) -> list[str]:
        return [*self._made()]

    def __getitem__(self, at: Any) -> Any:
        return self._lines[at]

    def __len__(self) -> int:
        return len(self._lines)


class Notes(NamedTuple):
    """Small print: what to know about the numbers, a line each."""

    items: Sequence[str]


class Tile(NamedTuple):
    """A number that is seen first: what it is, the number, and a word below it."""

    label: str
    column: Column
    value: Any
    below: str = ""


class Tiles(NamedTuple):
    """Such numbers in a row."""

    tiles: Sequence[Tile]


class Code(NamedTuple):
    """A command to copy."""

    text: str


class Chart(NamedTuple):
    """A chart, with what it shows and how it is to be read. `draw` makes it (Altair), where somebody can draw.

    Without a title or a caption it has those that it was drawn with.
    """

    key: str
    title: str
    caption: str
    draw: Callable[[], Any]


def chart_of(kind: str, source: Any, *, key: str = "", **options: Any) -> Chart:
    """The chart of this kind, as `rankgauge.charts` has it; what draws it is imported when somebody does."""
    return Chart(key or kind, "", "", partial(_drawn, kind, source, **options))


def _drawn(kind: str, source: Any, **options: Any) -> Any:
    """A function of the module, so that another process can draw, too."""
    return getattr(import_module("rankgauge.show.charts"), kind.replace("-", "_"))(source, **options)


class Picture(NamedTuple):
    """A drawing by hand: `draw` returns SVG."""

    key: str
    title: str
    draw: Callable[[], str]


class Fold(NamedTuple):
    """Blocks behind one line that opens them; `badge` is the short text at its end."""

    key: str
    title: str
    blocks: Sequence[Block]
    badge: str = ""
    open: bool = False


Block: TypeAlias = Text | Bullets | Notes | Table | Tiles | Code | Chart | Picture | Fold


class Section(NamedTuple):
    """A part of what is shown, with the name that links lead to."""

    key: str
    title: str
    blocks: Sequence[Block] = ()


class Page(NamedTuple):
    """Everything that is shown of a result. `data` makes what JSON holds: everything, every digit."""

    title: str
    sections: Sequence[Section]
    data: Callable[[], Any]
    subtitle: str = ""

    def tables_alone(self) -> Page:
        """The page without its words: no sentence, no note, no picture."""
        sections = [
            each._replace(blocks=[block._replace(notes=()) for block in each.blocks if isinstance(block, Table)])
            for each in self.sections
        ]
        return self._replace(sections=sections)


def every_block(sections: Iterable[Section]) -> Iterable[Block]:
    """Every block, those behind folds too."""
    for section in sections:
        yield from _unfolded(section.blocks)


def _unfolded(blocks: Iterable[Block]) -> Iterable[Block]:
    for block in blocks:
        yield block
        if isinstance(block, Fold):
            yield from _unfolded(block.blocks)


def ranked(rows: Iterable[int], columns: Iterable[int]) -> list[Contest]:
    """A contest for each column, among these rows."""
    competing = list(rows)
    return [[(row, column) for row in competing] for column in columns]


def capital(text: str, names: Collection[str] = ()) -> str:
    """The text with a capital letter, unless it begins with one of these names, or with what is no plain word and so
    may be one: nDCG@10, gm_map, shop/store.db."""
    first = re.match(r"[a-z]+(-[a-z]+)*(?=[\s,;]|$)", text)
    return text if first is None or first[0] in names else text[:1].upper() + text[1:]


def sentence(text: str, names: Collection[str] = ()) -> str:
    """A message as a sentence."""
    return f"{capital(text, names).rstrip('.')}."
