"""`rankgauge loop --again`: a search that changed behind its address is asked anew, and how old answers are is said."""

from __future__ import annotations

import json
import re
import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

from command import Command
from rankgauge.errors import InputError
from rankgauge.steps.loop import loop, plan_loop
from rankgauge.steps.looped import Looped, LoopOpen
from rankgauge.store.rows import ago

DOCS = [f"d{at}" for at in range(8)]
QUERIES = [f"q{at}" for at in range(8)]
SETTINGS = """
[documents]
file = "documents.jsonl"
[queries]
file = "queries.tsv"
[systems.live]
url = "{url}?q={{query}}&k={{k}}"
hits = "hits"
id = "id"
score = "score"
retries = 0
[systems.fixed]
call = "scored_here:search"
[systems.reranked]
rerank = "live"
call = "scored_here:score"
[evaluate]
measures = ["nDCG@4"]
"""
SCORED = """
import helped_here

def score(query, documents):
    return helped_here.rescore(documents)

def search(query, k):
    return ["d3", "d2", "d0", "d1"]
"""
# What `score` calls is another module: the code of the function itself stays as it is.
HELPED = """
def rescore(documents):
    return [{sign}int(each["id"][1:]) for each in documents]
"""
MODULES = ("scored_here", "helped_here")


class Engine(ThreadingHTTPServer):
    """A search whose ranking is changed behind its address; `refused` are queries that it fails at."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.ranking = list(DOCS)
        self.refused: set[str] = set()
        self.asked: list[str] = []


class Handler(BaseHTTPRequestHandler):
    """Answers with the ranking of the moment, whatever is asked."""

    server: Engine

    def do_GET(self) -> None:
        query = parse_qs(urlparse(self.path).query)["q"][0].split()[-1]
        self.server.asked.append(query)
        hits = [{"id": doc, "score": -at} for at, doc in enumerate(self.server.ranking)]
        body = json.dumps({"hits": hits}).encode()
        self.send_response(500 if query in self.server.refused else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@contextmanager
def answering() -> Iterator[Engine]:
    server = Engine()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def engine() -> Iterator[Engine]:
    with answering() as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch, command: Command) -> Iterator[Path]:
    """A project with labels of people, for which nothing was asked yet."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    forgotten()
    made = tmp_path / "shop"
    made.mkdir()
    address = f"http://127.0.0.1:{engine.server_address[1]}/find"
    (made / "rankgauge.toml").write_text(SETTINGS.format(url=address))
    (made / "scored_here.py").write_text(SCORED)
    helped(made, "-")
    (made / "queries.tsv").write_text("".join(f"{query}\tfind {query}\n" for query in QUERIES))
    (made / "documents.jsonl").write_text("".join(json.dumps({"id": doc, "text": doc}) + "\n" for doc in DOCS))
    (made / "ann.txt").write_text("".join(f"{query} 0 {doc} {int(doc == 'd0')}\n" for query in QUERIES for doc in DOCS))
    assert command("init", made).code in (0, 2)  # the file is there; the store is made
    loop(made, until="search")
    assert command("store", "import", "ann.txt", "--judge", "ann", cwd=made).code == 0
    engine.asked.clear()
    yield made
    forgotten()


def forgotten() -> None:
    for module in MODULES:
        sys.modules.pop(module, None)


def helped(folder: Path, sign: str) -> None:
    """What the reranker's function calls, of this sign: it ranks the other way round."""
    (folder / "helped_here.py").write_text(HELPED.format(sign=sign))
    forgotten()


def values(looped: Looped) -> dict[str, float]:
    assert looped.evaluation is not None
    return {name: round(result["nDCG@4"], 4) for name, result in looped.evaluation.items()}


def aged(folder: Path, days: int) -> None:
    """The store, as if everything had been asked so many days earlier."""
    with closing(sqlite3.connect(folder / "rankgauge.db")) as store, store:
        store.execute(f"UPDATE run SET began = strftime('%Y-%m-%dT%H:%M:%f+00:00', began, '-{days} days')")


def searched(looped: Looped) -> str:
    return next(step.words for step in looped.steps if step.name == "search")


