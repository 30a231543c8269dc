"""Every sentence with which a loop ends says what its numbers say: of made results, and of whole loops."""

from __future__ import annotations

import hashlib
import re
import sys
from collections import Counter
from math import log2
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

import rankgauge
from rankgauge.errors import MatchError
from rankgauge.judge.judged import Judged
from rankgauge.judge.scale import GRADED
from rankgauge.read import read_judgments
from rankgauge.sampling.sample import Sample, read_sample
from rankgauge.steps.loop import loop
from rankgauge.steps.looped import Looped, LoopOpen
from rankgauge.trust.judges.licence import BAR, doubt_of_check, doubts_of_grades
from sentences import ALL, Check, near, printed, quietly, told, whole
from test_sentences import BRIEF, both_ways, holds

MADE = [pytest.param(40, id="some"), pytest.param(ALL, id="all", marks=pytest.mark.slow)]
LOOPS = [pytest.param(2, id="some"), pytest.param(40, id="all", marks=pytest.mark.slow)]
K = 5


# ---- made results ----------------------------------------------------------------------------------------------------


def results_of(random: np.random.Generator) -> SimpleNamespace:
    """Labels and runs: equal systems, equal scores, few results, queries without any, unjudged documents, samples."""
    ids = [f"q{at:02}" for at in range(int(random.choice([1, 3, 6, 8, 30])))]
    top = int(random.choice([0, 1, 3], p=[0.1, 0.2, 0.7]))
    judgments = {query: {f"d{at}": int(random.integers(0, top + 1)) for at in range(6)} for query in ids}
    runs = {}
    for name in [f"s{at}" for at in range(int(random.integers(1, 5)))]:
        kind, noise = random.choice(["plain", "ties", "unjudged", "few", "gaps"]), float(random.choice([0.3, 1.0, 3.0]))
        runs[name] = {query: answer(random, judgments[query], kind, noise) for query in ids}
        if kind == "gaps":
            runs[name] = {q: docs for q, docs in runs[name].items() if random.random() < 0.7 or q == ids[0]}
    if len(runs) > 1 and random.random() < 0.15:
        runs["s1"] = {query: dict(docs) for query, docs in runs["s0"].items()}
    about: dict[str, Any] = {}
    if random.random() < 0.5:
        drawn = sample_of(random, ids)
        about = {"sample": drawn, "per": str(random.choice(["search", "query"]))}
        about["population"] = str(random.choice(["log", "future"]))
    check = found_of(random)
    return SimpleNamespace(ids=ids, judgments=judgments, runs=runs, about=about, check=check, judged=judged_of(random))


def answer(random: np.random.Generator, grades: dict[str, int], kind: str, noise: float) -> dict[str, float]:
    """A ranking of one query."""
    docs = {doc: grade + noise * float(random.standard_normal()) for doc, grade in grades.items()}
    if kind == "ties":
        docs = {doc: float(round(score)) for doc, score in docs.items()}
    if kind == "unjudged":
        docs |= {f"u{at}": 3 * float(random.random()) for at in range(4)}
    if kind == "few":
        docs = dict(list(docs.items())[:2])
    return docs


def sample_of(random: np.random.Generator, ids: list[str]) -> Sample:
    """A sample by traffic, mostly with a query that nobody judged."""
    ids = [*ids, *(["q99"] if random.random() < 0.5 else [])]
    inclusion = np.where(random.random(len(ids)) < 0.3, 1.0, random.random(len(ids)) * 0.8 + 0.1)
    traffic = (1 + 50 * inclusion**2).round()
    columns = {"query_id": ids, "traffic": traffic, "inclusion": inclusion, "stratum": ["traffic"] * len(ids)}
    return read_sample(columns)


def found_of(random: np.random.Generator) -> dict[str, Any]:
    """What a check of the judge found."""
    value = float(random.choice([-0.4, 0.05, 0.47, 0.8]))
    ends = random.random() < 0.8
    pairs = int(random.choice([6, 40, 200]))
    best = {} if random.random() < 0.3 else {"people": "s0", "ruler": str(random.choice(["s0", "s1"]))}
    return {
        "judge": "ruler", "people": "people", "pair_count": pairs, "graded": pairs,
        "queries": int(random.choice([1, 7, 20])), "best": best, "same_order": bool(random.random() < 0.1) or None,
        "kappa": {"value": value, "low": value - 0.3 if ends else None, "high": value + 0.2 if ends else None},
        "agreement": {"value": 0.7, "low": None, "high": None}, "bias": {"value": 0.1, "low": None, "high": None},
        **({"paid": "$0.02"} if random.random() < 0.3 else {}),
    }  # fmt: skip


