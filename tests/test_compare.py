"""compare: what it says of systems, in Python and on the command line; what it warns of; what it refuses."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
import pytest
import scipy.stats

import rankgauge
from command import Command
from rankgauge import Comparison, Evaluation, Protocol, charts, compare
from rankgauge.comparison.doubts import CODES
from rankgauge.comparison.settings import ALSO, IDLE, METHODS, Also, Method
from rankgauge.comparison.verdict import OPTIMISTIC
from rankgauge.errors import FormatError, InputError, MeasureError, ProtocolError, RankgaugeError
from rankgauge.show.cells import p_text
from rankgauge.show.formats import FORMATS
from rankgauge.show.model import Bullets, Options, Table
from rankgauge.show.text import text as as_text

A = [0.60, 0.42, 0.88, 0.13, 0.75, 0.51, 0.97, 0.33, 0.64, 0.20, 0.71, 0.55]
B = [0.52, 0.45, 0.80, 0.10, 0.75, 0.40, 0.95, 0.36, 0.50, 0.22, 0.60, 0.47]
QUERIES = [f"q{number:02d}" for number in range(12)]
PAIR = {"a": dict(zip(QUERIES, A, strict=True)), "b": dict(zip(QUERIES, B, strict=True))}

Values = dict[str, dict[str, float]]


def lead_of(found: Comparison) -> list[str]:
    """The sentences that come first."""
    return list(next(block for block in next(iter(found.sections())).blocks if isinstance(block, Bullets)).items)


def random_values(queries: int = 40, systems: int = 4, seed: int = 0) -> Values:
    random = np.random.default_rng(seed)
    table = np.clip(random.random((queries, 1)) + 0.15 * random.standard_normal((queries, systems)), 0, 1)
    table[:, 0] += 0.15
    names = "abcdefgh"[:systems]
    return {name: {f"q{query}": float(table[query, at]) for query in range(queries)} for at, name in enumerate(names)}


def flipped_p(difference: Any) -> float:
    """The share of all sign patterns whose sum is at least as far from 0, by going through all of them."""
    signs = np.array(list(itertools.product((1, -1), repeat=len(difference))))
    return float((np.abs(signs @ difference) >= abs(difference.sum()) - 1e-12).mean())


def not_rejected(difference: Any, alpha: float = 0.05) -> tuple[float, float]:
    """The ends of all means that the test does not reject, by halving."""
    ends = []
    for out in (-4.0, 4.0):
        inside, outside = float(difference.mean()), float(difference.mean()) + out
        while abs(inside - outside) > 1e-9:
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if flipped_p(difference - middle) > alpha else (inside, middle)
        ends.append(inside)
    return ends[0], ends[1]


def codes(comparison: Comparison) -> list[str]:
    return [doubt.code for doubt in comparison.warnings]


class TestOnePair:
    @pytest.fixture
    def found(self) -> Comparison:
        return compare(None, PAIR, "nDCG@10", margin=0.05, rope=0.02)

    def test_the_published_fixture(self, found: Comparison) -> None:
        pair = found.pair("a", "b")
        assert (pair.p, pair.p_adjusted, pair.exact) == (112 / 4096, 112 / 4096, True)
        assert pair.difference == pytest.approx(0.0475, abs=1e-9)
        assert pair.interval == pytest.approx(not_rejected(np.array(A) - np.array(B)), abs=1e-6)
        assert pair.p_t == pytest.approx(0.018941606751471555, abs=1e-9)
        assert (pair.d_z, pair.g_z) == pytest.approx((0.7934217493169422, 0.7378503392254341), abs=1e-9)
        assert pair.d_z_interval == pytest.approx((0.12635, 1.43387), abs=5e-6)
        assert pair.relative == pytest.approx(0.093137, abs=5e-7)
        low, high = pair.relative_interval  # of which a − ratio · b is not rejected, too
        for ratio, inside in ((low - 1e-6, False), (low + 1e-6, True), (high - 1e-6, True), (high + 1e-6, False)):
            assert (flipped_p(np.array(A) - (1 + ratio) * np.array(B)) > 0.05) == inside
        assert (pair.wins, pair.ties, pair.losses, pair.queries) == (8, 1, 3, 12)
        assert pair.tost == pytest.approx(0.4437988221049308, abs=1e-9)
        assert pair.detectable == pytest.approx(0.7147 * (pair.interval[1] - pair.interval[0]), rel=1e-3)

    def test_the_decision_in_words(self, found: Comparison) -> None:
        pair = found.pair("a", "b")
        assert pair.decision == "better"
        words = "a is better than b by 0.0475 nDCG@10 (9.3 % more; 95 % interval 0.0100 to 0.0867; p = 0.0273)"
        assert pair.verdict == words

    def test_the_other_way_round(self) -> None:
        """The sentence names the system that is asked about, and the share is of the baseline's mean."""
        pair = compare(None, {"b": PAIR["b"], "a": PAIR["a"]}, "nDCG@10").pair("b", "a")
        assert pair.decision == "worse"
        assert pair.difference == pytest.approx(-0.0475)
        assert pair.relative == pytest.approx(-0.0475 / np.mean(A))
        words = "b is worse than a by 0.0475 nDCG@10 (8.5 % less; 95 % interval 0.0100 to 0.0867; p = 0.0273)"
        assert pair.verdict == words

    def test_a_pair_answers_both_ways(self, found: Comparison) -> None:
        """Whatever order they were given in: the second one is the baseline of the answer."""
        here, there = found.pair("a", "b"), found.pair("b", "a")
        assert (here.a, here.b, there.a, there.b) == ("a", "b", "b", "a")
        assert (there.difference, there.d_z, there.g_z) == (-here.difference, -here.d_z, -here.g_z)
        assert there.interval == (-here.interval[1], -here.interval[0])
        assert there.d_z_interval == (-here.d_z_interval[1], -here.d_z_interval[0])
        assert (there.wins, there.ties, there.losses) == (here.losses, here.ties, here.wins)
        for name in ("p", "p_t", "p_adjusted", "detectable", "tost", "within_rope", "queries"):
            assert getattr(there, name) == getattr(here, name), name
        assert there.better == pytest.approx(1 - here.better, abs=1e-12)
        assert (here.decision, there.decision) == ("better", "worse")
        given_so = compare(None, {"b": PAIR["b"], "a": PAIR["a"]}, "nDCG@10", margin=0.05, rope=0.02)
        for asked in (("a", "b"), ("b", "a")):
            mine, theirs = found.pair(*asked), given_so.pair(*asked)
            assert (mine.difference, mine.p, mine.decision) == (theirs.difference, theirs.p, theirs.decision)
            assert (*mine.interval, mine.relative) == pytest.approx((*theirs.interval, theirs.relative), abs=1e-12)
            assert mine.relative_interval == pytest.approx(theirs.relative_interval, abs=1e-12)
            assert mine.verdict == theirs.verdict

    def test_no_clear_winner_says_what_could_be_detected(self) -> None:
        pair = compare(None, PAIR, "nDCG@10", alpha=0.01).pair("a", "b")
        assert pair.decision == "not significant"
        words = "No clear winner: a − b is 0.0475 nDCG@10 (99 % interval -0.0100 to 0.1040; p = 0.0273); "
        assert pair.verdict == f"{words}minimum detectable effect {pair.detectable:.4f}"
        assert pair.detectable == pytest.approx((2.5758 + 0.8416) / (2 * 2.5758) * 0.114, rel=1e-3)

    def test_so_few_queries_that_nothing_can_be_detected(self) -> None:
        """The smallest p of five queries is 2 / 32."""
        for number, detects in ((3, False), (5, False), (6, True)):
            values = {"a": {str(q): 0.5 + 0.01 * q for q in range(number)}, "b": {str(q): 0.4 for q in range(number)}}
            pair = compare(None, values).pair("a", "b")
            assert pair.p == 2 / 2**number
            assert math.isfinite(pair.detectable) == (pair.decision == "better") == detects
            assert math.isfinite(pair.interval[0]) == math.isfinite(pair.interval[1]) == detects
            if not detects:
                sizes = f"a − b is {pair.difference:.4f} value (p = {pair.p:.4f}); {number} queries"
                assert pair.verdict == f"Too few queries to tell: {sizes} cannot show a significant difference"
        assert compare(None, values, alpha=0.02).to_dict()["measures"]["value"]["pairs"][0]["detectable"] is None

    def test_of_many_systems_the_best_and_its_equals_have_a_sentence(self) -> None:
        means = {"old": 0.5, "a": 0.9, "b": 0.2, "c": 0.895, "d": 0.4}
        waves = {name: at * 0.01 for at, name in enumerate(means)}
        values = {s: {str(q): mean + waves[s] * (-1) ** q for q in range(20)} for s, mean in means.items()}
        found, highest = compare(None, values), "Highest value: a, 0.9000"
        assert lead_of(found) == [
            f"{found.pair('a', 'old').verdict}.",
            f"{highest}; not significantly different: c (adjusted for 10 comparisons). {OPTIMISTIC}",
        ]
        apart = compare(None, values | {"c": values["b"]})
        assert lead_of(apart)[1] == f"{highest}; all others are worse (adjusted for 10 comparisons). {OPTIMISTIC}"
        against = compare(None, values, baseline="old")  # which compares a with old alone
        assert lead_of(against) == [f"{against.pair('a', 'old').verdict}.", f"{highest}."]
        best = lead_of(compare(None, values, baseline="a"))[1]
        assert best == f"{highest}; not significantly different: c (adjusted for 4 comparisons). {OPTIMISTIC}"

    def test_one_query_has_values_and_no_more_than_the_p_of_its_two_flips(self) -> None:
        found = compare(None, {"a": {"q": 0.5}, "b": {"q": 0.75}}, margin=0.1, rope=0.1, also=["tukey", "bca"])
        pair = found.pair("b", "a")
        assert (pair.difference, pair.p, pair.p_adjusted, pair.decision) == (0.25, 1.0, 1.0, "not significant")
        assert pair.verdict == "One query cannot show a difference: b − a is 0.2500 value. Judge at least 6 queries"
        unknown = [pair.p_t, pair.d_z, *pair.d_z_interval, pair.g_z, pair.detectable, pair.better, pair.within_rope]
        unknown += [pair.tost, pair.others["tukey"]["p"], *pair.interval]
        assert all(each is not None and math.isnan(each) for each in unknown)
        with pytest.raises(InputError, match="one query does not tell how differences scatter"):
            charts.detectable(found)

    def test_identical_systems(self) -> None:
        pair = compare(None, {"a": PAIR["a"], "b": PAIR["a"]}).pair("a", "b")
        assert (pair.p, pair.p_t, pair.difference, pair.d_z, pair.decision) == (1, 1, 0, 0, "not significant")
        assert pair.verdict == "No difference: a and b have the same value on all 12 queries"

    @pytest.mark.parametrize("power", [190, -190])
    def test_the_unit_of_the_values_changes_nothing(self, power: int) -> None:
        """Up to the sizes that are refused: 2^190 is 1.6e57."""
        scaled = {name: {query: value * 2.0**power for query, value in column.items()} for name, column in PAIR.items()}
        found, pair = compare(None, scaled).pair("a", "b"), compare(None, PAIR).pair("a", "b")
        for name in ("p", "p_t", "d_z", "d_z_interval", "relative", "relative_interval", "skewness", "wins", "better"):
            assert getattr(found, name) == getattr(pair, name)
        assert found.interval == tuple(end * 2.0**power for end in pair.interval)

    def test_probabilities(self, found: Comparison) -> None:
        pair = found.pair("a", "b")
        t = scipy.stats.t(11, 0.0475, 0.059867277448460175 / math.sqrt(12))
        assert pair.better == pytest.approx(t.sf(0), abs=1e-9)
        assert pair.within_rope == pytest.approx(t.cdf(0.02) - t.cdf(-0.02), abs=1e-9)


