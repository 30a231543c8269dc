"""What a page is made of, before anyone decides how it looks: texts, tables of raw numbers, charts.

A section of the report is a function that yields blocks. HTML, Markdown and JSON are three renderings of the same
blocks, so a number cannot be one thing on the page and another in the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from rankgauge.comparison.verdict import p_text

__all__ = ["Block", "Bullets", "Chart", "Code", "Column", "Fold", "Mark", "Section", "Table", "Text", "Tile", "Tiles"]
__all__ += ["as_data", "capital", "cell_text", "interval_text", "number_text", "plain_value"]

MISSING: Final = "–"


@dataclass(frozen=True, slots=True)
class Mark:
    """A cell that stands out: `best`, `good`, `bad` or `quiet`; `link` is the place on the page that it leads to."""

    value: Any
    kind: str = ""
    link: str = ""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its head, what its cells hold (see `TEXTS`), and how many decimals are shown."""

    head: str
    kind: str = "text"
    digits: int = 4
    help: str = ""

    @property
    def is_number(self) -> bool:
        """Whether it is aligned and sorted as numbers."""
        return self.kind not in LEFT


@dataclass(frozen=True, slots=True)
class Table:
    """Raw cells under columns. `search` puts a field above it, `sort` lets a reader order it by any column."""

    key: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Any]]
    search: bool = False
    sort: bool = True
    note: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph; `kind` is `lead` (the answer), `note` (small print) or `warning`."""

    words: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Bullets:
    """Sentences, one a line; `kind` as for a text."""

    items: Sequence[str]
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Tile:
    """A number that is seen first: what it is, the number, and a word below it."""

    label: str
    column: Column
    value: Any
    below: str = ""


@dataclass(frozen=True, slots=True)
class Tiles:
    """Such numbers in a row."""

    tiles: Sequence[Tile]


@dataclass(frozen=True, slots=True)
class Code:
    """A command to copy."""

    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A Vega-Lite specification, with what it shows and how it is to be read."""

    key: str
    title: str
    caption: str
    spec: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks behind one line that opens them; `badge` is the short text at its end."""

    key: str
    title: str
    blocks: Sequence[Block]
    badge: str = ""
    open: bool = False


Block: TypeAlias = Text | Bullets | Table | Tiles | Code | Chart | Fold


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report, with the name that links lead to."""

    key: str
    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)


def capital(text: str) -> str:
    """The text with a capital letter, unless it begins with a name such as nDCG@10."""
    return text if text[1:2].isupper() else text[:1].upper() + text[1:]


# ---- cells → text ----------------------------------------------------------------------------------------------------


def _missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def _minus(text: str) -> str:
    """A number with the minus sign that charts have."""
    return text.replace("-", "−")


def number_text(value: float | None, digits: int = 4, *, sign: bool = False) -> str:
    """A number as every text of the report writes it; what is missing is a dash."""
    return MISSING if _missing(value) else _minus(f"{value:{'+' * sign}.{digits}f}")


def interval_text(ends: Sequence[float], digits: int = 4, *, sign: bool = False) -> str:
    """From the one end to the other; a dash where there is no interval."""
    return MISSING if any(map(_missing, ends)) else " to ".join(number_text(end, digits, sign=sign) for end in ends)


def _plain(value: Any, digits: int) -> str:
    return _minus(f"{value:g}")


# Kind of a column → the text of a cell. What is missing is a dash, whatever the kind.
TEXTS: Final[dict[str, Callable[[Any, int], str]]] = {
    "text": lambda value, digits: str(value),
    "query": lambda value, digits: str(value),
    "count": lambda value, digits: f"{value:,}",
    "rank": lambda value, digits: str(value),
    "grade": _plain,
    "gain": _plain,
    "number": number_text,
    "signed": lambda value, digits: number_text(value, digits, sign=True),
    "percent": lambda value, digits: f"{number_text(100 * value, digits, sign=True)} %",
    "share": lambda value, digits: f"{number_text(100 * value, digits)} %",
    "interval": interval_text,
    "p": lambda value, digits: p_text(value),
    "bar": number_text,
}
LEFT: Final = frozenset({"text", "query"})


def plain_value(cell: Any) -> Any:
    """What a cell holds, without its mark."""
    return cell.value if isinstance(cell, Mark) else cell


def cell_text(cell: Any, column: Column) -> str:
    """A cell as it is shown."""
    value = plain_value(cell)
    if _missing(value):
        return MISSING
    if isinstance(value, str):
        return value
    return TEXTS[column.kind](value, column.digits)


# ---- blocks → data ---------------------------------------------------------------------------------------------------


def as_data(block: Block | Section) -> dict[str, Any]:
    """The block for JSON: every number with every digit."""
    if isinstance(block, Section):
        return {"key": block.key, "title": block.title, "blocks": [as_data(each) for each in block.blocks]}
    return {"type": type(block).__name__.lower()} | _fields(block)


def _fields(block: Block) -> dict[str, Any]:
    if isinstance(block, Table):
        columns = [{"head": each.head, "kind": each.kind, "digits": each.digits} for each in block.columns]
        rows = [[_json_value(plain_value(cell)) for cell in row] for row in block.rows]
        return {"key": block.key, "caption": block.caption, "note": block.note, "columns": columns, "rows": rows}
    if isinstance(block, Tiles):
        return {
            "tiles": [
                {"label": tile.label, "value": _json_value(tile.value), "below": tile.below} for tile in block.tiles
            ]
        }
    if isinstance(block, Fold):
        inner = [as_data(each) for each in block.blocks]
        return {"key": block.key, "title": block.title, "badge": block.badge, "blocks": inner}
    if isinstance(block, Chart):
        return {"key": block.key, "title": block.title, "caption": block.caption, "spec": block.spec}
    if isinstance(block, Code):
        return {"text": block.text}
    if isinstance(block, Bullets):
        return {"items": list(block.items), "kind": block.kind}
    return {"words": block.words, "kind": block.kind}


def _json_value(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_json_value(each) for each in value]
    return None if _missing(value) else value
