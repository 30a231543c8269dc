"""Disputes: which pairs, in which order, what the grade of one does to the mean; decisions, kept once, with a line."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select

import rankgauge
from rankgauge.judge.scale import GRADED
from rankgauge.measures import parse
from rankgauge.protocol import Protocol
from rankgauge.raters.disputes import Conflict, Decision, NotDisputed, adjudication, decide, given_to
from rankgauge.raters.effects import Change, Effects
from rankgauge.raters.tasks import Task, task_of
from rankgauge.read import Judgments, Run
from rankgauge.store import schema
from rankgauge.store.project import Project
from rankgauge.store.rows import now, written
from rankgauge.store.runs import Answer
from rankgauge.store.store import Label, Store
from web import made

pytestmark = pytest.mark.filterwarnings("ignore::rankgauge.RankgaugeWarning")
Nested = dict[str, dict[str, float]]


def graded(store: Store, judge: str, labels: Nested, kind: str = "person", stamp: str = "", **more: Any) -> None:
    rows = [(query, doc, grade) for query, docs in labels.items() for doc, grade in docs.items()]
    made = [Label(query, doc, grade, f"{judge} {query} {doc} {stamp}", **more) for query, doc, grade in rows]
    store.add_labels(judge, made, kind)


def tasked(store: Store, number: int, pairs: Mapping[tuple[str, str], float | None]) -> Task:
    """A task of these pairs, some of which have a known grade."""
    about = {"task_id": number, "name": f"t{number}", "scale": written(GRADED.to_dict()), "guidelines": "",
             "overlap": 2, "raters": "[]", "gold": 0.0, "repeat": 0.0, "shows_models": 0, "runs": "[]",
             "at": now()}  # fmt: skip
    rows = [
        {"task_id": number, "query_id": query, "doc_id": doc, "gold": gold, "again": 0}
        for (query, doc), gold in pairs.items()
    ]

    def added(connection: Any) -> None:
        connection.execute(insert(schema.task), about)
        connection.execute(insert(schema.task_pair), rows)

    store.writer.write(added)
    return task_of(store, f"t{number}")


def ranked(store: Store, system: str, run: Nested) -> None:
    answers = []
    for query, docs in run.items():
        order = sorted(docs, key=lambda doc: -docs[doc])
        answers.append(Answer(query, order, [docs[doc] for doc in order]))
    store.add_run(system, {}, answers)


@pytest.fixture
def project(address: str, tmp_path: Path) -> Project:
    return Project(tmp_path, {"project": {"db": address}})


@pytest.fixture
def filled(store: Store) -> Store:
    """Two judges who differ on every fifth pair or so, a third one on few, and three runs."""
    chance = random.Random(3)
    judged, runs = made(8, 3, seed=5)
    other = {q: {d: float(chance.choice([g, g, g, g, 3 - g])) for d, g in docs.items()} for q, docs in judged.items()}
    third = {q: {d: float(chance.choice([0, 3])) for d in [*docs][:2]} for q, docs in judged.items()}
    graded(store, "ann", judged)
    graded(store, "bob", other)
    graded(store, "eve", third)
    for name, run in runs.items():
        ranked(store, name, run)
    return store


# ---- what a grade does to the mean -----------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "P@5"])
@pytest.mark.parametrize(
    "rules", [{}, {"empty": "skip"}, {"missing": "skip"}, {"ties": "average"}, {"same_id": "drop"}]
)
def test_the_mean_after_a_change_is_that_of_a_whole_evaluation(measure: str, rules: Any) -> None:
    """To the last digit, also of queries that nobody answers and of those that lose their only relevant document."""
    judged, runs = made(8, 2, seed=1)
    judged["q02"] = dict.fromkeys(judged["q02"], 0.0)
    judged["d1"] = {"d1": 1.0, "d2": 0.0}
    runs["s0"]["d1"] = {"d1": 2.0, "d2": 1.0}
    chance = random.Random(2)
    changes = [
        Change(query, chance.choice([*docs, "new"]), float(grade))
        for query, docs in judged.items()
        for grade in (0, 3, 1.5)
    ]
    protocol = Protocol(**rules)
    effects = Effects(Judgments(judged), {name: Run(run) for name, run in runs.items()}, parse(measure), protocol)
    means = effects.means(changes)
    for name, run in runs.items():
        assert effects.now[name] == rankgauge.evaluate(judged, run, measure, protocol=protocol)[measure]
        for at, change in enumerate(changes):
            after = {q: dict(docs) for q, docs in judged.items()}
            after[change.query_id][change.doc_id] = change.grade
            assert means[name][at] == rankgauge.evaluate(after, run, measure, protocol=protocol)[measure]


def test_a_run_of_other_queries_is_left_out_and_said() -> None:
    effects = Effects(Judgments({"q": {"a": 1.0}}), {"x": Run({"other": {"a": 1.0}})}, parse("nDCG@10"))
    assert effects.now == {}
    assert "x is left out" in effects.problems[0]


# ---- which pairs, in which order -------------------------------------------------------------------------------------


def test_the_largest_effect_on_a_mean_comes_first(project: Project, filled: Store) -> None:
    """The effect of every pair = the difference of two whole evaluations of the project's labels, by brute force."""
    found = adjudication(project, filled)
    labels = {q: dict(docs) for q, docs in project.labels().nested.items()}
    runs = {name: project.run(name) for name in project.systems()}
    assert len(found.open) > 10
    assert found.now == {name: rankgauge.evaluate(labels, run)["nDCG@10"] for name, run in runs.items()}
    for each in found.open:
        values = {}
        for grade in (0.0, 1.0, 2.0, 3.0):
            after = labels | {each.query_id: labels[each.query_id] | {each.doc_id: grade}}
            values[grade] = {name: rankgauge.evaluate(after, run)["nDCG@10"] for name, run in runs.items()}
            assert {name: means[grade] for name, means in each.means.items()} == values[grade]
        low, high = each.grades[0], each.grades[-1]
        assert each.effect == max(abs(values[high][name] - values[low][name]) for name in runs)
        assert (each.apart, each.now) == (high - low, labels[each.query_id][each.doc_id])
    effects = [each.effect or 0.0 for each in found.open]
    assert effects == sorted(effects, reverse=True)
    assert effects[0] > 0


