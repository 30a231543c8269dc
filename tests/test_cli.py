"""The command line: what it prints, where, with which exit code; and what it says when something is wrong."""

from __future__ import annotations

import gzip
import io
import json
import math
import os
import re
import signal
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import click
import pytest

import rankgauge
from command import COMMAND, Command, Outcome, real
from rankgauge import cli as command_line
from rankgauge.cli.inputs import Inputs, Reading
from rankgauge.cli.output import DRAWN
from rankgauge.measures import MEASURES, parse
from rankgauge.protocol import DEFAULT
from rankgauge.read.names import SPELLINGS
from rankgauge.show.formats import FORMATS

# q1: nDCG 3.5 / (3 + 2 / log2(3)); q2: 1 / log2(3); q3 is judged and not answered.
QRELS = "q1 0 d1 3\nq1 0 d2 0\nq1 0 d3 2\nq2 0 d9 1\nq3 0 x 1\n"
RUN = "q1 Q0 d3 1 12.1 A\nq1 Q0 d7 2 11.8 A\nq1 Q0 d1 3 9.5 A\nq2 Q0 d4 1 7.2 A\nq2 Q0 d9 2 7.1 A\n"
# d3 falls from rank 1 to rank 3.
WORSE = RUN.replace("12.1", "1.1")
Q1, Q2 = 3.5 / (3 + 2 / math.log2(3)), 1 / math.log2(3)
Q1_WORSE = (3 / math.log2(3) + 1) / (3 + 2 / math.log2(3))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with judgments and two runs, made the current one."""
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "good.run").write_text(RUN)
    (tmp_path / "worse.run").write_text(WORSE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cli(here: Path, command: Command) -> Command:
    """The command, in that folder."""
    return command


def fails(outcome: Outcome, message: str) -> None:
    """One line on standard error, nothing on standard output, exit code 2."""
    assert outcome == Outcome(2, "", f"error: {message}\n")


# ---- eval: what it prints -------------------------------------------------------------------------------------------

FOOTER = """
Queries: 3 evaluated; 1 not answered.
Judged@10 of answered queries: 0.583.
"""
RULES_LINE = """\
Rules: order=score ties=id unjudged=not-relevant missing=zero empty=zero
  duplicates=error rel=1
