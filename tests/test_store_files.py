"""Files into a store and out of it: what other tools write is taken whole, and a bad file leaves nothing."""

from __future__ import annotations

import json
import random
import shlex
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from command import Command, Outcome

pytest.importorskip("sqlalchemy", reason="a store needs SQLAlchemy")

from sqlalchemy import select

from rankgauge.errors import InputError, RankgaugeError, RankgaugeWarning
from rankgauge.read import read_judgments
from rankgauge.store import schema
from rankgauge.store.project import Project
from rankgauge.store.store import Answer, Document, Judge, Label, Pair, Query, Store
from rankgauge.store.transfer.dump import dump
from rankgauge.store.transfer.exports import EXPORTS
from rankgauge.store.transfer.imports import KNOWN, Asked, recognise
from rankgauge.trust.judges.sets import POLICIES
from stores import ON_SQLITE, new_database
from stores import stored as tables


def rows(store: Store, table: str) -> list[dict[str, Any]]:
    """All rows of a table."""
    asked = select(schema.TABLES.tables[table])
    return [dict(row) for row in store.read(lambda each: each.execute(asked).mappings().all())]


def judged(store: Store) -> list[tuple[Any, ...]]:
    """Judge, kind, query, document, repeat, state, grade, reason of every judgment."""
    judges = {row["judge_id"]: (row["name"], row["kind"]) for row in rows(store, "judge")}
    names = ("query_id", "doc_id", "repeat", "state", "grade", "reason")
    return [(*judges[row["judge_id"]], *(row[name] for name in names)) for row in rows(store, "judgment")]


def written(path: Path, content: Any) -> Path:
    """A file of JSON, or of JSON lines for a list."""
    lines = content if isinstance(content, list) else [content]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def stored(command: Command, *words: str | Path) -> Outcome:
    done = command("store", "import", *words)
    assert (done.code, done.err) == (0, "")
    return done


# ---- Quepid ----------------------------------------------------------------------------------------------------------


def rating(who: str | None, grade: Any, **more: Any) -> dict[str, Any]:
    return {"rating": grade, "unrateable": False, "judge_later": False, "user_email": who, **more}


def pair(query: str, doc: str, *judgements: dict[str, Any], **more: Any) -> dict[str, Any]:
    fields = json.dumps({"title": f"the {doc}", "price": 3})
    about = {"position": 1, "document_fields": fields, "information_need": None, "notes": None, "options": None}
    return {"query_text": query, "doc_id": doc, **about, **more, "judgements": list(judgements)}


BOOK = {
    "name": "a book",
    "query_doc_pairs": [
        pair("red shoes", "d1", rating("ann", 3.0, explanation="just so"), rating("bob", 1.0)),
        pair("red shoes", "d2", rating("ann", None, unrateable=True), information_need="shoes, and red"),
        pair("red shoes", "d3", rating("bob", None, judge_later=True), position=2),
        pair("boots", "d1", rating(None, 0.5), notes="winter"),
        pair("boots", "d4"),
    ],
}
CASE = {
    "case_name": "a case",
    "queries": [
        {
            "query_text": "red shoes",
            "information_need": "shoes, and red",
            "ratings": [{"doc_id": "d1", "rating": 2, "user_email": "bob"}],
        },
        {"query_text": "hats", "information_need": None, "ratings": []},
    ],
}
SNAPSHOT = {
    "id": 7,
    "name": "dense",
    "time": "2023-05-03T14:26:14.000Z",
    "queries": [
        {"query_id": 11, "query_text": "red shoes", "information_need": "shoes, and red", "ratings": {"d1": 3.0}},
        {"query_id": 12, "query_text": "hats", "information_need": None, "ratings": {}},
    ],
    "docs": {
        "11": [
            {"id": "d2", "score": 0.1, "rated_only": False, "fields": {"title": "the d2", "price": 3}},
            {"id": "d1", "score": 0.7, "rated_only": False, "fields": None},
            {"id": "d2", "score": 0, "rated_only": True, "fields": None},
        ]
    },
}


