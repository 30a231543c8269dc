"""Retriever and reranker apart: exact parts, ceilings, floors, depth curves, attribution, intervals, bad input."""

from __future__ import annotations

import csv
import io
import json
import math
import random
from collections.abc import Sequence
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankgauge
from command import Command
from rankgauge import charts
from rankgauge.errors import InputError, MatchError, MeasureError, ProtocolError
from rankgauge.explanation.funnel.funnel import LOSSES, PARTS, Funnel, funnel
from rankgauge.matching.match import match
from rankgauge.matching.ranking import whole
from rankgauge.protocol import RULES, Empty, Order, Protocol, Rules, Ties
from rankgauge.show.model import Table
from rankgauge.stats.inference import Queries, differences, mean_interval
from samples import DOCS, GRADES, SCORES, Nested, nested

ROOT = Path(__file__).parents[1]
DRAWN = {f"funnel-{part}": getattr(charts, f"funnel_{part}") for part in ("parts", "ceiling", "depth")}
MEASURES = ["nDCG@3", "nDCG@10", "nDCG", "nDCG(gain=exp)@5", "nDCG(gain={0:0,1:2,2:1,3:5})@4", "nDCG(discount=none)@3",
            "nDCG(gain=binary,discount=zipf)@4", "nDCG(gain={0:1,1:2})@3", "nDCG(rel=2)@3"]  # fmt: skip

pytestmark = pytest.mark.filterwarnings("ignore:NO JUDGED DOCUMENT", "ignore:.*only by the order of equal scores")


@st.composite
def pipelines(draw: st.DrawFn) -> tuple[Nested, Nested, Nested]:
    """Judgments, candidates, and these (or some of them) in another order."""
    judgments, first = draw(nested(GRADES)), draw(nested(SCORES))
    if not judgments.keys() & first.keys():
        first[next(iter(judgments))] = draw(st.dictionaries(DOCS, SCORES, min_size=1))
    shared = sorted(judgments.keys() & first.keys())
    second = {}
    for query in first:
        docs = draw(st.lists(st.sampled_from(sorted(first[query])), unique=True, min_size=query == shared[0]))
        if docs:
            second[query] = {doc: draw(SCORES) for doc in docs}
    return judgments, first, second


def dcg(gains: Sequence[float], k: int) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains[:k], 1))


# ---- the parts -------------------------------------------------------------------------------------------------------


@given(pipelines(), st.sampled_from(MEASURES), st.none() | st.integers(1, 8), st.sampled_from(["zero", "one"]))
def test_parts_are_never_negative_and_add_up(case: Any, measure: str, candidates: int | None, empty: Empty) -> None:
    judgments, first, second = case
    rules: Rules = {"empty": empty, "missing": "zero"}
    found = funnel(
        judgments, retrieved=first, reranked={"x": second}, measure=measure, candidates=candidates,
        restrict=candidates is not None, protocol=rules,
    ) if candidates is None or _survives(first, second, judgments, candidates) else None  # fmt: skip
    if found is None:
        return
    table = np.stack([found.system("x").of(part) for part in PARTS])
    assert (table >= 0).all()
    assert np.abs(table.sum(axis=0) - 1).max() <= 1e-12
    assert sum(found["x"][part].value for part in PARTS) == pytest.approx(1, abs=1e-12)
    assert found.curve["x"][-1].value == pytest.approx(found["x"]["value"].value, abs=1e-12)
    assert found.curve["x"][-1].oracle == pytest.approx(found["x"]["oracle"].value, abs=1e-12)
    for query, lift in zip(found.query_ids, found.system("x").of("lift").tolist(), strict=True):
        assert sum(move.change for move in found.system("x").moves(query)) == pytest.approx(lift, abs=1e-12)


def _survives(first: Nested, second: Nested, judgments: Nested, candidates: int) -> bool:
    """Whether something of the second stage is left when only the first candidates are."""
    for query in first.keys() & second.keys() & judgments.keys():
        best = sorted(((score, doc) for doc, score in first[query].items()), reverse=True)[:candidates]
        if {doc for _, doc in best} & second[query].keys():
            return True
    return False


@given(pipelines())
def test_stages_are_what_evaluate_says_of_them(case: Any) -> None:
    judgments, first, second = case
    found = funnel(judgments, retrieved=first, reranked={"x": second}, measure="nDCG@5", recall_depth=4)
    condensed = rankgauge.evaluate(judgments, second, "nDCG@5", protocol=Protocol(unjudged="condensed"))
    before, after = (rankgauge.evaluate(judgments, run, ["nDCG@5", "R@4"]) for run in (first, second))
    wanted = {"retrieved": before["nDCG@5"], "value": after["nDCG@5"]}
    wanted |= {"recall_before": before["R@4"], "recall_after": after["R@4"]}
    wanted |= {"judged_before": before.judged[5], "judged_after": after.judged[5]}
    wanted |= {"unknown": condensed["nDCG@5"] - after["nDCG@5"]}
    assert {name: found.mean("x", name) for name in wanted} == pytest.approx(wanted, abs=1e-12)


@given(pipelines(), st.integers(1, 6), st.sampled_from(["linear", "exp"]))
def test_the_oracle_is_the_best_order_by_brute_force(case: Any, k: int, gain: str) -> None:
    judgments, first, second = case
    first = {query: dict(list(docs.items())[:6]) for query, docs in first.items()}
    second = {query: {doc: s for doc, s in docs.items() if doc in first[query]} for query, docs in second.items()}
    second = {query: docs for query, docs in second.items() if docs}
    if not second.keys() & judgments.keys():
        return
    found = funnel(judgments, retrieved=first, reranked=second, measure=f"nDCG(gain={gain})@{k}")
    worth = (lambda grade: 2.0**grade - 1) if gain == "exp" else float
    for query, oracle in zip(found.query_ids, found.system("reranked").of("oracle").tolist(), strict=True):
        gains = {doc: worth(grade) if grade > 0 else 0.0 for doc, grade in judgments[query].items()}
        ideal = dcg(sorted(gains.values(), reverse=True), k)
        orders = permutations([gains.get(doc, 0.0) for doc in first.get(query, {})])
        best = max(dcg(order, k) for order in orders)
        assert oracle == pytest.approx(best / ideal if ideal else 0.0, abs=1e-12)


