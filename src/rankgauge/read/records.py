"""Judgments and Run: what was read, held as dicts or as columns.

A few thousand rows are quickest as nested dicts, millions as columns; `match` has a path for each, and both give equal
Hits. A record converts itself when the other form is asked for and keeps what it was given: inputs are never changed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, compress, repeat
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np

from rankgauge.errors import DuplicateError, FormatError, counted

if TYPE_CHECKING:
    import polars as pl
    from numpy.typing import NDArray

    from rankgauge.errors import InputError

__all__ = ["Columns", "Judgments", "Nested", "Record", "Run", "check_ids", "complex_refused", "id_at", "id_text"]
__all__ += ["is_complex", "is_plain"]

Nested: TypeAlias = "Mapping[str, Mapping[str, float]]"
NAMED = 4  # judges of a store that are said by name
# What odd ids and numbers raise.
ODD = (FormatError, TypeError, ValueError, OverflowError, UnicodeEncodeError, np.exceptions.ComplexWarning)


def id_text(identifier: Any) -> str:
    """An id as text: integers by their decimal spelling, text as it is, anything else refused."""
    try:
        if isinstance(identifier, str):
            if not identifier.isascii():
                identifier.encode()
            return identifier
        if isinstance(identifier, (int, np.integer)) and not isinstance(identifier, bool):
            return str(int(identifier))
        if isinstance(identifier, bytes):
            return identifier.decode()
    except UnicodeDecodeError:
        raise FormatError(f"the id {identifier!r} is not UTF-8 text") from None
    except UnicodeEncodeError:
        raise FormatError(f"the id {identifier!r} holds half a character (a lone surrogate); mend the id") from None
    except ValueError:
        raise FormatError("an id is an integer of too many digits; give it as text") from None
    raise FormatError(f"an id is text or an integer, got {identifier!r} ({type(identifier).__name__})")


def id_at(identifier: Any, place: str) -> str:
    """The same, with its place in the error."""
    try:
        return id_text(identifier)
    except FormatError as error:
        raise FormatError(f"{place}: {error}") from None


@dataclass(frozen=True, eq=False, slots=True)
class Columns:
    """Rows of (query, document, number) as columns; the query as an index into the distinct ids."""

    queries: list[str]
    query: NDArray[np.int32]
    doc: pl.Series
    number: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.query)

    def take(self, rows: NDArray[np.int64]) -> Columns:
        """These rows, in this order."""
        return Columns(self.queries, self.query[rows], self.doc.gather(rows), self.number[rows])

    def triples(self) -> Iterator[tuple[str, str, float]]:
        """Query, document and number of every row."""
        for query, doc, number in zip(self.query.tolist(), self.doc, self.number.tolist(), strict=True):
            yield self.queries[query], doc, number

    def only(self, wanted: Collection[str]) -> Columns:
        """The rows of these queries."""
        keep = np.fromiter(map(wanted.__contains__, self.queries), bool, len(self.queries))
        if keep.all():
            return self
        rows = self.take(np.flatnonzero(keep[self.query]))
        number = (np.cumsum(keep) - 1).astype(np.int32)
        return replace(rows, queries=list(compress(self.queries, keep.tolist())), query=number[rows.query])


class Record:
    """Rows of (query, document, number), as nested dicts or as columns, whichever came first."""

    kind: ClassVar[str]
    number: ClassVar[str]
    stored: Mapping[str, Any] = {}  # what it is in a store, where it comes from one
    remarks: Sequence[tuple[str, str]] = ()  # what to know about it: a code and words each
    models: Mapping[str, Collection[str]] = {}  # that its judges are, or that its system names

    def __init__(
        self,
        rows: Nested | Columns,
        *,
        source: str = "",
        explain: Callable[[str, str], InputError | None] | None = None,
    ) -> None:
        self.source = source or self.kind
        self._nested: Nested | None = None
        self._columns: Columns | None = None
        self._explain = explain
        if isinstance(rows, Columns):
            self._columns = rows
        else:
            self._nested = _with_text_keys(rows, self.source)

    @property
    def nested(self) -> Nested:
        """The rows as query → document → number."""
        if self._nested is None:
            assert self._columns is not None
            self._nested = _nest(self._columns)
        return self._nested

    def only(self, wanted: Collection[str]) -> Self:
        """The same with these queries alone."""
        cut = self.columns.only(wanted)
        if cut is self.columns:
            return self
        found = copy(self)
        kept = None if self._nested is None else {query: self._nested[query] for query in cut.queries}
        found._columns, found._nested = cut, kept
        vars(found).pop("fingerprint", None)
        return found

    @property
    def columns(self) -> Columns:
        """The rows as columns (imports polars)."""
        if self._columns is None:
            assert self._nested is not None
            try:
                self._columns = _flatten(self._nested)
            except ODD:
                raise self._odd_pair() from None
        return self._columns

    @property
    def is_columns(self) -> bool:
        """Whether the rows are at hand as columns."""
        return self._columns is not None

    @property
    def is_nested(self) -> bool:
        """Whether the rows are at hand as nested dicts."""
        return self._nested is not None

    def explain(self, query: str, doc: str) -> InputError | None:
        """The error that a careful second reading gives for this pair, with its lines, where the source allows one."""
        return self._explain(query, doc) if self._explain else None

    def __iter__(self) -> Iterator[tuple[str, str, float]]:
        """The rows, in the order given (queries together)."""
        if self._nested is not None:
            for query, docs in self._nested.items():
                for doc, number in docs.items():
                    try:
                        row = query, id_text(doc), number if type(number) is float else _real(number)
                    except ODD:
                        raise self._odd_pair() from None
                    yield row
        else:
            yield from self.columns.triples()

    def _odd_pair(self) -> FormatError:
        """The error for the first document whose id is no text or whose number is none."""
        for query, docs in self.nested.items():
            for doc, number in docs.items():
                place = f"{self.source}, query {query!r}, document {doc!r}"
                id_at(doc, place)
                try:
                    _real(number)
                except OverflowError:
                    return FormatError(f"{place}: {self.number} of so many digits is not a finite number")
                except (TypeError, ValueError):
                    return FormatError(f"{place}: {self.number} {number!r} is not a number")
        raise AssertionError("unreachable: called only where there is one")

    def __len__(self) -> int:
        if self._columns is not None:
            return len(self._columns)
        return sum(map(len, self.nested.values()))

    @property
    def queries(self) -> list[str]:
        """The distinct query ids, in order of first appearance."""
        return self._columns.queries if self._columns is not None else list(self.nested)

    def to_frame(self) -> pl.DataFrame:
        """A polars frame with the field's column names."""
        import polars as pl

        columns = self.columns
        ids = pl.Series("query_id", columns.queries, dtype=pl.String)
        return pl.DataFrame(
            {"query_id": ids.gather(columns.query), "doc_id": columns.doc, self.number: pl.Series(columns.number)}
        )

    def __repr__(self) -> str:
        rows, queries = counted(len(self), "row"), counted(len(self.queries), "query", "queries")
        return f"{type(self).__name__}({rows}, {queries}, from {self.source})"