def judged_of(random: np.random.Generator) -> Judged:
    """What a judge said of pairs: of some nothing, or one grade of all."""
    pairs = int(random.choice([1, 12, 60]))
    kind = random.choice(["all", "one", "off", "ends"])
    outcomes: dict[tuple[str, str, int], Any] = {}
    for at in range(pairs):
        grade = {"one": 2.0, "ends": float(random.integers(0, 2))}.get(str(kind), float(random.integers(0, 4)))
        off = kind == "off" and random.random() < 0.4
        failed = ("failed", None, "the answer is 7, which is not on the scale 0–3")
        outcomes["q", f"d{at}", 1] = failed if off else ("graded", grade, None)
    paid: dict[str, Any] = {"cost": 0.01, "currency": "$", "calls": pairs} if random.random() < 0.3 else {}
    return Judged("ruler", "function", GRADED, pairs, outcomes=outcomes, **paid)


def looped_of(case: SimpleNamespace, random: np.random.Generator) -> Looped:
    labels, check, judged = read_judgments(case.judgments), case.check, case.judged
    doubt = doubt_of_check("ruler", check, BAR)
    grades = doubts_of_grades("ruler", judged.grades, judged.graded, GRADED.grades, judged.pairs - judged.graded)
    labels.remarks = [(each.code, each.text) for each in [*([doubt] if doubt else []), *grades]]
    others = [["ann"]] if random.random() < 0.3 else []
    labels.stored = {"rule": {"judges": [["ruler"], *others]}}
    measures = [f"nDCG@{K}", "R@8"]
    evaluation = rankgauge.evaluate_runs(labels, case.runs, measures, **case.about)
    comparison = None
    if len(case.runs) > 1:
        comparison = rankgauge.compare(labels, case.runs, measures, baseline="s0", flips=200, **case.about)
    report = "out/report.html" if random.random() < 0.7 else None
    return Looped("stones", (), 0, (judged,), (check,), evaluation, comparison, report)


# ---- what sentences say ----------------------------------------------------------------------------------------------


def pairs_of(case: Any) -> list[Any]:
    return list(case.looped.comparison.first.pairs)


def named(words: str, case: Any) -> tuple[list[Any], int]:
    """The pairs of systems in words such as "a and b, c and d (2 more pairs)", and how many they are."""
    more = re.search(r" \((\d+) more pairs?\)$", words)
    pairs = words[: more.start()] if more else words
    both = {f"{p.a} and {p.b}": p for p in pairs_of(case)} | {f"{p.b} and {p.a}": p for p in pairs_of(case)}
    listed = [both[each] for each in pairs.split(", ")]
    return listed, len(listed) + (int(more[1]) if more else 0)


def few_queries(found: re.Match[str], case: Any) -> None:
    pair = pairs_of(case)[0]
    assert pair.effective < 25
    assert whole(found["n"]) == pair.units
    assert (found["chance"] is not None) == (pair.population == "log")
    if found["worth"]:
        assert near(found["worth"], pair.effective)


def few_differences(found: re.Match[str], case: Any) -> None:
    listed, number = named(found["pairs"], case)
    few = [pair for pair in pairs_of(case) if 0 < pair.telling < 25]
    assert (number, [*map(id, listed)]) == (len(few), [id(each) for each in sorted(few, key=lambda p: p.telling)[:3]])
    assert (whole(found["n"]), whole(found["of"])) == (listed[0].changed, listed[0].units)
    if listed[0].population is None:
        assert listed[0].changed == listed[0].wins + listed[0].losses


def skewed(found: re.Match[str], case: Any) -> None:
    listed, number = named(found["pairs"], case)
    units = listed[0].units
    assert number == sum(abs(pair.skewness) > 0.25 * units**0.5 for pair in pairs_of(case))
    assert near(found["skewness"], listed[0].skewness)


