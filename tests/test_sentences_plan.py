"""Every sentence of a plan, and of offline beside online, says what its numbers say; as in test_sentences_trust.py."""

from __future__ import annotations

import re
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import rankgauge
from rankgauge.comparison.plan import Deviation, plan
from rankgauge.errors import InputError, RankgaugeError
from rankgauge.stats.choice import CRITERIA
from rankgauge.stats.correlation import COEFFICIENTS
from rankgauge.stats.power import power_of, power_of_range
from rankgauge.trust.online.align import align
from sentences import ALL, CASES, Check, defined, is_number, near, printed, quietly, told, whole

# ---- plans -----------------------------------------------------------------------------------------------------------


def plan_of(random: np.random.Generator) -> SimpleNamespace:
    """A deviation or a pilot, and questions to it."""
    how: dict[str, Any] = {"power": float(random.choice([0.8, 0.9, 0.5])), "alpha": float(random.choice([0.05, 0.01]))}
    how["systems"], how["with_baseline"] = int(random.choice([2, 2, 3, 6])), bool(random.random() < 0.3)
    sizes: dict[str, list[Any]] = {"differences": [0.02], "margins": [0.01], "interval_widths": [0.05, 0.1]}
    sizes["query_counts"] = [10, 400]
    for name, several in sizes.items():
        if random.random() < 0.4:
            how[name] = several[: int(random.integers(1, 3))]
    how["expected"] = float(random.choice([0.0, -0.005, 0.01]))
    given: Any = float(random.choice([0.05, 0.2, 0.31]))
    values: Any = None
    if random.random() < 0.5:
        queries, systems = int(random.choice([4, 12, 40])), int(random.choice([2, 4]))
        ids = [f"q{at:02}" for at in range(queries)]
        judgments = {query: {f"d{at}": int(random.integers(0, 4)) for at in range(6)} | {"d0": 2} for query in ids}
        noise = float(random.choice([0.5, 3.0]))
        runs = {
            f"s{at}": {
                q: {d: g + noise * float(random.standard_normal()) for d, g in each.items()}
                for q, each in judgments.items()
            }
            for at in range(systems)
        }
        given = quietly(rankgauge.evaluate_runs, judgments, runs, "nDCG@5")
        values = np.array([list(result.measured[result.measures[0]]) for result in given.values()]).T
    return SimpleNamespace(given=given, values=values, how=how)


