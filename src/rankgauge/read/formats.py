"""The formats: one table, and how a source is recognised as one of them.

TREC's files are small and many, so that starting takes longer than reading them: modules of other formats are imported
when there is such a file.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple

from rankgauge.errors import FormatError, InputError, choices, unknown, way
from rankgauge.read import frames
from rankgauge.read import trec as lines
from rankgauge.read.layers import LAYERS
from rankgauge.read.names import has_role, is_beir, looks_like_header
from rankgauge.read.rows import Ask, Content, shortened
from rankgauge.read.sources import NUMPY, Source

__all__ = ["FORMATS", "Format", "bare_name", "format_named", "kind_of", "kind_of_columns", "names_in", "recognise"]


class Format(NamedTuple):
    """One way of writing rows down, and which kinds it can hold."""

    about: str
    suffixes: tuple[str, ...]
    read: Callable[[Source, Ask], Content]
    kinds: tuple[str, ...] = ("judgments", "run")


def _later(module: str, name: str, **more: Any) -> Callable[[Source, Ask], Content]:
    """A reader whose module is imported when it is called."""

    def read(source: Source, ask: Ask) -> Content:
        content: Content = getattr(import_module(f"rankgauge.read.{module}"), name)(source, ask, **more)
        return content

    return read


FORMATS: Final[dict[str, Format]] = {
    "trec": Format(
        "judgments of 4 fields, runs of 6, separated by blanks or tabs",
        (".trec", ".qrels", ".qrel", ".run", ".res", ".txt"),
        lines.read_trec,
    ),
    "msmarco": Format("runs of 3 fields: query, document, rank", (), lines.read_msmarco, ("run",)),
    "headless": Format("query, document and grade or score by position, without a header", (), lines.read_headless),
    "letor": Format(
        "judgments as learning-to-rank rows: LABEL qid:QUERY FEATURE:VALUE …",
        (".letor", ".svmlight", ".libsvm", ".svm"),
        _later("ltr", "read_letor"),
        ("judgments",),
    ),
    "csv": Format("commas or semicolons, with a header", (".csv",), _later("table_rows", "read_delimited")),
    "tsv": Format("tabs, with a header", (".tsv", ".tab"), _later("table_rows", "read_delimited")),
    "json": Format("query → document → number, or a list of rows", (".json",), _later("table_rows", "read_json")),
    "jsonl": Format("one JSON object a line", (".jsonl", ".ndjson"), _later("table_rows", "read_jsonl")),
    "parquet": Format("Parquet", (".parquet", ".pq"), _later("frames", "read_columns", format="parquet")),
    "arrow": Format(
        "Arrow IPC (Feather)", (".arrow", ".feather", ".ipc"), _later("frames", "read_columns", format="arrow")
    ),
}

# People give these names to anything: what is inside decides.
UNSURE: Final = ("trec", "tsv")
CONSTANT: Final = (b"0", b"Q0")  # the second field of TREC's files
TRIPLE: Final = ("query", "document", "number")
LETOR: Final = re.compile(rb"[-+.\deE]+ (qid:\S|\d+:[-+.\d])")


def format_named(name: str) -> Format:
    """The format of this name."""
    if name not in FORMATS:
        raise InputError(unknown(f"unknown format {name!r}", name, FORMATS, f"expected {choices(FORMATS)}"))
    return FORMATS[name]


def format_of_suffix(suffix: str) -> str | None:
    """The format that a suffix stands for."""
    return next((name for name, each in FORMATS.items() if suffix in each.suffixes), None)


def bare_name(path: str) -> str:
    """`runs/bm25.v2.jsonl.gz` → `bm25.v2`: the file's name without the suffixes of formats and of compression."""
    if not path:
        return path
    known = _suffixes()
    name = os.path.basename(path.rstrip(os.sep))
    rest, suffix = os.path.splitext(name)
    while rest and suffix.lower() in known:
        name, (rest, suffix) = rest, os.path.splitext(rest)
    return name


@cache
def _suffixes() -> frozenset[str]:
    tables = [*(each.suffixes for each in FORMATS.values()), *(layer.suffixes for layer in LAYERS)]
    return frozenset(suffix for suffixes in tables for suffix in suffixes)


def recognise(source: Source, kind: str | None, columns: Mapping[str, str] | None = None) -> str:
    """The name of the format of a source: by its suffix where that is telling, otherwise by its content."""
    name = format_of_suffix(source.suffix)
    if name == "csv":
        return _by_fields(source.head(), source.name, kind, columns) or name
    if name == "json":
        from rankgauge.read.cells import json_format

        return json_format(source.head(), name) or name
    if name and name not in UNSURE:
        return name
    return _by_content(source, kind, columns)


