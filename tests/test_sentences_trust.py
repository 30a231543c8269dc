"""Every sentence of a funnel, of judges and of estimates says what its numbers say.

Texts, bullets and notes (those below tables, too) are taken apart by patterns and held against the numbers. One that no
pattern knows is a failure: whoever adds a sentence says here under which condition it may be printed.
"""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rankgauge
from rankgauge.errors import InputError, RankgaugeError
from rankgauge.explanation.funnel.system import PARTS
from rankgauge.reports.found import funnel_lead
from rankgauge.sampling.sample import read_sample
from sentences import ALL, CASES, Check, defined, is_number, near, printed, quietly, told, whole


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


# ---- judges ----------------------------------------------------------------------------------------------------------


def judges_of(random: np.random.Generator) -> SimpleNamespace:
    """Judgments of two or three judges who agree on everything, nothing or some, and mostly runs."""
    ids, docs = [f"q{at:02}" for at in range(int(random.choice([1, 2, 6, 7, 20])))], [f"d{at}" for at in range(5)]
    first = {query: {doc: int(random.integers(0, 4)) for doc in docs} for query in ids}
    judges = {"ann": first}
    for name in ["bob", "cy"][: int(random.choice([1, 2]))]:
        kind = random.choice(["same", "none", "some", "one", "other", "two"])
        judges[name] = {
            q: {d: another(random, g, kind, q == ids[0]) for d, g in each.items()} for q, each in first.items()
        }
        if kind == "other":
            judges[name] = {
                query: docs for query, docs in judges[name].items() if random.random() < 0.6 or query == ids[0]
            }
    runs = {}
    for name in [f"s{at}" for at in range(int(random.choice([0, 2, 4])))]:
        noise = float(random.choice([0.3, 1.0, 4.0]))
        runs[name] = {
            query: {doc: grade + noise * float(random.standard_normal()) for doc, grade in each.items()}
            for query, each in first.items()
            if random.random() < 0.8
        }
    how: dict[str, Any] = {}
    if runs:
        rules = {"missing": str(random.choice(["zero", "skip"])), "empty": str(random.choice(["zero", "skip"]))}
        how = {"runs": runs, "measure": "nDCG@3", "protocol": rules}
    return SimpleNamespace(judges=judges, runs=runs, how=how)


def another(random: np.random.Generator, grade: int, kind: str, first: bool) -> int:
    """The grade of another judge: the same, never the same, the same in all but one query, sometimes, or always 2."""
    if kind == "same" or (kind == "one" and not first) or (kind in ("some", "other") and random.random() < 0.6):
        return grade
    return 2 if kind in ("other", "two") else (grade + int(random.integers(1, 4))) % 4


def shared(case: Any, a: str, b: str) -> dict[str, list[tuple[float, float]]]:
    """Query → the grades of both on the documents that both judged."""
    one, other = case.judges[a], case.judges[b]
    both = {q: [(one[q][d], other[q][d]) for d in one[q].keys() & other[q].keys()] for q in one.keys() & other.keys()}
    return {query: pairs for query, pairs in both.items() if pairs}


def kappa_alone(case: Any, a: str, b: str) -> Any:
    (pair,) = [each for each in case.agreement.pairs if (each.a, each.b) == (a, b)]
    assert all(each.low != each.low for each in pair.kappa.values())
    return pair


def agreed(found: re.Match[str], case: Any) -> None:
    both, pair = shared(case, found["a"], found["b"]), kappa_alone(case, found["a"], found["b"])
    assert all(one == other for pairs in both.values() for one, other in pairs)
    assert (whole(found["n"]), whole(found["q"])) == (sum(map(len, both.values())), len(both))
    assert pair.agreement.low != pair.agreement.low


def few_shared(found: re.Match[str], case: Any) -> None:
    assert whole(found["q"]) == len(shared(case, found["a"], found["b"])) < 6
    pair = kappa_alone(case, found["a"], found["b"])
    assert pair.agreement.low != pair.agreement.low