def test_recall_is_not_the_ceiling() -> None:
    """50 relevant, 10 of them retrieved: recall 0.20, and a perfect order; nine of ten, the best missed: 0.4035."""
    judged = {"q": {f"d{i}": 1 for i in range(50)}}
    run = {"q": [f"d{i}" for i in range(10)]}
    found = funnel(judged, retrieved=run, reranked=run)
    assert found.mean("reranked", "recall_before") == pytest.approx(0.20)
    assert found["reranked"]["oracle"].value == 1.0
    judged = {"q": {"best": 3, **{f"d{i}": 1 for i in range(9)}}}
    run = {"q": [f"d{i}" for i in range(9)]}
    found = funnel(judged, retrieved=run, reranked=run, measure="nDCG(gain=exp)@10")
    assert found.mean("reranked", "recall_before") == pytest.approx(0.90)
    assert f"{found['reranked']['oracle'].value:.4f}" == "0.4035"
    assert f"{found['reranked']['not_retrieved'].value:.4f}" == "0.5965"


def test_a_query_worked_by_hand() -> None:
    """Judged a 3, b 1, c 0, m 2 (not retrieved); reranked: u (unjudged), b, a. Gains over log2(rank + 1)."""
    judged = {"q": {"a": 3, "b": 1, "c": 0, "m": 2}}
    found = funnel(judged, retrieved={"q": ["a", "b", "u", "c"]}, reranked={"x": {"q": ["u", "b", "a"]}})
    ideal = 3 + 2 / math.log2(3) + 1 / 2
    reached, condensed, best = 1 / math.log2(3) + 3 / 2, 1 + 3 / math.log2(3), 3 + 1 / math.log2(3)
    wanted = [reached, condensed - reached, best - condensed, ideal - best, 0.0]
    assert [found["x"][part].value for part in PARTS] == pytest.approx([each / ideal for each in wanted], abs=1e-12)
    assert found["x"]["lift"].value == pytest.approx((reached - best) / ideal)
    assert found.outcome("x") == {"helped": 0, "unchanged": 0, "harmed": 1}
    ((query, _, moves),) = found.harmed("x")
    assert (query, [(m.doc_id, m.grade, m.before, m.after) for m in moves]) == ("q", [("a", 3, 1, 3)])
    assert moves[0].change == pytest.approx((3 / 2 - 3) / ideal)
    assert found.largest("x") == {**dict.fromkeys(LOSSES, 0), "not_retrieved": 1}


def test_queries_without_relevant_documents_and_negative_grades() -> None:
    judged = {"none": {"a": 0, "b": -1}, "some": {"a": 1, "b": -1}}
    run = {"none": ["a"], "some": ["b", "a"]}
    found = funnel(judged, retrieved=run, reranked=run)
    rows = {row["query_id"]: row for row in found.rows("reranked")}
    assert (rows["none"]["no_relevant"], rows["none"]["largest_loss"]) == (1.0, "no_relevant")
    # A negative grade is a document that nobody graded: condensed takes it out.
    assert rows["some"]["value"] == pytest.approx(1 / math.log2(3))
    assert rows["some"]["unknown"] == pytest.approx(1 - 1 / math.log2(3))
    skipped = funnel(judged, retrieved=run, reranked=run, protocol={"empty": "skip"})
    assert skipped.query_ids == ["some"]
    assert skipped["reranked"]["no_relevant"].value == 0.0


def test_unanswered_queries_follow_the_rule() -> None:
    judged = {query: {"a": 1} for query in ("both", "first", "neither")}
    first, second = {"both": ["a"], "first": ["a"]}, {"both": ["a"]}
    rows = {row["query_id"]: row for row in funnel(judged, retrieved=first, reranked=second).rows("reranked")}
    assert rows["first"]["misranked"] == 1.0
    assert rows["neither"]["not_retrieved"] == 1.0
    assert funnel(judged, retrieved=first, reranked=second, protocol={"missing": "skip"}).query_ids == ["both"]
    with pytest.raises(MatchError, match="does not answer 1 judged query"):
        funnel(judged, retrieved=first, reranked=second, protocol={"missing": "error"})


# ---- real runs -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dl19(shared: Path) -> dict[str, str]:
    names = {"bm25": "bm25tuned_p", "bert": "p_exp_rm3_bert", "rm3": "bm25base_rm3_p", "idst": "idst_bert_p1"}
    runs = {name: str(shared / f"dl19/runs/input.{file}.gz") for name, file in names.items()}
    return {"qrels": str(shared / "dl19/qrels.dl19-passage.txt"), **runs}


def test_the_parts_of_a_real_pipeline(dl19: dict[str, str]) -> None:
    found = funnel(dl19["qrels"], retrieved=dl19["bm25"], reranked={"bert": dl19["bert"]}, restrict=True)
    shown = [f"{found['bert'][part].value:.4f}" for part in PARTS]
    assert shown == ["0.7380", "0.0011", "0.2238", "0.0371", "0.0000"]
    assert found.system("bert").second.dropped == 23_967
    assert found.peak("bert").depth == 1_000
    with pytest.raises(InputError, match=r"23,967 documents of 43 queries are no candidates of bm25: '\d+' \(query"):
        funnel(dl19["qrels"], retrieved={"bm25": dl19["bm25"]}, reranked={"bert": dl19["bert"]})


@pytest.mark.parametrize("depth", [10, 50, 200])
def test_the_depth_curve_is_the_funnel_of_fewer_candidates(dl19: dict[str, str], depth: int) -> None:
    whole_run = funnel(dl19["qrels"], retrieved=dl19["bm25"], reranked={"x": dl19["bert"]}, restrict=True)
    fewer = funnel(dl19["qrels"], retrieved=dl19["bm25"], reranked={"x": dl19["bert"]}, restrict=True, candidates=depth)
    (point,) = [point for point in whole_run.curve["x"] if point.depth == depth]
    assert point.value == pytest.approx(fewer["x"]["value"].value, abs=1e-12)
    assert point.oracle == pytest.approx(fewer["x"]["oracle"].value, abs=1e-12)


