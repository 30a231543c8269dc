"""`rankgauge convert`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rankgauge.cli.convert import convert
from rankgauge.errors import DuplicateError, InputError
from rankgauge.read import FORMATS, read_judgments, read_run

RUN = "q Q0 a 1 2.5 mine\nq Q0 b 2 1.5 mine\n"


def invoke(*words: str | Path, text: str | None = None) -> Result:
    return CliRunner().invoke(convert, [str(word) for word in words], input=text, catch_exceptions=False)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    path = tmp_path / "run.txt"
    path.write_text(RUN)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".json", ".jsonl", ".parquet", ".arrow", ".csv.gz", ".trec.zst"])
def test_a_run_there_and_back(suffix: str, run: Path, tmp_path: Path) -> None:
    there, back = tmp_path / f"there{suffix}", tmp_path / "back.txt"
    assert invoke(run, there).exit_code == 0
    assert read_run(there).nested == {"q": {"a": 2.5, "b": 1.5}}
    which = ["--run"] if suffix == ".json" else []
    assert invoke(*which, there, back, "--tag", "mine").exit_code == 0
    assert back.read_text() == RUN


def test_judgments_are_recognised(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a 2\n")
    assert invoke(tmp_path / "qrels", tmp_path / "qrels.csv").exit_code == 0
    assert (tmp_path / "qrels.csv").read_text() == "query_id,doc_id,relevance\nq,a,2\n"


def test_the_tag_is_kept_unless_another_is_given(run: Path, tmp_path: Path) -> None:
    invoke(run, tmp_path / "a.txt")
    invoke(run, tmp_path / "b.txt", "--tag", "other")
    assert (tmp_path / "a.txt").read_text() == RUN
    assert (tmp_path / "b.txt").read_text() == RUN.replace("mine", "other")


def test_standard_input_and_output() -> None:
    result = invoke("-", "-", "--to", "csv", text=RUN)
    assert result.stdout == "query_id,doc_id,rank,score\nq,a,1,2.5\nq,b,2,1.5\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.json", '{"q": {"a": 1}}'), ("a.tsv", "query-id\tcorpus-id\tscore\nq\ta\t1\n")],
)
def test_where_it_could_be_either_it_asks(name: str, text: str, tmp_path: Path) -> None:
    source, target = tmp_path / name, tmp_path / "out.txt"
    source.write_text(text)
    with pytest.raises(InputError, match=f"{name}: may be judgments or a run; say which with --judgments or --run"):
        invoke(source, target)
    assert invoke(source, target, "--judgments").exit_code == 0
    assert read_judgments(target).nested == {"q": {"a": 1.0}}
    assert invoke(source, target, "--run").exit_code == 0
    assert read_run(target).nested == {"q": {"a": 1.0}}


def test_formats_and_columns_can_be_named(tmp_path: Path) -> None:
    source, target = tmp_path / "odd", tmp_path / "out"
    source.write_text("me,you,bm25\nq,a,1\n")
    columns = [word for column in ("query_id=me", "doc_id=you", "score=bm25") for word in ("--column", column)]
    assert invoke(source, target, "--from", "csv", "--to", "jsonl", *columns).exit_code == 0
    assert target.read_text() == '{"query_id": "q", "doc_id": "a", "rank": 1, "score": 1.0}\n'


@pytest.mark.parametrize("column", ["me", "me=you", "query_id="])
def test_a_column_is_role_and_name(column: str, run: Path, tmp_path: Path) -> None:
    result = invoke(run, tmp_path / "out.txt", "--column", column)
    assert result.exit_code == 2
    assert "is not ROLE=NAME" in result.output


def test_duplicates(tmp_path: Path) -> None:
    source, target = tmp_path / "run.txt", tmp_path / "out.txt"
    source.write_text("q Q0 a 1 1 x\nq Q0 a 2 3 x\n")
    with pytest.raises(DuplicateError, match=r"--duplicates first\|best"):
        invoke(source, target)
    assert invoke(source, target, "--duplicates", "best").exit_code == 0
    assert read_run(target).nested == {"q": {"a": 3.0}}


def test_help_shows_examples_and_every_format() -> None:
    text = invoke("--help").output
    assert "rankgauge convert run.bm25.txt run.parquet" in text
    for name in FORMATS:
        assert f"\n    {name} " in text
