"""`/adjudicate`: pairs that judges graded differently, one at a time, without names until it is decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import select

from rankgauge.errors import InputError
from rankgauge.judge.scale import GRADED, Scale
from rankgauge.measures import parse
from rankgauge.raters.disputes import Decision, decide, given_to
from rankgauge.raters.fields import shown_fields
from rankgauge.raters.keys import scale_levels
from rankgauge.raters.tasks import tasks
from rankgauge.show.model import Block, Mark, Section, Table, Text
from rankgauge.show.sections.adjudication import decided_table, open_table
from rankgauge.store import schema
from rankgauge.store.texts import newest_texts
from rankgauge.web.pages.agreement import task_controls
from rankgauge.web.served import Absent
from rankgauge.web.view import View, address, choice, measure_controls

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgauge.raters.disputes import Adjudication, Disputed
    from rankgauge.raters.tasks import Task
    from rankgauge.web.desk import Desk
    from rankgauge.web.site import Answer

__all__ = ["adjudicate_page", "decided", "listed", "pair_data", "scale_for"]

WHO: Final = {"": "all", "people": "people alone"}
HERE: Final = partial(address, "/adjudicate")
LISTED: Final = 500  # pairs in a table of the page; all come up to be decided


def adjudicate_page(
    desk: Desk, task: str = "", measure: str = "", among: str = "", pair: tuple[str, str] = ("", "")
) -> View:
    """What is to be decided, the largest effect first, but before all the pair that is asked for."""
    of = desk.task(task) if task else None
    wanted = parse(measure or "nDCG@10")
    answer = desk.looks.disputes(task, str(wanted), among == "people")
    found = _still_open(desk, answer.value)
    about = {"task": task, "measure": str(wanted), "among": among}
    again = found is not None and any(each[:2] == pair for each in found.decided)
    return View(
        "Adjudicate",
        lambda: _data(desk, of, found, answer, among),
        listed(found, answer.problem, partial(HERE, **about)),
        template="adjudicate.html",
        subtitle=f"what judges of {task} graded differently" if task else "what judges graded differently",
        crumbs=[("Tasks", "/tasks")],
        controls=[
            *task_controls(desk, task),
            choice("Judges", "among", [value for value in WHO if value], among, WHO[""]),
            measure_controls(wanted)[0],
        ],
        pending=["disputes"] if answer.pending else [],
        more={
            "about": about,
            "pair": pair,
            "open": len(found.open) + again if found is not None else 0,
            "ready": found is not None,
        },
    )


def listed(found: Adjudication | None, problem: str = "", to: Callable[..., str] = HERE) -> list[Section]:
    """What is to be decided and what was, the first of very many; each leads to where it is decided, also again."""
    if found is None:
        words = Text(f"Nothing can be decided: {problem}.", "note")
        return [Section("open", "", [words if problem else Text("Weighing the disagreements …", "computing")])]
    first = replace(found, open=found.open[:LISTED], decided=found.decided[:LISTED])
    tables = {
        "open": ("All disagreements", open_table(first), len(found.open)),
        "decided": ("Decided", decided_table(first), len(found.decided)),
    }
    return [
        Section(key, title, [*_again(key), _leading(table, to), *_rest(number)])
        for key, (title, table, number) in tables.items()
        if number
    ]


def _again(key: str) -> list[Block]:
    """How to change what was decided."""
    return [Text("A query opens its pair again; another grade replaces the decision.", "note")] * (key == "decided")


def _leading(table: Table, to: Callable[..., str]) -> Table:
    """The table, whose queries lead to their pairs."""
    rows = [[Mark(query, address=to(query=query, doc=doc)), doc, *rest] for query, doc, *rest in table.rows]
    return table._replace(rows=rows)


def _rest(number: int) -> list[Block]:
    """What is said where not all are listed."""
    words = f"{number - LISTED:,} more: rankgauge labels --disputes lists all, this page + .json has them as data."
    return [Text(words, "note")] if number > LISTED else []


def _still_open(desk: Desk, found: Adjudication | None) -> Adjudication | None:
    """What was found, without what was decided since."""
    if found is None:
        return None
    table = schema.judgment.c
    asked = select(table.query_id, table.doc_id).where(table.ruling != 0, table.judgment_id > found.last)
    since = {tuple(row) for row in desk.store.read(lambda connection: connection.execute(asked).all())}
    left = tuple(each for each in found.open if (each.query_id, each.doc_id) not in since)
    return replace(found, open=left)


def _data(desk: Desk, task: Task | None, found: Adjudication | None, answer: Answer, among: str) -> dict[str, Any]:
    if found is None:
        return {"task": task.name if task else None, "problem": answer.problem or None}
    grades = [grade for each in found.open for grade in each.grades]
    grades += [who.grade for each in found.decided for who in each.given if who.grade is not None]
    return found.data() | {"among": among or None, "scale": scale_levels(scale_for(desk, task, grades))}


def scale_for(desk: Desk, task: Task | None, grades: list[float]) -> Scale:
    """The scale on which it is decided: the task's; or that of all tasks; or one that has the grades."""
    if task is not None:
        return task.scale
    known = {each.scale for each in tasks(desk.store)}
    if len(known) == 1 and {*grades} <= {*next(iter(known)).grades}:
        return next(iter(known))
    return GRADED if {*grades} <= {*GRADED.grades} else Scale.of(sorted({*grades, 0.0, 1.0}))


