"""Frames → Columns: polars, pandas, pyarrow and whatever speaks the Arrow stream protocol, in memory or in a file.

No library but polars is imported here, and polars only when there is a frame to read: whoever holds a pandas frame has
imported pandas already.
"""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgauge.errors import OPTIONS, FormatError, InputError
from rankgauge.read.names import ask_of, find_columns, number_role
from rankgauge.read.records import Columns
from rankgauge.read.rows import INEXACT, Ask, Content, Rows, content_of, no_rows
from rankgauge.read.sources import Source

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

__all__ = [
    "batches",
    "column_names",
    "frame_columns",
    "frame_format",
    "frame_names",
    "frame_rows",
    "is_frame",
    "is_lazy",
    "load_frame",
    "numbered",
    "panics_unseen",
]
__all__ += ["read_columns", "read_frame", "row_count", "scanned", "slices", "text_ids"]

STDERR = 2
ARROW_FILE = b"ARROW1"
MAGIC = {b"PAR1": "parquet", ARROW_FILE: "arrow", b"\xff\xff\xff\xff": "arrow"}
# In what polars says of addresses: what may be a secret, and the one that it asked there first, whichever that was.
SECRET = re.compile(r"(?<=://)[^/\s]*@|[?#][^\s)]+| \(path: [^)]*\)")
FLOAT_IDS = "turn them into integers or text (pandas makes floats of integers where some are missing)"


def column_names(source: Source, format: str) -> list[str]:
    """The columns of a Parquet or Arrow file."""
    if not source.address and not source.columns:
        return load_frame(source, format, rows=0).columns
    scan = scanned(source, format)
    with _whole(source, format):
        return [] if scan is None else scan.collect_schema().names()


def frame_format(head: bytes) -> str | None:
    """The format of a file of columns, by its first bytes."""
    return next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)


def frame_rows(frame: Any) -> tuple[list[str], list[Sequence[Any]]]:
    """The names of a frame's columns, and its rows; what pandas calls missing is None."""
    if _is(frame, "pandas", "DataFrame"):
        cells = frame.astype(object).where(frame.notna(), None)
        return list(map(str, frame.columns)), list(cells.itertuples(index=False, name=None))
    loaded = _polars(frame, "the table")
    return loaded.columns, list(loaded.iter_rows())


def read_columns(source: Source, ask: Ask, *, format: str) -> Content:
    """A Parquet file, or an Arrow IPC file or stream."""
    names = column_names(source, format)
    ask = ask_of(names, ask)
    columns = dict.fromkeys(find_columns(names, ask, source.name))
    content = _from_polars(load_frame(source, format, list(columns)), ask, source.name)
    if not len(content.rows):
        raise no_rows(source.name, ask)
    return content


def load_frame(source: Source, format: str, columns: list[str] | None = None, rows: int | None = None) -> pl.DataFrame:
    """These columns and so many rows of a Parquet or Arrow file; all where nothing is said."""
    import polars as pl

    read: Callable[..., pl.DataFrame] = pl.read_parquet
    if format == "arrow":
        read = pl.read_ipc if source.head().startswith(ARROW_FILE) else pl.read_ipc_stream
    with source.open() as stream, _whole(source, format):
        data = stream if source.plain_path else io.BytesIO(stream.read())
        return read(data, columns=columns, n_rows=rows)


def scanned(source: Source, format: str) -> pl.LazyFrame | None:
    """A Parquet or Arrow file of which parts can be read; None where it can be read only as a whole."""
    import polars as pl

    if source.address:
        within = f"{source.address}**/*.parquet" if source.address.endswith("/") else source.address
        return pl.scan_parquet(within, glob="*" in within, hive_partitioning=False)
    path = source.plain_path
    if path is None or (format == "arrow" and not source.head().startswith(ARROW_FILE)):
        return None
    scan = (pl.scan_ipc if format == "arrow" else pl.scan_parquet)(path, glob=False, hive_partitioning=False)
    with _whole(source, format):
        names = set(scan.collect_schema().names()) if source.columns else set()
    more = {name: pl.lit(value, pl.String) for name, value in source.columns.items() if name not in names}
    return scan.with_columns(**more)


def slices(source: Source, format: str, columns: list[str], rows: int) -> Iterator[pl.DataFrame]:
    """These columns of a file that can be read in parts, so many rows at a time."""
    scan = scanned(source, format)
    assert scan is not None
    wanted, told = scan.select(columns), 0
    with _whole(source, format):
        number = row_count(scan)
    for start in range(0, number, rows):
        with _whole(source, format):
            part = wanted.slice(start, rows).collect()
        if source.watch and source.path:
            so_far = source.size * (start + len(part)) // number
            source.watch(so_far - told)
            told = so_far
        yield part