def adjusted(found: re.Match[str], case: Any) -> None:
    pair = case.looped.comparison.pair(found["a"], found["b"])
    assert pair.decision == found["decision"]
    assert pair.p <= 0.05 < pair.p_adjusted or not np.isfinite(pair.simultaneous[0])
    assert near(found["p"], pair.p_adjusted)
    assert whole(found["n"]) == pair.comparisons == len(pairs_of(case))


def unanswered(found: re.Match[str], case: Any) -> None:
    each = r"(\S+) answers (\d+) of (\d+)(?: \(nDCG@5 ([\d.]+), and ([\d.]+) over these\))?"
    for name, n, of, mean, over in re.findall(each, found[0]):
        assert (int(n), int(of)) == (sum(query in case.runs[name] for query in case.ids), len(case.ids))
        assert int(n) < int(of)
        if mean:
            assert near(mean, mean_of(case, name))
            assert float(over) >= float(mean)


def values_by_hand(case: Any, name: str, order: int = 0) -> list[float]:
    """nDCG@5 of every query; of equal scores the best first (1), or the worst (−1)."""
    found = []
    for query in case.ids:
        grades, docs = case.judgments[query], case.runs[name].get(query, {})
        ranked: list[str] = []
        for score in sorted({*docs.values()}, reverse=True):
            tied = sorted((doc for doc in docs if docs[doc] == score), reverse=True)
            ranked += sorted(tied, key=lambda doc: -order * grades.get(doc, 0)) if order else tied
        gains = [sum(g / log2(at + 2) for at, g in enumerate(each[:K])) for each in (
            [grades.get(doc, 0) for doc in ranked], sorted(grades.values(), reverse=True)
        )]  # fmt: skip
        found.append(gains[0] / gains[1] if gains[1] else 0.0)
    return found


def mean_of(case: Any, name: str, order: int = 0) -> float:
    drawn = case.about.get("sample")
    weights = [1.0] * len(case.ids)
    if drawn is not None:
        at = [drawn.place[query] for query in case.ids]
        searches = drawn.traffic[at] if case.about["per"] == "search" else 1.0
        weights = (searches / drawn.inclusion[at]).tolist()
    return float(np.average(values_by_hand(case, name, order), weights=weights))


def reversible(case: Any) -> list[tuple[str, str]]:
    """The pairs whose better system can be no better than the other, by some order of equal scores."""
    found = []
    for pair in pairs_of(case):
        better, worse = (pair.a, pair.b) if pair.difference > 0 else (pair.b, pair.a)
        ends = mean_of(case, better, -1), mean_of(case, worse, 1)
        open_ = ends != (mean_of(case, better, 1), mean_of(case, worse, -1))
        if abs(pair.difference) > 1e-9 and open_ and ends[0] <= ends[1] + 1e-12:
            found.append((pair.a, pair.b))
    return found


def tie_band(found: re.Match[str], case: Any) -> None:
    listed, number = named(found["pairs"], case)
    wanted = reversible(case)
    assert number == len(wanted)
    assert {(pair.a, pair.b) for pair in listed} <= {*wanted}
    name = found["name"]
    assert near(found["low"], mean_of(case, name, -1))
    assert near(found["high"], mean_of(case, name, 1))


def judged_unequal(found: re.Match[str], case: Any) -> None:
    shares = {name: result.judged[int(found["k"])] for name, result in case.looped.evaluation.items()}
    assert near(found["most"], shares[found["b"]])
    assert near(found["least"], shares[found["a"]])
    assert shares[found["b"]] - shares[found["a"]] > 0.05
    compared = case.looped.comparison[f"nDCG@{K}" if int(found["k"]) == K else "R@8"]
    assert compared.pair(found["a"], found["b"]).decision != "better"


def few_flips(found: re.Match[str], case: Any) -> None:
    raise AssertionError(found[0])  # 200 flips suffice at 0.05


def sample_lacking(found: re.Match[str], case: Any) -> None:
    drawn = case.about["sample"]
    assert (whole(found["n"]), whole(found["of"])) == (len({*drawn.query_ids} - {*case.ids}), len(drawn))
    searches = drawn.traffic / drawn.inclusion
    lost = [query not in case.ids for query in drawn.query_ids]
    assert near(found["share"], 100 * searches[lost].sum() / searches.sum())
    assert found["query"] not in case.ids


