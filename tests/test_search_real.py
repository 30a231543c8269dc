"""Search, really run: Cranfield and Vaswani from their texts, word vectors, PostgreSQL, Groonga; kill -9; a secret."""

from __future__ import annotations

import json
import logging
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from sqlalchemy import select

import rankgauge
from chat_server import until
from command import Command, on_a_terminal
from misbehaving import Server, serving
from nursery import Nursery
from peer_client import Peers
from rankgauge.store import schema
from rankgauge.store.project import Project, init
from rankgauge.systems.stored import answered
from stores import new_database

pytest.importorskip("httpx2", reason="the extra loop is not installed")

# ---- real texts -----------------------------------------------------------------------------------------------------


def cranfield(folder: Path) -> tuple[list[dict[str, str]], dict[str, str], dict[str, dict[str, float]]]:
    """Documents, queries and judgments. The n-th query is query n of the judgments; grade 1 is best and -1 is none."""
    documents = []
    for part in re.split(r"^\.I ", (folder / "cran.all.1400").read_text(), flags=re.MULTILINE)[1:]:
        number, _, rest = part.partition("\n")
        fields = dict(re.findall(r"^\.([TABW])\n(.*?)(?=^\.[TABW]\n|\Z)", rest, flags=re.MULTILINE | re.DOTALL))
        documents.append({"id": number.strip(), "title": fields["T"], "text": fields["W"]})
    parts = re.split(r"^\.I ", (folder / "cran.qry").read_text(), flags=re.MULTILINE)[1:]
    queries = {str(at): " ".join(part.partition(".W\n")[2].split()) for at, part in enumerate(parts, 1)}
    judged: dict[str, dict[str, float]] = {}
    for line in (folder / "cranqrel").read_text().splitlines():
        query, doc, grade = line.split()
        judged.setdefault(query, {})[doc] = 5 - int(grade) if int(grade) > 0 else 0
    return documents, queries, judged


def vaswani(folder: Path) -> tuple[list[dict[str, str]], dict[str, str], dict[str, dict[str, float]]]:
    found = re.findall(r"<DOCNO>(.*?)</DOCNO>\n(.*?)</DOC>", (folder / "doc-text.trec").read_text(), re.DOTALL)
    asked = re.findall(r"<num>(.*?)</num><title>\n(.*?)</title>", (folder / "query-text.trec").read_text(), re.DOTALL)
    judged: dict[str, dict[str, float]] = {}
    for line in (folder / "qrels").read_text().splitlines():
        query, _, doc, grade = line.split()
        judged.setdefault(query, {})[doc] = int(grade)
    documents = [{"id": doc, "text": text} for doc, text in found]
    return documents, {query: " ".join(text.split()) for query, text in asked}, judged


SETTINGS = """
[documents]
file = "documents.jsonl"
[systems.plain]
kind = "fts5"
[systems.stemmed]
kind = "fts5"
stemming = true
[systems.reranked]
rerank = "stemmed"
call = "overlap_here:score"
"""
OVERLAP = """
def score(query, documents):
    words = set(query.lower().split())
    return [len(words & set(each["text"].lower().split())) + 1 / at for at, each in enumerate(documents, 1)]
"""


