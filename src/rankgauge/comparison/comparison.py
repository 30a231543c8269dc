"""Comparison: what `compare` returns, and its form as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from dataclasses import fields as dataclass_fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from rankgauge.comparison.pairs import Pair
from rankgauge.comparison.settings import METHODS, Settings
from rankgauge.errors import Doubt, InputError, MeasureError
from rankgauge.measures import Measure, parse
from rankgauge.shown import Shown
from rankgauge.stats.estimate import Estimate

if TYPE_CHECKING:
    from rankgauge.comparison.values import Values
    from rankgauge.result import Evaluation
    from rankgauge.stats.inference import Interval

__all__ = ["ByMeasure", "Compared", "Comparison", "System"]


@dataclass(frozen=True, slots=True)
class System:
    """The mean of a system, with its interval; of how many systems it is better, worse, not significant."""

    mean: float
    interval: Interval
    better_than: int = 0
    worse_than: int = 0
    not_significant: int = 0


class QueryChange(NamedTuple):
    """A query: its value under the baseline and under a system, and the difference."""

    query_id: str
    baseline: float
    system: float
    difference: float


@dataclass(frozen=True, eq=False, slots=True)
class Compared:
    """One measure, on all queries or on a group of them: the systems, and every pair of them."""

    values: Values
    systems: dict[str, System]
    pairs: list[Pair]
    flips: int
    exact: bool
    groups: dict[str, Compared] = field(default_factory=dict)
    effective: float = float("nan")

    def pair(self, a: str, b: str) -> Pair:
        """The comparison of a with b; one that was made as b with a is turned round."""
        for each in self.pairs:
            if {each.a, each.b} == {a, b}:
                return each if each.a == a else each.turned()
        known = ", ".join(f"{each.a} − {each.b}" for each in self.pairs[:5])
        raise InputError(f"{a} − {b} was not compared; there are {known}{', …' * (len(self.pairs) > 5)}")

    def against(self, baseline: str) -> list[Pair]:
        """Every other system against this one."""
        pairs = [pair for pair in self.pairs if baseline in (pair.a, pair.b)]
        return [pair if pair.b == baseline else pair.turned() for pair in pairs]

    def changed(self, a: str, b: str, most: int) -> tuple[list[QueryChange], list[QueryChange]]:
        """The queries on which a lost most against b, and those on which it won most, the largest change first."""
        of_b, of_a = self.values.of(b).tolist(), self.values.of(a).tolist()
        changes = [QueryChange(*row, row[2] - row[1]) for row in zip(self.values.queries, of_b, of_a, strict=True)]
        changes.sort(key=lambda change: change.difference)
        lost = [change for change in changes[:most] if change.difference < 0]
        return lost, [change for change in changes[: -most - 1 : -1] if change.difference > 0]


Part = TypeVar("Part")


class ByMeasure(Mapping[str, Part]):
    """What maps each measure, however it is spelt, to what was found for it."""

    was: ClassVar[str]  # what was done with measures
    measures: dict[str, Part]

    def __getitem__(self, measure: str) -> Part:
        for name in (measure, *([str(parse(measure))] if measure not in self.measures else [])):
            if name in self.measures:
                return self.measures[name]
        raise MeasureError(f"{measure} was not {self.was}; there are {', '.join(self.measures)}")

    def __contains__(self, measure: object) -> bool:
        try:
            return isinstance(measure, (str, Measure)) and self[str(measure)] is not None
        except MeasureError:
            return False

    def get(self, measure: Any, default: Any = None) -> Any:
        """What was found for a measure, or the default if there is nothing."""
        return self[str(measure)] if measure in self else default

    def __iter__(self) -> Iterator[str]:
        return iter(self.measures)

    def __len__(self) -> int:
        return len(self.measures)

    @property
    def first(self) -> Part:
        """What was found for the first measure."""
        return next(iter(self.measures.values()))

    def rows(self) -> Iterator[dict[str, Any]]:
        """What was found, flat: every digit of it, measure by measure."""
        raise NotImplementedError

    __eq__ = object.__eq__
    __hash__ = object.__hash__


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Shown, ByMeasure[Compared]):
    """Systems compared on the same queries: `comparison["nDCG@10"].pair("a", "b").verdict`.

    A mapping from measure to what was found; `print(comparison)` is the table, `to_dict()` the JSON, `to_frame()` a row
    per pair. `warnings` says where not to trust it.
    """

    shown_by: ClassVar[str] = "comparison"
    was: ClassVar[str] = "compared"

    measures: dict[str, Compared]
    settings: Settings
    warnings: list[Doubt]
    evaluation: Evaluation | None = field(default=None, repr=False)  # what was compared, where it was measured here

    @property
    def title(self) -> str:
        """What was compared, of whom."""
        return f"{', '.join(self.measures)} of {', '.join(self.first.systems)}"

    @property
    def pairs(self) -> list[Pair]:
        """The pairs of the first measure."""
        return self.first.pairs

    @property
    def baseline(self) -> str:
        """The system that the others are compared with: the one asked for, or the first."""
        return self.settings.baseline or self.first.values.systems[0]

    def pair(self, a: str, b: str) -> Pair:
        """The comparison of a with b by the first measure."""
        return self.first.pair(a, b)

    @property
    def notes(self) -> list[str]:
        """What to know about the numbers that were compared, as `evaluate` says it; nothing of a table of values."""
        return self.evaluation.notes if self.evaluation is not None else []

    def data(self, **choices: Any) -> dict[str, Any]:
        """Everything that JSON holds."""
        used = set.intersection(*(set(each.values.queries) for each in self.measures.values()))
        dropped = {query: why for each in self.measures.values() for query, why in each.values.dropped.items()}
        first = self.first
        return {
            "protocol": first.values.protocol,
            "fingerprints": first.values.fingerprints,
            "queries": len(used),
            "dropped": len(dropped),
            "dropped_ids": dropped,
            "flips": {"number": first.flips, "exact": first.exact, "seed": self.settings.seed},
            "family": self.family,
            "baseline": self.settings.baseline,
            "alpha": self.settings.alpha,
            "measures": {measure: _compared_data(each) for measure, each in self.measures.items()},
            "warnings": self.warnings,
            "notes": self.notes,
        }

    @property
    def family(self) -> dict[str, Any]:
        """How the pairs were adjusted, what that controls, how many there are; groups × pairs are a family as well."""
        method, groups = self.settings.adjusting, self.first.groups
        pairs = sum(len(group.pairs) for group in groups.values())
        size = {"size": len(self.first.pairs)} | ({"size_of_groups": pairs} if groups else {})
        return {"method": method, "controls": METHODS[method], "decides": self.settings.method is not None, **size}

    def rows(self) -> Iterator[dict[str, Any]]:
        """One flat row per measure, group and pair, every digit of it."""
        for measure, whole in self.measures.items():
            for group, part in [("all", whole), *whole.groups.items()]:
                for pair in part.pairs:
                    row = {"measure": measure, "group": group, "a": pair.a, "b": pair.b, "queries": pair.queries}
                    row |= {"mean_a": part.systems[pair.a].mean, "mean_b": part.systems[pair.b].mean}
                    yield row | _flat(pair)


def _flat(pair: Pair) -> dict[str, Any]:
    """The pair with ends as columns, and what was asked for besides as columns of its own."""
    result: dict[str, Any] = {}
    for name, value in _pair_data(pair).items():
        if name in ("a", "b", "queries"):
            continue
        if isinstance(value, Estimate):
            result |= {name: value.value, f"{name}_low": value.low, f"{name}_high": value.high}
        elif name == "others":
            result |= {f"p_{method}": each["p"] for method, each in value.items()}
        elif name == "reading":
            result |= {f"{value['population']}_p": value["p"], f"{value['population']}_decision": value["decision"]}
            result |= {f"{value['population']}_{end}": getattr(value["difference"], end) for end in ("low", "high")}
        else:
            result[name] = value
    return result


def _compared_data(compared: Compared) -> dict[str, Any]:
    data: dict[str, Any] = {
        "queries": len(compared.values.queries),
        "effective_queries": compared.effective,
        "flips": {"number": compared.flips, "exact": compared.exact},
        "systems": {name: _with_ends(asdict(system)) for name, system in compared.systems.items()},
        "pairs": [_pair_data(pair) for pair in compared.pairs],
    }
    if compared.values.definition:
        data["definition"] = compared.values.definition
    if compared.groups:
        data["groups"] = {name: _compared_data(group) for name, group in compared.groups.items()}
    return data


ORDER = (
    *("a", "b", "difference", "relative", "p", "difference_simultaneous", "p_adjusted", "p_t"),
    *("d_z", "g_z", "wins", "ties", "losses", "detectable", "decision", "decided_by", "verdict"),
)
ENDS = {"mean": "interval", "difference": "interval", "relative": "relative_interval", "d_z": "d_z_interval"}


def _with_ends(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields, each value and its interval as one estimate."""
    estimates = {name: Estimate(fields[name], *fields[ends]) for name, ends in ENDS.items() if name in fields}
    return {name: estimates.get(name, each) for name, each in fields.items() if name not in ENDS.values()}


def _pair_data(pair: Pair) -> dict[str, Any]:
    """The pair's fields, the most important ones first, what was not asked for left out."""
    fields = _with_ends({each.name: getattr(pair, each.name) for each in dataclass_fields(pair)})
    fields |= {"verdict": pair.verdict, "difference_simultaneous": Estimate(pair.difference, *pair.simultaneous)}
    known = {*ORDER, "measure", "alpha", "simultaneous"}  # what is said of all pairs together
    if pair.reading is not None:
        other = pair.reading
        apart = Estimate(pair.difference, *other.interval)
        fields["reading"] = {
            "population": other.population,
            "difference": apart,
            "p": other.p,
            "decision": other.decision,
        }
    rest = {name: value for name, value in fields.items() if name not in known and value not in (None, {})}
    return {name: fields[name] for name in ORDER} | rest