"""
TEXTS = {
    "table": (
        "run    queries  nDCG@10  NumRel\ngood         3   0.4841       4\nworse        3   0.4366       4\n\n"
        "Caution: RG202 the rank column contradicts the scores: 1 of 2 queries (worse)." + FOOTER + "1 more: --notes\n"
    ),
    "csv": (
        f"run,queries,nDCG@10,NumRel\ngood,3,{(Q1 + Q2) / 3!r},4.0\nworse,3,{(Q1_WORSE + Q2) / 3!r},4.0\n"
    ),
    "markdown": (
        "| run | queries | nDCG@10 | NumRel |\n| :-- | --: | --: | --: |\n"
        "| good | 3 | **0.4841** | 4 |\n| worse | 3 | 0.4366 | 4 |\n"
    ),
    "latex": (
        "\\begin{tabular}{lrrr}\n\\toprule\nrun & queries & nDCG@10 & NumRel \\\\\n\\midrule\n"
        "good & 3 & \\textbf{0.4841} & 4 \\\\\nworse & 3 & 0.4366 & 4 \\\\\n\\bottomrule\n\\end{tabular}\n"
    ),
    "trec": (
        "runid                 \tall\tgood\nnDCG@10               \tall\t0.4841\nNumRel                \tall\t4\n"
        "runid                 \tall\tworse\nnDCG@10               \tall\t0.4366\nNumRel                \tall\t4\n"
    ),
}  # fmt: skip
PER_QUERY_TEXTS = {
    "table": (
        "run   query  nDCG@10  NumRel\ngood  q1      0.8212       2\ngood  q2      0.6309       1\n"
        "good  q3      0.0000       1\n" + FOOTER + RULES_LINE
    ),
    "csv": f"run,query_id,nDCG@10,NumRel\ngood,q1,{Q1!r},2.0\ngood,q2,{Q2!r},1.0\ngood,q3,0.0,1.0\n",
    "markdown": (
        "| run | query | nDCG@10 | NumRel |\n| :-- | :-- | --: | --: |\n"
        "| good | q1 | 0.8212 | 2 |\n| good | q2 | 0.6309 | 1 |\n| good | q3 | 0.0000 | 1 |\n"
    ),
    "latex": (
        "\\begin{tabular}{llrr}\n\\toprule\nrun & query & nDCG@10 & NumRel \\\\\n\\midrule\n"
        "good & q1 & 0.8212 & 2 \\\\\ngood & q2 & 0.6309 & 1 \\\\\ngood & q3 & 0.0000 & 1 \\\\\n"
        "\\bottomrule\n\\end{tabular}\n"
    ),
    "trec": "runid                 \tall\tgood\n" + "".join(
        f"nDCG@10               \t{query}\t{value}\nNumRel                \t{query}\t{count}\n"
        for query, value, count in [("q1", "0.8212", 2), ("q2", "0.6309", 1), ("q3", "0.0000", 1), ("all", "0.4841", 4)]
    ),
}  # fmt: skip


def test_every_text_format_is_tested() -> None:
    assert {*TEXTS, "json"} == {*PER_QUERY_TEXTS, "json"} == {*(set(FORMATS) - DRAWN), "trec"}


def _without_notes(text: str, format: str) -> str:
    """The table of a document: its notes are a list below it, or comments."""
    sign = {"markdown": "- ", "latex": "%"}.get(format)
    if sign is None:
        return text
    return "\n".join(line for line in text.split("\n") if not line.startswith(sign)).strip("\n") + "\n"


@pytest.mark.parametrize("format", TEXTS)
def test_formats(format: str, cli: Command) -> None:
    outcome = cli("eval", "qrels.txt", "good.run", "worse.run", "-m", "nDCG@10", "-m", "NumRel", "--format", format)
    assert (outcome.code, outcome.err) == (0, "")
    assert _without_notes(outcome.out, format) == TEXTS[format]


@pytest.mark.parametrize("format", PER_QUERY_TEXTS)
def test_formats_of_every_query(format: str, cli: Command) -> None:
    outcome = cli("eval", "qrels.txt", "good.run", "-m", "nDCG@10", "-m", "NumRel", "--per-query", "--format", format)
    assert (outcome.code, outcome.err) == (0, "")
    assert _without_notes(outcome.out, format) == PER_QUERY_TEXTS[format]


def test_the_real_command_prints_the_same() -> None:
    assert real("--version") == Outcome(0, f"rankgauge, version {rankgauge.__version__}\n", "")


def test_the_real_command_evaluates(here: Path) -> None:
    words = ("eval", "qrels.txt", "good.run", "worse.run", "-m", "nDCG@10", "-m", "NumRel")
    assert real(*words) == Outcome(0, TEXTS["table"], "")
    assert real(*words, "--notes") == Outcome(0, TEXTS["table"].replace("1 more: --notes\n", RULES_LINE), "")
    assert real(*words, "--quiet") == Outcome(0, TEXTS["table"].partition("\n\n")[0] + "\n", "")


CONSTANT = "q1 Q0 d3 1 1 A\nq1 Q0 d7 2 1 A\nq1 Q0 d1 3 1 A\n"


@pytest.mark.parametrize("format", ["table", "markdown", "latex", "html", "json", "csv", "svg"])
def test_a_constant_scorer_is_told_loudly_and_once(format: str, here: Path, cli: Command) -> None:
    """In the notes, before any other; on standard error where the format has none."""
    (here / "constant.run").write_text(CONSTANT)
    words = ("eval", "qrels.txt", "constant.run", "--missing", "skip", "--format", format)
    outcome = cli(*words)
    low, high = (2 / math.log2(3) + 3 / 2) / (3 + 2 / math.log2(3)), 1.0
    noted = f"Caution, ties: another order of equal scores gives nDCG@10 {low:.4f} to {high:.4f}."
    assert outcome.code == 0
    if format in ("csv", "svg"):
        assert noted not in outcome.out
        assert outcome.err == (
            f"warning: constant: nDCG@10 is {low:.4f} only by the order of equal scores, which could give {low:.4f} to "
            "1.0000; 100% of the judged documents found are tied with others. Compare with ties='average' "
            "(--ties average), look with result.ties('nDCG@10') (--tie-band)\n"
        )
    else:
        assert noted in outcome.out
        assert outcome.err == ""
    if format in ("table", "markdown", "latex"):
        notes = [
            line for line in outcome.out.splitlines() if re.match(r"(- |% ?)?(Caution|Queries|Rules|Judged)", line)
        ]
        assert noted in notes[0]
    assert "ties" not in cli("eval", "qrels.txt", "constant.run", "--ties", "average", "--format", format).err


def test_a_dialect_does_not_hide_the_caution_about_ties(here: Path, cli: Command) -> None:
    (here / "constant.run").write_text(CONSTANT)
    lines = cli("eval", "qrels.txt", "constant.run", "--dialect", "trec_eval").out.splitlines()
    assert lines[3].startswith("Caution, ties: another order of equal scores gives nDCG@10 ")
    assert lines[-1].endswith(" more: --notes")


def test_tie_bands(here: Path, cli: Command) -> None:
    (here / "constant.run").write_text(CONSTANT)
    ask = ("eval", "qrels.txt", "constant.run", "-m", "RR", "-m", "relstring", "--missing", "skip", "--tie-band")
    assert cli(*ask).out.splitlines()[:2] == [
        "run       measure   value     low  expected    high",
        "constant  RR       0.5000  0.5000    0.8333  1.0000",
    ]
    assert cli(*ask, "--format", "csv").out == (
        "run,measure,value,low,expected,high,exact,standard_error\n"
        f"constant,RR,0.5,0.5,{2 / 3 + 1 / 6!r},1.0,true,0.0\n"
    )
    (row,) = json.loads(cli(*ask, "--format", "json", "-q").out)["ties"]
    assert (row["query_id"], row["low"], row["high"], row["exact"]) == ("q1", 0.5, 1.0, True)
    assert "| constant | RR | 0.5000 | 0.5000 | 0.8333 | 1.0000 |" in cli(*ask, "--format", "markdown").out
    assert r"constant & RR & 0.5000 & 0.5000 & 0.8333 & 1.0000 \\" in cli(*ask, "--format", "latex").out


def test_validate(here: Path, cli: Command) -> None:
    (here / "constant.run").write_text(CONSTANT)
    outcome = cli("validate", "qrels.txt", "constant.run")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("warning RG206 constant.run: a ranking has one score for all documents (1):\n")
    assert outcome.out.endswith("\n0 errors, 2 warnings, 1 note\n")
    codes = [
        finding["code"]
        for finding in json.loads(cli("validate", "qrels.txt", "constant.run", "--format", "json").out)["findings"]
    ]
    assert codes == ["RG206", "RG302", "RG204"]
    assert cli("validate", "qrels.txt", "constant.run", "--strict").code == 1
    assert cli("validate", "qrels.txt", "constant.run", "--strict", "--ignore", "RG206", "--ignore", "RG302").code == 0
    fails(cli("validate", "nowhere.txt"), cli("eval", "nowhere.txt", "good.run").err.removeprefix("error: ").rstrip())


def test_validate_of_named_runs_and_standard_input(here: Path, cli: Command) -> None:
    outcome = cli("validate", "qrels.txt", "new=worse.run", "good.run")
    assert "warning RG202 new: the rank column contradicts the scores (1):\n  worse.run:2: query q1\n" in outcome.out
    assert "warning RG302 good.run: a judged query has no results (1):\n" in outcome.out
    fails(
        cli("validate", "qrels.txt", "good.run", "good.run"),
        "good.run is given twice; name them apart: A=good.run B=good.run",
    )
    fails(cli("validate", "-", "-"), "standard input (-) can be only one of the files")


def test_validate_of_broken_files(here: Path, cli: Command) -> None:
    (here / "cut.run.gz").write_bytes(gzip.compress(RUN.encode())[:40])
    (here / "binary.run").write_bytes(bytes(range(256)) * 9)
    (here / "comments.run").write_text("\n# nothing\n")
    (here / "empty.run").write_text("")
    for run, message in {
        "cut.run.gz": "cut.run.gz: not a whole gzip file",
        "binary.run": "binary.run: holds NUL bytes",
        "comments.run": "comments.run: holds no rows",
        "empty.run": "empty.run: is empty",
        "qrels.txt": "qrels.txt:1: expected 6 fields",
    }.items():
        outcome = cli("validate", "qrels.txt", run)
        assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
        assert outcome.err.startswith(f"error: {message}")


def summary(values: list[float]) -> Any:
    """The aggregates of three values, by hand."""
    low, middle, high = sorted(values)
    mean = sum(values) / 3
    return pytest.approx(
        {
            "value": mean,
            "queries": 3,
            "mean": mean,
            "median": middle,
            "geometric_mean": math.exp(sum(math.log(max(value, 1e-5)) for value in values) / 3),
            "trimmed_mean": mean,
            "std": math.sqrt(sum((value - mean) ** 2 for value in values) / 2),
            "min": low,
            "q25": (low + middle) / 2,
            "q75": (middle + high) / 2,
            "max": high,
        },
        rel=1e-12,
    )


def run_data(name: str, values: list[float], *notes: str) -> dict[str, Any]:
    return {
        "run": name,
        "queries": 3,
        "measures": {"nDCG@10": summary(values)},
        "counts": {"queries": 3, "answered": 2, "missing": 1, "without_relevant": 0, "unjudged": 0},
        "judged": {"10": pytest.approx((2 / 3 + 1 / 2) / 2)},
        "notes": list(notes),
        "fingerprint": ANY,
    }


def test_json(cli: Command) -> None:
    outcome = cli("eval", "qrels.txt", "good.run", "worse.run", "--format", "json")
    loaded = json.loads(outcome.out)
    note = "RG202 the rank column contradicts the scores: 1 of 2 queries."
    assert loaded == {
        "runs": [run_data("good", [Q1, Q2, 0]), run_data("worse", [Q1_WORSE, Q2, 0], note)],
        "protocol": DEFAULT.to_dict(),
        "definitions": {"nDCG@10": parse("nDCG@10").describe()},
        "notes": [note.replace("queries.", "queries (worse).")],
    }
    fingerprints = [run["fingerprint"] for run in loaded["runs"]]
    assert all(re.fullmatch("[0-9a-f]{16}", each) for each in fingerprints)
    assert len(set(fingerprints)) == 2


def test_json_of_every_query_and_of_groups(cli: Command, here: Path) -> None:
    (here / "by.csv").write_text("query_id,group\nq1,head\nq2,tail\nq3,tail\n")
    outcome = cli("eval", "qrels.txt", "good.run", "--per-query", "--by", "by.csv", "--format", "json")
    (run,) = json.loads(outcome.out)["runs"]
    assert run["per_query"] == {
        "q1": {"nDCG@10": pytest.approx(Q1)}, "q2": {"nDCG@10": pytest.approx(Q2)}, "q3": {"nDCG@10": 0}
    }  # fmt: skip
    assert {name: group["queries"] for name, group in run["groups"].items()} == {"head": 1, "tail": 2}
    assert run["groups"]["tail"]["measures"]["nDCG@10"]["mean"] == pytest.approx(Q2 / 2)
    assert run["groups"]["head"]["measures"]["nDCG@10"]["std"] is None  # of one query there is none


def test_json_of_a_count_has_its_sum(cli: Command) -> None:
    (run,) = json.loads(cli("eval", "qrels.txt", "good.run", "-m", "NumRel", "--format", "json").out)["runs"]
    assert run["measures"]["NumRel"]["value"] == 4
    assert run["measures"]["NumRel"]["mean"] == pytest.approx(4 / 3)


def test_a_text_has_no_mean(cli: Command) -> None:
    outcome = cli("eval", "qrels.txt", "good.run", "-m", "relstring", "--per-query", "--format", "csv")
    assert outcome.out == "run,query_id,relstring\ngood,q1,2-3\ngood,q2,-1\ngood,q3,\n"
    assert "\ngood        3  –\n" in cli("eval", "qrels.txt", "good.run", "-m", "relstring").out


def test_digits(cli: Command) -> None:
    assert f"{Q1:.8f}" in cli("eval", "qrels.txt", "good.run", "--per-query", "--digits", "8").out


def test_names_are_escaped(cli: Command) -> None:
    words = ("eval", "qrels.txt", r"a_b^c|d=good.run", "--format")
    assert r"| a_b^c\|d | 3 |" in cli(*words, "markdown").out
    assert r"a\_b\textasciicircum{}c\textbar{}d & 3 &" in cli(*words, "latex").out


@pytest.mark.parametrize(("plain", "best"), [(None, "\x1b[1m 0.4841\x1b[0m"), ("1", " 0.4841")])
def test_the_best_is_bold_on_a_terminal(plain: str | None, best: str, here: Path) -> None:
    pty = pytest.importorskip("pty")
    shown, terminal = pty.openpty()
    words = ("eval", "qrels.txt", "good.run", "worse.run")
    assert real(*words, stdout=terminal, NO_COLOR=plain) == Outcome(0, "", "")
    out = os.read(shown, 4096).decode()
    os.close(terminal)
    os.close(shown)
    assert f"good         3  {best}\r\n".replace("     0.4841", "   0.4841") in out
    assert out.count("\x1b") == best.count("\x1b")


TIED = "q1 Q0 d7 1 2 A\nq1 Q0 d1 2 2 A\nq2 Q0 d4 1 3 A\nq2 Q0 d9 2 3 A\n"


def test_eval_compare_and_report_give_the_same_notes(cli: Command, here: Path) -> None:
    """One file's rank column contradicts its scores, another's scores are tied: every command says both."""
    (here / "tied.run").write_text(TIED)
    files = ("qrels.txt", "good.run", "worse.run", "tied.run", "--format", "json")
    said = {command: json.loads(cli(command, *files).out)["notes"] for command in ("eval", "compare", "report")}
    assert said["eval"] == said["compare"] == said["report"]
    ties, *checks = said["eval"]
    assert ties.startswith("Caution, ties: another order of equal scores gives nDCG@10 ")
    assert "RG202 the rank column contradicts the scores: 1 of 2 queries (worse)." in checks
    runs = {command: json.loads(cli(command, *files).out)["runs"] for command in ("eval", "report")}
    assert runs["eval"] == runs["report"]
    for command in ("eval", "compare"):
        lines = " ".join(cli(command, *files[:4], "--notes").out.split())
        assert all(" ".join(note.split()) in lines for note in said["eval"])


def test_what_makes_a_number_void_is_said_first(cli: Command, here: Path) -> None:
    """Scores that are distances: eval, compare and check say so before anything else that there is to know."""
    rows = [(query, f"d{rank}", rank) for query in "abcd" for rank in range(1, 31)]
    (here / "q.txt").write_text("".join(f"{query} 0 {doc} {int(rank < 3)}\n" for query, doc, rank in rows))
    (here / "up.run").write_text("".join(f"{query} Q0 {doc} {rank} {40 - rank} t\n" for query, doc, rank in rows))
    (here / "down.run").write_text("".join(f"{query} Q0 {doc} {rank} {rank} t\n" for query, doc, rank in rows))
    for words in (["eval", "q.txt", "down.run"], ["compare", "q.txt", "up.run", "down.run"]):
        cautions = [line for line in cli(*words).out.splitlines() if line.startswith("Caution")]
        assert cautions[0].startswith("Caution: RG207 scores look reversed: the worst come first: nDCG@10 is 0.0000")
        assert cautions[1].startswith("Caution: RG202 the rank column contradicts the scores: 4 of 4 queries")
    gated = cli("check", "q.txt", "down.run", "--baseline", "up.run", "--margin", "0.01", "--format", "json")
    gate = json.loads(gated.out)
    assert [each["code"] for each in gate["warnings"]][:2] == ["RG207", "RG202"]
    assert "RG207" not in cli("eval", "q.txt", "up.run", "--notes").out


@pytest.mark.usefixtures("here")
def test_a_progress_bar_where_there_is_much_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Some(Inputs):
        """Files of which so many bytes are much."""

        much: int

        @contextmanager
        def progress(self, much: int = 0) -> Iterator[None]:
            with super().progress(self.much):
                yield

    def shown(terminal: bool, much: int) -> str:
        errors = io.StringIO()
        monkeypatch.setattr(errors, "isatty", lambda: terminal)
        monkeypatch.setattr(sys, "stderr", errors)
        with click.Context(click.Command("eval")):
            inputs = Some(Reading(), "qrels.txt", ["good.run", "worse.run"])
        inputs.much = much
        assert list(inputs.evaluate(["nDCG@10"], DEFAULT)) == ["good", "worse"]
        return errors.getvalue()

    assert shown(terminal=False, much=1) == shown(terminal=True, much=1_000) == ""
    bar = shown(terminal=True, much=1)
    assert "reading" in bar
    assert "100%" in bar


# ---- eval: what it takes --------------------------------------------------------------------------------------------


def first_column(outcome: Outcome) -> list[str]:
    """The names of the runs, from the CSV."""
    assert outcome.code == 0
    return [line.partition(",")[0] for line in outcome.out.splitlines()[1:]]


@pytest.mark.parametrize(
    ("runs", "names"),
    [
        (["good.run"], ["good"]),
        (["BM25=good.run", "worse.run"], ["BM25", "worse"]),
        (["A=good.run", "B=good.run"], ["A", "B"]),
        (["a/x.run.gz", "b/x.txt"], ["a/x.run.gz", "b/x.txt"]),
        (["b/x.txt"], ["x"]),
        (["odd=name.run"], ["odd=name"]),
        (["b/v1.2.qrels"], ["v1.2"]),
    ],
)
def test_names_of_runs(runs: list[str], names: list[str], cli: Command, here: Path) -> None:
    (here / "a").mkdir()
    (here / "b").mkdir()
    (here / "a/x.run.gz").write_bytes(gzip.compress(RUN.encode()))
    for other in ("b/x.txt", "odd=name.run", "b/v1.2.qrels"):
        (here / other).write_text(RUN)
    assert first_column(cli("eval", "qrels.txt", *runs, "--format", "csv")) == names


def test_a_run_given_twice(cli: Command) -> None:
    outcome = cli("eval", "qrels.txt", "good.run", "good.run")
    fails(outcome, "good.run is given twice; name them apart: A=good.run B=good.run")


@pytest.mark.parametrize(("qrels", "run"), [("-", "good.run"), ("qrels.txt", "-")])
def test_standard_input(qrels: str, run: str, cli: Command) -> None:
    outcome = cli("eval", qrels, run, "--format", "csv", stdin=QRELS if qrels == "-" else RUN)
    assert outcome.out.endswith(f",3,{(Q1 + Q2) / 3!r}\n")


@pytest.mark.parametrize("words", [["-", "-"], ["qrels.txt", "-", "--by", "-"], ["-", "good.run", "--weights", "-"]])
def test_standard_input_is_one_file(words: list[str], cli: Command) -> None:
    fails(cli("eval", *words, stdin=RUN), "standard input (-) can be only one of the files")


ONCE = ["agree a=- b=-", "agree qrels.txt - --runs - good.run", "check - - --min nDCG@10=0", "compare - - good.run"]
ONCE += ["compare qrels.txt good.run worse.run --by - --clusters -", "dialects - -", "explain - - --query q1"]
ONCE += ["funnel - --retrieved - --reranked good.run", "judgments - good.run --confusion -", "plan - - good.run"]
ONCE += ["plot forest - - -o x.svg", "ppi - - good.run", "report - - --format md", "validate - -"]


@pytest.mark.parametrize("words", ONCE)
def test_standard_input_is_one_file_of_every_command(words: str, cli: Command) -> None:
    fails(cli(*words.split(), stdin=RUN), "standard input (-) can be only one of the files")


TAIL = [("q2", "tail"), ("q3", "tail")]
GROUPS = {
    "by.csv": "query_id,group\nq1,head\nq2,tail\nq3,tail\n",
    "by.tsv": "qid\tsegment\nq1\thead\nq2\ttail\nq3\ttail\n",
    "by.json": '{"q1": "head", "q2": "tail", "q3": "tail"}',
    "by.jsonl": "".join(f'{{"qid": "{q}", "group": "{g}"}}\n' for q, g in [("q1", "head"), *TAIL]),
    "by.csv:kind": "query_id,text,kind\nq1,a\u2028b,head\nq2,\"b, c\",tail\nq3,c,tail\n",
}  # fmt: skip


@pytest.mark.parametrize("name", GROUPS)
def test_groups(name: str, cli: Command, here: Path) -> None:
    (here / name.partition(":")[0]).write_text(GROUPS[name], encoding="utf-8")
    assert cli("eval", "qrels.txt", "good.run", "--by", name).out == (
        "run   group  queries  nDCG@10\ngood  all          3   0.4841\n"
        "good  head         1   0.8212\ngood  tail         2   0.3155\n" + FOOTER + RULES_LINE
    )


def test_groups_in_csv(cli: Command, here: Path) -> None:
    (here / "by.csv").write_text(GROUPS["by.csv"])
    assert cli("eval", "qrels.txt", "good.run", "--by", "by.csv", "--format", "csv").out == (
        f"run,group,queries,nDCG@10\ngood,all,3,{(Q1 + Q2) / 3!r}\ngood,head,1,{Q1!r}\ngood,tail,2,{Q2 / 2!r}\n"
    )


def test_weights(cli: Command, here: Path) -> None:
    (here / "weights.csv").write_text("query_id,weight\nq1,3\nq2,1\nq3,1\n")
    outcome = cli("eval", "qrels.txt", "good.run", "worse.run", "--weights", "weights.csv", "--format", "json")
    means = [run["measures"]["nDCG@10"]["mean"] for run in json.loads(outcome.out)["runs"]]
    assert means == pytest.approx([(3 * Q1 + Q2) / 5, (3 * Q1_WORSE + Q2) / 5])


def test_weights_from_standard_input_serve_every_run(cli: Command) -> None:
    outcome = cli(
        "eval", "qrels.txt", "good.run", "worse.run", "--weights", "-", stdin="query_id,weight\nq1,1\nq2,0\nq3,0\n"
    )
    assert f"{Q1:.4f}" in outcome.out
    assert f"{Q1_WORSE:.4f}" in outcome.out


BAD_TABLES = {
    "query_id,group\n": "no query is in any group: a query is 'q1', the groups know 'none'",
    "query_id,group\nq7,a\n": "no query is in any group: a query is 'q1', the groups know 'q7'",
    "query_id,group\nq1\n": 'by.csv:2: expected 2 fields (query_id, group), got 1: "q1"',
    "q,group\nq1,a\n": "by.csv: no query column among q, group; call it query_id",
    "query_id,a,b\nq1,1,2\n": "by.csv: which column is the group? There are a, b; name it with by.csv:COLUMN",
    "query_id,group\nq1,a\nq1,b\n": "by.csv:3: query 'q1' has two values, 'a' and 'b'; keep one",
    '[{"query_id": "q1", "group": 1}, {"group": 2}]': (
        "by.csv, row 2: expected the columns of the first row (query_id, group), got group"
    ),
    "[1]": 'by.csv, row 1: expected a dict (an object) of column → value, got "1"',
}


@pytest.mark.parametrize("text", BAD_TABLES)
def test_bad_tables_of_groups(text: str, cli: Command, here: Path) -> None:
    (here / "by.csv").write_text(text)
    fails(cli("eval", "qrels.txt", "good.run", "--by", "by.csv"), BAD_TABLES[text])


def test_a_damaged_table_of_groups(cli: Command, here: Path) -> None:
    (here / "by.parquet").write_bytes(b"PAR1junk")
    outcome = cli("eval", "qrels.txt", "good.run", "--by", "by.parquet")
    assert outcome.code == 2
    assert re.fullmatch(r"error: by\.parquet: not a whole parquet file \(.*\); fetch or write it again\n", outcome.err)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1,1\n", "no weight for 2 queries, such as 'q2'; give every query one"),
        ("q1,x\nq2,1\nq3,1\n", "weights.csv:2: column 'weight': 'x' is not a number; expected a weight"),
        ("q1,-1\nq2,1\nq3,1\n", "weights are finite numbers, 0 or more, and not all 0"),
        ("q1,0\nq2,0\nq3,0\n", "weights are finite numbers, 0 or more, and not all 0"),
    ],
)
def test_bad_weights(text: str, message: str, cli: Command, here: Path) -> None:
    (here / "weights.csv").write_text("query_id,weight\n" + text)
    fails(cli("eval", "qrels.txt", "good.run", "--weights", "weights.csv"), message)


@pytest.mark.parametrize("name", ["-q", "--metric"])
def test_files_that_look_like_options_come_after_two_dashes(name: str, here: Path, cli: Command) -> None:
    (here / "good.run").rename(here / name)
    outcome = cli("eval", "-m", "nDCG@10", "--format", "csv", "--", "qrels.txt", name)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith(f"run,queries,nDCG@10\n'{name},")  # which no spreadsheet takes for a formula


def test_short_options_alone_together_and_with_their_value(cli: Command) -> None:
    spellings = (["-q", "-m", "nDCG@10"], ["-qm", "nDCG@10"], ["-qmnDCG@10"], ["--per-query", "--measure=nDCG@10"])
    printed = {cli("eval", "qrels.txt", "good.run", *words) for words in spellings}
    assert len(printed) == 1
    assert {each.code for each in printed} == {0}


@pytest.mark.parametrize(
    ("rules", "value"),
    [
        (["--missing", "skip"], (1 + 1 / 2) / 2),
        (["--unjudged", "condensed"], (1 + 1) / 3),
        (["--order", "given"], (1 + 1 / 2) / 3),
        (["--order", "rank"], (1 + 1 / 2) / 3),
        (["--rel", "3"], (1 / 3) / 3),
        (["--rel", "3", "--empty", "skip"], 1 / 3),
        (["--rel", "3", "--empty", "one"], (1 / 3 + 2) / 3),
        (["--depth", "1"], 1 / 3),
        (["--ties", "average"], (1 + 1 / 2) / 3),
    ],
)
def test_rules_are_options(rules: list[str], value: float, cli: Command) -> None:
    outcome = cli("eval", "qrels.txt", "good.run", "-m", "RR", "--format", "json", *rules)
    (run,) = json.loads(outcome.out)["runs"]
    assert run["measures"]["RR"]["mean"] == pytest.approx(value)
    assert str(json.loads(outcome.out)["protocol"][rules[0].strip("-")]) in (rules[1], f"{rules[1]}.0")


def test_columns_can_be_named(cli: Command, here: Path) -> None:
    (here / "qrels.csv").write_text("who,what,stars\nq1,d1,1\n")
    (here / "run.csv").write_text("who,what,bm25\nq1,d1,1\n")
    columns = ["query_id=who", "doc_id=what", "relevance=stars", "score=bm25"]
    outcome = cli("eval", "qrels.csv", "run.csv", *(word for column in columns for word in ("--column", column)))
    assert "run        1   1.0000\n" in outcome.out


# ---- eval: where it writes ------------------------------------------------------------------------------------------


def test_output_to_a_file(cli: Command, here: Path) -> None:
    before = {*os.listdir()}
    words = ("eval", "qrels.txt", "good.run", "--format", "csv")
    (here / "out.csv").write_text("old")
    assert cli(*words, "-o", "out.csv") == Outcome(0, "", "")
    assert (here / "out.csv").read_text() == cli(*words).out
    assert {*os.listdir()} == before | {"out.csv"}


@pytest.mark.parametrize("name", ["eval", "compare"])
def test_a_suffix_that_names_no_format_is_refused(cli: Command, here: Path, name: str) -> None:
    words = (name, "qrels.txt", "good.run", "other=good.run")
    for more, message in (
        (["-o", "out.pdf"], "no format has the suffix .pdf; expected .txt, .md, .tex, "),
        (["-o", "out.parquet"], "no format has the suffix .parquet"),
        (["-o", "out.svg", "--format", "csv"], ".svg is not for csv"),
    ):
        outcome = cli(*words, *more)
        assert outcome.code == 2
        assert message in outcome.err
    for target in ("out", "out.txt", "out.2", "out.json.gz"):
        more = ["--format", "table"] if target == "out.2" else []
        assert cli(*words, "-o", target, *more).code == 0
    assert (here / "out").read_text() == (here / "out.txt").read_text() == (here / "out.2").read_text()
    assert json.loads(gzip.decompress((here / "out.json.gz").read_bytes()))


def test_output_is_compressed_where_its_name_says_so(cli: Command, here: Path) -> None:
    words = ("eval", "qrels.txt", "good.run", "--format", "csv")
    assert cli(*words, "-o", "out.csv.gz") == Outcome(0, "", "")
    assert gzip.decompress((here / "out.csv.gz").read_bytes()).decode() == cli(*words).out


@pytest.mark.parametrize(
    ("path", "reason"),
    [("no/out.csv", "there is no folder {here}/no; make it first (mkdir -p)"), (".", "is a folder; name a file in it")],
)
def test_output_that_cannot_be_written(path: str, reason: str, cli: Command, here: Path) -> None:
    where = os.path.realpath(path)
    fails(cli("eval", "qrels.txt", "good.run", "-o", path), f"{where}: {reason.format(here=os.path.realpath(here))}")


def test_an_error_leaves_the_old_output(cli: Command, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "out.csv").write_text("old")
    before = {*os.listdir()}
    assert cli("eval", "qrels.txt", "nothing.run", "-o", "out.csv").code == 2

    def full(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    outcome = cli("eval", "qrels.txt", "good.run", "-o", "out.csv")
    fails(outcome, f"{os.path.realpath('out.csv')}: cannot be written (No space left on device)")
    assert (here / "out.csv").read_text() == "old"
    assert {*os.listdir()} == before


# ---- measures of the user's own -------------------------------------------------------------------------------------

OWN = '''from __future__ import annotations
import rankgauge

@rankgauge.measure()
def Top(hits, k: int):
    """How many relevant documents are among the first k."""
    return hits.count(hits.relevant() & (hits.rank <= k))
'''


def test_an_own_measure(cli: Command, here: Path) -> None:
    (here / "my.py").write_text(OWN)
    words = ("eval", "qrels.txt", "good.run", "-m", "Top@2", "-m", "Top@3", "--measures-from", "my.py")
    assert "good        3  0.6667  1.0000\n" in cli(*words).out
    assert "good        3  0.6667  1.0000\n" in cli(*words, "--measures-from", "my.py").out
    assert "Top@k               How many relevant" in cli("measures", "--measures-from", "my.py").out


BAD_MEASURES = {
    "x = (\n": "my.py: line 1: SyntaxError: '(' was never closed",
    "x = 1\nimport no_such_module\n": "my.py: line 2: ModuleNotFoundError: No module named 'no_such_module'",
    "raise SystemExit(0)": "my.py: line 1: SystemExit: 0",
    "x = 1\n": "my.py: defines no measure; put @rankgauge.measure() above a function of hits",
    OWN.replace("Top", "P"): "my.py: line 4: P is a measure of rankgauge already; give yours another name",
    OWN.replace("return ", "return 1 / 0 + "): "my.py: line 7: ZeroDivisionError: division by zero",
    OWN.replace("return ", "return 1 or "): "my.py: Top gave values of shape (); expected one value per query, here 3",
}


@pytest.mark.parametrize("text", BAD_MEASURES, ids=range(len(BAD_MEASURES)))
def test_bad_files_of_measures(text: str, cli: Command, here: Path) -> None:
    (here / "my.py").write_text(text)
    fails(cli("eval", "qrels.txt", "good.run", "-m", "Top@2", "--measures-from", "my.py"), BAD_MEASURES[text])
    assert parse("P@5").definition.function.__module__ == "rankgauge.measures.precision"


def test_no_file_of_measures(cli: Command) -> None:
    outcome = cli("eval", "qrels.txt", "good.run", "--measures-from", "my.py")
    fails(outcome, "my.py: no such file; expected a Python file with @rankgauge.measure functions")


# ---- bad input ------------------------------------------------------------------------------------------------------

TWICE = "a ranking holds a document once: mend the run, or choose with --duplicates first|best"
COLUMNS = f"understood are {', '.join(SPELLINGS['query_id'])}"
NOTHING_FOUND = 'if the run found nothing, say so in JSON ({"q1": [], …}: its values are 0)'
JUDGMENT_FIELDS, RUN_FIELDS = "query iteration doc grade", "query Q0 doc rank score tag"
# Name, content, message. A file whose name starts with "qrels" stands for the judgments, any other for the run.
BAD_FILES: dict[str, tuple[str, bytes | str, str]] = {
    "missing": ("goo.run", "", "goo.run: there is no such file; did you mean good.run?"),
    "empty": ("empty.run", "", f"empty.run: is empty; expected one row a line; {NOTHING_FOUND}"),
    "empty judgments": ("qrels.empty", "", "qrels.empty: is empty; expected one row a line"),
    "only comments": ("a.run", "# nothing\n\n", f"a.run: holds no rows; expected at least one; {NOTHING_FOUND}"),
    "a folder": (
        "folder", "",
        "folder: is a folder; name a file in it (it is empty); a folder itself is read where it holds QUERY.json or "
        "part-* alone",
    ),
    "binary junk": (
        "a.run", b"\x00\x01\x02 junk",
        'a.run: holds NUL bytes, so it is neither text nor a known format: "��� junk"; '
        "expected trec, msmarco, headless, letor, csv, tsv, json, jsonl, parquet or arrow",
    ),
    "a program": (
        "a.csv", b"\x7fELF\x02\x01\x01\0\0\0\xff\n,\xff\n",
        'a.csv:1: holds NUL bytes, so it is not a text file: "�ELF�������"',
    ),
    "not UTF-8": (
        "a.run", b"q1 Q0 d1 1 1 t\nq1 Q0 \xff 2 1 t\n",
        'a.run:2: byte 7 is not UTF-8 text: "q1 Q0 � 2 1 t"; convert the file first (iconv -f WINDOWS-1252 -t UTF-8)',
    ),
    "not gzip": (
        "a.run.gz", RUN,
        "a.run.gz: not a whole gzip file (Not a gzipped file (b'q1')); fetch or compress it again, "
        "or take the suffix off its name if it is not compressed",
    ),
    "truncated gzip": (
        "a.run.gz", gzip.compress(RUN.encode() * 99)[:-20],
        "a.run.gz: not a whole gzip file (Compressed file ended before the end-of-stream marker was reached); "
        "fetch or compress it again, or take the suffix off its name if it is not compressed",
    ),
    "fields of a run": (
        "a.run", "q1 Q0 d1 1 1 t\nq1 Q0 d3 4 7.1\n",
        f'a.run:2: expected 6 fields ({RUN_FIELDS}), got 5: "q1 Q0 d3 4 7.1"',
    ),
    "judgments for a run": (
        "a.run", QRELS,
        f'a.run:1: expected 6 fields ({RUN_FIELDS}), got 4: "q1 0 d1 3"; '
        f"a line of 4 fields looks like judgments ({JUDGMENT_FIELDS})",
    ),
    "fields of judgments": (
        "qrels.a", "q1 0 d1 1\nq1 0 d1\n",
        f'qrels.a:2: expected 4 fields ({JUDGMENT_FIELDS}), got 3: "q1 0 d1"; '
        "a line of 3 fields looks like a run (query doc rank)",
    ),
    "a grade": ("qrels.a", "q1 0 d1 good\n", "qrels.a:1: grade 'good' is not a number: \"q1 0 d1 good\""),
    "a score": ("a.run", RUN + "q3 Q0 d1 1 x t\n", "a.run:6: score 'x' is not a number: \"q3 Q0 d1 1 x t\""),
    "NaN": ("a.run", "q1 Q0 d1 1 nan t\n", "a.run:1: score 'nan' is not a finite number: \"q1 Q0 d1 1 nan t\""),
    "infinite": ("a.run", "q1 Q0 d1 1 -inf t\n", "a.run:1: score '-inf' is not a finite number: \"q1 Q0 d1 1 -inf t\""),
    "a document twice": (
        "a.run", RUN + "q1 Q0 d7 9 1 A\n",
        f"a.run:6: document 'd7' is there twice for query 'q1' (first at line 2); {TWICE}",
    ),
    "conflicting judgments": (
        "qrels.a", QRELS + "q1 0 d3 1\n",
        "qrels.a:6: query 'q1', document 'd3' has grade 1 here and 2 before (first at line 3); "
        "keep one of the two judgments",
    ),
    "unknown columns": (
        "a.csv", "who,what,how\nq1,d1,1\n",
        f"a.csv: no column for the query_id; found who, what, how; {COLUMNS}; "
        "say which with --column query_id=NAME",
    ),
    "a prefix": (
        "a.run", RUN.replace("q1 ", "1 ").replace("q2 ", "2 "),
        "no query in common: qrels.txt has 'q1', 'q2', 'q3', a.run has '1', '2'. "
        "Hint: they match after removing a prefix that one side has (such as 'q' or 'doc-') and the zeros after it",
    ),
    "nothing in common": (
        "a.run", "".join(f"x{c} Q0 d1 1 1 t\n" for c in "abcd"),
        "no query in common: qrels.txt has 'q1', 'q2', 'q3', a.run has 'xa', 'xb', 'xc', …",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files(case: str, cli: Command, here: Path) -> None:
    name, content, message = BAD_FILES[case]
    if case == "a folder":
        (here / name).mkdir()
    elif case != "missing":
        (here / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    files = [name, "good.run"] if name.startswith("qrels") else ["qrels.txt", name]
    fails(cli("eval", *files), message)


def test_a_bad_file_in_the_real_command(here: Path) -> None:
    name, content, message = BAD_FILES["a document twice"]
    (here / name).write_text(str(content))
    fails(real("eval", "qrels.txt", name), message)


def test_leading_zeros(cli: Command, here: Path) -> None:
    (here / "qrels.a").write_text(QRELS.replace("q", "00"))
    (here / "a.run").write_text(RUN.replace("q", ""))
    message = "no query in common: qrels.a has '001', '002', '003', a.run has '1', '2'. "
    fails(cli("eval", "qrels.a", "a.run"), message + "Hint: they match after removing leading zeros")


@pytest.mark.parametrize(("which", "value"), [("first", "0.8333"), ("best", "1.0000")])
def test_a_document_twice_can_be_settled(which: str, value: str, cli: Command, here: Path) -> None:
    (here / "a.run").write_text("q1 Q0 d3 1 3 t\nq1 Q0 d7 2 2 t\nq1 Q0 d1 3 1 t\nq1 Q0 d1 4 2.5 t\n")
    assert value in cli("eval", "qrels.txt", "a.run", "-m", "AP", "--per-query", "--duplicates", which).out


def test_no_judged_document_retrieved_is_a_loud_zero(cli: Command, here: Path) -> None:
    (here / "a.run").write_text(RUN.replace(" d", " doc-"))
    outcome = cli("eval", "qrels.txt", "a.run")
    assert outcome.code == 0
    assert "a          3   0.0000\n" in outcome.out
    assert outcome.err == (
        "warning: NO JUDGED DOCUMENT WAS RETRIEVED, for any query: every measure is 0. "
        "For query 'q1', qrels.txt judges 'd1', 'd2', 'd3', a.run returns 'doc-3', 'doc-7', 'doc-1'. "
        "Hint: they match after replacing one side's prefix, with the zeros after it, by the other's\n"
    )


def test_a_judgment_repeated_is_a_warning(cli: Command, here: Path) -> None:
    (here / "qrels.a").write_text(QRELS + "q1 0 d1 3\n")
    outcome = cli("eval", "qrels.a", "good.run")
    assert (outcome.code, "0.4841" in outcome.out) == (0, True)
    assert outcome.err == "warning: qrels.a: 1 judgment is there twice with the same grade; counted once\n"


ALL = "'rankgauge measures' lists all"
BAD_MEASURE_NAMES = {
    "ndgc@10": f"unknown measure 'ndgc@10'; did you mean 'nDCG@10'? {ALL}",
    "Recal@5": f"unknown measure 'Recal@5'; did you mean 'recall@5'? {ALL}",
    "xyzzy": f"unknown measure 'xyzzy'; {ALL}",
    "nDCG@10,map": f"'nDCG@10,map' is not a measure; write one measure at a time (-m for each). {ALL}",
    "P": "P: P needs a cut-off; write P@10",
    "P@0": "P@0: k is a whole number, 1 or more and at most 1,000,000,000, not '0'",
    "P(gain=exp)@5": "P(gain=exp)@5: P has no parameter 'gain'; it has k, rel, by",
    "Rprec@5": "Rprec@5: Rprec has no cut-off, so nothing can stand behind '@'",
    "nDCG(": f"'nDCG(' is not a measure; write one like nDCG@10 or P(rel=2)@5. {ALL}",
    "ERR(max=2)": "ERR(max=2): the judgments have grade 3; write max=3",
}


@pytest.mark.parametrize("measure", BAD_MEASURE_NAMES)
def test_bad_measures(measure: str, cli: Command) -> None:
    fails(cli("eval", "qrels.txt", "good.run", "-m", measure), BAD_MEASURE_NAMES[measure])


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        (["--missing", "error"], "good.run does not answer 1 judged query, such as 'q3'"),
        (["--ties", "average", "--order", "rank"], "ties='average' needs order='score'"),
        (["--ties", "average", "-m", "Bpref"], "Bpref has no exact average over ties; these have: nDCG, "),
        (["--rel", "-1"], "rel=-1.0: the smallest relevant grade is a number, 0 or more"),
    ],
)
def test_bad_rules(rules: list[str], message: str, cli: Command) -> None:
    outcome = cli("eval", "qrels.txt", "good.run", *rules)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert outcome.err.startswith(f"error: {message}")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["evl"], "there is no command 'evl'; did you mean 'eval'? 'rankgauge --help' lists all"),
        (["eval", "qrels.txt"], "Missing argument '[NAME=]RUN...'."),
        (["eval", "qrels.txt", "good.run", "--ties", "avg"], "'avg' is not one of 'id', 'id-ascending', 'given', "),
        (["eval", "qrels.txt", "good.run", "--format", "xml"], "'xml' is not one of 'table', 'markdown', "),
        (["eval", "qrels.txt", "good.run", "--column", "a=b"], "'a=b' is not ROLE=NAME; the roles are query_id, "),
        (["eval", "qrels.txt", "good.run", "--depth", "0"], "0 is not in the range 1<=x<=2147483647."),
        (["trec_eval", "-R", "prefs", "qrels.txt", "good.run"], "No such option"),
    ],
)
def test_misuse(words: list[str], message: str, cli: Command) -> None:
    outcome = cli(*words)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


# ---- trec_eval ------------------------------------------------------------------------------------------------------


def lines(**values: str) -> str:
    """trec_eval's lines: measure__query=value."""
    return "".join("{:<22}\t{}\t{}\n".format(*name.split("__"), value) for name, value in values.items())


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("-m map", lines(map__all="0.6667")),
        ("-m map -c", lines(map__all="0.4444")),
        ("-q -m map", lines(map__q1="0.8333", map__q2="0.5000", map__all="0.6667")),
        ("-q -c -m map", lines(map__q1="0.8333", map__q2="0.5000", map__q3="0.0000", map__all="0.4444")),
        ("-qn -m map", lines(map__q1="0.8333", map__q2="0.5000")),
        ("-n -m map", ""),
        ("-m num_q -m num_rel", lines(num_q__all="2", num_rel__all="3")),
        ("-m num_q -m num_rel -c", lines(num_q__all="3", num_rel__all="4")),
        ("-q -m num_q -m num_ret", lines(num_ret__q1="3", num_ret__q2="2", num_q__all="2", num_ret__all="5")),
        ("-l 2 -m map -m num_rel", lines(num_rel__all="2", map__all="0.4167")),
        ("-M 1 -m map -m num_ret", lines(num_ret__all="2", map__all="0.2500")),
        ("-J -m map", lines(map__all="1.0000")),
        ("-N 100 -m utility.0,0,0,1", lines(**{"utility_0,0,0,1__all": "97.5000"})),
        ("-m P.2,1", lines(P_1__all="0.5000", P_2__all="0.5000")),
        ("-m ndcg_cut_10", lines(ndcg_cut_10__all=f"{(Q1 + Q2) / 2:.4f}")),
        ("-m ndcg_cut.10 -m map", lines(map__all="0.6667", ndcg_cut_10__all=f"{(Q1 + Q2) / 2:.4f}")),
        ("-m ndcg.1=0,2=0,3=1", lines(**{"ndcg_1=0,2=0,3=1__all": "0.2500"})),
        ("-m runid", lines(runid__all="A")),
        ("-qm relstring.2", lines(relstring_2__q1="'2-'", relstring_2__q2="'-1'")),
    ],
)
def test_trec_eval(options: str, expected: str, cli: Command) -> None:
    assert cli("trec_eval", *options.split(), "qrels.txt", "good.run") == Outcome(0, expected, "")
    assert cli("trec_eval", *options.split(), "qrels.txt", "-", stdin=RUN) == Outcome(0, expected, "")


