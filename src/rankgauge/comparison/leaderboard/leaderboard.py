"""Leaderboard: what `bench` returns, its form as data, and what to know about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rankgauge.comparison.doubts import FEW_QUERIES
from rankgauge.comparison.verdict import percent
from rankgauge.errors import MeasureError
from rankgauge.measures import parse
from rankgauge.shown import Shown, clean
from rankgauge.stats.estimate import Estimate

if TYPE_CHECKING:
    import polars as pl

    from rankgauge.comparison.leaderboard.board import Board, MacroPair, Standing, Ways
    from rankgauge.comparison.leaderboard.cells import Cells

__all__ = ["Leaderboard"]


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(Shown, Mapping[str, "Board"]):
    """Systems over many data sets: `leaderboard["nDCG@10"].standings["bm25"].macro`.

    A mapping from measure to its board; `print(leaderboard)` is the table, `to_dict()` the JSON, `to_frame()` a row per
    cell.
    """

    shown_by: ClassVar[str] = "leaderboard"

    name: str
    boards: dict[str, Board]
    ways: Ways
    protocols: dict[str, dict[str, Any]]  # data set → its rules
    cells: Cells

    @property
    def title(self) -> str:
        """The measures, and how much was measured."""
        return f"{', '.join(self)}: {len(self.first.standings):,} systems, {len(self.first.cells):,} data sets"

    def __getitem__(self, measure: str) -> Board:
        for name in (measure, *([str(parse(measure))] if measure not in self.boards else [])):
            if name in self.boards:
                return self.boards[name]
        raise MeasureError(f"{measure} was not measured; there are {', '.join(self.boards)}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.boards)

    def __len__(self) -> int:
        return len(self.boards)

    @property
    def first(self) -> Board:
        """The board of the first measure."""
        return next(iter(self.boards.values()))

    def to_dict(self) -> dict[str, Any]:
        """Everything, for JSON: NaN and infinity are None."""
        ways = self.ways
        data = {
            "suite": self.name,
            "datasets": {name: self._dataset(name) for name in self.cells.table},
            "measures": {measure: _board_data(board) for measure, board in self.boards.items()},
            "baseline": ways.baseline,
            "alpha": ways.alpha,
            "flips": {"number": self.first.flips, "exact": self.first.exact, "seed": ways.seed},
            "resamples": ways.resamples,
            "notes": list(self.notes()),
        }
        cleaned: dict[str, Any] = clean(data)
        return cleaned

    def _dataset(self, name: str) -> dict[str, Any]:
        runs = {
            system: {"answered": cell.answered, "judged": cell.judged, "fingerprint": cell.fingerprint}
            for system, cell in self.cells.table[name].items()
        }
        queries = len(next(iter(self.cells.table[name].values())).queries)
        return {"queries": queries, "protocol": self.protocols[name], "runs": runs}

    def rows(self) -> Iterator[dict[str, Any]]:
        """One flat row per measure, data set and system, every digit of it; no row for a missing cell."""
        for measure, board in self.boards.items():
            for dataset, row in board.cells.items():
                for system in board.standings:
                    if system in row:
                        yield {
                            "measure": measure,
                            "dataset": dataset,
                            "system": system,
                            "queries": board.queries[dataset],
                            "value": row[system],
                        }

    def to_frame(self) -> pl.DataFrame:
        """A polars frame with a row per measure, data set and system."""
        import polars as pl

        return pl.DataFrame([*self.rows()], infer_schema_length=None)

    def notes(self) -> Iterator[str]:
        """What to know about the numbers."""
        return _notes(self)

    __eq__ = object.__eq__
    __hash__ = object.__hash__


def _board_data(board: Board) -> dict[str, Any]:
    return {
        "definition": board.definition,
        "standings": [_standing_data(standing) for standing in board.standings.values()],
        "groups": board.groups,
        "datasets": {
            name: {
                "queries": board.queries[name],
                "dropped": board.dropped.get(name, 0),
                "values": {system: row.get(system) for system in board.standings},
            }
            for name, row in board.cells.items()
        },
        "pairs": [_pair_data(pair) for pair in board.pairs],
        "against_baseline": [_pair_data(pair) for pair in board.against],
    }


def _standing_data(standing: Standing) -> dict[str, Any]:
    data = asdict(standing)
    low, high = standing.rank_range or (None, None)
    ends = {
        "macro": Estimate(standing.macro, *data.pop("interval")),
        "rank": dict(zip(Estimate._fields, (standing.rank, *(data.pop("rank_interval") or (None, None))), strict=True)),
        "rank_range": {"low": low, "high": high},
    }
    return data | ends


def _pair_data(pair: MacroPair) -> dict[str, Any]:
    data = pair._asdict()
    return data | {"difference": Estimate(pair.difference, *data.pop("interval"))}


# ---- what to know: where numbers come from, what is missing, what they do not say ------------------------------------


SHOWN: Final = 4


def _notes(leaderboard: Leaderboard) -> Iterator[str]:
    """Line by line."""
    board, ways = leaderboard.first, leaderboard.ways
    queries = board.queries
    yield (
        f"{len(queries):,} data sets, {sum(queries.values()):,} queries. The macro-average weighs data sets equally; "
        "intervals and decisions are about other queries of these data sets, not about other data sets."
    )
    yield from _missing(leaderboard)
    if board.complete:
        yield (
            f"Macro: {percent(ways.alpha)} t interval. Ranks: {percent(ways.alpha)} of {ways.resamples:,} bootstrap "
            f"resamples of the queries within data sets, seed {ways.seed}. Borda: the number of others that a system "
            "beats, added up over data sets."
        )
    if board.pairs:
        drawn = f"all {board.flips:,} flips" if board.exact else f"{board.flips:,} random flips, seed {ways.seed}"
        yield (
            "Possible: the ranks that the decisions between pairs leave open, for all systems at once; where systems "
            "are nearly equal, trust these, for the bootstrap's are too narrow."
        )
        yield (
            f"Groups: no two systems of a group are separable (sign flips of macro differences, {drawn}, step-down "
            f"max-T over {_pairs(len(board.pairs))}: the chance of any false claim is at most {100 * ways.alpha:g} %)."
        )
    yield from _rules(leaderboard)
    yield from _doubts(leaderboard)


def _missing(leaderboard: Leaderboard) -> Iterator[str]:
    """The systems without a macro-average, and the data sets that they lack."""
    board = leaderboard.first
    number = len(board.cells)
    for name, standing in board.standings.items():
        if standing.missing:
            lacking = f"{_some(standing.missing)} ({len(standing.missing)} of {number})"
            yield f"No macro-average for {name}: no run for {lacking}."
    if not board.complete:
        yield "No system has a run for every data set: there are no macro-averages and no ranks."


def _pairs(number: int) -> str:
    return f"{number:,} pair{'s' * (number != 1)}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _rules(leaderboard: Leaderboard) -> Iterator[str]:
    """The rules that are not the field's defaults, and where."""
    from rankgauge.protocol import Protocol

    found = {name: str(Protocol.from_dict(rules)) for name, rules in leaderboard.protocols.items()}
    words = [
        text if len(set(found.values())) == 1 else f"{text} ({_some([n for n, t in found.items() if t == text])})"
        for text in dict.fromkeys(found.values())
    ]
    yield f"Rules: {'; '.join(words)}."


