"""A value rank by rank beside the ideal ranking, and what would raise it; or two runs side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from rankgauge.explanation.query.explanation import Difference
from rankgauge.show.cells import number_text
from rankgauge.show.explained import FIRST_ROWS, MOST_ROWS, beside_ideal, change_words, headline, kept_rows, with_text
from rankgauge.show.model import Block, Bullets, Column, Notes, Picture, Section, Table, Text
from rankgauge.show.names import short
from rankgauge.show.svg.explanation import difference_svg, svg

if TYPE_CHECKING:
    from rankgauge.explanation.query.explanation import Explanation, Explanations, Row

NAME: Final = 10  # characters of a run's name in the head of a column

__all__ = ["below", "ranks_table", "sections", "shares_table"]


def sections(
    explained: Explanation | Explanations | Difference,
    *,
    queries: Mapping[str, str] | None = None,
    documents: Mapping[str, str] | None = None,
) -> Iterator[Section]:
    """One section for each query that is explained, or for the difference of two runs; with texts where given."""
    named = partial(with_text, texts=documents) if documents else str
    every = getattr(explained, "explanations", [explained])
    if not every:
        yield Section("nothing", explained.title, [Text(explained.title)])
    for at, each in enumerate(every):
        *blocks, rows = (_difference_blocks if isinstance(each, Difference) else _explanation_blocks)(each, named)
        before: list[Block] = [Text(text)] if (text := (queries or {}).get(each.query, "")) else []
        if len(every) == 1:
            before.append(Text(each.title, "head"))  # of several, each section has its title
        together = [_together(every)] if at == 0 and len(every) > 1 else []  # before the rows of this one alone
        yield Section(f"query-{each.query}", each.title, [*before, *blocks, *together, rows])


def _together(every: Sequence[Explanation | Difference]) -> Table:
    """The rows of all queries, for formats that hold one table."""
    table = Table.of_rows((row for each in every for row in _data_rows(each)), "rows")
    cells = zip(*table.rows, strict=True)
    numbers = (any(isinstance(cell, float) for cell in column) for column in cells)
    columns = [each._replace(kind="number") if fit else each for each, fit in zip(table.columns, numbers, strict=True)]
    return table._replace(columns=columns, formats=frozenset({"csv", "latex"}))


def _data_rows(explained: Explanation | Difference) -> list[dict[str, Any]]:
    """The rows of one query, for programs, with the names of what was measured."""
    if isinstance(explained, Difference):
        new, old = explained.names
        return [{"query_id": explained.query, "run_a": new, "run_b": old, **asdict(each)} for each in explained.shares]
    return [{"query_id": explained.query, "run": explained.run, **asdict(row)} for row in explained.rows]


# ---- one query -------------------------------------------------------------------------------------------------------


def _explanation_blocks(explanation: Explanation, named: Callable[[str], str]) -> Iterator[Block]:
    yield Text(f"{explanation.measure} = {number_text(explanation.value)}", "lead")
    if ideal := beside_ideal(explanation):
        yield Text(ideal)
    yield Picture(f"picture-{explanation.query}", headline(explanation), lambda: svg(explanation))
    yield ranks_table(explanation, named)
    yield from below(explanation)
    yield Table.of_rows(_data_rows(explanation), f"rows-{explanation.query}")


def below(explanation: Explanation, key: str = "levels") -> Iterator[Block]:
    """What belongs to no rank, the levels, what would raise the value, notes."""
    if explanation.rest:
        yield Notes([f"{explanation.rest.words}: {number_text(explanation.rest.contribution)}"])
    if explanation.levels:
        columns = [Column("level"), *(Column(head, "number") for head in ("value", "adds")), Column("rank", "rank")]
        rows = [[each.name, each.value, each.contribution, each.rank or "never reached"] for each in explanation.levels]
        yield Table(key, "Level by level", columns, rows)
    if explanation.would_raise:
        words = [f"{number_text(each.points, sign=True)}  {change_words(each)}" for each in explanation.would_raise]
        yield Bullets(words, title="What would raise it most")
    if explanation.notes:
        yield Notes([f"Note: {note}." for note in explanation.notes])


def _document(named: Callable[[str], str], head: str = "document", **column: Any) -> Column:
    """The column of documents; where they have texts, these may be cut."""
    return Column(head, "text" if named is str else "titled", **column)


def _columns(explanation: Explanation, document: Column) -> list[tuple[Column, str]]:
    """The columns about a rank, and the field of a row that each shows."""
    columns = [(Column("rank", "rank"), "rank"), (document, "doc_id"), (Column("grade", "grade"), "grade")]
    if any(row.discount is not None for row in [*explanation.rows, *explanation.ideal]):
        columns += [(Column("gain", "gain"), "gain"), (Column("discount", "number"), "discount")]
        columns.append((Column("term", "number", aside=True), "term"))
    return [*columns, (Column("adds", "number"), "contribution"), (Column("so far", "number", aside=True), "total")]


def ranks_table(explanation: Explanation, named: Callable[[str], str] = str) -> Table:
    """Every rank, a bar for what it adds, and the ideal ranking beside it; `named` says how a document is called."""
    columns = _columns(explanation, _document(named))
    ideal = {row.rank: row for row in explanation.ideal}
    rows: list[list[Any]] = []
    last = 0
    for row in kept_rows(explanation.rows):
        if isinstance(row, int):
            rows.append(["…", f"{row:,} more", *[""] * (len(columns) - 1), "…", "", "", ""])
            last += row
            continue
        last = row.rank
        cells = [named(row.doc_id) if field == "doc_id" else getattr(row, field) for _, field in columns]
        rows.append([*cells, row.contribution, *_ideal(ideal.get(row.rank), named)])
    beyond = range(last + 1, min(len(ideal), FIRST_ROWS) + 1)
    rows += [[rank, *[""] * len(columns), *_ideal(ideal[rank], named)] for rank in beyond]
    beside = [_document(named, "ideal", key="ideal_doc_id", divided=True), Column("grade", "grade", key="ideal_grade")]
    beside += [Column("adds", "number", key="ideal_adds"), Column("so far", "number", key="ideal_total", aside=True)]
    heads = [*(column for column, _ in columns), Column("", "bar"), *beside]
    return Table("ranks", "", heads, rows, sort=False)


def _ideal(row: Row | None, named: Callable[[str], str]) -> list[Any]:
    return [""] * 4 if row is None else [named(row.doc_id), row.grade, row.contribution, row.total]


# ---- two runs --------------------------------------------------------------------------------------------------------


def _difference_blocks(difference: Difference, named: Callable[[str], str]) -> Iterator[Block]:
    new, old = difference.names
    for name, each in ((old, difference.b), (new, difference.a)):
        yield Text(f"{short(name, 60)}: {number_text(each.value)}")
    yield Picture(f"picture-{difference.query}", difference.title, lambda: difference_svg(difference))
    yield shares_table(difference, named)
    if difference.rest:
        yield Notes([f"{difference.rest.words}: {number_text(difference.rest.contribution, sign=True)}"])
    pairs = ((old, difference.b), (new, difference.a))
    notes = [f"Note on {name}: {note}." for name, each in pairs for note in each.notes]
    yield from [Notes(notes)] if notes else []
    yield Table.of_rows(_data_rows(difference), f"rows-{difference.query}")


def shares_table(difference: Difference, named: Callable[[str], str] = str, most: int = MOST_ROWS) -> Table:
    """The documents that make the difference, and the first of those that do not."""
    shares = [share for at, share in enumerate(difference.shares) if at < FIRST_ROWS or share.points][:most]
    rows: list[list[Any]] = [
        [named(each.doc_id), each.grade, each.rank_b, each.rank_a, each.b, each.a, each.points, each.points]
        for each in shares
    ]
    if len(shares) < len(difference.shares):
        rows.append([f"… {len(difference.shares) - len(shares):,} more", *[""] * 7])
    names = [short(name, NAME) for name in reversed(difference.names)]
    columns = [_document(named), Column("grade", "grade")]
    columns += [Column(f"{name} rank", "rank") for name in names]
    columns += [Column(f"{name} adds", "number", aside=True) for name in names]
    return Table("shares", "", [*columns, Column("difference", "signed"), Column("", "bar")], rows, sort=False)
