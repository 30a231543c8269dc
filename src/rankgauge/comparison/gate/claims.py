"""What a check asserts, in words: the answer, and the number that it rests on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from rankgauge.comparison.gate.answers import Compared, Minimum
from rankgauge.comparison.verdict import ends_text
from rankgauge.errors import counted
from rankgauge.stats.inference import FEW, unseen_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankgauge.comparison.gate.outcome import Check

__all__ = ["claim", "claims", "drift_words", "unseen_loss"]

# Population → what the answer is about, where the queries are a sample.
ABOUT: Final = {"log": " on this log", "future": " for other searches of this kind"}
# Answer → of one measure, of several.
VERBS: Final = {
    "fail": ("fails", "fail"),
    "inconclusive": ("is inconclusive", "are inconclusive"),
    "pass": ("passes", "pass"),
    "unchanged": ("is unchanged", "are unchanged"),
}
ENOUGH: Final = math.ceil(-math.log(0.05) * 100)  # queries that show a change of 1 in 100


def claim(check: Check) -> str:
    """The word and what it asserts; of several measures how many have the worst answer, and of one what it is."""
    design, answer = check.candidate.design, check.answer
    word = answer.upper() + ("" if design is None or answer == "unchanged" else ABOUT[design.population])
    worst = [each for each in check.tests if each.answer == answer]
    if len(check.tests) == 1:
        return f"{word}: {_assertion(worst[0], check)}"
    what = "measures" if len({each.measure for each in check.tests}) == len(check.tests) else "checks"
    share = f"all {len(worst)}" if len(worst) == len(check.tests) else f"{len(worst)} of {len(check.tests)}"
    number = f"{word}: {share} {what} {VERBS[answer][len(worst) > 1]}"
    return f"{number}: {_assertion(worst[0], check)}" if len(worst) == 1 else f"{number}."


def claims(check: Check) -> Iterator[str]:
    """What else is asserted: of each measure that does not simply pass, where the first line has no room for it."""
    first = claim(check)
    for each in check.tests:
        words = _assertion(each, check)
        if each.answer != "pass" and words not in first:
            yield f"{each.measure} {VERBS[each.answer][0]}: {words}"


def _assertion(each: Compared | Minimum, check: Check) -> str:
    """What the answer to one measure asserts."""
    per = "" if check.candidate.design is None else f" per {check.candidate.design.per}"
    name = check.name or "the run"
    if isinstance(each, Minimum):
        return _of_minimum(each, name, f"{each.measure}{per}")
    baseline = check.baseline if check.baseline != name else "the baseline"
    of = _of_change if each.changed or (each.census and each.answer == "pass") else _of_the_unchanged
    return of(each, name, baseline, f"{each.measure}{per}")


def _of_change(each: Compared, name: str, baseline: str, measure: str) -> str:
    value, low, high = each.bounds
    change, census = f"change {_signed(value)}", "all queries of the log: no uncertainty of sampling"
    if each.answer == "fail":
        least = f"loses {'' if each.census else 'at least '}{_size(high)} {measure} to {baseline}"
        return f"{name} {least} ({census if each.census else f'one-sided 95 %; {change}'}; margin {each.margin:g})."
    loss = f"more than {each.margin:g} {measure}" if each.margin else measure
    if each.answer == "pass":
        kept = f"{name} loses no {loss} to {baseline}"
        if each.census:
            return f"{kept} ({change}; {census})."
        if value > 0:
            return f"{kept}. It gains {_size(value)} (lower bound {_signed(low)})."
        return f"{kept} ({change}, lower bound {_signed(low)})."
    if not math.isfinite(low):
        return _without_bounds(each)
    bounds = f"{change}, bounds {_signed(low)} to {_signed(high)}"
    if each.queries_needed is None and each.units_changed:
        return (
            f"the change is too close to the margin of {each.margin:g} ({bounds}). More queries will not settle it. "
            "Choose a margin that you can defend before you look."
        )
    return f"{name} may lose {loss} to {baseline} ({bounds}). {_settled(each)}"


def _settled(each: Compared) -> str:
    """Why the queries cannot tell, and how many would."""
    if not each.units_changed:
        return f"No value of the {each.units:,} queries drawn by chance changed. Judge more of the sample."
    some = f"the {each.units:,} queries drawn by chance" if each.known else f"{each.units:,} queries"
    few = f"Only {each.units_changed} of {some} changed. " if each.units_changed < FEW else ""
    return f"{few}{counted(each.queries, 'query', 'queries')} cannot tell; about {each.queries_needed:,} would."


def _of_the_unchanged(each: Compared, name: str, baseline: str, measure: str) -> str:
    moved = each.moved
    results = "results" if moved is None or moved.depth is None else f"top {moved.depth}"
    queries = counted(each.queries, "judged query", "judged queries")
    none = f"no {each.measure} of the {queries} changed"
    if each.known:
        drawn = counted(each.queries - each.known, "query", "queries")
        none = f"no {each.measure} of the {drawn} drawn by chance changed, nor of the {each.known:,} known"
    if each.answer == "inconclusive" and moved is not None:
        came = f"unjudged documents came into the {results} of {counted(moved.unjudged, 'query', 'queries')}"
        return f"{none} (results changed on {moved.results:,}), but {came}: judge them first."
    twice = moved is not None and not moved.results
    if twice:
        none = f"both runs return the same {results} for all {queries}. Did you pass the same file twice?"
    elif moved is not None:
        none += f" (results changed on {moved.results:,})"
    if each.answer == "pass":
        loss = f"more than {each.margin:g} {measure}" if each.margin else measure
        return f"{name} loses no {loss} to {baseline}: {none}{'' if twice else '.'}"
    more = f"; {ENOUGH:,} queries would show 1 in 100" if each.unseen > 0.01 and not each.known else ""
    return none if twice else f"{none}. A change that touches {unseen_words(each.unseen)} could go unseen{more}."


def _of_minimum(each: Minimum, name: str, measure: str) -> str:
    (value, low, high), least = each.bounds, f"{each.minimum:g} {measure}"
    if each.answer == "pass":
        return f"{name} reaches {least} (mean {value:.4f}, lower bound {low:.4f})."
    if each.answer == "fail":
        return f"{name} does not reach {least} (one-sided 95 %; mean {value:.4f}, upper bound {high:.4f})."
    if not math.isfinite(low):
        return _without_bounds(each)
    scores = f"{name} scores {value:.4f} {measure}"
    if each.queries_needed is None:
        return (
            f"{scores} against a minimum of {each.minimum:g}. The gap is too small to test. Lower the minimum or raise "
            "the score."
        )
    above = value >= each.minimum
    bound = f"the {'lower' if above else 'upper'} bound is {low if above else high:.4f}"
    settled = f"About {each.queries_needed:,} queries would settle it."
    return f"{scores}, {'above' if above else 'below'} {each.minimum:g}, but {bound}. {settled}"


def _without_bounds(each: Compared | Minimum) -> str:
    if each.queries == 1:
        return "one query has no bounds. Judge more."
    if each.queries < FEW:
        return f"{each.queries} queries are too few for bounds. Judge at least {FEW}."
    if isinstance(each, Compared) and not each.units_changed:
        return "no value of the queries drawn by chance changed, so they have no bounds. Judge more of the sample."
    return "too few of the queries that chance drew are judged to show how queries vary. Judge more of the sample."


def unseen_loss(check: Check) -> Iterator[str]:
    """What a measure that passes cannot show: a loss that no judged query has."""
    found = {each.measure: unseen_words(each.unseen) for each in check.compared if each.may_hide_a_loss}
    several = len({*found.values()}) > 1
    for measure, unseen in found.items() if several else [*found.items()][:1]:
        of = f"{measure}: a" if several else "A"
        yield f"{of} loss that touches {unseen}, and is larger than any seen here, could go unseen."


def drift_words(each: Compared) -> str:
    """How far the candidate is from the first baseline."""
    assert each.drift is not None
    value, low, high = each.drift.bounds
    moved = f"has {'risen' if value > 0 else 'dropped'} by {_size(value)}" if value else "is the same"
    bounds = f" (bounds {_signed(low)} to {_signed(high)})" if math.isfinite(low) else ""
    text = f"Since the first of {each.drift.baselines} baselines, {each.measure} {moved}{bounds}."
    return f"{text} Small losses have added up to more than the margin." if each.drift.answer == "fail" else text


def _signed(number: float) -> str:
    """With its sign, and never 0 where it is not."""
    return ends_text(number, number, "{:+z.4f}".format).partition(" to ")[0] if number else "0.0000"


def _size(number: float) -> str:
    return ends_text(abs(number), abs(number)).partition(" to ")[0]
