"""What a check says of a judge: systems in the loop's order, and when labels may be relied on."""

from __future__ import annotations

import html
import json
import re
import sqlite3
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

import rankgauge
from chat_server import chatting, specimen
from command import Command
from rankgauge import Project
from rankgauge.judge.check import check_judge
from rankgauge.sampling.sample import Sample
from rankgauge.steps.loop import loop
from rankgauge.steps.looped import Looped, LoopOpen
from rankgauge.store.checks import PEOPLE, agreement_in_brief, agreement_words, checks
from rankgauge.store.store import Answer, Label
from rankgauge.trust.judges.licence import doubts_of_grades

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


# ---- the licence -----------------------------------------------------------------------------------------------------


def pairs(queries: int, each: int) -> list[tuple[str, str]]:
    """Pairs of so many queries, so many each."""
    return [(f"q{query}", f"d{query}-{at}") for query in range(queries) for at in range(each)]


def truth(of: list[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """What people say: all grades, in turn."""
    return {pair: float(at % 4) for at, pair in enumerate(of)}


def turned(grades: Grades) -> dict[tuple[str, str], float]:
    """A judge who contradicts people on every pair."""
    return {pair: 3 - grade for pair, grade in grades.items()}


def faces(command: Command, labels: str) -> dict[str, str]:
    """What every output of labels says: as text, with its lines joined."""
    assert command("report", labels, "@one", "@two", "-o", "report.html").code == 0
    return {
        "eval": " ".join(command("eval", labels, "@one").out.split()),
        "eval, JSON": command("eval", labels, "@one", "--format", "json").out,
        "compare": " ".join(command("compare", labels, "@one", "@two").out.split()),
        "funnel": " ".join(command("funnel", labels, "--retrieved", "@one", "--reranked", "@two").out.split()),
        "labels": " ".join(command("labels", "--by", labels.removeprefix("@labels:")).out.split()),
        "report": html.unescape(Path("report.html").read_text(encoding="utf-8")),
    }


def settle(project: Project, grades: Grades, theirs: Grades, command: Command) -> None:
    """People and a judge called gpt, two runs, and a check."""
    label(project, "ann", grades, "person")
    label(project, "gpt", theirs)
    docs: dict[str, list[str]] = {}
    for query, doc in grades:
        docs.setdefault(query, []).append(doc)
    search(project, "one", docs)
    search(project, "two", docs)
    assert command("judge", "--judge", "gpt", "--check", "@people").code == 0


def said(command: Command, code: str = "RG403") -> str:
    """The caution of a code over the labels of gpt."""
    told = json.loads(command("eval", "@labels:gpt", "@one", "--format", "json").out)
    return next((each["text"] for each in told.get("warnings", ()) if each["code"] == code), "")


def test_a_check_of_a_few_pairs_is_no_licence(project: Project, command: Command) -> None:
    grades = truth(pairs(2, 6))
    settle(project, grades, grades, command)
    words = "gpt was checked on only 12 pairs of 2 queries (κ 1.00"
    for face, shown in faces(command, "@labels:gpt").items():
        assert (face, words in shown, "RG403" in shown) == (face, True, True), shown
    lack = "too few to rely on. Have people grade 18 more pairs of 6 more queries, then check it again: "
    assert said(command).endswith(f"{lack}rankgauge judge --judge gpt --check @people")


@pytest.mark.parametrize(
    ("queries", "each", "lack"),
    [(8, 3, "grade 6 more pairs, then"), (6, 6, "grade 2 more queries, then"), (8, 4, "")],
)
def test_what_is_missing_is_what_is_named(
    project: Project, command: Command, queries: int, each: int, lack: str
) -> None:
    grades = truth(pairs(queries, each))
    settle(project, grades, grades, command)
    assert lack in said(command)
    assert bool(said(command)) is bool(lack)


def test_a_judge_who_contradicts_people_has_no_licence(project: Project, command: Command) -> None:
    """κ −1 of 12 pairs took the caution away, as any check did."""
    binary = {pair: float(at % 2) for at, pair in enumerate(pairs(2, 6))}
    settle(project, binary, {pair: 1 - grade for pair, grade in binary.items()}, command)
    words = (
        "gpt contradicts people: κ -1.00 on 12 pairs. Do not use its grades. Change the prompt, or take another judge"
    )
    assert said(command) == words
    assert f"Caution: {words} (RG403)." in " ".join(
        command("judge", "--judge", "gpt", "--check", "@people").out.split()
    )


def test_agreement_by_chance_is_a_caution_of_its_own(project: Project, command: Command) -> None:
    grades = truth(pairs(20, 4))
    drawn = np.random.default_rng(3).integers(0, 4, len(grades)).tolist()
    settle(project, grades, dict(zip(grades, map(float, drawn), strict=True)), command)
    words = r"gpt agrees with people no better than chance can \(κ -?0\.\d\d, -0\.\d\d to 0\.\d\d on 80 pairs\)\. "
    for face, shown in faces(command, "@labels:gpt").items():
        assert re.search(words, shown), (face, shown)
    assert said(command, "RG406")
    assert not said(command)


def test_the_bar_is_the_projects(project: Project, command: Command) -> None:
    grades = truth(pairs(10, 5))
    theirs = {pair: grade if at % 3 else 3 - grade for at, (pair, grade) in enumerate(grades.items())}
    settle(project, grades, theirs, command)
    assert said(command) == ""
    Path("rankgauge.toml").write_text("[judge]\nbar = 0.9\n")
    words = (
        r"gpt agrees with people less than is asked for: κ 0\.5\d, 0\.\d\d to 0\.\d\d on 50 pairs, and the lower end is"
    )
    assert re.match(words, said(command))
    Path("rankgauge.toml").write_text("[judge]\nbar = { pairs = 100, queries = 12 }\n")
    assert "Have people grade 50 more pairs of 2 more queries, then" in said(command)
    for wrong in ("{ pears = 3 }", "{ pairs = 2.5 }", "7", '"high"', "{ kappa = true }"):
        Path("rankgauge.toml").write_text(f"[judge]\nbar = {wrong}\n")
        done = command("eval", "@labels:gpt", "@one")
        assert (done.code, "[judge] bar" in done.err, done.err.count("\n")) == (2, True, 1), done.err


def test_the_same_order_of_systems_is_a_licence(project: Project, command: Command) -> None:
    """A judge one grade too low everywhere hardly has the grades of people, and has their systems."""
    people = {(f"q{query}", f"d{query}-{at}"): float(1 + at) for query in range(12) for at in range(3)}
    label(project, "ann", people, "person")
    label(project, "gpt", {pair: grade - 1 for pair, grade in people.items()})
    docs = {f"q{query}": [f"d{query}-{at}" for at in range(3)] for query in range(12)}
    search(project, "one", docs)
    search(project, "two", {query: each[::-1] for query, each in docs.items()})
    found = check_judge(project, "gpt", "@people")
    assert found.found()["kappa"]["value"] < 0
    assert found.found()["same_order"] is True
    assert said(command) == said(command, "RG406") == ""
    label(project, "bad", turned(people))
    assert check_judge(project, "bad", "@people").found()["same_order"] is False


def test_the_largest_check_of_a_setting_counts(project: Project, command: Command) -> None:
    grades = truth(pairs(10, 4))
    settle(project, grades, grades, command)
    assert said(command) == ""
    few = "".join(f"{query} 0 {doc} {grade:g}\n" for (query, doc), grade in [*grades.items()][:8])
    Path("few.txt").write_text(few)
    assert command("judge", "--judge", "gpt", "--check", "few.txt").code == 0
    assert said(command) == ""


def test_a_check_of_an_earlier_version_is_asked_for_again(project: Project, command: Command) -> None:
    grades = truth(pairs(10, 4))
    settle(project, grades, grades, command)
    with closing(sqlite3.connect("rankgauge.db")) as connection, connection:
        ((found,),) = connection.execute("SELECT found FROM judge_check").fetchall()
        older = {key: value for key, value in json.loads(found).items() if key not in ("queries", "same_order")}
        connection.execute("UPDATE judge_check SET found = ?", [json.dumps(older)])
    assert said(command).startswith("The check of gpt is of an earlier version, which did not count queries. Check it")
    assert command("judge", "--judge", "gpt", "--check", "@people").code == 0
    assert said(command) == ""


# ---- grades that tell little -----------------------------------------------------------------------------------------

LOOP = """
[documents]
file = "documents.jsonl"
[queries]
file = "queries.tsv"
[systems.find]
call = "stones:find"
[systems.seek]
call = "stones:seek"
[pool]
depth = 5
[judges.gpt]
model = "petrograph-1"
base_url = "{url}"
workers = 2
retries = 0
[evaluate]
measures = ["nDCG@5"]
"""
STONES_CODE = """
def find(query, k):
    return [f"{query[-1]}-{at}" for at in range(5)]
def seek(query, k):
    return [f"{query[-1]}-{at}" for at in reversed(range(5))]
"""


@pytest.fixture
def stones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Two systems, six queries and five documents each, whose right grades differ; a model behind HTTP is to judge."""
    folder = tmp_path / "stones"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("stones.py").write_text(STONES_CODE)
    Path("queries.tsv").write_text("".join(f"q{n}\tstone {n}\n" for n in range(6)))
    rows = [{"id": f"{n}-{at}", "text": specimen(f"{n}-{at}", (n + at) % 4)} for n in range(6) for at in range(5)]
    Path("documents.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    yield folder
    sys.modules.pop("stones", None)


def configured(url: str, **more: str) -> None:
    """The project with a judge at this address."""
    text = LOOP.format(url=url)
    for old, new in more.items():
        text = text.replace(old, new)
    Path("rankgauge.toml").write_text(text)


def joined(text: str) -> str:
    return " ".join(text.split())


def test_a_judge_with_one_grade_for_all_ends_the_loop(stones: Path, command: Command) -> None:
    """Every system had 1.0000, without a word, with exit code 0; now the results come with it, and code 4."""
    words = (
        "gpt gave grade 2 to all 30 pairs, so that its grades tell no two documents apart. Check its prompt and scale"
    )
    with chatting(grade_of=lambda text: 2) as server:
        configured(server.url)
        for _ in range(2):  # also where nothing is asked any more
            done = command("loop")
            assert (done.code, f"Caution: {words} (RG405)." in joined(done.out)) == (4, True), done
            assert f"judge: {words}. Fix the judge first" in joined(done.err)
        assert server.calls == 30
    found = loop(".")
    assert found.unfit == (words,)
    with pytest.raises(LoopOpen, match="Fix the judge first"):
        found.check()
    for shown in (
        command("eval", "@labels", "@find").out,
        command("compare", "@labels", "@find", "@seek").out,
        command("labels").out,
        command("judge", "out/pairs.jsonl", "--judge", "gpt").out,
        html.unescape(re.sub("<[^>]+>", " ", Path("out/report.html").read_text(encoding="utf-8"))),
    ):
        assert words in joined(shown), shown


def test_systems_that_are_equal_are_a_result(stones: Path, command: Command) -> None:
    """A judge that tells documents apart, and systems that rank alike: exit code 0."""
    Path("stones.py").write_text(STONES_CODE.replace("reversed(range(5))", "range(5)"))
    with chatting() as server:
        configured(server.url)
        done = command("loop")
    assert (done.code, "RG405" in done.out, "No difference" in done.out) == (0, False, True), done


def test_a_judge_by_chance_ends_the_loop(stones: Path, command: Command) -> None:
    draw = np.random.default_rng(5)
    grades = {f"{n}-{at}": int(draw.integers(0, 4)) for n in range(6) for at in range(5)}
    with chatting(grade_of=lambda text: grades[re.search(r"Specimen (\S+) is", text)[1]]) as server:  # type: ignore[index]
        configured(server.url)
        Path("rankgauge.toml").write_text(f'{Path("rankgauge.toml").read_text()}[judge]\ncheck = "people.txt"\n')
        lines = [f"q{n} 0 {n}-{at} {(n + at) % 4}\n" for n in range(6) for at in range(5)]
        Path("people.txt").write_text("".join(lines[:29]))
        assert command("loop").code == 0
        Path("people.txt").write_text("".join(lines))
        done = command("loop")
    assert (done.code, "(RG406)" in done.out) == (4, True), done
    assert re.search(r"judge: gpt agrees with people no better than chance can \(κ .* on 30 pairs\)", joined(done.err))


def test_an_unreadable_judge_is_not_paid_to_the_end_by_the_loop(stones: Path, command: Command) -> None:
    """Neither for the pool, nor for the check, nor again by the next loop."""
    with chatting("prose") as server:
        configured(server.url)
        Path("people.txt").write_text("".join(f"q{n} 0 {n}-{at} 1\n" for n in range(6) for at in range(5)))
        Path("rankgauge.toml").write_text(f'{Path("rankgauge.toml").read_text()}[judge]\ncheck = "people.txt"\n')
        done = command("loop")
        assert (done.code, "20 answers in a row without a grade, the last: the answer" in done.err) == (4, True), done
        assert server.calls <= 2 * 21  # each is asked for once more; two workers
        calls = server.calls
        assert command("loop").code == 4
        assert server.calls <= calls + 2 * 2


def test_a_judge_on_another_scale_is_seen(stones: Path, command: Command) -> None:
    """From 1 to 10: most answers are 1, and some are not on the scale."""
    with chatting(grade_of=lambda text: 9 if "tourmaline" in text else 1) as server:
        configured(server.url)
        done = command("loop")
        assert (done.code, server.calls) == (4, 37)  # an answer that cannot be read is asked for once more
    assert "Caution: gpt gave grade 1 to all 23 pairs, so that its grades tell no two documents apart." in joined(
        done.out
    )
    words = "7 of 30 answers by gpt were not on its scale of 0–3. Check the scale in its prompt"
    assert f"Caution: {words} (RG407)." in joined(done.out)
    assert words in joined(command("eval", "@labels", "@find").out)


@pytest.mark.parametrize(
    ("grades", "outside", "code", "words"),
    [
        ({2: 60}, 0, "RG405", "gpt gave grade 2 to all 60 pairs"),
        ({2: 19}, 0, "", ""),
        ({0: 8, 1: 52}, 0, "RG407", "gpt used 0–1 on a scale of 0–3: 52 of 60 grades are 1. Check"),
        ({2: 30, 3: 30}, 0, "RG407", "gpt used 2–3 on a scale of 0–3: 30 of 60 grades are 2. Check"),
        ({0: 1, 1: 1, 3: 58}, 0, "RG407", "gpt hardly used a scale of 0–3: 58 of 60 grades are 3. Check"),
        ({0: 55, 1: 1, 3: 4}, 0, "", ""),
        ({0: 20, 1: 20, 2: 20}, 4, "RG407", "4 of 64 answers by gpt were not on its scale of 0–3. Check"),
        ({0: 20, 1: 20, 2: 20}, 3, "", ""),
        ({0: 30, 3: 30}, 0, "", ""),
    ],
)
def test_which_grades_tell_little(grades: dict[float, int], outside: int, code: str, words: str) -> None:
    found = [*doubts_of_grades("gpt", grades, sum(grades.values()), [0, 1, 2, 3], outside)]
    assert [doubt.code for doubt in found] == [code] * bool(code)
    assert not code or found[0].text.startswith(words)


# ---- settings that were mixed ----------------------------------------------------------------------------------------


def test_a_judge_that_was_set_back_keeps_the_others_grades_and_says_so(stones: Path, command: Command) -> None:
    with chatting(models=None) as server:
        configured(server.url)
        assert "RG408" not in command("loop").out
        first = loop(".")
        server.grade_of = lambda text: 3 if "feldspar" in text else 0
        configured(server.url, **{"petrograph-1": "petrograph-2"})
        assert "RG408" not in command("loop").out
        second = values(loop("."))
        assert second != values(first)
        configured(server.url)
        done = command("loop")
        assert (done.code, values(loop(".")), server.calls) == (0, second, 60)
        words = "30 of 30 labels in force are of another setting of gpt than rankgauge.toml's."
        lists = "rankgauge labels --by gpt --other-settings"
        for shown in (
            done.out,
            command("eval", "@labels", "@find").out,
            command("eval", "@labels", "@find", "--format", "json").out,
            command("labels").out,
            html.unescape(re.sub("<[^>]+>", " ", Path("out/report.html").read_text(encoding="utf-8"))),
        ):
            assert (words in joined(shown), lists in joined(shown)) == (True, True), shown
        listed = command(*lists.split()[1:])
        assert (listed.code, listed.err) == (0, "")
        lead = "30 of 30 labels of gpt in force are of another setting than rankgauge.toml's: model petrograph-2 (30)."
        assert joined(listed.out).startswith(lead)
        told = json.loads(command(*lists.split()[1:], "--format", "json").out)
        assert {row["setting"] for row in told["labels"]} == {"model petrograph-2"}
        assert len(told["labels"]) == told["total"] == 30
        # what is advised: another name, which counts
        configured(server.url, **{"judges.gpt": "judges.again"})
        Path("rankgauge.toml").write_text(f'{Path("rankgauge.toml").read_text()}[labels]\nfrom = ["again"]\n')
        done = command("loop")
        assert ("RG408" in done.out, values(loop(".")), server.calls) == (False, values(first), 60)
    assert command("labels", "--by", "nobody", "--other-settings").code == 2
    assert command("labels", "--other-settings").code == 2


def values(looped: Looped) -> dict[str, float]:
    """The first measure of every system."""
    assert looped.evaluation is not None
    return {name: result["nDCG@5"] for name, result in looped.evaluation.items()}


def test_two_models_under_one_name_are_said_in_every_output(stones: Path, command: Command) -> None:
    """A server that answers with another model than before, though nobody asked for it."""
    with chatting() as server:
        configured(server.url, **{"depth = 5": "depth = 2"})
        assert "RG408" not in command("loop").out
        server.personality = "another model"
        configured(server.url)
        done = command("loop")
    words = "Two models answered under the name gpt: petrograph-0-mini, petrograph-1. Their grades are mixed."
    for shown in (done.out, command("eval", "@labels", "@find").out, command("labels").out):
        assert words in joined(shown), shown
    assert f"Caution: {words}" in joined(command("judge", "out/pairs.jsonl", "--judge", "gpt").out)


def test_a_function_that_changed_grades_anew_as_is_advised(tmp_path: Path, command: Command) -> None:
    """Renamed as the caution says, it grades every pair; it graded none, for the old labels kept them from the pool."""
    assert command("init", tmp_path / "ex", "--example").code == 0
    folder = tmp_path / "ex"
    assert command("loop", cwd=folder).code == 0
    mine = folder / "mine.py"
    mine.write_text(
        mine.read_text() + "\n_grade = grade\ndef grade(query, document):\n    return 3 - _grade(query, document)\n"
    )
    sys.modules.pop("mine", None)
    said = joined(command("loop", cwd=folder).out)
    assert (
        "Caution: mine:grade has changed since it graded. Its old grades are still used. To grade again, rename" in said
    )
    rule = re.search(r"write who counts under \[labels\]: (from = \[.*?\])\.", said)
    assert rule is not None
    file = folder / "rankgauge.toml"
    told = (
        file.read_text().replace("[judges.stand-in]", "[judges.stand-in-2]").replace('["stand-in"]', '["stand-in-2"]')
    )
    file.write_text(f"{told}\n[labels]\n{rule[1]}\n")
    sys.modules.pop("mine", None)
    done = command("loop", cwd=folder)
    sys.modules.pop("mine", None)
    assert "stand-in-2 graded 100 of 100 pairs" in done.err
    assert "labels by stand-in-2" in joined(command("labels", cwd=folder).out).replace("labels of", "labels by")


# ---- in the app ------------------------------------------------------------------------------------------------------


def test_the_app_says_so_too(stones: Path, command: Command) -> None:
    """On the first page and beside a comparison; a judge keeps the first letter of its name."""
    pytest.importorskip("fastapi", reason="FastAPI is not installed")
    from starlette.testclient import TestClient

    from rankgauge.protocol import DEFAULT
    from rankgauge.web.app import make_app
    from rankgauge.web.kept import Cache
    from rankgauge.web.projects import files_of
    from rankgauge.web.served import Served
    from rankgauge.web.worker import Worker
    from web import ALONE, HOST, Asked

    with chatting(grade_of=lambda text: 2) as server:
        configured(server.url)
        assert command("loop").code == 4
    served, worker = Served(files_of(Project("."), DEFAULT), Cache("cache")), Worker()
    app, access = make_app(served, worker, None), ALONE.access(None, 8765)
    guard = ALONE.guard(app, access)
    served.read()
    served.wait()
    try:
        with TestClient(guard, f"http://{HOST}", follow_redirects=False) as client:
            asked = Asked(served, worker, guard, client)
            asked.data("/index.json")
            asked.data("/compare.json")
            for page in ("/", "/compare"):
                shown = html.unescape(re.sub("<[^>]+>", " ", asked.get(page).text))
                assert "gpt gave grade 2 to all 30 pairs, so that its grades tell no two documents apart." in joined(
                    shown
                ), shown
                assert "Nobody has checked gpt against people, and it gave 30 of 30 grades." in joined(shown), shown
    finally:
        served.cache.close()
        worker.stop()
