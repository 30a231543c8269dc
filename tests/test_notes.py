"""Notes: at most three below the tables of a text, all with --notes, none with --quiet, and none said twice."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import rankgauge
from command import Command, Outcome

QUERIES = [f"q{number:02}" for number in range(12)]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Few queries, tied scores, unjudged documents, a query without an answer, ranks that contradict the scores."""
    folder, random = tmp_path_factory.mktemp("notes"), np.random.default_rng(4)
    (folder / "qrels.txt").write_text(
        "".join(f"{q} 0 d{d} {random.integers(0, 3)}\n" for q in QUERIES for d in range(6))
    )
    for name, answered in (("old", QUERIES), ("new", QUERIES[:-1])):
        rows = [f"{q} Q0 d{d} {d + 1} {random.integers(0, 4)} t\n" for q in answered for d in range(8)]
        (folder / f"{name}.run").write_text("".join(rows))
    (folder / "by.csv").write_text(
        "query_id,group\n" + "".join(f"{q},{'ab'[at % 2]}\n" for at, q in enumerate(QUERIES))
    )
    (folder / "constant.run").write_text("".join(f"{q} Q0 d{d} 1 1 t\n" for q in QUERIES for d in range(6)))
    for name in ("one", "two"):
        (folder / "suite" / name / "runs").mkdir(parents=True)
        (folder / "suite" / name / "qrels.txt").write_text((folder / "qrels.txt").read_text())
        for run in ("old", "new"):
            (folder / "suite" / name / "runs" / f"{run}.run").write_text((folder / f"{run}.run").read_text())
    return folder


COMMANDS = [
    "eval qrels.txt old.run",
    "eval qrels.txt old.run new.run constant.run",
    "eval qrels.txt old.run new.run --per-query",
    "eval qrels.txt old.run --dialect trec_eval",
    "compare qrels.txt old.run new.run",
    "compare qrels.txt old.run new.run constant.run --by by.csv",
    "funnel qrels.txt --retrieved old.run --reranked constant.run",
    "bench suite",
    "plan qrels.txt old.run new.run",
    "check qrels.txt new.run --baseline old.run --margin 0.01",
]
MANY = {*COMMANDS[:6], "bench suite"}  # which have more than three


def paragraphs(text: str) -> list[list[str]]:
    """The text in parts between empty lines, each line whole again where it was wrapped."""
    parts = re.sub(r"\n  (?=\S)", " ", text).strip("\n").split("\n\n")
    return [part.split("\n") for part in parts]


def of(command: Command, files: Path, words: str, *more: str) -> Outcome:
    done = command(*words.split(), *more, cwd=files)
    assert done.code in (0, 1, 3)
    return done


@pytest.mark.parametrize("words", COMMANDS)
def test_three_notes_and_how_to_see_the_others(words: str, files: Path, command: Command) -> None:
    shown, whole = of(command, files, words), of(command, files, words, "--notes")
    some, every = paragraphs(shown.out), paragraphs(whole.out)
    for part, all_of_it in zip(some, every, strict=True):  # a table with its notes, or the notes below all tables
        *first, last = part
        more = re.fullmatch(r"(\d+) more: --notes", last)
        if more is None:
            assert part == all_of_it
        else:
            assert all_of_it[: len(first)] == first
            assert len(all_of_it) == len(first) + int(more[1])
    *notes, last = some[-1]
    if words in MANY:
        assert re.fullmatch(r"\d+ more: --notes", last)
        assert len(notes) == 3
    else:
        assert not last.endswith("more: --notes")
        assert len(every[-1]) <= 3
    assert not re.search(r"more: ", whole.out)


@pytest.mark.parametrize("words", COMMANDS)
def test_nothing_is_said_twice(words: str, files: Path, command: Command) -> None:
    """Neither in two lines, nor on standard error beside the notes."""
    done = of(command, files, words, "--notes")
    assert done.err == ""
    sentences = [line for part in paragraphs(done.out) for line in part if len(line) > 60 and line.endswith(".")]
    assert len(sentences) == len(set(sentences))
    assert done.out.count("another order of equal scores gives") <= 1


