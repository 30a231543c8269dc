"""Every sentence of a comparison and of a report says what its numbers say.

Sentences are taken from what is shown, taken apart by patterns, and held against the JSON of the same result. One that
no pattern knows is a failure: whoever adds a sentence says here under which condition it may be printed.
"""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import rankgauge
from rankgauge import Comparison, compare
from rankgauge.sampling.sample import read_sample
from rankgauge.show.model import Bullets, Text
from sentences import CASES, OFTEN, is_number

NUMBER, P = r"-?\d+\.\d{4,}", r"p (?:= (?P<p{0}>[\d.]+)|< 0\.0001)"
ENDS = r"(?P<low{0}>-?\d+\.\d{{4,}}) to (?P<high{0}>-?\d+\.\d{{4,}})"
LEAD = r"(?:(?P<lead>On this log|For other searches of this kind), )?"
LEVEL = r"(?P<alpha>\d+) % interval "
DECIDES = (
    r"(?:; (?:(?P<method>[a-z-]+) decides: adjusted|adjusted for (?P<family>\d+) comparisons:) p "
    r"(?:= (?P<p_adjusted>[\d.]+)|< 0\.0001|–))?"
)
OF = r" (?P<measure>\S+)(?: per (?:search|query))?"
SECOND = (
    r"(?:\. (?P<other>On this log|For other searches of this kind), (?:"
    rf"(?P<open>this cannot be told yet) \({P.format('_open')}\)|"
    rf"(?P<too>this holds, too) \((?:{ENDS.format('_too')}; )?{P.format('_too')}\)|"
    rf"\S+ is (?P<turned>better|worse)(?:: (?P<all>all of its queries are known)| \((?:{ENDS.format('_turned')}; )?"
    rf"{P.format('_turned')}\))))?"
)


def answers(of: str = OF, level: str = LEVEL) -> dict[str, re.Pattern[str]]:
    """Every form of the answer about a pair; a brief one has neither measure nor level."""
    sure = rf"(?:(?:{level}{ENDS.format('')})?(?:; )?(?:{P.format('')})?)"
    return {
        "decided": re.compile(
            rf"{LEAD}(?P<a>\S+) is (?P<decision>better|worse) than (?P<b>\S+) by (?P<exactly>exactly )?"
            rf"(?P<size>{NUMBER}){of}(?: on each of (?P<each>\d+) queries)? "
            r"\((?:(?P<change>[\d.]+) % (?P<more>more|less); )?"
            rf"(?:all \d+ queries of the log: no uncertainty of sampling|{sure}{DECIDES})\){SECOND}$"
        ),
        "same": re.compile(
            r"No difference: (?P<a>\S+) and (?P<b>\S+) have the same (?P<measure>\S+) on (?:all (?P<n>\d+) "
            r"queries|the one query)$"
        ),
        "open": re.compile(
            rf"{LEAD}[Nn]o clear winner: (?P<a>\S+) − (?P<b>\S+) is (?P<signed>{NUMBER}){of} \({sure}{DECIDES}\); "
            rf"(?:minimum detectable effect (?P<detectable>{NUMBER})|there is no interval){SECOND}$"
        ),
        "few changed": re.compile(
            rf"Only (?P<changed>\d+) of (?P<n>\d+) queries changed: (?P<a>\S+) − (?P<b>\S+) is (?P<signed>{NUMBER})"
            rf"{of} \({sure}{DECIDES}\): too few to tell$"
        ),
        "one": re.compile(
            rf"One query cannot show a difference: (?P<a>\S+) − (?P<b>\S+) is (?P<signed>{NUMBER})"
            rf"{of}\. Judge at least 6 queries{SECOND}$"
        ),
        "few": re.compile(
            rf"Too few queries to tell: (?P<a>\S+) − (?P<b>\S+) is (?P<signed>{NUMBER}){of} \({sure}{DECIDES}\); "
            rf"(?P<n>\d+) (?:query|queries)(?P<chance> left to chance)? cannot show a significant difference{SECOND}$"
        ),
    }


ANSWERS, BRIEF = answers(), answers("", "")
HIGHEST = re.compile(
    rf"Highest (?P<measure>\S+)(?: per \w+)?: (?P<best>\S+), (?P<mean>{NUMBER})(?:; (?:(?P<all>all others are worse)|"
    r"not significantly different: (?P<level>.+?)) \(adjusted for (?P<family>\d+) comparisons?\)\. A winner's mean is "
    r"optimistic: it was chosen for being high)?\.$"
)


