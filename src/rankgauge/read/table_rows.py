"""Runs and judgments in tables: small ones row by row, big ones through polars.

Polars is optimistic and strict: on anything unusual the rows are gone through one by one after all, to say what it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.errors import FormatError, InputError, counted, warn
from rankgauge.read.cells import PAIRS, Header, Records, Spelling, header_of, json_lines, parse_json
from rankgauge.read.frames import frame_columns, numbered, panics_unseen
from rankgauge.read.memory import checked_row, is_columns, item_rows, rows_of_columns
from rankgauge.read.names import JUDGED, ask_of, find_columns, is_quepid, number_role
from rankgauge.read.rankings import Ranking, rankings_in_item, read_rankings, refuse_others
from rankgauge.read.records import Columns
from rankgauge.read.rows import Ask, Content, Row, Rows, content_of, negated, shortened
from rankgauge.read.sources import HEAD, Source

if TYPE_CHECKING:
    import polars as pl

__all__ = ["column_names", "delimited_columns", "delimited_rows", "fast_columns", "json_columns", "json_rows"]
__all__ += ["quick_columns", "ranked_table", "read_delimited", "read_json", "read_jsonl"]

# Query → document → number, as far as the first of each shows it, and not what search engines and MTEB write.
KEY: Final = rb'"(?!took"|responseHeader"|_shards"|hits"|error"|mteb_model_meta")(?:[^"\\]|\\.)*"\s*:\s*'
QUOTE: Final = ord('"')
WINDOW: Final = 1 << 20  # bytes that are looked at together
NESTED: Final = re.compile(rb"\s*\{\s*%b\{\s*(?:\}|%b[^\s\[{])" % (KEY, KEY))


def read_delimited(source: Source, ask: Ask, header: Header | None = None) -> Content:
    """Values between commas, semicolons or tabs; `header` is what stands for one in a table that has none."""
    ask = ask_of((header or header_of(source.head())).names, ask)
    rows = delimited_rows(source, ask, header)
    return content_of(rows, ask, fast_columns(source, ask, partial(delimited_columns, header=header)))


def read_jsonl(source: Source, ask: Ask) -> Content:
    """One JSON object a line: a row, or a ranking beside its query."""
    first = next(iter(json_lines(source)), None)
    if first is not None and rankings_in_item(first[1], f"{source.name}:{first[0]}") is not None:
        each = [_rankings(item, f"{source.name}:{line}") for line, item in json_lines(source)]
        return read_rankings(list(chain.from_iterable(each)), ask, source.name, checked_row)
    ask = ask if first is None else ask_of(list(first[1]), ask)
    if first is not None and ask.kind == "judgments" and not ask.columns and first[1].keys() >= JUDGED:
        judged = Rows(source.name, "line", lambda: item_rows(_graded(source), ask, judged.place))
        return content_of(judged, ask)
    return content_of(json_rows(source, ask), ask, fast_columns(source, ask, json_columns))


def _graded(source: Source) -> Iterator[tuple[int, Any]]:
    """The rows of a judge's page that are grades; those of several judges are not one set of judgments."""
    judge, others = None, 0
    for line, item in json_lines(source):
        judge = item.get("judge") if judge is None else judge
        if item.get("judge") != judge:
            words = f"{source.name}:{line}: {item.get('judge')!r} judged this, and {judge!r} what is before it"
            how = "keep every judge: 'rankgauge store import' takes the file as it is, or make a file of each judge"
            raise FormatError(f"{words}; {how}")
        if item.get("state") == "graded":
            yield line, item
        else:
            others += 1
    if others:
        warn(f"{source.name}: {counted(others, 'row is', 'rows are')} no grade (skipped, or nobody could tell)")


def read_json(source: Source, ask: Ask) -> Content:
    """One JSON object, query → document → number or query → ranking, or one JSON list of rows or rankings."""
    if NESTED.match(source.head()):
        return content_of(Rows(source.name, "entry", lambda: _nested_rows(source, ask)), ask)
    loaded = parse_json(source)
    if isinstance(loaded, Mapping) and is_columns(loaded, source.name, ask.columns):
        loaded = rows_of_columns(loaded)
    if isinstance(loaded, Mapping):
        return read_rankings(_rankings(loaded, source.name), ask, source.name, checked_row)
    if not isinstance(loaded, list):
        raise FormatError(f"{source.name}: expected query → document → number, got {shortened(json.dumps(loaded))}")
    first = loaded[0] if loaded and isinstance(loaded[0], dict) else {}
    if first and rankings_in_item(first, f"{source.name}, row 1") is not None:
        each = [_rankings(item, f"{source.name}, row {row}") for row, item in enumerate(loaded, 1)]
        return read_rankings(list(chain.from_iterable(each)), ask, source.name, checked_row)
    ask = ask_of(list(first), ask)
    place = partial("{}, row {}".format, source.name)
    return content_of(Rows(source.name, "entry", lambda: item_rows(enumerate(loaded, 1), ask, place)), ask)


