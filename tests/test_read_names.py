"""Columns by their names, and what the names tell."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rankgauge.read import read_judgments, read_run
from rankgauge.read.formats import kind_of, recognise
from rankgauge.read.names import SPELLINGS
from rankgauge.read.sources import find_source

Make = Callable[[str, str], str]


@pytest.fixture
def file(tmp_path: Path) -> Make:
    def make(content: str, name: str) -> str:
        (tmp_path / name).write_text(content)
        return str(tmp_path / name)

    return make


@pytest.mark.parametrize(("role", "spelling"), [(role, s) for role in SPELLINGS for s in SPELLINGS[role]])
@pytest.mark.parametrize("change", [str, str.upper, lambda name: name.replace("_", "-")])
def test_columns_are_found_by_any_spelling(role: str, spelling: str, change: Callable[[str], str], file: Make) -> None:
    number = role if role in ("relevance", "rank") else "score"
    names = {"query_id": "query_id", "doc_id": "doc_id", number: number} | {role: change(spelling)}
    path = file(",".join(names.values()) + "\nq,d,1\n", "file.csv")
    record = read_judgments(path) if number == "relevance" else read_run(path, by=number)
    assert record.nested == {"q": {"d": -1.0 if number == "rank" else 1.0}}


def test_an_id_is_preferred_to_what_may_be_a_text(file: Make) -> None:
    path = file("query,qid,doc,doc_id,score,label\nhow to,q1,text,d1,0.5,3\n", "file.csv")
    assert read_run(path).nested == {"q1": {"d1": 0.5}}
    assert read_judgments(path).nested == {"q1": {"d1": 3.0}}


def test_columns_are_mapped_by_the_caller(file: Make) -> None:
    path = file("score,me,you\n1,q,d\n", "file.txt")
    assert read_run(path, columns={"query_id": "me", "doc_id": "you"}).nested == {"q": {"d": 1.0}}


KINDS = [
    ("q 0 d 1\n", "file.txt", "judgments"),
    ("q Q0 d 1 1 x\n", "file.txt", "run"),
    ("q d 1\n", "file.txt", "run"),
    ("qid,pid,rel\nq,d,1\n", "file.csv", "judgments"),
    ("qid,pid,score\nq,d,1\n", "file.csv", "run"),
    ("qid,pid,rank\nq,d,1\n", "file.csv", "run"),
    ("qid,pid,rel,score\nq,d,1,1\n", "file.csv", None),
    ("query-id\tcorpus-id\tscore\nq\td\t1\n", "file.tsv", None),
    ('{"q": {"d": 1}}', "file.json", None),
    ('[{"qid": "q", "pid": "d", "grade": 1}]', "file.json", "judgments"),
    ('{"qid": "q", "pid": "d", "sim": 1}\n', "file.jsonl", "run"),
]


@pytest.mark.parametrize(("text", "name", "kind"), KINDS)
def test_judgments_or_run(text: str, name: str, kind: str | None, file: Make) -> None:
    source = find_source(file(text, name))
    assert kind_of(source, recognise(source, None)) == kind
