"""Writing: what is written is read back equal, and a file is there whole or not at all."""

from __future__ import annotations

import gzip
import importlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import rankgauge
from rankgauge.errors import DuplicateError, FormatError, InputError
from rankgauge.read import FORMATS, Judgments, Run, read_judgments, read_run
from rankgauge.writers.write import WRITERS, write

module = importlib.import_module("rankgauge.writers.write")
files = importlib.import_module("rankgauge.writers.files")

SCORED = [name for name in WRITERS if len(FORMATS[name].kinds) == 2]
SUFFIXES = ["", ".gz", ".bz2", ".xz", ".zst"]
PLAIN = [name for name in WRITERS if name in ("trec", "msmarco")]
FREE = [name for name in SCORED if name not in PLAIN]

numbers = st.floats(allow_nan=False, allow_infinity=False)
plain_ids = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1).filter(
    lambda text: text[0] not in "#\ufeff"
)
# Formats of text cannot hold NUL, nor tell an empty cell from a missing one.
free_ids = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)


def rows(ids: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, dict[str, float]]]:
    return st.dictionaries(ids, st.dictionaries(ids, numbers, min_size=1), min_size=1)


def forms(kind: type[Judgments] | type[Run], nested: dict[str, dict[str, float]]) -> list[Any]:
    """The same record as nested dicts and as columns."""
    return [kind(nested), kind(kind(nested).columns)]


def test_there_is_a_writer_for_every_format() -> None:
    assert list(WRITERS) == [name for name in FORMATS if name != "headless"]


def test_a_table_has_a_header(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"headless is read and not written; expected trec, msmarco, .* or arrow"):
        write(Run(NESTED), tmp_path / "run.csv", format="headless")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("layer", SUFFIXES)
@pytest.mark.parametrize("format", SCORED)
class TestRoundTrip:
    settings = settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

    def ids(self, format: str) -> st.SearchStrategy[str]:
        return plain_ids if format in PLAIN else free_ids

    def test_runs(self, format: str, layer: str, tmp_path: Path) -> None:
        path = tmp_path / f"file{FORMATS[format].suffixes[0]}{layer}"

        @self.settings
        @given(rows(self.ids(format)))
        @example({"q": {"a": 1e-300, "b": 0.1 + 0.2, "c": -0.0}})
        @example({"[": {"PAR1": 0.0}, "qid,pid,score": {"{": 1.0}})
        def check(nested: dict[str, dict[str, float]]) -> None:
            texts = set()
            for record in forms(Run, nested):
                write(record, path)
                assert read_run(path).nested == nested
                texts.add(path.read_bytes())
            assert len(texts) == 1

        check()

    def test_judgments(self, format: str, layer: str, tmp_path: Path) -> None:
        path = tmp_path / f"file{FORMATS[format].suffixes[0]}{layer}"

        @self.settings
        @given(rows(self.ids(format)))
        @example({"q": {"a": 1.0, "b": 2.5, "c": -1.0, "d": 1e300}})
        def check(nested: dict[str, dict[str, float]]) -> None:
            for record in forms(Judgments, nested):
                write(record, path)
                assert read_judgments(path).nested == nested

        check()


NESTED = {"q2": {"a": 1.0, "b": 3.0, "é": 1.0, "z": 1.0}, "q1": {"d": 0.1}}


