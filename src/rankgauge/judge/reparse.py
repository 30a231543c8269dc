"""Stored answers read again with the reader of today: nothing is asked, and what was read before stays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rankgauge.errors import InputError, unknown
from rankgauge.judge import stored
from rankgauge.judge.answers import READER, read_responses
from rankgauge.judge.prompt import Prompt
from rankgauge.judge.scale import Scale
from rankgauge.store.lease import Lease
from rankgauge.store.store import Judge

if TYPE_CHECKING:
    from rankgauge.store.project import Project
    from rankgauge.store.store import Store

__all__ = ["Changed", "Reread", "read_again"]


class Changed(NamedTuple):
    """An answer that is read otherwise than before: state and grade, then and now."""

    query_id: str
    doc_id: str
    repeat: int
    before: tuple[str, float | None]
    now: tuple[str, float | None]


@dataclass(frozen=True)
class Reread:
    """What the reader of today makes of the stored `answers` of a judge; `changed` are stored as new rows."""

    judge: str
    answers: int
    changed: tuple[Changed, ...]

    def data(self) -> dict[str, Any]:
        """What JSON holds."""
        rows = [each._asdict() | {"before": _outcome(each.before), "now": _outcome(each.now)} for each in self.changed]
        return {"judge": self.judge, "reader": READER, "answers": self.answers, "changed": rows}


def _outcome(read: tuple[str, float | None]) -> dict[str, Any]:
    return {"state": read[0], "grade": read[1]}


def read_again(project: Project, judge: str) -> Reread:
    """Read the stored answers of a judge again, each on the scale and for the prompt that it was asked with."""
    with project.store(write=True) as store, Lease(store, f"judge {judge}"):
        known = {row.judge: row.kind for row in store.labels()[0]}
        if judge not in known:
            tail = "" if known else "rankgauge judge asks one"
            raise InputError(unknown(f"nothing of judge {judge!r} is stored", judge, known, tail))
        read: dict[tuple[str, str], tuple[Prompt, Scale]] = {}
        changed, new, answers = [], [], 0
        for row in stored.raw_answers(store, judge):
            responses = _responses(row)
            if not responses:
                continue
            about = (row.settings["prompt"], row.settings["scale"])
            prompt, scale = read[about] = read.get(about) or _asked_with(store, *about)
            now, answers = read_responses(responses, scale, prompt), answers + 1
            if (now.state, now.grade) != (row.state, row.grade):
                changed.append(Changed(*row[:3], (row.state, row.grade), (now.state, now.grade)))
                new.append((Judge(judge, known[judge], row.settings), row.label_again(now, READER)))
        store.add_judgments(new, judge)
    return Reread(judge, answers, tuple(changed))


def _responses(row: stored.Raw) -> list[Any]:
    """The answers as they came; none where they are another tool's, or it is not known what was asked."""
    try:
        found = json.loads(row.raw) if {"prompt", "scale"} <= row.settings.keys() else None
    except ValueError:
        return []
    return found if isinstance(found, list) and all(isinstance(each, Mapping) for each in found) else []


def _asked_with(store: Store, prompt: str, scale: str) -> tuple[Prompt, Scale]:
    name, text = stored.prompt(store, prompt)
    return Prompt.read(name, text, f"prompt {name}"), Scale.of(json.loads(scale))
