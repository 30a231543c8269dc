"""What a sample is worth: means per search and per query, their intervals, and what every command makes of them."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import rankgauge
from command import Command
from rankgauge.errors import InputError, RankgaugeWarning
from rankgauge.explanation.funnel.system import PARTS
from rankgauge.protocol import DEFAULT
from rankgauge.sampling.design import Design
from rankgauge.sampling.draw import THIRDS, pareto, permanent, proportional, shared_out, thirds
from rankgauge.sampling.sample import Sample, read_sample
from rankgauge.stats.estimate import Estimate
from rankgauge.stats.inference import Queries, differences, mean_estimates
from rankgauge.store.project import init
from rankgauge.store.store import Answer, Label
from rankgauge.web.projects import files_of

Floats = np.ndarray[Any, Any]


def drawn(traffic: Any, inclusion: Any, strata: Any = "traffic", ids: Any = None) -> Sample:
    names = ids or [f"q{at:02}" for at in range(len(traffic))]
    strata = [strata] * len(names) if isinstance(strata, str) else strata
    return read_sample({"query_id": names, "traffic": traffic, "inclusion": inclusion, "stratum": strata})


# ---- closed forms, and everything that could have been drawn ---------------------------------------------------------


def wilson(mean: float, variance: float, effective: float, g: float = 1.0) -> tuple[float, float]:
    """Wilson's interval for the variance that there is, half a query of ½ ± ½ added; as docs/sample.md has it."""
    centre = (effective * mean + 0.25) / (effective + 0.5)
    spread = (effective * variance + 0.125 / (effective + 0.5)) / (effective + 0.5)
    like, q = centre * (1 - centre) / spread, g * float(stats.t.ppf(0.975, effective - 1))
    half = q * math.sqrt(centre * (1 - centre) / like + q**2 / (4 * like**2))
    low, high = ((centre + q**2 / (2 * like) + side * half) / (1 + q**2 / like) for side in (-1, 1))
    return low, high


def estimated(sample: Sample, values: Any, *, queries: Any = None, **about: Any) -> Estimate:
    queries = sample.query_ids if queries is None else queries
    (found,) = mean_estimates([np.asarray(values)], Design.of(sample, queries, **about).drawn(queries), bounded=True)
    return found


def test_of_a_simple_random_sample_it_is_wilsons_with_the_finite_population() -> None:
    """40 of 400: g = √(1 − n/N), by hand; of future searches the log is itself a sample, and g is 1."""
    values = np.random.default_rng(1).random(40)
    sample = drawn([1.0] * 40, [0.1] * 40)
    mean, variance = values.mean(), values.var(ddof=1) / 40
    assert estimated(sample, values) == pytest.approx((mean, *wilson(mean, variance, 40, math.sqrt(0.9))), rel=1e-12)
    future = estimated(sample, values, population="future")
    assert future == pytest.approx((mean, *wilson(mean, variance, 40)), rel=1e-12)


def test_queries_that_every_sample_contains_add_nothing_to_the_interval() -> None:
    """Mean = fixed part + share left to chance × its own mean, and so are both ends; by hand."""
    random = np.random.default_rng(2)
    sure, chance = random.random(3), random.random(20)
    sample = drawn([50.0] * 3 + [1.0] * 20, [1.0] * 3 + [0.25] * 20)
    found = estimated(sample, [*sure, *chance])
    fixed, share = 50 * sure.sum() / 230, 80 / 230
    ends = wilson(chance.mean(), chance.var(ddof=1) / 20, 20, math.sqrt(0.75))
    whole = [fixed + share * each for each in (chance.mean(), *ends)]
    assert found == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("population", ["log", "future"])
@pytest.mark.parametrize("value", [0.0, 1.0])
def test_fifteen_queries_of_one_value_are_no_certainty(value: float, population: Any) -> None:
    """15 of 2,000 queries that all have 1.0: the mean was "1.0000 to 1.0000"."""
    found = estimated(drawn([1.0] * 15, [15 / 2000] * 15), [value] * 15, population=population)
    low, high = (found.low, found.high) if value else (1 - found.high, 1 - found.low)
    assert found.value == value
    assert high == pytest.approx(1.0)
    assert 0.75 < low < 0.95


@pytest.mark.filterwarnings("ignore::rankgauge.RankgaugeWarning")
@pytest.mark.parametrize(
    ("evaluated", "known"),
    [
        (["q00", "q01"], False),  # what is sure alone: what chance drew is unknown
        (["q00", "q01", "q02", "q03"], False),  # and so is the second stratum
        (["q00", "q02", "q03", "q04", "q05"], True),  # a sure one lacks
        (["q00", "q01", "q02", "q03", "q04", "q05"], True),
    ],
)
def test_a_part_that_was_drawn_and_not_evaluated_leaves_no_interval(evaluated: list[str], known: bool) -> None:
    """The mean of the head, which is judged first, is sure of itself alone."""
    sample = drawn([9, 8, 3, 2, 1, 1], [1.0, 1.0, 0.5, 0.5, 0.2, 0.2], ["sure", "sure", "mid", "mid", "low", "low"])
    values = np.random.default_rng(4).random(len(evaluated))
    found = estimated(sample, values, queries=evaluated)
    assert (math.isfinite(found.value), math.isfinite(found.low), math.isfinite(found.high)) == (True, known, known)
    words = "No intervals: too few of the queries that chance drew were evaluated."
    assert Design.of(sample, evaluated).words.endswith(words) is not known
    judgments = {query: {"a": 1 + at % 2, "b": 2} for at, query in enumerate(evaluated)}
    runs = [{query: {"a": 1.0, "b": 2.0 - 2 * (at % 3 > 0)} for at, query in enumerate(evaluated)}]
    runs.append({query: {"a": 2.0, "b": 1.0} for query in evaluated})
    assert known or rankgauge.check(judgments, *runs, margin=0.9, sample=sample).answer == "inconclusive"


