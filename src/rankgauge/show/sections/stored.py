"""What a store holds, and whose labels there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from rankgauge.errors import counted
from rankgauge.show.model import Bullets, Column, Notes, Section, Table, Text

if TYPE_CHECKING:
    from rankgauge.raters.audit import Audit
    from rankgauge.store.status import JudgeCounts, LabelCounts, OtherSettings, Status

__all__ = ["audit_sections", "label_sections", "other_sections", "status_sections"]

# Table → what its rows are called.
WORDS: Final = {
    "query": "queries",
    "document": "documents",
    "pair": "pairs to judge",
    "system": "systems",
    "run": "runs",
    "judge": "judges",
    "judgment": "judgments",
    "trial": "answers to tricks",  # where there are some
    "evaluation": "evaluations",
}
FEW: Final = 8  # grades, up to which each has a column


def status_sections(status: Status) -> Iterator[Section]:
    """Where it is, how large, and what is in it; then what is open, stale or held, and how good judges are."""
    blocks: list[Any] = [Text(f"{status.where}: {status.engine}, {_size(status.bytes)}.", "lead")]
    rows = [[words, status.tables[name]] for name, words in WORDS.items() if name in status.tables]
    blocks += [Table("stored", "What is stored", [Column("what"), Column("number", "count")], rows)]
    listed = {
        "Open runs": status.open,
        "Stale evaluations": status.stale,
        "In use": status.held,
        "Judges": status.checks,
    }
    blocks += [Bullets(items, title=title) for title, items in listed.items() if items]
    yield Section("status", "Store", blocks)


def _size(number: float) -> str:
    """A number of bytes for people."""
    for unit in ("bytes", "kB", "MB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} GB"


def audit_sections(audit: Audit) -> Iterator[Section]:
    """How many changes there are, and the latest of them."""
    number = counted(audit.number, "change")
    more = f"; the last {len(audit.changes):,}, the newest first" if audit.number > len(audit.changes) else ""
    blocks: list[Any] = [Text(f"{number}{more}." if audit.number else "Nothing has been changed yet.", "lead")]
    columns = [Column("when", key="at"), Column("who"), Column("what"), Column("detail"), Column("address", aside=True)]
    rows = [[each.at[:19].replace("T", " "), *each[1:]] for each in audit.changes]
    blocks += [Table("audit", "Changes", columns, rows)] if rows else []
    yield Section("audit", "Audit", blocks)


def label_sections(counts: LabelCounts) -> Iterator[Section]:
    """How many pairs have a grade, by which rule; then judge by judge."""
    pairs, queries = counted(counts.graded, "pair"), counted(counts.queries, "query", "queries")
    lead = f"{pairs} of {queries} {'has' if counts.graded == 1 else 'have'} a grade: {counts.rule}."
    yield Section("labels", "Labels", [Text(lead, "lead"), _table(counts), Notes([*_notes(counts)])])


def _table(counts: LabelCounts) -> Table:
    scale = sorted({grade for judge in counts.judges for grade in judge.grades})
    states = list(dict.fromkeys(state for judge in counts.judges for state in judge.states))
    shown = scale if len(scale) <= FEW else []
    columns = [
        Column("judge"),
        Column("kind", aside=True),
        Column("labels", "count"),
        Column("pairs", "count", key="graded"),
    ]
    columns += [Column(f"{grade:g}", "count", key=f"grade_{grade:g}") for grade in shown]
    columns += [Column(state, "count") for state in states]
    columns += [Column("conflicting", "count")] if any(judge.conflicting for judge in counts.judges) else []
    columns += [Column("outdated", "count")] if counts.outdated else []
    rows = [
        _row(judge, [each.key.removeprefix("grade_") or each.head for each in columns], shown)
        for judge in counts.judges
    ]
    return Table("judges", "Labels by judge", columns, rows)


def _row(judge: JudgeCounts, heads: list[str], scale: list[float]) -> list[Any]:
    known: dict[str, Any] = judge._asdict() | {f"{grade:g}": judge.grades.get(grade, 0) for grade in scale}
    return [known.get(head, judge.states.get(head, 0)) for head in heads]


def other_sections(found: OtherSettings) -> Iterator[Section]:
    """How many there are, under which settings, then label by label."""
    of = f"{len(found.labels):,} of {counted(found.total, 'label')} of {found.judge} in force"
    lead = f"{of} {'is' if len(found.labels) == 1 else 'are'} of another setting than rankgauge.toml's"
    kinds = Counter(setting for *_, setting in found.labels)
    listed = "; ".join(f"{setting} ({count:,})" for setting, count in kinds.most_common())
    blocks: list[Any] = [Text(f"{lead}{': ' * bool(listed)}{listed}.", "lead")]
    columns = [Column("query"), Column("document"), Column("grade"), Column("setting")]
    blocks += [Table("labels", "Labels", columns, [[*row] for row in found.labels])] if found.labels else []
    yield Section("other-settings", "Other settings", blocks)


def _notes(counts: LabelCounts) -> Iterator[str]:
    if counts.several:
        differ = f"{counts.conflicting:,} of them differ" if counts.conflicting != 1 else "1 of them differs"
        yield f"{counted(counts.several, 'pair has', 'pairs have')} several labels, and {differ}."
    if counts.outdated:
        pairs = counted(counts.outdated, "pair was", "pairs were")
        yield f"{pairs} judged before the document's text changed; --fresh leaves them out."
    yield from (f"Caution: {doubt.text} ({doubt.code})." for doubt in counts.doubts)