def kappa_said(found: re.Match[str], case: Any) -> dict[str, Any]:
    check: dict[str, Any]
    (check,) = [each for each in case.looped.checked if each["judge"] == found["judge"]]
    kappa: dict[str, Any] = check["kappa"]
    assert near(found["kappa"], kappa["value"])
    if found.groupdict().get("low"):
        assert near(found["low"], kappa["low"])
        assert near(found["high"], kappa["high"])
    if "n" in found.groupdict():
        assert whole(found["n"]) == check["graded"]
    return check


def contradicts(found: re.Match[str], case: Any) -> None:
    kappa = kappa_said(found, case)["kappa"]
    assert kappa["value"] < 0
    assert kappa["high"] is None or kappa["high"] < 0


def chance(found: re.Match[str], case: Any) -> None:
    check = kappa_said(found, case)
    assert check["kappa"]["low"] <= 0
    assert check["graded"] >= 30


def checked_few(found: re.Match[str], case: Any) -> None:
    check = kappa_said(found, case)
    assert whole(found["q"]) == check["queries"]
    lack = {"pairs": max(0, BAR.pairs - check["graded"]), "queries": max(0, BAR.queries - check["queries"])}
    said = {
        f"{'queries' if 'quer' in what else 'pairs'}": int(n)
        for n, what in re.findall(r"(\d+) more (pair|quer)", found[0])
    }
    assert said == {what: n for what, n in lack.items() if n}
    assert said


def below_bar(found: re.Match[str], case: Any) -> None:
    check = kappa_said(found, case)
    low = check["kappa"]["low"]
    assert low is None if "no interval" in found[0] else 0 < low < 0.2


def judged_by(found: re.Match[str], case: Any) -> Judged:
    judged: Judged
    (judged,) = [each for each in case.looped.judged if each.judge == found["judge"]]
    return judged


def one_grade(found: re.Match[str], case: Any) -> None:
    assert {*case.grades} == {float(found["grade"])}
    assert whole(found["n"]) == sum(case.grades.values()) >= 20


def scale_said(found: re.Match[str], case: Any) -> None:
    (judged,) = case.looped.judged
    grades, said = case.grades, found.groupdict()
    if said["outside"]:
        assert (whole(said["outside"]), whole(said["answers"])) == (judged.pairs - judged.graded, judged.pairs)
        assert judged.pairs - judged.graded >= 0.05 * judged.pairs
    if said["used"]:
        assert (float(said["used"]), float(said["to"])) == (min(grades), max(grades))
        assert max(grades) < 1.5 or min(grades) > 1.5
    if said["share"]:
        assert (whole(said["share"]), whole(said["all"])) == (grades[float(said["grade"])], sum(grades.values()))


def graded(found: re.Match[str], case: Any) -> None:
    judged = judged_by(found, case)
    assert (whole(found["n"]), whole(found["of"])) == (judged.graded, judged.pairs)
    assert (found["open"] is not None) == (judged.graded < judged.pairs)
    if found["open"]:
        assert whole(found["open"]) == judged.pairs - judged.graded
    assert (found["paid"] or "") == (judged.paid if judged.calls else "")


def checked(found: re.Match[str], case: Any) -> None:
    check = kappa_said(found, case)
    assert (found["low"] is not None) == (check["kappa"]["low"] is not None)
    theirs, own = check["best"].get("people"), check["best"].get("ruler")
    assert (found["theirs"], found["own"]) == ((theirs, own) if theirs and own and theirs != own else (None, None))
    assert (found["paid"] or "") == check.get("paid", "")


def labelled(found: re.Match[str], case: Any) -> None:
    names = case.looped.evaluation.first.judgments.judges
    assert found["names"].split(", ") == names != [each.judge for each in case.looped.judged]


def more_cautions(found: re.Match[str], case: Any) -> None:
    comparison, evaluation = case.looped.comparison, case.looped.evaluation
    every = evaluation.source_doubts if comparison is None else comparison.warnings
    every = [doubt for doubt in every if not doubt.text.startswith("R@8: ")]
    said = sum("Caution: " in words for words in case.said) - len(case.looped.cautions)
    assert whole(found["n"]) == len(every) - said > 0