def test_the_official_measures_are_the_default(cli: Command) -> None:
    default = cli("trec_eval", "qrels.txt", "good.run")
    assert default == cli("trec_eval", "-m", "official", "qrels.txt", "good.run")
    names = [line.split()[0] for line in default.out.splitlines()]
    assert names[:9] == ["runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "gm_map", "Rprec", "bpref"]
    assert names[-1] == "P_1000"


def test_a_topic_of_negative_grades_counts_as_empty(cli: Command, here: Path) -> None:
    (here / "qrels.a").write_text("q1 0 d1 -1\nq2 0 d9 1\n")
    assert cli("trec_eval", "-m", "map", "qrels.a", "good.run").out == lines(map__all="0.2500")


def test_grades_are_not_truncated(cli: Command, here: Path) -> None:
    (here / "qrels.a").write_text("q1 0 d3 0.5\nq1 0 d1 1.5\n")
    dcg = 0.5 + 1.5 / 2
    assert cli("trec_eval", "-m", "dcg", "qrels.a", "good.run").out == lines(dcg__all=f"{dcg:.4f}")


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("mapp", "trec_eval has no measure 'mapp' that works on judgments; did you mean 'map'? It has runid, num_q, "),
        (
            "ndcg_cutt.10",
            "trec_eval has no measure 'ndcg_cutt' that works on judgments; did you mean 'ndcg_cut'? It has",
        ),
        ("xyzzy", "trec_eval has no measure 'xyzzy' that works on judgments; it has runid, num_q, num_ret, num_rel, "),
        ("P.x", "'x' is not a list of numbers such as 5,10,20\n"),
        ("utility.1", "utility.1: expected 4 numbers, got 1\n"),
    ],
)
def test_bad_measures_of_trec_eval(measure: str, message: str, cli: Command) -> None:
    outcome = cli("trec_eval", "-m", measure, "qrels.txt", "good.run")
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert outcome.err.startswith(f"error: {message}")


