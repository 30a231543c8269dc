"""One reader of tables with a header: every caller reads every shape, and the values are those of the plain CSV."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

import rankgauge
from command import Sized
from rankgauge.comparison.value_tables import values_of_tables
from rankgauge.errors import FormatError, InputError
from rankgauge.measures.aggregates import groups_of
from rankgauge.read import read_judgments, read_run
from rankgauge.read.numbers import read_matrix
from rankgauge.read.sources import SMALL, find_source
from rankgauge.read.tables import read_groups_and_numbers, read_query_table, read_texts
from rankgauge.trust.online.units import read_units


def units(path: str) -> Any:
    found = read_units(path, {})
    return found.names, {name: each.tolist() for name, each in found.offline.items()}, found.online.tolist()


def values(path: str) -> Any:
    return {
        name: (each.systems, each.queries, each.table.tolist()) for name, each in values_of_tables([path], None).items()
    }


class Caller(NamedTuple):
    """Who reads a table, and one that it understands."""

    read: Callable[[Any], Any]
    names: Sequence[str]
    rows: Sequence[Sequence[Any]]


CALLERS = {
    "run": Caller(
        lambda path: read_run(path).nested,
        ("query_id", "doc_id", "score"),
        [("q1", "d1", 12.25), ("q1", "d, 2", 1.5), ("q2", "#d3", -0.0625)],
    ),
    "judgments": Caller(
        lambda path: read_judgments(path).nested,
        ("Query-ID", "doc id", "relevance"),
        [("q1", "d1", 2), ("q1", "d2", 0.5), ("#q2", "ü", 0)],
    ),
    "groups": Caller(
        lambda path: groups_of(path, None), ("query_id", "group"), [("q1", "a; b"), ("q2", "c"), ("q3", "")]
    ),
    "groups and numbers": Caller(
        read_groups_and_numbers, ("qid", "kind", "clicks"), [("q1", "head", 3.5), ("q2", "tail", 12)]
    ),
    "weights": Caller(lambda path: read_query_table(path, "weight"), ("query_id", "weight"), [("q1", 0.5), ("q2", 7)]),
    "clusters": Caller(
        lambda path: read_query_table(path, "cluster"), ("qid", "user", "more"), [("q1", "u1", "x"), ("q2", "u1", "")]
    ),
    "queries": Caller(
        lambda path: read_texts(path, "query_id"), ("query_id", "text"), [("q1", "a 'tent', blue"), ("q2", "größe 42")]
    ),
    "documents": Caller(
        lambda path: read_texts(path, "doc_id"), ("_id", "title", "more"), [("d1", "A; B", "x"), ("d2", "C", "y")]
    ),
    "values": Caller(values, ("query_id", "old", "new"), [("q1", 0.5, 0.25), ("q2", 1, 0.75)]),
    "online": Caller(
        units, ("experiment", "delta_nDCG@10", "Delta Conversion"), [("a", 0.5, 0.25), ("b", -1.5, 2), ("c", 4, 8)]
    ),
}  # fmt: skip


BY_SIZE = ("run", "judgments")  # what is read in one way where it is small, and in another where it is big


def text(table: Caller, delimiter: str = ",", *, comma: bool = False, quoting: int = csv.QUOTE_MINIMAL) -> str:
    """The table between delimiters; with decimal commas where asked."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter, quoting=quoting, lineterminator="\n")  # type: ignore[arg-type]
    writer.writerow(table.names)
    for row in table.rows:
        writer.writerow([str(cell).replace(".", ",") if comma and isinstance(cell, float) else cell for cell in row])
    return stream.getvalue()


def commented(table: Caller) -> str:
    """Comments and blank lines before the header and among the rows."""
    header, *rows = text(table).splitlines()
    return "\n".join(['# made, by "hand', "#", "", header, "# more", *rows[:1], "", "#no fields", *rows[1:], "# end"])


def objects(table: Caller) -> list[dict[str, Any]]:
    return [dict(zip(table.names, row, strict=True)) for row in table.rows]