def test_a_census_has_an_interval_only_where_nothing_lacks() -> None:
    """Of its log it is the value; of future searches it is a sample as any other."""
    census, ids = drawn([3, 2, 1], [1.0] * 3), ["q00", "q01", "q02"]
    assert estimated(census, [1.0, 0.5, 0.0]) == (2 / 3, 2 / 3, 2 / 3)
    assert Design.of(census, ids).words.endswith(" All 3 queries of the log: no uncertainty of sampling.")
    assert math.isnan(estimated(census, [1.0, 0.5], queries=ids[:2]).low)
    assert "no uncertainty" not in Design.of(census, ids[:2]).words
    future = estimated(census, [1.0, 0.5, 0.0], population="future")
    assert 0 < future.low < 2 / 3 < future.high < 1


def test_one_query_that_chance_drew_does_not_tell_how_another_would_differ() -> None:
    alone = estimated(drawn([1.0] * 3, [1.0, 1.0, 0.5]), [0.1, 0.9, 0.4], per="query")
    assert alone.value == pytest.approx((0.1 + 0.9 + 2 * 0.4) / 4)
    assert math.isnan(alone.low)


def test_a_group_has_the_interval_of_its_own_queries() -> None:
    """None where chance drew no query of it: how many others of the log belong to it is then unknown."""
    sample = drawn([9.0, 8.0] + [1.0] * 8, [1.0, 1.0] + [0.5] * 8)
    values = np.random.default_rng(5).random(10)
    group = sample.query_ids[1:7]
    own, whole = drawn([8.0] + [1.0] * 5, [1.0] + [0.5] * 5, ids=group), Design.of(sample, sample.query_ids)
    (found,) = mean_estimates([values[1:7]], whole.drawn(group), bounded=True)
    assert found == pytest.approx(estimated(own, values[1:7]), rel=1e-12)
    (sure,) = mean_estimates([values[:2]], whole.drawn(sample.query_ids[:2]), bounded=True)
    assert sure.value == pytest.approx(np.average(values[:2], weights=[9, 8]))
    assert math.isnan(sure.low)


def test_values_without_bounds_have_the_interval_of_the_flips() -> None:
    """Where no flip can tell (fewer than six queries) there is none; Wilson's, of the same in 0 to 1, is honest."""
    sample, values = drawn([1.0] * 5, [0.1] * 5), np.array([0.2, 0.9, 0.4, 0.7, 0.1])
    queries = Design.of(sample, sample.query_ids).drawn(sample.query_ids)
    (counts,), (shares,) = (mean_estimates([values], queries, bounded=bounded) for bounded in (False, True))
    assert math.isnan(counts.low)
    assert shares.low < 0.2
    assert shares.high > 0.7
    values = np.random.default_rng(3).exponential(5, 30)
    sample = drawn([1.0] * 30, [0.1] * 30)
    queries = Design.of(sample, sample.query_ids).drawn(sample.query_ids)
    (found,), (answer,) = mean_estimates([values], queries, bounded=False), differences([values], queries)
    assert answer.interval == found[1:]


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_the_interval_of_a_mean_is_in_range_around_the_value_and_never_of_width_0(data: st.DataObject) -> None:
    """Whatever values, weights, samples and populations; only where nothing was left to chance it is the value."""
    number = data.draw(st.integers(1, 40))
    values = np.array(
        data.draw(st.lists(st.floats(0, 1) | st.sampled_from([0.0, 1.0]), min_size=number, max_size=number))
    )
    weights = np.array(data.draw(st.lists(st.floats(1e-3, 1e3), min_size=number, max_size=number)))
    inclusion = np.array(data.draw(st.lists(st.just(1.0) | st.floats(1e-4, 1), min_size=number, max_size=number)))
    clusters = np.array(data.draw(st.lists(st.integers(0, 5), min_size=number, max_size=number)))
    queries = data.draw(
        st.sampled_from(
            [
                Queries(number),
                Queries(number, weights),
                Queries(number, weights, clusters),
                Queries(number, weights, inclusion=inclusion, population="log"),
                Queries(number, weights, inclusion=inclusion, population="future"),
            ]
        )
    )
    (found,) = mean_estimates([values], queries, bounded=True)
    chances = queries.chances
    if math.isnan(found.low):
        assert (queries.sampled, chances) == (True, 1)
        return
    assert found.low - 1e-12 <= found.value <= found.high + 1e-12
    assert (found.low >= 0, found.high <= 1 + 1e-12) == (True, True)
    assert (found.width > 0) == (chances > 0)


# ---- the commands ----------------------------------------------------------------------------------------------------

