"""Cells → a board per measure: macro-averages, medians, ranks with intervals, Borda counts, significance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rankgauge.comparison.ranges import is_bounded, too_few, within_range
from rankgauge.comparison.verdict import BETTER, NOT_SIGNIFICANT, decide
from rankgauge.errors import InputError
from rankgauge.stats import macro
from rankgauge.stats.estimate import NAN
from rankgauge.stats.paired import Interval, midranks

if TYPE_CHECKING:
    from rankgauge.comparison.leaderboard.cells import Cell
    from rankgauge.dtypes import Floats
    from rankgauge.measures import Measure

NO_INTERVAL: Final[Interval] = (NAN, NAN)

__all__ = ["Board", "MacroPair", "Standing", "Ways", "board_of"]


@dataclass(frozen=True, slots=True)
class Ways:
    """How the intervals and decisions are made."""

    baseline: str | None = None
    alpha: float = 0.05
    flips: int = 10_000
    resamples: int = macro.RESAMPLES
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise InputError(f"alpha={self.alpha!r}: the level is between 0 and 1, such as 0.05")
        if self.flips < 1 or self.resamples < 1 or self.seed < 0:
            raise InputError("flips and resamples are 1 or more, the seed 0 or more")


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a system stands. One that lacks data sets has neither macro-average nor rank: `missing` names them.

    `rank_interval` is the bootstrap's; `rank_range` are the ranks that the decisions between pairs leave open.
    """

    system: str
    missing: tuple[str, ...] = ()
    macro: float = float("nan")
    interval: Interval = NO_INTERVAL
    median: float = float("nan")
    rank: int | None = None
    rank_interval: tuple[int, int] | None = None
    rank_range: tuple[int, int] | None = None
    borda: float = float("nan")
    borda_rank: float = float("nan")
    groups: tuple[int, ...] = ()


class MacroPair(NamedTuple):
    """Two systems: the difference of their macro-averages, a − b, with the p and the interval of this pair alone.

    `p_adjusted` and `simultaneous` are those for all pairs of the board together.
    """

    a: str
    b: str
    difference: float
    interval: Interval
    p: float
    p_adjusted: float
    simultaneous: Interval
    decision: str
    adjusted_decision: str


@dataclass(frozen=True, eq=False, slots=True)
class Board:
    """One measure: `cells[data set][system]` are means over queries, `standings` are in the order of rank."""

    measure: str
    cells: dict[str, dict[str, float]]
    queries: dict[str, int]
    standings: dict[str, Standing]
    pairs: list[MacroPair] = field(default_factory=list)
    against: list[MacroPair] = field(default_factory=list)  # each system − the baseline: a family of its own
    groups: list[list[str]] = field(default_factory=list)
    flips: int = 0
    exact: bool = False
    dropped: dict[str, int] = field(default_factory=dict)
    definition: str = ""

    @property
    def complete(self) -> list[str]:
        """The systems that have a run for every data set, in the order of rank."""
        return [name for name, standing in self.standings.items() if not standing.missing]


def board_of(measure: Measure, cells: Mapping[str, Mapping[str, Cell]], systems: list[str], ways: Ways) -> Board:
    """The board of a measure."""
    whole = {name: _aligned(name, str(measure), row) for name, row in cells.items()}
    counted = {name: ~np.isnan(table).any(axis=1) for name, table in whole.items()}
    tables = {name: table[counted[name]] for name, table in whole.items()}
    dropped = {name: int((~rows).sum()) for name, rows in counted.items()}
    missing = {system: tuple(name for name, row in cells.items() if system not in row) for system in systems}
    incomplete = sorted(filter(missing.get, systems), key=lambda name: len(missing[name]))
    board = Board(
        str(measure),
        {name: dict(zip(row, tables[name].mean(axis=0).tolist(), strict=True)) for name, row in cells.items()},
        {name: len(table) for name, table in tables.items()},
        {name: Standing(name, missing[name]) for name in incomplete},
        dropped={name: number for name, number in dropped.items() if number},
        definition=measure.describe(),
    )
    complete = [system for system in systems if not missing[system]]
    columns = {name: [list(row).index(system) for system in complete] for name, row in cells.items()}
    return _ranked(board, complete, [tables[name][:, columns[name]] for name in cells], ways) if complete else board


def _aligned(name: str, measure: str, row: Mapping[str, Cell]) -> Floats:
    """The queries of a data set × its systems; NaN where there is no value."""
    first = next(iter(row.values()))
    for system, cell in row.items():
        if cell.queries != first.queries:
            raise InputError(f"data set {name}: {system} was measured on other queries than {next(iter(row))}")
    table = np.stack([cell.values[measure] for cell in row.values()], axis=1)
    if np.isnan(table).any(axis=1).all():
        raise InputError(f"data set {name}: no query has a value of {measure} for every system")
    return table