def test_a_reranker_that_drowns_peaks_early() -> None:
    """It puts a worthless document of rank 15 first: with the first 10 alone it is perfect, and loses with more."""
    judged = {"q": {"good": 1}}
    first = ["d0", "d1", "good", *(f"d{i}" for i in range(2, 30))]
    second = ["d13", "good", *(doc for doc in first if doc not in ("d13", "good"))]
    found = funnel(judged, retrieved={"q": first}, reranked={"q": second})
    assert [point.depth for point in found.curve["reranked"]] == [10, 20, 31]
    assert found.peak("reranked").depth == 10
    assert "reranked: highest with the first 10; all 31 lose 0.3691 of it." in found.show()
    worse = {"q": ["d13", "d14", "d15", *(doc for doc in second if doc not in ("d13", "d14", "d15"))]}
    found = funnel(judged, retrieved={"q": first}, reranked=worse)
    harm = "reranked scores 0.4307 with all 31, less than retrieved without it (0.5000). Rerank only the first 10 "
    assert f"{harm}(1.0000)." in " ".join(found.show().split())


def test_a_reranker_that_gains_nothing_is_best_left_out() -> None:
    """Its best number of candidates is 0, which the table of depths has."""
    judged = {"q": {"good": 1}}
    first = ["good", *(f"d{i}" for i in range(30))]
    second = ["d0", *(doc for doc in first if doc != "d0")]
    found = funnel(judged, retrieved={"q": first}, reranked={"bad": {"q": second}, "idle": {"q": first}})
    assert [point.depth for point in found.points("bad")] == [0, 10, 20, 31]
    assert (found.peak("bad").depth, found.peak("idle").depth) == (0, 0)
    shown = " ".join(found.show().split())
    assert (
        "bad scores 0.6309 with all 31, less than retrieved without it (1.0000). Leave it out, or rerank fewer "
        "candidates." in shown
    )
    assert "idle: no higher than without it." in shown
    tables = [block for section in found.sections() for block in section.blocks if isinstance(block, Table)]
    rows = next(table.rows for table in tables if table.key == "stage-depth")
    assert rows[0] == [0, None, None, 1.0, 1.0]


# ---- the whole order of a run ----------------------------------------------------------------------------------------


@given(nested(SCORES), st.sampled_from(["score", "given"]), st.sampled_from(list(RULES["ties"])[:4]))
def test_every_document_has_the_rank_that_match_gives_it(run: Nested, order: Order, ties: Ties) -> None:
    rules = Protocol(order=order, ties=ties)
    judged = {query: dict.fromkeys(docs, 1) for query, docs in run.items()}
    hits = match({q: {d: float(i) for i, d in enumerate(docs)} for q, docs in judged.items()}, run, rules)
    numbers = {query: list(docs) for query, docs in judged.items()}
    wanted = [(hits.queries[q], r, numbers[hits.queries[q]][int(g)]) for q, r, g in
              zip(hits.query.tolist(), hits.rank.tolist(), hits.grade.tolist(), strict=True)]  # fmt: skip
    found = whole(rankgauge.read_run(run), rules)
    everything = np.arange(len(found.rows.query))
    rows = zip(found.rows.query.tolist(), found.rank.tolist(), found.docs(everything), strict=True)
    assert sorted((found.queries[query], rank, doc) for query, rank, doc in rows) == sorted(wanted)


@given(nested(SCORES), nested(SCORES))
def test_ranks_in_another_run_are_found_document_by_document(one: Nested, other: Nested) -> None:
    ours, theirs = (whole(rankgauge.read_run(run), Protocol()) for run in (one, other))
    ranks = {q: {doc: rank for rank, (_, doc) in enumerate(sorted(((s, d) for d, s in docs.items()), reverse=True), 1)}
             for q, docs in other.items()}  # fmt: skip
    everything = np.arange(len(ours.rows.query))
    queries = [ours.queries[at] for at in ours.rows.query.tolist()]
    wanted = [ranks.get(query, {}).get(doc, 0) for query, doc in zip(queries, ours.docs(everything), strict=True)]
    assert ours.ranks_in(theirs).tolist() == wanted
    again = whole(rankgauge.read_run({q: {d: -s for d, s in docs.items()} for q, docs in one.items()}), Protocol())
    assert (ours.ranks_in(again) > 0).all()


def test_documents_of_one_hash_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    from rankgauge.matching import grouping

    monkeypatch.setattr(grouping, "hash_of", lambda docs: np.zeros(len(docs), np.uint64))
    one, other = rankgauge.read_run({"q": ["a", "b"]}), rankgauge.read_run({"q": ["c", "b", "a"]})
    rules = Protocol()
    assert whole(one.only({"q"}), rules).ranks_in(whole(other, rules)).tolist() == [3, 2]


# ---- the random floor ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["nDCG@2", "nDCG(gain=exp)@10", "nDCG"])
def test_the_random_floor_is_the_mean_of_all_orders(measure: str) -> None:
    judged = {"q": {"a": 3, "b": 1, "c": 0, "m": 2}, "short": {"a": 1, "b": 2}}
    first = {"q": ["a", "b", "c", "u", "v"], "short": ["a", "u"]}
    found = funnel(judged, retrieved=first, reranked=first, measure=measure)
    for query, floor in zip(found.query_ids, found.system("reranked").of("random").tolist(), strict=True):
        part = {query: judged[query]}
        every = [rankgauge.evaluate(part, {query: list(o)}, measure)[measure] for o in permutations(first[query])]
        assert floor == pytest.approx(np.mean(every), abs=1e-12)


def test_the_random_floor_is_the_mean_of_many_shuffles() -> None:
    shuffled = random.Random(4)
    docs = [f"d{i}" for i in range(60)]
    judged = {f"q{q}": {doc: shuffled.choice([0, 0, 1, 2, 3]) for doc in shuffled.sample(docs, 25)} for q in range(4)}
    first = {query: shuffled.sample(docs, 30) for query in judged}
    found = funnel(judged, retrieved=first, reranked=first)
    values = []
    for _ in range(2_000):
        run = {query: shuffled.sample(listed, len(listed)) for query, listed in first.items()}
        values.append(rankgauge.evaluate(judged, run)["nDCG@10"])
    error = float(np.std(values)) / math.sqrt(len(values))
    assert abs(found["reranked"]["random"].value - float(np.mean(values))) < 4 * error < 0.02


