"""What a comparison comes to, in words."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rankgauge.comparison.pairs import Pair

__all__ = ["BETTER", "NOT_SEPARABLE", "OPPOSITE", "WORSE", "decide", "p_text", "percent", "smallest_p", "verdict"]

BETTER: Final = "better"
WORSE: Final = "worse"
NOT_SEPARABLE: Final = "not separable"
OPPOSITE: Final = {BETTER: WORSE, WORSE: BETTER, NOT_SEPARABLE: NOT_SEPARABLE}


def decide(difference: float, p: float, alpha: float) -> str:
    """better, worse (a than b) or not separable: the one p decides."""
    if not p <= alpha or not difference:
        return NOT_SEPARABLE
    return BETTER if difference > 0 else WORSE


def verdict(
    pair: Pair, measure: str, alpha: float, *, family: bool, number: Callable[[float], str] = "{:.4f}".format
) -> str:
    """One sentence: who is better, by how much, how sure; or what this set of queries could have detected.

    `number` writes the numbers.
    """
    p = f"{'adjusted ' * family}p {p_text(pair.p_adjusted, sign=True)}"
    low, high = pair.interval
    if pair.decision == NOT_SEPARABLE:
        if pair.ties == pair.queries:
            return f"not separable: {pair.a} and {pair.b} have the same value on every query"
        interval = f"{percent(alpha)} interval {number(low)} to {number(high)}"
        return (
            f"not separable: {pair.a} − {pair.b} is {number(pair.difference)} {measure} points ({interval}; {p}); "
            f"{_detects(pair, alpha, number)}"
        )
    winner, loser = (pair.a, pair.b) if pair.decision == BETTER else (pair.b, pair.a)
    if pair.decision == WORSE:
        low, high = -high, -low
    interval = f"{percent(alpha)} interval {number(low)} to {number(high)}"
    return f"{winner} is better than {loser} by {number(abs(pair.difference))} {measure} points ({interval}; {p})"


def smallest_p(units: int) -> float:
    """The smallest p of the sign-flip test: all differences with one sign, or all with the other."""
    return 2.0 ** (1 - units)


def _detects(pair: Pair, alpha: float, number: Callable[[float], str]) -> str:
    if isfinite(pair.detectable):
        return f"this set could detect {number(pair.detectable)}"
    return f"a set so small can detect nothing at the level {alpha:g}: judge more queries"


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
