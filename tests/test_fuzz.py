"""Damaged files of numbers: whatever is in them, they are read or refused by a RankgaugeError, never by another."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankgauge.errors import FormatError, RankgaugeError, RankgaugeWarning
from rankgauge.read.ltr import read_ltr
from rankgauge.read.numbers import read_matrix, read_scores, read_sizes


def saved(array: Any, *, pickled: bool = False) -> bytes:
    """An array as numpy saves it."""
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=pickled)
    return stream.getvalue()


LTR = b"2 qid:1 1:0.5 2:-1e3 # doc-a\n0 qid:1 1:0.25\n# more\n1.5 qid:2 3:1\r\n"
MATRIX = b"true,0,1,2\n0,5,1,0\n1,2,7,1\n2,0,1,9\n"
READERS: dict[str, tuple[Callable[[Path], Any], list[bytes]]] = {
    "rank.test": (read_ltr, [LTR, LTR.replace(b"qid:", b"qid:q"), b"0 1:1\n", b""]),
    "pred.npy": (
        read_scores,
        [
            saved(np.arange(5) / 4), saved(np.arange(6, dtype=np.float32).reshape(3, 2)), saved(np.array(["a", "b"])),
            saved(np.array([1, "a", None], object), pickled=True), saved(np.array(1.0)), saved(np.zeros((0, 3))),
            saved(np.array([1 + 2j])), saved(np.array(["2026-01-01"], "datetime64[D]")), saved(np.array([np.nan])),
        ],
    ),
    "pred.txt": (read_scores, [b"0.5\n-1e3\n# more\n7\n", b"1_0\n", b"\n"]),
    "rank.test.query": (read_sizes, [b"2\n1\n", b"0.5\n"]),
    "confusion.csv": (read_matrix, [MATRIX, MATRIX.replace(b",", b"\t"), b"1 2\n3 4\n", b"0 1\n3 4\n5 6\n"]),
}  # fmt: skip
PIECES = [
    b"",
    b"\n",
    b"\r",
    b"\0",
    b"\xff",
    b"nan",
    b"inf",
    b"1e999",
    b"9" * 400,
    b"qid:",
    b"#",
    b":",
    b",",
    b"-",
    b'"',
]


def changed(data: bytes, changes: list[tuple[int, int, bytes]]) -> bytes:
    """The bytes with pieces put in the place of others."""
    for place, length, piece in changes:
        at = place % (len(data) + 1)
        data = data[:at] + piece + data[at + length :]
    return data


CHANGES = st.lists(
    st.tuples(st.integers(0, 200), st.integers(0, 4), st.sampled_from(PIECES) | st.binary(max_size=3)), max_size=4
)


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_damaged_files_are_read_or_refused(name: str, tmp_path: Path, data: st.DataObject) -> None:
    read, samples = READERS[name]
    path = tmp_path / name
    path.write_bytes(changed(data.draw(st.sampled_from(samples)), data.draw(CHANGES)))
    with warnings.catch_warnings(), contextlib.suppress(RankgaugeError):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", RankgaugeWarning)
        read(path)


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.array([1 + 2j]), "complex128"), (np.array(["7"]), "<U1"),
        (np.array(["2026-01-01"], "datetime64[D]"), "datetime64"),
    ],
)  # fmt: skip
def test_an_array_of_something_else_is_no_scores(array: Any, words: str, tmp_path: Path) -> None:
    """Not the real part, not the number of days."""
    (tmp_path / "pred.npy").write_bytes(saved(array))
    with pytest.raises(FormatError, match=f"holds an array of {words}.*; expected numbers, one score a row"):
        read_scores(tmp_path / "pred.npy")
