"""The app, asked in the process of the tests: pages and their twins say what the library says."""

from __future__ import annotations

import html
import json
import os
import random
import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlencode

import pytest
from scipy.special import stdtrit

import rankgauge
from rankgauge.measures import MEASURES as TABLE
from rankgauge.protocol import DEFAULT, Protocol, Rules
from rankgauge.sampling.sample import read_sample
from rankgauge.show.marking import marked, snippet, words_of
from rankgauge.shown import clean
from rankgauge.stats.paired import QUANTILES
from rankgauge.web.cards import _place
from rankgauge.web.contents import Contents, state_of
from rankgauge.web.kept import Cache
from rankgauge.web.quantiles import recall_quantiles
from rankgauge.web.texts import Document, read_documents
from rankgauge.web.worker import Later, Worker
from web import Asked, Nested, asked, made, write

pytestmark = pytest.mark.filterwarnings("ignore::rankgauge.RankgaugeWarning")  # equal scores are part of it
JUDGMENTS, RUNS = made()
RUNS["again"] = {query: {doc: -score for doc, score in docs.items()} for query, docs in RUNS["s1"].items()}
GROUPS = {query: "odd" if int(query[1:]) % 2 else "even" for query in JUDGMENTS}
PAGES: dict[str, dict[str, Any]] = {
    "/": {},
    "/run": {"run": "s1"},
    "/query": {"query": "q03", "run": "s1"},
    "/compare": {"run": ["s0", "s1"]},
    "/compare/query": {"query": "q03", "run": ["s0", "s1"]},
    "/funnel": {"retrieved": "s1", "reranked": "again"},
    "/playground": {"grades": "3,2,u,0"},
}


@pytest.fixture(scope="module")
def worker() -> Iterator[Worker]:
    made = Worker()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("web")
    write(home, JUDGMENTS, RUNS)
    (home / "by.csv").write_text("query_id,group\n" + "".join(f"{query},{group}\n" for query, group in GROUPS.items()))
    return home


@pytest.fixture(scope="module")
def app(folder: Path, worker: Worker) -> Iterator[Asked]:
    runs = [folder / f"{name}.run" for name in RUNS]
    with asked(folder, folder / "qrels.txt", runs, worker=worker, by=str(folder / "by.csv")) as each:
        yield each


def at(path: str, **parameters: Any) -> str:
    return f"{path}?{urlencode(parameters, doseq=True)}" if parameters else path


def as_data(value: Any) -> Any:
    return json.loads(json.dumps(clean(value)))


# ---- the same numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["nDCG@10", "nDCG(gain=exp)@5", "AP", "RR@10"])
def test_the_leaderboard_has_the_values_of_evaluate_and_the_verdicts_of_compare(app: Asked, measure: str) -> None:
    told = app.data(at("/index.json", measure=measure))
    comparison = rankgauge.compare(JUDGMENTS, RUNS, measure)
    assert [row["system"] for row in told["systems"]] == sorted(
        RUNS, key=lambda name: -comparison.first.systems[name].mean
    )
    for row in told["systems"]:
        name = row["system"]
        result = rankgauge.evaluate(JUDGMENTS, RUNS[name], [measure, "R@100", "nDCG@10"])
        system = comparison.first.systems[name]
        assert row[told["measure"]] == as_data(
            {"value": result[measure], "low": system.interval[0], "high": system.interval[1]}
        )
        assert row["R@100"] == result["R@100"]
        if name != "s0":
            pair = comparison.pair(name, "s0")
            assert row["difference"]["value"] == pair.difference
            assert (row["p_adjusted"], row["decision"]) == (pair.p_adjusted, pair.decision)


def test_counts_have_no_decimals(app: Asked) -> None:
    told = app.data(at("/index.json", measure="NumRelRet"))["systems"]
    page = app.get(at("/", measure="NumRelRet")).text
    for row in told:
        total = rankgauge.evaluate(JUDGMENTS, RUNS[row["system"]], "NumRelRet")["NumRelRet"]
        assert row["NumRelRet"]["value"] == total
        assert (f">{total:.0f}<" in page, f"{total:.4f}" in page) == (True, False)


def test_another_baseline_turns_the_change_round(app: Asked) -> None:
    rows = {row["system"]: row for row in app.data(at("/index.json"))["systems"]}
    turned = {row["system"]: row for row in app.data(at("/index.json", baseline="s2"))["systems"]}
    assert turned["s0"]["difference"]["value"] == -rows["s2"]["difference"]["value"]
    assert turned["s2"]["decision"] == "baseline"


def test_a_run_has_what_eval_prints(app: Asked) -> None:
    told = app.data(at("/run.json", run="s1"))
    wanted = rankgauge.evaluate_runs(JUDGMENTS, {"s1": RUNS["s1"]}, ["nDCG@10", "R@100", "Judged@10"], by=GROUPS)
    mine, theirs = told["runs"][0], as_data(wanted.to_dict())["runs"][0]
    for key in ("measures", "counts", "judged", "groups", "per_query", "fingerprint"):
        assert mine[key] == theirs[key], key
    rows = app.data(at("/run/queries.json", run="s1"))
    assert rows["rows"] == [[query, *values.values()] for query, values in theirs["per_query"].items()]