# ---- two retrievers × two rerankers ----------------------------------------------------------------------------------


def crossed(seed: int = 1, queries: int = 12) -> Funnel:
    drawn = random.Random(seed)
    docs = [f"d{i}" for i in range(40)]
    judged = {f"q{q:02}": {doc: drawn.choice([0, 0, 1, 2]) for doc in drawn.sample(docs, 20)} for q in range(queries)}
    first = {name: {query: drawn.sample(docs, 25) for query in judged} for name in ("old", "new")}
    second = {
        f"{name}+{reranker}": {query: drawn.sample(listed, len(listed)) for query, listed in run.items()}
        for name, run in first.items() for reranker in ("x", "y")
    }  # fmt: skip
    return funnel(judged, retrieved=first, reranked=second)


def test_effects_and_interaction_add_up() -> None:
    found = crossed()
    assert found.cross is not None
    value = {name: found.mean(name, "value") for name in found}
    effect = {name: each["value"].value for name, each in found.effects.items()}
    total = value["new+y"] - value["old+x"]
    assert effect["total"] == pytest.approx(total, abs=1e-12)
    assert effect["retriever"] + effect["reranker"] == pytest.approx(total, abs=1e-12)
    alone = effect["retriever_alone"] + effect["reranker_alone"] + effect["interaction"]
    assert alone == pytest.approx(total, abs=1e-12)
    assert effect["retriever_alone"] == pytest.approx(value["new+x"] - value["old+x"], abs=1e-12)
    wanted = value["new+y"] - value["new+x"] - value["old+y"] + value["old+x"]
    assert effect["interaction"] == pytest.approx(wanted, abs=1e-12)
    for parts in found.effects.values():  # what is won is what is lost less
        assert sum(each.value for each in parts.values()) == pytest.approx(0, abs=1e-12)
    swapped = found.effects["retriever"]
    assert swapped["value"].low < swapped["value"].value < swapped["value"].high


def test_reranked_runs_are_named_after_their_retriever() -> None:
    run = {"q": ["a"]}
    judged = {"q": {"a": 1}}
    both = {"a": run, "a+b": run}
    found = funnel(judged, retrieved=both, reranked={("a", "x"): run, "a+b+x": run})
    assert [(name, system.retriever) for name, system in found.systems.items()] == [("a+x", "a"), ("a+b+x", "a+b")]
    assert found.cross is None
    with pytest.raises(InputError, match=r"c\+x: with several retrieved runs, .* a\+c\+x=FILE"):
        funnel(judged, retrieved=both, reranked={"c+x": run})
    with pytest.raises(InputError, match="there is no retrieved run 'z'; there are a, a\\+b"):
        funnel(judged, retrieved=both, reranked={("z", "x"): run})


# ---- intervals -------------------------------------------------------------------------------------------------------


def stages(random: np.random.Generator, queries: int, rerankers: int) -> tuple[Nested, Nested, dict[str, Nested]]:
    """Judgments of six documents a query, candidates, and rerankers that change the order of some queries."""
    docs = [f"d{at}" for at in range(6)]
    judged = {f"q{at}": dict(zip(docs, map(float, random.integers(0, 3, 6)), strict=True)) for at in range(queries)}
    judged = {query: grades | {"d0": 1.0} for query, grades in judged.items()}

    def ranked(share: float) -> Nested:
        return {
            query: dict(zip(docs, (random.permutation(6) if random.random() < share else np.arange(6)), strict=True))
            for query in judged
        }

    return judged, ranked(1.0), {f"s{at}": ranked(float(random.uniform(0.2, 1))) for at in range(rerankers)}


def test_intervals_are_those_of_eval_and_compare() -> None:
    judged, first, second = stages(np.random.default_rng(0), 12, 1)
    found = funnel(judged, retrieved=first, reranked=second)["s0"]
    runs = {"a": first, "s0": second["s0"]}
    for stat, run in (("retrieved", "a"), ("value", "s0")):
        values = np.array([each["nDCG@10"] for each in rankgauge.evaluate(judged, runs[run]).to_dict().values()])
        assert found[stat][1:] == pytest.approx(mean_interval(values, Queries(12)), abs=1e-12)
    pair = rankgauge.compare(judged, runs, baseline="a").pairs[0]
    assert tuple(found["lift"]) == pytest.approx((pair.difference, *pair.interval), abs=1e-9)


def test_the_share_captured_has_the_interval_of_every_flip() -> None:
    """Enumerated over eight queries: of each split the ratio of sums of either part."""
    judged, first, second = stages(np.random.default_rng(5), 8, 1)
    found = funnel(judged, retrieved=first, reranked=second)
    lift, headroom = (found.system("s0").of(stat) for stat in ("lift", "headroom"))
    lows, highs = [], []
    for bits in range(1 << 7):
        part = np.array([bits >> at & 1 for at in range(8)], bool)
        ends = [lift[each].sum() / headroom[each].sum() for each in (part, ~part)] if part.any() else [-np.inf, np.inf]
        lows.append(min(ends))
        highs.append(max(ends))
    captured = found["s0"]["captured"]
    assert (np.abs(lift) > 1e-9).sum() >= 6
    assert (headroom > 0.01).all()
    expected = (lift.sum() / headroom.sum(), sorted(lows)[6], sorted(highs)[-7])
    assert tuple(captured) == pytest.approx(expected, abs=1e-8)


def test_2000_random_rerankers_have_intervals_that_hold_the_value_and_agree_with_p() -> None:
    random, given = np.random.default_rng(2), dict.fromkeys(("lift", "captured", "apart"), 0)
    for _ in range(40):
        queries = int(random.integers(6, 13))
        judged, first, second = stages(random, queries, 50)
        found = funnel(judged, retrieved=first, reranked=second)
        answers = differences([found.system(name).of("lift") for name in found], Queries(queries))
        for name, answer in zip(found, answers, strict=True):
            parts = found[name]
            for stat, (value, low, high) in parts.items():
                assert np.isnan(low) or low <= value + 1e-12 <= high + 2e-12, stat
            lift, captured = parts["lift"], parts["captured"]
            if lift.low == lift.low:
                given["lift"] += 1
                assert (lift.low > 0 or lift.high < 0) == (answer.p <= 0.05)
                given["apart"] += answer.p <= 0.05
            if captured.low == captured.low:
                given["captured"] += 1
                assert (captured.low > 0 or captured.high < 0) == (answer.p <= 0.05)
            assert all(0 <= parts[part].low <= parts[part].high <= 1 for part in PARTS)
    assert given["lift"] > 1_500
    assert given["captured"] > 800
    assert given["apart"] > 50


