"""What can be wrong between judgments and a run, ids above all, and what findings do to the score."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from rankgauge.errors import RankgaugeError, RankgaugeWarning
from rankgauge.matching.diagnose import CHANGES, alike, sides_of
from rankgauge.matching.match import Hits, match
from rankgauge.measures.aggregates import aggregate
from rankgauge.measures.bands.bands import tie_band
from rankgauge.protocol import DEFAULT, Protocol
from rankgauge.read import Judgments, Run
from rankgauge.validation.checks import flipped, short_queries
from rankgauge.validation.codes import EXAMPLES, Draft, Example, about_queries
from rankgauge.validation.quick import reversal, same_in_32_bits

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats
    from rankgauge.matching.diagnose import Side
    from rankgauge.measures import Measure
    from rankgauge.read import Columns
    from rankgauge.validation.table import Table

__all__ = ["Pair", "check_pair", "effects"]

QUERIES: Final = 200  # whose documents are compared: what is written differently is so everywhere
ROWS: Final = 50_000


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
        return None if hits is None else self._of(self.measure(hits))

    def mean_without(self, queries: Iterable[str]) -> str:
        """The mean with and without these queries, in words."""
        if self.hits is None or self.values is None:
            return ""
        out = set(queries)
        kept: Bools = np.array([query not in out for query in self.hits.queries], bool)
        if kept.all() or not kept.any():
            return ""
        return f"{self.start} with them and {self._of(self.values[kept]):.4f} without"

    @property
    def start(self) -> str:
        """How a sentence about the value begins."""
        return "" if self.values is None else f"{self.measure} is {self._of(self.values):.4f}"

    def _of(self, values: Floats) -> float:
        """What the values of queries come to: the mean of most measures, the sum of counts."""
        return aggregate(self.measure.definition.own_aggregate, values)


def _hits(judged: Columns, run: Columns, protocol: Protocol = DEFAULT) -> Hits | None:
    try:
        with warnings.catch_warnings(action="ignore", category=RankgaugeWarning):
            return match(Judgments(judged), Run(run), protocol)
    except RankgaugeError:
        return None


def check_pair(pair: Pair) -> Iterator[Draft]:
    """Every finding about a run against judgments."""
    judged, run = pair.judged, pair.run
    unjudged, missing = _only_in(run, judged), _only_in(judged, run)
    if unjudged:
        yield about_queries("RG301", run, run.first_of(unjudged), "none: they are left out")
    if missing:
        draft = about_queries("RG302", judged, judged.first_of(missing))
        yield replace(draft, source=run.name)
    yield from _spelled_otherwise(pair)
    yield from _in_32_bits(pair)
    turned = reversal(pair.hits, pair.measure) if pair.hits is not None else ""
    if turned:
        example = Example(f"score {run.columns.number[0]:g}", run, 0)
        yield Draft("RG207", run.name, len(run.columns.queries), [example], turned)


def _in_32_bits(pair: Pair) -> Iterator[Draft]:
    """Scores that 32 bits cannot tell apart, where that makes another value."""
    columns = pair.run.columns
    order = np.lexsort((-columns.number, columns.query))
    rows = order[same_in_32_bits(columns.query[order], columns.number[order])]
    other = pair.mean(protocol=Protocol(scores="float32")) if len(rows) else None
    if other is not None and pair.values is not None and f"{other:.4f}" != f"{pair.values.mean():.4f}":
        shown = [
            Example(f"score {float(columns.number[row])!r}", pair.run, int(row)) for row in rows[:EXAMPLES].tolist()
        ]
        yield Draft("RG209", pair.run.name, len(rows), shown, f"{pair.start}, and {other:.4f} in 32 bits")


def _only_in(table: Table, other: Table) -> list[int]:
    """The numbers of the queries that the other table does not have."""
    return [number for number, query in enumerate(table.columns.queries) if query not in other.number]


# ---- ids written differently -----------------------------------------------------------------------------------------


def _spelled_otherwise(pair: Pair) -> Iterator[Draft]:
    """Ids of queries, then of documents, that would match if both sides wrote them alike."""
    judged, run = pair.judged, pair.run
    ours = [query for query in judged.columns.queries if query not in run.number]
    theirs = {query: number for query, number in run.number.items() if query not in judged.number} if ours else {}
    queries: list[Side] = [(ours, {query: int(run.first_of([number])[0]) for query, number in theirs.items()})]
    shared = sorted(judged.number.keys() & run.number.keys())[:QUERIES]
    documents = sides_of(((judged.documents(query), run.documents(query)) for query in shared), ROWS)
    for what, (sides, matching) in (("query", (queries, 0)), ("document", documents)):
        pairs, name = alike(sides, matching)
        if pairs:
            shown = [
                Example(f"{what} {ours_id!r} is judged, {theirs_id!r} is in the run", run, row)
                for ours_id, theirs_id, row in pairs[:EXAMPLES]
            ]
            draft = Draft("RG303", run.name, len(pairs), shown, f"none of them counts; they match after {name}")
            yield draft.also(_alike(pair, CHANGES[name], what))


def _alike(pair: Pair, change: Callable[[str], str], what: str) -> str:
    """What the value is when the ids of both sides are changed so that they match."""
    value = pair.mean(_respelled(pair.judged, change, what), _respelled(pair.run, change, what))
    if value is None:
        return ""
    return f"{pair.start}, and {value:.4f} then" if pair.start else f"{pair.measure} is {value:.4f} then"


def _respelled(table: Table, change: Callable[[str], str], what: str) -> Columns:
    """The rows with the ids of queries or documents changed, every pair once."""
    import polars as pl

    columns = table.once()
    if what == "query":
        numbers: dict[str, int] = {}
        new = [numbers.setdefault(change(query) or query, len(numbers)) for query in columns.queries]
        changed = replace(columns, queries=list(numbers), query=np.array(new, np.int32)[columns.query])
    else:
        distinct = columns.doc.unique()
        new_docs = pl.Series([change(doc) or doc for doc in distinct], dtype=pl.String)
        changed = replace(columns, doc=columns.doc.replace_strict(distinct, new_docs, return_dtype=pl.String))
    return replace(table, columns=changed, ranks=None).once()


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


def _regraded(pair: Pair, change: Callable[[Floats], Floats], words: str) -> str:
    columns = pair.judged.once()
    value = pair.mean(replace(columns, number=change(columns.number)))
    return f"{pair.start}, and {value:.4f} {words}"


def _which_copy(pair: Pair) -> str:
    best = pair.mean(run=pair.run.once("high"))
    each = pair.mean(run=pair.run.columns, protocol=Protocol(duplicates="each"))
    return f"{pair.start} with the first of each, {best:.4f} with the best-scored, {each:.4f} if all of them count"


def _band(pair: Pair) -> str:
    assert pair.hits is not None
    band = tie_band(pair.hits, pair.measure).mean
    least = "" if band.exact else "at least "
    return f"{pair.start}, and {least}{band.low:.4f} to {band.high:.4f} under other orders of equal scores"


def _itself(pair: Pair) -> str:
    dropped = pair.mean(protocol=Protocol(same_id="drop"))
    return "" if dropped is None else f"{pair.start} with them and {dropped:.4f} without"


EFFECTS: Final[dict[str, Callable[[Pair], str]]] = {
    "RG102": _which_grade,
    "RG103": lambda pair: pair.mean_without(pair.judged.names(pair.judged.nothing_relevant)),
    "RG104": lambda pair: _regraded(pair, flipped, "with the scale turned round"),
    "RG105": lambda pair: _regraded(pair, np.trunc, "with the decimals cut off"),
    "RG201": _which_copy,
    "RG202": lambda pair: f"{pair.start} by score and {pair.mean(run=pair.run.by_rank()):.4f} by rank",
    "RG203": lambda pair: f"none by score: {pair.start}",
    "RG204": _band,
    "RG205": lambda pair: pair.mean_without(pair.run.names(short_queries(pair.run))),
    "RG206": _band,
    "RG208": _itself,
    "RG302": lambda pair: pair.mean_without(pair.judged.number.keys() - pair.run.number.keys()),
}
# Findings that say more than the effect: how many they are of how many, what is usual.
ADDED: Final = ("RG103", "RG203", "RG205", "RG208")
