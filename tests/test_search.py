"""rankgauge search: systems of every kind that runs here, what is stored of them, and how it goes on."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from chat_server import until
from command import COMMAND, Command, on_a_terminal, real
from misbehaving import serving
from rankgauge.errors import InputError, RankgaugeError
from rankgauge.read import read_run
from rankgauge.store.engine import StoreError
from rankgauge.store.lease import Lease
from rankgauge.store.project import Project
from rankgauge.store.store import Label, Query
from rankgauge.systems.call import hits_in
from rankgauge.systems.command import _Program
from rankgauge.systems.config import COMMON, KEYS, KINDS, config_of
from rankgauge.systems.hits import MANY, Failed, hit_of, plain_hits, ranking_of
from rankgauge.systems.search import Outcome, search_files
from rankgauge.systems.workers import TimedOut

QUERIES = "query_id\tquery\tneed\nq1\tred shoes\tshoes that are red\nq2\tblue hat\t\nq3\tgreen\t\n"
DOCUMENTS = [
    {"id": "d1", "title": "Red shoes", "text": "made of leather"},
    {"id": "d2", "title": "Blue hats", "text": "a hat for red days"},
    {"id": "d3", "title": "AND OR NOT", "text": "NEAR * ( shoe"},
]
ENGINE = """
import os
calls = []

def search(query, k):
    calls.append(query)
    with open("asked.txt", "a") as file:
        file.write(query + "\\n")
    if os.path.exists("fail") and query == "blue hat":
        raise RuntimeError("no hats today")
    return [("d1", 2.5), ("d2", 1.5)][:k] if query != "green" else []

def batch(queries, k):
    calls.append(queries)
    return [search(query, k) for query in queries]

def none(query, k): return None
def generator(query, k): return (doc for doc in ("a", "b"))
def raising(query, k): raise KeyError("index")
def half(query, k):
    yield "a"
    raise OSError("gone")
def nan(query, k): return [("a", float("nan"))]
def unhashable(query, k): return [["a", "b", "c"], 3]
def lists(query, k): return [(["a"], 1.0)]
def text(query, k): return "a"
def many(query, k): return list(range(1_000_000))
def dicts(query, k): return [{"id": "a", "score": 2, "title": "A"}, {"doc_id": "b", "score": 1}]
def equal(query, k): return [("b", 2.0), ("a", 1.0), ("c", 1.0)]
def mapping(query, k): return {"a": 2.0, "b": 1.0}
def nameless(query, k): return [{"name": "a"}]
def floats(query, k): return [155.0]
def exits(query, k): raise SystemExit(3)
def hangs(query, k):
    import time
    time.sleep(30)
def wrong(queries, k): return [["a"]]
"""

STOLEN = """
import threading, time
from rankgauge.store import schema
from rankgauge.store.project import Project

def search(query, k):
    with Project(".").store(write=True) as store:
        bobs = schema.lock.update().values(holder="bob", until=time.time() + 60)
        store.writer.write(lambda connection: connection.execute(bobs))
    for thread in threading.enumerate():
        if thread.name == "rankgauge-lease-search mine":
            thread.join(60)  # it ends when it finds that the lease was lost
    return ["d1"]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with queries, documents and a module of functions of its own."""
    (tmp_path / "queries.tsv").write_text(QUERIES)
    (tmp_path / "documents.jsonl").write_text("".join(json.dumps(each) + "\n" for each in DOCUMENTS))
    (tmp_path / "engine_here.py").write_text(ENGINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "engine_here", raising=False)
    return tmp_path


@pytest.fixture
def project(here: Path, shop: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same in a project, on either engine."""
    for name in ("queries.tsv", "documents.jsonl", "engine_here.py"):
        (here / name).rename(shop / name)
    with open(shop / "rankgauge.toml", "a", encoding="utf-8") as file:
        file.write('\n[documents]\nfile = "documents.jsonl"\n[systems.mine]\ncall = "engine_here:search"\n')
        file.write('[systems.bm25]\nkind = "fts5"\n')
    return shop


def found(queries: list[str], k: int = 10, **table: Any) -> Outcome:
    config = config_of("mine", {"retries": 0, **table}, "the test", Path())
    return search_files(config, [Query(text, text) for text in queries], k)


