"""Judges and their sets: real labels with published kappas, dirty files, systems under each judge, the command."""

from __future__ import annotations

import csv
import io
import json
import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, confusion_matrix

import rankgauge
from command import Command
from rankgauge.cli.options import REPEATED
from rankgauge.cli.ppi import ppi
from rankgauge.errors import DuplicateError, InputError
from rankgauge.read.numbers import read_matrix
from rankgauge.stats.ppi import IDLE, INTERVALS
from rankgauge.trust.judges.agree import POLICIES, ConfusionMatrix
from rankgauge.trust.judges.sets import judged_once

HUMAN = {"q": {"a": 2, "b": 0, "c": 1, "d": 3}, "r": {"a": 0, "b": 1, "x": 2}, "s": {"a": 1}}
MODEL = {"q": {"a": 2, "b": 1, "c": 1, "d": 0}, "r": {"a": 0, "b": 3, "y": 1}}


EXPECTED = [
    "dev_baseline_qrel_prompt_order__0123.txt",
    "dev_baseline_qrel_prompt_order__3210.txt",
    "dev_decomposed_relavance_qrel.txt",
    "dev_gen_query_similarity_qrel.txt",
    "dev_iterative_prompting_qrel.txt",
    "dev_iterative_prompting_qrel_2.txt",
    "dev_sum_of_decomposed_prompts.txt",
    "dev_sum_of_decomposed_prompts_analysis.txt",
    "dev_sun_then_decomposed_relavance_qrel.txt",
]


@pytest.mark.parametrize("name", EXPECTED)
def test_published_kappas_reproduce(name: str, shared: Path) -> None:
    folder = shared / "llmjudge-dev"
    published = re.search(r"kappa[^:]*: (-?\d\.\d+)", (folder / "expected" / name).read_text(), re.IGNORECASE)
    assert published is not None
    model = folder / "qrels_llm" / name.replace("_analysis", "")
    found = rankgauge.agree(folder / "llm4eval_dev_qrel_2024.txt", model)
    assert found.pairs[0].shared == len(model.read_text().splitlines())
    assert found.pairs[0].kappa["none"].value == pytest.approx(float(published[1]), abs=1e-12)


def test_every_published_kappa_is_looked_at(shared: Path) -> None:
    assert sorted(path.name for path in (shared / "llmjudge-dev/expected").iterdir()) == EXPECTED


def test_sets_that_overlap_in_part() -> None:
    """Both judged a, b, c, d of q and a, b of r."""
    found = rankgauge.agree(HUMAN, MODEL)
    pair = found.pairs[0]
    ours, theirs = [2, 0, 1, 3, 0, 1], [2, 1, 1, 0, 0, 3]
    assert (pair.shared, len(pair.queries)) == (6, 2)
    assert pair.matrix.tolist() == confusion_matrix(ours, theirs, labels=[0, 1, 2, 3]).tolist()
    for weights, each in pair.kappa.items():
        named = None if weights == "none" else weights
        assert each.value == pytest.approx(cohen_kappa_score(ours, theirs, labels=[0, 1, 2, 3], weights=named))
    assert pair.bias.value == pytest.approx(np.mean(np.array(theirs) - ours))
    assert (pair.over, pair.under) == pytest.approx((2 / 6, 1 / 6))
    assert [each.grade for each in pair.binarised] == [1.0, 2.0, 3.0]
    for cut in pair.binarised:
        halves = np.array([ours, theirs]) >= cut.grade
        assert cut.kappa == pytest.approx(cohen_kappa_score(*halves))
        assert cut.agreement == pytest.approx(np.mean(halves[0] == halves[1]))
        assert (cut.share_a, cut.share_b) == pytest.approx(tuple(halves.mean(axis=1)))
    two = pair.per_grade[1]
    assert (two.grade, two.a, two.b, two.both, two.recall, two.precision, two.mean_b) == (1, 2, 2, 1, 0.5, 0.5, 2.0)
    assert pair.queries[1][:4] == ("r", 2, 0.5, 1.0)
    assert found.overall.pairs == found.overall.complete == 6


