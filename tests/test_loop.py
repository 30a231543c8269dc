"""`rankgauge loop`: from a log to a report, each step done once, and gone on with after a kill."""

from __future__ import annotations

import html
import importlib.util
import json
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
pytest.importorskip("httpx2", reason="httpx2 is not installed")

import rankgauge
from chat_server import chatting
from command import Command
from peer_client import Peers
from rankgauge import Project
from rankgauge.cli import COMMANDS
from rankgauge.errors import InputError
from rankgauge.steps.loop import STEPS, loop, plan_loop
from rankgauge.steps.looped import LoopOpen
from test_search_real import cranfield

SETTINGS = """
[project]
name = "stones"
[documents]
file = "documents.jsonl"
[queries]
log = "log.csv"
sample = 12
[systems.first]
call = "engine_here:search"
depth = 8
[systems.second]
rerank = "first"
call = "engine_here:scores"
[pool]
depth = 5
[judges.ruler]
call = "engine_here:grade"
[evaluate]
measures = ["nDCG@5", "R@8"]
baseline = "first"
"""
# Every call is noted in a file, so that it is seen over several processes.
ENGINE = """
import hashlib
from pathlib import Path

def noted(*words):
    with open(Path(__file__).parent / "calls.txt", "a") as file:
        file.write("\\t".join(words) + "\\n")

def number(*words):
    return int(hashlib.md5(" ".join(words).encode()).hexdigest(), 16) % 1000

def search(query, k):
    noted("search", query)
    return sorted((f"d{at}" for at in range(20)), key=lambda doc: number(query, doc))[:k]

def scores(query, documents):
    noted("scores", query)
    return [-number(query, "again", each["text"]) for each in documents]

def grade(query, document):
    noted("grade", query["query"], document["doc_id"])
    return number(query["query"], document["text"], "worth") % 4
"""


def prepared(made: Path) -> Path:
    made.mkdir()
    (made / "rankgauge.toml").write_text(SETTINGS)
    (made / "engine_here.py").write_text(ENGINE)
    log = "".join(f"query {at},{1 + 90 // at}\n" for at in range(1, 31))
    (made / "log.csv").write_text(f"query,count\n{log}")
    documents = ({"id": f"d{at}", "text": f"text {at}"} for at in range(20))
    (made / "documents.jsonl").write_text("".join(json.dumps(each) + "\n" for each in documents))
    return made


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every folder has its own engine."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "engine_here", raising=False)