QUERIES = [f"q{at:02}" for at in range(40)]
TRAFFIC = [1000 // (at + 1) for at in range(40)]


def judged() -> tuple[dict[str, dict[str, int]], dict[str, dict[str, dict[str, float]]]]:
    """Judgments of 40 queries and two runs; the second finds more at the head, and less at the tail."""
    judgments = {query: {f"d{doc}": (at * 7 + doc) % 3 for doc in range(6)} for at, query in enumerate(QUERIES)}

    def run(shift: float) -> dict[str, dict[str, float]]:
        return {
            query: {
                doc: ((at * 5 + int(doc[1:]) * 3) % 11) + shift * grade * (20 - at) / 20 for doc, grade in docs.items()
            }
            for at, (query, docs) in enumerate(judgments.items())
        }

    return judgments, {"old": run(0.0), "new": run(6.0)}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    judgments, runs = judged()
    lines = "".join(f"{query} 0 {doc} {grade}\n" for query, docs in judgments.items() for doc, grade in docs.items())
    (tmp_path / "qrels.txt").write_text(lines)
    for name, run in runs.items():
        rows = (f"{query} Q0 {doc} 0 {score!r} t\n" for query, docs in run.items() for doc, score in docs.items())
        (tmp_path / f"{name}.run").write_text("".join(rows))
    log = "".join(f"{query},{count}\n" for query, count in zip(QUERIES, TRAFFIC, strict=True))
    (tmp_path / "log.csv").write_text(f"query,count\n{log}")
    for method in ("traffic", "random", "top", "strata"):
        made = rankgauge.sample(tmp_path / "log.csv", 20, method=method)
        (tmp_path / f"{method}.tsv").write_text(made.to_tsv())
    return tmp_path


Per = Literal["search", "query"]
BOTH: tuple[Per, ...] = ("search", "query")


def weighted(result: rankgauge.Result, sample: Sample, per: str) -> float:
    values = dict(zip(result.per_query["query_id"], result.per_query["nDCG@10"], strict=True))
    weights = (sample.traffic if per == "search" else 1.0) / sample.inclusion
    return float(np.average([values[query] for query in sample.query_ids], weights=weights))


@pytest.mark.parametrize("method", ["traffic", "strata"])
def test_eval_prints_both_means_with_intervals(command: Command, files: Path, method: str) -> None:
    sample = read_sample(files / f"{method}.tsv")
    judgments, runs = judged()
    plain = rankgauge.evaluate(judgments, runs["old"])
    result = rankgauge.evaluate(judgments, runs["old"], sample=sample)
    data = json.loads(
        command("eval", "qrels.txt", "old.run", "--sample", f"{method}.tsv", "--format", "json", cwd=files).out
    )
    told = data["runs"][0]["measures"]["nDCG@10"]
    for per in BOTH:
        own = result.per(per)
        assert own["nDCG@10"] == pytest.approx(weighted(plain, sample, per), rel=1e-14)
        expected = estimated(sample, own.per_query["nDCG@10"].to_numpy(), per=per)
        assert own.estimate("nDCG@10") == pytest.approx(expected, rel=1e-12)
        assert told[f"per_{per}"] == pytest.approx(dict(expected._asdict()))
    assert result["nDCG@10"] == result.per("search")["nDCG@10"] == told["value"] != plain["nDCG@10"]
    assert (data["sample"]["queries"], data["sample"]["evaluated"], data["runs"][0]["queries"]) == (20, 20, 20)
    table = command("eval", "qrels.txt", "old.run", "--sample", f"{method}.tsv", cwd=files).out
    assert table.splitlines()[0].split() == ["run", "per", "queries", "nDCG@10", "95", "%", "interval"]
    assert [line.split()[:2] for line in table.splitlines()[1:3]] == [["old", "search"], ["old", "query"]]
    assert "20 evaluated and not in it, left out" in table.replace("\n ", "")


def test_without_a_sample_nothing_is_changed(command: Command, files: Path) -> None:
    """`--sample none` is for a project, and is the same as nothing."""
    for words in (
        ["eval", "qrels.txt", "old.run", "new.run", "--format", "json"],
        ["compare", "qrels.txt", "old.run", "new.run"],
    ):
        plain, none = command(*words, cwd=files), command(*words, "--sample", "none", cwd=files)
        assert plain == none
        assert "sample" not in plain.out.lower()
    with pytest.raises(InputError, match="evaluate with a sample"):
        rankgauge.evaluate(judged()[0], judged()[1]["old"]).per("search")


TIED = pytest.mark.filterwarnings("ignore:.* only by the order of equal scores:rankgauge.RankgaugeWarning")


@TIED
@pytest.mark.parametrize("per", BOTH)
@pytest.mark.parametrize("method", ["traffic", "random", "top", "strata"])
def test_a_funnel_has_the_means_and_intervals_of_eval(command: Command, files: Path, method: str, per: Per) -> None:
    judgments, runs = judged()
    about: dict[str, Any] = {"sample": files / f"{method}.tsv", "per": per}
    found = rankgauge.funnel(judgments, retrieved=runs["old"], reranked={"new": runs["new"]}, **about)
    wanted = rankgauge.evaluate_runs(judgments, runs, ["nDCG@10", "R@100", "Judged@10"], **about)
    for stat, run in (("retrieved", "old"), ("value", "new")):
        assert found["new"][stat] == pytest.approx(wanted[run].estimate("nDCG@10"), rel=1e-12, nan_ok=True)
    for when, run in (("before", "old"), ("after", "new")):
        assert found.mean("new", f"recall_{when}") == pytest.approx(wanted[run]["R@100"], rel=1e-12)
        assert found.mean("new", f"judged_{when}") == pytest.approx(wanted[run]["Judged@10"], rel=1e-12)
    pair = rankgauge.compare(judgments, runs, baseline="old", **about).pairs[0]
    assert found["new"]["lift"].value == pytest.approx(pair.difference, rel=1e-12)
    parts = found["new"]
    assert sum(parts[part].value for part in PARTS) == pytest.approx(1)
    assert parts["captured"].value == pytest.approx(parts["lift"].value / parts["headroom"].value)
    if method == "top":
        assert math.isnan(parts["captured"].low)
    else:
        assert parts["captured"].low < parts["captured"].value < parts["captured"].high
        assert tuple(parts["lift"][1:]) == pytest.approx(pair.interval, abs=1e-9)
    assert found.curve["new"][-1].value == pytest.approx(parts["value"].value)
    assert len(found.query_ids) == 20
    words = ["qrels.txt", "--retrieved", "old.run", "--reranked", "new.run", "--sample", f"{method}.tsv", "--per", per]
    told = json.loads(command("funnel", *words, "--format", "json", cwd=files).out)
    same = json.loads(found.to_json())
    assert told["systems"]["new"]["parts"] == same["systems"]["new"]["parts"]
    assert (told["sample"]["per"], told["intervals"]) == (per, same["intervals"])
    shown = command("funnel", *words, cwd=files).out
    assert shown.startswith(f"nDCG@10 per {per} in two stages, 20 queries, ")
    assert f"Means are per {per}. Sample: {method}.tsv, 20 of 20 queries" in shown
    assert ("Intervals are about this log: how far" in " ".join(shown.split())) == (method != "top")


@TIED
def test_a_funnel_of_plain_means_and_of_what_goes_with_no_sample(command: Command, files: Path) -> None:
    judgments, runs = judged()
    stages: dict[str, Any] = {"retrieved": runs["old"], "reranked": {"new": runs["new"]}}
    plain = rankgauge.funnel(judgments, **stages)
    assert rankgauge.funnel(judgments, **stages, sample="none").to_json() == plain.to_json()
    assert "sample" not in json.loads(plain.to_json())
    words = ["funnel", "qrels.txt", "--retrieved", "old.run", "--reranked", "new.run"]
    assert command(*words, "--sample", "none", cwd=files).out == command(*words, cwd=files).out
    refused = command(*words, "--per", "query", cwd=files)
    assert (refused.code, "--sample" in refused.err) == (2, True)
    with pytest.raises(InputError, match="give either weights or a sample"):
        rankgauge.funnel(judgments, **stages, sample=files / "traffic.tsv", weights=dict.fromkeys(judgments, 1.0))
    with pytest.raises(InputError, match="none of its queries was evaluated"):
        rankgauge.funnel(judgments, **stages, sample=read_sample({"query_id": ["x"], "traffic": [1], "inclusion": [1]}))


@TIED
def test_a_funnel_of_stored_runs_takes_their_sample(command: Command, files: Path) -> None:
    project, sample, name = stored(files)
    words = ["funnel", "@labels", "--retrieved", "@old", "--reranked", "@new", "--format", "json"]
    by_itself = json.loads(command(*words, cwd=files).out)
    assert by_itself == json.loads(command(*words, "--sample", f"@{name}", cwd=files).out)
    evaluated = json.loads(command("eval", "@labels", "@new", "--format", "json", cwd=files).out)["runs"][0]["measures"]
    assert by_itself["systems"]["new"]["parts"]["value"] == pytest.approx(evaluated["nDCG@10"]["per_search"])
    plain = json.loads(command(*words, "--sample", "none", cwd=files).out)
    assert plain["systems"]["new"]["parts"]["value"]["value"] != evaluated["nDCG@10"]["value"]
    assert "made for a sample" not in str(plain["notes"])
    runs = {system: project.run(system) for system in ("old", "new")}
    stages: dict[str, Any] = {"retrieved": runs["old"], "reranked": {"new": runs["new"]}}
    ignored = "was made for a sample, "
    assert ignored in str(rankgauge.funnel(project.labels(), **stages).notes)
    for unsaid in ("none", sample):
        assert ignored not in str(rankgauge.funnel(project.labels(), **stages, sample=unsaid).notes)


def test_groups_are_parts_of_the_sample(command: Command, files: Path) -> None:
    (files / "by.csv").write_text("query_id,group\n" + "".join(f"{q},{'ab'[at % 2]}\n" for at, q in enumerate(QUERIES)))
    sample = read_sample(files / "traffic.tsv")
    result = rankgauge.evaluate(*(judged()[0], judged()[1]["old"]), by=str(files / "by.csv"), sample=sample)
    parts = result.by
    assert sorted(query for part in parts.values() for query in part.query_ids) == sample.query_ids
    queries = Design.of(sample, sample.query_ids).drawn(parts["a"].query_ids)
    (expected,) = mean_estimates([parts["a"].per_query["nDCG@10"].to_numpy()], queries, bounded=True)
    assert parts["a"].estimate("nDCG@10") == pytest.approx(expected)
    words = ["qrels.txt", "old.run", "new.run", "--sample", "traffic.tsv", "--by", "by.csv"]
    assert command("eval", *words, "-q", cwd=files).code == command("eval", *words, cwd=files).code == 0
    compared = json.loads(command("compare", *words, "--format", "json", cwd=files).out)["measures"]["nDCG@10"]
    assert compared["groups"]["a"]["systems"]["old"]["mean"]["low"] == pytest.approx(expected.low)
    assert command("report", *words, "--no-charts", "-o", "r.html", cwd=files).code == 0


def test_compare_flips_what_chance_drew_or_for_future_searches_every_query(command: Command, files: Path) -> None:
    sample = read_sample(files / "traffic.tsv")
    judgments, runs = judged()
    inside = {query: judgments[query] for query in sample.query_ids}
    for per in BOTH:
        weights = (sample.traffic if per == "search" else 1.0) / sample.inclusion
        table = dict(zip(sample.query_ids, np.broadcast_to(weights, 20).tolist(), strict=True))
        same = rankgauge.compare(inside, runs, weights=table).pairs[0]
        future = rankgauge.compare(judgments, runs, sample=sample, per=per, population="future").pairs[0]
        kept = ("p", "p_adjusted", "wins", "ties", "losses", "decision", "interval")
        assert [getattr(future, name) for name in kept] == [getattr(same, name) for name in kept]
        found = rankgauge.compare(judgments, runs, sample=sample, per=per)
        pair, values = found.pairs[0], found.first.values
        assert pair.difference == pytest.approx(same.difference)
        queries = Design.of(sample, values.queries, per).drawn(values.queries)
        (expected,) = differences([values.of("new") - values.of("old")], queries)
        assert expected.interval is not None
        assert pair.interval == pytest.approx(expected.interval)
        assert pair.p == pytest.approx(expected.p)
        assert (
            rankgauge.compare(
                None,
                [rankgauge.evaluate(judgments, run, name=name) for name, run in runs.items()],
                sample=sample,
                per=per,
            ).pairs[0]
            == pair
        )
        words = [
            "compare",
            "qrels.txt",
            "old.run",
            "new.run",
            "--sample",
            "traffic.tsv",
            "--per",
            per,
            "--format",
            "json",
        ]
        told = json.loads(command(*words, cwd=files).out)["measures"]["nDCG@10"]
        assert told["pairs"][0]["p"] == pair.p
        one = rankgauge.evaluate(judgments, runs["old"], sample=sample, per=per).estimate("nDCG@10")
        assert told["systems"]["old"]["mean"] == pytest.approx(one._asdict())
    assert command("eval", "qrels.txt", "old.run", "new.run", "-q", "-o", "values.csv", cwd=files).code == 0
    of_values = command(
        "compare", "--values", "values.csv", "--sample", "traffic.tsv", "--per", "query", "--format", "json", cwd=files
    )
    assert json.loads(of_values.out)["measures"]["nDCG@10"]["pairs"][0]["p"] == pair.p


@pytest.mark.parametrize("per", BOTH)
def test_every_title_says_what_the_means_are_of(command: Command, files: Path, per: str) -> None:
    words = ["qrels.txt", "old.run", "new.run", "--sample", "traffic.tsv", "--per", per]
    assert f"\nnDCG@10 per {per}, 20 queries\n" in command("compare", *words, cwd=files).out
    assert f"Means per {per} over 20 queries." in command("compare", *words, "--format", "latex", cwd=files).out
    report = command("report", *words, "--no-charts", "--format", "markdown", cwd=files).out
    assert f"\nnDCG@10 per {per} · 2 systems · 20 queries" in report
    assert f"\n**nDCG@10 per {per}, 20 queries**\n" in report
    assert "Intervals: t, over draws of the sample." in report
    alone = command("report", *words[:2], *words[3:], "--no-charts", "--format", "markdown", cwd=files).out
    assert f"nDCG@10 per {per} of old is 0." in alone


def test_what_holds_for_the_log_need_not_hold_for_other_searches() -> None:
    """The head is known, and its differences cancel: on this log the tail decides, on other searches nothing does."""
    apart = [0.3, -0.2, 0.1, -0.1, *(0.1 + 0.01 * (at % 3) for at in range(26))]
    ids = [f"q{at:02}" for at in range(30)]
    table = {"old": dict.fromkeys(ids, 0.4), "new": {query: 0.4 + each for query, each in zip(ids, apart, strict=True)}}
    sample = drawn([1000] * 4 + [10] * 26, [1.0] * 4 + [0.1] * 26)
    log, future = (
        rankgauge.compare(None, table, sample=sample, population=each).pairs[0] for each in ("log", "future")
    )
    assert log.interval[0] > 0
    assert (log.p <= 0.05, log.decision) == (True, "better")
    assert future.interval[0] < 0 < future.interval[1]
    assert (future.p > 0.05, future.decision) == (True, "not significant")
    plain = rankgauge.compare(None, table, weights=dict(zip(ids, sample.traffic / sample.inclusion, strict=True)))
    assert plain.pairs[0].p == future.p


def test_check_bounds_the_mean_of_the_log(command: Command, files: Path) -> None:
    sample = read_sample(files / "strata.tsv")
    judgments, runs = judged()
    found = rankgauge.check(judgments, runs["new"], runs["old"], margin=0.01, minimums={"nDCG@10": 0.5}, sample=sample)
    new, old = (rankgauge.evaluate(judgments, runs[name], sample=sample) for name in ("new", "old"))
    columns = [each.per_query["nDCG@10"].to_numpy() for each in (new, old)]
    queries = Design.of(sample, sample.query_ids).drawn(sample.query_ids)
    (apart,) = differences([columns[0] - columns[1]], queries, alpha=0.1)
    assert apart.interval is not None
    assert found.compared[0].bounds == pytest.approx((apart.value, *apart.interval))
    assert found.minimums[0].bounds == pytest.approx(new.estimate("nDCG@10", 0.1))
    assert (found.compared[0].queries, found.compared[0].dropped) == (20, {})
    assert found.compared[0].candidate == new["nDCG@10"]
    words = ["check", "qrels.txt", "new.run", "--margin", "0.01", "--format", "json"]
    told = json.loads(command(*words, "--baseline", "old.run", "--sample", "strata.tsv", cwd=files).out)
    assert told["measures"]["nDCG@10"]["difference"] == pytest.approx(found.compared[0].bounds._asdict())
    assert command("eval", "qrels.txt", "old.run", "-q", "-o", "saved.json", cwd=files).code == 0
    saved = json.loads(command(*words, "--baseline", "saved.json", "--sample", "strata.tsv", cwd=files).out)
    assert saved["measures"]["nDCG@10"] == told["measures"]["nDCG@10"]


def test_a_mean_per_search_of_a_random_sample_always_carries_a_warning(command: Command, files: Path) -> None:
    """Also where the sample looks harmless: the head that was not drawn cannot be seen in it."""
    words = "was not drawn by traffic: of the mean per search the interval is too narrow"
    harmless = drawn([1] * 20, [0.5] * 20, "random", QUERIES[20:])
    judgments, runs = judged()
    for sample in (harmless, read_sample(files / "random.tsv")):
        with pytest.warns(RankgaugeWarning, match=words):
            rankgauge.evaluate(judgments, runs["old"], sample=sample)
        doubts = {per: rankgauge.compare(judgments, runs, sample=sample, per=per).warnings for per in BOTH}
        assert [any(doubt.code == "random-per-search" for doubt in each) for each in doubts.values()] == [True, False]
    runs_given = ["qrels.txt", "old.run", "new.run", "--sample", "random.tsv"]
    for kind in ("table", "json", "csv", "markdown"):
        outcome = command("eval", *runs_given, "--format", kind, cwd=files)
        assert words in " ".join((outcome.out + outcome.err).split())
    assert words in " ".join(command("compare", *runs_given, cwd=files).out.split())
    assert words in " ".join(
        command("report", *runs_given, "--no-charts", "--format", "markdown", cwd=files).out.split()
    )
    check = command("check", "qrels.txt", "new.run", "--min", "nDCG@10=0.1", "--sample", "random.tsv", cwd=files)
    assert words in " ".join(check.out.split())
    assert not read_sample(files / "traffic.tsv").blind
    assert not read_sample(files / "strata.tsv").blind
    assert drawn([5, 1, 1], [0.5] * 3, "mine").blind


def test_after_top_there_is_no_interval_and_everything_says_so(command: Command, files: Path) -> None:
    words = "is a fixed list (top): nothing follows about other queries, and there is no interval"
    judgments, runs = judged()
    with pytest.warns(RankgaugeWarning, match="is a fixed list"):
        result = rankgauge.evaluate(judgments, runs["old"], sample=files / "top.tsv")
    assert math.isnan(result.estimate("nDCG@10").low)
    runs_given = ["qrels.txt", "old.run", "new.run", "--sample", "top.tsv"]
    for name in ("eval", "compare", "report"):
        more = ["--no-charts", "--format", "markdown"] if name == "report" else []
        outcome = command(name, *runs_given, *more, cwd=files)
        assert words.replace("(top)", "") in " ".join(outcome.out.split()).replace("(top)", "").replace("\\", "")
    compared = json.loads(command("compare", *runs_given, "--format", "json", cwd=files).out)["measures"]["nDCG@10"]
    assert (compared["pairs"][0]["difference"]["low"], compared["systems"]["old"]["mean"]["low"]) == (None, None)
    refused = command("check", "qrels.txt", "new.run", "--min", "nDCG@10=0.1", "--sample", "top.tsv", cwd=files)
    assert refused.code == 2
    assert "there are no bounds to check; draw by traffic" in refused.err
    drawn_of_top = command("plot", "forest", *runs_given, "-o", "f.svg", cwd=files)
    assert drawn_of_top.code == 0
    assert "No intervals: a fixed list of queries" in (files / "f.svg").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["eval", "qrels.txt", "old.run", "--sample", "top.tsv", "--weights", "w.csv"], "--weights and --sample"),
        (["compare", "qrels.txt", "old.run", "new.run", "--per", "query"], "--per is for the means of a sample"),
        (["eval", "qrels.txt", "old.run", "--population", "log"], "--population log: without a sample there is no log"),
        (["plot", "forest", "qrels.txt", "old.run", "-o", "f.svg", "--population", "log"], "or leave --population out"),
        (["serve", "qrels.txt", "old.run", "--sample", "none", "--population", "log"], "--population log: without a"),
        (["eval", "qrels.txt", "old.run", "--sample", "nowhere.tsv"], "there is no such file"),
        (["eval", "qrels.txt", "old.run", "--sample", "qrels.txt"], "qrels.txt"),
        (["eval", "qrels.txt", "old.run", "--sample", "@x"], "there is no project here"),
        (["eval", "qrels.txt", "old.run", "--sample", "other.tsv"], "none of its queries was evaluated: one is 'x'"),
    ],
)  # fmt: skip
def test_what_is_refused(command: Command, files: Path, words: list[str], message: str) -> None:
    (files / "w.csv").write_text("query_id,weight\nq00,1\n")
    (files / "other.tsv").write_text("query_id\ttraffic\tinclusion\nx\t1\t1\n")
    outcome = command(*words, cwd=files)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err
    with pytest.raises(InputError, match="either weights or a sample"):
        rankgauge.evaluate(judged()[0], judged()[1]["old"], weights={"q00": 1}, sample=files / "traffic.tsv")
    with pytest.raises(InputError, match=r"population='log': without a sample there is no log.*give sample="):
        rankgauge.evaluate(judged()[0], judged()[1]["old"], population="log")
    with pytest.raises(InputError, match="there is no population 'logs'; did you mean 'log'"):
        rankgauge.evaluate(judged()[0], judged()[1]["old"], sample=files / "traffic.tsv", population="logs")  # type: ignore[arg-type]


