"""Any source → Judgments, Run.

A source is a path (`-` is standard input), a frame, a dict of dicts or an iterable of rows. What it is, is recognised
by its type, its suffix or its content; `format=` and `columns=` say it where that does not do.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from rankgauge.errors import InputError, ProtocolError, choices
from rankgauge.protocol import RULES
from rankgauge.read.formats import FORMATS, format_named, recognise
from rankgauge.read.frames import is_frame, read_frame
from rankgauge.read.memory import read_iterable, read_mapping
from rankgauge.read.records import Columns, Judgments, Record, Run
from rankgauge.read.rows import Ask, Found
from rankgauge.read.sources import Source, find_source

__all__ = ["FORMATS", "Columns", "Judgments", "Record", "Run", "find_rows", "read_judgments", "read_run"]

ORDERS = ("score", "rank")


def read_judgments(
    source: Any, *, format: str | None = None, columns: Mapping[str, str] | None = None, repeated: bool = False
) -> Judgments:
    """Judgments from a path, a frame, a dict of dicts or rows of (query, document, grade).

    Two grades for one pair are an error, unless `repeated` asks for every row as it is.

    >>> read_judgments({"q1": {"d1": 2, "d2": 0}})
    Judgments(2 rows, 1 query, from judgments)
    """
    if isinstance(source, Judgments):
        return source
    found, name = find_rows(source, Ask("judgments", columns, duplicates="each" if repeated else "error"), format)
    return Judgments(found.rows, source=name, explain=found.explain)


def read_run(
    source: Any,
    *,
    format: str | None = None,
    columns: Mapping[str, str] | None = None,
    by: str = "score",
    duplicates: str = "error",
    tag: str | None = None,
) -> Run:
    """A run from a path, a frame, a dict of dicts or rows of (query, document, score).

    `by="rank"` takes the rank column for the order. A document twice in one ranking is an error, unless `duplicates`
    says which to keep: "first" or "best".
    """
    _check("by", by, ORDERS)
    _check("duplicates", duplicates, RULES["duplicates"])
    if isinstance(source, Run):
        return _same_order(source, by)
    found, name = find_rows(source, Ask("run", columns, by, duplicates), format)
    run = Run(found.rows, by=found.by, tag=found.tag if tag is None else tag, source=name, explain=found.explain)
    run.has_scores, run.head, run.whole_head = found.has_scores, found.head, found.whole_head
    return run


def find_rows(source: Any, ask: Ask, format: str | None) -> tuple[Found, str]:
    """What was found, and the name that messages give it."""
    if isinstance(source, (str, os.PathLike, Source)):
        file = source if isinstance(source, Source) else find_source(source)
        return format_named(format or recognise(file, ask.kind, ask.columns)).read(file, ask), file.name
    if format is not None:
        raise InputError(f"format={format!r} is for files; this source is a {type(source).__name__} in memory")
    if isinstance(source, Record):
        raise InputError(f"expected {ask.kind}, got a {type(source).__name__}; are judgments and run swapped?")
    if is_frame(source):
        return read_frame(source, ask), ""
    if isinstance(source, Mapping):
        return read_mapping(source, ask), ""
    if isinstance(source, Iterable) and not isinstance(source, (bytes, bytearray)):
        return read_iterable(source, ask), ""
    raise InputError(
        f"{ask.kind} cannot be read from {type(source).__name__}; expected a path, a frame, a dict of dicts or rows"
    )


def _same_order(run: Run, by: str) -> Run:
    if run.by != by and run.has_scores:
        raise InputError(f"{run.source}: was read by {run.by} and is asked for by {by}; read it again with by={by!r}")
    return run


def _check(name: str, value: str, allowed: Iterable[str]) -> None:
    if value not in allowed:
        raise ProtocolError(f"{name}={value!r} is not a rule; expected {choices(allowed)}")
