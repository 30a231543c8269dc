"""A second stage: the candidates of another system's run, scored by a function or by a service."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from command import Command
from misbehaving import Server
from rankgauge.store.project import Project

pytest.importorskip("httpx2", reason="the extra loop is not installed")

TEXTS = {"d1": "red shoes", "d2": "blue hat", "d3": "green hat", "d4": "red hat"}
MODEL = """
def first(query, k): return [("d1", 9.0), ("d2", 8.0), ("d3", 7.0)] if query != "nothing" else []
def with_fields(query, k): return [{"id": "d9", "score": 1.0, "title": "ninth"}]
def by_id(query, documents):
    assert all(set(each) == {"id", "title"} for each in documents)
    return [float(each["id"][1]) for each in documents]
def same(query, documents): return [1.0 for _ in documents]
def short(query, documents): return [1.0]
def nan(query, documents): return [float("nan") for _ in documents]
def none(query, documents): return None
"""


class Reranker(BaseHTTPRequestHandler):
    """A service of either interface; the query says how it misbehaves."""

    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.bodies.append(body)
        self.server.headers.append(dict(self.headers.items()))
        tei = "texts" in body
        texts, score = (body["texts"], "score") if tei else (body["documents"], "relevance_score")
        results: Any = [{"index": at, score: float(ord(text[0]))} for at, text in enumerate(texts)][::-1]
        match body["query"]:
            case "missing":
                results.pop()
            case "twice":
                results[0] = results[-1]
            case "outside":
                results[0]["index"] = 99
            case "infinite":
                results[0][score] = "high"
            case "no list":
                results = {"detail": "busy"}
        content = json.dumps(results if tei else {"results": results}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@pytest.fixture
def service() -> Iterator[Server]:
    with Server() as server:
        server.RequestHandlerClass = Reranker
        thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def project(shop: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a first stage that has run, and texts of its documents."""
    (shop / "model_here.py").write_text(MODEL)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "model_here", raising=False)
    (shop / "queries.tsv").write_text("q1\tred\nq2\tnothing\n")
    rows = [json.dumps({"id": doc, "title": text}) + "\n" for doc, text in TEXTS.items()]
    (shop / "documents.jsonl").write_text("".join(rows))
    with open(shop / "rankgauge.toml", "a", encoding="utf-8") as file:
        file.write('\n[documents]\nfile = "documents.jsonl"\n[systems.first]\ncall = "model_here:first"\n')
        file.write('[systems.second]\nrerank = "first"\ncall = "model_here:by_id"\n')
    assert command("search", "first", "queries.tsv").code == 0
    return shop


def rankings(project: Path, system: str) -> list[tuple[str, str, float]]:
    return [*Project(project).run(system)]


def test_a_function_ranks_the_candidates(project: Path, command: Command) -> None:
    done = command("search", "second")
    assert (done.code, done.out.splitlines()[0]) == (0, "@second:2: 2 queries answered, 3 documents")
    assert rankings(project, "second") == [("q1", "d3", 3.0), ("q1", "d2", 2.0), ("q1", "d1", 1.0)]
    assert command("search", "second", "--set", "candidates=2").code == 0
    assert rankings(project, "second") == [("q1", "d2", 2.0), ("q1", "d1", 1.0)]
    assert command("search", "second", "-k", "1").code == 0
    assert rankings(project, "second") == [("q1", "d1", 1.0)]
    assert command("search", "second", "--call", "model_here:same").code == 0
    assert rankings(project, "second") == [("q1", "d1", -1.0), ("q1", "d2", -2.0), ("q1", "d3", -3.0)]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("short", "the function returned 1 scores; expected 3, one a document in their order"),
        ("nan", "the score of document 'd1' is nan; expected a finite number"),
        ("none", 'the function returned "None"; expected 3'),
    ],
)
def test_every_candidate_has_one_finite_score(project: Path, command: Command, function: str, words: str) -> None:
    done = command("search", "second", "--call", f"model_here:{function}")
    assert done.code == 4
    assert f"q1: {words}" in done.err
    assert "1 of 2 queries lack an answer" in done.err  # the other has no candidates, which is an answer