class TestManySystems:
    def test_every_pair_in_order_or_each_against_the_baseline(self) -> None:
        values = random_values()
        every = compare(None, values, flips=2000)
        assert [(p.a, p.b) for p in every.pairs] == [
            *(("b", "a"), ("c", "a"), ("d", "a"), ("c", "b"), ("d", "b"), ("d", "c")),  # of two the later one, first
        ]
        against = compare(None, values, baseline="c", flips=2000)
        assert [(p.a, p.b) for p in against.pairs] == [("a", "c"), ("b", "c"), ("d", "c")]
        assert against.pair("a", "c").difference == pytest.approx(every.pair("a", "c").difference)
        assert against.pair("d", "c").difference == pytest.approx(-every.pair("c", "d").difference)

    @pytest.mark.parametrize("method", [None, "maxt", "holm"])
    def test_its_own_p_decides_about_a_pair_unless_a_method_is_given(self, method: Method | None) -> None:
        found = compare(None, random_values(systems=6, seed=6), flips=2000, method=method)
        assert all(pair.p_adjusted >= pair.p for pair in found.pairs)
        assert any(pair.p <= 0.05 < pair.p_adjusted for pair in found.pairs)
        for pair in found.pairs:
            p = pair.p if method is None else pair.p_adjusted
            assert (pair.decision != "not significant") == (p <= 0.05)
            assert (pair.interval[0] <= 0 <= pair.interval[1]) == (pair.p > 0.05)
            assert pair.decided_by == (method or "p")
            assert (pair.adjusted_decision != "not significant") == (pair.p_adjusted <= 0.05)
            if method != "holm":
                low, high = pair.simultaneous
                assert (low <= 0 <= high) == (pair.p_adjusted > 0.05)
                assert (low <= pair.interval[0], pair.interval[1] <= high) == (True, True)
        decides = {"decides": method is not None, "size": 15}
        assert found.family == {"method": method or "maxt", "controls": "FWER"} | decides
        assert ("adjusted" in codes(found)) == (method is None)
        if method is None:
            (text,) = (doubt.text for doubt in found.warnings if doubt.code == "adjusted")
            assert "adjusted for 15 comparisons" in text

    def test_a_verdict_does_not_depend_on_which_other_systems_there_are(self) -> None:
        """Nor on what queries are called, nor on which of the two is first."""
        values = random_values(queries=40, systems=6, seed=5)
        many = compare(None, values, flips=2000).pair("b", "a")
        two = compare(None, {name: values[name] for name in "ab"}, flips=2000).pair("b", "a")
        names = {query: f"x{at * 7 % 40:02d}" for at, query in enumerate(values["a"])}
        other = {name: {names[query]: value for query, value in values[name].items()} for name in "ba"}
        renamed = compare(None, other, flips=2000).pair("b", "a")
        assert renamed.relative_interval == pytest.approx(many.relative_interval, rel=1e-12)  # it was turned round
        assert many.relative_interval == two.relative_interval
        for name in ("p", "interval", "decision", "detectable"):
            assert getattr(many, name) == getattr(two, name) == getattr(renamed, name)

    @pytest.mark.parametrize("method", METHODS)
    def test_every_method_labels_what_it_controls(self, method: Method) -> None:
        found = compare(None, random_values(), method=method, flips=2000)
        assert found.family["controls"] == METHODS[method] in ("FWER", "FDR", "nothing")
        if method == "none":
            assert [pair.p_adjusted for pair in found.pairs] == [pair.p for pair in found.pairs]

    def test_what_is_asked_for_stands_beside_the_decision(self) -> None:
        plain = compare(None, random_values(), flips=2000)
        found = compare(None, random_values(), flips=2000, also=get_args(Also))
        assert [p.p_adjusted for p in found.pairs] == [p.p_adjusted for p in plain.pairs]
        for pair in found.pairs:
            assert {name: each["controls"] for name, each in pair.others.items()} | IDLE == ALSO
        assert found.show().count("bca and studentised: no longer made") == 1
        assert "no longer made" not in plain.show()

    @pytest.mark.parametrize("size", [1e9, 1e14, 1e-14])
    def test_another_system_of_another_size_changes_nothing_for_a_pair(self, size: float) -> None:
        values = random_values(queries=50, systems=2)
        alone = compare(None, values, flips=3000, method="none", also="wilcoxon").pair("a", "b")
        values["c"] = {query: size * (1 + at % 7) for at, query in enumerate(values["a"])}
        found = compare(None, values, flips=3000, method="none", also="wilcoxon")
        assert replace(found.pair("a", "b"), comparisons=1, simultaneous=alone.simultaneous) == alone
        assert found.pair("a", "c").p_adjusted == pytest.approx(1 / 3001)
        by = {query: "xy"[at % 2] for at, query in enumerate(values["a"])}
        part = compare(None, values, by=by, flips=3000, method="none").first.groups["x"].pair("a", "b")
        two = {name: values[name] for name in "ab"}
        assert part.p == compare(None, two, by=by, flips=3000, method="none").first.groups["x"].pair("a", "b").p

    def test_holm_is_on_the_sign_flip_p(self) -> None:
        found = compare(None, random_values(), flips=2000, also="holm")
        p = sorted(pair.p for pair in found.pairs)
        strongest = min(found.pairs, key=lambda pair: pair.p)
        assert strongest.others["holm"]["p"] == pytest.approx(min(1, 6 * p[0]))

    def test_systems_count_what_they_are_better_than(self) -> None:
        found = compare(None, random_values(), flips=2000)
        for name, system in found.first.systems.items():
            decisions = [p.decision for p in found.pairs if p.a == name]
            decisions += [
                {"better": "worse", "worse": "better"}.get(p.decision, p.decision) for p in found.pairs if p.b == name
            ]
            assert system.better_than == decisions.count("better")
            assert system.worse_than == decisions.count("worse")
            assert system.not_significant == decisions.count("not significant")

    def test_the_interval_of_a_mean_is_that_of_the_flips(self) -> None:
        """Of a measure without known ends; of one between 0 and 1 it is Wilson's."""
        system = compare(None, PAIR).first.systems["a"]
        assert system.interval == pytest.approx(not_rejected(np.array(A)), abs=1e-6)


