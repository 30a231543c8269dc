"""Where the answer of a comparison should not be trusted as it stands: warnings, each with a stable code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from rankgauge.stats.methods import TUKEYS

if TYPE_CHECKING:
    from rankgauge.compare.pairs import Pair
    from rankgauge.compare.settings import Settings
    from rankgauge.compare.values import Values
    from rankgauge.measures import Measure
    from rankgauge.result import Result

__all__ = ["CODES", "Doubt", "doubts_of_pairs", "doubts_of_results"]

FEW: Final = 25
SKEWED: Final = 0.25
UNEQUAL: Final = 2.0
JUDGED_APART: Final = 0.05
SHOWN: Final = 3
# Code → when it is said.
CODES: Final = {
    "few-queries": f"fewer than {FEW} queries (or clusters of queries)",
    "few-differences": f"a pair of systems that differ on fewer than {FEW} queries, though on some",
    "skewed": f"skewness / √queries of a pair's differences beyond ± {SKEWED:g}",
    "tie-band": "another order of equal scores could move a difference by more than its size",
    "judged-unequal": f"the judged shares at the cut-off differ by more than {JUDGED_APART:g}",
    "unequal-variances": f"a Tukey method, and deviations of differences more than a factor of {UNEQUAL:g} apart",
    "dropped-queries": "queries without a value for every system were left out",
    "few-flips": "so few flips that no p of the family can fall below the level, under Holm, BH or BY",
}


class Doubt(NamedTuple):
    """A reason for not trusting an answer: a code that does not change, and what to know and to do."""

    code: str
    text: str


def doubts_of_pairs(values: Values, pairs: Sequence[Pair], settings: Settings, units: int) -> Iterator[Doubt]:
    """What the values alone show."""
    measure = values.measure
    if values.dropped:
        query, why = next(iter(values.dropped.items()))
        yield Doubt(
            "dropped-queries", f"{measure}: {len(values.dropped):,} queries were left out, such as {query}: {why}"
        )
    if units < FEW:
        what = "queries" if values.clusters is None else "clusters of queries"
        yield Doubt(
            "few-queries",
            f"{measure}: {units} {what} are few; below {FEW} "
            "an interval or a p-value is only as good as the differences are symmetric; judge more queries",
        )
    else:
        yield from _few_differences(measure, pairs)
    yield from _skewed(measure, pairs, units)
    yield from _unequal(measure, pairs, settings)
    yield from _few_flips(measure, pairs, settings)


def _few_differences(measure: str, pairs: Sequence[Pair]) -> Iterator[Doubt]:
    few = sorted((p for p in pairs if 0 < p.wins + p.losses < FEW), key=lambda p: p.wins + p.losses)
    if few:
        first = few[0]
        yield Doubt(
            "few-differences",
            f"{measure}: {_names(few)} differ on few queries ({first.wins + first.losses} of {first.queries:,}), on "
            f"which the answer rests; below {FEW} it is only as good as the differences are symmetric",
        )


def _skewed(measure: str, pairs: Sequence[Pair], units: int) -> Iterator[Doubt]:
    strong = sorted((p for p in pairs if abs(p.skewness) > SKEWED * np.sqrt(units)), key=lambda p: -abs(p.skewness))
    if strong:
        first = strong[0]
        yield Doubt(
            "skewed",
            f"{measure}: the differences of {_names(strong)} are too skewed for {units} queries (skewness "
            f"{first.skewness:.1f}; |skewness| / √n is {abs(first.skewness) / np.sqrt(units):.2f}, above {SKEWED:g}): "
            "intervals are too narrow and p-values too small; judge more queries",
        )


def _unequal(measure: str, pairs: Sequence[Pair], settings: Settings) -> Iterator[Doubt]:
    asked = [name for name in (settings.method, *settings.also) if name in TUKEYS]
    spread = [pair.deviation for pair in pairs if pair.deviation > 0]
    if asked and spread and max(spread) > UNEQUAL * min(spread):
        yield Doubt(
            "unequal-variances",
            f"{measure}: deviations of the differences range from {min(spread):.4f} to {max(spread):.4f}, and "
            f"{asked[0]} takes them for equal: it finds differences that are not there; trust maxt",
        )


def _few_flips(measure: str, pairs: Sequence[Pair], settings: Settings) -> Iterator[Doubt]:
    if settings.method not in ("holm", "bh", "by"):
        return
    smallest = min(1 / (settings.flips + 1) if not pair.exact else 0.0 for pair in pairs)
    if smallest * len(pairs) > settings.alpha:
        yield Doubt(
            "few-flips",
            f"{measure}: with {settings.flips:,} flips no p is below {smallest:.2g}, and {settings.method} over "
            f"{len(pairs):,} pairs needs {settings.alpha / len(pairs):.2g}; give more flips, or take maxt",
        )


def _names(pairs: Sequence[Pair]) -> str:
    shown = ", ".join(f"{pair.a} and {pair.b}" for pair in islice(pairs, SHOWN))
    return shown + (f" ({len(pairs) - SHOWN:,} more pairs)" if len(pairs) > SHOWN else "")


def doubts_of_results(results: Mapping[str, Result], measure: Measure, pairs: Sequence[Pair]) -> Iterator[Doubt]:
    """What the rankings behind the values show: equal scores, and unequal shares of judged documents."""
    yield from _tie_bands(results, measure, pairs)
    cutoff = measure.cutoff if isinstance(measure.cutoff, int) else 10
    shares = {name: result.judged[cutoff] for name, result in results.items() if cutoff in result.judged}
    if shares and max(shares.values()) - min(shares.values()) > JUDGED_APART:
        least, most = min(shares, key=lambda name: shares[name]), max(shares, key=lambda name: shares[name])
        yield Doubt(
            "judged-unequal",
            f"Judged@{cutoff} is {shares[most]:.3f} for {most} and {shares[least]:.3f} for {least}: what is not judged "
            f"counts as not relevant, which is hard on {least}; judge what it found, or try --unjudged condensed",
        )


def _tie_bands(results: Mapping[str, Result], measure: Measure, pairs: Sequence[Pair]) -> Iterator[Doubt]:
    from rankgauge.ties.notes import mean_ends

    tied = {name: r for name, r in results.items() if not r.hits.averaged and (r.hits.tied > 1).any()}
    ends = {name: mean_ends(result, measure) for name, result in tied.items()}
    width = {name: high - low for name, (low, high) in ends.items()}
    touched = [p for p in pairs if width.get(p.a, 0.0) + width.get(p.b, 0.0) > max(abs(p.difference), 5e-5)]
    if touched:
        name = max((each for pair in touched for each in (pair.a, pair.b)), key=lambda each: width.get(each, 0.0))
        low, high = ends[name]
        yield Doubt(
            "tie-band",
            f"{measure}: the order of equal scores could undo the difference of {_names(touched)}; {name} alone "
            f"ranges from {low:.4f} to {high:.4f}; compare with --ties average",
        )
