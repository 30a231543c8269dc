"""A suite of data sets × systems → Leaderboard: who is ahead over all of them, and where that cannot be told."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Final

from rankgauge.comparison.comparison import ByMeasure
from rankgauge.comparison.leaderboard.board import Board, MacroPair, Standing, Ways, board_of
from rankgauge.comparison.leaderboard.cells import CACHE, Cells, measure_cells
from rankgauge.comparison.leaderboard.suite import Dataset, Suite, find_suite
from rankgauge.comparison.ranges import too_few
from rankgauge.comparison.verdict import NOT_SIGNIFICANT, OPTIMISTIC, p_text, percent
from rankgauge.errors import InputError, MeasureError, ProtocolError, counted, unknown
from rankgauge.measures import AnyMeasure, Measure, parse_all
from rankgauge.protocol import DEFAULT, Protocol, Rules
from rankgauge.shown import Shown
from rankgauge.stats.estimate import Estimate
from rankgauge.stats.inference import FEW_QUERIES

__all__ = ["Board", "Leaderboard", "Standing", "bench"]

MEASURES: Final = ("nDCG@10", "R@100")


def bench(
    suite: Any,
    measures: AnyMeasure | Iterable[AnyMeasure] | None = None,
    *,
    baseline: str | None = None,
    datasets: Iterable[str] = (),
    systems: Iterable[str] = (),
    split: str = "test",
    protocol: Protocol | Rules = DEFAULT,
    alpha: float = 0.05,
    flips: int = 10_000,
    resamples: int = 2_000,
    seed: int = 0,
    cache: str | os.PathLike[str] | bool | None = None,
    jobs: int | None = None,
    memory: int | str | None = None,
    watch: Callable[[int, int, str], object] | None = None,
) -> Leaderboard:
    """Measure systems on many data sets: cells, macro-averages, medians, ranks with intervals, Borda, groups.

    `suite` is a folder of data sets, a suite.toml, or data set → (judgments, {system: run}). `datasets` and `systems`
    choose among them. Rules come from the suite, and over these from `protocol`. `cache` is a folder for what is done
    (True: beside the suite), so that only what changed is measured again. `jobs` are measured at once, in `memory` as
    `evaluate` takes it, each. `watch` is called with how many cells are
    done, how many there are, and which was the last.

    >>> judgments = {"q1": {"d1": 1}, "q2": {"d2": 1}}
    >>> good, bad = ({"q1": {"d1": n, "d2": 1}, "q2": {"d2": n, "d1": 1}} for n in (2, 0))
    >>> bench({"one": (judgments, {"good": good, "bad": bad})})["nDCG@10"].standings["good"].macro
    1.0
    """
    found = find_suite(suite, split=split).only(list(datasets), list(systems))
    ways = Ways(baseline if baseline is not None else found.baseline, alpha, flips, resamples, seed)
    _check(found, ways)
    wanted = _measures(measures, found)
    changed = Protocol.of(protocol).changed
    rules = {name: _protocol(each, changed) for name, each in found.datasets.items()}
    cells = measure_cells(
        found, wanted, lambda each: rules[each.name], cache=_folder(cache, found), jobs=jobs, memory=memory, watch=watch
    )
    boards = {str(measure): board_of(measure, cells.table, found.systems, ways) for measure in wanted}
    return Leaderboard(found.name, boards, ways, {name: each.to_dict() for name, each in rules.items()}, cells)


def _measures(measures: Any, suite: Suite) -> list[Measure]:
    found = list(dict.fromkeys(parse_all(measures or suite.measures or MEASURES)))
    for measure in found:
        if measure.definition.aggregate in ("none", "geometric"):
            raise MeasureError(f"{measure} is not a mean over queries, and only means are averaged; take AP or nDCG@10")
    return found


def _protocol(dataset: Dataset, changed: dict[str, Any]) -> Protocol:
    try:
        rules = Protocol.from_dict(dataset.rules | changed)
    except ProtocolError as error:
        raise ProtocolError(f"data set {dataset.name}: {error}") from None
    if rules.missing == "skip":
        raise ProtocolError(
            "missing=skip would measure each system on queries of its own; a leaderboard takes missing=zero or error"
        )
    return rules


def _check(suite: Suite, ways: Ways) -> None:
    """Whether the data sets have anything to do with each other, and whether the baseline is there."""
    names, systems = list(suite.datasets), suite.systems
    if ways.baseline is not None and ways.baseline not in systems:
        raise InputError(unknown(f"there is no system {ways.baseline!r} to be the baseline", ways.baseline, systems))
    lacking = [name for name, each in suite.datasets.items() if ways.baseline not in (None, *each.runs)]
    if lacking:
        raise InputError(
            f"the baseline {ways.baseline} has no run for {', '.join(lacking)}, so it has no macro-average to compare "
            "with; give it one, leave these data sets out (--dataset), or take another baseline"
        )
    if not systems:
        raise InputError(f"{suite.name}: none of the systems has a run for {', '.join(names)}")
    several = any(sum(system in each.runs for each in suite.datasets.values()) > 1 for system in systems)
    if len(names) > 1 and not several:
        shown = "; ".join(
            f"{name}: {', '.join(list(each.runs)[:3]) or 'none'}" for name, each in list(suite.datasets.items())[:3]
        )
        shown += "; …" if len(names) > 3 else ""
        raise InputError(
            f"{suite.name}: no system has a run for two data sets, so there is nothing to average ({shown}); "
            "call a system the same in every data set, in its file's name or in a suite.toml"
        )


def _folder(cache: Any, suite: Suite) -> str | None:
    if cache is None or cache is False:
        return None
    if cache is True:
        return None if suite.home is None else os.path.join(suite.home, CACHE)
    return os.fsdecode(cache)


# ---- what comes of it, and its form as data --------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(Shown, ByMeasure[Board]):
    """Systems over many data sets: `leaderboard["nDCG@10"].standings["bm25"].macro`.

    A mapping from measure to its board; `print(leaderboard)` is the table, `to_dict()` the JSON, `to_frame()` a row per
    cell.
    """

    shown_by: ClassVar[str] = "leaderboard"
    was: ClassVar[str] = "measured"

    name: str
    measures: dict[str, Board]
    ways: Ways
    protocols: dict[str, dict[str, Any]]  # data set → its rules
    cells: Cells

    @property
    def title(self) -> str:
        """The measures, and how much was measured."""
        return f"{', '.join(self)}: {len(self.first.standings):,} systems, {len(self.first.cells):,} data sets"

    @property
    def boards(self) -> dict[str, Board]:
        """Measure → its board."""
        return self.measures

    def data(self, **choices: Any) -> dict[str, Any]:
        """Everything that JSON holds."""
        ways = self.ways
        return {
            "suite": self.name,
            "datasets": {name: self._dataset(name) for name in self.cells.table},
            "measures": {measure: _board_data(board) for measure, board in self.boards.items()},
            "baseline": ways.baseline,
            "alpha": ways.alpha,
            "flips": {"number": self.first.flips, "exact": self.first.exact, "seed": ways.seed},
            "resamples": ways.resamples,
            "notes": list(self.notes()),
        }

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
                for system in filter(row.__contains__, board.standings):
                    cell = {"measure": measure, "dataset": dataset, "system": system}
                    yield cell | {"queries": board.queries[dataset], "value": row[system]}

    def notes(self) -> Iterator[str]:
        """What to know about the numbers."""
        return _notes(self)


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
    return {
        "a": pair.a,
        "b": pair.b,
        "difference": Estimate(pair.difference, *pair.interval),
        "p": pair.p,
        "difference_simultaneous": Estimate(pair.difference, *pair.simultaneous),
        "p_adjusted": pair.p_adjusted,
        "decision": pair.decision,
        "decided_by": "p",
    }


# ---- what to know: where numbers come from, what is missing, what they do not say ------------------------------------


SHOWN: Final = 4


def _notes(leaderboard: Leaderboard) -> Iterator[str]:
    """Line by line: what may change the reading first."""
    board, ways = leaderboard.first, leaderboard.ways
    queries = board.queries
    yield from _doubts(leaderboard)
    yield from _missing(leaderboard)
    yield (
        f"{counted(len(queries), 'data set')}, {counted(sum(queries.values()), 'query', 'queries')}. "
        "The macro-average weighs data sets equally; "
        "intervals and decisions are about other queries of these data sets, not about other data sets."
    )
    if board.complete:
        yield (
            f"Macro: {percent(ways.alpha)} interval. Ranks: {percent(ways.alpha)} of {ways.resamples:,} bootstrap "
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
            f"Groups: no two systems of a group differ significantly (sign flips of macro differences, {drawn}; "
            f"adjusted for {counted(len(board.pairs), 'comparison')} by single-step max-T: the chance of any false "
            f"claim is at most {100 * ways.alpha:g} %)."
        )
        yield _best(board)
    yield from _rules(leaderboard)


def _best(board: Board) -> str:
    """The system of the highest macro-average, against the next one, by the p that is adjusted for all pairs."""
    first, second, *_ = board.complete
    pair = board.pairs[0]
    p = f"adjusted p {p_text(pair.p_adjusted, sign=True)}"
    number = f"of {len(board.complete)} systems"
    if not pair.difference:
        return f"Best: {first} and {second} share the highest {board.measure} {number}."
    if pair.adjusted_decision == NOT_SIGNIFICANT:
        return f"Best: {first} has the highest {board.measure} {number}, not significantly above {second} ({p})."
    return f"Best: {first} has the highest {board.measure} {number} ({p} against {second}). {OPTIMISTIC}"


def _missing(leaderboard: Leaderboard) -> Iterator[str]:
    """The systems without a macro-average, and the data sets that they lack."""
    board = leaderboard.first
    number = len(board.cells)
    if not board.complete:
        yield "No system has a run for every data set: there are no macro-averages and no ranks."
    for name, standing in board.standings.items():
        if standing.missing:
            lacking = f"{_some(standing.missing)} ({len(standing.missing)} of {number})"
            yield f"No macro-average for {name}: no run for {lacking}."


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more


def _rules(leaderboard: Leaderboard) -> Iterator[str]:
    """The rules that are not the field's defaults, and where."""
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
        yield f"Caution, not-answered: queries without an answer count 0: {_some(list(unanswered))}."
    for board in leaderboard.boards.values():
        if board.dropped:
            words = _some([f"{name} ({count:,})" for name, count in board.dropped.items()])
            yield f"Caution, dropped-queries: {board.measure}: left out, without a value for every system: {words}."
    yield from _few(leaderboard)


def _few(leaderboard: Leaderboard) -> Iterator[str]:
    """The data sets that have too few queries to tell how values scatter."""
    counts = [each for board in leaderboard.boards.values() if board.complete for each in board.queries.items()]
    single = list(dict.fromkeys(name for name, count in counts if count == 1))
    if single:
        yield (
            f"Caution, single-query: only one query in {_some(single)}, which does not tell how values scatter there: "
            "no intervals of macro-averages and of ranks; leave it out (--dataset) or judge more queries."
        )
    queries = sum(leaderboard.first.queries.values())
    if not single and counts and too_few(queries, leaderboard.ways.alpha):
        yield f"Caution, few-queries: {queries} queries in all are too few to tell systems apart."
    few = [f"{name} ({count})" for name, count in leaderboard.first.queries.items() if count < FEW_QUERIES]
    if few:
        yield (
            f"Caution, few-queries: fewer than {FEW_QUERIES} queries in {_some(few)}: an interval is only as good "
            "as the values of so few are symmetric; judge more queries."
        )