@pytest.mark.parametrize("per", ["search", "query"])
def test_of_a_sample_the_means_are_those_of_its_log(folder: Path, worker: Worker, per: Any) -> None:
    """Weighted, and of the sampled queries alone, on every page: as eval and compare have them."""
    ids = [query for query in JUDGMENTS if query not in ("q03", "q07")]
    columns = {"traffic": [2.0 ** (9 - at) for at in range(len(ids))], "inclusion": [0.5] * len(ids)}
    sample = read_sample({"query_id": ids, **columns, "stratum": ["all"] * len(ids)})
    about: dict[str, Any] = {"sample": sample, "per": per}
    runs = [folder / f"{name}.run" for name in RUNS]
    with asked(folder, folder / "qrels.txt", runs, worker=worker, by=str(folder / "by.csv"), **about) as app:
        told = {group: app.data(at("/index.json", group=group)) for group in ("", "odd")}
        page, run = app.get("/").text, app.data(at("/run.json", run="s1"))
        rows = app.data(at("/run/queries.json", run="s1"))["rows"]
        both = app.data(at("/compare.json", run=["s0", "s1"]))
    results = rankgauge.evaluate_runs(JUDGMENTS, RUNS, ["nDCG@10", "R@100"], by=GROUPS, **about)
    for group, found in told.items():
        for row in found["systems"]:
            part = results[row["system"]].by[group] if group else results[row["system"]]
            assert row["nDCG@10"] == as_data(part.estimate("nDCG@10")._asdict())
            other: Any = {"search": "query", "query": "search"}[per]
            assert row[f"per {other}"] == part.per(other)["nDCG@10"]
    assert told[""]["queries"] == len(ids)
    assert (f"nDCG@10 per {per}" in page, "Sample: " in page) == (True, True)
    assert [row[0] for row in rows] == results["s1"].query_ids
    assert {row[0]: row[1] for row in rows} == dict(results["s1"].per_query.select("query_id", "nDCG@10").iter_rows())
    assert run["sample"]["per"] == per
    comparison = rankgauge.compare(JUDGMENTS, {name: RUNS[name] for name in ("s0", "s1")}, by=GROUPS, **about)
    assert both["measures"] == as_data(comparison.to_dict()["measures"])


def test_a_sample_of_other_queries_is_left_out_and_why(folder: Path, worker: Worker) -> None:
    sample = read_sample({"query_id": ["x", "y"], "traffic": [1.0, 1.0], "inclusion": [0.5, 0.5]})
    runs = [folder / f"{name}.run" for name in RUNS]
    with asked(folder, folder / "qrels.txt", runs, worker=worker, sample=sample) as app:
        page = app.get("/").text
    assert "none of its queries was evaluated" in page
    assert "per search" not in page


def test_notes_are_those_of_eval_on_the_same_files(app: Asked, folder: Path) -> None:
    told = app.data(at("/run.json", run="s1"))
    wanted = rankgauge.evaluate_runs(folder / "qrels.txt", [folder / "s1.run"], ["nDCG@10", "R@100", "Judged@10"])
    assert told["notes"] == wanted.notes != []
    assert told["findings"] == as_data(rankgauge.validate(folder / "qrels.txt", folder / "s1.run").rows())


def test_a_comparison_is_that_of_compare(app: Asked, folder: Path) -> None:
    told = app.data(at("/compare.json", run=["s0", "s1", "s2"]))
    runs = [folder / f"{name}.run" for name in ("s0", "s1", "s2")]
    wanted = rankgauge.compare(folder / "qrels.txt", runs, "nDCG@10", by=GROUPS).to_dict()
    assert told == {"runs": ["s0", "s1", "s2"], **as_data(wanted)}
    one = app.data(at("/compare.json", run=["s0", "s1"], group="odd"))
    odd = {query: docs for query, docs in JUDGMENTS.items() if GROUPS[query] == "odd"}
    alone = rankgauge.compare(odd, {name: RUNS[name] for name in ("s0", "s1")}, "nDCG@10")
    assert one["measures"]["nDCG@10"]["pairs"] == as_data(alone.to_dict())["measures"]["nDCG@10"]["pairs"]


@pytest.mark.parametrize("query", ["q00", "q01", "q03"])
def test_a_query_is_explained_as_explain_does(app: Asked, query: str) -> None:
    for name in RUNS:
        told = app.data(at("/query.json", query=query, run=name))
        wanted = rankgauge.explain(JUDGMENTS, RUNS[name], query, name=name)
        assert told == as_data(wanted.to_dict()) | {"what_if": None}


def test_two_rankings_differ_as_explain_says(app: Asked) -> None:
    from rankgauge.explanation.query.explanation import difference

    told = app.data(at("/compare/query.json", query="q03", run=["s0", "s1"]))
    old, new = (rankgauge.explain(JUDGMENTS, RUNS[name], "q03", top=0, name=name) for name in ("s0", "s1"))
    assert told == as_data(difference(new, old).to_dict())


def test_a_run_is_shown_under_every_measure_that_is_a_number(app: Asked) -> None:
    """Counts are sums and whole numbers; a geometric mean has no distribution of a mean, which is said."""
    cut = {"k": "@10", "multiple": "@0.5", "recall": "@0.5"}
    for name in (name + cut.get(row.cutoff or "", "") for name, row in TABLE.items() if row.aggregate != "none"):
        page = app.get(at("/run", run="s1", measure=name))
        assert page.status_code == 200, (name, page.text)
    counts = app.get(at("/run", run="s1", measure="NumRet")).text
    assert re.search(r">NumRet<.{0,120}>300<.{0,80}>the sum over queries<", counts, re.DOTALL)
    assert "too few queries" not in counts
    assert 'data-counts="[&#34;NumRet&#34;]"' in counts
    effects = json.dumps(app.data(at("/run.json", run="s1", measure="NumRet"))["findings"])
    assert "NumRet is 300.0000, and 300.0000 to 300.0000 under other orders" in effects
    geometric = app.get(at("/run", run="s1", measure="gm_map")).text
    assert "the geometric mean over queries" in geometric
    assert "No distribution: gm_map is not a mean over queries" in geometric
    compared = app.data(at("/compare.json", run=["s0", "s1"], measure="NumRet"))
    assert " NumRet per query (" in json.dumps(compared)
    less = app.data(at("/compare.json", run=["s0", "s1"], measure="utility"))
    assert [pair["relative"]["value"] for pair in less["measures"]["utility"]["pairs"]] == [None]


def test_a_funnel_is_that_of_funnel(app: Asked) -> None:
    told = app.data(at("/funnel.json", retrieved="s1", reranked="again"))
    wanted = rankgauge.funnel(JUDGMENTS, retrieved={"s1": RUNS["s1"]}, reranked={"again": RUNS["again"]})
    assert told == {"retrieved": "s1", "reranked": "again", **as_data(wanted.to_dict())}
    other = app.data(at("/funnel.json", retrieved="s1", reranked="s2"))
    assert "is not among the candidates" in other["problem"] or "no candidate" in other["problem"]


