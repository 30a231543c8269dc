"""Pairs that judges graded differently, the largest effect on the measure first; and what is decided about them.

A decision is a ruling: a judgment of its own by whoever decides. The labels that it is about stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from sqlalchemy import Connection, select

from rankgauge.errors import InputError
from rankgauge.measures import AnyMeasure, parse
from rankgauge.protocol import DEFAULT, Protocol
from rankgauge.raters.audit import audit
from rankgauge.raters.effects import Change, Effects
from rankgauge.show.marks import letter
from rankgauge.shown import Shown
from rankgauge.store import schema
from rankgauge.store.judgments import GRADED, TRIAL, Judge, Label, Rated, add_judgments, is_label, label_row
from rankgauge.store.labels import PEOPLE, Labels
from rankgauge.store.rows import digest, parts
from rankgauge.trust.judges.sets import POLICIES

if TYPE_CHECKING:
    from rankgauge.raters.tasks import Task
    from rankgauge.read import Run
    from rankgauge.store.project import Project
    from rankgauge.store.store import Store

__all__ = ["Adjudication", "Conflict", "Decided", "Decision", "Disputed", "Given", "NotDisputed", "Who", "adjudication"]
__all__ += ["decide", "given_to", "labels_of", "last_runs", "within"]

Pair = tuple[str, str]


class NotDisputed(InputError):
    """A pair that nobody has labelled: there is nothing to decide about."""


class Conflict(InputError):
    """Something else was decided meanwhile, or the key stands for another decision."""


class Given(NamedTuple):
    """A label without its judge: a letter that tells nothing, the grade (None: no grade), the note."""

    letter: str
    state: str
    grade: float | None
    note: str
    outdated: bool


class Who(NamedTuple):
    """Whose label a letter stands for."""

    letter: str
    judge: str
    kind: str
    grade: float | None


class Disputed(NamedTuple):
    """A pair on which judges differ: their labels, by how far they are apart, and what that can do to the measure.

    `effect` is None without runs; `means` are those of every run with each of the grades.
    """

    query_id: str
    doc_id: str
    given: tuple[Given, ...]
    apart: float
    now: float | None = None
    effect: float | None = None
    means: Mapping[str, Mapping[float, float]] = {}

    @property
    def grades(self) -> list[float]:
        """The grades that were given, the lowest first."""
        return sorted({each.grade for each in self.given if each.grade is not None})


class Decided(NamedTuple):
    """A pair that was decided: whose labels there were, what was decided, by whom, when and why."""

    query_id: str
    doc_id: str
    given: tuple[Who, ...]
    grade: float
    by: str
    at: str
    note: str


@dataclass(frozen=True, eq=False, repr=False)
class Adjudication(Shown):
    """What is to be decided, the largest effect first, without the names of judges; and what was decided, with them.

    `last` is the number of the last judgment that was looked at, `now` the mean of every run.
    """

    shown_by: ClassVar[str] = "adjudication"

    measure: str
    open: tuple[Disputed, ...]
    decided: tuple[Decided, ...]
    now: Mapping[str, float]
    last: int
    task: str | None = None
    problems: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What this is about."""
        return f"Pairs to adjudicate of {self.task}" if self.task else "Pairs to adjudicate"

    def data(self, **choices: Any) -> dict[str, Any]:
        """What JSON holds: of what is not decided no names, and no means that say which grade is good for whom."""
        return {
            "task": self.task,
            "measure": self.measure,
            "runs": [*self.now],
            "last": self.last,
            "open": [{name: value for name, value in each._asdict().items() if name != "means"} for each in self.open],
            "decided": [each._asdict() for each in self.decided],
            "problems": [*self.problems],
        }


# ---- what is to be decided -------------------------------------------------------------------------------------------


