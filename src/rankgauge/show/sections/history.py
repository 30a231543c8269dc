"""A history: where every system stands, its values over time, and what broke the line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rankgauge.errors import counted
from rankgauge.show.model import Block, Bullets, Column, Notes, Section, Table, Text, chart_of

if TYPE_CHECKING:
    from rankgauge.store.history import Entry, History

__all__ = ["sections"]


def sections(history: History) -> Iterator[Section]:
    """The whole."""
    said = [_sentence(history.measure, entries) for entries in history.systems.values()]
    blocks: list[Block] = [Text(said[0], "lead")] if len(said) == 1 else [Bullets(said)]
    blocks += [chart_of("history", history), _table(history), Table.of_rows(map(_row, history.entries), "history")]
    yield Section("history", "History", [*blocks, Notes([*_notes(history)])])


def _sentence(measure: str, entries: list[Entry]) -> str:
    """Where a system stands, and how it came there."""
    last = entries[-1]
    value = "has no value" if last.value is None else f"is {last.value:.4f}"
    words = f"{measure} of {last.system} {value} ({when(last.at)})"
    if last.change is not None:
        size = f"{abs(last.change):.4f} {'more' if last.change > 0 else 'less'}" if last.change else "the same as"
        return f"{words}, {size}{' than' if last.change else ''} on {when(entries[-2].at)}."
    return (
        f"{words}; it cannot be compared with the one before: {', '.join(last.broken)}." if last.broken else f"{words}."
    )


def _table(history: History) -> Table:
    columns = [
        Column("run"),
        Column("when"),
        Column("queries", "count", aside=True),
        Column(history.measure, "number", key="value"),
        Column("change", "signed"),
        Column("remark"),
    ]
    rows = [[each.run, when(each.at), each.queries, each.value, each.change, _remark(each)] for each in history.entries]
    return Table("history", f"{history.measure} over time", columns, rows)


def _remark(entry: Entry) -> str:
    return "; ".join([*entry.broken, *(["stale"] if entry.stale else [])])


def _row(entry: Entry) -> dict[str, Any]:
    """An entry for programs."""
    return entry._asdict() | {"broken": "; ".join(entry.broken), "stale": "; ".join(entry.stale)}


def _notes(history: History) -> Iterator[str]:
    reasons: dict[str, list[Entry]] = {}
    for entry in history.entries:
        if entry.stale:
            reasons.setdefault(", ".join(entry.stale), []).append(entry)
    for reason, entries in reasons.items():
        named = ", ".join(dict.fromkeys(each.run for each in entries))
        yield f"Stale: {reason} since {counted(len(entries), 'evaluation')} ({named})."
    if any(each.broken for each in history.entries):
        yield "Values before and after such a change cannot be compared; evaluate both runs again."
    if any(each.change for each in history.entries):
        yield f"Whether a change is real: rankgauge compare @labels {history.compared}."


def when(at: str) -> str:
    """A time for people: 2026-11-16 16:42, in UTC."""
    return at[:16].replace("T", " ")
