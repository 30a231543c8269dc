"""Judgments and runs → a file in any of the formats that `read` understands, whole or not at all."""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import IO, TYPE_CHECKING, Any, Final, TypeAlias

from rankgauge.errors import DuplicateError, FormatError, InputError, choices, counted, warn
from rankgauge.read.formats import FORMATS, format_named, format_of_suffix, kind_of_columns
from rankgauge.read.frames import frame_names, is_frame
from rankgauge.read.layers import split_suffixes
from rankgauge.read.memory import is_columns
from rankgauge.read.readers import read_judgments, read_run
from rankgauge.read.records import Judgments, Record, Run
from rankgauge.writers.files import check_target, opened

if TYPE_CHECKING:
    import polars as pl

__all__ = ["WRITERS", "check_run", "write"]

Writer: TypeAlias = "Callable[[Record, IO[bytes], str], None]"
KINDS: Final = ("judgments", "run")
WHOLE: Final = 2.0**53


def write(
    record: Any,
    target: str | os.PathLike[str],
    *,
    format: str | None = None,
    tag: str = "rankgauge",
    kind: str | None = None,
) -> None:
    """Write judgments or a run to a path, or to standard output for `-`.

    `record` is anything that `evaluate` takes, too: a dict of dicts, a frame. Names of columns say which of the two it
    is; so do a path such as `x.run` or `x.qrels`, and scores that are no whole numbers; `kind` ("judgments" or "run")
    says it where nothing does.

    The suffix gives the format and the compression (`run.jsonl.gz`), unless `format` says otherwise. A run is written
    query by query, best documents first; equal scores by descending document id, those of learning-to-rank rows in the
    order of the rows. A file appears under its name only when it is complete.
    """
    if isinstance(record, (str, os.PathLike)):
        raise InputError(f"write takes what is written first, then the path: write(run, {os.fspath(record)!r})")
    path = os.fsdecode(target)
    name = _format_of(path, format)
    record = _record_of(record, path, kind)
    if record.is_nested and (silent := [query for query, docs in record.nested.items() if not docs]):
        queries = counted(len(silent), "query", "queries")
        warn(f"{path}: {queries} without documents, such as {silent[0]!r}, cannot be written as rows; left out")
    with opened(path) as stream:
        try:
            WRITERS[name](record, stream, tag)
        except UnicodeEncodeError as error:
            raise FormatError(f"{path}: the id {error.object!r} cannot be written as UTF-8") from None


def _format_of(path: str, format: str | None) -> str:
    suffix, _ = split_suffixes(path)
    name = format or (format_of_suffix(suffix) if suffix else "trec")
    if name is None:
        known = choices(each for entry in FORMATS.values() for each in entry.suffixes)
        raise InputError(f"{path}: the suffix names no format; expected {known}, or say format= (--to)")
    format_named(name)
    if name not in WRITERS:
        raise FormatError(f"{name} is read and not written; expected {choices(WRITERS)}")
    return name


def check_run(path: str, queries: Iterable[str], tag: str) -> None:
    """Refuse a path where a run of these queries cannot be written, before there is one: with one document each."""
    check_target(path)
    name = _format_of(path, None)
    try:
        WRITERS[name](read_run({each: {"doc": 1.0} for each in queries}), io.BytesIO(), tag)
    except (FormatError, UnicodeEncodeError) as error:
        raise InputError(f"{path} cannot hold this run, so nothing is asked: {error}") from None


def _record_of(given: Any, path: str, kind: str | None) -> Judgments | Run:
    """The record itself, or what is read of anything else that holds judgments or a run."""
    if isinstance(given, (Judgments, Run)):
        return given
    kind = (
        kind
        or kind_of_columns(_column_names(given), {})
        or _kind_of_name(path)
        or ("run" if _is_scored(given) else None)
    )
    if kind not in KINDS:
        how = 'kind="judgments" or kind="run"'
        raise InputError(f"{path}: {f'kind={kind!r}; expected' if kind else 'may be judgments or a run; write'} {how}")
    return read_judgments(given) if kind == "judgments" else read_run(given)


def _column_names(given: Any) -> list[str]:
    """The names of the columns of a frame, of a dict of columns, or of dicts as rows; none of anything else."""
    if is_frame(given):
        return [*given.column_names] if hasattr(given, "column_names") else frame_names(given)
    if isinstance(given, Mapping):
        return list(map(str, given)) if is_columns(given, "what is written") else []
    first = given[0] if isinstance(given, Sequence) and given else None
    return list(map(str, first)) if isinstance(first, Mapping) else []


