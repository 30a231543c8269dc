"""The ledger of judges, people and models alike: what each has done, how fast, how well, and at what cost.

Every coefficient is one of `rankgauge agree`: against the others, against grades that are known, against oneself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from sqlalchemy import select

from rankgauge.raters.disputes import labels_of, within
from rankgauge.read import Judgments, read_judgments
from rankgauge.shown import Shown
from rankgauge.store import schema
from rankgauge.store.judgments import STATES, TRIAL
from rankgauge.store.labels import PEOPLE, Labels
from rankgauge.trust.judges.pairs import Brief, brief_of
from rankgauge.trust.judges.sets import sets_of

if TYPE_CHECKING:
    from rankgauge.raters.tasks import Task
    from rankgauge.store.project import Project
    from rankgauge.store.store import Rated, Store

__all__ = ["Account", "Ledger", "Week", "judged_sets", "ledger"]

PAUSE: Final = 300.0  # seconds without a judgment, after which nobody is at work
HOUR: Final = 3600.0
Nested = dict[str, dict[str, float]]


class Week(NamedTuple):
    """An ISO week: the pairs that others judged too, and the mean of the judge's grades minus theirs."""

    week: str
    shared: int
    bias: float


class Account(NamedTuple):
    """A judge: labels by their state, pace, agreement, bias, drift and cost.

    `seconds` is the median of a judgment, `hourly` how many are given in an hour at work. Agreement is None where there
    is nothing to compare; `bias` is the mean grade minus the others' on shared pairs.
    """

    judge: str
    kind: str
    pairs: int
    states: Mapping[str, int]
    rulings: int
    seconds: float | None
    hourly: float | None
    others: Brief | None
    gold: Brief | None
    again: Brief | None
    weeks: tuple[Week, ...]
    cost: float | None
    last: str

    def row(self) -> dict[str, Any]:
        """Everything in one row, for a spreadsheet."""
        known: dict[str, Any] = {"judge": self.judge, "kind": self.kind, "pairs": self.pairs}
        known |= {state: self.states.get(state, 0) for state in STATES} | {"rulings": self.rulings}
        known |= {"seconds": self.seconds, "hourly": self.hourly}
        for name in ("others", "gold", "again"):
            found: Brief | None = getattr(self, name)
            known[f"{name}_shared"] = found.shared if found is not None else 0
            for part in ("agreement", "kappa", "bias"):
                for end in ("value", "low", "high"):
                    key = f"{name}_{part}" + ("" if end == "value" else f"_{end}")
                    known[key] = None if found is None else getattr(getattr(found, part), end)
        return known | {"cost": self.cost, "last": self.last}


@dataclass(frozen=True, eq=False, repr=False)
class Ledger(Shown):
    """Every judge: people first, by name."""

    shown_by: ClassVar[str] = "ledger"

    judges: tuple[Account, ...]
    task: str | None = None
    last: int = 0

    @property
    def title(self) -> str:
        """What this is about."""
        return f"Judges of {self.task}" if self.task else "Judges"

    def data(self, **choices: Any) -> dict[str, Any]:
        """What JSON holds."""
        return {"task": self.task, "judges": [each._asdict() for each in self.judges]}


class _Act(NamedTuple):
    """A judgment as it was stored."""

    query_id: str
    doc_id: str
    judge: str
    repeat: int
    ruling: int
    grade: float | None
    cost: float | None
    milliseconds: float | None
    at: str


def ledger(project: Project, store: Store, task: Task | None = None, *, until: int | None = None) -> Ledger:
    """Every judge of a store, or of the pairs of a task; `until` is the last judgment that counts."""
    rows, last = labels_of(store, task, until)
    acts = within(_acts(store, last), store, task)
    gold = _gold(store, task)
    kinds = {row.judge: row.kind for row in rows}
    order = sorted(kinds, key=lambda judge: (kinds[judge] not in PEOPLE, judge))
    done: dict[str, list[_Act]] = {}
    for act in acts:
        done.setdefault(act.judge, []).append(act)
    accounts = [_account(judge, kinds[judge], rows, done.get(judge, []), project.rule, gold) for judge in order]
    return Ledger(tuple(accounts), task.name if task is not None else None, last)


def judged_sets(rows: Sequence[Rated], rule: Labels, judges: Iterable[str] = ()) -> dict[str, Judgments]:
    """Judge → judgments as `@labels:JUDGE` has them, of all who gave a grade that is no ruling, or of some."""
    wanted = [*judges] or [*dict.fromkeys(row.judge for row in rows if row.grade is not None and not row.ruling)]
    return {judge: _own(rows, rule, judge) for judge in wanted}


def _own(rows: Iterable[Rated], rule: Labels, judge: str) -> Judgments:
    own = [row for row in rows if row.judge == judge]
    return rule.among(own, judge).judgments(own)