# ---- functions ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("search", (["d1", "d2"], [2.5, 1.5])),
        ("generator", (["a", "b"], [-1.0, -2.0])),
        ("dicts", (["a", "b"], [2.0, 1.0])),
        ("mapping", (["a", "b"], [2.0, 1.0])),
        ("many", ([str(at) for at in range(10)], [-float(at) for at in range(1, 11)])),
        ("none", "the function returned None; expected a list of ids, (id, score) or dicts"),
        ("raising", "the function raised KeyError: \"'index'\" (engine_here.py:"),
        ("half", 'the function raised OSError: "gone" (engine_here.py:'),
        ("nan", "the score of document 'a' is nan; expected a finite number"),
        ("unhashable", "a hit is \"['a', 'b', 'c']\"; expected (id, score)"),
        ("lists", "an id is text or an integer, got ['a'] (list)"),
        ("text", 'the function returned "a" (str)'),
        ("nameless", "a hit has no id among name; call it id"),
        ("floats", "an id is text or an integer, got 155.0 (float)"),
        ("exits", "the function raised SystemExit"),
    ],
)
def test_what_a_function_returns(here: Path, function: str, expected: Any) -> None:
    outcome = found(["red shoes"], call=f"engine_here:{function}")
    if isinstance(expected, str):
        assert outcome.failed["red shoes"].startswith(expected)
        assert outcome.lacking == 1
    else:
        assert outcome.rankings["red shoes"][:2] == expected


ODD_HITS: dict[str, list[Any]] = {
    "an integer as id": [("a", 2.0), (7, 1.0)],
    "an integer as score": [("a", 2.0), ("b", 1)],
    "no score": [("a", 2.0), ("b", None)],
    "a letter of two bytes": [("a", 2.0), ("é", 1.0)],
    "a long id": [("a", 2.0), ("b" * 1_000, 1.0)],
}
BAD_HITS: dict[str, list[Any]] = {
    "an endless score": [("a", 2.0), ("b", float("inf"))],
    "a score that is none": [("a", 2.0), ("b", float("nan"))],
    "truth as score": [("a", 2.0), ("b", True)],
    "no id": [("a", 2.0), ("", 1.0)],
    "NUL": [("a", 2.0), ("b\0", 1.0)],
    "half a character": [("a", 2.0), ("\ud800", 1.0)],
    "too long": [("a", 2.0), ("b" * 1_001, 1.0)],
    "three": [("a", 2.0), ("b", 1.0, 3)],
}


@pytest.mark.parametrize("given", ODD_HITS.values(), ids=ODD_HITS)
def test_hits_that_are_looked_at_together_are_what_they_are_one_by_one(given: list[Any]) -> None:
    plain = [("a", 2.0), ("b", -0.0), ("b" * 250, 1e-300)]
    assert list(plain_hits(plain) or ()) == [hit_of(*each) for each in plain]
    assert plain_hits(given) is None
    assert [*hits_in(given)] == [hit_of(*each) for each in given]


@pytest.mark.parametrize("given", BAD_HITS.values(), ids=BAD_HITS)
def test_one_bad_hit_among_plain_ones_is_found_unless_it_is_beyond_what_is_needed(given: list[Any]) -> None:
    with pytest.raises(Failed):
        ranking_of(hits_in(given), 2)
    many = [(f"d{at}", -float(at)) for at in range(MANY)]
    assert ranking_of(hits_in([*many, *given]), 5).doc_ids == ["d0", "d1", "d2", "d3", "d4"]


@pytest.mark.parametrize(("duplicates", "docs"), [("first", ["a", "b"]), ("best", ["c", "a"])])
def test_a_document_that_is_there_twice_takes_no_place_of_another(duplicates: str, docs: list[str]) -> None:
    given = [("a", 3.0), ("a", 2.5), ("b", 2.0), ("c", 1.0), ("c", 9.0)]
    if duplicates == "best":
        given = [("c", 1.0), ("c", 9.0), ("a", 3.0), ("b", 2.0)]
    assert ranking_of(hits_in(given), 2, duplicates=duplicates).doc_ids == docs
    with pytest.raises(Failed, match="is there twice"):
        ranking_of(hits_in(given), 2)


def test_equal_scores_keep_the_order_they_came_in(here: Path) -> None:
    outcome = found(["a"], call="engine_here:equal")
    assert outcome.rankings["a"][:2] == (["b", "a", "c"], [-1.0, -2.0, -3.0])
    assert outcome.lines()[-1] == (
        "note: 1 answer came with equal scores; the order they came in is kept, with minus the rank"
    )


def test_a_function_that_hangs_is_left_behind(here: Path) -> None:
    outcome = found(["a", "b"], call="engine_here:hangs", timeout=0.1, workers=1)
    assert {*outcome.failed.values()} == {"no answer within 0.1 seconds; allow more: timeout = 1"}


