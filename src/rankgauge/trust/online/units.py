"""A table of experiments or queries → Units: which column is which, as numbers that were checked."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rankgauge.errors import FormatError, InputError, RankgaugeError, choices
from rankgauge.measures import parse
from rankgauge.read.names import has_role, normal, underscored
from rankgauge.read.tables import NamedColumns, is_blank, read_table
from rankgauge.stats.correlation import is_constant

if TYPE_CHECKING:
    from rankgauge.dtypes import Bools, Floats

__all__ = ["FEWEST", "LARGEST", "ROLES", "UNITS", "Units", "measure_of", "read_units"]

FEWEST: Final = 3
LARGEST: Final = 1e60  # of a column or one over it: beyond, a float cannot hold products of squares
UNITS: Final = {"experiments": "experiment", "queries": "query"}  # the word for several → for one
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
        return UNITS[self.kind]


def measure_of(column: str) -> Any:
    """The measure that a column is called after (`delta_nDCG@10`, `ndcg_at_10`), or None."""
    try:
        measure = parse(_bare(column).replace("_at_", "@"))
    except RankgaugeError:
        return None
    return measure if measure.definition.aggregate == "mean" else None


def read_units(table: Any, columns: dict[str, Any], unit: str | None = None) -> Units:
    """The units of a table; `columns` maps roles to the names of columns where these are given."""
    if isinstance(table, Units):
        return table
    if unit is not None and unit not in UNITS:
        raise InputError(f"unit={unit!r} is not known; expected {choices(UNITS)}")
    loaded = read_table(table)
    if len(loaded) < FEWEST:
        raise InputError(f"{loaded.source}: holds {len(loaded)} rows; a correlation needs {FEWEST} or more")
    roles = _Roles(loaded, columns)
    name, online = roles.optional("name"), roles.online()
    error, offline_error = roles.error(online), roles.optional("offline_se")
    weight, shipped = roles.optional("weight"), roles.optional("shipped")
    single = {"name": name, "online": online, "se": error, "shipped": shipped}
    single |= {"offline_se": offline_error, "weight": weight}
    offline = roles.offline(taken=single.values())
    _one_role_each(loaded.source, [*single.items(), *(("offline", each) for each in offline)])
    kind = unit or ("queries" if name is not None and has_role("query_id", [name]) else "experiments")
    return Units(
        loaded.source,
        kind,
        loaded.convert(name, _text, "a name") if name else [f"{UNITS[kind]} {at}" for at in range(1, len(loaded) + 1)],
        {each: _varying(loaded, each) for each in offline},
        online,
        _varying(loaded, online),
        _errors(loaded, error),
        _errors(loaded, offline_error),
        _weights(loaded, weight),
        None if shipped is None else np.array(loaded.convert(shipped, _truth, choices(TRUTH))),
    )


# ---- which column is which -------------------------------------------------------------------------------------------


def _bare(column: str) -> str:
    """The name without the words for a difference."""
    return AROUND.sub("", AROUND.sub("", underscored(column)))


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


class _Roles:
    """Columns by their roles: as the caller names them, or as recognised."""

    def __init__(self, table: NamedColumns, columns: dict[str, Any]) -> None:
        self.table, self.columns = table, {role: name for role, name in columns.items() if name is not None}

    def optional(self, role: str) -> str | None:
        """The column of a role that a table may lack."""
        if role in self.columns:
            return self.table.column(self.columns[role])
        return next((name for spelling in ROLES[role] for name in self.table.called([spelling])), None)

    def online(self) -> str:
        """The online difference."""
        if "online" in self.columns:
            return self.table.column(self.columns["online"])
        return self._only("online", [name for name in self.table.names if _bare(name).lower() in ROLES["online"]])

    def error(self, online: str) -> str | None:
        """The standard error of the online difference: also `NAME_se` beside a column NAME."""
        own = {f"{stem}_{end}" for stem in (normal(online), _bare(online).lower()) for end in ROLES["se"]}
        return next(iter(self.table.called(own) if "se" not in self.columns else ()), None) or self.optional("se")

    def offline(self, taken: Iterable[str | None]) -> list[str]:
        """The offline differences, in the order of the caller, or in the table's."""
        if "offline" in self.columns:
            named = self.columns["offline"]
            listed = [named] if isinstance(named, str) else list(named)
            if len(set(listed)) < len(listed) or not listed:
                raise InputError(f"offline={listed!r}: name each column once, and one or more")
            return [self.table.column(each) for each in listed]
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
        names = f"the columns are {', '.join(self.table.names)}"
        raise FormatError(f"{self.table.source}: no column is called {known}; {names}; {how}")


# ---- cells → numbers -------------------------------------------------------------------------------------------------


def _text(cell: Any) -> str:
    if is_blank(cell):
        raise ValueError("the cell is empty")
    return str(cell)


def _truth(cell: Any) -> bool:
    text = str(cell).strip().lower().removesuffix(".0")
    if text not in TRUTH:
        raise ValueError(f"{cell!r} is neither yes nor no")
    return TRUTH[text]


def _varying(table: NamedColumns, column: str) -> Floats:
    numbers = _sized(table, column, np.array(table.numbers(column)))
    if is_constant(numbers):
        constant = f"column {column!r} is {numbers[0]:g} in all {len(numbers):,} rows"
        raise InputError(f"{table.source}: {constant}: what does not vary follows nothing; take another column")
    return numbers


def _sized(table: NamedColumns, column: str, numbers: Floats) -> Floats:
    """Refuse columns whose squares a float cannot hold: there would be numbers, and wrong ones."""
    largest = float(np.abs(numbers).max())
    if largest > LARGEST or 0 < largest < 1 / LARGEST:
        size = f"the largest value of column {column!r} is {largest:g}, and must be between {1 / LARGEST:g} and"
        raise InputError(f"{table.source}: {size} {LARGEST:g}: give it in another unit")
    return numbers


def _bounded(table: NamedColumns, column: str, is_wrong: Callable[[float, float], bool], *words: str) -> Floats:
    """The numbers of a column, none of which is on the wrong side of 0; the words say what is wrong, what expected."""
    problem, expected = words

    def number(cell: Any) -> float:
        value = table.number(cell)
        if is_wrong(value, 0):
            raise ValueError(f"{value:g} {problem}")
        return value

    return _sized(table, column, np.array(table.convert(column, number, expected)))


def _errors(table: NamedColumns, column: str | None) -> Floats | None:
    if column is None:
        return None
    numbers = _bounded(table, column, operator.le, "is not above 0", "a standard error, which is above 0")
    if numbers.min() < 1 / LARGEST:
        size = f"column {column!r} has an error of {numbers.min():g}, and must be above {1 / LARGEST:g}"
        raise InputError(f"{table.source}: {size}: give it in another unit")
    return numbers


def _weights(table: NamedColumns, column: str | None) -> Floats | None:
    if column is None:
        return None
    numbers = _bounded(table, column, operator.lt, "is below 0", "a weight, which is 0 or more")
    if (numbers > 0).sum() < FEWEST:
        raise InputError(f"{table.source}: column {column!r} is above 0 in fewer than {FEWEST} rows")
    return numbers
