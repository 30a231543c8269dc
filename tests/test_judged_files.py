"""What people judged on a page of their own: stored once however often it comes, and never merged unasked."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="a store needs SQLAlchemy")

from sqlalchemy import select

from command import Command
from rankgauge.store import schema
from rankgauge.store.project import Project


def row(doc: str, grade: float | None, judge: str = "ann", key: str = "", **more: Any) -> dict[str, Any]:
    state = "graded" if grade is not None else "unsure"
    about = {"query_id": "q", "doc_id": doc, "judge": judge, "state": state, "grade": grade, "note": "", "ms": 1200}
    return about | {"made": "2026-01-02T10:00:00.000Z", "key": key or f"{judge}-{doc}"} | more


def written(name: str, *rows: dict[str, Any]) -> str:
    Path(name).write_text("".join(json.dumps(each) + "\n" for each in rows))
    return name


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command) -> Path:
    monkeypatch.chdir(tmp_path)
    assert command("init").code == 0
    return tmp_path


def stored(folder: Path) -> list[tuple[Any, ...]]:
    """Judge, kind, document, state, grade, reason, milliseconds and time of every judgment."""
    table, judge = schema.judgment.c, schema.judge.c
    columns = (
        judge.name,
        judge.kind,
        table.doc_id,
        table.state,
        table.grade,
        table.reason,
        table.milliseconds,
        table.at,
    )
    asked = select(*columns).join(schema.judge, judge.judge_id == table.judge_id).order_by(table.judgment_id)
    with Project(folder).store() as store:
        return [tuple(each) for each in store.read(lambda connection: connection.execute(asked).all())]


def labels(folder: Path, judge: str) -> dict[str, float]:
    return dict(Project(folder).labels(judge).nested.get("q", {}))


def test_several_judges_are_stored_once(command: Command, shop: Path) -> None:
    both = written(
        "both.jsonl", row("a", 2, note="fine"), row("a", 1, "bob"), row("b", None), row("c", None, state="skipped")
    )
    done = command("store", "import", both)
    assert (done.code, done.err) == (0, "")
    assert done.out == "stored 4 judgments of ann and bob from both.jsonl (2 grades in it)\n"
    assert stored(shop) == [
        ("ann", "person", "a", "graded", 2.0, "fine", 1200.0, "2026-01-02T10:00:00.000+00:00"),
        ("bob", "person", "a", "graded", 1.0, None, 1200.0, "2026-01-02T10:00:00.000+00:00"),
        ("ann", "person", "b", "unsure", None, None, 1200.0, "2026-01-02T10:00:00.000+00:00"),
        ("ann", "person", "c", "skipped", None, None, 1200.0, "2026-01-02T10:00:00.000+00:00"),
    ]
    again = command("store", "import", both)
    assert again.out == "stored 0 judgments of ann and bob from both.jsonl (2 grades in it); 4 stored before\n"
    assert len(stored(shop)) == 4
    assert (labels(shop, "ann"), labels(shop, "bob")) == ({"a": 2.0}, {"a": 1.0})


@pytest.mark.parametrize("order", [("first", "second"), ("second", "first")])
def test_the_latest_grade_counts_whichever_file_comes_last(
    command: Command, shop: Path, order: tuple[str, str]
) -> None:
    written("first.jsonl", row("a", 2), row("b", 0))
    written("second.jsonl", row("a", 3, key="changed", made="2026-01-03T10:00:00.000Z"), row("b", 0))
    for name in order:
        assert command("store", "import", f"{name}.jsonl").code == 0
    assert labels(shop, "ann") == {"a": 3.0, "b": 0.0}


def test_within_a_file_the_latest_counts(command: Command, shop: Path) -> None:
    late = row("a", 3, key="changed", made="2026-01-03T12:00:00+02:00")
    assert command("store", "import", written("j.jsonl", late, row("a", 2))).code == 0
    assert labels(shop, "ann") == {"a": 3.0}
    assert stored(shop)[-1][-1] == "2026-01-03T10:00:00.000+00:00"


def test_a_clock_that_is_ahead_is_taken_as_now(command: Command, shop: Path) -> None:
    ahead = (datetime.now(UTC) + timedelta(days=400)).isoformat()
    done = command("store", "import", written("j.jsonl", row("a", 2, made=ahead)))
    assert done.code == 0
    assert "1 row has a time that is still to come: a clock was wrong; taken as judged now" in done.err
    assert stored(shop)[0][-1] <= datetime.now(UTC).isoformat()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"state": "maybe"}, "'state' is 'maybe'; expected graded, unsure or skipped"),
        ({"grade": None}, "'grade': None is not a number; expected a grade"),
        ({"state": "unsure"}, "a row that is 'unsure' has the grade 2; expected null"),
        ({"made": "yesterday"}, "'made' is 'yesterday'; expected a time"),
        ({"ms": "long"}, "'ms' is 'long'; expected milliseconds"),
        ({"judge": ""}, "has no 'judge'"),
        ({"key": ""}, "has no 'key'"),
    ],
)
def test_a_bad_row_leaves_nothing(command: Command, shop: Path, change: dict[str, Any], words: str) -> None:
    bad = row("b", 2) | change
    done = command("store", "import", written("j.jsonl", row("a", 1), bad))
    assert (done.code, "j.jsonl:2: " in done.err, words in done.err) == (2, True, True), done.err
    assert stored(shop) == []


def test_a_file_of_several_judges_is_not_merged(command: Command, shop: Path) -> None:
    Path("other.txt").write_text("q 0 a 2\nq 0 b 1\n")
    written("both.jsonl", row("a", 2), row("a", 2, "bob"))
    for words in (["agree", "both.jsonl", "other.txt"], ["convert", "both.jsonl", "x.txt"]):
        done = command(*words)
        assert done.code == 2
        assert "both.jsonl:2: 'bob' judged this, and 'ann' what is before it" in done.err
        assert "'rankgauge store import' takes the file as it is, or make a file of each judge" in done.err


def test_rows_that_are_no_grades_are_left_out(command: Command, shop: Path) -> None:
    written("one.jsonl", row("a", 2), row("b", None), row("c", 0))
    done = command("convert", "one.jsonl", "x.txt")
    assert (done.code, "one.jsonl: 1 row is no grade (skipped, or nobody could tell)" in done.err) == (0, True)
    assert Path("x.txt").read_text() == "q 0 a 2\nq 0 c 0\n"
