"""`rankgauge convert`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from command import Command
from rankgauge.read import FORMATS, read_judgments, read_run

RUN = "q Q0 a 1 2.5 mine\nq Q0 b 2 1.5 mine\n"


@pytest.fixture
def cli(command: Command) -> Command:
    """The command `convert`."""
    return partial(command, "convert")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run.txt"
    path.write_text(RUN)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".json", ".jsonl", ".parquet", ".arrow", ".csv.gz", ".trec.zst"])
def test_a_run_there_and_back(suffix: str, cli: Command, run: Path, tmp_path: Path) -> None:
    there, back = tmp_path / f"there{suffix}", tmp_path / "back.txt"
    assert cli(run, there) == (0, "", "")
    assert read_run(there).nested == {"q": {"a": 2.5, "b": 1.5}}
    which = ["--run"] if suffix == ".json" else []
    assert cli(*which, there, back, "--tag", "mine") == (0, "", "")
    assert back.read_text() == RUN


def test_judgments_are_recognised(cli: Command, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a 2\n")
    assert cli(tmp_path / "qrels", tmp_path / "qrels.csv") == (0, "", "")
    assert (tmp_path / "qrels.csv").read_text() == "query_id,doc_id,relevance\nq,a,2\n"


def test_the_tag_is_kept_unless_another_is_given(cli: Command, run: Path, tmp_path: Path) -> None:
    assert cli(run, tmp_path / "a.txt") == (0, "", "")
    assert cli(run, tmp_path / "b.txt", "--tag", "other") == (0, "", "")
    assert (tmp_path / "a.txt").read_text() == RUN
    assert (tmp_path / "b.txt").read_text() == RUN.replace("mine", "other")


def test_standard_input_and_output(cli: Command) -> None:
    result = cli("-", "-", "--to", "csv", stdin=RUN)
    assert result == (0, "query_id,doc_id,rank,score\nq,a,1,2.5\nq,b,2,1.5\n", "")


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.json", '{"q": {"a": 1}}'), ("a.tsv", "query-id\tcorpus-id\tscore\nq\ta\t1\n")],
)
def test_where_it_could_be_either_it_asks(name: str, text: str, cli: Command, tmp_path: Path) -> None:
    source, target = tmp_path / name, tmp_path / "out.txt"
    source.write_text(text)
    refused = cli(source, target)
    assert (refused.code, refused.out) == (2, "")
    assert f"{name}: may be judgments or a run; say which with --judgments or --run" in refused.err
    assert cli(source, target, "--judgments") == (0, "", "")
    assert read_judgments(target).nested == {"q": {"a": 1.0}}
    assert cli(source, target, "--run") == (0, "", "")
    assert read_run(target).nested == {"q": {"a": 1.0}}


def test_formats_and_columns_can_be_named(cli: Command, tmp_path: Path) -> None:
    source, target = tmp_path / "odd", tmp_path / "out"
    source.write_text("me,you,bm25\nq,a,1\n")
    columns = [word for column in ("query_id=me", "doc_id=you", "score=bm25") for word in ("--column", column)]
    assert cli(source, target, "--from", "csv", "--to", "jsonl", *columns) == (0, "", "")
    assert target.read_text() == '{"query_id": "q", "doc_id": "a", "rank": 1, "score": 1.0}\n'


@pytest.mark.parametrize("column", ["me", "me=you", "query_id="])
def test_a_column_is_role_and_name(column: str, cli: Command, run: Path, tmp_path: Path) -> None:
    result = cli(run, tmp_path / "out.txt", "--column", column)
    assert result.code == 2
    assert "is not ROLE=NAME" in result.err


def test_duplicates(cli: Command, tmp_path: Path) -> None:
    source, target = tmp_path / "run.txt", tmp_path / "out.txt"
    source.write_text("q Q0 a 1 1 x\nq Q0 a 2 3 x\n")
    refused = cli(source, target)
    assert (refused.code, refused.out) == (2, "")
    assert "--duplicates first|best" in refused.err
    assert cli(source, target, "--duplicates", "best") == (0, "", "")
    assert read_run(target).nested == {"q": {"a": 3.0}}


def test_help_shows_examples_and_every_format(cli: Command) -> None:
    text = cli("--help").out
    assert "rankgauge convert run.bm25.txt run.parquet" in text
    for name in FORMATS:
        assert f"\n    {name} " in text
