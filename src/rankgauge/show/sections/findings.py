"""Findings → text: for people, for documents, for machines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from rankgauge.errors import counted
from rankgauge.show.grid import markdown_grid
from rankgauge.validation.codes import SEVERITIES, Finding

__all__ = ["FINDING_FORMATS", "findings_data", "show_findings"]


def show_findings(findings: list[Finding], format: str = "table") -> str:
    """The findings in one of the formats, ending in a newline."""
    return FINDING_FORMATS[format](findings)


def summary(findings: list[Finding]) -> str:
    """1 error, 2 warnings, 0 notes."""
    counts = Counter(finding.kind.severity for finding in findings)
    return ", ".join(counted(counts[severity], severity) for severity in SEVERITIES)


def _as_text(findings: list[Finding]) -> str:
    lines = []
    for finding in findings:
        kind = finding.kind
        lines.append(f"{kind.severity} {finding.code} {finding.source}: {kind.title} ({finding.count:,})")
        lines += [f"    {example}" for example in finding.examples]
        lines += [f"  effect: {finding.effect}"] if finding.effect else []
        lines.append(f"  remedy: {kind.remedy}")
    return "\n".join([*lines, summary(findings)]) + "\n"


def _as_markdown(findings: list[Finding]) -> str:
    heads = ["severity", "code", "source", "finding", "effect", "remedy", "first example", "count"]
    rows = [
        [f.kind.severity, f.code, f.source, f.kind.title, f.effect, f.kind.remedy, *f.examples[:1], f"{f.count:,}"]
        for f in findings
    ]
    return markdown_grid(heads, rows, left=len(heads) - 1)


def findings_data(findings: list[Finding]) -> list[dict[str, Any]]:
    """What the JSON holds, as a value."""
    return [
        {
            "code": finding.code,
            "severity": finding.kind.severity,
            "title": finding.kind.title,
            "source": finding.source,
            "count": finding.count,
            "examples": finding.examples,
            "effect": finding.effect,
            "remedy": finding.kind.remedy,
        }
        for finding in findings
    ]


def _as_json(findings: list[Finding]) -> str:
    return json.dumps({"findings": findings_data(findings)}, ensure_ascii=False, indent=1) + "\n"


FINDING_FORMATS: Final[dict[str, Callable[[list[Finding]], str]]] = {
    "table": _as_text,
    "json": _as_json,
    "markdown": _as_markdown,
}