@pytest.mark.parametrize("record", forms(Run, NESTED), ids=["nested", "columns"])
class TestTexts:
    """What is in a file, to the byte: queries as they come, the best documents first, equal scores by descending id."""

    def text(self, record: Run, path: Path, **options: str) -> str:
        write(record, path, **options)
        return path.read_text()

    def test_trec(self, record: Run, tmp_path: Path) -> None:
        assert self.text(record, tmp_path / "run.txt", tag="me") == (
            "q2 Q0 b 1 3.0 me\nq2 Q0 é 2 1.0 me\nq2 Q0 z 3 1.0 me\nq2 Q0 a 4 1.0 me\nq1 Q0 d 1 0.1 me\n"
        )

    def test_msmarco(self, record: Run, tmp_path: Path) -> None:
        path = tmp_path / "run.tsv"
        assert self.text(record, path, format="msmarco") == "q2\tb\t1\nq2\té\t2\nq2\tz\t3\nq2\ta\t4\nq1\td\t1\n"
        assert read_run(path).nested == {"q2": {"b": -1.0, "é": -2.0, "z": -3.0, "a": -4.0}, "q1": {"d": -1.0}}

    def test_csv(self, record: Run, tmp_path: Path) -> None:
        assert self.text(record, tmp_path / "run.csv") == (
            "query_id,doc_id,rank,score\nq2,b,1,3.0\nq2,é,2,1.0\nq2,z,3,1.0\nq2,a,4,1.0\nq1,d,1,0.1\n"
        )

    def test_json(self, record: Run, tmp_path: Path) -> None:
        text = self.text(record, tmp_path / "run.json")
        assert text == '{\n"q2": {"b": 3.0, "é": 1.0, "z": 1.0, "a": 1.0},\n"q1": {"d": 0.1}\n}\n'

    def test_json_lines(self, record: Run, tmp_path: Path) -> None:
        lines = self.text(record, tmp_path / "run.jsonl").splitlines()
        assert json.loads(lines[0]) == {"query_id": "q2", "doc_id": "b", "rank": 1, "score": 3.0}

    def test_parquet(self, record: Run, tmp_path: Path) -> None:
        write(record, tmp_path / "run.parquet")
        frame = pl.read_parquet(tmp_path / "run.parquet")
        assert frame.columns == ["query_id", "doc_id", "rank", "score"]
        assert frame["doc_id"].to_list() == ["b", "é", "z", "a", "d"]
        assert frame["rank"].to_list() == [1, 2, 3, 4, 1]

    def test_no_suffix_is_trec(self, record: Run, tmp_path: Path) -> None:
        assert self.text(record, tmp_path / "run").startswith("q2 Q0 b 1 3.0 rankgauge\n")


def test_grades_are_whole_where_they_can_be(tmp_path: Path) -> None:
    record = Judgments({"q": {"a": 2.0, "b": 0.5, "c": -1.0}})
    write(record, tmp_path / "qrels.txt")
    assert (tmp_path / "qrels.txt").read_text() == "q 0 a 2\nq 0 b 0.5\nq 0 c -1\n"
    write(Judgments({"q": {"a": 2.0}}), tmp_path / "qrels.parquet")
    assert pl.read_parquet(tmp_path / "qrels.parquet")["relevance"].dtype == pl.Int64


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.txt.gz", "b.txt.gz"):
        write(Run(NESTED), tmp_path / name)
    assert (tmp_path / "a.txt.gz").read_bytes() == (tmp_path / "b.txt.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.txt.gz").read_bytes()).startswith(b"q2 Q0 b 1 3.0")


def test_standard_output(monkeypatch: pytest.MonkeyPatch) -> None:
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", type("Output", (), {"buffer": buffer}))
    write(Judgments({"q": {"d": 1.0}}), "-", format="csv")
    assert buffer.getvalue() == b"query_id,doc_id,relevance\nq,d,1\n"


@pytest.mark.parametrize("identifier", ["a b", "", "a\tb", "a\n", " a"])
@pytest.mark.parametrize("format", PLAIN)
def test_ids_with_blanks_are_refused_by_name(identifier: str, format: str, tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    for nested in ({identifier: {"d": 1.0}}, {"q": {identifier: 1.0}}):
        with pytest.raises(FormatError) as caught:
            write(Run(nested), path, format=format)
        assert f"the id {identifier!r} is empty or holds blanks" in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_a_tag_with_blanks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="the id 'my run' is empty or holds blanks"):
        write(Run(NESTED), tmp_path / "run.txt", tag="my run")


@pytest.mark.parametrize("query", ["#1", "\ufeffq", "q\0"])
def test_ids_that_would_be_read_as_something_else(query: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="would be read as something else; write jsonl or parquet"):
        write(Run({query: {"d": 1.0}}), tmp_path / "run.txt")
    write(Run({query: {"d": 1.0}}), tmp_path / "run.jsonl")
    assert read_run(tmp_path / "run.jsonl").nested == {query: {"d": 1.0}}


@pytest.mark.parametrize("identifier", ["", "a\0"])
def test_ids_that_a_cell_cannot_hold(identifier: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="is empty or holds NUL; write jsonl or parquet"):
        write(Run({"q": {identifier: 1.0}}), tmp_path / "run.csv")