@pytest.fixture
def folder(tmp_path: Path, alone: None) -> Path:
    """A project in which nothing was done yet."""
    return prepared(tmp_path / "stones")


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose loop has run."""
    made = prepared(tmp_path_factory.mktemp("once") / "stones")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", list(sys.path))
        patch.delitem(sys.modules, "engine_here", raising=False)
        loop(made)
        sys.modules.pop("engine_here")
    return made


@pytest.fixture
def looped(tmp_path: Path, alone: None, once: Path) -> Path:
    """A copy of it."""
    return shutil.copytree(once, tmp_path / "stones")


def calls(folder: Path) -> Counter[str]:
    """How often each call was made."""
    path = folder / "calls.txt"
    return Counter(path.read_text().splitlines()) if path.is_file() else Counter()


def changed(folder: Path, old: str, new: str) -> None:
    path = folder / "rankgauge.toml"
    told = path.read_text()
    assert told.count(old) == 1
    path.write_text(told.replace(old, new))


def logged(folder: Path, line: str) -> None:
    """The log has one more line."""
    log = folder / "log.csv"
    log.write_text(f"{log.read_text()}{line}\n")


def recoded(folder: Path) -> None:
    """The function of the second system has other code."""
    engine = folder / "engine_here.py"
    engine.write_text(engine.read_text().replace('"again"', '"anew"'))
    sys.modules.pop("engine_here")


def kept(folder: Path, **how: Any) -> dict[str, bool]:
    """Step → whether nothing was done for it."""
    return {step.name: step.kept for step in loop(folder, **how).steps}


# ---- what it does ----------------------------------------------------------------------------------------------------


def test_from_a_log_to_a_report(folder: Path, command: Command) -> None:
    said = command("loop", cwd=folder)
    assert said.code == 0
    assert [line.split()[0] for line in said.err.splitlines() if line] == [*STEPS]
    assert said.out.startswith("On this log, second is better than first by 0.0827 (0.0200 to 0.1481). For other\n")
    assert "nDCG@5 of 12 queries; verdicts per search, with 95 % interval and p\n" in said.out
    assert re.search(
        r"\(few-queries\)\.\n\nAnswers: first, second asked just now\.\nLabels: ruler graded 85 of 85 pairs\.\n"
        r"(?:1 more caution in the report\.\n)?Report: out/",
        said.out,
    )
    assert len(said.out.splitlines()) <= 17
    assert max(map(len, said.out.splitlines())) <= 80
    page = (folder / "out/report.html").read_text()
    assert "nDCG@5" in page
    assert "query 1" in page
    seen = calls(folder)
    assert {*seen.values()} == {1}
    assert Counter(line.partition("\t")[0] for line in seen) == {"search": 12, "scores": 12, "grade": 85}
    again, older = " ".join(command("loop", cwd=folder).out.split()), "asked less than a minute ago; to ask again:"
    assert again.replace(f"{older} rankgauge loop --again all.", "asked just now.") == " ".join(said.out.split())
    assert calls(folder) == seen


def test_values_are_those_of_the_exported_files(folder: Path, command: Command) -> None:
    looped = loop(folder)
    assert looped.evaluation is not None
    for address, name in (("@labels", "labels.txt"), ("@first", "first.run"), ("@second", "second.run")):
        assert command("store", "export", address, name, cwd=folder).code == 0
    sample = folder / "out/queries.tsv"
    runs = {name: str(folder / f"{name}.run") for name in ("first", "second")}
    again = rankgauge.evaluate_runs(str(folder / "labels.txt"), runs, ["nDCG@5", "R@8"], sample=str(sample))
    for name, result in again.items():
        for measure in ("nDCG@5", "R@8"):
            assert looped.evaluation[name][measure] == result[measure]
    grades = {(query, doc): grade for query, doc, grade in rankgauge.read_judgments(str(folder / "labels.txt"))}
    texts = {query.query_id: query.text for query in _store_queries(folder)}
    sys.path.insert(0, str(folder))
    import engine_here  # type: ignore[import-not-found]

    assert len(grades) > 60
    for (query, doc), grade in grades.items():
        assert grade == engine_here.number(texts[query], f"text {doc[1:]}", "worth") % 4


def _store_queries(folder: Path) -> list[Any]:
    with Project(folder).store() as store:
        return [*store.queries()]


def test_a_funnel_of_its_runs_is_per_search(looped: Path, command: Command) -> None:
    """As eval has them: the queries of the sample, with its weights, and not those that only people have judged."""
    (looped / "ann.txt").write_text("elsewhere 0 d1 3\n")
    assert command("store", "import", "ann.txt", "--judge", "ann", cwd=looped).code == 0
    data = {}
    for words in ("eval @labels @first @second", "funnel @labels --retrieved @first --reranked @second"):
        said = command(*words.split(), "-m", "nDCG@5", "--format", "json", cwd=looped)
        data[words.split()[0]] = json.loads(said.out)
    assert data["funnel"]["queries"] == 12
    assert data["funnel"]["notes"][0].startswith("Means are per search. Sample: @traffic-12, 12 of 12 queries")
    mean = {run["run"]: run["measures"]["nDCG@5"]["value"] for run in data["eval"]["runs"]}
    numbers = [float(each) for each in re.findall(r"0\.\d{6,}", json.dumps(data["funnel"]))]
    for name in ("first", "second"):
        assert min(abs(mean[name] - each) for each in numbers) < 1e-12


def test_only_what_changed_is_done_again(folder: Path) -> None:
    everything = dict.fromkeys(STEPS, True) | {"compare": False}
    assert not any(kept(folder).values())
    assert kept(folder) == everything
    changed(folder, "depth = 5", "depth = 6")
    assert kept(folder) == everything | dict.fromkeys(("pool", "judge", "evaluate", "report"), False)
    changed(folder, '"nDCG@5", "R@8"', '"nDCG@5"')
    assert kept(folder) == everything | dict.fromkeys(("evaluate", "report"), False)
    changed(folder, "sample = 12", "sample = 14")
    before = calls(folder)
    assert not any(kept(folder).values())
    new = calls(folder) - before
    assert {*new.values()} == {1}
    queries = {query.query_id for query in _store_queries(folder)}
    assert len(queries) == 14  # the smaller sample is part of the larger one: no pair is graded twice
    assert {line: many for line, many in calls(folder).items() if line.startswith("grade") and many > 1} == {}


def test_the_same_queries_with_other_traffic_are_another_sample(folder: Path) -> None:
    loop(folder, until="sample")
    logged(folder, "query 1,5")
    (step,) = loop(folder, until="sample").steps
    assert re.fullmatch(r"12 queries drawn by traffic: @traffic-12-\w{6}", step.words)
    (again,) = loop(folder, until="sample").steps
    assert again.kept


def test_a_function_that_changed_is_asked_anew(folder: Path) -> None:
    """A system is; a judge keeps what it graded, which may have been paid for, and a caution says so."""
    loop(folder)
    before = calls(folder)
    engine = folder / "engine_here.py"
    text = engine.read_text().replace('"again"', '"anew"').replace('"worth") % 4', '"worth") % 3')
    engine.write_text(text)
    sys.modules.pop("engine_here")
    looped = loop(folder)
    new = Counter(line.partition("\t")[0] for line in (calls(folder) - before).elements())
    assert (new["search"], new["scores"]) == (0, 12)
    assert {step.name: step.kept for step in looped.steps}["search"] is False
    assert "Caution: engine_here:grade has changed since it graded. Its old grades" in str(looped)
    assert all(many == 1 for line, many in calls(folder).items() if line.startswith("grade"))
    sys.modules.pop("engine_here")
    before = calls(folder)
    loop(folder)
    assert calls(folder) == before


def test_people_are_not_asked_about_again(folder: Path, command: Command) -> None:
    """A pair that a person has graded is not in the pool, and the person's grade counts."""
    loop(folder, until="pool")
    pairs = [json.loads(line) for line in (folder / "out/pairs.jsonl").read_text().splitlines()]
    first = pairs[0]
    (folder / "ann.txt").write_text(f"{first['query_id']} 0 {first['doc_id']} 3\n")
    assert command("store", "import", "ann.txt", "--judge", "ann", cwd=folder).code == 0
    looped = loop(folder)
    assert looped.pooled == len(pairs) - 1
    assert f"grade\t{first['query']}\t{first['doc_id']}" not in calls(folder)