@pytest.mark.parametrize(
    ("read", "folder", "sizes", "expected"),
    [
        (cranfield, "cranfield/original", (1400, 225), (0.3422, 0.3608)),
        (vaswani, "vaswani", (11429, 93), (0.3618, 0.4317)),
    ],
)
def test_real_texts(
    read: Any, folder: str, sizes: tuple[int, int], expected: tuple[float, float], shared: Path, peers: Peers,
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    documents, queries, judged = read(shared / folder)
    assert (len(documents), len(queries)) == sizes
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "overlap_here", raising=False)
    project = init(tmp_path)
    (tmp_path / "documents.jsonl").write_text("".join(json.dumps(each) + "\n" for each in documents))
    (tmp_path / "queries.tsv").write_text("".join(f"{query}\t{text}\n" for query, text in queries.items()))
    (tmp_path / "overlap_here.py").write_text(OVERLAP)
    with open(tmp_path / "rankgauge.toml", "a", encoding="utf-8") as file:
        file.write(SETTINGS)
    seen = []
    for system in ("plain", "stemmed", "reranked"):
        words = ["queries.tsv"] if system != "reranked" else []
        assert command("search", system, *words, "-o", f"{system}.jsonl", cwd=tmp_path).code == 0
        result = rankgauge.evaluate(judged, Project(tmp_path).run(system), ["nDCG@10", "R@100"])
        run: dict[str, dict[str, float]] = {}
        for line in (tmp_path / f"{system}.jsonl").read_text().splitlines():
            row = json.loads(line)
            run.setdefault(row["query_id"], {})[row["doc_id"]] = row["score"]
        theirs = peers.ask(judged, run, ["ndcg_cut_10", "recall_100"], [])["pytrec_eval"]
        for measure, name in (("nDCG@10", "ndcg_cut_10"), ("R@100", "recall_100")):
            values = [theirs[query][name] for query in run]
            assert result[measure] == pytest.approx(sum(values) / len(values), abs=1e-12)
        seen.append(round(result["nDCG@10"], 4))
    assert (seen[0], seen[1]) == expected
    assert project.run("reranked").stored["over"] == "@stemmed:2"


# ---- word vectors ----------------------------------------------------------------------------------------------------

DENSE = """
[documents]
file = "catalogue.jsonl"
[systems.bm25]
kind = "fts5"
[systems.dense]
call = "dense:search"
[systems.reranked]
rerank = "bm25"
call = "dense:scores"
"""


def test_a_function_over_word_vectors(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """The dense system of the demo, over the vectors inside a wheel: no network, and words that no title has."""
    for wheel in ("wordllama", "tokenizers", "safetensors"):
        try:
            distribution(wheel)
        except PackageNotFoundError:
            pytest.skip(f"{wheel} is not installed: make .venv/ready-dense")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "dense", raising=False)
    init(tmp_path)
    for name in ("catalogue.jsonl", "queries.tsv", "qrels.txt", "dense.py"):
        shutil.copy(Path(__file__).parents[1] / "demo" / name, tmp_path)
    with open(tmp_path / "rankgauge.toml", "a", encoding="utf-8") as file:
        file.write(DENSE)
    with open(tmp_path / "queries.tsv", "a", encoding="utf-8") as file:
        file.write("x1\tsneakers\ttail\n")  # a word that no product has
    for words in (["bm25", "queries.tsv"], ["dense", "queries.tsv"], ["reranked"]):
        assert command("search", *words, "-k", "50", cwd=tmp_path).code == 0
    runs = {system: Project(tmp_path).run(system) for system in ("bm25", "dense", "reranked")}
    products = map(json.loads, (tmp_path / "catalogue.jsonl").read_text().splitlines())
    titles = {row["doc_id"]: row["title"] for row in products}
    found = [(titles[doc], score) for query, doc, score in runs["dense"] if query == "x1"]
    assert len(found) == 50
    assert all("Running Shoes" in title for title, _ in found[:3])
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
    assert [row for row in runs["bm25"] if row[0] == "x1"] == []
    cosines = {row[:2]: row[2] for row in runs["dense"]}
    both = [(score, cosines[query, doc]) for query, doc, score in runs["reranked"] if (query, doc) in cosines]
    assert len(both) > 500
    assert [ours for ours, _ in both] == pytest.approx([theirs for _, theirs in both], abs=1e-6)
    value = {
        name: rankgauge.evaluate(tmp_path / "qrels.txt", run, ["nDCG@10"])["nDCG@10"] for name, run in runs.items()
    }
    assert value["bm25"] < value["reranked"] < 1
    assert value["bm25"] < value["dense"] < 1