def column_names(source: Source, format: str, columns: Mapping[str, str] | None = None) -> list[str]:
    """The names of the columns, as far as the start of the file shows them; none for a JSON of nested objects."""
    if format in ("csv", "tsv"):
        return header_of(source.head()).names
    if format == "jsonl":
        return next((list(item) for _, item in json_lines(source)), [])
    loaded = parse_json(source)
    if isinstance(loaded, Mapping):
        return list(loaded) if is_columns(loaded, source.name, columns) else []
    first = loaded[0] if isinstance(loaded, list) and loaded else None
    return list(first) if isinstance(first, dict) else []


# ---- row by row ------------------------------------------------------------------------------------------------------


def delimited_rows(source: Source, ask: Ask, header: Header | None = None) -> Rows:
    """The rows of a table between commas, semicolons or tabs."""
    return Rows(source.name, "line", lambda: _cell_rows(source, ask, header))


def json_rows(source: Source, ask: Ask) -> Rows:
    """The rows of JSON lines."""
    rows = Rows(source.name, "line", lambda: item_rows(json_lines(source), ask, rows.place))
    return rows


def _cell_rows(source: Source, ask: Ask, header: Header | None) -> Iterator[Row]:
    name = source.name
    records = Records(source, header=header, quotes=header is None or header.delimiter != "\t")
    each = iter(records)
    names = header.names if header else next(each)[1]
    query, doc, number = (names.index(column) for column in find_columns(names, ask, name))
    unrated, spelling = 0, Spelling(records.delimiter)
    for line, cells in each:
        if is_quepid(names) and cells[query] and not cells[number]:
            unrated += 1
            continue
        if not cells[query] or not cells[doc]:
            raise FormatError(f"{name}:{line}: an id is empty; expected the id of a query and of a document")
        if not cells[number].strip():
            raise FormatError(f"{name}:{line}: {number_role(ask)} is empty; fill it in, or leave the row out")
        try:
            value = spelling.number(cells[number])
            if ask.by == "rank":
                value = negated(value, cells[number])
        except ValueError as error:
            raise FormatError(f"{name}:{line}: {number_role(ask)} {error}") from None
        yield line, cells[query], cells[doc], value
    if unrated:
        warn(f"{name}: {counted(unrated, 'row has', 'rows have')} no rating, as Quepid writes it; not judged")


def _rankings(item: Any, place: str) -> list[Ranking]:
    """The rankings in an object; what holds none is an error."""
    if isinstance(item, Mapping):
        refuse_others(item, place)
    found = rankings_in_item(item, place) if isinstance(item, Mapping) else None
    if found is not None:
        return found
    for query, value in item.items() if isinstance(item, Mapping) else ():
        if not isinstance(value, (list, Mapping)):
            what = f"query {query!r} maps to {shortened(json.dumps(value))}"
            raise FormatError(f"{place}: {what}; expected document → number, or a list of documents")
    shown = shortened(json.dumps(item))
    raise FormatError(f"{place}: expected query → document → number, or a list of documents, got {shown}")


def _nested_rows(source: Source, ask: Ask) -> Iterator[Row]:
    """The rows of query → document → number, of which each query is let go once it was taken over."""
    if ask.by == "rank":
        raise InputError(f"{source.name}: query → document → number has no ranks; write rows with a rank instead")
    name, entry = source.name, 0
    queries = list(parse_json(source, PAIRS))
    queries.reverse()
    while queries:
        query, docs = queries.pop()
        if not isinstance(docs, tuple):
            shown = shortened(json.dumps(docs))
            raise FormatError(f"{name}: query {query!r} maps to {shown}; expected document → number")
        for doc, number in docs:
            entry += 1
            place = partial("{}, query {!r}, document {!r}".format, name, query, doc)
            yield checked_row(entry, (query, doc, number), ask, place)


# ---- through polars --------------------------------------------------------------------------------------------------


def fast_columns(source: Source, ask: Ask, columns: Callable[[Source, Ask, bytes], Columns | None]) -> Columns | None:
    """What is made of all the bytes of a big file; None on anything unusual.

    Polars is given bytes: of a stream it may read the file behind it, from where the buffer ended.
    """
    return None if source.is_small else quick_columns(source, ask, columns, source.read_lines())