def test_several_queries_at_once(here: Path) -> None:
    outcome = found(["red shoes", "blue hat", "green"], call="engine_here:batch", batch=2, workers=1)
    assert {query: ranking.doc_ids for query, ranking in outcome.rankings.items()} == {
        "red shoes": ["d1", "d2"],
        "blue hat": ["d1", "d2"],
        "green": [],
    }
    assert [len(each) for each in sys.modules["engine_here"].calls if isinstance(each, list)] == [2, 1]
    failed = found(["a", "b"], call="engine_here:wrong", batch=True).failed
    assert failed["a"] == failed["b"] == "the function returned \"[['a']]\" (list); expected a list of 2 answers"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("engine_here:serch", "engine_here has no function 'serch'; did you mean 'search'?"),
        ("engine_there:search", "'engine_there' cannot be imported (ModuleNotFoundError: No module named"),
        ("broken_here:search", "'broken_here' cannot be imported (ZeroDivisionError: division by zero); mend it"),
        ("engine_here", "call = 'engine_here'; expected \"module:function\""),
    ],
)
def test_a_function_that_is_not_there(here: Path, call: str, words: str) -> None:
    (here / "broken_here.py").write_text("1 / 0\n")
    with pytest.raises(InputError) as raised:
        found(["a"], call=call)
    assert words in str(raised.value)


# ---- programs -------------------------------------------------------------------------------------------------------

PROGRAM = """
import json, os, sys
open("started.txt", "a").write("x")
for line in sys.stdin:
    asked = json.loads(line)
    query = asked["query"]
    if query == "dies":
        print("cannot go on", file=sys.stderr)
        sys.exit(3)
    if query == "half":
        sys.stdout.write('{"query_id": "half", "hi'); sys.stdout.flush(); sys.exit(0)
    if query == "nonsense":
        print("hello", flush=True); continue
    if query == "other":
        asked["query_id"] = "another"
    hits = [{"id": f"{query} {at}", "score": 1 / (at + 1), "title": "T"} for at in range(asked["k"])]
    print(json.dumps({"query_id": asked["query_id"], "hits": hits}), flush=True)
"""


def test_a_program(here: Path) -> None:
    (here / "program.py").write_text(PROGRAM)
    queries = ["fine", "dies", "half", "nonsense", "other", "ünï \"'\n", "last"]
    outcome = found(queries, k=2, command=[sys.executable, "program.py"], timeout=60, workers=2)
    assert outcome.rankings["fine"][:2] == (["fine 0", "fine 1"], [1.0, 0.5])
    assert outcome.rankings["ünï \"'\n"].doc_ids == ["ünï \"'\n 0", "ünï \"'\n 1"]
    assert outcome.rankings.keys() == {"fine", "ünï \"'\n", "last"}
    assert outcome.failed["dies"] == 'the program ended (exit code 3); it said "cannot go on"'
    assert outcome.failed["half"].startswith("the program ended (exit code 0) in the middle of a line: ")
    assert outcome.failed["nonsense"].startswith('the program wrote "hello"; expected {"query_id"')
    assert outcome.failed["other"].startswith("the program answered query 'another' when it was asked 'other'")


@pytest.mark.parametrize(
    ("says", "seconds", "words"),
    [("", 0.2, ""), ("echo 'who am I talking to?' >&2;", 2, '; it said "who am I talking to?"')],
)
def test_a_program_that_hangs(here: Path, says: str, seconds: float, words: str) -> None:
    program = ["sh", "-c", f"read line; {says} exec sleep 3600"]  # a shell is at work in a moment
    started = _Program(program, str(here))
    with pytest.raises(TimedOut) as raised:
        started.answer("{}", seconds, 10**6)
    started.end()
    assert str(raised.value) == f"the program wrote no answer within {seconds} seconds{words}"
    # Where it is not given up in time, as on a busy machine, it is left behind.
    failed = found(["a"], command=program, timeout=0.2).failed["a"]
    assert re.match(r"(the program wrote )?no answer within 0\.2 seconds", failed)


def test_a_program_is_started_once_a_worker(here: Path) -> None:
    (here / "program.py").write_text(PROGRAM)
    command = f"{sys.executable} program.py"
    assert len(found([f"q{at}" for at in range(40)], command=command, workers=2).rankings) == 40
    assert len((here / "started.txt").read_text()) <= 2
    with pytest.raises(InputError, match="there is no program 'no-such-program'; install it"):
        found(["a"], command="no-such-program --fast")


# ---- FTS5 -----------------------------------------------------------------------------------------------------------


def fts5(queries: list[str], **table: Any) -> dict[str, list[str]]:
    outcome = found(queries, kind="fts5", documents="documents.jsonl", **table)
    assert outcome.failed == {}
    return {query: ranking.doc_ids for query, ranking in outcome.rankings.items()}


def test_no_word_of_a_query_is_syntax(here: Path) -> None:
    odd = ['"', "AND", "NEAR(red, blue)", "title:red", "red*", "-red", "(", "red AND NOT blue", "\0", "'; DROP", "^red"]
    answers = fts5(odd)
    assert answers["AND"] == ["d3"]
    assert answers["title:red"] == ["d1", "d2"]
    assert answers["red*"] == answers["-red"] == answers["^red"] == ["d1", "d2"]
    assert answers['"'] == answers["("] == answers["\0"] == []
    assert set(answers["red AND NOT blue"]) == {"d1", "d2", "d3"}