def test_a_book_of_quepid(command: Command, shop: Path) -> None:
    path = written(shop / "book.json", BOOK)
    words = "2 queries, 5 pairs, 1 of them unjudged, 5 judgments by 3 raters, 2 of them skipped, which are no grades"
    assert stored(command, path).out == f"stored {words} from {path}\n"
    with Project(shop).store() as store:
        assert judged(store) == [
            ("ann", "person", "red shoes", "d1", 0, "graded", 3.0, "just so"),
            ("bob", "person", "red shoes", "d1", 0, "graded", 1.0, None),
            ("ann", "person", "red shoes", "d2", 0, "skipped", None, "unrateable"),
            ("bob", "person", "red shoes", "d3", 0, "skipped", None, "judge later"),
            ("anonymous", "person", "boots", "d1", 0, "graded", 0.5, None),
        ]
        assert {(row["query_id"], row["text"], row["need"], row["tags"]) for row in rows(store, "query")} == {
            ("red shoes", "red shoes", "shoes, and red", None),
            ("boots", "boots", None, '{"notes": "winter"}'),
        }
        assert sorted(row["doc_id"] for row in rows(store, "document")) == ["d1", "d2", "d3", "d4"]
        assert json.loads(rows(store, "document")[0]["fields"]) == {"title": "the d1", "price": 3}
        given = [(row["query_id"], row["doc_id"], row["position"]) for row in rows(store, "pair")]
        wanted = [("boots", "d1", 1), ("boots", "d4", 1)]
        assert sorted(given) == [*wanted, *(("red shoes", doc, at) for doc, at in (("d1", 1), ("d2", 1), ("d3", 2)))]
    assert "0 judgments by 3 raters" in stored(command, path).out  # again: nothing is there twice
    assert dict(Project(shop).labels("ann").nested["red shoes"]) == {"d1": 3.0}


def test_a_case_and_a_snapshot_of_quepid(command: Command, shop: Path) -> None:
    book, case = written(shop / "book.json", BOOK), written(shop / "case.json", CASE)
    snapshot = written(shop / "snapshot.json", SNAPSHOT)
    said = stored(command, book, case, snapshot).out.splitlines()
    assert said[1:] == [
        f"stored 2 queries, 1 label of a case from {case}",
        f"stored run 1 of dense from {snapshot}: 2 queries",
    ]
    stored(command, snapshot, "--system", "other")
    stored(command, case, "--judge", "team", "--kind", "person")
    with Project(shop).store() as store:
        assert [row for row in judged(store) if row[0] in ("a case", "team")] == [
            ("a case", "imported", "red shoes", "d1", 0, "graded", 2.0, None),
            ("team", "person", "red shoes", "d1", 0, "graded", 2.0, None),
        ]
        assert sorted(row["query_id"] for row in rows(store, "query")) == ["boots", "hats", "red shoes"]
        (row, _) = rows(store, "run")
        assert (row["began"], row["state"]) == ("2023-05-03T14:26:14.000+00:00", "whole")
        # The order is Quepid's, although its scores fall otherwise; what was rated and not found is no result.
        assert {answer.query_id: answer.doc_ids for answer in store.answers(1)} == {
            "red shoes": ["d2", "d1"],
            "hats": [],
        }
    evaluated = command("eval", "@labels:ann", "@dense", "-m", "RR", "-q", "--format", "csv")
    assert "red shoes" in evaluated.out
    assert "0.5" in evaluated.out


@ON_SQLITE
def test_the_rating_party(command: Command, shop: Path, shared: Path) -> None:
    folder = shared / "quepid-party"
    (said, *_) = stored(command, *sorted(folder.glob("*.json"))).out.splitlines()
    words = "137 queries, 2,420 pairs, 1,046 of them unjudged, 1,942 judgments by 13 raters, 22 of them skipped"
    assert said.startswith(f"stored {words}")
    with Project(shop).store() as store:
        people = [row for row in judged(store) if row[1] == "person"]
        assert len(rows(store, "query")) == 137
        assert len(rows(store, "pair")) == 2_420
        assert (len(people), len({row[0] for row in people})) == (1_942, 13)
        assert Counter(row[6] for row in people) == {0: 775, 1: 367, 2: 215, 3: 563, None: 22}
        assert {row[5:] for row in people if row[6] is None} == {("skipped", None, "unrateable")}
        given: dict[tuple[str, str], list[Any]] = {}
        for row in people:
            given.setdefault(row[2:4], []).append(row[6])
        assert 2_420 - len(given) == 1_046
        twice = [grades for grades in given.values() if len(grades) == 2]
        assert (len(twice), sum(len(set(grades)) > 1 for grades in twice)) == (568, 6)
    assert command("store", "export", "@people", "people.jsonl").code == 0
    for system in ("no-vector", "vector-2", "with-vector"):
        assert command("store", "export", f"@{system}", f"{system}.jsonl").code == 0
        ours = command("eval", "@people", f"@{system}", "-q", "--format", "csv")
        assert ours.code == 0
        assert len(ours.out.splitlines()) > 130
        assert ours.out == command("eval", "people.jsonl", f"{system}.jsonl", "-q", "--format", "csv").out


# ---- UMBRELA ---------------------------------------------------------------------------------------------------------