class Judgments(Record):
    """Query → document → grade."""

    kind = "judgments"
    number = "relevance"

    @property
    def judges(self) -> list[str]:
        """The judges whose labels of a store these are."""
        return [name for rank in self.stored.get("rule", {}).get("judges", ()) for name in rank]

    @property
    def by(self) -> str:
        """Whose labels of a store these are, the first four by name; nothing where they come from elsewhere."""
        names = self.judges
        more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        return f"{', '.join(names[:NAMED])}{more}"

    @property
    def credit(self) -> str:
        """The words that say whose labels of a store these are; nothing where they come from elsewhere."""
        return f"labels by {self.by}" if self.by else ""

    @property
    def told(self) -> bool:
        """Whether there is anything to know about the labels, as of those of a store alone."""
        return bool(self.remarks or self.models)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of every judgment: equal content in any order and format gives one value."""
        queries, docs, grades = _sorted_columns(self._columns) if self._columns is not None else _sorted_rows(self)
        import hashlib  # for those who ask

        digest = hashlib.sha256()
        for ids in (queries, docs):
            digest.update("\n".join(ids).encode())
        digest.update(np.ascontiguousarray(np.asarray(grades, np.float64) + 0.0, "<f8").tobytes())
        return digest.hexdigest()[:16]


class Run(Record):
    """Query → document → score; the order given is kept.

    `by` says what the scores stand for: "score", or "rank" when they are negated ranks; `has_scores` whether the source
    has scores at all (MS MARCO runs have none, and are ordered by rank whatever is asked); `head` is the start of a
    TREC file, in which ranks stand beside scores, all of it where `whole_head`; `ties` how equal scores are written:
    by descending "id", or as "given" where rules look at that order.
    """

    kind = "run"
    number = "score"
    has_scores: bool = True
    head: bytes = b""
    whole_head: bool = False

    @property
    def answered(self) -> Set[str]:
        """The queries that have results: an empty list is no answer."""
        if self._nested is None:
            return set(self.columns.queries)
        nested = self._nested  # which alone knows of empty lists, also where it was made columns of
        return nested.keys() if all(nested.values()) else {query for query, docs in nested.items() if docs}

    def __init__(
        self,
        rows: Nested | Columns,
        *,
        by: str = "score",
        tag: str = "",
        ties: str = "id",
        source: str = "",
        explain: Callable[[str, str], InputError | None] | None = None,
    ) -> None:
        super().__init__(rows, source=source, explain=explain)
        self.by = by
        self.tag = tag
        self.ties = ties


def _with_text_keys(rows: Nested, source: str) -> Nested:
    """The same mapping where its query ids are text already, else a new one with their decimal spellings."""
    if is_plain(rows):
        return rows
    result = {id_at(query, f"{source}, query {query!r}"): docs for query, docs in rows.items()}
    if len(result) < len(rows):
        raise FormatError("two query ids have the same spelling, such as 7 and '7'")
    return result


def is_complex(number: object) -> bool:
    """Whether a number has an imaginary part, which Python's `float` refuses and numpy's drops."""
    return isinstance(number, (complex, np.complexfloating))


def _real(number: Any) -> float:
    if is_complex(number):
        raise TypeError
    return float(number)


def is_plain(ids: Iterable[Any]) -> bool:
    """Whether all ids are texts of ASCII; asked of all at once, which takes a tenth of the time."""
    try:
        return "".join(ids).isascii()
    except TypeError:
        return False


def check_ids(nested: Nested, source: str) -> None:
    """Refuse half a character in the id of a document, and name it."""
    for query, docs in nested.items():
        if not is_plain(docs):
            for doc in docs:
                id_at(doc, f"{source}, query {query!r}, document {doc!r}")


def complex_refused() -> AbstractContextManager[Any]:
    """Make an error of numpy's warning that an imaginary part is dropped."""
    return warnings.catch_warnings(action="error", category=np.exceptions.ComplexWarning)