def test_a_judge_is_checked_against_people(folder: Path, command: Command) -> None:
    """Once, until the judge, the people or the queries change; pairs of queries that nobody asked are left out."""
    loop(folder, until="pool")
    pairs = [json.loads(line) for line in (folder / "out/pairs.jsonl").read_text().splitlines()]
    lines = [f"{each['query_id']} 0 {each['doc_id']} {at % 4}\n" for at, each in enumerate(pairs[:30])]
    (folder / "people.txt").write_text("".join([*lines, "elsewhere 0 d1 3\n"]))
    changed(folder, "[judges.ruler]", '[judge]\ncheck = "people.txt"\n[judges.ruler]')
    looped = loop(folder)
    (found,) = looped.checked
    assert (found["pair_count"], found["graded"]) == (30, 30)
    assert command("store", "export", "@labels:ruler", "ruler.txt", cwd=folder).code == 0
    people = "".join(lines)
    (folder / "asked.txt").write_text(people)
    both = {"people": str(folder / "asked.txt"), "ruler": str(folder / "ruler.txt")}
    theirs = rankgauge.agree(both).pairs[0].to_dict()
    assert found["kappa"]["value"] == theirs["kappa"]["none"]["value"]
    assert f"ruler against people: κ {theirs['kappa']['none']['value']:.2f}" in str(looped)
    assert len(str(looped).splitlines()) <= 21
    before = calls(folder)
    assert loop(folder).checked == (found,)
    assert calls(folder) == before
    status = command("store", "status", cwd=folder).out
    assert status.count("ruler gives people's grade on") == 1
    (folder / "people.txt").write_text("elsewhere 0 d1 3\n")
    with pytest.raises(InputError, match=r"people.txt: has none of the queries that were asked"):
        loop(folder)


def test_a_check_that_got_no_answers_is_gone_on_with(folder: Path) -> None:
    """What it lacks is asked by the next loop: half a check is not kept as one."""
    engine = folder / "engine_here.py"
    gone = '    if (Path(__file__).parent / "gone").exists():\n        raise OSError("gone")\n'
    engine.write_text(ENGINE.replace('    noted("grade"', f'{gone}    noted("grade"'))
    loop(folder)
    pairs = [json.loads(line) for line in (folder / "out/pairs.jsonl").read_text().splitlines()]
    seen = {(each["query_id"], each["doc_id"]) for each in pairs}
    query = pairs[0]["query_id"]
    others = [f"d{at}" for at in range(20) if (query, f"d{at}") not in seen][:3]
    people = [*((each["query_id"], each["doc_id"]) for each in pairs[:9]), *((query, doc) for doc in others)]
    (folder / "people.txt").write_text("".join(f"{each} 0 {doc} {at % 4}\n" for at, (each, doc) in enumerate(people)))
    changed(folder, "[judges.ruler]", '[judge]\ncheck = "people.txt"\n[judges.ruler]')
    words = {step.name: step.words for step in plan_loop(folder)}
    assert words["judge"].endswith(f"answer: ruler: {len(pairs)} pairs and 3 of the check, 3 calls to make")
    (folder / "gone").touch()
    said = (
        "judge: ruler: 3 of 12 pairs have no grade; go on: rankgauge loop, or without them: rankgauge loop --from evalu"
    )
    with pytest.raises(LoopOpen, match=said):
        loop(folder)
    assert [each.name for each in loop(folder, start="evaluate").steps] == ["evaluate", "compare", "report"]
    (folder / "gone").unlink()
    (found,) = loop(folder).checked
    assert found["graded"] == 12