def test_eval_says_how_many_queries_tell_of_the_mean_and_that_these_are_few(command: Command, files: Path) -> None:
    """Kish of the queries left to chance; of future searches of all of them."""
    sample = read_sample(files / "traffic.tsv")
    words = ["eval", "qrels.txt", "old.run", "--sample", "traffic.tsv"]
    about = {"log": "about this log: how far another draw", "future": "about future searches like those of this log"}
    for population, sentence in about.items():
        chance = (sample.inclusion < 1) | (population == "future")
        kish = {}
        for per in BOTH:
            weights = ((sample.traffic if per == "search" else 1.0) / sample.inclusion)[chance]
            kish[per] = weights.sum() ** 2 / (weights**2).sum()
        data = json.loads(command(*words, "--population", population, "--format", "json", cwd=files).out)["sample"]
        assert data["effective_queries"] == pytest.approx({f"per_{per}": size for per, size in kish.items()})
        assert [each["code"] for each in data["warnings"]] == ["few-queries"]
        said = " ".join(command(*words, "--population", population, cwd=files).out.split())
        least = min(kish, key=lambda per: kish[per])
        assert (
            f"{chance.sum()} queries left to chance, worth {kish[least]:.1f} of equal weight for a mean per {least}"
            in said
        )
        assert f"Effective number of queries: {kish['search']:.1f} per search, {kish['query']:.1f} per query." in said
        assert sentence in said
    many = Design.of(drawn([1.0] * 25, [0.5] * 25), [f"q{at:02}" for at in range(25)])
    assert many.few("search", "query") == []
    assert many.effective("search") == pytest.approx(25)


