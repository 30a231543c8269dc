"""A project over time: whose labels count, runs that are not whole, evaluations that are saved and go stale, locks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Any

import pytest
from click.shell_completion import BashComplete

from chat_server import until
from command import Command
from rankgauge.errors import InputError, RankgaugeWarning

pytest.importorskip("sqlalchemy", reason="a store needs SQLAlchemy")

from sqlalchemy import select, text

import rankgauge
from rankgauge.cli import cli
from rankgauge.store import engine as engines
from rankgauge.store import schema
from rankgauge.store.engine import StoreError, address_of, engine_of, writing
from rankgauge.store.lease import Lease
from rankgauge.store.project import Project
from rankgauge.store.store import Answer, Label, Store
from stores import QRELS, postgresql

LABELS = [("q1", "a", 3.0), ("q1", "b", 0.0), ("q2", "c", 1.0)]


def labels(judge: str, rows: list[tuple[str, str, float]], stamp: str = "") -> list[Label]:
    return [Label(query, doc, grade, f"{judge}{stamp}-{query}-{doc}") for query, doc, grade in rows]


def filled(address: str) -> None:
    """Labels of a person, and two runs of a system."""
    with Store.open(address, write=True) as store:
        store.add_labels("ann", labels("ann", LABELS), "person")
        store.add_run("bm25", {}, [Answer("q1", ["b", "a"], [2.0, 1.0]), Answer("q2", ["c"], [1.0])])
        store.add_run("bm25", {"k1": 2}, [Answer("q1", ["a", "b"], [2.0, 1.0]), Answer("q2", ["c"], [1.0])])


# ---- whose labels count ----------------------------------------------------------------------------------------------


def test_a_ruling_wins_whoever_made_it(address: str, tmp_path: Path) -> None:
    project = Project(tmp_path, {"project": {"db": address}, "labels": {"from": ["ann", "not yet"]}})
    with Store.open(address, create=True) as store:
        store.add_labels("ann", labels("ann", LABELS), "person")
        store.add_labels("eve", [Label("q1", "a", 1.0, "ruling", ruling=1), Label("q1", "z", 2.0, "unheard")])
    assert dict(project.labels().nested["q1"]) == {"a": 1.0, "b": 0.0}
    assert dict(project.labels("ann").nested["q1"]) == {"a": 3.0, "b": 0.0}
    assert dict(project.labels(people=True).nested["q1"]) == {"a": 1.0, "b": 0.0, "z": 2.0}
    assert project.labels().stored["rule"] == {"judges": (("ann",),), "policy": "majority", "rulings": True}


def test_labels_are_counted_judge_by_judge(command: Command, shop: Path, address: str) -> None:
    with Store.open(address, write=True) as store:
        store.add_labels("ann", [*labels("ann", LABELS), Label("q2", "x", None, "s", state="skipped")], "person")
        again = [Label("q1", "a", grade, f"gpt{n}", repeat=n) for n, grade in enumerate((3.0, 2.0, 3.0))]
        store.add_labels("gpt", [*again, Label("q1", "b", 0.0, "gpt-b"), Label("q1", "y", None, "f", state="failed")])
    shown = command("labels").out
    assert shown.startswith("3 pairs of 2 queries have a grade: labels of ann + gpt, majority.")
    assert "2 pairs have several labels, and 1 of them differs." in shown
    data = json.loads(command("labels", "--format", "json").out)
    by = {each["judge"]: each for each in data["judges"]}
    assert (by["ann"]["labels"], by["ann"]["graded"], by["ann"]["states"]) == (3, 3, {"skipped": 1})
    assert (by["gpt"]["labels"], by["gpt"]["graded"], by["gpt"]["conflicting"]) == (4, 2, 1)
    assert by["gpt"]["grades"] == {"0.0": 1, "2.0": 1, "3.0": 2}
    assert by["gpt"]["states"] == {"failed": 1}
    alone = json.loads(command("labels", "--by", "gpt", "--format", "json").out)
    assert [each["judge"] for each in alone["judges"]] == ["gpt"]
    assert alone["graded"] == 2
    done = command("labels", "--by", "zoe")
    assert (done.code, "no labels of 'zoe'; there are ann, gpt" in done.err) == (2, True)


def test_labels_of_an_older_text_are_used_counted_and_said(command: Command, shop: Path, address: str) -> None:
    with Store.open(address, write=True) as store:
        store.add_documents([("a", {"text": "old"}), ("b", {"text": "same"})], "f")
    filled(address)
    with Store.open(address, write=True) as store, pytest.warns(RankgaugeWarning, match="1 document has another text"):
        store.add_documents([("a", {"text": "new"}), ("b", {"text": "same"})], "f", latest_text=True)
    said = "RG401 labels are of an older text of the document: 1 pair of 3."
    for words in (["eval", "@labels", "@bm25"], ["compare", "@labels", "@bm25:1", "@bm25:2"]):
        data = json.loads(command(*words, "--format", "json").out)
        assert said in json.dumps(data), words
        fresh = command(*words, "--fresh", "--format", "json").out
        assert "RG401" not in fresh
    assert command("eval", "@labels", "@bm25", "--notes").out.count("older text") == 1
    assert json.loads(command("labels", "--format", "json").out)["outdated"] == 1
    assert json.loads(command("labels", "--fresh", "--format", "json").out)["graded"] == 2
    with Store.open(address, write=True) as store, pytest.warns(RankgaugeWarning, match="1 document has another text"):
        store.add_documents([("a", {"text": "old"})], "f", latest_text=True)  # it is back, and with it the label
    assert json.loads(command("labels", "--format", "json").out)["outdated"] == 0


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("from = 1.5", "[labels] from = 1.5; expected names of judges in their order"),
        ('from = "ann"', "[labels] from = 'ann'; expected names of judges in their order"),
        ("from = [[1]]", "[labels] from = [[1]]; expected names of judges in their order"),
        ("policy = []", "[labels] policy = []; expected"),
    ],
)
def test_a_rule_of_labels_that_is_none(command: Command, shop: Path, address: str, line: str, words: str) -> None:
    filled(address)
    with (shop / "rankgauge.toml").open("a") as file:
        file.write(f"\n[labels]\n{line}\n")
    done = command("eval", "@labels", "@bm25")
    assert (done.code, words in done.err) == (2, True), done.err


def test_another_field_set_is_no_new_text(command: Command, shop: Path, address: str) -> None:
    """A search returns other fields of a document than the file has that judges read."""
    outdated: list[int] = []
    with Store.open(address, write=True) as store:
        store.add_documents([("a", {"title": "A", "text": "old"})], "f")
    filled(address)
    for at, fields in enumerate(
        (
            {"title": "A", "snippet": "o…"},
            {"snippet": "another"},
            {"text": "old", "title": "A", "price": 3},
            {"title": "A new title"},
            {"snippet": "…", "text": "old"},
            {"title": "A"},
        ),
        1,
    ):
        with Store.open(address, write=True) as store, warnings.catch_warnings():
            warnings.simplefilter("ignore", RankgaugeWarning)
            store.add_documents([("a", fields, f"2100-01-0{at}T00:00:00")], "f", latest_text=True)
        outdated.append(json.loads(command("labels", "--format", "json").out)["outdated"])
    assert outdated == [0, 0, 0, 1, 1, 0]


def test_a_search_that_returns_other_fields_leaves_labels_as_they_are(
    command: Command, shop: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop)
    (shop / "snippets.py").write_text(
        "def search(query, k): return [{'id': 'a', 'score': 2.0, 'snippet': query}, {'id': 'b', 'score': 1.0}]\n"
    )
    (shop / "q.tsv").write_text("query_id\tquery\nq1\tred\nq2\tblue\n")
    with Store.open(address, write=True) as store:
        store.add_documents([("a", {"text": "as judged"}), ("b", {"text": "too"})], "f")
    filled(address)
    for _ in range(2):
        done = command("search", "live", "q.tsv", "--call", "snippets:search", "--again")
        assert done.code == 0, done.err
        assert json.loads(command("labels", "--format", "json").out)["outdated"] == 0
    assert "RG401" not in command("eval", "@labels", "@live", "--notes").out


# ---- runs that are not whole -----------------------------------------------------------------------------------------


def test_a_run_that_is_not_whole_is_refused_by_name(command: Command, shop: Path, address: str) -> None:
    filled(address)
    with Store.open(address, write=True) as store:
        store.add_queries([(f"q{n}", f"text {n}", None) for n in range(1, 6)], "f")
        with writing(store.engine) as connection:
            connection.execute(schema.sample.insert().values(sample_id=1, name="s", how="{}", at="now"))
            rows = [{"sample_id": 1, "query_id": f"q{n}"} for n in range(1, 6)]
            connection.execute(schema.sampled.insert(), rows)
        run = store.begin_run("dense", {}, sample_id=1)
        store.add_answer(run, Answer("q1", ["a"], [1.0], milliseconds=3.5))
        store.add_answer(run, Answer("q2", [], [], attempts=3, error="timed out"))
    done = command("compare", "@labels", "@bm25", "@dense")
    assert done.code == 2
    assert f"@dense:{run} is open: 4 of 5 queries lack an answer; go on with 'rankgauge search dense'" in done.err
    taken = json.loads(command("eval", "@labels", f"@dense:{run}?", "--format", "json").out)
    assert taken["runs"][0]["run"] == f"dense:{run}?"
    assert "RG402 the run is not whole: queries lack an answer: 4 of 5 queries." in taken["notes"]
    assert f"@dense:{run} is open: 4 of 5 queries lack an answer" in command("store", "status").out
    with Store.open(address, write=True) as store:
        for n in (2, 3, 4, 5):
            store.add_answer(run, Answer(f"q{n}", ["c"], [1.0]))
        store.add_answer(run, Answer("q1", ["z"], [1.0]))  # an answer that is there is kept
        store.end_run(run)
    done = command("eval", "@labels", "@dense", "--format", "json")
    assert json.loads(done.out)["runs"][0]["measures"]["nDCG@10"]["value"] == 1.0
    assert "RG402" not in done.out


# ---- saved evaluations -----------------------------------------------------------------------------------------------


def test_an_evaluation_goes_stale_and_breaks_the_line(command: Command, shop: Path, address: str) -> None:
    filled(address)
    assert command("eval", "@labels", "@bm25:1", "-m", "nDCG@10", "-m", "RR", "--save").code == 0
    assert command("eval", "@labels", "@bm25:2", "--save").code == 0
    first, second = json.loads(command("history", "--format", "json").out)["evaluations"]
    assert (first["run"], second["run"], second["value"]) == ("@bm25:1", "@bm25:2", 1.0)
    assert second["change"] == second["value"] - first["value"]
    assert (first["broken"], first["stale"], second["broken"], second["stale"]) == ([], [], [], [])
    more = [("q1", "x", 1.0), ("q2", "y", 0.0), ("q1", "a", 2.0)]
    with Store.open(address, write=True) as store:
        store.add_labels("ann", labels("ann", more, "again"), "person")
        store.add_labels("ann", [Label("q1", "b", None, "no", state="skipped")], "person")
    why = ["2 labels added, 1 changed, 1 removed"]
    assert [each["stale"] for each in json.loads(command("history", "--format", "json").out)["evaluations"]] == [
        why
    ] * 2
    assert "evaluation 1 of bm25: 2 labels added, 1 changed, 1 removed" in command("store", "status").out
    assert command("eval", "@labels", "@bm25", "--missing", "skip", "--save").code == 0
    *_, last = json.loads(command("history", "--format", "json").out)["evaluations"]
    assert (last["broken"], last["change"], last["stale"]) == ([*why, "missing: zero → skip"], None, [])
    shown = command("history").out
    assert "it cannot be compared with the one before: 2 labels added" in shown.replace("\n  ", " ")
    assert "Stale: 2 labels added, 1 changed, 1 removed since 2 evaluations (@bm25:1, @bm25:2)" in shown.replace(
        "\n  ", " "
    )
    assert [line.split(",")[1] for line in command("history", "--format", "csv").out.splitlines()[1:]] == ["bm25"] * 3
    assert [
        each["run"] for each in json.loads(command("history", "-m", "RR", "--format", "json").out)["evaluations"]
    ] == ["@bm25:1"]


def test_the_values_that_are_saved_are_those_of_the_evaluation(shop: Path, address: str) -> None:
    filled(address)
    project = rankgauge.Project(shop)
    result = rankgauge.evaluate(project.labels(), project.run("bm25", 1), ["nDCG@10", "P@1"])
    (number,) = project.save(result)
    with Store.open(address) as store:
        row = store.read(lambda each: each.execute(select(schema.evaluation)).mappings().one())
    assert row["evaluation_id"] == number
    assert json.loads(row["means"]) == dict(result)
    saved = json.loads(row["per_query"])
    assert saved["queries"] == result.query_ids
    assert saved["values"]["nDCG@10"] == [each["nDCG@10"] for each in result.to_dict().values()]
    assert row["labels_hash"] == project.labels().fingerprint
    history = project.history("P@1")
    assert [entry.value for entry in history.entries] == [result["P@1"]]
    assert "P@1 over time" in history.to_markdown()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["history"], "no evaluation was saved yet; rankgauge eval @labels @SYSTEM --save"),
        (["eval", "qrels.txt", "@bm25", "--save"], "the labels came from elsewhere; import it first"),
        (["eval", "@labels", "a.run", "--save"], "the run a came from elsewhere; import it first"),
        (["eval", "@labels", "@bm25", "--save", "--weights", "w.csv"], "--save and --weights"),
    ],
)
def test_what_cannot_be_saved(command: Command, shop: Path, address: str, words: list[str], message: str) -> None:
    filled(address)
    done = command(*words)
    assert done.code == 2
    assert message in done.err
    with Store.open(address) as store:
        assert store.counts()["evaluation"] == 0


def test_a_system_or_measure_without_evaluations(command: Command, shop: Path, address: str) -> None:
    filled(address)
    command("eval", "@labels", "@bm25", "--save")
    assert "no evaluation of 'bn25' was saved; did you mean 'bm25'?" in command("history", "@bn25").err
    assert "no value of P@3 was saved; there are nDCG@10" in command("history", "-m", "P@3").err


def test_the_picture_of_a_history(command: Command, shop: Path, address: str) -> None:
    pytest.importorskip("altair", reason="charts are not installed")
    filled(address)
    for number in (1, 2):
        command("eval", "@labels", f"@bm25:{number}", "--save")
        with Store.open(address, write=True) as store:
            store.add_labels("ann", [Label("q1", f"n{number}", 1.0, f"n{number}")], "person")
    assert command("history", "-o", "history.svg").code == 0
    drawn = (shop / "history.svg").read_text()
    assert "nDCG@10 over time" in drawn
    assert "1 label added" in drawn


@pytest.mark.parametrize("words", [("history",), ("labels",), ("store", "status")])
def test_the_suffix_decides_how_it_is_written(
    command: Command, shop: Path, address: str, words: tuple[str, ...]
) -> None:
    filled(address)
    command("eval", "@labels", "@bm25", "--save")
    refused = command(*words, "-o", "x.foo")
    assert (refused.code, "no format has the suffix .foo" in refused.err, list(shop.glob("x.*"))) == (2, True, [])
    for suffix in ("csv", "json", "md", "tex", "html", "txt"):
        assert command(*words, "-o", f"x.{suffix}").code == 0
        written = (shop / f"x.{suffix}").read_text()
        assert "<html" in written if suffix == "html" else "<html" not in written
        assert json.loads(written) if suffix == "json" else written
    long = [line for line in (shop / "x.txt").read_text().splitlines() if len(line) > 80]
    assert long == [] or words == ("store", "status")  # of which the first line is an address, as long as it is


# ---- addresses -------------------------------------------------------------------------------------------------------


def test_of_several_people_one_grade_counts_by_the_rule_of_the_project(
    command: Command, shop: Path, address: str
) -> None:
    """`agree` and `ppi` take @people as `eval` does, where raters differ, too."""
    filled(address)
    other = [(query, doc, 1.0 - min(grade, 1.0)) for query, doc, grade in LABELS]
    with Store.open(address, write=True) as store:
        store.add_labels("bob", labels("bob", other), "person")
        store.add_labels("gpt", labels("gpt", LABELS), "model")
    assert command("agree", "@people", "@labels:gpt").code == 0
    assert command("eval", "@people", "@bm25").code == 0


@pytest.mark.parametrize(
    "words",
    [
        "eval @labels @bm25:1 @bm25:2",
        "compare @labels @bm25:1 @bm25:2",
        "report @labels @bm25:1 @bm25:2 --no-charts --second @labels:gpt -o page.html",
        "explain @labels @bm25:1 @bm25:2 --worst 1",
        "funnel @labels --retrieved @bm25:1 --reranked @bm25:2",
        "check @labels @bm25:2 --baseline @bm25:1 --margin 0.1 --inconclusive pass",
        "validate @labels @bm25",
        "judgments @labels @bm25:1 @bm25:2",
        "agree @people @labels:gpt",
        "dialects @labels @bm25 --only trec_eval",
        "trec_eval @labels @bm25",
        "convert @bm25 run.txt",
        "convert @labels:gpt labels.txt",
        "store export @bm25:1 one.run",
    ],
)
def test_every_command_takes_what_is_stored(command: Command, shop: Path, address: str, words: str) -> None:
    filled(address)
    with Store.open(address, write=True) as store:
        store.add_labels("gpt", labels("gpt", LABELS), "model")
    done = command(*words.split())
    assert (done.code, done.err) == (0, "")
    if words.startswith("trec_eval"):
        assert done.out.split()[:3] == ["runid", "all", "bm25"]


def test_a_file_whose_name_begins_with_an_at_sign_is_still_a_file(command: Command, shop: Path) -> None:
    (shop / "@x").write_text(QRELS)
    (shop / "a.run").write_text("q1 Q0 a 1 1 r\n")
    assert command("eval", "./@x", "a.run").code == 0
    assert "there is no run of 'x'" in command("eval", "./@x", "@x").err


def test_a_shell_completes_addresses(
    command: Command, shop: Path, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(address)
    with open(shop / "rankgauge.toml", "a", encoding="utf-8") as file:
        file.write('[systems.live]\ncall = "engine:search"\n[systems.bm25]\nkind = "fts5"\n')
    (shop / "log.csv").write_text("query\na\nb\nb\n")
    assert command("sample", "log.csv", "--n", "2", "--method", "top").code == 0
    for typed, found in (
        ("eval @", ["@labels", "@people", "@labels:ann", "@bm25"]),
        ("eval @b", ["@bm25"]),
        ("eval @labels:", ["@labels:ann"]),
        ("search ", ["live", "bm25"]),
        ("search li", ["live"]),
        ("eval --sample @", ["@top-2"]),
        ("sample --keep @t", ["@top-2"]),
    ):
        monkeypatch.setenv("COMP_WORDS", f"rankgauge {typed}")
        monkeypatch.setenv("COMP_CWORD", str(len(typed.split(" "))))
        said = BashComplete(cli, {}, "rankgauge", "_RANKGAUGE_COMPLETE").complete()
        assert [line.split(",")[1] for line in said.splitlines()] == found
    code = "from rankgauge.cli import cli; cli(prog_name='rankgauge')"
    given = os.environ | {"_RANKGAUGE_COMPLETE": "bash_complete"}
    done = subprocess.run([sys.executable, "-c", code], env=given, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == said


# ---- leases ----------------------------------------------------------------------------------------------------------


def test_a_lease_is_held_by_one_process_and_says_whose_it_is(store: Store) -> None:
    with Lease(store, "judge gpt", holder="ann on here") as held, Lease(store, "judge other", holder="bob on there"):
        assert held.take() == ""
        with pytest.raises(StoreError, match=r"judge gpt is in use by ann on here; wait until it is done, or \d+ sec"):
            Lease(store, "judge gpt", holder="bob on there").take()
    assert Lease(store, "judge gpt", holder="bob on there", seconds=-1).take() == ""
    said = "in use by bob on there, whose lease has run out; it is taken over"
    with pytest.warns(RankgaugeWarning, match=said), Lease(store, "judge gpt"):
        pass


def test_a_lease_is_renewed_while_its_holder_lives(store: Store) -> None:
    def runs_out() -> float:
        time: float = store.read(lambda each: each.scalars(select(schema.lock.c.until)).one())
        return time

    with Lease(store, "system bm25", seconds=1.5, holder="ann"):
        for _ in range(2):
            known = runs_out()
            until(lambda: runs_out() > known)  # noqa: B023 (it is over before the next)
            with pytest.raises(StoreError, match="in use by ann"):
                Lease(store, "system bm25", holder="bob").take()


def test_a_lease_that_was_lost_stops_its_holder(store: Store) -> None:
    with Lease(store, "system bm25", seconds=0.3, holder="ann") as held:
        with writing(store.engine) as connection:
            connection.execute(schema.lock.update().values(holder="bob", until=time.time() + 60))
        held._renewing.join(60)
        with pytest.raises(StoreError, match="in use by bob"):
            held.check()


HOLDER = """
import sys, time
from rankgauge.store.lease import Lease
from rankgauge.store.store import Store
with Store.open(sys.argv[1], write=True) as store, Lease(store, "judge gpt", seconds=30):
    print("held", flush=True)
    time.sleep(300)