def test_where_too_often_nothing_can_be_won_the_share_has_no_end_and_that_is_said() -> None:
    """The candidates of five of eight queries are in the best order."""
    judged = {f"q{at}": {"a": 2.0, "b": 1.0} for at in range(8)}
    first = {query: {"a": 2.0, "b": 1.0} if at < 5 else {"b": 2.0, "a": 1.0} for at, query in enumerate(judged)}
    second = {query: {"a": 2.0, "b": 1.0} if at else {"b": 2.0, "a": 1.0} for at, query in enumerate(judged)}
    found = funnel(judged, retrieved=first, reranked=second)
    captured = found["reranked"]["captured"]
    assert 0 < captured.value < 1
    assert np.isnan([captured.low, captured.high]).all()
    told = " ".join(found.show(notes=True).split())
    assert "reranked: captured has no interval, because 5 of 8 queries have no headroom." in told


def test_resamples_are_understood_and_said_to_do_nothing() -> None:
    judged, first, second = stages(np.random.default_rng(1), 6, 1)
    with pytest.warns(rankgauge.RankgaugeWarning, match="resamples are no longer made") as said:
        found = funnel(judged, retrieved=first, reranked=second, resamples=1)
    assert len(said) == 1
    assert found.to_json() == funnel(judged, retrieved=first, reranked=second).to_json()


def test_where_nothing_can_be_won_there_is_no_share() -> None:
    run = {"q": ["a"], "r": ["b"]}
    found = funnel({"q": {"a": 1}, "r": {"b": 1}}, retrieved=run, reranked=run)
    assert math.isnan(found["reranked"]["captured"].value)
    assert found.to_dict()["systems"]["reranked"]["captured"] == {"value": None, "low": None, "high": None}
    assert "–" in found.show()


def test_weights_and_clusters_of_queries() -> None:
    judged = {"q": {"a": 1}, "r": {"b": 1}, "s": {"c": 1}}
    run = {"q": ["a"], "r": ["z", "b"], "s": ["z"]}
    weights = {"q": 2.0, "r": 1.0, "s": 1.0}
    found = funnel(judged, retrieved=run, reranked=run, weights=weights, clusters={"q": "u", "r": "u"})
    assert found["reranked"]["value"].value == pytest.approx((2 + 1 / math.log2(3)) / 4)
    with pytest.raises(InputError, match="no weight for 1 query"):
        funnel(judged, retrieved=run, reranked=run, weights={"q": 1, "r": 1})


# ---- rules and measures that do not fit ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rules",
    [{"ties": "average"}, {"unjudged": "condensed"}, {"negative": "as-is"}, {"ideal": "retrieved"}, {"depth": 5},
     {"duplicates": "each"}, {"ideal_depth": "all"}, {"empty": "one-if-unanswered"}],
    ids=str,
)  # fmt: skip
def test_rules_that_do_not_fit_are_refused(rules: Rules) -> None:
    run = {"q": ["a"]}
    with pytest.raises(ProtocolError, match=next(iter(rules))):
        funnel({"q": {"a": 1}}, retrieved=run, reranked=run, protocol=rules)


@pytest.mark.parametrize("measure", ["AP", "DCG@10", "P@5", "nDCG(gain={1:-2})@10"])
def test_measures_without_an_oracle_are_refused(measure: str) -> None:
    run = {"q": ["a"]}
    with pytest.raises(MeasureError, match="parts of a funnel"):
        funnel({"q": {"a": 1}}, retrieved=run, reranked=run, measure=measure)


@pytest.mark.parametrize(
    "rules",
    [{"ties": "id-ascending"}, {"ties": "given"}, {"ties": "reversed"}, {"scores": "float32"}, {"order": "given"},
     {"same_id": "drop"}],
    ids=str,
)  # fmt: skip
def test_other_rules_are_those_of_evaluate(rules: Rules) -> None:
    drawn = random.Random(7)
    docs = [*(f"d{i}" for i in range(20)), "q1"]
    judged = {f"q{q}": {doc: drawn.choice([0, 1, 2]) for doc in drawn.sample(docs, 12)} for q in range(6)}
    first = {query: {doc: drawn.choice([1.0, 2.0, 1.0 + 1e-9]) for doc in docs} for query in judged}
    second = {query: {doc: drawn.choice([1.0, 2.0, 3.0]) for doc in docs} for query in judged}
    found = funnel(judged, retrieved=first, reranked={"x": second}, measure="nDCG@3", protocol=rules)
    for name, run in (("retrieved", first), ("value", second)):
        wanted = rankgauge.evaluate(judged, run, "nDCG@3", protocol=rules)["nDCG@3"]
        assert found["x"][name].value == pytest.approx(wanted, abs=1e-12)
    top = funnel(judged, retrieved=first, reranked={"x": second}, measure="nDCG@3", protocol=rules, candidates=5,
                 restrict=True)  # fmt: skip
    by_hand = {query: ranking(first[query], query, rules)[:5] for query in judged}
    wanted_run = {q: [d for d in ranking(second[q], q, rules) if d in by_hand[q]] for q in judged}
    wanted = rankgauge.evaluate(judged, wanted_run, "nDCG@3")["nDCG@3"]
    assert top["x"]["value"].value == pytest.approx(wanted, abs=1e-12)


def ranking(scores: dict[str, float], query: str, rules: Rules) -> list[str]:
    """The order of a ranking, written out once more."""
    rows = [(doc, score) for doc, score in scores.items() if rules.get("same_id") != "drop" or doc != query]
    if rules.get("order") == "given":
        return [doc for doc, _ in rows]
    if rules.get("scores") == "float32":
        rows = [(doc, float(np.float32(score))) for doc, score in rows]
    ties = rules.get("ties", "id")
    rows = rows[::-1] if ties == "reversed" else rows if ties == "given" else sorted(rows, reverse=ties == "id")
    return [doc for doc, _ in sorted(rows, key=lambda row: -row[1])]