def test_a_funnel_opens_on_runs_that_are_one(app: Asked, tmp_path: Path, worker: Worker) -> None:
    """One that holds what another one found; what is not said follows from what is."""
    for given in ({}, {"retrieved": "s1"}, {"reranked": "again"}):
        told = app.data(at("/funnel.json", **given))
        assert (told["retrieved"], told["reranked"], "systems" in told) == ("s1", "again", True), given
    again = app.data(at("/funnel.json", retrieved="again"))
    assert (again["retrieved"], again["reranked"]) == ("again", "s1")
    same = app.get(at("/funnel", retrieved="s1", reranked="s1"))
    assert (same.status_code, "s1 is not a reranking of itself" in same.text) == (200, True)
    qrels, runs = write(tmp_path, JUDGMENTS, {name: RUNS[name] for name in ("s0", "s2")})
    with asked(tmp_path, qrels, runs, worker=worker) as other:
        page = other.get("/funnel").text
        assert "A funnel has two stages" in page
        assert page.count('<option value="" selected>choose</option>') == 2
        assert other.data("/funnel.json")["reranked"] == ""


def test_the_advice_about_a_funnel_can_be_followed_on_the_page(app: Asked) -> None:
    two = {"retrieved": "s1", "reranked": "s2"}
    assert "--restrict" in app.data(at("/funnel.json", **two))["problem"]
    page = app.get(at("/funnel", **two)).text
    assert all(f'name="{name}"' in page for name in ("restrict", "candidates"))
    told = app.data(at("/funnel.json", **two, restrict="true", candidates=10))
    one, other = {"s1": RUNS["s1"]}, {"s2": RUNS["s2"]}
    wanted = rankgauge.funnel(JUDGMENTS, retrieved=one, reranked=other, restrict=True, candidates=10)
    assert told == two | as_data(wanted.to_dict())


def test_the_playground_is_explain_of_grades(app: Asked) -> None:
    told = app.data(at("/playground.json", grades="3,2,3,0,1,2,0,1,0,2", measure="nDCG(gain=exp)@10"))
    assert round(told["value"], 6) == 0.936002
    more = app.data(
        at("/playground.json", grades="3,2,3,0,1,2,0,1,0,2", ideal="3,3,3,2,2,2,1,1,0,0,0", measure="nDCG(gain=exp)@10")
    )
    assert round(more["value"], 4) == 0.7875
    tied = {
        k: app.data(at("/playground.json", grades="3,0=2=1,0=3,2", measure=f"nDCG@{k}", ties="average"))
        for k in (2, 3, 5, 7)
    }
    assert [round(tied[k]["value"], 10) for k in tied] == [0.7420981285, 0.7010143365, 0.7200516721, 0.8882323551]


# ---- what if ---------------------------------------------------------------------------------------------------------


RULES: list[dict[str, Any]] = [
    {}, {"ties": "average"}, {"unjudged": "condensed"}, {"depth": 7}, {"ties": "worst", "rel": 2.0}, {"order": "given"},
    {"ideal": "retrieved"}, {"empty": "one"},
]  # fmt: skip
MEASURES = ["nDCG@10", "nDCG(gain=exp)@5", "AP", "RR", "P@5", "ERR@10", "R@10", "nDCG", "Bpref", "RBP"]


def changed_by_hand(
    docs: list[str], grades: dict[str, float], moves: list[tuple[int, str]], sets: list[tuple[Any, str]]
) -> Any:
    """The ranking and the judgments after changes, in plain Python."""
    for rank, doc in moves:
        docs = [each for each in docs if each != doc]
        docs = [*docs[: rank - 1], doc, *docs[rank - 1 :]]
    grades = {doc: grade for doc, grade in grades.items() if doc not in {doc: 0 for _, doc in sets}}
    return docs, grades | {doc: grade for grade, doc in sets if grade is not None}


@pytest.mark.parametrize("number", range(len(RULES)))
def test_200_what_ifs_are_explain_exactly(folder: Path, worker: Worker, number: int) -> None:
    protocol, chance = replace(DEFAULT, **RULES[number]), random.Random(number)
    runs = [folder / f"{name}.run" for name in RUNS]
    compared = 0
    with asked(folder, folder / "qrels.txt", runs, protocol=protocol, worker=worker) as app:
        while compared < 200 // len(RULES):
            query, name, measure = chance.choice([*JUDGMENTS]), chance.choice([*RUNS]), chance.choice(MEASURES)
            if "average" in RULES[number].values() and measure in ("ERR@10", "Bpref", "RBP", "nDCG"):
                continue
            docs = [*JUDGMENTS[query], *RUNS[name].get(query, {}), "d99"]
            sets = {doc: chance.choice([None, 0.0, 1.0, 2.5, 3.0]) for doc in chance.sample(docs, chance.randint(0, 3))}
            graded = {doc: each for doc, each in JUDGMENTS[query].items() if doc not in sets}
            graded |= {doc: grade for doc, grade in sets.items() if grade is not None}
            order = _ranked(graded, RUNS[name], query, protocol)
            moves = [
                (chance.randint(1, 12), chance.choice([*order, *graded, "d98"])) for _ in range(chance.randint(1, 4))
            ]
            ranked, judged = changed_by_hand(order, graded, moves, [])
            run = {query: {doc: -float(rank) for rank, doc in enumerate(ranked)}}
            wanted = rankgauge.explain({query: judged}, run, query, measure, protocol=protocol, name=name)
            asked_for = at(
                "/query.json", query=query, run=name, measure=measure, move=[f"{rank}:{doc}" for rank, doc in moves],
                set=[f"{'u' if grade is None else grade}:{doc}" for doc, grade in sets.items()],
            )  # fmt: skip
            told = app.data(asked_for)
            assert {key: told[key] for key in told if key != "what_if"} == as_data(wanted.to_dict()), asked_for
            compared += 1


def _ranked(judged: dict[str, float], run: Nested, query: str, protocol: Protocol) -> list[str]:
    """The ranking as it is seen before anything is moved."""
    if query not in run:
        return []
    written = dict(sorted(run[query].items(), key=lambda each: -each[1]))  # as in the file
    shown = rankgauge.explain(
        {query: judged}, {query: written}, query, "R@1000", protocol=cast(Rules, protocol.to_dict())
    )
    return [doc for doc, _ in sorted(shown.ranks.items(), key=lambda each: each[1])]