def batches(frame: pl.LazyFrame, columns: list[str], rows: int, name: str) -> Iterator[pl.DataFrame]:
    """These columns of a lazy frame, which is worked out once and never held as a whole."""
    each = frame.select(columns).collect_batches(chunk_size=rows, lazy=True)
    while True:
        with _said(f"{name}: this LazyFrame cannot be collected ({{}}); mend its plan"):
            part = next(each, None)
        if part is None:
            return
        yield part


def row_count(frame: pl.LazyFrame) -> int:
    """How many rows a lazy frame has."""
    import polars as pl

    return int(frame.select(pl.len()).collect().item())


def _whole(source: Source, format: str) -> AbstractContextManager[None]:
    """Whatever polars raises is said to be the file's fault, or that of the way to it."""
    if source.address:
        return _said(f"{source.name}: cannot be read from there ({{}}); check the address and the rights to it")
    return _said(f"{source.name}: not a whole {format} file ({{}}); fetch or write it again")


@contextmanager
def _said(words: str) -> Iterator[None]:
    """Whatever polars raises is an InputError in these words, with the reason in them."""
    import polars as pl

    try:
        with panics_unseen():
            yield
    except (Exception, pl.exceptions.PanicException) as error:
        # polars raises many kinds for a damaged file, not all of them its own.
        panicked = isinstance(error, pl.exceptions.PanicException)
        reason = "it is damaged" if panicked else next(iter(str(error).splitlines()), type(error).__name__)
        reason = "no Parquet file is there" if "expanded paths were empty" in reason else reason
        raise InputError(words.format(SECRET.sub("", reason))) from None


@contextmanager
def panics_unseen() -> Iterator[None]:
    """While a command runs, what Rust prints as it panics is let go: whoever catches the panic says it in words.

    Whatever else was printed meanwhile comes after. Standard error of another program is not ours to turn away.
    """
    import polars as pl

    if OPTIONS.get() is None:
        yield
        return
    sys.stderr.flush()
    import tempfile  # not cheap to import

    with tempfile.TemporaryFile() as held:
        own = os.dup(STDERR)
        os.dup2(held.fileno(), STDERR)
        try:
            yield
        except pl.exceptions.PanicException:
            held.seek(0)
            held.truncate()
            raise
        finally:
            sys.stderr.flush()
            os.dup2(own, STDERR)
            os.close(own)
            held.seek(0)
            os.write(STDERR, held.read())


def is_frame(source: object) -> bool:
    """Whether a source is a frame of any library."""
    return hasattr(source, "__arrow_c_stream__") or _is(source, "pandas", "DataFrame") or is_lazy(source)


def is_lazy(source: object) -> bool:
    """Whether a source is a lazy frame of polars, of which nobody knows how large it is."""
    return _is(source, "polars", "LazyFrame")


def frame_names(frame: Any) -> list[str]:
    """The names of a frame's columns."""
    if is_lazy(frame):  # whose columns have to be worked out, which it would warn of
        return list(frame.collect_schema().names())
    return list(map(str, frame.columns))


def _is(source: object, library: str, name: str) -> bool:
    """Whether a source is of a class of a library, which is not imported for the question."""
    module = sys.modules.get(library)
    return module is not None and isinstance(source, getattr(module, name))


def read_frame(source: Any, ask: Ask) -> Content:
    """A frame in memory, or a dict of columns."""
    if isinstance(source, Mapping):
        return _from_columns(source, list(source), ask)
    if _is(source, "pandas", "DataFrame"):
        return _from_columns(source, list(source.columns), ask)
    if is_lazy(source):  # of which no more is collected than is read
        names = frame_names(source)
        source = source.select(list(dict.fromkeys(find_columns(names, ask_of(names, ask), ask.kind))))
    return _from_polars(_polars(source, ask.kind), ask, ask.kind)


def _polars(source: Any, what: str) -> pl.DataFrame:
    import polars as pl

    if isinstance(source, pl.LazyFrame):
        return source.collect()
    try:
        return source if isinstance(source, pl.DataFrame) else pl.DataFrame(source)
    except Exception as error:
        # What a foreign stream raises is not ours to know.
        raise InputError(f"{what}: this {type(source).__name__} cannot be read as a frame ({error})") from error


def _from_columns(source: Any, names: list[str], ask: Ask) -> Content:
    """Columns at once where polars can; otherwise (no pyarrow, or columns of mixed objects) value by value."""
    from rankgauge.read.memory import read_triples

    ask = ask_of(names, ask)
    wanted = find_columns(names, ask, ask.kind)
    frame = _typed(source, list(dict.fromkeys(wanted)))
    if frame is not None:
        return _from_polars(frame, ask, ask.kind)
    lists = [list(source[name]) for name in wanted]
    return read_triples(lambda: zip(*lists, strict=True), ask)