def test_stemming_fields_and_words(here: Path) -> None:
    assert fts5(["shoe"]) == {"shoe": ["d3"]}
    assert set(fts5(["shoe"], stemming=True)["shoe"]) == {"d1", "d3"}
    assert fts5(["red hat"], words="all") == {"red hat": ["d2"]}
    assert fts5(["red"], fields=["text"]) == {"red": ["d2"]}
    assert fts5(["red"], fields={"title": 9, "text": 1})["red"] == ["d1", "d2"]
    assert fts5(["red"], fields={"title": 0.01, "text": 9})["red"] == ["d2", "d1"]
    for fields, words in (
        ({"titel": 1}, "the documents have no text field 'titel'; did you mean 'title'"),
        ({"title": 0}, "title = 0; expected a weight above 0"),
    ):
        with pytest.raises(InputError, match=words):
            fts5(["red"], fields=fields)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("not json", "documents.jsonl:4: is not JSON"),
        ('{"title": "x"}', "documents.jsonl:4: has no id among title; name its column"),
        ('{"id": "", "title": "x"}', "documents.jsonl:4: the id is empty; fill it in"),
        (
            '{"id": "d1", "title": "another"}',
            "documents.jsonl:4: document 'd1' is there twice, with two texts; keep one",
        ),
    ],
)
def test_a_bad_line_of_the_corpus(here: Path, line: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(here / "temporary"))
    with open(here / "documents.jsonl", "a") as file:
        file.write(line + "\n")
    with pytest.raises(InputError) as raised:
        fts5(["red"])
    assert words in str(raised.value)
    assert not [*(here / "temporary").iterdir()]  # what was begun is gone


def test_a_corpus_that_is_empty_long_or_missing(here: Path) -> None:
    (here / "documents.jsonl").write_text(json.dumps({"id": "d1", "text": "x" * (100 << 20)}) + "\n")
    with pytest.raises(InputError, match=r"documents\.jsonl:1: a line is longer than 64 MiB"):
        fts5(["red"])
    (here / "documents.jsonl").write_text("")
    with pytest.raises(InputError, match=r"documents\.jsonl"):
        fts5(["red"])
    (here / "documents.jsonl").unlink()
    with pytest.raises(InputError, match=r"documents\.jsonl"):
        fts5(["red"])


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ('files = "x"', "rankgauge.toml: [documents] has no key 'files'; did you mean 'file'"),
        ('id = "sku"', "rankgauge.toml: [documents] lacks file"),
        ("file = 3", "rankgauge.toml: [documents]: file = 3; expected a text"),
        ('file = "documents.jsonl"\nid = "sku"', "documents.jsonl:1: has no 'sku' among id, title, text"),
        ('file = "nowhere.jsonl"', "nowhere.jsonl"),
    ],
)
def test_documents_that_cannot_be_found(project: Path, command: Command, table: str, words: str) -> None:
    (project / "rankgauge.toml").write_text(f'[project]\n[documents]\n{table}\n[systems.bm25]\nkind = "fts5"\n')
    done = command("search", "bm25", "queries.tsv")
    assert (done.code, done.out) == (2, "")
    assert words in done.err


def test_the_index_is_beside_the_store_and_follows_the_corpus(project: Path, command: Command) -> None:
    assert command("search", "bm25", "queries.tsv").code == 0
    index = Path(f"{Project(project).file or project / 'rankgauge.db'}.fts5-plain")
    with sqlite3.connect(index) as opened:
        assert opened.execute("SELECT count(*) FROM document").fetchone() == (3,)
    built = index.stat().st_ino
    assert command("search", "bm25", "queries.tsv", "--again").code == 0
    assert index.stat().st_ino == built
    with open(project / "documents.jsonl", "a") as corpus:
        corpus.write(json.dumps({"id": "d4", "title": "green"}) + "\n")
    assert command("search", "bm25", "queries.tsv").out.startswith("@bm25:3: 3 queries answered")
    assert index.stat().st_ino != built
    assert [*Project(project).run("bm25")][-1][:2] == ("q3", "d4")
    assert not list(index.parent.glob("*.partial"))


# ---- what is stored, and how it goes on -----------------------------------------------------------------------------


def asked(project: Path) -> list[str]:
    path = project / "asked.txt"
    return sorted(path.read_text().splitlines()) if path.exists() else []


def test_a_search_is_a_run(project: Path, command: Command) -> None:
    done = command("search", "mine", "queries.tsv", "-k", "5", "-o", "mine.run")
    assert done.code == 0
    assert done.out.splitlines()[0] == "@mine:1: 3 queries answered, 4 documents"
    assert "p50 " in done.out
    assert ", with 1 worker; slowest: q" in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    expected = [("q1", "d1", 2.5), ("q1", "d2", 1.5), ("q2", "d1", 2.5), ("q2", "d2", 1.5)]
    assert [*Project(project).run("mine")] == expected
    assert (project / "mine.run").read_text().splitlines()[0] == "q1 Q0 d1 1 2.5 mine"
    with Project(project).store() as store:
        (run,) = store.runs()
        assert (run.state, run.queries, run.lacking) == ("whole", 3, 0)
    assert asked(project) == ["blue hat", "green", "red shoes"]