def plain(text: str) -> str:
    return " ".join(text.split())


def test_a_search_that_changed_behind_its_address_is_asked_again(folder: Path, engine: Engine) -> None:
    before = values(loop(folder))
    assert before["live"] == before["reranked"] == 1.0
    engine.ranking.reverse()  # what is relevant comes last
    assert values(loop(folder)) == before
    assert engine.asked == []
    after = loop(folder, again="live")
    assert sorted(engine.asked) == QUERIES
    assert values(after) == before | {"live": 0.0}
    assert searched(after).startswith("@live:4, @reranked:5 asked just now; @fixed:2 asked ")  # the reranker follows
    assert [step.kept for step in after.steps if step.name == "search"] == [False]
    assert values(loop(folder)) == values(after)
    assert len(engine.asked) == len(QUERIES)  # once


def test_a_reranker_whose_helper_changed_is_asked_again(folder: Path, engine: Engine) -> None:
    before = values(loop(folder))
    helped(folder, "")
    assert values(loop(folder)) == before
    forgotten()
    after = loop(folder, again=["reranked"])
    assert values(after) == before | {"reranked": 0.0}
    assert searched(after).startswith("@live:1, @fixed:2 asked ")
    assert engine.asked == []


def test_all_are_asked_again(folder: Path, engine: Engine, command: Command) -> None:
    said = command("loop", "--again", "all", cwd=folder)
    assert said.code == 0
    assert "@live:4, @fixed:5, @reranked:6 asked just now; 24 queries were asked" in plain(said.err)
    assert "Answers: live, fixed, reranked asked just now." in plain(said.out)
    assert command("loop", "--again", "live", "--again", "fixed", cwd=folder).code == 0
    assert len(engine.asked) == 2 * len(QUERIES)


def test_how_old_answers_are_stands_beside_the_values(folder: Path, command: Command) -> None:
    aged(folder, 3)
    said = command("loop", cwd=folder)
    assert "@live:1, @fixed:2, @reranked:3 asked 3 days ago (as before)" in plain(said.err)
    assert "Answers: live, fixed, reranked asked 3 days ago; to ask again: rankgauge loop --again all" in plain(
        said.out
    )
    said = command("loop", "--again", "live", cwd=folder)
    assert "@live:4, @reranked:5 asked just now; @fixed:2 asked 3 days ago; 16 queries" in plain(said.err)
    words = "Answers: live, reranked asked just now; fixed asked 3 days ago; to ask again: rankgauge loop --again fixed"
    assert words in plain(said.out)
    data = json.loads(command("loop", "--format", "json", cwd=folder).out)
    assert {name: each["run"] for name, each in data["asked"].items()} == {
        "live": "@live:4", "fixed": "@fixed:2", "reranked": "@reranked:5",
    }  # fmt: skip
    assert data["asked"]["fixed"]["age"] == "3 days ago"
    began = data["asked"]["fixed"]["began"]
    page = plain((folder / "out/report.html").read_text())
    assert f"fixed asked on {began[:10]} at {began[11:16]} UTC" in page  # a page is read later: a date, no age
    data = json.loads(command("report", "@labels", "@fixed", "-o", "-", "--format", "json", cwd=folder).out)
    assert f"fixed asked on {began[:10]}" in json.dumps(data)


def test_an_interrupted_again_goes_on(folder: Path, engine: Engine, command: Command) -> None:
    engine.ranking.reverse()
    engine.refused = {"q5"}
    for how in (["--again", "all"], ["--again", "all"], []):
        said = command("loop", *how, cwd=folder)
        assert (said.code, "@live:4 is open: 1 of 8 queries lack an answer" in said.err) == (4, True)
    assert sorted(engine.asked) == sorted([*QUERIES, "q5", "q5"])
    engine.refused = set()
    (step,) = [each for each in plan_loop(folder) if each.name == "search"]
    assert "live: @live:4 lacks answers" in step.words
    assert "fixed: --again names it" in step.words
    looped = loop(folder)  # the others of all are still due
    assert searched(looped).startswith("@live:4 asked ")
    assert "@fixed:5, @reranked:6 asked just now" in searched(looped)
    assert values(looped)["live"] == 0.0
    assert [step.kept for step in plan_loop(folder) if step.name == "search"] == [True]
    engine.asked.clear()
    loop(folder, again="live")  # which has come to its end: anew
    assert sorted(engine.asked) == QUERIES


