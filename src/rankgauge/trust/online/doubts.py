"""Where an alignment should not be trusted as it stands: warnings, each with a stable code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import numpy as np

from rankgauge.errors import Doubt
from rankgauge.stats.correlation import is_constant
from rankgauge.trust.online.tracked import outcomes
from rankgauge.trust.online.units import measure_of

if TYPE_CHECKING:
    from rankgauge.trust.online.align import Alignment

__all__ = ["CODES", "doubts"]

FEW_UNITS: Final = 20
WINNERS: Final = 0.9
SWAYS: Final = 0.2
HEAVY: Final = 0.5
NOISY: Final = 0.5
LEVEL: Final = 0.1
# Code → when it is said.
CODES: Final = {
    "few": f"fewer than {FEW_UNITS} experiments or queries",
    "only-winners": f"more than {WINNERS:.0%} of the experiments have an offline gain",
    "levels": "no negative difference in either column: levels, it seems, and not differences",
    "one-sways": f"without a single unit Pearson's r changes its sign or moves by more than {SWAYS:g}",
    "perfect": "all lie on a line, so that intervals around it have no width",
    "heavy-tails": f"one unit makes more than {HEAVY:.0%} of the online variance of {FEW_UNITS // 2} or more",
    "noise": f"less than {NOISY:.0%} of the variance of the differences is more than their noise, or none",
    "mostly-unclear": "more than half of the online intervals cover 0",
    "beyond-range": "the step is larger than every offline difference seen",
    "click-labels": "grades are clicks, and there is no DCG beside nDCG, or no nDCG beside DCG",
    "repeated": "a name is there more than once",
    "many-measures": "as many offline columns as a third of the units, or more",
}


def doubts(alignment: Alignment) -> list[Doubt]:
    """All that apply to the first offline column and to the choice among all."""
    return [
        *_of_rows(alignment),
        *_of_range(alignment),
        *_of_single_units(alignment),
        *_of_noise(alignment),
        *_of_measures(alignment),
    ]


def _of_rows(alignment: Alignment) -> Iterator[Doubt]:
    units = alignment.units
    number = len(units)
    if number < FEW_UNITS:
        low, high = alignment.first.pearson.low, alignment.first.pearson.high
        width = f": here r could be anything from {low:.2f} to {high:.2f}" if low == low else ""
        yield Doubt("few", f"{number} {units.kind} say little{width}; collect {FEW_UNITS} or more before relying on it")
    twice, times = Counter(units.names).most_common(1)[0]
    if times > 1:
        yield Doubt(
            "repeated",
            f"{twice!r} is there {times} times; rows count as independent, so intervals are too narrow if they are not",
        )


def _of_range(alignment: Alignment) -> Iterator[Doubt]:
    units = alignment.units
    x, y = units.offline[alignment.first.name], units.online
    levels = bool(x.min() >= 0 and y.min() >= 0 and (units.kind == "queries" or np.median(x) >= LEVEL))
    if levels:
        yield Doubt(
            "levels",
            "neither column has a negative value, so these look like levels and not differences; across queries or "
            "systems levels go together for other reasons (easy queries have both); give differences of two systems",
        )
    elif units.kind == "experiments" and (x > 0).mean() > WINNERS:
        yield Doubt(
            "only-winners",
            f"{int((x > 0).sum())} of {len(units)} experiments have an offline gain: where only winners are tested the "
            "range is restricted, r is too low, and nothing is known of losers; test some of them too",
        )
    if abs(alignment.settings.step) > float(np.abs(x).max()):
        yield Doubt(
            "beyond-range",
            f"the step of {alignment.settings.step:g} is beyond every offline difference seen (the largest is "
            f"{float(np.abs(x).max()):g}); the prediction extrapolates: set the step (--step)",
        )


def _of_single_units(alignment: Alignment) -> Iterator[Doubt]:
    units, first = alignment.units, alignment.first
    (at,) = first.most_influential(1)
    r, left = first.pearson.value, float(first.without[at])
    if len(units) > 3 and not (abs(r - left) <= SWAYS and r * left > 0):
        without = (
            f"r is {r:.2f} with and {left:.2f} without {units.names[at]!r}"
            if left == left
            else f"r of {r:.2f} rests on {units.names[at]!r} alone: without it {_still(alignment, at)} does not vary"
        )
        yield Doubt("one-sways", f"Pearson's {without}; look at it before believing it")
    if len(units) > 2 and first.line.is_perfect:
        yield Doubt(
            "perfect",
            f"every one of the {len(units)} {units.kind} lies on the line, so that prediction intervals have no width: "
            "real differences have noise; see whether one column was computed from the other",
        )
    square = (units.online - units.online.mean()) ** 2
    if len(units) >= FEW_UNITS // 2 and square.max() > HEAVY * square.sum():
        name = units.names[int(square.argmax())]
        yield Doubt(
            "heavy-tails",
            f"{name!r} makes {square.max() / square.sum():.0%} of the online variance; Pearson's r and the line follow "
            "it: look at Spearman's ρ, or winsorise revenue (or take its logarithm) before the difference is made",
        )


def _still(alignment: Alignment, at: int) -> str:
    """The column that does not vary when a unit is left out."""
    left = np.delete(alignment.units.offline[alignment.first.name], at)
    return alignment.first.name if is_constant(left) else alignment.units.online_name


def _of_noise(alignment: Alignment) -> Iterator[Doubt]:
    units = alignment.units
    sides = {"online": alignment.reliability, "offline": alignment.first.offline_reliability}
    for side, share in sides.items():
        if share is not None and share <= 0:
            yield Doubt(
                "noise",
                f"the {side} differences vary no more than their standard errors say noise does (reliability "
                f"{share:.2f}), so r cannot be corrected for it; run {units.kind} longer, or check the errors",
            )
        elif share is not None and share < NOISY:
            yield Doubt(
                "noise",
                f"only {share:.0%} of the variance of the {side} differences is more than noise; r is lower for "
                "it, and the corrected one is unsure",
            )
    if units.error is not None:
        unclear = int((outcomes(units, alignment.settings.alpha) == 1).sum())
        if 2 * unclear > len(units):
            yield Doubt(
                "mostly-unclear",
                f"{unclear} of {len(units)} online intervals cover 0: most {units.kind} do not say which is better",
            )


def _of_measures(alignment: Alignment) -> Iterator[Doubt]:
    names = {measure.definition.name for measure in map(measure_of, alignment.units.offline) if measure is not None}
    if alignment.settings.labels == "clicks" and len(names & {"nDCG", "DCG"}) == 1:
        lacking = ({"nDCG", "DCG"} - names).pop()
        yield Doubt(
            "click-labels",
            f"grades are clicks, and there is no {lacking} column: with rewards for grades DCG estimates the reward, "
            "and dividing it by the ideal can turn the order of systems round; put both into the table",
        )
    if len(alignment.tracked) > 1 and 3 * len(alignment.tracked) >= len(alignment.units):
        yield Doubt(
            "many-measures",
            f"{len(alignment.tracked)} offline columns for {len(alignment.units)} {alignment.units.kind}: the best of "
            "so many is the best by luck as well; believe the held-out agreement",
        )
