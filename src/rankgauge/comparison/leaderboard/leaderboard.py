"""Leaderboard: what `bench` returns, and its form as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

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
        from rankgauge.comparison.leaderboard.notes import notes

        return notes(self)

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
