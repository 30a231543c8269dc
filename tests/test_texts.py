"""One document has one text: another is refused, or taken on purpose, and said."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from command import Command
from rankgauge.errors import RankgaugeWarning
from rankgauge.judge.pairs import Pair
from rankgauge.raters.tasks import make_task, tasks
from rankgauge.steps.loop import loop
from rankgauge.store.engine import StoreError
from rankgauge.store.project import Project
from rankgauge.store.store import Store
from rankgauge.store.texts import changed_field
from rankgauge.systems.documents import fields_of
from stores import stored

GRADE = """
from pathlib import Path

def grade(query, document):
    with open(Path(__file__).parent / "calls.txt", "a") as file:
        file.write(query["query_id"] + " " + document["text"] + "\\n")
    return min(3, document["text"].count(query["query"]))
"""
JUDGE = ("--judge", "words", "--call", "mine:grade")


def line(query: str, doc: str, text: str, **more: Any) -> str:
    pair = {"query_id": query, "query": query, "doc_id": doc, "document": {"text": text, **more}}
    return json.dumps(pair) + "\n"


@pytest.fixture
def passages(shop: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a judge that is a function of the text."""
    (shop / "mine.py").write_text(GRADE)
    monkeypatch.syspath_prepend(str(shop))
    monkeypatch.delitem(__import__("sys").modules, "mine", raising=False)
    return shop


def texts(store: Store) -> dict[str, dict[str, Any]]:
    from rankgauge.systems.stored import fields

    return {doc: dict(each) for doc, each in fields(store, ["a", "b", "c", "d"]).items()}


# ---- the store -------------------------------------------------------------------------------------------------------


def test_another_text_of_a_stored_document_is_refused_and_nothing_is_stored(store: Store) -> None:
    store.add_documents([("a", {"text": "old", "title": "A"})], "a.tsv")
    with pytest.raises(StoreError) as error:
        store.add_documents([("c", {"text": "x"}), ("a", {"text": "new", "title": "A"})], ["b.tsv:2", "b.tsv:3"])
    said = str(error.value)
    assert re.search(r"^b\.tsv:3: document 'a' has another 'text' than in the store \(20..-..-..\)", said), said
    assert "'new' here, 'old' there" in said
    assert said.endswith("give each text an id of its own, or take the latest: latest_text=True")
    assert texts(store) == {"a": {"text": "old", "title": "A"}}
    for same in ({"text": "old"}, {"title": "A", "price": 3}, {"text": "old", "price": "3"}, {"text": None}):
        store.add_documents([("a", same)], "c.tsv")
    with pytest.raises(StoreError, match="another 'price'"):
        store.add_documents([("a", {"price": 4})], "c.tsv")


def test_the_latest_text_on_purpose(store: Store) -> None:
    store.add_documents([("a", {"text": "old"}), ("b", {"text": "b"})], "a.tsv")
    with pytest.warns(RankgaugeWarning, match=r"1 document has another text than before \(b\.tsv: document 'a'\)"):
        store.add_documents([("a", {"text": "new"}), ("b", {"text": "b"})], "b.tsv", latest_text=True)
    assert texts(store) == {"a": {"text": "new"}, "b": {"text": "b"}}
    rows = [("c", {"text": "x"}), ("c", {"text": "y"}), ("c", {"text": "x"})]
    with pytest.warns(RankgaugeWarning, match="1 document has another text than before"):
        store.add_documents(rows, "c.tsv", latest_text=True)
    assert texts(store)["c"] == {"text": "x"}  # the last one, whatever order hashes have
    store.add_documents([("c", {"text": "x"})], "c.tsv", latest_text=True)  # the same again is nothing to tell


def test_two_texts_in_one_source(store: Store) -> None:
    rows = [("a", {"text": f"The same begin of a passage that is longer than a line, {each}."}) for each in (1, 2)]
    with pytest.raises(StoreError) as error:
        store.add_documents(rows, ["p:1: query 'q1'", "p:2: query 'q2'"])
    said = "p:2: query 'q2': document 'a' has another 'text' than in p:1: query 'q1': '…n a line, 2.' here"
    assert str(error.value).startswith(said), error.value
    assert store.counts()["document"] == 0
    store.add_documents([("a", {"text": "x"}), ("a", {"title": "A"}), ("a", {"text": "x"})], "f")
    assert store.counts()["document"] == 2


def test_versions_with_their_times_are_history(store: Store) -> None:
    """An export has every version of a text, and may come back."""
    versions = [("a", {"text": text}, f"2026-01-0{day}T00:00:00.000+00:00") for day, text in ((1, "old"), (2, "new"))]
    store.add_documents(versions, "f")
    assert store.add_documents(versions, "f") == 0
    assert texts(store) == {"a": {"text": "new"}}
    with pytest.raises(StoreError, match="another 'text' than in the store"):
        store.add_documents([("a", {"text": "newer"}, "2026-01-03T00:00:00.000+00:00")], "f")


