"""Baselines: a run or saved values, read; the candidate's values, saved in their place with what they replaced."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from rankgauge.comparison.saved import MAKE, Saved, one_run, read_saved
from rankgauge.comparison.value_tables import values_of_tables
from rankgauge.comparison.values import Values, comparable, one_definition
from rankgauge.errors import InputError, MeasureError, ProtocolError
from rankgauge.evaluate import evaluate
from rankgauge.protocol import Protocol
from rankgauge.read.named import named_one
from rankgauge.read.readers import RunSource
from rankgauge.read.sources import Source, find_source, may_be_parts
from rankgauge.result import Evaluation, Result
from rankgauge.sampling import NO_SAMPLE
from rankgauge.writers.files import opened

if TYPE_CHECKING:
    from rankgauge.comparison.gate.outcome import Check

__all__ = ["baseline_at", "read_baseline", "save_baseline", "saved_at", "saved_in", "values_of"]


def read_baseline(baseline: Any, judgments: Any, measures: Iterable[str], protocol: Protocol) -> Saved:
    """Saved values as they are; a run is evaluated."""
    if isinstance(baseline, Saved):
        return baseline
    if isinstance(baseline, Result):
        return Saved.of(baseline)
    found = saved_at(baseline)
    if found is not None:
        return found
    name, run = named_one(baseline)
    source = RunSource.of(run).kept()
    return Saved.of(evaluate(judgments, source, measures, protocol=protocol, sample=NO_SAMPLE, name=name), source)


def saved_at(baseline: Any) -> Saved | None:
    """The saved values in a file; None if it is something else."""
    is_path = isinstance(baseline, str) or hasattr(baseline, "__fspath__")
    return saved_in(baseline_at(os.fspath(baseline))) if is_path else None


def baseline_at(path: str) -> Source:
    """The file of a baseline; where there is none, how to make one."""
    if path != "-" and not os.path.exists(path) and not may_be_parts(path):
        made = MAKE.format(measures="nDCG@10", file=path)
        raise InputError(f"{path}: there is no such baseline; save one first: {made}")
    return find_source(path)


def saved_in(source: Source, name: str | None = None) -> Saved | None:
    """The saved values in a file (of the run of this name, where it holds several); None if it is something else."""
    found = read_saved(source)
    return one_run(found, name, source.name) if found is not None else None


def values_of(new: Saved, old: Saved, measure: str) -> Values:
    """The values of both, query by query; refused where they rest on different judgments, rules or definitions."""
    names = (new.name or "the candidate", old.title or "the baseline")
    systems = dict(
        zip(names if names[0] != names[1] else (names[0], f"{names[1]} (baseline)"), (new, old), strict=True)
    )
    _refuse_unlike(systems, old, measure)
    columns = {name: each.of_measure(measure) for name, each in systems.items()}
    return values_of_tables([columns], [measure], skip=True)[measure]


def _refuse_unlike(systems: dict[str, Saved], old: Saved, measure: str) -> None:
    again = f"re-evaluate the old run: {MAKE.format(measures=measure, file=old.source or 'FILE')}"
    known = {name: each.fingerprints | {"rules": Protocol.from_dict(each.protocol)} for name, each in systems.items()}
    try:
        comparable(known)
        one_definition(measure, {name: each.definitions.get(measure, "") for name, each in systems.items()})
    except (InputError, ProtocolError, MeasureError) as error:
        what = str(error).partition(" and cannot be compared")[0]
        raise type(error)(f"{what} and cannot be compared; {again}") from None


def save_baseline(found: Check, path: str) -> None:
    """Save the candidate as a baseline, with the history of the one that it was checked against."""
    data = Evaluation.of([found.candidate]).to_dict()
    old = found.old
    if old is not None:
        data |= {"history": old.history, "first": old.first or {}}
        if old.fingerprint != found.candidate.fingerprint:
            means = {measure: old.mean(measure) for measure in old.values if old.values[measure]}
            replaced = {"run": old.name, "fingerprint": old.fingerprint, "measures": means}
            # The first values there were of each measure: those of the old baseline for one that joined with it.
            first = {measure: values for measure, values in (old.values | data["first"]).items() if values}
            data |= {"history": [*old.history, replaced], "first": first}
    text = (json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()
    with opened(path) as stream:
        stream.write(text)