def test_a_project_searches_and_pools_in_python(project: Path, command: Command) -> None:
    here = Project(project)
    assert [*here.search("mine", "queries.tsv", k=1)] == [("q1", "d1", 2.5), ("q2", "d1", 2.5)]
    assert asked(project) == ["blue hat", "green", "red shoes"]
    assert [*here.search("mine", "queries.tsv", k=1)] == [*here.run("mine", 1)]
    assert len(asked(project)) == 3
    given = here.search("other", {"q1": "red shoes"}, call="engine_here:search", workers=2)
    assert [*given] == [("q1", "d1", 2.5), ("q1", "d2", 1.5)]
    found = here.pool("mine", "other", depth=2)
    assert {pair[:2] for pair in found.pairs} == {("q1", "d1"), ("q1", "d2"), ("q2", "d1")}
    assert {pair.doc_id: pair.document["title"] for pair in found.pairs} == {"d1": "Red shoes", "d2": "Blue hats"}
    assert {pair.query_id: (pair.query, pair.need) for pair in found.pairs}["q1"] == ("red shoes", "shoes that are red")
    with here.store(write=True) as store:
        store.add_labels("ann", [Label("q1", "d2", 1.0, "key 1")], "person")
        assert store.counts()["pair"] == 3
    assert len(here.pool(depth=2, take=1).pairs) == 2
    (project / "fail").write_text("")
    words = (
        "@mine:3 is open: 1 of 3 queries lack an answer; the same call goes on with it; allow_missing=True closes it"
    )
    with pytest.raises(RankgaugeError, match=re.escape(words)):
        here.search("mine", "queries.tsv")
    assert len([*here.search("mine", "queries.tsv", allow_missing=True)]) == 2
    with pytest.raises(InputError, match=r"there is no \[systems.mien\]; did you mean 'mine'"):
        here.search("mien")


def test_what_failed_is_asked_again_and_nothing_else(project: Path, command: Command) -> None:
    (project / "fail").write_text("")
    done = command("search", "mine", "queries.tsv")
    assert done.code == 4
    assert "error: @mine:1 is open: 1 of 3 queries lack an answer; the same command goes on with it" in done.err
    assert '\n  q2: the function raised RuntimeError: "no hats today" (engine_here.py:10)\n' in done.err
    assert "@mine:1 is open: 1 of 3 queries lack an answer" in command("eval", "qrels.txt", "@mine").err
    (project / "fail").unlink()
    done = command("search", "mine", "queries.tsv")
    assert (done.code, done.out.splitlines()[0]) == (
        0,
        "@mine:1: 1 query answered, 2 documents; 2 were answered before",
    )
    assert asked(project) == ["blue hat", "blue hat", "green", "red shoes"]
    done = command("search", "mine")
    assert done.out == "@mine:1 is whole already; --again starts a new run\n"
    assert len(asked(project)) == 4
    assert command("search", "mine", "--again").out.startswith("@mine:2: 3 queries answered")
    assert len(asked(project)) == 7


def test_a_run_can_be_closed_though_queries_failed(project: Path, command: Command) -> None:
    (project / "fail").write_text("")
    done = command("search", "mine", "queries.tsv", "--allow-missing")
    assert done.code == 0
    assert "1 query has no results, for there was no answer\n" in done.out
    shown = command("eval", "qrels.txt", "@mine", "--notes")
    assert shown.code == 0
    assert "RG402" in shown.out
    assert "1 of 3 queries" in shown.out
    for words in (
        ["check", "qrels.txt", "@mine", "--min", "nDCG@10=0"],
        ["pool", "@mine", "-o", "pairs.jsonl"],
        ["funnel", "qrels.txt", "--retrieved", "@mine", "--reranked", "a.run"],
        ["plot", "forest", "qrels.txt", "@mine", "-o", "forest.html"],
    ):
        said = command(*words).err
        assert said.count("@mine:1: 1 of 3 queries lack an answer, and have no results (RG402)\n") == 1, words
    report = command("report", "qrels.txt", "@mine", "--no-charts", "--format", "markdown").out
    assert "mine answers 1 of 2" in report
    assert command("search", "mine").out.splitlines()[0] == "@mine:1 is whole already; --again starts a new run"
    assert command("search", "mine", "queries.tsv", "--again").code == 4
    closed = command("search", "mine", "queries.tsv", "--allow-missing").out.splitlines()
    assert closed == [
        "@mine:2: 0 queries answered, 0 documents; 2 were answered before",
        "1 query has no results, for there was no answer",
    ]