def test_bad_files_of_trec_eval(cli: Command) -> None:
    message = f'good.run:1: expected 4 fields ({JUDGMENT_FIELDS}), got 6: "q1 Q0 d3 1 12.1 A"; '
    fails(cli("trec_eval", "good.run", "qrels.txt"), f"{message}a line of 6 fields looks like a run ({RUN_FIELDS})")


# ---- the other commands ---------------------------------------------------------------------------------------------


def test_measures_lists_every_measure(cli: Command) -> None:
    outcome = cli("measures")
    names = [re.split(r"[\[@ ]", line, maxsplit=1)[0] for line in outcome.out.splitlines()]
    assert names == [*MEASURES]
    assert "P@k " in outcome.out
    assert "nDCG[@k] " in outcome.out


@pytest.mark.parametrize("name", ["nDCG", "ndcg_cut_10", "nDCG(gain=exp)@10"])
def test_measures_explains_one(name: str, cli: Command) -> None:
    out = cli("measures", name).out
    assert " ".join(out.split()).startswith(" ".join(f"nDCG[@k]: {MEASURES['nDCG'].help}".split()))
    assert max(map(len, out.splitlines())) <= 80
    assert "\nDefaults: gain=linear, discount=log2, rel=None\n" in out
    assert "ndcg_cut_<number>, ndcg_burges" in out


