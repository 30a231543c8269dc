"""What do other tools say of the same files, and which convention gives the number that I was told?"""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.dialects import DIALECTS, Dialect
from rankgauge.dialects.dialect import measure_of
from rankgauge.errors import MeasureError, RankgaugeError, RankgaugeWarning
from rankgauge.evaluate import measure_hits
from rankgauge.matching.match import find, searching, settled
from rankgauge.measures import Measure
from rankgauge.measures.bands.bands import is_text
from rankgauge.protocol import DEFAULT, RULES, Protocol
from rankgauge.result import SAME

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats, Ints
    from rankgauge.matching.match import Found, Hits
    from rankgauge.read import Judgments, RunSource
    from rankgauge.result import Result

__all__ = ["Candidate", "Files", "Row", "Told", "compare", "search", "telling_query"]

# Parameter of a measure → what some tool has there.
OTHERWISE: Final[dict[str, tuple[Any, ...]]] = {
    "gain": ("linear", "exp", "binary"),
    "discount": ("log2", "jk2", "zipf", "none"),
    "norm": ("R", "min", "hits"),
    "by": ("k", "returned"),
    "rel": (1.0, 2.0),
    "k": (1, 3, 5, 10, 20, 50, 100, 1000, None),
}
APART: Final = 1e-9  # values of a query less apart cannot be told from each other
FIXED: Final = {"duplicates"}  # rules that are not searched: the files are what they are
# Rules that make no difference together with another one where they make none alone.
INDEPENDENT: Final = {"scores", "same_id", "missing"}


@dataclass(frozen=True, eq=False)
class Files:
    """Judgments, a run, and what was found so far: most rules can be changed without searching the run again."""

    judgments: Judgments
    run: RunSource
    found: dict[Protocol, Found] = field(default_factory=dict)

    def find(self, protocol: Protocol) -> Found:
        """What is found under these rules, searched for once."""
        rules = searching(protocol)
        if rules not in self.found:
            self.found[rules] = find(self.judgments, self.run.read(rules), rules)
        return self.found[rules]

    def hits(self, protocol: Protocol) -> Hits:
        """The hits under these rules."""
        return settled(self.find(protocol), protocol)

    def result(self, measure: Measure, protocol: Protocol = DEFAULT, dialect: Dialect | None = None) -> Result:
        """The result of one measure under these rules, or in a dialect."""
        with warnings.catch_warnings(action="ignore", category=RankgaugeWarning):
            return measure_hits(self.hits, [measure], protocol, dialect)


# ---- what others say ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """What one tool says: a value, or none and why. Where its order of ties is not defined, there is the lowest and
    the highest value instead that any order gives (`exact`: reached and never passed)."""

    dialect: str
    value: float | None
    difference: float | None
    reason: str
    low: float | None = None
    high: float | None = None
    exact: bool = True


def compare(files: Files, measure: Measure, dialects: Iterable[Dialect]) -> list[Row]:
    """Our value, then one row per dialect."""
    _refuse_texts(measure)
    ours = files.result(measure)[measure]
    return [Row("rankgauge", ours, 0.0, ""), *(_row(files, measure, dialect, ours) for dialect in dialects)]


def _refuse_texts(measure: Measure) -> None:
    if is_text(measure):
        raise MeasureError(f"{measure} is a text for each query; dialects compares numbers, such as nDCG@10")


def _row(files: Files, measure: Measure, dialect: Dialect, ours: float) -> Row:
    try:
        result = files.result(measure, dialect=dialect)
    except MeasureError:
        return Row(dialect.name, None, None, "not defined there")
    except RankgaugeError as error:
        return Row(dialect.name, None, None, f"fails: {error}")
    value = result[measure]
    reason = "" if abs(value - ours) < SAME else _reason(files, measure, dialect, ours)
    if measure in result.undefined:
        band = result.undefined[measure].mean
        why = "; ".join(filter(None, [reason, "the order of ties is not defined"]))
        return Row(dialect.name, None, None, why, band.low, band.high, band.exact)
    return Row(dialect.name, value, value - ours, reason)


def _reason(files: Files, measure: Measure, dialect: Dialect, ours: float) -> str:
    """The changes that alone make a difference on these files; all of them where none does alone."""
    own, changes = dialect.own(measure), _changes_of(dialect, measure)
    words = [str(change) for change in changes if _moves(files, measure, change, ours)]
    if own.measure.name != measure.name:
        words.insert(0, f"{measure.name} is {own.measure.name}")
    if own.rounding is not None or (dialect.round_mean is not None and not words):
        words.append("rounding")
    return ", ".join(words or map(str, changes))


def _changes_of(dialect: Dialect, measure: Measure) -> list[Change]:
    """What the tool's definition of a measure changes: its parameters, then the rules."""
    own, before = dialect.own(measure), dict(measure.parameters)
    parameters = [Change(name, value, False) for name, value in own.measure.parameters if before.get(name) != value]
    return [*parameters, *(Change(rule, value, True) for rule, value in own.protocol.changed.items())]


