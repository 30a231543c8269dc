"""What a store holds: everything counted, with what is open and what is stale; and labels, judge by judge."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from sqlalchemy import func, select, text

from rankgauge.errors import Doubt, counted
from rankgauge.shown import Shown
from rankgauge.store import schema
from rankgauge.store.checks import checks
from rankgauge.store.doubts import Setting, of_other_settings, settings_of
from rankgauge.store.evaluations import Past, saved
from rankgauge.store.judgments import STATES, TRIAL

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgauge.store.labels import Labels
    from rankgauge.store.store import Rated, Store

__all__ = ["JudgeCounts", "LabelCounts", "OtherSettings", "Status", "label_counts", "other_settings", "status"]


@dataclass(frozen=True, eq=False, repr=False)
class Status(Shown):
    """What there is, how much of it, and what to know about it: open runs, stale evaluations, locks, judges checked."""

    shown_by: ClassVar[str] = "stored:status_sections"

    where: str
    engine: str
    bytes: int
    tables: dict[str, int]
    open: tuple[str, ...]
    stale: tuple[str, ...]
    held: tuple[str, ...]
    checks: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Which store it is."""
        return f"Store {self.where}"

    def data(self) -> dict[str, Any]:
        """What JSON holds."""
        return asdict(self)


def status(store: Store, rule: Labels) -> Status:
    """The state of a store."""
    open_runs = [
        f"{run.address} is {run.state}: {run.lacking:,} of {counted(run.queries, 'query', 'queries')} lack an answer"
        for run in store.runs()
        if run.state != "whole"
    ]
    past = Past(store, rule)
    evaluations = [(each, past.stale(each)) for each in saved(store)]
    stale = [f"evaluation {each.number} of {each.system}: {', '.join(why)}" for each, why in evaluations if why]
    engine = "SQLite" if store.engine.url.get_backend_name() == "sqlite" else "PostgreSQL"
    about = (store.where, engine, store.read(_bytes), _tables(store), tuple(open_runs), tuple(stale))
    return Status(*about, tuple(store.read(_held)), tuple(each.words for each in checks(store)))


def _tables(store: Store) -> dict[str, int]:
    """Table → its rows; the answers by which a judge was put to the test are no judgments, and counted apart."""
    tried = select(func.count()).select_from(schema.judgment).join(schema.judge).where(schema.judge.c.kind == TRIAL)
    number = store.read(lambda connection: int(connection.scalar(tried) or 0))
    rows = store.counts()
    return rows | ({"judgment": rows["judgment"] - number, TRIAL: number} if number else {})


def _bytes(connection: Connection) -> int:
    """How large the database is: its files, or its tables with their indexes."""
    if connection.dialect.name == "sqlite":
        path = connection.engine.url.database or ""
        return sum(os.path.getsize(path + end) for end in ("", "-wal") if os.path.exists(path + end))
    size = text("SELECT pg_total_relation_size(to_regclass(:name))")
    return sum(int(connection.scalar(size, {"name": f'"{name}"'}) or 0) for name in schema.TABLES.tables)


def _held(connection: Connection) -> list[str]:
    """Locks, and by whom they are held."""
    table = schema.lock.c
    found = connection.execute(select(table.name, table.holder).order_by(table.name)).all()
    return [f"{name} is held by {holder}" for name, holder in found]


@dataclass(frozen=True, eq=False, repr=False)
class OtherSettings(Shown):
    """Labels of a judge in force that were given under other settings than those of rankgauge.toml.

    `labels` are query, document, grade and what the setting has that is not so now; `total` is how many are in force.
    """

    shown_by: ClassVar[str] = "stored:other_sections"

    judge: str
    total: int
    labels: tuple[tuple[str, str, float, str], ...]

    @property
    def title(self) -> str:
        """Whose labels they are."""
        return f"Labels of {self.judge} under other settings"

    def data(self) -> dict[str, Any]:
        """What JSON holds."""
        names = ("query_id", "doc_id", "grade", "setting")
        return {
            "judge": self.judge,
            "total": self.total,
            "labels": [dict(zip(names, row, strict=True)) for row in self.labels],
        }


