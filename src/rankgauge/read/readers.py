"""Any source → Judgments, Run.

A source is a path (`-` is standard input), a frame, a dict of dicts or an iterable of rows. What it is, is recognised
by its type, its suffix or its content; `format=` and `columns=` say it where that does not do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeVar

from rankgauge.errors import DuplicateError, FormatError, InputError, ProtocolError, choices, unknown
from rankgauge.protocol import DEFAULT, REPEATING, RULES, Protocol
from rankgauge.read.blocks import Streamed, content_of_pieces
from rankgauge.read.formats import FORMATS, format_named, names_in, recognise
from rankgauge.read.frames import frame_names, is_frame, is_lazy, read_frame
from rankgauge.read.memory import is_columns, read_iterable, read_mapping, unpacked
from rankgauge.read.names import WhereThere, check_roles
from rankgauge.read.records import Columns, Judgments, Record, Run
from rankgauge.read.rows import Ask, Content, expected_rows
from rankgauge.read.sizes import PIECE, BlockSize
from rankgauge.read.sources import EXPANSION, QRELS, Source, find_source, may_be_parts
from rankgauge.shown import Shown

if TYPE_CHECKING:
    from rankgauge.read.pieces import Pieces

__all__ = ["FORMATS", "Columns", "Judgments", "JudgmentsSource", "Record", "RecordSource", "Run", "RunSource"]
__all__ += ["check_mapped", "find_rows", "read_judgments", "read_run"]

T = TypeVar("T")
ORDERS = ("score", "rank")
PACKED: Final = "parquet"  # the format that is compressed by itself
KEPT: Final = 64 << 20  # bytes of a file, up to which what was read of it is kept rather than read again


def read_judgments(
    source: Any, *, format: str | None = None, columns: Mapping[str, str] | None = None, repeated: bool = False
) -> Judgments:
    """Judgments from a path, a frame, a dict of dicts or rows of (query, document, grade).

    Two grades for one pair are an error, unless `repeated` asks for every row as it is.

    >>> read_judgments({"q1": {"d1": 2, "d2": 0}})
    Judgments(2 rows, 1 query, from judgments)
    """
    if isinstance(source, Judgments):
        return source
    if isinstance(source, JudgmentsSource):
        return source.read(repeated=repeated)
    content, name = find_rows(source, Ask("judgments", columns, duplicates="each" if repeated else "error"), format)
    return Judgments(content.rows, source=name, explain=content.explain)


def read_run(
    source: Any,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    by: str = "score",
    duplicates: str = "error",
    tag: str | None = None,
) -> Run:
    """A run from a path, a frame, a dict of dicts or rows of (query, document, score).

    `by="rank"` takes the rank column for the order. A document twice in one ranking is an error, unless `duplicates`
    says which to keep: "first" or "best".
    """
    if by not in ORDERS or duplicates not in RULES["duplicates"]:
        _check("by", by, ORDERS)
        _check("duplicates", duplicates, RULES["duplicates"])
    if isinstance(source, Run):
        if source.by != by and source.has_scores:
            was = f"{source.source}: was read by {source.by} and is asked for by {by}"
            raise InputError(f"{was}; read it again with by={by!r}")
        return source
    content, name = find_rows(source, Ask("run", columns, by, duplicates), format)
    run = Run(
        content.rows, by=content.by, tag=content.tag if tag is None else tag, source=name, explain=content.explain
    )
    run.has_scores, run.head, run.whole_head = content.has_scores, content.head, content.whole_head
    return run


def find_rows(source: Any, ask: Ask, format: str | None) -> tuple[Content, str]:
    """What was found, and the name that messages give it."""
    if type(source) is dict and format is None:  # as nearly always in a loop, and soon known
        return _read_mapping(source, ask), ""
    if isinstance(source, (str, os.PathLike, Source)):
        if ask.kind == "run" and not isinstance(source, Source) and os.path.isdir(os.path.join(source, QRELS)):
            raise InputError(
                f"{os.fspath(source)}: is a data set of BEIR, which holds judgments and no run; name a run"
            )
        file = find_source(source, expected_rows(ask.kind))
        if file.parts:
            from rankgauge.read.pieces import part_pieces

            return content_of_pieces(part_pieces(file, ask, PIECE, format)), file.name
        return format_named(format or recognise(file, ask.kind, ask.columns)).read(file, ask), file.name
    if format is not None:
        raise InputError(f"format={format!r} is for files; this source is a {type(source).__name__} in memory")
    if isinstance(source, Record):
        raise InputError(f"expected {ask.kind}, got a {type(source).__name__}; are judgments and run swapped?")
    source = unpacked(source)
    if isinstance(source, Shown):
        name = type(source).__name__
        raise InputError(
            f"expected {ask.kind}, got a {name}, which was measured already; give what it was measured of, or give "
            "Results to compare(None, results)"
        )
    if is_frame(source):
        return read_frame(source, ask), ""
    if isinstance(source, Mapping):
        return _read_mapping(source, ask), ""
    if isinstance(source, Iterable) and not isinstance(source, (bytes, bytearray)):
        return read_iterable(source, ask), ""
    raise InputError(
        f"{ask.kind} cannot be read from {type(source).__name__}; expected a path, a frame, a dict of dicts or rows"
    )


def _read_mapping(source: Mapping[Any, Any], ask: Ask) -> Content:
    return (read_frame if is_columns(source, ask.kind, ask.columns) else read_mapping)(source, ask)


def _check(name: str, value: str, allowed: Iterable[str]) -> None:
    if value not in allowed:
        raise ProtocolError(f"{name}={value!r} is not a rule; expected {choices(allowed)}")


def check_mapped(columns: Mapping[str, str], sources: Iterable[RecordSource], named: str) -> None:
    """A column that is mapped where it is there must be there somewhere; what gives its rows once may have it."""
    known = {id(source): source.column_names for source in sources} if columns else {}
    for role, column in columns.items():
        names = [known[id(source)] for source in sources if role in source.roles]
        if names and None not in names and not any(column in each for each in names if each is not None):
            there = dict.fromkeys(name for each in names for name in each or ())
            tail = f"the columns are {', '.join(there)}" if there else "the files have no named columns"
            raise FormatError(unknown(f"{named} {role}={column}: no file has a column {column!r}", column, there, tail))


# ---- read when it is needed ------------------------------------------------------------------------------------------


class RecordSource:
    """Where judgments or a run come from and how they are read; whoever needs them reads them, then and not before.

    The origin is whatever `read_judgments` and `read_run` take; `columns` may name columns of other kinds of records
    too. `watch`, where there is one, is told how many more bytes of a file have been read.
    """

    kind: ClassVar[str]
    numbers: ClassVar[tuple[str, ...]]
    keeps: ClassVar[bool] = False  # whether what was read is kept from the start
    watch: Callable[[int], object] | None = None

    def __init__(self, origin: Any, *, format: str | None = None, columns: Mapping[str, str] | None = None) -> None:
        self.origin, self.format = origin, format
        self.columns = self._mapped(columns) if columns else None
        self.known: dict[Any, Any] | None = {} if self.keeps else None  # way of reading → what was read

    def _mapped(self, columns: Mapping[str, str]) -> WhereThere | None:
        """Those columns that records of this kind have."""
        check_roles(columns)
        return WhereThere({role: name for role, name in columns.items() if role in self.roles}) or None

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles of columns."""
        return ("query_id", "doc_id", *self.numbers)

    @property
    def column_names(self) -> list[str] | None:
        """The names of the columns, none where they have no names; None where it takes reading all to know."""
        if is_frame(self.origin):
            return frame_names(self.origin)
        if isinstance(self.origin, Mapping):
            return list(map(str, self.origin)) if is_columns(self.origin, self.kind, self.columns) else []
        if not self._is_path or not os.path.isfile(self.origin):
            return [] if isinstance(self.origin, Record) else None
        source = find_source(self.origin)
        return names_in(source, self.format or recognise(source, self.kind, self.columns), self.columns)

    @classmethod
    def of(cls, origin: Any, **how: Any) -> Self:
        """The source of anything that can be read; one that is a source already stays as it is."""
        return origin if isinstance(origin, cls) else cls(origin, **how)

    def again(self) -> Self:
        """The same source as if nothing of the file had been read yet; what gives its rows once stays as it is."""
        if not self._is_path or not os.path.isfile(self.origin):
            return self
        return self._with(None if self.known is None else {})

    def _with(self, known: dict[Any, Any] | None) -> Self:
        """The same source, of which this is known: as `copy.copy` does it, in a fifth of the time."""
        made = object.__new__(type(self))
        made.__dict__ = {**self.__dict__, "known": known}
        return made

    @property
    def is_small(self) -> bool:
        """Whether what was read is worth keeping; large files are rather read again."""
        path = self.origin
        return not self._is_path or not os.path.isfile(path) or os.path.getsize(path) <= KEPT

    @property
    def rows(self) -> Any:
        """What gives every row as it stands: the origin, or what was read of one that gives its rows once."""
        once = not os.path.isfile(self.origin) if self._is_path else isinstance(self.origin, Iterator)
        known = (each for each in (self.known or {}).values() if isinstance(each, Record))
        return next(known, self._watched) if once else self._watched

    @property
    def _is_path(self) -> bool:
        return isinstance(self.origin, (str, os.PathLike))

    @property
    def _watched(self) -> Any:
        return find_source(self.origin).watched(self.watch) if self.watch and self._is_path else self.origin

    def _once(self, way: Any, read: Callable[[Any], T], how: Any) -> T:
        if self.known is None:
            return read(how)
        if way not in self.known:
            self.known[way] = read(how)
        known: T = self.known[way]
        return known