def test_three_judges_and_what_to_adjudicate() -> None:
    third = {"q": {"a": 0, "c": 1}, "s": {"a": 3}}
    found = rankgauge.agree({"human": HUMAN, "model": MODEL, "third": third})
    assert [(pair.a, pair.b, pair.shared) for pair in found.pairs] == [
        ("human", "model", 6), ("human", "third", 3), ("model", "third", 2),
    ]  # fmt: skip
    assert (found.overall.pairs, found.overall.complete) == (7, 2)
    listed = [(each.query_id, each.doc_id, each.grades, each.apart) for each in found.disputes()]
    assert listed == [
        ("q", "d", (3.0, 0.0, None), 3.0),
        ("q", "a", (2.0, 2.0, 0.0), 2.0),
        ("r", "b", (1.0, 3.0, None), 2.0),
        ("s", "a", (1.0, None, 3.0), 2.0),
    ]
    assert len(found.disputes(3)) == 1
    assert found.pair("human", "third").shared == 3
    assert found.pair("third", "human").bias.value == -found.pair("human", "third").bias.value
    with pytest.raises(InputError, match="human and nobody were not compared; there are human and "):
        found.pair("human", "nobody")


def of_queries(number: int, wrong: int) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, int]]]:
    """Two judges of five documents a query, who differ on one of them in some queries."""
    people = {f"q{at}": {"a": 2, "b": 0, "c": 1, "d": 0, "e": 2} for at in range(number)}
    model = {query: docs | {"c": 2} if at < wrong else docs for at, (query, docs) in enumerate(people.items())}
    return people, model


def test_judges_without_a_pair_in_common_have_no_interval() -> None:
    people, model = of_queries(8, 3)
    alone = {"other": {"z": 1}, **{query: {"z": 1} for query in people}}
    pair = rankgauge.agree({"a": people, "b": model, "c": alone | {"q0": people["q0"]}, "d": alone}).pair("a", "d")
    assert (pair.shared, pair.no_interval) == (0, "")
    assert np.isnan([*pair.kappa["none"], *pair.agreement, *pair.bias]).all()


@pytest.mark.parametrize(
    ("queries", "wrong", "words"),
    [
        (8, 0, "A and B agreed on all 40 pairs of 8 queries: no interval."),
        (5, 2, "A and B share 5 queries, too few for an interval (six or more)."),
        (8, 1, "A and B disagree in 1 of 8 queries only, too few for an interval of κ."),
        (8, 8, "A and B: κ has no interval, because few of 8 queries decide it, or all are alike."),
        (8, 3, ""),
    ],
)
def test_why_kappa_has_no_interval_is_said(queries: int, wrong: int, words: str) -> None:
    found = rankgauge.agree(*of_queries(queries, wrong))
    assert found.pairs[0].no_interval == words
    assert all(np.isnan(each.low) == bool(words) for each in found.pairs[0].kappa.values())
    assert " ".join(found.show().split()).count(words) >= 1
    assert ("no interval" in found.show()) == ("no interval" in words)


# ---- files that judge a pair more than once --------------------------------------------------------------------------

ROWS = [("q", "a", 3), ("q", "a", 0), ("q", "b", 1), ("q", "a", 1), ("q", "a", 0), ("q", "a", 1), ("q", "b", 1)]


@pytest.mark.parametrize(("policy", "grade"), [("first", 3), ("last", 1), ("majority", 1), ("mean", 1)])
def test_a_policy_settles_what_is_there_more_than_once(policy: str, grade: float) -> None:
    """Grades 3, 0, 1, 0, 1: of 0 and 1, given twice each, 1 is the nearer to the mean, which is 1."""
    assert dict(judged_once(ROWS, policy).nested) == {"q": {"a": grade, "b": 1}}


def test_the_command_offers_every_policy_and_interval() -> None:
    assert tuple(POLICIES) == tuple(REPEATED.choices)
    (option,) = (each for each in ppi.params if each.name == "interval")
    assert list(option.type.choices) == [*INTERVALS, *IDLE]  # type: ignore[attr-defined]


def test_the_same_grade_again_is_told_and_counted_once() -> None:
    with pytest.warns(rankgauge.RankgaugeWarning, match="1 pair is judged more than once with the same grade"):
        once = judged_once([("q", "a", 1), ("q", "a", 1), ("q", "b", 0)])
    assert list(once) == [("q", "a", 1.0), ("q", "b", 0.0)]


@pytest.mark.parametrize("suffix", [".txt", ".csv", ".jsonl"])
def test_repeated_pairs_in_any_format(suffix: str, tmp_path: Path) -> None:
    lines = {".txt": "{} 0 {} {}", ".csv": "{},{},{}", ".jsonl": '{{"query_id":"{}","doc_id":"{}","relevance":{}}}'}
    head = "query_id,doc_id,relevance\n" if suffix == ".csv" else ""
    path = tmp_path / f"dirty{suffix}"
    path.write_text(head + "".join(lines[suffix].format(*row) + "\n" for row in ROWS))
    with pytest.raises(DuplicateError, match="7 rows judge 2 pairs; 2 pairs are there more than once, 1 of them"):
        judged_once(path)
    assert judged_once(path, "last").nested["q"]["a"] == 1


