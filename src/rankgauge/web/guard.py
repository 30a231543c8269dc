"""What every request has to pass before anything answers: the name of the server, who asks, from where, how much.

Loopback is open to every user of a machine and to every page that a browser shows, so an address alone proves nothing.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final

from starlette.exceptions import HTTPException

from rankgauge.errors import InputError, RankgaugeError
from rankgauge.web.access import Access, Asking, Refusal, asking_of
from rankgauge.web.roles import Person

__all__ = ["Guard"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

HOSTS: Final = frozenset({"127.0.0.1", "localhost", "[::1]"})
LARGEST: Final = 1 << 20  # bytes of a body
TOO_LARGE: Final = "That is too large: a request has at most 1 MB."
SAFE: Final = ("GET", "HEAD", "OPTIONS")
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS: Final = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
NAME: Final = re.compile(r"(\*\.)?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*|\[[0-9A-Fa-f:.]+\]")
Headers = tuple[tuple[bytes, bytes], ...]


class Guard:
    """Stands before the app. `names`: what it is called besides localhost; `images`: where pictures may come from."""

    def __init__(self, app: App, access: Access, names: Iterable[str] = (), images: Iterable[str] = ()) -> None:
        self.app, self.access = app, access
        self.hosts = HOSTS | {checked_name(name, "--name").lower() for name in names}
        self.headers = _headers([checked_name(name, "--images-from") for name in images])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or hand on with the person, a limit on the body and the policy on the answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        asking = asking_of(scope, self.access.proxy)
        person = self._refused(asking) or await self._admitted(asking)
        if isinstance(person, Refusal):
            await self._answer(send, person)
            return
        scope["state"] = {**scope.get("state", {}), "user": person}
        answer = _Guarded(send, self.headers)
        try:
            await self.app(scope, _limited(receive), answer)
        except asyncio.CancelledError:  # the server stops, and waits for nothing
            if not answer.started:
                await self._answer(send, Refusal(503, "The server is stopping."))

    async def _admitted(self, asking: Asking) -> Person | Refusal | None:
        try:
            return await self.access.admit(asking)
        except RankgaugeError:  # of the store; what it says is for whoever runs the server
            return Refusal(503, "The store does not answer; try again.")

    def _refused(self, asking: Asking) -> Refusal | None:
        """Why a request goes no further, whoever asks."""
        host, length = asking.headers.get(b"host", ""), asking.headers.get(b"content-length", "0")
        if host.rpartition(":")[0].lower() not in self.hosts and host.lower() not in self.hosts:
            return Refusal(421, "This address is not mine: rankgauge answers to localhost, and to names of --name.")
        if asking.method not in SAFE and not _same_origin(asking, host):
            return Refusal(403, "This was asked by a page of somewhere else, which may change nothing here.")
        if length.isdigit() and int(length) > LARGEST:
            return Refusal(413, TOO_LARGE)
        return None

    async def _answer(self, send: Send, refusal: Refusal) -> None:
        """The words of a refusal; as data where the way to the log-in goes with them."""
        body, kind = f"{refusal.words}\n" if refusal.words else "", b"text/plain; charset=utf-8"
        if refusal.login is not None:
            body, kind = json.dumps({"error": refusal.words, "login": refusal.login}), b"application/json"
        headers = [(b"content-type", kind), (b"content-length", str(len(body.encode())).encode())]
        headers += [(b"cache-control", b"no-store"), *refusal.headers, *self.headers]
        await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await send({"type": "http.response.body", "body": body.encode()})


def checked_name(name: str, option: str) -> str:
    """The name of a host as it is; what is none is refused, for it would be part of a header."""
    if NAME.fullmatch(name) is None:
        raise InputError(f"{option} {name}: is no name of a host; write it as judge.example.com")
    return name


def _headers(images: list[str]) -> Headers:
    """The policy, with where else pictures may come from."""
    policy = POLICY.replace("data:;", " ".join(["data:", *images]) + ";")
    return ((b"content-security-policy", policy.encode()), *HEADERS[1:])


def _same_origin(asking: Asking, host: str) -> bool:
    """Whether a page of this server asks; a browser says who does, and a program that is none says nothing."""
    site = asking.headers.get(b"sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = asking.headers.get(b"origin")
    return origin is None or origin.lower() == f"{asking.scheme}://{host.lower()}"


def _limited(receive: Receive) -> Receive:
    """What is received, up to the limit."""
    got = 0

    async def limited() -> MutableMapping[str, Any]:
        nonlocal got
        message = await receive()
        got += len(message.get("body", b""))
        if got > LARGEST:
            raise HTTPException(413, TOO_LARGE)
        return message

    return limited


class _Guarded:
    """What is sent, under the policy."""

    def __init__(self, send: Send, headers: Headers) -> None:
        self.send, self.headers, self.started = send, headers, False

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            message["headers"] = [*message.get("headers", []), *self.headers]
        await self.send(message)
