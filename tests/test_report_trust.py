"""The report's sections on judgments: what is open, how judges agree, and what people would say of all queries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankgauge
from command import Command
from rankgauge.errors import DuplicateError, InputError
from test_report import Page, check_tables, check_words, limited, made

JUDGMENTS, RUNS = made()


def second_of(judgments: dict[str, Any], seed: int = 1) -> dict[str, Any]:
    """Another judge, who gives a fifth of the documents another grade."""
    random = np.random.default_rng(seed)
    return {
        query: {doc: int(random.integers(4)) if random.random() < 0.2 else grade for doc, grade in docs.items()}
        for query, docs in judgments.items()
    }


SECOND = second_of(JUDGMENTS)


def table_of(report: Any, key: str) -> list[dict[str, Any]]:
    """The rows of a table of the report, by the heads of its columns; folded ones too."""

    def tables(blocks: list[dict[str, Any]]) -> Any:
        for block in blocks:
            yield from tables(block["blocks"]) if block["type"] == "fold" else [block]

    data = report.to_dict()
    (table,) = (
        block
        for section in data["sections"]
        for block in tables(section["blocks"])
        if block.get("key") == key and block["type"] == "table"
    )
    return [dict(zip([column["head"] for column in table["columns"]], row, strict=True)) for row in table["rows"]]


def section_of(report: Any, key: str) -> dict[str, Any]:
    (found,) = (section for section in report.to_dict()["sections"] if section["key"] == key)
    return dict(found)


# ---- what is open ----------------------------------------------------------------------------------------------------


def test_the_open_interval_is_what_quality_says() -> None:
    report = rankgauge.report(JUDGMENTS, RUNS, charts=False)
    quality = rankgauge.quality(JUDGMENTS, RUNS)
    for row in table_of(report, "unjudged"):
        known = quality.run(row["run"])
        assert (row["nDCG@10"], row["lowest"], row["highest"]) == known.bounds.mean
        assert (row["condensed"], row["expected"]) == (known.condensed, known.expected)
        assert row["Judged@10"] == known.judged
        assert row["nDCG@10"] == pytest.approx(report.facts.first.mean(row["run"]), abs=1e-15)
    pairs = table_of(report, "unjudged-pairs")
    assert len(pairs) == 3
    for row in pairs:
        joint = rankgauge.unjudged_bounds(JUDGMENTS, RUNS[row["system"]], RUNS[row["baseline"]]).mean
        assert (row["difference"], row["lowest"], row["highest"]) == joint
        assert list(RUNS).index(row["system"]) > list(RUNS).index(row["baseline"])  # each against those before it
        assert row["difference"] == pytest.approx(
            report.facts.first.mean(row["system"]) - report.facts.first.mean(row["baseline"])
        )


def test_every_number_of_the_new_sections_is_that_of_the_json() -> None:
    report = rankgauge.report(JUDGMENTS, RUNS, second={"model": SECOND}, charts=False)
    data, page = json.loads(report.to_json()), Page(report.to_html())
    check_tables(page, data)
    check_words(page, data)
    keys = {"unjudged", "unjudged-pairs", "agreement", "confusion-1", "binarised-1", "judged-by", "orders", "disputes"}
    assert keys <= set(page.tables)
    assert report.facts.evidence.agreement is not None
    assert data["evidence"]["agreement"] == json.loads(json.dumps(report.facts.evidence.agreement.to_dict()))


def test_with_weights_the_interval_is_of_the_weighted_mean() -> None:
    weights = {query: float(1 + at % 3) for at, query in enumerate(JUDGMENTS)}
    report = rankgauge.report(JUDGMENTS, RUNS, weights=weights, charts=False)
    bounds = rankgauge.unjudged_bounds(JUDGMENTS, RUNS["s1"])
    shares = [weights[query] for query in bounds.queries]
    (row,) = (row for row in table_of(report, "unjudged") if row["run"] == "s1")
    assert row["nDCG@10"] == pytest.approx(report.facts.first.mean("s1"), abs=1e-15)
    assert row["lowest"] == pytest.approx(np.average(bounds.low, weights=shares), abs=1e-12)
    assert row["highest"] == pytest.approx(np.average(bounds.high, weights=shares), abs=1e-12)


def test_a_baseline_is_what_pairs_are_held_against() -> None:
    report = rankgauge.report(JUDGMENTS, RUNS, baseline="s1", charts=False)
    assert [(row["system"], row["baseline"]) for row in table_of(report, "unjudged-pairs")] == [
        ("s0", "s1"),
        ("s2", "s1"),
    ]
    turned = rankgauge.report(JUDGMENTS, dict(reversed(RUNS.items())), charts=False)  # s2 is the first, and the best
    rows = table_of(turned, "unjudged-pairs")
    assert [(row["system"], row["baseline"]) for row in rows] == [("s1", "s2"), ("s0", "s2"), ("s0", "s1")]
    assert all(row["difference"] < 0 for row in rows)


def test_where_everything_is_judged_nothing_is_open() -> None:
    judgments = {"q": {"a": 1, "b": 0}, "r": {"c": 2, "d": 1}}
    runs = {"x": {"q": {"a": 2.0, "b": 1.0}, "r": {"d": 2.0, "c": 1.0}}}
    (block,) = section_of(rankgauge.report(judgments, runs, charts=False), "open")["blocks"]
    assert block["words"] == "Every document at a rank that counts for nDCG@10 is judged: nothing is open."


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"measures": "P@5"}, "known exactly for nDCG only"),
        ({"protocol": {"ties": "average"}}, "ties=average"),
    ],
)
def test_what_has_no_interval_says_why(options: dict[str, Any], words: str) -> None:
    (block,) = section_of(rankgauge.report(JUDGMENTS, RUNS, charts=False, **options), "open")["blocks"]
    assert words in block["words"]


def test_the_interval_is_of_the_first_measure_that_has_one() -> None:
    report = rankgauge.report(JUDGMENTS, RUNS, ["P@5", "nDCG(gain=exp)@5"], charts=False)
    assert "nDCG(gain=exp)@5" in table_of(report, "unjudged")[0]


def test_a_claim_that_judging_could_turn_round_is_warned_of() -> None:
    """Thirty queries on which one system is a little better, with an unjudged document before everything."""
    judgments = {f"q{at}": {"a": 3, "b": 2, "c": 0} for at in range(30)}
    better = {query: {"a": 3.0, "b": 2.0, "open": 1.0} for query in judgments}
    worse = {query: {"open": 3.0, "a": 2.0, "b": 1.0} for query in judgments}
    worse["q0"] = {"a": 3.0, "b": 2.0, "c": 1.0}
    report = rankgauge.report(judgments, {"better": better, "worse": worse}, charts=False)
    assert report.facts.versus is not None
    assert report.facts.versus.decision == "worse"
    words = section_of(report, "summary")["blocks"][-1]["items"]
    low, high = rankgauge.unjudged_bounds(judgments, worse, better).mean[1:]
    assert low < 0 < high
    assert words[0] == (
        f"30 unjudged documents could turn the order of worse and better round: judged, the difference may be "
        f"{low:+.4f} to {high:+.4f}."
    )
    assert section_of(report, "summary")["blocks"][-1]["links"][0] == "open"
    settled = rankgauge.report(judgments | {q: d | {"open": 0} for q, d in judgments.items()},
                               {"better": better, "worse": worse}, charts=False)  # fmt: skip
    assert not any("could turn" in str(block) for block in section_of(settled, "summary")["blocks"])


def test_what_is_settled_of_one_pair_is_said_of_that_pair() -> None:
    """The best is settled against the baseline and open against the second: both are said, by name."""
    judgments = {f"q{n}": {"a": 1, "b": 0} for n in range(30)}
    poor = {query: {"b": 2.0, "x": 1.0} for query in judgments}
    good = {query: {"a": 3.0, "b": 2.0} if int(query[1:]) % 5 else {"x": 3.0, "a": 2.0} for query in judgments}
    best = {query: {"a": 3.0, "b": 2.0} if int(query[1:]) % 9 else {"y": 3.0, "a": 2.0} for query in judgments}
    runs = {"poor": poor, "good": good, "best": best}
    pairs = {frozenset((each.a, each.b)): each.bounds.settled for each in rankgauge.quality(judgments, runs).pairs}
    assert (pairs[frozenset(("best", "poor"))], pairs[frozenset(("best", "good"))]) == (True, False)
    lead = section_of(rankgauge.report(judgments, runs, charts=False), "open")["blocks"][0]
    assert lead["words"] == (
        "Between best and poor, best is ahead whatever the grades: no judgment can turn their order round. Unjudged "
        "documents do decide about best and good."
    )


def test_large_data_are_bounded() -> None:
    focused = limited(JUDGMENTS, RUNS, cells=650)  # two of the three runs have 600 documents at ranks up to 10
    assert {row["run"] for row in table_of(focused, "unjudged")} == set(focused.facts.focus)
    assert "only s2 and s0 were looked at" in str(section_of(focused, "open"))
    (pair,) = table_of(focused, "unjudged-pairs")
    assert (pair["system"], pair["baseline"]) == focused.facts.focus == ("s2", "s0")
    assert pair["difference"] == pytest.approx(focused.facts.first.mean("s2") - focused.facts.first.mean("s0"))
    assert "rankgauge judgments works it out" in str(section_of(limited(JUDGMENTS, RUNS, cells=100), "open"))
    few = limited(JUDGMENTS, RUNS, pairs=2)
    assert [(row["system"], row["baseline"]) for row in table_of(few, "unjudged-pairs")] == [("s2", "s0"), ("s2", "s1")]


# ---- judges ----------------------------------------------------------------------------------------------------------


def test_agreement_is_what_agree_says() -> None:
    report = rankgauge.report(JUDGMENTS, RUNS, second={"model": SECOND}, charts=False)
    known = rankgauge.agree({"judgments": JUDGMENTS, "model": SECOND}, runs=RUNS)
    assert known.systems is not None
    (pair,) = known.pairs
    rows = {row["coefficient"]: row for row in table_of(report, "agreement")}
    assert rows["κ quadratic"]["value"] == pair.kappa["quadratic"].value
    assert rows["κ linear"]["95 % interval"] == [pair.kappa["linear"].low, pair.kappa["linear"].high]
    assert rows["Krippendorff's α, ordinal"]["value"] == known.overall.alpha["ordinal"].value
    assert rows["Fleiss' κ"]["value"] == known.overall.fleiss.value
    cells = [list(row.values())[1:] for row in table_of(report, "confusion-1")]
    assert np.array_equal(np.array(cells)[:-1, :-1], pair.matrix)
    assert cells[-1][-1] == 12 * len(JUDGMENTS)
    for row in table_of(report, "judged-by"):
        assert row["model"] == known.systems.values["model"][row["run"]]
    (order,) = table_of(report, "orders")
    assert (order["τ_b"], order["τ_AP"], order["RBO"]) == known.systems.orders[0][1:4]
    disputes = known.disputes(2.0)
    assert len(table_of(report, "disputes")) == min(len(disputes), 50)
    assert f'"{len(disputes):,}"' in json.dumps(section_of(report, "judges"))


def test_three_judges_have_every_pair() -> None:
    judges = {"model": SECOND, "other": second_of(JUDGMENTS, 2)}
    report = rankgauge.report(JUDGMENTS, {"s1": RUNS["s1"]}, second=judges)
    names = {row["judges"] for row in table_of(report, "agreement")}
    assert names == {"judgments and model", "judgments and other", "model and other", "all"}
    keys = [block.get("key") for block in section_of(report, "judges")["blocks"]]
    assert [key for key in keys if key and key.startswith("confusion")] == [f"confusion-{at}" for at in (1, 2, 3)]
    assert "judged-by" not in keys  # one system has no order


def test_without_a_second_judge_there_is_no_section() -> None:
    assert "judges" not in [section.key for section in rankgauge.report(JUDGMENTS, RUNS, charts=False).sections()]


def test_a_model_that_judged_more_queries_gives_an_estimate_for_all() -> None:
    people = dict(list(JUDGMENTS.items())[:20])
    report = rankgauge.report(people, RUNS, second={"model": SECOND}, charts=False)
    known = rankgauge.ppi(people, SECOND, RUNS)
    assert [pair.name for pair in known.pairs] == ["s1 − s0", "s2 − s0", "s2 − s1"]
    rows = {row["system"]: row for row in table_of(report, "ppi")}
    for each in [*known.systems, *known.pairs]:
        assert rows[each.name]["human + LLM"] == each.powered.value
        assert rows[each.name]["95 % interval"] == [each.powered.low, each.powered.high]
    assert report.to_dict()["evidence"]["ppi"] == [known.to_dict()]
    against = rankgauge.report(people, RUNS, baseline="s1", second={"model": SECOND}, charts=False)
    names = [row["system"] for row in table_of(against, "ppi")]
    assert names == ["s1", "s0", "s2", "s0 − s1", "s2 − s1", "s2 − s0"]


def test_an_estimate_that_cannot_be_made_says_why() -> None:
    people = {query: dict(list(docs.items())[:9]) for query, docs in list(JUDGMENTS.items())[:20]}
    report = rankgauge.report(people, RUNS, second={"model": SECOND}, charts=False)
    assert "20 of 20 queries are not judged on the same pairs" in str(section_of(report, "judges"))


def test_repeated_judgments_are_refused_or_settled(tmp_path: Path) -> None:
    file = tmp_path / "model.txt"
    lines = [f"{query} 0 {doc} {grade}\n" for query, docs in SECOND.items() for doc, grade in docs.items()]
    file.write_text("".join([*lines, "q0 0 d0-0 0\nq0 0 d0-0 3\n"]))
    with pytest.raises(DuplicateError, match="name a policy: --repeated"):
        rankgauge.report(JUDGMENTS, RUNS, second={"model": file}, charts=False)
    report = rankgauge.report(JUDGMENTS, RUNS, second={"model": file}, repeated="last", charts=False)
    known = rankgauge.agree({"a": JUDGMENTS, "b": SECOND | {"q0": SECOND["q0"] | {"d0-0": 3}}})
    assert table_of(report, "agreement")[1]["value"] == known.pairs[0].kappa["none"].value


def test_judges_of_other_pairs_are_refused() -> None:
    with pytest.raises(InputError, match="no pair is judged by two judges"):
        rankgauge.report(JUDGMENTS, RUNS, second={"model": {"x": {"y": 1}}}, charts=False)


def test_the_command_takes_names_of_judges(command: Command, tmp_path: Path) -> None:
    for name, judgments in (("qrels", JUDGMENTS), ("second", SECOND)):
        rankgauge.write(rankgauge.read_judgments(judgments), tmp_path / f"{name}.txt")
    for name, run in RUNS.items():
        rankgauge.write(rankgauge.read_run(run), tmp_path / f"{name}.run")
    files = ["people=qrels.txt", *(f"{name}.run" for name in RUNS), "--second", "model=second.txt"]
    assert command("report", *files, "-o", "report.json", cwd=tmp_path) == (0, "", "")
    data = json.loads((tmp_path / "report.json").read_text())
    assert data["evidence"]["agreement"]["judges"] == ["people", "model"]
    assert [run["run"] for run in data["evidence"]["unjudged"]["runs"]] == list(RUNS)


def test_cautions_of_small_collections() -> None:
    """People judged two of three queries; and where all judges have one query, values and orders are told untested."""
    people = {q: {"a": 3, "b": 1} for q in ("q1", "q2")}
    model = {q: {"a": 2, "b": 1} for q in ("q1", "q2", "q3")}
    run, other = ({q: {one: 2.0, two: 1.0} for q in model} for one, two in ("ab", "ba"))
    made = rankgauge.report(people, {"x": run, "y": other}, second={"model": model})
    assert "No intervals: 2 queries judged by humans are too few." in made.to_markdown()
    one = rankgauge.report({"q1": people["q1"]}, {"x": run, "y": other}, second={"model": {"q1": model["q1"]}})
    assert "Fewer than two queries have a value of every system: no difference can be tested." in one.to_markdown()