@ON_SQLITE
def test_labels_of_one_model_asked_again_and_again(command: Command, shop: Path, shared: Path) -> None:
    path = shared / "dl19" / "qrels_llm" / "umbrela_llama3.2_zeroshot.raw.txt"
    done = command("store", "import", path, "--judge", "llama", "--kind", "model")
    assert (done.code, done.out) == (2, "")
    assert f"{path}:9262: query '19335', document '1082489' has grade 2 here and 3 before" in done.err
    assert "--repeats" in done.err
    assert "38,720 labels of llama" in stored(command, path, "--judge", "llama", "--kind", "model", "--repeats").out
    with Project(shop).store() as store:
        given: dict[tuple[str, str], list[float]] = {}
        for _, kind, query, doc, repeat, _, grade, _ in judged(store):
            assert (kind, repeat) == ("model", len(given.setdefault((query, doc), [])))
            given[query, doc].append(grade)
    assert (len(given), sum(map(len, given.values()))) == (9_260, 38_720)
    assert sum(len(set(grades)) > 1 for grades in given.values()) == 8_245
    labels = Project(shop).labels()
    assert len(labels) == 9_260
    assert list(labels) == [(*pair, POLICIES["majority"](grades)) for pair, grades in given.items()]
    truth = shared / "dl19" / "qrels.dl19-passage.txt"
    assert command("store", "export", "@labels", "labels.txt").code == 0
    exported = command("agree", truth, "x=labels.txt", "--format", "csv")
    for labels_of in (f"x={path}", "x=@labels"):
        asked = command("agree", truth, labels_of, "--repeated", "majority", "--format", "csv")
        assert (asked.code, asked.out) == (0, exported.out)


def answer(query: str, passage: str, grade: Any, **more: Any) -> dict[str, Any]:
    said = {"prompt": "…", "prediction": f"##final score: {grade}", "judgment": grade, "result_status": 1}
    return {"model": "gpt", "query": query, "passage": passage, **said, **more}


def test_json_lines_of_umbrela(command: Command, shop: Path) -> None:
    written(shop / "queries.jsonl", [{"_id": "q7", "text": "red shoes"}])
    written(shop / "corpus.jsonl", [{"_id": "d7", "title": "", "text": "shoes in red"}])
    stored(command, "queries.jsonl", "--queries")
    stored(command, "corpus.jsonl", "--documents")
    lines = [answer("red shoes", "shoes in red", 3, reasoning="it says so"), answer("red shoes", "hats", 1)]
    lines += [answer("boots", "hats", 0, result_status=0, prediction="I cannot")]
    path = written(shop / "judged.jsonl", lines)
    assert stored(command, path).out == f"stored 3 labels of gpt, 1 of them failed, which are no grades from {path}\n"
    with Project(shop).store() as store:
        first, second, third = rows(store, "judgment")
        assert (first["query_id"], first["doc_id"], first["grade"], first["reason"]) == ("q7", "d7", 3.0, "it says so")
        assert (second["query_id"], second["doc_id"]) == ("q7", third["doc_id"])
        assert (third["query_id"], third["state"], third["grade"], third["raw"]) == (
            "boots",
            "failed",
            None,
            "I cannot",
        )
        texts = {row["doc_id"]: json.loads(row["fields"])["text"] for row in rows(store, "document")}
        assert texts == {"d7": "shoes in red", second["doc_id"]: "hats"}
        assert [(row["name"], row["kind"], row["model"]) for row in rows(store, "judge")] == [("gpt", "model", "gpt")]
    again = written(shop / "again.jsonl", [answer("boots", "hats", grade) for grade in (1, 2, 2)])
    done = command("store", "import", again, "--judge", "other")
    assert (done.code, "other judged query 'boots'" in done.err, "--repeats" in done.err) == (2, True, True)
    stored(command, again, "--judge", "other", "--repeats")
    assert dict(Project(shop).labels("other").nested["boots"]) == {second["doc_id"]: 2.0}


# ---- BEIR ------------------------------------------------------------------------------------------------------------


def beir(folder: Path, *splits: str) -> Path:
    """A folder of BEIR: more queries and documents than are judged."""
    written(folder / "queries.jsonl", [{"_id": f"q{n}", "text": f"query {n}", "metadata": {}} for n in range(5)])
    corpus = [{"_id": f"d{n}", "title": f"the d{n}", "text": f"text {n}", "metadata": {}} for n in range(50)]
    written(folder / "corpus.jsonl", corpus)
    (folder / "qrels").mkdir()
    for number, split in enumerate(splits):
        rows = f"q{number}\td1\t2\nq{number}\td{number + 2}\t0\n"
        (folder / "qrels" / f"{split}.tsv").write_text(f"query-id\tcorpus-id\tscore\n{rows}")
    return folder


