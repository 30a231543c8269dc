"""Reading files: every format, every compression, every harmless oddity; small files plainly and big ones fast."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard

from command import Sized
from rankgauge.errors import DuplicateError, FormatError, InputError, ProtocolError, RankgaugeWarning
from rankgauge.read import FORMATS, Judgments, Run, read_judgments, read_run
from rankgauge.read import sources as files
from rankgauge.read.layers import split_suffixes

DATA = Path(__file__).parents[2] / "shared" / "data"
needs_data = pytest.mark.usefixtures("shared")

GRADES = {"q1": {"d1": 2.0, "d2": 0.0, "d3": -1.0}, "q2": {"dé": 0.5}}
SCORES = {"q1": {"d1": 1.5, "d2": 0.25, "d3": -3.0}, "q2": {"dé": 1e-9}}
NEGATED_RANKS = {"q1": {"d1": -1.0, "d2": -2.0, "d3": -3.0}, "q2": {"dé": -1.0}}

QRELS = "q1 0 d1 2\nq1 0 d2 0\nq1 0 d3 -1\nq2 0 dé 0.5\n"
RUN = "q1 Q0 d1 1 1.5 bm25\nq1 Q0 d2 2 0.25 bm25\nq1 Q0 d3 3 -3 bm25\nq2 Q0 dé 1 1e-9 bm25\n"

KINDS_AND_FORMATS = [(kind, name) for kind in ("run", "judgments") for name in FORMATS if kind in FORMATS[name].kinds]

COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


def frame(nested: dict[str, dict[str, float]], number: str) -> pl.DataFrame:
    rows = [
        {"query_id": query, "doc_id": doc, "rank": rank, number: value}
        for query, docs in nested.items()
        for rank, (doc, value) in enumerate(docs.items(), 1)
    ]
    return pl.DataFrame(rows)


def encoded(nested: dict[str, dict[str, float]], kind: str, format: str) -> bytes:
    """The rows as a file of this format, written by other hands than ours."""
    table = frame(nested, "relevance" if kind == "judgments" else "score")
    buffer = io.BytesIO()
    if format == "trec":
        return (QRELS if kind == "judgments" else RUN).encode()
    if format == "msmarco":
        return "".join(f"{row[0]}\t{row[1]}\t{row[2]}\n" for row in table.iter_rows()).encode()
    if format == "headless":
        return "".join(f"{row[0]},{row[1]},{row[3]}\n" for row in table.iter_rows()).encode()
    if format == "letor":
        return "".join(
            f"{row[3]} qid:{row[0]} 1:0.5 7:1e-3 #docid = {row[1]} inc = 1\n" for row in table.iter_rows()
        ).encode()
    if format in ("csv", "tsv"):
        table.write_csv(buffer, separator="," if format == "csv" else "\t")
    elif format == "json":
        return json.dumps(nested).encode()
    elif format == "jsonl":
        table.write_ndjson(buffer)
    elif format == "parquet":
        table.write_parquet(buffer)
    else:
        table.write_ipc(buffer)
    return buffer.getvalue()


Make = Callable[..., str]
Either = Callable[..., Any]


@pytest.fixture
def file(tmp_path: Path) -> Make:
    def make(content: bytes | str, name: str = "file.txt") -> str:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return make


@pytest.fixture
def either(file: Make, sized: Sized) -> Either:
    """Every file is read twice: as a small one, and as if it were too big for the plain readers."""
    return lambda *content: sized(file(*content))


@pytest.mark.parametrize("layer", COMPRESS)
@pytest.mark.parametrize(("kind", "format"), KINDS_AND_FORMATS)
class TestEveryFormat:
    def expected(self, kind: str, format: str) -> dict[str, dict[str, float]]:
        return GRADES if kind == "judgments" else NEGATED_RANKS if format == "msmarco" else SCORES

    def content(self, kind: str, format: str, layer: str) -> bytes:
        return COMPRESS[layer](encoded(GRADES if kind == "judgments" else SCORES, kind, format))

    def test_by_suffix(self, kind: str, format: str, layer: str, file: Make, sized: Sized) -> None:
        content = self.content(kind, format, layer)
        suffix = {"msmarco": ".tsv", "headless": ".csv"}.get(format) or FORMATS[format].suffixes[0]
        path = file(content, f"file{suffix}{layer}")
        record = read_judgments(sized(path)) if kind == "judgments" else read_run(sized(path))
        assert record.nested == self.expected(kind, format)
        assert record.source == path

    def test_by_content(self, kind: str, format: str, layer: str, either: Either) -> None:
        path = either(self.content(kind, format, layer), "file")
        record = read_judgments(path) if kind == "judgments" else read_run(path)
        assert record.nested == self.expected(kind, format)

    def test_by_name(self, kind: str, format: str, layer: str, either: Either) -> None:
        path = either(self.content(kind, format, layer), f"file.odd{layer}")
        record = read_judgments(path, format=format) if kind == "judgments" else read_run(path, format=format)
        assert record.nested == self.expected(kind, format)


@pytest.mark.parametrize("format", [name for name in FORMATS if name not in ("headless", "json", "letor")])
def test_the_rank_is_the_order_where_asked(format: str, either: Either) -> None:
    run = read_run(either(encoded(SCORES, "run", format)), by="rank", format=format)
    assert run.nested == NEGATED_RANKS
    assert run.by == "rank"


def test_a_nested_json_has_no_ranks(file: Make) -> None:
    with pytest.raises(InputError, match="has no ranks"):
        read_run(file(encoded(SCORES, "run", "json"), "run.json"), by="rank")


def test_an_msmarco_run_is_ordered_by_rank_whatever_is_asked(either: Either) -> None:
    run = read_run(either("q1\td1\t1\nq1\td2\t2\n", "run.tsv"), by="score")
    assert (run.by, run.has_scores) == ("rank", False)
    assert read_run(run, by="score") is run
    assert read_run(run, by="rank") is run


ODD_TEXTS = {
    "as it is": RUN,
    "tabs": RUN.replace(" ", "\t"),
    "many blanks": RUN.replace(" ", " \t  "),
    "blanks around": "".join(f"  {line} \t\n" for line in RUN.splitlines()),
    "comments": "# made by hand\n" + RUN.replace("q2", "  # q1 Q0 d9 4 1 x\n#q1 Q0 d9 4 1 x\n#q1 Q0 d9 4 1 x\nq2"),
    "carriage returns": RUN.replace("\n", "\r\n"),
    "byte-order mark": "\ufeff" + RUN,
    "blank lines": "\n\n" + RUN.replace("\n", "\n \n\n"),
    "no final newline": RUN.rstrip(),
    "queries scattered": "".join(sorted(RUN.splitlines(keepends=True), key=lambda line: line.split()[2])),
}


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
def test_harmless_oddities_of_lines(text: str, either: Either) -> None:
    run = read_run(either(text))
    assert run.nested == SCORES
    assert run.tag == "bm25"


def test_comments_in_an_msmarco_run(either: Either) -> None:
    assert read_run(either("q\td\t1\n#q\te\t2\nq\tf\t2\n")).nested == {"q": {"d": -1.0, "f": -2.0}}


def test_what_follows_the_tag_is_ignored_with_one_warning(file: Make, sized: Sized) -> None:
    path = file(RUN.replace("q2 Q0 dé 1 1e-9 bm25", "q2 Q0 dé 1 1e-9 bm25 and more"))
    with pytest.warns(RankgaugeWarning) as caught:
        assert read_run(sized(path)).nested == SCORES
    assert [str(each.message) for each in caught] == [
        f"{path}: 1 line has more than 6 fields, the first is line 4; "
        "what follows the tag is ignored, as trec_eval does"
    ]


def test_a_tag_can_be_given(either: Either) -> None:
    assert read_run(either(RUN), tag="mine").tag == "mine"


def test_ids_are_split_at_ascii_blanks_only(file: Make) -> None:
    assert read_judgments(file("q\u00a01 0 d\u3000\u20281 1\n")).nested == {"q\u00a01": {"d\u3000\u20281": 1.0}}


class TestTables:
    def test_a_quoted_field_holds_anything(self, either: Either) -> None:
        path = either('query_id,doc_id,score\n"q,1","d ""x""\ny",1.5\n', "run.csv")
        assert read_run(path).nested == {"q,1": {'d "x"\ny': 1.5}}

    def test_beir(self, either: Either) -> None:
        path = either("query-id\tcorpus-id\tscore\nq1\td1\t2\n", "test.tsv")
        assert read_judgments(path).nested == {"q1": {"d1": 2.0}}

    def test_other_columns_carriage_returns_and_a_byte_order_mark(self, either: Either) -> None:
        path = either("\ufeffqid,note,docno,sim\r\nq1,,d1,2\r\n\r\nq1,x,d2,1\r\n", "run.csv")
        assert read_run(path).nested == {"q1": {"d1": 2.0, "d2": 1.0}}

    def test_integer_ids_in_json_lines_are_their_decimal_spelling(self, either: Either) -> None:
        path = either('{"qid": 7, "pid": 12, "score": 1}\n\n{"qid": 8, "pid": 13, "score": 0.5}\n', "run.jsonl")
        assert read_run(path).nested == {"7": {"12": 1.0}, "8": {"13": 0.5}}

    def test_json_lines_of_changing_order(self, either: Either) -> None:
        path = either('{"qid": "a", "pid": "b", "score": 1}\n{"score": 2, "pid": "c", "qid": "a"}\n', "run.jsonl")
        assert read_run(path).nested == {"a": {"b": 1.0, "c": 2.0}}

    def test_a_json_list_of_rows(self, either: Either) -> None:
        path = either('[{"query": "a", "doc": "b", "grade": 1}]', "qrels.json")
        assert read_judgments(path).nested == {"a": {"b": 1.0}}

    def test_numbers_keep_all_their_digits(self, either: Either) -> None:
        path = either("query_id,doc_id,score\nq,d,0.1000000000000000055\nq,e,179769313486231570e291\n", "run.csv")
        assert read_run(path).nested == {"q": {"d": 0.1, "e": 1.7976931348623157e308}}


def test_an_arrow_stream_is_read_like_an_arrow_file(file: Make) -> None:
    buffer = io.BytesIO()
    frame(SCORES, "score").write_ipc_stream(buffer)
    assert read_run(file(buffer.getvalue(), "run.arrow")).nested == SCORES
    assert read_run(file(buffer.getvalue(), "run")).nested == SCORES


def test_a_name_with_wildcards_is_one_file(file: Make) -> None:
    buffer = io.BytesIO()
    frame(SCORES, "score").write_parquet(buffer)
    assert read_run(file(buffer.getvalue(), "run[1]*.parquet")).nested == SCORES


@pytest.mark.parametrize("path", ["run.csv", Path("run.csv")])
def test_a_path_is_text_or_a_path(
    path: str | Path, file: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file("qid,pid,score\nq,d,1\n", "run.csv")
    monkeypatch.chdir(tmp_path)
    assert read_run(path).nested == {"q": {"d": 1.0}}


class Input:
    """Standard input with these bytes."""

    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


@pytest.mark.parametrize("layer", COMPRESS)
def test_standard_input(layer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", Input(COMPRESS[layer](RUN.encode())))
    run = read_run("-")
    assert (run.nested, run.source) == (SCORES, "standard input")


@pytest.mark.parametrize("layer", COMPRESS)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_gives_its_bytes_once(layer: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(COMPRESS[layer](RUN.encode()),))
    writer.start()
    assert read_run(pipe).nested == SCORES
    writer.join()


def test_frames_of_zstd_follow_each_other(file: Make) -> None:
    lines = RUN.encode().splitlines(keepends=True)
    content = b"".join(zstandard.ZstdCompressor().compress(line) for line in lines)
    assert read_run(file(content, "run.zst")).nested == SCORES


class TestDuplicates:
    TEXT = "q1 Q0 d1 1 1 x\nq1 Q0 d2 2 5 x\nq2 Q0 d1 1 9 x\nq1 Q0 d1 3 7 x\nq1 Q0 d1 4 6 x\n"

    @pytest.mark.parametrize(("which", "score"), [("first", 1.0), ("best", 7.0)])
    def test_the_caller_chooses(self, which: str, score: float, either: Either) -> None:
        run = read_run(either(self.TEXT), duplicates=which)
        assert run.nested == {"q1": {"d1": score, "d2": 5.0}, "q2": {"d1": 9.0}}
        assert len(run) == 3

    def test_a_judgment_repeated_is_a_warning(self, file: Make, sized: Sized) -> None:
        path = file("q1 0 d1 1\nq1 0 d2 0\nq1 0 d1 1\n")
        if sized(path) == path:
            with pytest.warns(RankgaugeWarning, match="1 judgment is there twice with the same grade; counted once"):
                assert read_judgments(path).nested == {"q1": {"d1": 1.0, "d2": 0.0}}
        else:
            assert read_judgments(sized(path)).explain("q1", "d1") is None


FORMATS_WITH_LINES = {
    "trec": ("q1 Q0 d1 1 1 x\nq1 Q0 d2 2 5 x\nq1 Q0 d1 3 7 x\n", "line 1", ":3: "),
    "msmarco": ("q1\td1\t1\nq1\td2\t2\nq1\td1\t3\n", "line 1", ":3: "),
    "csv": ("qid,pid,score\nq1,d1,1\nq1,d2,5\nq1,d1,7\n", "line 2", ":4: "),
    "tsv": ("qid\tpid\tscore\nq1\td1\t1\nq1\td2\t5\nq1\td1\t7\n", "line 2", ":4: "),
    "jsonl": ('{"qid":"q1","pid":"d1","score":1}\n' * 2, "line 1", ":2: "),
    "json": ('{"q1": {"d1": 1, "d2": 5, "d1": 7}}', "entry 1", ", entry 3: "),
}


@pytest.mark.parametrize("format", FORMATS_WITH_LINES)
def test_a_document_twice_names_both_lines(format: str, file: Make, sized: Sized) -> None:
    text, first, second = FORMATS_WITH_LINES[format]
    path = file(text)
    try:
        error = read_run(sized(path), format=format).explain("q1", "d1")
    except DuplicateError as raised:
        error = raised
    assert str(error).startswith(path + second)
    assert f"(first at {first})" in str(error)
    assert "document 'd1' is there twice for query 'q1'" in str(error)
    assert "choose with duplicates='first'" in str(error)


def test_conflicting_judgments_name_both_lines_and_both_grades(file: Make, sized: Sized) -> None:
    path = file("q1 0 d1 1\nq1 0 d2 0\nq1 0 d1 2\n")
    try:
        error = read_judgments(sized(path)).explain("q1", "d1")
    except DuplicateError as raised:
        error = raised
    assert str(error) == (
        f"{path}:3: query 'q1', document 'd1' has grade 2 here and 1 before (first at line 1); "
        "keep one of the two judgments"
    )


def test_records_pass_through() -> None:
    judgments, run = Judgments(GRADES), Run(SCORES)
    assert read_judgments(judgments) is judgments
    assert read_run(run) is run
    with pytest.raises(InputError, match="was read by score and is asked for by rank"):
        read_run(run, by="rank")
    with pytest.raises(InputError, match="are judgments and run swapped"):
        read_run(judgments)
    with pytest.raises(InputError, match="are judgments and run swapped"):
        read_judgments(run)


@pytest.mark.parametrize(("option", "value"), [("by", "given"), ("duplicates", "last")])
def test_rules_that_do_not_exist(option: str, value: str) -> None:
    with pytest.raises(ProtocolError, match=f"{option}='{value}' is not a rule; expected"):
        read_run(SCORES, **{option: value})  # type: ignore[arg-type]


def test_a_big_file_is_recognised_by_its_size(tmp_path: Path) -> None:
    plain, packed = tmp_path / "run.txt", tmp_path / "run.txt.gz"
    for path, size in ((plain, files.SMALL), (packed, files.SMALL // 4)):
        with open(path, "wb") as stream:
            stream.truncate(size)
        assert files.Source("x", "", str(path), layer=split_suffixes(str(path))[1]).is_small
        with open(path, "ab") as stream:
            stream.write(b"x")
        assert not files.Source("x", "", str(path), layer=split_suffixes(str(path))[1]).is_small


def test_small_files_are_read_without_heavy_imports(file: Make) -> None:
    paths = [file(RUN), file("qid,pid,score\nq,d,1\n", "a.csv"), file('{"q": {"d": 1}}', "a.json")]
    code = (
        "import sys; from rankgauge.read import read_run; [read_run(path) for path in sys.argv[1:]];"
        "print([name for name in ('polars', 'pandas', 'pyarrow', 'zstandard', 'scipy') if name in sys.modules])"
    )
    source = str(Path(__file__).parents[1] / "src")
    env = os.environ | {"PYTHONPATH": source}
    done = subprocess.run([sys.executable, "-c", code, *paths], capture_output=True, text=True, check=True, env=env)
    assert done.stdout.strip() == "[]"


@needs_data
class TestRealFiles:
    def test_a_run_with_junk_after_the_tag(self) -> None:
        with pytest.warns(RankgaugeWarning, match="5 lines have more than 6 fields, the first is line 1"):
            run = read_run(DATA / "trec_eval" / "results.trunc")
        assert (len(run), run.tag) == (584, "STANDARD")

    def test_a_compressed_run(self) -> None:
        run = read_run(DATA / "covid1" / "runs" / "yn-r1-hierarchy.gz")
        assert (len(run.queries), run.tag) == (30, "yn-r1-hierarchy")

    def test_comments_between_judgments(self) -> None:
        plain = read_judgments(DATA / "trec_eval" / "qrels.test")
        commented = read_judgments(DATA / "trec_eval" / "qrels.test.with-comments")
        assert len(commented) == len(plain)
        assert "CR#93E-1860" in commented.nested["301"]

    def test_a_dirty_file_is_refused_with_both_lines(self) -> None:
        with pytest.raises(DuplicateError, match=r"raw.txt:9262: .* has grade 2 here and 3 before \(first at line 2\)"):
            read_judgments(DATA / "dl19" / "qrels_llm" / "umbrela_llama3.2_zeroshot.raw.txt")

    @pytest.mark.parametrize(
        "name", ["cacm/run.cacm-bm25.txt", "trec_eval/results.test", "dl19/runs/input.UNH_bm25.gz"]
    )
    def test_both_readers_agree(self, name: str) -> None:
        source = files.find_source(DATA / name)
        plain, fast = read_run(source._replace(small=1 << 40)), read_run(source._replace(small=0))
        assert fast.is_columns
        assert fast.nested == plain.nested


def test_an_unknown_format(file: Make) -> None:
    with pytest.raises(InputError, match=r"unknown format 'cvs'; did you mean 'csv'\? Expected trec, .* or arrow"):
        read_run(file(RUN), format="cvs")


def test_formats_are_for_files() -> None:
    with pytest.raises(InputError, match="format='csv' is for files"):
        read_run(SCORES, format="csv")


def test_columns_are_for_tables(file: Make) -> None:
    with pytest.raises(FormatError, match="has no named columns to map; its fields are query Q0 doc rank score tag"):
        read_run(file(RUN), columns={"score": "x"})
