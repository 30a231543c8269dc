"""Files that say themselves what they hold: Quepid's, UMBRELA's, BEIR's, a judge's page's, what `store export` wrote.

Each becomes queries, documents, labels or a run in one transaction, so that it is there whole or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from sqlalchemy import Table

from rankgauge.errors import FormatError, InputError, choices, counted
from rankgauge.read.cells import json_format, json_lines, parse_json
from rankgauge.read.names import JUDGED
from rankgauge.read.sources import QRELS, find_source
from rankgauge.store import schema
from rankgauge.store.judgments import STATES, TRIAL
from rankgauge.store.rows import storable
from rankgauge.store.store import Judge, Label, Pair, Store
from rankgauge.store.transfer.datasets import add_beir, add_umbrela
from rankgauge.store.transfer.files import Judged, again
from rankgauge.store.transfer.judged import add_judged
from rankgauge.store.transfer.parts import Asked, grade_in, id_in, whole
from rankgauge.store.transfer.quepid import add_book, add_case, add_snapshot

__all__ = ["BEIR", "KINDS", "STATES", "Asked", "Known", "recognise"]

KINDS: Final = ("person", "model", "program", "imported")


class Known(NamedTuple):
    """What a file was recognised as: its name, the options that mean something to it, and how it is stored."""

    name: str
    takes: tuple[str, ...]
    added: Callable[[Store, str, Asked], str]

    def store(self, store: Store, path: str, asked: Asked) -> str:
        """Store it, in one transaction; what was stored."""
        for option, value in asked._asdict().items():
            if value and option not in self.takes:
                raise InputError(
                    f"{path}: is {self.name}, for which --{option.replace('_', '-')} means nothing; leave it out"
                )
        return self.added(store, path, asked)


def recognise(path: str) -> Known | None:
    """What a file or folder is, by what is in it; None for one of plain rows."""
    if os.path.isdir(path):
        return BEIR if os.path.isdir(os.path.join(path, QRELS)) else None
    if path == "-":
        return None
    file = find_source(path)
    written = json_format(file.head())
    if written is None:
        return None
    found = next((item for _, item in json_lines(file)), None) if written == "jsonl" else parse_json(file)
    return next((known for marks, known in KNOWN if isinstance(found, dict) and marks <= found.keys()), None)


# ---- what `store export` writes --------------------------------------------------------------------------------------


def add_judgments(store: Store, path: str, asked: Asked) -> str:
    """Every single judgment as it was, with its judge."""
    prompts: dict[str, Any] = {}
    given = [_single(item, f"{path}:{line}", prompts) for line, item in json_lines(find_source(path))]

    def added(inside: Store) -> int:
        inside.add_prompts(prompts.values())
        return inside.add_judgments(given, path)

    new = store.together(added)
    return f"{counted(new, 'judgment')} from {path}{again(new, len(given))}"


def _single(item: Mapping[str, Any], place: str, prompts: dict[str, Any]) -> Judged:
    """A judgment and its judge; a prompt is put to the others."""
    values = {name: value for name, value in item.items() if name not in ("judge", "kind", "settings", "relevance")}
    _check_columns(values, schema.judgment, Label._fields, place)
    settings = dict(item.get("settings") or {})
    if isinstance(prompt := settings.get("prompt"), dict):
        _check_columns(prompt, schema.prompt, tuple(schema.prompt.columns.keys()), place)
        settings["prompt"] = id_in(prompt, "hash", place)
        prompts[settings["prompt"]] = prompt
    _check_columns(settings, schema.judge, ("model", "base_url", "parameters", "scale", "prompt"), place)
    about = {"state": item.get("state"), "kind": item.get("kind", "imported")}
    for name, known in (("state", STATES), ("kind", (*KINDS, TRIAL))):
        if about[name] not in known:
            raise FormatError(f"{place}: {name!r} is {about[name]!r}; expected {choices(known)}")
    grade = grade_in(item, "relevance", place) if about["state"] == "graded" else None
    label = Label(**values | {name: id_in(item, name, place) for name in ("query_id", "doc_id", "key")}, grade=grade)
    return Judge(id_in(item, "judge", place), about["kind"], settings), label


def _check_columns(values: Mapping[str, Any], table: Table, names: tuple[str, ...], place: str) -> None:
    """Refuse what a table has no column for, and what does not fit into its column."""
    for name, value in values.items():
        if name not in names:
            raise FormatError(f"{place}: {name!r} is no part of a {table.name}; expected {choices(names)}")
        kind = table.columns[name].type.python_type
        if not isinstance(value, (int, float) if kind is float else kind) or isinstance(value, bool):
            raise FormatError(f"{place}: {name!r} is {value!r}; expected {'a text' if kind is str else 'a number'}")
        storable(value, f"{place}: {name!r}")


def add_pairs(store: Store, path: str, asked: Asked) -> str:
    """Pairs that are to be judged."""
    pairs = [
        Pair(
            id_in(item, "query_id", f"{path}:{line}"),
            id_in(item, "doc_id", f"{path}:{line}"),
            whole(item.get("to_judge")),
        )
        for line, item in json_lines(find_source(path))
    ]
    return f"{counted(store.add_pairs(pairs, path), 'new pair')} from {path}"


BEIR: Final = Known("a folder of BEIR", ("judge", "kind", "split", "repeats", "latest_text"), add_beir)
# What an object has → what the file is.
KNOWN: Final = (
    ({"query_doc_pairs"}, Known("a book of Quepid", ("repeats", "latest_text"), add_book)),
    ({"queries", "docs"}, Known("a snapshot of Quepid", ("system", "latest_text"), add_snapshot)),
    ({"queries", "case_name"}, Known("a case of Quepid", ("judge", "kind", "repeats"), add_case)),
    ({"query", "passage", "judgment"}, Known("UMBRELA's output", ("judge", "kind", "repeats"), add_umbrela)),
    (JUDGED, Known("judgments of a page", (), add_judged)),
    ({"query_id", "doc_id", "judge", "key", "state"}, Known("exported judgments", (), add_judgments)),
    ({"query_id", "doc_id", "to_judge"}, Known("exported pairs", (), add_pairs)),
)