def _ranked(board: Board, names: list[str], tables: list[Floats], ways: Ways) -> Board:
    """The board with the systems that are everywhere: ranks, intervals, groups.

    They are in the order of rank, so that groups begin with the best.
    """
    order = np.argsort(-np.round(macro.macro_means(tables), macro.SAME), kind="stable")
    names, tables = [names[at] for at in order], [table[:, order] for table in tables]
    every = list(combinations(range(len(names)), 2))
    pairs, flips, exact = _pairs(board.measure, names, tables, every, ways)
    against = [
        (at, to) for to, name in enumerate(names) if name == ways.baseline for at in range(len(names)) if at != to
    ]
    apart = np.zeros((len(names), len(names)), bool)
    for (a, b), pair in zip(every, pairs, strict=True):
        apart[a, b] = apart[b, a] = pair.adjusted_decision != NOT_SIGNIFICANT
    groups = macro.groups_of(len(names), apart)
    return replace(
        board,
        standings=_standings(board.measure, names, tables, pairs, groups, ways) | board.standings,
        pairs=pairs,
        against=_pairs(board.measure, names, tables, against, ways)[0],
        groups=[[names[at] for at in group] for group in groups],
        flips=flips,
        exact=exact,
    )


def _standings(
    measure: str, names: list[str], tables: list[Floats], pairs: list[MacroPair], groups: list[list[int]], ways: Ways
) -> dict[str, Standing]:
    """Where every system stands."""
    how: dict[str, Any] = {"alpha": ways.alpha, "flips": ways.flips, "seed": ways.seed}
    estimates = macro.macro_estimates(tables, bounded=is_bounded(measure, np.concatenate(tables)), **how)
    means, cells = macro.macro_means(tables), np.array([table.mean(axis=0) for table in tables])
    points, ranges = macro.borda(cells), _ranges(names, pairs)
    ranks, resampled, borda_ranks = macro.ranks_of(means), _rank_intervals(tables, ways), midranks(-points)
    return {
        name: Standing(
            name,
            macro=float(means[at]),
            interval=estimates[at][1:],
            median=float(np.median(cells[:, at])),
            rank=int(ranks[at]),
            rank_interval=resampled[at],
            rank_range=ranges[name],
            borda=float(points[at]),
            borda_rank=float(borda_ranks[at]),
            groups=tuple(number for number, group in enumerate(groups, 1) if at in group),
        )
        for at, name in enumerate(names)
    }


def _rank_intervals(tables: list[Floats], ways: Ways) -> list[tuple[int, int] | None]:
    if too_few(sum(map(len, tables)), ways.alpha):
        return [None] * tables[0].shape[1]
    return macro.rank_intervals(tables, alpha=ways.alpha, resamples=ways.resamples, seed=ways.seed)


def _pairs(
    measure: str, names: list[str], tables: list[Floats], at: list[tuple[int, int]], ways: Ways
) -> tuple[list[MacroPair], int, bool]:
    """Pairs of systems, one family, and the flips behind the decisions: how many, and whether those are all."""
    found = macro.macro_differences(tables, at, alpha=ways.alpha, flips=ways.flips, seed=ways.seed)
    bounded, pairs = is_bounded(measure, np.concatenate(tables)), []
    for (a, b), (answer, together) in zip(at, found, strict=True):
        shown = answer.differs(ways.alpha)
        own, simultaneous = (
            within_range(each.interval or NO_INTERVAL, bounded, lowest=-1.0) for each in (answer, together)
        )
        decision, adjusted = (decide(answer.value, shown and p <= ways.alpha) for p in (answer.p, together.p))
        about = (answer.value, own, answer.p, together.p, simultaneous, decision, adjusted)
        pairs.append(MacroPair(names[a], names[b], *about))
    flips = max((answer.flips for answer, _ in found), default=0)
    return pairs, flips, bool(found) and all(answer.exact for answer, _ in found)


def _ranges(names: list[str], pairs: list[MacroPair]) -> dict[str, tuple[int, int]]:
    """The ranks that are left: below every system that is better, above every one that is worse."""
    better, worse = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for pair in pairs:
        if pair.adjusted_decision != NOT_SIGNIFICANT:
            winner, loser = (pair.a, pair.b) if pair.adjusted_decision == BETTER else (pair.b, pair.a)
            better[loser] += 1
            worse[winner] += 1
    return {name: (1 + better[name], len(names) - worse[name]) for name in names}