def test_a_real_dirty_file(shared: Path) -> None:
    human, dirty = shared / "dl19/qrels.dl19-passage.txt", shared / "dl19/qrels_llm/umbrela_llama3.2_zeroshot.raw.txt"
    with pytest.raises(DuplicateError) as refused:
        rankgauge.agree(human, dirty)
    said = str(refused.value)
    assert "38,720 rows judge 9,260 pairs; 9,260 pairs are there more than once, 8,245 of them with different" in said
    assert "query '19335', document '1017759' has grades 1, 1, 1, 2, 1, 1" in said
    assert "--repeated first|last|majority|mean" in said
    rows: dict[tuple[str, str], list[int]] = {}
    for line in dirty.read_text().splitlines():
        query, _, doc, grade = line.split()
        rows.setdefault((query, doc), []).append(int(grade))
    truth = {(query, doc): grade for query, doc, grade in rankgauge.read_judgments(human)}
    first = [grades[0] for pair, grades in rows.items() if pair in truth]
    ours = [truth[pair] for pair in rows if pair in truth]
    for policy in POLICIES:
        found = rankgauge.agree(human, dirty, repeated=policy).pairs[0]
        assert found.shared == 9260
        if policy == "first":
            assert found.kappa["none"].value == pytest.approx(cohen_kappa_score(ours, first), abs=1e-12)


# ---- systems ---------------------------------------------------------------------------------------------------------


def test_systems_under_two_judges(shared: Path) -> None:
    """The values are those of evaluate; the order, that of scipy; the decisions, those of compare."""
    folder = shared / "dl19"
    names = ["idst_bert_p1", "p_exp_rm3_bert", "TUW19-p3-re", "srchvrs_ps_run2"]
    runs = {name: rankgauge.read_run(folder / f"runs/input.{name}.gz") for name in names}
    human, model = folder / "qrels.dl19-passage.txt", folder / "qrels_llm/umbrela_gpt4o_zeroshot.txt"
    found = rankgauge.agree({"human": human, "model": model}, runs=runs).systems
    assert found is not None
    for judge, path in (("human", human), ("model", model)):
        assert found.values[judge] == {name: rankgauge.evaluate(path, run)["nDCG@10"] for name, run in runs.items()}
    (orders,) = found.orders
    assert orders.tau_b == pytest.approx(4 / 6)  # one of six pairs is turned round
    decided = {}
    for judge, path in (("human", human), ("model", model)):
        decided[judge] = {(p.a, p.b): p.decision for p in rankgauge.compare(path, runs).pairs}
    both = [(decided["human"][pair], decided["model"][pair]) for pair in decided["human"]]
    claims = [(a != "not significant", b != "not significant") for a, b in both]
    assert orders.kept == sum(a and b and one == other for (a, b), (one, other) in zip(claims, both, strict=True))
    assert (len(orders.lost), len(orders.gained)) == (claims.count((True, False)), claims.count((False, True)))
    assert orders.turned == []


def test_a_significant_difference_that_is_turned_round() -> None:
    one = {f"q{q}": {"a": 1, "b": 0} for q in range(20)}
    other = {f"q{q}": {"a": 0, "b": 1} for q in range(20)}
    runs = {"x": {q: {"a": 2.0, "b": 1.0} for q in one}, "y": {q: {"b": 2.0, "a": 1.0} for q in one}}
    found = rankgauge.agree(one, other, runs=runs)
    assert found.systems is not None
    assert found.systems.orders[0].turned == [("y", "x")]
    assert found.systems.orders[0].tau_b == -1
    assert "Significant differences turned round under B: y and x." in str(found)


def test_the_first_judge_is_the_reference_of_the_order() -> None:
    """x, y, z for people, y, z, x for the model: τ_AP is 0 with people as the reference, −1/2 the other way round."""
    queries = ["q1", "q2", "q3"]
    people = {query: {"a": 3, "b": 2, "c": 1} for query in queries}
    model = {query: {"b": 3, "c": 2, "a": 1} for query in queries}
    runs = {name: {query: {doc: 1.0} for query in queries} for name, doc in (("x", "a"), ("y", "b"), ("z", "c"))}
    for sets, tau, among in (((people, model), 0.0, -1), ((model, people), -0.5, 1)):
        found = rankgauge.agree(*sets, runs=runs, measure="nDCG@1", top=2).systems
        assert found is not None
        assert found.orders[0].tau_ap == pytest.approx(tau)
        assert (found.orders[0].top, found.orders[0].tau_top) == (2, among)  # the best two by the first


