"""A suite of data sets × systems → Leaderboard: who is ahead over all of them, and where that cannot be told."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from rankgauge.comparison.leaderboard.board import Board, Standing, Ways, board_of
from rankgauge.comparison.leaderboard.cells import CACHE, Cells, measure_cells
from rankgauge.comparison.leaderboard.leaderboard import Leaderboard
from rankgauge.comparison.leaderboard.suite import Dataset, Suite, find_suite
from rankgauge.errors import InputError, MeasureError, ProtocolError, unknown
from rankgauge.measures import Measure, parse_all
from rankgauge.protocol import DEFAULT, Protocol

__all__ = ["Board", "Leaderboard", "Standing", "bench"]

MEASURES: Final = ("nDCG@10", "R@100")


def bench(
    suite: Any,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    *,
    baseline: str | None = None,
    datasets: Iterable[str] = (),
    systems: Iterable[str] = (),
    split: str = "test",
    protocol: Protocol | Mapping[str, Any] = DEFAULT,
    alpha: float = 0.05,
    flips: int = 10_000,
    resamples: int = 2_000,
    seed: int = 0,
    cache: str | os.PathLike[str] | bool | None = None,
    jobs: int | None = None,
    watch: Callable[[int, int, str], object] | None = None,
) -> Leaderboard:
    """Measure systems on many data sets: cells, macro-averages, medians, ranks with intervals, Borda, groups.

    `suite` is a folder of data sets, a suite.toml, or data set → (judgments, {system: run}). `datasets` and `systems`
    choose among them. Rules come from the suite, and over these from `protocol`. `cache` is a folder for what is done
    (True: beside the suite), so that only what changed is measured again. `watch` is called with how many cells are
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
    rules = {name: _rules(each, changed) for name, each in found.datasets.items()}
    cells = measure_cells(
        found, wanted, lambda each: rules[each.name], cache=_folder(cache, found), jobs=jobs, watch=watch
    )
    boards = {str(measure): _board(measure, cells, found, ways) for measure in wanted}
    return Leaderboard(found.name, boards, ways, {name: each.to_dict() for name, each in rules.items()}, cells)


def _board(measure: Measure, cells: Cells, suite: Suite, ways: Ways) -> Board:
    return replace(board_of(str(measure), cells.table, suite.systems, ways), definition=measure.describe())


def _measures(measures: Any, suite: Suite) -> list[Measure]:
    found = list(dict.fromkeys(parse_all(measures or suite.measures or MEASURES)))
    for measure in found:
        if measure.definition.aggregate in ("none", "geometric"):
            raise MeasureError(f"{measure} is not a mean over queries, and only means are averaged; take AP or nDCG@10")
    return found


def _rules(dataset: Dataset, changed: dict[str, Any]) -> Protocol:
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
