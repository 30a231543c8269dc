"""Rows of a learning-to-rank file: svmlight with `qid:`, as LETOR has it, or with the sizes of queries beside it.

    2 qid:10 1:0.03 2:0.66 … #docid = GX008-86        LETOR, MSLR, RankLib, XGBoost
    2 1:0.03 2:0.66 …                                 LightGBM; rank.test.query holds the number of rows of each query

Only the label and the query are read; features are skipped, however many there are. A document is called by the `docid`
of the comment where every row has one, otherwise by the number of its row (row17), which is its line in the scores.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.errors import FormatError, InputError, counted, warn
from rankgauge.read.layers import LAYERS, layer_of
from rankgauge.read.ltr_blocks import Labels, read_label_blocks
from rankgauge.read.numbers import LONG, Column, read_sizes
from rankgauge.read.records import Columns, Judgments, Nested, Run
from rankgauge.read.rows import Ask, Content, Row, Rows, number_of, shortened
from rankgauge.read.sources import Source, find_source

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SIZE_SUFFIXES", "Ltr", "read_letor", "read_ltr", "rows_of", "split_row"]

SIZE_SUFFIXES: Final = (".query", ".group")  # LightGBM's and XGBoost's
EXPECTED: Final = "expected LABEL [qid:QUERY] FEATURE:VALUE … [# comment]"
DOCID: Final = re.compile(rb"\bdocid[ \t]*=[ \t]*(\S+)")
FEW: Final = 50_000  # rows that are quicker as dicts, without polars


@dataclass(frozen=True, eq=False, slots=True)
class Ltr:
    """The rows of a learning-to-rank file, without features: one grade and one query each, in the order of the file."""

    source: Source
    grades: NDArray[np.float64]
    qid: NDArray[np.int32]
    queries: list[str]
    docs: list[str] | None = None
    few: int = FEW

    def __len__(self) -> int:
        return len(self.grades)

    @property
    def groups(self) -> NDArray[np.int64]:
        """How many rows each query has."""
        return np.bincount(self.qid, minlength=len(self.queries))

    def judgments(self) -> Judgments:
        """The labels as grades."""
        return Judgments(self._rows(self.grades), source=self.source.name)

    def run(self, scores: Any, *, tag: str = "") -> Run:
        """The rows under the scores of a model: one number a row, or a file of these."""
        column = scores if isinstance(scores, Column) else Column("scores", np.asarray(scores, np.float64))
        if column.numbers.shape != self.grades.shape:
            raise InputError(
                f"{column.name}: holds {counted(column.numbers.size, 'score')}, and {self.source.name} "
                f"{counted(len(self), 'row')}; give one score a row, in the order of the rows"
            )
        if not np.isfinite(column.numbers).all():
            row = int(np.flatnonzero(~np.isfinite(column.numbers))[0])
            raise FormatError(f"{column.name}, row {row + 1}: score {column.numbers[row]} is not a finite number")
        return Run(self._rows(column.numbers), source=column.name, tag=tag, ties="given")

    def line(self, row: int) -> int:
        """The line of the file on which a row stands (it is looked for)."""
        with self.source.open_text() as stream:
            return next(line for number, (line, _, _) in enumerate(rows_of(stream)) if number == row)

    def lines(self) -> Iterator[Row]:
        """The rows as judgments, with their lines."""
        with self.source.open_text() as stream:
            rows = zip(self.qid.tolist(), self._names(), self.grades.tolist(), strict=True)
            for (line, _, _), (query, doc, grade) in zip(rows_of(stream), rows, strict=True):
                yield line, self.queries[query], doc, grade

    def refuse(self, bad: NDArray[np.bool_], why: str) -> None:
        """An error that names the first of these rows, if there is one."""
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise FormatError(f"{self.source.name}:{self.line(row)}: label {self.grades[row]:g} {why}")

    def _rows(self, numbers: NDArray[np.float64]) -> Nested | Columns:
        if len(self) > self.few:
            return Columns(self.queries, self.qid, self._name_series(), numbers)
        nested: dict[str, dict[str, float]] = {query: {} for query in self.queries}
        tables = list(nested.values())
        for query, doc, number in zip(self.qid.tolist(), self._names(), numbers.tolist(), strict=True):
            tables[query][doc] = number
        return nested

    def _names(self) -> Iterable[str]:
        return self.docs if self.docs is not None else (f"row{row}" for row in range(1, len(self) + 1))

    def _name_series(self) -> Any:
        import polars as pl

        if self.docs is not None:
            return pl.Series(self.docs, dtype=pl.String)
        return pl.select("row" + pl.int_range(1, len(self) + 1).cast(pl.String)).to_series()


def read_letor(source: Source, ask: Ask) -> Content:
    """The labels of a learning-to-rank file as judgments."""
    if ask.columns:
        raise FormatError(f"{source.name}: has no named columns to map; {EXPECTED}")
    if ask.kind == "run":
        raise FormatError(
            f"{source.name}: holds labels and features, not a ranking; give the scores of a model for its rows: "
            f"rankgauge eval --ltr {source.name} --predictions FILE"
        )
    rows = read_ltr(source)
    labels = rows.judgments()
    return Content(labels.columns if labels.is_columns else labels.nested, origin=Rows(source.name, "line", rows.lines))


def read_ltr(source: str | os.PathLike[str] | Source, query_sizes: Any = None) -> Ltr:
    """The rows of a learning-to-rank file, compressed or not.

    Rows of one `qid:` are one query, wherever they stand; a warning says so where they are not together. Without `qid:`
    the sizes of queries come from `query_sizes` (a file, one size a line, or an iterable), or from a file beside it
    that is called as the file with `.query` (LightGBM) or `.group` (XGBoost) behind.
    """
    file = find_source(source)
    labels = _labels(file)
    if labels.query is None:
        sizes = _sizes(file, query_sizes)
        query = _repeated(file, sizes, len(labels.grade))
        queries = [str(number) for number in range(1, len(sizes.numbers) + 1)]
        labels = labels._replace(query=query, queries=queries)
    elif query_sizes is not None:
        _check_agreement(file, labels, _sizes(file, query_sizes))
    assert labels.query is not None
    _warn_if_scattered(file, labels.query, labels.queries)
    return Ltr(file, labels.grade, labels.query, labels.queries, _docs_once(file, labels))


def _labels(file: Source) -> Labels:
    """Small files line by line; big ones fast, and line by line only where that finds anything unusual."""
    if not file.is_small:
        with file.open_lines() as stream:
            labels = read_label_blocks(stream)
        if labels is not None:
            return labels
    with file.open_lines() as stream:
        return _careful(stream, file.name)


def rows_of(stream: Any) -> Iterator[tuple[int, bytes, bytes]]:
    """Line, what stands before the comment, and the comment, of every row."""
    for line, text in enumerate(stream, 1):
        content, _, comment = text.partition(b"#")
        if content.strip():
            yield line, content, comment


def split_row(content: bytes, place: str) -> tuple[float, bytes | None, bytes]:
    """Label, query (None where there is none) and features of a row; FormatError where it is none."""
    label, _, rest = content.strip().replace(b"\t", b" ").partition(b" ")
    try:
        grade = number_of(label)
    except ValueError as error:
        why = f"{error}: {shortened(content)}" if len(label) <= LONG else f"{shortened(label)} is not a number"
        raise FormatError(f"{place}: label {why}; {EXPECTED}") from None
    first, _, features = rest.lstrip().partition(b" ")
    if first.startswith(b"qid:"):
        if not first[4:]:
            raise FormatError(f"{place}: qid: names no query: {shortened(content)}; {EXPECTED}")
        return grade, first[4:], features.lstrip()
    if b" qid:" in b" " + rest:
        raise FormatError(f"{place}: qid: stands behind a feature: {shortened(content)}; {EXPECTED}")
    if first and b":" not in first:
        raise FormatError(
            f"{place}: {shortened(first)} is neither qid:QUERY nor FEATURE:VALUE: {shortened(content)}; {EXPECTED}"
        )
    return grade, None, rest.lstrip()


def _careful(stream: Any, name: str) -> Labels:
    """The reference: row by row, and an error that names the line."""
    numbers: dict[bytes, int] = {}
    grades: list[float] = []
    query: list[int] = []
    docs: list[bytes] = []
    first_line = 0
    for line, content, comment in rows_of(stream):
        grade, qid, _ = split_row(content, f"{name}:{line}")
        if grades and (qid is None) != (not query):
            raise _mixed(name, line, content, first_line, qid)
        grades.append(grade)
        first_line = first_line or line
        if qid is not None:
            query.append(numbers.setdefault(qid, len(numbers)))
        found = DOCID.search(comment)
        if found:
            docs.append(found[1])
    if not grades:
        raise InputError(f"{name}: holds no rows; {EXPECTED}")
    named = len(docs) == len(grades)
    return Labels(
        np.array(grades, np.float64),
        np.array(query, np.int32) if query else None,
        [_text(qid, name) for qid in numbers],
        [_text(doc, name) for doc in docs] if named else None,
    )


def _text(identifier: bytes, name: str) -> str:
    try:
        return identifier.decode()
    except UnicodeDecodeError:
        shown = shortened(identifier)
        raise FormatError(
            f"{name}: the id {shown} is not UTF-8 text; convert the file first (iconv -t UTF-8)"
        ) from None


def _mixed(name: str, line: int, content: bytes, first: int, qid: bytes | None) -> FormatError:
    one, other = ("no qid:", "one") if qid is None else ("a qid:", "none")
    return FormatError(
        f"{name}:{line}: has {one}, and line {first} has {other}: {shortened(content)}; "
        "give every row its qid:QUERY, or none and the sizes of queries in a file of their own"
    )


def _sizes(file: Source, given: Any) -> Column:
    if given is None:
        return read_sizes(_found_sizes(file))
    if isinstance(given, (str, os.PathLike, Source)):
        return read_sizes(given)
    return Column("query sizes", np.asarray(given, np.float64))


def _found_sizes(file: Source) -> str:
    """The file of sizes beside this one: `rank.test.query` or `rank.test.group`, compressed or not."""
    if file.path is None:
        raise InputError(f"{file.name}: its rows have no qid:, so give the sizes of its queries (--query-sizes FILE)")
    rest, suffix = os.path.splitext(file.path)
    names = [file.path, rest] if layer_of(suffix.lower()) else [file.path]
    packed = ["", *(each for layer in LAYERS for each in layer.suffixes)]
    for path in (f"{name}{size}{layer}" for name in names for size in SIZE_SUFFIXES for layer in packed):
        if os.path.isfile(path):
            return path
    wanted = " nor ".join(f"{names[-1]}{size}" for size in SIZE_SUFFIXES)
    raise InputError(
        f"{file.name}: its rows have no qid:, and there is neither {wanted}; "
        "name the file that holds the number of rows of each query (--query-sizes FILE)"
    )


def _repeated(file: Source, sizes: Column, rows: int) -> NDArray[np.int32]:
    """The query of every row."""
    total = int(sizes.numbers.sum())
    if total != rows:
        raise InputError(
            f"{sizes.name}: the sizes of its {counted(len(sizes.numbers), 'query', 'queries')} add up to {total:,}, "
            f"and {file.name} holds {counted(rows, 'row')}; do the two files belong together?"
        )
    counts = sizes.numbers.astype(np.int64)
    return np.repeat(np.arange(len(counts), dtype=np.int32), counts)


def _check_agreement(file: Source, labels: Labels, sizes: Column) -> None:
    """Sizes that are given beside `qid:` must say the same."""
    assert labels.query is not None
    by_size = _repeated(file, sizes, len(labels.grade))
    differs = np.flatnonzero(_changes(labels.query) != _changes(by_size))
    if len(differs):
        row = int(differs[0]) + 2
        raise InputError(
            f"{sizes.name}: does not begin a query at row {row} of {file.name} where its qid: does, or the other way "
            "round; leave out --query-sizes, for the rows name their queries"
        )


def _changes(query: NDArray[np.int32]) -> NDArray[np.bool_]:
    changes: NDArray[np.bool_] = query[1:] != query[:-1]
    return changes


def _warn_if_scattered(file: Source, query: NDArray[np.int32], queries: list[str]) -> None:
    begins = np.r_[0, np.flatnonzero(_changes(query)) + 1]
    apart = len(begins) - len(queries)
    if apart > 0:
        torn = np.flatnonzero(np.bincount(query[begins]) > 1)
        several = counted(len(torn), "query", "queries")
        warn(
            f"{file.name}: the rows of {several}, such as {queries[torn[0]]!r}, are "
            "not together; rows of one qid: are taken as one query (XGBoost and LightGBM want them together)"
        )


def _docs_once(file: Source, labels: Labels) -> list[str] | None:
    """The documents as they are named, unless a query has one twice: then rows are numbered."""
    if labels.docs is None or labels.query is None:
        return None
    seen: set[tuple[int, str]] = set()
    for pair in zip(labels.query.tolist(), labels.docs, strict=True):
        if pair in seen:
            warn(
                f"{file.name}: docid {pair[1]!r} is there twice for query {labels.queries[pair[0]]!r}; "
                "documents are called by the numbers of their rows instead"
            )
            return None
        seen.add(pair)
    return labels.docs
