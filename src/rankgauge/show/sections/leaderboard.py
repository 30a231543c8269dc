"""A leaderboard: for every measure where the systems stand over all data sets, and the mean on each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from rankgauge.comparison.verdict import percent
from rankgauge.show.cells import interval_column
from rankgauge.show.marks import DAGGERS, beaten_letters, delta_column, legend, letter
from rankgauge.show.model import Block, Column, Mark, Notes, Section, Table, ranked

if TYPE_CHECKING:
    from rankgauge.comparison.leaderboard.board import Board
    from rankgauge.comparison.leaderboard.leaderboard import Leaderboard

__all__ = ["cells_table", "sections", "standings_table"]

TERMINAL: Final = frozenset({"table"})
DOCUMENTS: Final = frozenset({"markdown", "latex", "html"})
FACES: Final = "Best of each data set in bold, second underlined."


def sections(leaderboard: Leaderboard, *, deltas: str = "absolute") -> Iterator[Section]:
    """The whole; `deltas` as in `model.DELTAS`."""
    blocks: list[Block] = []
    for board in leaderboard.values():
        if board.complete:
            blocks += [standings_table(leaderboard, board, deltas, marked=marked) for marked in (False, True)]
        cells = cells_table(board)
        blocks += [cells._replace(formats=TERMINAL), cells._replace(formats=DOCUMENTS, notes=[FACES])]
    blocks += [Notes([*leaderboard.notes()]), Table.of_rows(leaderboard.rows())]
    yield Section("leaderboard", "Leaderboard", blocks)


def standings_table(leaderboard: Leaderboard, board: Board, deltas: str, *, marked: bool) -> Table:
    """A row per system, in the order of rank; marked with what is significant, as documents have it."""
    ways, standings = leaderboard.ways, list(board.standings.values())
    level, marks = percent(ways.alpha), _marks(board, ways.baseline) if marked else {}
    means = {each.system: each.macro for each in standings}
    lettered = marked and ways.baseline is None
    columns: list[tuple[Column, Sequence[Any]]] = [(Column(""), [*map(letter, range(len(means)))])] if lettered else []
    columns += [
        (Column("system"), [*means]),
        (Column("macro", "number"), [Mark(each.macro, note=marks.get(each.system, "")) for each in standings]),
        (interval_column(ways.alpha, "macro"), [each.interval for each in standings]),
        *([delta_column(means, ways.baseline, deltas)] if ways.baseline is not None and deltas != "none" else []),
        (Column("median", "number", aside=True), [each.median for each in standings]),
        (Column("rank", "rank"), [each.rank for each in standings]),
        (Column(f"{level} of ranks", "rank", key="rank"), [each.rank_interval for each in standings]),
        (Column("possible", "rank"), [each.rank_range for each in standings]),
        (Column("Borda", "number", 0 if _whole(board) else 1), [each.borda for each in standings]),
        (Column("group", "rank"), [", ".join(map(str, each.groups)) or None for each in standings]),
    ]
    best = [at for at, (column, _) in enumerate(columns) if column.head in ("macro", "median", "Borda")]
    return Table.of_columns(
        "standings",
        f"{board.measure}, macro-average over {len(board.cells):,} data sets",
        columns,
        notes=[_legend(leaderboard, board, deltas)] if marked else [],
        contests=ranked(range(len(standings)), best),
        formats=DOCUMENTS if marked else TERMINAL,
    )


def _whole(board: Board) -> bool:
    return all(standing.missing or standing.borda.is_integer() for standing in board.standings.values())


def _marks(board: Board, baseline: str | None) -> dict[str, str]:
    """System → its dagger, or the letters of the systems that it beats."""
    if baseline is not None:
        return {pair.a: DAGGERS.get(pair.adjusted_decision, "") for pair in board.against}
    return beaten_letters(list(board.standings), board.pairs)


def _legend(leaderboard: Leaderboard, board: Board, deltas: str) -> str:
    ways = leaderboard.ways
    pairs = len(board.pairs if ways.baseline is None else board.against)
    test = (
        f"sign-flip test of macro differences, adjusted by single-step max-T over {pairs:,} pairs"
        if pairs > 1
        else "sign-flip test of macro differences"
    )
    return legend(test, ways.alpha, baseline=ways.baseline, deltas=deltas, systems=len(board.complete))


def cells_table(board: Board) -> Table:
    """Data sets × systems; the longer side goes down. Best and second are marked within each data set."""
    systems, title = list(board.standings), f"{board.measure} on every data set"
    if len(board.cells) <= len(systems):
        columns = [Column("system"), *(Column(name, "number") for name in board.cells)]
        names = [[system, *(row.get(system) for row in board.cells.values())] for system in systems]
        return Table("cells", title, columns, names, contests=ranked(range(len(names)), range(1, len(columns))))
    columns = [Column("data set"), Column("queries", "count"), *(Column(system, "number") for system in systems)]
    rows: list[list[Any]] = [
        [name, board.queries[name], *(row.get(system) for system in systems)] for name, row in board.cells.items()
    ]
    rows += [["macro-average", sum(board.queries.values()), *(board.standings[system].macro for system in systems)]]
    contests = [[(at, column) for column in range(2, len(columns))] for at in range(len(rows))]
    return Table("cells", title, columns, rows, contests=contests, foot=1)