def holds(
    words: str, pairs: dict[tuple[str, str], dict[str, Any]], alpha: float, forms: dict[str, re.Pattern[str]] = ANSWERS
) -> str:
    """Assert that an answer about a pair is that of its numbers; the name of its form."""
    name, found = next((n, m) for n, pattern in forms.items() if (m := pattern.match(words)))
    said, pair = found.groupdict(), pairs[found["a"], found["b"]]
    low, high = pair["difference"]["low"], pair["difference"]["high"]
    decided = pair["p"] if pair["decided_by"] == "p" else pair["p_adjusted"]
    assert (pair["decision"] != "not significant") == (name == "decided")
    if "p" in said and not pair["census"]:
        without = pair.get("population") == "log" and low is not None  # the second sentence has the other p
        assert " p < " in words or is_number(said["p"], pair["p"]) or without
        assert (said.get("low") is not None) == (low is not None)
    if said.get("p_adjusted") and not pair["census"]:
        assert is_number(said["p_adjusted"], pair["p_adjusted"])
        assert said["method"] == (None if pair["decided_by"] == "p" else pair["decided_by"])
        assert said["family"] is None or int(said["family"]) == pair["comparisons"]
    if said.get("low"):
        ends = (low, high) if pair["decision"] != "worse" else (-high, -low)
        assert all(is_number(said[end], value) for end, value in zip(("low", "high"), ends, strict=True))
        assert (low <= 0 <= high) == (pair["p"] > alpha)
        assert (float(said["low"]) <= 0 <= float(said["high"])) == (low <= 0 <= high)  # as it is read, too
    if name == "decided":
        assert said["decision"] == pair["decision"] == ("better" if pair["difference"]["value"] > 0 else "worse")
        assert is_number(said["size"], abs(pair["difference"]["value"]))
        assert pair["census"] or decided <= alpha
        assert (said["exactly"] is not None) == pair["constant"]
        if said["change"]:
            change = 100 * pair["relative"]["value"]
            assert abs(abs(change) - float(said["change"])) <= 0.51 * 10 ** -len(said["change"].partition(".")[2])
            assert (said["more"] == "more") == (change > 0)
    elif name == "same":
        assert pair["ties"] == pair["queries"] == int(said["n"] or 1)
    else:
        assert is_number(said["signed"], pair["difference"]["value"])
        assert pair["wins"] + pair["losses"] > 0
        assert decided > alpha or low is None
        assert (pair["queries"] == 1) == (name == "one")
        if said.get("detectable"):
            assert is_number(said["detectable"], pair["detectable"])
        if name == "few changed":
            assert int(said["changed"]) == pair["changed"] == pair["wins"] + pair["losses"] < 6 <= int(said["n"])
        if name == "few":
            assert int(said["n"]) == pair["units"] < 6
            assert (said["chance"] is None) == (pair["units"] == pair["queries"])
    if said.get("other"):
        other = pair["reading"]
        assert (said["other"] == "On this log") == (other["population"] == "log")
        assert said.get("lead") != said["other"]
        assert (said["open"] is not None) == (other["decision"] == "not significant")
        assert (said["all"] is not None) == (other["p"] is None)
        if said["turned"]:
            assert said["turned"] == other["decision"]
        if said["open"]:
            assert is_number(said["p_open"], other["p"])
    return name


def checked_highest(words: str, compared: dict[str, Any]) -> None:
    """Assert that nobody has a higher mean, and that those named are the ones that the adjusted p does not part."""
    found = HIGHEST.match(words)
    assert found is not None, words
    means = {name: each["mean"]["value"] for name, each in compared["systems"].items()}
    best = found["best"]
    assert means[best] == max(means.values())
    assert is_number(found["mean"], means[best])
    if found["family"] is None:
        return
    assert int(found["family"]) == len(compared["pairs"])
    against = {
        (pair["b"] if pair["a"] == best else pair["a"]): pair
        for pair in compared["pairs"]
        if best in (pair["a"], pair["b"])
    }
    assert against.keys() == means.keys() - {best}
    known = {
        name: bool(pair["difference"]["value"])
        if pair["census"]
        else pair["p_adjusted"] <= 0.05 and (pair["constant"] or pair["difference"]["low"] is not None)
        for name, pair in against.items()
    }
    level = [] if found["all"] else re.split(", | and ", found["level"])
    more = sum(int(each.split()[0]) for each in level if each.endswith(" more"))
    named, equal = (
        {each for each in level if not each.endswith(" more")},
        {n for n, apart in known.items() if not apart},
    )
    assert named <= equal
    assert len(named) + more == len(equal)


