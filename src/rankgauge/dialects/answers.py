"""What is shown of other tools: the list of them, what they say of the same files, which convention gives a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from rankgauge.dialects import Dialect
from rankgauge.dialects.reproduce import Candidate, Row, telling_query
from rankgauge.measures import Measure
from rankgauge.shown import Shown

__all__ = ["Conventions", "DialectList", "DialectValues"]


@dataclass(frozen=True, repr=False)
class DialectList(Shown):
    """The tools whose numbers can be reproduced."""

    shown_by: ClassVar[str] = "dialects"

    dialects: Sequence[Dialect]

    def data(self, **choices: Any) -> list[dict[str, Any]]:
        """How each tool is called, what it does otherwise, and where it is wrong."""
        return [
            {"dialect": each.name, "as called": each.called(), "checked": each.checked, "what differs": each.why}
            | {"defect": each.defect}
            for each in self.dialects
        ]


@dataclass(frozen=True, repr=False)
class DialectValues(Shown):
    """What other tools say of the same files."""

    shown_by: ClassVar[str] = "dialects"

    rows: Sequence[Row]

    def data(self, **choices: Any) -> list[dict[str, Any]]:
        """A row per tool."""
        names = ("dialect", "value", "difference", "low", "high", "reason")
        return [{name: getattr(row, name) for name in names} for row in self.rows]


@dataclass(frozen=True, repr=False)
class Conventions(Shown):
    """The conventions that give a number; `some`: only some dialects were tried."""

    shown_by: ClassVar[str] = "dialects"

    measure: Measure
    number: str
    candidates: Sequence[Candidate]
    some: bool = False

    @cached_property
    def query(self) -> str | None:
        """A query that tells them apart."""
        return telling_query(self.candidates) if len(self.candidates) > 1 else None

    def data(self, **choices: Any) -> list[dict[str, Any]]:
        """A row per convention."""
        rows = [{"convention": each.name, "changes": each.changes, "value": each.value} for each in self.candidates]
        if self.query is None:
            return rows
        ends = [each.ends(self.query) for each in self.candidates]
        known = [None if pair is None or pair[0] != pair[1] else pair[0] for pair in ends]
        return [row | {f"query {self.query}": value} for row, value in zip(rows, known, strict=True)]