def _kind_of_name(path: str) -> str | None:
    """What a name such as `qrels.txt`, `dl19.qrels.gz` or `bm25.run` says that is in the file."""
    words = os.path.basename(path).lower().split(".")
    if words[0].startswith("qrels") or "qrels" in words[1:]:
        return "judgments"
    return "run" if "run" in words[1:] else None


def _is_scored(given: Any) -> bool:
    """Whether any number in a dict of dicts is no whole one, as of scores."""
    if not isinstance(given, Mapping):
        return False
    docs = [each for each in given.values() if isinstance(each, Mapping)]
    return len(docs) < len(given) or any(isinstance(number, float) for each in docs for number in each.values())


Ranked: TypeAlias = "tuple[str, str, int, float]"


def ranked_rows(record: Record) -> Iterator[Ranked]:
    """(query, document, rank, number), queries together; a run in descending order of score, then of document id."""
    last, rank = None, 0
    for query, doc, number in _sorted_columns(record) if record.is_columns else _sorted_nested(record):
        rank = rank + 1 if query == last else 1
        last = query
        if not math.isfinite(number):
            raise _not_finite(query, doc, number)
        yield query, doc, rank, number


def _not_finite(query: str, doc: str, number: float) -> FormatError:
    return FormatError(
        f"query {query!r}, document {doc!r}: {number!r} is not a finite number and would not be read back"
    )


def _sorted_nested(record: Record) -> Iterator[tuple[str, str, float]]:
    for _, rows in groupby(record, key=itemgetter(0)):
        if not isinstance(record, Run):
            yield from rows
            continue
        given = record.ties == "given"
        yield from sorted(rows, key=lambda row: (row[2], "" if given else row[1]), reverse=True)


def _sorted_columns(record: Record) -> Iterator[tuple[str, str, float]]:
    frame = _sorted_frame(record)
    queries = record.columns.queries
    for query, doc, number in frame.iter_rows():
        yield queries[query], doc, number


def _sorted_frame(record: Record) -> pl.DataFrame:
    """Query as a number, document, number; in the order in which they are written."""
    import polars as pl

    columns = record.columns
    frame = pl.DataFrame({"query": columns.query, "doc": columns.doc, "number": columns.number})
    if isinstance(record, Judgments):
        frame = frame.unique(maintain_order=True)
    twice = frame.filter(pl.struct("query", "doc").is_duplicated())
    if len(twice):
        query, doc = columns.queries[twice["query"][0]], twice["doc"][0]
        raise record.explain(query, doc) or DuplicateError(
            f"{record.source}: query {query!r}, document {doc!r} is there twice; keep one"
        )
    if isinstance(record, Judgments):
        return frame.sort("query", maintain_order=True)
    if isinstance(record, Run) and record.ties == "given":
        return frame.sort("query", "number", descending=[False, True], maintain_order=True)
    return frame.sort("query", "number", "doc", descending=[False, True, True])


def grade_text(grade: float) -> str:
    """A grade as the field writes it: without a point where it is whole."""
    return repr(_plain(grade))


def _plain(grade: float) -> int | float:
    return int(grade) if grade.is_integer() and abs(grade) < WHOLE else grade


def _write_trec(record: Record, stream: IO[bytes], tag: str) -> None:
    if isinstance(record, Judgments):
        for query, doc, _, grade in ranked_rows(record):
            stream.write(f"{_field(query, first=True)} 0 {_field(doc)} {grade_text(grade)}\n".encode())
        return
    _field(tag)
    for query, doc, rank, score in ranked_rows(record):
        stream.write(f"{_field(query, first=True)} Q0 {_field(doc)} {rank} {score!r} {tag}\n".encode())


def _write_msmarco(record: Record, stream: IO[bytes], tag: str) -> None:
    if isinstance(record, Judgments):
        raise FormatError("msmarco is a format of runs and has no grades; write judgments as trec")
    for query, doc, rank, _ in ranked_rows(record):
        stream.write(f"{_field(query, first=True)}\t{_field(doc)}\t{rank}\n".encode())


def _write_letor(record: Record, stream: IO[bytes], tag: str) -> None:
    """Rows without features: the label, the query, and the document in the comment."""
    if isinstance(record, Run):
        for _ in ranked_rows(record):  # what is wrong with the rows is said first
            pass
        raise FormatError("letor is a format of labels and has no scores; write runs as trec")
    for query, doc, _, grade in ranked_rows(record):
        if "#" in query:
            raise FormatError(f"the query id {query!r} holds #, which begins a comment; write trec, jsonl or parquet")
        stream.write(f"{grade_text(grade)} qid:{_field(query)} # docid = {_field(doc)}\n".encode())


