"""Bad files: each has one message that says where, what was found, what was expected, and what to do."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import rankgauge
from command import Command, Sized
from rankgauge.errors import FormatError, InputError, options_are
from rankgauge.read import read_judgments, read_run
from rankgauge.read import sources as files
from rankgauge.read.frames import panics_unseen
from rankgauge.read.names import SPELLINGS
from rankgauge.read.sources import Source


def fails(path: Path | str | Source, message: str, read: Callable[..., object] = read_run, **options: str) -> None:
    """Reading fails with exactly this message after the path."""
    with pytest.raises(InputError) as caught:
        read(path, **options)
    assert str(caught.value) == f"{path.name if isinstance(path, Source) else path}{message}"


def written(folder: Path, content: str | bytes, name: str = "file.txt") -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


NOTHING_FOUND = '; if the run found nothing, say so in JSON ({"q1": [], …}: its values are 0)'


class TestFiles:
    def test_missing_with_a_near_name(self, tmp_path: Path) -> None:
        written(tmp_path, "q d 1\n", "run.bm25.txt")
        fails(tmp_path / "run.bm52.txt", f": there is no such file; did you mean {tmp_path}/run.bm25.txt?")

    def test_missing_without_a_near_name(self, tmp_path: Path) -> None:
        fails(tmp_path / "x", f": there is no such file in {tmp_path}; check the path")

    def test_missing_folder(self, tmp_path: Path) -> None:
        folder = tmp_path / "no"
        fails(folder / "x", f": there is no such file, nor a folder '{folder}'; check the path")

    def test_a_folder(self, tmp_path: Path) -> None:
        alone = "a folder itself is read where it holds QUERY.json or part-* alone"
        fails(tmp_path, f": is a folder; name a file in it (it is empty); {alone}")
        for name in ("README", "a.run", "b.run"):
            (tmp_path / name).touch()
        several = f"or several as one run, in quotes: '{tmp_path}/*.run'"
        fails(tmp_path, f": is a folder; name a file in it (it holds README, a.run, b.run), {several}; {alone}")

    @pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="the superuser may read everything")
    def test_permission_denied(self, tmp_path: Path) -> None:
        path = written(tmp_path, "q d 1\n")
        path.chmod(0)
        fails(path, ": permission denied; make the file readable (chmod +r) or run as its owner")

    def test_permission_denied_as_the_system_says_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def deny(*_: object) -> None:
            raise PermissionError(13, "Permission denied")

        path = written(tmp_path, "q d 1\n")
        monkeypatch.setattr(files, "open", deny, raising=False)
        fails(path, ": permission denied; make the file readable (chmod +r) or run as its owner")

    @pytest.mark.parametrize("path", ["a\0b", "x" * 5000, __file__ + "/x"])
    def test_names_that_cannot_be(self, path: str) -> None:
        with pytest.raises(InputError, match="cannot be read"):
            read_run(path)

    @pytest.mark.parametrize("content", [b"", gzip.compress(b"")], ids=["plain", "compressed"])
    def test_empty(self, content: bytes, tmp_path: Path) -> None:
        path = written(tmp_path, content)
        fails(path, f": is empty; expected one row a line{NOTHING_FOUND}")
        fails(path, ": is empty; expected one row a line", read_judgments)

    def test_empty_standard_input(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "stdin", type("Input", (), {"buffer": io.BytesIO(b"")}))
        with pytest.raises(InputError, match=r"^standard input: is empty"):
            read_run("-")

    @pytest.mark.parametrize(
        ("content", "name"),
        [
            ("# nothing\n\n", "a.txt"),
            ("qid,pid,score\n", "a.csv"),
            ("\n", "a.jsonl"),
            ("{}", "a.json"),
            ("[]", "a.json"),
        ],
    )
    def test_no_rows(self, content: str, name: str, tmp_path: Path, sized: Sized) -> None:
        fails(sized(written(tmp_path, content, name)), f": holds no rows; expected at least one{NOTHING_FOUND}")

    @pytest.mark.parametrize("format", ["parquet", "ipc"])
    def test_no_rows_in_a_frame(self, format: str, tmp_path: Path) -> None:
        path = tmp_path / f"a.{format}"
        getattr(pl.DataFrame(schema={"qid": pl.String, "pid": pl.String, "score": pl.Float64}), f"write_{format}")(path)
        fails(path, f": holds no rows; expected at least one{NOTHING_FOUND}")

    def test_binary(self, tmp_path: Path) -> None:
        with pytest.raises(FormatError, match="holds NUL bytes, so it is neither text nor a known format"):
            read_judgments(written(tmp_path, b"\x00\x01\x02\x03" * 20))

    @pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
    def test_utf_16_without_its_mark(self, encoding: str, tmp_path: Path) -> None:
        with pytest.raises(
            FormatError, match=f"convert it first .iconv -f {encoding.upper().replace('6-', '6')} -t UTF-8"
        ):
            read_judgments(written(tmp_path, "q1 0 d1 1\n".encode(encoding)))

    def test_nul_in_a_later_line(self, tmp_path: Path, sized: Sized) -> None:
        path = written(tmp_path, b"q1 0 d1 1\n" * 10_000 + b"q1 0 d\x00 2 1\n")
        with pytest.raises(FormatError, match=r"file.txt:10001: holds NUL bytes, so it is not a text file: "):
            read_judgments(sized(path))

    @pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.jsonl", "a.json"])
    def test_not_utf8(self, name: str, tmp_path: Path, sized: Sized) -> None:
        content = {
            "a.txt": "q1 0 d1 1\nq1 0 dé 2\n",
            "a.csv": "qid,pid,rel\nq1,dé,2\n",
            "a.jsonl": '{"qid": "q1", "pid": "d1", "rel": 1}\n{"qid": "q1", "pid": "dé", "rel": 1}\n',
            "a.json": '{"q1": {"dé": 1}}',
        }[name]
        with pytest.raises(FormatError, match="is not UTF-8 text") as caught:
            read_judgments(sized(written(tmp_path, content.encode("latin-1"), name)))
        assert str(caught.value).startswith(f"{tmp_path}/{name}:{'' if name == 'a.json' else '2:'}")


CONTENT = ("".join(f"q{n} Q0 d{n * 7919 % 65521} 1 {n * 0.37} x\n" for n in range(20_000))).encode()
PACK = {
    "gz": ("gzip", gzip.compress(CONTENT)),
    "bz2": ("bzip2", bz2.compress(CONTENT)),
    "xz": ("xz", lzma.compress(CONTENT)),
    "zst": ("zstd", zstandard.ZstdCompressor().compress(CONTENT)),
}


@pytest.mark.parametrize("suffix", PACK)
class TestDamagedCompression:
    @pytest.fixture(autouse=True)
    def source(self, sized: Sized) -> None:
        self.sized = sized

    def refused(self, content: bytes, suffix: str, folder: Path) -> None:
        path = written(folder, content, f"run.txt.{suffix}")
        with pytest.raises(InputError) as caught:
            read_run(self.sized(path))
        assert re.fullmatch(
            rf"{path}: not a whole {PACK[suffix][0]} file \(.+\); fetch or compress it again, "
            "or take the suffix off its name if it is not compressed",
            str(caught.value),
        )

    @pytest.mark.parametrize("kept", [0.1, 0.5, 0.999])
    def test_truncated(self, suffix: str, kept: float, tmp_path: Path) -> None:
        content = PACK[suffix][1]
        self.refused(content[: int(len(content) * kept)], suffix, tmp_path)

    def test_corrupt(self, suffix: str, tmp_path: Path) -> None:
        content = bytearray(PACK[suffix][1])
        middle = len(content) // 2
        content[middle : middle + 400] = b"\xff" * 400
        self.refused(bytes(content), suffix, tmp_path)

    def test_not_compressed_at_all(self, suffix: str, tmp_path: Path) -> None:
        self.refused(CONTENT, suffix, tmp_path)


@pytest.mark.parametrize("format", ["parquet", "arrow"])
@pytest.mark.parametrize("kept", [0.1, 0.5, 0.99])
def test_a_truncated_frame(format: str, kept: float, tmp_path: Path) -> None:
    path = tmp_path / f"run.{format}"
    frame = pl.DataFrame({"qid": ["q"] * 1000, "pid": range(1000), "score": range(1000)})
    frame.write_parquet(path) if format == "parquet" else frame.write_ipc(path)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * kept)])
    with pytest.raises(InputError, match=rf"run.{format}: not a whole {format} file \(.+\); fetch or write it again"):
        read_run(path)


def test_a_damaged_frame_is_one_line_of_words(
    tmp_path: Path, command: Command, capfd: pytest.CaptureFixture[str]
) -> None:
    """Where Rust panics, too, which prints at length before Python hears of it."""
    path, stream = tmp_path / "run.arrow", io.BytesIO()
    pl.DataFrame({"qid": ["q"] * 200, "pid": range(200), "score": range(200)}).write_ipc(stream)
    qrels, damaged = written(tmp_path, "q 0 1 1\n"), 0
    for at in range(-240, -150):
        content = bytearray(stream.getvalue())
        content[at] ^= 16
        path.write_bytes(content)
        outcome = command("eval", qrels, path)
        if outcome.code:
            assert re.fullmatch(rf"error: {path}: .+\n", outcome.err)
            damaged += 1
    assert damaged
    assert capfd.readouterr() == ("", "")


def test_panics_alone_are_unseen_and_only_while_a_command_runs(capfd: pytest.CaptureFixture[str]) -> None:
    def printed(running: contextlib.AbstractContextManager[None], error: type[BaseException]) -> str:
        def fail() -> None:
            os.write(2, b"at length\n")
            raise error("gone")

        with pytest.raises(error), running, panics_unseen():
            fail()
        return capfd.readouterr().err

    panic = cast("type[BaseException]", pl.exceptions.PanicException)
    assert printed(options_are([]), panic) == ""
    assert printed(options_are([]), ValueError) == printed(contextlib.nullcontext(), panic) == "at length\n"


RUN_LINE = "q1 Q0 d1 1 9.5 x\n"
BAD_RUNS = {
    "five fields": (
        RUN_LINE + "q17 Q0 d3 4 7.1\n",
        ':2: expected 6 fields (query Q0 doc rank score tag), got 5: "q17 Q0 d3 4 7.1"',
    ),
    "judgments": (
        "q1 0 d1 1\n",
        ':1: expected 6 fields (query Q0 doc rank score tag), got 4: "q1 0 d1 1"'
        "; a line of 4 fields looks like judgments (query iteration doc grade)",
    ),
    "a score of words": (RUN_LINE + "q1 Q0 d2 2 high x\n", ":2: score 'high' is not a number: \"q1 Q0 d2 2 high x\""),
    "underscores": (RUN_LINE + "q1 Q0 d2 2 1_000 x\n", ":2: score '1_000' is not a number: \"q1 Q0 d2 2 1_000 x\""),
    "nan": (RUN_LINE + "q1 Q0 d2 2 nan x\n", ":2: score 'nan' is not a finite number: \"q1 Q0 d2 2 nan x\""),
    "inf": (RUN_LINE + "q1 Q0 d2 2 -inf x\n", ":2: score '-inf' is not a finite number: \"q1 Q0 d2 2 -inf x\""),
    "overflow": (RUN_LINE + "q1 Q0 d2 2 1e999 x\n", ":2: score '1e999' is not a finite number: \"q1 Q0 d2 2 1e999 x\""),
    "msmarco rank": ("q1 d1 1\nq1 d2 two\n", ':2: rank "two" is not an integer: "q1 d2 two"'),
    "msmarco underscores": ("q1 d1 1\nq1 d2 1_0\n", ':2: rank "1_0" is not an integer: "q1 d2 1_0"'),
    "msmarco blanks": (
        "q1\td1\t1\nq 1\td2\t2\n",
        ':2: expected 3 fields (query doc rank), got 4: "q 1\\td2\\t2"'
        "; a line of 4 fields looks like judgments (query iteration doc grade)",
    ),
    "msmarco fields": (
        "q1\td1\t1\nq1\td2\n",
        ':2: expected 3 fields (query doc rank), got 2: "q1\\td2"',
    ),
}


@pytest.mark.parametrize("case", BAD_RUNS)
def test_bad_lines_of_runs(case: str, tmp_path: Path, sized: Sized) -> None:
    content, message = BAD_RUNS[case]
    fails(sized(written(tmp_path, content)), message)


@pytest.mark.parametrize("rank", ["1.5", "first", "1_0", "9" * 30, "+-1"])
def test_a_rank_is_an_integer_where_it_is_used(rank: str, tmp_path: Path, sized: Sized) -> None:
    path = sized(written(tmp_path, RUN_LINE + f"q1 Q0 d2 {rank} 2 x\n"))
    assert read_run(path).nested == {"q1": {"d1": 9.5, "d2": 2.0}}
    fails(path, f':2: rank "{rank}" is not an integer: "q1 Q0 d2 {rank} 2 x"', by="rank")


BAD_JUDGMENTS = {
    "a run": (
        RUN_LINE,
        ':1: expected 4 fields (query iteration doc grade), got 6: "q1 Q0 d1 1 9.5 x"'
        "; a line of 6 fields looks like a run (query Q0 doc rank score tag)",
    ),
    "five fields": ("q 0 d 1 2\n", ':1: expected 4 fields (query iteration doc grade), got 5: "q 0 d 1 2"'),
    "a grade of words": ("q 0 d 1\nq 0 e good\n", ":2: grade 'good' is not a number: \"q 0 e good\""),
}


@pytest.mark.parametrize("case", BAD_JUDGMENTS)
def test_bad_lines_of_judgments(case: str, tmp_path: Path, sized: Sized) -> None:
    content, message = BAD_JUDGMENTS[case]
    fails(sized(written(tmp_path, content)), message, read_judgments)


def test_a_long_line_is_shortened(tmp_path: Path, sized: Sized) -> None:
    shown = "q1 0 " + "d" * 74 + "…"
    fails(
        sized(written(tmp_path, f"q1 0 {'d' * 500}\n")),
        f':1: expected 4 fields (query iteration doc grade), got 3: "{shown}"; a line of 3 fields looks like a run '
        "(query doc rank)",
        read_judgments,
    )


HOW = "say which with columns={'doc_id': 'NAME'}"
UNDERSTOOD = ", ".join(SPELLINGS["doc_id"])
BAD_TABLES = {
    "no document": (
        "qid,text,score\nq,d,1\n",
        f": no column for the doc_id; found qid, text, score; understood are {UNDERSTOOD}; {HOW}",
    ),
    "no score and no rank": (
        "qid,pid,points\nq,d,1\n",
        ": no column for the score; found qid, pid, points; understood are "
        f"{', '.join(SPELLINGS['score'])}; say which with columns={{'score': 'NAME'}}",
    ),
    "two of a kind": (
        "qid,topic-id,pid,score\nq,q,d,1\n",
        ": 'qid' and 'topic-id' could each be the query_id; say which with columns={'query_id': 'qid'}",
    ),
    "a short row": ("qid,pid,score\nq,d,1\nq,e\n", ':3: expected 3 fields (qid, pid, score), got 2: "q, e"'),
    "a short row below Excel's line": (
        "sep=;\nqid;pid;score\nq;d;1\nq;e\n",
        ':4: expected 3 fields (qid, pid, score), got 2: "q, e"',
    ),
    "a row short of what is not used": (
        "qid,pid,score,note\nq,d,1,x\nq,e,1\n",
        ':3: expected 4 fields (qid, pid, score, note), got 3: "q, e, 1"',
    ),
    "a long row": ("qid,pid,score\nq,d,1\nq,e,1,2\n", ':3: expected 3 fields (qid, pid, score), got 4: "q, e, 1, 2"'),
    "an empty id": ("qid,pid,score\nq,d,1\n,e,1\n", ":3: an id is empty; expected the id of a query and of a document"),
    "no number": ("qid,pid,score\nq,d,1\nq,e,\n", ":3: score is empty; fill it in, or leave the row out"),
    "words": ("qid,pid,score\nq,d,1\nq,e,high\n", ":3: score 'high' is not a number"),
    "underscores": ("qid,pid,score\nq,d,1\nq,e,1_0\n", ":3: score '1_0' is not a number"),
    "infinite": ("qid,pid,score\nq,d,1\nq,e,inf\n", ":3: score 'inf' is not a finite number"),
    "an open quote": (
        'qid,pid,score\nq,"d,1\n',
        ":2: unexpected end of data; a quoted field ends in a quote, and a quote in it is doubled",
    ),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_tables(case: str, tmp_path: Path, sized: Sized) -> None:
    content, message = BAD_TABLES[case]
    fails(sized(written(tmp_path, content, "run.csv")), message)


def test_a_rank_in_a_table_is_an_integer(tmp_path: Path, sized: Sized) -> None:
    fails(sized(written(tmp_path, "qid,pid,rank\nq,d,1.5\n", "run.csv")), ":2: rank '1.5' is not an integer", by="rank")


ROW = '{"qid": "q", "pid": "d", "score": 1}\n'
BAD_JSON_LINES = {
    "not JSON": (ROW + '{"qid": \n', ":2: is not JSON: Expecting value at column 8"),
    "not an object": (ROW + "[1, 2]\n", ':2: expected one JSON object a line, got "[1, 2]"'),
    "no document": (
        ROW + '{"qid": "q", "score": 1}\n',
        f":2: no column for the doc_id; found qid, score; understood are {UNDERSTOOD}; {HOW}",
    ),
    "a float for an id": (
        '{"qid": 1.0, "pid": "d", "score": 1}\n',
        ":1: an id is text or an integer, got 1.0 (float) (pandas makes floats of integers where some are missing)",
    ),
    "a float among texts": (
        ROW + '{"qid": "q", "pid": 1.0, "score": 1}\n',
        ":2: an id is text or an integer, got 1.0 (float) (pandas makes floats of integers where some are missing)",
    ),
    "text for a number": (ROW + '{"qid": "q", "pid": "e", "score": "1"}\n', ":2: score '1' is not a number"),
    "null": (ROW + '{"qid": "q", "pid": "e", "score": null}\n', ":2: score None is not a number"),
    "nan": (ROW + '{"qid": "q", "pid": "e", "score": NaN}\n', ":2: score nan is not a finite number"),
}


@pytest.mark.parametrize("case", BAD_JSON_LINES)
def test_bad_json_lines(case: str, tmp_path: Path, sized: Sized) -> None:
    content, message = BAD_JSON_LINES[case]
    fails(sized(written(tmp_path, content, "run.jsonl")), message)


BAD_JSON = {
    "not JSON": ('{"q": {"d": 1}', ":1: is not JSON: Expecting ',' delimiter at column 15"),
    "lines": (
        '{\n"q": {"d": 1}}\n{"q": {"d": 1}}',
        ":3: is not JSON: Extra data at column 1; one object a line is another format: read_run(path, format='jsonl')",
    ),
    "a number": ("12", ': expected query → document → number, got "12"'),
    "a list in a list": (
        '{"q": [[["d"]]]}',
        ': expected query → document → number, or a list of documents, got "{"q": [[["d"]]]}"',
    ),
    "a word inside": ('{"q": "d"}', ': query \'q\' maps to ""d""; expected document → number, or a list of documents'),
    "text for a number": ('{"q": {"d": "1"}}', ", query 'q', document 'd': score '1' is not a number"),
    "infinite": ('{"q": {"d": 1e999}}', ", query 'q', document 'd': score inf is not a finite number"),
    "a huge integer": (
        '{"q": {"d": 1' + "0" * 400 + "}}",
        ", query 'q', document 'd': score a number of so many digits is not a finite number",
    ),
    "rows of the wrong shape": ("[[1, 2]]", ", row 1: expected (query, document, score), got [1, 2] (list)"),
    "too deep": ("[" * 100_000, ": is JSON nested too deeply; expected rows, or query → document → number"),
}


@pytest.mark.parametrize("case", BAD_JSON)
def test_bad_json(case: str, tmp_path: Path, sized: Sized) -> None:
    content, message = BAD_JSON[case]
    fails(sized(written(tmp_path, content, "run.json")), message)


def test_a_mapping_names_what_is_there(tmp_path: Path) -> None:
    path = written(tmp_path, "qid,pid,score\nq,d,1\n", "run.csv")
    with pytest.raises(FormatError, match="there is no column 'x'; the columns are qid, pid, score"):
        read_run(path, columns={"query_id": "x"})
    with pytest.raises(
        FormatError, match=r"columns maps 'query', which is no role; did you mean 'query_id'\? Expected query_id, "
    ):
        read_run(path, columns={"query": "qid"})


def test_msmarco_holds_no_judgments(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="msmarco is a format of runs; judgments have 4 fields: format='trec'"):
        read_judgments(written(tmp_path, "q d 1\n"), format="msmarco")


@pytest.mark.filterwarnings("ignore::rankgauge.errors.RankgaugeWarning")
@pytest.mark.parametrize("name", ["a.txt", "a.csv", "a.json", "a.jsonl", "a.parquet", "a.arrow", "a.gz", "a.zst", "a"])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary() | st.text(alphabet='q1 0,\n\t"{}[]:#.e-', max_size=40).map(str.encode))
def test_no_file_whatever_gives_another_kind_of_error(name: str, content: bytes, tmp_path: Path, sized: Sized) -> None:
    path = written(tmp_path, content, name)
    for read in (read_judgments, read_run):
        with contextlib.suppress(InputError):
            assert len(read(sized(path))) > 0


@pytest.mark.parametrize("queries", [1, 300])
def test_whole_numbers_that_no_float_tells_apart_are_refused(queries: int, tmp_path: Path) -> None:
    """Nanoseconds since 1970 as scores: as floats, two that follow each other are one."""
    later = 1_700_000_000_000_000_123
    judgments = {f"q{number}": {"a": 1} for number in range(queries)}
    runs: dict[str, Any] = {"dict": {query: {"a": later + 1, "b": later} for query in judgments}}
    rows = [(query, doc, score) for query, docs in runs["dict"].items() for doc, score in docs.items()]
    runs["rows"] = rows
    runs["frame"] = pl.DataFrame(rows, ["query_id", "doc_id", "score"], orient="row")
    runs["json"] = tmp_path / "run.json"
    runs["json"].write_text(json.dumps(runs["dict"]))
    for run in runs.values():
        with pytest.raises(FormatError, match=r"score 1700000000000000124 has more digits than .*; subtract the same"):
            rankgauge.evaluate(judgments, run, "RR")
    less = {query: {doc: score - later for doc, score in docs.items()} for query, docs in runs["dict"].items()}
    assert rankgauge.evaluate(judgments, less, "RR")["RR"] == 1
    exact = {query: {"a": 2**61, "b": 2**60, "c": 1e20} for query in judgments}  # which a float has
    assert rankgauge.evaluate(judgments, exact, "RR")["RR"] == 0.5
