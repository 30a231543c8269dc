"""The one model of a table, and its renderings: for a terminal, Markdown, LaTeX and HTML; bars and shortened texts.

A cell is a text with what a paper says about it: whether it is the best or the second of its kind, and the letters or
daggers of significance. Names come from users: each format escapes what would mean something else in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

__all__ = [
    "MISSING",
    "Cell",
    "Grid",
    "bar",
    "bold",
    "html_table",
    "latex_table",
    "latex_text",
    "markdown_grid",
    "markdown_table",
    "markdown_text",
    "padded",
    "ranked",
    "short",
    "text_grid",
    "text_table",
]

EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
BAR, WIDEST = 12, 28
MISSING: Final = "–"
ENOUGH: Final = 3  # cells of a kind, from which on the second is worth a mark


@dataclass(frozen=True, slots=True)
class Cell:
    """A text; whether it is the best or the second of its kind; letters or daggers of significance."""

    text: str
    best: bool = False
    second: bool = False
    mark: str = ""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table: its title, the heads, the rows, how many columns are text; the number of rows that end it, set apart."""

    title: str
    heads: list[str]
    rows: list[list[Cell]]
    left: int
    last: int = 0

    @property
    def marked(self) -> list[bool]:
        """For each column whether a cell has a mark: such columns line up at the left, before the marks."""
        return [any(row[at].mark for row in self.rows) for at in range(len(self.heads))]


def ranked(cells: Sequence[Cell]) -> list[Cell]:
    """The same cells, with the best and the second marked, by the digits that are shown.

    There is a second of three or more, where one alone is the best.
    """
    numbers = [_number(cell.text) for cell in cells]
    found = sorted({number for number in numbers if number is not None}, reverse=True)
    best, second = (found[at] if at < len(found) else None for at in (0, 1))
    seconds = sum(number is not None for number in numbers) >= ENOUGH and numbers.count(best) == 1
    return [
        replace(cell, best=number is not None and number == best, second=seconds and None is not number == second)
        for cell, number in zip(cells, numbers, strict=True)
    ]


def _number(text: str) -> float | None:
    """A cell's number; None for what is missing, and for a range."""
    try:
        return float(text)
    except ValueError:
        return None


# ---- a terminal ------------------------------------------------------------------------------------------------------


