"""A table of experiments or queries → Units: which column is which, as numbers that were checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.errors import FormatError, InputError, RankgaugeError, choices
from rankgauge.measures import parse
from rankgauge.read.columns import NamedColumns, read_columns
from rankgauge.read.query_tables import is_query_column
from rankgauge.stats.correlation import is_constant

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats

__all__ = ["FEWEST", "LARGEST", "ROLES", "UNITS", "Units", "measure_of", "read_units"]

FEWEST: Final = 3
LARGEST: Final = 1e60  # of a column or one over it: beyond, a float cannot hold products of squares
UNITS: Final = ("experiments", "queries")
# Role → the names by which it is recognised. Offline columns are also those called like a measure. Blanks, hyphens and
# capitals do not matter; `delta_` before or `_difference` after the name of an offline or online column neither.
ROLES: Final[dict[str, tuple[str, ...]]] = {
    "name": ("experiment", "experiment_id", "test", "test_id", "query_id", "qid", "query", "name", "id"),
    "offline": ("offline",),
    "online": ("online", "conversion", "conversion_rate", "ctr", "click_through_rate", "clicks", "revenue", "orders"),
    "se": ("standard_error", "se", "stderr", "online_standard_error", "online_se", "online_stderr"),
    "offline_se": ("offline_standard_error", "offline_se", "offline_stderr"),
    "weight": ("traffic", "weight", "impressions", "searches"),
    "shipped": ("shipped", "launched", "released"),
}
AROUND: Final = re.compile(r"^(?:delta_?|diff_|difference_|d_|Δ_?)|_(?:delta|diff|difference|change|lift)$", re.I)
TRUTH: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True, eq=False)
class Units:
    """What is aligned: experiments or queries, each with differences offline and online.

    `error` is the standard error of the online difference, `offline_error` that of the first offline one, `weight` the
    traffic, `shipped` what was decided; None where the table does not say.
    """

    source: str
    kind: str
    names: list[str]
    offline: dict[str, Floats]
    online_name: str
    online: Floats
    error: Floats | None = None
    offline_error: Floats | None = None
    weight: Floats | None = None
    shipped: Bools | None = None

    def __len__(self) -> int:
        return len(self.names)

    @property
    def one(self) -> str:
        """The word for one of them."""
        return {"experiments": "experiment", "queries": "query"}[self.kind]


def measure_of(column: str) -> Any:
    """The measure that a column is called after (`delta_nDCG@10`, `ndcg_at_10`), or None."""
    try:
        found = parse(_bare(column).replace("_at_", "@"))
    except RankgaugeError:
        return None
    return found if found.definition.aggregate == "mean" else None


def read_units(table: Any, columns: dict[str, Any], unit: str | None = None) -> Units:
    """The units of a table; `columns` maps roles to the names of columns where these are given."""
    if isinstance(table, Units):
        return table
    if unit is not None and unit not in UNITS:
        raise InputError(f"unit={unit!r} is not known; expected {choices(UNITS)}")
    loaded = read_columns(table)
    found = _Found(loaded, columns)
    if len(loaded) < FEWEST:
        raise InputError(f"{loaded.source}: holds {len(loaded)} rows; a correlation needs {FEWEST} or more")
    name = found.optional("name")
    online = found.online()
    error = found.error(online)
    kind = unit or ("queries" if name is not None and is_query_column(name) else "experiments")
    word = "experiment" if kind == "experiments" else "query"
    names = [f"{word} {at}" for at in range(1, len(loaded) + 1)] if name is None else _texts(loaded, name)
    shipped, offline_error, weight = (found.optional(role) for role in ("shipped", "offline_se", "weight"))
    single = {"name": name, "online": online, "se": error, "shipped": shipped}
    single |= {"offline_se": offline_error, "weight": weight}
    offline = found.offline(taken=single.values())
    _one_role_each(loaded.source, [*single.items(), *(("offline", each) for each in offline)])
    return Units(
        loaded.source,
        kind,
        names,
        {each: _varying(loaded, each) for each in offline},
        online,
        _varying(loaded, online),
        _above_zero(loaded, error),
        _above_zero(loaded, offline_error),
        _weights(loaded, weight),
        None if shipped is None else np.array(_truths(loaded, shipped)),
    )


# ---- which column is which -------------------------------------------------------------------------------------------


def _normal(column: str) -> str:
    return re.sub(r"[\s-]+", "_", column.strip()).lower()


def _bare(column: str) -> str:
    """The name without the words for a difference."""
    return AROUND.sub("", AROUND.sub("", re.sub(r"[\s-]+", "_", column.strip())))


def _one_role_each(source: str, roles: Iterable[tuple[str, str | None]]) -> None:
    """Refuse a column that is to be two things: it would go with itself perfectly."""
    seen: dict[str, str] = {}
    for role, column in roles:
        if column is None:
            continue
        if column in seen:
            options = " and ".join(f"--{each.replace('_', '-')}" for each in (seen[column], role))
            both = f"column {column!r} cannot be {seen[column]} and {role} at once"
            raise InputError(f"{source}: {both}; name another ({options}), or rename what is taken for the wrong one")
        seen[column] = role


class _Found:
    """Columns by their roles: as given, or as recognised."""

    def __init__(self, table: NamedColumns, given: dict[str, Any]) -> None:
        self.table, self.given = table, given

    def optional(self, role: str) -> str | None:
        """The column of a role that a table may lack."""
        if self.given.get(role) is not None:
            self.table.index(self.given[role])
            return str(self.given[role])
        for spelling in ROLES[role]:
            matching = [name for name in self.table.names if _normal(name) == spelling]
            if matching:
                return matching[0]
        return None

    def online(self) -> str:
        """The online difference."""
        if self.given.get("online") is not None:
            return self.table.names[self.table.index(self.given["online"])]
        matching = [name for name in self.table.names if _bare(name).lower() in ROLES["online"]]
        return self._only("online", matching)

    def error(self, online: str) -> str | None:
        """The standard error of the online difference: also `NAME_se` beside a column NAME."""
        if self.given.get("se") is None:
            own = {f"{stem}_{end}" for stem in (_normal(online), _bare(online).lower()) for end in ROLES["se"]}
            matching = [name for name in self.table.names if _normal(name) in own]
            if matching:
                return matching[0]
        return self.optional("se")

    def offline(self, taken: Iterable[str | None]) -> list[str]:
        """The offline differences, in the order given, or in the table's."""
        given = self.given.get("offline")
        if given is not None:
            listed = [given] if isinstance(given, str) else list(given)
            for column in listed:
                self.table.index(column)
            if len(set(listed)) < len(listed) or not listed:
                raise InputError(f"offline={listed!r}: name each column once, and one or more")
            return listed
        free = [name for name in self.table.names if name not in set(taken)]
        matching = [name for name in free if _bare(name).lower() in ROLES["offline"] or measure_of(name) is not None]
        return matching or [self._only("offline", matching)]

    def _only(self, role: str, matching: Sequence[str]) -> str:
        if len(matching) == 1:
            return matching[0]
        how = f"name it with {role}= (--{role} NAME)"
        if matching:
            raise FormatError(f"{self.table.source}: {' and '.join(matching)} could each be the {role} column; {how}")
        known = choices(ROLES[role]) + (", or is called like a measure (delta_nDCG@10)" if role == "offline" else "")
        told = f"the columns are {', '.join(self.table.names)}"
        raise FormatError(f"{self.table.source}: no column is called {known}; {told}; {how}")