class TestIntervals:
    """They stay where the measure can be, and there is none where nothing could be significant."""

    NEAR_ONE = {  # noqa: RUF012
        "old": {f"q{n}": 1.0 if n else 0.82 for n in range(8)},
        "new": {f"q{n}": 0.0 if n else 0.9 for n in range(8)},
    }

    def test_no_end_is_beyond_the_range_of_the_measure(self) -> None:
        found = compare(None, self.NEAR_ONE, "nDCG@10")
        theirs = [scipy.stats.ttest_1samp([*each.values()], 0).confidence_interval() for each in self.NEAR_ONE.values()]
        assert theirs[0].high > 1
        assert theirs[1].low < 0
        old, new = (found.first.systems[name].interval for name in ("old", "new"))
        assert 0 < old[0] < 0.9775 < old[1] <= 1
        assert 0 <= new[0] < 0.1125 < new[1] < 1
        apart = np.array([self.NEAR_ONE["new"][query] - self.NEAR_ONE["old"][query] for query in self.NEAR_ONE["old"]])
        low, high = found.pair("new", "old").interval
        assert (low, high) == pytest.approx(not_rejected(apart), abs=1e-6)
        assert -1 <= low < high <= 0
        assert found.pair("old", "new").interval == (-high, -low)
        (row,) = (row for row in found.rows() if row["a"] == "new")
        assert (row["difference_low"], row["difference_high"]) == found.pair("new", "old").interval

    @pytest.mark.parametrize("measure", ["DCG@10", "my own measure"])
    def test_of_a_measure_without_known_ends_nothing_is_cut(self, measure: str) -> None:
        found = compare(None, self.NEAR_ONE, measure)
        assert found.first.systems["new"].interval[0] < 0

    @pytest.mark.parametrize(("queries", "known"), [(2, False), (5, False), (6, True)])
    def test_of_too_few_queries_there_is_none(self, queries: int, known: bool) -> None:
        """Up to five queries no p is below 0.05: the smallest is 2 of 2^5."""
        some = {name: dict(list(column.items())[:queries]) for name, column in PAIR.items()}
        found = compare(None, some, "nDCG@10")
        ends = [found.pairs[0].interval, found.pairs[0].relative_interval]
        assert [[math.isfinite(end) for end in each] for each in ends] == [[known, known]] * 2
        assert all(0 <= each.interval[0] < each.mean < each.interval[1] <= 1 for each in found.first.systems.values())
        unbounded = compare(None, some).first.systems.values()
        assert [math.isfinite(each.interval[0]) for each in unbounded] == [known, known]
        data = json.loads(found.show("json"))["measures"]["nDCG@10"]
        assert (data["pairs"][0]["difference"]["low"] is not None) == known
        assert data["systems"]["a"]["mean"]["high"] is not None
        text = found.show(details=True)
        assert "nan" not in text
        assert text.startswith("Only 5 of 6 queries changed: " if known else "Too few queries to tell: b − a is ")
        if not known:
            assert re.search(
                r"^b +0\.\d{4} +-0\.\d{4} +-\d+\.\d % +– +[01]\.\d{4}  not significant$", text, re.MULTILINE
            )

    def test_clusters_are_counted_and_not_their_queries(self) -> None:
        by = {query: query[-1] if query[-1] in "012" else "3" for query in PAIR["a"]}
        found = compare(None, PAIR, "nDCG@10", clusters=by)
        assert math.isnan(found.pairs[0].interval[0])
        assert all(0 < system.interval[0] < system.interval[1] < 1 for system in found.first.systems.values())
        assert found.pairs[0].verdict.startswith("Too few clusters of queries to tell: ")
        assert found.pairs[0].verdict.endswith("; 4 clusters of queries cannot show a significant difference")
        assert found.warnings[0].text.startswith("nDCG@10: 4 clusters of queries, worth 2.5 of equal weight, are few")


class TestRuns:
    JUDGMENTS = {f"q{n}": {"x": 2, "y": 1} for n in range(30)}  # noqa: RUF012
    GOOD = {f"q{n}": {"x": 2.0, "y": 1.0} for n in range(30)}  # noqa: RUF012

    def worse(self, number: int) -> dict[str, dict[str, float]]:
        return {q: ({"y": 2.0, "x": 1.0} if int(q[1:]) < number else docs) for q, docs in self.GOOD.items()}

    def test_values_are_those_of_evaluate(self) -> None:
        found = compare(self.JUDGMENTS, {"good": self.GOOD, "worse": self.worse(20)}, ["nDCG@10", "P@1"])
        result = rankgauge.evaluate(self.JUDGMENTS, self.worse(20), ["nDCG@10", "P@1"])
        assert list(found) == ["nDCG@10", "P@1"]
        assert found["nDCG@10"].systems["worse"].mean == pytest.approx(result["nDCG@10"])
        assert found["ndcg_cut_10"].pairs == found.pairs
        assert "ndcg_cut_10" in found
        assert found.get("ndcg_cut_10") is found["nDCG@10"]
        assert "P@5" not in found
        assert "no such measure" not in found
        assert (found.get("P@5"), found.get("P@5", 1)) == (None, 1)
        assert found.pair("good", "worse").decision == "better"

    def test_missing_queries_follow_the_protocol(self) -> None:
        part = {query: docs for query, docs in self.GOOD.items() if query != "q7"}
        zero = compare(self.JUDGMENTS, {"good": self.GOOD, "part": part})
        assert (zero.pair("good", "part").wins, zero.first.values.dropped) == (1, {})
        skip = compare(self.JUDGMENTS, {"good": self.GOOD, "part": part}, protocol=Protocol(missing="skip"))
        data = skip.to_dict()
        assert (data["queries"], data["dropped"]) == (29, 1)
        assert data["dropped_ids"] == {"q7": "not answered by part"}
        assert codes(skip) == ["dropped-queries"]  # and that nothing differs needs no warning

    def test_results_and_runs_compare_alike(self) -> None:
        runs = {"good": self.GOOD, "worse": self.worse(9)}
        results = {name: rankgauge.evaluate(self.JUDGMENTS, run) for name, run in runs.items()}
        assert compare(None, results).to_dict() == compare(self.JUDGMENTS, runs).to_dict()

    def test_results_take_weights_and_groups_as_runs_do(self) -> None:
        runs = {"good": self.GOOD, "worse": self.worse(9)}
        results = {name: rankgauge.evaluate(self.JUDGMENTS, run) for name, run in runs.items()}
        asked: dict[str, Any] = {
            "weights": {query: 1 + int(query[1:]) for query in self.GOOD},
            "by": {query: "odd" if int(query[1:]) % 2 else "even" for query in self.GOOD},
        }
        found, expected = compare(None, results, **asked), compare(self.JUDGMENTS, runs, **asked)
        assert [*found.rows()] == [*expected.rows()]
        assert set(found.first.groups) == {"odd", "even"}
        assert found.pair("good", "worse").difference != compare(None, results).pair("good", "worse").difference

    def test_no_rule_can_change_results_or_values(self) -> None:
        results = {name: rankgauge.evaluate(self.JUDGMENTS, self.worse(at)) for at, name in enumerate("ab")}
        for asked, words in (
            ({"protocol": Protocol(rel=2, missing="skip")}, "missing=skip, rel=2"),
            ({"dialect": "sklearn"}, "dialect=sklearn"),
        ):
            with pytest.raises(InputError, match=f"{words}.*: results were computed before"):
                compare(None, results, **asked)
        with pytest.raises(InputError, match=r"^ties=average: values were computed before"):
            compare(None, PAIR, protocol={"ties": "average", "missing": "skip"})
        part = {"a": PAIR["a"], "b": {query: value for query, value in PAIR["b"].items() if query != "q03"}}
        skipped = compare(None, part, protocol=Protocol(missing="skip"))
        assert skipped.first.values.dropped == {"q03": "no value for b"}

    def test_a_dialect_takes_what_is_written_before_its_own(self) -> None:
        """Linear gain is our default and not xgboost's: written out, it is kept, as `evaluate` keeps it."""
        measure = "nDCG(gain=linear)@10"
        tied = {query: dict.fromkeys(docs, 1.0) for query, docs in self.GOOD.items()}
        found = compare(self.JUDGMENTS, {"bad": self.worse(9), "tied": tied}, measure, dialect="trec_eval")
        assert found.first.values.measure == measure
        found = compare(self.JUDGMENTS, {"good": self.GOOD, "bad": self.worse(9)}, measure, dialect="xgboost")
        alone = rankgauge.evaluate(self.JUDGMENTS, self.worse(9), measure, dialect="xgboost")
        assert found.first.systems["bad"].mean == pytest.approx(alone[measure], abs=1e-12)

    def test_a_dialect_is_compared_in(self) -> None:
        found = compare(self.JUDGMENTS, {"good": self.GOOD, "worse": self.worse(9)}, dialect="sklearn")
        assert found.pair("good", "worse").losses == 0

    def test_results_of_other_judgments_or_rules_are_refused(self) -> None:
        ours = rankgauge.evaluate(self.JUDGMENTS, self.GOOD)
        swapped = rankgauge.evaluate({q: {"x": 1, "y": 2} for q in self.JUDGMENTS}, self.GOOD)
        with pytest.raises(InputError, match="different judgments"):
            compare(None, {"a": ours, "b": swapped})
        ruled = rankgauge.evaluate(self.JUDGMENTS, self.GOOD, protocol=Protocol(rel=2))
        with pytest.raises(ProtocolError, match=r"rel=1.0 and 2.0"):
            compare(None, {"a": ours, "b": ruled})


