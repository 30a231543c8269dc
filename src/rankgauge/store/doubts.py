"""Why not to trust stored labels: judges without a licence, grades that tell little, settings that were mixed."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import select

from rankgauge.errors import Doubt, counted
from rankgauge.store import schema
from rankgauge.store.checks import checks_by_setting
from rankgauge.trust.judges.licence import BAR, OFF_SCALE, Bar, advice, doubt_of_check, doubts_of_grades
from rankgauge.validation.labels import MIXED, UNCHECKED, several_models

if TYPE_CHECKING:
    from rankgauge.store.store import Rated, Store

__all__ = ["Setting", "Terms", "label_doubts", "models", "of_other_settings", "settings_of"]

ASKED: Final = ("model", "program")  # kinds of judges whom people have to check


class Setting(NamedTuple):
    """A judge with the settings of a time; a check holds for its `tested` part."""

    name: str
    model: str | None
    prompt: str | None
    scale: str | None
    parameters: str | None

    @property
    def tested(self) -> tuple[str | None, ...]:
        """A model with a prompt and a scale, wherever it is served and however it is tuned; or a function."""
        return (*self[:4], self.parameters if self.prompt is None else None)

    @property
    def grades(self) -> list[float]:
        """The grades of its scale; none where nobody knows them, as of what was imported."""
        try:
            return sorted(map(float, json.loads(self.scale or "[]")))
        except (ValueError, TypeError):
            return []


class Terms(NamedTuple):
    """What a project asks of its judges: the bar of a check, what they are checked against, and their settings now."""

    bar: Bar = BAR
    people: str = "@people"
    settings: Mapping[str, Setting] = {}


def settings_of(store: Store) -> dict[int, Setting]:
    """Number of a judge → its settings."""
    judge = schema.judge.c
    asked = select(judge.judge_id, judge.name, judge.model, judge.prompt, judge.scale, judge.parameters)
    return {row[0]: Setting(*row[1:]) for row in store.read(lambda each: each.execute(asked).all())}


def models(store: Store, rows: Iterable[Rated]) -> dict[str, list[str]]:
    """Judge → the models that gave these labels, or the judge's own name, where it is a model."""
    asked = {row.setting: row.judge for row in rows if row.kind == "model"}
    settings = settings_of(store) if asked else {}
    found: dict[str, list[str]] = {}
    for number, name in asked.items():
        found.setdefault(name, []).append(settings[number].model or name)
    return found


def label_doubts(store: Store, rows: Sequence[Rated], heard: Sequence[Rated], terms: Terms) -> list[Doubt]:
    """Why not to trust the labels that are `heard` of all `rows`, judge by judge."""
    judges = dict.fromkeys(row.judge for row in heard if row.kind in ASKED)
    if not judges:
        return []
    settings = settings_of(store)
    return [
        *_of_checks(store, judges, heard, settings, terms),
        *_of_grades(store, judges, rows, settings),
        *_of_mixtures(store, judges, heard, settings, terms),
    ]


def of_other_settings(rows: Iterable[Rated], settings: Mapping[int, Setting], now: Setting) -> list[Rated]:
    """The labels of a judge that were given under other settings than those of now."""
    return [row for row in rows if row.judge == now.name and settings[row.setting] != now]


