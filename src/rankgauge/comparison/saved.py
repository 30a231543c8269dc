"""What `eval --per-query --format json` saved: values of queries, with the judgments and rules that they rest on."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import FormatError, InputError, MeasureError, unknown
from rankgauge.measures import parse
from rankgauge.result import Evaluation, Result

if TYPE_CHECKING:
    from rankgauge.read.readers import RunSource
    from rankgauge.read.sources import Source

__all__ = ["MAKE", "Saved", "one_run", "read_saved"]

MAKE: Final = "rankgauge eval QRELS RUN -m {measures} --per-query --format json -o {file}"


@dataclass(frozen=True, eq=False)
class Saved:
    """The values of one run, as they are in a file."""

    name: str
    values: dict[str, dict[str, float]]  # measure → query → value
    fingerprints: dict[str, Any]
    protocol: dict[str, Any]
    definitions: dict[str, str]
    fingerprint: str = ""
    source: str = ""
    history: list[dict[str, Any]] = field(default_factory=list)  # of a baseline: what it replaced, oldest first
    first: dict[str, dict[str, float]] | None = None  # of a baseline: the values of the first one
    result: Result | None = None  # that the values are of, where they are not from a file
    run: RunSource | None = None  # that they are of, where its rankings are there

    @classmethod
    def of(cls, result: Result, run: RunSource | None = None) -> Saved:
        """What would be saved of a result."""
        return replace(_saved(Evaluation.of([result]).to_dict(), "")[0], result=result, run=run)

    @property
    def title(self) -> str:
        """What to call it: its file, or its run."""
        return self.source or self.name

    def as_first(self) -> Saved:
        """The first baseline that this one descends from; itself, if it replaced none."""
        return replace(self, values=self.first, first=None, history=[], source="") if self.first else self

    def only(self, queries: Iterable[str]) -> Saved:
        """The values of these queries alone."""
        known = set(queries)

        def within(tables: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
            return {
                measure: {query: value for query, value in table.items() if query in known}
                for measure, table in tables.items()
            }

        return replace(self, values=within(self.values), first=None if self.first is None else within(self.first))

    def of_measure(self, measure: str) -> dict[str, float]:
        """Query → value of a measure, whichever way it is spelt."""
        wanted = str(parse(measure))
        if wanted not in self.values:
            where = self.source or self.name
            raise MeasureError(
                f"{where} has no values of {wanted}; it has {', '.join(self.values)}. "
                f"Evaluate the run again: {MAKE.format(measures=wanted, file=where)}"
            )
        return self.values[wanted]

    def found_something(self, measure: str, queries: Collection[str]) -> bool:
        """Whether a judged document was returned for any of these queries; of values alone, whether one is not 0."""
        if self.result is None:
            return any(self.of_measure(measure)[query] for query in queries)
        hits = self.result.hits
        return not {hits.queries[at] for at in set(hits.query.tolist())}.isdisjoint(queries)

    def mean(self, measure: str) -> float:
        """The mean over the queries that count."""
        values = self.of_measure(measure).values()
        return math.fsum(values) / len(values) if values else math.nan


# ---- reading --------------------------------------------------------------------------------------------------------


def read_saved(file: Source) -> list[Saved] | None:
    """Every run in a file of `eval --per-query --format json`; None if the file is something else, such as a run."""
    if file.parts or file.address or not file.head().lstrip().startswith(b"{"):
        return None
    with file.open_text() as stream:
        try:
            data = json.load(stream)
        except (ValueError, RecursionError):  # no JSON, or nested beyond all sense
            return None
    if not isinstance(data, dict) or not isinstance(data.get("runs"), list) or "protocol" not in data:
        return None
    if not data["runs"]:
        raise FormatError(f"{file.name}: holds no runs; make it again: {_made(file.name)}")
    return _saved(data, file.name)


def _made(file: str) -> str:
    return MAKE.format(measures="nDCG@10", file=file)


def _is_number(value: Any) -> bool:
    """Whether it is a number that a measure can have."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _is_table(value: Any, fits: Callable[[Any], bool]) -> bool:
    return isinstance(value, dict) and all(map(fits, value.values()))


def _is_history(value: Any) -> bool:
    """What was replaced: a list of tables, each with its means."""
    return isinstance(value, list) and all(
        isinstance(entry, dict) and isinstance(entry.get("measures"), dict) for entry in value
    )


def _is_texts(value: Any) -> bool:
    return _is_table(value, lambda text: isinstance(text, str))


def _is_values(value: Any) -> bool:
    return _is_table(value, lambda queries: _is_table(queries, _is_number))


# Part of the file → what it must be, in words and as a test.
PARTS: Final[dict[str, tuple[str, Callable[[Any], bool]]]] = {
    "protocol": ("a table of rules", lambda value: isinstance(value, dict)),
    "definitions": ("a table of measures and texts", _is_texts),
    "history": ("a list of what was replaced, with its measures", _is_history),
    "first": ("a table of measures, queries and values", _is_values),
}


def _saved(data: dict[str, Any], source: str) -> list[Saved]:
    values = [_by_measure(run, source) for run in data["runs"]]
    prints = data.get("fingerprints")
    if not isinstance(prints, dict) or not prints.get("protocol") or "judgments" not in prints:
        raise FormatError(f"{source}: does not say on which judgments it rests; make it again: {_made(source)}")
    for part, (words, fits) in PARTS.items():
        if part in data and not fits(data[part]):
            raise FormatError(f"{source}: its {part} is not {words}; make it again: {_made(source)}")
    return [
        Saved(
            str(run.get("run", source)),
            own,
            prints,
            data["protocol"],
            data.get("definitions", {}),
            str(run.get("fingerprint", "")),
            source,
            data.get("history", []),
            data.get("first"),
        )
        for run, own in zip(data["runs"], values, strict=True)
    ]


def _by_measure(run: Any, source: str) -> dict[str, dict[str, float]]:
    """Query → measure → value, turned over and checked."""
    if not isinstance(run, dict) or not isinstance(run.get("per_query"), dict):
        raise FormatError(f"{source}: has no values of queries; save them with --per-query: {_made(source)}")
    if not isinstance(run.get("measures", {}), dict):
        raise FormatError(f"{source}: its measures are not a table; make it again: {_made(source)}")
    result: dict[str, dict[str, float]] = {str(name): {} for name in run.get("measures", {})}
    for query, values in run["per_query"].items():
        if not isinstance(values, dict):
            raise FormatError(f"{source}: query {query} has no table of measures and values, but {values!r}")
        for measure, value in values.items():
            if isinstance(value, dict) and "low" in value:
                raise FormatError(
                    f"{source}: {measure} of query {query} is a band and no number: the dialect's tool does not define "
                    "the order of equal scores; evaluate without the dialect, or with one that defines it"
                )
            if not _is_number(value):
                raise FormatError(f"{source}: {measure} of query {query} is not a number: {value!r}")
            result.setdefault(measure, {})[query] = float(value)
    return result


def one_run(found: list[Saved], name: str | None, source: str) -> Saved:
    """The one run of a file, or the one of this name."""
    if name is None and len(found) == 1:
        return found[0]
    names = [each.name for each in found]
    if name is None:
        raise InputError(f"{source} holds {len(found)} runs; say which: {names[0]}={source}")
    if name not in names:
        raise InputError(unknown(f"{source} has no run {name!r}", name, names))
    return found[names.index(name)]