def one_apart(found: re.Match[str], case: Any) -> None:
    both = shared(case, found["a"], found["b"])
    assert sum(any(one != other for one, other in pairs) for pairs in both.values()) == 1
    assert whole(found["q"]) == len(both)
    kappa_alone(case, found["a"], found["b"])


def undecided(found: re.Match[str], case: Any) -> None:
    kappa_alone(case, found["a"], found["b"])
    assert whole(found["q"]) == len(shared(case, found["a"], found["b"])) >= 6


def gave_more(found: re.Match[str], case: Any) -> None:
    pairs = [(a, b) for each in case.agreement.pairs if each.b == found["b"]
             for a, b in [shares_of(shared(case, each.a, each.b))]]  # fmt: skip
    assert any(near(found["over"], over) and near(found["under"], under) for over, under in pairs)


def shares_of(both: dict[str, list[tuple[float, float]]]) -> tuple[float, float]:
    """Of how many per cent of the pairs the second gave more, and less."""
    grades = [each for pairs in both.values() for each in pairs]
    over, under = (sum(sign * (b - a) > 0 for a, b in grades) for sign in (1, -1))
    return 100 * over / max(len(grades), 1), 100 * under / max(len(grades), 1)


def is_bias(found: re.Match[str], case: Any) -> None:
    for each in case.agreement.pairs:
        if each.shared:
            grades = [pair for pairs in shared(case, each.a, each.b).values() for pair in pairs]
            assert each.bias.value == pytest.approx(np.mean([b - a for a, b in grades]))


def decisions(case: Any, judge: str) -> dict[tuple[str, str], str]:
    """Pair of systems → what the comparison says under the labels of a judge."""
    ids = set.intersection(*map(set, case.judges.values()))
    judged = {query: docs for query, docs in case.judges[judge].items() if query in ids}
    compared = quietly(rankgauge.compare, judged, case.runs, case.how["measure"], protocol=case.how["protocol"])
    return {(pair.a, pair.b): pair.decision for pair in compared.pairs}


def moved(one: str, other: str) -> str:
    """What becomes of a significant difference, under another judge."""
    open_ = "not significant"
    if one != open_ and other != open_:
        return "kept" if one == other else "turned round"
    return "lost" if one != open_ else "gained" if other != open_ else ""


def changed(found: re.Match[str], case: Any) -> None:
    here, there = decisions(case, "ann"), decisions(case, found["judge"])
    pairs = {f"{a} and {b}" for (a, b), decision in here.items() if moved(decision, there[a, b]) == found["how"]}
    said = found["pairs"].split("; ")
    more = sum(whole(each.split()[1]) for each in said if each.endswith(" more"))
    named = {each for each in said if not each.endswith(" more")}
    assert named <= pairs
    assert len(named) + more == len(pairs)


def untested(found: re.Match[str], case: Any) -> None:
    ids = set.intersection(*map(set, case.judges.values()))
    for judge in case.judges:
        rows = quietly(
            rankgauge.evaluate_runs,
            {q: case.judges[judge][q] for q in ids}, case.runs, case.how["measure"], protocol=case.how["protocol"],
        )  # fmt: skip
        valued = [
            {q for q, value in zip(each.query_ids, each.measured[each.measures[0]], strict=True) if value == value}
            for each in rows.values()
        ]
        if len(set.intersection(*valued)) < 2:
            return
    raise AssertionError(found[0])


