"""Who asks: whoever has the key that was printed, or a user who has logged in, has a token, or comes by a proxy.

Both ways admit a request as a person, or refuse it; the guard asks nothing else of them.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Mapping, MutableMapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import cookie_parser

from rankgauge.errors import InputError
from rankgauge.web.roles import Person, is_open

if TYPE_CHECKING:
    from rankgauge.raters.users import User
    from rankgauge.store.store import Store

__all__ = ["Access", "Accounts", "Asking", "Key", "Proxy", "Refusal", "asking_of", "local"]

Scope = MutableMapping[str, Any]
REMEMBERED: Final = 30.0  # seconds for which a session, a token or a name of a proxy is not looked up again
LOOK: Final = 1.0  # seconds between two looks at whether something was taken from somebody
DATA: Final = (".json", ".charts")


class Asking(NamedTuple):
    """A request before anything answers it; `named`: whom the proxy says that it is of."""

    method: str
    path: str
    query: str
    headers: Mapping[bytes, str]
    scheme: str
    named: str | None = None

    @property
    def wants_page(self) -> bool:
        """Whether a person sees the answer, rather than a program or a script."""
        data = self.path.endswith(DATA) or self.path.startswith("/static/")
        return self.method in ("GET", "HEAD") and not data and b"authorization" not in self.headers

    def bearer(self) -> str | None:
        """The secret that a program shows."""
        scheme, _, token = self.headers.get(b"authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else None

    def cookie(self, name: str) -> str | None:
        """A cookie, whatever others there are beside it."""
        return cookie_parser(self.headers.get(b"cookie", "")).get(name)


class Refusal(NamedTuple):
    """Why a request goes no further, or where else it is to go."""

    status: int
    words: str
    headers: tuple[tuple[bytes, bytes], ...] = ()
    login: str | None = None


class Access(Protocol):
    """A way to know who asks."""

    proxy: Proxy | None

    async def admit(self, asking: Asking) -> Person | Refusal | None:
        """The person; or nobody, where anybody may ask; or why not."""


class Proxy(NamedTuple):
    """A server in front of this one, at an address: what it says of whoever asks is believed, of nobody else."""

    address: IPv4Address | IPv6Address
    header: bytes | None = None

    @classmethod
    def of(cls, address: str, header: str | None = None) -> Proxy:
        """The proxy at an address that says in a header who asks."""
        try:
            return cls(_plain(address), header.lower().encode("latin-1", "replace") if header else None)
        except ValueError:
            raise InputError(f"--trust-from {address}: is no address; write it as 10.0.0.5") from None

    def read(self, scope: Scope, headers: Mapping[bytes, str]) -> str | None:
        """Whom it says that a request is of; the scope gets the address and the scheme of whoever asked it.

        What others say is dropped. A header that is there twice was not written by the proxy alone.
        """
        names = [_decoded(value) for name, value in scope["headers"] if name == self.header]
        if not self._is_peer(scope):
            scope["headers"] = [each for each in scope["headers"] if each[0] != self.header]
            return None
        scheme = headers.get(b"x-forwarded-proto", "").strip().lower()
        scope["scheme"] = scheme if scheme in ("http", "https") else scope["scheme"]
        origin = headers.get(b"x-forwarded-for", "").rpartition(",")[2].strip()  # the last is what the proxy added
        scope["client"] = (origin, 0) if origin else scope["client"]
        return names[0].strip() or None if len(names) == 1 else None

    def _is_peer(self, scope: Scope) -> bool:
        try:
            return scope.get("client") is not None and _plain(scope["client"][0]) == self.address
        except ValueError:
            return False


def _decoded(value: bytes) -> str:
    """A name in a header: UTF-8, as proxies write it, or what HTTP once was."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _plain(address: str) -> IPv4Address | IPv6Address:
    """An address; one of IPv4 that is written as one of IPv6 is the same."""
    made = ip_address(address)
    return made.ipv4_mapped or made if isinstance(made, IPv6Address) else made


def asking_of(scope: Scope, proxy: Proxy | None) -> Asking:
    """What is asked, as the proxy tells it, if that is who asks."""
    headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
    named = None if proxy is None else proxy.read(scope, headers)
    query = scope["query_string"].decode("latin-1")
    return Asking(scope["method"], scope["path"], query, headers, scope.get("scheme", "http"), named)


def local(to: str) -> str:
    """An address on this server, whatever was given: of others, and of what browsers would read as one, the start page.

    Browsers take \\ for / and leave out tabs and the ends of lines.
    """
    odd = not to.startswith("/") or to.startswith("//") or "\\" in to or not to.isprintable()
    return "/" if odd else quote(to, safe="/?&=%#+~:@!$'()*,;")


# ---- the key that was printed ----------------------------------------------------------------------------------------


