"""The app: addresses → pages, each as HTML and, at its path + .json, as the same numbers for programs."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Annotated, Any, Final, get_type_hints
from urllib.parse import parse_qs, urlsplit

from fastapi import FastAPI, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from rankgauge import __version__
from rankgauge.errors import FormatError, RankgaugeError
from rankgauge.show.model import Chart, every_block
from rankgauge.web import jobs
from rankgauge.web.markup import LIBRARY, STATIC, explained_markup, markup, static
from rankgauge.web.pages.compare import compare_page, compare_query
from rankgauge.web.pages.funnel import funnel_page
from rankgauge.web.pages.leaderboard import leaderboard
from rankgauge.web.pages.playground import playground
from rankgauge.web.pages.query import query_page
from rankgauge.web.pages.run import run_page, run_rows
from rankgauge.web.problems import add_problems, problem, problem_page, status_of
from rankgauge.web.roles import Roles
from rankgauge.web.server import NEVER, Problem, Server, as_json, responses, twin_of
from rankgauge.web.site import Site
from rankgauge.web.view import View
from rankgauge.web.what_if import WhatIf

if TYPE_CHECKING:
    from rankgauge.web.desk import Desk
    from rankgauge.web.served import Served
    from rankgauge.web.worker import Worker

__all__ = ["make_app"]


FOREVER: Final = {"cache-control": "private, max-age=31536000, immutable"}
MADE_OF: Final = ("site", "desk", "person")  # parameters of a page that no address gives


class Change(BaseModel):
    """A ranking at an address, what is changed about it, and how many suggestions to compute."""

    at: Annotated[str, Field(max_length=200_000)]
    move: Annotated[list[str], Field(max_length=1000)] = []
    set: Annotated[list[str], Field(max_length=1000)] = []
    top: Annotated[int, Field(ge=0, le=20)] = 5


class Changed(BaseModel):
    """What came of a change: its own address, the value as it is shown, and the part of the page that shows it."""

    address: str
    value: str
    html: str


# ---- the pages: what each is asked, by the parameters of its function ------------------------------------------------


def _leaderboard(site: Site, measure: str = "", group: str = "", baseline: str = "") -> View:
    """Where every system stands."""
    return leaderboard(site, measure, group, baseline)


def _run(site: Site, run: str, measure: str = "", sort: str = "", down: bool = False, find: str = "") -> View:
    """One system."""
    return run_page(site, run, measure, sort, down, find)


def _query(
    site: Site,
    query: str,
    run: str = "",
    measure: str = "",
    move: Sequence[str] = (),
    set: Sequence[str] = (),
) -> View:
    """One query of one system, explained; with moves and grades, what if."""
    return query_page(site, query, run, measure, WhatIf.read(move, set))


def _compare(site: Site, run: Sequence[str] = (), measure: str = "", group: str = "") -> View:
    """Two to five systems."""
    return compare_page(site, [name for name in run if name], measure, group)


def _compare_query(site: Site, query: str, run: Sequence[str] = (), measure: str = "", group: str = "") -> View:
    """One query under two systems."""
    return compare_query(site, query, [name for name in run if name], measure, group)


def _funnel(
    site: Site,
    retrieved: str = "",
    reranked: str = "",
    measure: str = "",
    candidates: str = "",
    restrict: bool = False,
) -> View:
    """Retriever and reranker apart."""
    return funnel_page(site, retrieved, reranked, measure, candidates, restrict)


def _playground(grades: str = "", ideal: str = "", measure: str = "", ties: str = "") -> View:
    """NDCG by doing."""
    return playground(grades, ideal, measure, ties)


PAGES: Final[dict[str, Callable[..., View]]] = {
    "/": _leaderboard,
    "/run": _run,
    "/query": _query,
    "/compare": _compare,
    "/compare/query": _compare_query,
    "/funnel": _funnel,
    "/playground": _playground,
}


def make_app(served: Served, worker: Worker, desk: Desk | None = None) -> FastAPI:
    """All addresses; with a desk those of judging, too."""
    app = FastAPI(title="rankgauge", version=__version__, docs_url=None, redoc_url=None)
    server = Server(served, worker, desk)
    if desk is not None:
        _add_desk(app, server, desk)  # first, for addresses are tried in their order, and these are asked most
    for path, make in PAGES.items():
        _add_page(app, server, path, make)
    _add_changes(app, server)
    _add_files(app, server)
    add_problems(app)
    app.add_middleware(Roles, problem=problem)
    return app


def _add_desk(app: FastAPI, server: Server, desk: Desk) -> None:
    """Judging, which needs a store."""
    from rankgauge.web.judging import DESK_PAGES, add_judging
    from rankgauge.web.lead import LEAD_PAGES, add_lead

    add_judging(app, desk)
    for path, make in {**DESK_PAGES, **LEAD_PAGES}.items():
        _add_page(app, server, path, make)
    add_lead(app, desk)


def _add_page(app: FastAPI, server: Server, path: str, make: Callable[..., View]) -> None:
    """A page, its twin, and its charts."""

    def page(request: Request, **parameters: Any) -> Response:
        around = server.around(path, request)
        try:
            view = server.view(make, parameters, request.state.user)
        except RankgaugeError as error:
            form = server.form(make, parameters, request.state.user) if status_of(error) == 422 else None
            if form is None:
                raise
            return problem_page(422, str(error), around, form)
        return HTMLResponse(markup(view, around), headers=NEVER)

    def twin(request: Request, **parameters: Any) -> Response:
        return as_json(server.view(make, parameters, request.state.user).twin())

    async def charts(request: Request, **parameters: Any) -> Response:
        view = await run_in_threadpool(server.view, make, parameters, request.state.user)
        return as_json(await _drawn(server, view, request))

    stem = "/index" if path == "/" else path
    for to, answer, html in ((path, page, True), (twin_of(path), twin, False), (f"{stem}.charts", charts, False)):
        kind: Any = HTMLResponse if html else Response
        setattr(answer, "__signature__", _signature(make))  # noqa: B010  # a function has one, though its type does not
        answer.__doc__ = make.__doc__
        name = f"{answer.__name__} {stem}"
        app.get(to, response_class=kind, responses=responses(html), name=name, operation_id=name)(answer)


def _signature(make: Callable[..., View]) -> inspect.Signature:
    """The parameters of a page as those of its address."""
    hints = get_type_hints(make)
    parameters = [inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY, annotation=Request)]
    for name, each in inspect.signature(make).parameters.items():
        if name in MADE_OF:
            continue
        several = each.default == ()
        kind: Any = Annotated[list[str], Query(default_factory=list)] if several else hints[name]
        default = inspect.Parameter.empty if several else each.default
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
    return inspect.Signature(parameters)


async def _awaited(answer: Future[Any]) -> Any:
    """What the worker finds; whoever else waits for it goes on waiting where this one does not."""
    return await asyncio.shield(asyncio.wrap_future(answer))


async def _drawn(server: Server, view: View, request: Request) -> dict[str, Any]:
    """The charts of a page, drawn by the worker."""
    charts = {block.key: block for block in every_block(view.sections) if isinstance(block, Chart)}
    if not charts:
        return {"charts": {}, "dark": {}}
    number = server.site.collection.number if server.site is not None else None
    key = (number, "draw", f"{request.url.path}?{request.url.query}", view.state)
    told: dict[str, Any] = await _awaited(server.worker.ask(key, jobs.drawn, charts))
    return told


# ---- changes ---------------------------------------------------------------------------------------------------------


def _add_changes(app: FastAPI, server: Server) -> None:
    def of_query(change: Change) -> Changed:
        """A ranking as it would be: the same as its address shows. Nothing is stored."""
        given = _parameters(change.at, "/query")
        before = WhatIf.read(given.get("move", []), given.get("set", []))
        what_if = before.and_then(WhatIf.read(change.move, change.set))
        names = {name: given[name][-1] for name in ("query", "run", "measure") if name in given}
        if "query" not in names:
            raise FormatError("at: the address names no query")
        return _changed(query_page(server.known_site, **names, what_if=what_if, top=change.top))

    def of_playground(change: Change) -> Changed:
        """Grades as they would be."""
        given = _parameters(change.at, "/playground")
        names = {name: given[name][-1] for name in ("grades", "ideal", "measure", "ties") if name in given}
        return _changed(playground(**names, what_if=WhatIf.read(change.move, change.set), top=change.top))

    def reread() -> Response:
        """Have every file read again."""
        server.served.read()
        return as_json({"reading": True}, 202)

    told = responses(html=False) | {400: {"description": "no JSON", "model": Problem}}
    app.post("/query/what-if", responses=told, response_model=Changed)(of_query)
    app.post("/playground/what-if", responses=told, response_model=Changed)(of_playground)
    app.post("/reread", responses=told, status_code=202, response_class=Response)(reread)


def _parameters(at: str, path: str) -> dict[str, list[str]]:
    parts = urlsplit(at)
    if parts.path != path or parts.netloc:
        raise FormatError(f"at: {path} is the address of what is changed, not {at[:80]!r}")
    try:
        return parse_qs(parts.query, errors="strict", max_num_fields=5000)
    except ValueError as error:
        raise FormatError(f"at: the address cannot be read ({error})") from None


def _changed(view: View) -> Changed:
    shown = view.more["explained"]
    return Changed(address=shown.at, value=shown.cards.value, html=explained_markup(view))


# ---- files, and rows for the table of a run --------------------------------------------------------------------------


def _add_files(app: FastAPI, server: Server) -> None:
    def rows(run: str, measure: str = "") -> Response:
        """Every query of a run with its values."""
        return as_json(run_rows(server.known_site, run, measure))

    async def library() -> Response:
        """What draws charts, made once."""
        cache = server.served.cache
        kept = await run_in_threadpool(cache.file, LIBRARY)
        if kept is None:
            made = await _awaited(server.worker.ask("library", jobs.library))
            kept = await run_in_threadpool(cache.keep, LIBRARY, made.encode())
        return Response(kept, 200, {**FOREVER, "content-type": "text/javascript; charset=utf-8"})

    def one(name: str) -> Callable[[], Awaitable[Response]]:
        async def file() -> Response:
            body, kind = static(name)
            return Response(body, 200, {**FOREVER, "content-type": kind})

        return file

    app.get("/run/queries.json", responses=responses(html=False), response_class=Response)(rows)
    app.get(f"/static/{LIBRARY}", include_in_schema=False)(library)
    for name in STATIC:
        app.get(f"/static/{name}", include_in_schema=False)(one(name))