def answered(found: re.Match[str], case: Any) -> None:
    told = {name: age for part in found["ages"].split("; ") for name, age in named_ages(part)}
    assert told == {name: each.age for name, each in case.looped.asked.items()}
    assert (found["older"] is None) == (set(told.values()) == {"just now"})


def named_ages(part: str) -> list[tuple[str, str]]:
    """Systems and the age of their answers: first, second asked just now."""
    names, _, age = part.partition(" asked ")
    return [(name, age) for name in names.split(", ")]


def reported(found: re.Match[str], case: Any) -> None:
    assert found["path"] == case.looped.report


M, JUDGE, PAIRS = f"Caution: nDCG@{K}: ", r"(?P<judge>\S+)", r"(?P<pairs>\S+ and .*?)"
KAPPA = r"κ (?P<kappa>-?[\d.]+)(?:, (?P<low>-?[\d.]+) to (?P<high>-?[\d.]+))?"
RULES: dict[str, Check] = {
    rf"{M}(?P<n>\d+) quer(?:y|ies)(?P<chance> of the sample that were left to chance)?(?:, worth "
    rf"(?P<worth>[\d.]+) of equal "
    r"weight,)? (?:is|are) few; below 25 .* \(few-queries\)\.": few_queries,
    rf"{M}{PAIRS} differ on few queries \((?P<n>\d+) of (?P<of>[\d,]+)(?:, worth [\d.]+)?\), on which the "
    rf"answer rests; "
    r"below 25 .* \(few-differences\)\.": few_differences,
    rf"{M}few of \d+ queries decide about {PAIRS} \(skewness (?P<skewness>[-\d.]+)\); interval and p are too "
    rf"small; judge "
    r"more queries \(skewed\)\.": skewed,
    rf"{M}adjusted for (?P<n>\d+) comparisons, (?P<a>\S+) is not (?P<decision>better|worse) than (?P<b>\S+) \(p = "
    r"(?P<p>[\d.]+)\)(?: \(and \d+ more pairs?\))?; the verdict holds if you had asked about this pair before "
    r"looking at the "
    r"others \(adjusted\)\.": adjusted,
    r"Caution: queries without an answer count 0 and lower the mean: .* \(unanswered\)\.": unanswered,
    rf"{M}the order of equal scores could undo the difference of {PAIRS}; (?P<name>\S+) alone ranges from "
    rf"(?P<low>[\d.]+) to "
    r"(?P<high>[\d.]+); compare with --ties average \(tie-band\)\.": tie_band,
    r"Caution: Judged@(?P<k>\d+)(?: of answered queries)? is (?P<most>[\d.]+) for (?P<b>\S+) and "
    r"(?P<least>[\d.]+) for (?P<a>\S+): "
    r"what is not judged counts as not relevant, .* \(judged-unequal\)\.": judged_unequal,
    r"Caution: .* \(few-flips\)\.": few_flips,
    r"Caution: (?P<n>\d+) of (?P<of>\d+) sampled quer(?:y|ies) \((?P<share>\d+)% of searches\) were not "
    r"evaluated, such as "
    r"'(?P<query>\S+)': .* \(sample-lacking\)\.": sample_lacking,
    rf"Caution: {JUDGE} contradicts people: {KAPPA} on (?P<n>\d+) pairs?\. Do not use its grades\. .*": contradicts,
    rf"Caution: {JUDGE} agrees with people no better than chance can \({KAPPA} on (?P<n>\d+) pairs?\)\. .*": chance,
    rf"Caution: {JUDGE} was checked on only (?P<n>\d+) pairs? of (?P<q>\d+) quer(?:y|ies) \({KAPPA}\), too few to rely "
    r"on\. .*": checked_few,
    rf"Caution: {JUDGE} agrees with people less than is asked for: {KAPPA} on (?P<n>\d+) pairs?, and (?:the "
    rf"lower end is "
    r"below 0\.2|κ has no interval)\. .*": below_bar,
    rf"Caution: {JUDGE} gave grade (?P<grade>[\d.]+) to all (?P<n>\d+) pairs, so that its grades tell no two documents "
    r"apart\. .*": one_grade,
    rf"Caution: (?:{JUDGE} (?:used (?P<used>[\d.]+)–(?P<to>[\d.]+) on|hardly used) a scale of 0–3: (?P<share>\d+) of "
    r"(?P<all>\d+) grades are (?P<grade>[\d.]+)\. )?(?:(?P<outside>\d+) of (?P<answers>\d+) answers? by ruler "
    r"(?:was|were) "
    r"not on its scale of 0–3\. )?Check the scale in its prompt \(RG407\)\.": scale_said,
    rf"Labels: {JUDGE} graded (?P<n>\d+) of (?P<of>\d+) pairs?(?:, (?P<open>\d+) ha(?:s|ve) no grade \(ask "
    rf"again: rankgauge "
    r"judge --judge \S+ --again\))?(?:, (?P<paid>\S+) this time)?\.": graded,
    rf"{JUDGE} against people: κ (?P<kappa>-?[\d.]+)(?: \((?P<low>-?[\d.]+) to (?P<high>-?[\d.]+)\))?(?:, "
    rf"(?P<paid>\S+) for "
    r"the check)?(?:\. People rank (?P<theirs>\S+) first, \S+ (?P<own>\S+))?\.": checked,
    r"Labels by (?P<names>.*)\.": labelled,
    r"Answers: (?P<ages>.*?)(?:; to ask again: rankgauge loop --again (?P<older>\S+))?\.": answered,
    r"(?P<n>\d+) more cautions? in the report\.": more_cautions,
    r"Report: (?P<path>.*)": reported,
}