def _by_content(source: Source, kind: str | None, columns: Mapping[str, str] | None) -> str:
    head = source.head()
    fields = lines.fields_of_first_line(head)
    if _is_letor(fields):
        return "letor"
    if b"\0" not in head and lines.is_regular(fields):
        trec = len(fields) > len(TRIPLE) and fields[1] in CONSTANT
        return "trec" if trec else _by_fields(head, source.name, kind, columns) or "trec"
    from rankgauge.read.cells import header_of, json_format

    name = frames.frame_format(head)
    if name is None and b"\0" in head:
        raise FormatError(f"{source.name}: {_with_nul(head)}")
    if name := name or json_format(head):
        return name
    header = header_of(head)
    if looks_like_header(header.names, columns):
        return "tsv" if header.delimiter == "\t" else "csv"
    return _by_fields(head, source.name, kind, columns) or "trec"


def _is_letor(fields: list[bytes]) -> bool:
    """Whether these are the fields of a learning-to-rank row: a number, then `qid:` or a feature."""
    return len(fields) > 1 and LETOR.match(fields[0] + b" " + fields[1]) is not None


def _by_fields(head: bytes, name: str, kind: str | None, columns: Mapping[str, str] | None) -> str | None:
    """The format of a table without a header; None where there is one, or where the fields are TREC's."""
    from rankgauge.read.cells import header_of, headless, rank_or_score

    header, fields = headless(head, "score"), lines.fields_of_first_line(head)
    if header is None or looks_like_header(header_of(head).names, columns):
        return None
    if lines.is_regular(fields) and len(fields) > len(TRIPLE) and header.delimiter in ", ;":
        return None
    if len(header.names) > len(TRIPLE):
        return "headless"
    if kind == "judgments":
        return "headless"
    third = rank_or_score(head, header.delimiter)
    if third is None:
        how = [way(f"format={each!r}", f"--run-format {each}", f"--from {each}") for each in ("msmarco", "headless")]
        words = "the third field may be a rank or a score; say which"
        raise FormatError(f"{name}: {words}: {how[0]} for ranks, {how[1]} for scores")
    return "msmarco" if third == "rank" else "headless"


def _with_nul(head: bytes) -> str:
    """What is wrong with a file that holds NUL bytes."""
    if head.startswith(NUMPY):
        return "is an array that numpy saved, which has no ids; scores of learning-to-rank rows go to --predictions"
    for start, encoding in ((1, "UTF-16LE"), (0, "UTF-16BE")):
        if len(head) > 1 and not head[start:200:2].strip(b"\0"):
            return f"looks like UTF-16 without its first two bytes; convert it first (iconv -f {encoding} -t UTF-8)"
    what = f"holds NUL bytes, so it is neither text nor a known format: {shortened(head[:40])}"
    return f"{what}; expected {choices(FORMATS)}"


def kind_of(source: Source, format: str, columns: Mapping[str, str] | None = None) -> str | None:
    """Judgments or run, where the number of fields or the names of the columns tell; otherwise None."""
    if len(FORMATS[format].kinds) == 1:
        return FORMATS[format].kinds[0]
    if format == "trec":
        fields = lines.fields_of_first_line(source.head())
        return "judgments" if len(fields) == lines.LAYOUTS["judgments"].width else "run"
    if format == "headless":
        from rankgauge.read.cells import headless

        header = headless(source.head(), "score")
        return {4: "judgments", 6: "run"}.get(len(header.names)) if header else None
    return kind_of_columns(names_in(source, format, columns), columns or {})


def names_in(source: Source, format: str, columns: Mapping[str, str] | None = None) -> list[str]:
    """The names of the columns of a file; none where they have no names."""
    if format in ("trec", "msmarco", "headless", "letor"):
        return []
    if format in ("parquet", "arrow"):
        return frames.column_names(source, format)
    from rankgauge.read import table_rows

    return table_rows.column_names(source, format, columns)


def kind_of_columns(names: list[str], columns: Mapping[str, str]) -> str | None:
    """Judgments have a grade and runs a score or rank; BEIR's judgments have a `score`, so that alone tells nothing."""
    graded = "relevance" in columns or has_role("relevance", names, sure=True)
    ranked = "rank" in columns or has_role("rank", names)
    scored = "score" in columns or has_role("score", names)
    if graded:
        return None if scored or ranked else "judgments"
    return "run" if ranked or (scored and not is_beir(names)) else None
