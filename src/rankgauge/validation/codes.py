"""The findings that `validate` knows: one table, from which help, documentation and tests are built.

A finding in the making is a draft, whose examples name rows; lines are looked up for all of them at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from rankgauge.shown import Shown

if TYPE_CHECKING:
    from rankgauge.dtypes import Ints
    from rankgauge.validation.table import Table

__all__ = ["CODES", "EXAMPLES", "SEVERITIES", "Draft", "Example", "Finding", "Findings", "Kind", "about_queries"]
__all__ += ["finish"]

SEVERITIES: Final = ("error", "warning", "note")
EXAMPLES: Final = 3


class Kind(NamedTuple):
    """A kind of finding: how bad it is, what it is, and what to do about it."""

    severity: str
    title: str
    remedy: str


CODES: Final[dict[str, Kind]] = {
    "RG101": Kind("note", "a pair is judged twice with the same grade", "keep one line; it counts once either way"),
    "RG102": Kind("error", "a pair is judged twice with different grades", "decide which grade holds and keep one"),
    "RG103": Kind(
        "note", "a judged query has no relevant document", "it counts 0 for every system; --empty skip leaves it out"
    ),
    "RG104": Kind(
        "warning", "grades look inverted: 1 is rare and best", "turn the scale round before evaluating (best = highest)"
    ),
    "RG105": Kind(
        "warning", "grades have decimals, which trec_eval and ranx cut off", "use whole grades to compare with them"
    ),
    "RG201": Kind(
        "error", "a document is twice in one ranking", "mend the run, or choose with --duplicates first or best"
    ),
    "RG202": Kind(
        "warning", "the rank column contradicts the scores", "find out which is meant; --order rank takes the ranks"
    ),
    "RG203": Kind("note", "ranks start at 0", "harmless by score; tools that read ranks expect 1 first"),
    "RG204": Kind(
        "note", "documents repeat the score of another", "look with eval --tie-band; write more digits of the scores"
    ),
    "RG205": Kind(
        "note", "a ranking is much shorter than is usual in this run", "check that it was not cut off or timed out"
    ),
    "RG206": Kind(
        "warning", "a ranking has one score for all documents", "its order is only that of the ids; write real scores"
    ),
    "RG207": Kind(
        "warning", "scores look reversed: the worst come first", "negate the scores (distances, ranks as scores)"
    ),
    "RG208": Kind(
        "note", "a document has the id of its query", "drop it where queries are documents (BEIR does so for some sets)"
    ),
    "RG209": Kind(
        "note", "scores differ only beyond 32 bits", "--scores float32 gives the score of trec_eval 9 and pytrec_eval"
    ),
    "RG301": Kind("note", "a query of the run has no judgments", "nothing; it is left out"),
    "RG302": Kind(
        "warning", "a judged query has no results", "it counts 0; --missing skip leaves it out, as trec_eval without -c"
    ),
    "RG303": Kind("error", "ids would match if they were written alike", "write ids alike on both sides"),
    "RG401": Kind(
        "warning", "labels are of an older text of the document", "judge these pairs again; --fresh leaves them out"
    ),
    "RG402": Kind(
        "warning", "the run is not whole: queries lack an answer", "let the system answer them; they count as missing"
    ),
    "RG403": Kind(
        "warning",
        "labels are of a judge without a sufficient check against people",
        "check it: rankgauge judge --judge NAME --check @people",
    ),
    "RG404": Kind(
        "warning",
        "a judge and a judged system are of one model family",
        "models favour their own kind; let people or another model judge, too",
    ),
    "RG405": Kind("warning", "a judge gave one grade to every pair", "check its prompt and scale"),
    "RG406": Kind(
        "warning", "a judge agrees with people no better than chance", "change the prompt, or take another judge"
    ),
    "RG407": Kind("warning", "a judge's grades do not fit its scale", "check the scale in its prompt"),
    "RG408": Kind(
        "warning", "labels are of another setting of a judge, or of several models", "give each setting its own name"
    ),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something found: where, how often, examples with their lines, and what it does to the score."""

    code: str
    source: str
    count: int
    examples: list[str]
    effect: str = ""

    @property
    def kind(self) -> Kind:
        """Severity, title and remedy."""
        return CODES[self.code]

    def to_dict(self) -> dict[str, Any]:
        """Everything, for machines."""
        kind = self.kind
        data = {"code": self.code, "severity": kind.severity, "title": kind.title, "source": self.source}
        return data | {"count": self.count, "examples": self.examples, "effect": self.effect, "remedy": kind.remedy}


class Findings(Shown, list[Finding]):
    """Everything that was found, the worst first."""

    shown_by: ClassVar[str] = "findings"

    @property
    def title(self) -> str:
        """What this is."""
        return "Checks of the files"

    def rows(self) -> list[dict[str, Any]]:
        """Everything, a row for each finding."""
        return [finding.to_dict() for finding in self]

    def to_dict(self) -> dict[str, Any]:
        """Everything, for machines."""
        return {"findings": self.rows()}


# ---- in the making ---------------------------------------------------------------------------------------------------


class Example(NamedTuple):
    """A text about a row of a table, and the row that it repeats, if any."""

    text: str
    table: Table | None = None
    row: int = 0
    first: int | None = None

    @property
    def rows(self) -> list[int]:
        """The rows that it names."""
        return [self.row] if self.first is None else [self.row, self.first]

    def shown(self, numbers: dict[int, int]) -> str:
        """With the lines that the rows have."""
        if self.table is None:
            return self.text
        origin = self.table.places.origin
        before = "" if self.first is None else f" at {origin.short_place(numbers[self.first])}"
        return f"{origin.place(numbers[self.row])}: {self.text}{before}"


@dataclass(frozen=True, slots=True)
class Draft:
    """A finding whose examples are still rows."""

    code: str
    source: str
    count: int
    examples: list[Example]
    effect: str = ""

    def also(self, effect: str) -> Draft:
        """The same with one more thing that it does to the score."""
        return replace(self, effect="; ".join(filter(None, (self.effect, effect))))


def about_queries(code: str, table: Table, rows: Ints, effect: str = "") -> Draft:
    """A finding that counts queries: a row of each that shows it."""
    shown = [Example(f"query {table.query_of(row)}", table, row) for row in rows[:EXAMPLES].tolist()]
    return Draft(code, table.name, len(rows), shown, effect)


def finish(drafts: list[Draft]) -> list[Finding]:
    """The findings, with the lines of their examples."""
    wanted: dict[Table, set[int]] = {}
    for example in (example for draft in drafts for example in draft.examples):
        if example.table is not None:
            wanted.setdefault(example.table, set()).update(example.rows)
    numbers = {table: table.places.numbers(rows) for table, rows in wanted.items()}
    return [
        Finding(
            draft.code,
            draft.source,
            draft.count,
            [example.shown(numbers[example.table] if example.table else {}) for example in draft.examples],
            draft.effect,
        )
        for draft in drafts
    ]