def said_by(case: SimpleNamespace) -> set[str]:
    """Assert every sentence of a loop; the forms that there were."""
    looped, forms = case.looped, set()
    case.said = [*printed(looped)]
    pairs = {} if looped.comparison is None else both_ways(looped.comparison)
    verdicts = 0 if looped.comparison is None else len(looped.comparison.first.against(looped.comparison.baseline))
    for words in case.said[:verdicts]:
        forms.add(holds(words.removesuffix("."), pairs, 0.05, BRIEF))
    forms |= {told(words, RULES, case) for words in case.said[verdicts:]}
    if looped.comparison is not None and not any(each in words for words in case.said for each in ("more caution",)):
        assert any("(tie-band)" in words for words in case.said) == bool(reversible(case))
    return forms


@pytest.mark.parametrize("cases", MADE)
def test_every_sentence_at_the_end_of_a_loop_holds(cases: int) -> None:
    random, forms = np.random.default_rng(41), set()
    for _ in range(cases):
        case = results_of(random)
        try:
            case.looped = quietly(looped_of, case, random)
        except MatchError:  # nobody finds anything that is judged
            continue
        case.grades = Counter({grade: number for grade, number in case.judged.grades.items() if number})
        forms |= said_by(case)
    wanted = {*RULES, *BRIEF} - {pattern for pattern in RULES if "few-flips" in pattern}
    assert len(forms) >= len(wanted) - 8
    assert cases < ALL or forms == wanted


# ---- whole loops -----------------------------------------------------------------------------------------------------


SETTINGS = """
[project]
name = "stones"
[documents]
file = "documents.jsonl"
[queries]
{queries}
[systems.first]
call = "{module}:search"
depth = 8
[systems.second]
rerank = "first"
call = "{module}:scores"
[pool]
depth = {depth}
[judges.ruler]
call = "{module}:grade"
[judge]
check = "people.txt"
[evaluate]
measures = ["nDCG@5", "R@8"]
baseline = "first"
"""
ENGINE = """
import hashlib

def number(*words):
    return int(hashlib.md5(" ".join(words).encode()).hexdigest(), 16) % 1000

def worth(query, text):
    return number({seed}, query, text, "worth") % 4

def search(query, k):
    if number({seed}, query, "silent") < {silent}:
        return []
    return sorted((f"d{{at}}" for at in range(20)), key=lambda doc: number({seed}, query, doc))[:k]

def scores(query, documents):
    return [{score} for each in documents]

def grade(query, document):
    honest = worth(query["query"], document["text"])
    return {grade}
"""
NOISE = 'number({seed}, query, "again", each["text"])'
SCORES = [
    "worth(query, each['text'])",
    "-worth(query, each['text'])",
    "0",
    NOISE,
    f"100 * worth(query, each['text']) + {NOISE}",
]
GRADES = ["honest", "2", "3 - honest", "number({seed}, document['text']) % 4", "min(honest, 1)"]