def test_intervals_are_about_the_log_unless_future_searches_are_meant(command: Command, files: Path) -> None:
    """Default log; JSON names it; without a sample, where it can be future searches alone, nothing is said of it."""
    asked = ["eval", "qrels.txt", "old.run", "--format", "json"]
    by_default, future = (
        json.loads(command(*asked, "--sample", "traffic.tsv", *more, cwd=files).out)
        for more in ((), ("--population", "future"))
    )
    assert (by_default["sample"]["population"], future["sample"]["population"]) == ("log", "future")
    plain = command(*asked, cwd=files).out
    assert command(*asked, "--population", "future", cwd=files).out == plain
    assert "population" not in plain
    judgments, runs = judged()
    for population in ("log", "future"):
        about: dict[str, Any] = {"sample": files / "traffic.tsv", "population": population}
        for result in (rankgauge.evaluate(judgments, runs["old"], **about),
                       rankgauge.evaluate_runs(judgments, runs, **about)["old"]):  # fmt: skip
            assert result.design is not None
            assert result.design.population == population


def test_queries_that_were_not_judged_are_counted_and_named(command: Command, files: Path) -> None:
    lines = (files / "qrels.txt").read_text().splitlines(keepends=True)
    gone = read_sample(files / "traffic.tsv").query_ids[3]
    (files / "fewer.txt").write_text("".join(line for line in lines if not line.startswith(gone)))
    outcome = command("eval", "fewer.txt", "old.run", "--sample", "traffic.tsv", cwd=files)
    said = " ".join(outcome.out.split())
    sample = read_sample(files / "traffic.tsv")
    searches = dict(zip(sample.query_ids, sample.traffic / sample.inclusion, strict=True))
    share = searches[gone] / sum(searches.values())
    assert f"1 of 20 sampled queries ({share:.0%} of searches) were not evaluated, such as '{gone}'" in said
    assert "19 of 20 queries" in said