def _moves(files: Files, measure: Measure, change: Change, ours: float) -> bool:
    """Whether a change alone makes a difference."""
    found = _ours_with(files, measure, [change])
    return found is not None and abs(found[1][found[0]] - ours) > SAME


# ---- which convention gives a number --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Change:
    """One rule of the protocol, or one parameter of the measure, at another setting."""

    name: str
    setting: Any
    is_rule: bool

    def __str__(self) -> str:
        shown = f"{self.setting:g}" if isinstance(self.setting, float) else self.setting
        return "no cut-off" if self.setting is None else f"{self.name}={shown}"


def changed(measure: Measure, changes: Sequence[Change]) -> tuple[Measure, Protocol]:
    """Measure and protocol with these changes."""
    rules = {change.name: change.setting for change in changes if change.is_rule}
    given = dict(measure.parameters) | {change.name: change.setting for change in changes if not change.is_rule}
    return measure_of(measure.name, given), replace(DEFAULT, **rules)


def _ours_with(files: Files, measure: Measure, changes: Sequence[Change]) -> tuple[Measure, Result] | None:
    """Our measure with these changes, and its result; None where they exclude each other or allow no number."""
    try:
        other, protocol = changed(measure, changes)
        return other, files.result(other, protocol)
    except RankgaugeError:
        return None


