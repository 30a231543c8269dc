"""A table of values from anywhere → Values: what `rankgauge eval --per-query` saved, or queries × systems.

Three shapes are known. Wide: a query column and a column of values per system. Long: a query column, a column `run` or
`system`, and a column per measure. And the JSON that `rankgauge eval --per-query --format json` prints, which knows its
judgments and rules, so that files of different origin are refused.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.comparison.saved import read_saved
from rankgauge.comparison.values import Values, comparable, one_definition
from rankgauge.errors import FormatError, InputError, MeasureError, RankgaugeError, unknown
from rankgauge.measures import parse
from rankgauge.read.cells import Spelling
from rankgauge.read.frames import is_frame
from rankgauge.read.records import id_text, is_plain
from rankgauge.read.sources import Source, find_source
from rankgauge.read.tables import NamedColumns, number_in, query_column, read_table

if TYPE_CHECKING:
    from rankgauge.read import Judgments

__all__ = ["on_judgments", "values_of_tables"]

SYSTEMS: Final = ("run", "system", "run_id", "model")
NAMELESS: Final = "value"

Column = dict[str, float]  # query → value


def values_of_tables(
    sources: Sequence[Any], measures: Sequence[str] | None, *, skip: bool = False
) -> dict[str, Values]:
    """Measure → Values of every system in the tables; a query without a value somewhere is refused, or dropped.

    `measures=None`: all that the tables have.
    """
    found = [_table(find_source(each) if isinstance(each, (str, os.PathLike)) else each) for each in sources]
    known = {each.name: each.prints for each in found if each.prints is not None}
    if known:
        comparable(known)
    wanted = list(measures) if measures else list(dict.fromkeys(name for each in found for name in each.columns))
    if not wanted:
        raise FormatError(f"{', '.join(each.name for each in found)}: holds no values of any measure")
    return {measure: _together(found, measure, skip) for measure in wanted}


def on_judgments(values: Values, judgments: Judgments) -> Values:
    """The same values, held against the judgments that they are said to rest on: the same ones, the same queries."""
    known = values.fingerprints.get("judgments")
    if known is not None and known != judgments.fingerprint:
        raise InputError(
            f"the values rest on other judgments ({known}) than {judgments.source} ({judgments.fingerprint}); "
            "evaluate the runs again on these"
        )
    judged = set(judgments.queries)
    strange = next((query for query in values.queries if query not in judged), None)
    if strange is not None:
        raise InputError(
            f"query {strange!r} has values but no judgments in {judgments.source}; are the ids of one kind?"
        )
    without = judged.difference(values.queries, values.dropped)
    dropped = values.dropped | dict.fromkeys(sorted(without), "is judged and has no values")
    prints = values.fingerprints | {"judgments": judgments.fingerprint}
    return replace(values, dropped=dropped, fingerprints=prints)


@dataclass(frozen=True, eq=False)
class _Table:
    """What one source holds: measure → system → query → value, and what is known of its origin."""

    name: str
    columns: dict[str, dict[str, Column]]
    prints: dict[str, Any] | None = None
    protocol: dict[str, Any] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)

    def of(self, measure: str) -> dict[str, Column]:
        """System → values of a measure; a wide table has one measure, whatever it is called."""
        if list(self.columns) == [NAMELESS]:
            return self.columns[NAMELESS]
        spelled = {_spelling(name): name for name in self.columns}
        if _spelling(measure) not in spelled:
            raise MeasureError(unknown(f"{self.name}: holds no {measure}", measure, self.columns))
        return self.columns[spelled[_spelling(measure)]]


def _spelling(measure: str) -> str:
    """The measure as rankgauge writes it, where it knows it: ndcg_cut_10 is nDCG@10."""
    try:
        return str(parse(measure))
    except RankgaugeError:
        return measure


# ---- together --------------------------------------------------------------------------------------------------------


def _together(tables: list[_Table], measure: str, skip: bool) -> Values:
    columns: dict[str, Column] = {}
    for table in tables:
        for system, column in table.of(measure).items():
            if system in columns:
                raise InputError(f"{table.name}: there is a system {system!r} already; give each a name of its own")
            columns[system] = column
    queries = sorted(set().union(*columns.values()))
    some = {name: column for name, column in columns.items() if len(column) < len(queries)}
    lacking = {query: [name for name, column in some.items() if query not in column] for query in queries if some}
    dropped = {query: f"no value for {', '.join(names)}" for query, names in lacking.items() if names}
    used = [query for query in queries if query not in dropped]
    if not used:
        raise InputError(f"no query has a value for every system ({', '.join(columns)}); are the ids of one kind?")
    if dropped and not (skip or any("skip" in map(table.protocol.get, ("missing", "empty")) for table in tables)):
        query, why = next(iter(dropped.items()))
        raise InputError(
            f"the systems do not have the same queries: {len(dropped):,} of {len(queries):,} lack a value, such as "
            f"{query!r} ({why}); give every query a value, or leave these queries out with --missing skip"
        )
    known = [table for table in tables if table.prints is not None]
    first = known[0] if known else tables[0]
    prints = first.prints or {}
    return Values(
        measure,
        list(columns),
        used,
        np.array([[*map(column.__getitem__, used)] for column in columns.values()], np.float64).T.copy(),
        dropped,
        definition=one_definition(measure, {each.name: each.definitions.get(_spelling(measure), "") for each in known}),
        protocol=first.protocol,
        fingerprints={key: prints[key] for key in ("judgments", "protocol") if key in prints},
    )


# ---- what `rankgauge eval` saved -------------------------------------------------------------------------------------


def _saved(file: Source) -> _Table | None:
    """The JSON of `rankgauge eval --per-query --format json`, or None where it is something else."""
    runs = read_saved(file)
    if runs is None:
        return None
    columns: dict[str, dict[str, Column]] = {}
    for run in runs:
        for measure, column in run.values.items():
            columns.setdefault(measure, {})[run.name] = column
    return _Table(file.name, columns, runs[0].fingerprints, runs[0].protocol, runs[0].definitions)


# ---- wide and long tables --------------------------------------------------------------------------------------------


def _table(source: Any) -> _Table:
    if isinstance(source, Mapping):
        return _Table("the mapping", {NAMELESS: {str(name): _column(name, values) for name, values in source.items()}})
    if isinstance(source, Source):
        if (saved := _saved(source)) is not None:
            return saved
    elif not is_frame(source):
        raise InputError(f"values are a file, a frame, or system → query → value, not a {type(source).__name__}")
    table = read_table(source, "the frame", key="query_id", loose=True)
    return _Table(table.source, _columns(table))


def _column(name: Any, values: Any) -> Column:
    if not isinstance(values, Mapping):
        raise InputError(f"system {name!r}: expected query → value, got {type(values).__name__}")
    if is_plain(values) and {*map(type, values.values())} == {float} and all(map(isfinite, values.values())):
        return dict(values)  # as nearly always: ids and numbers are what they would be made
    return {id_text(query): _number(value, f"system {name}, query {query}") for query, value in values.items()}


def _columns(table: NamedColumns) -> dict[str, dict[str, Column]]:
    query, system = query_column(table), next(iter(table.called(SYSTEMS)), None)
    others = [name for name in table.names if name not in (query, system)]
    names = ", ".join(table.names)
    if not others:
        raise FormatError(f"{table.source}: no column of values beside {names}; give each system one")
    if not table.rows:
        raise FormatError(f"{table.source}: holds no rows below its header {names}; give a row a query")
    queries, systems = table.ids(query), table.cells(system) if system else [None] * len(table)
    result: dict[str, dict[str, Column]] = {}
    for name in others:
        for row, (identifier, who, cell) in enumerate(zip(queries, systems, table.cells(name), strict=True)):
            measure, key = (name, str(who)) if system else (NAMELESS, name)
            column = result.setdefault(measure, {}).setdefault(key, {})
            if identifier in column:
                raise FormatError(
                    f"{table.place(row)}, column {name}: query {identifier!r} has a value already; keep one row"
                )
            if cell is not None and str(cell).strip():
                place = f"{table.place(row)}, column {name}, query {identifier}"
                column[identifier] = _number(cell, place, table.spelling)
    return result


def _number(value: Any, place: str, spelling: Spelling | None = None) -> float:
    try:
        return number_in(value, spelling or Spelling(","))
    except ValueError as error:
        raise FormatError(f"{place}: {error}; leave the cell empty where there is no value") from None