def _of_checks(
    store: Store, judges: Iterable[str], heard: Sequence[Rated], settings: Mapping[int, Setting], terms: Terms
) -> Iterator[Doubt]:
    """The judges without a licence: of several checks of a setting, the largest counts, then the last."""
    found: dict[tuple[str | None, ...], Mapping[str, Any]] = {}
    for number, each in checks_by_setting(store):
        known = found.get(settings[number].tested)
        if known is None or each.get("graded", 0) >= known.get("graded", 0):
            found[settings[number].tested] = each
    everything = len({row[:2] for row in heard})
    for judge in judges:
        own: dict[tuple[str | None, ...], set[tuple[str, str]]] = {}
        for row in heard:
            if row.judge == judge:
                own.setdefault(settings[row.setting].tested, set()).add(row[:2])
        unknown = {pair for tested, pairs in own.items() if tested not in found for pair in pairs}
        if unknown:
            other = any(tested[0] == judge for tested in found)
            under = " under this prompt and model" if other else ""
            gave = f"it gave {len(unknown):,} of {counted(everything, 'grade')}"
            words = f"Nobody has checked {judge}{under} against people, and {gave}"
            yield Doubt(UNCHECKED, f"{words}. Check it: {advice(judge, terms.people)}")
        doubts = (doubt_of_check(judge, found[each], terms.bar, terms.people) for each in own if each in found)
        yield from dict.fromkeys(doubt for doubt in doubts if doubt is not None)


def _of_grades(
    store: Store, judges: Collection[str], rows: Sequence[Rated], settings: Mapping[int, Setting]
) -> Iterator[Doubt]:
    """The judges whose grades tell little, by all their labels on the scale that they have now."""
    off = _off_scale(store, judges)
    for judge in judges:
        own = [row for row in rows if row.judge == judge]
        scale = settings[own[-1].setting].scale
        own = [row for row in own if settings[row.setting].scale == scale]
        grades = Counter(row.grade for row in own if row.grade is not None)
        pairs = len({row[:2] for row in own if row.grade is not None})
        outside = sum(row.state == "failed" and (judge, *row[:2]) in off for row in own)
        yield from doubts_of_grades(judge, grades, pairs, settings[own[-1].setting].grades, outside)


def _off_scale(store: Store, judges: Collection[str]) -> set[tuple[str, str, str]]:
    """Judge, query and document of answers that were not on the scale."""
    table, judge = schema.judgment.c, schema.judge.c
    asked = select(judge.name, table.query_id, table.doc_id).join(schema.judge, judge.judge_id == table.judge_id)
    asked = asked.where(judge.name.in_(judges), table.state == "failed", table.reason.contains(OFF_SCALE))
    return {(name, query, doc) for name, query, doc in store.read(lambda each: each.execute(asked).all())}


def _of_mixtures(
    store: Store, judges: Iterable[str], heard: Sequence[Rated], settings: Mapping[int, Setting], terms: Terms
) -> Iterator[Doubt]:
    """The judges whose labels in force are of other settings than the project's, or of several models."""
    answered = _answered(store, {row.setting for row in heard})
    for judge in judges:
        own = [row for row in heard if row.judge == judge]
        said = []
        now = terms.settings.get(judge)
        if now is not None and (others := of_other_settings(own, settings, now)):
            of = f"{len(others):,} of {counted(len(own), 'label')} in force {'is' if len(others) == 1 else 'are'}"
            lists = f"rankgauge labels --by {shlex.quote(judge)} --other-settings"
            how = "To grade by that one, give it another name, and write that name under [labels] from"
            said.append(f"{of} of another setting of {judge} than rankgauge.toml's. {how}. List the others: {lists}")
        known: dict[str, None] = {}
        for row in own:
            model = settings[row.setting].model
            known |= dict.fromkeys(answered.get(row.setting) or ([model] if model else []))
        if len(known) > 1:
            said.append(f"{several_models(judge, [*known])}. Their grades are mixed. Give each its own name")
        if said:
            yield Doubt(MIXED, ". ".join(reversed(said)))


def _answered(store: Store, numbers: Collection[int]) -> dict[int, list[str]]:
    """Number of a judge → the models that named themselves in its answers."""
    table = schema.judgment.c
    asked = select(table.judge_id, table.model).distinct().where(table.judge_id.in_(numbers), table.model.is_not(None))
    found: dict[int, list[str]] = {}
    for number, model in sorted(store.read(lambda each: each.execute(asked).all())):
        found.setdefault(number, []).append(model)
    return found