def test_pairs_are_those_with_two_grades_and_no_ruling(project: Project, store: Store) -> None:
    graded(store, "ann", {"q": {"same": 1, "far": 0, "near": 1, "ruled": 2, "alone": 3}})
    graded(store, "bob", {"q": {"same": 1, "far": 3, "near": 2, "ruled": 0}})
    store.add_labels("eve", [Label("q", "near", None, "eve", state="unsure", reason="which one?")], "person")
    store.add_labels("lead", [Label("q", "ruled", 1.0, "ruling", ruling=1, reason="because")], "person")
    found = adjudication(project, store)
    assert [(each.doc_id, each.apart, each.effect) for each in found.open] == [("far", 3, None), ("near", 1, None)]
    near = found.open[1]
    assert sorted((each.state, each.grade, each.note) for each in near.given) == [
        ("graded", 1.0, ""), ("graded", 2.0, ""), ("unsure", None, "which one?"),
    ]  # fmt: skip
    (decided,) = found.decided
    assert (decided.doc_id, decided.grade, decided.by, decided.note) == ("ruled", 1.0, "lead", "because")
    assert {(who.judge, who.grade) for who in decided.given} == {("ann", 2.0), ("bob", 0.0)}
    shown = found.to_json()
    assert "ann" not in shown.split('"decided"')[0]
    assert "effect" in found.to_csv().splitlines()[0]


def test_a_judge_who_was_asked_again_has_one_grade(project: Project, store: Store) -> None:
    """A judge is in no dispute with oneself; the project's policy says what several grades come to."""
    graded(store, "ann", {"q": {"a": 1, "b": 1}})
    graded(store, "ann", {"q": {"a": 3}}, stamp="again", repeat=1)
    assert adjudication(project, store).open == ()
    graded(store, "bob", {"q": {"a": 1, "b": 1}})
    assert adjudication(project, store).open == ()  # the majority of 1 and 3 is the lower
    graded(store, "ann", {"q": {"b": 2}}, stamp="changed")
    assert [each.doc_id for each in adjudication(project, store).open] == ["b"]


def test_disputes_of_a_task_and_of_people_alone(project: Project, store: Store) -> None:
    graded(store, "ann", {"q": {"a": 1, "b": 1, "c": 0}})
    graded(store, "bob", {"q": {"a": 0, "b": 1, "c": 0}})
    graded(store, "gpt", {"q": {"a": 0, "b": 3, "c": 0}}, "model")
    assert [each.doc_id for each in adjudication(project, store).open] == ["b", "a"]
    assert [each.doc_id for each in adjudication(project, store, people=True).open] == ["a"]
    task = tasked(store, 7, {("q", "b"): None})
    assert [each.doc_id for each in adjudication(project, store, task).open] == ["b"]