class TestClustersWeightsGroups:
    def test_clusters_flip_together(self) -> None:
        """Each query three times is no more evidence than once."""
        tripled = {name: {f"{q}-{n}": v for q, v in column.items() for n in range(3)} for name, column in PAIR.items()}
        clusters = {query: query[:3] for query in tripled["a"]}
        once, thrice = compare(None, PAIR).pair("a", "b"), compare(None, tripled, clusters=clusters).pair("a", "b")
        assert thrice.p == once.p
        assert (thrice.p_t, thrice.d_z) == pytest.approx((once.p_t, once.d_z))
        assert thrice.interval == pytest.approx(once.interval)
        naive = compare(None, tripled).pair("a", "b")
        assert naive.p < once.p / 10

    def test_weights_move_the_mean_and_the_flips(self) -> None:
        weights = {query: 1 + at for at, query in enumerate(QUERIES)}
        found = compare(None, PAIR, weights=weights)
        pair, shares = found.pair("a", "b"), np.arange(1, 13) / 78
        assert pair.difference == pytest.approx(float((shares * (np.array(A) - B)).sum()))
        assert found.first.effective == pytest.approx(1 / (shares**2).sum())
        whole = [(1 + at) * round(100 * (a - b)) for at, (a, b) in enumerate(zip(A, B, strict=True))]
        flips = itertools.product((1, -1), repeat=12)
        sums = [abs(sum(s * d for s, d in zip(signs, whole, strict=True))) for signs in flips]
        assert pair.p == sum(each >= abs(sum(whole)) for each in sums) / 4096

    def test_a_query_of_weight_0_is_left_out(self) -> None:
        weights = dict.fromkeys(QUERIES, 1.0) | {"q11": 0.0}
        found = compare(None, PAIR, weights=weights, by=dict.fromkeys(QUERIES, "all of them"))
        rest = {name: {query: column[query] for query in QUERIES[:11]} for name, column in PAIR.items()}
        assert found.pair("a", "b").p == compare(None, rest).pair("a", "b").p
        assert found.pair("a", "b").interval == pytest.approx(compare(None, rest).pair("a", "b").interval)
        assert found.first.values.dropped == {"q11": "has weight 0"}
        assert found.first.groups["all of them"].pairs[0].queries == 11

    def test_groups_are_one_family(self) -> None:
        values = random_values(queries=60, systems=3, seed=5)
        by = {query: "head" if int(query[1:]) < 25 else "tail" for query in values["a"]}
        found = compare(None, values, by=by, flips=4000)
        groups = found.first.groups
        assert {name: len(group.values.queries) for name, group in groups.items()} == {"head": 25, "tail": 35}
        for name, group in groups.items():
            queries = [query for query in values["a"] if by[query] == name]
            alone = compare(None, {s: {q: column[q] for q in queries} for s, column in values.items()}, flips=4000)
            for pair, other in zip(group.pairs, alone.pairs, strict=True):
                assert pair.difference == pytest.approx(other.difference)
                assert pair.interval == pytest.approx(other.interval)
                assert pair.p == pytest.approx(other.p, abs=0.03)
        adjusted = [pair.p_adjusted for group in groups.values() for pair in group.pairs]
        every = [pair.p for group in groups.values() for pair in group.pairs]
        holm = [min(1.0, 6 * p) for p in sorted(every)]
        assert max(adjusted) <= 1
        assert min(every) <= min(adjusted) <= holm[0] + 0.02
        assert set(found.to_dict()["measures"]["value"]["groups"]) == {"head", "tail"}

    def test_tukey_takes_none_of_them(self) -> None:
        for more in ({"weights": dict.fromkeys(QUERIES, 1)}, {"clusters": {"q01": "x", "q02": "x"}}):
            with pytest.raises(InputError, match="neither weights nor clusters"):
                compare(None, PAIR, method="tukey", **more)
        with pytest.raises(InputError, match=r"no groups of queries; take maxt, holm, bh, by, none$"):
            compare(None, PAIR, also="tukey", by={"q01": "x"})