def test_measures_does_not_know_one(cli: Command) -> None:
    fails(cli("measures", "ndgc"), f"unknown measure 'ndgc'; did you mean 'nDCG'? {ALL}")


def test_convert(cli: Command, here: Path) -> None:
    assert cli("convert", "good.run", "run.jsonl.gz") == Outcome(0, "", "")
    first = gzip.decompress((here / "run.jsonl.gz").read_bytes()).split(b"\n")[0]
    assert first == b'{"query_id": "q1", "doc_id": "d3", "rank": 1, "score": 12.1}'
    assert cli("convert", "run.jsonl.gz", "-", "--to", "trec", "--tag", "A") == Outcome(0, RUN, "")
    assert cli("convert", "-", "-", "--to", "csv", stdin=QRELS).out == (
        "query_id,doc_id,relevance\nq1,d1,3\nq1,d2,0\nq1,d3,2\nq2,d9,1\nq3,x,1\n"
    )


def test_convert_to_no_known_format(cli: Command) -> None:
    outcome = cli("convert", "good.run", "run.xls")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert outcome.err.startswith("error: run.xls: the suffix names no format; expected .trec, ")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell: str, cli: Command) -> None:
    outcome = cli("completion", shell)
    assert outcome.code == 0
    assert f"_RANKGAUGE_COMPLETE={shell}_complete" in outcome.out


