"""Who may ask for what: one table of addresses and roles, and what holds everybody to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final, NamedTuple

from starlette.requests import Request
from starlette.responses import Response

__all__ = ["HOME", "OPEN", "ROLES", "Person", "Roles", "is_open", "may"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Person(NamedTuple):
    """Whoever asks: a name, a role, and by which way: the key that was printed, a session, a token, a proxy."""

    name: str
    role: str
    way: str = "key"


ADMINS: Final = frozenset({"admin"})
VIEWERS: Final = frozenset({"viewer", "admin"})
RATERS: Final = frozenset({"rater", "admin"})
EVERYBODY: Final = frozenset({"rater", "viewer", "admin"})
OPEN: Final = ("/login", "/static/")  # without a person: the way in, and what pages look like
SAFE: Final = ("GET", "HEAD", "OPTIONS")
# Where whoever has logged in begins.
HOME: Final = {"rater": "/judge", "viewer": "/", "admin": "/"}


def _pages(*paths: str) -> Iterable[str]:
    """Pages with their twins and their charts."""
    for path in paths:
        stem = "/index" if path == "/" else path
        yield from (path, f"{stem}.json", f"{stem}.charts")


# Address → who may; of what changes something with its method before it. What is not here is nobody's.
ROLES: Final[dict[str, frozenset[str]]] = {
    **dict.fromkeys(_pages("/", "/run", "/query", "/compare", "/compare/query", "/funnel", "/playground"), VIEWERS),
    **dict.fromkeys(("/run/queries.json", "/openapi.json"), VIEWERS),
    **dict.fromkeys(("POST /query/what-if", "POST /playground/what-if"), VIEWERS),
    "POST /reread": ADMINS,
    **dict.fromkeys(_pages("/tasks", "/agreement", "/judges"), VIEWERS),
    **dict.fromkeys(("POST /tasks", "POST /tasks/close", "POST /tasks/open"), ADMINS),
    **dict.fromkeys(_pages("/adjudicate"), ADMINS),
    **dict.fromkeys(("/adjudicate/pair.json", "POST /adjudicate"), ADMINS),
    **dict.fromkeys((*_pages("/judge"), "POST /judge/queries", "POST /judge/judgment"), RATERS),
    **dict.fromkeys(("/password", "POST /password", "POST /logout"), EVERYBODY),
}


def is_open(path: str) -> bool:
    """Whether somebody who has not logged in may ask for it."""
    return path == OPEN[0] or path.startswith(OPEN[1])


def may(role: str, method: str, path: str) -> bool:
    """Whether a role may."""
    return is_open(path) or role in ROLES.get(_row(method, path), ())


def _row(method: str, path: str) -> str:
    return path if method in SAFE else f"{method} {path}"


def _methods(path: str) -> list[str]:
    """What can be done with an address."""
    return ["GET"] * (path in ROLES) + ["POST"] * (f"POST {path}" in ROLES)


class Roles:
    """Stands in the app before every route; `problem` says a sentence as a page or as data."""

    def __init__(self, app: App, problem: Callable[..., Response]) -> None:
        self.app, self.problem = app, problem

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on what the person may, and tell the others."""
        refused = self._refused(Request(scope)) if scope["type"] == "http" else None
        await (self.app if refused is None else refused)(scope, receive, send)

    def _refused(self, request: Request) -> Response | None:
        method, path = request.method, request.scope["path"]  # as the routes see it
        person: Person | None = getattr(request.state, "user", None)
        if may("" if person is None else person.role, method, path):
            return None
        methods = _methods(path)
        if not methods:
            return self.problem(request, 404, f"there is no page {path!r}")
        if _row(method, path) not in ROLES:
            return self.problem(request, 405, "Method Not Allowed", {"allow": ", ".join(methods)})
        if person is None:
            return self.problem(request, 401, "log in first")
        return self.problem(request, 403, f"a {person.role} may not do this; ask an admin")
