"""What is wrong or odd in the files: each finding with its examples, its effect and its remedy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rankgauge.errors import counted
from rankgauge.show.model import Block, Bullets, Section, Table, Text
from rankgauge.validation.codes import SEVERITIES

if TYPE_CHECKING:
    from rankgauge.validation.codes import Finding, Findings

__all__ = ["sections"]

HEADS: Final = ("code", "severity", "title", "source", "count", "examples", "effect", "remedy")


def sections(findings: Findings) -> Iterator[Section]:
    """Every finding, the worst first, and how many there are."""
    rows = [row | {"examples": " · ".join(row["examples"])} for row in findings.rows()]
    table = Table.of_rows(rows, heads=HEADS)  # a program reads the heads where nothing was found
    blocks: list[Block] = [*map(_finding, findings), Text(_summary(findings)), table]
    yield Section("findings", "Checks of the files", blocks)


def _finding(finding: Finding) -> Bullets:
    kind = finding.kind
    effect = [f"effect: {finding.effect}"] if finding.effect else []
    title = f"{kind.severity} {finding.code} {finding.source}: {kind.title} ({finding.count:,})"
    return Bullets([*finding.examples, *effect, f"remedy: {kind.remedy}"], title=title)


def _summary(findings: Findings) -> str:
    """1 error, 2 warnings, 0 notes."""
    counts = Counter(finding.kind.severity for finding in findings)
    return ", ".join(counted(counts[severity], severity) for severity in SEVERITIES)
