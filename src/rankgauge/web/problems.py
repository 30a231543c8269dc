"""What goes wrong: one sentence, as a page or as data, under the status that says whose fault it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse
from starlette.exceptions import HTTPException

from rankgauge.errors import RankgaugeError
from rankgauge.show.model import sentence
from rankgauge.web.faults import Fault, fault_words
from rankgauge.web.kept import Gone
from rankgauge.web.markup import Around, markup
from rankgauge.web.served import Absent
from rankgauge.web.server import NEVER, Unreadable, as_json
from rankgauge.web.view import View

if TYPE_CHECKING:
    from fastapi import FastAPI, Request
    from fastapi.responses import Response

__all__ = ["Forbidden", "InConflict", "Unavailable", "add_problems", "problem", "problem_page", "status_of"]


class Forbidden(RankgaugeError):
    """What this person may not do."""


class InConflict(RankgaugeError):
    """What was right before something else was done."""


class Unavailable(RankgaugeError):
    """What may be asked again later: the store cannot take it now."""


TITLES: Final = {
    403: "Not for you", 404: "Not found", 405: "Not allowed", 500: "This page failed", 503: "Nothing could be read",
}  # fmt: skip
STATUSES: Final = {
    Fault: 500,
    Absent: 404,
    Unreadable: 503,
    Gone: 503,
    Forbidden: 403,
    InConflict: 409,
    Unavailable: 503,
}


def add_problems(app: FastAPI) -> None:
    """One place maps what the library says to what a browser is told."""

    def library_error(request: Request, error: Exception) -> Response:
        return problem(request, status_of(error), str(error))

    def not_valid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return problem(request, 422, "; ".join(map(_said, error.errors())))

    def not_there(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        words = f"there is no page {request.url.path!r}" if error.status_code == 404 else str(error.detail)
        return problem(request, error.status_code, words, error.headers)

    def own_error(request: Request, error: Exception) -> Response:
        return problem(request, 500, fault_words(error))

    app.add_exception_handler(Exception, own_error)
    app.add_exception_handler(RankgaugeError, library_error)
    app.add_exception_handler(RequestValidationError, not_valid)
    app.add_exception_handler(HTTPException, not_there)


def status_of(error: Exception) -> int:
    """Whose fault it is that something does not work."""
    usual = 503 if getattr(error, "is_passing", False) else 422
    return next((status for kind, status in STATUSES.items() if isinstance(error, kind)), usual)


def _said(error: Mapping[str, Any]) -> str:
    where = ".".join(str(each) for each in error["loc"][1:] or error["loc"])
    return f"{where}: {str(error['msg'])[:1].lower()}{str(error['msg'])[1:]}"


def problem(request: Request, status: int, words: str, headers: Mapping[str, str] | None = None) -> Response:
    """One sentence, as a page or as data."""
    path = request.url.path
    if path.endswith((".json", ".charts")) or request.method not in ("GET", "HEAD"):
        made = as_json({"error": words}, status)
    else:
        made = problem_page(status, words, Around(path, person=getattr(request.state, "user", None)))
    for name, value in (headers or {}).items():
        made.headers[name] = value
    return made


def problem_page(status: int, words: str, around: Around, form: View | None = None) -> HTMLResponse:
    """The sentence on a page; with a form, below what there is to choose there."""
    view = View(
        TITLES.get(status, "That does not work"),
        dict,
        template="problem.html",
        crumbs=form.crumbs if form is not None else (),
        controls=form.controls if form is not None else (),
        more={"words": sentence(words), "status": status},
    )
    return HTMLResponse(markup(view, around), status, headers=NEVER)