def other_settings(store: Store, heard: Sequence[Rated], now: Setting) -> OtherSettings:
    """The labels of a judge, of those that are heard, whose settings are not those of now."""
    settings, prompts = settings_of(store), schema.prompt.c
    names: dict[str | None, str] = dict(store.read(lambda each: each.execute(select(prompts.hash, prompts.name)).all()))
    rows = of_other_settings(heard, settings, now)
    words = {number: _unlike(settings[number], now, names) for number in {row.setting for row in rows}}
    found = [(row.query_id, row.doc_id, float(row.grade or 0.0), words[row.setting]) for row in rows]
    return OtherSettings(now.name, sum(row.judge == now.name for row in heard), tuple(sorted(found)))


def _unlike(then: Setting, now: Setting, prompts: Mapping[str | None, str]) -> str:
    """The settings that are not so now."""
    texts = then._replace(
        prompt=prompts.get(then.prompt, then.prompt), scale=", ".join(f"{each:g}" for each in then.grades)
    )
    pairs = zip(Setting._fields, texts, then, now, strict=True)
    return ", ".join(f"{kind} {text or 'not known'}" for kind, text, old, new in pairs if old != new)


# ---- labels ----------------------------------------------------------------------------------------------------------


class JudgeCounts(NamedTuple):
    """The labels of a judge, counted.

    `graded`: pairs that have a grade; `conflicting`: pairs to which the judge gave different grades, asked again.
    """

    judge: str
    kind: str
    labels: int
    graded: int
    conflicting: int
    grades: dict[float, int]
    states: dict[str, int]
    outdated: int


@dataclass(frozen=True, eq=False, repr=False)
class LabelCounts(Shown):
    """Whose labels there are, and what they come to by a rule.

    `several`: pairs with more than one label that is heard, `conflicting`: those whose labels are not the same grade.
    `doubts` say why not to trust the labels.
    """

    shown_by: ClassVar[str] = "stored:label_sections"

    rule: Labels
    queries: int
    graded: int
    several: int
    conflicting: int
    outdated: int
    judges: tuple[JudgeCounts, ...]
    doubts: tuple[Doubt, ...] = ()

    @property
    def title(self) -> str:
        """What is counted."""
        return str(self.rule).capitalize()

    def data(self) -> dict[str, Any]:
        """What JSON holds."""
        about = {name: getattr(self, name) for name in ("queries", "graded", "several", "conflicting", "outdated")}
        judges = [each._asdict() for each in self.judges]
        doubts = {"warnings": [*self.doubts]} if self.doubts else {}
        return {"rule": self.rule.to_dict(), **about, "judges": judges, **doubts}


def label_counts(
    rows: Sequence[Rated], rule: Labels, *, fresh: bool = False, doubts: Iterable[Doubt] = ()
) -> LabelCounts:
    """The labels of the judges whom a rule hears, counted."""
    heard = [row for row in rows if row.judge in rule.heard and not (fresh and row.outdated)]
    judges = tuple(_counts([row for row in heard if row.judge == judge]) for rank in rule.judges for judge in rank)
    grades: dict[tuple[str, str], list[float | None]] = {}
    for row in heard:
        if row.grade is not None:
            grades.setdefault(row[:2], []).append(row.grade)
    several = [each for each in grades.values() if len(each) > 1]
    return LabelCounts(
        rule,
        len({query for query, _ in grades}),
        len(grades),
        len(several),
        sum(len({*each}) > 1 for each in several),
        len({row[:2] for row in heard if row.outdated and row.grade is not None}),
        judges,
        tuple(doubts),
    )


def _counts(rows: Sequence[Rated]) -> JudgeCounts:
    graded = [row for row in rows if row.grade is not None]
    pairs: dict[tuple[str, str], set[float | None]] = {}
    for row in graded:
        pairs.setdefault(row[:2], set()).add(row.grade)
    grades = Counter(row.grade for row in graded if row.grade is not None)
    states = Counter(row.state for row in rows if row.grade is None)
    first = rows[0]
    return JudgeCounts(
        first.judge,
        first.kind,
        len(graded),
        len(pairs),
        sum(len(each) > 1 for each in pairs.values()),
        dict(sorted(grades.items())),
        {state: states[state] for state in STATES if states[state]},
        sum(row.outdated for row in graded),
    )