def _doubts(leaderboard: Leaderboard) -> Iterator[str]:
    table = leaderboard.cells.table
    unanswered = {
        f"{system} on {name} ({len(cell.queries) - cell.answered:,} of {len(cell.queries):,})": None
        for name, row in table.items()
        for system, cell in row.items()
        if cell.answered < len(cell.queries)
    }
    if unanswered:
        yield f"WARNING not-answered: queries without an answer count 0: {_some(list(unanswered))}."
    for board in leaderboard.boards.values():
        if board.dropped:
            words = _some([f"{name} ({count:,})" for name, count in board.dropped.items()])
            yield f"WARNING dropped-queries: {board.measure}: left out, without a value for every system: {words}."
    yield from _few(leaderboard)


def _few(leaderboard: Leaderboard) -> Iterator[str]:
    """The data sets that have too few queries to tell how values scatter."""
    counts = [each for board in leaderboard.boards.values() if board.complete for each in board.queries.items()]
    single = list(dict.fromkeys(name for name, count in counts if count == 1))
    if single:
        yield (
            f"WARNING single-query: only one query in {_some(single)}, which does not tell how values scatter there: "
            "no intervals of macro-averages and of ranks; leave it out (--dataset) or judge more queries."
        )
    few = [f"{name} ({count})" for name, count in leaderboard.first.queries.items() if count < FEW_QUERIES]
    if few:
        yield (
            f"WARNING few-queries: fewer than {FEW_QUERIES} queries in {_some(few)}: an interval is only as good "
            "as the values of so few are symmetric; judge more queries."
        )