# ---- shown -----------------------------------------------------------------------------------------------------------


def test_formats_hold_the_same_numbers() -> None:
    found = crossed()
    data = json.loads(found.show("json", per_query=True))
    assert data["systems"]["old+x"]["parts"]["value"]["value"] == found["old+x"]["value"].value
    assert len(data["systems"]["old+x"]["per_query"]) == 12
    assert data["attribution"]["effects"]["total"]["value"]["value"] == found.effects["total"]["value"].value
    rows = list(csv.DictReader(io.StringIO(found.show("csv"))))
    assert [float(row["misranked"]) for row in rows] == [found[name]["misranked"].value for name in found]
    per_query = list(csv.DictReader(io.StringIO(found.show("csv", per_query=True))))
    assert len(per_query) == 4 * 12
    assert found.to_frame().height == 4 * 12
    shown = f"{found['old+x']['value'].value:.4f}"
    for name in ("table", "markdown", "html"):
        assert shown in found.show(name)
    assert "Two retrievers × two rerankers" in found.show("markdown")
    assert shown in found._repr_html_()


def test_names_are_escaped_in_pictures_and_pages() -> None:
    run = {"q<b>": ["a", "b"]}
    found = funnel({"q<b>": {"b": 1}}, retrieved={"<i>": run}, reranked={"<u>&": run})
    assert "<u>" not in found._repr_html_()
    assert "<b>" not in found._repr_html_()
    assert "&lt;u&gt;&amp;" in found._repr_html_()


# ---- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rankgauge.write(rankgauge.read_judgments({"q1": {"a": 2, "b": 1}, "q2": {"c": 1}}), str(tmp_path / "qrels.txt"))
    runs: dict[str, Any] = {
        "first": {"q1": ["b", "a", "u"], "q2": ["u", "c"]},
        "second": {"q1": ["a", "u", "b"], "q2": ["c", "u"]},
        "larger": {"q1": ["a", "u", "b", "x", "y"], "q2": ["c", "u"]},
        "more": {"q1": ["a"], "q2": ["c"], "q3": ["z"]},
        "one": {"q1": ["a", "b", "u"]},
        "strange": {"q1": ["x"], "q2": ["y"]},
        "unjudged": {"q9": ["x"]},
    }
    for name, run in runs.items():
        rankgauge.write(rankgauge.read_run(run), str(tmp_path / f"{name}.run"))
    (tmp_path / "empty.run").write_text("")
    return tmp_path


@pytest.fixture
def cli(files: Path, command: Command) -> Command:
    """The command `funnel`, in that folder."""
    return partial(command, "funnel", cwd=files)


def test_the_command_takes_several_rerankers(cli: Command) -> None:
    done = cli("qrels.txt", "--retrieved", "first.run", "--reranked", "second.run", "x=first.run")
    assert (done.code, done.err) == (0, "")
    assert "reranked    second" in done.out
    assert "reranked    x" in done.out


@pytest.mark.parametrize("suffix", ["svg", "png", "html", "json", "csv", "md"])
def test_the_suffix_says_what_is_written(cli: Command, files: Path, suffix: str) -> None:
    if suffix in ("png", "html"):
        pytest.importorskip("vl_convert")
    target = files / f"out.{suffix}"
    done = cli("qrels.txt", "--retrieved", "first.run", "--reranked", "second.run", "-o", target)
    assert (done.code, done.out, done.err) == (0, "", "")
    starts = {"svg": b"<svg", "png": b"\x89PNG", "html": b"<!doctype html>", "json": b"{", "csv": b"run,", "md": b"**"}
    assert target.read_bytes().startswith(starts[suffix])


@pytest.mark.parametrize(
    ("retrieved", "reranked", "more", "message"),
    [
        ("one", "second", (), "ranks 2 documents for query 'q2', for which one has no candidates"),
        ("one", "second", ("--restrict",), "ranks 2 documents for query 'q2', for which one has no candidates"),
        ("first", "larger", (), "2 documents of 1 query are no candidates of first: 'x' (query 'q1', rank 4), 'y'"),
        ("first", "larger", (), "has 3 candidates and 5 reranked"),
        ("first", "second", ("--candidates", "1"), "are no candidates of first: 'a' (query 'q1', rank 1)"),
        ("first", "strange", ("--restrict",), "no document of strange.run is a candidate of first"),
        ("first", "unjudged", (), "no query in common: qrels.txt has 'q1', 'q2', unjudged.run has 'q9'"),
        ("unjudged", "second", (), "no query in common"),
        ("empty", "second", (), "empty.run"),
        ("first", "empty", (), "empty.run"),
        ("first", "absent", (), "absent.run"),
        ("first", "second", ("-m", "AP"), "AP: the parts of a funnel add up to 1 for nDCG"),
        ("first", "second", ("--ties", "average"), "ties=average"),
        ("first", "second", ("--alpha", "2"), "alpha=2.0: a level lies between 0 and 1"),
    ],
)  # fmt: skip
def test_bad_input_is_a_clear_error(
    cli: Command, retrieved: str, reranked: str, more: tuple[str, ...], message: str
) -> None:
    done = cli("qrels.txt", "--retrieved", f"{retrieved}.run", "--reranked", f"{reranked}.run", *more)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


def test_what_is_dropped_and_what_is_not_judged_is_told(cli: Command) -> None:
    done = cli("qrels.txt", "--retrieved", "first.run", "--reranked", "larger.run", "--restrict")
    assert "larger: 2 reranked documents dropped, being no candidates of first." in done.out
    done = cli("qrels.txt", "--retrieved", "first.run", "--reranked", "more.run", "--candidates", "2")
    assert done.code == 0
    assert "more holds 50.0% of the candidates of first." in done.out