def test_fields_that_differ_are_those_that_both_have() -> None:
    chance = random.Random(4)
    values: list[Any] = ["", "x", "3", 3, 3.0, float("nan"), None, True, ["a"], {"b": 1}]
    for _ in range(2_000):
        old, new = ({name: chance.choice(values) for name in chance.sample("abc", 2)} for _ in range(2))
        name = changed_field(old, new)
        both = [each for each in new if each in old and None not in (old[each], new[each])]
        assert name is None or name in both
        assert changed_field(old, dict(old)) is None
        assert (changed_field(new, old) is None) == (name is None)


# ---- judge, task make, store import ----------------------------------------------------------------------------------


def test_passages_of_one_file_are_refused_before_anything_is_asked(command: Command, passages: Path) -> None:
    pairs = passages / "pairs.jsonl"
    pairs.write_text(line("q1", "a", "q1 is red") + line("q1", "b", "q1") + line("q2", "a", "q2 is blue"))
    for words in (["judge", str(pairs), *JUDGE], ["judge", str(pairs), *JUDGE, "--dry-run"], ["task", "make", "t"]):
        done = command(*words, *([str(pairs)] if words[0] == "task" else []))
        assert done.code == 2, words
        assert f"{pairs}:3: query 'q2': document 'a' has another 'text' than in {pairs}:1: query 'q1'" in done.err
        assert "'q2 is blue' here, 'q1 is red' there" in done.err
        assert done.err.rstrip().endswith("--latest-text"), done.err
    assert stored(command)["document"] == stored(command)["judgment"] == stored(command)["task"] == 0
    assert not (passages / "calls.txt").exists()
    done = command("judge", str(pairs), *JUDGE, "--latest-text")
    assert (done.code, "1 document has another text than before" in done.err) == (0, True), done.err
    assert command("task", "make", "t", str(pairs), "--latest-text").code == 0


def test_passages_of_two_files_name_the_pair_that_was_judged(command: Command, passages: Path, address: str) -> None:
    """A check replaced labels: it asked about the text of another query."""
    (passages / "one.jsonl").write_text(line("q1", "a", "q1 q1 q1") + line("q1", "b", "nothing"))
    (passages / "two.jsonl").write_text(line("q2", "d", "q2") + line("q2", "a", "nothing of it"))
    assert command("judge", "one.jsonl", *JUDGE).code == 0
    before = {query: dict(each) for query, each in Project(".").labels("words").nested.items()}
    assert before == {"q1": {"a": 3.0, "b": 0.0}}
    done = command("judge", "two.jsonl", *JUDGE)
    assert done.code == 2
    assert re.search(
        r"two\.jsonl:2: query 'q2': document 'a' has another 'text' than in the store \(.{10}, judged for query 'q1'\)",
        done.err,
    ), done.err
    command("judge", *JUDGE, "--check", "qrels.txt")
    assert {query: dict(each) for query, each in Project(".").labels("words").nested.items()} == before
    assert (passages / "calls.txt").read_text() == "q1 q1 q1 q1\nq1 nothing\n"


def test_pairs_in_python(passages: Path, address: str) -> None:
    project = Project(".")
    pairs = [Pair("q1", "a", "q1", None, {"text": "q1"}), Pair("q2", "a", "q2", None, {"text": "q2"})]
    with pytest.raises(StoreError, match=r"^query 'q2': document 'a' has another 'text' than in query 'q1'.*latest_te"):
        project.judge("words", pairs, call="mine:grade")
    with pytest.warns(RankgaugeWarning, match="1 document has another text"):
        assert project.judge("words", pairs, call="mine:grade", latest_text=True).graded == 2
    with project.store(write=True) as store:
        with pytest.raises(StoreError, match="another 'text'"):
            make_task(project, store, "t", pairs, who="lead")
        assert tasks(store) == []


def test_a_file_of_documents_that_was_edited(command: Command, shop: Path) -> None:
    (shop / "docs.jsonl").write_text('{"id": "a", "text": "old"}\n{"id": "b", "text": "same"}\n')
    assert command("store", "import", "docs.jsonl", "--documents").code == 0
    (shop / "docs.jsonl").write_text('{"id": "b", "text": "same"}\n{"id": "a", "text": "new"}\n')
    done = command("store", "import", "docs.jsonl", "--documents")
    assert (done.code, "docs.jsonl:2: document 'a' has another 'text'" in done.err) == (2, True), done.err
    assert stored(command)["document"] == 2
    done = command("store", "import", "docs.jsonl", "--documents", "--latest-text")
    assert (done.code, done.out) == (0, "stored 1 new document from docs.jsonl\n")
    assert "1 document has another text than before (docs.jsonl:2: document 'a')" in done.err
    for words in (["qrels.txt", "--judge", "ann"], ["a.run", "--system", "a"], ["a.run", "--runs"]):
        done = command("store", "import", *words, "--latest-text")
        assert (done.code, "latest-text" in done.err) == (2, True), done.err