def adjudication(
    project: Project,
    store: Store,
    task: Task | None = None,
    *,
    measure: AnyMeasure = "nDCG@10",
    people: bool = False,
    until: int | None = None,
    protocol: Protocol = DEFAULT,
) -> Adjudication:
    """The disputes of a store, or of the pairs of a task; `people`: of people alone.

    The effect of a pair is, over the last whole runs, the largest change of the mean between deciding for the lowest
    and for the highest grade that was given; everything else is as the project's rule has it. Without runs the pairs
    that are farthest apart come first. `until` is the last judgment that counts.
    """
    rows, last = store.labels(until)
    rule = project.rule.among(rows)
    last = last if until is None else min(until, last)
    asked = within(rows, store, task)
    heard = [row for row in asked if row.judge in rule.heard and (not people or row.kind in PEOPLE)]
    runs = last_runs(project, store)
    effects = Effects(rule.judgments(rows), runs, parse(str(measure)), protocol) if runs and heard else None
    settled = {row[:2] for row in asked if row.ruling and row.grade is not None}
    notes = _notes(store, {row[:2] for row in heard}, last)
    pairs = [each for each in _disputed(heard, rule, notes) if (each.query_id, each.doc_id) not in settled]
    grades = task.scale.grades if task is not None else sorted({row.grade for row in rows if row.grade is not None})
    found = _with_effects(pairs, effects, grades) if effects is not None else pairs
    order = sorted(found, key=lambda each: (-(each.effect or 0.0), -each.apart, each.query_id, each.doc_id))
    now = effects.now if effects is not None else {}
    problems = tuple(effects.problems) if effects is not None else ()
    decided = tuple(_decided(store, asked, rule, last))
    return Adjudication(
        str(parse(str(measure))), tuple(order), decided, now, last, task.name if task else None, problems
    )


def labels_of(store: Store, task: Task | None = None, until: int | None = None) -> tuple[list[Rated], int]:
    """The labels of a store, or of the pairs of a task, and the last judgment that was looked at."""
    rows, last = store.labels(until)
    return within(rows, store, task), last if until is None else min(until, last)


P = TypeVar("P", bound=tuple[Any, ...])


def within(rows: Sequence[P], store: Store, task: Task | None) -> list[P]:
    """Those of the rows, which begin with a query and a document, that are of a task; without one all."""
    if task is None:
        return [*rows]
    table = schema.task_pair.c
    asked = select(table.query_id, table.doc_id).where(table.task_id == task.number)
    pairs = {(query, doc) for query, doc in _rows(store, asked)}
    return [row for row in rows if row[:2] in pairs]


def last_runs(project: Project, store: Store) -> dict[str, Run]:
    """System → its last whole run; one that has none is left out."""
    systems = dict.fromkeys(row.system for row in store.runs() if row.state == "whole")
    return {name: project.run(name) for name in sorted(systems)}


def _own(rows: Iterable[Rated], rule: Labels) -> dict[Pair, dict[str, tuple[Rated, float | None]]]:
    """Pair → judge → the last label, and the grade that the labels of this judge come to."""
    found: dict[Pair, dict[str, list[Rated]]] = {}
    for row in rows:
        if not row.ruling:
            found.setdefault(row[:2], {}).setdefault(row.judge, []).append(row)
    settle = POLICIES[rule.policy]
    made: dict[Pair, dict[str, tuple[Rated, float | None]]] = {}
    for pair, judges in found.items():
        made[pair] = {}
        for judge, labels in judges.items():
            grades = [row.grade for row in labels if row.grade is not None]
            made[pair][judge] = (labels[-1], settle(grades) if grades else None)
    return made


def _lettered(pair: Pair, judges: Iterable[str]) -> list[tuple[str, str]]:
    """Letter and judge, in an order that tells nothing: another one for every pair."""
    order = sorted(judges, key=lambda judge: digest([*pair, judge]))
    return [(letter(at).upper(), judge) for at, judge in enumerate(order)]