def test_without_labels_every_way_to_some_is_named(folder: Path, command: Command) -> None:
    changed(folder, '[judges.ruler]\ncall = "engine_here:grade"\n', "")
    said = command("loop", folder)
    assert (said.code, said.out) == (2, "")
    named = re.findall(r"rankgauge ([a-z-]+)", said.err.partition("there are no labels yet")[2])
    assert named == ["store", "judge", "loop", "task", "serve", "judge-page"]
    assert set(named) <= {*COMMANDS}
    assert "[judges.NAME] in rankgauge.toml" in said.err


def test_a_system_that_is_advised_can_be_pasted(folder: Path) -> None:
    (folder / "rankgauge.toml").write_text('[project]\nname = "stones"\n[queries]\nfile = "log.csv"\n')
    with pytest.raises(InputError, match="there are no systems to ask; write one:") as refused:
        loop(folder)
    advice = str(refused.value).partition("write one:")[2]
    assert tomllib.loads(advice) == {"systems": {"bm25": {"kind": "fts5"}}}


def test_a_part_of_the_steps(folder: Path, command: Command) -> None:
    for words in (["--only", "pool"], ["--from", "pool"]):
        said = command("loop", folder, *words)
        assert (said.code, said.out) == (2, "")
        assert "rankgauge loop --until" in said.err
    assert kept(folder, until="search") == {"sample": False, "search": False}
    with pytest.raises(InputError, match="nothing has been judged yet; begin with that: rankgauge loop --until judge"):
        loop(folder, start="evaluate")
    assert kept(folder, start="pool", until="judge") == {"pool": False, "judge": False}
    assert kept(folder, only="evaluate") == {"evaluate": False}
    assert kept(folder, start="compare") == {"compare": False, "report": False}
    said = command("loop", folder, "--until", "pool")
    assert (said.code, said.out) == (0, "")
    assert said.err.count("(as before)") == 3
    with pytest.raises(InputError, match="report comes after pool"):
        loop(folder, start="report", until="pool")
    with pytest.raises(InputError, match=r"no step 'serach'.*did you mean 'search'"):
        loop(folder, only="serach")


def test_a_plan_does_nothing(folder: Path, command: Command) -> None:
    before = sorted(folder.rglob("*"))
    said = command("loop", "--dry-run", cwd=folder)
    assert said.code == 0
    assert [line.split()[0] for line in said.out.splitlines() if not line.startswith(" ")] == [*STEPS]
    assert said.out.startswith("sample   would run, nothing was drawn yet: 12 queries of log.csv\n")
    assert said.out.count("would run, ") == 7
    assert sorted(folder.rglob("*")) == before
    loop(folder, until="pool")
    words = {step.name: step.words for step in plan_loop(folder)}
    assert re.fullmatch(r"would run, pairs lack an answer: ruler: (\d+) pairs, \1 calls to make", words["judge"])
    with chatting("strict") as server:
        model = f'model = "petrograph-1"\nbase_url = "{server.url}"\n'
        prices = 'prices = { input = 1, output = 2, per = 1_000, currency = "$" }\n'
        changed(folder, "[judges.ruler]", f"[judges.petra]\n{model}{prices}[judges.ruler]")
        said = command("loop", "--dry-run", cwd=folder)
        assert server.calls == 0
    assert re.search(
        r"judge    would run, .*petra: (\d+) pairs, \1 calls .*to write, about \$", " ".join(said.out.split("\n  "))
    )
    assert max(map(len, said.out.splitlines())) <= 80
    (folder / "rankgauge.db").unlink()  # the loop makes another
    assert "not known before the pool" in {step.name: step.words for step in plan_loop(folder)}["judge"]