# ---- the charts and the report ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_charts_are_valid_and_hold_the_numbers(theme: str) -> None:
    pytest.importorskip("altair")

    found = crossed()
    specs = {name: draw(found, theme=theme).to_dict() for name, draw in DRAWN.items()}
    data = {name: [row for each in spec["datasets"].values() for row in each] for name, spec in specs.items()}
    bars = {(row["run"], row["part"]): row["share"] for row in data["funnel-parts"]}
    assert bars["old+x", "mis-ranked"] == found["old+x"]["misranked"].value
    points = [row for row in data["funnel-ceiling"] if row.get("run") == "new+y"]
    assert sum(row["queries"] for row in points) == 12
    assert sorted(row["oracle"] for row in points for _ in range(row["queries"])) == pytest.approx(
        sorted(found.system("new+y").of("oracle").tolist())
    )
    lines = {(row["line"], row["depth"]): row["value"] for row in data["funnel-depth"]}
    assert lines["old+y", 10] == found.curve["old+y"][0].value
    assert lines["best order, old", 25] == found.curve["old+y"][-1].oracle


def test_very_many_queries_are_drawn_together() -> None:
    judged = {f"q{at}": {"a": 1} for at in range(2_000)}
    drawn = random.Random(3)
    first = {query: [f"d{i}" for i in range(drawn.randrange(9))] + ["a"] for query in judged}
    second = {query: drawn.sample(docs, len(docs)) for query, docs in first.items()}
    found = funnel(judged, retrieved=first, reranked=second)
    assert len(found._repr_html_()) < 100_000


def test_the_report_has_a_section_of_two_stages(files: Path) -> None:
    read = {name: str(files / f"{name}.run") for name in ("first", "second", "larger")}
    made = rankgauge.report(str(files / "qrels.txt"), {"x": read["second"]}, retrieved=read["first"])
    found = funnel(str(files / "qrels.txt"), retrieved=read["first"], reranked={"x": read["second"]})
    assert made.to_dict()["funnel"]["systems"]["x"]["parts"]["value"]["value"] == found["x"]["value"].value
    (section,) = [section for section in made.sections() if section.key == "stages"]
    assert f"| x | {found['x']['value'].value:.4f} | {found['x']['unknown'].value:.4f} |" in made.to_markdown()
    assert section.title in made.to_html()
    plain = rankgauge.report(str(files / "qrels.txt"), {"x": read["second"]}, charts=False)
    assert "stages" not in [section.key for section in plain.sections()]
    assert plain.to_dict()["funnel"] is None
    with pytest.raises(InputError, match="are no candidates of first"):
        rankgauge.report(str(files / "qrels.txt"), {"x": read["larger"]}, retrieved=read["first"])


@pytest.mark.parametrize(
    ("more", "code", "message"),
    [
        (("--retrieved", "first.run"), 2, "are no candidates of first"),
        (("--candidates", "3"), 2, "--candidates goes with --retrieved"),
        (("--retrieved", "first.run", "-m", "AP"), 2, "error: --retrieved (retrieved= in Python) asks for"),
        (("--retrieved", "first.run", "--ties", "average"), 2, "error: --retrieved (retrieved= in Python) asks for"),
        (("--retrieved", "first.run", "--retrieved", "second.run"), 2, "--retrieved is given twice"),
        (("--retrieved", "first.run", "--restrict"), 0, ""),
    ],
)
def test_the_report_refuses_what_the_funnel_refuses(
    command: Command, files: Path, more: Any, code: int, message: str
) -> None:
    done = command("report", "qrels.txt", "larger.run", "-o", "out.md", *more, cwd=files)
    assert done.code == code
    assert message in done.err


# ---- what a run is ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ranking",
    [["a", "b"], ("a", "b"), np.array(["a", "b"]), np.array(["a", "b"], object), {"a": 2, "b": np.float32(1)}],
    ids=["list", "tuple", "array", "objects", "dict"],
)
def test_a_run_is_what_every_reader_takes_for_one(ranking: Any) -> None:
    judged, before = {"q": {"a": 3, "b": 1}}, {"q": ["b", "a"]}
    assert rankgauge.evaluate(judged, {"q": ranking}, ["nDCG@10"])["nDCG@10"] == 1.0
    for reranked, name in (({"x": {"q": ranking}}, "x"), ({"q": ranking}, "reranked")):
        found = funnel(judged, retrieved=before, reranked=reranked)
        assert list(found) == [name]
        assert found[name]["value"].value == 1.0


@pytest.mark.parametrize(
    "rows",
    [
        [("q", "a", 2.0), ("q", "b", 1.0)],
        [{"query_id": "q", "doc_id": "a", "score": 2.0}],
        np.array([("q", "a", 2.0)], dtype=[("query_id", "U1"), ("doc_id", "U1"), ("score", float)]),
        np.array([["q", "a", 2.0]], object),
    ],
    ids=["triples", "dicts", "structured", "matrix"],
)
def test_rows_under_a_name_are_a_run_of_that_name(rows: Any) -> None:
    found = funnel({"q": {"a": 3}}, retrieved={"first": [("q", "b", 2), ("q", "a", 1)]}, reranked={"x": rows})
    assert list(found) == ["x"]
    assert found["x"]["value"].value == 1.0


def test_a_retriever_without_a_reranked_run_is_refused() -> None:
    run = {"q": ["b", "a"]}
    with pytest.raises(InputError, match=r"no reranked run is named after b: give b\+RERANKER too"):
        funnel({"q": {"a": 3}}, retrieved={"a": run, "b": run}, reranked={"a+x": run})


# ---- what must not pass in silence -----------------------------------------------------------------------------------


def test_no_query_in_common_is_told_as_eval_tells_it() -> None:
    judged, run, other = {"q1": {"a": 3}}, {"q1": ["a"]}, {"x1": ["a"]}
    for stages in ((other, other), (run, other), (other, run)):
        for missing in ("zero", "skip"):
            with pytest.raises(MatchError, match="no query in common: judgments has 'q1', run has 'x1'"):
                funnel(judged, retrieved=stages[0], reranked=stages[1], protocol=Protocol(missing=missing))


