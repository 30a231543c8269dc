"""What people judged on a page of their own: the rows that `rankgauge judge-page` exports, of any number of judges."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import Connection, func, select

from rankgauge.errors import FormatError, choices, counted, warn
from rankgauge.read.cells import json_lines
from rankgauge.read.sources import find_source
from rankgauge.store import schema
from rankgauge.store.judgments import GRADED
from rankgauge.store.rows import parts
from rankgauge.store.store import Judge, Label, Store
from rankgauge.store.transfer.files import Judged
from rankgauge.store.transfer.parts import Asked, grade_in, id_in, said

__all__ = ["add_judged"]

GIVEN: Final = (GRADED, "unsure", "skipped")
PERSON: Final = "person"
TIME: Final = "milliseconds"


def add_judged(store: Store, path: str, asked: Asked) -> str:
    """Every row as a label of its judge; what a judge has judged later than a file says holds."""
    now = datetime.now(UTC)
    judges: dict[str, Judge] = {}
    given = [_label(item, f"{path}:{line}", now, judges) for line, item in json_lines(find_source(path))]
    early = sum(late for *_, late in given)
    if early:
        words = f"{path}: {counted(early, 'row has', 'rows have')} a time that is still to come: a clock was wrong"
        warn(f"{words}; taken as judged now")
    judged = sorted(((by, label) for by, label, _ in given), key=lambda each: each[1].at or "")

    def added(inside: Store) -> tuple[int, int]:
        known = inside.writer.write(lambda connection: _latest(connection, [*judges]))
        fresh = [each for each in judged if (each[1].at or "") >= known.get(_whose(each), "")]
        return inside.add_judgments(fresh, path), len(judged) - len(fresh)

    new, older = store.together(added)
    names = choices(sorted(judges)).replace(" or ", " and ") if judges else "nobody"
    grades = sum(label.grade is not None for _, label in judged)
    rest = len(judged) - new - older
    more = [f"{rest:,} stored before"] * bool(rest) + [f"{older:,} older than what is stored"] * bool(older)
    told = f"{counted(new, 'judgment')} of {names} from {path} ({counted(grades, 'grade')} in it)"
    return f"{told}; {', '.join(more)}" if more else told


def _label(item: Mapping[str, Any], place: str, now: datetime, judges: dict[str, Judge]) -> tuple[Judge, Label, bool]:
    """A row with its judge, and whether its time is still to come."""
    if item.get("state") not in GIVEN:
        raise FormatError(f"{place}: 'state' is {item.get('state')!r}; expected {choices(GIVEN)}")
    graded = item["state"] == GRADED
    if not graded and item.get("grade") is not None:
        raise FormatError(f"{place}: a row that is {item['state']!r} has the grade {item['grade']!r}; expected null")
    query, doc, key, name = (id_in(item, part, place) for part in ("query_id", "doc_id", "key", "judge"))
    at = _time(item.get("made"), place)
    label = Label(
        query,
        doc,
        grade_in(item, "grade", place) if graded else None,
        key,
        state=item["state"],
        reason=said(item.get("note")),
        milliseconds=_spent(item.get("ms"), place),
        at=min(at, now).isoformat(timespec=TIME),
    )
    return judges.setdefault(name, Judge(name, PERSON)), label, at > now


def _time(value: Any, place: str) -> datetime:
    """When a row was judged, in UTC."""
    try:
        made = datetime.fromisoformat(value) if isinstance(value, str) else None
        if made is not None:
            return made.replace(tzinfo=made.tzinfo or UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise FormatError(f"{place}: 'made' is {value!r}; expected a time, such as 2026-11-17T09:30:00.000Z")


def _spent(value: Any, place: str) -> float | None:
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12):
        return None if value is None else float(value)
    raise FormatError(f"{place}: 'ms' is {value!r}; expected milliseconds")


def _whose(judged: Judged) -> tuple[str, str, str]:
    by, label = judged
    return by.name, label.query_id, label.doc_id


def _latest(connection: Connection, judges: Collection[str]) -> dict[tuple[str, str, str], str]:
    """Judge, query and document → when they were last judged, as far as it is stored."""
    table, judge = schema.judgment.c, schema.judge.c
    asked = select(judge.name, table.query_id, table.doc_id, func.max(table.at))
    asked = asked.join(schema.judge, judge.judge_id == table.judge_id).where(table.repeat == 0, table.ruling == 0)
    found: dict[tuple[str, str, str], str] = {}
    for part in parts([*judges]):
        rows = connection.execute(asked.where(judge.name.in_(part)).group_by(judge.name, table.query_id, table.doc_id))
        found |= {(name, query, doc): at for name, query, doc, at in rows}
    return found