class TestWarnings:
    def test_few_queries(self) -> None:
        assert codes(compare(None, PAIR)) == ["few-queries"]
        assert codes(compare(None, random_values())) == []

    def test_few_queries_that_differ(self) -> None:
        values = random_values(systems=2)
        values["b"] |= {query: values["a"][query] for query in list(values["a"])[:20]}
        found = compare(None, values)
        assert codes(found) == ["few-differences"]
        assert "differ on few queries (20 of 40)" in found.warnings[0].text

    def test_skew_for_the_number_of_queries(self) -> None:
        values = {"a": {f"q{n}": 0.9 if n == 0 else 0.5 + 0.001 * (n % 5) for n in range(40)}}
        values["b"] = dict.fromkeys(values["a"], 0.5)
        (doubt,) = compare(None, values).warnings
        assert doubt.code == "skewed"
        assert doubt.text == (
            "value: few of 40 queries decide about b and a (skewness -6.1); "
            "interval and p are too small; judge more queries"
        )
        theirs = scipy.stats.skew([-0.4, *(-0.001 * (n % 5) for n in range(1, 40))])
        assert theirs == pytest.approx(-6.1, abs=0.05)

    def test_where_nothing_differs_ties_undo_nothing(self) -> None:
        judgments = {f"q{n}": {"x": 1, "y": 0} for n in range(60)}
        tied = {f"q{n}": {"x": 1.0, "y": 1.0} for n in range(60)}
        assert codes(compare(judgments, {"one": tied, "same": dict(tied)}, "nDCG@10")) == []

    def test_queries_that_one_system_did_not_answer(self) -> None:
        """A run that was cut off looks like a bad one: the caution says how good it is where it answers."""
        judgments = {f"q{n}": {"x": 1, "y": 0} for n in range(60)}
        whole = {f"q{n}": {"x": 2.0, "y": 1.0} if n % 2 else {"x": 1.0, "y": 2.0} for n in range(60)}
        cut = {f"q{n}": {"x": 2.0, "y": 1.0} for n in range(30)}
        found = compare(judgments, {"whole": whole, "cut": cut}, "nDCG@10")
        assert found.warnings[0].code == "unanswered"
        assert found.warnings[0].text == (
            "queries without an answer count 0 and lower the mean: cut answers 30 of 60 (nDCG@10 0.5000, and 1.0000 "
            "over these)"
        )
        for fewer in ({**whole, "q0": {}}, whole):  # one of sixty changes little, and none nothing
            assert "unanswered" not in codes(compare(judgments, {"whole": whole, "fewer": fewer}, "nDCG@10"))
        same = compare(judgments, {"cut": cut, "alike": dict(cut)}, "nDCG@10")
        assert "unanswered" not in codes(same)
        gate = rankgauge.check(judgments, cut, whole, "nDCG@10", margin=0.01)
        assert "answers 30 of 60" in gate.warnings[0].text

    def test_ties_wider_than_the_difference(self) -> None:
        judgments = {f"q{n}": {"x": 1, "y": 0} for n in range(60)}
        tied = {f"q{n}": {"x": 1.0, "y": 1.0} for n in range(60)}
        other = {f"q{n}": {"x": 1.0, "y": 2.0 if n % 2 else 0.0} for n in range(60)}
        found = compare(judgments, {"tied": tied, "other": other}, "nDCG@10")
        assert codes(found) == ["tie-band"]
        assert "ranges from 0.6309 to 1.0000" in found.warnings[0].text
        assert codes(compare(judgments, {"tied": tied, "other": other}, protocol=Protocol(ties="average"))) == []

    def test_judged_shares_apart(self) -> None:
        judgments = {f"q{n}": {"x": 1, "y": 0} for n in range(30)}
        known = {f"q{n}": {"x": 2.0, "y": 1.0} for n in range(30)}
        unknown = {f"q{n}": {"x": 2.0, "z": 1.0} for n in range(30)}
        assert codes(compare(judgments, {"known": known, "unknown": unknown}, "nDCG@2")) == ["judged-unequal"]

    def test_judged_shares_are_told_of_pairs_whose_decision_they_could_turn(self) -> None:
        judgments = {f"q{n}": {"x": 1, "y": 0, "w": 0, "v": 0} for n in range(30)}
        known = {f"q{n}": {"x": 2.0, "y": 1.0, "w": 0.5, "v": 0.2} for n in range(30)}
        half = {f"q{n}": {"x": 2.0, "y": 1.5, "z": 1.0, "u": 0.5} for n in range(30)}
        none = {f"q{n}": {"z": 2.0, "u": 1.0, "t": 0.5, "x": 0.2} for n in range(30)}
        runs = {"half": half, "known": known, "none": none}
        (doubt,) = [each for each in compare(judgments, runs, "nDCG@4").warnings if each.code == "judged-unequal"]
        assert "1.000 for known and 0.250 for none" in doubt.text
        against = compare(judgments, runs, "nDCG@4", baseline="half").warnings
        (doubt,) = [each for each in against if each.code == "judged-unequal"]
        assert "1.000 for known and 0.500 for half" in doubt.text  # known and none are not compared
        better = {f"q{n}": {"x": 2.0, "z": 1.0, "u": 0.5, "t": 0.2} for n in range(30)}
        worse = {f"q{n}": {"y": 2.0, "w": 1.0, "v": 0.5, "x": 0.2} for n in range(30)}
        found = compare(judgments, {"worse": worse, "better": better}, "nDCG@4")
        assert (found.pairs[0].decision, codes(found)) == ("better", [])  # though fewer of its documents are judged

    def test_unequal_variances_under_tukey(self) -> None:
        values = random_values(systems=3)
        values["c"] = {query: value + 0.01 * (-1) ** int(query[1:]) for query, value in values["b"].items()}
        assert codes(compare(None, values, also="tukey")) == ["unequal-variances"]
        assert codes(compare(None, values)) == []

    def test_too_few_flips_for_holm(self) -> None:
        values = random_values(systems=8)
        assert codes(compare(None, values, method="holm", flips=500)) == ["few-flips"]
        assert codes(compare(None, values, method="holm", flips=5000)) == []

    @pytest.mark.parametrize("method", ["maxt", "none"])
    def test_too_few_flips_for_the_level(self, method: Method) -> None:
        values = random_values(systems=3)
        assert "few-flips" in codes(compare(None, values, method=method, flips=18))
        assert "few-flips" not in codes(compare(None, values, method=method, flips=20))
        assert "few-flips" not in codes(compare(None, values, method="tukey", flips=18))

    def test_a_difference_that_never_varies_is_unequal_too(self) -> None:
        values = random_values(systems=2)
        values["c"] = {query: value + 0.125 for query, value in values["b"].items()}
        assert "unequal-variances" in codes(compare(None, values, also="tukey", flips=500))

    def test_groups_have_warnings_of_their_own(self) -> None:
        values = random_values(queries=60, systems=2, seed=1)
        by = {query: "large" if at >= 16 else "ab"[at % 2] for at, query in enumerate(values["a"])}
        found = compare(None, values, by=by, flips=2000)
        (few,) = (doubt for doubt in found.warnings if doubt.code == "few-queries")
        assert few.text.startswith("value, a: 8 queries are few; below 25")
        assert few.text.endswith("(likewise in 1 more groups: b)")
        assert codes(compare(None, values, flips=2000)) == []

    def test_groups_multiply_what_flips_must_reach(self) -> None:
        values = random_values(queries=90, systems=3)
        by = {query: "abc"[at % 3] for at, query in enumerate(values["a"])}
        texts = [
            d.text for d in compare(None, values, by=by, method="holm", flips=100).warnings if d.code == "few-flips"
        ]
        assert len(texts) == 1
        assert "groups: with 100 flips no p is below 0.0099, and holm over 9 pairs needs 0.0056" in texts[0]

    def test_harsh_skew_with_25_queries(self) -> None:
        """Half of the differences 0, most others small losses, a few large wins."""
        random, fired = np.random.default_rng(0), 0
        for _ in range(200):
            kind = random.random(25)
            d = np.where(
                kind < 0.5, 0.0, np.where(kind < 0.9, -random.exponential(0.05, 25), random.exponential(0.2, 25))
            )
            values = {"a": {str(q): v for q, v in enumerate(d.tolist())}, "b": {str(q): 0.0 for q in range(25)}}
            found = codes(compare(None, values, flips=100))
            fired += "skewed" in found
            assert "few-differences" in found
        assert fired > 140

    def test_every_code_is_known(self) -> None:
        assert set(CODES) == {
            *("few-queries", "few-differences", "skewed", "unanswered", "tie-band", "judged-unequal"),
            *("unequal-variances", "dropped-queries", "few-flips", "adjusted"),
            *("fixed-list", "random-per-search", "sample-lacking", "sample-ignored"),
        }


# ---- how it is shown -------------------------------------------------------------------------------------------------