class JudgmentsSource(RecordSource):
    """Judgments that are read when they are needed, and once."""

    kind = "judgments"
    numbers = ("relevance",)
    keeps = True
    settles: ClassVar[bool] = False  # whether of several grades of a pair one counts, by a rule of its own

    def read(self, *, repeated: bool = False) -> Judgments:
        """The judgments; `repeated`: pairs that are there more than once as they are."""
        return self._once(repeated, self._read, repeated)

    def _read(self, repeated: bool) -> Judgments:
        return read_judgments(self._watched, format=self.format, columns=self.columns, repeated=repeated)


class RunSource(RecordSource):
    """A run that is read when it is needed: each time anew, or where it is `kept` once for each way of reading it."""

    kind = "run"
    numbers = ("score", "rank")
    blocks: BlockSize | None = BlockSize()  # of large files; None: this is never read in blocks

    def within(self, memory: int | str | None) -> Self:
        """The same source, of whose large files blocks of so many bytes are held at a time."""
        if memory is None or self.blocks is None:
            return self
        made = self._with(self.known)
        made.blocks = BlockSize.within(memory)
        return made

    def kept(self) -> Self:
        """The same source, which keeps what was read of it."""
        return self if self.known is not None else self._with({})

    def read(self, protocol: Protocol = DEFAULT) -> Run:
        """The run as the protocol wants it."""
        way = (protocol.by, protocol.duplicates, protocol.depth is None)
        return self._once(way, self._read, protocol)

    def opened(self, protocol: Protocol = DEFAULT) -> Run | Streamed:
        """The run as the protocol wants it: block by block where it is large, otherwise as `read` gives it."""
        if type(self.origin) is dict:  # as nearly always in a loop, and soon known
            return self.read(protocol)
        way = (protocol.by, protocol.duplicates, "in blocks")
        streamed = self._once(way, self._streamed, protocol)
        return self.read(protocol) if streamed is None else streamed

    def _streamed(self, protocol: Protocol) -> Streamed | None:
        if self.blocks is None:
            return None
        ask = Ask("run", self.columns, protocol.by, protocol.duplicates)
        pieces = self._lazy_pieces(ask, self.blocks) if is_lazy(self.origin) else self._pieces(ask)
        return None if pieces is None else Streamed(pieces, self.blocks)

    def _lazy_pieces(self, ask: Ask, size: BlockSize) -> Pieces:
        """The pieces of a lazy frame."""
        from rankgauge.read.pieces import lazy_pieces

        return lazy_pieces(self.origin, ask, size.piece)

    def _pieces(self, ask: Ask) -> Pieces | None:
        """The pieces of a large file or of several files; None for anything else."""
        size, path = self.blocks, self.origin.path if isinstance(self.origin, Source) else self.origin
        if size is None:
            return None
        if not isinstance(path, (str, os.PathLike)) or not os.path.isfile(path):
            return self._pieces_of_parts(ask, size)
        if os.path.getsize(path) * EXPANSION <= size.above:  # as nearly always, and soon known
            return None
        from rankgauge.read.pieces import PIECES

        source = find_source(self._watched, expected_rows("run"))
        name = self.format or recognise(source, "run", self.columns)
        if name not in PIECES or source.text_size * (EXPANSION if name == PACKED else 1) <= size.above:
            return None
        return PIECES[name](source, ask, size.piece)

    def _pieces_of_parts(self, ask: Ask, size: BlockSize) -> Pieces | None:
        """The pieces of several files that are one run, or of an address; None for what is in memory."""
        if not isinstance(self.origin, Source) and not (self._is_path and may_be_parts(os.fsdecode(self.origin))):
            return None
        from rankgauge.read.pieces import part_pieces

        source = find_source(self._watched, expected_rows("run"))
        return part_pieces(source, ask, size.piece, self.format) if source.parts else None

    def _read(self, protocol: Protocol) -> Run:
        origin = find_source(self._watched) if protocol.depth is not None and self._is_path else self._watched
        shape, columns, by = self.format, self.columns, protocol.by
        try:
            return read_run(origin, format=shape, columns=columns, by=by, duplicates=protocol.duplicates)
        except DuplicateError:
            if protocol.depth is None or isinstance(self.origin, Iterator):
                raise
        # It may be there again beyond the depth: `match` looks.
        return read_run(origin, format=shape, columns=columns, by=by, duplicates=REPEATING[0])