def test_what_is_posted_is_what_its_address_shows(app: Asked) -> None:
    here = at("/query", query="q03", run="s1", measure="nDCG@10")
    first = app.post("/query/what-if", {"at": here, "move": ["1:d7"]}).json()
    second = app.post("/query/what-if", {"at": first["address"], "set": ["3:d7"], "top": 0}).json()
    assert "move=1%3Ad7" in second["address"]
    assert "set=3%3Ad7" in second["address"]
    told = app.data(second["address"].replace("/query?", "/query.json?"))
    assert second["value"] == f"{told['value']:.4f}"
    assert f'<div class="large">{second["value"]}</div>' in app.get(second["address"]).text
    assert "What would raise it most" not in second["html"]  # nothing is suggested where nobody asks
    assert "What would raise it most" in first["html"]


def test_moves_of_one_document_in_a_row_are_one(app: Asked) -> None:
    here = at("/query", query="q03", run="s1")
    for rank in (9, 5, 2):
        here = app.post("/query/what-if", {"at": here, "move": [f"{rank}:d7"], "top": 0}).json()["address"]
    assert here.endswith("&move=2%3Ad7")


def test_in_the_playground_grades_move(app: Asked) -> None:
    told = app.post(
        "/playground/what-if", {"at": "/playground?grades=3,2%3D0,u", "move": ["1:#3"], "set": ["1:#4"]}
    ).json()
    assert "grades=0%2C3%2C2%2C1" in told["address"]
    assert told["value"] == f"{rankgauge.ndcg([0, 3, 2, 1], k=10):.4f}"


# ---- pages -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PAGES)
def test_a_page_shows_every_number_of_its_twin(app: Asked, path: str) -> None:
    parameters: dict[str, Any] = PAGES[path]
    told = app.data(at("/index.json" if path == "/" else f"{path}.json", **parameters))
    page = app.get(at(path, **parameters)).text
    assert "computing" not in page
    if path == "/":
        for row in told["systems"]:
            assert f'data-v="{row["nDCG@10"]["value"]!r}"' in page
    if path in ("/query", "/playground"):
        assert f'<div class="large">{told["value"]:.4f}</div>' in page
        for row in told["rows"]:
            assert f'<span class="adds">{row["contribution"]:.3f}</span>' in page
    if path == "/compare":
        for pair in told["measures"]["nDCG@10"]["pairs"]:
            assert html.escape(pair["verdict"]) in page
            assert f'data-v="{pair["difference"]["value"]!r}"' in page
    if path == "/compare/query":
        assert all(f'data-v="{share["points"]!r}"' in page for share in told["shares"][:5])


@pytest.mark.parametrize("path", PAGES)
def test_a_page_loads_nothing_from_elsewhere_and_has_no_script_or_style_in_it(app: Asked, path: str) -> None:
    page = app.get(at(path, **PAGES[path])).text
    assert re.findall(r"<script(?! src=\"/static/)", page) == []
    assert re.findall(r"\sstyle=|<style|\son\w+=|javascript:", page) == []
    for to in re.findall(r"(?:src|href)=\"([^\"]*)\"", page):
        assert to.startswith(("/", "#")), to
        if to.startswith("/static/"):
            assert app.get(to).status_code == 200


def test_what_is_chosen_is_in_the_address_and_seen_on_the_page(app: Asked) -> None:
    page = app.get(at("/", measure="ndcg_cut_20", group="odd", baseline="s1")).text
    assert '<option value="nDCG@20" selected>20</option>' in page
    assert '<option value="odd" selected>odd</option>' in page
    assert '<option value="s1" selected>s1</option>' in page
    assert '<option value="nDCG(gain=exp)@20">' in page