class TestShown:
    def test_the_text_begins_with_the_answer(self) -> None:
        """The sentence, one table against the baseline, the queries that changed most, and what to be careful about."""
        assert compare(None, PAIR, "nDCG@10").show() == (
            "b is worse than a by 0.0475 nDCG@10 (8.5 % less; 95 % interval 0.0100 to 0.0867;\n"
            "  p = 0.0273).\n"
            "\n"
            "nDCG@10, 12 queries\n"
            "system    mean  difference  relative       95 % interval       p  verdict\n"
            "a       0.5575           –         –                   –       –  baseline\n"
            "b       0.5100     -0.0475    -8.5 %  -0.0867 to -0.0100  0.0273  worse\n"
            "\n"
            "Queries of b against a: won 3, lost 8, tied 1.\n"
            "\n"
            "Queries that lost and won most\n"
            "query       a       b  difference\n"
            "q08    0.6400  0.5000     -0.1400\n"
            "q05    0.5100  0.4000     -0.1100\n"
            "q10    0.7100  0.6000     -0.1100\n"
            "q11    0.5500  0.4700     -0.0800\n"
            "q00    0.6000  0.5200     -0.0800\n"
            "q09    0.2000  0.2200     +0.0200\n"
            "q07    0.3300  0.3600     +0.0300\n"
            "q01    0.4200  0.4500     +0.0300\n"
            "\n"
            "Caution: nDCG@10: 12 queries are few; below 25 an interval or a p-value is only\n"
            "  as good as the differences are symmetric; judge more queries (few-queries).\n"
            "p: sign-flip test of the mean difference, two-sided, all 2,048 flips; the\n"
            "  interval is that of the same test.\n"
        )

    def test_everything_beside_the_decision_fits_a_terminal(self) -> None:
        found = compare(None, random_values(), flips=2000, also=get_args(Also), margin=0.02, rope=0.01)
        lines = found.show().splitlines()
        assert max(map(len, lines)) <= 80
        rows = [line.split() for line in lines[lines.index("Beside the decision") + 1 :]]
        assert rows[0] == ["system", "baseline", "method", "controls", "p", "probability"]
        pair = found.pair("b", "a")
        assert ["b", "a", "holm", "FWER", p_text(pair.others["holm"]["p"]), "–"] in rows
        assert ["b", "a", "TOST", "±0.02", "equivalence", p_text(pair.tost or 0), "–"] in rows
        assert ["b", "a", "|difference|", "<", "0.01", "posterior", "–", f"{pair.within_rope:.3f}"] in rows
        alone = compare(None, random_values(), flips=2000, also="bh").show()
        assert "system  baseline  method  controls       p\n" in alone

    def test_tables_have_keys_of_their_own(self) -> None:
        (section,) = compare(None, PAIR, "nDCG@10", rope=0.01).sections(details=True)
        keys = [block.key for block in section.blocks if isinstance(block, Table)]
        assert len(set(keys)) == len(keys) > 3

    def test_details_are_shown_on_request(self) -> None:
        found = compare(None, PAIR, "nDCG@10")
        text = found.show(details=True)
        assert (
            "nDCG@10, 12 queries\n"
            "system    mean     95 % interval\n"
            "a       0.5575  0.3869 to 0.7117\n"
            "b       0.5100  0.3545 to 0.6629\n"
        ) in text
        heads, row = (line for line in text.splitlines() if line.startswith(("system  baseline", "b       a  ")))
        assert heads.split("  ")[0] == "system"
        assert [*filter(None, (part.strip() for part in row.split("  ")))] == [
            *("b", "a", "-0.793", "-1.43 to -0.13", "3", "1", "8", "0.0548"),
        ]
        for head in ("d_z", "won", "tied", "lost", "MDE"):
            assert head in heads
            assert head not in found.show() or head in ("won", "tied", "lost")
        wide = as_text(found.page(details=True), Options(width=120))
        for cell in ("t-test p", "0.0189", "g_z", "-0.738", "P(better)"):
            assert cell in wide
            assert cell not in text
        assert max(map(len, found.show().splitlines())) <= 80

    def test_the_queries_that_changed_most(self) -> None:
        """Those of the largest differences, five at most, by sorting; none that did not change."""
        values = random_values(systems=2, seed=9)
        values["b"] |= {query: values["a"][query] for query in list(values["a"])[:33]}
        apart = {query: values["b"][query] - values["a"][query] for query in values["a"]}
        lost, won = compare(None, values, flips=100).first.changed("b", "a", 5)
        assert [each.query_id for each in lost] == [q for q in sorted(apart, key=apart.__getitem__) if apart[q] < 0][:5]
        assert [each.query_id for each in won] == [q for q in sorted(apart, key=lambda q: -apart[q]) if apart[q] > 0][
            :5
        ]
        assert 0 < len(lost) + len(won) <= 7
        for each in (*lost, *won):
            expected = values["a"][each.query_id], values["b"][each.query_id], apart[each.query_id]
            assert (each.baseline, each.system, each.difference) == expected
        turned = compare(None, values, flips=100).first.changed("a", "b", 5)
        assert [[each.query_id for each in rows] for rows in turned] == [
            [each.query_id for each in won],
            [each.query_id for each in lost],
        ]

    def test_the_table_of_many_pairs_shows_the_clearest(self) -> None:
        """The pairs with the baseline have a table of their own; of the others there are 55."""
        random = np.random.default_rng(1)
        values = {f"system-{n:02d}": {f"q{q}": float(v) for q, v in enumerate(random.random(30))} for n in range(12)}
        found = compare(None, values, flips=200)
        assert "The 45 clearest of 55 pairs; --every-pair shows all" in found.show()
        assert "clearest" not in found.show(every_pair=True)
        assert found.show(every_pair=True).count("system-11") == 11
        assert all(len(line) <= 100 for line in found.show().splitlines()[:60])

    def test_many_systems_are_not_told_one_by_one(self) -> None:
        """A sentence for each of three systems at most; of more for the best, and the table tells."""
        four = compare(None, random_values(systems=4), flips=500)
        for name in "bcd":
            assert four.show().count(f"{name} is worse than a by") == 1
        five = compare(None, random_values(systems=5), flips=500)
        assert five.show().count(" is worse than ") == 1
        assert five.show().startswith(lead_of(five)[0][:60])

    def test_the_best_is_bold_on_a_terminal_and_in_documents(self) -> None:
        found = compare(None, PAIR)
        assert "\x1b[1m0.5575\x1b[0m" in as_text(found.page(), Options(colours=True))
        assert "\x1b" not in found.show()
        assert "| a | **0.5575** | – | – | – | – | baseline |" in found.show("markdown")
        assert "| b | 0.5100 | -0.0475 | -8.5 % | -0.0867 to -0.0100 | 0.0273 | **worse** |" in found.show("markdown")
        assert "| a | **0.5575** | 0.3925 to 0.7240 |" in found.show("markdown", details=True)
        assert r"a & \textbf{0.5575} & " in found.show("latex", table="systems")
        assert "0.5575" in found._repr_html_()

    def test_html_and_latex_escape(self) -> None:
        values = {"<a&b>": PAIR["a"], "b_c|d": PAIR["b"]}
        found = compare(None, values)
        assert "&lt;a&amp;b&gt;" in found._repr_html_()
        assert "<a&b>" not in found._repr_html_()
        assert r"b\_c\textbar{}d" in found.show("latex")
        assert r"b_c\|d" in found.show("markdown")

    def test_csv_keeps_every_digit(self) -> None:
        found = compare(None, random_values(), ["x"], flips=500, also=["holm", "bca"], rope=0.01)
        rows = list(csv.DictReader(io.StringIO(found.show("csv"))))
        assert len(rows) == 6
        for row, pair in zip(rows, found.pairs, strict=True):
            assert (row["measure"], row["group"], row["a"], row["b"]) == ("x", "all", pair.a, pair.b)
            assert float(row["difference"]) == pair.difference
            assert (float(row["difference_low"]), float(row["difference_high"])) == pair.interval
            assert float(row["p_holm"]) == pair.others["holm"]["p"]
            assert row["verdict"] == pair.verdict

    def test_the_frame_has_a_row_per_pair(self) -> None:
        frame = compare(None, random_values(), flips=500).to_frame()
        assert isinstance(frame, pl.DataFrame)
        assert frame["a"].to_list() == list("bcdcdd")
        assert frame["b"].to_list() == list("aaabbc")

    def test_groups_say_that_they_are_one_family(self) -> None:
        by = {query: "first" if query < "q06" else "last" for query in QUERIES}
        text = compare(None, PAIR, by=by).show(notes=True)
        assert "value, first, 6 queries" in text
        assert as_text(compare(None, PAIR, by=by).page(), Options(width=120)).count("adjusted p") == 2
        assert "Groups of queries: 2 comparisons, adjusted as one family." in text
        data = compare(None, PAIR, by=by).to_dict()
        sizes = {"size": 1, "size_of_groups": 2}
        assert data["family"] == {"method": "maxt", "controls": "FWER", "decides": False} | sizes

    def test_the_representation_is_the_table(self) -> None:
        found = compare(None, PAIR)
        assert str(found) + "\n" == found.show()

    def test_json_has_what_was_promised(self) -> None:
        data = json.loads(compare(None, PAIR, "nDCG@10").show("json"))
        assert (data["queries"], data["dropped"], data["dropped_ids"]) == (12, 0, {})
        assert data["flips"] == {"number": 2048, "exact": True, "seed": 0}
        assert data["family"] == {"method": "maxt", "controls": "FWER", "decides": False, "size": 1}
        assert set(data) >= {"protocol", "fingerprints", "measures", "warnings"}
        assert data["warnings"][0].keys() == {"code", "text"}
        (pair,) = data["measures"]["nDCG@10"]["pairs"]
        assert data["measures"]["nDCG@10"]["systems"]["a"]["mean"]["value"] == pytest.approx(0.5575)
        assert list(pair)[:17] == [
            *("a", "b", "difference", "relative", "p", "difference_simultaneous", "p_adjusted", "p_t", "d_z"),
            *("g_z", "wins", "ties", "losses", "detectable", "decision", "decided_by", "verdict"),
        ]

    def test_what_is_not_finite_is_null(self) -> None:
        values = {"a": {q: v + 0.1 for q, v in PAIR["b"].items()}, "b": PAIR["b"], "c": dict.fromkeys(QUERIES, 0.0)}
        data = json.loads(compare(None, values).show("json"))
        pairs = {(p["a"], p["b"]): p for p in data["measures"]["value"]["pairs"]}
        assert pairs["b", "a"]["d_z"]["value"] is None
        assert pairs["b", "a"]["difference"] == {"value": pytest.approx(-0.1), "low": None, "high": None}
        words = "b is worse than a by exactly 0.1000 value on each of 12 queries ("
        assert pairs["b", "a"]["verdict"].startswith(words)
        assert pairs["c", "a"]["relative"]["value"] == pytest.approx(-1)
        turned = json.loads(compare(None, values, baseline="c").show("json"))["measures"]["value"]["pairs"]
        assert [pair["relative"]["value"] for pair in turned] == [None, None]
        for name in [name for name, each in FORMATS.items() if not each.picture]:
            assert not re.search(r"\bnan\b", compare(None, values).show(name))  # a word: pages hold base64, too


# ---- the command line ------------------------------------------------------------------------------------------------


QRELS = "".join(f"q{n} 0 x 2\nq{n} 0 y 1\n" for n in range(30))
GOOD = "".join(f"q{n} Q0 x 1 2 t\nq{n} Q0 y 2 1 t\n" for n in range(30))
WORSE = "".join(f"q{n} Q0 {'yx'[n % 2]} 1 2 t\nq{n} Q0 {'xy'[n % 2]} 2 1 t\n" for n in range(30))


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command) -> Command:
    """The command `compare`, in a folder with judgments and two runs."""
    for name, text in {"qrels.txt": QRELS, "good.run": GOOD, "worse.run": WORSE}.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return partial(command, "compare")


def table(values: Values, *, order: str = "") -> str:
    names = list(order or values)
    rows = [",".join(["query_id", *names])]
    rows += [",".join([query, *(repr(values[name][query]) for name in names)]) for query in values[names[0]]]
    return "\n".join(rows) + "\n"


def saved(folder: Path, **runs: tuple[str, str]) -> None:
    """Judgments and a run, evaluated and saved as NAME.json."""
    for name, (qrels, run) in runs.items():
        (folder / "q").write_text(qrels)
        (folder / f"{name}.run").write_text(run)
        results = [rankgauge.evaluate(folder / "q", folder / f"{name}.run", name=name)]
        (folder / f"{name}.json").write_text(json.dumps(Evaluation.of(results).to_dict()))