def stored(files: Path) -> tuple[rankgauge.Project, Sample, str]:
    """A project with all labels, and with both runs for a sample of the queries, which has a name."""
    init(files)
    judgments, runs = judged()
    sample = rankgauge.sample(files / "log.csv", 20)
    project = rankgauge.Project(files)
    name = project.add_sample(sample)
    with project.store(write=True) as store:
        store.add_labels(
            "ann", [Label(q, d, float(g), f"{q} {d}") for q, docs in judgments.items() for d, g in docs.items()]
        )
        number = store.samples()[name]
        for system, run in runs.items():
            made = store.begin_run(system, {}, sample_id=number)
            for query in sample.query_ids:
                docs = sorted(run[query], key=lambda doc: -run[query][doc])
                store.add_answer(made, Answer(query, docs, [run[query][doc] for doc in docs]))
            store.end_run(made)
    return project, sample, name


def test_in_a_project_the_sample_of_the_runs_is_used_by_itself(command: Command, files: Path) -> None:
    project, sample, name = stored(files)
    judgments, runs = judged()
    with project.store(write=True) as store:
        store.add_run("all", {}, [Answer(query, [*docs], [*docs.values()]) for query, docs in runs["old"].items()])
    words = ["eval", "@labels", "@old", "--format", "json"]
    by_itself = json.loads(command(*words, cwd=files).out)
    named = json.loads(command(*words, "--sample", f"@{name}", cwd=files).out)
    assert by_itself == named
    assert by_itself["sample"]["source"] == f"@{name}"
    expected = rankgauge.evaluate(judgments, runs["old"], sample=sample).estimate("nDCG@10")
    assert by_itself["runs"][0]["measures"]["nDCG@10"]["per_search"] == pytest.approx(expected._asdict())
    assert "sample" not in json.loads(command(*words, "--sample", "none", cwd=files).out)
    assert "sample" not in json.loads(command("eval", "@labels", "@all", "--format", "json", cwd=files).out)
    mixed = command("eval", "@labels", "@old", "@all", "--format", "json", cwd=files)
    assert "made for different queries, so that no sample is used; name one: --sample @NAME" in mixed.err
    later = project.add_sample(rankgauge.sample(files / "log.csv", 18), "later")
    told = command(*words, "--sample", f"@{later}", cwd=files)
    assert f"means are those of @later, and the runs were made for @{name}" in told.err
    assert "were made for" not in command(*words, "--sample", f"@{name}", cwd=files).err
    assert command("compare", "@labels", "@old", "@new", "--per", "query", cwd=files).code == 0
    assert command("eval", "@labels", "@old", "--save", cwd=files).code == 0
    assert command("eval", "@labels", "@old", "--save", "--sample", "none", cwd=files).code == 0
    told = command("history", cwd=files)
    assert "sample" in told.out