class Told:
    """A number as somebody told it, `0.6885`, `68.9%` or `68.85`: what may have been rounded to it."""

    def __init__(self, text: str) -> None:
        found = re.fullmatch(r"\s*(\d*)(?:[.,](\d+))?\s*(%?)\s*", text)
        if not found or not (found[1] or found[2]):
            raise MeasureError(f"{text!r} is not a number to look for; write one like 0.6885 or 68.9%")
        number, half = float(f"{found[1] or 0}.{found[2] or 0}"), 0.5 * 10.0 ** -len(found[2] or "")
        self.text = text.strip()
        self.ranges = [(number / 100, half / 100)] if found[3] or number > 1 else []
        if not found[3]:
            self.ranges.append((number, half))

    def fits(self, value: float | None) -> bool:
        """Whether a value is this number, to the digits given."""
        return value is not None and self.lies_between(value, value)

    def lies_between(self, low: float, high: float) -> bool:
        """Whether some value from low to high is this number, to the digits given."""
        return any(low - half - 1e-9 <= number <= high + half + 1e-9 for number, half in self.ranges)

    def nearest(self, value: float) -> float:
        """The number told, as a share or a percentage: whichever is nearer to the value."""
        return min((number for number, _ in self.ranges), key=lambda number: abs(number - value))


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A convention that gives the number: a dialect's name or some changes, its value, and that of every query.

    A query's value lies from `low` to `high`: these are equal, unless the tool does not define the order of ties. NaN
    are queries that are left out; infinite ends are not known.
    """

    name: str
    changes: int
    value: float
    queries: list[str]
    low: Floats
    high: Floats

    def ends(self, query: str) -> tuple[float, float] | None:
        """The lowest and the highest value that a query may have; None where it is left out."""
        at = self.queries.index(query) if query in self.queries else None
        return None if at is None or np.isnan(self.low[at]) else (float(self.low[at]), float(self.high[at]))

    def same_queries(self, other: Candidate) -> bool:
        """Whether every query has the same value in both."""
        return self.queries == other.queries and np.allclose(self.low, other.low, rtol=0, atol=APART, equal_nan=True)


def search(files: Files, measure: Measure, told: Told, only: Sequence[Dialect] | None = None) -> list[Candidate]:
    """Every dialect that gives the number, then ours with no, one or two changes, none of them idle.

    Fewest changes first, in both; `only` looks among these dialects and nowhere else.
    """
    _refuse_texts(measure)
    dialects = DIALECTS.values() if only is None else only
    found = sorted(_dialects_that_fit(files, measure, told, dialects), key=lambda each: each.changes)
    return found if only is not None else [*found, *_changes_that_fit(files, measure, told)]


def _changes_that_fit(files: Files, measure: Measure, told: Told) -> Iterator[Candidate]:
    """Ours with no, one or two changes; not where leaving a change out gives every query the same value."""
    fitting: dict[frozenset[Change], Candidate] = {}
    singles = _changes(measure)
    several = [change for change in singles if not _never_matters(files, change)]
    for number, changes_of in ((0, singles), (1, singles), (2, several)):
        for changes in itertools.combinations(changes_of, number):
            if len({change.name for change in changes}) < number:  # two settings of one rule
                continue
            candidate = _candidate(files, measure, changes, told)
            if candidate is not None and not any(map(candidate.same_queries, _with_fewer(changes, fitting))):
                fitting[frozenset(changes)] = candidate
                yield candidate


def _with_fewer(changes: Sequence[Change], fitting: Mapping[frozenset[Change], Candidate]) -> Iterator[Candidate]:
    """What fits with some of these changes, but not all."""
    for number in range(len(changes)):
        subsets = map(frozenset, itertools.combinations(changes, number))
        yield from (fitting[subset] for subset in subsets if subset in fitting)


def _never_matters(files: Files, change: Change) -> bool:
    """Whether a rule leaves what is found on these files as it is, and so needs not be tried with others."""
    if not change.is_rule or change.name not in INDEPENDENT:
        return False
    with warnings.catch_warnings(action="ignore", category=RankgaugeWarning):
        return files.find(DEFAULT).equals(files.find(replace(DEFAULT, **{change.name: change.setting})))


def _dialects_that_fit(files: Files, measure: Measure, told: Told, dialects: Iterable[Dialect]) -> Iterator[Candidate]:
    for dialect in dialects:
        try:
            result = files.result(measure, dialect=dialect)
        except RankgaugeError:
            continue
        number = len(_changes_of(dialect, measure))
        band = result.undefined[measure].mean if measure in result.undefined else None
        if told.fits(result[measure]):
            yield Candidate(dialect.name, number, result[measure], *_queries(result, measure))
        elif band is not None and told.lies_between(band.low, band.high):
            name, value = f"{dialect.name}, in another order of ties", told.nearest(result[measure])
            yield Candidate(name, number, value, *_queries(result, measure))


def _candidate(files: Files, measure: Measure, changes: Sequence[Change], told: Told) -> Candidate | None:
    """Ours with these changes; None where it is another number, or none."""
    found = _ours_with(files, measure, changes)
    if found is None:
        return None
    other, result = found
    name = ", ".join(map(str, changes)) or "rankgauge as it is"
    fits = told.fits(result[other])
    return Candidate(name, len(changes), result[other], *_queries(result, other)) if fits else None


def _queries(result: Result, measure: Measure) -> tuple[list[str], Floats, Floats]:
    """The queries, and the lowest and the highest value that each may have."""
    if measure not in result.undefined:
        values = result.measured[measure].astype(np.float64)
        return result.query_ids, values, values
    band = result.undefined[measure]
    known = band.exact | np.isnan(band.value)
    return result.query_ids, np.where(known, band.low, -np.inf), np.where(known, band.high, np.inf)


def _changes(measure: Measure) -> list[Change]:
    """Every single change that some tool makes."""
    parameters = [
        Change(name, setting, False)
        for name, settings in OTHERWISE.items()
        if name in measure.definition.parameters
        for setting in settings
        if setting is not None or measure.definition.parameters[name].default is None  # P has no meaning without k
        if changed(measure, [Change(name, setting, False)])[0] != changed(measure, [])[0]
    ]
    rules = [
        Change(rule, setting, True)
        for rule, (_, *others) in RULES.items()
        if rule not in FIXED
        for setting in others
        if setting != "error"
    ]
    return [*parameters, *rules]


def telling_query(candidates: Sequence[Candidate]) -> str | None:
    """The query that tells most of these apart: the most values that differ for sure, then the widest apart."""
    queries = list(dict.fromkeys(query for candidate in candidates for query in candidate.queries))
    if not queries:
        return None
    place = {query: at for at, query in enumerate(queries)}
    low, high = np.full((2, len(candidates), len(queries)), -np.inf)
    for row, each in enumerate(candidates):
        at = [place[query] for query in each.queries]
        low[row, at], high[row, at] = (np.where(np.isnan(ends), -np.inf, ends) for ends in (each.low, each.high))
    number = _told_apart(low, high)
    best = int(np.lexsort((-_spread(low, high), -number))[0])
    return queries[best] if number[best] > 1 else None


def _told_apart(low: Floats, high: Floats) -> Ints:
    """For each column, how many of its ranges at most have nothing in common with one another."""
    order = np.argsort(high, axis=0, kind="stable")
    low, high = np.take_along_axis(low, order, axis=0), np.take_along_axis(high, order, axis=0)
    number, last = np.ones(low.shape[1], np.int64), high[0]
    for lowest, highest in zip(low[1:], high[1:], strict=True):
        apart = lowest > last + APART
        number, last = number + apart, np.where(apart, highest, last)
    return number


def _spread(low: Floats, high: Floats) -> Floats:
    """For each column, how far its ranges are apart, those that are not known left out."""
    highest = np.where(np.isfinite(low), low, -np.inf).max(axis=0)
    lowest = np.where(np.isfinite(high), high, np.inf).min(axis=0)
    apart: Floats = highest - lowest
    return apart
