"""Pairs to judge: a query and a document with their texts, in a file that people, models and other tools can read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from rankgauge.errors import FormatError, InputError, choices
from rankgauge.read.cells import json_lines
from rankgauge.read.layers import split_suffixes
from rankgauge.read.records import id_at
from rankgauge.read.sources import find_source
from rankgauge.read.tables import read_table

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SUFFIXES", "Pair", "read_pairs", "write_pairs"]

FIELD: Final = "document."  # how the column of a field begins, where a file has columns
KEYS: Final = ("query_id", "query", "need", "doc_id")


class Pair(NamedTuple):
    """A pair to judge; `document` are the fields of the document. `why` says who found it where, if that is asked;
    `place` is the file and line that it was read from.
    """

    query_id: str
    doc_id: str
    query: str | None = None
    need: str | None = None
    document: Mapping[str, Any] = {}
    why: Mapping[str, Any] | None = None
    place: str | None = None


def write_pairs(pairs: Sequence[Pair], path: str) -> None:
    """Write pairs as JSON lines, CSV, TSV or Parquet, as the suffix says; `-` is standard output."""
    import sys

    from rankgauge.writers.files import opened

    write = WRITERS["" if path == "-" else _suffix(path)]
    if path == "-":
        stream = io.BytesIO()
        write(pairs, stream)
        sys.stdout.write(stream.getvalue().decode())
        return
    with opened(path) as file:
        write(pairs, file)


def _suffix(path: str) -> str:
    suffix, _ = split_suffixes(path)
    if suffix not in WRITERS or not suffix:
        raise InputError(f"{path}: pairs are written as {choices(filter(None, WRITERS))}; name the file so")
    return suffix


def _json_lines(pairs: Iterable[Pair], stream: IO[bytes]) -> None:
    written = json.JSONEncoder(ensure_ascii=False, default=str).encode
    begun = lru_cache(1)(lambda *query: written(dict(zip(KEYS, query, strict=False)))[:-1])  # once for a query
    for pair in pairs:
        document = written(pair.document) if pair.document else "{}"
        why = "" if pair.why is None else f', "why": {written(pair.why)}'
        head = begun(pair.query_id, pair.query, pair.need)
        stream.write(f'{head}, "doc_id": {written(pair.doc_id)}, "document": {document}{why}}}\n'.encode())


def _flat(pairs: Iterable[Pair]) -> tuple[list[str], list[dict[str, Any]]]:
    """The columns of all pairs, and a row each: fields that are no text are JSON."""
    rows = []
    for pair in pairs:
        fields = {f"{FIELD}{name}": _cell(value) for name, value in pair.document.items()}
        why = {"why": json.dumps(pair.why, ensure_ascii=False)} if pair.why is not None else {}
        rows.append({name: getattr(pair, name) for name in KEYS} | fields | why)
    return list(dict.fromkeys([*KEYS, *(name for row in rows for name in row)])), rows


def _cell(value: Any) -> str | None:
    return value if isinstance(value, str) or value is None else json.dumps(value, ensure_ascii=False, default=str)


def _separated(delimiter: str) -> Callable[[Sequence[Pair], IO[bytes]], None]:
    def write(pairs: Sequence[Pair], stream: IO[bytes]) -> None:
        names, rows = _flat(pairs)
        text = io.StringIO()
        writer = csv.DictWriter(text, names, delimiter=delimiter, lineterminator="\n", restval="")
        writer.writeheader()
        writer.writerows(rows)
        stream.write(text.getvalue().encode())

    return write


def _parquet(pairs: Sequence[Pair], stream: IO[bytes]) -> None:
    import polars as pl

    names, rows = _flat(pairs)
    columns = {name: pl.Series(name, [row.get(name) for row in rows], pl.String) for name in names}
    pl.DataFrame(columns).write_parquet(stream)


WRITERS: Final[dict[str, Callable[[Sequence[Pair], IO[bytes]], None]]] = {
    "": _json_lines,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".parquet": _parquet,
}
SUFFIXES: Final = tuple(filter(None, WRITERS))


# ---- and back --------------------------------------------------------------------------------------------------------


def read_pairs(path: str) -> list[Pair]:
    """The pairs of such a file; query_id and doc_id are all that must be there."""
    pairs = [*(_of_lines(path) if _is_lines(path) else _of_table(path))]
    seen: set[tuple[str, str]] = set()
    for pair in pairs:
        if pair[:2] in seen:
            raise InputError(f"{path}: document {pair.doc_id!r} of query {pair.query_id!r} is there twice; keep one")
        seen.add(pair[:2])
    if not pairs:
        raise FormatError(f"{path}: holds no pairs; expected query_id, query, need, doc_id and document")
    return pairs


def _is_lines(path: str) -> bool:
    return split_suffixes(path)[0] in (".jsonl", ".ndjson", "") or path == "-"


def _of_lines(path: str) -> Iterator[Pair]:
    source = find_source(path)
    for line, item in json_lines(source):
        document = item.get("document") if isinstance(item, Mapping) else None
        if not isinstance(document if document is not None else {}, Mapping):
            how = 'expected its fields, such as {"text": "…"}'
            raise InputError(f"{source.name}:{line}: document is {document!r:.60}; {how}")
        yield _pair(item, document or {}, f"{source.name}:{line}")


def _of_table(path: str) -> Iterator[Pair]:
    table = read_table(path, key="query_id")
    for at, cells in enumerate(table.rows):
        row = {name: cell for name, cell in zip(table.names, cells, strict=True) if cell not in (None, "")}
        document = {name.removeprefix(FIELD): cell for name, cell in row.items() if name.startswith(FIELD)}
        yield _pair(row, document, table.place(at))


def _pair(item: Any, document: Mapping[str, Any], place: str) -> Pair:
    missing = [name for name in ("query_id", "doc_id") if not isinstance(item, Mapping) or item.get(name) is None]
    if missing:
        raise FormatError(f"{place}: has no {missing[0]}; a pair has query_id, query, need, doc_id and document")
    query, doc = (id_at(item[name], place) for name in ("query_id", "doc_id"))
    words = [None if item.get(name) is None else str(item[name]) for name in ("query", "need")]
    return Pair(query, doc, words[0], words[1], document, place=place)
