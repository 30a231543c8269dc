"""Judgments and runs → findings: what is wrong or odd in the files, before anyone believes a number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rankgauge.errors import InputError
from rankgauge.measures import Measure, parse
from rankgauge.validate.codes import CODES, SEVERITIES, Finding, Kind
from rankgauge.validate.judged import check_judgments
from rankgauge.validate.pairs import check_pair, effects
from rankgauge.validate.ranked import check_run
from rankgauge.validate.table import read_table

__all__ = ["CODES", "SEVERITIES", "Finding", "Kind", "validate"]


def validate(
    judgments: Any,
    *runs: Any,
    measure: str | Measure = "nDCG@10",
    ignore: Iterable[str] = (),
    judgments_format: str | None = None,
    run_format: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> list[Finding]:
    """Everything that is wrong or odd in judgments and runs, the worst first.

    >>> [finding.code for finding in validate({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}})]
    ['RG206', 'RG204']
    """
    ignored = {_known(code) for code in ignore}
    measure = parse(measure) if isinstance(measure, str) else measure
    judged = read_table(judgments, "judgments", format=judgments_format, columns=_roles(columns, "relevance"))
    about_judgments, found = list(check_judgments(judged)), []
    for number, source in enumerate(runs):
        run = read_table(source, "run", format=run_format, columns=_roles(columns, "score", "rank"))
        if number == 0:
            about_judgments = effects(about_judgments, judged, run, measure)
        found += [*effects(list(check_run(run)), judged, run, measure), *check_pair(judged, run, measure)]
    kept = [finding for finding in [*about_judgments, *found] if finding.code not in ignored]
    return sorted(kept, key=lambda finding: SEVERITIES.index(finding.kind.severity))


def _known(code: str) -> str:
    if code.upper() not in CODES:
        raise InputError(f"unknown code {code!r}; there are {', '.join(CODES)}")
    return code.upper()


def _roles(columns: Mapping[str, str] | None, *numbers: str) -> dict[str, str] | None:
    return {role: name for role, name in (columns or {}).items() if role in ("query_id", "doc_id", *numbers)} or None