class Key:
    """`key` opens the app, once; the cookie that it becomes is another secret. Whoever has it is the machine's user."""

    def __init__(self, port: int, name: str, proxy: Proxy | None = None) -> None:
        self.key, self.session = secrets.token_urlsafe(24), secrets.token_urlsafe(32)
        self.proxy, self.cookie = proxy, cookie_name(port)
        self.person = Person(name, "admin")

    async def admit(self, asking: Asking) -> Person | Refusal | None:
        """Whoever shows the key or the cookie; a key in an address leads to the address without it."""
        pairs = parse_qsl(asking.query, keep_blank_values=True) if "key=" in asking.query else []
        keys = [value for name, value in pairs if name == "key"]
        if keys and asking.method == "GET" and _same(keys[-1], self.key):
            return self._opened(asking, urlencode([pair for pair in pairs if pair[0] != "key"]))
        if _same(asking.bearer(), self.key) or _same(asking.cookie(self.cookie), self.session):
            return self.person
        return Refusal(403, "Open the address that 'rankgauge serve' printed: it has the key that lets you in.")

    def _opened(self, asking: Asking, query: str) -> Refusal:
        to = local(quote(asking.path) + (f"?{query}" if query else ""))
        cookie = f"{self.cookie}={self.session}; HttpOnly; SameSite=Strict; Path=/"
        return Refusal(303, "", ((b"location", to.encode()), (b"set-cookie", cookie.encode())))


def cookie_name(port: int) -> str:
    """Cookies ignore ports: two servers must not take each other's away."""
    return f"rankgauge-{port}"


def _same(given: str | None, secret: str) -> bool:
    return given is not None and hmac.compare_digest(given.encode(), secret.encode())


# ---- users -----------------------------------------------------------------------------------------------------------


class Accounts:
    """Users of a store. Who they are is remembered for some seconds, until something is taken from somebody."""

    def __init__(self, store: Store, port: int, proxy: Proxy | None = None) -> None:
        from rankgauge.raters import users

        self.store, self.proxy, self.cookie = store, proxy, cookie_name(port)
        self._find: dict[str, Callable[[Store, str], User | None]] = {
            "session": users.session_user,
            "token": users.token_user,
            "proxy": users.named_user,
        }
        self._changes, self._changed, self._looks_at = users.access_changes, -1, 0.0
        self._remembered: dict[tuple[str, str], tuple[Person, float]] = {}

    async def admit(self, asking: Asking) -> Person | Refusal | None:
        """A user, by token, by the proxy's word or by session; without, the way to log in."""
        token, session = asking.bearer(), asking.cookie(self.cookie)
        if token is not None:
            words = "this token does not count, or not any more; an admin makes one: rankgauge user token NAME"
            return await self._person("token", token) or self._unknown(asking, words)
        if asking.named is not None:
            words = f"there is no user {asking.named!r} here; an admin adds one: rankgauge user add"
            return await self._person("proxy", asking.named) or Refusal(403, words)
        person = None if session is None else await self._person("session", session)
        return person if person is not None or is_open(asking.path) else self._unknown(asking, "log in first")

    def forget(self) -> None:
        """Look everybody up again. What is being looked up at this moment is not remembered."""
        self._remembered = {}

    async def _person(self, way: str, secret: str) -> Person | None:
        await self._look()
        remembered, key = self._remembered, (way, secret)
        person, until = remembered.get(key, (None, 0.0))
        if person is not None and monotonic() < until:
            return person
        user = await run_in_threadpool(self._find[way], self.store, secret)
        if user is None:
            remembered.pop(key, None)
            return None
        person = Person(user.name, user.role, way)
        remembered[key] = (person, monotonic() + REMEMBERED)
        return person

    async def _look(self) -> None:
        """Now and then, whether somebody was disabled, got another password or role, or logged out: elsewhere, too."""
        if monotonic() < self._looks_at:
            return
        self._looks_at = monotonic() + LOOK
        changed = await run_in_threadpool(self._changes, self.store)
        if changed != self._changed:
            self._changed = changed
            self.forget()

    def _unknown(self, asking: Asking, words: str) -> Refusal:
        """To the log-in and back: a page by itself, a script by what it is told."""
        if asking.wants_page:
            to = asking.path + (f"?{asking.query}" if asking.query else "")
            return Refusal(303, "", ((b"location", self._login(to).encode()),))
        from_page = urlsplit(asking.headers.get(b"referer", ""))
        same = from_page.netloc == asking.headers.get(b"host", "")
        to = from_page.path + (f"?{from_page.query}" if from_page.query else "") if same else "/"
        return Refusal(401, words, ((b"www-authenticate", b"Bearer"),), self._login(to))

    def _login(self, to: str) -> str:
        return f"/login?{urlencode({'to': local(to)})}"
