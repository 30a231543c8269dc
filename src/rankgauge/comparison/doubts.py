"""Where the answer of a comparison should not be trusted as it stands: warnings, each with a stable code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np

from rankgauge.comparison.settings import TUKEYS, Settings
from rankgauge.comparison.verdict import BETTER, WORSE, units_text
from rankgauge.errors import Doubt, counted
from rankgauge.measures.aggregates import aggregate
from rankgauge.result import judged_words
from rankgauge.stats.inference import FEW_QUERIES

if TYPE_CHECKING:
    from rankgauge.comparison.pairs import Family, Pair
    from rankgauge.comparison.values import Values
    from rankgauge.measures import Measure
    from rankgauge.result import Result

__all__ = ["CODES", "doubts_of_answers", "doubts_of_family", "doubts_of_groups", "doubts_of_pairs", "doubts_of_results"]
__all__ += ["doubts_of_sample"]

SKEWED: Final = 0.25
UNEQUAL: Final = 2.0
JUDGED_APART: Final = 0.05
UNANSWERED: Final = 0.05  # of the queries: fewer change little
SHOWN: Final = 3
MULTIPLIED: Final = frozenset({"holm", "bh", "by"})  # methods that multiply the smallest p by the number of pairs
# Code → when it is said.
CODES: Final = {
    "few-queries": f"fewer than {FEW_QUERIES} queries (or clusters), or queries worth fewer by their weights",
    "few-differences": f"a pair of systems that differ on fewer than {FEW_QUERIES} queries, though on some",
    "adjusted": "a verdict that the p adjusted for all comparisons does not have",
    "skewed": f"skewness / √queries of a pair's differences beyond ± {SKEWED:g}",
    "unanswered": f"{UNANSWERED:.0%} of the queries or more are without an answer, and so count 0, of one system alone",
    "tie-band": "another order of equal scores could reverse a pair",
    "judged-unequal": f"judged shares of a pair more than {JUDGED_APART:g} apart, and the less judged did not win",
    "unequal-variances": f"a Tukey method, and deviations of differences more than a factor of {UNEQUAL:g} apart",
    "dropped-queries": "queries without a value for every system were left out",
    "few-flips": "so few flips that no p can fall below the level; under Holm, BH or BY, below their first step",
    "fixed-list": "a sample by `top`: nothing follows about other queries, and there is no interval",
    "random-per-search": "a mean per search, of a sample in which inclusion does not grow with traffic",
    "sample-lacking": "queries of the sample were not evaluated",
    "sample-ignored": "plain means, in Python, of a run that was made for a sample of a project",
}


def doubts_of_pairs(values: Values, pairs: Sequence[Pair]) -> Iterator[Doubt]:
    """What the values alone show."""
    measure = values.measure
    if values.dropped:
        query, why = next(iter(values.dropped.items()))
        number = counted(len(values.dropped), "query was", "queries were")
        yield Doubt("dropped-queries", f"{measure}: {number} left out, such as {query}: {why}")
    units, effective = pairs[0].units, pairs[0].effective
    if effective < FEW_QUERIES:
        words = units_text(units, pairs[0].clusters)
        worth = f", worth {effective:.1f} of equal weight," if effective < units - 0.5 else ""
        chance = " of the sample that were left to chance" if values.population == "log" else ""
        yield Doubt(
            "few-queries",
            f"{measure}: {words}{chance}{worth} {'is' if units == 1 else 'are'} few; below {FEW_QUERIES} "
            "an interval or a p-value is only as good as the differences are symmetric; judge more queries",
        )
    else:
        yield from _few_differences(measure, pairs)
        yield from _skewed(measure, pairs, units, units_text(units, pairs[0].clusters))
    yield from _adjusted(measure, pairs)


def _adjusted(measure: str, pairs: Sequence[Pair]) -> Iterator[Doubt]:
    """Verdicts that hold for a pair that was named before looking, and not for one that was picked from a table."""
    apart = [pair for pair in pairs if pair.adjusting_matters]
    if apart:
        first = apart[0]
        others = f" (and {counted(len(apart) - 1, 'more pair')})" if len(apart) > 1 else ""
        yield Doubt(
            "adjusted",
            f"{measure}: adjusted for {counted(first.comparisons, 'comparison')}, {first.a} is not {first.decision} "
            f"than {first.b} (p = {first.p_adjusted:.4f}){others}; the verdict holds if you had asked about this pair "
            "before looking at the others",
        )


def doubts_of_sample(values: Values) -> Iterator[Doubt]:
    """What the sample shows."""
    if values.design is not None:
        yield from values.design.doubts()


def doubts_of_groups(groups: Mapping[str, Sequence[Doubt]]) -> Iterator[Doubt]:
    """Group → its doubts: one of each code, with the names of the other groups of which it is true as well."""
    for code in dict.fromkeys(doubt.code for doubts in groups.values() for doubt in doubts):
        first, *others = (name for name, doubts in groups.items() if any(doubt.code == code for doubt in doubts))
        text = next(doubt.text for doubt in groups[first] if doubt.code == code)
        shown = ", ".join(others[:SHOWN]) + ", …" * (len(others) > SHOWN)
        more = f" (likewise in {len(others):,} more groups: {shown})" if others else ""
        yield Doubt(code, text + more)


def doubts_of_family(measure: str, family: Family, settings: Settings) -> Iterator[Doubt]:
    """What the pairs show that were adjusted together."""
    yield from _unequal(measure, family.pairs, settings)
    yield from _few_flips(measure, family, settings)


def _few_differences(measure: str, pairs: Sequence[Pair]) -> Iterator[Doubt]:
    few = sorted((p for p in pairs if 0 < p.telling < FEW_QUERIES), key=lambda p: p.telling)
    if few:
        first = few[0]
        worth = f", worth {first.telling:.1f}" if first.telling < first.changed - 0.5 else ""
        yield Doubt(
            "few-differences",
            f"{measure}: {_names(few)} differ on few queries ({first.changed} of {first.units:,}{worth}), on "
            f"which the answer rests; below {FEW_QUERIES} it is only as good as the differences are symmetric",
        )


def _skewed(measure: str, pairs: Sequence[Pair], units: int, words: str) -> Iterator[Doubt]:
    strong = sorted((p for p in pairs if abs(p.skewness) > SKEWED * np.sqrt(units)), key=lambda p: -abs(p.skewness))
    if strong:
        first = strong[0]
        yield Doubt(
            "skewed",
            f"{measure}: few of {words} decide about {_names(strong)} (skewness {first.skewness:.1f}); "
            "interval and p are too small; judge more queries",
        )


def _unequal(measure: str, pairs: Sequence[Pair], settings: Settings) -> Iterator[Doubt]:
    asked = [name for name in (settings.adjusting, *settings.also) if name in TUKEYS]
    spread = [pair.deviation for pair in pairs]
    if asked and max(spread) > UNEQUAL * min(spread):
        yield Doubt(
            "unequal-variances",
            f"{measure}: deviations of the differences range from {min(spread):.4f} to {max(spread):.4f}, and "
            f"{asked[0]} takes them for equal: it finds differences that are not there; trust maxt",
        )


def _few_flips(measure: str, family: Family, settings: Settings) -> Iterator[Doubt]:
    """Every p comes from the flips of its pair."""
    number, method = len(family.pairs), settings.method
    if any(pair.exact for pair in family.pairs) or method in TUKEYS:
        return
    smallest, needed = 1 / (settings.flips + 1), settings.alpha / (number if method in MULTIPLIED else 1)
    if smallest > needed:
        over = f"{method} over {number:,} pairs" if number > 1 else "the level"
        remedy = ", or take maxt" if smallest <= settings.alpha else ""
        yield Doubt(
            "few-flips",
            f"{measure}: with {settings.flips:,} flips no p is below {smallest:.2g}, and {over} needs {needed:.2g}; "
            f"give more flips{remedy}",
        )


def _names(pairs: Sequence[Pair]) -> str:
    shown = ", ".join(f"{pair.a} and {pair.b}" for pair in islice(pairs, SHOWN))
    return shown + (f" ({counted(len(pairs) - SHOWN, 'more pair')})" if len(pairs) > SHOWN else "")


def doubts_of_results(results: Mapping[str, Result], measure: Measure, pairs: Sequence[Pair]) -> Iterator[Doubt]:
    """What the rankings behind the values show: equal scores, and unequal shares of judged documents."""
    yield from _tie_bands(results, measure, pairs)
    yield from _judged_unequal(results, measure, pairs)


def doubts_of_answers(results: Mapping[str, Result], measure: Measure, least: float = UNANSWERED) -> Iterator[Doubt]:
    """Who left queries unanswered that count 0, at least this share, and the mean over those that were answered."""
    counts = {name: each.counts for name, each in results.items() if each.protocol.missing == "zero"}
    missing = {name: each["missing"] / max(each["queries"], 1) for name, each in counts.items() if each["missing"]}
    worst = sorted((name for name in missing if missing[name] >= least), key=lambda name: -missing[name])
    if worst:
        parts = [_answered(name, results[name], measure) for name in worst[:SHOWN]]
        more = f"; and {counted(len(worst) - SHOWN, 'more system')}" if len(worst) > SHOWN else ""
        yield Doubt("unanswered", f"queries without an answer count 0 and lower the mean: {'; '.join(parts)}{more}")


def _answered(name: str, result: Result, measure: Measure) -> str:
    there = result._selected(result.hits.answered)
    answers = f"{name} answers {int(there.sum()):,} of {len(there):,}"
    values, weights = result._counted(result.measure(measure))
    over = aggregate(result.own_aggregate(measure), values[there], None if weights is None else weights[there])
    if over != over:
        return answers
    return f"{answers} ({measure} {_number(measure, result[measure])}, and {_number(measure, over)} over these)"


def _number(measure: Measure, value: float) -> str:
    """A value to four decimals; a count as it is."""
    return f"{value:g}" if measure.definition.aggregate == "sum" else f"{value:.4f}"


def _judged_unequal(results: Mapping[str, Result], measure: Measure, pairs: Sequence[Pair]) -> Iterator[Doubt]:
    """The pair whose judged shares are furthest apart, where judging more could turn what was decided about it."""
    cutoff = measure.cutoff if isinstance(measure.cutoff, int) else 10
    shares = {name: result.judged[cutoff] for name, result in results.items() if cutoff in result.judged}
    ordered = [sorted((p.a, p.b), key=lambda name: shares[name]) for p in pairs if not _won_unjudged(p, shares)]
    apart = [(least, most) for least, most in ordered if shares[most] - shares[least] > JUDGED_APART]
    if apart:
        least, most = max(apart, key=lambda each: shares[each[1]] - shares[each[0]])
        both = f"{shares[most]:.3f} for {most} and {shares[least]:.3f} for {least}"
        yield Doubt(
            "judged-unequal",
            f"{judged_words(results.values(), cutoff)} is {both}: what is not judged counts as not relevant, which is "
            f"hard on {least}; judge what it found, or try --unjudged condensed",
        )


def _won_unjudged(pair: Pair, shares: Mapping[str, float]) -> bool:
    """Whether shares are unknown, or the system with fewer judged documents is better all the same."""
    if not shares.keys() >= {pair.a, pair.b}:
        return True
    fewer = shares[pair.a] - shares[pair.b]
    return (pair.decision == BETTER and fewer < 0) or (pair.decision == WORSE and fewer > 0)


def _tie_bands(results: Mapping[str, Result], measure: Measure, pairs: Sequence[Pair]) -> Iterator[Doubt]:
    """The pairs that another order of equal scores could reverse: the worse one's best is no less than the better
    one's worst."""
    from rankgauge.measures.bands.notes import mean_ends

    ends = {name: mean_ends(result, measure) if result.hits.open else None for name, result in results.items()}
    touched = []
    for pair in pairs:
        better, worse = (pair.a, pair.b) if pair.difference > 0 else (pair.b, pair.a)
        low = ends.get(better) or (results[better][measure],) if better in results else None
        high = ends.get(worse) or (results[worse][measure],) if worse in results else None
        if pair.difference and low and high and (ends[better] or ends[worse]) and low[0] <= high[-1]:
            touched.append(pair)
    if touched:
        tied = {name: each for pair in touched for name in (pair.a, pair.b) if (each := ends[name]) is not None}
        name = max(tied, key=lambda each: tied[each][1] - tied[each][0])
        low_end, high_end = tied[name]
        yield Doubt(
            "tie-band",
            f"{measure}: the order of equal scores could undo the difference of {_names(touched)}; {name} alone "
            f"ranges from {_number(measure, low_end)} to {_number(measure, high_end)}; compare with --ties average",
        )