def both_ways(comparison: Comparison) -> dict[tuple[str, str], dict[str, Any]]:
    """(a, b) → the numbers of a − b, for every pair that was compared."""
    from rankgauge.comparison.comparison import _pair_data
    from rankgauge.shown import clean

    pairs = [*comparison.pairs, *(pair.turned() for pair in comparison.pairs)]
    return {(pair.a, pair.b): clean(_pair_data(pair)) for pair in pairs}


def lead_of(result: Any) -> list[str]:
    """The sentences that come first."""
    blocks = next(iter(result.sections())).blocks
    return list(next(block for block in blocks if isinstance(block, Bullets)).items)


def values_of(random: np.random.Generator) -> tuple[dict[str, dict[str, float]], dict[str, Any]]:
    """Values of systems in any order, and how they are compared: ties, equal systems, few queries, samples."""
    queries, systems = int(random.choice([1, 3, 6, 8, 20, 40])), int(random.integers(2, 7))
    base, spread = random.random((queries, 1)), float(random.choice([0.02, 0.1, 0.3]))
    table = base + spread * random.standard_normal((queries, systems)) + 0.1 * random.standard_normal(systems)
    table = np.clip(table, 0, 1).round(int(random.choice([1, 2, 9])))
    for system in range(1, systems):
        kind = random.random()
        if kind < 0.15:  # the same, or but for a few queries
            kept = table[:, system].copy()
            table[:, system] = table[:, 0]
            few = random.choice(queries, min(queries, int(random.integers(0, 4))), replace=False)
            table[few, system] = kept[few]
        elif kind < 0.2:
            table[:, system] = table[:, 0] + 0.125
    names = [f"s{number}" for number in random.permutation(systems)]
    ids = [f"q{number:02}" for number in range(queries)]
    values = {name: dict(zip(ids, table[:, at].tolist(), strict=True)) for at, name in enumerate(names)}
    how: dict[str, Any] = {"flips": 500}
    if random.random() < 0.3:
        how["baseline"] = str(random.choice(names))
    if random.random() < 0.2:
        how["method"] = str(random.choice(["maxt", "holm", "none"]))
    if random.random() < 0.35:
        inclusion = np.where(random.random(queries) < 0.3, 1.0, random.random(queries) * 0.8 + 0.1)
        traffic = (1 + 50 * inclusion**2).round()
        how["sample"] = read_sample(
            {"query_id": ids, "traffic": traffic, "inclusion": inclusion, "stratum": ["traffic"] * queries}
        )
        how |= {"population": str(random.choice(["log", "future"])), "per": str(random.choice(["search", "query"]))}
    return values, how


@pytest.mark.parametrize("cases", CASES)
def test_every_sentence_of_a_comparison_holds(cases: int) -> None:
    random, forms = np.random.default_rng(34), set()
    for _ in range(cases):
        values, how = values_of(random)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = compare(None, values, "nDCG@10", **how)
        pairs, data = both_ways(found), json.loads(found.show("json"))["measures"]["nDCG@10"]
        for words in lead_of(found):
            if words.startswith("Highest"):
                checked_highest(words, data)
                forms.add("highest")
            else:
                forms.add(holds(words.removesuffix("."), pairs, 0.05))
        for pair in found.pairs:
            holds(pair.verdict, pairs, 0.05)
            holds(pair.turned().verdict, pairs, 0.05)
    assert forms >= {"decided", "open", "same", "few", "few changed", "highest"}


# ---- reports ---------------------------------------------------------------------------------------------------------


