"""Leaderboards → text: tables for people, JSON and CSV for machines, Markdown and LaTeX for documents, HTML."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Final

from rankgauge.comparison.verdict import BETTER, WORSE, percent
from rankgauge.show.grid import (
    MISSING,
    Cell,
    Grid,
    html_table,
    latex_table,
    markdown_table,
    markdown_text,
    ranked,
    short,
    text_table,
)
from rankgauge.show.marks import DAGGERS, change, legend, letter, letters
from rankgauge.show.svg.drawing import page

if TYPE_CHECKING:
    from rankgauge.comparison.leaderboard.board import Board, Standing
    from rankgauge.comparison.leaderboard.leaderboard import Leaderboard

__all__ = ["BOARD_FORMATS", "Style", "html", "show"]

ACROSS: Final = 12  # columns of values that a terminal shows side by side
NAME: Final = 14  # characters of a name over a column of a terminal


@dataclass(frozen=True, slots=True)
class Style:
    """What to show and how."""

    digits: int = 4
    bold: bool = False
    deltas: str = "absolute"


def show(leaderboard: Leaderboard, format: str = "table", style: Style | None = None) -> str:
    """The leaderboard in one of the formats, ending in a newline."""
    return BOARD_FORMATS[format](leaderboard, style or Style())


# ---- what the tables hold --------------------------------------------------------------------------------------------


def _standings(leaderboard: Leaderboard, board: Board, style: Style, *, marked: bool) -> Grid:
    """A row per system, in the order of rank; with marks of significance, as papers have them."""
    ways = leaderboard.ways
    level = percent(ways.alpha)
    standings = list(board.standings.values())
    marks = _marks(board, ways.baseline) if marked else {}
    means = [Cell(_number(each.macro, style), mark=marks.get(each.system, "")) for each in standings]
    columns: dict[str, list[Cell]] = {"system": [Cell(each.system) for each in standings]}
    columns |= {"macro": ranked(means), f"{level} interval": [_interval(each, style) for each in standings]}
    if ways.baseline is not None and style.deltas != "none":
        against = board.standings[ways.baseline].macro
        columns["Δ"] = [_delta(each, ways.baseline, against, style) for each in standings]
    columns["median"] = ranked([Cell(_number(each.median, style)) for each in standings])
    columns["rank"] = [Cell(str(each.rank or MISSING)) for each in standings]
    columns[f"{level} of ranks"] = [Cell(_ranks(each.rank_interval)) for each in standings]
    columns["possible"] = [Cell(_ranks(each.rank_range)) for each in standings]
    columns["Borda"] = ranked(
        [Cell(_number(each.borda, Style(digits=0 if _whole(board) else 1))) for each in standings]
    )
    columns["group"] = [Cell(", ".join(map(str, each.groups)) or MISSING) for each in standings]
    if marked and ways.baseline is None:
        columns = {"": [Cell(letter(at)) for at in range(len(standings))]} | columns
    title = f"{board.measure}, macro-average over {len(board.cells):,} data sets"
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    return Grid(title, list(columns), rows, 1 + ("" in columns))


def _number(value: float, style: Style) -> str:
    return MISSING if value != value else f"{value:.{style.digits}f}"


def _interval(standing: Standing, style: Style) -> Cell:
    low, high = (_number(end, style) for end in standing.interval)
    return Cell(f"{low} to {high}" if all(map(math.isfinite, standing.interval)) else MISSING)


def _delta(standing: Standing, baseline: str | None, against: float, style: Style) -> Cell:
    if standing.missing or standing.system == baseline:
        return Cell(MISSING)
    return Cell(change(standing.macro, against, style.deltas, style.digits))


def _ranks(ends: tuple[int, int] | None) -> str:
    if ends is None:
        return MISSING
    low, high = ends
    return str(low) if low == high else f"{low} to {high}"


def _whole(board: Board) -> bool:
    return all(standing.missing or standing.borda.is_integer() for standing in board.standings.values())


def _marks(board: Board, baseline: str | None) -> dict[str, str]:
    """System → its dagger, or the letters of the systems that it beats."""
    if baseline is not None:
        return {pair.a: DAGGERS.get(pair.decision, "") for pair in board.against}
    place = {name: at for at, name in enumerate(board.standings)}
    beaten: dict[str, list[int]] = {name: [] for name in place}
    for pair in board.pairs:
        if pair.decision in (BETTER, WORSE):
            winner, loser = (pair.a, pair.b) if pair.decision == BETTER else (pair.b, pair.a)
            beaten[winner].append(place[loser])
    return {name: letters(numbers) for name, numbers in beaten.items()}


def _cells(board: Board, style: Style) -> Grid:
    """Data sets × systems; the longer side goes down. Best and second are marked within each data set."""
    systems = list(board.standings)
    rows = []
    for dataset, values in board.cells.items():
        cells = ranked([Cell(_number(values.get(system, float("nan")), style)) for system in systems])
        rows.append([Cell(dataset), Cell(f"{board.queries[dataset]:,}"), *cells])
    title = f"{board.measure} on every data set"
    if len(rows) > len(systems):
        last = [Cell(_number(board.standings[system].macro, style)) for system in systems]
        total = f"{sum(board.queries.values()):,}"
        rows.append([Cell("macro-average"), Cell(total), *ranked(last)])
        return Grid(title, ["data set", "queries", *systems], rows, 1, last=1)
    across = [list(row) for row in zip(*(row[2:] for row in rows), strict=True)]
    names = [[Cell(system), *row] for system, row in zip(systems, across, strict=True)]
    return Grid(title, ["system", *board.cells], names, 1)


def _legend(leaderboard: Leaderboard, board: Board, style: Style) -> str:
    ways = leaderboard.ways
    pairs = len(board.pairs if ways.baseline is None else board.against)
    test = (
        f"sign-flip test of macro differences, step-down max-T over {pairs:,} pairs" if pairs > 1 else "sign-flip test"
    )
    lead = f"{board.measure}, macro-average over {len(board.cells):,} data sets."
    systems = len(board.complete)
    return f"{lead} {legend(test, ways.alpha, baseline=ways.baseline, deltas=style.deltas, systems=systems)}"


# ---- formats ---------------------------------------------------------------------------------------------------------


def _as_table(leaderboard: Leaderboard, style: Style) -> str:
    parts = []
    for board in leaderboard.boards.values():
        grids = [_standings(leaderboard, board, style, marked=False)] if board.complete else []
        for grid in (*grids, _cells(board, style)):
            parts += [text_table(part, with_bold=style.bold) for part in _narrow(grid)]
    return "\n".join([*parts, "".join(f"{line}\n" for line in leaderboard.notes())])


def _narrow(grid: Grid) -> Iterator[Grid]:
    """The grid for a terminal: shorter names, and so many columns at a time as fit."""
    fixed = grid.left + ("queries" in grid.heads)
    rows = [
        [replace(cell, text=short(cell.text)) if at < grid.left else cell for at, cell in enumerate(row)]
        for row in grid.rows
    ]
    if "macro" in grid.heads:
        yield replace(grid, rows=rows)
        return
    for start in range(fixed, max(len(grid.heads), fixed + 1), ACROSS):
        heads = [*grid.heads[:fixed], *(short(head, NAME) for head in grid.heads[start : start + ACROSS])]
        title = grid.title if start == fixed else f"{grid.title}, continued"
        yield replace(
            grid, title=title, heads=heads, rows=[[*row[:fixed], *row[start : start + ACROSS]] for row in rows]
        )


def _as_markdown(leaderboard: Leaderboard, style: Style) -> str:
    parts = []
    for board in leaderboard.boards.values():
        if board.complete:
            parts.append(markdown_table(_standings(leaderboard, board, style, marked=True)))
            parts.append(markdown_text(_legend(leaderboard, board, style)) + "\n")
        parts.append(markdown_table(_cells(board, style)))
    return "\n".join([*parts, "\n\n".join(map(markdown_text, leaderboard.notes())) + "\n"])


def _as_latex(leaderboard: Leaderboard, style: Style) -> str:
    parts = [r"% needs \usepackage{booktabs}" + "\n"]
    for board in leaderboard.boards.values():
        if board.complete:
            caption = _legend(leaderboard, board, style)
            parts.append(latex_table(_standings(leaderboard, board, style, marked=True), caption=caption))
        cells = _cells(board, style)
        parts.append(latex_table(cells, caption=f"{cells.title}. Best of each data set in bold, second underlined."))
    return "\n".join([*parts, "".join(f"% {short(line, 1000)}\n" for line in leaderboard.notes())])


def _as_csv(leaderboard: Leaderboard, style: Style) -> str:
    """A row per measure, data set and system, every digit."""
    stream = io.StringIO()
    rows = list(leaderboard.rows())
    writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def _as_json(leaderboard: Leaderboard, style: Style) -> str:
    return json.dumps(leaderboard.to_dict(), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def html(leaderboard: Leaderboard, style: Style | None = None) -> str:
    """The tables of a notebook."""
    chosen = style or Style()
    parts = []
    for board in leaderboard.boards.values():
        if board.complete:
            parts.append(_wide(_standings(leaderboard, board, chosen, marked=True)))
            parts.append(f"<p>{escape(_legend(leaderboard, board, chosen))}</p>")
        parts.append(_wide(_cells(board, chosen)))
    notes = "".join(f"<li>{escape(line)}</li>" for line in leaderboard.notes())
    return f"{''.join(parts)}<ul>{notes}</ul>"


def _wide(grid: Grid) -> str:
    """The table, which scrolls by itself where the page is narrow."""
    return f"<div class='rg-wide'>{html_table(grid)}</div>"


def _as_page(leaderboard: Leaderboard, style: Style) -> str:
    first = leaderboard.first
    title = f"{', '.join(leaderboard)}: {len(first.standings):,} systems, {len(first.cells):,} data sets"
    return page(title, f"<h1>{escape(title)}</h1>{html(leaderboard, style)}").decode()


BOARD_FORMATS: Final[dict[str, Callable[[Leaderboard, Style], str]]] = {
    "table": _as_table,
    "json": _as_json,
    "csv": _as_csv,
    "markdown": _as_markdown,
    "latex": _as_latex,
    "html": _as_page,
}
