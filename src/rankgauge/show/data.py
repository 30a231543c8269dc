"""Sections and data → JSON and CSV for programs: every digit, and one sign for what is missing."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from rankgauge.show import model
from rankgauge.show.cells import chosen_table, is_missing, plain_value, printable
from rankgauge.show.model import Block, Column, Options, Page, Section, Table
from rankgauge.shown import clean

if TYPE_CHECKING:
    import polars as pl

__all__ = ["csv_text", "frame", "json_text", "section_data"]

FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  # how a text begins that a spreadsheet would compute


# ---- JSON ------------------------------------------------------------------------------------------------------------


def json_text(page: Page, options: Options) -> str:
    """The data of the page: everything, every digit; what is no finite number is null."""
    return json.dumps(clean(page.data()), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def section_data(section: Section) -> dict[str, Any]:
    """A section for JSON: raw cells, no charts."""
    blocks = [data for block in section.blocks if (data := _block_data(block)) is not None]
    return {"key": section.key, "title": section.title, "blocks": blocks}


def _block_data(block: Block) -> dict[str, Any] | None:
    kind = {"type": type(block).__name__.lower()}
    if isinstance(block, Table):
        columns = [{"head": each.head, "kind": each.kind, "digits": each.digits} for each in block.columns]
        rows = [[clean(plain_value(cell)) for cell in row] for row in block.rows]
        about = {"key": block.key, "caption": block.caption, "notes": list(block.notes)}
        return kind | about | {"columns": columns, "rows": rows}
    if isinstance(block, model.Tiles):
        tiles = [
            {"label": tile.label, "value": clean(plain_value(tile.value)), "below": tile.below} for tile in block.tiles
        ]
        return kind | {"tiles": tiles}
    if isinstance(block, model.Fold):
        inner = [data for each in block.blocks if (data := _block_data(each)) is not None]
        return kind | {"key": block.key, "title": block.title, "badge": block.badge, "blocks": inner}
    if isinstance(block, model.Chart | model.Picture):
        return None
    return kind | block._asdict()


# ---- CSV -------------------------------------------------------------------------------------------------------------


def csv_text(page: Page, options: Options) -> str:
    """One table, every digit: the one that is named, or that with a row for everything, or the first."""
    heads, rows = _flat(page, options)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(map(_safe, heads))
    writer.writerows([_csv_cell(cell) for cell in row] for row in rows)
    return stream.getvalue()


def frame(page: Page, options: Options) -> pl.DataFrame:
    """The same table as a polars frame; what is missing is null."""
    import polars as pl

    heads, rows = _flat(page, options)
    columns = zip(*rows, strict=True) if rows else [()] * len(heads)
    cells = [[None if is_missing(cell) else cell for cell in column] for column in columns]
    names = [f"{head}_{heads[:at].count(head) + 1}" if head in heads[:at] else head for at, head in enumerate(heads)]
    return pl.DataFrame([pl.Series(name, column, strict=False) for name, column in zip(names, cells, strict=True)])


def _flat(page: Page, options: Options) -> tuple[list[str], list[list[Any]]]:
    """The heads and the cells of the table for programs, ends of intervals in columns of their own."""
    table = chosen_table(page, options, "csv")
    kept = [at for at, column in enumerate(table.columns) if column.key or column.head or column.kind != "bar"]
    columns = {at: _Spread(table.columns[at], [plain_value(row[at]) for row in table.rows]) for at in kept}
    heads = [head for column in columns.values() for head in column.heads]
    rows = [[cell for at, each in columns.items() for cell in each.cells(plain_value(row[at]))] for row in table.rows]
    return heads, rows


class _Spread:
    """A column of a table as columns of CSV: one, or both ends of intervals, or a value and both ends of bands."""

    def __init__(self, column: Column, values: Sequence[Any]) -> None:
        name = column.key or column.head
        self.whole = column.kind == "grade"
        self.ends = any(hasattr(value, "low") for value in values)
        self.interval = not self.ends and any(isinstance(value, tuple | list) for value in values)
        both = [f"{name}_low", f"{name}_high"]
        self.heads = both if self.interval else [name, *both] if self.ends else [name]

    def cells(self, value: Any) -> Iterator[Any]:
        """The cells of a row."""
        if self.ends:
            banded = hasattr(value, "low")
            known = [getattr(value, "value", None), value.low, value.high] if banded else [value] * 3
            yield from known
        elif self.interval:
            yield from value if isinstance(value, tuple | list) else (None, None)
        else:
            whole = self.whole and isinstance(value, float) and value.is_integer()
            yield int(value) if whole else value


def _csv_cell(value: Any) -> Any:
    if is_missing(value):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return _safe(value) if isinstance(value, str) else value


def _safe(text: str) -> str:
    """The text, which no spreadsheet takes for a formula."""
    if not text.startswith(FORMULA):
        return printable(text)
    try:
        float(text)
    except ValueError:
        return f"'{printable(text)}"
    return text
