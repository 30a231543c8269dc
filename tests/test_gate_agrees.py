"""The gate and the comparison of the same files answer the same question, in bounds, answers and words."""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import numpy as np
import pytest

import rankgauge
from rankgauge.comparison.gate.claims import claim, claims, unseen_loss
from rankgauge.comparison.gate.outcome import Check
from test_design import drawn

pytestmark = pytest.mark.filterwarnings("ignore::rankgauge.RankgaugeWarning")

DOCS = ("a", "b", "c", "d", "e", "f", "g")
JUDGED = {"a": 3, "b": 2, "c": 1, "d": 0}
Run = dict[str, dict[str, float]]


class Case(NamedTuple):
    """Two runs, what they are measured by, and how the queries were drawn."""

    judgments: dict[str, dict[str, int]]
    new: Run
    old: Run
    measure: str
    margin: float
    how: dict[str, Any]

    @property
    def sampled(self) -> bool:
        """Whether only a part of the queries was left to chance."""
        return self.how.get("population") == "log"


def random_case(number: int) -> Case:
    """Few or many queries of which few or many changed, in three of five cases a sample of a log."""
    random = np.random.default_rng(number)
    queries = [f"q{at:02}" for at in range(int(random.choice([1, 3, 5, 6, 8, 15, 30, 60])))]
    rate, mode = random.choice([0.0, 0.1, 0.3, 1.0, 1.0]), str(random.choice(["mild", "other", "worse", "better"]))
    old = {query: ranking(random) for query in queries}
    new = {query: changed(each, random, mode) if random.random() < rate else dict(each) for query, each in old.items()}
    how: dict[str, Any] = {}
    if random.random() < 0.6:
        sure = random.choice([0.0, 0.3, 0.7, 1.0])
        inclusion = np.where(random.random(len(queries)) < sure, 1.0, random.uniform(0.05, 0.9))
        strata = [str(at % 2) for at in range(len(queries))] if random.random() < 0.2 else "traffic"
        how["sample"] = drawn(
            [float(each) for each in random.integers(1, 500, len(queries))], inclusion.tolist(), strata
        )
        how |= {"per": str(random.choice(["search", "query"])), "population": str(random.choice(["log", "future"]))}
    measure = str(random.choice(["nDCG@10", "RR", "P@1", "nDCG@3", "DCG@5"]))
    margin = float(random.choice([0.0, 0.01, 0.05, 0.2]))
    return Case(dict.fromkeys(queries, JUDGED), new, old, measure, margin, how)


def ranking(random: np.random.Generator, steep: float = 0.15) -> dict[str, float]:
    """Some documents, the better ones mostly first, now and then with equal scores."""
    scores = np.round(random.random(len(DOCS)) - steep * np.arange(len(DOCS)), int(random.integers(1, 4)))
    return dict(zip(DOCS, scores.tolist(), strict=True))


def changed(each: dict[str, float], random: np.random.Generator, mode: str) -> dict[str, float]:
    """Another ranking, or the same with a document in it that nobody judged."""
    if mode == "mild":
        return {**each, "x": float(random.random()) - 1.6}
    return ranking(random, {"other": 0.15, "worse": 0.0, "better": 0.6}[mode])


def first(ranked: dict[str, float], k: int | None) -> list[str]:
    """The first documents: by score, then by descending id."""
    return sorted(ranked, key=lambda doc: (ranked[doc], doc), reverse=True)[:k]


def agree(number: int) -> Check:
    """One case: bounds, answer and words are those that follow from the comparison, at twice the level."""
    case = random_case(number)
    found = rankgauge.check(
        case.judgments, case.new, case.old, case.measure, margin=case.margin, name="new", **case.how
    )
    (one,) = found.compared
    if len(case.judgments) > 1:
        same_bounds(case, found)
    right_answer(case, found)
    for words in (claim(found), *claims(found), *unseen_loss(found)):
        holds(words, case, found)
    assert one.may_hide_a_loss == any("larger than any seen here" in words for words in unseen_loss(found))
    return found


def same_bounds(case: Case, found: Check) -> None:
    runs = {"new": case.new, "old": case.old}
    pair = rankgauge.compare(case.judgments, runs, case.measure, baseline="old", alpha=0.1, **case.how).pairs[0]
    (one,) = found.compared
    assert pair.a == "new"
    assert one.bounds.value == pytest.approx(pair.difference, abs=1e-12)
    if math.isfinite(pair.interval[0]):
        assert one.bounds[1:] == pair.interval
    elif pair.constant and pair.units >= 6:
        assert one.bounds[1:] == (one.bounds.value, one.bounds.value)
    else:
        assert one.bounds[1:] == (-math.inf, math.inf)
    if case.margin == 0 and one.answer == "fail":
        assert pair.decision == "worse"
    if math.isfinite(pair.interval[0]) and not pair.census:
        below, above = one.bounds.high < 0, one.bounds.low > 0
        assert pair.decision == ("worse" if below else "better" if above else "not significant")


