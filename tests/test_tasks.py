"""Tasks: whole queries to exactly as many raters as wanted, everything that is sent stored once, on both databases."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="a store needs SQLAlchemy")

from sqlalchemy import select, update

from command import Command
from rankgauge.errors import InputError, RankgaugeError, RankgaugeWarning
from rankgauge.judge.pairs import Pair
from rankgauge.judge.scale import Scale
from rankgauge.raters.handing import LEASE, HandOut, Wanted, hand_out, shown
from rankgauge.raters.judging import KeyTaken, NotGiven, Sent, TaskClosed, take
from rankgauge.raters.progress import progress
from rankgauge.raters.tasks import Task, close_task, make_task, open_task, task_of, tasks
from rankgauge.raters.users import add_user, disable
from rankgauge.store import schema
from rankgauge.store.project import Project
from rankgauge.store.store import Answer, Label, Store
from rankgauge.store.writer import Batch


def pairs(queries: int = 4, docs: int = 3) -> list[Pair]:
    return [
        Pair(f"q{query}", f"d{query}{doc}", f"text of q{query}", None, {"title": f"Title {doc}", "text": "A text."})
        for query in range(queries)
        for doc in range(docs)
    ]


@pytest.fixture
def project(address: str, tmp_path: Path) -> Project:
    return Project(tmp_path, {"project": {"db": address}})


@pytest.fixture
def made(project: Project, store: Store) -> Callable[..., Task]:
    def make(given: list[Pair] | None = None, name: str = "task", **how: Any) -> Task:
        return make_task(project, store, name, given or pairs(), who="lead", **how)

    return make


def held(store: Store, task: Task, judge: str, ahead: int = 0, before: int = 0) -> list[HandOut]:
    return store.writer.write(lambda connection: hand_out(connection, Wanted(task, judge, ahead, before)))


def of(store: Store, task: Task, judge: str, given: HandOut) -> list[Any]:
    return store.read(lambda connection: shown(connection, task, judge, given))


def sent(task: Task, judge: str, query: str, doc: str, grade: float | None = 1.0, **more: Any) -> Sent:
    about = {"key": f"{judge} {query} {doc}", "hash": None, "again": False, "note": "", "milliseconds": 900.0}
    state = "unsure" if grade is None else "graded"
    return Sent(task, judge, query_id=query, doc_id=doc, state=state, grade=grade, **about | more)


def judge(store: Store, *several: Sent) -> list[InputError | None]:
    for each in several:
        each.check()
    return store.writer.write(lambda connection: take(connection, several))


def judge_all(store: Store, task: Task, rater: str, given: HandOut, grade: float = 1.0) -> None:
    again = {"again": True} if given.again else {}
    for pair in of(store, task, rater, given):
        key = {"key": f"{rater} {given.id} {pair.doc_id}"}
        assert judge(store, sent(task, rater, given.query_id, pair.doc_id, grade, **again, **key)) == [None]


def rows(store: Store, table: Any) -> list[dict[str, Any]]:
    return [dict(row) for row in store.read(lambda each: each.execute(select(table)).mappings().all())]


# ---- handing out -----------------------------------------------------------------------------------------------------


def test_a_rater_keeps_what_was_given_and_gets_more_when_it_is_done(store: Store, made: Callable[..., Task]) -> None:
    task = made()
    assert [each.query_id for each in held(store, task, "ann", 1)] == ["q0", "q1"]
    assert [each.query_id for each in held(store, task, "ann", 1)] == ["q0", "q1"]
    assert [each.query_id for each in held(store, task, "bob", 1)] == ["q2", "q3"]  # nobody else's
    assert held(store, task, "eve", 1) == []
    judge_all(store, task, "ann", HandOut("q0"))
    assert held(store, task, "ann", 1, before=1) == [HandOut("q0", done=True), HandOut("q1")]


def test_a_query_goes_to_as_many_raters_as_wanted_even_all_at_once(store: Store, made: Callable[..., Task]) -> None:
    task = made(pairs(30, 1), overlap=2)
    given: list[tuple[str, str]] = []

    def work(rater: str) -> None:
        while fresh := held(store, task, rater):
            given.append((rater, fresh[0].query_id))
            judge_all(store, task, rater, fresh[0])

    threads = [threading.Thread(target=work, args=(f"r{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(given) == len(set(given)) == 60
    assert set(Counter(query for _, query in given).values()) == {2}
    assert {row["open"] for row in rows(store, schema.task_query)} == {0}
    assert progress(store, task).judged == progress(store, task).wanted == 60


def test_an_order_of_ones_own_that_stays(store: Store, made: Callable[..., Task]) -> None:
    task = made(pairs(1, 12), overlap=2)
    one, other = ([pair.doc_id for pair in of(store, task, rater, HandOut("q0"))] for rater in ("ann", "bob"))
    assert one == [pair.doc_id for pair in of(store, task, "ann", HandOut("q0"))]
    assert sorted(one) == sorted(other)
    assert one != other
    assert one != sorted(one)


def test_a_lease_ends_and_what_is_still_sent_is_kept(store: Store, made: Callable[..., Task]) -> None:
    task = made(pairs(1, 2))
    assert held(store, task, "ann") == [HandOut("q0")]
    assert held(store, task, "bob") == []
    old = (datetime.now(UTC) - LEASE - timedelta(minutes=1)).isoformat(timespec="milliseconds")
    store.writer.write(lambda each: each.execute(update(schema.assignment).values(seen=old)))
    assert held(store, task, "bob") == [HandOut("q0")]
    assert held(store, task, "ann") == []  # it is bob's now
    assert judge(store, sent(task, "ann", "q0", "d00"), sent(task, "ann", "q0", "d01")) == [None, None]
    assert store.counts()["judgment"] == 2
    assert {row["judge"]: bool(row["lapsed"]) for row in rows(store, schema.assignment)} == {"ann": True, "bob": False}


def test_who_comes_back_before_anybody_else_goes_on(store: Store, made: Callable[..., Task]) -> None:
    task = made(pairs(1, 1))
    held(store, task, "ann")
    old = (datetime.now(UTC) - LEASE - timedelta(minutes=1)).isoformat(timespec="milliseconds")
    store.writer.write(lambda each: each.execute(update(schema.assignment).values(seen=old)))
    assert held(store, task, "ann") == [HandOut("q0")]
    assert held(store, task, "bob") == []


def test_only_those_who_are_named_are_asked(store: Store, made: Callable[..., Task]) -> None:
    task = made(raters=["ann", "bob"], overlap=2)
    assert held(store, task, "eve") == []
    assert held(store, task, "bob")
    with pytest.raises(InputError, match="only 1 rater may judge"):
        made(name="other", raters=["ann"], overlap=2)


def test_a_closed_task_takes_nothing_and_goes_on_when_it_is_open_again(store: Store, made: Callable[..., Task]) -> None:
    task = made()
    held(store, task, "ann")
    close_task(store, "task", "lead")
    closed = task_of(store, "task")
    assert held(store, closed, "bob") == []
    (refused,) = judge(store, sent(task, "ann", "q0", "d00"))
    assert isinstance(refused, TaskClosed)
    assert store.counts()["judgment"] == 0
    open_task(store, "task", "lead")
    assert judge(store, sent(task, "ann", "q0", "d00")) == [None]


# ---- judgments -------------------------------------------------------------------------------------------------------


def test_a_key_counts_once_and_a_second_judgment_replaces_the_first(store: Store, made: Callable[..., Task]) -> None:
    task = made(pairs(1, 1))
    held(store, task, "ann")
    first = sent(task, "ann", "q0", "d00", 3.0)
    assert judge(store, first) == [None]
    assert judge(store, first, first) == [None, None]
    assert store.counts()["judgment"] == 1
    assert judge(store, sent(task, "ann", "q0", "d00", 1.0, key="later", note="a slip")) == [None]
    assert [(row.judge, row.kind, row.grade) for row in store.labels()[0]] == [("ann", "person", 1.0)]
    (pair,) = of(store, task, "ann", HandOut("q0"))
    assert pair.mine == {"state": "graded", "grade": 1.0, "note": "a slip"}


@pytest.mark.parametrize(
    ("change", "refusal"),
    [
        ({"judge": "bob"}, NotGiven),
        ({"query_id": "q3", "doc_id": "d30"}, NotGiven),
        ({"doc_id": "d30"}, NotGiven),
        ({"again": True}, NotGiven),
        ({"hash": "0123456789abcdef"}, InputError),
    ],
)
def test_what_was_not_given_is_refused(
    store: Store, made: Callable[..., Task], change: dict[str, Any], refusal: type
) -> None:
    task = made()
    held(store, task, "ann")
    (answer,) = judge(store, sent(task, "ann", "q0", "d00")._replace(**change))
    assert type(answer) is refusal
    assert store.counts()["judgment"] == 0
    good = sent(task, "ann", "q0", "d00")
    bad = good._replace(key="other", **change)
    assert [type(each) for each in judge(store, bad, good)] == [refusal, type(None)]  # alone


def test_a_key_of_somebody_else_is_refused(store: Store, made: Callable[..., Task]) -> None:
    task = made(overlap=2)
    held(store, task, "ann")
    held(store, task, "bob")
    judge(store, sent(task, "ann", "q0", "d00", key="k"))
    (answer,) = judge(store, sent(task, "bob", "q0", "d00", key="k"))
    assert isinstance(answer, KeyTaken)
    (answer,) = judge(store, sent(task, "ann", "q0", "d01", key="k"))
    assert isinstance(answer, KeyTaken)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"grade": 7.0}, "grade 7 is not on the scale of 'task': 0, 1, 2 or 3"),
        ({"grade": None, "state": "graded"}, "has a grade"),
        ({"grade": 1.0, "state": "unsure"}, "has a grade"),
        ({"state": "refused", "grade": None}, "graded or unsure"),
        ({"note": "x" * 10_001}, "write at most 10,000"),
        ({"milliseconds": float("nan")}, "milliseconds"),
        ({"milliseconds": -1.0}, "milliseconds"),
        ({"note": "a\0b"}, "cannot be stored"),
        ({"key": "k" * 2000}, "at most 1,000"),
    ],
)
def test_what_is_no_judgment_is_refused(
    store: Store, made: Callable[..., Task], change: dict[str, Any], words: str
) -> None:
    with pytest.raises(RankgaugeError, match=words):
        sent(made(), "ann", "q0", "d00")._replace(**change).check()


def test_every_change_leaves_a_line(store: Store, made: Callable[..., Task]) -> None:
    task = made(pairs(1, 1))
    held(store, task, "ann")
    judge(store, sent(task, "ann", "q0", "d00", key="k"))
    close_task(store, "task", "lead")
    lines = [(row["who"], row["what"], row["detail"]) for row in rows(store, schema.audit)]
    wanted = [("lead", "task made", "task: 1 pairs"), ("ann", "given", "task: q0"), ("ann", "judged", "k")]
    assert lines == [*wanted, ("lead", "task closed", "task")]


def test_a_failed_transaction_leaves_neither_judgment_nor_line(
    store: Store, made: Callable[..., Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    task = made(pairs(1, 1))
    held(store, task, "ann")
    lines = len(rows(store, schema.audit))

    def broken(*_: Any) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr("rankgauge.raters.judging._touch", broken)
    with pytest.raises(OSError, match="the disk is gone"):
        store.writer.write(Batch(take, sent(task, "ann", "q0", "d00")))
    assert store.counts()["judgment"] == 0
    assert len(rows(store, schema.audit)) == lines


# ---- gold, repetitions, order ----------------------------------------------------------------------------------------


def test_repetitions_come_later_and_are_kept_apart(store: Store, made: Callable[..., Task]) -> None:
    task = made(pairs(8, 2), repeat=0.25)
    marked = {(row["query_id"], row["doc_id"]) for row in rows(store, schema.task_pair) if row["again"]}
    assert len(marked) == 4
    order: list[HandOut] = []
    while waiting := held(store, task, "ann"):
        order.append(waiting[0])
        judge_all(store, task, "ann", waiting[0], grade=2.0 if waiting[0].again else 1.0)
        assert len(order) < 30
    firsts, agains = ([each.query_id for each in order if each.again is again] for again in (False, True))
    assert firsts == [f"q{number}" for number in range(8)]
    assert set(agains) == {query for query, _ in marked}
    for query in agains:
        between = order[order.index(HandOut(query)) + 1 : order.index(HandOut(query, again=True))]
        assert len([each for each in between if not each.again]) >= 5 or order[-1].again
    again = [row for row in rows(store, schema.judgment) if row["repeat"] == 1]
    assert {(row["query_id"], row["doc_id"]) for row in again} == marked
    assert {row["grade"] for row in again} == {2.0}


def test_gold_is_taken_from_what_people_agree_on(store: Store, made: Callable[..., Task]) -> None:
    store.add_labels("ann", [Label("q0", "gold", 3.0, "1"), Label("q0", "split", 3.0, "2")], "person")
    store.add_labels("bob", [Label("q0", "gold", 3.0, "3"), Label("q0", "split", 0.0, "4")], "person")
    store.add_labels("gpt", [Label("q1", "model", 3.0, "5")], "model")
    store.add_documents([("gold", {"title": "Known"})], "docs")
    with pytest.warns(RankgaugeWarning, match="gold: 1 pair of 2 that were wanted"):
        task = made(gold=0.2)
    known = {row["doc_id"]: row["gold"] for row in rows(store, schema.task_pair) if row["gold"] is not None}
    assert known == {"gold": 3.0}
    assert "gold" in [pair.doc_id for pair in of(store, task, "eve", HandOut("q0"))]
    with pytest.raises(InputError, match="no other pair has a grade of people on this scale"):
        made(name="binary", gold=0.1, scale=Scale.of("binary"))


def test_what_leaves_most_open_comes_first(project: Project, store: Store, made: Callable[..., Task]) -> None:
    """Two runs that agree on q0 and differ on q1: only q1 is open between them."""
    same, other = Answer("q0", ["d00", "d01"], [2.0, 1.0]), Answer("q1", ["d10", "d11"], [2.0, 1.0])
    store.add_run("one", {}, [same, other])
    store.add_run("two", {}, [same, Answer("q1", ["d11", "d10"], [2.0, 1.0])])
    task = made(pairs(2, 2), runs=["@one", "@two"])
    assert [each.query_id for each in held(store, task, "ann", 1)] == ["q1", "q0"]
    assert task.width is not None
    assert task.width > 0
    assert made(pairs(2, 2), name="plain").width is None


# ---- making one ------------------------------------------------------------------------------------------------------


def test_a_task_is_made_whole_or_not_at_all(
    store: Store, made: Callable[..., Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise OSError("cut off")

    with monkeypatch.context() as patched:
        patched.setattr("rankgauge.raters.tasks.audit", broken)
        with pytest.raises(OSError, match="cut off"):
            made()
    assert not any(store.counts().values())
    made()
    with pytest.raises(InputError, match="there is a task 'task' already"):
        made()
    with pytest.raises(InputError, match="did you mean 'title'"):
        made(name="other", fields=["titel"])
    with pytest.raises(InputError, match="did you mean 'task'"):
        task_of(store, "tsk")
    assert [task.name for task in tasks(store)] == ["task"]


def test_fields_and_a_text_that_has_changed(store: Store, made: Callable[..., Task]) -> None:
    task = made(pairs(1, 1), fields=["text"])
    (pair,) = of(store, task, "ann", HandOut("q0"))
    assert (pair.fields, pair.changed) == ({"text": "A text."}, False)
    with pytest.warns(RankgaugeWarning, match="1 document has another text"):
        store.add_documents([("d00", {"title": "New", "text": "Another text."})], "docs", latest_text=True)
    (pair,) = of(store, task, "ann", HandOut("q0"))
    assert (pair.fields, pair.changed) == ({"text": "Another text."}, True)
    held(store, task, "ann")
    assert judge(store, sent(task, "ann", "q0", "d00", hash=pair.hash)) == [None]
    assert not store.labels()[0][0].outdated


def test_the_command(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert command("init").code == 0
    lines = [
        {"query_id": "q", "query": "a query", "doc_id": f"d{number}", "document": {"text": "t"}} for number in range(40)
    ]
    Path("pairs.jsonl").write_text("\n".join(map(json.dumps, lines)))
    Path("how.md").write_text("# How\nJudge.")
    done = command("task", "make", "t", "pairs.jsonl", "--overlap", "2", "--guidelines", "how.md", "--repeat", "5%")
    assert (done.code, "0 of 80 judgments (0%)" in done.out) == (0, True), done
    listed = json.loads(command("task", "list", "--format", "json").out)
    assert [(each["task"], each["pairs"], each["wanted"]) for each in listed] == [("t", 40, 80)]
    assert json.loads(command("task", "show", "t", "--format", "json").out)["overlap"] == 2
    assert command("task", "close", "t").out == "task t is closed\n"
    assert command("task", "open", "t").out == "task t is open\n"
    for given, words in (
        (["make", "t", "pairs.jsonl"], "there is a task 't' already"),
        (["make", "u"], "give [PAIRS] or --pool"),
        (["make", "u", "pairs.jsonl", "--gold", "x"], "write a share of the pairs"),
        (["make", "u", "pairs.jsonl", "--raters", "ann,,bob"], "each once"),
        (["make", "u", "pairs.jsonl", "--guidelines", "none.md"], "none.md"),
        (["show", "v"], "there is no task 'v'"),
    ):
        failed = command("task", *given)
        assert (failed.code, words in " ".join(failed.err.split())) == (2, True), failed


# ---- checks of raters are no labels ----------------------------------------------------------------------------------


def test_what_is_asked_again_is_no_label(project: Project, store: Store, made: Callable[..., Task]) -> None:
    """Another grade the second time changes no measure, and `agree` has every pair once."""
    task = made(pairs(2, 3), repeat=0.5)
    while waiting := held(store, task, "ann"):
        judge_all(store, task, "ann", waiting[0], grade=0.0 if waiting[0].again else 3.0)
    assert sum(row["repeat"] for row in rows(store, schema.judgment)) == 3
    labels = project.labels("ann", repeated=True)
    assert sorted(grade for _, _, grade in labels) == [3.0] * 6
    assert (progress(store, task).judged, progress(store, task).wanted) == (6, 6)


def test_who_is_disabled_holds_nothing(store: Store, made: Callable[..., Task]) -> None:
    task = made(pairs(1, 1))
    add_user(store, "ann", "rater", None, "lead")
    assert held(store, task, "ann") == [HandOut("q0")]
    disable(store, "ann", "lead")
    assert held(store, task, "bob") == [HandOut("q0")]


def test_texts_come_from_the_store_and_unknown_raters_are_named(store: Store, made: Callable[..., Task]) -> None:
    store.add_documents([("d", {"title": "Known"})], "docs")
    store.add_queries([("q", "a query", "a need")], "queries")
    add_user(store, "ann", "rater", None, "lead")
    with pytest.warns(RankgaugeWarning, match="there is no user 'zoe'; add them: rankgauge user add zoe"):
        task = made([Pair("q", "d")], fields=["title"], raters=["ann", "zoe"])
    (pair,) = of(store, task, "ann", HandOut("q"))
    assert pair.fields == {"title": "Known"}


def test_progress_counts_every_query_once(store: Store, made: Callable[..., Task]) -> None:
    task = made(pairs(60, 1), overlap=2)
    for rater in ("ann", "bob"):
        for given in held(store, task, rater, ahead=59):
            judge(store, sent(task, rater, given.query_id, f"d{given.query_id[1:]}0"))
    assert (progress(store, task).judged, progress(store, task).done) == (120, 60)