def _disputed(rows: Iterable[Rated], rule: Labels, notes: Mapping[tuple[str, str, str], str]) -> Iterator[Disputed]:
    """Pairs with two different grades or more."""
    labels = _own(rows, rule)
    for pair, judges in labels.items():
        grades = [grade for _, grade in judges.values() if grade is not None]
        if len({*grades}) < 2:
            continue
        given = []
        for name, judge in _lettered(pair, judges):
            row, grade = judges[judge]
            state = GRADED if grade is not None else row.state
            given.append(Given(name, state, grade, notes.get((*pair, judge), ""), row.outdated))
        yield Disputed(*pair, tuple(given), max(grades) - min(grades))


def _with_effects(pairs: Sequence[Disputed], effects: Effects, grades: Sequence[float]) -> list[Disputed]:
    """The pairs with what each grade would do to every run."""
    tried = [sorted({*each.grades, *grades}) for each in pairs]
    changes = [
        Change(each.query_id, each.doc_id, grade) for each, given in zip(pairs, tried, strict=True) for grade in given
    ]
    means = effects.means(changes)
    made, at = [], 0
    for each, given in zip(pairs, tried, strict=True):
        known = {run: dict(zip(given, values[at : at + len(given)], strict=True)) for run, values in means.items()}
        at += len(given)
        low, high = each.grades[0], each.grades[-1]
        moved = [abs(values[high] - values[low]) for values in known.values()]
        effect = max((change for change in moved if change == change), default=0.0)
        judged = effects.judged.get(each.query_id, {}).get(each.doc_id)
        made.append(each._replace(now=judged, effect=effect, means=known))
    return made


def _notes(store: Store, pairs: set[Pair], last: int) -> dict[tuple[str, str, str], str]:
    """Query, document and judge → what the judge wrote with the last label."""
    table, judge = schema.judgment.c, schema.judge.c
    found: dict[tuple[str, str, str], str] = {}
    for part in parts(sorted({query for query, _ in pairs})):
        asked = select(table.query_id, table.doc_id, judge.name, table.reason)
        asked = asked.join(schema.judge, judge.judge_id == table.judge_id).where(table.query_id.in_(part))
        asked = asked.where(table.ruling == 0, judge.kind != TRIAL, table.judgment_id <= last)
        for query, doc, name, reason in _rows(store, asked.order_by(table.judgment_id)):
            found[query, doc, name] = reason or ""
    return found


def _rows(store: Store, asked: Any) -> Sequence[Any]:
    return store.read(lambda connection: connection.execute(asked).all())


# ---- what was decided ------------------------------------------------------------------------------------------------


def _decided(store: Store, rows: Sequence[Rated], rule: Labels, last: int) -> Iterator[Decided]:
    """Every pair with a ruling, the last decision first."""
    rulings = {row[:2]: row for row in rows if row.ruling and row.grade is not None}
    if not rulings:
        return
    labels = _own((row for row in rows if row[:2] in rulings), rule)
    table, judge = schema.judgment.c, schema.judge.c
    asked = select(table.query_id, table.doc_id, judge.name, table.at, table.reason)
    asked = asked.join(schema.judge, judge.judge_id == table.judge_id)
    asked = asked.where(table.ruling != 0, table.judgment_id <= last).order_by(table.judgment_id)
    about = {(query, doc, name): (at, reason or "") for query, doc, name, at, reason in _rows(store, asked)}
    order = sorted(rulings.items(), key=lambda each: about[(*each[0], each[1].judge)][0], reverse=True)
    for pair, row in order:
        at, note = about[(*pair, row.judge)]
        yield Decided(*pair, _who(pair, labels.get(pair, {})), row.grade or 0.0, row.judge, at, note)


def _who(pair: Pair, judges: Mapping[str, tuple[Rated, float | None]]) -> tuple[Who, ...]:
    return tuple(Who(name, judge, judges[judge][0].kind, judges[judge][1]) for name, judge in _lettered(pair, judges))