def test_another_depth_or_setting_is_another_run_and_other_limits_are_not(project: Path, command: Command) -> None:
    def number(*words: str) -> str:
        return command("search", "mine", "queries.tsv", *words).out.partition(":")[2].split()[0].rstrip(":")

    assert number() == "1"
    assert number("-k", "1") == "2"
    assert number("--set", "workers=2", "--set", "timeout=9") == "1"
    assert number("--call", "engine_here:dicts") == "3"
    (project / "queries.tsv").write_text(QUERIES.replace("q3\tgreen", "q4\tgreen"))
    assert number() == "4"


def test_fields_are_stored_with_the_answers(project: Path, command: Command) -> None:
    assert command("search", "other", "queries.tsv", "--call", "engine_here:dicts").code == 0
    assert command("store", "export", "@documents", "documents.out.jsonl").code == 0
    (line,) = (project / "documents.out.jsonl").read_text().splitlines()
    assert json.loads(line)["fields"] == {"title": "A"}


def test_the_last_sample_is_asked_or_all_queries(project: Path, command: Command) -> None:
    done = command("search", "mine")
    assert (done.code, done.err.count("there are no queries yet; name a file of them")) == (2, 1)
    assert command("store", "import", "queries.tsv", "--queries").code == 0
    assert command("search", "mine").out.startswith("@mine:1: 3 queries answered")
    (project / "one.tsv").write_text("q2\tblue hat\n")
    assert command("search", "mine", "one.tsv").out.startswith("@mine:2: 1 query answered")
    assert command("search", "mine", "queries.tsv").out.startswith("@mine:1 is whole already")


def test_one_search_of_a_system_at_a_time(project: Path, command: Command) -> None:
    with Project(project).store(write=True) as store, Lease(store, "search mine", holder="bob"):
        done = command("search", "mine", "queries.tsv")
        assert done.code == 2
        assert "search mine is in use by bob" in done.err
        assert command("search", "bm25", "queries.tsv").code == 0
    assert asked(project) == []


