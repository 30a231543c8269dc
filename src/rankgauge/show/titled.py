"""Table: a titled table with notes as a value, for a terminal, for Markdown, for a page."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from rankgauge.show.grid import Cell, Grid, html_table, markdown_table, text_table

__all__ = ["Table"]


@dataclass(frozen=True, slots=True)
class Table:
    """A table of texts, of which the first `left` columns are words; what to know about it stands in the notes."""

    title: str
    heads: list[str]
    rows: list[list[str]]
    left: int = 1
    notes: tuple[str, ...] = ()

    @property
    def grid(self) -> Grid:
        """The table without its notes."""
        return Grid(self.title, self.heads, [list(map(Cell, row)) for row in self.rows], self.left)

    def text(self) -> str:
        """Aligned columns under the title, the notes below."""
        return text_table(self.grid) + "".join(f"{note}\n" for note in self.notes)

    def markdown(self) -> str:
        """The same as Markdown."""
        return markdown_table(self.grid) + "".join(f"\n{note}\n" for note in self.notes)

    def html(self) -> str:
        """The same for a page or a notebook."""
        notes = "".join(f"<p style='font-size:smaller'>{escape(note)}</p>" for note in self.notes)
        return html_table(self.grid) + notes
