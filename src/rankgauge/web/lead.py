"""The pages of who leads the judging, and what they change: tasks, and decisions about what judges differ on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from fastapi import Request
from fastapi.responses import Response
from pydantic import BaseModel, Field

from rankgauge.raters.disputes import Conflict, Decision, NotDisputed
from rankgauge.web.desk import Desk
from rankgauge.web.pages.adjudicate import adjudicate_page, decided, pair_data
from rankgauge.web.pages.agreement import agreement_page
from rankgauge.web.pages.judges import judges_page
from rankgauge.web.pages.tasks import NewTask, made_task, set_open, tasks_page
from rankgauge.web.problems import InConflict
from rankgauge.web.roles import Person
from rankgauge.web.served import Absent
from rankgauge.web.server import Problem, as_json, responses
from rankgauge.web.view import View

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["LEAD_PAGES", "add_lead"]

Id = Annotated[str, Field(max_length=2000)]
Share = Annotated[float, Field(ge=0, le=0.5, allow_inf_nan=False)]


def _tasks(desk: Desk, person: Person) -> View:
    """Every task, and how far it is."""
    return tasks_page(desk, person)


def _agreement(desk: Desk, task: str = "", judge: Sequence[str] = ()) -> View:
    """How well judges agree."""
    return agreement_page(desk, task, judge)


def _adjudicate(
    desk: Desk, task: str = "", measure: str = "", among: Literal["", "people"] = "", query: str = "", doc: str = ""
) -> View:
    """What judges graded differently; with a pair, that one first, also where it was decided."""
    return adjudicate_page(desk, task, measure, among, (query, doc))


def _judges(desk: Desk, task: str = "") -> View:
    """The ledger of judges."""
    return judges_page(desk, task)


LEAD_PAGES: Final[dict[str, Callable[..., View]]] = {
    "/tasks": _tasks,
    "/agreement": _agreement,
    "/adjudicate": _adjudicate,
    "/judges": _judges,
}


class Decided(BaseModel):
    """A decision; who decides is known. `seen` is the last judgment that the page knew of."""

    key: Annotated[str, Field(min_length=8, max_length=200)]
    query_id: Id
    doc_id: Id
    grade: Annotated[float, Field(allow_inf_nan=False)]
    note: Annotated[str, Field(max_length=10_000)] = ""
    ms: Annotated[float, Field(ge=0, lt=1e12, allow_inf_nan=False)] | None = None
    seen: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    task: Id = ""
    measure: Annotated[str, Field(max_length=200)] = ""
    among: Literal["", "people"] = ""


class Wanted(BaseModel):
    """A task that is to be made: of the first `depth` of these systems, or of all."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    systems: Annotated[list[Id], Field(max_length=200)] = []
    depth: Annotated[int, Field(ge=1, le=10_000)] = 10
    overlap: Annotated[int, Field(ge=1, le=1000)] = 1
    raters: Annotated[list[Id], Field(max_length=1000)] = []
    scale: Annotated[str, Field(max_length=20_000)] = "graded"
    guidelines: Annotated[str, Field(max_length=200_000)] = ""
    fields: Annotated[list[Id], Field(max_length=100)] = []
    gold: Share = 0.0
    repeat: Share = 0.0
    shows_models: bool = False


class Named(BaseModel):
    """A task."""

    task: Id


def add_lead(app: FastAPI, desk: Desk) -> None:
    """What the pages of who leads the judging send and ask for."""

    def pair(query: str, doc: str, task: str = "") -> Response:
        """A pair that is to be decided, as it is shown."""
        return as_json(pair_data(desk, query, doc, task))

    def decision(request: Request, body: Decided) -> Response:
        """Keep a decision, once; then say whose labels these were."""
        made = Decision(body.key, body.query_id, body.doc_id, body.grade, body.note, body.ms, seen=body.seen)
        who, where = request.state.user.name, request.client.host if request.client else None
        found = _kept(lambda: decided(desk, made, who, body.task, body.measure, body.among, address=where))
        return as_json(found)

    def task(request: Request, body: Wanted) -> Response:
        """Make a task."""
        wanted = NewTask(**{name: getattr(body, name) for name in NewTask._fields})
        return as_json(_kept(lambda: made_task(desk, wanted, request.state.user.name)), 201)

    def close(request: Request, body: Named) -> Response:
        """Take no more judgments."""
        return as_json(set_open(desk, body.task, request.state.user.name, is_open=False))

    def reopen(request: Request, body: Named) -> Response:
        """Take judgments again."""
        return as_json(set_open(desk, body.task, request.state.user.name, is_open=True))

    told = responses(html=False) | {
        400: {"description": "no JSON", "model": Problem},
        409: {"description": "decided otherwise meanwhile", "model": Problem},
    }
    app.get("/adjudicate/pair.json", responses=told, response_class=Response)(pair)
    app.post("/adjudicate", responses=told, response_class=Response)(decision)
    app.post("/tasks", responses=told, response_class=Response, status_code=201)(task)
    app.post("/tasks/close", responses=told, response_class=Response)(close)
    app.post("/tasks/open", responses=told, response_class=Response)(reopen)


def _kept(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What came of a change, or why there is none, as pages say it."""
    try:
        return work()
    except Conflict as error:
        raise InConflict(str(error)) from None
    except NotDisputed as error:
        raise Absent(str(error)) from None