def _sorted_rows(record: Record) -> tuple[list[str], list[str], Any]:
    """Queries, documents and numbers, row by row, in code-point order of the ids."""
    rows = sorted(record, key=lambda row: row[:2])
    return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]


def _sorted_columns(columns: Columns) -> tuple[list[str], list[str], Any]:
    """The same, from columns, each row once."""
    import polars as pl

    ids = pl.Series("query", columns.queries, dtype=pl.String).gather(columns.query)
    frame = pl.DataFrame({"query": ids, "doc": columns.doc, "number": columns.number})
    ordered = frame.unique().sort("query", "doc", "number")
    return ordered["query"].to_list(), ordered["doc"].to_list(), ordered["number"].to_numpy()


def _nest(columns: Columns) -> dict[str, dict[str, float]]:
    """Columns → nested dicts, which cannot hold a pair twice."""
    quick = _nest_in_turn(columns)
    if quick is not None:
        return quick
    result: dict[str, dict[str, float]] = {query: {} for query in columns.queries}
    for query, doc, number in columns.triples():
        if doc in result[query]:
            raise DuplicateError(f"document {doc!r} is there twice for query {query!r}; keep one")
        result[query][doc] = number
    return result


def _nest_in_turn(columns: Columns) -> dict[str, dict[str, float]] | None:
    """The same at once where the rows of a query follow each other and no pair is there twice; otherwise nothing."""
    starts = np.flatnonzero(np.diff(columns.query, prepend=-1))
    if len(np.unique(columns.query[starts])) < len(starts):
        return None
    docs, numbers = columns.doc.to_list(), columns.number.tolist()
    result: dict[str, dict[str, float]] = {query: {} for query in columns.queries}
    ends = [*starts[1:].tolist(), len(docs)]
    for query, start, end in zip(columns.query[starts].tolist(), starts.tolist(), ends, strict=False):
        table = dict(zip(docs[start:end], numbers[start:end], strict=True))
        if len(table) < end - start:
            return None
        result[columns.queries[query]] = table
    return result


def _flatten(nested: Nested) -> Columns:
    """Nested dicts → columns."""
    import polars as pl

    sizes = np.fromiter(map(len, nested.values()), np.int64, len(nested))
    docs = list(chain.from_iterable(nested.values()))
    numbers = chain.from_iterable(table.values() for table in nested.values())
    query = np.fromiter(chain.from_iterable(map(repeat, range(len(sizes)), sizes.tolist())), np.int32, len(docs))
    docs = docs if set(map(type, docs)) <= {str} else [id_text(doc) for doc in docs]
    with complex_refused():
        number = np.fromiter(numbers, np.float64, len(docs))
    return Columns(list(nested), query, pl.Series(docs, dtype=pl.String), number)
