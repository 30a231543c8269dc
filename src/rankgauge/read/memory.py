"""What a program holds in memory: a dict of dicts, or any iterable of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np

from rankgauge.errors import FormatError, InputError
from rankgauge.read.names import WhereThere, ask_of, find_columns, has_role, number_role
from rankgauge.read.rankings import Ranking, answered_hits, is_documents, ranking_in, read_rankings
from rankgauge.read.records import check_ids, id_text
from rankgauge.read.rows import Ask, Content, Row, Rows, content_of, negated, number_of_value

BARE = {list, tuple, set, frozenset, np.ndarray}
NUMBERS = {int, float}
DICT = {dict}

__all__ = ["checked_row", "is_columns", "is_of_query", "item_rows", "read_iterable", "read_mapping", "read_triples"]
__all__ += ["rows_of_columns", "unpacked"]


def is_of_query(value: Any) -> bool:
    """Whether this is what a dict of judgments or a run has for a query: document → number, or documents.

    What else a dict may map to (a dict of such, a list of rows, a frame, a path) is judgments or a run of its own.
    """
    if type(value) is dict or isinstance(value, Mapping):
        return not _holds_several(next(iter(value.values()), None))
    return type(value) in BARE and is_documents(value)


def _holds_several(value: Any) -> bool:
    if type(value) in NUMBERS:
        return False  # as nearly always, and soon known
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes)) and getattr(value, "ndim", 1) != 0


def unpacked(source: Any) -> Any:
    """The dict of dicts that a Qrels or Run of another library holds, such as ranx; anything else as it is."""
    made = type(source).__module__.partition(".")[0] != "rankgauge" and type(source).__name__ in ("Qrels", "Run")
    return source.to_dict() if made and hasattr(source, "to_dict") else source


def read_mapping(source: Mapping[Any, Any], ask: Ask) -> Content:
    """A dict of dicts, kept as it is (`match` looks at every number anyway), or a dict of rankings."""
    if ask.columns and not isinstance(ask.columns, WhereThere):
        raise FormatError(f"{ask.kind}: columns= names columns, and a dict has none")
    kinds = set(map(type, source.values()))
    of_dicts = kinds == DICT  # as nearly always, and soon known
    if (kinds and not of_dicts and kinds <= BARE) or answered_hits(next(iter(source.values()), None)) is not None:
        return read_rankings([_ranking(*each, ask) for each in source.items()], ask, ask.kind, checked_row)
    if ask.by == "rank":
        raise InputError(f"{ask.kind}: a dict has scores and no ranks; give -rank as the score, or a frame with a rank")
    for query, docs in () if of_dicts else source.items():
        if not isinstance(docs, Mapping):
            raise _no_ranking(query, docs, ask)
    if ask.kind == "judgments":  # of a run this is looked at where ids are read, which few are
        check_ids(source, ask.kind)
    return Content(source)


def _ranking(query: Any, docs: Any, ask: Ask) -> Ranking:
    if ask.kind == "run" and isinstance(docs, (set, frozenset)):
        raise FormatError(f"run: query {query!r} maps to a set, which has no order; give a list, best first")
    found = ranking_in(query, docs)
    if found is None:
        raise _no_ranking(query, docs, ask)
    return found


def _no_ranking(query: Any, docs: Any, ask: Ask) -> FormatError:
    return FormatError(
        f"{ask.kind}: query {query!r} maps to {_shown(docs)}; expected a dict of document → number, "
        f"as in {{'q1': {{'d1': 1.0}}}}, or everywhere a list of documents, as in {{'q1': ['d1']}}"
    )


def is_columns(source: Mapping[Any, Any], name: str, columns: Mapping[str, str] | None = None) -> bool:
    """Whether a dict maps the names of columns to them, rather than queries to documents; `columns` are names by role.

    A query and a document are among the names, and every column is a list or an array of cells; all must be equally
    long.
    """
    if isinstance(next(iter(source.values()), None), dict):
        return False  # as nearly always, and soon known
    names = list(map(str, source))
    named = ((columns or {}).get(role) in names or has_role(role, names) for role in ("query_id", "doc_id"))
    if not all(named) or not all(map(_is_column, source.values())):
        return False
    sizes = {column: len(each) for column, each in source.items()}
    if len(set(sizes.values())) > 1:
        lengths = ", ".join(f"{column} {size:,}" for column, size in sizes.items())
        raise FormatError(f"{name}: the columns are not equally long ({lengths}); give every row a value in each")
    return True


def _is_column(value: Any) -> bool:
    """Whether this is a list or an array, and what is in it is not: neither rows nor a frame."""
    if not _holds_several(value) or isinstance(value, (Mapping, Set)) or hasattr(value, "columns"):
        return False
    return hasattr(value, "__len__") and not _holds_several(next(iter(value), None))


def rows_of_columns(columns: Mapping[Any, Any]) -> list[dict[str, Any]]:
    """Column → values as rows."""
    names = list(map(str, columns))
    return [dict(zip(names, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def read_iterable(source: Iterable[Any], ask: Ask) -> Content:
    """An iterable of rows: triples, named tuples or dicts."""
    again = not isinstance(source, Iterator)
    first = _named(next(iter(source), None)) if again else None
    ask = ask if first is None else ask_of(list(first), ask)
    rows = Rows(ask.kind, "row", lambda: item_rows(enumerate(source, 1), ask, rows.place, named=True), again)
    return content_of(rows, ask, may_be_empty=True)


def read_triples(triples: Callable[[], Iterable[Any]], ask: Ask) -> Content:
    """Triples whose columns were told apart already."""

    def each() -> Iterator[Row]:
        for row, triple in enumerate(triples(), 1):
            yield checked_row(row, triple, ask, rows.place, named=True)

    rows = Rows(ask.kind, "row", each)
    return content_of(rows, ask, may_be_empty=True)


def item_rows(
    items: Iterable[tuple[int, Any]], ask: Ask, place: Callable[[int], str], *, named: bool = False
) -> Iterator[Row]:
    """Each numbered item as a row; which fields are meant is found out anew only where their names change."""
    names: list[str] = []
    columns: tuple[str, str, str] = ("", "", "")
    for row, item in items:
        cells = _named(item)
        if cells is not None:
            if not names or names != list(cells):
                names = list(cells)
                columns = find_columns(names, ask, place(row))
            triple: Sequence[Any] = [cells[column] for column in columns]
        elif _is_triple(item) and ask.by == "score" and (not ask.columns or isinstance(ask.columns, WhereThere)):
            triple = item
        else:
            raise FormatError(f"{place(row)}: {_unfit(item, ask)}")
        yield checked_row(row, triple, ask, place, named=named)


def _named(item: Any) -> Mapping[str, Any] | None:
    """A dict, a named tuple or a row of a structured array as a mapping; nothing else is one."""
    if isinstance(item, Mapping):
        return item
    if hasattr(item, "_fields"):
        return dict(zip(item._fields, item, strict=True))
    if isinstance(item, np.void) and item.dtype.names:
        return {name: item[name] for name in item.dtype.names}
    return None


def _unfit(item: Any, ask: Ask) -> str:
    role = number_role(ask)
    if _is_triple(item):
        return f"a plain triple has no {role if role == 'rank' else 'named columns'}; give dicts or a frame"
    return f"expected (query, document, {role}), got {_shown(item)}"


def _is_triple(item: Any) -> bool:
    return isinstance(item, (tuple, list, np.ndarray)) and len(item) == 3


def checked_row(row: int, triple: Sequence[Any], ask: Ask, place: Callable[[int], str], *, named: bool = False) -> Row:
    """A row whose ids are text and whose number is finite; an error has the ids too where they are `named`."""
    query, doc, number = triple
    try:
        ids, value = (id_text(query), id_text(doc)), number_of_value(number)
        return row, *ids, negated(value, number) if ask.by == "rank" else value
    except FormatError as error:
        floats = isinstance(query, float) or isinstance(doc, float)
        advice = " (pandas makes floats of integers where some are missing)" if floats else ""
        raise FormatError(f"{place(row)}: {error}{advice}{_whose(query, doc, named)}") from None
    except ValueError as error:
        raise FormatError(f"{place(row)}: {number_role(ask)} {error}{_whose(query, doc, named)}") from None


def _whose(query: Any, doc: Any, named: bool) -> str:
    return f" (query {query!r}, document {doc!r})" if named else ""


def _shown(value: object) -> str:
    text = repr(value)
    return f"{text if len(text) <= 60 else text[:59] + '…'} ({type(value).__name__})"
