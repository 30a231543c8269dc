"""Tie bands: the ends are those of every order tried, the expectation is their mean, and constant scores are loud."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankgauge
from rankgauge.errors import MeasureError
from rankgauge.matching.match import Hits, match
from rankgauge.measures import MEASURES, parse
from rankgauge.measures.bands.bands import BY_NAME, NEVER_EXACT, sorting_is_exact, tie_band, tie_ends
from rankgauge.protocol import DEFAULT, SIGNED

TEXTS = [
    "nDCG@3", "nDCG", "nDCG(gain=exp)@2", "nDCG(gain={0:1,1:0,2:5})@3", "nDCG(discount=jk2)@4", "nDCG(rel=2)", "DCG@3",
    "IDCG@3", "ERR@3", "ERR", "RBP", "RBP(gain=graded)@3", "RBP(gain=linear)", "RBPResidual@4", "nDCGrel", "Rndcg", "G",
    "P@2", "P(rel=2)@3", "R@3", "RR", "RR@2", "AP", "AP@3", "AP(norm=min)@3",
    "AP(norm=hits)@3", "AP(norm=hits)", "P(by=returned)@3", "RBP(p=0.5)", "Success@2", "F@3", "CappedR@3", "Rprec",
    "RprecMult@0.5",
    "Bpref", "infAP", "binG", "Accuracy", "Accuracy@3", "IPrec@0.5", "11pt_avg", "gm_map", "gm_bpref", "SetP", "SetR",
    "SetRelP", "SetAP", "SetF", "Judged@3", "Unjudged@3", "utility", "NumQ", "NumRet", "NumRel", "NumRelRet@2",
    "NumNonrelRet",
]  # fmt: skip

Ranking = list[tuple[str, float]]


def band_is_listed(judgments: dict[str, int], run: dict[str, float]) -> bool:
    """Whether the orders that differ, by grade and place, are at most as many as would be drawn."""
    return len({tuple(judgments.get(doc) for doc in order) for order in all_orders(run)}) <= 200


def all_orders(run: dict[str, float]) -> list[list[str]]:
    """Every ranking that these scores allow."""
    groups: dict[float, list[str]] = {}
    for doc, score in sorted(run.items(), key=lambda pair: -pair[1]):
        groups.setdefault(score, []).append(doc)
    return [
        [doc for group in choice for doc in group]
        for choice in product(*(list(permutations(group)) for group in groups.values()))
    ]


def values_of_all_orders(
    judgments: dict[str, int], run: dict[str, float], text: str, rules: rankgauge.Protocol = DEFAULT
) -> list[float]:
    rankings = [{doc: -float(rank) for rank, doc in enumerate(order)} for order in all_orders(run)]
    queries = [f"{number:04}" for number in range(len(rankings))]
    several = match(dict.fromkeys(queries, judgments), dict(zip(queries, rankings, strict=True)), rules)
    return [float(value) for value in parse(text)(several)]


@st.composite
def small_cases(draw: st.DrawFn) -> tuple[dict[str, int], dict[str, float]]:
    docs = [f"d{i}" for i in range(5)]
    run = draw(st.dictionaries(st.sampled_from(docs), st.sampled_from([1.0, 2.0, 3.0]), min_size=1))
    judgments = draw(st.dictionaries(st.sampled_from([*docs, "x"]), st.sampled_from([-1, 0, 1, 2, 3]), min_size=1))
    return judgments, run


def test_every_measure_is_tried() -> None:
    own = {name for name, definition in MEASURES.items() if definition.function.__module__.startswith("rankgauge.")}
    assert {parse(text).name for text in TEXTS} == own - {"relstring"} == BY_NAME.keys()


@pytest.mark.filterwarnings("ignore:NO JUDGED")
@pytest.mark.parametrize("text", TEXTS)
@settings(max_examples=20)
@given(case=small_cases())
def test_the_ends_are_those_of_all_orders(text: str, case: tuple[dict[str, int], dict[str, float]]) -> None:
    judgments, run = case
    hits = match({"q": judgments}, {"q": run})
    values = values_of_all_orders(judgments, run, text)
    band = tie_band(hits, text)["q"]
    assert band.exact
    assert band.low == pytest.approx(min(values), abs=1e-12)
    assert band.high == pytest.approx(max(values), abs=1e-12)
    few = MEASURES[parse(text).name].own_aggregate == "mean" and band_is_listed(judgments, run)
    if few or (MEASURES[parse(text).name].averages and "norm=hits" not in text):
        assert band.error == 0
        assert band.expected == pytest.approx(np.mean(values), abs=1e-12)
    else:
        assert band.expected == pytest.approx(np.mean(values), abs=max(6 * band.error, 1e-9))


@pytest.mark.filterwarnings("ignore:NO JUDGED")
@pytest.mark.parametrize(
    "rules",
    [
        {"ideal": "retrieved"}, {"ideal": "retrieved", "empty": "one"}, {"ideal_order": "given"},
        {"ideal_depth": "all"}, {"ideal_depth": "returned"},
        *({"ideal": ideal, "negative": negative} for ideal in ("judged", "retrieved") for negative in SIGNED),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("text", ["nDCG@3", "nDCG(gain=exp)", "DCG@2", "AP@3", "RR", "ERR@3"])
@settings(max_examples=25)
@given(case=small_cases())
def test_sorting_is_exact_under_other_tools_rules(
    text: str, rules: dict[str, str], case: tuple[dict[str, int], dict[str, float]]
) -> None:
    judgments, run = case
    protocol = rankgauge.Protocol(**rules)  # type: ignore[arg-type]
    hits = match({"q": judgments}, {"q": run}, protocol)
    assert sorting_is_exact(hits, parse(text))
    values = values_of_all_orders(judgments, run, text, protocol)
    low, high = tie_ends(hits, parse(text))
    assert low[0] == pytest.approx(min(values), abs=1e-12)
    assert high[0] == pytest.approx(max(values), abs=1e-12)


@pytest.mark.filterwarnings("ignore:NO JUDGED")
@pytest.mark.parametrize("text", NEVER_EXACT)
def test_sorting_is_not_exact_where_it_is_said_not_to_be(text: str) -> None:
    random, wrong = np.random.default_rng(1), 0
    for _ in range(300):
        run = {f"d{i}": float(i > 0) for i in range(5)}
        judgments = {f"d{i}": int(random.integers(-1, 4)) for i in range(6) if random.random() < 0.8}
        judgments["d0"] = 1
        values = values_of_all_orders(judgments, run, text)
        low, high = tie_ends(match({"q": judgments}, {"q": run}), parse(text))
        wrong += low[0] > min(values) + 1e-9 or high[0] < max(values) - 1e-9
    assert wrong


def test_an_expectation_over_few_orders_is_counted() -> None:
    """Of three documents with one score, one relevant, it is first in two orders of six; of another query many orders
    are drawn, and of a third nothing is tied."""
    judgments = {
        "few": {"a": 1, "b": 0, "c": 0},
        "clear": {"a": 1, "b": 0},
        "many": {f"d{i}": i % 3 for i in range(12)},
    }
    run = {"few": dict.fromkeys("abc", 1.0), "clear": {"a": 2.0, "b": 1.0}, "many": {f"d{i}": 1.0 for i in range(14)}}
    band = tie_band(match(judgments, run), "Bpref")
    assert [band["few"].expected, band["few"].error] == pytest.approx([1 / 3, 0], abs=1e-15)
    assert [band["clear"].expected, band["clear"].error] == pytest.approx([1, 0], abs=1e-15)
    assert 0 < band["many"].error < 0.05
    assert 0 < band.mean.error == pytest.approx(band["many"].error / 3, rel=1e-9)
    assert band.mean.expected == pytest.approx((1 / 3 + 1 + band["many"].expected) / 3, abs=1e-12)
    known = tie_band(match({"few": judgments["few"]}, {"few": run["few"]}), "infAP")
    assert (known.draws, known.mean.error) == (None, 0.0)
    assert known.mean.expected == pytest.approx((1 + 1 / 2 + 1 / 3) / 3, abs=1e-4)


def tied_query(size: int, judged: int) -> Hits:
    return match({"q": {f"d{i}": i % 4 for i in range(judged)}}, {"q": {f"d{i}": 1.0 for i in range(size)}})


def test_too_many_orders_to_try_give_at_least() -> None:
    band = tie_band(tied_query(30, 12), "infAP")
    assert not band.mean.exact
    assert band.mean.low <= band.mean.expected <= band.mean.high
    assert 0 < band.mean.error < 0.01
    assert tie_band(tied_query(30, 12), "nDCG@10").mean.exact


def test_a_measure_of_the_users_is_at_least() -> None:
    hits = tied_query(4, 2)
    measure = parse("nDCG@2")
    assert sorting_is_exact(hits, measure)
    MEASURES["Mine"] = replace(measure.definition, name="Mine", averages=False)
    try:
        mine = rankgauge.Measure("Mine", measure.parameters)
        assert not sorting_is_exact(hits, mine)
        assert tie_band(hits, mine).mean.exact  # twelve orders: all were tried
        assert not tie_band(tied_query(60, 30), mine).mean.exact
    finally:
        del MEASURES["Mine"]


def test_python_warns_where_equal_scores_decide(recwarn: pytest.WarningsRecorder) -> None:
    judgments, constant = {"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}
    assert rankgauge.evaluate(judgments, constant)["nDCG@10"] == pytest.approx(0.6309, abs=1e-4)
    (warning,) = recwarn.list
    assert warning.filename == __file__  # it points at the caller
    assert "run: nDCG@10 is 0.6309 only by the order of equal scores, which could give 0.6309 to 1.0000" in str(
        warning.message
    )
    recwarn.clear()
    rankgauge.evaluate({"q": {"a": 1, "c": 1}}, {"q": constant["q"] | {"c": 2.0}})
    (warning,) = recwarn.list
    assert "; 50% of the judged documents found are tied with others." in str(warning.message)
    recwarn.clear()
    rankgauge.evaluate(judgments, constant, protocol={"ties": "average"})
    rankgauge.evaluate({"q": {"a": 1, "b": 1}}, constant)  # tied, and it does not matter
    many = {f"q{i:03}": {"a": 2.0, "b": 1.0} for i in range(99)} | {"tied": {"a": 1.0, "b": 1.0}}
    narrow = rankgauge.evaluate({query: {"a": 1} for query in many}, many)
    assert narrow.notes == [
        "Ties: another order of equal scores gives nDCG@10 0.9963 to 1.0000.",
        "RG206 a ranking has one score for all documents: 1 query.",
    ]
    assert not recwarn.list


@pytest.mark.filterwarnings("ignore:.*only by the order of equal scores")
def test_the_band_of_the_mean_is_the_mean_of_the_bands() -> None:
    judgments = {"a": {"x": 1}, "b": {"x": 1}}
    result = rankgauge.evaluate(judgments, {"a": {"x": 1, "y": 1}, "b": {"x": 2, "y": 1}}, ["RR", "gm_map"])
    band = result.ties("RR")
    assert band.mean[:5] == (0.75, 0.875, 0.75, 1.0, True)
    assert band["a"][:4] == (0.5, 0.75, 0.5, 1.0)
    assert band["b"].width == 0
    assert result.ties("gm_map").mean.high == pytest.approx(1.0)
    weighted = rankgauge.evaluate(judgments, {"a": {"x": 1, "y": 1}, "b": {"x": 2}}, "RR", weights={"a": 3, "b": 1})
    assert weighted.ties("RR").mean.low == 0.625


@pytest.mark.filterwarnings("ignore:.*only by the order of equal scores")
def test_groups_of_queries_have_bands_of_their_own() -> None:
    judgments = {"a": {"x": 1}, "b": {"x": 1}}
    run = {"a": {"x": 1, "y": 1}, "b": {"x": 2, "y": 1}}
    result = rankgauge.evaluate(judgments, run, "RR", by={"a": "tied", "b": "clear"})
    assert result.by["tied"].ties("RR").mean.width == 0.5
    assert result.by["clear"].ties("RR").queries == ["b"]
    assert result.by["clear"].ties("RR").mean.width == 0


@pytest.mark.filterwarnings("ignore:.*only by the order of equal scores")
def test_averaged_ties_have_the_same_band() -> None:
    judgments, run = {"q": {"a": 3, "b": 1}}, {"q": {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.5}}
    averaged = rankgauge.evaluate(judgments, run, "nDCG@2", protocol=rankgauge.Protocol(ties="average"))
    band, plain = averaged.ties("nDCG@2").mean, rankgauge.evaluate(judgments, run, "nDCG@2").ties("nDCG@2").mean
    assert band[1:] == plain[1:]
    assert band.value == band.expected


def test_a_cut_ranking_has_lost_what_was_tied_beyond_the_cut() -> None:
    hits = match({"q": {"a": 1, "b": 1}}, {"q": {"a": 1, "b": 1, "c": 1}}, rankgauge.Protocol(depth=2))
    band = tie_band(hits, "RR").mean
    assert not band.exact
    assert np.isnan(band.expected)


@pytest.mark.filterwarnings("ignore:.*only by the order of equal scores")
def test_a_dialect_whose_definition_does_not_average_has_a_band() -> None:
    judgments, run = {"q": {"a": 3, "b": 0, "c": 1}}, {"q": {"a": 1.0, "b": 1.0, "c": 1.0}}
    with pytest.warns(rankgauge.RankgaugeWarning, match="order is not defined"):
        band = rankgauge.evaluate(judgments, run, "AP@2", dialect="torchmetrics").ties("AP@2").mean
    # of six orders of three documents, the irrelevant one is first in two (1/2), second in two (1), last in two (1)
    assert (band.low, band.high, band.exact) == (0.5, 1.0, True)
    assert band.expected == pytest.approx(5 / 6, abs=1e-12)
    assert band.error == 0


def test_texts_have_no_band() -> None:
    with pytest.raises(MeasureError, match="no band of texts"):
        tie_band(tied_query(4, 2), "relstring")


def test_real_ties(shared: Path) -> None:
    result = rankgauge.evaluate(shared / "dl19/qrels.dl19-passage.txt", shared / "dl19/runs/input.UNH_bm25.gz")
    band = result.ties("nDCG@10").mean
    assert [round(number, 4) for number in (band.value, band.low, band.high)] == [0.4495, 0.4492, 0.4499]
    assert band.low < band.expected < band.high
    assert band.exact