def test_a_folder_of_beir(command: Command, shop: Path) -> None:
    folder = beir(shop / "scifact", "test", "train")
    words = f"1 query, 2 documents, 2 labels of scifact from {folder / 'qrels' / 'test.tsv'}"
    assert stored(command, folder).out == f"stored {words}\n"
    with Project(shop).store() as store:
        assert judged(store) == [
            ("scifact", "imported", "q0", "d1", 0, "graded", 2.0, None),
            ("scifact", "imported", "q0", "d2", 0, "graded", 0.0, None),
        ]
        assert [(row["query_id"], row["text"]) for row in rows(store, "query")] == [("q0", "query 0")]
        documents = {row["doc_id"]: json.loads(row["fields"]) for row in rows(store, "document")}
        assert documents == {f"d{n}": {"title": f"the d{n}", "text": f"text {n}", "metadata": {}} for n in (1, 2)}
    assert "2 labels of ann" in stored(command, folder, "--split", "train", "--judge", "ann").out
    with Project(shop).store() as store:
        assert [row["query_id"] for row in rows(store, "query")] == ["q0", "q1"]
        assert sorted(row["doc_id"] for row in rows(store, "document")) == ["d1", "d2", "d3"]
    done = command("store", "import", folder, "--split", "dev")
    assert (done.code, "there is no split 'dev'; there are test, train" in done.err) == (2, True)
    done = command("store", "import", beir(shop / "two", "dev", "train"))
    assert (done.code, "several splits could be meant; there are dev, train; name one: --split dev" in done.err) == (
        2,
        True,
    )
    (folder / "corpus.jsonl").unlink()
    done = command("store", "import", folder, "--judge", "bob")
    assert (done.code, "2 judged documents have no text in corpus.jsonl" in done.err) == (0, True)


# ---- out and in again ------------------------------------------------------------------------------------------------

PLANES = (
    0x41,
    0xE9,
    0x3B1,
    0x5D0,
    0x4E2D,
    0xFFFD,
    0x1F600,
    0x20000,
    0x30000,
    0xE0001,
    0xF0000,
    0x10FFFF,
    0x0A,
    0x22,
    0x5C,
)


def any_text(chance: random.Random, most: int = 8) -> str:
    return "".join(chr(chance.choice(PLANES)) for _ in range(chance.randrange(1, most)))


def fill(store: Store, chance: random.Random) -> None:
    """A store with something in every column that an export has."""
    ids = [f"{any_text(chance)} {number}" for number in range(40)]
    tags: list[Any] = [None, {"a": any_text(chance), "n": 1.5, "list": ["x", None]}]
    needs = [None, "", any_text(chance)]
    store.add_queries(
        [Query(each, chance.choice(needs), chance.choice(needs), chance.choice(tags)) for each in ids], "f"
    )
    fields: list[Any] = ["", any_text(chance, 60), 3, 0.1 + 0.2, None, True, ["a", {"b": any_text(chance)}]]
    for at in ("2026-01-01T00:00:00.000+00:00", "2026-01-02T00:00:00.000+00:00"):  # two versions of each
        texts = [{"doc_id": at, "text": any_text(chance), any_text(chance): each} for each in fields]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankgaugeWarning)
            store.add_documents([Document(doc, chance.choice(texts), at) for doc in ids], "f", latest_text=True)
    store.add_pairs([Pair(query, doc, chance.choice([None, 0, 7])) for query in ids[:5] for doc in ids[:5]], "f")
    store.add_prompts([{"hash": "h", "name": "plain", "text": any_text(chance, 99)}])
    judges = [Judge("ann", "person"), Judge("gpt", "model", {"model": "m", "parameters": '{"t": 0}', "prompt": "h"})]
    grades = [0.0, -1.0, 0.1 + 0.2, 1e-300, -0.0, 1e300, 3.0]
    labels = []
    for number in range(200):
        label = Label(chance.choice(ids), chance.choice(ids), chance.choice(grades), f"k{number}", chance.randrange(3))
        if number % 5 == 0:
            state = chance.choice(["failed", "refused", "skipped"])
            label = label._replace(grade=None, state=state, reason=any_text(chance), raw=any_text(chance, 99))
        if number % 7 == 0:
            label = label._replace(ruling=1, model="m", reader="r1", tokens_in=7, tokens_out=8, cost=0.1, calls=2)
            label = label._replace(milliseconds=1.5, at="2026-01-03T00:00:00.000+00:00", doc_hash="0123")
        labels.append((judges[number % 2], label))
    store.add_judgments(labels, "f")


def content(store: Store) -> dict[str, Any]:
    """What an export is to hold, without the numbers that a store gives."""
    judges = {row["judge_id"]: {**row, "judge_id": 0, "at": ""} for row in rows(store, "judge")}
    judgments = [row | {"judge_id": judges[row["judge_id"]], "judgment_id": 0} for row in rows(store, "judgment")]
    tables = {name: sorted(map(repr, rows(store, name))) for name in ("query", "document", "pair", "prompt")}
    return tables | {"judgment": sorted(map(repr, judgments))}