TWO = r"(?P<a>\S+) and (?P<b>\S+)"
AGREE: dict[str, Check] = {
    rf"{TWO} agreed on all (?P<n>[\d,]+) pairs? of (?P<q>[\d,]+) quer(?:y|ies): no interval\.": agreed,
    rf"{TWO} share (?P<q>[\d,]+) quer(?:y|ies), too few for an interval \(six or more\)\.": few_shared,
    rf"{TWO} disagree in 1 of (?P<q>[\d,]+) queries only, too few for an interval of κ\.": one_apart,
    rf"{TWO}: κ has no interval, because few of (?P<q>[\d,]+) queries decide it, or all are alike\.": undecided,
    r"Intervals are over queries: the pairs of a query stay together\.": defined,
    r"Bias: the mean of the second minus the first; above 0, the second is the more lenient\.": is_bias,
    r"(?P<b>\S+) gave more to (?P<over>[\d.]+)% of the pairs and less to (?P<under>[\d.]+)%\.": gave_more,
    r"Kept, lost, gained, turned round: significant differences under \S+ and under the judge\.": defined,
    r"Fewer than two queries have a value of every system: no difference can be tested\.": untested,
    r"Significant differences (?P<how>lost|gained|turned round) under (?P<judge>\S+): (?P<pairs>.*)\.": changed,
}


@pytest.mark.parametrize("cases", CASES)
def test_every_sentence_on_judges_holds(cases: int) -> None:
    random, forms, refused = np.random.default_rng(37), set(), 0
    for _ in range(cases):
        case = judges_of(random)
        try:
            case.agreement = quietly(rankgauge.agree, case.judges, **case.how)
        except RankgaugeError:  # nobody answers what is left
            refused += 1
            continue
        forms |= {told(words, AGREE, case) for words in printed(case.agreement)}
    assert refused < cases / 4
    assert len(forms) >= len(AGREE) - 3
    assert cases < ALL or forms == AGREE.keys()


# ---- estimates of what people would say ------------------------------------------------------------------------------


def labels_of(random: np.random.Generator) -> SimpleNamespace:
    """Labels of a model, of people on some queries, and runs: models that are right, wrong, alike; rare failures."""
    ids, docs = [f"q{at:02}" for at in range(int(random.choice([8, 30, 60])))], [f"d{at}" for at in range(6)]
    truth = {query: {doc: int(random.integers(0, 4)) for doc in docs} | {"d0": 3} for query in ids}
    kind = random.choice(["same", "some", "other"])
    model = {
        query: {doc: another(random, grade, "same" if kind == "same" else "some", False) for doc, grade in each.items()}
        if kind != "other" else dict.fromkeys(each, 2)
        for query, each in truth.items()
    }  # fmt: skip
    some = [query for query in ids if random.random() < random.choice([0.2, 0.5, 0.9])][:30]
    some = some if len(some) > 1 else ids[:2]
    people = {query: dict(truth[query]) for query in some}
    how: dict[str, Any] = {"measure": str(random.choice(["nDCG@3", "RR", "Success@1"]))}
    if random.random() < 0.3 and len(people) > 3:
        del people[some[0]]["d1"]
        how["partly"] = "skip"
    if random.random() < 0.6:
        how["interval_width"] = float(random.choice([0.02, 0.1, 0.5]))
    noise = random.choice([0.0, 0.5, 3.0], int(random.integers(1, 4)))
    runs = {
        f"s{at}": {
            q: {d: g + float(each) * float(random.standard_normal()) for d, g in docs.items()}
            for q, docs in truth.items()
        }
        for at, each in enumerate(noise)
    }
    if len(runs) > 1 and random.random() < 0.2:
        runs["s1"] = {query: dict(each) for query, each in runs["s0"].items()}
    return SimpleNamespace(people=people, model=model, runs=runs, how=how)


def interval(estimate: Any) -> float | None:
    """Its width; None without one."""
    return None if estimate.low != estimate.low else estimate.high - estimate.low