SHAPES: dict[str, Callable[[Caller], bytes]] = {
    "t.csv": lambda table: text(table).encode(),
    "semicolon.csv": lambda table: text(table, ";", comma=True).encode(),
    "tab.tsv": lambda table: text(table, "\t").encode(),
    "tab and comma.csv": lambda table: text(table, "\t", comma=True).encode(),
    "quoted.csv": lambda table: text(table, quoting=csv.QUOTE_ALL).encode(),
    "comments.csv": lambda table: commented(table).encode(),
    "comments": lambda table: commented(table).encode(),
    "crlf.csv": lambda table: text(table).replace("\n", "\r\n").encode(),
    "mark.csv": lambda table: text(table).encode("utf-8-sig"),
    "utf16.csv": lambda table: text(table).encode("utf-16"),
    "excel.txt": lambda table: b"\xfe\xff" + text(table, "\t", comma=True).encode("utf-16-be"),
    "lines.jsonl": lambda table: "\n".join(map(json.dumps, objects(table))).encode(),
    "lines": lambda table: "\n\n".join(json.dumps(each, ensure_ascii=False) for each in objects(table)).encode(),
    "commented.jsonl": lambda table: ("# made\n" + "\n# more\n".join(map(json.dumps, objects(table)))).encode(),
    "list.json": lambda table: json.dumps(objects(table), indent=1).encode(),
    "utf16.json": lambda table: json.dumps(objects(table)).encode("utf-16"),
    "t.csv.gz": lambda table: gzip.compress(text(table).encode()),
    "packed": lambda table: gzip.compress(text(table, ";", comma=True).encode("utf-16")),
    "t.parquet": lambda table: framed(table, "parquet"),
    "t.arrow": lambda table: framed(table, "ipc"),
}


def framed(table: Caller, format: str) -> bytes:
    stream = io.BytesIO()
    getattr(pl.DataFrame(objects(table), strict=False), f"write_{format}")(stream)
    return stream.getvalue()


@pytest.mark.filterwarnings("ignore:.*1 query has no group")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("caller", CALLERS)
def test_every_caller_reads_every_shape(caller: str, shape: str, tmp_path: Path) -> None:
    table = CALLERS[caller]
    plain, path = tmp_path / "plain.csv", tmp_path / shape
    plain.write_text(text(table))
    path.write_bytes(SHAPES[shape](table))
    expected = table.read(str(plain))
    assert expected
    assert table.read(str(path)) == expected
    if caller in BY_SIZE:
        assert table.read(find_source(path)._replace(small=0)) == expected


@pytest.mark.parametrize("delimiter", [",", ";", "\t", " "])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_confusion_matrix_in_every_shape(delimiter: str, encoding: str, tmp_path: Path) -> None:
    table = "true;0;1\n# more\n0;0.75;0.25\n1;0.5;0.5\n".replace(";", delimiter)
    comma = table.replace(".", ",") if delimiter in ";\t" else table
    for content in (table, comma):
        path = tmp_path / "m.csv.gz"
        path.write_bytes(gzip.compress(content.encode(encoding)))
        matrix = read_matrix(path)
        assert (matrix.counts.tolist(), matrix.grades) == ([[0.75, 0.25], [0.5, 0.5]], [0, 1])


def test_a_line_more_than_columns_is_one_of_heads(tmp_path: Path) -> None:
    path = tmp_path / "m.txt"
    path.write_text("1 0\n5 2\n3 7\n")
    assert (read_matrix(path).counts.tolist(), read_matrix(path).grades) == ([[7, 3], [2, 5]], [0, 1])
    path.write_text("5\n3\n")  # no heads of a matrix of one grade
    assert (read_matrix(path).counts.tolist(), read_matrix(path).grades) == ([[5], [3]], None)