@pytest.mark.parametrize(
    ("words", "found"),
    [("rankgauge ev", ["eval"]), ("rankgauge eval --me", ["--measure", "--measures-from", "--memory"])],
)
def test_completion_completes(words: str, found: list[str]) -> None:
    program = Path(sysconfig.get_path("scripts")) / "rankgauge"
    wanted = {"_RANKGAUGE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    done = subprocess.run([program], env=os.environ | wanted, capture_output=True, text=True)
    assert [line.partition(",")[2] for line in done.stdout.splitlines()] == found


@pytest.mark.parametrize("words", [[], *([name] for name in command_line.COMMANDS)])
def test_help(words: list[str], cli: Command) -> None:
    outcome = cli(*words, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert "Usage: " in outcome.out
    assert "Examples:" in outcome.out
    if not words:
        assert {*re.findall(r"[\w-]+", outcome.out)} >= {*command_line.COMMANDS}


# ---- the process ----------------------------------------------------------------------------------------------------


HEAVY = {"numpy", "polars", "pandas", "scipy", "pyarrow", "rich"}
HEAVY |= {"sqlalchemy", "jinja2", "fastapi", "starlette", "pydantic", "uvicorn", "httpx2", "jmespath", "argon2"}
# What only other formats, large files, ties or a store need.
ELSEWHERE = {"csv", "glob", "json", "shlex", "unicodedata", "urllib.parse"}
ELSEWHERE |= {"rankgauge.read.cells", "rankgauge.read.pieces", "rankgauge.read.table_rows"}
ELSEWHERE |= {"rankgauge.matching.grouping", "rankgauge.measures.bands.bands", "rankgauge.store.project"}


def heavy(code: str, among: Set[str] = HEAVY, cache: Path | None = None) -> set[str]:
    """Which of the libraries that are slow to import some code imports, beside those that a bare Python has: other
    packages of the environment may bring some in as soon as it starts. In a cache there is what was compiled before."""
    report = f"print('HEAVY', *{among!r} & {{*sys.modules}} - before)"
    program = f"import sys; before = {{*sys.modules}}\n{code}\n{report}"
    here = os.environ | ({} if cache is None else {"PYTHONPYCACHEPREFIX": str(cache), "PYTHONDONTWRITEBYTECODE": ""})
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=here)
    return {*done.stdout.partition("HEAVY")[2].split()}


def calling(*words: str) -> str:
    return (
        f"import sys; sys.argv = {['rankgauge', *words]!r}\nfrom rankgauge.cli import main\n"
        "try: main()\nexcept SystemExit as exit: assert not exit.code"
    )


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert heavy("import rankgauge") == set()


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["--version"],
        ["eval", "--help"],
        ["compare", "--help"],
        ["bench", "--help"],
        ["trec_eval", "--help"],
    ],
)
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    assert heavy(calling(*words)) == set()


