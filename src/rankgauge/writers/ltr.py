"""Learning-to-rank rows → files: with `qid:` (LETOR), or with the sizes of queries beside (LightGBM)."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.errors import FormatError, InputError, choices
from rankgauge.read.layers import split_suffixes
from rankgauge.read.ltr import SIZE_SUFFIXES, read_ltr, rows_of, split_row
from rankgauge.read.rows import finite
from rankgauge.read.sources import Source, find_source
from rankgauge.writers.files import STANDARD_OUTPUT, opened
from rankgauge.writers.write import grade_text

if TYPE_CHECKING:
    from rankgauge.dtypes import Ints

__all__ = ["LTR_FORMATS", "rewrite_ltr", "write_ltr"]

LTR_FORMATS: Final = {
    "letor": "LABEL qid:QUERY FEATURE:VALUE … # comment",
    "lightgbm": "LABEL FEATURE:VALUE …, with the sizes of queries in OUT.query",
}


def write_ltr(
    target: str | os.PathLike[str],
    grades: Iterable[float],
    *,
    qid: Iterable[Any] | None = None,
    groups: Iterable[int] | None = None,
    features: Any = None,
    docs: Iterable[str] | None = None,
    format: str = "letor",
) -> None:
    """Write rows as "letor" (with `qid:`) or "lightgbm" (with their sizes in a file of the same name and `.query`).

    Queries are given by `qid`, one a row, or by `groups`, the number of rows of each. Features are a matrix, numbered
    from 1; zeros are left out, as the format has it. `docs` become comments (letor only).
    """
    labels = [_label(grade, row) for row, grade in enumerate(grades, 1)]
    queries = _queries(qid, groups, len(labels))
    texts = _feature_texts(features, len(labels))
    names = None if docs is None else [f"docid = {doc}".encode() for doc in docs]
    comments = names or [b""] * len(labels)
    if len(comments) != len(labels):
        raise InputError(f"there are {len(labels)} grades and {len(comments)} docs; give one a row")
    rows = zip(labels, queries, texts, comments, strict=True)
    _write(os.fsdecode(target), rows, format)


def rewrite_ltr(source: str | Source, target: str, format: str, query_sizes: Any = None) -> None:
    """The rows of a file in the other form, features as they are; comments go where the format has none (lightgbm)."""
    file = find_source(source)
    ltr = read_ltr(file, query_sizes)

    def rows() -> Iterator[Row]:
        with file.open_lines() as stream:
            for (line, content, comment), query in zip(rows_of(stream), ltr.qid.tolist(), strict=True):
                _, _, features = split_row(content, f"{file.name}:{line}")
                yield content.split(None, 1)[0], ltr.queries[query], features, comment.strip()

    _write(target, rows(), format)


Row = tuple[bytes, str, bytes, bytes]  # label, query, features, comment


def _write(path: str, rows: Iterable[Row], format: str) -> None:
    if format not in LTR_FORMATS:
        raise InputError(f"unknown format {format!r} of learning-to-rank rows; expected {choices(LTR_FORMATS)}")
    if format == "letor":
        with opened(path) as stream:
            for label, query, features, comment in rows:
                parts = [label, b"qid:" + _query(query), features, b"# " + comment if comment else b""]
                stream.write(b" ".join(filter(None, parts)) + b"\n")
        return
    _write_lightgbm(path, rows)


def _write_lightgbm(path: str, rows: Iterable[Row]) -> None:
    """The file of rows and that of sizes, both or neither; a query that comes back is refused."""
    if path in STANDARD_OUTPUT:
        raise InputError("lightgbm has the sizes of queries in a second file; name a file, or write letor")
    _, layer = split_suffixes(path)
    name = os.path.splitext(path)[0] if layer else path
    seen: set[str] = set()
    with opened(path) as stream, opened(name + SIZE_SUFFIXES[0]) as beside:
        for query, group in groupby(rows, key=lambda row: row[1]):
            if query in seen:
                raise FormatError(
                    f"{path}: the rows of query {query!r} are not together, and sizes alone cannot say so; "
                    "sort the rows by query first, or write letor"
                )
            seen.add(query)
            lines = [b" ".join(filter(None, (label, features))) + b"\n" for label, _, features, _ in group]
            stream.writelines(lines)
            beside.write(b"%d\n" % len(lines))


def _label(grade: Any, row: int) -> bytes:
    try:
        return grade_text(finite(float(grade), grade)).encode()
    except (TypeError, ValueError) as error:
        raise FormatError(f"row {row}: grade {error}") from None


def _query(query: str) -> bytes:
    text = query.encode()
    if text.split() != [text] or b"#" in text:
        raise FormatError(f"the query id {query!r} is empty or holds a blank or #, which a row of letor cannot hold")
    return text


def _queries(qid: Iterable[Any] | None, groups: Iterable[int] | None, rows: int) -> list[str]:
    if (qid is None) == (groups is None):
        raise InputError("give the queries of the rows either as qid= (one a row) or as groups= (rows of each)")
    if qid is not None:
        queries = [str(query) for query in qid]
    else:
        sizes: Ints = np.asarray(list(groups or []), np.int64)
        queries = [str(number) for number in np.repeat(np.arange(1, len(sizes) + 1), sizes).tolist()]
    if len(queries) != rows:
        raise InputError(f"there are {rows} grades, and the queries hold {len(queries)} rows; give each row its query")
    return queries


def _feature_texts(features: Any, rows: int) -> Iterator[bytes]:
    """`1:0.5 3:2.0` for every row: what is not 0, by its column; a sparse matrix is taken row by row."""
    if features is None:
        return iter([b""] * rows)
    matrix = features.tocsr() if hasattr(features, "tocsr") else np.asarray(features, np.float64)
    if len(matrix.shape) != 2 or matrix.shape[0] != rows:
        raise InputError(f"features have the shape {matrix.shape}; expected ({rows}, features)")
    return (_features(matrix[row]) for row in range(rows))


def _features(row: Any) -> bytes:
    if hasattr(row, "indices"):
        pairs = sorted(zip(row.indices.tolist(), row.data.tolist(), strict=True))
    else:
        pairs = [(column, float(row[column])) for column in np.flatnonzero(row).tolist()]
    return " ".join(f"{column + 1}:{value!r}" for column, value in pairs).encode()
