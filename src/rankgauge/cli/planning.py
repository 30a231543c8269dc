"""What `rankgauge plan` does once its options are parsed: read the pilot, plan, deliver."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from rankgauge.cli.inputs import Inputs
from rankgauge.comparison.plan.pilot import Deviation, deviation_of
from rankgauge.comparison.plan.plan import Plan, Setting, plan
from rankgauge.comparison.value_tables import values_of_tables
from rankgauge.comparison.values import Values, values_of_results
from rankgauge.errors import InputError
from rankgauge.measures import parse
from rankgauge.show.formats import FORMATS, SUFFIXES, render
from rankgauge.writers.write import opened

if TYPE_CHECKING:
    from rankgauge.cli.inputs import Reading
    from rankgauge.protocol import Protocol

__all__ = ["deliver", "deviation_from", "planned"]

DEFAULT = "nDCG@10"


def deviation_from(
    files: tuple[str, ...],
    pilot: str | None,
    deviation: float | None,
    measure: str | None,
    protocol: Protocol,
    reading: Reading,
) -> Deviation:
    """The deviation that was given, or that of the pilot."""
    if [bool(files), pilot is not None, deviation is not None].count(True) != 1:
        raise click.UsageError("give one of these: --deviation S, --pilot FILE, or QRELS and two runs or more")
    if deviation is not None:
        return Deviation(deviation)
    if pilot is not None:
        return deviation_of(_pilot_values(pilot, measure, skip=protocol.missing == "skip"))
    if len(files) < 3:
        raise click.UsageError("a pilot is QRELS and two runs or more: how differences vary takes two systems")
    qrels, *runs = files
    evaluation = Inputs(reading, qrels, runs).evaluate([measure or DEFAULT], protocol)
    (values,) = values_of_results(evaluation).values()
    return deviation_of(values)


def _pilot_values(pilot: str, measure: str | None, *, skip: bool) -> Values:
    """Values of queries, from what `eval` saved or from a table."""
    found = values_of_tables([pilot], [str(parse(measure))] if measure else None, skip=skip)
    if len(found) > 1 and DEFAULT not in found:
        raise InputError(f"{pilot} has {', '.join(found)}; say which with -m")
    return found.get(DEFAULT) or next(iter(found.values()))


def planned(deviation: Deviation, *, differences: Any, margins: Any, widths: Any, numbers: Any, **setting: Any) -> Plan:
    """The plan that the options ask for."""
    return plan(
        deviation,
        differences=differences,
        margins=margins,
        widths=widths,
        queries=numbers,
        setting=Setting(**setting),
    )


def deliver(found: Plan, format: str | None, output: str) -> None:
    """Print, or write what the suffix of the file says."""
    suffix = os.path.splitext(output)[1].lower()
    if FORMATS[SUFFIXES.get(suffix, "table")].picture and format is not None:
        raise click.UsageError(f"--format is for text; {output} is to be a picture")
    made = render(found.page(), format or SUFFIXES.get(suffix, "table"))
    with opened(output) as stream:
        stream.write(made if isinstance(made, bytes) else made.encode())
