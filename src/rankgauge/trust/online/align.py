"""Offline beside online: do differences of a measure go with differences of the business?

table ──read──▶ Units ──▶ Tracked, one for each offline column ──▶ Alignment ──show──▶ people
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final, Literal, TypeAlias

import numpy as np

from rankgauge.errors import Doubt, InputError, choices, unknown
from rankgauge.shown import Shown
from rankgauge.stats.choice import CRITERIA, QUICK, SLOW, CriterionName, first_of_best, nested
from rankgauge.stats.correlation import Share, reliability, wilson
from rankgauge.trust.online.doubts import doubts
from rankgauge.trust.online.tracked import Tracked, tracked
from rankgauge.trust.online.units import LARGEST, Units, read_units

__all__ = ["LABELS", "Alignment", "Choice", "Settings", "Tracked", "Units", "align"]

# Where grades come from → what that means here.
Labels: TypeAlias = Literal["judgments", "clicks"]
LABELS: Final = {
    "judgments": "grades that somebody gave",
    "clicks": "clicks, purchases or revenue taken for grades",
}


@dataclass(frozen=True, slots=True)
class Settings:
    """`step`: the offline change for which an online one is predicted; `above`: ship when the offline difference is
    above it; `by`: how the best of several offline columns is chosen; `labels`: where grades come from."""

    step: float = 0.01
    above: float = 0.0
    criterion: str = "pearson"
    labels: str = "judgments"
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise InputError(f"alpha={self.alpha!r}: a level is between 0 and 1, such as 0.05")
        if not math.isfinite(self.step) or self.step == 0:
            raise InputError(f"step={self.step!r}: give the offline change to predict from, such as 0.01")
        if abs(self.step) > LARGEST:
            raise InputError(f"step={self.step!r}: give a change of at most {LARGEST:g}; the columns are no larger")
        if not math.isfinite(self.above):
            raise InputError(f"above={self.above!r}: give the offline difference above which a change is shipped")
        for name, value, known in (("criterion", self.criterion, CRITERIA), ("labels", self.labels, LABELS)):
            if value not in known:
                raise InputError(f"{name}={value!r} is not known; expected {choices(known)}")


@dataclass(frozen=True, eq=False)
class Choice:
    """Which offline column is best, by nested leave-one-out.

    For each unit in turn the column was chosen on all the others; `chosen` says how often each was, `held_out` how
    often the one chosen had the sign of the unit left out. `best` is the choice on all units, and `flattered` how
    often that one has their sign: what a choice on the same units that it is judged by would claim.
    """

    by: str
    chosen: dict[str, int]
    held_out: Share
    best: str
    flattered: Share
    column: list[str]

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        shares = {"held_out": self.held_out, "flattered": self.flattered}
        ends = {name: share.to_dict() for name, share in shares.items()}
        return {"by": self.by, "best": self.best, "chosen": self.chosen, **ends, "chosen_without_each": self.column}


@dataclass(frozen=True, eq=False, repr=False)
class Alignment(Shown):
    """Offline vs. online: a `Tracked` for each offline column, the first of which pictures and words are about.

    `reliability` is the share of the online variance that is more than noise (None without standard errors); `choice`
    is None where there is one offline column.
    """

    shown_by: ClassVar[str] = "online"
    title = "Offline beside online"

    units: Units
    settings: Settings
    tracked: list[Tracked]
    reliability: float | None
    choice: Choice | None

    @property
    def first(self) -> Tracked:
        """The offline column that comes first."""
        return self.tracked[0]

    @cached_property
    def warnings(self) -> list[Doubt]:
        """What to be careful about."""
        return doubts(self)

    def __getitem__(self, name: str) -> Tracked:
        for each in self.tracked:
            if each.name == name:
                return each
        raise InputError(unknown(f"there is no offline column {name!r}", name, self.units.offline))

    def rows(self) -> list[dict[str, Any]]:
        """Each unit with its differences, and Pearson's r and the slope of the first offline column without it."""
        units, first = self.units, self.first
        columns: dict[str, Any] = {"query_id" if units.kind == "queries" else units.one: units.names}
        columns |= {f"offline: {name}": values.tolist() for name, values in units.offline.items()}
        columns["online"] = units.online.tolist()
        extra = {"standard_error": units.error, "weight": units.weight, "shipped": units.shipped}
        columns |= {name: values.tolist() for name, values in extra.items() if values is not None}
        columns |= {"pearson_without": first.without.tolist(), "slope_without": first.slope_without.tolist()}
        columns |= {} if self.choice is None else {"chosen_without": self.choice.column}
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def data(self, *, per_unit: bool = False) -> Any:
        """Everything that JSON holds; or the units alone."""
        if per_unit:
            return self.rows()
        return {
            "source": self.units.source,
            "unit": self.units.kind,
            "number": len(self.units),
            "online": self.units.online_name,
            "offline": list(self.units.offline),
            "alpha": self.settings.alpha,
            "step": self.settings.step,
            "ship_above": self.settings.above,
            "labels": self.settings.labels,
            "online_reliability": self.reliability,
            "tracked": [each.to_dict() for each in self.tracked],
            "choice": None if self.choice is None else self.choice.to_dict(),
            "warnings": self.warnings,
            "units": self.rows(),
        }


