"""Judging over HTTP: a rater gets what is theirs and nothing of others, and what is answered with 200 is stored."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="a store needs SQLAlchemy")
pytest.importorskip("fastapi", reason="the app needs FastAPI")
pytest.importorskip("argon2", reason="passwords need argon2-cffi")

from sqlalchemy import select, text
from starlette.testclient import TestClient

import rankgauge
from rankgauge.errors import RankgaugeWarning
from rankgauge.judge.pairs import Pair
from rankgauge.judge.scale import Scale
from rankgauge.protocol import DEFAULT
from rankgauge.raters.tasks import close_task, make_task, open_task
from rankgauge.raters.users import add_token, add_user
from rankgauge.store import schema
from rankgauge.store.engine import address_of, engine_of
from rankgauge.store.project import Project
from rankgauge.store.store import Answer, Label, Store
from rankgauge.web.app import make_app
from rankgauge.web.desk import Desk
from rankgauge.web.kept import Cache
from rankgauge.web.log_in import add_log_in
from rankgauge.web.network import Network
from rankgauge.web.projects import files_of
from rankgauge.web.served import Served
from rankgauge.web.worker import Worker
from web import HOST

PEOPLE = {"ann": "rater", "bob": "rater", "eve": "viewer", "root": "admin"}
EVIL = "<img src=x onerror=alert(1)>"


class AtDesk:
    """The app on a project, asked by people with their tokens."""

    def __init__(self, client: Any, project: Project, store: Store, served: Served, tokens: dict[str, str]) -> None:
        self.client, self.project, self.store, self.served, self.tokens = client, project, store, served, tokens

    def get(self, who: str, path: str) -> Any:
        return self.client.get(path, headers={"authorization": f"Bearer {self.tokens[who]}"})

    def post(self, who: str, path: str, body: Any) -> Any:
        known = {"authorization": f"Bearer {self.tokens[who]}", "sec-fetch-site": "same-origin"}
        return self.client.post(path, json=body, headers=known)

    def given(self, who: str, task: str = "autumn", **more: Any) -> Any:
        answer = self.post(who, "/judge/queries", {"task": task, **more})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def judge(self, who: str, query: str, doc: str, grade: float | None = 2, task: str = "autumn", **more: Any) -> Any:
        state = "unsure" if grade is None else "graded"
        about = {"key": f"{who}-{task}-{query}-{doc}", "hash": None, "note": "", "ms": 900.0}
        body = {"task": task, "query_id": query, "doc_id": doc, "state": state, "grade": grade, **about, **more}
        return self.post(who, "/judge/judgment", body)

    def judge_all(self, who: str, task: str = "autumn", grade: float = 2) -> None:
        while queries := [each for each in self.given(who, task, before=0)["queries"] if not each["done"]]:
            for sheet in queries:
                for pair in sheet["pairs"]:
                    more = {
                        "hash": pair["hash"],
                        "again": sheet["again"],
                        "key": f"{who} {sheet['id']} {pair['doc_id']}",
                    }
                    answer = self.judge(who, sheet["query_id"], pair["doc_id"], grade, task, **more)
                    assert answer.status_code == 200, answer.text

    @property
    def rows(self) -> list[Any]:
        return [*self.store.read(lambda each: each.execute(select(schema.judgment)).mappings().all())]


def pairs() -> list[Pair]:
    return [
        Pair(f"q{query}", f"d{query}{doc}", f"running shoes {query}", "to run", {"title": f"Shoes {doc}", "text": EVIL})
        for query in range(4)
        for doc in range(3)
    ]


@contextmanager
def at_desk(folder: Path, address: str) -> Iterator[AtDesk]:
    project, worker = Project(folder, {"project": {"db": address}}), Worker()
    with Store.open(address, create=True) as store:
        for name, role in PEOPLE.items():
            add_user(store, name, role, None, "test")
        tokens = {name: add_token(store, name, "test", 1, "test") for name in PEOPLE}
        make_task(project, store, "autumn", pairs(), who="root", overlap=2, guidelines="**Judge** <b>well</b>.")
        served, network = Served(files_of(project, DEFAULT, ("nDCG@10",)), Cache(str(folder / "cache"))), Network()
        access = network.access(store, 8765)
        app = make_app(served, worker, Desk(project, store, worker))
        add_log_in(app, access)  # type: ignore[arg-type]
        served.read()
        served.wait()
        try:
            with TestClient(network.guard(app, access), f"http://{HOST}", follow_redirects=False) as client:
                yield AtDesk(client, project, store, served, tokens)
        finally:
            served.cache.close()
            worker.stop()


@pytest.fixture
def app(address: str, tmp_path: Path) -> Iterator[AtDesk]:
    with at_desk(tmp_path, address) as asked:
        yield asked


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[AtDesk]:
    with at_desk(tmp_path, f"sqlite:///{tmp_path / 'store.db'}") as asked:
        yield asked


def test_a_rater_is_given_queries_ahead_and_nothing_of_others(app: AtDesk) -> None:
    first = app.given("ann", ahead=1)
    assert [each["query_id"] for each in first["queries"]] == ["q0", "q1"]
    assert first["progress"] == {"judged": 0, "of": 12, "grades": []}
    sheet = first["queries"][0]
    assert (sheet["query"], sheet["need"], sheet["again"], sheet["done"]) == ("running shoes 0", "to run", False, False)
    title = sheet["pairs"][0]["fields"][0]
    assert (title["title"], title["pieces"][0]) == (True, ["Shoes", 1])
    for pair in sheet["pairs"]:
        assert app.judge("ann", "q0", pair["doc_id"], 3, note="a word of hers", hash=pair["hash"]).status_code == 200
    seen = json.dumps(app.given("bob")) + app.get("bob", "/judge?task=autumn").text + app.get("bob", "/judge").text
    seen += app.get("bob", "/judge.json?task=autumn").text + app.judge("bob", "q0", "d00").text
    for word in ("ann", "a word of hers", '"rank"', '"score"'):
        assert word not in seen, word
    others = [pair["mine"] for sheet in app.given("bob")["queries"] for pair in sheet["pairs"] if pair["mine"]]
    assert others == [{"state": "graded", "grade": 2.0, "note": ""}]  # bob's own
    later = app.given("ann", have=["0:q1"], ahead=1)
    assert [(each["query_id"], each["done"]) for each in later["queries"]] == [("q0", True), ("q2", False)]
    assert later["holds"] == ["0:q0", "0:q1", "0:q2"]
    assert later["queries"][0]["pairs"][0]["mine"] == {"state": "graded", "grade": 3.0, "note": "a word of hers"}
    assert later["progress"] == {"judged": 3, "of": 12, "grades": [{"grade": 3.0, "pairs": 3}]}


def test_a_rater_is_told_how_often_each_grade_was_given(app: AtDesk) -> None:
    """The last one of every pair, of this rater and task alone; repetitions are no other pairs."""
    make_task(app.project, app.store, "twice", pairs(), who="root", repeat=0.5)
    app.judge_all("ann", "twice", 1)
    sheet = app.given("ann", "twice", before=10)["queries"][0]
    docs = [pair["doc_id"] for pair in sheet["pairs"]]
    app.judge("ann", sheet["query_id"], docs[0], 3, "twice", key="another grade")
    app.judge("ann", sheet["query_id"], docs[1], None, "twice", key="no grade")
    app.given("ann")
    app.judge("ann", "q0", "d00", 0)
    counts = [{"grade": 1.0, "pairs": 10}, {"grade": 3.0, "pairs": 1}, {"grade": None, "pairs": 1}]
    assert app.given("ann", "twice")["progress"] == {"judged": 12, "of": 12, "grades": counts}
    assert sum(row["repeat"] for row in app.rows) > 0


def test_what_is_answered_is_stored_once(app: AtDesk) -> None:
    app.given("ann")
    for _ in range(3):
        answer = app.judge("ann", "q0", "d00", 2)
        assert (answer.status_code, answer.json()["key"]) == (200, "ann-autumn-q0-d00")
    assert app.judge("ann", "q0", "d01", None, note="no text").status_code == 200
    stored = [(row["doc_id"], row["state"], row["grade"], row["reason"]) for row in app.rows]
    assert stored == [("d00", "graded", 2.0, None), ("d01", "unsure", None, "no text")]


@pytest.mark.parametrize(
    ("who", "change", "status"),
    [
        ("bob", {}, 403),  # not given to bob
        ("ann", {"doc_id": "d10"}, 403),
        ("ann", {"query_id": "nothing"}, 403),
        ("ann", {"task": "winter"}, 404),
        ("ann", {"grade": 9}, 422),
        ("ann", {"grade": "good"}, 422),
        ("ann", {"grade": None}, 422),
        ("ann", {"state": "ruling"}, 422),
        ("ann", {"key": "k"}, 422),
        ("ann", {"note": "x" * 10_001}, 422),
        ("ann", {"ms": -5}, 422),
        ("ann", {"hash": "another text"}, 422),
        ("ann", {"doc_id": "a\0b"}, 422),
        ("ann", {"judge": "bob", "who": "bob", "user": "bob"}, 200),  # it is ann's, whatever she says
        ("eve", {}, 403),
    ],
)
def test_refusals(plain: AtDesk, who: str, change: dict[str, Any], status: int) -> None:
    plain.given("ann", ahead=0)
    body = {"task": "autumn", "key": "a-key-of-mine", "query_id": "q0", "doc_id": "d00", "state": "graded", "grade": 1}
    answer = plain.post(who, "/judge/judgment", body | change)
    assert answer.status_code == status, answer.text
    assert ("error" in answer.json()) is (status != 200)
    owners = select(schema.judge.c.name)
    assert plain.store.read(lambda each: each.scalars(owners).all()) == (["ann"] if status == 200 else [])


def test_where_there_is_nothing_to_judge_the_page_says_what_to_do(plain: AtDesk) -> None:
    close_task(plain.store, "autumn", "test")
    pages = {name: plain.get(name, "/judge").text for name in PEOPLE}
    for name, role in PEOPLE.items():
        if "There is nothing to judge" in pages[name]:
            assert ("rankgauge task make NAME" in pages[name]) == (role == "admin"), name
            assert ("ask there, or look again later" in pages[name]) == (role != "admin"), name
    assert "There is nothing to judge" in pages["ann"]


def test_a_closed_task_and_a_key_of_another_judgment_are_conflicts(plain: AtDesk) -> None:
    plain.given("ann")
    assert plain.judge("ann", "q0", "d00", key="the-same-key").status_code == 200
    assert plain.judge("ann", "q0", "d01", key="the-same-key").status_code == 409
    close_task(plain.store, "autumn", "root")
    answer = plain.judge("ann", "q0", "d01")
    assert (answer.status_code, "was closed on" in answer.json()["error"]) == (409, True)
    assert plain.judge("ann", "q0", "d00", key="the-same-key").status_code == 200  # it is there already
    assert plain.given("bob")["queries"] == []
    assert plain.get("ann", "/judge.json").json() == {"tasks": []}
    open_task(plain.store, "autumn", "root")
    assert plain.judge("ann", "q0", "d01").status_code == 200


def test_a_store_that_cannot_be_written_is_503_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankgauge.store.engine.WAIT", 0.2)
    with at_desk(tmp_path, f"sqlite:///{tmp_path / 'store.db'}") as app:
        app.given("ann")
        other = engine_of(address_of(f"sqlite:///{tmp_path / 'store.db'}"))
        with other.connect() as holding:
            holding.exec_driver_sql("ROLLBACK")
            holding.exec_driver_sql("BEGIN IMMEDIATE")
            answer = app.judge("ann", "q0", "d00")
            assert answer.status_code == 503, answer.text
            holding.exec_driver_sql("ROLLBACK")
        other.dispose()
        assert app.rows == []
        assert app.judge("ann", "q0", "d00").status_code == 200
        assert len(app.rows) == 1


def test_models_are_shown_after_ones_own_label_if_the_task_says_so(plain: AtDesk) -> None:
    plain.store.add_labels("gpt", [Label("q0", "d00", 3.0, "m", reason="says it all")], "model")
    make_task(plain.project, plain.store, "shown", pairs(), who="root", shows_models=True)
    assert "models" not in json.dumps(plain.given("ann", "shown")["queries"])
    told = plain.judge("ann", "q0", "d00", task="shown").json()
    assert told["models"] == [{"judge": "gpt", "grade": 3.0, "reason": "says it all"}]
    assert plain.judge("ann", "q0", "d00", task="shown", key="another-key").json()["models"] is not None
    plain.given("ann")
    assert plain.judge("ann", "q0", "d00").json()["models"] is None


def test_two_raters_at_once_get_every_query_twice(app: AtDesk) -> None:
    threads = [threading.Thread(target=app.judge_all, args=(who,)) for who in ("ann", "bob")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(app.rows) == 24
    assert len({(row["query_id"], row["doc_id"], row["judge_id"]) for row in app.rows}) == 24
    assert app.given("ann")["queries"][-1]["done"]


def test_what_was_judged_is_what_is_evaluated(app: AtDesk, tmp_path: Path) -> None:
    """The leaderboard of the store, `rankgauge.evaluate` on it, and on exported labels: the same values."""
    answers = [Answer(f"q{query}", [f"d{query}{doc}" for doc in (2, 0, 1)], [3.0, 2.0, 1.0]) for query in range(4)]
    app.store.add_run("bm25", {}, answers)
    for who in ("ann", "bob"):
        given = app.given(who, ahead=10)
        for sheet in given["queries"]:
            for pair in sheet["pairs"]:
                grade = (int(pair["doc_id"][1:]) + (who == "bob")) % 4
                assert app.judge(who, sheet["query_id"], pair["doc_id"], grade).status_code == 200
    assert app.post("root", "/reread", {}).status_code == 202
    app.served.wait()
    (told,) = app.get("root", "/index.json").json()["systems"]
    labels, run = app.project.labels(), app.project.run("bm25")
    assert told["nDCG@10"]["value"] == rankgauge.evaluate(labels, run, "nDCG@10")["nDCG@10"]
    nested: dict[str, dict[str, float]] = {}
    for query, doc, given_grade in labels:
        nested.setdefault(query, {})[doc] = given_grade
    exported = tmp_path / "labels.txt"
    exported.write_text("".join(f"{q} 0 {d} {g:g}\n" for q, docs in nested.items() for d, g in docs.items()))
    assert told["nDCG@10"]["value"] == rankgauge.evaluate(str(exported), run, "nDCG@10")["nDCG@10"]


def test_labels_narrow_what_is_open_and_nobody_is_told_who_leads(plain: AtDesk) -> None:
    for name, order in (("one", (0, 1, 2)), ("two", (2, 1, 0))):
        answers = [Answer(f"q{query}", [f"d{query}{doc}" for doc in order], [3.0, 2.0, 1.0]) for query in range(4)]
        plain.store.add_run(name, {}, answers)
    task = make_task(plain.project, plain.store, "open", pairs(), who="root", runs=["@one", "@two"])
    assert task.width is not None
    plain.judge_all("ann", "open")
    for _ in range(400):
        told = plain.given("ann", "open")["narrowed"]
        if told is not None:
            break
        threading.Event().wait(0.05)
    assert told == {"from": task.width, "to": 0.0}
    assert "one" not in json.dumps(told)


def test_scales_of_words_tenths_and_eleven_grades_have_keys(plain: AtDesk) -> None:
    for name, scale, keys in (
        ("words", ["bad", "fair", "good"], "012"),
        ("tenths", [0, 0.5, 1], "123"),
        ("many", [*range(11)], "0123456789a"),
    ):
        make_task(plain.project, plain.store, name, pairs(), who="root", scale=Scale.of(scale))
        told = plain.get("ann", f"/judge.json?task={name}").json()
        assert "".join(each["key"] for each in told["scale"]) == keys
    assert plain.get("ann", "/judge.json?task=autumn").json()["guidelines"].count("<b>") == 0
    sheet = plain.given("ann", "tenths")["queries"][0]
    assert plain.judge("ann", sheet["query_id"], sheet["pairs"][0]["doc_id"], 0.5, "tenths").status_code == 200


def test_documents_that_are_large_or_have_no_fields_are_handed_out(plain: AtDesk) -> None:
    large = [Pair("q", "large", "words", None, {"text": "words " * 170_000}), Pair("q", "bare"), Pair("r", "bare")]
    with pytest.warns(RankgaugeWarning, match="of 3 pairs, 2 have no text for raters to read"):
        make_task(plain.project, plain.store, "odd", large, who="root")
    sheets = plain.given("ann", "odd")["queries"]
    found = {pair["doc_id"]: pair for sheet in sheets for pair in sheet["pairs"]}
    assert sum(len(piece) for piece, _ in found["large"]["fields"][0]["pieces"]) > 1_000_000
    assert found["bare"]["fields"] == []
    assert [sheet["query"] for sheet in sheets if sheet["query_id"] == "r"] == ["r"]
    assert plain.judge("ann", "q", "bare", task="odd").status_code == 200
    assert plain.judge("ann", "q", "large", task="odd", hash=found["large"]["hash"]).status_code == 200


def test_the_audit_says_who_judged_and_a_dump_has_it(plain: AtDesk) -> None:
    plain.given("ann", ahead=0)
    plain.judge("ann", "q0", "d00", key="a-key-of-ann")
    said = text("SELECT who, detail FROM audit WHERE what = 'judged'")
    assert [*plain.store.read(lambda each: each.execute(said).all())] == [("ann", "a-key-of-ann")]