def test_letters_tell_nothing(project: Project, store: Store) -> None:
    """The same judge is A here and B there, and always the same letter for the same pair."""
    docs = [f"d{at}" for at in range(40)]
    graded(store, "ann", {"q": dict.fromkeys(docs, 0.0)})
    graded(store, "bob", {"q": dict.fromkeys(docs, 2.0)})
    found = adjudication(project, store)
    letters = {each.doc_id: next(given.letter for given in each.given if given.grade == 0) for each in found.open}
    assert 8 < sum(letter == "A" for letter in letters.values()) < 32
    for doc, letter in letters.items():
        who = {each.judge: each.letter for each in given_to(store, project.rule, "q", doc)}
        assert who == {"ann": letter, "bob": "B" if letter == "A" else "A"}
    again = adjudication(project, store)
    assert [each.given for each in again.open] == [each.given for each in found.open]


# ---- deciding --------------------------------------------------------------------------------------------------------


def audits(store: Store) -> list[tuple[str, str, str]]:
    table = schema.audit.c
    return [tuple(row) for row in store.read(lambda c: c.execute(select(table.who, table.what, table.detail)).all())]


def test_a_decision_is_a_ruling_and_the_labels_stay(project: Project, filled: Store) -> None:
    found = adjudication(project, filled)
    first = found.open[0]
    before = {judge: project.labels(judge).fingerprint for judge in ("ann", "bob", "eve")}
    decision = Decision("k1", first.query_id, first.doc_id, 1.0, "=cmd|' /C calc'!A0", 1234.0, seen=found.last)
    assert decide(filled, decision, "lead")
    assert project.labels().nested[first.query_id][first.doc_id] == 1.0
    assert {judge: project.labels(judge).fingerprint for judge in before} == before
    after = adjudication(project, filled)
    assert len(after.open) == len(found.open) - 1
    assert (after.decided[0].doc_id, after.decided[0].by, after.decided[0].grade) == (first.doc_id, "lead", 1.0)
    assert "\n=cmd" not in after.to_csv(table="decided").replace(",=", "\n=")  # no formula
    said = f"query {first.query_id!r}, document {first.doc_id!r}: 1"
    assert audits(filled) == [("lead", "adjudicate", said)]


def test_a_decision_is_kept_once(project: Project, store: Store) -> None:
    graded(store, "ann", {"q": {"a": 1}})
    graded(store, "bob", {"q": {"a": 0}})
    decision = Decision("k1", "q", "a", 0.0)
    assert decide(store, decision, "lead")
    assert not decide(store, decision, "lead")
    assert (store.counts()["judgment"], len(audits(store))) == (3, 1)
    for other, who in (
        (decision._replace(grade=1.0), "lead"),
        (decision, "ann"),
        (decision._replace(doc_id="b"), "lead"),
    ):
        with pytest.raises(Conflict, match="stands for another one"):
            decide(store, other, who)
    assert decide(store, Decision("k2", "q", "a", 1.0), "lead")  # another mind
    assert project.labels().nested["q"]["a"] == 1.0
    assert store.counts()["judgment"] == 4


def test_what_somebody_else_decided_meanwhile_is_not_overwritten(project: Project, store: Store) -> None:
    graded(store, "ann", {"q": {"a": 1}})
    graded(store, "bob", {"q": {"a": 0}})
    seen = adjudication(project, store).last
    decide(store, Decision("k1", "q", "a", 0.0, seen=seen), "lead")
    with pytest.raises(Conflict, match="lead decided meanwhile for 0"):
        decide(store, Decision("k2", "q", "a", 1.0, seen=seen), "chief")
    assert decide(store, Decision("k3", "q", "a", 1.0, seen=adjudication(project, store).last), "chief")
    assert (project.labels().nested["q"]["a"], len(audits(store))) == (1.0, 2)


def test_there_is_nothing_to_decide_about_what_nobody_graded(store: Store) -> None:
    store.add_labels("ann", [Label("q", "x", None, "s", state="skipped")], "person")
    for doc in ("x", "y"):
        with pytest.raises(NotDisputed, match="nobody has graded it"):
            decide(store, Decision("k", "q", doc, 1.0), "lead")
    assert audits(store) == []