@pytest.mark.parametrize("seed", range(3))
def test_out_and_in_again_loses_nothing(command: Command, shop: Path, server: str, seed: int, monkeypatch: Any) -> None:
    with Project(shop).store(write=True) as store:
        fill(store, random.Random(seed))
        before = content(store)
    suffix = ("", ".gz", ".zst")[seed]
    for what in EXPORTS:
        assert command("store", "export", f"@{what}", f"{what}.jsonl{suffix}").code == 0
    for address in (f"sqlite:///{shop / 'new.db'}", new_database(server)):
        monkeypatch.setenv("RANKGAUGE_DB", address)
        Store.open(address, create=True).close()
        stored(command, f"queries.jsonl{suffix}", "--queries")
        stored(command, f"documents.jsonl{suffix}", "--documents")
        stored(command, f"judgments.jsonl{suffix}", f"pairs.jsonl{suffix}")
        with Project(shop).store() as store:
            assert content(store) == before
            keys = [row["key"] for row in sorted(rows(store, "judgment"), key=lambda row: row["judgment_id"])]
            assert keys == [f"k{number}" for number in range(200)]


@pytest.mark.parametrize("name", ["jsonl", "json", "csv", "tsv", "parquet"])
def test_runs_and_labels_as_files_are_the_same_again(command: Command, shop: Path, name: str) -> None:
    chance = random.Random(5)
    ids = [f"{any_text(chance)} {number}" for number in range(120)]
    scores = [0.5, 0.5, 0.1 + 0.2, -0.0, 1e-300, -1e300]
    answers = [Answer(query, ids, [chance.choice(scores) for _ in ids]) for query in ids[:9]]
    labels = [(query, doc, chance.choice([-1.0, 0.0, 2.0, 0.3])) for query in ids[:9] for doc in ids[:20]]
    with Project(shop).store(write=True) as store:
        store.add_run("a", {}, answers)
        store.add_labels("ann", [Label(*row, f"k{number}") for number, row in enumerate(labels)])
    assert command("store", "export", "@a", f"a.{name}").code == 0
    assert command("store", "export", "@labels", f"labels.{name}").code == 0
    stored(command, f"a.{name}", "--system", "b")
    stored(command, f"labels.{name}", "--judge", "bob")
    first, second = Project(shop).run("a"), Project(shop).run("b")
    assert {query: dict(docs) for query, docs in first.nested.items()} == second.nested
    assert sorted(Project(shop).labels("bob")) == sorted(labels)
    shown = [
        command("eval", f"@labels:{by}", f"{run}", "-q", "--format", "csv").out
        for by, run in (("ann", "x=@a"), ("bob", "x=@b"))
    ]
    assert shown[0] == shown[1]


def test_a_run_that_found_nothing_and_one_by_rank(command: Command, shop: Path) -> None:
    written(shop / "none.json", {"q1": ["a", "b"], "q2": []})
    stored(command, "none.json", "--system", "none")
    with Project(shop).store() as store:
        assert {each.query_id: each.doc_ids for each in store.answers(1)} == {"q1": ["a", "b"], "q2": []}
    done = command("store", "export", "@none", "none.run")
    assert (done.code, "1 query without documents, such as 'q2', cannot be written as rows" in done.err) == (0, True)


def test_every_column_of_a_table_of_texts_is_kept(command: Command, shop: Path) -> None:
    Path("queries.csv").write_text("query_id,query,segment,need,traffic\nq1,red shoes,shoes,to wear,7\nq2,hats,,,\n")
    stored(command, "queries.csv", "--queries")
    Path("plain.tsv").write_text("q3\tboots\nq4\ta hat\n")
    stored(command, "plain.tsv", "--queries")
    Path("docs.csv").write_text("doc_id,title,price\nd1,a shoe,7\n")
    written(shop / "object.json", {"d2": "a hat"})
    stored(command, "docs.csv", "object.json", "--documents")
    with Project(shop).store() as store:
        names = ("query_id", "text", "need", "tags")
        assert [tuple(row[name] for name in names) for row in rows(store, "query")] == [
            ("q1", "red shoes", "to wear", '{"segment": "shoes", "traffic": "7"}'),
            ("q2", "hats", None, None),
            ("q3", "boots", None, None),
            ("q4", "a hat", None, None),
        ]
        documents = {row["doc_id"]: json.loads(row["fields"]) for row in rows(store, "document")}
        assert documents == {"d1": {"title": "a shoe", "price": "7"}, "d2": {"text": "a hat"}}


