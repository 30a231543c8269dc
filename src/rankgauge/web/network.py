"""What the server is called, who stands in front of it, and whether it may be open to others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from rankgauge.errors import InputError
from rankgauge.store.operator import operator

if TYPE_CHECKING:
    from rankgauge.store.store import Store
    from rankgauge.web.access import Access
    from rankgauge.web.guard import App, Guard

__all__ = ["LOOPBACK", "Network"]

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


class Network(NamedTuple):
    """The server as others see it: its names, where pictures may come from, and a proxy that is believed."""

    names: tuple[str, ...] = ()
    images_from: tuple[str, ...] = ()
    trust_header: str | None = None
    trust_from: str | None = None

    def check(self, host: str, store: Store | None) -> None:
        """Refuse to be open to others where nobody is asked who they are, or under a name that anybody can give."""
        from rankgauge.web.access import Proxy
        from rankgauge.web.guard import checked_name

        for option, names in (("--name", self.names), ("--images-from", self.images_from)):
            for name in names:
                checked_name(name, option)
        if self.trust_from is not None:
            Proxy.of(self.trust_from, self.trust_header)
        if host not in LOOPBACK or self.names:
            self._check_open(f"--host {host}" if host not in LOOPBACK else f"--name {self.names[0]}", store)
        if host not in LOOPBACK and not self.names:
            raise InputError(f"--host {host}: goes with --name: by which name others reach it, as judge.example.com")

    def _check_open(self, option: str, store: Store | None) -> None:
        if store is None:
            raise InputError(
                f"{option}: files have no users and no passwords, so this is for this machine alone; leave it out, and "
                "reach it from elsewhere through a tunnel (ssh -L 8765:localhost:8765 THIS-MACHINE), or serve a project"
            )
        from rankgauge.raters.users import can_log_in

        if self.trust_header is None and not can_log_in(store, "admin"):
            words = "nobody could be asked for a password; add an admin first: rankgauge user add NAME --role admin"
            raise InputError(f"{option}: {words}")

    def access(self, store: Store | None, port: int) -> Access:
        """The key that is printed; where there are users, or a proxy names them, log-ins."""
        from rankgauge.web.access import Accounts, Key, Proxy

        proxy = None if self.trust_from is None else Proxy.of(self.trust_from, self.trust_header)
        if store is not None:
            from rankgauge.raters.users import users

            if self.trust_header is not None or users(store):
                return Accounts(store, port, proxy)
        return Key(port, operator(), proxy)

    def guard(self, app: App, access: Access) -> Guard:
        """What stands before the app."""
        from rankgauge.web.guard import Guard

        return Guard(app, access, self.names, self.images_from)
