"""Log in, log out, another password: pages and forms that need no script."""

from __future__ import annotations

from typing import Annotated, Any, Final

import anyio.to_thread
from anyio import CapacityLimiter
from fastapi import FastAPI, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException

from rankgauge.errors import InputError
from rankgauge.raters import users
from rankgauge.show.model import sentence
from rankgauge.store.engine import StoreError
from rankgauge.web.access import Accounts, local
from rankgauge.web.markup import Around, markup
from rankgauge.web.problems import Unavailable
from rankgauge.web.roles import HOME, may
from rankgauge.web.view import View

__all__ = ["add_log_in"]

NEVER: Final = {"cache-control": "no-store"}
ALL: Final[dict[str, Any]] = {"text/html": {}, "text/plain": {}, "application/json": {}}
# What the addresses here may answer besides, for the schema: a form again, or a refusal of the guard or of the app.
TOLD: Final[dict[int | str, dict[str, Any]]] = {
    status: {"description": words, "content": ALL}
    for status, words in {
        400: "no form", 401: "not right", 403: "not allowed", 413: "over 1 MB", 421: "another host",
        422: "not understood", 429: "too many failures", 503: "the store does not answer",
    }.items()
}  # fmt: skip
Field = Annotated[str, Form(max_length=1000)]
Way = Annotated[str, Form()]  # an address, however long


def add_log_in(app: FastAPI, accounts: Accounts) -> None:
    """The addresses of log-ins, for users of a store."""
    entrance = Entrance(accounts)
    for path, form, sent in (("/login", entrance.form, entrance.log_in), ("/password", entrance.own, entrance.change)):
        app.get(path, response_class=HTMLResponse, responses=TOLD)(form)
        app.post(path, response_class=RedirectResponse, status_code=303, responses=TOLD)(sent)
    app.post("/logout", response_class=RedirectResponse, status_code=303, responses=TOLD)(entrance.log_out)


class Entrance:
    """The way in and out. However many log in, two at a time are computed, and the others hold no thread."""

    def __init__(self, accounts: Accounts) -> None:
        self.accounts = accounts
        self.two = CapacityLimiter(2)

    async def form(self, to: str = "") -> Response:
        """Ask for name and password."""
        return _page("Log in", "login.html", to=local(to))

    async def log_in(self, request: Request, name: Field, password: Field, to: Way = "") -> Response:
        """Begin a session, and go where one wanted to go, if one may."""
        store, before, address = self.accounts.store, self._secret(request), _address(request)
        try:
            secret = await self._computed(users.log_in, store, name, password, address, before)
        except (users.NotProved, users.TooManyFailures) as error:
            return _page("Log in", "login.html", _status(error), error, to=local(to), name=name)
        self.accounts.forget()
        user = await anyio.to_thread.run_sync(users.session_user, store, secret)
        role = "" if user is None else user.role
        wanted = local(to)
        return self._gone(
            request, wanted if may(role, "GET", wanted.partition("?")[0]) else HOME.get(role, "/"), secret
        )

    async def log_out(self, request: Request) -> Response:
        """End the session."""
        secret = self._secret(request)
        if secret is not None:
            await anyio.to_thread.run_sync(users.log_out, self.accounts.store, secret)
        self.accounts.forget()
        return self._gone(request, "/login", "")

    async def own(self, request: Request) -> Response:
        """Ask for the old password and the new one."""
        _check_session(request)
        return _page("Your password", "password.html", person=request.state.user)

    async def change(self, request: Request, password: Field, new: Field, again: Field) -> Response:
        """Another password for oneself; every other session ends."""
        _check_session(request)
        person = request.state.user
        try:
            if new != again:
                raise InputError("the new password is not the same twice")
            arguments = (self.accounts.store, person.name, password, new, _address(request))
            secret = await self._computed(users.change_password, *arguments)
        except (users.NotProved, users.TooManyFailures, InputError) as error:
            return _page("Your password", "password.html", _status(error), error, person=person)
        self.accounts.forget()
        return self._gone(request, HOME[person.role], secret)

    async def _computed(self, work: Any, *arguments: Any) -> str:
        try:
            return str(await anyio.to_thread.run_sync(work, *arguments, limiter=self.two))
        except StoreError as error:
            raise Unavailable(str(error)) from None

    def _secret(self, request: Request) -> str | None:
        return request.cookies.get(self.accounts.cookie)

    def _gone(self, request: Request, to: str, secret: str) -> Response:
        """To another page, with the cookie of a session; without a secret, with none any more."""
        answer = RedirectResponse(to, 303, NEVER)
        answer.set_cookie(
            self.accounts.cookie,
            secret,
            max_age=int(users.SESSION.total_seconds()) if secret else 0,
            httponly=True,
            samesite="lax",
            secure=request.url.scheme == "https",
        )
        return answer


def _check_session(request: Request) -> None:
    """Only whoever has logged in with a password has one to change."""
    if request.state.user.way != "session":
        raise HTTPException(403, "log in with a password to change it")


def _status(error: Exception) -> int:
    return 401 if isinstance(error, users.NotProved) else 429 if isinstance(error, users.TooManyFailures) else 422


def _address(request: Request) -> str | None:
    return None if request.client is None else request.client.host


def _page(title: str, template: str, status: int = 200, error: Exception | None = None, **more: Any) -> Response:
    person = more.pop("person", None)
    words = "" if error is None else sentence(str(error))
    view = View(title, dict, template=template, more={"name": "", "words": words, **more})
    wait = {"retry-after": str(error.seconds)} if isinstance(error, users.TooManyFailures) else {}
    return HTMLResponse(markup(view, Around("/login", nav={}, person=person)), status, headers=NEVER | wait)
