"""What a check says of a judge: systems in the loop's order, and when labels may be relied on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

import rankgauge
from command import Command
from rankgauge import Project
from rankgauge.judge.check import check_judge
from rankgauge.sampling.sample import Sample
from rankgauge.store.checks import PEOPLE, agreement_in_brief, agreement_words, checks
from rankgauge.store.store import Answer, Label

Grades = Mapping[tuple[str, str], float]


@pytest.fixture
def project(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> Project:
    """An empty project, in the working directory."""
    assert command("init", tmp_path / "shop").code == 0
    monkeypatch.chdir(tmp_path / "shop")
    return Project(".")


def label(project: Project, judge: str, grades: Grades, kind: str = "model", **settings: str) -> None:
    """Labels of a judge, as if asked."""
    with project.store(write=True) as store:
        if "prompt" in settings:
            store.add_prompts([{"hash": settings["prompt"], "name": settings["prompt"], "text": "…"}])
        about = "".join(settings.values())
        rows = [Label(q, d, grade, f"{judge} {about} {q} {d} {grade}") for (q, d), grade in grades.items()]
        store.add_labels(judge, rows, kind, **settings)


def search(project: Project, system: str, rankings: Mapping[str, list[str]], sample: str | None = None) -> None:
    """A whole run of a system."""
    with project.store(write=True) as store:
        about = {} if sample is None else {"sample_id": store.samples()[sample]}
        run = store.begin_run(system, {"kind": "call", "settings": {"call": f"mine:{system}"}}, **about)
        for query, docs in rankings.items():
            store.add_answer(run, Answer(query, docs, [float(-at) for at in range(len(docs))]))
        store.end_run(run)


# ---- the order of systems --------------------------------------------------------------------------------------------

ASKED = ("often", *(f"rare{n}" for n in range(9)))
JUDGED = (*ASKED, *(f"never{n}" for n in range(10)))


def fine(query: str) -> float:
    """What people give the fine document of a query, where they give the plain one 1."""
    return 0.0 if query == "often" else 2.0


@pytest.fixture
def uneven(project: Project) -> Project:
    """Ten queries of a sample, the first being most of the traffic, and ten judged ones that were never asked.

    By people, `careful` is best over the searches of the log, and `quick` over its queries.
    """
    traffic = np.array([1000.0, *[1.0] * 9])
    texts: list[str | None] = [*ASKED]
    drawn = Sample("log", [*ASKED], texts, traffic, np.ones(10), ["all"] * 10, [None] * 10)
    project.add_sample(drawn, "drawn")
    people = {(query, f"{query}-{kind}"): fine(query) if kind == "fine" else 1.0
              for query in JUDGED for kind in ("fine", "plain")}  # fmt: skip
    label(project, "ann", people, "person")
    label(project, "alpha", {(q, d): 2.0 if d.endswith("fine") else 0.0 for q, d in people})
    for system, first, last in (("careful", "plain", "fine"), ("quick", "fine", "plain")):
        search(project, system, {query: [f"{query}-{first}", f"{query}-{last}"] for query in ASKED}, "drawn")
    return project


def test_systems_are_ordered_as_the_loop_measures_them(uneven: Project) -> None:
    """By the queries and weights of the sample and the first measure of [evaluate], not by plain means."""
    Path("rankgauge.toml").write_text('[evaluate]\nmeasures = ["nDCG@1"]\n')
    found = check_judge(Project("."), "alpha", "@people")
    systems = found.agreement.systems
    assert systems is not None
    means = Project(".").sample("drawn")
    for system in ("careful", "quick"):
        own = rankgauge.evaluate(uneven.labels(people=True), uneven.run(system), ["nDCG@1"], sample=means)
        assert systems.values["people"][system] == pytest.approx(own["nDCG@1"])
    assert (systems.measure, systems.queries, systems.per) == ("nDCG@1", 10, "search")
    assert found.best == {"people": "careful", "alpha": "quick"}
    assert found.lead.endswith(". People rank careful first, alpha ranks quick first")
    Path("rankgauge.toml").write_text('[evaluate]\nper = "query"\n')
    assert check_judge(Project("."), "alpha", "@people").best == {"people": "quick", "alpha": "quick"}


def test_queries_that_nobody_asked_have_no_say(project: Project) -> None:
    """A list of queries, without a sample: the ten that were not asked are no zeros of the systems."""
    label(project, "ann", {(q, f"{q}-{kind}"): 1.0 + (kind == "fine") for q in JUDGED for kind in ("fine", "plain")},
          "person")  # fmt: skip
    label(project, "alpha", {(q, f"{q}-fine"): 1.0 for q in JUDGED})
    for system, first, last in (("careful", "plain", "fine"), ("quick", "fine", "plain")):
        search(project, system, {query: [f"{query}-{first}", f"{query}-{last}"] for query in ASKED})
    systems = check_judge(project, "alpha", "@people").agreement.systems
    assert systems is not None
    assert (systems.queries, systems.values["people"]["quick"]) == (10, 1.0)


def test_no_order_where_systems_tie(uneven: Project, command: Command) -> None:
    label(uneven, "same", {(q, f"{q}-{kind}"): 2.0 for q in JUDGED for kind in ("fine", "plain")})
    found = check_judge(uneven, "same", "@people")
    assert found.best == {"people": "careful"}
    assert "rank" not in found.lead
    assert "first" not in command("judge", "--judge", "same", "--check", "@people").out.splitlines()[0]


def test_people_stay_people_when_a_check_is_read_again(uneven: Project, command: Command) -> None:
    """Stored keys are sorted: a judge whose name comes before "people" was taken for them."""
    said = check_judge(uneven, "alpha", "@people").lead
    with uneven.store() as store:
        (kept,) = checks(store)
    assert (kept.kind, agreement_words("alpha", kept.found)) == (PEOPLE, said)
    assert "People rank careful first, alpha ranks quick first" in " ".join(command("store", "status").out.split())
    assert agreement_in_brief("alpha", kept.found).endswith(". People rank careful first, alpha quick")