@pytest.mark.parametrize("caller", ["run", "weights", "values", "online"])
def test_a_bad_number_is_named_with_its_line(caller: str, tmp_path: Path) -> None:
    table = CALLERS[caller]
    path = tmp_path / "t.csv"
    header, first, *rows = text(table, ";").splitlines()
    path.write_text("\n".join(["# made", header, "", first.rpartition(";")[0] + ";x", *rows]))
    with pytest.raises(FormatError, match=r"t\.csv:4\b.*'x' is not a number"):
        table.read(str(path))


@pytest.mark.parametrize("caller", CALLERS)
def test_a_key_twice_in_an_object_is_refused(caller: str, tmp_path: Path) -> None:
    table = CALLERS[caller]
    lines = [json.dumps(each) for each in objects(table)]
    for name in table.names:
        again = f"{lines[1][:-1]}, {json.dumps(name)} : {json.dumps(table.rows[0][table.names.index(name)])}}}"
        bad = [lines[0], again, *lines[2:]]
        for shape, content, place in (
            ("t.jsonl", "\n".join(bad), "t.jsonl:2"), ("t.json", f"[{','.join(bad)}]", "t.json")
        ):  # fmt: skip
            (tmp_path / shape).write_text(content)
            message = f"{place}: the key '{name}' is there twice in one object; keep one"
            with pytest.raises(FormatError, match=message):
                table.read(str(tmp_path / shape))
            if caller in BY_SIZE:
                with pytest.raises(FormatError, match=message):
                    table.read(find_source(tmp_path / shape)._replace(small=0))


@pytest.mark.parametrize("caller", ["groups", "weights"])
def test_an_object_of_queries_names_each_once(caller: str, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"q1": 1, "q2": 2}')
    assert CALLERS[caller].read(str(path)) == ({"q1": "1", "q2": "2"} if caller == "groups" else {"q1": 1, "q2": 2})
    path.write_text('{"q1": 1, "q1": 2}')
    with pytest.raises(FormatError, match="the key 'q1' is there twice"):
        CALLERS[caller].read(str(path))


