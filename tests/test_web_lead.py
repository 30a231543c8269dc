"""The pages of who leads the judging: what they show is what the library finds, and names come after deciding."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

import rankgauge
from lead_app import EVIL, JUDGES, leading
from rankgauge.protocol import DEFAULT
from rankgauge.raters.disputes import Adjudication, Disputed, adjudication
from rankgauge.raters.ledger import ledger
from rankgauge.raters.tasks import task_of
from rankgauge.show.model import Table, Text
from rankgauge.shown import clean
from rankgauge.store import schema
from rankgauge.store.operator import operator
from rankgauge.store.project import Project
from rankgauge.store.store import Label
from rankgauge.web.desk import Desk
from rankgauge.web.pages.adjudicate import listed
from rankgauge.web.projects import files_of
from web import Asked

pytestmark = pytest.mark.filterwarnings("ignore::rankgauge.RankgaugeWarning")


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Asked, Desk]]:
    """The app and its desk; tests of what changes have their own."""
    with leading(tmp_path_factory.mktemp("lead")) as found:
        yield found


@pytest.fixture(scope="module")
def app(both: tuple[Asked, Desk]) -> Asked:
    return both[0]


@pytest.fixture(scope="module")
def desk(both: tuple[Asked, Desk]) -> Desk:
    return both[1]


@pytest.fixture
def own(tmp_path: Path) -> Iterator[tuple[Asked, Desk]]:
    with leading(tmp_path) as found:
        yield found


def whole(app: Asked, address: str) -> str:
    """A page when nothing is pending."""
    end = time.monotonic() + 60
    while True:
        answer = app.get(address)
        assert answer.status_code == 200, answer.text
        if "data-pending" not in answer.text:
            return answer.text
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_funnel_of_a_project_is_what_its_file_says(own: tuple[Asked, Desk]) -> None:
    app, desk = own
    assert app.data("/funnel.json")["reranked"] == ""  # neither looks like a reranking
    with (desk.project.folder / "rankgauge.toml").open("a") as file:
        file.write('\n[systems.s1]\nkind = "call"\ncall = "x:y"\nrerank = "s2"\n')
    app.served.files = files_of(Project(desk.project.folder), DEFAULT, ("nDCG@10",))
    app.served.read()
    app.served.wait()
    told = app.data("/funnel.json")
    assert (told["retrieved"], told["reranked"]) == ("s2", "s1")


# ---- agreement and the ledger ----------------------------------------------------------------------------------------


def test_agreement_is_that_of_agree(app: Asked, desk: Desk) -> None:
    """Of all judges, of two of them, and of a task: the numbers of the library, every digit."""
    sets = {judge: desk.project.labels(judge) for judge in (*JUDGES, "gpt-9")}
    assert app.data("/agreement.json") == {"task": None, **clean(rankgauge.agree(sets).data(per_query=True))}
    two = app.data("/agreement.json?judge=bobbie&judge=annika")
    assert two == {
        "task": None,
        **clean(rankgauge.agree({name: sets[name] for name in ("bobbie", "annika")}).data(per_query=True)),
    }
    task = task_of(desk.store, "autumn")
    table = schema.task_pair.c
    asked = select(table.query_id, table.doc_id).where(table.task_id == task.number)
    pairs = {tuple(row) for row in desk.store.read(lambda each: each.execute(asked).all())}
    cut = {
        judge: {
            query: kept for query, docs in each.nested.items()
            if (kept := {doc: grade for doc, grade in docs.items() if (query, doc) in pairs})
        }
        for judge, each in sets.items()
    }  # fmt: skip
    told = app.data("/agreement.json?task=autumn")
    assert told == {"task": "autumn", **clean(rankgauge.agree(cut).data(per_query=True))}


def test_the_page_of_agreement_shows_what_agree_shows(app: Asked, desk: Desk) -> None:
    page = whole(app, "/agreement?judge=annika&judge=bobbie")
    found = rankgauge.agree({judge: desk.project.labels(judge) for judge in ("annika", "bobbie")})
    assert f"{found.pairs[0].kappa['quadratic'].value:.4f}" in page
    assert f"{found.overall.alpha['ordinal'].value:.2f}" in page
    assert "q03" in page
    assert EVIL not in whole(app, "/agreement")


def test_the_ledger_is_that_of_the_library(app: Asked, desk: Desk) -> None:
    for address, task in (("/judges.json", None), ("/judges.json?task=autumn", task_of(desk.store, "autumn"))):
        assert app.data(address) == ledger(desk.project, desk.store, task).to_dict()
    page = whole(app, "/judges")
    assert "κ quadratic" in page
    assert EVIL not in page
    assert "&lt;img src=x" in page
    drawn = json.loads(app.get("/judges.charts").text)["charts"]
    assert drawn["drift"]["title"] == "Bias of judges by week"


def test_an_unknown_task_or_judge_is_said(app: Asked) -> None:
    for page in ("/agreement", "/judges", "/adjudicate"):
        answer = app.get(f"{page}.json?task=autum")
        assert (answer.status_code, "did you mean" in answer.text) == (404, True)
    assert "only one judge" in app.data("/agreement.json?judge=annika")["problem"]
    assert "the page Tasks makes a task with an overlap of 2" in whole(app, "/agreement?judge=annika")
    assert app.get("/adjudicate.json?measure=nope").status_code == 422
    assert app.get("/adjudicate.json?among=nobody").status_code == 422


def test_judgments_that_come_in_do_not_keep_a_page_waiting(own: tuple[Asked, Desk]) -> None:
    """What was asked before is what one gets, though it is not of this moment; then it is asked anew."""
    app, desk = own
    desk.looks.fresh = 60.0
    first = app.data("/judges.json")
    desk.store.add_labels("zoe", [Label("q01", "d1", 1.0, "zoe")], "person")
    assert app.data("/judges.json") == first
    desk.looks.fresh = 0.0
    assert {each["judge"] for each in app.data("/judges.json")["judges"]} == {*JUDGES, "gpt-9", "zoe"}


# ---- deciding --------------------------------------------------------------------------------------------------------


def test_no_name_is_told_before_it_is_decided(own: tuple[Asked, Desk]) -> None:
    """Neither in the page nor in any data; after deciding, the names of this pair alone."""
    app, _ = own
    told = app.data("/adjudicate.json")
    first = told["open"][0]
    pair = f"/adjudicate/pair.json?query={first['query_id']}&doc={first['doc_id']}"
    for shown in (whole(app, "/adjudicate"), json.dumps(told), app.get(pair).text):
        assert not any(name in shown for name in ("annika", "bobbie", "evelyn", "gpt-9"))
        assert "s1" not in json.dumps(first)
    body = {"key": "k" * 16, "query_id": first["query_id"], "doc_id": first["doc_id"], "grade": 2, "seen": told["last"]}
    answer = app.post("/adjudicate", body)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert {each["judge"] for each in found["given"]} == {*JUDGES, "gpt-9"}
    assert {(each["letter"], each["grade"]) for each in found["given"]} == {
        (each["letter"], each["grade"]) for each in first["given"]
    }
    after = app.data("/adjudicate.json")
    assert [each["doc_id"] for each in after["decided"]] == [first["doc_id"]]
    assert not any(name in json.dumps(after["open"]) for name in ("annika", "bobbie", "evelyn", "gpt-9"))
    assert len(after["open"]) == len(told["open"]) - 1


def test_disputes_are_those_of_the_library_and_so_is_what_comes_of_them(own: tuple[Asked, Desk]) -> None:
    """The answer to a decision says the mean of every system before and after, as two evaluations have it."""
    app, desk = own
    found = adjudication(desk.project, desk.store, measure="AP", people=True)
    told = app.data("/adjudicate.json?measure=map&among=people")
    wanted = clean(found.data())
    assert {name: told[name] for name in wanted} == wanted
    assert [each["key"] for each in told["scale"]] == ["0", "1", "2", "3"]
    first = told["open"][0]
    runs = {name: desk.project.run(name) for name in ("s1", "s2")}
    before = {name: rankgauge.evaluate(desk.project.labels(), run, "AP")["AP"] for name, run in runs.items()}
    body = {"key": "k" * 16, "query_id": first["query_id"], "doc_id": first["doc_id"], "grade": 3.0,
            "seen": told["last"], "measure": "map", "among": "people",
            "note": f"because {EVIL}", "ms": 1234}  # fmt: skip
    outcome = app.post("/adjudicate", body).json()["outcome"]
    after = {name: rankgauge.evaluate(desk.project.labels(), run, "AP")["AP"] for name, run in runs.items()}
    assert outcome == [{"run": name, "before": before[name], "after": after[name]} for name in runs]
    page = whole(app, "/adjudicate")
    assert EVIL not in page
    assert "because &lt;img" in page


def test_of_very_many_pairs_the_first_are_listed_and_the_rest_counted() -> None:
    open_pairs = tuple(Disputed("q", f"d{at}", (), 1.0) for at in range(620))
    found = Adjudication("nDCG@10", open_pairs, (), {}, 0)
    (section,) = listed(found)
    table, rest = section.blocks
    assert isinstance(table, Table)
    assert isinstance(rest, Text)
    assert ([row[1] for row in table.rows], rest.words[:9]) == ([f"d{at}" for at in range(500)], "120 more:")


def test_a_decision_is_kept_once_and_refusals_say_why(own: tuple[Asked, Desk]) -> None:
    app, desk = own
    first = app.data("/adjudicate.json?task=autumn")["open"][0]
    body = {"key": "a" * 16, "query_id": first["query_id"], "doc_id": first["doc_id"], "grade": 0, "task": "autumn"}
    before = desk.store.counts()
    assert [app.post("/adjudicate", body).json()["new"] for _ in range(2)] == [True, False]
    after = desk.store.counts()
    assert {name: after[name] - before[name] for name in ("judgment", "audit")} == {"judgment": 1, "audit": 1}
    refused = {
        409: body | {"grade": 1},
        404: body | {"key": "b" * 16, "doc_id": "nobody"},
        422: body | {"key": "b" * 16, "grade": 7},
    }
    for status, wrong in refused.items():
        answer = app.post("/adjudicate", wrong)
        assert (answer.status_code, bool(answer.json()["error"])) == (status, True)
    for wrong in (
        {"key": "short"},
        {"grade": None},
        {"note": "x" * 10_001},
        {"ms": -1},
        {"key": "c" * 16, "note": "\0"},
    ):
        assert app.post("/adjudicate", body | wrong).status_code == 422
    assert app.post("/adjudicate", body | {"task": "nope"}).status_code == 404
    assert desk.store.counts() == after
    table = schema.judgment.c
    asked = select(table.ruling, table.task_id, table.grade).where(table.key == "a" * 16)
    kept = desk.store.read(lambda each: each.execute(asked).one())
    assert tuple(kept) == (1, task_of(desk.store, "autumn").number, 0.0)
    forged = app.client.post(
        "/adjudicate", json=body, headers={"authorization": f"Bearer {app.key}", "sec-fetch-site": "cross-site"}
    )
    assert forged.status_code == 403


def test_a_pair_is_shown_with_the_words_of_the_query_marked(app: Asked) -> None:
    first = app.data("/adjudicate.json")["open"][0]
    told = app.data(f"/adjudicate/pair.json?query={first['query_id']}&doc={first['doc_id']}")
    assert told["query"].startswith(f"query {first['query_id']}")
    assert [each["name"] for each in told["fields"]] == ["title", "text", "price"]
    assert ["shoes", 1] in told["fields"][1]["pieces"]
    assert app.get("/adjudicate/pair.json?query=q01&doc=nope").status_code == 404


# ---- tasks -----------------------------------------------------------------------------------------------------------


def test_a_task_is_made_closed_and_opened(own: tuple[Asked, Desk]) -> None:
    app, desk = own
    made: dict[str, Any] = {
        "name": f"winter {EVIL}", "systems": ["s2"], "depth": 12, "overlap": 2, "raters": ["ann", "bob"],
        "scale": "0 = Bad: no use\n1 = Good", "guidelines": f"**Look** {EVIL}", "fields": ["title"], "gold": 0.05,
    }  # fmt: skip
    answer = app.post("/tasks", made)
    assert answer.status_code == 201, answer.text
    assert answer.json()["pairs"] > 0
    task = task_of(desk.store, made["name"])
    assert (task.overlap, task.raters, task.scale.grades, task.fields) == (2, ("ann", "bob"), (0.0, 1.0), ("title",))
    assert (task.runs, task.gold) == (("@s2",), 0.05)
    told = app.data("/tasks.json")["tasks"]
    assert [each["task"] for each in told] == [made["name"], "autumn"]
    page = app.get("/tasks").text
    assert EVIL not in page
    assert "winter &lt;img" in page
    for path, closed in (("/tasks/close", True), ("/tasks/close", True), ("/tasks/open", False)):
        assert app.post(path, {"task": made["name"]}).status_code == 200
        assert (task_of(desk.store, made["name"]).closed is not None) == closed
    lines = desk.store.read(lambda each: each.execute(select(schema.audit.c.who, schema.audit.c.what)).all())
    assert [tuple(each) for each in lines if each[1].startswith("task")][1:] == [
        (operator(), "task made"), (operator(), "task closed"), (operator(), "task opened"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": "autumn"}, "already"),
        ({"systems": ["s9"]}, "no whole run of 's9'"),
        ({"scale": "0 Bad"}, "a line such as"),
        ({"scale": "0 = Bad\n0 = Good"}, "twice"),
        ({"overlap": 3, "raters": ["ann"]}, "only 1 rater"),
        ({"fields": ["nope"]}, "no document has a field"),
        ({"depth": 0}, "depth"),
        ({"gold": 0.9}, "gold"),
    ],
)
def test_a_task_that_cannot_be_is_refused(app: Asked, desk: Desk, wrong: dict[str, Any], said: str) -> None:
    before = desk.store.counts()["task"]
    answer = app.post("/tasks", {"name": "new", "systems": ["s2"], "depth": 12} | wrong)
    assert answer.status_code == 422
    assert said in answer.json()["error"]
    assert desk.store.counts()["task"] == before
    assert app.post("/tasks/close", {"task": "nope"}).status_code == 404


def test_a_viewer_is_shown_no_way_to_change(tmp_path: Path) -> None:
    with leading(tmp_path, "viewer") as (app, _):
        page = app.get("/tasks").text
        assert "autumn" in page
        assert "Make a task" not in page
        assert '<button type="button" class="button" data-task' not in page
        assert "/adjudicate" not in page
        assert app.get("/judges.json").status_code == app.get("/agreement.json").status_code == 200
        for path in ("/adjudicate", "/adjudicate.json", "/adjudicate.charts", "/adjudicate/pair.json?query=q&doc=d"):
            assert app.get(path).status_code == 403
        for path in ("/adjudicate", "/tasks", "/tasks/close", "/tasks/open"):
            assert app.post(path, {"task": "autumn", "name": "mine"}).status_code == 403