def test_a_search_that_lost_its_lease_stops_and_leaves_the_run_to_the_other(
    project: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever was away for long (a laptop that slept) finds that another has taken over."""
    monkeypatch.setattr("rankgauge.systems.search.Lease", partial(Lease, seconds=0.2))
    (project / "stolen_here.py").write_text(STOLEN)
    done = command("search", "mine", "queries.tsv", "--call", "stolen_here:search", "--set", "workers=1")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: search mine is in use by bob; wait until it is done, or ")
    with Project(project).store() as store:
        (run,) = store.runs()
        assert (run.state, store.counts()["answer"]) == ("open", 0)
    assert "search mine is in use by bob" in command("search", "mine", "queries.tsv").err


def test_a_lease_of_a_process_that_died_is_free_at_once(project: Path, command: Command) -> None:
    import socket

    gone = os.fork()
    if gone == 0:
        os._exit(0)
    os.waitpid(gone, 0)
    with Project(project).store(write=True) as store:
        there = f"bob on {socket.gethostname()} (process {gone}, since now)"
        Lease(store, "search mine", holder=there).take()
        Lease(store, "search bm25", holder=there.replace(" on ", " on another-")).take()
        with pytest.raises(StoreError, match="in use by bob on another-"):
            Lease(store, "search bm25").take()
    done = command("search", "mine", "queries.tsv")
    assert (done.code, "it is taken over" in done.err) == (0, True)


def test_a_file_as_if_it_had_been_run(project: Path, command: Command) -> None:
    (project / "queries.tsv").write_text("q1\tred shoes\nq2\tblue hat\nq3\tgreen\n")
    done = command("search", "filed", "queries.tsv", "--set", "kind=run", "--set", "file=a.run")
    assert done.code == 4
    assert "q3: a.run has no such query; add it, or ask others" in done.err
    assert [row[:2] for row in Project(project).run("filed", partly=True)] == [("q1", "b"), ("q1", "a"), ("q2", "c")]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bm52", "queries.tsv"], "there is no [systems.bm52]; did you mean 'bm25'?"),
        (["mine", "nowhere.tsv"], "nowhere.tsv"),
        (["mine", "queries.tsv", "--set", "workers"], "--set workers: expected KEY=VALUE"),
        (["mine", "queries.tsv", "--set", "wrkers=3"], "call has no key 'wrkers'; did you mean 'workers'"),
        (["labels", "queries.tsv", "--call", "engine_here:search"], "'labels' cannot name a system"),
        (["mine", "empty.tsv"], "query 'q1' has no text; fill it in"),
        (["mine", "twice.tsv"], "twice.tsv:2: query 'q1' has two texts in this file; keep one"),
    ],
)
def test_bad_input_is_one_clear_error(project: Path, command: Command, words: list[str], said: str) -> None:
    (project / "empty.tsv").write_text("query_id\tquery\nq1\t\n")
    (project / "twice.tsv").write_text("q1\ta\nq1\tb\n")
    done = command("search", *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") <= 2
    assert asked(project) == []


def test_outside_a_project_nothing_is_stored(here: Path, command: Command) -> None:
    done = command("search", "mine", "queries.tsv", "--call", "engine_here:search", "-o", "mine.jsonl")
    assert (done.code, "nothing is stored, for there is no project here" in " ".join(done.out.split())) == (0, True)
    assert len((here / "mine.jsonl").read_text().splitlines()) == 4
    done = command("search", "mine", "queries.tsv", "--call", "engine_here:search")
    assert (done.code, "outside a project, give QUERIES and -o RUN" in done.err) == (2, True)
    done = command("search", "mine", "queries.tsv", "-o", "mine.run")
    assert (done.code, "there is no project here" in done.err) == (2, True)
    (here / "fail").write_text("")
    done = command("search", "mine", "queries.tsv", "--call", "engine_here:search", "-o", "some.run")
    assert (done.code, "some.run is not written; with --allow-missing it is" in done.err) == (4, True)
    assert not (here / "some.run").exists()
    done = command("search", "mine", "queries.tsv", "--call", "engine_here:search", "-o", "some.run", "--allow-missing")
    assert (done.code, len((here / "some.run").read_text().splitlines())) == (0, 2)


def test_an_address_given_outright(project: Path, command: Command) -> None:
    with serving() as server:
        url = server.url + "/find?q={query}&n={k}"
        done = command("search", "web", "queries.tsv", "--url", url, "--hits", "hits", "--id", "id", "--score", "score")
        assert (done.code, done.err) == (0, "")
        assert "/find?q=red%20shoes&n=100" in server.paths
    assert [*Project(project).run("web")][:3] == [("q1", "a", 3.0), ("q1", "b", 2.0), ("q1", "c", 0.5)]


@pytest.mark.parametrize(
    ("table", "what"),
    [
        ({"url": "http://bob:hunter2@localhost/{query}"}, "url has a password"),
        ({"url": "http://localhost/{query}?api_key=hunter2"}, "url has the value of api_key"),
        ({"headers": {"Authorization": "Bearer hunter2"}}, "headers has the value of Authorization"),
        ({"headers": {"X-Typesense-Api-Key": "hunter2"}}, "headers has the value of X-Typesense-Api-Key"),
        ({"params": {"key": "hunter2", "q": "{query}"}}, "params has the value of key"),
    ],
)
def test_a_secret_that_is_written_out_is_refused(project: Path, command: Command, table: Any, what: str) -> None:
    words = [f"{key}={json.dumps(value)}" for key, value in table.items()]
    words = [word.replace('":', '" =') for word in words] if "url" not in table else words
    given = ["--set", "kind=http", "--set", "hits=hits", "--set", "id=id"]
    given += [each for word in words for each in ("--set", word)]
    done = command("search", "web", "queries.tsv", *given, *(() if "url" in table else ("--url", "http://localhost/")))
    assert done.code == 2
    assert f"{what}, which would be stored; write ${{NAME}} for it, and set NAME in the environment" in done.err
    assert "hunter2" not in done.err + done.out
    with Project(project).store() as store:
        assert store.runs() == []


@pytest.mark.parametrize(
    "table",
    [
        {"headers": {"Authorization": "Bearer ${SEARCH_KEY}"}, "params": {"key": "${SEARCH_KEY}", "max_tokens": "9"}},
        {"headers": {"Accept": "application/json"}, "params": {"monkey": "bars", "token": "{query}"}},
    ],
)
def test_what_comes_from_the_environment_or_opens_nothing_is_taken(table: dict[str, Any]) -> None:
    told = {"url": "http://${NAME}:${WORD}@localhost/?q=1", "hits": "h", "id": "i", **table}
    assert config_of("web", told, "x", Path()).table.items() >= told.items()


def test_every_key_is_of_a_kind_and_is_checked() -> None:
    assert {key for kind in KINDS.values() for key in (*kind.needs, *kind.may)} | set(COMMON) == set(KEYS)


# ---- a terminal, and what is not installed --------------------------------------------------------------------------


def test_progress_is_for_a_terminal(here: Path) -> None:
    words = ["search", "mine", "queries.tsv", "--call", "engine_here:search", "-o", "mine.run"]
    assert "\r\033[K3 of 3 answered\r\n" in on_a_terminal(*words, cwd=here)
    assert real(*words, cwd=here).err.startswith("warning: mine.run: 1 query without documents")


SLOW = """
import time
from pathlib import Path

def search(query, k):
    if query != "red shoes":
        Path("under-way").touch()
        while not Path("go-on").exists():
            time.sleep(0.01)
    return ["d1"]
"""


@pytest.mark.parametrize(("times", "code", "stored"), [(1, 4, 2), (2, 130, 1)])
def test_ctrl_c_waits_for_what_is_under_way_and_twice_does_not(
    project: Path, times: int, code: int, stored: int
) -> None:
    (project / "slow_here.py").write_text(SLOW)
    words = ["search", "slow", "queries.tsv", "--call", "slow_here:search", "--set", "workers=1", "--allow-missing"]
    words += ["--set", "timeout=300"]
    with subprocess.Popen([*COMMAND, *words], cwd=project, stderr=subprocess.PIPE, text=True) as process:
        until((project / "under-way").exists)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        first = process.stderr.readline()
        assert first.startswith("warning: interrupted: nothing more is asked, what is under way is waited for")
        for _ in range(times - 1):
            process.send_signal(signal.SIGINT)
        if times == 1:
            (project / "go-on").touch()
        rest = process.stderr.read().strip()
        assert process.wait(60) == code
    assert _stored(project) == stored
    assert (rest == "interrupted") if times == 2 else ("1 of 3 queries lack" in rest and "stopped: interrupted" in rest)


def _stored(project: Path) -> int:
    with Project(project).store() as store:
        return store.counts()["answer"]


def test_what_no_database_takes_spoils_no_search(project: Path, command: Command) -> None:
    (project / "odd_here.py").write_text(
        "def search(query, k):\n"
        "    if query == 'green': return ['x' * 1001]\n"
        "    return [{'id': 'a', 'title': 'NUL \\0 and \\ud800', 'tags': ['\\0']}]\n"
    )
    done = command("search", "odd", "queries.tsv", "--call", "odd_here:search")
    assert done.code == 4
    assert "1 of 3 queries lack an answer" in done.err
    assert "expected a text of at most 1,000 bytes, without NUL" in done.err
    assert command("store", "export", "@documents", "texts.jsonl").code == 0
    assert json.loads((project / "texts.jsonl").read_text())["fields"] == {"title": "NUL � and �", "tags": ["�"]}


SPACED = "question,answer\nHow many days do I get?,30\nWho pays?,I\n"


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("a.run", "a.run cannot hold this run, so nothing is asked: the id 'How many days do I get?'"),
        ("a.xyz", "a.xyz: the suffix names no format"),
        ("a.svm", "a.svm cannot hold this run, so nothing is asked: letor is a format of labels"),
        ("no/a.run", "there is no folder"),
    ],
)
def test_a_run_that_cannot_be_written_is_refused_before_anything_is_asked(
    here: Path, command: Command, output: str, words: str
) -> None:
    (here / "spaced.csv").write_text(SPACED)
    done = command("search", "mine", "spaced.csv", "--call", "engine_here:search", "-o", output)
    assert (done.code, words in " ".join(done.err.split())) == (2, True), done.err
    assert (asked(here), [*here.glob("a.*")]) == ([], [])


def test_in_a_project_too(project: Path, command: Command) -> None:
    (project / "spaced.csv").write_text(SPACED)
    done = command("search", "mine", "spaced.csv", "-o", "a.run")
    assert (done.code, "a.run cannot hold this run, so nothing is asked" in done.err, asked(project)) == (2, True, [])
    assert command("search", "mine", "queries.tsv").code == 0
    done = command("search", "mine", "-o", "a.xyz", "--again")
    assert (done.code, "the suffix names no format" in done.err) == (2, True)
    assert command("search", "mine", "-o", "a.parquet", "--again").code == 0
    assert len([*read_run("a.parquet")]) == 4


def test_what_was_answered_stays_beside_a_run_that_is_not_written(here: Path, command: Command) -> None:
    (here / "blanks.py").write_text("def search(query, k): return [('red shoe', 2.0), ('d2', 1.0)]\n")
    asking = ("search", "mine", "queries.tsv", "--call", "blanks:search")
    (here / "a.run.partial.jsonl").write_text("mine\n")
    done = command(*asking, "-o", "a.run")
    assert (
        done.code,
        "a.run is not written; what was answered is in a.run.partial-2.jsonl: the id 'red shoe'" in done.err,
    ) == (2, True)
    assert {*map(tuple, read_run("a.run.partial-2.jsonl"))} == {
        (query, doc, score) for query in ("q1", "q2", "q3") for doc, score in (("red shoe", 2.0), ("d2", 1.0))
    }
    assert (here / "a.run.partial.jsonl").read_text() == "mine\n"
    done = command(*asking, "-o", "a.jsonl")
    assert (done.code, [*here.glob("a.jsonl*")]) == (0, [here / "a.jsonl"])
    (here / "fail").write_text("")
    done = command("search", "mine", "queries.tsv", "--call", "engine_here:search", "-o", "b.run")
    assert (done.code, "; what was answered is in b.run.partial.jsonl" in done.err) == (
        4,
        True,
    )
    assert [*read_run("b.run.partial.jsonl")] == [("q1", "d1", 2.5), ("q1", "d2", 1.5)]
