"""What to know about a leaderboard: where its numbers come from, what is missing, and what they do not say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from rankgauge.comparison.doubts import FEW_QUERIES
from rankgauge.comparison.verdict import percent

if TYPE_CHECKING:
    from rankgauge.comparison.leaderboard.leaderboard import Leaderboard

__all__ = ["notes"]

SHOWN: Final = 4


def notes(leaderboard: Leaderboard) -> Iterator[str]:
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