class TestCommand:
    def test_two_runs(self, cli: Command) -> None:
        done = cli("qrels.txt", "good.run", "new=worse.run", "--format", "json")
        assert (done.code, done.err) == (0, "")
        (pair,) = json.loads(done.out)["measures"]["nDCG@10"]["pairs"]
        assert (pair["a"], pair["b"], pair["losses"], pair["ties"], pair["wins"]) == ("new", "good", 15, 15, 0)
        assert pair["decision"] == "worse"
        assert pair["verdict"].startswith("new is worse than good by 0.0701 nDCG@10 (7.0 % less; ")
        assert pair["p"] == 2 / 2**15

    def test_measures_baseline_and_seed(self, cli: Command) -> None:
        options = ("-m", "nDCG@10", "-m", "P(rel=2)@1", "--baseline", "good", "--seed", "7", "--flips", "64")
        data = json.loads(cli("qrels.txt", "good.run", "worse.run", *options, "--format", "json").out)
        assert list(data["measures"]) == ["nDCG@10", "P(rel=2)@1"]
        assert (data["measures"]["P(rel=2)@1"]["pairs"][0]["a"], data["baseline"]) == ("worse", "good")
        assert data["flips"] == {"number": 64, "exact": False, "seed": 7}
        assert data["fingerprints"]["judgments"] == rankgauge.read_judgments("qrels.txt").fingerprint
        assert data["protocol"] == Protocol().to_dict()

    def test_a_table_of_values(self, cli: Command, tmp_path: Path) -> None:
        (tmp_path / "v.csv").write_text(table(PAIR))
        data = json.loads(cli("--values", "v.csv", "-m", "nDCG@10", "--format", "json").out)
        assert data["measures"]["nDCG@10"]["pairs"][0]["p"] == 112 / 4096

    def test_values_may_be_held_against_judgments(self, cli: Command, command: Command, tmp_path: Path) -> None:
        values = {name: {f"q{n}": (n * k) % 7 / 7 for n in range(28)} for name, k in (("a", 2), ("b", 3))}
        (tmp_path / "v.csv").write_text(table(values))
        data = json.loads(cli("qrels.txt", "--values", "v.csv", "--format", "json").out)
        assert data["dropped_ids"] == dict.fromkeys(["q28", "q29"], "is judged and has no values")
        assert data["fingerprints"]["judgments"] == rankgauge.read_judgments("qrels.txt").fingerprint
        (tmp_path / "few.txt").write_text("q1 0 x 1\n")
        done = cli("few.txt", "--values", "v.csv")
        assert done.code == 2
        assert "query 'q0' has values but no judgments in few.txt" in done.err
        assert command("eval", "qrels.txt", "good.run", "worse.run", "--per-query", "-o", "s.json").code == 0
        assert cli("qrels.txt", "--values", "s.json").code == 0
        (tmp_path / "other.txt").write_text(QRELS.replace("x 2", "x 3"))
        done = cli("other.txt", "--values", "s.json")
        assert done.code == 2
        assert "rest on other judgments" in done.err

    @pytest.mark.parametrize("format", ["csv", "json"])
    def test_what_eval_saved_is_a_table_of_values(self, cli: Command, command: Command, format: str) -> None:
        words = ("eval", "qrels.txt", "good.run", "worse.run", "-m", "nDCG@10", "-m", "AP", "--per-query")
        assert command(*words, "--format", format, "-o", f"s.{format}").code == 0
        from_runs = json.loads(cli("qrels.txt", "good.run", "worse.run", "-m", "AP", "--format", "json").out)
        from_saved = json.loads(cli("--values", f"s.{format}", "-m", "AP", "--format", "json").out)
        assert from_saved["measures"]["AP"]["pairs"] == from_runs["measures"]["AP"]["pairs"]
        if format == "json":
            assert from_saved["protocol"] == from_runs["protocol"]
            assert from_saved["fingerprints"]["judgments"] == from_runs["fingerprints"]["judgments"]

    def test_saved_results_on_other_judgments_are_refused(self, cli: Command, command: Command, tmp_path: Path) -> None:
        (tmp_path / "other.txt").write_text(QRELS.replace("x 2", "x 1").replace("y 1", "y 2"))
        for qrels, run in (("qrels.txt", "good"), ("other.txt", "worse")):
            assert command("eval", qrels, f"{run}.run", "--per-query", "-o", f"{run}.json").code == 0
        done = cli("--values", "good.json", "--values", "worse.json")
        assert done.code == 2
        assert "rest on different judgments" in done.err

    def test_a_file_of_unknown_origin_does_not_let_others_be_mixed(self, cli: Command, tmp_path: Path) -> None:
        other = QRELS.replace("x 2", "x 1").replace("y 1", "y 2")
        saved(tmp_path, good=(QRELS, GOOD), worse=(other, WORSE), same=(QRELS, WORSE))
        (tmp_path / "third.csv").write_text("query_id,third\n" + "".join(f"q{n},0.5\n" for n in range(30)))
        for words in (("good.json", "worse.json", "third.csv"), ("third.csv", "good.json", "worse.json")):
            done = cli(*(word for each in words for word in ("--values", each)), "-m", "nDCG@10")
            assert done.code == 2
            assert "rest on different judgments" in done.err
        files = ("--values", "third.csv", "--values", "good.json", "-m", "nDCG@10", "--format", "json")
        assert json.loads(cli(*files, "--values", "same.json").out)["fingerprints"] != {}
        (tmp_path / "other.txt").write_text(other)
        held = cli("other.txt", *files)
        assert (held.code, "rest on other judgments" in held.err) == (2, True)

    def test_saved_results_of_other_definitions_are_refused(self, cli: Command, tmp_path: Path) -> None:
        saved(tmp_path, good=(QRELS, GOOD), worse=(QRELS, WORSE))
        data = json.loads((tmp_path / "worse.json").read_text())
        data["definitions"]["nDCG@10"] += ", in another way"
        (tmp_path / "worse.json").write_text(json.dumps(data))
        done = cli("--values", "good.json", "--values", "worse.json")
        assert (done.code, done.out) == (2, "")
        assert "nDCG@10 does not mean the same to good.json" in done.err

    def test_formats_by_suffix_and_files(self, cli: Command, tmp_path: Path) -> None:
        assert cli("qrels.txt", "good.run", "worse.run", "-o", "c.md") == (0, "", "")
        text = (tmp_path / "c.md").read_text()
        assert text.startswith(
            "- worse is worse than good by 0.0701 nDCG@10 (7.0 % less; 95 % interval 0.0432 to 0.0971"
        )
        assert "\n\n**Means over 30 queries.**\n\n|  | system | nDCG@10 |\n" in text
        assert "\n**nDCG@10, 30 queries**\n\n| system |" in text

    def test_groups_clusters_and_weights_from_files(self, cli: Command, tmp_path: Path) -> None:
        (tmp_path / "by.csv").write_text(
            "query_id,group\n" + "".join(f"q{n},{'odd' if n % 2 else 'even'}\n" for n in range(30))
        )
        (tmp_path / "users.csv").write_text("query_id,user\n" + "".join(f"q{n},u{n // 3}\n" for n in range(30)))
        (tmp_path / "w.csv").write_text("query_id,weight\n" + "".join(f"q{n},{1 + n}\n" for n in range(30)))
        options = ("--by", "by.csv", "--clusters", "users.csv", "--weights", "w.csv", "--format", "json")
        data = json.loads(cli("qrels.txt", "good.run", "worse.run", *options).out)["measures"]["nDCG@10"]
        assert set(data["groups"]) == {"odd", "even"}
        assert data["effective_queries"] < 10
        even = data["groups"]["even"]["pairs"][0]
        assert (even["losses"], even["ties"], even["wins"]) == (15, 0, 0)
        assert data["groups"]["odd"]["pairs"][0]["decision"] == "not significant"

    def test_the_default_path_does_without_scipy_stats(self, tmp_path: Path) -> None:
        (tmp_path / "v.csv").write_text(table(random_values()))
        code = (
            "import sys; sys.argv = ['rankgauge', 'compare', '--values', 'v.csv', '--rope', '.01', '--margin', '.01', "
            "'--also', 'bca', '--also', 'wilcoxon', '--also', 'holm']\nfrom rankgauge.cli import main\n"
            "try: main()\nexcept SystemExit as exit: assert not exit.code\n"
            "print('scipy.special' in sys.modules, 'scipy.stats' in sys.modules, 'polars' in sys.modules)"
        )
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "True False False"


