"""Rows of text → a table for a terminal or for Markdown; bars and shortened texts for its cells."""

from __future__ import annotations

from typing import Final

__all__ = ["bar", "markdown_grid", "short", "text_grid"]

EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
BAR, WIDEST = 12, 28


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


def short(text: str, width: int = WIDEST) -> str:
    """The text, with its middle left out where it is long, on one line."""
    text = "".join(char if char.isprintable() else "�" for char in text)
    half = (width - 1) // 2
    return text if len(text) <= width else f"{text[: width - 1 - half]}…{text[-half:]}"


def bar(value: float, most: float, width: int = BAR) -> str:
    """A bar of blocks, an eighth of a character fine; a negative one is hatched."""
    eighths = round(abs(value) / most * width * 8) if most > 0 else 0
    full, part = divmod(eighths, 8)
    text = EIGHTHS[8] * full + EIGHTHS[part].strip()
    return text if value >= 0 else "░" * max(1, len(text))