def test_ties_that_decide_about_more_than_the_lift_are_told() -> None:
    judged = {"q": {"a": 3, "b": 1}}
    tied, clear = {"q": {"a": 1.0, "b": 1.0}}, {"q": {"a": 1.0, "b": 2.0}}
    with pytest.warns(rankgauge.RankgaugeWarning, match=r"retrieved: nDCG@10 is .* only by the order of equal scores"):
        found = funnel(judged, retrieved=tied, reranked={"x": clear})
    low = (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
    words = f"another order of equal scores gives nDCG@10 {low:.4f} to 1.0000 (retrieved)"
    assert [note for note in found.notes if words in note]
    both = funnel(judged, retrieved=tied, reranked={"x": clear, "y": clear})
    assert "".join(both.notes).count("(retrieved)") == 1  # though two systems have its candidates
    assert not any("ties" in note for note in funnel(judged, retrieved=clear, reranked={"x": clear}).notes)


def test_the_run_that_the_attribution_lacks_is_named() -> None:
    run = {"q": ["b", "a"]}
    three = {"one+x": run, "one+y": run, "two+y": run}
    found = funnel({"q": {"a": 3}}, retrieved={"one": run, "two": run}, reranked=three)
    assert found.cross is None
    assert [note for note in found.notes if note.startswith("With two+x too")]
    found = funnel({"q": {"a": 3}}, retrieved={"one": run, "two": run}, reranked={**three, "two+x": run})
    assert found.cross is not None
    assert not found.notes


def test_every_query_tells_judged_shares_harm_and_the_documents_that_fell() -> None:
    judged = {"q1": {"a": 3, "b": 1, "c": 0}, "q2": {"a": 1, "b": 2}}
    before = {"q1": ["a", "b", "c"], "q2": ["a", "b"]}
    after = {"q1": ["c", "b", "a"], "q2": ["b", "a"]}
    found = funnel(judged, retrieved=before, reranked={"x": after}, measure="nDCG@2")
    first, second = found.rows("x")
    assert (first["harmed"], first["fallen"], second["harmed"], second["fallen"]) == (True, ["a"], False, [])
    (head,), one, two = ([line for line in found.show("table", per_query=True).splitlines() if word in line]
                         for word in ("Judged@2 before", " q1 ", " q2 "))  # fmt: skip
    assert "documents that fell" in head
    assert "harmed" in one[0] and "a (3) 1 → 3" in one[0]  # noqa: PT018
    assert "harmed" not in two[0]
    rows = list(csv.DictReader(io.StringIO(found.show("csv", per_query=True))))
    assert [(row["harmed"], row["fallen"]) for row in rows] == [("true", "a"), ("false", "")]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["-m", "nDCG@10", "-m", "nDCG@5"], "--measure is given twice"),
        (["--recall-depth", "5", "--depth", "10"], "--recall-depth is given twice"),
        (
            ["-o", "o.parquet"],
            "no format has the suffix .parquet; expected .txt, .md, .tex, .html, .htm, .json, .csv, .svg or .png",
        ),
        (["-o", "o.pdf"], "no format has the suffix .pdf"),
        (["--format", "csv", "-o", "o.svg"], ".svg is not for csv"),
        (["--per-query", "-o", "o.svg"], "--per-query is a table"),
    ],
)
def test_options_that_would_be_lost_are_refused(cli: Command, files: Path, more: list[str], message: str) -> None:
    there = set(files.iterdir())
    done = cli("qrels.txt", "--retrieved", "first.run", "--reranked", "second.run", *more)
    assert done.code == 2
    assert message in done.err
    assert set(files.iterdir()) == there


def test_the_charts_say_whose_queries_they_show_and_draw_one_depth() -> None:
    pytest.importorskip("altair")

    run = {"q": ["b", "a"]}
    found = funnel({"q": {"a": 3}}, retrieved=run, reranked={"x": run, "y": run})
    rows = {
        key: [row for each in draw(found).to_dict()["datasets"].values() for row in each] for key, draw in DRAWN.items()
    }
    assert [(row["run"], row["query"]) for row in rows["funnel-ceiling"] if "run" in row] == [("x", "q"), ("y", "q")]
    assert [(row["line"], row["depth"]) for row in rows["funnel-depth"]] == [
        ("best order, retrieved", 2), ("x", 2), ("y", 2),
    ]  # fmt: skip


def test_a_reranked_run_needs_a_name_behind_its_retriever() -> None:
    judged, run = {"q": {"a": 1}}, {"q": ["a"]}
    with pytest.raises(InputError, match="name each reranked run after its own"):
        funnel(judged, retrieved={"bm25": run, "dense": run}, reranked={"bm25+": run, "dense+x": run})
    named = funnel(judged, retrieved={"bm25": run, "dense": run}, reranked={"bm25+x": run, "dense+x": run})
    assert [*named] == ["bm25+x", "dense+x"]


@pytest.mark.parametrize(("number", "more"), [(3, False), (4, True)])
def test_three_documents_that_are_no_candidates_are_named(number: int, more: bool) -> None:
    judged, outside = {"q": {"a": 1}}, [f"x{i}" for i in range(number)]
    with pytest.raises(InputError, match=f"{number} documents of 1 query") as refused:
        funnel(judged, retrieved={"q": ["a"]}, reranked={"x": {"q": ["a", *outside]}})
    assert ("'x2' (query 'q', rank 4), …" in str(refused.value)) is more
    assert "'x2' (query 'q', rank 4)" in str(refused.value)


def test_a_harmed_query_names_the_three_documents_that_fell_most() -> None:
    docs = [f"d{i}" for i in range(5)]
    judged = {"q": dict.fromkeys(docs, 1)}
    found = funnel(
        judged, retrieved={"q": [*docs, *"uvwxy"]}, reranked={"x": {"q": [*"uvwxy", *docs]}}, measure="nDCG@5"
    )
    (row,) = found.rows("x")
    assert row["fallen"] == docs[:3]


@pytest.mark.parametrize(("number", "named"), [(3, "(q0, q1, q2)"), (4, "(q0, q1, q2, …)")])
def test_three_queries_without_candidates_are_named(number: int, named: str) -> None:
    judged = {f"q{i}": {"a": 1} for i in range(6)}
    run = {f"q{i}": ["a"] for i in range(number, 6)}
    found = funnel(judged, retrieved=run, reranked={"x": run})
    assert any(f"{number} judged queries with no candidates" in note and named in note for note in found.notes)