def test_funnel_knows_which_run_was_reranked(project: Path, command: Command) -> None:
    (project / "qrels.txt").write_text("q1 0 d3 1\n")
    assert command("search", "second").code == 0
    words = ("funnel", "qrels.txt", "--retrieved", "@first", "--reranked", "@second")
    done = command(*words)
    assert done.code == 0
    assert "ranks the documents of" not in done.err
    assert command("search", "first", "queries.tsv", "--again").code == 0
    assert (
        "@second:2 ranks the documents of @first:1, and @first:3 is given; --retrieved @first:1" in command(*words).err
    )


def test_a_run_again_over_a_new_first_stage_is_a_new_run(project: Path, command: Command) -> None:
    assert command("search", "second").out.startswith("@second:2: ")
    assert command("search", "second").out.startswith("@second:2 is whole already")
    assert command("search", "first", "queries.tsv", "--again").out.startswith("@first:3: ")
    assert command("search", "second").out.startswith("@second:4: ")


def test_fields_of_the_first_stage_are_enough(project: Path, command: Command) -> None:
    assert command("search", "other", "queries.tsv", "--call", "model_here:with_fields").code == 0
    done = command("search", "third", "--set", "rerank=other", "--call", "model_here:by_id")
    assert done.code == 0
    assert rankings(project, "third") == [("q1", "d9", 9.0), ("q2", "d9", 9.0)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["second", "queries.tsv"], "its queries are those of @first; leave QUERIES out"),
        (["third", "--set", "rerank=nobody", "--call", "model_here:same"], "there is no run of 'nobody'"),
        (["third", "--set", "rerank=first", "--set", "kind=fts5"], "a fts5 system ranks no candidates"),
        (["first", "--set", "candidates=3"], 'candidates goes with rerank = "SYSTEM"'),
        (["third", "--set", "kind=rerank", "--url", "http://localhost"], "lacks rerank"),
    ],
)
def test_bad_input(project: Path, command: Command, words: list[str], said: str) -> None:
    done = command("search", *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_a_candidate_without_a_text_is_named(project: Path, command: Command) -> None:
    (project / "documents.jsonl").write_text('{"id": "d1", "title": "red"}\n')
    done = command("search", "second")
    assert done.code == 2
    assert (
        "2 of 3 candidates of @first:1 have no text, such as 'd2'; name their file:\n  [documents]\n  file = "
        in done.err
    )


@pytest.mark.parametrize("api", ["cohere", "tei"])
def test_a_service(project: Path, command: Command, service: Server, api: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RERANK_KEY", "planted-secret")
    settings = ["kind=rerank", "rerank=first", f"api={api}", "model=m1", "batch=2", "retries=0"]
    settings += ['headers={Authorization = "Bearer ${RERANK_KEY}"}', 'text=["title"]']
    words = [word for each in settings for word in ("--set", each)]
    assert command("search", "cross", "--url", service.url, *words).code == 0
    assert rankings(project, "cross") == [("q1", "d1", 114.0), ("q1", "d3", 103.0), ("q1", "d2", 98.0)]
    texts = "texts" if api == "tei" else "documents"
    assert [each[texts] for each in service.bodies] == [["red shoes", "blue hat"], ["green hat"]]
    assert {each["Authorization"] for each in service.headers} == {"Bearer planted-secret"}
    assert all(each["model"] == "m1" for each in service.bodies)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("missing", "the service scored 2 of 3 documents; expected every one"),
        ("twice", "expected each of 3 indexes once"),
        ("outside", "expected each of 3 indexes once"),
        ("infinite", 'is "high" (str); expected a number'),
        ("no list", "expected a list of index and relevance_score"),
    ],
)
def test_a_service_that_misbehaves(project: Path, command: Command, service: Server, query: str, words: str) -> None:
    (project / "odd.tsv").write_text(f"q9\t{query}\n")
    assert command("search", "first", "odd.tsv").code == 0
    done = command("search", "cross", "--url", service.url, "--set", "kind=rerank", "--set", "rerank=first")
    assert done.code == 4
    assert words in done.err
    assert len(service.bodies) == 1
