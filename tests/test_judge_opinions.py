"""`rankgauge judge`, more than one opinion: repeats, several judges, log-probabilities, and models that change."""

from __future__ import annotations

import json
import math
import re
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

from chat_server import MODEL, PERSONALITIES, Ask, chatting, specimen
from command import Command
from rankgauge import Project
from rankgauge.errors import InputError

PAIRS = 8


async def wavering(ask: Ask) -> None:
    """Says 3 the first time, then what is right."""
    await ask.say(json.dumps(ask.object | {"grade": 3}) if ask.first else ask.fair)


async def unsure(ask: Ask) -> None:
    """Would rather say something else, but for the first specimen."""
    low = ask.name != "s0"
    shares = {str(ask.grade): 0.3, "The": 0.7} if low else {str(ask.grade): 0.75, str((ask.grade + 1) % 4): 0.25}
    tops = [{"token": token, "logprob": math.log(share), "bytes": None} for token, share in shares.items()]
    message = {"role": "assistant", "content": str(ask.grade)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    logprobs = {"content": [{**tops[0], "top_logprobs": tops}]} if ask.body.get("logprobs") else None
    await ask.answer({"choices": [{**choice, "logprobs": logprobs}], "model": MODEL}, 1)


async def changing(ask: Ask) -> None:
    """Is another model every other time."""
    await ask.say(ask.fair, model=MODEL if int(ask.name[1:]) % 2 else "petrograph-2")


@pytest.fixture(autouse=True)
def people(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in (wavering, unsure, changing):
        monkeypatch.setitem(PERSONALITIES, each.__name__, each)


@pytest.fixture
def folder(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    assert command("init", tmp_path / "stones").code == 0
    monkeypatch.chdir(tmp_path / "stones")
    lines = [
        {"query_id": "q", "query": "which stone", "doc_id": f"d{n}", "document": {"text": specimen(f"s{n}", n % 4)}}
        for n in range(PAIRS)
    ]
    Path("pairs.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    Path("mine.py").write_text("def high(query, document):\n    return 3\n")
    return tmp_path / "stones"


def flat(text: str) -> str:
    return " ".join(text.split())


def rows(asked: str) -> list[tuple[Any, ...]]:
    with sqlite3.connect("rankgauge.db") as connection:
        return connection.execute(asked).fetchall()


def test_repeats_tell_how_consistent_a_judge_is(folder: Path, command: Command) -> None:
    with chatting("wavering") as server:
        words = ("judge", "pairs.jsonl", "--judge", "petra", "--base-url", server.url, "--model", MODEL)
        said = command(*words, "--repeats", "5", "-o", "labels.txt")
        assert (said.code, server.calls) == (0, 5 * PAIRS)
    # Six of eight pairs have one answer of five that is another; of the two that are worth 3, all are alike.
    share = (6 * 0.8 + 2) / 8
    assert (
        f"Asked 5 times each: on average {100 * share:.1f} % of a pair's answers give its commonest grade."
    ) in flat(said.out)
    assert rows("SELECT count(*), count(DISTINCT repeat) FROM judgment") == [(5 * PAIRS, 5)]
    written = {line.split()[2]: int(line.split()[3]) for line in Path("labels.txt").read_text().splitlines()}
    assert written == {f"d{n}": n % 4 for n in range(PAIRS)}  # the majority


def test_several_judges_vote(folder: Path, command: Command) -> None:
    with chatting("strict") as server:
        for name in ("one", "two"):
            table = f'[judges.{name}]\nbase_url = "{server.url}"\nmodel = "{MODEL}"\nprompt = "{PROMPTS[name]}"\n'
            with Path("rankgauge.toml").open("a") as file:
                file.write(table)
        with Path("rankgauge.toml").open("a") as file:
            file.write('[judges.high]\ncall = "mine:high"\n')
            file.write('[labels]\nfrom = [["one", "two", "high"]]\n')
        named = ("--judge", "one", "--judge", "two", "--judge", "high")
        said = command("judge", "pairs.jsonl", *named, "-o", "labels.txt")
        assert said.code == 0
        assert server.calls == 2 * PAIRS
    assert [name for name in ("one", "two", "high") if f"{name} graded 8 of 8 pairs" in said.out] == [*PROMPTS, "high"]
    written = {line.split()[2]: int(line.split()[3]) for line in Path("labels.txt").read_text().splitlines()}
    assert written == {f"d{n}": n % 4 for n in range(PAIRS)}
    assert {doc: grade for _, doc, grade in Project(".").labels()} == written


PROMPTS = {"one": "graded", "two": "short"}


def test_a_digit_has_an_expected_grade_and_a_mass(folder: Path, command: Command) -> None:
    with chatting("unsure") as server:
        words = ("judge", "pairs.jsonl", "--judge", "petra", "--base-url", server.url, "--model", MODEL)
        said = command(*words, "--prompt", "digit")
        again = command(*words, "--prompt", "digit")
        assert (said.code, again.code, server.calls) == (0, 0, PAIRS)
    for each in (said, again):
        caution = "Caution: In 7 answers, the model put less than half of its probability on valid grades."
        assert caution in flat(each.out)
    kept = {doc: (grade, expected, mass) for doc, grade, expected, mass in
            rows("SELECT doc_id, grade, expected, mass FROM judgment")}  # fmt: skip
    assert kept["d0"] == (0.0, pytest.approx(0.25), pytest.approx(1.0))
    for number in range(1, PAIRS):
        assert kept[f"d{number}"] == (number % 4, pytest.approx(number % 4), pytest.approx(0.3))


def test_a_model_that_changes_is_said(folder: Path, command: Command) -> None:
    both = r"Caution: Two models answered under the name petra: petrograph-\d, petrograph-\d\. Their grades are mixed\."
    with chatting("changing") as server:
        words = ("judge", "pairs.jsonl", "--judge", "petra", "--base-url", server.url, "--model", MODEL)
        said = command(*words)
        again = command(*words)
    Path("people.txt").write_text("".join(f"q 0 d{n} {n % 4}\n" for n in range(PAIRS)))
    checked = command("judge", *words[2:], "--check", "people.txt")
    for each in (said, again, checked):
        assert re.search(both, flat(each.out)), each
    with chatting("strict") as server:  # the model of before is not the one of now
        Path("first.jsonl").write_text(Path("pairs.jsonl").read_text().splitlines()[1] + "\n")
        about = ("--judge", "anna", "--model", MODEL)
        assert "Caution" not in command("judge", "first.jsonl", *about, "--base-url", server.url).out
    with chatting("another model") as server:
        later = command("judge", "pairs.jsonl", *about, "--base-url", server.url)
        assert "Caution: Two models answered under the name anna: " in flat(later.out)


def test_two_documents_are_compared_in_python_only(folder: Path, command: Command) -> None:
    words = ("judge", "pairs.jsonl", "--judge", "petra", "--base-url", "http://127.0.0.1:9/v1", "--model", MODEL)
    refused = command(*words, "--prompt", "pairwise")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "prompt pairwise compares two documents, and a judge grades one; in Python: rankgauge.judge" in refused.err
    with pytest.raises(InputError, match="pairwise compares two documents"):
        Project(".").judge("petra", base_url="http://127.0.0.1:9/v1", prompt="pairwise")


def test_a_project_judges_in_python(folder: Path) -> None:
    project = Project(".")
    judged = project.judge("high", "pairs.jsonl", call="mine:high")
    assert (judged.graded, judged.open, judged.calls) == (PAIRS, 0, PAIRS)
    assert {grade for *_, grade in project.labels("high")} == {3.0}
    assert project.judge("high", [("q", "d1"), ("q", "d2")], call="mine:high").before == 2
    assert project.judge("high", call="mine:high", repeats=2).calls == PAIRS  # the pool, once more
    with pytest.raises(InputError, match=r"there is no \[judges.nobody\]"):
        project.judge("nobody")
