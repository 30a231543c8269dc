"""What the grade of one pair does to the mean of a measure: only its query is measured again, the mean is exact."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from rankgauge.errors import MatchError, RankgaugeError, RankgaugeWarning
from rankgauge.matching.match import match
from rankgauge.measures.aggregates import aggregate
from rankgauge.protocol import DEFAULT, Protocol
from rankgauge.read import Judgments, Run

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats
    from rankgauge.measures import Measure

__all__ = ["Change", "Effects"]


class Change(NamedTuple):
    """A pair, and the grade that it would have."""

    query_id: str
    doc_id: str
    grade: float


@dataclass(frozen=True, eq=False)
class _Measured:
    """A run, the value of every query, and where each is."""

    run: Run
    values: Floats
    place: Mapping[str, int]
    answered: str  # a query that it answers


class Effects:
    """Judgments and runs, measured once; `means` says what each would be after a change."""

    def __init__(
        self, judgments: Judgments, runs: Mapping[str, Run], measure: Measure, protocol: Protocol = DEFAULT
    ) -> None:
        self.judged, self.measure, self.protocol = judgments.nested, measure, protocol
        self.problems: list[str] = []
        self._measured: dict[str, _Measured] = {}
        for name, run in runs.items():
            try:
                self._measured[name] = self._first(run)
            except RankgaugeError as error:
                self.problems.append(f"{name} is left out: {error}")

    @property
    def now(self) -> dict[str, float]:
        """Run → its mean as it is."""
        return {name: self._mean(each.values) for name, each in self._measured.items()}

    def means(self, changes: Sequence[Change]) -> dict[str, list[float]]:
        """Run → its mean after each of the changes, one at a time."""
        return {name: self._means(each, changes) for name, each in self._measured.items()}

    def _first(self, run: Run) -> _Measured:
        queries, values = self._values(self.judged, run)
        answered = next((query for query in queries if query in run.answered), None)
        if answered is None:
            raise MatchError(f"{run.source} answers no judged query")
        return _Measured(run, values, {query: at for at, query in enumerate(queries)}, answered)

    def _means(self, measured: _Measured, changes: Sequence[Change]) -> list[float]:
        found = [float("nan")] * len(changes)
        for group in _rounds(changes):
            asked = {measured.answered: self.judged[measured.answered]}  # a run that answers nothing is refused
            asked |= {
                change.query_id: {**self.judged.get(change.query_id, {}), change.doc_id: change.grade}
                for change in group.values()
            }
            part = {query: measured.run.nested[query] for query in asked if query in measured.run.nested}
            queries, values = self._values(asked, Run(part, source=measured.run.source, by=measured.run.by))
            known = dict(zip(queries, values.tolist(), strict=True))
            for at, change in group.items():
                found[at] = self._mean(self._replaced(measured, change.query_id, known))
        return found

    def _replaced(self, measured: _Measured, query: str, known: Mapping[str, float]) -> Floats:
        """The values of all queries with that of one changed; one that is left out stays so."""
        values = measured.values
        if query in measured.place and query in known:
            values = values.copy()
            values[measured.place[query]] = known[query]
        return values

    def _values(self, judged: Mapping[str, Mapping[str, float]], run: Run) -> tuple[list[str], Floats]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankgaugeWarning)
            hits = match(Judgments(judged), run, self.protocol)
        return hits.queries, self.measure(hits)

    def _mean(self, values: Floats) -> float:
        return aggregate(self.measure.definition.own_aggregate, values)


def _rounds(changes: Iterable[Change]) -> list[dict[int, Change]]:
    """The changes, numbered, in groups that change a query once at most: a group is measured together."""
    groups: list[dict[int, Change]] = []
    seen: dict[str, int] = {}
    for at, change in enumerate(changes):
        number = seen[change.query_id] = seen.get(change.query_id, -1) + 1
        if number == len(groups):
            groups.append({})
        groups[number][at] = change
    return groups