"""


def test_a_lease_of_a_process_that_was_killed_runs_out(store: Store, address: str) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDER, address], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match=rf"in use by .* \(process {process.pid}, since .* UTC\)"):
            Lease(store, "judge gpt").take()
        os.kill(process.pid, signal.SIGKILL)
    deadline = time.time() + 20  # sooner than it runs out
    while True:
        try:
            assert f"process {process.pid}" in Lease(store, "judge gpt").take()
            break
        except StoreError:
            assert time.time() < deadline
            time.sleep(0.1)


# ---- what can happen to a database -----------------------------------------------------------------------------------

MIGRATE = """
import sys, time
from sqlalchemy import text
from rankgauge.store import schema
from rankgauge.store.store import Store
def step(connection):
    connection.execute(text("ALTER TABLE query ADD y TEXT"))
    connection.execute(text("UPDATE query SET y = 'x'"))
    print("in the middle", flush=True)
    time.sleep(float(sys.argv[2]))
schema.MIGRATIONS.append(("a step", step))
with Store.open(sys.argv[1], write=True):
    print("open", flush=True)
"""


def test_a_migration_that_is_killed_leaves_the_old_schema(store: Store, address: str) -> None:
    known = [*range(1, len(schema.MIGRATIONS) + 1)]
    store.add_queries([("q", "text", None)], "f")
    words = [sys.executable, "-c", MIGRATE, address]
    with subprocess.Popen([*words, "60"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in the middle\n"
        os.kill(process.pid, signal.SIGKILL)
    columns = store.read(lambda each: [*each.execute(text("SELECT * FROM query")).keys()])
    assert "y" not in columns
    assert store.read(lambda each: each.scalars(select(schema.migration.c.number)).all()) == known
    several = [subprocess.Popen([*words, "0.3"], stdout=subprocess.PIPE, text=True) for _ in range(4)]
    said = [process.communicate(timeout=60)[0].splitlines() for process in several]
    assert sorted(said, key=len) == [["open"]] * 3 + [["in the middle", "open"]]  # one of them migrated
    assert store.read(lambda each: each.scalars(select(schema.migration.c.number)).all()) == [*known, len(known) + 1]


def test_a_network_file_system_is_refused(tmp_path: Path) -> None:
    listed = tmp_path / "mounts"
    listed.write_text(f"/dev/sda / ext4 rw 0 0\nhost:/share {tmp_path}/share nfs4 rw 0 0\n")
    engines._refuse_network(tmp_path, str(listed))
    with pytest.raises(
        StoreError, match=r"on a network file system .nfs4., where SQLite may lose data; keep the store on"
    ):
        engines._refuse_network(tmp_path / "share" / "shop", str(listed))


def test_a_folder_that_cannot_be_written(command: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for folder in ("/proc/rankgauge", str(tmp_path / "file" / "shop")):
        done = command("init", folder)
        assert (done.code, "choose a folder that can be written" in done.err) == (2, True), done.err


def test_the_server_is_killed(tmp_path: Path) -> None:
    """kill -9 of PostgreSQL during an import: one line, exit code 4, nothing of it is there; then it goes on."""
    (tmp_path / "few.txt").write_text(QRELS)
    rows = "".join(f"q{n // 100} 0 d{n} {n % 4}\n" for n in range(150_000))
    with postgresql() as server:
        address = server.get_uri()
        Store.open(address, create=True).close()
        shop = tmp_path / "shop"
        words = [sys.executable, "-m", "rankgauge", "--project", str(shop), "store", "import"]
        environment = os.environ | {"RANKGAUGE_DB": address}
        subprocess.run([*words[:3], "init", str(shop)], env=environment, check=True, capture_output=True)
        for number in range(2):
            acknowledged = [*words, str(tmp_path / "few.txt"), "--judge", f"judge{number}"]
            subprocess.run(acknowledged, env=environment, check=True, capture_output=True)
            (tmp_path / "many.txt").write_text(rows)
            running = subprocess.Popen(
                [*words, str(tmp_path / "many.txt"), "--judge", "many"],
                env=environment,
                stderr=subprocess.PIPE,
                text=True,
            )
            _wait_for_insertion(address)
            os.kill(server.get_pid(), signal.SIGKILL)
            _, said = running.communicate(timeout=60)
            assert (running.returncode, len(said.splitlines())) == (4, 1), said
            assert "the connection was lost" in said
            assert "run it again" in said
            _start_again(server)
            with Store.open(address) as store:
                assert store.counts()["judgment"] == 4 * (number + 1)
                assert {row.judge for row in store.labels()[0]} == {f"judge{n}" for n in range(number + 1)}


def test_a_database_that_is_not_there_and_a_password_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    with postgresql() as server:
        address = server.get_uri()
        Store.open(address, create=True).close()
        with pytest.raises(StoreError, match="there is no such database or user; create it: createdb NAME"):
            Store.open(address.replace("/postgres?", "/nowhere?"), create=True)
        engine = engine_of(address_of(address))
        with writing(engine) as connection:
            connection.execute(text("ALTER USER postgres PASSWORD 'right'"))
        (server.pgdata / "pg_hba.conf").write_text("local all all scram-sha-256\n")
        with writing(engine) as connection:
            connection.execute(text("SELECT pg_reload_conf()"))
        engine.dispose()
        plain = address.replace("postgres:@", "postgres@")
        monkeypatch.delenv("PGPASSWORD", raising=False)
        deadline = time.time() + 60
        while _opens(plain) and time.time() < deadline:  # the server reads it again in its own time
            time.sleep(0.05)
        with pytest.raises(StoreError, match="a password is needed; set PGPASSWORD"):
            Store.open(plain)
        monkeypatch.setenv("PGPASSWORD", "wrong")
        with pytest.raises(StoreError, match="wrong user or password; set PGPASSWORD"):
            Store.open(plain)
        monkeypatch.setenv("PGPASSWORD", "right")
        Store.open(plain).close()


def _opens(address: str) -> bool:
    try:
        Store.open(address).close()
    except StoreError:
        return False
    return True


def _wait_for_insertion(address: str) -> None:
    """Until somebody is in the middle of storing judgments."""
    engine = engine_of(address_of(address))
    busy = text("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'INSERT INTO judgment%' AND state <> 'idle'")
    deadline = time.time() + 60
    with engine.connect() as connection:
        while not connection.scalar(busy):
            assert time.time() < deadline
            connection.rollback()
            time.sleep(0.02)
    engine.dispose()


def _start_again(server: Any) -> None:
    (server.pgdata / "postmaster.pid").unlink(missing_ok=True)  # of a process that may not have been reaped yet
    deadline = time.time() + 60
    while True:  # the processes of the old one take a moment to notice
        try:
            server.ensure_postgres_running()
            return
        except Exception:
            if time.time() > deadline:
                raise
            time.sleep(0.3)


def test_a_connection_that_was_lost_is_told(store: Store, address: str) -> None:
    """The server ends our connection: the next job gets a new one, the one in the middle fails by itself."""
    if store.engine.dialect.name != "postgresql":
        pytest.skip("of PostgreSQL")
    entered, killed = threading.Event(), threading.Event()

    def slow(connection: Any) -> None:
        connection.execute(text("SELECT 1"))
        entered.set()
        killed.wait(60)
        connection.execute(text("SELECT 1"))

    future = store.writer.submit(slow)
    assert entered.wait(60)
    other = engine_of(address_of(address))
    with other.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(
            text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'")
        )
    other.dispose()
    killed.set()
    with pytest.raises(StoreError, match="the connection was lost") as lost:
        future.result(10)
    assert lost.value.exit_code == 4
    assert store.add_labels("ann", labels("ann", LABELS)) == 3


def test_saving_needs_a_project(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no project"):
        Project(tmp_path).history()