def test_in_python_it_is_said_where_the_sample_of_a_run_is_left_out(command: Command, files: Path) -> None:
    project, sample, name = stored(files)
    labels, runs = project.labels(), {system: project.run(system) for system in ("old", "new")}
    said = f"@old:1 was made for a sample, @{name}: values are plain means over judged queries, "
    with pytest.warns(rankgauge.RankgaugeWarning, match=re.escape(said)) as told:
        plain = rankgauge.evaluate(labels, runs["old"])
    remedy = re.search(r"give sample=(.*?), or sample='none'", str(told[0].message))
    assert remedy is not None
    weights = dict.fromkeys(labels.queries, 1.0)
    hows: list[dict[str, Any]] = [{"sample": eval(remedy[1])}, {"sample": "none"}, {"weights": weights}]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sampled, unsampled, _ = (rankgauge.evaluate(labels, runs["old"], **how) for how in hows)
    assert sampled["nDCG@10"] != unsampled["nDCG@10"] == plain["nDCG@10"]
    for named in (name, f"@{name}"):
        with pytest.raises(InputError, match=re.escape(f"name of a stored one, give project.sample({name!r})")):
            rankgauge.evaluate(labels, runs["old"], sample=named)
    several = rankgauge.evaluate_runs(labels, runs)
    assert several.warnings[0].startswith("new was made for a sample, ")
    asked: list[tuple[str, Callable[..., Any]]] = [
        ("runs", lambda **how: rankgauge.compare(labels, runs, **how).warnings),
        ("results", lambda **how: rankgauge.compare(None, several, **how).warnings),
        ("gate", lambda **how: rankgauge.check(labels, runs["old"], runs["new"], margin=0.1, **how).warnings),
        ("report", lambda **how: rankgauge.report(labels, runs, **how).to_json()),
    ]
    for what, answer in asked:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert "was made for a sample, " in str(answer()), what
            assert "was made for a sample, " not in str(answer(sample="none")), what
            assert "was made for a sample, " not in str(answer(sample=sample)), what
    for words in ("eval @labels @old", "compare @labels @old @new", "check @labels @old --min nDCG@10=0.1"):
        shown = command(*words.split(), "--sample", "none", cwd=files)
        assert "was made for a sample" not in shown.out + shown.err, words
    assert command("report", "@labels", "@old", "@new", "--sample", "none", "-o", "plain.md", cwd=files).code == 0
    assert "was made for a sample" not in (files / "plain.md").read_text()


@pytest.mark.parametrize("words", ["judgments @labels @old @new", "dialects @labels @old --only trec_eval"])
def test_what_knows_nothing_of_samples_says_so(command: Command, files: Path, words: str) -> None:
    _, _, name = stored(files)
    told = command(*words.split(), cwd=files)
    assert (told.code, told.err.startswith(f"warning: the runs were made for a sample, @{name}: what follows")) == (
        0,
        True,
    )
    assert command(*words.replace("@old", "old.run").replace("@new", "new.run").split(), cwd=files).err == ""


def test_what_a_project_serves_is_measured_as_it_says(files: Path) -> None:
    project, _, name = stored(files)
    usual = files_of(project, DEFAULT)
    assert [*usual.runs] == ["new", "old"]
    assert (usual.measures, usual.per) == (("nDCG@10", "R@100"), "search")
    assert (usual.sample and usual.sample.source) == f"@{name}"
    with (files / "rankgauge.toml").open("a") as told:
        told.write('\n[evaluate]\nmeasures = ["RR@10"]\nbaseline = "old"\nper = "query"\npopulation = "future"\n')
    known = rankgauge.Project(files)
    asked = files_of(known, DEFAULT)
    assert [*asked.runs] == ["old", "new"]  # the first is what others are compared with
    assert (asked.measures, asked.per, asked.population) == (("RR@10",), "query", "future")
    other = files_of(known, DEFAULT, ("AP",), sampled="none", per="search", population="log").again()
    assert (other.measures, other.per, other.population, other.sample) == (("AP",), "search", "log", None)
    file = files_of(known, DEFAULT, sampled=str(files / "random.tsv")).again()
    assert (file.sample and file.sample.source) == str(files / "random.tsv")