def _typed(source: Any, names: list[str]) -> pl.DataFrame | None:
    """A frame whose columns hold values of one kind each; None where there is none."""
    import polars as pl

    try:
        if isinstance(source, Mapping):
            frame = pl.DataFrame(
                {name: list(source[name]) if _is_object(source[name]) else source[name] for name in names}
            )
        else:
            frame = pl.DataFrame(source[names])
    except Exception:  # polars raises many kinds for what it does not take, not all of them its own
        return None
    return None if pl.Object in frame.dtypes else frame


def _is_object(column: Any) -> bool:
    """Whether a column holds Python's objects, which polars would keep as such."""
    return getattr(getattr(column, "dtype", None), "kind", "") == "O"


def _from_polars(frame: pl.DataFrame, ask: Ask, name: str) -> Content:
    ask = ask_of(frame.columns, ask)
    columns = frame_columns(frame, ask, name)
    rows = Rows(name, "row", lambda: ((row, *triple) for row, triple in enumerate(columns.triples(), 1)))
    return content_of(rows, ask, columns)


def frame_columns(frame: pl.DataFrame, ask: Ask, name: str, before: int = 0) -> Columns:
    """A polars frame as Columns: the columns found by their names, ids as text, numbers checked.

    Messages count rows from the first, or on from those `before`, of which the frame is the continuation.
    """
    query, doc, number = find_columns(frame.columns, ask, name)
    queries, index = numbered(text_ids(frame[query], name, before))
    docs = text_ids(frame[doc], name, before)
    return Columns(queries, index, docs, _numbers(frame[number], ask, name, before))


def numbered(queries: pl.Series) -> tuple[list[str], NDArray[np.int32]]:
    """The distinct ids in order of first appearance, and each row's index among them.

    Where the rows of a query lie together, only the first of them is looked up: the others are the same as before.
    """
    others = (queries[1:] != queries[:-1]).arg_true().to_numpy() + 1
    if 2 * len(others) > len(queries) or not len(queries):
        return _looked_up(queries)
    starts = np.concatenate(([0], others))
    distinct, index = _looked_up(queries.gather(starts))
    return distinct, index.repeat(np.diff(starts, append=len(queries)))


def _looked_up(queries: pl.Series) -> tuple[list[str], NDArray[np.int32]]:
    import polars as pl

    distinct = queries.unique(maintain_order=True)
    order = pl.Series(np.arange(len(distinct), dtype=np.int32))
    index = queries.replace_strict(distinct, order, return_dtype=pl.Int32) if len(distinct) else order
    return distinct.to_list(), index.to_numpy()


def text_ids(column: pl.Series, name: str, before: int = 0) -> pl.Series:
    """A column of ids as text."""
    import polars as pl

    _check_nulls(column, name, before)
    kind = column.dtype
    if len(column) and not (kind.is_integer() or kind in (pl.String, pl.Categorical, pl.Enum, pl.Binary)):
        advice = FLOAT_IDS if kind.is_float() else "turn them into text"
        raise FormatError(f"{name}: the ids in {_shown(column)}; expected text or integers: {advice}")
    try:
        return column.cast(pl.String)
    except pl.exceptions.PolarsError:
        raise FormatError(f"{name}: the ids in column {column.name!r} are bytes that are not UTF-8 text") from None


def _shown(column: pl.Series) -> str:
    """A column, what it holds, and an example of it."""
    return f"column {column.name!r} are {column.dtype}, such as {column.head(1).to_list()[0]!r}"


def _numbers(column: pl.Series, ask: Ask, name: str, before: int) -> NDArray[np.float64]:
    """A column of finite numbers; ranks as negated integers."""
    import polars as pl

    _check_nulls(column, name, before)
    if len(column) and not (column.dtype.is_numeric() or column.dtype == pl.Boolean):
        raise FormatError(f"{name}: the values in {_shown(column)}; expected numbers")
    values: NDArray[np.float64] = column.cast(pl.Float64).to_numpy()
    what = f"{name}, row {{}}: {number_role(ask)} {{}} is not a finite number"
    _check_rows(np.isfinite(values), column, what, before)
    if column.dtype in (pl.Int64, pl.UInt64) and len(values) and np.abs(values).max() > 2.0**53:
        exact = (column.cast(pl.Float64).cast(column.dtype, strict=False) == column).fill_null(value=False).to_numpy()
        _check_rows(exact, column, f"{name}, row {{}}: {number_role(ask)} {INEXACT}", before)
    if number_role(ask) != "rank":
        return values
    _check_rows(values == np.floor(values), column, f"{name}, row {{}}: rank {{}} is not an integer", before)
    return -values


def _check_rows(fine: NDArray[np.bool_], column: pl.Series, message: str, before: int) -> None:
    if not fine.all():
        row = int(np.flatnonzero(~fine)[0])
        raise FormatError(message.format(before + row + 1, column[row]))


def _check_nulls(column: pl.Series, name: str, before: int) -> None:
    if column.null_count():
        row = int(column.is_null().arg_true()[0])
        raise FormatError(
            f"{name}, row {before + row + 1}: column {column.name!r} has no value; fill it in or leave out the row"
        )
