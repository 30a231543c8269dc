"""Rows of text → a table for a terminal or for Markdown."""

from __future__ import annotations

__all__ = ["markdown_grid", "text_grid"]


def text_grid(heads: list[str], rows: list[list[str]], *, left: int) -> str:
    """Aligned columns, the first `left` of them to the left, the others (numbers) to the right."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = []
    for row in [heads, *rows]:
        cells = [
            text.ljust(width) if i < left else text.rjust(width)
            for i, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def markdown_grid(heads: list[str], rows: list[list[str]], *, left: int) -> str:
    """The same as a Markdown table."""
    rule = [":--" if i < left else "--:" for i in range(len(heads))]
    escaped = [[text.replace("|", "\\|") for text in row] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in [heads, rule, *escaped]) + "\n"
