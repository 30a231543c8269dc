"""What do other tools say of the same files, and which convention gives the number that I was told?"""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from rankgauge.dialects import DIALECTS, Dialect
from rankgauge.errors import MeasureError, ProtocolError, RankgaugeError, RankgaugeWarning
from rankgauge.evaluate import measure_hits, measure_in_dialect
from rankgauge.match import find, searching, settled
from rankgauge.measures import Measure
from rankgauge.protocol import DEFAULT, RULES, Protocol
from rankgauge.result import SAME

if TYPE_CHECKING:
    from rankgauge.match import Found, Hits
    from rankgauge.read import Judgments, Run
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
FIXED: Final = {"duplicates"}  # rules that are not searched: the files are what they are
# Rules that make no difference together with another one where they make none alone.
INDEPENDENT: Final = {"scores", "same_id", "missing"}


@dataclass(frozen=True, eq=False)
class Files:
    """Judgments, a run, and what was found so far: most rules can be changed without searching the run again."""

    judgments: Judgments
    read: Callable[[Protocol], Run]
    found: dict[Protocol, Found] = field(default_factory=dict)

    def find(self, protocol: Protocol) -> Found:
        """What is found under these rules, searched for once."""
        rules = searching(protocol)
        if rules not in self.found:
            self.found[rules] = find(self.judgments, self.read(rules), rules)
        return self.found[rules]

    def hits(self, protocol: Protocol) -> Hits:
        """The hits under these rules."""
        return settled(self.find(protocol), protocol)

    def result(self, measure: Measure, protocol: Protocol = DEFAULT) -> Result:
        """The result of one measure under these rules."""
        with _quietly():
            return measure_hits(self.hits(protocol), [measure])

    def spoken(self, measure: Measure, dialect: Dialect) -> Result:
        """The result of one measure in a dialect."""
        with _quietly():
            return measure_in_dialect(dialect, [measure], self.hits)

    def value(self, measure: Measure, protocol: Protocol = DEFAULT) -> float | None:
        """One number, or None where the rules do not allow one."""
        try:
            return self.result(measure, protocol)[measure]
        except RankgaugeError:
            return None


@contextmanager
def _quietly() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankgaugeWarning)
        yield


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
    ours = files.result(measure)[measure]
    return [Row("rankgauge", ours, 0.0, ""), *(_row(files, measure, dialect, ours) for dialect in dialects)]


def _row(files: Files, measure: Measure, dialect: Dialect, ours: float) -> Row:
    try:
        result = files.spoken(measure, dialect)
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
    own = dialect.own(measure)
    changes = [*_parameters_changed(measure, own.measure), *_rules_changed(own.protocol)]
    words = [str(change) for change in changes if _moves(_value(files, measure, [change]), ours)]
    if own.rounding is not None or (dialect.round_mean is not None and not words):
        words.append("rounding")
    return ", ".join(words or map(str, changes))


def _moves(value: float | None, ours: float) -> bool:
    return value is not None and abs(value - ours) > SAME


def _parameters_changed(measure: Measure, own: Measure) -> list[Change]:
    before = dict(measure.parameters)
    return [Change(name, value, False) for name, value in own.parameters if before.get(name) != value]


def _rules_changed(protocol: Protocol) -> list[Change]:
    return [Change(rule, value, True) for rule, value in protocol.changed.items()]


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
    known = measure.definition.parameters
    kept = [(name, given[name]) for name in known if name in given and given[name] != known[name].default]
    return Measure(measure.name, tuple(kept)), replace(DEFAULT, **rules)


def _value(files: Files, measure: Measure, changes: Sequence[Change]) -> float | None:
    """Our value with these changes; None where they exclude each other."""
    try:
        return files.value(*changed(measure, changes))
    except ProtocolError:
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


@dataclass(frozen=True, slots=True)
class Candidate:
    """A convention that gives the number: a dialect's name or some changes, its value, and that of every query."""

    name: str
    changes: int
    value: float
    queries: dict[str, float]


def search(files: Files, measure: Measure, told: Told) -> list[Candidate]:
    """Every dialect that gives the number, then ours with no, one or two changes, none of them idle."""
    found = [*_dialects_that_fit(files, measure, told)]
    fitting: list[frozenset[Change]] = []
    singles = _changes(measure)
    several = [change for change in singles if not _never_matters(files, change)]
    for number, changes_of in ((0, singles), (1, singles), (2, several)):
        for changes in _combinations(changes_of, number):
            idle = any(subset <= frozenset(changes) for subset in fitting)
            if not idle and told.fits(_value(files, measure, changes)):
                fitting.append(frozenset(changes))
                found.append(_candidate(files, measure, changes))
    return found


def _never_matters(files: Files, change: Change) -> bool:
    """Whether a rule leaves what is found on these files as it is, and so needs not be tried with others."""
    if not change.is_rule or change.name not in INDEPENDENT:
        return False
    with _quietly():
        return files.find(DEFAULT).equals(files.find(replace(DEFAULT, **{change.name: change.setting})))


def _dialects_that_fit(files: Files, measure: Measure, told: Told) -> Iterator[Candidate]:
    for dialect in DIALECTS.values():
        try:
            result = files.spoken(measure, dialect)
        except RankgaugeError:
            continue
        number = len(_parameters_changed(measure, dialect.own(measure).measure)) + len(dialect.protocol.changed)
        band = result.undefined[measure].mean if measure in result.undefined else None
        if told.fits(result[measure]):
            yield Candidate(dialect.name, number, result[measure], _queries(result, measure))
        elif band is not None and told.lies_between(band.low, band.high):
            yield Candidate(f"{dialect.name}, in another order of ties", number, told.nearest(result[measure]), {})


def _candidate(files: Files, measure: Measure, changes: Sequence[Change]) -> Candidate:
    other, protocol = changed(measure, changes)
    result = files.result(other, protocol)
    name = ", ".join(map(str, changes)) or "rankgauge as it is"
    return Candidate(name, len(changes), result[other], _queries(result, other))


def _queries(result: Result, measure: Measure) -> dict[str, float]:
    return {query: values[str(measure)] for query, values in result.to_dict().items() if str(measure) in values}


def _combinations(singles: Sequence[Change], number: int) -> Iterator[tuple[Change, ...]]:
    """So many changes, no two of one rule."""
    for changes in itertools.combinations(singles, number):
        if len({change.name for change in changes}) == number:
            yield changes


def _changes(measure: Measure) -> list[Change]:
    """Every single change that some tool makes."""
    parameters = [
        Change(name, setting, False)
        for name, settings in OTHERWISE.items()
        if name in measure.definition.parameters
        for setting in settings
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
    """The query that tells most of these apart: the most distinct values, then the widest apart."""
    queries = dict.fromkeys(query for candidate in candidates for query in candidate.queries)
    spread = {query: _spread([candidate.queries.get(query) for candidate in candidates]) for query in queries}
    best = max(spread, key=spread.__getitem__, default=None)
    return best if best is not None and spread[best][0] > 1 else None


def _spread(values: Sequence[float | None]) -> tuple[int, float]:
    numbers = [value for value in values if value is not None]
    distinct = {None if value is None else round(value, 9) for value in values}
    return len(distinct), max(numbers) - min(numbers)