def text_table(grid: Grid, *, with_bold: bool = False) -> str:
    """Aligned columns, the text to the left and the numbers to the right."""
    rows = [[Cell(head) for head in grid.heads], *grid.rows]
    texts = [[_printable(cell.text + cell.mark) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    lines = [grid.title] if grid.title else []
    for row, line in zip(rows, texts, strict=True):
        cells = [padded(text, widths[at], at < grid.left) for at, text in enumerate(line)]
        marked = [bold(text) if cell.best and with_bold else text for cell, text in zip(row, cells, strict=True)]
        lines.append("  ".join(marked).rstrip())
    if grid.last:
        lines.insert(len(lines) - grid.last, "-" * (sum(widths) + 2 * (len(widths) - 1)))
    return "\n".join(lines) + "\n"


def text_grid(heads: list[str], rows: list[list[str]], *, left: int) -> str:
    """The same of plain texts."""
    return text_table(_plain(heads, rows, left))


def _plain(heads: list[str], rows: Iterable[list[str]], left: int) -> Grid:
    return Grid("", heads, [list(map(Cell, row)) for row in rows], left)


def padded(text: str, width: int, left: bool) -> str:
    """The text with blanks after it (left) or before it."""
    return text.ljust(width) if left else text.rjust(width)


def bold(text: str) -> str:
    """The text in bold, on a terminal."""
    return f"\x1b[1m{text}\x1b[0m"


# ---- Markdown --------------------------------------------------------------------------------------------------------

# What Markdown reads as something else; an underscore within a word is one.
SPECIAL: Final = re.compile(r"[\\`*\[\]|~$]|<(?=[a-zA-Z/!?])|&(?=[#\w]+;)|(?<![^\W_])_|_(?![^\W_])")


def markdown_text(text: str) -> str:
    """The text, every character of which stays itself."""
    return SPECIAL.sub(lambda found: f"\\{found[0]}", _printable(text))


def markdown_table(grid: Grid) -> str:
    """A table of GitHub's Markdown, under its title."""
    left = [at < grid.left or marked for at, marked in enumerate(grid.marked)]
    rows = [[_markdown_cell(cell) for cell in row] for row in grid.rows]
    lines = [list(map(markdown_text, grid.heads)), [":--" if each else "--:" for each in left], *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
    return f"**{markdown_text(grid.title)}**\n\n{table}" if grid.title else table


def markdown_grid(heads: list[str], rows: list[list[str]], *, left: int) -> str:
    """The same of plain texts."""
    return markdown_table(_plain(heads, rows, left))


def _markdown_cell(cell: Cell) -> str:
    text = markdown_text(cell.text)
    text = f"**{text}**" if cell.best else f"<u>{text}</u>" if cell.second else text
    return f"{text}<sup>{cell.mark}</sup>" if cell.mark else text


# ---- LaTeX -----------------------------------------------------------------------------------------------------------

LATEX: Final = str.maketrans(
    {char: f"\\{char}" for char in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "|": r"\textbar{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "`": r"\textasciigrave{}", '"': "''"}
    | {"–": "--", "−": "$-$", "±": r"$\pm$", "Δ": r"$\Delta$", "†": r"\textdagger{}", "‡": r"\textdaggerdbl{}"}
    | {"\N{REPLACEMENT CHARACTER}": "?", "…": r"\ldots{}", "√": r"$\surd$", "×": r"$\times$", "≤": r"$\le$"}
)


MINUS: Final = re.compile(r"(?<![\w.])-(?=[\d.])")


def latex_text(text: str) -> str:
    """The text, every character of which stays itself, in LaTeX's own fonts; a number's sign is a minus."""
    return MINUS.sub("−", _printable(text)).translate(LATEX)


def latex_table(grid: Grid, *, caption: str = "") -> str:
    """A table in the style of booktabs; with a caption it floats."""
    lines = [" & ".join(map(latex_text, grid.heads)) + r" \\", r"\midrule"]
    lines += [" & ".join(map(_latex_cell, row)) + r" \\" for row in grid.rows]
    if grid.last:
        lines.insert(len(lines) - grid.last, r"\midrule")
    columns = "".join("l" if at < grid.left or marked else "r" for at, marked in enumerate(grid.marked))
    tabular = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", *lines, r"\bottomrule", r"\end{tabular}"]
    if caption:
        head = [r"\begin{table}", r"\centering", rf"\caption{{{latex_text(caption)}}}", r"\smallskip"]
        tabular = [*head, *tabular, r"\end{table}"]
    title = [f"% {_printable(grid.title)}"] if grid.title else []
    return "\n".join([*title, *tabular]) + "\n"


def _latex_cell(cell: Cell) -> str:
    text = latex_text(cell.text)
    text = rf"\textbf{{{text}}}" if cell.best else rf"\underline{{{text}}}" if cell.second else text
    return rf"{text}\textsuperscript{{{latex_text(cell.mark)}}}" if cell.mark else text


# ---- HTML ------------------------------------------------------------------------------------------------------------


def html_table(grid: Grid) -> str:
    """A table for a page or a notebook."""
    from html import escape

    kinds = [' class="rg-name"' if at < grid.left or marked else "" for at, marked in enumerate(grid.marked)]
    head = "".join(f"<th{kind}>{escape(_printable(text))}</th>" for text, kind in zip(grid.heads, kinds, strict=True))
    rows = (
        "".join(f"<td{kind}>{_html_text(cell)}</td>" for cell, kind in zip(r, kinds, strict=True)) for r in grid.rows
    )
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    caption = f"<caption>{escape(_printable(grid.title))}</caption>" if grid.title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _html_text(cell: Cell) -> str:
    from html import escape

    text = escape(_printable(cell.text))
    text = f"<b>{text}</b>" if cell.best else f"<u>{text}</u>" if cell.second else text
    return f"{text}<sup>{escape(cell.mark)}</sup>" if cell.mark else text


# ---- texts and bars --------------------------------------------------------------------------------------------------


def _printable(text: str) -> str:
    return text if text.isprintable() else "".join(char if char.isprintable() else "�" for char in text)


def short(text: str, width: int = WIDEST) -> str:
    """The text, with its middle left out where it is long, on one line."""
    text = _printable(text)
    half = (width - 1) // 2
    return text if len(text) <= width else f"{text[: width - 1 - half]}…{text[-half:]}"


def bar(value: float, most: float, width: int = BAR) -> str:
    """A bar of blocks, an eighth of a character fine; a negative one is hatched."""
    eighths = round(abs(value) / most * width * 8) if most > 0 else 0
    full, part = divmod(eighths, 8)
    text = EIGHTHS[8] * full + EIGHTHS[part].strip()
    return text if value >= 0 else "░" * max(1, len(text))