def given_to(store: Store, rule: Labels, query_id: str, doc_id: str) -> tuple[Who, ...]:
    """Whose labels a pair has, by their letters; asked of this pair alone."""
    table, judge = schema.judgment.c, schema.judge.c
    asked = select(judge.name, judge.kind, table.state, table.grade, table.repeat)
    asked = asked.join(schema.judge, judge.judge_id == table.judge_id)
    asked = asked.where(table.query_id == query_id, table.doc_id == doc_id, table.ruling == 0, judge.kind != TRIAL)
    asked = asked.where(is_label())
    latest: dict[tuple[str, int], Rated] = {}
    for name, kind, state, grade, repeat in _rows(store, asked.order_by(table.judgment_id)):
        if not rule.judges or name in rule.heard:
            latest.pop((name, repeat), None)
            latest[name, repeat] = Rated(query_id, doc_id, name, kind, state, grade, False, False, 0)
    pair = (query_id, doc_id)
    return _who(pair, _own(latest.values(), rule).get(pair, {}))


# ---- deciding --------------------------------------------------------------------------------------------------------


class Decision(NamedTuple):
    """The grade that somebody decides for; `key` is made in the browser, `seen` the last judgment that it knew."""

    key: str
    query_id: str
    doc_id: str
    grade: float
    note: str = ""
    milliseconds: float | None = None
    task_id: int | None = None
    seen: int | None = None


def decide(store: Store, decision: Decision, who: str, address: str | None = None) -> bool:
    """Keep a decision as a ruling, with its audit line, in one transaction; whether it was new.

    The same key again changes nothing. A pair without labels is refused, and so is one that somebody else decided
    after what `seen` says.
    """
    query, doc, grade = decision.query_id, decision.doc_id, decision.grade
    label = Label(
        query, doc, grade, decision.key, ruling=1, reason=decision.note or None,
        milliseconds=decision.milliseconds, task_id=decision.task_id,
    )  # fmt: skip
    row = label_row(label, "a decision")

    def decided(connection: Connection) -> bool:
        known = _known(connection, decision.key)
        if known is not None:
            if known != (who, query, doc, grade + 0.0, 1):
                raise Conflict("the key of this decision stands for another one; reload the page and decide again")
            return False
        _check(connection, decision, who)
        add_judgments(connection, [[(Judge(who, "person"), row)]])
        audit(connection, who, "adjudicate", f"query {query!r}, document {doc!r}: {grade:g}", address)
        return True

    return store.writer.write(decided)


def _known(connection: Connection, key: str) -> tuple[Any, ...] | None:
    """What a key stands for: by whom, of which pair, which grade, and whether it is a ruling."""
    table, judge = schema.judgment.c, schema.judge.c
    asked = select(judge.name, table.query_id, table.doc_id, table.grade, table.ruling)
    asked = asked.join(schema.judge, judge.judge_id == table.judge_id).where(table.key == key)
    found = connection.execute(asked).first()
    return None if found is None else tuple(found)


def _check(connection: Connection, decision: Decision, who: str) -> None:
    table, judge = schema.judgment.c, schema.judge.c
    asked = select(table.judgment_id, judge.name, table.ruling, table.grade)
    asked = asked.join(schema.judge, judge.judge_id == table.judge_id)
    asked = asked.where(table.query_id == decision.query_id, table.doc_id == decision.doc_id, judge.kind != TRIAL)
    rows = connection.execute(asked.order_by(table.judgment_id)).all()
    named = f"query {decision.query_id!r}, document {decision.doc_id!r}"
    if not any(grade is not None and not ruling for _, _, ruling, grade in rows):
        raise NotDisputed(f"{named}: nobody has graded it, so that there is nothing to decide")
    ruled = [(number, name, grade) for number, name, ruling, grade in rows if ruling and grade is not None]
    if ruled and ruled[-1][1] != who and ruled[-1][0] > (decision.seen if decision.seen is not None else 0):
        raise Conflict(f"{named}: {ruled[-1][1]} decided meanwhile for {ruled[-1][2]:g}; reload the page to see it")