# ---- cells → numbers -------------------------------------------------------------------------------------------------


def _texts(table: NamedColumns, column: str) -> list[str]:
    cells = table.cells(column)
    for place, cell in zip(table.places, cells, strict=True):
        if cell is None or not str(cell).strip():
            raise FormatError(f"{place}: column {column!r}: the cell is empty; give every row a name")
    return [str(cell) for cell in cells]


def _varying(table: NamedColumns, column: str) -> Floats:
    numbers = _sized(table, column, np.array(table.numbers(column)))
    if is_constant(numbers):
        told = f"column {column!r} is {numbers[0]:g} in all {len(numbers):,} rows"
        raise InputError(f"{table.source}: {told}: what does not vary follows nothing; take another column")
    return numbers


def _sized(table: NamedColumns, column: str, numbers: Floats) -> Floats:
    """Refuse columns whose squares a float cannot hold: there would be numbers, and wrong ones."""
    largest = float(np.abs(numbers).max())
    if largest > LARGEST or 0 < largest < 1 / LARGEST:
        told = f"the largest value of column {column!r} is {largest:g}, and must be between {1 / LARGEST:g} and"
        raise InputError(f"{table.source}: {told} {LARGEST:g}: give it in another unit")
    return numbers


def _above_zero(table: NamedColumns, column: str | None) -> Floats | None:
    if column is None:
        return None
    expected = "a standard error, which is above 0"
    numbers = np.array(table.numbers(column, expected))
    for place, number in zip(table.places, numbers.tolist(), strict=True):
        if number <= 0:
            raise FormatError(f"{place}: column {column!r}: {number:g} is not above 0; expected {expected}")
    smallest = float(numbers.min())
    if smallest < 1 / LARGEST:
        told = f"column {column!r} has an error of {smallest:g}, and must be above {1 / LARGEST:g}"
        raise InputError(f"{table.source}: {told}: give it in another unit")
    return _sized(table, column, numbers)


def _weights(table: NamedColumns, column: str | None) -> Floats | None:
    if column is None:
        return None
    numbers = np.array(table.numbers(column, "a weight, which is 0 or more"))
    for place, number in zip(table.places, numbers.tolist(), strict=True):
        if number < 0:
            raise FormatError(
                f"{place}: column {column!r}: {number:g} is below 0; expected a weight, which is 0 or more"
            )
    if (numbers > 0).sum() < FEWEST:
        raise InputError(f"{table.source}: column {column!r} is above 0 in fewer than {FEWEST} rows")
    return _sized(table, column, numbers)


def _truths(table: NamedColumns, column: str) -> list[bool]:
    found = []
    for place, cell in zip(table.places, table.cells(column), strict=True):
        text = str(cell).strip().lower().removesuffix(".0")
        if text not in TRUTH:
            raise FormatError(f"{place}: column {column!r}: {cell!r} is neither yes nor no; expected {choices(TRUTH)}")
        found.append(TRUTH[text])
    return found