def test_a_query_that_nobody_judged_can_be_graded(app: Asked) -> None:
    told = app.data(at("/query.json", query="unjudged", run="s0"))
    assert told["value"] == 0.0
    assert "no judgments" in told["notes"][0]
    graded = app.data(at("/query.json", query="unjudged", run="s0", set="1:d2"))
    assert graded["value"] == pytest.approx(rankgauge.ndcg([None, 1], k=10))  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("address", "status", "words"),
    [
        ("/run?run=s9", 404, "there is no run 's9'; there are s0, s1, s2, again"),
        ("/query?query=q3&run=s0", 404, "there is no query 'q3'; did you mean"),
        ("/?measure=ndgc@10", 422, "unknown measure 'ndgc@10'; did you mean 'nDCG@10'?"),
        ("/?measure=relstring@5", 422, "relstring@5 is a text"),
        ("/?group=evn", 404, "there is no group of queries 'evn'; did you mean 'even'?"),
        ("/query?query=q03&run=s0&measure=NumRet", 422, "NumRet is a count"),
        ("/query?query=q03&run=s0&move=d7", 422, "move='d7': a move is RANK:DOCUMENT"),
        ("/query?query=q03&run=s0&move=0:d7", 422, "a move is RANK:DOCUMENT"),
        ("/query?query=q03&run=s0&set=x:d7", 422, "set='x:d7': a grade is GRADE:DOCUMENT"),
        ("/query?query=q03&run=s0&set=nan:d7", 422, "a grade is GRADE:DOCUMENT"),
        ("/query?run=s0", 422, "query: field required"),
        ("/run?run=s0&down=perhaps", 422, "down: input should be a valid boolean"),
        ("/compare?run=s0&run=s1&run=s2&run=s9", 404, "there is no run 's9'"),
        ("/playground?grades=3,x", 422, "'x' is not a grade"),
        ("/playground?grades=3&ties=never", 422, "ties='never'"),
        ("/nowhere", 404, "there is no page '/nowhere'"),
        ("/docs", 404, "there is no page '/docs'"),
        ("/redoc", 404, "there is no page '/redoc'"),
        ("/static/..%2f..%2fapp.py", 404, "there is no page"),
        ("/static/../app.py", 404, "there is no page"),
    ],
)
def test_a_mistake_is_the_librarys_sentence_as_page_and_as_data(
    app: Asked, address: str, status: int, words: str
) -> None:
    page = app.get(address)
    assert (page.status_code, page.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert words[1:] in html.unescape(page.text)
    path, _, query = address.partition("?")
    if path in PAGES:
        twin = app.get(f"{'/index' if path == '/' else path}.json?{query}")
        assert (twin.status_code, twin.headers["content-type"]) == (status, "application/json")
        assert words in twin.json()["error"]


@pytest.mark.parametrize(
    "body",
    [
        {}, {"at": "/run?run=s0"}, {"at": "http://elsewhere/query?query=q03"}, {"at": "/query"}, {"at": 3}, [], "text",
        {"at": "/query?query=q03", "move": ["x"]}, {"at": "/query?query=q03", "top": 1000},
        {"at": "/query?query=%ff"}, {"at": "/query?query=q99"},
    ],
)  # fmt: skip
def test_a_change_that_is_none_is_refused(app: Asked, body: Any) -> None:
    answer = app.post("/query/what-if", body)
    assert answer.status_code in (404, 422)
    assert set(answer.json()) == {"error"}


@pytest.mark.parametrize(
    ("path", "typed", "words"),
    [
        ("/", {"measure": "nDGC@10"}, "nDCG@10"),
        ("/run", {"run": "s1", "measure": "relstring@5"}, "is a text"),
        ("/query", {"query": "q03", "run": "s1", "measure": "NumRel"}, "NumRel"),
        ("/compare", {"run": ["s2", "s1"], "measure": "nDCG@"}, "nDCG@"),
        ("/funnel", {"retrieved": "s1", "reranked": "again", "candidates": "ten"}, "no whole number"),
        ("/playground", {"grades": "3,x,1"}, "is not a grade"),
        ("/playground", {"grades": "3,1", "ideal": "bad", "measure": "worse"}, "worse"),
    ],
)
def test_what_is_refused_can_be_corrected(app: Asked, path: str, typed: dict[str, Any], words: str) -> None:
    """The page keeps what there is to choose, as it was typed, and says beside it what is wrong."""
    answer = app.get(at(path, **typed))
    page = html.unescape(answer.text)
    assert (answer.status_code, words in page.partition('role="alert">')[2]) == (422, True)
    form = page.partition('<form class="controls"')[2].partition("</form>")[0]
    for name, value in typed.items():
        if name in ("measure", "grades", "ideal", "candidates"):
            assert f'name="{name}" value="{value}"' in form
        elif path != "/query" or name == "run":
            assert f'<option value="{value if isinstance(value, str) else value[0]}" selected>' in form
    assert app.get(at(path + ".json" if path != "/" else "/index.json", **typed)).json()["error"]


def test_one_run_and_one_query(tmp_path: Path, worker: Worker) -> None:
    qrels, runs = write(tmp_path, {"q": {"a": 1.0}}, {"only": {"q": {"a": 2.0, "b": 1.0}}})
    with asked(tmp_path, qrels, runs, worker=worker) as app:
        assert app.data("/index.json")["systems"][0]["nDCG@10"] == {"value": 1.0, "low": 0.0, "high": 1.0}
        assert "nDCG@10 of only is 1.0000." in app.get("/").text
        assert app.get("/run?run=only").status_code == 200
        for path in ("/", "/run?run=only", "/query?query=q&run=only", "/playground?grades=1"):
            assert not re.search(r"\b1 (were|queries|systems|documents|ranks)\b", app.get(path).text), path
        assert "only one system" in app.get("/compare").text
        assert app.get("/compare.json").status_code == 422
        assert "only one run" in app.get("/funnel.json").json()["error"]


def test_two_runs_and_one_query_say_that_these_are_too_few(tmp_path: Path, worker: Worker) -> None:
    qrels, runs = write(tmp_path, {"q": {"a": 1.0}}, {"x": {"q": {"a": 2.0}}, "y": {"q": {"b": 2.0}}})
    with asked(tmp_path, qrels, runs, worker=worker) as app:
        assert app.data("/index.json")["systems"][0]["system"] == "x"
        pair = app.data("/compare.json")["measures"]["nDCG@10"]["pairs"][0]
        assert pair["verdict"].startswith("One query cannot show a difference: y − x is -1.0000")


# ---- hostile texts ---------------------------------------------------------------------------------------------------

EVIL = "<img src=x onerror=alert(1)>'\"&{{'xyz'*3}}</script>/%2e.json"


def test_no_text_of_the_files_is_markup(tmp_path: Path, worker: Worker) -> None:
    query, doc, group = f"q{EVIL}".replace(" ", "_"), f"d{EVIL}".replace(" ", "_"), f"g{EVIL}"
    name = "<i>run'\""
    (tmp_path / "qrels.txt").write_text(f"{query} 0 {doc} 2\n")
    run = tmp_path / f"{name}.run"
    run.write_text(f"{query} Q0 {doc} 1 2.0 t\n{query} Q0 other 2 1.0 t\n")
    (tmp_path / "q.json").write_text(json.dumps({query: f"text {EVIL}"}))
    (tmp_path / "d.jsonl").write_text(json.dumps({"doc_id": doc, "title": f"title {EVIL}", "text": EVIL * 300}))
    (tmp_path / "by.json").write_text(json.dumps({query: group}))
    more: dict[str, Any] = {
        "queries": str(tmp_path / "q.json"),
        "documents": str(tmp_path / "d.jsonl"),
        "by": str(tmp_path / "by.json"),
    }
    with asked(tmp_path, tmp_path / "qrels.txt", [run], worker=worker, **more) as app:
        for path, parameters in (
            ("/", {"group": group}), ("/run", {"run": name}), ("/query", {"query": query, "run": name}),
            ("/run", {"run": EVIL}), ("/query", {"query": EVIL}), ("/", {"measure": EVIL}), ("/", {"baseline": EVIL}),
            ("/playground", {"grades": EVIL}), (f"/{EVIL}x", {}),
        ):  # fmt: skip
            page = app.get(at(path, **parameters)).text
            assert "<img" not in page
            assert "xyzxyz" not in page
            assert "<i>" not in page
            assert page.count("<script") == page.count('<script src="/static/') == page.count("</script>")
        shown = app.get(at("/query", query=query, run=name)).text
        assert html.escape(EVIL[:20], quote=False) in shown
        told = app.data(at("/query.json", query=query, run=name))
        assert told["rows"][0]["doc_id"] == doc


@pytest.mark.parametrize(("grade", "chip"), [("-1", "g0"), ("2.5", "g2"), ("12", "g4"), ("1e3", "g4")])
def test_grades_that_have_no_key_are_shown_as_they_are(tmp_path: Path, worker: Worker, grade: str, chip: str) -> None:
    (tmp_path / "qrels.txt").write_text(f"q 0 a {grade}\nq 0 b 1\n")
    (tmp_path / "r.run").write_text("q Q0 a 1 2 t\nq Q0 b 2 1 t\n")
    with asked(tmp_path, tmp_path / "qrels.txt", [tmp_path / "r.run"], worker=worker) as app:
        page = app.get("/query?query=q&run=r").text
        assert f'<select class="grade {chip}"' in page
        assert f'<option value="{float(grade):g}" selected>' in page
        assert app.get(f"/query.json?query=q&run=r&set={grade}:b").status_code == 200


# ---- what is kept ----------------------------------------------------------------------------------------------------


def kept(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "cache").iterdir() if path.suffix in (".hits", ".arrow"))