BAD_VALUES = {
    "one-system": ("query_id,a\nq1,1\nq2,1\n", "there is only one system, a; a comparison needs two or more"),
    "nothing-shared": ("query_id,a,b\nq1,1,\nq2,,1\n", "no query has a value for every system (a, b)"),
    "nan": ("query_id,a,b\nq1,1,nan\nq2,1,1\n", "v.csv:2, column b, query q1: 'nan' is not a finite number"),
    "text": ("query_id,a,b\nq1,1,x\n", "v.csv:2, column b, query q1: 'x' is not a number"),
    "unequal": ("query_id,a,b\nq1,1,1\nq2,1,\nq3,1,1\n", "1 of 3 lack a value, such as 'q2' (no value for b)"),
    "twice": ("query_id,a,a\nq1,1,1\n", "v.csv: two columns are called 'a'; rename one"),
    "query-twice": ("query_id,a,b\nq1,1,1\nq1,1,1\n", "v.csv:3, column a: query 'q1' has a value already"),
    "no-query": ("a,b\n1,1\n", "v.csv: no query column among a, b; call it query_id"),
    "ragged": ("query_id,a,b\nq1,1\n", "v.csv:2: expected 3 fields (query_id, a, b), got 2"),
    "other-measure": ("run,query_id,AP\na,q1,1\nb,q1,1\n", "v.csv: holds no nDCG@10; there are AP"),
    "empty": ("", "v.csv: is empty"),
    "huge": ("query_id,a,b\nq1,1e100,1\nq2,1,1\n", "nDCG@10: the values of a reach 1e+100; the largest of a system"),
    "tiny": ("query_id,a,b\nq1,1,1e-200\nq2,1,0\n", "nDCG@10: the values of b reach 1e-200; the largest of a system"),
    "no-rows": ("query_id,a,b\n", "v.csv: holds no rows below its header query_id, a, b"),
    "no-rows-long": ("run,query_id,nDCG@10\n", "v.csv: holds no rows below its header run, query_id, nDCG@10"),
}


class TestBadInput:
    @pytest.mark.parametrize("case", BAD_VALUES)
    def test_values(self, cli: Command, case: str, tmp_path: Path) -> None:
        text, message = BAD_VALUES[case]
        (tmp_path / "v.csv").write_text(text)
        done = cli("--values", "v.csv", "-m", "nDCG@10")
        assert (done.code, done.out) == (2, "")
        assert message in done.err
        assert "Traceback" not in done.err

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["qrels.txt", "good.run"], "give the judgments and two runs or more"),
            ([], "--ltr and two --predictions, or --values FILE"),
            (["qrels.txt", "a=good.run", "a=worse.run"], "two runs are named a"),
            (["qrels.txt", "good.run", "good.run"], "good.run is given twice"),
            (["qrels.txt", "good.run", "worse.run", "--baseline", "god"], "no system 'god'; did you mean 'good'?"),
            (["qrels.txt", "good.run", "worse.run", "--margin", "-1"], "margin=-1.0: give a difference above 0"),
            (["qrels.txt", "good.run", "worse.run", "--alpha", "2"], "alpha=2.0: the level is between 0 and 1"),
            (["qrels.txt", "good.run", "worse.run", "-m", "gm_map"], "not a mean over queries"),
            (["qrels.txt", "good.run", "worse.run", "-m", "ndgc@10"], "did you mean 'nDCG"),
            (["qrels.txt", "good.run", "worse.run", "--values", "v.csv"], "--values takes the place of runs"),
            (["qrels.txt", "good.run", "nowhere.run"], "nowhere.run: there is no such file"),
            (["qrels.txt", "good.run", "other.run"], "no query"),
            (["qrels.txt", "good.run", "worse.run", "--clusters", "c.csv"], "no query is in any cluster"),
            (["--values", "v.csv", "--dialect", "trec_eval"], "dialect=trec_eval: values were computed before"),
            (["--values", "v.csv", "--ties", "average", "--rel", "2"], "rel=2.0: values were computed before"),
            (["--values", "v.csv", "--run-format", "trec"], "a table given by --values needs none of --run-format"),
            (["--values", "saved.json"], "saved.json: has no values of queries"),
        ],
    )  # fmt: skip
    def test_words(self, cli: Command, words: list[str], message: str, tmp_path: Path) -> None:
        (tmp_path / "other.run").write_text("z1 Q0 x 1 2 t\n")
        (tmp_path / "c.csv").write_text("query_id,cluster\nz,u\n")
        (tmp_path / "v.csv").write_text(table(PAIR))
        (tmp_path / "saved.json").write_text('{"runs": [{"run": "a"}], "protocol": {}}')
        done = cli(*words)
        assert (done.code, done.out) == (2, "")
        assert message in done.err
        assert "Traceback" not in done.err

    def test_queries_without_a_value_may_be_left_out(self, cli: Command, tmp_path: Path) -> None:
        (tmp_path / "v.csv").write_text(BAD_VALUES["unequal"][0])
        data = json.loads(cli("--values", "v.csv", "--missing", "skip", "--format", "json").out)
        assert (data["queries"], data["dropped"], data["dropped_ids"]) == (2, 1, {"q2": "no value for b"})

    @pytest.mark.parametrize(
        ("runs", "error", "message"),
        [
            ({"a": PAIR["a"]}, InputError, "only one system"),
            ({"a": {"q1": float("nan")}, "b": {"q1": 1.0}}, FormatError, "not a finite number"),
            ({"a": {"q1": 1.0, "q2": 0.5}, "b": {"q1": 1.0}}, InputError, "do not have the same queries"),
            ({"a": {"q1": 1.0}, "b": {"q2": 1.0}}, InputError, "no query has a value for every system"),
            ({"a": [1.0], "b": [2.0]}, InputError, "expected query → value"),
            (3, InputError, "values are a file, a frame, or system → query → value"),
        ],
    )
    def test_in_python(self, runs: Any, error: type[RankgaugeError], message: str) -> None:
        with pytest.raises(error, match=message):
            compare(None, runs)

    def test_one_run(self) -> None:
        with pytest.raises(InputError, match="only one system"):
            compare({"q1": {"d": 1}}, {"a": {"q1": {"d": 1.0}}})

    def test_a_result_without_the_measure(self) -> None:
        results = {name: rankgauge.evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, "AP") for name in "ab"}
        with pytest.raises(MeasureError, match=r"nDCG@10 was not evaluated; there are AP"):
            compare(None, results, "nDCG@10")

    @pytest.mark.parametrize(
        "settings", [{"method": "max-t"}, {"also": "hollm"}, {"rope": 0}, {"flips": 0}, {"seed": -1}]
    )
    def test_settings(self, settings: dict[str, Any]) -> None:
        with pytest.raises(InputError):
            compare(None, PAIR, **settings)

    def test_inputs_are_not_changed(self) -> None:
        before = json.dumps(PAIR)
        compare(None, PAIR, also=get_args(Also))
        assert json.dumps(PAIR) == before


# ---- real runs -------------------------------------------------------------------------------------------------------


def test_real_runs_compare_as_scipy_says(shared: Path) -> None:
    """Eight runs of a TREC track: t-tests are scipy's, sign flips and intervals come as near as both are random."""
    folder = shared / "dl19"
    runs = {path.name.removeprefix("input.").removesuffix(".gz"): path for path in (folder / "runs").iterdir()}
    judgments = rankgauge.read_judgments(folder / "qrels.dl19-passage.txt")
    found = compare(judgments, runs, "nDCG@10")
    values = {name: rankgauge.evaluate(judgments, path).per_query["nDCG@10"].to_numpy() for name, path in runs.items()}
    assert len(found.pairs) == 28
    for pair in found.pairs:
        theirs = scipy.stats.ttest_rel(values[pair.a], values[pair.b])
        assert pair.p_t == pytest.approx(theirs.pvalue, rel=1e-9)
        low, high = theirs.confidence_interval()
        assert pair.interval == pytest.approx((low, high), abs=0.15 * (high - low))
    for pair in found.pairs[:6]:
        flipped = scipy.stats.permutation_test(
            (values[pair.a] - values[pair.b],), np.mean, permutation_type="samples", n_resamples=20_000, rng=1
        )
        assert pair.p == pytest.approx(flipped.pvalue, abs=0.001 + 5 * math.sqrt(pair.p / 20_000))


def test_rank_tests_are_of_the_differences() -> None:
    dice = np.random.default_rng(4)
    a, b = dice.random((2, 30)).round(6)
    values = {name: {f"q{i}": float(each) for i, each in enumerate(column)} for name, column in (("a", a), ("b", b))}
    pair = compare(None, values, also=("wilcoxon", "sign")).pair("a", "b")
    exact = scipy.stats.wilcoxon(a, b, method="exact").pvalue
    assert pair.others["wilcoxon"]["p"] == pytest.approx(exact, abs=0.01)
    wins = int((a > b).sum())
    assert pair.others["sign"]["p"] == pytest.approx(scipy.stats.binomtest(wins, 30).pvalue, abs=1e-12)
