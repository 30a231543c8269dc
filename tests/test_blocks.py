"""The fast reader equals the line reader wherever it answers, and answers wherever it should."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgauge.errors import RankgaugeError
from rankgauge.read import trec_blocks as blocks
from rankgauge.read.records import Columns, Run
from rankgauge.read.rows import Ask, gather
from rankgauge.read.sources import Source
from rankgauge.read.trec import LAYOUTS, layout_for, line_rows
from rankgauge.read.trec_blocks import read_blocks
from rankgauge.read.trec_fields import read_fields

Rows = list[tuple[str, str, float]]


def by_lines(data: bytes, kind: str, by: str = "score") -> Rows | None:
    """The rows as the line reader sees them; None where it refuses the file."""
    try:
        ask = Ask(kind, by=by)
        return list(Run(gather(line_rows(Source("run.txt", ".txt", content=data), layout_for("trec", ask)), ask)))
    except RankgaugeError:
        return None


def by_blocks(data: bytes, kind: str, by: str = "score") -> Rows | None:
    columns = read_blocks(io.BytesIO(data), kind, by)
    return None if columns is None else rows_of(columns)


def by_fields(data: bytes, kind: str, block: int = 1 << 16) -> Rows | None:
    """The rows as the quick reader of small files sees them."""
    layout = LAYOUTS[kind]
    nested = read_fields(io.BytesIO(data), layout.width, layout.doc, layout.number, block)
    return None if nested is None else list(Run(nested))


def rows_of(columns: Columns) -> Rows:
    """Rows with queries together, as nested dicts have them."""
    order = np.argsort(columns.query, kind="stable")
    names = [columns.queries[i] for i in columns.query[order].tolist()]
    return list(zip(names, columns.doc.gather(order).to_list(), columns.number[order].tolist(), strict=True))


BLANKS = st.sampled_from([" ", "\t", "  ", " \t ", "\t\t"])
IDS = st.text(st.sampled_from("aé7#-_.:\U0001f600"), min_size=1, max_size=5)
NUMBERS = st.sampled_from(["1", "-2.5", "0", "3e2", ".5", "+4", "1e-3", "7.000000001"])
ODD_NUMBERS = NUMBERS | st.sampled_from(["nan", "inf", "x", "1_0", "1e999", "--1", "0x1", "١"])
ODD_LINES = st.sampled_from(
    ["", "  ", "# a comment", " # another 1 2 3 4 5 6", "\r", "q 0 d", "q 0 d 1 2 3 4 5 6", "\x0b"]
)


@st.composite
def files(draw: st.DrawFn, fields: int, numbers: st.SearchStrategy[str], odd: st.SearchStrategy[str]) -> bytes:
    """A file whose lines are mostly right."""
    lines = []
    for doc in range(draw(st.integers(1, 8))):
        if draw(st.integers(0, 9)) == 0:
            lines.append(draw(odd))
        texts = [draw(IDS), "0", draw(IDS) + str(doc), *(draw(numbers) for _ in range(fields - 3))]
        if fields == 6:
            texts[3], texts[5] = str(draw(st.integers(0, 20))), "tag"
        line = texts[0] + "".join(draw(BLANKS) + text for text in texts[1:])
        lines.append(draw(st.sampled_from(["", "", " "])) + line + draw(st.sampled_from(["", "", " ", "\t", "\r"])))
    start = draw(st.sampled_from(["", "", "\ufeff"]))
    return (start + "\n".join(lines) + draw(st.sampled_from(["\n", "", "\n\n"]))).encode()


@given(files(6, ODD_NUMBERS, ODD_LINES), st.sampled_from(["score", "rank"]))
@pytest.mark.filterwarnings("ignore::rankgauge.errors.RankgaugeWarning")
def test_runs(data: bytes, by: str) -> None:
    fast = by_blocks(data, "run", by)
    assert fast is None or fast == by_lines(data, "run", by)
    quick = by_fields(data, "run")
    assert quick is None or quick == by_lines(data, "run")


@given(files(4, ODD_NUMBERS, ODD_LINES))
@pytest.mark.filterwarnings("ignore::rankgauge.errors.RankgaugeWarning")
def test_judgments(data: bytes) -> None:
    for fast in (by_blocks(data, "judgments"), by_fields(data, "judgments")):
        assert fast is None or fast == by_lines(data, "judgments")


@given(files(6, NUMBERS, st.sampled_from(["", " ", "# a comment", "#"])))
def test_ragged_but_right_files_are_read_fast(data: bytes) -> None:
    """Any whitespace, comments, empty lines, carriage returns, a byte-order mark: no reason to give up."""
    expected = by_lines(data, "run")
    if expected is None or any(query.startswith("#") for query, _, _ in expected):
        return
    assert by_blocks(data, "run") == expected


@given(data=files(6, NUMBERS, st.just("")), size=st.integers(1, 60))
def test_where_blocks_are_cut_does_not_matter(data: bytes, size: int) -> None:
    whole = by_blocks(data, "run")
    kept, window = blocks.BLOCK, blocks.WINDOW
    blocks.BLOCK, blocks.WINDOW = size, max(size // 3, 1)
    try:
        cut = by_blocks(data, "run")
    finally:
        blocks.BLOCK, blocks.WINDOW = kept, window
    assert cut is None or cut == whole


@pytest.mark.parametrize(
    "line",
    [
        b"q 0 d 1 2.0",  # a field less
        b"q 0 d 1 2.0 tag more",  # a field more
        b"q  d 1 2.0 tag",  # an empty field
        b"q 0 d 1 2.0 ",  # an empty tag
        b" q 0 d 1 2.0",  # an empty query
        b"q 0\td 1 2.0 7",  # a tab that must not be part of a field
        b"q 0 d\x0b1 2.0 7 x",  # a vertical tab, too
        b"q 0 d 1 two tag",
        b"q 0 d 1 nan tag",
        b"q 0 d 1 1e999 tag",
        b"q 0 \xff 1 2.0 tag",  # not UTF-8
    ],
)
@pytest.mark.filterwarnings("ignore::rankgauge.errors.RankgaugeWarning")
def test_no_bad_line_slips_through(line: bytes) -> None:
    """Beside good lines, each is seen: read as the line reader reads it, or left to it."""
    data = b"q 0 a 1 9.5 tag\n" + line + b"\nq 0 z 3 1.5 tag\n"
    for fast in (by_blocks(data, "run"), by_fields(data, "run")):
        assert fast is None or fast == by_lines(data, "run")


@pytest.mark.filterwarnings("ignore::rankgauge.errors.RankgaugeWarning")
@pytest.mark.parametrize(
    "data",
    [
        b"q Q0 a 1 9 t\nq Q0 f5 1 0.5\nq Q0 s7 2 0.4 t extra\n",  # a field less here, a field more there
        b"q Q0 s7 2 0.4 t extra\nq Q0 f5 1 0.5\nq Q0 a 1 9 t\n",
        b"q Q0 d\x01 1  0.5 t\nq Q0 e 2 0.4 t\n",  # control bytes are part of an id
        b"q Q0 d\x1f 1\t0.5 t\n",
    ],
)
def test_lines_that_make_up_for_each_other(data: bytes) -> None:
    for fast in (by_blocks(data, "run"), by_fields(data, "run")):
        assert fast is None or fast == by_lines(data, "run")


def test_real_runs_are_the_same_both_ways(shared: Path) -> None:
    import gzip

    data = gzip.decompress((shared / "covid1/runs/T5R3.gz").read_bytes())
    fast = by_blocks(data, "run")
    assert fast is not None
    assert fast == by_lines(data, "run")


@pytest.mark.parametrize("block", [5, 20, 40, 1 << 16])
@pytest.mark.parametrize(
    "data",
    [
        b"q Q0 a 1 2.5 t\nq Q0 b 2 -1e-3 t\nr Q0 a 1 7 t\n",
        b"q\tQ0\ta_1\t1\t2.5\tt\nr Q0\tb 2 1 t",
        b"\xef\xbb\xbfq Q0 a 1 2 t\nr Q0 a 1 2 t\nq Q0 b 2 1 t\n",  # a query that comes back
        b"a Q0 a 1 4 t\nab Q0 a 1 3 t\nab Q0 b 2 2 t\nabc Q0 a 1 2 t\na Q0 b 2 1 t\n",  # that begin alike
        b"%b Q0 a 1 3 t\n%bb Q0 a 1 2 t\n" % (b"a" * 64, b"a" * 63),
    ],
)
def test_small_files_in_order_are_read_a_block_at_a_time(data: bytes, block: int) -> None:
    assert by_fields(data, "run", block) == by_lines(data, "run")


@pytest.mark.parametrize("block", [1, 1 << 16])
@pytest.mark.parametrize(
    "line",
    [
        b"q Q0 a 3 0.5 t",  # a document once more
        b"q Q0 c 3 1_0 t",
        b"q Q0 c 3 nan t",
        b"q Q0 c 3 -inf t",
        b"q Q0 c 3 x t",
        b"#q Q0 c 3 1 t",  # a comment that has as many fields
        b"q Q0 c\x1cd 3 1 t",  # what text takes for a blank and bytes do not
        b"q Q0\x1cc 3 1 t",
        b"q Q0 \xc3\xa9 3 1 t",
        b"q Q0 c 3 1 t\r",
        b"q  Q0 c 3 1 t",
        b" q Q0 c 3 1 t",
        b"",
        b"q Q0 c 3 1\nq Q0 d 4 1 t u",  # a field less here, a field more there
    ],
)
def test_what_is_out_of_order_is_left_to_the_line_reader(line: bytes, block: int) -> None:
    assert by_fields(b"q Q0 a 1 9 t\n" + line + b"\nq Q0 z 9 0 t\n", "run", block) is None
    assert by_fields(b"", "run", block) is None
    assert by_fields(b" Q0 c 3 1 t\nq Q0 a 1 9 t\n", "run", block) is None
    assert by_fields(b"%b Q0 a 1 3 t\n" % (b"a" * 65), "run", block) is None  # for the line reader: few are so long