def test_ids_that_are_no_text(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"run, query 'q', document '\\ud800': the id .* holds half a character"):
        write(Run({"q": {"\ud800": 1.0}}), tmp_path / "run.txt")
    with pytest.raises(FormatError, match=r"run, query '\\ud800': the id '\\ud800' holds half a character"):
        write(Run({"\ud800": {"d": 1.0}}), tmp_path / "run.txt")
    with pytest.raises(FormatError, match=r"run\.txt: .*\\ud800.* cannot be written as UTF-8"):
        write(Run({"q": {"d": 1.0}}), tmp_path / "run.txt", tag="\ud800")
    assert os.listdir(tmp_path) == []


def test_msmarco_has_no_grades(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="msmarco is a format of runs and has no grades; write judgments as trec"):
        write(Judgments(NESTED), tmp_path / "qrels.txt", format="msmarco")


@pytest.mark.parametrize("format", WRITERS)
@pytest.mark.parametrize("score", [float("nan"), float("inf")])
def test_numbers_that_are_not_finite(format: str, score: float, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=f"query 'q', document 'd': {score} is not a finite number"):
        write(Run({"q": {"d": score}}), tmp_path / "file", format=format)


@pytest.mark.parametrize("format", WRITERS)
def test_a_document_twice_in_columns(format: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"qid": ["q", "q"], "pid": ["d", "d"], "score": [1.0, 2.0]})
    with pytest.raises(DuplicateError, match=r"row 2: document 'd' is there twice for query 'q' \(first at row 1\)"):
        write(read_run(frame), tmp_path / "file", format=format)


def test_a_judgment_repeated_in_columns_is_written_once(tmp_path: Path) -> None:
    frame = pl.DataFrame({"qid": ["q", "p", "q"], "pid": ["d", "d", "d"], "rel": [1, 2, 1]})
    write(read_judgments(frame), tmp_path / "qrels.txt")
    assert (tmp_path / "qrels.txt").read_text() == "q 0 d 1\np 0 d 2\n"


class TestWholeOrNotAtAll:
    @pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError, SystemExit])
    def test_nothing_is_left_of_an_interrupted_file(
        self, error: type[BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupted(record: object, stream: io.BytesIO, tag: str) -> None:
            stream.write(b"half")
            assert len(os.listdir(tmp_path)) == 2
            raise error

        (tmp_path / "run.txt").write_text("old")
        monkeypatch.setitem(module.WRITERS, "trec", interrupted)
        with pytest.raises(error):
            write(Run(NESTED), tmp_path / "run.txt")
        assert os.listdir(tmp_path) == ["run.txt"]
        assert (tmp_path / "run.txt").read_text() == "old"

    def test_a_file_is_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "run.txt").write_text("old")
        write(Run({"q": {"d": 1.0}}), tmp_path / "run.txt")
        assert (tmp_path / "run.txt").read_text() == "q Q0 d 1 1.0 rankgauge\n"
        assert os.listdir(tmp_path) == ["run.txt"]

    def test_a_link_stays_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "real.txt").write_text("old")
        (tmp_path / "link.txt").symlink_to(tmp_path / "real.txt")
        write(Run({"q": {"d": 1.0}}), tmp_path / "link.txt")
        assert (tmp_path / "link.txt").is_symlink()
        assert (tmp_path / "real.txt").read_text() == "q Q0 d 1 1.0 rankgauge\n"

    def test_a_device_is_written_to(self) -> None:
        write(Run(NESTED), os.devnull, format="trec")
        assert not os.path.isfile(os.devnull)
        assert not [name for name in os.listdir(os.path.dirname(os.devnull)) if name.endswith(".partial")]


