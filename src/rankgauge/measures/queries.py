"""What is known of queries beside their values: groups, weights, and any other table of queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgauge.errors import InputError, counted, nearest
from rankgauge.measures.aggregates import checked_weights
from rankgauge.read.records import id_text

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats

__all__ = ["groups_of", "masks_of", "query_table", "weights_of"]


def weights_of(weights: Any, queries: list[str]) -> Floats:
    """One weight per query; a query without one is an error."""
    table = query_table(weights, "weight")
    missing = [query for query in queries if query not in table]
    if missing:
        raise InputError(
            f"no weight for {counted(len(missing), 'query', 'queries')}, such as {missing[0]!r}; give every query one"
        )
    try:
        result = np.array([float(table[query]) for query in queries])
    except (TypeError, ValueError) as error:
        raise InputError(f"a weight is not a number: {error}") from None
    return checked_weights(result)


def masks_of(groups: Mapping[str, str], queries: list[str]) -> dict[str, Bools]:
    """Group → which queries are in it, in order of first appearance; queries in no group are in none."""
    known = [groups.get(query) for query in queries]
    present = set(known)
    names = [name for name in dict.fromkeys(groups.values()) if name in present]
    if not names:
        known_one = nearest(queries[0], list(groups)[:1000]) or next(iter(groups), "none")
        raise InputError(f"no query is in any group: a query is {queries[0]!r}, the groups know {known_one!r}")
    return {name: np.fromiter((group == name for group in known), bool, len(known)) for name in names}


def groups_of(by: Any, judgments: Any) -> dict[str, str] | None:
    """Query → group, from a mapping, a frame, a file, or the name of a column of the judgments frame."""
    if by is None:
        return None
    if isinstance(by, str):
        from rankgauge.read.query_tables import column_of_frame

        column = column_of_frame(judgments, by)
        if column is not None:
            return column
    return {query: str(group) for query, group in query_table(by, "group").items() if group not in (None, "")}


def query_table(source: Any, what: str) -> dict[str, Any]:
    """Query → value, from a mapping, a frame or a file."""
    if isinstance(source, Mapping):
        return {id_text(query): value for query, value in source.items()}
    from rankgauge.read.query_tables import read_query_table

    return read_query_table(source, what)