# ---- one pair --------------------------------------------------------------------------------------------------------


def pair_data(desk: Desk, query: str, doc: str, task: str = "") -> dict[str, Any]:
    """A pair as it is shown: the query, what is behind it, and the document's fields with the query's words marked."""
    of = desk.task(task) if task else None

    def found(connection: Connection) -> dict[str, Any]:
        table, judged = schema.query.c, schema.judgment.c
        there = select(judged.judgment_id).where(judged.query_id == query, judged.doc_id == doc).limit(1)
        if connection.scalar(there) is None:
            raise Absent(f"nobody has judged document {doc!r} of query {query!r}")
        known = connection.execute(select(table.text, table.need).where(table.query_id == query)).first()
        text, need = tuple(known) if known is not None else (None, None)
        texts = newest_texts(connection, [doc])
        fields = shown_fields(texts[doc].fields, text, of.fields if of else None) if doc in texts else []
        return {"query_id": query, "doc_id": doc, "query": text or query, "need": need, "fields": fields}

    return desk.store.read(found)


# ---- deciding --------------------------------------------------------------------------------------------------------


def decided(
    desk: Desk,
    decision: Decision,
    who: str,
    task: str = "",
    measure: str = "",
    among: str = "",
    *,
    address: str | None = None,
) -> dict[str, Any]:
    """Keep a decision; then say whose labels these were, and what it does to the mean of every system."""
    of = desk.task(task) if task else None
    whose = given_to(desk.store, desk.project.rule, decision.query_id, decision.doc_id)
    scale = scale_for(desk, of, [who.grade for who in whose if who.grade is not None])
    if scale.grade_of(decision.grade) is None:
        raise InputError(f"grade {decision.grade:g} is not on the scale: {scale.listed}")
    kept = decision._replace(task_id=of.number if of is not None else None)
    new = decide(desk.store, kept, who, address)
    outcome = _outcome(desk.looks.last_disputes(task, str(parse(measure or "nDCG@10")), among == "people"), decision)
    return {"key": decision.key, "new": new, "given": [each._asdict() for each in whose], "outcome": outcome}


def _outcome(found: Adjudication | None, decision: Decision) -> list[dict[str, Any]] | None:
    """The mean of every run before and after; None where it was not computed."""
    for each in found.open if found is not None else ():
        if (each.query_id, each.doc_id) == (decision.query_id, decision.doc_id):
            return _changes(each, found.now if found is not None else {}, decision.grade)
    return None


def _changes(each: Disputed, now: Any, grade: float) -> list[dict[str, Any]] | None:
    if not each.means or any(grade not in means for means in each.means.values()):
        return None
    return [{"run": run, "before": now[run], "after": means[grade]} for run, means in each.means.items()]