def runs_of(random: np.random.Generator) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Judgments, runs in any order, and how they are reported on."""
    queries, systems = int(random.choice([1, 4, 8, 24])), int(random.integers(1, 6))
    ids, docs = [f"q{number:02}" for number in range(queries)], [f"d{number}" for number in range(6)]
    judgments = {query: {doc: int(random.integers(0, 4)) for doc in docs} | {"d0": 2} for query in ids}
    noise = random.choice([0.5, 1.5, 3.0], systems)
    runs = {
        f"s{number}": {
            query: {doc: grade + noise[at] * float(random.standard_normal()) for doc, grade in judgments[query].items()}
            for query in ids
        }
        for at, number in enumerate(random.permutation(systems))
    }
    if systems > 1 and random.random() < 0.2:
        first, second, *_ = runs
        runs[second] = {query: dict(each) for query, each in runs[first].items()}
    how: dict[str, Any] = {"flips": 200, "charts": False, "examples": 1}
    if random.random() < 0.4:
        how["baseline"] = str(random.choice(list(runs)))
    if random.random() < 0.5:
        how["by"] = {query: "abc"[at % 3] for at, query in enumerate(ids)}
    return judgments, runs, how


def sentences_of(report: Any) -> Iterator[str]:
    """What the summary and the details say, sentence by sentence."""
    for section in report.sections():
        if section.key in ("summary", "changes"):
            for block in section.blocks:
                if isinstance(block, Text):
                    yield block.words
                elif isinstance(block, Bullets) and block.kind != "warning" and not block.links:
                    yield from block.items


def of_pair(report: Any, measure: str) -> Any:
    return report.facts.comparison[measure].pair(*report.facts.focus)


def check_ahead(found: re.Match[str], report: Any) -> None:
    pair = of_pair(report, "nDCG@5")
    counts = (pair.a, pair.b, pair.wins, pair.losses, pair.ties, pair.queries)
    assert (found[1], found[2], *(int(found[at].replace(",", "")) for at in (3, 4, 5, 6))) == counts


def check_moved(found: re.Match[str], report: Any) -> None:
    values, pair = report.facts.first, report.facts.versus
    apart = dict(zip(values.queries, values.difference(pair.a, pair.b).tolist(), strict=True))
    most = (max if found[2] == "gains" else min)(apart.values())
    assert apart[found[1]] == most
    assert (most > 0) == (found[2] == "gains")
    assert most != 0


def check_other(found: re.Match[str], report: Any) -> None:
    pair = of_pair(report, "RR")
    words, first = found[0], report.facts.versus
    assert is_number(found["size"].lstrip("+"), pair.difference) if found["size"] else pair.ties == pair.queries
    if "shows no clear difference" in words:
        assert pair.decision == "not significant"
        assert pair.p > 0.05 or math.isnan(pair.interval[0])
    elif "disagrees" in words:
        assert {pair.decision, first.decision} == {"better", "worse"}
    elif "agrees" in words:
        assert pair.decision == first.decision != "not significant"
    elif "is the same" not in words:
        assert (pair.decision in words, first.decision) == (True, "not significant")


def check_groups(found: re.Match[str], report: Any) -> None:
    groups = {
        name: part.pair(*report.facts.focus).difference for name, part in report.facts.comparison.first.groups.items()
    }
    if "loses" in found[0]:
        assert groups[found["loser"]] == min(groups.values()) < 0 < max(groups.values()) == groups[found["winner"]]
        return
    gain = found["word"] == "gain"
    ends = (max(groups.values()), min(groups.values()))
    assert (groups[found["largest"]], groups[found["smallest"]]) == (ends if gain else ends[::-1])
    assert min(groups.values()) >= 0 if gain else max(groups.values()) <= 0


SIGNED = r"(?P<size>[+-]?\d\.\d{4})"
TOLD: dict[str, Callable[[re.Match[str], Any], None]] = {
    r"Query by query, (\S+) is ahead of (\S+) on (\S+), behind on (\S+) and equal on (\S+) of (\S+)\.$": check_ahead,
    r"Query (\S+) (gains|loses) most: nDCG@5 .*\.$": check_moved,
    r"RR is the same on every query(?P<size>)\.$": check_other,
    rf"RR (?:shows no clear difference|(?:dis)?agrees: \S+ is \w+) \({SIGNED}; p .*\)\.$": check_other,
    rf"By RR, \S+ is (?:better|worse) \({SIGNED}; p .*\)\.$": check_other,
    r"(?P<loser>\S+) loses \S+ \(.*\), (?P<winner>\S+) gains \S+ \(.*\)\.$": check_groups,
    r"The (?P<word>gain|loss) is largest in (?P<largest>\S+) \(.*\) and smallest in (?P<smallest>\S+) ": check_groups,
}


def told(words: str, report: Any) -> str:
    """Assert that a sentence of a report holds; the pattern that it has."""
    if words.startswith("Highest"):
        checked_highest(words, json.loads(report.facts.comparison.show("json"))["measures"]["nDCG@5"])
        return "Highest"
    for pattern, check in TOLD.items():
        if found := re.match(pattern, words):
            check(found, report)
            return pattern
    if report.facts.comparison is None:
        if len(report.facts.results) > 1:  # with one query, which `compare` says in the same words
            results = report.facts.results.items()
            runs = {name: dict(zip(r.query_ids, r.measured[r.measures[0]], strict=True)) for name, r in results}
            assert words == f"{compare(None, runs, 'nDCG@5').pair(*report.facts.focus).verdict}."
            return "one"
        assert re.match(r"nDCG@5 of \S+ is", words), words
        return "alone"
    return holds(words.removesuffix("."), both_ways(report.facts.comparison), 0.05)


@pytest.mark.parametrize("cases", CASES)
def test_every_sentence_of_a_report_holds(cases: int) -> None:
    random, forms = np.random.default_rng(35), set()
    for _ in range(cases):
        judgments, runs, how = runs_of(random)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = rankgauge.report(judgments, runs, ["nDCG@5", "RR"], **how)
        forms |= {told(words, report) for words in sentences_of(report)}
    assert forms >= {"decided", "open", "Highest", "alone"}
    assert len(forms) >= (8 if cases == OFTEN else len(TOLD) + 6)


def test_the_best_first_is_no_winner_over_what_it_was_compared_with() -> None:
    """Three runs, the best one first, as one lists them: the report called the second one better than the others."""
    ids = [f"q{number:02}" for number in range(20)]
    judgments = {query: {"a": 3, "b": 2, "c": 1, "d": 0} for query in ids}
    order = {"s00": "abcd", "s01": "bacd", "s02": "dcba"}
    runs = {name: {q: {doc: 4.0 - at for at, doc in enumerate(docs)} for q in ids} for name, docs in order.items()}
    report = rankgauge.report(judgments, runs, "nDCG@5", charts=False)
    words = [*sentences_of(report)]
    assert words[0].startswith("s01 is worse than s00 by exactly ")
    (highest,) = (each for each in words if each.startswith("Highest"))
    assert highest.startswith("Highest nDCG@5: s00, 1.0000; all others are worse (adjusted for 3 comparisons).")
    assert not any("better than each" in each for each in words)


# ---- equal scores ----------------------------------------------------------------------------------------------------


def tie_band(judgments: Any, runs: dict[str, Any]) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [doubt.text for doubt in compare(judgments, runs, "nDCG@10").warnings if doubt.code == "tie-band"]


def test_equal_scores_that_reverse_nothing_are_no_caution() -> None:
    """The bands touch neither value of the other: a is 0.6309 to 1, b 0.4307 to 0.5; wide as they are together."""
    judgments = {f"q{at}": {"m": 1} for at in range(30)}
    a = {query: {"m": 2.0, "z": 2.0} for query in judgments}
    b = {query: {"x": 4.0, "y": 3.0, "m": 2.0, "a": 2.0} for query in judgments}
    assert tie_band(judgments, {"b": b, "a": a}) == []


def test_equal_scores_that_could_reverse_a_pair_are_a_caution() -> None:
    """The worst order of a's scores is below what b has."""
    judgments = {f"q{at}": {"m": 1} for at in range(30)}
    a = {query: {"m": 2.0, "n": 2.0, "o": 2.0, "p": 2.0} for query in judgments}  # 0.4307 to 1, and 1 by the ids
    b = {query: {"x": 4.0, "m": 2.0} for query in judgments}  # 0.6309
    (words,) = tie_band(judgments, {"b": b, "a": a})
    assert words.startswith(
        "nDCG@10: the order of equal scores could undo the difference of a and b; a alone ranges from"
    )
    assert "0.4307 to 1.0000" in words
