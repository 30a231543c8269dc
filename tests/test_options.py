"""One way out and one mechanism for options: the same rules in every command that shows a result."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import click
import pytest

from command import Command
from rankgauge.cli import COMMANDS, cli
from rankgauge.cli.output import Output, chosen_format, deliver
from rankgauge.cli.strict import Strict, Target
from rankgauge.show.formats import FORMATS, SUFFIXES
from rankgauge.show.model import Column, Section, Table
from rankgauge.shown import Shown

QUERIES = [f"q{number}" for number in range(6)]
QRELS = "".join(f"{query} 0 d{doc} {(at + doc) % 3}\n" for at, query in enumerate(QUERIES) for doc in range(6))
OTHERS = QRELS.replace("d1 1", "d1 2")
FIRST = "".join(f"{query} Q0 d{doc} 1 {9 - doc} a\n" for query in QUERIES for doc in range(6))
SECOND = "".join(
    f"{query} Q0 d{doc} 1 {(doc * 5 + at) % 7}.{doc} b\n" for at, query in enumerate(QUERIES) for doc in range(6)
)
EXPERIMENTS = "experiment,delta_nDCG@10,conversion,se\n" + "".join(
    f"e{at},{at * 0.01},{at * 0.1 + at % 3},0.3\n" for at in range(8)
)
LOG = "query,count\nred shoes,5\nhat,3\nbag,1\n"

# Command → what it takes to show a result.
WORDS: dict[str, list[str]] = {
    "eval": ["qrels.txt", "first.run", "second.run"],
    "compare": ["qrels.txt", "first.run", "second.run"],
    "report": ["qrels.txt", "first.run", "second.run", "--no-charts", "--examples", "0"],
    "plot": ["forest", "qrels.txt", "first.run", "second.run"],
    "bench": ["suite", "--no-cache"],
    "check": ["qrels.txt", "first.run", "--baseline", "second.run", "--margin", "0.5", "--inconclusive", "pass"],
    "plan": ["qrels.txt", "first.run", "second.run"],
    "explain": ["qrels.txt", "first.run", "--query", "q1"],
    "funnel": ["qrels.txt", "--retrieved", "first.run", "--reranked", "second.run"],
    "validate": ["qrels.txt", "first.run"],
    "judgments": ["qrels.txt", "first.run", "second.run"],
    "agree": ["qrels.txt", "others.txt"],
    "ppi": ["qrels.txt", "others.txt", "first.run"],
    "align": ["experiments.csv"],
    "sample": ["log.csv", "--n", "2"],
    "dialects": ["qrels.txt", "first.run", "--only", "trec_eval,sklearn"],
}
SILENT = {"init", "store", "measures", "rules", "convert", "trec_eval", "completion"}  # they show no result
SILENT |= {"search", "pool", "judge", "judge-page"}  # they write a run, pairs, labels and a page
SILENT |= {"serve"}  # it shows everything in a browser
SILENT |= {"labels", "history", "loop", "task", "user"}  # they need a project, and are tested with one
READ = {
    "bench": "suite/one/runs/a.run",
    "align": "experiments.csv",
    "sample": "log.csv",
}  # a file that is read; elsewhere qrels.txt


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files = {"qrels.txt": QRELS, "others.txt": OTHERS, "first.run": FIRST, "second.run": SECOND}
    for name, text in {**files, "experiments.csv": EXPERIMENTS, "log.csv": LOG}.items():
        (tmp_path / name).write_text(text)
    for folder in ("qrels", "runs"):
        (tmp_path / "suite" / "one" / folder).mkdir(parents=True)
    judged = QRELS.replace(" 0 d", "\td").replace(" ", "\t")
    (tmp_path / "suite/one/qrels/test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")
    (tmp_path / "suite/one/runs/a.run").write_text(FIRST)
    (tmp_path / "suite/one/runs/b.run").write_text(SECOND)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def call(here: Path, command: Command) -> Command:
    """The command, in that folder."""
    return command


def command_named(name: str) -> click.Command:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


def formats_of(name: str) -> list[str]:
    (option,) = [each for each in command_named(name).params if each.name == "format"]
    assert isinstance(option.type, click.Choice)
    return list(option.type.choices)


# ---- every command ---------------------------------------------------------------------------------------------------


def test_every_command_is_here() -> None:
    assert {*WORDS, *SILENT} == set(COMMANDS)
    for name in COMMANDS:
        command = command_named(name)
        for each in command.commands.values() if isinstance(command, click.Group) else [command]:
            assert isinstance(each, Strict), name


@pytest.mark.parametrize("name", WORDS)
def test_what_no_format_has_is_refused_before_anything_is_done(call: Command, here: Path, name: str) -> None:
    for target in ("x.foo", "x.foo.gz", "nowhere/x.json", "suite"):
        before = sorted(here.rglob("*"))
        outcome = call(name, *WORDS[name], "-o", target)
        assert (outcome.code, outcome.out) == (2, ""), target
        assert target.partition("/")[0] in outcome.err
        assert sorted(here.rglob("*")) == before
    assert "x.foo: no format has the suffix .foo; expected " in call(name, *WORDS[name], "-o", "x.foo").err


@pytest.mark.parametrize("name", WORDS)
@pytest.mark.parametrize("suffix", [".csv", ".json", ".md", ".tex", ".html", ".txt", ".svg"])
def test_a_file_holds_what_its_suffix_says(call: Command, here: Path, name: str, suffix: str) -> None:
    outcome = call(name, *WORDS[name], "-o", f"x{suffix}")
    if SUFFIXES[suffix] not in formats_of(name):
        assert outcome.code == 2
        assert f"no format has the suffix {suffix}" in outcome.err
        assert not (here / f"x{suffix}").exists()
        return
    if outcome.code == 2 and suffix == ".svg":
        assert outcome.err == "error: there is no picture here\n"
        assert not (here / "x.svg").exists()
        return
    assert (outcome.code, outcome.out) == (0, "")
    text = (here / f"x{suffix}").read_text(encoding="utf-8")
    if suffix == ".csv":
        rows = list(csv.reader(io.StringIO(text)))
        assert len(rows) > (0 if name == "validate" else 1)  # these files have nothing wrong with them
        assert rows[0]
        assert {len(row) for row in rows} == {len(rows[0])}
    elif suffix == ".json":
        assert json.loads(text)
    else:
        assert {".html": "<!doctype html", ".svg": "<svg"}.get(suffix, "") in text.lower()


@pytest.mark.parametrize("name", WORDS)
def test_an_option_is_taken_once(call: Command, here: Path, name: str) -> None:
    twice = call(name, *WORDS[name], "-o", "x.html", "--format", "html", "--format=json")
    assert (twice.code, twice.out) == (2, "")
    assert "--format is given twice" in twice.err
    twice = call(name, *WORDS[name], "-o", "x.json", "-o", "x.svg")
    assert twice.code == 2
    assert "--output is given twice" in twice.err
    assert not list(here.glob("x.*"))


@pytest.mark.parametrize("name", WORDS)
def test_what_is_read_is_not_replaced(call: Command, here: Path, name: str) -> None:
    if name == "bench":
        pytest.skip("the files of a suite are known only once it is read")
    source = READ.get(name, "qrels.txt")
    before = (here / source).read_bytes()
    (here / "link.html").symlink_to(here / source)
    for target in (source, f"./{source}", "link.html"):
        outcome = call(name, *WORDS[name], "-o", target)
        assert (outcome.code, outcome.out) == (2, "")
        assert "this file is read" in outcome.err
        assert (here / source).read_bytes() == before


@pytest.mark.parametrize("option", ["--markdown", "--junit", "--save-baseline"])
def test_other_files_that_check_writes_are_none_that_it_reads(call: Command, here: Path, option: str) -> None:
    for source in ("qrels.txt", "first.run", "second.run"):
        outcome = call("check", *WORDS["check"], option, source)
        assert outcome.code == 2
        assert "would be replaced" in outcome.err
    both = call("check", *WORDS["check"], option, "x.json", "-o", "x.json")
    assert both.code == 2
    assert "both write x.json" in both.err
    assert [path.read_text() for path in (here / "qrels.txt", here / "first.run", here / "second.run")] == [
        QRELS, FIRST, SECOND,
    ]  # fmt: skip


def test_named_files_and_columns_are_read_too(call: Command, here: Path) -> None:
    (here / "by.txt").write_text("query_id,group\n" + "".join(f"{query},a\n" for query in QUERIES))
    assert "would be replaced" in call("eval", "qrels.txt", "x=first.run", "-o", "first.run", "--format", "csv").err
    assert "would be replaced" in call("eval", "qrels.txt", "first.run", "--by", "by.txt:group", "-o", "by.txt").err


def test_what_is_no_file_can_be_written(call: Command, here: Path) -> None:
    for target in ("/dev/null", "/dev/stdout"):
        assert call("eval", *WORDS["eval"], "-o", target).code == 0


def test_every_file_is_declared_as_read_or_written() -> None:
    """What is called FILE, QRELS or RUN in help is a path, so that the shell completes it and nothing replaces it."""
    bare = [
        (name, each.name)
        for name in COMMANDS
        for each in command_named(name).params
        if any(word in (each.metavar or "") for word in ("FILE", "QRELS", "RUN", "TABLE"))
        and not isinstance(each.type, click.Path)
    ]
    assert bare == []
    written = {each.name for name in COMMANDS for each in command_named(name).params if isinstance(each.type, Target)}
    assert written == {"output", "markdown", "junit", "save_baseline", "batch"}


def test_a_name_means_the_same_in_every_command() -> None:
    """The same spelling takes the same kind of value; those that are known to differ are listed here."""
    known = {
        "--format": "each command has its own",
        "--baseline": "a system by name; check: a file, for it is none of the runs",
        "--margin": "check: also MEASURE=M",
        "--method": "the adjustment for several pairs; sample: how queries are drawn",
        "--by": "groups of queries; labels: a judge",
        "--from": "convert: a format; loop: a step",
        "--only": "dialects: some of them; loop: a step",
        "--resamples": "bench: of ranks; elsewhere it does nothing",
        "--again": "a flag; loop: a system",
        "--order": "a rule; pool: which pairs are taken first",
    }
    kinds: dict[str, set[str]] = {}
    for name in sorted({*COMMANDS} - {"trec_eval"}):
        for each in command_named(name).params:
            for spelling in each.opts:
                kind = f"{type(each.type).__name__} {getattr(each.type, 'choices', '')}"
                kinds.setdefault(spelling, set()).add(kind)
    assert {spelling for spelling, each in kinds.items() if len(each) > 1 and spelling.startswith("--")} == set(known)


# ---- the mechanism ---------------------------------------------------------------------------------------------------


def refused(rules: dict[str, Any], *words: str) -> str:
    """What a command of these rules says."""

    @click.command(cls=Strict, **rules)
    @click.argument("kind", required=False)
    @click.option("--many", multiple=True)
    @click.option("--one")
    @click.option("--two")
    @click.option("--three", is_flag=True)
    @click.option("--this", "which", flag_value="this")
    @click.option("--that", "which", flag_value="that")
    def command(**values: Any) -> None:
        click.echo("done")

    try:
        command.main(list(words), standalone_mode=False)
    except click.UsageError as error:
        return error.format_message()
    return ""


@pytest.mark.parametrize(
    ("rules", "words", "message"),
    [
        ({}, ["--one", "1", "--many", "1", "--many", "2"], ""),
        ({}, ["--one", "1", "--one=2"], "--one is given twice; it is taken once"),
        ({}, ["--three", "--three"], "--three is given twice; it is taken once"),
        ({}, ["--this", "--that"], "--this and --that exclude each other"),
        ({"needs": {"one": "two"}}, ["--one", "1"], "--one goes with --two"),
        ({"needs": {"one": "two"}, "hints": {"two": "why"}}, ["--one", "1"], "--one goes with --two: why"),
        ({"needs": {"one": "two"}}, ["--one", "1", "--two", "2"], ""),
        ({"needs": {"one": ("two", "three")}}, ["--one", "1"], "--one goes with --two or --three"),
        ({"needs": {"one": ("two", "three")}}, ["--one", "1", "--three"], ""),
        ({"needs": {"one": "kind=a"}}, ["--one", "1", "b"], "--one goes with a"),
        ({"needs": {"one": "kind=a"}}, ["--one", "1", "a"], ""),
        ({"needs": {"one": "two=x"}}, ["--one", "1", "--two", "y"], "--one goes with --two x"),
        ({"excludes": [("one", "two")]}, ["--one", "1", "--two", "2"], "--one and --two exclude each other"),
        ({"excludes": [("one", ("two", "three"))]}, ["--two", "1", "--three"], ""),
        ({"excludes": [("one", ("two", "three"))]}, ["--one", "1", "--three"], "--one and --three exclude each other"),
        ({"requires": [("one", "three")]}, ["--two", "1"], "give --one or --three"),
        ({"requires": [("one", "three")]}, ["--three"], ""),
        ({"renamed": {"--old": "--one"}}, ["--old", "1"], ""),
        ({"renamed": {"--old": "--one"}}, ["--old=1", "--one", "2"], "--one is given twice"),
    ],
)  # fmt: skip
def test_the_mechanism(rules: dict[str, Any], words: list[str], message: str) -> None:
    said = refused(rules, *words)
    assert said.startswith(message)
    assert bool(said) is bool(message)


def test_an_old_name_is_taken_with_a_word_about_the_new_one(call: Command) -> None:
    old = call("plan", "--deviation", "0.2", "--width", "0.1")
    assert (old.code, old.err) == (
        0,
        "warning: --width is --interval-width now; the old name goes with the next version\n",
    )
    assert old.out == call("plan", "--deviation", "0.2", "--interval-width", "0.1").out


def test_an_old_name_that_means_something_else_now_says_so(call: Command) -> None:
    outcome = call("eval", "--ltr", "rows", "--scores", "predicted.txt")
    assert outcome.code == 2
    assert "What --scores was is --predictions now." in outcome.err


# ---- formats ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "asked", "chosen"),
    [
        ("-", None, "table"),
        ("-", "json", "json"),
        ("x", None, "table"),
        ("x", "csv", "csv"),
        ("x.txt", "csv", "csv"),
        ("x.json", None, "json"),
        ("x.JSON.gz", None, "json"),
        ("x.json", "json", "json"),
        ("x.2", "table", "table"),
        ("/dev/null", None, "table"),
        ("x.json", "csv", None),
        ("x.svg", "table", None),
        ("x.txt", "png", None),
    ],
)
def test_the_suffix_decides(path: str, asked: str | None, chosen: str | None) -> None:
    if chosen is not None:
        assert chosen_format(path, asked, FORMATS, "table") == chosen
        return
    with pytest.raises(click.UsageError, match=f"is not for {asked}"):
        chosen_format(path, asked, FORMATS, "table")


def test_a_format_may_be_named_by_its_suffix(call: Command) -> None:
    words = ("compare", *WORDS["compare"])
    assert call(*words, "--format", "md").out == call(*words, "--format", "markdown").out
    assert call(*words, "--format", "tex").out == call(*words, "--format", "latex").out


class Sample(Shown):
    """Two tables."""

    def sections(self, **choices: Any) -> list[Section]:
        tables = [Table(key, "", [Column(key, "number")], [[0.5]]) for key in ("one", "two")]
        return [Section("all", "All", tables)]

    def to_dict(self) -> dict[str, Any]:
        return {"one": 0.5}


def test_a_result_is_delivered(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deliver(Sample(), Output(digits=2))
    assert capsys.readouterr().out == " one\n0.50\n\n two\n0.50\n"
    deliver(Sample(), Output("x.csv", "csv", table="two"))
    assert (here / "x.csv").read_text() == "two\n0.5\n"
    deliver(Sample(), Output("x.json", "json"))
    assert json.loads((here / "x.json").read_text()) == {"one": 0.5}


def test_nothing_found_is_a_table_without_rows(call: Command) -> None:
    heads = ["code", "severity", "title", "source", "count", "examples", "effect", "remedy"]
    assert call("validate", *WORDS["validate"], "--format", "csv").out == ",".join(heads) + "\n"
    none = call("dialects", "qrels.txt", "first.run", "--only", "sklearn", "--match", "0.123456", "--format", "csv")
    assert (none.code, none.out) == (0, "convention,changes,value\n")
