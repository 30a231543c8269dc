"""What a comparison comes to, in words."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Final

from rankgauge.errors import counted

if TYPE_CHECKING:
    from rankgauge.comparison.pairs import Pair

__all__ = ["BETTER", "NOT_SIGNIFICANT", "OPPOSITE", "WORSE", "change_text", "decide", "p_text", "percent"]
__all__ += ["smallest_p", "units_text", "verdict", "verdict_in_brief"]

BETTER: Final = "better"
WORSE: Final = "worse"
NOT_SIGNIFICANT: Final = "not significant"
OPPOSITE: Final = {BETTER: WORSE, WORSE: BETTER, NOT_SIGNIFICANT: NOT_SIGNIFICANT}


def decide(difference: float, p: float, alpha: float) -> str:
    """better, worse (a than b) or not significant: the one p decides."""
    if not p <= alpha or not difference:
        return NOT_SIGNIFICANT
    return BETTER if difference > 0 else WORSE


def verdict(pair: Pair, number: Callable[[float], str] = "{:z.4f}".format) -> str:
    """One sentence about the system: better or worse than its baseline, by how much, how sure; or what was detectable.

    `number` writes the numbers.
    """
    p = f"{'adjusted ' * pair.adjusted}p {p_text(pair.p_adjusted, sign=True)}"
    measure = f"{pair.measure} per {pair.per}" if pair.per else pair.measure
    low, high = _ends(pair)
    sure = f"{percent(pair.alpha)} interval {number(low)} to {number(high)}; {p}" if isfinite(low) else p
    if pair.decision != NOT_SIGNIFICANT:
        change = f"{changed} {'more' if pair.relative > 0 else 'less'}; " if (changed := change_text(pair)) else ""
        apart = f"{number(abs(pair.difference))} {measure} ({change}{sure})"
        return f"{pair.a} is {pair.decision} than {pair.b} by {apart}"
    if pair.ties == pair.queries:
        return f"No difference: {pair.a} and {pair.b} have the same {pair.measure} on every query"
    apart = f"{pair.a} − {pair.b} is {number(pair.difference)} {measure} ({sure})"
    if not isfinite(pair.detectable):
        few = units_text(pair.queries, pair.clusters)
        what = "queries" if pair.clusters is None else "clusters of queries"
        return f"Too few {what} to tell: {apart}; {few} cannot show a significant difference"
    return f"No clear winner: {apart}; minimum detectable effect {number(pair.detectable)}"


def verdict_in_brief(pair: Pair, number: Callable[[float], str] = "{:z.4f}".format) -> str:
    """The same in a line, where it stands elsewhere what the difference is in, and what the interval and p are."""
    p, (low, high) = f"p {p_text(pair.p_adjusted, sign=True)}", _ends(pair)
    sure = f"{number(low)} to {number(high)}; {p}" if isfinite(low) else p
    if pair.decision != NOT_SIGNIFICANT:
        return f"{pair.a} is {pair.decision} than {pair.b} by {number(abs(pair.difference))} ({sure})"
    if pair.ties == pair.queries:
        return f"No difference: {pair.a} and {pair.b} are the same on every query"
    told = "No clear winner" if isfinite(pair.detectable) else f"{units_text(pair.queries, pair.clusters)} cannot tell"
    return f"{told}: {pair.a} − {pair.b} is {number(pair.difference)} ({sure})"


def _ends(pair: Pair) -> tuple[float, float]:
    """Those of the interval, of a loss as of a gain."""
    low, high = pair.interval
    return (low, high) if pair.decision != WORSE else (-high, -low)


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
    """A p-value to four decimals; never 0."""
    if p != p:
        return "–"
    if p < 0.0001:
        return "< 0.0001"
    return f"{'= ' * sign}{p:.4f}"