def shared_alpha(case: Any) -> float:
    systems: int = case.how["systems"]
    return float(case.how["alpha"]) / ((systems - 1) if case.how["with_baseline"] else systems * (systems - 1) // 2)


def finds(found: re.Match[str], case: Any, queries: int, deviation: float) -> float:
    """The power, or for an interval its width as a share of the size, of so many queries."""
    how, size = case.how, float(found["size"])
    if "interval" in found[0]:
        freedom = queries - 1
        mean = stats.chi.mean(freedom) / np.sqrt(freedom)
        level = stats.t.ppf(1 - how["alpha"] / 2, freedom)
        return float(2 * level * mean * deviation / np.sqrt(queries) / size)
    if "a gate" in found[0]:
        away = size + how["expected"]
        return power_of(deviation, away, queries, alpha=how["alpha"], sides=1)
    if "variance" in found[0]:
        return power_of_range(deviation, size, queries, how["systems"], alpha=how["alpha"])
    return power_of(deviation, size, queries, alpha=shared_alpha(case))


def answers(found: re.Match[str], case: Any) -> None:
    """The queries are the fewest of which the words are true; of a set, the size is the smallest."""
    deviation, queries = case.plan.deviation, whole(found["n"])
    target = case.how["power"] if "interval" not in found[0] else 1.0
    sign = 1 if "interval" not in found[0] else -1
    rounded = 0.02 if queries in case.plan.sets else 1e-9  # the size of a set is rounded in the sentence
    assert sign * (finds(found, case, queries, deviation.value) - target) >= -rounded
    if queries not in case.plan.sets and queries > 2:
        assert sign * (finds(found, case, queries - 1, deviation.value) - target) < 0
    if found["most"]:
        assert sign * (finds(found, case, whole(found["most"]), deviation.interval[1]) - target) >= -1e-9
        assert whole(found["most"]) >= queries
    if "power" in found[0]:
        assert near(found["power"], case.how["power"])
    if "pairs that share" in found[0]:
        assert whole(found["pairs"]) == round(case.how["alpha"] / shared_alpha(case)) > 1
    if "just as good" in found[0]:
        assert case.how["expected"] == 0
    if "truly" in found[0]:
        assert near(found["truly"], case.how["expected"])


def deviates(found: re.Match[str], case: Any) -> None:
    deviation: Deviation = case.plan.deviation
    assert is_number(found["value"], deviation.value)
    if case.values is None:
        assert found["source"] == "given"
        return
    queries, systems = case.values.shape
    square = np.mean([np.var(a - b, ddof=1) for a, b in combinations(case.values.T, 2)])
    assert deviation.value == pytest.approx(np.sqrt(square))
    freedom = (queries - 1) * (systems - 1)
    ends = [np.sqrt(square * freedom / stats.chi2.ppf(tail, freedom)) for tail in (0.975, 0.025)]
    source = f"nDCG@5 of {systems} systems on {queries} queries; 95 % interval {ends[0]:.4f} to {ends[1]:.4f}"
    assert found["source"] == source


def small_pilot(found: re.Match[str], case: Any) -> None:
    assert whole(found["n"]) == len(case.values) < 25


def of_pairs(found: re.Match[str], case: Any) -> None:
    each = [np.std(a - b, ddof=1) for a, b in combinations(case.values.T, 2)]
    assert len(each) > 1
    assert is_number(found["low"], min(each))
    assert is_number(found["high"], max(each))


def upper_end(found: re.Match[str], case: Any) -> None:
    assert case.plan.deviation.interval is not None


FLOAT = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"
SO_MANY = r"(?P<n>[\d,]+) quer(?:y|ies)(?:, at most (?P<most>[\d,]+))?: "
POWER = r"with power (?P<power>[\d.]+)"
PLAN: dict[str, Check] = {
    rf"{SO_MANY}a true difference of (?P<size>{FLOAT}) is found {POWER} \(paired t-test, two-sided\)(?:, in any one of "
    r"(?P<pairs>[\d,]+) pairs that share alpha)?\.": answers,
    rf"{SO_MANY}best and worst of \d+ systems differ by (?P<size>{FLOAT}), and an analysis of variance finds that they "
    rf"are not all equal, {POWER}\.": answers,
    rf"{SO_MANY}a gate with margin (?P<size>{FLOAT}) passes a system that is (?:just as good|truly "
    rf"(?P<truly>[+-][\d.]+)), "
    rf"{POWER} \(one-sided\)\.": answers,
    rf"{SO_MANY}the (?P<level>[\d.]+) % interval of a difference is on average (?P<size>{FLOAT}) wide, from end to "
    r"end\.": answers,
    r"Deviation of the differences: (?P<value>[\d.]+) \((?P<source>.*)\)\.": deviates,
    r"a pilot of (?P<n>\d+) queries is small; look at the upper end\.": small_pilot,
    r"(?:difference|range|margin|width): .*": defined,
    r"at most: so many if the deviation is at the upper end of its interval\.": upper_end,
    r"The deviation is the root mean square over all pairs of systems; of single pairs it is (?P<low>[\d.]+) to "
    r"(?P<high>[\d.]+)\.": of_pairs,
}


@pytest.mark.parametrize("cases", CASES)
def test_every_sentence_of_a_plan_holds(cases: int) -> None:
    random, forms = np.random.default_rng(39), set()
    for _ in range(cases):
        case = plan_of(random)
        try:
            case.plan = plan(case.given, **case.how)
        except InputError:  # a pilot of systems that are equal
            continue
        forms |= {told(words, PLAN, case) for words in printed(case.plan)}
    assert len(forms) >= len(PLAN) - 2
    assert cases < ALL or forms == PLAN.keys()


# ---- offline beside online -------------------------------------------------------------------------------------------


def units_of(random: np.random.Generator) -> SimpleNamespace:
    """Experiments or queries: with noise or on a line, losses, zeros, levels, one that sways, errors, traffic."""
    number = int(random.choice([3, 5, 12, 30]))
    truth = random.normal(0, 0.02, number)
    kind = str(random.choice(["noise", "line", "winners", "levels", "sways", "zeros"]))
    x = truth if kind == "line" else truth + random.normal(0, 0.01, number)
    y = 20 * truth + (0 if kind == "line" else random.normal(0, float(random.choice([0.05, 0.5])), number))
    if kind == "winners":
        x = abs(x)
    if kind == "levels":
        x, y = 0.5 + abs(x), 1 + abs(y)
    if kind == "sways":
        x, y = np.append(x[1:], 0.9), np.append(y[1:], 40.0)
    if kind == "zeros":
        x = x * (random.random(number) < 0.6)
    names = [f"e{at}" for at in range(number)]
    if random.random() < 0.2:
        names[1] = names[0]
    queries = bool(random.random() < 0.3)
    table: dict[str, Any] = {"query_id" if queries else "experiment": names, "delta_nDCG@10": x, "online": y}
    for column in ("delta_DCG@10", "delta_RR")[: int(random.choice([0, 1, 2]))]:
        table[column] = truth + random.normal(0, 0.02, number)
    if random.random() < 0.5:
        table["se"] = np.full(number, float(random.choice([0.01, 0.3, 2.0])))
    if random.random() < 0.3:
        table["traffic"] = random.integers(1, 50, number)
    if random.random() < 0.3:
        table["shipped"] = [str(each) for each in random.choice(["yes", "no"], number)]
    how: dict[str, Any] = {
        "step": float(random.choice([0.01, 0.2])),
        "labels": str(random.choice(["judgments", "clicks"])),
    }
    how |= {"above": float(random.choice([0.0, 0.01])), "criterion": str(random.choice(["pearson", "sign"]))}
    how |= {} if "traffic" not in table else {"weight": "traffic"}
    return SimpleNamespace(table=table, how=how, kind="queries" if queries else "experiments", x=x, y=y, names=names)


def pearson(x: Any, y: Any) -> float:
    return float(stats.pearsonr(x, y)[0]) if np.ptp(x) > 1e-12 and np.ptp(y) > 1e-12 else float("nan")


def without(case: Any, at: int) -> float:
    return pearson(np.delete(case.x, at), np.delete(case.y, at))


def outcome(case: Any) -> Any:
    """1 better, 0 unclear, −1 worse, online."""
    reach = 1.959963984540054 * case.table["se"] if "se" in case.table else 0.0
    return (case.y - reach > 0).astype(int) - (case.y + reach < 0)


def shipped(case: Any) -> Any:
    if "shipped" in case.table:
        return np.array([each == "yes" for each in case.table["shipped"]])
    return case.x > case.how["above"]


def few_units(found: re.Match[str], case: Any) -> None:
    assert whole(found["n"]) == len(case.x) < whole(found["enough"])
    if found["low"]:
        r = case.aligned.first.pearson
        assert near(found["low"], r.low)
        assert near(found["high"], r.high)


def repeated(found: re.Match[str], case: Any) -> None:
    assert case.names.count(found["name"]) == whole(found["n"]) > 1


def levels(found: re.Match[str], case: Any) -> None:
    assert min(case.x) >= 0 <= min(case.y)


def winners(found: re.Match[str], case: Any) -> None:
    assert whole(found["n"]) == (case.x > 0).sum() > 0.9 * len(case.x)
    assert whole(found["all"]) == len(case.x)


def beyond(found: re.Match[str], case: Any) -> None:
    assert near(found["step"], case.how["step"])
    assert case.how["step"] > np.abs(case.x).max()
    assert near(found["largest"], np.abs(case.x).max())


def sways(found: re.Match[str], case: Any) -> None:
    r, at = pearson(case.x, case.y), case.names.index(found["name"])
    assert near(found["r"], r)
    moved = {at: abs(without(case, at) - r) for at in range(len(case.x)) if without(case, at) == without(case, at)}
    same = [place for place, name in enumerate(case.names) if name == case.names[at]]
    if found["left"]:
        assert any(near(found["left"], without(case, place)) for place in same)
        assert any(abs(r - without(case, place)) > 0.2 or r * without(case, place) <= 0 for place in same)
        assert max(moved[place] for place in same) >= max(moved.values()) - 1e-9
    else:
        assert any(without(case, place) != without(case, place) for place in same)


def perfect(found: re.Match[str], case: Any) -> None:
    assert abs(pearson(case.x, case.y)) > 1 - 1e-9
    assert whole(found["n"]) == len(case.x)


def heavy(found: re.Match[str], case: Any) -> None:
    square = (case.y - case.y.mean()) ** 2
    assert case.names[int(square.argmax())] == found["name"]
    assert near(found["share"], 100 * square.max() / square.sum())
    assert square.max() > 0.5 * square.sum()


def noise(found: re.Match[str], case: Any) -> None:
    share = 1 - np.mean(np.square(case.table["se"])) / np.var(case.y, ddof=1)
    if found["share"]:
        assert near(found["share"], 100 * share)
        assert 0 < share < 0.5
    else:
        assert near(found["low"], share)
        assert share <= 0


def unclear(found: re.Match[str], case: Any) -> None:
    assert whole(found["n"]) == (outcome(case) == 0).sum() > len(case.x) / 2


def clicks(found: re.Match[str], case: Any) -> None:
    there = {name for name in ("nDCG", "DCG") if any(f"_{name}@" in column for column in case.table)}
    assert there == {"nDCG", "DCG"} - {found["name"]}
    assert case.how["labels"] == "clicks"


def many(found: re.Match[str], case: Any) -> None:
    columns = sum(column.startswith("delta_") for column in case.table)
    assert (whole(found["n"]), whole(found["of"])) == (columns, len(case.x))
    assert 3 * columns >= len(case.x)


def undirected(found: re.Match[str], case: Any) -> None:
    assert whole(found["n"]) == ((case.x == 0) | (case.y == 0)).sum() > 0


def decided(found: re.Match[str], case: Any) -> None:
    yes = shipped(case) if not re.search("held back|not better", found[0]) else ~shipped(case)
    sign = -1 if re.search(r"online worse|worse online", found[0]) else 1
    assert whole(found["n"]) == (outcome(case)[yes] == sign).sum()
    assert whole(found["of"]) == yes.sum()
    assert ("would be" in found[0]) == ("shipped" not in case.table and case.kind == "experiments")


def by_sign(found: re.Match[str], case: Any) -> None:
    assert "se" not in case.table


def by_interval(found: re.Match[str], case: Any) -> None:
    assert "se" in case.table


def line(found: re.Match[str], case: Any) -> None:
    slope, intercept = np.polyfit(case.x, case.y, 1)
    assert near(found["intercept"], intercept)
    assert near(found["slope"], slope)
    left = case.y - intercept - slope * case.x
    scatter = float(np.sqrt((left**2).sum() / max(len(case.x) - 2, 1)))
    assert float(found["scatter"]) == pytest.approx(scatter, rel=1e-3, abs=1e-9)


def weighted(found: re.Match[str], case: Any) -> None:
    assert "traffic" in case.table


def reliable(found: re.Match[str], case: Any) -> None:
    share = 1 - np.mean(np.square(case.table["se"])) / np.var(case.y, ddof=1)
    assert near(found["share"], share)
    assert (share > 0) == ("Not corrected" not in found[0])


def beyond_one(found: re.Match[str], case: Any) -> None:
    assert abs(case.aligned.first.coefficients["corrected"].value) > 1


def agreeing(values: Any, case: Any) -> tuple[int, int]:
    """In how many the signs are the same, of how many that have both."""
    both = (values != 0) & (case.y != 0)
    return int((np.sign(values) == np.sign(case.y))[both].sum()), int(both.sum())


def held_out(found: re.Match[str], case: Any) -> None:
    share = case.aligned.choice.held_out
    chosen = [np.array(case.table[name])[at] for at, name in enumerate(case.aligned.choice.column)]
    assert agreeing(np.array(chosen), case) == (whole(found["n"]), whole(found["of"]))
    assert all(near(found[end], getattr(share, end)) for end in ("value", "low", "high"))


def flattered(found: re.Match[str], case: Any) -> None:
    same, of = agreeing(np.array(case.table[found["name"]]), case)
    assert (same, of) == (whole(found["n"]), whole(found["of"]))
    assert (found["flatters"] is not None) == (same / of > case.aligned.choice.held_out.value)


def beside(found: re.Match[str], case: Any) -> None:
    for end, name in (("dcg", "delta_DCG@10"), ("ndcg", "delta_nDCG@10")):
        assert near(found[end], pearson(np.array(case.table[name]), case.y))
    assert ("With clicks" in found[0]) == (case.how["labels"] == "clicks")


KIND = "(?:experiments|queries)"
ALIGN: dict[str, Check] = {
    rf"few: (?P<n>\d+) {KIND} say little(?:: here r could be anything from (?P<low>[-\d.]+) to "
    rf"(?P<high>[-\d.]+))?; collect "
    r"(?P<enough>\d+) or more before relying on it\.": few_units,
    r"repeated: '(?P<name>\S+)' is there (?P<n>\d+) times; rows count as independent, so .*": repeated,
    r"levels: neither column has a negative value, so these look like levels and not differences; .*": levels,
    r"only-winners: (?P<n>\d+) of (?P<all>\d+) experiments have an offline gain: .*": winners,
    r"beyond-range: the step of (?P<step>[\d.]+) is beyond every offline difference seen \(the largest is "
    r"(?P<largest>[\d.]+)\); .*": beyond,
    r"one-sways: Pearson's r is (?P<r>[-\d.]+) with and (?P<left>[-\d.]+) without '(?P<name>\S+)'; .*": sways,
    r"one-sways: Pearson's r of (?P<r>[-\d.]+) rests on '(?P<name>\S+)' alone: without it \S+ does not vary(?P<left>);"
    r" .*": sways,
    rf"perfect: every one of the (?P<n>\d+) {KIND} lies on the line, .*": perfect,
    r"heavy-tails: '(?P<name>\S+)' makes (?P<share>\d+)% of the online variance; .*": heavy,
    r"noise: only (?P<share>\d+)% of the variance of the online differences is more than noise; .*": noise,
    r"noise: the online differences vary no more than their standard errors say noise does \(reliability "
    r"(?P<low>[-\d.]+)\)(?P<share>), .*": noise,
    rf"mostly-unclear: (?P<n>\d+) of \d+ online intervals cover 0: most {KIND} do not say which is better\.": unclear,
    r"click-labels: grades are clicks, and there is no (?P<name>\S+) column: .*": clicks,
    rf"many-measures: (?P<n>\d+) offline columns for (?P<of>\d+) {KIND}: .*": many,
    **{re.escape(f"{each.name}: {each.interval}."): defined for each in COEFFICIENTS.values()},
    r"Weighted by (?:precision, w = 1/error²|traffic): Fisher's z with the effective number \(Σw\)²/Σw² for "
    r"n\.": defined,
    r"Not corrected for noise: the reliability, 1 − mean error²/variance, is online (?P<share>[-\d.]+); it must "
    r"be above "
    r"0\.": reliable,
    r"Corrected for noise, r/√reliability: Pearson's interval divided by it, as if it were known\.": defined,
    r"Reliability, 1 − mean error²/variance: online (?P<share>[\d.]+)\.": reliable,
    r"Beyond 1: the errors are overestimated, or the rows are few; read it as high\.": beyond_one,
    rf"Not counted: (?P<n>\d+) (?:{KIND}|experiment|query) of which a difference is 0\.": undirected,
    r"Wilson's interval\.": defined,
    r"(?P<n>\d+) of (?P<of>\d+) (?:would be )?(?:shipped and should not have been \(online worse\)|held back "
    r"and should "
    r"have been shipped \(online better\))\.": decided,
    r"(?P<n>\d+) of (?P<of>\d+) queries are (?:better offline and worse online|not better offline and better "
    r"online)\.": decided,
    r"Without standard errors online better and worse are signs alone, and unclear is 0\.": by_sign,
    r"Unclear: the online interval of 95 % covers 0\.": by_interval,
    r"Least squares: online = (?P<intercept>\S+) (?P<slope>\S+) · offline, deviation around it "
    r"(?P<scatter>\S+)\.": line,
    r"The last is a prediction interval\.": defined,
    r"Not weighted: every \w+ counts once, whatever its traffic\.": weighted,
    rf"Chosen: for each \w+ in turn on all the others, by (?:{'|'.join(re.escape(c.words) for c in CRITERIA.values())})"
    r"\.": defined,
    rf"Held out, what was chosen has the sign of (?P<n>\d+) of (?P<of>\d+) {KIND} \((?P<value>[\d.]+), "
    rf"(?P<low>[\d.]+) to "
    r"(?P<high>[\d.]+)\)\.": held_out,
    r"(?P<name>\S+), chosen on all, has that of (?P<n>\d+) of (?P<of>\d+)(?P<flatters>, which flatters: they chose "
    r"it)?\.": flattered,
    r"Pearson − first: Zou's interval \(2007\); one that covers 0 does not tell the two apart\.": defined,
    r"DCG@10 beside nDCG@10: Pearson (?P<dcg>[-\d.]+) and (?P<ndcg>[-\d.]+)\. (?:DCG matters where grades are "
    r"clicks\.|With "
    r"clicks for grades DCG estimates the reward; trust it first\.)": beside,
}


@pytest.mark.parametrize("cases", CASES)
def test_every_sentence_of_offline_beside_online_holds(cases: int) -> None:
    random, forms, refused = np.random.default_rng(40), set(), 0
    for _ in range(cases):
        case = units_of(random)
        try:
            case.aligned = quietly(align, case.table, **case.how)
        except RankgaugeError:  # a column does not vary
            refused += 1
            continue
        forms |= {told(words, ALIGN, case) for words in printed(case.aligned)}
    assert refused < cases / 4
    assert len(forms) >= len(ALIGN) - 6
    assert cases < ALL or forms == ALIGN.keys()