@pytest.mark.parametrize("words", COMMANDS)
def test_quiet_is_the_tables_alone(words: str, files: Path, command: Command) -> None:
    quiet, whole = of(command, files, words, "--quiet"), of(command, files, words, "--notes")
    assert quiet.err == ""
    assert quiet.out.strip()
    lines = whole.out.split("\n")
    assert all(line in lines for line in quiet.out.split("\n"))
    assert not re.search(
        r"^(Caution|Queries: |Rules|Judged@|RG\d|Dialect|p: |Intervals|Warning)", quiet.out, re.MULTILINE
    )
    assert not any(line in quiet.out.split("\n") for line in paragraphs(whole.out)[-1])


def test_a_judged_share_that_is_not_the_measure_says_of_what_it_is() -> None:
    """The measure counts a query without an answer as 0, as ir_measures does; a share of what was found has none."""
    judgments = {"q1": {"a": 1}, "q2": {"a": 1}}
    whole = {"q1": {"a": 2.0, "x": 1.0}, "q2": {"a": 2.0, "b": 1.0}}
    result = rankgauge.evaluate(judgments, whole, ["nDCG@10", "Judged@10"])
    assert (result["Judged@10"], "Judged@10: 0.500." in result.show(notes=True)) == (0.5, True)
    lacking = {"q1": whole["q1"]}
    result = rankgauge.evaluate(judgments, lacking, ["nDCG@10", "Judged@10"])
    assert (result["Judged@10"], "Judged@10 of answered queries: 0.500." in result.show(notes=True)) == (0.25, True)
    for runs, said in (({"a": whole}, False), ({"a": whole, "b": lacking}, True)):
        assert ("Judged@10: of answered queries." in rankgauge.quality(judgments, runs).show(notes=True)) == said


def test_json_has_every_note(files: Path, command: Command) -> None:
    """Whatever a text shows of them."""
    words = "eval qrels.txt old.run new.run constant.run"
    noted = json.loads(of(command, files, words, "--format", "json").out)["notes"]
    lines = paragraphs(of(command, files, words, "--notes").out)[-1]
    assert noted
    assert set(noted) <= {line.removeprefix("Caution: ") for line in lines}
    words = "compare qrels.txt old.run new.run constant.run --by by.csv"
    data = json.loads(of(command, files, words, "--format", "json").out)
    lines = paragraphs(of(command, files, words, "--notes").out)[-1]
    alarms = [f"Caution: {note}" for note in data["notes"] if note.startswith("RG202")]  # which come first of all
    cautions = [*alarms, *(f"Caution: {each['text']} ({each['code']})." for each in data["warnings"])]
    assert (len(alarms), cautions) == (2, lines[: len(cautions)])
    assert len(data["warnings"]) > 3


def test_details_show_every_caution(files: Path, command: Command) -> None:
    words = "compare qrels.txt old.run new.run constant.run --by by.csv"
    detailed = paragraphs(of(command, files, words, "--details").out)
    assert detailed[-1] == paragraphs(of(command, files, words, "--notes").out)[-1]
    assert of(command, files, words, "--details", "--quiet").out.count("Adjusted for 3 comparisons\n") == 1


def test_in_python_the_way_to_see_more_is_pythons(files: Path) -> None:
    found = rankgauge.compare(files / "qrels.txt", {name: files / f"{name}.run" for name in ("old", "new", "constant")})
    assert str(found).endswith(" more: show(notes=True)")
    assert "more: " not in found.show(notes=True)
    assert found.show(notes=True).startswith(found.show().rpartition("\n")[0].rpartition("\n")[0])
    assert "Caution" not in found.show(quiet=True)
    assert "Caution" in found.show("markdown")