class TestOddText:
    """What the two readers of runs might take differently."""

    @pytest.fixture(autouse=True)
    def source(self, sized: Sized) -> None:
        self.sized = sized

    def run(self, content: str, path: Path) -> Any:
        (path / "run.csv").write_text(content, newline="")
        return read_run(self.sized(path / "run.csv")).nested

    def test_a_carriage_return_alone_ends_a_line_outside_quotes(self, tmp_path: Path) -> None:
        assert self.run("qid,pid,score\rq,d,1\rq,e,2\r", tmp_path) == {"q": {"d": 1.0, "e": 2.0}}
        assert self.run('qid,pid,score\nq,"d\re",1\n', tmp_path) == {"q": {"d\re": 1.0}}
        with pytest.raises(FormatError, match=r"run\.csv:2: expected 3 fields \(qid, pid, score\), got 2"):
            self.run("qid,pid,score\nq,d\re,1\n", tmp_path)

    def test_an_id_may_begin_as_a_comment_does(self, tmp_path: Path) -> None:
        content = 'qid,pid,score\n#1,d,1\n"# 2",d,2\n# 3,d,3\n#4\n#,d,5\n#6,"d\n#e",6\n'
        expected = {"#1": {"d": 1.0}, "# 2": {"d": 2.0}, "#": {"d": 5.0}, "#6": {"d\n#e": 6.0}}
        assert self.run(content, tmp_path) == expected
        written = tmp_path / "again.csv"
        rankgauge.write(read_run(tmp_path / "run.csv"), written)
        assert read_run(written).nested == expected

    def test_a_long_field_and_an_open_quote(self, tmp_path: Path) -> None:
        assert self.run(f"qid,pid,note,score\nq,d,{'x' * 200_000},1\n", tmp_path) == {"q": {"d": 1.0}}
        with pytest.raises(FormatError, match=r"run\.csv:3: unexpected end of data; a quoted field ends in a quote"):
            self.run('qid,pid,score\nq,d,1\nq,"e,2\n' + "q,f,3\n" * 30_000, tmp_path)

    @pytest.mark.parametrize("cell", ['"a"b"c"', '"say "hi" now"', '"say,"hi"', '""x', '"x" ', '"a""b"c"'])
    @pytest.mark.parametrize("delimiter", [",", ";", "\t"])
    def test_half_a_quote_in_a_quoted_field(self, cell: str, delimiter: str, tmp_path: Path) -> None:
        content = f"qid,pid,score,note\nq,d,1,x\nq,{cell},2,y\n".replace(",", delimiter)
        with pytest.raises(FormatError, match=r"run\.csv:3: .*; a quoted field ends in a quote, and a quote in it is"):
            self.run(content, tmp_path)

    def test_half_a_quote_in_a_file_that_is_big(self, tmp_path: Path) -> None:
        content = 'qid,pid,score\nq,"a"b"c",1\n' + "".join(f"q,{doc:032},1\n" for doc in range(250_000))
        with pytest.raises(FormatError, match=r"run\.csv:2: ',' expected after '\"'"):
            self.run(content, tmp_path)
        assert (tmp_path / "run.csv").stat().st_size > SMALL

    @pytest.mark.parametrize(
        ("cell", "doc"),
        [
            ('"a""b"', 'a"b'),
            ('a"b', 'a"b'),
            (' "a"', ' "a"'),
            ('"""a"""', '"a"'),
            ('"a, b"', "a, b"),
            ('"a\nb"', "a\nb"),
        ],
    )
    def test_whole_quotes(self, cell: str, doc: str, tmp_path: Path) -> None:
        assert self.run(f'qid,pid,score\n"q",{cell},1\nq,e,"2"\n', tmp_path) == {"q": {doc: 1.0, "e": 2.0}}

    def test_decimal_commas(self, tmp_path: Path) -> None:
        assert self.run("qid;pid;score\nq;d;1,5\nq;e;-,25\nq;f;1,234\nq;g;2\n", tmp_path) == {
            "q": {"d": 1.5, "e": -0.25, "f": 1.234, "g": 2.0}
        }
        with pytest.raises(FormatError, match=r"run\.csv:2: score '1,5' has a decimal comma; write 1\.5"):
            self.run('qid,pid,score\nq,d,"1,5"\n', tmp_path)
        with pytest.raises(FormatError, match=r"run\.csv:2: score '1,234' may be 1\.234 or 1234; write one of them"):
            self.run("qid\tpid\tscore\nq\td\t1,234\n", tmp_path)

    @pytest.mark.parametrize("delimiter", [";", "\t"])
    @pytest.mark.parametrize("numbers", [("1.234", "7,5"), ("7,5", "1.234"), ("1.234.567", "0,5")])
    def test_points_beside_decimal_commas(self, delimiter: str, numbers: tuple[str, str], tmp_path: Path) -> None:
        """In a file of Excel where half is a comma, 1.234 is a thousand and more."""
        rows = [["qid", "pid", "score"], ["q", "d", numbers[0]], ["q", "e", numbers[1]]]
        text = "".join(delimiter.join(row) + "\n" for row in rows)
        said = r"run\.csv:3: score '1\.234' may be 1234 beside '7,5'; write all numbers in one way"
        with pytest.raises(FormatError, match=said if "7,5" in numbers else r"run\.csv:\d: score '1\.234\.567'"):
            self.run(text, tmp_path)
        (tmp_path / "w.csv").write_text(text.replace("score", "weight"))
        with pytest.raises(FormatError, match=r"w\.csv:\d: .*1\.234"):
            rankgauge.evaluate({"q": {"d": 1}}, {"q": {"d": 1.0}}, weights=tmp_path / "w.csv")

    def test_points_between_thousands(self, tmp_path: Path) -> None:
        with pytest.raises(FormatError, match=r"score '1\.234,5' has points between thousands; write 1234\.5"):
            self.run("qid;pid;score\nq;d;1.234,5\n", tmp_path)
        assert self.run("qid;pid;score\nq;d;1.234\nq;e;2\n", tmp_path) == {"q": {"d": 1.234, "e": 2.0}}
        assert self.run("qid;pid;score\nq;d;0.234\nq;e;2,5\n", tmp_path) == {"q": {"d": 0.234, "e": 2.5}}

    def test_a_key_in_other_letters_is_the_same_key(self, tmp_path: Path) -> None:
        path = tmp_path / "run.jsonl"
        path.write_text('{"qid": "q", "pid": "d", "score": 1, "\\u0073core": 2}\n')
        with pytest.raises(FormatError, match=r"run\.jsonl:1: the key 'score' is there twice"):
            read_run(self.sized(path))

    @pytest.mark.parametrize("name", ["t.json", "t.jsonl", "t"])
    def test_json_beyond_all_sense(self, name: str, tmp_path: Path) -> None:
        path = tmp_path / name
        for content in (
            '{"a":' * 100_000,
            "[" * 100_000,
            '{"query_id": "q", "doc_id": "d", "score": ' + "9" * 5000 + "}",
        ):
            path.write_text(content)
            for caller in CALLERS.values():
                with pytest.raises(InputError, match=r"t(\.jsonl?)?(:1)?: "):
                    caller.read(str(path))


