"""Cells → a board per measure: macro-averages, medians, ranks with intervals, Borda counts, what is not separable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankgauge.comparison.verdict import BETTER, NOT_SEPARABLE, decide
from rankgauge.errors import InputError
from rankgauge.stats import macro
from rankgauge.stats.paired import midranks

if TYPE_CHECKING:
    from rankgauge.comparison.leaderboard.cells import Cell
    from rankgauge.dtypes import Floats
    from rankgauge.stats.paired import Interval

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
    interval: Interval = (float("nan"), float("nan"))
    median: float = float("nan")
    rank: int | None = None
    rank_interval: tuple[int, int] | None = None
    rank_range: tuple[int, int] | None = None
    borda: float = float("nan")
    borda_rank: float = float("nan")
    groups: tuple[int, ...] = ()


class MacroPair(NamedTuple):
    """Two systems: the difference of their macro-averages, a − b; `p_adjusted` decides."""

    a: str
    b: str
    difference: float
    interval: Interval
    p: float
    p_adjusted: float
    decision: str


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


def board_of(measure: str, cells: Mapping[str, Mapping[str, Cell]], systems: list[str], ways: Ways) -> Board:
    """The board of a measure."""
    aligned = {name: _aligned(name, measure, row) for name, row in cells.items()}
    means = {
        name: dict(zip(row, map(float, aligned[name].table.mean(axis=0)), strict=True)) for name, row in cells.items()
    }
    missing = {system: tuple(name for name, row in cells.items() if system not in row) for system in systems}
    complete = [system for system in systems if not missing[system]]
    columns = {name: [list(row).index(system) for system in complete] for name, row in cells.items()}
    tables = [each.table[:, columns[name]] for name, each in aligned.items()]
    found = _standings(complete, tables, ways) if complete else Found()
    order = sorted(complete, key=lambda name: (found.standings[name].rank or 0, systems.index(name)))
    incomplete = sorted(set(systems) - set(complete), key=lambda name: (len(missing[name]), systems.index(name)))
    standings = {name: found.standings[name] for name in order}
    return Board(
        measure,
        means,
        {name: len(each.table) for name, each in aligned.items()},
        standings | {name: Standing(name, missing[name]) for name in incomplete},
        found.pairs,
        found.against,
        found.groups,
        found.flips,
        found.exact,
        {name: each.dropped for name, each in aligned.items() if each.dropped},
    )


class Aligned(NamedTuple):
    """The queries of a data set × its systems; how many queries lack a value and are left out."""

    table: Floats
    dropped: int


def _aligned(name: str, measure: str, row: Mapping[str, Cell]) -> Aligned:
    first = next(iter(row.values()))
    for system, cell in row.items():
        if cell.queries != first.queries:
            raise InputError(f"data set {name}: {system} was measured on other queries than {next(iter(row))}")
    table = np.stack([cell.values[measure] for cell in row.values()], axis=1)
    counted = ~np.isnan(table).any(axis=1)
    if not counted.any():
        raise InputError(f"data set {name}: no query has a value of {measure} for every system")
    return Aligned(table[counted], int((~counted).sum()))


@dataclass(frozen=True, slots=True)
class Found:
    """What there is to say of the systems that are everywhere."""

    standings: dict[str, Standing] = field(default_factory=dict)
    pairs: list[MacroPair] = field(default_factory=list)
    against: list[MacroPair] = field(default_factory=list)
    groups: list[list[str]] = field(default_factory=list)
    flips: int = 0
    exact: bool = False


def _standings(names: list[str], tables: list[Floats], ways: Ways) -> Found:
    """Ranks, intervals, groups; systems in the order of rank, so that groups begin with the best."""
    means = macro.macro_means(tables)
    order = np.argsort(-np.round(means, macro.SAME), kind="stable")
    names, tables, means = [names[at] for at in order], [table[:, order] for table in tables], means[order]
    cells = np.array([table.mean(axis=0) for table in tables])
    points = macro.borda(cells)
    apart, pairs, flips, exact = _pairs(names, tables, list(combinations(range(len(names)), 2)), ways)
    groups = macro.groups_of(len(names), apart)
    intervals = macro.rank_intervals(tables, alpha=ways.alpha, resamples=ways.resamples, seed=ways.seed)
    ranges = _ranges(names, pairs)
    borda_ranks = midranks(-points)
    standings = {
        name: Standing(
            name,
            (),
            float(means[at]),
            macro.macro_interval([table[:, at] for table in tables], ways.alpha),
            float(np.median(cells[:, at])),
            int(rank),
            intervals[at],
            ranges[name],
            float(points[at]),
            float(borda_ranks[at]),
            tuple(number for number, group in enumerate(groups, 1) if at in group),
        )
        for at, (name, rank) in enumerate(zip(names, macro.ranks_of(means).tolist(), strict=True))
    }
    against = _against(names, tables, ways)
    return Found(standings, pairs, against, [[names[at] for at in group] for group in groups], flips, exact)


def _pairs(names: list[str], tables: list[Floats], at: list[tuple[int, int]], ways: Ways) -> Any:
    """Which systems are apart, every pair, and the flips behind the decisions."""
    apart = np.zeros((len(names), len(names)), bool)
    if not at:
        return apart, [], 0, False
    flipped = macro.macro_flips(tables, at, flips=ways.flips, seed=ways.seed)
    pairs = []
    for number, (a, b) in enumerate(at):
        columns = [table[:, a] - table[:, b] for table in tables]
        difference = float(np.mean([column.mean() for column in columns]))
        p, adjusted = float(flipped.p[number]), float(flipped.adjusted[number])
        decision = decide(difference, adjusted, ways.alpha)
        interval = macro.macro_interval(columns, ways.alpha)
        pairs.append(MacroPair(names[a], names[b], difference, interval, p, adjusted, decision))
        apart[a, b] = apart[b, a] = decision != NOT_SEPARABLE
    return apart, pairs, flipped.number, flipped.exact


def _against(names: list[str], tables: list[Floats], ways: Ways) -> list[MacroPair]:
    if ways.baseline not in names:
        return []
    baseline = names.index(ways.baseline)
    _, pairs, _, _ = _pairs(names, tables, [(at, baseline) for at in range(len(names)) if at != baseline], ways)
    found: list[MacroPair] = pairs
    return found


def _ranges(names: list[str], pairs: list[MacroPair]) -> dict[str, tuple[int, int]]:
    """The ranks that are left: below every system that is better, above every one that is worse."""
    better, worse = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    for pair in pairs:
        if pair.decision != NOT_SEPARABLE:
            winner, loser = (pair.a, pair.b) if pair.decision == BETTER else (pair.b, pair.a)
            better[loser] += 1
            worse[winner] += 1
    return {name: (1 + better[name], len(names) - worse[name]) for name in names}