def worth(seed: int, query: str, text: str) -> int:
    """The grade that an honest judge gives there."""
    return int(hashlib.md5(f"{seed} {query} {text} worth".encode()).hexdigest(), 16) % 1000 % 4


def project_of(random: np.random.Generator, folder: Path, at: int) -> Path:
    """A tiny project: systems, judge, log and people, each of some kind; the first judge is no judge, the second is."""
    folder.mkdir()
    module, seed = f"engine_of_loop_{at}", f'"{at}"'
    score, grade = (str(random.choice(kinds)) for kinds in (SCORES, GRADES))
    sampled, size = bool(random.random() < 0.5), int(random.choice([2, 4, 20]))
    if at < 2:
        grade, size = ("2", "honest")[at], 20
    score, grade = score.format(seed=seed), grade.format(seed=seed)
    size = size if sampled or size > 2 else 1
    queries = f'log = "log.csv"\nsample = {size}' if sampled else 'file = "queries.tsv"'
    settings = {"queries": queries, "module": module, "depth": int(random.choice([3, 8]))}
    (folder / "rankgauge.toml").write_text(SETTINGS.format(**settings))
    silent = int(random.choice([0, 200]))
    (folder / f"{module}.py").write_text(ENGINE.format(seed=seed, score=score, grade=grade, silent=silent))
    texts = [f"query{each}" for each in range(1, 31)]
    (folder / "log.csv").write_text(
        "query,count\n" + "".join(f"{text},{1 + 90 // n}\n" for n, text in enumerate(texts, 1))
    )
    (folder / "queries.tsv").write_text("query_id\tquery\n" + "".join(f"{text}\t{text}\n" for text in texts[:size]))
    documents = "".join(f'{{"id": "d{each}", "text": "text {each}"}}\n' for each in range(20))
    (folder / "documents.jsonl").write_text(documents)
    agrees = at == 1 or random.random() < 0.5
    people = [
        (text, f"d{each}", worth(at, text, f"text {each}") if agrees else int(random.integers(0, 4)))
        for text in texts
        for each in range(4)
    ]
    quoted = "".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in people)
    (folder / "people.txt").write_text(quoted)
    return folder


@pytest.mark.parametrize("cases", LOOPS)
def test_every_sentence_of_a_whole_loop_holds(cases: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    random, ended = np.random.default_rng(42), 0
    for at in range(cases):
        folder = project_of(random, tmp_path / f"p{at}", at)
        looped = quietly(loop, folder)
        evaluation, project = looped.evaluation, rankgauge.Project(folder)
        assert evaluation is not None
        about: dict[str, Any] = {}
        if evaluation.first.design is not None:
            about = {"sample": evaluation.first.design.sample, "per": evaluation.first.design.per}
        runs = {name: project.run(name).nested for name in evaluation}
        assert evaluation.first.judgments is not None
        case = SimpleNamespace(looped=looped, runs=runs, about=about, ids=evaluation.first.query_ids)
        case.judgments = evaluation.first.judgments.nested
        with project.store() as store:  # the grades of a check are labels, too
            case.grades = Counter(row.grade for row in store.labels()[0] if row.judge == "ruler")
        said_by(case)
        ended += unfit(looped)
        if unfit(looped):
            with pytest.raises(LoopOpen, match="Fix the judge first"):
                looped.check()
        else:
            looped.check()
    assert 0 < ended < cases


def unfit(looped: Looped) -> bool:
    """Whether the judge cannot judge: one grade for many pairs, or no better than chance by as many."""
    (judged,), checks = looped.judged, looped.checked
    alike = judged.graded >= 20 and sum(number > 0 for number in judged.grades.values()) == 1
    return alike or any(no_better_than_chance(check) for check in checks)


def no_better_than_chance(check: Any) -> bool:
    kappa, enough = check["kappa"], check["graded"] >= 30
    below = kappa["low"] is not None and kappa["low"] <= 0
    against = kappa["value"] is not None and kappa["value"] < 0 and (kappa["high"] is None or kappa["high"] < 0)
    return enough and (below or against) and not (check["same_order"] and check["queries"] >= 8)
