"""Pools: what to judge of several runs, against a plain computation; the file of pairs, out and in again."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from command import Command
from rankgauge.errors import RankgaugeError
from rankgauge.judge.pairs import Pair, read_pairs, write_pairs
from rankgauge.judge.pool import Order, pool
from rankgauge.store.texts import Query

DICE = random.Random(3)
DOCS = [f"d{number:02}" for number in range(30)]
RUNS = {
    name: {f"q{at}": {doc: DICE.random() for doc in DICE.sample(DOCS, 20)} for at in range(5)}
    for name in ("a", "b", "c")
}
JUDGED = {f"q{at}": dict.fromkeys(DOCS[:10], 1) for at in range(4)}


def ranks(query: str) -> dict[str, dict[str, int]]:
    """Document → run → rank, plainly."""
    found: dict[str, dict[str, int]] = {}
    for name, run in RUNS.items():
        ordered = sorted(run[query], key=lambda doc: -run[query][doc])
        for rank, doc in enumerate(ordered, 1):
            found.setdefault(doc, {})[name] = rank
    return found


def pooled(query: str, depth: int) -> dict[str, dict[str, int]]:
    found = {doc: {n: r for n, r in by.items() if r <= depth} for doc, by in ranks(query).items()}
    return {doc: by for doc, by in found.items() if by}


@pytest.mark.parametrize("depth", [1, 5, 100])
def test_the_pool_is_the_union_without_what_is_judged(depth: int) -> None:
    found = pool(RUNS, depth=depth, judged=JUDGED, why=True)
    expected = {(f"q{at}", doc) for at in range(5) for doc in pooled(f"q{at}", depth)}
    judged = {(query, doc) for query, docs in JUDGED.items() for doc in docs}
    assert {pair[:2] for pair in found.pairs} == expected - judged
    assert (found.found, found.judged) == (len(expected), len(expected & judged))
    for pair in found.pairs:
        by = pooled(pair.query_id, depth)[pair.doc_id]
        assert pair.why is not None
        assert pair.why["ranks"] == by
        assert pair.why["weight"] == pytest.approx(sum(1 / math.log2(rank + 1) for rank in by.values()), abs=1e-12)
    for name in RUNS:
        assert found.runs[name] == sum(name in pooled(*pair[:1], depth)[pair.doc_id] for pair in found.pairs)


@pytest.mark.parametrize("order", get_args(Order))
def test_what_is_taken_comes_first_in_its_order(order: Order) -> None:
    keys: dict[str, Callable[[dict[str, int]], float]] = {
        "weight": lambda by: -sum(1 / math.log2(rank + 1) for rank in by.values()),
        "rank": lambda by: min(by.values()),
        "rrf": lambda by: -sum(1 / (60 + rank) for rank in by.values()),
    }
    key = keys.get(order)
    found = pool(RUNS, depth=8, take=4, order=order)
    for at in range(5):
        taken = [pair.doc_id for pair in found.pairs if pair.query_id == f"q{at}"]
        assert len(taken) == 4
        if key is not None:
            values = {doc: key(by) for doc, by in pooled(f"q{at}", 8).items()}
            left = [value for doc, value in values.items() if doc not in taken]
            assert max(values[doc] for doc in taken) <= min(left) + 1e-12


def test_the_order_of_runs_and_of_rows_changes_nothing_and_the_seed_does() -> None:
    turned = {name: {q: dict(reversed(docs.items())) for q, docs in RUNS[name].items()} for name in reversed(RUNS)}
    assert pool(turned, take=3).pairs == pool(RUNS, take=3).pairs
    assert pool(RUNS, seed=1).pairs != pool(RUNS).pairs
    assert sorted(pool(RUNS, seed=1).pairs) == sorted(pool(RUNS).pairs, key=lambda pair: pair[:2])
    ranked = [ranks(pair.query_id)[pair.doc_id]["a"] for pair in pool({"a": RUNS["a"]}).pairs[:10]]
    assert ranked != sorted(ranked)  # the file does not tell who found it where


def test_texts_come_from_a_mapping_or_a_function() -> None:
    asked: list[set[str]] = []

    def fields(wanted: Any) -> dict[str, dict[str, str]]:
        asked.append(set(wanted))
        return {doc: {"text": doc} for doc in wanted if doc != "d01"}

    found = pool(RUNS, depth=3, queries={"q0": Query("q0", "shoes", "to run")}, documents=fields)
    assert asked == [{pair.doc_id for pair in found.pairs}]
    assert {(pair.query, pair.need) for pair in found.pairs if pair.query_id == "q0"} == {("shoes", "to run")}
    assert all(pair.document == {"text": pair.doc_id} for pair in found.pairs if pair.doc_id != "d01")
    assert found.textless == (("d01",) if "d01" in asked[0] else ())


@pytest.mark.parametrize(
    ("given", "said"), [({"depth": 0}, "depth=0"), ({"take": -1}, "take=-1"), ({"order": "x"}, "order='x'")]
)
def test_misuse(given: dict[str, Any], said: str) -> None:
    with pytest.raises(RankgaugeError, match=said):
        pool(RUNS, **given)


PAIRS = [
    Pair("q 1", "d=1", '=1+1 "quoted", 鞋', None, {"title": "a\nb", "text": "x\ty", "query": "a field of that name"}),
    Pair("q 1", "d2", None, "a need", {}),
    Pair("q2", "7", "{query}", "", {"text": "\U0010ffff"}, {"weight": 1.5, "ranks": {"a": 1}}),
]


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".jsonl.gz"])
def test_pairs_come_back_as_they_went_out(suffix: str, tmp_path: Path) -> None:
    path = str(tmp_path / f"pairs{suffix}")
    write_pairs(PAIRS, path)
    again = [pair._replace(place=None) for pair in read_pairs(path)]
    plain = [pair._replace(why=None) for pair in PAIRS]
    if "json" not in suffix:  # in a table what is empty is not there
        plain = [pair._replace(need=pair.need or None) for pair in plain]
    assert [*map(tuple, again)] == [*map(tuple, plain)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"query_id": "q"}\n', "pairs.jsonl:1: has no doc_id"),
        ('{"query_id": "q", "doc_id": "d", "document": "x"}\n', "pairs.jsonl:1: document is 'x'; expected its fields"),
        ('{"query_id": "q", "doc_id": "d"}\n' * 2, "document 'd' of query 'q' is there twice"),
        ("", "pairs.jsonl"),
        ("{", "pairs.jsonl:1"),
    ],
)
def test_bad_pairs(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "pairs.jsonl").write_text(text)
    with pytest.raises(RankgaugeError) as error:
        read_pairs(str(tmp_path / "pairs.jsonl"))
    assert said in str(error.value)


def test_the_command(command: Command, tmp_path: Path) -> None:
    for name, run in RUNS.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(run))
    (tmp_path / "qrels.json").write_text(json.dumps(JUDGED))
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps({"id": doc, "title": f"T {doc}"}) + "\n" for doc in DOCS))
    (tmp_path / "queries.tsv").write_text("q0\tshoes\nq1\thats\n")
    words = ["pool", "a.json", "b.json", "c.json", "--depth", "5", "--take", "2", "--judged", "qrels.json"]
    words += ["--documents", "docs.jsonl", "--queries", "queries.tsv", "-o", "pairs.jsonl"]
    done = command(*words, cwd=tmp_path)
    assert done.code == 0
    assert done.out.startswith("10 pairs of 5 queries to judge; ")
    pairs = read_pairs(str(tmp_path / "pairs.jsonl"))
    expected = pool(RUNS, depth=5, take=2, judged=JUDGED)
    assert [pair[:2] for pair in pairs] == [pair[:2] for pair in expected.pairs]
    assert all(pair.document == {"title": f"T {pair.doc_id}"} for pair in pairs)
    assert {pair.query for pair in pairs} == {"shoes", "hats", None}
    assert "why" not in (tmp_path / "pairs.jsonl").read_text()
    printed = command(*words[:-2], cwd=tmp_path)
    assert printed.out == (tmp_path / "pairs.jsonl").read_text()
    refused = command(*words[:-1], "pairs.xlsx", cwd=tmp_path)
    assert (refused.code, "pairs are written as .jsonl" in refused.err) == (2, True)


def test_a_project_pools_what_its_labels_lack(command: Command, shop: Path) -> None:
    for name, run in RUNS.items():
        (shop / f"{name}.json").write_text(json.dumps(run))
    (shop / "half.json").write_text(json.dumps(JUDGED))
    (shop / "docs.jsonl").write_text("".join(json.dumps({"id": doc, "title": doc}) + "\n" for doc in DOCS))
    command("store", "import", "a.json", "b.json", "--runs")
    command("store", "import", "half.json", "--judge", "ann")
    command("store", "import", "docs.jsonl", "--documents")
    assert command("pool", "@a", "@b", "--depth", "4", "-o", "pairs.jsonl").code == 0
    found = read_pairs(str(shop / "pairs.jsonl"))
    expected = pool({"a": RUNS["a"], "b": RUNS["b"]}, depth=4, judged=JUDGED)
    assert {pair[:2] for pair in found} == {pair[:2] for pair in expected.pairs}
    assert all(pair.document["title"] == pair.doc_id for pair in found)
    status = json.loads(command("store", "status", "--format", "json").out)
    assert status["tables"]["pair"] == len(found)
    assert command("judgments", "@labels", "@a", "@b", "--to-judge", "3", "-o", "next.jsonl").code == 0
    chosen = read_pairs(str(shop / "next.jsonl"))
    assert len(chosen) == 3
    assert all(pair.document["title"] == pair.doc_id for pair in chosen)
    refused = command("judgments", "@labels", "@a", "-o", "next.jsonl")
    assert (refused.code, "give --to-judge N" in refused.err) == (2, True)