def test_a_second_start_reads_what_the_first_kept(tmp_path: Path, worker: Worker) -> None:
    qrels, runs = write(tmp_path, JUDGMENTS, RUNS)
    with asked(tmp_path, qrels, runs, worker=worker) as app:
        first = {path: app.data(path) for path in ("/index.json", "/run.json?run=s1", "/query.json?query=q03&run=s1")}
    files = kept(tmp_path)
    assert len(files) == 2 * len(RUNS)
    times = {path: path.stat().st_mtime_ns for path in files}
    with asked(tmp_path, qrels, runs, worker=Worker()) as app:
        assert {path: app.data(path) for path in first} == first
        app.worker.stop()
    assert {path: path.stat().st_mtime_ns for path in kept(tmp_path)} == times


def test_what_is_damaged_is_read_again(tmp_path: Path, worker: Worker) -> None:
    qrels, runs = write(tmp_path, JUDGMENTS, {"s1": RUNS["s1"]})
    with asked(tmp_path, qrels, runs, worker=worker) as app:
        whole = app.data("/run.json?run=s1")
    (entry,) = (path for path in kept(tmp_path) if path.suffix == ".hits")
    for damage in (b"", b"{", entry.read_bytes()[:-8], b"[]\n" + entry.read_bytes()):
        entry.write_bytes(damage)
        with asked(tmp_path, qrels, runs, worker=worker) as app:
            assert app.data("/run.json?run=s1") == whole


def test_what_entries_have_in_common_is_kept_once_and_again_where_it_is_damaged(tmp_path: Path, worker: Worker) -> None:
    untied = {f"u{at}": {"q03": {"d1": 3.0 + at, "d2": 2.0, "d3": 1.0}} for at in range(2)}
    qrels, runs = write(tmp_path, JUDGMENTS, RUNS | untied)
    first = rankgauge.evaluate_runs(JUDGMENTS, RUNS | untied, ["nDCG@10"])
    wanted = {name: first[name]["nDCG@10"] for name in first}
    assert [bool((first[name].hits.tied == 1).all()) for name in ("u0", "s1")] == [True, False]
    for damage in (b"", b"{", b'{"queries": [], "judged": 0}\n', None):
        with asked(tmp_path, qrels, runs, worker=worker) as app:
            rows = app.data("/index.json")["systems"]
            assert {row["system"]: row["nDCG@10"]["value"] for row in rows} == wanted
        (common,) = (tmp_path / "cache").glob("*.judged")
        if damage is not None:
            common.write_bytes(damage)
    with asked(tmp_path, qrels, runs, worker=worker) as app:
        assert app.served.cache.problems == []


def test_a_second_start_needs_no_scipy_for_the_first_page(tmp_path: Path, worker: Worker) -> None:
    qrels, runs = write(tmp_path, JUDGMENTS, RUNS)
    with asked(tmp_path, qrels, runs, worker=worker) as app:
        first = app.data("/index.json")["systems"]
        cache = app.served.cache
    (file,) = (tmp_path / "cache").glob("t-*.json")
    QUANTILES.clear()
    assert recall_quantiles(cache)
    ((freedom, alpha), quantile), *_ = QUANTILES.items()
    assert quantile == float(stdtrit(freedom, 1 - alpha / 2))
    file.write_text("[[1]]")
    QUANTILES.clear()
    assert not recall_quantiles(cache)
    with asked(tmp_path, qrels, runs, worker=worker) as app:
        assert app.data("/index.json")["systems"] == first
    assert recall_quantiles(cache)


def test_other_rules_and_other_files_are_other_entries(tmp_path: Path, worker: Worker) -> None:
    qrels, runs = write(tmp_path, JUDGMENTS, {"s1": RUNS["s1"]})
    numbers = []
    for protocol in (DEFAULT, replace(DEFAULT, ties="average")):
        with asked(tmp_path, qrels, runs, protocol=protocol, worker=worker) as app:
            numbers.append(app.data("/index.json")["systems"][0]["nDCG@10"]["value"])
            assert app.data("/index.json")["protocol"]["ties"] == protocol.ties
    assert numbers[0] != numbers[1]
    assert len(kept(tmp_path)) == 4
    qrels.write_text(qrels.read_text().replace(" 3\n", " 1\n"))
    with asked(tmp_path, qrels, runs, worker=worker) as app:
        assert app.served.failure == ""
    assert len(kept(tmp_path)) == 6


def test_what_is_in_a_file_counts_and_not_its_name_or_time(tmp_path: Path, worker: Worker) -> None:
    qrels, runs = write(tmp_path, JUDGMENTS, {"s1": RUNS["s1"], "s2": RUNS["s2"]})
    with asked(tmp_path, qrels, runs, worker=worker) as app:
        first = app.data("/index.json")["systems"]
    files = kept(tmp_path)
    os.utime(runs[0], ns=(1, 1))
    (tmp_path / "moved").mkdir()
    moved = runs[1].rename(tmp_path / "moved" / runs[1].name)
    with asked(tmp_path, qrels, [runs[0], moved], worker=worker) as app:
        assert app.data("/index.json")["systems"] == first
    assert kept(tmp_path) == files
    (tmp_path / "cache" / "contents.json").write_text("[[1]]")
    with asked(tmp_path, qrels, [runs[0], moved], worker=worker) as app:
        assert app.data("/index.json")["systems"] == first


