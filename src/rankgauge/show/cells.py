"""Raw cells → what is shown of them: the text, whether it is the best of its kind, and the marks of significance."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from rankgauge.comparison.verdict import p_text, percent
from rankgauge.errors import InputError, choices
from rankgauge.show.model import Column, Mark, Options, Page, Table, every_block

__all__ = ["LEFT", "MISSING", "Cell", "cell_text", "interval_text", "is_missing", "minus", "number_text", "p_text"]
__all__ += ["aged", "chosen_table", "drawable", "interval_column", "plain_value", "printable", "shown_rows"]

MISSING: Final = "–"
SIGN: Final = re.compile(r"(?<![\w.])-(?=[\d.])")  # of a number
NO_XML: Final = "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # compiled when first used: it takes a while
ENOUGH: Final = 3  # cells of a contest, from which on the second is worth a mark


class Cell(NamedTuple):
    """A cell as it is shown: its text, kind, note, link and address as in `Mark`, and the raw value."""

    text: str
    kind: str = ""
    note: str = ""
    link: str = ""
    value: Any = None
    address: str = ""


def is_missing(value: Any) -> bool:
    """Whether there is no value: None, or no finite number."""
    return value is None or (isinstance(value, float) and not math.isfinite(value))


# ---- numbers → text --------------------------------------------------------------------------------------------------


def number_text(value: float | None, digits: int = 4, *, sign: bool = False) -> str:
    """A number with so many decimals; what is missing is a dash, and nothing is never negative."""
    if value is None or not math.isfinite(value):
        return MISSING
    rounded = round(value, digits) + 0.0
    return f"{rounded:{'+' * bool(sign and rounded != 0)}.{digits}f}"


def interval_text(ends: Sequence[float | None], digits: int = 4, *, sign: bool = False) -> str:
    """From the one end to the other; a dash where there is no interval."""
    return MISSING if any(map(is_missing, ends)) else " to ".join(number_text(end, digits, sign=sign) for end in ends)


def _band_text(band: Any, text: Callable[[Any, int], str], digits: int) -> str:
    """From the lowest to the highest: one number where the digits shown are the same; ≤ and ≥: at least so wide."""
    low, high = (text(end, digits) for end in ((band.low, band.high) if hasattr(band, "low") else band))
    if low == high:
        return low
    return f"{low} to {high}" if getattr(band, "exact", True) else f"≤{low} to ≥{high}"


# Kind of a column → the text of a cell. What is missing is a dash, whatever the kind.
TEXTS: Final[dict[str, Callable[[Any, int], str]]] = {
    "text": lambda value, digits: str(value),
    "query": lambda value, digits: str(value),
    "titled": lambda value, digits: str(value),  # an id and a text, which may be cut
    "count": lambda value, digits: f"{round(value):,}",
    "plain": lambda value, digits: f"{value:,.10g}",  # as short as it is: a limit, a sum of weights
    "rank": lambda value, digits: str(value),
    "grade": lambda value, digits: f"{value:g}",
    "gain": lambda value, digits: f"{value:g}",
    "size": lambda value, digits: number_text(value, digits) if value >= 10.0 ** (1 - digits) else f"{value:.2g}",
    "number": number_text,
    "signed": lambda value, digits: number_text(value, digits, sign=True),
    "amount": lambda value, digits: f"{value:+.{digits}g}",  # in the units of the user's table
    "percent": lambda value, digits: f"{number_text(100 * value, digits, sign=True)} %",
    "share": lambda value, digits: f"{number_text(100 * value, digits)} %",
    "interval": interval_text,
    "span": number_text,  # a value with two ends; a page draws them on the scale of the column
    "signed interval": lambda value, digits: interval_text(value, digits, sign=True),
    "share interval": lambda value, digits: f"{interval_text([100 * end for end in value], digits)} %",
    "amount interval": lambda value, digits: " to ".join(f"{end:+.{digits}g}" for end in value),
    "p": lambda value, digits: p_text(value),
    "bar": number_text,
    "yes": lambda value, digits: "yes" if value else "no",
}
LEFT: Final = frozenset({"text", "query", "titled", "yes"})
DIGITS: Final = {"share": 1, "percent": 1, "share interval": 1}  # decimals of a kind, if its column says nothing


def plain_value(cell: Any) -> Any:
    """What a cell holds, without its mark."""
    return cell.value if isinstance(cell, Mark) else cell


def cell_text(cell: Any, column: Column, digits: int = 4) -> str:
    """A cell as it is shown; a text stays itself under any kind of column."""
    value = plain_value(cell)
    if isinstance(value, str):
        return value
    ends = (value.low, value.high) if hasattr(value, "low") else value if isinstance(value, tuple | list) else ()
    if is_missing(value) or any(map(is_missing, ends)):
        return MISSING
    decimals = column.digits if column.digits is not None else DIGITS.get(column.kind, digits)
    if "interval" not in column.kind and (isinstance(value, tuple) or hasattr(value, "low")):
        return _band_text(value, TEXTS[column.kind], decimals)
    return TEXTS[column.kind](value, decimals)


def minus(text: str) -> str:
    """The text, whose numbers have a minus sign where they have a hyphen."""
    return SIGN.sub("−", text)


def printable(text: str) -> str:
    """The text on one line, without control characters."""
    return text if text.isprintable() else "".join(char if char.isprintable() else "�" for char in text)


def drawable(text: str) -> str:
    """The text without characters that no XML can hold, over which a converter would end the process."""
    return re.sub(NO_XML, "\N{REPLACEMENT CHARACTER}", text)


def interval_column(alpha: float, key: str, kind: str = "interval", digits: int | None = None) -> Column:
    """The column of the intervals of what is under this key."""
    return Column(f"{percent(alpha)} interval", kind, digits, key=key)


# ---- tables → cells --------------------------------------------------------------------------------------------------


def shown_rows(table: Table, options: Options) -> list[list[Cell]]:
    """The rows as they are shown, with the winners of the contests marked."""
    rows = [
        [_cell(cell, column, options.digits) for cell, column in zip(row, table.columns, strict=True)]
        for row in table.rows
    ]
    for contest in table.contests:
        for (at, column), kind in zip(contest, _places([rows[at][column] for at, column in contest]), strict=True):
            rows[at][column] = rows[at][column]._replace(kind=kind or rows[at][column].kind)
    return rows


def _cell(cell: Any, column: Column, digits: int) -> Cell:
    text = printable(cell_text(cell, column, digits))
    if isinstance(cell, Mark):
        return Cell(text, cell.kind, cell.note, cell.link, cell.value, cell.address)
    return Cell(text, value=cell)


def _places(cells: Sequence[Cell]) -> list[str]:
    """best, second or nothing for each cell, by the digits that are shown.

    There is a second of three or more, where one alone is the best.
    """
    numbers = [_number(cell) for cell in cells]
    highest = sorted({number for number in numbers if number is not None}, reverse=True)
    places = dict.fromkeys(highest[:1], "best")
    if sum(number is not None for number in numbers) >= ENOUGH and numbers.count(highest[0]) == 1:
        places |= dict.fromkeys(highest[1:2], "second")
    return ["" if number is None else places.get(number, "") for number in numbers]


def _number(cell: Cell) -> float | None:
    """The number that is shown; None for what is missing, and for a range."""
    try:
        return float(cell.text.replace(",", "").removesuffix(" %"))
    except ValueError:
        return None


def chosen_table(page: Page, options: Options, format: str) -> Table:
    """The table of a page in a format that holds one: that which is named, the first meant for it, or the first."""
    tables = [block for block in every_block(page.sections) if isinstance(block, Table)]
    fitting = sorted(tables, key=lambda table: 0 if format in table.formats else 2 if table.formats else 1)
    chosen = [table for table in fitting if options.only in ("", table.key)]
    if not chosen:
        named = f"; there are {choices(dict.fromkeys(each.key for each in tables))}" if tables else ""
        what = repr(options.only) if options.only else f"for {format}"
        raise InputError(f"there is no table {what}{named}")
    return chosen[0]


def aged(ages: Mapping[str, str]) -> str:
    """Names with their ages, those of the same age together: live, reranked asked just now; fixed asked 3 days ago."""
    together = {age: [name for name, each in ages.items() if each == age] for age in dict.fromkeys(ages.values())}
    return "; ".join(f"{', '.join(names)} asked {age}" for age, names in together.items())