class TestTargets:
    def test_a_missing_folder(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=f"no/run.txt: there is no folder {tmp_path}/no; make it first"):
            write(Run(NESTED), tmp_path / "no" / "run.txt")

    def test_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="is a folder; name a file in it"):
            write(Run(NESTED), tmp_path, format="trec")

    @pytest.mark.parametrize(
        ("error", "message"),
        [(PermissionError(13, "no"), "permission denied; write elsewhere"), (OSError(28, "full"), "cannot be written")],
    )
    def test_not_writable(self, error: OSError, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> None:
            raise error

        monkeypatch.setattr(files, "open", refuse, raising=False)
        with pytest.raises(InputError, match=message):
            write(Run(NESTED), tmp_path / "run.txt")

    def test_an_unknown_suffix(self, tmp_path: Path) -> None:
        with pytest.raises(
            InputError, match=r"run.parqet: the suffix names no format; expected .trec, .* or say format="
        ):
            write(Run(NESTED), tmp_path / "run.parqet")

    def test_an_unknown_format(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"unknown format 'jsn'; did you mean 'json'\? Expected trec, "):
            write(Run(NESTED), tmp_path / "run", format="jsn")


def test_what_a_killed_writer_left_is_removed_by_the_next(tmp_path: Path) -> None:
    """Not what another may be writing at this moment, nor what bears another name."""
    old, fresh = tmp_path / ".run.txt.0123abcd.partial", tmp_path / ".run.txt.4567cdef.partial"
    others = [
        tmp_path / ".other.txt.0123abcd.partial",
        tmp_path / ".run.txt.partial",
        tmp_path / "run.txt.0123abcd.partial",
    ]
    for path in (old, fresh, *others):
        path.write_text("half")
        if path != fresh:
            os.utime(path, (1_000_000_000, 1_000_000_000))
    write(read_run({"q": {"a": 1.0}}), tmp_path / "run.txt")
    assert sorted(tmp_path.iterdir()) == sorted([fresh, *others, tmp_path / "run.txt"])


GRADES = {"q1": {"d1": 3, "d2": 0}}
SCORES = {"q1": {"d1": 2.5, "d2": 1.5}}


@pytest.mark.parametrize(
    ("given", "name", "first"),
    [
        (SCORES, "x.run", "q1 Q0 d1 1 2.5 rankgauge"),
        (SCORES, "x.txt", "q1 Q0 d1 1 2.5 rankgauge"),
        ({"q1": ["d1", "d2"]}, "x.txt", "q1 Q0 d1 1 "),
        (GRADES, "x.run", "q1 Q0 d1 1 3.0 rankgauge"),
        (GRADES, "x.qrels", "q1 0 d1 3"),
        (GRADES, "qrels.tsv", "query_id\tdoc_id\trelevance"),
        ([{"query_id": "q1", "doc_id": "d1", "relevance": 3}], "x.txt", "q1 0 d1 3"),
        ({"query_id": ["q1"], "doc_id": ["d1"], "score": [3]}, "x.txt", "q1 Q0 d1 1 3.0 rankgauge"),
    ],
)
def test_what_evaluate_takes_is_written_too(given: Any, name: str, first: str, tmp_path: Path) -> None:
    rankgauge.write(given, tmp_path / name)
    assert (tmp_path / name).read_text().splitlines()[0].startswith(first)


@pytest.mark.parametrize("library", ["pandas", "polars", "polars lazy", "pyarrow"])
def test_so_is_a_frame(library: str, tmp_path: Path) -> None:
    made = pytest.importorskip(library.split()[0])
    graded, scored = ({"query_id": ["q1"], "doc_id": ["d1"], name: [1]} for name in ("relevance", "score"))
    frame = made.table if library == "pyarrow" else made.DataFrame
    graded, scored = frame(graded), frame(scored)
    if library.endswith("lazy"):
        graded, scored = graded.lazy(), scored.lazy()
    rankgauge.write(graded, tmp_path / "a.txt")
    rankgauge.write(scored, tmp_path / "b.txt")
    assert ((tmp_path / "a.txt").read_text(), (tmp_path / "b.txt").read_text()) == (
        "q1 0 d1 1\n",
        "q1 Q0 d1 1 1.0 rankgauge\n",
    )


def test_what_may_be_either_has_to_be_named(tmp_path: Path) -> None:
    path = str(tmp_path / "x.jsonl")
    with pytest.raises(InputError, match=r'may be judgments or a run; write kind="judgments" or kind="run"'):
        rankgauge.write(GRADES, path)
    with pytest.raises(InputError, match=r"kind='qrels'; expected kind=\"judgments\" or kind=\"run\""):
        rankgauge.write(GRADES, path, kind="qrels")
    with pytest.raises(InputError, match=r"what is written first, then the path: write\(run, 'x.run'\)"):
        rankgauge.write("x.run", GRADES)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="expected"):
        rankgauge.write(3, tmp_path / "x.run")
    assert [*tmp_path.iterdir()] == []
    rankgauge.write(GRADES, path, kind="run")
    assert list(rankgauge.read_run(path)) == [("q1", "d1", 3.0), ("q1", "d2", 0.0)]