def test_a_format_that_is_named_is_not_guessed(command: Command, shop: Path) -> None:
    Path("odd.csv").write_text("judge,key,state,query_id,doc_id,stars\na,b,c,q,d,2\n")
    stored(command, "odd.csv", "--judge", "ann", "--qrels-column", "relevance=stars")
    assert dict(Project(shop).labels("ann").nested["q"]) == {"d": 2.0}
    Path("odd.run").write_text("query_id,doc_id,points\nq,d,2\n")
    stored(command, "odd.run", "--system", "a", "--run-column", "score=points")
    assert Project(shop).run("a").nested == {"q": {"d": 2.0}}


def test_exports_are_json_lines(command: Command, shop: Path) -> None:
    done = command("store", "export", "@queries", "queries.csv")
    assert (done.code, "name it queries.jsonl" in done.err) == (2, True)
    stored(command, "qrels.txt", "--judge", "ann")
    lines = command("store", "export", "@judgments", "-").out.splitlines()
    assert len(lines) == 4
    first = json.loads(lines[0])
    assert (first["judge"], first["relevance"], first["state"], first["repeat"]) == ("ann", 3.0, "graded", 0)
    assert {"key", "at", "kind"} <= first.keys()
    assert len(read_judgments(written(shop / "j.jsonl", [json.loads(line) for line in lines]))) == 4


def test_the_commands_of_the_page_run(command: Command, shop: Path) -> None:
    found = {"docs": {"11": [{"id": "d1"}], "12": [{"id": "d4"}]}}
    for name, content in (("book", BOOK), ("case", CASE), ("snapshot", SNAPSHOT | found)):
        written(shop / f"{name}.json", content)
    beir(shop / "scifact", "test", "train")
    written(shop / "judged.jsonl", [answer("red shoes", "shoes in red", 3)])
    (shop / "qrels.raw.txt").write_text("q 0 d 1\nq 0 d 2\n")
    page = (Path(__file__).parents[1] / "docs" / "project.md").read_text(encoding="utf-8")
    shown = page.partition("## Files of other tools")[2].splitlines()
    commands = [shlex.split(line) for line in shown if line.startswith("    rankgauge ")]
    assert len(commands) == 14
    (shop / "log.csv").write_text("query\nred shoes\na hat\n")
    assert command("sample", "log.csv", "--n", "2", "--name", "traffic-300").code == 0
    for _, *words in commands:
        done = command(*words)
        assert (done.code, done.err) == (0, ""), words


# ---- bad input -------------------------------------------------------------------------------------------------------


def line(number: int, **more: Any) -> dict[str, Any]:
    about = {"query_id": "q", "doc_id": f"d{number}", "judge": "ann", "key": f"k{number}", "state": "graded"}
    return {**about, "relevance": 1, **more}


