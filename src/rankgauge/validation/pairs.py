"""What can be wrong between judgments and a run, and what findings do to the score."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from rankgauge.errors import RankgaugeError, RankgaugeWarning
from rankgauge.matching.match import Hits, match
from rankgauge.measures.bands.bands import tie_band
from rankgauge.protocol import DEFAULT, Protocol
from rankgauge.read import Judgments, Run
from rankgauge.validation.drafts import Draft, Example, about_queries
from rankgauge.validation.judged import flipped
from rankgauge.validation.quick import reversal
from rankgauge.validation.ranked import short_queries
from rankgauge.validation.spelling import respelled, spelled_otherwise
from rankgauge.validation.table import Table

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats
    from rankgauge.measures import Measure
    from rankgauge.read import Columns

__all__ = ["Pair", "check_pair", "effects"]


@dataclass(frozen=True, eq=False)
class Pair:
    """Judgments and a run, and the measure in which effects are told."""

    judged: Table
    run: Table
    measure: Measure

    @cached_property
    def hits(self) -> Hits | None:
        """The two matched, every pair once; None where they have no query in common."""
        return _hits(self.judged.once(), self.run.once())

    @cached_property
    def values(self) -> Floats | None:
        """The measure's value for every query."""
        return None if self.hits is None else self.measure(self.hits)

    def mean(
        self, judged: Columns | None = None, run: Columns | None = None, protocol: Protocol = DEFAULT
    ) -> float | None:
        """What the mean would be with other judgments, another run or another rule."""
        hits = _hits(judged or self.judged.once(), run or self.run.once(), protocol)
        return None if hits is None else float(self.measure(hits).mean())

    def mean_without(self, queries: Iterable[str]) -> str:
        """The mean with and without these queries, in words."""
        if self.hits is None or self.values is None:
            return ""
        out = set(queries)
        kept: Bools = np.array([query not in out for query in self.hits.queries], bool)
        if kept.all() or not kept.any():
            return ""
        return f"{self.start} with them and {self.values[kept].mean():.4f} without"

    @property
    def start(self) -> str:
        """How a sentence about the value begins."""
        return "" if self.values is None else f"{self.measure} is {self.values.mean():.4f}"


def _hits(judged: Columns, run: Columns, protocol: Protocol = DEFAULT) -> Hits | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankgaugeWarning)
            return match(Judgments(judged), Run(run), protocol)
    except RankgaugeError:
        return None


def check_pair(pair: Pair) -> Iterator[Draft]:
    """Every finding about a run against judgments."""
    judged, run = pair.judged, pair.run
    unjudged, missing = _only_in(run, judged), _only_in(judged, run)
    if unjudged:
        yield about_queries("RG301", run, unjudged, run.first_of(unjudged), "none: they are left out")
    if missing:
        draft = about_queries("RG302", judged, missing, judged.first_of(missing))
        yield replace(draft, source=run.name)
    for found in spelled_otherwise(judged, run):
        yield found.draft.also(_alike(pair, found.change, found.what))
    turned = reversal(pair.hits, pair.measure) if pair.hits is not None else ""
    if turned:
        example = Example(f"score {run.columns.number[0]:g}", run, 0)
        yield Draft("RG207", run.name, len(run.columns.queries), [example], turned)


def _only_in(table: Table, other: Table) -> list[int]:
    """The numbers of the queries that the other table does not have."""
    return [number for number, query in enumerate(table.columns.queries) if query not in other.number]


def _alike(pair: Pair, change: Callable[[str], str], what: str) -> str:
    """What the value is when the ids of both sides are changed so that they match."""
    value = pair.mean(respelled(pair.judged, change, what), respelled(pair.run, change, what))
    if value is None:
        return ""
    return f"{pair.start}, and {value:.4f} then" if pair.start else f"{pair.measure} is {value:.4f} then"


# ---- effects --------------------------------------------------------------------------------------------------------


def effects(found: Iterable[Draft], pair: Pair, whose: str = "") -> Iterator[Draft]:
    """The findings with what they do to the score, where that can be measured; `whose` names the run beside it."""
    for draft in found:
        measured = _measured(draft.code, pair)
        if measured:
            before = draft if draft.code in ADDED else replace(draft, effect="")
            draft = before.also(f"{measured} ({whose})" if whose else measured)
        yield draft


def _measured(code: str, pair: Pair) -> str:
    if pair.hits is None:
        return "no query in common: nothing can be measured, and eval refuses these files" if code == "RG302" else ""
    return EFFECTS[code](pair) if code in EFFECTS else ""


def _which_grade(pair: Pair) -> str:
    low, high = pair.mean(pair.judged.once("low")), pair.mean(pair.judged.once("high"))
    return f"{pair.start} with the first of the grades, {low:.4f} with the lowest, {high:.4f} with the highest"


def _nothing_relevant(pair: Pair) -> str:
    columns = pair.judged.columns
    best = np.full(len(columns.queries), -np.inf)
    np.maximum.at(best, columns.query, columns.number)
    return pair.mean_without(columns.queries[number] for number in np.flatnonzero(best <= 0))


def _scale_turned(pair: Pair) -> str:
    columns = pair.judged.once()
    turned = pair.mean(replace(columns, number=flipped(columns.number)))
    return f"{pair.start}, and {turned:.4f} with the scale turned round"


def _decimals_cut(pair: Pair) -> str:
    columns = pair.judged.once()
    cut = pair.mean(replace(columns, number=np.trunc(columns.number)))
    return f"{pair.start}, and {cut:.4f} with the decimals cut off"


def _which_copy(pair: Pair) -> str:
    best = pair.mean(run=pair.run.once("high"))
    each = pair.mean(run=pair.run.columns, protocol=Protocol(duplicates="each"))
    return f"{pair.start} with the first of each, {best:.4f} with the best-scored, {each:.4f} if all of them count"


def _by_rank(pair: Pair) -> str:
    return f"{pair.start} by score and {pair.mean(run=pair.run.by_rank()):.4f} by rank"


def _band(pair: Pair) -> str:
    assert pair.hits is not None
    band = tie_band(pair.hits, pair.measure).mean
    least = "" if band.exact else "at least "
    return f"{pair.start}, and {least}{band.low:.4f} to {band.high:.4f} under other orders of equal scores"


def _short(pair: Pair) -> str:
    return pair.mean_without(pair.run.columns.queries[number] for number in short_queries(pair.run))


def _itself(pair: Pair) -> str:
    dropped = pair.mean(protocol=Protocol(same_id="drop"))
    return "" if dropped is None else f"{pair.start} with them and {dropped:.4f} without"


def _missing(pair: Pair) -> str:
    return pair.mean_without(query for query in pair.judged.columns.queries if query not in pair.run.number)


EFFECTS: Final[dict[str, Callable[[Pair], str]]] = {
    "RG102": _which_grade,
    "RG103": _nothing_relevant,
    "RG104": _scale_turned,
    "RG105": _decimals_cut,
    "RG201": _which_copy,
    "RG202": _by_rank,
    "RG203": lambda pair: f"none by score: {pair.start}",
    "RG204": _band,
    "RG205": _short,
    "RG206": _band,
    "RG208": _itself,
    "RG302": _missing,
}
# Findings that say more than the effect: how many they are of how many, what is usual.
ADDED: Final = ("RG103", "RG203", "RG205", "RG208")