def test_a_file_that_only_seems_to_be_what_it_was_is_said_to_have_changed(tmp_path: Path, worker: Worker) -> None:
    qrels, runs = write(tmp_path, JUDGMENTS, {"s1": RUNS["s1"], "s2": RUNS["s2"]})
    with asked(tmp_path, qrels, runs, worker=worker) as app:
        before = app.data("/run.json?run=s1")["runs"]
    was = runs[0].stat()
    text = runs[0].read_text()
    runs[0].write_text(text.replace(" d1 ", " x1 "))
    os.utime(runs[0], ns=(was.st_atime_ns, was.st_mtime_ns))
    assert (runs[0].read_text() != text, runs[0].stat().st_size) == (True, was.st_size)
    with asked(tmp_path, qrels, runs, worker=worker, patience=0) as app:
        assert app.data("/run.json?run=s1")["runs"] == before
        end = time.monotonic() + 60
        while "has changed" not in app.get("/").text and time.monotonic() < end:
            time.sleep(0.02)
        assert "s1.run has changed since it was read." in app.get("/").text
        assert "s2.run has changed" not in app.get("/").text
        app.post("/reread", {})
        app.served.wait()
        assert "has changed" not in app.get("/").text
        assert app.data("/run.json?run=s1")["runs"] != before
    runs[0].write_text(text)
    with asked(tmp_path, qrels, runs, worker=worker) as app:
        assert app.data("/run.json?run=s1")["runs"] == before


def test_a_file_that_changes_while_it_is_read_is_not_kept(tmp_path: Path) -> None:
    (tmp_path / "s.run").write_text("q Q0 d 1 1 t\n")
    contents, state = Contents(Cache(str(tmp_path / "cache"))), state_of(tmp_path / "s.run")
    assert state is not None
    (tmp_path / "s.run").write_text("q Q0 d 1 1 t\nq Q0 e 2 0 t\n")
    assert contents.hashed(tmp_path / "s.run", state) is None
    assert contents.known == {}


def test_a_folder_that_cannot_be_written_is_said_and_done_without(
    tmp_path: Path, worker: Worker, capsys: pytest.CaptureFixture[str]
) -> None:
    qrels, runs = write(tmp_path, JUDGMENTS, {"s1": RUNS["s1"]})
    (tmp_path / "file").write_text("")
    with asked(tmp_path, qrels, runs, worker=worker, cache=tmp_path / "file" / "cache") as app:
        assert app.data("/query.json?query=q03&run=s1")["value"] > 0
        assert "Nothing is kept for the next start" in app.get("/").text
        assert app.served.cache.keep("x", b"abc") == app.served.cache.file("x") == b"abc"
    assert "warning: Nothing is kept for the next start" in capsys.readouterr().err


def test_a_cache_that_vanishes_is_said_and_made_anew(tmp_path: Path, worker: Worker) -> None:
    qrels, runs = write(tmp_path, JUDGMENTS, {"s1": RUNS["s1"]})
    with asked(tmp_path, qrels, runs, worker=worker) as app:
        whole = app.data("/query.json?query=q03&run=s1")
        for path in kept(tmp_path):
            path.unlink()
        page = app.get("/query?query=q03&run=s1")
        assert (page.status_code, "Read again" in page.text) == (503, True)
        assert "what was kept of s1 is gone" in app.get("/query.json?query=q03&run=s1").json()["error"]
        app.post("/reread", {})
        app.served.wait()
        assert app.data("/query.json?query=q03&run=s1") == whole
    (arrow,) = (path for path in kept(tmp_path) if path.suffix == ".arrow")
    arrow.write_bytes(arrow.read_bytes()[:-100])
    with asked(tmp_path, qrels, runs, worker=worker) as app:
        assert app.data("/query.json?query=q03&run=s1") == whole


def test_of_a_deep_measure_nothing_that_counts_is_hidden(tmp_path: Path, worker: Worker) -> None:
    judgments = {"q": {"d150": 3.0, "d240": 2.0, "gone": 1.0}}
    run = {"q": {f"d{rank}": 1000.0 - rank for rank in range(250)}}
    qrels, runs = write(tmp_path, judgments, {"s": run})
    with asked(tmp_path, qrels, runs, worker=worker) as app:
        page = app.get("/query?query=q&run=s&measure=nDCG@200").text
        assert "99 more ranks, which are not shown; of these add something:" in page
        before, _, after = page.partition("nothing below rank 200 counts")
        assert '<span class="rank">151</span>' in before
        assert "relevant, found at rank 241" in after
        assert "relevant, not retrieved" in after


def test_what_was_changed_is_there_wherever_it_is(app: Asked) -> None:
    shown = app.data(at("/query.json", query="q03", run="s1", measure="nDCG@5"))
    doc = next(row["doc_id"] for row in shown["rows"] if not row["grade"])
    page = app.get(at("/query", query="q03", run="s1", measure="nDCG@5", move=f"9:{doc}")).text
    assert "changed, at rank 9" in page


def test_judged_is_what_eval_calls_so(app: Asked) -> None:
    wanted = rankgauge.evaluate(JUDGMENTS, RUNS["s0"], ["Judged@10"])["Judged@10"]
    (row,) = (row for row in app.data("/index.json")["systems"] if row["system"] == "s0")
    assert row["Judged@10"] == wanted
    page = app.get("/run?run=s0").text
    assert page.count(f'data-v="{wanted!r}"') == 2  # the tile, and the row of all groups


def test_links_keep_what_is_chosen(app: Asked) -> None:
    page = app.get(at("/", measure="nDCG@5", group="odd")).text
    assert 'href="/compare?measure=nDCG%405&amp;group=odd"' in page
    page = app.get(at("/compare/query", query="q03", run=["s0", "s1", "s2"], group="odd")).text
    assert 'href="/compare?run=s0&amp;run=s1&amp;run=s2&amp;measure=nDCG%4010&amp;group=odd"' in page
    assert "s1 − s0: " in page
    assert "/query?run=s1&amp;measure=nDCG%4010" in app.get(at("/run", run="s1", measure="NumRet")).text


def test_every_system_has_its_charts_and_every_group_a_row(app: Asked) -> None:
    app.data(at("/compare.json", run=["s0", "s1", "s2"]))
    page = app.get(at("/compare", run=["s0", "s1", "s2"])).text
    for name in ("s1", "s2"):
        assert f'data-chart="differences-{name}"' in page
        assert f'data-chart="scatter-{name}"' in page
    table = re.findall(r'data-table="groups".*?</table>', page, re.DOTALL)[0]
    assert table.count("<tr>") == 1 + 2 * 2