def differing(case: Any, name: str) -> int:
    """In how many queries that people judged what counts is not the commonest value."""
    rules = {query: docs for query, docs in case.people.items() if docs.keys() == case.model[query].keys()}
    sides = [quietly(rankgauge.evaluate_runs, each, case.runs, case.how["measure"]) for each in (rules, case.model)]
    system, _, other = name.partition(" − ")
    counts = []
    for side in sides:
        values = {n: dict(zip(r.query_ids, r.measured[r.measures[0]].tolist(), strict=True)) for n, r in side.items()}
        counts.append([values[system][q] - (values[other][q] if other else 0.0) for q in rules])
    corrected = np.round(np.array(counts[0]) - case.powered[name].power * np.array(counts[1]), 9)
    return len(corrected) - int(np.unique(corrected, return_counts=True)[1].max())


def no_ppi(found: re.Match[str], case: Any) -> None:
    every = [*case.powered.systems, *case.powered.pairs]
    assert whole(found["n"]) == case.powered.judged < 6
    assert all(interval(each.people) is None is interval(each.powered) for each in every)


def alone(found: re.Match[str], case: Any) -> None:
    """They have no interval with the model's help, and those of people alone have one, if they are to be used."""
    for name in found["names"].split(", "):
        assert interval(case.powered[name].powered) is None
        assert differing(case, name) < 6
        assert (interval(case.powered[name].people) is not None) == (found["use"] is not None)
    others = {each.name for each in [*case.powered.systems, *case.powered.pairs]} - {*found["names"].split(", ")}
    for name in others:
        missing = interval(case.powered[name].powered) is None
        assert not missing or (interval(case.powered[name].people) is None) == (found["use"] is not None)


def needs(found: re.Match[str], case: Any) -> None:
    each, judged, width = case.powered[found["name"]], case.powered.judged, case.how["interval_width"]
    assert near(found["width"], width)
    assert interval(each.powered) is not None
    if found["more"]:
        assert whole(found["more"]) == max(0, each.needed - judged)
    else:
        assert each.needed is None
        assert whole(found["all"]) == case.powered.queries
    assert whole(found["alone"]) == max(0, each.needed_alone - judged)
    if each.needed is not None and each.needed + 3 < judged:  # what is there is as narrow already, nearly
        assert interval(each.powered) <= 1.35 * width


def left_out(found: re.Match[str], case: Any) -> None:
    other = [query for query in case.people if case.people[query].keys() != case.model[query].keys()]
    assert whole(found["n"]) == len(other)
    assert found["query"] == other[0]


def is_few(found: re.Match[str], case: Any) -> None:
    assert 6 <= case.powered.judged < whole(found["n"])


PPI: dict[str, Check] = {
    r"No intervals: (?P<n>[\d,]+) queries judged by humans are too few\.": no_ppi,
    r"Intervals of 95 %: .*": defined,
    r"(?P<names>.*): fewer than 6 human-judged queries differ, too few for an interval(?: of human \+ LLM\. (?P<use>"
    r"Use that of human alone))?\.": alone,
    r"For an interval of (?P<width>[\d.]+), (?P<name>.*): (?:all (?P<all>[\d,]+) quer(?:y|ies) do not suffice|(?P<more>"
    r"[\d,]+) more judged by humans); (?P<alone>[\d,]+) more without the model\.": needs,
    r"Left to the LLM: (?P<n>[\d,]+) quer(?:y|ies) of which humans judged other pairs than it, such as "
    r"(?P<query>\S+)\.": (left_out),
    r"Right on average if the human-judged queries (?:that are left )?are a random sample of all\.": defined,
    r"Fewer than (?P<n>\d+) queries are judged by humans: with skewed values the intervals are too narrow\.": is_few,
}


@pytest.mark.parametrize("cases", CASES)
def test_every_sentence_of_estimates_holds(cases: int) -> None:
    random, forms = np.random.default_rng(38), set()
    for _ in range(cases):
        case = labels_of(random)
        case.powered = quietly(rankgauge.ppi, case.people, case.model, case.runs, **case.how)
        forms |= {told(words, PPI, case) for words in printed(case.powered)}
    assert len(forms) >= len(PPI) - 1
    assert cases < ALL or forms == PPI.keys()
