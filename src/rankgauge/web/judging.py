"""Judging over HTTP: what a rater is given, and what comes back; each judgment is answered when it is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

from fastapi import Request
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from rankgauge.errors import InputError
from rankgauge.raters.handing import Wanted
from rankgauge.raters.judging import KeyTaken, NotGiven, Sent, TaskClosed
from rankgauge.web.desk import Desk
from rankgauge.web.pages.judge import judge_page
from rankgauge.web.problems import Forbidden, InConflict, Unavailable
from rankgauge.web.roles import Person
from rankgauge.web.server import Problem, as_json, responses
from rankgauge.web.view import View

if TYPE_CHECKING:
    from fastapi import FastAPI

    from rankgauge.raters.tasks import Task

__all__ = ["DESK_PAGES", "add_judging", "committed"]

T = TypeVar("T")
Id = Annotated[str, Field(max_length=2000)]
REFUSALS: Final = {NotGiven: Forbidden, TaskClosed: InConflict, KeyTaken: InConflict}


class Queries(BaseModel):
    """Which hand-outs a page has, and how many it wants to have."""

    task: Id
    have: Annotated[list[Id], Field(max_length=100)] = []
    ahead: Annotated[int, Field(ge=0, le=10)] = 3
    before: Annotated[int, Field(ge=0, le=10)] = 1


class Judgment(BaseModel):
    """A judgment; who gives it is known. `made` is what the browser's clock said, which may be wrong."""

    task: Id
    key: Annotated[str, Field(min_length=8, max_length=200)]
    query_id: Id
    doc_id: Id
    hash: Annotated[str, Field(max_length=100)] | None = None
    again: bool = False
    state: Literal["graded", "unsure"] = "graded"
    grade: Annotated[float, Field(allow_inf_nan=False)] | None = None
    note: Annotated[str, Field(max_length=10_000)] = ""
    ms: Annotated[float, Field(ge=0, lt=1e12, allow_inf_nan=False)] | None = None
    made: Annotated[str, Field(max_length=100)] | None = None


def _judge(desk: Desk, person: Person, task: str = "") -> View:
    """Where people judge: their tasks, or one of them."""
    return judge_page(desk, person, task)


DESK_PAGES: Final[dict[str, Callable[..., View]]] = {"/judge": _judge}


def add_judging(app: FastAPI, desk: Desk) -> None:
    """The addresses to which the page of judging speaks."""

    async def queries(request: Request, body: Queries) -> Response:
        """What this rater holds: the queries at hand, some ahead, and what was done last."""
        rater = request.state.user.name
        task = await run_in_threadpool(desk.task, body.task, rater)
        if not task.admits(rater):
            raise Forbidden(f"the task {task.name!r} is for others; ask who leads it")
        given = await committed(desk.hand_out(Wanted(task, rater, body.ahead, body.before)))
        have = {*body.have}
        fresh = [each for each in given if each.id not in have]
        sheets, counts, narrowed = await run_in_threadpool(
            lambda: (desk.sheets(task, rater, fresh), desk.counts(task, rater), desk.narrowed(task))
        )
        holds = [each.id for each in given]
        return as_json({"queries": sheets, "holds": holds, "progress": counts, "narrowed": narrowed})

    async def judgment(request: Request, body: Judgment) -> Response:
        """Store a judgment, once; the same again is answered again."""
        known = desk.known_task(body.task)
        task = known if known is not None else await run_in_threadpool(desk.task, body.task, request.state.user.name)
        sent = _sent(task, request, body)
        refused = await committed(desk.take(sent))
        if refused is not None:
            raise REFUSALS.get(type(refused), InputError)(str(refused))
        models = await run_in_threadpool(desk.models, body.query_id, body.doc_id) if task.shows_models else None
        return as_json({"key": body.key, "models": models})

    more: dict[int | str, dict[str, Any]] = {
        400: {"description": "no JSON", "model": Problem},
        401: {"description": "nobody has logged in", "model": Problem},
        409: {"description": "the task is closed, or the key is another judgment's", "model": Problem},
    }
    told = responses(html=False) | more
    for path, answer in (("/judge/judgment", judgment), ("/judge/queries", queries)):
        app.post(path, responses=told, response_class=Response)(answer)


def _sent(task: Task, request: Request, body: Judgment) -> Sent:
    """The judgment, checked as far as it can be without the store."""
    about = (body.key, body.query_id, body.doc_id, body.hash, body.again, body.state, body.grade, body.note, body.ms)
    sent = Sent(task, request.state.user.name, *about, request.client.host if request.client else None)
    sent.check()
    return sent


async def committed(written: Future[T]) -> T:
    """What came of something that is written; where the store takes nothing, it may be sent again."""
    try:
        return await asyncio.wrap_future(written)
    except OSError as error:
        raise Unavailable(f"the store cannot be written ({error})") from None