def test_files_that_change_are_said_and_read_again(tmp_path: Path, worker: Worker) -> None:
    qrels, runs = write(tmp_path, JUDGMENTS, RUNS)
    with asked(tmp_path, qrels, runs, worker=worker) as app:
        before = app.data("/run.json?run=s1")
        assert "has changed" not in app.get("/").text
        runs[1].write_text(runs[1].read_text().replace(" d1 ", " d77 "))
        runs[2].unlink()
        page = app.get("/").text
        assert "s1.run has changed since it was read." in page
        assert "s2.run is gone; what was read of it is still shown." in page
        assert app.data("/run.json?run=s1") == before
        assert "they are checked as they were when the check began" in app.get("/run?run=s1").text
        assert app.post("/reread", {}).status_code == 202
        app.served.wait()
        assert app.data("/run.json?run=s1")["runs"][0]["fingerprint"] != before["runs"][0]["fingerprint"]
        assert "The run s2 is left out: " in app.get("/").text
        assert app.get("/run?run=s2").status_code == 404


def test_nothing_that_can_be_read_is_said_with_what_to_do(tmp_path: Path, worker: Worker) -> None:
    (tmp_path / "qrels.txt").write_text("q 0 d x\n")
    (tmp_path / "r.run").write_text("q Q0 d 1 1 t\n")
    with asked(tmp_path, tmp_path / "qrels.txt", [tmp_path / "r.run"], worker=worker) as app:
        page, twin = app.get("/"), app.get("/index.json")
        assert (page.status_code, twin.status_code) == (503, 503)
        assert "qrels.txt:1" in twin.json()["error"]
        assert "Read again" in page.text
        (tmp_path / "qrels.txt").write_text("q 0 d 1\n")
        app.post("/reread", {})
        app.served.wait()
        assert app.data("/index.json")["systems"][0]["nDCG@10"]["value"] == 1.0


def test_groups_of_other_queries_are_left_out_and_that_is_said(tmp_path: Path, worker: Worker) -> None:
    qrels, runs = write(tmp_path, JUDGMENTS, {"s1": RUNS["s1"]})
    (tmp_path / "by.csv").write_text("query_id,group\nsomething,else\n")
    with asked(tmp_path, qrels, runs, worker=worker, by=str(tmp_path / "by.csv")) as app:
        assert "by.csv is left out: no query is in any group" in html.unescape(app.get("/").text)
        assert app.data("/index.json")["systems"][0]["system"] == "s1"


def test_while_nothing_is_read_yet_a_page_says_what_is_being_read(folder: Path, worker: Worker) -> None:
    with asked(folder, folder / "qrels.txt", [folder / "s1.run"], worker=worker) as app:
        app.served.collection = None
        app.served.reading = type(app.served)(app.served.files, app.served.cache).reading
        page = app.get("/")
        assert (page.status_code, "Reading the files" in page.text) == (200, True)
        assert 'data-pending="reading"' in page.text
        assert app.get("/index.json").json()["pending"] == ["reading"]


# ---- the worker ------------------------------------------------------------------------------------------------------


def test_a_question_is_asked_once_and_a_dead_worker_is_replaced() -> None:
    import operator
    import os
    import signal

    worker = Worker()
    try:
        first = worker.ask("sum", operator.add, 1, 2)
        assert worker.ask("sum", operator.add, 5, Later(operator.truediv, (1, 0))) is first
        assert worker.ask("later", operator.add, 1, Later(operator.mul, (2, 3))).result(60) == 7
        assert first.result(60) == 3
        assert worker.pool is not None
        (process,) = worker.pool._processes.values()
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        with pytest.raises(Exception, match="terminated"):
            worker.ask("dies", operator.add, 1, 1).result(60)
        assert worker.ask("dies", operator.add, 1, 1).result(60) == 2
        assert worker.ask("nice", os.nice, 0).result(60) >= 10
    finally:
        worker.stop()


# ---- texts -----------------------------------------------------------------------------------------------------------


def test_the_words_of_a_query_are_marked_whatever_their_endings() -> None:
    pieces = marked("Running shoes, for Runs; can't RUN", words_of("run shoe can't"))
    assert [piece.text for piece in pieces if piece.marked] == ["shoes", "Runs", "can't", "RUN"]
    assert "".join(piece.text for piece in pieces) == "Running shoes, for Runs; can't RUN"
    assert marked("anything", frozenset()) == [("anything", False)]


def test_a_snippet_begins_where_the_query_first_comes_up() -> None:
    text = "word " * 100 + "needle in it " + "word " * 100
    shown = snippet(text, words_of("needle"))
    assert shown.startswith("… ")
    assert "needle" in shown
    assert len(shown) < 180
    assert snippet("short text", words_of("text")) == "short text"


def test_documents_have_titles_with_a_header_and_texts_without(tmp_path: Path) -> None:
    (tmp_path / "named.csv").write_text("doc_id,price,title,body\na,3,A lamp,bright\nb,,,plain\n")
    named = read_documents(str(tmp_path / "named.csv"))
    assert named == {"a": Document("A lamp", "3 · bright"), "b": Document("", "plain")}
    (tmp_path / "two.tsv").write_text("a\tbright lamp\nb\tplain\n")
    assert read_documents(str(tmp_path / "two.tsv")) == {"a": Document("", "bright lamp"), "b": Document("", "plain")}


def test_a_card_of_the_ideal_says_where_its_document_is() -> None:
    judgments, run = {"q": {"a": 3, "b": 2, "c": 2, "d": 1}}, {"q": {"a": 9.0, "x": 8.0, "b": 7.0, "y": 6.0, "c": 5.0}}
    explanation = rankgauge.explain(judgments, run, "q", "nDCG@4")
    places = {row.doc_id: _place(explanation, row, 4) for row in explanation.ideal}
    assert places["a"] == {"where": "at its rank", "there": True}
    assert places["b"] == {"where": "at rank 3", "there": True}
    assert places["c"] == {"where": "at rank 5, beyond 4", "there": False}
    assert places["d"] == {"where": "not retrieved", "there": False}
    assert {_place(explanation, row, None)["there"] for row in explanation.ideal[:3]} == {True}
