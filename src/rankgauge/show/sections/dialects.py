"""Other tools: what each does otherwise, what each says of the same files, which convention gives a number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rankgauge.dialects.answers import Conventions, DialectList, DialectValues
from rankgauge.measures.bands.bands import Band
from rankgauge.show.model import Block, Bullets, Column, Section, Table, Text

if TYPE_CHECKING:
    from rankgauge.dialects.reproduce import Candidate, Row

__all__ = ["sections"]

SEEN: Final = 5e-5  # a difference that four decimals show


def sections(dialects: DialectList | DialectValues | Conventions, *, seen: float = SEEN) -> Iterator[Section]:
    """One section for each of the three questions; a difference below `seen` needs no reason."""
    if isinstance(dialects, DialectList):
        yield Section("dialects", dialects.title, [*_list(dialects)])
    elif isinstance(dialects, DialectValues):
        yield Section("values", dialects.title, [*_values(dialects, seen)])
    else:
        yield Section("conventions", dialects.title, [*_conventions(dialects)])


def _list(dialects: DialectList) -> Iterator[Block]:
    for each in dialects.dialects:
        defect = [f"defect: {each.defect}"] if each.defect else []
        yield Bullets([each.why, f"{each.called()} ({each.checked})", *defect], title=each.name)
    yield Table.of_rows(dialects.data())


def _values(values: DialectValues, seen: float) -> Iterator[Block]:
    columns = [Column("dialect"), Column("value", "number"), Column("difference", "signed"), Column("reason")]
    yield Table("values", "", columns, [_row(row, seen) for row in values.rows])
    yield Table.of_rows(values.data())


def _row(row: Row, seen: float) -> list[Any]:
    """A value or its band; a difference too small to be seen needs no reason."""
    band = None if row.low is None or row.high is None else Band(row.low, row.low, row.low, row.high, row.exact)
    hidden = row.difference is not None and abs(row.difference) < seen
    empty = "" if row.value is None and band is None else None
    value = row.value if row.value is not None else band
    return [
        row.dialect,
        empty if value is None else value,
        "" if row.difference is None else row.difference,
        "" if hidden else row.reason,
    ]


def _conventions(conventions: Conventions) -> Iterator[Block]:
    """The conventions that give the number, and a query that would tell them apart."""
    if not conventions.candidates:
        tried = "no dialect of those asked for" if conventions.some else "no dialect, and no one or two changed rules"
        yield Text(f"Nothing gives {conventions.number} for {conventions.measure}: {tried}.")
        yield Table.of_rows((), heads=("convention", "changes", "value"))
        return
    query = conventions.query
    columns = [Column("convention"), Column("changes"), Column("value", "number")]
    columns += [Column(f"query {query}", "number")] if query is not None else []
    rows = [[each.name, each.changes, each.value, *_of_query(each, query)] for each in conventions.candidates]
    note = f"Query {query!r} tells them apart." if query else "No query of these files tells them apart."
    yield Table("conventions", "", columns, rows, [note] if len(rows) > 1 else [])
    yield Table.of_rows(conventions.data())


def _of_query(candidate: Candidate, query: str | None) -> list[Any]:
    """The value, or the band, of the query that tells candidates apart; none where it is not defined."""
    if query is None:
        return []
    ends = candidate.ends(query)
    if ends is None or ends[1] - ends[0] == float("inf"):
        return [""]
    return [ends[0] if ends[0] == ends[1] else Band(ends[0], ends[0], *ends, exact=True)]
