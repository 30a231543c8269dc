"""Judgments and runs → findings: what is wrong or odd in the files, before anyone believes a number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rankgauge.errors import InputError, MeasureError, counted, unknown
from rankgauge.measures import Measure, parse
from rankgauge.measures.bands.bands import is_text
from rankgauge.read import JudgmentsSource, RunSource
from rankgauge.validation.codes import CODES, SEVERITIES, Draft, Finding, Findings, Kind, finish

__all__ = ["CODES", "SEVERITIES", "Finding", "Findings", "Kind", "validate"]


def validate(
    judgments: Any,
    *runs: Any,
    measure: str | Measure = "nDCG@10",
    ignore: Iterable[str] = (),
    judgments_format: str | None = None,
    run_format: str | None = None,
    columns: Mapping[str, str] | None = None,
    names: Sequence[str] = (),
) -> Findings:
    """Everything that is wrong or odd in judgments and runs, the worst first.

    Effects are told in `measure`; `ignore` are codes of findings to leave out; `names` is what to call the runs.

    >>> [finding.code for finding in validate({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}})]
    ['RG206', 'RG204']
    """
    from rankgauge.validation.checks import check_judgments, check_run
    from rankgauge.validation.pairs import Pair, check_pair, effects
    from rankgauge.validation.table import read_table

    ignored = {_known(code) for code in ignore}
    measure = parse(measure) if isinstance(measure, str) else measure
    if is_text(measure):
        raise MeasureError(f"{measure} is a text for each query, in which no effect can be told; choose another")
    judged = read_table(JudgmentsSource.of(judgments, format=judgments_format, columns=columns))
    about_judgments, found = _without(ignored, check_judgments(judged)), []
    if names and len(names) != len(runs):
        raise InputError(
            f"expected a name for each run, got {counted(len(names), 'name')} for {counted(len(runs), 'run')}"
        )
    for number, source in enumerate(runs):
        run = read_table(RunSource.of(source, format=run_format, columns=columns))
        run = replace(run, name=names[number]) if names else run
        pair = Pair(judged, run, measure)
        if number == 0:
            about_judgments = list(effects(about_judgments, pair, run.name if len(runs) > 1 else ""))
        found += finish(list(effects(_without(ignored, [*check_run(run), *check_pair(pair)]), pair)))
    kept = [*finish(about_judgments), *found]
    return Findings(sorted(kept, key=lambda finding: SEVERITIES.index(finding.kind.severity)))


def _without(ignored: set[str], drafts: Iterable[Draft]) -> list[Draft]:
    """The findings that are wanted, so that no other's effect is measured."""
    return [draft for draft in drafts if draft.code not in ignored]


def _known(code: str) -> str:
    if code.upper() not in CODES:
        raise InputError(unknown(f"unknown code {code!r}", code, CODES))
    return code.upper()
