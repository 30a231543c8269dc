"""Every sentence of a funnel, of judges, of estimates, of plans and of offline beside online says what its numbers say.

Texts, bullets and notes (those below tables, too) are taken apart by patterns and held against the numbers. One that no
pattern knows is a failure: whoever adds a sentence says here under which condition it may be printed.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rankgauge
from rankgauge.errors import InputError
from rankgauge.explanation.funnel.system import PARTS
from rankgauge.reports.found import funnel_lead
from rankgauge.sampling.sample import read_sample
from rankgauge.show.model import Bullets, Notes, Table, Text, every_block
from test_sentences import ALL, CASES, is_number

Check = Callable[[re.Match[str], Any], None]
FLOAT = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"


def printed(result: Any) -> Iterator[str]:
    """Every sentence that is shown outside the cells of tables."""
    for block in every_block(result.sections()):
        if isinstance(block, Text):
            yield block.words
        elif isinstance(block, Bullets | Notes):
            yield from block.items
        elif isinstance(block, Table):
            yield from block.notes


def told(words: str, rules: dict[str, Check], case: Any) -> str:
    """Assert that a sentence holds; the pattern that it has."""
    for pattern, check in rules.items():
        if found := re.fullmatch(pattern, words):
            check(found, case)
            return pattern
    raise AssertionError(f"no rule for: {words}")


def defined(found: re.Match[str], case: Any) -> None:
    """Of what a word means, there is nothing to check."""


def whole(words: str) -> int:
    return int(words.replace(",", ""))


def near(words: str, value: float, digits: int = 1) -> bool:
    """Whether rounded words are this number, to one unit of their last digit at most."""
    written = words.removesuffix(" %").replace("−", "-").replace("+", "").replace(",", "")
    return abs(float(written) - value) <= digits * 0.501 * 10.0 ** -len(written.partition(".")[2])


def quietly(function: Callable[..., Any], *given: Any, **how: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*given, **how)


def drawn_from(random: np.random.Generator, ids: list[str]) -> Any:
    """A sample by traffic of these queries, some of which were certain."""
    inclusion = np.where(random.random(len(ids)) < 0.3, 1.0, random.random(len(ids)) * 0.8 + 0.1)
    traffic = (1 + 50 * inclusion**2).round()
    return read_sample({"query_id": ids, "traffic": traffic, "inclusion": inclusion, "stratum": ["traffic"] * len(ids)})


# ---- funnel ----------------------------------------------------------------------------------------------------------


def stages_of(random: np.random.Generator) -> SimpleNamespace:
    """Judgments, candidates and their rerankings: good ones, harmful ones, ties, parts, queries that are lacking."""
    queries, docs = int(random.choice([1, 3, 6, 8, 20])), [f"d{at:02}" for at in range(int(random.choice([5, 30, 60])))]
    ids = [f"q{at:02}" for at in range(queries)]
    top = int(random.choice([0, 1, 3], p=[0.05, 0.25, 0.7]))
    judgments: Any = {}
    for query in ids:
        judged = random.random(len(docs)) < random.choice([0.2, 0.6, 1.0])
        grades = random.integers(0, top + 1, len(docs)) * (random.random(len(docs)) < 0.5)
        judgments[query] = {d: int(g) for d, g, there in zip(docs, grades, judged, strict=True) if there} | {"x": 0}
        if random.random() < 0.1:
            judgments[query] = dict.fromkeys(judgments[query], 0)
    retrieved, reranked, kinds = {}, {}, {}
    names = ["bm25", "dense"] if random.random() < 0.3 else ["bm25"]
    rerankers = [f"r{at}" for at in range(int(random.integers(1, 3)))]
    for name in names:
        retrieved[name] = scored(random, judgments, docs, float(random.choice([-0.3, 0.3, 1.0])))
        for reranker in rerankers:
            whose = f"{name}+{reranker}" if len(names) > 1 else reranker
            kinds[whose] = str(random.choice(["worse", "better", "same", "ties", "first", "outside"]))
            reranked[whose] = again(random, judgments, retrieved[name], kinds[whose])
    if len(reranked) == 4 and random.random() < 0.3:
        del reranked["dense+r1"]
    how: dict[str, Any] = {"measure": str(random.choice(["nDCG@5", "nDCG@10", "nDCG(gain=exp)@20"]))}
    how["protocol"] = {"missing": str(random.choice(["zero", "skip"])), "empty": str(random.choice(["zero", "one"]))}
    if random.random() < 0.3:
        how["candidates"] = int(random.choice([3, 20]))
    how["recall_depth"] = int(random.choice([10, 100]))
    how["restrict"] = "candidates" in how or "outside" in kinds.values()
    if random.random() < 0.3:
        how |= {"sample": drawn_from(random, ids), "per": str(random.choice(["search", "query"]))}
    return SimpleNamespace(judgments=judgments, retrieved=retrieved, reranked=reranked, how=how)


def scored(random: np.random.Generator, judgments: Any, docs: list[str], worth: float) -> Any:
    """A run whose scores follow grades so much; some queries may lack."""
    run = {}
    for query, grades in judgments.items():
        some = [doc for doc in docs if random.random() < 0.8]
        run[query] = {doc: worth * grades.get(doc, 0) + float(random.standard_normal()) for doc in some}
    lacking = [query for query in run if random.random() < 0.05]
    return {query: each for query, each in run.items() if query not in lacking or len(run) < 3}


def again(random: np.random.Generator, judgments: Any, run: Any, kind: str) -> Any:
    """The same documents in another order, or some of them."""
    made = {}
    for query, docs in run.items():
        sign = {"worse": -1.0, "better": 1.5}.get(kind, 0.3)
        new = {doc: sign * judgments[query].get(doc, 0) + float(random.standard_normal()) for doc in docs}
        if kind == "same":
            new = dict(docs)
        if kind == "ties":
            new = {doc: round(score) for doc, score in new.items()}
        if kind == "first":
            best = sorted(docs, key=lambda doc: -docs[doc])[:7]
            new = {doc: new[doc] for doc in best}
        if kind == "outside":
            new |= {f"z{at}": float(random.standard_normal()) for at in range(3)}
        if random.random() > 0.07 or len(run) < 3:
            made[query] = new
    return made


def ranks_of(case: Any, name: str) -> dict[str, dict[str, int]]:
    """Query → candidate of a retriever → its rank."""
    order = {query: sorted(docs, key=docs.__getitem__, reverse=True) for query, docs in case.retrieved[name].items()}
    return {q: {doc: at for at, doc in enumerate(docs[: case.how.get("candidates")], 1)} for q, docs in order.items()}


def parts_add_up(found: re.Match[str], case: Any) -> None:
    assert all(sum(case.funnel[name][part].value for part in PARTS) == pytest.approx(1) for name in case.funnel)


def is_ceiling(found: re.Match[str], case: Any) -> None:
    for name in case.funnel:
        assert (case.funnel.system(name).of("oracle") >= case.funnel.system(name).of("value") - 1e-12).all()


def is_lift(found: re.Match[str], case: Any) -> None:
    for name in case.funnel:
        each = {stat: estimate.value for stat, estimate in case.funnel[name].items()}
        assert each["lift"] == pytest.approx(each["value"] - each["retrieved"], abs=1e-12)
        assert each["headroom"] == pytest.approx(each["oracle"] - each["retrieved"], abs=1e-12)
        if each["captured"] == each["captured"]:
            assert each["captured"] == pytest.approx(each["lift"] / each["headroom"])


def curve_of(case: Any, name: str) -> dict[int, float]:
    """Number of candidates that were reranked → value; 0 is the order in which they were retrieved."""
    found = case.funnel
    order = ranks_of(case, found.system(name).retriever)
    own = max((len(order.get(query, ())) for query in found.query_ids), default=1)
    points = {min(point.depth, own): point.value for point in found.curve[name]}
    return {0: found[name]["retrieved"].value} | points


def peaks(found: re.Match[str], case: Any) -> None:
    points = curve_of(case, found["name"])
    best, last, said = max(points.values()), max(points), found.groupdict()
    if said.get("all"):
        assert whole(found["all"]) == last
        assert points[last] >= best - 1e-9
        assert all(value < best - 1e-12 for depth, value in points.items() if depth < last)
    elif said.get("on"):
        assert all(value >= best - 1e-9 for depth, value in points.items() if depth >= whole(found["on"]) > 0)
        assert all(value < best - 1e-12 for depth, value in points.items() if depth < whole(found["on"]))
    elif said.get("both"):
        assert points[whole(found["both"])] >= best - 1e-9
        assert points[last] >= best - 1e-9
        assert whole(found["last"]) == last
        assert min(value for depth, value in points.items() if depth > whole(found["both"])) < best - 1e-12
    elif said.get("first"):
        assert points[whole(found["first"])] >= best - 1e-9
        assert whole(found["last"]) == last
        assert is_number(found["lost"], best - points[last])
        assert points[last] < best
        assert points[last] >= points[0] - 1e-4  # else it harms
    else:
        assert points[0] >= best - 1e-9
        assert points[last] >= best - 1e-9


def harms(found: re.Match[str], case: Any) -> None:
    name, points = found["name"], curve_of(case, found["name"])
    assert is_number(found["value"], points[max(points)])
    assert is_number(found["alone"], points[0])
    assert float(found["value"]) < float(found["alone"])
    assert found["retriever"] == case.funnel.system(name).retriever
    if found["first"]:
        assert points[whole(found["first"])] >= max(points.values()) - 1e-9
        assert is_number(found["best"], max(points.values()))
        assert max(points.values()) > points[0]
    else:
        assert points[0] >= max(points.values()) - 1e-9


def reaches(found: re.Match[str], case: Any) -> None:
    parts = case.funnel[found["name"]]
    assert parts["value"].value == max(case.funnel[name]["value"].value for name in case.funnel)
    assert is_number(found["value"], parts["value"].value)
    assert is_number(found["oracle"], parts["oracle"].value)
    assert is_number(found["lost"], parts["not_retrieved"].value)
    assert (found["per"] or "") == case.funnel.per[1:].capitalize()
    if found["captured"]:
        assert near(found["captured"], 100 * parts["captured"].value)
        assert parts["captured"].value >= 0


def crossed(found: re.Match[str], case: Any) -> None:
    value = {name: each["value"].value for name, each in case.funnel.effects.items()}
    assert value["retriever"] + value["reranker"] == pytest.approx(value["total"], abs=1e-12)
    alone = value["retriever_alone"] + value["reranker_alone"] + value["interaction"]
    assert alone == pytest.approx(value["total"], abs=1e-12)


def dropped(found: re.Match[str], case: Any) -> None:
    order, ids = ranks_of(case, found["retriever"]), case.funnel.query_ids
    second = case.reranked[found["name"]].items()
    assert whole(found["n"]) == sum(len(docs.keys() - order.get(q, {}).keys()) for q, docs in second if q in ids)


def lacking(found: re.Match[str], case: Any) -> None:
    """Of the queries that count, and all of them are named or there are more than three."""
    rows = {row["query_id"]: row for name in case.funnel for row in case.funnel.rows(name)}
    named = found["queries"].removesuffix(", …").split(", ")
    assert len(named) == min(3, whole(found["n"]))
    assert set(named) <= rows.keys()
    for query in named:
        if "no candidates" in found[0]:
            assert query not in case.retrieved[found["name"]]
            mine = [n for n in case.funnel if case.funnel.system(n).retriever == found["name"]]
            all_of_it = [row for n in mine for row in case.funnel.rows(n) if row["query_id"] == query]
            assert all(row["not_retrieved"] == 1 for row in all_of_it)
        else:
            (row,) = [row for row in case.funnel.rows(found["name"]) if row["query_id"] == query]
            assert row["value"] == 0


def holds_share(found: re.Match[str], case: Any) -> None:
    assert float(found["share"]) < 95.05
    if found["first"]:
        order = ranks_of(case, case.funnel.system(found["name"]).retriever)
        kept = {query: docs.keys() & order.get(query, {}) for query, docs in case.reranked[found["name"]].items()}
        most = whole(found["first"])
        assert most == whole(found["again"]) == max(map(len, kept.values()))
        assert all(order[query][doc] <= most for query, docs in kept.items() for doc in docs)


def tied(found: re.Match[str], case: Any) -> None:
    value = {name: case.funnel[name]["value"].value for name in case.funnel}
    value |= {case.funnel.system(name).retriever: case.funnel[name]["retrieved"].value for name in case.funnel}
    for low, high, name in re.findall(r"(\d\.\d{4}) to (\d\.\d{4}) \(([^)]+)\)", found[0]):
        assert float(low) - 1e-4 <= value[name] <= float(high) + 1e-4
        assert float(low) < float(high)


def no_headroom(found: re.Match[str], case: Any) -> None:
    headroom = case.funnel.system(found["name"]).of("headroom")
    assert (whole(found["n"]), whole(found["of"])) == (int((headroom <= 1e-9).sum()), len(headroom))
    captured = case.funnel[found["name"]]["captured"]
    assert captured.low != captured.low


def too_few(found: re.Match[str], case: Any) -> None:
    assert all(each["lift"].low != each["lift"].low for each in (case.funnel[name] for name in case.funnel))


def of_sample(found: re.Match[str], case: Any) -> None:
    assert found["per"] == case.how["per"]
    assert f" per {found['per']}" == case.funnel.per


def missing_cell(found: re.Match[str], case: Any) -> None:
    assert found["run"] not in case.reranked
    assert len(case.reranked) == 3


NAME = r"(?P<name>\S+)"
HARM = (
    rf"(?:Per (?:search|query), )?{NAME} scores (?P<value>\d\.\d{{4}})(?: with all [\d,]+)?, less than "
    r"(?P<retriever>\S+) without it \((?P<alone>\d\.\d{4})\)\. "
    r"(?:Leave it out, or rerank fewer candidates|Rerank only the first (?P<first>[\d,]+) \((?P<best>\d\.\d{4})\))\."
)
FUNNEL: dict[str, Check] = {
    r"Each row adds up to 1\. Mis-ranked is for the reranker to win, not retrieved for the retriever\.": parts_add_up,
    r"The best order of the candidates is the ceiling of every reranker; recall is not\.": is_ceiling,
    r"(?:Unknown|Mis-ranked|Not retrieved|No relevant): [^.]*\.": defined,
    r"Lift: reranked − retrieved\. Headroom: best order − retrieved\. Captured: mean lift / mean headroom\.": is_lift,
    HARM: harms,
    rf"{NAME}: highest with all (?P<all>[\d,]+)\.": peaks,
    rf"{NAME}: highest from the first (?P<on>[\d,]+) on\.": peaks,
    rf"{NAME}: highest with the first (?P<both>[\d,]+), and with all (?P<last>[\d,]+)\.": peaks,
    rf"{NAME}: highest with the first (?P<first>[\d,]+); all (?P<last>[\d,]+) lose (?P<lost>\d\.\d+) of it\.": peaks,
    rf"{NAME}: no higher than without it\.": peaks,
    rf"(?:(?P<per>Per search|Per query), )?{NAME} reaches (?P<value>[\d.]+) of the (?P<oracle>[\d.]+) that the "
    r"candidates of \S+ allow(?:, and captures (?P<captured>[\d.]+) % of what reranking could win)?; (?P<lost>[\d.]+) "
    r"is lost before any reranker\.": reaches,
    r"Retriever and reranker are means over either other one, and add up to both\.": crossed,
    r"From the old pair, retriever, reranker and interaction add up to both as well\.": crossed,
    r"Rank before → after, of documents that gain something; – : not reranked at all\.": defined,
    r"First 0: not reranked\.": defined,
    rf"{NAME}: (?P<n>[\d,]+) reranked documents? dropped, being no candidates of (?P<retriever>\S+)\.": dropped,
    rf"{NAME} has (?P<n>[\d,]+) judged quer(?:y|ies) with (?:a value of 0|no candidates: all of it counts as not "
    r"retrieved) \((?P<queries>[^)]*)\)\.": lacking,
    rf"{NAME} holds (?P<share>[\d.]+)% of the candidates of \S+\.(?: If it saw only the first (?P<first>[\d,]+), say "
    r"--candidates (?P<again>\d+)\.)?": holds_share,
    r"R@\d+ is that of \d+ candidates?: what lies deeper was not given to rerankers\.": defined,
    r"With (?P<run>\S+) too, what each retriever and each reranker brings would be attributed; that run is "
    r"missing\.": missing_cell,
    r"Caution, ties: another order of equal scores gives .*": tied,
    r"Caution: \d+ of \d+ sampled quer.*": defined,
    r"Means are per (?P<per>search|query)\. Sample: .*": of_sample,
    r"No intervals(?: of lift and captured)?: too few queries\.": too_few,
    rf"{NAME}: captured has no interval, because (?P<n>\d+) of (?P<of>\d+) queries have no headroom\.": no_headroom,
    r"Intervals: .*": defined,
}


@pytest.mark.parametrize("cases", CASES)
def test_every_sentence_of_a_funnel_holds(cases: int) -> None:
    random, forms, refused = np.random.default_rng(36), set(), 0
    for _ in range(cases):
        case = stages_of(random)
        try:
            case.funnel = quietly(
                rankgauge.funnel, case.judgments, retrieved=case.retrieved, reranked=case.reranked, **case.how
            )
        except InputError:  # nothing is left of a second stage, or no query
            refused += 1
            continue
        forms |= {told(words, FUNNEL, case) for words in [*printed(case.funnel), funnel_lead(case.funnel)]}
    assert refused < cases / 4
    assert forms >= {HARM, *(each for each in FUNNEL if "highest with" in each and "both" not in each)}
    assert cases < ALL or forms == FUNNEL.keys()
