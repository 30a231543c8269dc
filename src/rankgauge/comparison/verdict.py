"""What a comparison comes to, in words."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Final

from rankgauge.errors import counted
from rankgauge.stats.inference import FEW

if TYPE_CHECKING:
    from rankgauge.comparison.pairs import Pair

__all__ = ["BETTER", "NOT_SIGNIFICANT", "OPPOSITE", "OPTIMISTIC", "WORSE", "change_text", "decide", "p_text", "percent"]
__all__ += ["ends_text", "one_unit", "same_words", "smallest_p", "units_text", "verdict"]

BETTER: Final = "better"
WORSE: Final = "worse"
NOT_SIGNIFICANT: Final = "not significant"
OPPOSITE: Final = {BETTER: WORSE, WORSE: BETTER, NOT_SIGNIFICANT: NOT_SIGNIFICANT}
LEVELS: Final = (0.01, 0.05, 0.1)
OPTIMISTIC: Final = "A winner's mean is optimistic: it was chosen for being high."
LEADS: Final = {"log": "On this log, ", "future": "For other searches of this kind, "}


def decide(difference: float, shown: bool) -> str:
    """better, worse (a than b) or not significant."""
    if not shown or not difference:
        return NOT_SIGNIFICANT
    return BETTER if difference > 0 else WORSE


def verdict(pair: Pair, number: Callable[[float], str] = "{:z.4f}".format, *, brief: bool = False) -> str:
    """The answer about the system: better or worse than its baseline, by how much, how sure; or what was detectable.

    Of a sample a second sentence says what holds for the other population. `number` writes the numbers; `brief` leaves
    out what stands elsewhere: what the difference is in, and what the interval is.
    """
    answer = _answer(pair, number, brief)
    lead = LEADS[pair.population] if pair.population and isfinite(pair.interval[0]) and not pair.census else ""
    first = f"{lead}{answer}" if answer.startswith(pair.a) or not lead else lead + answer[0].lower() + answer[1:]
    second = _other_reading(pair, number)
    return f"{first}. {second}" if second else first


def _answer(pair: Pair, number: Callable[[float], str], brief: bool) -> str:
    measure = "" if brief else f" {pair.measure} per {pair.per}" if pair.per else f" {pair.measure}"
    if pair.decision != NOT_SIGNIFICANT:
        change = f"{changed} {'more' if pair.relative > 0 else 'less'}" if (changed := change_text(pair)) else ""
        sure = "; ".join(filter(None, ["" if brief else change, _sure(pair, number, brief)]))
        exactly = "exactly " if pair.constant else ""
        apart = f"{exactly}{number(abs(pair.difference))}{measure}"
        each = f" on each of {pair.queries:,} queries" if pair.constant else ""
        return f"{pair.a} is {pair.decision} than {pair.b} by {apart}{each} ({sure})"
    if pair.ties == pair.queries:
        return same_words(pair.a, pair.b, pair.measure, pair.queries)
    if 1 in (pair.queries, pair.clusters):
        return one_unit(pair.a, pair.b, pair.difference, measure, number, clusters=pair.queries > 1)
    apart = f"{pair.a} − {pair.b} is {number(pair.difference)}{measure} ({_sure(pair, number, brief)})"
    if pair.units < FEW:
        few = units_text(pair.units, pair.clusters) + " left to chance" * (pair.units < pair.queries)
        few = units_text(pair.queries, pair.clusters) if pair.clusters is not None else few
        what = "queries" if pair.clusters is None else "clusters of queries"
        return f"Too few {what} to tell: {apart}; {few} cannot show a significant difference"
    if 0 < pair.changed < FEW and pair.population is None:
        few = f"Only {pair.changed} of {units_text(pair.queries, pair.clusters)} changed"
        return f"{few}: {apart}: too few to tell"
    if not isfinite(pair.interval[0]):
        return f"No clear winner: {apart}; there is no interval"
    return f"No clear winner: {apart}; minimum detectable effect {number(pair.detectable)}"


def same_words(a: str, b: str, measure: str, queries: int) -> str:
    """The answer where no query differs."""
    every = f"all {queries:,} queries" if queries > 1 else "the one query"
    return f"No difference: {a} and {b} have the same {measure} on {every}"


def one_unit(
    a: str,
    b: str,
    difference: float,
    measure: str,
    number: Callable[[float], str] = "{:z.4f}".format,
    *,
    clusters: bool = False,
) -> str:
    """The answer where there is one query, or one cluster of queries, which shows nothing of others."""
    what, more = ("cluster of queries", "clusters") if clusters else ("query", "queries")
    return (
        f"One {what} cannot show a difference: {a} − {b} is {number(difference)}{measure}. Judge at least {FEW} {more}"
    )


def _sure(pair: Pair, number: Callable[[float], str], brief: bool) -> str:
    """The interval and the p that go together, and the one that decided, where that is another."""
    if pair.census:
        return f"all {pair.queries:,} queries of the log: no uncertainty of sampling"
    p, (low, high) = f"p {p_text(pair.p, sign=True)}", _ends(pair, pair.interval)
    level = "" if brief else f"{percent(pair.alpha)} interval "
    ends = f"{level}{ends_text(low, high, number)}" if isfinite(low) else ""
    own = ends if ends and pair.population == "log" else "; ".join(filter(None, [ends, p]))
    if pair.comparisons < 2:
        return own
    if pair.decided_by == "p":
        beside = f"; adjusted for {counted(pair.comparisons, 'comparison')}: p {p_text(pair.p_adjusted, sign=True)}"
        return own if brief else own + beside
    return f"{own}; {pair.decided_by} decides: adjusted p {p_text(pair.p_adjusted, sign=True)}"


def _other_reading(pair: Pair, number: Callable[[float], str]) -> str:
    """What holds for the other population than the one that the answer is about."""
    if pair.reading is None or pair.ties == pair.queries:
        return ""
    lead, p = LEADS[pair.reading.population], f"p {p_text(pair.reading.p, sign=True)}"
    low, high = _ends(pair, pair.reading.interval)
    if pair.reading.decision == NOT_SIGNIFICANT:
        return f"{lead}this cannot be told yet ({p})" if pair.decision != NOT_SIGNIFICANT else ""
    if pair.reading.p != pair.reading.p:
        return f"{lead}{pair.a} is {pair.reading.decision}: all of its queries are known"
    sure = f"{ends_text(low, high, number)}; {p}" if isfinite(low) else p
    if pair.decision == pair.reading.decision:
        return f"{lead}this holds, too ({sure})"
    return f"{lead}{pair.a} is {pair.reading.decision} ({sure})"


def _ends(pair: Pair, interval: tuple[float, float]) -> tuple[float, float]:
    """Those of the interval, of a loss as of a gain."""
    low, high = interval
    return (low, high) if pair.decision != WORSE else (-high, -low)


def ends_text(low: float, high: float, number: Callable[[float], str] = "{:z.4f}".format) -> str:
    """Both ends; one that is not 0 is not written as 0."""
    return f"{_not_zero(low, number)} to {_not_zero(high, number)}"


def _not_zero(end: float, number: Callable[[float], str]) -> str:
    words = number(end)
    if end and not any(digit in words for digit in "123456789"):
        for digits in range(5, 13):
            words = f"{end:z.{digits}f}"
            if any(digit in words for digit in "123456789"):
                break
    return words


def units_text(queries: int, clusters: int | None) -> str:
    """How many there are of what counts as independent: 12 queries, 4 clusters of queries."""
    if clusters is None:
        return counted(queries, "query", "queries")
    return counted(clusters, "cluster of queries", "clusters of queries")


def smallest_p(units: int) -> float:
    """The smallest p of the sign-flip test: all differences with one sign, or all with the other."""
    return 2.0 ** (1 - units)


def change_text(pair: Pair) -> str:
    """The relative change without its sign: 9.0 %, 35 %; nothing where there is none."""
    size = abs(pair.relative)
    return f"{100 * size:.{1 if size < 0.0995 else 0}f} %" if isfinite(size) else ""


def percent(alpha: float) -> str:
    """0.05 → 95 %."""
    return f"{100 * (1 - alpha):g} %"


def p_text(p: float, *, sign: bool = False) -> str:
    """A p-value to four decimals; never 0, and never rounded up to a level that it is below."""
    if p != p:
        return "–"
    if p < 0.0001:
        return "< 0.0001"
    words = f"{p:.4f}"
    for digits in range(5, 13):
        if float(words) not in LEVELS or p >= float(words):
            break
        words = f"{p:.{digits}f}"
    return f"{'= ' * sign}{words}"
