"""Where an interval of a measure can be, and when there is none: one rule for everything that shows one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgauge.comparison.verdict import smallest_p
from rankgauge.errors import MeasureError
from rankgauge.measures import parse
from rankgauge.stats.estimate import NAN
from rankgauge.stats.paired import TIE, Interval, within_range

if TYPE_CHECKING:
    from rankgauge.dtypes import Floats

__all__ = ["is_bounded", "is_count", "known_interval", "too_few", "within_range"]


def is_bounded(measure: str, values: Floats) -> bool:
    """Whether the measure lies between 0 and 1, as far as is known, and so do these values of it."""
    try:
        bounded = parse(measure).definition.bounded
    except MeasureError:
        return False
    return bounded and bool((values >= -TIE).all() and (values <= 1 + TIE).all())


def is_count(measure: str) -> bool:
    """Whether the measure is known, and of a system it is not the mean but the sum over queries."""
    try:
        return parse(measure).definition.aggregate == "sum"
    except MeasureError:
        return False


def too_few(units: int, alpha: float) -> bool:
    """Whether units are so few that nothing could be significant."""
    return smallest_p(units) > alpha


def known_interval(interval: Interval, bounded: bool, alpha: float, units: int, lowest: float = 0.0) -> Interval:
    """The interval within the range of the measure; none (NaN) of too few units."""
    return (NAN, NAN) if too_few(units, alpha) else within_range(interval, bounded, lowest)