def quick_columns(
    source: Source, ask: Ask, columns: Callable[[Source, Ask, bytes], Columns | None], data: bytes
) -> Columns | None:
    """What is made of these bytes; None on anything unusual."""
    import polars as pl

    try:
        with panics_unseen():
            return columns(source, ask, data)
    except (InputError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return None


def delimited_columns(source: Source, ask: Ask, data: bytes, header: Header | None = None) -> Columns | None:
    """Every cell is read, because polars counts the fields of a line only then."""
    import polars as pl

    headed, header = header is None, header or header_of(data[:HEAD])
    if is_quepid(header.names) or "\ufffd" in "".join(header.names):
        return None  # cells may be empty, or the header is no UTF-8
    data = data[header.start :]
    if (b"#" in data and b"\n#" in data) or (b"\r" in data and data.count(b"\r") != data.count(b"\r\n")):
        return None  # comments, or a line end that polars takes for a character
    query, doc, number = find_columns(header.names, ask, source.name)
    schema: dict[str, type[pl.DataType]] = dict.fromkeys(header.names, pl.String)
    schema[number] = pl.Float64
    quote = '"' if headed or header.delimiter in ",;" else None
    if quote and not _is_quoted_well(data, header.delimiter.encode()):
        return None
    frame = pl.read_csv(data, separator=header.delimiter, schema=schema, has_header=headed, quote_char=quote)
    lacking = any((frame[column] == "").any() for column in (query, doc)) or frame[header.names[-1]].null_count()
    blank = quote is None and frame.select(pl.col(query, doc).str.contains(r"\s").any()).row(0)
    odd = lacking or (blank and any(blank)) or _ends_oddly(data, header)
    return None if odd or not len(frame) else frame_columns(frame, ask, source.name)


def _is_quoted_well(data: bytes, delimiter: bytes) -> bool:
    """Whether every quote opens a field, closes it or is doubled in it, or no field is quoted: polars drops others."""
    cells, structure = np.frombuffer(data, np.uint8), np.frombuffer(delimiter + b"\r\n", np.uint8)
    quotes = np.concatenate(
        [np.flatnonzero(cells[start : start + WINDOW] == QUOTE) + start for start in range(0, len(cells), WINDOW)]
    )
    begins = np.isin(cells[quotes - 1], structure) | (quotes == 0)
    if not begins.any():
        return True
    ends = np.isin(cells[np.minimum(quotes + 1, len(cells) - 1)], structure) | (quotes == len(cells) - 1)
    doubled = np.diff(quotes) == 1  # with the next one
    opened, closed = (begins | np.r_[False, doubled])[::2], (ends | np.r_[doubled, False])[1::2]
    return len(opened) == len(closed) and bool(opened.all() and closed.all())


def _ends_oddly(data: bytes, header: Header) -> bool:
    """Whether the last line has another number of fields, which polars overlooks there."""
    last = data[-HEAD:].rstrip(b"\r\n").rpartition(b"\n")[2]
    return b'"' not in last and last.count(header.delimiter.encode()) != len(header.names) - 1


def json_columns(source: Source, ask: Ask, data: bytes) -> Columns | None:
    """Not where a key may be there twice, or a column holds texts and others mixed."""
    import polars as pl

    columns = find_columns(column_names(source, "jsonl"), ask, source.name)
    frame = pl.read_ndjson(data, infer_schema_length=None)
    if b"\\" in data and re.search(rb'\\[u/][^"\n]*"\s*:|\\u[dD][89a-fA-F]', data):
        return None  # a key in other letters, or half a character
    if any(_repeats(column, data) for column in frame):
        return None
    frame = frame.select(list(dict.fromkeys(columns)))
    mixed = any(column.dtype == pl.String and not _is_all_strings(column, data) for column in frame)
    return None if mixed or not len(frame) else frame_columns(frame, ask, source.name)


def _repeats(column: pl.Series, data: bytes) -> bool:
    """Whether a key may be there twice on a line: polars takes the first and says nothing."""
    key = b'"%b"' % column.name.encode()
    if data.count(key) == len(column) and not column.null_count():
        return False
    return re.search(rb"%b\s*:[^\n]*%b\s*:" % (re.escape(key), re.escape(key)), data) is not None


def _is_all_strings(column: pl.Series, data: bytes) -> bool:
    """Whether every value is a string in the file: polars makes text of others silently."""
    key = b'"%b"' % column.name.encode()
    if data.count(key + b': "') + data.count(key + b':"') == len(column):
        return True
    return sum(1 for _ in re.finditer(rb'%b\s*:\s*"' % re.escape(key), data)) == len(column)


def ranked_table(source: Source, ask: Ask) -> Columns | None:
    """An MS MARCO run: query, document and rank between tabs."""
    return fast_columns(source, ask, _ranked_columns)


def _ranked_columns(source: Source, ask: Ask, data: bytes) -> Columns | None:
    import polars as pl

    schema = {"query": pl.String, "doc": pl.String, "rank": pl.Int64}
    frame = pl.read_csv(data, has_header=False, separator="\t", quote_char=None, schema=schema)
    blank = frame.select(pl.col("query", "doc").str.contains(r"^#|\s").any()).row(0)
    if any(blank) or any(column.null_count() for column in frame):
        return None
    return Columns(*numbered(frame["query"]), frame["doc"], -frame["rank"].to_numpy().astype(np.float64))