def test_pairs_of_a_pool_come_back_in_every_format(command: Command, shop: Path) -> None:
    """Fields that are no text are JSON in columns."""
    rows = [{"id": doc, "text": f"text {doc}", "price": at, "tags": ["x", {"y": at}]} for at, doc in enumerate("abcd")]
    (shop / "docs.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
    (shop / "q.tsv").write_text("query_id\tquery\nq1\tred\nq2\tblue\n")
    (shop / "mine.py").write_text(GRADE)
    for words in (["docs.jsonl", "--documents"], ["q.tsv", "--queries"], ["a.run", "--system", "a"]):
        assert command("store", "import", *words).code == 0
    suffixes = ("jsonl", "csv", "tsv", "parquet")
    for suffix in suffixes:
        assert command("pool", "@a", "-o", f"p.{suffix}").code == 0
    for suffix in suffixes:
        done = command("judge", f"p.{suffix}", "--judge", suffix, "--call", "mine:grade")
        assert done.code == 0, done.err


# ---- the project's own file, and live systems ------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["pool", "@a"], ["judge", *JUDGE], ["task", "make", "t", "--pool", "@a"]])
def test_the_file_of_documents_decides(command: Command, passages: Path, words: list[str]) -> None:
    """[documents] names the file that systems search: an edit of it is a new text, and judged again."""
    with (passages / "rankgauge.toml").open("a") as file:
        file.write('\n[documents]\nfile = "docs.jsonl"\n')
    (passages / "q.tsv").write_text("query_id\tquery\nq1\tred\nq2\tblue\n")
    docs = passages / "docs.jsonl"
    docs.write_text("".join(json.dumps({"id": doc, "text": f"text {doc}"}) + "\n" for doc in "abcd"))
    assert command("store", "import", "q.tsv", "--queries").code == 0
    assert command("store", "import", "a.run", "--system", "a").code == 0
    assert command("pool", "@a", "-o", "p.jsonl").code == 0
    docs.write_text(docs.read_text().replace("text a", "red red"))
    done = command(*words)
    assert (done.code, "1 document has another text than before" in done.err) == (0, True), done.err
    with Project(".").store() as store:
        assert texts(store)["a"] == {"text": "red red"}
    done = command("judge", "p.jsonl", *JUDGE)  # the pairs of a pool from before are older
    assert (done.code, "p.jsonl:" in done.err, "'text a' here, 'red red' there" in done.err) == (2, True, True)


def test_a_snippet_of_a_search_is_no_text_of_a_document(command: Command, shop: Path, address: str) -> None:
    (shop / "snippets.py").write_text(
        "def search(query, k):\n"
        "    return [{'id': 'a', 'text': 'as stored', 'snippet': query}, {'id': 'b', 'text': 'live'}]\n"
    )
    (shop / "q.tsv").write_text("query_id\tquery\nq1\tred\nq2\tblue\nq3\tgreen\n")
    with Store.open(address, write=True) as store:
        store.add_documents([("b", {"text": "judged"})], "f")
    done = command("search", "live", "q.tsv", "--call", "snippets:search")
    assert done.code == 0, done.err
    said = "note: 3 answers had another text for a stored document; the stored text stays"
    assert " ".join(done.out.split()).count(said) == 1, done.out
    with Store.open(address) as store:
        assert fields_of(Project("."), ["b"]) == {"b": {"text": "judged"}}
        assert store.counts()["document"] == 2
        first = texts(store)["a"]
        assert (first["text"], first["snippet"] in ("red", "blue", "green")) == ("as stored", True)


def test_the_loop_takes_the_latest_text_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(__import__("sys").modules, "mine", raising=False)
    folder = tmp_path / "stones"
    folder.mkdir()
    (folder / "mine.py").write_text(
        GRADE + "\n\ndef search(query, k):\n    return [{'id': 'a', 'snippet': query}, {'id': 'b'}]\n"
    )
    (folder / "rankgauge.toml").write_text(
        '[documents]\nfile = "docs.jsonl"\n[queries]\nfile = "q.tsv"\n[systems.live]\ncall = "mine:search"\n'
        '[judges.words]\ncall = "mine:grade"\n[evaluate]\nmeasures = ["nDCG@5"]\n'
    )
    (folder / "q.tsv").write_text("query_id\tquery\nq1\tred\nq2\tblue\n")
    (folder / "docs.jsonl").write_text('{"id": "a", "text": "red hat"}\n{"id": "b", "text": "blue hat"}\n')
    first = loop(folder)
    assert any("live: 1 answer had another text for a stored document" in each for each in first.cautions)
    (folder / "docs.jsonl").write_text('{"id": "a", "text": "red hat"}\n{"id": "b", "text": "blue blue hat"}\n')
    with pytest.warns(RankgaugeWarning, match="1 document has another text than before"):
        again = loop(folder)
    assert [step.kept for step in again.steps if step.name == "judge"] == [False]
    assert (folder / "calls.txt").read_text().splitlines()[-2:] == ["q1 blue blue hat", "q2 blue blue hat"]
    loop(folder)  # and then it is as before
