"""Reading what models answer: every way that counts, every way that never does, and real answers read by eye."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pytest

from rankgauge.judge.answers import read_answer
from rankgauge.judge.scale import GRADED

DATA = Path(__file__).parents[2] / "shared" / "data" / "llm-answers"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the folder of real answers is not there")


def real_answers() -> dict[str, str]:
    with gzip.open(DATA / "answers.jsonl.gz", "rt", encoding="utf-8") as stream:
        return {str(row["id"]): row["answer"] for row in map(json.loads, stream)}


def grade(text: str) -> str:
    reading = read_answer(text, GRADED)
    return f"{reading.grade:g}" if reading.state == "graded" else "failed"


@needs_data
def test_150_real_answers_are_read_as_by_eye() -> None:
    answers = real_answers()
    with open(DATA / "expected.csv", encoding="utf-8", newline="") as stream:
        expected = {row["id"]: row["expected"] for row in csv.DictReader(stream)}
    assert len(expected) == 150
    assert {each: grade(answers[each]) for each in expected} == expected


@needs_data
def test_of_1966_real_answers_at_least_600_are_read() -> None:
    answers = real_answers()
    assert len(answers) == 1966
    assert sum(grade(text) != "failed" for text in answers.values()) >= 600