LONG = "x" * 10_000
SCRAMBLED = "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz", k=10_000))  # as it compresses badly
QUERIES, DOCUMENTS, JUDGE, SYSTEM = ["--queries"], ["--documents"], ["--judge", "ann"], ["--system", "a"]
BAD: dict[str, tuple[Any, list[str], str]] = {
    "line 1000": ("".join(f"q 0 d{n} 1\n" for n in range(999)) + "q 0 d999 x\n", JUDGE, "bad:1000: "),
    "line 1000 of a run": ("".join(f"q Q0 d{n} 1 1 t\n" for n in range(999)) + "q Q0 d x x t\n", SYSTEM, "bad:1000: "),
    "line 1000 of an export": ([*map(line, range(999)), line(999, relevance="x")], [], "bad:1000: 'relevance'"),
    "line 1000 of texts": ('{"_id": "q", "text": "x"}\n' * 999 + "{\n", QUERIES, "bad:1000: "),
    "line of umbrela": ([answer("q", "p", 1), answer("q", "r", "x")], [], "bad:2: 'judgment': 'x' is not a number"),
    "two grades": ("q 0 d 1\nq 0 e 1\nq 0 d 2\n", JUDGE, "bad:3: query 'q', document 'd' has grade 2 here"),
    "two grades name the way out": ("q 0 d 1\nq 0 d 2\n", JUDGE, "judged again on purpose: --repeats"),
    "two grades in a book": (
        {"query_doc_pairs": [pair("q", "d", rating("ann", 1), rating("ann", 2))]}, [],
        "ann judged query 'q', document 'd' twice",
    ),
    "a document twice": ("q Q0 d 1 2 t\nq Q0 d 2 1 t\n", SYSTEM, "bad:2: document 'd' is there twice for query 'q'"),
    "query, two texts": ("id\ttext\nq1\ta\nq2\tb\nq1\tc\n", QUERIES, "bad:4: query 'q1' has two texts in this file"),
    "query, other text": ("id\ttext\nq9\ta\nq0\tb\n", QUERIES, "bad:3: query 'q0' has another text in the store"),
    "document, two texts": ([{"_id": "d", "text": t} for t in "ab"], DOCUMENTS, "bad:2: document 'd' has another"),
    "NUL in a query": ([{"_id": "q", "text": "a\0b"}], QUERIES, "bad:1: query 'q': the text holds NUL"),
    "NUL in a tag": ([{"_id": "q", "text": "a", "tag": "b\0"}], QUERIES, "bad:1: query 'q': the text holds NUL"),
    "NUL in a field": ([{"_id": "d", "x": ["a\0"]}], DOCUMENTS, "bad:1: document 'd': the text holds NUL"),
    "half a character": ([{"_id": "q", "text": "a\ud800"}], QUERIES, "half a character (a lone surrogate)"),
    "half in a field": ([{"_id": "d", "text": "a\udfff"}], DOCUMENTS, "half a character (a lone surrogate)"),
    "NUL in a reason": ([line(1, reason="a\0")], [], "bad:1: 'reason' holds NUL"),
    "NUL in an answer": ([answer("q", "p", 1, prediction="a\0")], [], ": the raw holds NUL or half a character"),
    "half in an id": ([{"query_id": "q", "doc_id": "\ud800", "relevance": 1}], JUDGE, "half a character"),
    "long query": ([{"_id": LONG, "text": "a"}], QUERIES, "bad:1: a query's id has 10,000 bytes; give it one of"),
    "long query of a run": (f"{SCRAMBLED} Q0 d 1 1 t\n", SYSTEM, "bad: a query's id has 10,000 bytes"),
    "long document": ([{"_id": SCRAMBLED, "text": "a"}], DOCUMENTS, "bad:1: a document's id has 10,000 bytes"),
    "long in judgments": (f"q 0 {SCRAMBLED} 1\n", JUDGE, "bad: a doc_id has 10,000 bytes"),
    "no list": ({"query_doc_pairs": 3}, [], "bad: 'query_doc_pairs' is no list of objects; export it again"),
    "no id": ({"query_doc_pairs": [{"query_text": "q"}]}, [], "bad, pair 1: has no 'doc_id'"),
    "bad rating": ({"query_doc_pairs": [pair("q", "d", rating("ann", "x"))]}, [], "bad, pair 1: 'rating': 'x' is not"),
    "bad fields": ({"query_doc_pairs": [pair("q", "d", document_fields="{")]}, [], "of document 'd' are not JSON"),
    "results of nobody": (SNAPSHOT | {"docs": {"99": []}}, [], "results of query 99, which is not among 'queries'"),
    "name of a snapshot": (SNAPSHOT | {"name": "a:b"}, [], "bad: 'a:b' cannot name a system"),
    "name of a system": ("q Q0 d 1 2 t\n", ["--system", "labels"], "bad: 'labels' cannot name a system"),
    "no judge": ([answer("q", "p", 1, model=None)], [], "bad:1: names no model; say whose"),
    "needless option": (BOOK, JUDGE, "bad: is a book of Quepid, for which --judge means nothing; leave it out"),
    "needless split": ("q 0 d 1\n", [*JUDGE, "--split", "test"], "bad: is no folder of BEIR"),
    "repeats of a run": ("q Q0 d 1 2 t\n", [*SYSTEM, "--repeats"], "--system and --repeats exclude each other"),
    "nothing said": ("q 0 d 1\n", [], "give --judge, --system, --runs, --queries or --documents"),
    "which text": ("query_id,a,b\nq,1,2\n", QUERIES, "bad: which column is the text? There are a, b; call it text"),
    "no ids": ("a,b,c\nq,1,2\n", DOCUMENTS, "bad: no column of ids among a, b, c; call it doc_id"),
    "needless format": ("q Q0 d 1 2 t\n", [*SYSTEM, "--qrels-format", "trec"], "--system and --qrels-format exclude"),
    "needless column": ("id\ttext\nq\ta\n", [*QUERIES, "--column", "query_id=id"], "--queries and --column exclude"),
    "state": ([line(1, state="done")], [], "'state' is 'done'; expected graded, unsure, skipped, refused or failed"),
    "kind": ([line(1, kind="dog")], [], "bad:1: 'kind' is 'dog'; expected person, model, program, imported or trial"),
    "no grade": ([line(1, relevance=None)], [], "bad:1: 'relevance': None is not a number; expected a grade"),
    "type of a column": ([line(1, repeat="x")], [], "bad:1: 'repeat' is 'x'; expected a number"),
    "type of a text": ([line(1, reason=["x"])], [], "bad:1: 'reason' is ['x']; expected a text"),
    "setting": ([line(1, settings={"x": "y"})], [], "bad:1: 'x' is no part of a judge; expected model, base_url"),
    "no part of a judgment": ([line(1, greade=2)], [], "bad:1: 'greade' is no part of a judgment"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_leaves_the_store_as_it_was(command: Command, shop: Path, name: str) -> None:
    given, options, message = BAD[name]
    with Project(shop).store(write=True) as store:
        store.add_queries([("q0", "a text", None)], "f")
        store.add_labels("ann", [Label("q0", "d0", 1.0, "k")])
        dump(store, "before.tar")
    written(Path("bad"), given) if not isinstance(given, str) else Path("bad").write_text(given)
    done = command("store", "import", "bad", *options)
    assert (done.code, done.out) == (2, "")
    assert message in " ".join(done.err.split())
    with Project(shop).store() as store:
        dump(store, "after.tar")
    assert Path("before.tar").read_bytes() == Path("after.tar").read_bytes()


JUNK: list[Any] = [
    None,
    0,
    -1.5,
    True,
    "",
    "x",
    "a\0",
    "\ud800",
    "y" * 2_000,
    [],
    [3],
    [None],
    {},
    {"a": 1},
    {"id": []},
]


def spoiled(value: Any, chance: random.Random) -> Any:
    """A value of JSON with junk somewhere inside."""
    if isinstance(value, (dict, list)) and value and chance.random() < 0.9:
        at = chance.choice(list(value) if isinstance(value, dict) else range(len(value)))
        changed = value.copy()
        changed[at] = spoiled(value[at], chance)
        return changed
    return chance.choice(JUNK)


@pytest.mark.parametrize("name", ["book", "case", "snapshot", "umbrela", "judgments", "pairs"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_spoiled_file_is_refused_with_a_word_or_taken_whole(store: Store, tmp_path: Path, name: str) -> None:
    settings = {"model": "m", "prompt": {"hash": "h", "name": "n", "text": "t"}}
    whole: dict[str, Any] = {"book": BOOK, "case": CASE, "snapshot": SNAPSHOT, "umbrela": [answer("q", "p", 1)] * 2}
    whole |= {"judgments": [line(1, settings=settings), line(2, at="x")]}
    whole |= {"pairs": [{"query_id": "q", "doc_id": "d", "to_judge": 1}]}
    chance, refusals = random.Random(9), []
    for _ in range(120 if store.engine.dialect.name == "sqlite" else 40):  # of a server every look takes longer
        path, before = written(tmp_path / "spoiled.json", spoiled(whole[name], chance)), store.counts()
        try:
            known = recognise(str(path))
            assert known is None or known.store(store, str(path), Asked())
        except RankgaugeError as error:
            refusals.append(str(error))
            after = store.counts()
            assert after == before, path.read_text()
    assert [each for each in refusals if "spoiled.json" not in each] == []
    assert refusals


def test_a_large_file_with_two_grades_is_refused_too(command: Command, shop: Path) -> None:
    lines = [f"q{n % 100} 0 {'x' * 280}-{n} 1\n" for n in range(30_000)]  # read as columns, where nobody has looked yet
    Path("big.txt").write_text("".join([*lines, lines[7].replace(" 1\n", " 2\n")]))
    done = command("store", "import", "big.txt", "--judge", "ann")
    assert (done.code, "big.txt:30001: query 'q7'" in done.err) == (2, True)
    assert tables(command)["judgment"] == 0
    run = [row.replace(" 0 ", " Q0 ", 1).replace("\n", " 1 t\n") for row in lines]
    Path("big.run").write_text("".join([*run, run[7]]))
    done = command("store", "import", "big.run", "--system", "a")
    assert (done.code, "is there twice for query 'q7'" in done.err) == (2, True)
    assert tables(command)["run"] == 0


def test_what_fails_in_the_middle_leaves_nothing(store: Store) -> None:
    """A later part of an import fails: what came before it is not there either."""

    def broken(inside: Store) -> None:
        inside.add_queries([("q", "text", None)], "f")
        inside.add_labels("ann", [Label("q", "d", 1.0, "k")])
        raise InputError("stop")

    with pytest.raises(InputError, match="stop"):
        store.together(broken)
    assert not any(store.counts().values())


def test_a_need_is_filled_in_and_never_replaced(store: Store) -> None:
    store.add_queries([("q", "text", None), ("q", "text", "why")], "a")
    assert [(row["need"], row["tags"]) for row in rows(store, "query")] == [("why", None)]
    assert store.add_queries([Query("q", "text", None, {"a": 1}), ("r", "x", None)], "b") == 1
    assert [(row["need"], row["tags"]) for row in rows(store, "query")] == [("why", '{"a": 1}'), (None, None)]
    with pytest.warns(UserWarning, match="c: query 'q' has another information need than before, which is left out"):
        store.add_queries([("q", "text", "because")], "c")
    assert rows(store, "query")[0]["need"] == "why"


def test_every_known_file_is_tried_above() -> None:
    assert {known.name for _, known in KNOWN} == {
        "a book of Quepid", "a snapshot of Quepid", "a case of Quepid", "UMBRELA's output", "exported judgments",
        "exported pairs", "judgments of a page",
    }  # fmt: skip
