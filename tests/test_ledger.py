"""The ledger of judges: by closed forms, by brute force, and against `rankgauge agree` to the last digit."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import rankgauge
from command import Command
from rankgauge.raters.ledger import Account, judged_sets, ledger
from rankgauge.shown import clean
from rankgauge.store.project import Project
from rankgauge.store.store import Label, Store
from test_disputes import Nested, graded, tasked

pytestmark = pytest.mark.filterwarnings("ignore::rankgauge.RankgaugeWarning")


@pytest.fixture
def project(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    (tmp_path / "rankgauge.toml").write_text("[project]\nname = 'x'\n")
    monkeypatch.setenv("RANKGAUGE_DB", address)
    monkeypatch.chdir(tmp_path)
    return Project(tmp_path)


def opinions(seed: int, queries: int = 12, lacking: float = 0.2) -> dict[str, Nested]:
    """Judges who agree mostly, on pairs that they share mostly; one gives more than the others."""
    chance = random.Random(seed)
    judges: dict[str, Nested] = {"ann": {}, "bob": {}, "eve": {}}
    for query in range(queries):
        for doc in range(9):
            truth = chance.choice([0, 0, 1, 2, 3])
            for judge, labels in judges.items():
                if chance.random() > lacking:
                    grade = chance.choice([truth, truth, truth, 1]) + (judge == "eve" and truth < 3)
                    labels.setdefault(f"q{query}", {})[f"d{doc}"] = float(grade)
    return judges


def accounts(project: Project, store: Store, *more: Any) -> dict[str, Account]:
    return {each.judge: each for each in ledger(project, store, *more).judges}


# ---- agreement -------------------------------------------------------------------------------------------------------


def test_two_judges_are_as_agree_has_them(command: Command, project: Project, store: Store) -> None:
    """To the last digit, with the intervals."""
    judges = opinions(1)
    for judge in ("ann", "bob"):
        graded(store, judge, judges[judge])
    found = accounts(project, store)
    for own, other in (("bob", "ann"), ("ann", "bob")):
        told = json.loads(command("agree", f"@labels:{other}", f"@labels:{own}", "--format", "json").out)["pairs"][0]
        brief = found[own].others
        assert brief is not None
        assert brief.shared == told["shared"]
        assert brief.agreement._asdict() == told["agreement"]
        assert brief.kappa._asdict() == told["kappa"]["quadratic"]
        assert brief.bias._asdict() == told["bias"]
    told = json.loads(command("agree", "ann=@labels:ann", "bob=@labels:bob", "--format", "json").out)
    assert rankgauge.agree(judged_sets(store.labels()[0], project.rule)).to_dict() == told


def test_the_others_are_the_labels_without_the_judge(project: Project, store: Store) -> None:
    """The majority of people, and of models where no person judged; for the bias the mean."""
    judges = opinions(2)
    for judge, labels in judges.items():
        graded(store, judge, labels)
    graded(
        store, "gpt", {q: dict.fromkeys(docs, 1.0) for q, docs in judges["ann"].items()} | {"only": {"d": 2.0}}, "model"
    )
    store.add_labels("lead", [Label("q1", "d1", 3.0, "ruling", ruling=1)], "person")
    found = accounts(project, store)
    assert [*found] == ["ann", "bob", "eve", "lead", "gpt"]
    rest: dict[str, dict[str, list[float]]] = {}
    for judge in ("bob", "eve"):
        for query, docs in judges[judge].items():
            for doc, grade in docs.items():
                rest.setdefault(query, {}).setdefault(doc, []).append(grade)
    mean = [
        grade - sum(rest[query][doc]) / len(rest[query][doc]) if doc in rest.get(query, {}) else grade - 1.0
        for query, docs in judges["ann"].items()
        for doc, grade in docs.items()
    ]
    ann = found["ann"].others
    assert ann is not None
    assert ann.shared == len(mean)
    assert ann.bias.value == pytest.approx(sum(mean) / len(mean), abs=1e-12)
    assert ann.bias.low < ann.bias.value < ann.bias.high
    assert found["lead"].others is None
    assert (found["lead"].rulings, found["lead"].pairs) == (1, 0)
    people = {judge: judges[judge] for judge in ("ann", "bob", "eve")}
    model = found["gpt"].others
    assert model is not None
    assert model.shared == sum(
        any(doc in labels.get(query, {}) for labels in people.values())
        for query, docs in judges["ann"].items() for doc in docs
    )  # fmt: skip


def test_gold_and_oneself(project: Project, store: Store) -> None:
    """Agreement with known grades, and with what the same judge said before: as `agree` has it."""
    judges = opinions(3, lacking=0.0)
    gold: dict[tuple[str, str], float | None] = {("q1", f"d{doc}"): judges["ann"]["q1"][f"d{doc}"] for doc in range(6)}
    gold |= {("q2", "d0"): 3 - judges["ann"]["q2"]["d0"], ("q2", "d1"): None}
    tasked(store, 1, dict.fromkeys(gold, 3.0))
    tasked(store, 2, gold)  # the later one counts, where it knows the grade
    graded(store, "ann", judges["ann"])
    again = {"q3": judges["ann"]["q3"] | {"d0": 3 - judges["ann"]["q3"]["d0"]}, "q4": judges["ann"]["q4"]}
    graded(store, "ann", again, stamp="again", repeat=1)
    graded(store, "ann", {"q3": {"d1": 2.0}}, stamp="third", repeat=2)
    ann = accounts(project, store)["ann"]
    known: Nested = {}
    for (query, doc), grade in gold.items():
        known.setdefault(query, {})[doc] = 3.0 if grade is None else grade
    for found, (first, second) in ((ann.gold, (known, project.labels("ann"))), (ann.again, (judges["ann"], again))):
        pair = rankgauge.agree({"a": first, "b": second}).pairs[0]
        assert found is not None
        assert (found.shared, found.agreement, found.kappa) == (pair.shared, pair.agreement, pair.kappa["quadratic"])
    assert ann.gold is not None
    assert ann.gold.agreement.value < 1
    assert ann.again is not None
    assert (ann.again.shared, ann.again.agreement.value) == (18, 17 / 18)
    assert ann.others is None


# ---- labels, pace, drift, cost ---------------------------------------------------------------------------------------


def test_labels_are_counted_as_they_stand(project: Project, store: Store) -> None:
    """The latest of a pair counts; what is no grade is counted by its state; what tricks a judge is nothing."""
    graded(store, "ann", {"q": {"a": 1, "b": 2, "c": 3}})
    graded(store, "ann", {"q": {"a": 2}}, stamp="changed")
    store.add_labels(
        "ann", [Label("q", "c", None, "u", state="unsure"), Label("q", "e", None, "s", state="skipped")], "person"
    )
    store.add_labels(
        "gpt", [Label("q", "a", 1.0, "m1", cost=0.25), Label("q", "b", None, "m2", state="failed", cost=0.5)], "model"
    )
    store.add_labels("trick", [Label("q", "a", 1.0, "t")], "trial")
    found = accounts(project, store)
    assert [*found] == ["ann", "gpt"]
    assert (found["ann"].pairs, found["ann"].states) == (2, {"graded": 2, "unsure": 1, "skipped": 1})
    assert (found["gpt"].pairs, found["gpt"].states, found["gpt"].cost) == (1, {"graded": 1, "failed": 1}, 0.75)
    assert (found["ann"].cost, found["ann"].seconds) == (None, None)


def test_pace(project: Project, store: Store) -> None:
    """Three judgments ten seconds apart, a night, three more twenty apart: four steps in a minute at work."""
    times = ["08:00:00", "08:00:10", "08:00:20", "20:00:00", "20:00:20", "20:00:40"]
    labels = [
        Label("q", f"d{at}", 1.0, f"k{at}", milliseconds=1000.0 * (at + 1), at=f"2026-01-05T{time}.000+00:00")
        for at, time in enumerate(times)
    ]
    store.add_labels("ann", labels, "person")
    ann = accounts(project, store)["ann"]
    assert (ann.seconds, ann.hourly) == (3.5, 4 * 3600 / 60)
    store.add_labels("bob", [Label("q", "a", 1.0, "one", at=labels[0].at)], "person")
    assert accounts(project, store)["bob"].hourly is None


def test_drift_is_the_bias_of_a_week(project: Project, store: Store) -> None:
    """Of the week in which the label that counts was given; 2026-01-04 is the end of a week of 2026."""
    graded(store, "bob", {"q": {"a": 1, "b": 1, "c": 1, "x": 0}, "r": {"a": 2}})
    days = {("q", "a"): ("2026-01-04", 2.0), ("q", "b"): ("2026-01-05", 0.0), ("r", "a"): ("2026-01-11", 3.0),
            ("q", "c"): ("2026-01-12", 1.0), ("q", "alone"): ("2026-01-12", 3.0)}  # fmt: skip
    labels = [
        Label(query, doc, grade, f"{query} {doc}", at=f"{day}T23:59:59.000+00:00")
        for (query, doc), (day, grade) in days.items()
    ]
    store.add_labels("ann", labels, "person")
    ann = accounts(project, store)["ann"]
    assert ann.weeks == (("2026-W01", 1, 1.0), ("2026-W02", 2, 0.0), ("2026-W03", 1, 0.0))
    assert clean(ann.others)["bias"]["value"] == 0.25


def test_the_ledger_of_a_task(project: Project, store: Store) -> None:
    graded(store, "ann", {"q": {"a": 1, "b": 2}})
    graded(store, "bob", {"q": {"c": 1}})
    found = ledger(project, store, tasked(store, 4, {("q", "a"): None}))
    assert [(each.judge, each.pairs) for each in found.judges] == [("ann", 1)]
    assert found.title == "Judges of t4"
    assert ledger(project, store).title == "Judges"


# ---- every channel ---------------------------------------------------------------------------------------------------


def test_the_command_shows_it_in_every_format(command: Command, project: Project, store: Store) -> None:
    judges = opinions(5)
    for judge, labels in judges.items():
        graded(store, judge, labels)
    tasked(store, 4, {("q1", "d1"): 1.0, ("q1", "d2"): None})
    whole = json.loads(command("labels", "--ledger", "--format", "json").out)
    assert whole == ledger(project, store).to_dict()
    csv = command("labels", "--ledger", "--format", "csv").out.splitlines()
    assert csv[0].startswith(
        "judge,kind,pairs,graded,unsure,skipped,refused,failed,rulings,seconds,hourly,others_shared"
    )
    assert len(csv) == 4
    shown = command("labels", "--ledger").out
    assert "3 judges gave" in shown
    assert "κ quadratic" in shown
    of_task = json.loads(command("labels", "--ledger", "--task", "t4", "--format", "json").out)
    wanted = {judge: sum(doc in labels["q1"] for doc in ("d1", "d2")) for judge, labels in judges.items()}
    assert {each["judge"]: each["pairs"] for each in of_task["judges"]} == {
        judge: pairs for judge, pairs in wanted.items() if pairs
    }
    wrong = command("labels", "--ledger", "--task", "t5")
    assert (wrong.code, "t4" in wrong.err) == (2, True)
    disputes = json.loads(command("labels", "--disputes", "-m", "AP", "--format", "json").out)
    assert (disputes["measure"], len(disputes["open"]) > 5, disputes["decided"]) == ("AP", True, [])
    assert command("labels", "--ledger", "--disputes").code == 2
    assert command("labels", "--ledger", "--by", "ann").code == 2
    assert command("labels", "--task", "t4").code == 2