@pytest.mark.parametrize(
    "words", [["eval", "qrels.txt", "good.run"], ["trec_eval", "-m", "all_trec", "qrels.txt", "good.run"]]
)
def test_a_small_evaluation_imports_numpy_only(words: list[str], here: Path) -> None:
    heavy(calling(*words), cache=here / "compiled")  # to compile letters such as Σ, Python itself imports unicodedata
    assert heavy(calling(*words), HEAVY | ELSEWHERE, here / "compiled") <= {"numpy"}


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["measures"],
        ["eval", "--help"],
        ["eval", "qrels.txt", "good.run", "--per-query"],
        ["trec_eval", "-q", "qrels.txt", "good.run"],
        ["convert", "good.run", "-"],
    ],
)
def test_a_closed_pipe_is_silent(words: list[str], here: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = real(*words, stdout=writing)
    os.close(writing)
    assert done == Outcome(0, "", "")


def test_head_gets_its_line(here: Path) -> None:
    """More output than a pipe holds, of which one line is read."""
    (here / "qrels.many").write_text("".join(f"query{i:06} 0 d 1\n" for i in range(5000)))
    (here / "many.run").write_text("".join(f"query{i:06} Q0 d 1 1 t\n" for i in range(5000)))
    words = ["eval", "qrels.many", "many.run", "--per-query", "--format", "csv"]
    process = subprocess.Popen([*COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"run,query_id,nDCG@10\n"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
@pytest.mark.parametrize("words", [["measures"], ["eval", "qrels.txt", "good.run"], ["convert", "good.run", "-"]])
def test_a_full_disk(words: list[str], here: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = real(*words, stdout=full.fileno())
    fails(done, "standard output: No space left on device")


def interrupted(process: subprocess.Popen[bytes]) -> bytes:
    """What a process says when it is interrupted; again, if the first interrupt came just before Python's read waits,
    which sees only those that come while it does."""
    for _ in range(5):
        process.send_signal(signal.SIGINT)
        try:
            return process.communicate(timeout=10)[1]
        except subprocess.TimeoutExpired:
            continue
    process.kill()
    raise AssertionError("the command did not end when it was interrupted")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize(
    "words", [["eval", "qrels.txt", "slow.run", "-o", "out.txt"], ["convert", "--run", "slow.run", "out.txt"]]
)
def test_an_interrupt_leaves_nothing_half_written(words: list[str], here: Path) -> None:
    os.mkfifo("slow.run")
    (here / "out.txt").write_text("old")
    before = {*os.listdir()}
    # A process started in the background may ignore interrupts; this one must not.
    code = (
        "import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "runpy.run_module('rankgauge', run_name='__main__', alter_sys=True)"
    )
    process = subprocess.Popen([sys.executable, "-c", code, *words], stderr=subprocess.PIPE)
    rescue = threading.Timer(120, lambda: os.open("slow.run", os.O_RDONLY | os.O_NONBLOCK))
    rescue.start()
    with process, open("slow.run", "wb") as pipe:  # opens when the command has opened it, too
        rescue.cancel()
        pipe.write(RUN.encode())
        pipe.flush()
        message = interrupted(process)
    assert (process.returncode, message.split()) == (130, [b"interrupted"])
    assert (here / "out.txt").read_text() == "old"
    assert {*os.listdir()} == before


def test_an_interrupt_where_python_cannot_raise_it_is_not_lost(here: Path) -> None:
    """An object's end is such a place: the interrupt is printed there, and what runs would run on."""
    (here / "slow.py").write_text(
        "import signal, time\nimport rankgauge\n"
        "class Ending:\n    def __del__(self): signal.raise_signal(signal.SIGINT)\n\n"
        "@rankgauge.measure()\n"
        "def Slow(hits: rankgauge.Hits) -> object:\n"
        '    """Slow."""\n'
        "    signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "    Ending()\n"
        "    time.sleep(20)\n"
        "    return hits.retrieved * 0.0\n"
    )
    done = real("eval", "qrels.txt", "good.run", "-m", "Slow", "--measures-from", "slow.py")
    assert (done.code, done.out, done.err.split()) == (130, "", ["interrupted"])


def test_an_interrupt_while_modules_are_read() -> None:
    code = (
        "import runpy, sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, *more):\n"
        "        if name == 'click':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "runpy.run_module('rankgauge', run_name='__main__', alter_sys=True)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


@pytest.mark.parametrize(
    "words",
    [
        ("eval", "no\x1b[31mne.txt", "run.txt"), ("eval", "qrels.txt", "be\x07ll\x1b[31m.run"),
        ("eval", "qrels.txt", "good.run", "--by", "by\x1b[31m.csv"),
        ("eval", "qrels.txt", "good.run", "-o", "x.\x1b[31m"),
    ],
)  # fmt: skip
def test_messages_give_a_terminal_no_orders(words: tuple[str, ...], command: Command, here: Path) -> None:
    done = command(*words, cwd=here)
    assert done.code == 2
    assert "\x1b" not in done.err
    assert "\x07" not in done.err
    assert "\N{REPLACEMENT CHARACTER}[31m" in done.err or "\\x1b[31m" in done.err


def test_warnings_give_a_terminal_no_orders(command: Command, here: Path) -> None:
    (here / "be\x07ll.run").write_text("q1 Q0 nowhere 1 1.0 t\n")
    done = command("eval", "qrels.txt", "be\x07ll.run", cwd=here)
    assert "warning: " in done.err
    assert "\x07" not in done.err + done.out


def test_the_roles_of_columns_are_those_that_reading_knows() -> None:
    from rankgauge.cli.options import ROLES
    from rankgauge.read.names import SPELLINGS

    assert list(ROLES) == list(SPELLINGS)


def test_formats_named_by_the_user(cli: Command, here: Path) -> None:
    (here / "judged.csv").write_text("q1 0 d1 1\n")
    (here / "found.json").write_text("q1 Q0 d1 1 9.5 tag\n")
    named = cli("eval", "judged.csv", "found.json", "--qrels-format", "trec", "--run-format", "trec", "-m", "RR")
    assert named.out.splitlines()[1].split() == ["found", "1", "1.0000"]
    unknown = cli("eval", "judged.csv", "found.json", "--qrels-format", "trec", "--run-format", "treck")
    assert unknown.code == 2
    assert "trec" in unknown.err


def test_a_run_given_as_judgments_is_noticed(cli: Command, here: Path) -> None:
    (here / "r.csv").write_text("query_id,doc_id,rank,score\nq1,d1,1,9.5\n")
    outcome = cli("eval", "r.csv", "good.run")
    assert outcome.code == 2
    assert "looks like a run; are judgments and run swapped?" in outcome.err


def test_three_columns_are_told_apart_by_what_they_hold(cli: Command, here: Path) -> None:
    (here / "three.tsv").write_text("q1\td1\t57\nq1\td9\t33\n")
    (here / "trec.run").write_text("q1 Q0 d1 1 57 t\nq1 Q0 d9 2 33 t\n")
    three, trec = (cli("eval", "qrels.txt", f"x={name}", "--format", "csv") for name in ("three.tsv", "trec.run"))
    assert (three.code, three.out) == (0, trec.out)
    outcome = cli("eval", "qrels.txt", "three.tsv", "--run-format", "msmarco")
    assert outcome.code == 2
    assert "does not look like a rank" in outcome.err
    assert outcome.err.endswith("If it is a score: --run-format headless\n")
    assert cli("eval", "qrels.txt", "three.tsv", "--run-format", "headless").code == 0


def test_two_runs_of_one_given_name(cli: Command) -> None:
    outcome = cli("eval", "qrels.txt", "x=good.run", "x=worse.run")
    assert outcome == Outcome(2, "", "error: two runs are named x; give each a name of its own\n")


def test_the_first_parameters_of_a_trec_eval_measure_count(cli: Command) -> None:
    outcome = cli("trec_eval", "-m", "P.5", "-m", "P.10", "qrels.txt", "good.run")
    assert outcome.out.startswith("P_5 ")
    assert outcome.err == "warning: P is asked for twice with parameters; P.5 counts, as in trec_eval\n"
    assert "twice" in cli("trec_eval", "-m", "P.5,5", "qrels.txt", "good.run").err


def test_groups_beside_every_query(cli: Command, here: Path) -> None:
    (here / "seg.csv").write_text("query_id,segment\nq1,head\nq2,tail\n")
    outcome = cli("eval", "qrels.txt", "good.run", "-m", "RR", "--by", "seg.csv", "-q", "--format", "csv")
    assert [line.split(",")[:3] for line in outcome.out.splitlines()][:3] == [
        ["run", "query_id", "group"],
        ["good", "q1", "head"],
        ["good", "q2", "tail"],
    ]


def test_the_suffix_of_the_output_is_its_format(cli: Command, here: Path) -> None:
    cli("eval", "qrels.txt", "good.run", "-o", "out.json")
    assert json.loads((here / "out.json").read_text())["runs"][0]["run"] == "good"


def test_any_spelling_of_a_measure_is_explained(cli: Command) -> None:
    assert cli("measures", "precision").out.startswith("P@k: Precision")
    assert "Asked for: p=0.9, gain=graded" in cli("measures", "rbp").out
    assert "rbp.<number>" in cli("measures", "RBP").out
    assert cli("measures", "ndcg_cut").out.startswith("nDCG[@k]")


def test_measures_are_completed() -> None:
    from rankgauge.cli.options import complete_measures

    assert complete_measures(ANY, ANY, "nd") == ["nDCG@10", "nDCGrel"]


@pytest.mark.parametrize(
    ("closed", "words", "code", "message"),
    [
        (">&-", "eval qrels.txt good.run", 2, "error: standard output: "),
        ("<&-", "eval qrels.txt -", 2, "error: standard input: is empty"),
        (">&-", "eval qrels.txt good.run -o x.json", 0, ""),
        ("2>&-", "eval qrels.txt nowhere.run", 2, ""),
    ],
)
def test_closed_streams(closed: str, words: str, code: int, message: str, here: Path) -> None:
    done = subprocess.run(f"{sys.executable} -m rankgauge {words} {closed}", shell=True, capture_output=True, text=True)
    assert (done.returncode, done.stderr[: len(message)]) == (code, message)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("words", "given", "threads"), [("eval", "", "1"), ("search", "", ""), ("eval", "7", "7")])
def test_threads_for_matrices_are_for_functions_of_the_user(words: str, given: str, threads: str) -> None:
    code = (
        f"import os, sys; sys.argv = ['rankgauge', '{words}', '--help']; from rankgauge.cli import main\n"
        "try: main()\nexcept SystemExit: print(os.environ.get('OPENBLAS_NUM_THREADS', ''))"
    )
    own = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    own |= {"OPENBLAS_NUM_THREADS": given} if given else {}
    done = subprocess.run([sys.executable, "-c", code], env=own, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == threads


@pytest.mark.parametrize(
    ("words", "code", "last"), [("eval qrels.txt good.run", 0, ""), ("eval nowhere x", 2, "error")]
)
def test_a_command_ends_at_once_and_yet_in_order(words: str, code: int, last: str, here: Path) -> None:
    """Objects are not taken apart at the end; what was registered for it runs, and what was printed is there."""
    program = (
        "import atexit, sys\n"
        "class Object:\n    def __del__(self): sys.stdout.write('taken apart')\n"
        "kept = Object()\n"
        "atexit.register(print, 'registered')\n"
        f"sys.argv = ['rankgauge', *{words.split()!r}]\n"
        "from rankgauge.__main__ import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr[: len(last)]) == (code, last)
    assert done.stdout.endswith("registered\n")
    assert ("nDCG@10" in done.stdout) is (code == 0)


def test_a_command_that_is_profiled_ends_with_the_profile(here: Path) -> None:
    words = ["-m", "cProfile", "-m", "rankgauge", "eval", "qrels.txt", "good.run"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)
    assert "nDCG@10" in done.stdout
    assert "cumtime" in done.stdout


def test_a_command_with_a_thread_ends_as_python_does(here: Path) -> None:
    program = (
        "import sys, threading, time\n"
        "threading.Thread(target=lambda: (time.sleep(0.5), print('the thread has ended'))).start()\n"
        "sys.argv = ['rankgauge', 'eval', 'qrels.txt', 'good.run']\n"
        "from rankgauge.__main__ import main\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "the thread has ended")