def _acts(store: Store, last: int) -> list[_Act]:
    """Every judgment, in the order in which they came; answers to tricks are none."""
    table, judge = schema.judgment.c, schema.judge.c
    columns = (table.repeat, table.ruling, table.grade, table.cost, table.milliseconds, table.at)
    asked = select(table.query_id, table.doc_id, judge.name, *columns)
    asked = asked.join(schema.judge, judge.judge_id == table.judge_id)
    asked = asked.where(judge.kind != TRIAL, table.judgment_id <= last).order_by(table.judgment_id)
    return [_Act(*row) for row in store.read(lambda each: each.execute(asked).all())]


def _gold(store: Store, task: Task | None) -> Nested:
    """The grades that are known, of all tasks or of one; of two for a pair the later task's."""
    table = schema.task_pair.c
    asked = select(table.query_id, table.doc_id, table.gold).where(table.gold.is_not(None)).order_by(table.task_id)
    asked = asked.where(table.task_id == task.number) if task is not None else asked
    found: Nested = {}
    for query, doc, grade in store.read(lambda each: each.execute(asked).all()):
        found.setdefault(query, {})[doc] = grade
    return found


def _account(judge: str, kind: str, rows: Sequence[Rated], acts: Sequence[_Act], rule: Labels, gold: Nested) -> Account:
    labels = [row for row in rows if row.judge == judge and not row.ruling]
    graded = {row[:2] for row in labels if row.grade is not None}
    states = Counter(row.state for row in labels)
    judged = [act for act in acts if not act.ruling]
    others = [row for row in rows if row.judge != judge and not row.ruling]
    own = _own(rows, rule, judge)
    usual, mean = rule.among(others), replace(rule, policy="mean").among(others)
    against = _against(usual.judgments(others), own) if graded else None
    theirs = mean.judgments(others)
    if against is not None:
        found = _against(theirs, own)
        against = against._replace(bias=found.bias) if found is not None else against
    costs = [act.cost for act in acts if act.cost is not None]
    return Account(
        judge,
        kind,
        len(graded),
        {state: states[state] for state in STATES if states[state]},
        sum(row.ruling and row.grade is not None for row in rows if row.judge == judge),
        _seconds(act for act in judged if act.repeat == 0),
        _hourly(judged),
        against,
        _against(read_judgments(gold), own) if gold and graded else None,
        _with_oneself(judged),
        _weeks(judged, theirs),
        sum(costs) if costs else None,
        max((act.at for act in acts), default=""),
    )


# ---- pace ------------------------------------------------------------------------------------------------------------


def _seconds(acts: Iterable[_Act]) -> float | None:
    """The median time of a judgment."""
    known = [act.milliseconds for act in acts if act.milliseconds is not None]
    return median(known) / 1000 if known else None


def _hourly(acts: Iterable[_Act]) -> float | None:
    """Judgments in an hour at work: what follows another within the pause, by the time between them."""
    times = sorted(datetime.fromisoformat(act.at).timestamp() for act in acts)
    steps = [later - sooner for sooner, later in pairwise(times) if later - sooner <= PAUSE]
    return len(steps) * HOUR / sum(steps) if sum(steps) > 0 else None


# ---- agreement -------------------------------------------------------------------------------------------------------


def _against(reference: Judgments, own: Judgments) -> Brief | None:
    """A judge against a reference, as `agree` has it; None where they share no pair."""
    shared = any(doc in own.nested.get(query, {}) for query, docs in reference.nested.items() for doc in docs)
    return brief_of(sets_of({"reference": reference, "own": own})) if shared else None


def _with_oneself(acts: Iterable[_Act]) -> Brief | None:
    """What a judge said when asked again, against what was said first."""
    asked: dict[int, Nested] = {0: {}, 1: {}}
    for act in acts:
        known = asked.get(act.repeat)
        if known is None:
            continue
        known.setdefault(act.query_id, {}).pop(act.doc_id, None)  # the latest counts, also where it is no grade
        if act.grade is not None:
            known[act.query_id][act.doc_id] = act.grade
    first, again = (read_judgments({query: docs for query, docs in each.items() if docs}) for each in asked.values())
    return _against(first, again) if len(first) and len(again) else None


def _weeks(acts: Iterable[_Act], theirs: Judgments) -> tuple[Week, ...]:
    """The bias by the ISO week in which a grade was given."""
    given: dict[tuple[str, str], _Act] = {}
    for act in acts:
        if act.repeat == 0:
            given[act[:2]] = act
    weeks: dict[str, Nested] = {}
    for (query, doc), act in given.items():
        if act.grade is not None and doc in theirs.nested.get(query, {}):
            weeks.setdefault(_week(act.at), {}).setdefault(query, {})[doc] = act.grade
    found = []
    for week, grades in sorted(weeks.items()):
        brief = _against(theirs, read_judgments(grades))
        if brief is not None:
            found.append(Week(week, brief.shared, brief.bias.value))
    return tuple(found)


def _week(at: str) -> str:
    year, week, _ = datetime.fromisoformat(at).isocalendar()
    return f"{year}-W{week:02}"