def align(
    table: Any,
    offline: str | Sequence[str] | None = None,
    online: str | None = None,
    *,
    se: str | None = None,
    offline_se: str | None = None,
    weight: str | None = None,
    name: str | None = None,
    shipped: str | None = None,
    unit: Literal["experiments", "queries"] | None = None,
    step: float = 0.01,
    above: float = 0.0,
    criterion: CriterionName = "pearson",
    labels: Labels = "judgments",
    alpha: float = 0.05,
) -> Alignment:
    """How well offline differences go with online ones, over experiments or over queries.

    `table` is a file, a frame, a dict of columns or rows as dicts; the other names are those of its columns, where they
    are not recognised: offline differences (several to compare measures), the online difference, its standard error,
    that of the (first) offline one, traffic, the unit's name, whether it was shipped. `unit` is "experiments" or
    "queries". `step` is the offline change for which an online one is predicted; a change ships `above` this offline
    difference; `criterion` chooses the best of several offline columns; `labels` says where grades come from.

    >>> made = {"delta_nDCG@10": [0.02, -0.01, 0.03, 0.0, 0.01], "delta_ctr": [0.4, -0.3, 0.5, 0.1, 0.1]}
    >>> round(align(made).first.pearson.value, 4)
    0.9596
    """
    chosen = Settings(step, above, criterion, labels, alpha)
    columns = {"offline": offline, "online": online, "se": se, "offline_se": offline_se}
    units = read_units(table, {**columns, "weight": weight, "name": name, "shipped": shipped}, unit)
    if len(units) > SLOW and len(units.offline) > 1 and chosen.criterion not in QUICK:
        raise InputError(
            f"criterion={chosen.criterion!r} starts anew for every one of {len(units):,} {units.kind}; "
            f"beyond {SLOW:,} choose by {' or '.join(QUICK)} (--criterion)"
        )
    every = [tracked(units, column, chosen) for column in units.offline]
    share = None if units.error is None else reliability(units.online, units.error)
    choice = _choice(units, every, chosen) if len(every) > 1 else None
    return Alignment(units, chosen, every, share, choice)


def _choice(units: Units, columns: list[Tracked], settings: Settings) -> Choice:
    names = list(units.offline)
    chosen, agrees = nested(np.stack(list(units.offline.values())), units.online, settings.criterion)
    column = [names[at] for at in chosen.tolist()]
    counted = agrees[~np.isnan(agrees)]
    scores = [CRITERIA[settings.criterion].whole(x, units.online) for x in units.offline.values()]
    best = names[int(first_of_best(np.array(scores)))]  # when no unit is left out
    return Choice(
        settings.criterion,
        {name: column.count(name) for name in names},
        wilson(float(counted.sum()), len(counted), settings.alpha),
        best,
        next(each.signs["all"] for each in columns if each.name == best),
        column,
    )