def _field(identifier: str, *, first: bool = False) -> str:
    """An id that can stand between blanks."""
    text = identifier.encode()
    if text.split() != [text]:
        raise FormatError(f"the id {identifier!r} is empty or holds blanks, which end a field; write jsonl or parquet")
    if "\0" in identifier or (first and identifier.startswith(("#", "\ufeff"))):
        raise FormatError(f"the id {identifier!r} would be read as something else; write jsonl or parquet")
    return identifier


def _names(record: Record) -> list[str]:
    return ["query_id", "doc_id", *(["relevance"] if isinstance(record, Judgments) else ["rank", "score"])]


def _values(record: Record) -> Iterator[tuple[str, str, *tuple[int | float, ...]]]:
    graded = isinstance(record, Judgments)
    for query, doc, rank, number in ranked_rows(record):
        yield (query, doc, _plain(number)) if graded else (query, doc, rank, number)


def _delimited(delimiter: str) -> Writer:
    def write_delimited(record: Record, stream: IO[bytes], tag: str) -> None:
        stream.write(delimiter.join(_names(record)).encode() + b"\n")
        for query, doc, *numbers in _values(record):
            cells = [_cell(query, delimiter), _cell(doc, delimiter), *map(repr, numbers)]
            stream.write(delimiter.join(cells).encode() + b"\n")

    return write_delimited


def _cell(identifier: str, delimiter: str) -> str:
    """An id in a table, in quotes where it needs them (the csv module forgets a lone carriage return, and #)."""
    if not identifier or "\0" in identifier:
        raise FormatError(f"the id {identifier!r} is empty or holds NUL; write jsonl or parquet")
    needs_quotes = identifier[0] == "#" or any(char in identifier for char in (delimiter, '"', "\r", "\n"))
    return '"' + identifier.replace('"', '""') + '"' if needs_quotes else identifier


def _write_json(record: Record, stream: IO[bytes], tag: str) -> None:
    """One query a line, so that a difference between two files can be read."""
    lines: list[bytes] = []
    for query, rows in groupby(ranked_rows(record), key=lambda row: row[0]):
        docs = {doc: _plain(number) if isinstance(record, Judgments) else number for _, doc, _, number in rows}
        lines.append(f"{json.dumps(query, ensure_ascii=False)}: {json.dumps(docs, ensure_ascii=False)}".encode())
    stream.write(b"{\n" + b",\n".join(lines) + b"\n}\n")


def _write_jsonl(record: Record, stream: IO[bytes], tag: str) -> None:
    names = _names(record)
    for values in _values(record):
        stream.write(json.dumps(dict(zip(names, values, strict=True)), ensure_ascii=False).encode() + b"\n")


def _columnar(write_frame: str) -> Writer:
    """The writer that a frame has for a format, whole in memory first."""

    def write_columns(record: Record, stream: IO[bytes], tag: str) -> None:
        data = io.BytesIO()
        getattr(_frame(record), write_frame)(data)
        stream.write(data.getbuffer())

    return write_columns


def _frame(record: Record) -> pl.DataFrame:
    """The rows with the field's column names, in the order in which they are written."""
    import polars as pl

    rows = _sorted_frame(record)
    ids = pl.Series("query_id", record.columns.queries, dtype=pl.String)
    frame = rows.select(ids.gather(rows["query"]), doc_id="doc", number="number")
    for query, doc, number in frame.filter(~pl.col("number").is_finite()).iter_rows():
        raise _not_finite(query, doc, number)
    if isinstance(record, Judgments):
        whole = frame["number"].abs().lt(WHOLE).all() and frame["number"].eq(frame["number"].floor()).all()
        return frame.rename({"number": "relevance"}).cast({"relevance": pl.Int64} if whole else {})
    rank = pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("query_id")
    return frame.select("query_id", "doc_id", rank.alias("rank"), pl.col("number").alias("score"))


# The same names as in FORMATS; a test holds the two together.
WRITERS: Final[dict[str, Writer]] = {
    "trec": _write_trec,
    "msmarco": _write_msmarco,
    "letor": _write_letor,
    "csv": _delimited(","),
    "tsv": _delimited("\t"),
    "json": _write_json,
    "jsonl": _write_jsonl,
    "parquet": _columnar("write_parquet"),
    "arrow": _columnar("write_ipc"),
}