def test_what_a_project_says_wrongly_is_refused_before_anything_is_served(command: Command, files: Path) -> None:
    stored(files)
    assert "--per is for the means of a sample" in command("serve", "--sample", "none", "--per", "query", cwd=files).err
    unsampled = command("serve", "--sample", "none", "--population", "log", cwd=files)
    assert "--population log: without a sample there is no log" in unsampled.err
    with (files / "rankgauge.toml").open("a") as told:
        told.write('\n[evaluate]\nmeasures = ["nDGC@10"]\n')
    outcome = command("serve", cwd=files)
    assert (outcome.code, "[evaluate] measures:" in outcome.err) == (2, True)


# ---- the simulation --------------------------------------------------------------------------------------------------

N, TAKEN = 20_000, 300


class Population:
    """A Zipf log of 20,000 queries, the head easier than the tail, and two systems."""

    def __init__(self) -> None:
        random = np.random.default_rng(7)
        self.traffic = np.maximum(1, np.round(50_000 / np.arange(1, N + 1)))
        ease = 0.35 + 0.35 * np.log(self.traffic) / np.log(self.traffic.max())
        self.old = random.beta(4 * ease, 4 * (1 - ease))
        self.new = np.clip(self.old + random.normal(0.02, 0.12, N), 0, 1)
        self.keys = [f"query {at}" for at in range(N)]
        names = np.array(thirds(self.traffic), object)
        sizes = {name: int((names == name).sum()) for name in THIRDS}
        shares = shared_out(TAKEN, dict.fromkeys(THIRDS, 1.0), sizes)
        places = {name: np.flatnonzero(names == name) for name in THIRDS}
        everywhere = np.arange(N)
        self.designs = {
            "traffic": [(everywhere, proportional(self.traffic, TAKEN), TAKEN)],
            "random": [(everywhere, proportional(np.ones(N), TAKEN), TAKEN)],
            "strata": [(at, proportional(self.traffic[at], shares[name]), shares[name]) for name, at in places.items()],
        }

    def draw(self, method: str, u: Floats) -> tuple[Floats, Floats, Floats]:
        """The places, inclusion probabilities and strata of a sample."""
        found = [(at, chance, pareto(chance, u[at], n)) for at, chance, n in self.designs[method]]
        places = [at[taken] for at, _, taken in found]
        chances = [chance[taken] for _, chance, taken in found]
        strata = [np.full(len(at), number) for number, at in enumerate(places)]
        return np.concatenate(places), np.concatenate(chances), np.concatenate(strata)

    def trial(self, method: str, seeds: range) -> dict[str, Floats]:
        """For `search` and `query`, a row a draw: estimate, held, width, difference held, width of plain weights."""
        rows: dict[str, list[list[float]]] = {"search": [], "query": []}
        for seed in seeds:
            at, chance, strata = self.draw(method, permanent(self.keys, seed))
            for per, told in rows.items():
                every = self.traffic if per == "search" else np.ones(N)
                weights, truth = every[at] / chance, np.average(self.old, weights=every)
                apart = np.average(self.new - self.old, weights=every)
                queries = Queries(len(at), weights, inclusion=chance, strata=strata, population="log")
                (one,) = mean_estimates([self.old[at]], queries, bounded=True)
                (two,) = differences([(self.new - self.old)[at]], queries, flips=2_000)
                (all_drawn,) = mean_estimates([self.old[at]], Queries(len(at), weights), bounded=True)
                low, high = two.interval or (math.nan, math.nan)
                bias, plain = one.value - truth, self.old[at].mean() - truth
                held = [one.low <= truth <= one.high, low <= apart <= high]
                told.append([bias, held[0], one.width, held[1], all_drawn.width, plain])
        return {per: np.array(told, float) for per, told in rows.items()}


@pytest.fixture(scope="module")
def population() -> Population:
    return Population()


def assert_unbiased(errors: Floats) -> None:
    assert abs(errors.mean()) < 3 * errors.std(ddof=1) / math.sqrt(len(errors))


@pytest.mark.parametrize("method", ["traffic", "strata"])
def test_a_short_simulation(population: Population, method: str) -> None:
    found = population.trial(method, range(100))
    for rows in found.values():
        assert_unbiased(rows[:, 0])
        assert rows[:, 1].mean() >= 0.88  # 0.95 less three Monte-Carlo errors; the long one is sharper
    search = found["search"]
    assert search[:, 2].mean() < search[:, 4].mean() * 2 / 3
    assert abs(search[:, 5].mean()) > 0.03  # unweighted, as tools do it
    assert (np.abs(search[:, 5]) > search[:, 2] / 2).mean() > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("method", ["traffic", "strata"])
def test_the_simulation(population: Population, method: str) -> None:
    found = population.trial(method, range(1500))
    for rows in found.values():
        assert_unbiased(rows[:, 0])
        assert 0.93 <= rows[:, 1].mean() <= 0.975
        assert 0.93 <= rows[:, 3].mean() <= 0.98
    search = found["search"]
    assert search[:, 2].mean() < search[:, 4].mean() * 2 / 3
    assert abs(search[:, 5].mean()) > 0.03


@pytest.mark.slow
def test_per_search_a_random_sample_fails_and_per_query_it_holds(population: Population) -> None:
    found = population.trial("random", range(1500))
    assert_unbiased(found["query"][:, 0])
    assert 0.93 <= found["query"][:, 1].mean() <= 0.975
    assert found["search"][:, 1].mean() < 0.7


@pytest.mark.slow
def test_shares_drawn_are_the_inclusion_probabilities_within_1_percent(population: Population) -> None:
    (_, chance, n), drawn = population.designs["traffic"][0], np.zeros(N)
    for seed in range(3000):
        drawn[pareto(chance, permanent(population.keys, seed), n)] += 1 / 3000
    for low, high in ((0, 0.005), (0.005, 0.02), (0.02, 0.1), (0.1, 1)):
        band = (chance >= low) & (chance < high)
        assert drawn[band].sum() == pytest.approx(chance[band].sum(), rel=0.01)
    assert drawn[chance == 1].min() == pytest.approx(1)
