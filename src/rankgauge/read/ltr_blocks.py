"""Labels and queries of big learning-to-rank files, block by block: what stands before the features, and no more.

As in `blocks`, the reader is optimistic: on anything out of the ordinary it gives up and returns None, and the careful
reader finds the line and says what is wrong.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple

import numpy as np

from rankgauge.read.trec_blocks import Growing, ahead, blocks_of, query_numbers

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["Labels", "read_label_blocks"]

HEAD: Final = 64  # bytes in which a label and the field after it must end
NEWLINE, BLANK, TAB, HASH = b"\n \t#"
DOCIDS: Final = re.compile(rb"#[^\n]*?\bdocid[ \t]*=[ \t]*([^\s]+)[^\n]*")  # at most once a line
COMMENT_LINE: Final = re.compile(rb"(?m)^#")


class Labels(NamedTuple):
    """What a file says of its rows: grades, query ids where they are there, documents where all rows name theirs."""

    grade: NDArray[np.float64]
    query: NDArray[np.int32] | None
    queries: list[str]
    docs: list[str] | None


class _Block(NamedTuple):
    grade: NDArray[np.float64]
    second: pl.Series
    docs: list[str] | None


def read_label_blocks(stream: BinaryIO) -> Labels | None:
    """The labels of a file, or None when anything in it is out of the ordinary."""
    numbers: dict[str, int] = {}
    grade, query = Growing(np.float64), Growing(np.int32)
    docs: list[str] | None = []
    named: bool | None = None
    for block in ahead(_parsed, blocks_of(stream)):
        has_qid = None if block is None else _has_qid(block.second)
        if block is None or has_qid is None or named not in (None, has_qid):
            return None
        named = has_qid
        grade.add(block.grade)
        if named:
            query.add(query_numbers(block.second, numbers))
        docs = docs + block.docs if docs is not None and block.docs is not None else None
    if not grade.size:
        return None
    return Labels(grade.array, query.array if named else None, [qid[4:] for qid in numbers], docs)


def _has_qid(second: pl.Series) -> bool | None:
    """Whether every row has a qid: (True) or none has (False); None where it is neither."""
    qids = second.str.starts_with("qid:")
    if qids.all():
        return None if (second == "qid:").any() else True
    return False if not qids.any() and second.str.contains(":", literal=True).all() else None


def _parsed(block: bytes) -> _Block | None:
    """The labels of a block of whole lines: of each its first bytes, cut before the second blank."""
    import polars as pl

    data = np.frombuffer(block, np.uint8)
    starts = _row_starts(data)
    if starts is None or not len(starts):
        return None
    heads = _heads(data, starts)
    if heads is None:
        return None
    schema: dict[str, Any] = {"label": pl.Float64, "second": pl.String}
    try:
        frame = pl.read_csv(heads, has_header=False, separator=" ", quote_char=None, schema=schema)
    except pl.exceptions.PolarsError:
        return None
    if frame.height != len(starts) or any(column.null_count() for column in frame):
        return None
    if b"qid:" in block and not frame["second"].str.starts_with("qid:").any():
        return None
    grade = frame["label"].to_numpy()
    if not np.isfinite(grade).all():
        return None
    if b"docid" not in block:
        return _Block(grade, frame["second"], None)
    found = DOCIDS.findall(block)
    if COMMENT_LINE.search(block) or not block.isascii():
        return None
    return _Block(grade, frame["second"], [doc.decode() for doc in found] if len(found) == len(grade) else None)


def _row_starts(data: NDArray[np.uint8]) -> NDArray[np.int64] | None:
    """Where rows begin, without empty lines and comments; None where one begins with a blank."""
    ends = np.flatnonzero(data == NEWLINE)
    starts = np.r_[0, ends[:-1] + 1]
    first = data[starts]
    nothing = (first == HASH) | (starts == ends) | ((first == 13) & (starts + 1 == ends))
    starts = starts[~nothing]
    return None if (data[starts] <= BLANK).any() else starts


def _heads(data: NDArray[np.uint8], starts: NDArray[np.int64]) -> bytes | None:
    """The first two fields of every row, a line each; None where they are not there in the first bytes."""
    padded = np.concatenate([data, np.full(HEAD, NEWLINE, np.uint8)])
    window = np.lib.stride_tricks.sliding_window_view(padded, HEAD)[starts]
    blank = window <= BLANK
    rows = np.arange(len(window))
    first = blank.argmax(axis=1)
    separator = window[rows, first]
    blank[rows, first] = False
    second = blank.argmax(axis=1)
    inside = np.arange(HEAD) < second[:, None]
    strange = (second <= first + 1) | ((separator != BLANK) & (separator != TAB))
    if strange.any() or (window[inside] == HASH).any():
        return None
    window[rows, first] = BLANK
    window[rows, second] = NEWLINE
    inside[rows, second] = True
    kept: bytes = window[inside].tobytes()
    return kept