# What is changed → the first step that would run, and why.
CHANGES: dict[str, tuple[Callable[[Path], Any], str, str]] = {
    "log": (lambda folder: logged(folder, "query 31,500"), "sample", "the log or [queries]"),
    "table": (lambda folder: changed(folder, "[pool]", "depth = 7\n[pool]"), "search", "was never asked this"),
    "code": (recoded, "search", "the code of its function has changed"),
    "pool": (lambda folder: changed(folder, "[pool]\n", "[pool]\nseed = 3\n"), "pool", "runs, [pool] or people's"),
    "pairs": (lambda folder: (folder / "out/pairs.jsonl").unlink(), "pool", "out/pairs.jsonl is not there"),
    "measures": (lambda folder: changed(folder, '"nDCG@5"', '"P@1", "nDCG@5"'), "evaluate", "runs, labels, measures"),
    "report": (lambda folder: (folder / "out/report.html").unlink(), "report", "it is not there"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_plan_says_which_steps_have_nothing_to_do_and_why(looped: Path, change: str) -> None:
    """Of what is as before it is said, and what the loop does then was said."""
    before = {
        path: path.read_bytes() for path in looped.rglob("*") if path.is_file() and "__pycache__" not in str(path)
    }
    asked = calls(looped)
    assert [step.name for step in plan_loop(looped) if not step.kept] == ["compare"]
    assert all(step.kept == step.words.startswith("nothing to do, ") for step in plan_loop(looped))
    assert before == {path: path.read_bytes() for path in before}
    make, first, why = CHANGES[change]
    make(looped)
    plan = {step.name: step for step in plan_loop(looped)}
    would = [name for name, step in plan.items() if not step.kept and name != "compare"]  # which always does
    assert (would[0], calls(looped)) == (first, asked)
    assert plan[first].words.startswith("would run, ")
    assert why in plan[first].words
    done = [step.name for step in loop(looped).steps if not step.kept and step.name != "compare"]
    assert done[0] == first
    assert {*done} <= {*would}


def test_queries_of_a_file_and_one_system(folder: Path, command: Command) -> None:
    """No log, no sample, nothing to compare with, no judge: what people have labelled is evaluated."""
    (folder / "queries.tsv").write_text("a\tquery 1\nb\tquery 2\n")
    (folder / "rankgauge.toml").write_text(
        '[documents]\nfile = "documents.jsonl"\n[queries]\nfile = "queries.tsv"\n'
        '[systems.first]\ncall = "engine_here:search"\n'
    )
    loop(folder, until="search")
    (folder / "ann.txt").write_text("a 0 d1 1\na 0 d2 0\nb 0 d3 2\n")
    assert command("store", "import", "ann.txt", "--judge", "ann", cwd=folder).code == 0
    looped = loop(folder)
    assert looped.comparison is None
    assert looped.evaluation is not None
    assert looped.evaluation["first"].counts["queries"] == 2
    assert "nDCG@10 of 2 queries\n" in str(looped)
    assert (folder / "out/report.html").is_file()


# ---- where it stops --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", STEPS)
def test_killed_after_a_step_nothing_is_done_twice(folder: Path, step: str) -> None:
    program = (
        "import os, signal, sys; from rankgauge.steps.loop import loop\n"
        "loop(sys.argv[1], told=lambda step: step.name == sys.argv[2] and os.kill(os.getpid(), signal.SIGKILL))"
    )
    done = subprocess.run([sys.executable, "-c", program, folder, step], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    seen = {each.name: each.kept for each in loop(folder).steps}
    at = STEPS.index(step)
    assert all(seen[name] for name in STEPS[: at + 1] if name != "compare")
    assert {*calls(folder).values()} == {1}


def test_an_open_search_stops_the_loop(folder: Path, command: Command) -> None:
    text = (folder / "engine_here.py").read_text()
    broken = text.replace('noted("search", query)', 'noted("search", query)\n    assert query != "query 1", "gone"')
    (folder / "engine_here.py").write_text(broken)
    said = command("loop", folder)
    assert (said.code, said.out) == (4, "")
    assert "@first:1 is open: 1 of 12 queries lack an answer; go on: rankgauge loop, or without them: " in said.err
    assert "gone" in said.err
    (folder / "engine_here.py").write_text(text)
    sys.modules.pop("engine_here")
    assert command("loop", folder).code == 0
    assert {line: many for line, many in calls(folder).items() if many > 1} == {"search\tquery 1": 2}


def test_a_search_that_stays_open_can_be_gone_on_without(
    folder: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (folder / "engine_here.py").read_text()
    broken = text.replace('noted("search", query)', 'noted("search", query)\n    assert query != "query 1", "gone"')
    (folder / "engine_here.py").write_text(broken)
    monkeypatch.chdir(folder)
    found = re.search(r"without them: rankgauge (.*)", command("loop").err)
    assert found is not None
    assert command(*found[1].split()).code == 0
    done = command("loop")
    assert (done.code, "1 of 12 sampled queries" in " ".join(done.out.split())) == (0, True), done.out + done.err


def test_a_judge_without_a_say_is_told(folder: Path) -> None:
    """Labels of functions come before those of models; with a rule of the project, or alone, nobody is told."""
    with chatting("strict", grade_of=lambda text: 1) as server:
        model = f'[judges.gpt]\nbase_url = "{server.url}"\nprices = {{ input = 1, output = 1, per = 1000 }}\n[evaluate]'
        changed(folder, "[evaluate]", model)
        looped = loop(folder)
        assert [each.judge for each in looped.judged] == ["ruler", "gpt"]
        told = "Caution: gpt's grades are ignored where ruler graded: functions override models. To let both vote,"
        assert f'{told} write from = [["ruler", "gpt"]] under [labels].' in " ".join(str(looped).split())
        changed(folder, "[pool]", '[labels]\nfrom = [["ruler", "gpt"]]\n[pool]')
        assert "are ignored" not in str(loop(folder))


def test_a_judge_that_stops_stops_the_loop(folder: Path) -> None:
    with chatting("no quota") as server:
        changed(folder, '[judges.ruler]\ncall = "engine_here:grade"', f'[judges.ruler]\nbase_url = "{server.url}"')
        with pytest.raises(LoopOpen, match=r"ruler: .* have no grade; go on: rankgauge loop"):
            loop(folder)
        assert server.calls == 1


# ---- the file --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("[pool]", "[pol]", r"there is no section \[pol\]; did you mean 'pool'"),
        ("sample = 12", "sampel = 12", r"\[queries\].*'sampel'.*did you mean 'sample'"),
        ("sample = 12\n", "", "has a log and no size of the sample; write sample = 300"),
        ("sample = 12", 'sample = "many"', r"\[queries\]: sample = 'many'; expected a whole number from 2"),
        (
            'log = "log.csv"',
            'log = "log.csv"\nfile = "q.tsv"',
            "has a log to draw from and a file of queries; keep one",
        ),
        ('log = "log.csv"\n', "", "sample is for drawing a sample; name the log"),
        ('log = "log.csv"', 'log = "gone.csv"', "gone.csv: there is no such file"),
        ('baseline = "first"', 'baseline = "frist"', "'frist' is no system; did you mean 'first'"),
        ('"nDCG@5", "R@8"', '"nDGC@5"', r"\[evaluate\] measures: .*nDGC"),
        ('rerank = "first"', 'rerank = "frist"', r"\[systems.second\] rerank = 'frist'; expected another system"),
        ('rerank = "first"', 'rerank = "second"', r"\[systems.second\] rerank = 'second'; expected another system"),
        ("engine_here:grade", "engine_here:gade", "engine_here.* no .*gade"),
        ("engine_here:search", "no_engine:search", "no_engine"),
        (
            "[judges.ruler]",
            '[judge]\nby = ["rule"]\n[judges.ruler]',
            r"there is no \[judges.rule\]; did you mean 'ruler'",
        ),
        ("[judges.ruler]", '[judge]\ncheck = "people.txt"\n[judges.ruler]', "check: there is no file .*people.txt"),
        ("[pool]", "pool = 5\n[pool2]", "pool is to be a section|there is no section"),
        ("depth = 5", "depth = 0", r"\[pool\]: depth = 0; expected a whole number from 1"),
    ],
)
def test_the_whole_file_is_checked_before_anything_starts(
    folder: Path, command: Command, old: str, new: str, told: str
) -> None:
    changed(folder, old, new)
    said = command("loop", folder)
    assert (said.code, said.out) == (2, "")
    assert re.search(told, said.err.replace("\n  ", " ")), said.err
    assert calls(folder) == {}
    assert not (folder / "out/shop.db").exists()


def test_there_is_no_project(tmp_path: Path, command: Command) -> None:
    said = command("loop", tmp_path)
    assert said.code == 2
    assert "is no project, it has no rankgauge.toml; make one: rankgauge init" in said.err
    (tmp_path / "other.toml").write_text("")
    assert "the file of a project is called rankgauge.toml" in command("loop", tmp_path / "other.toml").err


def test_an_example_to_begin_with(tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    made = command("init", "help", "--example", cwd=tmp_path)
    assert made.out == "help: a new project; next: rankgauge loop help\n"
    assert command("loop", "help", cwd=tmp_path).code == 0
    assert (tmp_path / "help/out/report.html").is_file()
    (tmp_path / "other").mkdir()
    (tmp_path / "other/log.csv").write_text("mine")
    refused = command("init", "other", "--example", cwd=tmp_path)
    assert (refused.code, "other/log.csv: is there already" in refused.err) == (2, True)
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["log.csv"]


def test_what_make_demo_shows(tmp_path: Path) -> None:
    """From a log to a report within 45 lines of 80 characters; the stand-in is named wherever its labels appear."""
    for module in ("safetensors", "tokenizers", "wordllama"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    root = Path(__file__).parents[1]
    shutil.copytree(root / "demo", tmp_path / "demo", ignore=shutil.ignore_patterns("out", "__pycache__", "*.db*"))
    done = subprocess.run([sys.executable, "demo/show.py"], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) <= 45
    assert max(map(len, lines)) <= 80
    assert "Labels: stand-in graded 582 of 582 pairs." in lines
    check = "stand-in against people: κ 0.30 (0.18 to 0.39). People rank reranked first,"
    assert (check in lines, "  stand-in bm25." in lines) == (True, True)
    assert lines.index("Report: demo/out/loop.html") - lines.index("report   demo/out/loop.html") <= 24  # a blank first
    made = {path.name for path in (tmp_path / "demo").iterdir()} - {path.name for path in (root / "demo").iterdir()}
    assert made <= {"out", "__pycache__"}  # the store and the index of words are in there, too
    page = (tmp_path / "demo/out/loop.html").read_text()
    assert "stand-in gives people's grade on 67 % of 602 pairs" in html.unescape(page)


HATS = """
[documents]
file = "documents.jsonl"
[queries]
log = "hats.csv"
sample = 4
[systems.bm25]
kind = "fts5"
[systems.fixed]
call = "hats:fixed"
[systems.reranked]
rerank = "bm25"
call = "hats:scores"
[judges.words]
call = "hats:grade"
[evaluate]
measures = ["nDCG@10"]
"""
HATS_CODE = """
SEEN = []
def fixed(query, k):
    return ["d1", "d2"]
def scores(query, documents):
    SEEN.extend(("reranked", each["id"], each["text"]) for each in documents)
    return [float(len(documents) - at) for at in range(len(documents))]
def grade(query, document):
    SEEN.append(("judged", document["text"]))
    return 3 if query["query"] in document["text"] else 0
"""


def hats(folder: Path, texts: Mapping[str, str]) -> None:
    """Documents of these texts."""
    rows = (json.dumps({"id": doc, "text": text}) + "\n" for doc, text in texts.items())
    (folder / "documents.jsonl").write_text("".join(rows))


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Four documents, four queries of a log, one of which is found nowhere and is asked most."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "rankgauge.toml").write_text(f"[project]\n{HATS}")
    (tmp_path / "hats.py").write_text(HATS_CODE)
    (tmp_path / "hats.csv").write_text("query,count\nzzz,100\nred hat,3\nblue hat,2\nshoes,1\n")
    hats(tmp_path, {"d1": "a red hat of wool", "d2": "a blue hat", "d3": "shoes", "d4": "green"})
    yield tmp_path
    sys.modules.pop("hats", None)


def test_documents_that_have_changed_are_reranked_and_judged_as_they_are(shop: Path, command: Command) -> None:
    assert command("loop", cwd=shop).code == 0
    import hats as code  # type: ignore[import-not-found]

    code.SEEN.clear()
    assert command("loop", cwd=shop).code == 0
    assert not code.SEEN
    hats(shop, {"d1": "a NEW cap", "d2": "a blue hat", "d3": "shoes", "d4": "green, red hat"})
    told = command("loop", cwd=shop)
    assert told.code == 0
    assert ("reranked", "d4", "green, red hat") in code.SEEN
    assert ("judged", "green, red hat") in code.SEEN
    assert not any("wool" in words for each in code.SEEN for words in each)
    pairs = [json.loads(line) for line in (shop / "out/pairs.jsonl").read_text().splitlines()]
    assert {pair["document"]["text"] for pair in pairs if pair["doc_id"] == "d1"} == {"a NEW cap"}
    labels = {(query, doc): grade for query, doc, grade in Project(shop).labels()}
    assert (labels["red_hat", "d4"], labels["red_hat", "d1"]) == (3, 0)
    said = " ".join(told.out.split())
    assert "the documents have changed since fixed was asked; if it searches them, ask it again: rankgauge" in said
    assert "since bm25 was asked" not in said
    assert command("search", "fixed", "--again", cwd=shop).code == 0
    assert "have changed since" not in command("loop", cwd=shop).out


def test_a_log_of_other_names_is_told_how_to_name_them(shop: Path, command: Command) -> None:
    (shop / "hats.csv").write_text("asked,times\nred hat,3\nblue hat,2\nshoes,1\ngreen,1\n")
    refused = command("loop", cwd=shop)
    assert (refused.code, refused.err.splitlines()[-1].endswith('name it: [queries] columns = { query = "NAME" }')) == (
        2,
        True,
    )
    told = (shop / "rankgauge.toml").read_text()
    named = told.replace("[queries]", '[queries]\ncolumns = { query = "asked", count = "times" }')
    (shop / "rankgauge.toml").write_text(named)
    assert command("loop", "--until", "sample", cwd=shop).code == 0


def test_what_no_system_finds_is_said_with_its_share_of_the_searches(shop: Path, command: Command) -> None:
    (shop / "rankgauge.toml").write_text(f"[project]\n{HATS}".replace('[systems.fixed]\ncall = "hats:fixed"\n', ""))
    said = " ".join(command("loop", cwd=shop).out.split())
    assert "Caution: 1 of 4 sampled queries (94% of searches) were not evaluated, such as 'zzz'" in said


# ---- real texts ------------------------------------------------------------------------------------------------------

CRANFIELD = """
[documents]
file = "documents.jsonl"
show = ["number", "title", "text"]
[queries]
file = "queries.tsv"
[systems.plain]
kind = "fts5"
[systems.stemmed]
kind = "fts5"
stemming = true
[pool]
depth = 10
[judges.assessor]
base_url = "{url}"
prompt = "short"
scale = {{ 0 = "none", 1 = "little", 2 = "some", 3 = "much", 4 = "all" }}
workers = 16
longest = 400
[evaluate]
measures = ["nDCG@10", "R@100"]
"""


def test_cranfield_behind_a_judge(shared: Path, peers: Peers, folder: Path, command: Command) -> None:
    """The assessors' grades, given by a server: the labels are theirs on the pool, the values are pytrec_eval's."""
    documents, queries, judged = cranfield(shared / "cranfield/original")
    queries = dict([*queries.items()][:40])
    known = {text: query for query, text in queries.items()}

    def grade_of(text: str) -> int:
        query = next(query for asked, query in known.items() if asked in text)
        number = re.search(r"number: no\. (\d+)", text)
        assert number is not None
        return int(judged[query].get(number[1], 0))

    lines = ({**each, "number": f"no. {each['id']}"} for each in documents)
    (folder / "documents.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    (folder / "queries.tsv").write_text("".join(f"{query}\t{text}\n" for query, text in queries.items()))
    with chatting("strict", grade_of=grade_of) as server:
        (folder / "rankgauge.toml").write_text(CRANFIELD.format(url=server.url))
        looped = loop(folder)
        pairs = [json.loads(line) for line in (folder / "out/pairs.jsonl").read_text().splitlines()]
        assert len(pairs) <= server.calls <= 1.2 * len(pairs)
        before = server.calls
        assert kept(folder)["judge"]
        assert server.calls == before
    for address, name in (("@labels", "labels.txt"), ("@plain", "plain.jsonl"), ("@stemmed", "stemmed.jsonl")):
        assert command("store", "export", address, name, cwd=folder).code == 0
    labels: dict[str, dict[str, float]] = {}
    for query, doc, grade in rankgauge.read_judgments(str(folder / "labels.txt")):
        labels.setdefault(query, {})[doc] = int(grade)
        assert grade == judged[query].get(doc, 0)
    assert sum(map(len, labels.values())) == len(pairs)
    assert looped.evaluation is not None
    for system in ("plain", "stemmed"):
        run: dict[str, dict[str, float]] = {}
        for line in (folder / f"{system}.jsonl").read_text().splitlines():
            row = json.loads(line)
            run.setdefault(row["query_id"], {})[row["doc_id"]] = row["score"]
        theirs = peers.ask(labels, run, ["ndcg_cut_10", "recall_100"], [])["pytrec_eval"]
        for measure, name in (("nDCG@10", "ndcg_cut_10"), ("R@100", "recall_100")):
            ours = looped.evaluation[system].to_dict()
            for query in queries:
                assert ours[query][measure] == pytest.approx(theirs[query][name], abs=1e-12)