def right_answer(case: Case, found: Check) -> None:
    """One of four, and the one that bounds, values and rankings leave."""
    (one,) = found.compared
    new, old = (rankgauge.evaluate(case.judgments, run, case.measure).to_dict() for run in (case.new, case.old))
    moved = [query for query in new if abs(new[query][case.measure] - old[query][case.measure]) > 1e-12]
    k = {"nDCG@10": 10, "RR": None, "P@1": 1, "nDCG@3": 3, "DCG@5": 5}[case.measure]
    pairs = {query: (first(case.new[query], k), first(case.old[query], k)) for query in case.new}
    came = [query for query, (ours, theirs) in pairs.items() if {*ours} - {*theirs} - {*JUDGED}]
    census = case.sampled and all(case.how["sample"].inclusion == 1)
    assert one.changed == bool(moved)
    if not moved and not case.sampled and len(came) >= 0.1 * len(case.new):
        assert one.answer == "inconclusive"
    elif moved or census:
        low, high = one.bounds[1:]
        expected = "pass" if low >= -case.margin - 1e-12 else "fail" if high < -case.margin - 1e-12 else "inconclusive"
        assert one.answer == expected or (census and not moved and one.answer == "inconclusive")
    elif len(came) < 0.1 * len(case.new):
        enough = one.unseen <= case.margin and case.measure != "DCG@5"
        assert one.answer == ("pass" if enough else "unchanged")
    if moved:
        assert one.moved is None
    else:
        assert one.moved is not None
        assert (one.moved.results, one.moved.unjudged) == (sum(a != b for a, b in pairs.values()), len(came))


def holds(words: str, case: Case, found: Check) -> None:
    """What a sentence says is so."""
    (one,) = found.compared
    value, low, high = one.bounds
    close, margin = 0.5001e-4, case.margin
    if words.startswith("PASS"):
        assert low >= -margin - 1e-12 or (not one.changed and one.unseen * one.reach <= margin)
    if "It gains" in words:
        assert value > 0
        assert number_in(r"It gains (\S+) ", words) == pytest.approx(value, abs=close)
    if "lower bound" in words:
        assert number_in(r"lower bound (\S+)\)", words) == pytest.approx(low, abs=close)
    if "loses at least" in words:
        assert high < -margin
        assert number_in(r"loses at least (\S+) ", words) == pytest.approx(-high, abs=close)
        assert "one-sided 95 %" in words
    if "may lose" in words:
        assert low < -margin <= high + 1e-12
        assert number_in(r"bounds (\S+) to", words) == pytest.approx(low, abs=close)
    if "change " in words and "A change" not in words:
        assert number_in(r"change ([-+.\d]+)", words) == pytest.approx(value, abs=close)
    if "cannot tell; about" in words:
        assert number_in(r"about ([\d,]+) would", words) >= len(case.new)
    if "Only " in words:
        assert number_in(r"Only (\d+) of", words) == one.units_changed < 6
    if "touches fewer than 1 in" in words:
        assert one.answer in ("unchanged", "pass")
        assert number_in(r"fewer than 1 in ([\d,]+) ", words) <= 1 / one.unseen + 1e-6
    if "Did you pass the same file twice?" in words:
        assert not one.changed
        k = one.moved.depth if one.moved is not None else None
        assert all(first(case.new[query], k) == first(case.old[query], k) for query in case.new)
    if "uncertainty" in words:
        assert low == pytest.approx(value, abs=1e-12) == high


def number_in(pattern: str, words: str) -> float:
    match = re.search(pattern, words)
    assert match is not None, (pattern, words)
    return float(match.group(1).replace(",", "").rstrip(".,;"))


def test_gate_and_comparison_agree_on_random_files() -> None:
    answers = [agree(number).answer for number in range(0, 2_000, 50)]
    assert {*answers} == {"pass", "fail", "inconclusive", "unchanged"}


@pytest.mark.slow
def test_gate_and_comparison_agree_on_2_000_random_files() -> None:
    answers = [agree(number).answer for number in range(2_000)]
    assert all(answers.count(answer) > 20 for answer in ("pass", "fail", "inconclusive", "unchanged"))