def test_a_reranker_that_stopped_does_not_have_the_first_stage_asked_twice(folder: Path, engine: Engine) -> None:
    whole = (folder / "helped_here.py").read_text()
    (folder / "helped_here.py").write_text("def rescore(documents):\n    raise ValueError('gone')\n")
    forgotten()
    with pytest.raises(LoopOpen, match="@reranked:5 is open"):
        loop(folder, again="live")
    (folder / "helped_here.py").write_text(whole)
    forgotten()
    assert searched(loop(folder, again="live")).startswith("@live:4, @fixed:2 asked ")
    assert sorted(engine.asked) == QUERIES


def test_what_was_never_begun_stays_due(folder: Path, engine: Engine) -> None:
    """The search of a system cannot even begin, so that no run of it is open: it is asked later all the same."""
    settings = (folder / "rankgauge.toml").read_text()
    (folder / "rankgauge.toml").write_text(
        settings.replace("retries = 0", 'retries = 0\nheaders = { Key = "${NO_SUCH}" }')
    )
    with pytest.raises(InputError, match="NO_SUCH"):
        loop(folder, again="live")
    (folder / "rankgauge.toml").write_text(settings)
    assert searched(loop(folder)).startswith("@live:4, @reranked:5 asked just now")
    assert sorted(engine.asked) == QUERIES


def test_the_plan_says_who_is_asked_again_and_does_nothing(folder: Path, engine: Engine, command: Command) -> None:
    loop(folder)
    before = (folder / "rankgauge.db").read_bytes()
    said = command("loop", "--dry-run", "--again", "live", cwd=folder)
    assert said.code == 0
    words = "search would run, live: --again names it; reranked: live is asked before it: 8 queries"
    assert words in plain(said.out)
    assert ((folder / "rankgauge.db").read_bytes(), engine.asked) == (before, [])
    (step,) = [each for each in plan_loop(folder, again="fixed") if each.name == "search"]
    assert step.words.startswith("would run, fixed: --again names it: ")
    assert plan_loop(folder)[1].kept


@pytest.mark.parametrize("how", [{"until": "sample"}, {"start": "pool"}, {"only": "report"}])
def test_again_without_the_search_is_an_error(folder: Path, how: dict[str, Any], engine: Engine) -> None:
    with pytest.raises(InputError, match="the step search is left out"):
        loop(folder, again="live", **how)
    assert engine.asked == []


@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
def test_a_name_that_is_none_is_an_error(folder: Path, dry: list[str], command: Command) -> None:
    said = command("loop", *dry, "--again", "liv", cwd=folder)
    assert (said.code, said.out) == (2, "")
    assert "--again: there is no system 'liv'; did you mean 'live'? There are live, fixed, reranked" in plain(said.err)


def test_an_age_is_said_in_the_largest_unit_that_fits() -> None:
    now = "2026-11-20T12:00:00.000+00:00"
    said = {
        "2026-11-20T11:59:00.100+00:00": "less than a minute ago",
        "2026-11-20T11:58:01.000+00:00": "1 minute ago",
        "2026-11-20T11:00:01.000+00:00": "59 minutes ago",
        "2026-11-20T11:00:00.000+00:00": "1 hour ago",
        "2026-11-19T12:00:01.000+00:00": "23 hours ago",
        "2026-11-19T12:00:00.000+00:00": "1 day ago",
        "2026-08-12T11:00:00.000+00:00": "100 days ago",
        "2026-11-20T13:00:00.000+00:00": "less than a minute ago",  # another machine's clock is ahead
    }
    assert {began: ago(began, now) for began in said} == said
    assert re.fullmatch(r"[\d,]+ days ago", ago("2020-01-01T00:00:00.000+00:00"))