def test_polars_is_given_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a stream that was looked into, polars 1 reads on from the file behind it, and loses what the buffer held."""
    kinds = []

    def watch(name: str) -> None:
        read = getattr(pl, name)

        def watched(data: Any, **options: Any) -> Any:
            kinds.append(type(data))
            return read(data, **options)

        monkeypatch.setattr(pl, name, watched)

    watch("read_csv")
    watch("read_ndjson")
    rows = [(f"q{row // 100}", f"d{row}", row % 100) for row in range(20_000)]
    for name, content in {
        "t.csv": "qid,pid,score\n" + "".join(f"{query},{doc},{rank}\n" for query, doc, rank in rows),
        "t.tsv": "qid\tpid\tscore\n" + "".join(f"{query}\t{doc}\t{rank}\n" for query, doc, rank in rows),
        "t.txt": "".join(f"{query}\t{doc}\t{rank + 1}\n" for query, doc, rank in rows),
        "t.jsonl": "".join(f'{{"qid": "{query}", "pid": "{doc}", "score": {rank}}}\n' for query, doc, rank in rows),
    }.items():
        (tmp_path / name).write_text(content)
        assert len(read_run(find_source(tmp_path / name)._replace(small=0))) == len(rows)
    assert kinds == [bytes] * 4


def test_texts_between_tabs_may_begin_with_a_quote(tmp_path: Path) -> None:
    path = tmp_path / "queries.tsv"
    path.write_text('1\t"abc" meaning\n2\twhat is\n3\t"open\n4\tend\n')
    assert read_texts(str(path), "query_id") == {"1": '"abc" meaning', "2": "what is", "3": '"open', "4": "end"}


@pytest.mark.filterwarnings("ignore:.*1 query has no group")
def test_what_pandas_calls_missing_is_no_group() -> None:
    frame = pl.DataFrame({"query_id": ["q1", "q2"], "group": ["a", None]})
    numbers = pl.DataFrame({"query_id": ["q1", "q2"], "group": [1.0, float("nan")]})
    for each in (frame, frame.to_pandas(), frame.to_pandas().astype("string")):
        assert groups_of(each, None) == {"q1": "a"}
    for each in (numbers, numbers.to_pandas()):
        assert groups_of(each, None) == {"q1": "1.0"}


def test_a_row_that_lacks_a_column_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"query_id": "q1", "group": "a"}\n{"query_id": "q2"}\n')
    with pytest.raises(FormatError, match=r"t\.jsonl:2: expected the columns of the first row \(query_id, group\)"):
        groups_of(str(path), None)
    path.write_text('{"_id": "d1", "text": "a"}\n{"_id": "d2", "title": "b"}\n')
    assert read_texts(f"{path}:text", "doc_id") == {"d1": "a", "d2": ""}