def test_systems_on_shared_pairs_only() -> None:
    """`x` is judged by the human alone; without it r's ideal is smaller."""
    runs = {"x": {"q": {"a": 1.0}, "r": {"b": 2.0, "x": 1.0}}, "y": {"q": {"d": 1.0}, "r": {"a": 2.0, "b": 1.0}}}
    whole = rankgauge.agree(HUMAN, MODEL, runs=runs).systems
    less = rankgauge.agree(HUMAN, MODEL, runs=runs, shared=True).systems
    assert whole is not None
    assert less is not None
    assert (whole.queries, less.queries) == (2, 2)
    on_both = {"q": HUMAN["q"], "r": {"a": 0, "b": 1}}
    assert less.values["A"]["x"] == rankgauge.evaluate(on_both, runs["x"])["nDCG@10"]
    assert whole.values["A"]["x"] == rankgauge.evaluate({q: HUMAN[q] for q in "qr"}, runs["x"])["nDCG@10"]


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_nobody_is_no_judge() -> None:
    with pytest.raises(InputError, match="there is no judge; agreement needs two"):
        rankgauge.agree({})


@pytest.mark.parametrize(
    ("sets", "more", "said"),
    [
        ((HUMAN,), {}, "only one judge"),
        ((HUMAN, {"q": {"z": 1}}), {}, "no pair is judged by two judges"),
        ((HUMAN, MODEL), {"scale": [0, 1, 2]}, "grade 3, which is outside the scale 0, 1, 2"),
        ((HUMAN, MODEL), {"repeated": "worst"}, "expected first, last, majority or mean"),
        ((HUMAN, MODEL), {"runs": {"x": {"q": {"a": 1.0}}}}, "two runs or more"),
        ((HUMAN, MODEL), {"alpha": 0}, "between 0 and 1"),
        ((HUMAN, {}), {}, "holds no judgment"),
        (({"q": {}}, HUMAN), {}, "holds no judgment"),
        ((HUMAN, {"q": {"a": float("nan")}}), {}, "query 'q', document 'a': relevance nan is not a finite number"),
        ((HUMAN, MODEL), {"runs": [{"q": {"a": 1.0}}] * 2}, "name the systems.*got a list"),
    ],
)
def test_what_cannot_be_compared_is_refused(sets: tuple[Any, ...], more: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        rankgauge.agree(*sets if len(sets) > 1 else ({"only": sets[0]},), **more)


# ---- forms, and the command ------------------------------------------------------------------------------------------


def test_forms_of_an_agreement(tmp_path: Path) -> None:
    found = rankgauge.agree({"human": HUMAN, "model": MODEL}, runs={"x": {"q": {"a": 1.0}}, "y": {"q": {"b": 1.0}}})
    data = json.loads(found.show("json", per_query=True))
    assert list(data) == [
        "judges", "judgments", "grades", "alpha", "overall", "pairs", "systems", "per_query",
    ]  # fmt: skip
    (row,) = csv.DictReader(io.StringIO(found.show("csv")))
    assert float(row["kappa_linear"]) == found.pairs[0].kappa["linear"].value
    assert len(list(csv.DictReader(io.StringIO(found.show("csv", per_query=True))))) == 2
    assert "| coefficient | value | 95 % interval | pairs |" in found.show("markdown")
    assert "<svg" in found._repr_html_()
    (tmp_path / "judge.csv").write_text(ConfusionMatrix(found.pairs[0]).to_csv())
    assert read_matrix(tmp_path / "judge.csv").counts.tolist() == found.pairs[0].matrix.tolist()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, judged in (("human", HUMAN), ("model", MODEL)):
        rankgauge.write(rankgauge.read_judgments(judged), tmp_path / f"{name}.txt")
    (tmp_path / "dirty.txt").write_text("".join(f"{query} 0 {doc} {grade}\n" for query, doc, grade in ROWS))
    (tmp_path / "other.txt").write_text("z 0 z 1\n")
    for name, doc in (("x", "a"), ("y", "b")):
        (tmp_path / f"{name}.run").write_text(f"q Q0 {doc} 1 1.0 t\n")
    return tmp_path


@pytest.fixture
def cli(files: Path, command: Command) -> Command:
    """The command `agree`, in that folder."""
    return partial(command, "agree", cwd=files)


def test_the_command_prints_and_writes(cli: Command, files: Path) -> None:
    done = cli("human.txt", "model.txt", "--runs", "x.run", "y.run", "-m", "nDCG@5")
    assert (done.code, done.err) == (0, "")
    assert "nDCG@5 under each judge" in done.out
    done = cli("human.txt", "model.txt", "--adjudicate", "-o", "list.csv")
    assert done.code == 0
    rows = list(csv.DictReader(io.StringIO((files / "list.csv").read_text())))
    assert [(row["query_id"], row["doc_id"], row["human"], row["model"]) for row in rows] == [
        ("q", "d", "3", "0"), ("r", "b", "1", "3"),
    ]  # fmt: skip
    assert cli("human.txt", "model.txt", "--matrix").out.startswith("true,0,1,2,3\n")
    assert cli("human.txt", "dirty.txt", "--repeated", "mean").code == 0
    for suffix, start in ((".svg", b"<svg"), (".png", b"\x89PNG"), (".html", b"<!doctype html>")):
        assert cli("human.txt", "model.txt", "-o", f"p{suffix}").code == 0
        assert (files / f"p{suffix}").read_bytes().startswith(start)


def test_the_matrix_in_every_format(cli: Command, files: Path) -> None:
    assert cli("human.txt", "model.txt", "--matrix", "-o", "m.json").code == 0
    data = json.loads((files / "m.json").read_text())
    assert (data["a"], data["grades"]) == ("human", [0, 1, 2, 3])
    assert data["confusion"] == rankgauge.agree(HUMAN, MODEL).pairs[0].matrix.astype(int).tolist()
    assert "| " in cli("human.txt", "model.txt", "--matrix", "--format", "markdown").out
    done = cli("human.txt", "b=human.txt", "--adjudicate")
    assert (done.code, "nothing to adjudicate" in done.err) == (0, True)


def test_one_query_is_enough_for_values_and_orders() -> None:
    """Only what needs a test is left out: which significant differences are kept, lost or gained."""
    runs = {"x": {"q": {"a": 2.0, "b": 1.0}}, "y": {"q": {"b": 2.0, "a": 1.0}}}
    found = rankgauge.agree({"q": HUMAN["q"]}, {"q": MODEL["q"]}, runs=runs)
    assert found.systems is not None
    (order,) = found.systems.orders
    assert (order.tau_b, order.kept, order.lost) == (1.0, None, [])
    assert set(order.moved.values()) == {None}
    assert "no difference can be tested" in " ".join(str(found).split())
    assert "tested" in json.dumps(rankgauge.charts.judges(found).to_dict())


def test_two_judges_the_other_way_round() -> None:
    human, model = of_queries(8, 7)
    found, other = rankgauge.agree({"h": human, "m": model}), rankgauge.agree({"m": model, "h": human})
    turned, given = found.pair("m", "h"), other.pair("m", "h")
    assert turned.matrix.tolist() == given.matrix.tolist()
    assert turned.bias == pytest.approx(given.bias)
    assert turned.bias.low == turned.bias.low < turned.bias.value < 0
    assert turned.kappa == given.kappa
    assert [each.bias for each in turned.queries] == [each.bias for each in given.queries]
    assert (turned.over, turned.under) == (given.over, given.under)
    assert rankgauge.charts.confusion(found, pair=("m", "h")).to_dict() is not None
    with pytest.raises(InputError, match="were not compared"):
        found.either_way("m", "z")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["human.txt"], "only one judge (human)"),
        (["human.txt", "other.txt"], "no pair is judged by two judges"),
        (["human.txt", "dirty.txt"], "1 of them with different grades"),
        (["human.txt", "model.txt", "--scale", "0,1"], "outside the scale 0, 1"),
        (["human.txt", "model.txt", "--runs", "x.run"], "two runs or more"),
        (["human.txt", "model.txt", "c=model.txt", "--matrix"], "is of two judges"),
        (["human.txt", "none.txt"], "none.txt"),
        (
            ["human.txt", "model.txt", "--adjudicate", "-o", "d.svg"],
            "--adjudicate is a table, which a picture does not show",
        ),
        (["human.txt", "model.txt", "--matrix", "-o", "d.png"], "--matrix is a table, which a picture does not show"),
        (["human.txt", "model.txt", "--shared"], "--shared goes with --runs"),
        (["human.txt", "model.txt", "--apart", "1"], "--apart goes with --adjudicate"),
        (["human.txt", "model.txt", "--matrix", "--runs", "x.run", "y.run"], "--matrix and --runs exclude each other"),
        (["human.txt", "model.txt", "--per-query", "--adjudicate"], "give one of them"),
    ],
)
def test_mistakes_are_told(arguments: list[str], said: str, cli: Command) -> None:
    done = cli(*arguments)
    assert done.code == 2
    assert said in done.err
