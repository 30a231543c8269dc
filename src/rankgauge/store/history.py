"""History: a measure over time, system by system, of the evaluations that were saved."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from rankgauge.errors import InputError, unknown
from rankgauge.measures import parse
from rankgauge.shown import Shown
from rankgauge.store.evaluations import Past, saved

if TYPE_CHECKING:
    from rankgauge.store.evaluations import Saved
    from rankgauge.store.labels import Labels
    from rankgauge.store.store import Store

__all__ = ["Entry", "History", "history"]

USUAL = "nDCG@10"


class Entry(NamedTuple):
    """An evaluation in a history.

    `change` is the difference from this system's evaluation before it, where both are of the same labels, rules and
    queries; `broken` names what is not the same. `stale` is what has changed since this evaluation was saved.
    """

    evaluation: int
    system: str
    run: str  # its address
    at: str
    value: float | None
    change: float | None
    queries: int
    broken: tuple[str, ...]
    stale: tuple[str, ...]
    version: str


@dataclass(frozen=True, eq=False, repr=False)
class History(Shown):
    """A measure over time: the entries of every system, in the order in which they were saved."""

    shown_by: ClassVar[str] = "history"

    measure: str
    entries: tuple[Entry, ...]

    @property
    def title(self) -> str:
        """What is followed, of whom."""
        return f"{self.measure} over time: {', '.join(self.systems)}"

    @property
    def systems(self) -> dict[str, list[Entry]]:
        """System → its entries."""
        found: dict[str, list[Entry]] = {}
        for entry in self.entries:
            found.setdefault(entry.system, []).append(entry)
        return found

    @property
    def lines(self) -> dict[str, list[list[Entry]]]:
        """System → its entries, in parts within which values can be compared."""
        found: dict[str, list[list[Entry]]] = {}
        for entry in self.entries:
            parts = found.setdefault(entry.system, [])
            if entry.broken or not parts:
                parts.append([])
            parts[-1].append(entry)
        return found

    @property
    def compared(self) -> str:
        """The last two runs that can be compared, as the command line takes them."""
        for parts in self.lines.values():
            runs = list(dict.fromkeys(entry.run for entry in parts[-1]))
            if len(runs) > 1:
                return " ".join(runs[-2:])
        return "@SYSTEM:RUN @SYSTEM:RUN"

    def data(self) -> dict[str, Any]:
        """What JSON holds."""
        return {"measure": self.measure, "evaluations": [entry._asdict() for entry in self.entries]}


def history(store: Store, rule: Labels, measure: str | None = None, systems: Collection[str] = ()) -> History:
    """The history of a measure (nDCG@10, or else the first that was saved), of some systems or of all."""
    every = saved(store)
    if not every:
        raise InputError("no evaluation was saved yet; rankgauge eval @labels @SYSTEM --save")
    there = {each.system for each in every}
    for system in systems:
        if system not in there:
            raise InputError(unknown(f"no evaluation of {system!r} was saved", system, sorted(there)))
    wanted = [each for each in every if not systems or each.system in systems]
    name = _measure(wanted, measure)
    return History(name, tuple(_entries([each for each in wanted if name in each.means], name, Past(store, rule))))


def _measure(evaluations: Iterable[Saved], asked: str | None) -> str:
    known = dict.fromkeys(measure for each in evaluations for measure in each.means)
    name = str(parse(asked)) if asked is not None else USUAL if USUAL in known else next(iter(known))
    if name not in known:
        raise InputError(unknown(f"no value of {name} was saved", name, known, f"there are {', '.join(known)}"))
    return name


def _entries(evaluations: Iterable[Saved], measure: str, past: Past) -> Iterable[Entry]:
    before: dict[str, Saved] = {}
    for each in evaluations:
        last, value = before.get(each.system), each.means[measure]
        broken = past.between(last, each) if last is not None else []
        old = last.means[measure] if last is not None and not broken else None
        yield Entry(
            each.number,
            each.system,
            f"@{each.system}:{each.run}",
            each.at,
            value,
            value - old if value is not None and old is not None else None,
            len(each.queries),
            tuple(broken),
            tuple(past.stale(each)),
            each.version,
        )
        before[each.system] = each
