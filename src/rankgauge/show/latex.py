"""Sections → LaTeX: one table in the style of booktabs, which a paper can input; words are comments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rankgauge.show import model
from rankgauge.show.cells import LEFT, Cell, chosen_table, minus, printable, shown_rows
from rankgauge.show.model import Options, Page, Table, every_block

__all__ = ["latex", "latex_text"]

NEEDS: Final = r"% needs \usepackage{booktabs}" + "\n"
SPECIAL: Final = str.maketrans(
    {char: f"\\{char}" for char in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "|": r"\textbar{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "`": r"\textasciigrave{}", '"': "''"}
    | {"–": "--", "−": "$-$", "±": r"$\pm$", "Δ": r"$\Delta$", "†": r"\textdagger{}", "‡": r"\textdaggerdbl{}"}
    | {"\N{REPLACEMENT CHARACTER}": "?", "…": r"\ldots{}", "√": r"$\surd$", "×": r"$\times$", "≤": r"$\le$"}
    | {"≥": r"$\ge$", "→": r"$\to$", "κ": r"$\kappa$", "α": r"$\alpha$", "τ": r"$\tau$", "λ": r"$\lambda$"}
)
FACES: Final = {"best": r"\textbf{%s}", "second": r"\underline{%s}"}


def latex(page: Page, options: Options) -> str:
    """One table that a document can input: the one that is named, the one for papers, or the first.

    Words of its section are comments.
    """
    table = chosen_table(page, options, "latex")
    section = next(each for each in page.sections if any(block is table for block in every_block([each])))
    parts = []
    for block in every_block([section]):
        if block is table:
            parts.append(_table(table, options))
        elif isinstance(block, model.Text):
            parts.append(_comments([block.words]))
        elif isinstance(block, model.Bullets):
            parts.append(_comments([*([block.title] if block.title else []), *block.items]))
        elif isinstance(block, model.Notes):
            parts.append(_comments(block.items))
    return NEEDS + "".join(parts) + _comments([*_others(page, table)])


def _others(page: Page, table: Table) -> Iterator[str]:
    """That there are other tables, and how to get them."""
    others = [block for block in every_block(page.sections) if isinstance(block, Table) and block.key != table.key]
    keys = dict.fromkeys(each.key for each in others if not each.formats or "latex" in each.formats)
    if keys:
        yield f"one table of {len(keys) + 1}; for another --table (table= in Python): {', '.join(keys)}"


def latex_text(words: str) -> str:
    """The text, every character of which stays itself, in LaTeX's own fonts; a number's sign is a minus."""
    return minus(printable(words)).translate(SPECIAL)


def _comments(items: Sequence[str]) -> str:
    return "".join(f"% {printable(item)}\n" for item in items)


def _table(table: Table, options: Options) -> str:
    """A table with a caption floats, and its notes are part of the caption."""
    tabular = "\n".join(_tabular(table, options)) + "\n"
    if not table.caption:
        return tabular + _comments(table.notes)
    words = " ".join([f"{table.caption.removesuffix('.')}.", *table.notes]) if table.notes else table.caption
    head = [r"\begin{table}", r"\centering", rf"\caption{{{latex_text(words)}}}", r"\smallskip"]
    return "\n".join([*head, tabular + r"\end{table}"]) + "\n"


def _tabular(table: Table, options: Options) -> Iterator[str]:
    kept = [at for at, column in enumerate(table.columns) if column.kind != "bar"]
    rows = shown_rows(table, options)
    left = [table.columns[at].kind in LEFT or any(row[at].note for row in rows) for at in kept]
    yield rf"\begin{{tabular}}{{{''.join('l' if each else 'r' for each in left)}}}"
    yield r"\toprule"
    yield " & ".join(latex_text(table.columns[at].head) for at in kept) + r" \\"
    yield r"\midrule"
    for number, row in enumerate(rows):
        if table.foot and number == len(rows) - table.foot:
            yield r"\midrule"
        yield " & ".join(_cell(row[at]) for at in kept) + r" \\"
    yield r"\bottomrule"
    yield r"\end{tabular}"


def _cell(cell: Cell) -> str:
    words = FACES.get(cell.kind, "%s") % latex_text(cell.text)
    return rf"{words}\textsuperscript{{{latex_text(cell.note)}}}" if cell.note else words