# ---- PostgreSQL -----------------------------------------------------------------------------------------------------

WORDS = """
    SELECT id, ts_rank(to_tsvector('english', body), asked) AS score, body
    FROM document, websearch_to_tsquery('english', :query) AS asked
    WHERE to_tsvector('english', body) @@ asked ORDER BY score DESC, id LIMIT :k
"""
NEAREST = "SELECT id, 1 - (place <=> CAST(:vector AS vector)) AS score FROM document ORDER BY score DESC LIMIT :k"


@pytest.fixture
def database(server: str) -> str:
    from sqlalchemy import text

    from rankgauge.store.engine import address_of, engine_of, writing

    address = new_database(server)
    engine = engine_of(address_of(address))
    with writing(engine) as connection:
        connection.execute(text("CREATE EXTENSION vector"))
        connection.execute(text("CREATE TABLE document (id integer, body text, place vector(2))"))
        for row in ((1, "red shoes, red laces", "[1,0]"), (2, "a red hat", "[0.6,0.8]"), (3, "blue", "[0,1]")):
            values = dict(zip(("id", "body", "place"), row, strict=True))
            connection.execute(text("INSERT INTO document VALUES (:id, :body, CAST(:place AS vector))"), values)
    engine.dispose()
    return address


def test_postgresql(database: str, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("SEARCH_DATABASE", database)
    (tmp_path / "vectors_of_words.py").write_text("def embed(text):\n    return [1.0, 0.1 * len(text)]\n")
    (tmp_path / "queries.tsv").write_text("q1\tred shoe's\nq2\t%(x)s :query ' -- \nq3\tred\n")

    def asked(sql: str, *more: str) -> Any:
        given = ["--url", "${SEARCH_DATABASE}", "--set", "kind=postgresql", "--set", f"sql={json.dumps(sql)}"]
        settings = [word for each in ("retries=0", *more) for word in ("--set", each)]
        return command("search", "pg", "queries.tsv", *given, *settings, "-o", "pg.jsonl", "--again")

    init(tmp_path)
    done = asked(WORDS)
    assert (done.code, done.err.count("1 query without documents, such as 'q2'")) == (0, 1)
    assert [row[:2] for row in Project(tmp_path).run("pg")] == [("q1", "1"), ("q3", "1"), ("q3", "2")]
    assert command("store", "export", "@documents", "texts.jsonl").code == 0
    texts = [json.loads(line) for line in (tmp_path / "texts.jsonl").read_text().splitlines()]
    assert texts[0]["fields"] == {"body": "red shoes, red laces"}
    assert asked(NEAREST, "embed=vectors_of_words:embed").code == 0
    assert [row[1] for row in Project(tmp_path).run("pg")][-3:] == ["1", "2", "3"]
    for sql, words, *more in (
        ("DELETE FROM document WHERE body = :query RETURNING id", "cannot execute DELETE in a read-only transaction"),
        ("SELECT body FROM document WHERE body = :query", "the statement returns body, and no id"),
        ("SELECT nothing AS id WHERE 'x' = :query", 'PostgreSQL says: column "nothing" does not exist'),
        (
            "SELECT CAST(pg_sleep(60) AS text) AS id WHERE :query <> ''",
            "no answer within 0.3 seconds; allow more",
            "timeout=0.3",
        ),
    ):
        done = asked(sql, *more)
        assert done.code == 4
        assert words in done.err
    assert "sql binds none; expected :query and :k" in asked("SELECT 1 AS id").err
    assert ":vector goes with embed" in asked(NEAREST).err
    monkeypatch.setenv("SEARCH_DATABASE", "postgresql://nobody@127.0.0.1:1/none")
    assert "PostgreSQL cannot be reached: " in asked(WORDS, "retries=1", "pause=0.01").err
    with Project(tmp_path).store() as store:
        run = store.runs("pg")[0].number
        tries = select(schema.answer.c.attempts).where(schema.answer.c.run_id == run)
        assert store.read(lambda each: {*each.scalars(tries)}) == {2}


# ---- Groonga --------------------------------------------------------------------------------------------------------


def test_groonga_through_http(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    program = shutil.which("groonga")
    if program is None:
        pytest.skip("Groonga is not installed: apt-get install groonga-bin")
    monkeypatch.chdir(tmp_path)
    made = """table_create Doc TABLE_HASH_KEY ShortText
column_create Doc body COLUMN_SCALAR Text
table_create Term TABLE_PAT_KEY ShortText --default_tokenizer TokenBigram --normalizer NormalizerAuto
column_create Term doc_body COLUMN_INDEX|WITH_POSITION Doc body
load --table Doc
[{"_key": "d1", "body": "red red shoes"}, {"_key": "d2", "body": "a red hat"}, {"_key": "d3", "body": "blue"}]
"""
    subprocess.run([program, "-n", "shop.grn"], input=made.encode(), check=True, stdout=subprocess.DEVNULL)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [program, "--protocol", "http", "--port", str(port), "-s", "shop.grn"]
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            url = f"http://127.0.0.1:{port}/d/select"
            params = (
                'params={table = "Doc", match_columns = "body", query = "{query}", limit = "{k}", '
                'output_columns = "_key,_score", sort_keys = "-_score", query_flags = "NONE"}'
            )
            (tmp_path / "queries.tsv").write_text("q1\tred\nq2\tgreen\n")
            given = ["--url", url, "--hits", "[1][0][2:]", "--id", "[0]", "--score", "[1]", "--set", params]
            given += ["--set", "retries=8", "--set", "pause=0.05"]
            assert command("search", "groonga", "queries.tsv", *given, "-o", "g.run").code == 0
            assert (tmp_path / "g.run").read_text() == "q1 Q0 d1 1 2.0 groonga\nq1 Q0 d2 2 1.0 groonga\n"
        finally:
            running.kill()


# ---- kill -9 --------------------------------------------------------------------------------------------------------

KILLS, WORKERS, MANY = 20, 3, 160


@pytest.fixture
def engine() -> Iterator[Server]:
    """A server that takes a moment, so that there is something to be killed in."""
    with serving() as running:
        running.pause = 0.02
        yield running


IMPORTS = """
import httpx2, jmespath, sqlalchemy
import rankgauge.systems.http, rankgauge.systems.search
from rankgauge.cli import main, search
"""
WORK = """
sys.argv = ["rankgauge", "search", "live", "queries.tsv"]
main()
"""


@pytest.fixture
def nursery(shop: Path) -> Iterator[Nursery]:
    made = Nursery(IMPORTS, WORK)
    yield made
    made.process.communicate()


def test_kill_9_asks_nothing_again(shop: Path, engine: Server, nursery: Nursery, command: Command) -> None:
    queries = "".join(f"q{at:03}\tquery number {at}\n" for at in range(MANY))
    (shop / "queries.tsv").write_text(queries)
    with open(shop / "rankgauge.toml", "a", encoding="utf-8") as file:
        file.write(f'\n[systems.live]\nurl = "{engine.url}?q={{query}}"\nhits = "hits"\nid = "id"\nscore = "score"\n')
        file.write(f"workers = {WORKERS}\n")
    chance = random.Random(16)
    kills = 0
    while kills < KILLS:
        before, stop = sum(engine.requests.values()), chance.randint(1, 6)
        asked = dict(engine.requests)
        engine.allowed = before + stop + 4  # where we come late to the killing, something is left
        have = _answered(shop)
        process = nursery.start()
        until(lambda: sum(engine.requests.values()) >= before + stop)  # noqa: B023 (it is over before the next)
        time.sleep(chance.uniform(0, 0.03))
        os.kill(process, signal.SIGKILL)
        assert nursery.wait()[0] == signal.SIGKILL
        kills += 1
        again = [query for query in have if engine.requests[_text(query)] != asked[_text(query)]]
        assert again == []
        assert have <= _answered(shop)
    engine.allowed = None
    left = MANY - len(_answered(shop))
    assert left > 0
    assert command("search", "live").code == 0
    assert MANY <= sum(engine.requests.values()) <= MANY + WORKERS * KILLS
    assert command("search", "live", "--again").code == 0
    with Project(shop).store() as store:
        undisturbed, killed = store.runs("live")
    assert killed.fingerprint == undisturbed.fingerprint
    assert (killed.queries, killed.lacking, killed.state) == (MANY, 0, "whole")


def _answered(shop: Path) -> set[str]:
    with Project(shop).store() as store:
        runs = store.runs("live")
        return answered(store, runs[0].number) if runs else set()


def _text(query: str) -> str:
    return f"query number {int(query[1:])}"


# ---- a secret -------------------------------------------------------------------------------------------------------


def test_a_secret_is_nowhere(
    shop: Path, engine: Server, command: Command, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is sent in headers, body and address, and comes back in answers, errors and fields."""
    secret = 'pl4nted/s3cret&"key" +1'
    monkeypatch.setenv("SEARCH_KEY", secret)
    caplog.set_level(logging.DEBUG)
    texts = ["echo", "echo error", "fine", "redirect", "dropped", "html", "no such path", "echo in ids"]
    (shop / "queries.tsv").write_text("".join(f"q{at}\t{text}\n" for at, text in enumerate(texts)))
    with open(shop / "rankgauge.toml", "a", encoding="utf-8") as file:
        file.write(
            f"""
[systems.live]
kind = "http"
url = "{engine.url}/${{SEARCH_KEY}}?key=${{SEARCH_KEY}}"
headers = {{ Authorization = "Bearer ${{SEARCH_KEY}}" }}
body = {{ query = "{{query}}", key = "${{SEARCH_KEY}}" }}
hits = "hits"
id = "id"
score = "score"
fields = "@"
retries = 1
pause = 0.01
"""
        )
    shown = [command("search", "live", "queries.tsv"), command("search", "live"), command("store", "status")]
    shown.append(command("search", "live", "--allow-missing", "-o", "live.jsonl"))
    shown += [command("store", "dump", "dump.tar"), command("store", "export", "@documents", "documents.jsonl")]
    shown.append(command("eval", "qrels.txt", "@live", "--format", "json"))
    shown.append(command("report", "qrels.txt", "@live", "-o", "report.html", "--no-charts"))
    assert [done.code for done in shown] == [4, 4, 0, 0, 0, 0, 0, 0]
    progress = on_a_terminal("search", "live", "--again", cwd=shop)
    assert {"0 of 8 answered, 1 failed", "1 of 8 answered"} & {*re.split(r"\r\x1b\[K", progress)}
    assert "${SEARCH_KEY}" in progress
    assert {each["Authorization"] for each in engine.headers} == {f"Bearer {secret}"}
    assert {each["key"] for each in engine.bodies} == {secret}
    assert "${SEARCH_KEY}" in (shop / "documents.jsonl").read_text()
    assert "a document's id holds the value of a variable" in shown[0].err
    said = [*(done.out + done.err for done in shown), caplog.text, progress]
    files = {path.name: path.read_bytes() for path in shop.rglob("*") if path.is_file()}
    assert {"dump.tar", "documents.jsonl", "live.jsonl", "report.html"} <= files.keys()
    spellings = [secret, quote(secret), quote_plus(secret), quote(secret, safe=""), json.dumps(secret)[1:-1], "s3cret"]
    for spelt in spellings:
        assert [text for text in said if spelt in text] == []
        assert [name for name, content in files.items() if spelt.encode() in content] == []
